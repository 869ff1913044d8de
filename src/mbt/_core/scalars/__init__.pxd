"""The four scalar types of the kernels, and the fused type over them.

    double       one state
    Lanes        MBT_W states at once, one per SIMD lane
    Dual         a value and MBT_W partial derivatives
    PyScalar     any Python object with arithmetic (GIL held, functions installed)

Each has a default constructor, construction from double, + - * / and unary -, products with a
double on either side, += -= *= /=, and `sincos_`, `sqrt_`, `tanh_`, `atan2_`, `floor_`, `select_lt`.
Comparisons are deliberately not declared: a kernel that branches on a value of type T must not compile.
"""
from cpython.ref cimport PyObject


cdef extern from "scalars/config.hpp" nogil:
    const int MBT_W  # lanes of Lanes, partials of Dual
    void make_small "MBT_NS::make_small"()


cdef extern from "scalars/real.hpp" namespace "MBT_NS" nogil:
    void sincos_(double x, double* s, double* c)
    double sqrt_(double a)
    double tanh_(double a)
    double atan2_(double y, double x)
    double floor_(double a)  # derivative 0
    double select_lt(double a, double b, double x, double y)  # a < b ? x : y


cdef extern from "scalars/lanes.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Lanes:
        Lanes()  # not initialized
        Lanes(double)
        Lanes operator+(Lanes)
        Lanes operator-(Lanes)
        Lanes operator*(Lanes)
        Lanes operator*(double)
        Lanes operator*(double, Lanes)
        Lanes operator/(Lanes)
        Lanes operator-()
    void sincos_(Lanes x, Lanes* s, Lanes* c)
    Lanes sqrt_(Lanes a)
    Lanes tanh_(Lanes a)
    Lanes atan2_(Lanes y, Lanes x)
    Lanes floor_(Lanes a)
    Lanes select_lt(Lanes a, Lanes b, Lanes x, Lanes y)
    double lane(const Lanes& a, int i)
    void set_lane(Lanes& a, int i, double value)


cdef extern from "scalars/dual.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Dual:
        double x  # value
        Dual()  # not initialized
        Dual(double)
        Dual operator+(Dual)
        Dual operator-(Dual)
        Dual operator*(Dual)
        Dual operator*(double)
        Dual operator*(double, Dual)
        Dual operator/(Dual)
        Dual operator-()
    void sincos_(Dual x, Dual* s, Dual* c)
    Dual sqrt_(Dual a)
    Dual tanh_(Dual a)
    Dual atan2_(Dual y, Dual x)
    Dual floor_(Dual a)
    Dual select_lt(Dual a, Dual b, Dual x, Dual y)
    double dual_partial(const Dual& a, int i)
    void set_dual_partial(Dual& a, int i, double partial)


cdef extern from "scalars/pyscalar.hpp" namespace "MBT_NS" nogil:
    cdef cppclass PyScalar:
        PyObject* p  # an owned reference or NULL
        PyScalar()  # NULL
        PyScalar(double)
        PyScalar operator+(PyScalar)
        PyScalar operator-(PyScalar)
        PyScalar operator*(PyScalar)
        PyScalar operator*(double)
        PyScalar operator*(double, PyScalar)
        PyScalar operator/(PyScalar)
        PyScalar operator-()
    void sincos_(PyScalar x, PyScalar* s, PyScalar* c)
    PyScalar sqrt_(PyScalar a)
    PyScalar tanh_(PyScalar a)
    PyScalar atan2_(PyScalar y, PyScalar x)
    PyScalar floor_(PyScalar a)
    PyScalar select_lt(PyScalar a, PyScalar b, PyScalar x, PyScalar y)
    PyScalar pyscalar_borrow(PyObject* object)  # takes a reference of its own
    PyScalar pyscalar_steal(PyObject* object)  # takes over the caller's reference

    # `cdef PyFunctionsScope functions` in the function that calls kernels, then
    # functions.install(...); when that function ends, the previous functions are restored.
    cdef cppclass PyFunctionsScope:
        PyFunctionsScope()
        void install(
            PyObject* sin, PyObject* cos, PyObject* sqrt, PyObject* select_lt, PyObject* tanh, PyObject* atan2,
            PyObject* floor, PyObject* from_float)  # the last may be NULL


cdef extern from "scalars/transpose.hpp" namespace "MBT_NS" nogil:
    # `rows`: states of n numbers each, `stride` doubles apart; lanes k hold number k of every state.
    void load_rows(const double* rows, Py_ssize_t stride, int n, Lanes* out)
    void store_rows(const Lanes* lanes, double* rows, Py_ssize_t stride, int n)
    # The same with only `count` states (1 <= count <= MBT_W) in memory.
    void load_rows_partial(const double* rows, Py_ssize_t stride, int n, int count, Lanes* out)
    void store_rows_partial(const Lanes* lanes, double* rows, Py_ssize_t stride, int n, int count)
    # A pose (4, 4) of MBT_W states, its axes shifted by 0, 1 or 2; its last row is known and not read.
    void store_pose(const Lanes* X, int shift, double* rows, Py_ssize_t stride)


cdef extern from "scalars/dual_rows.hpp" namespace "MBT_NS" nogil:
    # Convert between values (n,) with derivatives (n, directions), and Duals of the MBT_W directions from `first` on.
    void load_duals(
        const double* values, const double* derivatives, Py_ssize_t directions, Py_ssize_t first, Py_ssize_t n,
        Dual* out)  # derivatives may be NULL: constants
    void store_duals(
        const Dual* duals, Py_ssize_t directions, Py_ssize_t first, Py_ssize_t n, double* values, double* derivatives)


cdef extern from "scalars/angles.hpp" namespace "MBT_NS" nogil:
    # Sines and cosines of q[index[k]], k < n; index, s and c are padded to a multiple of MBT_W.
    void sincos_of_angles(const double* q, const int* index, int n, double* s, double* c)
    void sincos_of_angles(const Lanes* q, const int* index, int n, Lanes* s, Lanes* c)
    void sincos_of_angles(const Dual* q, const int* index, int n, Dual* s, Dual* c)
    void sincos_of_angles(const PyScalar* q, const int* index, int n, PyScalar* s, PyScalar* c)


cdef extern from "scalars/rows.hpp" namespace "MBT_NS" nogil:
    void multiply_pose_rows(const double* X_AB, const double* X_BC, double* X_AC)  # (4, 4) each
    void set_pose_rows(const double* R, const double* p, double* X)  # (3, 3), (3,), (4, 4)
    void compose_pose_rows(const double* X_AB, const double* R, const double* p, double* X_AC)
    void compose_turned_rows(const double* X_AB, const double* R, const double* p, double s, double c, double* X_AC)
    void shift_axes_rows(const double* X, int shift, double* Y)


cdef extern from "scalars/pose_rows.hpp" namespace "MBT_NS" nogil:
    # A pose in registers; X, Y (4, 4)
    cdef cppclass PoseRows:
        PoseRows()
    PoseRows make_pose_rows(const double* R, const double* p)
    PoseRows load_constant_pose(const double* X)  # R (3, 3), p (3,)
    PoseRows load_pose_rows(const double* X)
    void store_pose_rows(const PoseRows& X, double* Y)
    void store_shifted_rows(const PoseRows& X, int shift, double* Y)
    PoseRows turn_rows(const PoseRows& X, double s, double c)
    PoseRows rotation_rows(const PoseRows& X)
    PoseRows multiply_rows(const PoseRows& X_AB, const PoseRows& X_BC)


cdef extern from "algebra/symmetric_rows.hpp" namespace "MBT_NS" nogil:
    void project_row(const double* F, int start, int end, Py_ssize_t stride, const double* H, double* row)
    void mirror_lower(int n, double* M)
    void mirror_upper(int n, double* M)


# `T`: the fused type over those of the four with which a module computes; see tools/transpile.py.
from fused_scalar cimport T
