"""Springs of revolute joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.forces.force_elements import ForceElementType
from mbt.math.arrays import as_finite, as_nonnegative
from mbt.tree.context_access import numbers_of
from mbt.tree.force_elements.on_joint import JointForceElement, check_joint
from mbt.tree.joints import RevoluteJoint
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["RevoluteSpring"]


class RevoluteSpring(JointForceElement):
    """A torsional spring on a revolute joint: the torque ``-stiffness (angle - nominal_angle)``.

    It stores ``stiffness (angle - nominal_angle)**2 / 2``. Angles are not wrapped: two turns away from the
    nominal angle, the spring is wound up by two turns.

    Parameters
    ----------
    joint : RevoluteJoint
        The joint. The spring belongs to its model instance.
    nominal_angle : float
        Angle without torque [rad]. The default of a parameter of each Context.
    stiffness : float
        Torque per angle [N m/rad], not negative. The default of a parameter of each Context.

    Raises
    ------
    ArgumentTypeError
        When the joint is not a revolute one.
    ArgumentValueError
        When a number is not finite, or the stiffness is negative.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> lid = tree.add_body(mbt.RigidBody("lid", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.4, 0.3, 0.01)))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, lid, None, axis=[0, 1, 0])
    >>> spring = tree.add_force_element(mbt.RevoluteSpring(hinge, nominal_angle=0.5, stiffness=8.0))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> tree.calc_potential_energy(context)
    1.0
    """

    _type: ClassVar[ForceElementType] = ForceElementType.JOINT_SPRING

    def __init__(self, joint: RevoluteJoint, nominal_angle: float, stiffness: float) -> None:
        what = type(self).__name__
        check_joint(joint, RevoluteJoint, what)
        super().__init__(
            joint,
            np.array(
                [
                    as_finite(nominal_angle, f"{what}: nominal_angle"),
                    as_nonnegative(stiffness, f"{what}: stiffness"),
                ]
            ),
        )

    @property
    def joint(self) -> RevoluteJoint:
        """The joint."""
        assert isinstance(self._joint, RevoluteJoint)
        return self._joint

    @property
    def default_nominal_angle(self) -> float:
        """Default angle without torque [rad]."""
        return float(self._defaults[0])

    @property
    def nominal_angle(self) -> float:
        """Default angle without torque [rad]: the same as `default_nominal_angle`."""
        return self.default_nominal_angle

    @property
    def default_stiffness(self) -> float:
        """Default stiffness [N m/rad]."""
        return float(self._defaults[1])

    @property
    def stiffness(self) -> float:
        """Default stiffness [N m/rad]: the same as `default_stiffness`."""
        return self.default_stiffness

    def set_default_nominal_angle(self, nominal_angle: object) -> Self:
        """Set the default angle without torque [rad], before ``finalize()``."""
        value = as_finite(nominal_angle, f"{self._label}: nominal_angle")
        return self._set_defaults(0, value, "set_nominal_angle")

    def set_default_stiffness(self, stiffness: object) -> Self:
        """Set the default stiffness [N m/rad], not negative, before ``finalize()``."""
        value = as_nonnegative(stiffness, f"{self._label}: stiffness")
        return self._set_defaults(1, value, "set_stiffness")

    @number_of_each_sample
    def get_nominal_angle(self, context: ContextCore) -> float:
        """Return the angle without torque that `context` has [rad]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 0)

    def set_nominal_angle(self, context: ContextCore, nominal_angle: object) -> Self:
        """Set the angle without torque in `context` [rad]."""
        self._set_number(
            context, 0, numbers_of(self, context).as_finite(nominal_angle, f"{self._label}: nominal_angle")
        )
        return self

    @number_of_each_sample
    def get_stiffness(self, context: ContextCore) -> float:
        """Return the stiffness that `context` has [N m/rad]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 1)

    def set_stiffness(self, context: ContextCore, stiffness: object) -> Self:
        """Set the stiffness in `context` [N m/rad], not negative."""
        self._set_number(
            context, 1, numbers_of(self, context).as_nonnegative(stiffness, f"{self._label}: stiffness")
        )
        return self
