"""Declarations of elements: parameters, discrete state and cache entries besides their built-in ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array, as_index
from mbt.tree.hooks import call_hook
from mbt.tree.indices import AbstractParameterIndex, DiscreteStateIndex, NumericParameterIndex

if TYPE_CHECKING:
    from mbt.tree.element import MultibodyElement
    from mbt.tree.frame import Frame

__all__ = ["CacheEntry", "Declarations", "Parameters", "SOURCES", "as_declared_vector"]

#: What a cache entry can depend on, besides other cache entries.
SOURCES = ("time", "q", "v", "parameters", "inputs", "discrete_state")


class CacheEntry:
    """A computation whose result a Context keeps until something that it depends on changes.

    Made by `MultibodyElement.declare_cache_entry`; evaluated by ``context.eval_cache_entry(entry)``.

    Attributes
    ----------
    element : MultibodyElement
        The element that declared it.
    index : int
        Its number in the tree.
    description : str
        What it computes.
    calc : callable
        ``calc(context)`` returns the value.
    prerequisites : tuple of str and CacheEntry
        What it depends on, as declared.
    sources : tuple of str
        What it ultimately depends on.
    """

    __slots__ = ("calc", "description", "element", "index", "prerequisites", "sources")

    def __init__(
        self,
        element: MultibodyElement,
        index: int,
        description: str,
        calc: Callable[[Any], Any],
        prerequisites: tuple[str | CacheEntry, ...],
    ) -> None:
        self.element = element
        self.index = index
        self.description = description
        self.calc = calc
        self.prerequisites = prerequisites
        needed: set[str] = set()
        for prerequisite in prerequisites:
            needed.update((prerequisite,) if isinstance(prerequisite, str) else prerequisite.sources)
        self.sources: tuple[str, ...] = tuple(source for source in SOURCES if source in needed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy without `calc`, which may not be copyable: a copy of a tree declares anew."""
        return _restore_cache_entry, (self.element, self.index, self.description)

    def __repr__(self) -> str:
        """Return what it computes, and from what."""
        return (
            f"<CacheEntry {quote(self.description)} of {self.element._label}, from {', '.join(self.sources)}>"
        )


def _restore_cache_entry(element: MultibodyElement, index: int, description: str) -> CacheEntry:
    """Return a placeholder for a cache entry in a copied element, until its tree declares anew."""
    return CacheEntry(element, index, description, _refuse_to_calc, ("time",))


def _refuse_to_calc(context: Any) -> NoReturn:
    raise ArgumentValueError(
        "this cache entry is a copy: its element must keep what declare_cache_entry returns"
    )


def _no_declarations() -> None:
    """Return None, which a copied tree has in place of declarations."""
    return None


class Declarations:
    """All that the elements of one tree declared, in the order declared.

    Attributes
    ----------
    numeric, discrete : list of (MultibodyElement, ndarray)
        The declaring element, and the default of its vector.
    abstract : list of (MultibodyElement, object)
        The declaring element, and the default of its object.
    cache_entries : list of CacheEntry
        The cache entries.
    frames : list of Frame
        The frames whose pose is computed in Python.
    current : MultibodyElement or None
        The element whose hook is running.
    """

    def __init__(self) -> None:
        self.numeric: list[tuple[MultibodyElement, FloatArray]] = []
        self.abstract: list[tuple[MultibodyElement, Any]] = []
        self.discrete: list[tuple[MultibodyElement, FloatArray]] = []
        self.cache_entries: list[CacheEntry] = []
        self.frames: list[Frame] = []
        self.current: MultibodyElement | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy as None: a copied tree asks its own elements when it is compiled."""
        return _no_declarations, ()

    def collect(self, elements: Iterable[MultibodyElement], frames: Iterable[Frame]) -> None:
        """Call the hooks of all elements."""
        everyone = tuple(elements)
        self.frames = list(frames)
        # In a large tree hardly any element declares anything.
        kinds: set[type[MultibodyElement]] = set(map(type, everyone))
        classes = {cls for cls in kinds if cls._declares_any()}
        for hook in (
            ("declare_parameters", "declare_discrete_states", "declare_cache_entries") if classes else ()
        ):
            declaring = {cls for cls in classes if cls._declares(hook)}
            for element in everyone if declaring else ():
                if type(element) in declaring:
                    self.current = element
                    getattr(element, hook)()
        self.current = None

    def default_parameters(self) -> Parameters:
        """Return the parameters of a new Context, writable."""
        parameters = Parameters(
            [value for _, value in self.numeric],
            [_deepcopy(value, element) for element, value in self.abstract],
        )
        # Each element that declared any, once.
        for element in dict.fromkeys(element for element, _ in (*self.numeric, *self.abstract)):
            call_hook(element, "do_set_default_parameters", parameters)
        return parameters

    def write_defaults(self, element: MultibodyElement, parameters: Parameters) -> None:
        """Write the defaults of one element into parameters of its tree, and of no other.

        Raises
        ------
        ArgumentValueError
            When the parameters are of another tree, or read-only.
        """
        sizes = [values.shape[-1] for values in parameters._numeric], len(parameters._abstract)
        if sizes != ([default.size for _, default in self.numeric], len(self.abstract)):
            raise ArgumentValueError(
                f"{element._label}: parameters: expected those of its tree, {len(self.numeric)} numeric and "
                f"{len(self.abstract)} abstract, got {parameters!r} of another tree"
            )
        for i, (owner, default) in enumerate(self.numeric):
            if owner is element:
                parameters.set_numeric_parameter(i, default)
        for i, (owner, value) in enumerate(self.abstract):
            if owner is element:
                parameters.set_abstract_parameter(i, _deepcopy(value, element))
        call_hook(element, "do_set_default_parameters", parameters)

    def default_discrete_state(self) -> list[FloatArray]:
        """Return the discrete state of a new Context."""
        return [value for _, value in self.discrete]

    def add_numeric(self, element: MultibodyElement, value: object, what: str) -> NumericParameterIndex:
        """Add a vector parameter."""
        self.numeric.append((element, _as_model_vector(value, what)))
        return NumericParameterIndex(len(self.numeric) - 1)

    def add_abstract(self, element: MultibodyElement, value: object) -> AbstractParameterIndex:
        """Add a parameter that is any object. A copy of it is kept."""
        self.abstract.append((element, _deepcopy(value, element)))
        return AbstractParameterIndex(len(self.abstract) - 1)

    def add_discrete(self, element: MultibodyElement, value: object, what: str) -> DiscreteStateIndex:
        """Add a vector of discrete state."""
        self.discrete.append((element, _as_model_vector(value, what)))
        return DiscreteStateIndex(len(self.discrete) - 1)

    def add_cache_entry(
        self, element: MultibodyElement, description: object, calc: object, prerequisites: object, what: str
    ) -> CacheEntry:
        """Add a cache entry."""
        if not isinstance(description, str) or not description:
            raise ArgumentTypeError(f"{what}: description: expected text, got {quote(description)}")
        if not callable(calc):
            raise ArgumentTypeError(
                f"{what}: calc: expected a function of a Context, got {type(calc).__name__}"
            )
        if isinstance(prerequisites, (str, CacheEntry)) or not isinstance(prerequisites, Iterable):
            raise ArgumentTypeError(
                f"{what}: prerequisites: expected a sequence of names and cache entries, "
                f"got {quote(prerequisites)}"
            )
        checked = tuple(self._checked_prerequisite(p, what) for p in prerequisites)
        if not checked:
            raise ArgumentValueError(f"{what}: prerequisites: expected at least one of {', '.join(SOURCES)}")
        entry = CacheEntry(element, len(self.cache_entries), description, calc, checked)
        self.cache_entries.append(entry)
        return entry

    def _checked_prerequisite(self, prerequisite: object, what: str) -> str | CacheEntry:
        if isinstance(prerequisite, CacheEntry):
            if not self.has(prerequisite):
                raise ArgumentValueError(
                    f"{what}: prerequisites: expected cache entries of this tree, got {quote(prerequisite)}"
                )
            return prerequisite
        if prerequisite not in SOURCES:
            raise ArgumentValueError(
                f"{what}: prerequisites: expected some of {', '.join(SOURCES)} and cache entries, "
                f"got {quote(prerequisite)}"
            )
        assert isinstance(prerequisite, str)
        return prerequisite

    def has(self, entry: CacheEntry) -> bool:
        """Whether a cache entry was declared here."""
        return entry.index < len(self.cache_entries) and self.cache_entries[entry.index] is entry


class Parameters:
    """The parameters that elements declared, with the values of one Context.

    ``context.parameters`` returns it, and hooks of elements receive it.

    Parameters
    ----------
    numeric : list of ndarray
        Values of the vectors.
    abstract : list
        Values of the objects.
    """

    __slots__ = ("_abstract", "_is_read_only", "_numeric")

    def __init__(self, numeric: list[FloatArray], abstract: list[Any]) -> None:
        self._numeric = numeric
        self._abstract = abstract
        self._is_read_only = False

    @property
    def num_numeric_parameters(self) -> int:
        """Number of vectors."""
        return len(self._numeric)

    @property
    def num_abstract_parameters(self) -> int:
        """Number of objects."""
        return len(self._abstract)

    def get_numeric_parameter(self, index: NumericParameterIndex | int) -> FloatArray:
        """Return the value of a vector, shape (..., n), read-only."""
        return self._numeric[self._checked_numeric(index)]

    def get_abstract_parameter(self, index: AbstractParameterIndex | int) -> Any:
        """Return the value of an object. Change it with `set_abstract_parameter` only."""
        return self._abstract[self._checked_abstract(index)]

    def set_numeric_parameter(self, index: NumericParameterIndex | int, values: object) -> None:
        """Set a vector.

        Raises
        ------
        ShapeError
            When `values` has another size than declared.
        ArgumentValueError
            When a number is not finite, or these are the parameters of a Context: use its method.
        """
        self._check_writable("set_numeric_parameter")
        i = self._checked_numeric(index)
        self._numeric[i] = as_declared_vector(
            values, f"numeric parameter {i}", self._numeric[i].shape[-1], ()
        )

    def set_abstract_parameter(self, index: AbstractParameterIndex | int, value: Any) -> None:
        """Set an object.

        Raises
        ------
        ArgumentValueError
            When these are the parameters of a Context: use its method of this name.
        """
        self._check_writable("set_abstract_parameter")
        self._abstract[self._checked_abstract(index)] = value

    def _replaced_numeric(self, i: int, values: FloatArray) -> Parameters:
        """Return parameters with another value of one vector, read-only."""
        numeric = list(self._numeric)
        numeric[i] = values
        return Parameters(numeric, self._abstract)._frozen()

    def _replaced_abstract(self, i: int, value: Any) -> Parameters:
        """Return parameters with another value of one object, read-only."""
        abstract = list(self._abstract)
        abstract[i] = value
        return Parameters(self._numeric, abstract)._frozen()

    def _frozen(self) -> Parameters:
        self._is_read_only = True
        return self

    def _checked_numeric(self, index: object) -> int:
        return as_index(index, "index", len(self._numeric), "numeric parameter")

    def _checked_abstract(self, index: object) -> int:
        return as_index(index, "index", len(self._abstract), "abstract parameter")

    def _check_writable(self, method: str) -> None:
        if self._is_read_only:
            raise ArgumentValueError(
                f"{method}: these are the parameters of a Context, read-only: write with context.{method}()"
            )

    def __repr__(self) -> str:
        """Return how many there are."""
        return f"<Parameters: {len(self._numeric)} numeric, {len(self._abstract)} abstract>"


def as_declared_vector(
    value: object, what: str, size: int, batch_shape: tuple[int, ...], *, finite: bool = True
) -> FloatArray:
    """Return a vector of this size, one for all samples of a batch or one for each; read-only.

    Raises
    ------
    ShapeError
        When it has another shape.
    ArgumentValueError
        When a number is not finite.
    """
    array = as_finite_array(value, what) if finite else as_float_array(value, what).copy()
    if size == 1 and array.ndim == 0:
        array = array.reshape(1)
    if array.shape not in ((size,), (*batch_shape, size)):
        _raise_shape(what, size, batch_shape, array.shape)
    array.setflags(write=False)  # Faster than an assignment to its flag.
    return array


def _deepcopy(value: Any, element: MultibodyElement) -> Any:
    """Return a copy of an object, but not of elements of the tree in it."""
    import copy

    # An element is copied with its tree; by this memo the tree is copied already.
    tree = element.parent_tree
    return copy.deepcopy(value, {id(tree): tree})


def _raise_shape(what: str, size: int, batch_shape: tuple[int, ...], got: tuple[int, ...]) -> NoReturn:
    wanted = f"({size},)" if not batch_shape else f"({size},) or {(*batch_shape, size)}"
    raise ShapeError(f"{what}: expected shape {wanted}, got {got}")


def _as_model_vector(value: object, what: str) -> FloatArray:
    array = np.atleast_1d(as_finite_array(value, what))
    if array.ndim != 1:
        raise ShapeError(f"{what}: expected shape (n,), got {array.shape}")
    array.flags.writeable = False
    return array
