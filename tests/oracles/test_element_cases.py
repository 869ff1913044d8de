"""Every quantity of the reference models in tests/data/elements, by every public way to compute it.

Of the stored arrays only the derivatives with respect to raw positions (`dID_dq`, `dFD_dq`) are left out:
with quaternions they depend on how these are normalized. Those along the velocities (`*_N`) are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.description import Array
from support.element_cases import ELEMENT_CASES, ElementCase, get_element_case, tolerance
from support.element_trees import build_element_tree

INPUTS = ("q", "v", "vdot", "tau_applied", "F_applied", "actuation")
LEFT_OUT = ("dID_dq", "dFD_dq")


class Run:
    """A rebuilt model in one of its states; arrays are in the order of the tree."""

    def __init__(self, case: ElementCase, tree: mbt.MultibodyTree, state: int) -> None:
        self.tree = tree
        self.bodies = [body for body in tree.bodies if body is not tree.world_body]
        self.rows = [body.node_index for body in self.bodies]
        self._case, self._state = case, state
        self._labels: dict[str, list[Any]] = {
            "b": [body.name for body in self.bodies],
            "j": [joint.name for joint in tree.joints],
            "q": [("", 0)] * tree.num_positions,
            "v": [("", 0)] * tree.num_velocities,
            "a": [actuator.name for actuator in tree.joint_actuators],
        }
        for joint in tree.joints:
            for i in range(joint.num_positions):
                self._labels["q"][joint.position_start + i] = (joint.name, i)
            for i in range(joint.num_velocities):
                self._labels["v"][joint.velocity_start + i] = (joint.name, i)
        self.q, self.v, self.vdot = self.wanted("q"), self.wanted("v"), self.wanted("vdot")
        self.tau_applied = self.wanted("tau_applied")
        self.external = mbt.MultibodyForces(tree)
        self.external.body_forces[self.rows] = self.wanted("F_applied")
        self.context = tree.create_default_context()
        self.context.q, self.context.v = self.q, self.v
        # With all inputs and applied forces, for quantities that depend on accelerations.
        self.driven = self.context.clone()
        self.driven.actuation = self.wanted("actuation")
        self.driven.applied_forces.body_forces[:] = self.external.body_forces
        self.driven.applied_forces.generalized_forces[:] = self.tau_applied

    def wanted(self, quantity: str) -> Array:
        return self._case.get(quantity, self._state, self._labels)

    # Parts that several quantities share.

    def everything(self) -> mbt.MultibodyForces:
        """All force elements and joint damping."""
        forces = mbt.MultibodyForces(self.tree)
        self.tree.calc_force_elements_contribution(self.context, forces)
        return forces

    def force_elements(self) -> mbt.MultibodyForces:
        """All force elements, one by one."""
        forces = mbt.MultibodyForces(self.tree)
        pc = self.tree.eval_position_kinematics(self.context)
        vc = self.tree.eval_velocity_kinematics(self.context)
        for element in self.tree.force_elements:
            element.calc_and_add_force_contribution(self.context, pc, vc, forces)
        return forces

    def damping(self) -> Array:
        return np.asarray(self.everything().generalized_forces - self.force_elements().generalized_forces)

    def actuation_forces(self) -> Array:
        tau = np.zeros(self.tree.num_velocities)
        for actuator in self.tree.joint_actuators:
            tau[actuator.joint.velocity_start] += self.driven.actuation[actuator.input_start]
        return tau

    def forward_dynamics(self) -> Array:
        return self.tree.calc_forward_dynamics(self.driven)

    def jacobian(self, body: mbt.RigidBody, with_respect_to: str) -> Array:
        return self.tree.calc_jacobian_spatial_velocity(
            self.context,
            with_respect_to,
            body.body_frame,
            np.zeros(3),
            self.tree.world_frame,
            self.tree.world_frame,
        )

    def bias_acceleration(self, body: mbt.RigidBody) -> Array:
        return self.tree.calc_bias_spatial_acceleration(
            self.context, "v", body.body_frame, np.zeros(3), self.tree.world_frame, self.tree.world_frame
        )

    def inverse_dynamics(
        self, vdot: Array, forces: mbt.MultibodyForces | None = None, full: bool = False
    ) -> Array:
        return self.tree.calc_inverse_dynamics(self.context, vdot, forces, include_force_elements=full)

    def generalized(self, forces: mbt.MultibodyForces) -> Array:
        """Return forces as generalized forces."""
        still = np.zeros(self.tree.num_velocities)
        return np.asarray(self.inverse_dynamics(still) - self.inverse_dynamics(still, forces))


def _each_body(f: Callable[[Run, mbt.RigidBody], Array]) -> Callable[[Run], Array]:
    return lambda run: np.array([f(run, body) for body in run.bodies])


def _each_joint(f: Callable[[Run, mbt.Joint], Array]) -> Callable[[Run], Array]:
    return lambda run: np.array([f(run, joint) for joint in run.tree.joints])


def _sum_of_elements(method: str, *caches: str) -> Callable[[Run], float]:
    def total(run: Run) -> float:
        known = {
            "pc": run.tree.eval_position_kinematics(run.context),
            "vc": run.tree.eval_velocity_kinematics(run.context),
        }
        arguments = [known[name] for name in caches]
        return sum(getattr(element, method)(run.context, *arguments) for element in run.tree.force_elements)

    return total


def _columns(function: Callable[[Array], Array], size: int) -> Array:
    """Return the matrix of a linear function."""
    rows = [function(unit) for unit in np.eye(size)]
    return np.array(rows).T


def _of_mobilizers(method: str, rows: str, columns: str) -> Callable[[Run], Array]:
    """Return the block-diagonal matrix of the mobilizers' matrices."""

    def matrix(run: Run) -> Array:
        result = np.zeros((len(getattr(run, rows)), len(getattr(run, columns))))
        for mobilizer in run.tree.mobilizers:
            q = slice(mobilizer.position_start, mobilizer.position_start + mobilizer.num_positions)
            v = slice(mobilizer.velocity_start, mobilizer.velocity_start + mobilizer.num_velocities)
            block = {"q": q, "v": v}
            result[block[rows], block[columns]] = getattr(mobilizer, method)(run.context)
        return result

    return matrix


def _gravity_only(run: Run) -> Array:
    """Inverse dynamics with gravity as the only force; the stateless function with zeros added."""
    forces = mbt.MultibodyForces(run.tree)
    gravity = run.tree.gravity_field
    pc, vc = run.tree.eval_position_kinematics(run.context), run.tree.eval_velocity_kinematics(run.context)
    gravity.calc_and_add_force_contribution(run.context, pc, vc, forces)
    return run.inverse_dynamics(run.vdot, forces)


def _dynamics_functional(run: Run) -> Array:
    tau = run.tau_applied + run.actuation_forces()
    return functional.forward_dynamics(run.tree, run.q, run.v, tau, external_forces=run.external)


def _spatial_accelerations(run: Run, vdot: Array) -> Array:
    return run.tree.calc_spatial_accelerations_from_vdot(run.context, vdot)[run.rows]


def _damping_vector(run: Run) -> Array:
    damping = np.zeros(run.tree.num_velocities)
    for joint in run.tree.joints:
        joint.get_mutable_generalized_forces_from_array(damping)[:] = joint.get_damping_vector(run.context)
    return -damping * run.v


# Quantity -> every way to compute it.
WAYS: dict[str, tuple[Callable[[Run], Any], ...]] = {
    "X_WB": (
        lambda run: run.tree.eval_position_kinematics(run.context).X_WB[run.rows],
        lambda run: functional.body_poses(run.tree, run.q)[run.rows],
        _each_body(lambda run, body: body.eval_pose_in_world(run.context)),
    ),
    "V_WB": (
        lambda run: run.tree.eval_velocity_kinematics(run.context).V_WB[run.rows],
        _each_body(lambda run, body: body.eval_spatial_velocity_in_world(run.context)),
        _each_body(lambda run, body: run.jacobian(body, "v") @ run.v),
    ),
    "A_WB": (
        lambda run: _spatial_accelerations(run, run.vdot),
        lambda run: run.tree.calc_acceleration_kinematics_cache(run.context, run.vdot).A_WB[run.rows],
        _each_body(lambda run, body: run.jacobian(body, "v") @ run.vdot + run.bias_acceleration(body)),
    ),
    "M": (
        lambda run: run.tree.calc_mass_matrix(run.context),
        lambda run: run.tree.calc_mass_matrix_via_inverse_dynamics(run.context),
        lambda run: functional.mass_matrix(run.tree, run.q),
    ),
    "Cv": (
        lambda run: run.tree.calc_bias_term(run.context),
        lambda run: run.tree.calc_coriolis_matrix(run.context) @ run.v,
        lambda run: functional.bias_term(run.tree, run.q, run.v),
    ),
    "tau_g": (
        lambda run: run.tree.calc_gravity_generalized_forces(run.context),
        lambda run: functional.gravity_generalized_forces(run.tree, run.q),
        lambda run: run.tree.gravity_field.calc_gravity_generalized_forces(run.context),
    ),
    "tau_id_nograv": (lambda run: run.inverse_dynamics(run.vdot),),
    "tau_id_grav": (_gravity_only,),
    "tau_id_full": (
        lambda run: run.inverse_dynamics(run.vdot, full=True),
        lambda run: run.inverse_dynamics(run.vdot, run.everything()),
        lambda run: functional.inverse_dynamics(run.tree, run.q, run.v, run.vdot),
    ),
    "tau_id_ext": (
        lambda run: run.inverse_dynamics(run.vdot, run.external, full=True),
        lambda run: functional.inverse_dynamics(
            run.tree, run.q, run.v, run.vdot, external_forces=run.external
        ),
    ),
    "JtF": (
        lambda run: run.generalized(run.external),
        lambda run: sum(run.jacobian(b, "v").T @ run.external.body_forces[b.node_index] for b in run.bodies),
    ),
    "vdot_fd": (
        lambda run: run.forward_dynamics(),
        lambda run: run.tree.calc_forward_dynamics(
            run.context, run.tau_applied + run.actuation_forces(), run.external
        ),
        _dynamics_functional,
    ),
    "A_WB_fd": (
        lambda run: _spatial_accelerations(run, run.forward_dynamics()),
        _each_body(lambda run, body: body.eval_spatial_acceleration_in_world(run.driven)),
        _each_body(lambda run, body: body.body_frame.calc_spatial_acceleration_in_world(run.driven)),
    ),
    "com_a_fd": (lambda run: run.tree.calc_center_of_mass_translational_acceleration_in_world(run.driven),),
    "reaction_CJc_Jc": (lambda run: run.tree.calc_reaction_forces(run.driven),),
    "J_WB": (
        _each_body(lambda run, body: run.jacobian(body, "v")),
        _each_body(lambda run, body: functional.frame_jacobian(run.tree, run.q, body.body_frame)),
    ),
    "J_WB_qdot": (_each_body(lambda run, body: run.jacobian(body, "qdot")),),
    "J_com": (
        lambda run: run.tree.calc_jacobian_center_of_mass_translational_velocity(
            run.context, "v", run.tree.world_frame, run.tree.world_frame
        ),
    ),
    "Jdotv_WB": (
        _each_body(lambda run, body: run.bias_acceleration(body)),
        lambda run: _spatial_accelerations(run, np.zeros_like(run.v)),
    ),
    "PE": (
        lambda run: run.tree.calc_potential_energy(run.context),
        _sum_of_elements("calc_potential_energy", "pc"),
    ),
    "KE": (
        lambda run: run.tree.calc_kinetic_energy(run.context),
        lambda run: run.v @ run.tree.calc_mass_matrix(run.context) @ run.v / 2,
    ),
    "power_conservative": (
        lambda run: run.tree.calc_conservative_power(run.context),
        _sum_of_elements("calc_conservative_power", "pc", "vc"),
    ),
    # The tree counts joint damping, the reference does not.
    "power_nonconservative": (
        lambda run: run.tree.calc_non_conservative_power(run.context) - run.v @ run.wanted("tau_damping"),
        _sum_of_elements("calc_non_conservative_power", "pc", "vc"),
    ),
    "mass": (lambda run: run.tree.calc_total_mass(run.context),),
    "com": (lambda run: run.tree.calc_center_of_mass_position_in_world(run.context),),
    "com_v": (lambda run: run.tree.calc_center_of_mass_translational_velocity_in_world(run.context),),
    "L_WWo_W": (lambda run: run.tree.calc_spatial_momentum_in_world_about_point(run.context, np.zeros(3)),),
    "N": (
        lambda run: run.tree.make_velocity_to_qdot_map(run.context),
        lambda run: _columns(lambda e: run.tree.map_velocity_to_qdot(run.context, e), len(run.v)),
        _of_mobilizers("calc_n_matrix", "q", "v"),
    ),
    "Nplus": (
        lambda run: run.tree.make_qdot_to_velocity_map(run.context),
        lambda run: _columns(lambda e: run.tree.map_qdot_to_velocity(run.context, e), len(run.q)),
        _of_mobilizers("calc_nplus_matrix", "v", "q"),
    ),
    "Ndot": (_of_mobilizers("calc_n_dot_matrix", "q", "v"),),
    "qdot": (lambda run: run.tree.map_velocity_to_qdot(run.context, run.v),),
    "X_WF": (
        _each_joint(lambda run, joint: joint.frame_on_parent.calc_pose_in_world(run.context)),
        _each_joint(
            lambda run, joint: run.tree.calc_relative_transform(
                run.context, run.tree.world_frame, joint.frame_on_parent
            )
        ),
    ),
    "X_WM": (_each_joint(lambda run, joint: joint.frame_on_child.calc_pose_in_world(run.context)),),
    "X_FM": (
        _each_joint(lambda run, joint: joint.frame_on_child.calc_pose(run.context, joint.frame_on_parent)),
    ),
    "V_FM_F": (
        _each_joint(
            lambda run, joint: joint.frame_on_child.calc_spatial_velocity(
                run.context, joint.frame_on_parent, joint.frame_on_parent
            )
        ),
    ),
    "tau_damping": (lambda run: run.damping(), _damping_vector),
    "fe_generalized": (lambda run: run.force_elements().generalized_forces,),
    "fe_body_W": (
        lambda run: run.force_elements().body_forces[run.rows],
        lambda run: run.everything().body_forces[run.rows],
    ),
    "tau_fe_total": (lambda run: run.generalized(run.everything()),),
}


def _inverse_derivatives(i: int) -> tuple[Callable[[Run], Any], ...]:
    return (
        lambda run: run.tree.calc_inverse_dynamics_derivatives(
            run.context, run.vdot, include_force_elements=True
        )[i],
        lambda run: functional.inverse_dynamics_derivatives(run.tree, run.q, run.v, run.vdot)[i],
    )


def _forward_derivatives(i: int) -> tuple[Callable[[Run], Any], ...]:
    def by_function(run: Run) -> Any:
        tau = run.tau_applied + run.actuation_forces()
        return functional.forward_dynamics_derivatives(
            run.tree, run.q, run.v, tau, external_forces=run.external
        )[i]

    return (
        lambda run: run.tree.calc_forward_dynamics_derivatives(run.driven)[i],
        lambda run: run.tree.calc_forward_dynamics_derivatives(
            run.context, run.tau_applied + run.actuation_forces(), run.external
        )[i],
        by_function,
    )


WAYS |= {
    "dID_dq_N": _inverse_derivatives(0),
    "dID_dv": _inverse_derivatives(1),
    "dID_dvdot": _inverse_derivatives(2),
    "dFD_dq_N": _forward_derivatives(0),
    "dFD_dv": _forward_derivatives(1),
}


@cache
def _run(name: str, state: int) -> Run:
    return Run(get_element_case(name), _tree(name), state)


@cache
def _tree(name: str) -> mbt.MultibodyTree:
    return build_element_tree(get_element_case(name).description)


def error(actual: Any, desired: Array) -> float:
    """Return ``max |a - b| / (1 + max |b|)`` where b is known; NaN where a is NaN."""
    a, b = np.asarray(actual), np.asarray(desired)
    assert a.shape == b.shape, f"shape {a.shape}, wanted {b.shape}"
    known = ~np.isnan(b)
    if not known.any():
        return 0.0
    return float(np.abs(a - b)[known].max() / (1.0 + np.abs(b)[known].max()))


@pytest.mark.parametrize("name", ELEMENT_CASES)
def test_every_array_is_compared(name: str) -> None:
    assert set(get_element_case(name).arrays) == {*INPUTS, *LEFT_OUT, *WAYS}


@pytest.mark.parametrize("quantity", WAYS)
@pytest.mark.parametrize("name", ELEMENT_CASES)
def test_agrees(name: str, quantity: str) -> None:
    for state in range(ElementCase.num_states):
        run = _run(name, state)
        desired = run.wanted(quantity)
        for way, compute in enumerate(WAYS[quantity]):
            off = error(compute(run), desired)
            assert off <= tolerance(quantity), f"state {state}, way {way}: off by {off:.3g}"
