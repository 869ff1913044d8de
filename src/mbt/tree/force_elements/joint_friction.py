"""Smooth dry friction of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mbt._core.forces.force_elements import ForceElementType
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.force_elements.on_joint import JointForceElement, check_joint
from mbt.tree.joint import Joint
from mbt.tree.samples import number_of_each_sample

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
        Velocity vt over which friction changes its sign [rad/s, m/s], greater than zero.

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

    def __init__(
        self,
        joint: Joint,
        coulomb_friction: float,
        breakaway_friction: float | None = None,
        stribeck_velocity: float = 0.1,
        transition_velocity: float = 0.01,
    ) -> None:
        what = type(self).__name__
        check_joint(joint, None, what)
        super().__init__(
            joint,
            _checked_constants(
                what, coulomb_friction, breakaway_friction, stribeck_velocity, transition_velocity
            ),
        )

    @property
    def joint(self) -> Joint:
        """The joint."""
        return self._joint

    @property
    def coulomb_friction(self) -> float:
        """Default friction in motion [N m, N]."""
        return float(self._defaults[0])

    @property
    def breakaway_friction(self) -> float:
        """Default friction at the onset of motion [N m, N]."""
        return float(self._defaults[1])

    @property
    def stribeck_velocity(self) -> float:
        """Default Stribeck velocity [rad/s, m/s]."""
        return float(self._defaults[2])

    @property
    def transition_velocity(self) -> float:
        """Default transition velocity [rad/s, m/s]."""
        return float(self._defaults[3])

    def set_default_friction(self, coulomb_friction: object, breakaway_friction: object = None) -> Self:
        """Set both default frictions [N m, N], before ``finalize()``; the second defaults to the first.

        Raises
        ------
        ArgumentValueError
            Unless ``0 <= coulomb_friction <= breakaway_friction``.
        AlreadyFinalizedError
            When the tree is finalized.
        """
        rest = self.stribeck_velocity, self.transition_velocity
        constants = _checked_constants(self._label, coulomb_friction, breakaway_friction, *rest)
        return self._set_defaults(0, constants, "set_friction")

    def set_default_stribeck_velocity(self, stribeck_velocity: object) -> Self:
        """Set the default Stribeck velocity [rad/s, m/s], greater than zero, before ``finalize()``."""
        value = DOUBLES.as_positive(stribeck_velocity, f"{self._label}: stribeck_velocity")
        return self._set_defaults(2, value, "set_stribeck_velocity")

    def set_default_transition_velocity(self, transition_velocity: object) -> Self:
        """Set the default transition velocity [rad/s, m/s], greater than zero, before ``finalize()``."""
        value = DOUBLES.as_positive(transition_velocity, f"{self._label}: transition_velocity")
        return self._set_defaults(3, value, "set_transition_velocity")

    @number_of_each_sample
    def get_coulomb_friction(self, context: ContextCore) -> float:
        """Return the friction in motion that `context` has [N m, N]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 0)

    @number_of_each_sample
    def get_breakaway_friction(self, context: ContextCore) -> float:
        """Return the friction at the onset of motion that `context` has [N m, N]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 1)

    @number_of_each_sample
    def get_stribeck_velocity(self, context: ContextCore) -> float:
        """Return the Stribeck velocity that `context` has [rad/s, m/s]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 2)

    @number_of_each_sample
    def get_transition_velocity(self, context: ContextCore) -> float:
        """Return the transition velocity that `context` has [rad/s, m/s]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 3)

    def set_friction(
        self, context: ContextCore, coulomb_friction: object, breakaway_friction: object = None
    ) -> Self:
        """Set both frictions in `context` [N m, N]; the second defaults to the first.

        Raises
        ------
        ArgumentValueError
            Unless ``0 <= coulomb_friction <= breakaway_friction``.
        """
        constants = _checked_constants(
            self._label,
            coulomb_friction,
            breakaway_friction,
            self.get_stribeck_velocity(context),
            self.get_transition_velocity(context),
            numbers_of(self, context),
        )
        self._set_numbers(context, 0, constants)
        return self

    def set_stribeck_velocity(self, context: ContextCore, stribeck_velocity: object) -> Self:
        """Set the Stribeck velocity in `context` [rad/s, m/s], greater than zero."""
        self._set_number(
            context,
            2,
            numbers_of(self, context).as_positive(stribeck_velocity, f"{self._label}: stribeck_velocity"),
        )
        return self

    def set_transition_velocity(self, context: ContextCore, transition_velocity: object) -> Self:
        """Set the transition velocity in `context` [rad/s, m/s], greater than zero."""
        self._set_number(
            context,
            3,
            numbers_of(self, context).as_positive(transition_velocity, f"{self._label}: transition_velocity"),
        )
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

        return numbers.apply(friction, numbers.as_float_array(velocity, "velocity"))


def _checked_constants(
    what: str,
    coulomb_friction: object,
    breakaway_friction: object,
    stribeck_velocity: object,
    transition_velocity: object,
    numbers: Numbers = DOUBLES,
) -> FloatArray:
    coulomb = numbers.as_nonnegative(coulomb_friction, f"{what}: coulomb_friction")
    breakaway = (
        coulomb
        if breakaway_friction is None
        else numbers.as_nonnegative(breakaway_friction, f"{what}: breakaway_friction")
    )
    if numbers.is_less(breakaway, coulomb):
        raise ArgumentValueError(
            f"{what}: breakaway_friction: expected a number >= coulomb_friction = {coulomb}, got {breakaway}"
        )
    constants: FloatArray = numbers.stack(
        [
            coulomb,
            breakaway,
            numbers.as_positive(stribeck_velocity, f"{what}: stribeck_velocity"),
            numbers.as_positive(transition_velocity, f"{what}: transition_velocity"),
        ]
    )
    return constants
