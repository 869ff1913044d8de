"""Points that keep their distance: rods without mass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.model.element_types import ConstraintType
from mbt.errors import SingularityError, quote
from mbt.tree.constraints.between_frames import ConstraintBetweenFrames
from mbt.tree.constraints.constraint import STABILIZATION
from mbt.tree.fields import POSITIVE, Number, Vector

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["DistanceConstraint"]


class DistanceConstraint(ConstraintBetweenFrames):
    """Keeps a point P of a frame A and a point Q of a frame B at a distance: one equation.

    Its error is the length from P to Q minus the distance [m]; its multiplier is the force along that line
    [N], which pushes P and Q apart where it is positive. Where they coincide, it has no direction: that
    raises `SingularityError`, and gives NaN in batches.

    It belongs to the model instance of the body of B, or to that of A where B is on World.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    frame_A : Frame or RigidBody
        The frame A; a body stands for its body frame.
    p_AP : array_like, shape (3,)
        Position of P in A [m].
    frame_B : Frame or RigidBody
        The frame B, on another body.
    p_BQ : array_like, shape (3,)
        Position of Q in B [m].
    distance : float
        The distance [m], greater than zero. For zero use `BallConstraint`.
    stabilization : (frequency, damping ratio), array_like of shape (2,), optional
        The dynamics with which its error decays in simulations [rad/s, 1]; see `Constraint`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument is not a frame, both are on one body, or a number is invalid.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> tree.add_constraint(mbt.DistanceConstraint("rod", tree.world_body, [0, 0, 0], ball, [0, 0, 0.1], 2))
    <DistanceConstraint 'rod' index=0 model_instance=1 distance of points of world and ball = 2>
    """

    _type: ClassVar[ConstraintType] = ConstraintType.DISTANCE

    default_distance = Number("distance", "m", POSITIVE)
    default_p_AP = Vector("position of P in A", "m", size=3)
    default_p_BQ = Vector("position of Q in B", "m", size=3)
    set_default_distance, get_distance, set_distance = default_distance.accessors()
    set_default_p_AP, get_p_AP, set_p_AP = default_p_AP.accessors()
    set_default_p_BQ, get_p_BQ, set_p_BQ = default_p_BQ.accessors()

    def __init__(
        self,
        name: str,
        frame_A: Frame | RigidBody,
        p_AP: object,
        frame_B: Frame | RigidBody,
        p_BQ: object,
        distance: float,
        *,
        stabilization: object = STABILIZATION,
    ) -> None:
        what = f"{self.kind} {quote(name)}"
        numbers = self._checked_numbers(what, distance=distance, p_AP=p_AP, p_BQ=p_BQ)
        super().__init__(name, frame_A, frame_B, numbers, stabilization)

    @property
    def equation(self) -> str:
        """The constraint as readable text: ``"distance of points of base and tip = 2"``."""
        return "distance of points of {} and {} = {:g}".format(*self._names(), self.default_distance)

    def _check_direction(self, context: ContextCore) -> None:
        """Raise an error where the points coincide, to rounding."""
        X_AB = self.parent_tree.calc_relative_transform(context, self.frame_A, self.frame_B)
        p_AP, p_BQ = self.get_p_AP(context), self.get_p_BQ(context)
        p_AQ = X_AB[:3, :3] @ p_BQ + X_AB[:3, 3]
        if np.linalg.norm(p_AQ - p_AP) <= 1e-14 * (np.linalg.norm(p_AQ) + np.linalg.norm(p_AP)):
            raise SingularityError(
                f"{self._label}: its points, on {self.frame_A._label} and {self.frame_B._label}, coincide, "
                "so its force has no direction. Move them apart."
            )
