// Arrays of float64 or float32 for native code of one tree. All other code uses exact_arrays.hpp.
#pragma once
#include <Python.h>
#include <numpy/arrayobject.h>

// An ndarray and no subclass, of this type, native, aligned, C-contiguous, of shape (n,).
static inline int mbt_is_one_of(PyObject* o, int type, npy_intp n) {
  if (!PyArray_CheckExact(o)) return 0;
  PyArrayObject* a = (PyArrayObject*)o;
  return PyArray_NDIM(a) == 1 && PyArray_DIM(a, 0) == n && PyArray_TYPE(a) == type && PyArray_ISCARRAY_RO(a);
}

// The same, of shape (n0, n1).
static inline int mbt_are_many_of(PyObject* o, int type, npy_intp n0, npy_intp n1) {
  if (!PyArray_CheckExact(o)) return 0;
  PyArrayObject* a = (PyArrayObject*)o;
  return PyArray_NDIM(a) == 2 && PyArray_DIM(a, 0) == n0 && PyArray_DIM(a, 1) == n1 && PyArray_TYPE(a) == type &&
         PyArray_ISCARRAY_RO(a);
}

// Do two contiguous arrays share memory?
static inline int mbt_bytes_meet(PyObject* a, PyObject* b) {
  PyArrayObject *x = (PyArrayObject*)a, *y = (PyArrayObject*)b;
  return PyArray_BYTES(x) < PyArray_BYTES(y) + PyArray_NBYTES(y) &&
         PyArray_BYTES(y) < PyArray_BYTES(x) + PyArray_NBYTES(x);
}
