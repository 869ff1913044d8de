"""Automatic differentiation: arrays of values with their derivatives.

`initialize` creates variables, NumPy computes with them, and `derivatives` returns the derivatives of the
result; `jacobian` does all three.
"""

# The rules for NumPy's functions register themselves when imported.
from mbt.autodiff import creation, joining, linear_algebra, products, queries, reductions, shaping, ufuncs
from mbt.autodiff.array import AutoDiffArray
from mbt.autodiff.seeds import constant, derivatives, initialize, jacobian, value

__all__ = ["AutoDiffArray", "constant", "derivatives", "initialize", "jacobian", "value"]

del creation, joining, linear_algebra, products, queries, reductions, shaping, ufuncs
