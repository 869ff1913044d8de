// Counts the instructions of one Python call: loaded by instruction_counts.py in a process under callgrind.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <valgrind/callgrind.h>

static PyObject *start(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
  CALLGRIND_START_INSTRUMENTATION;
  Py_RETURN_NONE;
}

// Between the two requests there is nothing but the call.
static PyObject *count(PyObject *self, PyObject *args) {
  PyObject *function;
  const char *label;
  (void)self;
  if (!PyArg_ParseTuple(args, "Os", &function, &label)) return NULL;
  CALLGRIND_ZERO_STATS;
  PyObject *result = PyObject_CallNoArgs(function);
  CALLGRIND_DUMP_STATS_AT(label);
  return result;
}

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, "start()\n--\n\nCount from here on."},
    {"count", count, METH_VARARGS, "count(function, label)\n--\n\nCall a function; dump what it costs."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "callgrind_control", .m_size = 0, .m_methods = methods};

PyMODINIT_FUNC PyInit_callgrind_control(void) { return PyModuleDef_Init(&definition); }
