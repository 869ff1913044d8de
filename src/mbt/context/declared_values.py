"""Values that elements declared: parameters, discrete state and cache entries of one Context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ForeignElementError, MbtError
from mbt.math.arrays import FloatArray, as_index
from mbt.math.numbers import Numbers
from mbt.tree.hooks import add_note
from mbt.tree.parameters import CacheEntry, Declarations, Parameters

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree.indices import FrameIndex
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["DeclaredValues"]

_NOT_COMPUTED = (None, None)


class DeclaredValues:
    """The declarations of elements, with the values of one Context.

    Arrays are never written in place, so those that were handed out never change.

    Parameters
    ----------
    declarations : Declarations
        The declarations of the tree's elements.
    parameters : Parameters
        Values of the parameters.
    discrete_state : list of ndarray
        Values of the discrete state.
    """

    __slots__ = (
        "_computing",
        "_results",
        "_same_inputs",
        "declarations",
        "discrete_serial",
        "discrete_state",
        "parameters",
    )

    def __init__(
        self, declarations: Declarations, parameters: Parameters, discrete_state: list[FloatArray]
    ) -> None:
        self.declarations = declarations
        self.parameters = parameters._frozen()
        self.discrete_state = discrete_state
        # Counts the writes of discrete state.
        self.discrete_serial = 0
        # The serial number of the inputs after a write of discrete state, and the one before it.
        self._same_inputs = (-1, -1)
        # For each cache entry: the serial numbers from which it was computed, and its value.
        self._results: dict[int, tuple[Any, Any]] = {}
        self._computing: list[CacheEntry] = []

    @classmethod
    def default(cls, tree: MultibodyTree, batch_shape: tuple[int, ...] = ()) -> DeclaredValues:
        """Return the values of a new Context."""
        declarations = tree._declarations
        assert declarations is not None
        if not (declarations.numeric or declarations.abstract or declarations.discrete):
            return cls(declarations, Parameters([], []), [])
        defaults = declarations.default_parameters()

        def of_scalar(arrays: list[FloatArray]) -> list[Any]:
            numbers = tree._numbers
            if batch_shape:
                arrays = [np.array(np.broadcast_to(array, batch_shape + array.shape)) for array in arrays]
            return [numbers.frozen(numbers.as_float_array(array, "default")) for array in arrays]

        parameters = Parameters(of_scalar(defaults._numeric), defaults._abstract)
        return cls(declarations, parameters, of_scalar(declarations.default_discrete_state()))

    # Copies. They do not include the values of cache entries: a copy computes its own.

    def copy(self, tree: MultibodyTree) -> DeclaredValues:
        """Return an independent copy for another Context of the same tree."""
        parameters = self.parameters
        if parameters._abstract:
            parameters = Parameters(parameters._numeric, _deepcopy(parameters._abstract, tree, tree))
        return DeclaredValues(self.declarations, parameters, list(self.discrete_state))

    def get_state(self) -> dict[str, list[Any]]:
        """Return all values, by kind."""
        return {
            "numeric": list(self.parameters._numeric),
            "abstract": list(self.parameters._abstract),
            "discrete": list(self.discrete_state),
        }

    @classmethod
    def of_state(cls, tree: MultibodyTree, state: dict[str, list[Any]]) -> DeclaredValues:
        """Return independent values from a result of `get_state`, for a tree with the same declarations.

        Raises
        ------
        ArgumentValueError
            When the elements of the tree have other declarations.
        """
        declarations = tree._declarations
        assert declarations is not None
        numeric, discrete = _frozen(state["numeric"]), _frozen(state["discrete"])
        for values, declared in ((numeric, declarations.numeric), (discrete, declarations.discrete)):
            if [value.shape[-1] for value in values] != [default.size for _, default in declared]:
                _raise_other_declarations()
        if len(state["abstract"]) != len(declarations.abstract):
            _raise_other_declarations()
        abstract = _deepcopy(state["abstract"], tree, tree) if state["abstract"] else []
        return cls(declarations, Parameters(numeric, abstract), discrete)

    def follow(self, tree: MultibodyTree, twin: MultibodyTree) -> None:
        """Redirect references in objects from elements of a tree to those of its copy."""
        abstract = _deepcopy(self.parameters._abstract, tree, twin)
        self.parameters = Parameters(self.parameters._numeric, abstract)._frozen()

    # Parameters.

    def set_numeric_parameter(self, context: Context, index: object, values: object) -> None:
        """Set a vector; see `Context`."""
        i = self.parameters._checked_numeric(index)
        size = self.declarations.numeric[i][1].size
        self.take_numeric_parameter(context, i, self._checked_vector(context, values, "numeric", i, size))

    def take_numeric_parameter(self, context: Context, i: int, array: FloatArray) -> None:
        """Set a vector to a read-only array that was checked, without copying it."""
        self._take(context, self.parameters._replaced_numeric(i, array))

    def set_abstract_parameter(self, context: Context, index: object, value: Any) -> None:
        """Set an object; see `Context`."""
        i = self.parameters._checked_abstract(index)
        self._take(context, self.parameters._replaced_abstract(i, value))

    def user_poses(self, numbers: Numbers, parameters: Parameters | None = None) -> dict[FrameIndex, Any]:
        """Return X_BF of each frame whose pose is computed in Python, for these or for other parameters."""
        values = self.parameters if parameters is None else parameters
        return {frame.index: frame._calc_user_pose(values, numbers) for frame in self.declarations.frames}

    def place_frames(self, context: Context, poses: dict[FrameIndex, Any] | None = None) -> None:
        """Write the changed poses of those frames into a Context: all of them or none."""
        numbers = context._numbers
        poses = self.user_poses(numbers) if poses is None else poses
        changed = {
            index: X_BF
            for index, X_BF in poses.items()
            if not numbers.are_equal(context._get_parameter("frame_pose", index), X_BF)
        }
        if changed:
            context._set_frame_poses(changed)

    def _take(self, context: Context, parameters: Parameters) -> None:
        """Change the parameters, unless a frame would have no valid pose."""
        context._check_thawed("parameters", 0)
        with context._exclusive():
            if self.declarations.frames:
                self.place_frames(context, self.user_poses(context._numbers, parameters))
            self.parameters = parameters
            context._note_change("parameters")

    # Discrete state.

    def get_discrete_state(self, index: object) -> FloatArray:
        """Return a vector; see `Context`."""
        return self.discrete_state[self._checked_discrete(index)]

    def set_discrete_state(self, context: Context, index: object, values: object) -> None:
        """Set a vector; see `Context`."""
        i = self._checked_discrete(index)
        size = self.declarations.discrete[i][1].size
        array = self._checked_vector(context, values, "discrete", i, size)
        before = self._input_serial(context)
        # Forces may depend on discrete state as they do on inputs.
        context._note_change("inputs")
        self._same_inputs = (context._serials[4], before)
        self.discrete_state[i] = array
        self.discrete_serial += 1

    def _checked_discrete(self, index: object) -> int:
        return as_index(index, "index", len(self.discrete_state), "discrete state")

    # Cache entries.

    def eval_cache_entry(self, context: Context, entry: object) -> Any:
        """Return the value of a cache entry; see `Context`."""
        if not isinstance(entry, CacheEntry):
            raise ArgumentTypeError(f"entry: expected a CacheEntry, got {type(entry).__name__}")
        if not self.declarations.has(entry):
            raise ForeignElementError(f"entry: expected one of this tree, got {entry!r} of another tree")
        serials = self._serials(context, entry)
        known, value = self._results.get(entry.index, _NOT_COMPUTED)
        if serials is None or serials != known:
            value = self._compute(context, entry)
            # Keep the serials from before, because the computation may write what the entry depends on.
            self._results[entry.index] = (serials, value)
        return value

    def _compute(self, context: Context, entry: CacheEntry) -> Any:
        if entry in self._computing:
            raise ArgumentValueError(f"{entry!r} cannot be computed: its computation needs its own value.")
        self._computing.append(entry)
        try:
            with context._exclusive():
                value = entry.calc(context)
        except Exception as error:
            add_note(error, f"in {entry!r}")
            raise
        finally:
            self._computing.pop()
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    def _serials(self, context: Context, entry: CacheEntry) -> tuple[Any, ...] | None:
        """Return serials that show whether an entry is stale; None if its inputs may change undetected."""
        time, q, v, parameters, _, switches = context._serials
        inputs = self._input_state(context) if "inputs" in entry.sources else ()
        if inputs is None:
            return None
        serials = {
            "time": (time,),
            "q": (q,),
            "v": (v,),
            # Locks and exemptions from gravity also count as parameters.
            "parameters": (parameters, switches),
            "inputs": (inputs,),
            "discrete_state": (self.discrete_serial,),
        }
        return tuple(serial for source in entry.sources for serial in serials[source])

    def _input_serial(self, context: Context) -> int:
        """Return the serial number of the inputs, disregarding writes of discrete state."""
        serial: int = context._serials[4]
        after, before = self._same_inputs
        return before if serial == after else serial

    def _input_state(self, context: Context) -> tuple[int, bytes] | None:
        """Return a state that shows whether inputs were written; None if that cannot be detected.

        The arrays of applied forces are written in place, which changes no serial number, so their contents
        are compared. For scalars other than double, this would compare objects, which may not be comparable.
        """
        serial = self._input_serial(context)
        if not context._has_applied_forces:
            return (serial, b"")
        forces = context.applied_forces
        arrays = (forces.body_forces, forces.generalized_forces)
        if not all(isinstance(array, np.ndarray) and array.dtype == np.float64 for array in arrays):
            return None
        if not any(array.any() for array in arrays):
            return (serial, b"")
        return (serial, b"".join(array.tobytes() for array in arrays))

    # Helpers for all kinds of values.

    def arrays(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield the vectors of discrete state, with names for messages."""
        for i, array in enumerate(self.discrete_state):
            yield self._name("discrete", i), array

    def _checked_vector(self, context: Context, values: object, kind: str, i: int, size: int) -> Any:
        """Return a vector of the declared size. Its full name, slow to create, is used only in errors."""
        finite = kind == "numeric"
        try:
            return context._as_declared_vector(values, kind, size, finite=finite)
        except MbtError:
            name = self._name(kind, i)
        return context._as_declared_vector(values, name, size, finite=finite)

    def _name(self, kind: str, i: int) -> str:
        if kind == "numeric":
            return f"numeric parameter {i} of {self.declarations.numeric[i][0]._label}"
        return f"discrete state {i} of {self.declarations.discrete[i][0]._label}"


def _frozen(arrays: list[FloatArray]) -> list[FloatArray]:
    """Return the arrays, with copies in place of those that are writeable."""
    frozen = []
    for array in arrays:
        # Arrays with derivatives are never written into and have no flags.
        if isinstance(array, np.ndarray) and array.flags.writeable:
            array = array.copy()
            array.flags.writeable = False
        frozen.append(array)
    return frozen


def _deepcopy(objects: list[Any], tree: MultibodyTree, twin: MultibodyTree) -> list[Any]:
    """Return copies of objects; elements of `tree` in them become those of `twin`."""
    if not objects:
        return []
    import copy

    # An element is copied with its tree; this memo marks the tree as already copied.
    memo: dict[int, Any] = {id(tree): twin}
    return copy.deepcopy(objects, memo)


def _raise_other_declarations() -> NoReturn:
    raise ArgumentValueError(
        "the elements of this tree declare parameters or discrete state that differ from those of the "
        "Context: their classes have changed"
    )
