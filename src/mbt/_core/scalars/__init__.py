"""The scalar types of the kernels."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)
