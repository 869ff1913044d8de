"""Joint actuators: motors on one degree of freedom of a joint."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt.errors import ArgumentValueError, quote, shape_error
from mbt.math.arrays import FloatArray, as_index
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import get_scalar_parameter, numbers_of, set_parameter
from mbt.tree.element import MultibodyElement, as_name, check_element, is_constructed
from mbt.tree.indices import JointActuatorIndex
from mbt.tree.joint import Joint
from mbt.tree.joint_limits import as_effort_limit
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["JointActuator"]


class JointActuator(MultibodyElement):
    """A motor on one degree of freedom of a joint. It belongs to the model instance of the joint.

    Its effort is an input of a Context (``context.actuation``) and acts on the joint without gearing. Its
    rotor adds ``rotor_inertia * gear_ratio**2`` to the inertia of the joint.

    With a stiffness or a damping it is a servo, which exerts ``stiffness (q_d - q) + damping (v_d - v)``,
    clipped to the effort limit, besides ``context.actuation``. Its targets are inputs of a Context,
    ``context.servo_positions`` and ``context.servo_velocities``. Servos act in motions: in `mbt.simulate`,
    `MultibodyTree.rollout` and the environments of Gymnasium; `MultibodyTree.calc_servo_efforts` returns
    their efforts.

    Parameters
    ----------
    name : str
        Name, unique among the actuators of the model instance.
    joint : Joint
        The joint that it drives.
    effort_limit : float, optional
        Largest effort [N m, N], not negative. Servos and implicit steps keep to it; functions of one state,
        with ``context.actuation``, do not.
    rotor_inertia : float, optional
        Inertia of the rotor [kg m^2, kg], not negative. The default of a parameter of each Context.
    gear_ratio : float, optional
        Turns of the rotor per turn of the joint, or radians (metres) per metre. The default of a parameter of
        each Context.
    dof : int, optional
        Index, from 0, of the joint's velocity that it drives; required if there are several.
    stiffness : float, optional
        Effort per distance from the target [N m/rad, N/m], not negative. The default of a parameter of each
        Context.
    damping : float, optional
        Effort per difference from the target velocity [N m s/rad, N s/m], not negative. The default of a
        parameter of each Context.

    Raises
    ------
    ArgumentValueError
        When the joint has no such degree of freedom, a number is invalid, or a servo is on a joint with
        several degrees of freedom.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])
    >>> motor = tree.add_joint_actuator("motor", hinge, effort_limit=20, rotor_inertia=1e-4, gear_ratio=100)
    >>> motor.default_reflected_inertia
    1.0
    """

    kind: ClassVar[str] = "joint actuator"
    _adder: ClassVar[str] = "add_joint_actuator"
    # For pickles older than servos.
    _stiffness: float = 0.0
    _damping: float = 0.0

    def __init__(
        self,
        name: str,
        joint: Joint,
        effort_limit: float = math.inf,
        *,
        rotor_inertia: float = 0.0,
        gear_ratio: float = 1.0,
        dof: int | None = None,
        stiffness: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        if not is_constructed(joint, Joint):
            check_element(joint, Joint, f"{self.kind} {quote(name)}: joint")
        super().__init__(as_name(name, f"{type(self).__name__}: name"), joint.model_instance)
        self._dof = self._checked_dof(joint, dof)
        self._joint = joint
        self._effort_limit = as_effort_limit(effort_limit, self)
        self._rotor_inertia = self._checked_rotor_inertia(rotor_inertia)
        self._gear_ratio = self._checked_gear_ratio(gear_ratio)
        self._check_reflected_inertia(self._rotor_inertia, self._gear_ratio)
        self._stiffness = self._checked_gain(stiffness, "stiffness")
        self._damping = self._checked_gain(damping, "damping")
        self._check_servo_joint(self._stiffness, self._damping)

    @property
    def index(self) -> JointActuatorIndex:
        """Index of this actuator in its tree: its entry in ``context.actuation``."""
        return JointActuatorIndex(self._checked_index())

    @property
    def joint(self) -> Joint:
        """The joint that it drives."""
        return self._joint

    @property
    def dof(self) -> int:
        """Index, from 0, of the driven velocity among those of the joint."""
        return self._dof

    @property
    def velocity_start(self) -> int:
        """Index in v of the velocity that it drives."""
        return self._joint.velocity_start + self._dof

    @property
    def effort_limit(self) -> float:
        """Largest effort [N m, N]; inf when there is no limit."""
        return self._effort_limit

    @property
    def num_inputs(self) -> int:
        """Number of inputs, 1."""
        return 1

    @property
    def input_start(self) -> int:
        """Index of its input in ``context.actuation``."""
        return self._checked_index()

    @property
    def default_rotor_inertia(self) -> float:
        """Default inertia of the rotor [kg m^2, kg]."""
        return self._rotor_inertia

    @property
    def default_gear_ratio(self) -> float:
        """Default gear ratio."""
        return self._gear_ratio

    @property
    def default_reflected_inertia(self) -> float:
        """Default ``rotor_inertia * gear_ratio**2``, which adds to the inertia of the joint [kg m^2, kg]."""
        return self._rotor_inertia * (self._gear_ratio * self._gear_ratio)

    @property
    def is_servo(self) -> bool:
        """Whether it has a default stiffness or damping, and so targets; else it is a plain motor."""
        return self._stiffness > 0.0 or self._damping > 0.0

    @property
    def default_stiffness(self) -> float:
        """Default stiffness [N m/rad, N/m]; 0 for a plain motor."""
        return self._stiffness

    @property
    def default_damping(self) -> float:
        """Default damping [N m s/rad, N s/m]; 0 for a plain motor."""
        return self._damping

    def set_effort_limit(self, effort_limit: float) -> Self:
        """Set the largest effort [N m, N], before ``finalize()``."""
        self._check_not_finalized("the effort limit", "Set it before, or on tree.edit().")
        self._effort_limit = as_effort_limit(effort_limit, self)
        return self

    def set_default_rotor_inertia(self, rotor_inertia: float) -> Self:
        """Set the default inertia of the rotor [kg m^2, kg], before ``finalize()``."""
        self._check_not_finalized(
            "the default rotor inertia", "Set that of a Context with set_rotor_inertia()."
        )
        inertia = self._checked_rotor_inertia(rotor_inertia)
        self._check_reflected_inertia(inertia, self._gear_ratio)
        self._rotor_inertia = inertia
        return self

    def set_default_gear_ratio(self, gear_ratio: float) -> Self:
        """Set the default gear ratio, before ``finalize()``."""
        self._check_not_finalized("the default gear ratio", "Set that of a Context with set_gear_ratio().")
        ratio = self._checked_gear_ratio(gear_ratio)
        self._check_reflected_inertia(self._rotor_inertia, ratio)
        self._gear_ratio = ratio
        return self

    def set_default_stiffness(self, stiffness: float) -> Self:
        """Set the default stiffness [N m/rad, N/m], before ``finalize()``; any but 0 makes it a servo."""
        self._check_not_finalized(
            "the default stiffness", "Set that of a Context with set_stiffness(), or do it on tree.edit()."
        )
        gain = self._checked_gain(stiffness, "stiffness")
        self._check_servo_joint(gain, self._damping)
        self._stiffness = gain
        return self

    def set_default_damping(self, damping: float) -> Self:
        """Set the default damping [N m s/rad, N s/m], before ``finalize()``; any but 0 makes it a servo."""
        self._check_not_finalized(
            "the default damping", "Set that of a Context with set_damping(), or do it on tree.edit()."
        )
        gain = self._checked_gain(damping, "damping")
        self._check_servo_joint(self._stiffness, gain)
        self._damping = gain
        return self

    def get_actuation_vector(self, u: object) -> FloatArray:
        """Return the input of this actuator, a copy, shape (..., 1), of `u` (..., num_actuated_dofs)."""
        start = self.input_start
        tree = self.parent_tree
        actuation: FloatArray = tree._numbers.as_float_array(u, "u", (..., tree.num_actuated_dofs))
        return actuation[..., start : start + 1].copy()

    def set_actuation_vector(self, u_actuator: object, u: FloatArray) -> None:
        """Write the input of this actuator into an array of all inputs.

        Parameters
        ----------
        u_actuator : array_like, shape (..., 1), or float
            The new value [N m, N], with the leading axes of `u`; or one for all.
        u : ndarray, shape (..., num_actuated_dofs), float64, C-contiguous
            Inputs of the whole tree. The others are left as they are.
        """
        tree = self.parent_tree
        batch = getattr(u, "shape", ())[:-1]
        values = tree._numbers.as_float_array(u_actuator, "u_actuator")
        if values.shape not in ((), (1,), (*batch, 1)):
            raise shape_error("u_actuator", (*batch, 1), values.shape)
        whole = tree._numbers.check_out(u, "u", (*batch, tree.num_actuated_dofs))
        whole[..., self.input_start] = values[..., 0] if values.ndim > 1 else values.reshape(1)[0]

    @number_of_each_sample
    def rotor_inertia(self, context: ContextCore) -> float:
        """Return the inertia of the rotor in `context` [kg m^2, kg]."""
        return get_scalar_parameter(self, context, "rotor_inertia", self._checked_index())

    @number_of_each_sample
    def gear_ratio(self, context: ContextCore) -> float:
        """Return the gear ratio in `context`."""
        return get_scalar_parameter(self, context, "gear_ratio", self._checked_index())

    @number_of_each_sample
    def calc_reflected_inertia(self, context: ContextCore) -> float:
        """Return ``rotor_inertia * gear_ratio**2`` with the parameters of `context` [kg m^2, kg]."""
        ratio = self.gear_ratio(context)
        # Not ratio**2: a float power raises OverflowError where the product is infinite.
        return self.rotor_inertia(context) * (ratio * ratio)

    def set_rotor_inertia(self, context: ContextCore, rotor_inertia: object) -> Self:
        """Set the inertia of the rotor in `context` [kg m^2, kg], not negative."""
        value = self._checked_rotor_inertia(rotor_inertia, numbers_of(self, context))
        self._check_reflected_inertia(value, self.gear_ratio(context))
        set_parameter(self, context, "rotor_inertia", self._checked_index(), value)
        return self

    def set_gear_ratio(self, context: ContextCore, gear_ratio: object) -> Self:
        """Set the gear ratio in `context`."""
        value = self._checked_gear_ratio(gear_ratio, numbers_of(self, context))
        self._check_reflected_inertia(self.rotor_inertia(context), value)
        set_parameter(self, context, "gear_ratio", self._checked_index(), value)
        return self

    @number_of_each_sample
    def stiffness(self, context: ContextCore) -> float:
        """Return the stiffness in `context` [N m/rad, N/m]; 0 for a plain motor."""
        return self._gain(context, 0)

    @number_of_each_sample
    def damping(self, context: ContextCore) -> float:
        """Return the damping in `context` [N m s/rad, N s/m]; 0 for a plain motor."""
        return self._gain(context, 1)

    def set_stiffness(self, context: ContextCore, stiffness: object) -> Self:
        """Set the stiffness of a servo in `context` [N m/rad, N/m], not negative."""
        return self._set_gain(context, 0, stiffness, "stiffness")

    def set_damping(self, context: ContextCore, damping: object) -> Self:
        """Set the damping of a servo in `context` [N m s/rad, N s/m], not negative."""
        return self._set_gain(context, 1, damping, "damping")

    def do_declare_parameters(self) -> None:
        """Declare the gains of a servo; a plain motor has none."""
        if self.is_servo:
            self._gains_index = self.declare_numeric_parameter([self._stiffness, self._damping])

    def do_declare_discrete_state(self) -> None:
        """Declare the targets of a servo; a plain motor has none."""
        if self.is_servo:
            self._target_index = self.declare_discrete_state([float(self._joint.default_positions[0]), 0.0])

    def _servo_values(self, context: Any) -> tuple[FloatArray, FloatArray]:
        """Return the gains and the targets of a servo, each (..., 2)."""
        return (
            context.get_numeric_parameter(self._gains_index),
            context.get_discrete_state(self._target_index),
        )

    def _gain(self, context: Any, which: int) -> float:
        numbers = numbers_of(self, context)
        if not self.is_servo:
            zero: float = context._zero
            return zero
        return numbers.entry(context.get_numeric_parameter(self._gains_index), which)

    def _set_gain(self, context: Any, which: int, value: object, name: str) -> Self:
        gain = self._checked_gain(value, name, numbers_of(self, context))
        if not self.is_servo:
            from mbt.tree.servos import CURE_OF_MOTORS

            raise ArgumentValueError(
                f"{self._label}: {name}: expected a servo, but this is a plain motor: {CURE_OF_MOTORS}"
            )
        numbers = context._numbers
        gains = context.get_numeric_parameter(self._gains_index)
        if numbers is DOUBLES:
            changed = gains.copy()
            changed[which] = gain
            changed.setflags(write=False)
            context._declared.take_numeric_parameter(context, self._gains_index, changed)
        else:
            part, values = slice(which, which + 1), numbers.as_float_array(gain, name)[..., np.newaxis]
            context.set_numeric_parameter(self._gains_index, numbers.replaced(gains, part, values))
        return self

    def _checked_gain(self, value: object, name: str, numbers: Numbers = DOUBLES) -> float:
        gain: float = self._checked(numbers.as_nonnegative, value, name)
        return gain

    def _check_servo_joint(self, stiffness: float, damping: float) -> None:
        """Reject gains on a joint with several degrees of freedom: a servo has one position error."""
        joint = self._joint
        if (stiffness > 0.0 or damping > 0.0) and joint.num_velocities != 1:
            raise ArgumentValueError(
                f"{self._label}: stiffness and damping: expected 0, for a servo needs a joint with one "
                f"degree of freedom and {joint._label} ({joint.type_name}) has {joint.num_velocities}, got "
                f"{stiffness:g} and {damping:g}"
            )

    def _checked_dof(self, joint: Joint, dof: object) -> int:
        count = joint.num_velocities
        if count == 1 and (dof is None or (type(dof) is int and dof == 0)):
            return 0
        if count == 0 or (dof is None and count > 1):
            cure = f": say which one, as in dof={count - 1}" if count else ""
            raise ArgumentValueError(
                f"{self._label}: expected a joint with one degree of freedom, but {joint._label} "
                f"({joint.type_name}) has {count}{cure}"
            )
        return as_index(0 if dof is None else dof, f"{self._label}: dof", count, "degree of freedom")

    def _checked_rotor_inertia(self, value: object, numbers: Numbers = DOUBLES) -> float:
        if numbers is DOUBLES and isinstance(value, float) and 0.0 <= value < math.inf:
            return value  # The usual case: no message is prepared.
        inertia: float = self._checked(numbers.as_nonnegative, value, "rotor_inertia")
        return inertia

    def _checked_gear_ratio(self, value: object, numbers: Numbers = DOUBLES) -> float:
        if numbers is DOUBLES and isinstance(value, float) and -math.inf < value < math.inf:
            return value
        ratio: float = self._checked(numbers.as_finite, value, "gear_ratio")
        return ratio

    def _check_reflected_inertia(self, rotor_inertia: Any, gear_ratio: Any) -> None:
        """Reject numbers whose ``rotor_inertia * gear_ratio**2`` overflows: it adds to the mass matrix."""
        if isinstance(rotor_inertia, float) and isinstance(gear_ratio, float):
            is_finite = math.isfinite(rotor_inertia * (gear_ratio * gear_ratio))
        elif isinstance(rotor_inertia, np.ndarray) or isinstance(gear_ratio, np.ndarray):  # Of each sample.
            with np.errstate(over="ignore", invalid="ignore"):
                is_finite = bool(np.isfinite(rotor_inertia * (gear_ratio * gear_ratio)).all())
        else:  # Of another scalar type: an expression has no value yet.
            is_finite = True
        if not is_finite:
            raise ArgumentValueError(
                f"{self._label}: expected rotor_inertia * gear_ratio**2 to be finite, but it overflows with "
                f"rotor_inertia {rotor_inertia} and gear_ratio {gear_ratio}"
            )

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return ((self._joint, "joint"),)

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        which = f" dof={self._dof}" if self._joint.num_velocities > 1 else ""
        return f" joint={quote(self._joint.name)}{which}"
