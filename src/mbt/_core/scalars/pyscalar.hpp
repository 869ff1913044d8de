// The scalar `PyScalar`: any Python object with arithmetic (SymPy, CasADi, mpmath, Fraction, ...).
//
// It has the layout of PyObject*, so the storage of a NumPy object array is an array of PyScalar.
// Kernels are declared nogil but must hold the GIL when they run with PyScalar; without it, only null
// scalars may be made, copied and destroyed.
//
// Errors: a failing operation leaves its exception set and yields null; every later operation
// sees the exception, makes no Python call and yields null too. The caller of a kernel checks
// PyErr_Occurred() once, at the end.
//
// Python floats are the constants of kernels. Folding keeps expressions small: a float that is exactly 0 or 1
// (by type and value, never by truth value) acts as neutral element, 0 times anything is 0, even times inf or
// NaN, and operations on two floats compute in doubles where that is exact. All other floats pass through from_float,
// where there is one: 0.5 times a Fraction must not be a float, nor 0.1 times 0.3 a double where scalars have fifty
// digits.
#pragma once

#include <Python.h>

#include <cmath>
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

  // The old object is released last: its finalizer may run Python code that reads this slot.
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

// The functions that are not operators of the objects: called as sin(x), cos(x), sqrt(x), select_lt(a, b, x, y),
// tanh(x), atan2(y, x), floor(x) and from_float(x), which may be null if the scalar accepts floats as they are.
// Borrowed references.
struct PyFunctions {
  PyObject* sin;
  PyObject* cos;
  PyObject* sqrt;
  PyObject* select_lt;
  PyObject* tanh;
  PyObject* atan2;
  PyObject* floor;
  PyObject* from_float;
};

static thread_local PyFunctions current_py_functions = {};

// A local variable of the function that calls kernels: install() sets the functions for this
// thread and module, the destructor restores the previous ones (operators may re-enter).
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
      PyObject* floor, PyObject* from_float) noexcept {
    const PyFunctions functions = {sin, cos, sqrt, select_lt, tanh, atan2, floor, from_float};
    for (PyObject* function : {sin, cos, sqrt, select_lt, tanh, atan2, floor, from_float}) Py_XINCREF(function);
    release();
    mine_ = functions;
    current_py_functions = mine_;
  }

 private:
  void release() noexcept {
    const PyFunctions old = mine_;
    mine_ = {};
    for (PyObject* function :
         {old.sin, old.cos, old.sqrt, old.select_lt, old.tanh, old.atan2, old.floor, old.from_float})
      Py_XDECREF(function);
  }

  PyFunctions outer_;
  PyFunctions mine_;
};

// Whether an operation on these operands may call Python. Null operands without an exception are a
// mistake of the kernel or of the caller (an unset slot), and always raise an error.
static inline bool usable(const PyScalar& a) {
  if (PyErr_Occurred()) return false;
  if (a.p) return true;
  PyErr_SetString(PyExc_SystemError, "arithmetic on an unset Python scalar");
  return false;
}
static inline bool usable(const PyScalar& a, const PyScalar& b) { return usable(a) && usable(b); }

static inline bool is_float(const PyScalar& a) { return PyFloat_CheckExact(a.p); }
static inline bool is_float(const PyScalar& a, double value) {
  return is_float(a) && PyFloat_AS_DOUBLE(a.p) == value;
}
static inline bool are_floats(const PyScalar& a, const PyScalar& b) { return is_float(a) && is_float(b); }
static inline double value_of(const PyScalar& a) { return PyFloat_AS_DOUBLE(a.p); }

// Whether the sum, or the product, of two floats is exact.
static inline bool add_exactly(const PyScalar& a, const PyScalar& b) {
  const double x = value_of(a), y = value_of(b), sum = x + y, part = sum - x;
  return (x - (sum - part)) + (y - part) == 0.0;
}
static inline bool multiply_exactly(const PyScalar& a, const PyScalar& b) {
  const double x = value_of(a), y = value_of(b);
  return std::fma(x, y, -(x * y)) == 0.0;
}

// A float as an object of the scalar; everything else as it is. Null where from_float fails.
static inline PyScalar lifted(PyScalar a) {
  PyObject* const from_float = current_py_functions.from_float;
  if (!from_float || !is_float(a)) return a;
  return pyscalar_steal(PyObject_Vectorcall(from_float, &a.p, 1, nullptr));
}

// Operands are held during the call: they may be slots of an array that the called code changes.
[[maybe_unused]] MBT_NOINLINE static PyScalar operate(
    PyObject* (*function)(PyObject*, PyObject*), PyScalar a, PyScalar b) {
  a = lifted(a);
  if (!a.p) return a;
  b = lifted(b);
  if (!b.p) return b;
  return pyscalar_steal(function(a.p, b.p));
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator-(const PyScalar& a) {
  if (!usable(a)) return PyScalar();
  if (is_float(a)) return PyScalar(-value_of(a));
  const PyScalar held = a;
  return pyscalar_steal(PyNumber_Negative(held.p));
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator+(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(a, 0.0)) return b;
  if (is_float(b, 0.0)) return a;
  if (are_floats(a, b) && add_exactly(a, b)) return PyScalar(value_of(a) + value_of(b));
  return operate(PyNumber_Add, a, b);
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator-(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(b, 0.0)) return a;
  if (is_float(a, 0.0)) return -b;
  if (are_floats(a, b) && add_exactly(a, -b)) return PyScalar(value_of(a) - value_of(b));
  return operate(PyNumber_Subtract, a, b);
}

[[maybe_unused]] MBT_NOINLINE static PyScalar operator*(const PyScalar& a, const PyScalar& b) {
  if (!usable(a, b)) return PyScalar();
  if (is_float(a, 0.0) || is_float(b, 1.0)) return a;
  if (is_float(b, 0.0) || is_float(a, 1.0)) return b;
  if (are_floats(a, b) && multiply_exactly(a, b)) return PyScalar(value_of(a) * value_of(b));
  return operate(PyNumber_Multiply, a, b);
}

// The scalar type divides floats too: a third has no exact double, and the type decides what 1/0 is.
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
[[maybe_unused]] MBT_NOINLINE static PyScalar call(PyObject* function, PyScalar* arguments, size_t count) {
  if (!function) {
    PyErr_SetString(PyExc_SystemError, "no functions are installed for Python scalars");
    return PyScalar();
  }
  for (size_t i = 0; i < count; ++i) {
    arguments[i] = lifted(arguments[i]);
    if (!arguments[i].p) return PyScalar();
  }
  return pyscalar_steal(PyObject_Vectorcall(function, &arguments->p, count, nullptr));
}

// Where a float gives exactly 0 or 1, the function is not called: not every scalar has it.

static inline PyScalar sqrt_(PyScalar a) {
  if (!usable(a)) return PyScalar();
  if (is_float(a, 0.0) || is_float(a, 1.0)) return a;
  return call(current_py_functions.sqrt, &a, 1);
}

static inline void sincos_(PyScalar a, PyScalar* s, PyScalar* c) {
  if (usable(a) && is_float(a, 0.0)) {
    *s = PyScalar(0.0);
    *c = PyScalar(1.0);
    return;
  }
  PyScalar again = a;
  *s = usable(a) ? call(current_py_functions.sin, &a, 1) : PyScalar();
  *c = usable(again) ? call(current_py_functions.cos, &again, 1) : PyScalar();
}

static inline PyScalar tanh_(PyScalar a) {
  if (!usable(a)) return PyScalar();
  return is_float(a, 0.0) ? a : call(current_py_functions.tanh, &a, 1);
}

static inline PyScalar floor_(PyScalar a) {
  if (!usable(a)) return PyScalar();
  return is_float(a, 0.0) || is_float(a, 1.0) ? a : call(current_py_functions.floor, &a, 1);
}

static inline PyScalar atan2_(PyScalar y, PyScalar x) {
  if (!usable(y, x)) return PyScalar();
  if (is_float(y, 0.0) && is_float(x, 1.0)) return y;
  PyScalar arguments[] = {y, x};
  return call(current_py_functions.atan2, arguments, 2);
}

// The function decides, or builds a conditional expression.
static inline PyScalar select_lt(PyScalar a, PyScalar b, PyScalar x, PyScalar y) {
  if (!usable(a, b) || !usable(x, y)) return PyScalar();
  if (are_floats(a, b)) return value_of(a) < value_of(b) ? x : y;
  PyScalar arguments[] = {a, b, x, y};
  return call(current_py_functions.select_lt, arguments, 4);
}

}  // namespace MBT_NS
