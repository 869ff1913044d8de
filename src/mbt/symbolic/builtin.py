"""The scalars known by name. Their packages are imported when somebody asks for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    }


def _autodiff() -> dict[str, Any]:
    import numpy as np

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
        "select_lt": _choose,
    }


def _sympy() -> dict[str, Any]:
    import sympy as sp  # type: ignore[import-untyped]

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return sp.Piecewise((x, a < b), (y, True))

    def from_float(number: float) -> Any:
        return sp.Integer(int(number)) if number.is_integer() else sp.Float(number)

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
    }


def _casadi() -> dict[str, Any]:
    import casadi

    def select_lt(a: Any, b: Any, x: Any, y: Any) -> Any:
        return casadi.if_else(a < b, x, y)

    def entries(value: Any) -> list[Any] | None:
        if not isinstance(value, (casadi.SX, casadi.MX, casadi.DM)) or value.numel() == 1:
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
    }


def _mpmath() -> dict[str, Any]:
    import mpmath  # type: ignore[import-untyped]

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


def _choose(a: Any, b: Any, x: Any, y: Any) -> Any:
    return x if a < b else y


MAKERS: dict[str, Callable[[], dict[str, Any]]] = {
    "double": _double,
    "autodiff": _autodiff,
    "sympy": _sympy,
    "casadi": _casadi,
    "mpmath": _mpmath,
}
