"""Contexts of a tree, and clones that compute in other scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast, overload

from mbt._core.above import above
from mbt._core.api.tree_energy import TreeCore

if TYPE_CHECKING:
    from mbt.context import Context
    from mbt.scalars import BatchContext, ScalarTree
    from mbt.symbolic import ScalarType
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Factories"]


class Factories(TreeCore):
    """The part of `MultibodyTree` that makes Contexts and clones, which are built on it."""

    def clone_to_scalar(self, scalar: str | ScalarType) -> MultibodyTree:
        """Return a clone of this tree that computes in another scalar type.

        The clone and its Contexts hold and return only arrays of that scalar, parameters included. Its
        elements are new ones of the same classes; `get_variant` finds the one that corresponds to an element
        of the other tree. Subclasses of `ForceElement` and `Frame` may override `do_clone_to_scalar`. The
        compiled model is shared.

        Parameters
        ----------
        scalar : {"double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"} or ScalarType
            The scalar: a name, or an `mbt.symbolic.ScalarType` of your own.

        Returns
        -------
        MultibodyTree

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        UnknownNameError, ArgumentTypeError
            When there is no such scalar.
        MissingPackageError
            When the package of the scalar is not installed.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> twin = tree.clone_to_scalar("sympy")
        >>> twin.scalar_type
        <ScalarType 'sympy'>
        >>> twin.get_variant(rod) is twin.bodies[1]
        True
        """
        return above.clone_to_scalar(cast("MultibodyTree", self), scalar)

    def to_autodiff(self) -> ScalarTree:
        """Return a clone that computes with derivatives, in `AutoDiffArray`; see `clone_to_scalar`.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
        >>> tree.finalize()
        >>> ad = tree.to_autodiff()
        >>> context = ad.create_default_context()
        >>> context.q = mbt.autodiff.initialize([0.0])
        >>> ad.calc_gravity_generalized_forces(context)
        AutoDiffArray([0.],
                      derivatives=[[-10.]])
        """
        return cast("ScalarTree", self.clone_to_scalar("autodiff"))

    def to_symbolic(self) -> ScalarTree:
        """Return a clone that computes with SymPy expressions, in arrays of objects.

        See `clone_to_scalar`.
        """
        return cast("ScalarTree", self.clone_to_scalar("sympy"))

    @property
    def scalar_type(self) -> ScalarType:
        """The scalar that this tree computes in; ``"double"`` unless it is a clone."""
        from mbt.symbolic import get_scalar_type

        return get_scalar_type("double")

    @overload
    def create_default_context(self, batch_shape: tuple[()] = ()) -> Context: ...  # type: ignore[overload-overlap]

    @overload
    def create_default_context(self, batch_shape: int | Sequence[int]) -> BatchContext: ...

    def create_default_context(self, batch_shape: int | Sequence[int] = ()) -> Context | BatchContext:
        """Return a new Context: default positions, zero velocities, default parameters.

        Parameters
        ----------
        batch_shape : int or tuple of int, optional
            Leading axes of every array that the Context holds, takes or returns: a state for each sample,
            with its own inputs and parameters, all computed together. See ``docs/batches.md``.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        ArgumentTypeError, ElementIndexError
            When `batch_shape` is not a tuple of int, or one is negative.
        ShapeError
            When there is a batch, and the tree computes in a scalar other than double.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context(batch_shape=3)
        >>> rod = rod.set_mass(context, [1.0, 2.0, 3.0])
        >>> tree.calc_mass_matrix(context).ravel()
        array([0.25, 0.5 , 0.75])
        """
        tree = cast("MultibodyTree", self)
        if self._compiled is None:
            above.compile_copy(tree)
        if not (type(batch_shape) is tuple and not batch_shape):
            return above.make_batch_context(tree, batch_shape)
        return above.Context(tree)
