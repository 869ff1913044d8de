"""The quadratic program of a tick: unknowns, cost, rows.

Unknowns are ``x = (vdot, f, lambda)``: accelerations, forces of contact points, and multipliers of the tree's
constraints. A force is given by its distances from three faces of the pyramid, so that these faces become
simple bounds. Forces are in units of the weight that a point carries, so that all unknowns have the same
order of magnitude. Torques are eliminated: ``tau = T x + h`` with ``T = (M, -J', -G')``. Accelerations of
joints without a motor remain unknowns: eliminating them would cost contact forces seven digits of accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.control.contacts import ContactPoints
from mbt.control.limits import acceleration_bounds
from mbt.control.motions import Motion
from mbt.control.tasks import Task
from mbt.math import skew
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["FREE", "Problem"]

# Stands for no bound in solvers that need finite numbers.
FREE = 1e30


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything about a program that does not change from tick to tick."""

    tree: MultibodyTree
    contacts: tuple[tuple[ContactPoints, Frame, Frame | None], ...]
    tasks: tuple[Task, ...]
    force_tasks: tuple[tuple[Any, float], ...]  # places among the forces, and weight
    is_driven: Any  # (nv,)
    dt: float
    braking: float
    contact_weight: float
    regularization: float
    limits: frozenset[str]

    @cached_property
    def num_forces(self) -> int:
        """Number of force unknowns."""
        return 3 * sum(contact.num_points for contact, _, _ in self.contacts)

    @cached_property
    def num_contact_rows(self) -> int:
        """Number of rows that keep contacts at rest: 3 for a contact with one point, else 6."""
        return sum(3 if contact.num_points == 1 else 6 for contact, _, _ in self.contacts)

    @cached_property
    def force_unit(self) -> float:
        """The weight of the tree divided by the number of points [N]; the whole weight without contacts."""
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
        """Velocities whose force has a row: first those without a motor, then those with limited effort."""
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
        """Factors that scale these rows to about unit length, from their inertia in the default positions."""
        M = functional.mass_matrix(self.tree, self.tree.default_positions)[self.rows]
        scales: FloatArray = 1.0 / np.maximum(np.linalg.norm(M, axis=1), 1e-12)
        return scales

    @cached_property
    def edges(self) -> tuple[FloatArray, ...]:
        """For each point, the matrix that maps its unknowns to a force (tangent, tangent, normal)."""
        return tuple(contact.edges for contact, _, _ in self.contacts for _ in range(contact.num_points))

    @cached_property
    def force_cost(self) -> FloatArray:
        """The block of H for forces and multipliers, in their units."""
        weights = np.full(self.size - self.tree.num_velocities, self.regularization)
        for places, weight in self.force_tasks:
            weights[places] += weight * self.force_unit**2
        cost = np.diag(weights)
        for k, edges in enumerate(self.edges):
            own = slice(3 * k, 3 * k + 3)
            cost[own, own] = edges.T @ cost[own, own] @ edges
        return cost

    @cached_property
    def limited(self) -> tuple[Any, Any]:
        """Velocities with limits, and the positions whose rates they are."""
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
    def force_rows(self) -> tuple[FloatArray, FloatArray, list[str]]:
        """Rows on f, their upper bounds and names: the other faces, and largest normal forces."""
        rows, upper, names = [], [], []
        k = 0
        for contact, frame, _ in self.contacts:
            name = f"of {contact.name or frame.name!r}"
            own = np.delete(contact.pyramid, contact.bounding_faces, axis=0)
            top = np.array([[0.0, 0.0, 1.0]] * (contact.max_force < np.inf))
            for _ in range(contact.num_points):
                for block, bound, what in (
                    (own, 0.0, "friction"),
                    (top, contact.max_force / self.force_unit, "normal force"),
                ):
                    for row in block:
                        wide = np.zeros(self.num_forces)
                        wide[3 * k : 3 * k + 3] = row @ contact.edges
                        rows.append(wide)
                        upper.append(bound)
                        names.append(f"{what} {name}")
                k += 1
        return np.array(rows).reshape(len(rows), self.num_forces), np.array(upper), names

    @cached_property
    def is_moving(self) -> bool:
        """Whether the axes of any force rotate with a body."""
        return any(surface is not None for _, _, surface in self.contacts)

    def assemble(self, motion: Motion, stands: Any, wanted_forces: Any, *references: Any) -> dict[str, Any]:
        """Return T, h, the cost of each level, rows and bounds, by name.

        `stands` is 1 for active contacts and 0 for lifted ones; `wanted_forces` are the goals of force tasks
        times their weights, in World axes; `references` are the goal, velocity and acceleration of each task.
        This function runs on doubles and on traced numbers.
        """
        tree, q, v = self.tree, motion.q, motion.v
        levels: tuple[list[Any], list[Any]] = ([], [])
        T = [motion.mass_matrix()]
        axes: list[Any] = []
        for k, (contact, frame, surface) in enumerate(self.contacts):
            basis, J_f, J, r = self._calc_contact(motion, contact, frame, surface)
            axes += [basis] * contact.num_points
            T.append(-self.force_unit * J_f.T)
            levels[0].append((J, r, self.contact_weight * stands[k] * np.ones(len(r))))
        for k, task in enumerate(self.tasks):
            levels[task.priority].append(
                (*task.calc_rows(motion, *references[3 * k : 3 * k + 3]), task.weight)
            )
        result = {"h": motion.bias_forces()}
        if tree.num_constraint_equations:
            G = motion.constraint_jacobian()
            T.append(-self.force_unit * G.T)
            result |= {"constraints": self._widen(G), "constraint_bias": -motion.constraint_bias()}
        result["T"] = np.concatenate(T, axis=1)
        result["rows"] = self.row_scales[:, None] * result["T"][self.rows]
        for name, limit in zip(("row_lower", "row_upper"), self.effort_limits, strict=True):
            result[name] = np.maximum(
                np.minimum(self.row_scales * (limit - result["h"][self.rows]), FREE), -FREE
            )
        forces = [basis @ wanted_forces[3 * k : 3 * k + 3] for k, basis in enumerate(axes)]
        forces.append(np.zeros(tree.num_constraint_equations))
        of_forces = -self.force_unit * np.concatenate(forces)
        result["H"], result["g"] = self._calc_cost(levels[0], of_forces)
        if levels[1]:
            result["H2"], result["g2"] = self._calc_cost(levels[1], of_forces)
            result["first"] = self._widen(np.concatenate([J for J, _, _ in levels[0]]))
        if self.is_moving:
            result["axes"] = _block_diagonal([self.force_unit * basis.T for basis in axes])
        wanted = [r for level in levels for _, r, _ in level]
        result["total"] = sum(np.sum(np.abs(part)) for part in (*wanted, of_forces, result["h"]))
        velocities, positions = self.limited
        if len(velocities):
            bounds = self._limits_of(velocities, positions)
            found = acceleration_bounds(q[positions], v[velocities], *bounds, self.braking, self.dt)
            # Velocities without limits use the last entry.
            place = np.full(tree.num_velocities, len(velocities))
            place[velocities] = np.arange(len(velocities))
            for name, bound, free in zip(("lower", "upper"), found, (-FREE, FREE), strict=True):
                result[name] = np.concatenate([bound, np.full(1, free)])[place]
        return result

    def finish(self, x: Any, T: Any, h: Any, axes: Any) -> dict[str, Any]:
        """Return the arrays of a result, by name. This function runs on doubles and on traced numbers."""
        nv, tree = self.tree.num_velocities, self.tree
        tau = np.where(self.is_driven, T @ x + h, 0.0)
        forces, multipliers = x[nv : nv + self.num_forces], x[nv + self.num_forces :]
        points = [axes[k : k + 3, k : k + 3] @ forces[k : k + 3] for k in range(0, self.num_forces, 3)]
        result = {"tau": tau, "vdot": 1.0 * x[:nv], "actuation": self.share @ tau}
        if points:
            result["contact_forces"] = np.stack(points)
        if tree.num_constraint_equations:
            result["multipliers"] = self.force_unit * multipliers
        return result

    @cached_property
    def share(self) -> FloatArray:
        """The matrix that maps tau to actuator efforts; those on one joint share it by their limits."""
        tree = self.tree
        limits = np.array([min(actuator.effort_limit, FREE) for actuator in tree.joint_actuators])
        shares = tree.actuation_matrix * np.where(limits > 0.0, limits, 1e-30)
        total: FloatArray = shares.sum(axis=1, keepdims=True)
        share: FloatArray = shares / np.where(total > 0.0, total, 1.0)
        return share.T.copy()

    def _widen(self, J: Any) -> Any:
        """Return rows acting on vdot as rows acting on x."""
        return np.concatenate([J, np.zeros((len(J), self.size - self.tree.num_velocities))], axis=1)

    def _calc_cost(self, level: list[Any], of_forces: Any) -> tuple[Any, Any]:
        """Return H and g of ``1/2 |J vdot - r|^2``, weighted, plus the regularization of x."""
        nv, n = self.tree.num_velocities, self.size
        H: Any = self.regularization * np.eye(nv)
        g: Any = np.zeros(nv)
        for J, r, weight in level:
            H = H + J.T @ (weight[:, None] * J)
            g = g - J.T @ (weight * r)
        weights = np.concatenate([np.zeros((n - nv, nv)), self.force_cost], axis=1)
        return np.concatenate([self._widen(H), weights]), np.concatenate([g, of_forces])

    def _calc_contact(
        self, motion: Motion, contact: ContactPoints, frame: Frame, surface: Frame | None
    ) -> tuple[Any, Any, Any, Any]:
        """Return axes of forces (3, 3), the Jacobian of their unknowns (3n, nv), and ``J vdot = r``.

        The latter keeps the points at rest on what they touch. Three or more points fix the body completely,
        so the six rows of its spatial acceleration replace those of all points.
        """
        X_WF, v = motion.frame_pose(frame), motion.v
        R_WF, basis = X_WF[:3, :3], contact.basis
        center = contact.p_FC.mean(axis=0)
        J, bias = motion.point(frame, R_WF @ center)
        spin = skew(J[:3] @ v)
        spin = skew(bias[:3]) + spin @ spin  # times an arm: the relative acceleration of its end
        if surface is not None:
            X_WS = motion.frame_pose(surface)
            basis = basis @ X_WS[:3, :3].T
            J_S, bias_S = motion.point(surface, X_WF[:3, 3] + R_WF @ center - X_WS[:3, 3])
            spin_S = skew(J_S[:3] @ v)
            spin = spin - skew(bias_S[:3]) - spin_S @ spin_S
            J, bias = J - J_S, bias - bias_S
        arms = [R_WF @ (p_FC - center) for p_FC in contact.p_FC]
        of_points = [J[3:] - skew(arm) @ J[:3] for arm in arms]
        basis = contact.edges.T @ basis
        J_f = np.concatenate([basis @ rows for rows in of_points])
        if contact.num_points == 1:
            J, bias = J[3:], bias[3:]
        elif contact.num_points == 2:  # the body may rotate about the line through both points
            J, bias = np.concatenate(of_points), np.concatenate([bias[3:] + spin @ arm for arm in arms])
        return basis, J_f, J, -contact.damping * (J @ v) - bias


def _block_diagonal(blocks: list[Any]) -> Any:
    """Return a block-diagonal matrix of blocks with three rows and columns."""
    n = len(blocks)
    return np.concatenate(
        [
            np.concatenate([np.zeros((3, 3 * k)), block, np.zeros((3, 3 * (n - k - 1)))], axis=1)
            for k, block in enumerate(blocks)
        ]
    )
