"""How the bodies of a tree accelerate under all forces, and what its joints carry."""

from mbt._core.context cimport AccelerationKinematicsCache, ContextCore, PositionKinematicsCache
from mbt._core.tree_jacobians cimport TreeJacobians


cdef class ForwardAccelerations:
    """Accelerations by forward dynamics, and all that they were computed from."""
    cdef unsigned long long time_serial, q_serial, v_serial, parameter_serial, input_serial, switch_serial
    cdef object body_forces, generalized_forces     # copies of the applied forces, or None
    cdef AccelerationKinematicsCache cache
    cdef bint belongs_to(self, ContextCore c, object body_forces, object generalized_forces) except -1


cdef class TreeAccelerations(TreeJacobians):
    cdef object _joint_ends                         # (num_joints, 2) int32: child frame, node of the mobilizer
    cdef AccelerationKinematicsCache accelerations(self, ContextCore c, tuple user)
    cdef object joint_ends(self)
    cdef void move_reaction(
        self, PositionKinematicsCache pc, int frame_Jc, int node, const double* F_BMo_W, double* F_CJc_Jc) noexcept
