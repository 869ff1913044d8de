"""Functions written by users, as native code."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt._core.door.native_calls import NativeTick
from mbt.compiling.calls import call_on_states, check_arguments, take_tuple
from mbt.compiling.compiler import build, write
from mbt.compiling.native_code import NativeCode
from mbt.compiling.traced_calls import TracedCall
from mbt.errors import ArgumentTypeError, quote, unknown_name_error

__all__ = ["CompiledFunction", "make_function"]

_Shapes = dict[str, tuple[int, ...]]


def make_function(
    call: TracedCall, name: str, dtype: Any, compiler: str | None, cache: bool, timeout: float | None
) -> CompiledFunction:
    """Return the compiled function of a recorded call."""
    sizes = [int(np.prod(shape, dtype=int)) for shape in call.inputs.values()]
    source = write(call.trace, sizes, call.results, compiler, single=dtype == np.float32)
    options = compiler, cache, timeout
    return _build(name, source, call.inputs, call.outputs, call.kind, dtype, options)


def _build(
    name: str,
    source: str,
    inputs: _Shapes,
    outputs: _Shapes,
    kind: type,
    dtype: Any,
    options: tuple[str | None, bool, float | None],
) -> CompiledFunction:
    library = build(source, *options)
    made = CompiledFunction(library, inputs, outputs, kind, dtype == np.float32)
    made._finish(name, source, inputs, outputs, dtype, options)
    return made


class CompiledFunction(NativeTick):
    """A user's function as native code; created by `mbt.compile`.

    It takes an array for each argument, by position or by name, of one state or with leading axes, which
    broadcast. Like the original function, it returns an array, a tuple, or a dict of arrays. ``out=`` takes
    arrays to write the results into: an array, a tuple with an array or None for each result, or a dict for
    some or all results.

    Attributes
    ----------
    name : str
        The name of the function.
    inputs, outputs : dict of str to tuple of int
        Shapes of the arguments and of the results of one state.
    dtype : dtype
        The dtype of the arrays that it takes and returns.
    source : str
        Its C code; LLVM IR with ``compiler="llvm"``.
    """

    name: str
    inputs: _Shapes
    outputs: _Shapes
    dtype: Any
    source: str

    def _finish(
        self, name: str, source: str, inputs: _Shapes, outputs: _Shapes, dtype: Any, options: Any
    ) -> None:
        self.name, self.source, self.dtype = name, source, dtype
        self.inputs, self.outputs = dict(inputs), dict(outputs)
        self._options = options
        self._serve(self._call_otherwise)

    def _call_otherwise(self, arguments: tuple[Any, ...], out: Any) -> Any:
        """Call with array-likes that have any leading axes."""
        check_arguments(self.name, list(self.inputs), arguments)
        given = self._take_out(out)
        shapes = list(self.outputs.values())
        results = call_on_states(self._call_many, self.inputs, arguments, given, shapes, self.dtype.type)
        if self._kind is dict:
            return dict(zip(self.outputs, results, strict=True))
        return results if self._kind is tuple else results[0]

    def _take_out(self, out: Any) -> dict[str, Any]:
        """Return the arrays for the results, by the names used in error messages."""
        if self._kind is np.ndarray:
            return {"out": out}
        if self._kind is tuple:
            return take_tuple(out, len(self.outputs))
        given = {} if out is None else out
        if not isinstance(given, dict):
            raise ArgumentTypeError(
                f"out: expected a dict of arrays, {', '.join(self.outputs)}, got {type(out).__name__}"
            )
        for name in given:
            if name not in self.outputs:
                raise unknown_name_error("result", name, list(self.outputs))
        return {f"out[{quote(name)}]": given.get(name) for name in self.outputs}

    def native(self) -> NativeCode:
        """Return the addresses of the function, for callers outside Python."""
        sizes = {name: int(np.prod(shape, dtype=int)) for name, shape in self.inputs.items()}
        return NativeCode(sizes, tuple(self.outputs.values()), self.dtype, self._library)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the code: it is compiled again, or loaded from the cache."""
        parts = self.name, self.source, self.inputs, self.outputs, self._kind, self.dtype, self._options
        return _build, parts

    def __repr__(self) -> str:
        """Show arguments and results."""
        of = "" if self.dtype == np.float64 else f" of {self.dtype}"
        results = ", ".join(self.outputs) if self._kind is dict else len(self.outputs)
        return f"<CompiledFunction {self.name}({', '.join(self.inputs)}) -> {results}{of}>"
