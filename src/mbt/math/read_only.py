"""Read-only arrays that show the values in a Context."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["ReadOnlyArray"]


def _writing(name: str) -> Callable[..., Any]:
    method = getattr(np.ndarray, name)

    # Without NumPy's docstring, whose examples do not apply here.
    @wraps(method, assigned=("__name__", "__qualname__"))
    def write(self: ReadOnlyArray, *args: Any, **kwargs: Any) -> Any:
        """Write in place, as in any array, or raise an error that says how to write."""
        self._check_writeable()
        return method(self, *args, **kwargs)

    return write


class ReadOnlyArray(np.ndarray[Any, np.dtype[np.float64]]):
    """A read-only array of a Context; writing to it raises an error that says how to write.

    Results computed from it, and copies, are ordinary arrays. Arrays that NumPy creates like it
    (``np.zeros_like``) are writable as usual.
    """

    def _check_writeable(self) -> None:
        if not self.flags.writeable:
            raise ArgumentValueError(
                "This array is a view into a Context and is read-only: assign as a whole, as in "
                "context.q = ..., or write into a copy()."
            )

    # Methods that write in place do so, or raise that error.
    __setitem__ = _writing("__setitem__")
    __iadd__ = _writing("__iadd__")
    __isub__ = _writing("__isub__")
    __imul__ = _writing("__imul__")
    __itruediv__ = _writing("__itruediv__")
    __ifloordiv__ = _writing("__ifloordiv__")
    __imod__ = _writing("__imod__")
    __ipow__ = _writing("__ipow__")
    __imatmul__ = _writing("__imatmul__")
    fill = _writing("fill")
    sort = _writing("sort")
    partition = _writing("partition")
    put = _writing("put")

    def __array_wrap__(
        self, array: npt.NDArray[Any], context: object = None, return_scalar: bool = False
    ) -> Any:
        """Leave results of ufuncs as ordinary arrays."""
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
        """Return the repr of an ordinary array."""
        return repr(self.view(np.ndarray))
