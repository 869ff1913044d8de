"""What Cython would write into each compiled module: C functions, nothing for Python."""
