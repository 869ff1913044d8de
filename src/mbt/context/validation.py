"""What is wrong with the values of a Context: numbers that are not finite, and singular positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.variants import Quantity
from mbt.context.checks import describe_massless_dof, describe_singular_map, describe_singular_position
from mbt.errors import ArgumentValueError

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.scalars.batch_context import BatchContext

__all__ = [
    "find_faulty_elements",
    "find_not_finite",
    "find_singularities",
    "find_singularities_of_samples",
    "raise_problems",
]

# So many entries of an array, or samples, a message names.
_MAX_NAMED = 3
# So many samples without a result are looked at one by one.
_MAX_SAMPLES = 64


def raise_problems(problems: list[str]) -> None:
    """Raise an error that lists all problems, if there are any.

    Raises
    ------
    ArgumentValueError
        When there are.
    """
    if len(problems) == 1:
        raise ArgumentValueError(f"context: {problems[0]}")
    if problems:
        lines = "".join(f"\n- {problem}" for problem in problems)
        raise ArgumentValueError(f"context: {len(problems)} problems:{lines}")


def find_not_finite(context: Context) -> list[str]:
    """Return one problem that tells which numbers are NaN or infinite, as far as their values are known."""
    found = []
    for name, array in _state_and_inputs(context):
        values = context._numbers.known_values(array)
        places = np.argwhere(~np.isfinite(values))
        for i in places[:_MAX_NAMED]:
            found.append(f"{name}{_index(i) if len(i) else ''} = {values[tuple(i)]}")
        if len(places) > _MAX_NAMED:
            found.append(f"{len(places) - _MAX_NAMED} more of {name}")
    return ["expected finite numbers, got " + ", ".join(found)] if found else []


def _state_and_inputs(context: Context) -> Iterator[tuple[str, Any]]:
    for name in ("q", "v", "time", "actuation"):
        yield name, getattr(context, name)
    # Until somebody asks for them there are none.
    if context._has_applied_forces:
        for name in ("body_forces", "generalized_forces"):
            yield f"applied_forces.{name}", getattr(context.applied_forces, name)
    yield from context._declared.arrays()


def find_singularities(context: Context) -> list[str]:
    """Return what is undefined in one state: rates, the forces of elements, accelerations."""
    tree = context.tree
    without_pose, at_gimbal_lock = context._find_singular_joints()
    return [
        *(describe_singular_position(tree, node) for node in without_pose),
        *(describe_singular_map(tree, node) for node in at_gimbal_lock),
        *_find_singular_elements(context, is_user_defined=False),
        *(describe_massless_dof(tree, dof) for dof in tree._find_massless_dofs(context)),
    ]


def find_faulty_elements(context: Context) -> list[str]:
    """Return which elements written in Python have no finite forces, though all that they get is finite."""
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
            # A SingularityError is one, and names the element.
            text = str(error)
            problems.append(text if element._label in text else f"{element._label}: {text}")
        else:
            samples = _find_not_finite_forces(context, forces) if is_user_defined else []
            if samples:
                where = f"{_enumerate(samples)}: " if context.batch_shape else ""
                problems.append(f"{where}{element._label}: its forces are not finite numbers")
    return problems


def _find_not_finite_forces(context: Context, forces: Any) -> list[str]:
    """Return the indices of the samples in which forces are NaN or infinite; of one state ``[]``."""
    F, tau = (
        np.isfinite(context._numbers.known_values(array))
        for array in (forces.body_forces, forces.generalized_forces)
    )
    return [_index(i) for i in np.argwhere(~(F.all((-2, -1)) & tau.all(-1)))]


def find_singularities_of_samples(context: BatchContext) -> list[str]:
    """Return what is undefined in some samples, and in which."""
    suspects = np.argwhere(_find_samples_without_result(context))
    samples: dict[str, list[str]] = {}
    for i in suspects[:_MAX_SAMPLES]:
        for problem in find_singularities(context._sample(tuple(map(int, i)))):
            samples.setdefault(problem, []).append(_index(i))
    problems = [f"{_enumerate(where)}: {problem}" for problem, where in samples.items()]
    if problems and len(suspects) > _MAX_SAMPLES:
        more = len(suspects) - _MAX_SAMPLES
        problems.append(f"{more} more samples have no result, perhaps for the same reasons")
    return problems


def _find_samples_without_result(context: BatchContext) -> FloatArray:
    """Return whether rates or accelerations of a sample are NaN or infinite, (*batch_shape)."""
    zeros = np.zeros(context.tree.num_velocities)
    # With forces of all compiled elements, without any others.
    vdot = context._evaluate(Quantity.FORWARD_DYNAMICS, zeros)
    qdot = context.tree.map_velocity_to_qdot(context, zeros)
    without: FloatArray = ~(np.isfinite(vdot).all(-1) & np.isfinite(qdot).all(-1))
    return without


def _index(i: Any) -> str:
    return f"[{', '.join(map(str, i))}]"


def _enumerate(samples: list[str]) -> str:
    if len(samples) == 1:
        return f"sample {samples[0]}"
    more = len(samples) - _MAX_NAMED
    shown = ", ".join(samples[:_MAX_NAMED])
    return f"samples {shown}" + (f" and {more} more" if more > 0 else "")
