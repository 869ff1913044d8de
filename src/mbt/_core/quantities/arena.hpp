// Working memory of the calling thread: grown on demand, kept, freed with the thread. Valid until the next call.
#pragma once
#include <cstddef>
#include <cstdlib>

#include "scalars/config.hpp"

namespace MBT_NS {

struct Arena {
  double* memory;
  std::size_t size;
};

// It has no destructor: with one, every use would check whether this thread's variable exists yet.
static thread_local Arena arena = {nullptr, 0};

struct ArenaOwner {
  ~ArenaOwner() {
    std::free(arena.memory);
    arena = {nullptr, 0};
  }
};

[[maybe_unused]] MBT_COLD static double* grow_arena(std::size_t size) {
  static thread_local ArenaOwner owner;
  static_cast<void>(owner);
  std::free(arena.memory);
  arena.memory = static_cast<double*>(std::malloc(size));
  arena.size = arena.memory ? size : 0;
  return arena.memory;
}

// nullptr if out of memory.
static inline double* arena_doubles(std::ptrdiff_t count) {
  const std::size_t size = static_cast<std::size_t>(count) * sizeof(double);
  return MBT_UNLIKELY(size > arena.size) ? grow_arena(size) : arena.memory;
}

}  // namespace MBT_NS
