"""Massless degrees of freedom, found numerically at the default positions and elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mbt._core.quantities.table import PIVOT_TOLERANCE
from mbt.math.arrays import FloatArray
from mbt.math.leading_axes import cross
from mbt.tree.joints.weld import WeldMobilizer

if TYPE_CHECKING:
    from mbt._core.engines.context import ContextCore
    from mbt.topology import SpanningForest
    from mbt.tree.body import RigidBody
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["MasslessBranch", "calc_inertias_of_massless", "find_massless_branches"]

# Kinetic energy below this share of that of another motion at the same rate is noise.
_NOISE = 1e-18
# Least eigenvalue of the mass matrix, in units of its diagonal, that is far from rounding.
_REGULAR = 1e-8
# One more, random configuration shows whether forward dynamics fails everywhere or only here.
_SEED = 20


@dataclass(frozen=True)
class MasslessBranch:
    """A joint without inertia, which no loop moves: forward dynamics has no solution.

    Attributes
    ----------
    mobilizer : Mobilizer
        The mobilizer; ``mobilizer.joint`` is the joint.
    velocities : tuple of int
        The massless degrees of freedom of the joint, as indices of v.
    bodies : tuple of RigidBody
        The bodies that would need mass or inertia.
    reason, cure : str
        The cause, and advice.
    is_everywhere : bool
        Whether the joint is massless in all configurations, judged by a second one; otherwise in some,
        including the default positions.
    """

    mobilizer: Mobilizer
    velocities: tuple[int, ...]
    bodies: tuple[RigidBody, ...]
    reason: str
    cure: str
    is_everywhere: bool

    def __str__(self) -> str:
        """Return a sentence or two."""
        where = "" if self.is_everywhere else " (at the default positions, not everywhere)"
        return f"{self.mobilizer._label_of_joint}: {self.reason}{where}. {self.cure}"


def find_massless_branches(tree: MultibodyTree) -> tuple[MasslessBranch, ...]:
    """Return all joints without inertia at the default positions, even by loops, in node order."""
    if tree.scalar_type.name == "double":
        return _find_branches(tree)
    # Doubles show which pivot is zero.
    return tuple(
        replace(
            branch,
            mobilizer=tree.get_variant(branch.mobilizer),
            bodies=tuple(map(tree.get_variant, branch.bodies)),
        )
        for branch in _find_branches(tree.clone_to_scalar("double"))
    )


@np.errstate(all="ignore")
def calc_inertias_of_massless(tree: MultibodyTree) -> FloatArray:
    """Return the inertias that dofs carry, for dofs massless in all configurations, judged by a second one.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.

    Returns
    -------
    ndarray, shape (num_velocities,)
        The inertia of all outboard bodies as one [kg m^2, kg], and zero for all other dofs.
    """
    inertias = np.zeros(tree.num_velocities)
    elsewhere = _place_elsewhere(tree)
    M = tree.calc_mass_matrix(elsewhere)
    if not np.isfinite(M).all():
        return inertias
    size = np.sqrt(np.diag(M))
    if (size > 0.0).all() and np.linalg.eigvalsh(M / np.outer(size, size))[0] > _REGULAR:
        return inertias  # as for nearly every tree; this check is much faster
    here = _Articulation(tree, tree.create_default_context())
    dofs = sorted(here.singular & _Articulation(tree, elsewhere).singular)
    inertias[dofs] = here._M[dofs]
    return inertias


def _place_elsewhere(tree: MultibodyTree) -> ContextCore:
    context = tree.create_default_context()
    context.q = tree.random_positions(np.random.default_rng(_SEED))
    return context


# If inertias are too large for floats, which loading reports, nothing is found.
@np.errstate(all="ignore")
def _find_branches(tree: MultibodyTree) -> tuple[MasslessBranch, ...]:
    context = tree.create_default_context()
    here = _Articulation(tree, context)
    if here.singular and tree.num_constraints:
        # Dofs that a loop moves have inertia through it.
        here.singular.intersection_update(tree._find_massless_dofs(context))
    if not here.singular:
        return ()
    everywhere = _Articulation(tree, _place_elsewhere(tree)).singular
    bodies = [tree.bodies[body] for body in tree.topology.body]
    has_mass = _find_branches_with_mass(tree.topology, bodies)
    branches = []
    for b, mobilizer in enumerate(here.mobilizers, start=1):
        dofs = [k for k in mobilizer._velocity_range() if k in here.singular]
        if dofs:
            reason, cure, rigid = _explain(here, bodies, b, dofs, has_mass[b])
            is_everywhere = everywhere.issuperset(dofs)
            branches.append(MasslessBranch(mobilizer, tuple(dofs), rigid, reason, cure, is_everywhere))
    return tuple(branches)


class _Articulation:
    """Articulated bodies in one configuration, as in forward dynamics.

    A dof without inertia, while all dofs farther out are free, is left out instead of divided by: so all are
    found, not only the first. Everything is in World axes, inertias and motions of a body at the point Mo of
    its mobilizer, where a rotation needs no translation and zeros are exact.

    Attributes
    ----------
    forest : SpanningForest
        The place of each body.
    mobilizers : list of Mobilizer
        The inboard mobilizer of each node but World.
    singular : set of int
        The massless degrees of freedom.
    """

    def __init__(self, tree: MultibodyTree, context: ContextCore) -> None:
        self.forest = tree.topology
        self.mobilizers = tree._finalized("The report").mobilizer_of_node
        self.singular: set[int] = set()
        pc = tree.eval_position_kinematics(context)
        outboard_frames = [0, *(mobilizer.outboard_frame.index for mobilizer in self.mobilizers)]
        p_BoMo_W = np.einsum("bij,bj->bi", pc.X_WB[:, :3, :3], pc.X_BF[outboard_frames, :3, 3])
        # By node: position of Mo; inertia of all that the body carries, as one rigid body.
        self._p_WMo = pc.X_WB[:, :3, 3] + p_BoMo_W
        self._composite = np.array([_shift(M, p) for M, p in zip(pc.M_Bo_W, p_BoMo_W, strict=True)])
        # By dof: motion axis, articulated inertia times axis, pivot, diagonal entry of the mass matrix.
        self._axes = np.array(pc.H_PB_W)
        self._U = np.zeros_like(self._axes)
        self._D, self._M = np.zeros((2, tree.num_velocities))
        for actuator in tree.joint_actuators:
            self._D[actuator.velocity_start] += actuator.calc_reflected_inertia(context)
        of_bodies = PIVOT_TOLERANCE * np.array([np.diag(np.diag(M)) for M in pc.M_Bo_W])
        noise = np.array([_shift(N, p) for N, p in zip(of_bodies, p_BoMo_W, strict=True)])
        for b in range(self.forest.num_nodes - 1, 0, -1):
            for k in self.mobilizers[b - 1]._velocity_range():
                self._axes[k, 3:] += cross(self._axes[k, :3], p_BoMo_W[b])
        self._eliminate(self._composite.copy(), noise)

    def _eliminate(self, articulated: FloatArray, noise: FloatArray) -> None:
        """Eliminate one dof after the other, from the tips to World.

        `articulated` is at first the inertia of each body. Rounding may have changed it by up to `noise`,
        which is eliminated likewise: loads that a long chain carries but does not move leave no noise.
        """
        for b in range(self.forest.num_nodes - 1, 0, -1):
            parent = self.forest.parent[b]
            p_MoPo = self._p_WMo[parent] - self._p_WMo[b]
            inertia, error, composite = articulated[b], noise[b], self._composite[b]
            for k in reversed(self.mobilizers[b - 1]._velocity_range()):
                h = self._axes[k]
                error = error + PIVOT_TOLERANCE * np.diag(np.diag(inertia))
                self._U[k] = U = inertia @ h
                self._M[k] = h @ composite @ h + self._D[k]
                self._D[k] += h @ U
                if self._D[k] <= h @ error @ h:
                    self.singular.add(k)
                    continue
                inertia = inertia - np.outer(U, U) / self._D[k]
                others_free = np.eye(6) - np.outer(h, U) / self._D[k]
                error = others_free.T @ error @ others_free + PIVOT_TOLERANCE * np.diag(
                    np.diag(articulated[b])
                )
            for array, outboard in ((articulated, inertia), (noise, error), (self._composite, composite)):
                array[parent] += _shift(outboard, p_MoPo)

    @cached_property
    def _yielding(self) -> list[list[int]]:
        """For each node, the next nodes farther out with a dof that gives way; all between is rigid."""
        yielding: list[list[int]] = [[] for _ in self.forest.parent]
        for b in range(self.forest.num_nodes - 1, 0, -1):
            gives_way = not self.singular.issuperset(self.mobilizers[b - 1]._velocity_range())
            found = [b] if gives_way else yielding[b]
            parent = self.forest.parent[b]
            # The nodes of a chain share one list.
            yielding[parent] = [*yielding[parent], *found] if yielding[parent] else found
        return yielding

    def find_partners(self, node: int, dofs: list[int]) -> list[Mobilizer]:
        """Return the mobilizers farther out that must move for the dofs of a node to move no mass."""
        energy: dict[int, float] = {}
        noise = _NOISE * float(self._M.max())
        for dof in dofs:
            waiting = [
                (node, b, self._follow(node, self._axes[dof], {}, after=dof)) for b in self._yielding[node]
            ]
            while waiting:
                parent, b, V_P = waiting.pop()
                V = V_P.copy()
                V[3:] += cross(V[:3], self._p_WMo[b] - self._p_WMo[parent])
                V = self._follow(b, V, energy)
                # A body at rest moves nothing farther out.
                if V @ self._composite[b] @ V > noise:
                    waiting += [(b, outboard, V) for outboard in self._yielding[b]]
        largest = max(energy.values(), default=0.0)
        if largest <= noise:
            return []
        return [self.mobilizers[b - 1] for b in sorted(energy) if energy[b] > 1e-9 * largest]

    def _follow(self, node: int, V: FloatArray, energy: dict[int, float], after: int = -1) -> FloatArray:
        """Return the velocity of a node whose dofs give way, from that which it has without them.

        The largest kinetic energy of one of them is stored in `energy`.
        """
        for k in self.mobilizers[node - 1]._velocity_range():
            if k > after and k not in self.singular:
                rate = -(self._U[k] @ V) / self._D[k]
                energy[node] = max(energy.get(node, 0.0), float(self._M[k] * rate**2))
                V = V + rate * self._axes[k]
        return V

    def find_rigid(self, node: int) -> list[int]:
        """Return a node and those farther out that welds connect to it."""
        rigid, waiting = [], [node]
        while waiting:
            b = waiting.pop()
            rigid.append(b)
            waiting += [
                c for c in self.forest.children[b] if isinstance(self.mobilizers[c - 1], WeldMobilizer)
            ]
        return sorted(rigid)


def _shift(inertia: FloatArray, p_PQ: FloatArray) -> FloatArray:
    """Return the (6, 6) inertia about Q of one about P: V_P = [w; v_Q - w x p_PQ]."""
    V_P_from_V_Q = np.eye(6)
    # The matrix of p x, unchecked, for loading reports values too large for floats. `np.cross` takes longer
    # than all the rest.
    x, y, z = p_PQ
    V_P_from_V_Q[3:, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    shifted: FloatArray = V_P_from_V_Q.T @ inertia @ V_P_from_V_Q
    return shifted


def _find_branches_with_mass(forest: SpanningForest, bodies: list[RigidBody]) -> list[bool]:
    """Return for each node whether it, or anything farther out, has mass."""
    has_mass = [body.default_mass > 0.0 for body in bodies]
    for b in range(forest.num_nodes - 1, 0, -1):
        has_mass[forest.parent[b]] |= has_mass[b]
    return has_mass


def _explain(
    articulation: _Articulation, bodies: list[RigidBody], node: int, dofs: list[int], has_mass: bool
) -> tuple[str, str, tuple[RigidBody, ...]]:
    """Return why the dofs of a node have no inertia, what to do, and the bodies that are rigid with it."""
    mobilizer = articulation.mobilizers[node - 1]
    rigid = tuple(bodies[b] for b in articulation.find_rigid(node))
    names = _enumerate([body._label for body in rigid])
    partners = articulation.find_partners(node, dofs)
    has_one_dof = mobilizer.num_velocities == 1
    rotor = ["give the joint an actuator with a rotor inertia"] if has_one_dof and mobilizer.joint else []
    is_free = mobilizer.joint is not None and mobilizer.joint.is_ephemeral
    weld = "weld it to another body" if is_free else "weld the joint"
    if not has_mass:
        what = f"{names} {'has' if len(rigid) == 1 else 'have'} no mass"
        if len(articulation.forest.subtree(node)) > len(rigid):
            what += ", nor has anything farther out"
        cures = [f"give {rigid[0]._label} mass and inertia", weld, *rotor]
    elif partners:
        others = _enumerate([partner._label_of_joint for partner in partners])
        what = f"it can move while {others} moves the other way, and no mass moves"
        if not any(body.default_mass for body in rigid):
            what += f": {names}, between them, {'has' if len(rigid) == 1 else 'have'} no mass"
        cures = [f"give {rigid[0]._label} mass and inertia", "weld one of these joints", *rotor]
    else:
        what = f"{names}, with all that moves along, has no inertia about its axis"
        if len(dofs) > 1:
            what = f"{names}, with all that moves along, has no inertia about {len(dofs)} of its axes"
        cures = [f"give {rigid[0]._label} an inertia about its centre of mass", weld, *rotor]
    cure = _enumerate(cures, "or")
    return what, f"{cure[0].upper()}{cure[1:]}.", rigid


def _enumerate(words: list[str], conjunction: str = "and", limit: int = 4) -> str:
    shown = words[:limit]
    if len(words) > limit:
        return f"{', '.join(shown)} and {len(words) - limit} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}"
