"""Trees with constraints: which velocities say how the others move, and what forces do along that motion.

The forces of constraints do no work on motions that obey them. So each independent velocity has one equation:
its own force, plus those of the dependent velocities times their rates. With the velocities of the motors
independent, and no force at the others, noise is that of each motor, as in trees without constraints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, AssemblyError
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Loops"]

_TOLERANCE = 1e-8
# A motor's velocity is dependent only where velocities without one are worse by so much.
_PREFERRED = 1e-3
_PLACES = 5
_TRIES = 100


class Loops:
    """The independent velocities of a tree with constraints, and the others, by the former."""

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
        """Return positions, velocities and accelerations that obey the constraints, one row a sample."""
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
        """Move to another place nearby, and return the Jacobian of the constraints there."""
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
        """Return rows of forces (B, nv, ...) by independent velocity, zeros at the others.

        G is the Jacobian of the constraints, (B, m, nv). A sample in which independent velocities do not say
        how the others move counts nothing.
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


def _choose_dependent(places: list[FloatArray], is_driven: Any) -> Any:
    """Return as many velocities as the constraints bind, those without motors first, far from dependent."""
    rank = max(int(np.linalg.matrix_rank(G, tol=_TOLERANCE * np.abs(G).max())) for G in places)
    rest = [G / max(float(np.linalg.norm(G)), 1e-300) for G in places]
    chosen: list[int] = []
    for _ in range(rank):
        sizes = np.min([np.linalg.norm(G, axis=0) for G in rest], axis=0)
        score = np.where(is_driven, _PREFERRED, 1.0) * sizes
        best = int(np.flatnonzero(score >= 0.999 * score.max())[-1])  # a follower has a later place
        chosen.append(best)
        for k, G in enumerate(rest):
            unit = G[:, best] / max(float(np.linalg.norm(G[:, best])), 1e-300)
            rest[k] = G - np.outer(unit, unit @ G)
    return np.array(sorted(chosen), dtype=np.intp)
