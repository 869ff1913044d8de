"""Detection of invalid values in a Context: numbers that are not finite, and singular positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import describe_massless_dof, describe_singular_map, describe_singular_position
from mbt.errors import ArgumentValueError, SingularityError
from mbt.tree import QuaternionFloatingMobilizer

if TYPE_CHECKING:
    from mbt.context.context import Context

__all__ = [
    "find_faulty_elements",
    "find_foreign_orders",
    "find_not_finite",
    "find_singularities",
    "index_text",
    "name_samples",
    "raise_problems",
]

# The largest number of array entries, or samples, that a message names.
_MAX_NAMED = 3


def raise_problems(problems: list[str]) -> None:
    """Raise an error that lists all problems, if there are any.

    Raises
    ------
    ArgumentValueError
        When there are problems.
    """
    if len(problems) == 1:
        raise ArgumentValueError(f"context: {problems[0]}")
    if problems:
        lines = "".join(f"\n- {problem}" for problem in problems)
        raise ArgumentValueError(f"context: {len(problems)} problems:{lines}")


def find_not_finite(context: Context) -> list[str]:
    """Return a problem that lists which numbers are NaN or infinite, as far as their values are known."""
    found = []
    for name, array in _state_and_inputs(context):
        values = context._numbers.known_values(array)
        places = np.argwhere(~np.isfinite(values))
        for i in places[:_MAX_NAMED]:
            found.append(f"{name}{index_text(i) if len(i) else ''} = {values[tuple(i)]}")
        if len(places) > _MAX_NAMED:
            found.append(f"{len(places) - _MAX_NAMED} more of {name}")
    return ["expected finite numbers, got " + ", ".join(found)] if found else []


def _state_and_inputs(context: Context) -> Iterator[tuple[str, Any]]:
    for name in ("q", "v", "time", "actuation"):
        yield name, getattr(context, name)
    # They are created at the first access.
    if context._has_applied_forces:
        for name in ("body_forces", "generalized_forces"):
            yield f"applied_forces.{name}", getattr(context.applied_forces, name)
    yield from context._declared.arrays()


def find_foreign_orders(context: Context) -> list[str]:
    """Return which floating bases seem to have their coordinates in a different order than mbt's.

    The first four coordinates, mbt's quaternion, do not have norm 1, but the last four do: the order of
    MuJoCo and Pinocchio, in which the position comes first.
    """
    problems = []
    for mobilizer in context.tree.mobilizers:
        if not isinstance(mobilizer, QuaternionFloatingMobilizer):
            continue
        start = mobilizer.position_start
        q = context._numbers.known_values(context.q)[..., start : start + 7]
        first, last = (np.linalg.norm(part, axis=-1) for part in (q[..., :4], q[..., 3:]))
        suspect = (np.abs(first - 1.0) > 1e-3) & (np.abs(last - 1.0) < 1e-6) & (q[..., :3] != 0.0).any(-1)
        if suspect.any():
            where = index_text(np.argwhere(suspect)[0]) if suspect.ndim else ""
            problems.append(
                f"q{where}: the quaternion of {mobilizer._label}, q[{start}:{start + 4}], has the norm "
                f"{first[suspect].flat[0]:.3g}, and q[{start + 3}:{start + 7}] the norm 1: is the position "
                "first, as in MuJoCo (x, y, z, qw, qx, qy, qz) or Pinocchio (x, y, z, qx, qy, qz, qw)? "
                "mbt uses (qw, qx, qy, qz, x, y, z); mbt.interop converts between the orders"
            )
    return problems


def find_singularities(context: Context) -> list[str]:
    """Return descriptions of undefined quantities in one state: rates, forces of elements, accelerations."""
    tree = context.tree
    without_pose, at_gimbal_lock = context._find_singular_joints()
    return [
        *(describe_singular_position(tree, node) for node in without_pose),
        *(describe_singular_map(tree, node) for node in at_gimbal_lock),
        *_find_singular_elements(context, is_user_defined=False),
        *_find_singular_constraints(context),
        *dict.fromkeys(describe_massless_dof(tree, dof) for dof in tree._find_massless_dofs(context)),
    ]


def _find_singular_constraints(context: Context) -> list[str]:
    problems = []
    for constraint in context.tree.constraints:
        try:
            if constraint.is_enabled_in(context):
                constraint._check_direction(context)
        except SingularityError as error:
            problems.append(str(error))
    return problems


def find_faulty_elements(context: Context) -> list[str]:
    """Return which elements written in Python have forces that are not finite, although their inputs are."""
    return _find_singular_elements(context, is_user_defined=True)


def _find_singular_elements(context: Context, *, is_user_defined: bool) -> list[str]:
    problems = []
    for element in context.tree.force_elements:
        if element._is_user_defined is not is_user_defined:
            continue
        forces = context._new_forces()
        try:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
                element.calc_and_add_force_contribution(context, None, None, forces)
        except ArithmeticError as error:
            # A SingularityError is an ArithmeticError and already names the element.
            text = str(error)
            problems.append(text if element._label in text else f"{element._label}: {text}")
        else:
            samples = _find_not_finite_forces(context, forces) if is_user_defined else []
            if samples:
                where = f"{name_samples(samples)}: " if context.batch_shape else ""
                problems.append(f"{where}{element._label}: its forces are not finite numbers")
    return problems


def _find_not_finite_forces(context: Context, forces: Any) -> list[str]:
    """Return the indices of samples with forces that are NaN or infinite; for a single state, ``[]``."""
    F, tau = (
        np.isfinite(context._numbers.known_values(array))
        for array in (forces.body_forces, forces.generalized_forces)
    )
    return [index_text(i) for i in np.argwhere(~(F.all((-2, -1)) & tau.all(-1)))]


def index_text(i: Any) -> str:
    """Return an index as text, ``[1, 2]``."""
    return f"[{', '.join(map(str, i))}]"


def name_samples(samples: list[str]) -> str:
    """Return the names of samples, given by their indices: the first few, and the number of others."""
    if len(samples) == 1:
        return f"sample {samples[0]}"
    more = len(samples) - _MAX_NAMED
    shown = ", ".join(samples[:_MAX_NAMED])
    return f"samples {shown}" + (f" and {more} more" if more > 0 else "")
