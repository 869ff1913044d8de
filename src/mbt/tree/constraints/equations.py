"""The constraint Jacobian: the entries of J that can be nonzero, and their sizes.

The size of an entry is the most it could be: the sum of the absolute values of its terms, with the whole
length of a lever. Rounding is small beside that, whatever else is in its row: this reveals empty equations.

Dofs that move both frames of a constraint alike have no entry. Constraints that share dofs are neighbours; in
the order of their distance from the first of them, only a level and the next one have dofs in common.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbt.tree.constraints.ball import BallConstraint
from mbt.tree.constraints.between_frames import ConstraintBetweenFrames
from mbt.tree.constraints.coupler import CouplerConstraint
from mbt.tree.constraints.distance import DistanceConstraint
from mbt.tree.constraints.weld import WeldConstraint

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.tree.constraints.constraint import Constraint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Entries", "Equations", "Level"]

# A lever below this share of the lengths of the model is rounding, or as negligible.
_SHORTEST_LEVER = 1e-6
# In each level but the last.
_FEWEST_ROWS = 24
# Rounding of positions in World, relative to themselves.
_ROUNDING = 64 * np.finfo(float).eps

# Entries are taken from these values of each pair of a constraint and a dof, one behind the other.
_ROTATION, _TRANSLATION, _ALONG, _VALUES_OF_PAIR = 0, 3, 6, 7


@dataclass(frozen=True)
class Entries:
    """Values of J and their sizes at a state, with its batch axes in front.

    Attributes
    ----------
    values, sizes : ndarray, shape (..., n)
        The source of entries of J, and the sizes that these could have.
    """

    values: FloatArray
    sizes: FloatArray


class Level:
    """Rows of J that share dofs only with the levels before and behind.

    Attributes
    ----------
    rows, dofs : ndarray of int
        The equations, and the velocities with an entry in them.
    shared : list of two ndarray of int
        The places of the dofs that this level and the next have in common, in each.
    """

    def __init__(self, rows: list[int], places: list[tuple[int, int, int]]) -> None:
        i, dofs, self._source = np.array(places, dtype=np.intp).reshape(-1, 3).T
        self.rows = np.array(rows, dtype=np.intp)
        self.dofs, columns = np.unique(dofs, return_inverse=True)
        row_of = {row: k for k, row in enumerate(rows)}
        self.shared: list[npt.NDArray[np.intp]] = []
        self._place = np.array([row_of[k] for k in i.tolist()], dtype=np.intp), columns.reshape(-1)

    def share_with(self, behind: Level, is_free: npt.NDArray[np.bool_]) -> None:
        """Find the free dofs that it has in common with the next level."""
        common, *self.shared = np.intersect1d(self.dofs, behind.dofs, return_indices=True)
        self.shared = [places[is_free[common]] for places in self.shared]

    def matrix(self, values: FloatArray) -> FloatArray:
        """Return the entries of these rows and dofs, (..., rows, dofs)."""
        J = np.zeros((*values.shape[:-1], len(self.rows), len(self.dofs)))
        J[..., self._place[0], self._place[1]] = values[..., self._source]
        return J


class Equations:
    """The equations that are enabled in a Context, at any positions.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    context : Context
        One state or a batch, with its parameters and enabled constraints.
    is_free : ndarray of bool, shape (num_velocities,), optional
        The dofs that make constraints neighbours; all by default.
    """

    def __init__(
        self, tree: MultibodyTree, context: Context, is_free: npt.NDArray[np.bool_] | None = None
    ) -> None:
        self.tree = tree
        self._is_free = np.ones(tree.num_velocities, dtype=bool) if is_free is None else is_free
        self.constraints: list[Constraint] = [x for x in tree.constraints if x.is_enabled_in(context)]
        first_rows = np.cumsum([0, *(x.num_equations for x in tree.constraints)]).tolist()
        self._first_row = {x: first_rows[x.index] for x in self.constraints}
        self._find_pairs()
        self._take_numbers(context)
        self.num_equations = tree.num_constraint_equations
        self.levels: list[Level] = []
        self.components: list[list[Constraint]] = []
        self._places_of = {x: list(self._places(x)) for x in self.constraints}
        self._make_levels()
        for level, behind in zip(self.levels, self.levels[1:], strict=False):
            level.share_with(behind, self._is_free)

    def _find_pairs(self) -> None:
        """Find the dofs that move each constraint, and the body that each of them moves."""
        parent: dict[int, int] = {}
        dofs_of: dict[int, range] = {}
        for mobilizer in self.tree.mobilizers:
            outboard = mobilizer.outboard_body.node_index
            parent[outboard] = mobilizer.inboard_body.node_index
            dofs_of[outboard] = mobilizer._velocity_range()
        self._between = [x for x in self.constraints if isinstance(x, ConstraintBetweenFrames)]
        pairs: list[tuple[int, int, int, int]] = []
        self._pairs_of: dict[Constraint, range] = {}
        for i, x in enumerate(self._between):
            begin = len(pairs)
            a, b = int(x.frame_A.body.node_index), int(x.frame_B.body.node_index)
            # Inboard bodies have the smaller number; dofs inboard of where both paths meet move both.
            while a != b:
                side = int(b > a)
                node = max(a, b)
                pairs += ((i, side, dof, node) for dof in dofs_of[node])
                a, b = (a, parent[b]) if side else (parent[a], b)
            self._pairs_of[x] = range(begin, len(pairs))
        self._constraint, self._side, self._dof, self._node = np.array(pairs, dtype=np.intp).reshape(-1, 4).T
        # For each coupler the places of its two numbers.
        self._couplers = [x for x in self.constraints if isinstance(x, CouplerConstraint)]
        self._pairs_of.update((x, range(2 * i, 2 * i + 2)) for i, x in enumerate(self._couplers))

    def _take_numbers(self, context: Context) -> None:
        """Take parameters of constraints, and the lengths of the model, from a Context."""
        batch, count = context.batch_shape, len(self._between)
        ends = [F for x in self._between for F in (x.frame_A, x.frame_B)]
        self._frames = np.array([F._index for F in ends], dtype=np.intp).reshape(count, 2)
        self._nodes = np.array([F.body.node_index for F in ends], dtype=np.intp).reshape(count, 2)
        self._is_distance = np.array([isinstance(x, DistanceConstraint) for x in self._between], dtype=bool)
        self._points, self._distances = np.zeros((*batch, count, 2, 3)), np.zeros((*batch, count))
        for i in np.flatnonzero(self._is_distance).tolist():
            numbers = np.asarray(self._between[i]._get_numbers(context))
            self._points[..., i, :, :] = numbers[..., 3:9].reshape(*numbers.shape[:-1], 2, 3)
            self._distances[..., i] = numbers[..., 2]
        self._couplings = np.ones((*batch, 2 * len(self._couplers)))
        for i, x in enumerate(self._couplers):
            self._couplings[..., 2 * i + 1] = -np.asarray(x._get_numbers(context))[..., 2]
        joints = [joint for x in self._couplers for joint in (x.joint0, x.joint1)]
        self._coupled = np.array([joint.velocity_start for joint in joints], dtype=np.intp)
        # The longest of: positions of frames on bodies, points, distances.
        X_BF = np.asarray(cast(Any, self.tree.eval_position_kinematics(context)).X_BF)
        lengths = [_norm(X_BF[..., :3, 3]), _norm(self._points).reshape(*batch, -1), self._distances]
        longest = np.concatenate(lengths, axis=-1).max(axis=-1, initial=0.0)
        self.length = np.where(longest > 0.0, longest, 1.0)

    def _places(self, x: Constraint) -> Iterator[tuple[int, int, int]]:
        """Yield the row, the dof and the place among the values of each entry of a constraint."""
        row, pairs = self._first_row[x], self._pairs_of[x]
        if isinstance(x, CouplerConstraint):
            begin = _VALUES_OF_PAIR * len(self._dof)
            for joint, place in zip((x.joint0, x.joint1), pairs, strict=True):
                yield row, joint.velocity_start, begin + place
            return
        first = {WeldConstraint: _ROTATION, BallConstraint: _TRANSLATION, DistanceConstraint: _ALONG}[type(x)]
        for pair in pairs:
            for e in range(x.num_equations):
                yield row + e, int(self._dof[pair]), _VALUES_OF_PAIR * pair + first + e

    def make_level(self, constraints: list[Constraint]) -> Level:
        """Return the rows of constraints, in this order, and their dofs."""
        rows = [row for x in constraints for row in self.rows_of(x)]
        return Level(rows, [place for x in constraints for place in self._places_of[x]])

    def _make_levels(self) -> None:
        """Sort constraints by their distance from the first one of those that are connected."""
        places = self._places_of
        dofs = {x: {dof for _, dof, _ in places[x] if self._is_free[dof]} for x in self.constraints}
        sharing: dict[int, list[Constraint]] = {}
        for x in self.constraints:
            for dof in dofs[x]:
                sharing.setdefault(dof, []).append(x)

        def spread(start: Constraint) -> list[list[Constraint]]:
            found, levels = {start}, [[start]]
            seen_dofs: set[int] = set()
            while levels[-1]:
                behind: list[Constraint] = []
                for dof in {dof for x in levels[-1] for dof in dofs[x]} - seen_dofs:
                    seen_dofs.add(dof)
                    for y in sharing[dof]:
                        if y not in found:
                            found.add(y)
                            behind.append(y)
                levels.append(sorted(behind, key=lambda y: y.index))
            return levels[:-1]

        left = deque(self.constraints)
        done: set[Constraint] = set()
        ahead: list[Constraint] = []
        while left:
            start = left.popleft()
            if start in done:
                continue
            connected: list[Constraint] = []
            # Starting from one end gives more levels, with fewer constraints in each.
            for level in spread(spread(start)[-1][0]):
                connected += level
                # Small levels are merged: a matrix costs more than its few entries.
                ahead += level
                if sum(x.num_equations for x in ahead) >= _FEWEST_ROWS:
                    self.levels.append(self.make_level(ahead))
                    ahead = []
            done.update(connected)
            self.components.append(sorted(connected, key=lambda x: x.index))
        if ahead:
            self.levels.append(self.make_level(ahead))

    def entries_at(self, context: Context, length: Any = 1.0) -> Entries:
        """Return the entries of J at the positions of a Context.

        Parameters
        ----------
        context : Context
            A Context of the tree.
        length : array_like, shape () or (num_velocities,), optional
            Sizes refer to a motion by one radian or by this length [m].

        Raises
        ------
        SingularityError
            When a single state has no poses.
        """
        X_WF, p_WP, kinematics = self._place_ends(context)
        X_WB, H = np.asarray(kinematics.X_WB), np.asarray(kinematics.H_PB_W)[..., self._dof, :]
        w, v = H[..., :3], H[..., 3:]
        # The moving point is Bo; for a distance, the end on the side of the dof.
        moving = np.where(self._is_distance[self._constraint], self._side, 1)
        arm = p_WP[..., self._constraint, moving, :] - X_WB[..., :3, 3][..., self._node, :]
        sign = (2.0 * self._side - 1.0)[:, None]
        turn, shift = sign * w, sign * (v + _cross(w, arm))
        d = p_WP[..., 1, :] - p_WP[..., 0, :]
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.where(self._is_distance[:, None], d / _norm(d)[..., None], 0.0)
        R_WA = X_WF[..., self._constraint, 0, :3, :3]
        along = (u[..., self._constraint, :] * shift).sum(axis=-1, keepdims=True)
        values = np.concatenate([_turn_back(R_WA, turn), _turn_back(R_WA, shift), along], axis=-1)
        lever = np.maximum(_norm(arm), _SHORTEST_LEVER * self.length[..., None])
        length = np.broadcast_to(length, (self.tree.num_velocities,))
        size = np.stack([_norm(w), _norm(v) * length[self._dof] + _norm(w) * lever], axis=-1)
        sizes = np.repeat(size, [3, 4], axis=-1)
        lead = values.shape[:-2]
        couplings = np.abs(self._couplings) * length[self._coupled]
        return Entries(
            np.concatenate([values.reshape(*lead, -1), self._couplings], axis=-1),
            np.concatenate([sizes.reshape(*lead, -1), couplings], axis=-1),
        )

    def _place_ends(self, context: Context) -> tuple[FloatArray, FloatArray, Any]:
        """Return poses of both frames in World, (..., n, 2, 4, 4), and their points, (..., n, 2, 3)."""
        kinematics: Any = self.tree.eval_position_kinematics(context)
        X_WB, X_BF = np.asarray(kinematics.X_WB), np.asarray(kinematics.X_BF)
        X_WF = X_WB[..., self._nodes, :, :] @ X_BF[..., self._frames, :, :]
        p_WP = X_WF[..., :3, 3] + (X_WF[..., :3, :3] @ self._points[..., None])[..., 0]
        return X_WF, p_WP, kinematics

    def calc_units(self, context: Context) -> tuple[FloatArray, FloatArray]:
        """Return the units to which errors of equations are relative, and their rounding, (..., m) [rad, m].

        The unit of a rotation is one radian. That of a position, and of a coupler of sliding joints, is the
        reach of the constraint: the longest lever that moves it, or its distance; without any, the lengths
        of the model.
        """
        batch = context.batch_shape
        units = np.ones((*batch, self.tree.num_constraint_equations))
        rounding = np.zeros_like(units)
        _, p_WP, kinematics = self._place_ends(context)
        X_WB, H = np.asarray(kinematics.X_WB), np.asarray(kinematics.H_PB_W)
        own = p_WP[..., self._constraint, self._side, :] - X_WB[..., :3, 3][..., self._node, :]
        levers = np.nan_to_num(_norm(own) * _norm(H[..., self._dof, :3]))
        reaches = np.nan_to_num(self._distances)
        for i, x in enumerate(self._between):
            pairs = self._pairs_of[x]
            longest = levers[..., pairs.start : pairs.stop].max(axis=-1, initial=0.0)
            reach = np.maximum(reaches[..., i], longest)
            # Levers as small as rounding do not count.
            reach = np.where(reach > _SHORTEST_LEVER * self.length, reach, self.length)
            rows = self.rows_of(x)[-3:]
            units[..., rows.start : rows.stop] = reach[..., None]
            places = np.nan_to_num(_norm(p_WP[..., i, :, :])).max(axis=-1)
            rounding[..., rows.start : rows.stop] = _ROUNDING * places[..., None]
        is_turning = self.find_turning(context)
        for coupler in self._couplers:
            turns = is_turning[..., coupler.joint0.velocity_start]
            units[..., self._first_row[coupler]] = np.where(turns, 1.0, self.length)
        return units, rounding

    def find_turning(self, context: Context) -> npt.NDArray[np.bool_]:
        """Return which velocities rotate bodies, (..., num_velocities)."""
        kinematics: Any = self.tree.eval_position_kinematics(context)
        is_turning: npt.NDArray[np.bool_] = _norm(np.asarray(kinematics.H_PB_W)[..., :3]) > 0.0
        return is_turning

    def calc_lengths(self, units: FloatArray) -> FloatArray:
        """Return for each velocity the shortest of the units that it moves, (num_velocities,)."""
        lengths = np.full(self.tree.num_velocities, np.inf)
        for x in self._between:
            pairs = self._pairs_of[x]
            dofs = self._dof[pairs.start : pairs.stop]
            lengths[dofs] = np.minimum(lengths[dofs], units[self.rows_of(x)[-1]])
        return np.where(np.isfinite(lengths), lengths, self.length)

    def rows_of(self, x: Constraint) -> range:
        """Return the rows of a constraint that is enabled."""
        first = self._first_row[x]
        return range(first, first + x.num_equations)


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a x b, much faster than `np.cross` for few vectors."""
    ax, ay, az = np.moveaxis(a, -1, 0)
    bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def _norm(a: FloatArray) -> FloatArray:
    # Squares of lengths beyond 1e154 would overflow.
    length: FloatArray = np.hypot.reduce(a, axis=-1)
    return length


def _turn_back(R: FloatArray, a: FloatArray) -> FloatArray:
    """Return R' a."""
    turned: FloatArray = (a[..., None, :] @ R)[..., 0, :]
    return turned
