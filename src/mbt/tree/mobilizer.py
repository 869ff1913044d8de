"""Mobilizers: how a body may move with respect to the one it hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mbt.errors import ArgumentTypeError, TopologyError
from mbt.math.arrays import FloatArray
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.element import check_element
from mbt.tree.frame import Frame
from mbt.tree.indices import MobilizerIndex

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.context import ContextCore
    from mbt._core.mobilizers import MobilizerType
    from mbt.tree.body import RigidBody
    from mbt.tree.joint import Joint

__all__ = ["Mobilizer"]


class Mobilizer(CoordinateOwner):
    """What connects the inboard frame F to the outboard frame M, the body of F being nearer World.

    Every body but World has exactly one mobilizer after ``finalize()``. Most are made from joints; those that
    a user adds with ``tree.add_mobilizer()`` have no joint. The types are fixed: they run in compiled
    kernels.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects, on two bodies.
    model_instance : ModelInstanceIndex, optional
        The model instance; the default one, 1, unless given.

    Raises
    ------
    TopologyError
        When both frames are one, or on one body.
    """

    kind: ClassVar[str] = "mobilizer"
    _adder: ClassVar[str] = "add_mobilizer"

    # What a type is: its number in the compiled core, its sizes, and how its coordinates are called.
    _type: ClassVar[MobilizerType]
    #: Suffixes that make the name of a position out of that of the joint.
    position_suffixes: ClassVar[tuple[str, ...]] = ()
    #: Suffixes that make the name of a velocity out of that of the joint.
    velocity_suffixes: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, inboard_frame_F: Frame, outboard_frame_M: Frame, *, model_instance: int | None = None
    ) -> None:
        what = type(self).__name__
        if not hasattr(self, "_type"):
            raise ArgumentTypeError(
                f"{what}: no compiled kernel knows this type: use one of the mobilizers that mbt has"
            )
        check_element(inboard_frame_F, Frame, f"{what}: inboard_frame_F")
        check_element(outboard_frame_M, Frame, f"{what}: outboard_frame_M")
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
        # F and M as declared. A joint whose child is nearer World makes a mobilizer that works from M to F.
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
    def is_reversed(self) -> bool:
        """Whether the child of the joint is the inboard body.

        Positions and velocities describe the joint as declared all the same. Quantities of the mobilizer,
        such as its axis, are inboard to outboard.
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

    def set_zero_configuration(self, context: ContextCore) -> Self:
        """Set the positions to the zero configuration, in which F and M coincide."""
        return self.set_positions(context, self._zero_positions())

    def set_zero_state(self, context: ContextCore) -> Self:
        """Set the positions to the zero configuration, and the velocities to zero."""
        return self.set_zero_configuration(context).set_velocities(context, np.zeros(self.num_velocities))

    def _model(self, joint: Joint, *, is_reversed: bool) -> None:
        """Become the mobilizer that models a joint."""
        self._joint = joint
        self._is_reversed = is_reversed
        self._is_ephemeral = True
        self._name = joint.name
        self._model_instance = joint.model_instance

    @classmethod
    def _zero_positions(cls) -> FloatArray:
        """Return the positions of the zero configuration."""
        return np.zeros(len(cls.position_suffixes))

    def _constants(self) -> FloatArray:
        """Return the constants for the compiled core, as declared."""
        return np.zeros(0)

    def _generated_name(self, index: int) -> str:
        """Return the name of the body that this mobilizer moves."""
        return self.outboard_body.name

    def _repr_details(self) -> str:
        """Return what the representation tells beyond the name."""
        reversed_ = " reversed" if self._is_reversed else ""
        return f" inboard={self.inboard_frame.name!r} outboard={self.outboard_frame.name!r}{reversed_}"
