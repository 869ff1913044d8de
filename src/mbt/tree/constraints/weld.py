"""Frames that stay together: welds that close loops, and bodies that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import ConstraintType
from mbt.tree.constraints.between_frames import ConstraintBetweenFrames
from mbt.tree.constraints.constraint import STABILIZATION

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["WeldConstraint"]


class WeldConstraint(ConstraintBetweenFrames):
    """Keeps two frames together, origins and axes: six equations.

    Its errors are the rotation vector from A to B [rad], then the position of Bo from Ao [m], both expressed
    in A; its multipliers the torque [N m] and the force [N] on B at Bo, expressed in A. The opposite acts on
    A, at the same point. The rows of the Jacobian that belong to the rotation vector give the angular
    velocity of B in A: that is its rate where it vanishes, as it does when the constraint holds.

    It belongs to the model instance of the body of B, or to that of A where B is on World.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    frame_A, frame_B : Frame or RigidBody
        The frames, on two bodies; a body stands for its body frame.
    stabilization : (frequency, damping ratio), array_like of shape (2,), optional
        The dynamics with which its errors decay in simulations [rad/s, 1]; see `Constraint`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument is not a frame, both are on one body, or a number is negative or not finite.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> tree.add_constraint(mbt.WeldConstraint("clamp", tree.world_body, ball))
    <WeldConstraint 'clamp' index=0 model_instance=1 world and ball coincide>
    """

    _type: ClassVar[ConstraintType] = ConstraintType.WELD

    def __init__(
        self,
        name: str,
        frame_A: Frame | RigidBody,
        frame_B: Frame | RigidBody,
        *,
        stabilization: object = STABILIZATION,
    ) -> None:
        super().__init__(name, frame_A, frame_B, (), stabilization)

    @property
    def equation(self) -> str:
        """The constraint as readable text: ``"base and tip coincide"``."""
        return "{} and {} coincide".format(*self._names())
