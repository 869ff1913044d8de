// Read before all else by modules of which size counts more than time: their references are dropped by calls of a function
// of CPython, Py_DecRef. What Py_DECREF and Py_XDECREF put in its place, again at each of some hundred places of a module, is
// three times as long, and longer since there are immortal objects (3.12). Both functions of both names are of the stable
// interface, and mean the same.
#pragma once
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#undef Py_DECREF
#undef Py_XDECREF
#define Py_DECREF(object) Py_DecRef((PyObject*)(object))
#define Py_XDECREF(object) Py_DecRef((PyObject*)(object))
