"""Implicit steps: what they read from a tree and a Context, and what they report.

The next velocity minimises a convex function; docs/implicit_steps.md derives it, and
`_core/solvers/implicit_steps.pyx` computes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from mbt._core.engines.lane_engine import get_num_threads
from mbt._core.solvers.implicit_steps import ImplicitCore, roll_out, take
from mbt.autodiff import value
from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError, quote
from mbt.motion.impulses import count_told
from mbt.motion.operands import rows_of_samples
from mbt.motion.stages import find_turning_dofs
from mbt.scalars.sample_parameters import without_repeats
from mbt.tree.force_elements import (
    DoorHinge,
    JointFriction,
    PointContact,
    PrismaticSpring,
    RevoluteSpring,
)
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers
from mbt.tree.servos import read_servos

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.shape_contacts import TouchingShapes
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "Block",
    "ImplicitSteps",
    "SolverSteps",
    "Taken",
    "check_step",
    "is_definite",
    "is_resisted",
    "join_steps",
    "join_taken",
    "make_core",
    "read_dofs",
    "roll_out_samples",
    "take_anew",
]

# A step computes the friction of points from depth and speed at its beginning. With larger constants friction
# would come from rounding errors of positions of some metres, and of speeds of some m/s.
_MOST_STIFFNESS, _MOST_DISSIPATION = 1e14, 1e12  # for each kg of the model [N/m]; [s/m]

# Cached results of `_limits_of`.
_LIMITS: WeakKeyDictionary[MultibodyTree, tuple[dict[str, Any], dict[str, Any]]] = WeakKeyDictionary()


class SolverSteps(NamedTuple):
    """The solver's results for each of n steps; leading axes are those of a batch.

    Attributes
    ----------
    iterations : ndarray of int, shape (..., n)
        Iterations of Newton's method; 0 if the velocity at the beginning was already the solution.
    residual : ndarray, shape (..., n)
        Residual of the optimality condition, relative to the momenta that it sums.
    at_limit : ndarray of bool, shape (..., n, num_velocities)
        Whether a position limit pushed.
    saturated : ndarray of bool, shape (..., n, num_actuators)
        Whether a servo was at its effort limit; False for plain motors.
    """

    iterations: npt.NDArray[np.intp]
    residual: FloatArray
    at_limit: npt.NDArray[np.bool_]
    saturated: npt.NDArray[np.bool_]

    def sample(self, index: tuple[Any, ...]) -> SolverSteps:
        """Return the results of one sample of a batch, or of some steps."""
        parts: list[Any] = [part[index] for part in self]
        return SolverSteps(*parts)

    def __repr__(self) -> str:
        """Describe the worst of all steps."""
        iterations, residual = (part.max(initial=0) for part in (self.iterations, self.residual))
        limits, servos = (np.count_nonzero(part.any(axis=-1)) for part in (self.at_limit, self.saturated))
        return (
            f"<SolverSteps of {self.iterations.size}: at most {iterations} iterations, residual at most "
            f"{residual:.2g}, {limits} with joints at limits, {servos} with saturated servos>"
        )


class Taken(NamedTuple):
    """The states after n steps, and the results of each step.

    Attributes
    ----------
    q, v : ndarray, shapes (..., n, num_positions), (..., n, num_velocities)
        States after each step.
    solver : SolverSteps
        The solver's results.
    is_clipped : ndarray of bool, shape (..., n, num_velocities)
        Whether the effort limits of the tree clipped the forces of inputs and servos.
    drive : ndarray, shape (..., n, num_velocities)
        These forces [N m, N].
    told : ndarray, shape (..., n, k)
        What the steps did, as `mbt.motion.impulses` reads it.
    """

    q: FloatArray
    v: FloatArray
    solver: SolverSteps
    is_clipped: npt.NDArray[np.bool_]
    drive: FloatArray
    told: FloatArray


class Block:
    """Results of compiled steps in several calls: arrays (calls, samples of the batch, steps of a call, ...).

    Attributes
    ----------
    q, v : ndarray
        States after the steps.
    lengths : ndarray
        Lengths of the steps [s].
    """

    def __init__(
        self,
        tree: MultibodyTree,
        batch: tuple[int, ...],
        servos: npt.NDArray[np.intp],
        calls: int,
        steps: int,
    ) -> None:
        shape, nv = (calls, math.prod(batch), steps), tree.num_velocities
        self.q, self.v = np.empty((*shape, tree.num_positions)), np.empty((*shape, nv))
        told = np.empty((*shape, count_told(tree)))
        self.lengths = told[..., 0]
        self._arrays: tuple[npt.NDArray[Any], ...] = (
            self.q, self.v, np.empty(shape, dtype=np.intp), np.empty(shape),
            np.empty((*shape, nv), dtype=np.bool_), np.empty((*shape, servos.size), dtype=np.bool_),
            np.empty((*shape, nv), dtype=np.bool_), np.empty((*shape, nv)), told,
        )  # fmt: skip
        self._batch, self._servos, self._num_actuators = batch, servos, tree.num_actuators

    def __len__(self) -> int:
        return len(self.lengths)

    def rows(self, call: int) -> list[Any]:
        """Return the arrays for the results of one call."""
        return [x[call] for x in self._arrays]

    def read(self, calls: int) -> Taken:
        """Return the steps of the first calls, joined in order."""
        q, v, iterations, residual, at_limit, full, clipped, drive, told = (
            np.moveaxis(x[:calls], 0, 1).reshape(*self._batch, calls * x.shape[2], *x.shape[3:])
            for x in self._arrays
        )
        saturated = np.zeros((*full.shape[:-1], self._num_actuators), dtype=np.bool_)
        saturated[..., self._servos] = full
        return Taken(q, v, SolverSteps(iterations, residual, at_limit, saturated), clipped, drive, told)


class ImplicitSteps:
    """Implicit steps of one Context, of one state or a batch of doubles.

    Parameters
    ----------
    context : Context
        With the parameters and applied forces. It is not changed.
    joint_limits : bool, optional
        Whether position limits of the joints act.
    velocity_limits : bool, optional
        Whether velocity limits of the joints act.
    limit_efforts : bool, optional
        Whether the tree's effort limits apply to inputs plus servos; each servo's own limit always applies.
    contacts : ShapeContact, optional
        Shapes that touch.
    core : ImplicitCore, optional
        Makes the steps of all samples; by default a new one.
    """

    def __init__(
        self,
        context: Context,
        *,
        joint_limits: bool = True,
        velocity_limits: bool = False,
        limit_efforts: bool = True,
        contacts: TouchingShapes | None = None,
        core: ImplicitCore | None = None,
    ) -> None:
        self._context = context
        self.tree, self.batch = context.tree, context.batch_shape
        self._servos = read_servos(self.tree, context).actuators
        # Those of elements in Python depend on time.
        self._moving = context.clone() if self.tree._user_force_elements is not None else None
        self._forces: Any = context.applied_forces if context._has_applied_forces else None
        if core is None:
            core = make_core(
                context,
                joint_limits=joint_limits,
                velocity_limits=velocity_limits,
                limit_efforts=limit_efforts,
                contacts=contacts,
            )
        self._core, self._count = core, math.prod(self.batch)

    def set_servo_targets(self, q_d: FloatArray, v_d: FloatArray) -> None:
        """Set the targets of the servos from now on, (..., num_servos)."""
        rows = (np.ascontiguousarray(x).reshape(self._count, self._servos.size) for x in (q_d, v_d))
        self._core.set_servo_targets(*rows)

    def take(self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, time: Any = 0.0) -> Taken:
        """Take steps with these forces, (..., n, nv), from this state.

        Raises
        ------
        SingularityError
            If a single state has a degree of freedom without inertia; a sample of a batch becomes NaN.
        """
        num_steps = tau.shape[-2]
        calls, steps = (1, num_steps) if self._moving is None else (num_steps, 1)
        block = self.reserve(calls, steps)
        for k in range(calls):
            self.write(block, k, q, v, tau[..., k * steps : (k + 1) * steps, :], dt, time + k * dt)
            q, v = block.q[k, :, -1], block.v[k, :, -1]
        return block.read(calls)

    def reserve(self, calls: int, steps: int = 1) -> Block:
        """Return the arrays into which calls of `write`, with this many steps each, write."""
        return Block(self.tree, self.batch, self._servos, calls, steps)

    def write(
        self, block: Block, call: int, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, time: Any
    ) -> None:
        """Take the steps of one call from this state; raises as `take` does."""
        tree, count = self.tree, self._count
        q, v = (
            np.ascontiguousarray(x).reshape(count, size)
            for x, size in ((q, tree.num_positions), (v, tree.num_velocities))
        )
        bias = None if self._moving is None else self._forces_of_elements(q, v, time)
        steps = tau.shape[-2:]
        if tau.shape[:-2] != self.batch:
            tau = np.broadcast_to(tau, (*self.batch, *steps))
        tau = np.ascontiguousarray(tau).reshape(count, *steps)
        written: Any = (*block.rows(call), get_num_threads())
        singular = take(self._core, q, v, tau, bias, dt, *written)
        block.lengths[call] = dt  # even if a state is not finite
        if not self.batch and singular[0] and steps[0] == 1:
            self._raise_singular(q[0], v[0])

    def roll_out(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, kept: int, every: int
    ) -> tuple[FloatArray, FloatArray] | None:
        """Return the first state, and every n-th later one, under forces (..., T or 1, nv).

        None if elements in Python act.

        Raises
        ------
        SingularityError
            If a single initial state has a degree of freedom without inertia; in a batch that sample is NaN.
        """
        if self._moving is not None:
            return None
        qs, vs, singular = roll_out_samples(self._core, self.batch, q, v, tau, dt, kept, every)
        if not self.batch and singular[0]:
            self._raise_singular(qs[0], vs[0])
        return qs, vs

    def _forces_of_elements(self, q: FloatArray, v: FloatArray, time: Any) -> FloatArray:
        """Return inverse dynamics without acceleration, (count, nv), with the elements in Python."""
        context: Any = self._moving
        context.q, context.v = (x.reshape(*self.batch, x.shape[-1]) for x in (q, v))
        context.time = time
        bias: FloatArray = self.tree.calc_inverse_dynamics(
            context, np.zeros((*self.batch, v.shape[-1])), self._forces, include_force_elements=True
        )
        return bias.reshape(self._count, v.shape[-1])

    def _raise_singular(self, q: FloatArray, v: FloatArray) -> None:
        context = self._context.clone()
        context.q, context.v = q, v
        self.tree.calc_forward_dynamics(context)  # Its error names the degree of freedom.
        raise SingularityError("the mass matrix is not positive definite")


def roll_out_samples(
    core: ImplicitCore,
    batch: tuple[int, ...],
    q: FloatArray,
    v: FloatArray,
    tau: FloatArray,
    dt: float,
    kept: int,
    every: int,
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Return states (*batch, kept + 1, ...) under forces (..., T or 1, nv), and which have no first step."""
    count = math.prod(batch)
    tau = rows_of_samples(tau, batch, count)
    qs, vs = (np.empty((count, kept + 1, x.shape[-1])) for x in (q, v))
    # They are overwritten with the last states: hence copies, contiguous even if broadcast.
    q, v = (np.array(x, order="C").reshape(count, x.shape[-1]) for x in (q, v))
    singular = roll_out(core, q, v, tau, dt, kept, every, qs, vs, get_num_threads())
    return qs.reshape(*batch, *qs.shape[1:]), vs.reshape(*batch, *vs.shape[1:]), singular


def join_steps(parts: list[SolverSteps]) -> SolverSteps:
    """Join the solver's results of consecutive steps."""
    axis = parts[0].residual.ndim - 1
    return SolverSteps(*(np.concatenate(arrays, axis=axis) for arrays in zip(*parts, strict=True)))


def join_taken(parts: list[Taken]) -> Taken:
    """Join consecutive steps."""
    if len(parts) == 1:
        return parts[0]
    solver = join_steps([part.solver for part in parts])
    q, v, clipped, drive, told = (
        np.concatenate([getattr(part, name) for part in parts], axis=-2)
        for name in ("q", "v", "is_clipped", "drive", "told")
    )
    return Taken(q, v, solver, clipped, drive, told)


def make_core(
    context: Context,
    *,
    joint_limits: bool = True,
    velocity_limits: bool = False,
    limit_efforts: bool = True,
    contacts: TouchingShapes | None = None,
) -> ImplicitCore:
    """Return the core that makes the steps of all samples.

    Raises
    ------
    ArgumentValueError
        If a point contact is so stiff that its friction would come from rounding errors.
    """
    _check_contacts(context)
    tree, batch = context.tree, context.batch_shape
    count, nv = math.prod(batch), tree.num_velocities
    constants = read_dofs(context, count, joint_limits) | _read_servos(context, count)
    unlimited = np.full(nv, np.inf)
    constants["slowest"] = tree.velocity_lower_limits if velocity_limits else -unlimited
    constants["fastest"] = tree.velocity_upper_limits if velocity_limits else unlimited
    constants["effort_lower"] = tree.effort_lower_limits if limit_efforts else -unlimited
    constants["effort_upper"] = tree.effort_upper_limits if limit_efforts else unlimited
    constants["body_forces"] = constants["generalized_forces"] = None
    if context._has_applied_forces:
        forces: Any = context.applied_forces
        constants["body_forces"] = forces.body_forces.reshape(count, 6 * tree.num_bodies)
        constants["generalized_forces"] = forces.generalized_forces.reshape(count, nv)
    if batch:
        # What all samples share is read once; targets of servos may differ later.
        constants |= {
            name: without_repeats(array)
            for name, array in constants.items()
            if np.ndim(array) == 2 and name not in ("q_d", "v_d")
        }
    given, own = _parameters_of(context), _parameters_of(take_anew(context))
    rows = own.vectors() if batch else own[np.newaxis]
    touching = None if contacts is None else contacts.core()
    return ImplicitCore(_one_of(context), count, given, rows, constants, touching)


def _check_contacts(context: Context) -> None:
    """Raise for contact so stiff that its friction would come from rounding errors."""
    tree = context.tree
    for element in tree.force_elements:
        if not isinstance(element, PointContact):
            continue
        mass = np.asarray(tree.calc_total_mass(context))
        for name, got, most, unit in (
            ("stiffness", element.get_stiffness(context), _MOST_STIFFNESS * mass, "N/m"),
            ("dissipation", element.get_dissipation(context), np.asarray(_MOST_DISSIPATION), "s/m"),
        ):
            is_bad = (got > most) & (mass > 0.0)
            if is_bad.any():
                bound, value = (np.broadcast_to(x, is_bad.shape)[is_bad][0] for x in (most, got))
                raise ArgumentValueError(
                    f"{element._label}: {name}: expected at most {bound:.3g} {unit} in implicit steps of "
                    f"this model, got {value:.3g}: its friction would be rounding"
                )


def _one_of(context: Any) -> Context:
    """Return one state of the Context, with its locks and other switches."""
    one: Context
    if not context.batch_shape:
        one = context.clone()
    elif 0 in context.batch_shape:
        one = context.tree.create_default_context()
    else:
        one = context._sample((0,) * len(context.batch_shape))
    return one


def _parameters_of(context: Any) -> Any:
    """Return the parameters of one state, (n,), or the `SampleParameters` of many."""
    return context._parameters if context.batch_shape else context._parameter_vector


def take_anew(context: Context) -> Context:
    """Return a copy without the forces that implicit steps compute themselves, so that none acts twice."""
    own = context.clone()
    for element in context.tree.force_elements:
        if isinstance(element, PointContact):
            element.set_stiffness(own, 0.0)
        elif isinstance(element, JointFriction):
            element.set_friction(own, 0.0)
        elif isinstance(element, DoorHinge):
            element._remove_friction(own)
        elif isinstance(element, SpringsAndDampers):
            nothing = np.zeros_like(element._get_constants(own)[0])
            element._set_constants(own, nothing, nothing)
    return own


def read_dofs(context: Context, count: int, joint_limits: bool) -> dict[str, Any]:
    """Return what acts on single dofs, (count, nv), or (nv,) if all samples share it."""
    tree, batch = context.tree, context.batch_shape
    nv = tree.num_velocities
    free = np.broadcast_to(~np.asarray(context._locked_dofs()), (count, nv)).astype(np.float64)
    damping, stiffness = np.zeros((count, nv)), np.zeros((count, nv))
    if nv:
        compiled: Any = tree._compiled
        first = compiled.parameter_slice("damping", 0).start
        given = np.broadcast_to(_parameters_of(context)[..., first : first + nv], (*batch, nv))
        damping[:] = given.reshape(count, nv)
    for element in tree.force_elements:
        if isinstance(element, RevoluteSpring | PrismaticSpring):
            k = np.broadcast_to(element.get_stiffness(context), batch)
            stiffness[:, element.joint.velocity_start] += k.reshape(count)
    limits = _limits_of(tree)[joint_limits]
    return {"free": free, "damping": damping, "stiffness": stiffness, **limits}


def _limits_of(tree: MultibodyTree) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the position of each velocity and its limits, without and with limits active; cached."""
    limits = _LIMITS.get(tree)
    if limits is None:
        limits = _LIMITS[tree] = (_find_limits(tree, False), _find_limits(tree, True))
    return limits


def _find_limits(tree: MultibodyTree, joint_limits: bool) -> dict[str, Any]:
    nv = tree.num_velocities
    lower, upper = np.full(nv, -np.inf), np.full(nv, np.inf)
    position_of = np.zeros(nv, dtype=np.intc)
    turning = find_turning_dofs(tree)
    k: Any
    angles: list[tuple[int, int, float, float]] = []
    for joint in tree.joints:
        start, num = joint.velocity_start, joint.num_velocities
        dofs = slice(start, start + num)
        # Positions are integrals of velocities, except for rotations.
        if joint.num_positions == num and not any(start <= k < start + num for k in turning):
            position_of[dofs] = np.arange(joint.position_start, joint.position_start + num)
            if joint_limits:
                lower[dofs], upper[dofs] = joint.position_lower_limits, joint.position_upper_limits
        elif joint_limits and joint.num_positions == num:
            limits = (1.0, joint.position_lower_limits), (-1.0, joint.position_upper_limits)
            for sign, bounds in limits:
                for k in np.flatnonzero(np.isfinite(bounds)).tolist():
                    angles.append((joint.position_start + k, start + k, sign, float(bounds[k])))
    sides = np.reshape(angles + angles, (-1, 4)).T  # A stop and a spring for each.
    found = {
        "lower": lower, "upper": upper, "position_of": position_of,
        **dict(zip(("angle_positions", "angle_dofs", "angle_signs", "angle_limits"), sides, strict=True)),
    }  # fmt: skip
    for array in found.values():
        array.flags.writeable = False
    return found


def _read_servos(context: Context, count: int) -> dict[str, Any]:
    servos = read_servos(context.tree, context)
    gains = {"kp": servos.stiffness, "kd": servos.damping, "q_d": servos.q_d, "v_d": servos.v_d}
    return {name: array.reshape(count, servos.dofs.size) for name, array in gains.items()} | {
        "servo_dofs": servos.dofs,
        "servo_positions": servos.positions,
        "effort_limits": servos.effort_limits,
    }


def is_resisted(context: Context, dt: float) -> bool:
    """Whether mass, damping or springs resist every motion in a step from one state."""
    M = context.tree.calc_mass_matrix(context)
    dofs = read_dofs(context, 1, False)
    free = dofs["free"][0]
    M = M * np.outer(free, free) + np.diag(1.0 - free)
    M = M + dt * np.diag((dofs["damping"] + dt * dofs["stiffness"])[0] * free)
    return is_definite(M)


def is_definite(M: FloatArray) -> bool:
    """Whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    return True


def check_step(tree: MultibodyTree, dt: Any) -> None:
    """Raise for trees, and for lengths of steps, that implicit steps cannot use.

    Raises
    ------
    ArgumentValueError
        If `dt` is not greater than zero.
    ArgumentTypeError
        If the numbers of the tree are neither doubles nor "autodiff".
    """
    if tree.scalar_type.name not in ("double", "autodiff"):
        raise ArgumentTypeError(
            "tree: expected a tree of doubles or 'autodiff' with method='implicit', got one of "
            f"{quote(tree.scalar_type.name)}"
        )
    if not np.all(value(dt) > 0.0):
        raise ArgumentValueError(f"dt: expected a number > 0 with method='implicit', got {dt}")
