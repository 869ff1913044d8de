"""Springs of prismatic joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.forces.force_elements import ForceElementType
from mbt.math.arrays import as_finite, as_nonnegative
from mbt.tree.context_access import numbers_of
from mbt.tree.force_elements.on_joint import JointForceElement, check_joint
from mbt.tree.joints import PrismaticJoint
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore

__all__ = ["PrismaticSpring"]


class PrismaticSpring(JointForceElement):
    """A spring on a prismatic joint: the force ``-stiffness (translation - nominal_position)``.

    It stores ``stiffness (translation - nominal_position)**2 / 2``.

    Parameters
    ----------
    joint : PrismaticJoint
        The joint. The spring belongs to its model instance.
    nominal_position : float
        Translation without force [m]. The default of a parameter of each Context.
    stiffness : float
        Force per length [N/m], not negative. The default of a parameter of each Context.

    Raises
    ------
    ArgumentTypeError
        When the joint is not a prismatic one.
    ArgumentValueError
        When a number is not finite, or the stiffness is negative.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.3, 0.2)
    >>> cart = tree.add_body(mbt.RigidBody("cart", M_BBo_B))
    >>> rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    >>> spring = tree.add_force_element(mbt.PrismaticSpring(rail, nominal_position=0.1, stiffness=40.0))
    >>> tree.finalize()
    >>> tree.calc_forward_dynamics(tree.create_default_context())
    array([2.])
    """

    _type: ClassVar[ForceElementType] = ForceElementType.JOINT_SPRING

    def __init__(self, joint: PrismaticJoint, nominal_position: float, stiffness: float) -> None:
        what = type(self).__name__
        check_joint(joint, PrismaticJoint, what)
        super().__init__(
            joint,
            np.array(
                [
                    as_finite(nominal_position, f"{what}: nominal_position"),
                    as_nonnegative(stiffness, f"{what}: stiffness"),
                ]
            ),
        )

    @property
    def joint(self) -> PrismaticJoint:
        """The joint."""
        assert isinstance(self._joint, PrismaticJoint)
        return self._joint

    @property
    def default_nominal_position(self) -> float:
        """Default translation without force [m]."""
        return float(self._defaults[0])

    @property
    def nominal_position(self) -> float:
        """Default translation without force [m]: the same as `default_nominal_position`."""
        return self.default_nominal_position

    @property
    def default_stiffness(self) -> float:
        """Default stiffness [N/m]."""
        return float(self._defaults[1])

    @property
    def stiffness(self) -> float:
        """Default stiffness [N/m]: the same as `default_stiffness`."""
        return self.default_stiffness

    def set_default_nominal_position(self, nominal_position: object) -> Self:
        """Set the default translation without force [m], before ``finalize()``."""
        value = as_finite(nominal_position, f"{self._label}: nominal_position")
        return self._set_defaults(0, value, "set_nominal_position")

    def set_default_stiffness(self, stiffness: object) -> Self:
        """Set the default stiffness [N/m], not negative, before ``finalize()``."""
        value = as_nonnegative(stiffness, f"{self._label}: stiffness")
        return self._set_defaults(1, value, "set_stiffness")

    @number_of_each_sample
    def get_nominal_position(self, context: ContextCore) -> float:
        """Return the translation without force that `context` has [m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 0)

    def set_nominal_position(self, context: ContextCore, nominal_position: object) -> Self:
        """Set the translation without force in `context` [m]."""
        self._set_number(
            context,
            0,
            numbers_of(self, context).as_finite(nominal_position, f"{self._label}: nominal_position"),
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
