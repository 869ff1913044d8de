"""A model as nodes of viser's scene, which are made layer by layer when first shown, and moved."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.math.poses import matrix_to_quaternion
from mbt.viewer.scene import LAYERS
from mbt.viewer.snapshots import FARTHEST

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.viewer.scene import Item, ModelScene
    from mbt.viewer.snapshots import Snapshot
    from mbt.viewer.triangles import Mesher, Part

__all__ = ["Drawing"]

_VERMILION, _GREEN, _YELLOW = (213, 94, 0), (0, 158, 115), (240, 228, 66)
_OPACITY_OF_GHOSTS = 0.3
# Sizes relative to the extent of the model; an arrow of length _WEIGHT represents its weight.
_AXES, _BALL, _POINT, _WEIGHT = 0.08, 0.025, 0.02, 0.4
# Shapes closer than this are near; and the thickness of the lines between them.
_NEAR, _LINE = 0.1, 0.006
# Height of a line of text above the highest body.
_ABOVE = 0.1
_STANDARD_GRAVITY = 9.81


class _Piece(NamedTuple):
    """A drawn part of an item."""

    item: Item
    part: Part
    corners: FloatArray  # (8, 3), of the box around it, in the body


class Drawing:
    """The nodes of a model.

    Parameters
    ----------
    nodes : SceneApi
        Scene of a viser server.
    path : str
        Name of the root node.
    scene : ModelScene
        What to draw.
    mesher : Mesher
        Makes triangles.
    X_WR : ndarray, shape (4, 4)
        Pose of the model's World in that of the viewer.
    """

    def __init__(self, nodes: Any, path: str, scene: ModelScene, mesher: Mesher, X_WR: FloatArray) -> None:
        self._nodes = nodes
        self._path = path
        self._scene = scene
        self._mesher = mesher
        self._X_WR = X_WR
        self._shown = {layer: layer in scene.shown for layer in LAYERS}
        self._handles: dict[str, list[Any]] = {}
        self._pieces: dict[str, list[_Piece]] = {}
        self._ghosts: dict[str, list[Any]] = {}
        self._num_ghosts = 0
        bodies = sorted(scene.tree.bodies, key=lambda body: int(body.node_index))
        nodes.add_frame(path, show_axes=False, **_placed(X_WR))
        self._bodies = [
            nodes.add_frame(f"{path}/{i} {_as_node_name(body.name)}", show_axes=False)
            for i, body in enumerate(bodies)
        ]
        self._names = [body.name for body in bodies]
        self._sent = np.full((len(bodies), 7), np.nan)
        weight = _STANDARD_GRAVITY * sum(max(body.default_mass, 0.0) for body in bodies[1:])
        self._length_of_newton = _WEIGHT * scene.extent / (weight or 1.0)
        self._num_left_out: dict[str, int] = {}
        self._line: Any = None
        self._stand_in()

    @property
    def shown(self) -> dict[str, bool]:
        """Whether each layer is shown."""
        return dict(self._shown)

    def show_layer(self, layer: str, is_shown: bool, snapshot: Snapshot) -> None:
        """Show or hide a layer."""
        self._shown[layer] = is_shown
        self._make_layer(layer)
        for handle in (*self._handles.get(layer, ()), *self._ghosts.get(layer, ())):
            handle.visible = is_shown
        self.draw(snapshot)

    def draw(self, snapshot: Snapshot) -> None:
        """Move everything to its place in a snapshot."""
        for layer in LAYERS:
            self._make_layer(layer)
        poses = np.concatenate([snapshot.quaternions[0], snapshot.X_WB[0, :, :3, 3]], axis=1)
        for i in np.flatnonzero((poses != self._sent).any(axis=1)):
            self._bodies[i].wxyz, self._bodies[i].position = poses[i, :4], poses[i, 4:]
        self._sent = poses
        if self._shown["centre of mass"]:
            [ball] = self._handles["centre of mass"]
            ball.visible = bool(np.isfinite(snapshot.com).all())
            if ball.visible:
                ball.position = snapshot.com
        if self._shown["contacts"] and self._scene.has_contacts:
            self._draw_contacts(snapshot)
        if self._scene.collisions is not None:
            self._draw_distances(snapshot)
        self._draw_ghosts(snapshot)

    def write(self, text: str | None, snapshot: Snapshot) -> None:
        """Write a line above the model, or none if the text is empty or None."""
        if self._line is None:
            if text is None:
                return
            # Made hidden and empty, so that a page that plays in a loop makes it once and then hides it.
            self._line = self._nodes.add_label(
                f"{self._path}/line", "", anchor="bottom-center", visible=False
            )
        self._line.visible = bool(text)
        if text:
            places = snapshot.X_WB[0, 1:, :3, 3]
            self._line.text = text
            height = places[:, 2].max() + _ABOVE * self._scene.extent
            self._line.position = (*places[:, :2].mean(axis=0), height)

    def corners(self, snapshot: Snapshot) -> FloatArray:
        """Return corners of boxes around what is drawn, in World of the viewer, shape (k, 3)."""
        clouds = [
            piece.corners @ X_WB[piece.item.node, :3, :3].T + X_WB[piece.item.node, :3, 3]
            for layer, pieces in self._pieces.items()
            if self._shown[layer]
            for piece in pieces
            if piece.item.shape.kind != "plane"
            for X_WB in snapshot.X_WB
        ]
        cloud = np.concatenate([*clouds, snapshot.X_WB[:, 1:, :3, 3].reshape(-1, 3)])
        cloud = cloud @ self._X_WR[:3, :3].T + self._X_WR[:3, 3]
        cloud = cloud[(abs(cloud) < FARTHEST).all(axis=1)]
        return cloud if len(cloud) else np.zeros((1, 3))

    def describe_missing(self, *, with_details: bool = True) -> str:
        """Return a line on what is not drawn, the remedy, and the reason; empty if everything is drawn."""
        num_left_out = sum(self._num_left_out.values())
        if not num_left_out:
            return ""
        items = [item for item in self._scene.items if item.layer in self._num_left_out]
        stand_in = ", and the skeleton is drawn" if self._shown["skeleton"] else ""
        cure, why = self._mesher.summarize()
        line = f"{num_left_out} of {len(items)} shapes cannot be drawn{stand_in}"
        line += f". To see them, {cure}" if cure else ""
        return f"{line}: {why}" if with_details or not cure else f"{line}."

    # Layers.

    def _stand_in(self) -> None:
        """Show a skeleton in place of what cannot be drawn, or else frames: a page is never empty."""
        for layer in LAYERS:
            self._make_layer(layer)
        if self._num_left_out:
            self._shown["skeleton"] = True
            is_empty = not any(self._pieces.values())
            self._shown["inertia"] = self._shown["inertia"] or is_empty
            self._make_layer("skeleton")
            self._make_layer("inertia")
        if not any(self._pieces.values()):
            self._shown["frames"] = True
            self._make_layer("frames")

    def _make_layer(self, layer: str) -> None:
        """Make the nodes of a layer that is shown for the first time."""
        if self._shown[layer] and layer not in self._handles:
            self._handles[layer] = list(self._make_nodes(layer))

    def _make_nodes(self, layer: str) -> Iterator[Any]:
        extent = self._scene.extent
        if layer == "frames":
            for frame in self._scene.frames:
                yield self._nodes.add_frame(
                    f"{self._bodies[frame.node].name}/frame {_as_node_name(frame.name)}",
                    axes_length=_AXES * extent,
                    axes_radius=0.05 * _AXES * extent,
                    **_placed(frame.X_BF),
                )
        elif layer == "names":
            for (node, p), name in zip(self._scene.places_of_names.items(), self._names[1:], strict=True):
                yield self._nodes.add_label(f"{self._bodies[node].name}/name", name, position=p)
        elif layer == "centre of mass":
            yield self._nodes.add_icosphere(f"{self._path}/centre of mass", _BALL * extent, _VERMILION)
        elif layer == "contacts":
            yield from self._make_contacts()
        elif layer == "distances":
            yield from self._make_lines()
        else:
            self._pieces[layer] = list(self._cut(layer))
            for i, piece in enumerate(self._pieces[layer]):
                name = f"{self._bodies[piece.item.node].name}/{layer} {i}"
                look, pose = _look_of(piece.part), _placed(piece.item.shape.X_BG)
                if piece.part.glb:
                    scale = piece.item.shape.size
                    yield self._nodes.add_glb(name, piece.part.glb, scale=tuple(scale), **pose)
                else:
                    yield self._nodes.add_mesh_simple(name, **look, **pose)

    def _cut(self, layer: str) -> Iterator[_Piece]:
        for item in self._scene.items:
            if item.layer == layer:
                parts = self._mesher.parts_of(item)
                if not parts:
                    self._num_left_out[layer] = self._num_left_out.get(layer, 0) + 1
                for part in parts:
                    ends = np.stack([part.vertices.min(axis=0), part.vertices.max(axis=0)]).astype(float)
                    corners = np.array(list(itertools.product(*ends.T)))
                    X_BG = item.shape.X_BG
                    yield _Piece(item, part, corners @ X_BG[:3, :3].T + X_BG[:3, 3])

    # Contacts.

    def _make_contacts(self) -> Iterator[Any]:
        if self._scene.has_contacts:
            size = _POINT * self._scene.extent
            nothing = np.zeros((0, 3))
            yield self._nodes.add_point_cloud(
                f"{self._path}/contact points",
                nothing,
                _GREEN,
                point_size=size,
                point_shape="circle",
                precision="float32",
            )
            yield self._nodes.add_arrows(
                f"{self._path}/contact forces",
                np.zeros((1, 2, 3)),
                _GREEN,
                shaft_radius=0.3 * size,
                head_radius=0.8 * size,
                head_length=1.6 * size,
            )

    def _draw_contacts(self, snapshot: Snapshot) -> None:
        points, arrows = self._handles["contacts"]
        points.points = snapshot.contacts
        is_touching = snapshot.forces.any(axis=1)
        arrows.visible = bool(is_touching.any())
        if arrows.visible:
            ends = snapshot.contacts + self._length_of_newton * snapshot.forces
            arrows.points = np.stack([snapshot.contacts, ends], axis=1)[is_touching]

    # Distances.

    def _make_lines(self) -> Iterator[Any]:
        for name, color in (("near", _YELLOW), ("touching", _VERMILION)):
            yield self._nodes.add_line_segments(
                f"{self._path}/{name}", np.zeros((1, 2, 3)), color, thickness=_LINE * self._scene.extent
            )

    def _draw_distances(self, snapshot: Snapshot) -> None:
        """Draw lines between shapes that are near or overlap, and colour these shapes."""
        is_touching = snapshot.distances < 0.0
        is_near = (snapshot.distances < _NEAR * self._scene.extent) & ~is_touching
        if self._shown["distances"]:
            for lines, chosen in zip(self._handles["distances"], (is_near, is_touching), strict=True):
                lines.visible = bool(chosen.any())
                if lines.visible:
                    lines.points = snapshot.witnesses[chosen].astype(np.float32)
        assert self._scene.collisions is not None
        colors: dict[int, tuple[int, int, int]] = {}
        for chosen, color in ((is_near, _YELLOW), (is_touching, _VERMILION)):
            for k in np.flatnonzero(chosen) if self._shown["distances"] else ():
                colors |= dict.fromkeys(self._scene.collisions._pairs[k][:2], color)
        places = {id(item): i for i, item in enumerate(self._scene.items_of_collisions)}
        for layer in ("collisions", "obstacles"):
            for handle, piece in zip(self._handles.get(layer, ()), self._pieces.get(layer, ()), strict=True):
                color = colors.get(places[id(piece.item)], _look_of(piece.part)["color"])
                if not piece.part.glb and tuple(handle.color) != color:
                    handle.color = color

    # Batches.

    def _draw_ghosts(self, snapshot: Snapshot) -> None:
        """Draw all states except the first, which the nodes of bodies show."""
        count = len(snapshot.X_WB) - 1
        if count != self._num_ghosts:
            for handle in itertools.chain.from_iterable(self._ghosts.values()):
                handle.remove()
            self._ghosts.clear()
            self._num_ghosts = count
        for layer, pieces in self._pieces.items():
            if count and self._shown[layer]:
                poses = [_poses_of(piece, snapshot) for piece in pieces]
                if layer not in self._ghosts:
                    self._ghosts[layer] = [
                        self._make_ghosts(i, piece, *poses[i]) for i, piece in enumerate(pieces)
                    ]
                else:
                    for handle, (quaternions, positions) in zip(self._ghosts[layer], poses, strict=True):
                        handle.batched_wxyzs, handle.batched_positions = quaternions, positions

    def _make_ghosts(self, i: int, piece: _Piece, quaternions: Any, positions: Any) -> Any:
        look = _look_of(piece.part)
        return self._nodes.add_batched_meshes_simple(
            f"{self._path}/ghosts/{piece.item.layer} {i}",
            look["vertices"],
            look["faces"],
            quaternions,
            positions,
            batched_colors=look["color"],
            opacity=_OPACITY_OF_GHOSTS * piece.part.color[3],
            lod="off",
            cast_shadow=False,
        )


def _poses_of(piece: _Piece, snapshot: Snapshot) -> tuple[Any, Any]:
    """Return orientations and positions of a shape in all states except the first."""
    X_WG = snapshot.X_WB[1:, piece.item.node] @ piece.item.shape.X_BG
    return matrix_to_quaternion(X_WG[:, :3, :3]).astype(np.float32), X_WG[:, :3, 3].astype(np.float32)


def _look_of(part: Part) -> dict[str, Any]:
    red, green, blue, alpha = part.color
    return {
        "vertices": part.vertices,
        "faces": part.faces,
        "color": tuple(round(255 * x) for x in (red, green, blue)),
        "opacity": alpha if alpha < 1.0 else None,
    }


def _placed(X: FloatArray) -> dict[str, Any]:
    return {"wxyz": matrix_to_quaternion(X[:3, :3]), "position": X[:3, 3]}


def _as_node_name(name: str) -> str:
    """Return a name without the separator of node names."""
    return name.replace("/", "|")
