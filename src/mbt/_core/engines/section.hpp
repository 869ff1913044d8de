// One thread at a time in what an object holds. The GIL sees to that; without it, the critical sections of CPython do.
#pragma once
#include <Python.h>

#include <atomic>

#include "scalars/config.hpp"

namespace MBT_NS {

// Entered by one call, and left at the end of the function that has it. As the GIL, it is let go of while its thread
// waits for something, or runs Python code that others interrupt.
class Section {
#ifdef Py_GIL_DISABLED
 public:
  Section() : entered_(false) {}
  ~Section() {
    if (entered_) PyCriticalSection_End(&section_);
  }
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  void enter(PyObject* object) {
    PyCriticalSection_Begin(&section_, object);
    entered_ = true;
  }

 private:
  PyCriticalSection section_;
  bool entered_;
#else
 public:
  void enter(PyObject*) {}
#endif
};

// Between what has been made and the pointer by which other threads find it.
static inline void publish() {
#ifdef Py_GIL_DISABLED
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace MBT_NS
