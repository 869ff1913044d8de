"""Python elements are differentiated exactly in every scalar, or by differences if they cannot be."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from support.force_element_types import Drag


class Cubic(mbt.ForceElement):
    """A cubic force on a joint that stiffens with time, with an energy and every kind of declaration."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint
        self.scale: Any = 1.0

    def do_declare_parameters(self) -> None:
        self.stiffness = self.declare_numeric_parameter(2.0)
        self.options = self.declare_abstract_parameter({"joint": self.joint, "factor": 1.0})

    def do_declare_discrete_state(self) -> None:
        self.zero = self.declare_discrete_state(0.25)

    def do_declare_cache_entries(self) -> None:
        self.stretch = self.declare_cache_entry(
            "stretch", self._calc_stretch, ["q", "parameters", "discrete_state"]
        )

    def _calc_stretch(self, context: Any) -> Any:
        joint = context.get_abstract_parameter(self.options)["joint"]
        return joint.get_angle(context) - context.get_discrete_state(self.zero)[0]

    def _stiffness(self, context: Any) -> Any:
        (k,) = context.get_numeric_parameter(self.stiffness)
        return k * context.get_abstract_parameter(self.options)["factor"] * self.scale * (1.0 + context.time)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        x = context.eval_cache_entry(self.stretch)
        forces.generalized_forces[self.joint.velocity_start] -= self._stiffness(context) * x * x * x

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        x = context.eval_cache_entry(self.stretch)
        return self._stiffness(context) * (x * x) * (x * x) / 4


def make_pendulum(
    make: Callable[[mbt.RigidBody, mbt.Joint], mbt.ForceElement],
) -> tuple[mbt.MultibodyTree, Any]:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.4, 0.5)))
    X = mbt.math.make_pose([0.1, 0, 0.5])
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, X, axis=[0, 1, 0])
    element = tree.add_force_element(make(rod, pin))
    tree.finalize()
    return tree, element


def set_everything(context: Any, element: Any) -> tuple[float, float]:
    """Set the state and all declared values; return stiffness and stretch."""
    context.q, context.v, context.time = [0.7], [1.5], 0.5
    context.set_numeric_parameter(element.stiffness, [3.0])
    context.set_discrete_state(element.zero, [0.125])
    joint = context.get_abstract_parameter(element.options)["joint"]
    context.set_abstract_parameter(element.options, {"joint": joint, "factor": 0.5})
    return 3.0 * 0.5 * 1.5, 0.7 - 0.125


def slope(tree: mbt.MultibodyTree, context: Any) -> Any:
    """Return d tau / d q of the element alone."""
    with_element = tree.calc_inverse_dynamics_derivatives(context, [0.0], include_force_elements=True)[0]
    return (
        tree.calc_inverse_dynamics_derivatives(context, [0.0], include_force_elements=False)[0] - with_element
    )[0, 0]


def test_derivatives_are_exact() -> None:
    """With respect to everything in a Context; difference quotients would have only ten digits."""
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    context = tree.create_default_context()
    k, x = set_everything(context, element)
    assert slope(tree, context) == pytest.approx(-3 * k * x * x, rel=1e-15)
    M = tree.calc_mass_matrix(context)[0, 0]
    dq, dv, _ = tree.calc_forward_dynamics_derivatives(context)
    assert dq[0, 0] == pytest.approx(-3 * k * x * x / M, rel=1e-14)
    assert dv[0, 0] == 0.0
    # Minus the rate of the energy along v and in time.
    power = -(k * x**3 * 1.5 + k / 1.5 * x**4 / 4)
    assert tree.calc_conservative_power(context) == pytest.approx(power, rel=1e-15)


def test_a_locked_joint_has_derivatives() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    context = tree.create_default_context()
    k, x = set_everything(context, element)
    tree.joints[0].lock(context)
    assert slope(tree, context) == pytest.approx(-3 * k * x * x, rel=1e-15)


def test_functions_see_the_same_derivatives() -> None:
    tree, _ = make_pendulum(lambda rod, pin: Cubic(pin))
    q = np.array([[0.5], [0.75]])
    dq, _, M = mbt.functional.forward_dynamics_derivatives(tree, q, [0.0], [0.0])
    np.testing.assert_allclose((dq * M)[:, 0, 0] / M[:, 0, 0] ** 2, -6.0 * (q[:, 0] - 0.25) ** 2, rtol=1e-14)


class Between(mbt.ForceElement):
    """A force on one joint that depends on another."""

    def __init__(self, joint: mbt.Joint, other: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint, self.other = joint, other

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        x, y = self.joint.get_angle(context), self.other.get_angle(context)
        forces.generalized_forces[self.joint.velocity_start] += x * y


def test_a_force_between_trees_on_world_couples_their_derivatives() -> None:
    tree, inertia = mbt.MultibodyTree(), mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.4, 0.5)
    joints = []
    for name in ("a", "b", "c"):
        rod = tree.add_body(mbt.RigidBody(name, inertia))
        joints.append(
            tree.add_joint(mbt.RevoluteJoint, name, tree.world_body, None, rod, None, axis=[0, 0, 1])
        )
    tree.add_force_element(Between(joints[0], joints[2]))
    tree.finalize()
    context = tree.create_default_context()
    context.q = q = [0.3, 0.5, -0.7]
    by_q, _, M_inverse = tree.calc_forward_dynamics_derivatives(context)
    desired = np.zeros((3, 3))
    desired[0] = M_inverse[0, 0] * np.array([q[2], 0.0, q[0]])
    np.testing.assert_allclose(by_q, desired, rtol=1e-14, atol=1e-15)


class Sine(mbt.ForceElement):
    """A force computed with the standard library, which takes floats only."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[0] += math.sin(context.q[0]) * context.v[0]

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        return math.cos(context.q[0]) + math.exp(context.time)


class Both(Sine):
    """A part that takes floats only beside one that takes any scalar."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        if isinstance(context.q, np.ndarray):
            forces.generalized_forces[0] += context.q[0] ** 2
        else:
            raise RuntimeError("only arrays of doubles")


class Uncopyable(Sine):
    """An element that holds something that cannot be copied."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint)
        self.lock = threading.Lock()


@pytest.mark.parametrize("kind", [Sine, Uncopyable])
def test_what_takes_floats_only_has_differences(kind: type[Sine]) -> None:
    tree, _ = make_pendulum(lambda rod, pin: kind(pin))
    context = tree.create_default_context()
    context.q, context.v, context.time = [0.7], [1.5], 0.25
    assert slope(tree, context) == pytest.approx(1.5 * math.cos(0.7), rel=1e-9)
    wanted = 1.5 * math.sin(0.7) - math.exp(0.25)
    assert tree.calc_conservative_power(context) == pytest.approx(wanted, rel=1e-9)


def test_only_those_that_need_differences_have_them() -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.add_force_element(Sine(pin))
    cubic = tree.add_force_element(Cubic(pin))
    tree.add_force_element(Both(pin))
    tree.finalize()
    context = tree.create_default_context()
    k, x = set_everything(context, cubic)
    cubic.scale = 1e9
    context.v = [0.0]
    # A difference would have an error of about 1e-1.
    assert slope(tree, context) == pytest.approx(-3e9 * k * x * x + 1.4, abs=1e-6)


def test_a_root_of_zero_has_differences() -> None:
    """Drag at rest: the derivative of the speed is undefined, that of the force is zero."""
    tree, _ = make_pendulum(lambda rod, pin: Drag(rod, 0.5))
    context = tree.create_default_context()
    np.testing.assert_allclose(tree.calc_forward_dynamics_derivatives(context)[1], 0.0, atol=1e-5)
    context.v = [2.0]
    M = tree.calc_mass_matrix(context)[0, 0]
    arm = math.hypot(0.1, 0.5)
    dv = tree.calc_forward_dynamics_derivatives(context)[1]
    assert dv[0, 0] == pytest.approx(-2 * 0.5 * arm**3 * 2.0 / M, rel=1e-14)


class Faulty(mbt.ForceElement):
    """An element with a bug."""

    def __init__(self, body: mbt.RigidBody) -> None:
        super().__init__(body.model_instance)
        self.body = body

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        raise LookupError("a mistake")

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        raise LookupError("a mistake in the energy")


@pytest.mark.parametrize("scalar", ["double", "autodiff", "mpmath", "sympy"])
def test_errors_surface_as_they_are(scalar: str) -> None:
    tree = make_pendulum(lambda rod, pin: Faulty(rod))[0].clone_to_scalar(scalar)
    context = tree.create_default_context()
    with pytest.raises(LookupError, match=r"a mistake\b"):
        tree.calc_inverse_dynamics_derivatives(context, [0.0], include_force_elements=True)
    with pytest.raises(LookupError, match=r"a mistake\b"):
        tree.calc_forward_dynamics_derivatives(context)
    with pytest.raises(LookupError, match="energy"):
        tree.calc_conservative_power(context)


class Settings:
    """Settings in a class of the user."""

    def __init__(self, gain: float) -> None:
        self.gain = gain


CHANGES: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], None]]] = {
    "number": (1.0, lambda scale: scale, lambda element: setattr(element, "scale", 2.0)),
    "array": (np.ones(2), lambda scale: scale[0], lambda element: element.scale.__setitem__(0, 2.0)),
    "list": ([[1.0]], lambda scale: scale[0][0], lambda element: element.scale[0].__setitem__(0, 2.0)),
    "object": (Settings(1.0), lambda scale: scale.gain, lambda element: setattr(element.scale, "gain", 2.0)),
    "unknown": (iter([1.0, 1.0, 1.0]), lambda scale: 1.0, lambda element: None),
}


@pytest.mark.parametrize("case", CHANGES)
def test_attributes_may_change(case: str) -> None:
    """The copy that is kept for derivatives follows the element."""
    value, read, change = CHANGES[case]

    class Linear(Cubic):
        def _stiffness(self, context: Any) -> Any:
            return read(self.scale)

    tree, element = make_pendulum(lambda rod, pin: Linear(pin))
    element.scale = copy.copy(value) if case != "unknown" else value
    context = tree.create_default_context()
    before = slope(tree, context)
    assert before == pytest.approx(-3 * 0.25**2, rel=1e-15)
    kept = tree._tangent
    assert slope(tree, context) == before
    if case != "unknown":
        assert tree._tangent is kept
    change(element)
    assert slope(tree, context) == (1.0 if case == "unknown" else 2.0) * before


def test_copies_do_not_carry_what_is_kept() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    context = tree.create_default_context()
    set_everything(context, element)
    before = len(pickle.dumps(tree))
    wanted = slope(tree, context)
    assert tree._tangent is not None
    assert len(pickle.dumps(tree)) == before
    for twin in (tree.clone(), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree)), tree.to_autodiff()):
        assert twin._tangent is None
    twin = pickle.loads(pickle.dumps(context))
    assert slope(twin.tree, twin) == wanted


# Other scalars


def test_second_derivatives() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    ad = tree.to_autodiff()
    variant = ad.get_variant(element)
    context = ad.create_default_context()
    k, x = set_everything(context, variant)
    q, v, time, stiffness, zero = initialize([0.7], [1.5], 0.5, [3.0], [0.125])
    context.q, context.v, context.time = q, v, time
    context.set_numeric_parameter(variant.stiffness, stiffness)
    context.set_discrete_state(variant.zero, zero)
    got = slope(ad, context)
    assert got.value == pytest.approx(-3 * k * x * x, rel=1e-15)
    wanted = [-6 * k * x, 0.0, -3 * k / 1.5 * x * x, -k * x * x, 6 * k * x]
    np.testing.assert_allclose(got.derivatives, wanted, rtol=1e-14, atol=1e-15)
    # -(k x^3 v + k/(1 + t) x^4 / 4), with k in proportion to 1 + t.
    power = ad.calc_conservative_power(context)
    assert power.value == pytest.approx(-(k * x**3 * 1.5 + k / 1.5 * x**4 / 4), rel=1e-14)
    by_x = -(3 * k * x**2 * 1.5 + k / 1.5 * x**3)
    wanted = [by_x, -k * x**3, -k / 1.5 * x**3 * 1.5, power.value / 3.0, -by_x]
    np.testing.assert_allclose(power.derivatives, wanted, rtol=1e-14)


def test_forces_have_derivatives_with_respect_to_time() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    ad = tree.to_autodiff()
    context = ad.create_default_context()
    k, x = set_everything(context, ad.get_variant(element))
    context.time = initialize(0.5)
    tau = ad.calc_force_elements_contribution(context, mbt.MultibodyForces(ad)).generalized_forces
    np.testing.assert_allclose(tau.derivatives, [[-k / 1.5 * x**3]], rtol=1e-15)


def test_symbols() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    sym = tree.to_symbolic()
    context = sym.create_default_context()
    variant = sym.get_variant(element)
    q, v, t, k, z = sp.symbols("q v t k z")
    context.q, context.v, context.time = [q], [v], t
    context.set_numeric_parameter(variant.stiffness, [k])
    context.set_discrete_state(variant.zero, [z])
    dq, dv, _ = sym.calc_inverse_dynamics_derivatives(context, [0.0], include_force_elements=True)
    assert sp.simplify(sp.nsimplify(dq[0, 0]) - 3 * k * (1 + t) * (q - z) ** 2) == 0
    assert sp.nsimplify(dv[0, 0]) == 0
    energy = sym.calc_potential_energy(context)
    power = sym.calc_conservative_power(context)
    wanted = -(sp.diff(energy, q) * v + sp.diff(energy, t))
    assert sp.simplify(sp.nsimplify(power - wanted)) == 0


def test_many_digits() -> None:
    tree, _ = make_pendulum(lambda rod, pin: Cubic(pin))
    twin = tree.clone_to_scalar("mpmath")
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q = [mpmath.mpf(1) / 3]
        wanted = -3 * 2 * (mpmath.mpf(1) / 3 - mpmath.mpf(1) / 4) ** 2
        assert abs(slope(twin, context) - wanted) < mpmath.mpf(10) ** -48


def test_differences_of_numbers_with_derivatives() -> None:
    """An element that takes no objects, in a tree that has derivatives already."""

    class Solved(Sine):
        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            A = np.stack(
                [np.stack([context.q[0], context.q[0] * 0.0]), np.stack([context.q[0], context.q[0]])]
            )
            forces.generalized_forces[0] += np.linalg.solve(A, np.ones(2) * context.q[0] ** 4)[0]

    tree, _ = make_pendulum(lambda rod, pin: Solved(pin))
    ad = tree.to_autodiff()
    context = ad.create_default_context()
    context.q = initialize([0.5])
    got = slope(ad, context)
    assert got.value == pytest.approx(3 * 0.5**2, rel=1e-8)
    assert got.derivatives == pytest.approx(6 * 0.5, rel=1e-8)
    assert isinstance(got, AutoDiffArray)


class Crank(mbt.Frame):
    """A frame that takes floats only, and holds a lock."""

    def do_declare_parameters(self) -> None:
        self.angle = self.declare_numeric_parameter(0.5)

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        (angle,) = parameters.get_numeric_parameter(self.angle)
        return mbt.math.make_pose([math.cos(angle), 0, math.sin(angle)])


class Weight(mbt.ForceElement):
    """A weight at the origin of a frame; it calls the frame's methods."""

    def __init__(self, frame: mbt.Frame) -> None:
        super().__init__(frame.model_instance)
        self.frame = frame

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        body = self.frame.body
        p_WoFo_W = self.frame.calc_pose_in_world(context)[:3, 3]
        p_BoFo_W = p_WoFo_W - body.eval_pose_in_world(context)[:3, 3]
        f_W = np.array([0.0, 0.0, -2.0])
        body.add_in_force_in_world(context, np.concatenate([np.cross(p_BoFo_W, f_W), f_W]), forces)

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        return 2.0 * self.frame.calc_pose_in_world(context)[2, 3]


def test_frames_that_take_floats_only_stay_where_they_are() -> None:
    """Nothing in the frame depends on the state, so it is not recomputed."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    crank = tree.add_frame(Crank("crank", rod))
    tree.add_force_element(Weight(crank))
    tree.finalize()
    context = tree.create_default_context()
    context.set_numeric_parameter(crank.angle, [0.75])
    context.q, context.v = [0.25], [3.0]
    # The height of the weight is sin(0.75 - q).
    assert slope(tree, context) == pytest.approx(2 * math.sin(0.5), rel=1e-15)
    assert tree.calc_conservative_power(context) == pytest.approx(2 * math.cos(0.5) * 3.0, rel=1e-15)


def test_a_tree_that_does_not_move() -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, None, rod, None)
    tree.add_force_element(Weight(rod.body_frame))
    tree.finalize()
    for clone in (tree, tree.to_autodiff(), tree.to_symbolic()):
        derivatives = clone.calc_forward_dynamics_derivatives(clone.create_default_context())
        assert [matrix.shape for matrix in derivatives] == [(0, 0)] * 3
        assert clone.calc_conservative_power(clone.create_default_context()) == 0


def test_threads_may_share_a_tree() -> None:
    tree, element = make_pendulum(lambda rod, pin: Cubic(pin))
    results: dict[int, list[Any]] = {}

    def compute(i: int) -> None:
        context = tree.create_default_context()
        set_everything(context, element)
        for k in range(20):
            context.q = [0.1 * i + 0.01 * k]
            results.setdefault(i, []).append(slope(tree, context))

    threads = [threading.Thread(target=compute, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    k = 3.0 * 0.5 * 1.5
    for i, got in results.items():
        wanted = [-3 * k * (0.1 * i + 0.01 * j - 0.125) ** 2 for j in range(20)]
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert len(results) == 4
