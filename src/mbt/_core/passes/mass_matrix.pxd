"""Mass matrix: composite rigid bodies, with axes in World, O(n depth).

Composite inertias are about their node origins. Momenta and motion axes are about one point for all that is outboard
of a base mobod, its origin O: then an entry is one product of six numbers, and no vector is carried from mobod to
mobod. As [Featherstone 2008, section 6.2], in other frames.
"""

from mbt._core.mobilizers cimport PRISMATIC_Z, REVOLUTE_Z, calc_across_H
from mbt._core.model cimport Joint, Model
from mbt._core.passes.body_poses cimport calc_node_pose, calc_node_pose_in_rows
from mbt._core.passes.jacobian cimport turn_to_world
from mbt._core.records cimport (
    Composite, CompositeRows, Mobod, add_composite, add_to_composite, load_composite, multiply_inertia,
    rotate_inertia_rows, shift_composite,
)
from mbt._core.scalars cimport (
    PoseRows, T, load_pose_rows, mirror_lower, project_row, rotation_rows, sincos_of_angles, store_pose_rows,
)
from mbt._core.spatial cimport (
    add_cross, add_shifted_inertia, cross, position_between4, rotate4, rotate_symmetric4, set_zero, symmetric_multiply,
)


cdef inline void calc_mass_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)
    # In:
    const T* q,                    # (nq,)
    # Work:
    T* sin_q,                      # (angle_stride,)
    T* cos_q,                      # (angle_stride,)
    T* H,                          # (6, stride)
    T* X_ON,                       # (num_mobods, 4, 4)
    Composite[T]* work,            # (num_mobods,)
    T* F,                          # (nv, 6)
    # Out:
    T* M,                          # (nv, nv)
) noexcept nogil:
    """M[k, l] = F_k' H_l, F_k = M_c H_k, with M_c the composite inertia outboard of k, for l inboard of k."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t stride = stride_of_axes(model)
    cdef const Joint* joint
    cdef int i, k

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    calc_poses_from_base(model, mobods, q, sin_q, cos_q, X_ON)

    for i in range(6):
        set_zero(H + stride*i + nv, stride - nv)
    for i in range(1, model.num_mobods):
        set_motion_axes(model, i, mobods, q, X_ON, stride, H)
        work[i].mass = mobods[i].mass
        rotate4(X_ON + 16*i, mobods[i].h, work[i].h)
        if T is double:
            rotate_inertia_rows(X_ON + 16*i, mobods[i].inertia, work[i].inertia)
        else:
            rotate_symmetric4(X_ON + 16*i, mobods[i].inertia, work[i].inertia)

    if T is double:
        calc_momenta_in_rows(model, X_ON, stride, H, work, F)
    else:
        calc_momenta(model, X_ON, stride, H, work, F)

    # Base to tip, for a row may spoil the beginning of the next one.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v, joint.v + joint.nv):
            set_row(model, i, k, F + 6*k, stride, H, M)
            M[nv*k + k] = M[nv*k + k] + reflected_inertia[k]
    mirror_lower(model.num_velocities, M)


cdef inline Py_ssize_t stride_of_axes(const Model* model) noexcept nogil:
    """Columns of H: whole vectors, and room for one behind the last."""
    return (model.num_velocities + 7)//8*8 + 8


cdef inline void calc_poses_from_base(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)
    const T* sin_q,                # (angle_stride,)
    const T* cos_q,                # (angle_stride,)
    # Out:
    T* X_ON,                       # (num_mobods, 4, 4)
) noexcept nogil:
    """Poses of node frames in World, but from the origin of the base mobod: wherever that is."""
    cdef int i, k
    if T is double:
        calc_poses_from_base_in_rows(model, mobods, q, sin_q, cos_q, X_ON)
    else:
        for i in range(1, model.num_mobods):
            calc_node_pose(model, i, mobods, q, sin_q, cos_q, X_ON)
            if model.joints[i].parent == 0:
                for k in range(3):
                    X_ON[16*i + 4*k + 3] = <T>0.0


cdef inline void calc_poses_from_base_in_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)
    const T* sin_q,                # (angle_stride,)
    const T* cos_q,                # (angle_stride,)
    # Out:
    T* X_ON,                       # (num_mobods, 4, 4)
) noexcept nogil:
    """Of doubles: the pose of the mobod before is in registers."""
    cdef PoseRows X = PoseRows()
    cdef int i
    if T is double:
        for i in range(1, model.num_mobods):
            if 0 < model.joints[i].parent != i - 1:
                X = load_pose_rows(X_ON + 16*model.joints[i].parent)
            X = calc_node_pose_in_rows(model, i, mobods, q, sin_q, cos_q, X)
            if model.joints[i].parent == 0:
                X = rotation_rows(X)
            store_pose_rows(X, X_ON + 16*i)


cdef inline void set_motion_axes(
    # Topology:
    const Model* model,
    int i,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    # In:
    const T* q,                    # (nq,)
    const T* X_ON,                 # (num_mobods, 4, 4)
    Py_ssize_t stride,
    # Out:
    T* H,                          # (6, stride)  columns of mobod i
) noexcept nogil:
    """[w; v] of the body-fixed point at O, per unit of each velocity."""
    cdef const Joint* joint = &model.joints[i]
    cdef const T* X = X_ON + 16*i
    cdef const T* X_OP = X_ON + 16*joint.parent if joint.parent != 0 else <const T*>NULL
    cdef T p[3]
    cdef T w[3]
    cdef T v[3]
    cdef T H_FM[36]
    cdef int j, k
    for j in range(3):
        p[j] = X[4*j + 3]
    if joint.kind == REVOLUTE_Z or joint.kind == PRISMATIC_Z:
        for j in range(3):
            w[j] = X[4*j + 2]
        if joint.kind == REVOLUTE_Z:
            cross(p, w, v)
        for j in range(3):
            H[stride*j + joint.v] = w[j] if joint.kind == REVOLUTE_Z else <T>0.0
            H[stride*(3 + j) + joint.v] = v[j] if joint.kind == REVOLUTE_Z else w[j]
    else:
        calc_across_H(joint.type, joint.reversed, model.constants[joint.node], q + joint.q, H_FM)
        for k in range(joint.nv):
            turn_to_world(X_OP, mobods[i].X_PF.R, H_FM + 6*k, w)
            turn_to_world(X_OP, mobods[i].X_PF.R, H_FM + 6*k + 3, v)
            add_cross(p, w, v)
            for j in range(3):
                H[stride*j + joint.v + k] = w[j]
                H[stride*(3 + j) + joint.v + k] = v[j]


cdef inline void calc_momenta(
    # Topology:
    const Model* model,
    # In:
    const T* X_ON,                 # (num_mobods, 4, 4)
    Py_ssize_t stride,
    const T* H,                    # (6, stride)
    # In, destroyed:
    Composite[T]* work,            # (num_mobods,)  the inertia of each mobod
    # Out:
    T* F,                          # (nv, 6)
) noexcept nogil:
    """Tip to base: a composite is complete when its own turn comes."""
    cdef const Joint* joint
    cdef T p[3]
    cdef T w[3]
    cdef int i, k
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v, joint.v + joint.nv):
            get_column(H + k, stride, w)
            symmetric_multiply(work[i].inertia, w, F + 6*k)
            finish_momentum(joint, X_ON + 16*i, work[i].mass, work[i].h, w, stride, H + k, F + 6*k)
        if joint.parent != 0:
            position_between4(X_ON + 16*joint.parent, X_ON + 16*i, p)
            add_shifted_inertia(
                work[i].mass, work[i].h, work[i].inertia, p, &work[joint.parent].mass, work[joint.parent].h,
                work[joint.parent].inertia
            )


cdef inline void calc_momenta_in_rows(
    # Topology:
    const Model* model,
    # In:
    const T* X_ON,                 # (num_mobods, 4, 4)
    Py_ssize_t stride,
    const T* H,                    # (6, stride)
    # In, destroyed:
    Composite[T]* work,            # (num_mobods,)  the inertia of each mobod
    # Out:
    T* F,                          # (nv, 6)
) noexcept nogil:
    """The same of doubles, with the composite in registers, as long as each mobod is the parent of the one before."""
    cdef const Joint* joint
    cdef CompositeRows x = CompositeRows()
    cdef T p[3]
    cdef T w[3]
    cdef int parent = 0    # of what `x` is outboard of
    cdef int i, k
    if T is double:
        for i in range(model.num_mobods - 1, 0, -1):
            joint = &model.joints[i]
            if parent == i:
                add_composite(&work[i], &x)
            else:
                load_composite(&work[i], &x)
            for k in range(joint.v, joint.v + joint.nv):
                get_column(H + k, stride, w)
                multiply_inertia(&x, w, F + 6*k)
                finish_momentum(joint, X_ON + 16*i, x.mass, x.h, w, stride, H + k, F + 6*k)
            parent = joint.parent
            if parent != 0:
                position_between4(X_ON + 16*parent, X_ON + 16*i, p)
                shift_composite(p, &x)
                if parent != i - 1:
                    add_to_composite(&x, &work[parent])


cdef inline void get_column(const T* H, Py_ssize_t stride, T* w) noexcept nogil:
    """The rotational part of a motion axis."""
    cdef int j
    for j in range(3):
        w[j] = H[stride*j]


cdef inline void finish_momentum(
    # Topology:
    const Joint* joint,
    # In:
    const T* X_ON,                 # (4, 4)
    T mass,
    const T* h,                    # (3,)
    const T* w,                    # (3,)  rotational part of
    Py_ssize_t stride,
    const T* H,                    # (6, stride)  its first column
    # Out:
    T* F,                          # (6,)  [torque; force] about O; the torque begins with I w
) noexcept nogil:
    """F = M_c H: [I w + h × v; m v + w × h] about No, with the velocity v of No."""
    cdef T p[3]
    cdef T v[3]
    cdef int j
    for j in range(3):
        p[j] = X_ON[4*j + 3]
    cross(w, h, F + 3)
    if joint.kind != REVOLUTE_Z:
        for j in range(3):
            v[j] = H[stride*(3 + j)]
        add_cross(w, p, v)
        add_cross(h, v, F)
        for j in range(3):
            F[3 + j] = F[3 + j] + mass*v[j]
    add_cross(p, F + 3, F)


cdef inline void set_row(
    # Topology:
    const Model* model,
    int i,
    int k,
    # In:
    const T* F,                    # (6,)
    Py_ssize_t stride,
    const T* H,                    # (6, stride)
    # Out:
    T* M,                          # (nv, nv)  row k, up to the diagonal
) noexcept nogil:
    """Row k of the dofs of mobod i: mobods that follow each other have theirs in a row, others are zero."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t room = nv*(nv - k)
    cdef T* row = M + nv*k
    cdef int start = 0
    cdef int end = k + 1
    while i > 0:
        i = model.joints[i].run
        start = model.joints[i].v
        project_row(F, start, end, stride, room, H, row)
        i = model.joints[i].parent
        end = model.joints[i].v + model.joints[i].nv if i > 0 else 0
        set_zero(row + end, start - end)
        room = end
