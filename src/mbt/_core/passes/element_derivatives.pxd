"""Terms of joint damping and force elements in the partial derivatives of inverse dynamics along each dof."""

from mbt._core.algebra.derivative_columns cimport DerivativeColumns, P_of, S_of, column_at
from mbt._core.algebra.records cimport Ends, Mobod, Moving
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Force, Motion, Vec3, cross, dot, numbers, shifted
from mbt._core.forces.elements_on_dof cimport calc_joint_force_by_position, calc_joint_force_by_velocity
from mbt._core.forces.force_elements cimport acts_on_joint, calc_force_change
from mbt._core.joints.mobilizers cimport GENERAL
from mbt._core.model.structs cimport ForceElement, MobodJoint, Model
from mbt._core.passes.element_forces cimport set_ends
from mbt._core.passes.general_joint_derivatives cimport add_same_joint_terms
from mbt._core.scalars cimport T


cdef inline void add_joint_force_derivatives(
    # Topology:
    const Model* model,
    # Parameters:
    const T* damping,          # (nv,)         [N m s/rad, N s/m]
    const T* constants,        # (all constants of all force elements,)  [SI]
    # In:
    const T* q,                # (nq,)         [rad, m]
    const T* v,                # (nv,)         [rad/s, m/s]
    Py_ssize_t stride,
    # Out:
    T* dtau_dq,                # (nv, stride)  [N m, N] per [rad, m]
    T* dtau_dv,                # (nv, stride)  [N m, N] per [rad/s, m/s]
) noexcept nogil:
    """tau -= forces of the elements on one dof - damping v; their dofs have qdot = v."""
    cdef int i, k
    cdef const ForceElement* e
    cdef T slope
    for k in range(model.num_velocities):
        dtau_dv[(stride + 1)*k] = dtau_dv[(stride + 1)*k] + damping[k]
    for i in range(model.num_force_elements):
        e = &model.force_elements[i]
        if acts_on_joint(e.type):
            slope = calc_joint_force_by_position(e.type, constants + e.start, q[e.a])
            dtau_dq[(stride + 1)*e.b] = dtau_dq[(stride + 1)*e.b] - slope
            slope = calc_joint_force_by_velocity(e.type, constants + e.start, v[e.b])
            dtau_dv[(stride + 1)*e.b] = dtau_dv[(stride + 1)*e.b] - slope


cdef inline void add_derivatives_between(
    # Topology:
    const Model* model,
    # Parameters:
    const T* constants,        # (all constants of all force elements,)  [SI]
    const T* X_BF,             # (num_frames, 4, 4)  [1, m]
    const Mobod[T]* mobods,    # (num_mobods,)
    # In:
    const T* q,                # (nq,)               [rad, m]
    const T* X_WB,             # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,             # (num_bodies, 6)     [rad/s, m/s]
    const Moving[T]* moving,   # (num_mobods,)
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S, P
    # Out:
    T* dtau_dq,                # (nv, stride)        [N m, N] per [rad, m]
    T* dtau_dv,                # (nv, stride)        [N m, N] per [rad/s, m/s]
) noexcept nogil:
    """The force F on C and -F on A do no work on motion of both: only dofs that move one of them contribute.

    With y_j the change of F, A at rest, when C turns by S_j and its velocity changes by S_j × V_C + P_j:
    F changes by y_j along a dof that moves C, and by S_j × F - y_j along one that moves A.
    """
    cdef int i, a, c, j, side
    cdef const ForceElement* e
    cdef Ends[T] ends
    cdef Motion[T] V, V_C
    for i in range(model.num_force_elements):
        e = &model.force_elements[i]
        if acts_on_joint(e.type):
            continue
        set_ends(model, e, X_BF, X_WB, V_WB, &ends)
        # At Ao.
        V_C = shifted(ends.V_WC, ends.X_WA.p - ends.X_WC.p)
        V = V_C - ends.V_WA
        a = model.mobod[model.frame_node[e.a]]
        c = model.mobod[model.frame_node[e.b]]
        while a != c:
            side = 1 if c > a else -1
            j = c if c > a else a
            add_derivatives_along(
                model, e, constants + e.start, mobods, q, &ends, &V, &V_C, moving, j, side, stride, columns, dtau_dq,
                dtau_dv
            )
            if side == 1:
                c = model.joints[c].parent
            else:
                a = model.joints[a].parent


cdef inline void add_derivatives_along(
    # Topology:
    const Model* model,
    const ForceElement* e,
    # Parameters:
    const T* constants,        # (num_parameters_of,)  [SI]  the element
    const Mobod[T]* mobods,    # (num_mobods,)
    # In:
    const T* q,                # (nq,)                 [rad, m]
    const Ends[T]* ends,
    const Motion[T]* V,        # [rad/s, m/s]
    const Motion[T]* V_C,      # [rad/s, m/s]
    const Moving[T]* moving,   # (num_mobods,)
    int mobod,
    int side,                  # 1: its dofs move C; -1: they move A
    Py_ssize_t stride,
    # Work:
    DerivativeColumns[T]* columns,  # S, P
    # Out:
    T* dtau_dq,                # (nv, stride)          [N m, N] per [rad, m]
    T* dtau_dv,                # (nv, stride)          [N m, N] per [rad/s, m/s]
) noexcept nogil:
    """The columns of the dofs of one mobod: tau_k -= S_k' F, or += S_k' F where dof k moves A."""
    cdef int a, c, j, k, other, side_k
    cdef const MobodJoint* joint = &model.joints[mobod]
    cdef const MobodJoint* outer
    cdef Vec3[T] p
    cdef Vec3[T] p_OA = ends.X_WA.p - moving[mobod].p_WO
    cdef Motion[T] S, P, S_k
    cdef Force[T] F, dF_q, dF_v
    cdef T work, work_v
    cdef T* at
    for j in range(joint.v_start, joint.v_start + joint.nv):
        S = shifted(column_at(S_of(columns, j)), p_OA)
        P = shifted(column_at(P_of(columns, j)), p_OA) + cross(S, V_C[0])
        calc_force_rates(e, constants, ends, V, &S, &P, side, &F, &dF_q, &dF_v)
        a = model.mobod[model.frame_node[e.a]]
        c = model.mobod[model.frame_node[e.b]]
        while a != c:
            side_k = 1 if c > a else -1
            other = c if c > a else a
            outer = &model.joints[other]
            p = ends.X_WA.p - moving[other].p_WO
            for k in range(outer.v_start, outer.v_start + outer.nv):
                S_k = shifted(column_at(S_of(columns, k)), p)
                work = dot(dF_q, S_k)
                work_v = dot(dF_v, S_k)
                # The change of S_k along dof j.
                if side_k == side and other > mobod:
                    work = work + dot(F, cross(S, S_k))
                at = dtau_dq + stride*k + j
                at[0] = at[0] - work if side_k == 1 else at[0] + work
                at = dtau_dv + stride*k + j
                at[0] = at[0] - work_v if side_k == 1 else at[0] + work_v
            if side_k == 1:
                c = model.joints[c].parent
            else:
                a = model.joints[a].parent
    if joint.kind == GENERAL:
        F.t = F.t + cross(p_OA, F.f)
        if side == 1:
            F = -F
        add_same_joint_terms(
            joint, model.constants[joint.node], &mobods[mobod], q, &moving[joint.parent], &moving[mobod], F, stride,
            columns, dtau_dq
        )


cdef inline void calc_force_rates(
    # Topology:
    const ForceElement* e,
    # Parameters:
    const T* constants,        # (num_parameters_of,)  [SI]  the element
    # In:
    const Ends[T]* ends,
    const Motion[T]* V,        # [rad/s, m/s]
    const Motion[T]* S,        # [1, m]        the motion of a dof
    const Motion[T]* P,        # [rad/s, m/s]  its rate, as A sees it
    int side,                  # 1: the dof moves C; -1: it moves A
    # Out:
    Force[T]* F,               # [N m, N]
    Force[T]* dF_q,            # [N m, N] per [rad, m]
    Force[T]* dF_v,            # [N m, N] per [rad/s, m/s]
) noexcept nogil:
    """F on C, and how it changes along a dof: by y, or by S × F - y."""
    cdef Motion[T] zero
    set_zero(numbers(zero), 6)
    calc_force_change(e, constants, ends, V, S, P, F, dF_q)
    calc_force_change(e, constants, ends, V, &zero, S, F, dF_v)
    if side < 0:
        dF_q[0] = cross(S[0], F[0]) - dF_q[0]
        dF_v[0] = -dF_v[0]
