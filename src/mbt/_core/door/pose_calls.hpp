// Functions of poses and rotations on arrays of doubles with any leading axes.
//
// Each checks its argument like `mbt.math.poses`, and gives up if a state is invalid: the Python code then raises the
// error.
#pragma once
#include <Python.h>
#include <numpy/arrayobject.h>

#include <cstring>

#include "algebra/lie_groups.hpp"
#include "exact_arrays.hpp"

namespace MBT_NS {

// Arguments of one state ------------------------------------------------------------------------------------------

// The tolerances of `mbt.math.poses`: a pose typed by hand or computed in single precision is orthonormal to 1e-7.
static constexpr double ORTHONORMALITY_TOLERANCE = 1e-6;
static constexpr double BOTTOM_ROW_TOLERANCE = 1e-9;
// The square of a larger angle overflows.
static constexpr double LARGEST_ANGLE = 1e150;

static MBT_INLINE bool is_below(double a, double bound) { return std::fabs(a) <= bound; }  // false for NaN

static MBT_INLINE bool is_finite(const Vec3<double>& a) { return std::isfinite(a.x + a.y + a.z); }

static MBT_INLINE bool is_rotation(const Mat3<double>& R) {
  const double tol = ORTHONORMALITY_TOLERANCE;
  return is_below(dot(R.x, R.x) - 1.0, tol) && is_below(dot(R.y, R.y) - 1.0, tol) &&
         is_below(dot(R.z, R.z) - 1.0, tol) && is_below(dot(R.x, R.y), tol) && is_below(dot(R.x, R.z), tol) &&
         is_below(dot(R.y, R.z), tol) && determinant(R) >= 0.0;
}

static MBT_INLINE bool is_pose(const double* X) {
  const double tol = BOTTOM_ROW_TOLERANCE;
  return is_rotation(matrix_at(X, 4)) && is_finite({X[3], X[7], X[11]}) && is_below(X[12], tol) &&
         is_below(X[13], tol) && is_below(X[14], tol) && is_below(X[15] - 1.0, tol);
}

static MBT_INLINE bool is_angle(const Vec3<double>& phi) {
  return is_below(phi.x, LARGEST_ANGLE) && is_below(phi.y, LARGEST_ANGLE) && is_below(phi.z, LARGEST_ANGLE);
}

// A factor that scales entries with this squared length so that it neither over- nor underflows; zero for zero.
static MBT_INLINE double factor_of(double square, const double* a, int n) {
  if (square > 1e-200 && square < 1e200) return 1.0;
  double largest = 0.0;
  for (int i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(a[i]));
  int exponent;
  std::frexp(largest, &exponent);
  return largest == 0.0 ? 0.0 : std::ldexp(1.0, exponent > -1000 ? -exponent : 1000);
}

// One state: whether the argument is valid, or known to be, and if so the result -----------------------------------

// Left and right Jacobians share the code of a formula. (Passing a vector in memory takes 20 ns.)
template <Mat3<double> (*function)(const Vec3<double>&)>
static MBT_NOINLINE void put_of_vector(const double* x, double sign, double* y) {
  put(function(vector_at(x) * sign), y);
}

template <Mat3<double> (*function)(const Vec3<double>&), int SIGN>
static inline bool of_rotation_vector(const double* x, double* y, bool is_good) {
  if (!is_good && !is_angle(vector_at(x))) return false;
  put_of_vector<function>(x, SIGN, y);
  return true;
}

static inline bool exp_se3(const double* x, double* y, bool is_good) {
  const Vec3<double> phi = vector_at(x), rho = vector_at(x + 3);
  if (!is_good && !(is_angle(phi) && is_finite(rho))) return false;
  put(exp_se3(phi, rho), y);
  return true;
}

template <Jacobian<double> (*function)(const Vec3<double>&, const Vec3<double>&)>
static MBT_NOINLINE void put_jacobian(const double* x, double sign, double* y) {
  const Jacobian<double> J = function(vector_at(x) * sign, vector_at(x + 3) * sign);
  put(J.J, y, 6);
  put(Mat3<double>{}, y + 3, 6);
  put(J.Q, y + 18, 6);
  put(J.J, y + 21, 6);
}

template <Jacobian<double> (*function)(const Vec3<double>&, const Vec3<double>&), int SIGN>
static inline bool jacobian_se3(const double* x, double* y, bool is_good) {
  if (!is_good && !(is_angle(vector_at(x)) && is_finite(vector_at(x + 3)))) return false;
  put_jacobian<function>(x, SIGN, y);
  return true;
}

template <Vec3<double> (*function)(const Mat3<double>&)>
static inline bool of_rotation(const double* x, double* y, bool is_good) {
  const Mat3<double> R = matrix_at(x);
  if (!is_good && !is_rotation(R)) return false;
  put(function(R), y);
  return true;
}

static inline bool matrix_to_quaternion(const double* x, double* y, bool is_good) {
  const Mat3<double> R = matrix_at(x);
  if (!is_good && !is_rotation(R)) return false;
  const Quaternion<double> q = quaternion_of(R);
  y[0] = q.w;
  put(q.v, y + 1);
  return true;
}

static inline bool log_se3(const double* x, double* y, bool is_good) {
  if (!is_good && !is_pose(x)) return false;
  const Twist<double> xi = log_se3(pose_at(x));
  put(xi.phi, y);
  put(xi.rho, y + 3);
  return true;
}

static inline bool inverse_pose(const double* x, double* y, bool is_good) {
  if (!is_good && !is_pose(x)) return false;
  put(inverse(pose_at(x)), y);
  return true;
}

static inline bool copy_pose(const double* x, double* y, bool is_good) {
  if (!is_good && !is_pose(x)) return false;
  std::memcpy(y, x, 16 * sizeof *x);
  return true;
}

static inline bool copy_rotation(const double* x, double* y, bool is_good) {
  const Mat3<double> R = matrix_at(x);
  if (!is_good && !is_rotation(R)) return false;
  put(R, y);
  return true;
}

static inline bool rpy_to_matrix(const double* x, double* y, bool is_good) {
  const Vec3<double> rpy = vector_at(x);
  if (!is_good && !is_finite(rpy)) return false;
  put(rotation_of_rpy(rpy), y);
  return true;
}

// Zero is never valid.
static inline bool quaternion_to_matrix(const double* x, double* y, bool is_good) {
  Quaternion<double> q = {x[0], vector_at(x + 1)};
  if (!is_good && !std::isfinite(q.w + q.v.x + q.v.y + q.v.z)) return false;
  const double f = factor_of(q.w * q.w + dot(q.v, q.v), x, 4);
  if (f == 0.0) return false;
  if (f != 1.0) q = {q.w * f, q.v * f};
  put(rotation_of(q), y);
  return true;
}

static inline bool skew(const double* x, double* y, bool is_good) {
  const Vec3<double> a = vector_at(x);
  if (!is_good && !is_finite(a)) return false;
  put(skew(a) + Mat3<double>{}, y);
  return true;
}

// Many states -----------------------------------------------------------------------------------------------------

// A function of one array: the shapes of its argument and result for one state. `all` computes states up to the first
// invalid one, and returns whether all are valid.
struct PoseFunction {
  bool (*all)(const double* x, npy_intp nx, double* y, npy_intp ny, npy_intp count, bool are_good);
  int axes, shape[2], result_axes, result_shape[2];
  const char* name;
};

template <bool (*one)(const double*, double*, bool)>
static bool all(const double* x, npy_intp nx, double* y, npy_intp ny, npy_intp count, bool are_good) {
  for (npy_intp i = 0; i < count; ++i) {
    if (!one(x + nx * i, y + ny * i, are_good)) return false;
  }
  return true;
}

enum {
  AS_POSE, AS_ROTATION, INVERSE_POSE, MATRIX_TO_QUATERNION, MATRIX_TO_RPY, QUATERNION_TO_MATRIX, RPY_TO_MATRIX, SKEW,
  EXP_SO3, LOG_SO3, LEFT_SO3, LEFT_INVERSE_SO3, RIGHT_SO3, RIGHT_INVERSE_SO3,
  EXP_SE3, LOG_SE3, LEFT_SE3, LEFT_INVERSE_SE3, RIGHT_SE3, RIGHT_INVERSE_SE3, NUM_POSE_FUNCTIONS
};

#define MBT_SO3(function, sign) all<of_rotation_vector<function<double>, sign>>, 1, {3, 0}, 2, {3, 3}
#define MBT_SE3(function, sign) all<jacobian_se3<function<double>, sign>>, 1, {6, 0}, 2, {6, 6}
static const PoseFunction POSE_FUNCTIONS[NUM_POSE_FUNCTIONS] = {
    {all<copy_pose>, 2, {4, 4}, 2, {4, 4}, "as_pose"},
    {all<copy_rotation>, 2, {3, 3}, 2, {3, 3}, "as_rotation"},
    {all<inverse_pose>, 2, {4, 4}, 2, {4, 4}, "inverse_pose"},
    {all<matrix_to_quaternion>, 2, {3, 3}, 1, {4, 0}, "matrix_to_quaternion"},
    {all<of_rotation<rpy_of<double>>>, 2, {3, 3}, 1, {3, 0}, "matrix_to_rpy"},
    {all<quaternion_to_matrix>, 1, {4, 0}, 2, {3, 3}, "quaternion_to_matrix"},
    {all<rpy_to_matrix>, 1, {3, 0}, 2, {3, 3}, "rpy_to_matrix"},
    {all<skew>, 1, {3, 0}, 2, {3, 3}, "skew"},
    {MBT_SO3(exp_so3, 1), "exp_so3"},
    {all<of_rotation<log_so3<double>>>, 2, {3, 3}, 1, {3, 0}, "log_so3"},
    {MBT_SO3(left_jacobian_so3, 1), "left_jacobian_so3"},
    {MBT_SO3(left_jacobian_inverse_so3, 1), "left_jacobian_inverse_so3"},
    {MBT_SO3(left_jacobian_so3, -1), "right_jacobian_so3"},
    {MBT_SO3(left_jacobian_inverse_so3, -1), "right_jacobian_inverse_so3"},
    {all<exp_se3>, 1, {6, 0}, 2, {4, 4}, "exp_se3"},
    {all<log_se3>, 2, {4, 4}, 1, {6, 0}, "log_se3"},
    {MBT_SE3(left_jacobian_se3, 1), "left_jacobian_se3"},
    {MBT_SE3(left_jacobian_inverse_se3, 1), "left_jacobian_inverse_se3"},
    {MBT_SE3(left_jacobian_se3, -1), "right_jacobian_se3"},
    {MBT_SE3(left_jacobian_inverse_se3, -1), "right_jacobian_inverse_se3"},
};
#undef MBT_SO3
#undef MBT_SE3

// Arguments -------------------------------------------------------------------------------------------------------

// NumPy broadcasts this many axes; results have up to four more after the leading ones.
static constexpr int MOST_LEADING_AXES = 28;

// The leading axes of one argument, or those shared by several.
struct LeadingAxes {
  int count = 0;
  npy_intp dims[MOST_LEADING_AXES + 2];  // with space for those of a result

  npy_intp size() const {
    npy_intp product = 1;
    for (int i = 0; i < count; ++i) product *= dims[i];
    return product;
  }
};

// Doubles of one state, or of several in sequence. A stride of zero repeats one state.
struct Argument {
  const double* data = nullptr;
  npy_intp stride = 0;
  double copy[16];            // of one state that is not contiguous
  PyObject* owner = nullptr;  // of a larger copy, or of an array made from a list

  Argument() = default;
  Argument(const Argument&) = delete;
  ~Argument() { Py_XDECREF(owner); }
};

static inline bool own(PyObject* array, Argument& argument) {
  argument.owner = array;
  if (!array || array == Py_None) return false;
  argument.data = mbt_data(array);
  return true;
}

static inline void copy_one(PyArrayObject* array, int axes, double* to) {
  const char* from = PyArray_BYTES(array);
  const npy_intp* strides = PyArray_STRIDES(array);
  const int rows = axes == 2 ? (int)PyArray_DIM(array, 0) : 1, columns = axes ? (int)PyArray_DIM(array, axes - 1) : 1;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      const npy_intp at = (axes == 2 ? i * strides[0] : 0) + (axes ? j * strides[axes - 1] : 0);
      *to++ = *(const double*)(from + at);
    }
  }
}

// Whether an argument, (..., *shape), is read here: an array of doubles, a float, or a list of numbers, with the
// leading axes of the arguments before it, or none. Also false if out of memory.
static MBT_INLINE bool read(PyObject* value, int axes, const int* shape, LeadingAxes& lead, Argument& argument) {
  if (!mbt_is_plain(value)) {
    if (axes == 1 && !PyArray_Check(value)) return own(mbt_of_numbers(value, shape[0]), argument);
    if (axes != 0 || !PyFloat_Check(value)) return false;
    argument.copy[0] = PyFloat_AS_DOUBLE(value);
    argument.data = argument.copy;
    return true;
  }
  PyArrayObject* array = (PyArrayObject*)value;
  const npy_intp* dims = PyArray_DIMS(array);
  const int count = PyArray_NDIM(array) - axes;
  if (count < 0 || count > MOST_LEADING_AXES || PyArray_TYPE(array) != NPY_DOUBLE || !PyArray_ISBEHAVED_RO(array)) {
    return false;
  }
  npy_intp size = 1;
  for (int i = 0; i < axes; ++i) {
    if (dims[count + i] != shape[i]) return false;
    size *= shape[i];
  }
  if (count) {
    argument.stride = size;
    if (lead.count == 0) {
      lead.count = count;
      std::memcpy(lead.dims, dims, count * sizeof *dims);
    } else if (lead.count != count || std::memcmp(lead.dims, dims, count * sizeof *dims)) {
      return false;
    }
  }
  if (PyArray_IS_C_CONTIGUOUS(array)) {
    argument.data = mbt_data(value);
    return true;
  }
  if (count) return own(PyArray_NewCopy(array, NPY_CORDER), argument);
  copy_one(array, axes, argument.copy);
  argument.data = argument.copy;
  return true;
}

// Calls: a new array; None if an argument is not read here, or a state is invalid ---------------------------------

static inline PyObject* not_here() {
  if (PyErr_Occurred()) return NULL;
  Py_RETURN_NONE;
}

// `all(count, to)` computes all states, and returns whether they are valid.
template <class All>
static inline PyObject* new_result(LeadingAxes& lead, int axes, const int* shape, const All& all) {
  const npy_intp count = lead.size();
  for (int i = 0; i < axes; ++i) lead.dims[lead.count + i] = shape[i];
  PyObject* result = PyArray_EMPTY(lead.count + axes, lead.dims, NPY_DOUBLE, 0);
  if (!result) return NULL;
  // With this many states it is worth releasing the GIL.
  PyThreadState* thread = count < 1000 ? NULL : PyEval_SaveThread();
  const bool are_good = all(count, mbt_data(result));
  if (thread) PyEval_RestoreThread(thread);
  if (are_good) return result;
  Py_DECREF(result);
  Py_RETURN_NONE;
}

static PyObject* call(const PoseFunction& f, PyObject* value, bool are_good, bool has_leading_axes = true) {
  LeadingAxes lead;
  Argument x;
  if (!read(value, f.axes, f.shape, lead, x) || (lead.count && !has_leading_axes)) return not_here();
  const npy_intp ny = f.result_axes == 1 ? f.result_shape[0] : f.result_shape[0] * f.result_shape[1];
  return new_result(lead, f.result_axes, f.result_shape, [&](npy_intp count, double* to) {
    return f.all(x.data, x.stride, to, ny, count, are_good);
  });
}

static inline PyObject* call_pose_function(int function, PyObject* value) {
  return call(POSE_FUNCTIONS[function], value, false);
}

// For one state.
static inline PyObject* call_on_one_state(int function, PyObject* value) {
  return call(POSE_FUNCTIONS[function], value, false, false);
}

// For states known to be valid, by the name of the function.
static inline PyObject* call_on_good_states(const char* name, PyObject* value) {
  for (const PoseFunction& f : POSE_FUNCTIONS) {
    if (!std::strcmp(f.name, name)) return call(f, value, true);
  }
  Py_RETURN_NONE;
}

// A pose from `p` and `rotation`, either of which may be None; `kind` is QUATERNION_TO_MATRIX, RPY_TO_MATRIX, or
// AS_ROTATION.
static inline PyObject* call_make_pose(PyObject* p, PyObject* rotation, int kind) {
  const int shape_p[] = {3}, shape[] = {4, 4};
  const PoseFunction& f = POSE_FUNCTIONS[kind];
  LeadingAxes lead;
  Argument position, turn;
  if (p != Py_None && !read(p, 1, shape_p, lead, position)) return not_here();
  if (rotation != Py_None && !read(rotation, f.axes, f.shape, lead, turn)) return not_here();
  return new_result(lead, 2, shape, [&](npy_intp count, double* to) {
    for (npy_intp i = 0; i < count; ++i) {
      double R[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
      Vec3<double> at = {0.0, 0.0, 0.0};
      if (turn.data && !f.all(turn.data + turn.stride * i, 0, R, 0, 1, false)) return false;
      if (position.data) at = vector_at(position.data + position.stride * i);
      if (!is_finite(at)) return false;
      put(Pose<double>{matrix_at(R), at}, to + 16 * i);
    }
    return true;
  });
}

static inline PyObject* call_rotation_about_axis(PyObject* axis, PyObject* angle) {
  const int shape_axis[] = {3}, shape[] = {3, 3};
  LeadingAxes lead;
  Argument n, theta;
  if (!read(axis, 1, shape_axis, lead, n) || !read(angle, 0, shape, lead, theta)) return not_here();
  return new_result(lead, 2, shape, [&](npy_intp count, double* to) {
    for (npy_intp i = 0; i < count; ++i) {
      const double *a = n.data + n.stride * i, turn = theta.data[theta.stride * i];
      Vec3<double> v = vector_at(a);
      if (!is_finite(v) || !std::isfinite(turn)) return false;
      const double f = factor_of(dot(v, v), a, 3);
      if (f == 0.0) return false;
      if (f != 1.0) v = v * f;
      put(rotation_about(v / std::sqrt(dot(v, v)), turn), to + 9 * i);
    }
    return true;
  });
}

// Forces and motions of one state -----------------------------------------------------------------------------------

// Shapes of arguments.
static constexpr int SHAPE_P[] = {3}, SHAPE_V[] = {6}, SHAPE_R[] = {3, 3}, SHAPE_X[] = {4, 4};

static MBT_NOINLINE bool read_one(PyObject* value, int axes, const int* shape, Argument& argument) {
  LeadingAxes lead;
  return read(value, axes, shape, lead, argument) && !lead.count;
}

// [R' (torque + p x force); R' force], where R is that of X_WF, and p from Fo to Bo.
static inline PyObject* call_force_on_frame(PyObject* F_Bo_W, PyObject* X_WB, PyObject* X_WF) {
  Argument F, body, frame;
  if (!read_one(F_Bo_W, 1, SHAPE_V, F) || !read_one(X_WB, 2, SHAPE_X, body) || !read_one(X_WF, 2, SHAPE_X, frame)) {
    return not_here();
  }
  PyObject* result = mbt_new1(6);
  if (!result) return NULL;
  const Pose<double> X = pose_at(frame.data);
  const Vec3<double> f = vector_at(F.data + 3), p = pose_at(body.data).p - X.p;
  put(times_transposed(X.R, vector_at(F.data) + cross(p, f)), mbt_data(result));
  put(times_transposed(X.R, f), mbt_data(result) + 3);
  return result;
}

// The next two match NumPy to the last bit: BLAS has its own order of summation, and nothing is fused.

static MBT_INLINE double rounded_product(double a, double b) {
  volatile double ab = a * b;
  return ab;
}

static inline Vec3<double> rounded_cross(const Vec3<double>& a, const Vec3<double>& b) {
  return {
      rounded_product(a.y, b.z) - rounded_product(a.z, b.y), rounded_product(a.z, b.x) - rounded_product(a.x, b.z),
      rounded_product(a.x, b.y) - rounded_product(a.y, b.x)};
}

// y = R x; false if out of memory.
static MBT_NOINLINE bool rotate(PyObject* R, const Vec3<double>& x, double* y) {
  PyObject* vector = mbt_new1(3);
  if (!vector) return false;
  put(x, mbt_data(vector));
  PyObject* product = PyArray_MatrixProduct(R, vector);
  Py_DECREF(vector);
  if (!product) return false;
  std::memcpy(y, mbt_data(product), 3 * sizeof *y);
  Py_DECREF(product);
  return true;
}

static inline PyObject* new_rotation(const Mat3<double>& R) {
  PyObject* array = mbt_new2(3, 3);
  if (array) put(R, mbt_data(array));
  return array;
}

// R [torque + p x force; force].
static inline PyObject* call_shift_and_turn(PyObject* force, PyObject* p, PyObject* rotation) {
  Argument F, arm, R;
  if (!read_one(force, 1, SHAPE_V, F) || !read_one(p, 1, SHAPE_P, arm) || !read_one(rotation, 2, SHAPE_R, R)) {
    return not_here();
  }
  PyObject *result = mbt_new1(6), *turn = new_rotation(matrix_at(R.data));
  const Vec3<double> f = vector_at(F.data + 3), t = vector_at(F.data) + rounded_cross(vector_at(arm.data), f);
  if (!result || !turn || !rotate(turn, t, mbt_data(result)) || !rotate(turn, f, mbt_data(result) + 3)) {
    Py_CLEAR(result);
  }
  Py_XDECREF(turn);
  return result;
}

// v + w x p, where p is the rotation of X_WB times p_BoBp_B, and V_WB = [w; v]; or, with A_WB = [alpha; a], a + (alpha
// x p + w x (w x p)).
static inline PyObject* call_motion_of_point(PyObject* X_WB, PyObject* p_BoBp_B, PyObject* V_WB, PyObject* A_WB) {
  const bool is_acceleration = A_WB != Py_None;
  Argument X, p_B, V, A;
  if (!read_one(X_WB, 2, SHAPE_X, X) || !read_one(p_BoBp_B, 1, SHAPE_P, p_B) || !read_one(V_WB, 1, SHAPE_V, V) ||
      (is_acceleration && !read_one(A_WB, 1, SHAPE_V, A))) {
    return not_here();
  }
  PyObject *result = mbt_new1(3), *turn = new_rotation(matrix_at(X.data, 4));
  if (!result || !turn || !rotate(turn, vector_at(p_B.data), mbt_data(result))) {
    Py_CLEAR(result);
  } else {
    const Vec3<double> p = vector_at(mbt_data(result)), w = vector_at(V.data), wp = rounded_cross(w, p);
    put(is_acceleration
            ? vector_at(A.data + 3) + (rounded_cross(vector_at(A.data), p) + rounded_cross(w, wp))
            : vector_at(V.data + 3) + wp,
        mbt_data(result));
  }
  Py_XDECREF(turn);
  return result;
}

}  // namespace MBT_NS
