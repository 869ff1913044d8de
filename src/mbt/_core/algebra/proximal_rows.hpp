// A x = y for symmetric A that may be singular, by the method of multipliers: x += (A + mu 1)^-1 (y - A x), from x = 0.
// Of one right side, or of many that are columns of rows as in dense_rows.hpp.
#pragma once

#include <cstddef>

#include "algebra/derivative_columns.hpp"

namespace MBT_NS {

// Of the unit matrix that is added to A, and how often the rest is solved for again.
static constexpr double kProximalWeight = 1e-9;
static constexpr int kProximalIterations = 4;

// A + mu 1 = L D L'. Of A (m, m) the lower triangle is read, and L left below the diagonal; D (m,) is 1 / D.
template <class T>
static MBT_INLINE void factor_proximal(std::ptrdiff_t m, T* A, T* D) {
  for (std::ptrdiff_t i = 0; i < m; ++i) {
    T* row = A + m * i;
    for (std::ptrdiff_t j = 0; j < i; ++j) {
      T s = row[j];
      for (std::ptrdiff_t k = 0; k < j; ++k) s = s - row[k] * A[m * j + k];
      row[j] = s;  // of L D until the row is done
    }
    T s = row[i] + T(kProximalWeight);
    for (std::ptrdiff_t k = 0; k < i; ++k) {
      s = s - row[k] * row[k] * D[k];
      row[k] = row[k] * D[k];
    }
    D[i] = T(1.0) / s;
  }
}

// Of one register of columns, W being One<T> or Wide<T>: y (m, stride) is destroyed, x (m, stride) the result.
template <template <class> class W, class T>
static MBT_INLINE void solve_proximal_columns(
    std::ptrdiff_t m, std::ptrdiff_t stride, const T* L, const T* D, T* y, T* x) {
  typedef typename W<T>::type X;
  const X mu = W<T>::spread(T(kProximalWeight));
  for (std::ptrdiff_t i = 0; i < m; ++i) W<T>::put(x + stride * i, W<T>::spread(T(0.0)));
  for (int iteration = 0; iteration < kProximalIterations; ++iteration) {
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      X s = W<T>::take(y + stride * i);
      for (std::ptrdiff_t k = 0; k < i; ++k) s = s - W<T>::spread(L[m * i + k]) * W<T>::take(y + stride * k);
      W<T>::put(y + stride * i, s);
    }
    for (std::ptrdiff_t i = m - 1; i >= 0; --i) {
      X s = W<T>::take(y + stride * i) * W<T>::spread(D[i]);
      for (std::ptrdiff_t k = i + 1; k < m; ++k) s = s - W<T>::spread(L[m * k + i]) * W<T>::take(y + stride * k);
      W<T>::put(y + stride * i, s);
    }
    // y - A x is mu times the last step.
    for (std::ptrdiff_t i = 0; i < m; ++i) {
      const X s = W<T>::take(y + stride * i);
      W<T>::put(x + stride * i, W<T>::take(x + stride * i) + s);
      W<T>::put(y + stride * i, s * mu);
    }
  }
}

template <class T>
static MBT_INLINE void solve_proximal(std::ptrdiff_t m, const T* L, const T* D, T* y, T* x) {
  solve_proximal_columns<One>(m, 1, L, D, y, x);
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

// What columns of forces dF (n, n) are, once they do what is wanted of them: x from Lambda x = A dF - g, then dF -= J' x.
// Lambda is factored in units of `scale` (m,); A, g, J, x and the work y are (m, n), all with rows of `stride`. Without
// A, of unit forces in place of -dF and their accelerations `dF`: x from Lambda x = -g, then dF += J' x.
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
      Wide<T>::put(y + stride * e + j, s * Wide<T>::spread(scale[e]));
    }
    solve_proximal_columns<Wide>(m, stride, L, D, y + j, x + j);
    for (std::ptrdiff_t e = 0; e < m; ++e)
      Wide<T>::put(x + stride * e + j, Wide<T>::take(x + stride * e + j) * Wide<T>::spread(scale[e]));
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
