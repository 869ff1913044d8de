"""Shared by several tests: plain model descriptions, a NumPy reference, random trees, a URDF writer."""
