"""Derivatives of implicit steps, by the implicit function theorem at the minimum that a step finds.

There the gradient g(v1; q, v, tau) of the convex function of docs/implicit_steps.md is zero, so
``dv1 = -H^-1 dg``, with its second derivatives H and the change dg while v1 stays. The numbers that the
function consists of are computed by a tree in numbers with derivatives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt import autodiff
from mbt._core.solvers.implicit_steps import CONSTANTS
from mbt.context.tangents import make_tangent_context
from mbt.motion.implicit import ImplicitSteps, check_step, read_dofs, take_anew
from mbt.motion.implicit_elements import (
    calc_bushing,
    calc_door_friction,
    calc_door_stiffness,
    calc_stretch,
)
from mbt.motion.over_time import contacts_of
from mbt.motion.rollouts import core_of
from mbt.tree.force_elements import (
    DoorHinge,
    JointFriction,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
)
from mbt.tree.servos import read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["differentiate_velocities"]

RIGID, STICTION, CLOSING, LEAST_SHARE, RETURN, PULL = (
    CONSTANTS[name] for name in ("rigid", "stiction", "closing", "least_share", "return", "pull")
)


def differentiate_velocities(
    tree: MultibodyTree, q: FloatArray, v: FloatArray, tau: FloatArray, dt: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the velocity behind a step, (..., nv), and its changes with dq, dv and dtau, (..., nv, 3 nv).

    Of the default parameters of a tree of doubles. A sample without a step is NaN.

    Raises
    ------
    ArgumentValueError, ArgumentTypeError
        As `check_step`.
    SingularityError
        When a single state has a degree of freedom without inertia.
    """
    check_step(tree, dt)
    h, nv = float(dt), tree.num_velocities
    batch = q.shape[:-1]
    context = tree.create_default_context(batch)
    v1 = ImplicitSteps(context, core=core_of(tree)).take(q, v, tau[..., np.newaxis, :], h).v[..., 0, :]
    changes = np.full((*batch, nv, 3 * nv), np.nan)
    terms = _Terms(tree.create_default_context())
    for i in np.ndindex(batch):
        if np.isfinite(v1[i]).all():
            changes[i] = terms.differentiate(q[i], v[i], tau[i], v1[i], h)
    return v1, changes


class _Problem(NamedTuple):
    """What the gradient consists of, as in `solvers/convex_step.hpp`: plain, or with derivatives."""

    M: Any
    p: Any
    lower: Any
    upper: Any
    limit_slope: Any
    back: Any
    pull: Any
    friction: Any
    friction_slope: Any
    effort: Any
    linear: Any
    rows: Any
    target: Any
    row_slope: Any
    angles: Any
    least: Any
    angle_slope: Any
    points: Any  # (num_points, 3, nv)
    depth: Any
    point_friction: Any
    point_slope: Any


class _Terms:
    """What acts in the steps of one Context of one state."""

    def __init__(self, context: Context) -> None:
        tree = self.tree = context.tree
        self.context = context
        self.dofs = {name: x if x.ndim == 1 else x[0] for name, x in read_dofs(context, 1, True).items()}
        servos = self.servos = read_servos(tree, context)
        self.drives = np.zeros((tree.num_velocities, servos.dofs.size))
        self.drives[servos.dofs, np.arange(servos.dofs.size)] = 1.0
        self.rotor_inertia = np.zeros(tree.num_velocities)
        for actuator in tree.joint_actuators:
            self.rotor_inertia[actuator.velocity_start] += actuator.calc_reflected_inertia(context)
        self.frictions, self.doors = [], []
        for element in tree.force_elements:
            if isinstance(element, JointFriction):
                constants = (
                    element.get_coulomb_friction(context), element.get_breakaway_friction(context),
                    element.get_stribeck_velocity(context),
                )  # fmt: skip
                self.frictions.append((element.joint.velocity_start, *constants))
            elif isinstance(element, DoorHinge):
                joint = element.joint
                self.doors.append((joint.position_start, joint.velocity_start, element.get_config(context)))
        self.contacts: list[tuple[float, ...]] = [
            (
                element.get_stiffness(context), element.get_dissipation(context),
                element.get_static_friction(context), element.get_dynamic_friction(context),
                element.get_stiction_speed(context),
            )
            for element in contacts_of(tree)
        ]  # fmt: skip
        self.twin = make_tangent_context(take_anew(context), None, None, None)
        self.elements = contacts_of(self.twin.tree)
        counts = [element.num_points for element in self.elements]
        self.stiffness, self.dissipation = (np.repeat([x[k] for x in self.contacts], counts) for k in (0, 1))
        self._read_bodies()

    def _read_bodies(self) -> None:
        """Read mass, centre and principal axes (rows) of each body, as `carried_momenta.hpp` does."""
        kinematics = self.tree.eval_position_kinematics(self.context)
        num = self.tree.num_bodies
        self.mass, self.com = np.zeros(num), np.zeros((num, 3))
        self.roots, self.turns = np.zeros((2, num, 3))
        self.axes = np.tile(np.eye(3), (num, 1, 1))
        for b in range(1, num):
            A, R = kinematics.M_Bo_W[b], kinematics.X_WB[b, :3, :3]
            m = self.mass[b] = A[3, 3]
            c = np.array([A[2, 4], A[0, 5], A[1, 3]]) / m if m > 0.0 else np.zeros(3)
            central = R.T @ (A[:3, :3] - m * (c @ c * np.eye(3) - np.outer(c, c))) @ R
            moments, Q = np.linalg.eigh(central)
            Q[:, 2] *= np.linalg.det(Q)  # right-handed
            roots = self.roots[b] = np.sqrt(np.where(moments > 1e-12 * moments[2], moments, 0.0))
            for i, others in ((0, roots[1] * roots[2]), (2, roots[1] * roots[0])):
                if others > 0.0:
                    self.turns[b, i] = (roots[i] ** 2 - roots[1] ** 2) / others
            self.com[b], self.axes[b] = R.T @ c, Q.T

    def differentiate(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, v1: FloatArray, h: float
    ) -> FloatArray:
        """Return the changes of v1 with dq, dv and dtau, (nv, 3 nv)."""
        nv = v.size
        problem = self._set_up(q, v, h)
        plain = _Problem(*(autodiff.value(part) for part in problem))
        for _ in range(2):  # The second time where the last digits of the solver are right, too.
            at_end = self._gradient(plain, autodiff.initialize(v1), tau, h)
            v1 = v1 - np.linalg.solve(at_end.derivatives, at_end.value)
        change = self._gradient(problem, v1, tau, h).derivatives
        by_tau = -h * np.eye(nv)
        return -np.linalg.solve(at_end.derivatives, np.concatenate([change, by_tau], axis=-1))

    def _set_up(self, q: FloatArray, v: FloatArray, h: float) -> _Problem:
        """Return the problem of a step, with derivatives along dq and dv."""
        nv, here, dofs = v.size, self.twin, self.dofs
        tree = here.tree
        dq = autodiff.AutoDiffArray(np.zeros(nv), np.eye(nv, 2 * nv))
        here.q = tree.integrate_positions(q, dq, 1.0)
        here.v = autodiff.AutoDiffArray(v, np.eye(nv, 2 * nv, nv))
        M = tree.calc_mass_matrix(here)
        friction = self._friction(here.v, h)
        linear = self._linear(here.q, h)
        inertia = np.einsum("ii->i", M)
        inertia = np.where(inertia > 0.0, inertia, linear)
        positions = here.q[dofs["position_of"]]
        below, above = dofs["lower"] - positions, positions - dofs["upper"]
        beyond = np.where(below > 0.0, below, 0.0) - np.where(above > 0.0, above, 0.0)
        bounds = np.where(below < 0.0, below, 0.0) / h, np.where(above < 0.0, -above, 0.0) / h
        try:
            np.linalg.cholesky(autodiff.value(M))
            resisting = M
        except np.linalg.LinAlgError:  # What no mass resists dampers and springs do.
            resisting = M + h * np.diag(dofs["damping"] + h * dofs["stiffness"])
        servos = self.servos
        rows = self._constraints(here, resisting, h), self._between(here, h)
        effort = servos.stiffness * (servos.q_d - here.q[servos.positions]) + servos.damping * servos.v_d
        parts: Any = (
            M, self._momenta(here, h), *bounds, inertia / RIGID, beyond / (h + RETURN),
            h / PULL**2 * inertia * np.abs(beyond), friction,
            np.where(friction > 0.0, inertia / STICTION, 0.0), effort, linear,
            *(np.concatenate(parts) for parts in zip(*rows, strict=True)),
            *self._angles(here, resisting, h),
            *self._points(here, resisting, h),
        )  # fmt: skip
        return _Problem(*parts)

    def _momenta(self, here: Any, h: float) -> Any:
        """Return the momenta that bodies bring along, with the impulses of forces; see `set_momenta`."""
        tree, zero = here.tree, np.zeros(self.tree.num_velocities)
        before = here.clone()
        before.q = tree.integrate_positions(here.q, here.v, -h)
        forces = here._new_forces()
        forces.body_forces[1:] = (
            self._carried(
                tree.eval_position_kinematics(here).X_WB[1:, :3, :3],
                tree.eval_position_kinematics(before).X_WB[1:, :3, :3],
                tree.eval_velocity_kinematics(before).V_WB[1:],
                h,
            )
            / h
        )
        held = tree.calc_bias_term(here) - tree.calc_inverse_dynamics(
            here, zero, forces, include_force_elements=True
        )
        return h * (held + self.dofs["damping"] * here.v) + self.rotor_inertia * here.v

    def _carried(self, R: Any, R0: Any, V0: Any, h: float) -> Any:
        """Return momenta about the origins of bodies, (num_bodies, 6); see `carried_momenta.hpp`."""
        roots, axes, mass = self.roots[1:], self.axes[1:], self.mass[1:, np.newaxis]

        def turned(A: Any, x: Any) -> Any:
            return (A @ x[..., np.newaxis])[..., 0]

        w0, c = V0[:, :3], self.com[1:]
        w = turned(axes, turned(np.swapaxes(R0, 1, 2), w0))
        y, s = roots * w, 0.5 * h * self.turns[1:] * w
        sy = np.cross(s, y)
        y = y + (sy + np.cross(s, sy)) * (2.0 / (1.0 + np.sum(s * s, axis=-1, keepdims=True)))
        p = mass * (V0[:, 3:] + np.cross(w0, turned(R0, c)))
        L = turned(R, turned(np.swapaxes(axes, 1, 2), roots * y))
        return np.concatenate([L + np.cross(turned(R, c), p), p], axis=-1)

    def _friction(self, v: Any, h: float) -> Any:
        """Return the largest impulses of dry friction, (nv,); see `set_friction`."""
        friction = 0.0 * v
        for dof, Fc, Fs, vs in self.frictions:
            friction[dof] += h * (Fc + (Fs - Fc) / (1.0 + (v[dof] / vs) ** 2))
        for _, dof, config in self.doors:
            friction[dof] += h * calc_door_friction(config, v[dof])
        return friction

    def _linear(self, q: Any, h: float) -> Any:
        """Return impulses per velocity of single dofs, (nv,)."""
        dofs = self.dofs
        linear = (
            np.zeros_like(q, shape=dofs["damping"].shape) + h * dofs["damping"] + h * h * dofs["stiffness"]
        )
        for position, dof, config in self.doors:
            linear[dof] += h * config.viscous_friction + h * h * calc_door_stiffness(config, q[position])
        return linear

    def _angles(self, here: Any, M: Any, h: float) -> tuple[Any, Any, Any]:
        """Return the rows of limits of angles, the least velocities, and slopes; see `set_angle_limits`."""
        dofs, nv = self.dofs, self.tree.num_velocities
        if not dofs["angle_positions"].size:
            return np.zeros((0, nv)), np.zeros(0), np.zeros(0)
        k, signs = dofs["angle_positions"].astype(int), dofs["angle_signs"]
        N = np.stack([here.tree.map_velocity_to_qdot(here, e) for e in np.eye(nv)], axis=-1)
        J = signs[:, np.newaxis] * N[k]
        gap = signs * (here.q[k] - dofs["angle_limits"])
        return J, -gap / np.where(gap > 0.0, h, h + RETURN), _invert(RIGID * _shares(J, M))

    def _between(self, here: Any, h: float) -> tuple[Any, Any, Any]:
        """Return the rows of springs and bushings, velocities wanted, and slopes; see `set_elements`."""
        parts = [(np.zeros((0, self.tree.num_velocities)), np.zeros(0), np.zeros(0))]
        for element, twin in zip(self.tree.force_elements, here.tree.force_elements, strict=True):
            if isinstance(element, LinearSpringDamper):
                k, d = (np.array([x(self.context)]) for x in (element.get_stiffness, element.get_damping))
                J, s = calc_stretch(twin, here)
            elif isinstance(element, LinearBushingRollPitchYaw):
                c = self.context
                k = np.append(
                    element.get_torque_stiffness_constants(c), element.get_force_stiffness_constants(c)
                )
                d = np.append(element.get_torque_damping_constants(c), element.get_force_damping_constants(c))
                J, s = calc_bushing(twin, here)
            else:
                continue
            slope = h * d + h * h * k
            parts.append((J, -h * k / np.where(slope > 0.0, slope, 1.0) * s, slope))
        J, target, slope = (np.concatenate(part) for part in zip(*parts, strict=True))
        return J, target, slope

    def _constraints(self, here: Any, M: Any, h: float) -> tuple[Any, Any, Any]:
        """Return the rows of constraints, velocities wanted, and slopes; see `set_constraints`."""
        tree = here.tree
        if not tree.num_constraint_equations:
            return np.zeros((0, M.shape[0])), np.zeros(0), np.zeros(0)
        J = tree.calc_constraint_jacobian(here)
        shares = _shares(J, M)
        # Three equations have one unit.
        for constraint in tree.constraints:
            end = constraint.first_equation + constraint.num_equations
            for first in range(constraint.first_equation, end, 3):
                group = slice(first, min(first + 3, end))
                shares[group] = np.maximum(shares[group], LEAST_SHARE * np.max(shares[group]))
        return J, tree.calc_constraint_errors(here) / -(h + CLOSING), _invert(RIGID * shares)

    def _points(self, here: Any, M: Any, h: float) -> tuple[Any, Any, Any, Any]:
        """Return Jacobians, depths, largest impulses of friction and slopes of points; see `set_contacts`."""
        nv = self.tree.num_velocities
        parts = []
        for element, (k, d, static, dynamic, vs) in zip(self.elements, self.contacts, strict=True):
            A, depth = element.half_space_frame, element.calc_depths(here)
            J = here.tree.calc_jacobian_translational_velocity(
                here, "v", element.frame, element.get_p_FC(here).T, A, A
            ).reshape(-1, 3, nv)
            u = np.einsum("cki,i->ck", J, here.v)
            # Without the root of zero, which has no derivative.
            square = u[:, 0] ** 2 + u[:, 1] ** 2
            x = np.clip((np.sqrt(np.where(square > vs * vs, square, vs * vs)) / vs - 1.0) / 2.0, 0.0, 1.0)
            mu = static + (dynamic - static) * x * x * x * (10.0 + x * (6.0 * x - 15.0))
            normal = (
                k * np.where(depth > 0.0, depth, 0.0) * np.where(d * u[:, 2] < 1.0, 1.0 - d * u[:, 2], 0.0)
            )
            across = J[:, :2].reshape(-1, nv)
            share = _shares(across, M).reshape(-1, 2).sum(axis=-1)
            slope = np.where(normal > 0.0, 2.0 * _invert(STICTION * share), 0.0)
            parts.append((J, depth, h * mu * normal, slope))
        if not parts:
            return np.zeros((0, 3, nv)), np.zeros(0), np.zeros(0), np.zeros(0)
        J, depth, friction, slope = (np.concatenate(part) for part in zip(*parts, strict=True))
        return J, depth, friction, slope

    def _gradient(self, x: _Problem, v: Any, tau: FloatArray, h: float) -> Any:
        """Return the gradient at v; see `calc_gradient`. Either has derivatives, not both."""
        servos = self.servos
        beyond, short = v - x.upper, x.lower - v
        sticking = x.friction_slope * v
        wanted = x.pull / np.where(x.back == 0.0, 1.0, np.abs(x.back)) * (v - x.back)
        pulled = np.where(x.back > 0.0, _clip(np.where(wanted < 0.0, wanted, 0.0), x.pull), 0.0)
        pulled = np.where(x.back < 0.0, _clip(np.where(wanted > 0.0, wanted, 0.0), x.pull), pulled)
        wanted = x.effort - (servos.damping + h * servos.stiffness) * v[servos.dofs]
        drive = tau + self.drives @ _clip(wanted, servos.effort_limits)
        gradient = (
            x.M @ v - x.p + x.linear * v
            + x.limit_slope * (np.where(beyond > 0.0, beyond, 0.0) - np.where(short > 0.0, short, 0.0))
            + pulled + _clip(sticking, x.friction) - h * drive
        )  # fmt: skip
        gradient = gradient - x.rows.T @ (x.row_slope * (x.target - x.rows @ v))
        missing = x.least - x.angles @ v
        gradient = gradient - x.angles.T @ (x.angle_slope * np.where(missing > 0.0, missing, 0.0))
        u = np.einsum("cki,i->ck", x.points, v)
        gap = x.depth - h * u[:, 2]
        damped = 1.0 - self.dissipation * u[:, 2]
        touches = (gap > 0.0) & (damped > 0.0)
        normal = np.where(touches, h * self.stiffness * gap * damped, 0.0)
        square = u[:, 0] ** 2 + u[:, 1] ** 2
        sticks = x.point_slope**2 * square < x.point_friction**2
        across = np.where(sticks, x.point_slope, x.point_friction / np.sqrt(np.where(sticks, 1.0, square)))
        across = np.where((square > 0.0) | sticks, across, 0.0)
        impulses = np.stack([-across * u[:, 0], -across * u[:, 1], normal], axis=-1)
        return gradient - np.einsum("cki,ck->i", x.points, impulses)


def _shares(J: Any, M: Any) -> Any:
    """Return J M^-1 J' of each row."""
    return np.einsum("ki,ik->k", J, np.linalg.solve(M, J.T))


def _clip(x: Any, limit: Any) -> Any:
    return np.where(x > limit, limit, np.where(x < -limit, -limit, x))


def _invert(x: Any) -> Any:
    """Return one over what is not zero."""
    return np.where(x > 0.0, 1.0 / np.where(x > 0.0, x, 1.0), 0.0)
