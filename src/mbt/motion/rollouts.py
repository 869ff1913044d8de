"""Many steps of time in a row: compiled, in lanes, on threads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbt._core.api import steps
from mbt._core.quantities.names import Quantity
from mbt.context.checks import check_parts, check_tuple, compile_copy, write_parts
from mbt.math.arrays import as_count
from mbt.math.leading_axes import flatten, join
from mbt.motion.accelerations import rest_where_locked
from mbt.motion.operands import (
    BACKWARDS,
    BOTH_LIMITS,
    IMPLICIT,
    as_spread_array,
    broadcast,
    check_limits,
    check_method,
    goes_back,
    rows_of_samples,
    take_operands,
)
from mbt.motion.stages import move_context
from mbt.scalars.stand_ins import standing_in

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt._core.solvers.implicit_steps import ImplicitCore
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.operands import Limits
    from mbt.motion.shape_contacts import TouchingShapes
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["core_of", "rollout", "rollout_context", "step"]

# Accelerations of bodies per call: for a block of lanes this takes some hundredths of a second.
_WORK_A_CALL = 250_000

# A call: its first step, and the integers that select the quantity.
Call = tuple[int, tuple[int, int, int, int, int]]


def step(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: float,
    *,
    method: str = "semi_implicit_euler",
    joint_limits: bool = True,
    limit_efforts: bool | None = None,
    contacts: TouchingShapes | None = None,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the state after one step of time.

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
    method : {"semi_implicit_euler", "rk4", "implicit"}, optional
        How the step is made, see `rollout`.
    joint_limits : bool, optional
        Whether position limits act in steps of ``method="implicit"``. Other methods ignore limits.
    limit_efforts : bool, optional
        Whether steps of ``method="implicit"`` clip `tau` and servos, together, to
        ``tree.effort_lower_limits`` and ``tree.effort_upper_limits``: by default they do. With other methods
        clip `tau` yourself.
    contacts : ShapeContact, optional
        Shapes that touch, with ``method="implicit"``.
    out : tuple of two (ndarray or None), optional
        Arrays of the shapes of the results, float64, C-contiguous, written in place and returned; they may be
        q and v themselves. Left untouched when an argument is rejected.

    Returns
    -------
    q, v : ndarray, shapes (..., num_positions) and (..., num_velocities)
        The state at the end of the step.

    Raises
    ------
    ArgumentValueError
        If there is no such method, or `dt` is not finite.
    ShapeError, ArgumentTypeError
        If an array does not have the right shape or type.
    SingularityError
        If a single state has no accelerations; in a batch that sample is NaN.

    See Also
    --------
    rollout : many steps in one call.

    Notes
    -----
    Servos act in steps of ``method="implicit"`` only, with their default gains and targets. See `rollout`.
    """
    tree = standing_in(tree)
    number = check_method(method)
    limits = check_limits(method, joint_limits, limit_efforts)
    core, states = None, None
    if contacts is not None:
        _check_contacts(contacts, tree, method)
    elif number == IMPLICIT:
        core = core_of(tree, limits)
        # Fast path for exact arrays of one state; None if there is more to do.
        if core is not None and isinstance(dt, float) and 0.0 < dt < math.inf:
            states = core.step(tree, q, v, tau, dt, out)
    else:
        states = steps.step(tree, q, v, tau, dt, number, out)
    if states is not None:
        return states
    batch, (*arrays, forces) = take_operands(tree, {"q": q, "v": v, "tau": tau})
    outs = check_tuple(out, 2)
    options: dict[str, Any] = {"method": method, "contacts": contacts, "limits": limits}
    path = _roll_out(tree, batch, [*arrays, forces[..., np.newaxis, :]], dt, core=core, **options)
    q1, v1 = write_parts(tree._numbers, outs, [x[..., 1, :].copy() for x in path])
    return q1, v1


def rollout(
    tree: MultibodyTree,
    q0: npt.ArrayLike,
    v0: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: float,
    *,
    method: str = "semi_implicit_euler",
    every: int = 1,
    joint_limits: bool = True,
    limit_efforts: bool | None = None,
    contacts: TouchingShapes | None = None,
    out: tuple[FloatArray | None, FloatArray | None] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the initial state and the states after steps of equal length.

    Gravity, the other force elements and joint damping act, with the default parameters of the tree. The
    result of a sample does not depend on the other samples or on the number of threads. If forward dynamics
    has no solution, a sample is NaN from there on.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q0 : array_like, shape (..., num_positions)
        Initial generalized positions.
    v0 : array_like, shape (..., num_velocities)
        Initial generalized velocities.
    tau : array_like, shape (..., T, num_velocities)
        Generalized forces of each of T steps [N m, N]; ``np.broadcast_to`` repeats forces that are the same
        in all steps. Leading axes broadcast.
    dt : float
        Length of a step [s], of either sign.
    method : {"semi_implicit_euler", "rk4", "implicit"}, optional
        ``v += vdot dt``, then ``q += v dt`` with the new v: of order one; energy errors stay bounded if the
        mass matrix is constant, not in general. Or Runge-Kutta, of order four, with four times the work per
        step. Rotations take steps on their group, so quaternions keep their length. Or ``"implicit"``: the
        next velocity is the minimum of a convex function, in which joint damping, springs, dry friction,
        position limits, constraints and point contact depend on that velocity; of order one, for `dt` greater
        than zero and trees of doubles or "autodiff"; see the page "Implicit steps".
    every : int, optional
        Keep the state after every n-th step.
    joint_limits, limit_efforts : bool, optional
        As in `step`.
    contacts : ShapeContact, optional
        Shapes that touch, with ``method="implicit"``.
    out : tuple of two (ndarray or None), optional
        Arrays of the shapes of the results, float64, C-contiguous, written in place and returned; this saves
        the time to allocate memory. Left untouched when an argument is rejected.

    Returns
    -------
    q : ndarray, shape (..., T // every + 1, num_positions)
        Positions.
    v : ndarray, shape (..., T // every + 1, num_velocities)
        Velocities.

    Raises
    ------
    ArgumentValueError
        If there is no such method, or `dt` is not finite.
    ShapeError, ArgumentTypeError
        If an array does not have the right shape or type.
    SingularityError
        If the accelerations of a single initial state do not exist.

    Notes
    -----
    Without a Context the targets of servos cannot be set: with ``method="implicit"`` servos hold their
    default targets, with other methods they exert nothing. `MultibodyTree.rollout` and `mbt.simulate` take
    targets. Or add ``stiffness * (q_d - q) + damping * (v_d - v)`` to `tau` in each step, or
    ``tree.calc_servo_efforts(context) @ tree.actuation_matrix.T``.

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
    tree = standing_in(tree)
    number = check_method(method)
    limits = check_limits(method, joint_limits, limit_efforts)
    core, path = None, None
    if contacts is not None:
        _check_contacts(contacts, tree, method)
    elif number == IMPLICIT:
        core = core_of(tree, limits)
        if core is not None and out is None and isinstance(dt, float) and 0.0 < dt < math.inf:
            is_count = type(every) is int and 0 < every < 2**31
            path = core.roll_out(tree, q0, v0, tau, dt, every) if is_count else None
    else:
        path = steps.roll_out(tree, q0, v0, tau, dt, number, every, out)
    if path is not None:
        return path
    batch, arrays = take_operands(tree, {"q0": q0, "v0": v0, "tau": tau}, of_steps=True)
    options: dict[str, Any] = {"method": method, "every": every, "contacts": contacts, "limits": limits}
    return _roll_out(tree, batch, arrays, dt, out, core=core, **options)


def rollout_context(
    context: Context,
    tau: object,
    dt: object,
    out: object = None,
    *,
    method: object = "semi_implicit_euler",
    every: object = 1,
    contacts: TouchingShapes | None = None,
    limits: Limits = BOTH_LIMITS,
) -> tuple[Any, Any]:
    """Return the states that a Context reaches, with its parameters and inputs; it is not changed.

    `limits` are those that `check_limits` returns.
    """
    tree, number = context.tree, check_method(method)
    if contacts is not None:
        _check_contacts(contacts, tree, method)
    states = None if number == IMPLICIT else steps.roll_out_context(context, tau, dt, number, every, out)
    if states is not None:
        return states
    forces = as_spread_array(tree, tau, "tau", (..., None, tree.num_velocities))
    broadcast({"tau": forces.shape[:-2]}, context.batch_shape)
    h = tree._numbers.as_finite_array(dt, "dt", ())
    stride = as_count(every, "every")
    num_kept = forces.shape[-2] // stride
    outs = _check_out(context, out, num_kept + 1)
    if number == IMPLICIT:
        path = _move_implicitly(context, forces, h, num_kept, stride, contacts=contacts, limits=limits)
        return write_parts(context._numbers, outs, path)
    if tree._user_force_elements:
        path = _move_in_python(context, forces, h, number, num_kept, stride)
        return write_parts(context._numbers, outs, path)
    front, forces = _join_forces(context, h, _without_repeats(forces))
    most = max(1, _WORK_A_CALL // (tree.num_bodies * (4 if number else 1)))
    compiled = number + BACKWARDS * goes_back(context._numbers, h)
    calls = [
        (first, (compiled, count, part, int(forces.shape[-2] == 1), len(front) - 1))
        for first, count, part in _calls(num_kept * stride, stride, most)
    ]
    if context.batch_shape:
        return _fill_rows(context, calls, join(front), forces, num_kept, outs)
    q, v = _append_states(context.clone(), calls, front, forces)
    if np.isnan(context._numbers.known_values(v[-1])).any():
        # A state has no accelerations: this raises an error that explains it.
        tree.calc_forward_dynamics(context, forces[0])
    return write_parts(context._numbers, outs, (q, v))


def _check_contacts(contacts: object, tree: MultibodyTree, method: object) -> None:
    from mbt.motion.shape_contacts import check_contacts

    check_contacts(contacts, tree, method)


def _check_out(context: Context, out: object, num_states: int) -> tuple[Any, Any]:
    """Return arrays for positions and velocities; a new one in place of None."""
    if out is None:
        return None, None
    sizes = context.tree.num_positions, context.tree.num_velocities
    q, v = check_parts(out, [(*context.batch_shape, num_states, n) for n in sizes], context._numbers)
    return q, v


def _append_states(context: Any, calls: list[Call], front: list[Any], forces: Any) -> tuple[Any, Any]:
    """Return the states of one state of any scalar type, moving a Context from call to call."""
    nq = context.tree.num_positions
    states = [join((context.q, context.v))[np.newaxis]]
    for first, (method, count, every, held, with_forces) in calls:
        tau = forces[0] if held else forces[first : first + count].reshape(-1)
        integers = (method, count, min(every, count), held, with_forces)
        ends = context._evaluate(Quantity.ROLLOUT, integers, join((*front, tau)))
        context.q, context.v = ends[-1, :nq], rest_where_locked(context, ends[-1, nq:])
        if every <= count:
            states.append(ends)
    path = join(states, -2)
    return path[:, :nq].copy(), path[:, nq:].copy()


def _fill_rows(
    context: Any, calls: list[Call], front: Any, forces: Any, num_kept: int, outs: tuple[Any, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return the states of all samples; lanes write them in place."""
    batch, count = context.batch_shape, math.prod(context.batch_shape)
    q, v = (
        np.empty((*batch, num_kept + 1, x.shape[-1])) if out is None else out
        for x, out in zip((context.q, context.v), outs, strict=True)
    )
    paths = [x.reshape(count, *x.shape[-2:]) for x in (q, v)]
    tau = rows_of_samples(forces, batch, count)
    if any(np.may_share_memory(tau, path) for path in paths):
        tau = tau.copy()
    ends = [np.array(x).reshape(count, x.shape[-1]) for x in (context.q, context.v)]
    for path, end in zip(paths, ends, strict=True):
        path[:, 0] = end
    row = 1
    for first, integers in calls:
        _, num_steps, every, held, _ = integers
        part = tau if held else np.ascontiguousarray(tau[:, first : first + num_steps])
        context._roll_out(integers, front, part, *ends, *paths, row)
        row += num_steps // every
    return q, v


def _move_in_python(
    context: Context, forces: Any, dt: Any, method: int, num_kept: int, every: int
) -> tuple[Any, Any]:
    """Return the states, one step after the other: elements in Python compute their forces in each step."""
    moving = context.clone()
    if num_kept:
        # A state has no accelerations: this raises an error that explains it.
        moving.tree.calc_forward_dynamics(moving, forces[..., 0, :])
    states = [(moving.q, moving.v)]
    for i in range(num_kept * every):
        move_context(moving, forces[..., i, :], dt, of_order_four=method == 1)
        if (i + 1) % every == 0:
            states.append((moving.q, moving.v))
    qs, vs = zip(*states, strict=True)
    return np.stack(qs, -2), np.stack(vs, -2)


def core_of(tree: MultibodyTree, limits: Limits) -> ImplicitCore | None:
    """Return the core of implicit steps, default parameters; None for elements in Python or other scalars."""
    try:
        core = tree._implicit_cores.get(limits)
    except AttributeError:  # not a tree: the next call raises the error
        core = None
    if core is None:
        compile_copy(tree)
        if tree._user_force_elements is not None or tree.scalar_type.name != "double":
            return None
        from mbt.motion.implicit import make_core

        joint_limits, limit_efforts = limits
        context = tree.create_default_context()
        core = make_core(context, joint_limits=joint_limits, limit_efforts=limit_efforts)
        tree._implicit_cores = {**tree._implicit_cores, limits: core}
    return core


def _move_implicitly(
    context: Context,
    forces: Any,
    dt: Any,
    num_kept: int,
    every: int,
    *,
    contacts: TouchingShapes | None,
    limits: Limits,
) -> tuple[FloatArray, FloatArray]:
    """Return the states of implicit steps."""
    from mbt.motion.implicit import ImplicitSteps, check_step

    tree = context.tree
    check_step(tree, dt)
    forces = _without_repeats(forces)
    if tree.joint_actuators:
        dofs = [actuator.velocity_start for actuator in tree.joint_actuators]
        forces = context._numbers.add_at(forces, dofs, context.actuation[..., np.newaxis, :])
    if tree.scalar_type.name != "double":
        from mbt.motion.implicit_derivatives import roll_out_along

        return roll_out_along(context, forces, dt, num_kept, every, limits)
    joint_limits, limit_efforts = limits
    steps = ImplicitSteps(context, joint_limits=joint_limits, limit_efforts=limit_efforts, contacts=contacts)
    h = float(dt)
    path = steps.roll_out(context.q, context.v, forces, h, num_kept, every)
    if path is not None:
        return path
    if num_kept == 0:
        return context.q[..., np.newaxis, :], context.v[..., np.newaxis, :]
    count = num_kept * every
    every_step = np.broadcast_to(forces[..., :count, :], (*forces.shape[:-2], count, forces.shape[-1]))
    taken = steps.take(context.q, context.v, every_step, h, context.time)
    q, v = (
        np.concatenate([first[..., np.newaxis, :], rest[..., every - 1 :: every, :]], axis=-2)
        for first, rest in ((context.q, taken.q), (context.v, taken.v))
    )
    return q, v


def _without_repeats(forces: Any) -> Any:
    """Return forces (..., T, nv), or (..., 1, nv) if a broadcast array repeats one row for all steps."""
    is_repeated = isinstance(forces, np.ndarray) and forces.strides[-2] == 0 and forces.shape[-2] > 1
    return forces[..., :1, :] if is_repeated else forces


def _roll_out(
    tree: MultibodyTree,
    batch: tuple[int, ...],
    arrays: Sequence[Any],
    dt: object,
    out: object = None,
    *,
    core: ImplicitCore | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Return rollouts from positions and velocities with forces, all with the axes of the batch.

    `core` makes implicit steps with the default parameters.
    """
    if core is not None:
        path = _roll_out_with(core, tree, batch, arrays, dt, out, **options)
        if path is not None:
            return path
    if not batch or tree.scalar_type.name == "double":
        context = tree.create_default_context(batch)
        context.q, context.v = arrays[:2]
        return rollout_context(context, arrays[2], dt, out, **options)
    if 0 in batch:
        q, v = _roll_out_nothing(tree, batch, arrays[2], dt, **options)
    else:
        # Other scalar types compute one state after the other.
        paths = [_roll_out(tree, (), [x[i] for x in arrays], dt, **options) for i in np.ndindex(batch)]
        q, v = (np.stack(part).reshape(*batch, *part[0].shape) for part in zip(*paths, strict=True))
    outs = (None, None) if out is None else check_parts(out, [q.shape, v.shape], tree._numbers)
    q, v = write_parts(tree._numbers, outs, (q, v))
    return q, v


def _roll_out_with(
    core: ImplicitCore,
    tree: MultibodyTree,
    batch: tuple[int, ...],
    arrays: Sequence[FloatArray],
    dt: Any,
    out: object,
    *,
    every: Any = 1,
    **_: Any,
) -> tuple[FloatArray, FloatArray] | None:
    """Return the same without a Context; None if a single state has no first step: a Context explains it."""
    from mbt.motion.implicit import check_step, roll_out_samples

    numbers = cast(Any, tree._numbers)
    h = numbers.as_finite_array(dt, "dt", ())
    check_step(tree, h)
    q, v, tau = arrays
    stride = as_count(every, "every")
    kept = tau.shape[-2] // stride
    sizes = tree.num_positions, tree.num_velocities
    outs = (None, None) if out is None else check_parts(out, [(*batch, kept + 1, n) for n in sizes], numbers)
    path: tuple[FloatArray, FloatArray] | None
    if batch:
        path = roll_out_samples(core, batch, q, v, _without_repeats(tau), float(h), kept, stride)[:2]
    else:
        path = core.roll_out(tree, q, v, np.ascontiguousarray(tau), float(h), stride)
    return None if path is None else write_parts(numbers, outs, path)


def _roll_out_nothing(
    tree: MultibodyTree, batch: tuple[int, ...], forces: Any, dt: object, *, every: Any = 1, **options: Any
) -> tuple[Any, Any]:
    """Return the rollouts of an empty batch; arguments are checked as usual."""
    none = forces.reshape(-1, tree.num_velocities)[:0]
    rollout_context(tree.create_default_context(), none, dt, every=every, **options)
    rows, numbers = forces.shape[-2] // every + 1, cast(Any, tree._numbers)
    q, v = (numbers.zeros((*batch, rows, n)) for n in (tree.num_positions, tree.num_velocities))
    return q, v


def _calls(total: int, every: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield a call's first step, its number of steps (at most `most`), and the steps between kept states."""
    if every <= most:
        size = most // every * every
        for first in range(0, total, size):
            yield first, min(size, total - first), every
    else:
        for end in range(every, total + 1, every):
            for first in range(end - every, end, most):
                # `end - first` exceeds the steps of the call unless the call reaches the next kept state.
                yield first, min(most, end - first), end - first


def _join_forces(context: Context, h: Any, tau: Any) -> tuple[list[Any], Any]:
    """Return dt and body forces (if any), flattened, and all generalized forces."""
    tree = context.tree
    front = [h[..., np.newaxis]]
    # Contexts of one state of doubles do not tell whether their actuation was set.
    if tree.joint_actuators and getattr(context, "_has_actuation", True):
        dofs = [actuator.velocity_start for actuator in tree.joint_actuators]
        tau = context._numbers.add_at(tau, dofs, context.actuation[..., np.newaxis, :])
    if context._has_applied_forces:
        forces = context.applied_forces
        tau = tau + forces.generalized_forces[..., np.newaxis, :]
        front.append(flatten(forces.body_forces, 2))
    return front, tau
