"""Jacobians of velocities by v and qdot, and the parts of accelerations independent of vdot and qddot."""

from mbt._core.api.tree_dynamics cimport TreeDynamics
from mbt._core.engines.context cimport ContextCore


cdef class TreeJacobians(TreeDynamics):
    cdef object jacobian_in_world(self, ContextCore c, int b, int e, bint by_qdot, object p_BoBp, object out)
    cdef object of_points(
        self, ContextCore c, int quantity, bint by_qdot, object frame_B, object p_BoBi_B, object frame_A,
        object frame_E, object out)


cdef int wants_qdot(object with_respect_to) except -1
