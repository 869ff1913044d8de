"""Everything that a tree computes, by number: the members of `Quantity` in `names.py`.

`tools/transpile.py` writes `quantity_names.pxd` from them.
"""

from quantity_names cimport *
