"""Energy that each element gives to a motion: the power of its forces and of its potential energy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.configuration import integrate_positions
from mbt.motion.implicit_elements import calc_door_friction, calc_door_stiffness
from mbt.motion.impulses import middle_of, split
from mbt.scalars.repeated_context import repeat_context
from mbt.tree.force_elements import (
    DoorHinge,
    JointFriction,
    PointContact,
    PrismaticSpring,
    RevoluteSpring,
)
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory

__all__ = ["APPLIED", "CONTROL", "at_end", "calc_given", "place", "potentials_of"]

CONTROL = "control and actuators"
APPLIED = "applied forces"
_LIMITS = "position limits"
_SHAPES = "contact of shapes"
# Step of the finite differences [rad, m].
_PART_OF_RADIAN = 1e-3


def place(part: Trajectory, context: Context, now: slice) -> Any:
    """Return a Context with some samples of a trajectory as a batch."""
    moving = repeat_context(context, part.time[now].size)
    moving.time, moving.q, moving.v = part.time[now], part.q[..., now, :], part.v[..., now, :]
    return moving


def potentials_of(moving: Any) -> dict[str, FloatArray]:
    """Return the potential energies of the elements [J], by name."""
    return {x._label: np.array(x.calc_potential_energy(moving)) for x in moving.tree.force_elements}


def calc_given(part: Trajectory, moving: Any, now: slice) -> dict[str, Any]:
    """Return the power that each element gives at some samples of a trajectory [W], by name.

    It is the power computed from the forces, not the one the element reports, plus the rate of its potential
    energy: zero for forces that take from the bodies exactly what the potential energy gains. Finite
    differences at each state give the rates, whatever the integration makes of them.

    For implicit steps: the forces in the step after a sample, with the velocity in the middle of the step.
    """
    tau = part.tau[..., now, :]
    if part._moved is None:
        powers, along = _powers_of_states(moving, tau, part.multipliers[..., now, :]), moving
    else:
        moved = part._moved[..., now, :]
        along = place(part, part._need_context("powers"), now)
        along.v = middle_of(moved, moving.v)
        powers = _powers_of_steps(moving, along, tau, moved)
        if part._contact is not None:
            powers[_SHAPES] = part[now]._calc_power_of_shapes()
    for name, rate in _rates_of_potentials(along).items():
        powers[name] = powers[name] + rate
    return powers


def _rates_of_potentials(moving: Any) -> dict[str, FloatArray]:
    """Return the rates of the potential energies along v and in time [W], of fourth order."""
    tree, time, q, v = moving.tree, moving.time, moving.q, moving.v
    speed = np.abs(v).sum(-1)
    # Rates are not finite for a sample that is not, such as the last of a motion that ended early.
    h = _PART_OF_RADIAN / (np.where(np.isfinite(speed), speed, 0.0) + 1.0)

    def difference(dt: FloatArray) -> dict[str, FloatArray]:
        ends = []
        for step in (dt, -dt):
            moving.time, moving.q = time + step, integrate_positions(tree, q, v, step)
            ends.append(potentials_of(moving))
        return {name: (ends[0][name] - ends[1][name]) / (2 * dt) for name in ends[0]}

    near, far = difference(h), difference(2 * h)
    moving.time, moving.q = time, q
    return {name: (4 * near[name] - far[name]) / 3 for name in near}


def _power_of(forces: Any, along: Any) -> Any:
    V_WB = along.tree.eval_velocity_kinematics(along).V_WB
    return (forces.body_forces * V_WB).sum((-2, -1)) + (forces.generalized_forces * along.v).sum(-1)


def _power_of_element(element: Any, moving: Any, along: Any) -> Any:
    forces = moving._new_forces()
    element.calc_and_add_force_contribution(moving, forces=forces)
    return _power_of(forces, along)


def _powers_of_constraints(along: Any, multipliers: FloatArray) -> dict[str, Any]:
    tree = along.tree
    if not tree.num_constraint_equations:
        return {}
    rates = (tree.calc_constraint_jacobian(along) @ along.v[..., np.newaxis])[..., 0]
    powers = {}
    for constraint in tree.constraints:
        rows = slice(constraint.first_equation, constraint.first_equation + constraint.num_equations)
        powers[constraint._label] = (multipliers[..., rows] * rates[..., rows]).sum(-1)
    return powers


def _powers_of_inputs(moving: Any, along: Any, tau: FloatArray) -> dict[str, Any]:
    powers = {CONTROL: (tau * along.v).sum(-1)}
    if moving._has_applied_forces:
        powers[APPLIED] = _power_of(moving.applied_forces, along)
    return powers


def _powers_of_damping(moving: Any, v: FloatArray, along: Any) -> dict[str, Any]:
    """Return the powers of forces that belong to a velocity."""
    powers = {}
    for joint in moving.tree.joints:
        damping = joint.get_damping_vector(moving)
        if np.any(damping):
            dofs = slice(joint.velocity_start, joint.velocity_start + joint.num_velocities)
            powers[f"damping of {joint._label}"] = -(damping * v[..., dofs] * along.v[..., dofs]).sum(-1)
    return powers


def _powers_of_states(moving: Any, tau: FloatArray, multipliers: FloatArray) -> dict[str, Any]:
    powers = {x._label: _power_of_element(x, moving, moving) for x in moving.tree.force_elements}
    powers |= _powers_of_damping(moving, moving.v, moving)
    powers |= _powers_of_constraints(moving, multipliers)
    return powers | _powers_of_inputs(moving, moving, tau)


def _powers_of_steps(moving: Any, along: Any, tau: FloatArray, moved: FloatArray) -> dict[str, Any]:
    tree = moving.tree
    told = split(tree, moved)
    v1 = moving.v + moved[..., :1] * told.vdot
    frictions = [x for x in tree.force_elements if isinstance(x, JointFriction | DoorHinge)]
    powers: dict[str, Any] = {}
    first = 0
    for element in tree.force_elements:
        if isinstance(element, PointContact):
            forces = told.contact[..., first : first + element.num_points, :]
            powers[element._label] = (forces * _velocities_of_points(element, along)).sum((-2, -1))
            first += element.num_points
        elif isinstance(element, SpringsAndDampers):
            powers[element._label] = _power_of_element(element, at_end(element, moving, v1, moved), along)
        elif not isinstance(element, JointFriction | DoorHinge):
            powers[element._label] = _power_of_element(element, moving, along)
        if isinstance(element, JointFriction | DoorHinge):
            dof = element.joint.velocity_start
            # Several elements on one joint share its friction.
            all_of_them = sum(_friction_at_rest(x, moving) for x in frictions if x.joint is element.joint)
            force = (
                _friction_at_rest(element, moving) / np.fmax(all_of_them, 1e-300) * told.friction[..., dof]
            )
            if isinstance(element, DoorHinge):
                config, angle = element.get_config(moving), moving.q[..., element.joint.position_start]
                resisted = config.viscous_friction + moved[..., 0] * calc_door_stiffness(config, angle)
                force = force + element.calc_hinge_spring_torque(angle, moving) - resisted * v1[..., dof]
            powers[element._label] = force * along.v[..., dof]
        if isinstance(element, RevoluteSpring | PrismaticSpring):
            dof = element.joint.velocity_start
            moved_on = moved[..., 0] * element.get_stiffness(moving) * v1[..., dof]
            powers[element._label] = powers[element._label] - moved_on * along.v[..., dof]
    powers |= _powers_of_damping(moving, v1, along)
    powers |= _powers_of_constraints(along, told.multipliers)
    if np.isfinite([tree.position_lower_limits, tree.position_upper_limits]).any():
        powers[_LIMITS] = (told.limit * along.v).sum(-1)
    return powers | _powers_of_inputs(moving, along, tau)


def at_end(element: SpringsAndDampers, moving: Any, v1: FloatArray, moved: FloatArray) -> Any:
    """Return a Context in which an element exerts the force of the step: ``-k (s + h u) - d u``."""
    end = moving.clone()
    end.v = v1
    k, d = element._get_constants(end)
    element._set_constants(end, k, d + moved[..., :1] * k)
    return end


def _friction_at_rest(element: Any, moving: Any) -> Any:
    """Return the largest friction of an element at rest on a joint [N m, N]."""
    if isinstance(element, JointFriction):
        return element.get_breakaway_friction(moving)
    return calc_door_friction(element.get_config(moving), 0.0)


def _velocities_of_points(element: PointContact, along: Any) -> Any:
    """Return the velocities of an element's points, along the axes of the plane, (..., num_points, 3)."""
    F, A = element.frame, element.half_space_frame
    points = np.swapaxes(element.get_p_FC(along), -1, -2)
    J = along.tree.calc_jacobian_translational_velocity(along, "v", F, points, A, A)
    u = (J @ along.v[..., np.newaxis])[..., 0]
    return u.reshape(*u.shape[:-1], element.num_points, 3)
