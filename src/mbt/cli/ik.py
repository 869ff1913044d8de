"""``mbt ik``: finds positions that bring a frame of a robot description to a pose."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.cli.info import load
from mbt.cli.simulate import as_values
from mbt.cli.terminal import make_table, number
from mbt.errors import ArgumentValueError
from mbt.kinematics import InverseKinematics
from mbt.math.poses import make_pose

if TYPE_CHECKING:
    from argparse import Namespace

    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_ik"]


def run_ik(options: Namespace, **reading: Any) -> tuple[str, int]:
    """Solve for one goal pose of one frame.

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
    code : int
        0, or 1 when no solution was found.

    Raises
    ------
    MbtError
        When the file or an option cannot be used.
    """
    if len(options.goal) not in (3, 6):
        raise ArgumentValueError(
            f"--goal: expected X Y Z, or X Y Z ROLL PITCH YAW, got {len(options.goal)} numbers"
        )
    if not all(map(math.isfinite, options.goal)):
        raise ArgumentValueError(f"--goal: expected finite numbers, got {' '.join(map(str, options.goal))}")
    tree = load(options.file, **reading)
    start = tree.q_from_dict(as_values(options.position, "--position"))
    ik = InverseKinematics(tree)
    goal: FloatArray = np.array(options.goal)
    if len(goal) == 6:
        ik.add_pose(options.frame)
        goal = make_pose(goal[:3], rpy=goal[3:])
    else:
        ik.add_position(options.frame)
    found = ik.solve([goal], start, seeds=options.seeds)
    solutions = [found.q]
    if options.all and found.success:
        solutions = list(ik.solve_all([goal], start, seeds=options.seeds))
    errors = {"distance_error": math.hypot(*found.error[-3:])}
    if len(found.error) == 6:
        errors["rotation_error"] = math.hypot(*found.error[:3])
    describe = _describe_as_json if options.json else _describe
    return describe(tree, bool(found.success), solutions, errors), 0 if found.success else 1


def _describe(
    tree: MultibodyTree, success: bool, solutions: list[FloatArray], errors: dict[str, float]
) -> str:
    report = tree.parse_reports[0]
    said = ", ".join(f"{number(errors[key], 2)} {unit}" for key, unit in _UNITS.items() if key in errors)
    what = f"{len(solutions)} solutions" if len(solutions) > 1 else "solved" if success else "not reached"
    names = ["q"] if len(solutions) == 1 else [f"q {i}" for i in range(1, len(solutions) + 1)]
    shown = solutions[:_MAX_COLUMNS]
    rows = [
        (name, *(number(q[i]) for q in shown))
        for i, name in enumerate(tree.position_names)
    ]  # fmt: skip
    lines = make_table(("position", *names[:_MAX_COLUMNS]), rows, left=(0,))
    if len(shown) < len(solutions):
        lines.append(f"  … {len(solutions) - len(shown)} more solutions (--json has them all)")
    return "\n".join([f"{report.model_name} · {report.file}", f"{what}: error {said}", "", *lines]) + "\n"


def _describe_as_json(
    tree: MultibodyTree, success: bool, solutions: list[FloatArray], errors: dict[str, float]
) -> str:
    """Return the report for programs. The keys are documented in ``docs/command_line.md``."""
    report = tree.parse_reports[0]
    named = [dict(zip(tree.position_names, q.tolist(), strict=True)) for q in solutions]
    value = {
        "file": report.file,
        "model": report.model_name,
        "success": success,
        **errors,
        "positions": named[0],
        "solutions": named if success else [],
    }
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


_UNITS = {"rotation_error": "rad", "distance_error": "m"}

# Units of the errors in the report.
_MAX_COLUMNS = 6
