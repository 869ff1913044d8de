"""Replaces joints that close loops, which a tree cannot have, by constraints.

The loop is cut at the joint, and constraints hold its frames F and M as the joint does: a ball their origins,
a weld their whole poses. A hinge becomes two balls on its axis, with six equations instead of five; but one
of them follows from the others even where these do not quite hold. That matters in a plane, where a hinge
constrains no more than a ball: equations that become independent in the middle of a step resist the motion.
A universal joint becomes a ball and a rod, which keeps its two axes at a right angle.
"""

from __future__ import annotations

import math

import numpy as np

from mbt.math.poses import IDENTITY, make_pose, normalize_axis
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import (
    WORLD,
    ConstraintDescription,
    FrameDescription,
    JointDescription,
    ModelDescription,
)

__all__ = ["close_loop", "close_loop_by_twin"]


def close_loop(joint: JointDescription, model: ModelDescription) -> bool:
    """Add the constraints that replace a joint; return False where none can.

    The first has the name of the joint; the second ball of a hinge, or the rod, has ``_axis`` appended.
    """
    X_BM = IDENTITY if joint.X_BM is None else joint.X_BM
    F = FrameDescription(f"{joint.name}_parent", joint.parent, joint.X_PF, joint.line)
    M = FrameDescription(f"{joint.name}_child", joint.child, X_BM, joint.line)
    # A length of the size of the mechanism, so that errors along and about the axis count alike.
    length = max(float(np.linalg.norm(X[:3, 3])) for X in (joint.X_PF, X_BM)) or 1.0
    second: list[ConstraintDescription] = []
    if joint.kind == "revolute":
        n = make_pose(length * normalize_axis(joint.axis, "axis"))
        end_F, end_M = (frame._replace(name=f"{frame.name}_axis", X_BF=frame.X_BF @ n) for frame in (F, M))
        second = [ConstraintDescription(f"{joint.name}_axis", "ball", end_F, end_M)]
    elif joint.kind == "universal":
        p_FP, p_MQ = [length, 0.0, 0.0], [0.0, length, 0.0]
        diagonal = math.sqrt(2.0) * length
        second = [ConstraintDescription(f"{joint.name}_axis", "rod", F, M, p_FP, p_MQ, diagonal)]
    elif joint.kind not in ("weld", "ball", "quaternion_ball"):
        return False
    kind = "weld" if joint.kind == "weld" else "ball"
    model.constraints += [ConstraintDescription(joint.name, kind, F, M), *second]
    return True


def close_loop_by_twin(joints: list[JointDescription], model: ModelDescription) -> bool:
    """Cut a link in two halves that a weld holds together, and let a chain of joints end at one of them.

    It is the link behind the last joint or, where that has no mass, the one in front of the first joint.
    Return False where neither has mass.
    """
    places = {link.name: i for i, link in enumerate(model.links)}
    for joint, role in ((joints[-1], "child"), (joints[0], "parent")):
        name = getattr(joint, role)
        if name == WORLD or model.links[places[name]].mass <= 0.0:
            continue
        link = model.links[places[name]]
        taken = {*places, *(frame.name for frame in model.frames)}
        twin = f"{name}_twin"
        while twin in taken:
            twin += "_"
        M = link.M_BBo_B
        half = SpatialInertia(0.5 * M.mass, M.com, M.unit_inertia, skip_validity_check=True)
        link = link._replace(M_BBo_B=half, mass=0.5 * link.mass, moment=0.5 * link.moment)
        model.links[places[name]] = link
        model.links.append(link._replace(name=twin, visuals=(), collisions=()))
        model.twins.add(twin)
        setattr(joint, role, twin)
        A, B = (FrameDescription("", each, IDENTITY, joint.line) for each in (name, twin))
        model.constraints.append(ConstraintDescription(joints[0].name, "weld", A, B))
        return True
    return False
