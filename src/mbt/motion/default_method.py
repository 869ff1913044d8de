"""The method of `simulate` if the caller does not choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.tree.servos import has_servos

if TYPE_CHECKING:
    from mbt.context.context import Context

__all__ = ["choose_method"]


def choose_method(
    context: Context, *, joint_limits: bool, contacts: object, velocity_limits: bool = False
) -> str:
    """Return ``"implicit"`` if anything in the model slows or stops a motion, else ``"semi_implicit_euler"``.

    Such elements sooner or later become too stiff for explicit steps, which ignore limits as well; but
    explicit steps keep the energy of a lossless model, and implicit steps do not.

    Parameters
    ----------
    context : Context
        One state or a batch, with the parameters.
    joint_limits : bool
        Whether position limits act.
    contacts : ShapeContact or None
        Shapes that touch.
    velocity_limits : bool, optional
        Whether velocity limits act.
    """
    tree = context.tree
    limits = [(tree.position_lower_limits, tree.position_upper_limits)] if joint_limits else []
    limits += [(tree.velocity_lower_limits, tree.velocity_upper_limits)] if velocity_limits else []
    slows = (
        any(np.isfinite(bounds).any() for bounds in limits)
        or contacts is not None
        or has_servos(tree)
        or any(np.any(joint.get_damping_vector(context)) for joint in tree.joints)
        or any(element._slows(context) for element in tree.force_elements)
    )
    return "implicit" if slows else "semi_implicit_euler"
