"""Calls of native code that was made for one tree, with the arrays of one state or of many."""

cimport numpy as cnp
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.ref cimport PyObject
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from mbt._core.door.exact_arrays cimport adopt, data, is_array1, is_writeable
from mbt._core.door.native_arrays cimport (
    MAX, MAX_ARRAYS, MAX_AXES, SHARED, Layout, ManyStates, OneState, are_many_of, are_mixed, check_rows, is_one_of,
    overlap,
)

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cdef extern from "Python.h":
    PyObject* PyTuple_GET_ITEM(object p, Py_ssize_t i)

cnp.import_array()
adopt(ReadOnlyArray)


cdef class NativeFunction:
    """A native function of q, of q and v, or of q, v and one more array.

    `library` is kept alive; `one` and `many` are addresses in it: functions for one state and for many. `sizes` are
    those of the inputs, `shapes` those of the outputs, for one state. Anything but the exact arrays of one state, or of
    one axis of states, goes to `otherwise(inputs, out)`. Arrays are float64, or float32 if `single`.
    """

    cdef OneState one
    cdef ManyStates many
    cdef readonly object library
    cdef object otherwise
    cdef int type
    cdef int num_inputs
    cdef int num_outputs
    cdef cnp.npy_intp[MAX] sizes
    cdef int[MAX] num_axes
    cdef cnp.npy_intp[MAX][MAX] shapes

    def __cinit__(self, library, Py_ssize_t one, Py_ssize_t many, tuple sizes, tuple shapes, otherwise, bint single):
        cdef int i, k
        if not one or not many or len(sizes) > MAX or not 1 <= len(shapes) <= MAX or max(map(len, shapes)) > MAX:
            raise ValueError("a function needs its addresses, at most three inputs, and one to three outputs")
        self.library = library
        self.type = cnp.NPY_FLOAT if single else cnp.NPY_DOUBLE
        self.otherwise = otherwise
        self.one = <OneState>one
        self.many = <ManyStates>many
        self.num_inputs = <int>len(sizes)
        self.num_outputs = <int>len(shapes)
        for i in range(self.num_inputs):
            self.sizes[i] = sizes[i]
        for i in range(self.num_outputs):
            self.num_axes[i] = <int>len(shapes[i])
            for k in range(self.num_axes[i]):
                self.shapes[i][k] = shapes[i][k]

    # Missing arguments are None here and surplus ones are in `more`: `otherwise` raises the error.

    def of_positions(self, q=None, *more, out=None):
        """Call with generalized positions (..., num_positions)."""
        cdef const void* inputs[MAX]
        if self.num_inputs == 1 and not more and self.is_one(q, 0) and self.takes(out):
            inputs[0] = data(q)
            return self.call_one(inputs, out)
        return self.call((q, *more), out)

    def of_velocities(self, q=None, v=None, *more, out=None):
        """Call with generalized positions and velocities (..., num_velocities)."""
        cdef const void* inputs[MAX]
        if self.num_inputs == 2 and not more and self.is_one(q, 0) and self.is_one(v, 1) and self.takes(out):
            inputs[0] = data(q)
            inputs[1] = data(v)
            return self.call_one(inputs, out)
        return self.call((q, v, *more), out)

    def of_accelerations(self, q=None, v=None, vdot=None, *more, out=None):
        """Call with generalized positions, velocities and accelerations (..., num_velocities)."""
        if more:
            return self.call((q, v, vdot, *more), out)
        return self.call_with_three(q, v, vdot, out)

    def of_forces(self, q=None, v=None, tau=None, *more, out=None):
        """Call with generalized positions, velocities and forces (..., num_velocities)."""
        if more:
            return self.call((q, v, tau, *more), out)
        return self.call_with_three(q, v, tau, out)

    def call_many(self, tuple inputs, tuple outputs, Py_ssize_t count):
        """Call with contiguous arrays of `count` rows, or of one row for all states; outputs have `count` rows."""
        cdef const void* sources[MAX]
        cdef void* targets[MAX]
        cdef Py_ssize_t[MAX] strides
        cdef int i
        if len(inputs) != self.num_inputs or len(outputs) != self.num_outputs:
            raise ValueError("wrong number of arrays")
        for i in range(self.num_inputs):
            check_rows(inputs[i], self.type, count, self.sizes[i])
            sources[i] = data(inputs[i])
            strides[i] = 0 if len(inputs[i]) == 1 else self.sizes[i]
        for i in range(self.num_outputs):
            if len(outputs[i]) != count or not is_writeable(outputs[i]):
                raise ValueError("an output has the wrong shape")
            check_rows(outputs[i], self.type, count, self.size_of_output(i))
            targets[i] = data(outputs[i])
        with nogil:
            self.many(sources, strides, targets, count)

    cdef object call_with_three(self, q, v, x, out):
        cdef const void* inputs[MAX]
        if (
            self.num_inputs == 3 and self.is_one(q, 0) and self.is_one(v, 1) and self.is_one(x, 2)
            and self.takes(out)
        ):
            inputs[0] = data(q)
            inputs[1] = data(v)
            inputs[2] = data(x)
            return self.call_one(inputs, out)
        return self.call((q, v, x), out)

    cdef bint takes(self, out):
        """Whether `out` can take the single result of one state without further checks."""
        return self.num_outputs == 1 and (out is None or self.fits(out, 0, -1))

    cdef object call_one(self, const void** inputs, out):
        cdef void* target
        if out is None:
            out = cnp.PyArray_EMPTY(self.num_axes[0], self.shapes[0], self.type, 0)
        target = data(out)
        self.one(inputs, &target)
        return out

    cdef object call(self, tuple arrays, out):
        """Call with the exact arrays of one state, or of one axis of not too many; others are handled elsewhere."""
        cdef const void* inputs[MAX]
        cdef void* targets[MAX]
        cdef Py_ssize_t[MAX] strides
        cdef Py_ssize_t count = self.count_states(arrays)
        cdef int i
        if count < -1 or count >= SHARED:
            return self.otherwise(arrays, out)
        results = self.take_outputs(out, count, targets)
        if results is None:
            return self.otherwise(arrays, out)
        for i in range(self.num_inputs):
            inputs[i] = data(arrays[i])
            strides[i] = self.sizes[i]
        if count == -1:
            self.one(inputs, targets)
        else:
            for i in range(self.num_inputs):
                for array in results:
                    if overlap(arrays[i], array):
                        return self.otherwise(arrays, out)
            with nogil:
                self.many(inputs, strides, targets, count)
        return results[0] if self.num_outputs == 1 else results

    cdef Py_ssize_t count_states(self, tuple arrays):
        """Number of states in one leading axis; -1 for one state without that axis, -2 for anything else."""
        cdef Py_ssize_t count = -1
        cdef int i, axes = -1
        if len(arrays) != self.num_inputs:
            return -2
        for i in range(self.num_inputs):
            array = arrays[i]
            if not cnp.PyArray_CheckExact(array):
                return -2 if axes >= 0 or not self.is_one_state(arrays) else -1
            if i == 0:
                axes = cnp.PyArray_NDIM(array)
                count = cnp.PyArray_DIM(array, 0) if axes == 2 else -1
            if axes == 1:
                if not self.is_one(array, i):
                    return -2
            elif axes != 2 or not are_many_of(array, self.type, count, self.sizes[i]):
                return -2
        return count

    cdef bint is_one_state(self, tuple arrays):
        """Whether arrays returned by a Context are those of one state."""
        cdef int i
        for i in range(self.num_inputs):
            if not self.is_one(arrays[i], i):
                return False
        return True

    cdef bint is_one(self, object array, int i):
        """Whether this is the exact array of one state for this input."""
        if self.type == cnp.NPY_DOUBLE:
            return is_array1(array, self.sizes[i])
        return is_one_of(array, self.type, self.sizes[i])

    cdef tuple take_outputs(self, out, Py_ssize_t count, void** targets):
        """The arrays to write into, by default new ones; None if `out` is anything else."""
        cdef int i, axes = 0 if count == -1 else 1
        cdef cnp.npy_intp[MAX + 1] shape
        shape[0] = count
        if out is None:
            arrays = []
            for i in range(self.num_outputs):
                memcpy(shape + 1, self.shapes[i], MAX*sizeof(cnp.npy_intp))
                arrays.append(
                    cnp.PyArray_EMPTY(self.num_axes[i] + axes, shape + 1 - axes, self.type, 0)
                )
            results = tuple(arrays)
        elif self.num_outputs == 1:
            results = (out,)
        elif type(out) is tuple and len(out) == self.num_outputs:
            results = out
        else:
            return None
        for i in range(self.num_outputs):
            if out is not None and not self.fits(results[i], i, count):
                return None
            targets[i] = data(results[i])
        if out is not None and self.num_outputs > 1:
            for i in range(1, self.num_outputs):
                for k in range(i):
                    if overlap(results[i], results[k]):
                        return None
        return results

    cdef bint fits(self, object array, int output, Py_ssize_t count):
        cdef int k, axes = 0 if count == -1 else 1
        if not cnp.PyArray_CheckExact(array) or cnp.PyArray_NDIM(array) != self.num_axes[output] + axes:
            return False
        if axes and cnp.PyArray_DIM(array, 0) != count:
            return False
        for k in range(self.num_axes[output]):
            if cnp.PyArray_DIM(array, k + axes) != self.shapes[output][k]:
                return False
        return (
            cnp.PyArray_TYPE(array) == self.type and cnp.PyArray_ISCARRAY_RO(array) and is_writeable(array)
        )

    cdef Py_ssize_t size_of_output(self, int output) noexcept:
        cdef Py_ssize_t size = 1
        cdef int k
        for k in range(self.num_axes[output]):
            size *= self.shapes[output][k]
        return size


cdef class NativeTick:
    """A native function with any inputs and outputs, called by position or by name.

    `inputs` and `outputs` are shapes for one state, by name; `kind` is the kind of result: an array, a tuple, or a
    dict. Anything but the exact arrays of one state, or of one axis of states, goes to `otherwise(inputs, out)`.
    """

    cdef OneState one
    cdef ManyStates many
    cdef readonly object _library
    cdef object otherwise
    cdef readonly object _kind
    cdef int type
    cdef int num_inputs
    cdef int num_outputs
    cdef tuple input_names
    cdef tuple output_names
    cdef Layout* layouts                 # of inputs, then of outputs

    def __cinit__(self, library, dict inputs, dict outputs, kind, bint single, *ignored):
        self.num_inputs, self.num_outputs = <int>len(inputs), <int>len(outputs)
        if max(self.num_inputs, self.num_outputs) > MAX_ARRAYS or kind not in (np.ndarray, tuple, dict):
            raise ValueError("too many arrays, or an unknown kind of result")
        self.layouts = <Layout*>calloc(self.num_inputs + self.num_outputs + 1, sizeof(Layout))
        if self.layouts is NULL:
            raise MemoryError()
        self._library, self._kind = library, kind
        self.one, self.many = <OneState><Py_ssize_t>library.one, <ManyStates><Py_ssize_t>library.many
        self.type = cnp.NPY_FLOAT if single else cnp.NPY_DOUBLE
        self.input_names, self.output_names = tuple(inputs), tuple(outputs)
        cdef int i, k
        cdef Layout* layout
        for i, shape in enumerate((*inputs.values(), *outputs.values())):
            layout = self.layouts + i
            if len(shape) >= MAX_AXES:
                raise ValueError("too many axes")
            layout.num_axes, layout.size = <int>len(shape), 1
            for k in range(layout.num_axes):
                layout.shape[k] = shape[k]
                layout.size *= layout.shape[k]

    def __dealloc__(self):
        free(self.layouts)

    def _serve(self, otherwise):
        """Set the function that serves all other calls."""
        self.otherwise = otherwise

    def __call__(self, *arguments, **named):
        """Call with arrays, one for each input, of one state or with leading axes."""
        cdef const void* inputs[MAX_ARRAYS]
        cdef void* targets[MAX_ARRAYS]
        cdef double[MAX_ARRAYS] numbers
        cdef Py_ssize_t[MAX_ARRAYS] strides
        cdef Py_ssize_t count = -1
        cdef int i
        out = None
        if named:
            out = named.pop("out", None)
            if named:
                arguments = self.by_position(arguments, named)
        if <int>len(arguments) != self.num_inputs:
            return self.otherwise(arguments, out)
        for i in range(self.num_inputs):
            if not self.take(arguments[i], i, numbers + i, inputs + i, strides + i, &count):
                return self.otherwise(arguments, out)
        if count >= SHARED:
            return self.otherwise(arguments, out)
        result = self.make_outputs(count, targets) if out is None else self.take_outputs(out, count, targets)
        if result is None:
            return self.otherwise(arguments, out)
        if count == -1:
            self.one(inputs, targets)
            return result
        if out is not None and self.meets(arguments, result):
            return self.otherwise(arguments, out)
        with nogil:
            self.many(inputs, strides, targets, count)
        return result

    def _call_many(self, tuple inputs, tuple outputs, Py_ssize_t count):
        """Call with contiguous arrays of `count` rows, or of one row for all states; outputs have `count` rows."""
        cdef const void* sources[MAX_ARRAYS]
        cdef void* targets[MAX_ARRAYS]
        cdef Py_ssize_t[MAX_ARRAYS] strides
        cdef int i
        if <int>len(inputs) != self.num_inputs or <int>len(outputs) != self.num_outputs:
            raise ValueError("wrong number of arrays")
        for i in range(self.num_inputs):
            check_rows(inputs[i], self.type, count, self.layouts[i].size)
            sources[i] = data(inputs[i])
            strides[i] = 0 if len(inputs[i]) == 1 else self.layouts[i].size
        for i in range(self.num_outputs):
            if len(outputs[i]) != count or not is_writeable(outputs[i]):
                raise ValueError("an output has the wrong shape")
            check_rows(outputs[i], self.type, count, self.layouts[self.num_inputs + i].size)
            targets[i] = data(outputs[i])
        with nogil:
            self.many(sources, strides, targets, count)

    cdef tuple by_position(self, tuple arguments, dict named):
        """Arguments in order; missing ones are None, unknown names are refused."""
        cdef Py_ssize_t i, count = 0
        cdef PyObject* given
        cdef list positions = list(arguments)
        for i in range(len(arguments), self.num_inputs):
            given = PyDict_GetItemWithError(named, self.input_names[i])
            count += given != NULL
            positions.append(None if given == NULL else <object>given)
        if count < len(named):
            raise _wrong_names(self.input_names, arguments, named)
        return tuple(positions)

    cdef bint take(
        self, object x, int i, double* number, const void** source, Py_ssize_t* stride, Py_ssize_t* count
    ) noexcept:
        """Whether this is an array of one state, or of the common number of states; sets the address of its data."""
        cdef const Layout* layout = self.layouts + i
        cdef int k, axes
        if layout.num_axes == 0 and PyFloat_Check(x):
            if self.type == cnp.NPY_FLOAT:
                (<float*>number)[0] = <float>PyFloat_AS_DOUBLE(x)
            else:
                number[0] = PyFloat_AS_DOUBLE(x)
            source[0] = number
            stride[0] = 0
            return True
        if not (cnp.PyArray_CheckExact(x) or type(x) is ReadOnlyArray):
            return False
        axes = cnp.PyArray_NDIM(x) - layout.num_axes
        if axes not in (0, 1) or cnp.PyArray_TYPE(x) != self.type or not cnp.PyArray_ISCARRAY_RO(x):
            return False
        for k in range(layout.num_axes):
            if cnp.PyArray_DIM(x, k + axes) != layout.shape[k]:
                return False
        if axes:
            if count[0] not in (-1, cnp.PyArray_DIM(x, 0)):
                return False
            count[0] = cnp.PyArray_DIM(x, 0)
        source[0] = data(x)
        stride[0] = layout.size if axes else 0
        return True

    cdef object make_outputs(self, Py_ssize_t count, void** targets):
        """New arrays, in the form in which they are returned."""
        cdef int i
        arrays = []
        for i in range(self.num_outputs):
            array = self.make_output(i, count)
            targets[i] = data(array)
            if self._kind is not dict and self._kind is not tuple:
                return array
            arrays.append(array)
        return dict(zip(self.output_names, arrays)) if self._kind is dict else tuple(arrays)

    cdef object take_outputs(self, out, Py_ssize_t count, void** targets):
        """The given arrays, and new ones for missing ones; None if anything else is given."""
        cdef int i, num_given = 0
        cdef PyObject* arrays[MAX_ARRAYS]
        cdef PyObject* name
        cdef PyObject* key
        cdef Py_ssize_t place = 0, size = (1 if count == -1 else count)*(4 if self.type == cnp.NPY_FLOAT else 8)
        if self._kind is dict:
            if type(out) is not dict:
                return None
        elif self._kind is tuple:
            if type(out) is not tuple or <int>len(out) != self.num_outputs:
                return None
        elif not self.fits(out, 0, count):
            return None
        else:
            targets[0] = data(out)
            return out
        for i in range(self.num_outputs):
            targets[i] = NULL
            name = PyTuple_GET_ITEM(self.output_names, i)
            if self._kind is tuple:
                arrays[i] = PyTuple_GET_ITEM(out, i)
            # A dict that a call returned has its names in order.
            elif not PyDict_Next(out, &place, &key, &arrays[i]) or key != name:
                arrays[i] = PyDict_GetItemWithError(out, <object>name)
            if arrays[i] == NULL:
                continue
            num_given += 1
            if arrays[i] == <PyObject*>None:
                arrays[i] = NULL
            elif not self.fits(<object>arrays[i], i, count):
                return None
            else:
                targets[i] = data(<object>arrays[i])
        # There may be a name that is not an output's.
        if (self._kind is dict and num_given != <int>len(out)) or are_mixed(
            self.layouts + self.num_inputs, self.num_outputs, size, targets
        ):
            return None
        for i in range(self.num_outputs):
            if targets[i] == NULL:
                break
        else:
            return out
        results = []
        for i in range(self.num_outputs):
            array = self.make_output(i, count) if arrays[i] == NULL else <object>arrays[i]
            targets[i] = data(array)
            results.append(array)
        return dict(zip(self.output_names, results)) if self._kind is dict else tuple(results)

    cdef object make_output(self, int i, Py_ssize_t count):
        cdef const Layout* layout = self.layouts + self.num_inputs + i
        cdef cnp.npy_intp[MAX_AXES] shape
        cdef int axes = 0 if count == -1 else 1
        shape[0] = count
        memcpy(shape + axes, layout.shape, layout.num_axes*sizeof(cnp.npy_intp))
        return cnp.PyArray_EMPTY(layout.num_axes + axes, shape, self.type, 0)

    cdef bint fits(self, object array, int i, Py_ssize_t count):
        cdef const Layout* layout = self.layouts + self.num_inputs + i
        cdef int k, axes = 0 if count == -1 else 1
        if not cnp.PyArray_CheckExact(array) or cnp.PyArray_NDIM(array) != layout.num_axes + axes:
            return False
        if axes and cnp.PyArray_DIM(array, 0) != count:
            return False
        for k in range(layout.num_axes):
            if cnp.PyArray_DIM(array, k + axes) != layout.shape[k]:
                return False
        return cnp.PyArray_TYPE(array) == self.type and cnp.PyArray_ISCARRAY_RO(array) and is_writeable(array)

    cdef bint meets(self, tuple inputs, result):
        """Whether an output shares memory with an input."""
        outputs = result.values() if self._kind is dict else result if self._kind is tuple else (result,)
        for array in outputs:
            for x in inputs:
                if not PyFloat_Check(x) and overlap(x, array):
                    return True
        return False


cdef object _wrong_names(names, arguments, named):
    from mbt.errors import ArgumentTypeError
    given = ", ".join([f"{len(arguments)} by position"]*bool(arguments) + list(named))
    return ArgumentTypeError(f"expected the arguments {', '.join(names)}, got {given}")
