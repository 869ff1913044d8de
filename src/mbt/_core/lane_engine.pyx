"""Batches: what a tree computes, for many states at once, MBT_W of them in the lanes of a register.

A block of MBT_W states goes through a whole computation before the next one begins: its memory stays in the cache.
"""

cimport numpy as cnp
from libc.math cimport NAN
from libc.string cimport memcpy

from mbt._core cimport kernels
from mbt._core.algorithms cimport run_stateless_generalized_forces
from mbt._core.batch cimport Batch, Operand, is_singular
from mbt._core.door cimport adopt, data, size
from mbt._core.model cimport CompiledModel, Model
from mbt._core.records cimport Parameters, Pivots
from mbt._core.scalars cimport (
    MBT_W, Lanes, load_rows, load_rows_partial, select_lt, store_rows, store_rows_partial,
)
from mbt._core.variants cimport (
    FORWARD_DYNAMICS, calc_quantity, count_derived, count_result, count_work_of, derive_parameters,
)

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)


cdef class LaneParameters:
    """What kernels read, the same in every lane."""
    cdef Parameters[Lanes] parameters
    cdef Lanes* memory

    def __cinit__(self, CompiledModel compiled not None, vector):
        cdef Py_ssize_t i, n = compiled.layout.size
        self.memory = <Lanes*>allocate_aligned((n + count_derived(&compiled.model) + 1)*sizeof(Lanes))
        if self.memory == NULL:
            raise MemoryError
        for i in range(n):
            self.memory[i] = <Lanes>data(vector)[i]
        derive_parameters[Lanes](&compiled.model, &compiled.layout, self.memory, self.memory + n, &self.parameters)

    def __dealloc__(self):
        free_aligned(self.memory)


cdef LaneParameters defaults_of(CompiledModel compiled):
    if compiled.lane_defaults is None:
        compiled.lane_defaults = LaneParameters(compiled, compiled.default_parameters)
    return compiled.lane_defaults


# One computation of all samples.
cdef struct Job:
    int quantity
    int index
    const Model* model
    const Parameters[Lanes]* parameters
    const Parameters[double]* checked_parameters
    const Operand* operands      # q, v, and the parts of the third input
    int num_operands
    bint with_forces             # the last two are forces on bodies and generalized ones
    double* outputs[3]
    int num_outputs
    int output_size              # numbers a sample, of each output
    Py_ssize_t count             # samples


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, int index, bint with_forces, tuple outputs
) except -1:
    """Evaluate a `Quantity` of all samples with the default parameters.

    The operands of `batch` are q, v and the third input, as far as the quantity has them; `with_forces` says that forces
    on bodies and generalized forces follow, which act too. `outputs` have the shape of the batch in front.
    """
    cdef const Model* m = &compiled.model
    cdef LaneParameters defaults = defaults_of(compiled)
    cdef Job job
    cdef int i, error
    if batch.count == 0:
        return 0
    job.quantity = quantity
    job.index = index
    job.model = m
    job.parameters = &defaults.parameters
    job.checked_parameters = &compiled.defaults.parameters
    job.operands = batch.operands
    job.num_operands = len(batch.arrays)
    job.with_forces = with_forces
    job.num_outputs = len(outputs)
    job.output_size = count_result(quantity, m)//job.num_outputs
    job.count = batch.count
    for i in range(job.num_outputs):
        if size(outputs[i]) != job.output_size*batch.count:
            raise ValueError(f"outputs[{i}]: expected {job.output_size*batch.count} numbers, got {size(outputs[i])}")
        job.outputs[i] = data(outputs[i])
    with nogil:
        error = run_samples(&job, 0, job.count)
    if error:
        raise MemoryError
    return 0


cdef int run_samples(const Job* job, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
    """Samples `first` to `end` - 1. Returns 0, or 1 without memory."""
    cdef const Model* m = job.model
    cdef Py_ssize_t nq = m.num_positions, nv = m.num_velocities, nb = m.num_bodies
    cdef Py_ssize_t num_input = 0, num_output = job.output_size*job.num_outputs
    cdef Py_ssize_t num_work = count_work_of(job.quantity, m) + nv
    cdef Py_ssize_t num_bases = (nb*sizeof(int))//sizeof(double) + 1
    cdef Py_ssize_t num_rows = 0
    cdef Py_ssize_t i, k, n, count
    cdef int j
    for j in range(job.num_operands):
        num_input += job.operands[j].size
    if m.num_checked or m.num_elements_between:
        num_rows = MBT_W*nq + count_checked_work(m)
    cdef double* arena = arena_doubles((num_input + num_output + num_work)*MBT_W + num_bases + num_rows + 8)
    if arena == NULL:
        return 1
    # The next multiple of 64 bytes.
    cdef Lanes* inputs = <Lanes*>((<size_t>arena + 63) & ~<size_t>63)
    cdef Lanes* out = inputs + num_input
    cdef Lanes* work = out + num_output
    cdef double* rows = <double*>(work + num_work)
    cdef int* bases = <int*>(rows + num_rows)
    cdef Lanes* v = inputs + nq
    cdef Lanes* x = v if job.num_operands < 2 else v + job.operands[1].size
    cdef Lanes* at
    cdef const double* q_rows
    cdef Py_ssize_t q_stride
    i = first
    while i < end:
        count = min(<Py_ssize_t>MBT_W, end - i)
        at = inputs
        for j in range(job.num_operands):
            n = job.operands[j].size
            if j == 0 and num_rows:
                q_stride = job.operands[0].stride
                q_rows = checked_rows(job, i, count, rows, &q_stride)
                load_states(q_rows, q_stride, n, count, at)
            elif i == first or job.operands[j].stride:
                load_states(job.operands[j].data + job.operands[j].stride*i, job.operands[j].stride, n, count, at)
            at += n
        run_block(job, inputs, v, x, work, bases, out)
        for j in range(job.num_outputs):
            store_states(
                out + j*<Py_ssize_t>job.output_size, job.outputs[j] + job.output_size*i, job.output_size, count
            )
        i += count
    return 0


cdef inline void load_states(
    const double* rows, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t count, Lanes* out
) noexcept nogil:
    if count == MBT_W:
        load_rows(rows, stride, n, out)
    else:
        load_rows_partial(rows, stride, n, count, out)


cdef inline void store_states(const Lanes* lanes, double* rows, Py_ssize_t n, Py_ssize_t count) noexcept nogil:
    if count == MBT_W:
        store_rows(lanes, rows, n, n)
    else:
        store_rows_partial(lanes, rows, n, n, count)


cdef inline void run_block(
    const Job* job, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases, Lanes* out
) noexcept nogil:
    cdef const Model* m = job.model
    cdef Py_ssize_t k, nv = m.num_velocities
    cdef const Lanes* F_Bo_W = x + nv
    cdef const Lanes* tau_applied = F_Bo_W + 6*m.num_bodies
    cdef Lanes* tau_of_bodies = work + count_work_of(job.quantity, m)
    cdef Pivots[Lanes] pivots
    if job.with_forces:
        run_stateless_generalized_forces[Lanes](m, job.parameters, q, F_Bo_W, work, tau_of_bodies)
        for k in range(nv):
            tau_of_bodies[k] = tau_of_bodies[k] + tau_applied[k]
        if job.quantity == FORWARD_DYNAMICS:
            for k in range(nv):
                x[k] = x[k] + tau_of_bodies[k]
    pivots = calc_quantity[Lanes](
        job.quantity, job.index, m, &m.switches, job.parameters, q, v, x, work, bases, out
    )
    if job.with_forces and job.quantity != FORWARD_DYNAMICS:
        for k in range(nv):
            out[k] = out[k] - tau_of_bodies[k]
    if pivots.D != NULL:
        spoil_massless(m, &pivots, job.output_size*job.num_outputs, out)


cdef inline void spoil_massless(const Model* m, const Pivots[Lanes]* p, Py_ssize_t n, Lanes* out) noexcept nogil:
    """NaN in each lane where no mass resists a dof."""
    cdef Lanes bad = <Lanes>0.0
    cdef Lanes zero = <Lanes>0.0
    cdef Lanes nan = <Lanes>NAN
    cdef Py_ssize_t k
    for k in range(m.num_velocities):
        if not (p.locked != NULL and p.locked[k]):
            # 64 roundings.
            bad = bad + select_lt(1.4e-14*p.scale[p.stride*k], p.D[p.stride*k], zero, nan)
    for k in range(n):
        out[k] = out[k] + bad


cdef inline Py_ssize_t count_checked_work(const Model* m) noexcept nogil:
    return kernels.work_size(m) if m.num_elements_between else 0


cdef const double* checked_rows(
    const Job* job, Py_ssize_t first, Py_ssize_t count, double* rows, Py_ssize_t* stride
) noexcept nogil:
    """Positions of `count` samples; where a mobilizer has no pose, or an element no force, NaN in a copy of them."""
    cdef const Model* m = job.model
    cdef Py_ssize_t nq = m.num_positions
    cdef const double* q = job.operands[0].data + job.operands[0].stride*first
    cdef Py_ssize_t i, k
    cdef bint copied = False
    for i in range(count):
        if has_no_result(job, q + stride[0]*i, rows + MBT_W*nq):
            if not copied:
                for k in range(count):
                    memcpy(rows + nq*k, q + stride[0]*k, nq*sizeof(double))
                copied = True
            for k in range(nq):
                rows[nq*i + k] = NAN
    if not copied:
        return q
    stride[0] = nq
    return rows


cdef bint has_no_result(const Job* job, const double* q, double* memory) noexcept nogil:
    cdef const Model* m = job.model
    if is_singular(m, q):
        return True
    return m.num_elements_between and kernels.find_singular_element_at(m, job.checked_parameters, q, memory) >= 0
