"""Hinges of doors: spring, catch and friction."""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.force_elements import ForceElementType
from mbt.errors import ArgumentTypeError
from mbt.math.arrays import FloatArray, as_broadcast_arrays, as_finite, as_float_array, as_nonnegative
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
        """Return the constants that `context` has."""
        return DoorHingeConfig(*self._get_numbers(context).tolist())

    def set_config(self, context: ContextCore, config: DoorHingeConfig) -> Self:
        """Set the constants in `context`."""
        self._set_numbers(context, 0, np.array(astuple(_as_config(config, self._label))))
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
        c, q = self._constants(context), as_float_array(angle, "angle")
        catch = c.catch_torque * _doublet(c.catch_width / 2, q - c.catch_width / 2)
        return np.asarray(catch - c.spring_constant * (q - c.spring_zero_angle_rad))

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
        c, rate = self._constants(context), as_float_array(angular_rate, "angular_rate")
        friction = c.dynamic_friction_torque * _step(c.motion_threshold, rate)
        friction = friction + c.static_friction_torque * _doublet(c.motion_threshold, rate)
        return np.asarray(-friction - c.viscous_friction * rate)

    def calc_hinge_torque(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the whole torque [N m] at an angle [rad] and a rate [rad/s]."""
        q, rate = as_broadcast_arrays(angle=angle, angular_rate=angular_rate)
        spring = self.calc_hinge_spring_torque(q, context)
        return np.asarray(spring + self.calc_hinge_frictional_torque(rate, context))

    def calc_hinge_stored_energy(self, angle: object, context: ContextCore | None = None) -> FloatArray:
        """Return the energy of spring and catch [J] at an angle [rad]; zero at the angle zero."""
        c, q = self._constants(context), as_float_array(angle, "angle")
        zero, half = c.spring_zero_angle_rad, c.catch_width / 2
        spring = c.spring_constant / 2 * ((q - zero) ** 2 - zero**2)
        catch = c.catch_torque * half * (_step(half, np.asarray(-half)) ** 2 - _step(half, q - half) ** 2)
        return np.asarray(spring + catch)

    def calc_hinge_conservative_power(
        self, angle: object, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of spring and catch [W] at an angle [rad] and a rate [rad/s]."""
        q, rate = as_broadcast_arrays(angle=angle, angular_rate=angular_rate)
        return np.asarray(self.calc_hinge_spring_torque(q, context) * rate)

    def calc_hinge_non_conservative_power(
        self, angular_rate: object, context: ContextCore | None = None
    ) -> FloatArray:
        """Return the power of friction [W] at a rate [rad/s]: not positive."""
        rate = as_float_array(angular_rate, "angular_rate")
        return np.asarray(self.calc_hinge_frictional_torque(rate, context) * rate)

    def _constants(self, context: ContextCore | None) -> DoorHingeConfig:
        return self._config if context is None else self.get_config(context)


def _as_config(config: object, what: str) -> DoorHingeConfig:
    if not isinstance(config, DoorHingeConfig):
        raise ArgumentTypeError(f"{what}: config: expected a DoorHingeConfig, got {type(config).__name__}")
    return config


def _step(width: float, x: FloatArray) -> FloatArray:
    """Return tanh(x / width), and zero where the width is zero."""
    return np.tanh(x / width) if width > 0.0 else np.zeros_like(x)


def _doublet(width: float, x: FloatArray) -> FloatArray:
    s = _step(width, x)
    return np.asarray(2.0 * s * (1.0 - s * s))
