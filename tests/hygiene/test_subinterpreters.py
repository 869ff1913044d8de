"""mbt in a second interpreter of one process: an error that can be caught, and the first goes on."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import mbt
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


def test_an_import_is_refused() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=60)
