"""Frames and points in a batch, also World and frames fixed to it: each sample equals a single state."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import make_batch, tree_of

SHAPE, SAMPLE = (2, 3), (1, 2)


def frames() -> list[mbt.Frame]:
    tree = tree_of()
    on_world = next(frame for frame in tree.frames if frame.body.is_world and not frame.is_body_frame)
    return [tree.world_frame, on_world, tree.frames[9], tree.bodies[5].body_frame]


TRIPLES = list(itertools.product(range(4), repeat=3))


def check(calc: Any) -> None:
    context = make_batch(tree_of(), SHAPE)
    got, wanted = calc(context), calc(context._sample(SAMPLE))
    assert got.shape == (*SHAPE, *wanted.shape)
    scale = max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(got[SAMPLE], wanted, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("triple", TRIPLES)
def test_frames_and_points(triple: tuple[int, int, int]) -> None:
    tree = tree_of()
    B, A, E = (frames()[i] for i in triple)
    # One point, several, or none; also different ones for each sample.
    for shape in ((3,), (3, 2), (3, 0)):
        p = np.random.default_rng(0).normal(size=shape)
        check(lambda c, p=p: tree.calc_points_positions(c, B, p, A))
        check(lambda c, p=p: tree.calc_jacobian_translational_velocity(c, "v", B, p, A, E))
        check(lambda c, p=p: tree.calc_jacobian_position_vector(c, B, p, A, E))
        check(lambda c, p=p: tree.calc_bias_translational_acceleration(c, "qdot", B, p, A, E))
    p = np.array([0.1, 0.2, 0.3])
    check(lambda c: tree.calc_jacobian_spatial_velocity(c, "qdot", B, p, A, E))
    check(lambda c: tree.calc_bias_spatial_acceleration(c, "v", B, p, A, E))
    check(lambda c: tree.calc_jacobian_angular_velocity(c, "v", B, A, E))
    check(lambda c: tree.calc_bias_angular_acceleration(c, "v", B, A, E))
    check(lambda c: B.calc_spatial_velocity(c, A, E))
    check(lambda c: B.calc_spatial_acceleration(c, A, E))


@pytest.mark.parametrize("pair", list(itertools.product(range(4), repeat=2)))
def test_pairs_of_frames(pair: tuple[int, int]) -> None:
    tree = tree_of()
    A, B = (frames()[i] for i in pair)
    check(lambda c: tree.calc_relative_transform(c, A, B))
    check(lambda c: tree.calc_relative_rotation_matrix(c, A, B))
    check(lambda c: tree.calc_jacobian_center_of_mass_translational_velocity(c, "v", A, B))
    check(lambda c: tree.calc_bias_center_of_mass_translational_acceleration(c, "v", A, B))
    check(lambda c: B.calc_pose(c, A))
    check(lambda c: B.calc_pose_in_body_frame(c))
    check(lambda c: B.calc_rotation_matrix_in_body_frame(c))
    check(lambda c: B.calc_spatial_velocity_in_world(c))


def test_accelerations_that_go_with_one_vdot_for_all() -> None:
    tree = tree_of()
    context = make_batch(tree, SHAPE)
    vdot = np.ones(tree.num_velocities)
    cache = tree.calc_acceleration_kinematics_cache(context, vdot)
    np.testing.assert_array_equal(cache.vdot, np.ones((*SHAPE, tree.num_velocities)))
    single = tree.calc_acceleration_kinematics_cache(context._sample(SAMPLE), vdot)
    np.testing.assert_allclose(
        cache.A_WB[SAMPLE], single.A_WB, rtol=0, atol=1e-10 * np.max(np.abs(single.A_WB))
    )
    # Writing into a cache leaves arrays that it returned before to their holders.
    A_WB, kept = cache.A_WB, np.array(cache.A_WB)
    assert tree.calc_acceleration_kinematics_cache(context, 2.0 * vdot, ac=cache) is cache
    np.testing.assert_array_equal(A_WB, kept)
    assert (cache.vdot == 2.0).all()
