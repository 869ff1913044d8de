"""Generalized forces of gravity: composite weights in mobod frames, O(n), straight from q to tau_g.

Recursive Newton-Euler (R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 5.1), reduced to a tree
at rest.
In NumPy: tests/support/textbook.py, gravity_forces.
"""

from mbt._core.algebra.records cimport Mobod, Weight
from mbt._core.algebra.vectors cimport Vec3, cross, transpose, vector_at
from mbt._core.joints.mobod_joints cimport calc_X_PN, project_force
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_gravity_generalized_forces(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    # Work:
    Weight[T]* work,               # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    T* tau_g,                      # (nv,)            [N m, N]
) noexcept nogil:
    """tau_g = H' [h × g; m g], with m and h of all outboard. A third of the work of inverse dynamics."""
    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    carry_gravity(model, mobods, gravity, q, sin_q, cos_q, work, H_N)
    sum_weights(model, H_N, work, tau_g)


cdef inline void carry_gravity(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* gravity,              # (3,)             [m/s^2]  in World
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* sin_q,                # (angle_stride,)  [1]
    const T* cos_q,                # (angle_stride,)  [1]
    # Out:
    Weight[T]* work,               # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]  of general joints
) noexcept nogil:
    """Base to tip: gravity in N, and the weight of N itself."""
    cdef int i
    cdef const MobodJoint* joint
    cdef Weight[T]* x
    work[0].g = vector_at(gravity)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &work[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &x.X_PN, H_N
        )
        x.g = transpose(x.X_PN.R)*work[joint.parent].g
        x.mass = mobods[i].I.mass
        x.h = mobods[i].I.h


cdef inline void sum_weights(const Model* model, const T* H_N, Weight[T]* work, T* tau_g) noexcept nogil:
    """Tip to base: a composite is complete when its own turn comes."""
    cdef int i
    cdef const MobodJoint* joint
    cdef Weight[T]* x
    cdef Weight[T]* parent
    cdef Vec3[T] t
    cdef Vec3[T] f
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &work[i]
        t = cross(x.h, x.g)
        f = x.g*x.mass
        project_force(joint, H_N, t, f, tau_g)
        if joint.parent != 0:
            parent = &work[joint.parent]
            parent.h = parent.h + x.X_PN.R*x.h + x.X_PN.p*x.mass
            parent.mass = parent.mass + x.mass
