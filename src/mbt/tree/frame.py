"""Frames: origins and axes fixed in a body."""

from __future__ import annotations

from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, cast, overload

import numpy as np

from mbt._core.above import above
from mbt._core.api.tree_kinematics import FrameBodyPoseCache
from mbt.errors import ArgumentTypeError, ContextMismatchError, NotFinalizedError, quote
from mbt.math.arrays import FloatArray
from mbt.math.foreign import computing_in
from mbt.math.leading_axes import fold, multiply
from mbt.math.numbers import DOUBLES, Numbers
from mbt.math.poses import IDENTITY, as_pose
from mbt.tree.context_access import check_context, numbers_of, set_parameter
from mbt.tree.element import (
    MultibodyElement,
    call_constructor,
    check_constructed,
    describe_element,
    is_constructed,
)
from mbt.tree.frame_motion import FrameMotion
from mbt.tree.hooks import call_hook
from mbt.tree.indices import FrameIndex, ModelInstanceIndex
from mbt.tree.references import elements_among

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.parameters import Parameters

__all__ = ["BodyFrame", "FixedOffsetFrame", "Frame", "as_frame"]


class Frame(FrameMotion):
    """A frame F fixed in a body B. Its pose X_BF depends on parameters only, never on time or state.

    This is the base class. Most frames are a `FixedOffsetFrame`. Subclass it to write one of your own, with
    a method `do_calc_pose_in_body_frame` that computes the pose from parameters that it declares. The pose,
    and everything computed with the frame, then follows their changes in a Context.

    Parameters
    ----------
    name : str or None
        Name, unique among the frames of the model instance; None: a name is made when the frame is added.
    body : RigidBody
        The body B.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default that of the body.

    Examples
    --------
    The tip of a telescopic rod, whose length is a parameter:

    >>> import mbt
    >>> class Tip(mbt.Frame):
    ...     def do_declare_parameters(self):
    ...         self.length = self.declare_numeric_parameter(1.0)
    ...
    ...     def do_calc_pose_in_body_frame(self, parameters):
    ...         (length,) = parameters.get_numeric_parameter(self.length)
    ...         return mbt.math.make_pose([length, 0, 0])
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tip = tree.add_frame(Tip("tip", rod))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.set_numeric_parameter(tip.length, 2.5)
    >>> tip.calc_pose_in_world(context)[:3, 3]
    array([2.5, 0. , 0. ])
    """

    kind: ClassVar[str] = "frame"
    _adder: ClassVar[str] = "add_frame"

    def __init__(self, name: str | None, body: RigidBody, model_instance: int | None = None) -> None:
        # A body has a body frame; RigidBody itself is built on this module.
        if not hasattr(type(body), "body_frame"):
            raise ArgumentTypeError(
                f"{type(self).__name__}: body: expected a RigidBody, got {type(body).__name__}"
            )
        if not is_constructed(body):
            check_constructed(body, f"{type(self).__name__}: body")
        super().__init__(name, body.model_instance if model_instance is None else model_instance)
        self._body = body

    @property
    def index(self) -> FrameIndex:
        """Index of this frame in its tree."""
        return FrameIndex(self._checked_index())

    @property
    def body(self) -> RigidBody:
        """The body in which this frame is fixed."""
        return self._body

    @property
    def link(self) -> RigidBody:
        """The body in which this frame is fixed: the same as `body`."""
        return self._body

    @property
    def is_world_frame(self) -> bool:
        """Whether this is the frame of the world body."""
        return self.is_body_frame and self._body.is_world

    @property
    def is_body_frame(self) -> bool:
        """Whether this is the frame of its body."""
        return False

    @property
    def is_link_frame(self) -> bool:
        """Whether this is the frame of its body: the same as `is_body_frame`."""
        return self.is_body_frame

    # Pose in the body, X_BF.

    def get_fixed_pose_in_body_frame(self) -> FloatArray:
        """Return the default pose X_BF of this frame F in its body frame B, shape (4, 4).

        Like the next three, it returns an array in the scalar of the tree: in clones an `AutoDiffArray`
        without derivatives, or an array of objects.
        """
        return self._as_numbers_of_tree(self._default_pose())

    def get_fixed_rotation_matrix_in_body_frame(self) -> FloatArray:
        """Return the default rotation R_BF of this frame F in its body frame B, shape (3, 3)."""
        return self._as_numbers_of_tree(self._default_pose()[:3, :3].copy())

    def get_fixed_offset_pose_in_body(self, X_FQ: object) -> FloatArray:
        """Return the default pose X_BQ in the body frame B of a frame Q posed in this one, shape (4, 4)."""
        X = self._numbers_of_tree.as_pose(X_FQ, "X_FQ")
        X_BQ: FloatArray = multiply(self.get_fixed_pose_in_body_frame(), X)
        return X_BQ

    def get_fixed_rotation_matrix_in_body(self, R_FQ: object) -> FloatArray:
        """Return the default rotation R_BQ in the body frame B of a frame Q turned in this one."""
        R = self._numbers_of_tree.as_rotation(R_FQ, "R_FQ")
        R_BQ: FloatArray = multiply(self.get_fixed_rotation_matrix_in_body_frame(), R)
        return R_BQ

    def eval_pose_in_body_frame(self, context: ContextCore) -> FloatArray:
        """Return the pose X_BF of this frame F in its body frame B, shape (4, 4), cached and read-only.

        The first call after a parameter of `context` has changed computes the poses of all frames.
        """
        return self.get_X_BF(self.parent_tree.eval_frame_body_poses(context))

    def calc_pose_in_body_frame(self, context: ContextCore) -> FloatArray:
        """Return the pose X_BF of this frame F in its body frame B, with the parameters of `context`.

        Returns
        -------
        ndarray, shape (4, 4)

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        """
        check_context(self, context)
        return self._pose_of(context)

    def _pose_of(self, context: ContextCore) -> FloatArray:
        """Return X_BF of this frame; the Context was checked before."""
        offsets, base = self._offsets_to_base()
        X_BF = base._pose_of_base(context)
        for frame in reversed(offsets):
            X_PF = frame._own_pose(context)
            X_BF = X_PF if X_BF is IDENTITY else multiply(X_BF, X_PF)
        return X_BF if offsets else X_BF.copy()

    def calc_rotation_matrix_in_body_frame(self, context: ContextCore) -> FloatArray:
        """Return the rotation R_BF of this frame F in its body frame B, with the parameters of `context`."""
        if self._is_user_defined:
            parameters, numbers = self._parameters_of(context), numbers_of(self, context)
            with computing_in(numbers):
                R_BF = call_hook(self, "do_calc_rotation_matrix_in_body_frame", parameters)
            return numbers.as_rotation(R_BF, self._what("do_calc_rotation_matrix_in_body_frame"))
        R: FloatArray = self.calc_pose_in_body_frame(context)[..., :3, :3].copy()
        return R

    def calc_offset_pose_in_body(self, context: ContextCore, X_FQ: object) -> FloatArray:
        """Return the pose X_BQ in the body frame B of a frame Q posed in this one, shape (4, 4)."""
        numbers = numbers_of(self, context)
        X = numbers.as_pose(X_FQ, "X_FQ")
        if self._is_user_defined:
            parameters = self._parameters_of(context)
            with computing_in(numbers):
                X_BQ = call_hook(self, "do_calc_offset_pose_in_body", parameters, X)
            return numbers.as_pose(X_BQ, self._what("do_calc_offset_pose_in_body"))
        return cast("FloatArray", multiply(self._pose_of(context), X))

    def calc_offset_rotation_matrix_in_body(self, context: ContextCore, R_FQ: object) -> FloatArray:
        """Return the rotation R_BQ in the body frame B of a frame Q turned in this one, shape (3, 3)."""
        numbers = numbers_of(self, context)
        R = numbers.as_rotation(R_FQ, "R_FQ")
        if self._is_user_defined:
            parameters = self._parameters_of(context)
            with computing_in(numbers):
                R_BQ = call_hook(self, "do_calc_offset_rotation_matrix_in_body", parameters, R)
            return numbers.as_rotation(R_BQ, self._what("do_calc_offset_rotation_matrix_in_body"))
        return cast("FloatArray", multiply(self._pose_of(context)[..., :3, :3].copy(), R))

    # From the poses of all frames that `tree.eval_frame_body_poses(context)` returns. Every body has a
    # mobilizer of its own, so its frame (L of a link) is also the frame B that moves.

    def get_X_LF(self, frame_body_poses: FrameBodyPoseCache) -> FloatArray:
        """Return the pose X_LF of this frame F in the frame of its link, shape (4, 4): the same as X_BF."""
        return self.get_X_BF(frame_body_poses)

    def get_X_BF(self, frame_body_poses: FrameBodyPoseCache) -> FloatArray:
        """Return the pose X_BF of this frame F in its body frame B, shape (4, 4), read-only."""
        X_BF: FloatArray = self._checked_poses(frame_body_poses).X_BF[..., self._index, :, :]
        return X_BF

    def get_X_FB(self, frame_body_poses: FrameBodyPoseCache) -> FloatArray:
        """Return the pose X_FB of the body frame B in this frame F, shape (4, 4), read-only."""
        X_FB: FloatArray = self._checked_poses(frame_body_poses).X_FB[..., self._index, :, :]
        return X_FB

    def is_X_BF_identity(self, frame_body_poses: FrameBodyPoseCache) -> bool:
        """Return whether the pose X_BF of this frame F in its body frame B is exactly the identity."""
        return bool(self._checked_poses(frame_body_poses).is_X_BF_identity[self._index])

    def _checked_poses(self, frame_body_poses: FrameBodyPoseCache) -> FrameBodyPoseCache:
        """Return the argument, if it has the poses of this tree."""
        if not isinstance(frame_body_poses, FrameBodyPoseCache):
            raise ArgumentTypeError(
                "frame_body_poses: expected the result of tree.eval_frame_body_poses(context), "
                f"got {type(frame_body_poses).__name__}"
            )
        if not frame_body_poses.is_of(self.parent_tree):
            raise ContextMismatchError(
                f"frame_body_poses: expected those of the tree of {self._label}, got those of another tree"
            )
        return frame_body_poses

    # Pose in World and in other frames.

    def calc_pose_in_world(self, context: ContextCore) -> FloatArray:
        """Return the pose X_WF of this frame in World, shape (4, 4)."""
        return self.calc_pose(context, self.parent_tree.world_frame)

    def calc_pose(self, context: ContextCore, frame_M: Frame) -> FloatArray:
        """Return the pose X_MF of this frame in another one.

        Parameters
        ----------
        context : Context
            State and parameters.
        frame_M : Frame
            The frame to measure in.

        Returns
        -------
        ndarray, shape (4, 4)

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        ForeignElementError
            When `frame_M` belongs to another tree.
        """
        return self.parent_tree.calc_relative_transform(context, frame_M, self)

    def calc_rotation_matrix_in_world(self, context: ContextCore) -> FloatArray:
        """Return the rotation R_WF of this frame in World, shape (3, 3)."""
        return self.calc_rotation_matrix(context, self.parent_tree.world_frame)

    def calc_rotation_matrix(self, context: ContextCore, frame_M: Frame) -> FloatArray:
        """Return the rotation R_MF of this frame in another one, shape (3, 3)."""
        return self.parent_tree.calc_relative_rotation_matrix(context, frame_M, self)

    # Called by `MultibodyTree.clone` and `clone_to_scalar`.

    def do_clone_to_scalar(self, tree_clone: MultibodyTree) -> Self:
        """Return a new frame like this one for a clone of its tree; see `ForceElement.do_clone_to_scalar`."""
        return cast("Self", above.clone_attributes(self, tree_clone))

    # Methods that a subclass written in Python overrides.

    def do_calc_pose_in_body_frame(self, parameters: Parameters) -> Any:
        """Return the pose X_BF, shape (4, 4), from the parameters alone. A subclass must override it.

        Parameters
        ----------
        parameters : Parameters
            Values of declared parameters: ``parameters.get_numeric_parameter(index)``.
        """
        raise ArgumentTypeError(
            f"{type(self).__name__}: expected a method do_calc_pose_in_body_frame(self, parameters)"
        )

    def do_calc_rotation_matrix_in_body_frame(self, parameters: Parameters) -> Any:
        """Return the rotation R_BF, shape (3, 3): that of `do_calc_pose_in_body_frame` by default.

        This and the next two methods are shortcuts for callers that need nothing else. A subclass that
        overrides them must agree with its `do_calc_pose_in_body_frame`, which all other computations use.
        """
        return _as_array(self.do_calc_pose_in_body_frame(parameters))[..., :3, :3]

    def do_calc_offset_pose_in_body(self, parameters: Parameters, X_FQ: FloatArray) -> Any:
        """Return the pose X_BQ = X_BF X_FQ, shape (4, 4)."""
        return _as_array(self.do_calc_pose_in_body_frame(parameters)) @ X_FQ

    def do_calc_offset_rotation_matrix_in_body(self, parameters: Parameters, R_FQ: FloatArray) -> Any:
        """Return the rotation R_BQ = R_BF R_FQ, shape (3, 3)."""
        return _as_array(self.do_calc_rotation_matrix_in_body_frame(parameters)) @ R_FQ

    def do_get_fixed_pose_in_body_frame(self) -> Any:
        """Return the default pose X_BF, shape (4, 4), at the default parameters of a finalized tree.

        A subclass may override it to return the pose earlier; both must agree.
        """
        if self._tree is None or not self._tree.is_finalized:
            raise NotFinalizedError(
                f"{self._label}: its default pose is known after tree.finalize(), as its parameters are."
            )
        return self.do_calc_pose_in_body_frame(self._tree._default_parameters())

    def do_declare_parameters(self) -> None:
        """Declare parameters; calls `do_declare_frame_parameters`."""
        self.do_declare_frame_parameters()

    def do_set_default_parameters(self, parameters: Parameters) -> None:
        """Write other defaults; calls `do_set_default_frame_parameters`."""
        self.do_set_default_frame_parameters(parameters)

    @classmethod
    def _declares(cls, hook: str) -> bool:
        if hook == "declare_parameters" and cls.do_declare_parameters is Frame.do_declare_parameters:
            # Frame's own method only calls do_declare_frame_parameters.
            return cls.do_declare_frame_parameters is not Frame.do_declare_frame_parameters
        return super()._declares(hook)

    def do_declare_frame_parameters(self) -> None:
        """Declare parameters with `declare_numeric_parameter`. Does nothing by default."""

    def do_set_default_frame_parameters(self, parameters: Parameters) -> None:
        """Write defaults other than those declared into `parameters`. Does nothing by default."""

    # For the tree.

    @property
    def _is_user_defined(self) -> bool:
        """Whether its pose is computed in Python."""
        return type(self).do_calc_pose_in_body_frame is not Frame.do_calc_pose_in_body_frame

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        others = elements_among(self) if self._is_user_defined else ()
        return ((self._body, "body"), *others)

    def _calc_user_pose(self, parameters: Parameters, numbers: Numbers = DOUBLES) -> FloatArray:
        """Return the pose X_BF that a subclass computes, checked."""
        with computing_in(numbers):
            X_BF = call_hook(self, "do_calc_pose_in_body_frame", parameters)
        pose: FloatArray = numbers.as_pose(X_BF, self._what("do_calc_pose_in_body_frame"))
        return pose

    def _parameters_of(self, context: Any) -> Parameters:
        """Return the declared parameters, with the values of a Context."""
        check_context(self, context)
        parameters: Parameters = context.parameters
        return parameters

    def _what(self, method: str) -> str:
        """Return how messages name the result of a subclass's method."""
        return f"{self._label}: {type(self).__name__}.{method}"

    @property
    def _numbers_of_tree(self) -> Numbers:
        """Checks and conversions for the scalar of its tree; those for doubles before it has a tree."""
        return DOUBLES if self._tree is None else self._tree._numbers

    def _as_numbers_of_tree(self, array: FloatArray) -> FloatArray:
        """Return an array of doubles in the scalar of its tree."""
        numbers = self._numbers_of_tree
        return array if numbers is DOUBLES else numbers.as_float_array(array, "pose")

    def _default_pose(self) -> FloatArray:
        """Return the default pose X_BF in doubles, whatever the scalar of the tree."""
        offsets, base = self._offsets_to_base()
        X_BF = base._default_pose_of_base()
        for frame in reversed(offsets):
            X_BF = frame._X_PF if X_BF is IDENTITY else multiply(X_BF, frame._X_PF)
        return X_BF if len(offsets) > 1 else X_BF.copy()

    def _offsets_to_base(self) -> tuple[list[FixedOffsetFrame], Frame]:
        """Return the chain of offset frames from this one, which comes first, and the frame at its base."""
        offsets = []
        frame: Frame = self
        while isinstance(frame, FixedOffsetFrame):
            offsets.append(frame)
            frame = frame.parent_frame
        return offsets, frame

    def _default_pose_of_base(self) -> FloatArray:
        """Return the default pose X_BF of a frame without an offset."""
        X_BF = call_hook(self, "do_get_fixed_pose_in_body_frame")
        return as_pose(X_BF, self._what("do_get_fixed_pose_in_body_frame"))

    def _pose_of_base(self, context: ContextCore) -> FloatArray:
        """Return the pose X_BF of a frame without an offset."""
        return self._own_pose(context)

    def _own_pose(self, context: ContextCore) -> FloatArray:
        """Return the pose of this frame alone in `context`: X_PF, or X_BF."""
        part = context._get_parameter("frame_pose", self._index)
        return part.reshape(4, 4) if part.ndim == 1 else fold(part, 4, 4)

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return f" body={quote(self._body.name)}"


def _as_array(matrix: Any) -> Any:
    """Return the result of a subclass as an array; arrays of any scalar stay as they are."""
    return matrix if hasattr(matrix, "shape") else np.asarray(matrix)


class BodyFrame(Frame):
    """The frame of a body: its pose in the body is the identity. Every body comes with one."""

    _adder: ClassVar[str] = "add_body"

    def __init__(self, body: RigidBody) -> None:
        super().__init__(None, body, body.model_instance)

    @classmethod
    def _of_body(cls, body: RigidBody) -> Self:
        """Return the frame of a body that is being constructed."""
        frame = cls.__new__(cls)
        frame._begin(None, body._model_instance)
        frame._body = body
        return frame

    @property
    def name(self) -> str:
        """Name of the body."""
        return self._body.name

    @property
    def is_body_frame(self) -> bool:
        """Whether this is the frame of its body."""
        return True

    def do_calc_pose_in_body_frame(self, parameters: Parameters) -> FloatArray:
        """Return the identity, shape (4, 4)."""
        return IDENTITY.copy()

    def do_get_fixed_pose_in_body_frame(self) -> FloatArray:
        """Return the identity, shape (4, 4)."""
        return IDENTITY.copy()

    @property
    def _is_user_defined(self) -> bool:
        return False

    def _default_pose_of_base(self) -> FloatArray:
        return IDENTITY

    def _pose_of_base(self, context: ContextCore) -> FloatArray:
        batch_shape: tuple[int, ...] = context.batch_shape  # type: ignore[attr-defined]
        return np.broadcast_to(IDENTITY, (*batch_shape, 4, 4)) if batch_shape else IDENTITY

    @property
    def _label(self) -> str:
        return f"body frame {quote(self.name)}"


class FixedOffsetFrame(Frame):
    """A frame F at a fixed pose X_PF in a parent frame P.

    Write ``FixedOffsetFrame(name, P, X_PF)``, or ``FixedOffsetFrame(P, X_PF)`` for a frame that is given a
    name when it is added.

    Parameters
    ----------
    name : str, optional
        Name, unique among the frames of the model instance.
    P : Frame or RigidBody
        The parent frame; a body stands for its body frame.
    X_PF : array_like, shape (4, 4), optional
        Pose of F in P, or an object whose ``as_matrix()`` has that shape; by default the identity. It is the
        default of a parameter of each Context.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default that of P.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> make_pose = mbt.math.make_pose
    >>> camera = tree.add_frame(mbt.FixedOffsetFrame("camera", tree.world_body, make_pose([0, 0, 2])))
    >>> lens = tree.add_frame(mbt.FixedOffsetFrame("lens", camera, make_pose([0, 0, 0.1])))
    >>> lens.get_fixed_pose_in_body_frame()[:3, 3]
    array([0. , 0. , 2.1])
    """

    @overload
    def __init__(
        self, name: str, P: Frame | RigidBody, X_PF: object = None, model_instance: int | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, P: Frame | RigidBody, X_PF: object = None, model_instance: int | None = None
    ) -> None: ...

    def __init__(self, *args: object, **kwargs: object) -> None:
        if "name" not in kwargs and not (args and isinstance(args[0], (str, NoneType))):
            args = (None, *args)
        call_constructor(type(self).__name__, self._construct, args, kwargs)

    def _construct(
        self,
        name: str | None,
        P: Frame | RigidBody,
        X_PF: object = None,
        model_instance: int | None = None,
    ) -> None:
        what = type(self).__name__ if name is None else f"{type(self).__name__} {quote(name)}"
        parent = as_frame(P, f"{what}: P")
        if not is_constructed(parent):
            check_constructed(parent, f"{what}: P")
        X = _frozen_pose(X_PF, f"{what}: X_PF")
        super().__init__(
            name, parent.body, parent.model_instance if model_instance is None else model_instance
        )
        self._parent_frame = parent
        self._X_PF = X

    # What `help` and editors show.
    __init__.__wrapped__ = _construct  # type: ignore[attr-defined]

    @classmethod
    def _of_checked(cls, name: str, P: Frame, X_PF: FloatArray, model_instance: ModelInstanceIndex) -> Self:
        """Return a frame made from data that a reader has checked; it keeps the pose without a copy."""
        X_PF.setflags(write=False)
        frame = cls.__new__(cls)
        frame._begin(name, model_instance)
        frame._body = P._body
        frame._parent_frame = P
        frame._X_PF = X_PF
        return frame

    @property
    def parent_frame(self) -> Frame:
        """The frame P in which the pose is given."""
        return self._parent_frame

    def get_fixed_pose_in_parent_frame(self) -> FloatArray:
        """Return the default pose X_PF, shape (4, 4), in the scalar of the tree."""
        return self._as_numbers_of_tree(self._X_PF.copy())

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        return ((self._parent_frame, "parent_frame"),)

    def set_default_pose_in_parent_frame(self, X_PF: object) -> Self:
        """Set the default pose X_PF, shape (4, 4), before ``finalize()``.

        Raises
        ------
        ArgumentValueError
            When `X_PF` is not a pose.
        AlreadyFinalizedError
            When the tree is finalized.
        """
        self._check_not_finalized(
            "the default pose", "Set that of a Context with set_pose_in_parent_frame()."
        )
        self._X_PF = _frozen_pose(X_PF, f"{self._label}: X_PF")
        return self

    def get_pose_in_parent_frame(self, context: ContextCore) -> FloatArray:
        """Return the pose X_PF in `context`, shape (4, 4)."""
        check_context(self, context)
        return self._own_pose(context)

    def set_pose_in_parent_frame(self, context: ContextCore, X_PF: object) -> Self:
        """Set the pose X_PF in `context`, shape (4, 4).

        Raises
        ------
        ArgumentValueError
            When `X_PF` is not a pose.
        ContextMismatchError
            When `context` belongs to another tree.
        """
        set_parameter(
            self,
            context,
            "frame_pose",
            self.index,
            self._checked(numbers_of(self, context).as_pose, X_PF, "X_PF"),
        )
        return self


def _frozen_pose(X_PF: object, what: str) -> FloatArray:
    X = IDENTITY if X_PF is None or X_PF is IDENTITY else as_pose(X_PF, what)
    X.flags.writeable = False
    return X


def as_frame(value: object, argument: str) -> Frame:
    """Return a frame; a body stands for its body frame."""
    frame = getattr(value, "body_frame", value)
    if not isinstance(frame, Frame):
        got = describe_element(value, ["Frame", "RigidBody"])
        raise ArgumentTypeError(f"{argument}: expected a Frame or a RigidBody, got {got}")
    return frame
