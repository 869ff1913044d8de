"""Distances and contact between the shapes of bodies and obstacles."""

from mbt.geometry.collision_model import CollisionModel
from mbt.geometry.meshes import decompose_mesh
from mbt.geometry.shape_contact import ShapeContact, TouchingPoints

__all__ = ["CollisionModel", "ShapeContact", "TouchingPoints", "decompose_mesh"]
