"""How a tree moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from mbt._core.above import above
from mbt._core.api.tree_energy import TreeCore
from mbt._core.engines.context import ContextCore
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.servos import has_servos

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["Motion"]


class Motion(TreeCore):
    """The part of `MultibodyTree` that steps through time."""

    def calc_servo_efforts(self, context: Context) -> FloatArray:
        """Return servo efforts: ``stiffness (q_d - q) + damping (v_d - v)``, clipped to effort limits.

        `mbt.simulate`, `rollout` and the environments of Gymnasium add these efforts, at the beginning of
        each step. No other function does: pass them to forward dynamics or `mbt.functional` like any other
        force, as ``tree.calc_servo_efforts(context) @ tree.actuation_matrix.T``.

        Parameters
        ----------
        context : Context
            A Context of this tree, in doubles: its q and v, gains and targets.

        Returns
        -------
        ndarray, shape (..., num_actuators)
            Efforts [N m, N], 0 for plain motors.

        Raises
        ------
        ArgumentTypeError, ContextMismatchError
            When it is not a Context of this tree, or of a scalar other than double.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> axis = [0, 0, 1]
        >>> knee = tree.add_joint(mbt.RevoluteJoint, "knee", tree.world_body, None, link, None, axis=axis)
        >>> servo = tree.add_joint_actuator("knee", knee, effort_limit=45.0, stiffness=100.0, damping=2.0)
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.servo_positions = [0.3]
        >>> tree.calc_servo_efforts(context)
        array([30.])
        >>> context.servo_positions = [1.0]
        >>> tree.calc_servo_efforts(context)
        array([45.])
        """
        efforts: FloatArray = above.calc_servo_efforts(self, context)
        return efforts

    def rollout(
        self,
        context: Context,
        tau: npt.ArrayLike,
        dt: float,
        *,
        method: str = "semi_implicit_euler",
        every: int = 1,
        joint_limits: bool = True,
        limit_efforts: bool | None = None,
        contacts: object = None,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the state of a Context, then the states after each of many equal time steps from it.

        Like `mbt.functional.rollout`, but with the parameters of the Context (of each sample), its actuation
        and applied forces, the same in all steps, its locks, and its servos, which hold their efforts during
        each step. The Context does not change.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        tau : array_like, shape (..., T, num_velocities)
            Further generalized forces in each of T steps [N m, N], for all samples or for each.
        dt : float
            Length of a step [s], of either sign.
        method : {"semi_implicit_euler", "rk4", "implicit"}, optional
            How a step is computed, see `mbt.functional.rollout`.
        every : int, optional
            Keep only the state after every n-th step, and the first.
        joint_limits, limit_efforts : bool, optional
            As in `mbt.functional.rollout`.
        contacts : ShapeContact, optional
            Shapes that touch, with ``method="implicit"``.
        out : tuple of two (ndarray or None), optional
            Arrays of the shapes of the results, float64, C-contiguous, written in place and returned. Left
            untouched when an argument is rejected.

        Returns
        -------
        q : ndarray, shape (..., T // every + 1, num_positions)
            Positions.
        v : ndarray, shape (..., T // every + 1, num_velocities)
            Velocities.

        Raises
        ------
        ArgumentValueError
            When there is no such method, or `dt` is not finite.
        ContextMismatchError
            When the Context belongs to another tree.
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type; when there are servos, and the Context is not in
            doubles.
        SingularityError
            When a single state has no accelerations at the beginning.
        """
        tree = cast(Any, self)
        if tree._compiled is None:
            above.compile_copy(tree)
        if not isinstance(context, ContextCore) or context.tree is not self:
            raise_context_mismatch(tree, context)
        limits = above.check_limits(method, joint_limits, limit_efforts)
        path: tuple[FloatArray, FloatArray]
        # Implicit steps include servos.
        if method != "implicit" and has_servos(tree):
            path = above.rollout_with_servos(
                context, tau, dt, out, method=method, every=every, contacts=contacts
            )
        else:
            path = above.rollout_context(
                context, tau, dt, out, method=method, every=every, contacts=contacts, limits=limits
            )
        return path
