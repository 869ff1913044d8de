"""Bushings: compliant connections of two frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mbt._core.forces.force_elements import ForceElementType
from mbt.errors import ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_nonnegative_array
from mbt.math.leading_axes import cross, cut, join, rotate, transpose
from mbt.tree.body import RigidBody
from mbt.tree.context_access import check_context, numbers_of
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.frame import Frame, as_frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["LinearBushingRollPitchYaw"]


class LinearBushingRollPitchYaw(CompiledForceElement):
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
        frame_A = as_frame(frameA, f"{what}: frameA")
        frame_C = as_frame(frameC, f"{what}: frameC")
        if frame_A.body is frame_C.body:
            raise ArgumentValueError(
                f"{what}: expected frames on two bodies, but {frame_A._label} and {frame_C._label} are both "
                f"on {frame_A.body._label}"
            )
        constants = {
            "torque_stiffness_constants": torque_stiffness_constants,
            "torque_damping_constants": torque_damping_constants,
            "force_stiffness_constants": force_stiffness_constants,
            "force_damping_constants": force_damping_constants,
        }
        defaults = np.concatenate(
            [as_nonnegative_array(value, f"{what}: {name}", (3,)) for name, value in constants.items()]
        )
        super().__init__(frame_C.model_instance, defaults)
        self._frameA = frame_A
        self._frameC = frame_C

    @property
    def frameA(self) -> Frame:
        """The frame A."""
        return self._frameA

    @property
    def frameC(self) -> Frame:
        """The frame C."""
        return self._frameC

    @property
    def link0(self) -> RigidBody:
        """The body of frame A."""
        return self._frameA.body

    @property
    def link1(self) -> RigidBody:
        """The body of frame C."""
        return self._frameC.body

    @property
    def torque_stiffness_constants(self) -> FloatArray:
        """Default stiffness for roll, pitch and yaw [N m/rad], shape (3,), read-only."""
        return self._defaults[0:3]

    @property
    def torque_damping_constants(self) -> FloatArray:
        """Default damping for roll, pitch and yaw [N m s/rad], shape (3,), read-only."""
        return self._defaults[3:6]

    @property
    def force_stiffness_constants(self) -> FloatArray:
        """Default stiffness along the axes of B [N/m], shape (3,), read-only."""
        return self._defaults[6:9]

    @property
    def force_damping_constants(self) -> FloatArray:
        """Default damping along the axes of B [N s/m], shape (3,), read-only."""
        return self._defaults[9:12]

    def set_default_torque_stiffness_constants(self, torque_stiffness_constants: object) -> Self:
        """Set the default stiffness for roll, pitch and yaw [N m/rad], shape (3,), before ``finalize()``."""
        value = as_nonnegative_array(
            torque_stiffness_constants, f"{self._label}: torque_stiffness_constants", (3,)
        )
        return self._set_defaults(0, value, "set_torque_stiffness_constants")

    def set_default_torque_damping_constants(self, torque_damping_constants: object) -> Self:
        """Set the default damping for roll, pitch and yaw [N m s/rad], shape (3,), before ``finalize()``."""
        value = as_nonnegative_array(
            torque_damping_constants, f"{self._label}: torque_damping_constants", (3,)
        )
        return self._set_defaults(3, value, "set_torque_damping_constants")

    def set_default_force_stiffness_constants(self, force_stiffness_constants: object) -> Self:
        """Set the default stiffness along the axes of B [N/m], shape (3,), before ``finalize()``."""
        value = as_nonnegative_array(
            force_stiffness_constants, f"{self._label}: force_stiffness_constants", (3,)
        )
        return self._set_defaults(6, value, "set_force_stiffness_constants")

    def set_default_force_damping_constants(self, force_damping_constants: object) -> Self:
        """Set the default damping along the axes of B [N s/m], shape (3,), before ``finalize()``."""
        value = as_nonnegative_array(force_damping_constants, f"{self._label}: force_damping_constants", (3,))
        return self._set_defaults(9, value, "set_force_damping_constants")

    # Parameters of one Context.

    def get_torque_stiffness_constants(self, context: ContextCore) -> FloatArray:
        """Return the stiffness for roll, pitch and yaw that `context` has [N m/rad], shape (3,)."""
        return self._get_numbers(context)[..., 0:3]

    def get_torque_damping_constants(self, context: ContextCore) -> FloatArray:
        """Return the damping for roll, pitch and yaw that `context` has [N m s/rad], shape (3,)."""
        return self._get_numbers(context)[..., 3:6]

    def get_force_stiffness_constants(self, context: ContextCore) -> FloatArray:
        """Return the stiffness along the axes of B that `context` has [N/m], shape (3,)."""
        return self._get_numbers(context)[..., 6:9]

    def get_force_damping_constants(self, context: ContextCore) -> FloatArray:
        """Return the damping along the axes of B that `context` has [N s/m], shape (3,)."""
        return self._get_numbers(context)[..., 9:12]

    def set_torque_stiffness_constants(
        self, context: ContextCore, torque_stiffness_constants: object
    ) -> Self:
        """Set the stiffness for roll, pitch and yaw in `context` [N m/rad], shape (3,), not negative."""
        return self._set_constants(context, 0, torque_stiffness_constants, "torque_stiffness_constants")

    def set_torque_damping_constants(self, context: ContextCore, torque_damping_constants: object) -> Self:
        """Set the damping for roll, pitch and yaw in `context` [N m s/rad], shape (3,), not negative."""
        return self._set_constants(context, 3, torque_damping_constants, "torque_damping_constants")

    def set_force_stiffness_constants(self, context: ContextCore, force_stiffness_constants: object) -> Self:
        """Set the stiffness along the axes of B in `context` [N/m], shape (3,), not negative."""
        return self._set_constants(context, 6, force_stiffness_constants, "force_stiffness_constants")

    def set_force_damping_constants(self, context: ContextCore, force_damping_constants: object) -> Self:
        """Set the damping along the axes of B in `context` [N s/m], shape (3,), not negative."""
        return self._set_constants(context, 9, force_damping_constants, "force_damping_constants")

    # The force by itself.

    def calc_bushing_spatial_force_on_frame_a(self, context: ContextCore) -> FloatArray:
        """Return F_A_A, its force on A at Ao, expressed in A: ``[torque; force]``, shape (6,)."""
        return self._force_on(self._frameA, context)

    def calc_bushing_spatial_force_on_frame_c(self, context: ContextCore) -> FloatArray:
        """Return F_C_C, its force on C at Co, expressed in C: ``[torque; force]``, shape (6,)."""
        return self._force_on(self._frameC, context)

    def _force_on(self, frame: Frame, context: Any) -> FloatArray:
        check_context(self, context)
        forces = context._new_forces()
        self.calc_and_add_force_contribution(context, forces=forces)
        torque, force = cut(forces.body_forces[..., frame.body.node_index, :], 3)
        X_WF = frame.calc_pose_in_world(context)
        p_BoFo_W = X_WF[..., :3, 3] - frame.body.eval_pose_in_world(context)[..., :3, 3]
        # F_Fo = [t - p_BoFo × f; f]
        R_FW = transpose(X_WF[..., :3, :3])
        F_Fo: FloatArray = join([rotate(R_FW, torque - cross(p_BoFo_W, force)), rotate(R_FW, force)])
        return F_Fo

    def _set_constants(self, context: ContextCore, first: int, values: object, name: str) -> Self:
        self._set_numbers(
            context,
            first,
            numbers_of(self, context).as_nonnegative_array(values, f"{self._label}: {name}", (3,)),
        )
        return self

    # For the tree.

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        yield self._frameA, "frameA"
        yield self._frameC, "frameC"

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        return self._frameA._index, self._frameC._index

    def _describe_singularity(self) -> str:
        """Return why there are positions in which the force is undefined."""
        return (
            f"the pitch of {self._frameC._label} in {self._frameA._label} is 90 degrees, where roll and yaw "
            "are undefined (gimbal lock). Turn both frames alike so that the pitch stays small."
        )

    def _repr_details(self) -> str:
        """Return what the representation tells beyond the name."""
        return f" frameA={quote(self._frameA.name)} frameC={quote(self._frameC.name)}"
