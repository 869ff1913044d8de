"""Values assigned to a batch: one for all samples, or arrays whose leading axes broadcast."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import CALLS, arrays_of, make_batch, tree_of, tree_without_users
from support.description import Array

SHAPE = (2, 3)
NAMES = ("q", "v", "actuation", "time")
# Leading axes that broadcast to those of the batch.
LEADS = [(), (1,), (3,), (1, 3), (2, 1), (1, 1), (2, 3)]


def size_of(name: str) -> tuple[int, ...]:
    tree = tree_of()
    sizes = {"q": tree.num_positions, "v": tree.num_velocities, "actuation": tree.num_actuators}
    return (sizes[name],) if name in sizes else ()


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("name", NAMES)
def test_leading_axes_broadcast(name: str, lead: tuple[int, ...]) -> None:
    context = make_batch(tree_of(), SHAPE)
    values = np.asarray(np.random.default_rng(1).normal(size=(*lead, *size_of(name))))
    setattr(context, name, values)
    wanted = np.broadcast_to(values, (*SHAPE, *size_of(name)))
    np.testing.assert_array_equal(getattr(context, name), wanted)
    # Nested lists, other dtypes and strides, a Fortran order.
    others = [values.tolist(), np.asfortranarray(values), values.astype(">f8")]
    if values.ndim:
        others.append(np.array(values[..., ::-1])[..., ::-1])
    for same in others:
        setattr(context, name, np.zeros(size_of(name)))
        setattr(context, name, same)
        np.testing.assert_array_equal(getattr(context, name), wanted)
    # A copy.
    if values.ndim:
        values[...] = 7.0
        assert not (getattr(context, name) == 7.0).any()


WRONG: list[tuple[Callable[[tuple[int, ...]], Any], type[mbt.MbtError]]] = [
    (lambda size: np.zeros((2, *size)), mbt.ShapeError),
    (lambda size: np.zeros((3, 2, *size)), mbt.ShapeError),
    (lambda size: np.zeros((1, 2, 3, *size)), mbt.ShapeError),
    (lambda size: np.zeros((0, *size)), mbt.ShapeError),
    (lambda size: np.zeros((2, 3, *size, 1)), mbt.ShapeError),
    (lambda size: np.zeros((2, 3, *(n + 1 for n in size), *((1,) if not size else ()))), mbt.ShapeError),
    (lambda size: np.zeros((2, 3, *size), complex), mbt.ArgumentTypeError),
    (lambda size: np.full((2, 3, *size), "x"), mbt.ArgumentTypeError),
    (lambda size: None, mbt.ArgumentTypeError),
    (lambda size: [[1.0], [1.0, 2.0]], mbt.ArgumentTypeError),
    (lambda size: object(), mbt.ArgumentTypeError),
    (lambda size: mbt.autodiff.AutoDiffArray(np.zeros(size), np.zeros((*size, 1))), mbt.ArgumentTypeError),
]


@pytest.mark.parametrize("k", range(len(WRONG)))
@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_changes_nothing(name: str, k: int) -> None:
    make, error = WRONG[k]
    context = make_batch(tree_of(), SHAPE)
    before = context._get_state()["scalars"]
    serials = context._serials
    with pytest.raises(error, match=f"^{name}: expected") as caught:
        setattr(context, name, make(size_of(name)))
    if error is mbt.ShapeError:
        # The message gives the expected and the received shape.
        assert re.search(
            rf"expected shape \({', '.join(map(str, (*SHAPE, *size_of(name))))}\), got \(", str(caught.value)
        )
    assert context._serials == serials
    for key, value in context._get_state()["scalars"].items():
        assert value is before[key]


@pytest.mark.parametrize("lead", LEADS)
def test_applied_and_external_forces_broadcast(lead: tuple[int, ...]) -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    rng = np.random.default_rng(2)
    forces: Any = mbt.MultibodyForces(tree, lead)
    forces.body_forces = rng.normal(size=forces.body_forces.shape)
    forces.generalized_forces = rng.normal(size=forces.generalized_forces.shape)
    whole: Any = mbt.MultibodyForces(tree, SHAPE)
    whole.body_forces = np.broadcast_to(forces.body_forces, whole.body_forces.shape)
    whole.generalized_forces = np.broadcast_to(forces.generalized_forces, whole.generalized_forces.shape)
    x = np.linspace(-1.0, 1.0, tree.num_velocities)
    for name in (
        "calc_inverse_dynamics",
        "calc_forward_dynamics",
        "calc_inverse_dynamics_derivatives",
        "calc_forward_dynamics_derivatives",
    ):
        got, wanted = (arrays_of(getattr(tree, name)(context, x, given)) for given in (forces, whole))
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
    context.applied_forces = forces
    assert context.applied_forces == whole
    # A copy.
    forces.set_zero()
    assert context.applied_forces == whole
    context.applied_forces = context.applied_forces
    assert context.applied_forces == whole


@pytest.mark.parametrize("lead", [(2,), (3, 2), (1, 2, 3), (0,)])
def test_forces_that_do_not_broadcast(lead: tuple[int, ...]) -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    forces = mbt.MultibodyForces(tree, lead)
    x = np.zeros(tree.num_velocities)
    message = re.escape(f"expected batch shape (2, 3), got {lead}")
    with pytest.raises(mbt.ShapeError, match=f"applied_forces: {message}"):
        context.applied_forces = forces
    assert not context.applied_forces.generalized_forces.any()
    for name in ("calc_inverse_dynamics", "calc_forward_dynamics", "calc_forward_dynamics_derivatives"):
        with pytest.raises(mbt.ShapeError, match=f"external_forces: {message}"):
            getattr(tree, name)(context, x, forces)
    # Forces to write into must have exactly the shape of the batch.
    with pytest.raises(mbt.ShapeError, match=f"forces: {message}"):
        tree.calc_force_elements_contribution(context, forces)
    with pytest.raises(mbt.ShapeError, match=r"forces: expected batch shape \(2, 3\), got \(\)"):
        tree.calc_force_elements_contribution(context, mbt.MultibodyForces(tree))
    # A Context of one state accepts only one state.
    single = tree.create_default_context()
    with pytest.raises(mbt.ShapeError, match=r"applied_forces: expected batch shape \(\), got "):
        single.applied_forces = forces


def test_an_argument_may_be_one_for_all() -> None:
    """Arguments may have leading axes that broadcast; results equal those of arguments with all axes."""
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    nv = tree.num_velocities
    for lead in LEADS:
        x = np.random.default_rng(3).normal(size=(*lead, nv))
        whole = np.array(np.broadcast_to(x, (*SHAPE, nv)))
        for name in (
            "calc_inverse_dynamics",
            "calc_forward_dynamics",
            "calc_spatial_accelerations_from_vdot",
            "calc_inverse_dynamics_regressor",
            "map_velocity_to_qdot",
            "map_acceleration_to_qddot",
        ):
            method = getattr(tree, name)
            np.testing.assert_array_equal(method(context, x), method(context, whole), err_msg=name)


def test_arguments_of_a_wrong_shape_say_which() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    nv, nq = tree.num_velocities, tree.num_positions
    for name, argument, size in (
        ("calc_inverse_dynamics", "known_vdot", nv),
        ("calc_forward_dynamics", "tau_applied", nv),
        ("calc_inverse_dynamics_derivatives", "known_vdot", nv),
        ("calc_forward_dynamics_derivatives", "tau_applied", nv),
        ("calc_inverse_dynamics_regressor", "known_vdot", nv),
        ("map_velocity_to_qdot", "v", nv),
        ("map_qdot_to_velocity", "qdot", nq),
        ("calc_acceleration_kinematics_cache", "known_vdot", nv),
    ):
        for wrong in ((2, size), (2, 3, size + 1), (0,), ()):
            wanted = re.escape(f"{argument}: expected shape (2, 3, {size}), got {wrong}")
            with pytest.raises(mbt.ShapeError, match=f"^{wanted}"):
                getattr(tree, name)(context, np.zeros(wrong))


def test_a_locked_joint_stays_at_rest() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    joint = tree.joints[1]
    dofs = slice(joint.velocity_start, joint.velocity_start + joint.num_velocities)
    joint.lock(context)
    assert joint.is_locked(context)
    assert not context.v[..., dofs].any()
    v = np.array(context.v)
    v[1, 2, dofs] = 0.5
    with pytest.raises(mbt.ArgumentValueError, match=f"velocity {dofs.start} is locked"):
        context.v = v
    assert not context.v[..., dofs].any()
    vdot = tree.calc_forward_dynamics(context)
    assert not vdot[..., dofs].any()
    others = np.delete(vdot, np.r_[dofs], -1)
    assert others.all()
    joint.unlock(context)
    context.v = v
    assert tree.calc_forward_dynamics(context)[..., dofs].any()


def test_exemptions_from_gravity() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    gravity: Any = tree.gravity_field
    gravity.set_enabled_in(context, mbt.default_model_instance(), False)
    assert not tree.calc_gravity_generalized_forces(context).any()
    assert not gravity.is_enabled_in(context, mbt.default_model_instance())
    single = tree.create_default_context()
    assert gravity.is_enabled_in(single, mbt.default_model_instance())


def test_back_to_the_defaults() -> None:
    tree = tree_of()
    context = make_batch(tree, SHAPE)
    fresh = tree.create_default_context(SHAPE)
    tree.bodies[2].set_mass(context, np.arange(6.0).reshape(SHAPE) + 1.0)
    tree.joints[1].lock(context)
    context.time = 3.0
    context.applied_forces.generalized_forces[...] = 1.0
    tree.set_default_context(context)
    assert context.batch_shape == SHAPE
    # Forces that somebody has asked for persist, and are zero.
    fresh.applied_forces.set_zero()
    for name, call in CALLS(tree).items():
        for a, b in zip(arrays_of(call(context)), arrays_of(call(fresh)), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
    assert not tree.joints[1].is_locked(context)
    assert not context.applied_forces.generalized_forces.any()
    np.testing.assert_array_equal(context.time, np.zeros(SHAPE))


def test_state_of_model_instances_in_arrays() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    instance = mbt.default_model_instance()
    for what, array in (
        ("positions", context.q),
        ("velocities", context.v),
        ("actuation", context.actuation),
    ):
        part = getattr(tree, f"get_{what}_from_array")(instance, array)
        assert part.shape == array.shape
        whole: Array = np.zeros(array.shape)
        getattr(tree, f"set_{what}_in_array")(instance, 2.0 * part, whole)
        np.testing.assert_array_equal(whole, 2.0 * array)
        getattr(tree, f"set_{what}")(context, instance, 3.0 * part)
        np.testing.assert_array_equal(getattr(tree, f"get_{what}")(context, instance), 3.0 * part)
        # One value for all samples.
        getattr(tree, f"set_{what}")(context, part[0, 0])
        np.testing.assert_array_equal(
            getattr(tree, f"get_{what}")(context), np.broadcast_to(part[0, 0], part.shape)
        )
    q_v = np.random.default_rng(4).normal(size=(*SHAPE, tree.num_positions + tree.num_velocities))
    for given in (q_v, q_v[0], q_v[1, 2]):
        tree.set_positions_and_velocities(context, given)
        np.testing.assert_array_equal(
            tree.get_positions_and_velocities(context), np.broadcast_to(given, q_v.shape)
        )
    with pytest.raises(mbt.ShapeError, match="q_v: "):
        tree.set_positions_and_velocities(context, q_v[..., 1:])


def test_the_input_of_one_actuator() -> None:
    tree = tree_without_users()
    actuator = tree.joint_actuators[-1]
    u = np.zeros((*SHAPE, tree.num_actuators))
    value = np.arange(6.0).reshape(*SHAPE, 1)
    actuator.set_actuation_vector(value, u)
    np.testing.assert_array_equal(actuator.get_actuation_vector(u), value)
    assert np.count_nonzero(u) == 5
    actuator.set_actuation_vector(2.0, u)
    np.testing.assert_array_equal(actuator.get_actuation_vector(u), np.full((*SHAPE, 1), 2.0))
    with pytest.raises(mbt.ShapeError, match=r"u_actuator: expected shape \(2, 3, 1\), got \(3, 1\)"):
        actuator.set_actuation_vector(value[0], u)


def test_positions_by_name() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    joint = tree.joints[2]
    value = np.arange(6.0).reshape(SHAPE) if joint.num_positions == 1 else None
    assert value is not None
    context.q = tree.q_from_dict({joint.name: value}, shape=SHAPE)
    np.testing.assert_array_equal(context.q[..., joint.position_start], value)
    context.q = tree.q_from_dict({joint.name: -value}, default=context.q)
    np.testing.assert_array_equal(tree.dict_from_q(context.q)[joint.name], -value)


def test_positions_and_velocities_change_together_or_not_at_all() -> None:
    tree = tree_without_users()
    nq, nv = tree.num_positions, tree.num_velocities
    joint = tree.joints[1]
    for shape in ((), SHAPE):
        context = tree.create_default_context(shape)
        joint.lock(context)
        q, v = np.array(context.q), np.array(context.v)
        with pytest.raises(mbt.ArgumentValueError, match="locked"):
            tree.set_positions_and_velocities(context, np.ones(nq + nv))
        np.testing.assert_array_equal(context.q, q)
        np.testing.assert_array_equal(context.v, v)
    single = tree.create_default_context()
    with pytest.raises(mbt.SingularityError):
        tree.set_positions_and_velocities(single, np.r_[np.zeros(nq), np.ones(nv)])
    assert not single.v.any()
