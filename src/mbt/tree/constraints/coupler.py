"""Couplings of two joints: gears, belts, fingers that mimic each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from mbt._core.forces.force_elements import ConstraintType
from mbt.errors import ArgumentValueError, quote
from mbt.math.arrays import as_finite
from mbt.tree.constraints.constraint import STABILIZATION, Constraint
from mbt.tree.context_access import numbers_of
from mbt.tree.element import MultibodyElement, check_element
from mbt.tree.joint import Joint
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
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
            check_element(joint, Joint, f"{what}: {argument}")
            if not joint.num_positions == joint.num_velocities == 1:
                raise ArgumentValueError(
                    f"{what}: {argument}: expected a joint with one degree of freedom, but {joint._label} "
                    f"({joint.type_name}) has {joint.num_velocities}"
                )
        if joint0 is joint1:
            raise ArgumentValueError(f"{what}: joint1: expected another joint than joint0, {joint0._label}")
        numbers = as_finite(gear_ratio, f"{what}: gear_ratio"), as_finite(offset, f"{what}: offset")
        super().__init__(name, joint0.model_instance, numbers, stabilization)
        self._joint0 = joint0
        self._joint1 = joint1

    @property
    def joint0(self) -> Joint:
        """The joint that follows."""
        return self._joint0

    @property
    def joint1(self) -> Joint:
        """The joint that it follows."""
        return self._joint1

    @property
    def default_gear_ratio(self) -> float:
        """Movement of `joint0` per movement of `joint1`."""
        return float(self._defaults[2])

    @property
    def default_offset(self) -> float:
        """Position of `joint0` where that of `joint1` is zero [rad, m]."""
        return float(self._defaults[3])

    def set_default_gear_ratio(self, gear_ratio: object) -> Self:
        """Set the movement of `joint0` per movement of `joint1`, before ``finalize()``."""
        return self._set_defaults(2, as_finite(gear_ratio, f"{self._label}: gear_ratio"), "set_gear_ratio")

    def set_default_offset(self, offset: object) -> Self:
        """Set the position of `joint0` where that of `joint1` is zero [rad, m], before ``finalize()``."""
        return self._set_defaults(3, as_finite(offset, f"{self._label}: offset"), "set_offset")

    # In one Context.

    @number_of_each_sample
    def get_gear_ratio(self, context: ContextCore) -> float:
        """Return the movement of `joint0` per movement of `joint1` that `context` has."""
        return numbers_of(self, context).entry(self._get_numbers(context), 2)

    def set_gear_ratio(self, context: ContextCore, gear_ratio: object) -> Self:
        """Set the movement of `joint0` per movement of `joint1` in `context`."""
        self._set_number(
            context, 2, numbers_of(self, context).as_finite(gear_ratio, f"{self._label}: gear_ratio")
        )
        return self

    @number_of_each_sample
    def get_offset(self, context: ContextCore) -> float:
        """Return the position of `joint0` where that of `joint1` is zero that `context` has [rad, m]."""
        return numbers_of(self, context).entry(self._get_numbers(context), 3)

    def set_offset(self, context: ContextCore, offset: object) -> Self:
        """Set the position of `joint0` where that of `joint1` is zero in `context` [rad, m]."""
        self._set_number(context, 3, numbers_of(self, context).as_finite(offset, f"{self._label}: offset"))
        return self

    @property
    def equation(self) -> str:
        """The constraint as readable text: ``"q(right) = -1 q(left) +0.5"``."""
        joints = self._joint0, self._joint1
        is_inside = joints[0].model_instance == joints[1].model_instance
        name0, name1 = [joint.name if is_inside else joint.scoped_name for joint in joints]
        offset = f" {self.default_offset:+g}" if self.default_offset else ""
        return f"q({name0}) = {self.default_gear_ratio:g} q({name1}){offset}"

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return (self._joint0, "joint0"), (self._joint1, "joint1")

    def _places(self, plan: FinalizationPlan) -> tuple[int, int, int, int]:
        nodes = [plan.node_of(joint) for joint in (self._joint0, self._joint1)]
        a, b = (plan.q_start[node] for node in nodes)
        dof_a, dof_b = (plan.v_start[node] for node in nodes)
        return a, b, dof_a, dof_b
