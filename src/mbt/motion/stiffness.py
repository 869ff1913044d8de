"""Motions too fast for the steps of a method: their rates at a state, and the elements that cause them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.configuration import integrate_positions
from mbt.errors import MbtError
from mbt.motion.rollouts import rollout_context
from mbt.scalars.repeated_context import repeat_context
from mbt.tree.servos import calc_efforts, has_servos, read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["TooFast", "calc_step_error", "find_fastest_body", "find_held_too_long", "find_too_fast"]

# Step of the finite differences along a mode: velocities [rad/s, m/s].
_REACH = 1e-5
# For rk4: no decaying mode is unstable if rate times step is below this.
_REACH_OF_RK4 = 2.5
# A mode of stiffness k and damping d is stable in steps of h if h^2 k + 2 h d < 4; this has a margin.
_STABLE = 3.9
# Velocity-dependent forces are the cause if they do this many times the work of any element.
_CLEAR = 4.0
_SERVO = "the servo of"


@dataclass(frozen=True)
class TooFast:
    """An element that a method of fixed steps cannot follow.

    Attributes
    ----------
    element : str or None
        Its description; None for the velocity-dependent (Coriolis and gyroscopic) forces.
    rate : float
        Magnitude of the eigenvalue of the linearized motion that the element dominates [1/s].
    longest_step : float
        The longest step with which that mode is stable [s].
    """

    element: str | None
    rate: float
    longest_step: float


def find_too_fast(context: Context, tau: FloatArray, dt: float, method: str) -> TooFast | None:
    """Return the cause of instability of a method's steps at a state, or None.

    The motion near a state is ``d/dt [dq; dv] = [0 1; dvdot/dq dvdot/dv] [dq; dv]``. A mode of it that decays
    or oscillates, and grows under the method, is caused by the step; of the fastest one, the element whose
    forces do most of the work along the mode is returned.

    Parameters
    ----------
    context : Context
        One state.
    tau : ndarray, shape (num_velocities,)
        Generalized forces of control and actuators there.
    dt : float
        Length of the steps [s].
    method : str
        ``"semi_implicit_euler"`` or ``"rk4"``.
    """
    try:
        by_q, by_v = _linearize(context, tau)
    except (MbtError, np.linalg.LinAlgError):  # The state has no accelerations.
        return None
    if not (np.isfinite(by_q).all() and np.isfinite(by_v).all()) or _are_slow(context, by_q, by_v, dt):
        return None
    nv = by_v.shape[-1]
    jacobian = np.block([[np.zeros((nv, nv)), np.eye(nv)], [by_q, by_v]])
    values, modes = np.linalg.eig(jacobian)
    # rk4 also holds the efforts of servos during a step, which is no better than an Euler step.
    rules = (method, "semi_implicit_euler") if _acting_servos(context) else (method,)
    for rule in rules:
        longest = np.array([_longest_step(complex(value), rule) for value in values])
        worst = int(np.argmin(longest))
        if longest[worst] < dt:
            element = _find_element(context, complex(values[worst]), modes[:nv, worst], modes[nv:, worst])
            if rule == method or (element or "").startswith(_SERVO):
                return TooFast(element, abs(values[worst]), float(longest[worst]))
    return None


def find_held_too_long(context: Context, dt: float) -> TooFast | None:
    """Return an element in Python that makes implicit steps unstable at a state, or None.

    Steps hold its force constant. Finite differences give its stiffness and damping.

    Parameters
    ----------
    context : Context
        One state.
    dt : float
        Length of the steps [s].
    """
    tree, nv = context.tree, context.tree.num_velocities
    try:
        # Forces evaluated at the end of the step add to the mass.
        M = tree.calc_mass_matrix(context) + dt * np.diag(_damping(context))
        for dof, _, stiffness, damping in _acting_servos(context):
            M[dof, dof] += dt * damping + dt * dt * stiffness
        inverse = np.linalg.inv(M)
    except (MbtError, np.linalg.LinAlgError):
        return None
    for element in tree._user_force_elements or ():
        by_q, by_v = _differentiate_element(context, element)
        if not (np.isfinite(by_q).all() and np.isfinite(by_v).all()):
            continue
        rates = np.block([[np.zeros((nv, nv)), np.eye(nv)], [inverse @ by_q, inverse @ by_v]])
        values = np.linalg.eigvals(rates)
        longest = np.array([_longest_step(complex(value), "semi_implicit_euler") for value in values])
        worst = int(np.argmin(longest))
        if longest[worst] < dt:
            name = f"{element._label} ({type(element).__name__})"
            return TooFast(name, abs(values[worst]), float(longest[worst]))
    return None


def _differentiate_element(context: Context, element: Any) -> tuple[FloatArray, FloatArray]:
    """Return how the generalized forces of an element change with q and v, by central differences."""
    tree, nv = context.tree, context.tree.num_velocities
    steps = _REACH * np.concatenate([np.eye(nv), -np.eye(nv), np.zeros((2 * nv, nv))])
    ends, along = repeat_context(context, 4 * nv), repeat_context(context, nv)
    ends.q = integrate_positions(tree, np.tile(context.q, (4 * nv, 1)), steps, 1.0)
    ends.v = context.v + np.roll(steps, 2 * nv, axis=0)
    along.v = np.eye(nv)
    V = tree.eval_velocity_kinematics(along).V_WB
    forces = ends._new_forces()
    element.calc_and_add_force_contribution(ends, forces=forces)
    tau = np.einsum("sbi,kbi->sk", forces.body_forces, V) + forces.generalized_forces
    q_up, q_down, v_up, v_down = tau.reshape(4, nv, nv)
    return (q_up - q_down).T / (2.0 * _REACH), (v_up - v_down).T / (2.0 * _REACH)


def calc_step_error(
    context: Context, tau: FloatArray, dt: float, method: str, num_steps: int = 1, parts: int = 2
) -> float:
    """Return by how much steps differ from shorter ones, relative to the velocity, by kinetic energy."""
    tree = context.tree
    # Without servos: the forces include their efforts.
    ends = [
        rollout_context(context, np.tile(tau, (num_steps * n, 1)), dt / n, method=method)[1][-1]
        for n in (1, parts)
    ]
    M = tree.calc_mass_matrix(context)
    error, *energies = (float(v @ M @ v) for v in (ends[1] - ends[0], context.v, *ends))
    energy = max(energies)
    return math.sqrt(abs(error) / energy) if energy > 0.0 else 0.0


def find_fastest_body(context: Context) -> tuple[str, float]:
    """Return the body that turns fastest, and its speed [rad/s]."""
    tree = context.tree
    speeds = np.linalg.norm(tree.eval_velocity_kinematics(context).V_WB[:, :3], axis=-1)
    fastest = int(np.argmax(speeds))
    return tree.bodies[fastest]._label, float(speeds[fastest])


def _linearize(context: Context, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the derivatives of vdot with respect to q and v, (nv, nv) each, without locked dofs."""
    tree = context.tree
    if tree._user_force_elements:  # These may lack derivatives; joint damping has them.
        M = tree.calc_mass_matrix(context)
        by_tau = np.linalg.inv(M)
        by_q, by_v = np.zeros_like(M), np.asarray(-by_tau * _damping(context), dtype=np.float64)
    elif tree.num_constraint_equations:
        by_q, by_v, by_tau, *_ = tree.calc_constrained_forward_dynamics_derivatives(context, tau)
    else:
        by_q, by_v, by_tau = tree.calc_forward_dynamics_derivatives(context, tau)
    servos = _acting_servos(context)
    if servos:
        gains = np.zeros((2, tree.num_velocities))
        for dof, _, stiffness, damping in servos:
            gains[:, dof] += stiffness, damping
        by_q, by_v = by_q - by_tau * gains[0], by_v - by_tau * gains[1]
    return by_q, by_v


def _acting_servos(context: Context) -> list[tuple[int, str, float, float]]:
    """Return the velocity, label and gains of each servo whose effort is not at its limit."""
    tree = context.tree
    if not has_servos(tree):
        return []
    servos = read_servos(tree, context)
    efforts = calc_efforts(servos, context.q, context.v)
    labels = [f"{_SERVO} {tree.joint_actuators[i]._label}" for i in servos.actuators.tolist()]
    rows = zip(servos.dofs.tolist(), labels, servos.stiffness.tolist(), servos.damping.tolist(), strict=True)
    return [row for row, acts in zip(rows, np.abs(efforts) < servos.effort_limits, strict=True) if acts]


def _are_slow(context: Context, by_q: FloatArray, by_v: FloatArray, dt: float) -> bool:
    """Whether a bound on the eigenvalues, which is cheap to compute, shows that all modes are slow."""
    try:
        L = np.linalg.cholesky(context.tree.calc_mass_matrix(context))
    except np.linalg.LinAlgError:
        return False
    # In velocities of unit kinetic energy, damping and stiffness are symmetric, and the bound is tight.
    inverse = np.linalg.inv(L.T)
    parts = [L.T @ part @ inverse for part in (by_q, by_v)]
    # The Frobenius norm is the cheapest, but grows with the number of velocities; the spectral norm does not.
    for order in (None, 2):
        of_q, of_v = (float(np.linalg.norm(part, order)) for part in parts)
        if dt * dt * of_q + 2.0 * dt * of_v < _STABLE:
            return True
    return False


def _longest_step(value: complex, method: str) -> float:
    """Return the longest stable step for an eigenvalue of the motion; infinite if the motion itself grows."""
    rate = abs(value)
    if rate == 0.0 or value.real > 1e-9 * rate:
        return math.inf
    if method == "rk4":
        return _REACH_OF_RK4 / rate
    if abs(value.imag) <= 1e-9 * rate:
        return 2.0 / rate
    # z^2 - (2 - h d - h^2 k) z + 1 - h d is stable where 2 h d + h^2 k < 4: d = 2 damping rate, k = rate^2.
    damping = -value.real / rate
    return 2.0 * (math.hypot(1.0, damping) - damping) / rate


def _damping(context: Context) -> FloatArray:
    damping = np.zeros(context.tree.num_velocities)
    for joint in context.tree.joints:
        start = joint.velocity_start
        damping[start : start + joint.num_velocities] = joint.get_damping_vector(context)
    return damping


def _find_element(context: Context, value: complex, dq: Any, dv: Any) -> str | None:
    """Return the element whose forces do most of the work along a mode."""
    tree = context.tree
    works: dict[str | None, float] = {}
    rest = value * (dv.conj() @ tree.calc_mass_matrix(context) @ dv)
    powers = _damping(context) * np.abs(dv) ** 2
    for joint in tree.joints:
        start = joint.velocity_start
        work = powers[start : start + joint.num_velocities].sum()
        rest += work
        works[f"the damping of {joint._label}"] = float(work)
    for dof, label, stiffness, servo_damping in _acting_servos(context):
        force = complex(-(stiffness * dq[dof] + servo_damping * dv[dof]) * dv[dof].conjugate())
        rest -= force
        works[label] = abs(force)
    for element, work in _works_of_elements(context, dq, dv):
        rest -= work
        works[element] = abs(work)
    # Finite differences across the edge of a contact see half of its stiffness.
    works[None] = abs(rest) / _CLEAR
    return max(works, key=lambda name: works[name])


def _works_of_elements(context: Context, dq: Any, dv: Any) -> list[tuple[str, complex]]:
    """Return the work of the changes of each element's forces along a mode, by central differences."""
    tree = context.tree
    step = _REACH / np.abs(dv).max()
    ends = repeat_context(context, 4)
    # Real and imaginary part, each in both directions.
    shifts = step * np.array([dv.real, -dv.real, dv.imag, -dv.imag])
    u = step * np.array([dq.real, -dq.real, dq.imag, -dq.imag])
    ends.q = integrate_positions(tree, np.tile(context.q, (4, 1)), u, 1.0)
    ends.v = context.v + shifts
    along = repeat_context(context, 2)
    along.v = np.array([dv.real, dv.imag])
    V_real, V_imag = tree.eval_velocity_kinematics(along).V_WB
    V = V_real - 1j * V_imag
    found = []
    for element in tree.force_elements if not tree._user_force_elements else ():
        forces = ends._new_forces()
        element.calc_and_add_force_contribution(ends, forces=forces)
        of_bodies, of_dofs = forces.body_forces, forces.generalized_forces
        F, tau = ((x[0] - x[1] + 1j * (x[2] - x[3])) / (2.0 * step) for x in (of_bodies, of_dofs))
        found.append(
            (f"{element._label} ({type(element).__name__})", complex((F * V).sum() + tau @ dv.conj()))
        )
    return found
