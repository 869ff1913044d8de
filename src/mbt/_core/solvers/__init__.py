"""Solvers of equations in the positions of a tree."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)
