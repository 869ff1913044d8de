"""``mbt identify``: fits a robot description to measurements."""

from __future__ import annotations

import csv
import json
import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.cli.info import load
from mbt.cli.simulate import make_figure, save_figure
from mbt.errors import ArgumentValueError, ModelWarning, quote, quote_path
from mbt.identification import identify, preprocess
from mbt.saving import save_model

if TYPE_CHECKING:
    from argparse import Namespace

    from mbt.identification import Identified
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_identification"]


def run_identification(options: Namespace, **reading: Any) -> tuple[str, list[str], int]:
    """Fit the description in a file to a log; save and plot as the options ask.

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
    remarks : list of str
        Losses in the format of the saved model.
    code : int
        0, or 1 when the report has warnings.

    Raises
    ------
    MbtError
        When a file or an option cannot be used, or an output cannot be written.
    """
    figure = None if options.plot is None else make_figure()
    tree = load(options.file, actuators="all" if options.rotors else "declared", **reading)
    time, q, tau = _read_log(options.log, tree)
    log = preprocess(tree, time, q, tau, cutoff=options.cutoff, delay=options.delay)
    found = identify(
        tree,
        *log,
        friction=options.friction,
        rotors=options.rotors,
        robust=options.robust,
        prior=options.prior,
        solver=options.solver,
    )
    remarks = []
    if options.save is not None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            save_model(found.tree, options.save)
        remarks = [str(warning.message) for warning in caught]
    if figure is not None:
        found.plot(figure)
        save_figure(figure, options.plot)
    text = _describe_as_json(tree, found) if options.json else f"{found.report()}\n"
    return text, remarks, 1 if found.warnings else 0


def _read_log(path: str, tree: MultibodyTree) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times, positions and forces from a table with a header line (`Trajectory.save`)."""
    names = ["time", *(f"q.{name}" for name in tree.position_names)]
    names += [f"tau.{name}" for name in tree.velocity_names]
    try:
        with open(path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file)
            header = next(reader, [])
            rows = [(reader.line_num, row) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise ArgumentValueError(f"LOG: {quote_path(path)} cannot be read: {reason}") from error
    missing = [name for name in names if name not in header]
    if missing:
        raise ArgumentValueError(
            f"LOG: {quote_path(path)} has no column {', '.join(map(quote, missing[:5]))}"
            f"{', ...' if len(missing) > 5 else ''}; expected a first line with the names "
            f"{', '.join([*names[:2], '...', names[-1]])}"
        )
    places = [header.index(name) for name in names]
    table = np.empty((len(rows), len(names)))
    for i, (line, row) in enumerate(rows):
        try:
            table[i] = [float(row[k]) for k in places]
        except (ValueError, IndexError):
            raise ArgumentValueError(
                f"LOG: line {line} of {quote_path(path)}: expected a number in each of {len(header)} columns"
            ) from None
    nq = tree.num_positions
    return table[:, 0], table[:, 1 : 1 + nq], table[:, 1 + nq :]


def _describe_as_json(tree: MultibodyTree, found: Identified) -> str:
    """Return the report for programs. The keys are documented in ``docs/command_line.md``."""
    report = tree.parse_reports[0]

    def of_joints(values: FloatArray) -> dict[str, float]:
        return dict(zip(tree.velocity_names, values.tolist(), strict=True))

    def number(value: float) -> float | None:
        return value if math.isfinite(value) else None

    value = {
        "file": report.file,
        "model": report.model_name,
        "num_samples": found.num_samples,
        "condition_number": number(found.condition_number),
        "noise": of_joints(found.noise),
        "residual_rms": of_joints(found.residual_rms),
        "base_parameters": [
            {"name": name, "described": old, "found": new, "standard_error": number(error)}
            for name, old, new, error in zip(
                found.base.descriptions,
                found.described_base_values.tolist(),
                found.base_values.tolist(),
                found.base_standard_errors.tolist(),
                strict=True,
            )
        ],
        "friction": {term: of_joints(values) for term, values in found.friction.items()},
        "rotors": None if found.rotors is None else of_joints(found.rotors),
        "masses": {body.name: body.default_mass for body in found.tree.bodies[1:]},
        "warnings": list(found.warnings),
    }
    return json.dumps(value, indent=2, allow_nan=False) + "\n"
