"""The arguments of `simulate`, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError, quote
from mbt.math.arrays import as_bool, as_count, as_finite, as_positive
from mbt.motion.default_method import choose_method
from mbt.motion.events import Event, as_events
from mbt.motion.inputs import Inputs
from mbt.motion.operands import METHODS
from mbt.motion.solvers import SOLVERS
from mbt.tree.context_access import raise_context_mismatch

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.progress import Progress
    from mbt.motion.shape_contacts import TouchingShapes
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Task", "make_task"]

# Fraction of a step: a remainder of the duration beyond this is a last step, below it is rounding.
_LEAST_PART = 1e-6


@dataclass
class Task:
    """A simulation to run.

    Attributes
    ----------
    tree : MultibodyTree
        The model.
    context : Context
        The initial state: a copy, with zero actuation.
    actuation : ndarray
        The actuation, which `inputs` includes.
    start, duration, dt : float
        Times [s].
    method : str
        Name of the method.
    inputs : Inputs
        Forces that drive the model.
    events : tuple of Event
        Events to watch.
    every : int
        A state is kept after every n-th step.
    tolerances : dict
        Tolerances for a solver of SciPy.
    progress : Progress
        Receives progress reports.
    joint_limits, velocity_limits, limit_efforts : bool
        Which limits act in implicit steps.
    contacts : ShapeContact or None
        Shapes that touch in implicit steps.
    """

    tree: MultibodyTree
    context: Context
    actuation: FloatArray
    start: float
    duration: float
    dt: float
    method: str
    inputs: Inputs
    events: tuple[Event, ...]
    every: int
    tolerances: dict[str, float]
    progress: Progress
    joint_limits: bool
    velocity_limits: bool
    limit_efforts: bool
    contacts: TouchingShapes | None = None

    @cached_property
    def num_steps(self) -> int:
        """Number of steps, the last of which may be shorter."""
        return _count_steps(self.duration, self.dt)

    def times(self, first: int, last: int) -> FloatArray:
        """Return the times before some steps, and after the last of them."""
        times = self.start + self.dt * np.arange(first, last + 1, dtype=np.float64)
        if last == self.num_steps:
            times[-1] = self.start + self.duration
        return times

    def length_of(self, step: int) -> float:
        """Return the length of a step."""
        rest = self.duration - step * self.dt
        return rest if rest < (1.0 - _LEAST_PART) * self.dt else self.dt


def _count_steps(duration: float, dt: float) -> int:
    steps = duration / dt
    if steps > 2**53:
        raise ArgumentValueError(
            f"dt: {dt:g} s is too short for a duration of {duration:g} s: too many steps to count"
        )
    whole = int(steps)
    return max(1, whole + (steps - whole > _LEAST_PART))


def make_task(tree: MultibodyTree, context: Context, duration: float, dt: float, **options: Any) -> Task:
    """Return a task, after a check of all arguments of `simulate`.

    Raises
    ------
    MbtError
        If one of them cannot be used.
    """
    _check_context(tree, context)
    duration, dt = as_positive(duration, "duration"), as_positive(dt, "dt")
    joint_limits, contacts = as_bool(options["joint_limits"], "joint_limits"), options["contacts"]
    velocity_limits = as_bool(options["velocity_limits"], "velocity_limits")
    method = _as_method(options["method"])
    if method is None:
        method = choose_method(
            context, joint_limits=joint_limits, contacts=contacts, velocity_limits=velocity_limits
        )
    elif velocity_limits and method != "implicit":
        raise ArgumentValueError(f"velocity_limits: expected method='implicit', got {quote(method)}")
    _check_inertia(tree, context, dt, method)
    if contacts is not None:
        from mbt.motion.shape_contacts import check_contacts

        check_contacts(contacts, tree, method)
    every = as_count(options["every"], "every")
    events = as_events(options["events"])
    if events and context.batch_shape:
        raise ArgumentValueError("events: expected none in a batch; simulate its samples one at a time")
    is_implicit = method == "implicit"
    limit_efforts = options["limit_efforts"]
    limit_efforts = is_implicit if limit_efforts is None else as_bool(limit_efforts, "limit_efforts")
    own = context.clone()
    inputs = Inputs(
        tree,
        context,
        options["control"],
        _count_steps(duration, dt),
        start=_common_time(context),
        dt=dt,
        limit_efforts=limit_efforts and not is_implicit,
        with_servos=not is_implicit,
        servo_positions=options["servo_positions"],
        servo_velocities=options["servo_velocities"],
    )
    start = _common_time(context)
    _check_clock(start, duration, dt)
    own.actuation = np.zeros_like(own.actuation)
    return Task(
        tree=tree,
        context=own,
        actuation=context.actuation,
        start=start,
        duration=duration,
        dt=dt,
        method=method,
        inputs=inputs,
        events=events,
        every=every,
        tolerances={name: as_positive(options[name], name) for name in ("rtol", "atol")},
        progress=options["progress"],
        joint_limits=joint_limits,
        velocity_limits=velocity_limits,
        limit_efforts=limit_efforts,
        contacts=contacts,
    )


def _as_method(method: object) -> str | None:
    if method is None or (isinstance(method, str) and (method in METHODS or method in SOLVERS)):
        return method
    known = ", ".join(map(repr, (*METHODS, *SOLVERS)))
    raise ArgumentValueError(f"method: expected one of {known}, got {quote(method)}")


def _check_context(tree: MultibodyTree, context: Context) -> None:
    from mbt.tree import MultibodyTree

    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    if not isinstance(context, ContextCore) or context.tree is not tree:
        raise_context_mismatch(tree, context)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"tree: expected a tree of doubles, got one of {quote(tree.scalar_type.name)}, whose steps "
            "mbt.functional.rollout computes"
        )
    if not context.batch_shape:
        for name in ("q", "v"):
            if not np.isfinite(getattr(context, name)).all():
                raise ArgumentValueError(
                    f"context.{name}: expected finite numbers, got {getattr(context, name)}"
                )


def _check_inertia(tree: MultibodyTree, context: Context, dt: float, method: str) -> None:
    """Raise if a degree of freedom has no inertia; for an implicit step damping is enough."""
    if context.batch_shape:
        return
    try:
        tree.calc_forward_dynamics(context)
    except SingularityError as error:
        if method != "implicit":
            raise
        from mbt.motion.implicit import is_resisted

        if not is_resisted(context, dt):
            raise SingularityError(f"{error} For implicit steps, damping of the joint is enough.") from None


def _check_clock(start: float, duration: float, dt: float) -> None:
    """Raise for times so large that rounding stops them: ``start + dt == start``."""
    spacing = math.ulp(max(abs(start), abs(start + duration)))
    if dt < 4.0 * spacing:
        raise ArgumentValueError(
            f"context.time: expected a time at which steps of dt = {dt:g} s can be told apart, "
            f"got {start:g}, where floating-point numbers are {spacing:.2g} s apart; begin at 0"
        )


def _common_time(context: Context) -> float:
    times = np.unique(context.time)
    if times.size > 1:
        raise ArgumentValueError(
            f"context.time: expected the same in all samples, got {times[0]:g} to {times[-1]:g}"
        )
    return as_finite(times[0] if times.size else 0.0, "context.time")
