"""A readable view of a Context: its state by joint, its inputs by actuator."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from mbt.tree.report_tables import Section, Table, as_html, distinct_names, plural, show_number

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray

__all__ = ["describe_context_as_html"]

_MAX_ROWS = 60


def describe_context_as_html(context: Context) -> str:
    """Return state, inputs and applied forces of a Context as HTML; for a batch, of the first sample."""
    tree, shape = repr(context.tree).strip("<>"), context.batch_shape
    if 0 in shape:
        return as_html(f"Context without samples, batch_shape={shape}, of {tree}", [])
    sections = [_describe_state(context), _describe_actuation(context), _describe_forces(context)]
    sample = f", first sample of batch_shape={shape}" if shape else ""
    title = f"Context, time {float(_first(np.asarray(context.time), 0)):g}{sample}, of {tree}"
    return as_html(title, [section for section in sections if section is not None])


def _describe_state(context: Context) -> Section:
    tree = context.tree
    q, v = _first(context.q, 1), _first(context.v, 1)
    table = Table(("joint", "type", "", "q", "", "v", ""), left=(0, 1, 2, 4, 6))
    mobilizers = [m for m in tree._finalized("A Context").mobilizer_of_node if m.num_positions]
    names = distinct_names(mobilizers)
    for mobilizer in mobilizers:
        if len(table.rows) >= _MAX_ROWS:
            break
        joint = mobilizer.joint
        kind = type(mobilizer).__name__ if joint is None else joint.type_name.replace("_", " ")
        q_part = _pair(mobilizer.position_suffixes, q[mobilizer._position_range()])
        v_part = _pair(mobilizer.velocity_suffixes, v[mobilizer._velocity_range()])
        note = "" if joint is None else _describe_limits(q[mobilizer._position_range()], joint)
        for i, (position, velocity) in enumerate(zip_longest(q_part, v_part, fillvalue=("", ""))):
            first = (names[mobilizer], kind) if i == 0 else ("", "")
            table.add(*first, *position, *velocity, note if i == 0 else "")
    sizes = (
        f"{plural(tree.num_positions, 'position')}, {plural(tree.num_velocities, 'velocity', 'velocities')}"
    )
    if len(table.rows) >= _MAX_ROWS:
        table.num_rows = sum(max(m.num_positions, m.num_velocities) for m in mobilizers)
    return Section(f"State: {sizes}", table=table, is_open=True)


def _describe_limits(q: FloatArray, joint: object) -> str:
    lower, upper = (getattr(joint, f"position_{side}_limits") for side in ("lower", "upper"))
    for i in np.flatnonzero((q < lower) | (q > upper)):
        return f"beyond its limits [{show_number(float(lower[i]))}, {show_number(float(upper[i]))}]"
    return ""


def _describe_actuation(context: Context) -> Section | None:
    actuators = context.tree.joint_actuators
    if not actuators:
        return None
    u = _first(context.actuation, 1)
    table = Table(("actuator", "joint", "actuation"), left=(0, 1), max_rows=_MAX_ROWS)
    names, joints = distinct_names(actuators), distinct_names(context.tree.joints)
    for actuator in actuators[:_MAX_ROWS]:
        value = show_number(float(u[actuator.input_start]))
        table.add(names[actuator], joints[actuator.joint], value)
    table.num_rows = len(actuators)
    return Section(f"Actuation: {plural(len(actuators), 'input')}", table=table)


def _describe_forces(context: Context) -> Section | None:
    if not context._has_applied_forces:
        return None
    forces = context.applied_forces
    tree = context.tree
    F, tau = _first(forces.body_forces, 2), _first(forces.generalized_forces, 1)
    paragraphs = [
        f"on body {tree.bodies[tree.topology.body[b]].scoped_name!r} in World: torque "
        f"[{_join(F[b, :3])}] N m, force [{_join(F[b, 3:])}] N"
        for b in np.flatnonzero(F.any(axis=1))
    ]
    paragraphs += [
        f"along velocity {tree.velocity_names[k]!r}: {show_number(float(tau[k]))}"
        for k in np.flatnonzero(tau)
    ]
    return Section("Applied forces", paragraphs).cut(_MAX_ROWS) if paragraphs else None


def _pair(suffixes: tuple[str, ...], values: FloatArray) -> list[tuple[str, str]]:
    return [(suffix, show_number(value)) for suffix, value in zip(suffixes, values.tolist(), strict=True)]


def _join(values: FloatArray) -> str:
    return ", ".join(show_number(value) for value in values.tolist())


def _first(array: FloatArray, ndim: int) -> FloatArray:
    """Return the first sample of a batch, or the array itself."""
    while array.ndim > ndim:
        array = array[0]
    return array
