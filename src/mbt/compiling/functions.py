"""`mbt.compile`: functions of one tree as native code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, overload

import numpy as np

from mbt._core.api.stateless import mass_matrix
from mbt._core.api.stateless_derivatives import forward_dynamics_derivatives, inverse_dynamics_derivatives
from mbt.compiling.calls import bind
from mbt.compiling.compiler import LLVM, CodeInMemory, as_timeout, build, write
from mbt.compiling.exporting import export_call
from mbt.compiling.native_code import NativeCode
from mbt.compiling.traced_calls import as_shapes, trace_call
from mbt.compiling.traced_entries import Number
from mbt.compiling.tracing import Trace
from mbt.compiling.user_functions import CompiledFunction, make_function
from mbt.context.checks import raise_not_finalized
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.math.arrays import as_bool
from mbt.symbolic.expressions import OF_A_FRAME, express

__all__ = ["CompiledFunctions", "compile"]

_DOUBLE = np.dtype(np.float64)

# From this many velocities on, results with n^2 entries have so many terms that the loops of `mbt.functional`
# are faster.
_LOOPS_ARE_FASTER = 30
_LOOPS: dict[str, Callable[..., Any]] = {
    "mass_matrix": mass_matrix,
    "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
    "forward_dynamics_derivatives": forward_dynamics_derivatives,
}

_Written: TypeAlias = tuple[str, dict[str, int], tuple[tuple[int, ...], ...]]


@overload
def compile(
    tree: Any,
    functions: str | Sequence[str] = ...,
    *,
    frame: Any = ...,
    dtype: Any = ...,
    compiler: str | None = ...,
    cache: bool = ...,
    timeout: float | None = ...,
) -> CompiledFunctions: ...


@overload
def compile(
    tree: Any,
    functions: Callable[..., Any],
    *,
    arguments: Mapping[str, int | tuple[int, ...]],
    derivatives: str | Sequence[str] = ...,
    dtype: Any = ...,
    compiler: str | None = ...,
    cache: bool = ...,
    timeout: float | None = ...,
) -> CompiledFunction: ...


@overload
def compile(
    tree: Any,
    functions: Callable[..., Any],
    *,
    arguments: Mapping[str, int | tuple[int, ...]],
    derivatives: str | Sequence[str] = ...,
    export: str | Path,
    name: str = ...,
    dtype: Any = ...,
) -> Path: ...


def compile(
    tree: Any,
    functions: Any = ("inverse_dynamics", "forward_dynamics", "mass_matrix"),
    *,
    arguments: Any = None,
    derivatives: Any = (),
    export: Any = None,
    name: Any = None,
    frame: Any = None,
    dtype: Any = np.float64,
    compiler: str | None = None,
    cache: bool = True,
    timeout: float | None = None,
) -> Any:
    """Return functions of a tree, or a function that you write, as native code.

    The computation is recorded with the tree's parameters as constants, without zeros, ones and repeated
    terms. A compiler turns it into code for one state, and for as many states at once as a register has
    lanes. docs/compiling.md tells which functions become faster, and by how much.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree. Its default parameters are built in.
    functions : str, sequence of str or callable, optional
        Functions of `mbt.functional` that `mbt.symbolic.make_expressions` supports. Or a function of arrays
        that computes with NumPy, `mbt.functional` and `mbt.math`: it is called once, with numbers that record
        each operation, and must not branch on their values.
    arguments : dict of str to int or tuple of int
        For a function that you write: the shapes of its arguments for one state, by name; an int is the
        length of a vector.
    derivatives : str or sequence of str, optional
        For a function that you write and that returns a dict: the arguments with respect to which to
        differentiate. A result "tau" then also gives "tau_q", its derivatives with respect to the entries of
        "q", with the axes of tau followed by those of q.
    export : str or path, optional
        A folder to write C sources into, instead of compiling a function that you write: a library that
        allocates nothing and needs only libm, its header, a CMake file and a test program.
    name : str, optional
        The name of the exported C function; by default that of your function.
    frame : Frame or str, optional
        The frame of "frame_pose" and "frame_jacobian", or its name.
    dtype : dtype, optional
        float64, or float32: the functions then take, compute and return float32, with twice as many states
        per register.
    compiler : str, optional
        The command of a C compiler, GCC or Clang; by default, the environment variable CC, or ``cc``. Or
        ``"llvm"`` for the package llvmlite, which needs no C compiler.
    cache : bool, optional
        Whether to keep the compiled libraries in MBT_CACHE_DIR or ``~/.cache/mbt`` for later use.
    timeout : float, optional
        Time limit for compiling one function [s]; ``math.inf`` sets no limit. By default, the environment
        variable MBT_COMPILER_TIMEOUT, or half an hour. Not allowed with ``compiler="llvm"``, which runs in
        this process.

    Returns
    -------
    CompiledFunctions or CompiledFunction
        An object with the functions of `mbt.functional` as attributes: they take the same arrays, without the
        tree, and ``out=``. Or a function with the arguments and results of yours, which also accepts leading
        axes and ``out=``. Functions of float32 reject arrays that do not convert without loss. With `export`,
        the path of the folder.

    Raises
    ------
    CompilerError
        When there is no compiler (or no llvmlite), it fails or takes too long, or the cache folder is not
        safe for executable files.
    UnknownNameError, ArgumentTypeError, ArgumentValueError
        When there is no such function or dtype, `tree` is not a MultibodyTree, `frame` is missing or not
        allowed, or `timeout` is not greater than zero; when a function that you write branches on a value, or
        does something else that cannot be recorded: the message names the line.
    NotFinalizedError
        Before ``finalize()``.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"))
    >>> fast = mbt.compile(tree, "mass_matrix", cache=False)
    >>> q = np.full((1000, 6), 0.3)
    >>> np.allclose(fast.mass_matrix(q), mbt.functional.mass_matrix(tree, q), rtol=1e-12)
    True

    >>> def control(q, v, goal):
    ...     return mbt.functional.inverse_dynamics(tree, q, v, 100.0 * (goal - q) - 20.0 * v)
    >>> tick = mbt.compile(tree, control, arguments={"q": 6, "v": 6, "goal": 6}, cache=False)
    >>> tau = tick(np.zeros(6), np.zeros(6), np.full(6, 0.1))
    >>> np.allclose(tau, control(np.zeros(6), np.zeros(6), np.full(6, 0.1)))
    True
    """
    if compiler is not None and not isinstance(compiler, str):
        raise ArgumentTypeError(f"compiler: expected a command, got {type(compiler).__name__}")
    is_kept, kind = as_bool(cache, "cache"), _as_dtype(dtype)
    limit = None if timeout is None else as_timeout(timeout)
    if limit is not None and compiler == LLVM:
        raise ArgumentValueError("timeout: expected none with compiler='llvm', which runs in this process")
    if callable(functions):
        _check_tree(tree)
        if frame is not None:
            raise ArgumentValueError(
                "frame: expected none with a function that you write, which chooses its own frames"
            )
        call = trace_call(functions, as_shapes(arguments), derivatives)
        own = getattr(functions, "__name__", "function")
        if export is not None:
            return export_call(call, export, own if name is None else name, kind)
        if name is not None:
            raise ArgumentValueError("name: expected none without export=: it names the exported C function")
        return make_function(call, own, kind, compiler, is_kept, limit)
    given = {"arguments": arguments, "derivatives": derivatives or None, "export": export, "name": name}
    for option, value in given.items():
        if value is not None:
            raise ArgumentTypeError(
                f"{option}: only allowed with a function that you write, got {quote(functions)}"
            )
    names = (functions,) if isinstance(functions, str) else functions
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise ArgumentTypeError(f"functions: expected names of functions, got {quote(functions)}")
    if frame is not None and not any(name in OF_A_FRAME for name in names):
        raise ArgumentValueError(f"frame: only {' and '.join(map(quote, OF_A_FRAME))} take a frame")
    return CompiledFunctions(tree, tuple(names), frame, compiler, is_kept, kind, limit)


class CompiledFunctions:
    """Functions of one tree as native code; created by `mbt.compile`. Each function is an attribute.

    Attributes
    ----------
    tree : MultibodyTree
        The tree.
    names : tuple of str
        The names of the functions.
    dtype : dtype
        The dtype of the arrays that they take and return.
    """

    def __init__(
        self,
        tree: Any,
        names: tuple[str, ...],
        frame: Any,
        compiler: str | None,
        cache: bool,
        dtype: Any = _DOUBLE,
        timeout: float | None = None,
    ) -> None:
        self.tree = tree
        self.names = tuple(dict.fromkeys(names))
        self._written: dict[str, _Written] = {}
        self.dtype = dtype
        self._options = (frame, compiler, cache, dtype, timeout)
        self._libraries: dict[str, CodeInMemory] = {}
        _check_tree(tree)
        is_large = dtype == _DOUBLE and tree.num_velocities >= _LOOPS_ARE_FASTER
        for name in self.names:
            if is_large and name in _LOOPS:
                setattr(self, name, partial(_LOOPS[name], tree))
            else:
                _, inputs, shapes = self._write(name)
                setattr(self, name, bind(name, self._library_of(name), inputs, shapes, dtype.type))

    @property
    def sources(self) -> dict[str, str]:
        """The C code of each function; LLVM IR with ``compiler="llvm"``."""
        return {name: self._write(name)[0] for name in self.names}

    def _write(self, name: str) -> _Written:
        """Return the code of a function, the sizes of its inputs by name, and the shapes of its outputs."""
        if name not in self._written:
            frame, compiler, _, dtype, _ = self._options
            frame = frame if name in OF_A_FRAME else None
            self._written[name] = _write(self.tree, name, frame, dtype, compiler)
        return self._written[name]

    def _library_of(self, name: str) -> CodeInMemory:
        """Return the compiled library of a function."""
        if name not in self._libraries:
            _, compiler, cache, _, timeout = self._options
            self._libraries[name] = build(self._write(name)[0], compiler, cache, timeout)
        return self._libraries[name]

    def native(self, name: str) -> NativeCode:
        """Return the addresses of a function, for callers outside Python.

        Parameters
        ----------
        name : str
            One of `names`.

        Returns
        -------
        NativeCode
            With ``address``, ``address_of_many`` and a description of their arguments.

        Raises
        ------
        UnknownNameError, ArgumentTypeError
            When there is no such function, or `name` is not a string.
        """
        if not isinstance(name, str):
            raise ArgumentTypeError(f"name: expected the name of a compiled function, got {quote(name)}")
        if name not in self.names:
            raise unknown_name_error("compiled function", name, self.names)
        _, inputs, shapes = self._write(name)
        return NativeCode(dict(inputs), shapes, self.dtype, self._library_of(name))

    # Declares to type checkers that attributes are functions.
    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Raise; the message lists the compiled functions."""
        there = ", ".join(self.__dict__.get("names", ()))
        raise AttributeError(f"{quote(name)} was not compiled: there are {there}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the inputs: the functions are compiled again, or loaded from the cache."""
        return CompiledFunctions, (self.tree, self.names, *self._options)

    def __repr__(self) -> str:
        """Show the names."""
        of = "" if self.dtype == np.float64 else f" of {self.dtype}"
        return f"<CompiledFunctions {', '.join(self.names)}{of}>"


def _check_tree(tree: Any) -> None:
    if not callable(getattr(tree, "clone_to_scalar", None)):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    if not tree.is_finalized:
        raise_not_finalized(tree)


def _as_dtype(dtype: Any) -> Any:
    try:
        given = np.dtype(dtype)
    except TypeError:
        raise ArgumentTypeError(f"dtype: expected float64 or float32, got {quote(dtype)}") from None
    if given not in (np.float64, np.float32):
        raise ArgumentValueError(f"dtype: expected float64 or float32, got {given}")
    return given


def _write(tree: Any, name: str, frame: Any, dtype: Any, compiler: str | None) -> _Written:
    """Record a function and return its code, the sizes of its inputs, and the shapes of its outputs."""
    trace = Trace()
    places: list[str] = []

    def make_inputs(input_name: str, size: int) -> list[Number]:
        places.append(input_name)
        return [trace.record("input", len(places) - 1, i) for i in range(size)]

    inputs, outputs = express(tree, name, trace.scalar_type, make_inputs, frame)
    arrays = [np.asarray(array, dtype=object) for array in outputs.values()]
    results = [[number.index for number in array.ravel()] for array in arrays]
    sizes = {key: len(array) for key, array in inputs.items()}
    source = write(trace, list(sizes.values()), results, compiler, single=dtype == np.float32)
    return source, sizes, tuple(array.shape for array in arrays)
