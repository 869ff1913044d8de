from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy.typing as npt

from mbt._core.api.tree_accelerations import TreeAccelerations
from mbt._core.engines.context import ContextCore
from mbt.math import SpatialInertia
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

class TreeMass(TreeAccelerations):
    """Mass and momentum of a tree, or of a part of it. World has no mass."""

    @overload
    def calc_total_mass(  # type: ignore[overload-overlap]
        self, context: BatchContext, model_instances: int | Sequence[int] | None = None
    ) -> FloatArray:
        """Return the mass [kg] of all bodies but World, those welded to World included.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.

        Returns
        -------
        float
            Zero when there is no body.
        """

    @overload
    def calc_total_mass(
        self, context: ScalarContext, model_instances: int | Sequence[int] | None = None
    ) -> Any: ...
    @overload
    def calc_total_mass(
        self, context: ContextCore, model_instances: int | Sequence[int] | None = None
    ) -> float: ...
    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            p_WoScm_W [m].

        Raises
        ------
        SingularityError
            When there is no mass.
        """

    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_position_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the velocity of the centre of mass of all bodies but World.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            v_WScm_W [m/s].

        Raises
        ------
        SingularityError
            When there is no mass.
        """

    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_translational_velocity_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: BatchContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the acceleration of the centre of mass of all bodies but World, by forward dynamics.

        The forces are those of `eval_acceleration_kinematics`.

        Parameters
        ----------
        context : Context
            Of this tree.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            a_WScm_W [m/s^2].

        Raises
        ------
        SingularityError
            When there is no mass, or a degree of freedom has no inertia.
        """

    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ScalarContext,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_center_of_mass_translational_acceleration_in_world(
        self,
        context: ContextCore,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the Jacobian of the velocity of the centre of mass Scm in frame A, expressed in frame E.

        ``v_AScm_E = J s``, with s = v or s = qdot.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What the columns are for.
        frame_A : Frame, RigidBody or str
            The frame in which the velocity is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3, num_velocities) or (3, num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3, num_velocities) or (3, num_positions)

        Raises
        ------
        SingularityError
            When there is no mass.
        """

    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: BatchContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the part of the acceleration of the centre of mass Scm in frame A that `J sdot` does not explain.

        ``a_AScm_E = J sdot + bias``, with J of `calc_jacobian_center_of_mass_translational_velocity` and s = v or
        s = qdot. Centripetal and Coriolis terms of a moving frame A are in it.

        Parameters
        ----------
        context : Context
            Of this tree.
        with_respect_to : {"v", "qdot"}
            What s is.
        frame_A : Frame, RigidBody or str
            The frame in which the acceleration is measured.
        frame_E : Frame, RigidBody or str
            The frame in which it is expressed.
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (3,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (3,)
            [m/s^2].

        Raises
        ------
        SingularityError
            When there is no mass.
        """

    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ScalarContext,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_bias_center_of_mass_translational_acceleration(
        self,
        context: ContextCore,
        with_respect_to: Literal["v", "qdot"],
        frame_A: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: BatchContext,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return the momentum of all bodies about a point P, in World. Rotors have none.

        Parameters
        ----------
        context : Context
            Of this tree.
        p_WoP_W : array_like, shape (3,)
            The point [m].
        model_instances : ModelInstanceIndex or str, or sequence of them, optional
            The instances whose bodies count; by default all bodies but World. Each body counts once.
        out : ndarray, shape (6,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6,)
            ``[angular; linear]`` momentum [kg m^2/s, kg m/s].
        """

    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ScalarContext,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_spatial_momentum_in_world_about_point(
        self,
        context: ContextCore,
        p_WoP_W: npt.ArrayLike,
        model_instances: int | Sequence[int] | None = None,
        *,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_centroidal_momentum_matrix(
        self, context: BatchContext, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return A_G, with ``A_G v`` the momentum of all bodies about their centre of mass, in World.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (6, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, num_velocities)
            Angular rows first [kg m^2, kg m, kg], by composite bodies in O(n).

        Raises
        ------
        SingularityError
            When the tree has no mass.
        """

    @overload
    def calc_centroidal_momentum_matrix(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_centroidal_momentum_matrix(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
    def calc_spatial_inertia(
        self, context: ContextCore, frame_F: Frame | RigidBody | str, body_indexes: Sequence[int | RigidBody]
    ) -> SpatialInertia:
        """Return the mass properties M_SFo_F of a set of bodies S, in their present poses, about Fo, expressed in F.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_F : Frame, RigidBody or str
            The frame F.
        body_indexes : sequence of BodyIndex, RigidBody or str
            The bodies, each once. World may be among them: it has no mass.

        Returns
        -------
        SpatialInertia
            The inertia of the bodies as one rigid body; zero when there is no body.

        Raises
        ------
        ElementIndexError
            When no body has such an index.
        ArgumentValueError
            When a body is named twice.
        ForeignElementError
            When a body belongs to another tree.
        """

    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: BatchContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return ``J M^-1 J'`` of a frame: the acceleration in World that a force on it gives to a tree at rest.

        J is the Jacobian of its spatial velocity in World, as returned by `mbt.functional.frame_jacobian` (Khatib
        1987).

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_F : Frame, RigidBody or str
            The frame; a body stands for its body frame.
        expressed_in : Frame, RigidBody or str, optional
            The frame E whose axes accelerations and forces are expressed in; by default World.
        out : ndarray, shape (6, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, 6)
            Symmetric, of ``[alpha; a]`` per ``[torque; force]`` at the origin of F [1/(kg m^2), 1/(kg m), 1/kg].

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """

    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: ScalarContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_operational_space_inverse_inertia(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_operational_space_inertia(
        self,
        context: BatchContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray:
        """Return ``(J M^-1 J')^-1`` of a frame: the force on it that gives it an acceleration, the tree being at rest.

        The inverse of `calc_operational_space_inverse_inertia` (Khatib 1987). M is the mass matrix of the tree alone,
        without the constraints and locks that `calc_forward_dynamics` obeys.

        Parameters
        ----------
        context : Context
            Of this tree.
        frame_F : Frame, RigidBody or str
            The frame; a body stands for its body frame.
        expressed_in : Frame, RigidBody or str, optional
            The frame E whose axes accelerations and forces are expressed in; by default World.
        out : ndarray, shape (6, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (6, 6)
            Symmetric, of ``[torque; force]`` at the origin of F per ``[alpha; a]`` [kg m^2, kg m, kg].

        Raises
        ------
        SingularityError
            When the frame cannot move with six independent velocities, or a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
        >>> tree.finalize()  # The ball floats.
        >>> tree.calc_operational_space_inertia(tree.create_default_context(), ball.body_frame).diagonal()
        array([0.2, 0.2, 0.2, 2. , 2. , 2. ])
        """

    @overload
    def calc_operational_space_inertia(
        self,
        context: ScalarContext,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: Any | None = None,
    ) -> Any: ...
    @overload
    def calc_operational_space_inertia(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        *,
        expressed_in: Frame | RigidBody | str | None = None,
        out: FloatArray | None = None,
    ) -> FloatArray: ...
    @overload
    def calc_mass_matrix_inverse(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray:
        """Return the inverse of the mass matrix, by articulated bodies: the mass matrix is not formed.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_velocities, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities, num_velocities)
            Symmetric. Locks do not count.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """

    @overload
    def calc_mass_matrix_inverse(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_mass_matrix_inverse(
        self, context: ContextCore, *, out: FloatArray | None = None
    ) -> FloatArray: ...
