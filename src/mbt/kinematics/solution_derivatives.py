"""Derivatives of solutions by goals and parameters, for `InverseKinematics`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError, ContextMismatchError, quote
from mbt.kinematics.samples import check_context
from mbt.kinematics.tasks import TOLERANCE
from mbt.kinematics.velocities import DifferentialKinematics
from mbt.math.arrays import as_finite_array, as_float_array
from mbt.tree import BodyFrame, FixedOffsetFrame, RigidBody, UniformGravityFieldElement

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.kinematics.derivatives import InverseKinematicsDerivatives

__all__ = ["SolutionDerivatives"]

# Elements whose parameters positions may depend on.
_OWNERS = (RigidBody, FixedOffsetFrame, UniformGravityFieldElement)


class SolutionDerivatives(DifferentialKinematics):
    """Tasks whose solutions have derivatives."""

    def solution_derivatives(
        self,
        q: npt.ArrayLike,
        goals: Sequence[npt.ArrayLike],
        *,
        parameters: Sequence[Any] = (),
        context: Context | None = None,
        tolerance: tuple[float, float] = TOLERANCE,
    ) -> InverseKinematicsDerivatives:
        """Return how solutions change with goals and parameters, by the implicit function theorem.

        A change of a goal or a parameter moves a solution so that tasks of weight one or more stay at their
        goals, and constraints hold. What this leaves open follows secondary tasks and the posture, as their
        least-squares optimum; what is still open changes as little as possible. If a goal is out of reach,
        the solution is that of least squares. Locked dofs and dofs on their limits stay there; pairs of
        `add_distance` at their least distance keep it.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Solutions, as `solve` returned them.
        goals : sequence of array_like
            Their goals, one for each task.
        parameters : sequence, optional
            The owners of the parameters: bodies (their masses), fixed offset frames (their poses in their
            parents), or the tree (the inertial parameters of all bodies).
        context : Context, optional
            The one that `solve` received.
        tolerance : tuple of two floats, optional
            The one that `solve` received: it decides which goals are reached.

        Returns
        -------
        InverseKinematicsDerivatives
            NaN for samples in which goals or positions are NaN.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
            When an argument is invalid.

        Examples
        --------
        The tool of an arm moves with its goal:

        >>> import numpy as np
        >>> import mbt
        >>> from mbt.models import model_path
        >>> tree = mbt.load_model(model_path("mbt_arm"))
        >>> ik = mbt.InverseKinematics(tree)
        >>> ik.add_pose("tool")
        >>> goal = mbt.math.make_pose([0.45, 0.2, 0.6], rpy=[0.0, 2.5, 0.4])
        >>> found = ik.solve([goal])
        >>> by_goal = ik.solution_derivatives(found.q, [goal]).goals[0]
        >>> J = mbt.functional.frame_jacobian(tree, found.q, "tool")
        >>> bool(np.allclose(J @ by_goal, np.eye(6), atol=1e-3))
        True
        """
        from mbt.kinematics.derivatives import differentiate_solutions

        if not isinstance(parameters, (list, tuple)):
            raise ArgumentTypeError(f"parameters: expected a list of their owners, got {quote(parameters)}")
        if context is not None:
            check_context(self._tree, context)
        limits = as_finite_array(tolerance, "tolerance", (2,))
        self._find_velocity_goals(goals, as_float_array(q, "q", (..., self._tree.num_positions)), None)
        return differentiate_solutions(
            self._tree,
            self._tasks,
            self._posture,
            self._distances,
            q,
            goals,
            [self._find_owner(owner) for owner in parameters],
            context,
            (float(limits[0]), float(limits[1])),
        )

    def _find_owner(self, owner: Any) -> Any:
        """Return the element of this tree that owns a parameter; it may be given by name."""
        element = self._tree._elements.frame_named(owner, "parameters") if isinstance(owner, str) else owner
        if isinstance(element, BodyFrame):
            element = element.body
        if element is not self._tree and getattr(element, "_tree", self._tree) is not self._tree:
            raise ContextMismatchError("parameters: expected elements of the tree of this problem")
        if element is not self._tree and not isinstance(element, _OWNERS):
            raise ArgumentTypeError(
                "parameters: expected bodies (their masses), fixed offset frames (poses in their parents), "
                "uniform gravity (its vector), or the tree (inertial parameters of all bodies), got "
                f"{quote(element)}"
            )
        return element
