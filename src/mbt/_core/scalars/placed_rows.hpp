// Stores Lanes as rows of states, in which a number may appear several times: number k of a row is in[places[k]], or,
// without places, in[k]. Where zeros come in whole blocks, `zero` is the place of them all, else -1.
#pragma once

#include <cstddef>
#include <cstdint>

#include "config.hpp"
#include "stream.hpp"
#include "transpose.hpp"

namespace MBT_NS {

static MBT_INLINE void gather_lanes(const Lanes* in, const int* places, int n, Lanes* out) {
  for (int k = 0; k < n; ++k) out[k] = in[places[k]];
}

template <bool in_blocks>
static MBT_INLINE bool are_zero(const int* places, int zero) {
  if (!in_blocks || places[0] != zero) return false;
  int differ = 0;
  for (int k = 1; k < MBT_W; ++k) differ |= places[k] ^ zero;
  return differ == 0;
}

template <bool in_blocks>
MBT_NOINLINE static void store_rows_of_places(
    const Lanes* in, const int* places, int zero, double* rows, std::ptrdiff_t stride, int n, int count) {
  Lanes block[MBT_W];
  if (n < MBT_W) {
    gather_lanes(in, places, n, block);
    return store_narrow_block(block, rows, stride, n, count);
  }
  for (int k = 0; k + MBT_W <= n; k += MBT_W) {
    if (are_zero<in_blocks>(places + k, zero)) {
      for (int l = 0; l < count; ++l) store(rows + stride * l + k, broadcast(0.0));
      continue;
    }
    gather_lanes(in, places + k, MBT_W, block);
    store_block(block, rows + k, stride, count);
  }
  if (n % MBT_W) {
    gather_lanes(in, places + n - MBT_W, MBT_W, block);
    store_block(block, rows + n - MBT_W, stride, count);
  }
}

// `store_rows_partial` for numbers with places.
[[maybe_unused]] static inline void store_placed_rows(
    const Lanes* in, const int* places, int zero, double* rows, std::ptrdiff_t stride, int n, int count) {
  if (zero >= 0) return store_rows_of_places<true>(in, places, zero, rows, stride, n, count);
  store_rows_of_places<false>(in, places, zero, rows, stride, n, count);
}

#if MBT_W == 8 && defined(__AVX512F__) && !defined(MBT_PORTABLE)

template <bool placed, bool in_blocks>
static MBT_INLINE void transpose_numbers(const Lanes* in, const int* places, int zero, int k, Lanes* out) {
  if constexpr (placed) {
    if (are_zero<in_blocks>(places + k, zero)) {
      for (int l = 0; l < 8; ++l) out[l] = Lanes(0.0);
      return;
    }
    Lanes block[8];
    gather_lanes(in, places + k, 8, block);
    transpose(block, out);
  } else {
    transpose(in + k, out);
  }
}

// Stores eight contiguous rows of n >= 8 numbers past the caches: each cache line is assembled in a register. Other
// threads see them after `finish_streaming`.
template <bool placed, bool in_blocks>
MBT_NOINLINE static void stream_eight_rows(const Lanes* in, const int* places, int zero, double* out, int n) {
  // A row begins somewhere in a cache line: the `shift` numbers before it are not its own.
  double* line[8];
  int shift[8];
  __m512i pick[8];
  Lanes now[8], before[8];
  __m512d head[8], tail[8];
  int used[8];
  const __m512i count_up = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
  for (int l = 0; l < 8; ++l) {
    double* row = out + static_cast<std::ptrdiff_t>(n) * l;
    shift[l] = static_cast<int>(reinterpret_cast<std::uintptr_t>(row) % 64 / sizeof(double));
    line[l] = row - shift[l];
    pick[l] = _mm512_add_epi64(count_up, _mm512_set1_epi64(8 - shift[l]));
  }
  const auto join = [&pick](int l, const Lanes& a, const Lanes& b) {
    return _mm512_permutex2var_pd(__m512d(a.r), pick[l], __m512d(b.r));
  };
  transpose_numbers<placed, in_blocks>(in, places, zero, 0, before);
  for (int l = 0; l < 8; ++l) head[l] = join(l, before[l], before[l]);
  int k = 8;
  for (; k + 8 <= n; k += 8) {
    transpose_numbers<placed, in_blocks>(in, places, zero, k, now);
    for (int l = 0; l < 8; ++l) {
      _mm512_stream_pd(line[l] + k, join(l, before[l], now[l]));
      before[l] = now[l];
    }
  }
  // The last block has n - k numbers, perhaps none; it ends with the row.
  Lanes rest[8];
  for (int j = 0; j < 8; ++j) rest[j] = k + j < n ? in[placed ? places[k + j] : k + j] : Lanes(0.0);
  transpose(rest, now);
  for (int l = 0; l < 8; ++l) {
    tail[l] = join(l, before[l], now[l]);
    used[l] = n - k + shift[l];
    if (used[l] >= 8) {
      _mm512_stream_pd(line[l] + k, tail[l]);
      tail[l] = join(l, now[l], now[l]);
      used[l] -= 8;
    }
  }
  // Cache lines with the end of a row and the beginning of the next; the first and the last also hold other data.
  _mm512_mask_storeu_pd(line[0], static_cast<__mmask8>(0xff << shift[0]), head[0]);
  for (int l = 1; l < 8; ++l) {
    const __mmask8 is_tail = static_cast<__mmask8>((1 << shift[l]) - 1);
    _mm512_stream_pd(line[l], _mm512_mask_blend_pd(is_tail, head[l], tail[l - 1]));
  }
  double* end = out + static_cast<std::ptrdiff_t>(n) * 8;
  _mm512_mask_storeu_pd(end - used[7], static_cast<__mmask8>((1 << used[7]) - 1), tail[7]);
}

#endif

// Stores W contiguous rows of n numbers past the caches. `memory` has room for them and 8 more.
[[maybe_unused]] MBT_NOINLINE static void stream_rows(
    const Lanes* in, const int* places, int zero, double* out, int n, double* memory) {
#if MBT_W == 8 && defined(__AVX512F__) && !defined(MBT_PORTABLE)
  if (n >= 16) {
    if (!places) return stream_eight_rows<false, false>(in, nullptr, 0, out, n);
    if (zero < 0) return stream_eight_rows<true, false>(in, places, zero, out, n);
    return stream_eight_rows<true, true>(in, places, zero, out, n);
  }
#endif
  double* rows = aligned_like(out, memory);
  if (places) {
    store_placed_rows(in, places, zero, rows, n, n, MBT_W);
  } else {
    store_rows(in, rows, n, n);
  }
  stream_doubles(rows, out, static_cast<std::ptrdiff_t>(n) * MBT_W);
}

}  // namespace MBT_NS
