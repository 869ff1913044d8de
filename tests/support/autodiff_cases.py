"""Every NumPy function with a derivative rule, with arguments away from kinks and poles.

Functions that not every version of NumPy has are looked up when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RNG = np.random.default_rng(20)
IS_NUMPY_2_0 = np.lib.NumpyVersion(np.__version__) < "2.1.0"


def _between(low: float, high: float, *shape: int) -> Any:
    return RNG.uniform(low, high, shape)


ANY, MATRIX = _between(-2.0, 2.0, 2, 3), _between(-1.0, 1.0, 3, 3) + 3.0 * np.eye(3)
POSITIVE, INSIDE = _between(0.5, 2.0, 2, 3), _between(-0.8, 0.8, 2, 3)
STACK = _between(-1.0, 1.0, 2, 3, 3) + 3.0 * np.eye(3)
VECTOR, OTHER = _between(-1.0, 1.0, 3), _between(1.5, 2.5, 2, 3)
DEEP = _between(-1.0, 1.0, 2, 3, 4)
SPREAD = np.array([[3.32, -1.38, 0.63], [-4.6, 2.33, 1.72]])  # Far from each other and from whole numbers.
APART = RNG.permutation(np.linspace(-1.1, 1.2, 24)).reshape(2, 3, 4)  # No two entries are near each other.
SPD = STACK @ np.swapaxes(STACK, -1, -2)

# Name of the ufunc: arguments.
UFUNCS: dict[str, list[tuple[Any, ...]]] = {
    **{
        name: [(ANY,), (VECTOR[0],)]
        for name in (
            "positive",
            "negative",
            "conjugate",
            "square",
            "exp",
            "exp2",
            "expm1",
            "sin",
            "cos",
            "arctan",
            "sinh",
            "cosh",
            "tanh",
            "arcsinh",
            "degrees",
            "rad2deg",
            "radians",
            "deg2rad",
        )
    },
    **{
        name: [(SPREAD,)]
        for name in ("absolute", "fabs", "floor", "ceil", "trunc", "rint", "sign", "modf", "cbrt")
    },
    **{name: [(POSITIVE,)] for name in ("sqrt", "reciprocal", "log", "log2", "log10", "log1p")},
    **{name: [(INSIDE,)] for name in ("tan", "arcsin", "arccos", "arctanh")},
    "arccosh": [(OTHER,)],
    **{
        name: [(ANY, OTHER), (VECTOR, ANY), (ANY, VECTOR[1]), (ANY[:, None], DEEP[0, :, :3])]
        for name in ("add", "subtract", "multiply", "logaddexp", "logaddexp2")
    },
    "divide": [(ANY, OTHER), (VECTOR, POSITIVE)],
    "power": [(POSITIVE, ANY), (POSITIVE, VECTOR), (OTHER[0], SPREAD)],
    "float_power": [(POSITIVE, ANY)],
    "arctan2": [(SPREAD, OTHER), (OTHER, SPREAD), (SPREAD[0], OTHER)],
    "hypot": [(SPREAD, OTHER), (VECTOR, OTHER)],
    **{
        name: [(SPREAD, ANY - 10.0), (ANY - 10.0, SPREAD), (SPREAD, 0.1 * VECTOR)]
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    **{
        name: [(SPREAD, np.full((2, 3), 7.0)), (SPREAD, -0.9 * np.ones(3))]
        for name in ("remainder", "fmod", "floor_divide", "divmod")
    },
    "copysign": [(SPREAD, -SPREAD), (SPREAD, SPREAD[0])],
    "heaviside": [(SPREAD, OTHER)],
    "matmul": [
        (ANY, MATRIX),
        (VECTOR, MATRIX),
        (MATRIX, VECTOR),
        (VECTOR, VECTOR + 1.0),
        (STACK, MATRIX),
        (MATRIX, STACK),
        (STACK[:, None], STACK),
        (VECTOR, DEEP),
        (STACK, VECTOR),
        (DEEP, _between(-1.0, 1.0, 4, 2)),
    ],
    "vecdot": [(ANY, OTHER), (VECTOR, ANY)],
    "matvec": [(STACK, ANY), (MATRIX, ANY)],
    "vecmat": [(ANY, STACK), (ANY, MATRIX)],
}

MASK = np.array([[True, False, True], [False, False, True]])
ORDER = np.array([[2, 0, 1], [1, 1, 0]])

# Name of the function: functions of arrays with their arguments. `f` is the function itself.
FUNCTIONS: dict[str, list[tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    # Products
    "dot": [
        (np.dot, pair)
        for pair in (
            (ANY, MATRIX),
            (VECTOR, VECTOR + 1.0),
            (VECTOR[0], ANY),
            (ANY, VECTOR[0]),
            (ANY, STACK),
            (DEEP[0].T, VECTOR),
            (STACK, STACK),
            (VECTOR, STACK),
        )
    ],
    "vdot": [(np.vdot, (ANY, OTHER))],
    "inner": [(np.inner, pair) for pair in ((ANY, OTHER), (VECTOR, STACK), (VECTOR[0], ANY))],
    "outer": [(np.outer, (ANY, VECTOR))],
    "linalg.outer": [(lambda a, b: np.linalg.outer(a, b), (ANY[0], VECTOR))],
    "tensordot": [
        (np.tensordot, (STACK, MATRIX)),
        (lambda a, b: np.tensordot(a, b, 1), (ANY, STACK[0])),
        (lambda a, b: np.tensordot(a, b, 0), (ANY, VECTOR)),
        (lambda a, b: np.tensordot(a, b, ([0, -1], [2, 0])), (DEEP, _between(-1.0, 1.0, 4, 5, 2))),
        (lambda a, b: np.tensordot(a, b, (1, 0)), (DEEP, MATRIX)),
    ],
    "linalg.tensordot": [(lambda a, b: np.linalg.tensordot(a, b, axes=1), (ANY, MATRIX))],
    "linalg.matmul": [(lambda a, b: np.linalg.matmul(a, b), (ANY, MATRIX))],
    "linalg.vecdot": [
        (lambda a, b: np.linalg.vecdot(a, b), (ANY, OTHER)),
        (lambda a, b: np.linalg.vecdot(a, b, axis=0), (ANY, OTHER)),
    ],
    "einsum": [
        (lambda a, b: np.einsum("ij,jk", a, b), (ANY, MATRIX)),
        (lambda a, b: np.einsum("ij, kj -> ik", a, b), (ANY, OTHER)),
        (lambda a: np.einsum("ii->i", a), (MATRIX,)),
        (lambda a: np.einsum("...ii", a), (STACK,)),
        (lambda a, b: np.einsum("...ij,...j", a, b), (STACK, ANY)),
        (lambda a, b, c: np.einsum("i,ij,j->", a, b, c), (VECTOR, MATRIX, VECTOR + 1.0)),
        (lambda a, b, c: np.einsum("i,ij,j->", a, b, c, optimize=True), (VECTOR, MATRIX, VECTOR + 1.0)),
        (lambda a, b: np.einsum("ba,b", a, b), (STACK[0], VECTOR)),
        (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), (ANY, MATRIX)),
        (lambda a, b: np.einsum(a, [..., 1], b, [1, 2]), (ANY, MATRIX)),
    ],
    "cross": [
        (np.cross, (ANY, OTHER)),
        (np.cross, (VECTOR, ANY)),
        (np.cross, (ANY[:, None], STACK)),
        (lambda a, b: np.cross(a, b, axis=0), (MATRIX, STACK[0])),
        (
            lambda a, b: np.cross(a, b, axisa=1, axisb=-1, axisc=0),
            (DEEP[..., :2], _between(-1.0, 1.0, 2, 2, 3)),
        ),
    ],
    "linalg.cross": [(lambda a, b: np.linalg.cross(a, b, axis=0), (MATRIX, STACK[0]))],
    "kron": [(np.kron, (ANY, MATRIX)), (np.kron, (VECTOR, ANY)), (np.kron, (STACK, VECTOR))],
    "linalg.multi_dot": [(lambda *a: np.linalg.multi_dot(a), (VECTOR, MATRIX, STACK[0], VECTOR + 1.0))],
    # Linear algebra
    "linalg.solve": [
        (np.linalg.solve, pair)
        for pair in (
            (MATRIX, VECTOR),
            (MATRIX, ANY.T),
            (STACK, STACK[::-1]),
            (STACK, MATRIX),
            (MATRIX, STACK),
        )
    ],
    "linalg.inv": [(np.linalg.inv, (MATRIX,)), (np.linalg.inv, (STACK,))],
    "linalg.det": [
        (np.linalg.det, (MATRIX,)),
        (np.linalg.det, (-STACK,)),
        (np.linalg.det, (np.ones((3, 3)),)),
        (np.linalg.det, (np.diag([1.0, -2.0, 0.0]),)),
        (np.linalg.det, (np.array([[3.0]]),)),
    ],
    "linalg.slogdet": [
        (lambda a: np.linalg.slogdet(a)[1], (-STACK,)),
        (lambda a: np.linalg.slogdet(a)[0], (STACK,)),
        (lambda a: np.linalg.slogdet(a).logabsdet, (MATRIX,)),
    ],
    "linalg.cholesky": [
        (lambda a: np.linalg.cholesky(_symmetric(a)), (SPD,)),
        (lambda a: np.linalg.cholesky(_symmetric(a), upper=True), (SPD,)),
    ],
    "linalg.matrix_power": [
        (lambda a, n=n: np.linalg.matrix_power(a, n), (STACK / 3.0,)) for n in (0, 1, 2, 3, 6, -2)
    ],
    "linalg.norm": [
        (np.linalg.norm, (ANY,)),
        (np.linalg.norm, (VECTOR,)),
        (np.linalg.norm, (DEEP,)),
        *(
            (lambda a, o=o: np.linalg.norm(a, o, axis=0), (SPREAD,))
            for o in (None, 1, 2, 3, 0.5, np.inf, -np.inf, -1)
        ),
        *(
            (lambda a, o=o: np.linalg.norm(a, o, keepdims=True), (SPREAD,))
            for o in ("fro", 1, -1, np.inf, -np.inf)
        ),
        (lambda a: np.linalg.norm(a, 0, axis=1), (SPREAD,)),
        (lambda a: np.linalg.norm(a, axis=-1, keepdims=True), (ANY,)),
        (lambda a: np.linalg.norm(a, axis=(2, 0)), (DEEP,)),
        (lambda a: np.linalg.norm(a, 1, axis=(2, 0)), (DEEP,)),
    ],
    "linalg.vector_norm": [
        (lambda a: np.linalg.vector_norm(a, axis=1, ord=3), (SPREAD,)),
        (lambda a: np.linalg.vector_norm(a), (DEEP,)),
    ],
    "linalg.matrix_norm": [
        (lambda a: np.linalg.matrix_norm(a), (STACK,)),
        (lambda a: np.linalg.matrix_norm(a, ord=1), (SPREAD,)),
    ],
    # Reductions
    **{
        name: [
            (lambda a, f=name: getattr(np, f)(a), (SPREAD,)),
            (lambda a, f=name: getattr(np, f)(a, axis=0), (APART,)),
            (lambda a, f=name: getattr(np, f)(a, axis=(0, -1)), (APART,)),
            (lambda a, f=name: getattr(np, f)(a, axis=1, keepdims=True), (APART,)),
            (lambda a, f=name: getattr(np, f)(a, axis=(2, 0), keepdims=True), (APART,)),
            (lambda a, f=name: getattr(np, f)(a, axis=None, keepdims=True), (SPREAD,)),
        ]
        for name in ("sum", "mean", "prod", "max", "amax", "min", "amin", "ptp", "var", "std")
    },
    "average": [
        (np.average, (ANY,)),
        (lambda a, w: np.average(a, weights=w), (ANY, OTHER)),
        (lambda a, w: np.average(a, axis=-2, weights=w), (ANY, POSITIVE[0, :2])),
    ],
    **{
        name: [
            (lambda a, f=name: getattr(np, f)(a), (ANY,)),
            (lambda a, f=name: getattr(np, f)(a, axis=1), (DEEP,)),
            (lambda a, f=name: getattr(np, f)(a, axis=-1), (DEEP,)),
        ]
        for name in ("cumsum", "cumprod")
    },
    "diff": [
        (np.diff, (ANY,)),
        (lambda a: np.diff(a, n=2, axis=1), (DEEP,)),
        (lambda a: np.diff(a, n=0), (ANY,)),
    ],
    "trace": [(np.trace, (MATRIX,)), (lambda a: np.trace(a, 1, 2, 1), (STACK,))],
    "linalg.trace": [(lambda a: np.linalg.trace(a, offset=-1), (STACK,))],
    # Shapes
    "reshape": [
        (lambda a: np.reshape(a, (3, -1)), (DEEP,)),
        (lambda a: np.reshape(a, 24, order="F"), (DEEP,)),
        (lambda a: np.reshape(a.T, (-1, 4)), (DEEP,)),
    ],
    "ravel": [(np.ravel, (DEEP,)), (lambda a: np.ravel(a, "F"), (DEEP,)), (lambda a: np.ravel(a.T), (ANY,))],
    "transpose": [(np.transpose, (DEEP,)), (lambda a: np.transpose(a, (1, -1, 0)), (DEEP,))],
    "swapaxes": [(lambda a: np.swapaxes(a, -1, 0), (DEEP,))],
    "matrix_transpose": [(lambda a: np.matrix_transpose(a), (DEEP,))],
    "linalg.matrix_transpose": [(lambda a: np.linalg.matrix_transpose(a), (DEEP,))],
    "moveaxis": [
        (lambda a: np.moveaxis(a, -1, 0), (DEEP,)),
        (lambda a: np.moveaxis(a, (0, 1), (-1, -2)), (DEEP,)),
    ],
    "rollaxis": [
        (lambda a: np.rollaxis(a, 2), (DEEP,)),
        (lambda a: np.rollaxis(a, -3, 2), (DEEP,)),
        (lambda a: np.rollaxis(a, 0, -1), (DEEP,)),
        (lambda a: np.rollaxis(a, 0, 3), (DEEP,)),
    ],
    "expand_dims": [
        (lambda a: np.expand_dims(a, -1), (ANY,)),
        (lambda a: np.expand_dims(a.T, (0, 2)), (ANY,)),
    ],
    "squeeze": [(np.squeeze, (ANY[None, :, None],)), (lambda a: np.squeeze(a, -2), (ANY[:, None],))],
    "atleast_1d": [
        (np.atleast_1d, (VECTOR[0],)),
        (lambda a, b: np.add(*np.atleast_1d(a, b)), (ANY, VECTOR[0])),
    ],
    "atleast_2d": [(np.atleast_2d, (VECTOR,)), (np.atleast_2d, (DEEP,))],
    "atleast_3d": [(np.atleast_3d, (VECTOR,)), (np.atleast_3d, (ANY,))],
    "broadcast_to": [
        (lambda a: np.broadcast_to(a, (4, 2, 3)), (ANY,)),
        (lambda a: np.broadcast_to(a, (2,)), (VECTOR[0],)),
    ],
    "broadcast_arrays": [(lambda a, b: np.add(*np.broadcast_arrays(a, b)), (VECTOR, ANY))],
    "flip": [
        (np.flip, (DEEP,)),
        (lambda a: np.flip(a, -1), (DEEP,)),
        (lambda a: np.flip(a, (0, 2)), (DEEP,)),
    ],
    "flipud": [(np.flipud, (DEEP,))],
    "fliplr": [(np.fliplr, (DEEP,))],
    "diagonal": [(np.diagonal, (MATRIX,)), (lambda a: np.diagonal(a, 1, -1, 0), (DEEP,))],
    "linalg.diagonal": [
        (lambda a: np.linalg.diagonal(a), (DEEP,)),
        (lambda a: np.linalg.diagonal(a, offset=-1), (DEEP,)),
    ],
    "array_split": [(lambda a: np.array_split(a, 2, axis=-1)[1], (ANY,))],
    "split": [(lambda a: np.split(a, 2)[1], (DEEP,)), (lambda a: np.split(a, [1, 3], -1)[1], (DEEP,))],
    "hsplit": [(lambda a: np.hsplit(a, 3)[1], (ANY,)), (lambda a: np.hsplit(a, 3)[2], (VECTOR,))],
    "vsplit": [(lambda a: np.vsplit(a, 2)[1], (ANY,))],
    "dsplit": [(lambda a: np.dsplit(a, 2)[1], (DEEP,))],
    "unstack": [(lambda a: np.unstack(a, axis=-1)[2], (DEEP,))],
    "copy": [(np.copy, (ANY,))],
    "astype": [(lambda a: np.astype(a, float), (ANY,))],
    "take": [
        (lambda a: np.take(a, ORDER), (DEEP,)),
        (lambda a: np.take(a, ORDER, axis=1), (DEEP,)),
        (lambda a: np.take(a, -1, axis=-1), (DEEP,)),
        (lambda a: np.take(a, [9], 0, mode="wrap"), (DEEP,)),
    ],
    "take_along_axis": [
        (lambda a: np.take_along_axis(a, ORDER, 1), (ANY,)),
        (lambda a: np.take_along_axis(a, np.array([4, 1]), None), (ANY,)),
        (lambda a: np.take_along_axis(a, ORDER % 2, axis=-2), (ANY,)),
    ],
    "sort": [
        (np.sort, (SPREAD,)),
        (lambda a: np.sort(a, axis=None), (SPREAD,)),
        (lambda a: np.sort(a, 0), (SPREAD,)),
    ],
    "roll": [(lambda a: np.roll(a, 2), (ANY,)), (lambda a: np.roll(a, (1, -1), (0, 2)), (DEEP,))],
    "rot90": [(np.rot90, (ANY,)), (lambda a: np.rot90(a, -1, (1, 2)), (DEEP,))],
    "repeat": [(lambda a: np.repeat(a, 2), (ANY,)), (lambda a: np.repeat(a, [1, 0, 2], axis=1), (ANY,))],
    "tile": [(lambda a: np.tile(a, (2, 1, 2)), (ANY,))],
    "resize": [(lambda a: np.resize(a, (3, 3)), (ANY,)), (lambda a: np.resize(a, 4), (ANY,))],
    "delete": [(lambda a: np.delete(a, 1, axis=1), (DEEP,)), (lambda a: np.delete(a, [0, 2]), (ANY,))],
    "compress": [(lambda a: np.compress([True, False, True], a, axis=1), (ANY,))],
    "extract": [(lambda a: np.extract(MASK, a), (ANY,))],
    "tril": [(np.tril, (STACK,)), (lambda a: np.tril(a, -1), (VECTOR,))],
    "triu": [(np.triu, (ANY,)), (lambda a: np.triu(a, 1), (STACK,))],
    "diag": [
        (np.diag, (VECTOR,)),
        (lambda a: np.diag(a, 1), (MATRIX,)),
        (lambda a: np.diag(a, -1), (VECTOR,)),
    ],
    "diagflat": [(np.diagflat, (ANY,))],
    "pad": [
        (lambda a: np.pad(a, 1), (ANY,)),
        *(
            (lambda a, m=m: np.pad(a, ((0, 1), (2, 0)), m), (ANY,))
            for m in ("edge", "reflect", "symmetric", "wrap")
        ),
    ],
    # Together
    "concatenate": [
        (lambda *a: np.concatenate(a), (ANY, MATRIX)),
        (lambda *a: np.concatenate(a, -1), (DEEP, DEEP[..., :1])),
        (lambda *a: np.concatenate(a, axis=None), (ANY, VECTOR)),
    ],
    "stack": [
        (lambda *a: np.stack(a), (ANY, OTHER)),
        (lambda *a: np.stack(a, -1), (ANY, OTHER)),
        (lambda *a: np.stack(a, axis=1), (ANY, OTHER)),
        (lambda *a: np.stack(a), (VECTOR[0], VECTOR[1], VECTOR[2])),
    ],
    "vstack": [(lambda *a: np.vstack(a), (ANY, VECTOR))],
    "hstack": [
        (lambda *a: np.hstack(a), (ANY, OTHER)),
        (lambda *a: np.hstack(a), (VECTOR, VECTOR[0], VECTOR)),
    ],
    "dstack": [(lambda *a: np.dstack(a), (ANY, OTHER))],
    "column_stack": [(lambda *a: np.column_stack(a), (VECTOR, MATRIX))],
    "append": [(np.append, (ANY, VECTOR)), (lambda a, b: np.append(a, b, axis=0), (ANY, MATRIX))],
    "block": [
        (lambda a, b: np.block([[a, b], [np.zeros((1, 3)), np.ones((1, 3))]]), (ANY, OTHER)),
        (lambda a, b: np.block([a, b[0], b]), (VECTOR, VECTOR + 1.0)),
        (np.block, (ANY,)),
        (lambda a, b: np.block([[[a]], [[b]]]), (STACK, MATRIX[None])),
    ],
    "where": [
        (lambda a, b: np.where(MASK, a, b), (ANY, OTHER)),
        (lambda a, b: np.where(MASK, a, b), (VECTOR, ANY[:, :1])),
        (lambda a, b: np.where(a > b, a, b), (SPREAD, VECTOR)),
    ],
    "select": [
        (lambda a, b: np.select([MASK, ~MASK], [a, b]), (ANY, OTHER)),
        (lambda a: np.select([MASK], [a], default=-1.0), (ANY,)),
        (lambda a: np.select([MASK, MASK[::-1]], [a, 2.0 * a], default=7.0), (ANY,)),
    ],
    "clip": [
        (lambda a: np.clip(a, -1.0, 1.0), (SPREAD,)),
        (lambda a, b, c: np.clip(a, b, c), (SPREAD, VECTOR - 1.0, OTHER[0])),
        (lambda a: np.clip(a, None, 1.0), (SPREAD,)),
        *(
            []
            if IS_NUMPY_2_0
            else [
                (lambda a: np.clip(a, min=0.0), (SPREAD,)),
                (lambda a: np.clip(a, min=0.0, max=2.0), (SPREAD,)),
            ]
        ),
    ],
    "copyto": [
        (lambda a: _filled(a, lambda x: np.copyto(x, 2.0 * a)), (ANY,)),
        (lambda a: _filled(a, lambda x: np.copyto(x, a[0], where=MASK)), (ANY,)),
    ],
    "fill_diagonal": [
        (lambda a: _filled(a, lambda x: np.fill_diagonal(x, a[0, 0])), (MATRIX,)),
        (lambda a: _filled(a, lambda x: np.fill_diagonal(x, a[0])), (ANY,)),
    ],
    # Steps and others
    "round": [(lambda a: np.round(a, 1), (SPREAD,))],
    "around": [(np.around, (SPREAD,))],
    "fix": [(np.trunc, (SPREAD,))],
    "real": [(np.real, (ANY,))],
    "zeros_like": [(np.zeros_like, (ANY,)), (lambda a: np.zeros_like(a, shape=4), (ANY,))],
    "empty_like": [(lambda a: _filled(np.empty_like(a), lambda x: x.fill(a[0, 0])), (ANY,))],
    "ones_like": [(np.ones_like, (ANY,))],
    "full_like": [
        (lambda a: np.full_like(a, 3.0), (ANY,)),
        (lambda a: np.full_like(a, a[0, 0], shape=(2, 2)), (ANY,)),
    ],
}


def _symmetric(a: Any) -> Any:
    return 0.5 * (a + np.swapaxes(a, -1, -2))


def _filled(a: Any, fill: Callable[[Any], Any]) -> Any:
    a = a.copy()
    fill(a)
    return a
