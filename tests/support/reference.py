"""An independent NumPy implementation of every algorithm, written from the mechanics, slow and plain.

Nothing here resembles the compiled kernels on purpose: poses are products of 4x4 matrices, velocities are
columns of Jacobians, accelerations come from the Jacobian's rate (by complex step), and dynamics is the sum
over all bodies of Newton's and Euler's equations about each mass centre, projected with the Jacobian.

Every method works for complex q, which makes complex-step derivatives exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from support.description import WORLD, Array, Joint, Model, with_free_joints

AnyArray = npt.NDArray[Any]

# Any step whose square vanishes beside 1 gives an exact complex-step derivative; there is no subtraction.
COMPLEX_STEP = 1e-30


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
    """Where each body, position and velocity lives in the arrays."""

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


class Reference:
    """All quantities of a `Model`, in the order of a `Layout` (by default the order of declaration)."""

    def __init__(self, model: Model, layout: Layout | None = None) -> None:
        self.model = with_free_joints(model)
        self.layout = layout or declaration_layout(self.model)
        self.nb = len(self.model.bodies) + 1
        self.nq = sum(joint.num_positions for joint in self.model.joints)
        self.nv = sum(joint.num_velocities for joint in self.model.joints)
        self.gravity = np.zeros(3) if model.gravity is None else np.asarray(model.gravity, float)
        self.outward = self._joints_from_world()

    # -- structure -----------------------------------------------------------------------------------------

    def _joints_from_world(self) -> list[tuple[Joint, bool]]:
        """Joints from World outwards, with whether the joint is reversed (its child is nearer World)."""
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
        # A weld has no coordinates, and need not be known to the layout.
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
        """Random positions; quaternions are unit."""
        q = rng.uniform(-2.0, 2.0, self.nq)
        for joint in self.model.joints:
            if joint.kind == "floating":
                start = self.q_slice(joint).start
                quaternion = rng.normal(size=4)
                q[start : start + 4] = quaternion / np.linalg.norm(quaternion)
        return q

    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """q, v and vdot."""
        return self.random_q(rng), rng.uniform(-2.0, 2.0, self.nv), rng.uniform(-5.0, 5.0, self.nv)

    def quaternion_starts(self) -> list[int]:
        return [self.q_slice(j).start for j in self.model.joints if j.kind == "floating"]

    # -- kinematics ----------------------------------------------------------------------------------------

    def X_FM(self, joint: Joint, q: AnyArray) -> AnyArray:
        qj = q[self.q_slice(joint)]
        if joint.kind == "weld":
            return np.eye(4) if joint.X_FM is None else joint.X_FM
        if joint.kind == "floating":
            return pose(rotation_of_quaternion(qj[:4]), qj[4:])
        assert joint.axis is not None
        axis = joint.axis / np.linalg.norm(joint.axis)
        if joint.kind == "revolute":
            return pose(rotation_about(axis, qj[0]), np.zeros(3))
        return pose(np.eye(3), axis * qj[0])

    def motion_axes(self, joint: Joint) -> tuple[Array, Array]:
        """(3, n) each: w_FM and v_FMo in F per unit of each velocity, constant in F for these joints."""
        n = joint.num_velocities
        H_w, H_v = np.zeros((3, n)), np.zeros((3, n))
        if joint.kind == "floating":
            H_w[:, :3] = np.eye(3)
            H_v[:, 3:] = np.eye(3)
        elif n:
            assert joint.axis is not None
            axis = joint.axis / np.linalg.norm(joint.axis)
            (H_w if joint.kind == "revolute" else H_v)[:, 0] = axis
        return H_w, H_v

    def poses(self, q: AnyArray) -> AnyArray:
        """X_WB of all bodies, (nb, 4, 4)."""
        X_WB = np.tile(np.eye(4, dtype=np.result_type(q, float)), (self.nb, 1, 1))
        for joint, is_reversed in self.outward:
            X_PB = _or_identity(joint.X_PF) @ self.X_FM(joint, q) @ inverse(_or_identity(joint.X_BM))
            parent, child = self.row(joint.parent), self.row(joint.child)
            if is_reversed:
                X_WB[parent] = X_WB[child] @ inverse(X_PB)
            else:
                X_WB[child] = X_WB[parent] @ X_PB
        return X_WB

    def jacobians(self, q: AnyArray) -> AnyArray:
        """J with V_WB = J v of all bodies, (nb, 6, nv): rotational rows first, at Bo, in World."""
        X_WB = self.poses(q)
        J = np.zeros((self.nb, 6, self.nv), dtype=X_WB.dtype)
        for joint, is_reversed in self.outward:
            parent, child = self.row(joint.parent), self.row(joint.child)
            X_WF = X_WB[parent] @ _or_identity(joint.X_PF)
            X_WM = X_WB[child] @ _or_identity(joint.X_BM)
            p_PoMo = X_WM[:3, 3] - X_WB[parent, :3, 3]
            p_CoMo = X_WM[:3, 3] - X_WB[child, :3, 3]

            # w_FM and v_FMo, expressed in World.
            H_w, H_v = self.motion_axes(joint)
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
        """qdot = N v, (nq, nv). Proportional to the quaternion as given, which keeps its norm."""
        N = np.zeros((self.nq, self.nv), dtype=np.result_type(q, float))
        for joint in self.model.joints:
            qs, vs = self.q_slice(joint), self.v_slice(joint)
            if joint.kind == "floating":
                w, r = q[qs][0], q[qs][1:4]
                # qdot = (0, w_FM_F) * q / 2, the quaternion product.
                N[qs.start, vs.start : vs.start + 3] = -r / 2
                N[qs.start + 1 : qs.start + 4, vs.start : vs.start + 3] = (
                    w * np.eye(3) - cross_matrix(r)
                ) / 2
                N[qs.start + 4 : qs.stop, vs.start + 3 : vs.stop] = np.eye(3)
            else:
                N[qs, vs] = np.eye(joint.num_positions)
        return N

    def Nplus(self, q: Array) -> Array:
        """v = Nplus qdot, (nv, nq): the left inverse of N that ignores a change of the quaternion's norm."""
        return np.asarray(np.linalg.pinv(self.N(q)))

    def qdot(self, q: AnyArray, v: AnyArray) -> AnyArray:
        return self.N(q) @ v

    def frame(self, name: str) -> tuple[str, Array]:
        """The body and the pose in it of a frame, or of a body's own frame."""
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

    # -- bodies about their mass centres -------------------------------------------------------------------

    def com_positions(self, q: AnyArray) -> AnyArray:
        """p_WoBcm, (nb, 3); World's row is zero."""
        X_WB = self.poses(q)
        p = np.zeros((self.nb, 3), dtype=X_WB.dtype)
        for body in self.model.bodies:
            X = X_WB[self.row(body.name)]
            p[self.row(body.name)] = X[:3, :3] @ body.com + X[:3, 3]
        return p

    def com_jacobians(self, q: AnyArray) -> AnyArray:
        """Jacobians at the mass centres, (nb, 6, nv)."""
        X_WB, J = self.poses(q), self.jacobians(q).copy()
        for body in self.model.bodies:
            i = self.row(body.name)
            J[i, 3:] -= cross_matrix(X_WB[i, :3, :3] @ body.com) @ J[i, :3]
        return J

    def total_mass(self) -> float:
        return float(sum(body.mass for body in self.model.bodies))

    def center_of_mass(self, q: AnyArray) -> AnyArray:
        p = self.com_positions(q)
        return np.sum([b.mass * p[self.row(b.name)] for b in self.model.bodies], axis=0) / self.total_mass()

    def center_of_mass_jacobian(self, q: AnyArray) -> AnyArray:
        J = self.com_jacobians(q)
        return (
            np.sum([b.mass * J[self.row(b.name), 3:] for b in self.model.bodies], axis=0) / self.total_mass()
        )

    def center_of_mass_velocity(self, q: Array, v: Array) -> Array:
        return np.asarray(self.center_of_mass_jacobian(q) @ v)

    def kinetic_energy(self, q: Array, v: Array) -> float:
        V = self.com_jacobians(q) @ v
        X_WB = self.poses(q)
        total = 0.5 * float(np.sum(self.reflected_inertia * v**2))
        for body in self.model.bodies:
            i = self.row(body.name)
            w_B = X_WB[i, :3, :3].T @ V[i, :3]
            total += 0.5 * body.mass * float(V[i, 3:] @ V[i, 3:]) + 0.5 * float(w_B @ body.I_BBcm_B @ w_B)
        return total

    def momentum(self, q: Array, v: Array, p_WP: Array) -> Array:
        """[angular about P; linear] of all bodies, in World, (6,); rotors have none."""
        X_WB, V, p = self.poses(q), self.com_jacobians(q) @ v, self.com_positions(q)
        L = np.zeros(6)
        for body in self.model.bodies:
            i = self.row(body.name)
            R_WB, linear = X_WB[i, :3, :3], body.mass * V[i, 3:]
            spin = R_WB @ body.I_BBcm_B @ R_WB.T @ V[i, :3]
            L += [*(spin + np.cross(p[i] - p_WP, linear)), *linear]
        return L

    def potential_energy(self, q: AnyArray) -> Any:
        """Zero when everything is at the height of the World origin."""
        p = self.com_positions(q)
        return -sum((b.mass * (p[self.row(b.name)] @ self.gravity) for b in self.model.bodies), 0.0)

    # -- dynamics ------------------------------------------------------------------------------------------

    def mass_matrix(self, q: AnyArray) -> AnyArray:
        """M = sum of m Jv' Jv + Jw' I Jw about the mass centres, plus reflected rotor inertia."""
        J, X_WB = self.com_jacobians(q), self.poses(q)
        M = np.diag(self.reflected_inertia).astype(X_WB.dtype)
        for body in self.model.bodies:
            i = self.row(body.name)
            J_w, J_v = X_WB[i, :3, :3].T @ J[i, :3], J[i, 3:]
            M += body.mass * J_v.T @ J_v + J_w.T @ body.I_BBcm_B @ J_w
        return M

    def mass_matrix_rate(self, q: Array, v: Array) -> Array:
        """dM/dt along the motion, by complex step: exact to rounding."""
        return np.imag(self.mass_matrix(q + 1j * COMPLEX_STEP * self.qdot(q, v))) / COMPLEX_STEP

    def inertial_forces(self, q: Array, v: Array, vdot: Array) -> Array:
        """Spatial force each body needs for its motion, at its mass centre, in World, (nb, 6)."""
        X_WB, V, A = self.poses(q), self.velocities(q, v), self.accelerations(q, v, vdot)
        F = np.zeros((self.nb, 6))
        for body in self.model.bodies:
            i = self.row(body.name)
            R_WB, w, alpha = X_WB[i, :3, :3], V[i, :3], A[i, :3]
            p = R_WB @ body.com
            a_cm = A[i, 3:] + np.cross(alpha, p) + np.cross(w, np.cross(w, p))
            inertia = R_WB @ body.I_BBcm_B @ R_WB.T
            F[i] = [*(inertia @ alpha + np.cross(w, inertia @ w)), *(body.mass * a_cm)]
        return F

    def bias_term(self, q: Array, v: Array) -> Array:
        """C v: what inverse dynamics gives without acceleration and without forces."""
        F = self.inertial_forces(q, v, np.zeros(self.nv))
        return np.asarray(np.einsum("bij,bi->j", self.com_jacobians(q), F))

    def gravity_forces(self, q: Array) -> Array:
        """tau_g, on the right-hand side of M vdot + C v = tau_g + ..."""
        J = self.com_jacobians(q)
        return sum(
            (b.mass * J[self.row(b.name), 3:].T @ self.gravity for b in self.model.bodies), np.zeros(self.nv)
        )

    def gravity_body_forces(self, q: Array) -> Array:
        """Gravity as spatial forces at Bo in World, (nb, 6)."""
        X_WB = self.poses(q)
        F = np.zeros((self.nb, 6))
        for body in self.model.bodies:
            i = self.row(body.name)
            weight = body.mass * self.gravity
            F[i] = [*np.cross(X_WB[i, :3, :3] @ body.com, weight), *weight]
        return F

    def damping_forces(self, v: Array) -> Array:
        return -self.damping * v

    def applied_forces(self, q: Array, body_forces: Array) -> Array:
        """J' F of spatial forces (nb, 6) at Bo in World."""
        return np.asarray(np.einsum("bij,bi->j", self.jacobians(q), body_forces))

    def inverse_dynamics(
        self,
        q: Array,
        v: Array,
        vdot: Array,
        body_forces: Array | None = None,
        generalized_forces: Array | None = None,
        include_force_elements: bool = False,
    ) -> Array:
        """M vdot + C v - tau_app - J' F_app, and with force elements also - gravity - damping."""
        tau = self.mass_matrix(q) @ vdot + self.bias_term(q, v)
        if body_forces is not None:
            tau -= self.applied_forces(q, body_forces)
        if generalized_forces is not None:
            tau -= generalized_forces
        if include_force_elements:
            tau -= self.gravity_forces(q) + self.damping_forces(v)
        return tau

    def forward_dynamics(self, q: Array, v: Array, tau: Array, body_forces: Array | None = None) -> Array:
        """Accelerations under tau, body forces, gravity and joint damping."""
        rhs = tau + self.gravity_forces(q) + self.damping_forces(v) - self.bias_term(q, v)
        if body_forces is not None:
            rhs = rhs + self.applied_forces(q, body_forces)
        return np.asarray(np.linalg.solve(self.mass_matrix(q), rhs)) if self.nv else np.zeros(0)

    def inboard_reactions(self, q: Array, v: Array, vdot: Array, body_forces: Array | None = None) -> Array:
        """F_BMo_W, (nb, 6): spatial force on each body from its inboard joint, at the outboard frame, in
        World.

        For every body the force balance of the whole subtree beyond the joint. World's row is what holds
        World: the same balance for everything, at the World origin.
        """
        X_WB, p_cm = self.poses(q), self.com_positions(q)
        F_cm = self.inertial_forces(q, v, vdot)
        F = np.zeros((self.nb, 6))
        for name in self.layout.body_row:
            p_WO = np.zeros(3)
            if name != WORLD:
                joint, is_reversed = self.inboard_joint(name)
                X_BO = _or_identity(joint.X_PF if is_reversed else joint.X_BM)
                p_WO = (X_WB[self.row(name)] @ X_BO)[:3, 3]
            for other in self.subtree(name):
                i = self.row(other)
                F[self.row(name)] += [*(F_cm[i, :3] + np.cross(p_cm[i] - p_WO, F_cm[i, 3:])), *F_cm[i, 3:]]
                if body_forces is not None:
                    t, f = body_forces[i, :3], body_forces[i, 3:]
                    F[self.row(name)] -= [*(t + np.cross(X_WB[i, :3, 3] - p_WO, f)), *f]
        return F

    # -- sizes of the terms, for tolerances ----------------------------------------------------------------

    def force_scale(self, q: Array, v: Array, vdot: Array) -> float:
        """How large the terms are that add up to a generalized force (they may cancel): a bound on rounding.

        Sum over the bodies of |force| and |moment about the farthest joint|.
        """
        F = np.abs(self.inertial_forces(q, v, vdot))
        p = self.com_positions(q)
        reach = 1.0 + float(np.max(np.ptp(np.vstack([p, self.poses(q)[:, :3, 3]]), axis=0), initial=0.0))
        weight = self.total_mass() * float(np.linalg.norm(self.gravity))
        rotor = float(np.sum(np.abs(self.reflected_inertia * vdot)))
        return float(F[:, :3].sum() + (F[:, 3:].sum() + weight) * reach) + rotor

    def length_scale(self, q: Array) -> float:
        """The offsets that add up to a position: the longest way from World to a body, at least 1 m."""
        reach = {WORLD: 1.0}
        for joint, is_reversed in self.outward:
            inboard, outboard = (joint.child, joint.parent) if is_reversed else (joint.parent, joint.child)
            offsets = (joint.X_PF, self.X_FM(joint, q), joint.X_BM)
            length = sum(float(np.linalg.norm(X[:3, 3])) for X in offsets if X is not None)
            reach[outboard] = reach[inboard] + length
        return max(reach.values())


def _or_identity(X: AnyArray | None) -> AnyArray:
    return np.eye(4) if X is None else X
