"""Drake's MultibodyPlant behind the methods of `Reference`, in the reference's order. Conventions are the
same.
"""

# mypy: disable-error-code="arg-type"
# (the stubs of pydrake require an array type that no array has)

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody import tree
from pydrake.multibody.math import SpatialForce
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import (
    FixedOffsetFrame,
    JacobianWrtVariable,
    MultibodyForces,
    RotationalInertia,
    SpatialInertia,
)

from support.description import WORLD, Array, Joint, Model
from support.reference import Layout, Reference

# Joint types that Drake's Python bindings have.
KINDS = (
    "weld",
    "revolute",
    "prismatic",
    "floating",
    "screw",
    "universal",
    "ball_rpy",
    "planar",
    "rpy_floating",
)


def build_plant(plant: Any, model: Model) -> None:
    """Add the bodies, joints, rotors and gravity of a model."""
    for body in model.bodies:
        I_cm = body.I_BBcm_B
        inertia = RotationalInertia(*np.diag(I_cm), I_cm[0, 1], I_cm[0, 2], I_cm[1, 2])
        M = SpatialInertia.MakeFromCentralInertia(body.mass, body.com, inertia)
        plant.AddRigidBody(body.name, M)
    frames = {WORLD: plant.world_frame()}
    frames |= {body.name: plant.GetFrameByName(body.name) for body in model.bodies}
    for joint in model.joints:
        ends = [
            frames[body]
            if X is None
            else plant.AddFrame(FixedOffsetFrame(f"{joint.name}_{end}", frames[body], RigidTransform(X)))
            for body, X, end in ((joint.parent, joint.X_PF, "F"), (joint.child, joint.X_BM, "M"))
        ]
        plant.AddJoint(_make_joint(joint, *ends))
    for actuator in model.actuators:
        theirs = plant.AddJointActuator(actuator.name, plant.GetJointByName(actuator.joint))
        theirs.set_default_rotor_inertia(actuator.rotor_inertia)
        theirs.set_default_gear_ratio(actuator.gear_ratio)
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3) if model.gravity is None else model.gravity)


def _make_joint(joint: Joint, F: Any, M: Any) -> Any:
    d = joint.damping or (0.0,) * joint.num_velocities
    if joint.kind == "weld":
        X_FM = RigidTransform() if joint.X_FM is None else RigidTransform(joint.X_FM)
        return tree.WeldJoint(joint.name, F, M, X_FM)
    if joint.kind in ("revolute", "prismatic"):
        one_axis = tree.RevoluteJoint if joint.kind == "revolute" else tree.PrismaticJoint
        return one_axis(joint.name, F, M, joint.axis, damping=d[0])
    if joint.kind == "screw":
        return tree.ScrewJoint(joint.name, F, M, joint.axis, joint.screw_pitch, d[0])
    if joint.kind == "planar":
        return tree.PlanarJoint(joint.name, F, M, np.array(d))
    if joint.kind in ("floating", "rpy_floating"):
        free = tree.QuaternionFloatingJoint if joint.kind == "floating" else tree.RpyFloatingJoint
        return free(joint.name, F, M, d[0], d[3])
    return {"universal": tree.UniversalJoint, "ball_rpy": tree.BallRpyJoint}[joint.kind](
        joint.name, F, M, d[0]
    )


class DrakePeer:
    """A plant; with `urdf` None it is built joint by joint, if Drake has the types and directions."""

    def __init__(self, urdf: str | None, model: Model, layout: Layout | None = None) -> None:
        self.reference = Reference(model, layout)
        self.plant = MultibodyPlant(0.0)
        if urdf is None:
            build_plant(self.plant, self.reference.model)
        else:
            Parser(self.plant).AddModelsFromString(urdf, "urdf")
            for joint in self.reference.model.joints:
                if joint.parent == WORLD and joint.kind == "weld":
                    self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName(joint.child))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        joints = [joint for joint in self.reference.model.joints if joint.num_velocities]
        self.q_order = np.zeros(self.plant.num_positions(), int)
        self.v_order = np.zeros(self.plant.num_velocities(), int)
        for joint in joints:
            theirs = self.plant.GetJointByName(joint.name)
            qs, vs = self.reference.q_slice(joint), self.reference.v_slice(joint)
            q_start, v_start = theirs.position_start(), theirs.velocity_start()
            self.q_order[q_start : q_start + joint.num_positions] = np.arange(qs.start, qs.stop)
            self.v_order[v_start : v_start + joint.num_velocities] = np.arange(vs.start, vs.stop)

    def _at(self, q: Array, v: Array | None = None) -> Any:
        v = np.zeros(len(self.v_order)) if v is None else v
        self.plant.SetPositions(self.context, q[self.q_order])
        self.plant.SetVelocities(self.context, v[self.v_order])
        return self.context

    def _back(self, theirs: Array) -> Array:
        """From Drake's order of velocities to ours, along the last axis."""
        ours = np.empty_like(theirs)
        ours[..., self.v_order] = theirs
        return ours

    def _bodies(self) -> list[tuple[int, Any]]:
        names = [body.name for body in self.reference.model.bodies]
        return [(self.reference.row(name), self.plant.GetBodyByName(name)) for name in names]

    def _forces(self, body_forces: Array | None, tau: Array | None = None) -> Any:
        forces = MultibodyForces(self.plant)
        if body_forces is not None:
            for row, body in self._bodies():
                F = SpatialForce(tau=body_forces[row, :3], f=body_forces[row, 3:])
                body.AddInForceInWorld(self.context, F, forces)
        if tau is not None:
            forces.mutable_generalized_forces()[:] += tau[self.v_order]
        return forces

    def poses(self, q: Array) -> Array:
        context = self._at(q)
        result = np.tile(np.eye(4), (self.reference.nb, 1, 1))
        for row, body in self._bodies():
            result[row] = self.plant.EvalBodyPoseInWorld(context, body).GetAsMatrix4()
        return result

    def velocities(self, q: Array, v: Array) -> Array:
        context = self._at(q, v)
        result = np.zeros((self.reference.nb, 6))
        for row, body in self._bodies():
            result[row] = self.plant.EvalBodySpatialVelocityInWorld(context, body).get_coeffs()
        return result

    def accelerations(self, q: Array, v: Array, vdot: Array) -> Array:
        return self.jacobians(q) @ vdot + self._bias_accelerations(q, v)

    def _bias_accelerations(self, q: Array, v: Array) -> Array:
        context, world = self._at(q, v), self.plant.world_frame()
        result = np.zeros((self.reference.nb, 6))
        for row, body in self._bodies():
            result[row] = self.plant.CalcBiasSpatialAcceleration(
                context, JacobianWrtVariable.kV, body.body_frame(), np.zeros(3), world, world
            ).get_coeffs()
        return result

    def jacobians(self, q: Array) -> Array:
        context, world = self._at(q), self.plant.world_frame()
        result = np.zeros((self.reference.nb, 6, self.reference.nv))
        for row, body in self._bodies():
            J = self.plant.CalcJacobianSpatialVelocity(
                context, JacobianWrtVariable.kV, body.body_frame(), np.zeros(3), world, world
            )
            result[row] = self._back(J)
        return result

    def mass_matrix(self, q: Array) -> Array:
        M = self.plant.CalcMassMatrix(self._at(q))
        return self._back(self._back(M).T)

    def bias_term(self, q: Array, v: Array) -> Array:
        return self._back(self.plant.CalcBiasTerm(self._at(q, v)))

    def gravity_forces(self, q: Array) -> Array:
        return self._back(self.plant.CalcGravityGeneralizedForces(self._at(q)))

    def inverse_dynamics(self, q: Array, v: Array, vdot: Array, body_forces: Array | None = None) -> Array:
        context = self._at(q, v)
        forces = self._forces(body_forces)
        return self._back(self.plant.CalcInverseDynamics(context, vdot[self.v_order], forces))

    def forward_dynamics(self, q: Array, v: Array, tau: Array, body_forces: Array | None = None) -> Array:
        # The plant adds gravity and joint damping of its own.
        context = self._at(q, v)
        applied = self.plant.CalcGeneralizedForces(context, self._forces(body_forces, tau))
        self.plant.get_applied_generalized_force_input_port().FixValue(context, applied)
        derivatives = self.plant.EvalTimeDerivatives(context).CopyToVector()
        return self._back(derivatives[self.plant.num_positions() :])

    def center_of_mass(self, q: Array) -> Array:
        return np.array(self.plant.CalcCenterOfMassPositionInWorld(self._at(q)))

    def center_of_mass_velocity(self, q: Array, v: Array) -> Array:
        return np.array(self.plant.CalcCenterOfMassTranslationalVelocityInWorld(self._at(q, v)))

    def potential_energy(self, q: Array) -> float:
        return float(self.plant.CalcPotentialEnergy(self._at(q)))

    def kinetic_energy(self, q: Array, v: Array) -> float:
        return float(self.plant.CalcKineticEnergy(self._at(q, v)))
