// Rows of symmetric matrices of doubles, in whole registers.
#pragma once

#include <cstddef>

#include "scalars/lanes.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

// row[l] = H[:, l]' F for start <= l < end, with spatial vectors in columns as in columns.hpp. Whole SIMD vectors are
// read: `stride` leaves room for one past the last column.
static MBT_INLINE void project_row(
    const double* F, int start, int end, std::ptrdiff_t stride, const double* H, double* row) {
  const Register F0 = broadcast(F[0]), F1 = broadcast(F[1]), F2 = broadcast(F[2]);
  const Register F3 = broadcast(F[3]), F4 = broadcast(F[4]), F5 = broadcast(F[5]);
  for (; start < end; start += MBT_W) {
    const double* x = H + start;
    const Register torque = F0 * load(x) + F1 * load(x + stride) + F2 * load(x + 2 * stride);
    const Register y = torque + (F3 * load(x + 3 * stride) + F4 * load(x + 4 * stride) + F5 * load(x + 5 * stride));
    if (end - start >= MBT_W) {
      store(row + start, y);
    } else {
      store_first(row + start, end - start, y);
    }
  }
}

template <bool from_lower>
static MBT_INLINE void mirror_entry(int k, int l, std::ptrdiff_t nv, double* M) {
  if (from_lower) {
    M[nv * l + k] = M[nv * k + l];
  } else {
    M[nv * k + l] = M[nv * l + k];
  }
}

// Rows k to k + 3: blocks of 4 x 4 left of the diagonal, the last two of which may overlap, then the one on it.
template <bool from_lower>
static MBT_INLINE void mirror_four(int k, std::ptrdiff_t nv, double* M) {
  for (int l = 0; l < k; l += 4) {
    if (l > k - 4) l = k - 4;
    double *lower = M + nv * k + l, *upper = M + nv * l + k;
    const double* x = from_lower ? lower : upper;
    double* y = from_lower ? upper : lower;
    const Row rows[4] = {load_row(x), load_row(x + nv), load_row(x + 2 * nv), load_row(x + 3 * nv)};
    Row columns[4];
    transpose_four(rows, columns);
    for (int i = 0; i < 4; ++i) store_row(y + nv * i, columns[i]);
  }
  for (int i = k + 1; i < k + 4; ++i) {
    for (int l = k; l < i; ++l) mirror_entry<from_lower>(i, l, nv, M);
  }
}

// M[l, k] = M[k, l], (n, n), of those below the diagonal or of those above.
template <bool from_lower>
static inline void mirror(int n, double* M) {
  if (n < 8) {
    for (int k = 0; k < n; ++k) {
      for (int l = 0; l < k; ++l) mirror_entry<from_lower>(k, l, n, M);
    }
    return;
  }
  for (int k = 0; k < n; k += 4) mirror_four<from_lower>(k > n - 4 ? n - 4 : k, n, M);
}

static inline void mirror_lower(int n, double* M) { mirror<true>(n, M); }
static inline void mirror_upper(int n, double* M) { mirror<false>(n, M); }

}  // namespace MBT_NS
