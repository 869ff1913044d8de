"""A user's function computes the same in native code as in Python."""

from __future__ import annotations

import gc
import inspect
import operator
import pickle
import re
import shutil
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.compiling.tracing import Trace
from support.build import build_tree
from support.linkages import MECHANISMS, assembled
from support.random_trees import chain, every_kind
from symbolic.models import load

pytestmark = [
    pytest.mark.skipif(
        not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler here"
    ),
    pytest.mark.usefixtures("optimization"),
]

EPS = np.finfo(float).eps
F = mbt.functional


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a temporary cache folder; nothing is left in the user's home."""
    folder = tmp_path_factory.mktemp("compiled") / "mbt"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MBT_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return load("mbt_arm", "fixed")


def control_of(tree: mbt.MultibodyTree) -> Callable[..., dict[str, Any]]:
    """Operational-space control of the last body."""
    tool = tree.bodies[-1]

    def control(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        J = F.frame_jacobian(tree, q, tool, expressed_in=tool)
        e = mbt.math.log_se3(mbt.math.inverse_pose(F.frame_pose(tree, q, tool)) @ goal)
        M = F.mass_matrix(tree, q)
        inertia = np.linalg.inv(J @ np.linalg.solve(M, J.T) + 0.01 * np.eye(6))
        tau = J.T @ (inertia @ (100.0 * e - 20.0 * (J @ v))) - F.gravity_generalized_forces(tree, q)
        return {"tau": np.clip(tau, -50.0, 50.0), "error": e, "distance": np.linalg.norm(e[3:])}

    return control


SHAPES = {"q": 6, "v": 6, "goal": (4, 4)}


@pytest.fixture(scope="module")
def tick(arm: mbt.MultibodyTree) -> mbt.compiling.CompiledFunction:
    return mbt.compile(arm, control_of(arm), arguments=SHAPES)


@pytest.fixture(scope="module")
def states() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    q, v = rng.normal(size=(2, 19, 6))
    return q, v, mbt.math.exp_se3(rng.normal(size=(19, 6)))


def stacked(function: Callable[..., Any], *arrays: Any) -> dict[str, Any]:
    """Return the plain function's results, one state after the other."""
    results = [function(*state) for state in zip(*arrays, strict=True)]
    return {name: np.stack([np.asarray(result[name]) for result in results]) for name in results[0]}


def assert_close(got: dict[str, Any], wanted: dict[str, Any], rtol: float = 1e-11) -> None:
    assert list(got) == list(wanted)
    for name, array in wanted.items():
        scale = np.abs(array[np.isfinite(array)]).max(initial=1.0)
        np.testing.assert_allclose(got[name], array, rtol=0, atol=rtol * scale, err_msg=name)


# Values ---------------------------------------------------------------------------------------------------


def test_a_controller(arm: mbt.MultibodyTree, tick: Any, states: Any) -> None:
    wanted = stacked(control_of(arm), *states)
    one = [tick(*state) for state in zip(*states, strict=True)]
    assert_close({name: np.stack([result[name] for result in one]) for name in wanted}, wanted)
    assert_close(tick(*states), wanted)
    assert one[0]["distance"].shape == ()
    assert tick(*states)["distance"].shape == (19,)


def test_the_error_of_a_pose(arm: mbt.MultibodyTree, states: Any) -> None:
    """With its exact Jacobian, at errors of any size."""

    def error(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        e, J = F.pose_error(arm, q, arm.bodies[-1], goal, jacobian=True)
        return {"error": e, "rate": J @ v}

    compiled = mbt.compile(arm, error, arguments=SHAPES)
    assert_close(compiled(*states), stacked(error, *states))
    q, v, goal = (array[0] for array in states)
    assert_close(compiled(q, v, goal), error(q, v, goal))


def test_motion_and_momentum(arm: mbt.MultibodyTree, states: Any) -> None:
    tool = arm.bodies[-1]

    def motion(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        return {
            "frame": F.frame_velocity(arm, q, v, tool, expressed_in=tool),
            "bias": F.frame_bias_acceleration(arm, q, v, tool),
            "center": F.center_of_mass_velocity(arm, q, v) - F.center_of_mass_jacobian(arm, q) @ v,
            "momentum": F.spatial_momentum(arm, q, v) + F.centroidal_momentum_matrix(arm, q) @ v,
            "rate": F.centroidal_momentum_bias(arm, q, v),
        }

    compiled = mbt.compile(arm, motion, arguments=SHAPES)
    assert_close(compiled(*states), stacked(motion, *states))


def test_bias_accelerations_share_the_terms_of_a_bias_term(arm: mbt.MultibodyTree) -> None:
    tool = arm.bodies[-1]

    def count(*names: str) -> int:
        def found(q: Any, v: Any) -> dict[str, Any]:
            results = {"h": F.bias_term(arm, q, v), "a": F.frame_bias_acceleration(arm, q, v, tool)}
            return {name: results[name] for name in names}

        shapes = {"q": arm.num_positions, "v": arm.num_velocities}
        return len(re.findall(r" = t\d+ ", mbt.compile(arm, found, arguments=shapes).source))

    assert count("h", "a") < count("h") + 0.6 * count("a")


# C compilers need long for the delta robot.
@pytest.mark.parametrize("name", ["four-bar", pytest.param("delta", marks=pytest.mark.exhaustive)])
def test_a_mechanism_with_loops(name: str) -> None:
    """Motor forces for a motion along the degrees of freedom that the constraints leave."""
    make, num_motors = MECHANISMS[name]
    tree = make()
    context = assembled(tree, np.random.default_rng(0))
    shapes = {"q": (tree.num_positions,), "v": (tree.num_velocities,), "tau": (tree.num_velocities,)}

    def drive(q: Any, v: Any, tau: Any) -> dict[str, Any]:
        vdot = F.forward_dynamics(tree, q, v, tau)
        motors, multipliers = F.constrained_inverse_dynamics(tree, q, v, vdot, list(range(num_motors)))
        return {"motors": motors, "multipliers": multipliers}

    compiled = mbt.compile(tree, drive, arguments=shapes)
    tau = np.zeros(tree.num_velocities)
    tau[:num_motors] = [0.5, -0.25, 1.0][:num_motors]
    found, wanted = (function(context.q, context.v, tau) for function in (compiled, drive))
    for result in wanted:
        np.testing.assert_allclose(found[result], wanted[result], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["motors"], tau, rtol=0, atol=1e-9)


def test_float32(arm: mbt.MultibodyTree, states: Any) -> None:
    single = mbt.compile(arm, control_of(arm), arguments=SHAPES, dtype=np.float32)
    arrays = [array.astype(np.float32) for array in states]
    got = single(*arrays)
    assert {array.dtype for array in got.values()} == {np.dtype(np.float32)}
    # The goal is a pose only to single precision.
    double = mbt.compile(arm, control_of(arm), arguments=SHAPES)
    assert_close(got, double(*(array.astype(float) for array in arrays)), 2e-4)
    with pytest.raises(mbt.ArgumentTypeError, match="q: expected float32"):
        single(*states)


@pytest.mark.parametrize(
    "tree",
    [build_tree(every_kind(3)), build_tree(chain(3, 3, ("floating", "universal", "revolute")))],
    ids=["every kind", "dynamics"],
)
def test_every_joint(tree: mbt.MultibodyTree) -> None:
    # C compilers need long for dynamics of long chains; all joints are recorded by the same rules.
    is_short = tree.num_bodies < 6
    frame, other = tree.bodies[-1], tree.bodies[len(tree.bodies) // 2]

    def everything(q: Any, v: Any, x: Any) -> dict[str, Any]:
        results = {
            "tau": F.inverse_dynamics(tree, q, v, x),
            "g": F.gravity_generalized_forces(tree, q),
            "X": F.frame_pose(tree, q, frame),
            "J": F.frame_jacobian(tree, q, frame, expressed_in=other),
            "Jdot v": F.frame_jacobian_rate(tree, q, v, frame) @ v,
            "bias": F.frame_bias_acceleration(tree, q, v, frame),
            "com": F.center_of_mass(tree, q),
            "dq": F.difference_positions(tree, q, F.integrate_positions(tree, q, v, 0.1)),
        }
        if is_short:
            q1, v1 = F.step(tree, q, v, x, 0.01)
            results |= {"vdot": F.forward_dynamics(tree, q, v, x), "q1": q1, "v1": v1}
            results |= {"M": F.mass_matrix(tree, q), "h": F.bias_term(tree, q, v)}
        return results

    rng = np.random.default_rng(1)
    q = np.stack([tree.random_positions(rng) for _ in range(9)])
    v, x = rng.normal(size=(2, 9, tree.num_velocities))
    arguments = {"q": tree.num_positions, "v": tree.num_velocities, "x": tree.num_velocities}
    assert_close(
        mbt.compile(tree, everything, arguments=arguments)(q, v, x), stacked(everything, q, v, x), 1e-10
    )


def with_numpy(x: Any, y: Any, A: Any) -> dict[str, Any]:
    """Operations that NumPy computes entry by entry, or that rearrange entries."""
    z = np.zeros(3, like=x)
    z[1:] = x[:2]
    z[0] = 2.0
    z += y
    return {
        "operators": x + y - 2 * x * y / (3 + y) + x**2 - x**3 + 2.0**y - (-x) ** -2 + abs(x) ** 0.5,
        "remainders": np.stack([x % y, x // y, np.fmod(x, y), 7.5 % x, (x + np.pi) % (2 * np.pi) - np.pi]),
        "trigonometry": np.stack(
            [np.sin(x), np.cos(x), np.tan(x), np.arctan(x), np.arctan2(x, y), np.hypot(x, y)]
        ),
        "arcs": np.stack(
            [np.arcsin(np.tanh(x)), np.arccos(np.tanh(x)), np.arcsinh(x), np.arctanh(np.tanh(x) / 2)]
        ),
        "exponentials": np.stack(
            [np.exp(x), np.expm1(x), np.exp2(x), np.log(y), np.log1p(y), np.log2(y), np.log10(y)]
        ),
        "hyperbolic": np.stack(
            [np.sinh(x), np.cosh(x), np.tanh(x), np.arccosh(1 + y), np.cbrt(x), np.sqrt(y)]
        ),
        "steps": np.stack(
            [np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sign(x), np.heaviside(x, 0.5)]
        ),
        "choices": np.stack(
            [
                np.where(x < y, x, y),
                np.where((x > 0) & ~(y > 1), 1.0, x),
                np.where((x > 0) | (x < -1), x, 0.0),
                np.minimum(x, y),
                np.maximum(x, 0.1),
                np.clip(x, -0.3, y),
                x.clip(-0.1, 0.1),
                np.fmin(x, y),
                np.select([x < -1, x < 0], [x, 2 * x], 3.0),
                np.copysign(y, x),
            ]
        ),
        "conditions": np.stack(
            [
                x < y,
                x <= y,
                x > 0.5,
                x >= y,
                x == y,
                x != y,
                np.isfinite(x),
                np.isnan(x),
                np.logical_xor(x > 0, y > 1),
                (x > 0).astype(float),
                np.logical_not(x),
            ]
        ),
        "reductions": np.stack(
            [
                x.sum(),
                np.mean(x),
                x.max(),
                np.min(x),
                np.prod(x),
                np.std(x),
                np.linalg.norm(x),
                x @ y,
                np.dot(x, y),
                np.vdot(x, y),
                np.inner(x, y),
                np.trace(A),
                A.sum(),
                np.max(A),
                np.any(x > 0),
                np.all(x > 0),
                np.linalg.norm(A),
                np.linalg.norm(x, 1),
                np.linalg.norm(x, np.inf),
                np.average(x, weights=y),
            ]
        ),
        "along axes": np.stack(
            [
                A.sum(0),
                A.mean(1),
                A.max(axis=0),
                np.linalg.norm(A, axis=1),
                np.cumsum(A, 1)[0],
                np.cumprod(x),
                np.ptp(A, axis=1),
            ]
        ),
        "products": np.stack(
            [
                A @ x,
                x @ A,
                np.cross(x, y),
                np.einsum("ij,j->i", A, y),
                A.T.dot(y),
                A[0] * A[:, 1],
                np.tensordot(A, x, 1),
                np.matvec(A, x),
            ]
        ),
        "matrices": np.stack(
            [
                A @ A,
                np.outer(x, y),
                np.kron(x, y).reshape(3, 3),
                np.diag(x),
                np.tril(A),
                A.T,
                np.einsum("ij,kj", A, A),
                np.linalg.matrix_power(A, 3),
                np.eye(3) * x[0],
                np.linalg.multi_dot([A, A.T, A]),
                np.vstack([x, y, x + y]),
            ]
        ),
        "pieces": np.concatenate(
            [
                x,
                [1.0, 2.0],
                y[::-1],
                A.ravel()[2:5],
                np.roll(x, 1),
                np.diff(x),
                np.tile(x, 2),
                np.repeat(y, 2),
                np.atleast_1d(x[0]),
                x[[2, 0]],
                A[A.shape[0] - 1],
            ]
        ),
        "blocks": np.block([[A, x[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]),
        "written": z,
        "a list": [x[0], 1.0, y[2]],
        "a constant": np.arange(3.0),
        "numbers": np.array([x[0] ** 2, np.sin(x[1]), 3.0 - x[2]]) @ A,
        "degrees": np.stack([np.degrees(x), np.deg2rad(y)]),
        "truth": x[0] > 0,
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy(dtype: Any) -> None:
    tree = build_tree(every_kind(3))
    rng = np.random.default_rng(2)
    x, y, A = rng.normal(size=(17, 3)), rng.uniform(0.3, 3.0, (17, 3)), rng.normal(size=(17, 3, 3))
    x[0] = y[0]
    x, y, A = (array.astype(dtype) for array in (x, y, A))
    function = mbt.compile(tree, with_numpy, arguments={"x": 3, "y": 3, "A": (3, 3)}, dtype=dtype)
    doubles = [array.astype(float) for array in (x, y, A)]
    with np.errstate(all="ignore"):
        wanted = {name: array.astype(float) for name, array in stacked(with_numpy, *doubles).items()}
    rtol = 40 * float(np.finfo(dtype).eps)
    assert_close(function(x, y, A), wanted, rtol)
    assert_close(stacked(function, x, y, A), wanted, rtol)


def test_operators_of_entries(arm: mbt.MultibodyTree) -> None:
    names = "add", "sub", "mul", "truediv", "pow", "mod", "floordiv"
    arithmetic = [getattr(operator, name) for name in names]
    comparisons = operator.lt, operator.gt, operator.le, operator.ge, operator.eq, operator.ne

    def function(x: Any) -> Any:
        a, b = x[0], x[1]
        pairs = [
            (a, b),
            *((a, n) for n in (0, 1, -1, 2, -0.5, 3.0)),
            *((n, b) for n in (0, 1, -1, 2, 0.5, 3.0)),
        ]
        values = [f(*pair) for f in arithmetic for pair in pairs]
        return np.stack([
            *values, *(np.where(f(*pair), 1.0, 0.0) for f in comparisons for pair in pairs), -a, +a, abs(a),
        ])  # fmt: skip

    compiled = mbt.compile(arm, function, arguments={"x": 2})
    for x in ([0.7, 1.3], [-2.5, 1.5], [2.5, -1.5], [-7.0, -2.0], [3.0, 3.0], [1.0, 0.5]):
        with np.errstate(all="ignore"):
            wanted = function(np.array(x))
        np.testing.assert_allclose(compiled(np.array(x)), wanted, rtol=1e-14, atol=0)


def test_not_a_number_as_in_numpy(arm: mbt.MultibodyTree) -> None:
    def function(x: Any, y: Any) -> Any:
        return np.stack([
            np.minimum(x, y), np.maximum(x, y), np.minimum(x, 1.0), np.maximum(1.0, x),
            np.fmin(x, y), np.fmax(x, y),
            np.where(x < y, 1.0, 2.0), np.where(x >= y, 1.0, 2.0), np.isnan(x), np.isfinite(y), np.isinf(y),
            np.clip(x, -1, 1), np.sign(x), x // y, x % y,
        ])  # fmt: skip

    compiled = mbt.compile(arm, function, arguments={"x": (), "y": ()})
    values = np.array([np.nan, np.inf, -np.inf, 0.0, 2.0, -1.5])
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        wanted = function(x, y).T
    np.testing.assert_array_equal(compiled(x, y), wanted)
    np.testing.assert_array_equal([compiled(float(a), float(b)) for a, b in zip(x, y, strict=True)], wanted)


# Linear algebra -------------------------------------------------------------------------------------------


def solutions(A: Any, b: Any, B: Any) -> dict[str, Any]:
    S = A @ A.T + 0.1 * np.eye(5)
    return {
        "x": np.linalg.solve(A, b),
        "X": np.linalg.solve(A, B),
        "inverse": np.linalg.inv(A),
        "determinant": np.linalg.det(A),
        "x of S": np.linalg.solve(S, b),
        "inverse of S": np.linalg.inv(S),
        "factor": np.linalg.cholesky(S),
        "symmetric": np.linalg.solve(A + A.T, b),
    }


def test_linear_algebra(arm: mbt.MultibodyTree) -> None:
    """As accurate as LAPACK, also with zeros and tiny pivots at the start."""
    rng = np.random.default_rng(3)
    A, b, B = rng.normal(size=(40, 5, 5)), rng.normal(size=(40, 5)), rng.normal(size=(40, 5, 2))
    A[:10, 0, 0], A[5:15, 1, :2], A[15:20, 0, 0] = 0.0, 0.0, 1e-14
    A[20:30] = A[20:30][:, rng.permutation(5)] * 10.0 ** rng.integers(-3, 4, (10, 5, 1))
    compiled = mbt.compile(arm, solutions, arguments={"A": (5, 5), "b": 5, "B": (5, 2)})
    got = compiled(A, b, B)
    for i in range(40):
        wanted = solutions(A[i], b[i], B[i])
        S = A[i] @ A[i].T + 0.1 * np.eye(5)
        conditions = {"A": np.linalg.cond(A[i]), "S": np.linalg.cond(S)}
        conditions["symmetric"] = np.linalg.cond(A[i] + A[i].T)
        for name, array in wanted.items():
            key = "symmetric" if name == "symmetric" else "S" if "S" in name or name == "factor" else "A"
            atol = 20 * EPS * conditions[key] * np.abs(array).max()
            for result in (got[name][i], compiled(A[i], b[i], B[i])[name]):
                np.testing.assert_allclose(result, array, rtol=0, atol=atol, err_msg=name)


def test_singular_matrices_give_no_number(arm: mbt.MultibodyTree) -> None:
    inverse = mbt.compile(arm, lambda A: np.linalg.inv(A), arguments={"A": (2, 2)})
    assert not np.isfinite(inverse(np.ones((2, 2)))).any()


# Rotations ------------------------------------------------------------------------------------------------


def test_logarithms_near_zero_and_pi(arm: mbt.MultibodyTree) -> None:
    """Exact to rounding at every angle, as the functions of doubles, which are checked against mpmath."""
    m = mbt.math

    def of_pose(X: Any, xi: Any) -> dict[str, Any]:
        return {
            "log": m.log_se3(X),
            "log R": m.log_so3(X[:3, :3]),
            "exp": m.exp_se3(xi),
            "exp R": m.exp_so3(xi[:3]),
            "J": m.left_jacobian_se3(xi),
            "1/J": m.right_jacobian_inverse_se3(xi),
            "inverse": m.inverse_pose(X),
            "quaternion": m.matrix_to_quaternion(X[:3, :3]),
        }

    rng = np.random.default_rng(4)
    angles = np.array([0, 1e-300, 1e-160, 1e-20, 1e-9, 1e-8, 1e-4, 1.2e-4, 0.01, 1.0, 1.4142135, 1.4142136,
                       2, 3, np.pi - 1e-3, np.pi - 1e-8, np.pi - 1e-12, np.pi])  # fmt: skip
    axes = rng.normal(size=(len(angles), 3))
    axes[::3] = np.eye(3)[np.arange(len(axes[::3])) % 3]
    xi = rng.normal(size=(len(angles), 6))
    xi[:, :3] = angles[:, None] * axes / np.linalg.norm(axes, axis=1, keepdims=True)
    X = m.exp_se3(xi)
    compiled = mbt.compile(arm, of_pose, arguments={"X": (4, 4), "xi": 6})
    got = compiled(X, xi)
    for i, (pose, vector) in enumerate(zip(X, xi, strict=True)):
        for name, wanted in of_pose(pose, vector).items():
            atol = 40 * EPS * max(1.0, np.abs(wanted).max())
            for result in (got[name][i], compiled(pose, vector)[name]):
                np.testing.assert_allclose(
                    result, wanted, rtol=0, atol=atol, err_msg=f"{name} at {angles[i]}"
                )


# Calls ----------------------------------------------------------------------------------------------------


def test_by_position_and_by_name(tick: Any, states: Any) -> None:
    q, v, goal = (array[0] for array in states)
    wanted = tick(q, v, goal)
    for got in (tick(q=q, v=v, goal=goal), tick(q, goal=goal, v=v)):
        for name, array in wanted.items():
            np.testing.assert_array_equal(got[name], array)
    assert_close(tick(q.tolist(), v.tolist(), goal.tolist()), wanted)
    for arguments, named, message in [
        ((q, v), {}, "goal: missing, control"),
        ((q, v, goal, goal), {}, r"control\(q, v, goal, \*, out=None\): expected an array for each, got 4"),
        ((q, v, goal), {"goal": goal}, "expected the arguments q, v, goal, got 3 by position, goal"),
        ((q,), {"v": v, "target": goal}, "expected the arguments q, v, goal"),
        ((q, v, None), {}, "goal: missing"),
    ]:
        with pytest.raises(mbt.ArgumentTypeError, match=message):
            tick(*arguments, **named)


def test_leading_axes_broadcast(arm: mbt.MultibodyTree, tick: Any, states: Any) -> None:
    q, v, goal = states
    wanted = stacked(control_of(arm), np.repeat(q[:2], 3, 0), np.tile(v[:3], (2, 1)), np.stack([goal[0]] * 6))
    got = tick(q[:2, None], v[:3], goal[0])
    assert_close({name: array.reshape(6, *array.shape[2:]) for name, array in got.items()}, wanted)
    assert got["tau"].shape == (2, 3, 6)
    assert_close(tick(q[:5], v[0], goal[0]), stacked(control_of(arm), q[:5], [v[0]] * 5, [goal[0]] * 5))
    assert tick(q[:0], v[0], goal[0])["error"].shape == (0, 6)
    with pytest.raises(mbt.ShapeError, match="broadcast"):
        tick(q[:2], v[:3], goal[0])
    with pytest.raises(mbt.ShapeError, match=r"goal: expected shape \(\.\.\., 4, 4\), got \(3, 3\)"):
        tick(q[0], v[0], np.eye(3))


@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (9000,)])
def test_out(tick: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    q, v = rng.normal(size=(2, *shape, 6))
    goal = np.eye(4)
    wanted = tick(q, v, goal)
    out = {name: np.full_like(array, np.nan) for name, array in wanted.items()}
    got = tick(q, v, goal, out=out)
    assert all(got[name] is array for name, array in out.items())
    some = {"error": np.full((*shape, 6), np.nan)}
    part = tick(q, v, goal, out=some)
    assert part["error"] is some["error"]
    assert list(some) == ["error"]
    for name, array in wanted.items():
        np.testing.assert_array_equal(out[name], array)
        np.testing.assert_array_equal(part[name], array)
    # Into an input array.
    into = tick(q, v, goal, out={"tau": q})
    np.testing.assert_array_equal(into["tau"], wanted["tau"])
    np.testing.assert_array_equal(into["error"], wanted["error"])


def test_bad_out_is_refused_and_nothing_is_written(tick: Any, states: Any) -> None:
    state = [array[0] for array in states]
    kept = np.full(6, 7.0)
    for out, error, message in [
        (
            {"tau": kept, "error": np.zeros(5)},
            mbt.ShapeError,
            r"out\['error'\]: expected shape \(6,\), got \(5,\)",
        ),
        ({"tau": kept, "error": kept}, mbt.ArgumentValueError, "expected arrays that do not overlap"),
        ({"tau": kept, "force": kept}, mbt.UnknownNameError, "force"),
        (kept, mbt.ArgumentTypeError, "out: expected a dict of arrays, tau, error, distance, got ndarray"),
        ({"tau": kept, "error": np.zeros(6, np.float32)}, mbt.ArgumentTypeError, "float32"),
    ]:
        with pytest.raises(error, match=message):
            tick(*state, out=out)
    assert (kept == 7.0).all()


def test_results_as_they_are_returned(arm: mbt.MultibodyTree) -> None:
    arguments = {"q": 6}
    pair = mbt.compile(arm, lambda q: (q[:2], q @ q), arguments=arguments)
    q = np.arange(6.0)
    first, second = pair(q)
    np.testing.assert_array_equal(first, [0, 1])
    assert second == 55
    out = (None, np.empty(()))
    assert pair(q, out=out)[1] is out[1]
    with pytest.raises(mbt.ArgumentTypeError, match="out: expected a tuple of 2"):
        pair(q, out=out[1])
    single = mbt.compile(arm, lambda q: q[::-1], arguments=arguments)
    np.testing.assert_array_equal(single(q[None]), [q[::-1]])
    out = np.empty(6)
    assert single(q, out=out) is out
    constant = mbt.compile(arm, lambda: {"M": F.mass_matrix(arm, np.zeros(6))}, arguments={})
    assert_close(constant(), {"M": F.mass_matrix(arm, np.zeros(6))})  # other operations, other rounding


COMPILERS = [None, pytest.param("llvm", marks=pytest.mark.engine)]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_results_that_take_the_place_of_their_argument(
    arm: mbt.MultibodyTree, compiler: str | None, shape: tuple[int, ...]
) -> None:
    """Also if results are arguments or constants, which are known before all arguments are read."""
    if compiler == "llvm":
        pytest.importorskip("llvmlite")

    def mix(q: Any) -> Any:
        return np.concatenate((q[5:], np.zeros(1), q[4:5], np.sin(q[:1]), q[1:2] + q[5:], q[:1]))

    q = np.random.default_rng(0).normal(size=(*shape, 6))
    wanted = np.apply_along_axis(mix, -1, q)
    tick = mbt.compile(arm, mix, arguments={"q": 6}, compiler=compiler)
    assert tick(q, out=q) is q
    np.testing.assert_allclose(q, wanted, rtol=1e-15)


def test_no_python_frame_and_no_memory(tick: Any, states: Any) -> None:
    state = tuple(array[0].copy() for array in states)
    out = {name: array.copy() for name, array in tick(*state).items()}
    frames: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            frames.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        tick(*state, out=out)
        tick(*states)
    finally:
        sys.setprofile(None)
    assert not frames
    grown = []
    for _ in range(3):  # other threads of the process may allocate memory meanwhile
        tracemalloc.start()
        try:
            tick(*state, out=out)
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            for _ in range(1000):
                tick(*state, out=out)
            grown.append(max(tracemalloc.get_traced_memory()) - before)
        finally:
            tracemalloc.stop()
    # By Python's calls alone, each of which makes a tuple and a dict, and by this loop.
    assert min(grown) < 8000
    body = tick.source.partition("mbt_one")[2]
    assert "alloc" not in body


def test_threads_change_nothing(tick: Any) -> None:
    q, v = np.random.default_rng(6).uniform(-1, 1, (2, 20_000, 6))
    before = mbt.get_num_threads()
    try:
        mbt.set_num_threads(1)
        alone = tick(q, v, np.eye(4))
        mbt.set_num_threads(3)
        for name, array in tick(q, v, np.eye(4)).items():
            np.testing.assert_array_equal(array, alone[name])
    finally:
        mbt.set_num_threads(before)


def test_pickles_and_addresses(arm: mbt.MultibodyTree, states: Any) -> None:
    state = [array[0] for array in states]
    tick = mbt.compile(arm, control_of(arm), arguments=SHAPES)
    copy = pickle.loads(pickle.dumps(tick))
    for name, array in tick(*state).items():
        np.testing.assert_array_equal(copy(*state)[name], array)
    native = tick.native()
    assert native.inputs == {"q": 6, "v": 6, "goal": 16}
    assert native.outputs == ((6,), (6,), ())
    assert repr(tick) == "<CompiledFunction control(q, v, goal) -> tau, error, distance>"


# Derivatives ----------------------------------------------------------------------------------------------


def test_derivatives_of_a_controller() -> None:
    """Against fourth-order central differences of the compiled function."""
    tree = build_tree(chain(3, 2, ("revolute",)))
    control = control_of(tree)

    def smooth(q: Any, v: Any, goal: Any) -> dict[str, Any]:
        results = control(q, v, goal)
        return {"tau": results["tau"], "error": results["error"]}

    shapes = {"q": 2, "v": 2, "goal": (4, 4)}
    compiled = mbt.compile(tree, smooth, arguments=shapes, derivatives=("q", "v"))
    assert list(compiled.outputs) == ["tau", "error", "tau_q", "tau_v", "error_q", "error_v"]
    q, v = np.array([0.3, -0.5]), np.array([0.02, -0.03])
    goal = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, -0.2, 0.3])
    got = compiled(q, v, goal)
    h = 1e-3
    for place, name in enumerate(("q", "v")):
        for k in range(2):
            step = h * np.eye(2)[k]
            ends = [compiled(*(x + n * step if i == place else x for i, x in enumerate((q, v))), goal)
                    for n in (-2, -1, 1, 2)]  # fmt: skip
            for result in ("tau", "error"):
                a, b, c, d = (end[result] for end in ends)
                rate = (a - 8 * b + 8 * c - d) / (12 * h)
                column = got[f"{result}_{name}"][..., k]
                np.testing.assert_allclose(column, rate, rtol=1e-6, atol=1e-6 * np.abs(rate).max() + 1e-7)


def test_derivatives_of_inverse_dynamics_are_the_analytic_ones() -> None:
    tree = build_tree(chain(3, 3, ("revolute",)))

    def function(q: Any, v: Any, vdot: Any) -> dict[str, Any]:
        return {"tau": F.inverse_dynamics(tree, q, v, vdot)}

    compiled = mbt.compile(
        tree, function, arguments={"q": 3, "v": 3, "vdot": 3}, derivatives=("q", "v", "vdot")
    )
    x = np.random.default_rng(7).normal(size=(3, 5, 3))
    got = compiled(*x)
    for name, wanted in zip(["q", "v", "vdot"], F.inverse_dynamics_derivatives(tree, *x), strict=True):
        np.testing.assert_allclose(got[f"tau_{name}"], wanted, rtol=0, atol=1e-12)


SMOOTH: dict[str, Callable[[Any, Any], Any]] = {
    "sums": lambda x, y: x + y - 3 * x * y / (1 + y) - (-x),
    "powers": lambda x, y: y**2.5 + y**x + 2.0**x + np.sqrt(y) + np.cbrt(y) + x**3,
    "circular": lambda x, y: (
        np.sin(x) * np.cos(y) + np.tan(x) + np.arctan(x) + np.arctan2(x, y) + np.hypot(x, y)
    ),
    "arcs": lambda x, y: (
        np.arcsin(x / 4) + np.arccos(x / 4) + np.arcsinh(x) + np.arccosh(1 + y) + np.arctanh(x / 4)
    ),
    "exponentials": lambda x, y: (
        np.exp(x) + np.expm1(x) + np.exp2(x) + np.log(y) + np.log1p(y) + np.log2(y) * np.log10(y)
    ),
    "hyperbolic": lambda x, y: np.sinh(x) + np.cosh(x) * np.tanh(y),
    "choices": lambda x, y: (
        np.where(x < y, x * x, y) + np.abs(x) + np.maximum(x, y) * np.minimum(x, 0.2) + np.copysign(y, x)
    ),
    "steps": lambda x, y: np.floor(x) * x + x % y + np.fmod(x, y) + np.sign(x) * y,
    "norms": lambda x, y: (
        np.linalg.norm(np.stack([x, y])) + np.linalg.det(np.stack([x, y, y, 1 + x]).reshape(2, 2))
    ),
    "logarithm": lambda x, y: mbt.math.log_so3(mbt.math.exp_so3(np.stack([x, y, x * y]))).sum(),
}


def test_every_derivative(arm: mbt.MultibodyTree) -> None:
    """Against fourth-order central differences, at points without jumps."""

    def function(x: Any, y: Any) -> dict[str, Any]:
        return {name: rule(x, y) for name, rule in SMOOTH.items()}

    compiled = mbt.compile(arm, function, arguments={"x": (), "y": ()}, derivatives=("x", "y"))
    h, weights = 1e-3, {-2: 1, -1: -8, 1: 8, 2: -1}
    for x, y in [(0.37, 1.21), (-0.83, 0.7), (1.3, 0.45)]:
        got = compiled(x, y)
        for name in SMOOTH:
            by_x = sum(w * compiled(x + n * h, y)[name] for n, w in weights.items()) / (12 * h)
            by_y = sum(w * compiled(x, y + n * h)[name] for n, w in weights.items()) / (12 * h)
            np.testing.assert_allclose(got[f"{name}_x"], by_x, rtol=1e-8, atol=1e-8, err_msg=name)
            np.testing.assert_allclose(got[f"{name}_y"], by_y, rtol=1e-8, atol=1e-8, err_msg=name)


def test_derivatives_at_the_identity(arm: mbt.MultibodyTree) -> None:
    """Where series replace 0/0, their derivatives are used too."""

    def function(xi: Any) -> dict[str, Any]:
        return {"xi": mbt.math.log_se3(mbt.math.exp_se3(xi))}

    compiled = mbt.compile(arm, function, arguments={"xi": 6}, derivatives="xi")
    for xi in (np.zeros(6), np.array([1e-9, 0, 0, 1, 2, 3]), np.array([0.3, -1.2, 0.8, 0.1, 0.2, 0.3])):
        np.testing.assert_allclose(compiled(xi)["xi_xi"], np.eye(6), rtol=0, atol=1e-13)


# Errors ---------------------------------------------------------------------------------------------------


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def branch(q: Any) -> Any:
    if q[0] > 0.0:  # HERE
        return q
    return -q


def smaller(q: Any) -> Any:
    return min(q[0], 1.0)  # HERE


def chained(q: Any) -> Any:
    return np.where(0.0 < q[0] < 1.0, q, 0.0)  # HERE


def to_a_float(q: Any) -> Any:
    return q * float(q[0])  # HERE


def into_floats(q: Any) -> Any:
    A = np.zeros(6)
    A[0] = q[0]  # HERE
    return A


def in_place(q: Any) -> Any:
    A = np.ones(6)
    A += q  # HERE
    return A


def plain_array(q: Any) -> Any:
    return np.linalg.inv(np.asarray(np.outer(q, q)))  # HERE


def plain_root(q: Any) -> Any:
    return np.sqrt(np.array([q[0], 1.0]))  # HERE


def eigenvalues(q: Any) -> Any:
    return np.linalg.eigvalsh(np.outer(q, q))  # HERE


def which(q: Any) -> Any:
    return q[np.where(q > 0)]  # HERE


def picked(q: Any) -> Any:
    return q[q > 0]  # HERE


def not_square(q: Any) -> Any:
    return np.linalg.inv(q.reshape(2, 3))  # HERE


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (branch, r"a branch on a traced value.*np\.where"),
        (smaller, r"a branch on a traced value.*np\.minimum"),
        (chained, "a branch on a traced value"),
        (to_a_float, "a float of a traced number"),
        (into_floats, r"np\.zeros\(shape, like=q\)"),
        (in_place, r"an array of float64 cannot hold traced numbers.*like=q"),
        (plain_array, r"a plain array of traced numbers.*np\.stack"),
        (plain_root, r"a plain array of traced numbers.*like=q"),
        (eigenvalues, r"numpy\.linalg\.eigvalsh is not supported"),
        (which, "a branch on a traced value"),
        (picked, "a branch on a traced value"),
        (not_square, r"expected a square matrix, got shape \(2, 3\)"),
    ],
)
def test_errors_name_the_line(arm: mbt.MultibodyTree, function: Any, message: str) -> None:
    where = rf"test_user_functions\.py, line {line_of(function, 'HERE')} \("
    with pytest.raises(mbt.MbtError, match=message) as caught:
        mbt.compile(arm, function, arguments={"q": 6})
    assert caught.match(where)
    # Nothing stays in memory.
    assert F.mass_matrix(arm, np.zeros(6)).dtype == float


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "arguments: expected shapes"),
        ({"arguments": {"q": -1}}, r"arguments\['q'\]: expected an integer >= 0"),
        ({"arguments": {"q": (6, "x")}}, r"arguments\['q'\]: expected an integer"),
        ({"arguments": {"q": 6, "w": 3}}, r"arguments: the function takes \(q.*q, w"),
        ({"arguments": {"q": 6}, "frame": "tool"}, "frame: expected none"),
        (
            {"arguments": {"q": 6}, "derivatives": ("v",)},
            "derivatives: expected names of arguments, q, got 'v'",
        ),
        ({"arguments": {"q": 6}, "derivatives": "q"}, "derivatives: expected a function that returns a dict"),
        ({"arguments": {"q": 6}, "dtype": int}, "dtype: expected float64 or float32"),
    ],
)
def test_bad_options(arm: mbt.MultibodyTree, options: dict[str, Any], message: str) -> None:
    with pytest.raises((mbt.ArgumentTypeError, mbt.ArgumentValueError), match=message):
        mbt.compile(arm, lambda q: 2.0 * q, **options)


def test_bad_results(arm: mbt.MultibodyTree) -> None:
    for result, message in [
        (None, "its result: expected an array or a number, got NoneType"),
        ({}, "expected results by name"),
        ({"tau": "x"}, "result 'tau': expected an array or a number, got str"),
        ({1: 2.0}, "expected results by name"),
        ((), "expected a result, got an empty tuple"),
    ]:
        with pytest.raises(mbt.ArgumentTypeError, match=message):
            mbt.compile(arm, lambda q, result=result: result, arguments={"q": 6})
    with pytest.raises(mbt.ArgumentTypeError, match="arguments: only allowed with a function that you write"):
        mbt.compile(arm, "mass_matrix", arguments={"q": 6})
    with pytest.raises(mbt.NotFinalizedError):
        mbt.compile(mbt.MultibodyTree(), lambda q: q, arguments={"q": 6})
    kept: list[Any] = []
    mbt.compile(arm, lambda q: kept.append(q) or q, arguments={"q": 6})
    with pytest.raises(mbt.ArgumentTypeError, match=r"another call of mbt\.compile"):
        mbt.compile(arm, lambda q: q + kept[0], arguments={"q": 6})


def test_forces_of_a_tree_are_refused(arm: mbt.MultibodyTree) -> None:
    forces = mbt.MultibodyForces(arm)

    def function(q: Any) -> Any:
        return F.inverse_dynamics(arm, q, 0.0 * q, 0.0 * q, external_forces=forces)

    with pytest.raises(mbt.ArgumentTypeError, match=r"external_forces: expected none.*J\.T @ force"):
        mbt.compile(arm, function, arguments={"q": 6})


def test_nothing_stays_behind(arm: mbt.MultibodyTree) -> None:
    """Neither compiled nor refused functions, nor functions by name."""

    def traces() -> list[Trace]:
        gc.collect()
        return [thing for thing in gc.get_objects() if isinstance(thing, Trace)]

    before = traces()  # held by errors of earlier tests
    mbt.compile(arm, lambda q: F.center_of_mass(arm, q), arguments={"q": 6})
    mbt.compile(arm, "center_of_mass")
    with pytest.raises(mbt.ArgumentTypeError):
        mbt.compile(arm, branch, arguments={"q": 6})
    assert all(any(trace is old for old in before) for trace in traces())


def test_other_threads_compute_with_doubles(arm: mbt.MultibodyTree) -> None:
    """While one thread traces, functions of the same tree compute as usual in other threads."""
    found: list[Any] = []

    def function(q: Any) -> Any:
        thread = threading.Thread(target=lambda: found.append(F.mass_matrix(arm, np.zeros(6))))
        thread.start()
        thread.join()
        return F.mass_matrix(arm, q)

    compiled = mbt.compile(arm, function, arguments={"q": 6})
    assert found[0].dtype == float
    np.testing.assert_allclose(compiled(np.zeros(6)), found[0], rtol=0, atol=1e-13)
