"""``mbt view``: shows a robot description in the browser."""

from __future__ import annotations

import json
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.cli.info import load
from mbt.cli.simulate import as_values
from mbt.cli.terminal import complain, write
from mbt.errors import ArgumentValueError, ModelWarning
from mbt.kinematics import InverseKinematics
from mbt.motion.trajectory import Trajectory
from mbt.viewer import Viewer, record, view

if TYPE_CHECKING:
    from argparse import Namespace

    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_view"]


def run_view(options: Namespace, **reading: Any) -> tuple[str, int]:
    """Show a file until the user interrupts, or record it.

    Parameters
    ----------
    options : Namespace
        Options of the command line.
    **reading
        As in `load_model`.

    Returns
    -------
    text : str
        The text that remains to be printed.
    code : int
        The exit code.

    Raises
    ------
    MbtError
        When the file or an option cannot be used, or the page cannot be written.
    """
    if options.ik and options.record is not None:
        raise ArgumentValueError("--ik: a recorded page has no handles; leave out --ik or --record")
    tree = load(options.file, **reading)
    q = tree.q_from_dict(as_values(options.position, "--position"))
    trajectory = None if options.trajectory is None else Trajectory.load(options.trajectory)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        if options.record is not None:
            _record(tree, q, trajectory, options)
            viewer = None
        else:
            viewer = _open(tree, q, trajectory, options)
    complaints = [str(warning.message) for warning in caught]
    for complaint in complaints:
        complain(complaint)
    if options.json:
        text = json.dumps(
            {
                "file": options.file,
                "model": tree.parse_reports[0].model_name,
                "output": options.record,
                "url": None if viewer is None else viewer.url,
                "warnings": complaints,
            },
            indent=2,
        )
    elif viewer is None:
        text = f"{options.record}: open this page in any browser"
    else:
        text = f"{viewer.url} - press Ctrl-C to stop"
    if viewer is None:
        return f"{text}\n", 0
    with viewer:
        _serve(viewer, text)
    return "", 0


def _record(tree: MultibodyTree, q: FloatArray, trajectory: Trajectory | None, options: Namespace) -> None:
    motion, dt = (trajectory, None) if trajectory is not None else (q[np.newaxis], 1.0)
    record(tree, motion, options.record, dt=dt, speed=options.speed, package_paths=options.package_path)


def _open(tree: MultibodyTree, q: FloatArray, trajectory: Trajectory | None, options: Namespace) -> Viewer:
    ik = InverseKinematics(tree)
    for frame in options.ik:
        ik.add_pose(frame)
    viewer = view(
        tree,
        q,
        package_paths=options.package_path,
        port=options.port,
        ik=ik if options.ik else None,
        open_browser=not options.no_browser,
    )
    if trajectory is not None:
        try:
            viewer.play(trajectory, speed=options.speed)
        except BaseException:
            viewer.close()
            raise
    return viewer


def _serve(viewer: Viewer, text: str) -> None:
    """Print the address, and wait until the user interrupts."""
    with suppress(KeyboardInterrupt):
        if sys.stdout is not None:
            write(f"{text}\n", sys.stdout)
            sys.stdout.flush()
        viewer.wait()
