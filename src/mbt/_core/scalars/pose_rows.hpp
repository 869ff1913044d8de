// A pose of one state in three vector registers, the rows of [R, p].
//
// In a chain each product waits for the previous one: it takes 13 instead of 8 ns per joint if poses go through memory
// and the joint is turned after the product, not before (benchmarks/compare.py, body poses of chain100).
#pragma once

#include "rows.hpp"

namespace MBT_NS {

static MBT_INLINE PoseRows make_pose_rows(const double* R, const double* p) {
  return {{make_row(R[0], R[1], R[2], p[0]), make_row(R[3], R[4], R[5], p[1]), make_row(R[6], R[7], R[8], p[2])}};
}

// The same from contiguous numbers that were not just written: R (3, 3), p (3,).
static MBT_INLINE PoseRows load_constant_pose(const double* X) {
  const Row x = make_row(X[9], X[9], X[9], X[9]), y = make_row(X[10], X[10], X[10], X[10]);
  const Row z = make_row(X[11], X[11], X[11], X[11]);
  return {{pick<0, 1, 2, 7>(load_row(X), x), pick<0, 1, 2, 7>(load_row(X + 3), y), pick<0, 1, 2, 7>(load_row(X + 6), z)}};
}

// X is (4, 4), as is Y in the functions that store.
static MBT_INLINE PoseRows load_pose_rows(const double* X) { return {{load_row(X), load_row(X + 4), load_row(X + 8)}}; }

static MBT_INLINE void store_pose_rows(const PoseRows& X, double* Y) {
  for (int i = 0; i < 3; ++i) store_row(Y + 4 * i, X.r[i]);
  store_row(Y + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// Stores X with its axis i + shift (mod 3) as axis i.
static MBT_INLINE void store_shifted_rows(const PoseRows& X, int shift, double* Y) {
  if (shift == 0) {
    for (int i = 0; i < 3; ++i) store_row(Y + 4 * i, X.r[i]);
  } else if (shift == 1) {
    for (int i = 0; i < 3; ++i) store_row(Y + 4 * i, pick<1, 2, 0, 3>(X.r[i], X.r[i]));
  } else {
    for (int i = 0; i < 3; ++i) store_row(Y + 4 * i, pick<2, 0, 1, 3>(X.r[i], X.r[i]));
  }
  store_row(Y + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// X turned about its own z axis by an angle with sine s and cosine c.
static MBT_INLINE PoseRows turn_rows(const PoseRows& X, double s, double c) {
  const Row along = make_row(c, c, 1.0, 1.0), across = make_row(s, -s, 0.0, 0.0);
  PoseRows Y;
  for (int i = 0; i < 3; ++i) Y.r[i] = X.r[i] * along + pick<1, 0, 3, 2>(X.r[i], X.r[i]) * across;
  return Y;
}

// X with its origin set to zero, even if it was not finite.
static MBT_INLINE PoseRows rotation_rows(const PoseRows& X) {
  const Row zero = make_row(0.0, 0.0, 0.0, 0.0);
  PoseRows Y;
  for (int i = 0; i < 3; ++i) Y.r[i] = pick<0, 1, 2, 7>(X.r[i], zero);
  return Y;
}

// X_AC = X_AB X_BC
static MBT_INLINE PoseRows multiply_rows(const PoseRows& X_AB, const PoseRows& X_BC) {
  const Row place = make_row(0.0, 0.0, 0.0, 1.0);
  PoseRows X_AC;
  for (int i = 0; i < 3; ++i) {
    const Row& a = X_AB.r[i];
    X_AC.r[i] = (pick<0, 0, 0, 0>(a, a) * X_BC.r[0] + a * place) +
                (pick<1, 1, 1, 1>(a, a) * X_BC.r[1] + pick<2, 2, 2, 2>(a, a) * X_BC.r[2]);
  }
  return X_AC;
}

}  // namespace MBT_NS
