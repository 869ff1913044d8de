"""Every computation of a tree in other scalars: values with derivatives, and Python objects.

An engine holds the parameters, q and v of one Context in the form that kernels read.
"""

cimport numpy as cnp
from cpython.ref cimport PyObject

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, check_maps
from mbt._core.door cimport adopt, data, is_array1, new1, new2
from mbt._core.mobilizers cimport map_is_singular
from mbt._core.model cimport CompiledModel, Model, Switches
from mbt._core.records cimport ArticulatedDof, Parameters
from mbt._core.scalars cimport MBT_W, Dual, PyFunctionsScope, PyScalar, load_duals, store_duals
from mbt._core.variants cimport (
    ACCELERATION, ELEMENT_FORCES, ELEMENT_NON_CONSERVATIVE_POWER, FORWARD_DYNAMICS, INVERSE_DYNAMICS, N_MATRIX,
    NDOT_MATRIX, NON_CONSERVATIVE_POWER, NPLUSDOT_MATRIX, POTENTIAL_ENERGY, QDDOT, QDOT, STEADY_ACCELERATION,
    calc_quantity, count_derived, count_input, count_result, count_work_of, derive_parameters,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)

cdef extern from "Python.h":
    PyObject* PyErr_Occurred()


cdef class DualArray:
    """Numbers with derivatives, in blocks of MBT_W directions; constants are one block that goes with any."""
    cdef Py_ssize_t size, directions, num_blocks
    cdef Dual* memory

    def __dealloc__(self):
        free_aligned(self.memory)

    cdef int load(self, Py_ssize_t size, value, derivatives) except -1:
        """`value` (size,), `derivatives` (size, directions), both float64 and C-contiguous."""
        cdef Py_ssize_t directions = derivatives.shape[1]
        cdef Py_ssize_t num_blocks = max(1, (directions + MBT_W - 1)//MBT_W)
        cdef Py_ssize_t i
        cdef Dual* memory
        if size*num_blocks != self.size*self.num_blocks or self.memory == NULL:
            memory = <Dual*>allocate_aligned((size*num_blocks + 1)*sizeof(Dual))
            if memory == NULL:
                raise MemoryError
            free_aligned(self.memory)
            self.memory = memory
        self.size = size
        self.directions = directions
        self.num_blocks = num_blocks
        for i in range(num_blocks):
            load_duals(
                data(value), data(derivatives) if directions else NULL, directions, MBT_W*i, size,
                self.memory + size*i
            )
        return 0

    cdef const Dual* block(self, Py_ssize_t i) noexcept:
        return self.memory + self.size*i if self.directions else self.memory


cdef class DualEngine:
    """Values and derivatives. Of arguments, the arrays are float64 and C-contiguous."""
    cdef CompiledModel compiled
    cdef DualArray parameters, q, v
    cdef Dual* derived
    cdef Parameters[Dual]* of_block
    cdef Py_ssize_t num_derived          # blocks

    def __cinit__(self, CompiledModel compiled not None):
        self.compiled = compiled
        self.parameters, self.q, self.v = DualArray(), DualArray(), DualArray()

    def __dealloc__(self):
        free_aligned(self.derived)
        free_aligned(self.of_block)

    def set_q(self, value, derivatives):
        """Take positions, (nq,) and (nq, directions)."""
        self.q.load(self.compiled.model.num_positions, value, derivatives)

    def set_v(self, value, derivatives):
        """Take velocities, (nv,) and (nv, directions)."""
        self.v.load(self.compiled.model.num_velocities, value, derivatives)

    def set_parameters(self, value, derivatives):
        """Take parameters, (size,) and (size, directions), and derive from them what kernels read."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t size = count_derived(m)
        cdef Py_ssize_t i
        self.num_derived = 0
        self.parameters.load(self.compiled.layout.size, value, derivatives)
        cdef Py_ssize_t num_blocks = self.parameters.num_blocks
        free_aligned(self.derived)
        free_aligned(self.of_block)
        self.derived = <Dual*>allocate_aligned((size*num_blocks + 1)*sizeof(Dual))
        self.of_block = <Parameters[Dual]*>allocate_aligned(num_blocks*sizeof(Parameters[Dual]))
        if self.derived == NULL or self.of_block == NULL:
            raise MemoryError
        for i in range(num_blocks):
            derive_parameters[Dual](
                m, &self.compiled.layout, self.parameters.block(i), self.derived + size*i, &self.of_block[i]
            )
        self.num_derived = num_blocks

    def evaluate(self, ContextCore context not None, int quantity, int index, x, dx):
        """Evaluate a `Quantity`, the parameters, q and v being set.

        The values of `context` serve the checks. `x` and `dx` are the third input and its derivatives; None stands
        for no such input, and for a constant. Returns values, (n,), and derivatives, (n, directions).
        """
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_x = count_input(quantity, m)
        cdef Py_ssize_t num_out = count_result(quantity, m)
        cdef Py_ssize_t num_work = count_work_of(quantity, m)
        cdef Py_ssize_t directions = max(self.parameters.directions, self.q.directions, self.v.directions)
        cdef Py_ssize_t base_size = (m.num_bodies*sizeof(int))//sizeof(double) + 1
        cdef Py_ssize_t i, first, per_dual = sizeof(Dual)//sizeof(double)
        cdef int singular = -1
        cdef ArticulatedDof[Dual]* pivots
        if dx is not None:
            directions = max(directions, <Py_ssize_t>dx.shape[1])
            if dx.shape[1] == 0:
                dx = None
        self.check(context, quantity, index)
        if num_x and (x is None or not is_array1(x, num_x)):
            raise ValueError(f"x: expected a float64 array of {num_x} entries")
        values = new1(num_out)
        derivatives = new2(num_out, directions)
        cdef double* arena = arena_doubles((num_x + num_work + num_out)*per_dual + base_size + 8)
        if arena == NULL:
            raise MemoryError
        cdef int* base = <int*>arena
        # The next multiple of 64 bytes.
        cdef Dual* dual_x = <Dual*>((<size_t>(arena + base_size) + 63) & ~<size_t>63)
        cdef Dual* out = dual_x + num_x
        cdef Dual* work = out + num_out
        cdef const double* x_data = data(x) if num_x else NULL
        cdef const double* dx_data = data(dx) if num_x and dx is not None else NULL
        for i in range(max(1, (directions + MBT_W - 1)//MBT_W)):
            first = MBT_W*i
            load_duals(x_data, dx_data, directions, first, num_x, dual_x)
            pivots = calc_quantity[Dual](
                quantity, index, m, &context.switches, &self.of_block[i if self.num_derived > 1 else 0],
                self.q.block(i), self.v.block(i), dual_x, work, base, out
            )
            if i == 0 and pivots != NULL:
                singular = find_massless_dof(
                    m, context.switches.locked if quantity == FORWARD_DYNAMICS else NULL, pivots
                )
            store_duals(out, directions, first, num_out, data(values), data(derivatives))
        if singular >= 0:
            from mbt.context.checks import raise_massless_dof
            raise_massless_dof(context.tree, singular)
        return values, derivatives

    cdef int check(self, ContextCore context, int quantity, int index) except -1:
        """Refuse values at which the result is undefined, as trees of doubles do."""
        cdef const Model* m = &self.compiled.model
        cdef int singular
        if context.compiled is not self.compiled:
            raise ValueError("context: expected one of the tree of this engine")
        if m.num_elements_between and (
            quantity == INVERSE_DYNAMICS or quantity == FORWARD_DYNAMICS
            or POTENTIAL_ENERGY <= quantity <= NON_CONSERVATIVE_POWER or quantity == ELEMENT_FORCES
            or ELEMENT_FORCES < quantity <= ELEMENT_NON_CONSERVATIVE_POWER and index >= 0
        ):
            singular = kernels.find_singular_element_at(
                m, &context.derived().parameters, context.q_data,
                kernels.get_work(m, 16*m.num_bodies)
            )
            if singular >= 0:
                from mbt.context.checks import raise_singular_element
                raise_singular_element(context.tree, singular)
        if m.num_map_checked and (
            quantity == QDOT or quantity == QDDOT or ACCELERATION <= quantity <= N_MATRIX
            or quantity == NDOT_MATRIX or quantity == NPLUSDOT_MATRIX
        ):
            if index < 0:
                check_maps(context.tree, self.compiled, context.q_data)
            elif map_is_singular(m.type[index], context.q_data + m.q_start[index]):
                from mbt.context.checks import raise_singular_map
                raise_singular_map(context.tree, index)
        return 0


cdef int find_massless_dof(const Model* m, const int* locked, const ArticulatedDof[Dual]* pivots) noexcept nogil:
    """As `kernels.find_massless_dof`, by the values."""
    cdef int k
    for k in range(m.num_velocities):
        if pivots[k].D.x <= 1.4e-14*pivots[k].scale.x and not (locked != NULL and locked[k]):
            return k
    return -1


cdef class ObjectEngine:
    """Python objects. An error that an operation raises surfaces as it is, and changes nothing.

    `functions` are sin, cos, sqrt, select_lt, tanh, atan2 and floor, called as ``select_lt(a, b, x, y)`` (x where
    a < b, else y) and ``atan2(y, x)``.
    """
    cdef CompiledModel compiled
    cdef tuple functions
    # Arrays of objects: a PyScalar is laid out as a PyObject*. They own the references.
    cdef object parameters, derived, q, v
    cdef Parameters[PyScalar] of_parameters

    def __cinit__(self, CompiledModel compiled not None, tuple functions not None):
        if len(functions) != 7 or not all(callable(f) for f in functions):
            raise ValueError("functions: expected sin, cos, sqrt, select_lt, tanh, atan2, floor")
        self.compiled = compiled
        self.functions = functions

    def set_q(self, q):
        """Take positions, (nq,) array of objects."""
        self.q = checked_objects(q, "q", self.compiled.model.num_positions)

    def set_v(self, v):
        """Take velocities, (nv,) array of objects."""
        self.v = checked_objects(v, "v", self.compiled.model.num_velocities)

    def set_parameters(self, parameters):
        """Take parameters, (size,) array of objects, and derive from them what kernels read."""
        cdef const Model* m = &self.compiled.model
        parameters = checked_objects(parameters, "parameters", self.compiled.layout.size)
        derived = new_objects(count_derived(m))
        cdef Parameters[PyScalar] p
        cdef PyFunctionsScope scope
        install(&scope, self.functions)
        derive_parameters[PyScalar](m, &self.compiled.layout, objects_of(parameters), objects_of(derived), &p)
        raise_if_set()
        self.parameters, self.derived, self.of_parameters = parameters, derived, p

    def evaluate(self, ContextCore context not None, int quantity, int index, x):
        """Evaluate a `Quantity`, the parameters, q and v being set. Returns an array of objects, (n,)."""
        cdef const Model* m = &self.compiled.model
        if context.compiled is not self.compiled:
            raise ValueError("context: expected one of the tree of this engine")
        if self.parameters is None or self.q is None or self.v is None:
            raise ValueError("parameters, q and v must be set first")
        # Held here: operations run code, which may set others.
        parameters, derived, q, v = self.parameters, self.derived, self.q, self.v
        cdef Parameters[PyScalar] p = self.of_parameters
        cdef Switches switches = context.switches
        held = context._locked, context._weightless
        x = checked_objects([] if x is None else x, "x", count_input(quantity, m))
        out = new_objects(count_result(quantity, m))
        work = new_objects(count_work_of(quantity, m))
        bases = np.empty(m.num_bodies, dtype=np.intc)
        cdef PyFunctionsScope scope
        install(&scope, self.functions)
        calc_quantity[PyScalar](
            quantity, index, m, &switches, &p, objects_of(q), objects_of(v), objects_of(x), objects_of(work),
            <int*>cnp.PyArray_DATA(bases), objects_of(out)
        )
        raise_if_set()
        del parameters, derived, q, v, held
        return out


cdef object checked_objects(values, name, Py_ssize_t size):
    """A copy that nobody writes into."""
    if len(values) != size:
        raise ValueError(f"{name}: expected {size} objects, got {len(values)}")
    objects = np.empty(size, dtype=object)
    cdef Py_ssize_t i
    for i in range(size):
        objects[i] = values[i]
    return objects


cdef object new_objects(Py_ssize_t size):
    return np.zeros(size, dtype=object)


cdef PyScalar* objects_of(array) noexcept:
    return <PyScalar*>cnp.PyArray_DATA(array)


cdef int install(PyFunctionsScope* scope, tuple functions) except -1:
    sin, cos, sqrt, select_lt, tanh, atan2, floor = functions
    scope.install(
        <PyObject*>sin, <PyObject*>cos, <PyObject*>sqrt, <PyObject*>select_lt, <PyObject*>tanh, <PyObject*>atan2,
        <PyObject*>floor
    )
    return 0


cdef int raise_if_set() except -1:
    return -1 if PyErr_Occurred() != NULL else 0
