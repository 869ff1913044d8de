"""Trajectories in files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, quote_path
from mbt.motion.events import EventStates
from mbt.motion.over_time import RESULTS, VECTORS
from mbt.motion.trajectory import Trajectory
from mbt.saving.files import as_path, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from mbt.math.arrays import FloatArray

__all__ = ["as_target", "check_fields", "columns_of", "load", "save"]

_FORMAT = "mbt trajectory 1"
_STATES = ("time", "q", "v", "tau", "num_limited")
_NAMES = (
    "position_names", "velocity_names", "position_units", "velocity_units", "equation_names", "contact_names",
    "sensor_names",
)  # fmt: skip
_WORDS = ("method", "status", "message")
_STATUSES = ("completed", "event", "failed")


def save(trajectory: Trajectory, path: object) -> None:
    """Write a trajectory; see ``Trajectory.save``."""
    target = as_target(path)
    if target.suffix == ".csv":
        write_file(target, _as_csv(trajectory))
        return
    memory = io.BytesIO()
    np.savez(memory, **_arrays_of(trajectory))
    write_file(target, memory.getvalue())


def as_target(path: object) -> Path:
    """Return the path of a file to write; its suffix decides the format."""
    target = as_path(path)
    if target.suffix not in (".npz", ".csv"):
        raise ArgumentValueError(f"path: expected an .npz or .csv file, got {quote_path(target)}")
    return target


def load(path: object) -> Trajectory:
    """Read a trajectory; see ``Trajectory.load``."""
    source = as_path(path)
    try:
        # np.load does not close a file that turns out not to be an archive.
        with open(source, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return _of_arrays(arrays)
    except Exception as error:  # Damaged archives and arrays raise anything.
        reason = "save() did not write it"
        if isinstance(error, OSError) and error.strerror:
            reason = error.strerror
        elif isinstance(error, MemoryError):
            reason = "it claims to hold more than fits in memory"
        elif source.suffix == ".csv":
            reason = "a table is not a complete trajectory; an .npz file of save() is"
        raise ArgumentValueError(f"path: {quote_path(source)} cannot be read: {reason}") from error


def _arrays_of(trajectory: Trajectory) -> dict[str, Any]:
    """Return all parts of a trajectory as arrays, by name."""
    arrays = {"format": np.array(_FORMAT), "num_steps": np.array(trajectory.num_steps)}
    arrays |= {name: np.array(getattr(trajectory, name)) for name in (*_STATES, *_NAMES, *_WORDS)}
    arrays |= trajectory._results()
    for i, event in enumerate(trajectory.events):
        arrays |= {f"event_{i}_{name}": array for name, array in event._asdict().items()}
    return arrays


def _of_arrays(arrays: dict[str, Any]) -> Trajectory:
    if _word(arrays["format"]) != _FORMAT:
        raise ValueError
    # Files from before there were sensors lack these.
    arrays.setdefault("sensor_names", np.zeros(0))
    arrays.setdefault("sensors", np.zeros((*arrays["q"].shape[:-1], 0)))
    events: list[EventStates] = []
    while f"event_{len(events)}_time" in arrays:
        events.append(EventStates(*(arrays[f"event_{len(events)}_{name}"] for name in EventStates._fields)))
    fields: dict[str, Any] = {name: arrays[name] for name in _STATES}
    fields |= {name: _names(arrays[name]) for name in _NAMES}
    fields |= {name: _word(arrays[name]) for name in _WORDS}
    fields["num_steps"] = _of_kind(arrays["num_steps"], "iu", ()).item()
    fields |= {"events": tuple(events), "_known": {name: arrays[name] for name in RESULTS}}
    check_fields(fields)
    return Trajectory(**fields)


def check_fields(fields: dict[str, Any]) -> None:
    """Check the parts of a trajectory, whatever their source.

    Raises
    ------
    ValueError, KeyError, TypeError, AttributeError
        If one of them is invalid.
    """
    fields.setdefault("sensor_names", ())  # Old pickles lack it.
    words = [fields[name] for name in _WORDS] + [word for name in _NAMES for word in fields[name]]
    if not all(type(word) is str for word in words) or type(fields["num_steps"]) is not int:
        raise ValueError
    if fields["status"] not in _STATUSES or not all(type(fields[name]) is tuple for name in _NAMES):
        raise ValueError
    _check_shapes(fields)
    _check_results(fields, fields["_known"])


def _of_kind(array: Any, kinds: str, shape: tuple[int, ...]) -> Any:
    """Return an array of this shape, after a check that its numbers or text are of these kinds."""
    if array.dtype.kind not in kinds or array.shape != shape or not array.dtype.isnative:
        raise ValueError
    return array


def _floats(array: Any, shape: tuple[int, ...]) -> None:
    if _of_kind(array, "f", shape).dtype != np.float64:
        raise ValueError


def _times(array: Any, count: int) -> None:
    _floats(array, (count,))
    if not (np.isfinite(array).all() and (np.diff(array) >= 0.0).all()):
        raise ValueError


def _word(array: Any) -> str:
    word: str = _of_kind(array, "U", ()).item()
    return word


def _names(array: Any) -> tuple[str, ...]:
    # NumPy makes an empty array of names one of floats.
    return tuple(_of_kind(array, "U" if array.size else "fU", (array.size,)).tolist())


def _check_shapes(fields: dict[str, Any]) -> None:
    batch, n = fields["q"].shape[:-2], fields["time"].size
    nq, nv = len(fields["position_names"]), len(fields["velocity_names"])
    if (len(fields["position_units"]), len(fields["velocity_units"])) != (nq, nv):
        raise ValueError
    _times(fields["time"], n)
    for name, size in {"q": nq, "v": nv, "tau": nv}.items():
        _floats(fields[name], (*batch, n, size))
    _of_kind(fields["num_limited"], "iu", (*batch, nv))
    if fields.get("_moved") is not None:
        _floats(fields["_moved"], (*batch, n, fields["_moved"].shape[-1]))
    if fields.get("solver") is not None:
        _check_solver(fields, (*batch, fields["num_steps"]), nv)
    for event in fields["events"]:
        k = event.time.size
        _times(event.time, k)
        _floats(event.q, (k, nq))
        _floats(event.v, (k, nv))


def _check_solver(fields: dict[str, Any], steps: tuple[int, ...], nv: int) -> None:
    iterations, residual, at_limit, saturated = fields["solver"]
    _of_kind(iterations, "iu", steps)
    _floats(residual, steps)
    _of_kind(at_limit, "b", (*steps, nv))
    _of_kind(saturated, "b", (*steps, *saturated.shape[-1:]))


def _check_results(fields: dict[str, Any], known: dict[str, Any]) -> None:
    samples, num_equations = fields["q"].shape[:-1], len(fields["equation_names"])
    sizes = {
        "vdot": len(fields["velocity_names"]),
        "constraint_errors": num_equations,
        "multipliers": num_equations,
        "contact_forces": 3 * len(fields["contact_names"]),
        "sensors": len(fields["sensor_names"]),
    }
    for name, array in known.items():
        _floats(array, (*samples, sizes[name]) if name in VECTORS else samples)


def columns_of(trajectory: Trajectory) -> dict[tuple[str, str], FloatArray]:
    """Return all known quantities of one state over time, by quantity and name."""
    vectors = {
        "q": (trajectory.position_names, trajectory.q),
        "v": (trajectory.velocity_names, trajectory.v),
        "vdot": (trajectory.velocity_names, trajectory.vdot),
        "tau": (trajectory.velocity_names, trajectory.tau),
        "energy": (trajectory.energy._fields, np.stack(trajectory.energy, axis=-1)),
    }
    if trajectory.equation_names:
        vectors["constraint_errors"] = (trajectory.equation_names, trajectory.constraint_errors)
        vectors["multipliers"] = (trajectory.equation_names, trajectory.multipliers)
    if trajectory.contact_names:
        names = tuple(f"{name}_{axis}" for name in trajectory.contact_names for axis in "xyz")
        vectors["contact_forces"] = (names, trajectory.contact_forces.reshape(len(trajectory), -1))
    if trajectory.sensor_names:
        vectors["sensors"] = (trajectory.sensor_names, trajectory.sensors)
    return {
        (quantity, name): array[:, i]
        for quantity, (names, array) in vectors.items()
        for i, name in enumerate(names)
    }


def _as_csv(trajectory: Trajectory) -> str:
    """Return a table with a line of names, ``q.elbow_q``; numbers are read back to the last bit."""
    trajectory._check_one_state("save to .csv")
    columns = columns_of(trajectory)
    # Characters that could end a field or a line.
    names = ["time", *(".".join(key) for key in columns)]
    header = ",".join(
        '"' + name.replace('"', '""') + '"' if set(name) & set('",\r\n') else name for name in names
    )
    rows = np.column_stack([trajectory.time, *columns.values()]).tolist()
    return "\n".join([header, *(",".join(map(repr, row)) for row in rows)]) + "\n"
