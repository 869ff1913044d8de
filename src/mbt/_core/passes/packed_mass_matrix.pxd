"""Mass matrix of batches, without entries that follow from topology: composite rigid bodies, O(n depth).

Only entries of the upper triangle whose dofs are outboard of each other are computed and kept, packed: column k has
dofs k, k - 1, .. of its own joint, then those of each joint inboard, one column after the other. Composite inertias,
and the momentum of each dof, are in the frame of its mobod, where the joint makes many entries zero. Then the momentum
is turned once, to axes shared by the whole tree, and moved inboard in registers, about the origin of one mobod after
the other: a cross product and a projection for each entry, where `mass_matrix` turns six numbers. The axes B are those
of the base mobod or, where it is free, of its frame F: its motion axes are those of F.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 6.2, in other frames.
In NumPy: tests/support/textbook.py, mass_matrix.
"""

from mbt._core.algebra.records cimport Composite, Mobod, Pose
from mbt._core.algebra.vectors cimport (
    Force, RigidInertia, Vec3, add_shifted, cross, dot, matrix_at, motion_at, put, rotated, vector, z_axis,
)
from mbt._core.joints.mobilizers cimport GENERAL, QUATERNION_FLOATING, REVOLUTE_Z, RPY_FLOATING
from mbt._core.joints.mobod_joints cimport calc_rigid_momentum, calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void set_packed_places(const Model* model, int zero, int* places) noexcept nogil:
    """The place in the packed matrix of each entry of the whole one, (nv, nv); `zero`: that of a zero."""
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
    cdef const RigidInertia[T]* I
    cdef Force[T] F

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N)
        turn_joint(model, i, &work[i].X_PN, H_N, turned, H_B)

    # Tip to base: a composite is complete when its own turn comes.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        I = composite_of(joint, &mobods[i], &work[i])
        if joint.parent == 0 and joint.kind != GENERAL:
            M[0] = (I.J.zz if joint.kind == REVOLUTE_Z else I.mass) + reflected_inertia[joint.v_start]
            M += 1
            continue
        if joint.parent != 0:
            add_composite_to_parent(model, i, mobods, I, work)
        for k in range(joint.v_start, joint.v_start + joint.nv):
            calc_rigid_momentum(joint, k, H_N, I, &F)
            if joint.kind == GENERAL:
                M[0] = dot(F, motion_at(H_N + 6*k)) + reflected_inertia[k]
                for l in range(k - 1, joint.v_start - 1, -1):
                    M += 1
                    M[0] = dot(F, motion_at(H_N + 6*l))
            else:
                M[0] = (F.t.z if joint.kind == REVOLUTE_Z else F.f.z) + reflected_inertia[k]
            M += 1
            if joint.parent != 0:
                M = project_inboard(model, i, turned, H_N, H_B, turned[i].R*F, M)


cdef inline bint is_free(const MobodJoint* joint) noexcept nogil:
    """Whether the motion axes of a base are those of F."""
    return not joint.reversed and (joint.type == QUATERNION_FLOATING or joint.type == RPY_FLOATING)


cdef inline void turn_joint(
    const Model* model, int i, const Pose[T]* X_PN, const T* H_N, Pose[T]* turned, T* H_B
) noexcept nogil:
    """Fill `turned` and H_B of mobod i, with those of its parent."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const MobodJoint* parent = &model.joints[joint.parent]
    cdef int k
    if joint.parent == 0:
        if is_free(joint):
            turned[i].R = matrix_at(H_N + 6*joint.v_start, 6)
        return
    if parent.parent == 0 and not is_free(parent):
        turned[i] = X_PN[0]
    else:
        turned[i].R = turned[joint.parent].R*X_PN.R
        turned[i].p = turned[joint.parent].R*X_PN.p
    if joint.kind == GENERAL:
        for k in range(joint.v_start, joint.v_start + joint.nv):
            put(turned[i].R*motion_at(H_N + 6*k), H_B + 6*k)


cdef inline const RigidInertia[T]* composite_of(
    const MobodJoint* joint, const Mobod[T]* mobod, const Composite[T]* x
) noexcept nogil:
    """The inertia of the mobod and all outboard of it: its own if nothing is outboard."""
    return &mobod.I if joint.v_end == joint.v_start + joint.nv else &x.I


cdef inline void add_composite_to_parent(
    const Model* model, int i, const Mobod[T]* mobods, const RigidInertia[T]* I, Composite[T]* work
) noexcept nogil:
    """The last child comes first: it adds to the inertia of the mobod itself, the others to the sum so far."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const MobodJoint* parent = &model.joints[joint.parent]
    cdef const Pose[T]* X_PN = &work[i].X_PN
    cdef RigidInertia[T]* to = &work[joint.parent].I
    cdef const RigidInertia[T]* others = &mobods[joint.parent].I if joint.v_end == parent.v_end else to
    cdef RigidInertia[T] sum
    cdef Vec3[T] h
    if parent.parent == 0 and parent.kind != GENERAL:
        # For a base with one dof, the inertia about its axis is enough.
        h = X_PN.R*I.h
        to.J.zz = (
            others.J.zz + dot(I.J*X_PN.R.z, X_PN.R.z)
            + (h.x + X_PN.p.x*I.mass + h.x)*X_PN.p.x + (h.y + X_PN.p.y*I.mass + h.y)*X_PN.p.y
        )
        to.mass = others.mass + I.mass
        return
    sum = others[0]
    add_shifted(rotated(X_PN.R, I[0]), X_PN.p, &sum)
    to[0] = sum


cdef inline T* project_inboard(
    # Topology:
    const Model* model,
    int i,
    # In:
    const Pose[T]* turned,         # (num_mobods,)
    const T* H_N,                  # (nv, 6)         [1, m]
    const T* H_B,                  # (nv, 6)         [1, m]
    Force[T] F,                    # [kg m^2, kg m; kg m, kg]  about No of mobod i
    # Out:
    T* M,                          # (num_entries,)  [kg m^2, kg m, kg]
) noexcept nogil:
    """M[l] = H_l' F for all dofs inboard of mobod i. Returns the end of them."""
    cdef const MobodJoint* joint
    cdef int l
    while True:
        F.t = F.t + cross(turned[i].p, F.f)
        i = model.joints[i].parent
        joint = &model.joints[i]
        if joint.parent == 0:
            break
        if joint.kind == REVOLUTE_Z:
            M[0] = dot(z_axis(turned[i].R), F.t)
            M += 1
        elif joint.kind != GENERAL:
            M[0] = dot(z_axis(turned[i].R), F.f)
            M += 1
        else:
            for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
                M[0] = dot(F, motion_at(H_B + 6*l))
                M += 1
    if is_free(joint):
        # From the last dof to the first.
        put(vector(F.f.z, F.f.y, F.f.x), M)
        put(vector(F.t.z, F.t.y, F.t.x), M + 3)
        M += 6
    elif joint.kind == GENERAL:
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            M[0] = dot(F, motion_at(H_N + 6*l))
            M += 1
    else:
        M[0] = F.t.z if joint.kind == REVOLUTE_Z else F.f.z
        M += 1
    return M
