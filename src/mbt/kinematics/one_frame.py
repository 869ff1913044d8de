"""Inverse kinematics of one frame in a single call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.context.checks import compile_copy, frame_index
from mbt.errors import ArgumentValueError
from mbt.kinematics.inverse_kinematics import InverseKinematics
from mbt.kinematics.tasks import TOLERANCE
from mbt.math.arrays import as_float_array

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mbt.kinematics.result import InverseKinematicsResult
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["inverse_kinematics"]

# A problem takes 6 MB for a chain of 1000 joints.
_MOST_KEPT = 4


def inverse_kinematics(
    tree: MultibodyTree,
    frame: Frame | str,
    X_WG: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    *,
    seeds: int = 64,
    rng: int | np.random.Generator | None = 0,
    tolerance: tuple[float, float] = TOLERANCE,
    max_steps: int = 100,
) -> InverseKinematicsResult:
    """Find positions at which a frame has a pose: `InverseKinematics` with one task.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    frame : Frame or str
        A frame or a body, or its name.
    X_WG : array_like, shape (..., 4, 4)
        Its pose in World.
    start : array_like, shape (..., num_positions), optional
        Where to begin; by default the default positions of the tree.
    seeds, rng, tolerance, max_steps
        As in `InverseKinematics.solve`.

    Returns
    -------
    InverseKinematicsResult

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError, SingularityError, NotFinalizedError, UnknownNameError
        When an argument is invalid, or no joint moves the frame.

    Examples
    --------
    >>> import mbt
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"))
    >>> goal = mbt.math.make_pose([0.45, 0.2, 0.6], rpy=[0.0, 2.5, 0.4])
    >>> found = mbt.functional.inverse_kinematics(tree, "tool", goal)
    >>> bool(found.success)
    True
    >>> bool(abs(mbt.functional.frame_pose(tree, found.q, "tool") - goal).max() < 1e-3)
    True
    """
    ik = _problem_of(tree, frame)
    X_WG = as_float_array(X_WG, "X_WG", (..., 4, 4))
    try:
        return ik.solve([X_WG], start, seeds=seeds, rng=rng, tolerance=tolerance, max_steps=max_steps)
    except ArgumentValueError as error:
        raise ArgumentValueError(str(error).replace("goals[0]", "X_WG")) from None


def _problem_of(tree: MultibodyTree, frame: Frame | str) -> InverseKinematics:
    """Return the problem of one frame. Making it takes longer than solving it, so trees keep some."""
    compile_copy(tree)
    known: dict[int, InverseKinematics] = tree._fact("inverse_kinematics", dict)
    index = frame_index(tree, frame, "frame")
    ik = known.get(index)
    if ik is None:
        ik = InverseKinematics(tree)
        ik.add_pose(frame)
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[index] = ik
    return ik
