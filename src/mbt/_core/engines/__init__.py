"""Contexts, and what evaluates quantities for them: in doubles, in lanes, in dual numbers, in objects."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)

#: Threads of batches until somebody sets another number: `mbt.config` sets it when mbt is imported.
default_num_threads = 1
