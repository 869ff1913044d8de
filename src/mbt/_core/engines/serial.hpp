// Serial numbers for everything that is written: never the same twice in a process, so equal means unchanged.
#pragma once
#include <atomic>

#include "scalars/config.hpp"

namespace MBT_NS {

static inline unsigned long long next_serial() {
  static std::atomic<unsigned long long> counter{0};
  return ++counter;
}

}  // namespace MBT_NS
