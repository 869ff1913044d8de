"""Joints in URDF, with the extensions of Drake: between a link and the frame of another link.

A joint of mbt connects a frame F on one body and a frame M on the other. In URDF, M is always the frame of
the child link. If the offset of M from that commutes with the motion, it moves to F; otherwise M becomes a
massless link, on which the child is fixed. Joints point outwards from World: those declared the other way
round are reversed, with the same coordinate if they have only one.
"""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbt.math import PiecewiseConstantCurvatureTrajectory
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, inverse_pose, make_pose
from mbt.saving.urdf_losses import Losses
from mbt.saving.urdf_values import add_origin, is_identity, number, numbers
from mbt.tree.joint import Joint
from mbt.tree.joints import (
    CurvilinearMobilizer,
    CylindricalMobilizer,
    PlanarMobilizer,
    PrismaticMobilizer,
    QuaternionBallMobilizer,
    QuaternionFloatingMobilizer,
    RevoluteMobilizer,
    RpyBallMobilizer,
    RpyFloatingMobilizer,
    ScrewMobilizer,
    UniversalMobilizer,
    WeldMobilizer,
)
from mbt.tree.joints.one_axis import AxisMobilizer
from mbt.tree.mobilizer import Mobilizer

__all__ = ["Connection", "make_joint", "make_weld"]

# By the type of mobilizer: the tag and type in URDF, and the change of the coordinates.
_TYPES: dict[type, tuple[str, str, str | None]] = {
    RevoluteMobilizer: ("joint", "revolute", None),
    PrismaticMobilizer: ("joint", "prismatic", None),
    QuaternionFloatingMobilizer: ("joint", "floating", None),
    RpyFloatingMobilizer: ("joint", "floating", "its angles become a quaternion"),
    PlanarMobilizer: ("drake:joint", "planar", None),
    ScrewMobilizer: ("drake:joint", "screw", None),
    UniversalMobilizer: ("drake:joint", "universal", None),
    RpyBallMobilizer: ("drake:joint", "ball", None),
    QuaternionBallMobilizer: ("drake:joint", "ball", "its quaternion becomes angles"),
    CurvilinearMobilizer: ("drake:joint", "curvilinear", None),
}
_ONE_DOF = ("revolute", "prismatic", "screw", "curvilinear")


class Connection(NamedTuple):
    """A mobilizer and the names, in URDF, of the links that it connects.

    Attributes
    ----------
    name, parent, child : str
        Names of the joint and of its links; the parent is nearer World.
    mobilizer : Mobilizer
        The mobilizer that moves the child.
    """

    name: str
    parent: str
    child: str
    mobilizer: Mobilizer

    @property
    def joint(self) -> Joint | None:
        """The joint that the mobilizer models."""
        return self.mobilizer.joint


def make_joint(connection: Connection, auxiliary: str, losses: Losses) -> list[Element]:
    """Return the joint and, if M is not the frame of the child, a link named `auxiliary` and a weld.

    Parameters
    ----------
    connection : Connection
        The joint and its links.
    auxiliary : str
        A name that is not used.
    losses : Losses
        The list of losses, to which those of the joint are added.
    """
    mobilizer = connection.mobilizer
    X_PF = mobilizer.inboard_frame._default_pose()
    X_BM = mobilizer.outboard_frame._default_pose()
    if isinstance(mobilizer, WeldMobilizer):
        X_PB = X_PF @ mobilizer.X_FM @ inverse_pose(X_BM)
        return [make_weld(connection.name, connection.parent, connection.child, X_PB)]
    if isinstance(mobilizer, CylindricalMobilizer):
        return _make_cylinder(connection, auxiliary, X_PF, X_BM, losses)
    tag, type_, change = next(_TYPES[base] for base in type(mobilizer).__mro__ if base in _TYPES)
    if change is not None:
        losses.add("joint", connection.name, change)
    if mobilizer.is_reversed and type_ not in _ONE_DOF:
        losses.add("joint", connection.name, "it is reversed to point outwards: its coordinates differ")
    if isinstance(mobilizer, CurvilinearMobilizer) and not mobilizer.is_reversed:
        # The path begins at Fo.
        X_PF = X_PF @ make_pose(mobilizer.curvilinear_path.calc_pose(0.0)[:3, 3])
    axis = _outward_axis(mobilizer)
    X_PF, X_BM, axis = _without_offset(type_, X_PF, X_BM, axis)
    child, extra = connection.child, []
    if not is_identity(X_BM):
        child = auxiliary
        extra = [
            Element("link", name=auxiliary),
            make_weld(auxiliary, auxiliary, connection.child, inverse_pose(X_BM)),
        ]
        losses.add("joint", connection.name, f"its frame M becomes {auxiliary!r}, a link without mass")
    element = Element(tag, name=connection.name, type=type_)
    SubElement(element, "parent", link=connection.parent)
    SubElement(element, "child", link=child)
    add_origin(element, X_PF)
    if axis is not None:
        SubElement(element, "axis", xyz=numbers(axis.tolist()))
    elif type_ == "planar":
        SubElement(element, "axis", xyz="0 0 1")
    if type_ == "screw":
        SubElement(element, "drake:screw_thread_pitch", value=number(mobilizer.screw_pitch))  # type: ignore[attr-defined]
    if type_ == "curvilinear":
        _add_path(element, mobilizer, connection, losses)
    _add_dynamics(element, connection, losses)
    _add_limits(element, connection, losses)
    return [element, *extra]


def make_weld(name: str, parent: str, child: str, X_PB: FloatArray) -> Element:
    """Return a fixed joint."""
    element = Element("joint", name=name, type="fixed")
    SubElement(element, "parent", link=parent)
    SubElement(element, "child", link=child)
    add_origin(element, X_PB)
    return element


def _outward_axis(mobilizer: Mobilizer) -> FloatArray | None:
    """Return the axis along which the outboard body moves, in F and in M; negated if reversed."""
    if not isinstance(mobilizer, AxisMobilizer):
        return None
    return -mobilizer._axis if mobilizer.is_reversed else mobilizer._axis


def _without_offset(
    type_: str, X_PF: FloatArray, X_BM: FloatArray, axis: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Move the offset between M and the child to F, if it commutes with the motion.

    ``X_PF X_FM(q) X_MB = X_PF X_MB X'(q)``, where X' moves about, or along, the same axis expressed in B. A
    rotation commutes with translations along its axis.
    """
    if axis is None or is_identity(X_BM):
        return X_PF, X_BM, axis
    axis_B = X_BM[:3, :3] @ axis
    if type_ != "prismatic" and np.cross(axis_B, X_BM[:3, 3]).any():
        return X_PF, X_BM, axis
    return X_PF @ inverse_pose(X_BM), IDENTITY, axis_B


def _make_cylinder(
    connection: Connection, auxiliary: str, X_PF: FloatArray, X_BM: FloatArray, losses: Losses
) -> list[Element]:
    """Return a revolute and a prismatic joint with the same axis, and a massless link between them."""
    losses.add("joint", connection.name, f"it becomes two joints, with the link {auxiliary!r} between them")
    axis = _outward_axis(connection.mobilizer)
    assert axis is not None
    ends = ((connection.parent, auxiliary, X_PF), (auxiliary, connection.child, inverse_pose(X_BM)))
    turned = (axis, X_BM[:3, :3] @ axis)
    joint = connection.joint
    elements = [Element("link", name=auxiliary)]
    for i, (type_, name) in enumerate((("continuous", connection.name), ("prismatic", auxiliary))):
        parent, child, X = ends[i]
        element = Element("joint", name=name, type=type_)
        SubElement(element, "parent", link=parent)
        SubElement(element, "child", link=child)
        add_origin(element, X)
        SubElement(element, "axis", xyz=numbers(turned[i].tolist()))
        if joint is not None and joint.default_damping_vector[i]:
            SubElement(element, "dynamics", damping=number(joint.default_damping_vector[i]))
        if type_ == "prismatic":
            _add_limit(element, {"lower": -math.inf, "upper": math.inf})
        elements.append(element)
    if joint is not None:
        _check_what_is_lost(joint, "cylindrical", connection.name, losses)
    return elements


def _add_path(element: Element, mobilizer: Mobilizer, connection: Connection, losses: Losses) -> None:
    path: PiecewiseConstantCurvatureTrajectory = mobilizer._path  # type: ignore[attr-defined]
    if mobilizer.is_reversed:
        losses.add("joint", connection.name, "its path is reversed: the motion differs")
    SubElement(element, "drake:initial_tangent", xyz=numbers(path._R[:, 0].tolist()))
    SubElement(element, "drake:plane_normal", xyz=numbers(path._R[:, 2].tolist()))
    SubElement(element, "drake:is_periodic", value=str(path.is_periodic).lower())
    curves = SubElement(element, "drake:curves")
    for length, rate in zip(np.diff(path.breaks).tolist(), path.turning_rates.tolist(), strict=True):
        if rate == 0.0:
            SubElement(curves, "drake:line_segment", length=number(length))
        else:
            arc = {"radius": number(1.0 / abs(rate)), "angle": number(length * rate)}
            SubElement(curves, "drake:circular_arc", arc)


def _add_dynamics(element: Element, connection: Connection, losses: Losses) -> None:
    joint = connection.joint
    if joint is None or not joint.default_damping_vector.any():
        return
    damping = joint.default_damping_vector.tolist()
    type_ = element.get("type")
    if type_ == "floating" or (type_ != "planar" and len(set(damping)) > 1):
        losses.add("joint", connection.name, "its damping is left out")
        return
    SubElement(element, "dynamics", damping=numbers(damping if type_ == "planar" else damping[:1]))


def _add_limits(element: Element, connection: Connection, losses: Losses) -> None:
    joint, type_ = connection.joint, element.get("type")
    assert type_ is not None
    if joint is None:
        if type_ in ("revolute", "prismatic"):
            _add_limit(element, {"lower": -math.inf, "upper": math.inf})
        return
    _check_what_is_lost(joint, type_, connection.name, losses)
    if type_ not in _ONE_DOF:
        return
    lower, upper = float(joint.position_lower_limits[0]), float(joint.position_upper_limits[0])
    velocity, acceleration = (
        max(-float(pair[0][0]), float(pair[1][0]))
        for pair in (joint._velocity_limits, joint._acceleration_limits)
    )
    limit: dict[str, float] = {}
    if math.isfinite(lower) or math.isfinite(upper) or type_ == "prismatic":
        limit = {"lower": lower, "upper": upper}
    elif type_ == "revolute":
        element.set("type", "continuous")
    if isinstance(getattr(connection.mobilizer, "_path", None), PiecewiseConstantCurvatureTrajectory):
        limit = _limit_of_path(connection, limit, losses)
    if limit or min(velocity, acceleration, joint.effort_limit) < math.inf:
        limit |= {"velocity": velocity, "effort": joint.effort_limit}
        if acceleration < math.inf:
            limit["drake:acceleration"] = acceleration
        _add_limit(element, limit)


def _limit_of_path(connection: Connection, limit: dict[str, float], losses: Losses) -> dict[str, float]:
    """Return the limits that the path does not imply."""
    path, joint = connection.mobilizer._path, connection.joint  # type: ignore[attr-defined]
    assert joint is not None
    if path.is_periodic:
        return limit
    if (limit.get("lower"), limit.get("upper")) == (0.0, path.length):
        return {}
    if not limit:
        losses.add("joint", connection.name, "the ends of its path limit it")
    return limit


def _add_limit(element: Element, limit: dict[str, float]) -> None:
    # Parsers require both of these.
    whole = {"effort": math.inf, "velocity": math.inf, **limit}
    SubElement(element, "limit", {key: number(value) for key, value in whole.items()})


def _check_what_is_lost(joint: Joint, type_: str, name: str, losses: Losses) -> None:
    usual = np.zeros(joint.num_positions)
    if type(joint)._mobilizer_type.position_suffixes[:1] == ("qw",):
        usual[0] = 1.0
    if not np.array_equal(joint.default_positions, usual):
        losses.add("joint", name, "its default position is left out")
    has_limits = any(
        np.isfinite(limit).any()
        for pair in (joint._position_limits, joint._velocity_limits, joint._acceleration_limits)
        for limit in pair
    )
    if type_ not in _ONE_DOF:
        if has_limits:
            losses.add("joint", name, "its limits are left out")
        return
    for what, (lower, upper) in (
        ("velocity", joint._velocity_limits),
        ("acceleration", joint._acceleration_limits),
    ):
        if lower[0] != -upper[0]:
            losses.add("joint", name, f"its {what} limit is the same in both directions")
