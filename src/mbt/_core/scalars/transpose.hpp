// Conversion between W states stored row by row and the same states in Lanes, one state per lane.
//
// `rows` points to the first state, the next is `stride` doubles further; each has n numbers.
// W x W blocks are transposed in registers, in log2 W rounds of shuffles. The last block overlaps
// the one before it, and n < W is read and written masked: nothing but the n numbers is accessed.
#pragma once

#include <cstddef>

#include "config.hpp"
#include "lanes.hpp"

namespace MBT_NS {

#if defined(MBT_PORTABLE) || (MBT_W != 2 && MBT_W != 4 && MBT_W != 8)

// Lane l of out[k] is lane k of in[l]; in and out are different arrays of W.
static MBT_INLINE void transpose(const Lanes* in, Lanes* out) {
  for (int k = 0; k < MBT_W; ++k)
    for (int l = 0; l < MBT_W; ++l) set_lane(out[k], l, lane(in[l], k));
}
static MBT_INLINE Lanes reversed(const Lanes& a) {
  Lanes b = a;
  for (int l = 0; l < MBT_W; ++l) set_lane(b, l, lane(a, MBT_W - 1 - l));
  return b;
}

#else

// The lanes of a and b that the list names; those of b are numbered from W on.
#if defined(__clang__) || __GNUC__ >= 12
#define MBT_PICK(a, b, ...) Lanes(__builtin_shufflevector((a).r, (b).r, __VA_ARGS__))
#else
#define MBT_PICK(a, b, ...) Lanes(__builtin_shuffle((a).r, (b).r, RegisterBits{__VA_ARGS__}))
#endif

// Lane l of out[k] is lane k of in[l]; in and out are different arrays of W. (Not in place: GCC
// turns loops that only copy registers into memcpy, which goes 16 bytes at a time.)
static MBT_INLINE void transpose(const Lanes* in, Lanes* out) {
#if MBT_W == 2
  out[0] = MBT_PICK(in[0], in[1], 0, 2);
  out[1] = MBT_PICK(in[0], in[1], 1, 3);
#elif MBT_W == 4
  Lanes a[4];
  for (int i = 0; i < 4; i += 2) {
    a[i] = MBT_PICK(in[i], in[i + 1], 0, 4, 2, 6);
    a[i + 1] = MBT_PICK(in[i], in[i + 1], 1, 5, 3, 7);
  }
  for (int i = 0; i < 2; ++i) {
    out[i] = MBT_PICK(a[i], a[i + 2], 0, 1, 4, 5);
    out[i + 2] = MBT_PICK(a[i], a[i + 2], 2, 3, 6, 7);
  }
#else
  Lanes a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = MBT_PICK(in[i], in[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    a[i + 1] = MBT_PICK(in[i], in[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int h = 0; h < 8; h += 4) {
    for (int i = h; i < h + 2; ++i) {
      b[i] = MBT_PICK(a[i], a[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      b[i + 2] = MBT_PICK(a[i], a[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int i = 0; i < 4; ++i) {
    out[i] = MBT_PICK(b[i], b[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    out[i + 4] = MBT_PICK(b[i], b[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#endif
}

// The last lane first.
static MBT_INLINE Lanes reversed(const Lanes& a) {
#if MBT_W == 2
  return MBT_PICK(a, a, 1, 0);
#elif MBT_W == 4
  return MBT_PICK(a, a, 3, 2, 1, 0);
#else
  return MBT_PICK(a, a, 7, 6, 5, 4, 3, 2, 1, 0);
#endif
}

#undef MBT_PICK

#endif

// Loads W numbers of each of `count` states; lanes l >= count repeat the last state.
static MBT_INLINE void load_block(const double* row, std::ptrdiff_t stride, int count, Lanes* out) {
  Lanes state[MBT_W];
  for (int l = 0; l < MBT_W; ++l) {
    state[l] = Lanes(load(row));
    if (l + 1 < count) row += stride;
  }
  transpose(state, out);
}

static MBT_INLINE void store_block(const Lanes* in, double* row, std::ptrdiff_t stride, int count) {
  Lanes state[MBT_W];
  transpose(in, state);
  for (int l = 0; l < MBT_W; ++l, row += stride)
    if (l < count) store(row, state[l].r);
}

// The same for n < W numbers of each state.
static MBT_INLINE void load_narrow_block(
    const double* row, std::ptrdiff_t stride, int n, int count, Lanes* out) {
  Lanes state[MBT_W], column[MBT_W];
  for (int l = 0; l < MBT_W; ++l) {
    state[l] = Lanes(load_first(row, n));
    if (l + 1 < count) row += stride;
  }
  transpose(state, column);
  for (int k = 0; k < MBT_W; ++k)
    if (k < n) out[k].r = column[k].r;
}

static MBT_INLINE void store_narrow_block(
    const Lanes* in, double* row, std::ptrdiff_t stride, int n, int count) {
  Lanes state[MBT_W], column[MBT_W];
  for (int k = 0; k < MBT_W; ++k) column[k].r = k < n ? in[k].r : broadcast(0.0);
  transpose(column, state);
  for (int l = 0; l < MBT_W; ++l, row += stride)
    if (l < count) store_first(row, n, state[l].r);
}

// Loads `count` states, 1 <= count <= W; out[k] receives number k of every state, and in the
// remaining lanes that of the last state again.
static MBT_INLINE void load_rows_partial(
    const double* rows, std::ptrdiff_t stride, int n, int count, Lanes* out) {
  if (n < MBT_W) return load_narrow_block(rows, stride, n, count, out);
  for (int k = 0; k + MBT_W <= n; k += MBT_W) load_block(rows + k, stride, count, out + k);
  if (n % MBT_W) load_block(rows + n - MBT_W, stride, count, out + n - MBT_W);
}

// Lanes l >= count are not stored.
static MBT_INLINE void store_rows_partial(
    const Lanes* in, double* rows, std::ptrdiff_t stride, int n, int count) {
  if (n < MBT_W) return store_narrow_block(in, rows, stride, n, count);
  for (int k = 0; k + MBT_W <= n; k += MBT_W) store_block(in + k, rows + k, stride, count);
  if (n % MBT_W) store_block(in + n - MBT_W, rows + n - MBT_W, stride, count);
}

// W states.
static inline void load_rows(const double* rows, std::ptrdiff_t stride, int n, Lanes* out) {
  load_rows_partial(rows, stride, n, MBT_W, out);
}

static inline void store_rows(const Lanes* in, double* rows, std::ptrdiff_t stride, int n) {
  store_rows_partial(in, rows, stride, n, MBT_W);
}

// A pose (4, 4) of W states: axis i + shift (mod 3) of X as axis i. Its last row is known, and not read.
static MBT_INLINE void store_pose(const Lanes* X, int shift, double* rows, std::ptrdiff_t stride) {
  const Lanes* x = X + shift;
  const Lanes* y = X + (shift == 2 ? 0 : shift + 1);
  const Lanes* z = X + (shift == 0 ? 2 : shift - 1);
#if MBT_W == 8
  const Lanes first[8] = {x[0], y[0], z[0], X[3], x[4], y[4], z[4], X[7]};
  const Lanes last[8] = {x[8], y[8], z[8], X[11], Lanes(0.0), Lanes(0.0), Lanes(0.0), Lanes(1.0)};
  Lanes first_half[8], second_half[8];
  transpose(first, first_half);
  transpose(last, second_half);
  // Both cache lines of a state, one after another.
  for (int l = 0; l < 8; ++l, rows += stride) {
    store(rows, first_half[l].r);
    store(rows + 8, second_half[l].r);
  }
#else
  const Lanes pose[12] = {x[0], y[0], z[0], X[3], x[4], y[4], z[4], X[7], x[8], y[8], z[8], X[11]};
  store_rows(pose, rows, stride, 12);
  for (int l = 0; l < MBT_W; ++l, rows += stride) {
    rows[12] = rows[13] = rows[14] = 0.0;
    rows[15] = 1.0;
  }
#endif
}

}  // namespace MBT_NS
