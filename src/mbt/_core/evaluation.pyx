"""Every computation of a tree in SIMD lanes, several states at once: only tests call it."""

cimport numpy as cnp

from mbt._core.door cimport adopt, data, in2
from mbt._core.engine cimport TreeCore
from mbt._core.model cimport CompiledModel, Model
from mbt._core.records cimport Parameters
from mbt._core.scalars cimport MBT_W, Lanes, load_rows_partial, store_rows_partial
from mbt._core.variants cimport (
    FORWARD_DYNAMICS_DERIVATIVES, calc_quantity, count_derived, count_input, count_result, count_work_of,
    derive_parameters,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)


def lane_count():
    """States in a Lanes, and partial derivatives in a Dual."""
    return MBT_W


def evaluate_lanes(TreeCore tree not None, int quantity, int index, parameters, q, v, x):
    """Evaluate a `Quantity` for up to `lane_count()` states at once.

    All inputs have the states in their first axis; `x` is the third input. Returns (states, outputs).
    """
    cdef CompiledModel compiled = tree.ready()
    cdef const Model* m = &compiled.model
    cdef int count = len(q)
    if not 0 <= quantity <= FORWARD_DYNAMICS_DERIVATIVES:
        raise ValueError(f"quantity: expected 0 to {<int>FORWARD_DYNAMICS_DERIVATIVES}, got {quantity}")
    if not 1 <= count <= MBT_W:
        raise ValueError(f"q: expected 1 to {MBT_W} states, got {count}")
    cdef Py_ssize_t num_x = count_input(quantity, index, m), num_out = count_result(quantity, m)
    cdef Py_ssize_t num_parameters = compiled.layout.size
    parameters = in2(parameters, "parameters", count, num_parameters)
    q = in2(q, "q", count, m.num_positions)
    v = in2(v, "v", count, m.num_velocities)
    x = in2(x, "x", count, num_x)
    out = np.empty((count, num_out))
    bases = np.empty(m.num_bodies, dtype=np.intc)
    cdef Py_ssize_t total = (
        num_parameters + m.num_positions + m.num_velocities + num_x + count_derived(m) + num_out
        + count_work_of(quantity, m)
    )
    cdef Lanes* at = <Lanes*>allocate_aligned(total*sizeof(Lanes))
    if at == NULL:
        raise MemoryError
    cdef Lanes* lanes_q = at + num_parameters
    cdef Lanes* lanes_v = lanes_q + m.num_positions
    cdef Lanes* lanes_x = lanes_v + m.num_velocities
    cdef Lanes* derived = lanes_x + num_x
    cdef Lanes* lanes_out = derived + count_derived(m)
    cdef Parameters[Lanes] p
    load_rows_partial(data(parameters), num_parameters, num_parameters, count, at)
    load_rows_partial(data(q), m.num_positions, m.num_positions, count, lanes_q)
    load_rows_partial(data(v), m.num_velocities, m.num_velocities, count, lanes_v)
    load_rows_partial(data(x), num_x, num_x, count, lanes_x)
    derive_parameters[Lanes](m, &compiled.layout, at, derived, &p)
    calc_quantity[Lanes](
        quantity, index, m, &m.switches, &p, lanes_q, lanes_v, lanes_x, lanes_out + num_out,
        <int*>cnp.PyArray_DATA(bases), lanes_out
    )
    store_rows_partial(lanes_out, data(out), num_out, num_out, count)
    free_aligned(at)
    return out
