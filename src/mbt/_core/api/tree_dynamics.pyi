from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_kinematics import TreeKinematics
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext

class TreeDynamics(TreeKinematics):
    """Forces on the bodies of a tree, and their motion."""

    @overload
    def calc_inverse_dynamics(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: FloatArray | None = None,
        F_BMo_W_array: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the generalized forces that give the accelerations `known_vdot`, in O(n).

        ``tau = M(q) vdot + C(q, v) v - tau_app - sum of J_WB' F_app``. Force elements (gravity, joint damping) enter
        only through `external_forces` or with `include_force_elements`, constraint forces with `multipliers`.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.
        include_force_elements : bool
            Whether the force elements and joint damping act too.
        multipliers : array_like, shape (num_constraint_equations,), optional
            Forces of the constraints, ``tau -= J' multipliers``: see `calc_constrained_forward_dynamics`.
        A_WB_array : ndarray, shape (num_bodies, 6), optional
            Filled with the spatial acceleration of each body in World [rad/s^2, m/s^2].
        F_BMo_W_array : ndarray, shape (num_bodies, 6), optional
            Filled with the force through each body's mobilizer, on the body at Mo, in World [N m, N]; row 0 is the
            force that holds World. It may be ``external_forces.body_forces``.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected. It may be
            ``external_forces.generalized_forces``.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N].

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ArgumentValueError
            When two arrays to write into share memory.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        StaleCacheError
            When `pc` or `vc` is not of the present state.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> tree.calc_inverse_dynamics(tree.create_default_context(), [1.0])
        array([0.6])
        """

    @overload
    def calc_inverse_dynamics(
        self,
        context: ScalarContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: Any | None = None,
        F_BMo_W_array: Any | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_inverse_dynamics(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        include_force_elements: bool = False,
        multipliers: npt.ArrayLike | None = None,
        A_WB_array: FloatArray | None = None,
        F_BMo_W_array: FloatArray | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_term(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray:
        """Return the bias term ``C(q, v) v``: inverse dynamics at vdot = 0, without any applied force.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N].
        """

    @overload
    def calc_bias_term(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_bias_term(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_gravity_generalized_forces(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the generalized forces of gravity, on the right-hand side: ``tau_g = -dPE/dq`` along v.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m or N]; zero without a gravity field.
        """

    @overload
    def calc_gravity_generalized_forces(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_gravity_generalized_forces(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray:
        """Return the mass matrix M(q), symmetric, reflected inertia of the rotors included.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Mass matrix [kg m^2, kg m, kg], by composite rigid bodies.
        """

    @overload
    def calc_mass_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_mass_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the mass matrix, each column by inverse dynamics at v = 0 with one unit acceleration.

        Slower than `calc_mass_matrix`, and independent of it: O(n^2).

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """

    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: ScalarContext, *, out: Any | None = None
    ) -> Any: ...
    @overload
    def calc_mass_matrix_via_inverse_dynamics(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    @overload
    def calc_coriolis_matrix(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray:
        """Return C(q, v), with ``C v`` the bias term and ``Mdot - 2 C`` skew-symmetric.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """

    @overload
    def calc_coriolis_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_coriolis_matrix(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
    @overload
    def calc_forward_dynamics(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the generalized accelerations, by articulated bodies in O(n).

        Solves ``M vdot + C v = tau`` where tau holds gravity, the other force elements, joint damping,
        ``context.actuation``, ``context.applied_forces`` and the arguments. The accelerations satisfy the enabled
        constraints: their forces are those of `calc_constrained_forward_dynamics`. Accelerations of locked dofs are
        zero.

        Parameters
        ----------
        context : Context
            Of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """

    @overload
    def calc_forward_dynamics(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_forward_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the generalized accelerations, and the multipliers of the enabled constraints.

        Solves ``M vdot + C v = tau + J' multipliers`` and ``J vdot + Jdot v = 0``, where tau is that of
        `calc_forward_dynamics`, which returns the same accelerations.

        Parameters
        ----------
        context : Context
            Of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        stabilize : bool or -1, optional
            Let the errors e of each constraint decay, with its own frequency and damping ratio:
            ``J vdot + Jdot v = -2 zeta omega J v - omega^2 e``. With -1 they decay backwards in time: zeta counts as
            negative, for negative time steps.
        out : tuple of two (ndarray or None), optional
            Arrays of shapes (num_velocities,) and (num_constraint_equations,), float64, C-contiguous, written in place
            and returned. Left untouched when an argument is rejected.

        Returns
        -------
        vdot : ndarray, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        multipliers : ndarray, shape (num_constraint_equations,)
            Forces and torques of the constraints [N, N m]; zero for disabled ones. See each type of constraint for
            where they act. If constraints are redundant, the smallest of the many sets that give these accelerations;
            zero if nothing can move.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> vdot, multipliers = tree.calc_constrained_forward_dynamics(tree.create_default_context())
        >>> bool(abs(vdot).max() < 1e-9), multipliers.round(6) + 0.0
        (True, array([ 0.,  0., 20.]))
        """

    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_constrained_forward_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    @overload
    def calc_impulse_dynamics(
        self,
        context: BatchContext,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the velocities after an impact, and the impulses of the enabled constraints.

        Solves ``M (v1 - v) = J' impulses`` and ``J v1 = -restitution J v``, where v are the velocities of the Context,
        just before a constraint closes, or a linkage is struck. Kinetic energy never grows. Velocities of locked dofs
        do not change, nor does the Context.

        Parameters
        ----------
        context : Context
            Of this tree.
        restitution : array_like, optional
            Coefficient of restitution, 0 to 1 [1]: one number, or one for each sample of a batch. With 0 the
            constraints hold afterwards, with 1 no kinetic energy is lost.
        out : tuple of two (ndarray or None), optional
            Arrays of shapes (num_velocities,) and (num_constraint_equations,), float64, C-contiguous, written in place
            and returned. Left untouched when an argument is rejected.

        Returns
        -------
        v1 : ndarray, shape (num_velocities,)
            Generalized velocities after the impact [rad/s, m/s].
        impulses : ndarray, shape (num_constraint_equations,)
            Impulses of the constraints [N s, N m s], in the order and with the signs of multipliers. If constraints are
            redundant, the smallest of many.

        Raises
        ------
        ArgumentValueError
            When `restitution` is not from 0 to 1.
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        A ball at 3 m/s is caught by a hook:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.v = [0.0, 0.0, 0.0, 0.0, 0.0, -3.0]
        >>> v1, impulses = tree.calc_impulse_dynamics(context)
        >>> v1.round(9) + 0.0, impulses.round(9) + 0.0
        (array([0., 0., 0., 0., 0., 0.]), array([0., 0., 6.]))
        """

    @overload
    def calc_impulse_dynamics(
        self,
        context: ScalarContext,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_impulse_dynamics(
        self,
        context: ContextCore,
        restitution: npt.ArrayLike = 0.0,
        *,
        out: tuple[FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray]: ...
    def _calc_inverse_dynamics_with(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        multipliers: npt.ArrayLike,
        external_forces: MultibodyForces | None,
    ) -> FloatArray: ...
    def _calc_constrained_dynamics(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None,
        external_forces: MultibodyForces | None,
        stabilize: int,
    ) -> FloatArray: ...
    def calc_force_elements_contribution(
        self,
        context: ContextCore,
        forces: MultibodyForces,
        *,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> MultibodyForces:
        """Overwrite `forces` with those of all force elements and of joint damping, without actuation.

        Parameters
        ----------
        context : Context
            Of this tree.
        forces : MultibodyForces
            For this tree, without batch axes. It is overwritten.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; those of the Context by default.

        Returns
        -------
        MultibodyForces
            `forces`.

        Raises
        ------
        StaleCacheError
            When `pc` or `vc` is not of the present state.
        """
