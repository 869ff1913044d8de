from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

def set_function(
    function: Callable[[int, Sequence[npt.NDArray[np.float64]], Sequence[npt.NDArray[np.float64]]], None],
) -> None:
    """Let compiled programs call `function(number, operands, results)`: their attribute, and tuples of arrays."""

def get_handler() -> Any:
    """Return the capsule that `jax.ffi.register_ffi_target` takes."""
