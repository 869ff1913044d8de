"""Joints that close loops, as constraints: a tree has no such joints.

The loop is cut at the joint. Its frames F and M then keep together what the joint does: a ball their origins,
a weld all of them. What turns about axes is a ball with rods, each of which holds an axis at a right angle to
another one: between the points at 1 m on both, whose distance is then the square root of 2. So a hinge about
n is a ball with two rods, from n on F to two directions of M at right angles to n: five equations, none of
which follows from the others, and far from where a rod has no direction.
"""

from __future__ import annotations

import math

from mbt.math.poses import IDENTITY, normalize_axis
from mbt.math.spatial_inertia import SpatialInertia
from mbt.parsing.description import (
    WORLD,
    ConstraintDescription,
    FrameDescription,
    JointDescription,
    ModelDescription,
)
from mbt.parsing.directions import calc_rotation_from_z

__all__ = ["close_loop", "close_loop_by_twin"]

_DIAGONAL = math.sqrt(2.0)
_X, _Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def close_loop(joint: JointDescription, model: ModelDescription) -> bool:
    """Add the constraints that do what a joint does; return False where there are none that do.

    The first has the name of the joint; rods, with ``_axis`` or a number behind it.
    """
    F = FrameDescription(f"{joint.name}_parent", joint.parent, joint.X_PF, joint.line)
    X_BM = IDENTITY if joint.X_BM is None else joint.X_BM
    M = FrameDescription(f"{joint.name}_child", joint.child, X_BM, joint.line)
    rods: list[tuple[list[float], list[float]]] = []
    if joint.kind == "revolute":
        n = normalize_axis(joint.axis, "axis")
        R = calc_rotation_from_z(n)
        rods = [(n.tolist(), R[:, i].tolist()) for i in range(2)]
    elif joint.kind == "universal":
        rods = [(_X, _Y)]
    elif joint.kind not in ("weld", "ball", "quaternion_ball"):
        return False
    kind = "weld" if joint.kind == "weld" else "ball"
    model.constraints.append(ConstraintDescription(joint.name, kind, F, M))
    for i, (p_FP, p_MQ) in enumerate(rods, start=1):
        name = f"{joint.name}_axis_{i}" if len(rods) > 1 else f"{joint.name}_axis"
        model.constraints.append(ConstraintDescription(name, "rod", F, M, p_FP, p_MQ, _DIAGONAL))
    return True


def close_loop_by_twin(joints: list[JointDescription], model: ModelDescription) -> bool:
    """Cut a link in two, and put joints, which follow each other, between one half and the rest.

    It is the link behind the last joint; where that has no mass, the one in front of the first joint. Return
    False where neither has.
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
