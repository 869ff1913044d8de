"""Curvilinear: motion along a path of straight lines and arcs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from mbt._core.model.element_types import MobilizerType
from mbt.errors import ArgumentTypeError
from mbt.math.arrays import FloatArray
from mbt.tree.constants import Constant
from mbt.tree.coordinates import CoordinateOwner
from mbt.tree.frame import Frame
from mbt.tree.joints.one_dof import OneDofJoint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.samples import number_of_each_sample

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.math.curvilinear_path import PiecewiseConstantCurvatureTrajectory

__all__ = ["CurvilinearJoint", "CurvilinearMobilizer"]


class _Distance(CoordinateOwner):
    """The coordinate and the path of both classes below."""

    _made_with: ClassVar[tuple[Constant, ...]] = (Constant("curvilinear_path", "_path", "path"),)

    _path: PiecewiseConstantCurvatureTrajectory

    @property
    def curvilinear_path(self) -> PiecewiseConstantCurvatureTrajectory:
        """The path of M in F, as declared."""
        return self._path

    @number_of_each_sample
    def get_distance(self, context: ContextCore) -> float:
        """Return the arc length [m]."""
        return self._get_position(context)

    def set_distance(self, context: ContextCore, distance: object) -> Self:
        """Set the arc length [m]."""
        return self._set_position(context, distance, "distance")

    @number_of_each_sample
    def get_tangential_velocity(self, context: ContextCore) -> float:
        """Return the speed along the path [m/s]."""
        return self._get_velocity(context)

    def set_tangential_velocity(self, context: ContextCore, tangential_velocity: object) -> Self:
        """Set the speed along the path [m/s]."""
        return self._set_velocity(context, tangential_velocity, "tangential_velocity")


class CurvilinearMobilizer(_Distance, Mobilizer):
    """M moves in F along a planar path: ``q`` is the arc length, ``v = qdot`` the speed along the path.

    The x axis of M is the tangent of the path, its z axis the normal of the plane. Beyond its ends the path
    continues its first and last pieces.

    Parameters
    ----------
    inboard_frame_F, outboard_frame_M : Frame
        The frames it connects.
    curvilinear_path : PiecewiseConstantCurvatureTrajectory
        The path of M in F.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Raises
    ------
    TopologyError
        When both frames are the same, or on one body.
    """

    _type: ClassVar[MobilizerType] = MobilizerType.CURVILINEAR
    position_suffixes: ClassVar[tuple[str, ...]] = ("q",)
    velocity_suffixes: ClassVar[tuple[str, ...]] = ("v",)
    can_rotate: ClassVar[bool] = True
    can_translate: ClassVar[bool] = True

    def __init__(
        self,
        inboard_frame_F: Frame,
        outboard_frame_M: Frame,
        curvilinear_path: PiecewiseConstantCurvatureTrajectory,
        *,
        model_instance: int | None = None,
    ) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M, model_instance=model_instance)
        self._path = _as_path(curvilinear_path, f"{type(self).__name__}: curvilinear_path")

    def _constants(self) -> FloatArray:
        return self._path._constants()


class CurvilinearJoint(_Distance, OneDofJoint):
    """M moves in F along a planar path: ``q`` is the arc length, ``v = qdot`` the speed along the path.

    The x axis of M is the tangent of the path, its z axis the normal of the plane. Beyond its ends the path
    continues its first and last pieces.

    The limits of the position are the ends of the path, unless it is periodic.

    Parameters
    ----------
    name : str
        Name, unique among the joints of the model instance.
    frame_on_parent, frame_on_child : Frame
        The frames F and M.
    curvilinear_path : PiecewiseConstantCurvatureTrajectory
        The path of M in F.
    damping : float, optional
        Viscous damping of the speed [N s/m], not negative.
    effort_limit : float, optional
        Largest magnitude of the force along the joint [N], not negative. Implicit steps keep to it;
        functions of one state do not.

    Raises
    ------
    ArgumentValueError
        When the damping is negative.
    TopologyError
        When both frames are on one body.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> bead = tree.add_body(mbt.RigidBody("bead", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> path = mbt.PiecewiseConstantCurvatureTrajectory([0, 1, 3], [0, 0.5], [1, 0, 0], [0, 0, 1])
    >>> wire = tree.add_joint(mbt.CurvilinearJoint, "wire", tree.world_body, None, bead, None, path)
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> wire.set_distance(context, 1.0).get_distance(context)
    1.0
    """

    type_name: ClassVar[str] = "curvilinear"
    _mobilizer_type: ClassVar[type[Mobilizer]] = CurvilinearMobilizer

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        curvilinear_path: PiecewiseConstantCurvatureTrajectory,
        damping: float = 0.0,
        *,
        effort_limit: float = math.inf,
    ) -> None:
        super().__init__(name, frame_on_parent, frame_on_child, [damping])
        self._path = _as_path(curvilinear_path, f"{self._label}: curvilinear_path")
        if not self._path.is_periodic:
            self.set_position_limits([0.0], [self._path.length])
        self.set_effort_limit(effort_limit)

    @property
    def default_distance(self) -> float:
        """Arc length of a new Context [m]."""
        return float(self._default_positions[0])

    def set_default_distance(self, distance: object) -> Self:
        """Set the arc length of a new Context [m], before ``finalize()``."""
        return self._set_default_position(distance, "distance")

    def _make_mobilizer(self) -> Mobilizer:
        return CurvilinearMobilizer(self.frame_on_parent, self.frame_on_child, self._path)


def _as_path(path: object, argument: str) -> PiecewiseConstantCurvatureTrajectory:
    from mbt.math.curvilinear_path import PiecewiseConstantCurvatureTrajectory

    if not isinstance(path, PiecewiseConstantCurvatureTrajectory):
        raise ArgumentTypeError(
            f"{argument}: expected a PiecewiseConstantCurvatureTrajectory, got {type(path).__name__}"
        )
    return path
