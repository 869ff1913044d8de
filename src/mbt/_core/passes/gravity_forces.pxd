"""Generalized forces of gravity: composite weights in mobod frames, O(n), straight from q to tau_g.

What is left of recursive Newton-Euler (R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 5.1)
at rest.
In NumPy: tests/support/textbook.py, gravity_forces.
"""

from mbt._core.algebra.records cimport Mobod, Weight
from mbt._core.algebra.spatial cimport copy, cross, rotate, rotate_inverse
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
    """tau_g = H' [h × g; m g], with m and h those of all outboard. A third of inverse dynamics at rest."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef Weight[T]* x
    cdef Weight[T]* parent
    cdef T t[3]
    cdef T f[3]

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    copy(gravity, 3, work[0].g)

    # Base to tip: gravity in N.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &work[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &x.X_PN, H_N
        )
        rotate_inverse(x.X_PN.R, work[joint.parent].g, x.g)
        x.mass = mobods[i].mass
        copy(mobods[i].h, 3, x.h)

    # Tip to base: a composite is complete when its own turn comes.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &work[i]
        cross(x.h, x.g, t)
        for k in range(3):
            f[k] = x.g[k]*x.mass
        project_force(joint, H_N, t, f, tau_g)
        if joint.parent != 0:
            # h_P += R h + m p
            parent = &work[joint.parent]
            rotate(x.X_PN.R, x.h, t)
            for k in range(3):
                parent.h[k] = parent.h[k] + t[k] + x.X_PN.p[k]*x.mass
            parent.mass = parent.mass + x.mass
