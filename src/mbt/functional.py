"""Stateless functions of arrays, over any leading axes: for one-liners, batches and array engines.

Each takes a finalized tree and arrays, and returns arrays. Parameters are the defaults of the tree. Gravity,
the other force elements and joint damping act; actuation does not.
"""

from mbt._core.stateless import (
    bias_term,
    body_poses,
    forward_dynamics,
    frame_jacobian,
    gravity_generalized_forces,
    inverse_dynamics,
    mass_matrix,
)

__all__ = [
    "bias_term",
    "body_poses",
    "forward_dynamics",
    "frame_jacobian",
    "gravity_generalized_forces",
    "inverse_dynamics",
    "mass_matrix",
]
