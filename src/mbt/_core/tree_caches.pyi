from collections.abc import Sequence
from typing import Any, overload

from typing_extensions import disjoint_base

from mbt._core.context import ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model import CompiledModel
from mbt.context import Context
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarTree
from mbt.symbolic import ScalarType
from mbt.tree import MultibodyTree, RigidBody
from mbt.tree.force_elements import ForceElement

@disjoint_base
class TreeCaches:
    """The compiled model of a tree, its Contexts and their caches."""

    @property
    def _compiled(self) -> CompiledModel | None: ...
    @property
    def _user_force_elements(self) -> tuple[ForceElement, ...] | None: ...
    def _compile(self, user_force_elements: tuple[ForceElement, ...], **arrays: Any) -> None: ...
    def _share_compiled(self, other: TreeCaches, user_force_elements: tuple[ForceElement, ...]) -> None: ...
    def _position_of(
        self, context: ContextCore, pc: PositionKinematicsCache | None = None
    ) -> PositionKinematicsCache: ...
    def _velocity_of(
        self, context: ContextCore, vc: VelocityKinematicsCache | None = None
    ) -> VelocityKinematicsCache: ...
    def clone_to_scalar(self, scalar: str | ScalarType) -> MultibodyTree:
        """Return a clone of this tree that computes in another scalar type.

        All that the clone and its Contexts hold and return are arrays of that scalar, parameters included. Elements
        are new ones of the same classes, and `get_variant` leads from one tree to the other; `ForceElement` and
        `Frame` have a method `do_clone_to_scalar` that a subclass may override. The compiled model is shared.

        Parameters
        ----------
        scalar : {"double", "autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"} or ScalarType
            The scalar: a name, or a `mbt.symbolic.ScalarType` of your own.

        Returns
        -------
        MultibodyTree

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        UnknownNameError, ArgumentTypeError
            When there is no such scalar.
        ImportError
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

    def to_autodiff(self) -> ScalarTree:
        """Return a clone that computes with derivatives, in `mbt.autodiff.AutoDiffArray`; see `clone_to_scalar`.

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

    def to_symbolic(self) -> MultibodyTree:
        """Return a clone that computes with SymPy expressions, in arrays of objects; see `clone_to_scalar`."""

    @property
    def scalar_type(self) -> ScalarType:
        """The scalar that this tree computes in, a `mbt.symbolic.ScalarType`; ``"double"`` unless it is a clone."""

    @overload
    def create_default_context(self, batch_shape: tuple[()] = ()) -> Context:  # type: ignore[overload-overlap]
        """Return a new Context: default positions, zero velocities, default parameters.

        Parameters
        ----------
        batch_shape : int or tuple of int, optional
            Leading axes of every array of the Context, of what is set in it and of what is computed from it: so many
            states, each with its own inputs and parameters, computed together. See ``docs/batches.md``.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        ArgumentTypeError, ElementIndexError
            When `batch_shape` is no tuple of int, or one is negative.
        ShapeError
            When there is a batch, and the tree computes in another scalar than double.

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

    @overload
    def create_default_context(self, batch_shape: int | Sequence[int]) -> BatchContext: ...
    def set_default_context(self, context: ContextCore) -> None:
        """Reset time, state, inputs and parameters of a Context to their defaults."""

    def calc_position_kinematics_cache(
        self, context: ContextCore, pc: PositionKinematicsCache | None = None
    ) -> PositionKinematicsCache:
        """Return the kinematics that depend on positions only, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Returns
        -------
        PositionKinematicsCache
            It is stale, and refused, once q or a parameter of the Context has changed.
        """

    def calc_velocity_kinematics_cache(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> VelocityKinematicsCache:
        """Return the kinematics that depend on positions and velocities, computed now.

        Parameters
        ----------
        context : Context
            Of this tree.
        pc : PositionKinematicsCache, optional
            Position kinematics of the same state; those of the Context by default.
        vc : VelocityKinematicsCache, optional
            Filled and returned instead of a new one. It must be of this tree.

        Raises
        ------
        StaleCacheError
            When `pc` is not of the present state.
        """

    def eval_position_kinematics(self, context: ContextCore) -> PositionKinematicsCache:
        """Return the position kinematics of a Context, cached; see `calc_position_kinematics_cache`."""

    def eval_velocity_kinematics(self, context: ContextCore) -> VelocityKinematicsCache:
        """Return the velocity kinematics of a Context, cached; see `calc_velocity_kinematics_cache`."""

    def eval_body_pose_in_world(self, context: ContextCore, body: RigidBody) -> FloatArray:
        """Return the pose X_WB of a body, (4, 4), cached and read-only."""

    def eval_body_spatial_velocity_in_world(self, context: ContextCore, body: RigidBody) -> FloatArray:
        """Return the spatial velocity V_WB of a body, (6,) [rad/s, m/s], cached and read-only."""
