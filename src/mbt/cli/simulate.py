"""``mbt simulate``: simulates a robot description."""

from __future__ import annotations

import json
import math
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.cli.info import load
from mbt.cli.terminal import clip, line_width, make_bar, make_table, number, write
from mbt.errors import ArgumentValueError, MissingPackageError, SimulationWarning, quote, quote_path
from mbt.math.poses import make_pose
from mbt.motion.simulation import simulate
from mbt.motion.trajectory_files import as_target
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from argparse import Namespace

    from mbt.context.context import Context
    from mbt.geometry import ShapeContact
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["as_values", "make_figure", "run_simulation", "save_figure"]

_MAX_ROWS = 60


def run_simulation(options: Namespace, **reading: Any) -> tuple[str, str | None]:
    """Simulate a file; save and plot as the options ask.

    Parameters
    ----------
    options : Namespace
        Options of the command line.
    **reading
        As in `load_model`.

    Returns
    -------
    text : str
        The report.
    complaint : str or None
        Why the simulation stopped early.

    Raises
    ------
    MbtError
        When the file or an option cannot be used, or an output cannot be written.
    """
    if options.save is not None:
        as_target(options.save)
    figure = None if options.plot is None else make_figure()
    tree, contacts = _load(options, reading)
    context, tau = _prepare(tree, options)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SimulationWarning)  # For the report.
        trajectory = simulate(
            tree,
            context,
            options.duration,
            options.dt,
            method=options.method,
            control=tau,
            limit_efforts=options.limit_efforts,
            contacts=contacts,
            progress=_make_bar() if sys.stderr is not None and sys.stderr.isatty() else False,
        )
    seconds = time.perf_counter() - start
    if options.save is not None:
        trajectory.save(options.save)
    if figure is not None:
        trajectory.plot(figure)
        save_figure(figure, options.plot)
    # In case of a failure, the status reports it.
    warned = [str(x.message).removeprefix("simulate: ") for x in caught if trajectory.status != "failed"]
    describe: Callable[..., str] = _describe_as_json if options.json else _describe
    text = describe(tree, trajectory, seconds, warned)
    return text, trajectory.message if trajectory.status == "failed" else None


def _prepare(tree: MultibodyTree, options: Namespace) -> tuple[Context, Any]:
    """Return a Context with the state given by the options, and the forces."""
    context = tree.create_default_context()
    context.q = tree.q_from_dict(as_values(options.position, "--position"))
    context.v = tree.v_from_dict(as_values(options.velocity, "--velocity"))
    return context, tree.v_from_dict(as_values(options.torque, "--torque"))


def _load(options: Namespace, reading: dict[str, Any]) -> tuple[MultibodyTree, ShapeContact | None]:
    """Return the tree, and the contact, or None without contact."""
    if not options.contacts:
        for name in ("floor", "friction"):
            if getattr(options, name) is not None:
                raise ArgumentValueError(f"--{name}: expected --contacts, too: nothing touches without it")
        return load(options.file, **reading), None
    floors = () if options.floor is None else (make_pose([0, 0, options.floor]),)
    obstacles = [Shape("plane", [], X_WG, name="floor") for X_WG in floors]
    loaded: Any = load(options.file, contacts=True, obstacles=obstacles, **reading)
    tree, contacts = loaded
    if not contacts.pairs:
        cure = ": --floor Z adds a floor to stand on" if options.floor is None else ""
        raise ArgumentValueError(f"--contacts: no shapes of this model can touch{cure}")
    if options.friction is not None:
        from mbt.geometry import ShapeContact

        contacts = ShapeContact(contacts.scene, options.friction)
    return tree, contacts


def as_values(settings: Sequence[str], option: str) -> dict[str, Any]:
    """Return the values of an option with settings JOINT=VALUE, by the names of the joints."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, _, text = setting.rpartition("=")
        try:
            numbers = [float(part) for part in text.split(",")]
        except ValueError:
            numbers = []
        if not name or not numbers:
            raise ArgumentValueError(
                f"{option}: expected JOINT=VALUE or JOINT=VALUE,VALUE,..., got {quote(setting)}"
            )
        if name in values:
            raise ArgumentValueError(f"{option}: expected each joint once, got {quote(name)} twice")
        values[name] = numbers[0] if len(numbers) == 1 else numbers
    return values


def _make_bar() -> Callable[[float], None]:
    """Return a function that shows progress on a terminal, and erases it at the end."""
    shown = -1

    def show(share: float) -> None:
        nonlocal shown
        if int(100 * share) != shown:
            shown = int(100 * share)
            end = "\r" + " " * 30 + "\r" if share >= 1.0 else ""
            write(f"\r{make_bar(share)} {share:4.0%}{end}", sys.stderr)
            sys.stderr.flush()

    return show


def make_figure() -> Any:
    """Return an empty figure for the option `--plot`."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError(
            f"--plot needs matplotlib: pip install 'multibodytree[plot]' ({error})"
        ) from error
    return Figure()


def save_figure(figure: Any, path: str) -> None:
    """Write the figure to the path of the option `--plot`."""
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentValueError(f"--plot: {quote_path(path)} cannot be written: {reason}") from error


def _describe(tree: MultibodyTree, trajectory: Trajectory, seconds: float, warned: list[str]) -> str:
    """Return the report for a terminal."""
    report, duration = tree.parse_reports[0], _duration_of(trajectory)
    total, work = trajectory.energy.total, trajectory.work
    drift = np.abs(trajectory.energy_drift).max()
    lines = [
        f"{report.model_name} · {report.file}",
        f"{number(duration)} s in {trajectory.num_steps} steps ({trajectory.method}): {trajectory.message}",
        f"computed in {number(seconds, 3)} s, {number(duration / seconds, 3)} times as fast as real time",
        f"energy {number(total[0], 6)} J → {number(total[-1], 6)} J, of which work {number(work[-1], 6)} J; "
        f"largest drift {number(drift, 2)} J",
    ]
    if trajectory.constraint_errors.size:
        error = np.abs(trajectory.constraint_errors).max()
        lines.append(f"largest error of a constraint {number(error, 2)} (m or rad)")
    lines += [f"effort of {name} clipped in {n} steps" for name, n in _limited(trajectory).items()]
    lines = [clip(line, line_width()) for line in lines]
    for text in warned:
        lines += textwrap.wrap(f"warning: {text}", line_width(), subsequent_indent="  ")
    return "\n".join([*lines, "", *_describe_motion(trajectory)]) + "\n"


def _describe_motion(trajectory: Trajectory) -> list[str]:
    q = trajectory.q
    columns = (q[0], q[-1], q.min(axis=0), q.max(axis=0))
    rows = [
        (name, *(number(column[i]) for column in columns), trajectory.position_units[i])
        for i, name in enumerate(trajectory.position_names[:_MAX_ROWS])
    ]
    lines = make_table(("position", "start", "end", "least", "greatest", ""), rows, left=(0, 5))
    more = len(trajectory.position_names) - _MAX_ROWS
    return [*lines, f"  … {more} more positions (--json has them all)"] if more > 0 else lines


def _describe_as_json(tree: MultibodyTree, trajectory: Trajectory, seconds: float, warned: list[str]) -> str:
    """Return the report for programs. The keys are documented in ``docs/command_line.md``."""
    report, duration, energy = tree.parse_reports[0], _duration_of(trajectory), trajectory.energy
    value = {
        "file": report.file,
        "model": report.model_name,
        "method": trajectory.method,
        "status": trajectory.status,
        "message": trajectory.message,
        "warnings": warned,
        "duration": duration,
        "num_steps": trajectory.num_steps,
        "wall_time": seconds,
        "real_time_factor": duration / seconds,
        "energy_at_start": energy.total[0],
        "energy_at_end": energy.total[-1],
        "work": trajectory.work[-1],
        "energy_drift": np.abs(trajectory.energy_drift).max(),
        "constraint_error": np.abs(trajectory.constraint_errors).max(initial=0.0),
        "num_limited": _limited(trajectory),
        "positions": dict(zip(trajectory.position_names, trajectory.q[-1].tolist(), strict=True)),
        "velocities": dict(zip(trajectory.velocity_names, trajectory.v[-1].tolist(), strict=True)),
    }
    # JSON has neither NaN nor infinity.
    numbers = {k: None if isinstance(x, float) and not math.isfinite(x) else x for k, x in value.items()}
    return json.dumps(numbers, indent=2, allow_nan=False) + "\n"


def _duration_of(trajectory: Trajectory) -> float:
    return float(trajectory.time[-1] - trajectory.time[0])


def _limited(trajectory: Trajectory) -> dict[str, int]:
    counts = zip(trajectory.velocity_names, trajectory.num_limited.tolist(), strict=True)
    return {name: count for name, count in counts if count}
