"""Numbers by which compiled programs call mbt: equal calls share them across processes."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.interop.host_calls import FUNCTIONS, HostCall, find_call, get_call
from mbt.models import model_path

ARM = model_path("mbt_arm")


def load(gravity: float = -9.81, edit: Any = None) -> mbt.MultibodyTree:
    tree = mbt.load_model(ARM, gravity=[0, 0, gravity])
    if edit is None:
        return tree
    tree = tree.edit()
    edit(tree)
    tree.finalize()
    return tree


def take(tree: mbt.MultibodyTree, name: str = "mass_matrix", owners: Any = (), **options: Any) -> HostCall:
    given = {key: p.default for key, p in FUNCTIONS[name].items() if p.default is not p.empty}
    options = {
        key: value for key, value in {**given, **options}.items() if key not in ("q", "v", "tau", "vdot")
    }
    return find_call(tree, name, options, owners)


CALLS = "[take(tree), take(tree, 'step', dt=0.01), take(tree).linearize()]"


def test_another_process_has_the_same_numbers_and_no_others() -> None:
    """A different tree gets none of the numbers, even if it is created first there."""
    gc.collect()
    program = (
        "from interop.test_host_calls import *; other, tree = load(-1.62), load(); "
        f"print(take(other).number, *(call.number for call in {CALLS}))"
    )
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True, cwd=tests
    )
    other, *numbers = map(int, done.stdout.split())
    tree = load()
    calls = [take(tree), take(tree, "step", dt=0.01), take(tree).linearize()]
    assert numbers == [call.number for call in calls]
    assert other == take(load(gravity=-1.62)).number


EDITS: Mapping[str, Any] = {
    "a mass": lambda tree: tree.bodies[3].set_default_spatial_inertia(
        mbt.SpatialInertia.solid_sphere_with_mass(9.0, 0.3)
    ),
    "a spring": lambda tree: tree.add_force_element(mbt.RevoluteSpring(tree.joints[1], 0.0, 1.0)),
    "a damper": lambda tree: tree.joints[1].set_default_damping(1e-12),
}


def test_what_differs_has_another_number() -> None:
    tree = load()
    frames = tree.frames
    calls = [
        take(tree),
        take(tree, "gravity_generalized_forces"),
        take(tree).linearize(),
        take(tree, owners=[tree]),
        take(tree, owners=[tree.bodies[2]]),
        take(tree, owners=[tree.bodies[3]]),
        take(tree, "step", dt=0.01),
        take(tree, "step", dt=np.nextafter(0.01, 1.0)),
        take(tree, "frame_pose", frame=frames[1]),
        take(tree, "frame_pose", frame=frames[2]),
        *(take(load(edit=edit)) for edit in EDITS.values()),
        take(load(gravity=-9.8100001)),
    ]
    assert len({call.number for call in calls}) == len(calls)
    assert all(0 <= call.number < 1 << 63 for call in calls)
    assert all(get_call(call.number) is call for call in calls)


def test_shapes_and_where_they_are_do_not_count() -> None:
    gc.collect()
    number = take(load(edit=EDITS["a spring"])).number
    gc.collect()
    painted = load(
        edit=lambda tree: (EDITS["a spring"](tree), tree.bodies[2].add_visual(mbt.Shape("box", [1, 1, 1])))
    )
    assert take(painted).number == number


def test_of_equal_trees_each_has_its_own_and_another_process_may_have_any() -> None:
    gc.collect()
    edit = EDITS["a damper"]
    first, second = load(edit=edit), load(edit=edit)
    one, two = take(first), take(second)
    assert (two.number - one.number, get_call(one.number), get_call(two.number)) == (1, one, two)
    # A number from a process that had three such trees.
    assert get_call(two.number + 1) is one
    numbers = one.number, two.number
    del two, second
    gc.collect()
    with pytest.raises(
        mbt.ContextMismatchError, match="the tree of this function is gone, or was never here"
    ):
        get_call(numbers[1])
    second = load(edit=edit)
    two = take(second)
    assert two.number == numbers[1]
    del one, first
    gc.collect()
    # The first number may just as well come from another process.
    assert get_call(numbers[0]) is two


def test_nobody_knows_what_a_class_of_a_user_computes() -> None:
    class Push(mbt.ForceElement):
        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            forces.generalized_forces[...] += 1.0

    trees = [load(edit=lambda tree: tree.add_force_element(Push())) for _ in range(2)]
    numbers = {take(tree, "bias_term").number for tree in trees}
    assert max(numbers) - min(numbers) > 1 << 20, "they have nothing in common"
