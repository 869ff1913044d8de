"""Stateless functions over leading axes.

A sample is computed in a lane of a register, and its result depends only on its own operands: a
batch of one gives the same to the last bit, wherever the sample stands and whatever is beside it. A call with
one state runs other code, with the sums in another order: it is the same to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.engines.lane_engine import lane_count
from support.case import CATALOGUE, FEW, Case, get_case

W = lane_count()
Arrays = tuple[np.ndarray, ...]
Function = Callable[..., Any]
# Name -> (function of the tree and its operands, the operands it takes).
FUNCTIONS: dict[str, tuple[Function, tuple[str, ...]]] = {
    "inverse_dynamics": (functional.inverse_dynamics, ("q", "v", "vdot")),
    "forward_dynamics": (functional.forward_dynamics, ("q", "v", "tau")),
    "mass_matrix": (functional.mass_matrix, ("q",)),
    "bias_term": (functional.bias_term, ("q", "v")),
    "gravity_generalized_forces": (functional.gravity_generalized_forces, ("q",)),
    "body_poses": (functional.body_poses, ("q",)),
    "frame_pose": (
        lambda tree, q, **keywords: functional.frame_pose(tree, q, tree.frames[-1], **keywords),
        ("q",),
    ),
    "frame_jacobian": (
        lambda tree, q, **keywords: functional.frame_jacobian(
            tree, q, tree.bodies[-1].body_frame, **keywords
        ),
        ("q",),
    ),
    "frame_jacobian in a frame": (
        lambda tree, q, **keywords: functional.frame_jacobian(
            tree, q, tree.bodies[-1].body_frame, expressed_in=tree.frames[-1], **keywords
        ),
        ("q",),
    ),
    "center_of_mass": (functional.center_of_mass, ("q",)),
    "inverse_dynamics_derivatives": (functional.inverse_dynamics_derivatives, ("q", "v", "vdot")),
    "forward_dynamics_derivatives": (functional.forward_dynamics_derivatives, ("q", "v", "tau")),
}
WITH_FORCES = [name for name in FUNCTIONS if "dynamics" in name]
every_function = pytest.mark.parametrize("function", FUNCTIONS)
few_models = pytest.mark.parametrize("model", FEW)


def call(function: str, tree: mbt.MultibodyTree, *operands: Any, **keywords: Any) -> Arrays:
    """All outputs."""
    result = FUNCTIONS[function][0](tree, *operands, **keywords)
    return result if isinstance(result, tuple) else (result,)


def operands_of(case: Case, function: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Another state for each sample."""
    states = [case.state(k) for k in range(int(np.prod(shape)))]
    names = FUNCTIONS[function][1]
    sizes = [case.tree.num_positions if name == "q" else case.tree.num_velocities for name in names]
    return [
        np.array([getattr(state, name) for state in states]).reshape(*shape, n)
        for name, n in zip(names, sizes, strict=True)
    ]


def assert_equal(actual: Arrays, desired: Arrays, index: Any = ...) -> None:
    for a, b in zip(actual, desired, strict=True):
        np.testing.assert_array_equal(a[index], b)


def batches_of_one(function: str, tree: mbt.MultibodyTree, *operands: np.ndarray) -> Arrays:
    """Each sample alone, in a batch of shape (1,). Operands have one leading axis."""
    rows = [call(function, tree, *(x[i : i + 1] for x in operands)) for i in range(len(operands[0]))]
    return tuple(np.concatenate(arrays) for arrays in zip(*rows, strict=True))


# To the last bit --------------------------------------------------------------------------------------------


@every_function
@few_models
@pytest.mark.parametrize("count", [1, W - 1, W, W + 1, 2 * W + 3])
def test_a_sample_does_not_depend_on_its_batch(model: str, function: str, count: int) -> None:
    """A sample's result depends on neither the batch size, nor its place, nor the other samples."""
    case = get_case(model)
    operands = operands_of(case, function, (count,))
    alone = batches_of_one(function, case.tree, *operands)
    assert_equal(call(function, case.tree, *operands), alone)
    shuffled = np.random.default_rng(count).permutation(count)
    assert_equal(
        call(function, case.tree, *(x[shuffled] for x in operands)), tuple(a[shuffled] for a in alone)
    )


@every_function
@few_models
@pytest.mark.parametrize("shape", [(), (2, 3), (2, 1, W + 1), (1, 1)])
def test_shapes(model: str, function: str, shape: tuple[int, ...]) -> None:
    """Several axes give the same as one long axis."""
    case = get_case(model)
    operands = operands_of(case, function, shape)
    result = call(function, case.tree, *operands)
    if shape:
        flat = batches_of_one(function, case.tree, *(x.reshape(-1, x.shape[-1]) for x in operands))
        assert_equal(result, tuple(a.reshape(*shape, *a.shape[1:]) for a in flat))
    single = call(function, case.tree, *(x.reshape(-1, x.shape[-1])[0] for x in operands))
    assert [a.shape for a in result] == [shape + a.shape for a in single]


@every_function
@pytest.mark.parametrize("model", CATALOGUE)
def test_empty_batch(model: str, function: str) -> None:
    case = get_case(model)
    one = call(function, case.tree, *operands_of(case, function, (1,)))
    empty = call(function, case.tree, *operands_of(case, function, (0, 3)))
    assert [a.shape for a in empty] == [(0, 3, *a.shape[1:]) for a in one]


@every_function
@few_models
def test_broadcasting_one_operand(model: str, function: str) -> None:
    """One operand has leading axes and the others serve every sample, or the other way round."""
    case = get_case(model)
    operands = operands_of(case, function, (2 * W + 3,))
    for i in range(len(operands)):
        for batched in ([i], [j for j in range(len(operands)) if j != i]):
            mixed = [x if j in batched else x[0] for j, x in enumerate(operands)]
            if not batched:
                continue
            full = [np.ascontiguousarray(np.broadcast_to(x, operands[j].shape)) for j, x in enumerate(mixed)]
            assert_equal(
                call(function, case.tree, *mixed), batches_of_one(function, case.tree, *full), slice(None)
            )


@few_models
def test_broadcasting_axes_against_each_other(model: str) -> None:
    """(4, 1, nq) with (3, nv) makes (4, 3, nv)."""
    case = get_case(model)
    q, v = operands_of(case, "bias_term", (4,))
    result = functional.bias_term(case.tree, q[:, None], v[:3])
    assert result.shape == (4, 3, case.tree.num_velocities)
    for i, j in np.ndindex(4, 3):
        one = functional.bias_term(case.tree, q[i : i + 1], v[j : j + 1])
        np.testing.assert_array_equal(result[i, j], one[0])


@pytest.mark.parametrize("function", WITH_FORCES)
@few_models
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2 * W + 3,)])
def test_batches_of_forces(model: str, function: str, shape: tuple[int, ...]) -> None:
    """External forces have leading axes of their own."""
    case = get_case(model)
    rng = np.random.default_rng(0)
    forces = mbt.MultibodyForces(case.tree, shape)
    forces.body_forces[:] = rng.normal(size=forces.body_forces.shape)
    forces.generalized_forces[:] = rng.normal(size=forces.generalized_forces.shape)
    operands = [x[0] for x in operands_of(case, function, (1,))]
    result = call(function, case.tree, *operands, external_forces=forces)
    assert [a.shape[: len(shape)] for a in result] == [shape] * len(result)
    for index in np.ndindex(shape):
        one = mbt.MultibodyForces(case.tree, (1,))
        one.body_forces[:], one.generalized_forces[:] = (
            forces.body_forces[index],
            forces.generalized_forces[index],
        )
        alone = call(function, case.tree, *operands, external_forces=one)
        assert_equal(result, tuple(a[0] for a in alone), index)


@every_function
@few_models
def test_views(model: str, function: str) -> None:
    """Arrays in any memory order give the same as their copies."""
    case = get_case(model)
    operands = operands_of(case, function, (2 * W + 1,))
    for view in (
        lambda x: x[::-2],
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x.astype(">f8"),
    ):
        views = [view(x) for x in operands]
        copies = [np.array(x, dtype=float, order="C") for x in views]
        assert_equal(call(function, case.tree, *views), call(function, case.tree, *copies))


@every_function
def test_out(function: str) -> None:
    """Every entry of a batch is written into `out`, which is returned."""
    case = get_case("mixed8")
    operands = operands_of(case, function, (11,))
    desired = call(function, case.tree, *operands)
    outs = tuple(np.full(a.shape, np.nan) for a in desired)
    result = call(function, case.tree, *operands, out=outs if len(outs) > 1 else outs[0])
    assert all(a is b for a, b in zip(result, outs, strict=True))
    assert_equal(result, desired)


@every_function
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_out_over_the_inputs(function: str, offset: int) -> None:
    """An input that `out` overwrites is read first."""
    case = get_case("mixed8")
    operands = operands_of(case, function, (2 * W + 3,))
    desired = call(function, case.tree, *operands)
    for i, x in enumerate(operands):
        for k, a in enumerate(desired):
            memory = np.zeros(max(x.size, a.size) + offset)
            shared = memory[offset : offset + x.size].reshape(x.shape)
            shared[...] = x
            outs = [np.empty(b.shape) for b in desired]
            outs[k] = memory[: a.size].reshape(a.shape)
            result = call(
                function,
                case.tree,
                *operands[:i],
                shared,
                *operands[i + 1 :],
                out=tuple(outs) if len(outs) > 1 else outs[0],
            )
            assert_equal(result, desired)


@pytest.mark.parametrize("misaligned", range(8))
def test_results_larger_than_caches(misaligned: int) -> None:
    """They are stored in another way; from any address."""
    case = get_case("humanoid")
    nv = case.tree.num_velocities
    (some,) = operands_of(case, "mass_matrix", (37,))
    count = 16 * 1024 * 1024 // (8 * nv**2) + W + 3
    q = np.resize(some, (count, case.tree.num_positions))
    memory = np.full(count * nv**2 + 16, -1.0)
    start = (-memory.ctypes.data // 8 % 8) + misaligned
    out = memory[start : start + count * nv**2].reshape(count, nv, nv)
    functional.mass_matrix(case.tree, q, out=out)
    small = functional.mass_matrix(case.tree, some)
    np.testing.assert_array_equal(out, np.resize(small, out.shape))
    assert (memory[:start] == -1.0).all()
    assert (memory[start + out.size :] == -1.0).all()


# To rounding ------------------------------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize("model", CATALOGUE)
def test_a_sample_vs_a_single_call(model: str, function: str) -> None:
    """Within 1e-13 of the largest entry, or term of its sum, times the condition of what is inverted.

    A chain of 30 bodies is some 30 rotations of a few roundings each, 1e-16 of the largest intermediate;
    solving with the mass matrix amplifies that by its condition number.
    """
    case = get_case(model)
    operands = operands_of(case, function, (W + 1,))
    result = call(function, case.tree, *operands)
    if function == "center_of_mass" and case.tree.num_bodies == 1:
        # A single state is rejected.
        assert np.isnan(result[0]).all()
        return
    for i in range(W + 1):
        sample = [x[i] for x in operands]
        single = call(function, case.tree, *sample)
        amplification, term = 1.0, 0.0
        if len(sample) > 1 and case.tree.num_velocities:
            M = functional.mass_matrix(case.tree, sample[0])
            if function in ("inverse_dynamics", "forward_dynamics", "bias_term"):
                term = np.abs(M).max() * np.abs(sample[1]).max() ** 2
            if function == "forward_dynamics":
                gravity = functional.gravity_generalized_forces(case.tree, sample[0])
                term = (term + np.abs(gravity).max() + np.abs(sample[2]).max()) / np.linalg.norm(M, 2)
            if function.startswith("forward"):
                amplification = float(np.linalg.cond(M))
        for a, b in zip(result, single, strict=True):
            largest = max(term, np.abs(b).max(initial=0.0))
            np.testing.assert_allclose(a[i], b, rtol=0.0, atol=1e-13 * amplification * largest)


# Samples without a result -----------------------------------------------------------------------------------


@every_function
@few_models
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_bad_numbers_stay_in_their_sample(model: str, function: str, value: float) -> None:
    case = get_case(model)
    operands = operands_of(case, function, (2 * W + 3,))
    clean = call(function, case.tree, *operands)
    others = np.arange(2 * W + 3) != W + 2
    for i in range(len(operands)):
        spoiled = [x.copy() for x in operands]
        spoiled[i][W + 2] = value
        result = call(function, case.tree, *spoiled)
        assert_equal(result, tuple(a[others] for a in clean), others)
        assert any(np.isnan(a[W + 2]).any() for a in result) or i > 0


def _floating() -> tuple[mbt.MultibodyTree, np.ndarray]:
    """A free body with a quaternion of zeros, beside one on a slider that moves independently."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia(1.0, np.zeros(3), np.eye(3))
    slider = tree.add_body(mbt.RigidBody("slider", inertia))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, slider, None, axis=[1, 0, 0])
    tree.add_body(mbt.RigidBody("free", inertia))
    tree.finalize()
    bad = np.zeros(tree.num_positions)
    return tree, bad


def _gimbal() -> tuple[mbt.MultibodyTree, np.ndarray]:
    """Three axes, one body: with the first and third collinear, nothing resists their difference."""
    tree = mbt.MultibodyTree()
    nothing = mbt.SpatialInertia(0.0, np.zeros(3), np.zeros((3, 3)))
    something = mbt.SpatialInertia(1.0, np.zeros(3), np.eye(3))
    parent = tree.world_body
    for name, axis, inertia in (
        ("a", [0, 0, 1], nothing),
        ("b", [0, 1, 0], nothing),
        ("c", [0, 0, 1], something),
    ):
        body = tree.add_body(mbt.RigidBody(name, inertia))
        tree.add_joint(mbt.RevoluteJoint, f"joint_{name}", parent, None, body, None, axis=axis)
        parent = body
    tree.finalize()
    return tree, np.array([0.3, 0.0, 0.2])


def _spring() -> tuple[mbt.MultibodyTree, np.ndarray]:
    """A spring from World to a body on a slider, with zero distance between its ends."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia(1.0, np.zeros(3), np.eye(3))))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.add_force_element(
        mbt.LinearSpringDamper(tree.world_body, np.zeros(3), body, np.zeros(3), 0.5, 10.0, 1.0)
    )
    tree.finalize()
    return tree, np.zeros(1)


DYNAMICS = [name for name in FUNCTIONS if name.startswith(("inverse", "forward"))]
SINGULAR = [
    *((_floating, name) for name in FUNCTIONS),
    *((_gimbal, name) for name in FUNCTIONS if name.startswith("forward")),
    *((_spring, name) for name in DYNAMICS),
]
REGULAR = [
    *((_gimbal, name) for name in FUNCTIONS if not name.startswith("forward")),
    *((_spring, name) for name in FUNCTIONS if name not in DYNAMICS),
]


def _with_one(make: Callable[[], Any], function: str) -> tuple[mbt.MultibodyTree, list[np.ndarray]]:
    """Good samples, except for one in the middle."""
    tree, bad = make()
    rng = np.random.default_rng(0)
    count = 2 * W + 3
    operands = [rng.uniform(0.2, 1.0, (count, bad.size))]
    for _ in FUNCTIONS[function][1][1:]:
        operands.append(rng.normal(size=(count, tree.num_velocities)))
    operands[0][W + 1] = bad
    return tree, operands


@pytest.mark.parametrize(("make", "function"), SINGULAR)
def test_a_singular_sample_is_nan(make: Callable[[], Any], function: str) -> None:
    """All of the sample is NaN, and no other; alone it raises an error."""
    tree, operands = _with_one(make, function)
    result = call(function, tree, *operands)
    others = np.arange(2 * W + 3) != W + 1
    for a in result:
        assert np.isnan(a[W + 1]).all()
        assert np.isfinite(a[others]).all()
    assert_equal(result, call(function, tree, *(x[others] for x in operands)), others)
    with pytest.raises(mbt.SingularityError):
        call(function, tree, *(x[W + 1] for x in operands))


@pytest.mark.parametrize(("make", "function"), REGULAR)
def test_what_has_a_value_where_another_quantity_has_none(make: Callable[[], Any], function: str) -> None:
    """A spring whose force is undefined does not affect a mass matrix."""
    tree, operands = _with_one(make, function)
    for a in call(function, tree, *operands):
        assert np.isfinite(a).all()
    for a in call(function, tree, *(x[W + 1] for x in operands)):
        assert np.isfinite(a).all()
