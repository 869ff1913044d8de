"""Points that keep their distance: rods without mass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.forces.force_elements import ConstraintType
from mbt.errors import SingularityError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_positive
from mbt.tree.constraints.between_frames import ConstraintBetweenFrames
from mbt.tree.constraints.constraint import STABILIZATION
from mbt.tree.context_access import numbers_of
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

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
        numbers = (
            as_positive(distance, f"{what}: distance"),
            *as_finite_array(p_AP, f"{what}: p_AP", (3,)),
            *as_finite_array(p_BQ, f"{what}: p_BQ", (3,)),
        )
        super().__init__(name, frame_A, frame_B, numbers, stabilization)

    @property
    def default_distance(self) -> float:
        """The distance [m]."""
        return float(self._defaults[2])

    @property
    def default_p_AP(self) -> FloatArray:
        """Position of P in A [m], shape (3,), read-only."""
        return self._defaults[3:6]

    @property
    def default_p_BQ(self) -> FloatArray:
        """Position of Q in B [m], shape (3,), read-only."""
        return self._defaults[6:9]

    def set_default_distance(self, distance: object) -> Self:
        """Set the distance [m], greater than zero, before ``finalize()``."""
        return self._set_defaults(2, as_positive(distance, f"{self._label}: distance"), "set_distance")

    def set_default_p_AP(self, p_AP: object) -> Self:
        """Set the position of P in A [m], shape (3,), before ``finalize()``."""
        return self._set_defaults(3, as_finite_array(p_AP, f"{self._label}: p_AP", (3,)), "set_p_AP")

    def set_default_p_BQ(self, p_BQ: object) -> Self:
        """Set the position of Q in B [m], shape (3,), before ``finalize()``."""
        return self._set_defaults(6, as_finite_array(p_BQ, f"{self._label}: p_BQ", (3,)), "set_p_BQ")

    # In one Context.

    @number_of_each_sample
    def get_distance(self, context: ContextCore) -> float:
        """Return the distance that `context` has [m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 2)

    def set_distance(self, context: ContextCore, distance: object) -> Self:
        """Set the distance in `context` [m], greater than zero."""
        self._set_number(
            context, 2, numbers_of(self, context).as_positive(distance, f"{self._label}: distance")
        )
        return self

    def get_p_AP(self, context: ContextCore) -> FloatArray:
        """Return the position of P in A that `context` has [m], shape (3,)."""
        return self._get_numbers(context)[..., 3:6]

    def set_p_AP(self, context: ContextCore, p_AP: object) -> Self:
        """Set the position of P in A in `context` [m], shape (3,)."""
        self._set_numbers(
            context, 3, numbers_of(self, context).as_finite_array(p_AP, f"{self._label}: p_AP", (3,))
        )
        return self

    def get_p_BQ(self, context: ContextCore) -> FloatArray:
        """Return the position of Q in B that `context` has [m], shape (3,)."""
        return self._get_numbers(context)[..., 6:9]

    def set_p_BQ(self, context: ContextCore, p_BQ: object) -> Self:
        """Set the position of Q in B in `context` [m], shape (3,)."""
        self._set_numbers(
            context, 6, numbers_of(self, context).as_finite_array(p_BQ, f"{self._label}: p_BQ", (3,))
        )
        return self

    @property
    def equation(self) -> str:
        """The constraint as readable text: ``"distance of points of base and tip = 2"``."""
        return "distance of points of {} and {} = {:g}".format(*self._names(), self.default_distance)

    def _check_direction(self, context: ContextCore) -> None:
        """Refuse positions in which the points coincide, to rounding."""
        X_AB = self.parent_tree.calc_relative_transform(context, self._frame_A, self._frame_B)
        p_AP, p_BQ = self.get_p_AP(context), self.get_p_BQ(context)
        p_AQ = X_AB[:3, :3] @ p_BQ + X_AB[:3, 3]
        if np.linalg.norm(p_AQ - p_AP) <= 1e-14 * (np.linalg.norm(p_AQ) + np.linalg.norm(p_AP)):
            raise SingularityError(
                f"{self._label}: its points, on {self._frame_A._label} and {self._frame_B._label}, coincide, "
                "so its force has no direction. Move them apart."
            )
