"""Trees with constraints: independent velocities, which determine the others, and forces along them.

Constraint forces do no work on motions that satisfy the constraints. So each independent velocity has one
equation: its own force, plus those of the dependent velocities times their rates. If the velocities of the
motors are independent and the others have no force, each equation has the noise of one motor, as in trees
without constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, AssemblyError
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Followers", "Loops"]

_TOLERANCE = 1e-8
# A motor's velocity becomes dependent only if velocities without one are worse by this factor.
_PREFERRED = 1e-3
_PLACES = 5
_TRIES = 100
# Largest move of an independent joint per step of the search for followers' positions [rad, m].
_STEP = 0.5
_NEWTON_STEPS = 20
_CLOSED = 1e-10
# Followers are near a singularity if the least eigenvalue of G'G falls below this part of its largest value.
_FIRM = 1e-3
# Number of random configurations, of which the best is the anchor of motions.
_CANDIDATES = 60


class Loops:
    """The independent velocities of a tree with constraints, and the dependent ones as functions of them."""

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree = tree
        self._rng = np.random.default_rng(0)
        self._context = tree.create_default_context()
        tree.assemble(self._context)
        places = [self._walk() for _ in range(_PLACES)]
        self.dependent = _choose_dependent(places, tree.actuation_matrix.any(axis=1))
        self.independent = np.setdiff1d(np.arange(tree.num_velocities), self.dependent)
        if not len(self.independent):
            raise ArgumentValueError("tree: expected one that can move, got one that its constraints lock")

    def random_motions(self, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions, velocities and accelerations that satisfy the constraints, one row per sample."""
        tree, context, rng = self._tree, self._context, self._rng
        motions = []
        for _ in range(count):
            G = self._walk()
            keep = np.eye(tree.num_velocities) - np.linalg.pinv(G, rcond=_TOLERANCE) @ G
            context.v = keep @ rng.standard_normal(tree.num_velocities)
            vdot = -np.linalg.pinv(G, rcond=_TOLERANCE) @ tree.calc_constraint_bias(context)
            motions.append((context.q, context.v, vdot + keep @ rng.standard_normal(tree.num_velocities)))
        q, v, vdot = (np.array(rows) for rows in zip(*motions, strict=True))
        return q, v, vdot

    def _walk(self) -> FloatArray:
        """Move to a nearby configuration, and return the Jacobian of the constraints there."""
        tree, context = self._tree, self._context
        start = context.q
        G: FloatArray = tree.calc_constraint_jacobian(context)
        keep = np.eye(tree.num_velocities) - np.linalg.pinv(G, rcond=_TOLERANCE) @ G
        context.v = np.zeros(tree.num_velocities)
        for _ in range(_TRIES):
            step = keep @ self._rng.uniform(-0.5, 0.5, tree.num_velocities)
            context.q = tree.integrate_positions(start, step, 1.0)
            try:
                tree.assemble(context)
            except AssemblyError:
                context.q = start
                continue
            return tree.calc_constraint_jacobian(context)
        raise ArgumentValueError(
            "tree: expected one that its constraints let move from its default positions"
        )

    def reduce(self, G: FloatArray, forces: FloatArray) -> FloatArray:
        """Return forces (B, nv, ...) projected onto independent velocities, zeros at the others.

        G is the Jacobian of the constraints, (B, m, nv). Samples in which the independent velocities do not
        determine the others become zero.
        """
        free, bound = self.independent, self.dependent
        rates = -np.linalg.pinv(G[:, :, bound], rcond=_TOLERANCE) @ G[:, :, free]
        left = np.abs(G[:, :, bound] @ rates + G[:, :, free]).max(axis=(1, 2), initial=0.0)
        tells = left <= 1e-6 * np.abs(G).max(axis=(1, 2), initial=0.0)
        reduced = np.zeros_like(forces)
        flat = forces.reshape(*forces.shape[:2], -1)
        own = flat[:, free] + rates.swapaxes(1, 2) @ flat[:, bound]
        reduced[:, free] = (own * tells[:, None, None]).reshape(len(forces), len(free), *forces.shape[2:])
        return reduced


class Followers:
    """The joints that follow the independent ones, from one configuration with all constraints closed.

    Attributes
    ----------
    places : ndarray of int
        Positions of the independent joints, which have one velocity each.
    anchor : ndarray, shape (num_positions,)
        This configuration: the assembled default positions, or one farther from limits and singularities.
    candidates : ndarray, shape (n, num_positions)
        More such configurations.
    """

    def __init__(self, tree: MultibodyTree, loops: Loops, margin: float) -> None:
        self._tree = tree
        self._independent, self._dependent = loops.independent, loops.dependent
        joints = {joint.velocity_start: joint for joint in tree.joints}
        self.places = np.array([joints[int(k)].position_start for k in self._independent], dtype=np.intp)
        self._contexts: dict[int, Any] = {}
        width = tree.position_upper_limits - tree.position_lower_limits
        spare = 0.5 * (1.0 - margin) * np.where(np.isfinite(width), width, 0.0)
        self._lower, self._upper = tree.position_lower_limits + spare, tree.position_upper_limits - spare
        start = tree.create_default_context()
        tree.assemble(start)
        self.anchor, self._firm = start.q, 0.0
        # Loops close in several ways; configurations that cannot be reached from here may belong to another.
        elsewhere = loops.random_motions(_CANDIDATES)[0][:, self.places]
        reached = [q[0] for one in elsewhere if (q := self.positions(one[np.newaxis])) is not None]
        candidates = np.array([start.q, *reached])
        firmness = self._firmness(self._open(candidates)[1])
        self._firm = _FIRM * float(firmness.max())
        self.candidates = candidates[firmness >= 0.1 * firmness.max()]
        room = self.room(self.candidates)
        first = 0 if firmness[0] >= 0.1 * firmness.max() and room[0] > 0.3 else int(np.argmax(room))
        if not room[first] > 0.0:
            raise ArgumentValueError(
                f"tree: none of {_CANDIDATES} random positions with closed loops is within the limits"
            )
        self.anchor = self.candidates[first]

    def room(self, q: FloatArray) -> FloatArray:
        """Return the distance of positions (n, num_positions) to limits: 1 in the middle, below 0 outside."""
        half = 0.5 * (self._upper - self._lower)
        inside = np.minimum(q - self._lower, self._upper - q) / np.where(
            np.isfinite(half) & (half > 0.0), half, 1.0
        )
        least: FloatArray = inside.min(axis=1, initial=1.0)
        return least

    def complete(
        self, q: FloatArray, v: FloatArray, vdot: FloatArray, *, is_known: bool = False
    ) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return positions, velocities and accelerations of all joints from those of independent ones.

        Returns None if `positions` does.
        """
        found = self.positions(q, is_known=is_known)
        return None if found is None else (found, *self._rates(found, v, vdot))

    def positions(self, q: FloatArray, *, is_known: bool = False) -> FloatArray | None:
        """Return all positions (n, num_positions) from those of the independent joints.

        This is Newton's method with a goal that moves away from the anchor. Returns None if a constraint does
        not close; or, unless the motion `is_known` to be possible, if followers exceed their limits or are
        near a singularity.
        """
        start = self.anchor[self.places]
        full = np.tile(self.anchor, (len(q), 1))
        count = max(1, int(np.ceil(np.abs(q - start).max(initial=0.0) / _STEP)))
        G = np.zeros((len(q), 0, len(self._dependent)))
        for step in range(1, count + 1):
            full[:, self.places] = start + step / count * (q - start)
            for _ in range(_NEWTON_STEPS):
                error, G = self._open(full)
                if (most := np.abs(error).max(initial=0.0)) < (_CLOSED if step == count else 1e-2):
                    break
                if not most < 1e3:
                    return None
                move = np.zeros((len(q), self._tree.num_velocities))
                move[:, self._dependent] = -_solve(G, error)
                full = self._tree.integrate_positions(full, move, 1.0)
            else:
                return None
        if is_known:  # between the points that were checked, it may exceed a limit slightly
            return full
        is_firm = self._firmness(G).min(initial=np.inf) >= self._firm
        return full if is_firm and (self.room(full) >= -1e-9).all() else None

    @staticmethod
    def _firmness(G: FloatArray) -> FloatArray:
        """Return the least eigenvalues of G'G."""
        return np.asarray(np.linalg.eigvalsh(G.swapaxes(1, 2) @ G)[:, 0], dtype=np.float64)

    def _rates(self, q: FloatArray, v: FloatArray, vdot: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return all velocities and accelerations (n, num_velocities) from those of independent joints."""
        tree, context = self._tree, self._context(len(q))
        all_v, all_vdot = np.zeros((2, len(q), tree.num_velocities))
        context.q = q
        G = tree.calc_constraint_jacobian(context)
        free, bound = G[..., self._independent], G[..., self._dependent]
        all_v[:, self._independent], all_vdot[:, self._independent] = v, vdot
        all_v[:, self._dependent] = -_solve(bound, np.einsum("nij,nj->ni", free, v))
        context.v = all_v
        known = np.einsum("nij,nj->ni", free, vdot) + tree.calc_constraint_bias(context)
        all_vdot[:, self._dependent] = -_solve(bound, known)
        return all_v, all_vdot

    def _open(self, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return errors of constraints, and their Jacobian with respect to velocities of followers."""
        context = self._context(len(q))
        context.q = q
        G = self._tree.calc_constraint_jacobian(context)[..., self._dependent]
        return self._tree.calc_constraint_errors(context), G

    def _context(self, count: int) -> Any:
        if count not in self._contexts:
            self._contexts = {count: self._tree.create_default_context(batch_shape=count)}
        return self._contexts[count]

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_contexts": {}}


def _solve(G: FloatArray, right: FloatArray) -> FloatArray:
    """Return the least-squares solution of G x = right for each sample; G must have full column rank."""
    N = G.swapaxes(1, 2) @ G
    N += (1e-14 * np.trace(N, axis1=1, axis2=2)[:, None, None] + 1e-300) * np.eye(N.shape[-1])
    b = np.einsum("nij,ni->nj", G, right)
    x: FloatArray = np.linalg.solve(N, b[..., np.newaxis])[..., 0]
    return x


def _choose_dependent(places: list[FloatArray], is_driven: Any) -> Any:
    """Return the velocities to treat as dependent: well-determined ones, preferably without motors."""
    rank = max(int(np.linalg.matrix_rank(G, tol=_TOLERANCE * np.abs(G).max())) for G in places)
    rest = [G / max(float(np.linalg.norm(G)), 1e-300) for G in places]
    chosen: list[int] = []
    for _ in range(rank):
        sizes = np.min([np.linalg.norm(G, axis=0) for G in rest], axis=0)
        score = np.where(is_driven, _PREFERRED, 1.0) * sizes
        best = int(np.flatnonzero(score >= 0.999 * score.max())[-1])  # ties: followers come later
        chosen.append(best)
        for k, G in enumerate(rest):
            unit = G[:, best] / max(float(np.linalg.norm(G[:, best])), 1e-300)
            rest[k] = G - np.outer(unit, unit @ G)
    return np.array(sorted(chosen), dtype=np.intp)
