"""The element types of the core: the number of each, and a row of integers that describes it.

This is the only list: `tools/transpile.py` declares the numbers and rows to the compiled modules. The
formulas are in `joints/mobilizers.pxd`, `forces/force_elements.pxd` and `forces/constraints.pxd`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray

__all__ = ["ConstraintType", "ForceElementType", "MobilizerType", "NumbersOfParts", "Orientation"]


class Orientation(IntEnum):
    """A mobilizer's first coordinates if an orientation, with v = w_FM_F, qdot = N v. PLAIN: qdot = v."""

    PLAIN = 0
    QUATERNION = 1  # 4 positions
    RPY = 2  # 3 positions


class NumbersOfParts(IntEnum):
    """The numbers of parameters of elements with parts: before the parts, and for each part."""

    # Constants of a path, the first of which is the number of pieces.
    PIECES = 15
    PIECE = 8
    # Parameters of a contact.
    NUM_CONTACT_CONSTANTS = 5
    NUM_CONTACT_POINT = 3


class MobilizerType(IntEnum):
    """How M can move in F."""

    WELD = 0
    REVOLUTE = 1
    PRISMATIC = 2
    QUATERNION_FLOATING = 3
    SCREW = 4
    UNIVERSAL = 5
    RPY_BALL = 6
    PLANAR = 7
    RPY_FLOATING = 8
    CYLINDRICAL = 9
    QUATERNION_BALL = 10
    CURVILINEAR = 11

    @property
    def row(self) -> MobilizerRow:
        """The row that describes this type."""
        return _MOBILIZERS[self]

    @property
    def num_positions(self) -> int:
        """The number of velocities, plus one with a quaternion."""
        return self.row.num_velocities + (self.row.orientation == Orientation.QUATERNION)

    def takes_constants(self, constants: FloatArray) -> bool:
        """Return whether the number of constants is right for this type."""
        of_piece = self.row.num_constants_of_piece
        rest = len(constants) - self.row.num_constants
        if of_piece and rest > 0:
            return bool(constants[0] >= 1 and rest == of_piece * constants[0])
        return rest == 0 and not of_piece


class MobilizerRow(NamedTuple):
    """Description of a mobilizer type."""

    num_velocities: int
    orientation: Orientation = Orientation.PLAIN
    #: Not counting those of pieces.
    num_constants: int = 0
    num_constants_of_piece: int = 0
    #: 1 if it moves about or along an axis, which comes first in its constants.
    has_axis: int = 0


_MOBILIZERS = {
    MobilizerType.WELD: MobilizerRow(0, num_constants=16),  # X_FM
    MobilizerType.REVOLUTE: MobilizerRow(1, num_constants=3, has_axis=1),
    MobilizerType.PRISMATIC: MobilizerRow(1, num_constants=3, has_axis=1),
    MobilizerType.QUATERNION_FLOATING: MobilizerRow(6, Orientation.QUATERNION),
    MobilizerType.SCREW: MobilizerRow(1, num_constants=4, has_axis=1),  # axis, metres per radian
    MobilizerType.UNIVERSAL: MobilizerRow(2),
    MobilizerType.RPY_BALL: MobilizerRow(3, Orientation.RPY),
    MobilizerType.PLANAR: MobilizerRow(3),
    MobilizerType.RPY_FLOATING: MobilizerRow(6, Orientation.RPY),
    MobilizerType.CYLINDRICAL: MobilizerRow(2, num_constants=3, has_axis=1),
    MobilizerType.QUATERNION_BALL: MobilizerRow(3, Orientation.QUATERNION),
    MobilizerType.CURVILINEAR: MobilizerRow(
        1, num_constants=NumbersOfParts.PIECES, num_constants_of_piece=NumbersOfParts.PIECE
    ),
}


class ForceElementType(IntEnum):
    """Force elements, on one dof as functions of its position and velocity, or between two frames A and C."""

    JOINT_SPRING = 0
    DOOR_HINGE = 1
    JOINT_FRICTION = 2
    LINEAR_SPRING_DAMPER = 3
    LINEAR_BUSHING_RPY = 4
    POINT_CONTACT = 5

    @property
    def row(self) -> ForceElementRow:
        """The row that describes this type."""
        return _FORCE_ELEMENTS[self]

    def takes_parameters(self, count: int) -> bool:
        """Return whether an element may have this many parameters."""
        of_point = self.row.num_parameters_of_point
        rest = count - self.row.num_parameters
        return rest > 0 and rest % of_point == 0 if of_point else rest == 0


class ForceElementRow(NamedTuple):
    """Description of a force element type."""

    #: 1, or 0 between frames.
    acts_on_dof: int
    #: Not counting those of points.
    num_parameters: int
    #: For each contact point; there is at least one.
    num_parameters_of_point: int = 0
    #: Coordinates s between its frames, along each of which it exerts -k s - d sdot.
    num_coordinates: int = 0


_FORCE_ELEMENTS = {
    # Nominal position, stiffness.
    ForceElementType.JOINT_SPRING: ForceElementRow(1, 2),
    # q_s0, k_ts, k_df, k_sf, k_vf, q_c0 (width of the catch), k_c, motion threshold.
    ForceElementType.DOOR_HINGE: ForceElementRow(1, 8),
    # Coulomb, breakaway, Stribeck velocity, transition velocity.
    ForceElementType.JOINT_FRICTION: ForceElementRow(1, 4),
    # Free length, stiffness, damping, p_AP (3), p_CQ (3).
    ForceElementType.LINEAR_SPRING_DAMPER: ForceElementRow(0, 9, num_coordinates=1),
    # Stiffness (3) and damping (3) of the torque, then of the force.
    ForceElementType.LINEAR_BUSHING_RPY: ForceElementRow(0, 12, num_coordinates=6),
    ForceElementType.POINT_CONTACT: ForceElementRow(
        0, NumbersOfParts.NUM_CONTACT_CONSTANTS, NumbersOfParts.NUM_CONTACT_POINT
    ),
}


class ConstraintType(IntEnum):
    """Constraints. Their first parameters are the natural frequency and damping ratio of stabilization."""

    BALL = 0
    WELD = 1
    DISTANCE = 2
    COUPLER = 3

    @property
    def row(self) -> ConstraintRow:
        """The row that describes this type."""
        return _CONSTRAINTS[self]


class ConstraintRow(NamedTuple):
    """Description of a constraint type."""

    num_equations: int
    num_parameters: int


_CONSTRAINTS = {
    ConstraintType.BALL: ConstraintRow(3, 2),
    ConstraintType.WELD: ConstraintRow(6, 2),
    ConstraintType.DISTANCE: ConstraintRow(1, 9),  # distance, p_AP (3), p_BQ (3)
    ConstraintType.COUPLER: ConstraintRow(1, 4),  # gear ratio, offset
}

#: The rows of the enumerations that have rows.
ROWS: Mapping[type[IntEnum], Mapping[Any, tuple[int, ...]]] = {
    MobilizerType: _MOBILIZERS,
    ForceElementType: _FORCE_ELEMENTS,
    ConstraintType: _CONSTRAINTS,
}
