// Stores that bypass the caches, for results that would only evict other data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config.hpp"
#include "lanes.hpp"

namespace MBT_NS {

// Where to assemble a copy of `to` in `memory`, which has 8 doubles to spare: at the same offset in a cache line.
static MBT_INLINE double* aligned_like(const double* to, double* memory) {
  const std::uintptr_t wanted = reinterpret_cast<std::uintptr_t>(to), got = reinterpret_cast<std::uintptr_t>(memory);
  return memory + ((wanted - got) % 64) / sizeof(double);
}

// Copies n doubles; `from` is `aligned_like(to)`. Other threads see them after `finish_streaming`.
static inline void stream_doubles(const double* from, double* to, std::ptrdiff_t n) {
  std::ptrdiff_t i = 0;
#if defined(__x86_64__) && !defined(MBT_PORTABLE)
  for (; i < n && reinterpret_cast<std::uintptr_t>(to + i) % 64 != 0; ++i) to[i] = from[i];
  // Whole cache lines: storing part of one would cost a read of the rest.
  for (; i + 8 <= n; i += 8) {
#if defined(__AVX512F__)
    _mm512_stream_pd(to + i, _mm512_load_pd(from + i));
#elif defined(__AVX__)
    _mm256_stream_pd(to + i, _mm256_load_pd(from + i));
    _mm256_stream_pd(to + i + 4, _mm256_load_pd(from + i + 4));
#else
    for (int k = 0; k < 8; k += 2) _mm_stream_pd(to + i + k, _mm_load_pd(from + i + k));
#endif
  }
#endif
  for (; i < n; ++i) to[i] = from[i];
}

static inline void finish_streaming() {
#if defined(__x86_64__) && !defined(MBT_PORTABLE)
  _mm_sfence();
#endif
}

}  // namespace MBT_NS
