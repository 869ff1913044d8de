"""A call with `out=` allocates no memory: counted by a replacement of malloc, in a process of its own."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.calls import SCALARS, WITH_OUT

COUNTER = r"""
#include <stddef.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static _Atomic long count;
long allocation_count(void) { return count; }

void* malloc(size_t n) { ++count; return __libc_malloc(n); }
void* calloc(size_t n, size_t size) { ++count; return __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { ++count; return __libc_realloc(p, n); }
void* memalign(size_t a, size_t n) { ++count; return __libc_memalign(a, n); }
void* aligned_alloc(size_t a, size_t n) { ++count; return __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) { ++count; *p = __libc_memalign(a, n); return *p ? 0 : 12; }
"""

SCRIPT = """
import ctypes, itertools, json, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from support.calls import CALLS, WITH_OUT, SCALARS
from support.case import get_case

count = ctypes.CDLL(None).allocation_count
count.restype = ctypes.c_long

def calls_of(repeat, f, *args, **keywords):
    before = count()
    for _ in itertools.repeat(None, repeat):
        f(*args, **keywords)
    return count() - before

def allocations(f, *args, **keywords):
    # The difference of two runs: what the measurement itself allocates cancels.
    calls_of(10, f, *args, **keywords)
    return calls_of(200, f, *args, **keywords) - calls_of(100, f, *args, **keywords)

result = {"control": allocations(np.empty, 100_000)}
for model in ("mixed8", "humanoid"):
    case = get_case(model)
    tree, context = case.tree, case.context(case.state())
    for name in [*WITH_OUT, *SCALARS]:
        call = CALLS[name]
        values = call.values(tree)
        keywords = {} if name in SCALARS else {"out": np.empty_like(call.run(tree, context, *values))}
        result[f"{model} {name}"] = allocations(call.run, tree, context, *values, **keywords)
    states = itertools.cycle([case.state(0).q, case.state(1).q])
    vdot, tau = np.ones(tree.num_velocities), np.ones(tree.num_velocities)
    def control_loop():
        context.q = next(states)
        tree.calc_inverse_dynamics(context, vdot, include_force_elements=True, out=tau)
    result[f"{model} control loop"] = allocations(control_loop)
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    compiler = next((path for path in map(shutil.which, ("cc", "gcc", "clang")) if path), None)
    if platform.system() != "Linux" or platform.libc_ver()[0] != "glibc":
        pytest.skip("counts by replacing glibc's malloc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    if os.environ.get("LD_PRELOAD"):
        pytest.skip("another library has replaced malloc already")
    folder = tmp_path_factory.mktemp("malloc")
    source, library = folder / "count.c", folder / "count.so"
    source.write_text(COUNTER)
    subprocess.run([compiler, "-std=c11", "-O1", "-shared", "-fPIC", source, "-o", library], check=True)
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, tests],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    result: dict[str, int] = json.loads(run.stdout)
    return result


def test_counter_counts(counts: dict[str, int]) -> None:
    """A hundred arrays are a hundred allocations."""
    assert counts["control"] >= 100


@pytest.mark.parametrize("name", [*WITH_OUT, *SCALARS, "control loop"])
@pytest.mark.parametrize("model", ["mixed8", "humanoid"])
def test_no_allocation(counts: dict[str, int], model: str, name: str) -> None:
    assert counts[f"{model} {name}"] == 0
