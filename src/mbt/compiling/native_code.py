"""The addresses of a compiled function, for callers outside Python."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from mbt.compiling.compiler import CodeInMemory

__all__ = ["NativeCode"]


@dataclass(frozen=True)
class NativeCode:
    """The addresses of a compiled function and its arguments, for C, Cython and other callers by address.

    Calls need neither Python nor the GIL, allocate nothing, and keep no state: any number of threads may call
    at once. In C, where ``F`` is double, or float for a function of float32::

        void one(const F* const* inputs, F* const* outputs);
        void many(const F* const* inputs, const ptrdiff_t* strides, F* const* outputs, ptrdiff_t count);

    `inputs` and `outputs` are arrays of pointers to contiguous values of one state, or of `count` states one
    after the other; `strides` are the distances between states in each input, in elements: the size of the
    input, or zero to use one for all states. Inputs and outputs must not overlap. Nothing is checked, and a
    state without a result gives NaN or infinities.

    The code stays loaded as long as this object, or the `CompiledFunctions` that created it, is referenced:
    keep one of them as long as an address is in use. An address is valid only in this process.

    Attributes
    ----------
    inputs : dict of str to int
        The size of each input, in order: ``{"q": 6, "v": 6, "vdot": 6}``.
    outputs : tuple of tuple of int
        The shape of each output, which is C-contiguous.
    dtype : dtype
        float64 or float32.

    Examples
    --------
    >>> import ctypes
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> native = mbt.compile(tree, "mass_matrix", cache=False).native("mass_matrix")
    >>> call = native.signature(native.address)  # as C would see it
    >>> q, M = np.full(6, 0.3), np.empty((6, 6))
    >>> call((ctypes.c_void_p * 1)(q.ctypes.data), (ctypes.c_void_p * 1)(M.ctypes.data))
    >>> np.allclose(M, mbt.functional.mass_matrix(tree, q))
    True
    """

    inputs: dict[str, int]
    outputs: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    _library: CodeInMemory

    @property
    def address(self) -> int:
        """The address of the function of one state."""
        return self._library.one

    @property
    def address_of_many(self) -> int:
        """The address of the function of many states."""
        return self._library.many

    @property
    def signature(self) -> Any:
        """The ctypes type of the function of one state; ``signature(address)`` can be called."""
        pointers = ctypes.POINTER(ctypes.c_void_p)
        return ctypes.CFUNCTYPE(None, pointers, pointers)

    @property
    def signature_of_many(self) -> Any:
        """The ctypes type of the function of many states."""
        pointers = ctypes.POINTER(ctypes.c_void_p)
        return ctypes.CFUNCTYPE(None, pointers, ctypes.POINTER(ctypes.c_ssize_t), pointers, ctypes.c_ssize_t)

    def __reduce__(self) -> Any:
        """Raise: an address is meaningless in another process."""
        raise TypeError("addresses cannot be pickled: pickle the CompiledFunctions, and ask it for them")
