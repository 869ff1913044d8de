"""Designed motions without collisions, other criteria, progress."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import design_excitation

QUICK = {"starts": 1, "steps": 12, "rate": 50.0, "rng": 2}


@pytest.fixture(scope="module")
def crane():
    """Two links that turn about upright axes, each with a capsule."""
    tree = mbt.MultibodyTree()
    inboard = tree.world_body
    for name in ("boom", "jib"):
        M = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.5, 0.1, 0.1).shift([-0.25, 0.0, 0.0])
        body = tree.add_body(mbt.RigidBody(name, M))
        body.add_collision(
            mbt.Shape("capsule", [0.05, 0.4], mbt.math.make_pose([0.25, 0, 0], rpy=[0, np.pi / 2, 0]))
        )
        X_PF = mbt.math.make_pose([0.0 if name == "boom" else 0.5, 0.0, 0.0])
        joint = tree.add_joint(mbt.RevoluteJoint, name, inboard, X_PF, body, None, axis=[0, 0, 1])
        joint.set_position_limits([-2.5], [2.5])
        joint.set_velocity_limits([-9.0], [9.0])
        inboard = body
    tree.finalize()
    return tree


def obstacle(x, y):
    return mbt.Shape("box", [0.1, 0.1, 0.5], mbt.math.make_pose([x, y, 0.0]), name="post")


def information(tree, design, noise):
    """Return the log-determinant of the information in a log of the motion, with NumPy."""
    base = tree.calc_base_parameters()
    context = tree.create_default_context()
    A = np.zeros((base.rank, base.rank))
    for q, v, vdot in zip(design.q, design.v, design.vdot, strict=True):
        context.q, context.v = q, v
        X = tree.calc_inverse_dynamics_regressor(context, vdot)[:, base.independent] / noise[:, None]
        A += X.T @ X
    return np.linalg.slogdet(A)[1]


@pytest.mark.parametrize("place", [(0.5, 0.7), (0.7, 0.0)], ids=["aside", "in the middle"])
def test_a_design_touches_nothing(crane, place):
    scene = mbt.CollisionModel(crane, "all", obstacles=[obstacle(*place)], exclude=[("boom", "jib")])
    blind = design_excitation(crane, **QUICK)
    design = design_excitation(crane, scene=scene, clearance=0.01, **QUICK)
    times = np.linspace(0.0, design.period, 20001)
    assert scene.distances(blind.evaluate(times)[0]).min() < 0.0
    assert scene.distances(design.evaluate(times)[0]).min() > 0.0
    assert scene.is_free(design.q, margin=0.009).all()
    assert design.condition_number < 50.0


def test_d_optimal_tells_more_in_all(crane):
    noise = np.array([0.5, 0.1])
    condition, optimal = (
        design_excitation(crane, criterion=criterion, noise=noise, **QUICK)
        for criterion in ("condition", "d_optimal")
    )
    assert information(crane, optimal, noise) > information(crane, condition, noise) + 0.1
    assert optimal.condition_number > condition.condition_number
    # Without noise, in units of the forces at random states.
    other = design_excitation(crane, criterion="d_optimal", **QUICK)
    assert information(crane, other, noise) > information(crane, condition, noise)


def test_progress_and_text(crane):
    shares = []
    design = design_excitation(crane, starts=2, steps=3, rng=0, progress=shares.append)
    assert shares == sorted(shares)
    assert len(shares) == 8
    assert shares[-1] == 1.0
    assert repr(design).startswith("<Excitation: 1000 samples in 10 s, condition number ")


def test_scenes_that_cannot_be_used_are_refused(crane, robot):
    scene = mbt.CollisionModel(crane, obstacles=[obstacle(0.0, 0.0)])
    with pytest.raises(mbt.ArgumentValueError, match="does a pair always touch"):
        design_excitation(crane, scene=scene, **QUICK)
    with pytest.raises(mbt.ArgumentValueError, match="with other joints"):
        design_excitation(robot.tree, scene=scene, **QUICK)
    with pytest.raises(mbt.ArgumentTypeError, match="scene: expected a CollisionModel"):
        design_excitation(crane, scene=crane, **QUICK)
    with pytest.raises(mbt.ArgumentValueError, match="criterion"):
        design_excitation(crane, criterion="best", **QUICK)
    with pytest.raises(mbt.ArgumentValueError, match="noise"):
        design_excitation(crane, noise=[0.0, 1.0], **QUICK)
