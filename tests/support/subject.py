"""`mbt` behind the methods of `Reference`, so that both fit the same comparison."""

from __future__ import annotations

import numpy as np

import mbt
from support.description import Array


class Subject:
    """The library under test, through Contexts and the `calc_*` methods."""

    def __init__(self, tree: mbt.MultibodyTree) -> None:
        self.tree = tree
        self.context = tree.create_default_context()

    def at(self, q: Array, v: Array | None = None) -> mbt.Context:
        self.context.q = q
        self.context.v = np.zeros(self.tree.num_velocities) if v is None else v
        return self.context

    def forces(self, body_forces: Array | None, tau: Array | None = None) -> mbt.MultibodyForces:
        forces = mbt.MultibodyForces(self.tree)
        if body_forces is not None:
            forces.body_forces[:] = body_forces
        if tau is not None:
            forces.generalized_forces[:] = tau
        return forces

    def poses(self, q: Array) -> Array:
        return self.tree.eval_position_kinematics(self.at(q)).X_WB

    def velocities(self, q: Array, v: Array) -> Array:
        return self.tree.eval_velocity_kinematics(self.at(q, v)).V_WB

    def accelerations(self, q: Array, v: Array, vdot: Array) -> Array:
        return self.tree.calc_spatial_accelerations_from_vdot(self.at(q, v), vdot)

    def jacobians(self, q: Array) -> Array:
        context, tree = self.at(q), self.tree
        J = np.zeros((tree.num_bodies, 6, tree.num_velocities))
        for body in tree.bodies:
            J[body.node_index] = tree.calc_jacobian_spatial_velocity(
                context, "v", body.body_frame, np.zeros(3), tree.world_frame, tree.world_frame
            )
        return J

    def mass_matrix(self, q: Array) -> Array:
        return self.tree.calc_mass_matrix(self.at(q))

    def bias_term(self, q: Array, v: Array) -> Array:
        return self.tree.calc_bias_term(self.at(q, v))

    def gravity_forces(self, q: Array) -> Array:
        return self.tree.calc_gravity_generalized_forces(self.at(q))

    def inverse_dynamics(self, q: Array, v: Array, vdot: Array, body_forces: Array | None = None) -> Array:
        forces = None if body_forces is None else self.forces(body_forces)
        return self.tree.calc_inverse_dynamics(self.at(q, v), vdot, forces)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, body_forces: Array | None = None) -> Array:
        return self.tree.calc_forward_dynamics(self.at(q, v), tau, self.forces(body_forces))

    def center_of_mass(self, q: Array) -> Array:
        return self.tree.calc_center_of_mass_position_in_world(self.at(q))

    def center_of_mass_velocity(self, q: Array, v: Array) -> Array:
        return self.tree.calc_center_of_mass_translational_velocity_in_world(self.at(q, v))

    def potential_energy(self, q: Array) -> float:
        return self.tree.calc_potential_energy(self.at(q))

    def kinetic_energy(self, q: Array, v: Array) -> float:
        return self.tree.calc_kinetic_energy(self.at(q, v))
