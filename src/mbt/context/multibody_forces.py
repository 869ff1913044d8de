"""Forces on all bodies and joints of a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentTypeError, ContextMismatchError, ShapeError
from mbt.math.arrays import FloatArray, as_float_array, as_index
from mbt.tree import MultibodyTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

__all__ = ["MultibodyForces"]


class MultibodyForces:
    """Spatial forces on the bodies of a tree, and generalized forces on its joints.

    Both start at zero. Write into the arrays, or assign them as a whole.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    batch_shape : tuple of int, optional
        Leading axes of both arrays.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    >>> tree.finalize()
    >>> forces = mbt.MultibodyForces(tree)
    >>> forces.body_forces[box.node_index] = [0, 0, 0, 0, 0, 9.81]
    >>> tree.calc_forward_dynamics(tree.create_default_context(), external_forces=forces)
    array([0.  , 0.  , 0.  , 0.  , 0.  , 9.81])
    """

    __slots__ = ("_body_forces", "_generalized_forces", "_tree")

    def __init__(self, tree: MultibodyTree, batch_shape: int | Sequence[int] = ()) -> None:
        if not isinstance(tree, MultibodyTree):
            raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
        shape = _as_batch_shape(batch_shape)
        # num_velocities refuses a tree that is not finalized.
        self._generalized_forces: FloatArray = np.zeros((*shape, tree.num_velocities))
        self._body_forces: FloatArray = np.zeros((*shape, tree.num_bodies, 6))
        self._tree = tree

    @property
    def tree(self) -> MultibodyTree:
        """The tree these forces act on."""
        return self._tree

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of both arrays."""
        return self._generalized_forces.shape[:-1]

    @property
    def body_forces(self) -> FloatArray:
        """Force on each body at its origin, in World: [torque; force], (..., num_bodies, 6) [N m, N]."""
        # A view: nobody can resize the memory that kernels write to.
        return self._body_forces[...]

    @body_forces.setter
    def body_forces(self, value: object) -> None:
        self._body_forces[...] = as_float_array(value, "body_forces", self._body_forces.shape)

    @property
    def generalized_forces(self) -> FloatArray:
        """Force along each velocity, (..., num_velocities) [N m or N]."""
        return self._generalized_forces[...]

    @generalized_forces.setter
    def generalized_forces(self, value: object) -> None:
        self._generalized_forces[...] = as_float_array(
            value, "generalized_forces", self._generalized_forces.shape
        )

    def set_zero(self) -> Self:
        """Set all forces to zero."""
        self._body_forces[...] = 0.0
        self._generalized_forces[...] = 0.0
        return self

    def add_in_forces(self, addend: MultibodyForces) -> Self:
        """Add the forces of another object for the same tree.

        Raises
        ------
        ArgumentTypeError
            When `addend` is no MultibodyForces.
        ContextMismatchError
            When it is for another tree.
        ShapeError
            When its batch shape is another one.
        """
        if not isinstance(addend, MultibodyForces):
            raise ArgumentTypeError(f"addend: expected a MultibodyForces, got {type(addend).__name__}")
        if addend._tree is not self._tree:
            raise ContextMismatchError("addend: expected forces of the same tree, got those of another one")
        if addend.batch_shape != self.batch_shape:
            raise ShapeError(f"addend: expected batch shape {self.batch_shape}, got {addend.batch_shape}")
        self._body_forces += addend._body_forces
        self._generalized_forces += addend._generalized_forces
        return self

    def clone(self) -> MultibodyForces:
        """Return independent forces for the same tree with the same values."""
        other = MultibodyForces(self._tree, self.batch_shape)
        other._body_forces[...] = self._body_forces
        other._generalized_forces[...] = self._generalized_forces
        return other

    def __copy__(self) -> MultibodyForces:
        """Return a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[int, object]) -> MultibodyForces:
        """Return a clone: the tree is shared."""
        return self.clone()

    def __repr__(self) -> str:
        """Tell the shapes."""
        return (
            f"<MultibodyForces body_forces {self._body_forces.shape}, "
            f"generalized_forces {self._generalized_forces.shape}>"
        )


def _as_batch_shape(batch_shape: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(batch_shape, str):
        raise ArgumentTypeError(f"batch_shape: expected a tuple of int, got {batch_shape!r}")
    axes: tuple[object, ...]
    try:
        axes = tuple(batch_shape)  # type: ignore[arg-type]
    except TypeError:
        axes = (batch_shape,)
    return tuple(as_index(axis, "batch_shape", 2**62, "batch axis") for axis in axes)
