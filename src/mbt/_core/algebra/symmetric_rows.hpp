// Rows of symmetric matrices of doubles, in whole registers.
#pragma once

#include <cstddef>

#include "scalars/config.hpp"
#include "scalars/rows.hpp"
#include "scalars/transpose.hpp"

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

// Rows and columns l, l + 1, .. of M, one register of them, for MBT_W columns f of F. The last of these columns is dof
// k, counted like M from the first of the six.
template <int l>
static MBT_INLINE void set_rows_and_columns(const double* H, const Register* f, int k, std::ptrdiff_t nv, double* M) {
  constexpr int rows = 6 - l < MBT_W ? 6 - l : MBT_W;
  Lanes row[MBT_W], column[MBT_W];
  for (int i = 0; i < rows; ++i) {
    const double* h = H + 6 * (l + i);
    row[i].r = (broadcast(h[0]) * f[0] + broadcast(h[1]) * f[1] + broadcast(h[2]) * f[2]) +
               (broadcast(h[3]) * f[3] + broadcast(h[4]) * f[4] + broadcast(h[5]) * f[5]);
    store(M + nv * (l + i) + k, reversed(row[i]).r);
  }
  for (int i = rows; i < MBT_W; ++i) row[i].r = Register{};
  transpose(row, column);
  for (int i = 0; i < MBT_W; ++i) {
    const Register& x = column[i].r;
    double* to = M + nv * (k + MBT_W - 1 - i) + l;
    if (rows >= 4) store_row(to, make_row(get(x, 0), get(x, 1), get(x, 2 % MBT_W), get(x, 3 % MBT_W)));
    for (int j = rows / 4 * 4; j < rows; ++j) to[j] = get(x, j);
  }
}

// M[l, k] = M[k, l] = H_l' F_k for the six dofs l from `first` on and l <= k < end. F holds its columns as in columns.hpp,
// last dof first; there are at least MBT_W.
[[maybe_unused]] static MBT_NOINLINE void set_six_rows(
    const double* H, const double* F, std::ptrdiff_t stride, int first, int end, std::ptrdiff_t nv, double* M) {
  const int n = end - first;
  M += nv * first + first;
  for (int s = 0; s < n; s += MBT_W) {
    if (s > n - MBT_W) s = n - MBT_W;  // the last block overlaps the one before it
    Register f[6];
    for (int i = 0; i < 6; ++i) f[i] = load(F + stride * i + s);
    set_rows_and_columns<0>(H, f, n - s - MBT_W, nv, M);
    if (MBT_W < 6) set_rows_and_columns<MBT_W < 6 ? MBT_W : 0>(H, f, n - s - MBT_W, nv, M);
    if (2 * MBT_W < 6) set_rows_and_columns<2 * MBT_W < 6 ? 2 * MBT_W : 0>(H, f, n - s - MBT_W, nv, M);
  }
  for (int k = 1; k < 6; ++k) {  // H_l' F_k and H_k' F_l are rounded differently
    for (int l = 0; l < k; ++l) M[nv * k + l] = M[nv * l + k];
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
