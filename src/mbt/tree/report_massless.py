"""Which degrees of freedom no mass resists: a numerical search, at the default positions and elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.poses import skew
from mbt.tree.joints.weld import WeldMobilizer

if TYPE_CHECKING:
    from mbt._core.context import ContextCore
    from mbt.tree.body import RigidBody
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["MasslessBranch", "find_massless_branches"]

# A pivot below this share of the inertia of all that moves along is a zero with rounding errors.
_ROUNDING = 1e-12
# Forward dynamics is asked in one more configuration: does it fail always, or where the joints are now?
_SEED = 20


@dataclass(frozen=True)
class MasslessBranch:
    """A joint whose motion no mass resists: the mass matrix is singular, forward dynamics has no answer.

    Attributes
    ----------
    mobilizer : Mobilizer
        What moves it; ``mobilizer.joint`` is the joint.
    velocities : tuple of int
        The degrees of freedom of the joint that are concerned, as indices of v.
    bodies : tuple of RigidBody
        The bodies that would need mass or inertia.
    reason, cure : str
        Why it is so, and what to do.
    is_everywhere : bool
        Whether it is so in all configurations, as far as a second one can tell; otherwise in some, of which
        the default positions are one.
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
        return f"{_label(self.mobilizer)}: {self.reason}{where}. {self.cure}"


def find_massless_branches(tree: MultibodyTree) -> tuple[MasslessBranch, ...]:
    """Return all joints that no mass resists at the default positions, in node order."""
    if tree.scalar_type.name == "double":
        return _find_branches(tree)
    # Which pivot is zero, doubles tell.
    return tuple(
        replace(
            branch,
            mobilizer=tree.get_variant(branch.mobilizer),
            bodies=tuple(map(tree.get_variant, branch.bodies)),
        )
        for branch in _find_branches(tree.clone_to_scalar("double"))
    )


def _find_branches(tree: MultibodyTree) -> tuple[MasslessBranch, ...]:
    context = tree.create_default_context()
    singular = _find_singular_dofs(tree, context)
    if not singular:
        return ()
    elsewhere = tree.create_default_context()
    elsewhere.q = tree.random_positions(np.random.default_rng(_SEED))
    everywhere = set(_find_singular_dofs(tree, elsewhere))
    M = tree.calc_mass_matrix(context)
    branches = []
    for mobilizer in _mobilizers_in_node_order(tree):
        dofs = [k for k in mobilizer._velocity_range() if k in singular]
        if dofs:
            branches.append(_explain(tree, mobilizer, dofs, singular, M, everywhere.issuperset(dofs)))
    return tuple(branches)


def _find_singular_dofs(tree: MultibodyTree, context: ContextCore) -> set[int]:
    """Return the degrees of freedom that no mass resists while all farther from World are free.

    Articulated bodies, as in forward dynamics, but a dof without resistance is left out instead of divided
    by: so all are found, not only the first.
    """
    forest = tree.topology
    pc = tree.eval_position_kinematics(context)
    X_WB, X_BF, H_PB_W = pc.X_WB, pc.X_BF, pc.H_PB_W
    articulated, composite = np.array(pc.M_Bo_W), np.array(pc.M_Bo_W)
    reflected = np.zeros(tree.num_velocities)
    for actuator in tree.joint_actuators:
        reflected[actuator.joint.velocity_start] += actuator.calc_reflected_inertia(context)

    singular = set()
    mobilizers = _mobilizers_in_node_order(tree)
    for b in range(forest.num_nodes - 1, 0, -1):
        mobilizer = mobilizers[b - 1]
        # About Mo, where a rotation needs no translation and zeros are zeros.
        p_BoMo_W = X_WB[b, :3, :3] @ X_BF[mobilizer.outboard_frame.index, :3, 3]
        inertia = _shift(articulated[b], p_BoMo_W)
        # What was taken out of the articulated inertia has left rounding errors of this size in it.
        whole = _shift(composite[b], p_BoMo_W)
        size_rotation, size_translation = np.trace(whole[:3, :3]), np.trace(whole[3:, 3:])
        for k in reversed(mobilizer._velocity_range()):
            h = H_PB_W[k].copy()
            h[3:] += np.cross(h[:3], p_BoMo_W)
            U = inertia @ h
            D = float(h @ U) + reflected[k]
            scale = size_rotation * (h[:3] @ h[:3]) + size_translation * (h[3:] @ h[3:])
            if _ROUNDING * scale >= D:
                singular.add(k)
            else:
                inertia = inertia - np.outer(U, U) / D
        parent = forest.parent[b]
        p_MoPo_W = X_WB[parent, :3, 3] - X_WB[b, :3, 3] - p_BoMo_W
        articulated[parent] += _shift(inertia, p_MoPo_W)
        composite[parent] += _shift(whole, p_MoPo_W)
    return singular


def _shift(inertia: FloatArray, p_PQ: FloatArray) -> FloatArray:
    """Return the (6, 6) inertia about P for the same body about Q: V_P = [w; v_Q - w x p_PQ]."""
    V_P_from_V_Q = np.eye(6)
    V_P_from_V_Q[3:, :3] = skew(p_PQ)
    shifted: FloatArray = V_P_from_V_Q.T @ inertia @ V_P_from_V_Q
    return shifted


def _explain(
    tree: MultibodyTree,
    mobilizer: Mobilizer,
    dofs: list[int],
    singular: set[int],
    M: FloatArray,
    is_everywhere: bool,
) -> MasslessBranch:
    forest = tree.topology
    node = mobilizer.outboard_body.node_index
    carried = [tree.bodies[forest.body[b]] for b in forest.subtree(node)]
    # Bodies that move with the first one as if they were one.
    rigid = [tree.bodies[forest.body[b]] for b in _welded_outboard(tree, node)]
    names = _enumerate([body._label for body in rigid])
    partners = _find_partners(tree, mobilizer, dofs, singular, M)
    has_one_dof = mobilizer.num_velocities == 1
    rotor = ["give the joint an actuator with a rotor inertia"] if has_one_dof and mobilizer.joint else []
    is_free = mobilizer.joint is not None and mobilizer.joint.is_ephemeral
    weld = "weld it to another body" if is_free else "weld the joint"
    if not any(body.default_mass for body in carried):
        what = f"{names} {'has' if len(rigid) == 1 else 'have'} no mass"
        if len(carried) > len(rigid):
            what += ", nor has anything farther out"
        cures = [f"give {rigid[0]._label} mass and inertia", weld, *rotor]
    elif partners:
        others = _enumerate([_label(partner) for partner in partners])
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
    return MasslessBranch(
        mobilizer, tuple(dofs), tuple(rigid), what, f"{cure[0].upper()}{cure[1:]}.", is_everywhere
    )


def _find_partners(
    tree: MultibodyTree, mobilizer: Mobilizer, dofs: list[int], singular: set[int], M: FloatArray
) -> list[Mobilizer]:
    """Return the mobilizers farther out that must move for the dofs to move no mass."""
    forest = tree.topology
    mobilizers = _mobilizers_in_node_order(tree)
    node = mobilizer.outboard_body.node_index
    outboard = [mobilizers[b - 1] for b in forest.subtree(node)[1:]]
    free = [k for m in outboard for k in m._velocity_range() if k not in singular]
    if not free:
        return []
    # The motion n of the others that M n = 0 asks for; its share of the kinetic energy tells noise apart.
    n = np.linalg.lstsq(M[np.ix_(free, free)], -M[np.ix_(free, dofs)], rcond=None)[0]
    energy = (np.diag(M)[free][:, np.newaxis] * n**2).max(axis=1)
    if float(energy.max()) <= 1e-18 * float(np.diag(M).max()):
        return []
    moving = {free[i] for i in np.flatnonzero(energy > 1e-9 * energy.max())}
    return [m for m in outboard if moving.intersection(m._velocity_range())]


def _welded_outboard(tree: MultibodyTree, node: int) -> list[int]:
    """Return a node and those farther out that welds connect to it."""
    forest = tree.topology
    mobilizers = _mobilizers_in_node_order(tree)
    rigid = {node: None}
    for b in forest.subtree(node)[1:]:
        if forest.parent[b] in rigid and isinstance(mobilizers[b - 1], WeldMobilizer):
            rigid[b] = None
    return list(rigid)


def _mobilizers_in_node_order(tree: MultibodyTree) -> list[Mobilizer]:
    return tree._finalized("The report").mobilizer_of_node


def _label(mobilizer: Mobilizer) -> str:
    return mobilizer._label if mobilizer.joint is None else mobilizer.joint._label


def _enumerate(words: list[str], conjunction: str = "and", limit: int = 4) -> str:
    shown = words[:limit]
    if len(words) > limit:
        return f"{', '.join(shown)} and {len(words) - limit} more"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {conjunction} {shown[-1]}"
