// A x = y for symmetric A that may be singular: x = A+ y, the minimum-norm x among those that minimize |A x - y|. For
// one right side, or many, in columns as in dense_rows.hpp.
//
// Rows that depend on rows before them, i = sum of C_ij j, are left out of A = L D L'. The rest is solved, and the
// component in the span of N, with rows [-C 1], is removed from y before and from x after: by 1 - N' (N N')^-1 N, where
// N N' = 1 + C C' is as well conditioned as possible.
//
// The dependent rows may differ from lane to lane, so everything is computed, with zeros where it does not apply: D_i
// and the columns i of L and C are zero for a dependent row i. A row stores L, or C, left of the diagonal. Above the
// diagonal is U and on it E, with N N' = U' E^-1 U; for other rows, E_i and row i of U are zero.
#pragma once

#include <cstddef>
#include <type_traits>

#include "algebra/derivative_columns.hpp"

namespace MBT_NS {

// Whether a scalar is zero in all lanes.
static MBT_INLINE bool is_zero(double a) { return a == 0.0; }
static MBT_INLINE bool is_zero(const Lanes& a) { return !any_not_within(abs_(a).r, 0.0); }
static MBT_INLINE bool is_zero(const Dual& a) { return a.x == 0.0; }
template <class T>
static MBT_INLINE bool is_zero(const T&) {  // unknown
  return false;
}

static const std::ptrdiff_t kManyRows = 8;

// The lower triangle of A (n, n), in rows of `stride`, += d z z'.
template <int n, class T>
static MBT_INLINE void add_unrolled_square(const T& d, const T* z, std::ptrdiff_t stride, T* A) {
  for (int e = 0; e < n; ++e) {
    const T s = z[e] * d;
    for (int f = 0; f <= e; ++f) A[stride * e + f] = A[stride * e + f] + s * z[f];
  }
}

// The same, which may also write above the diagonal within the n rows; for one state, loops over the 3 or 6 equations
// of a constraint are unrolled.
template <class T>
static MBT_INLINE void add_square(std::ptrdiff_t n, const T& d, const T* z, std::ptrdiff_t stride, T* A) {
  if (std::is_same<T, double>::value && n == 3) return add_unrolled_square<3>(d, z, stride, A);
  if (std::is_same<T, double>::value && n == 6) return add_unrolled_square<6>(d, z, stride, A);
  for (std::ptrdiff_t e = 0; e < n; ++e) {
    const T s = z[e] * d;
    const typename Wide<T>::type wide = Wide<T>::spread(s);
    T* row = A + stride * e;
    std::ptrdiff_t f = 0;
    for (; f <= e && f + Wide<T>::width <= n; f += Wide<T>::width)
      Wide<T>::put(row + f, Wide<T>::take(row + f) + wide * Wide<T>::take(z + f));
    for (; f <= e; ++f) row[f] = row[f] + s * z[f];
  }
}

// Only the lower triangle of A (m, m) is read. On entry, D (m,) has the pivots that a row must exceed to be
// independent; on return, 1 / D or 0. With few rows, each is updated by those above it when its turn comes; with many,
// each updates all below it at once, so that no operation waits for the one before.
template <class T>
static MBT_INLINE void factor_semidefinite(std::ptrdiff_t m, T* A, T* D) {
  typedef typename Wide<T>::type X;
  const T zero(0.0), one(1.0);
  const std::ptrdiff_t end = m < kManyRows ? 0 : m;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    T* row = A + m * i;
    if (m < kManyRows) {
      for (std::ptrdiff_t j = 0; j < i; ++j) {
        T s = row[j];
        for (std::ptrdiff_t k = 0; k < j; ++k) s = s - row[k] * A[m * j + k];
        row[j] = s;  // of L D until the row is finished
      }
      T s = row[i];
      for (std::ptrdiff_t k = 0; k < i; ++k) {
        s = s - row[k] * row[k] * D[k];
        row[k] = row[k] * D[k];
      }
      row[i] = s;
    }
    const T s = row[i];
    const T follows = select_lt(s, D[i], one, zero);
    D[i] = (one - follows) / select_lt(s, D[i], one, s);
    row[i] = follows;
    for (std::ptrdiff_t k = i + 1; k < end; ++k) row[k] = A[m * k + i];
    for (std::ptrdiff_t k = i + 1; k < end; ++k) {
      T* below = A + m * k;
      below[i] = row[k] * D[i];
      const X l = Wide<T>::spread(below[i]);
      std::ptrdiff_t j = i + 1;
      for (; j <= k && j + Wide<T>::width <= m; j += Wide<T>::width)  // above the diagonal, too
        Wide<T>::put(below + j, Wide<T>::take(below + j) - l * Wide<T>::take(row + j));
      for (; j <= k; ++j) below[j] = below[j] - below[i] * row[j];
    }
    if (is_zero(follows)) continue;
    // L' C = row of L, solved backwards.
    for (std::ptrdiff_t k = i - 2; k >= 0; --k) {
      T c = row[k];
      for (std::ptrdiff_t j = k + 1; j < i; ++j) c = c - A[m * j + k] * row[j];
      row[k] = select_lt(zero, follows, c, row[k]);
    }
    T pivot = one;
    for (std::ptrdiff_t j = 0; j < i; ++j) pivot = pivot + row[j] * row[j];
    for (std::ptrdiff_t k = 0; k < i; ++k) {
      T g = zero;
      for (std::ptrdiff_t j = 0; j < k; ++j) g = g + row[j] * A[m * k + j];
      for (std::ptrdiff_t l = 0; l < k; ++l) g = g - A[m * l + i] * A[m * l + k];
      A[m * k + i] = g;  // of E^-1 U until the column is finished
    }
    for (std::ptrdiff_t k = 0; k < i; ++k) {
      const T g = A[m * k + i];
      A[m * k + i] = g * A[m * k + k];
      pivot = pivot - g * A[m * k + i];
    }
    row[i] = follows / pivot;
  }
}

// y -= N' (N N')^-1 N y, for one register of columns, where W is One<T> or Wide<T>; work t, (m, stride) as y.
template <template <class> class W, class T>
static MBT_INLINE void take_out_dependent(std::ptrdiff_t m, std::ptrdiff_t stride, const T* A, T* y, T* t) {
  typedef typename W<T>::type X;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    if (is_zero(A[m * i + i])) continue;
    X s = W<T>::take(y + stride * i);
    for (std::ptrdiff_t j = 0; j < i; ++j) s = s - W<T>::spread(A[m * i + j]) * W<T>::take(y + stride * j);
    for (std::ptrdiff_t k = 0; k < i; ++k)
      if (!is_zero(A[m * k + k])) s = s - W<T>::spread(A[m * k + i]) * W<T>::take(t + stride * k);
    W<T>::put(t + stride * i, s);
  }
  for (std::ptrdiff_t i = m - 1; i >= 0; --i) {
    if (is_zero(A[m * i + i])) continue;
    X s = W<T>::take(t + stride * i) * W<T>::spread(A[m * i + i]);
    for (std::ptrdiff_t k = i + 1; k < m; ++k)
      if (!is_zero(A[m * k + k])) s = s - W<T>::spread(A[m * i + k]) * W<T>::take(t + stride * k);
    W<T>::put(t + stride * i, s);
    W<T>::put(y + stride * i, W<T>::take(y + stride * i) - s);
    for (std::ptrdiff_t j = 0; j < i; ++j)
      W<T>::put(y + stride * j, W<T>::take(y + stride * j) + W<T>::spread(A[m * i + j]) * s);
  }
}

// x = L^-1 y; y may be x.
template <template <class> class W, class T>
static MBT_INLINE void solve_lower_columns(std::ptrdiff_t m, std::ptrdiff_t stride, const T* L, const T* y, T* x) {
  typedef typename W<T>::type X;
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    X s = W<T>::take(y + stride * i);
    for (std::ptrdiff_t k = 0; k < i; ++k) s = s - W<T>::spread(L[m * i + k]) * W<T>::take(x + stride * k);
    W<T>::put(x + stride * i, s);
  }
}

// x = L'^-1 D^-1 y; y may be x.
template <template <class> class W, class T>
static MBT_INLINE void solve_upper_columns(
    std::ptrdiff_t m, std::ptrdiff_t stride, const T* L, const T* D, const T* y, T* x) {
  typedef typename W<T>::type X;
  for (std::ptrdiff_t i = m - 1; i >= 0; --i) {
    X s = W<T>::take(y + stride * i) * W<T>::spread(D[i]);
    for (std::ptrdiff_t k = i + 1; k < m; ++k) s = s - W<T>::spread(L[m * k + i]) * W<T>::take(x + stride * k);
    W<T>::put(x + stride * i, s);
  }
}

// One column of doubles, in registers along the rows of L.
static MBT_INLINE void solve_lower(std::ptrdiff_t m, const double* L, double* x) {
  const int width = Wide<double>::width;
  for (std::ptrdiff_t i = 1; i < m; ++i) {
    const double* row = L + m * i;
    double s = x[i];
    std::ptrdiff_t k = 0;
    if (i >= width) {
      Register total = load(row) * load(x);
      for (k = width; k + width <= i; k += width) total = total + load(row + k) * load(x + k);
      s = s - Wide<double>::sum(total);
    }
    for (; k < i; ++k) s = s - row[k] * x[k];
    x[i] = s;
  }
}
static MBT_INLINE void solve_upper(std::ptrdiff_t m, const double* L, const double* D, double* x) {
  const int width = Wide<double>::width;
  for (std::ptrdiff_t i = 0; i < m; ++i) x[i] = x[i] * D[i];
  for (std::ptrdiff_t i = m - 1; i > 0; --i) {
    const double* row = L + m * i;
    const Register a = broadcast(x[i]);
    std::ptrdiff_t k = 0;
    for (; k + width <= i; k += width) store(x + k, load(x + k) - a * load(row + k));
    for (; k < i; ++k) x[k] = x[k] - x[i] * row[k];
  }
}

// y (m, stride) is destroyed, x (m, stride) the result.
template <template <class> class W, class T>
static MBT_INLINE void solve_semidefinite_columns(
    std::ptrdiff_t m, std::ptrdiff_t stride, const T* L, const T* D, T* y, T* x) {
  take_out_dependent<W>(m, stride, L, y, x);
  solve_lower_columns<W>(m, stride, L, y, x);
  solve_upper_columns<W>(m, stride, L, D, x, x);
  take_out_dependent<W>(m, stride, L, x, y);
}

// For forces K, (m, 8) with six used columns: Y = L^-1 K in units of `scale`, and W = A+ K in its own units. The rows
// of K depend on each other like those of A.
template <class T>
static MBT_INLINE void solve_reactions(
    std::ptrdiff_t m, const T* L, const T* D, const T* scale, const T* K, T* Y, T* W) {
  const std::ptrdiff_t stride = 8;
  // The columns after the sixth are read, but do not matter.
  if (Wide<T>::width < 4)
    for (std::ptrdiff_t e = 0; e < m; ++e) Y[stride * e + 6] = Y[stride * e + 7] = T(0.0);
  for (int j = 0; j < 6; j += Wide<T>::width) {
    // Twice where rows may be dependent in some lanes only: the projection overwrites rows of Y that are dependent in
    // any lane.
    for (int times = 0; times < (std::is_same<T, double>::value ? 1 : 2); ++times) {
      for (std::ptrdiff_t e = 0; e < m; ++e)
        Wide<T>::put(Y + stride * e + j, Wide<T>::take(K + stride * e + j) * Wide<T>::spread(scale[e]));
      solve_lower_columns<Wide>(m, stride, L, Y + j, Y + j);
      if (times > 0) break;
      solve_upper_columns<Wide>(m, stride, L, D, Y + j, W + j);
      take_out_dependent<Wide>(m, stride, L, W + j, Y + j);
    }
    for (std::ptrdiff_t e = 0; e < m; ++e)
      Wide<T>::put(W + stride * e + j, Wide<T>::take(W + stride * e + j) * Wide<T>::spread(scale[e]));
  }
}

// I += Y' Y / D, in rows of eight.
template <class T>
static MBT_INLINE void add_reactions(std::ptrdiff_t m, const T* D, const T* Y, ArticulatedInertia<T>* I) {
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    const T* y = Y + 8 * e;
    eliminate(Force<T>{vector_at(y), vector_at(y + 3)}, -D[e], I);
  }
}
template <>
MBT_INLINE void add_reactions(std::ptrdiff_t m, const double* D, const double* Y, ArticulatedInertia<double>* I) {
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    const double* y = Y + 8 * e;
    for (int i = 0; i < 3; ++i) {
      const double t = y[i] * D[e], f = y[3 + i] * D[e];
      for (int j = 0; j < 4; ++j) {  // the fourth column is unused
        I->A[4 * i + j] += t * y[j];
        I->B[4 * i + j] += t * y[3 + j];
        I->C[4 * i + j] += f * y[3 + j];
      }
    }
  }
}

template <class T>
static MBT_INLINE void solve_triangles(std::ptrdiff_t m, const T* L, const T* D, T* x) {
  solve_lower_columns<One>(m, 1, L, x, x);
  solve_upper_columns<One>(m, 1, L, D, x, x);
}
static MBT_INLINE void solve_triangles(std::ptrdiff_t m, const double* L, const double* D, double* x) {
  solve_lower(m, L, x);
  solve_upper(m, L, D, x);
}

template <class T>
static MBT_INLINE void solve_semidefinite(std::ptrdiff_t m, const T* L, const T* D, T* y, T* x) {
  take_out_dependent<One>(m, 1, L, y, x);
  for (std::ptrdiff_t i = 0; i < m; ++i) x[i] = y[i];
  solve_triangles(m, L, D, x);
  take_out_dependent<One>(m, 1, L, x, y);
}

// Remove the component of y in the span of N; work t (m,).
template <class T>
static MBT_INLINE void keep_independent(std::ptrdiff_t m, const T* L, T* y, T* t) {
  take_out_dependent<One>(m, 1, L, y, t);
}

// Whether any lane's solution needs refinement: where the `excess` of its residual is positive. Derivatives and symbols
// are refined once, regardless of values.
static MBT_INLINE bool is_much(double excess, int) { return excess > 0.0; }
static MBT_INLINE bool is_much(const Lanes& excess, int) {
  return !is_zero(select_lt(Lanes(0.0), excess, Lanes(1.0), Lanes(0.0)));
}
static MBT_INLINE bool is_much(const Dual& excess, int times) { return times == 0 || excess.x > 0.0; }
template <class T>
static MBT_INLINE bool is_much(const T&, int times) {
  return times == 0;
}
template <class T>
static MBT_INLINE bool leaves_much(const T* excess, int times) {
  return is_much(*excess, times);
}

// Set the residual y (m,) to zero in the other lanes.
template <class T>
static MBT_INLINE void keep_much(std::ptrdiff_t m, const T* excess, T* y) {
  if (std::is_same<T, Lanes>::value)
    for (std::ptrdiff_t e = 0; e < m; ++e) y[e] = select_lt(T(0.0), *excess, y[e], T(0.0));
}

// For one register of columns: x = A+ y, where A is factored in units of `scale` (m,); y is destroyed.
template <class T>
static MBT_INLINE void solve_register(
    std::ptrdiff_t m, const T* L, const T* D, const T* scale, std::ptrdiff_t stride, T* y, T* x) {
  for (std::ptrdiff_t e = 0; e < m; ++e)
    Wide<T>::put(y + stride * e, Wide<T>::take(y + stride * e) * Wide<T>::spread(scale[e]));
  solve_semidefinite_columns<Wide>(m, stride, L, D, y, x);
  for (std::ptrdiff_t e = 0; e < m; ++e)
    Wide<T>::put(x + stride * e, Wide<T>::take(x + stride * e) * Wide<T>::spread(scale[e]));
}

// y = A X, with rows of `stride`, n columns of A (m, n) and of X (n, n).
template <class T>
static MBT_INLINE void multiply_rows(
    std::ptrdiff_t m, int n, std::ptrdiff_t stride, const T* A, const T* X, T* y) {
  typedef typename Wide<T>::type R;
  for (int j = 0; j < n; j += Wide<T>::width) {
    for (std::ptrdiff_t e = 0; e < m; ++e) {
      R s = Wide<T>::spread(T(0.0));
      for (int k = 0; k < n; ++k) s = s + Wide<T>::spread(A[stride * e + k]) * Wide<T>::take(X + stride * k + j);
      Wide<T>::put(y + stride * e + j, s);
    }
  }
}

// Correct columns of forces dF (n, n) so that they satisfy the constraints: x from Lambda x = A dF - g, then dF -= J'
// x. Lambda is factored in units of `scale` (m,); A, g, J, x and the work y are (m, n), all with rows of `stride`.
// If A is null, forces are unit forces in place of -dF, and `dF` has their accelerations: x from Lambda x = -g, then dF
// += J' x.
template <class T>
static MBT_INLINE void solve_columns(
    std::ptrdiff_t m, int n, std::ptrdiff_t stride, const T* L, const T* D, const T* scale, const T* A, const T* g,
    const T* J, T* y, T* x, T* dF) {
  typedef typename Wide<T>::type R;
  for (int j = 0; j < n; j += Wide<T>::width) {
    for (std::ptrdiff_t e = 0; e < m; ++e) {
      R s = -Wide<T>::take(g + stride * e + j);
      if (A)
        for (int k = 0; k < n; ++k)
          s = s + Wide<T>::spread(A[stride * e + k]) * Wide<T>::take(dF + stride * k + j);
      Wide<T>::put(y + stride * e + j, s);
    }
    solve_register(m, L, D, scale, stride, y + j, x + j);
    for (int k = 0; k < n; ++k) {
      R s = Wide<T>::spread(T(0.0));
      for (std::ptrdiff_t e = 0; e < m; ++e)
        s = s + Wide<T>::spread(J[stride * e + k]) * Wide<T>::take(x + stride * e + j);
      const R f = Wide<T>::take(dF + stride * k + j);
      Wide<T>::put(dF + stride * k + j, A ? f - s : f + s);
    }
  }
}

}  // namespace MBT_NS
