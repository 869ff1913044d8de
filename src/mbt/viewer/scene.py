"""The drawing of a model as plain data: shapes fixed on bodies, in layers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.tree.force_elements.point_contact import PointContact
from mbt.viewer.stand_ins import bones_of, ellipsoid_of

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.geometry import CollisionModel
    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.shape import Shape

__all__ = ["LAYERS", "FrameItem", "Item", "ModelScene", "check_scene"]

#: The layers, in the order of the check boxes.
LAYERS = (
    "visuals",
    "collisions",
    "skeleton",
    "inertia",
    "frames",
    "names",
    "centre of mass",
    "contacts",
    "obstacles",
    "distances",
)

# Colours of what a description does not colour or contain, which colour-blind people can tell apart, too.
_COLORS = {
    "visuals": (0.66, 0.69, 0.73, 1.0),
    "collisions": (0.90, 0.62, 0.00, 0.5),
    "skeleton": (0.00, 0.35, 0.60, 1.0),
    "inertia": (0.80, 0.47, 0.65, 0.5),
    "obstacles": (0.60, 0.62, 0.66, 0.7),
}

# Every second body is darker, to tell them apart.
_DARKER = 0.72

_RADIUS_OF_BONES = 0.012  # of the extent
_SMALLEST, _LARGEST = 1e-9, 1e9  # extents that are drawn [m]


@dataclass(frozen=True)
class Item:
    """A shape on the body of a node; `color` is None if a mesh may have its own."""

    layer: str
    name: str
    node: int
    shape: Shape
    color: tuple[float, float, float, float]
    has_color: bool


@dataclass(frozen=True, eq=False)
class FrameItem:
    """A frame on the body of a node."""

    name: str
    node: int
    X_BF: FloatArray


def check_scene(tree: MultibodyTree, scene: object) -> CollisionModel | None:
    """Return `scene` if it is None or a collision model of this tree."""
    from mbt.geometry import CollisionModel

    if scene is None:
        return None
    if not isinstance(scene, CollisionModel):
        raise ArgumentTypeError(f"scene: expected an mbt.CollisionModel, got {quote(scene)}")
    if scene.tree is not tree:
        raise ArgumentValueError("scene: expected one of this tree")
    return scene


class ModelScene:
    """What is drawn of a tree.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    collisions : CollisionModel, optional
        A model whose obstacles and distances are drawn.
    touching : CollisionModel, optional
        A model whose shapes touch in the played motion; its obstacles are drawn if there are no `collisions`.
    """

    def __init__(
        self,
        tree: MultibodyTree,
        collisions: CollisionModel | None = None,
        touching: CollisionModel | None = None,
    ) -> None:
        self.tree = tree
        self.collisions = collisions
        self.touching = touching
        self._context: Context = tree.create_default_context()

    @cached_property
    def extent(self) -> float:
        """Approximate size of the model [m]: the spread of its bodies by default, or the largest body."""
        X_WB = np.asarray(self.tree.eval_position_kinematics(self._context).X_WB)
        points = [X[:3, 3] for X in X_WB[1:]]
        sizes = [0.0]
        for body in self.tree.bodies[1:]:
            ellipsoid = ellipsoid_of(body)
            if ellipsoid is not None:
                points.append((X_WB[body.node_index] @ ellipsoid.X_BG)[:3, 3])
                sizes.append(2.0 * max(ellipsoid.size))
        points = [p for p in points if (abs(p) < _LARGEST).all()]
        diagonal = float(np.linalg.norm(np.ptp(points, axis=0))) if points else 0.0
        return min(max(diagonal or max(sizes) or 1.0, _SMALLEST), _LARGEST)

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The shapes of all layers."""
        return tuple(self._make_items())

    @cached_property
    def shown(self) -> frozenset[str]:
        """The layers shown at first: those in the description, or else those that replace them."""
        layers = {item.layer for item in self.items}
        if self.collisions is not None:
            more = ("visuals",) if "visuals" in layers else ()
            return frozenset((*more, "collisions", "contacts", "obstacles", "distances"))
        always = ("contacts",) if self.touching is None else ("contacts", "obstacles")
        for layer in ("visuals", "collisions"):
            if layer in layers:
                return frozenset((layer, *always))
        return frozenset(("skeleton", "inertia", *always))

    @cached_property
    def frames(self) -> tuple[FrameItem, ...]:
        """The frames of bodies, and those that do not belong to joints."""
        joints = self.tree.joints
        of_joints = {id(frame) for joint in joints for frame in (joint.frame_on_parent, joint.frame_on_child)}
        return tuple(
            FrameItem(frame.name, int(frame.body.node_index), frame.calc_pose_in_body_frame(self._context))
            for frame in self.tree.frames
            if frame.is_body_frame or id(frame) not in of_joints
        )

    @property
    def places_of_names(self) -> dict[int, FloatArray]:
        """Places of the names of bodies, by node: mass centres, as origins of neighbours often coincide."""
        places: dict[int, FloatArray] = {i: np.zeros(3) for i in range(1, self.tree.num_bodies)}
        places |= {item.node: item.shape.X_BG[:3, 3] for item in self.items if item.layer == "inertia"}
        return places

    @cached_property
    def items_of_collisions(self) -> list[Item]:
        """The item for each shape of the collision model, in its order."""
        return [item for layer in ("collisions", "obstacles") for item in self.items if item.layer == layer]

    def has(self, layer: str) -> bool:
        """Return whether a layer may contain anything."""
        if layer == "contacts":
            return self.has_contacts
        if layer == "obstacles":
            return self.collisions is not None or self.touching is not None
        return self.collisions is not None or layer != "distances"

    @property
    def has_contacts(self) -> bool:
        """Whether there may be contact points and forces to show."""
        return bool(self.contacts) or self.touching is not None

    @cached_property
    def contacts(self) -> tuple[PointContact, ...]:
        """The elements whose points and forces are shown."""
        return tuple(e for e in self.tree.force_elements if isinstance(e, PointContact))

    def _make_items(self) -> Iterator[Item]:
        bones = bones_of(self.tree, self._context, _RADIUS_OF_BONES * self.extent)
        for body in self.tree.bodies:
            ellipsoid = ellipsoid_of(body)
            shapes = {
                "visuals": body.visuals,
                "collisions": body.collisions,
                "skeleton": tuple(bones[body.node_index]),
                "inertia": () if ellipsoid is None else (ellipsoid,),
            }
            for layer, of_layer in shapes.items():
                for i, shape in enumerate(of_layer):
                    yield self._make_item(layer, body, i, shape)
        model = self.collisions or self.touching
        if model is not None:
            for i, shape in enumerate(model.obstacles):
                yield self._make_item("obstacles", self.tree.world_body, i, shape)

    @staticmethod
    def _make_item(layer: str, body: RigidBody, i: int, shape: Shape) -> Item:
        node = int(body.node_index)
        if layer in ("visuals", "obstacles") and shape.color is not None:
            return Item(layer, f"{layer} {i}", node, shape, shape.color, has_color=True)
        *rgb, alpha = _COLORS[layer]
        red, green, blue = (x * (_DARKER if node % 2 else 1.0) for x in rgb)
        return Item(layer, f"{layer} {i}", node, shape, (red, green, blue, alpha), has_color=False)
