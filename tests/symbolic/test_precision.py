"""Rounding errors of doubles, measured by numbers with fifty digits."""

from __future__ import annotations

from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt
from mbt import functional
from support.description import Array
from symbolic.models import MODELS, load, random_inputs

EPS = float(np.finfo(float).eps)


def largest_error(doubles: Array, exact: Any, scale: Any = 1.0) -> float:
    """Return the largest difference, in rounding units of a scale."""
    pairs = zip(doubles.ravel(), np.ravel(exact), strict=True)
    errors = [float(abs(mpmath.mpf(float(a)) - b)) for a, b in pairs]
    return float(np.max(np.array(errors).reshape(doubles.shape) / scale, initial=0.0)) / EPS


def depth_of(tree: mbt.MultibodyTree) -> int:
    """Return the number of moving joints between World and the farthest body."""
    depths = [0] * tree.num_bodies
    for mobilizer in sorted(tree.mobilizers, key=lambda m: m.outboard_body.node_index):
        depth = depths[mobilizer.inboard_body.node_index] + (mobilizer.num_velocities > 0)
        depths[mobilizer.outboard_body.node_index] = depth
    return max(depths)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("name", "base"), MODELS)
def test_doubles_lose_a_few_roundings_for_each_joint(name: str, base: str, seed: int) -> None:
    """At each joint a vector is rotated and added to: about four roundings, most of which cancel.

    So errors are at most four roundings for each joint between World and the farthest body, not for each
    operation; the worst measured is 3.3 in all, for eight public robots of up to 25 degrees of freedom. They
    are relative to the terms that are added up: for an entry of the mass matrix, the root of the product of
    its two diagonal entries, which bounds it; for inverse dynamics, the separate forces of inertia, velocity
    and gravity. Forward dynamics solves with the mass matrix, whose condition number amplifies them.
    """
    tree = load(name, base)
    bound = 4 * depth_of(tree)
    q, v, x = random_inputs(tree, ["q", "v", "x"], seed)
    M = functional.mass_matrix(tree, q)
    Cv, tau_g = functional.bias_term(tree, q, v), functional.gravity_generalized_forces(tree, q)
    tau, vdot = functional.inverse_dynamics(tree, q, v, x), functional.forward_dynamics(tree, q, v, x)
    forces = float(np.max(np.abs(M) @ np.abs(x)) + np.max(np.abs(Cv)) + np.max(np.abs(tau_g)))
    twin = tree.clone_to_scalar("mpmath")
    with mpmath.workdps(50):
        context = twin.create_default_context()
        context.q, context.v = q, v
        diagonal = np.sqrt(np.diag(M))
        assert largest_error(M, twin.calc_mass_matrix(context), np.outer(diagonal, diagonal)) < bound
        exact = twin.calc_inverse_dynamics(context, x, include_force_elements=True)
        assert largest_error(tau, exact, forces) < bound
        exact = twin.calc_forward_dynamics(context, x)
        assert largest_error(vdot, exact, np.max(np.abs(vdot))) < bound * np.linalg.cond(M)


@pytest.mark.parametrize(("name", "base"), MODELS)
def test_fifty_digits_are_right(name: str, base: str) -> None:
    """Numbers of eighty digits agree in all but the last three, and so does the inverse computation."""
    tree = load(name, base)
    twin = tree.clone_to_scalar("mpmath")
    q, v, x = random_inputs(tree, ["q", "v", "x"], 3)
    results = []
    for digits in (50, 80):
        with mpmath.workdps(digits):
            context = twin.create_default_context()
            context.q, context.v = q, v
            vdot = twin.calc_forward_dynamics(context, x)
            tau = twin.calc_inverse_dynamics(context, vdot, include_force_elements=True)
            scale = np.linalg.cond(functional.mass_matrix(tree, q)) * float(max(abs(entry) for entry in vdot))
            tolerance = mpmath.mpf(10) ** (3 - digits) * scale
            assert max(abs(a - mpmath.mpf(float(b))) for a, b in zip(tau, x, strict=True)) < tolerance
            results.append(vdot)
    with mpmath.workdps(80):
        difference = max(abs(a - b) for a, b in zip(*results, strict=True))
        assert difference < mpmath.mpf(10) ** -47 * scale
