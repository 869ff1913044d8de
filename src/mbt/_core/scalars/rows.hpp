// Four doubles in one vector, for matrices of one state with rows of four: poses (4, 4), and 3 x 3 matrices with an
// unused fourth column, which is computed like the others and so must be initialized too.
//
// This pays where the number of instructions matters: a product of two poses takes 12 instead of 36 steps.
// Do not read a row whose numbers were just written one at a time: the processor would wait for the stores.
#pragma once

#include "config.hpp"

namespace MBT_NS {

// Row: + - *, double * Row, and
//   make_row(a, b, c, d), load_row(p), store_row(p, row)
//   select_between(start, end, a, b): a in places start <= i < end, else b
//   number<i>(a), pick<i, j, k, l>(a, b): numbers 0 to 3 are those of a, 4 to 7 those of b
#if defined(MBT_PORTABLE)

struct Row {
  double x[4];
};

static MBT_INLINE Row make_row(double a, double b, double c, double d) { return {{a, b, c, d}}; }
static MBT_INLINE Row load_row(const double* p) { return {{p[0], p[1], p[2], p[3]}}; }
static MBT_INLINE void store_row(double* p, const Row& a) {
  for (int i = 0; i < 4; ++i) p[i] = a.x[i];
}
static MBT_INLINE Row operator+(const Row& a, const Row& b) {
  return {{a.x[0] + b.x[0], a.x[1] + b.x[1], a.x[2] + b.x[2], a.x[3] + b.x[3]}};
}
static MBT_INLINE Row operator-(const Row& a, const Row& b) {
  return {{a.x[0] - b.x[0], a.x[1] - b.x[1], a.x[2] - b.x[2], a.x[3] - b.x[3]}};
}
static MBT_INLINE Row operator*(const Row& a, const Row& b) {
  return {{a.x[0] * b.x[0], a.x[1] * b.x[1], a.x[2] * b.x[2], a.x[3] * b.x[3]}};
}
static MBT_INLINE Row operator*(double s, const Row& a) { return {{s * a.x[0], s * a.x[1], s * a.x[2], s * a.x[3]}}; }
template <int i>
static MBT_INLINE double number(const Row& a) {
  return a.x[i];
}
template <int i, int j, int k, int l>
static MBT_INLINE Row pick(const Row& a, const Row& b) {
  const double x[8] = {a.x[0], a.x[1], a.x[2], a.x[3], b.x[0], b.x[1], b.x[2], b.x[3]};
  return {{x[i], x[j], x[k], x[l]}};
}

static MBT_INLINE Row select_between(int start, int end, const Row& x, const Row& y) {
  Row z;
  for (int i = 0; i < 4; ++i) z.x[i] = start <= i && i < end ? x.x[i] : y.x[i];
  return z;
}

#elif defined(__AVX__)

typedef double Row __attribute__((vector_size(32)));
typedef double UnalignedRow __attribute__((vector_size(32), aligned(8), may_alias));

static MBT_INLINE Row make_row(double a, double b, double c, double d) { return Row{a, b, c, d}; }
static MBT_INLINE Row load_row(const double* p) { return *reinterpret_cast<const UnalignedRow*>(p); }
static MBT_INLINE void store_row(double* p, const Row& a) { *reinterpret_cast<UnalignedRow*>(p) = a; }
template <int i>
static MBT_INLINE double number(const Row& a) {
  return a[i];
}
template <int i, int j, int k, int l>
static MBT_INLINE Row pick(const Row& a, const Row& b) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, i, j, k, l);
#else
  typedef long long Index __attribute__((vector_size(32)));
  return __builtin_shuffle(a, b, Index{i, j, k, l});
#endif
}

static MBT_INLINE Row select_between(int start, int end, const Row& x, const Row& y) {
  typedef long long Index __attribute__((vector_size(32)));
  const Index i = {0, 1, 2, 3};
  return ((i >= start) & (i < end)) ? x : y;
}

#else

// Two registers of two. (GCC passes vectors longer than a register through memory.)
typedef double Half __attribute__((vector_size(16)));
typedef double UnalignedHalf __attribute__((vector_size(16), aligned(8), may_alias));

struct Row {
  Half low, high;
};

static MBT_INLINE Row make_row(double a, double b, double c, double d) { return {Half{a, b}, Half{c, d}}; }
static MBT_INLINE Row load_row(const double* p) {
  return {*reinterpret_cast<const UnalignedHalf*>(p), *reinterpret_cast<const UnalignedHalf*>(p + 2)};
}
static MBT_INLINE void store_row(double* p, const Row& a) {
  *reinterpret_cast<UnalignedHalf*>(p) = a.low;
  *reinterpret_cast<UnalignedHalf*>(p + 2) = a.high;
}
static MBT_INLINE Row operator+(const Row& a, const Row& b) { return {a.low + b.low, a.high + b.high}; }
static MBT_INLINE Row operator-(const Row& a, const Row& b) { return {a.low - b.low, a.high - b.high}; }
static MBT_INLINE Row operator*(const Row& a, const Row& b) { return {a.low * b.low, a.high * b.high}; }
static MBT_INLINE Row operator*(double s, const Row& a) { return {s * a.low, s * a.high}; }
template <int i>
static MBT_INLINE double number(const Row& a) {
  return i < 2 ? a.low[i % 2] : a.high[i % 2];
}
template <int i, int j, int k, int l>
static MBT_INLINE Row pick(const Row& a, const Row& b) {
  return make_row(
      number<i % 4>(i < 4 ? a : b), number<j % 4>(j < 4 ? a : b), number<k % 4>(k < 4 ? a : b),
      number<l % 4>(l < 4 ? a : b));
}

static MBT_INLINE Row select_between(int start, int end, const Row& x, const Row& y) {
  typedef long long Index __attribute__((vector_size(16)));
  const Index i = {0, 1}, j = {2, 3};
  return {((i >= start) & (i < end)) ? x.low : y.low, ((j >= start) & (j < end)) ? x.high : y.high};
}

#endif

static MBT_INLINE void store_row_first(double* p, int n, const Row& a) {
  if (n > 0) p[0] = number<0>(a);
  if (n > 1) p[1] = number<1>(a);
  if (n > 2) p[2] = number<2>(a);
}

// X_AC = X_AB X_BC, (4, 4)
static MBT_INLINE void multiply_pose_rows(const double* X_AB, const double* X_BC, double* X_AC) {
  const Row r0 = load_row(X_BC), r1 = load_row(X_BC + 4), r2 = load_row(X_BC + 8);
  for (int i = 0; i < 12; i += 4) {
    store_row(X_AC + i, make_row(0.0, 0.0, 0.0, X_AB[i + 3]) + X_AB[i] * r0 + X_AB[i + 1] * r1 + X_AB[i + 2] * r2);
  }
  store_row(X_AC + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// Rows of X_AC = X_AB X_BC, with X_AB (4, 4) and X_BC = [R, p]
struct PoseRows {
  Row r[3];
};
static MBT_INLINE PoseRows compose_rows(const double* X_AB, const double* R, const double* p) {
  const Row r0 = make_row(R[0], R[1], R[2], p[0]), r1 = make_row(R[3], R[4], R[5], p[1]);
  const Row r2 = make_row(R[6], R[7], R[8], p[2]);
  PoseRows X;
  for (int i = 0; i < 3; ++i, X_AB += 4) {
    X.r[i] = make_row(0.0, 0.0, 0.0, X_AB[3]) + X_AB[0] * r0 + X_AB[1] * r1 + X_AB[2] * r2;
  }
  return X;
}

// X_AC = X_AB X_BC, (4, 4), with X_BC = [R, p]
static MBT_INLINE void compose_pose_rows(const double* X_AB, const double* R, const double* p, double* X_AC) {
  const PoseRows X = compose_rows(X_AB, R, p);
  for (int i = 0; i < 3; ++i) store_row(X_AC + 4 * i, X.r[i]);
  store_row(X_AC + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// The same, turned about the z axis of C by an angle with sine s and cosine c.
static MBT_INLINE void compose_turned_rows(
    const double* X_AB, const double* R, const double* p, double s, double c, double* X_AC) {
  const PoseRows X = compose_rows(X_AB, R, p);
  const Row along = make_row(c, c, 1.0, 1.0), across = make_row(s, -s, 0.0, 0.0);
  for (int i = 0; i < 3; ++i) {
    store_row(X_AC + 4 * i, X.r[i] * along + pick<1, 0, 3, 2>(X.r[i], X.r[i]) * across);
  }
  store_row(X_AC + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// Y has axis i + shift (mod 3) of X as its axis i, and the origin of X.
static MBT_INLINE void shift_axes_rows(const double* X, int shift, double* Y) {
  if (shift == 0) {
    for (int i = 0; i < 16; i += 4) store_row(Y + i, load_row(X + i));
    return;
  }
  for (int i = 0; i < 12; i += 4) {
    const Row r = load_row(X + i);
    store_row(Y + i, shift == 1 ? pick<1, 2, 0, 3>(r, r) : pick<2, 0, 1, 3>(r, r));
  }
  store_row(Y + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// X = [R, p; 0, 1]
static MBT_INLINE void set_pose_rows(const double* R, const double* p, double* X) {
  for (int i = 0; i < 3; ++i) store_row(X + 4 * i, make_row(R[3 * i], R[3 * i + 1], R[3 * i + 2], p[i]));
  store_row(X + 12, make_row(0.0, 0.0, 0.0, 1.0));
}

// A 3 x 3 matrix.
struct Rows {
  Row r0, r1, r2;
};

static MBT_INLINE Rows load_rows_of_four(const double* p) { return {load_row(p), load_row(p + 4), load_row(p + 8)}; }
static MBT_INLINE void store_rows_of_four(double* p, const Rows& m) {
  store_row(p, m.r0);
  store_row(p + 4, m.r1);
  store_row(p + 8, m.r2);
}

static MBT_INLINE Rows operator+(const Rows& a, const Rows& b) { return {a.r0 + b.r0, a.r1 + b.r1, a.r2 + b.r2}; }

static MBT_INLINE Rows transpose(const Rows& m) {
  const Row even = pick<0, 4, 2, 6>(m.r0, m.r1);
  const Row odd = pick<1, 5, 3, 7>(m.r0, m.r1);
  const Row swapped = pick<1, 0, 3, 2>(m.r2, m.r2);
  return {pick<0, 1, 4, 5>(even, m.r2), pick<0, 1, 4, 5>(odd, swapped),
          pick<2, 3, 6, 7>(even, m.r2)};
}

// y = x'
static MBT_INLINE void transpose_four(const Row* x, Row* y) {
  const Row ab_even = pick<0, 4, 2, 6>(x[0], x[1]), ab_odd = pick<1, 5, 3, 7>(x[0], x[1]);
  const Row cd_even = pick<0, 4, 2, 6>(x[2], x[3]), cd_odd = pick<1, 5, 3, 7>(x[2], x[3]);
  y[0] = pick<0, 1, 4, 5>(ab_even, cd_even);
  y[1] = pick<0, 1, 4, 5>(ab_odd, cd_odd);
  y[2] = pick<2, 3, 6, 7>(ab_even, cd_even);
  y[3] = pick<2, 3, 6, 7>(ab_odd, cd_odd);
}

// R m, with R (3, 3)
static MBT_INLINE Rows rotate(const double* R, const Rows& m) {
  return {R[0] * m.r0 + R[1] * m.r1 + R[2] * m.r2, R[3] * m.r0 + R[4] * m.r1 + R[5] * m.r2,
          R[6] * m.r0 + R[7] * m.r1 + R[8] * m.r2};
}

// [p]x m
static MBT_INLINE Rows cross(const double* p, const Rows& m) {
  return {p[1] * m.r2 - p[2] * m.r1, p[2] * m.r0 - p[0] * m.r2, p[0] * m.r1 - p[1] * m.r0};
}

// m - x y', with x of three
static MBT_INLINE Rows subtract_product(const Rows& m, const Row& x, const Row& y) {
  return {m.r0 - pick<0, 0, 0, 0>(x, x) * y, m.r1 - pick<1, 1, 1, 1>(x, x) * y, m.r2 - pick<2, 2, 2, 2>(x, x) * y};
}

}  // namespace MBT_NS
