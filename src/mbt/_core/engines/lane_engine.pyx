"""Batches: what a tree computes, for many states at once, MBT_W of them in the lanes of a register.

A block of MBT_W states goes through a whole computation before the next one begins: its memory stays in the cache.
What a sample gets depends on nothing else in its batch: no lane reads another, and threads share whole blocks.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport NAN
from libc.string cimport memcpy

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, Parameters, Pivots
from mbt._core.door.compiled_model cimport CompiledModel, Derived, derive_numbers
from mbt._core.door.derived_parameters cimport (
    EVERYTHING, FRAMES, count_derived, derive_parameters, section_of,
)
from mbt._core.door.exact_arrays cimport adopt, apart, data, in1, is_array1, size
from mbt._core.engines.context cimport ContextCore, Engine, Exclusive
from mbt._core.engines.leading_axes cimport Batch, Operand, has_singular_map, hold, is_alone, is_singular
from mbt._core.model.structs cimport Model, ParameterLayout, Switches
from mbt._core.passes.body_poses cimport calc_body_pose, calc_node_pose
from mbt._core.quantities cimport algorithms, kernels
from mbt._core.quantities cimport dynamics
from mbt._core.quantities.dispatch cimport calc_other_quantity, count_work_of
from mbt._core.quantities.dynamics cimport calc_derivatives
from mbt._core.quantities.motion cimport count_rollout_work, take_step
from mbt._core.quantities.table cimport (
    BODY_POSES, CONSTRAINED_FORWARD_DYNAMICS, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS,
    FRAME_JACOBIAN, GRAVITY_GENERALIZED_FORCES, INVERSE_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES, MASS_MATRIX,
    MAX_INTEGERS, MOBILIZER, MOTION_FORCES, ROLLOUT, Sizes, element_of, integer_of, needs_element_forces,
    needs_maps, needs_velocities, shape_tuple, sizes_of, take_integers,
)
from mbt._core.scalars cimport (
    MBT_W, Lanes, load_rows, load_rows_partial, select_lt, sincos_of_angles, store_pose, store_rows,
    store_rows_partial,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "quantities/arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)

cdef extern from "engines/pool.hpp" namespace "MBT_NS" nogil:
    ctypedef int (*PoolTask)(const void* job, int part) noexcept nogil
    cdef cppclass Pool:
        int run(PoolTask task, const void* job, int count)
    Pool* get_pool()
    double seconds()

cdef extern from "scalars/stream.hpp" namespace "MBT_NS" nogil:
    double* aligned_like(const double* to, double* memory)
    void stream_doubles(const double* source, double* to, Py_ssize_t n)
    void finish_streaming()


cdef class LaneParameters:
    """What kernels read, the same in every lane, and in one state of doubles."""
    cdef CompiledModel compiled
    cdef object vector           # (layout.size,)
    cdef Derived derived
    cdef Parameters[Lanes] parameters
    cdef Lanes* memory

    def __cinit__(self, CompiledModel compiled not None, vector):
        cdef Py_ssize_t i, n = compiled.layout.size
        self.compiled = compiled
        self.vector = vector = in1(vector, "vector", n)
        self.derived = compiled.defaults if vector is compiled.default_parameters else Derived(compiled, vector)
        self.memory = <Lanes*>allocate_aligned((n + count_derived(&compiled.model) + 1)*sizeof(Lanes))
        if self.memory == NULL:
            raise MemoryError
        for i in range(n):
            self.memory[i] = <Lanes>data(vector)[i]
        derive_parameters[Lanes](
            &compiled.model, &compiled.layout, EVERYTHING, self.memory, self.memory + n, &self.parameters
        )

    def __dealloc__(self):
        free_aligned(self.memory)


cpdef LaneParameters lane_parameters(CompiledModel compiled, vector):
    """What kernels read of one parameter vector; of the default one always the same object."""
    if vector is not compiled.default_parameters:
        return LaneParameters(compiled, vector)
    if compiled.lane_defaults is None:
        compiled.lane_defaults = LaneParameters(compiled, vector)
    return compiled.lane_defaults


# Samples are shared among this many threads, at the most.
cdef int num_threads = 1
# Less work than this is not worth waking a thread for.
cdef double SECONDS_PER_THREAD = 50e-6
# Between two looks at signals.
cdef double SECONDS_PER_RUN = 0.1
# Numbers written by work before the first look, by a lane at a time: milliseconds.
cdef Py_ssize_t WORK_OF_FIRST_RUN = 8*1024*1024
# Results that are larger than what caches hold go past them.
cdef Py_ssize_t STREAMED_BYTES = 16*1024*1024


def get_num_threads():
    return num_threads


def set_num_threads(int n):
    global num_threads
    num_threads = n


def lane_count():
    """States in a Lanes, and partial derivatives in a Dual."""
    return MBT_W


def count_outputs(CompiledModel compiled not None, int quantity, tuple integers=()):
    """Numbers of a `Quantity`, of one sample."""
    cdef int[<int>MAX_INTEGERS] numbers
    take_integers(quantity, integers, &compiled.model, numbers)
    return sizes_of(quantity, numbers, &compiled.model).result


ctypedef Pivots[Lanes] (*Kernel)(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil


# Where a rollout takes its inputs from, and leaves the states that it keeps: as they lie in the arrays of users, a step
# at a time, so that a block needs memory for one state whatever the number of steps.
cdef struct Path:
    const double* tau
    Py_ssize_t tau_of_sample, tau_of_step        # strides; zero where one input is for all
    double* q
    double* v
    Py_ssize_t q_of_sample, v_of_sample
    double* q_end                # and all states behind the last step, which are those of the beginning before
    double* v_end


# One computation of all samples.
cdef struct Job:
    Kernel kernel
    int quantity
    int[<int>MAX_INTEGERS] integers
    const Model* model
    const ParameterLayout* layout
    const Switches* switches
    const Parameters[Lanes]* parameters          # the same for all samples, unless there are columns
    const double* common         # parameters, of which samples have their own in some columns
    Operand parameter_rows       # these
    const Py_ssize_t* columns
    Py_ssize_t num_columns
    int changed                  # by them, see derive_parameters
    bint moves_elements          # whether they do
    bint is_checked              # samples where a mobilizer has no pose are NaN
    bint has_rates               # and where qdot = N(q) v is undefined, of one mobilizer or of any
    const Parameters[double]* checked_parameters  # and where an element of these has no force; NULL: none
    const Operand* operands      # q, v, and the parts of the third input
    int num_operands
    bint spoils_input            # operands are loaded for each block
    double* outputs[3]
    int num_outputs
    Py_ssize_t output_size       # numbers a sample, of each output
    bint in_rows                 # the kernel writes rows of doubles
    bint streamed
    const Path* path             # of a rollout from arrays to arrays, else NULL
    Py_ssize_t count             # samples
    Py_ssize_t first_run         # of them before the first look at signals
    # Of the parts for threads:
    Py_ssize_t shared_from       # samples before are done
    Py_ssize_t shared_to         # and from here on come later
    int num_parts


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, const int* integers, tuple outputs
) except -1:
    """Evaluate a `Quantity` of all samples with the default parameters.

    The operands of `batch` are q, v and the parts of the input, as far as the quantity has them. `outputs` have the
    shape of the batch in front.
    """
    cdef LaneParameters defaults = lane_parameters(compiled, compiled.default_parameters)
    cdef Job job
    set_up(&job, compiled, quantity, integers, batch.count, outputs)
    job.parameters = &defaults.parameters
    job.is_checked = compiled.model.num_checked > 0
    if compiled.model.num_elements_between and needs_element_forces(quantity, integers):
        job.checked_parameters = &compiled.defaults.parameters
    job.operands = batch.operands
    job.num_operands = len(batch.arrays)
    cdef list held = batch.hold(outputs) if plan_runs(&job) or not is_alone() else None
    run_job(&job)
    del held
    return 0


cdef class LaneEngine(Engine):
    """What the samples of one Context are computed from: q and v, one row for all samples or one for each, and
    parameters, of which samples have their own in some columns.
    """
    cdef CompiledModel compiled
    cdef tuple batch_shape
    cdef Py_ssize_t count
    cdef object q, v, vector, columns, rows
    cdef LaneParameters parameters

    def __cinit__(self, CompiledModel compiled not None, tuple batch_shape not None):
        self.compiled = compiled
        self.batch_shape = batch_shape
        self.count = 1
        for extent in batch_shape:
            self.count *= extent

    def set_q(self, q):
        """Take positions; None lets go of them."""
        self.q = q

    def set_v(self, v):
        """Take velocities; None lets go of them."""
        self.v = v

    def set_parameters(self, vector, columns, rows):
        """Take parameters: those of all samples, and `rows` of those in `columns` that samples have of their own."""
        self.vector, self.columns, self.rows = vector, columns, rows
        self.parameters = None

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        return is_array1(value, n)

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        """With the axes of the batch in front."""
        cdef Sizes sizes = sizes_of(quantity, integers, &self.compiled.model)
        result = self.output(out, "out", self.batch_shape + shape_tuple(&sizes))
        self.fill(context, quantity, integers, x, (result,))
        return result

    def evaluate_parts(
        self, ContextCore context not None, int quantity, tuple integers not None, x, tuple outs not None
    ):
        """Return the parts of a quantity along its first axis, written into those of `outs` that are not None."""
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &self.compiled.model, numbers)
        cdef Sizes sizes = sizes_of(quantity, numbers, &self.compiled.model)
        shape = self.batch_shape + shape_tuple(&sizes)[1:]
        results = tuple([self.output(out, f"out[{i}]", shape) for i, out in enumerate(outs)])
        if any([out is not None for out in outs]):
            from mbt.math.arrays import check_apart
            check_apart({f"out[{i}]": out for i, out in enumerate(outs)})
        self.fill(context, quantity, numbers, x, results)
        return results

    def roll_out(
        self, ContextCore context not None, tuple integers not None, x, tau, q_end not None, v_end not None,
        q not None, v not None, Py_ssize_t first_row
    ):
        """Go on with all samples by a rollout, and keep its states.

        Parameters
        ----------
        context : ContextCore
            It tells which dofs are locked, and which bodies weigh nothing.
        integers : tuple of int
            Of the quantity ROLLOUT.
        x : ndarray
            dt, and forces on bodies where there are any: one row for all samples, or one for each.
        tau : ndarray, shape (1 or count, 1 or T, nv)
            Generalized forces of each step, or of all.
        q_end, v_end : ndarray, shapes (count, nq), (count, nv)
            The states at the beginning, which become those at the end.
        q, v : ndarray, shapes (count, num_rows, nq), (count, num_rows, nv)
            The states that are kept are written into these.
        first_row : int
            Which of their rows the first one is.
        """
        cdef int[<int>MAX_INTEGERS] numbers
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_rows
        cdef Path path
        take_integers(ROLLOUT, integers, m, numbers)
        num_rows = sizes_of(ROLLOUT, numbers, m).shape[0]
        for name, array, shape in (
            ("q_end", q_end, (self.count, m.num_positions)), ("v_end", v_end, (self.count, m.num_velocities)),
            ("q", q, (self.count, q.shape[1], m.num_positions)), ("v", v, (self.count, q.shape[1], m.num_velocities)),
        ):
            check_array(array, name, shape)
            if not cnp.PyArray_ISWRITEABLE(array):
                raise TypeError(f"{name}: expected an array that can be written")
        if not 0 <= first_row <= q.shape[1] - num_rows:
            raise ValueError(f"first_row: expected 0 to {q.shape[1] - num_rows}, got {first_row}")
        check_array(tau, "tau", (tau.shape[0], tau.shape[1], m.num_velocities))
        if tau.shape[0] not in (1, self.count) or tau.shape[1] not in (1, numbers[1]):
            raise ValueError(f"tau: expected those of 1 or {self.count} samples, 1 or {numbers[1]} steps")
        path.tau = data(tau)
        path.tau_of_step = m.num_velocities if tau.shape[1] > 1 else 0
        path.tau_of_sample = tau.shape[1]*m.num_velocities if tau.shape[0] > 1 else 0
        path.q_of_sample, path.v_of_sample = q.shape[1]*m.num_positions, q.shape[1]*m.num_velocities
        path.q, path.v = data(q) + m.num_positions*first_row, data(v) + m.num_velocities*first_row
        path.q_end, path.v_end = data(q_end), data(v_end)
        with Exclusive(context):
            if self.parameters is None:
                self.parameters = lane_parameters(self.compiled, self.vector)
            evaluate_samples(
                context, ROLLOUT, numbers, self.count, self.parameters, self.columns, self.rows, q_end, v_end,
                self.operand_rows(x, ()), (), &path, (tau, q_end, v_end, q, v)
            )

    cdef object output(self, out, str name, tuple shape):
        if out is None:
            return np.empty(shape)
        from mbt.math.arrays import check_out
        return check_out(out, name, shape)

    cdef object operand_rows(self, array, tuple outputs):
        """One row for all samples, or one for each, apart from what is written."""
        if array is None:
            return no_numbers
        cdef tuple shape = array.shape
        cdef Py_ssize_t lead = len(shape) - 1
        if lead and shape[:lead] != self.batch_shape:
            array = np.broadcast_to(array, self.batch_shape + shape[lead:])
        rows = np.ascontiguousarray(array, dtype=np.float64)
        for out in outputs:
            rows = apart(rows, out)
        return rows

    cdef int fill(
        self, ContextCore context, int quantity, const int* integers, x, tuple outputs
    ) except -1:
        # Kernels of batches run without the GIL.
        with Exclusive(context):
            if self.parameters is None:
                self.parameters = lane_parameters(self.compiled, self.vector)
            evaluate_samples(
                context, quantity, integers, self.count, self.parameters, self.columns, self.rows,
                self.operand_rows(self.q, outputs), self.operand_rows(self.v, outputs),
                self.operand_rows(x, outputs), outputs, NULL, ()
            )
        return 0


cdef int check_array(object array, str name, tuple shape) except -1:
    if not (cnp.PyArray_Check(array) and cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(array)):
        raise TypeError(f"{name}: expected a float64, C-contiguous array")
    if array.shape != shape:
        raise ValueError(f"{name}: expected shape {shape}, got {array.shape}")
    return 0


cdef object no_numbers = np.empty(0)


def evaluate(
    ContextCore context not None, int quantity, tuple integers not None, Py_ssize_t count,
    LaneParameters parameters not None, columns, rows, q, v, x, tuple outputs not None
):
    """Evaluate a `Quantity` of `count` samples into `outputs`, arrays that are equal parts of the result.

    `context` tells which dofs are locked, and which bodies weigh nothing. `rows` are the parameters in `columns` of
    each sample; None where none differ. It, q, v and the input `x` have one row for each sample, or one for all.
    Samples without a result are NaN.
    """
    cdef int[<int>MAX_INTEGERS] numbers
    take_integers(quantity, integers, &context.compiled.model, numbers)
    evaluate_samples(context, quantity, numbers, count, parameters, columns, rows, q, v, x, outputs, NULL, ())


cdef int evaluate_samples(
    ContextCore context, int quantity, const int* integers, Py_ssize_t count, LaneParameters parameters, columns, rows,
    q, v, x, tuple outputs, const Path* path, tuple on_path
) except -1:
    cdef CompiledModel compiled = context.compiled
    cdef const Model* m = &compiled.model
    cdef Operand[3] operands
    cdef Job job
    cdef Switches switches = context.switches
    cdef list held = [context._locked, context._weightless, context._disabled]
    cdef Py_ssize_t i
    if parameters.compiled is not compiled:
        raise ValueError("parameters: expected those of the tree of the context")
    set_up(&job, compiled, quantity, integers, count, outputs)
    job.switches = &switches
    job.path = path
    job.parameters = &parameters.parameters
    if rows is not None:
        columns = np.ascontiguousarray(columns, dtype=np.intp)
        if len(columns) and not 0 <= columns.min() <= columns.max() < compiled.layout.size:
            raise ValueError(
                f"columns: expected 0 to {compiled.layout.size - 1}, got {columns.min()} to {columns.max()}"
            )
        job.common = data(parameters.vector)
        job.columns = <const Py_ssize_t*>cnp.PyArray_DATA(columns)
        job.num_columns = len(columns)
        for i in range(job.num_columns):
            job.changed |= section_of(&compiled.layout, job.columns[i])
            job.moves_elements |= job.columns[i] >= compiled.layout.force_element
        job.moves_elements |= job.changed & FRAMES != 0
        job.parameter_rows = operand(rows, "rows", count, job.num_columns)
    operands[0] = operand(q, "q", count, m.num_positions)
    operands[1] = operand(v, "v", count, m.num_velocities)
    # The inputs of the steps along a path are not part of x.
    operands[2] = operand(
        x, "x", count, sizes_of(quantity, integers, m).input if path == NULL else 1 + 6*m.num_bodies*integers[4]
    )
    if not needs_velocities(quantity):
        operands[1].stride = 0
    job.operands = operands
    job.num_operands = 3
    job.is_checked = m.num_checked > 0
    job.has_rates = m.num_map_checked > 0 and needs_maps(quantity, integers)
    if m.num_elements_between and needs_element_forces(quantity, integers):
        job.checked_parameters = &parameters.derived.parameters
    if plan_runs(&job) or not is_alone():
        for array in (q, v, x, rows, columns, *outputs, *on_path):
            hold(held, array)
    run_job(&job)
    del held
    return 0


cdef Operand operand(object array, str name, Py_ssize_t count, Py_ssize_t num) except *:
    """One row of `num` doubles for each sample, or one for all."""
    if not (cnp.PyArray_Check(array) and cnp.PyArray_TYPE(array) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(array)):
        raise TypeError(f"{name}: expected a float64, C-contiguous array")
    if size(array) == num:
        return Operand(data(array), 0, num)
    if size(array) != num*count:
        raise ValueError(f"{name}: expected {num} or {num*count} numbers, got {size(array)}")
    return Operand(data(array), num, num)


cdef int set_up(
    Job* job, CompiledModel compiled, int quantity, const int* integers, Py_ssize_t count, tuple outputs
) except -1:
    """A job without operands, and with neither parameters nor forces."""
    cdef const Model* m = &compiled.model
    cdef int i
    job.kernel = kernel_of(quantity)
    job.quantity = quantity
    memcpy(job.integers, integers, sizeof(job.integers))
    job.model = m
    job.layout = &compiled.layout
    job.switches = &m.switches
    job.parameters = NULL
    job.common = NULL
    job.parameter_rows = Operand(NULL, 0, 0)
    job.columns = NULL
    job.num_columns = 0
    job.changed = 0
    job.moves_elements = False
    job.is_checked = False
    job.has_rates = False
    job.checked_parameters = NULL
    job.spoils_input = integers[0] and (
        quantity == FORWARD_DYNAMICS or quantity == CONSTRAINED_FORWARD_DYNAMICS
        or quantity == CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES
    )
    job.path = NULL
    job.num_outputs = len(outputs)
    job.output_size = sizes_of(quantity, integers, m).result//job.num_outputs if outputs else 0
    job.count = count
    job.in_rows = quantity == BODY_POSES
    job.streamed = job.output_size*count*job.num_outputs*<Py_ssize_t>sizeof(double) > STREAMED_BYTES
    for i in range(job.num_outputs):
        if size(outputs[i]) != job.output_size*count:
            raise ValueError(f"outputs[{i}]: expected {job.output_size*count} numbers, got {size(outputs[i])}")
        job.outputs[i] = data(outputs[i])
    return 0


cdef int run_job(Job* job) except -1:
    """All samples, with a look at signals now and then: Ctrl-C ends a long batch, and leaves its results half done.

    Between two runs Python code may run in this thread, a handler of signals: what a job points to is held elsewhere,
    and the arena is taken anew.
    """
    cdef Py_ssize_t begin = 0, end, run = job.first_run
    cdef Pool* pool
    cdef int error
    cdef double start
    while True:
        end = min(job.count, begin + run)
        # Looked up each time: after a fork there is another one.
        pool = get_pool() if num_threads > 1 and end - begin > 2*MBT_W else NULL
        with nogil:
            start = seconds() if end < job.count else 0.0
            error = run_in_threads(job, begin, end, pool, 1 if pool == NULL else num_threads)
            if end < job.count:
                run = next_run(end - begin, seconds() - start)
        if error:
            raise MemoryError
        if end == job.count:
            return 0
        PyErr_CheckSignals()
        begin = end


cdef bint plan_runs(Job* job) noexcept nogil:
    """Samples to begin with, for a fraction of a second whatever the model, in whole blocks; whether more come then."""
    cdef Py_ssize_t numbers = count_work_of(job.quantity, job.integers, job.model) + job.output_size*job.num_outputs
    if job.path != NULL:
        numbers *= job.integers[1]
    job.first_run = MBT_W*(1 + WORK_OF_FIRST_RUN//(MBT_W*numbers))
    return job.count > job.first_run


cdef Py_ssize_t next_run(Py_ssize_t count, double duration) noexcept nogil:
    """Samples that take SECONDS_PER_RUN after `count` took so long; whole blocks."""
    cdef double growth = min(16.0, SECONDS_PER_RUN/max(duration, 1e-9))
    return MBT_W*max(<Py_ssize_t>1, <Py_ssize_t>(growth*<double>count)//MBT_W)


cdef int run_in_threads(Job* job, Py_ssize_t begin, Py_ssize_t end, Pool* pool, int threads) noexcept nogil:
    """Samples `begin` to `end` - 1, the first two blocks of them here.

    The second block, which finds in the cache what it reads, tells how much there is to do.
    """
    cdef double start, duration
    cdef int error
    if threads == 1:
        return run_samples(job, begin, end)
    error = run_samples(job, begin, begin + MBT_W)
    start = seconds()
    error |= run_samples(job, begin + MBT_W, begin + 2*MBT_W)
    job.shared_from = begin + 2*MBT_W
    job.shared_to = end
    duration = (seconds() - start)/MBT_W*(end - job.shared_from)
    job.num_parts = <int>min(<double>threads, duration/SECONDS_PER_THREAD)
    if job.num_parts < 2:
        return error | run_samples(job, job.shared_from, end)
    return error | pool.run(run_part, job, job.num_parts)


cdef int run_part(const void* shared, int part) noexcept nogil:
    cdef const Job* job = <const Job*>shared
    return run_samples(job, begin_of_part(job, part), begin_of_part(job, part + 1))


cdef inline Py_ssize_t begin_of_part(const Job* job, int part) noexcept nogil:
    cdef Py_ssize_t blocks = (job.shared_to - job.shared_from + MBT_W - 1)//MBT_W
    return min(job.shared_to, job.shared_from + MBT_W*(blocks*part//job.num_parts))


cdef int run_samples(const Job* job, Py_ssize_t first, Py_ssize_t end) noexcept nogil:
    """Samples `first` to `end` - 1. Returns 0, or 1 without memory."""
    cdef const Model* m = job.model
    cdef Py_ssize_t num_input = 0, num_output = job.output_size*job.num_outputs
    cdef Py_ssize_t num_work = count_work_of(job.quantity, job.integers, m)
    cdef Py_ssize_t num_parameters = 0
    cdef Py_ssize_t num_rows = job.output_size*MBT_W + 8 if job.streamed else 0
    cdef Py_ssize_t num_checked_work = kernels.work_size(m) if job.checked_parameters != NULL else 0
    if job.num_columns:
        num_parameters = job.layout.size + count_derived(m)
        num_checked_work += num_parameters
    cdef Py_ssize_t num_bases = (m.num_bodies*sizeof(int))//sizeof(double) + 1
    cdef Py_ssize_t i, k, count
    cdef int j
    for j in range(job.num_operands):
        num_input += job.operands[j].size
    cdef double* arena = arena_doubles(
        (num_parameters + job.num_columns + num_input + num_output + num_work)*MBT_W + num_rows + num_checked_work
        + num_bases + 8
    )
    if arena == NULL:
        return 1
    # The next multiple of 64 bytes.
    cdef Lanes* own_parameters = <Lanes*>((<size_t>arena + 63) & ~<size_t>63)
    cdef Lanes* varying = own_parameters + num_parameters
    cdef Lanes* inputs = varying + job.num_columns
    cdef Lanes* out = inputs + num_input
    cdef Lanes* work = out + num_output
    cdef double* rows = <double*>(work + num_work)
    cdef double* to
    cdef double* checked_work = rows + num_rows
    cdef int* bases = <int*>(checked_work + num_checked_work)
    cdef Lanes* v = inputs + job.operands[0].size
    cdef Lanes* x = v if job.num_operands < 2 else v + job.operands[1].size
    cdef Lanes* at
    cdef Parameters[Lanes] derived
    cdef const Parameters[Lanes]* parameters = job.parameters
    if job.num_columns:
        for i in range(job.layout.size):
            own_parameters[i] = <Lanes>job.common[i]
        derive_parameters[Lanes](
            m, job.layout, EVERYTHING, own_parameters, own_parameters + job.layout.size, &derived
        )
        parameters = &derived
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
                run_kernel(job, parameters, inputs, v, x, work, bases, out)
                memcpy(to, out, job.output_size*count*sizeof(double))
            elif job.streamed:
                run_kernel(job, parameters, inputs, v, x, work, bases, <Lanes*>aligned_like(to, rows))
                stream_doubles(aligned_like(to, rows), to, job.output_size*MBT_W)
            else:
                run_kernel(job, parameters, inputs, v, x, work, bases, <Lanes*>to)
        else:
            run_kernel(job, parameters, inputs, v, x, work, bases, out)
            for j in range(job.num_outputs):
                store_samples(job, out + j*job.output_size, job.outputs[j] + job.output_size*i, count, rows)
        if job.is_checked or job.has_rates or job.checked_parameters != NULL:
            spoil_singular(job, i, count, checked_work, v)
        i += count
    if job.streamed:
        finish_streaming()
    return 0


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
    cdef double* rows
    if count < MBT_W:
        store_rows_partial(lanes, out, n, n, count)
    elif job.streamed:
        rows = aligned_like(out, memory)
        store_rows(lanes, rows, n, n)
        stream_doubles(rows, out, n*MBT_W)
    else:
        store_rows(lanes, out, n, n)


cdef inline void run_kernel(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    cdef Pivots[Lanes] pivots = job.kernel(job, p, q, v, x, work, bases, out)
    if pivots.D != NULL:
        spoil_massless(job.model, &pivots, job.output_size*job.num_outputs, out)


# Kernels --------------------------------------------------------------------------------------------------------
#
# What batches are mostly made of has functions of its own: in one that computes everything, GCC stops to inline.

cdef Kernel kernel_of(int quantity) noexcept:
    if quantity == INVERSE_DYNAMICS or quantity == MOTION_FORCES:
        return calc_inverse_dynamics
    if quantity == FORWARD_DYNAMICS:
        return calc_forward_dynamics
    if quantity == MASS_MATRIX:
        return calc_mass_matrix
    if quantity == BODY_POSES:
        return calc_body_poses
    if quantity == GRAVITY_GENERALIZED_FORCES:
        return calc_gravity_generalized_forces
    if quantity == INVERSE_DYNAMICS_DERIVATIVES:
        return calc_inverse_dynamics_derivatives
    if quantity == FRAME_JACOBIAN:
        return calc_frame_jacobian
    if quantity == ROLLOUT:
        return calc_rollout
    return calc_other


cdef Pivots[Lanes] calc_inverse_dynamics(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    dynamics.calc_inverse_dynamics[Lanes](job.quantity, job.integers[0], job.model, job.switches, p, q, v, x, work, out)
    return no_pivots()


cdef Pivots[Lanes] calc_forward_dynamics(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return dynamics.calc_forward_dynamics[Lanes](
        job.integers[0], job.model, job.switches, p, q, v, x, work, out
    )


cdef Pivots[Lanes] calc_mass_matrix(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    algorithms.run_mass_matrix[Lanes](job.model, p, q, work, out)
    return no_pivots()


cdef Pivots[Lanes] calc_body_poses(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    """One body at a time, into rows of doubles, (MBT_W, num_bodies, 4, 4): stores go on while the next is computed."""
    cdef const Model* m = job.model
    cdef Lanes* sin_q = work + 16*m.num_mobods
    cdef Lanes* cos_q = sin_q + m.angle_stride
    cdef double* rows = <double*>out
    cdef Lanes[16] X_WB
    cdef const Lanes* X
    cdef int b, shift
    sincos_of_angles(q, m.angles, m.num_angles, sin_q, cos_q)
    for b in range(m.num_bodies):
        if b > 0 and m.joints[m.mobod[b]].node == b:
            calc_node_pose[Lanes](m, m.mobod[b], p.mobods, q, sin_q, cos_q, work)
        X = work + 16*m.mobod[b]
        shift = m.axis_shift[b]
        if shift < 0:
            calc_body_pose[Lanes](m, b, p.X_NB, work, X_WB)
            X = X_WB
            shift = 0
        store_pose(X, shift, rows + 16*b, 16*m.num_bodies)
    return no_pivots()


cdef Pivots[Lanes] calc_gravity_generalized_forces(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    algorithms.run_gravity_forces[Lanes](job.model, p, job.switches.weightless, q, work, out)
    return no_pivots()


cdef Pivots[Lanes] calc_inverse_dynamics_derivatives(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return calc_derivatives[Lanes](
        INVERSE_DYNAMICS_DERIVATIVES, job.integers[0], job.model, job.switches, p, q, v, x, work, out
    )


cdef Pivots[Lanes] calc_frame_jacobian(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    dynamics.calc_frame_jacobian[Lanes](job.integers, job.model, p, q, x, work, bases, out)
    return no_pivots()


cdef Pivots[Lanes] calc_rollout(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    """Inputs and states of all steps in lanes."""
    cdef const Model* m = job.model
    cdef Lanes* tau = x + 1 + (6*m.num_bodies if job.integers[4] else 0)
    cdef Lanes* q_now = work + algorithms.count_work(m) + count_rollout_work(m) - m.num_positions - m.num_velocities
    cdef Lanes* v_now = q_now + m.num_positions
    cdef int i
    copy_lanes(q, m.num_positions, q_now)
    copy_lanes(v, m.num_velocities, v_now)
    for i in range(job.integers[1]):
        take_lane_step(job, p, x, tau, work, q_now, v_now)
        if not job.integers[3]:
            tau += m.num_velocities
        if (i + 1) % job.integers[2] == 0:
            copy_lanes(q_now, m.num_positions + m.num_velocities, out)
            out += m.num_positions + m.num_velocities
    return no_pivots()


cdef void roll_out_block(
    const Job* job, Py_ssize_t first, Py_ssize_t count, const Parameters[Lanes]* p, Lanes* q, Lanes* v, Lanes* x,
    Lanes* work
) noexcept nogil:
    """Inputs and states of each step straight from and to arrays; q and v change."""
    cdef const Path* path = job.path
    cdef int nq = job.model.num_positions
    cdef int nv = job.model.num_velocities
    cdef Lanes* tau = work + algorithms.count_work(job.model) + count_rollout_work(job.model) - nv
    cdef const double* input = path.tau + path.tau_of_sample*first
    cdef double* q_row = path.q + path.q_of_sample*first
    cdef double* v_row = path.v + path.v_of_sample*first
    cdef int i
    for i in range(job.integers[1]):
        if i == 0 or path.tau_of_step:
            load_rows_partial(input, path.tau_of_sample, nv, <int>count, tau)
            input += path.tau_of_step
        take_lane_step(job, p, x, tau, work, q, v)
        if (i + 1) % job.integers[2] == 0:
            store_rows_partial(q, q_row, path.q_of_sample, nq, <int>count)
            store_rows_partial(v, v_row, path.v_of_sample, nv, <int>count)
            q_row += nq
            v_row += nv
    store_rows_partial(q, path.q_end + nq*first, nq, nq, <int>count)
    store_rows_partial(v, path.v_end + nv*first, nv, nv, <int>count)


cdef void take_lane_step(
    const Job* job, const Parameters[Lanes]* p, const Lanes* x, const Lanes* tau, Lanes* work, Lanes* q, Lanes* v
) noexcept nogil:
    """`x` is dt, and forces on bodies where there are any."""
    take_step[Lanes](
        job.integers[0], job.model, job.switches, p, x + 1 if job.integers[4] else NULL, tau, x[0], work, q, v
    )


cdef inline void copy_lanes(const Lanes* source, Py_ssize_t n, Lanes* to) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = source[i]


cdef Pivots[Lanes] calc_other(
    const Job* job, const Parameters[Lanes]* p, const Lanes* q, const Lanes* v, Lanes* x, Lanes* work, int* bases,
    Lanes* out
) noexcept nogil:
    return calc_other_quantity[Lanes](
        job.quantity, job.integers, job.model, job.switches, p, q, v, x, work, bases, out
    )


cdef inline Pivots[Lanes] no_pivots() noexcept nogil:
    cdef Pivots[Lanes] pivots
    pivots.D = NULL
    return pivots


# Samples without a result ---------------------------------------------------------------------------------------

cdef inline void spoil_massless(const Model* m, const Pivots[Lanes]* p, Py_ssize_t n, Lanes* out) noexcept nogil:
    """NaN in each lane where no mass resists a dof."""
    cdef Lanes bad = <Lanes>0.0
    cdef Lanes zero = <Lanes>0.0
    cdef Lanes nan = <Lanes>NAN
    cdef Py_ssize_t k
    for k in range(m.num_velocities + p.further):
        if k >= m.num_velocities or not (p.locked != NULL and p.locked[k]):
            bad = bad + select_lt(PIVOT_TOLERANCE*p.scale[p.stride*k], p.D[p.stride*k], zero, nan)
    for k in range(n):
        out[k] = out[k] + bad


cdef void spoil_singular(
    const Job* job, Py_ssize_t first, Py_ssize_t count, double* memory, Lanes* v
) noexcept nogil:
    """NaN in each sample where a mobilizer has no pose or no rates, or an element no force.

    Along a path in the velocities at its beginning, and with them in whatever follows.
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


cdef bint has_no_result(const Job* job, Py_ssize_t i, double* memory) noexcept nogil:
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
