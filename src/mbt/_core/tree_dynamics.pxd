"""What moves the bodies of a tree."""

from mbt._core.context cimport ContextCore, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model cimport Derived, Model
from mbt._core.tree_kinematics cimport TreeKinematics


cdef class TreeDynamics(TreeKinematics):
    cdef calc_inverse_dynamics_in_world(
        self, ContextCore c, PositionKinematicsCache pc, VelocityKinematicsCache vc, object vdot,
        object external_forces, bint with_elements, object A_WB_array, object F_BMo_W_array, object out)
    cdef int solve_forward_dynamics(self, ContextCore c, object tau_applied, tuple inputs, object vdot) except -1
    cdef bint acts_on_bodies(self, ContextCore c)
    cdef bint forces_need_velocities(self, ContextCore c)
    cdef int add_joint_inputs(self, ContextCore c, Derived derived, double* tau) except -1
    cdef int add_element_forces(
        self, ContextCore c, Derived derived, PositionKinematicsCache pc, VelocityKinematicsCache vc, double* F,
        double* tau) except -1
    cdef int check_elements(self, const Model* m, Derived derived, PositionKinematicsCache pc) except -1
    cdef int check_element(self, const Model* m, Derived derived, PositionKinematicsCache pc, int element) except -1
    cdef tuple user_inputs(self, ContextCore c)
    cdef tuple user_forces(self, ContextCore c, PositionKinematicsCache pc, VelocityKinematicsCache vc)
    cdef tuple arrays_of(self, const Model* m, object forces, str name)
