// The x86-64 instruction set levels that this processor runs, found before a module built for one of them is loaded.
#include <Python.h>

#include "cpu_level.h"

static PyObject *supported(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
#if defined(__x86_64__)
  switch (cpu_level()) {
    case 4: return Py_BuildValue("(sss)", "v4", "v3", "v2");
    case 3: return Py_BuildValue("(ss)", "v3", "v2");
    case 2: return Py_BuildValue("(s)", "v2");
    default: return Py_BuildValue("()");
  }
#else
  return Py_BuildValue("(s)", "base");
#endif
}

static PyMethodDef methods[] = {
    {"supported", supported, METH_NOARGS, "supported()\n--\n\nInstruction sets this processor runs, best first."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef_Slot slots[] = {
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "cpu", .m_doc = "Processor features.", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_cpu(void) { return PyModuleDef_Init(&definition); }
