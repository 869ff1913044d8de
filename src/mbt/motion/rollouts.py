"""Steps of time, many in a row: compiled, in lanes, on threads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.table import Quantity
from mbt.errors import ArgumentValueError
from mbt.math.arrays import as_index
from mbt.math.leading_axes import flatten, join
from mbt.motion.operands import broadcast, check_method, take_operands

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["rollout", "rollout_context", "step"]

# Numbers of a state and its inputs in one call: so many stay in the cache with those of the other lanes.
_NUMBERS_A_CALL = 4096


def step(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: float,
    *,
    method: str = "semi_implicit_euler",
) -> tuple[FloatArray, FloatArray]:
    """Return the state one step of time later.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities.
    tau : array_like, shape (..., num_velocities)
        Generalized forces, the same all through the step [N m, N]. Leading axes broadcast.
    dt : float
        Length of the step [s], of either sign.
    method : {"semi_implicit_euler", "rk4"}, optional
        How the step is made, see `rollout`.

    Returns
    -------
    q, v : ndarray, shapes (..., num_positions) and (..., num_velocities)
        The state at the end of the step.

    Raises
    ------
    ArgumentValueError
        When there is no such method, or `dt` is not finite.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has no accelerations; in a batch that sample is NaN.

    See Also
    --------
    rollout : many steps in one call.
    """
    batch, (*state, forces) = take_operands(tree, {"q": q, "v": v, "tau": tau})
    path = _roll_out(tree, batch, [*state, forces[..., np.newaxis, :]], dt, method=method)
    return path[0][..., 1, :].copy(), path[1][..., 1, :].copy()


def rollout(
    tree: MultibodyTree,
    q0: npt.ArrayLike,
    v0: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: float,
    *,
    method: str = "semi_implicit_euler",
    every: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the states at the ends of steps of equal length, that of the beginning in front.

    Gravity, the other force elements and joint damping act, with the default parameters of the tree. What a
    sample gets depends neither on the others nor on the number of threads. Where forward dynamics has no
    answer, a sample is NaN from there on.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q0 : array_like, shape (..., num_positions)
        Generalized positions at the beginning.
    v0 : array_like, shape (..., num_velocities)
        Generalized velocities at the beginning.
    tau : array_like, shape (..., T, num_velocities)
        Generalized forces of each of T steps [N m, N]; those that are the same in all of them by
        ``np.broadcast_to``. Leading axes broadcast.
    dt : float
        Length of a step [s], of either sign.
    method : {"semi_implicit_euler", "rk4"}, optional
        ``v += vdot dt``, then ``q += v dt`` with the new v: of order one, with errors of the energy that do
        not grow. Or Runge-Kutta, of order four, with four times the work a step. Rotations take steps on
        their group, so quaternions keep their length.
    every : int, optional
        The state behind each so many steps is kept.

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
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has no accelerations at the beginning.

    Notes
    -----
    The methods for rotations are those of [1]_: Runge-Kutta in the vectors u of the steps ``exp(u) q0``.

    References
    ----------
    .. [1] H. Munthe-Kaas, "High order Runge-Kutta methods on manifolds", Applied Numerical Mathematics 29,
       1999.

    Examples
    --------
    A ball that falls for a second:

    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
    >>> tree.finalize()
    >>> q0, v0, tau = tree.default_positions, np.zeros(6), np.zeros((10, 6))
    >>> q, v = mbt.functional.rollout(tree, q0, v0, tau, 0.1, method="rk4")
    >>> q.shape, q[-1, 6].round(12)
    ((11, 7), np.float64(-5.0))
    """
    batch, arrays = take_operands(tree, {"q0": q0, "v0": v0, "tau": tau}, of_steps=True)
    return _roll_out(tree, batch, arrays, dt, method=method, every=every)


def rollout_context(
    context: Context, tau: object, dt: object, *, method: object = "semi_implicit_euler", every: object = 1
) -> tuple[FloatArray, FloatArray]:
    """Return the states that a Context gets to, with its parameters and inputs; it stays as it is."""
    tree, numbers = context.tree, context.tree._numbers
    inputs = numbers.as_float_array(tau, "tau", (..., None, tree.num_velocities))
    broadcast({"tau": inputs.shape[:-2]}, context.batch_shape)
    number = check_method(method)
    h = numbers.as_finite_array(dt, "dt", ())
    stride = as_index(every, "every", 2**31, "number of steps")
    if stride == 0:
        raise ArgumentValueError("every: expected a number of steps, 1 or more, got 0")
    moving = context.clone()
    states = [join((moving.q, moving.v))[..., np.newaxis, :]]
    front, inputs = _join_forces(context, h, inputs)
    numbers_a_step = tree.num_velocities + (tree.num_positions + tree.num_velocities) // stride
    most = max(1, _NUMBERS_A_CALL // max(1, numbers_a_step))
    for first, count, kept in _calls(inputs.shape[-2] // stride * stride, stride, most):
        x = join((*front, flatten(inputs[..., first : first + count, :], 2)))
        ends = moving._evaluate(Quantity.ROLLOUT, (number, count, min(stride, count), 0, len(front) - 1), x)
        moving.q, moving.v = ends[..., -1, : tree.num_positions], ends[..., -1, tree.num_positions :]
        if kept:
            states.append(ends)
    path = join(states, -2)
    return path[..., : tree.num_positions].copy(), path[..., tree.num_positions :].copy()


def _roll_out(
    tree: MultibodyTree, batch: tuple[int, ...], arrays: Sequence[Any], dt: object, **options: object
) -> tuple[Any, Any]:
    """Return rollouts from positions and velocities with forces, all with the axes of the batch."""
    if not batch or tree.scalar_type.name == "double":
        context = tree.create_default_context(batch)
        context.q, context.v = arrays[:2]
        return rollout_context(context, arrays[2], dt, **options)
    # Others compute one state after the other.
    paths = [_roll_out(tree, (), [x[i] for x in arrays], dt, **options) for i in np.ndindex(batch)]
    qs, vs = zip(*paths, strict=True)
    return np.stack(qs).reshape(*batch, *qs[0].shape), np.stack(vs).reshape(*batch, *vs[0].shape)


def _calls(total: int, every: int, most: int) -> Iterator[tuple[int, int, bool]]:
    """Yield the first step of each call, how many it makes, `most` or less, and whether states are kept."""
    if every <= most:
        size = most // every * every
        for first in range(0, total, size):
            yield first, min(size, total - first), True
    else:
        for end in range(every, total + 1, every):
            for first in range(end - every, end, most):
                yield first, min(most, end - first), first + most >= end


def _join_forces(context: Context, h: Any, tau: Any) -> tuple[list[Any], Any]:
    """Return dt and body forces where there are any, one behind the other, and all generalized forces."""
    tree = context.tree
    front = [h[..., np.newaxis]]
    if tree.joint_actuators:
        dofs = [actuator.joint.velocity_start for actuator in tree.joint_actuators]
        tau = context._numbers.add_at(tau, dofs, context.actuation[..., np.newaxis, :])
    if context._has_applied_forces:
        forces = context.applied_forces
        tau = tau + forces.generalized_forces[..., np.newaxis, :]
        front.append(flatten(forces.body_forces, 2))
    return front, tau
