"""Replacements for missing shapes: bones between joints, and ellipsoids with the inertia of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.math.poses import make_pose
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["bones_of", "ellipsoid_of"]

_RADIUS_OF_JOINTS = 1.8  # relative to that of bones
_LONGEST = 1e12  # rod that is drawn [m]


def bones_of(tree: MultibodyTree, context: Context, radius: float) -> list[list[Shape]]:
    """Return the skeleton, a list for each node: balls at joints, and rods from joint to joint.

    A rod goes from the frame M of the inboard mobilizer of a body to the frame F of each outboard one, or to
    the centre of mass if there is none. All are fixed on the body, so a prismatic joint shows as a gap.
    """
    bones: list[list[Shape]] = [[] for _ in tree.bodies]
    ends: list[list[FloatArray]] = [[] for _ in tree.bodies]
    for mobilizer in tree.mobilizers:
        inboard = mobilizer.inboard_frame
        ends[inboard.body.node_index].append(inboard.calc_pose_in_body_frame(context)[:3, 3])
    for body in tree.bodies[1:]:
        own = body.inboard_mobilizer
        start = np.zeros(3) if own is None else own.outboard_frame.calc_pose_in_body_frame(context)[:3, 3]
        of_body = bones[body.node_index]
        if own is not None and own.num_velocities:
            of_body.append(Shape("sphere", [_RADIUS_OF_JOINTS * radius], make_pose(start)))
        for end in ends[body.node_index] or [np.asarray(body.default_com)]:
            if 1e-3 * radius < max(abs(end - start)) < _LONGEST:
                of_body.append(rod_between(start, end, radius))
    return bones


def rod_between(start: FloatArray, end: FloatArray, radius: float) -> Shape:
    """Return a cylinder whose axis goes from one point to another, in the frame of the points."""
    length = float(np.linalg.norm(end - start))
    z = (end - start) / length
    # Any perpendicular direction: use the axis farthest from z.
    x = np.cross(np.eye(3)[np.argmin(abs(z))], z)
    x /= np.linalg.norm(x)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    return Shape("cylinder", [radius, length], make_pose((start + end) / 2, R=R))


def ellipsoid_of(body: RigidBody) -> Shape | None:
    """Return the solid ellipsoid of uniform density with the mass and the inertia of a body.

    With principal moments I1, I2, I3 about the centre of mass, ``a1**2 = 5 (I2 + I3 - I1) / (2 m)``. Negative
    values, of impossible inertias, count as zero.
    """
    mass, com = body.default_mass, np.asarray(body.default_com)
    if not mass > 0.0 or not np.isfinite(com).all():
        return None
    I_BBcm = np.asarray(body.default_spatial_inertia.calc_central_inertia())
    if not np.isfinite(I_BBcm).all() or not np.isfinite(mass):
        return None
    with np.errstate(all="ignore"):
        try:
            moments, axes = np.linalg.eigh(I_BBcm)
        except np.linalg.LinAlgError:
            return None
        squares = 2.5 * (moments.sum() - 2.0 * moments) / mass
        sizes = np.sqrt(np.maximum(squares, 0.0))
    if not sizes.any() or not max(sizes) < _LONGEST or not max(abs(com)) < _LONGEST:
        return None
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    # A disc or a rod without thickness would be invisible.
    return Shape("ellipsoid", np.maximum(sizes, 0.02 * sizes.max()).tolist(), make_pose(com, R=axes))
