"""Samples of a batch, block by block: loaded from rows into lanes, passed through a kernel, and stored."""

from libc.math cimport NAN
from libc.string cimport memcpy

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Parameters, Pivots
from mbt._core.door.compiled_model cimport derive_numbers
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.engines.lane_job cimport Job
from mbt._core.engines.lane_kernels cimport roll_out_block
from mbt._core.engines.leading_axes cimport Operand, has_singular_map, is_singular
from mbt._core.model.structs cimport Model
from mbt._core.passes.inverse_dynamics_derivatives cimport set_sparse_places
from mbt._core.passes.packed_mass_matrix cimport set_packed_places
from mbt._core.passes.regressor cimport set_regressor_places
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call
from mbt._core.quantities.dispatch cimport calc_kinematics, count_work_of
from mbt._core.quantities.table cimport (
    INVERSE_DYNAMICS_REGRESSOR, MASS_MATRIX, MOBILIZER, element_of, integer_of,
)
from mbt._core.scalars cimport (
    MBT_W, Lanes, load_rows, load_rows_partial, select_lt, store_rows, store_rows_partial,
)

cdef extern from "quantities/arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)

cdef extern from "scalars/stream.hpp" namespace "MBT_NS" nogil:
    double* aligned_like(const double* to, double* memory)
    void stream_doubles(const double* source, double* to, Py_ssize_t n)
    void finish_streaming()

cdef extern from "scalars/placed_rows.hpp" namespace "MBT_NS" nogil:
    void store_placed_rows(
        const Lanes* numbers, const int* places, int zero, double* rows, Py_ssize_t stride, int n, int count)
    void stream_rows(const Lanes* numbers, const int* places, int zero, double* out, int n, double* memory)


cdef inline int run_samples(const Job* job, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
    """Samples `first` to `end` - 1. Returns 0, or 1 if out of memory."""
    cdef const Model* m = job.model
    cdef Py_ssize_t num_input = 0, num_output = job.output_size*job.num_outputs
    cdef Py_ssize_t num_work = count_work_of[Lanes](job.functions, job.quantity, job.integers, m)
    cdef Py_ssize_t num_parameters = 0
    cdef Py_ssize_t num_rows = job.output_size*MBT_W + 8 if job.streamed else 0
    cdef Py_ssize_t num_checked_work = kernels.work_size(m) if job.checked_parameters != NULL else 0
    if job.num_columns:
        num_parameters = job.layout.size + count_derived(m)
        num_checked_work += num_parameters
    cdef Py_ssize_t num_bases = (m.num_bodies*sizeof(int))//sizeof(double) + 1
    cdef Py_ssize_t num_places = num_output//2 + 1 if job.sparse else 0
    cdef Py_ssize_t i, k, count
    cdef int j
    cdef int zero = -1  # if zeros are stored as whole blocks, their place
    for j in range(job.num_operands):
        num_input += job.operands[j].size
    cdef double* arena = arena_doubles(
        (num_parameters + job.num_columns + num_input + num_output + 1 + num_work)*MBT_W + num_rows + num_checked_work
        + num_bases + num_places + 8
    )
    if arena == NULL:
        return 1
    # The next multiple of 64 bytes.
    cdef Lanes* own_parameters = <Lanes*>((<size_t>arena + 63) & ~<size_t>63)
    cdef Lanes* varying = own_parameters + num_parameters
    cdef Lanes* inputs = varying + job.num_columns
    cdef Lanes* out = inputs + num_input
    cdef Lanes* work = out + num_output + 1
    cdef double* rows = <double*>(work + num_work)
    cdef double* to
    cdef double* checked_work = rows + num_rows
    cdef int* bases = <int*>(checked_work + num_checked_work)
    cdef int* places = NULL
    cdef Lanes* v = inputs + job.operands[0].size
    cdef Lanes* x = v if job.num_operands < 2 else v + job.operands[1].size
    cdef Lanes* at
    cdef Parameters[Lanes] derived
    cdef const Parameters[Lanes]* parameters = job.parameters
    cdef Call[Lanes] c
    if job.num_columns:
        for i in range(job.layout.size):
            own_parameters[i] = <Lanes>job.common[i]
        derive_parameters[Lanes](
            m, job.layout, EVERYTHING, own_parameters, own_parameters + job.layout.size, &derived
        )
        parameters = &derived
    c.functions = job.functions
    c.integers = &job.integers[0]
    c.model, c.switches, c.p = job.model, job.switches, parameters
    c.q, c.v, c.x, c.memory, c.base = inputs, v, x, work, bases
    c.k.rest = work
    c.pivots.D = NULL
    c.gravity = NULL
    if job.sparse:
        places = <int*>(checked_work + num_checked_work + num_bases)
        set_places(job, <int>num_output, places)
        out[num_output] = <Lanes>0.0
        if job.quantity == INVERSE_DYNAMICS_REGRESSOR:
            zero = <int>num_output
    i = first
    while i < end:
        count = min(<Py_ssize_t>MBT_W, end - i)
        if job.num_columns:
            load_samples(&job.parameter_rows, i, count, varying)
            for k in range(job.num_columns):
                own_parameters[job.columns[k]] = varying[k]
            derive_parameters[Lanes](
                m, job.layout, job.changed, own_parameters, own_parameters + job.layout.size, &derived
            )
        at = inputs
        for j in range(job.num_operands):
            if i == first or job.operands[j].stride or job.spoils_input:
                load_samples(&job.operands[j], i, count, at)
            at += job.operands[j].size
        if job.path != NULL:
            if job.is_checked or job.checked_parameters != NULL:
                spoil_singular(job, i, count, checked_work, v)
            roll_out_block(job, i, count, parameters, inputs, v, x, work)
            i += count
            continue
        if job.in_rows:
            to = job.outputs[0] + job.output_size*i
            if count < MBT_W:
                run_kernel(job, &c, out)
                memcpy(to, out, job.output_size*count*sizeof(double))
            elif job.streamed:
                run_kernel(job, &c, <Lanes*>aligned_like(to, rows))
                stream_doubles(aligned_like(to, rows), to, job.output_size*MBT_W)
            else:
                run_kernel(job, &c, <Lanes*>to)
        else:
            run_kernel(job, &c, out)
            for j in range(job.num_outputs):
                to = job.outputs[j] + job.output_size*i
                if job.sparse:
                    store_sparse_samples(job, out, places + j*job.output_size, zero, to, count, rows)
                else:
                    store_samples(job, out + j*job.output_size, to, count, rows)
        if job.is_checked or job.has_rates or job.checked_parameters != NULL:
            spoil_singular(job, i, count, checked_work, v)
        i += count
    if job.streamed:
        finish_streaming()
    return 0


cdef inline void set_places(const Job* job, int zero, int* places) noexcept nogil:
    """Place of each entry of a sparse result in the output of the kernel; `zero` is the place of a zero."""
    if job.quantity == MASS_MATRIX:
        set_packed_places(job.model, zero, places)
    elif job.quantity == INVERSE_DYNAMICS_REGRESSOR:
        set_regressor_places(job.model, zero, places)
    else:
        set_sparse_places(job.model, zero, places)


cdef inline void load_samples(const Operand* x, Py_ssize_t first, Py_ssize_t count, Lanes* out) noexcept nogil:
    cdef const double* rows = x.data + x.stride*first
    if count == MBT_W:
        load_rows(rows, x.stride, x.size, out)
    else:
        load_rows_partial(rows, x.stride, x.size, count, out)


cdef inline void store_samples(
    const Job* job, const Lanes* lanes, double* out, Py_ssize_t count, double* memory
) noexcept nogil:
    cdef Py_ssize_t n = job.output_size
    if job.streamed and count == MBT_W:
        stream_rows(lanes, NULL, 0, out, n, memory)
    elif count < MBT_W:
        store_rows_partial(lanes, out, n, n, count)
    else:
        store_rows(lanes, out, n, n)


cdef inline void store_sparse_samples(
    const Job* job, const Lanes* lanes, const int* places, int zero, double* out, Py_ssize_t count, double* memory
) noexcept nogil:
    cdef Py_ssize_t n = job.output_size
    if job.streamed and count == MBT_W:
        stream_rows(lanes, places, zero, out, n, memory)
    else:
        store_placed_rows(lanes, places, zero, out, n, n, count)


cdef inline void run_kernel(const Job* job, Call[Lanes]* c, Lanes* out) noexcept nogil:
    c.out = out
    if job.reads_kinematics:
        calc_kinematics[Lanes](job.row, c)
    job.functions.call(job.quantity, c)
    if c.pivots.D != NULL:
        spoil_massless(job.model, &c.pivots, job.output_size*job.num_outputs, out)


# Samples without a result ---------------------------------------------------------------------------------------

cdef inline void spoil_massless(const Model* m, const Pivots[Lanes]* p, Py_ssize_t n, Lanes* out) noexcept nogil:
    """Write NaN to each lane in which a dof is massless."""
    cdef Lanes bad = <Lanes>0.0
    cdef Lanes zero = <Lanes>0.0
    cdef Lanes nan = <Lanes>NAN
    cdef Py_ssize_t k
    for k in range(m.num_velocities + p.further):
        if k >= m.num_velocities or not (p.locked != NULL and p.locked[k]):
            bad = bad + select_lt(PIVOT_TOLERANCE*p.scale[p.stride*k], p.D[p.stride*k], zero, nan)
    for k in range(n):
        out[k] = out[k] + bad


cdef inline void spoil_singular(
    const Job* job, Py_ssize_t first, Py_ssize_t count, double* memory, Lanes* v
) noexcept nogil:
    """Write NaN to each sample in which a mobilizer has no pose or no rates, or an element has no force.

    Along a path, NaN in the initial velocities makes all later results NaN.
    """
    cdef Py_ssize_t i, k
    cdef int j
    for i in range(count):
        if has_no_result(job, first + i, memory):
            if job.path != NULL:
                for k in range(job.model.num_velocities):
                    (<double*>(v + k))[i] = NAN
            for j in range(job.num_outputs):
                for k in range(job.output_size):
                    job.outputs[j][job.output_size*(first + i) + k] = NAN


cdef inline bint has_no_result(const Job* job, Py_ssize_t i, double* memory) noexcept nogil:
    cdef const double* q = job.operands[0].data + job.operands[0].stride*i
    cdef Parameters[double] derived
    cdef const Parameters[double]* p = job.checked_parameters
    cdef const double* row
    cdef double* own
    cdef Py_ssize_t k
    cdef int node = integer_of(job.quantity, job.integers, MOBILIZER)
    if is_singular(job.model, q) or (job.has_rates and has_singular_map(job.model, q, node)):
        return True
    if p == NULL:
        return False
    if job.moves_elements:
        own = memory + kernels.work_size(job.model)
        row = job.parameter_rows.data + job.parameter_rows.stride*i
        memcpy(own, job.common, job.layout.size*sizeof(double))
        for k in range(job.num_columns):
            own[job.columns[k]] = row[k]
        derive_numbers(job.model, job.layout, own, own + job.layout.size, &derived)
        p = &derived
    return kernels.find_singular_element_at(job.model, p, q, memory, element_of(job.quantity, job.integers)) >= 0
