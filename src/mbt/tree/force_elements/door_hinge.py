"""Hinges of doors: spring, catch and friction."""

from __future__ import annotations

from dataclasses import asdict, astuple, dataclass, fields
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.force_elements import ForceElementType
from mbt.errors import ArgumentTypeError, unknown_name_error
from mbt.math.arrays import FloatArray, as_finite, as_nonnegative
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.force_elements.on_joint import JointForceElement, check_joint
from mbt.tree.joints import RevoluteJoint

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.context import ContextCore

__all__ = ["DoorHinge", "DoorHingeConfig"]


@dataclass(frozen=True)
class DoorHingeConfig:
    """The constants of a `DoorHinge`: those of a dishwasher door unless given.

    Parameters
    ----------
    spring_zero_angle_rad : float
        Angle at which the torsional spring has no torque [rad].
    spring_constant : float
        Stiffness of the torsional spring [N m/rad].
    dynamic_friction_torque : float
        Friction in motion [N m].
    static_friction_torque : float
        What friction has more at the onset of motion [N m].
    viscous_friction : float
        Viscous friction [N m s/rad].
    catch_width : float
        The catch holds the door between 0 and this angle [rad]; 0: there is no catch.
    catch_torque : float
        Scale of the torque of the catch [N m]; its largest torque is 0.77 times this.
    motion_threshold : float
        Rate at which static friction is overcome [rad/s]; 0: there is viscous friction only.

    Raises
    ------
    ArgumentValueError
        When a number is not finite, or one but the angle is negative.

    Examples
    --------
    >>> import mbt
    >>> mbt.DoorHingeConfig(catch_width=0.0).catch_width
    0.0
    """

    spring_zero_angle_rad: float = -1.5
    spring_constant: float = 1.5
    dynamic_friction_torque: float = 3.0
    static_friction_torque: float = 2.0
    viscous_friction: float = 1.0
    catch_width: float = 0.02
    catch_torque: float = 15.0
    motion_threshold: float = 0.001

    def __post_init__(self) -> None:
        for field in fields(self):
            check = as_finite if field.name == "spring_zero_angle_rad" else as_nonnegative
            # The way to write a field of a frozen dataclass.
            object.__setattr__(
                self, field.name, check(getattr(self, field.name), f"{type(self).__name__}: {field.name}")
            )


_NAMES = tuple(field.name for field in fields(DoorHingeConfig))


class DoorHinge(JointForceElement):
    """The hinge of a door: a torsional spring, a catch near angle zero, and friction.

    With ``s(t, x) = tanh(x / t)`` and ``doublet(t, x) = 2 s (1 - s**2)``, the torque is the sum of

    - ``-spring_constant (angle - spring_zero_angle_rad)``,
    - ``catch_torque doublet(catch_width / 2, angle - catch_width / 2)``,
    - ``-dynamic_friction_torque s(motion_threshold, rate)``,
    - ``-static_friction_torque doublet(motion_threshold, rate)``,
    - ``-viscous_friction rate``.

    The first two are conservative; the energy that they store is zero at the angle zero.

    Parameters
    ----------
    joint : RevoluteJoint
        The joint. The hinge belongs to its model instance.
    config : DoorHingeConfig, optional
        The constants: the defaults of parameters of each Context.

    Raises
    ------
    ArgumentTypeError
        When the joint is not a revolute one.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(9.0, 0.8, 0.04, 2.0)
    >>> door = tree.add_body(mbt.RigidBody("door", M_BBo_B))
    >>> joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, door, None, axis=[0, 0, 1])
    >>> config = mbt.DoorHingeConfig(spring_zero_angle_rad=0.0, spring_constant=2.0, catch_width=0.0)
    >>> hinge = tree.add_force_element(mbt.DoorHinge(joint, config))
    >>> float(hinge.calc_hinge_torque(angle=0.5, angular_rate=0.0))
    -1.0
    """

    _type: ClassVar[ForceElementType] = ForceElementType.DOOR_HINGE

    def __init__(self, joint: RevoluteJoint, config: DoorHingeConfig | None = None) -> None:
        what = type(self).__name__
        check_joint(joint, RevoluteJoint, what)
        config = _as_config(DoorHingeConfig() if config is None else config, what)
        super().__init__(joint, np.array(astuple(config)))
        self._config = config

    @property
    def joint(self) -> RevoluteJoint:
        """The joint."""
        assert isinstance(self._joint, RevoluteJoint)
        return self._joint

    @property
    def config(self) -> DoorHingeConfig:
        """The default constants."""
        return self._config

    def get_config(self, context: ContextCore) -> DoorHingeConfig:
        """Return the constants that `context` has, which must be doubles; see `get_constants`."""
        return DoorHingeConfig(**self.get_constants(context))

    def set_config(self, context: ContextCore, config: DoorHingeConfig) -> Self:
        """Set all constants in `context`."""
        self._set_numbers(context, 0, np.array(astuple(_as_config(config, self._label))))
        return self

    def get_constants(self, context: ContextCore) -> dict[str, float]:
        """Return the constants that `context` has, in its scalar, by the names of `DoorHingeConfig`."""
        numbers = numbers_of(self, context)
        return dict(zip(_NAMES, map(numbers.scalar, self._get_numbers(context)), strict=True))

    def set_constants(self, context: ContextCore, **constants: object) -> Self:
        """Set some of the constants in `context`, of its scalar: in a clone with derivatives, these too.

        Parameters
        ----------
        context : Context
            Of the tree of this hinge.
        **constants
            Numbers, by the names of `DoorHingeConfig`; the others remain.

        Raises
        ------
        UnknownNameError
            When there is no constant of a name.
        ArgumentValueError
            When a number is not finite, or one but the angle is negative.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> door = tree.add_body(mbt.RigidBody("door", mbt.SpatialInertia.solid_box_with_mass(9.0, 1, 1, 2)))
        >>> joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, door, None, [0, 0, 1])
        >>> hinge = tree.add_force_element(mbt.DoorHinge(joint))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> hinge.set_constants(context, spring_constant=4.0).get_config(context).spring_constant
        4.0
        """
        numbers = numbers_of(self, context)
        values = dict(self.get_constants(context))
        for name, value in constants.items():
            if name not in values:
                raise unknown_name_error(f"constant of {self._label}", name, _NAMES)
            check = numbers.as_finite if name == "spring_zero_angle_rad" else numbers.as_nonnegative
            values[name] = check(value, f"{self._label}: {name}")
        self._set_numbers(context, 0, numbers.stack(list(values.values())))
        return self

    # The hinge by itself: what it would do at an angle and a rate. Arrays give arrays.

    def calc_hinge_spring_torque(self, angle: object, context: ContextCore | None = None) -> FloatArray:
        """Return the torque of spring and catch [N m], which is conservative.

        Parameters
        ----------
        angle : array_like
            Angle of the joint [rad].
        context : Context, optional
            Whose constants to take; the default ones unless given.
        """
        return self._apply(_spring_torque, context, angle=angle)

    def calc_hinge_frictional_torque(
        self, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the torque of all friction [N m].

        Parameters
        ----------
        angular_rate : array_like
            Rate of the joint [rad/s].
        context : Context, optional
            Whose constants to take; the default ones unless given.
        """
        return self._apply(_frictional_torque, context, angular_rate=angular_rate)

    def calc_hinge_torque(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the whole torque [N m] at an angle [rad] and a rate [rad/s]."""
        return self._apply(_torque, context, angle=angle, angular_rate=angular_rate)

    def calc_hinge_stored_energy(self, angle: object, context: ContextCore | None = None) -> FloatArray:
        """Return the energy of spring and catch [J] at an angle [rad]; zero at the angle zero."""
        return self._apply(_stored_energy, context, angle=angle)

    def calc_hinge_conservative_power(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of spring and catch [W] at an angle [rad] and a rate [rad/s]."""
        return self._apply(_conservative_power, context, angle=angle, angular_rate=angular_rate)

    def calc_hinge_non_conservative_power(
        self, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of friction [W] at a rate [rad/s]: not positive."""
        return self._apply(_non_conservative_power, context, angular_rate=angular_rate)

    def _apply(self, function: Any, context: ContextCore | None, **operands: object) -> FloatArray:
        """Return a function of numbers of the operands, with the constants of a Context or the defaults."""
        numbers, values = DOUBLES, asdict(self._config)
        if context is not None:
            numbers, values = numbers_of(self, context), self.get_constants(context)
        arrays = numbers.as_broadcast_arrays(**operands)
        c = SimpleNamespace(**values)
        return numbers.apply(lambda *entries: function(numbers, c, *entries), *arrays)


def _as_config(config: object, what: str) -> DoorHingeConfig:
    if not isinstance(config, DoorHingeConfig):
        raise ArgumentTypeError(f"{what}: config: expected a DoorHingeConfig, got {type(config).__name__}")
    return config


# Functions of numbers `n`, constants `c`, an angle and a rate.


def _spring_torque(n: Numbers, c: Any, q: Any) -> Any:
    half = c.catch_width / 2
    return c.catch_torque * _doublet(n, half, q - half) - c.spring_constant * (q - c.spring_zero_angle_rad)


def _frictional_torque(n: Numbers, c: Any, rate: Any) -> Any:
    friction = c.dynamic_friction_torque * n.smooth_step(c.motion_threshold, rate)
    friction = friction + c.static_friction_torque * _doublet(n, c.motion_threshold, rate)
    return -friction - c.viscous_friction * rate


def _torque(n: Numbers, c: Any, q: Any, rate: Any) -> Any:
    return _spring_torque(n, c, q) + _frictional_torque(n, c, rate)


def _stored_energy(n: Numbers, c: Any, q: Any) -> Any:
    zero, half = c.spring_zero_angle_rad, c.catch_width / 2
    at_zero, here = n.smooth_step(half, -half), n.smooth_step(half, q - half)
    spring = c.spring_constant / 2 * (q * (q - 2 * zero))
    return spring + c.catch_torque * half * (at_zero * at_zero - here * here)


def _conservative_power(n: Numbers, c: Any, q: Any, rate: Any) -> Any:
    return _spring_torque(n, c, q) * rate


def _non_conservative_power(n: Numbers, c: Any, rate: Any) -> Any:
    return _frictional_torque(n, c, rate) * rate


def _doublet(n: Numbers, width: Any, x: Any) -> Any:
    s = n.smooth_step(width, x)
    return 2.0 * s * (1.0 - s * s)
