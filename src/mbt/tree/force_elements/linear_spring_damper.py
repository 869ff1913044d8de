"""Springs and dampers between two points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentValueError
from mbt.tree.body import RigidBody
from mbt.tree.fields import NONNEGATIVE, POSITIVE, Number, Reference, Vector
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers

if TYPE_CHECKING:
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["LinearSpringDamper"]


class LinearSpringDamper(SpringsAndDampers):
    """A spring and a damper between a point P of a body A and a point Q of a body B.

    With the length l from P to Q and its rate ldot, it pulls P and Q together with the force
    ``stiffness (l - free_length) + damping ldot``. It stores ``stiffness (l - free_length)**2 / 2`` and
    dissipates the power ``damping ldot**2``. Where P and Q coincide, the force has no direction: that raises
    `SingularityError`.

    Parameters
    ----------
    bodyA : RigidBody
        The body A. The spring belongs to its model instance.
    p_AP : array_like, shape (3,)
        Position of P in A [m].
    bodyB : RigidBody
        The body B, another body.
    p_BQ : array_like, shape (3,)
        Position of Q in B [m].
    free_length : float
        Length without force [m], greater than zero.
    stiffness : float
        Force per length [N/m], not negative.
    damping : float
        Force per rate of length [N s/m], not negative.

    Raises
    ------
    ArgumentTypeError
        When an argument is not a body.
    ArgumentValueError
        When both bodies are the same, or a number is invalid.

    Notes
    -----
    Both points and all three constants are the defaults of parameters of each Context.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> spring = tree.add_force_element(
    ...     mbt.LinearSpringDamper(tree.world_body, [0, 0, 0], ball, [0, 0, 0], 1.0, 10.0, damping=0.5)
    ... )
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0, 0, -3]
    >>> tree.calc_forward_dynamics(context)
    array([ 0.,  0.,  0.,  0.,  0., 10.])
    """

    _type: ClassVar[ForceElementType] = ForceElementType.LINEAR_SPRING_DAMPER

    bodyA = Reference(RigidBody, "The body A.")
    bodyB = Reference(RigidBody, "The body B.")
    free_length = Number("length without force", "m", POSITIVE)
    stiffness = Number("stiffness", "N/m", NONNEGATIVE)
    damping = Number("damping", "N s/m", NONNEGATIVE)
    p_AP = Vector("position of P in A", "m", size=3)
    p_BQ = Vector("position of Q in B", "m", size=3)
    set_default_free_length, get_free_length, set_free_length = free_length.accessors()
    set_default_stiffness, get_stiffness, set_stiffness = stiffness.accessors()
    set_default_damping, get_damping, set_damping = damping.accessors()
    set_default_p_AP, get_p_AP, set_p_AP = p_AP.accessors()
    set_default_p_BQ, get_p_BQ, set_p_BQ = p_BQ.accessors()

    def __init__(
        self,
        bodyA: RigidBody,
        p_AP: object,
        bodyB: RigidBody,
        p_BQ: object,
        free_length: float,
        stiffness: float,
        damping: float,
    ) -> None:
        what = type(self).__name__
        self._refer_to(what, bodyA=bodyA, bodyB=bodyB)
        if bodyA is bodyB:
            raise ArgumentValueError(f"{what}: expected two bodies, got {bodyA._label} twice")
        numbers = self._checked_numbers(
            what, free_length=free_length, stiffness=stiffness, damping=damping, p_AP=p_AP, p_BQ=p_BQ
        )
        super().__init__(bodyA.model_instance, numbers)

    # For the tree.

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        return self.bodyA.body_frame._index, self.bodyB.body_frame._index

    def _calc_coordinates(self, context: Any) -> tuple[Any, Any]:
        """Use the length beyond the free length."""
        tree, world = context.tree, context.tree.world_frame
        rows, points = [], []
        for body, p in ((self.bodyA, self.get_p_AP(context)), (self.bodyB, self.get_p_BQ(context))):
            frame, point = body.body_frame, p[:, np.newaxis]
            rows.append(tree.calc_jacobian_translational_velocity(context, "v", frame, point, world, world))
            points.append(tree.calc_points_positions(context, frame, point, world)[:, 0])
        d = points[1] - points[0]
        length = np.sqrt(np.sum(d * d))
        J = np.einsum("i,ij->j", d / length, rows[1] - rows[0])
        return J[np.newaxis], (length - self.get_free_length(context))[np.newaxis]

    def _get_constants(self, context: Any) -> tuple[Any, Any]:
        k, d = self.get_stiffness(context), self.get_damping(context)
        return np.stack([k], axis=-1), np.stack([d], axis=-1)

    def _set_constants(self, context: Any, k: Any, d: Any) -> None:
        self.set_stiffness(context, k[..., 0])
        self.set_damping(context, d[..., 0])

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        return (
            f"its ends, on {self.bodyA._label} and {self.bodyB._label}, coincide, so its force has no "
            "direction. Move them apart."
        )
