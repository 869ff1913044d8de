"""mbt in a second interpreter of one process: an error that can be caught; the first to import it goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEGIN = """
import sys
if sys.version_info >= (3, 14):
    from concurrent import interpreters
    run = lambda code: interpreters.create().exec(code)
else:
    if sys.version_info >= (3, 13):
        import _interpreters as interpreters
    else:
        import _xxsubinterpreters as interpreters
    def run(code):
        number = interpreters.create()
        run_string = interpreters.run_string if sys.version_info < (3, 13) else interpreters.exec
        assert run_string(number, code) is None
        interpreters.destroy(number)
"""

MAIN_FIRST = """
import mbt
run('''
try:
    import mbt
except ImportError:
    pass
else:
    raise AssertionError("imported")
''')
tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
M = mbt.functional.mass_matrix(tree, tree.default_positions)
assert M.shape == 2 * (tree.num_velocities,)
"""


OTHER_FIRST = """
run('''
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


@pytest.mark.parametrize("program", [MAIN_FIRST, OTHER_FIRST], ids=["main first", "other first"])
def test_an_import_is_refused(program: str) -> None:
    subprocess.run([sys.executable, "-c", BEGIN + program], check=True, timeout=60)
