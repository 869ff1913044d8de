"""Forces on all bodies and joints of a tree."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    ShapeError,
    quote,
    reporting_damage,
)
from mbt.math.arrays import FloatArray, as_float_array, check_leading_axes
from mbt.tree import MultibodyTree
from mbt.tree.context_access import Forces

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    from typing_extensions import Self

__all__ = ["MultibodyForces"]

# With one double per sample this is 8 TiB, and all sizes in bytes fit into 64-bit integers.
_MAX_SAMPLES = 2**40


class MultibodyForces(Forces):
    """Spatial forces on the bodies of a tree, and generalized forces on its joints.

    Both start at zero. Write into the arrays, or assign whole arrays. Forces for the same tree and batch
    shape can be added, subtracted, and multiplied by a number, or by one number for each sample of the batch.

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
    >>> (0.5 * forces - forces).body_forces[box.node_index, 5]
    np.float64(-4.905)
    """

    __slots__ = ("_body_forces", "_generalized_forces", "_tree")

    # Makes NumPy leave ``array * forces`` to this class instead of multiplying entry by entry.
    __array_ufunc__ = None

    def __new__(cls, tree: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Create forces with the scalar type of the tree."""
        own = getattr(tree, "_forces_type", None)
        return super().__new__(own if own is not None and cls is MultibodyForces else cls)

    def __init__(self, tree: MultibodyTree, batch_shape: int | Sequence[int] = ()) -> None:
        if not isinstance(tree, MultibodyTree):
            raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
        shape = as_batch_shape(batch_shape)
        # num_velocities raises for a tree that is not finalized.
        self._generalized_forces: FloatArray = np.zeros((*shape, tree.num_velocities))
        self._body_forces: FloatArray = np.zeros((*shape, tree.num_bodies, 6))
        self._tree = tree

    # The signature that `help` and editors show.
    __new__.__wrapped__ = __init__  # type: ignore[attr-defined]

    @property
    def tree(self) -> MultibodyTree:
        """The tree these forces act on."""
        try:
            return self._tree
        except AttributeError:
            raise ArgumentTypeError(f"{type(self).__name__}.__init__ must call super().__init__()") from None

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of both arrays."""
        return self._generalized_forces.shape[:-1]

    @property
    def num_bodies(self) -> int:
        """Number of bodies of the tree, World included: rows of `body_forces`."""
        return int(self._body_forces.shape[-2])

    @property
    def num_velocities(self) -> int:
        """Number of velocities of the tree: entries of `generalized_forces`."""
        return int(self._generalized_forces.shape[-1])

    @property
    def body_forces(self) -> FloatArray:
        """Force on each body at its origin, in World: [torque; force], (..., num_bodies, 6) [N m, N]."""
        # A view, so that the memory that kernels write to cannot be resized.
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
            When `addend` is not a MultibodyForces.
        ContextMismatchError
            When it is for another tree.
        ShapeError
            When its batch shape differs.
        """
        if not isinstance(addend, MultibodyForces):
            raise ArgumentTypeError(f"addend: expected a MultibodyForces, got {type(addend).__name__}")
        self._check_fits(addend, "addend")
        self._body_forces += addend._body_forces
        self._generalized_forces += addend._generalized_forces
        return self

    def _add_arrays(self, F_Bo_W: Any, tau: Any = None) -> None:
        """Add forces on all bodies, (..., num_bodies, 6), and on all dofs, (..., num_velocities)."""
        self._body_forces += F_Bo_W
        if tau is not None:
            self._generalized_forces += tau

    def _add_to_body(self, node: int, F_Bo_W: FloatArray) -> None:
        """Add a force on one body, (..., 6)."""
        if self._body_forces.ndim == F_Bo_W.ndim + 1 == 2:
            row = self._body_forces[node]
            row += F_Bo_W  # Unlike `self._body_forces[node] += F_Bo_W`, does not write the row back.
            return
        self._check_lead(F_Bo_W.shape[:-1])
        self._body_forces[..., node, :] += F_Bo_W

    def _add_to_dof(self, dof: int, tau: FloatArray | float) -> None:
        """Add a force along one velocity, (...)."""
        if not isinstance(tau, float):
            self._add_to_dofs(dof, tau[..., None])
        elif self._generalized_forces.ndim == 1:
            self._generalized_forces[dof] += tau
        else:
            self._generalized_forces[..., dof] += tau

    def _add_to_dofs(self, start: int, tau: FloatArray) -> None:
        """Add forces along the velocities from `start` on, (..., n)."""
        self._check_lead(tau.shape[:-1])
        self._generalized_forces[..., start : start + tau.shape[-1]] += tau

    # Checks.

    def _check_lead(self, lead: tuple[int, ...]) -> None:
        """Check that the batch axes of an addend broadcast to those of these forces."""
        if lead in ((), self.batch_shape):
            return
        try:
            fits = np.broadcast_shapes(lead, self.batch_shape) == self.batch_shape
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"forces: expected batch shape {lead}, got {self.batch_shape}")

    def check_has_right_size_for_model(self, tree: MultibodyTree) -> bool:
        """Return whether these forces have the sizes of a tree, which may differ from their own tree.

        Parameters
        ----------
        tree : MultibodyTree
            A finalized tree.
        """
        if not isinstance(tree, MultibodyTree):
            raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
        return (self.num_bodies, self.num_velocities) == (tree.num_bodies, tree.num_velocities)

    def check_invariants(self) -> None:
        """Verify that both arrays have the layout that kernels rely on; any values are allowed, even NaN.

        Raises
        ------
        AssertionError
            When they do not, which is a bug in mbt.
        """
        _require(self.check_has_right_size_for_model(self._tree), "the sizes are those of the tree")
        _require(
            self._body_forces.shape == (*self.batch_shape, self.num_bodies, 6),
            "both arrays have the same leading axes",
        )
        for array in (self._body_forces, self._generalized_forces):
            _require(type(array) is np.ndarray and array.dtype == np.float64, "the arrays are of float64")
            _require(array.flags.carray, "the arrays are C-contiguous, aligned and writeable")
            _require(array.flags.owndata, "the arrays share no memory")

    # Arithmetic. For operands of other types, Python raises TypeError.

    def __add__(self, other: MultibodyForces) -> MultibodyForces:
        """Return the sum."""
        return self.clone().__iadd__(other)

    def __radd__(self, other: int) -> MultibodyForces:
        """Return a clone for ``0 + forces``, the first step of ``sum()``."""
        return self.clone() if type(other) is int and other == 0 else NotImplemented

    def __sub__(self, other: MultibodyForces) -> MultibodyForces:
        """Return the difference."""
        return self.clone().__isub__(other)

    def __iadd__(self, other: MultibodyForces) -> Self:
        """Add other forces to these, like `add_in_forces`."""
        if not isinstance(other, MultibodyForces):
            return NotImplemented
        return self.add_in_forces(other)

    def __isub__(self, other: MultibodyForces) -> Self:
        """Subtract other forces from these."""
        if not isinstance(other, MultibodyForces):
            return NotImplemented
        self._check_fits(other, "subtrahend")
        self._body_forces -= other._body_forces
        self._generalized_forces -= other._generalized_forces
        return self

    def __mul__(self, factor: npt.ArrayLike) -> MultibodyForces:
        """Return these forces multiplied by a number, or by an array of shape `batch_shape`."""
        return self.clone().__imul__(factor)

    def __rmul__(self, factor: npt.ArrayLike) -> MultibodyForces:
        """Return these forces multiplied by a number, or by one for each sample."""
        return self.clone().__imul__(factor)

    def __imul__(self, factor: npt.ArrayLike) -> Self:
        """Multiply these forces by a number, or by one for each sample."""
        if isinstance(factor, MultibodyForces):
            return NotImplemented
        s = self._as_factor(factor, "factor")
        self._body_forces *= s[..., np.newaxis, np.newaxis]
        self._generalized_forces *= s[..., np.newaxis]
        return self

    def __truediv__(self, divisor: npt.ArrayLike) -> MultibodyForces:
        """Return these forces divided by a number, or by one for each sample."""
        return self.clone().__itruediv__(divisor)

    def __itruediv__(self, divisor: npt.ArrayLike) -> Self:
        """Divide these forces by a number, or by one for each sample."""
        if isinstance(divisor, MultibodyForces):
            return NotImplemented
        s = self._as_factor(divisor, "divisor")
        if not s.all():
            raise ArgumentValueError("divisor: forces cannot be divided by zero")
        self._body_forces /= s[..., np.newaxis, np.newaxis]
        self._generalized_forces /= s[..., np.newaxis]
        return self

    def __neg__(self) -> MultibodyForces:
        """Return the negative of these forces."""
        return self * -1.0

    def __pos__(self) -> MultibodyForces:
        """Return a clone."""
        return self.clone()

    def __eq__(self, other: object) -> bool:
        """Return whether `other` has the same forces for the same tree; NaN equals nothing."""
        if not isinstance(other, MultibodyForces):
            return NotImplemented
        return (
            other._tree is self._tree
            and np.array_equal(self._body_forces, other._body_forces)
            and np.array_equal(self._generalized_forces, other._generalized_forces)
        )

    # Mutable, so no hash.
    __hash__ = None  # type: ignore[assignment]

    def _check_fits(self, other: MultibodyForces, argument: str) -> None:
        if other._tree is not self._tree:
            raise ContextMismatchError(
                f"{argument}: expected forces of the same tree, got those of another one"
            )
        if other.batch_shape != self.batch_shape:
            raise ShapeError(f"{argument}: expected batch shape {self.batch_shape}, got {other.batch_shape}")

    def _as_factor(self, value: object, argument: str) -> FloatArray:
        factor = as_float_array(value, argument)
        if factor.shape not in ((), self.batch_shape):
            wanted = f", or an array of batch shape {self.batch_shape}" if self.batch_shape else ""
            raise ShapeError(f"{argument}: expected a number{wanted}, got shape {factor.shape}")
        return factor

    def clone(self) -> MultibodyForces:
        """Return independent forces for the same tree with the same values."""
        other: MultibodyForces = MultibodyForces.__new__(MultibodyForces, self._tree)
        other._tree = self._tree
        other._body_forces = self._body_forces.copy()
        other._generalized_forces = self._generalized_forces.copy()
        return other

    def __copy__(self) -> MultibodyForces:
        """Return a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> MultibodyForces:
        """Return a clone: for the same tree, or for its copy if the same ``deepcopy`` copies the tree."""
        twin = self.clone()
        from mbt.tree.pickling import follow_copies

        follow_copies(self._tree, twin, memo)
        return twin

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the arrays and the tree."""
        from mbt.tree.pickling import FORMAT

        args = (FORMAT, type(self), self._tree, self._body_forces, self._generalized_forces)
        return restore_forces, args

    def _move_to(self, tree: MultibodyTree) -> None:
        """Move these forces to a copy of their tree."""
        self._tree = tree

    def __repr__(self) -> str:
        """Show the shapes."""
        return (
            f"<MultibodyForces body_forces {self._body_forces.shape}, "
            f"generalized_forces {self._generalized_forces.shape}>"
        )


def _require(condition: bool, invariant: str) -> None:
    if not condition:
        raise AssertionError(f"MultibodyForces: violated: {invariant}")


def restore_forces(
    format_: int,
    forces_type: type[MultibodyForces],
    tree: MultibodyTree,
    body_forces: FloatArray,
    generalized_forces: FloatArray,
) -> MultibodyForces:
    """Return pickled forces."""
    from mbt.tree.pickling import check_format

    check_format(format_, "MultibodyForces")
    with reporting_damage("MultibodyForces"):
        forces = forces_type(tree, generalized_forces.shape[:-1])
        forces.body_forces = body_forces
        forces.generalized_forces = generalized_forces
        return forces


def as_batch_shape(batch_shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return leading axes as a tuple of nonnegative int, for no more samples than memory can hold."""
    is_sequence = isinstance(batch_shape, (tuple, list)) or (
        isinstance(batch_shape, np.ndarray) and batch_shape.ndim == 1
    )
    axes = tuple(batch_shape) if is_sequence else (batch_shape,)  # type: ignore[arg-type]
    shape = tuple(_as_extent(axis, batch_shape) for axis in axes)
    check_leading_axes(shape, "batch_shape")
    # Count an extent of zero as one, as NumPy does.
    if math.prod(extent or 1 for extent in shape) >= _MAX_SAMPLES:
        raise ArgumentValueError(
            f"batch_shape: expected extents whose product is less than 2**40, got {quote(batch_shape)}"
        )
    return shape


def _as_extent(axis: Any, batch_shape: object) -> int:
    if type(axis) is int and axis >= 0:
        return axis
    got = quote(batch_shape)
    try:
        extent = operator.index(axis)
    except TypeError:
        extent = None
    if extent is None or isinstance(axis, (bool, np.bool_)):
        raise ArgumentTypeError(f"batch_shape: expected an int, or a tuple, list or array of int, got {got}")
    if extent < 0:
        raise ArgumentValueError(
            f"batch_shape: expected the extents of the batch axes, none of them negative, got {got}"
        )
    return extent
