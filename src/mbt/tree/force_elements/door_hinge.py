"""Hinges of doors: spring, catch and friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentTypeError, ArgumentValueError
from mbt.math.arrays import FloatArray, is_foreign
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.fields import Reference
from mbt.tree.force_elements.on_joint import JointForceElement
from mbt.tree.joints import RevoluteJoint

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["DoorHinge", "DoorHingeConfig"]


@dataclass(frozen=True)
class DoorHingeConfig:
    """The constants of a `DoorHinge`; by default those of a dishwasher door.

    Parameters
    ----------
    spring_zero_angle_rad : float
        Angle at which the torsional spring has no torque [rad].
    spring_constant : float
        Stiffness of the torsional spring [N m/rad].
    dynamic_friction_torque : float
        Friction in motion [N m].
    static_friction_torque : float
        Additional friction at the onset of motion [N m].
    viscous_friction : float
        Viscous friction [N m s/rad].
    catch_width : float
        The catch holds the door between 0 and this angle [rad]; 0 means no catch.
    catch_torque : float
        Scale of the torque of the catch [N m]; its largest torque is 0.77 times this.
    motion_threshold : float
        Rate at which static friction is overcome [rad/s]; 0 leaves only viscous friction.

    Numbers of another scalar, with derivatives or symbols, are also allowed, for `DoorHinge.set_config` in a
    Context of that scalar.

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
            value = getattr(self, field.name)
            if is_foreign(value):
                # Checked by the numbers of the Context that takes them.
                continue
            # This is how to write a field of a frozen dataclass.
            object.__setattr__(self, field.name, self._checked(field.name, DOUBLES, type(self).__name__))

    def __setstate__(self, state: object) -> None:
        """Restore the state from a pickle.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            When the pickle is damaged: a number is missing or invalid.
        """
        what = f"unpickling a {type(self).__name__}"
        if not isinstance(state, dict):
            raise ArgumentTypeError(f"{what}: expected a dictionary, got {type(state).__name__}")
        missing = [field.name for field in fields(self) if field.name not in state]
        if missing:
            raise ArgumentValueError(f"{what}: it is truncated: no {', '.join(missing)}")
        vars(self).update(state)
        self.__post_init__()

    @classmethod
    def _of_context(cls, constants: Sequence[Any]) -> DoorHingeConfig:
        """Return the constants in a Context, in order; they were checked when set."""
        config = object.__new__(cls)
        # Not by assignments, for the dataclass is frozen.
        vars(config).update(zip(_NAMES_OF_CONSTANTS, constants, strict=True))
        return config

    def _checked(self, name: str, numbers: Numbers, what: str | DoorHinge) -> Any:
        """Return a constant as a number of the scalar of a Context."""
        check = numbers.as_finite if name == "spring_zero_angle_rad" else numbers.as_nonnegative
        value = getattr(self, name)
        return check(value, f"{what}: {name}") if isinstance(what, str) else what._checked(check, value, name)

    def _as_array(self, numbers: Numbers, what: str | DoorHinge) -> Any:
        """Return all constants, in the order of the core."""
        constants = _constants_of(self)
        if numbers is DOUBLES and type(self) is DoorHingeConfig and _FLOAT.issuperset(map(type, constants)):
            # They were checked before.
            return np.array(constants)
        return numbers.stack([self._checked(name, numbers, what) for name in _NAMES_OF_CONSTANTS])


_NAMES_OF_CONSTANTS = tuple(field.name for field in fields(DoorHingeConfig))
_constants_of = attrgetter(*_NAMES_OF_CONSTANTS)
_FLOAT = frozenset((float,))


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
        The constants; they are the default parameters of each Context.

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

    joint = Reference(RevoluteJoint, "The joint.")

    def __init__(self, joint: RevoluteJoint, config: DoorHingeConfig | None = None) -> None:
        super().__init__(joint, config=DoorHingeConfig() if config is None else config)
        self._config = DoorHingeConfig(*self._defaults.tolist())

    @classmethod
    def _checked_numbers(cls, what: str, **values: Any) -> list[float]:
        numbers: list[float] = _as_config(values["config"], what)._as_array(DOUBLES, what).tolist()
        return numbers

    @property
    def config(self) -> DoorHingeConfig:
        """The default constants."""
        return self._config

    def set_default_config(self, config: DoorHingeConfig) -> Self:
        """Set the default constants, before ``finalize()``."""
        defaults = _as_config(config, self._label)._as_array(DOUBLES, self._label)
        self._set_defaults(0, defaults, "set_config")
        self._config = DoorHingeConfig(*defaults.tolist())
        return self

    def get_config(self, context: ContextCore) -> DoorHingeConfig:
        """Return the constants in `context`, in numbers of its scalar."""
        numbers = numbers_of(self, context)
        constants = self._get_numbers(context)
        if numbers is DOUBLES:
            return DoorHingeConfig._of_context(constants.tolist())
        return DoorHingeConfig._of_context([numbers.entry(constants, i) for i in range(constants.shape[-1])])

    def set_config(self, context: ContextCore, config: DoorHingeConfig) -> Self:
        """Set the constants in `context`.

        To seed some of them in a Context of another scalar, replace these in its present constants:
        ``dataclasses.replace(hinge.get_config(context), spring_constant=k)``.
        """
        numbers = numbers_of(self, context)
        if not isinstance(config, DoorHingeConfig):
            _as_config(config, self._label)
        self._set_numbers(context, 0, config._as_array(numbers, self))
        return self

    # The hinge by itself, at a given angle and rate. Arrays give arrays of the scalar.

    def calc_hinge_spring_torque(self, angle: object, context: ContextCore | None = None) -> FloatArray:
        """Return the torque of spring and catch [N m], which is conservative.

        Parameters
        ----------
        angle : array_like
            Angle of the joint [rad].
        context : Context, optional
            The Context whose constants are used; by default the default constants.
        """
        c, numbers = self._constants(context)
        return numbers.apply_to(partial(_spring_torque, c, numbers), angle=angle)

    def calc_hinge_frictional_torque(
        self, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the torque of all friction [N m].

        Parameters
        ----------
        angular_rate : array_like
            Rate of the joint [rad/s].
        context : Context, optional
            The Context whose constants are used; by default the default constants.
        """
        c, numbers = self._constants(context)
        return numbers.apply_to(partial(_frictional_torque, c, numbers), angular_rate=angular_rate)

    def calc_hinge_torque(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the whole torque [N m] at an angle [rad] and a rate [rad/s]."""
        c, numbers = self._constants(context)

        def torque(q: Any, rate: Any) -> Any:
            return _spring_torque(c, numbers, q) + _frictional_torque(c, numbers, rate)

        return numbers.apply_to(torque, angle=angle, angular_rate=angular_rate)

    def calc_hinge_stored_energy(self, angle: object, context: ContextCore | None = None) -> FloatArray:
        """Return the energy of spring and catch [J] at an angle [rad]; zero at the angle zero."""
        c, numbers = self._constants(context)
        zero, half = c.spring_zero_angle_rad, c.catch_width / 2

        def energy(q: Any) -> Any:
            # Products, which are zero where they should be.
            s0, s = _step(numbers, half, -half), _step(numbers, half, q - half)
            spring = c.spring_constant * q * (q / 2 - zero)
            return spring + c.catch_torque * half * (s0 - s) * (s0 + s)

        return numbers.apply_to(energy, angle=angle)

    def calc_hinge_conservative_power(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of spring and catch [W] at an angle [rad] and a rate [rad/s]."""
        c, numbers = self._constants(context)

        def power(q: Any, rate: Any) -> Any:
            return _spring_torque(c, numbers, q) * rate

        return numbers.apply_to(power, angle=angle, angular_rate=angular_rate)

    def calc_hinge_non_conservative_power(
        self, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of friction [W] at a rate [rad/s]: not positive."""
        c, numbers = self._constants(context)

        def power(rate: Any) -> Any:
            return _frictional_torque(c, numbers, rate) * rate

        return numbers.apply_to(power, angular_rate=angular_rate)

    def _constants(self, context: ContextCore | None) -> tuple[Any, Numbers]:
        """Return the constants, and the numbers to compute with."""
        return (self._config if context is None else self.get_config(context)), self._numbers_in(context)

    # For the tree.

    def _remove_friction(self, context: ContextCore) -> None:
        """Set the three constants of friction to zero, in all samples of a batch."""
        first = _NAMES_OF_CONSTANTS.index("dynamic_friction_torque")
        self._set_numbers(context, first, np.zeros(3))

    def _slows(self, context: ContextCore) -> bool:
        return True  # At least its catch does.


def _as_config(config: object, what: str) -> DoorHingeConfig:
    if not isinstance(config, DoorHingeConfig):
        raise ArgumentTypeError(f"{what}: config: expected a DoorHingeConfig, got {type(config).__name__}")
    return config


def _spring_torque(c: DoorHingeConfig, numbers: Numbers, q: Any) -> Any:
    """Return the torque of spring and catch."""
    catch = c.catch_torque * _doublet(numbers, c.catch_width / 2, q - c.catch_width / 2)
    return catch - c.spring_constant * (q - c.spring_zero_angle_rad)


def _frictional_torque(c: DoorHingeConfig, numbers: Numbers, rate: Any) -> Any:
    friction = c.dynamic_friction_torque * _step(numbers, c.motion_threshold, rate)
    friction = friction + c.static_friction_torque * _doublet(numbers, c.motion_threshold, rate)
    return -friction - c.viscous_friction * rate


def _step(numbers: Numbers, width: Any, x: Any) -> Any:
    """Return tanh(x / width), and zero where the width is zero."""
    if numbers is DOUBLES and type(width) is float:
        return numbers.tanh(x / width) if width > 0.0 else 0.0
    if numbers.is_zero(width):
        return 0.0
    # Both results may be computed, whichever is selected.
    divisor = numbers.select_lt(0.0, width, width, 1.0)
    return numbers.select_lt(0.0, width, numbers.tanh(x / divisor), 0.0)


def _doublet(numbers: Numbers, width: Any, x: Any) -> Any:
    s = _step(numbers, width, x)
    return 2.0 * s * (1.0 - s * s)
