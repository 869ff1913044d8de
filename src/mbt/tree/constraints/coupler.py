"""Couplings of two joints: gears, belts, fingers that mimic each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import ConstraintType
from mbt.errors import ArgumentValueError, quote
from mbt.tree.constraints.constraint import STABILIZATION, Constraint
from mbt.tree.fields import Number, Reference
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["CouplerConstraint"]


class CouplerConstraint(Constraint):
    """Couples the positions of two joints: ``q0 = gear_ratio * q1 + offset``.

    It belongs to the model instance of `joint0`.

    Parameters
    ----------
    name : str
        Name, unique among the constraints of the model instance.
    joint0, joint1 : Joint
        Two joints with one degree of freedom each; `joint0` follows.
    gear_ratio : float, optional
        Movement of `joint0` [rad, m] per movement of `joint1` [rad, m].
    offset : float, optional
        Position of `joint0` where that of `joint1` is zero [rad, m].
    stabilization : (frequency, damping ratio), array_like of shape (2,), optional
        The dynamics with which its error decays in simulations [rad/s, 1]; see `Constraint`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an argument is not a joint with one degree of freedom, both are the same, or a number is not
        finite.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> M = mbt.SpatialInertia.solid_box_with_mass(0.1, 0.01, 0.02, 0.05)
    >>> left, right = tree.add_body(mbt.RigidBody("left", M)), tree.add_body(mbt.RigidBody("right", M))
    >>> world = tree.world_body
    >>> slide_left = tree.add_joint(mbt.PrismaticJoint, "slide_left", world, None, left, None, [0, 1, 0])
    >>> slide_right = tree.add_joint(mbt.PrismaticJoint, "slide_right", world, None, right, None, [0, 1, 0])
    >>> coupler = mbt.CouplerConstraint("grip", slide_right, slide_left, gear_ratio=-1.0)
    >>> tree.add_constraint(coupler)
    <CouplerConstraint 'grip' index=0 model_instance=1 q(slide_right) = -1 q(slide_left)>
    """

    _type: ClassVar[ConstraintType] = ConstraintType.COUPLER

    joint0 = Reference(Joint, "The joint that follows.")
    joint1 = Reference(Joint, "The joint that it follows.")
    default_gear_ratio = Number("movement of `joint0` per movement of `joint1`")
    default_offset = Number("position of `joint0` where that of `joint1` is zero", "rad, m")
    set_default_gear_ratio, get_gear_ratio, set_gear_ratio = default_gear_ratio.accessors()
    set_default_offset, get_offset, set_offset = default_offset.accessors()

    def __init__(
        self,
        name: str,
        joint0: Joint,
        joint1: Joint,
        gear_ratio: float = 1.0,
        offset: float = 0.0,
        *,
        stabilization: object = STABILIZATION,
    ) -> None:
        what = f"{self.kind} {quote(name)}"
        for argument, joint in (("joint0", joint0), ("joint1", joint1)):
            self._refer_to(what, **{argument: joint})
            if not joint.num_positions == joint.num_velocities == 1:
                raise ArgumentValueError(
                    f"{what}: {argument}: expected a joint with one degree of freedom, but {joint._label} "
                    f"({joint.type_name}) has {joint.num_velocities}"
                )
        if joint0 is joint1:
            raise ArgumentValueError(f"{what}: joint1: expected a joint other than joint0, {joint0._label}")
        numbers = self._checked_numbers(what, gear_ratio=gear_ratio, offset=offset)
        super().__init__(name, joint0.model_instance, numbers, stabilization)

    @property
    def equation(self) -> str:
        """The constraint as readable text: ``"q(right) = -1 q(left) +0.5"``."""
        joints = self.joint0, self.joint1
        is_inside = joints[0].model_instance == joints[1].model_instance
        name0, name1 = [joint.name if is_inside else joint.scoped_name for joint in joints]
        offset = f" {self.default_offset:+g}" if self.default_offset else ""
        return f"q({name0}) = {self.default_gear_ratio:g} q({name1}){offset}"

    def _places(self, plan: FinalizationPlan) -> tuple[int, int, int, int]:
        nodes = [plan.node_of(joint) for joint in (self.joint0, self.joint1)]
        a, b = (plan.q_start[node] for node in nodes)
        dof_a, dof_b = (plan.v_start[node] for node in nodes)
        return a, b, dof_a, dof_b
