// Dense matrices in rows that begin on a register: `stride` is a multiple of MBT_W. What lies behind the last column is
// read and written like the rest.
#pragma once

#include <cstddef>

#include "derivative_columns.hpp"
#include "scalars/transpose.hpp"

namespace MBT_NS {

// y[:n] -= s x[:n].
template <class T>
static MBT_INLINE void subtract_row(const T* s, const T* x, int n, T* y) {
  const int width = Wide<T>::width;
  const typename Wide<T>::type factor = Wide<T>::spread(*s);
  for (int k = 0; k < n; k += width) Wide<T>::put(y + k, Wide<T>::take(y + k) - factor * Wide<T>::take(x + k));
}

// y[:n] = s y[:n].
template <class T>
static MBT_INLINE void scale_row(const T* s, int n, T* y) {
  const int width = Wide<T>::width;
  const typename Wide<T>::type factor = Wide<T>::spread(*s);
  for (int k = 0; k < n; k += width) Wide<T>::put(y + k, factor * Wide<T>::take(y + k));
}

// x[:n]' y[:n], n a multiple of the width.
template <class T>
static MBT_INLINE T dot_rows(const T* x, const T* y, int n) {
  const int width = Wide<T>::width;
  typename Wide<T>::type sum = Wide<T>::spread(T(0.0));
  for (int k = 0; k < n; k += width) sum = sum + Wide<T>::take(x + k) * Wide<T>::take(y + k);
  return Wide<T>::sum(sum);
}

template <class T>
static MBT_INLINE int block_width(const T*) {
  return Wide<T>::width;
}

// A[:k, k:k + width] = A[k:k + width, :k]', k a multiple of the width, of n rows.
template <class T>
static MBT_INLINE void mirror_block(T* A, std::ptrdiff_t stride, int k, int n) {
  if constexpr (Wide<T>::width == 1) {
    for (int l = 0; l < k; ++l) A[stride * l + k] = A[stride * k + l];
  } else {
    const int count = n - k < MBT_W ? n - k : MBT_W;
    for (int l = 0; l < k; l += MBT_W) {
      Lanes columns[MBT_W];
      load_rows_partial(A + stride * k + l, stride, MBT_W, count, columns);
      for (int i = 0; i < MBT_W; ++i) Wide<T>::put(A + stride * (l + i) + k, columns[i].r);
    }
  }
}

// y[:n] -= a[begin:end]' X[begin:end, :n].
template <class T>
static MBT_INLINE void subtract_rows(
    const T* a, int begin, int end, const T* X, std::ptrdiff_t stride, int n, T* y) {
  typedef typename Wide<T>::type W;
  const int width = Wide<T>::width;
  int k = 0;
  for (; k + 3 * width < n; k += 4 * width) {
    W y0 = Wide<T>::take(y + k), y1 = Wide<T>::take(y + k + width), y2 = Wide<T>::take(y + k + 2 * width), y3 = Wide<T>::take(y + k + 3 * width);
    for (int l = begin; l < end; ++l) {
      const T* x = X + stride * l + k;
      const W s = Wide<T>::spread(a[l]);
      y0 = y0 - s * Wide<T>::take(x);
      y1 = y1 - s * Wide<T>::take(x + width);
      y2 = y2 - s * Wide<T>::take(x + 2 * width);
      y3 = y3 - s * Wide<T>::take(x + 3 * width);
    }
    Wide<T>::put(y + k, y0);
    Wide<T>::put(y + k + width, y1);
    Wide<T>::put(y + k + 2 * width, y2);
    Wide<T>::put(y + k + 3 * width, y3);
  }
  for (; k < n; k += width) {
    W y0 = Wide<T>::take(y + k);
    for (int l = begin; l < end; ++l) y0 = y0 - Wide<T>::spread(a[l]) * Wide<T>::take(X + stride * l + k);
    Wide<T>::put(y + k, y0);
  }
}

// Rows i0 .. i3 of C = -A X, columns [k, k + count width); C has rows of n.
template <int count, class T>
static MBT_INLINE void multiply_tile(
    const T* A, const T* X, std::ptrdiff_t stride, int n, const int* rows, int k, T* C) {
  typedef typename Wide<T>::type W;
  const int width = Wide<T>::width;
  W y[4][count];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < count; ++j) y[i][j] = Wide<T>::spread(T(0.0));
  const T* a0 = A + stride * rows[0];
  const T* a1 = A + stride * rows[1];
  const T* a2 = A + stride * rows[2];
  const T* a3 = A + stride * rows[3];
  for (int l = 0; l < n; ++l) {
    W x[count];
    for (int j = 0; j < count; ++j) x[j] = Wide<T>::take(X + stride * l + k + j * width);
    const W s0 = Wide<T>::spread(a0[l]), s1 = Wide<T>::spread(a1[l]);
    for (int j = 0; j < count; ++j) y[0][j] = y[0][j] - s0 * x[j];
    for (int j = 0; j < count; ++j) y[1][j] = y[1][j] - s1 * x[j];
    const W s2 = Wide<T>::spread(a2[l]), s3 = Wide<T>::spread(a3[l]);
    for (int j = 0; j < count; ++j) y[2][j] = y[2][j] - s2 * x[j];
    for (int j = 0; j < count; ++j) y[3][j] = y[3][j] - s3 * x[j];
  }
  // Behind the last row there is no room for a whole register.
  const T* last = C + static_cast<std::ptrdiff_t>(n) * n - width;
  for (int i = 0; i < 4; ++i) {
    T* row = C + static_cast<std::ptrdiff_t>(n) * rows[i] + k;
    for (int j = 0; j < count; ++j) put_lanes(row + j * width, y[i][j], 0, n - k - j * width, last);
  }
}

// C = -A X, all (n, n); C has rows of n, the others of `stride`.
template <class T>
static MBT_INLINE void multiply_negative(const T* A, const T* X, std::ptrdiff_t stride, int n, T* C) {
  const int width = Wide<T>::width;
  for (int i = 0; i < n; i += 4) {
    // The last rows are computed twice rather than by other code.
    const int rows[4] = {i, i + 1 < n ? i + 1 : n - 1, i + 2 < n ? i + 2 : n - 1, i + 3 < n ? i + 3 : n - 1};
    int k = 0;
    for (; k + 2 * width < n; k += 3 * width) multiply_tile<3>(A, X, stride, n, rows, k, C);
    if (k + width < n) {
      multiply_tile<2>(A, X, stride, n, rows, k, C);
    } else if (k < n) {
      multiply_tile<1>(A, X, stride, n, rows, k, C);
    }
  }
}

}  // namespace MBT_NS
