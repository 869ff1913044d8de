// Damped least-squares steps in many states at once, and random numbers for seeds.
#pragma once

#include <cstdint>

#include "scalars/lanes.hpp"

namespace MBT_NS {

// Number `k` of the stream of `key`, in [0, 1): SplitMix64 of a counter (Steele, Lea, Flood 2014).
static inline double random_number(std::uint64_t key, std::uint64_t stream, std::uint64_t k) {
  std::uint64_t z = key + 0x9e3779b97f4a7c15u * (stream * 1024u + k + 1u);
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
  }
  return static_cast<double>(z >> 11) * 0x1p-53;
}

// Factorizes a block of three rows and columns of a symmetric matrix as L D L'; `d` receives the reciprocals of D, at
// most that of `floor`.
struct Block {
  Lanes l10, l20, l21, d0, d1, d2;

  MBT_INLINE void factor(const Lanes* A, const Lanes& floor) {
    const Lanes a10 = A[3], a20 = A[6];
    d0 = reciprocal(A[0], floor);
    l10 = a10 * d0;
    l20 = a20 * d0;
    d1 = reciprocal(A[4] - l10 * a10, floor);
    const Lanes a21 = A[7] - l20 * a10;
    l21 = a21 * d1;
    d2 = reciprocal(A[8] - l20 * a20 - l21 * a21, floor);
  }

  MBT_INLINE void solve(Lanes* x) const {
    const Lanes x1 = x[1] - l10 * x[0];
    const Lanes x2 = (x[2] - l20 * x[0] - l21 * x1) * d2;
    x[2] = x2;
    x[1] = x1 * d1 - l21 * x2;
    x[0] = x[0] * d0 - l20 * x2 - l10 * x[1];
  }

  static MBT_INLINE Lanes reciprocal(const Lanes& pivot, const Lanes& floor) {
    return Lanes(1.0) / select_lt(floor, pivot, pivot, floor);
  }
};

// C -= A B', blocks of three rows and columns.
static MBT_INLINE void subtract_product(const Lanes* A, const Lanes* B, Lanes* C) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      C[3 * i + j] = C[3 * i + j] - A[3 * i] * B[3 * j] - A[3 * i + 1] * B[3 * j + 1] - A[3 * i + 2] * B[3 * j + 2];
}

// The lower half of C -= A B', which is symmetric.
static MBT_INLINE void subtract_square(const Lanes* A, const Lanes* B, Lanes* C) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j <= i; ++j)
      C[3 * i + j] = C[3 * i + j] - A[3 * i] * B[3 * j] - A[3 * i + 1] * B[3 * j + 1] - A[3 * i + 2] * B[3 * j + 2];
}

// S = A B' of three rows of J each, in registers.
static MBT_INLINE void sum_products(int rows, int n, const Lanes* A, const Lanes* B, Lanes* S) {
  Lanes s00(0.0), s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00, s20 = s00, s21 = s00, s22 = s00;
  for (int k = 0; k < n; ++k, A += rows, B += rows) {
    const Lanes x = B[0], y = B[1], z = B[2];
    s00 += A[0] * x, s01 += A[0] * y, s02 += A[0] * z;
    s10 += A[1] * x, s11 += A[1] * y, s12 += A[1] * z;
    s20 += A[2] * x, s21 += A[2] * y, s22 += A[2] * z;
  }
  S[0] = s00, S[1] = s01, S[2] = s02;
  S[3] = s10, S[4] = s11, S[5] = s12;
  S[6] = s20, S[7] = s21, S[8] = s22;
}

// The lower half of S = A A'.
static MBT_INLINE void sum_squares(int rows, int n, const Lanes* A, Lanes* S) {
  Lanes s00(0.0), s10 = s00, s11 = s00, s20 = s00, s21 = s00, s22 = s00;
  for (int k = 0; k < n; ++k, A += rows) {
    const Lanes x = A[0], y = A[1], z = A[2];
    s00 += x * x;
    s10 += y * x, s11 += y * y;
    s20 += z * x, s21 += z * y, s22 += z * z;
  }
  S[0] = s00, S[3] = s10, S[4] = s11;
  S[6] = s20, S[7] = s21, S[8] = s22;
}

// d = argmin |e - J d|^2 + damping |d - z|^2, by the rows: (J J' + damping 1) y = e - J z, d = z + J' y.
//
// J is (n, rows): its n columns, one after another; rows is a multiple of three; z may be null. Work: K (rows, rows),
// y (rows).
static inline void solve_damped(
    int rows, int n, const Lanes* J, const Lanes* e, const Lanes& damping, const Lanes* z, Lanes* K, Lanes* y, Lanes* d) {
  const int m = rows / 3;
  // Blocks of K: D on the diagonal, L below it, L D above it.
  for (int a = 0; a < m; ++a) {
    Lanes* row = K + 9 * m * a;
    Lanes s[9];
    for (int b = 0; b < a; ++b) {
      sum_products(rows, n, J + 3 * a, J + 3 * b, s);
      for (int c = 0; c < b; ++c) subtract_product(row + 9 * c, K + 9 * (m * c + b), s);
      const Block* D = reinterpret_cast<const Block*>(K + 9 * (m + 1) * b);
      for (int i = 0; i < 9; ++i) K[9 * (m * b + a) + i] = s[i];
      for (int i = 0; i < 3; ++i) D->solve(s + 3 * i);
      for (int i = 0; i < 9; ++i) row[9 * b + i] = s[i];
    }
    sum_squares(rows, n, J + 3 * a, s);
    for (int c = 0; c < a; ++c) subtract_square(row + 9 * c, K + 9 * (m * c + a), s);
    for (int i = 0; i < 3; ++i) s[4 * i] += damping;
    reinterpret_cast<Block*>(row + 9 * a)->factor(s, damping);
    for (int i = 0; i < 3; ++i) {
      Lanes x = e[3 * a + i];
      if (z != nullptr)
        for (int k = 0; k < n; ++k) x -= J[rows * k + 3 * a + i] * z[k];
      for (int c = 0; c < a; ++c)
        for (int j = 0; j < 3; ++j) x -= row[9 * c + 3 * i + j] * y[3 * c + j];
      y[3 * a + i] = x;
    }
  }
  for (int a = m - 1; a >= 0; --a) {
    Lanes* x = y + 3 * a;
    reinterpret_cast<const Block*>(K + 9 * (m + 1) * a)->solve(x);
    for (int b = a + 1; b < m; ++b)
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) x[i] -= K[9 * (m * b + a) + 3 * j + i] * y[3 * b + j];
  }
  for (int k = 0; k < n; ++k) {
    Lanes x = z == nullptr ? Lanes(0.0) : z[k];
    for (int i = 0; i < rows; ++i) x += J[rows * k + i] * y[i];
    d[k] = x;
  }
}

}  // namespace MBT_NS
