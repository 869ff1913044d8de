"""A warm control loop needs nothing from the system: no page fault, no blocking lock, no system call.

`test_allocations.py` shows that it allocates nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]

LOOP = """
import gc, json, resource, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from support.case import get_case

tree = get_case("humanoid").tree
states = [get_case("humanoid").state(k) for k in range(4)]
context = tree.create_default_context()
nv = tree.num_velocities
vdot, tau, M = np.ones(nv), np.zeros(nv), np.empty((nv, nv))
inverse, forward, mass_matrix = tree.calc_inverse_dynamics, tree.calc_forward_dynamics, tree.calc_mass_matrix
q, v = [s.q for s in states], [s.v for s in states]

def loop(count):
    for i in range(count):
        context.q, context.v = q[i % 4], v[i % 4]
        mass_matrix(context, out=M)
        inverse(context, vdot, include_force_elements=True, out=tau)
        forward(context, tau, out=vdot)

context.freeze()
gc.collect()
gc.freeze()
gc.disable()
loop(1000)
"""

COUNTED = (
    LOOP
    + """
names = ("ru_minflt", "ru_majflt", "ru_nvcsw")
before = resource.getrusage(resource.RUSAGE_SELF)
loop(20_000)
after = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({name: getattr(after, name) - getattr(before, name) for name in names}))
"""
)

TRACED = (
    LOOP
    + """
import os
write = os.write
write(2, b"BEGIN")
loop(2000)
write(2, b"END")
"""
)


@pytest.mark.skipif(sys.platform != "linux", reason="counts as Linux does")
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="another library has replaced malloc already")
def test_no_page_fault_and_no_wait() -> None:
    """In 60,000 calls. Two pages are allowed, for what the interpreter itself may do now and then.

    A system that is short of memory takes pages away meanwhile: the best of several runs counts.
    """
    wanted = {"ru_majflt": 0, "ru_nvcsw": 0, "ru_minflt": 2}
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", COUNTED, str(TESTS)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        counts = json.loads(done.stdout)
        if all(counts[name] <= most for name, most in wanted.items()):
            return
    raise AssertionError(f"{counts} in the last of five runs, at most {wanted} wanted")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.skipif(bool(os.environ.get("LD_PRELOAD")), reason="another library makes calls of its own")
def test_no_system_call(tmp_path: Path) -> None:
    """No system call, not even futex, from the beginning to the end of 6,000 calls."""
    log = tmp_path / "calls"
    done = subprocess.run(
        ["strace", "-f", "-o", str(log), sys.executable, "-c", TRACED, str(TESTS)],
        env={**os.environ, "MBT_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("tracing is not permitted here")
    assert done.returncode == 0, done.stderr
    text = log.read_text(encoding="utf-8", errors="replace")
    between = re.search(r'write\(2, "BEGIN".*?\n(.*?)^[^\n]*write\(2, "END"', text, flags=re.S | re.M)
    assert between is not None
    assert between[1].splitlines() == []
