"""Automatic differentiation: arrays of numbers with their derivatives.

`initialize` makes variables, NumPy computes with them, `derivatives` has the result; `jacobian` does all
three.
"""

# The rules of NumPy's functions register themselves.
from mbt.autodiff import creation, joining, linear_algebra, products, queries, reductions, shaping, ufuncs
from mbt.autodiff.array import AutoDiffArray
from mbt.autodiff.seeds import constant, derivatives, initialize, jacobian, value

__all__ = ["AutoDiffArray", "constant", "derivatives", "initialize", "jacobian", "value"]

del creation, joining, linear_algebra, products, queries, reductions, shaping, ufuncs
