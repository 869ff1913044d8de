"""Draws trajectories over time, with a panel for each unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError
from mbt.plotting.matplotlib_parts import line_style
from mbt.plotting.names import shorten_name
from mbt.tree.pictures.colours import GREY

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["draw"]

# The most lines that can be told apart, and named next to a panel.
_MOST_NAMES = 12
_WIDTH, _HEIGHT_OF_PANEL = 9.0, 2.1
# A limit is shown if its distance from the lines is at most this multiple of their spread.
_REACH = 1.5
# Smaller spreads, in SI units, are rounding, and not magnified.
_ROUNDING = 1e-12
_LABELS = {"": "quaternion", "rad": "angle", "m": "position", "N m": "torque", "N": "force"}


class _Panel(NamedTuple):
    """Lines over time with the same unit, their limits, and when these hold them.

    `lower` and `upper` have one number per line; `is_held` has the shape of `values`.
    """

    label: str
    names: tuple[str, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_held: npt.NDArray[np.bool_] | None = None


def draw(trajectory: Trajectory, figure: Any, tree: MultibodyTree | None) -> Any:
    """Draw a trajectory; see ``Trajectory.plot``. The limits are those of the tree, if it is known."""
    panels = _panels_of(trajectory, tree)
    size = _WIDTH, 0.6 + _HEIGHT_OF_PANEL * len(panels)
    if figure is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=size)
    elif not hasattr(figure, "subplots"):
        raise ArgumentTypeError(f"figure: expected one of matplotlib, got {type(figure).__name__}")
    else:
        figure.set_size_inches(size)
    figure.set_layout_engine("constrained")
    rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        _draw_panel(axes, panel, trajectory)
    rows[-1].set_xlabel("time [s]")
    figure.align_ylabels(rows)
    return figure


def _panels_of(trajectory: Trajectory, tree: MultibodyTree | None) -> list[_Panel]:
    """Return positions, velocities and forces by their units, reactions, and energies."""
    nq, nv = trajectory.q.shape[-1], trajectory.v.shape[-1]
    effort_units = tuple("N m" if unit == "rad/s" else "N" for unit in trajectory.velocity_units)
    limits = [(np.full(n, -np.inf), np.full(n, np.inf)) for n in (nq, nv, nv)]
    if tree is not None:
        limits = [
            (tree.position_lower_limits, tree.position_upper_limits),
            (tree.velocity_lower_limits, tree.velocity_upper_limits),
            _effort_limits(tree),
        ]
    at_limit, is_full = _find_held(trajectory, tree)
    free = np.zeros((len(trajectory), nv), dtype=np.bool_)
    quantities = (
        ("position", trajectory.q, trajectory.position_names, trajectory.position_units, limits[0], at_limit),
        ("velocity", trajectory.v, trajectory.velocity_names, trajectory.velocity_units, limits[1], free),
        ("applied", trajectory.tau, trajectory.velocity_names, effort_units, limits[2], is_full),
    )
    panels = []
    for quantity, values, names, units, (lower, upper), is_held in quantities:
        for unit in dict.fromkeys(units):
            places = [i for i, own in enumerate(units) if own == unit]
            if quantity == "applied":  # Leave out zero forces.
                places = [i for i in places if values[:, i].any()]
            if not places:
                continue
            label = _LABELS.get(unit, quantity)
            title = f"{label} [{unit}]" if unit else label
            own_names = tuple(names[i] for i in places)
            parts = values[:, places], lower[places], upper[places], is_held[:, places]
            panels.append(_Panel(title, own_names, *parts))
    return [*panels, *_reactions_of(trajectory), *_touching_of(trajectory), _energies_of(trajectory)]


def _reactions_of(trajectory: Trajectory) -> list[_Panel]:
    """Return multipliers of constraints, and the magnitude of the force at each contact point, if any."""
    sizes = np.linalg.norm(trajectory.contact_forces, axis=-1)
    parts = (
        ("constraint forces [N, N m]", trajectory.equation_names, trajectory.multipliers),
        ("contact forces [N]", trajectory.contact_names, sizes),
    )
    none = np.array(np.inf)
    return [
        _Panel(label, names, values, *(np.broadcast_to(limit, len(names)) for limit in (-none, none)))
        for label, names, values in parts
        if names
    ]


def _touching_of(trajectory: Trajectory) -> list[_Panel]:
    """Return the normal forces between shapes, for the pairs that ever touch."""
    if trajectory._contact is None or trajectory._context is None:
        return []
    contacts = trajectory.contacts
    pairs, columns = np.unique(contacts.pair, return_inverse=True)
    if not pairs.size:
        return []
    values = np.zeros((len(trajectory), pairs.size))
    pressure = np.einsum("ij,ij->i", contacts.force_W, contacts.n_W)
    np.add.at(values, (contacts.sample, columns), pressure)
    names = tuple(" on ".join(contacts.pairs[i]) for i in pairs)
    none = np.full(pairs.size, np.inf)
    return [_Panel("normal forces [N]", names, values, -none, none)]


def _energies_of(trajectory: Trajectory) -> _Panel:
    """Return kinetic and potential energy, their sum, and the sum minus the work, which is constant."""
    names, values = list(trajectory.energy._fields), list(trajectory.energy)
    if trajectory.work.any():
        names += ["work", "total - work"]
        values += [trajectory.work, trajectory.energy.total - trajectory.work]
    none = np.full(len(names), np.inf)
    return _Panel("energy [J]", tuple(names), np.stack(values, axis=-1), -none, none)


def _find_held(
    trajectory: Trajectory, tree: MultibodyTree | None
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return for each position whether a limit pushed it, and for each force whether it was at its limit.

    That is known for implicit steps only: from the step that leads to a position, and from the step in which
    a force acts.
    """
    nq, nv = trajectory.q.shape[-1], trajectory.v.shape[-1]
    at_limit, is_full = (np.zeros((len(trajectory), n), dtype=np.bool_) for n in (nq, nv))
    solver = trajectory.solver
    if tree is None or solver is None or len(solver.at_limit) != len(trajectory) - 1:
        return at_limit, is_full
    for joint in tree.joints:
        if joint.num_positions == joint.num_velocities:
            i, k, n = joint.position_start, joint.velocity_start, joint.num_velocities
            at_limit[1:, i : i + n] = solver.at_limit[:, k : k + n]
    for i, actuator in enumerate(tree.joint_actuators):
        is_full[:-1, actuator.velocity_start] |= solver.saturated[:, i]
    is_full[-1:] = is_full[-2:-1]
    return at_limit, is_full


def _effort_limits(tree: MultibodyTree) -> tuple[FloatArray, FloatArray]:
    """Return limits of the forces along velocities: the sums over the actuators of each joint."""
    upper = np.full(tree.num_velocities, np.inf)
    sums: dict[int, float] = {}
    for actuator in tree.joint_actuators:
        k = actuator.velocity_start
        sums[k] = sums.get(k, 0.0) + actuator.effort_limit
    for k, limit in sums.items():
        upper[k] = limit
    return -upper, upper


def _draw_panel(axes: Any, panel: _Panel, trajectory: Trajectory) -> None:
    marker = "." if len(trajectory) == 1 else None
    count = len(panel.names)
    for i, name in enumerate(panel.names):
        label = shorten_name(name)
        # Matplotlib leaves out names that begin with an underscore.
        label = f" {label}" if label.startswith("_") else label
        axes.plot(
            trajectory.time, panel.values[:, i], label=label, linewidth=1.4, marker=marker, **line_style(i)
        )
    _draw_limits(axes, panel)
    _draw_held(axes, panel, trajectory)
    axes.set_ylabel(panel.label)
    axes.grid(True, alpha=0.3)
    axes.margins(x=0.01)
    if np.ptp(axes.get_ylim()) < 10.0 * _ROUNDING:
        middle = float(np.mean(axes.get_ylim()))
        axes.set_ylim(middle - 1.0, middle + 1.0)
    if count <= _MOST_NAMES:
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, frameon=False,
            fontsize="x-small", labelspacing=0.25, handlelength=3.0,
        )  # fmt: skip
    else:
        axes.set_title(f"{count} lines", loc="right", fontsize="small")


def _draw_held(axes: Any, panel: _Panel, trajectory: Trajectory) -> None:
    """Thicken lines where a limit holds them."""
    if panel.is_held is None or not panel.is_held.any():
        return
    thick = {"linewidth": 5.0, "alpha": 0.4, "solid_capstyle": "butt"}
    for i in np.flatnonzero(panel.is_held.any(axis=0)):
        held = np.where(panel.is_held[:, i], panel.values[:, i], np.nan)
        color = line_style(int(i))["color"]
        axes.plot(trajectory.time, held, marker=".", color=color, gid="held", label="_held", **thick)
    axes.plot([], [], color=GREY, label="held by a limit", **thick)


def _draw_limits(axes: Any, panel: _Panel) -> None:
    """Draw each limit that is near: in the colour of its line, or in grey if several lines share it."""
    finite = panel.values[np.isfinite(panel.values).all(axis=1)]
    if not len(finite):
        return
    low, high = float(finite.min()), float(finite.max())
    reach = _REACH * max(high - low, 1e-9 * max(abs(low), abs(high), 1.0))
    owners: dict[float, list[int]] = {}
    for bounds in (panel.lower, panel.upper):
        for i, limit in enumerate(bounds.tolist()):
            if low - reach <= limit <= high + reach:
                owners.setdefault(limit, []).append(i)
    for limit, lines in owners.items():
        color = line_style(lines[0])["color"] if len(lines) == 1 else GREY
        axes.axhline(limit, color=color, linestyle=":", linewidth=1.0, gid="limit")
    if owners:
        label = "limit" if len(owners) == 1 else "limits"
        axes.plot([], [], color=GREY, linestyle=":", linewidth=1.0, label=label)
