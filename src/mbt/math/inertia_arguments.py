"""Arguments of mass properties: doubles. Other scalars are rejected with the way to set them."""

from __future__ import annotations

from mbt.errors import ArgumentTypeError
from mbt.math import arrays
from mbt.math.arrays import FloatArray, Shape, describe_type, is_foreign

__all__ = ["as_float", "as_float_array"]


def as_float(value: object, name: str) -> float:
    """Convert a real number to a float; see `arrays.as_float`."""
    if type(value) is float:
        return value
    _refuse_foreign(value, name)
    return arrays.as_float(value, name)


def as_float_array(value: object, name: str, shape: Shape) -> FloatArray:
    """Convert a real array-like to a float64 array; see `arrays.as_float_array`."""
    _refuse_foreign(value, name)
    return arrays.as_float_array(value, name, shape)


def _refuse_foreign(value: object, name: str) -> None:
    if is_foreign(value):
        raise ArgumentTypeError(
            f"{name}: expected real numbers, got {describe_type(value)}: inertias hold doubles. Set other "
            "scalars in a Context of such a tree: body.set_mass(context, ...), "
            "body.set_center_of_mass_in_body_frame(context, ...), tree.set_inertial_parameters(context, ...)"
        )
