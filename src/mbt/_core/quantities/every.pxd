"""The functions of all quantities except the mass matrix, which has several."""

from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.dynamics cimport register_dynamics
from mbt._core.quantities.dynamics_derivatives cimport register_derivatives
from mbt._core.quantities.from_kinematics cimport register_from_kinematics
from mbt._core.quantities.motion cimport register_motion
from mbt._core.scalars cimport T


cdef inline void register_quantities(Functions[T]* functions) noexcept:
    register_dynamics(functions)
    register_derivatives(functions)
    register_motion(functions)
    register_from_kinematics(functions)
