// Directions along which up to three equations along axes contribute little: see docs/implicit_steps.md.
#pragma once

#include <cmath>
#include <cstddef>

#include "scalars/config.hpp"

namespace MBT_NS {

// Eigenvalues of J M^-1 J' for equations along three axes, relative to the largest: below kLittle they come from angles
// given with five digits, (3.2e-5)^2, as in forward dynamics; below kNothing from rounding.
constexpr double kLittle = 1e-9, kNothing = 1e-24;
// Entries of J that are no larger are rounding: rows without others move nothing [1, m].
constexpr double kLeast = 1e-12;

static inline double dot_of(int count, const double* a, const double* b) {
  double sum = 0.0;
  for (int i = 0; i < count; ++i) sum += a[i]*b[i];
  return sum;
}

// Seldom needed, and kept small.
[[maybe_unused]] MBT_COLD static bool search_little(int count, double most, double* S, double* P) {
  double range[9];  // orthonormal directions with large eigenvalues
  int rank = 0;
  for (; rank < count; ++rank) {
    int p = 0;
    for (int i = 1; i < count; ++i)
      if (S[4*i] > S[4*p]) p = i;
    const double pivot = S[4*p];
    if (!(pivot > kLittle*most)) break;
    double* q = range + 3*rank;
    double column[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < count; ++i) column[i] = q[i] = S[3*i + p];
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < count; ++j) S[3*i + j] -= column[i]*column[j]/pivot;
    for (int times = 0; times < 2; ++times)
      for (int r = 0; r < rank; ++r) {
        const double along = dot_of(count, range + 3*r, q);
        for (int i = 0; i < count; ++i) q[i] -= along*range[3*r + i];
      }
    const double length = std::sqrt(dot_of(count, q, q));
    for (int i = 0; i < count; ++i) q[i] /= length;
  }
  if (rank == count) return false;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < count; ++j) {
      P[3*i + j] = 0.0;
      for (int r = 0; r < rank; ++r) P[3*i + j] += range[3*r + i]*range[3*r + j];
    }
  return true;
}

// Finds directions with small eigenvalues in S = J M^-1 J' (3, 3); `most` is the largest entry on its diagonal. Returns
// whether there are any, and P (3, 3), which projects onto the others. S is overwritten.
static inline bool find_little(int count, double most, double* S, double* P) {
  if (!std::isfinite(most)) return false;
  // By far the most frequent case: no eigenvalue is less than the determinant over the square of the trace.
  if (count == 3 && S[0]*(S[4]*S[8] - S[5]*S[5]) - S[1]*(S[1]*S[8] - S[5]*S[2]) + S[2]*(S[1]*S[5] - S[4]*S[2]) >
      27.0*kLittle*most*most*most)
    return false;
  return search_little(count, most, S, P);
}

// Replaces up to three numbers, `stride` apart, by P times them, and writes what that takes out. Seldom needed.
[[maybe_unused]] MBT_COLD static void project(int count, const double* P, std::ptrdiff_t stride, double* x, double* rest) {
  double old[3];
  for (int i = 0; i < count; ++i) old[i] = x[stride*i];
  for (int i = 0; i < count; ++i) {
    x[stride*i] = dot_of(count, P + 3*i, old);
    rest[i] = old[i] - x[stride*i];
  }
}

}  // namespace MBT_NS
