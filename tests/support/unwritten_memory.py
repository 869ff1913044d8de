"""Find calls that read uninitialized memory, as JSON: `python -m support.unwritten_memory TREE ...`.

Runs with `MALLOC` in place of malloc. New memory, and the stack, are filled with a word that the processor
reports when computing with it. Each call is made twice in a new thread, whose working memory is new and
then keeps what the first call left in it.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt.autodiff import AutoDiffArray
from support.calls import (
    CONSTRAINT_FUNCTIONS,
    CONSTRAINT_METHODS,
    FUNCTIONS,
    HELPERS,
    METHODS,
    SCALARS,
    SETTERS,
    STEPS,
    Call,
)
from support.case import get_case
from support.constraints import tree_with_every_constraint
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

MALLOC = r"""
#include <stddef.h>
#include <stdint.h>
#include <xmmintrin.h>

extern void* __libc_malloc(size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern size_t malloc_usable_size(void*);

static volatile int active;
static volatile uint64_t word;

static void* filled(void* p, size_t from, size_t size) {
  if (p && active)
    for (size_t i = (from + 7) / 8; i < size / 8; ++i) ((volatile uint64_t*)p)[i] = word;
  return p;
}

void* malloc(size_t n) { return filled(__libc_malloc(n), 0, n); }
void* realloc(void* p, size_t n) {
  const size_t old = p ? malloc_usable_size(p) : 0;
  return filled(__libc_realloc(p, n), old, n);
}
void* memalign(size_t a, size_t n) { return filled(__libc_memalign(a, n), 0, n); }
void* aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { return (*p = memalign(a, n)) ? 0 : 12; }

void fill_new_memory(uint64_t with) { word = with; active = 1; }
void fill_stack(void) {
  volatile uint64_t x[8192];
  for (int i = 0; i < 8192; ++i) x[i] = word;
}
/* 1: an operation met a signalling NaN, or was invalid; 2: it met a subnormal number. */
unsigned noticed(void) { return _mm_getcsr() & 3u; }
void forget(void) { _mm_setcsr(_mm_getcsr() & ~0x3fu); }
"""

# Contents of new memory: a word that computes like others, and words that the processor reports.
ONE = 0x3FF0000000000000
WORDS = {"a signalling NaN": 0x7FF4000000000001, "a subnormal number": 0x000F00007F12345F}
BATCH = 13  # several blocks of any width, and a partial one
DIRECTIONS = 9  # likewise, for derivatives
CONTROL = "control: an array that nobody wrote"
WITH_FORCES = [f"{which}_dynamics{what}" for which in ("inverse", "forward") for what in ("", "_derivatives")]

Function = Callable[[], Any]
# Makes a function with its own Context, which must lie in new memory too.
Maker = Callable[[], Function]


def makers(tree: mbt.MultibodyTree) -> dict[str, Maker]:
    """Return every call of the table on one state, on a batch, and on one state with derivatives."""
    rng = np.random.default_rng(0)
    states = [random_state(tree, rng) for _ in range(BATCH)]
    q, v = np.array([state.q for state in states]), np.array([state.v for state in states])
    found: dict[str, Maker] = {CONTROL: lambda: lambda: float(np.empty(1000)[500]) * 0.5}
    methods, functions = {**METHODS, **SCALARS}, {**FUNCTIONS, **STEPS, **HELPERS}
    if tree.constraints:
        methods.update(CONSTRAINT_METHODS)
        functions.update(CONSTRAINT_FUNCTIONS)
    for name, call in {**methods, **SETTERS}.items():
        found[name] = _of_context(tree, call, q[0], v[0])
    dual = tree.to_autodiff()
    dual_q = AutoDiffArray(q[0], rng.normal(size=(q.shape[1], DIRECTIONS)))
    for name, call in methods.items():
        found[f"{name}, batch"] = _of_context(tree, call, q, v)
        found[f"{name}, derivatives"] = _of_context(dual, call, dual_q, v[0])
    for name, call in functions.items():
        found[name] = _stateless(tree, call, q[0])
        found[f"{name}, batch"] = _stateless(tree, call, q)
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = rng.normal(size=(tree.num_bodies - 1, 6))
    for name in WITH_FORCES:
        method = METHODS[f"calc_{name}"]
        found[f"calc_{name}, forces"] = _of_context(tree, method, q[0], v[0], external_forces=forces)
        found[f"{name}, forces"] = _stateless(tree, FUNCTIONS[name], q[0], external_forces=forces)
    return found


def makers_of_tree(name: str) -> dict[str, Maker]:
    """Return those of a tree of the catalogue, or one with everything; Python elements on one state only."""
    if name == "every constraint":
        return makers(tree_with_every_constraint())
    if name == "everything in Python":
        return {call: make for call, make in makers(make_everything()).items() if "," not in call}
    return makers(make_everything(user_written=False) if name == "everything" else get_case(name).tree)


def _values(tree: mbt.MultibodyTree, call: Call, q: Array, shape: tuple[int, ...]) -> list[Array]:
    """Return normal numbers, and positions."""
    rng = np.random.default_rng(1)
    return [
        q if name in ("q", "q0", "q1") else rng.uniform(0.1, 1.0, (*shape, *own))
        for name, own in call.shapes(tree).items()
    ]


def _of_context(tree: Any, call: Call, q: Any, v: Array, **keywords: Any) -> Maker:
    values = _values(tree, call, q, ())

    def make() -> Function:
        context = tree.create_default_context(q.shape[:-1])

        def function() -> Any:
            context.q, context.v = q, v
            return call.run(tree, context, *values, **keywords)

        return function

    return make


def _stateless(tree: mbt.MultibodyTree, call: Call, q: Array, **keywords: Any) -> Maker:
    values = _values(tree, call, q, q.shape[:-1])
    return lambda: lambda: call.run(tree, None, *values, **keywords)


def bits(result: Any) -> bytes:
    """Return all numbers of a result, as stored in memory."""
    if isinstance(result, tuple):
        return b"".join(map(bits, result))
    if isinstance(result, AutoDiffArray):
        return bits((result.value, result.derivatives))
    return b"" if result is None else np.asarray(result).tobytes()


def measure(memory: ctypes.PyDLL, make: Maker, word: int) -> tuple[bool, bytes]:
    """Return whether the processor reported the word, and the result."""
    found: list[tuple[bool, bytes]] = []

    def run() -> None:
        memory.fill_new_memory(ctypes.c_uint64(word))
        function = make()
        noticed = 0
        for _ in range(2):
            memory.fill_stack()
            memory.forget()
            result = function()
            noticed |= memory.noticed()
        found.append((noticed != 0, bits(result)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    memory.fill_new_memory(ctypes.c_uint64(ONE))
    return found[0]


def main() -> None:
    # Not `CDLL`: another thread could run between the call and the check.
    memory = ctypes.PyDLL(None)
    calls, touched = 0, []
    for name in sys.argv[1:]:
        for call, make in makers_of_tree(name).items():
            make()()  # for everything imported or made at first use
            _, wanted = measure(memory, make, ONE)
            calls += 1
            for what, word in WORDS.items():
                noticed, result = measure(memory, make, word)
                if noticed or (result != wanted and call != CONTROL):
                    touched.append([name, call, what, "computed with" if noticed else "in the result"])
    print(json.dumps({"isa": mbt._core.isa, "calls": calls, "touched": touched}))


if __name__ == "__main__":
    main()
