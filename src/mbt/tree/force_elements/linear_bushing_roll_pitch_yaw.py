"""Bushings: compliant connections of two frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.api.poses import force_on_frame
from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentValueError
from mbt.math.arrays import FloatArray
from mbt.math.leading_axes import cross, cut, join, rotate, transpose
from mbt.tree.body import RigidBody
from mbt.tree.context_access import check_context
from mbt.tree.fields import NONNEGATIVE, Reference, Vector
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers
from mbt.tree.frame import Frame

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["LinearBushingRollPitchYaw"]


class LinearBushingRollPitchYaw(SpringsAndDampers):
    """A bushing: springs and dampers along and about three axes between a frame A and a frame C.

    With roll, pitch and yaw q of the rotation R_AC and their rates qdot, the torque on C is ``N' tau``, where
    ``tau = -k q - d qdot`` and ``qdot = N w_AC``. With the frame B midway between A and C (half of the
    rotation, the origin halfway) and the position r of Co from Ao in B, the force on C is
    ``f = -k_xyz r - d_xyz rdot`` in B, applied at Bo. The opposite of both acts on A at Bo. Near a pitch of
    90 degrees q is not defined: that raises `SingularityError`.

    Parameters
    ----------
    frameA, frameC : Frame or RigidBody
        The frames, on two bodies; a body stands for its body frame. The bushing belongs to the model instance
        of `frameC`.
    torque_stiffness_constants : array_like, shape (3,)
        For roll, pitch and yaw [N m/rad], not negative.
    torque_damping_constants : array_like, shape (3,)
        For their rates [N m s/rad], not negative.
    force_stiffness_constants : array_like, shape (3,)
        For the displacements along the axes of B [N/m], not negative.
    force_damping_constants : array_like, shape (3,)
        For their rates [N s/m], not negative.

    Raises
    ------
    ArgumentTypeError
        When an argument is not a frame.
    ArgumentValueError
        When both frames are on one body, or a number is negative or not finite.

    Notes
    -----
    The constants are the defaults of parameters of each Context.

    *Energy.* The damping rate ``rdot`` uses half of ``w_AC`` for the angular velocity of B in A, as the
    bushing of Drake does. The true one is ``w_AB = (1 + R_AB)^-1 w_AC``, which is half of ``w_AC`` only when
    that is along the axis of the rotation. Therefore the force is not the gradient of any potential: around a
    closed path of large rotations even undamped springs do some work. The energies are defined so that they
    add up: the potential energy is ``(sum of k q**2 + sum of k_xyz r**2) / 2``; the conservative power is
    minus its exact rate, with the true ``w_AB``; the non-conservative power is the power of the whole force
    less that. So the potential and kinetic energy of a tree, less the integral of the non-conservative power,
    is constant, but the non-conservative power is in general not zero without damping.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> load = tree.add_body(mbt.RigidBody("load", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> mount = tree.add_force_element(
    ...     mbt.LinearBushingRollPitchYaw(tree.world_frame, load, [1, 1, 1], [0, 0, 0], [8, 8, 8], [0, 0, 0])
    ... )
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0.5, 0, 0]
    >>> mount.calc_potential_energy(context)
    1.0
    """

    _type: ClassVar[ForceElementType] = ForceElementType.LINEAR_BUSHING_RPY

    frameA = Reference(Frame, "The frame A.")
    frameC = Reference(Frame, "The frame C.")
    torque_stiffness_constants = Vector("stiffness for roll, pitch and yaw", "N m/rad", NONNEGATIVE, 3)
    torque_damping_constants = Vector("damping for roll, pitch and yaw", "N m s/rad", NONNEGATIVE, 3)
    force_stiffness_constants = Vector("stiffness along the axes of B", "N/m", NONNEGATIVE, 3)
    force_damping_constants = Vector("damping along the axes of B", "N s/m", NONNEGATIVE, 3)
    set_default_torque_stiffness_constants, get_torque_stiffness_constants, set_torque_stiffness_constants = (
        torque_stiffness_constants.accessors()
    )
    set_default_torque_damping_constants, get_torque_damping_constants, set_torque_damping_constants = (
        torque_damping_constants.accessors()
    )
    set_default_force_stiffness_constants, get_force_stiffness_constants, set_force_stiffness_constants = (
        force_stiffness_constants.accessors()
    )
    set_default_force_damping_constants, get_force_damping_constants, set_force_damping_constants = (
        force_damping_constants.accessors()
    )

    def __init__(
        self,
        frameA: Frame | RigidBody,
        frameC: Frame | RigidBody,
        torque_stiffness_constants: object,
        torque_damping_constants: object,
        force_stiffness_constants: object,
        force_damping_constants: object,
    ) -> None:
        what = type(self).__name__
        frame_A, frame_C = self._refer_to(what, frameA=frameA, frameC=frameC)
        if frame_A.body is frame_C.body:
            raise ArgumentValueError(
                f"{what}: expected frames on two bodies, but {frame_A._label} and {frame_C._label} are both "
                f"on {frame_A.body._label}"
            )
        numbers = self._checked_numbers(
            what,
            torque_stiffness_constants=torque_stiffness_constants,
            torque_damping_constants=torque_damping_constants,
            force_stiffness_constants=force_stiffness_constants,
            force_damping_constants=force_damping_constants,
        )
        super().__init__(frame_C.model_instance, numbers)

    @property
    def link0(self) -> RigidBody:
        """The body of frame A."""
        return self.frameA.body

    @property
    def link1(self) -> RigidBody:
        """The body of frame C."""
        return self.frameC.body

    # The force by itself.

    def calc_bushing_spatial_force_on_frame_a(self, context: ContextCore) -> FloatArray:
        """Return F_A_A, its force on A at Ao, expressed in A: ``[torque; force]``, shape (6,)."""
        return self._force_on(self.frameA, context)

    def calc_bushing_spatial_force_on_frame_c(self, context: ContextCore) -> FloatArray:
        """Return F_C_C, its force on C at Co, expressed in C: ``[torque; force]``, shape (6,)."""
        return self._force_on(self.frameC, context)

    def _force_on(self, frame: Frame, context: Any) -> FloatArray:
        check_context(self, context)
        tree, node = self.parent_tree, frame.body.node_index
        F_Bo = tree._calc_forces_of_element(context, self._core_index)[..., 6 * node : 6 * node + 6]
        X_WB, X_WF = frame.body.eval_pose_in_world(context), frame.calc_pose_in_world(context)
        F_Fo = force_on_frame(F_Bo, X_WB, X_WF)
        if F_Fo is None:
            torque, force = cut(F_Bo, 3)
            p_FoBo_W, R_FW = X_WB[..., :3, 3] - X_WF[..., :3, 3], transpose(X_WF[..., :3, :3])
            F_Fo = join([rotate(R_FW, torque + cross(p_FoBo_W, force)), rotate(R_FW, force)])
        return F_Fo

    # For the tree.

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        return self.frameA._index, self.frameC._index

    def _calc_coordinates(self, context: Any) -> tuple[Any, Any]:
        """Use roll, pitch and yaw of R_AC, and the position of Co in the frame midway."""
        tree, A, C = context.tree, self.frameA, self.frameC
        X = tree.calc_relative_transform(context, A, C)
        R, p = X[:3, :3], X[:3, 3]
        Jw = tree.calc_jacobian_angular_velocity(context, "v", C, A, A)
        Jv = tree.calc_jacobian_translational_velocity(context, "v", C, np.zeros((3, 1)), A, A)
        cos_pitch = np.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2)
        rpy = np.stack(
            [np.arctan2(R[2, 1], R[2, 2]), np.arctan2(-R[2, 0], cos_pitch), np.arctan2(R[1, 0], R[0, 0])]
        )
        s, c, zero = np.sin(rpy[2]), np.cos(rpy[2]), 0.0 * cos_pitch
        x, y = c / cos_pitch, s / cos_pitch
        N = np.stack([x, y, zero, -s, c, zero, -R[2, 0] * x, -R[2, 0] * y, zero + 1.0]).reshape(3, 3)
        # Half the rotation, from the quaternion of the whole.
        (s0, s1, s2), (c0, c1, c2) = np.sin(rpy / 2.0), np.cos(rpy / 2.0)
        e = np.stack([
            c0 * c1 * c2 + s0 * s1 * s2, s0 * c1 * c2 - c0 * s1 * s2, c0 * s1 * c2 + s0 * c1 * s2,
            c0 * c1 * s2 - s0 * s1 * c2,
        ])  # fmt: skip
        e = e * np.where(e[0] < 0.0, -1.0, 1.0)
        tan = e[1:] / (e[0] + 1.0)  # its length is that of a quarter of the angle
        t2 = np.sum(tan * tan)
        cross = np.stack([zero, -tan[2], tan[1], tan[2], zero, -tan[0], -tan[1], tan[0], zero]).reshape(3, 3)
        outer = tan[:, np.newaxis] * tan
        R_AB = ((1.0 - t2) * np.eye(3) + 2.0 * outer + 2.0 * cross) / (1.0 + t2)
        half = np.cross(p, Jw.T).T / 2.0
        return np.concatenate([N @ Jw, R_AB.T @ (Jv + half)]), np.concatenate([rpy, R_AB.T @ p])

    def _get_constants(self, context: Any) -> tuple[Any, Any]:
        k = self.get_torque_stiffness_constants(context), self.get_force_stiffness_constants(context)
        d = self.get_torque_damping_constants(context), self.get_force_damping_constants(context)
        return np.concatenate(k, axis=-1), np.concatenate(d, axis=-1)

    def _set_constants(self, context: Any, k: Any, d: Any) -> None:
        self.set_torque_stiffness_constants(context, k[..., :3])
        self.set_force_stiffness_constants(context, k[..., 3:])
        self.set_torque_damping_constants(context, d[..., :3])
        self.set_force_damping_constants(context, d[..., 3:])

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        return (
            f"the pitch of {self.frameC._label} in {self.frameA._label} is 90 degrees, where roll and yaw "
            "are undefined (gimbal lock). Turn both frames alike so that the pitch stays small."
        )
