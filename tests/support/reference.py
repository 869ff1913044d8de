"""An independent NumPy implementation of every algorithm, written from the mechanics, slow and plain.

By design nothing here resembles the compiled kernels: poses are products of 4x4 matrices, velocities are
columns of Jacobians, accelerations come from the Jacobian's rate (by complex step), and dynamics is the sum
over all bodies of Newton's and Euler's equations about each mass centre, projected with the Jacobian.

Every method works for complex q, which makes complex-step derivatives exact to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from support.description import WORLD, Array
from support.reference_kinematics import (
    COMPLEX_STEP,
    AnyArray,
    Layout,
    ReferenceKinematics,
    cross_matrix,
    inverse,
    or_identity,
    remembered,
    rotation_of_quaternion,
)

__all__ = ["Layout", "Reference", "cross_matrix", "inverse", "rotation_of_quaternion"]


class Reference(ReferenceKinematics):
    """All quantities of a `Model`, in the order of a `Layout` (by default the order of declaration)."""

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
        """[angular about P; linear] of all bodies, in World, (6,), without rotors."""
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

    @remembered
    def inertial_forces(self, q: Array, v: Array, vdot: Array) -> Array:
        """Spatial force that each body needs for its motion, at its mass centre, in World, (nb, 6)."""
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
        """C v: inverse dynamics without acceleration and without forces."""
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
        """M vdot + C v - tau_app - J' F_app; with force elements, also - gravity - damping."""
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

        For each body, the force balance of the whole subtree beyond the joint. World's row is the force that
        holds World: the same balance for everything, at the World origin.
        """
        X_WB, p_cm = self.poses(q), self.com_positions(q)
        F_cm = self.inertial_forces(q, v, vdot)
        F = np.zeros((self.nb, 6))
        for name in self.layout.body_row:
            p_WO = np.zeros(3)
            if name != WORLD:
                joint, is_reversed = self.inboard_joint(name)
                X_BO = or_identity(joint.X_PF if is_reversed else joint.X_BM)
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
        """Size of the terms that add up to a generalized force, where they may cancel: a bound on rounding.

        Sum over the bodies of |force| and |moment about the farthest joint|.
        """
        F = np.abs(self.inertial_forces(q, v, vdot))
        p = self.com_positions(q)
        reach = 1.0 + float(np.max(np.ptp(np.vstack([p, self.poses(q)[:, :3, 3]]), axis=0), initial=0.0))
        weight = self.total_mass() * float(np.linalg.norm(self.gravity))
        rotor = float(np.sum(np.abs(self.reflected_inertia * vdot)))
        return float(F[:, :3].sum() + (F[:, 3:].sum() + weight) * reach) + rotor

    def length_scale(self, q: Array) -> float:
        """Size of the offsets that add up to a position: the longest way from World to a body, but >= 1 m."""
        reach = {WORLD: 1.0}
        for joint, is_reversed in self.outward:
            inboard, outboard = (joint.child, joint.parent) if is_reversed else (joint.parent, joint.child)
            offsets = (joint.X_PF, self.X_FM(joint, q), joint.X_BM)
            length = sum(float(np.linalg.norm(X[:3, 3])) for X in offsets if X is not None)
            reach[outboard] = reach[inboard] + length
        return max(reach.values())
