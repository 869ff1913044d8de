"""Assembly: positions, then velocities, moved onto the constraints of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentTypeError, AssemblyError, SingularityError, quote
from mbt.math.arrays import FloatArray, as_positive
from mbt.tree.constraints.equations import Equations
from mbt.tree.constraints.least_squares import LeastSquares
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.element import MultibodyElement
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["assemble", "check_is_of_doubles"]

_MAX_STEPS = 60
# How far from the caller's positions attempts begin, in radians and lengths of the model. Where steps lead
# nowhere, as in a stretched mechanism, a small push decides to which side it goes.
_PUSHES = (0.0, 0.01, 0.1, 0.1, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0)
# A gap due to few digits is the same everywhere: no attempt to close one begins farther away than this.
_NEAR = 0.1
# Damping of a step: at first, its factors after a failed step and after a good one, and at most.
_DAMPING, _MORE, _LESS, _MOST = 1e-2, 8.0, 0.2, 1e12
# This many steps in a row that change the sum of squares by less than this share of it end an attempt.
_IDLE_STEPS, _LEAST_GAIN = 3, 1e-6
# The same share where only a gap due to few digits is left: steps that close it gain far more.
_LEAST_GAIN_OF_FEW_DIGITS = 1e-2
# Steps of velocities; each reduces what the one before has left.
_MAX_STEPS_OF_VELOCITIES = 20
# In messages: names shown, and the largest gap, relative to the mechanism, due to numbers with few digits.
_SHOWN = 5
_FEW_DIGITS = 1e-3


def assemble(
    tree: MultibodyTree, context: Context, fixed: object, tolerance: object, attempts: int = 99
) -> None:
    """Move a Context onto its constraints; see ``MultibodyTree.assemble``."""
    limit = as_positive(tolerance, "assemble: tolerance")
    check_is_of_doubles("assemble", tree, context)
    is_free = _find_free_dofs(tree, context, fixed)
    work = context.clone()
    if not tree.num_constraint_equations or 0 in work.batch_shape:
        return
    # Errors that are not finite count as open; they may overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        problem = _Problem(tree, work, is_free, limit, attempts)
        work.q = q = problem.move_positions()
        v = problem.move_velocities()
    context.q, context.v = q, v


def check_is_of_doubles(method: str, tree: MultibodyTree, context: Context) -> None:
    """Check that a Context belongs to a tree, and computes in doubles.

    Raises
    ------
    ArgumentTypeError
        When it computes in another scalar, which cannot decide when the iteration ends.
    ContextMismatchError
        When it belongs to another tree.
    """
    if not isinstance(context, ContextCore) or context.tree is not tree:
        raise_context_mismatch(tree, context)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"{method}: context: expected a Context of doubles, got one of {tree.scalar_type.name}: use one "
            "of the original tree"
        )


def _find_free_dofs(tree: MultibodyTree, context: Context, fixed: object) -> npt.NDArray[np.bool_]:
    """Return which velocities belong to joints that are neither locked nor `fixed`."""
    is_number = isinstance(fixed, np.ndarray) and not fixed.ndim
    if isinstance(fixed, (str, bytes, Joint)) or is_number or not isinstance(fixed, Iterable):
        raise ArgumentTypeError(f"assemble: fixed: expected joints, or names of joints, got {quote(fixed)}")
    lookup = tree._lookup("assemble")
    is_free = np.ones(tree.num_velocities, dtype=bool)
    held = []
    for joint in fixed:
        if not isinstance(joint, (str, MultibodyElement)):
            raise ArgumentTypeError(
                f"assemble: fixed: expected joints, or names of joints, got {quote(joint)}"
            )
        held.append(lookup.find(joint, "assemble"))
    held += [mobilizer for mobilizer in tree.mobilizers if mobilizer.is_locked(context)]
    for mobilizer in held:
        rows = mobilizer._velocity_range()
        is_free[rows.start : rows.stop] = False
    return is_free


@dataclass
class _Solution:
    """The best positions found, and their errors: absolute, and in units of the mechanism."""

    q: FloatArray
    errors: FloatArray
    relative: FloatArray

    @property
    def largest(self) -> FloatArray:
        """The largest relative error of each sample; infinite where there is none."""
        largest: FloatArray = np.abs(self.relative).max(axis=-1)
        return np.where(np.isnan(largest), np.inf, largest)

    @property
    def cost(self) -> FloatArray:
        """The sum of the squares of the relative errors."""
        squares: FloatArray = (self.relative * self.relative).sum(axis=-1)
        return squares

    def take(self, other: _Solution, where: npt.NDArray[np.bool_]) -> None:
        """Replace samples by those of another solution."""
        for name in ("q", "errors", "relative"):
            setattr(self, name, np.where(where[..., None], getattr(other, name), getattr(self, name)))


class _Problem:
    """The equations of a Context, at any positions. All arrays have its batch axes in front."""

    def __init__(
        self,
        tree: MultibodyTree,
        work: Context,
        is_free: npt.NDArray[np.bool_],
        tolerance: float,
        attempts: int,
    ) -> None:
        self._tree, self._work, self._is_free, self._tolerance = tree, work, is_free, tolerance
        self._attempts = attempts if is_free.any() else 1
        self._q = np.array(work.q)
        self._equations = Equations(tree, work, is_free)
        units, rounding = self._equations.calc_units(work)
        # In these units errors within the tolerance, plus rounding, count as zero.
        self._units = units + rounding / tolerance
        self._pushes = np.where(self._equations.find_turning(work), 1.0, self._equations.length[..., None])

    def move_positions(self) -> FloatArray:
        """Return positions at which all errors are within the tolerance.

        Raises
        ------
        AssemblyError
            When none are found.
        """
        best = self._evaluate(self._q)
        rng = np.random.default_rng(0)
        for push in _PUSHES[: self._attempts]:
            if push > _NEAR and np.all(best.largest < _FEW_DIGITS):
                break
            begun = best if push == 0.0 else self._evaluate(self._step(self._q, self._draw(rng, push)))
            found = self._iterate(begun, _LEAST_GAIN)
            is_open = best.largest > self._tolerance
            best.take(found, is_open & ~(found.largest > best.largest))
            if np.all(best.largest <= self._tolerance):
                return best.q
        # Once more, as far as steps gain anything.
        best = self._iterate(best, 0.0)
        if np.all(best.largest <= self._tolerance):
            return best.q
        raise self._error(best.errors, best.relative, "positions")

    def move_velocities(self) -> FloatArray:
        """Return velocities ``v - J+ J v`` of the free joints, at positions that satisfy the constraints.

        Raises
        ------
        AssemblyError
            When the motion of the other joints allows no such velocities.
        """
        v = np.array(self._work.v)
        steps = self._prepare(self._work.q)
        sizes, rates = steps.sizes_of_rates(v), steps.rates(v)
        before = np.full(v.shape[:-1], np.inf)
        for _ in range(_MAX_STEPS_OF_VELOCITIES):
            largest = np.abs(rates).max(axis=-1)
            # As long as each step gains much.
            is_active = (largest < 0.25 * before)[..., None]
            if not np.any(is_active):
                break
            before = largest
            v -= np.where(is_active, steps.solve(rates, np.zeros(v.shape[:-1])), 0.0)
            rates = steps.rates(v)
        # Relative to the largest rates that such velocities could cause.
        sizes = np.maximum(sizes + steps.sizes_of_rates(v), np.finfo(float).tiny)
        relative = rates / sizes
        if not np.all(np.abs(relative) <= self._tolerance):
            raise self._error(rates, relative, "velocities")
        return v

    def _iterate(self, begun: _Solution, least_gain: float) -> _Solution:
        """Return where damped Gauss-Newton steps lead; of least norm, they stay near.

        A step is ``-J' (J J' + mu)^-1 e`` with ``mu ~ |e|^2``, so the last ones are Newton steps, even where
        some equations follow from others. A step is taken where it reduces ``|e|^2``. The iteration ends
        after a few in a row that change it by less than the share `least_gain`.
        """
        present = replace(begun)
        damping = np.full(self._q.shape[:-1], _DAMPING)
        is_active = np.isfinite(present.largest)
        num_idle = np.zeros(damping.shape, dtype=int)
        for _ in range(_MAX_STEPS):
            if not np.any(is_active):
                break
            steps = self._prepare(present.q)
            cost = present.cost
            trial = self._evaluate(self._step(present.q, -steps.solve(present.errors, damping * cost)))
            ratio = trial.cost / np.where(cost > 0.0, cost, 1.0)
            is_better = is_active & (ratio < 1.0)
            present.take(trial, is_better)
            damping = np.where(is_better, damping * _LESS, damping * _MORE)
            is_small = (present.largest < _FEW_DIGITS) & (least_gain > 0.0)
            least = np.where(is_small, _LEAST_GAIN_OF_FEW_DIGITS, least_gain)
            num_idle = np.where(np.abs(1.0 - ratio) < least, num_idle + 1, 0)
            is_moving = (damping < _MOST) & (num_idle < _IDLE_STEPS)
            # Closed samples go on down to rounding, as long as each step gains much.
            is_closed = present.largest <= self._tolerance
            is_active &= np.where(is_closed, (cost > 0.0) & (ratio < 0.25), is_moving)
        return present

    def _evaluate(self, q: FloatArray) -> _Solution:
        """Return the errors at positions; NaN where undefined."""
        self._work.q = q
        try:
            errors = self._tree.calc_constraint_errors(self._work)
        except SingularityError:  # Of one state; in a batch the sample is NaN.
            errors = np.full(self._tree.num_constraint_equations, np.nan)
        return _Solution(q, errors, errors / self._units)

    def _prepare(self, q: FloatArray) -> LeastSquares:
        self._work.q = q
        return LeastSquares(self._equations, self._equations.entries_at(self._work), self._is_free)

    def _step(self, q: FloatArray, step: FloatArray) -> FloatArray:
        """Return the positions that a step leads to."""
        return self._tree.integrate_positions(q, np.nan_to_num(step, posinf=0.0, neginf=0.0), 1.0)

    def _draw(self, rng: np.random.Generator, size: float) -> FloatArray:
        """Return a random step of the free joints: for all samples the same share of their pushes."""
        step = np.zeros(len(self._is_free))
        step[self._is_free] = rng.uniform(-size, size, np.count_nonzero(self._is_free))
        pushed: FloatArray = step * self._pushes
        return pushed

    def _error(self, errors: FloatArray, relative: FloatArray, what: str) -> AssemblyError:
        """Return the error that names the constraints, and the samples, that remain open."""
        is_left = ~(np.abs(relative) <= self._tolerance)
        is_open = np.asarray(is_left.any(axis=-1))
        left = np.where(is_left, np.abs(errors), 0.0).reshape(-1, errors.shape[-1])
        found: dict[str, float] = {}
        for constraint in self._equations.constraints:
            rows = self._equations.rows_of(constraint)
            error = float(left[:, rows.start : rows.stop].max())
            if not error <= 0.0:
                found[constraint.scoped_name] = error
        found = dict(sorted(found.items(), key=lambda item: -item[1] if item[1] == item[1] else -np.inf))
        message = _describe(found, is_open, what, self._tolerance)
        largest = np.abs(relative).max()
        if what == "positions" and largest < _FEW_DIGITS:
            enough = float(f"{1.5 * largest:.0e}")
            message += (
                ". Gaps this small come from numbers with few digits, as in files: write more digits, or "
                f"accept the gap with tolerance={enough:g}, relative to the mechanism"
            )
        return AssemblyError(message, errors=found)


def _describe(found: dict[str, float], is_open: npt.NDArray[np.bool_], what: str, tolerance: float) -> str:
    shown = ", ".join(f"{quote(name)} by {error:.3g}" for name, error in list(found.items())[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    where = _describe_samples(is_open) if is_open.ndim else ""
    if what == "velocities":
        fault = "joints that are fixed or locked move so that no velocities satisfy the constraints"
        return f"assemble: {fault}{where}: {shown}{more} [m/s, rad/s]"
    fault = f"the constraints cannot be closed to {tolerance:g}"
    return f"assemble: {fault}{where}: what remains is {shown}{more} [m, rad]"


def _describe_samples(is_open: npt.NDArray[np.bool_]) -> str:
    samples = [tuple(map(int, i)) for i in np.argwhere(is_open)]
    shown = ", ".join(str(i[0] if len(i) == 1 else i) for i in samples[:_SHOWN])
    more = ", ..." if len(samples) > _SHOWN else ""
    return f" in {len(samples)} of {is_open.size} samples ({shown}{more})"
