"""Drake's MultibodyPlant behind the methods of `Reference`, in the reference's order. Conventions are the
same.
"""

# mypy: disable-error-code="arg-type"
# (the stubs of pydrake take a type of array that no array has)

from __future__ import annotations

from typing import Any

import numpy as np
from pydrake.multibody.math import SpatialForce
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JacobianWrtVariable, MultibodyForces

from support.description import WORLD, Array, Model
from support.reference import Layout, Reference


class DrakePeer:
    def __init__(self, urdf: str, model: Model, layout: Layout | None = None) -> None:
        self.reference = Reference(model, layout)
        self.plant = MultibodyPlant(0.0)
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
        """Their velocity order -> ours, along the last axis."""
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
