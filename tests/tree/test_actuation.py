"""Actuation of the velocities of a tree and its limits: rows in the order of v."""

from __future__ import annotations

import numpy as np
import pytest

import mbt

Z = [0.0, 0.0, 1.0]
INF = np.inf


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    """A floating base with two arms. Neither joints nor actuators are added in the order of v."""
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    tip, base, upper, side = (
        tree.add_body(mbt.RigidBody(name, ball)) for name in ("tip", "base", "upper", "side")
    )
    wrist = tree.add_joint(mbt.RevoluteJoint, "wrist", upper, None, tip, None, Z, effort_limit=3)
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", base, None, side, None, Z)
    elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", base, None, upper, None, Z, effort_limit=20)
    tree.add_joint_actuator("wrist_motor", wrist, effort_limit=5)
    tree.add_joint_actuator("slide_motor", slide, effort_limit=7)
    tree.add_joint_actuator("elbow_motor", elbow, effort_limit=8)
    tree.add_joint_actuator("elbow_booster", elbow, effort_limit=4)
    tree.finalize()
    return tree


def test_bodies_in_the_order_of_rows(tree: mbt.MultibodyTree) -> None:
    assert tree.node_bodies[0] is tree.world_body
    assert [body.node_index for body in tree.node_bodies] == list(range(tree.num_bodies))
    assert tree.node_bodies != tree.bodies
    names = [body.name for body in tree.node_bodies]
    assert names.index("base") < names.index("upper") < names.index("tip")
    assert tree.clone().node_bodies != tree.node_bodies


def test_the_actuation_matrix_is_what_actuation_does(tree: mbt.MultibodyTree) -> None:
    B = tree.actuation_matrix
    assert B.shape == (tree.num_velocities, 4)
    columns = [actuator.joint.velocity_start for actuator in tree.joint_actuators]
    assert columns != sorted(columns), "the order of actuators should not be that of v"
    context = tree.create_default_context()
    rng = np.random.default_rng(0)
    context.v = rng.normal(size=tree.num_velocities)
    u = rng.normal(size=4)
    by_matrix = tree.calc_forward_dynamics(context, B @ u)
    context.actuation = u
    np.testing.assert_allclose(tree.calc_forward_dynamics(context), by_matrix, atol=1e-12)
    assert (B[:6] == 0.0).all()
    with pytest.raises(ValueError, match="read-only"):
        B[0, 0] = 1.0


def test_effort_limits_are_those_of_the_rows(tree: mbt.MultibodyTree) -> None:
    lower, upper = tree.effort_lower_limits, tree.effort_upper_limits
    # The joint is the weaker one; only the motor has a limit; two motors are weaker than the joint.
    wanted = {"wrist": 3.0, "slide": 7.0, "elbow": 12.0}
    for name, limit in wanted.items():
        assert upper[tree.get_joint_by_name(name).velocity_start] == limit
    base = tree.get_joint_by_name("base").velocity_start
    assert (upper[base : base + 6] == INF).all()
    np.testing.assert_array_equal(lower, -upper)
    tau = np.full(tree.num_velocities, 100.0)
    clipped = np.clip(-tau, lower, upper)
    assert clipped[tree.get_joint_by_name("elbow").velocity_start] == -12.0
    assert clipped[base] == -100.0


def test_limits_of_joints_without_actuators() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    axis = tree.add_joint(mbt.RevoluteJoint, "axis", tree.world_body, None, link, None, [0, 0, 1])
    axis.set_effort_limit(6)
    tree.finalize()
    assert tree.effort_upper_limits.tolist() == [6]
    assert tree.actuation_matrix.shape == (1, 0)


@pytest.mark.parametrize(
    "member", ["node_bodies", "actuation_matrix", "effort_lower_limits", "effort_upper_limits"]
)
def test_known_after_finalize(member: str) -> None:
    with pytest.raises(mbt.NotFinalizedError, match=member):
        getattr(mbt.MultibodyTree(), member)
