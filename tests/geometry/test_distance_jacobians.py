"""How distances change with velocities, against differences along the flow of positions."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state
from support.random_trees import random_pose
from support.shapes import random_shape

SHAPES = {"l": ("capsule", "cylinder", "ellipsoid"), "r": ("sphere", "capsule", "box")}


def tree_with(kind: str, rng: np.random.Generator, scale: float = 1.0) -> mbt.MultibodyTree:
    """Two branches, each with a joint of this kind between hinges, and a shape on each body."""
    tree = mbt.MultibodyTree()
    for side in "lr":
        inboard = tree.world_body
        for i, of_kind in enumerate(["revolute", kind, "revolute"]):
            body = add_random_body(tree, rng, f"{side}{i}")
            body.add_collision(random_shape(SHAPES[side][i], rng, 0.3 * scale))
            add_joint_of_type(tree, of_kind, f"{side}j{i}", inboard, body, rng)
            inboard = body
    tree.finalize()
    return tree


def assert_differences(
    scene: mbt.CollisionModel, q: np.ndarray, rng: np.random.Generator, tolerance: float = 1e-6
) -> None:
    tree = scene.tree
    J = scene.distance_jacobian(q)
    v = rng.normal(size=(12, tree.num_velocities))
    h = 1e-5

    def along(step: float) -> np.ndarray:
        there = functional.integrate_positions(tree, np.broadcast_to(q, (len(v), len(q))), v, step)
        return scene.distances(there)

    rates = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    # Near a tie, the one-sided differences disagree: those few are left out.
    ahead, behind = (along(h) - along(0.0)) / h, (along(0.0) - along(-h)) / h
    is_smooth = abs(ahead - behind) < 1e-3
    assert is_smooth.mean() > 0.9
    np.testing.assert_allclose((v @ J.T)[is_smooth], rates[is_smooth], atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_joints_of_every_type(kind: str) -> None:
    rng = np.random.default_rng(11)
    tree = tree_with(kind, rng)
    floor = mbt.Shape("plane", [], random_pose(rng), name="floor")
    block = mbt.Shape("box", [0.5, 0.6, 0.7], random_pose(rng), name="block")
    scene = mbt.CollisionModel(tree, "all", obstacles=[floor, block])
    assert scene.num_pairs >= 15
    for _ in range(3):
        assert_differences(scene, random_state(tree, rng).q, rng)


def test_columns_are_zero_of_what_moves_both_alike() -> None:
    rng = np.random.default_rng(12)
    tree = tree_with("revolute", rng)
    scene = mbt.CollisionModel(tree, "all")
    J = scene.distance_jacobian(random_state(tree, rng).q)
    index = {name: i for i, name in enumerate(tree.velocity_names)}
    for row, pair in zip(J, scene.pairs, strict=True):
        for side in "lr":
            reach = [int(name[1]) for name in pair if name[0] == side]
            moving = (
                range(min(reach) + 1, max(reach) + 1) if len(reach) == 2 else range((reach or [-1])[0] + 1)
            )
            for name, k in index.items():
                if name[0] == side:
                    assert (row[k] != 0.0) == (int(name[2]) in moving)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_other_scales(scale: float) -> None:
    """From millimetres to kilometres, Jacobians of hinges scale with lengths."""

    def build(scale: float) -> mbt.CollisionModel:
        rng = np.random.default_rng(13)
        tree = mbt.MultibodyTree()
        inboard = tree.world_body
        for i in range(4):
            body = add_random_body(tree, rng, f"b{i}").add_collision(
                random_shape("capsule", rng, 0.2 * scale)
            )
            X = random_pose(rng)
            X[:3, 3] *= scale
            tree.add_joint(mbt.RevoluteJoint, f"j{i}", inboard, X, body, None, axis=[0, 0, 1])
            inboard = body
        tree.finalize()
        block = random_pose(rng)
        block[:3, 3] *= scale
        return mbt.CollisionModel(
            tree, obstacles=[mbt.Shape("box", scale * np.array([0.4, 0.5, 0.6]), block)]
        )

    q = np.random.default_rng(14).uniform(-2.0, 2.0, (30, 4))
    one, other = build(1.0), build(scale)
    np.testing.assert_allclose(other.distances(q), scale * one.distances(q), atol=1e-12 * scale)
    np.testing.assert_allclose(
        other.distance_jacobian(q), scale * one.distance_jacobian(q), atol=1e-9 * scale
    )


def test_far_from_the_origin_of_world() -> None:
    """A million metres away, only relative positions count."""
    rng = np.random.default_rng(15)
    far = np.array([1e6, -2e6, 5e5])
    shapes = [random_shape("capsule", rng, 0.3), random_shape("box", rng, 0.3)]
    tree = mbt.MultibodyTree()
    for i, shape in enumerate(shapes):
        tree.add_body(
            mbt.RigidBody(f"b{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1))
        ).add_collision(shape)
    tree.finalize()
    scene = mbt.CollisionModel(tree)
    q = random_state(tree, rng).q
    there = q.copy()
    there[4:7] += far
    there[11:14] += far
    np.testing.assert_allclose(scene.distances(there), scene.distances(q), atol=1e-8)
    np.testing.assert_allclose(scene.distance_jacobian(there), scene.distance_jacobian(q), atol=1e-6)
