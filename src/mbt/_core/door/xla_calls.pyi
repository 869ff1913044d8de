from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

def set_function(
    function: Callable[[int, Sequence[npt.NDArray[np.float64]], Sequence[npt.NDArray[np.float64]]], None],
) -> None: ...
def get_handler() -> Any: ...
