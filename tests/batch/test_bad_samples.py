"""One sample that is not finite, or singular: NaN there, and every other sample unchanged to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import CALLS, arrays_of, make_batch, sample_of, tree_of, tree_without_users

BAD = 2


def joints_of(tree: mbt.MultibodyTree, what: str) -> list[mbt.Joint]:
    return [joint for joint in tree.joints if what in joint.type_name]


def fill(name: str, value: float) -> Callable[[Any], None]:
    def spoil(context: Any) -> None:
        array = np.array(getattr(context, name))
        array[BAD] = value
        setattr(context, name, array)

    return spoil


def one_position(value: float) -> Callable[[Any], None]:
    def spoil(context: Any) -> None:
        q = np.array(context.q)
        q[BAD, context.tree.joints[1].position_start] = value
        context.q = q

    return spoil


def zero_quaternions(context: Any) -> None:
    q = np.array(context.q)
    for joint in joints_of(context.tree, "quaternion"):
        q[BAD, joint.position_start : joint.position_start + 4] = 0.0
    context.q = q


def gimbal_lock(context: Any) -> None:
    q = np.array(context.q)
    for joint in joints_of(context.tree, "rpy"):
        q[BAD, joint.position_start + 1] = np.pi / 2
    context.q = q


def no_mass(context: Any) -> None:
    for body in context.tree.bodies[1:]:
        body.set_mass(context, np.where(np.arange(5) == BAD, 0.0, body.default_mass))
    for actuator in context.tree.joint_actuators:
        actuator.set_rotor_inertia(
            context, np.where(np.arange(5) == BAD, 0.0, actuator.default_rotor_inertia)
        )


def bad_applied_force(context: Any) -> None:
    context.applied_forces.body_forces[BAD] = np.nan


SPOILERS: dict[str, Callable[[Any], None]] = {
    "q is NaN": fill("q", np.nan),
    "q is inf": fill("q", np.inf),
    "q is huge": fill("q", 1e300),
    "one position is NaN": one_position(np.nan),
    "one position is inf": one_position(np.inf),
    "v is NaN": fill("v", np.nan),
    "v is inf": fill("v", -np.inf),
    "v is huge": fill("v", 1e300),
    "actuation is NaN": fill("actuation", np.nan),
    "applied forces are NaN": bad_applied_force,
    "zero quaternions": zero_quaternions,
    "gimbal lock": gimbal_lock,
    "no mass": no_mass,
}
CASES = [(make, spoiler) for make in (tree_of, tree_without_users) for spoiler in SPOILERS]


@cache
def good_results(make: Any) -> dict[str, list[Any]]:
    context = make_batch(make(), (5,))
    # So that every Context has applied forces.
    context.applied_forces.set_zero()
    return {name: [np.array(x) for x in arrays_of(call(context))] for name, call in CALLS(make()).items()}


@pytest.mark.parametrize(("make", "spoiler"), CASES)
def test_the_other_samples_are_the_same_to_the_last_bit(make: Any, spoiler: str) -> None:
    context = make_batch(make(), (5,))
    context.applied_forces.set_zero()
    SPOILERS[spoiler](context)
    for name, call in CALLS(make()).items():
        # Warnings are errors.
        got = arrays_of(call(context))
        for array, good in zip(got, good_results(make)[name], strict=True):
            if np.ndim(array):
                others = (np.delete(x, BAD, 0) for x in (array, good))
                np.testing.assert_array_equal(*others, err_msg=name)


@pytest.mark.parametrize("spoiler", ["gimbal lock", "no mass"])
def test_what_is_singular_is_nan(spoiler: str) -> None:
    tree = tree_without_users()
    context = make_batch(tree, (5,))
    SPOILERS[spoiler](context)
    single = context._sample((BAD,))
    count = 0
    for name, call in CALLS(tree).items():
        try:
            call(single)
        except mbt.SingularityError:
            count += 1
            for array in arrays_of(call(context)):
                bad = np.asarray(array[BAD])
                # World is at rest in any case, and no bodies have no momentum.
                assert np.isnan(bad).any(), name
                assert np.isin(bad[~np.isnan(bad)], 0.0).all(), name
    assert count >= 3


def test_zero_quaternions_have_no_poses() -> None:
    for make in (tree_of, tree_without_users):
        tree = make()
        context = make_batch(tree, (5,))
        zero_quaternions(context)
        with pytest.raises(mbt.SingularityError):
            sample_of(context, (BAD,))
        for name in (
            "calc_mass_matrix",
            "calc_bias_term",
            "calc_kinetic_energy",
            "calc_potential_energy",
            "calc_forward_dynamics",
            "calc_reaction_forces",
            "make_velocity_to_qdot_map",
            "calc_center_of_mass_position_in_world",
        ):
            assert np.isnan(getattr(tree, name)(context)[BAD]).all(), name


def two_points(shape: Any = 3) -> tuple[mbt.MultibodyTree, Any]:
    """A spring between World and a ball that slides through the spring's fixed end."""
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, ball, None, [1, 0, 0])
    tree.add_force_element(
        mbt.LinearSpringDamper(tree.world_body, [0, 0, 0], ball, [0, 0, 0], 1.0, 100.0, 2.0)
    )
    tree.finalize()
    return tree, tree.create_default_context(shape)


def test_ends_of_a_spring_that_coincide() -> None:
    tree, context = two_points()
    context.q = [[0.5], [0.0], [0.25]]
    forces = mbt.MultibodyForces(tree, 3)
    for got in (
        tree.calc_forward_dynamics(context)[:, 0],
        tree.calc_inverse_dynamics(context, [0.0], include_force_elements=True)[:, 0],
        tree.calc_force_elements_contribution(context, forces).generalized_forces[:, 0],
        tree.calc_reaction_forces(context)[:, 0, 5],
        tree.calc_forward_dynamics_derivatives(context)[0][:, 0, 0],
        mbt.functional.forward_dynamics(tree, context.q, context.v, [0.0])[:, 0],
    ):
        np.testing.assert_array_equal(np.isnan(got), [False, True, False])
    np.testing.assert_array_equal(np.isnan(tree.calc_potential_energy(context)), [False, True, False])
    with pytest.raises(mbt.SingularityError):
        tree.calc_potential_energy(sample_of(context, (1,)))
    # Quantities that do not need the spring's force remain finite.
    assert np.isfinite(tree.calc_mass_matrix(context)).all()
    assert np.isfinite(tree.calc_reaction_forces(context)[[0, 2]]).all()


def test_ends_of_a_spring_that_coincide_by_its_parameters() -> None:
    tree, context = two_points()
    context.q = [0.5]
    spring: Any = tree.force_elements[0]
    spring.set_p_AP(context, [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]])
    np.testing.assert_array_equal(np.isnan(tree.calc_forward_dynamics(context)[:, 0]), [False, True, False])


def test_no_mass_in_any_sample() -> None:
    """No error even if all samples are singular: one sample's outcome must not depend on the others."""
    tree, context = two_points()
    context.q = [[0.5], [0.6], [0.7]]
    tree.bodies[1].set_mass(context, 0.0)
    assert np.isnan(tree.calc_forward_dynamics(context)).all()
    assert np.isnan(tree.calc_center_of_mass_position_in_world(context)).all()
    np.testing.assert_array_equal(tree.calc_total_mass(context), np.zeros(3))
    M = tree.calc_spatial_inertia(context, tree.world_frame, [1])
    np.testing.assert_array_equal(M.com, np.zeros((3, 3)))


def test_an_energy_report_of_one_state_that_is_infinite() -> None:
    tree, _ = two_points()
    context = tree.create_default_context()
    context.q, context.v = [0.5], [np.inf]
    report = tree.calc_energy_report(context)
    assert np.isnan(report.kinetic_energy)
    assert "nan" in str(report)
