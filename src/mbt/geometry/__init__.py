"""Distances between the shapes of bodies, and obstacles."""

from mbt.geometry.collision_model import CollisionModel

__all__ = ["CollisionModel"]
