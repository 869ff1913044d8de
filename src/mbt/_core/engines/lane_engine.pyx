"""Batches: computations of a tree for many states at once, MBT_W of them in the lanes of a register.

A block of MBT_W states goes through a whole computation before the next one begins, so that its memory stays in the CPU
cache. The result of a sample does not depend on the rest of its batch: no lane reads another, and threads share whole
blocks.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.derived_parameters cimport EVERYTHING, FRAMES, count_derived, derive_parameters, section_of
from mbt._core.door.exact_arrays cimport adopt, apart, data, in1, is_array1, size
from mbt._core.engines.context cimport ContextCore, Engine
from mbt._core.engines.lane_job cimport Job, Path
from mbt._core.engines.lane_kernels cimport register_quantities_of_lanes
from mbt._core.engines.lane_runs cimport plan_runs, run_in_threads
from mbt._core.engines.leading_axes cimport Batch, Operand, hold, is_alone
from mbt._core.engines.pool cimport Pool, get_pool, next_run, seconds
from mbt._core.engines.section cimport Section, publish
from mbt._core.engines.state cimport Exclusive
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.derivative_algorithms cimport has_sparse_derivatives
from mbt._core.quantities.table cimport (
    GIVEN, IN_ROWS, MAX_INTEGERS, OVERWRITES_INPUT, POSES, ROLLOUT, SPARSE, SPARSE_IN_BRANCHES, Sizes, describe,
    integer_of, needs_element_forces, needs_maps, needs_velocities, shape_tuple, sizes_of, take_integers,
)
from mbt._core.scalars cimport MBT_W, Lanes

import numpy as np

from mbt._core import engines
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)


cdef Functions[Lanes] of_lanes
register_quantities_of_lanes(&of_lanes)


cdef class LaneParameters:
    """The data that kernels read: equal in all lanes, and for one state of doubles."""
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
    """The data that kernels read, from one parameter vector; the default vector always gives the same object."""
    if vector is not compiled.default_parameters:
        return LaneParameters(compiled, vector)
    if compiled.lane_defaults is None:
        make_lane_defaults(compiled)
    return compiled.lane_defaults


cdef int make_lane_defaults(CompiledModel compiled) except -1:
    """Make them once: data that another thread has read must not be replaced."""
    defaults = LaneParameters(compiled, compiled.default_parameters)
    publish()
    cdef Section alone
    alone.enter(compiled)
    if compiled.lane_defaults is None:
        compiled.lane_defaults = defaults
    return 0


# Samples are shared among this many threads, at the most.
cdef int num_threads = engines.default_num_threads
# Results larger than the CPU caches bypass them.
cdef Py_ssize_t STREAMED_BYTES = 8*1024*1024


def get_num_threads():
    return num_threads


def set_num_threads(int n):
    global num_threads
    num_threads = n


def lane_count():
    """States in a Lanes, and partial derivatives in a Dual."""
    return MBT_W


def count_outputs(CompiledModel compiled not None, int quantity, tuple integers=()):
    """Number of entries of a `Quantity` for one sample."""
    cdef int[<int>MAX_INTEGERS] numbers
    take_integers(quantity, integers, &compiled.model, numbers)
    return sizes_of(quantity, numbers, &compiled.model).result


cdef int run_batch(
    Batch batch, CompiledModel compiled, int quantity, const int* integers, tuple outputs
) except -1:
    """Evaluate a `Quantity` for all samples with the default parameters.

    The operands of `batch` are those of q, v and the parts of the input that the quantity uses. `outputs` have the
    batch shape as leading axes.
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


cdef int roll_out_batch(
    Batch batch, CompiledModel compiled, const int* integers, double dt, q, v, Py_ssize_t num_rows, Py_ssize_t first_row
) except -1:
    """Roll out from all samples with the default parameters, writing rows of q and v from the first one on.

    The operands of `batch` are q, v and the forces, for each step or the same for all. `q` and `v` have `num_rows` rows
    for each sample.
    """
    cdef LaneParameters defaults = lane_parameters(compiled, compiled.default_parameters)
    cdef const Model* m = &compiled.model
    cdef Operand[3] operands
    cdef Path path
    cdef Job job
    set_up(&job, compiled, ROLLOUT, integers, batch.count, ())
    job.parameters = &defaults.parameters
    job.is_checked = m.num_checked > 0
    if m.num_elements_between:
        job.checked_parameters = &compiled.defaults.parameters
    operands[0], operands[1], operands[2] = batch.operands[0], batch.operands[1], Operand(&dt, 0, 1)
    job.operands = operands
    job.num_operands = 3
    # States are updated in place, even one that all samples start from.
    job.spoils_input = True
    path.tau = batch.operands[2].data
    path.tau_of_step = m.num_velocities if batch.operands[2].size > m.num_velocities else 0
    path.tau_of_sample = batch.operands[2].stride
    path.q_of_sample, path.v_of_sample = num_rows*m.num_positions, num_rows*m.num_velocities
    path.q, path.v = data(q) + first_row*m.num_positions, data(v) + first_row*m.num_velocities
    path.q_end = path.v_end = NULL
    job.path = &path
    cdef list held = batch.hold((q, v)) if plan_runs(&job) or not is_alone() else None
    run_job(&job)
    del held
    return 0


cdef class LaneEngine(Engine):
    """The inputs of all samples of one Context: q and v, one row for all samples or one for each, and parameters, which
    differ between samples in some columns.
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
        """Set positions; None releases them."""
        cdef Section alone
        alone.enter(self)
        self.q = q

    def set_v(self, v):
        """Set velocities; None releases them."""
        cdef Section alone
        alone.enter(self)
        self.v = v

    def set_parameters(self, vector, columns, rows):
        """Set parameters: those shared by all samples, and `rows` of per-sample values for `columns`."""
        cdef Section alone
        alone.enter(self)
        self.vector, self.columns, self.rows = vector, columns, rows
        self.parameters = None

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        return is_array1(value, n)

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        """The result has the axes of the batch first."""
        cdef Section alone
        alone.enter(self)
        cdef Sizes sizes = sizes_of(quantity, integers, &self.compiled.model)
        result = self.output(out, "out", self.batch_shape + shape_tuple(&sizes))
        self.fill(context, quantity, integers, x, (result,))
        return result

    def evaluate_parts(
        self, ContextCore context not None, int quantity, tuple integers not None, x, tuple outs not None
    ):
        """Return the parts of a quantity along its first axis, written into those of `outs` that are not None."""
        cdef Section alone
        alone.enter(self)
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
        """Advance all samples by a rollout, and keep its states.

        Parameters
        ----------
        context : ContextCore
            Determines which dofs are locked and which bodies have no gravity.
        integers : tuple of int
            Integers of the quantity ROLLOUT.
        x : ndarray
            dt, and forces on bodies if there are any: one row for all samples, or one for each.
        tau : ndarray, shape (1 or count, 1 or T, nv)
            Generalized forces for each step, or for all steps.
        q_end, v_end : ndarray, shapes (count, nq), (count, nv)
            The initial states, overwritten with the final ones.
        q, v : ndarray, shapes (count, num_rows, nq), (count, num_rows, nv)
            Arrays that receive the states that are kept.
        first_row : int
            Index of the row that receives the first of them.
        """
        cdef Section alone
        alone.enter(self)
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
            raise ValueError(f"tau: expected forces of 1 or {self.count} samples and 1 or {numbers[1]} steps")
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
        """One row for all samples, or one for each, in memory not shared with outputs."""
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
            if context._engine is self and (self.q is None or self.v is None):
                # Another thread has written, and finished, since the caller set them.
                context._push()
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
    """Evaluate a `Quantity` for `count` samples into `outputs`, arrays of equal parts of the result.

    `context` determines which dofs are locked and which bodies have no gravity. `rows` are the parameters in `columns`
    for each sample; None if none differ. It, q, v and the input `x` have one row for each sample, or one for all.
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
        raise ValueError("parameters: expected parameters of the tree of the context")
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
        raise ValueError(f"{name}: expected {num} or {num*count} entries, got {size(array)}")
    return Operand(data(array), num, num)


cdef int set_up(
    Job* job, CompiledModel compiled, int quantity, const int* integers, Py_ssize_t count, tuple outputs
) except -1:
    """A job without operands, and with neither parameters nor forces."""
    cdef const Model* m = &compiled.model
    cdef int flags = describe(quantity).flags
    cdef int i
    job.functions = &of_lanes
    job.row = describe(quantity)
    job.reads_kinematics = job.row.reads >= POSES
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
    job.spoils_input = flags & OVERWRITES_INPUT and integer_of(quantity, integers, GIVEN) == 1
    job.path = NULL
    job.num_outputs = len(outputs)
    job.output_size = sizes_of(quantity, integers, m).result//job.num_outputs if outputs else 0
    job.count = count
    job.in_rows = flags & IN_ROWS
    job.sparse = flags & SPARSE or flags & SPARSE_IN_BRANCHES and has_sparse_derivatives(m)
    job.streamed = job.output_size*count*job.num_outputs*<Py_ssize_t>sizeof(double) > STREAMED_BYTES
    for i in range(job.num_outputs):
        if size(outputs[i]) != job.output_size*count:
            raise ValueError(f"outputs[{i}]: expected {job.output_size*count} entries, got {size(outputs[i])}")
        job.outputs[i] = data(outputs[i])
    return 0


cdef int run_job(Job* job) except -1:
    """Run all samples, checking for signals now and then: Ctrl-C ends a long batch and leaves its results incomplete.

    Between two runs a Python signal handler may run in this thread: so references elsewhere keep alive what a job
    points to, and each run gets the arena again.
    """
    cdef Py_ssize_t begin = 0, end, run = job.first_run
    cdef Pool* pool
    cdef int error
    cdef double start
    while True:
        end = min(job.count, begin + run)
        # Looked up each time, because there is a new one after a fork.
        pool = get_pool() if num_threads > 1 and end - begin > 2*MBT_W else NULL
        with nogil:
            start = seconds() if end < job.count else 0.0
            error = run_in_threads(job, begin, end, pool, 1 if pool == NULL else num_threads)
            if end < job.count:
                run = next_run(end - begin, seconds() - start, MBT_W)
        if error:
            raise MemoryError
        if end == job.count:
            return 0
        PyErr_CheckSignals()
        begin = end
