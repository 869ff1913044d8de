// Dense matrices whose rows begin on a register boundary: `stride` is a multiple of MBT_W. The padding after the last
// column is read and written like the rest.
#pragma once

#include <cstddef>

#include "algebra/derivative_columns.hpp"
#include "scalars/transpose.hpp"

namespace MBT_NS {

// Articulated inertia of a mobod: symmetric, in rows of eight: six entries and two zeros.
enum { ARTICULATED_ROW = 8, ARTICULATED = 48 };

// U = I_A S, (8,).
template <class T>
static MBT_INLINE void multiply_articulated(const T* I_A, const T* S, T* U) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  for (int j = 0; j < ARTICULATED_ROW; j += width) {
    const X a = Wide<T>::spread(S[0]) * Wide<T>::take(I_A + j) + Wide<T>::spread(S[1]) * Wide<T>::take(I_A + 8 + j);
    const X b = Wide<T>::spread(S[2]) * Wide<T>::take(I_A + 16 + j) + Wide<T>::spread(S[3]) * Wide<T>::take(I_A + 24 + j);
    const X c = Wide<T>::spread(S[4]) * Wide<T>::take(I_A + 32 + j) + Wide<T>::spread(S[5]) * Wide<T>::take(I_A + 40 + j);
    Wide<T>::put(U + j, (a + b) + c);
  }
}

// I_A -= U U' / D, then the result is added to the parent's I_A, if there is a parent.
template <class T>
static MBT_INLINE void take_articulated_dof(const T* U, const T* D_inverse, T* I_A, T* parent) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  const X d = Wide<T>::spread(*D_inverse);
  X x[6];
  for (int i = 0; i < 6; ++i) x[i] = d * Wide<T>::spread(U[i]);
  for (int j = 0; j < ARTICULATED_ROW; j += width) {
    const X u = Wide<T>::take(U + j);
    for (int i = 0; i < 6; ++i) {
      const X y = Wide<T>::take(I_A + 8 * i + j) - x[i] * u;
      if (parent) {
        Wide<T>::put(parent + 8 * i + j, Wide<T>::take(parent + 8 * i + j) + y);
      } else {
        Wide<T>::put(I_A + 8 * i + j, y);
      }
    }
  }
}

// x' y with half the latency.
template <class T>
static MBT_INLINE T dot_in_halves(const T* x, const T* y) {
  return (x[0] * y[0] + x[1] * y[1] + x[2] * y[2]) + (x[3] * y[3] + x[4] * y[4] + x[5] * y[5]);
}

// Propagate unit forces on dofs, one per column, from tip to base across the dof of column l: its accelerations go to
// row y, and F becomes the force on the inboard side. The columns up to `end` belong to this dof and those outboard.
//     y = (unit force on the dof - S' F) / D, F += U y
template <class T>
static MBT_INLINE void take_unit_forces(
    const T* S, const T* U, const T* D_inverse, int l, int end, std::ptrdiff_t stride, T* F, T* y) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X s[6], u[6];
  const X d = Wide<T>::spread(*D_inverse);
  for (int i = 0; i < 6; ++i) {
    s[i] = Wide<T>::spread(S[i]);
    u[i] = Wide<T>::spread(U[i]);
  }
  for (int k = l / width * width; k < end; k += width) {
    X f[6];
    for (int i = 0; i < 6; ++i) f[i] = Wide<T>::take(F + stride * i + k);
    X own = -(d * dot6w(s, f));
    if constexpr (width > 1) {
      const X zero = {};
      if (k < l || k + width > end) own = select_lanes(own, zero, l - k, end - k);
      if (k <= l) own = own + select_lanes(d, zero, l - k, l - k + 1);
    } else if (k == l) {
      own = d;
    }
    Wide<T>::put(y + k, own);
    for (int i = 0; i < 6; ++i) Wide<T>::put(F + stride * i + k, f[i] + u[i] * own);
  }
}

// Propagate the accelerations from base to tip, in the columns from l to n: y -= U' A_P / D, A = A_P + S y; A_P may be
// A, or null where the parent does not move.
template <class T>
static MBT_INLINE void add_unit_accelerations(
    const T* S, const T* U, const T* D_inverse, int l, int n, std::ptrdiff_t stride, const T* A_P, T* A, T* y) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X s[6], u[6];
  const X d = Wide<T>::spread(*D_inverse);
  for (int i = 0; i < 6; ++i) {
    s[i] = Wide<T>::spread(S[i]);
    u[i] = Wide<T>::spread(U[i]);
  }
  for (int k = l / width * width; k < n; k += width) {
    X own = Wide<T>::take(y + k);
    if (A_P) {
      X a[6];
      for (int i = 0; i < 6; ++i) a[i] = Wide<T>::take(A_P + stride * i + k);
      own = own - d * dot6w(u, a);
      Wide<T>::put(y + k, own);
      for (int i = 0; i < 6; ++i) Wide<T>::put(A + stride * i + k, a[i] + s[i] * own);
    } else {
      for (int i = 0; i < 6; ++i) Wide<T>::put(A + stride * i + k, s[i] * own);
    }
  }
}

// One register of columns with contiguous rows: load and store `count` entries of a row; the other lanes are zero.
template <class T>
static MBT_INLINE int num_columns_at_once(const T*) { return Wide<T>::width; }
template <class T>
static MBT_INLINE void load_columns(const T* row, int count, double sign, T* x) {
  for (int i = 0; i < Wide<T>::width; ++i) x[i] = i < count ? row[i] * T(sign) : T(0.0);
}
template <class T>
static MBT_INLINE void store_columns(const T* x, int count, T* row) {
  for (int i = 0; i < count && i < Wide<T>::width; ++i) row[i] = x[i];
}

// y += a x, for n rows.
template <class T>
static MBT_INLINE void add_multiple(int n, const T& a, const T* x, T* y) {
  const int width = Wide<T>::width;
  for (int i = 0; i < n; ++i)
    Wide<T>::put(y + width * i, Wide<T>::take(y + width * i) + Wide<T>::spread(a) * Wide<T>::take(x + width * i));
}

// From tip to base across a dof: y = (y - S' F) / D, F += U y.
template <class T>
static MBT_INLINE void take_forces(const T* S, const T* U, const T& D_inverse, T* F, T* y) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X s[6], f[6];
  for (int i = 0; i < 6; ++i) {
    s[i] = Wide<T>::spread(S[i]);
    f[i] = Wide<T>::take(F + width * i);
  }
  const X own = (Wide<T>::take(y) - dot6w(s, f)) * Wide<T>::spread(D_inverse);
  Wide<T>::put(y, own);
  for (int i = 0; i < 6; ++i) Wide<T>::put(F + width * i, f[i] + Wide<T>::spread(U[i]) * own);
}

// From base to tip: y -= U' A / D, A += S y.
template <class T>
static MBT_INLINE void accelerate_columns(const T* S, const T* U, const T& D_inverse, T* A, T* y) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X u[6], a[6];
  for (int i = 0; i < 6; ++i) {
    u[i] = Wide<T>::spread(U[i]);
    a[i] = Wide<T>::take(A + width * i);
  }
  const X own = Wide<T>::take(y) - dot6w(u, a) * Wide<T>::spread(D_inverse);
  Wide<T>::put(y, own);
  for (int i = 0; i < 6; ++i) Wide<T>::put(A + width * i, a[i] + Wide<T>::spread(S[i]) * own);
}

// Copy the entries of A (n, n) above the diagonal to below it.
template <class T>
static MBT_INLINE void mirror_upper(int n, std::ptrdiff_t stride, T* A) {
  if constexpr (Wide<T>::width == 1) {
    for (int k = 0; k < n; ++k)
      for (int l = 0; l < k; ++l) A[stride * k + l] = A[stride * l + k];
  } else {
    for (int k = 0; k < n; k += MBT_W) {
      const int count = n - k < MBT_W ? n - k : MBT_W;
      for (int l = 0; l < k; l += MBT_W) {
        Lanes columns[MBT_W];
        load_rows(A + stride * l + k, stride, MBT_W, columns);
        for (int i = 0; i < count; ++i) store(A + stride * (k + i) + l, columns[i].r);
      }
      for (int i = 1; i < count; ++i)
        for (int j = 0; j < i; ++j) A[stride * (k + i) + k + j] = A[stride * (k + j) + k + i];
    }
  }
}

// Four rows of C = -A X, columns [k, k + count width); C has rows of n. Only `num_terms` rows of X are used: those in
// `terms`, or the first ones if `terms` is null.
template <int count, class T>
static MBT_INLINE void multiply_tile(
    const T* A, const T* X, std::ptrdiff_t stride, int n, const int* terms, int num_terms, const int* rows, int k, T* C) {
  typedef typename Wide<T>::type W;
  const int width = Wide<T>::width;
  W y[4][count];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < count; ++j) y[i][j] = Wide<T>::spread(T(0.0));
  const T* a0 = A + stride * rows[0];
  const T* a1 = A + stride * rows[1];
  const T* a2 = A + stride * rows[2];
  const T* a3 = A + stride * rows[3];
  for (int m = 0; m < num_terms; ++m) {
    const int l = terms ? terms[m] : m;
    W x[count];
    for (int j = 0; j < count; ++j) x[j] = Wide<T>::take(X + stride * l + k + j * width);
    const W s0 = Wide<T>::spread(a0[l]), s1 = Wide<T>::spread(a1[l]);
    for (int j = 0; j < count; ++j) y[0][j] = y[0][j] - s0 * x[j];
    for (int j = 0; j < count; ++j) y[1][j] = y[1][j] - s1 * x[j];
    const W s2 = Wide<T>::spread(a2[l]), s3 = Wide<T>::spread(a3[l]);
    for (int j = 0; j < count; ++j) y[2][j] = y[2][j] - s2 * x[j];
    for (int j = 0; j < count; ++j) y[3][j] = y[3][j] - s3 * x[j];
  }
  // There is no room for a whole register after the last row.
  const T* last = C + static_cast<std::ptrdiff_t>(n) * n - width;
  for (int i = 0; i < 4; ++i) {
    T* row = C + static_cast<std::ptrdiff_t>(n) * rows[i] + k;
    for (int j = 0; j < count; ++j) put_lanes(row + j * width, y[i][j], 0, n - k - j * width, last);
  }
}

// Four rows from the i-th on. A shorter last group repeats the last row, which saves a special case.
struct FourRows {
  int rows[4];
  FourRows(int i, int end) {
    for (int j = 0; j < 4; ++j) rows[j] = i + j < end ? i + j : end - 1;
  }
};

// C = -A X, all (n, n); C has rows of n, the others of `stride`. Only the block from `first` to `end` is computed,
// outside of which X is zero.
template <class T>
static MBT_INLINE void multiply_negative(
    const T* A, const T* X, std::ptrdiff_t stride, int n, int first, int end, T* C) {
  const int width = Wide<T>::width, terms = end - first;
  A += first;
  X += stride * first;
  for (int i = first; i < end; i += 4) {
    const FourRows four(i, end);
    int k = first / width * width;  // entries past the last whole register of a row were never written
    for (; k + 2 * width < end; k += 3 * width) multiply_tile<3>(A, X, stride, n, nullptr, terms, four.rows, k, C);
    if (k + width < end) {
      multiply_tile<2>(A, X, stride, n, nullptr, terms, four.rows, k, C);
    } else if (k < end) {
      multiply_tile<1>(A, X, stride, n, nullptr, terms, four.rows, k, C);
    }
  }
}

// The same for an X whose entry (l, k) is nonzero only where one dof is outboard of the other: l <= k < ends[l], or k
// <= l < ends[k]. Together, the columns of a register need nearly all rows, so only scalars computed one column at a
// time benefit. `terms` is work, (n,).
template <class T>
[[maybe_unused]] MBT_NOINLINE static void multiply_negative_of_branches(
    const T* A, const T* X, std::ptrdiff_t stride, int n, int first, int end, const int* ends, int* terms, T* C) {
  if constexpr (Wide<T>::width > 1) {
    multiply_negative(A, X, stride, n, first, end, C);
  } else {
    for (int k = first; k < end; k += 3) {
      const int behind = k + 3 < end ? k + 3 : end;
      int last = behind, num_terms = 0;
      for (int l = k; l < behind; ++l) last = ends[l] > last ? ends[l] : last;
      for (int l = first; l < last; ++l)
        if (l >= k || ends[l] > k) terms[num_terms++] = l;
      for (int i = first; i < end; i += 4) {
        const FourRows four(i, end);
        if (behind - k == 3) {
          multiply_tile<3>(A, X, stride, n, terms, num_terms, four.rows, k, C);
        } else if (behind - k == 2) {
          multiply_tile<2>(A, X, stride, n, terms, num_terms, four.rows, k, C);
        } else {
          multiply_tile<1>(A, X, stride, n, terms, num_terms, four.rows, k, C);
        }
      }
    }
  }
}

}  // namespace MBT_NS
