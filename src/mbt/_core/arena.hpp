// Working memory of the calling thread: grown on demand, kept, freed with the thread. Valid until the next call.
#pragma once
#include <cstddef>
#include <cstdlib>

#include "scalars/config.hpp"

namespace MBT_NS {

struct Arena {
  void* memory = nullptr;
  std::size_t size = 0;
  ~Arena() { std::free(memory); }
};

// nullptr when there is no memory left.
static inline double* arena_doubles(std::ptrdiff_t count) {
  static thread_local Arena arena;
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(double);
  if (size > arena.size) {
    std::free(arena.memory);
    arena.memory = std::malloc(size);
    arena.size = arena.memory ? size : 0;
  }
  return static_cast<double*>(arena.memory);
}

}  // namespace MBT_NS
