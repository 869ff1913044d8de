"""Inputs of the kernels: exact arrays, and the compiled model that is built from arrays."""
