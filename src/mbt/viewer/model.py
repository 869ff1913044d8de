"""One model in a viewer: the state that it shows, and the next one to show."""

from __future__ import annotations

import math
import warnings
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from mbt.context.context import Context
from mbt.errors import ArgumentValueError, AssemblyError, ModelWarning, ShapeError
from mbt.math.arrays import as_float_array
from mbt.tree.context_access import raise_context_mismatch
from mbt.viewer.snapshots import MOST_STATES, Snapshot, take_snapshot

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.viewer.clock import Clock
    from mbt.viewer.controls import Control
    from mbt.viewer.drawing import Drawing
    from mbt.viewer.films import Film
    from mbt.viewer.handles import Handles
    from mbt.viewer.scene import ModelScene

__all__ = ["ViewedModel"]

# What to show: a separate Context, or positions and velocities.
_State: TypeAlias = "Context | tuple[FloatArray, FloatArray | None]"


class ViewedModel:
    """A model in a viewer, made by ``mbt.view`` and ``Viewer.add``.

    Attributes
    ----------
    tree : MultibodyTree
        The tree that is shown.
    name : str
        Its name in the viewer.
    """

    def __init__(
        self, scene: ModelScene, name: str, drawing: Drawing, clock: Clock, wake: Callable[[], None]
    ) -> None:
        self.tree: MultibodyTree = scene.tree
        self.name = name
        self._scene = scene
        self._drawing = drawing
        self._clock = clock
        self._wake = wake
        # The latest request: put in by any thread, taken out by the drawing thread.
        self._wanted: deque[_State] = deque(maxlen=1)
        self._q = np.array(scene.tree.default_positions)
        self._context: Context = scene.tree.create_default_context()
        self._film: Film | None = None
        self._snapshot: Snapshot | None = None
        self._has_told = False
        self._handles: Handles | None = None

    @property
    def q(self) -> FloatArray:
        """A copy of the positions that are shown or about to be, shape (..., num_positions).

        They include changes by sliders.
        """
        return self._q.copy()

    def show(self, q: npt.ArrayLike | Context, v: npt.ArrayLike | None = None) -> None:
        """Show other positions; return before they are drawn.

        A control loop may call this at any rate: the viewer draws the latest positions, about 60 times per
        second.

        Parameters
        ----------
        q : array_like, shape (..., num_positions), or Context
            Positions. The first state of a batch is drawn solid and the others as ghosts. The velocities and
            parameters of a Context count, too. Positions that are not finite are not drawn. At most 200
            states are drawn; a `ModelWarning` reports that.
        v : array_like, shape (..., num_velocities), optional
            Velocities, on which contact forces depend; by default zero.

        Raises
        ------
        ArgumentTypeError, ShapeError
            When these are not arrays of numbers with these shapes, or the batch is empty.
        ContextMismatchError
            When the Context is of another tree.
        """
        if isinstance(q, Context):
            if q.tree is not self.tree:
                raise_context_mismatch(self.tree, q)
            if v is not None:
                raise ArgumentValueError("v: a Context has its own velocities")
            self._check_batch(q.batch_shape)
            context = q.clone()
            self._want(context, np.array(context.q))
            return
        positions = as_float_array(q, "q", (..., self.tree.num_positions)).copy()
        lead = positions.shape[:-1]
        self._check_batch(lead)
        velocities = None if v is None else as_float_array(v, "v", (*lead, self.tree.num_velocities)).copy()
        self._want((positions, velocities), positions)

    def _check_batch(self, batch: tuple[int, ...]) -> None:
        """Raise an error for an empty batch; warn once if not all states are drawn."""
        count = math.prod(batch)
        if not count:
            raise ShapeError(f"q: expected one state or more, got a batch {batch}")
        if count > MOST_STATES and not self._has_told:
            self._has_told = True
            which = f"of {count} states, {MOST_STATES} evenly spaced ones are drawn, including the first"
            warnings.warn(f"{self.name}: {which}", ModelWarning, stacklevel=3)

    def _want(self, wanted: _State, q: FloatArray) -> None:
        if self._film is not None:
            self._clock.stop()
        self._q = q
        self._wanted.append(wanted)
        self._wake()

    # Called by the sliders.

    def _move(self, control: Control, value: float) -> None:
        """Change one number of the positions, and those that follow through constraints."""
        q = self.q
        first = q.reshape(-1, q.shape[-1])[0]
        control.put(first, value)
        if self.tree.constraints:
            context = self.tree.create_default_context()
            context.q = first
            try:
                self.tree.assemble(context, fixed=[control.joint])
            except AssemblyError:
                return  # It cannot go there.
            first[:] = context.q
        self.show(q)

    # Called by the drawing thread.

    def _play(self, film: Film) -> None:
        self._check_batch(film.q.shape[:-2])
        self._film = film
        self._context = film.context

    def _draw(self, elapsed: float | None) -> bool:
        """Draw the latest request, or the film at a time, and return whether anything is new."""
        wanted: _State
        touching = held = None
        if self._wanted:
            wanted = self._wanted.pop()
        elif elapsed is not None and self._film is not None:
            wanted, touching = self._film.at(elapsed), self._film.touching_at(elapsed)
            held = self._film.held_at(elapsed)
            self._q = wanted[0]
        else:
            return False
        if isinstance(wanted, Context):
            self._context = wanted
        else:
            self._put(*wanted)
        self._snapshot = take_snapshot(self._scene, self._context, touching) or self._snapshot
        if self._snapshot is not None:
            self._drawing.draw(self._snapshot)
            self._drawing.write(held, self._snapshot)
        if self._handles is not None:
            self._handles.follow()
        return True

    def _tell_of_nothing(self) -> None:
        """Warn if nothing could be drawn yet."""
        if self._snapshot is None:
            why = "its positions are not finite, too large, or a quaternion of zeros"
            warnings.warn(f"{self.name}: nothing is drawn: {why}", ModelWarning, stacklevel=4)

    def _put(self, q: FloatArray, v: FloatArray | None) -> None:
        """Put positions into a Context with the same number of states."""
        batch = q.shape[:-1]
        if batch != self._context.batch_shape:
            self._context = self.tree.create_default_context(batch)
        self._context.q = q
        self._context.v = np.zeros((*batch, self.tree.num_velocities)) if v is None else v

    def _show_layer(self, layer: str, is_shown: bool) -> None:
        if self._snapshot is not None:
            self._drawing.show_layer(layer, is_shown, self._snapshot)

    def _corners(self) -> FloatArray:
        return np.zeros((1, 3)) if self._snapshot is None else self._drawing.corners(self._snapshot)

    def __repr__(self) -> str:
        """Return a text with the name."""
        return f"<ViewedModel {self.name!r}>"
