"""Whether masses leave enough digits for constraint equations, in scalar types whose kernels cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.context.checks import find_far_apart

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.scalars.context import ScalarContext

__all__ = ["check_digits"]


def check_digits(context: ScalarContext) -> None:
    """Raise for numeric objects if an autodiff Context with their values would; symbols pass.

    Raises
    ------
    SingularityError
        When masses differ by too much.
    """
    if find_far_apart(context) is None:
        return
    try:
        q, v, parameters = (_values_of(array) for array in (context._q, context._v, context._parameters))
    except (TypeError, ValueError, ArithmeticError, RuntimeError):  # Symbols of SymPy, CasADi, and others.
        return
    tree = context.tree.clone_to_scalar("autodiff")
    twin: Any = tree.create_default_context()
    twin._set_state({**twin._get_state(), **ContextCore._get_state(context)})
    twin._parameters = twin._scalars.frozen(twin._scalars.as_float_array(parameters, "parameters"))
    twin.q, twin.v = q, v
    # This check does not depend on forces.
    tree.calc_impulse_dynamics(twin)


def _values_of(array: np.ndarray) -> FloatArray:
    return np.array([float(entry) for entry in array], dtype=np.float64)
