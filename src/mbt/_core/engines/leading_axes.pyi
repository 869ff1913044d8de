from collections.abc import Sequence

import numpy.typing as npt
from typing_extensions import disjoint_base

@disjoint_base
class Batch:
    """Operands of a function, converted and broadcast over their leading axes."""

    def __init__(
        self, names: Sequence[str], values: Sequence[npt.ArrayLike], cores: Sequence[tuple[int, ...]]
    ) -> None: ...
