// The fast half of the door: is this object exactly the array a kernel reads or writes?
#pragma once
#include <Python.h>
#include <numpy/arrayobject.h>

#include "scalars/config.hpp"

// The only subclass of ndarray that is treated like an ndarray: the arrays that a Context returns. Set by `adopt`, once
// per module.
static PyTypeObject* mbt_read_only_type = nullptr;

static inline void mbt_adopt(PyObject* type) { mbt_read_only_type = (PyTypeObject*)type; }

static inline int mbt_is_plain(PyObject* o) { return PyArray_CheckExact(o) || Py_TYPE(o) == mbt_read_only_type; }

// float64, native, aligned, C-contiguous, of this shape; no subclass, which could behave differently.
static inline int mbt_is_array1(PyObject* o, npy_intp n) {
  if (!mbt_is_plain(o)) return 0;
  PyArrayObject* a = (PyArrayObject*)o;
  return PyArray_NDIM(a) == 1 && PyArray_DIM(a, 0) == n && PyArray_TYPE(a) == NPY_DOUBLE && PyArray_ISCARRAY_RO(a);
}

static inline int mbt_is_array2(PyObject* o, npy_intp n0, npy_intp n1) {
  if (!mbt_is_plain(o)) return 0;
  PyArrayObject* a = (PyArrayObject*)o;
  return PyArray_NDIM(a) == 2 && PyArray_DIM(a, 0) == n0 && PyArray_DIM(a, 1) == n1 &&
         PyArray_TYPE(a) == NPY_DOUBLE && PyArray_ISCARRAY_RO(a);
}

// Number of columns of such a matrix with n0 rows; -1 for anything else.
static inline npy_intp mbt_columns(PyObject* o, npy_intp n0) {
  if (!mbt_is_plain(o) || PyArray_NDIM((PyArrayObject*)o) != 2) return -1;
  npy_intp n1 = PyArray_DIM((PyArrayObject*)o, 1);
  return mbt_is_array2(o, n0, n1) ? n1 : -1;
}

static inline int mbt_is_array3(PyObject* o, npy_intp n0, npy_intp n1, npy_intp n2) {
  if (!mbt_is_plain(o)) return 0;
  PyArrayObject* a = (PyArrayObject*)o;
  return PyArray_NDIM(a) == 3 && PyArray_DIM(a, 0) == n0 && PyArray_DIM(a, 1) == n1 && PyArray_DIM(a, 2) == n2 &&
         PyArray_TYPE(a) == NPY_DOUBLE && PyArray_ISCARRAY_RO(a);
}

// (3, n): one point per column.
static inline int mbt_is_points(PyObject* o) {
  return mbt_is_plain(o) && PyArray_NDIM((PyArrayObject*)o) == 2 &&
         mbt_is_array2(o, 3, PyArray_DIM((PyArrayObject*)o, 1));
}

static inline int mbt_is_writeable(PyObject* o) { return PyArray_ISWRITEABLE((PyArrayObject*)o); }

static inline double* mbt_data(PyObject* o) { return (double*)PyArray_DATA((PyArrayObject*)o); }

static inline npy_intp mbt_size(PyObject* o) { return PyArray_SIZE((PyArrayObject*)o); }

// One past the last double of a contiguous array. (PyArray_SIZE is a call into NumPy.)
static inline const double* mbt_end(PyObject* o) {
  PyArrayObject* a = (PyArrayObject*)o;
  return mbt_data(o) + (PyArray_NDIM(a) == 1 ? PyArray_DIM(a, 0) : PyArray_SIZE(a));
}

// Do two contiguous arrays share memory?
static inline int mbt_overlap(PyObject* a, PyObject* b) {
  return mbt_data(a) < mbt_data(b) ? mbt_data(b) < mbt_end(a) : mbt_data(a) < mbt_end(b);
}

static inline PyObject* mbt_new1(npy_intp n) { return PyArray_EMPTY(1, &n, NPY_DOUBLE, 0); }

static inline PyObject* mbt_new2(npy_intp n0, npy_intp n1) {
  npy_intp dims[2] = {n0, n1};
  return PyArray_EMPTY(2, dims, NPY_DOUBLE, 0);
}

static inline PyObject* mbt_new3(npy_intp n0, npy_intp n1, npy_intp n2) {
  npy_intp dims[3] = {n0, n1, n2};
  return PyArray_EMPTY(3, dims, NPY_DOUBLE, 0);
}

// A read-only array over memory that another object owns.
static inline PyObject* mbt_new_read_only(int ndim, npy_intp* shape, double* memory) {
  return PyArray_New(mbt_read_only_type, ndim, shape, NPY_DOUBLE, NULL, memory, 0, NPY_ARRAY_CARRAY_RO, NULL);
}

// A list or tuple of n Python numbers as an array; None for anything else. The same as NumPy, ten times as fast.
[[maybe_unused]] MBT_COLD static PyObject* mbt_of_numbers(PyObject* value, npy_intp n) {
#ifdef Py_GIL_DISABLED
  const int is_list = 0;  // Another thread may remove its entries.
#else
  const int is_list = PyList_CheckExact(value);
#endif
  if ((!is_list && !PyTuple_CheckExact(value)) || Py_SIZE(value) != n) Py_RETURN_NONE;
  PyObject* array = mbt_new1(n);
  if (!array) return NULL;
  double* to = mbt_data(array);
  for (npy_intp i = 0; i < n; ++i) {
    PyObject* x = is_list ? PyList_GET_ITEM(value, i) : PyTuple_GET_ITEM(value, i);
    if (PyFloat_Check(x)) {
      to[i] = PyFloat_AS_DOUBLE(x);
      continue;
    }
    // Integers that a double can hold; larger ones and those of other classes are left to NumPy.
    int overflow = 1;
    const long long k = PyLong_CheckExact(x) ? PyLong_AsLongLongAndOverflow(x, &overflow) : 0;
    if (overflow || k > (1LL << 53) || k < -(1LL << 53)) {
      Py_DECREF(array);
      Py_RETURN_NONE;
    }
    to[i] = (double)k;
  }
  return array;
}

// Anything but the exact array is converted or refused in Python, by a function of `mbt.math.arrays`.
[[maybe_unused]] MBT_COLD static PyObject* mbt_ask(
    const char* function, PyObject* value, PyObject* name, int ndim, npy_intp n0, npy_intp n1, npy_intp n2) {
  PyObject* module = PyImport_ImportModule("mbt.math.arrays");
  if (!module) return NULL;
  const char* shape = ndim == 1 ? "OO(n)" : ndim == 2 ? "OO(nn)" : "OO(nnn)";
  PyObject* result = PyObject_CallMethod(module, function, shape, value, name, n0, n1, n2);
  Py_DECREF(module);
  return result;
}
