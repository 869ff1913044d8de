"""The functions of quantities that are computed from cached kinematics, or from q and v alone."""

from mbt._core.quantities.bodies cimport register_bodies
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.constraints cimport register_constraints
from mbt._core.quantities.energy cimport register_energy
from mbt._core.quantities.frames cimport register_frames
from mbt._core.quantities.maps cimport register_maps
from mbt._core.quantities.mass cimport register_mass
from mbt._core.quantities.mobilizers cimport register_mobilizers
from mbt._core.scalars cimport T


cdef inline void register_from_kinematics(Functions[T]* functions) noexcept:
    register_maps(functions)
    register_mobilizers(functions)
    register_frames(functions)
    register_bodies(functions)
    register_constraints(functions)
    register_energy(functions)
    register_mass(functions)
