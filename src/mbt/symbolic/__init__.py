"""Scalars that are Python objects, and functions made of expressions.

``tree.clone_to_scalar`` takes a name, ``"sympy"``, ``"casadi"``, ``"mpmath"``, ``"fraction"`` or ``"jax"``,
or a `ScalarType` for any other scalar. `dual` makes a scalar of values with derivatives over another scalar.
`make_expressions` returns quantities of a tree in symbols; `make_casadi_function`, `make_python_function` and
`make_c_code` make functions of expressions.
"""

from mbt.symbolic.casadi_function import make_casadi_function
from mbt.symbolic.code import PythonFunction, make_c_code, make_python_function
from mbt.symbolic.dual import Dual, DualType, dual
from mbt.symbolic.expressions import make_expressions
from mbt.symbolic.scalar_type import ScalarType, get_scalar_type

__all__ = [
    "Dual",
    "DualType",
    "PythonFunction",
    "ScalarType",
    "dual",
    "get_scalar_type",
    "make_c_code",
    "make_casadi_function",
    "make_expressions",
    "make_python_function",
]
