"""Springs of revolute and prismatic joints."""

from __future__ import annotations

from typing import ClassVar

from mbt._core.model.element_types import ForceElementType
from mbt.tree.fields import NONNEGATIVE, Number, Reference
from mbt.tree.force_elements.on_joint import JointForceElement
from mbt.tree.joints import PrismaticJoint, RevoluteJoint

__all__ = ["PrismaticSpring", "RevoluteSpring"]


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

    joint = Reference(RevoluteJoint, "The joint.")
    nominal_angle = default_nominal_angle = Number("angle without torque", "rad")
    stiffness = default_stiffness = Number("stiffness", "N m/rad", NONNEGATIVE)
    set_default_nominal_angle, get_nominal_angle, set_nominal_angle = nominal_angle.accessors()
    set_default_stiffness, get_stiffness, set_stiffness = stiffness.accessors()

    def __init__(self, joint: RevoluteJoint, nominal_angle: float, stiffness: float) -> None:
        super().__init__(joint, nominal_angle=nominal_angle, stiffness=stiffness)


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

    joint = Reference(PrismaticJoint, "The joint.")
    nominal_position = default_nominal_position = Number("translation without force", "m")
    stiffness = default_stiffness = Number("stiffness", "N/m", NONNEGATIVE)
    set_default_nominal_position, get_nominal_position, set_nominal_position = nominal_position.accessors()
    set_default_stiffness, get_stiffness, set_stiffness = stiffness.accessors()

    def __init__(self, joint: PrismaticJoint, nominal_position: float, stiffness: float) -> None:
        super().__init__(joint, nominal_position=nominal_position, stiffness=stiffness)
