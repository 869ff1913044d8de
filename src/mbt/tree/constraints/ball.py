"""Points that stay together: ball joints that close loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import ConstraintType
from mbt.tree.constraints.between_frames import ConstraintBetweenFrames
from mbt.tree.constraints.constraint import STABILIZATION

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["BallConstraint"]


class BallConstraint(ConstraintBetweenFrames):
    """Keeps the origins of two frames together: three equations.

    Its errors are the position of Bo from Ao, expressed in A [m]; its multipliers the force on B at Bo,
    expressed in A [N]. The opposite force acts on A, at the same point.

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
    >>> tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
    <BallConstraint 'hook' index=0 model_instance=1 origins of world and ball coincide>
    """

    _type: ClassVar[ConstraintType] = ConstraintType.BALL

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
        """The constraint as readable text: ``"origins of base and tip coincide"``."""
        return "origins of {} and {} coincide".format(*self._names())
