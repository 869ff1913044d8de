"""Common parts of constraints between two frames."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbt.errors import ArgumentValueError, quote
from mbt.tree.body import RigidBody
from mbt.tree.constraints.constraint import Constraint
from mbt.tree.fields import Reference
from mbt.tree.frame import Frame
from mbt.tree.indices import world_model_instance

if TYPE_CHECKING:
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["ConstraintBetweenFrames"]


class ConstraintBetweenFrames(Constraint):
    """Equations between a frame A and a frame B, on two bodies.

    It belongs to the model instance of B, or to that of A where B is on World.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    frame_A, frame_B : Frame or RigidBody
        The frames; a body stands for its body frame.
    numbers : sequence of float
        The numbers of its type, in the order of the core.
    stabilization : (frequency, damping ratio), array_like of shape (2,)
        See `Constraint`.

    Raises
    ------
    ArgumentTypeError
        When an argument is not a frame.
    ArgumentValueError
        When both are on one body.
    """

    frame_A = Reference(Frame, "The frame A.")
    frame_B = Reference(Frame, "The frame B.")

    def __init__(
        self,
        name: str,
        frame_A: Frame | RigidBody,
        frame_B: Frame | RigidBody,
        numbers: Iterable[float],
        stabilization: object,
    ) -> None:
        what = f"{self.kind} {quote(name)}"
        A, B = self._refer_to(what, frame_A=frame_A, frame_B=frame_B)
        if A.body is B.body:
            raise ArgumentValueError(
                f"{what}: expected frames on two bodies, but {A._label} and {B._label} are both "
                f"on {A.body._label}"
            )
        owner = A if B.body.model_instance == world_model_instance() else B
        super().__init__(name, owner.body.model_instance, numbers, stabilization)

    def _places(self, plan: FinalizationPlan) -> tuple[int, int, int, int]:
        return self.frame_A._index, self.frame_B._index, -1, -1

    def _names(self) -> tuple[str, str]:
        """Return the names of the frames in an equation: scoped names where instances differ."""
        frames = self.frame_A, self.frame_B
        is_inside = all(
            frame.model_instance in (self.model_instance, world_model_instance()) for frame in frames
        )
        name_A, name_B = (frame.name if is_inside else frame.scoped_name for frame in frames)
        return name_A, name_B
