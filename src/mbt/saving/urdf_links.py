"""Links in URDF: mass properties and shapes."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbt.math.spatial_inertia import SpatialInertia
from mbt.saving.urdf_losses import Losses
from mbt.saving.urdf_values import add_origin, number, numbers
from mbt.tree.body import RigidBody
from mbt.tree.shape import Shape

__all__ = ["make_link"]

# The tags of the kinds of shapes, and the attributes that hold their numbers.
_GEOMETRIES = {
    "sphere": ("sphere", ("radius",)),
    "cylinder": ("cylinder", ("radius", "length")),
    "capsule": ("drake:capsule", ("radius", "length")),
    "ellipsoid": ("drake:ellipsoid", ("a", "b", "c")),
}


def make_link(name: str, body: RigidBody, folder: Path | None, losses: Losses) -> Element:
    """Return a link.

    Parameters
    ----------
    name : str
        The name of the link.
    body : RigidBody
        The body; World has no mass properties.
    folder : Path or None
        The folder of the file, to which paths of meshes are relative.
    losses : Losses
        The list of losses, to which those of the link are added.
    """
    link = Element("link", name=name)
    if not body.is_world:
        _add_inertial(link, body.default_spatial_inertia)
    for tag, shapes in (("visual", body.visuals), ("collision", body.collisions)):
        for shape in shapes:
            if shape.kind in ("plane", "height_field"):
                what = shape.kind.replace("_", " ")
                losses.add("link", name, f"one {tag} is a {what}, which is left out")
                continue
            if tag == "collision" and shape.color is not None:
                losses.add("link", name, "the colour of a collision is left out")
            link.append(_make_shape(tag, shape, folder))
    return link


def _add_inertial(link: Element, M_BBo_B: SpatialInertia) -> None:
    p = M_BBo_B.com
    I_Bo = M_BBo_B.calc_rotational_inertia()
    I_Bcm = M_BBo_B.calc_central_inertia()
    if M_BBo_B.mass == 0.0 and not I_Bo.any() and not p.any():
        return
    # Remove residues of rounding in the shift to the mass centre, as of point masses and rods.
    I_Bcm[abs(I_Bcm) < 4.0 * np.finfo(float).eps * abs(I_Bo).max(initial=0.0)] = 0.0
    inertial = SubElement(link, "inertial")
    X_BI = np.eye(4)
    X_BI[:3, 3] = p
    add_origin(inertial, X_BI)
    SubElement(inertial, "mass", value=number(M_BBo_B.mass))
    entries = {f"i{'xyz'[i]}{'xyz'[j]}": number(I_Bcm[i, j]) for i in range(3) for j in range(i, 3)}
    SubElement(inertial, "inertia", entries)


def _make_shape(tag: str, shape: Shape, folder: Path | None) -> Element:
    element = Element(tag, {"name": shape.name} if shape.name else {})
    add_origin(element, shape.X_BG)
    geometry = SubElement(element, "geometry")
    if shape.kind == "box":
        SubElement(geometry, "box", size=numbers(shape.size))
    elif shape.kind == "mesh":
        mesh = SubElement(geometry, "mesh", filename=_path_of_mesh(shape, folder))
        if shape.size != (1.0, 1.0, 1.0):
            mesh.set("scale", numbers(shape.size))
    else:
        kind, attributes = _GEOMETRIES[shape.kind]
        lengths = map(number, shape.size)
        SubElement(geometry, kind, dict(zip(attributes, lengths, strict=True)))
    if tag == "visual" and shape.color is not None:
        # Without a name: materials with the same name share a colour.
        material = SubElement(element, "material", name="")
        SubElement(material, "color", rgba=numbers(shape.color))
    return element


def _path_of_mesh(shape: Shape, folder: Path | None) -> str:
    """Return the address of a mesh: as given, or, for a relative path, relative to the new folder."""
    assert shape.mesh is not None
    if shape.folder is None or "://" in shape.mesh or os.path.isabs(shape.mesh):
        return shape.mesh
    mesh = os.path.join(shape.folder, shape.mesh)
    return mesh if folder is None else os.path.relpath(mesh, folder)
