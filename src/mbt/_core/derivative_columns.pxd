"""Cython view of derivative_columns.hpp, which says what each field means."""

cdef extern from "derivative_columns.hpp" namespace "MBT_NS" nogil:
    cdef cppclass DerivativeColumns[S]:
        pass

    cdef enum:
        COMPOSITE
        COMPOSITE_WITH_EXTERNAL

    int width_of[S](const DerivativeColumns[S]* columns)
    S* behind_columns[S](DerivativeColumns[S]* columns, int nv)
    S* aligned[S](S* p)

    # Component 0 of a field of column k; components are `width_of` apart.
    S* pose_of[S](DerivativeColumns[S]* columns, int k)
    S* body_of[S](DerivativeColumns[S]* columns, int k)
    S* V_of[S](DerivativeColumns[S]* columns, int k)
    S* A_of[S](DerivativeColumns[S]* columns, int k)
    S* I_of[S](DerivativeColumns[S]* columns, int k)
    S* F_of[S](DerivativeColumns[S]* columns, int k)
    S* G_of[S](DerivativeColumns[S]* columns, int k)
    S* S_of[S](DerivativeColumns[S]* columns, int k)
    S* P_of[S](DerivativeColumns[S]* columns, int k)
    S* W_of[S](DerivativeColumns[S]* columns, int k)
    S* Q_of[S](DerivativeColumns[S]* columns, int k)
    S* I_S_of[S](DerivativeColumns[S]* columns, int k)
    void put_column[S](const S* x, int n, S* field)
    void get_column[S](const S* field, int n, S* x)
    void add_column[S](const S* x, int n, S* y)
    void copy_column[S](const S* x, int n, S* y)

    # All columns that share a register with those of `columns[0]`.
    void calc_body_columns[S](DerivativeColumns[S]* columns)
    void calc_dof_rates[S](DerivativeColumns[S]* columns)
    void calc_axis_momenta[S](DerivativeColumns[S]* columns)
    void calc_force_rates_of[S](DerivativeColumns[S]* columns, bint with_external)

    void calc_outboard_entries[S](
        const DerivativeColumns[S]* columns, bint with_M, int k, int begin, int end, S* M, S* dq, S* dv,
        Py_ssize_t room)
    void calc_inboard_entries[S](
        const DerivativeColumns[S]* columns, bint with_M, bint with_external, int k, int begin, int end, S* M, S* dq,
        S* dv, Py_ssize_t room)
    void calc_mass_entries[S](const DerivativeColumns[S]* columns, int k, int begin, int end, S* M)


cdef extern from "dense_rows.hpp" namespace "MBT_NS" nogil:
    # Rows of `stride`, a multiple of MBT_W where S is double.
    void subtract_row[S](const S* s, const S* x, int n, S* y)                          # y[:n] -= s x[:n]
    void scale_row[S](const S* s, int n, S* y)                                         # y[:n] = s y[:n]
    void subtract_rows[S](                                                             # y[:n] -= a[begin:end]' X[begin:end, :n]
        const S* a, int begin, int end, const S* X, Py_ssize_t stride, int n, S* y)
    void multiply_negative[S](const S* A, const S* X, Py_ssize_t stride, int n, S* C)  # C = -A X, C with rows of n
    int block_width[S](const S* any)                                                   # rows that `mirror_block` takes
    S dot_rows[S](const S* x, const S* y, int n)
    void mirror_block[S](S* A, Py_ssize_t stride, int k, int n)                        # A[:k, k:k + width] = A[k:k + width, :k]'
