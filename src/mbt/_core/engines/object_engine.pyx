"""All computations of a tree in Python objects: symbols, fractions, high-precision numbers.

The objects themselves take the time, so one build serves all processors.
"""

cimport numpy as cnp
from cpython.ref cimport PyObject

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.engines.context cimport ContextCore, Engine
from mbt._core.engines.section cimport Section
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities.call cimport Call, Functions
from mbt._core.quantities.dispatch cimport calc_quantity, count_work_of
from mbt._core.quantities.dynamics cimport register_mass_matrix
from mbt._core.quantities.every cimport register_quantities
from mbt._core.quantities.table cimport (
    DIVIDES, MAX_INTEGERS, Sizes, describe, shape_tuple, sizes_of, take_integers,
)
from mbt._core.scalars cimport PyFunctionsScope, PyScalar

import numpy as np

from mbt._core.above import above

cnp.import_array()

cdef extern from "Python.h":
    PyObject* PyErr_Occurred()


cdef Functions[PyScalar] of_objects
register_quantities[PyScalar](&of_objects)
register_mass_matrix[PyScalar](&of_objects)


cdef class ObjectEngine(Engine):
    """Evaluates Python objects. An error raised by an operation propagates as it is, and nothing changes.

    `functions` are sin, cos, sqrt, select_lt, tanh, atan2, floor and from_float, called as
    ``select_lt(a, b, x, y)`` (x where a < b, else y), ``atan2(y, x)`` and ``from_float(x)``, which converts a float to
    an object. Only the objects `zero` and `one` themselves are folded, not objects equal to them.
    """
    cdef CompiledModel compiled
    cdef tuple functions
    cdef object zero, one
    cdef object numbers                  # how results are written: mbt.scalars.ScalarArrays
    # Arrays of objects: a PyScalar is laid out as a PyObject*. They own the references.
    cdef object parameters, derived, q, v
    cdef Parameters[PyScalar] of_parameters

    def __cinit__(self, CompiledModel compiled not None, tuple functions not None, zero, one, numbers=None):
        if len(functions) != 8 or not all(callable(f) for f in functions):
            raise ValueError("functions: expected sin, cos, sqrt, select_lt, tanh, atan2, floor, from_float")
        self.compiled = compiled
        self.functions = functions
        self.zero, self.one = zero, one
        self.numbers = numbers

    def set_q(self, q):
        """Set positions, (nq,) array of objects."""
        cdef Section alone
        alone.enter(self)
        self.q = self.take(q, "q", self.compiled.model.num_positions)

    def set_v(self, v):
        """Set velocities, (nv,) array of objects."""
        cdef Section alone
        alone.enter(self)
        self.v = self.take(v, "v", self.compiled.model.num_velocities)

    def set_parameters(self, parameters):
        """Set parameters, (size,) array of objects, and derive the data that kernels read."""
        cdef Section alone
        alone.enter(self)
        cdef const Model* m = &self.compiled.model
        parameters = self.take(parameters, "parameters", self.compiled.layout.size)
        derived = new_objects(count_derived(m))
        cdef Parameters[PyScalar] p
        cdef PyFunctionsScope scope
        install(&scope, self.functions)
        derive_parameters[PyScalar](
            m, &self.compiled.layout, EVERYTHING, objects_of(parameters), objects_of(derived), &p
        )
        raise_if_set()
        self.parameters, self.derived, self.of_parameters = parameters, derived, p

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        """Arguments are converted first."""
        return False

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        cdef Section alone
        alone.enter(self)
        cdef Sizes sizes = sizes_of(quantity, integers, &self.compiled.model)
        result = self.compute(context, quantity, integers, x)
        if sizes.num_axes == 0:
            return result[0]
        result = result.reshape(shape_tuple(&sizes))
        return result if out is None else self.numbers.write(out, result, "out")

    def evaluate_parts(
        self, ContextCore context not None, int quantity, tuple integers not None, x, tuple outs not None
    ):
        """Return the parts of a `Quantity` along its first axis, written into those of `outs` that are not None."""
        cdef Section alone
        alone.enter(self)
        whole = self.evaluate(context, quantity, integers, x)
        return self.numbers.write_all(*[(out, whole[i], f"out[{i}]") for i, out in enumerate(outs)])

    def evaluate_objects(self, ContextCore context not None, int quantity, tuple integers not None, x):
        """Return a `Quantity` as an array of objects, (n,). The input `x` is a sequence of objects, or None."""
        cdef Section alone
        alone.enter(self)
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &self.compiled.model, numbers)
        return self.compute(context, quantity, numbers, x)

    cdef object compute(self, ContextCore context, int quantity, const int* numbers, x):
        cdef const Model* m = &self.compiled.model
        cdef Sizes sizes = sizes_of(quantity, numbers, m)
        if context.compiled is not self.compiled:
            raise ValueError("context: expected a Context of this engine's tree")
        if self.parameters is None or self.q is None or self.v is None:
            raise ValueError("parameters, q and v must be set first")
        # References are kept here, because operations run code that may set others.
        parameters, derived, q, v = self.parameters, self.derived, self.q, self.v
        cdef Parameters[PyScalar] p = self.of_parameters
        cdef Switches switches = context.switches
        held = context._locked, context._weightless, context._disabled
        x = self.take([] if x is None else x, "x", sizes.input)
        result = new_objects(sizes.result)
        work = new_objects(count_work_of[PyScalar](&of_objects, quantity, numbers, m))
        bases = np.empty(m.num_bodies, dtype=np.intc)
        cdef PyFunctionsScope scope
        install(&scope, self.functions)
        cdef Call[PyScalar] c
        c.integers, c.model, c.switches, c.p = numbers, m, &switches, &p
        c.q, c.v, c.x, c.memory = objects_of(q), objects_of(v), objects_of(x), objects_of(work)
        c.base = <int*>cnp.PyArray_DATA(bases)
        c.out = objects_of(result)
        calc_quantity[PyScalar](&of_objects, quantity, &c)
        raise_if_set()
        del parameters, derived, q, v, held
        if m.num_constraints and describe(quantity).flags & DIVIDES:
            above.check_digits(context)
        return self.give(result)

    cdef object take(self, values, name, Py_ssize_t size):
        """A copy, never written into, with floats in place of `zero` and `one`."""
        if len(values) != size:
            raise ValueError(f"{name}: expected {size} objects, got {len(values)}")
        objects = np.empty(size, dtype=object)
        cdef Py_ssize_t i
        for i in range(size):
            value = values[i]
            objects[i] = 0.0 if value is self.zero else 1.0 if value is self.one else value
        return objects

    cdef object give(self, objects):
        """The array, with floats converted to objects of the scalar."""
        cdef Py_ssize_t i
        from_float = self.functions[7]
        for i in range(objects.shape[0]):
            if type(objects[i]) is float:
                objects[i] = from_float(objects[i])
        return objects


cdef object new_objects(Py_ssize_t size):
    return np.zeros(size, dtype=object)


cdef PyScalar* objects_of(array) noexcept:
    return <PyScalar*>cnp.PyArray_DATA(array)


cdef int install(PyFunctionsScope* scope, tuple functions) except -1:
    sin, cos, sqrt, select_lt, tanh, atan2, floor, from_float = functions
    scope.install(
        <PyObject*>sin, <PyObject*>cos, <PyObject*>sqrt, <PyObject*>select_lt, <PyObject*>tanh, <PyObject*>atan2,
        <PyObject*>floor, <PyObject*>from_float
    )
    return 0


cdef int raise_if_set() except -1:
    return -1 if PyErr_Occurred() != NULL else 0
