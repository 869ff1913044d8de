"""How velocities depend on v and qdot, and what accelerations do not depend on vdot and qddot."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache
from mbt._core.tree_dynamics cimport TreeDynamics


cdef class TreeJacobians(TreeDynamics):
    cdef object translational_velocity_jacobian(
        self, ContextCore c, bint by_qdot, int b, object points, int a, int e, object out)
    cdef int finish_jacobian(
        self, ContextCore c, PositionKinematicsCache pc, int e, int num_rows, double* J_v, double* J_qdot) except -1
    cdef int bias_accelerations(self, ContextCore c, bint by_qdot, double* memory, double* A_WB) except -1


cdef int wants_qdot(object with_respect_to) except -1
