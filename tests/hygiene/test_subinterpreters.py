"""mbt in a second interpreter of one process raises an ordinary error; the first to import it works on."""

from __future__ import annotations

import subprocess
import sys

import pytest

# `run` returns whether code ran without an error in a new interpreter: one that shares the GIL, like those
# of embedding programs, or an isolated one, into which CPython loads only extension modules that ask for it.
BEGIN = """
import sys
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    make = lambda isolated: interpreters.create("isolated" if isolated else "legacy")
    execute = lambda number, code: interpreters.exec(number, code) is None
else:
    import _xxsubinterpreters as interpreters
    make = lambda isolated: interpreters.create(isolated=isolated)
    def execute(number, code):
        try:
            interpreters.run_string(number, code)
        except interpreters.RunFailedError:
            return False
        return True

def run(code, isolated=False):
    number = make(isolated)
    done = execute(number, code)
    interpreters.destroy(number)
    return done
"""

MAIN_FIRST = """
import mbt
for isolated in (False, True):
    assert run('''
try:
    import mbt
except ImportError:
    pass
else:
    raise AssertionError("imported")
''', isolated)
tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
M = mbt.functional.mass_matrix(tree, tree.default_positions)
assert M.shape == 2 * (tree.num_velocities,)
"""


OTHER_FIRST = """
assert run('''
import mbt
tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
assert mbt.functional.mass_matrix(tree, tree.default_positions).shape == 2 * (tree.num_velocities,)
''')
try:
    import mbt
except ImportError:
    pass
else:
    raise AssertionError("imported")
"""


@pytest.mark.skipif(
    sys.version_info[:3] == (3, 13, 0), reason="CPython 3.13.0 itself crashes here, later ones do not"
)
@pytest.mark.parametrize("program", [MAIN_FIRST, OTHER_FIRST], ids=["main first", "other first"])
def test_an_import_is_refused(program: str) -> None:
    subprocess.run([sys.executable, "-c", BEGIN + program], check=True, timeout=60)
