// Steps of least squares with damping in many states at once, and seeds for them.
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

// d = argmin |e - J d|^2 + damping |d - z|^2, by the rows: (J J' + damping 1) y = e - J z, d = z + J' y.
//
// J is (rows, n), rows a multiple of three; z may be null. Work: K (rows, rows), y (rows).
static inline void solve_damped(
    int rows, int n, const Lanes* J, const Lanes* e, const Lanes& damping, const Lanes* z, Lanes* K, Lanes* y, Lanes* d) {
  for (int a = 0; a < rows; a += 3) {
    const Lanes* Ja = J + a * n;
    for (int b = 0; b <= a; b += 3) {
      const Lanes* Jb = J + b * n;
      Lanes s[9];
      for (int i = 0; i < 9; ++i) s[i] = Lanes(0.0);
      for (int k = 0; k < n; ++k) {
        const Lanes b0 = Jb[k], b1 = Jb[n + k], b2 = Jb[2 * n + k];
        for (int i = 0; i < 3; ++i) {
          const Lanes x = Ja[i * n + k];
          s[3 * i] += x * b0;
          s[3 * i + 1] += x * b1;
          s[3 * i + 2] += x * b2;
        }
      }
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) K[(a + i) * rows + b + j] = s[3 * i + j];
    }
    for (int i = a; i < a + 3; ++i) {
      K[i * rows + i] += damping;
      Lanes x = e[i];
      if (z != nullptr)
        for (int k = 0; k < n; ++k) x -= J[i * n + k] * z[k];
      y[i] = x;
    }
  }
  // K = L D L': below the diagonal L, on it 1 / D; y becomes L^-1 y on the way.
  for (int i = 0; i < rows; ++i) {
    Lanes* Ki = K + i * rows;
    Lanes pivot = Ki[i];
    for (int j = 0; j < i; ++j) {
      const Lanes* Kj = K + j * rows;
      Lanes x = Ki[j];
      for (int k = 0; k < j; ++k) x -= Ki[k] * Kj[k];  // L_ik D_k of this row so far
      Ki[j] = x;
    }
    Lanes x = y[i];
    for (int j = 0; j < i; ++j) {
      const Lanes scaled = Ki[j] * K[j * rows + j];
      pivot -= scaled * Ki[j];
      x -= scaled * y[j];
      Ki[j] = scaled;
    }
    Ki[i] = Lanes(1.0) / select_lt(damping, pivot, pivot, damping);
    y[i] = x;
  }
  for (int i = rows - 1; i >= 0; --i) {
    Lanes x = y[i] * K[i * rows + i];
    for (int k = i + 1; k < rows; ++k) x -= K[k * rows + i] * y[k];
    y[i] = x;
  }
  for (int k = 0; k < n; ++k) d[k] = z == nullptr ? Lanes(0.0) : z[k];
  for (int i = 0; i < rows; ++i) {
    const Lanes x = y[i];
    for (int k = 0; k < n; ++k) d[k] += J[i * n + k] * x;
  }
}

}  // namespace MBT_NS
