"""Contexts, and the engines that evaluate their quantities: in doubles, lanes, dual numbers and objects."""

from mbt._core import add_kernels

add_kernels(__name__, __path__)

#: Default number of threads for batches; `mbt.config` sets it when mbt is imported.
default_num_threads = 1
