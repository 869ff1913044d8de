"""The convex function of implicit steps in NumPy, with derivatives; docs/implicit_steps.md derives it.

A tree in numbers with derivatives computes what depends on states, one state after the other; NumPy does the
rest, for all samples at once. The first axis of arrays counts samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt import autodiff
from mbt._core.solvers.implicit_steps import CONSTANTS
from mbt.motion.implicit import is_definite, read_dofs, take_anew
from mbt.motion.implicit_elements import calc_door_friction, calc_door_stiffness
from mbt.motion.over_time import contacts_of
from mbt.tree.force_elements import DoorHinge, JointFriction, PrismaticSpring, RevoluteSpring
from mbt.tree.force_elements.springs_and_dampers import SpringsAndDampers
from mbt.tree.servos import read_servos

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.operands import Limits

__all__ = ["Problem", "Terms", "calc_gradient", "is_unclipped"]

RIGID, STICTION, LITTLE, NOTHING, LEAST, CLOSING, RETURN, PULL = (
    CONSTANTS[name]
    for name in ("rigid", "stiction", "little", "nothing", "least", "closing", "return", "pull")
)
# Principal moments that differ by less, relative to the largest, are treated as equal.
_APART = 1e-9


class Problem(NamedTuple):
    """The terms of the gradient, as in `solvers/convex_problem.hpp`: plain, or with derivatives."""

    h: Any
    tau: Any
    M: Any
    p: Any
    lower: Any
    upper: Any
    limit_slope: Any
    back: Any
    pull: Any
    friction: Any
    friction_slope: Any
    drives: FloatArray  # (num_velocities, num_servos)
    effort: Any
    effort_slope: Any
    effort_limits: FloatArray
    most_effort: FloatArray  # (num_velocities,) of tau and servos together
    linear: Any
    rows: Any
    target: Any
    row_slope: Any
    angles: Any
    least: Any
    angle_slope: Any
    points: Any  # (count, num_points, 3, nv)
    stiffness: Any
    dissipation: Any
    depth: Any
    point_friction: Any
    point_slope: Any


class Terms:
    """The forces that act in the steps of one Context of one state.

    Parameters
    ----------
    values : Context
        Of doubles.
    context : Context
        The same, or one with the same values whose parameters have derivatives.
    here : Context
        A Context of the tree in numbers with derivatives, with the parameters of `context`.
    limits : tuple of two bools
        As `mbt.motion.operands.check_limits` returns them.
    """

    def __init__(self, values: Context, context: Any, here: Any, limits: Limits) -> None:
        tree = self.tree = context.tree
        self.context, self.here = context, take_anew(here)
        self.twin = here.tree
        self.nv = tree.num_velocities
        joint_limits, limit_efforts = limits
        dofs_of_one = read_dofs(values, 1, joint_limits)
        self.dofs = {name: x if x.ndim == 1 else x[0] for name, x in dofs_of_one.items()}
        self.most_effort = tree.effort_upper_limits if limit_efforts else np.full(self.nv, np.inf)
        self.free = self.dofs["free"]
        # Parameters of elements that have derivatives replace those of doubles.
        joints = [joint for joint in tree.joints if joint.num_velocities]
        dofs = [
            k
            for joint in joints
            for k in range(joint.velocity_start, joint.velocity_start + joint.num_velocities)
        ]
        self.damping = self._along(dofs, [joint.get_damping_vector(context) for joint in joints])
        springs = [x for x in tree.force_elements if isinstance(x, RevoluteSpring | PrismaticSpring)]
        dofs = [x.joint.velocity_start for x in springs]
        self.stiffness = self._along(dofs, [x.get_stiffness(context) for x in springs])
        servos = self.servos = read_servos(values.tree, values)
        self.drives = np.zeros((self.nv, servos.dofs.size))
        self.drives[servos.dofs, np.arange(servos.dofs.size)] = 1.0
        pairs = [tree.joint_actuators[k]._servo_values(context) for k in servos.actuators.tolist()]
        self.gains, self.targets = (
            np.stack([pair[i] for pair in pairs], -1) if pairs else np.zeros((2, 0)) for i in (0, 1)
        )
        actuators = tree.joint_actuators
        dofs = [actuator.velocity_start for actuator in actuators]
        self.rotor_inertia = self._along(dofs, [x.calc_reflected_inertia(context) for x in actuators])
        self.frictions = [
            (
                element.joint.velocity_start, element.get_coulomb_friction(context),
                element.get_breakaway_friction(context), element.get_stribeck_velocity(context),
            )
            for element in tree.force_elements if isinstance(element, JointFriction)
        ]  # fmt: skip
        self.doors = [
            (element.joint.position_start, element.joint.velocity_start, element.get_config(context))
            for element in tree.force_elements if isinstance(element, DoorHinge)
        ]  # fmt: skip
        self.contacts = [
            (
                element.get_stiffness(context), element.get_dissipation(context),
                element.get_static_friction(context), element.get_dynamic_friction(context),
                element.get_stiction_speed(context),
            )
            for element in contacts_of(tree)
        ]  # fmt: skip
        self.elements = contacts_of(self.twin)
        self._read_bodies()

    def _along(self, dofs: Sequence[int], parts: Sequence[Any]) -> Any:
        """Return values per dof, (nv,), as the sum of those of elements."""
        if not dofs:
            return np.zeros(self.nv)
        return np.eye(self.nv)[:, list(dofs)] @ np.concatenate([np.atleast_1d(part) for part in parts])

    def _read_bodies(self) -> None:
        """Read mass, centre and principal axes (rows) of each body, as `carried_momenta.hpp` does."""
        kinematics = self.tree.eval_position_kinematics(self.context)
        A, R = kinematics.M_Bo_W[1:], kinematics.X_WB[1:, :3, :3]
        mass = self.mass = A[:, 3, 3]
        safe = np.where(mass > 0.0, mass, 1.0)
        c = np.stack([A[:, 2, 4], A[:, 0, 5], A[:, 1, 3]], axis=-1) / safe[:, np.newaxis]
        square = np.sum(c * c, axis=-1)[:, np.newaxis, np.newaxis]
        of_centre = square * np.eye(3) - c[:, :, np.newaxis] * c[:, np.newaxis, :]
        central = np.swapaxes(R, 1, 2) @ (A[:, :3, :3] - mass[:, np.newaxis, np.newaxis] * of_centre) @ R
        moments, Q = _find_axes(central)
        is_solid = autodiff.value(moments) > 1e-12 * autodiff.value(moments)[:, 2:]
        roots = self.roots = np.where(is_solid, np.sqrt(np.where(is_solid, moments, 1.0)), 0.0)
        turns = []
        for i in (0, 2):
            others = roots[:, 1] * roots[:, 2 - i]
            turns.append((roots[:, i] ** 2 - roots[:, 1] ** 2) * _invert(others))
        self.turns = np.stack([turns[0], np.zeros(mass.shape), turns[1]], axis=-1)
        self.com, self.axes = _turned(np.swapaxes(R, 1, 2), c), np.swapaxes(Q, 1, 2)

    def set_up(self, q: Any, v: Any, tau: Any, h: Any) -> Problem:
        """Return the problems of steps of length h from states (count, nq), (count, nv)."""
        dofs, free = self.dofs, self.free
        for_each = range(v.shape[0])
        kinematics = [self._kinematics_at(q[i], v[i], h) for i in for_each]
        R, R0, V0 = (np.stack(parts) for parts in zip(*kinematics, strict=True))
        momenta = self._carried(R, R0, V0, h)
        samples = [self._parts_at(q[i], v[i], momenta[i], h) for i in for_each]
        parts: Any = [np.stack(part) for part in zip(*samples, strict=True)]
        M, forces, N, rows, errors, between, stretch, points, depth = parts
        M = M * np.outer(free, free) + np.diag(1.0 - free)
        resisting = self._resisting(M, h)
        friction = self._friction(v, h) * free
        linear = self._linear(q, h) * free
        inertia = np.einsum("bii->bi", M)
        inertia = np.where(inertia > 0.0, inertia, linear)
        positions = q[:, dofs["position_of"]]
        below, above = dofs["lower"] - positions, positions - dofs["upper"]
        beyond = np.where(below > 0.0, below, 0.0) - np.where(above > 0.0, above, 0.0)
        bounds = np.where(below < 0.0, below, 0.0) / h, np.where(above < 0.0, -above, 0.0) / h
        servos, share = self.servos, free @ self.drives
        (kp, kd), (q_d, v_d) = self.gains, self.targets
        effort = share * (kp * (q_d - q[:, servos.positions]) + kd * v_d)
        ends = self._constraints(rows * free, errors, resisting, h), self._between(between * free, stretch, h)
        rest: Any = (
            *(np.concatenate(x, axis=1) for x in zip(*ends, strict=True)),
            *self._angles(N, q, resisting, h),
            *self._points(points * free, depth, v, resisting, h),
        )
        return Problem(
            h, tau * free, M, (h * (forces + self.damping * v) + self.rotor_inertia * v) * free, *bounds,
            inertia / RIGID * free, beyond / (h + RETURN), h / PULL**2 * inertia * np.abs(beyond) * free,
            friction, np.where(friction > 0.0, inertia / STICTION, 0.0), self.drives, effort,
            share * (kd + h * kp), servos.effort_limits, self.most_effort, linear, *rest,
        )  # fmt: skip

    def _kinematics_at(self, q: Any, v: Any, h: Any) -> tuple[Any, Any, Any]:
        """Return orientations of bodies now and one step before, and their velocities then."""
        here, tree = self.here, self.twin
        here.q, here.v = q, v
        R = tree.eval_position_kinematics(here).X_WB[1:, :3, :3]
        here.q = tree.integrate_positions(q, v, -h)
        R0 = tree.eval_position_kinematics(here).X_WB[1:, :3, :3]
        return R, R0, tree.eval_velocity_kinematics(here).V_WB[1:]

    def _carried(self, R: Any, R0: Any, V0: Any, h: Any) -> Any:
        """Return momenta about body origins, (..., num_bodies - 1, 6); see `carried_momenta.hpp`."""
        roots, axes, mass = self.roots, self.axes, self.mass[:, np.newaxis]
        w0, c = V0[..., :3], self.com
        w = _turned(axes, _turned(np.swapaxes(R0, -1, -2), w0))
        y, s = roots * w, 0.5 * h * self.turns * w
        sy = np.cross(s, y)
        y = y + (sy + np.cross(s, sy)) * (2.0 / (1.0 + np.sum(s * s, axis=-1, keepdims=True)))
        p = mass * (V0[..., 3:] + np.cross(w0, _turned(R0, c)))
        L = _turned(R, _turned(np.swapaxes(axes, -1, -2), roots * y))
        return np.concatenate([L + np.cross(_turned(R, c), p), p], axis=-1)

    def _parts_at(self, q: Any, v: Any, momenta: Any, h: Any) -> tuple[Any, ...]:
        """Return the terms that the tree computes at a state.

        The mass matrix; forces at rest, plus the momenta that bodies carry over, divided by time; the map
        from velocities to rates of positions, if angles have limits; Jacobian and errors of constraints;
        Jacobian and coordinates of elements between bodies; Jacobians and depths of points.
        """
        here, tree, nv = self.here, self.twin, self.nv
        here.q, here.v = q, v
        forces: Any = here._new_forces()
        impulses = momenta / h
        forces._make_room([impulses])
        forces.body_forces[1:] = impulses
        if here._has_applied_forces:
            forces.body_forces[...] = forces.body_forces + here.applied_forces.body_forces
            forces.generalized_forces[...] = here.applied_forces.generalized_forces
        held = tree.calc_bias_term(here) - tree.calc_inverse_dynamics(
            here, np.zeros(nv), forces, include_force_elements=True
        )
        N = tree.make_velocity_to_qdot_map(here) if self.dofs["angle_positions"].size else np.zeros((0, nv))
        rows, errors = np.zeros((0, nv)), np.zeros(0)
        if tree.num_constraint_equations:
            rows, errors = tree.calc_constraint_jacobian(here), tree.calc_constraint_errors(here)
        ends = [(np.zeros((0, nv)), np.zeros(0))]
        for element in tree.force_elements:
            if isinstance(element, SpringsAndDampers):
                ends.append(element._calc_coordinates(here))
        points = [(np.zeros((0, 3, nv)), np.zeros(0))]
        for element in self.elements:
            A = element.half_space_frame
            J = tree.calc_jacobian_translational_velocity(
                here, "v", element.frame, element.get_p_FC(here).T, A, A
            )
            points.append((J.reshape(-1, 3, nv), element.calc_depths(here)))
        joined = [np.concatenate(x) for pairs in (ends, points) for x in zip(*pairs, strict=True)]
        return tree.calc_mass_matrix(here), held, N, rows, errors, *joined

    def _resisting(self, M: Any, h: Any) -> Any:
        """Return M; for samples where it is not positive definite, with dampers and springs added."""
        values = autodiff.value(M)
        if is_definite(values):  # In all samples.
            return M
        lacks = np.array([not is_definite(x) for x in values], dtype=np.float64)
        linear = h * (self.damping + h * self.stiffness) * self.free
        return M + lacks[:, np.newaxis, np.newaxis] * (linear[:, np.newaxis] * np.eye(self.nv))

    def _friction(self, v: Any, h: Any) -> Any:
        """Return the largest impulses of dry friction, (count, nv); see `add_hinges`."""
        friction: Any = np.zeros(v.shape)
        for dof, Fc, Fs, vs in self.frictions:
            magnitude = h * (Fc + (Fs - Fc) / (1.0 + (v[:, dof] / vs) ** 2))
            friction = friction + magnitude[:, np.newaxis] * np.eye(self.nv)[dof]
        for _, dof, config in self.doors:
            magnitude = h * calc_door_friction(config, v[:, dof])
            friction = friction + magnitude[:, np.newaxis] * np.eye(self.nv)[dof]
        return friction

    def _linear(self, q: Any, h: Any) -> Any:
        """Return impulses per velocity of single dofs, (count, nv)."""
        linear: Any = np.zeros((q.shape[0], self.nv)) + h * (self.damping + h * self.stiffness)
        for position, dof, config in self.doors:
            slope = h * config.viscous_friction + h * h * calc_door_stiffness(config, q[:, position])
            linear = linear + slope[:, np.newaxis] * np.eye(self.nv)[dof]
        return linear

    def _angles(self, N: Any, q: Any, M: Any, h: Any) -> tuple[Any, Any, Any]:
        """Return the rows of angle limits, the least velocities, and slopes; see `set_angle_limits`."""
        k, signs = self.dofs["angle_positions"].astype(int), self.dofs["angle_signs"]
        J = signs[:, np.newaxis] * N[:, k] * self.free
        gap = signs * (q[:, k] - self.dofs["angle_limits"])
        stiffness, is_stop = _invert(_shares(J, M)), np.arange(k.size) < k.size // 2
        springs = np.where(gap < 0.0, h * (h + RETURN) / PULL**2 * stiffness, 0.0)
        least = -np.where(is_stop | (gap > 0.0), np.where(gap > 0.0, gap, 0.0) / h, gap / (h + RETURN))
        return J, least, np.where(is_stop, stiffness / RIGID, springs)

    def _between(self, J: Any, s: Any, h: Any) -> tuple[Any, Any, Any]:
        """Return the rows of springs and bushings, target velocities, and slopes; see `set_elements`."""
        constants = [(np.zeros(0), np.zeros(0))]
        for element in self.tree.force_elements:
            if isinstance(element, SpringsAndDampers):
                constants.append(element._get_constants(self.context))
        k, d = (np.concatenate(x) for x in zip(*constants, strict=True))
        slope = h * d + h * h * k
        return J, -h * k / np.where(slope > 0.0, slope, 1.0) * s, np.zeros(s.shape) + slope

    def _constraints(self, J: Any, errors: Any, M: Any, h: Any) -> tuple[Any, Any, Any]:
        """Return the rows of constraints, target velocities, and slopes; see `set_constraints`."""
        # Groups of three equations belong to the three axes.
        rows, wanted, shares = [J], [errors / -(h + CLOSING)], [_shares(J, M)]
        if self.tree.constraints:
            rows, wanted, shares = [], [], []
        for constraint in self.tree.constraints:
            end = constraint.first_equation + constraint.num_equations
            for first in range(constraint.first_equation, end, 3):
                block = slice(first, min(first + 3, end))
                share = np.max(_shares(J[:, block], M), axis=1, keepdims=True)
                share = share * (np.abs(autodiff.value(J[:, block])).max((1, 2)) > LEAST)[:, np.newaxis]
                P = _find_much(autodiff.value(J[:, block]), autodiff.value(M))
                rows.append(np.einsum("bij,bjk->bik", P, J[:, block]))
                wanted.append(np.einsum("bij,bj->bi", P, errors[:, block] / -(h + CLOSING)))
                shares += [share] * P.shape[1]
        J, target, share = (np.concatenate(parts, axis=1) for parts in (rows, wanted, shares))
        return J, target, _invert(RIGID * share)

    def _points(self, J: Any, depth: Any, v: Any, M: Any, h: Any) -> tuple[Any, ...]:
        """Return Jacobians and the terms of contact points; see `set_contacts`."""
        counts = [element.num_points for element in self.elements]
        each = [
            np.concatenate(
                [np.zeros(0), *(np.ones(n) * x[i] for x, n in zip(self.contacts, counts, strict=True))]
            )
            for i in range(5)
        ]
        k, d, static, dynamic, vs = each
        u = np.einsum("bcki,bi->bck", J, v)
        # Avoid the square root of zero, which has no derivative.
        square = u[..., 0] ** 2 + u[..., 1] ** 2
        x = np.clip((np.sqrt(np.where(square > vs * vs, square, vs * vs)) / vs - 1.0) / 2.0, 0.0, 1.0)
        mu = static + (dynamic - static) * x * x * x * (10.0 + x * (6.0 * x - 15.0))
        damped = 1.0 - d * u[..., 2]
        normal = k * np.where(depth > 0.0, depth, 0.0) * np.where(damped > 0.0, damped, 0.0)
        count, num = depth.shape
        share = _shares(J[:, :, :2].reshape(count, 2 * num, self.nv), M).reshape(count, num, 2).sum(axis=-1)
        slope = np.where(normal > 0.0, 2.0 * _invert(STICTION * share), 0.0)
        return J, k, d, depth, h * mu * normal, slope


def calc_gradient(x: Problem, v: Any) -> Any:
    """Return the gradient at velocities v, (count, nv); see `calc_gradient` of `convex_step.hpp`.

    Either the problem or v may have derivatives, not both.
    """
    h = x.h
    beyond, short = v - x.upper, x.lower - v
    wanted = x.pull / np.where(x.back == 0.0, 1.0, np.abs(x.back)) * (v - x.back)
    pulled = np.where(x.back > 0.0, _clip(np.where(wanted < 0.0, wanted, 0.0), x.pull), 0.0)
    pulled = np.where(x.back < 0.0, _clip(np.where(wanted > 0.0, wanted, 0.0), x.pull), pulled)
    drive = _clip(_calc_drive(x, v), x.most_effort)
    gradient = (
        np.einsum("bij,bj->bi", x.M, v) - x.p + x.linear * v
        + x.limit_slope * (np.where(beyond > 0.0, beyond, 0.0) - np.where(short > 0.0, short, 0.0))
        + pulled + _clip(x.friction_slope * v, x.friction) - h * drive
    )  # fmt: skip
    missing = x.row_slope * (x.target - np.einsum("bmi,bi->bm", x.rows, v))
    gradient = gradient - np.einsum("bmi,bm->bi", x.rows, missing)
    missing = x.least - np.einsum("bmi,bi->bm", x.angles, v)
    gradient = gradient - np.einsum(
        "bmi,bm->bi", x.angles, x.angle_slope * np.where(missing > 0.0, missing, 0.0)
    )
    u = np.einsum("bcki,bi->bck", x.points, v)
    gap = x.depth - h * u[..., 2]
    damped = 1.0 - x.dissipation * u[..., 2]
    touches = (gap > 0.0) & (damped > 0.0)
    normal = np.where(touches, h * x.stiffness * gap * damped, 0.0)
    square = u[..., 0] ** 2 + u[..., 1] ** 2
    sticks = x.point_slope**2 * square < x.point_friction**2
    across = np.where(sticks, x.point_slope, x.point_friction / np.sqrt(np.where(sticks, 1.0, square)))
    across = np.where((square > 0.0) | sticks, across, 0.0)
    impulses = np.stack([-across * u[..., 0], -across * u[..., 1], normal], axis=-1)
    return gradient - np.einsum("bcki,bck->bi", x.points, impulses)


def _find_axes(A: Any) -> tuple[Any, Any]:
    """Return eigenvalues of symmetric matrices in ascending order, and right-handed axes as columns.

    Axes of equal eigenvalues are not unique; here they do not turn.
    """
    moments, Q = np.linalg.eigh(autodiff.value(A))
    Q[..., 2] *= np.linalg.det(Q)[:, np.newaxis]
    if not getattr(A, "num_derivatives", 0):
        return moments, Q
    change = np.einsum("bki,bkln,blj->bijn", Q, A.derivatives, Q)
    apart = moments[:, np.newaxis, :] - moments[:, :, np.newaxis]
    is_apart = np.abs(apart) > _APART * moments[:, 2, np.newaxis, np.newaxis]
    turn = change * np.where(is_apart, 1.0 / np.where(is_apart, apart, 1.0), 0.0)[..., np.newaxis]
    return (
        autodiff.AutoDiffArray(moments, np.einsum("biin->bin", change)),
        autodiff.AutoDiffArray(Q, np.einsum("bik,bkjn->bijn", Q, turn)),
    )


def _turned(A: Any, x: Any) -> Any:
    return (A @ x[..., np.newaxis])[..., 0]


def _shares(J: Any, M: Any) -> Any:
    """Return the diagonal of J M^-1 J'."""
    return np.einsum("bki,bik->bk", J, np.linalg.solve(M, np.swapaxes(J, 1, 2)))


def _find_much(J: FloatArray, M: FloatArray) -> FloatArray:
    """Return projections on the directions that three equations really restrain; see `take_out_little`."""
    S = J @ np.linalg.solve(M, np.swapaxes(J, 1, 2))
    S = np.where(np.isfinite(S), S, 0.0)
    values, directions = np.linalg.eigh(S)
    most = np.diagonal(S, axis1=1, axis2=2).max(axis=1)
    others = directions * (values <= LITTLE * most[:, np.newaxis])[:, np.newaxis]
    P: FloatArray = others @ np.swapaxes(directions, 1, 2)
    said = _shares(P @ J, M).sum(axis=1)
    return np.eye(P.shape[1]) - np.where((said > NOTHING * most)[:, np.newaxis, np.newaxis], P, 0.0)


def is_unclipped(x: Problem, v: Any) -> Any:
    """Return whether the effort limits of the tree leave the forces on each dof unchanged, (count, nv)."""
    return np.abs(autodiff.value(_calc_drive(x, v))) <= x.most_effort


def _calc_drive(x: Problem, v: Any) -> Any:
    """Return the sum of `tau` and servo efforts, (count, nv), before the tree's limits clip it."""
    wanted = x.effort - x.effort_slope * (v @ x.drives)
    return x.tau + _clip(wanted, x.effort_limits) @ x.drives.T


def _clip(x: Any, limit: Any) -> Any:
    return np.where(x > limit, limit, np.where(x < -limit, -limit, x))


def _invert(x: Any) -> Any:
    """Return the inverse of each positive number, zero for others."""
    return np.where(x > 0.0, 1.0 / np.where(x > 0.0, x, 1.0), 0.0)
