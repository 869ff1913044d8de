"""Axes of several joints that intersect in one point, and a point mass: one motion has no inertia."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math import make_pose

Array = np.ndarray


def crossing_hinges(
    rng: np.random.Generator, inertia: mbt.SpatialInertia, num_hinges: int = 3
) -> tuple[mbt.MultibodyTree, Any]:
    """Return hinges with random axes through one point, on an arm; the last link carries all inertia."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    arm = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_cube_with_mass(1.0, 0.3)))
    tree.add_joint(
        mbt.RevoluteJoint, "shoulder", tree.world_body, None, arm, make_pose([0.2, 0, 0]), [0, 0, 1]
    )
    inboard, X = arm, make_pose([0.3, 0.1, 0.0])
    for i in range(num_hinges):
        M = inertia if i == num_hinges - 1 else mbt.SpatialInertia.zero()
        body = tree.add_body(mbt.RigidBody(f"link{i}", M))
        axis = rng.normal(size=3)
        X_PF = X @ make_pose([0, 0, 0], rpy=rng.uniform(-2, 2, 3))
        tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", inboard, X_PF, body, None, axis / np.linalg.norm(axis))
        inboard, X = body, np.eye(4)
    tree.finalize()
    context = tree.create_default_context()
    context.q = rng.uniform(-3.0, 3.0, tree.num_positions)
    return tree, context


def test_a_point_mass_leaves_one_without_inertia() -> None:
    """In any attitude: for one state, a batch, dual numbers, and the inverse of the mass matrix."""
    num_missed = {"one": 0, "batch": 0, "autodiff": 0, "inverse": 0, "derivatives": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        point = mbt.SpatialInertia.point_mass(rng.uniform(0.1, 3.0), rng.normal(size=3))
        tree, context = crossing_hinges(rng, point)
        calls = {
            "one": tree.calc_forward_dynamics,
            "inverse": tree.calc_mass_matrix_inverse,
            "derivatives": tree.calc_forward_dynamics_derivatives,
        }
        for name, call in calls.items():
            try:
                call(context)
            except mbt.SingularityError as error:
                assert "has no inertia" in str(error)  # noqa: PT017 - counted, not expected
            else:
                num_missed[name] += 1
        batch = functional.forward_dynamics(
            tree, np.tile(context.q, (3, 1)), np.zeros((3, 4)), np.zeros((3, 4))
        )
        num_missed["batch"] += not np.isnan(batch).all()
        if seed < 20:
            twin = tree.clone_to_scalar("autodiff")
            other = twin.create_default_context()
            other.q = context.q
            try:
                twin.calc_forward_dynamics(other)
            except mbt.SingularityError:
                pass
            else:
                num_missed["autodiff"] += 1
    assert not any(num_missed.values()), num_missed


@pytest.mark.parametrize("radius", [1e-1, 1e-3, 1e-4])
def test_a_thin_tool_is_not_refused(radius: float) -> None:
    """It has some inertia about its own axis, whatever the attitude of a light wrist."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        tool = mbt.SpatialInertia.solid_cylinder_with_mass(0.5, radius, 0.3, [0, 0, 1]).shift([0, 0, -0.15])
        tree, context = crossing_hinges(rng, tool)
        tau = rng.normal(size=4)
        vdot = tree.calc_forward_dynamics(context, tau)
        back = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        scale = np.abs(tree.calc_mass_matrix(context)) @ np.abs(vdot)
        np.testing.assert_allclose(back, tau, atol=1e-9 * scale.max() + 1e-9)
