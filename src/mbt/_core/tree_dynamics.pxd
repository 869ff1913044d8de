"""What moves the bodies of a tree."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model cimport Model
from mbt._core.tree_kinematics cimport TreeKinematics


cdef class TreeDynamics(TreeKinematics):
    cdef calc_inverse_dynamics_in_world(
        self, ContextCore c, PositionKinematicsCache pc, VelocityKinematicsCache vc, object vdot,
        object external_forces, bint with_elements, object A_WB_array, object F_BMo_W_array, object out)
    cdef tuple arrays_of(self, const Model* m, object forces, str name)
