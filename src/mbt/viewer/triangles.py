"""Triangles of shapes, made with trimesh: simple shapes, and meshes from files."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.errors import ModelWarning, ParseError, quote, shorten
from mbt.parsing.meshes import resolve_mesh
from mbt.viewer.packages import require
from mbt.viewer.snapshots import FARTHEST

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.tree.shape import Shape
    from mbt.viewer.scene import Item

__all__ = ["Mesher", "Part"]

# Edges sharper than this look like edges.
_CREASE = math.radians(35.0)


class Part(NamedTuple):
    """Triangles of one colour in the frame G of a shape."""

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    color: tuple[float, float, float, float]
    #: The same with its texture, as a GLB file; empty without texture.
    glb: bytes = b""


class Mesher:
    """Makes triangles, and reads each file once.

    Parameters
    ----------
    package_paths : sequence of paths
        Where to look for packages of meshes.
    extent : float
        Size of the model [m], used for planes, which have no size.
    """

    def __init__(self, package_paths: Sequence[str | os.PathLike[str]], extent: float) -> None:
        self._package_paths = package_paths
        self._side_of_planes = 4.0 * extent
        self._trimesh = require("trimesh", "drawing shapes")
        self._files: dict[Path, list[Part]] = {}
        self._complaints: dict[str, ParseError] = {}
        #: Whether to give no warnings, as the caller reports everything at once: see `summarize`.
        self.is_quiet = False

    def parts_of(self, item: Item) -> list[Part]:
        """Return the triangles of an item: none, with a `ModelWarning`, if its mesh cannot be read."""
        try:
            return self._make_parts(item)
        except ParseError as error:
            self._complain(error)
            return []

    def summarize(self) -> tuple[str, str]:
        """Return a line on the remedy for what cannot be drawn, and a line on what that is, and why."""
        errors = list(self._complaints.values())
        cures = list(dict.fromkeys(error.hint for error in errors if error.hint))
        first = errors[0]
        place = f"{shorten(first.file, 200)}: " if first.file else ""
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        return "; or ".join(cures[:3]), f"{place}{first.message}{more}"

    def _make_parts(self, item: Item) -> list[Part]:
        shape = item.shape
        if not max(map(abs, shape.size), default=0.0) < FARTHEST:
            raise ParseError(f"a {shape.kind} is too large to be drawn: its size is {shape.size}")
        if shape.kind != "mesh":
            return [self._split(self._make(shape), item.color)]
        scale = np.array(shape.size, dtype=np.float32)
        scaled = []
        for part in self._read(shape):
            if not (abs(part.vertices.astype(float)) * np.abs(shape.size) < FARTHEST).all():
                raise ParseError(f"the mesh is too large to be drawn: {quote(shape.mesh)}")
            # Mirroring turns triangles inside out.
            faces = part.faces if np.prod(scale) > 0 else part.faces[:, ::-1]
            color = item.color if item.has_color or part.color is _PLAIN else part.color
            glb = b"" if item.has_color else part.glb
            scaled.append(Part(part.vertices * scale, np.ascontiguousarray(faces), color, glb))
        return scaled

    def _make(self, shape: Shape) -> Any:
        """Return a mesh of trimesh."""
        create, size = self._trimesh.creation, shape.size
        if shape.kind == "box":
            return create.box(extents=size)
        if shape.kind == "cylinder":
            return create.cylinder(radius=size[0], height=size[1], sections=48)
        if shape.kind == "capsule":
            return create.capsule(radius=size[0], height=size[1], count=[24, 24])
        if shape.kind == "plane":
            # Visible from below, too.
            return create.box(extents=(self._side_of_planes, self._side_of_planes, 0.0))
        if shape.kind == "height_field":
            assert shape.heights is not None
            return self._trimesh.Trimesh(*triangulate(shape.size, shape.heights), process=False)
        ball = create.icosphere(subdivisions=3)
        ball.apply_scale(size if shape.kind == "ellipsoid" else size[0])
        return ball

    def _read(self, shape: Shape) -> list[Part]:
        path = resolve_mesh(shape, self._package_paths)
        if path not in self._files:
            self._files[path] = list(self._read_file(path))
        return self._files[path]

    def _read_file(self, path: Path) -> Iterator[Part]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # About odd normals and units.
                scene = self._trimesh.load_scene(path)
                meshes = scene.dump()
        except Exception as error:  # A malformed file may cause any error.
            reason = f"{type(error).__name__}: {shorten(str(error))}"
            raise ParseError(f"the mesh cannot be read ({reason})", file=str(path)) from error
        meshes = [mesh for mesh in meshes if isinstance(mesh, self._trimesh.Trimesh) and len(mesh.faces)]
        if not meshes:
            raise ParseError("the mesh has no triangles", file=str(path))
        for mesh in meshes:
            if not (abs(mesh.vertices) < FARTHEST).all():
                raise ParseError("the mesh has vertices that are not finite, or too far away", file=str(path))
            yield self._split(mesh, _color_of(mesh))._replace(glb=_with_texture(mesh))

    def _split(self, mesh: Any, color: tuple[float, float, float, float]) -> Part:
        """Return a mesh with vertices split at edges, so that each side has its own normals."""
        bare = self._trimesh.Trimesh(mesh.vertices, mesh.faces, process=True)
        is_smooth = bare.face_adjacency_angles <= _CREASE
        # The side to which each face belongs.
        sides = self._trimesh.graph.connected_component_labels(
            bare.face_adjacency[is_smooth], node_count=len(bare.faces)
        )
        corners = bare.faces.astype(np.int64) * len(bare.faces) + sides[:, np.newaxis]
        once, faces = np.unique(corners, return_inverse=True)
        return Part(
            np.ascontiguousarray(bare.vertices[once // len(bare.faces)], dtype=np.float32),
            np.ascontiguousarray(faces.reshape(-1, 3), dtype=np.uint32),
            color,
        )

    def _complain(self, error: ParseError) -> None:
        message = str(error)
        if message not in self._complaints:
            self._complaints[message] = error
            if not self.is_quiet:
                warnings.warn(f"not drawn: {message}", ModelWarning, stacklevel=2)


def triangulate(size: Sequence[float], heights: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Return corners and triangles of a height field."""
    rows, columns = heights.shape
    x, y = (np.linspace(-0.5 * a, 0.5 * a, n) for a, n in zip(size, (columns, rows), strict=True))
    corners = np.stack([*np.meshgrid(x, y), heights], axis=-1).reshape(-1, 3)
    first = (np.arange(rows - 1)[:, np.newaxis] * columns + np.arange(columns - 1)).ravel()
    right, above, across = first + 1, first + columns, first + columns + 1
    return corners, np.stack([first, right, across, first, across, above], axis=-1).reshape(-1, 3)


#: The colour of a mesh that has none.
_PLAIN = (-1.0, -1.0, -1.0, 1.0)


def _image_of(mesh: Any) -> Any:
    """Return the texture image of a mesh, or None."""
    material = getattr(mesh.visual, "material", None)
    return getattr(material, "image", None) or getattr(material, "baseColorTexture", None)


def _with_texture(mesh: Any) -> bytes:
    """Return a mesh with its texture, as a GLB file; empty without texture."""
    try:
        if mesh.visual.kind != "texture" or mesh.visual.uv is None or _image_of(mesh) is None:
            return b""
        glb: bytes = mesh.export(file_type="glb")
    except Exception:  # An image in an unsupported format.
        return b""
    return glb


def _color_of(mesh: Any) -> tuple[float, float, float, float]:
    """Return a single colour for a mesh: that of its material, or the mean of its texture or vertices."""
    visual = mesh.visual
    if not visual.defined:
        return _PLAIN
    try:
        if visual.kind == "texture":
            material, image = visual.material, _image_of(mesh)
            if image is not None:
                rgba = np.asarray(image.convert("RGBA").resize((8, 8))).reshape(-1, 4).mean(axis=0)
            else:
                rgba = np.asarray(material.main_color)
        else:
            rgba = np.asarray(visual.main_color)
    except Exception:  # A missing texture, or one in an unsupported format.
        return _PLAIN
    red, green, blue, alpha = (float(x) / 255.0 for x in rgba)
    return red, green, blue, alpha or 1.0
