// Memory for scalars that need a larger alignment than malloc guarantees.
#pragma once
#include <cstddef>
#include <new>

#include "scalars/config.hpp"

namespace MBT_NS {

// nullptr if out of memory.
static inline void* allocate_aligned(std::size_t size) {
  return ::operator new(size, std::align_val_t{64}, std::nothrow);
}

static inline void free_aligned(void* memory) { ::operator delete(memory, std::align_val_t{64}); }

}  // namespace MBT_NS
