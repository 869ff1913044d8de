"""The scalars with names. Their packages are imported on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mbt.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["MAKERS"]


def _double() -> dict[str, Any]:
    import math

    return {
        "name": "double",
        "zero": 0.0,
        "one": 1.0,
        "sin": math.sin,
        "cos": math.cos,
        "sqrt": math.sqrt,
        "tanh": math.tanh,
        "atan2": math.atan2,
        "floor": math.floor,
        "select_lt": _choose,
        "digits": 16,
    }


def _autodiff() -> dict[str, Any]:
    import numpy as np

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        is_less = np.less(a, b)
        return np.where(is_less, x, y) if np.ndim(is_less) else _choose(a, b, x, y)

    return {
        "name": "autodiff",
        "zero": 0.0,
        "one": 1.0,
        "sin": np.sin,
        "cos": np.cos,
        "sqrt": np.sqrt,
        "tanh": np.tanh,
        "atan2": np.arctan2,
        "floor": np.floor,
        "select_lt": select_lt,
        "digits": 16,
    }


def _sympy() -> dict[str, Any]:
    import math

    import sympy as sp

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return sp.Piecewise((x, a < b), (y, True))

    def from_float(number: float) -> Any:
        # 0.375 is exactly 3/8; 0.1 may be a measured number.
        if math.isfinite(number):
            ratio = number.as_integer_ratio()
            if ratio[1] <= 1024 and abs(ratio[0]) < 2**53:
                return sp.Rational(*ratio)
        return sp.Float(number)

    def entries(value: Any) -> list[Any] | None:
        return list(value) if isinstance(value, (sp.MatrixBase, sp.NDimArray)) else None

    return {
        "name": "sympy",
        "zero": sp.S.Zero,
        "one": sp.S.One,
        "sin": sp.sin,
        "cos": sp.cos,
        "sqrt": sp.sqrt,
        "tanh": sp.tanh,
        "atan2": sp.atan2,
        "floor": sp.floor,
        "select_lt": select_lt,
        "from_float": from_float,
        "entries": entries,
        "digits": None,
    }


def _casadi() -> dict[str, Any]:
    import casadi

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return casadi.if_else(a < b, x, y)

    def entries(value: Any) -> list[Any] | None:
        if isinstance(value, casadi.MX):
            raise ArgumentTypeError(
                "expected casadi.SX, got casadi.MX: make a casadi.Function with SX, and call it with MX"
            )
        if not isinstance(value, (casadi.SX, casadi.DM)) or value.numel() == 1:
            return None
        return [value[i, j] for i in range(value.shape[0]) for j in range(value.shape[1])]

    return {
        "name": "casadi",
        "zero": casadi.SX(0),
        "one": casadi.SX(1),
        "sin": casadi.sin,
        "cos": casadi.cos,
        "sqrt": casadi.sqrt,
        "tanh": casadi.tanh,
        "atan2": casadi.atan2,
        "floor": casadi.floor,
        "select_lt": select_lt,
        "from_float": casadi.SX,
        "entries": entries,
        "digits": 16,
    }


def _mpmath() -> dict[str, Any]:
    import mpmath

    return {
        "name": "mpmath",
        "zero": mpmath.mpf(0),
        "one": mpmath.mpf(1),
        "sin": mpmath.sin,
        "cos": mpmath.cos,
        "sqrt": mpmath.sqrt,
        "tanh": mpmath.tanh,
        "atan2": mpmath.atan2,
        "floor": mpmath.floor,
        "select_lt": _choose,
        "from_float": mpmath.mpf,
    }


def _fraction() -> dict[str, Any]:
    import math
    from fractions import Fraction

    def only_at_zero(name: str, result: int) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            if x == 0:
                return Fraction(result)
            raise ArgumentValueError(
                f"{name}({x}) is not a fraction: choose a scalar that has it, such as 'mpmath' or 'sympy'"
            )

        return function

    arctangent = only_at_zero("arctangent", 0)

    def sqrt(x: Any) -> Any:
        root = Fraction(math.isqrt(abs(x.numerator)), math.isqrt(x.denominator))
        if root * root == x:
            return root
        raise ArgumentValueError(
            f"sqrt({x}) is not a fraction: choose a scalar that has it, such as 'mpmath' or 'sympy'"
        )

    return {
        "name": "fraction",
        "zero": Fraction(0),
        "one": Fraction(1),
        "sin": only_at_zero("sin", 0),
        "cos": only_at_zero("cos", 1),
        "sqrt": sqrt,
        "tanh": only_at_zero("tanh", 0),
        "atan2": lambda y, x: Fraction(0) if y == 0 < x else arctangent(y / x),
        "floor": lambda x: Fraction(math.floor(x)),
        "select_lt": _choose,
        "from_float": Fraction,
        "digits": None,
    }


def _jax() -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return jnp.where(a < b, x, y)

    def entries(value: Any) -> list[Any] | None:
        return list(value.ravel()) if isinstance(value, jax.Array) and value.ndim else None

    # Python floats take the precision of the other operand.
    return {
        "name": "jax",
        "zero": 0.0,
        "one": 1.0,
        "sin": jnp.sin,
        "cos": jnp.cos,
        "sqrt": jnp.sqrt,
        "tanh": jnp.tanh,
        "atan2": jnp.arctan2,
        "floor": jnp.floor,
        "select_lt": select_lt,
        "from_float": float,
        "entries": entries,
        "digits": 16,
    }


def _choose(a: Any, b: Any, x: Any, y: Any) -> Any:
    return x if a < b else y


MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "double": _double,
    "autodiff": _autodiff,
    "sympy": _sympy,
    "casadi": _casadi,
    "mpmath": _mpmath,
    "fraction": _fraction,
    "jax": _jax,
}
