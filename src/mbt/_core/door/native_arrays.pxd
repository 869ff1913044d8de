"""Arguments of native code made for one tree: function types, layouts of arrays, and checks."""

cimport numpy as cnp

cdef extern from "door/native_arrays.hpp":
    bint is_one_of "mbt_is_one_of"(object o, int type, cnp.npy_intp n)
    bint are_many_of "mbt_are_many_of"(object o, int type, cnp.npy_intp n0, cnp.npy_intp n1)
    bint overlap "mbt_bytes_meet"(object a, object b)

cdef enum:
    # Most inputs, outputs, and axes of an output.
    MAX = 3
    # The same for a function written by users.
    MAX_ARRAYS = 64
    MAX_AXES = 8
    # From this many states on, the microseconds that it takes to distribute them do not matter.
    SHARED = 8192

ctypedef void (*OneState)(const void* const* inputs, void* const* outputs) noexcept nogil
ctypedef void (*ManyStates)(
    const void* const* inputs, const Py_ssize_t* strides, void* const* outputs, Py_ssize_t count
) noexcept nogil

cdef struct Layout:
    int num_axes
    Py_ssize_t size
    cnp.npy_intp shape[MAX_AXES]


cdef inline bint are_mixed(const Layout* of, int num_outputs, Py_ssize_t size, void** targets) noexcept nogil:
    """Whether two arrays share memory; their layout counts entries of `size` bytes. NULL: no array."""
    cdef const char* begin[MAX_ARRAYS]
    cdef const char* end[MAX_ARRAYS]
    cdef int i, k, num_given = 0
    cdef bint mixed = False
    for i in range(num_outputs):
        if targets[i] != NULL:
            begin[num_given] = <const char*>targets[i]
            end[num_given] = begin[num_given] + size*of[i].size
            num_given += 1
    for i in range(num_given):
        for k in range(i):
            mixed |= (begin[i] < end[k]) & (begin[k] < end[i])
    return mixed


cdef inline int check_rows(object array, int type, Py_ssize_t count, Py_ssize_t size) except -1:
    """Refuse any other array, whoever calls this: native code reads and writes memory unchecked."""
    if (
        not cnp.PyArray_CheckExact(array) or cnp.PyArray_TYPE(array) != type or not cnp.PyArray_ISCARRAY_RO(array)
        or len(array) not in (1, count) or cnp.PyArray_SIZE(array) != len(array)*size
    ):
        raise ValueError("an array has the wrong type or shape")
    return 0
