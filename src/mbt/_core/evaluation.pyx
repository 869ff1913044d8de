"""Every kernel in the scalars other than double: SIMD lanes, dual numbers, Python objects.

Inputs are flat: `parameters` as in a Context, q, v, and a third input `x` (vdot, tau or qdot by function).
"""

cimport numpy as cnp
from cpython.ref cimport PyObject

from mbt._core.door cimport adopt, data, in1, in2
from mbt._core.engine cimport TreeCore
from mbt._core.evaluation cimport VELOCITY, count_memory, count_output, evaluate
from mbt._core.model cimport CompiledModel, Model
from mbt._core.scalars cimport (
    MBT_W, Dual, Lanes, PyFunctionsScope, PyScalar, dual_partial, load_rows_partial, set_dual_partial,
    store_rows_partial,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "Python.h":
    PyObject* PyErr_Occurred()


def lane_count():
    """States in a Lanes, and partial derivatives in a Dual."""
    return MBT_W


cdef struct Sizes:
    Py_ssize_t parameters
    Py_ssize_t q
    Py_ssize_t v
    Py_ssize_t x
    Py_ssize_t memory
    Py_ssize_t out


cdef CompiledModel compiled_of(TreeCore tree, int function, Sizes* n):
    cdef CompiledModel compiled = tree.ready()
    cdef const Model* m = &compiled.model
    if not 0 <= function <= VELOCITY:
        raise ValueError(f"function: expected 0 to {<int>VELOCITY}, got {function}")
    n.parameters = compiled.layout.size
    n.q = m.num_positions
    n.v = m.num_velocities
    n.x = m.num_positions if function == VELOCITY else m.num_velocities
    n.memory = count_memory(m)
    n.out = count_output(function, m)
    return compiled


def evaluate_lanes(TreeCore tree not None, int function, parameters, q, v, x):
    """Evaluate a function for up to `lane_count()` states at once.

    All inputs have the states in their first axis. Returns (states, outputs).
    """
    cdef Sizes n
    cdef CompiledModel compiled = compiled_of(tree, function, &n)
    cdef int count = len(q)
    if not 1 <= count <= MBT_W:
        raise ValueError(f"q: expected 1 to {MBT_W} states, got {count}")
    parameters = in2(parameters, "parameters", count, n.parameters)
    q = in2(q, "q", count, n.q)
    v = in2(v, "v", count, n.v)
    x = in2(x, "x", count, n.x)
    out = np.empty((count, n.out))
    bases = np.empty(compiled.model.num_bodies, dtype=np.intc)
    cdef Py_ssize_t total = n.parameters + n.q + n.v + n.x + n.memory + n.out
    cdef Lanes* at = <Lanes*>allocate_aligned(total*sizeof(Lanes))
    if at == NULL:
        raise MemoryError
    cdef Lanes* lanes_q = at + n.parameters
    cdef Lanes* lanes_v = lanes_q + n.q
    cdef Lanes* lanes_x = lanes_v + n.v
    cdef Lanes* memory = lanes_x + n.x
    cdef Lanes* lanes_out = memory + n.memory
    load_rows_partial(data(parameters), n.parameters, n.parameters, count, at)
    load_rows_partial(data(q), n.q, n.q, count, lanes_q)
    load_rows_partial(data(v), n.v, n.v, count, lanes_v)
    load_rows_partial(data(x), n.x, n.x, count, lanes_x)
    evaluate[Lanes](
        function, &compiled.model, &compiled.layout, &compiled.model.switches, at, lanes_q, lanes_v, lanes_x,
        memory, <int*>cnp.PyArray_DATA(bases), lanes_out
    )
    store_rows_partial(lanes_out, data(out), n.out, n.out, count)
    free_aligned(at)
    return out


def evaluate_dual(TreeCore tree not None, int function, parameters, q, v, x, seeds):
    """Evaluate a function and its derivatives in up to `lane_count()` directions at once.

    `seeds` is (inputs, directions), rows in the order parameters, q, v, x. Returns the values, (outputs,), and the
    derivatives, (outputs, directions).
    """
    cdef Sizes n
    cdef CompiledModel compiled = compiled_of(tree, function, &n)
    cdef Py_ssize_t num_inputs = n.parameters + n.q + n.v + n.x
    cdef Py_ssize_t i, directions
    cdef int j
    if np.ndim(seeds) != 2:
        raise ValueError(f"seeds: expected two axes, got {np.ndim(seeds)}")
    _, directions = np.shape(seeds)
    if not 1 <= directions <= MBT_W:
        raise ValueError(f"seeds: expected 1 to {MBT_W} directions, got {directions}")
    inputs = np.concatenate([
        in1(parameters, "parameters", n.parameters), in1(q, "q", n.q), in1(v, "v", n.v), in1(x, "x", n.x)
    ])
    seeds = in2(seeds, "seeds", num_inputs, directions)
    values = np.empty(n.out)
    derivatives = np.empty((n.out, directions))
    bases = np.empty(compiled.model.num_bodies, dtype=np.intc)
    cdef Dual* at = <Dual*>allocate_aligned((num_inputs + n.memory + n.out)*sizeof(Dual))
    if at == NULL:
        raise MemoryError
    cdef Dual* memory = at + num_inputs
    cdef Dual* out = memory + n.memory
    for i in range(num_inputs):
        at[i] = <Dual>data(inputs)[i]
        for j in range(directions):
            set_dual_partial(at[i], j, data(seeds)[directions*i + j])
    evaluate[Dual](
        function, &compiled.model, &compiled.layout, &compiled.model.switches, at, at + n.parameters,
        at + n.parameters + n.q,
        at + n.parameters + n.q + n.v, memory, <int*>cnp.PyArray_DATA(bases), out
    )
    for i in range(n.out):
        data(values)[i] = out[i].x
        for j in range(directions):
            data(derivatives)[directions*i + j] = dual_partial(out[i], j)
    free_aligned(at)
    return values, derivatives


def evaluate_python(
    TreeCore tree not None, int function, parameters, q, v, x, sin, cos, sqrt, select_lt, tanh, atan2, floor
):
    """Evaluate a function on Python objects with arithmetic.

    Parameters
    ----------
    tree : TreeCore
        A finalized tree.
    function : int
        A `Function`.
    parameters, q, v, x : sequence
        Inputs, any objects.
    sin, cos, sqrt, select_lt, tanh, atan2, floor : callable
        The functions that arithmetic does not give, called as ``sin(x)``, ``select_lt(a, b, x, y)`` (x where a < b,
        else y), ``atan2(y, x)``.

    Returns
    -------
    ndarray of object, shape (outputs,)
        An error raised by an operation surfaces as it is.
    """
    cdef Sizes n
    cdef CompiledModel compiled = compiled_of(tree, function, &n)
    for name, values, count in (("parameters", parameters, n.parameters), ("q", q, n.q), ("v", v, n.v), ("x", x, n.x)):
        if len(values) != count:
            raise ValueError(f"{name}: expected {count} objects, got {len(values)}")
    inputs = np.empty(n.parameters + n.q + n.v + n.x, dtype=object)
    for i, value in enumerate([*parameters, *q, *v, *x]):
        inputs[i] = value
    # A PyScalar is laid out as a PyObject*: object arrays are its storage, and own the references.
    work = np.zeros(n.memory, dtype=object)
    out = np.zeros(n.out, dtype=object)
    bases = np.empty(compiled.model.num_bodies, dtype=np.intc)
    cdef PyFunctionsScope functions
    cdef PyScalar* at = <PyScalar*>cnp.PyArray_DATA(inputs)
    functions.install(
        <PyObject*>sin, <PyObject*>cos, <PyObject*>sqrt, <PyObject*>select_lt, <PyObject*>tanh, <PyObject*>atan2,
        <PyObject*>floor, NULL
    )
    evaluate[PyScalar](
        function, &compiled.model, &compiled.layout, &compiled.model.switches, at, at + n.parameters,
        at + n.parameters + n.q,
        at + n.parameters + n.q + n.v, <PyScalar*>cnp.PyArray_DATA(work), <int*>cnp.PyArray_DATA(bases),
        <PyScalar*>cnp.PyArray_DATA(out)
    )
    _raise_if_set()
    return out


cdef int _raise_if_set() except -1:
    return -1 if PyErr_Occurred() != NULL else 0
