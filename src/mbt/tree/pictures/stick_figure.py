"""A tree at a configuration as a stick figure: lines between joints, in World."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError
from mbt.math.arrays import as_finite_array
from mbt.tree.joints.prismatic import PrismaticMobilizer
from mbt.tree.joints.revolute import RevoluteMobilizer
from mbt.tree.joints.screw import ScrewMobilizer

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.tree.mobilizer import Mobilizer
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Name", "StickFigure", "as_configurations", "calc_stick_figure"]

# Lines shorter than this share of the whole are invisible.
_TINY = 1e-3


class Name(NamedTuple):
    """A name, and the point to which it belongs."""

    text: str
    kind: str  # "joint", "body", or "welded body": one that does not move on its inboard body
    point: FloatArray


class StickFigure(NamedTuple):
    """Points and lines in World [m].

    Attributes
    ----------
    bones : ndarray, shape (n, 2, 3)
        Lines from the inboard joint of each body to its outboard joints; without these, to its mass centre.
    bodies : tuple of int
        The node of each bone.
    slides : ndarray, shape (n, 2, 3)
        From F to M of joints that translate, except free ones.
    joints : ndarray, shape (n, 3)
        Origins of the frames M of joints that move.
    axes : ndarray, shape (n, 3)
        Unit vectors of joints with one axis; zero for the others.
    is_prismatic : ndarray of bool, shape (n,)
        Whether they only translate along it.
    names : tuple of Name
        Names of the joints that move, and of all bodies.
    mass_centre : ndarray, shape (3,), or None
        Mass centre of all bodies; None if none has mass.
    size : float
        The longest side of a box around everything; 1 if that is a single point.
    """

    bones: FloatArray
    bodies: tuple[int, ...]
    slides: FloatArray
    joints: FloatArray
    axes: FloatArray
    is_prismatic: npt.NDArray[np.bool_]
    names: tuple[Name, ...]
    mass_centre: FloatArray | None
    size: float

    @property
    def points(self) -> FloatArray:
        """All points, shape (n, 3), those of names included."""
        named = np.array([name.point for name in self.names]).reshape(-1, 3)
        parts = [self.bones.reshape(-1, 3), self.slides.reshape(-1, 3), self.joints, named]
        points: FloatArray = np.concatenate(parts)
        return points if len(points) else np.zeros((1, 3))


def as_configurations(tree: MultibodyTree, q: object, method: str) -> FloatArray:
    """Return configurations, shape (n, num_positions); the default one where q is None.

    Raises
    ------
    ArgumentTypeError
        When the tree does not compute in doubles.
    NotFinalizedError
        Before ``finalize()``.
    ShapeError
        When q is neither one configuration nor an array of them.
    """
    tree._finalized(method)
    if tree.scalar_type.name != "double":
        raise ArgumentTypeError(
            f"{method}: tree: expected a tree of doubles, got one of {tree.scalar_type.name}: use the tree "
            "it was cloned from"
        )
    if q is None:
        return tree.default_positions[np.newaxis]
    if hasattr(q, "plot") and hasattr(q, "q"):
        raise ArgumentTypeError(
            f"{method}: q: expected configurations, got a {type(q).__name__}: its own plot() draws it over "
            "time, and its q are configurations"
        )
    rows = as_finite_array(q, "q", (..., tree.num_positions))
    return rows.reshape(-1 if tree.num_positions else int(np.prod(rows.shape[:-1])), tree.num_positions)


def calc_stick_figure(tree: MultibodyTree, q: FloatArray) -> StickFigure:
    """Return the figure of a finalized tree at a configuration, shape (num_positions,)."""
    context = tree.create_default_context()
    context.q = q
    kinematics = tree.eval_position_kinematics(context)
    X_WB, X_BF = kinematics.X_WB, kinematics.X_BF
    mobilizers = sorted(tree.mobilizers, key=lambda m: m.outboard_body.node_index)
    nodes = [(int(m.inboard_body.node_index), int(m.outboard_body.node_index)) for m in mobilizers]
    # Positions of each joint on both sides: rows by the node of the outboard body.
    X_WF = np.array(
        [X_WB[p] @ X_BF[m.inboard_frame.index] for m, (p, _) in zip(mobilizers, nodes, strict=True)]
    )
    p_WM = np.array(
        [X_WB[b] @ X_BF[m.outboard_frame.index][:, 3] for m, (_, b) in zip(mobilizers, nodes, strict=True)]
    )
    p_WF, p_WM = X_WF.reshape(-1, 4, 4)[:, :3, 3], p_WM.reshape(-1, 4)[:, :3]
    ends = _Ends(tree, p_WF, p_WM, X_WB[:, :3, 3] + kinematics.com_W)
    bones, bodies = ends.find_bones(mobilizers, nodes)
    slides = [(p_WF[i], p_WM[i]) for i, m in enumerate(mobilizers) if not m.has_six_dofs]
    moving = [i for i, m in enumerate(mobilizers) if m.num_velocities]
    joints = p_WM[moving]
    axes = np.array([_axis_of(mobilizers[i], X_WF[i]) for i in moving]).reshape(-1, 3)
    all_bones = np.array(bones).reshape(-1, 2, 3)
    names = [
        Name(_joint_name(mobilizers[i]), "joint", p_WM[i]) for i in moving if not _is_ephemeral(mobilizers[i])
    ]
    names += ends.name_bodies(all_bones, bodies)
    mass = tree.calc_total_mass(context) if tree.num_bodies > 1 else 0.0
    centre = tree.calc_center_of_mass_position_in_world(context) if mass > 0.0 else None
    is_prismatic = np.array([isinstance(mobilizers[i], PrismaticMobilizer) for i in moving], dtype=bool)
    figure = StickFigure(
        all_bones,
        tuple(bodies),
        np.array(slides).reshape(-1, 2, 3),
        joints,
        axes,
        is_prismatic,
        tuple(names),
        centre,
        1.0,
    )
    size = float(np.ptp(figure.points, axis=0).max())
    return _without_tiny(figure, size if size > 0.0 else 1.0)


class _Ends:
    """Where the bones of a tree begin and end."""

    def __init__(self, tree: MultibodyTree, p_WF: FloatArray, p_WM: FloatArray, p_WBcm: FloatArray) -> None:
        self._tree = tree
        self._p_WF, self._p_WM = p_WF, p_WM
        self._p_WBcm = p_WBcm

    def _start(self, node: int) -> FloatArray:
        start: FloatArray = self._p_WM[node - 1] if node else np.zeros(3)
        return start

    def find_bones(
        self, mobilizers: list[Mobilizer], nodes: list[tuple[int, int]]
    ) -> tuple[list[tuple[FloatArray, FloatArray]], list[int]]:
        """Return the bones, and the node of each."""
        bones, bodies = [], []
        has_child, is_seen = np.zeros((2, self._tree.num_bodies), dtype=bool)
        # Tip to base: a welded body that carries neither mass nor a joint is not drawn.
        for i, mobilizer in reversed(list(enumerate(mobilizers))):
            inboard, outboard = nodes[i]
            is_seen[outboard] |= mobilizer.num_velocities > 0 or mobilizer.outboard_body.default_mass > 0.0
            is_seen[inboard] |= is_seen[outboard]
        for i, mobilizer in enumerate(mobilizers):
            inboard, outboard = nodes[i]
            if not mobilizer.has_six_dofs and is_seen[outboard]:
                has_child[inboard] = True
                bones.append((self._start(inboard), self._p_WF[i]))
                bodies.append(inboard)
        for body in self._tree.bodies:
            node = int(body.node_index)
            if node and not has_child[node] and body.default_mass > 0.0:
                bones.append((self._start(node), self._p_WBcm[node]))
                bodies.append(node)
        return bones, bodies

    def name_bodies(self, bones: FloatArray, bodies: list[int]) -> list[Name]:
        """Return the name of each body in the middle of its longest bone, or at its inboard joint."""
        longest: dict[int, tuple[float, FloatArray]] = {}
        for (a, b), node in zip(bones, bodies, strict=True):
            length = float(np.linalg.norm(b - a))
            if length > longest.get(node, (0.0, None))[0]:
                longest[node] = length, (a + b) / 2.0
        names = []
        for body in self._tree.bodies[1:]:
            node = int(body.node_index)
            point = longest[node][1] if node in longest else self._start(node)
            mobilizer = body.inboard_mobilizer
            is_welded = mobilizer is not None and mobilizer.num_velocities == 0
            names.append(Name(body.name, "welded body" if is_welded else "body", point))
        return names


def _without_tiny(figure: StickFigure, size: float) -> StickFigure:
    """Return a figure without lines that are too short to be seen."""

    def is_long(lines: FloatArray) -> FloatArray:
        long: FloatArray = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=-1) > _TINY * size
        return long

    seen = is_long(figure.bones)
    return figure._replace(
        bones=figure.bones[seen],
        bodies=tuple(node for node, is_seen in zip(figure.bodies, seen, strict=True) if is_seen),
        slides=figure.slides[is_long(figure.slides)],
        size=size,
    )


def _axis_of(mobilizer: Mobilizer, X_WF: FloatArray) -> FloatArray:
    """Return the axis of a joint in World; zero unless it has exactly one."""
    if isinstance(mobilizer, RevoluteMobilizer):
        axis = mobilizer.revolute_axis
    elif isinstance(mobilizer, PrismaticMobilizer):
        axis = mobilizer.translation_axis
    elif isinstance(mobilizer, ScrewMobilizer):
        axis = mobilizer.screw_axis
    else:
        return np.zeros(3)
    axis_W: FloatArray = X_WF[:3, :3] @ axis
    return axis_W


def _joint_name(mobilizer: Mobilizer) -> str:
    return mobilizer.name if mobilizer.joint is None else mobilizer.joint.name


def _is_ephemeral(mobilizer: Mobilizer) -> bool:
    return mobilizer.joint is not None and mobilizer.joint.is_ephemeral
