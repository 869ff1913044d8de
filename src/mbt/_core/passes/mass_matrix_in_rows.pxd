"""Mass matrix of one state of doubles: the algorithm of `mass_matrix`, with each vector of three in one register.

The composite inertia stays in registers from a mobod to its parent. Momenta are columns, four dofs in a block: `F` has
those of the current branch, and `left` keeps them until all branches of a mobod are done. Blocks are not of eight dofs
because some processors slow down when they use registers of 512 bits (see `scalars/angles.hpp`).

Mass matrices of arms take 20 to 30 % less time than with one number at a time, those of Solo 12 and H1 20 %
(benchmarks/compare.py, mass matrix).
"""

from mbt._core.algebra.records cimport (
    InertiaRows, Mobod, Pose, append_momenta, carry_momenta, carry_through_revolute, copy_momenta, load_body_inertia,
    load_inertia, project_six, project_three, put_momentum, rigid_inertia, set_no_momenta, set_pose, set_turned_pose,
    store_inertia, sum_carried,
)
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Force, RigidInertia
from mbt._core.joints.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.joints.mobod_joints cimport calc_rigid_momentum, calc_X_PN, moves_freely
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport mirror_upper, sincos_of_angles


cdef inline Py_ssize_t count_momenta(const Model* model) noexcept nogil:
    """Number of doubles in blocks of four dofs each."""
    return 24*((model.num_velocities + 3)//4)


cdef inline void calc_mass_matrix_in_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[double]* mobods,      # (num_mobods,)
    const double* reflected_inertia,  # (nv,)                [kg m^2, kg]
    # In:
    const double* q,                  # (nq,)                [rad, m]
    # Work:
    double* X_PN,                     # (num_mobods, 4, 4)   [1, m]  rows of R, and p
    double* sums,                     # (num_mobods, 5, 4)   [kg m^2, kg m, kg]  with all children but the first
    double* H_N,                      # (nv, 6)              [1, m]
    double* sin_q,                    # (angle_stride,)      [1]
    double* cos_q,                    # (angle_stride,)      [1]
    double* F,                        # (blocks, 6, 4)       [kg m^2, kg m, kg]  about No in N, of the branch at hand
    double* left,                     # (blocks, 6, 4)       [kg m^2, kg m, kg]  of other branches, at their ends
    # Out:
    double* M,                        # (nv, nv)             [kg m^2, kg m, kg]
) noexcept nogil:
    """M[k, l] = H_k' M_c H_l, with M_c the composite inertia outboard of both."""
    cdef int nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef InertiaRows I = InertiaRows()
    cdef int child_start = 0  # the first dof of the first child
    cdef int child_end = 0    # the end of those outboard of it
    cdef int parent = 0       # of the previous mobod
    cdef bint is_tip
    cdef int i, k

    calc_poses(model, mobods, q, H_N, sin_q, cos_q, X_PN)

    # Tip to base.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        is_tip = parent != i
        parent = joint.parent
        if is_tip:
            I = load_body_inertia(mobods[i].I)
        elif child_end != joint.v_end:
            append_momenta(child_end, joint.v_end, left, F)

        if joint.kind == REVOLUTE_Z:
            carry_through_revolute(
                I, parent == 0, X_PN + 16*i, joint.v_start, joint.v_end, is_tip or child_start % 4 == 0, F, nv, M
            )
        else:
            set_no_momenta(joint.v_start, joint.v_end if is_tip else child_start - child_start % 4, F)
            add_other_joint(nv, joint, I, H_N, M, F)
            if parent != 0:
                carry_momenta(X_PN + 16*i, joint.v_start, joint.v_end, F)
        child_start = joint.v_start
        child_end = joint.v_end

        if parent != 0:
            # Of the children of a mobod the last one comes first.
            if joint.v_end == model.joints[parent].v_end:
                I = sum_carried(load_body_inertia(mobods[parent].I), X_PN + 16*i, I)
            else:
                I = sum_carried(load_inertia(sums + 20*parent), X_PN + 16*i, I)
            if parent != i - 1:
                store_inertia(I, sums + 20*parent)
                copy_momenta(joint.v_start, joint.v_end, F, left)

    for k in range(nv):
        M[(nv + 1)*<Py_ssize_t>k] += reflected_inertia[k]
    mirror_upper(nv, M)


cdef inline void calc_poses(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[double]* mobods,      # (num_mobods,)
    # In:
    const double* q,                  # (nq,)                [rad, m]
    # Out:
    double* H_N,                      # (nv, 6)              [1, m]
    double* sin_q,                    # (angle_stride,)      [1]
    double* cos_q,                    # (angle_stride,)      [1]
    double* X_PN,                     # (num_mobods, 4, 4)   [1, m]  rows of R, and p
) noexcept nogil:
    cdef const MobodJoint* joint
    cdef Pose[double] X
    cdef int i
    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        if joint.kind == REVOLUTE_Z:
            set_turned_pose(mobods[i].X_PF, sin_q[joint.angle], cos_q[joint.angle], X_PN + 16*i)
        else:
            calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &X, H_N)
            set_pose(X, X_PN + 16*i)


cdef inline void add_other_joint(
    # Topology:
    int nv,
    const MobodJoint* joint,
    # In:
    const InertiaRows& I,
    const double* H_N,  # (nv, 6)         [1, m]
    # Out:
    double* M,          # (nv, nv)        [kg m^2, kg m, kg]  rows of the joint
    # In and out:
    double* F,          # (blocks, 6, 4)  [kg m^2, kg m, kg]
) noexcept nogil:
    """As `carry_through_revolute`, but without carrying."""
    cdef RigidInertia[double] inertia = rigid_inertia(I)
    cdef Force[double] momentum
    cdef double[3] z
    cdef const double* h = z
    cdef bint translates = True
    cdef int k
    set_zero(z, 2)
    z[2] = 1.0
    for k in range(joint.v_start, joint.v_start + joint.nv):
        calc_rigid_momentum(joint, k, H_N, &inertia, &momentum)
        put_momentum(momentum, k, F)
    for k in range(joint.v_start, joint.v_start + joint.nv):
        if joint.kind == GENERAL and not moves_freely(joint):
            project_six(H_N + 6*k, k, joint.v_start, joint.v_end, F, nv, M)
            continue
        if joint.kind == GENERAL:
            translates = k >= joint.v_start + 3
            h = H_N + 6*k + 3*translates
        project_three(h, translates, k, joint.v_start, joint.v_end, F, nv, M)
