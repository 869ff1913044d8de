"""initialize, constant, value, derivatives, jacobian; and Jacobians that are known in closed form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mbt
from mbt.autodiff import AutoDiffArray, constant, derivatives, initialize, jacobian, value
from support.autodiff import assert_sound


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (2, 0)])
def test_one_argument(shape: tuple[int, ...]) -> None:
    given_ = np.random.default_rng(0).normal(size=shape)
    x: Any = initialize(given_)
    assert_sound(x)
    np.testing.assert_array_equal(x.value, given_)
    np.testing.assert_array_equal(x.derivatives, np.eye(given_.size).reshape(*shape, given_.size))
    assert not np.shares_memory(x.value, given_)


@given(shapes=st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=2, max_size=5))
def test_all_together_are_the_identity(shapes: list[tuple[int, ...]]) -> None:
    variables = initialize(*(np.ones(shape) for shape in shapes))
    assert isinstance(variables, tuple)
    total = sum(x.size for x in variables)
    rows = [x.derivatives.reshape(x.size, total) for x in variables]
    np.testing.assert_array_equal(np.concatenate(rows), np.eye(total))
    for x, shape in zip(variables, shapes, strict=True):
        assert_sound(x)
        assert x.shape == shape
        assert x.derivatives.flags.c_contiguous


def test_variables_share_no_memory() -> None:
    x, y = initialize([1.0], [2.0])
    x[:] = 0.0
    np.testing.assert_array_equal(y.derivatives, [[0.0, 1.0]])


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda: initialize(), mbt.ArgumentTypeError, "initialize: expected one array or more, got none"),
        (lambda: initialize([1.0], "x"), mbt.ArgumentTypeError, r"values\[1\]: expected real numbers"),
        (lambda: initialize(initialize([1.0])), mbt.ArgumentTypeError, r"values\[0\]: .*AutoDiffArray"),
        (lambda: constant([1j]), mbt.ArgumentTypeError, "value: expected real numbers"),
        (
            lambda: constant([1.0], -1),
            mbt.ArgumentValueError,
            "num_derivatives: expected an integer >= 0, got -1",
        ),
        (
            lambda: constant([1.0], 1.5),
            mbt.ArgumentTypeError,
            "num_derivatives: expected an integer >= 0, got 1.5",
        ),
        (lambda: constant([1.0], True), mbt.ArgumentTypeError, "num_derivatives: .* got True"),
        (lambda: value("a"), mbt.ArgumentTypeError, "x: expected real numbers"),
        (lambda: derivatives([1.0], "a"), mbt.ArgumentTypeError, "num_derivatives: .* got 'a'"),
        (
            lambda: derivatives(initialize([1.0, 2.0]), 3),
            mbt.ShapeError,
            "x: expected 3 derivatives, got .* with 2",
        ),
        (
            lambda: initialize([1.0], initialize([1.0])),
            mbt.ArgumentTypeError,
            r"values\[1\]: expected real numbers, got an AutoDiffArray: .* mbt.symbolic.dual",
        ),
        (lambda: jacobian(1, [1.0]), mbt.ArgumentTypeError, "function: expected something to call, got int"),
        (lambda: jacobian(np.sin), mbt.ArgumentTypeError, "initialize: expected one array"),
        (
            lambda: jacobian(lambda x: "a", [1.0]),
            mbt.ArgumentTypeError,
            "the result of the function: expected real",
        ),
        (
            lambda: jacobian(lambda x: (x, x), [1.0]),
            mbt.ArgumentTypeError,
            "the result of the function: expected real",
        ),
        (lambda: jacobian(lambda x: initialize([1.0, 2.0]), [1.0]), mbt.ShapeError, "expected 1 derivatives"),
    ],
)
def test_errors(f: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        f()


def test_parts_of_anything() -> None:
    x = initialize([1.0, 2.0])
    assert value(x) is x.value
    assert derivatives(x) is derivatives(x, 2) is x.derivatives
    plain = np.ones((2, 3))
    assert value(plain) is plain
    assert derivatives(plain).shape == (2, 3, 0)
    np.testing.assert_array_equal(derivatives(plain, 4), np.zeros((2, 3, 4)))
    np.testing.assert_array_equal(derivatives(constant(plain), 4), np.zeros((2, 3, 4)))
    np.testing.assert_array_equal(value([1, 2]), [1.0, 2.0])
    assert value(3).shape == ()
    assert constant(plain, 3).value is not plain


def test_jacobian_of_several_arguments() -> None:
    A, x = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])
    of_A, of_x = jacobian(lambda A, x: A @ x, A, x)
    np.testing.assert_allclose(of_A, np.einsum("ij,k->ijk", np.eye(2), x))
    np.testing.assert_allclose(of_x, A)
    assert of_A.flags.c_contiguous


def test_jacobian_of_a_number_and_of_a_constant() -> None:
    assert jacobian(np.sin, 0.0) == 1.0
    assert np.shape(jacobian(np.sin, 0.0)) == ()
    np.testing.assert_array_equal(jacobian(lambda x: [1.0, 2.0], [1.0, 2.0, 3.0]), np.zeros((2, 3)))
    np.testing.assert_array_equal(jacobian(lambda x: np.ones(2), [[1.0]]), np.zeros((2, 1, 1)))


# Closed forms. Each is a pair of a function and its Jacobian.

VECTORS = st.integers(0, 10_000).map(lambda seed: np.random.default_rng(seed).uniform(-1.0, 1.0, 5))
SPD = np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.3


def _arm(q: Any) -> Any:
    """The tip of a planar arm with links of length 1."""
    angles = np.cumsum(q)
    return np.stack([np.sum(np.cos(angles)), np.sum(np.sin(angles))])


def _arm_jacobian(q: Any) -> Any:
    angles = np.cumsum(q)
    tails = lambda x: np.cumsum(x[::-1])[::-1]  # noqa: E731
    return np.stack([-tails(np.sin(angles)), tails(np.cos(angles))])


def _rotate(x: Any) -> Any:
    """Rotate a vector by the quaternion x[:4] (w first) after normalizing it."""
    quaternion = x[:4] / np.linalg.norm(x[:4])
    w, u = quaternion[0], quaternion[1:]
    p = np.array([1.0, 2.0, 3.0])
    return p + 2.0 * w * np.cross(u, p) + 2.0 * np.cross(u, np.cross(u, p))


def _rotate_jacobian(x: Any) -> Any:
    n = np.sqrt(x[:4] @ x[:4])
    w, u = x[0] / n, x[1:4] / n
    p = np.array([1.0, 2.0, 3.0])
    of_w = 2.0 * np.cross(u, p)
    of_u = 2.0 * (-w * _skew(p) - _skew(np.cross(u, p)) - _skew(u) @ _skew(p))
    of_unit = np.column_stack([of_w, of_u])
    unit = np.concatenate([[w], u])
    return np.column_stack([of_unit @ (np.eye(4) - np.outer(unit, unit)) / n, np.zeros(3)])


def _skew(p: Any) -> Any:
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def _softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


CLOSED_FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "planar arm": (_arm, _arm_jacobian),
    "rotation": (_rotate, _rotate_jacobian),
    "quadratic form": (lambda x: x @ SPD @ x, lambda x: 2.0 * SPD @ x),
    "norm": (np.linalg.norm, lambda x: x / np.sqrt(x @ x)),
    "softmax": (_softmax, lambda x: np.diag(_softmax(x)) - np.outer(_softmax(x), _softmax(x))),
    "log det": (
        lambda x: np.linalg.slogdet(SPD + np.diag(x))[1],
        lambda x: np.diag(np.linalg.inv(SPD + np.diag(x))),
    ),
    "det": (
        lambda x: np.linalg.det(SPD + np.diag(x)),
        lambda x: np.linalg.det(SPD + np.diag(x)) * np.diag(np.linalg.inv(SPD + np.diag(x))),
    ),
    "inverse": (
        lambda x: np.linalg.inv(SPD + np.diag(x)),
        lambda x: -np.einsum("ik,kj->ijk", np.linalg.inv(SPD + np.diag(x)), np.linalg.inv(SPD + np.diag(x))),
    ),
    "solve": (
        lambda x: np.linalg.solve(SPD + np.diag(x), np.ones(5)),
        lambda x: -np.linalg.inv(SPD + np.diag(x)) * np.linalg.solve(SPD + np.diag(x), np.ones(5)),
    ),
    "cholesky": (
        lambda x: np.linalg.cholesky(np.diag(np.exp(x))),
        lambda x: np.einsum("ij,jk->ijk", np.diag(0.5 * np.exp(0.5 * x)), np.eye(5)),
    ),
    "power": (lambda x: np.exp(x) ** x, lambda x: np.diag(2.0 * x * np.exp(x * x))),
    "angle": (
        lambda x: np.arctan2(x[0], x[1]),
        lambda x: np.array([x[1], -x[0], 0.0, 0.0, 0.0]) / (x[0] ** 2 + x[1] ** 2),
    ),
    "product": (np.prod, lambda x: np.prod(x) / x),
    "variance": (np.var, lambda x: 2.0 / 5.0 * (x - x.mean())),
    "sorted": (np.sort, lambda x: np.eye(5)[np.argsort(x)]),
    "sum of sines": (lambda x: np.sum(np.sin(x)), np.cos),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
@settings(max_examples=40)
@given(x=VECTORS)
def test_closed_form(name: str, x: Any) -> None:
    f, df = CLOSED_FORMS[name]
    expected = df(x)
    np.testing.assert_allclose(
        jacobian(f, x), expected, rtol=1e-11, atol=1e-12 * (1.0 + np.abs(expected).max())
    )


def test_a_context_array_is_a_constant() -> None:
    """Arrays that are views into a Context have a class of their own."""
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody, mbt.SpatialInertia.point_mass(1.0, [0.0, 0.0, -1.0]))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 0])
    tree.finalize()
    context = tree.create_default_context()
    x = initialize([2.0])
    for result in (context.q + x, x * context.q, np.stack([context.q, x]), AutoDiffArray(context.q)):
        assert_sound(result)
    with pytest.raises(mbt.ArgumentTypeError, match="AutoDiffArray"):
        context.q = x
