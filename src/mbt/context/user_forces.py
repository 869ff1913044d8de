"""Force elements written by users in Python, as called by the compiled methods of a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.quantities.names import Quantity
from mbt.autodiff.array import AutoDiffArray
from mbt.context.tangents import make_tangent_context
from mbt.errors import SingularityError
from mbt.math.leading_axes import flatten
from mbt.tree.hooks import differentiating

if TYPE_CHECKING:
    from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
    from mbt.context.context import Context
    from mbt.context.multibody_forces import MultibodyForces
    from mbt.tree import MultibodyTree
    from mbt.tree.force_elements import ForceElement

__all__ = [
    "add_user_energy",
    "calc_user_forces",
    "differentiate_energy",
    "differentiate_user_forces",
]

# Step of central differences: the cube root of the rounding error.
STEP = 6e-6


def calc_user_forces(
    elements: Sequence[ForceElement],
    context: Context,
    pc: PositionKinematicsCache,
    vc: VelocityKinematicsCache,
) -> MultibodyForces:
    """Return the sum of the forces of these elements."""
    forces = context._new_forces()
    with context._running_user_code():
        for element in elements:
            element.calc_and_add_force_contribution(context, pc, vc, forces)
    return forces


def add_user_energy(
    total: Any, elements: Sequence[ForceElement], context: Context, method: str, *caches: Any
) -> Any:
    """Return an energy or a power plus those of these elements, from their method of this name."""
    with context._running_user_code():
        for element in elements:
            total = total + getattr(element, method)(context, *caches)
    return total


@differentiating()
def differentiate_user_forces(tree: MultibodyTree, context: Context) -> tuple[Any, Any]:
    """Return the derivatives of J' F + tau of the user's elements along each dof, both (nv, nv).

    The derivatives are exact: each element is evaluated once, with scalars that carry derivatives. Elements
    that then raise an error, or have derivatives that are not finite, are differentiated by central
    differences where the scalar type allows it: errors are about 1e-10 times the forces and their third
    derivatives.
    """
    nv = tree.num_velocities
    N = tree.make_velocity_to_qdot_map(context)
    if not nv:
        return N, N
    elements = tree._user_force_elements or ()

    def start() -> Any:
        q_rates = np.concatenate([N, np.zeros(N.shape)], 1)
        return make_tangent_context(context, q_rates, np.eye(nv, 2 * nv, nv), None)

    moving = _attempt(tree, start)
    columns: Any = 0.0
    others = list(elements)
    if moving is not None:
        forces = moving._new_forces()
        for element in elements:
            own = _attempt(tree, partial(_calc_finite_forces, moving, element))
            if own is not None:
                forces.add_in_forces(own)
                others.remove(element)
        F = flatten(forces.body_forces, 2)
        tau = forces.generalized_forces + moving._evaluate(Quantity.GENERALIZED_FORCES, (), F)
        columns = moving.tree._derivatives_of(tau, 2 * nv)
    if others:
        columns = columns + _difference_user_forces(tree, context, N, others)
    # The compiled core needs contiguous arrays.
    return columns[:, :nv].copy(), columns[:, nv:].copy()


@differentiating()
def differentiate_energy(context: Context, element: ForceElement) -> Any:
    """Return the rate of an element's potential energy along v and in time, as the function above."""
    tree = context.tree
    qdot = tree.map_velocity_to_qdot(context, context.v)
    rate = _attempt(tree, partial(_calc_finite_rate, context, element, qdot))
    return _difference_energy(context, element, qdot) if rate is None else rate


# With scalars that carry derivatives.


def _attempt(tree: MultibodyTree, compute: Callable[[], Any]) -> Any:
    """Return a result, or None if it fails and central differences can replace it.

    No error is lost: one that is unrelated to derivatives occurs again in the central differences.
    """
    if tree.scalar_type.name not in ("double", "autodiff"):
        return compute()
    try:
        return compute()
    except MemoryError:
        raise
    except Exception:
        return None


def _calc_finite_forces(moving: Any, element: ForceElement) -> Any:
    forces = moving._new_forces()
    variant = moving.tree.force_elements[element.index]
    variant.calc_and_add_force_contribution(moving, None, None, forces)
    _check_derivatives(forces.body_forces)
    _check_derivatives(forces.generalized_forces)
    return forces


def _calc_finite_rate(context: Context, element: ForceElement, qdot: Any) -> Any:
    moving = make_tangent_context(context, qdot.reshape(-1, 1), None, np.ones(1))
    energy = moving.tree.force_elements[element.index].calc_potential_energy(moving)
    _check_derivatives(energy)
    (rate,) = moving.tree._derivatives_of(energy, 1)
    return context._as_number(rate, "rate")


def _check_derivatives(array: Any) -> None:
    """Raise for derivatives that are not finite, as of sqrt at zero; objects are not checked."""
    if isinstance(array, AutoDiffArray) and not np.isfinite(array.derivatives).all():
        raise SingularityError("derivatives are not finite")


# With central differences.


def _difference_user_forces(
    tree: MultibodyTree, context: Context, N: Any, elements: Sequence[ForceElement]
) -> Any:
    """Return the derivatives of J' F + tau along each qdot = N e_j and each v_j, (nv, 2 nv)."""
    moved: Any = context.clone()
    # A locked dof has derivatives too, but would reject the step.
    moved._set_locked(0, tree.num_velocities, False)
    columns = []
    for name, directions in (("q", N), ("v", np.eye(tree.num_velocities))):
        values = getattr(context, name)
        for direction in directions.T:
            taus = []
            for step in (STEP, -STEP):
                setattr(moved, name, values + step * direction)
                taus.append(tree._calc_user_generalized_forces(moved, elements))
            columns.append((taus[0] - taus[1]) / (2 * STEP))
        setattr(moved, name, values)
    return np.stack(columns, 1)


def _difference_energy(context: Context, element: ForceElement, qdot: Any) -> Any:
    # The rounding error, eps / step, and the truncation error, step^2, are about equal at this step.
    speed = np.max(np.abs(getattr(context.v, "value", context.v)), initial=0.0)
    step = 1e-5 / max(1.0, float(speed))
    moved: Any = context.clone()
    energies = []
    for dt in (step, -step):
        moved.q = context.q + dt * qdot
        moved.time = context.time + dt
        energies.append(element.calc_potential_energy(moved))
    return (energies[0] - energies[1]) / (2 * step)
