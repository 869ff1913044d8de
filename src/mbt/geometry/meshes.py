"""Meshes as convex shapes: the hull of a mesh, or several hulls that fill it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError, MissingPackageError, ParseError, quote, shorten
from mbt.math.arrays import as_positive
from mbt.parsing.meshes import resolve_mesh
from mbt.saving.files import as_path, write_file
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray

__all__ = ["decompose_mesh", "list_farthest", "read_hull"]

#: Hulls with fewer vertices have no lists of farthest vertices, see `supports.hpp`.
_LISTED = 16


def read_hull(shape: Shape, package_paths: Sequence[str | os.PathLike[str]]) -> FloatArray:
    """Return the vertices of the convex hull of a mesh, scaled.

    Raises
    ------
    MissingPackageError, ParseError
        When the mesh cannot be read, or has no volume.
    """
    try:
        import trimesh  # noqa: F401
        from scipy.spatial import ConvexHull, QhullError
    except ImportError as error:
        raise MissingPackageError(
            "hulls of meshes need trimesh and SciPy: pip install trimesh scipy", name=error.name
        ) from error
    path = resolve_mesh(shape, package_paths)
    points, _ = _read(path, shape)
    try:
        return np.ascontiguousarray(points[ConvexHull(points).vertices])
    except (QhullError, ValueError) as error:
        raise ParseError("the mesh has no volume, so it has no convex hull", file=str(path)) from error


def list_farthest(vertices: FloatArray) -> FloatArray:
    """Return the vertices of a hull, and for each sector of directions those that can be the farthest.

    The directions of a sector share their largest coordinate and their signs: they are the positive
    combinations of four directions. A vertex is farthest along none of them if another is farther along all
    four.

    Parameters
    ----------
    vertices : ndarray, shape (n, 3)

    Returns
    -------
    ndarray, shape (m,)
        In the format of `supports.hpp`.
    """
    if len(vertices) < _LISTED:
        return vertices.ravel()
    lists: list[FloatArray] = []
    ends = [0]
    square = np.array([[1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]])
    for part in range(24):
        signs = [-1 if part >> k & 1 else 1 for k in range(3)]
        reach = vertices @ (np.roll(square, part // 8, axis=1) * signs).T
        left = np.argsort(-reach.sum(axis=1), kind="stable")
        i = 0
        while i < len(left):
            left = left[~(reach[left] < reach[left[i]]).all(axis=1)]
            i += 1
        filled = np.resize(left, -(-len(left) // 8) * 8)
        lists.append(vertices[filled].T.ravel())
        ends.append(ends[-1] + filled.size)
    return np.concatenate([vertices.ravel(), ends, *lists])


def decompose_mesh(
    shape: Shape,
    folder: str | os.PathLike[str],
    *,
    threshold: float = 0.05,
    package_paths: Sequence[str | os.PathLike[str]] = (),
) -> tuple[Shape, ...]:
    """Split a mesh into almost convex parts, and return shapes of their hulls to use in its place.

    This takes seconds, or minutes for large meshes, so the parts are written to files: build a model once,
    and save it. `CollisionModel` reads them with ``hulls=True``.

    Parameters
    ----------
    shape : Shape
        A mesh.
    folder : path
        Where to write the parts, as ``bracket_0.obj`` and so on for a mesh ``bracket.stl``; it is created if
        it does not exist. Files with these names are replaced.
    threshold : float, optional
        How much a part may deviate from convexity, from 0.01 (fine) to 1: the concavity of CoACD.
    package_paths : sequence of paths, optional
        Where to look for the mesh, see `mbt.parsing.resolve_mesh`.

    Returns
    -------
    tuple of Shape
        Meshes with the pose, colour, contact bits and surface of the whole, and numbered names.

    Raises
    ------
    MissingPackageError
        When CoACD or trimesh is not installed: ``pip install "multibodytree[decomposition]"``.
    ParseError
        When the mesh cannot be found or read, or has no faces.
    ArgumentTypeError, ArgumentValueError
        When the shape is not a mesh, the threshold is not between 0.01 and 1, or a file cannot be written.

    Notes
    -----
    The parts are computed by CoACD: X. Wei, M. Liu, Z. Ling, H. Su, "Approximate convex decomposition for 3D
    meshes with collision-aware concavity and tree search", ACM Transactions on Graphics 41, 2022.
    """
    threshold = as_positive(threshold, "threshold")
    if not 0.01 <= threshold <= 1.0:
        raise ArgumentValueError(f"threshold: expected a number from 0.01 to 1, got {quote(threshold)}")
    target = as_path(folder).absolute()
    path = resolve_mesh(shape, package_paths)
    try:
        import coacd
        import trimesh  # noqa: F401
    except ImportError as error:
        raise MissingPackageError(
            'convex parts of meshes need CoACD and trimesh: pip install "multibodytree[decomposition]"',
            name=error.name,
        ) from error
    vertices, faces = _read(path, shape)
    if not len(faces):
        raise ParseError("the mesh has no faces", file=str(path))
    if np.prod(shape.size) < 0.0:
        faces = faces[:, ::-1]  # Mirrored: reverse the faces to keep the outside.
    coacd.set_log_level("error")
    parts = coacd.run_coacd(coacd.Mesh(vertices, faces), threshold=threshold)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentValueError(f"folder: {str(target)!r} cannot be made: {error.strerror}") from error
    shapes = []
    for i, (corners, triangles) in enumerate(parts):
        file = target / f"{path.stem}_{i}.obj"
        write_file(file, _as_obj(corners, triangles))
        shapes.append(
            Shape(
                "mesh",
                X_BG=shape.X_BG,
                name=f"{shape.name or path.stem}_{i}",
                color=shape.color,
                mesh=file.name,
                folder=str(target),
                contact_bits=shape.contact_bits,
                surface=shape.surface,
            )
        )
    return tuple(shapes)


def _read(path: Path, shape: Shape) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Return the vertices of a mesh, scaled, and its triangles.

    Raises
    ------
    ParseError
        When the mesh cannot be read.
    """
    import trimesh

    points, faces, count = [], [np.empty((0, 3), dtype=np.intp)], 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # About odd normals and units.
            for part in trimesh.load_scene(path).dump():
                points.append(np.asarray(part.vertices, dtype=np.float64))
                if hasattr(part, "faces"):
                    faces.append(np.asarray(part.faces, dtype=np.intp) + count)
                count += len(part.vertices)
        vertices = np.concatenate(points) * np.array(shape.size)
    except Exception as error:  # A bad file can raise anything in a reader.
        reason = f"{type(error).__name__}: {shorten(str(error))}"
        raise ParseError(f"the mesh cannot be read ({reason})", file=str(path)) from error
    if not np.isfinite(vertices).all():
        raise ParseError("the mesh has vertices that are not finite", file=str(path))
    return vertices, np.concatenate(faces)


def _as_obj(vertices: FloatArray, faces: npt.NDArray[np.intp]) -> str:
    """Return a mesh in Wavefront format, in which vertices count from one."""
    rows = [f"v {x!r} {y!r} {z!r}" for x, y, z in np.asarray(vertices, dtype=np.float64).tolist()]
    rows += [f"f {i} {j} {k}" for i, j, k in (np.asarray(faces, dtype=np.intp) + 1).tolist()]
    return "\n".join([*rows, ""])
