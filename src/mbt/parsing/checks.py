"""Checks and counts that every reader applies to a model whose links and joints are ordered."""

from __future__ import annotations

import math

from mbt._core.door.compiled_model import join_numbers
from mbt.errors import quote
from mbt.parsing.description import WORLD, ModelDescription
from mbt.parsing.inactive import count_inactive
from mbt.parsing.options import ReadOptions
from mbt.parsing.report import ParseRemark, ParseReport
from mbt.parsing.structure import find_massless_joints
from mbt.parsing.xml_tree import Element

__all__ = ["check_dynamics", "count_elements", "warn_of_held_base"]


def check_dynamics(root: Element, model: ModelDescription) -> None:
    """Warn of inertias and joints that make the dynamics singular, infinite or unphysical.

    Raises
    ------
    ParseError
        When the masses add up to more than a float can hold; it names `root`.
    """
    _check_magnitudes(root, model)
    _report_impossible_inertias(model.report)
    for massless in find_massless_joints(model):
        text = f"joint {quote(massless.name)} moves links without mass: forward dynamics will be singular"
        model.report.warn(text, massless.line, "massless")


def warn_of_held_base(model: ModelDescription, options: ReadOptions) -> None:
    """Warn if ``base="floating"`` frees nothing because movable joints connect the model to World."""
    on_world = [joint for joint in model.joints if WORLD in (joint.parent, joint.child)]
    if options.base == "floating" and not model.roots and on_world:
        why = f"joint {quote(on_world[0].name)} moves on World, and only fixed joints are left out"
        model.report.warn(f'base="floating" has no effect: {why}', on_world[0].line)


def count_elements(model: ModelDescription, options: ReadOptions) -> None:
    """Record in the report how many elements are added to the tree, and how many do not act."""
    report = model.report
    count_inactive(model, with_contacts=options.contacts)
    report.num_links, report.num_joints = len(model.links), len(model.joints)
    report.num_actuators = len(model.actuators)


def _check_magnitudes(root: Element, model: ModelDescription) -> None:
    """Raise an error if the sum of masses overflows; warn if the mass matrix may."""
    mass = sum([link.mass for link in model.links])
    if not math.isfinite(mass):
        raise root.error("the masses of its links add up to more than a float can hold")
    moment = sum([link.moment for link in model.links])
    positions = join_numbers([joint.X_PF for joint in model.joints]).reshape(-1, 4, 4)[:, :3, 3]
    reach = sum(map(abs, positions.ravel().tolist()))
    # A unit of motion of a screw or an arc may move a body by more than one unit.
    lever = max([1.0, *[joint.lever for joint in model.joints if joint.kind in ("screw", "curvilinear")]])
    rotor = sum(a.gear_ratio * a.gear_ratio * a.rotor_inertia for a in model.actuators)
    # Bounds every entry of the mass matrix: more than the sum over all bodies of I_Bo + m (reach + |com|)^2.
    if not math.isfinite((2.0 * moment + 2.0 * mass * reach * reach) * lever * lever + rotor):
        text = "masses and lengths are so large that the mass matrix is not finite"
        model.report.warn(text, root.line, "massless")


def _report_impossible_inertias(report: ParseReport) -> None:
    names = report.impossible_inertias
    if names:
        shown = ", ".join(quote(name, limit=30) for name in names[:10]) + (" ..." if len(names) > 10 else "")
        what = "1 link has an inertia" if len(names) == 1 else f"{len(names)} links have inertias"
        text = f"{what} that no physical body has, loaded as written: {shown}"
        report.warnings.insert(0, ParseRemark(text, about="inertia"))
