"""Uniform gravity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt.math.arrays import FloatArray, as_finite_array
from mbt.tree.context_access import get_parameter, set_parameter
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.indices import world_model_instance

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.context import ContextCore

__all__ = ["UniformGravityFieldElement"]


class UniformGravityFieldElement(ForceElement):
    """The same gravity everywhere: the force ``m g_W`` at each mass centre.

    A tree has one such element at most. It belongs to the model instance of World.

    Parameters
    ----------
    g_W : array_like, shape (3,), optional
        Acceleration of gravity in World [m/s^2]. The default of a parameter of each Context.

    Raises
    ------
    ArgumentValueError
        When a number is not finite.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> gravity.gravity_vector
    array([ 0.  ,  0.  , -9.81])
    """

    def __init__(self, g_W: object = (0.0, 0.0, -9.81)) -> None:
        super().__init__(world_model_instance())
        self._g_W = as_finite_array(g_W, f"{type(self).__name__}: g_W", (3,))
        self._g_W.flags.writeable = False
        self._disabled_model_instances: set[int] = set()

    @property
    def gravity_vector(self) -> FloatArray:
        """Default acceleration of gravity g_W [m/s^2], shape (3,), read-only."""
        return self._g_W

    def get_gravity_vector(self, context: ContextCore) -> FloatArray:
        """Return the acceleration of gravity that `context` has [m/s^2], shape (3,)."""
        return get_parameter(self, context, "gravity", 0)

    def set_gravity_vector(self, context: ContextCore, g_W: object) -> Self:
        """Set the acceleration of gravity in `context` [m/s^2], shape (3,)."""
        set_parameter(self, context, "gravity", 0, as_finite_array(g_W, f"{self._label}: g_W", (3,)))
        return self
