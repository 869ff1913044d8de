"""Centre of mass of all bodies, straight from q.

In NumPy: tests/support/textbook.py, center_of_mass.
"""

from mbt._core.algebra.records cimport Mobod, Pose, Weight
from mbt._core.algebra.vectors cimport put
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.joints.mobod_joints cimport calc_general_X_PN, calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_center_of_mass(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)            [rad, m]
    # Work:
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    Weight[T]* work,               # (num_mobods,)
    # Out:
    T* total_mass,                 # (1,)             [kg]
    T* p_WCcm,                     # (3,)             [m]
) noexcept nogil:
    """p_WCcm = sum of m p_WBcm / sum of m, tip to base: moments of mass in mobod frames. No mass: 0 / 0."""
    cdef const MobodJoint* joint
    cdef Pose[T] X_FM, X_PN
    cdef const Weight[T]* x
    cdef Weight[T]* parent
    cdef int i

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    for i in range(model.num_mobods):
        work[i].mass = mobods[i].I.mass
        work[i].h = mobods[i].I.h

    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        if joint.kind == GENERAL:
            calc_general_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, &X_FM, &X_PN)
        else:
            calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X_PN, <T*>NULL)

        x = &work[i]
        parent = &work[joint.parent]
        parent.h = parent.h + X_PN.R*x.h + X_PN.p*x.mass
        parent.mass = parent.mass + x.mass

    total_mass[0] = work[0].mass
    put(work.h/work.mass, p_WCcm)
