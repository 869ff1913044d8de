"""A Context: everything about a tree that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt._core.context import ContextCore

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray

__all__ = ["Context"]


class Context(ContextCore):
    """Time, positions, velocities, inputs and parameters of one tree, and caches of what follows from them.

    Made by ``tree.create_default_context()``. Use one Context per thread; the tree may be shared.

    Attributes
    ----------
    tree : MultibodyTree
        The tree it was made by.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0, 0, 2]
    >>> context.q
    array([1., 0., 0., 0., 0., 0., 2.])
    """

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of every array of this Context."""
        return ()

    def clone(self) -> Context:
        """Return an independent Context of the same tree with the same values."""
        other = Context(self.tree)
        other._copy_from(self)
        return other

    def __copy__(self) -> Context:
        """Return a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> Context:
        """Return a clone: the tree is shared."""
        return self.clone()

    def validate(self) -> None:
        """Check that the state and the inputs are numbers that a computation can use.

        Raises
        ------
        ArgumentValueError
            When q, v, time, the actuation or the applied forces hold NaN or infinity; it lists all of them.
        """
        from mbt.errors import ArgumentValueError

        problems = [
            problem
            for name, array in (
                ("q", self.q),
                ("v", self.v),
                ("time", np.array([self.time])),
                ("actuation", self.actuation),
            )
            for problem in _not_finite(name, array)
        ]
        if self._has_applied_forces:
            forces = self.applied_forces
            problems += _not_finite("applied_forces.body_forces", forces.body_forces.ravel())
            problems += _not_finite("applied_forces.generalized_forces", forces.generalized_forces)
        if problems:
            raise ArgumentValueError("context: expected finite numbers, got " + ", ".join(problems))

    def __repr__(self) -> str:
        """Tell the sizes and the time."""
        return f"<Context of {self.tree!r}, time={self.time:g}>"


def _not_finite(name: str, array: FloatArray) -> list[str]:
    return [f"{name}[{i}] = {array[i]}" for i in np.flatnonzero(~np.isfinite(array))[:3]]
