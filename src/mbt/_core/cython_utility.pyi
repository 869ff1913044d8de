"""C functions that Cython would otherwise write into each compiled module; nothing for Python."""
