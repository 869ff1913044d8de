"""Force elements on a joint with one degree of freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError, ArgumentValueError
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.element import check_element
from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["JointForceElement"]


class JointForceElement(CompiledForceElement):
    """A force along the one velocity of a joint. It belongs to the model instance of the joint.

    A class declares the joint as the reference ``joint``.

    Parameters
    ----------
    joint : Joint
        The joint.
    **numbers : float
        The numbers that the class declares.
    """

    _joint: Joint

    def __init__(self, joint: Joint, **numbers: Any) -> None:
        what = type(self).__name__
        (reference,) = self._references
        _check_joint(joint, reference.kind, what)
        super().__init__(joint.model_instance, self._checked_numbers(what, **numbers))
        self._joint = joint

    def _numbers_in(self, context: ContextCore | None) -> Numbers:
        """Return the numbers of a Context to compute with; without one, those of the tree."""
        if context is not None:
            return numbers_of(self, context)
        return DOUBLES if self._tree is None else self._tree._numbers

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        node = plan.node_of(self._joint)
        return plan.q_start[node], plan.v_start[node]


def _check_joint(joint: object, joint_type: type[Joint], what: str) -> None:
    """Check that an argument is a joint of this type with one degree of freedom.

    Raises
    ------
    ArgumentTypeError
        When it is not a joint of this type.
    ArgumentValueError
        When it does not have one degree of freedom.
    """
    check_element(joint, Joint if isinstance(joint, Joint) else joint_type, f"{what}: joint")
    assert isinstance(joint, Joint)
    if not isinstance(joint, joint_type):
        raise ArgumentTypeError(
            f"{what}: joint: expected a {joint_type.__name__}, got {joint._label}, a {type(joint).__name__}"
        )
    if joint.num_velocities != 1 or joint.num_positions != 1:
        raise ArgumentValueError(
            f"{what}: joint: expected one degree of freedom, but {joint._label} ({joint.type_name}) has "
            f"{joint.num_velocities}"
        )
