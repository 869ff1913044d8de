"""Values of what elements declared: parameters, discrete state and cache entries of one Context."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ForeignElementError, ShapeError
from mbt.math.arrays import FloatArray, as_float_array, as_index
from mbt.tree.parameters import SOURCES, CacheEntry, Declarations, Parameters, as_declared_vector

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["DeclaredValues"]

_INPUTS = SOURCES.index("inputs")
_NOT_COMPUTED = (None, None)


class DeclaredValues:
    """What elements declared, with the values of one Context.

    Arrays are never written in place, so what was handed out never changes.

    Parameters
    ----------
    declarations : Declarations
        What the elements of the tree declared.
    parameters : Parameters
        Values of the parameters.
    discrete_state : list of ndarray
        Values of the discrete state.
    """

    __slots__ = ("_computing", "_results", "declarations", "discrete_serial", "discrete_state", "parameters")

    def __init__(
        self, declarations: Declarations, parameters: Parameters, discrete_state: list[FloatArray]
    ) -> None:
        self.declarations = declarations
        self.parameters = parameters._frozen()
        self.discrete_state = discrete_state
        # How often the discrete state was written.
        self.discrete_serial = 0
        # Of each cache entry: the serial numbers that it was computed from, and its value.
        self._results: dict[int, tuple[Any, Any]] = {}
        self._computing: list[CacheEntry] = []

    @classmethod
    def default(cls, tree: MultibodyTree) -> DeclaredValues:
        """Return the values of a new Context."""
        declarations = tree._declarations
        assert declarations is not None
        return cls(declarations, declarations.default_parameters(), declarations.default_discrete_state())

    def clone(self) -> DeclaredValues:
        """Return independent values for another Context of the same tree. It computes its own results."""
        return DeclaredValues(self.declarations, self.parameters._clone(), list(self.discrete_state))

    # Parameters.

    def set_numeric_parameter(self, context: Context, index: object, values: object) -> None:
        """Set a vector; see `Context`."""
        i = self.parameters._checked_numeric(index)
        size = self.declarations.numeric[i][1].size
        array = as_declared_vector(values, self._name("numeric", i), size, context.batch_shape)
        self._take(context, self.parameters._replaced_numeric(i, array))

    def set_abstract_parameter(self, context: Context, index: object, value: Any) -> None:
        """Set an object; see `Context`."""
        i = self.parameters._checked_abstract(index)
        self._take(context, self.parameters._replaced_abstract(i, value))

    def user_poses(self) -> list[FloatArray]:
        """Return the pose X_BF of each frame whose pose is computed in Python."""
        return [frame._calc_user_pose(self.parameters) for frame in self.declarations.frames]

    def place_frames(self, context: Context, poses: list[FloatArray] | None = None) -> None:
        """Write the poses of those frames into the parameters of a Context, where they differ."""
        for frame, X_BF in zip(
            self.declarations.frames, self.user_poses() if poses is None else poses, strict=True
        ):
            if not np.array_equal(context._get_parameter("frame_pose", frame.index), X_BF.ravel()):
                context._set_parameter("frame_pose", frame.index, X_BF)

    def _take(self, context: Context, parameters: Parameters) -> None:
        """Change the parameters, unless a frame has no pose with them."""
        old, self.parameters = self.parameters, parameters
        try:
            poses = self.user_poses()
        except BaseException:
            self.parameters = old
            raise
        self.place_frames(context, poses)
        context._note_change("parameters")

    # Discrete state.

    def get_discrete_state(self, index: object) -> FloatArray:
        """Return a vector; see `Context`."""
        return self.discrete_state[self._checked_discrete(index)]

    def set_discrete_state(self, context: Context, index: object, values: object) -> None:
        """Set a vector; see `Context`."""
        i = self._checked_discrete(index)
        size = self.declarations.discrete[i][1].size
        array = as_float_array(values, self._name("discrete", i)).copy()
        if size == 1 and array.ndim == 0:
            array = array.reshape(1)
        if array.shape not in ((size,), (*context.batch_shape, size)):
            raise ShapeError(f"{self._name('discrete', i)}: expected shape ({size},), got {array.shape}")
        array.flags.writeable = False
        self.discrete_state[i] = array
        self.discrete_serial += 1
        # Forces may depend on it.
        context._note_change("inputs")

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
            # What it is computed from may be computed, and written, on the way.
            self._results[entry.index] = (serials, value)
        return value

    def _compute(self, context: Context, entry: CacheEntry) -> Any:
        if entry in self._computing:
            raise ArgumentValueError(f"{entry!r} cannot be computed: its own value is asked for on the way.")
        self._computing.append(entry)
        try:
            value = entry.calc(context)
        finally:
            self._computing.pop()
        if isinstance(value, np.ndarray):
            value = value.view()
            value.flags.writeable = False
        return value

    def _serials(self, context: Context, entry: CacheEntry) -> tuple[int, ...] | None:
        """Return the serial numbers of what an entry depends on; None when that may change unseen."""
        serials = [*context._serials[: _INPUTS + 1], self.discrete_serial]
        # The arrays of the applied forces can be written into.
        if "inputs" in entry.sources and context._has_applied_forces:
            return None
        return tuple(serials[SOURCES.index(source)] for source in entry.sources)

    # For all of them.

    def arrays(self) -> Iterator[tuple[str, FloatArray]]:
        """Yield the vectors of discrete state, with names for messages."""
        for i, array in enumerate(self.discrete_state):
            yield self._name("discrete", i), array

    def _name(self, kind: str, i: int) -> str:
        if kind == "numeric":
            return f"numeric parameter {i} of {self.declarations.numeric[i][0]._label}"
        return f"discrete state {i} of {self.declarations.discrete[i][0]._label}"
