"""Accelerations of the bodies of a tree under all forces, and the forces through its joints."""

from mbt._core.api.tree_jacobians cimport TreeJacobians
from mbt._core.engines.caches cimport AccelerationKinematicsCache
from mbt._core.engines.context cimport ContextCore


cdef class ForwardAccelerations:
    """Accelerations by forward dynamics, and all inputs that they were computed from."""
    cdef unsigned long long time_serial, q_serial, v_serial, parameter_serial, input_serial, switch_serial
    cdef object body_forces, generalized_forces     # copies of the applied forces, or None
    cdef AccelerationKinematicsCache cache
    cdef bint belongs_to(self, ContextCore c, object body_forces, object generalized_forces) except -1


cdef class TreeAccelerations(TreeJacobians):
    cdef tuple constrained_dynamics_of(
        self, ContextCore c, object tau_applied, list pairs, int stabilized, object out=*)
    cdef object accelerations(self, ContextCore c, list user)
    cdef object accelerations_of(self, ContextCore c, list pairs)
