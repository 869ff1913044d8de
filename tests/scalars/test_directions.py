"""Dynamics along many directions at once, by partial derivatives, against few directions at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import autodiff
from mbt._core.engines.lane_engine import lane_count
from mbt.autodiff import AutoDiffArray
from support.build import build_tree
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import JOINT_TYPES, add_joint_of_type, add_random_body, random_state
from support.quantities import EPS
from support.random_trees import ALL_KINDS, CATALOGUE, random_model

W = lane_count()
Method = Callable[..., AutoDiffArray]
Prepare = Callable[[Any], None]
METHODS: dict[str, Method] = {
    "calc_inverse_dynamics": lambda tree, context, x: tree.calc_inverse_dynamics(context, x),
    "inverse dynamics with force elements": lambda tree, context, x: tree.calc_inverse_dynamics(
        context, x, include_force_elements=True
    ),
    "calc_forward_dynamics": lambda tree, context, x: tree.calc_forward_dynamics(context, x),
    "calc_bias_term": lambda tree, context, x: tree.calc_bias_term(context),
}
every_method = pytest.mark.parametrize("method", METHODS)


def chain_with(kind: str, is_reversed: bool) -> mbt.MultibodyTree:
    """Return a hinge, two joints of a kind, and a slider, damped."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i, one in enumerate(("revolute", kind, kind, "prismatic")):
        body = add_random_body(tree, rng, f"body{i}")
        add_joint_of_type(tree, one, f"joint{i}", parent, body, rng, is_reversed=is_reversed, is_damped=True)
        parent = body
    tree.add_force_element(mbt.UniformGravityFieldElement([0.3, -0.5, -9.81]))
    tree.finalize()
    return tree


TREES: dict[str, Callable[[], mbt.MultibodyTree]] = {
    "everything": lambda: make_everything(user_written=False),
    "mixed12": lambda: build_tree(random_model(102, 12, kinds=ALL_KINDS)),
    "free_forest": lambda: build_tree(CATALOGUE["free_forest"]()),
    **{
        f"{kind}_{'reversed' if is_reversed else 'forward'}": lambda kind=kind, r=is_reversed: chain_with(
            kind, r
        )
        for kind in JOINT_TYPES
        for is_reversed in (False, True)
    },
}
every_tree = pytest.mark.parametrize("name", TREES)


@cache
def pair(name: str) -> tuple[mbt.MultibodyTree, mbt.MultibodyTree]:
    tree = TREES[name]()
    return tree, tree.to_autodiff()


Point = tuple[Array, Array, Array]


def random_point(tree: mbt.MultibodyTree, seed: int = 3) -> Point:
    """Return q, v and the input; quaternions of any norm but far from zero."""
    rng = np.random.default_rng(seed)
    q = np.array(random_state(tree, rng).q)
    for start in quaternion_starts(tree):
        q[start : start + 4] *= rng.uniform(0.5, 2.0)
    return q, *rng.uniform(-2.0, 2.0, (2, tree.num_velocities))


def quaternion_starts(tree: mbt.MultibodyTree) -> list[int]:
    return [joint.position_start for joint in tree.joints if joint.position_suffixes[:1] == ("qw",)]


def identity(sizes: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    return np.split(np.eye(sum(sizes)), np.cumsum(sizes)[:-1])


def dense(sizes: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    return [rng.normal(size=(n, 5 * W + 3)) for n in sizes]


def sparse(sizes: tuple[int, ...], rng: np.random.Generator) -> list[Array]:
    """Return directions of a few variables each, in arbitrary order."""
    return [rng.normal(size=(n, 4 * W + 1)) * (rng.random((n, 4 * W + 1)) < 0.15) for n in sizes]


SEEDS = {"identity": identity, "dense": dense, "sparse": sparse}


def leave(context: Any) -> None:
    """Leave a Context unchanged."""


def compute(
    tree: mbt.MultibodyTree,
    method: str,
    point: Point,
    seeds: list[Array],
    prepare: Prepare = leave,
) -> AutoDiffArray:
    context = tree.create_default_context()
    prepare(context)
    q, v, x = (
        AutoDiffArray(value, np.ascontiguousarray(rows)) for value, rows in zip(point, seeds, strict=True)
    )
    context.q = q
    context.v = v
    return METHODS[method](tree, context, x)


def compute_in_blocks(
    tree: mbt.MultibodyTree,
    method: str,
    point: Point,
    seeds: list[Array],
    prepare: Prepare = leave,
) -> AutoDiffArray:
    """Compute with dual numbers, without the kernel, as many directions at a time as they hold."""
    parts = [
        compute(tree, method, point, [rows[:, i : i + W] for rows in seeds], prepare)
        for i in range(0, seeds[0].shape[1], W)
    ]
    return AutoDiffArray(parts[0].value, np.concatenate([part.derivatives for part in parts], axis=1))


def tolerance(tree: mbt.MultibodyTree, method: str, point: Point) -> float:
    """Return a relative tolerance: forward dynamics inverts the mass matrix, along the tree."""
    if method != "calc_forward_dynamics" or not tree.num_velocities:
        return 1024 * EPS
    context = tree.create_default_context()
    context.q = point[0]
    return 1024 * EPS * float(np.linalg.cond(tree.calc_mass_matrix(context)))


def assert_close(actual: Array, desired: Array, relative: float) -> None:
    assert actual.shape == desired.shape
    scale = 1.0 + np.max(np.abs(desired), initial=0.0)
    assert np.max(np.abs(actual - desired), initial=0.0) <= relative * scale


def assert_same(name: str, method: str, kind: str, prepare: Prepare = leave) -> None:
    tree, clone = pair(name)
    point = random_point(tree)
    seeds = SEEDS[kind](tuple(array.size for array in point), np.random.default_rng(8))
    actual = compute(clone, method, point, seeds, prepare)
    desired = compute_in_blocks(clone, method, point, seeds, prepare)
    near = tolerance(tree, method, point)
    assert_close(actual.value, desired.value, near)
    assert_close(actual.derivatives, desired.derivatives, near)


@every_method
@pytest.mark.parametrize("kind", SEEDS)
@every_tree
def test_all_directions_vs_few_at_a_time(name: str, kind: str, method: str) -> None:
    assert_same(name, method, kind)


@pytest.mark.parametrize("count", range(W + 1, 5 * W + 2))
def test_any_number_of_directions(count: int) -> None:
    """Full rows, empty ones, and some with one entry, side by side."""
    tree, clone = pair("mixed12")
    point = random_point(tree)
    rng = np.random.default_rng(count)
    seeds = [rng.normal(size=(array.size, count)) for array in point]
    for rows in seeds:
        rows[1::4] = 0.0
        rows[2::4] = 0.0
        rows[range(2, len(rows), 4), rng.integers(0, count, len(rows[2::4]))] = 1.5
        rows[0::4, : count // 3] = 0.0
    for method in METHODS:
        actual = compute(clone, method, point, seeds)
        desired = compute_in_blocks(clone, method, point, seeds)
        assert_close(actual.derivatives, desired.derivatives, tolerance(tree, method, point))


def test_a_long_chain() -> None:
    """Runs of variables with one direction each that are longer than one block."""
    tree = mbt.MultibodyTree()
    rng = np.random.default_rng(1)
    parent = tree.world_body
    for i in range(150):
        body = add_random_body(tree, rng, f"body{i}")
        tree.add_joint(mbt.PrismaticJoint, f"joint{i}", parent, None, body, None, axis=rng.normal(size=3))
        parent = body if i % 50 else tree.world_body
    tree.finalize()
    point = tuple(rng.uniform(-1.0, 1.0, (3, 150)))
    seeds = identity((150, 150, 150), rng)
    actual = compute(tree.to_autodiff(), "calc_inverse_dynamics", point, seeds).derivatives
    context = tree.create_default_context()
    context.q, context.v = point[:2]
    wanted = tree.calc_inverse_dynamics_derivatives(context, point[2], include_force_elements=False)
    np.testing.assert_array_equal(actual, np.hstack(wanted))


@every_method
def test_locked_joints(method: str) -> None:
    def prepare(context: Any) -> None:
        joint = next(joint for joint in context.tree.joints if joint.num_velocities == 1)
        joint.lock(context)

    tree, clone = pair("mixed12")
    q, v, x = random_point(tree)
    context = tree.create_default_context()
    prepare(context)
    locked = next(joint for joint in tree.joints if joint.num_velocities == 1).velocity_start
    v[locked] = 0.0
    seeds = identity((q.size, v.size, x.size), np.random.default_rng(0))
    seeds[1][locked] = 0.0
    actual = compute(clone, method, (q, v, x), seeds, prepare)
    desired = compute_in_blocks(clone, method, (q, v, x), seeds, prepare)
    near = tolerance(tree, method, (q, v, x))
    assert_close(actual.derivatives, desired.derivatives, near)
    if method == "calc_forward_dynamics":
        assert not actual.derivatives[locked].any()


@every_method
def test_bodies_exempt_from_gravity(method: str) -> None:
    def prepare(context: Any) -> None:
        context._set_weightless([2], True)

    assert_same("revolute_forward", method, "identity", prepare)


@every_method
def test_parameters_with_derivatives(method: str) -> None:
    """Masses also vary along the directions."""

    def prepare(context: Any, mass: Any) -> None:
        context.tree.bodies[1].set_mass(context, mass)

    tree, clone = pair("everything")
    point = random_point(tree)
    seeds = identity(tuple(array.size for array in point), np.random.default_rng(0))
    row = np.random.default_rng(4).normal(size=seeds[0].shape[1])
    whole = compute(clone, method, point, seeds, lambda c: prepare(c, AutoDiffArray(2.5, row)))
    for i in range(0, row.size, W):
        part = compute(
            clone,
            method,
            point,
            [rows[:, i : i + W] for rows in seeds],
            lambda c, i=i: prepare(c, AutoDiffArray(2.5, row[i : i + W])),
        )
        near = tolerance(tree, method, point)
        assert_close(whole.derivatives[:, i : i + W], part.derivatives, near)


# --- Off the unit sphere ----------------------------------------------------------------------------------


@every_method
@pytest.mark.parametrize(
    "name", [name for name in TREES if name.startswith("quaternion")] + ["mixed12", "free_forest"]
)
def test_quaternions_of_any_norm_vs_differences(name: str, method: str) -> None:
    tree, clone = pair(name)
    q, v, x = random_point(tree)
    assert any(abs(np.linalg.norm(q[s : s + 4]) - 1.0) > 0.1 for s in quaternion_starts(tree))
    variables = autodiff.initialize(q, v, x)
    actual = compute(clone, method, (q, v, x), [array.derivatives for array in variables]).derivatives

    def f(moved: Array) -> Array:
        context = tree.create_default_context()
        context.q, context.v = moved, v
        return np.asarray(METHODS[method](tree, context, x))

    h = 1e-3
    for k in range(q.size):
        step = h * np.eye(q.size)[k]
        D = [(f(q + step / n) - f(q - step / n)) / (2 * h / n) for n in (1, 2, 4)]
        once = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
        wanted = (16 * once[1] - once[0]) / 15
        scale = 1.0 + np.max(np.abs(f(q))) + np.max(np.abs(wanted))
        assert np.max(np.abs(actual[:, k] - wanted)) <= 1e-9 * scale


@every_method
def test_the_norm_of_a_quaternion_does_not_matter(method: str) -> None:
    tree, clone = pair("quaternion_floating_forward")
    q, v, x = random_point(tree)
    sizes = (q.size, v.size, x.size)
    seeds = identity(sizes, np.random.default_rng(0))
    gradient = compute(clone, method, (q, v, x), seeds).derivatives
    scale = 1.0 + np.max(np.abs(gradient))
    for s in quaternion_starts(tree):
        assert np.max(np.abs(gradient[:, s : s + 4] @ q[s : s + 4])) <= 1e-11 * scale
        # Twice the norm, half the derivatives.
        longer = q.copy()
        longer[s : s + 4] *= 2.0
        half = compute(clone, method, (longer, v, x), seeds).derivatives
        assert np.max(np.abs(2.0 * half[:, s : s + 4] - gradient[:, s : s + 4])) <= 1e-11 * scale


# --- Values -----------------------------------------------------------------------------------------------


@every_method
@every_tree
def test_values_are_those_of_doubles(name: str, method: str) -> None:
    tree, clone = pair(name)
    q, v, x = random_point(tree)
    context = tree.create_default_context()
    context.q, context.v = q, v
    variables = autodiff.initialize(q, v, x)
    actual = compute(clone, method, (q, v, x), [array.derivatives for array in variables]).value
    assert_close(actual, np.asarray(METHODS[method](tree, context, x)), tolerance(tree, method, (q, v, x)))


def test_what_is_set_may_be_written_afterwards() -> None:
    """A Context keeps copies."""
    tree, clone = pair("mixed12")
    point = random_point(tree)
    seeds = identity(tuple(array.size for array in point), np.random.default_rng(0))
    context = clone.create_default_context()
    q, v, x = (AutoDiffArray(value.copy(), rows.copy()) for value, rows in zip(point, seeds, strict=True))
    context.q, context.v = q, v
    before = clone.calc_inverse_dynamics(context, x)
    q[...] = 0.0
    v[...] = 0.0
    after = clone.calc_inverse_dynamics(context, x)
    np.testing.assert_array_equal(after.value, before.value)
    np.testing.assert_array_equal(after.derivatives, before.derivatives)
