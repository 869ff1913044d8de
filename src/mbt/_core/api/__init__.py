"""What users call: methods of trees, and functions without a Context."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)
