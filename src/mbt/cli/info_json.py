"""``mbt info --json``: the contents for programs. ``docs/command_line.md`` documents the keys."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mbt.errors import MbtError
    from mbt.math.arrays import FloatArray
    from mbt.tree.actuator import JointActuator
    from mbt.tree.body import RigidBody
    from mbt.tree.constraints import Constraint
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["describe_as_json", "describe_error_as_json"]


def describe_as_json(tree: MultibodyTree) -> str:
    """Return the description of a loaded tree as a JSON object."""
    report, field = tree.parse_reports[0], tree.gravity_field
    return _dump(
        {
            "file": report.file,
            "model": report.model_name,
            "mass": sum(body.default_mass for body in tree.bodies),
            "gravity": None if field is None else field.gravity_vector.tolist(),
            "num_positions": tree.num_positions,
            "num_velocities": tree.num_velocities,
            "bodies": [_body(body) for body in tree.bodies],
            "joints": [_joint(joint) for joint in tree.joints],
            "actuators": [_actuator(actuator) for actuator in tree.joint_actuators],
            "constraints": [_constraint(constraint) for constraint in tree.constraints],
            "massless_branches": [str(branch) for branch in tree.finalize_report.massless_branches],
            "warnings": [{"text": remark.text, "line": remark.line} for remark in report.warnings],
            "inactive": dict(sorted(report.inactive.items())),
            "ignored": dict(sorted(report.ignored.items())),
        }
    )


def describe_error_as_json(error: MbtError) -> str:
    """Return a JSON object with the type and the message of an error."""
    return _dump({"error": {"type": type(error).__name__, "message": str(error)}})


def _body(body: RigidBody) -> dict[str, Any]:
    joint = body.inboard_joint
    mobilizer = body.inboard_mobilizer
    return {
        "name": body.name,
        "node_index": int(body.node_index),
        "inboard_body": None if mobilizer is None else mobilizer.inboard_body.name,
        "inboard_joint": None if joint is None else joint.name,
        "mass": body.default_mass,
        "num_visuals": len(body.visuals),
        "num_collisions": len(body.collisions),
    }


def _joint(joint: Joint) -> dict[str, Any]:
    return {
        "name": joint.name,
        "type": joint.type_name,
        "parent": joint.parent_body.name,
        "child": joint.child_body.name,
        "position_start": joint.position_start,
        "num_positions": joint.num_positions,
        "velocity_start": joint.velocity_start,
        "num_velocities": joint.num_velocities,
        "position_lower_limits": _numbers(joint.position_lower_limits),
        "position_upper_limits": _numbers(joint.position_upper_limits),
        "velocity_upper_limits": _numbers(joint.velocity_upper_limits),
        "effort_limit": _number(joint.effort_limit),
        "damping": _numbers(joint.default_damping_vector),
    }


def _actuator(actuator: JointActuator) -> dict[str, Any]:
    return {
        "name": actuator.name,
        "joint": actuator.joint.name,
        "velocity": actuator.velocity_start,
        "effort_limit": _number(actuator.effort_limit),
        "reflected_inertia": _number(actuator.default_reflected_inertia),
    }


def _constraint(constraint: Constraint) -> dict[str, Any]:
    return {
        "name": constraint.name,
        "type": type(constraint).__name__,
        "num_equations": constraint.num_equations,
        "equation": constraint.equation,
    }


def _numbers(values: FloatArray) -> list[float | None]:
    return [_number(value) for value in values.tolist()]


def _number(value: float) -> float | None:
    """Return None, JSON's null, for no limit: JSON has no infinity."""
    return float(value) if math.isfinite(value) else None


def _dump(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
