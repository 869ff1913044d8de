"""Logs of a simulated robot that differs from its description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mbt


@dataclass
class Robot:
    """A description, the real robot, and its base parameters."""

    tree: Any
    real: Any
    noise: np.ndarray

    def log(self, count: int, rng: np.random.Generator, noise: float = 1.0) -> tuple[np.ndarray, ...]:
        q, v, vdot = rng.normal(size=(3, count, 6))
        context = self.real.create_default_context(batch_shape=count)
        context.q, context.v = q, v
        tau = self.real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
        return q, v, vdot, tau + noise * self.noise * rng.normal(size=tau.shape)

    def truth(self) -> np.ndarray:
        """Return the real robot's numbers: bodies, then viscous, Coulomb, rotor."""
        rotors = [a.default_rotor_inertia * a.default_gear_ratio**2 for a in self.real.joint_actuators]
        damping = [j.default_damping for j in self.real.joints if j.num_velocities]
        dry = [e.coulomb_friction for e in self.real.force_elements if isinstance(e, mbt.JointFriction)]
        return np.concatenate([self.real.get_inertial_parameters(), damping, dry, rotors])


@pytest.fixture(scope="session")
def robot() -> Robot:
    rng = np.random.default_rng(5)
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    real = tree.edit()
    for body in real.bodies[1:]:
        scale = rng.uniform(0.8, 1.3)
        body.set_default_spatial_inertia(
            mbt.SpatialInertia(scale * body.default_mass, body.default_com, body.default_unit_inertia)
        )
    for joint in real.joints:
        if joint.num_velocities:
            joint.set_default_damping(rng.uniform(0.1, 2.0))
            real.add_force_element(mbt.JointFriction(joint, rng.uniform(0.2, 2.0)))
    for actuator in real.joint_actuators:
        actuator.set_default_rotor_inertia(rng.uniform(0.5, 1.5) * actuator.default_rotor_inertia)
    real.finalize()
    return Robot(tree, real, np.array([0.3, 0.3, 0.2, 0.05, 0.05, 0.02]))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
