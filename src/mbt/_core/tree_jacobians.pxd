"""How velocities depend on v and qdot, and what accelerations do not depend on vdot and qddot."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache
from mbt._core.model cimport Model
from mbt._core.tree_dynamics cimport TreeDynamics


cdef struct BodyMotion:
    const double* V_WB     # (num_bodies, 6)
    double* A_WB           # (num_bodies, 6)


cdef class TreeJacobians(TreeDynamics):
    cdef object translational_velocity_jacobian(
        self, ContextCore c, bint by_qdot, int b, object points, int a, int e, object out)
    cdef int finish_jacobian(
        self, ContextCore c, PositionKinematicsCache pc, int e, int num_rows, double* J_v, double* J_qdot) except -1
    cdef int bias_motion(
        self, ContextCore c, bint by_qdot, int base, double* memory, BodyMotion* motion) except -1


cdef int wants_qdot(object with_respect_to) except -1
cdef int common_ancestor(const Model* m, int a, int b) noexcept
cdef Py_ssize_t bias_size(const Model* m) noexcept
