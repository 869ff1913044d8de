"""Turns geometries of MuJoCo into shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mbt.math.arrays import FloatArray
from mbt.math.poses import inverse_pose, make_pose
from mbt.parsing.mujoco_surfaces import read_surfaces
from mbt.parsing.pose_stacks import stack_poses
from mbt.parsing.report import ParseReport
from mbt.tree.shape import Claim, Shape

if TYPE_CHECKING:
    import mujoco

    from mbt.parsing.mujoco_names import ModelNames

__all__ = ["MeshReference", "Shapes"]

_PLANE, _FIELD, _SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX, _MESH = 0, 1, 2, 3, 4, 5, 6, 7
_UNSEEN_GROUP = 3
_DEFAULT_COLOR = [0.5, 0.5, 0.5, 1.0]
_OTHERS = {8: "sdf"}
_DEFAULT_BITS = (1, 1)


class MeshReference(NamedTuple):
    """The address of a mesh, its scale, and the pose X_MF of the contents of the file in the placed mesh."""

    file: str
    scale: list[float]
    X_MF: FloatArray


class Shapes:
    """The shapes of all bodies.

    Parameters
    ----------
    m : mujoco.MjModel
        The model.
    names : ModelNames
        The names of its elements.
    report : ParseReport
        The report, which counts omissions.
    folder : str, optional
        The folder of the description.
    meshes : mapping of int to MeshReference, or None
        Meshes that were hidden from the compiler, by the index of their geometry; None stands for a sheared
        mesh, or a height field whose file was missing.

    Attributes
    ----------
    places : dict of int to (int, int)
        The body of each geometry that may touch, and its index among the collision shapes of that body.
    """

    def __init__(
        self,
        m: mujoco.MjModel,
        names: ModelNames,
        report: ParseReport,
        folder: str | None = None,
        meshes: Mapping[int, MeshReference | None] = {},
    ) -> None:
        self._visuals: dict[int, list[Shape]] = {}
        self._collisions: dict[int, list[Shape]] = {}
        self.places: dict[int, tuple[int, int]] = {}
        if not m.ngeom:
            return
        X_BG = stack_poses(m.geom_pos, m.geom_quat)
        X_BG.setflags(write=False)  # Read-only: checked, as all numbers of the model are.
        sizes, colors = m.geom_size.tolist(), _read_colors(m)
        touches = (m.geom_contype | m.geom_conaffinity).tolist()
        listed = {*m.pair_geom1.tolist(), *m.pair_geom2.tolist()}
        bits, surfaces = _read_bits(m, listed), read_surfaces(m)
        rows = zip(
            m.geom_bodyid.tolist(),
            m.geom_type.tolist(),
            names.of(m.name_geomadr),
            m.geom_group.tolist(),
            strict=True,
        )
        for i, (body, kind, name, group) in enumerate(rows):
            color, pose = colors[i], X_BG[i]
            mesh = meshes.get(i)
            own: tuple[Any, ...]
            if mesh is None and i in meshes:
                report.ignore("geom/hfield" if kind == _FIELD else "geom/mesh")
                continue
            if mesh is None and kind == _MESH:
                mesh = _find_mesh(m, names, int(m.geom_dataid[i]))
            if mesh is not None:
                pose = pose @ mesh.X_MF
                file = Claim(mesh.file)
                own = "mesh", tuple(mesh.scale), pose, name, color, file, folder
                shape = Shape._of_checked(*own, None, bits[i], surfaces[i])
            elif kind == _FIELD:
                lengths, heights = _read_field(m, int(m.geom_dataid[i]))
                own = "height_field", lengths, pose, name, color, None, None
                shape = Shape._of_checked(*own, heights, bits[i], surfaces[i])
            elif kind in _OTHERS:
                report.ignore(f"geom/{_OTHERS[kind]}")
                continue
            else:
                shape_kind, size = _read_size(kind, sizes[i])
                own = shape_kind, tuple(size), pose, name, color, None, None
                shape = Shape._of_checked(*own, None, bits[i], surfaces[i])
            if touches[i] or i in listed:
                of_body = self._collisions.setdefault(body, [])
                self.places[i] = body, len(of_body)
                of_body.append(shape)
            if not touches[i] or group < _UNSEEN_GROUP:
                self._visuals.setdefault(body, []).append(shape)

    def of_body(self, i: int) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
        """Return the visual and the collision shapes of a body."""
        return tuple(self._visuals.get(i, ())), tuple(self._collisions.get(i, ()))


def _read_size(kind: int, size: list[float]) -> tuple[str, list[float]]:
    """Return the kind and full lengths; MuJoCo has half lengths."""
    a, b, c = size
    if kind == _PLANE:
        return "plane", []
    if kind == _SPHERE:
        return "sphere", [a]
    if kind == _CAPSULE:
        return "capsule", [a, 2.0 * b]
    if kind == _CYLINDER:
        return "cylinder", [a, 2.0 * b]
    if kind == _ELLIPSOID:
        return "ellipsoid", size
    assert kind == _BOX
    return "box", [2.0 * a, 2.0 * b, 2.0 * c]


def _read_bits(m: mujoco.MjModel, listed: Collection[int]) -> list[tuple[int, int] | None]:
    """Return the bits of each geometry; None for all if those that touch anything have the default bits.

    Geometries in `listed` pairs touch regardless of their bits.
    """
    bits = list(zip(m.geom_contype.tolist(), m.geom_conaffinity.tolist(), strict=True))
    counting = {own for i, own in enumerate(bits) if any(own) or i in listed}
    return [None] * len(bits) if counting <= {_DEFAULT_BITS} else [*bits]


def _read_field(m: mujoco.MjModel, i: int) -> tuple[tuple[float, float], FloatArray]:
    """Return the full lengths of a height field, and its heights."""
    x, y, top, _ = m.hfield_size[i].tolist()
    rows, columns, start = int(m.hfield_nrow[i]), int(m.hfield_ncol[i]), int(m.hfield_adr[i])
    heights = top * m.hfield_data[start : start + rows * columns].astype(float).reshape(rows, columns)
    heights.setflags(write=False)
    return (2.0 * x, 2.0 * y), heights


def _read_colors(m: mujoco.MjModel) -> list[tuple[float, float, float, float] | None]:
    """Return the colour of each geometry: its own, that of its material, or None."""
    materials = m.mat_rgba.tolist()
    colors: list[tuple[float, float, float, float] | None] = []
    for rgba, material in zip(m.geom_rgba.tolist(), m.geom_matid.tolist(), strict=True):
        color = None if rgba == _DEFAULT_COLOR else rgba
        if color is None and material >= 0:
            color = materials[material]
        if color is not None and not 0.0 <= min(color) <= max(color) <= 1.0:
            color = [min(max(part, 0.0), 1.0) for part in color]
        colors.append(None if color is None else tuple(color))
    return colors


def _find_mesh(m: mujoco.MjModel, names: ModelNames, i: int) -> MeshReference:
    """Return the mesh i of a compiled model, which has been moved to its mass centre and main axes."""
    address = int(m.mesh_pathadr[i])
    text: bytes = m.paths
    file = text[address : text.index(b"\0", address)].decode("utf-8", "replace") if address >= 0 else ""
    X_FM = make_pose(m.mesh_pos[i], quaternion=m.mesh_quat[i])
    # A mesh that was made in memory is identified by its name.
    file = file or names.of(m.name_meshadr[i : i + 1])[0]
    return MeshReference(file, m.mesh_scale[i].tolist(), inverse_pose(X_FM))
