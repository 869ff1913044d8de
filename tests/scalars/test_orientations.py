"""Quaternions of rotations by any angle; a different entry is the largest each time."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray
from support.description import Array

QUATERNIONS = {
    "identity": [1, 0, 0, 0],
    "half turn about x": [0, 1, 0, 0],
    "half turn about y": [0, 0, 1, 0],
    "half turn about z": [0, 0, 0, 1],
    "large w": [0.8, 0.2, -0.4, 0.4],
    "large x": [0.2, -0.8, 0.4, 0.4],
    "large y": [0.4, 0.4, 0.8, -0.2],
    "large z": [0.2, 0.4, 0.4, -0.8],
    "beyond a half turn": [-0.2, 0.4, 0.8, 0.4],
    "all equal": [0.5, 0.5, -0.5, 0.5],
}


def make_ball() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    tree.add_joint(mbt.QuaternionBallJoint, "ball", tree.world_body, None, ball, None)
    tree.finalize()
    return tree


TREE = make_ball()
CLONES = {name: TREE.clone_to_scalar(name) for name in ("autodiff", "mpmath", "sympy")}


def set_orientation(scalar: str, R: Any) -> Any:
    tree = CLONES[scalar]
    context = tree.create_default_context()
    tree.joints[0].set_orientation(context, R)  # type: ignore[attr-defined]
    return context.q


@pytest.fixture(params=QUATERNIONS)
def wanted(request: pytest.FixtureRequest) -> Array:
    q = np.array(QUATERNIONS[request.param], dtype=float)
    return -q if q[0] < 0 else q


def test_derivatives(wanted: Array) -> None:
    R = mbt.math.quaternion_to_matrix(wanted)
    w = np.array([0.3, -0.5, 0.7])
    R_dot = np.cross(w, R, axis=0)
    q = set_orientation("autodiff", AutoDiffArray(R, R_dot[..., None]))
    np.testing.assert_allclose(q.value * np.sign(q.value @ wanted), wanted, atol=1e-15)
    a, b = q.value[0], q.value[1:]
    rate = 0.5 * np.concatenate([[-w @ b], a * w + np.cross(w, b)])
    np.testing.assert_allclose(q.derivatives[:, 0], rate, atol=1e-14)


def test_many_digits(wanted: Array) -> None:
    with mpmath.workdps(40):
        exact = [mpmath.mpf(round(10 * x)) / 10 for x in wanted]
        numbers = CLONES["mpmath"]._numbers
        q = set_orientation("mpmath", numbers.quaternion_to_matrix(np.array(exact, dtype=object)))
        sign = 1 if sum(a * b for a, b in zip(q, exact, strict=True)) > 0 else -1
        assert max(abs(a - sign * b) for a, b in zip(q, exact, strict=True)) < mpmath.mpf(10) ** -38


@cache
def function_of_matrix() -> Any:
    symbols = sp.symbols("r:9")
    q = set_orientation("sympy", sp.Matrix(3, 3, symbols))
    return sp.lambdify(symbols, list(q), modules="math", cse=True)


def test_symbols(wanted: Array) -> None:
    got = np.array(function_of_matrix()(*mbt.math.quaternion_to_matrix(wanted).ravel().tolist()))
    np.testing.assert_allclose(got * np.sign(got @ wanted), wanted, atol=1e-14)


@pytest.mark.oracle
def test_expressions_of_casadi(wanted: Array) -> None:
    casadi = pytest.importorskip("casadi")
    tree = TREE.clone_to_scalar("casadi")
    context = tree.create_default_context()
    R = casadi.SX.sym("R", 3, 3)
    tree.joints[0].set_orientation(context, R)  # type: ignore[attr-defined]
    q = casadi.vertcat(*context.q)
    f = casadi.Function("f", [R], [q, casadi.jacobian(q, R)])
    got, jacobian = (np.asarray(x) for x in f(mbt.math.quaternion_to_matrix(wanted)))
    np.testing.assert_allclose(got.ravel() * np.sign(got.ravel() @ wanted), wanted, atol=1e-14)
    assert np.isfinite(jacobian).all()
