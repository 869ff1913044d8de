"""Leading axes up to NumPy's limit, and beyond it; in a child process, since it may crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math.arrays import MAX_AXES
from support.case import get_case

MOST = MAX_AXES - 4

CHILD = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from batch.batches import CALLS, arrays_of, make_batch, tree_of
tree = tree_of()
flat = make_batch(tree, (2,))
desired = {name: arrays_of(call(flat)) for name, call in CALLS(tree).items()}
for count in map(int, sys.argv[2:]):
    context = make_batch(tree, (1,) * (count - 1) + (2,))
    assert context.q.ndim == count + 1
    for name, call in CALLS(tree).items():
        for actual, wanted in zip(arrays_of(call(context)), desired[name], strict=True):
            np.testing.assert_array_equal(np.ravel(actual), np.ravel(wanted), err_msg=name)
"""


def test_any_number_of_axes_that_arrays_have() -> None:
    counts = ["2", "15", "27", str(MOST)]
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", CHILD, tests, *counts],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stderr}"


@pytest.mark.parametrize("count", [MOST + 1, MAX_AXES - 1, MAX_AXES, MAX_AXES + 1, 40, 61, 64, 65, 200])
def test_more_are_refused(count: int) -> None:
    tree = get_case("arm7").tree
    shape = (1,) * count
    message = f"expected at most {MOST} leading axes, got {count}"
    with pytest.raises(mbt.ShapeError, match=f"batch_shape: {message}"):
        tree.create_default_context(shape)
    with pytest.raises(mbt.ShapeError, match=f"batch_shape: {message}"):
        mbt.MultibodyForces(tree, shape)
    # The most axes that the oldest NumPy supports.
    if count < 32:
        q, v = np.zeros((*shape, 7)), np.zeros(7)
        for call in (
            lambda: functional.body_poses(tree, q),
            lambda: functional.mass_matrix(tree, q),
            lambda: functional.forward_dynamics(tree, q, v, v),
            lambda: functional.inverse_dynamics_derivatives(tree, q, v, v),
            lambda: tree.integrate_positions(q, v, 0.1),
        ):
            with pytest.raises(mbt.ShapeError, match=message):
                call()


def test_functions_take_as_many() -> None:
    case = get_case("arm7")
    state = case.state()
    q = np.broadcast_to(state.q, (*(1,) * (MOST - 1), 3, 7))
    poses = functional.body_poses(case.tree, q)
    assert poses.ndim == MOST + 3
    np.testing.assert_array_equal(
        poses.reshape(3, -1, 4, 4), functional.body_poses(case.tree, q.reshape(3, 7))
    )
