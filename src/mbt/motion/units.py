"""Units of positions and velocities."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["effort_unit", "position_units", "velocity_units"]


def velocity_units(tree: MultibodyTree) -> tuple[str, ...]:
    """Return "rad/s" or "m/s" for each velocity."""
    return tuple(f"{unit}/s" for own in _units_by_mobilizer(tree) for unit in own)


def position_units(tree: MultibodyTree) -> tuple[str, ...]:
    """Return "rad" or "m" for each position, and "" for the four of a quaternion."""
    units: list[str] = []
    for m, own in zip(_in_order(tree), _units_by_mobilizer(tree), strict=True):
        units += ["", "", "", "", *own[3:]] if m.has_quaternion_dofs else own
    return tuple(units)


def effort_unit(velocity_unit: str) -> str:
    """Return the unit of the force along a velocity."""
    return "N m" if velocity_unit == "rad/s" else "N"


def _units_by_mobilizer(tree: MultibodyTree) -> list[list[str]]:
    return [
        ["rad" if suffix.startswith("w") else "m" for suffix in m.velocity_suffixes] for m in _in_order(tree)
    ]


def _in_order(tree: MultibodyTree) -> list[Mobilizer]:
    return sorted(tree.mobilizers, key=lambda m: m.velocity_start)
