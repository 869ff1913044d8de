"""The types of force elements, one file each."""

from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.force_elements.uniform_gravity import UniformGravityFieldElement

__all__ = ["ForceElement", "UniformGravityFieldElement"]
