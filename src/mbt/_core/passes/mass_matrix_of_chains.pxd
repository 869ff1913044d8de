"""Mass matrix of trees with long branches, of doubles: composite rigid bodies with axes in World, O(n depth).

Composite inertias are about the origins of their mobods. Momenta and motion axes of all mobods outboard of a base mobod
are about its origin O: each entry is one product of six numbers, where `mass_matrix_in_rows` carries six numbers from
mobod to mobod. For short branches it is slower, because axes are rotated to World
(benchmarks/compare.py, mass matrix of chain30 and chain100).

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, section 6.2, in other frames.
In NumPy: tests/support/textbook.py, mass_matrix: also with all axes about one point.
"""

from mbt._core.algebra.records cimport (
    InertiaRows, Mobod, get_h, get_mass, inertia_in_world, load_inertia, multiply_inertia, store_inertia, sum_shifted,
)
from mbt._core.algebra.spatial cimport add_cross, cross, get_position4, set_zero
from mbt._core.algebra.vectors cimport JointAxes, numbers
from mbt._core.joints.mobilizers cimport PRISMATIC_Z, REVOLUTE_Z, calc_across_H
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.body_poses cimport calc_node_pose_in_rows
from mbt._core.passes.jacobian cimport turn_to_world
from mbt._core.scalars cimport (
    PoseRows, load_pose_rows, mirror_lower, project_row, rotation_rows, sincos_of_angles, store_pose_rows,
)


cdef inline Py_ssize_t stride_of_axes(const Model* model) noexcept nogil:
    """Columns of H: whole vectors, and room for one after the last."""
    return (model.num_velocities + 7)//8*8 + 8


cdef inline void calc_mass_matrix_of_chains(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[double]* mobods,   # (num_mobods,)
    const double* reflected_inertia,  # (nv,)               [kg m^2, kg]
    # In:
    const double* q,               # (nq,)               [rad, m]
    # Work:
    double* sin_q,                 # (angle_stride,)     [1]
    double* cos_q,                 # (angle_stride,)     [1]
    double* H,                     # (6, stride)         [1, m]
    double* X_ON,                  # (num_mobods, 4, 4)  [1, m]
    double* sums,                  # (num_mobods, 5, 4)  [kg m^2, kg m, kg]  with all children but the first
    double* F,                     # (nv, 6)             [kg m^2, kg m, kg]  and two more entries
    # Out:
    double* M,                     # (nv, nv)            [kg m^2, kg m, kg]
) noexcept nogil:
    """M[k, l] = F_k' H_l, F_k = M_c H_k, with M_c the composite inertia outboard of k, for l inboard of k."""
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t stride = stride_of_axes(model)
    cdef const MobodJoint* joint
    cdef int i, k
    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)
    calc_poses_from_base(model, mobods, q, sin_q, cos_q, X_ON)
    for i in range(6):
        set_zero(H + stride*i + nv, stride - nv)
    for i in range(1, model.num_mobods):
        set_motion_axes(model, i, mobods, q, X_ON, stride, H)
    calc_momenta(model, mobods, X_ON, stride, H, sums, F)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v_start, joint.v_start + joint.nv):
            set_row(model, i, k, F + 6*k, stride, H, M)
            M[nv*k + k] = M[nv*k + k] + reflected_inertia[k]
    mirror_lower(model.num_velocities, M)


cdef inline void calc_poses_from_base(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[double]* mobods,   # (num_mobods,)
    # In:
    const double* q,               # (nq,)               [rad, m]
    const double* sin_q,           # (angle_stride,)     [1]
    const double* cos_q,           # (angle_stride,)     [1]
    # Out:
    double* X_ON,                  # (num_mobods, 4, 4)  [1, m]
) noexcept nogil:
    """Poses of mobod frames, with axes of World and positions from the origin of the base mobod, wherever that is."""
    cdef PoseRows X = PoseRows()
    cdef int i
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
    const Mobod[double]* mobods,   # (num_mobods,)
    # In:
    const double* q,               # (nq,)               [rad, m]
    const double* X_ON,            # (num_mobods, 4, 4)  [1, m]
    Py_ssize_t stride,
    # Out:
    double* H,                     # (6, stride)         [1, m]  columns of mobod i
) noexcept nogil:
    """[w; v] of the body-fixed point at O, per unit of each velocity."""
    cdef const MobodJoint* joint = &model.joints[i]
    cdef const double* X = X_ON + 16*i
    cdef const double* X_OP = X_ON + 16*joint.parent if joint.parent != 0 else <const double*>NULL
    cdef double[3] p, w, v
    cdef JointAxes[double] H_FM
    cdef int j, k
    get_position4(X, p)
    if joint.kind == REVOLUTE_Z or joint.kind == PRISMATIC_Z:
        for j in range(3):
            w[j] = X[4*j + 2]
        if joint.kind == REVOLUTE_Z:
            cross(p, w, v)
        for j in range(3):
            H[stride*j + joint.v_start] = w[j] if joint.kind == REVOLUTE_Z else 0.0
            H[stride*(3 + j) + joint.v_start] = v[j] if joint.kind == REVOLUTE_Z else w[j]
    else:
        calc_across_H(joint.type, joint.reversed, model.constants[joint.node], q + joint.q_start, H_FM.dof)
        for k in range(joint.nv):
            turn_to_world(X_OP, numbers(mobods[i].X_PF.R), numbers(H_FM.dof[k].w), w)
            turn_to_world(X_OP, numbers(mobods[i].X_PF.R), numbers(H_FM.dof[k].v), v)
            add_cross(p, w, v)
            for j in range(3):
                H[stride*j + joint.v_start + k] = w[j]
                H[stride*(3 + j) + joint.v_start + k] = v[j]


cdef inline void calc_momenta(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[double]* mobods,   # (num_mobods,)
    # In:
    const double* X_ON,            # (num_mobods, 4, 4)  [1, m]
    Py_ssize_t stride,
    const double* H,               # (6, stride)         [1, m]
    # Work:
    double* sums,                  # (num_mobods, 5, 4)  [kg m^2, kg m, kg]  with all children but the first
    # Out:
    double* F,                     # (nv, 6)             [kg m^2, kg m, kg]  and two more entries
) noexcept nogil:
    """Tip to base: a composite stays in registers as long as each mobod is the parent of the previous one.

    The momenta of a dof are written after those of the next one: four numbers of its torque, then all six.
    """
    cdef const MobodJoint* joint
    cdef InertiaRows I = InertiaRows()
    cdef double[3] w
    cdef double[4] h
    cdef int parent = 0    # of the previous mobod
    cdef int i, j, k
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        if parent != i:
            I = inertia_in_world(X_ON + 16*i, mobods[i].I)
        get_h(I, h)
        for k in range(joint.v_start, joint.v_start + joint.nv):
            for j in range(3):
                w[j] = H[stride*j + k]
            multiply_inertia(I, w, F + 6*k)
            finish_momentum(joint, X_ON + 16*i, get_mass(I), h, w, stride, H + k, F + 6*k)
        parent = joint.parent
        if parent != 0:
            if joint.v_end == model.joints[parent].v_end:
                I = sum_shifted(inertia_in_world(X_ON + 16*parent, mobods[parent].I), X_ON + 16*parent, X_ON + 16*i, I)
            else:
                I = sum_shifted(load_inertia(sums + 20*parent), X_ON + 16*parent, X_ON + 16*i, I)
            if parent != i - 1:
                store_inertia(I, sums + 20*parent)


cdef inline void finish_momentum(
    # Topology:
    const MobodJoint* joint,
    # In:
    const double* X_ON,            # (4, 4)       [1, m]
    double mass,
    const double* h,               # (3,)         [kg m]
    const double* w,               # (3,)         [1]  rotational part of H
    Py_ssize_t stride,
    const double* H,               # (6, stride)  [1, m]  its first column
    # Out:
    double* F,                     # (6,)         [kg m^2, kg m, kg]  torque, force about O; the torque begins with I w
) noexcept nogil:
    """F = M_c H: [I w + h × v; m v + w × h] about No, with the velocity v of No."""
    cdef double[3] p, v
    cdef int j
    get_position4(X_ON, p)
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
    const double* F,               # (6,)         [kg m^2, kg m, kg]
    Py_ssize_t stride,
    const double* H,               # (6, stride)  [1, m]
    # Out:
    double* M,                     # (nv, nv)     [kg m^2, kg m, kg]  row k, up to the diagonal
) noexcept nogil:
    """Row k of the dofs of mobod i: entries of consecutive mobods are contiguous, others are zero."""
    cdef double* row = M + model.num_velocities*<Py_ssize_t>k
    cdef int end = k + 1
    cdef int start
    while i > 0:
        i = model.joints[i].run
        start = model.joints[i].v_start
        project_row(F, start, end, stride, H, row)
        i = model.joints[i].parent
        end = model.joints[i].v_start + model.joints[i].nv if i > 0 else 0
        set_zero(row + end, start - end)
