from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Row: TypeAlias = NDArray[np.float64]
_Functions: TypeAlias = tuple[Callable[..., Any], ...]

def lane_count() -> int:
    """Return the number of lanes of Lanes and of partial derivatives of Dual."""

def apply_real(operation: str, *operands: float, factor: float = 1.0) -> float:
    """Apply an operation to doubles."""

def apply_lanes(operation: str, *operands: ArrayLike, factor: float = 1.0) -> _Row:
    """Apply an operation to arrays of shape (W,)."""

def apply_dual(operation: str, *operands: ArrayLike, factor: float = 1.0) -> _Row:
    """Apply an operation to arrays of shape (1 + W,): a value and its partial derivatives."""

def apply_python(
    operation: str, *operands: Any, factor: float = 1.0, functions: _Functions | None = None
) -> Any:
    """Apply an operation to Python objects.

    `functions` is (sin, cos, sqrt, select_lt, tanh, atan2, floor), or these and from_float.
    """

def apply_python_arrays(
    operation: str,
    operands: NDArray[np.object_],
    out: NDArray[np.object_],
    *,
    factor: float = 1.0,
    functions: _Functions | None = None,
) -> None:
    """Apply an operation to rows of an object array, (n, number of operands), into an object array (n,).

    The storage of both arrays serves as PyScalar directly. After a failure the rest of `out` is empty slots.
    """

def sincos_real(x: ArrayLike) -> tuple[_Row, _Row]:
    """Return sin(x) and cos(x) of an array of any shape, number by number."""

def sincos_lanes(x: ArrayLike) -> tuple[_Row, _Row]:
    """Return sin(x) and cos(x) of an array of any shape, W numbers at a time."""

def sincos_angles(x: ArrayLike) -> tuple[_Row, _Row]:
    """Return sin(x) and cos(x) of an array of any shape, as kernels of one state compute those of all joints."""

def load_states(rows: _Row, stride: int, n: int, count: int = 0) -> _Row:
    """Load `count` states (0: load_rows, all W) from a flat array; return the lanes, shape (n, W)."""

def store_states(lanes: ArrayLike, rows: _Row, stride: int, n: int, count: int = 0) -> None:
    """Store lanes of shape (n, W) as `count` states (0: store_rows, all W) into a flat array."""
