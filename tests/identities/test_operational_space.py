"""Operational-space inertia against its definition, and against the effect of a force."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import FEW, MOVING, get_case
from support.linkages import four_bar


@pytest.mark.parametrize("model", MOVING)
def test_inverse_vs_its_factors(model: str) -> None:
    """J M^-1 J', with M^-1 by solving."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    world = tree.world_frame
    M = tree.calc_mass_matrix(context)
    for frame in (tree.bodies[-1].body_frame, tree.bodies[1].body_frame):
        for E in (world, frame):
            J = tree.calc_jacobian_spatial_velocity(context, "v", frame, np.zeros(3), world, E)
            desired = J @ np.linalg.solve(M, J.T)
            actual = tree.calc_operational_space_inverse_inertia(context, frame, expressed_in=E)
            atol = 1e-12 * np.linalg.cond(M) * np.max(np.abs(desired), initial=0.0)
            np.testing.assert_allclose(actual, desired, rtol=0.0, atol=atol)
            assert (actual == actual.T).all()


@pytest.mark.parametrize("model", FEW)
def test_a_force_accelerates(model: str) -> None:
    """At rest and without other forces, A = (J M^-1 J') F."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    context.v = np.zeros(tree.num_velocities)
    body = tree.bodies[-1]
    force = np.array([0.3, -0.2, 0.5, 2.0, -1.0, 0.7])
    at_rest = tree.calc_forward_dynamics(context)
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[body.node_index] = force
    change = tree.calc_forward_dynamics(context, None, forces) - at_rest
    world = tree.world_frame
    J = tree.calc_jacobian_spatial_velocity(context, "v", body.body_frame, np.zeros(3), world, world)
    mobility = functional.operational_space_inverse_inertia(tree, state.q, body)
    scale = np.max(np.abs(J @ change), initial=1.0)
    np.testing.assert_allclose(mobility @ force, J @ change, rtol=0.0, atol=1e-9 * scale)


def floating_arm() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    base = tree.add_body(mbt.RigidBody("base", mbt.SpatialInertia.solid_box_with_mass(4.0, 0.4, 0.3, 0.2)))
    rod = tree.add_body(
        mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05])))
    )
    tree.add_joint(mbt.RevoluteJoint, "pin", base, None, rod, None, axis=[0, 1, 0])
    tree.finalize()
    return tree


def test_inverse_of_the_inverse() -> None:
    tree = floating_arm()
    rng = np.random.default_rng(1)
    q = tree.normalize_positions(rng.uniform(0.1, 1.0, tree.num_positions))
    rod = tree.get_body_by_name("rod")
    mobility = functional.operational_space_inverse_inertia(tree, q, rod)
    inertia = functional.operational_space_inertia(tree, q, rod)
    np.testing.assert_allclose(inertia @ mobility, np.eye(6), atol=1e-12)
    context = tree.create_default_context()
    context.q = q
    np.testing.assert_allclose(tree.calc_operational_space_inertia(context, rod), inertia, rtol=1e-12)
    # A frame of its own: the inertia is that in World's axes, rotated.
    R = functional.body_poses(tree, q)[rod.node_index, :3, :3]
    turned = np.kron(np.eye(2), R)
    own = functional.operational_space_inertia(tree, q, rod, expressed_in=rod)
    np.testing.assert_allclose(turned @ own @ turned.T, inertia, rtol=1e-11, atol=1e-12)
    batch = functional.operational_space_inertia(tree, np.stack([q, q]), rod)
    np.testing.assert_allclose(batch, np.stack([inertia] * 2), rtol=1e-11, atol=1e-12)


def test_derivatives() -> None:
    """dL = -L dL^-1 L along every position, in numbers with derivatives."""
    tree = floating_arm()
    twin = tree.to_autodiff()
    q = tree.normalize_positions(np.linspace(0.2, 0.9, tree.num_positions))
    seeds = mbt.autodiff.initialize(q)
    inertia = functional.operational_space_inertia(twin, seeds, twin.get_body_by_name("rod"))
    mobility = functional.operational_space_inverse_inertia(twin, seeds, twin.get_body_by_name("rod"))
    L = inertia.value
    desired = -np.einsum("ij,jkd,kl->ild", L, mobility.derivatives, L)
    np.testing.assert_allclose(inertia.derivatives, desired, rtol=1e-9, atol=1e-10)


def test_a_frame_that_cannot_go_all_ways() -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(
        mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05])))
    )
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.finalize()
    message = r"^operational-space inertia: the frame cannot move with six independent velocities here"
    out = np.full((6, 6), 7.0)
    with pytest.raises(mbt.SingularityError, match=message):
        tree.calc_operational_space_inertia(tree.create_default_context(), rod, out=out)
    with pytest.raises(mbt.SingularityError, match=message):
        functional.operational_space_inertia(tree, [0.3], rod, out=out)
    twin = tree.to_autodiff()
    with pytest.raises(mbt.SingularityError, match=message):
        twin.calc_operational_space_inertia(twin.create_default_context(), twin.bodies[1])
    assert (out == 7.0).all()
    assert np.isnan(functional.operational_space_inertia(tree, [[0.3], [0.4]], rod)).all()
    # In a batch, valid samples keep their result, and the inverse exists for all.
    assert np.isfinite(functional.operational_space_inverse_inertia(tree, [[0.3], [0.4]], rod)).all()


def test_a_massless_dof() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, link, None, axis=[0, 1, 0])
    tree.finalize()
    with pytest.raises(mbt.SingularityError, match=r"velocity 0, of .*, has no inertia"):
        functional.operational_space_inverse_inertia(tree, [0.0], link)
    with pytest.raises(mbt.SingularityError, match=r"velocity 0, of .*, has no inertia"):
        tree.calc_operational_space_inertia(tree.create_default_context(), link)


@pytest.mark.parametrize("model", FEW)
def test_frames_off_their_bodies(model: str) -> None:
    """Of a frame that is shifted and turned on its body, along axes of another, alone and in a batch."""
    edited = get_case(model).tree.edit()
    X = mbt.math.make_pose([0.3, -0.2, 0.5], rpy=[0.4, -0.7, 1.1])
    edited.add_frame(mbt.FixedOffsetFrame("off", edited.bodies[-1], X))
    edited.finalize()
    q = edited.random_positions(2, 5)
    off, E = edited.get_frame_by_name("off"), edited.bodies[1].body_frame
    batch = functional.operational_space_inverse_inertia(edited, q, off, expressed_in=E)
    J = functional.frame_jacobian(edited, q, off, expressed_in=E)
    desired = J @ np.linalg.solve(functional.mass_matrix(edited, q), np.swapaxes(J, 1, 2))
    scale = np.max(np.abs(desired), initial=1e-300)
    np.testing.assert_allclose(batch, desired, rtol=0.0, atol=1e-9 * scale)
    for sample, x in zip(batch, q, strict=True):
        one = functional.operational_space_inverse_inertia(edited, x, off, expressed_in=E)
        np.testing.assert_allclose(one, sample, rtol=0.0, atol=1e-12 * scale)


def test_constraints_and_locks_are_those_of_forward_dynamics_alone() -> None:
    """Closing a loop and locking a joint do not change it, as its page says."""
    tree = four_bar()
    context = tree.create_default_context()
    context.q = [0.4, 0.3, 1.8]
    tree.assemble(context)
    body = tree.bodies[-1]
    before = tree.calc_operational_space_inverse_inertia(context, body)
    J = tree.calc_jacobian_spatial_velocity(
        context, "v", body.body_frame, np.zeros(3), tree.world_frame, tree.world_frame
    )
    desired = J @ np.linalg.solve(tree.calc_mass_matrix(context), J.T)
    np.testing.assert_allclose(before, desired, atol=1e-12 * np.abs(desired).max())
    tree.joints[0].lock(context)
    np.testing.assert_array_equal(tree.calc_operational_space_inverse_inertia(context, body), before)
    for name in ("calc_operational_space_inertia", "calc_operational_space_inverse_inertia"):
        text = " ".join(str(getattr(mbt.MultibodyTree, name).__doc__).split())
        assert "without the constraints and locks" in text
