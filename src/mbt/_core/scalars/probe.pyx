"""The scalar types of the kernels, one operation at a time, for the tests.

A number of each scalar type is a row of doubles here: double (1,), Lanes (W,), Dual (1 + W,) with the
value first; W = lane_count(). Python scalars are the objects themselves.
"""
cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.ref cimport PyObject

import numpy as np

from mbt._core.scalars cimport (
    MBT_W,
    Dual,
    Lanes,
    PyFunctionsScope,
    PyScalar,
    T,
    atan2_,
    dual_partial,
    floor_,
    lane,
    load_rows,
    load_rows_partial,
    pyscalar_borrow,
    select_lt,
    set_dual_partial,
    set_lane,
    sincos_,
    sincos_of_angles,
    sqrt_,
    store_rows,
    store_rows_partial,
    tanh_,
)

cnp.import_array()


cdef enum Operation:
    ADD
    SUBTRACT
    MULTIPLY
    DIVIDE
    NEGATE
    ADD_IN_PLACE
    SUBTRACT_IN_PLACE
    MULTIPLY_IN_PLACE
    DIVIDE_IN_PLACE
    TIMES_DOUBLE
    DOUBLE_TIMES
    TIMES_DOUBLE_IN_PLACE
    FROM_DOUBLE
    SQRT
    SIN
    COS
    SELECT_LT
    TANH
    ATAN2
    FLOOR
    EXPRESSION


# name: (code, number of operands)
_OPERATIONS = {
    "add": (ADD, 2),
    "subtract": (SUBTRACT, 2),
    "multiply": (MULTIPLY, 2),
    "divide": (DIVIDE, 2),
    "negate": (NEGATE, 1),
    "add_in_place": (ADD_IN_PLACE, 2),
    "subtract_in_place": (SUBTRACT_IN_PLACE, 2),
    "multiply_in_place": (MULTIPLY_IN_PLACE, 2),
    "divide_in_place": (DIVIDE_IN_PLACE, 2),
    "times_double": (TIMES_DOUBLE, 1),
    "double_times": (DOUBLE_TIMES, 1),
    "times_double_in_place": (TIMES_DOUBLE_IN_PLACE, 1),
    "from_double": (FROM_DOUBLE, 0),
    "sqrt": (SQRT, 1),
    "sin": (SIN, 1),
    "cos": (COS, 1),
    "select_lt": (SELECT_LT, 4),
    "tanh": (TANH, 1),
    "atan2": (ATAN2, 2),
    "floor": (FLOOR, 1),
    "expression": (EXPRESSION, 3),
}


cdef inline void calc_expression(const T* x, double factor, T* out) noexcept nogil:
    """out = min(y, z),  y = -sum_i (factor x_i - sin x_i) cos x_i / x_0,  z = sqrt(y^2 + sin^2 x_2)."""
    cdef T y = <T>0.0
    cdef T z
    cdef T[3] s, c
    cdef int i
    for i in range(3):
        sincos_(x[i], &s[i], &c[i])
        y += (x[i]*factor - s[i])*c[i]
    y /= -x[0]
    z = sqrt_(y*y + s[2]*s[2])
    out[0] = select_lt(y, z, y, z)


cdef inline void calc_operation(int operation, const T* x, double factor, T* out) noexcept nogil:
    """out = the operation on x[0], x[1], ... and the double."""
    cdef T unused
    if operation == ADD:
        out[0] = x[0] + x[1]
    elif operation == SUBTRACT:
        out[0] = x[0] - x[1]
    elif operation == MULTIPLY:
        out[0] = x[0]*x[1]
    elif operation == DIVIDE:
        out[0] = x[0]/x[1]
    elif operation == NEGATE:
        out[0] = -x[0]
    elif operation == ADD_IN_PLACE:
        out[0] = x[0]
        out[0] += x[1]
    elif operation == SUBTRACT_IN_PLACE:
        out[0] = x[0]
        out[0] -= x[1]
    elif operation == MULTIPLY_IN_PLACE:
        out[0] = x[0]
        out[0] *= x[1]
    elif operation == DIVIDE_IN_PLACE:
        out[0] = x[0]
        out[0] /= x[1]
    elif operation == TIMES_DOUBLE:
        out[0] = x[0]*factor
    elif operation == DOUBLE_TIMES:
        out[0] = factor*x[0]
    elif operation == TIMES_DOUBLE_IN_PLACE:
        out[0] = x[0]
        out[0] *= factor
    elif operation == FROM_DOUBLE:
        out[0] = <T>factor
    elif operation == SQRT:
        out[0] = sqrt_(x[0])
    elif operation == SIN:
        sincos_(x[0], out, &unused)
    elif operation == COS:
        sincos_(x[0], &unused, out)
    elif operation == SELECT_LT:
        out[0] = select_lt(x[0], x[1], x[2], x[3])
    elif operation == TANH:
        out[0] = tanh_(x[0])
    elif operation == ATAN2:
        out[0] = atan2_(x[0], x[1])
    elif operation == FLOOR:
        out[0] = floor_(x[0])
    else:
        calc_expression(x, factor, out)


def lane_count():
    """Return the number of lanes of Lanes and of partial derivatives of Dual."""
    return MBT_W


def apply_real(str operation, *operands, double factor=1.0):
    """Apply an operation to doubles."""
    cdef int code = _find(operation, len(operands))
    cdef double[4] x
    cdef double out = 0.0
    cdef Py_ssize_t k
    for k in range(len(operands)):
        x[k] = operands[k]
    calc_operation(code, x, factor, &out)
    return out


def apply_lanes(str operation, *operands, double factor=1.0):
    """Apply an operation to arrays of shape (W,)."""
    cdef int code = _find(operation, len(operands))
    cdef Lanes[4] x
    cdef Lanes out = Lanes(0.0)
    cdef Py_ssize_t k
    cdef int i
    for k in range(len(operands)):
        row = _as_row(operands[k], MBT_W)
        for i in range(MBT_W):
            set_lane(x[k], i, row[i])
    calc_operation(code, x, factor, &out)
    return np.array([lane(out, i) for i in range(MBT_W)])


def apply_dual(str operation, *operands, double factor=1.0):
    """Apply an operation to arrays of shape (1 + W,): a value and its partial derivatives."""
    cdef int code = _find(operation, len(operands))
    cdef Dual[4] x
    cdef Dual out = Dual(0.0)
    cdef Py_ssize_t k
    cdef int i
    for k in range(len(operands)):
        row = _as_row(operands[k], 1 + MBT_W)
        x[k].x = row[0]
        for i in range(MBT_W):
            set_dual_partial(x[k], i, row[1 + i])
    calc_operation(code, x, factor, &out)
    return np.array([out.x] + [dual_partial(out, i) for i in range(MBT_W)])


def apply_python(str operation, *operands, double factor=1.0, functions=None):
    """Apply an operation to Python objects.

    `functions` is (sin, cos, sqrt, select_lt, tanh, atan2, floor), or these and from_float.
    """
    cdef int code = _find(operation, len(operands))
    cdef PyFunctionsScope scope
    cdef PyScalar x[4]
    cdef PyScalar out
    cdef Py_ssize_t k
    if functions is not None:
        install(&scope, functions)
    for k in range(len(operands)):
        x[k] = pyscalar_borrow(<PyObject*>operands[k])
    calc_operation(code, x, factor, &out)
    _raise_pending()
    return <object>out.p


def apply_python_arrays(
    str operation,
    cnp.ndarray operands not None,
    cnp.ndarray out not None,
    *,
    double factor=1.0,
    functions=None,
):
    """Apply an operation to rows of an object array, (n, number of operands), into an object array (n,).

    The storage of both arrays serves as PyScalar directly. After a failure the rest of `out` is empty slots.
    """
    cdef PyFunctionsScope scope
    cdef Py_ssize_t n = operands.shape[0]
    cdef Py_ssize_t m = operands.shape[1]
    cdef int code = _find(operation, m)
    cdef Py_ssize_t i
    for array in (operands, out):
        if array.dtype != object or not array.flags.c_contiguous:
            raise TypeError("expected C-contiguous object arrays")
    if (<object>out).shape != (n,):
        raise ValueError(f"out: expected shape {(n,)}, got {(<object>out).shape}")
    cdef const PyScalar* x = <const PyScalar*>cnp.PyArray_DATA(operands)
    cdef PyScalar* y = <PyScalar*>cnp.PyArray_DATA(out)
    if functions is not None:
        install(&scope, functions)
    for i in range(n):
        calc_operation(code, x + m*i, factor, y + i)
    _raise_pending()


cdef install(PyFunctionsScope* scope, functions):
    sin, cos, sqrt, select, tanh, atan2, floor = functions[:7]
    scope.install(
        <PyObject*>sin, <PyObject*>cos, <PyObject*>sqrt, <PyObject*>select, <PyObject*>tanh, <PyObject*>atan2,
        <PyObject*>floor, <PyObject*>functions[7] if len(functions) > 7 else NULL
    )


def sincos_real(x):
    """Return sin(x) and cos(x) of an array of any shape, number by number."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    s = np.empty_like(values)
    c = np.empty_like(values)
    cdef const double* x_data = <const double*>cnp.PyArray_DATA(values)
    cdef double* s_data = <double*>cnp.PyArray_DATA(s)
    cdef double* c_data = <double*>cnp.PyArray_DATA(c)
    cdef Py_ssize_t i
    for i in range(values.size):
        sincos_(x_data[i], s_data + i, c_data + i)
    return s, c


def sincos_lanes(x):
    """Return sin(x) and cos(x) of an array of any shape, W numbers at a time."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    s = np.empty_like(values)
    c = np.empty_like(values)
    cdef const double* x_data = <const double*>cnp.PyArray_DATA(values)
    cdef double* s_data = <double*>cnp.PyArray_DATA(s)
    cdef double* c_data = <double*>cnp.PyArray_DATA(c)
    cdef Py_ssize_t size = values.size
    cdef Py_ssize_t i
    cdef int count
    cdef Lanes angle, sin_angle, cos_angle
    for i in range(0, size, MBT_W):
        count = <int>min(<Py_ssize_t>MBT_W, size - i)
        load_rows_partial(x_data + i, 1, 1, count, &angle)
        sincos_(angle, &sin_angle, &cos_angle)
        store_rows_partial(&sin_angle, s_data + i, 1, 1, count)
        store_rows_partial(&cos_angle, c_data + i, 1, 1, count)
    return s, c


def sincos_angles(x):
    """Return sin(x) and cos(x) of an array of any shape, computed as in kernels of one state for all joints."""
    values = np.ascontiguousarray(x, dtype=np.float64)
    cdef int size = values.size
    cdef int stride = (size + MBT_W - 1)//MBT_W*MBT_W
    index = np.minimum(np.arange(stride, dtype=np.intc), size - 1)
    out = np.empty((2, stride))
    cdef double* data = <double*>cnp.PyArray_DATA(out)
    if size:
        sincos_of_angles(
            <const double*>cnp.PyArray_DATA(values), <const int*>cnp.PyArray_DATA(index), size, data, data + stride
        )
    return out[0, :size].reshape(values.shape), out[1, :size].reshape(values.shape)


def load_states(cnp.ndarray rows not None, Py_ssize_t stride, int n, int count=0):
    """Load `count` states (0: load_rows, all W) from a flat array; return the lanes, shape (n, W)."""
    data = _as_flat(rows, stride, n, count)
    cdef Lanes[64] lanes
    cdef int k, i
    if count == 0:
        load_rows(<const double*>cnp.PyArray_DATA(data), stride, n, lanes)
    else:
        load_rows_partial(<const double*>cnp.PyArray_DATA(data), stride, n, count, lanes)
    out = np.empty((n, MBT_W))
    for k in range(n):
        for i in range(MBT_W):
            out[k, i] = lane(lanes[k], i)
    return out


def store_states(lanes, cnp.ndarray rows not None, Py_ssize_t stride, int n, int count=0):
    """Store lanes of shape (n, W) as `count` states (0: store_rows, all W) into a flat array."""
    data = _as_flat(rows, stride, n, count)
    values = np.asarray(lanes, dtype=np.float64)
    if values.shape != (n, MBT_W):
        raise ValueError(f"lanes: expected shape {(n, MBT_W)}, got {values.shape}")
    cdef Lanes[64] x
    cdef int k, i
    for k in range(n):
        for i in range(MBT_W):
            set_lane(x[k], i, values[k, i])
    if count == 0:
        store_rows(x, <double*>cnp.PyArray_DATA(data), stride, n)
    else:
        store_rows_partial(x, <double*>cnp.PyArray_DATA(data), stride, n, count)


cdef int _find(str operation, Py_ssize_t num_operands) except -1:
    if operation not in _OPERATIONS:
        raise ValueError(f"operation: expected one of {sorted(_OPERATIONS)}, got {operation!r}")
    code, wanted = _OPERATIONS[operation]
    if num_operands != wanted:
        raise TypeError(f"{operation}: expected {wanted} operands, got {num_operands}")
    return code


cdef int _raise_pending() except -1:
    return -1 if PyErr_Occurred() else 0


cdef cnp.ndarray _as_row(operand, Py_ssize_t size):
    row = np.asarray(operand, dtype=np.float64)
    if row.shape != (size,):
        raise ValueError(f"operand: expected shape {(size,)}, got {row.shape}")
    return row


cdef cnp.ndarray _as_flat(cnp.ndarray rows, Py_ssize_t stride, int n, int count):
    cdef Py_ssize_t states = count if count else MBT_W
    if not 0 <= n <= 64:
        raise ValueError(f"n: expected 0 to 64, got {n}")
    if not 1 <= states <= MBT_W:
        raise ValueError(f"count: expected 0 to {MBT_W}, got {count}")
    if (<object>rows).dtype != np.float64 or rows.ndim != 1 or not (<object>rows).flags.c_contiguous:
        raise TypeError("rows: expected a contiguous one-dimensional float64 array")
    if stride < n or rows.shape[0] < (states - 1)*stride + n:
        raise ValueError("rows: too short for these states")
    return rows
