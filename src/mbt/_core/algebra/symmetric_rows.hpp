// Rows of a symmetric matrix of doubles: the lower triangle first, from the base on, then the upper one as its mirror.
#pragma once

#include <cstddef>

#include "scalars/config.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

// row[l] = H[:, l]' F for start <= l < end, with spatial vectors in columns as in columns.hpp. Whole vectors are read:
// `stride` has room for one behind the last column.
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

// M[l, k] = M[k, l] for l < k, (n, n)
static inline void mirror_lower(int n, double* M) {
  const std::ptrdiff_t nv = n;
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    // Four rows: blocks of 4 x 4 left of the diagonal, then the block on it.
    for (int l = 0; l < k; l += 4) {
      const double* x = M + nv * k + l;
      double* y = M + nv * l + k;
      const Row a = load_row(x), b = load_row(x + nv), c = load_row(x + 2 * nv), d = load_row(x + 3 * nv);
      const Row ab_even = pick<0, 4, 2, 6>(a, b), ab_odd = pick<1, 5, 3, 7>(a, b);
      const Row cd_even = pick<0, 4, 2, 6>(c, d), cd_odd = pick<1, 5, 3, 7>(c, d);
      store_row(y, pick<0, 1, 4, 5>(ab_even, cd_even));
      store_row(y + nv, pick<0, 1, 4, 5>(ab_odd, cd_odd));
      store_row(y + 2 * nv, pick<2, 3, 6, 7>(ab_even, cd_even));
      store_row(y + 3 * nv, pick<2, 3, 6, 7>(ab_odd, cd_odd));
    }
    for (int i = k + 1; i < k + 4; ++i) {
      for (int l = k; l < i; ++l) M[nv * l + i] = M[nv * i + l];
    }
  }
  for (; k < n; ++k) {
    for (int l = 0; l < k; ++l) M[nv * l + k] = M[nv * k + l];
  }
}

}  // namespace MBT_NS
