// Factors of symmetric matrices of trees: A = L' L from the last row on, which keeps the zeros between branches.
//
// For a mass matrix, row k of L has entries only for dofs on the path from World to k. Each row has a list of columns:
// their number, then which. Where that number is k, all columns in front of the diagonal count, zeros too.
#pragma once

#include <cmath>
#include <cstddef>

namespace mbt_convex {

// From this many columns on, a loop over all of them, zeros too, may cost less than one over a list.
constexpr int kManyColumns = 24;

// With four sums, so that no addition waits for the previous one.
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

// y -= factor x; x and y do not overlap.
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

// The list of a row's columns in front of the diagonal: how many, then which.
inline int* columns_of(int n, int* columns, int k) { return columns + std::ptrdiff_t(n)*k; }
inline const int* columns_of(int n, const int* columns, int k) { return columns + std::ptrdiff_t(n)*k; }

// y -= f0 x0 + f1 x1 + f2 x2 + f3 x3: y is loaded and stored once.
inline void subtract_four(
    int n, const double* factors, const double* __restrict x0, const double* __restrict x1,
    const double* __restrict x2, const double* __restrict x3, double* __restrict y) {
  const double f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
  for (int i = 0; i < n; ++i) y[i] -= (f0*x0[i] + f1*x1[i]) + (f2*x2[i] + f3*x3[i]);
}

// Replaces row k of A by that of L; lists its columns, or counts all where most are not zero. False if its pivot is not
// greater than a share of `diagonal`.
inline bool finish_row(int n, int k, double diagonal, double* A, int* columns) {
  double* row = A + std::ptrdiff_t(n)*k;
  int* list = columns_of(n, columns, k);
  int count = 0;
  for (int j = 0; j < k; ++j)
    if (row[j] != 0.0) list[++count] = j;
  if (!(row[k] > 1e-14*diagonal)) return false;
  const double root = std::sqrt(row[k]), inverse = 1.0/root;
  row[k] = root;
  for (int i = 1; i <= count; ++i) row[list[i]] *= inverse;
  list[0] = k < kManyColumns || 2*count < k ? count : k;
  return true;
}

// Subtracts the products with row k of L from the rows in front of it, from `end` - 1 down.
inline void take_row(int n, int k, int end, double* A, const int* columns) {
  const double* row = A + std::ptrdiff_t(n)*k;
  const int* list = columns_of(n, columns, k);
  if (list[0] == k) {
    for (int i = 0; i < end; ++i)
      if (row[i] != 0.0) subtract(i + 1, row[i], row, A + std::ptrdiff_t(n)*i);
  } else {
    for (int i = 1; i <= list[0] && list[i] < end; ++i) {
      const double factor = row[list[i]];
      double* other = A + std::ptrdiff_t(n)*list[i];
      for (int j = 1; j <= i; ++j) other[list[j]] -= factor*row[list[j]];
    }
  }
}

// Replaces the lower triangle by L and overwrites the upper one; `columns` (n, n). Rows with all columns are taken four
// at once.
inline bool factorize(int n, double* A, int* columns) {
  for (int k = 1; k < n; ++k) A[k] = A[std::ptrdiff_t(n)*k + k];
  const double first = n ? A[0] : 0.0;
  for (int k = n - 1; k >= 0; --k) {
    if (!finish_row(n, k, k ? A[k] : first, A, columns)) return false;
    if (k < kManyColumns || columns_of(n, columns, k)[0] < k) {
      take_row(n, k, k, A, columns);
      continue;
    }
    const double* rows[4];
    bool is_full = true;
    for (int p = 0; p < 4; ++p) {
      if (p && !finish_row(n, k - p, A[k - p], A, columns)) return false;
      rows[p] = A + std::ptrdiff_t(n)*(k - p);
      is_full &= columns_of(n, columns, k - p)[0] == k - p;
      // From the other rows of the four.
      for (int i = k - p - 1; i > k - 4; --i) subtract(i + 1, rows[p][i], rows[p], A + std::ptrdiff_t(n)*i);
    }
    k -= 3;
    for (int i = 0; is_full && i < k; ++i) {
      const double factors[4] = {rows[0][i], rows[1][i], rows[2][i], rows[3][i]};
      subtract_four(i + 1, factors, rows[0], rows[1], rows[2], rows[3], A + std::ptrdiff_t(n)*i);
    }
    for (int p = 3; !is_full && p >= 0; --p) take_row(n, k + p, k, A, columns);
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
