"""Partial derivatives of forward dynamics along each dof: dvdot = -M^-1 dtau, with dtau those of inverse dynamics.

M comes with dtau. It is factored and inverted along the tree, M = L' D L, where L[k, l] is zero unless dof l is inboard
of dof k; the pivots D are those of articulated bodies.

R. Featherstone, "Efficient Factorization of the Joint-Space Inertia Matrix for Branched Kinematic Trees", IJRR 24
(2005).
"""

from mbt._core.derivative_columns cimport (
    A_of, DerivativeColumns, F_of, I_of, I_S_of, S_of, block_width, calc_mass_entries, dot_rows, get_column,
    mirror_block, put_column, scale_row, subtract_row, subtract_rows,
)
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Moving
from mbt._core.scalars cimport T
from mbt._core.spatial cimport add_cross, add_scaled, copy, dot3, dot6, set_zero, symmetric_multiply


cdef inline void calc_mass_rows(
    # Topology:
    const Model* model,
    # Parameters:
    const T* reflected_inertia,    # (nv,)
    # In:
    const DerivativeColumns[T]* columns,
    Py_ssize_t stride,
    # Out:
    T* M,                          # (nv, stride): of row k the entries up to k
) noexcept nogil:
    cdef int i, k, head, mobod
    cdef const Joint* joint
    cdef const Joint* inboard
    set_zero(M, stride*model.num_velocities)
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        for k in range(joint.v, joint.v + joint.nv):
            mobod = i
            while mobod != 0:
                inboard = &model.joints[mobod]
                head = inboard.run
                calc_mass_entries(columns, k, model.joints[head].v, inboard.v + inboard.nv, M + stride*k)
                mobod = model.joints[head].parent
            M[(stride + 1)*k] = M[(stride + 1)*k] + reflected_inertia[k]


cdef inline void factor_mass_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const int* locked,             # (nv,)   1 where a dof cannot move; NULL where all can
    # In:
    Py_ssize_t stride,
    # Out:
    T* M,                          # (nv, stride): in, M; out, L
    T* D,                          # (nv,)
    T* D_inverse,                  # (nv,)   zero where a dof is locked
) noexcept nogil:
    cdef int i, k, l, mobod, head, first
    cdef const Joint* joint
    cdef T* row
    cdef T s
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        for k in range(joint.v + joint.nv - 1, joint.v - 1, -1):
            row = M + stride*k
            D[k] = row[k]
            if locked != NULL and locked[k]:
                D_inverse[k] = <T>0.0
                set_zero(row, k)
                continue
            D_inverse[k] = <T>1.0/D[k]
            mobod = i
            first = k
            while mobod != 0:
                head = model.joints[mobod].run
                for l in range(first - 1, model.joints[head].v - 1, -1):
                    s = row[l]*D_inverse[k]
                    subtract_row(&s, row, l + 1, M + stride*l)
                mobod = model.joints[head].parent
                first = model.joints[mobod].v + model.joints[mobod].nv
            scale_row(&D_inverse[k], k, row)


cdef inline void invert_mass_matrix(
    # Topology:
    const Model* model,
    # In:
    Py_ssize_t stride,
    const T* L,                    # (nv, stride)
    const T* D_inverse,            # (nv,)
    # Out:
    T* M_inverse,                  # (nv, stride)
) noexcept nogil:
    """Row k up to the diagonal: D^-1 less the sum over dofs l inboard of L[k, l] times row l.

    Block by block of rows, so that what is left of a block is mirrored in whole registers.
    """
    cdef int i = 0
    cdef int start = 0
    cdef int k, l, m, mobod, head, end, stop
    cdef int nv = model.num_velocities
    cdef int width = block_width(L)
    cdef const T* factors
    cdef T* row
    cdef T y
    while start < nv:
        stop = start + width if start + width < nv else nv
        for k in range(start, stop):
            while k == model.joints[i].v + model.joints[i].nv:
                i += 1
            row = M_inverse + stride*k
            factors = L + stride*k
            set_zero(row, start)
            mobod = i
            end = k
            while mobod != 0:
                head = model.joints[mobod].run
                subtract_rows(factors, model.joints[head].v, end, M_inverse, stride, start, row)
                mobod = model.joints[head].parent
                end = model.joints[mobod].v + model.joints[mobod].nv
            # Within the block, where row l of the matrix is known up to column k - 1.
            for l in range(start, k):
                y = dot_rows(factors, M_inverse + stride*l, start)
                for m in range(start, k):
                    y = y + factors[m]*M_inverse[stride*l + m]
                row[l] = -y
                M_inverse[stride*l + k] = -y
            y = D_inverse[k] - dot_rows(factors, row, start)
            for m in range(start, k):
                y = y - factors[m]*row[m]
            row[k] = y
        mirror_block(M_inverse, stride, start, nv)
        start = stop


cdef inline void calc_pivot_scales(const Model* model, DerivativeColumns[T]* columns, T* scale) noexcept nogil:
    """The size of the inertia that each pivot is a part of."""
    cdef int k
    cdef T I[10]
    cdef T S[6]
    for k in range(model.num_velocities):
        get_column(S_of(columns, k), 6, S)
        get_column(I_of(columns, k), 10, I)
        scale[k] = (I[4] + I[7] + I[9])*dot3(S, S) + I[0]*dot3(S + 3, S + 3)*3.0


cdef inline void calc_accelerations(
    # Topology:
    const Model* model,
    # In:
    const T* tau,                  # (nv,)
    DerivativeColumns[T]* columns,  # S; F of vdot = 0
    Py_ssize_t stride,
    const T* M_inverse,            # (nv, stride)
    # Work:
    T* rest,                       # (nv,)
    # Out:
    T* vdot,                       # (stride,)
) noexcept nogil:
    """vdot = -M^-1 (S' F - tau)."""
    cdef int k
    cdef T S[6]
    cdef T F[6]
    for k in range(model.num_velocities):
        get_column(S_of(columns, k), 6, S)
        get_column(F_of(columns, k), 6, F)
        rest[k] = dot6(S, F) - tau[k]
    set_zero(vdot, model.num_velocities)
    subtract_rows(rest, 0, model.num_velocities, M_inverse, stride, model.num_velocities, vdot)


cdef inline void add_accelerations(
    # Topology:
    const Model* model,
    # In:
    const T* vdot,                 # (nv,)
    # Out:
    Moving[T]* moving,             # (num_mobods,): A, dA, dF
    DerivativeColumns[T]* columns,  # A, F
) noexcept nogil:
    """A += dA, dA = dA_P + S vdot; F += I dA_P + sum over this and all dofs outboard of I_S vdot."""
    cdef int i, k, l
    cdef const Joint* joint
    cdef Moving[T]* x
    cdef T S[6]
    cdef T I[10]
    cdef T F[6]
    for i in range(model.num_mobods):
        set_zero(moving[i].dA, 6)
        set_zero(moving[i].dF, 6)
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        x = &moving[i]
        for k in range(joint.v, joint.v + joint.nv):
            get_column(I_S_of(columns, k), 6, S)
            add_scaled(S, vdot[k], 6, x.dF)
        for l in range(6):
            moving[joint.parent].dF[l] = moving[joint.parent].dF[l] + x.dF[l]
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        x = &moving[i]
        copy(moving[joint.parent].dA, 6, x.dA)
        get_column(I_of(columns, joint.v), 10, I)
        get_column(F_of(columns, joint.v), 6, F)
        add_inertia_force(I, x.dA, F)
        for l in range(6):
            F[l] = F[l] + x.dF[l]
        for k in range(joint.v, joint.v + joint.nv):
            put_column(F, 6, F_of(columns, k))
            get_column(S_of(columns, k), 6, S)
            add_scaled(S, vdot[k], 6, x.dA)
        for l in range(6):
            x.A[l] = x.A[l] + x.dA[l]
        put_column(x.A, 6, A_of(columns, joint.v))


cdef inline void add_inertia_force(const T* I, const T* A, T* F) noexcept nogil:
    """F += [J alpha + h × a; m a - h × alpha], I = [m, h, J]."""
    cdef T y[3]
    cdef int i
    symmetric_multiply(I + 4, A, y)
    add_cross(I + 1, A + 3, y)
    for i in range(3):
        F[i] = F[i] + y[i]
        F[3 + i] = F[3 + i] + I[0]*A[3 + i]
    add_cross(A, I + 1, F + 3)
