"""Arguments at the door: an array a kernel can read passes at once, anything else goes to `mbt.math.arrays`.

`in*` functions return the argument, or a conversion of it; `out*` functions the argument, or a fresh array.
Every check happens before anything is computed or written. A module that uses this adopts `ReadOnlyArray` at import.
"""

cimport numpy as cnp


cdef enum:
    # The largest number of axes of an array in any version of NumPy; some versions allow fewer.
    MAX_AXES = 64


cdef extern from "door/exact_arrays.hpp":
    void adopt "mbt_adopt"(object type)
    bint is_array1 "mbt_is_array1"(object o, cnp.npy_intp n)
    bint is_array2 "mbt_is_array2"(object o, cnp.npy_intp n0, cnp.npy_intp n1)
    cnp.npy_intp count_columns "mbt_columns"(object o, cnp.npy_intp n0)
    bint is_array3 "mbt_is_array3"(object o, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2)
    bint is_points "mbt_is_points"(object o)
    bint is_writeable "mbt_is_writeable"(object o)
    double* data "mbt_data"(object o)
    cnp.npy_intp size "mbt_size"(object o)
    bint overlap "mbt_overlap"(object a, object b)
    object new1 "mbt_new1"(cnp.npy_intp n)
    object new2 "mbt_new2"(cnp.npy_intp n0, cnp.npy_intp n1)
    object of_numbers "mbt_of_numbers"(object value, cnp.npy_intp n)
    object new_read_only "mbt_new_read_only"(int ndim, cnp.npy_intp* shape, double* memory)
    object new3 "mbt_new3"(cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2)
    object ask "mbt_ask"(
        const char* function, object value, str name, int ndim, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2)


cdef inline object in1(object value, str name, cnp.npy_intp n):
    if is_array1(value, n):
        return value
    array = of_numbers(value, n)
    return ask("as_float_array", value, name, 1, n, 0, 0) if array is None else array


cdef inline object one_row(object value, cnp.npy_intp n):
    """n floats of Python or NumPy, in any memory layout, as an array that kernels read; None for anything else."""
    if is_array1(value, n):
        return value
    if not cnp.PyArray_CheckExact(value):
        return of_numbers(value, n)
    if cnp.PyArray_NDIM(value) != 1 or cnp.PyArray_DIM(value, 0) != n:
        return None
    if cnp.PyArray_TYPE(value) != cnp.NPY_DOUBLE and cnp.PyArray_TYPE(value) != cnp.NPY_FLOAT:
        return None
    return cnp.PyArray_ContiguousFromAny(value, cnp.NPY_DOUBLE, 1, 1)


cdef inline object in2(object value, str name, cnp.npy_intp n0, cnp.npy_intp n1):
    if is_array2(value, n0, n1):
        return value
    return ask("as_float_array", value, name, 2, n0, n1, 0)


cdef inline object out1(object out, str name, cnp.npy_intp n):
    if out is None:
        return new1(n)
    if is_array1(out, n) and is_writeable(out):
        return out
    return ask("check_out", out, name, 1, n, 0, 0)


cdef inline object out2(object out, str name, cnp.npy_intp n0, cnp.npy_intp n1):
    if out is None:
        return new2(n0, n1)
    if is_array2(out, n0, n1) and is_writeable(out):
        return out
    return ask("check_out", out, name, 2, n0, n1, 0)


cdef inline object out3(object out, str name, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2):
    if out is None:
        return new3(n0, n1, n2)
    if is_array3(out, n0, n1, n2) and is_writeable(out):
        return out
    return ask("check_out", out, name, 3, n0, n1, n2)


cdef inline tuple two_outputs(object out, cnp.npy_intp n0, cnp.npy_intp n1):
    """The two arrays of `out`, (n0,) and (n1,), with new ones in place of None."""
    if out is None:
        return new1(n0), new1(n1)
    if type(out) is tuple and len(<tuple>out) == 2:
        a, b = <tuple>out
        if is_array1(a, n0) and is_array1(b, n1) and is_writeable(a) and is_writeable(b) and not overlap(a, b):
            return out
    from mbt._core.above import above
    return above.check_outputs(out, ((n0,), (n1,)))


cdef inline bint flag(object value, str name) except -1:
    """True or False; any other value of an option, such as the text "no", is an error."""
    if value is True:
        return True
    if value is False:
        return False
    from mbt.math.arrays import as_bool
    return as_bool(value, name)


cdef inline int direction(object stabilize) except? -2:
    """Direction of stabilization: 1 or 0 for a flag; -1 where time runs backwards."""
    if stabilize is True:
        return 1
    if stabilize is False:
        return 0
    from mbt.math.arrays import as_direction
    return as_direction(stabilize, "stabilize")


cdef inline object option(int stabilized):
    """Convert a direction back to its argument."""
    if stabilized < 0:
        return -1
    return True if stabilized else False


cdef inline object apart(object value, object out):
    """`value`, or a copy of it when writing `out` would change it."""
    return value.copy() if overlap(value, out) else value


cdef inline bint meet(object a, object b):
    """Whether two output arrays, either of which may be None, share memory."""
    return a is not None and b is not None and overlap(a, b)


cdef inline void add_array(object array, double* total) noexcept:
    """Add the entries of an array of float64."""
    add_numbers(data(array), size(array), total)


cdef inline void add_numbers(const double* x, Py_ssize_t n, double* total) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        total[i] += x[i]
