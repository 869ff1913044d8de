"""Contexts, and what evaluates quantities for them: in doubles, in lanes, in dual numbers, in objects."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)
