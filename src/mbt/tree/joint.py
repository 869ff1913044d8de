"""Joints, which connect bodies."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from mbt.errors import ArgumentTypeError, NotFinalizedError, TopologyError, quote
from mbt.math.arrays import (
    FloatArray,
    as_finite_array,
    as_index,
    check_no_booleans,
    is_list_of_floats,
    shared_array,
)
from mbt.math.leading_axes import cross, cut, join, rotate, transpose
from mbt.math.numbers import DOUBLES, Numbers
from mbt.math.poses import matrix_to_quaternion
from mbt.tree.context_access import (
    Forces,
    check_context,
    check_forces,
    set_parameter,
)
from mbt.tree.element import MultibodyElement, as_name, check_element, is_constructed
from mbt.tree.frame import Frame
from mbt.tree.indices import JointIndex
from mbt.tree.joint_limits import JointLimits, Limits, frozen, no_limits

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.constants import Constant
    from mbt.tree.mobilizer import Mobilizer

__all__ = ["Joint"]


class Joint(JointLimits):
    """A connection of a frame F on a parent body to a frame M on a child body. This is the base class.

    Parent and child only define what q and v mean: the pose and velocity of M in F. Either may be nearer
    World. A joint belongs to the model instance of its frame on the child.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M, on two bodies.
    damping : array_like, shape (num_velocities,)
        Viscous damping: the force ``-damping * v`` [N m s/rad, N s/m]. Not negative. The default of a
        parameter of each Context.

    Raises
    ------
    TopologyError
        When both frames are on one body.
    ArgumentValueError
        When a damping constant is negative or not finite.
    """

    kind: ClassVar[str] = "joint"
    _adder: ClassVar[str] = "add_joint"

    #: Name of the type, as ``"revolute"``.
    type_name: ClassVar[str]
    # The mobilizer that models joints of this type.
    _mobilizer_type: ClassVar[type[Mobilizer]]
    # Its constants, which its constructor takes after the frames, in this order.
    _made_with: ClassVar[tuple[Constant, ...]] = ()

    def __init__(self, name: str, frame_on_parent: Frame, frame_on_child: Frame, damping: object) -> None:
        if not hasattr(self, "_mobilizer_type"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: no mobilizer models this type: use one of the joints that mbt has"
            )
        for argument, frame in (("frame_on_parent", frame_on_parent), ("frame_on_child", frame_on_child)):
            if not is_constructed(frame, Frame):
                check_element(frame, Frame, f"joint {quote(name)}: {argument}")
        super().__init__(as_name(name, f"{type(self).__name__}: name"), frame_on_child.model_instance)
        if frame_on_parent.body is frame_on_child.body:
            first, second = frame_on_parent._label, frame_on_child._label
            where = (
                f"{first} is given for both parent and child"
                if first == second
                else f"{first} and {second} are both on it"
            )
            raise TopologyError(
                f"{self._label} would connect {frame_on_parent.body._label} to itself: {where}. A joint "
                "connects two different bodies; a frame that is fixed on a body is a FixedOffsetFrame."
            )
        self._hold(frame_on_parent, frame_on_child, self._checked_damping(damping))

    def _hold(self, frame_on_parent: Frame, frame_on_child: Frame, damping: FloatArray) -> None:
        self._frame_on_parent = frame_on_parent
        self._frame_on_child = frame_on_child
        self._mobilizer: Mobilizer | None = None
        self._damping = damping
        positions, self._position_limits, no_limits = _of_new_joints(self._mobilizer_type)  # type: ignore[arg-type] # hashable, as all classes
        self._default_positions = positions
        self._velocity_limits = self._acceleration_limits = no_limits
        self._effort_limit = math.inf

    # The connected frames and bodies.

    @property
    def index(self) -> JointIndex:
        """Index of this joint in its tree."""
        return JointIndex(self._checked_index())

    @property
    def frame_on_parent(self) -> Frame:
        """The frame F on the parent body."""
        return self._frame_on_parent

    @property
    def frame_on_child(self) -> Frame:
        """The frame M on the child body."""
        return self._frame_on_child

    @property
    def parent_body(self) -> RigidBody:
        """The body of the frame F."""
        return self._frame_on_parent.body

    @property
    def child_body(self) -> RigidBody:
        """The body of the frame M."""
        return self._frame_on_child.body

    @property
    def mobilizer(self) -> Mobilizer:
        """The mobilizer that models this joint. Known after ``finalize()``."""
        if self._mobilizer is None:
            raise NotFinalizedError(f"{self._label} has no mobilizer yet: call tree.finalize() first.")
        return self._mobilizer

    @property
    def num_positions(self) -> int:
        """Number of positions."""
        return len(self._mobilizer_type.position_suffixes)

    @property
    def num_velocities(self) -> int:
        """Number of velocities."""
        return len(self._mobilizer_type.velocity_suffixes)

    @property
    def position_suffixes(self) -> tuple[str, ...]:
        """Suffixes that turn the name of the joint into those of its positions."""
        return self._mobilizer_type.position_suffixes

    @property
    def velocity_suffixes(self) -> tuple[str, ...]:
        """Suffixes that turn the name of the joint into those of its velocities."""
        return self._mobilizer_type.velocity_suffixes

    @property
    def can_rotate(self) -> bool:
        """Whether M can rotate in F."""
        return self._mobilizer_type.can_rotate

    @property
    def can_translate(self) -> bool:
        """Whether Mo can move in F."""
        return self._mobilizer_type.can_translate

    # Pose and velocity of M in F, whatever the coordinates are.

    def get_pose(self, context: ContextCore) -> FloatArray:
        """Return the pose X_FM, shape (4, 4)."""
        X = self.mobilizer.calc_across_mobilizer_transform(context)
        return context._numbers.inverse_pose(X) if self.mobilizer.is_reversed else X

    def get_pose_pair(self, context: ContextCore) -> tuple[FloatArray, FloatArray]:
        """Return the pose X_FM as quaternion ``(w, x, y, z)``, shape (4,), and p_FoMo_F [m], shape (3,)."""
        X_FM = self.get_pose(context)
        return context._numbers.matrix_to_quaternion(X_FM[..., :3, :3]), X_FM[..., :3, 3].copy()

    def get_spatial_velocity(self, context: ContextCore) -> FloatArray:
        """Return the spatial velocity ``V_FM = [w_FM_F; v_FMo_F]`` [rad/s, m/s], shape (6,)."""
        mobilizer = self.mobilizer
        V = mobilizer.calc_across_mobilizer_spatial_velocity(context, self.get_velocities(context))
        if not mobilizer.is_reversed:
            return V
        # V is that of F in M: w_FM = -w_MF, v_FMo = w_MF × p_MoFo - v_MFo, turned into F.
        X_MF = mobilizer.calc_across_mobilizer_transform(context)
        R_FM = transpose(X_MF[..., :3, :3])
        w_MF, v_MFo = cut(V, 3)
        v_FMo = rotate(R_FM, cross(w_MF, X_MF[..., :3, 3]) - v_MFo)
        V_FM: FloatArray = join([rotate(-R_FM, w_MF), v_FMo])
        return V_FM

    # Default positions.

    @property
    def default_pose(self) -> FloatArray:
        """Pose X_FM of a new Context, shape (4, 4)."""
        return self._make_mobilizer()._calc_declared_pose(self._default_positions)

    @property
    def default_pose_pair(self) -> tuple[FloatArray, FloatArray]:
        """Pose X_FM of a new Context as quaternion ``(w, x, y, z)``, shape (4,), and p_FoMo_F, shape (3,)."""
        X_FM = self.default_pose
        return matrix_to_quaternion(X_FM[:3, :3]), X_FM[:3, 3].copy()

    @property
    def default_positions(self) -> FloatArray:
        """Positions of a new Context, shape (num_positions,), read-only; zero unless set."""
        return self._default_positions

    def set_default_positions(self, q: object) -> Self:
        """Set the positions of a new Context, shape (num_positions,), before ``finalize()``.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        """
        self._check_not_finalized(
            "the default positions", "Set the positions of a Context with set_positions()."
        )
        self._default_positions = frozen(self._checked_default_positions(q))
        return self

    def _set_default_part(self, part: slice, values: object, argument: str) -> Self:
        """Set some of the default positions."""
        q = self._default_positions.copy()
        q[part] = as_finite_array(values, f"{self._label}: {argument}", (part.stop - part.start,))
        return self.set_default_positions(q)

    def _checked_default_positions(self, q: object) -> FloatArray:
        return as_finite_array(q, f"{self._label}: default positions", (self.num_positions,))

    # Damping.

    @property
    def default_damping_vector(self) -> FloatArray:
        """Default damping, shape (num_velocities,) [N m s/rad, N s/m], read-only."""
        return self._damping

    def set_default_damping_vector(self, damping: object) -> Self:
        """Set the default damping, shape (num_velocities,) [N m s/rad, N s/m], before ``finalize()``."""
        self._check_not_finalized("the default damping", "Set that of a Context with set_damping_vector().")
        self._damping = self._checked_damping(damping)
        return self

    def get_damping_vector(self, context: ContextCore) -> FloatArray:
        """Return the damping in `context`, shape (num_velocities,) [N m s/rad, N s/m]."""
        check_context(self, context)
        start = self.velocity_start
        damping = [context._get_number("damping", dof) for dof in range(start, start + self.num_velocities)]
        vector: FloatArray = context._numbers.stack(damping)
        return vector

    def set_damping_vector(self, context: ContextCore, damping: object) -> Self:
        """Set the damping in `context`, shape (num_velocities,) [N m s/rad, N s/m]."""
        check_context(self, context)
        numbers, start = context._numbers, self.velocity_start
        vector = self._checked_damping(damping, numbers)
        if numbers is DOUBLES and self.num_velocities:
            # The constants of one joint are contiguous.
            context._set_entries("damping", start, 0, vector)
            return self
        for i in range(self.num_velocities):
            set_parameter(self, context, "damping", start + i, numbers.entry(vector, i))
        return self

    def _checked_damping(self, damping: object, numbers: Numbers = DOUBLES) -> FloatArray:
        shape = (self.num_velocities,)
        if (
            numbers is DOUBLES
            and is_list_of_floats(damping, shape)
            and math.isfinite(sum(damping))
            and min(damping, default=0.0) >= 0.0
        ):
            return shared_array(damping)
        self._checked(check_no_booleans, damping, "damping")
        checked = self._checked(numbers.as_nonnegative_array, damping, "damping", shape)
        vector: FloatArray = numbers.frozen(checked)
        return vector

    # Forces along this joint.

    def add_in_one_force(
        self, context: ContextCore, joint_dof: int, joint_tau: object, forces: Forces
    ) -> None:
        """Add a force along one velocity of this joint to `forces`.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its values do not matter.
        joint_dof : int
            Index of the velocity in the joint, from 0.
        joint_tau : float
            The force [N m, N]; an array of ``forces.batch_shape`` gives each sample its own.
        forces : MultibodyForces
            Forces on the same tree.

        Raises
        ------
        ContextMismatchError
            When `context` or `forces` belong to another tree.
        ElementIndexError
            When the joint has no such velocity.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
        >>> tree.finalize()
        >>> forces = mbt.MultibodyForces(tree)
        >>> hinge.add_in_one_force(tree.create_default_context(), 0, 2.5, forces)
        >>> forces.generalized_forces
        array([2.5])
        """
        check_context(self, context)
        check_forces(self, forces)
        dof = joint_dof
        # In usual cases no message is prepared: that takes longer than all else.
        if not (type(dof) is int and 0 <= dof < self.num_velocities):
            what = f"{self._label}: joint_dof"
            dof = as_index(joint_dof, what, self.num_velocities, "velocity of the joint")
        numbers = context._numbers
        tau = joint_tau
        if not (isinstance(tau, float) and numbers is DOUBLES):
            tau = self._checked(numbers.as_float_array, tau, "joint_tau")
            if tau.ndim:
                tau = self._checked(numbers.as_float_array, tau, "joint_tau", forces.batch_shape)
        forces._add_to_dof(self.velocity_start + dof, tau)

    def add_in_damping(self, context: ContextCore, forces: Forces) -> None:
        """Add the viscous damping of this joint, ``-damping * v``, to `forces`.

        Parameters
        ----------
        context : Context
            Supplies velocities and damping.
        forces : MultibodyForces
            Forces on the same tree.

        Raises
        ------
        ContextMismatchError
            When `context` or `forces` belong to another tree.
        """
        check_context(self, context)
        check_forces(self, forces)
        if self.num_velocities == 1 and context._numbers is DOUBLES:
            start = self.velocity_start
            forces._add_to_dof(start, -context._get_number("damping", start) * float(context.v[start]))
            return
        tau = -self.get_damping_vector(context) * self.get_velocities(context)
        forces._add_to_dofs(self.velocity_start, tau)

    # For the tree.

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return (self._frame_on_parent, "frame_on_parent"), (self._frame_on_child, "frame_on_child")

    @abstractmethod
    def _make_mobilizer(self) -> Mobilizer:
        """Return a new mobilizer that models this joint as declared."""

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return f" parent={quote(self.parent_body.name)} child={quote(self.child_body.name)}"


@cache
def _of_new_joints(mobilizer_type: type[Mobilizer]) -> tuple[FloatArray, Limits, Limits]:
    """Return default positions, and limits of positions and velocities: the same for all of a type."""
    positions = frozen(mobilizer_type._zero_positions())
    return positions, no_limits(positions.size), no_limits(len(mobilizer_type.velocity_suffixes))
