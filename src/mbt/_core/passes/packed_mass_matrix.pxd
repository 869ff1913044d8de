"""Mass matrix of batches, without what topology knows: composite rigid bodies, O(n depth).

Only entries of the upper triangle whose dofs are outboard of each other are computed and kept, packed: column k has
dofs k, k - 1, .. of its own joint, then those of each joint inboard, one column behind the other. Composite inertias,
and the momentum of each dof, are in the frame of its mobod, where what a joint makes zero is zero. Then the momentum is
turned once, to axes that all of a tree share, and goes inboard in registers, about the origin of one mobod after the
other: a cross product and a projection for each entry, where `mass_matrix` turns six numbers. The axes B are those of
the base mobod or, where it is free, of its frame F: its motion axes are those of F.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 6.2, in other frames.
In NumPy: tests/support/textbook.py, mass_matrix.
"""

from mbt._core.algebra.records cimport Composite, Mobod, Pose
from mbt._core.algebra.spatial cimport (
    add_shifted_inertia, copy, dot3, dot6, rotate, rotate_symmetric, symmetric_multiply,
)
from mbt._core.algebra.vectors cimport numbers
from mbt._core.joints.mobilizers cimport GENERAL, QUATERNION_FLOATING, REVOLUTE_Z, RPY_FLOATING
from mbt._core.joints.mobod_joints cimport calc_rigid_momentum, calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void set_packed_places(const Model* model, int zero, int* places) noexcept nogil:
    """Where in the packed matrix each entry of the whole one is, (nv, nv); `zero`: where a zero is."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef int place = 0
    cdef int i, k, l, first
    for k in range(nv*nv):
        places[k] = zero
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            first = k
            joint = &model.joints[i]
            while True:
                for l in range(first, joint.v_start - 1, -1):
                    places[nv*l + k] = place
                    places[nv*k + l] = place
                    place += 1
                if joint.parent == 0:
                    break
                joint = &model.joints[joint.parent]
                first = joint.v_start + joint.nv - 1
            joint = &model.joints[i]


cdef inline void calc_packed_mass_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    # In:
    const T* q,                    # (nq,)            [rad, m]
    # Work:
    Composite[T]* work,            # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    T* H_B,                        # (nv, 6)          [1, m]  about No, of general joints
    Pose[T]* turned,               # (num_mobods,)    R_BN, p_PoNo_B; of bases R_BN, where they are free
    # Out:
    T* M,                          # (num_entries,)   [kg m^2, kg m, kg]  packed; nv (nv + 1) / 2 at most
) noexcept nogil:
    """M[l, k] = H_l' F_k, F_k = M_c H_k, with M_c the composite inertia outboard of k, for k outboard of l."""
    cdef int i, k, l
    cdef const MobodJoint* joint
    cdef const T* x
    cdef T[6] F
    cdef T[3] t, f

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N)
        turn_joint(model, i, &work[i].X_PN, H_N, turned, H_B)

    # Tip to base: a composite is complete when its own turn comes.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = composite_of(joint, &mobods[i], &work[i])
        if joint.parent == 0 and joint.kind != GENERAL:
            M[0] = x[9 if joint.kind == REVOLUTE_Z else 0] + reflected_inertia[joint.v_start]
            M += 1
            continue
        if joint.parent != 0:
            add_composite_to_parent(model, i, mobods, x, work)
        for k in range(joint.v_start, joint.v_start + joint.nv):
            calc_rigid_momentum(joint, k, H_N, x[0], x + 1, x + 4, F, F + 3)
            if joint.kind == GENERAL:
                M[0] = dot6(H_N + 6*k, F) + reflected_inertia[k]
                for l in range(k - 1, joint.v_start - 1, -1):
                    M += 1
                    M[0] = dot6(H_N + 6*l, F)
            else:
                M[0] = (F[2] if joint.kind == REVOLUTE_Z else F[5]) + reflected_inertia[k]
            M += 1
            if joint.parent != 0:
                rotate(numbers(turned[i].R), F, t)
                rotate(numbers(turned[i].R), F + 3, f)
                M = project_inboard(model, i, turned, H_N, H_B, t, f, M)


cdef inline bint is_free(const MobodJoint* joint) noexcept nogil:
    """Whether the motion axes of a base are those of F."""
    return not joint.reversed and (joint.type == QUATERNION_FLOATING or joint.type == RPY_FLOATING)


cdef inline void turn_joint(
    const Model* model, int i, const Pose[T]* X_PN, const T* H_N, Pose[T]* turned, T* H_B
) noexcept nogil:
    """Fill `turned` and H_B of mobod i, with those of its parent."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const MobodJoint* parent = &model.joints[joint.parent]
    cdef int j, k
    if joint.parent == 0:
        if is_free(joint):
            for k in range(3):
                for j in range(3):
                    numbers(turned[i].R)[3*k + j] = H_N[6*(joint.v_start + k) + j]
        return
    if parent.parent == 0 and not is_free(parent):
        turned[i] = X_PN[0]
    else:
        turned[i].R = turned[joint.parent].R*X_PN.R
        turned[i].p = turned[joint.parent].R*X_PN.p
    if joint.kind == GENERAL:
        for k in range(joint.v_start, joint.v_start + joint.nv):
            rotate(numbers(turned[i].R), H_N + 6*k, H_B + 6*k)
            rotate(numbers(turned[i].R), H_N + 6*k + 3, H_B + 6*k + 3)


cdef inline const T* composite_of(const MobodJoint* joint, const Mobod[T]* mobod, const Composite[T]* x) noexcept nogil:
    """Mass, h and inertia, ten numbers in a row, of the mobod and all outboard of it: its own where nothing is."""
    return &mobod.mass if joint.v_end == joint.v_start + joint.nv else &x.mass


cdef inline void add_composite_to_parent(
    const Model* model, int i, const Mobod[T]* mobods, const T* x, Composite[T]* work
) noexcept nogil:
    """The last of the children is the first to come: it adds to what the mobod itself has."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const MobodJoint* parent = &model.joints[joint.parent]
    cdef Composite[T]* to = &work[joint.parent]
    cdef const T* R = numbers(work[i].X_PN.R)
    cdef const T* p = numbers(work[i].X_PN.p)
    cdef const T* sum = &mobods[joint.parent].mass if joint.v_end == parent.v_end else &to.mass
    cdef T mass = sum[0]
    cdef T[3] h
    cdef T[6] inertia
    cdef T[3] h_P
    cdef T[6] inertia_P
    rotate(R, x + 1, h_P)
    if parent.parent == 0 and parent.kind != GENERAL:
        # A base on one dof needs no more than what that moves.
        symmetric_multiply(x + 4, R + 6, inertia_P)
        to.inertia.zz = (
            sum[9] + dot3(inertia_P, R + 6) + (h_P[0] + p[0]*x[0] + h_P[0])*p[0] + (h_P[1] + p[1]*x[0] + h_P[1])*p[1]
        )
        to.mass = mass + x[0]
        return
    rotate_symmetric(R, x + 4, inertia_P)
    copy(sum + 1, 3, h)
    copy(sum + 4, 6, inertia)
    add_shifted_inertia(x[0], h_P, inertia_P, p, &mass, h, inertia)
    to.mass = mass
    copy(h, 3, numbers(to.h))
    copy(inertia, 6, numbers(to.inertia))


cdef inline T* project_inboard(
    # Topology:
    const Model* model,
    int i,
    # In:
    const Pose[T]* turned,         # (num_mobods,)
    const T* H_N,                  # (nv, 6)         [1, m]
    const T* H_B,                  # (nv, 6)         [1, m]
    const T* t,                    # (3,)            [kg m^2, kg m]  about No of mobod i
    const T* f,                    # (3,)            [kg m, kg]
    # Out:
    T* M,                          # (num_entries,)  [kg m^2, kg m, kg]
) noexcept nogil:
    """M[l] = H_l' [t; f] for all dofs inboard of mobod i. Returns the end of them."""
    cdef const MobodJoint* joint
    cdef const T* p
    cdef const T* R
    cdef int l
    cdef T t0 = t[0]
    cdef T t1 = t[1]
    cdef T t2 = t[2]
    cdef T f0 = f[0]
    cdef T f1 = f[1]
    cdef T f2 = f[2]
    while True:
        p = &numbers(turned[i].p)[0]
        t0 = t0 + (p[1]*f2 - p[2]*f1)
        t1 = t1 + (p[2]*f0 - p[0]*f2)
        t2 = t2 + (p[0]*f1 - p[1]*f0)
        i = model.joints[i].parent
        joint = &model.joints[i]
        if joint.parent == 0:
            break
        R = &numbers(turned[i].R)[0]
        if joint.kind == REVOLUTE_Z:
            M[0] = R[2]*t0 + R[5]*t1 + R[8]*t2
            M += 1
        elif joint.kind != GENERAL:
            M[0] = R[2]*f0 + R[5]*f1 + R[8]*f2
            M += 1
        else:
            for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
                p = H_B + 6*l
                M[0] = (p[0]*t0 + p[1]*t1 + p[2]*t2) + (p[3]*f0 + p[4]*f1 + p[5]*f2)
                M += 1
    if is_free(joint):
        M[0] = f2
        M[1] = f1
        M[2] = f0
        M[3] = t2
        M[4] = t1
        M[5] = t0
        M += 6
    elif joint.kind == GENERAL:
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            p = H_N + 6*l
            M[0] = (p[0]*t0 + p[1]*t1 + p[2]*t2) + (p[3]*f0 + p[4]*f1 + p[5]*f2)
            M += 1
    else:
        M[0] = t2 if joint.kind == REVOLUTE_Z else f2
        M += 1
    return M
