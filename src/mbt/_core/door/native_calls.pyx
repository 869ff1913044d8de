"""Calls of native code that was made for one tree: with the arrays of one state at once, and of many."""

cimport numpy as cnp
from libc.string cimport memcpy

from mbt._core.door.exact_arrays cimport adopt, data, is_array1, is_writeable

from mbt.math.read_only import ReadOnlyArray

cdef extern from "door/native_arrays.hpp":
    bint is_one_of "mbt_is_one_of"(object o, int type, cnp.npy_intp n)
    bint are_many_of "mbt_are_many_of"(object o, int type, cnp.npy_intp n0, cnp.npy_intp n1)
    bint overlap "mbt_bytes_meet"(object a, object b)

cnp.import_array()
adopt(ReadOnlyArray)

cdef enum:
    # Inputs, outputs and axes of an output, at most.
    MAX = 3
    # From so many states on the microseconds that sharing them out takes do not show.
    SHARED = 8192

ctypedef void (*OneState)(const void* const* inputs, void* const* outputs) noexcept nogil
ctypedef void (*ManyStates)(
    const void* const* inputs, const Py_ssize_t* strides, void* const* outputs, Py_ssize_t count
) noexcept nogil


cdef class NativeFunction:
    """A function of native code, of q, of q and v, or of q, v and one array more.

    `library` is kept alive; `one` and `many` are addresses in it: of a function of one state, and of one of many.
    `sizes` are those of the inputs, `shapes` those of the outputs of one state. Whatever is not exactly the arrays of
    one state, or of one axis of states, goes to `otherwise(inputs, out)`. Arrays are float64, or float32 of a `single`.
    """

    cdef OneState one
    cdef ManyStates many
    cdef readonly object library
    cdef object otherwise
    cdef int type
    cdef int num_inputs
    cdef int num_outputs
    cdef cnp.npy_intp sizes[MAX]
    cdef int num_axes[MAX]
    cdef cnp.npy_intp shapes[MAX][MAX]

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

    # What is missing is None here, and what is too much in `more`: `otherwise` has the words to refuse it.

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
        cdef Py_ssize_t strides[MAX]
        cdef int i
        if len(inputs) != self.num_inputs or len(outputs) != self.num_outputs:
            raise ValueError("another number of arrays")
        for i in range(self.num_inputs):
            self.check_rows(inputs[i], count, self.sizes[i])
            sources[i] = data(inputs[i])
            strides[i] = 0 if len(inputs[i]) == 1 else self.sizes[i]
        for i in range(self.num_outputs):
            if len(outputs[i]) != count or not is_writeable(outputs[i]):
                raise ValueError("an output of another shape")
            self.check_rows(outputs[i], count, self.size_of_output(i))
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
        """Whether the one result of one state can go there without further checks."""
        return self.num_outputs == 1 and (out is None or self.fits(out, 0, -1))

    cdef object call_one(self, const void** inputs, out):
        cdef void* target
        if out is None:
            out = cnp.PyArray_EMPTY(self.num_axes[0], self.shapes[0], self.type, 0)
        target = data(out)
        self.one(inputs, &target)
        return out

    cdef object call(self, tuple arrays, out):
        """With arrays that are exactly those of one state, or of one axis of not too many; all others go elsewhere."""
        cdef const void* inputs[MAX]
        cdef void* targets[MAX]
        cdef Py_ssize_t strides[MAX]
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
        """How many there are in one axis in front; -1 of one state without it, -2 of anything else."""
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
        """Of arrays that a Context shows."""
        cdef int i
        for i in range(self.num_inputs):
            if not self.is_one(arrays[i], i):
                return False
        return True

    cdef bint is_one(self, object array, int i):
        """Whether it is exactly the array of one state of this input."""
        if self.type == cnp.NPY_DOUBLE:
            return is_array1(array, self.sizes[i])
        return is_one_of(array, self.type, self.sizes[i])

    cdef tuple take_outputs(self, out, Py_ssize_t count, void** targets):
        """The arrays to write into, by default new ones; None where something else is given."""
        cdef int i, axes = 0 if count == -1 else 1
        cdef cnp.npy_intp shape[MAX + 1]
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

    cdef int check_rows(self, object array, Py_ssize_t count, Py_ssize_t size) except -1:
        """Memory is read and written without a look at it: whatever calls this, nothing else may pass."""
        if (
            not cnp.PyArray_CheckExact(array) or cnp.PyArray_TYPE(array) != self.type
            or not cnp.PyArray_ISCARRAY_RO(array) or len(array) not in (1, count)
            or cnp.PyArray_SIZE(array) != len(array)*size
        ):
            raise ValueError("an array of another type or shape")
        return 0
