"""Which libraries can be compared here."""

import sys

# PyBullet has no wheels for newer versions of Python.
collect_ignore = ["test_coming_from_pybullet.py"] if sys.version_info >= (3, 12) else []
