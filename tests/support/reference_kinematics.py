"""Kinematics of the independent NumPy reference; see `support.reference`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt

from support.description import (
    AXIS_KINDS,
    QUATERNION_KINDS,
    RPY_KINDS,
    WORLD,
    Array,
    Joint,
    Model,
    Path,
    with_free_joints,
)

AnyArray = npt.NDArray[Any]

# Complex-step derivatives are exact for any step whose square vanishes beside 1, as they subtract nothing.
COMPLEX_STEP = 1e-30


def remembered(method: Callable[..., AnyArray]) -> Callable[..., AnyArray]:
    """Keep the last results, read-only: quantities of a state need the same poses and Jacobians."""

    @wraps(method)
    def call(self: ReferenceKinematics, *values: AnyArray) -> AnyArray:
        arrays = [np.asarray(value) for value in values]
        key = (method.__name__, *((array.dtype, array.tobytes()) for array in arrays))
        if key not in self.kept:
            if len(self.kept) >= 8:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = method(self, *arrays)
            self.kept[key].flags.writeable = False
        return self.kept[key]

    return call


def cross_matrix(p: AnyArray) -> AnyArray:
    """The matrix of p x ()."""
    return np.array([[0 * p[0], -p[2], p[1]], [p[2], 0 * p[0], -p[0]], [-p[1], p[0], 0 * p[0]]])


def rotation_about(axis: Array, angle: Any) -> AnyArray:
    """Rodrigues' formula."""
    K = cross_matrix(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def rotation_of_quaternion(quaternion: AnyArray) -> AnyArray:
    """R of (w, x, y, z), which is normalised first."""
    # sqrt(q.q) and not a norm: it must be analytic for the complex step.
    w, x, y, z = quaternion / np.sqrt(quaternion @ quaternion)
    r = np.array([x, y, z])
    K = cross_matrix(r)
    return np.eye(3) + 2 * w * K + 2 * (K @ K)


def rotation_of_rpy(rpy: AnyArray) -> AnyArray:
    x, y, z = np.eye(3)
    return rotation_about(z, rpy[2]) @ rotation_about(y, rpy[1]) @ rotation_about(x, rpy[0])


def rpy_axes(rpy: AnyArray) -> AnyArray:
    """(3, 3): w_FM_F per unit rate of roll, pitch and yaw, about the axes as rotated by later angles."""
    x, y, z = np.eye(3)
    R_z = rotation_about(z, rpy[2])
    return np.column_stack([R_z @ rotation_about(y, rpy[1]) @ x, R_z @ y, z])


def path_pose(path: Path, s: Any) -> tuple[AnyArray, float]:
    """X_FM and the curvature at the distance s: the product of the motions along all pieces before."""
    length, x, z = path.breaks[-1], path.tangent, path.normal
    if path.is_periodic:
        s = s - np.floor(np.real(s) / length) * length
    X = pose(np.column_stack([x, np.cross(z, x), z]), path.position)
    last = len(path.turning_rates) - 1
    for i, curvature in enumerate(path.turning_rates):
        ends = i == last or np.real(s) < path.breaks[i + 1]
        d = (s if ends else path.breaks[i + 1]) - path.breaks[i]
        a = curvature * d
        p = [d, 0 * d, 0 * d]
        if curvature:
            p = [np.sin(a) / curvature, (1 - np.cos(a)) / curvature, 0 * d]
        X = X @ pose(rotation_about(np.array([0.0, 0.0, 1.0]), a), np.array(p))
        if ends:
            return X, float(curvature)
    raise AssertionError("a path has pieces")


def pose(R: AnyArray, p: AnyArray) -> AnyArray:
    X = np.eye(4, dtype=np.result_type(R, p))
    X[:3, :3] = R
    X[:3, 3] = p
    return X


def inverse(X: AnyArray) -> AnyArray:
    R, p = X[:3, :3], X[:3, 3]
    return pose(R.T, -R.T @ p)


@dataclass(frozen=True)
class Layout:
    """Indices of each body, position and velocity in the arrays."""

    body_row: dict[str, int]
    position_start: dict[str, int]
    velocity_start: dict[str, int]


def declaration_layout(model: Model) -> Layout:
    """Rows in the order of the bodies, coordinates in the order of the joints."""
    body_row = {WORLD: 0} | {body.name: i + 1 for i, body in enumerate(model.bodies)}
    position_start, velocity_start = {}, {}
    nq = nv = 0
    for joint in model.joints:
        position_start[joint.name], velocity_start[joint.name] = nq, nv
        nq += joint.num_positions
        nv += joint.num_velocities
    return Layout(body_row, position_start, velocity_start)


class ReferenceKinematics:
    """Poses, velocities and accelerations of a `Model`, in the order of a `Layout`."""

    def __init__(self, model: Model, layout: Layout | None = None) -> None:
        self.model = with_free_joints(model)
        self.layout = layout or declaration_layout(self.model)
        self.nb = len(self.model.bodies) + 1
        self.nq = sum(joint.num_positions for joint in self.model.joints)
        self.nv = sum(joint.num_velocities for joint in self.model.joints)
        self.gravity = np.zeros(3) if model.gravity is None else np.asarray(model.gravity, float)
        self.outward = self._joints_from_world()
        self.kept: dict[tuple[Any, ...], AnyArray] = {}

    # -- structure -----------------------------------------------------------------------------------------

    def _joints_from_world(self) -> list[tuple[Joint, bool]]:
        """Joints from World outwards, and whether each is reversed (its child is nearer World)."""
        reached, waiting, outward = {WORLD}, list(self.model.joints), []
        while waiting:
            ready = [j for j in waiting if (j.parent in reached) != (j.child in reached)]
            assert ready, "the joints do not form a tree"
            for joint in ready:
                is_reversed = joint.child in reached
                reached.add(joint.parent if is_reversed else joint.child)
                outward.append((joint, is_reversed))
            waiting = [j for j in waiting if all(j is not r for r in ready)]
        return outward

    def inboard_joint(self, body: str) -> tuple[Joint, bool]:
        """The joint between a body and its inboard body, and whether it is reversed."""
        return next((j, rev) for j, rev in self.outward if (j.parent if rev else j.child) == body)

    def subtree(self, body: str) -> set[str]:
        """The body and all bodies outboard of it."""
        found = {body}
        for joint, is_reversed in self.outward:
            inboard, outboard = (joint.child, joint.parent) if is_reversed else (joint.parent, joint.child)
            if inboard in found:
                found.add(outboard)
        return found

    def row(self, body: str) -> int:
        return self.layout.body_row[body]

    def q_slice(self, joint: Joint) -> slice:
        # A weld has no coordinates, and need not be in the layout.
        start = self.layout.position_start[joint.name] if joint.num_positions else 0
        return slice(start, start + joint.num_positions)

    def v_slice(self, joint: Joint) -> slice:
        start = self.layout.velocity_start[joint.name] if joint.num_velocities else 0
        return slice(start, start + joint.num_velocities)

    def per_dof(self, values: dict[str, Any]) -> Array:
        """Gather per-joint values into one array of length nv."""
        result = np.zeros(self.nv)
        for joint in self.model.joints:
            if joint.name in values and joint.num_velocities:
                result[self.v_slice(joint)] = values[joint.name]
        return result

    @property
    def damping(self) -> Array:
        return self.per_dof({j.name: j.damping for j in self.model.joints if j.damping})

    @property
    def reflected_inertia(self) -> Array:
        result = np.zeros(self.nv)
        for actuator in self.model.actuators:
            result[self.v_slice(self.model.joint(actuator.joint))] += actuator.reflected_inertia
        return result

    # -- states --------------------------------------------------------------------------------------------

    def random_q(self, rng: np.random.Generator) -> Array:
        """Random positions; quaternions have unit norm, and angles are far from gimbal lock."""
        q = rng.uniform(-2.0, 2.0, self.nq)
        for joint in self.model.joints:
            start = self.q_slice(joint).start
            if joint.kind in QUATERNION_KINDS:
                quaternion = rng.normal(size=4)
                q[start : start + 4] = quaternion / np.linalg.norm(quaternion)
            elif joint.kind in RPY_KINDS:
                q[start + 1] *= 0.5
        return q

    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """q, v and vdot."""
        return self.random_q(rng), rng.uniform(-2.0, 2.0, self.nv), rng.uniform(-5.0, 5.0, self.nv)

    def quaternion_starts(self) -> list[int]:
        return [self.q_slice(j).start for j in self.model.joints if j.kind in QUATERNION_KINDS]

    # -- kinematics ----------------------------------------------------------------------------------------

    def X_FM(self, joint: Joint, q: AnyArray) -> AnyArray:
        qj = q[self.q_slice(joint)]
        if joint.kind == "weld":
            return np.eye(4) if joint.X_FM is None else joint.X_FM
        if joint.kind in QUATERNION_KINDS:
            return pose(rotation_of_quaternion(qj[:4]), qj[4:] if joint.kind == "floating" else np.zeros(3))
        if joint.kind in RPY_KINDS:
            return pose(rotation_of_rpy(qj[:3]), qj[3:] if joint.kind == "rpy_floating" else np.zeros(3))
        x, y, z = np.eye(3)
        if joint.kind == "universal":
            return pose(rotation_about(x, qj[0]) @ rotation_about(y, qj[1]), np.zeros(3))
        if joint.kind == "planar":
            return pose(rotation_about(z, qj[2]), np.array([qj[0], qj[1], 0 * qj[0]]))
        if joint.kind == "curvilinear":
            assert joint.path is not None
            return path_pose(joint.path, qj[0])[0]
        assert joint.axis is not None
        axis = joint.axis / np.linalg.norm(joint.axis)
        if joint.kind == "prismatic":
            return pose(np.eye(3), axis * qj[0])
        along = {
            "revolute": 0.0,
            "screw": joint.screw_pitch / (2 * np.pi) * qj[0],
            "cylindrical": qj[-1],
        }[joint.kind]
        return pose(rotation_about(axis, qj[0]), axis * along)

    def motion_axes(self, joint: Joint, q: AnyArray) -> tuple[AnyArray, AnyArray]:
        """(3, n) each: w_FM and v_FMo in F per unit of each velocity."""
        n = joint.num_velocities
        qj = q[self.q_slice(joint)]
        H_w = np.zeros((3, n), dtype=np.result_type(q, float))
        H_v = np.zeros((3, n), dtype=np.result_type(q, float))
        x, y, z = np.eye(3)
        if joint.kind in (*QUATERNION_KINDS, *RPY_KINDS):
            H_w[:, :3] = np.eye(3)
            H_v[:, 3:] = np.eye(3)[:, : n - 3]
        elif joint.kind == "universal":
            H_w[:, 0], H_w[:, 1] = x, rotation_about(x, qj[0]) @ y
        elif joint.kind == "planar":
            H_v[:, 0], H_v[:, 1], H_w[:, 2] = x, y, z
        elif joint.kind == "curvilinear":
            assert joint.path is not None
            X_FM, curvature = path_pose(joint.path, qj[0])
            H_w[:, 0], H_v[:, 0] = curvature * X_FM[:3, 2], X_FM[:3, 0]
        elif joint.kind in AXIS_KINDS:
            assert joint.axis is not None
            axis = joint.axis / np.linalg.norm(joint.axis)
            if joint.kind != "prismatic":
                H_w[:, 0] = axis
            if joint.kind == "screw":
                H_v[:, 0] = axis * joint.screw_pitch / (2 * np.pi)
            elif joint.kind != "revolute":
                H_v[:, -1] = axis
        return H_w, H_v

    @remembered
    def poses(self, q: AnyArray) -> AnyArray:
        """X_WB of all bodies, (nb, 4, 4)."""
        X_WB = np.tile(np.eye(4, dtype=np.result_type(q, float)), (self.nb, 1, 1))
        for joint, is_reversed in self.outward:
            X_PB = or_identity(joint.X_PF) @ self.X_FM(joint, q) @ inverse(or_identity(joint.X_BM))
            parent, child = self.row(joint.parent), self.row(joint.child)
            if is_reversed:
                X_WB[parent] = X_WB[child] @ inverse(X_PB)
            else:
                X_WB[child] = X_WB[parent] @ X_PB
        return X_WB

    @remembered
    def jacobians(self, q: AnyArray) -> AnyArray:
        """J with V_WB = J v of all bodies, (nb, 6, nv): rotational rows first, at Bo, in World."""
        X_WB = self.poses(q)
        J = np.zeros((self.nb, 6, self.nv), dtype=X_WB.dtype)
        for joint, is_reversed in self.outward:
            parent, child = self.row(joint.parent), self.row(joint.child)
            X_WF = X_WB[parent] @ or_identity(joint.X_PF)
            X_WM = X_WB[child] @ or_identity(joint.X_BM)
            p_PoMo = X_WM[:3, 3] - X_WB[parent, :3, 3]
            p_CoMo = X_WM[:3, 3] - X_WB[child, :3, 3]

            # w_FM and v_FMo, expressed in World.
            H_w, H_v = self.motion_axes(joint, q)
            J_rel = np.zeros((6, self.nv), dtype=X_WB.dtype)
            J_rel[:3, self.v_slice(joint)] = X_WF[:3, :3] @ H_w
            J_rel[3:, self.v_slice(joint)] = X_WF[:3, :3] @ H_v

            # Seen from either body: w_WC = w_WP + w_FM and
            # v_WMo = v_WPo + w_WP x p_PoMo + v_FMo = v_WCo + w_WC x p_CoMo.
            if is_reversed:
                J[parent, :3] = J[child, :3] - J_rel[:3]
                v_WMo = J[child, 3:] - cross_matrix(p_CoMo) @ J[child, :3]
                J[parent, 3:] = v_WMo - J_rel[3:] + cross_matrix(p_PoMo) @ J[parent, :3]
            else:
                J[child, :3] = J[parent, :3] + J_rel[:3]
                v_WMo = J[parent, 3:] - cross_matrix(p_PoMo) @ J[parent, :3] + J_rel[3:]
                J[child, 3:] = v_WMo + cross_matrix(p_CoMo) @ J[child, :3]
        return J

    def jacobian_rates(self, q: Array, v: Array) -> Array:
        """dJ/dt along the motion, (nb, 6, nv), by complex step: exact to rounding."""
        return np.imag(self.jacobians(q + 1j * COMPLEX_STEP * self.qdot(q, v))) / COMPLEX_STEP

    def velocities(self, q: Array, v: Array) -> Array:
        """V_WB, (nb, 6)."""
        return self.jacobians(q) @ v

    def accelerations(self, q: Array, v: Array, vdot: Array) -> Array:
        """A_WB = J vdot + Jdot v, (nb, 6): the classical acceleration, of Bo, in World."""
        return self.jacobians(q) @ vdot + self.jacobian_rates(q, v) @ v

    def N(self, q: AnyArray) -> AnyArray:
        """qdot = N v, (nq, nv). Proportional to the quaternion, which keeps its norm."""
        N = np.zeros((self.nq, self.nv), dtype=np.result_type(q, float))
        for joint in self.model.joints:
            qs, vs = self.q_slice(joint), self.v_slice(joint)
            if joint.kind in QUATERNION_KINDS:
                w, r = q[qs][0], q[qs][1:4]
                # qdot = (0, w_FM_F) * q / 2, the quaternion product.
                N[qs.start, vs.start : vs.start + 3] = -r / 2
                N[qs.start + 1 : qs.start + 4, vs.start : vs.start + 3] = (
                    w * np.eye(3) - cross_matrix(r)
                ) / 2
                N[qs.start + 4 : qs.stop, vs.start + 3 : vs.stop] = np.eye(joint.num_velocities - 3)
            elif joint.kind in RPY_KINDS:
                N[qs, vs] = np.eye(joint.num_positions)
                N[qs.start : qs.start + 3, vs.start : vs.start + 3] = np.linalg.inv(rpy_axes(q[qs][:3]))
            else:
                N[qs, vs] = np.eye(joint.num_positions)
        return N

    def Nplus(self, q: Array) -> Array:
        """v = Nplus qdot, (nv, nq): the left inverse of N that ignores a change of the quaternion's norm."""
        return np.asarray(np.linalg.pinv(self.N(q)))

    def qdot(self, q: AnyArray, v: AnyArray) -> AnyArray:
        return self.N(q) @ v

    def frame(self, name: str) -> tuple[str, Array]:
        """The body of a frame, and its pose there; or those of a body's own frame."""
        if name == WORLD or any(body.name == name for body in self.model.bodies):
            return name, np.eye(4)
        offset = next(frame for frame in self.model.frames if frame.name == name)
        body, X_BP = self.frame(offset.parent)
        return body, X_BP @ offset.X_PF

    def frame_pose(self, q: AnyArray, name: str) -> AnyArray:
        body, X_BF = self.frame(name)
        return self.poses(q)[self.row(body)] @ X_BF

    def point_jacobian(self, q: AnyArray, frame_B: str, p_BP: Array, frame_A: str, frame_E: str) -> AnyArray:
        """J with [w_AB; v_ABp] = J v, (6, nv), in E; v_ABp is the velocity in A of the point P fixed in B."""
        X_WB, J = self.poses(q), self.jacobians(q)
        (b, X_bB), (a, _) = self.frame(frame_B), self.frame(frame_A)
        e, X_eE = self.frame(frame_E)
        p_WP = (X_WB[self.row(b)] @ X_bB @ np.append(p_BP, 1.0))[:3]

        def at_P(body: str) -> AnyArray:
            J_body, p = J[self.row(body)], p_WP - X_WB[self.row(body), :3, 3]
            return np.vstack([J_body[:3], J_body[3:] - cross_matrix(p) @ J_body[:3]])

        R_WE = (X_WB[self.row(e)] @ X_eE)[:3, :3]
        J_W = at_P(b) - at_P(a)
        return np.vstack([R_WE.T @ J_W[:3], R_WE.T @ J_W[3:]])


def or_identity(X: AnyArray | None) -> AnyArray:
    return np.eye(4) if X is None else X
