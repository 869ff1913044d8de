// Which x86-64 instruction set levels this processor runs, decided before any module built for one of them is loaded.
#include <Python.h>

#if defined(__x86_64__)
#include <cpuid.h>

// What __builtin_cpu_supports does not know in every compiler, and a hypervisor may mask: movbe, f16c and lzcnt.
static int has_rest_of_v3(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_MOVBE) || !(c & bit_F16C)) return 0;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}
#endif

static PyObject *supported(PyObject *self, PyObject *args) {
  (void)self;
  (void)args;
#if defined(__x86_64__)
  __builtin_cpu_init();
  // Feature by feature: compilers differ in whether they know the names of the levels.
  int v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3") &&
           __builtin_cpu_supports("sse3");
  int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && has_rest_of_v3();
  int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (v4) return Py_BuildValue("(sss)", "v4", "v3", "v2");
  if (v3) return Py_BuildValue("(ss)", "v3", "v2");
  if (v2) return Py_BuildValue("(s)", "v2");
  return Py_BuildValue("()");
#else
  return Py_BuildValue("(s)", "base");
#endif
}

static PyMethodDef methods[] = {
    {"supported", supported, METH_NOARGS, "supported()\n--\n\nInstruction sets this processor runs, best first."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "cpu", .m_doc = "Processor features.", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit_cpu(void) { return PyModuleDef_Init(&definition); }
