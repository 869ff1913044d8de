from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_identification import TreeIdentification
from mbt._core.engines.context import ContextCore
from mbt.context import MultibodyForces
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree.force_elements import ForceElement

class TreeDerivatives(TreeIdentification):
    """Derivatives with respect to positions are along qdot = N(q) v: one column per velocity."""

    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: BatchContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the derivatives of the result of `calc_inverse_dynamics` with the same arguments.

        That is ``tau = M(q) vdot + C(q, v) v - tau_ext - sum of J_WB' F_ext``, with `include_force_elements` minus
        ``tau_force_elements(q, v)``. The method is analytical, in O(n depth). The external forces are constant in
        World, at Bo, which moves. Gravity, joint damping and the force elements vary with q and v. Those written by
        users in Python compute once in `mbt.autodiff.AutoDiffArray`; one that cannot, or whose derivatives are not
        finite there, is differentiated by central differences.

        Parameters
        ----------
        context : Context
            Of this tree.
        known_vdot : array_like, shape (num_velocities,)
            Generalized accelerations [rad/s^2, m/s^2].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World; generalized ones have no derivative.
        include_force_elements : bool
            Whether gravity, the other force elements and joint damping act too.
        out : tuple of three (ndarray or None), optional
            Arrays of shape (num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
            Left untouched when an argument is rejected.

        Returns
        -------
        dtau_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of tau along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and vdot held fixed [N m or N per rad or m].
        dtau_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        M : ndarray, shape (num_velocities, num_velocities)
            Mass matrix: the partial derivatives with respect to vdot.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When the force of an element is undefined.

        Examples
        --------
        >>> import numpy as np
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
        >>> pin = tree.add_joint(
        ...     mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0], damping=0.1
        ... )
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
        >>> tree.finalize()
        >>> tree.calc_inverse_dynamics_derivatives(
        ...     tree.create_default_context(), [0.0], include_force_elements=True
        ... )
        (array([[10.]]), array([[0.1]]), array([[0.6]]))
        """

    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: ScalarContext,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[Any | None, Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_inverse_dynamics_derivatives(
        self,
        context: ContextCore,
        known_vdot: npt.ArrayLike,
        external_forces: MultibodyForces | None = None,
        *,
        include_force_elements: bool = False,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the derivatives of forward dynamics.

        The accelerations are those of `calc_forward_dynamics` for the same arguments; the method is analytical:
        ``dvdot = -M^-1 dtau``, with dtau the derivatives of inverse dynamics at these accelerations.
        ``context.applied_forces`` and `external_forces` are constant in World, at Bo, which moves. Force elements
        written by users in Python are differentiated as in `calc_inverse_dynamics_derivatives`. Rows of locked dofs
        are zero, and in `M_inverse` their columns too. With constraints the accelerations
        satisfy them, see `calc_constrained_forward_dynamics_derivatives`.

        Parameters
        ----------
        context : Context
            Of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, and generalized.
        out : tuple of three (ndarray or None), optional
            Arrays of shape (num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
            Left untouched when an argument is rejected.

        Returns
        -------
        dvdot_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and the applied forces held fixed.
        dvdot_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        M_inverse : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to `tau_applied`: the inverse of the mass matrix where nothing is locked
            and no constraint acts.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When a degree of freedom has no inertia, or the force of an element is undefined.
        """

    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[Any | None, Any | None, Any | None] | None = None,
    ) -> Any: ...
    @overload
    def calc_forward_dynamics_derivatives(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        out: tuple[FloatArray | None, FloatArray | None, FloatArray | None] | None = None,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: BatchContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the derivatives of the accelerations and multipliers of `calc_constrained_forward_dynamics`.

        The method is analytical, by the implicit function theorem: ``M dvdot - J' dmultipliers = -dtau`` and
        ``J dvdot = -d(J vdot + Jdot v)``, with dtau the derivatives of inverse dynamics at these accelerations and
        multipliers. Forces vary as they do in `calc_forward_dynamics_derivatives`.

        If constraints are redundant, and remain so nearby, the derivatives of the accelerations are unique, and those
        of the multipliers are one of many possible sets. If equations contradict each other, their
        remainder is held fixed.

        Parameters
        ----------
        context : Context
            Of this tree.
        tau_applied : array_like, shape (num_velocities,), optional
            Generalized forces [N m or N].
        external_forces : MultibodyForces, optional
            Applied forces: on bodies at Bo in World, where they are constant, and generalized.
        stabilize : bool or -1, optional
            Whether the accelerations let the errors of each constraint decay; -1 for integration backwards in time.

        Returns
        -------
        dvdot_dq : ndarray, shape (num_velocities, num_velocities)
            Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components
            of v and the applied forces held fixed.
        dvdot_dv : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to v.
        dvdot_dtau : ndarray, shape (num_velocities, num_velocities)
            Partial derivatives with respect to `tau_applied`, symmetric.
        dmultipliers_dq, dmultipliers_dv, dmultipliers_dtau : ndarray, shape (num_constraint_equations, num_velocities)
            The same for the multipliers.

        Raises
        ------
        ShapeError, ArgumentTypeError
            When an array is not of the right shape or type.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        SingularityError
            When a degree of freedom has no inertia, or the force of an element or a constraint is undefined.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> *_, dmultipliers_dtau = tree.calc_constrained_forward_dynamics_derivatives(context)
        >>> dmultipliers_dtau[:, 3:].round(6) + 0.0
        array([[-1.,  0.,  0.],
               [ 0., -1.,  0.],
               [ 0.,  0., -1.]])
        """

    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: ScalarContext,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> Any: ...
    @overload
    def calc_constrained_forward_dynamics_derivatives(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None = None,
        external_forces: MultibodyForces | None = None,
        *,
        stabilize: bool | Literal[-1] = False,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]: ...
    def _calc_constrained_dynamics_rates(
        self,
        context: ContextCore,
        tau_applied: npt.ArrayLike | None,
        external_forces: MultibodyForces | None,
        stabilize: int,
    ) -> tuple[FloatArray, FloatArray, FloatArray]: ...
    def _calc_user_generalized_forces(
        self, context: ContextCore, elements: Sequence[ForceElement] | None = None
    ) -> FloatArray: ...
