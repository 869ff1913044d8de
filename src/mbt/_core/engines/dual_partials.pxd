"""Dynamics with derivatives along many directions, from partial derivatives along each dof: products of matrices."""

from libc.string cimport memset

from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.table cimport DIVIDES, describe

cdef extern from "algebra/seeds.hpp" namespace "MBT_NS" nogil:
    struct Seed:
        pass
    void set_seeds(const double* rows, Py_ssize_t n, Py_ssize_t directions, Seed* seeds)
    Seed combine_seeds(
        const double* rows, int n, Py_ssize_t directions, const double* factors, int stride, double* row)
    void add_product(const double* A, Py_ssize_t n, const Seed* seeds, Py_ssize_t directions, double* Y)


cdef inline void add_partials(
    const double* A, Py_ssize_t n, const double* dx, Py_ssize_t directions, Seed* seeds, double* dy
) noexcept nogil:
    """dy += A dx, both (n, directions); NULL stands for zero."""
    if dx != NULL:
        set_seeds(dx, n, directions, seeds)
        add_product(A, n, seeds, directions, dy)


cdef inline void set_velocity_seeds(
    const Model* m, const double* q, const double* dq, Py_ssize_t directions, double* rows, Seed* seeds
) noexcept nogil:
    """Rows of N+ dq, (nv, directions); the rows of dq itself where they are the same."""
    cdef int b, i, j, num_q, num_v
    cdef double[7] unit
    cdef double[7][7] Nplus      # transposed
    for b in range(1, m.num_bodies):
        num_q = m.q_start[b + 1] - m.q_start[b]
        num_v = m.v_start[b + 1] - m.v_start[b]
        if num_q == 1:
            # qdot = v for every mobilizer with one dof.
            Nplus[0][0] = 1.0
        else:
            for j in range(num_q):
                memset(unit, 0, sizeof(unit))
                unit[j] = 1.0
                kernels.velocities_of_mobilizer(m.type[b], m.constants[b], q + m.q_start[b], unit, Nplus[j])
        for i in range(num_v):
            seeds[m.v_start[b] + i] = combine_seeds(
                dq + directions*m.q_start[b], num_q, directions, &Nplus[0][i], 7, rows + directions*(m.v_start[b] + i)
            )


cdef inline Py_ssize_t count_memory_of_kernels(const Call[double]* c, int quantity, int partials) noexcept nogil:
    return max(
        c.functions.count_memory(quantity, c.integers, c.model), c.functions.count_memory(partials, c.integers, c.model)
    )


cdef inline Py_ssize_t count_memory_of_partials(
    const Call[double]* c, int quantity, int partials, Py_ssize_t directions
) noexcept nogil:
    """Doubles of work in `calc_by_partials`: that of kernels, three matrices, and the rows and seeds of an operand."""
    cdef Py_ssize_t nv = c.model.num_velocities
    return count_memory_of_kernels(c, quantity, partials) + 3*nv*nv + nv*directions + (nv*sizeof(Seed))//sizeof(double)


cdef inline int calc_by_partials(
    Call[double]* c,      # out: values
    int quantity,
    int partials,         # the quantity of its partial derivatives
    # In:
    const double* dq,     # (nq, directions)  [rad, m]
    const double* dv,     # (nv, directions)  [rad/s, m/s]
    const double* dx,     # (nv, directions)  [SI]
    Py_ssize_t directions,
    # Out:
    double* derivatives,  # (nv, directions)  [SI]
) noexcept nogil:
    """y' = y_q N+ q' + y_v v' + y_x x'. Returns -1, or the first massless dof; NULL stands for zero."""
    cdef const Model* m = c.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* by_q = c.memory + count_memory_of_kernels(c, quantity, partials)
    cdef double* by_v = by_q + nv*nv
    cdef double* by_x = by_v + nv*nv
    cdef double* rows = by_x + nv*nv
    cdef Seed* seeds = <Seed*>(rows + nv*directions)
    cdef int singular
    if describe(quantity).flags & DIVIDES:
        # Forward dynamics, which finds massless dofs.
        singular = kernels.forward_dynamics_with_elements(m, c.p, c.switches, c.q, c.v, c.x, c.memory, c.out)
        if singular >= 0:
            return singular
    else:
        c.functions.call(quantity, c)
    c.out = by_q
    c.functions.call(partials, c)
    memset(derivatives, 0, nv*directions*sizeof(double))
    if dq != NULL:
        set_velocity_seeds(m, c.q, dq, directions, rows, seeds)
        add_product(by_q, nv, seeds, directions, derivatives)
    add_partials(by_v, nv, dv, directions, seeds, derivatives)
    add_partials(by_x, nv, dx, directions, seeds, derivatives)
    return -1
