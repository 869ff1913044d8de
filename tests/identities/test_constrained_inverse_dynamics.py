"""Forces of motors and constraints that give mechanisms with loops the wanted accelerations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support import constraints
from support.linkages import MECHANISMS, assembled

#: The velocities that have motors.
MOTORS = {"four-bar": [0], "delta": [0, 1, 2], "stewart": [8, 11, 14, 17, 20, 23]}
F = mbt.functional
every_mechanism = pytest.mark.parametrize("name", MECHANISMS)


def motion_of(name: str, seed: int = 0) -> tuple[mbt.MultibodyTree, np.ndarray, np.ndarray, np.ndarray]:
    """A mechanism with a motion that its constraints allow."""
    tree, rng = MECHANISMS[name][0](), np.random.default_rng(seed)
    context = assembled(tree, rng)
    q, v = context.q.copy(), context.v.copy()
    return tree, q, v, allowed(tree, q, v, rng)


def allowed(tree: mbt.MultibodyTree, q: Any, v: Any, rng: np.random.Generator) -> np.ndarray:
    J = F.constraint_jacobian(tree, q)
    J_plus = np.linalg.pinv(J, rcond=1e-6)
    free = rng.normal(size=tree.num_velocities)
    return free - J_plus @ (J @ free + F.constraint_bias(tree, q, v))


def least_forces(tree: mbt.MultibodyTree, q: Any, v: Any, vdot: Any, motors: Any) -> tuple[Any, Any]:
    """In NumPy, by singular values: along the motions that constraints allow, only motors act."""
    J, wanted = F.constraint_jacobian(tree, q), F.inverse_dynamics(tree, q, v, vdot)
    rank = np.linalg.matrix_rank(J, tol=1e-6)
    N, S = np.linalg.svd(J)[2][rank:].T, np.eye(tree.num_velocities)[:, motors]
    tau = S @ np.linalg.pinv(N.T @ S) @ N.T @ wanted
    return tau, np.linalg.pinv(J.T, rcond=1e-6) @ (wanted - tau)


def assert_close(actual: Any, desired: Any) -> None:
    scale = max(1.0, np.abs(desired).max(initial=0.0))
    np.testing.assert_allclose(actual, desired, rtol=0, atol=1e-11 * scale)


@every_mechanism
@pytest.mark.parametrize("has_all", [False, True])
def test_least_forces(name: str, has_all: bool) -> None:
    """With just enough motors, and with more, which share the work. Forward dynamics gives vdot back."""
    tree, q, v, vdot = motion_of(name)
    motors = list(range(tree.num_velocities)) if has_all else MOTORS[name]
    tau, multipliers = F.constrained_inverse_dynamics(tree, q, v, vdot, motors)
    for found, wanted in zip((tau, multipliers), least_forces(tree, q, v, vdot, motors), strict=True):
        assert_close(found, wanted)
    assert not np.delete(tau, motors).any()
    assert_close(tau, F.inverse_dynamics(tree, q, v, vdot, multipliers=multipliers))
    again, of_constraints = F.constrained_forward_dynamics(tree, q, v, tau)
    assert_close(again, vdot)
    assert_close(of_constraints, multipliers)


@every_mechanism
def test_leading_axes_and_out(name: str) -> None:
    tree, q, v, vdot = motion_of(name)
    other = allowed(tree, q, v, np.random.default_rng(1))
    both = np.stack([vdot, other])
    out = np.empty((2, tree.num_velocities)), np.empty((2, tree.num_constraint_equations))
    found = F.constrained_inverse_dynamics(tree, q[None], v, both, MOTORS[name], out=out)
    assert found[0] is out[0]
    assert found[1] is out[1]
    for i in range(2):
        single = F.constrained_inverse_dynamics(tree, q, v, both[i], MOTORS[name])
        for several, one in zip(found, single, strict=True):
            assert_close(several[i], one)
    empty = F.constrained_inverse_dynamics(tree, q, v, both[:0], MOTORS[name])
    assert [x.shape for x in empty] == [(0, tree.num_velocities), (0, tree.num_constraint_equations)]


def test_external_forces() -> None:
    tree, q, v, vdot = motion_of("delta")
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[...] = np.random.default_rng(0).normal(size=forces.body_forces.shape)
    tau, _ = F.constrained_inverse_dynamics(tree, q, v, vdot, MOTORS["delta"], external_forces=forces)
    assert_close(F.constrained_forward_dynamics(tree, q, v, tau, external_forces=forces)[0], vdot)


def test_constraints_that_repeat_each_other() -> None:
    """The ball of a planar four-bar linkage constrains out of its plane what the pins constrain already."""
    tree = constraints.four_bar(rpy=(0.3, -0.2, 0.5))
    context = tree.create_default_context()
    context.q = np.array([0.9, -1.2, -0.8])
    context.v = np.array([0.5, -0.3, 0.2])
    tree.assemble(context)
    q, v = context.q.copy(), context.v.copy()
    vdot = allowed(tree, q, v, np.random.default_rng(0))
    for motors in ([0], [0, 2], [0, 1, 2]):
        found = F.constrained_inverse_dynamics(tree, q, v, vdot, motors)
        for actual, wanted in zip(found, least_forces(tree, q, v, vdot, motors), strict=True):
            assert_close(actual, wanted)
        dual = F.constrained_inverse_dynamics(tree.to_autodiff(), q, v, vdot, motors)
        for actual, wanted in zip(dual, found, strict=True):
            assert_close(actual.value, wanted)


@pytest.mark.parametrize("name", ["four-bar", "delta"])
def test_derivatives_vs_differences(name: str) -> None:
    """Along a motion of the mechanism, where the accelerations stay compatible with the constraints."""
    tree, q, v, vdot = motion_of(name)
    dual, h = tree.to_autodiff(), 1e-5

    def at(time: float) -> tuple[Any, Any, Any]:
        context = tree.create_default_context()
        context.q = tree.integrate_positions(q, v + 0.5 * time * vdot, time)
        context.v = v + time * vdot
        tree.assemble(context)
        q1, v1 = context.q.copy(), context.v.copy()
        J_plus = np.linalg.pinv(F.constraint_jacobian(tree, q1), rcond=1e-6)
        return (
            q1,
            v1,
            vdot - J_plus @ (F.constraint_jacobian(tree, q1) @ vdot + F.constraint_bias(tree, q1, v1)),
        )

    ahead, behind = at(h), at(-h)
    moving = [
        mbt.autodiff.AutoDiffArray(x, ((a - b) / (2 * h))[:, None])
        for x, a, b in zip(at(0.0), ahead, behind, strict=True)
    ]
    found = F.constrained_inverse_dynamics(dual, *moving, MOTORS[name])
    later, earlier = (F.constrained_inverse_dynamics(tree, *x, MOTORS[name]) for x in (ahead, behind))
    for x, a, b in zip(found, later, earlier, strict=True):
        scale = 1.0 + np.abs(x.derivatives).max()
        np.testing.assert_allclose(x.derivatives[:, 0], (a - b) / (2 * h), rtol=0, atol=1e-6 * scale)
    several = F.constrained_inverse_dynamics(dual, np.stack([q, q]), v, vdot, MOTORS[name])
    assert_close(several[0].value[1], found[0].value)


def coupled(has_motor: bool = True) -> mbt.MultibodyTree:
    """Two pendulums that turn alike; a motor turns the second one."""
    tree = mbt.MultibodyTree()
    pins = []
    for name in ("left", "right"):
        rod = tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        pins.append(tree.add_joint(mbt.RevoluteJoint, name, tree.world_body, None, rod, None, axis=[0, 1, 0]))
    if has_motor:
        tree.add_joint_actuator("motor", pins[1])
    tree.add_constraint(mbt.CouplerConstraint("coupling", *pins))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def test_motors_are_those_of_actuators() -> None:
    """In a tree without actuators, every velocity has a motor."""
    tree = coupled()
    zero, vdot = np.zeros(2), np.array([3.0, 3.0])
    tau, multipliers = F.constrained_inverse_dynamics(tree, zero, zero, vdot)
    assert_close(tau, [0.0, 3.0])
    assert_close(multipliers, [1.5])
    for motors in ([0, 1], [1, 0, 1], [True, True], np.array([True, True]), (0, 1)):
        tau, multipliers = F.constrained_inverse_dynamics(tree, zero, zero, vdot, motors)
        assert_close(tau, [1.5, 1.5])
        assert_close(multipliers, [0.0])
    bare = coupled(has_motor=False)
    assert_close(F.constrained_inverse_dynamics(bare, zero, zero, vdot)[0], [1.5, 1.5])


def test_tree_without_constraints() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    q, v, vdot = np.random.default_rng(0).normal(size=(3, tree.num_velocities))
    tau, multipliers = F.constrained_inverse_dynamics(tree, q, v, vdot)
    assert multipliers.shape == (0,)
    assert_close(tau, F.inverse_dynamics(tree, q, v, vdot))


def test_motions_that_constraints_do_not_allow() -> None:
    tree = coupled()
    zero, message = (
        np.zeros(2),
        r"^vdot: expected accelerations that the constraints allow.*'coupling' it is 1$",
    )
    for given in (tree, tree.to_autodiff()):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            F.constrained_inverse_dynamics(given, zero, zero, [2.0, 1.0])
    tau, multipliers = F.constrained_inverse_dynamics(tree, zero, zero, [[2.0, 1.0], [1.0, 1.0]])
    assert np.isnan(tau[0]).all()
    assert np.isnan(multipliers[0]).all()
    assert_close(tau[1], [0.0, 1.0])


def test_motions_that_motors_cannot_give() -> None:
    """No motors are needed for the accelerations that gravity causes."""
    tree, q, v, vdot = motion_of("four-bar")
    message = "^actuated: these motors cannot give the accelerations: .* is missing$"
    for given in (tree, tree.to_autodiff()):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            F.constrained_inverse_dynamics(given, q, v, vdot, [])
    falling, multipliers = F.constrained_forward_dynamics(tree, q, v, np.zeros(3))
    for given in (tree, tree.to_autodiff()):
        tau, of_constraints = F.constrained_inverse_dynamics(given, q, v, falling, [])
        assert_close(np.asarray(getattr(tau, "value", tau)), np.zeros(3))
        assert_close(np.asarray(getattr(of_constraints, "value", of_constraints)), multipliers)
    both = F.constrained_inverse_dynamics(tree, q, v, np.stack([vdot, falling]), [])
    assert np.isnan(both[0][0]).all()
    assert_close(both[1][1], multipliers)


def test_states_that_are_nan_have_no_result() -> None:
    tree, q, v, vdot = motion_of("four-bar")
    bad = np.stack([q, q])
    bad[0, 1] = np.nan
    tau, multipliers = F.constrained_inverse_dynamics(tree, bad, v, vdot, [0])
    assert np.isnan(tau[0]).all()
    assert np.isnan(multipliers[0]).all()
    assert np.isfinite(tau[1]).all()
    assert np.isnan(F.constrained_inverse_dynamics(tree, bad[0], v, vdot, [0])[0]).all()


@pytest.mark.parametrize(
    ("actuated", "error", "message"),
    [
        ([True], mbt.ShapeError, r"^actuated: expected shape \(2,\) of True and False, got \(1,\)$"),
        ([2], mbt.ArgumentValueError, r"^actuated: expected indices from 0 to 1, got \[2\]$"),
        ([-1], mbt.ArgumentValueError, r"^actuated: expected indices from 0 to 1, got \[-1\]$"),
        ([0.5], mbt.ArgumentTypeError, "^actuated: expected True or False for each velocity, or indices"),
        ("motor", mbt.ArgumentTypeError, "^actuated: expected True or False for each velocity, or indices"),
        ([[0], [1, 2]], mbt.ArgumentTypeError, "^actuated: expected True or False for each velocity, or"),
    ],
)
def test_bad_motors(actuated: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        F.constrained_inverse_dynamics(coupled(), [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], actuated)


def test_out_is_left_untouched() -> None:
    tree = coupled()
    out = np.full(2, 7.0), np.full(1, 7.0)
    with pytest.raises(mbt.ArgumentValueError):
        F.constrained_inverse_dynamics(tree, [0.0, 0.0], [0.0, 0.0], [2.0, 1.0], out=out)
    with pytest.raises(mbt.ShapeError, match=r"^out\[1\]"):
        F.constrained_inverse_dynamics(tree, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0], out=(out[0], np.empty(3)))
    assert (out[0] == 7.0).all()
    assert (out[1] == 7.0).all()


def test_symbols() -> None:
    """With independent constraints, since symbols cannot tell redundant ones."""
    sympy = pytest.importorskip("sympy")
    tree = coupled()
    a = sympy.Symbol("a")
    zero = np.zeros(2)
    tau, multipliers = F.constrained_inverse_dynamics(tree.to_symbolic(), zero, zero, [a, a])
    assert sympy.simplify(tau[1] - a) == 0
    assert sympy.simplify(multipliers[0] - a / 2) == 0
