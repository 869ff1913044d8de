"""Pinocchio behind the methods of `Reference`, in the reference's order and conventions.

Pinocchio's free joint has q = [x y z, qx qy qz qw] and v in the child's frame, translational part first;
ours is q = [qw qx qy qz, x y z] and v = [w_FM; v_FMo] in the parent's frame F. `continuous` joints are
(cos, sin) there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

from support.description import WORLD, Array, Model
from support.reference import Layout, Reference, rotation_of_quaternion


class PinocchioPeer:
    def __init__(self, urdf: str, model: Model, layout: Layout | None = None) -> None:
        self.reference = Reference(model, layout)
        self.layout = self.reference.layout
        free = [j for j in self.reference.model.joints if j.parent == WORLD and j.kind == "floating"]
        root = [pin.JointModelFreeFlyer()] if free else []
        self.model = pin.buildModelFromXML(urdf, *root)
        self.data = self.model.createData()
        # Pinocchio calls the joint of a free base "root_joint".
        self.joint_id = {
            joint.name: self.model.getJointId("root_joint" if joint in free else joint.name)
            for joint in self.reference.model.joints
            if joint.num_velocities
        }

        # Pinocchio does not read transmissions; `armature` is its name for reflected rotor inertia.
        armature = np.zeros(self.model.nv)
        for joint in self._moving():
            start = self.model.idx_vs[self.joint_id[joint.name]]
            armature[start : start + joint.num_velocities] = self.reference.reflected_inertia[
                self.reference.v_slice(joint)
            ]
        self.model.armature = armature

    # -- conversions ---------------------------------------------------------------------------------------

    def q(self, q: Array) -> Array:
        result = np.zeros(self.model.nq)
        for joint in self._moving():
            qj, start = q[self.reference.q_slice(joint)], self.model.idx_qs[self.joint_id[joint.name]]
            if joint.kind == "floating":
                quaternion = qj[:4] / np.linalg.norm(qj[:4])
                result[start : start + 7] = [*qj[4:], *quaternion[1:], quaternion[0]]
            elif self.model.nqs[self.joint_id[joint.name]] == 2:
                result[start : start + 2] = np.cos(qj[0]), np.sin(qj[0])
            else:
                result[start] = qj[0]
        return result

    def T(self, q: Array) -> Array:
        """v_pin = T(q) v, (nv, nv)."""
        T = np.zeros((self.model.nv, self.model.nv))
        for joint in self._moving():
            start = self.model.idx_vs[self.joint_id[joint.name]]
            vs = self.reference.v_slice(joint)
            if joint.kind == "floating":
                R_MF = rotation_of_quaternion(q[self.reference.q_slice(joint)][:4]).T
                T[start : start + 3, vs.start + 3 : vs.stop] = R_MF
                T[start + 3 : start + 6, vs.start : vs.start + 3] = R_MF
            else:
                T[start, vs.start] = 1.0
        return T

    def Tdot_v(self, q: Array, v: Array) -> Array:
        """vdot_pin = T vdot + Tdot v; R_MF' = -R_MF [w_FM x]."""
        result = np.zeros(self.model.nv)
        for joint in self._moving():
            if joint.kind == "floating":
                start = self.model.idx_vs[self.joint_id[joint.name]]
                R_MF = rotation_of_quaternion(q[self.reference.q_slice(joint)][:4]).T
                w, u = np.split(v[self.reference.v_slice(joint)], 2)
                result[start : start + 3] = -R_MF @ np.cross(w, u)
        return result

    def _moving(self) -> list[Any]:
        return [joint for joint in self.reference.model.joints if joint.num_velocities]

    def _per_body(self, of_frame: Any, shape: tuple[int, ...]) -> Array:
        result = np.zeros((self.reference.nb, *shape))
        for body in self.reference.model.bodies:
            result[self.reference.row(body.name)] = of_frame(self.model.getFrameId(body.name, pin.BODY))
        return result

    # -- quantities ----------------------------------------------------------------------------------------

    def poses(self, q: Array) -> Array:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        result = self._per_body(lambda f: self.data.oMf[f].homogeneous, (4, 4))
        result[0] = np.eye(4)
        return result

    def velocities(self, q: Array, v: Array) -> Array:
        pin.forwardKinematics(self.model, self.data, self.q(q), self.T(q) @ v)

        def of_frame(f: int) -> Array:
            V = pin.getFrameVelocity(self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED)
            return np.concatenate([V.angular, V.linear])

        return self._per_body(of_frame, (6,))

    def accelerations(self, q: Array, v: Array, vdot: Array) -> Array:
        T = self.T(q)
        pin.forwardKinematics(self.model, self.data, self.q(q), T @ v, T @ vdot + self.Tdot_v(q, v))

        def of_frame(f: int) -> Array:
            A = pin.getFrameClassicalAcceleration(self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED)
            return np.concatenate([A.angular, A.linear])

        return self._per_body(of_frame, (6,))

    def jacobians(self, q: Array) -> Array:
        if not self.model.nv:
            # Pinocchio reads out of bounds for a model without joints.
            return np.zeros((self.reference.nb, 6, 0))
        pin.computeJointJacobians(self.model, self.data, self.q(q))
        pin.updateFramePlacements(self.model, self.data)
        T = self.T(q)

        def of_frame(f: int) -> Array:
            J = pin.getFrameJacobian(self.model, self.data, f, pin.LOCAL_WORLD_ALIGNED)
            return np.vstack([J[3:], J[:3]]) @ T

        return self._per_body(of_frame, (6, self.model.nv))

    def mass_matrix(self, q: Array) -> Array:
        M = pin.crba(self.model, self.data, self.q(q))
        T = self.T(q)
        return T.T @ (np.triu(M) + np.triu(M, 1).T) @ T

    def _rnea(self, q: Array, v: Array, vdot: Array, body_forces: Array | None) -> Array:
        """Inverse dynamics with Pinocchio's gravity."""
        T = self.T(q)
        a = T @ vdot + self.Tdot_v(q, v)
        if body_forces is None:
            return T.T @ pin.rnea(self.model, self.data, self.q(q), T @ v, a)
        return T.T @ pin.rnea(self.model, self.data, self.q(q), T @ v, a, self._joint_forces(q, body_forces))

    def _joint_forces(self, q: Array, body_forces: Array) -> Any:
        """Forces on each joint's body, in that joint's frame."""
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        for body in self.reference.model.bodies:
            frame = self.model.frames[self.model.getFrameId(body.name, pin.BODY)]
            oMf = self.data.oMi[frame.parentJoint] * frame.placement
            F_W = body_forces[self.reference.row(body.name)]
            R_BW = oMf.rotation.T
            in_body = pin.Force(R_BW @ F_W[3:], R_BW @ F_W[:3])
            forces[frame.parentJoint] += frame.placement.act(in_body)
        return forces

    def gravity_forces(self, q: Array) -> Array:
        zero = np.zeros(self.model.nv)
        return -self._rnea(q, zero, zero, None)

    def inverse_dynamics(self, q: Array, v: Array, vdot: Array, body_forces: Array | None = None) -> Array:
        return self._rnea(q, v, vdot, body_forces) + self.gravity_forces(q)

    def bias_term(self, q: Array, v: Array) -> Array:
        return self.inverse_dynamics(q, v, np.zeros(self.model.nv))

    def forward_dynamics(self, q: Array, v: Array, tau: Array, body_forces: Array | None = None) -> Array:
        T = self.T(q)
        # Pinocchio keeps damping in the model but not in its dynamics.
        tau = tau + self.reference.damping_forces(v)
        tau_pin = np.linalg.solve(T.T, tau)
        arguments = [self.model, self.data, self.q(q), T @ v, tau_pin]
        if body_forces is not None:
            arguments.append(self._joint_forces(q, body_forces))
        return np.linalg.solve(T, pin.aba(*arguments) - self.Tdot_v(q, v))

    # Pinocchio leaves bodies welded to World out of masses and mass centres; model.inertias[0] has them.

    def center_of_mass(self, q: Array) -> Array:
        fixed, m = self.model.inertias[0], pin.computeTotalMass(self.model)
        if m == 0.0:
            return np.array(fixed.lever)
        moving = pin.centerOfMass(self.model, self.data, self.q(q))
        return (m * moving + fixed.mass * fixed.lever) / (m + fixed.mass)

    def center_of_mass_velocity(self, q: Array, v: Array) -> Array:
        m = pin.computeTotalMass(self.model)
        if m == 0.0:
            return np.zeros(3)
        pin.centerOfMass(self.model, self.data, self.q(q), self.T(q) @ v)
        return np.array(self.data.vcom[0]) * m / (m + self.model.inertias[0].mass)

    def potential_energy(self, q: Array) -> float:
        fixed = self.model.inertias[0]
        moving = pin.computePotentialEnergy(self.model, self.data, self.q(q))
        return float(moving - fixed.mass * fixed.lever @ self.model.gravity.linear)

    def kinetic_energy(self, q: Array, v: Array) -> float:
        # Pinocchio counts the rotors of some joint types only.
        armature, self.model.armature = self.model.armature.copy(), np.zeros(self.model.nv)
        bodies = pin.computeKineticEnergy(self.model, self.data, self.q(q), self.T(q) @ v)
        self.model.armature = armature
        return float(bodies + np.sum(self.reference.reflected_inertia * v**2) / 2)
