"""Dynamics of a tree."""

from mbt._core.api.tree_kinematics cimport TreeKinematics
from mbt._core.door.compiled_model cimport Derived
from mbt._core.engines.context cimport ContextCore
from mbt._core.model.structs cimport Model


cdef class TreeDynamics(TreeKinematics):
    cdef object inverse_dynamics_with_forces(
        self, ContextCore c, object vdot, object external_forces, bint with_elements, object multipliers,
        object A_WB_array, object F_BMo_W_array, object out)
    cdef tuple external_pair(self, ContextCore c, object forces, str name)
    cdef tuple own_pair(self, ContextCore c, object forces, str name)
    cdef list applied_pairs(self, ContextCore c)
    cdef list user_pairs(self, ContextCore c)
    cdef tuple user_pair(self, ContextCore c, object elements)
    cdef list acting_pairs(self, ContextCore c, object external_forces)
    cdef tuple constraint_pair(self, ContextCore c, object multipliers)
    cdef object forward_dynamics_of(
        self, ContextCore c, object tau_applied, list pairs, object out, int quantity=*, int stabilized=*)
    cdef object applied_torques(self, ContextCore c, object tau_applied)
    cdef int solve_forward_dynamics(
        self, ContextCore c, object tau_applied, list inputs, object vdot, object multipliers=*, int stabilized=*
    ) except -1
    cdef bint acts_on_bodies(self, ContextCore c)
    cdef int add_joint_inputs(self, ContextCore c, Derived derived, double* tau) except -1
    cdef tuple arrays_of(self, const Model* m, object forces, str name)
