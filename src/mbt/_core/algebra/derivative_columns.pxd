"""Cython view of derivative_columns.hpp, which documents the fields."""

from mbt._core.algebra.records cimport Mobod, Moving
from mbt._core.algebra.vectors cimport ArticulatedInertia, Motion


cdef extern from "algebra/derivative_columns.hpp" namespace "MBT_NS" nogil:
    cdef cppclass DerivativeColumns[S]:
        pass

    cdef enum:
        COMPOSITE
        COMPOSITE_WITH_EXTERNAL

    int width_of[S](const DerivativeColumns[S]* columns)
    S* behind_columns[S](DerivativeColumns[S]* columns, int nv)
    S* aligned[S](S* p)

    # Component 0 of a field of column k; components are `width_of` apart.
    S* motion_of[S](DerivativeColumns[S]* columns, int k)
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
    Motion[S] column_at[S](const S* field)
    void add_column[S](const S* x, int n, S* y)
    void copy_column[S](const S* x, int n, S* y)

    # All columns that share a register with those of `columns[0]`.
    void clear_axes[S](DerivativeColumns[S]* columns)
    void clear_external_forces[S](DerivativeColumns[S]* columns)
    void calc_body_columns[S](
        const int* mobod, const Mobod[S]* mobods, const Moving[S]* moving, DerivativeColumns[S]* columns)
    void add_changes[S](const int* mobod, const Moving[S]* moving, DerivativeColumns[S]* columns)
    void calc_dof_rates[S](DerivativeColumns[S]* columns)
    void calc_axis_momenta[S](DerivativeColumns[S]* columns)
    void calc_force_rates_of[S](DerivativeColumns[S]* columns, bint with_external)

    void calc_outboard_entries[S](
        const DerivativeColumns[S]* columns, bint with_M, int k, int begin, int end, S* M, S* dq, S* dv,
        Py_ssize_t room)
    void calc_inboard_entries[S](
        const DerivativeColumns[S]* columns, bint with_M, bint with_external, int k, int begin, int end, S* M, S* dq,
        S* dv, Py_ssize_t room)


cdef extern from "algebra/dense_rows.hpp" namespace "MBT_NS" nogil:
    cdef enum:
        ARTICULATED
        ARTICULATED_ROW
    void multiply_articulated[S](const S* I_A, const S* axis, S* U)
    void take_articulated_dof[S](const S* U, const S* D_inverse, S* I_A, S* parent)
    S dot_in_halves[S](const S* x, const S* y)

    # Rows of `stride`, a multiple of MBT_W where S is double.
    void multiply_negative[S](const S* A, const S* X, Py_ssize_t stride, int n, int first, int end, S* C)
    void multiply_negative_of_branches[S](
        const S* A, const S* X, Py_ssize_t stride, int n, int first, int end, const int* ends, int* terms, S* C)
    void take_unit_forces[S](
        const S* axis, const S* U, const S* D_inverse, int l, int end, Py_ssize_t stride, S* F, S* y)
    void add_unit_accelerations[S](
        const S* axis, const S* U, const S* D_inverse, int l, int n, Py_ssize_t stride, const S* A_P, S* A, S* y)
    void mirror_upper[S](int n, Py_ssize_t stride, S* A)
    # For one register of columns, in rows.
    int num_columns_at_once[S](const S* x)
    void load_columns[S](const S* row, int count, double sign, S* x)
    void store_columns[S](const S* x, int count, S* row)
    void add_multiple[S](int n, const S& a, const S* x, S* y)
    void take_forces[S](const S* axis, const S* U, const S& D_inverse, S* F, S* y)
    void accelerate_columns[S](const S* axis, const S* U, const S& D_inverse, S* A, S* y)


cdef extern from "algebra/semidefinite_rows.hpp" namespace "MBT_NS" nogil:
    void add_square[S](Py_ssize_t n, const S& d, const S* z, Py_ssize_t stride, S* A)
    void factor_semidefinite[S](Py_ssize_t m, S* A, S* D)
    void solve_semidefinite[S](Py_ssize_t m, const S* L, const S* D, S* y, S* x)
    # Rows of eight.
    void solve_reactions[S](Py_ssize_t m, const S* L, const S* D, const S* scale, const S* K, S* Y, S* W)
    void add_reactions[S](Py_ssize_t m, const S* D, const S* Y, ArticulatedInertia[S]* I)  # I += Y' Y / D
    void keep_independent[S](Py_ssize_t m, const S* L, S* y, S* t)
    bint leaves_much[S](const S* excess, int times)
    void keep_much[S](Py_ssize_t m, const S* excess, S* y)
    # Rows of `stride`, a multiple of MBT_W where S is double.
    void multiply_rows[S](Py_ssize_t m, int n, Py_ssize_t stride, const S* A, const S* X, S* y)
    void solve_columns[S](
        Py_ssize_t m, int n, Py_ssize_t stride, const S* L, const S* D, const S* scale, const S* A, const S* g,
        const S* J, S* y, S* x, S* dF)
    # For one register of columns.
    void solve_register[S](
        Py_ssize_t m, const S* L, const S* D, const S* scale, Py_ssize_t stride, S* y, S* x)


cdef extern from "algebra/graded_rows.hpp" namespace "MBT_NS" nogil:
    cdef cppclass TwoDoubles:
        TwoDoubles(double)
    bint is_graded[S](Py_ssize_t m, int l, double rounding, const S* least, const S* D)
    void add_graded[S](Py_ssize_t m, int l, const S* z, const S& D_inverse, TwoDoubles* A)
    void factor_graded[S](
        Py_ssize_t m, int l, double rounding, const S* scale, const S* least, const S& moved, TwoDoubles* A,
        TwoDoubles* t, S* L, S* D)
    bint has_lost[S](Py_ssize_t m, int l, double most, const S& least, const S& moved, const S* D)
    void refuse[S](Py_ssize_t m, int l, S* D)
