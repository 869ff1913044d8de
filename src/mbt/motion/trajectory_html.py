"""A trajectory in a notebook: lines over time, and positions at the beginning and the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.tree.pictures.svg import draw_lines_over_time
from mbt.tree.report_tables import Section, Table, as_html, show_number

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory

__all__ = ["describe_trajectory_as_html"]

_MAX_ROWS = 60
# Most lines that can be told apart in one picture.
_MAX_LINES = 12
# Beyond this many samples or positions energies take a while to compute: they are shown only if known.
_MAX_NUMBERS = 200_000


def describe_trajectory_as_html(trajectory: Trajectory) -> str:
    """Return pictures and a table; for a batch only the sizes."""
    facts = Section(f"It {_ending(trajectory)}: {trajectory.message}", [f"{trajectory.num_steps} steps"])
    if trajectory.batch_shape or not len(trajectory):
        return as_html(repr(trajectory), [facts])
    pictures = [
        Section(title, picture=picture, is_open=True)
        for title, picture in (
            (
                "Positions",
                _draw(trajectory, trajectory.q, trajectory.position_names, trajectory.position_units),
            ),
            (
                "Velocities",
                _draw(trajectory, trajectory.v, trajectory.velocity_names, trajectory.velocity_units),
            ),
            ("Energy", _draw_energy(trajectory)),
        )
        if picture
    ]
    table = Table(("position", "start", "end", "least", "greatest", "unit"), left=(0, 5))
    for i, name in enumerate(trajectory.position_names[:_MAX_ROWS]):
        column = trajectory.q[:, i]
        numbers = (column[0], column[-1], column.min(), column.max())
        table.add(name, *(show_number(float(x)) for x in numbers), trajectory.position_units[i])
    table.num_rows = len(trajectory.position_names)
    sections = [*pictures, Section("Positions in numbers", table=table), facts]
    return as_html(repr(trajectory), sections)


def _ending(trajectory: Trajectory) -> str:
    return {"completed": "ran to its end", "event": "ended with an event"}.get(trajectory.status, "failed")


def _draw(trajectory: Trajectory, values: FloatArray, names: tuple[str, ...], units: tuple[str, ...]) -> str:
    """Return a picture for each unit, with the first lines."""
    parts = []
    for unit in dict.fromkeys(units):
        places = [i for i, own in enumerate(units) if own == unit]
        title = f"[{unit}]" if unit else "quaternion"
        if len(places) > _MAX_LINES:
            title += f", {_MAX_LINES} of {len(places)}"
            places = places[:_MAX_LINES]
        chosen = [names[i] for i in places]
        parts.append(draw_lines_over_time(trajectory.time, values[:, places], chosen, title))
    return "".join(parts)


def _draw_energy(trajectory: Trajectory) -> str:
    is_known = {"kinetic_energy", "potential_energy"} <= trajectory._known.keys()
    if not is_known and (trajectory._context is None or trajectory.q.size > _MAX_NUMBERS):
        return ""
    energies = np.stack(trajectory.energy, axis=-1)
    return draw_lines_over_time(trajectory.time, energies, trajectory.energy._fields, "[J]")
