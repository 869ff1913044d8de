"""Mechanisms with loops: a four-bar linkage, a delta robot, a Stewart platform, each nearly assembled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

import mbt
from mbt.math.arrays import FloatArray

__all__ = [
    "CRANK",
    "COUPLER",
    "GROUND",
    "MECHANISMS",
    "ROCKER",
    "assembled",
    "calc_four_bar_angles",
    "delta",
    "four_bar",
    "stewart",
]

GROUND, CRANK, COUPLER, ROCKER = 1.0, 0.3, 0.9, 0.7


def _rod(length: float, mass: float) -> mbt.SpatialInertia:
    """A rod along x that begins at the origin."""
    M = mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.03, 0.02)
    return M.shift([-length / 2.0, 0.0, 0.0])


def _add_rod(tree: mbt.MultibodyTree, name: str, length: float, mass: float) -> mbt.RigidBody:
    return tree.add_body(mbt.RigidBody(name, _rod(length, mass)))


def four_bar(tilt: float = 0.0, rpy: Sequence[float] = (0.0, 0.0, 0.0)) -> mbt.MultibodyTree:
    """A crank, a coupler and a rocker in the x-y plane, closed by a ball between the last two.

    q = [angle of the crank, of the coupler to the crank, of the rocker]. The knee's axis is tilted by `tilt`,
    and the whole linkage is rotated by `rpy`.
    """
    tree = mbt.MultibodyTree()
    z, at = [0.0, 0.0, 1.0], mbt.math.make_pose
    X_WB = at(rpy=rpy)
    crank, coupler, rocker = (
        _add_rod(tree, name, length, mass)
        for name, length, mass in (("crank", CRANK, 0.5), ("coupler", COUPLER, 1.2), ("rocker", ROCKER, 0.9))
    )
    tree.add_joint(mbt.RevoluteJoint, "drive", tree.world_body, X_WB, crank, None, z)
    knee = [0.0, math.sin(tilt), math.cos(tilt)]
    tree.add_joint(mbt.RevoluteJoint, "knee", crank, at([CRANK, 0, 0]), coupler, None, knee)
    tree.add_joint(mbt.RevoluteJoint, "swing", tree.world_body, X_WB @ at([GROUND, 0, 0]), rocker, None, z)
    ends = [
        tree.add_frame(mbt.FixedOffsetFrame(f"end_of_{body.name}", body, at([length, 0, 0])))
        for body, length in ((coupler, COUPLER), (rocker, ROCKER))
    ]
    tree.add_constraint(mbt.BallConstraint("pin", *ends))
    tree.add_force_element(mbt.UniformGravityFieldElement(X_WB[:3, :3] @ [0.0, -9.81, 0.0]))
    tree.finalize()
    return tree


def calc_four_bar_angles(crank: FloatArray | float) -> FloatArray:
    """Return q of `four_bar` in closed form, with the elbow above the ground."""
    crank = np.asarray(crank, dtype=float)
    # From the pivot of the rocker to the end of the crank.
    x, y = CRANK * np.cos(crank) - GROUND, CRANK * np.sin(crank)
    d = np.hypot(x, y)
    inner = np.arccos((ROCKER**2 + d**2 - COUPLER**2) / (2.0 * ROCKER * d))
    rocker = np.arctan2(y, x) - inner
    tip_x, tip_y = GROUND + ROCKER * np.cos(rocker), ROCKER * np.sin(rocker)
    coupler = np.arctan2(tip_y - CRANK * np.sin(crank), tip_x - CRANK * np.cos(crank))
    return np.stack([crank, coupler - crank, rocker], axis=-1)


def delta() -> mbt.MultibodyTree:
    """A delta robot: three arms on the base, and a free platform on six rods of equal length."""
    tree = mbt.MultibodyTree()
    arm_length, rod_length, base, width = 0.25, 0.6, 0.15, 0.05
    platform = tree.add_body(
        mbt.RigidBody("platform", mbt.SpatialInertia.solid_cylinder_with_mass(0.4, 0.06, 0.02, [0, 0, 1]))
    )
    for i in range(3):
        turn = mbt.math.make_pose(rpy=[0.0, 0.0, 2.0 * math.pi * i / 3.0])
        arm = _add_rod(tree, f"arm_{i}", arm_length, 0.3)
        X_WF = turn @ mbt.math.make_pose([base, 0.0, 0.0])
        tree.add_joint(mbt.RevoluteJoint, f"motor_{i}", tree.world_body, X_WF, arm, None, [0.0, 1.0, 0.0])
        for side in (-1.0, 1.0):
            p_BQ = turn[:3, :3] @ [0.06, side * width, 0.0]
            rod = mbt.DistanceConstraint(
                f"rod_{i}_{'left' if side < 0 else 'right'}",
                arm,
                [arm_length, side * width, 0.0],
                platform,
                p_BQ,
                rod_length,
            )
            tree.add_constraint(rod)
    floating = tree.add_joint(mbt.QuaternionFloatingJoint, "platform", tree.world_body, None, platform, None)
    floating.set_default_pose(mbt.math.make_pose([0.02, -0.01, -0.5], rpy=[0.1, -0.1, 0.2]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def stewart() -> mbt.MultibodyTree:
    """A Stewart platform: six extensible legs on universal joints, below a free plate."""
    tree = mbt.MultibodyTree()
    plate = tree.add_body(
        mbt.RigidBody("plate", mbt.SpatialInertia.solid_cylinder_with_mass(5.0, 0.4, 0.05, [0, 0, 1]))
    )
    floating = tree.add_joint(mbt.QuaternionFloatingJoint, "plate", tree.world_body, None, plate, None)
    floating.set_default_pose(mbt.math.make_pose([0.02, 0.03, 0.8], rpy=[0.1, 0.05, 0.1]))
    for i in range(6):
        side = 1 if i % 2 else -1
        below, above = (
            2.0 * math.pi * (i // 2) / 3.0 + 0.2 * side,
            2.0 * math.pi * (i // 2) / 3.0 + 0.8 * side,
        )
        foot = [0.6 * math.cos(below), 0.6 * math.sin(below), 0.0]
        head = [0.4 * math.cos(above), 0.4 * math.sin(above), 0.0]
        # x of the leg points up.
        up = mbt.math.make_pose(foot, rpy=[0.0, -math.pi / 2.0, below])
        tube, shaft = _add_rod(tree, f"tube_{i}", 0.4, 1.0), _add_rod(tree, f"shaft_{i}", 0.4, 0.5)
        turned = mbt.math.make_pose(rpy=[0.0, math.pi / 2.0, 0.0])
        tree.add_joint(mbt.UniversalJoint, f"foot_{i}", tree.world_body, up @ turned, tube, turned)
        tree.add_joint(
            mbt.PrismaticJoint,
            f"leg_{i}",
            tube,
            mbt.math.make_pose([0.4, 0, 0]),
            shaft,
            None,
            [1.0, 0.0, 0.0],
        )
        tip = tree.add_frame(mbt.FixedOffsetFrame(f"tip_{i}", shaft, mbt.math.make_pose([0.4, 0, 0])))
        socket = tree.add_frame(mbt.FixedOffsetFrame(f"socket_{i}", plate, mbt.math.make_pose(head)))
        tree.add_constraint(mbt.BallConstraint(f"head_{i}", socket, tip))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


#: The function that builds each, and the number of velocities that its constraints leave.
MECHANISMS = {"four-bar": (four_bar, 1), "delta": (delta, 3), "stewart": (stewart, 6)}


def assembled(tree: mbt.MultibodyTree, rng: np.random.Generator) -> mbt.Context:
    """A moving Context near the default positions that satisfies the constraints."""
    context = tree.create_default_context()
    dq = rng.uniform(-0.1, 0.1, tree.num_velocities)
    context.q = tree.integrate_positions(tree.default_positions, dq, 1.0)
    context.v = rng.normal(size=tree.num_velocities)
    tree.assemble(context)
    return context
