"""Poses, rotations and mass properties: small value types and functions on NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt._core.api.poses import (
    as_pose,
    as_rotation,
    exp_se3,
    exp_so3,
    inverse_pose,
    left_jacobian_inverse_se3,
    left_jacobian_inverse_so3,
    left_jacobian_se3,
    left_jacobian_so3,
    log_se3,
    log_so3,
    make_pose,
    matrix_to_quaternion,
    matrix_to_rpy,
    quaternion_to_matrix,
    right_jacobian_inverse_se3,
    right_jacobian_inverse_so3,
    right_jacobian_se3,
    right_jacobian_so3,
    rotation_about_axis,
    rpy_to_matrix,
    skew,
)
from mbt.math.poses import as_unit_vector, normalize_axis
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia

if TYPE_CHECKING:
    from mbt.math.curvilinear_path import PiecewiseConstantCurvatureTrajectory
    from mbt.math.pseudo_inertia import (
        calc_inertial_parameters,
        calc_pseudo_inertia,
        is_physically_consistent,
        make_spatial_inertia,
        nearest_physically_consistent_inertia,
    )

__all__ = [
    "PiecewiseConstantCurvatureTrajectory",
    "SpatialInertia",
    "UnitInertia",
    "as_pose",
    "as_rotation",
    "as_unit_vector",
    "calc_inertial_parameters",
    "calc_pseudo_inertia",
    "exp_se3",
    "exp_so3",
    "inverse_pose",
    "is_physically_consistent",
    "left_jacobian_inverse_se3",
    "left_jacobian_inverse_so3",
    "left_jacobian_se3",
    "left_jacobian_so3",
    "log_se3",
    "log_so3",
    "make_pose",
    "make_spatial_inertia",
    "matrix_to_quaternion",
    "matrix_to_rpy",
    "nearest_physically_consistent_inertia",
    "normalize_axis",
    "quaternion_to_matrix",
    "right_jacobian_inverse_se3",
    "right_jacobian_inverse_so3",
    "right_jacobian_se3",
    "right_jacobian_so3",
    "rotation_about_axis",
    "rpy_to_matrix",
    "skew",
]


def __getattr__(name: str) -> Any:
    """Import on first use what takes time, a millisecond or less."""
    if name not in __all__:
        raise AttributeError(f"module 'mbt.math' has no attribute {name!r}")
    from importlib import import_module

    module = "curvilinear_path" if name == "PiecewiseConstantCurvatureTrajectory" else "pseudo_inertia"
    return globals().setdefault(name, getattr(import_module(f"mbt.math.{module}"), name))


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
