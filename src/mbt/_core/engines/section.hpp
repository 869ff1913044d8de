// Only one thread at a time uses the contents of an object. The GIL ensures that; without it, CPython's critical
// sections do.
#pragma once
#include <Python.h>

#include <atomic>

#include "scalars/config.hpp"

namespace MBT_NS {

// Entered by one call, and left at the end of the function that declares it. Like the GIL, it is released while its
// thread blocks, or runs Python code that can be interrupted.
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

// A fence between writing an object and the pointer by which other threads find it.
static inline void publish() {
#ifdef Py_GIL_DISABLED
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

}  // namespace MBT_NS
