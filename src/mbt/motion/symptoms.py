"""Symptoms in a trajectory of a simulation that cannot be trusted: messages with causes and cures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import quote
from mbt.motion.accelerations import calc_vdot
from mbt.motion.implicit import is_definite, read_dofs
from mbt.motion.operands import EXPLICIT
from mbt.motion.over_time import contacts_of
from mbt.motion.stiffness import (
    TooFast,
    calc_step_error,
    find_fastest_body,
    find_held_too_long,
    find_too_fast,
)
from mbt.tree.force_elements import UniformGravityFieldElement
from mbt.tree.servos import has_servos, read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.task import Task
    from mbt.motion.trajectory import Trajectory

__all__ = ["FEWEST_STEPS", "find_cause", "find_early_cause", "find_open_loops", "find_symptoms"]

# One state is examined per this many steps, and at most this many in all.
_STEPS_A_PROBE = 400
_MOST_PROBES = 8
# Also limited by the number of velocities: the cost of examining a state grows as its cube.
_PROBED_DOFS = 600
# After a failure, which happens within few steps; and for stiff elements, so that advice holds throughout.
_PROBES_OF_FAILURE = 24
#: Shorter simulations are not checked for gained energy or stuck constraints, as these take time to show.
FEWEST_STEPS = 100
_ENERGY_SAMPLES = 16
# Fraction of the energy of a motion that may be gained without work: the method is of order one.
_MOST_GAIN = 0.2
# Constraints that begin farther apart are closed by their stabilization, which adds energy [m, rad]; it is
# ignored for this multiple of the decay time of their errors.
_CLOSED = 1e-6
_TIMES_OF_CLOSING = 8.0
# A little more than a turn: larger angles are taken for degrees if the limits are within it [rad].
_TURN = 6.5
# Fraction of its range by which a joint may be outside a limit.
_PART_OF_RANGE = 1e-3
# Shorter steps are no cure if this many times more are needed: the element moves next to no mass.
_MOST_MORE_STEPS = 1000
# A body that turns farther in a step may need shorter ones [rad].
_LARGE_TURN = 0.3
# Such steps may differ from two half steps by this fraction of the velocity.
_MOST_TURNING_ERROR = 0.01
# The same after an impact; number of steps examined, of those before the impact, and of impacts.
_THROWN = 0.05
_IMPACT, _BEFORE_IMPACT = 40, 5
_MOST_IMPACTS = 3
# Relative to the largest moment of inertia: files have few digits.
_ROUNDING_OF_MOMENTS = 1e-6
# Overlaps beyond this multiple of the depth at which the total weight rests on a point, and this depth [m].
_TIMES_OF_REST, _DEEP = 10.0, 0.01
# Forces of a control that diverges [N m, N].
_RUNAWAY = 1e30


def find_early_cause(task: Task) -> str:
    """Return a problem that is visible before the first step.

    An element that is too fast for explicit steps at the first state; a body whose inertia makes implicit
    steps gain energy; bodies that begin deep in the ground.
    """
    context = task.context
    if task.method == "implicit" and not context.batch_shape:
        return _describe_impossible_bodies(context) or _describe_overlap(task)
    is_looked_at = task.method in EXPLICIT and not context.batch_shape
    if not is_looked_at or not task.tree.num_velocities or not _has_stiff_elements(task):
        return ""
    with np.errstate(all="ignore"):
        # Inputs hardly affect how fast an element is, and functions of users may count their calls.
        fast = _probe(task, context.clone(), np.zeros(context.v.shape))
        return "" if fast is None or fast.element is None else _advise(task, context, fast)


def find_symptoms(task: Task, trajectory: Trajectory, *, is_known_stiff: bool = False) -> list[str]:
    """Return warnings about a simulation that ran to its end.

    For explicit methods with fixed steps: elements that are too fast for the steps, and gained energy; for
    implicit steps: elements in Python that are too fast, and efforts that limits of zero clip. For all
    methods: joints that passed their limits, or whose start seems to be in degrees.
    """
    found = [
        _describe_degrees(task, trajectory),
        _describe_limits(task, trajectory),
        _describe_powerless(task, trajectory),
    ]
    # One warning is enough about a motion that is wrong.
    is_looked_at = task.method in EXPLICIT and not is_known_stiff
    if is_looked_at and not trajectory.batch_shape and task.tree.num_velocities:
        with np.errstate(all="ignore"):
            stiffness = _describe_stiffness(task, trajectory)
            gain = "" if stiffness or task.num_steps < FEWEST_STEPS else _describe_gain(task, trajectory)
            found.append(stiffness or gain or _describe_turning(task, trajectory))
    if task.method == "implicit" and not trajectory.batch_shape:
        samples = [*_spread_samples(task, trajectory), *_find_jump(trajectory.v)]
        found.append(_describe_held(task, trajectory, samples))
    return [text for text in found if text]


def find_open_loops(task: Task, trajectory: Trajectory, *, is_known_wrong: bool) -> list[str]:
    """Return warnings about constraints of one state: they lock the model, open or do not close."""
    from mbt.tree.constraints.closing import describe_opened, describe_stuck, describe_unclosed

    start, end = _context_at(task, trajectory, 0).clone(), trajectory.final_context
    with np.errstate(all="ignore"):
        stuck = describe_stuck(task.tree, start, end)
        if stuck:
            return [f"the model is stuck, in whole or in part: it has {stuck}"]
        opened = "" if is_known_wrong else describe_opened(task.tree, start, end)
        if opened:
            other = "'rk4'" if task.method == "implicit" else "'implicit'"
            return [
                f"it has {opened}: take shorter steps or method={other}, or make bodies that are light "
                "compared with what they hold heavier"
            ]
        if _find_settled(task, trajectory) == len(trajectory):
            return []
        unclosed = describe_unclosed(task.tree, start, end)
    return [f"it has {unclosed}: start where they hold, as tree.assemble(context) finds"] if unclosed else []


def find_cause(task: Task, trajectory: Trajectory, refused_tau: FloatArray | None = None) -> str:
    """Return why a simulation failed and what would help, as far as its states show.

    A bad control shows in the last forces, or in those with which a solver could not continue.
    """
    runaway = ""
    tau = trajectory.tau[-1] if refused_tau is None else refused_tau
    if np.abs(tau).max(initial=0.0) > _RUNAWAY or not np.isfinite(tau).all():
        k = int(np.argmax(np.abs(np.nan_to_num(tau, nan=np.inf))))
        name = trajectory.velocity_names[k]
        if task.inputs.is_function_alone:
            runaway = f"the control function returned {tau[k]:.3g} for {name}"
        else:
            runaway = f"the force of control and servos along {name} was {tau[k]:.3g}"
        if task.inputs.is_function:
            return runaway
    if task.method == "implicit":
        last = len(trajectory) - 1
        probes = [0, *range(max(0, last - _PROBES_OF_FAILURE), last + 1)]
        return (
            runaway
            or _describe_targets(task)
            or _describe_singular(task, trajectory)
            or _describe_held(task, trajectory, probes)
        )
    if task.method not in EXPLICIT:
        return runaway
    # Efforts of servos also diverge if another element is too fast.
    return _find_cause_of_explicit(task, trajectory) or runaway


def _describe_targets(task: Task) -> str:
    """Name a servo whose target is NaN."""
    servos = read_servos(task.tree, task.context)
    last = task.inputs.targets or servos
    for name, targets in (("servo_positions", last.q_d), ("servo_velocities", last.v_d)):
        for k in servos.actuators[np.isnan(targets)].tolist():
            return f"{name} of actuator {task.tree.actuator_names[k]!r} is nan"
    return ""


def _find_cause_of_explicit(task: Task, trajectory: Trajectory) -> str:
    with np.errstate(all="ignore"):
        last = len(trajectory) - 1
        late = range(max(0, last - _PROBES_OF_FAILURE // 2), last + 1)
        probes = np.unique([*np.linspace(0, last, _PROBES_OF_FAILURE // 2).astype(int), *late])
        for i in probes.tolist():
            context = _context_at(task, trajectory, i)
            fast = _probe(task, context, trajectory.tau[i])
            if fast is not None:
                return _advise(task, context, fast, failed=True)
        for i in probes.tolist():
            context = _context_at(task, trajectory, i)
            if find_fastest_body(context)[1] * task.dt > _LARGE_TURN:
                return _advise(task, context, None, failed=True)
    return ""


def _describe_impossible_bodies(context: Context) -> str:
    """Describe a body with a negative moment of inertia: no real motion has its energy."""
    M = context.tree.eval_position_kinematics(context).M_Bo_W[1:]
    mass = M[:, 3, 3]
    c = np.stack([M[:, 2, 4], M[:, 0, 5], M[:, 1, 3]], axis=-1) / np.where(mass, mass, 1.0)[:, np.newaxis]
    offsets = mass[:, np.newaxis, np.newaxis] * c[:, :, np.newaxis] * c[:, np.newaxis]
    spread = np.trace(offsets, axis1=1, axis2=2)  # m c^2
    moments = np.linalg.eigvalsh(M[:, :3, :3] + offsets - spread[:, np.newaxis, np.newaxis] * np.eye(3))
    largest = np.maximum(np.abs(moments).max(axis=-1, initial=0.0), spread)
    impossible = np.flatnonzero(moments[:, 0] < -_ROUNDING_OF_MOMENTS * largest)
    if not impossible.size:
        return ""
    body, least = context.tree.bodies[1 + impossible[0]], moments[impossible[0], 0]
    return (
        f"{body._label} has a moment of inertia of {least:.3g} kg m^2 about its centre of mass, which no "
        "body can have: implicit steps may gain energy without bound. Correct its inertia, as with "
        "mbt.SpatialInertia.solid_box_with_mass"
    )


def _describe_overlap(task: Task) -> str:
    """Describe overlaps at the start: they resolve slowly."""
    context, tree, contacts = task.context, task.tree, task.contacts
    weight = 9.81 * tree.calc_total_mass(context)
    found = [(_DEEP, "")]
    with np.errstate(all="ignore"):
        for element in contacts_of(tree):
            depth, stiffness = float(element.calc_depths(context).max()), element.get_stiffness(context)
            if depth * stiffness > _TIMES_OF_REST * weight:
                what = f"points on {element.frame._label} start {depth:.3g} m below their plane"
                found.append((depth, what))
        if contacts is not None:
            pairs, _, _, gaps = contacts.core().find(tree.eval_position_kinematics(context).X_WB, 0.0)
            for k, gap in zip(pairs.tolist(), gaps.tolist(), strict=True):
                if -gap * contacts.stiffness[k] > _TIMES_OF_REST * weight:
                    a, b = contacts.pairs[k]
                    found.append((-gap, f"{quote(a)} and {quote(b)} overlap by {-gap:.3g} m at the start"))
    _, what = max(found)
    return what and f"{what}, and come out slowly, if at all: start where nothing overlaps"


def _describe_singular(task: Task, trajectory: Trajectory) -> str:
    """Name the joint, outermost first, whose motion nothing resists at the last state."""
    context = _context_at(task, trajectory, len(trajectory) - 1)
    tree = task.tree
    dofs = read_dofs(context, 1, False)
    free = np.flatnonzero(dofs["free"][0])
    M = tree.calc_mass_matrix(context) + task.dt * np.diag((dofs["damping"] + task.dt * dofs["stiffness"])[0])
    for k in range(free.size - 1, -1, -1):
        part = free[k:]
        if not is_definite(M[np.ix_(part, part)]):
            break
    else:
        return ""
    dof = free[k]
    joint = next(x for x in tree.joints if x.velocity_start <= dof < x.velocity_start + x.num_velocities)
    return (
        f"neither inertia nor damping resists {joint._label}: give {joint.child_body._label}, or what it "
        "carries, an inertia that a body can have, weld the joint, or add damping or a rotor inertia"
    )


def _describe_stiffness(task: Task, trajectory: Trajectory) -> str:
    if not _has_stiff_elements(task):
        return ""
    samples = _spread_samples(task, trajectory)
    found = _find_fastest(task, trajectory, [*samples, *_find_impact(task, trajectory)])
    if found is None:
        return ""
    # Stick-slip friction is as stiff as its normal force is large: one sample tells little about another.
    later = _find_fastest(task, trajectory, _spread_samples(task, trajectory, _PROBES_OF_FAILURE))
    sample, fast = min((x for x in (found, later) if x is not None), key=lambda x: x[1].longest_step)
    return _advise(task, _context_at(task, trajectory, sample), fast)


def _find_fastest(task: Task, trajectory: Trajectory, samples: list[int]) -> tuple[int, TooFast] | None:
    """Return the sample that needs the shortest steps, and the element that does."""
    probes = ((i, _probe(task, _context_at(task, trajectory, i), trajectory.tau[i])) for i in samples)
    found = [(i, fast) for i, fast in probes if fast is not None and fast.element is not None]
    return min(found, key=lambda x: x[1].longest_step, default=None)


def _has_stiff_elements(task: Task) -> bool:
    """Whether there is any element that may be too fast for the steps."""
    tree = task.tree
    is_damped = any(np.any(joint.get_damping_vector(task.context)) for joint in tree.joints)
    are_weights = all(isinstance(x, UniformGravityFieldElement) for x in tree.force_elements)
    return is_damped or not are_weights or has_servos(tree)


def _describe_held(task: Task, trajectory: Trajectory, samples: list[int]) -> str:
    """Describe an element in Python that is too fast for implicit steps."""
    if not task.tree._user_force_elements:
        return ""
    with np.errstate(all="ignore"):
        for i in samples:
            fast = find_held_too_long(_context_at(task, trajectory, i), task.dt)
            if fast is not None:
                return (
                    f"steps of {task.dt:.3g} s are too long for the force of {fast.element}, which implicit "
                    f"steps take at their beginning: it acts at a rate of {fast.rate:.3g} 1/s at "
                    f"{trajectory.time[i]:.4g} s: take dt = {_rounded_down(fast.longest_step):g} s, or "
                    "method='Radau' or 'BDF'"
                )
    return ""


def _spread_samples(task: Task, trajectory: Trajectory, count: int | None = None) -> list[int]:
    """Return evenly spread samples, at most `count`, and fewer for large models."""
    if count is None:
        count = min(_MOST_PROBES, 1 + task.num_steps // _STEPS_A_PROBE)
    places = np.linspace(0, len(trajectory) - 1, min(count, _most_probes(task))).astype(int)
    return sorted(set(places.tolist()))


def _most_probes(task: Task) -> int:
    return 1 + _PROBED_DOFS // max(1, task.tree.num_velocities)


def _find_jump(v: FloatArray) -> list[int]:
    """Return the sample before the step in which a velocity changes most, if it grows in magnitude.

    Evenly spread samples may miss it: a stiff contact throws a landing body within one step. A body that
    comes to a stop only meets the stiffness at that moment.
    """
    jumps = np.abs(np.diff(v, axis=0))
    if not jumps.size:
        return []
    sample, dof = divmod(int(np.argmax(jumps)), v.shape[1])
    return [sample] if abs(v[sample + 1, dof]) > abs(v[sample, dof]) else []


def _find_impact(task: Task, trajectory: Trajectory) -> list[int]:
    """Return the samples of an impact after which shorter steps lead to a different motion.

    Evenly spread samples may miss it. A regular bounce, or chatter that passes, is not a symptom.
    """
    if not contacts_of(task.tree) or task.tree._user_force_elements:
        return []
    bends = np.abs(np.diff(trajectory.v, 2, axis=0)).max(axis=1, initial=0.0)
    firsts: list[int] = []
    for bend in np.argsort(-bends, kind="stable")[: _MOST_IMPACTS * _IMPACT].tolist():
        first = max(0, bend + 1 - _BEFORE_IMPACT)
        if len(firsts) < _MOST_IMPACTS and all(abs(first - x) >= _IMPACT for x in firsts):
            firsts.append(first)
    for first in firsts:
        context, tau = _context_at(task, trajectory, first), trajectory.tau[first]
        if calc_step_error(context, tau, task.dt, task.method, _IMPACT, 4) > _THROWN:
            stride = -(-_IMPACT // _most_probes(task))
            return list(range(first, min(first + _IMPACT, len(trajectory)), stride))
    return []


def _describe_turning(task: Task, trajectory: Trajectory) -> str:
    """Describe a body that turns so far in a step that steps of half the length lead elsewhere."""
    for i in [*_spread_samples(task, trajectory), *_find_jump(trajectory.v)]:
        context = _context_at(task, trajectory, i)
        if find_fastest_body(context)[1] * task.dt < _LARGE_TURN:
            continue
        error = calc_step_error(context, trajectory.tau[i], task.dt, task.method)
        if error > _MOST_TURNING_ERROR:
            return _advise(task, context, None)
    return ""


def _describe_gain(task: Task, trajectory: Trajectory) -> str:
    """Describe the energy gained by a model without drives and elements in Python."""
    applied = task.context.applied_forces
    is_pushed = applied.body_forces.any() or applied.generalized_forces.any()
    is_driven = task.inputs.is_function or trajectory.tau.any() or is_pushed
    if is_driven or task.tree._user_force_elements:
        return ""
    settled = _find_settled(task, trajectory)
    if settled == len(trajectory):
        return ""
    samples = np.unique(np.linspace(settled, len(trajectory) - 1, _ENERGY_SAMPLES).astype(int)).tolist()
    energies = []
    for i in samples:  # Cheaper than a batch for so few samples.
        context = _context_at(task, trajectory, i)
        energies.append((task.tree.calc_kinetic_energy(context), task.tree.calc_potential_energy(context)))
    kinetic, potential = np.array(energies).T
    total = kinetic + potential
    # The energy that a motion without gain can turn into kinetic energy.
    scale = kinetic[0] + potential[0] - potential.min() + 1e-9 * np.abs(potential).max()
    grown = np.flatnonzero(total - total[0] > _MOST_GAIN * scale)
    if not grown.size:
        return ""
    gain = (total - total[0]).max()
    cause = _advise(task, _context_at(task, trajectory, samples[grown[0]]), None, failed=True)
    grew = f"the energy grew by {gain:.3g} J, from {scale:.3g} J of motion"
    return f"{grew}, and nothing drives the model: {cause}"


def _find_settled(task: Task, trajectory: Trajectory) -> int:
    """Return the first sample at which constraints that began open are closed, or the number of samples."""
    context = _context_at(task, trajectory, 0)
    errors = task.tree.calc_constraint_errors(context)
    if np.abs(errors).max(initial=0.0) <= _CLOSED:
        return 0
    pairs = [constraint.get_stabilization(context) for constraint in task.tree.constraints]
    rate = min(-np.roots([1.0, 2.0 * zeta * omega, omega**2]).real.max() for omega, zeta in pairs)
    closed = trajectory.time[0] + _TIMES_OF_CLOSING / max(rate, 1e-9)
    return int(np.searchsorted(trajectory.time, closed))


def _describe_degrees(task: Task, trajectory: Trajectory) -> str:
    """Name the joint that starts more than a turn from zero and outside limits that are within a turn."""
    lower, upper = task.tree.position_lower_limits, task.tree.position_upper_limits
    is_angle = np.array([unit == "rad" for unit in trajectory.position_units], dtype=bool)
    is_angle &= (lower >= -_TURN) & (upper <= _TURN)
    if not is_angle.any():
        return ""
    q = trajectory.q[..., 0, :].reshape(-1, len(lower))
    is_far = is_angle & (np.abs(q) > _TURN)
    if not is_far.any():
        return ""
    sample, k = np.argwhere(is_far)[0]
    return (
        f"{trajectory.position_names[k]} starts at {q[sample, k]:.4g} rad, far beyond its limits "
        f"{lower[k]:.4g} and {upper[k]:.4g} rad: are these degrees?"
    )


def _describe_powerless(task: Task, trajectory: Trajectory) -> str:
    """Name the joint that an effort limit of zero keeps from moving: some exporters write effort="0"."""
    if not task.limit_efforts:
        return ""
    limited = trajectory.num_limited
    clipped = limited.any(axis=tuple(range(limited.ndim - 1)))
    idle = np.flatnonzero(clipped & (task.tree.effort_upper_limits == 0.0))
    if not idle.size:
        return ""
    return (
        f"the effort limit of {trajectory.velocity_names[idle[0]]} is 0, and clips all of its control: give "
        "it a limit in the file or on tree.edit(), or pass limit_efforts=False"
    )


def _describe_limits(task: Task, trajectory: Trajectory) -> str:
    """Name the joint that first passed a limit of its position."""
    tree: Any = task.tree
    lower, upper = tree.position_lower_limits, tree.position_upper_limits
    if not (np.isfinite(lower).any() or np.isfinite(upper).any()):
        return ""
    extent = np.where(np.isfinite(upper - lower), upper - lower, 1.0)
    slack = _PART_OF_RANGE * np.maximum(extent, 1e-6)
    is_outside = (trajectory.q < lower - slack) | (trajectory.q > upper + slack)
    # A position that begins outside does not pass the limit.
    is_outside &= ~is_outside[..., :1, :]
    by_time = is_outside.reshape(-1, *is_outside.shape[-2:]).any(axis=0)
    passed = np.flatnonzero(by_time.any(axis=0))
    if not passed.size:
        return ""
    k = int(passed[np.argmin(by_time[:, passed].argmax(axis=0))])
    i = int(by_time[:, k].argmax())
    value = trajectory.q[..., i, k][is_outside[..., i, k]].flat[0]
    is_below = value < lower[k]
    joint = next(x for x in tree.joints if x.position_start <= k < x.position_start + x.num_positions)
    limit = f"{'lower' if is_below else 'upper'} limit {(lower if is_below else upper)[k]:.4g}"
    unit = trajectory.position_units[k]
    more = passed.size - 1
    others = f"; so did {more} more position{'s' if more > 1 else ''}" if more else ""
    why = ""
    if task.method != "implicit":
        why = ": position limits only act with method='implicit'"
    elif not task.joint_limits:
        why = ": position limits do not act with joint_limits=False"
    return (
        f"{joint._label} passed its {limit} {unit}".rstrip() + f" at {trajectory.time[i]:.4g} s{others}{why}"
    )


def _context_at(task: Task, trajectory: Trajectory, i: int) -> Context:
    context = task.context
    context.time, context.q, context.v = trajectory.time[i], trajectory.q[i], trajectory.v[i]
    return context


def _probe(task: Task, context: Context, tau: FloatArray) -> TooFast | None:
    fast = find_too_fast(context, tau, task.dt, task.method)
    if contacts_of(task.tree) and _is_near_rest(context, tau, task.dt):
        # Stiction that is too stiff chatters near rest, where it is stiffest.
        context.v = np.zeros_like(context.v)
        at_rest = find_too_fast(context, tau, task.dt, task.method)
        if at_rest is not None and (fast is None or at_rest.longest_step < fast.longest_step):
            return at_rest
    return fast


def _is_near_rest(context: Context, tau: FloatArray, dt: float) -> bool:
    """Whether two steps change the velocity by at least its own magnitude, by kinetic energy."""
    M, dv = context.tree.calc_mass_matrix(context), 2.0 * dt * calc_vdot(context, tau)
    return bool(context.v @ M @ context.v <= dv @ M @ dv)


def _advise(task: Task, context: Context, fast: TooFast | None, *, failed: bool = False) -> str:
    """Say what is too fast, and which step or method would help; `failed` if energy was gained."""
    steps = f"steps of {task.dt:.3g} s are too long for"
    when = f"at {context.time:.4g} s"
    if fast is not None and fast.element is not None:
        dt = _rounded_down(fast.longest_step)
        is_in_python = fast.element in [
            f"{x._label} ({type(x).__name__})" for x in task.tree._user_force_elements or ()
        ]
        methods = "'Radau' or 'BDF'" if is_in_python else "'implicit', 'Radau' or 'BDF'"
        if dt * _MOST_MORE_STEPS < task.dt:
            cure = f"give more inertia to what it moves, as of a rotor, or take method={methods}"
        else:
            cure = f"take dt = {dt:g} s, or method={methods}"
        return f"{steps} {fast.element}, which acts at a rate of {fast.rate:.3g} 1/s {when}: {cure}"
    body, speed = find_fastest_body(context)
    # Implicit steps cannot gain energy, but are no more accurate.
    others = ["'implicit'"] * failed + ["'rk4'"] * (task.method != "rk4")
    cure = f"take a shorter dt, or method={', '.join(others)}{' or ' if others else ''}'RK45'"
    if speed * task.dt < 1e-3:
        return f"{steps} the motion {when}: {cure}"
    turn = f"turns at {speed:.3g} rad/s {when}, {speed * task.dt:.2g} rad in a step"
    return f"{steps} {body}, which {turn}: {cure}"


def _rounded_down(step: float) -> float:
    """Return at most half of a step, rounded to one digit: close to the limit of stability motions ring."""
    unit = 10.0 ** np.floor(np.log10(0.5 * step))
    return float(np.floor(0.5 * step / unit) * unit)
