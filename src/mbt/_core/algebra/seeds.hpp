// Partial derivatives times given directions. In most seeds each variable has its own direction, so a row with one
// nonzero entry must not cost more than a column.
#pragma once

#include <cstddef>

#include "scalars/config.hpp"
#include "scalars/register_vector.hpp"

namespace MBT_NS {

// The change of a variable along the directions: a row that is zero outside [first, end).
struct Seed {
  const double* row;
  std::ptrdiff_t first, end;
};

static MBT_INLINE Seed seed_of(const double* row, std::ptrdiff_t directions) {
  std::ptrdiff_t first = 0, end = directions;
  while (first + MBT_W <= end && !any_nonzero(load(row + first))) first += MBT_W;
  while (first < end && row[first] == 0.0) ++first;
  while (end - MBT_W >= first && !any_nonzero(load(row + end - MBT_W))) end -= MBT_W;
  while (end > first && row[end - 1] == 0.0) --end;
  return Seed{row, first, end};
}

static inline void set_seeds(const double* rows, std::ptrdiff_t n, std::ptrdiff_t directions, Seed* seeds) {
  for (std::ptrdiff_t k = 0; k < n; ++k) seeds[k] = seed_of(rows + directions * k, directions);
}

// The sum of n rows times factors, written to `row` unless it equals one of the rows.
static inline Seed combine_seeds(
    const double* rows, int n, std::ptrdiff_t directions, const double* factors, int stride, double* row) {
  int count = 0, last = 0;
  for (int k = 0; k < n; ++k) {
    if (factors[stride * k] != 0.0) {
      ++count;
      last = k;
    }
  }
  if (count == 1 && factors[stride * last] == 1.0) return seed_of(rows + directions * last, directions);
  for (std::ptrdiff_t j = 0; j < directions; ++j) row[j] = factors[0] * rows[j];
  for (int k = 1; k < n; ++k)
    for (std::ptrdiff_t j = 0; j < directions; ++j) row[j] += factors[stride * k] * rows[directions * k + j];
  return seed_of(row, directions);
}

enum { LONGEST_DIAGONAL = 64 };

// Y += A diag(s), for `count` columns.
static inline void add_diagonal(
    const double* A, std::ptrdiff_t n, const double* s, int count, std::ptrdiff_t directions, double* Y) {
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const double* a = A + n * i;
    double* y = Y + directions * i;
    int j = 0;
    for (; j + MBT_W <= count; j += MBT_W) store(y + j, load(y + j) + load(a + j) * load(s + j));
    for (; j < count; ++j) y[j] += a[j] * s[j];
  }
}

// R rows of Y += A X, in C registers from `column` on, the last of which may have only `last` columns.
template <int R, int C, bool partial>
static MBT_INLINE void add_tile(
    const double* A, std::ptrdiff_t n, const Seed* x, std::ptrdiff_t count, std::ptrdiff_t column, int last,
    std::ptrdiff_t directions, double* Y) {
  Register y[R][C];
  for (int i = 0; i < R; ++i) {
    double* row = Y + directions * i + column;
    for (int j = 0; j < C; ++j)
      y[i][j] = partial && j == C - 1 ? load_first(row + MBT_W * j, last) : load(row + MBT_W * j);
  }
  for (std::ptrdiff_t k = 0; k < count; ++k) {
    const double* row = x[k].row + column;
    Register z[C];
    for (int j = 0; j < C; ++j)
      z[j] = partial && j == C - 1 ? load_first(row + MBT_W * j, last) : load(row + MBT_W * j);
    for (int i = 0; i < R; ++i) {
      const Register a = broadcast(A[n * i + k]);
      for (int j = 0; j < C; ++j) y[i][j] = y[i][j] + a * z[j];
    }
  }
  for (int i = 0; i < R; ++i) {
    double* row = Y + directions * i + column;
    for (int j = 0; j < C; ++j) {
      if (partial && j == C - 1) {
        store_first(row + MBT_W * j, last, y[i][j]);
      } else {
        store(row + MBT_W * j, y[i][j]);
      }
    }
  }
}

template <int R>
static inline void add_tiles(
    const double* A, std::ptrdiff_t n, const Seed* x, std::ptrdiff_t count, std::ptrdiff_t first, std::ptrdiff_t end,
    std::ptrdiff_t directions, double* Y) {
  std::ptrdiff_t j = first;
  for (; j + 3 * MBT_W <= end; j += 3 * MBT_W) add_tile<R, 3, false>(A, n, x, count, j, 0, directions, Y);
  const int rest = static_cast<int>(end - j), last = rest % MBT_W;
  if (rest == 2 * MBT_W) add_tile<R, 2, false>(A, n, x, count, j, 0, directions, Y);
  if (rest > 2 * MBT_W) add_tile<R, 3, true>(A, n, x, count, j, last, directions, Y);
  if (rest == MBT_W) add_tile<R, 1, false>(A, n, x, count, j, 0, directions, Y);
  if (rest > MBT_W && rest < 2 * MBT_W) add_tile<R, 2, true>(A, n, x, count, j, last, directions, Y);
  if (rest > 0 && rest < MBT_W) add_tile<R, 1, true>(A, n, x, count, j, last, directions, Y);
}

// Y += A X, with A (n, n) and X (n, directions).
static inline void add_product(
    const double* A, std::ptrdiff_t n, const Seed* x, std::ptrdiff_t directions, double* Y) {
  std::ptrdiff_t end;
  for (std::ptrdiff_t k = 0; k < n; k = end) {
    end = k + 1;
    if (x[k].first == x[k].end) continue;
    if (x[k].first + 1 == x[k].end) {
      // Consecutive variables, along consecutive directions.
      double s[LONGEST_DIAGONAL];
      int count = 0;
      s[count++] = x[k].row[x[k].first];
      while (end < n && count < LONGEST_DIAGONAL && x[end].first == x[k].first + count &&
             x[end].end == x[end].first + 1) {
        s[count++] = x[end].row[x[end].first];
        ++end;
      }
      add_diagonal(A + k, n, s, count, directions, Y + x[k].first);
      continue;
    }
    std::ptrdiff_t from = x[k].first, to = x[k].end, i = 0;
    for (; end < n && x[end].first + 1 < x[end].end; ++end) {
      from = x[end].first < from ? x[end].first : from;
      to = x[end].end > to ? x[end].end : to;
    }
    for (; i + 4 <= n; i += 4) add_tiles<4>(A + n * i + k, n, x + k, end - k, from, to, directions, Y + directions * i);
    for (; i < n; ++i) add_tiles<1>(A + n * i + k, n, x + k, end - k, from, to, directions, Y + directions * i);
  }
}

}  // namespace MBT_NS
