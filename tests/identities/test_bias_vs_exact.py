"""Bias accelerations as seen from a moving frame, against the same formulas in fifty digits.

The motion that both frames share is not part of the result, however fast it is.
"""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt

FAST = 1e4


def make_tree() -> mbt.MultibodyTree:
    """A floating base, an arm of four links on it, with a ball joint, and a tail."""
    rng = np.random.default_rng(3)
    tree = mbt.MultibodyTree()
    arm, tail = tree.add_model_instance("arm"), tree.add_model_instance("tail")

    def body(name: str, instance: int) -> mbt.RigidBody:
        inertia = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.5, 0.25, 1.0)
        return tree.add_body(mbt.RigidBody(name, inertia, instance))

    def pose() -> Any:
        return mbt.math.make_pose(rng.uniform(-1, 1, 3), rpy=rng.uniform(-1, 1, 3))

    base = inboard = body("base", arm)
    tree.add_joint(mbt.QuaternionFloatingJoint, "flight", tree.world_body, None, base, None)
    for i in range(4):
        link = body(f"link{i}", arm)
        if i == 2:
            tree.add_joint(mbt.BallRpyJoint, "ball", inboard, pose(), link, pose())
        else:
            axis = rng.uniform(-1, 1, 3)
            tree.add_joint(mbt.RevoluteJoint, f"pin{i}", inboard, pose(), link, pose(), axis=axis)
        inboard = link
    end = body("tail", tail)
    tree.add_joint(mbt.RevoluteJoint, "tail_pin", base, pose(), end, pose(), axis=[0, 0, 1])
    tree.finalize()
    return tree


TREE = make_tree()
Q = np.concatenate([[0.5, 0.5, -0.5, 0.5, 10.0, -20.0, 5.0], np.linspace(0.25, 1.0, 7)])
V = np.concatenate([FAST * np.array([1.0, -0.5, 0.75, 1.0, 0.5, -1.0]), np.linspace(0.5, -1.0, 7)])
P = [0.25, -0.5, 0.125]

CALLS: dict[str, Any] = {
    "spatial": lambda t, c, s, b, a, e: t.calc_bias_spatial_acceleration(c, s, b, P, a, e),
    "angular": lambda t, c, s, b, a, e: t.calc_bias_angular_acceleration(c, s, b, a, e),
    "translational": lambda t, c, s, b, a, e: t.calc_bias_translational_acceleration(
        c, s, b, np.array([P, [1, 2, 3]]).T, a, e
    ),
    "center of mass": lambda t, c, s, b, a, e: t.calc_bias_center_of_mass_translational_acceleration(
        c, s, a, e, b.model_instance
    ),
}
# Of B in A: child in parent, the other way round, along several joints, and from branch to branch.
PAIRS = [("link0", "base"), ("base", "link0"), ("link3", "link0"), ("link1", "link3"), ("tail", "link1")]


def frame(tree: mbt.MultibodyTree, name: str) -> mbt.Frame:
    return tree.get_body_by_name(name).body_frame


def exact(call: str, s: str, b: str, a: str) -> Any:
    twin = TREE.clone_to_scalar("mpmath")
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q, context.v = [mpmath.mpf(x) for x in Q], [mpmath.mpf(x) for x in V]
        result = CALLS[call](twin, context, s, frame(twin, b), frame(twin, a), frame(twin, a))
        return np.array([float(x) for x in result.ravel()]).reshape(result.shape)


@pytest.mark.parametrize("s", ["v", "qdot"])
@pytest.mark.parametrize(("b", "a"), PAIRS)
@pytest.mark.parametrize("call", CALLS)
def test_bias_in_a_moving_frame(call: str, b: str, a: str, s: str) -> None:
    """To rounding of the motion of one frame in the other, about 1 rad/s; the base has 10^4."""
    wanted = exact(call, s, b, a)
    # The whole arm with its base moves in the frame of a tail: what both have in common is nothing then.
    bound = 1e-13
    for scalar in ("double", "autodiff", "batch"):
        tree = TREE.to_autodiff() if scalar == "autodiff" else TREE
        context = tree.create_default_context((3,) if scalar == "batch" else ())
        context.q, context.v = Q, V
        got = CALLS[call](tree, context, s, frame(tree, b), frame(tree, a), frame(tree, a))
        got = got.value if scalar == "autodiff" else got
        np.testing.assert_allclose(got, np.broadcast_to(wanted, got.shape), rtol=0, atol=bound)


@pytest.mark.parametrize("scalar", ["double", "batch", "autodiff", "mpmath"])
def test_a_joint_has_no_bias_of_its_own(scalar: str) -> None:
    """A hinge turns about an axis fixed in its inboard body: exactly zero, as in Drake."""
    tree = TREE if scalar in ("double", "batch") else TREE.clone_to_scalar(scalar)
    context = tree.create_default_context((2,) if scalar == "batch" else ())
    context.q, context.v = Q, V
    for b, a in (("link0", "base"), ("tail", "base"), ("link1", "link0")):
        bias = tree.calc_bias_angular_acceleration(
            context, "v", frame(tree, b), frame(tree, a), frame(tree, a)
        )
        numbers = bias.value if scalar == "autodiff" else np.array(bias, dtype=float)
        assert (numbers == 0.0).all()
    # The Context is unchanged.
    v = getattr(context.v, "value", context.v)
    assert (np.array(v, dtype=float) == V).all()
