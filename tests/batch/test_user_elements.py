"""Elements written in Python, in a batch: they receive arrays with its axes in front, and run unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import arrays_of, make_batch, tree_of, tree_without_users
from mbt import functional
from support.description import Array

SHAPES = [(0,), (1,), (2,), (3,), (5,), (2, 3)]


class Spring(mbt.ForceElement):
    """A joint spring with parameters, a setpoint and a cache entry of its own; it weakens with time."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint
        self.num_calls = 0

    def do_declare_force_element_parameters(self) -> None:
        self.constants = self.declare_numeric_parameter([3.0, 0.5])
        self.table = self.declare_abstract_parameter({"gain": 2.0})

    def do_declare_discrete_state(self) -> None:
        self.setpoint = self.declare_discrete_state(0.25)

    def do_declare_cache_entries(self) -> None:
        self.stretch = self.declare_cache_entry(
            "stretch", self.calc_stretch, ["q", "parameters", "discrete_state"]
        )

    def calc_stretch(self, context: Any) -> Any:
        self.num_calls += 1
        offset = context.get_numeric_parameter(self.constants)[..., 1]
        return (
            context.q[..., self.joint.position_start]
            - offset
            - context.get_discrete_state(self.setpoint)[..., 0]
        )

    def stiffness(self, context: Any) -> Any:
        gain = context.get_abstract_parameter(self.table)["gain"]
        return gain * context.get_numeric_parameter(self.constants)[..., 0] / (1.0 + context.time)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        tau = -self.stiffness(context) * context.eval_cache_entry(self.stretch)
        forces.generalized_forces[..., self.joint.velocity_start] += tau

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        stretch = context.eval_cache_entry(self.stretch)
        return self.stiffness(context) * stretch * stretch / 2


class Telescope(mbt.Frame):
    """A frame at a distance along x, turned about z."""

    def do_declare_parameters(self) -> None:
        self.place = self.declare_numeric_parameter([0.5, 0.3])

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        place = parameters.get_numeric_parameter(self.place)
        return mbt.math.make_pose([place[..., 0], 0, 0], rpy=[0, 0, place[..., 1]])


def make_tree() -> tuple[mbt.MultibodyTree, Spring, Telescope]:
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_box_with_mass(1.5, 0.1, 0.2, 1.0)
    upper = tree.add_body(mbt.RigidBody("upper", M))
    lower = tree.add_body(mbt.RigidBody("lower", M))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, upper, None, [0, 1, 0], damping=0.1)
    telescope = tree.add_frame(Telescope("telescope", upper))
    tree.add_joint(mbt.RevoluteJoint("elbow", telescope, lower.body_frame, [0, 0, 1]))
    spring = tree.add_force_element(Spring(pin))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree, spring, telescope


def values(shape: tuple[int, ...], size: int, seed: int) -> Array:
    return np.random.default_rng(seed).uniform(0.5, 1.5, (*shape, size))


def fill(context: Any, spring: Spring, telescope: Telescope) -> None:
    """A state, and all declared values, of each sample."""
    shape = context.batch_shape
    tree = context.tree
    context.q, context.v = values(shape, tree.num_positions, 1), values(shape, tree.num_velocities, 2)
    context.time = values(shape, 1, 3)[..., 0]
    context.set_numeric_parameter(spring.constants, values(shape, 2, 4))
    context.set_numeric_parameter(telescope.place, values(shape, 2, 5))
    context.set_discrete_state(spring.setpoint, values(shape, 1, 6))


def sample(context: Any, i: tuple[int, ...], spring: Spring, telescope: Telescope) -> Any:
    """A Context of one state with the values of one sample."""
    single = context.tree.create_default_context()
    single.q, single.v, single.time = context.q[i], context.v[i], context.time[i]
    for index in (spring.constants, telescope.place):
        single.set_numeric_parameter(index, context.get_numeric_parameter(index)[i])
    single.set_discrete_state(spring.setpoint, context.get_discrete_state(spring.setpoint)[i])
    return single


METHODS = (
    "calc_forward_dynamics",
    "calc_potential_energy",
    "calc_conservative_power",
    "calc_non_conservative_power",
    "calc_reaction_forces",
    "calc_mass_matrix",
    "calc_forward_dynamics_derivatives",
    "calc_energy_report",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_each_sample_is_as_one_state(shape: tuple[int, ...]) -> None:
    tree, spring, telescope = make_tree()
    context = tree.create_default_context(shape)
    fill(context, spring, telescope)
    got = {name: arrays_of(getattr(tree, name)(context)) for name in METHODS}
    got["inverse"] = arrays_of(
        tree.calc_inverse_dynamics_derivatives(context, [0.5, 0.25], include_force_elements=True)
    )
    got["frame"] = [telescope.calc_pose_in_world(context), telescope.calc_pose_in_body_frame(context)]
    for i in np.ndindex(shape):
        single = sample(context, i, spring, telescope)
        wanted = {name: arrays_of(getattr(tree, name)(single)) for name in METHODS}
        wanted["inverse"] = arrays_of(
            tree.calc_inverse_dynamics_derivatives(single, [0.5, 0.25], include_force_elements=True)
        )
        wanted["frame"] = [telescope.calc_pose_in_world(single), telescope.calc_pose_in_body_frame(single)]
        for name, arrays in wanted.items():
            for a, b in zip(got[name], arrays, strict=True):
                assert np.shape(a) == (*shape, *np.shape(b))
                scale = max(1.0, float(np.max(np.abs(b))))
                np.testing.assert_allclose(a[i], b, rtol=0, atol=1e-12 * scale, err_msg=name)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_was_declared_has_the_axes_of_the_batch_from_the_beginning(shape: tuple[int, ...]) -> None:
    tree, spring, _ = make_tree()
    context = tree.create_default_context(shape)

    def constants() -> Any:
        return context.get_numeric_parameter(spring.constants)

    for c in (context, context.clone()):
        assert c.get_numeric_parameter(spring.constants).shape == (*shape, 2)
        assert c.get_discrete_state(spring.setpoint).shape == (*shape, 1)
        assert c.eval_cache_entry(spring.stretch).shape == shape
    # One value for all samples, and a scalar for a vector of length one.
    context.set_numeric_parameter(spring.constants, [4.0, 0.125])
    np.testing.assert_array_equal(
        context.get_numeric_parameter(spring.constants), np.full((*shape, 2), [4.0, 0.125])
    )
    context.set_discrete_state(spring.setpoint, 0.75)
    np.testing.assert_array_equal(context.get_discrete_state(spring.setpoint), np.full((*shape, 1), 0.75))
    context.set_discrete_state(spring.setpoint, np.ones(shape))
    np.testing.assert_array_equal(context.get_discrete_state(spring.setpoint), np.ones((*shape, 1)))
    tree.set_default_context(context)
    np.testing.assert_array_equal(
        context.get_numeric_parameter(spring.constants), np.full((*shape, 2), [3.0, 0.5])
    )


def test_what_is_refused_changes_nothing() -> None:
    tree, spring, telescope = make_tree()
    context = tree.create_default_context((2, 3))
    fill(context, spring, telescope)
    before, poses = context._declared.get_state(), telescope.calc_pose_in_body_frame(context)
    nan = values((2, 3), 2, 0)
    nan[1, 1, 0] = np.nan
    for wrong, error in (
        (np.ones((2, 2)), mbt.ShapeError),
        (np.ones((2, 3, 3)), mbt.ShapeError),
        (np.ones((3, 2, 2)), mbt.ShapeError),
        (nan, mbt.ArgumentValueError),
        ("x", mbt.ArgumentTypeError),
    ):
        for index, what in ((spring.constants, "force element"), (telescope.place, "frame")):
            with pytest.raises(error, match=f"numeric parameter . of {what}.*: expected"):
                context.set_numeric_parameter(index, wrong)
    for kind, arrays in context._declared.get_state().items():
        assert all(a is b for a, b in zip(arrays, before[kind], strict=True))
    np.testing.assert_array_equal(telescope.calc_pose_in_body_frame(context), poses)


def test_a_frame_that_has_no_pose_in_one_sample() -> None:
    class Stretched(Telescope):
        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            place = parameters.get_numeric_parameter(self.place)
            return np.eye(4) * np.stack([place[..., 0]] * 3 + [np.ones(place.shape[:-1])], -1)[..., None]

    tree = mbt.MultibodyTree()
    frame = tree.add_frame(Stretched("stretched", tree.world_body))
    frame.do_declare_parameters = lambda: setattr(frame, "place", frame.declare_numeric_parameter([1.0, 0.0]))  # type: ignore[method-assign]
    tree.finalize()
    context = tree.create_default_context(3)
    with pytest.raises(mbt.ArgumentValueError, match=r"frame 'stretched': Stretched.*\[2\]: expected a pose"):
        context.set_numeric_parameter(frame.place, [[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    np.testing.assert_array_equal(context.get_numeric_parameter(frame.place), np.tile([1.0, 0.0], (3, 1)))


def test_a_cache_entry_is_computed_once_for_all_samples() -> None:
    tree, spring, telescope = make_tree()
    context = tree.create_default_context(4)
    fill(context, spring, telescope)
    spring.num_calls = 0
    for _ in range(2):
        tree.calc_forward_dynamics(context)
        tree.calc_potential_energy(context)
    assert spring.num_calls == 1
    stretch = context.eval_cache_entry(spring.stretch)
    kept = stretch.copy()
    assert not stretch.flags.writeable
    context.v = context.v + 1.0
    assert context.eval_cache_entry(spring.stretch) is not None
    assert spring.num_calls == 1
    context.q = context.q + 1.0
    np.testing.assert_allclose(context.eval_cache_entry(spring.stretch), kept + 1.0, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(stretch, kept)


def test_a_number_of_a_wrong_shape() -> None:
    class Wrong(Spring):
        def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
            return np.ones((2, 2))

    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, ball, None, [0, 1, 0])
    tree.add_force_element(Wrong(pin))
    tree.finalize()
    context = tree.create_default_context(3)
    with pytest.raises(
        mbt.ShapeError,
        match=r"Wrong_0'?: Wrong.do_calc_potential_energy: expected shape \(3,\), got \(2, 2\)",
    ):
        tree.calc_potential_energy(context)


def test_an_element_that_fails_leaves_the_forces() -> None:
    class Failing(Spring):
        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            forces.generalized_forces[...] = 7.0
            raise RuntimeError("on purpose")

    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, ball, None, [0, 1, 0])
    tree.add_force_element(Failing(pin))
    tree.finalize()
    context = tree.create_default_context(3)
    forces = mbt.MultibodyForces(tree, 3)
    with pytest.raises(RuntimeError, match="on purpose"):
        tree.calc_force_elements_contribution(context, forces)
    assert not forces.generalized_forces.any()
    out = np.full((3, 1), 5.0)
    with pytest.raises(RuntimeError, match="on purpose"):
        tree.calc_forward_dynamics(context, out=out)
    assert (out == 5.0).all()


@pytest.mark.parametrize("with_users", [True, False])
def test_stateless_functions_give_the_same(with_users: bool) -> None:
    tree = tree_of() if with_users else tree_without_users()
    shape = (2, 3)
    given = make_batch(tree, shape)
    # Default parameters, and no actuation.
    context = tree.create_default_context(shape)
    context.q, context.v = given.q, given.v
    q, v = given.q, given.v
    x = values(shape, tree.num_velocities, 9)
    tip = tree.bodies[-1].body_frame
    origin, W = np.zeros(3), tree.world_frame
    pairs = [
        (
            functional.inverse_dynamics(tree, q, v, x),
            tree.calc_inverse_dynamics(context, x, include_force_elements=True),
        ),
        (functional.forward_dynamics(tree, q, v, x), tree.calc_forward_dynamics(context, x)),
        (functional.mass_matrix(tree, q), tree.calc_mass_matrix(context)),
        (functional.bias_term(tree, q, v), tree.calc_bias_term(context)),
        (functional.gravity_generalized_forces(tree, q), tree.calc_gravity_generalized_forces(context)),
        (functional.body_poses(tree, q), tree.eval_position_kinematics(context).X_WB),
        (
            functional.frame_jacobian(tree, q, tip),
            tree.calc_jacobian_spatial_velocity(context, "v", tip, origin, W, W),
        ),
    ]
    if not with_users:
        pairs += zip(
            functional.inverse_dynamics_derivatives(tree, q, v, x),
            tree.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True),
            strict=True,
        )
        pairs += zip(
            functional.forward_dynamics_derivatives(tree, q, v, x),
            tree.calc_forward_dynamics_derivatives(context, x),
            strict=True,
        )
    for a, b in pairs:
        scale = max(1.0, float(np.max(np.abs(b))))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * scale)


class Boom(Telescope):
    """Without the rotation: NumPy has no sine of objects."""

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
        return mbt.math.make_pose([parameters.get_numeric_parameter(self.place)[..., 0], 0, 0])


@pytest.mark.parametrize(
    ("scalar", "frame_type"), [("autodiff", Telescope), ("mpmath", Boom), ("sympy", Boom)]
)
def test_the_same_code_serves_other_scalars(scalar: str, frame_type: type[Telescope]) -> None:
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(frame_type("frame", tree.world_body))
    tree.finalize()
    twin = tree.clone_to_scalar(scalar)
    single, of_scalar = tree.create_default_context(), twin.create_default_context()
    variant: Any = twin.get_variant(frame)
    for context, own in ((single, frame), (of_scalar, variant)):
        context.set_numeric_parameter(own.place, [0.75, 0.5])
    got = variant.calc_pose_in_body_frame(of_scalar)
    numbers = got.value if scalar == "autodiff" else np.array(got.tolist(), dtype=float)
    np.testing.assert_allclose(numbers, frame.calc_pose_in_body_frame(single), rtol=0, atol=1e-15)


def test_forces_to_add_to_have_the_axes_of_the_batch() -> None:
    tree = tree_without_users()
    context = make_batch(tree, (2, 3))
    joint, body = tree.joints[1], tree.bodies[2]
    for wrong in ((), (3,), (3, 2)):
        forces = mbt.MultibodyForces(tree, wrong)
        with pytest.raises(mbt.ShapeError, match=r"forces: expected batch shape \(2, 3\)"):
            joint.add_in_damping(context, forces)
        with pytest.raises(mbt.ShapeError, match=r"forces: expected batch shape \(2, 3\)"):
            body.add_in_force(context, [0, 0, 0], np.ones(6), body.body_frame, forces)
        assert forces == mbt.MultibodyForces(tree, wrong)
