"""Functions of `mbt.functional` for libraries that compile and differentiate programs.

Such a library traces a program once, and later calls the functions in it by number, on memory of its own. It
requests derivatives as another function: the linearization, whose results are those of the function and its
Jacobians with respect to each operand, by coordinates, not by tangents.

Programs are written to files and caches, including the numbers, and read by other processes. So the number is
a hash of the function, its options and the content of the tree: in another process it finds an equal call or
none. Equal trees in one process have different numbers: an ordinal follows the hash.
"""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from mbt import functional
from mbt.context.tangents import tangent_tree
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    MbtError,
    ShapeError,
    quote,
    shape_error,
)
from mbt.geometry import CollisionModel
from mbt.interop.linearizations import LINEARIZATIONS, linearize_each
from mbt.interop.parameters import check_parametric, evaluate_with_parameters, get_parameter, parameter_shape
from mbt.math.arrays import FloatArray
from mbt.saving.json_writer import hash_content
from mbt.tree import BodyFrame, MultibodyElement, MultibodyTree

__all__ = [
    "FUNCTIONS",
    "HostCall",
    "check_shapes",
    "describe_owner",
    "find_call",
    "find_owner",
    "get_call",
    "make_functions",
    "register_call",
    "run_call",
]

Shape = tuple[int, ...]

#: Sizes of operands, by name.
_SIZES = {
    "q": "num_positions",
    "q0": "num_positions",
    "q1": "num_positions",
    "v": "num_velocities",
    "vdot": "num_velocities",
    "tau": "num_velocities",
}
#: Operands that are not vectors.
_SHAPES = {"X_WG": (4, 4)}
#: Parameters not taken from other libraries: arrays to write into, and optional forces.
_NOT_TAKEN = {"out", "external_forces", "multipliers"}
#: Functions without a call: derivatives, which are linearizations of others; rollouts, whose programs consist
#: of steps; and a search, which has calls of its own.
_NOT_CALLED = {*(name for name in functional.__all__ if name.endswith("_derivatives"))}
_NOT_CALLED |= {"rollout", "inverse_kinematics"}
#: Functions whose Jacobians are analytic and have derivatives themselves.
_TWICE = ("inverse_dynamics", "forward_dynamics")
#: Options of these types distinguish calls directly; arrays by their bytes.
_FRAMES = ("frame", "expressed_in", "relative_to")
_HASHABLE = (MultibodyElement, CollisionModel, str, float, int, type(None))


def _distances(tree: MultibodyTree, scene: CollisionModel, q: Any) -> Any:
    return scene.distances(q)


#: Functions that `mbt.functional` does not have; those of a scene take it in place of the tree.
_OTHERS = {"distances": _distances}


def _find(name: str) -> Callable[..., Any]:
    return _OTHERS[name] if name in _OTHERS else getattr(functional, name)


def _parameters_of(name: str) -> dict[str, inspect.Parameter]:
    parameters = dict(inspect.signature(_find(name)).parameters)
    return {n: p for n, p in parameters.items() if n != "tree" and n not in _NOT_TAKEN}


#: Operands and options of every function: name, parameters by name.
FUNCTIONS = {
    name: _parameters_of(name) for name in (*functional.__all__, *_OTHERS) if name not in _NOT_CALLED
}


def operands_of(name: str) -> tuple[str, ...]:
    """Return the names of the operands of a function, which are arrays."""
    return tuple(n for n in FUNCTIONS[name] if n in _SIZES or n in _SHAPES)


def _shape_of(tree: MultibodyTree, operand: str) -> Shape:
    return _SHAPES[operand] if operand in _SHAPES else (getattr(tree, _SIZES[operand]),)


#: How a library computes: takes a tree, the name of a function, its operands and its options by name, and
#: parameters by owner.
Compute = Callable[[Any, str, dict[str, Any], dict[str, Any], dict[Any, Any]], Any]


def make_functions(library: str, compute: Compute) -> dict[str, Callable[..., Any]]:
    """Make the functions of `mbt.functional`, and of scenes, for a library, by name."""
    return {name: _make_function(name, library, compute) for name in FUNCTIONS}


def _make_function(name: str, library: str, compute: Compute) -> Callable[..., Any]:
    if name in _OTHERS:
        return _make_scene_function(name, library, compute)
    tree_parameter = inspect.signature(getattr(functional, name)).parameters["tree"]
    parameters = inspect.Parameter("parameters", inspect.Parameter.KEYWORD_ONLY, default=None)
    signature = inspect.Signature([tree_parameter, *FUNCTIONS[name].values(), parameters])
    operands = operands_of(name)

    def function(*arguments: Any, **keywords: Any) -> Any:
        given = signature.bind(*arguments, **keywords).arguments
        tree, owners = given.pop("tree"), given.pop("parameters", None)
        arrays = {key: given.pop(key) for key in operands}
        return compute(tree, name, arrays, given, owners or {})

    function.__name__ = function.__qualname__ = name
    function.__module__ = f"mbt.interop.{library}"
    function.__doc__ = f"Compute `mbt.functional.{name}` on arrays of {library}."
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _make_scene_function(name: str, library: str, compute: Compute) -> Callable[..., Any]:
    def function(scene: CollisionModel, q: Any) -> Any:
        return compute(_check_scene(scene).tree, name, {"q": q}, {"scene": scene}, {})

    function.__name__ = function.__qualname__ = name
    function.__module__ = f"mbt.interop.{library}"
    function.__doc__ = f"Compute `mbt.CollisionModel.{name}` on arrays of {library}."
    return function


def _check_scene(scene: object) -> CollisionModel:
    if not isinstance(scene, CollisionModel):
        raise ArgumentTypeError(f"scene: expected an mbt.CollisionModel, got {quote(scene)}")
    return scene


_calls: WeakValueDictionary[int, HostCall] = WeakValueDictionary()
# A number is a nonnegative int64.
_HASH_BITS, _ORDINAL_BITS = 51, 12
#: The highest ordinal given to a call here, for each hash shared by several equal calls.
_last_ordinals: dict[int, int] = {}
#: Hashes of trees, which no longer change.
_contents: WeakKeyDictionary[MultibodyTree, str | None] = WeakKeyDictionary()


@dataclass(frozen=True)
class _Function:
    """A function of `mbt.functional` with its options, and the elements whose parameters are operands too."""

    name: str
    options: tuple[tuple[str, Any], ...]
    owners: tuple[Any, ...]

    def evaluate(self, tree: MultibodyTree, operands: Sequence[Any]) -> tuple[Any, ...]:
        """Return the results in the scalar type of the operands and the tree."""
        options = dict(self.options)
        if self.owners:
            num_operands = len(operands) - len(self.owners)
            result = evaluate_with_parameters(
                tree,
                self.name,
                options,
                self.named(operands[:num_operands]),
                dict(zip(self.owners, operands[num_operands:], strict=True)),
            )
        else:
            result = _find(self.name)(tree, **self.named(operands), **options)
        return result if isinstance(result, tuple) else (result,)

    def named(self, operands: Sequence[Any]) -> dict[str, Any]:
        """Return operands by their names."""
        return dict(zip(operands_of(self.name), operands, strict=True))

    @property
    def has_out(self) -> bool:
        """Whether results can be written in place."""
        return not self.owners and "out" in inspect.signature(_find(self.name)).parameters

    def linearize(self, tree: MultibodyTree, operands: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return results and Jacobians, if there is a better way than numbers with derivatives."""
        if self.owners or self.name not in LINEARIZATIONS:
            return None
        return LINEARIZATIONS[self.name](tree, **self.named(operands), **dict(self.options))

    def of(self, twin: MultibodyTree, tree: MultibodyTree) -> _Function:
        """Return the same function of a clone of the tree."""

        def variant(x: Any) -> Any:
            return twin if x is tree else twin.get_variant(x) if isinstance(x, MultibodyElement) else x

        return _Function(
            self.name,
            tuple((key, variant(x)) for key, x in self.options),
            tuple(variant(x) for x in self.owners),
        )


class HostCall:
    """A function of one tree, on operands with common leading axes.

    Parameters
    ----------
    tree : MultibodyTree
        The tree that owns the call.
    function : _Function
        The function to compute.
    order : int
        0: the results; 1: also their Jacobians; 2: also the Jacobians of all these.
    """

    def __init__(self, tree: MultibodyTree, function: _Function, order: int) -> None:
        self._tree, self._function, self._order = tree, function, order
        names = operands_of(function.name)
        self.operand_shapes: list[Shape] = [_shape_of(tree, n) for n in names]
        self.operand_shapes += [parameter_shape(tree, owner) for owner in function.owners]
        self.result_shapes: list[Shape] = [result.shape[1:] for result in self.evaluate(*self._example())]
        #: The object that each library made for this call, by the name of the library.
        self.made: dict[str, Any] = {}
        self.number = _register(self, _hash_of(tree, function, order))
        self._has_out = order == 0 and function.has_out

    def __repr__(self) -> str:
        return f"<{self._function.name} of {self._tree!r}>"

    def _example(self) -> list[FloatArray]:
        """Return the results for a batch of one sample: NaN if there is no result."""
        tree, function = self._tree, self._function
        context = tree.create_default_context()
        values = {"num_positions": context.q, "num_velocities": context.v}
        own = [np.eye(4) if n in _SHAPES else values[_SIZES[n]] for n in operands_of(function.name)]
        own += [get_parameter(tree, context, owner) for owner in function.owners]
        return [np.array(x)[None] for x in own]

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Return the results; for a single state there may be none."""
        return _evaluate(self._tree, self._function, self._order, operands, self.operand_shapes)

    def write(self, operands: Sequence[FloatArray], results: Sequence[FloatArray]) -> None:
        """Write the results into arrays of floats."""
        if self._has_out and all(result.dtype == np.float64 for result in results):
            function = _find(self._function.name)
            out = results[0] if len(results) == 1 else tuple(results)
            function(self._tree, **self._function.named(operands), **dict(self._function.options), out=out)
            return
        for result, value in zip(results, self.evaluate(*operands), strict=True):
            result[...] = value

    def linearize(self) -> HostCall:
        """Return the call for the results and their Jacobians, one for each pair of a result and an operand.

        Raises
        ------
        MbtError
            When this call already computes the highest derivatives available.
        """
        function = self._function
        if not self.is_differentiable:
            which = ("first", "first and second")[self._order - 1]
            hint = "" if function.name in _OTHERS else ": mbt.symbolic.dual makes numbers that have"
            raise MbtError(f"{function.name}: it has {which} derivatives here, but no higher ones{hint}")
        return _take(self._tree, function, self._order + 1)

    @property
    def is_differentiable(self) -> bool:
        """Whether there is a linearization."""
        return self._order < (2 if self._function.name in _TWICE and not self._function.owners else 1)


def _evaluate(
    tree: MultibodyTree, function: _Function, order: int, operands: Sequence[Any], shapes: Sequence[Shape]
) -> tuple[Any, ...]:
    if order == 0:
        return function.evaluate(tree, operands)
    results = function.linearize(tree, operands) if order == 1 else None
    if results is None:
        twin = tangent_tree(tree)
        same = function.of(twin, tree)
        results = linearize_each(
            lambda *variables: _evaluate(twin, same, order - 1, variables, shapes), operands, shapes
        )
    return results


def _take(tree: MultibodyTree, function: _Function, order: int) -> HostCall:
    """Return the existing call of the tree, or a new one."""
    options = ((k, (x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x) for k, x in function.options)
    key = (function.name, order, tuple(options), function.owners)
    # Calls of a scene live as long as the scene.
    owner = dict(function.options).get("scene", tree)
    calls: dict[Any, HostCall] = owner.__dict__.setdefault("_host_calls", {})
    call = calls.get(key)
    # If two threads race, both get the call of the first.
    return call if call is not None else calls.setdefault(key, HostCall(tree, function, order))


def _hash_of(tree: MultibodyTree, function: _Function, order: int) -> int:
    """Return a number that equal calls share in all processes, with room for an ordinal."""
    if tree not in _contents:
        _contents[tree] = hash_content(tree)
    content = _contents[tree]
    if content is None:
        return secrets.randbits(_HASH_BITS) << _ORDINAL_BITS
    options = [(key, describe_owner(x)) for key, x in function.options]
    what = (content, function.name, order, options, [describe_owner(x) for x in function.owners])
    digest = hashlib.sha256(repr(what).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> (64 - _HASH_BITS) << _ORDINAL_BITS


def _register(call: HostCall, first: int) -> int:
    """Return the number under which a call is found from now on: the first that no equal call has."""
    for ordinal in range(1 << _ORDINAL_BITS):
        number = first + ordinal
        if _calls.setdefault(number, call) is call:
            if ordinal:
                _last_ordinals[first] = max(ordinal, _last_ordinals.get(first, 0))
            return number
    return _register(call, secrets.randbits(_HASH_BITS) << _ORDINAL_BITS)


def register_call(call: Any, content: int | None) -> int:
    """Return the number under which a call is found from now on; `content` is a hash of 64 bits, or None."""
    bits = secrets.randbits(_HASH_BITS) if content is None else content >> (64 - _HASH_BITS)
    return _register(call, bits << _ORDINAL_BITS)


def describe_owner(value: Any) -> object:
    """Return text, numbers and bytes that identify an option or owner in every process."""
    if isinstance(value, MultibodyTree):
        return "tree"
    if isinstance(value, MultibodyElement):
        return type(value).__name__, value._checked_index()
    if isinstance(value, CollisionModel):
        return _describe_scene(value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return float(value).hex() if isinstance(value, float) else value


def _describe_scene(scene: CollisionModel) -> object:
    """Return all data, besides the tree, from which distances are computed."""
    shapes = [
        (shape.kind, shape.node, shape.size, *(x if x is None else x.tobytes() for x in shape.arrays))
        for shape in scene._shapes
    ]
    return shapes, scene._pairs


def _named(tree: MultibodyTree, value: Any, argument: str) -> Any:
    """Return the frame of this name; anything but a name is returned as it is."""
    if not isinstance(value, str):
        return value
    return tree._elements.frame_named(value, argument)


def find_owner(tree: MultibodyTree, owner: Any) -> Any:
    """Return the element of this name, the body for a body frame; anything else is returned as it is."""
    element = _named(tree, owner, "parameters")
    return element.body if isinstance(element, BodyFrame) else element


def find_call(
    tree: MultibodyTree, name: str, options: Mapping[str, Any], owners: Iterable[Any] = ()
) -> HostCall:
    """Return the call of a function of a tree, the same one each time.

    Raises
    ------
    ArgumentTypeError
        When `tree` is not a tree of doubles, or one of `owners` has no parameter.
    MbtError
        When the function takes no parameters, or rejects the options.
    """
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"tree: expected a tree of doubles, got one of {tree.scalar_type.name}: arrays of other "
            "libraries carry their derivatives themselves"
        )
    options = {key: _named(tree, x, key) if key in _FRAMES else x for key, x in options.items()}
    if "scene" in options and _check_scene(options["scene"]).tree is not tree:
        raise ArgumentValueError("scene: expected one of this tree")
    owners = tuple(find_owner(tree, owner) for owner in owners)
    if len(set(owners)) < len(owners):
        raise ArgumentValueError("parameters: expected each element once")
    # Arrays are copied: whoever passed them may write into them later.
    kept = {key: x if isinstance(x, _HASHABLE) else np.array(x) for key, x in options.items()}
    function = _Function(name, tuple(sorted(kept.items())), owners)
    if function.owners:
        check_parametric(name)
    return _take(tree, function, 0)


def check_shapes(
    shapes: Sequence[Shape], operands: Mapping[str, Any], parameters: Mapping[Any, Any]
) -> Shape:
    """Return the common leading axes of operands and parameters, whose trailing axes have these shapes.

    Raises
    ------
    ShapeError
        When one does not have the right shape, or leading axes do not broadcast.
    """
    batches = {}
    arrays = {**operands, **{f"parameters[{owner}]": value for owner, value in parameters.items()}}
    for (name, array), shape in zip(arrays.items(), shapes, strict=True):
        got = tuple(array.shape)
        end = len(got) - len(shape)
        if end < 0 or got[end:] != shape:
            raise shape_error(name, (..., *shape), got)
        batches[name] = got[:end]
    try:
        return np.broadcast_shapes(*batches.values())
    except ValueError:
        axes = ", ".join(f"{batch} of {name}" for name, batch in batches.items())
        raise ShapeError(f"expected leading axes that broadcast, got {axes}") from None


def get_call(number: int) -> HostCall:
    """Return a call by its number.

    Raises
    ------
    ContextMismatchError
        When its tree no longer exists, or the number comes from another process and there is no equal tree.
    """
    call = _calls.get(number) or _find_equal(number)
    if call is None:
        raise ContextMismatchError(
            "the tree of this function is gone, or was never here: keep it for as long as compiled "
            "programs call it; a program from another process needs the same model, and the same function "
            "of it called or traced here once, as by jax.eval_shape"
        )
    return call


def _find_equal(number: int) -> HostCall | None:
    """Return a call equal to that of another process; None if this process gave the number to a call."""
    ordinal = number & ((1 << _ORDINAL_BITS) - 1)
    first = number - ordinal
    last = _last_ordinals.get(first, 0)
    if 0 < ordinal <= last:
        return None
    return next(filter(None, map(_calls.get, range(first, first + last + 1))), None)


def run_call(number: int, operands: Sequence[FloatArray], results: Sequence[FloatArray]) -> None:
    """Write the results of a call into arrays."""
    get_call(number).write(operands, results)
