"""Turns a compiled model of MuJoCo into a description."""

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
    """Return the description of a compiled model, with its order of bodies, joints and actuators.

    Parameters
    ----------
    m : mujoco.MjModel
        The model.
    report : ParseReport
        The report, which lists content without a counterpart.
    options : ReadOptions
        The options of the caller.
    folder : str, optional
        The folder of the description, to which paths of meshes are relative.
    meshes : mapping of int to MeshReference, or None
        Meshes that were hidden from the compiler, by the index of their geometry; None stands for a height
        field whose file was missing.

    Raises
    ------
    ArgumentValueError
        When a tree cannot have one of its numbers.
    """
    names = ModelNames(m)
    check_numbers(m, names)
    model = ModelDescription(report.model_name, report)
    model.friction_is_force = options.joint_friction
    shapes = Shapes(m, names, report, folder, meshes)
    links = add_bodies(m, names, shapes, model)
    # A signature has the index of one body in its upper bits, and that of the other in its lower 16 bits.
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
