"""All quantities that a tree computes, by number: the members of `Quantity` in `names.py`.

`tools/transpile.py` writes `enum_quantity.pxd` from them.
"""

from enum_quantity cimport *
