"""Scalars that are Python objects: what a tree needs to compute with them.

``tree.clone_to_scalar("sympy")``, ``"casadi"`` and ``"mpmath"`` know their scalar by name; any other one
takes a
`ScalarType`.
"""

from mbt.symbolic.scalar_type import ScalarType, get_scalar_type

__all__ = ["ScalarType", "get_scalar_type"]
