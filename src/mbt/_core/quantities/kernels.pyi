# Compiled functions for the other compiled modules; no names for Python.
