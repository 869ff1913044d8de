from collections.abc import Sequence

import numpy.typing as npt
from typing_extensions import disjoint_base

@disjoint_base
class Batch:
    def __init__(
        self, names: Sequence[str], values: Sequence[npt.ArrayLike], cores: Sequence[tuple[int, ...]]
    ) -> None: ...
