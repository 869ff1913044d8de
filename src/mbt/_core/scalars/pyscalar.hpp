// The scalar `PyScalar`: any Python object with arithmetic (SymPy, CasADi, mpmath, Fraction, ...).
//
// Layout-equal to PyObject*, so the storage of a NumPy object array is an array of PyScalar.
// Kernels are declared nogil but must hold the GIL when they run with PyScalar; without it, only null
// may be made, copied and destroyed.
//
// Errors: a failing operation leaves its exception set and yields null; every later operation
// sees the exception, makes no Python call and yields null too. The caller of a kernel checks
// PyErr_Occurred() once, at the end.
//
// Folding keeps expressions small: a Python float that is exactly 0 or 1 (by type and value, never
// by truth value) acts as neutral element, and 0 times anything is 0, even times inf or NaN.
#pragma once

#include <Python.h>

#include <initializer_list>
#include <utility>

#include "config.hpp"

namespace MBT_NS {

// One owned reference, or null.
struct PyScalar {
  PyObject* p;

  PyScalar() noexcept : p(nullptr) {}
  PyScalar(double a) : p(PyFloat_FromDouble(a)) {}
  PyScalar(const PyScalar& other) noexcept : p(other.p) { Py_XINCREF(p); }
  PyScalar(PyScalar&& other) noexcept : p(other.p) { other.p = nullptr; }
  ~PyScalar() { Py_XDECREF(p); }

  // The old object is released last: its finalizer may run Python code that looks at this slot.
  PyScalar& operator=(PyScalar other) noexcept {
    std::swap(p, other.p);
    return *this;
  }
};

static_assert(sizeof(PyScalar) == sizeof(PyObject*), "PyScalar must be layout-equal to PyObject*");

static inline PyScalar pyscalar_steal(PyObject* new_reference) noexcept {
  PyScalar a;
  a.p = new_reference;
  return a;
}

static inline PyScalar pyscalar_borrow(PyObject* object) noexcept {
  Py_XINCREF(object);
  return pyscalar_steal(object);
}

// The functions that numbers do not bring along: called as sin(x), cos(x), sqrt(x),
// select_lt(a, b, x, y), tanh(x), atan2(y, x) and floor(x). Borrowed references.
struct PyFunctions {
  PyObject* sin;
  PyObject* cos;
  PyObject* sqrt;
  PyObject* select_lt;
  PyObject* tanh;
  PyObject* atan2;
  PyObject* floor;
};

static thread_local PyFunctions current_py_functions = {};

// A local variable of the function that calls kernels: install() sets the functions for this
// thread and module, the destructor puts the previous ones back (operators may re-enter).
class PyFunctionsScope {
 public:
  PyFunctionsScope() noexcept : outer_(current_py_functions), mine_{} {}
  PyFunctionsScope(const PyFunctionsScope&) = delete;
  PyFunctionsScope& operator=(const PyFunctionsScope&) = delete;
  ~PyFunctionsScope() {
    current_py_functions = outer_;
    release();
  }

  void install(
      PyObject* sin, PyObject* cos, PyObject* sqrt, PyObject* select_lt, PyObject* tanh, PyObject* atan2,
      PyObject* floor) noexcept {
    const PyFunctions functions = {sin, cos, sqrt, select_lt, tanh, atan2, floor};
    for (PyObject* function : {sin, cos, sqrt, select_lt, tanh, atan2, floor}) Py_XINCREF(function);
    release();
    mine_ = functions;
    current_py_functions = mine_;
  }

 private:
  void release() noexcept {
    const PyFunctions old = mine_;
    mine_ = {};
    for (PyObject* function : {old.sin, old.cos, old.sqrt, old.select_lt, old.tanh, old.atan2, old.floor})
      Py_XDECREF(function);
  }

  PyFunctions outer_;
  PyFunctions mine_;
};

// May an operation on these operands call Python? Null operands without an exception are a
// mistake of the kernel or of the caller (an unset slot): raised, never passed over in silence.
static inline bool usable(const PyScalar& a) {
  if (PyErr_Occurred()) return false;
  if (a.p) return true;
  PyErr_SetString(PyExc_SystemError, "arithmetic on an unset Python scalar");
  return false;
}
static inline bool usable(const PyScalar& a, const PyScalar& b) { return usable(a) && usable(b); }

static inline bool is_float(const PyScalar& a, double value) {
  return PyFloat_CheckExact(a.p) && PyFloat_AS_DOUBLE(a.p) == value;
}

// Operands are held during the call: they may be slots of an array that the called code changes.
static inline PyScalar operate(PyObject* (*function)(PyObject*, PyObject*), PyScalar a, PyScalar b) {
  return pyscalar_steal(function(a.p, b.p));
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator-(const PyScalar& a) {
  if (!usable(a)) return PyScalar();
  const PyScalar held = a;
  return pyscalar_steal(PyNumber_Negative(held.p));
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator+(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(a, 0.0)) return b;
  if (is_float(b, 0.0)) return a;
  return operate(PyNumber_Add, a, b);
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator-(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(b, 0.0)) return a;
  if (is_float(a, 0.0)) return -b;
  return operate(PyNumber_Subtract, a, b);
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator*(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(a, 0.0) || is_float(b, 1.0)) return a;
  if (is_float(b, 0.0) || is_float(a, 1.0)) return b;
  return operate(PyNumber_Multiply, a, b);
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator/(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(b, 1.0)) return a;
  return operate(PyNumber_TrueDivide, a, b);
}

static inline PyScalar operator*(const PyScalar& a, double b) { return a * PyScalar(b); }
static inline PyScalar operator*(double a, const PyScalar& b) { return PyScalar(a) * b; }

static inline PyScalar& operator+=(PyScalar& a, const PyScalar& b) { return a = a + b; }
static inline PyScalar& operator-=(PyScalar& a, const PyScalar& b) { return a = a - b; }
static inline PyScalar& operator*=(PyScalar& a, const PyScalar& b) { return a = a * b; }
static inline PyScalar& operator/=(PyScalar& a, const PyScalar& b) { return a = a / b; }

// function(arguments[0], ..., arguments[count - 1]); the arguments are usable and held by the caller.
[[maybe_unused]] MBT_NOINLINE static PyScalar call(
    PyObject* function, PyObject* const* arguments, size_t count) {
  if (function) return pyscalar_steal(PyObject_Vectorcall(function, arguments, count, nullptr));
  PyErr_SetString(PyExc_SystemError, "no functions are installed for Python scalars");
  return PyScalar();
}

static inline PyScalar sqrt_(PyScalar a) {
  return usable(a) ? call(current_py_functions.sqrt, &a.p, 1) : PyScalar();
}

static inline void sincos_(PyScalar a, PyScalar* s, PyScalar* c) {
  *s = usable(a) ? call(current_py_functions.sin, &a.p, 1) : PyScalar();
  *c = usable(a) ? call(current_py_functions.cos, &a.p, 1) : PyScalar();
}

static inline PyScalar tanh_(PyScalar a) {
  return usable(a) ? call(current_py_functions.tanh, &a.p, 1) : PyScalar();
}

static inline PyScalar floor_(PyScalar a) {
  return usable(a) ? call(current_py_functions.floor, &a.p, 1) : PyScalar();
}

static inline PyScalar atan2_(PyScalar y, PyScalar x) {
  if (!usable(y, x)) return PyScalar();
  PyObject* arguments[] = {y.p, x.p};
  return call(current_py_functions.atan2, arguments, 2);
}

// The function decides; it may also build a conditional expression.
static inline PyScalar select_lt(PyScalar a, PyScalar b, PyScalar x, PyScalar y) {
  if (!usable(a, b) || !usable(x, y)) return PyScalar();
  PyObject* arguments[] = {a.p, b.p, x.p, y.p};
  return call(current_py_functions.select_lt, arguments, 4);
}

}  // namespace MBT_NS
