"""Springs and dampers between two points."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.forces.force_elements import ForceElementType
from mbt.errors import ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_nonnegative, as_positive
from mbt.tree.body import RigidBody
from mbt.tree.context_access import numbers_of
from mbt.tree.element import MultibodyElement, check_element
from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["LinearSpringDamper"]


class LinearSpringDamper(CompiledForceElement):
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
        check_element(bodyA, RigidBody, f"{what}: bodyA")
        check_element(bodyB, RigidBody, f"{what}: bodyB")
        if bodyA is bodyB:
            raise ArgumentValueError(f"{what}: expected two bodies, got {bodyA._label} twice")
        defaults = np.empty(9)
        defaults[0] = as_positive(free_length, f"{what}: free_length")
        defaults[1] = as_nonnegative(stiffness, f"{what}: stiffness")
        defaults[2] = as_nonnegative(damping, f"{what}: damping")
        defaults[3:6] = as_finite_array(p_AP, f"{what}: p_AP", (3,))
        defaults[6:9] = as_finite_array(p_BQ, f"{what}: p_BQ", (3,))
        super().__init__(bodyA.model_instance, defaults)
        self._bodyA = bodyA
        self._bodyB = bodyB

    @property
    def bodyA(self) -> RigidBody:
        """The body A."""
        return self._bodyA

    @property
    def bodyB(self) -> RigidBody:
        """The body B."""
        return self._bodyB

    @property
    def p_AP(self) -> FloatArray:
        """Default position of P in A [m], shape (3,), read-only."""
        return self._defaults[3:6]

    @property
    def p_BQ(self) -> FloatArray:
        """Default position of Q in B [m], shape (3,), read-only."""
        return self._defaults[6:9]

    @property
    def free_length(self) -> float:
        """Default length without force [m]."""
        return float(self._defaults[0])

    @property
    def stiffness(self) -> float:
        """Default stiffness [N/m]."""
        return float(self._defaults[1])

    @property
    def damping(self) -> float:
        """Default damping [N s/m]."""
        return float(self._defaults[2])

    def set_default_free_length(self, free_length: object) -> Self:
        """Set the default length without force [m], greater than zero, before ``finalize()``."""
        value = as_positive(free_length, f"{self._label}: free_length")
        return self._set_defaults(0, value, "set_free_length")

    def set_default_stiffness(self, stiffness: object) -> Self:
        """Set the default stiffness [N/m], not negative, before ``finalize()``."""
        value = as_nonnegative(stiffness, f"{self._label}: stiffness")
        return self._set_defaults(1, value, "set_stiffness")

    def set_default_damping(self, damping: object) -> Self:
        """Set the default damping [N s/m], not negative, before ``finalize()``."""
        value = as_nonnegative(damping, f"{self._label}: damping")
        return self._set_defaults(2, value, "set_damping")

    def set_default_p_AP(self, p_AP: object) -> Self:
        """Set the default position of P in A [m], shape (3,), before ``finalize()``."""
        value = as_finite_array(p_AP, f"{self._label}: p_AP", (3,))
        return self._set_defaults(3, value, "set_p_AP")

    def set_default_p_BQ(self, p_BQ: object) -> Self:
        """Set the default position of Q in B [m], shape (3,), before ``finalize()``."""
        value = as_finite_array(p_BQ, f"{self._label}: p_BQ", (3,))
        return self._set_defaults(6, value, "set_p_BQ")

    # Parameters of one Context.

    @number_of_each_sample
    def get_free_length(self, context: ContextCore) -> float:
        """Return the length without force that `context` has [m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 0)

    def set_free_length(self, context: ContextCore, free_length: object) -> Self:
        """Set the length without force in `context` [m], greater than zero."""
        self._set_number(
            context, 0, numbers_of(self, context).as_positive(free_length, f"{self._label}: free_length")
        )
        return self

    @number_of_each_sample
    def get_stiffness(self, context: ContextCore) -> float:
        """Return the stiffness that `context` has [N/m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 1)

    def set_stiffness(self, context: ContextCore, stiffness: object) -> Self:
        """Set the stiffness in `context` [N/m], not negative."""
        self._set_number(
            context, 1, numbers_of(self, context).as_nonnegative(stiffness, f"{self._label}: stiffness")
        )
        return self

    @number_of_each_sample
    def get_damping(self, context: ContextCore) -> float:
        """Return the damping that `context` has [N s/m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 2)

    def set_damping(self, context: ContextCore, damping: object) -> Self:
        """Set the damping in `context` [N s/m], not negative."""
        self._set_number(
            context, 2, numbers_of(self, context).as_nonnegative(damping, f"{self._label}: damping")
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

    # For the tree.

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        yield self._bodyA, "bodyA"
        yield self._bodyB, "bodyB"

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        return self._bodyA.body_frame._index, self._bodyB.body_frame._index

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        return (
            f"its ends, on {self._bodyA._label} and {self._bodyB._label}, coincide, so its force has no "
            "direction. Move them apart."
        )

    def _repr_details(self) -> str:
        """Return what the representation tells beyond the name."""
        return f" bodyA={quote(self._bodyA.name)} bodyB={quote(self._bodyB.name)}"
