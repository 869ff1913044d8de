"""Detection of constraints that lock a mechanism because numbers in files have few digits; with a cure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError, AssemblyError, SingularityError, quote
from mbt.tree.constraints.assembly import assemble
from mbt.tree.constraints.coupler import CouplerConstraint
from mbt.tree.constraints.equations import Equations
from mbt.tree.constraints.report import DOUBTFUL, calc_constraint_report, take_rows

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["describe_gap", "describe_opened", "describe_stuck", "describe_unclosed"]

_TOLERANCE = 1e-9
# Distance to a nearby state, in radians and lengths of the mechanism.
_NEARBY = 0.1
# Number of starts for closing loops; models with more dofs than this get one. Nor are larger sets of
# connected equations searched for weak ones.
_ATTEMPTS, _PROBED_DOFS = 4, 600
# Errors raised where positions, or values computed from them, are not finite.
_WITHOUT_NUMBERS = (ArgumentValueError, SingularityError, np.linalg.LinAlgError)
# In a motion that forces cannot drive, they move the model by less than this share.
_LEAST_PART = 1e-6
_SHOWN = 5
# A constraint is open above the first, in radians and lengths of the mechanism; and still open, after time to
# close, above the second, also relative to its initial error.
_OPEN, _FAR = 1e-3, 0.1

_CURE = (
    "Write lengths and angles with all digits (1.5707963267948966, not 1.5708), or close the loop by fewer "
    "equations: if it moves in a plane, by two distance constraints in place of a ball"
)


def describe_gap(tree: MultibodyTree) -> str:
    """Return which loop closures of a tree cannot close, or lock it, from its default positions; or "".

    Positions without finite numbers are not judged.
    """
    if all(isinstance(x, CouplerConstraint) for x in tree.constraints):
        return ""
    context = tree.create_default_context()
    attempts = _ATTEMPTS if tree.num_velocities <= _PROBED_DOFS else 1
    try:
        try:
            assemble(tree, context, (), 1e-10, attempts)
        except AssemblyError as error:
            return _describe_open(tree, context, error, attempts)
        equations = Equations(tree, context)
        return "" if _is_large(equations) else _describe_locking(equations, context, only_held=False)
    except _WITHOUT_NUMBERS:
        return ""


def _describe_open(tree: MultibodyTree, context: Context, error: AssemblyError, attempts: int) -> str:
    found = _name({name: f"{gap:.2g}" for name, gap in error.errors.items()})
    gap = f"constraints that cannot close, by [m, rad]: {found}"
    try:
        assemble(tree, context, (), DOUBTFUL, attempts)
    except AssemblyError:
        return f"{gap}. Check the poses of the frames that they connect: no nearby configuration closes them"
    return f"{gap}. {_CURE}"


def describe_stuck(tree: MultibodyTree, start: Context, end: Context) -> str:
    """Return which constraints keep a mechanism from moving as it should, or from closing; or nothing.

    Parameters
    ----------
    tree : MultibodyTree
        A tree of doubles.
    start, end : Context
        One state each, before and after a motion in which errors could decay. Both enable the same
        constraints, and have the same parameters.
    """
    if all(isinstance(x, CouplerConstraint) for x in tree.constraints):
        return ""
    try:
        equations = Equations(tree, end)
        if _is_large(equations):
            return ""
        is_open = _is_open(equations, end)
        gaps = calc_constraint_report(tree, end, DOUBTFUL, equations).stuck if is_open else {}
        if gaps:
            found = _name({name: f"{gap:.2g}" for name, gap in gaps.items()})
            return f"constraints that contradict each other, and stay open by [m, rad]: {found}"
        # A mechanism that is free at the start may be locked at the end.
        at_start = _describe_locking(equations, start, only_held=True)
        return at_start or _describe_locking(equations, end, only_held=True)
    except _WITHOUT_NUMBERS:
        return ""


def describe_opened(tree: MultibodyTree, start: Context, end: Context) -> str:
    """Return which constraints were closed before a motion and are open after it, and can close; or nothing.

    The arguments are those of `describe_stuck`, which reports those that cannot close.
    """
    before, after = _calc_gaps(tree, start, end)
    return _describe_gaps(tree, end, (after > _OPEN) & (before <= _OPEN), "were closed and are open now")


def describe_unclosed(tree: MultibodyTree, start: Context, end: Context) -> str:
    """Return which constraints began open and are still open after a motion in which errors could decay.

    The arguments are those of `describe_stuck`.
    """
    before, after = _calc_gaps(tree, start, end)
    is_unclosed = (before > _OPEN) & (after > _FAR * np.maximum(before, 1.0))
    return _describe_gaps(tree, end, is_unclosed, "began open and do not close")


def _calc_gaps(tree: MultibodyTree, start: Context, end: Context) -> list[FloatArray]:
    """Return the largest error of each constraint before and after a motion, in radians and lengths."""
    units, rounding = Equations(tree, end).calc_units(end)
    first_rows = [constraint.first_equation for constraint in tree.constraints]
    errors = (np.abs(tree.calc_constraint_errors(context)) for context in (start, end))
    return [np.maximum.reduceat((error - rounding) / units, first_rows) for error in errors]


def _describe_gaps(tree: MultibodyTree, end: Context, is_told: npt.NDArray[np.bool_], what: str) -> str:
    errors = np.split(tree.calc_constraint_errors(end), [x.first_equation for x in tree.constraints][1:])
    told = zip(tree.constraints, errors, is_told, strict=True)
    gaps = {constraint.name: f"{np.linalg.norm(error):.2g}" for constraint, error, told_of in told if told_of}
    return f"constraints that {what}, by [m, rad]: {_name(gaps)}" if gaps else ""


def _is_large(equations: Equations) -> bool:
    """Whether too many equations are connected to compute their rank, in time cubic in their number."""
    sizes = (sum(x.num_equations for x in component) for component in equations.components)
    return any(size > _PROBED_DOFS for size in sizes)


def _is_open(equations: Equations, context: Context) -> bool:
    """Whether any error exceeds the tolerance, and so could be stuck; this needs no rank."""
    units, rounding = equations.calc_units(context)
    errors = np.abs(equations.tree.calc_constraint_errors(context))
    return not bool(np.all(errors <= DOUBTFUL * units + rounding))


def _describe_locking(equations: Equations, context: Context, *, only_held: bool) -> str:
    """Return which constraints lock a mechanism by equations as weak as rounding; or nothing.

    Equations are weak where a mechanism is stretched, too; but then not nearby. With `only_held`, only
    mechanisms count that forward dynamics does not move either.
    """
    work = context.clone()
    found, mobility = _find_locking(equations, work)
    if only_held and found and _count_motions(equations.tree, context) >= mobility - _LEAST_PART:
        return ""
    if found:
        _move_nearby(equations, work)
        found = found if _find_locking(equations, work)[0] else ""
    return found


def _find_locking(equations: Equations, context: Context) -> tuple[str, int]:
    exact = calc_constraint_report(equations.tree, context, _TOLERANCE, equations)
    if not exact.is_doubtful:
        return "", exact.mobility
    rounded = calc_constraint_report(equations.tree, context, DOUBTFUL, equations)
    names = {
        x.name: str(y.num_redundant - x.num_redundant)
        for x, y in zip(exact.entries, rounded.entries, strict=True)
        if y.num_redundant > x.num_redundant
    }
    found = (
        f"constraints that leave {exact.mobility} velocities in place of {rounded.mobility}, by equations of "
        f"relative size {exact.weakest:.1g}, as rounded angles cause: {_name(names)}. {_CURE}"
    )
    return found, rounded.mobility


def _count_motions(tree: MultibodyTree, context: Context) -> float:
    """Return the number of motions in which forces move a model, as forward dynamics decides.

    Forces give the accelerations ``Y tau``, and M Y is a projection on what constraints leave: its trace is
    that number.
    """
    if context._locked_dofs().any():
        return float(tree.num_velocities)
    Y = tree.calc_constrained_forward_dynamics_derivatives(context)[2]
    return float((tree.calc_mass_matrix(context) * Y).sum())


def _move_nearby(equations: Equations, context: Context) -> None:
    """Move a Context along motions that constraints allow but for rounding, and close it if possible."""
    tree = equations.tree
    units, _ = equations.calc_units(context)
    blocks, _, columns, _ = take_rows(equations, context, equations.calc_lengths(units))
    along = np.random.default_rng(0).uniform(-1.0, 1.0, tree.num_velocities)
    for block in blocks:
        _, s, V = np.linalg.svd(block.J, full_matrices=False)
        V = V[s > DOUBTFUL]
        along[block.dofs] -= V.T @ (V @ along[block.dofs])
    step = columns * along * (_NEARBY / max(np.abs(along).max(initial=0.0), _NEARBY))
    context.q = tree.integrate_positions(context.q, step, 1.0)
    try:
        assemble(tree, context, (), DOUBTFUL, 1)
    except AssemblyError:
        return


def _name(found: dict[str, str]) -> str:
    shown = ", ".join(f"{quote(name)} ({number})" for name, number in list(found.items())[:_SHOWN])
    return shown + (f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else "")
