"""Mobilizers: the motion of a body relative to its inboard body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt._core.api import tree_mobilizers
from mbt._core.model.element_types import MobilizerType, Orientation
from mbt.errors import ArgumentTypeError, TopologyError, quote
from mbt.math.arrays import FloatArray
from mbt.tree.context_access import check_context
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.element import MultibodyElement, check_element, is_constructed
from mbt.tree.frame import Frame
from mbt.tree.indices import MobilizerIndex

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.constants import Constant
    from mbt.tree.joint import Joint
    from mbt.tree.mobilizer_topology import MobilizerTopology
else:

    def __getattr__(name: str) -> object:
        """Import a class that pickles find here."""
        if name != "MobilizerTopology":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from mbt.tree.mobilizer_topology import MobilizerTopology

        return MobilizerTopology


__all__ = ["Mobilizer"]


class Mobilizer(CoordinateOwner):
    """The connection of the inboard frame F to the outboard frame M; the body of F is nearer World.

    Every body but World has exactly one mobilizer after ``finalize()``. Most are made from joints; those that
    a user adds with ``tree.add_mobilizer()`` have no joint. The types are fixed: they run in compiled
    kernels.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects, on two bodies.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    TopologyError
        When both frames are the same, or on one body.
    """

    kind: ClassVar[str] = "mobilizer"
    _adder: ClassVar[str] = "add_mobilizer"

    # A type: its row in the compiled core, its constants, and the names of its coordinates.
    _type: ClassVar[MobilizerType]
    _made_with: ClassVar[tuple[Constant, ...]] = ()
    #: Suffixes that turn the name of the joint into those of its positions.
    position_suffixes: ClassVar[tuple[str, ...]] = ()
    #: Suffixes that turn the name of the joint into those of its velocities.
    velocity_suffixes: ClassVar[tuple[str, ...]] = ()
    #: Whether the outboard frame can rotate in the inboard one.
    can_rotate: ClassVar[bool] = False
    #: Whether its origin can move.
    can_translate: ClassVar[bool] = False

    def __init__(
        self, inboard_frame_F: Frame, outboard_frame_M: Frame, *, model_instance: int | None = None
    ) -> None:
        what = type(self).__name__
        if not hasattr(self, "_type"):
            raise ArgumentTypeError(f"{what}: no compiled kernel has this type: use one of mbt's mobilizers")
        for argument, frame in (("inboard_frame_F", inboard_frame_F), ("outboard_frame_M", outboard_frame_M)):
            if not is_constructed(frame, Frame):
                check_element(frame, Frame, f"{what}: {argument}")
        if inboard_frame_F is outboard_frame_M:
            raise TopologyError(
                f"{what}: expected two different frames, got {inboard_frame_F._label} for both"
            )
        if inboard_frame_F.body is outboard_frame_M.body:
            raise TopologyError(
                f"{what}: expected frames on two different bodies, but {inboard_frame_F._label} and "
                f"{outboard_frame_M._label} are both on {inboard_frame_F.body._label}"
            )
        super().__init__(None, model_instance)
        self._hold(inboard_frame_F, outboard_frame_M)

    @classmethod
    def _between_ends_of(cls, joint: Joint) -> Self:
        """Return a mobilizer between the frames of a joint, still without its constants."""
        mobilizer = cls.__new__(cls)
        # Like `_begin` and `_hold`, in half the time.
        mobilizer._name = None
        mobilizer._model_instance = joint._model_instance
        mobilizer._tree = None
        mobilizer._index = -1
        mobilizer._is_ephemeral = False
        mobilizer._position_start = mobilizer._velocity_start = -1
        mobilizer._declared_F = joint._frame_on_parent
        mobilizer._declared_M = joint._frame_on_child
        mobilizer._is_reversed = False
        mobilizer._joint = None
        return mobilizer

    def _hold(self, inboard_frame_F: Frame, outboard_frame_M: Frame) -> None:
        # F and M as declared. If its child is nearer World, a joint makes a mobilizer that goes from M to F.
        self._declared_F = inboard_frame_F
        self._declared_M = outboard_frame_M
        self._is_reversed = False
        self._joint: Joint | None = None

    @property
    def index(self) -> MobilizerIndex:
        """Index of this mobilizer in its tree."""
        return MobilizerIndex(self._checked_index())

    @property
    def joint(self) -> Joint | None:
        """The joint that this mobilizer models; None for one added with ``tree.add_mobilizer()``."""
        return self._joint

    @property
    def _label_of_joint(self) -> str:
        return self._label if self._joint is None else self._joint._label

    @property
    def is_reversed(self) -> bool:
        """Whether the child of the joint is the inboard body.

        Positions and velocities still describe the joint as declared. Quantities of the mobilizer, such as
        its axis, go from inboard to outboard.
        """
        return self._is_reversed

    @property
    def inboard_frame(self) -> Frame:
        """The frame F, on the body nearer World."""
        return self._declared_M if self._is_reversed else self._declared_F

    @property
    def outboard_frame(self) -> Frame:
        """The frame M, on the body that this mobilizer moves."""
        return self._declared_F if self._is_reversed else self._declared_M

    @property
    def inboard_body(self) -> RigidBody:
        """The body of the inboard frame."""
        return self.inboard_frame.body

    @property
    def outboard_body(self) -> RigidBody:
        """The body of the outboard frame: the one that this mobilizer moves."""
        return self.outboard_frame.body

    @property
    def num_positions(self) -> int:
        """Number of positions."""
        return len(self.position_suffixes)

    @property
    def num_velocities(self) -> int:
        """Number of velocities."""
        return len(self.velocity_suffixes)

    @property
    def topology(self) -> MobilizerTopology:
        """The place of this mobilizer in the forest, after ``finalize()``."""
        index, tree = self.index, self.parent_tree
        if not tree.is_finalized:
            return self._make_topology()  # This raises the error that says what is not known yet.
        topology: MobilizerTopology = tree._fact("topology", self._make_topology, ("mobilizer", index))
        return topology

    def _make_topology(self) -> MobilizerTopology:
        from mbt.tree.mobilizer_topology import MobilizerTopology

        return MobilizerTopology(
            index=self.index,
            inboard_frame=self.inboard_frame.index,
            outboard_frame=self.outboard_frame.index,
            inboard_body=self.inboard_body.index,
            outboard_body=self.outboard_body.index,
            body_node=self.outboard_body.node_index,
            num_positions=self.num_positions,
            positions_start=self.position_start,
            num_velocities=self.num_velocities,
            velocities_start=self.velocity_start,
        )

    @property
    def has_six_dofs(self) -> bool:
        """Whether the outboard body moves freely."""
        return self.num_velocities == 6

    @property
    def has_quaternion_dofs(self) -> bool:
        """Whether the positions begin with a quaternion."""
        return self.position_suffixes[:1] == ("qw",)

    @property
    def is_velocity_equal_to_qdot(self) -> bool:
        """Whether ``qdot = v`` in every configuration."""
        return self._type.row.orientation == Orientation.PLAIN

    # Motion across the mobilizer: the outboard frame in the inboard one.

    def calc_across_mobilizer_transform(self, context: ContextCore) -> FloatArray:
        """Return the pose of the outboard frame in the inboard frame, X_FM, shape (4, 4).

        F is the inboard and M the outboard frame here and in the methods that follow. Where the joint is
        reversed, its own F and M are the other way round.
        """
        result: FloatArray = tree_mobilizers.across_transform(context, self._checked_node(context))
        return result

    def calc_hinge_matrix(self, context: ContextCore) -> FloatArray:
        """Return H_FM with ``V_FM = H_FM v``, shape (6, num_velocities), expressed in F."""
        result: FloatArray = tree_mobilizers.across_H(context, self._checked_node(context))
        return result

    def calc_across_mobilizer_spatial_velocity(self, context: ContextCore, v: npt.ArrayLike) -> FloatArray:
        """Return ``V_FM = H_FM(q) v`` [rad/s, m/s], shape (6,): velocity of M in F, expressed in F.

        Parameters
        ----------
        context : Context
            A Context of this tree; only its q matters.
        v : array_like, shape (num_velocities,)
            Velocities of this mobilizer [rad/s, m/s].
        """
        result: FloatArray = tree_mobilizers.across_velocity(context, self._checked_node(context), v)
        return result

    def calc_across_mobilizer_spatial_acceleration(
        self, context: ContextCore, vdot: npt.ArrayLike
    ) -> FloatArray:
        """Return ``A_FM = H_FM(q) vdot + Hdot_FM(q, v) v`` [rad/s^2, m/s^2], shape (6,), in F.

        Parameters
        ----------
        context : Context
            A Context of this tree; only its q and v matter.
        vdot : array_like, shape (num_velocities,)
            Accelerations of this mobilizer [rad/s^2, m/s^2].
        """
        result: FloatArray = tree_mobilizers.across_acceleration(context, self._checked_node(context), vdot)
        return result

    def project_spatial_force(
        self, context: ContextCore, F_Mo_F: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``tau = H_FM' F_Mo_F``: the force along each velocity of a spatial force on M.

        Parameters
        ----------
        context : Context
            A Context of this tree; only its q matters.
        F_Mo_F : array_like, shape (6,)
            Spatial force ``[torque; force]`` on M at Mo, expressed in F [N m, N].
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_velocities,)
            Generalized forces [N m, N].
        """
        result: FloatArray = tree_mobilizers.project_force(context, self._checked_node(context), F_Mo_F, out)
        return result

    # Between v and qdot.

    def map_velocity_to_qdot(
        self, context: ContextCore, v: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``qdot = N(q) v``, shape (num_positions,).

        Parameters
        ----------
        context : Context
            A Context of this tree; only its q matters.
        v : array_like, shape (num_velocities,)
            Velocities of this mobilizer [rad/s, m/s].
        out : ndarray, shape (num_positions,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            At gimbal lock, |cos(pitch)| < 1e-3 of roll-pitch-yaw angles, where N is undefined.
        """
        result: FloatArray = tree_mobilizers.velocity_to_qdot(context, self._checked_node(context), v, out)
        return result

    def map_qdot_to_velocity(
        self, context: ContextCore, qdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``v = N+(q) qdot``, shape (num_velocities,), exact when ``qdot = N(q) v`` for some v.

        Parameters
        ----------
        context : Context
            A Context of this tree; only its q matters.
        qdot : array_like, shape (num_positions,)
            Time derivatives of the positions of this mobilizer.
        out : ndarray, shape (num_velocities,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.
        """
        result: FloatArray = tree_mobilizers.qdot_to_velocity(context, self._checked_node(context), qdot, out)
        return result

    def map_acceleration_to_qddot(
        self, context: ContextCore, vdot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``qddot = N(q) vdot + Ndot(q, v) v``, shape (num_positions,).

        Raises SingularityError at gimbal lock, like `map_velocity_to_qdot`.
        """
        result: FloatArray = tree_mobilizers.acceleration_to_qddot(
            context, self._checked_node(context), vdot, out
        )
        return result

    def map_qddot_to_acceleration(
        self, context: ContextCore, qddot: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return ``vdot = N+(q) qddot + N+dot(q, v) qdot`` with ``qdot = N(q) v``, shape (num_velocities,).

        Raises SingularityError at gimbal lock, like `map_velocity_to_qdot`.
        """
        result: FloatArray = tree_mobilizers.qddot_to_acceleration(
            context, self._checked_node(context), qddot, out
        )
        return result

    def calc_n_matrix(self, context: ContextCore) -> FloatArray:
        """Return N(q) with ``qdot = N v``, shape (num_positions, num_velocities).

        Raises SingularityError at gimbal lock, like `map_velocity_to_qdot`.
        """
        result: FloatArray = tree_mobilizers.N_matrix(context, self._checked_node(context))
        return result

    def calc_nplus_matrix(self, context: ContextCore) -> FloatArray:
        """Return N+(q) with ``v = N+ qdot``, shape (num_velocities, num_positions); ``N+ N = 1``."""
        result: FloatArray = tree_mobilizers.Nplus_matrix(context, self._checked_node(context))
        return result

    def calc_n_dot_matrix(self, context: ContextCore) -> FloatArray:
        """Return the rate of N(q) in the motion of the Context, shape (num_positions, num_velocities).

        Raises SingularityError at gimbal lock, like `map_velocity_to_qdot`.
        """
        result: FloatArray = tree_mobilizers.Ndot_matrix(context, self._checked_node(context))
        return result

    def calc_nplus_dot_matrix(self, context: ContextCore) -> FloatArray:
        """Return the rate of N+(q) in the motion of the Context, shape (num_velocities, num_positions).

        Raises SingularityError at gimbal lock, like `map_velocity_to_qdot`.
        """
        result: FloatArray = tree_mobilizers.Nplusdot_matrix(context, self._checked_node(context))
        return result

    def set_zero_configuration(self, context: ContextCore) -> Self:
        """Set the zero state in a Context: the same as `set_zero_state`."""
        return self.set_zero_state(context)

    def set_zero_state(self, context: ContextCore) -> Self:
        """Set the zero configuration, in which F and M coincide, and the velocities to zero."""
        self.set_positions(context, self._zero_positions())
        return self.set_velocities(context, np.zeros(self.num_velocities))

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return (self._declared_F, "inboard_frame_F"), (self._declared_M, "outboard_frame_M")

    def _model(self, joint: Joint, *, is_reversed: bool) -> None:
        """Make this the mobilizer that models a joint."""
        self._joint = joint
        self._is_reversed = is_reversed
        self._is_ephemeral = True
        self._name = joint._name
        self._model_instance = joint._model_instance

    @classmethod
    def _zero_positions(cls) -> FloatArray:
        """Return the positions of the zero configuration."""
        return np.zeros(len(cls.position_suffixes))

    def _checked_node(self, context: ContextCore) -> int:
        """Check that the Context belongs to this tree, and return the row of the outboard body."""
        check_context(self, context)
        return self.outboard_body._node_index

    def _calc_declared_pose(self, q: FloatArray) -> FloatArray:
        """Return the pose of M in F as declared; the mobilizer need not be in a tree."""
        return tree_mobilizers.declared_pose(self._type, self._constants(), q)

    def _constants(self) -> FloatArray:
        """Return the constants for the compiled core, as declared."""
        return np.zeros(0)

    def _generated_name(self, index: int) -> str:
        """Return the name of the body that this mobilizer moves."""
        return self.outboard_body.name

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        reversed_ = " reversed" if self._is_reversed else ""
        return (
            f" inboard={quote(self.inboard_frame.name)} outboard={quote(self.outboard_frame.name)}{reversed_}"
        )
