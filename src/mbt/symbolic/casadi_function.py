"""CasADi functions of arrays of expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote

__all__ = ["make_casadi_function"]


def make_casadi_function(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Return a `casadi.Function` of arrays of expressions that computes common subexpressions once.

    Parameters
    ----------
    name : str
        Name of the function.
    inputs : mapping of str to array_like of casadi.SX symbols
        The arguments, by name and in this order.
    outputs : mapping of str to array_like of casadi.SX
        The results, by name and in this order. CasADi has only matrices: vectors become columns, and an array
        of shape (n, 4, 4) becomes a matrix of shape (4 n, 4). Entries that are always zero are structural
        zeros of the sparsity pattern.

    Returns
    -------
    casadi.Function

    Raises
    ------
    ArgumentTypeError
        When an entry is not a casadi.SX or number, or an input not a symbol.
    ArgumentValueError
        When outputs depend on symbols that are not inputs; the message names them.

    Examples
    --------
    >>> import mbt
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"))
    >>> expressions = mbt.symbolic.make_expressions(tree, "mass_matrix", "casadi")
    >>> mbt.symbolic.make_casadi_function("mass_matrix", *expressions)
    Function(mass_matrix:(q[6])->(M[6x6,34nz]) SXFunction)
    """
    import casadi

    sources = {key: _as_sx(value, f"inputs[{quote(key)}]") for key, value in inputs.items()}
    results = {key: _as_sx(value, f"outputs[{quote(key)}]") for key, value in outputs.items()}
    for key, matrix in sources.items():
        if not matrix.is_valid_input():
            raise ArgumentTypeError(f"inputs[{quote(key)}]: expected symbols of casadi.SX, got {matrix}")
    shared = casadi.cse([casadi.sparsify(matrix) for matrix in results.values()])
    function = casadi.Function(
        name, list(sources.values()), shared, list(sources), list(results), {"allow_free": True}
    )
    if function.has_free():
        free = ", ".join(function.get_free())
        raise ArgumentValueError(f"outputs: depend on {free}, not among the inputs")
    return function


def _as_sx(value: Any, name: str) -> Any:
    import casadi

    if isinstance(value, casadi.SX):
        return value
    array = np.asarray(value, dtype=object) if isinstance(value, (list, tuple)) else np.asarray(value)
    columns = array.shape[-1] if array.ndim > 1 else 1
    matrix = casadi.SX(array.size // max(1, columns), columns)
    for i, entry in enumerate(array.ravel()):
        if not isinstance(entry, (casadi.SX, int, float, np.integer, np.floating)):
            raise ArgumentTypeError(f"{name}: expected casadi.SX, got {type(entry).__name__}")
        matrix[i // columns, i % columns] = entry
    return matrix
