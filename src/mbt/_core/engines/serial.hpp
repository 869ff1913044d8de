// Serial numbers for everything that is written: never the same twice in a process, so equal means unchanged.
#pragma once
#include <Python.h>

#include <atomic>

#include "scalars/config.hpp"

namespace MBT_NS {

// Callers hold the GIL, if there is one: an atomic addition would wait for all stores before it.
static inline unsigned long long next_serial() {
#ifdef Py_GIL_DISABLED
  static std::atomic<unsigned long long> counter{0};
#else
  static unsigned long long counter = 0;
#endif
  return ++counter;
}

}  // namespace MBT_NS
