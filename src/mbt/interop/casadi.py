"""The functions of `mbt.functional` as functions of CasADi that call mbt, with their derivatives.

Kernels of mbt compute them, in doubles, while a solver runs. For equations as expressions of CasADi, from
which it generates code, use `mbt.symbolic.make_expressions`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MbtError,
    MissingPackageError,
    ShapeError,
    describe_shape,
    quote,
    unknown_name_error,
)
from mbt.interop.host_calls import FUNCTIONS, HostCall, find_call, make_functions, operands_of
from mbt.math.arrays import as_float_array

try:
    import casadi
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.casadi needs casadi 3.6 or newer, which is not installed: "
        "pip install 'multibodytree[casadi]'"
    ) from error

__all__ = [*FUNCTIONS, "make_callback"]

Shape = tuple[int, ...]
#: A result is one shape; its derivatives append the shapes of the operands they are taken with respect to.
Chain = tuple[Shape, ...]

_HINT = (
    "; ask the solver for a limited-memory Hessian, in IPOPT with the option "
    '{"ipopt.hessian_approximation": "limited-memory"}'
)
#: Names of the results, for functions with several.
_RESULTS = {
    "step": ("q1", "v1"),
    "constrained_forward_dynamics": ("vdot", "multipliers"),
    "constrained_inverse_dynamics": ("tau", "multipliers"),
    "impulse_dynamics": ("v1", "impulses"),
}


#: Works whether or not CasADi comes with types.
_Base: Any = casadi.Callback


class _Callback(_Base):  # type: ignore[misc]
    """A call, or its derivatives of some order, for samples side by side.

    CasADi stores matrices column by column. With samples side by side, the numbers of a sample are
    contiguous. The matrix of a derivative has one row for each entry of the differentiated result and one
    column for each entry of an operand: samples are blocks on its diagonal.
    """

    def __init__(
        self,
        call: HostCall,
        num_samples: int,
        name: str,
        names: tuple[Sequence[str], Sequence[str]],
        options: Mapping[str, Any],
        outputs: Sequence[Any] | None = None,
        placeholders: Sequence[Any] = (),
    ) -> None:
        super().__init__()
        self._call, self._num_samples, self._names = call, num_samples, names
        #: Arguments of `make_callback`, for pickling.
        self.made_of: Any = None
        self._has_differences = bool(options.get("enable_fd", False))
        self._operands: list[Shape] = call.operand_shapes
        #: Chains; or patterns without entries, for derivatives with respect to results.
        self._outputs = [(shape,) for shape in call.result_shapes] if outputs is None else outputs
        #: Patterns of the results, without entries: CasADi also passes results to derivatives.
        self._placeholders = placeholders
        self._layouts = [self._layout((shape,)) for shape in self._operands]
        chains = [(i, chain) for i, chain in enumerate(self._outputs) if isinstance(chain, tuple)]
        self._wanted = [(i, self._layout(chain)) for i, chain in chains]
        #: Functions of CasADi do not keep these objects alive.
        self._kept: list[Any] = []
        self.construct(name, dict(options))

    def __repr__(self) -> str:
        return f"<{self.name()} of {self._call!r}>"

    def __copy__(self) -> _Callback:
        return self

    def __deepcopy__(self, memo: Any) -> _Callback:
        return self

    def __reduce__(self) -> Any:
        return _remake, self.made_of

    # Methods that CasADi calls.

    def get_n_in(self) -> int:
        return len(self._operands) + len(self._placeholders)

    def get_n_out(self) -> int:
        return len(self._outputs)

    def get_name_in(self, i: int) -> str:
        return self._names[0][i]

    def get_name_out(self, i: int) -> str:
        return self._names[1][i]

    def get_sparsity_in(self, i: int) -> Any:
        n = len(self._operands)
        return self._pattern((self._operands[i],)) if i < n else self._placeholders[i - n]

    def get_sparsity_out(self, i: int) -> Any:
        return self._pattern(self._outputs[i])

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, operands: Sequence[Any], results: Sequence[Any]) -> int:
        """Compute from CasADi's memory into CasADi's memory."""
        arrays = [
            np.frombuffer(buffer).reshape(dims).transpose(axes) if buffer is not None else np.zeros(zeros)
            for buffer, (dims, axes, zeros) in zip(operands, self._layouts, strict=False)
        ]
        values = self._call.evaluate(*arrays)
        for (i, (dims, axes, _)), value in zip(self._wanted, values[-len(self._wanted) :], strict=True):
            if results[i] is not None:
                np.frombuffer(results[i]).reshape(dims).transpose(axes)[...] = value
        return 0

    def has_jacobian(self) -> bool:
        # Without derivatives: `get_jacobian` raises an error with the reason, or CasADi takes differences.
        return self._call.is_differentiable or not self._has_differences

    def get_jacobian(self, name: str, inputs: Any, outputs: Any, options: Any) -> Any:
        try:
            call = self._call.linearize()
        except MbtError as error:
            raise MbtError(f"{error}{_HINT}") from None
        patterns = [self._pattern(output) for output in self._outputs]
        derivatives = [
            (*output, shape)
            if isinstance(output, tuple) and isinstance(shape, tuple)
            else casadi.Sparsity(pattern.numel(), math.prod(self.size_in(i)))
            for output, pattern in zip(self._outputs, patterns, strict=True)
            for i, shape in enumerate([*self._operands, *self._placeholders])
        ]
        placeholders = [*self._placeholders, *(casadi.Sparsity(*pattern.shape) for pattern in patterns)]
        options = {**options, "enable_fd": self._has_differences}
        names = list(inputs), list(outputs)
        jacobian = _Callback(call, self._num_samples, name, names, options, derivatives, placeholders)
        self._kept.append(jacobian)
        return jacobian

    def has_jac_sparsity(self, o: int, i: int) -> bool:
        return isinstance(self._outputs[o], tuple) and i < len(self._operands)

    def get_jac_sparsity(self, o: int, i: int, symmetric: bool) -> Any:
        return self._pattern((*self._outputs[o], self._operands[i]))

    # Memory layout.

    def _layout(self, chain: Chain) -> tuple[Any, ...]:
        """Return how to view the memory of a chain as an array: dimensions, order of axes, shape.

        In memory the last shape comes first, and in each shape the last axis: columns. Samples come in front,
        unless there is only one.
        """
        front = [] if self._num_samples == 1 else [self._num_samples]
        shape = (*front, *(n for part in chain for n in part))
        order, end = [*range(len(front))], len(shape)
        for part in reversed(chain):
            axes = range(end - len(part), end)
            order += [*axes[-1:], *axes[:-1]]
            end -= len(part)
        return [shape[k] for k in order], np.argsort(order).tolist(), shape

    def _pattern(self, chain: Any) -> Any:
        """Return the pattern of all samples."""
        if not isinstance(chain, tuple):
            return chain
        n = self._num_samples
        rows, columns = _size(chain[0])
        pattern = casadi.Sparsity.dense(rows, n * columns)
        places = np.arange(n * rows * columns).reshape(n, -1)  # indices of the entries of each sample
        for shape in chain[1:]:
            height, width = pattern.numel(), n * math.prod(shape)
            entries = np.repeat(places, math.prod(shape), axis=0)
            starts = np.arange(width + 1) * places.shape[1]
            pattern = casadi.Sparsity(height, width, starts.tolist(), entries.ravel().tolist())
            places = (np.arange(width)[:, np.newaxis] * height + entries).reshape(n, -1)
        return pattern


def _size(shape: Shape) -> tuple[int, int]:
    """Return rows and columns: vectors are columns, and matrices are stacked vertically."""
    return (math.prod(shape[:-1]), shape[-1]) if len(shape) > 1 else (math.prod(shape), 1)


def make_callback(
    tree: Any,
    function: str,
    *,
    num_samples: int = 1,
    parameters: Iterable[Any] = (),
    casadi_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Return a function of CasADi that calls a function of `mbt.functional`, with its derivatives.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    function : str
        The name of a function: any but rollouts and derivatives.
    num_samples : int, optional
        The number of states computed in one call, as the columns of each operand. The results of the samples
        stand side by side, as in `casadi.Function.map`. A sample without a result is NaN; a single state
        without one raises an error.
    parameters : iterable of MultibodyElement or the tree, optional
        Owners of parameters that become operands, after the others: the mass of a body, the pose (4, 4) of a
        fixed offset frame, the vector of uniform gravity; the inertial parameters of all bodies of a tree.
    casadi_options : dict, optional
        Options of CasADi. With ``"enable_fd": True`` CasADi takes derivatives that mbt lacks by differences.
    **options
        Options of the function: ``frame=``, ``dt=``, ``method=``, ...

    Returns
    -------
    casadi.Callback
        The same one for the same arguments. Keep it or the tree alive as long as other functions of CasADi
        call it: those do not keep Python objects alive.

    Raises
    ------
    UnknownNameError
        When mbt has no such function.
    ArgumentTypeError, ArgumentValueError
        When an argument is not of the right type, or options are missing or unknown.

    Examples
    --------
    >>> import mbt, mbt.interop.casadi
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"))
    >>> dynamics = mbt.interop.casadi.make_callback(tree, "forward_dynamics")
    >>> dynamics.size_out(0), dynamics.jacobian().size_out(0)
    ((6, 1), (6, 6))
    """
    if not isinstance(function, str):
        raise ArgumentTypeError(f"function: expected a name, got {type(function).__name__}")
    if function not in FUNCTIONS:
        raise unknown_name_error("function", function, FUNCTIONS)
    if not isinstance(num_samples, (int, np.integer)) or isinstance(num_samples, bool) or num_samples < 1:
        raise ArgumentValueError(f"num_samples: expected a positive integer, got {quote(num_samples)}")
    if casadi_options is not None and not isinstance(casadi_options, Mapping):
        raise ArgumentTypeError(f"casadi_options: expected a dict, got {type(casadi_options).__name__}")
    operands = operands_of(function)
    taken = {name: p for name, p in FUNCTIONS[function].items() if name not in operands}
    missing = {name for name, p in taken.items() if p.default is inspect.Parameter.empty} - options.keys()
    unknown = options.keys() - taken.keys()
    if missing or unknown:
        which = f"missing: {', '.join(sorted(missing))}" if missing else f"got {', '.join(sorted(unknown))}"
        raise ArgumentValueError(f"options of {function}: expected {', '.join(taken) or 'none'}, {which}")
    owners = tuple(parameters)
    call = find_call(tree, function, options, owners)
    # Functions of CasADi do not keep Python objects alive, so callbacks live as long as the tree.
    made = call.made.setdefault("casadi", {})
    key = num_samples, repr(casadi_options)
    if key not in made:
        names = [*operands, *(f"parameter_{i}" for i in range(len(owners)))]
        results = _RESULTS.get(function, (function,))
        if options.get("jacobian"):
            results = (function, "jacobian")
        made[key] = _Callback(call, int(num_samples), function, (names, results), casadi_options or {})
        own = {"num_samples": num_samples, "parameters": owners, "casadi_options": casadi_options}
        made[key].made_of = tree, function, {**own, **options}
    return made[key]


def _remake(tree: Any, function: str, options: dict[str, Any]) -> Any:
    return make_callback(tree, function, **options)


def _compute(
    tree: Any, name: str, operands: dict[str, Any], options: dict[str, Any], parameters: dict[Any, Any]
) -> Any:
    call = find_call(tree, name, options, parameters)
    named = {**operands, **{f"parameters[{owner}]": value for owner, value in parameters.items()}}
    matrices, counts = [], []
    for (key, value), shape in zip(named.items(), call.operand_shapes, strict=True):
        rows, columns = _size(shape)
        matrix = _as_matrix(key, value)
        count, rest = divmod(matrix.shape[1], columns)
        if matrix.shape[0] != rows or rest or not count:
            wanted = f"{columns} n" if columns > 1 else "n"
            raise ShapeError(f"{key}: expected shape ({rows}, {wanted}) for n samples, got {matrix.shape}")
        matrices.append(matrix)
        counts.append(count)
    num_samples = max(counts)
    if not {*counts} <= {1, num_samples}:
        each = ", ".join(f"{count} of {key}" for count, key in zip(counts, named, strict=True))
        raise ShapeError(f"expected the same number of samples of each operand, or one, got {each}")
    callback = make_callback(tree, name, num_samples=num_samples, parameters=parameters, **options)
    return callback(
        *(
            matrix if count == num_samples else casadi.repmat(matrix, 1, num_samples)
            for matrix, count in zip(matrices, counts, strict=True)
        )
    )


def _as_matrix(name: str, value: Any) -> Any:
    if isinstance(value, (casadi.MX, casadi.SX, casadi.DM)):
        return value
    array = as_float_array(value, name)
    if array.ndim > 2:
        raise ShapeError(f"{name}: expected a column for each sample, got {describe_shape(array.shape)}")
    return casadi.DM(array)


globals().update(make_functions("casadi", _compute))

if TYPE_CHECKING:
    from collections.abc import Callable

    def __getattr__(name: str) -> Callable[..., Any]: ...
