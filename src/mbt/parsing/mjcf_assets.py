"""Assets of MJCF: those that no inertia needs are removed before MuJoCo opens files."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ParseError
from mbt.math.poses import IDENTITY, inverse_pose, make_pose
from mbt.parsing.mjcf_files import Files
from mbt.parsing.mujoco_shapes import MeshReference

if TYPE_CHECKING:
    import mujoco

__all__ = ["Assets"]

_NEVER, _ALWAYS = 0, 1
_FIELD = 1
_ROUNDING = 1e-9
_NOT_TURNED, _UNSCALED = [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0]
_VERTICES = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
_FACES = [0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3]


class Assets:
    """Meshes, height fields, textures and skins of a specification, which is modified.

    Meshes that give a body its inertia stay, and must exist. The others are only referenced: the compiler
    sees spheres in their place. Height fields whose files are missing become flat: their inertia does not
    depend on the heights. Textures and skins are removed.

    Parameters
    ----------
    mujoco : module
        The library.
    spec : mujoco.MjSpec
        The parsed specification.
    files : Files
        The files of the model.

    Raises
    ------
    ParseError
        When a mesh that is needed is missing, or outside of the allowed folders.
    """

    def __init__(self, mujoco: Any, spec: mujoco.MjSpec, files: Files) -> None:
        self._geoms: list[tuple[Any, str]] = []
        self._meshes: dict[str, MeshReference] = {}
        meshes = list(spec.meshes)
        if meshes:
            strips_paths = bool(spec.strippath)
            self._meshes = {mesh.name: _refer_to(mesh, files, strips_paths) for mesh in meshes}
            # From here on, meshes that are needed have their full paths.
            spec.strippath = False
            _take_out_tactile_sensors(mujoco, spec)
            self._take_out_meshes(mujoco, spec, meshes, files)
        self._flat = {field.name for field in spec.hfields if not _find_heights(field, spec.meshdir, files)}
        _take_out_textures(spec)
        for skin in list(spec.skins):
            spec.delete(skin)

    def references(self, m: mujoco.MjModel) -> dict[int, MeshReference | None]:
        """Return the meshes of compiled geometries, by index; None for what has no shape.

        That is a height field that was not read, or a sheared mesh.
        """
        found: dict[int, MeshReference | None] = {}
        if self._flat:
            fields = np.flatnonzero(m.geom_type == _FIELD).tolist()
            found.update((i, None) for i in fields if m.hfield(m.geom_dataid[i]).name in self._flat)
        for geom, name in self._geoms:
            reference = self._meshes[name]
            i = geom.id
            if math.isnan(reference.scale[0]):
                found[i] = None
                continue
            if m.geom_dataid[i] >= 0:
                # The compiler has moved it to its mass centre and main axes.
                j = m.geom_dataid[i]
                X_FM = make_pose(m.mesh_pos[j], quaternion=m.mesh_quat[j])
                reference = reference._replace(X_MF=inverse_pose(X_FM) @ reference.X_MF)
            found[i] = reference
        return found

    def _take_out_meshes(self, mujoco: Any, spec: mujoco.MjSpec, meshes: list[Any], files: Files) -> None:
        needed = set()
        for body in spec.bodies:
            gives_inertia = _has_inertia_of_geoms(body, spec)
            for geom in body.geoms:
                name = geom.meshname
                if not name or name not in self._meshes:
                    continue
                self._geoms.append((geom, name))
                if gives_inertia and _has_mass(geom, spec):
                    needed.add(name)
                    continue
                geom.type = mujoco.mjtGeom.mjGEOM_SPHERE
                geom.meshname = ""
                geom.size = [1.0, 0.0, 0.0]
            for site in body.sites:
                if getattr(site, "meshname", ""):
                    site.type = mujoco.mjtGeom.mjGEOM_SPHERE
                    site.meshname = ""
        for mesh in meshes:
            if mesh.name not in needed:
                _take_out_mesh(spec, mesh)
            elif mesh.file:
                mesh.file = str(files.find_asset(self._meshes[mesh.name].file, _describe(mesh)))


def _has_inertia_of_geoms(body: Any, spec: Any) -> bool:
    rule = int(spec.compiler.inertiafromgeom)
    if rule == _NEVER or body.id == 0 or body.name == "world":
        return False
    return rule == _ALWAYS or not body.explicitinertial


def _has_mass(geom: Any, spec: Any) -> bool:
    first, last = spec.compiler.inertiagrouprange
    if not first <= geom.group <= last:
        return False
    return bool(geom.density != 0.0 if math.isnan(geom.mass) else geom.mass != 0.0)


def _take_out_mesh(spec: Any, mesh: Any) -> None:
    """Make a mesh a tetrahedron, so that no file is opened: 40 times faster than deleting the mesh."""
    if not mesh.file or mesh.plugin.active or mesh.usernormal or mesh.usertexcoord:
        spec.delete(mesh)
        return
    mesh.file = ""
    mesh.uservert, mesh.userface, mesh.scale = _VERTICES, _FACES, _UNSCALED


def _take_out_tactile_sensors(mujoco: Any, spec: Any) -> None:
    """Turn tactile sensors, which name a mesh, into clocks: they still count as sensors, but need no mesh."""
    for sensor in spec.sensors:
        if sensor.type == mujoco.mjtSensor.mjSENS_TACTILE:
            sensor.type, sensor.needstage = mujoco.mjtSensor.mjSENS_CLOCK, mujoco.mjtStage.mjSTAGE_POS
            sensor.objtype = sensor.reftype = mujoco.mjtObj.mjOBJ_UNKNOWN
            sensor.objname = sensor.refname = ""


def _find_heights(field: Any, folder: str, files: Files) -> bool:
    """Let the compiler open the file of a height field only if it exists; return whether it has heights."""
    if not field.file:
        return True
    try:
        field.file = str(files.find_asset(os.path.join(folder, field.file), f"<hfield name={field.name!r}>"))
    except ParseError:
        field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0.0] * 4
        return False
    return True


def _refer_to(mesh: Any, files: Files, strips_paths: bool) -> MeshReference:
    """Return where a mesh is, and how it is scaled and placed; the scales are NaN if it is sheared."""
    written = mesh.file
    file = files.locate_mesh(mesh.compiler.meshdir, written, strips_paths) if written else mesh.name
    scale, p, quaternion = mesh.scale, mesh.refpos, mesh.refquat
    if quaternion.tolist() == _NOT_TURNED and not p.any():
        return MeshReference(file, scale.tolist(), IDENTITY)
    # MuJoCo subtracts p from the points in the file, rotates them by R^-1, then scales them by S. That is
    # S R^-1 (x - p) = R^-1 S' (x - p), S' = R S R^-1, and a scale of the file only if S' is diagonal.
    R = make_pose(quaternion=quaternion)[:3, :3]
    if scale.min() < scale.max():
        turned = R * scale @ R.T
        scale = np.diag(turned)
        if np.abs(turned - np.diag(scale)).max() > _ROUNDING * np.abs(scale).max():
            return MeshReference(file, [math.nan] * 3, IDENTITY)
    return MeshReference(file, scale.tolist(), make_pose(-R.T @ (scale * p), R=R.T))


def _take_out_textures(spec: Any) -> None:
    textures = list(spec.textures)
    if not textures:
        return
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for light in spec.lights:
        if getattr(light, "texture", ""):
            light.texture = ""
    for texture in textures:
        spec.delete(texture)


def _describe(mesh: Any) -> str:
    return f"<mesh name={mesh.name!r}>"
