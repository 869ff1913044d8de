"""Implicit steps in NumPy: the terms of the convex problem, from a tree and a Context.

The next velocity minimises ``1/2 (v - v0)' M (v - v0) - h f v + sum of l(J v)`` (Todorov 2014; Castro,
Permenter and Han 2023). v0 is the velocity without forces (`ConvexSteps._transport`), f the sum of all
forces evaluated at the beginning: gravity, inputs, bushings, spring-dampers, hinges of doors, elements in
Python. Each l is convex: joint damping, springs and servos at the end of the step, position limits and
constraints with a compliance, dry friction with its magnitude at the initial speed, the normal force of
Hunt and Crossley, and friction of points in contact with the normal force at the beginning of the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import SingularityError
from mbt.motion.implicit import SolverSteps
from mbt.motion.over_time import contacts_of
from mbt.motion.stages import find_turning_dofs
from mbt.tree.force_elements import JointFriction, PrismaticSpring, RevoluteSpring
from mbt.tree.servos import read_servos
from support.convex_problem import Contacts, Drives, Problem, solve

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["ConvexSteps"]

# Compliance in place of rigidity, relative to the inertia moved: velocities of limits and constraints are
# off by this fraction of the change that their impulses cause; so is creep during stiction.
_RIGID = 1e-6
_STICTION = 1e-5
# Directions of three equations along axes below this fraction of the largest are due to rounded angles.
_LITTLE = 1e-9
# Directions below this are rounding, and are kept.
_NOTHING = 1e-24
# Rows of Jacobians with no larger entry are rounding, and move nothing.
_LEAST = 1e-12
# Time in which an open constraint closes, and in which a joint beyond its limit returns [s].
_CLOSING = 0.02
_RETURN = 0.2
# Period over 2 pi of the spring that bounds the force on a returning joint [s].
_PULL = 2e-3


def carried_momenta(
    M_Bo_W: FloatArray, R: FloatArray, R0: FloatArray, V0: FloatArray, h: float
) -> FloatArray:
    """Return momenta about Bo in World, (..., num_bodies, 6), of bodies that move on without forces.

    The centre of mass keeps its velocity. The angular velocity turns with the body and changes as for a free
    body: in principal axes of the moments I1 <= I2 <= I3 the vector y with ``yi = sqrt(Ii) wi``, whose length
    is given by the energy, turns about s, ``si = (Ii - I2)/sqrt(Ij Ik) wi``.

    Parameters
    ----------
    M_Bo_W : ndarray, shape (..., num_bodies, 6, 6)
        Spatial inertias now.
    R, R0 : ndarray, shape (..., num_bodies, 3, 3)
        Orientations now, and one step before.
    V0 : ndarray, shape (..., num_bodies, 6)
        Spatial velocities one step before.
    h : float
        Length of the step [s].
    """
    P = np.zeros(V0.shape)
    for index in np.ndindex(V0.shape[:-1]):
        A, V = M_Bo_W[index], V0[index]
        mass = A[3, 3]
        if not np.isfinite(A).all() or not np.isfinite(V).all():
            continue
        c = np.array([A[2, 4], A[0, 5], A[1, 3]]) / mass if mass > 0.0 else np.zeros(3)
        moments, Q = np.linalg.eigh(A[:3, :3] - mass * (c @ c * np.eye(3) - np.outer(c, c)))
        Q[:, 2] *= np.linalg.det(Q)  # right-handed
        moments = np.where(moments > 1e-12 * moments[2], moments, 0.0)
        turn = R[index] @ R0[index].T
        w = Q.T @ turn @ V[:3]
        s = np.zeros(3)
        for i, j in ((0, 2), (2, 0)):
            others = np.sqrt(moments[1] * moments[j])
            if others > 0.0:
                s[i] = (moments[i] - moments[1]) / others * w[i]
        s, y = 0.5 * h * s, np.sqrt(moments) * w
        y = y + 2.0 / (1.0 + s @ s) * (np.cross(s, y) + np.cross(s, np.cross(s, y)))
        p = mass * (V[3:] + np.cross(V[:3], turn.T @ c))
        P[index] = *(Q @ (np.sqrt(moments) * y) + np.cross(c, p)), *p
    return P


class ConvexSteps:
    """Implicit steps of one Context, of one state or a batch of doubles.

    Parameters
    ----------
    context : Context
        With the parameters and applied forces. It is not changed.
    joint_limits : bool, optional
        Whether position limits of the joints act.
    limit_efforts : bool, optional
        Whether the tree's effort limits apply to inputs plus servos; each servo's own limit always applies.

    Attributes
    ----------
    done : SolverSteps
        The solver's results for the last step, without the axis of steps.
    drive : ndarray, shape (..., num_velocities)
        Forces of inputs and servos in the last step [N m, N].
    is_clipped : ndarray of bool, shape (..., num_velocities)
        Whether the effort limits of the tree clipped them.
    carried : ndarray, shape (count, num_velocities)
        The velocity without forces.
    problem : Problem
        The problem whose solution is the velocity at the end.
    """

    def __init__(self, context: Context, *, joint_limits: bool = True, limit_efforts: bool = True) -> None:
        tree = self.tree = context.tree
        self.batch = context.batch_shape
        self.count, self.nv = int(np.prod(self.batch, dtype=int)), tree.num_velocities
        self.context = context.clone()
        self._before = context.clone()
        applied: Any = context.applied_forces
        self._forces = applied if context._has_applied_forces else None
        self._free = np.broadcast_to(~np.asarray(context._locked_dofs()), (self.count, self.nv)).astype(float)
        self._turning = find_turning_dofs(tree)
        self._read_dofs(joint_limits)
        self._read_contacts()
        self._read_servos(limit_efforts)

    def step(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, time: Any = None
    ) -> tuple[Any, Any]:
        """Return the state after one step.

        Raises
        ------
        SingularityError
            If a single state has a degree of freedom without inertia; a sample of a batch is NaN.
        """
        tree, context = self.tree, self.context
        context.q, context.v = q, v
        if time is not None:
            context.time = time
        M = tree.calc_mass_matrix(context).reshape(self.count, self.nv, self.nv)
        tau = np.broadcast_to(tau, (*self.batch, self.nv)).reshape(self.count, self.nv)
        with np.errstate(all="ignore"):
            singular = ~(np.linalg.slogdet(M)[0] > 0.0)
        if singular.any() and not self.batch and np.isfinite(M).all():
            tree.calc_forward_dynamics(context)  # Its error names the degree of freedom.
            raise SingularityError("the mass matrix is not positive definite")
        bad = singular | ~np.isfinite(v.reshape(self.count, self.nv) + tau).all(axis=-1)
        if bad.any():
            M = np.where(bad[:, np.newaxis, np.newaxis], np.eye(self.nv), M)
        free = self._free
        M = M * free[:, :, np.newaxis] * free[:, np.newaxis, :] + (1.0 - free)[:, :, np.newaxis] * np.eye(
            self.nv
        )
        bias, v0 = self._transport(M, q, v, dt)
        flat = np.where(bad[:, np.newaxis], 0.0, v.reshape(self.count, self.nv))
        problem = self._problem(M, bias, v0, flat, tau, dt)
        bad |= ~np.isfinite(problem.p).all(axis=-1)
        if bad.any():
            problem.silence(bad)
        start = np.linalg.solve(M, problem.p[..., np.newaxis])[..., 0]
        v1, residual, iterations = solve(problem, start, flat * free)
        self.carried, self.problem = v0, problem
        self._report(problem, v1, residual, iterations)
        v1 = np.where(bad[:, np.newaxis], np.nan, v1 * free + 0.0).reshape(*self.batch, self.nv)
        return tree.integrate_positions(q, v1, dt), v1

    def _report(
        self, problem: Problem, v: FloatArray, residual: FloatArray, iterations: npt.NDArray[np.intp]
    ) -> None:
        batch, drives = self.batch, problem.drives
        wanted, total = drives.calc(v)
        saturated = np.zeros((self.count, self.tree.num_actuators), dtype=np.bool_)
        saturated[:, self._servos.actuators] = np.abs(wanted) > drives.limit
        is_at_limit = problem.limit_impulse(v) != 0.0
        self.done = SolverSteps(
            iterations.reshape(batch),
            residual.reshape(batch),
            is_at_limit.reshape(*batch, -1),
            saturated.reshape(*batch, -1),
        )
        self.is_clipped = ((total < drives.lower) | (total > drives.upper)).reshape(*batch, -1)
        self.drive = drives.force(v).reshape(*batch, -1)

    def _transport(self, M: FloatArray, q: Any, v: Any, dt: float) -> tuple[FloatArray, FloatArray]:
        """Return C v, and the velocities that bodies have now without forces.

        The step before solved for v at q - v dt. From there each body carries its own momentum along; here
        the joints keep the part that they allow.
        """
        tree, n = self.tree, self.nv
        context, before = self.context, self._before
        C = tree.calc_coriolis_matrix(context).reshape(self.count, n, n)
        bias = np.einsum("bij,bj->bi", C, v.reshape(self.count, n))
        before.q, before.v = tree.integrate_positions(q, v, -dt), v
        here, there = tree.eval_position_kinematics(context), tree.eval_position_kinematics(before)
        forces = context._new_forces()
        with np.errstate(all="ignore"):
            forces.body_forces[...] = carried_momenta(
                np.asarray(here.M_Bo_W),
                np.asarray(here.X_WB)[..., :3, :3],
                np.asarray(there.X_WB)[..., :3, :3],
                np.asarray(tree.eval_velocity_kinematics(before).V_WB),
                dt,
            )
        still = context.clone()
        still.v = np.zeros_like(v)
        zero = np.zeros_like(v)
        p = tree.calc_inverse_dynamics(still, zero) - tree.calc_inverse_dynamics(still, zero, forces)
        for actuator in tree.joint_actuators:
            dof = actuator.joint.velocity_start + getattr(actuator, "dof", 0)
            p[..., dof] += actuator.calc_reflected_inertia(context) * v[..., dof]
        p = np.nan_to_num(p.reshape(self.count, n) * self._free)
        return bias, np.linalg.solve(M, p[..., np.newaxis])[..., 0]

    def _problem(
        self, M: FloatArray, bias: FloatArray, v0: FloatArray, v: FloatArray, tau: FloatArray, h: float
    ) -> Problem:
        tree, context, n = self.tree, self.context, self.nv
        batch = (self.count, n)
        f = bias - tree.calc_inverse_dynamics(
            context, np.zeros((*self.batch, n)), self._forces, include_force_elements=True
        ).reshape(batch)
        # Remove forces that depend on the velocity at the end.
        f = f + self._damping * v
        slow = np.abs(v)
        friction = np.zeros(batch)
        for dof, element in self._frictions:
            f[:, dof] -= np.reshape(
                element.calc_friction(v[:, dof].reshape(self.batch), self._given), self.count
            )
            Fc, Fs, vs = (
                np.reshape(np.broadcast_to(x, self.batch), self.count)
                for x in (
                    element.get_coulomb_friction(self._given),
                    element.get_breakaway_friction(self._given),
                    element.get_stribeck_velocity(self._given),
                )
            )
            friction[:, dof] += h * (Fc + (Fs - Fc) / (1.0 + (slow[:, dof] / vs) ** 2))
        f = f * self._free
        inertia = np.einsum("bii->bi", M)
        q = context.q.reshape(self.count, -1)
        drives = self._drives(q, tau, h)
        q = q[:, self._position_of]
        lower, upper = (np.maximum(gap, 0.0) / h for gap in (q - self._lower, self._upper - q))
        beyond = np.maximum(self._lower - q, 0.0) - np.maximum(q - self._upper, 0.0)
        J, target, row_slope = self._constraints(M, h)
        return Problem(
            dt=h, M=M, p=np.einsum("bij,bj->bi", M, v0) + h * f,
            linear=(h * self._damping + h * h * self._stiffness) * self._free, lower=-lower, upper=upper,
            limit_slope=inertia / _RIGID * self._free, back=beyond / (h + _RETURN),
            pull=h * inertia * np.abs(beyond) / _PULL**2 * self._free, friction=friction * self._free,
            friction_slope=np.where(friction > 0.0, inertia / _STICTION, 0.0) * self._free,
            drives=drives, rows=J, row_target=target, row_slope=row_slope,
            contacts=self._contacts(M, v, h),
        )  # fmt: skip

    def _drives(self, q: FloatArray, tau: FloatArray, h: float) -> Drives:
        servos = self._servos
        free = self._free[:, servos.dofs]
        kp, kd, q_d, v_d = self._gains
        return Drives(
            dofs=servos.dofs,
            effort=(kp * (q_d - q[:, servos.positions]) + kd * v_d) * free,
            slope=(kd + h * kp) * free,
            limit=servos.effort_limits,
            given=tau * self._free,
            lower=self._effort_limits[0],
            upper=self._effort_limits[1],
        )

    def _constraints(self, M: FloatArray, h: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        tree, m = self.tree, self.tree.num_constraint_equations
        if not m:
            none = np.zeros((self.count, 0))
            return np.zeros((self.count, 0, self.nv)), none, none
        J = (
            tree.calc_constraint_jacobian(self.context).reshape(self.count, m, self.nv)
            * self._free[:, np.newaxis]
        )
        error = tree.calc_constraint_errors(self.context).reshape(self.count, m)
        responses = J @ np.linalg.solve(M, np.swapaxes(J, 1, 2))
        share = np.diagonal(responses, axis1=1, axis2=2).copy()
        for constraint in tree.constraints:
            first, last = constraint.first_equation, constraint.first_equation + constraint.num_equations
            for k in range(first, last, 3):  # groups along three axes
                axes = slice(k, min(k + 3, last))
                share[:, axes] = share[:, axes].max(axis=1, keepdims=True)
                share[:, axes] *= np.abs(J[:, axes]).max(axis=(1, 2), keepdims=True)[..., 0] > _LEAST
                for b in range(self.count):
                    values, directions = np.linalg.eigh(responses[b, axes, axes])
                    little = directions[:, values <= _LITTLE * share[b, k]]
                    rows = little @ little.T @ J[b, axes]
                    if np.trace(rows @ np.linalg.solve(M[b], rows.T)) > _NOTHING * share[b, k]:
                        J[b, axes] -= rows
                        error[b, axes] -= little @ little.T @ error[b, axes]
        slope = np.where(share > 0.0, 1.0 / (_RIGID * np.where(share > 0.0, share, 1.0)), 0.0)
        return J, -error / (h + _CLOSING), slope

    def _contacts(self, M: FloatArray, v: FloatArray, h: float) -> Contacts | None:
        if not self._elements:
            return None
        context = self.context
        parts: list[list[FloatArray]] = [[] for _ in range(6)]
        for element, constants in self._elements:
            p, k, d, static, dynamic, vs = constants
            F, A = element._frame, element._half_space_frame
            num = element.num_points
            depth = element.calc_depths(context).reshape(self.count, num)
            J = self._jacobian(F, A, p, num) * self._free[:, np.newaxis, np.newaxis]
            u = np.einsum("bcki,bi->bck", J, v)
            speed = np.linalg.norm(u[..., :2], axis=-1)
            x = np.clip((speed / vs - 1.0) / 2.0, 0.0, 1.0)
            mu = static + (dynamic - static) * x * x * x * (10.0 + x * (6.0 * x - 15.0))
            normal = k * np.fmax(depth, 0.0) * np.fmax(1.0 - d * u[..., 2], 0.0)
            share = np.einsum(
                "bcki,bcik->bc",
                J[..., :2, :],
                np.linalg.solve(M[:, np.newaxis], np.swapaxes(J, 2, 3))[..., :2],
            )
            slope = np.where(share > 0.0, 2.0 / (_STICTION * np.where(share > 0.0, share, 1.0)), 0.0)
            rows = (J, k + 0.0 * depth, d + 0.0 * depth, depth, h * mu * normal, slope * (normal > 0.0))
            for part, row in zip(parts, rows, strict=True):
                part.append(row)
        return Contacts(*(np.concatenate(part, axis=1) for part in parts))

    def _jacobian(self, F: Any, A: Any, p: Any, num: int) -> FloatArray:
        """Return the Jacobians of points of F, relative to A, (count, num, 3, nv)."""
        J = self.tree.calc_jacobian_translational_velocity(self.context, "v", F, np.swapaxes(p, -1, -2), A, A)
        return J.reshape(self.count, num, 3, self.nv)

    def _read_dofs(self, joint_limits: bool) -> None:
        """Read what acts on single dofs."""
        tree, shape = self.tree, (self.count, self.nv)
        given = self._given = self.context.clone()
        self._damping, self._stiffness = np.zeros(shape), np.zeros(shape)
        self._lower, self._upper = np.full(self.nv, -np.inf), np.full(self.nv, np.inf)
        self._position_of = np.zeros(self.nv, dtype=np.intp)
        for joint in tree.joints:
            start, num = joint.velocity_start, joint.num_velocities
            dofs = slice(start, start + num)
            self._damping[:, dofs] = np.broadcast_to(
                joint.get_damping_vector(given), (*self.batch, num)
            ).reshape(self.count, num)
            # Positions are integrals of velocities, except for rotations.
            if joint.num_positions == num and not any(start <= k < start + num for k in self._turning):
                self._position_of[dofs] = np.arange(joint.position_start, joint.position_start + num)
                if joint_limits:
                    self._lower[dofs], self._upper[dofs] = (
                        joint.position_lower_limits,
                        joint.position_upper_limits,
                    )
        self._frictions = []
        for element in tree.force_elements:
            if isinstance(element, RevoluteSpring | PrismaticSpring):
                k = np.broadcast_to(element.get_stiffness(given), self.batch)
                self._stiffness[:, element.joint.velocity_start] += k.reshape(self.count)
            elif isinstance(element, JointFriction):
                self._frictions.append((element.joint.velocity_start, element))

    def _read_servos(self, limit_efforts: bool) -> None:
        tree = self.tree
        self._servos = servos = read_servos(tree, self._given)
        self._gains = [
            x.reshape(self.count, servos.dofs.size)
            for x in (servos.stiffness, servos.damping, servos.q_d, servos.v_d)
        ]
        unlimited = np.full(self.nv, np.inf)
        self._effort_limits = (
            (tree.effort_lower_limits, tree.effort_upper_limits) if limit_efforts else (-unlimited, unlimited)
        )

    def _read_contacts(self) -> None:
        self._elements: list[tuple[Any, tuple[Any, ...]]] = []
        for element in contacts_of(self.tree):
            c = self._given
            constants = [
                np.broadcast_to(x, self.batch).reshape(self.count, 1)
                for x in (
                    element.get_stiffness(c), element.get_dissipation(c), element.get_static_friction(c),
                    element.get_dynamic_friction(c), element.get_stiction_speed(c),
                )
            ]  # fmt: skip
            self._elements.append((element, (element.get_p_FC(c), *constants)))
            element.set_stiffness(self.context, 0.0)
