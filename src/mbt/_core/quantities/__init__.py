"""All quantities of a tree: their table, one function over `T` for each, and the kernels for `double`."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)
