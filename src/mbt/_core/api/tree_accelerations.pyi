from typing import Any, overload

from typing_extensions import disjoint_base

from mbt._core.api.tree_jacobians import TreeJacobians
from mbt._core.engines.caches import AccelerationKinematicsCache
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.scalars import BatchContext, ScalarContext
from mbt.tree import Frame, RigidBody

@disjoint_base
class ForwardAccelerations:
    """Accelerations by forward dynamics, and all that they were computed from."""

class TreeAccelerations(TreeJacobians):
    """Accelerations of the bodies of a tree under all forces, and reaction forces of its joints."""

    def eval_acceleration_kinematics(self, context: ContextCore) -> AccelerationKinematicsCache:
        """Return the accelerations that forward dynamics gives, cached.

        They are those of `calc_forward_dynamics` without arguments: force elements, joint damping,
        ``context.actuation`` and ``context.applied_forces`` act. They are computed again when any of these, q, v, the
        time, a parameter or a lock of the Context has changed, and in each call if the tree has user-written force
        elements, whose inputs mbt cannot track.

        Parameters
        ----------
        context : Context
            Of this tree.

        Returns
        -------
        AccelerationKinematicsCache
            With `A_WB` and `vdot`, read-only.

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.
        """

    def _find_massless_dofs(self, context: ContextCore) -> list[int]: ...
    @overload
    def eval_body_spatial_acceleration_in_world(self, context: BatchContext, body: RigidBody) -> FloatArray:
        """Return the spatial acceleration A_WB of a body by forward dynamics, (6,) [rad/s^2, m/s^2].

        Cached and read-only; see `eval_acceleration_kinematics`.
        """

    @overload
    def eval_body_spatial_acceleration_in_world(self, context: ScalarContext, body: RigidBody) -> Any: ...
    @overload
    def eval_body_spatial_acceleration_in_world(
        self, context: ContextCore, body: RigidBody
    ) -> FloatArray: ...
    def _calc_frame_acceleration(
        self,
        context: ContextCore,
        frame_F: Frame | RigidBody | str,
        frame_M: Frame | RigidBody | str,
        frame_E: Frame | RigidBody | str,
        name_M: str,
        name_E: str,
    ) -> FloatArray: ...
    @overload
    def calc_reaction_forces(self, context: BatchContext, *, out: FloatArray | None = None) -> FloatArray:
        """Return the force that each joint transmits to its child body, under the accelerations of forward dynamics.

        It is the total force, including the components along the joint's axes: the forces of damping, actuation and
        springs on the joint pass through it. All force elements, ``context.actuation`` and ``context.applied_forces``
        act; see `eval_acceleration_kinematics`. The forces of enabled constraints act too, and locked joints transmit
        the forces that hold them.

        Parameters
        ----------
        context : Context
            Of this tree.
        out : ndarray, shape (num_joints, 6), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_joints, 6)
            In JointIndex order: ``[torque; force]`` on the child body as declared, at the origin of the joint frame on
            it, Jc, and expressed in Jc [N m, N].

        Raises
        ------
        SingularityError
            When a degree of freedom has no inertia.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> string = tree.add_joint(mbt.WeldJoint, "string", tree.world_body, None, ball, None)
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
        >>> tree.finalize()
        >>> tree.calc_reaction_forces(tree.create_default_context()).round(12)
        array([[ 0.,  0.,  0.,  0.,  0., 20.]])
        """

    @overload
    def calc_reaction_forces(self, context: ScalarContext, *, out: Any | None = None) -> Any: ...
    @overload
    def calc_reaction_forces(self, context: ContextCore, *, out: FloatArray | None = None) -> FloatArray: ...
