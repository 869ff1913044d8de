"""The quadratic program of a tick: unknowns, cost, rows.

Unknowns are ``x = (vdot, f, lambda)``: accelerations, forces of contact points in (tangent, tangent, normal),
and multipliers of the tree's constraints. Forces are in units of the weight that a point carries, so that all
unknowns are of one order. Torques are eliminated: ``tau = T x + h`` with ``T = (M, -J', -G')``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.control.contacts import ContactPoints, normal_and_tangents
from mbt.control.limits import acceleration_bounds
from mbt.control.tasks import Task, motion_of_point
from mbt.math import skew
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["FREE", "Problem"]

# A bound that bounds nothing, to solvers which want numbers.
FREE = 1e30


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything about a program that does not change from tick to tick."""

    tree: MultibodyTree
    contacts: tuple[tuple[ContactPoints, Frame], ...]
    tasks: tuple[Task, ...]
    force_tasks: tuple[tuple[Any, float], ...]  # places among the forces, weight
    is_driven: Any  # (nv,)
    dt: float
    braking: float
    contact_weight: float
    regularization: float
    limits: frozenset[str]

    @cached_property
    def num_forces(self) -> int:
        """Number of force unknowns."""
        return 3 * sum(contact.num_points for contact, _ in self.contacts)

    @cached_property
    def num_contact_rows(self) -> int:
        """Number of rows that keep contacts at rest: of one point 3, of more 6."""
        return sum(3 if contact.num_points == 1 else 6 for contact, _ in self.contacts)

    @cached_property
    def force_unit(self) -> float:
        """The weight of the tree over the number of points [N]; of forces without contacts, too."""
        weight = 9.81 * sum(body.default_mass for body in self.tree.bodies[1:])
        return float(weight / max(1, self.num_forces // 3)) or 1.0

    @cached_property
    def size(self) -> int:
        """Number of unknowns."""
        return self.tree.num_velocities + self.num_forces + self.tree.num_constraint_equations

    @cached_property
    def undriven(self) -> Any:
        """Velocities without a motor."""
        return np.flatnonzero(~self.is_driven)

    @cached_property
    def rows(self) -> Any:
        """The velocities whose force is a row: those without a motor, and those of limited effort."""
        tree = self.tree
        limited = np.isfinite(tree.effort_upper_limits) | np.isfinite(tree.effort_lower_limits)
        driven = np.flatnonzero(self.is_driven & limited & ("effort" in self.limits))
        return np.concatenate([self.undriven, driven])

    @cached_property
    def effort_limits(self) -> tuple[FloatArray, FloatArray]:
        """Limits of the force of each row: zero without a motor."""
        tree, driven = self.tree, self.is_driven[self.rows]
        low, high = tree.effort_lower_limits[self.rows], tree.effort_upper_limits[self.rows]
        return np.where(driven, low, 0.0), np.where(driven, high, 0.0)

    @cached_property
    def row_scales(self) -> FloatArray:
        """What makes these rows vectors of unit length, nearly: their inertia in the default positions."""
        M = functional.mass_matrix(self.tree, self.tree.default_positions)[self.rows]
        scales: FloatArray = 1.0 / np.maximum(np.linalg.norm(M, axis=1), 1e-12)
        return scales

    @cached_property
    def force_weights(self) -> FloatArray:
        """Weights of squared forces and multipliers, in their units."""
        weights = np.full(self.size - self.tree.num_velocities, self.regularization)
        for places, weight in self.force_tasks:
            weights[places] += weight * self.force_unit**2
        return weights

    @cached_property
    def limited(self) -> tuple[Any, Any]:
        """Velocities with limits, and the positions that they are the rates of."""
        tree = self.tree
        places = [
            (joint.velocity_start + k, joint.position_start + k)
            for joint in tree.joints
            if joint.num_positions == joint.num_velocities
            for k in range(joint.num_velocities)
        ]
        velocities, positions = np.array(places, dtype=int).reshape(-1, 2).T
        bounds = [bound for pair in self._limits_of(velocities, positions) for bound in pair]
        limited = np.isfinite(bounds).any(axis=0)
        return velocities[limited], positions[limited]

    def _limits_of(self, velocities: Any, positions: Any) -> tuple[Any, Any, Any]:
        tree, n = self.tree, len(velocities)
        free = np.full(n, -np.inf), np.full(n, np.inf)
        q = (tree.position_lower_limits[positions], tree.position_upper_limits[positions])
        v = (tree.velocity_lower_limits[velocities], tree.velocity_upper_limits[velocities])
        vdot = (tree.acceleration_lower_limits[velocities], tree.acceleration_upper_limits[velocities])
        obeyed = self.limits
        return (
            q if "position" in obeyed else free,
            v if "velocity" in obeyed else free,
            vdot if "acceleration" in obeyed else free,
        )

    @cached_property
    def friction_rows(self) -> FloatArray:
        """Rows of the pyramids, on f: four faces within the cone of each point."""
        rows = np.zeros((4 * self.num_forces // 3, self.num_forces))
        start = 0
        for contact, _ in self.contacts:
            mu = contact.friction / np.sqrt(2.0)
            face = np.array([[1.0, 0, -mu], [-1.0, 0, -mu], [0, 1.0, -mu], [0, -1.0, -mu]]) / np.hypot(
                1.0, mu
            )
            for _ in range(contact.num_points):
                rows[4 * start : 4 * start + 4, 3 * start : 3 * start + 3] = face
                start += 1
        return rows

    def assemble(self, q: Any, v: Any, stands: Any, wanted_forces: Any, *references: Any) -> dict[str, Any]:
        """Return T, h, the cost of each level, rows and bounds, by the names of `shapes`.

        `stands` is 1 for contacts that hold and 0 for others, `wanted_forces` what tasks of forces add to g,
        `references` goal, velocity and acceleration of each task. It runs on doubles and on tracing numbers.
        """
        tree = self.tree
        levels: tuple[list[Any], list[Any]] = ([], [])
        T = [functional.mass_matrix(tree, q)]
        for k, (contact, frame) in enumerate(self.contacts):
            J_f, J, r = self._calc_contact(q, v, contact, frame)
            T.append(-self.force_unit * J_f.T)
            levels[0].append((J, r, self.contact_weight * stands[k] * np.ones(len(r))))
        for k, task in enumerate(self.tasks):
            levels[task.priority].append(
                (*task.calc_rows(tree, q, v, *references[3 * k : 3 * k + 3]), task.weight)
            )
        result = {"h": functional.inverse_dynamics(tree, q, v, np.zeros(tree.num_velocities))}
        if tree.num_constraint_equations:
            G = functional.constraint_jacobian(tree, q)
            T.append(-self.force_unit * G.T)
            bias = functional.constraint_bias(tree, q, v)
            result |= {"constraints": self._widen(G), "constraint_bias": -bias}
        result["T"] = np.concatenate(T, axis=1)
        result["rows"] = self.row_scales[:, None] * result["T"][self.rows]
        for name, limit in zip(("row_lower", "row_upper"), self.effort_limits, strict=True):
            result[name] = np.maximum(
                np.minimum(self.row_scales * (limit - result["h"][self.rows]), FREE), -FREE
            )
        result["H"], result["g"] = self._calc_cost(levels[0], wanted_forces)
        if levels[1]:
            result["H2"], result["g2"] = self._calc_cost(levels[1], wanted_forces)
            result["first"] = self._widen(np.concatenate([J for J, _, _ in levels[0]]))
        velocities, positions = self.limited
        if len(velocities):
            bounds = self._limits_of(velocities, positions)
            result["lower"], result["upper"] = acceleration_bounds(
                q[positions], v[velocities], *bounds, self.braking, self.dt
            )
        return result

    def _widen(self, J: Any) -> Any:
        """Return rows on vdot as rows on x."""
        return np.concatenate([J, np.zeros((len(J), self.size - self.tree.num_velocities))], axis=1)

    def _calc_cost(self, level: list[Any], wanted_forces: Any) -> tuple[Any, Any]:
        """Return H and g of ``1/2 |J vdot - r|^2``, weighted, and of a little of x itself."""
        nv, n = self.tree.num_velocities, self.size
        H: Any = self.regularization * np.eye(nv)
        g: Any = np.zeros(nv)
        for J, r, weight in level:
            H = H + J.T @ (weight[:, None] * J)
            g = g - J.T @ (weight * r)
        of_forces = np.concatenate([np.zeros((n - nv, nv)), np.diag(self.force_weights)], axis=1)
        return np.concatenate([self._widen(H), of_forces]), np.concatenate([g, -wanted_forces])

    def _calc_contact(self, q: Any, v: Any, contact: ContactPoints, frame: Frame) -> tuple[Any, Any, Any]:
        """Return the Jacobian of force components (3n, nv), and ``J vdot = r`` that keeps the points at rest.

        Three points and more hold a body as a whole: its six rows are as good as those of all points.
        """
        R_WF = functional.frame_pose(self.tree, q, frame)[:3, :3]
        basis = normal_and_tangents(contact.normal)
        center = contact.p_FC.mean(axis=0)
        J, bias = motion_of_point(self.tree, q, v, frame, R_WF @ center)
        of_points = []
        for p_FC in contact.p_FC:
            of_points.append(J[3:] - skew(R_WF @ (p_FC - center)) @ J[:3])
        J_f = np.concatenate([basis @ rows for rows in of_points])
        if contact.num_points == 1:
            J, bias = J[3:], bias[3:]
        elif contact.num_points == 2:  # a line, about which it may turn
            arm = R_WF @ (contact.p_FC[1] - center)
            w = J[:3] @ v
            turn = np.cross(bias[:3], arm) + np.cross(w, np.cross(w, arm))
            J, bias = np.concatenate(of_points), np.concatenate([bias[3:] - turn, bias[3:] + turn])
        return J_f, J, -contact.damping * (J @ v) - bias
