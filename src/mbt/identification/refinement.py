"""Fits of parameters that make a simulated motion match a measured one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, SingularityError, quote
from mbt.identification.columns import as_tree
from mbt.identification.doubts import doubts_of_rest, doubts_of_values
from mbt.identification.segments import Segments
from mbt.math.arrays import FloatArray, as_count, as_finite_array, as_float_array, as_own_array, as_positive
from mbt.motion.progress import Progress

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Refinement", "refine"]

# The search ends when squared residuals, in units of the noise, decrease by less than this.
_ENOUGH = 1e-4
_SETTLED = 1e-4
# Lower bound of the noise, as part of the size of the motion: smaller residuals are rounding errors.
_ROUNDING = 1e-10
_MOST_DAMPING = 1e12


@dataclass(frozen=True, eq=False, repr=False)
class Refinement:
    """Result of `refine`.

    Attributes
    ----------
    values : ndarray, shape (k,)
        The values.
    standard_errors : ndarray, shape (k,)
        Their standard errors, for noise that is independent from sample to sample; infinite for values that
        the motion does not determine, zero for values at a limit.
    noise : ndarray, shape (2, num_velocities)
        Standard deviations of measured positions (first row; rotations as rotation vectors) and velocities,
        estimated from the residuals.
    start_noise : ndarray, shape (2, num_velocities)
        Root mean squares of the residuals with the initial guess.
    num_iterations : int
        Steps of the search.
    velocity_names : tuple of str
        Names of the velocities, for the columns of `noise`.
    warnings : tuple of str
        Reasons to doubt this fit, as sentences.
    """

    values: FloatArray
    standard_errors: FloatArray
    noise: FloatArray
    start_noise: FloatArray
    num_iterations: int
    velocity_names: tuple[str, ...]
    warnings: tuple[str, ...]

    def report(self) -> str:
        """Return the result as text: values with errors, residuals of the motion, warnings."""
        lines = [
            f"{len(self.values)} values, after {self.num_iterations} steps of the search",
            "",
            f"{'found':>11} {'std. error':>11}",
            *(f"{x:11.4g} {e:11.4g}" for x, e in zip(self.values, self.standard_errors, strict=True)),
            "",
            f"{'residual of':24} {'position':>11} {'at first':>11} {'velocity':>11} {'at first':>11}",
        ]
        columns = np.stack([self.noise, self.start_noise], axis=1).reshape(4, -1).T
        for name, row in zip(self.velocity_names, columns, strict=True):
            lines.append(f"{name:24} " + " ".join(f"{x:11.3g}" for x in row))
        lines += [*([""] if self.warnings else []), *(f"warning: {text}" for text in self.warnings)]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the report."""
        return self.report()

    def __repr__(self) -> str:
        """Show the numbers of values and steps."""
        return f"<Refinement: {len(self.values)} values in {self.num_iterations} steps>"


def refine(
    tree: MultibodyTree,
    q: object,
    v: object,
    tau: object,
    dt: float,
    *,
    apply: Callable[[Any, FloatArray], object],
    start: object,
    scale: object = None,
    lower: object = None,
    upper: object = None,
    servo_positions: object = None,
    segment: int = 50,
    method: str = "semi_implicit_euler",
    iterations: int = 50,
    progress: bool | Callable[[float], object] = False,
) -> Refinement:
    """Fit any parameters to measured motion by simulations: the output-error method, without accelerations.

    The log is split into segments. Each is simulated from its own initial state, under the measured forces,
    and the squared differences from the measured states are minimized over the values and all initial states
    (Levenberg-Marquardt; derivatives are differences of rollouts, of all segments and values in one batch).
    This fits parameters in which forces are nonlinear: contact, the gains of servos, springs, Stribeck
    friction. Begin with `identify`, which needs no initial guess and finds the best fit of all linear
    parameters.

    Parameters
    ----------
    tree : MultibodyTree
        The model, finalized. It is not changed.
    q : array_like, shape (n + 1, num_positions)
        Measured positions, before the first step and after each step.
    v : array_like, shape (n + 1, num_velocities)
        Measured velocities.
    tau : array_like, shape (n, num_velocities)
        Generalized forces of the motors other than servos, held during each step.
    dt : float
        Length of a step [s].
    apply : callable
        ``apply(context, x)`` sets the parameters in a Context of a batch; x has a row of k values for each
        sample.
    start : array_like, shape (k,)
        The initial guess.
    scale : array_like, shape (k,), optional
        The change of each value that counts as large; by default the size of `start`, or one where it is
        zero.
    lower, upper : array_like, shape (k,), optional
        Limits of the values; `apply` is never called with values beyond them.
    servo_positions : array_like, shape (n, num_actuators), optional
        Targets of servos during each step, as for ``Context.servo_positions``. By default those of a new
        Context, or those that `apply` sets.
    segment : int, optional
        Steps per segment. Longer segments are more informative, but make the search harder: a chaotic motion
        soon forgets where it began.
    method : {"semi_implicit_euler", "rk4", "implicit"}, optional
        The integration method, see `mbt.functional.rollout`. It is part of the model: use short steps, or a
        method of high order.
    iterations : int, optional
        Largest number of steps of the search.
    progress : bool or callable, optional
        True for a progress bar, with `tqdm` if installed; or a function of the fraction of iterations done.

    Returns
    -------
    Refinement

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument is invalid, or the log has fewer steps than a segment.
    SingularityError
        When the simulation with the initial guess does not stay finite.

    Examples
    --------
    The stiffness and damping of a pendulum's spring, from two seconds of motion:

    >>> import mbt, numpy as np
    >>> tree = mbt.MultibodyTree()
    >>> M = mbt.SpatialInertia.point_mass(1.0, [0.0, 0.0, -0.5])
    >>> body = tree.add_body(mbt.RigidBody("pendulum", M))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, body, None, axis=[0, 1, 0])
    >>> spring = tree.add_force_element(mbt.RevoluteSpring(hinge, nominal_angle=0.0, stiffness=1.0))
    >>> tree.finalize()
    >>> def apply(context, x):
    ...     spring.set_stiffness(context, x[:, 0])
    ...     hinge.set_damping(context, x[:, 1])
    >>> real = tree.create_default_context(batch_shape=1)
    >>> apply(real, np.array([[8.0, 0.3]]))
    >>> real.q = [[0.5]]
    >>> q, v = tree.rollout(real, np.zeros((1, 200, 1)), 0.01)
    >>> found = mbt.identification.refine(
    ...     tree, q[0], v[0], np.zeros((200, 1)), 0.01, apply=apply, start=[1.0, 0.1], lower=[0.0, 0.0]
    ... )
    >>> found.values.round(6)
    array([8. , 0.3])
    """
    as_tree(tree, "refine")
    nv = tree.num_velocities
    if not callable(apply):
        raise ArgumentTypeError(f"apply: expected a function of a Context and values, got {quote(apply)}")
    force = as_finite_array(tau, "tau", (None, nv))
    n = len(force)
    positions = as_finite_array(q, "q", (n + 1, tree.num_positions))
    velocities = as_finite_array(v, "v", (n + 1, nv))
    targets = servo_positions
    if targets is not None:
        targets = as_finite_array(targets, "servo_positions", (n, len(tree.joint_actuators)))
    steps = as_count(segment, "segment")
    if n < steps:
        raise ArgumentValueError(f"the log is too short: {n} steps, for segments of {steps}")
    x = as_own_array(start, "start", (None,))
    least, most = _limits(lower, "lower", -np.inf, x), _limits(upper, "upper", np.inf, x)
    if not ((least <= x) & (x <= most)).all():
        raise ArgumentValueError(f"start: expected values from {least} to {most}, got {x}")
    if scale is None:
        scales = np.where(x != 0.0, np.abs(x), 1.0)
    else:
        scales = as_finite_array(scale, "scale", x.shape)
        if not (scales > 0.0).all():
            raise ArgumentValueError("scale: expected numbers > 0")
    segments = Segments(
        tree, positions, velocities, force, as_positive(dt, "dt"), steps, method, apply, targets, scales, most
    )
    if segments.freedom <= len(x):
        raise ArgumentValueError(
            f"the log is too short: {segments.freedom} numbers besides the first states, for {len(x)} values"
        )
    count = as_count(iterations, "iterations")
    with Progress(progress, "refine") as bar:
        return _Search(segments, least, most).run(x, count, bar)


def _limits(value: object, name: str, none: float, x: FloatArray) -> FloatArray:
    if value is None:
        return np.full(len(x), none)
    limits: FloatArray = as_float_array(value, name, x.shape)
    if np.isnan(limits).any():
        raise ArgumentValueError(f"{name}: expected numbers, got NaN")
    return limits


class _Search:
    """The Levenberg-Marquardt method, with weights from the residuals."""

    def __init__(self, segments: Segments, lower: FloatArray, upper: FloatArray) -> None:
        self.segments, self.lower, self.upper = segments, lower, upper

    def run(self, x: FloatArray, iterations: int, bar: Progress) -> Refinement:
        """Return the minimizing values, starting from an initial guess."""
        segments = self.segments
        s = np.zeros((segments.count, 2 * segments.nv))
        has_ended = False
        rest = segments.residuals(x, s)
        if not np.isfinite(rest).all():
            raise SingularityError("refine: the simulation with the values of `start` does not stay finite")
        first = np.sqrt((rest**2).mean(axis=(0, 1)))
        noise, damping, count = self._noise(rest, len(x)), 1e-3, 0
        for count in range(1, iterations + 1):
            equations = _Equations(*segments.rates(x, s, rest), rest, noise)
            cost = float(((rest / noise) ** 2).sum())
            new = np.inf
            while damping < _MOST_DAMPING:
                dx, ds = self._step(equations, x, damping)
                new_x, new_s = np.clip(x + dx, self.lower, self.upper), s + ds
                tried = segments.residuals(new_x, new_s)
                with np.errstate(over="ignore", invalid="ignore"):
                    new = float(((tried / noise) ** 2).sum())
                if new < cost:
                    damping = max(0.1 * damping, 1e-12)
                    break
                damping *= 10.0
            if not new < cost:
                has_ended = True
                break
            x, s, rest = new_x, new_s, tried
            last, noise = noise, self._noise(rest, len(x))
            bar.report(count / iterations)
            if cost - new <= _ENOUGH and np.abs(noise - last).max() <= _SETTLED * last.max():
                has_ended = True
                break
        bar.report(1.0)
        equations = _Equations(*segments.rates(x, s, rest), rest, noise)
        errors = self._errors(equations, x)
        names = segments.tree.velocity_names
        doubts = (
            [] if has_ended else [f"the search did not converge within {count} steps: allow more iterations"]
        )
        doubts += doubts_of_values(errors) + doubts_of_rest(names, rest, noise, segments.moves)
        return Refinement(x, errors, noise, first, count, names, tuple(doubts))

    def _noise(self, rest: FloatArray, num_values: int) -> FloatArray:
        """Return standard deviations, for the degrees of freedom left by the fitted parameters."""
        share = (self.segments.freedom - num_values) / rest.size
        noise = np.sqrt((rest**2).mean(axis=(0, 1)) / share)
        floored: FloatArray = np.maximum(noise, _ROUNDING * np.maximum(self.segments.sizes, 1.0))
        return floored

    def _step(self, equations: _Equations, x: FloatArray, damping: float) -> tuple[FloatArray, FloatArray]:
        """Return a step; values held by a limit do not move."""
        is_free = np.ones(len(x), dtype=bool)
        while True:
            dx, ds = equations.solve(damping, is_free)
            held = is_free & (((x <= self.lower) & (dx < 0.0)) | ((x >= self.upper) & (dx > 0.0)))
            if not held.any():
                return dx, ds
            is_free &= ~held

    def _errors(self, equations: _Equations, x: FloatArray) -> FloatArray:
        """Return standard errors, with unknown initial states."""
        A, _ = equations.reduced(0.0)
        unit = np.sqrt(np.maximum(np.diag(A), 0.0)) * self.segments.scales
        # Values whose effect exceeds rounding errors.
        is_seen = unit > 1e-7 * unit.max(initial=0.0)
        errors: FloatArray = np.where(is_seen, 0.0, np.inf)
        free = is_seen & (x > self.lower) & (x < self.upper)
        if free.any():
            D = self.segments.scales[free] / unit[free]
            values, V = np.linalg.eigh(A[np.ix_(free, free)] * D * D[:, None])
            told = values > 1e-12 * values[-1]
            variance = (V[:, told] ** 2 / values[told]).sum(axis=1)
            is_told = (V[:, ~told] ** 2).sum(axis=1) < 1e-6
            errors[free] = np.where(is_told, D * np.sqrt(variance), np.inf)
        return errors


class _Equations:
    """Normal equations for values x and initial states s; each segment has its own block of s."""

    def __init__(self, Jx: FloatArray, Js: FloatArray, rest: FloatArray, noise: FloatArray) -> None:
        count = len(rest)
        # For each segment, a row for each value and a column for each measured number.
        rows = np.moveaxis(Jx / noise, 0, 1).reshape(count, len(Jx), -1)
        own = np.moveaxis(Js / noise, 0, 1).reshape(count, len(Js), -1)
        r = (rest / noise).reshape(count, -1, 1)
        self.xx = (rows @ rows.swapaxes(1, 2)).sum(axis=0)
        self.sx, self.ss = own @ rows.swapaxes(1, 2), own @ own.swapaxes(1, 2)
        self.x, self.s = (rows @ r)[..., 0].sum(axis=0), own @ r

    def _damped(self, damping: float) -> FloatArray:
        n = np.arange(self.ss.shape[1])
        ss = self.ss.copy()
        ss[:, n, n] *= 1.0 + damping
        return ss

    def reduced(self, damping: float) -> tuple[FloatArray, FloatArray]:
        """Return the equations for x, with s eliminated."""
        back = np.linalg.solve(self._damped(damping), np.concatenate([self.sx, self.s], axis=2))
        xs = self.sx.swapaxes(1, 2)
        A = self.xx - (xs @ back[..., :-1]).sum(axis=0)
        return A, self.x - (xs @ back[..., -1:])[..., 0].sum(axis=0)

    def solve(self, damping: float, is_free: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Return steps of x and s; those of x that are not free are zero."""
        A, b = self.reduced(damping)
        unit = np.sqrt(np.diag(self.xx))
        unit = np.where(unit > 0.0, unit, 1.0)
        A = A / (unit * unit[:, None]) + np.diag(np.where(np.diag(self.xx) > 0.0, damping, 1.0))
        dx = np.zeros(len(b))
        if is_free.any():
            scaled = np.linalg.lstsq(A[np.ix_(is_free, is_free)], (b / unit)[is_free], rcond=None)[0]
            dx[is_free] = -scaled / unit[is_free]
        ds = np.linalg.solve(self._damped(damping), self.s + self.sx @ dx[:, None])[..., 0]
        return dx, np.asarray(-ds, dtype=np.float64)
