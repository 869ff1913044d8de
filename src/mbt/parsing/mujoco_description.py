"""A compiled model of MuJoCo becomes a description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mbt.errors import quote
from mbt.parsing.description import ModelDescription
from mbt.parsing.mujoco_actuators import add_actuators
from mbt.parsing.mujoco_bodies import add_bodies
from mbt.parsing.mujoco_checks import check_numbers
from mbt.parsing.mujoco_equalities import add_equalities
from mbt.parsing.mujoco_names import ModelNames
from mbt.parsing.mujoco_rest import (
    add_frames,
    calc_gravity,
    can_touch,
    report_losses,
    split_positions,
)
from mbt.parsing.mujoco_sensors import add_sensors
from mbt.parsing.mujoco_shapes import MeshReference, Shapes
from mbt.parsing.mujoco_surfaces import read_pairs
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseReport

if TYPE_CHECKING:
    import mujoco

__all__ = ["describe_mujoco_model"]


def describe_mujoco_model(
    m: mujoco.MjModel,
    report: ParseReport,
    options: ReadOptions,
    *,
    folder: str | None = None,
    meshes: Mapping[int, MeshReference | None] = {},
) -> ModelDescription:
    """Return the description of a compiled model, whose order of bodies, joints and actuators it keeps.

    Parameters
    ----------
    m : mujoco.MjModel
        The model.
    report : ParseReport
        Where to tell what has no counterpart.
    options : ReadOptions
        What the caller asks for.
    folder : str, optional
        The folder of the description, from which paths of meshes count.
    meshes : mapping of int to MeshReference, or None
        Meshes of geometries that the compiler never saw, by the index of the geometry; None stands for a
        height field whose file it never saw.

    Raises
    ------
    ArgumentValueError
        When a number cannot be that of a tree.
    """
    names = ModelNames(m)
    check_numbers(m, names)
    model = ModelDescription(report.model_name, report)
    model.friction_is_force = options.joint_friction
    shapes = Shapes(m, names, report, folder, meshes)
    links = add_bodies(m, names, shapes, model)
    # A number has the index of one body, and behind it that of the other.
    model.exclusions += [(links[n >> 16], links[n & 0xFFFF]) for n in m.exclude_signature.tolist()]
    model.has_contact = can_touch(m)
    for i, j, surface in read_pairs(m):
        if i in shapes.places and j in shapes.places:
            (a, k), (b, n) = shapes.places[i], shapes.places[j]
            model.contact_pairs.append((links[a], k, links[b], n, surface))
    add_frames(m, names, links, model)
    add_actuators(m, names, model, wants_all=options.actuators == "all")
    add_equalities(m, names, links, model)
    add_sensors(m, names, links, model)
    report.gravity = calc_gravity(m)
    report.named_positions = split_positions(m, names)
    report_losses(m, names, model, options)
    if report.impossible_inertias:
        shown = ", ".join(quote(name, limit=30) for name in report.impossible_inertias[:10])
        text = f"bodies have inertias that no physical body has, loaded as they are: {shown}"
        report.warn(text, about="inertia")
    report.weightless_instances = [f"{model.name}::{scope}" for scope in model.weightless_scopes]
    report.num_links, report.num_joints = len(model.links), len(model.joints) + len(model.free)
    report.num_actuators = len(model.actuators)
    return model
