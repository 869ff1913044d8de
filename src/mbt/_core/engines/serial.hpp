// A serial number for every write, never repeated in a process, so equal numbers mean unchanged data.
#pragma once
#include <Python.h>

#include <atomic>

#include "scalars/config.hpp"

namespace MBT_NS {

// Callers hold the GIL, if there is one: an atomic increment would wait for all preceding stores.
static inline unsigned long long next_serial() {
#ifdef Py_GIL_DISABLED
  static std::atomic<unsigned long long> counter{0};
#else
  static unsigned long long counter = 0;
#endif
  return ++counter;
}

}  // namespace MBT_NS
