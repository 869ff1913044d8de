"""URDF shapes: the looks and the collision shapes of links. No mesh is opened."""

from __future__ import annotations

from mbt.errors import ParseError, quote
from mbt.parsing.description import ModelDescription
from mbt.parsing.drake_surfaces import read_proximity
from mbt.parsing.numbers import take_number, take_numbers, take_pose
from mbt.parsing.xml_tree import Element
from mbt.tree.shape import Claim, Shape

__all__ = ["Color", "Colors", "read_colors", "read_shapes"]

Color = tuple[float, float, float, float]
#: Colours by the names of materials.
Colors = dict[str, Color]

_PARTS = frozenset(("geometry", "origin"))
_UNSCALED = (1.0, 1.0, 1.0)
# The kinds by the tags of URDF, and by those of Drake.
_KINDS = {
    "mesh": "mesh",
    "box": "box",
    "cylinder": "cylinder",
    "sphere": "sphere",
    "capsule": "capsule",
    "drake:capsule": "capsule",
    "ellipsoid": "ellipsoid",
    "drake:ellipsoid": "ellipsoid",
}
# The attributes that hold the numbers of a kind, one in each.
_ATTRIBUTES = {
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "ellipsoid": ("a", "b", "c"),
}


def read_colors(root: Element) -> Colors:
    """Return the colours of the materials that a robot defines for all its links."""
    colors: Colors = {}
    for material in root.take_children("material"):
        _read_color(material, colors)
    return colors


def read_shapes(
    link: Element, model: ModelDescription, colors: Colors
) -> tuple[tuple[Shape, ...], tuple[Shape, ...]]:
    """Return the shapes of ``<visual>`` and of ``<collision>`` elements of a link.

    A material that a visual defines is added to `colors`. A shape with an invalid number is left out with a
    warning.

    Raises
    ------
    ParseError
        When strict, if something cannot be read.
    """
    visuals: list[Shape] = []
    collisions: list[Shape] = []
    for child in link.children:
        tag = child.tag
        if tag == "visual":
            child.is_read = True
            material = child.take_first("material")
            color = None if material is None else _read_color(material, colors)
            shape = _read_shape(link, child, color, model)
            if shape is not None:
                visuals.append(shape)
        elif tag == "collision":
            child.is_read = True
            shape = _read_shape(link, child, None, model)
            if shape is not None:
                collisions.append(shape)
    return tuple(visuals), tuple(collisions)


def _read_shape(
    link: Element, element: Element, color: Color | None, model: ModelDescription
) -> Shape | None:
    """Return the shape of a visual or collision; None if it has none that can be read."""
    parts = element.take_parts(_PARTS)
    found = _find_geometry(element, parts.get("geometry"))
    if isinstance(found, str):
        model.report.ignore(found)
        element.dismiss()
        return None
    kind = _KINDS[found.tag]
    try:
        X_BG = take_pose(parts.get("origin"))
        if kind == "mesh":
            size, mesh, folder = _read_mesh(found)
        else:
            size, mesh, folder = _read_size(found, kind), None, None
    except ParseError as error:
        fault = f"{error.element}: {error.message}"
        link.document.repair(fault, f"the {element.tag} is left out", error.line, str(link), "looks")
        element.dismiss()
        return None
    own = kind, size, X_BG, element.peek("name") or "", color, mesh, folder
    return Shape._of_checked(*own, surface=read_proximity(element))


def _find_geometry(element: Element, geometry: Element | None) -> Element | str:
    """Return the element that gives the kind of a shape, or the path to report if there is none."""
    if geometry is None or not geometry.children:
        return f"link/{element.tag} without geometry"
    for child in geometry.children:
        if child.tag in _KINDS:
            child.is_read = True
            return child
    return f"link/{element.tag}/geometry/{geometry.children[0].tag}"


def _read_size(shape: Element, kind: str) -> tuple[float, ...]:
    if kind == "box":
        size = take_numbers(shape, "size", 3)
    else:
        size = [take_number(shape, name) for name in _ATTRIBUTES[kind]]
    if min(size) < 0.0:
        raise shape.error(f"{min(size):g}: expected a length >= 0")
    return tuple(size)


def _read_mesh(shape: Element) -> tuple[tuple[float, ...], str, str | None]:
    """Return the scales of a mesh, its address, and the folder of the file."""
    mesh = shape.require("filename").strip()
    if not mesh:
        raise shape.error("filename is empty: expected the path of a mesh")
    scale = _UNSCALED
    written = shape.peek("scale")
    if written is not None:
        # One number scales in all directions.
        count = 1 if len(written.split()) == 1 else 3
        x, y, z = take_numbers(shape, "scale", count) * (3 // count)
        if x == 0.0 or y == 0.0 or z == 0.0:
            raise shape.error("its scale is zero: nothing would be left")
        scale = x, y, z
    return scale, Claim(mesh), shape.document.folder


def _read_color(material: Element, colors: Colors) -> Color | None:
    """Return the colour of a material: its own, or that of the material with its name."""
    name = material.peek("name")
    element = material.take_first("color")
    text = None if element is None else element.peek("rgba")
    if element is None or text is None:
        return None if name is None else colors.get(name)
    try:
        red, green, blue, alpha = take_numbers(element, "rgba", 4)
        is_color = min(red, green, blue, alpha) >= 0.0 and max(red, green, blue, alpha) <= 1.0
    except ParseError:
        is_color = False
    if not is_color:
        element.repair(f"rgba={quote(text)}: expected 4 numbers from 0 to 1", "it has no colour")
        return None
    color = red, green, blue, alpha
    if name is not None:
        colors.setdefault(name, color)
    return color
