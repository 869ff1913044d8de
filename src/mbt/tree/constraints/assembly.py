"""Assembly: positions, then velocities, moved onto the constraints of a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentTypeError, AssemblyError, SingularityError, quote
from mbt.math.arrays import FloatArray, as_positive
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["assemble", "check_is_of_doubles"]

_MAX_STEPS = 60
# How far attempts begin from where the caller is [rad, m]: where steps lead nowhere, as in a mechanism that
# is stretched, a small push decides to which side it goes.
_PUSHES = (0.0, 0.01, 0.1, 0.1, 0.5, 0.5, 1.0, 1.0, 2.0, 2.0)
# Singular values below this part of the largest one are none.
_SMALLEST = 1e-10
# What weighs the damping of a step: at first, when a step has failed, when it has not, and at most.
_DAMPING, _MORE, _LESS, _MOST = 1e-2, 8.0, 0.2, 1e12
# Of messages.
_SHOWN = 5


def assemble(tree: MultibodyTree, context: Context, fixed: object, tolerance: object) -> None:
    """Move a Context onto its constraints; see ``MultibodyTree.assemble``."""
    limit = as_positive(tolerance, "assemble: tolerance")
    check_is_of_doubles("assemble", tree, context)
    free = _find_free_dofs(tree, context, fixed)
    work = context.clone()
    problem = _Problem(tree, work, free, limit)
    if not problem.has_equations:
        return
    # What is not finite has been counted as open, and may overflow on the way there.
    with np.errstate(over="ignore", invalid="ignore"):
        work.q = q = problem.move_positions()
        v = problem.move_velocities()
    context.q, context.v = q, v


def check_is_of_doubles(method: str, tree: MultibodyTree, context: Context) -> None:
    """Check that a Context belongs to a tree, and computes in doubles.

    Raises
    ------
    ArgumentTypeError
        When it computes in another scalar: what is iterated has no end that a number decides there.
    ContextMismatchError
        When it is of another tree.
    """
    if getattr(context, "tree", None) is not tree:
        raise_context_mismatch(tree, context)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"{method}: context: expected one of doubles, got one of {tree.scalar_type.name}: use the tree "
            "that it is a clone of"
        )


def _find_free_dofs(tree: MultibodyTree, context: Context, fixed: object) -> npt.NDArray[np.intp]:
    """Return the velocities of the joints that are neither locked nor among those that keep still."""
    if isinstance(fixed, (str, bytes, Joint)) or not isinstance(fixed, Iterable):
        raise ArgumentTypeError(f"assemble: fixed: expected joints, or names of joints, got {quote(fixed)}")
    find = tree._make_key_lookup("assemble")
    is_free = np.ones(tree.num_velocities, dtype=bool)
    held = [find(joint) for joint in fixed]
    held += [mobilizer for mobilizer in tree.mobilizers if mobilizer.is_locked(context)]
    for mobilizer in held:
        rows = mobilizer._velocity_range()
        is_free[rows.start : rows.stop] = False
    return np.flatnonzero(is_free)


@dataclass
class _Solution:
    """The best positions that were found, and their errors."""

    q: FloatArray
    errors: FloatArray

    @property
    def largest(self) -> FloatArray:
        """The largest error of each sample; infinite where there is none."""
        largest: FloatArray = np.abs(self.errors).max(axis=-1)
        return np.where(np.isnan(largest), np.inf, largest)

    def take(self, other: _Solution, where: npt.NDArray[np.bool_]) -> None:
        """Replace samples by those of another solution."""
        self.q = np.where(where[..., None], other.q, self.q)
        self.errors = np.where(where[..., None], other.errors, self.errors)


class _Problem:
    """The equations of a Context, at any positions. All arrays have its batch axes in front."""

    def __init__(
        self, tree: MultibodyTree, work: Context, free: npt.NDArray[np.intp], tolerance: float
    ) -> None:
        self._tree = tree
        self._work = work
        self._free = free
        self._tolerance = tolerance
        self._q = np.array(work.q)

    @property
    def has_equations(self) -> bool:
        """Whether there is anything to do."""
        return self._tree.num_constraint_equations > 0 and self._q.size > 0

    def move_positions(self) -> FloatArray:
        """Return positions at which all errors are within the tolerance.

        Raises
        ------
        AssemblyError
            When some cannot be found.
        """
        best = self._evaluate(self._q)
        rng = np.random.default_rng(0)
        for push in _PUSHES:
            begun = best if push == 0.0 else self._evaluate(self._step(self._q, self._draw(rng, push)))
            found = self._iterate(begun)
            is_open = best.largest > self._tolerance
            best.take(found, is_open & ~(found.largest > best.largest))
            if np.all(best.largest <= self._tolerance):
                return best.q
        raise self._error(best.errors, best.largest > self._tolerance, "positions")

    def move_velocities(self) -> FloatArray:
        """Return velocities ``v - J+ J v`` of the free joints, at positions that hold.

        Raises
        ------
        AssemblyError
            When the other joints move so that there are none.
        """
        v = np.array(self._work.v)
        J = self._tree.calc_constraint_jacobian(self._work)
        rates = _times(J, v)
        v[..., self._free] -= _Decomposition(J[..., self._free]).solve(rates, np.zeros(rates.shape[:-1]))
        left = _times(J, v)
        # Rates count as large where they, or velocities, are.
        scale = 1.0 + np.abs(rates).max(axis=-1) + np.abs(v).max(axis=-1)
        is_open = ~(np.abs(left).max(axis=-1) <= self._tolerance * scale)
        if np.any(is_open):
            raise self._error(left, is_open, "velocities")
        return v

    def _iterate(self, begun: _Solution) -> _Solution:
        """Return where damped Gauss-Newton steps lead, of least norm: they stay near.

        A step is ``-J' (J J' + mu)^-1 e`` with ``mu ~ |e|^2``, so the last ones are those of Newton, also
        where some equations follow from others. It is taken where it reduces ``|e|^2``.
        """
        present = _Solution(begun.q, begun.errors)
        damping = np.full(self._q.shape[:-1], _DAMPING)
        is_active = np.isfinite(present.largest)
        for _ in range(_MAX_STEPS):
            if not np.any(is_active):
                break
            steps = self._decompose(present.q)
            cost = _sum_of_squares(present.errors)
            trial = self._evaluate(self._step(present.q, -steps.solve(present.errors, damping * cost)))
            ratio = _sum_of_squares(trial.errors) / np.where(cost > 0.0, cost, 1.0)
            is_better = is_active & (ratio < 1.0)
            present.take(trial, is_better)
            damping = np.where(is_better, damping * _LESS, damping * _MORE)
            # What holds goes on to rounding, as long as that gains much.
            is_closed = present.largest <= self._tolerance
            is_active &= np.where(is_closed, ratio < 0.25, damping < _MOST)
        return present

    def _evaluate(self, q: FloatArray) -> _Solution:
        """Return the errors at positions: NaN where they do not exist."""
        self._work.q = q
        try:
            return _Solution(q, self._tree.calc_constraint_errors(self._work))
        except SingularityError:  # Of one state; in a batch the sample is NaN.
            return _Solution(q, np.full(self._tree.num_constraint_equations, np.nan))

    def _decompose(self, q: FloatArray) -> _Decomposition:
        self._work.q = q
        try:
            J = self._tree.calc_constraint_jacobian(self._work)
        except SingularityError:
            J = np.full((self._tree.num_constraint_equations, self._tree.num_velocities), np.nan)
        return _Decomposition(J[..., self._free])

    def _step(self, q: FloatArray, step: FloatArray) -> FloatArray:
        """Return the positions that a step of the free joints leads to."""
        v = np.zeros((*q.shape[:-1], self._tree.num_velocities))
        v[..., self._free] = np.nan_to_num(step, posinf=0.0, neginf=0.0)
        return self._tree.integrate_positions(q, v, 1.0)

    def _draw(self, rng: np.random.Generator, size: float) -> FloatArray:
        """Return the same random step for all samples, so that no sample depends on what others there are."""
        return np.broadcast_to(
            rng.uniform(-size, size, len(self._free)), (*self._q.shape[:-1], len(self._free))
        )

    def _error(self, errors: FloatArray, is_open: npt.NDArray[np.bool_], what: str) -> AssemblyError:
        """Return the error that names the constraints, and the samples, that remain open."""
        left = np.where(is_open[..., None], np.abs(errors), 0.0).reshape(-1, errors.shape[-1])
        found: dict[str, float] = {}
        for constraint in self._tree.constraints:
            rows = left[:, constraint.first_equation : constraint.first_equation + constraint.num_equations]
            largest = float(rows.max())
            if not largest <= self._tolerance:
                found[constraint.scoped_name] = largest
        found = dict(sorted(found.items(), key=lambda item: -item[1] if item[1] == item[1] else -np.inf))
        return AssemblyError(_describe(found, is_open, what, self._tolerance), errors=found)


class _Decomposition:
    """Singular values of Jacobians: least-squares steps of least norm, damped or not; none where J is NaN."""

    def __init__(self, J: FloatArray) -> None:
        finite = np.isfinite(J).all(axis=(-2, -1), keepdims=True)
        self._U, self._s, self._V = np.linalg.svd(np.where(finite, J, 0.0), full_matrices=False)

    def solve(self, right: FloatArray, damping: FloatArray) -> FloatArray:
        """Return ``J' (J J' + damping)^-1 right``; without damping, ``J+ right``."""
        s = self._s
        if s.shape[-1] == 0:
            return np.zeros((*right.shape[:-1], self._V.shape[-1]))
        is_kept = s > _SMALLEST * s[..., :1]
        denominators = np.where(is_kept, s * s + damping[..., None], 1.0)
        x = _times(np.swapaxes(self._U, -1, -2), right) * np.where(is_kept, s, 0.0) / denominators
        return _times(np.swapaxes(self._V, -1, -2), x)


def _times(A: FloatArray, x: FloatArray) -> FloatArray:
    """Return ``A x``, for leading axes."""
    product: FloatArray = (A @ x[..., None])[..., 0]
    return product


def _sum_of_squares(errors: FloatArray) -> FloatArray:
    squares: FloatArray = (errors * errors).sum(axis=-1)
    return squares


def _describe(found: dict[str, float], is_open: npt.NDArray[np.bool_], what: str, tolerance: float) -> str:
    shown = ", ".join(f"{quote(name)} by {error:.3g}" for name, error in list(found.items())[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    where = _describe_samples(is_open) if is_open.ndim else ""
    if what == "velocities":
        fault = "joints that are fixed or locked move so that no velocities obey the constraints"
        return f"assemble: {fault}{where}: {shown}{more} [m/s, rad/s]"
    fault = f"the constraints cannot be closed to {tolerance:g}"
    return f"assemble: {fault}{where}: what remains is {shown}{more} [m, rad]"


def _describe_samples(is_open: npt.NDArray[np.bool_]) -> str:
    samples = [tuple(map(int, i)) for i in np.argwhere(is_open)]
    shown = ", ".join(str(i[0] if len(i) == 1 else i) for i in samples[:_SHOWN])
    more = ", ..." if len(samples) > _SHOWN else ""
    return f" in {len(samples)} of {is_open.size} samples ({shown}{more})"
