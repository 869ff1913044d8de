"""Pickles with one value changed: results may be wrong, but nothing crashes, hangs or fails silently.

Each value in a pickle of a tree, a Context and forces is an instruction of its own, which is replaced by
others. A child process loads the changed pickle and computes whatever it can. It must end with results or an
error of mbt; errors that pickle and NumPy raise themselves, before mbt is called, are allowed.
"""

from __future__ import annotations

import pickle
import pickletools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import mbt
from support.copies import some_state
from support.force_element_types import make_everything

CHILD = """
import pickle, signal, struct, sys, traceback, warnings
import numpy as np
import mbt
from mbt import functional as F

warnings.simplefilter("ignore")
np.seterr(all="ignore")
package = tuple(mbt.__path__)

def too_long(*_):
    raise TimeoutError
signal.signal(signal.SIGALRM, too_long)

def mass_matrix_of(tree):
    return tree.calc_mass_matrix(tree.create_default_context())

def use(tree, context, forces):
    ones = np.ones(tree.num_velocities)
    yield lambda: (str(tree), str(tree.topology), str(context), repr(forces))
    yield lambda: (tree.position_names, tree.velocity_names)
    yield lambda: [tree.topology.path_to_world(b) for b in range(tree.num_bodies)]
    yield lambda: str(tree.finalize_report)
    yield lambda: [repr(e) for e in (*tree.bodies, *tree.frames, *tree.joints, *tree.mobilizers)]
    yield lambda: [repr(e) for e in (*tree.force_elements, *tree.joint_actuators)]
    yield lambda: [(repr(c), c.equation, c.joint0.name, c.joint1.name) for c in tree.constraints]
    yield lambda: [(repr(s), hash(s)) for b in tree.bodies for s in (*b.visuals, *b.collisions)]
    yield lambda: (tree.default_positions, tree.position_lower_limits, tree.velocity_upper_limits)
    yield lambda: tree.effort_limits
    yield lambda: tree.calc_mass_matrix(context)
    yield lambda: tree.calc_forward_dynamics(context, ones, forces)
    yield lambda: tree.calc_inverse_dynamics(context, ones, forces, include_force_elements=True)
    yield lambda: tree.calc_inverse_dynamics_derivatives(context, ones)
    yield lambda: tree.calc_reaction_forces(context, ones)
    yield lambda: tree.calc_energy_report(context)
    yield lambda: [m.calc_across_mobilizer_transform(context) for m in tree.mobilizers]
    yield lambda: [b.eval_pose_in_world(context) for b in tree.bodies]
    yield lambda: [b.get_mass(context) for b in tree.bodies[1:]]
    yield lambda: [j.get_pose(context) for j in tree.joints]
    yield lambda: tree.calc_jacobian_spatial_velocity(
        context, "qdot", tree.frames[-1], [0, 0, 0], tree.world_frame, tree.frames[2])
    yield lambda: F.forward_dynamics(tree, np.tile(context.q, (3, 1)), ones, ones)
    yield lambda: F.body_poses(tree, np.tile(context.q, (3, 1)))
    yield lambda: tree.create_default_context((2,)).validate()
    yield lambda: tree.calc_forward_dynamics(tree.create_default_context((2,)))
    yield lambda: mass_matrix_of(tree.to_autodiff())
    yield lambda: context.clone()
    yield lambda: context.validate()
    yield lambda: mbt.load_model(mbt.save_model(tree, format="json"))
    yield lambda: pickle.loads(pickle.dumps((tree.clone(), context, forces)))

def check(f):
    try:
        return f()
    except mbt.MbtError:
        pass
    except Exception as error:
        # Of pickle or NumPy, if no function of mbt had to do with it.
        if any(frame.filename.startswith(package) for frame in traceback.extract_tb(error.__traceback__)):
            raise

while True:
    header = sys.stdin.buffer.read(8)
    if not header:
        break
    number, size = struct.unpack("<II", header)
    data = sys.stdin.buffer.read(size)
    # For who reads of a crash.
    print(number, flush=True)
    signal.alarm(20)
    loaded = check(lambda: pickle.loads(data))
    if (type(loaded) is tuple and len(loaded) == 3 and isinstance(loaded[0], mbt.MultibodyTree)
            and isinstance(loaded[1], mbt.Context) and isinstance(loaded[2], mbt.MultibodyForces)):
        steps = check(lambda: list(use(*loaded))) or []
        for step in steps:
            check(step)
    signal.alarm(0)
"""

# Instructions that load other values.
_INTEGERS = [b"I-1\n", b"I7\n", b"I2147483648\n", b"L" + b"9" * 30 + b"L\n"]
_OTHERS = [*_INTEGERS, b"N", b"I01\n", b"]", b"Fnan\n", b"F0.5\n", b"Vx\n"]
_ANY = ("BINFLOAT", "NONE", "NEWTRUE", "NEWFALSE", "EMPTY_LIST", "EMPTY_DICT")


@dataclass(frozen=True)
class Edit:
    """One instruction, from `start` to `end`, and its replacement."""

    what: str
    start: int
    end: int
    replacement: bytes

    def apply(self, data: bytes) -> bytes:
        return data[: self.start] + self.replacement + data[self.end :]


def _edits(data: bytes) -> Iterator[Edit]:
    operations = list(pickletools.genops(data))
    count = sum(1 for operation, _, _ in operations if operation.name in ("BINPUT", "LONG_BINPUT", "MEMOIZE"))
    for (operation, value, start), (_, _, end) in pairwise(operations):
        replacements: list[bytes] = []
        if operation.name in ("BININT", "BININT1", "BININT2", "LONG1"):
            replacements = [f"I{value - 1}\n".encode(), f"I{value + 1}\n".encode(), *_OTHERS]
        elif operation.name in _ANY or (operation.name == "BINUNICODE" and len(value) < 100):
            replacements = _OTHERS
        elif operation.name == "BINUNICODE" and len(value) % 8 == 0:
            text = (np.full(1, np.nan).tobytes().decode("latin1") + value[8:]).encode()
            replacements = [b"X" + len(text).to_bytes(4, "little") + text]
        elif operation.name in ("BINGET", "LONG_BINGET"):
            places = {value - 1, value + 1, 0, (7 * value + 3) % count} - {value}
            replacements = [f"g{place}\n".encode() for place in places if place >= 0] + [b"N"]
        name = f"{operation.name} {value!r:.40} at {start}"
        for replacement in replacements:
            yield Edit(f"{name} -> {replacement!r:.40}", start, end, replacement)


def _pickle() -> bytes:
    tree = make_everything(user_written=False).edit()
    tree.add_constraint(mbt.CouplerConstraint("coupler", tree.joints[0], tree.joints[2], -2.0, 0.25))
    tree.finalize()
    context = some_state(tree)
    tree.bodies[1].set_mass(context, 3.0)
    tree.joints[2].lock(context)
    return pickle.dumps((tree, context, context.applied_forces.clone()), protocol=2)


def _run(data: bytes, edits: list[Edit]) -> None:
    def message(i: int, edited: bytes) -> bytes:
        return i.to_bytes(4, "little") + len(edited).to_bytes(4, "little") + edited

    stream = b"".join(message(i, edit.apply(data)) for i, edit in enumerate(edits))
    tests = str(Path(__file__).parents[1])
    child = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {tests!r})\n{CHILD}"],
        input=stream, capture_output=True, check=False, timeout=600,
    )  # fmt: skip
    last = int(child.stdout.split()[-1]) if child.stdout else 0
    what = edits[last].what
    assert child.returncode == 0, f"{what}: exit code {child.returncode}\n{child.stderr.decode()[-3000:]}"
    assert last == len(edits) - 1


def test_a_few_values() -> None:
    data = _pickle()
    edits = list(_edits(data))
    assert len(edits) > 20_000
    chosen = np.random.default_rng(1).choice(len(edits), 20, replace=False)
    _run(data, [edits[i] for i in chosen])


def test_attributes_of_trees() -> None:
    names = tuple(f"BINUNICODE {name!r} at" for name in ("_plan", "_declarations", "_declaring", "_family"))
    data = _pickle()
    edits = [edit for edit in _edits(data) if edit.what.startswith(names)]
    assert len(edits) >= 4 * len(_OTHERS)
    _run(data, edits)


def test_numbers_that_are_none() -> None:
    """Masses, moments, stiffnesses, poses: a pickle brings in no number that constructors reject."""
    data = _pickle()
    edits = [
        Edit(f"{edit.what} -> {number!r}", edit.start, edit.end, number)
        for edit in _edits(data)
        if edit.what.startswith("BINFLOAT") and edit.replacement == b"N"
        for number in (b"Fnan\n", b"F-inf\n", b"Finf\n")
    ]
    chosen = np.random.default_rng(3).choice(len(edits), 60, replace=False)
    _run(data, [edits[i] for i in chosen])


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(20))
def test_thousands_of_values(part: int) -> None:
    data = _pickle()
    edits = list(_edits(data))
    chosen = np.random.default_rng(2).permutation(len(edits))[300 * part : 300 * (part + 1)]
    _run(data, [edits[i] for i in chosen])


@pytest.mark.parametrize("value", [7, True, None, (), {}])
def test_what_is_not_a_list_of_classes_or_states_is_refused(value: object) -> None:
    make, (format_, kind, classes), state = mbt.MultibodyTree().__reduce_ex__(2)
    with pytest.raises(mbt.ArgumentValueError, match="constraints"):
        make(format_, kind, {**classes, "constraints": value})
    tree = make(format_, kind, classes)
    with pytest.raises(mbt.ArgumentValueError, match="constraints"):
        tree.__setstate__({**state, "elements": {**state["elements"], "constraints": value}})


def test_what_was_not_changed_loads() -> None:
    tree, context, forces = pickle.loads(_pickle())
    assert isinstance(context, mbt.Context)
    assert context.tree is tree
    assert forces.tree is tree
    assert context.applied_forces.body_forces.any()
