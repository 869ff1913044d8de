// Factors of symmetric matrices of trees: A = L' L from the last row on, which keeps the zeros between branches.
//
// Of a mass matrix row k of L has entries only where a dof is on the path from World to k. Each row of factors knows
// its columns: how many, then which, or none where all from the first one on count.
#pragma once

#include <cmath>
#include <cstddef>

namespace mbt_convex {

// With four sums, so that no addition waits for the one before.
inline double dot(int n, const double* a, const double* b) {
  double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i]*b[i];
    s1 += a[i + 1]*b[i + 1];
    s2 += a[i + 2]*b[i + 2];
    s3 += a[i + 3]*b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i]*b[i];
  return (s0 + s1) + (s2 + s3);
}

// y -= factor x, which do not overlap.
inline void subtract(int n, double factor, const double* __restrict x, double* __restrict y) {
  for (int i = 0; i < n; ++i) y[i] -= factor*x[i];
}

inline void multiply(int rows, int n, const double* A, const double* x, double* y) {
  for (int i = 0; i < rows; ++i) y[i] = dot(n, A + std::ptrdiff_t(n)*i, x);
}

// The lower triangle of H += weight a b'.
inline void add_outer(int n, double weight, const double* a, const double* b, double* H) {
  if (weight == 0.0) return;
  for (int i = 0; i < n; ++i) {
    const double factor = weight*a[i];
    if (factor == 0.0) continue;
    subtract(i + 1, -factor, b, H + std::ptrdiff_t(n)*i);
  }
}

// Of a row: how many columns in front of the diagonal, which.
inline int* columns_of(int n, int* columns, int k) { return columns + std::ptrdiff_t(n)*k; }
inline const int* columns_of(int n, const int* columns, int k) { return columns + std::ptrdiff_t(n)*k; }

// The lower triangle becomes L, the upper one is lost; `columns` (n, n). False where a pivot is not greater than a share
// of its diagonal.
inline bool factorize(int n, double* A, int* columns) {
  for (int k = 1; k < n; ++k) A[k] = A[std::ptrdiff_t(n)*k + k];
  const double first = n ? A[0] : 0.0;
  for (int k = n - 1; k >= 0; --k) {
    double* row = A + std::ptrdiff_t(n)*k;
    int* list = columns_of(n, columns, k);
    int count = 0;
    for (int j = 0; j < k; ++j)
      if (row[j] != 0.0) list[++count] = j;
    list[0] = count;
    if (!(row[k] > 1e-14*(k ? A[k] : first))) return false;
    const double root = std::sqrt(row[k]), inverse = 1.0/root;
    row[k] = root;
    for (int i = 1; i <= count; ++i) row[list[i]] *= inverse;
    if (count == k) {
      for (int i = 0; i < k; ++i) subtract(i + 1, row[i], row, A + std::ptrdiff_t(n)*i);
    } else {
      for (int i = 1; i <= count; ++i) {
        const double factor = row[list[i]];
        double* other = A + std::ptrdiff_t(n)*list[i];
        for (int j = 1; j <= i; ++j) other[list[j]] -= factor*row[list[j]];
      }
    }
  }
  return true;
}

// x = L'^-1 x
inline void solve_outer(int n, const double* L, const int* columns, double* x) {
  for (int k = n - 1; k >= 0; --k) {
    const double* row = L + std::ptrdiff_t(n)*k;
    const int* list = columns_of(n, columns, k);
    if (x[k] == 0.0) continue;
    const double value = x[k] /= row[k];
    if (list[0] == k) {
      subtract(k, value, row, x);
    } else {
      for (int i = 1; i <= list[0]; ++i) x[list[i]] -= value*row[list[i]];
    }
  }
}

// x = L^-1 x
inline void solve_inner(int n, const double* L, const int* columns, double* x) {
  for (int k = 0; k < n; ++k) {
    const double* row = L + std::ptrdiff_t(n)*k;
    const int* list = columns_of(n, columns, k);
    double sum = 0.0;
    if (list[0] == k) {
      sum = dot(k, row, x);
    } else {
      for (int i = 1; i <= list[0]; ++i) sum += row[list[i]]*x[list[i]];
    }
    x[k] = (x[k] - sum)/row[k];
  }
}

}  // namespace mbt_convex
