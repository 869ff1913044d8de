"""Smooth dry friction of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.fields import NONNEGATIVE, POSITIVE, POSITIVE_OR_INFINITE, Number, Reference
from mbt.tree.force_elements.on_joint import JointForceElement
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["JointFriction"]


class JointFriction(JointForceElement):
    """Dry friction of a joint, made smooth: the Stribeck curve through zero.

    With the velocity v of the joint,
    ``tau = -(Fc + (Fs - Fc) / (1 + (v / vs)**2)) tanh(v / vt)``: the breakaway friction Fs near rest falls to
    the Coulomb friction Fc beyond the Stribeck velocity vs. In place of a jump at rest there is a steep slope
    within the transition velocity vt, so a joint under a load creeps where a real one would stick; a smaller
    vt makes the creep slower and the equations of motion stiffer. Friction only dissipates energy.

    Viscous friction is the damping of the joint.

    Parameters
    ----------
    joint : Joint
        A joint with one degree of freedom. The friction belongs to its model instance.
    coulomb_friction : float
        Friction in motion, Fc [N m, N], not negative.
    breakaway_friction : float, optional
        Friction at the onset of motion, Fs [N m, N], not less than `coulomb_friction`; by default the same.
    stribeck_velocity : float, optional
        Velocity vs at which half of the difference has vanished [rad/s, m/s], greater than zero.
    transition_velocity : float, optional
        Velocity vt over which friction changes its sign [rad/s, m/s], greater than zero. If it is infinite,
        friction acts only in implicit steps, which do not need it. Friction from a file is like that, unless
        it is read with ``joint_friction=True``.

    Raises
    ------
    ArgumentValueError
        When the joint does not have one degree of freedom, or a number is invalid.

    Notes
    -----
    All constants are the defaults of parameters of each Context.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.3, 0.2)
    >>> cart = tree.add_body(mbt.RigidBody("cart", M_BBo_B))
    >>> rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    >>> friction = tree.add_force_element(mbt.JointFriction(rail, coulomb_friction=3.0))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.v = [1.0]
    >>> tree.calc_forward_dynamics(context)
    array([-1.5])
    """

    _type: ClassVar[ForceElementType] = ForceElementType.JOINT_FRICTION

    joint = Reference(Joint, "The joint.")
    coulomb_friction = Number("friction in motion", "N m, N", NONNEGATIVE)
    breakaway_friction = Number("friction at the onset of motion", "N m, N", NONNEGATIVE)
    stribeck_velocity = Number("Stribeck velocity", "rad/s, m/s", POSITIVE)
    transition_velocity = Number("transition velocity", "rad/s, m/s", POSITIVE_OR_INFINITE)
    get_coulomb_friction, get_breakaway_friction = coulomb_friction.reader(), breakaway_friction.reader()
    set_default_stribeck_velocity, get_stribeck_velocity, set_stribeck_velocity = (
        stribeck_velocity.accessors()
    )
    set_default_transition_velocity, get_transition_velocity, set_transition_velocity = (
        transition_velocity.accessors()
    )

    def __init__(
        self,
        joint: Joint,
        coulomb_friction: float,
        breakaway_friction: float | None = None,
        stribeck_velocity: float = 0.1,
        transition_velocity: float = 0.01,
    ) -> None:
        super().__init__(
            joint,
            frictions=(coulomb_friction, breakaway_friction),
            stribeck_velocity=stribeck_velocity,
            transition_velocity=transition_velocity,
        )

    @classmethod
    def _checked_numbers(cls, what: str, **values: Any) -> list[float]:
        frictions = values.pop("frictions")
        return [*cls._checked_frictions(what, *frictions), *super()._checked_numbers(what, **values)]

    @classmethod
    def _checked_frictions(
        cls, what: Any, coulomb_friction: object, breakaway_friction: object, numbers: Numbers = DOUBLES
    ) -> tuple[float, float]:
        coulomb = cls.coulomb_friction.checked(coulomb_friction, what, numbers)
        if breakaway_friction is None:
            return coulomb, coulomb
        breakaway = cls.breakaway_friction.checked(breakaway_friction, what, numbers)
        if numbers.is_less(breakaway, coulomb):
            what = getattr(what, "_label", what)
            raise ArgumentValueError(
                f"{what}: breakaway_friction: expected a number >= coulomb_friction = {coulomb}, "
                f"got {breakaway}"
            )
        return coulomb, breakaway

    def set_default_friction(self, coulomb_friction: object, breakaway_friction: object = None) -> Self:
        """Set both default frictions [N m, N], before ``finalize()``; the second defaults to the first.

        Raises
        ------
        ArgumentValueError
            Unless ``0 <= coulomb_friction <= breakaway_friction``.
        AlreadyFinalizedError
            When the tree is finalized.
        """
        frictions = self._checked_frictions(self, coulomb_friction, breakaway_friction)
        return self._set_defaults(0, frictions, "set_friction")

    def set_friction(
        self, context: ContextCore, coulomb_friction: object, breakaway_friction: object = None
    ) -> Self:
        """Set both frictions in `context` [N m, N]; the second defaults to the first.

        Raises
        ------
        ArgumentValueError
            Unless ``0 <= coulomb_friction <= breakaway_friction``.
        """
        numbers = numbers_of(self, context)
        frictions = self._checked_frictions(self, coulomb_friction, breakaway_friction, numbers)
        self._set_numbers(context, 0, numbers.stack(frictions))
        return self

    def calc_friction(self, velocity: object, context: ContextCore | None = None) -> FloatArray:
        """Return the force along the joint at a velocity [N m, N]. Arrays give arrays.

        Parameters
        ----------
        velocity : array_like
            Velocity of the joint [rad/s, m/s].
        context : Context, optional
            The Context whose constants are used; by default the default constants.
        """
        numbers = self._numbers_in(context)
        constants = self._defaults if context is None else self._get_numbers(context)
        Fc, Fs, vs, vt = [numbers.entry(constants, i) for i in range(4)]

        def friction(v: Any) -> Any:
            x = v / vs
            return -(Fc + (Fs - Fc) / (1.0 + x * x)) * numbers.tanh(v / vt)

        return numbers.apply_to(friction, velocity=velocity)

    # For the tree.

    def _slows(self, context: ContextCore) -> bool:
        return bool(np.any(self.get_breakaway_friction(context)))
