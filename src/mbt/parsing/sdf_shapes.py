"""Shapes of SDF, in ``<visual>`` and ``<collision>``."""

from __future__ import annotations

import numpy as np

from mbt.errors import MbtError, quote
from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY, normalize_axis
from mbt.parsing.directions import calc_rotation_from_z
from mbt.parsing.drake_surfaces import read_proximity
from mbt.parsing.numbers import read_numbers
from mbt.parsing.report import ParseReport
from mbt.parsing.sdf_frames import SdfFrame, calc_pose_between
from mbt.parsing.sdf_values import take_number, take_pose, take_text, take_vector
from mbt.parsing.xml_tree import Element
from mbt.tree.shape import Claim, Shape
from mbt.tree.surface import Surface

__all__ = ["calc_pose_on_link", "read_shapes"]

# Kinds that SDF has, but `Shape` does not.
_UNKNOWN = ("cone", "heightmap", "image", "polyline", "empty")


def read_shapes(link: Element, tag: str, frame: SdfFrame, report: ParseReport) -> list[tuple[Element, Shape]]:
    """Return the shapes of a link, each with its element.

    Geometries that mbt has no shape for are left out: they do not affect the dynamics.

    Parameters
    ----------
    link : Element
        The link.
    tag : {"visual", "collision"}
        The kind of shapes.
    frame : SdfFrame
        The frame of the link.
    report : ParseReport
        The report, which lists omissions.
    """
    shapes = []
    for element in link.take_children(tag):
        try:
            shape = _read_shape(element, frame, report)
        except MbtError as error:
            element.repair(f"it is not a valid shape: {error.args[0]}", "left out")
            element.dismiss()
            continue
        if shape is not None:
            shapes.append((element, shape))
    return shapes


def calc_pose_on_link(element: Element, frame: SdfFrame) -> FloatArray:
    """Return the pose, on its link, of an element inside a link."""
    pose = take_pose(element)
    if pose.relative_to is None:
        return pose.X
    assert frame.scope is not None
    base = frame.scope.find(pose.relative_to, element)
    X_LB = calc_pose_between(frame, base)
    return pose.X if X_LB is IDENTITY else X_LB @ pose.X


def _read_shape(element: Element, frame: SdfFrame, report: ParseReport) -> Shape | None:
    X_BG = calc_pose_on_link(element, frame)
    geometry = element.take_first("geometry")
    kinds = geometry.children if geometry is not None else ()
    kind = kinds[0] if kinds else None
    if kind is None or kind.tag in _UNKNOWN:
        report.ignore(f"link/{element.tag} of {'nothing' if kind is None else kind.tag}")
        element.dismiss()
        return None
    kind.is_read = True
    name = element.peek("name") or ""
    color = _read_color(element)
    tag = kind.tag.removeprefix("drake:")
    surface = _read_surface(element) or read_proximity(element)
    if tag == "mesh":
        return _read_mesh(kind, X_BG, name, color, surface)
    size: list[float] = []
    if tag == "box":
        size = take_vector(kind, "size", [1.0, 1.0, 1.0])
    elif tag == "ellipsoid":
        size = _read_semi_axes(kind)
    elif tag == "sphere":
        size = [take_number(kind, "radius", 1.0)]
    elif tag in ("cylinder", "capsule"):
        size = [take_number(kind, "radius", 0.5), take_number(kind, "length", 1.0)]
    elif tag == "plane":
        X_BG = _turn_to_normal(kind, X_BG)
    else:
        raise kind.error("unknown kind of geometry")
    return Shape(tag, size, X_BG, name=name, color=color, surface=surface)


def _read_semi_axes(kind: Element) -> list[float]:
    """Return the semi-axes of an ellipsoid, which Drake writes one by one."""
    letters = [take_number(kind, letter, 1.0) for letter in "abc"]
    return take_vector(kind, "radii", letters)


def _turn_to_normal(plane: Element, X_BG: FloatArray) -> FloatArray:
    normal = take_vector(plane, "normal", [0.0, 0.0, 1.0])
    X_GP = np.eye(4)
    X_GP[:3, :3] = calc_rotation_from_z(normalize_axis(normal, "normal"))
    return X_BG @ X_GP


def _read_mesh(
    kind: Element,
    X_BG: FloatArray,
    name: str,
    color: tuple[float, ...] | None,
    surface: Surface | None,
) -> Shape:
    address = take_text(kind, "uri")
    if address is None:
        raise kind.error("it has no <uri>")
    scale = take_vector(kind, "scale", [1.0, 1.0, 1.0])
    folder = kind.document.folder
    own = {"mesh": Claim(address), "folder": folder, "surface": surface}
    return Shape("mesh", scale, X_BG, name=name, color=color, **own)  # type: ignore[arg-type]


def _read_surface(element: Element) -> Surface | None:
    """Return the friction of ODE, which is 1 if its element has no number."""
    for tag in ("surface", "friction", "ode"):
        inner = element.take_first(tag)
        if inner is None:
            return None
        element = inner
    return Surface(take_number(element, "mu", 1.0), combine="least")


def _read_color(element: Element) -> tuple[float, ...] | None:
    """Return the diffuse colour of a shape. Without alpha it is opaque."""
    material = element.take_first("material")
    diffuse = None if material is None else material.take_first("diffuse")
    if diffuse is None or not diffuse.text_parts:
        return None
    count = len(diffuse.text.split())
    numbers = read_numbers(diffuse, 3 if count == 3 else 4)
    if not all(0.0 <= part <= 1.0 for part in numbers):
        diffuse.repair(f"{quote(diffuse.text)}: expected numbers from 0 to 1", "it has no colour")
        return None
    return (*numbers, 1.0)[:4]
