"""Count the memory leaked by many calls: `leaks.py [--calls 2000] [WORD...]`; a million calls take hours.

Covers every public call of tests/support/calls.py, with one state, with a batch, and with invalid arguments,
and calls that create and drop trees, Contexts and copies. Counts the bytes allocated from the C library
(Linux, glibc), with Python's own pools switched off: the difference between twice the number of calls and
that number. WORDs select calls whose names contain one of them. The exit code tells whether something leaks.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: Fewer bytes per call are not a leak of each call: the smallest block of the C library has 32.
ALLOWED = 4
#: Calls that take long.
WHOLE = ("load", "load a damaged file", "load and compute", "save", "edit", "pickle", "autodiff", "report")


def tried(call: Callable[[], object]) -> Callable[[], None]:
    """Return a function that makes a call that may raise, for example with None for a required argument."""

    def make() -> None:
        with contextlib.suppress(Exception):
            call()

    return make


def all_calls() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield all calls with their names."""
    import numpy as np

    import mbt
    from support.calls import CALLS, CONSTRAINT_METHODS
    from support.case import get_case
    from support.constraints import tree_with_every_constraint
    from support.force_element_types import make_everything

    tree = get_case("mixed8").tree
    one, many = tree.create_default_context(), tree.create_default_context((3,))
    wrong: tuple[Any, ...] = (None, "x", np.zeros((2, 50)), np.zeros(7, complex), [[1.0], [2.0, 3.0]])
    for name, call in CALLS.items():
        values = call.values(tree)
        yield name, lambda call=call, values=values: call.run(tree, one, *values)
        if not name.startswith("functional") and name in dir(tree):
            yield f"{name}, batch", lambda call=call, values=values: call.run(tree, many, *values)
        for i, argument in enumerate(call.arguments):
            for k, bad in enumerate(wrong):
                bad_values = [*values[:i], bad, *values[i + 1 :]]
                yield (
                    f"{name}, wrong {argument} {k}",
                    tried(lambda call=call, bad_values=bad_values: call.run(tree, one, *bad_values)),
                )
    closed = tree_with_every_constraint()
    looped = closed.create_default_context()
    for name, call in CONSTRAINT_METHODS.items():
        values = call.values(closed)
        yield name, lambda call=call, values=values: call.run(closed, looped, *values)
    other = make_everything(user_written=False).create_default_context()
    text = mbt.models.model_path("mbt_arm").read_bytes()
    body = tree.bodies[1]
    everything = make_everything()
    state = everything.create_default_context()
    yield from {
        "Context": lambda: tree.create_default_context(),
        "BatchContext": lambda: tree.create_default_context((5,)),
        "clone of a Context": lambda: one.clone(),
        "parameters": lambda: body.set_mass(tree.create_default_context(), 2.0),
        "lock": lambda: tree.joints[0].lock(tree.create_default_context()),
        "Context of another tree": tried(lambda: tree.calc_mass_matrix(other)),
        "elements in Python": lambda: everything.calc_forward_dynamics(state),
        "load": lambda: mbt.load_model(text),
        "load a damaged file": tried(lambda: mbt.load_model(text[:-20])),
        "load and compute": lambda: (lambda t: t.calc_mass_matrix(t.create_default_context()))(
            mbt.load_model(text)
        ),
        "save": lambda: mbt.save_model(tree, format="json"),
        "edit": lambda: tree.edit(),
        "pickle": lambda: pickle.loads(pickle.dumps((tree, one))),
        "damaged pickle": tried(lambda: pickle.loads(pickle.dumps((tree, one))[:-50])),
        "autodiff": lambda: tree.to_autodiff(),
        "report": lambda: str(tree.finalize_report),
    }.items()


def main() -> int:
    """Measure, in a process without Python's own pools."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    if os.environ.get("PYTHONMALLOC") != "malloc":
        os.environ["PYTHONMALLOC"] = "malloc"
        # One arena for all threads: mallinfo2 reports only one.
        os.environ.update(MBT_NUM_THREADS="1", MALLOC_ARENA_MAX="1")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    sys.path.insert(0, str(ROOT / "tests"))
    from support.live_memory import bytes_a_call

    warnings.simplefilter("ignore")
    count, leaking = 0, []
    for name, call in all_calls():
        if options.words and not any(word in name for word in options.words):
            continue
        # Making a tree takes a thousand times as long as computing with one.
        calls = max(options.calls // (20 if name in WHOLE else 1), 20)
        left = bytes_a_call(call, calls)
        if left > ALLOWED:
            # Tables of Python and NumPy occasionally grow by kilobytes, which is negligible over many more
            # calls.
            left = bytes_a_call(call, 20 * calls)
        if left > ALLOWED:
            leaking.append(name)
            print(f"{name}: {left:.1f} bytes per call", flush=True)
        count += 1
    print(f"{count} calls, {len(leaking)} leak")
    return int(bool(leaking))


if __name__ == "__main__":
    sys.exit(main())
