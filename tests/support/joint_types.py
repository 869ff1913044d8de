"""Every joint type and every force element once, for tests that all of them must pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from support.random_trees import random_body, random_pose

AXIS = (0.48, -0.6, 0.64)


def _path() -> Any:
    """A bend left, a straight piece, a bend right."""
    breaks, turning_rates = [0.0, 1.0, 1.5, 3.0], [0.8, 0.0, -0.5]
    tangent, normal, start = [0.48, -0.6, 0.64], [0.8, 0.0, -0.6], [0.1, 0.2, 0.3]
    return mbt.PiecewiseConstantCurvatureTrajectory(breaks, turning_rates, tangent, normal, start)


# Type -> class, its own arguments, and damping. By name: classes are looked up when a tree is built.
JOINT_TYPES: dict[str, tuple[str, Callable[[], dict[str, Any]], dict[str, Any]]] = {
    "revolute": ("RevoluteJoint", lambda: {"axis": AXIS}, {"damping": 0.3}),
    "prismatic": ("PrismaticJoint", lambda: {"axis": AXIS}, {"damping": 0.3}),
    "screw": ("ScrewJoint", lambda: {"axis": AXIS, "screw_pitch": 0.7}, {"damping": 0.3}),
    "universal": ("UniversalJoint", dict, {"damping": 0.3}),
    "planar": ("PlanarJoint", dict, {"damping": (0.2, 0.3, 0.4)}),
    "cylindrical": ("CylindricalJoint", lambda: {"axis": AXIS}, {"damping": (0.2, 0.3)}),
    "ball_rpy": ("BallRpyJoint", dict, {"damping": 0.3}),
    "quaternion_ball": ("QuaternionBallJoint", dict, {"damping": 0.3}),
    "rpy_floating": ("RpyFloatingJoint", dict, {"angular_damping": 0.2, "translational_damping": 0.3}),
    "quaternion_floating": (
        "QuaternionFloatingJoint",
        dict,
        {"angular_damping": 0.2, "translational_damping": 0.3},
    ),
    "curvilinear": ("CurvilinearJoint", lambda: {"curvilinear_path": _path()}, {"damping": 0.3}),
    "weld": ("WeldJoint", lambda: {"X_FM": random_pose(np.random.default_rng(3))}, {}),
}
MOVING_JOINT_TYPES = tuple(kind for kind in JOINT_TYPES if kind != "weld")


def add_random_body(
    tree: mbt.MultibodyTree, rng: np.random.Generator, name: str, model_instance: int | None = None
) -> mbt.RigidBody:
    body = random_body(rng, name)
    inertia = mbt.SpatialInertia.make_from_central_inertia(body.mass, body.com, body.I_BBcm_B)
    return tree.add_body(mbt.RigidBody(name, inertia, model_instance))


def add_joint_of_type(
    tree: mbt.MultibodyTree,
    kind: str,
    name: str,
    inboard: mbt.RigidBody,
    outboard: mbt.RigidBody,
    rng: np.random.Generator,
    *,
    is_reversed: bool = False,
    is_damped: bool = False,
) -> mbt.Joint:
    """Add a joint between two bodies with random offset frames; if `is_reversed`, its child is inboard."""
    class_name, arguments, damping = JOINT_TYPES[kind]
    parent, child = (outboard, inboard) if is_reversed else (inboard, outboard)
    return tree.add_joint(
        getattr(mbt, class_name),
        name,
        parent,
        random_pose(rng),
        child,
        random_pose(rng),
        **arguments(),
        **(damping if is_damped else {}),
    )


def random_positions(joint: mbt.Joint, rng: np.random.Generator) -> np.ndarray:
    """Return positions away from every singularity."""
    q = rng.uniform(0.2, 0.6, joint.num_positions) * rng.choice([-1.0, 1.0], joint.num_positions)
    if joint.num_positions > joint.num_velocities:
        q[:4] = rng.normal(size=4)
        q[:4] /= np.linalg.norm(q[:4])
    return q


def random_state(tree: mbt.MultibodyTree, rng: np.random.Generator) -> mbt.Context:
    """Return a Context with positions away from every singularity, and velocities around one."""
    context = tree.create_default_context()
    q = context.q.copy()
    for joint in tree.joints:
        joint.get_mutable_positions_from_array(q)[:] = random_positions(joint, rng)
    context.q = q
    context.v = rng.uniform(-1.0, 1.0, tree.num_velocities)
    return context
