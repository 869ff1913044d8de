"""Force elements on a joint with one degree of freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.context_access import numbers_of
from mbt.tree.element import MultibodyElement, check_element
from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["JointForceElement"]


class JointForceElement(CompiledForceElement):
    """A force along the one velocity of a joint. It belongs to the model instance of the joint.

    Parameters
    ----------
    joint : Joint
        The joint.
    defaults : ndarray, shape (num_parameters,)
        The numbers of a new Context.
    """

    def __init__(self, joint: Joint, defaults: FloatArray) -> None:
        super().__init__(joint.model_instance, defaults)
        self._joint = joint

    def _numbers_in(self, context: ContextCore | None) -> Numbers:
        """Return what computes with the numbers of a Context; without one, of the tree."""
        if context is not None:
            return numbers_of(self, context)
        return DOUBLES if self._tree is None else self._tree._numbers

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        yield self._joint, "joint"

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        node = plan.node_of(self._joint)
        return plan.q_start[node], plan.v_start[node]

    def _repr_details(self) -> str:
        """Return what the representation tells beyond the name."""
        return f" joint={quote(self._joint.name)}"


def check_joint(joint: object, joint_type: type[Joint] | None, what: str) -> None:
    """Check that an argument is a joint of this type (any type if None) with one degree of freedom.

    Raises
    ------
    ArgumentTypeError
        When it is not a joint, or one of another type.
    ArgumentValueError
        When it has another number of degrees of freedom.
    """
    wanted = Joint if joint_type is None or isinstance(joint, Joint) else joint_type
    check_element(joint, wanted, f"{what}: joint")
    assert isinstance(joint, Joint)
    if joint_type is not None and not isinstance(joint, joint_type):
        raise ArgumentTypeError(
            f"{what}: joint: expected a {joint_type.__name__}, got {joint._label}, a {type(joint).__name__}"
        )
    if joint.num_velocities != 1 or joint.num_positions != 1:
        raise ArgumentValueError(
            f"{what}: joint: expected one degree of freedom, but {joint._label} ({joint.type_name}) has "
            f"{joint.num_velocities}"
        )
