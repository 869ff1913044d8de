"""Caches and kinematics of a tree of any scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.variants import Quantity
from mbt.context.checks import (
    as_points,
    body_node_index,
    frame_index,
    raise_foreign_cache,
    raise_stale_cache,
)
from mbt.math.leading_axes import cut, join, rotate, transpose
from mbt.scalars.arrays import ScalarArrays
from mbt.scalars.caches import (
    ScalarAccelerationKinematics,
    ScalarFramePoses,
    ScalarPositionKinematics,
    ScalarVelocityKinematics,
)

if TYPE_CHECKING:
    from mbt.tree import MultibodyTree

__all__ = [
    "ScalarKinematics",
    "acceleration_of_point",
    "relative_acceleration",
    "relative_velocity",
    "velocity_of_point",
]


class ScalarKinematics:
    """How bodies and frames move; each method is that of `MultibodyTree` in arrays of the scalar."""

    __slots__ = ("_numbers", "tree")

    def __init__(self, tree: MultibodyTree, numbers: ScalarArrays) -> None:
        self.tree = tree
        self._numbers = numbers

    def _frame(self, frame: Any, name: str) -> int:
        return frame_index(self.tree, frame, name)

    def _node_of(self, frame: int) -> int:
        return self.tree.frames[frame].body._node_index

    def _points(self, c: Any, value: object, name: str) -> Any:
        return as_points(value, name, self._numbers, c.batch_shape)

    # Caches.

    def calc_position_kinematics_cache(self, c: Any, pc: Any = None) -> Any:
        if pc is None:
            pc = ScalarPositionKinematics(self.tree._compiled)  # type: ignore[arg-type]
        elif not isinstance(pc, ScalarPositionKinematics) or pc._inputs[0] is not self.tree:
            raise_foreign_cache("pc", pc, "PositionKinematicsCache")
        return pc._compute(c)

    def calc_velocity_kinematics_cache(self, c: Any, pc: Any = None, vc: Any = None) -> Any:
        self._position_of(c, pc)
        if vc is None:
            vc = ScalarVelocityKinematics(self.tree._compiled)  # type: ignore[arg-type]
        elif not isinstance(vc, ScalarVelocityKinematics) or vc._tree is not self.tree:
            raise_foreign_cache("vc", vc, "VelocityKinematicsCache")
        return vc._compute(c)

    def eval_position_kinematics(self, c: Any) -> Any:
        return c._cache("position", c._position_serials(), lambda: self.calc_position_kinematics_cache(c))

    def eval_velocity_kinematics(self, c: Any) -> Any:
        return c._cache("velocity", c._velocity_serials(), lambda: self.calc_velocity_kinematics_cache(c))

    def _position_of(self, c: Any, pc: Any = None) -> Any:
        if pc is None:
            return self.eval_position_kinematics(c)
        if isinstance(pc, ScalarPositionKinematics) and pc.serials == c._position_serials():
            return pc
        is_of_another_tree = isinstance(pc, ScalarPositionKinematics) and pc._inputs[0] is not self.tree
        raise_stale_cache("pc", pc, "PositionKinematicsCache", is_of_another_tree)

    def _velocity_of(self, c: Any, vc: Any = None) -> Any:
        if vc is None:
            return self.eval_velocity_kinematics(c)
        if isinstance(vc, ScalarVelocityKinematics) and vc.serials == c._velocity_serials():
            return vc
        is_of_another_tree = isinstance(vc, ScalarVelocityKinematics) and vc._tree is not self.tree
        raise_stale_cache("vc", vc, "VelocityKinematicsCache", is_of_another_tree)

    def eval_body_pose_in_world(self, c: Any, body: Any) -> Any:
        return self.eval_position_kinematics(c).X_WB[..., body_node_index(self.tree, body), :, :]

    def eval_body_spatial_velocity_in_world(self, c: Any, body: Any) -> Any:
        return self.eval_velocity_kinematics(c).V_WB[..., body_node_index(self.tree, body), :]

    def eval_frame_body_poses(self, c: Any) -> Any:
        return c._cache("frames", c._position_serials()[1:], lambda: ScalarFramePoses(c))

    # Frames and points.

    def _X_WF(self, c: Any, frame: int) -> Any:
        """Pose of a frame in World."""
        X_WB = self.eval_position_kinematics(c).X_WB[..., self._node_of(frame), :, :]
        if self.tree.frames[frame].is_body_frame:
            return X_WB
        return X_WB @ self.eval_frame_body_poses(c).X_BF[..., frame, :, :]

    def _point_in_world(self, c: Any, frame: int, point: Any) -> Any:
        """One point given in a frame, (..., 3), in World."""
        if frame == 0:
            return point
        X_WF = self._X_WF(c, frame)
        return rotate(X_WF[..., :3, :3], point) + X_WF[..., :3, 3]

    def _points_in_world(self, c: Any, frame: int, points: Any) -> Any:
        """Points given in a frame, (3,) or (..., 3, n), in World."""
        if points.ndim == 1:
            return self._point_in_world(c, frame, points)
        if frame == 0:
            return points
        X_WF = self._X_WF(c, frame)
        return X_WF[..., :3, :3] @ points + X_WF[..., :3, 3:]

    def _p_WoFo(self, c: Any, frame: int) -> Any:
        return self._X_WF(c, frame)[..., :3, 3]

    def _express(self, c: Any, frame_E: int, vectors: Any) -> Any:
        """Vectors in World, one after the other along the last axis, expressed in a frame."""
        if frame_E == 0:
            return vectors
        R_EW = transpose(self._X_WF(c, frame_E)[..., :3, :3])
        parts = [rotate(R_EW, part) for part in cut(vectors, 3)]
        return parts[0] if len(parts) == 1 else join(parts)

    def _express_columns(self, c: Any, frame_E: int, columns: Any) -> Any:
        """Columns of such vectors, (..., 3 k, n), expressed in a frame."""
        if frame_E == 0:
            return columns
        R_EW = transpose(self._X_WF(c, frame_E)[..., :3, :3])
        parts = [R_EW @ columns[..., i : i + 3, :] for i in range(0, columns.shape[-2], 3)]
        return parts[0] if len(parts) == 1 else join(parts, -2)

    def calc_relative_transform(self, c: Any, frame_A: Any, frame_B: Any, *, out: Any = None) -> Any:
        a, b = self._frame(frame_A, "frame_A"), self._frame(frame_B, "frame_B")
        X_WB = self._X_WF(c, b)
        X_AB = X_WB.copy() if a == 0 else self._numbers.inverse_pose(self._X_WF(c, a)) @ X_WB
        return self._numbers.write(out, X_AB, "out")

    def calc_relative_rotation_matrix(self, c: Any, frame_A: Any, frame_B: Any, *, out: Any = None) -> Any:
        a, b = self._frame(frame_A, "frame_A"), self._frame(frame_B, "frame_B")
        R_WB = self._X_WF(c, b)[..., :3, :3]
        R_AB = R_WB.copy() if a == 0 else transpose(self._X_WF(c, a)[..., :3, :3]) @ R_WB
        return self._numbers.write(out, R_AB, "out")

    def calc_points_positions(
        self, c: Any, frame_B: Any, p_BQi: Any, frame_A: Any, *, out: Any = None
    ) -> Any:
        b = self._frame(frame_B, "frame_B")
        a = self._frame(frame_A, "frame_A")
        points = self._points(c, p_BQi, "p_BQi")
        is_one = points.ndim == 1
        points = self._points_in_world(c, b, points)
        if a != 0:
            X_WA = self._X_WF(c, a)
            R_AW = transpose(X_WA[..., :3, :3])
            if is_one:
                points = rotate(R_AW, points - X_WA[..., :3, 3])
            else:
                points = R_AW @ (points - X_WA[..., :3, 3:])
        elif b == 0:
            # The very argument so far.
            lead = () if points.ndim > 2 else c.batch_shape
            points = np.broadcast_to(points, lead + points.shape).copy() if lead else points.copy()
        return self._numbers.write(out, points, "out")

    def _calc_frame_velocity(
        self, c: Any, frame_F: Any, frame_M: Any, frame_E: Any, name_M: str, name_E: str
    ) -> Any:
        f = self._frame(frame_F, "frame_F")
        a, e = self._frame(frame_M, name_M), self._frame(frame_E, name_E)
        pc, vc = self.eval_position_kinematics(c), self.eval_velocity_kinematics(c)
        p = self._p_WoFo(c, f)
        V_WFo = velocity_of_point(pc, vc, self._node_of(f), p)
        return self._express(c, e, relative_velocity(pc, vc, self._node_of(a), p, V_WFo))

    # Maps between v and qdot.

    def _map(self, c: Any, quantity: Quantity, value: Any, name: str, out: Any) -> Any:
        """One of the maps between vectors along v and along q."""
        sizes = self.tree.num_positions, self.tree.num_velocities
        num_x, num_out = sizes if name in ("qdot", "qddot") else sizes[::-1]
        x = self._numbers.as_float_array(value, name, (num_x,))
        return c._result(out, (num_out,), quantity, x)

    def map_velocity_to_qdot(self, c: Any, v: Any, *, out: Any = None) -> Any:
        return self._map(c, Quantity.QDOT, v, "v", out)

    def map_qdot_to_velocity(self, c: Any, qdot: Any, *, out: Any = None) -> Any:
        return self._map(c, Quantity.VELOCITY, qdot, "qdot", out)

    def map_acceleration_to_qddot(self, c: Any, vdot: Any, *, out: Any = None) -> Any:
        return self._map(c, Quantity.QDDOT, vdot, "vdot", out)

    def map_qddot_to_acceleration(self, c: Any, qddot: Any, *, out: Any = None) -> Any:
        return self._map(c, Quantity.ACCELERATION, qddot, "qddot", out)

    def make_velocity_to_qdot_map(self, c: Any, *, out: Any = None) -> Any:
        return c._result(out, (self.tree.num_positions, self.tree.num_velocities), Quantity.N_MATRIX)

    def make_qdot_to_velocity_map(self, c: Any, *, out: Any = None) -> Any:
        return c._result(out, (self.tree.num_velocities, self.tree.num_positions), Quantity.NPLUS_MATRIX)

    # Accelerations that go with given vdot.

    def calc_acceleration_kinematics_cache(
        self, c: Any, known_vdot: Any, *, pc: Any = None, vc: Any = None, ac: Any = None
    ) -> Any:
        if ac is not None and (
            not isinstance(ac, ScalarAccelerationKinematics) or ac.tree is not self.tree or ac.is_of_context
        ):
            raise_foreign_cache("ac", ac, "AccelerationKinematicsCache")
        vdot = self._numbers.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,)).copy()
        if c.batch_shape:
            vdot = np.array(np.broadcast_to(vdot, (*c.batch_shape, self.tree.num_velocities)))
        A_WB = self.calc_spatial_accelerations_from_vdot(c, vdot, pc=pc, vc=vc)
        fresh = ScalarAccelerationKinematics(c, A_WB, vdot)
        return fresh if ac is None else ac._take(fresh)

    def calc_spatial_accelerations_from_vdot(
        self, c: Any, known_vdot: Any, *, pc: Any = None, vc: Any = None, out: Any = None
    ) -> Any:
        if pc is not None:
            self._position_of(c, pc)
        if vc is not None:
            self._velocity_of(c, vc)
        vdot = self._numbers.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,))
        return c._result(out, (self.tree.num_bodies, 6), Quantity.ACCELERATION_KINEMATICS, vdot)


def velocity_of_point(pc: Any, vc: Any, node: int, p_WoP: Any) -> Any:
    """Return the velocity of a point of a body, (..., 6)."""
    w, v = cut(vc.V_WB[..., node, :], 3)
    p = p_WoP - pc.X_WB[..., node, :3, 3]
    return join([w, v + np.cross(w, p)])


def acceleration_of_point(pc: Any, vc: Any, A_WB: Any, node: int, p_WoP: Any) -> Any:
    """Return the acceleration of a point of a body, (..., 6)."""
    alpha, a = cut(A_WB[..., node, :], 3)
    w = vc.V_WB[..., node, :3]
    p = p_WoP - pc.X_WB[..., node, :3, 3]
    return join([alpha, a + np.cross(alpha, p) + np.cross(w, np.cross(w, p))])


def relative_velocity(pc: Any, vc: Any, node: int, p_WoP: Any, V_WP: Any) -> Any:
    """Return the velocity of a point as measured in a body, expressed in World."""
    return V_WP if node == 0 else V_WP - velocity_of_point(pc, vc, node, p_WoP)


def relative_acceleration(pc: Any, vc: Any, A_WB: Any, node: int, p_WoP: Any, V_WP: Any, A_WP: Any) -> Any:
    """Return the acceleration of a point as measured in a body, expressed in World."""
    if node == 0:
        return A_WP
    w = vc.V_WB[..., node, :3]
    w_BP, v_BP = cut(relative_velocity(pc, vc, node, p_WoP, V_WP), 3)
    A = A_WP - acceleration_of_point(pc, vc, A_WB, node, p_WoP)
    coriolis = np.cross(w, v_BP)
    return A - join([np.cross(w, w_BP), coriolis + coriolis])
