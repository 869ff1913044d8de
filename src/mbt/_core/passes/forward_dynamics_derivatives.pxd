"""Partial derivatives of forward dynamics along each dof: dvdot = -M^-1 dtau, with dtau those of inverse dynamics.

M^-1 is computed by articulated bodies, about one point of each tree, in World: there nothing is carried from frame to
frame. (A factor of M, which comes with dtau, took 3 to 20 % less time in all, in benchmarks/compare.py, but its inverse
had ten times the error: composites are large beside articulated bodies.)

J. Carpentier, N. Mansard, "Analytical Derivatives of Rigid Body Dynamics Algorithms", RSS 2018.
In NumPy: tests/support/textbook.py, forward_dynamics_derivatives.
"""

from mbt._core.algebra.derivative_columns cimport (
    ARTICULATED, ARTICULATED_ROW, DerivativeColumns, F_of, I_S_of, I_of, S_of, add_changes, add_unit_accelerations,
    copy_column, dot_in_halves, get_column, mirror_upper, multiply_articulated, take_articulated_dof, take_unit_forces,
    width_of,
)
from mbt._core.algebra.records cimport Moving
from mbt._core.algebra.spatial cimport add_scaled, add_to, dot3, dot6, set_zero
from mbt._core.algebra.vectors cimport (
    Force, Mat3, RigidInertia, full, numbers, plus_identity, put, skew, sum, transpose,
)
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.inverse_dynamics_derivatives cimport count_registers
from mbt._core.scalars cimport T


cdef inline void start_articulated_bodies(
    const Model* model, DerivativeColumns[T]* columns, T* I_A
) noexcept nogil:
    """I_A (num_mobods, 6, 8): the inertias of the mobods alone, [J, [h]x; -[h]x, m]."""
    cdef int i, k
    cdef RigidInertia[T] I
    cdef Mat3[T] h, zero
    cdef T* y
    set_zero(numbers(zero), 9)
    for i in range(1, model.num_mobods):
        get_column(I_of(columns, model.joints[i].v_start), 10, <T*>&I)
        y = I_A + ARTICULATED*i
        h = full(skew(I.h))
        put(full(I.J), y, 8)
        put(h, y + 3, 8)
        put(transpose(h), y + 24, 8)
        put(plus_identity(zero, I.mass), y + 27, 8)
        for k in range(6):  # not all of it cleared first: compilers do that by a slow loop
            y[8*k + 6] = y[8*k + 7] = <T>0.0


cdef inline void calc_articulated_dofs(
    # Topology:
    const Model* model,
    # Parameters:
    const T* reflected_inertia,    # (nv,)               [kg m^2, kg]
    const int* locked,             # (nv,)               1 where a dof cannot move; NULL where all can
    # In:
    const T* tau,                  # (nv,)               [N m, N]
    # Work:
    DerivativeColumns[T]* columns,  # S; F of vdot = 0
    Moving[T]* moving,             # (num_mobods,)       dF
    T* I_A,                        # (num_mobods, 6, 8)  [kg m^2, kg m, kg]  in: of the mobods alone
    # Out:
    T* axes,                       # (nv, 6)             [1, m]  S
    T* U,                          # (nv, 8)             [kg m^2, kg m, kg]  I_A S
    T* D,                          # (nv,)               [kg m^2, kg]  pivots: S' U + reflected inertia
    T* D_inverse,                  # (nv,)               [1/(kg m^2), 1/kg]  zero where a dof is locked
    T* scale,                      # (nv,)               [kg m^2, kg]  size of the inertia that D is a part of
    T* vdot,                       # (nv,)               [rad/s^2, m/s^2]  if nothing inboard moves
) noexcept nogil:
    """I_A -= U U' / D from tip to base, dF += U vdot, vdot = (tau - S' (F + dF)) / D."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef T* A
    cdef T* S
    cdef T* parent
    cdef T angular, linear, pivot
    cdef T[6] F
    cdef T* dF
    for i in range(model.num_mobods):
        set_zero(numbers(moving[i].dF), 6)
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        get_column(F_of(columns, joint.v_start), 6, F)
        dF = numbers(moving[i].dF)
        A = I_A + ARTICULATED*i
        angular = A[0] + A[9] + A[18]
        linear = A[27] + A[36] + A[45]
        for k in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            S = axes + 6*k
            get_column(S_of(columns, k), 6, S)
            multiply_articulated(A, S, U + ARTICULATED_ROW*k)
            pivot = dot_in_halves(S, U + ARTICULATED_ROW*k) + reflected_inertia[k]
            D[k] = pivot
            scale[k] = angular*dot3(S, S) + linear*dot3(S + 3, S + 3)
            if locked != NULL and locked[k]:
                D_inverse[k] = <T>0.0
            else:
                D_inverse[k] = <T>1.0/pivot
            vdot[k] = ((tau[k] - dot6(S, F)) - dot_in_halves(S, dF))*D_inverse[k]
            add_scaled(U + ARTICULATED_ROW*k, vdot[k], 6, dF)
            # The first dof hands the rest to the parent.
            parent = I_A + ARTICULATED*joint.parent if k == joint.v_start and joint.parent != 0 else NULL
            take_articulated_dof(U + ARTICULATED_ROW*k, D_inverse + k, A, parent)
        if joint.parent != 0:
            add_to(dF, 6, numbers(moving[joint.parent].dF))


cdef inline void calc_mass_matrix_inverse_in_world(
    # Topology:
    const Model* model,
    # In:
    const T* axes,                 # (nv, 6)        [1, m]
    const T* U,                    # (nv, 8)        [kg m^2, kg m, kg]
    const T* D_inverse,            # (nv,)          [1/(kg m^2), 1/kg]
    Py_ssize_t stride,
    # Work:
    T* F,                          # (6, stride)
    T* A,                          # (num_mobods, 6, stride)
    # Out:
    T* M_inverse,                  # (nv, stride)   [1/(kg m^2), 1/(kg m), 1/kg]
    Moving[T]* moving,             # (num_mobods,)  dA
    T* vdot,                       # (nv,)          [rad/s^2, m/s^2]  in: if nothing inboard moves
) noexcept nogil:
    """Column k is vdot for a unit force on dof k, at rest and without gravity; its rows up to k are computed.

    And vdot -= U' dA_P / D, dA = dA_P + S vdot: a product with M^-1 would lose digits that this keeps.
    """
    cdef int i, k, l
    cdef int end = 0    # behind the dofs of the tree on World that the mobod is in
    cdef T* dA
    cdef int nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef const T* A_P
    cdef T* A_N
    # What no unit force outboard has reached.
    if T is double:
        set_zero(M_inverse, nv*stride)
    else:
        for k in range(nv):
            l = model.joints[model.dof_mobod[k]].v_end
            set_zero(M_inverse + stride*k + l, nv - l)
    set_zero(F, 6*stride)
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            take_unit_forces(
                axes + 6*k, U + ARTICULATED_ROW*k, D_inverse + k, k, joint.v_end, stride, F, M_inverse + stride*k
            )
    set_zero(numbers(moving[0].dA), 6)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        if joint.parent == 0:
            end = joint.v_end
        dA = numbers(moving[i].dA)
        moving[i].dA = moving[joint.parent].dA
        # The last child takes over the memory of its parent.
        A_N = A + 6*stride*joint.ending
        A_P = A + 6*stride*model.joints[joint.parent].ending if joint.parent != 0 else NULL
        for k in range(joint.v_start, joint.v_start + joint.nv):
            add_unit_accelerations(
                axes + 6*k, U + ARTICULATED_ROW*k, D_inverse + k, k, end, stride, A_P, A_N, M_inverse + stride*k
            )
            A_P = A_N
            vdot[k] = vdot[k] - dot_in_halves(U + ARTICULATED_ROW*k, dA)*D_inverse[k]
            add_scaled(axes + 6*k, vdot[k], 6, dA)
    mirror_upper(nv, stride, M_inverse)


cdef inline void add_accelerations(
    # Topology:
    const Model* model,
    # In:
    const T* vdot,                 # (nv,)          [rad/s^2, m/s^2]
    # Out:
    Moving[T]* moving,             # (num_mobods,)  A; dA becomes dA_P
    DerivativeColumns[T]* columns,  # A, F
) noexcept nogil:
    """A += dA; F += I dA_P + dF, with dF the sum over this and all dofs outboard of I_S vdot."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef Moving[T]* x
    cdef Force[T] I_S
    for i in range(model.num_mobods):
        set_zero(numbers(moving[i].dF), 6)
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &moving[i]
        x.A = x.A + x.dA
        x.dA = moving[joint.parent].dA    # dA_P
        for k in range(joint.v_start, joint.v_start + joint.nv):
            get_column(I_S_of(columns, k), 6, numbers(I_S))
            x.dF = sum(x.dF, I_S, vdot[k])
        moving[joint.parent].dF = moving[joint.parent].dF + x.dF
    if T is double:
        for i in range(count_registers(model, columns)):
            add_changes(model.dof_mobod + width_of(columns)*i, moving, columns + i)
    else:
        for i in range(1, model.num_mobods):
            joint = &model.joints[i]
            add_changes(model.dof_mobod + joint.v_start, moving, columns + joint.v_start)
            for k in range(joint.v_start + 1, joint.v_start + joint.nv):
                copy_column(F_of(columns, joint.v_start), 6, F_of(columns, k))
