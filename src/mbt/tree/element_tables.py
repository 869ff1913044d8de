"""Tables of elements for notebooks: their types and their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.poses import matrix_to_rpy
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.frame import FixedOffsetFrame, Frame
from mbt.tree.joint import Joint
from mbt.tree.report_tables import Section, Table, as_html, show_limit, show_number

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.element import MultibodyElement

__all__ = ["describe_element_as_html"]

_MAX_NAMES = 20
Row = tuple[str, str]


def describe_element_as_html(element: MultibodyElement) -> str:
    """Return an element for a notebook, whether it belongs to a tree or not."""
    if element.has_parent_tree and element.parent_tree.scalar_type.name != "double":
        return as_html(repr(element), [])
    table = Table(("", ""), left=(0, 1))
    for name, value in _rows(element):
        table.add(name, value)
    sections = [Section("Properties", table=table, is_open=True)] if table.rows else []
    if isinstance(element, Joint) and element.num_positions:
        sections.append(Section("Coordinates", table=_tabulate_coordinates(element), is_open=True))
    return as_html(repr(element), sections)


def _rows(element: MultibodyElement) -> Iterator[Row]:
    if element.has_parent_tree and not (isinstance(element, RigidBody) and element.is_world):
        yield "model instance", element.parent_tree.get_model_instance_name(element.model_instance)
    if isinstance(element, RigidBody):
        yield from _describe_body(element)
    elif isinstance(element, Joint):
        yield from _describe_joint(element)
    elif isinstance(element, Frame):
        yield from _describe_frame(element)
    elif isinstance(element, JointActuator):
        yield "joint", element.joint.name
        if element.joint.num_velocities > 1:
            yield "degree of freedom", element.joint.velocity_suffixes[element.dof]
        yield "effort limit [N m, N]", show_limit(element.effort_limit)
        yield "reflected inertia [kg m², kg]", show_number(element.default_reflected_inertia)


def _describe_body(body: RigidBody) -> Iterator[Row]:
    if not body.is_world:
        M = body.default_spatial_inertia
        yield "mass [kg]", show_number(M.mass)
        if M.mass > 0.0:
            yield "mass centre [m]", _join(M.com)
        I_SBo = M.calc_rotational_inertia()
        if I_SBo.any():
            yield "moments about Bo [kg m²]", _join(I_SBo.diagonal())
            yield "products about Bo, xy xz yz [kg m²]", _join(I_SBo[[0, 0, 1], [1, 2, 2]])
        reason = M.criticize_not_physically_valid()
        if reason is not None:
            yield "beware", reason
    if body.has_parent_tree and body.parent_tree.is_finalized:
        yield "node", str(body.node_index)
        if body.inboard_joint is not None:
            yield "moved by", f"{body.inboard_joint.name} ({_type_of(body.inboard_joint)})"
    if body.has_parent_tree:
        joints = body.parent_tree.joints
        ends = [joint for joint in joints if body in (joint.parent_body, joint.child_body)]
        yield "joints", _list([joint.name for joint in ends])
    for what, shapes in (("visuals", body.visuals), ("collisions", body.collisions)):
        if shapes:
            yield what, _list([shape.kind for shape in shapes])


def _describe_joint(joint: Joint) -> Iterator[Row]:
    yield "type", _type_of(joint)
    yield "parent → child", f"{joint.parent_body.name} → {joint.child_body.name}"
    for name in ("revolute_axis", "translation_axis", "screw_axis"):
        if hasattr(joint, name):
            yield "axis in F", _join(getattr(joint, name))
    for letters, frame in (
        ("F on the parent", joint.frame_on_parent),
        ("M on the child", joint.frame_on_child),
    ):
        if frame.has_parent_tree:
            yield from _describe_pose(letters, frame)
    if joint.num_velocities:
        yield "damping", _join(joint.default_damping_vector)
    if joint.has_parent_tree:
        motors = [a.name for a in joint.parent_tree.joint_actuators if a.joint is joint]
        if motors:
            yield "actuators", _list(motors)


def _tabulate_coordinates(joint: Joint) -> Table:
    table = Table(("position", "lower", "upper", "default"), left=(0,))
    limits = joint.position_lower_limits, joint.position_upper_limits
    for i, suffix in enumerate(joint.position_suffixes):
        bounds = (show_limit(float(limit[i])) for limit in limits)
        table.add(suffix, *bounds, show_number(float(joint.default_positions[i])))
    return table


def _describe_frame(frame: Frame) -> Iterator[Row]:
    yield "body", frame.body.name
    if isinstance(frame, FixedOffsetFrame):
        yield "parent frame", frame.parent_frame.name
    if not frame.is_body_frame:
        yield from _describe_pose("in the body frame", frame)


def _describe_pose(where: str, frame: Frame) -> Iterator[Row]:
    try:
        X_BF = frame._default_pose()
    except Exception:  # A user's frame that is not fixed.
        return
    yield f"{where}: position [m]", _join(X_BF[:3, 3])
    if not np.array_equal(X_BF[:3, :3], np.eye(3)):
        yield f"{where}: roll, pitch, yaw [rad]", _join(matrix_to_rpy(X_BF[:3, :3]))


def _type_of(joint: Joint) -> str:
    return joint.type_name.replace("_", " ")


def _join(values: FloatArray) -> str:
    return ", ".join(show_number(float(value)) for value in values)


def _list(names: list[str]) -> str:
    more = f", … {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return ", ".join(names[:_MAX_NAMES]) + more or "none"
