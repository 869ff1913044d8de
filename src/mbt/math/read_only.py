"""Arrays that show the inside of a Context."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mbt.errors import ArgumentValueError

__all__ = ["ReadOnlyArray"]


class ReadOnlyArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A read-only array of a Context, with an error that tells how to write.

    Whatever is computed from it is an ordinary array, and so is a copy. What NumPy makes in its likeness
    (``np.zeros_like``) may be written as usual.
    """

    def _check_writeable(self) -> None:
        if not self.flags.writeable:
            raise ArgumentValueError(
                "This array shows the inside of a Context and is read-only: assign as a whole, as in "
                "context.q = ..., or write into a copy()."
            )

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write, or tell how to."""
        self._check_writeable()
        super().__setitem__(key, value)

    def __iadd__(self, other: Any) -> Any:  # type: ignore[misc]
        """Add in place, or tell how to."""
        self._check_writeable()
        return super().__iadd__(other)

    def __isub__(self, other: Any) -> Any:  # type: ignore[misc]
        """Subtract in place, or tell how to."""
        self._check_writeable()
        return super().__isub__(other)

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        """Multiply in place, or tell how to."""
        self._check_writeable()
        return super().__imul__(other)

    def __itruediv__(self, other: Any) -> Any:  # type: ignore[misc]
        """Divide in place, or tell how to."""
        self._check_writeable()
        return super().__itruediv__(other)

    def fill(self, value: Any) -> None:
        """Fill, or tell how to write."""
        self._check_writeable()
        super().fill(value)

    def __array_wrap__(
        self, array: npt.NDArray[Any], context: object = None, return_scalar: bool = False
    ) -> Any:
        """Leave results of ufuncs as they are: ordinary."""
        return array[()] if array.ndim == 0 else array

    def copy(self, order: Any = "C") -> npt.NDArray[np.float64]:  # type: ignore[override]
        """Return an ordinary array with the same values."""
        return np.array(self, order=order)

    def __copy__(self) -> npt.NDArray[np.float64]:  # type: ignore[override]
        """Return an ordinary array with the same values."""
        return self.copy()

    def __deepcopy__(self, memo: Any) -> npt.NDArray[np.float64]:  # type: ignore[override]
        """Return an ordinary array with the same values."""
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickle as an ordinary array."""
        return self.copy().__reduce__()

    def __repr__(self) -> str:
        """Read as an ordinary array does."""
        return repr(self.view(np.ndarray))
