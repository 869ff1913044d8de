// Included first by modules whose size matters more than their speed: they drop references by calling Py_DecRef of
// CPython. The code that Py_DECREF and Py_XDECREF expand to, at each of some hundred places in a module, is three times
// as long, and longer since objects may be immortal (3.12). Py_DecRef belongs to the stable interface, does the same,
// and accepts NULL.
#pragma once
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#undef Py_DECREF
#undef Py_XDECREF
#define Py_DECREF(object) Py_DecRef((PyObject*)(object))
#define Py_XDECREF(object) Py_DecRef((PyObject*)(object))
