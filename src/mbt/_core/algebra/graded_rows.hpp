// Rows Z of constraints whose weights 1 / D differ by many decades: Z D^-1 Z' is computed, and factored as in
// semidefinite_rows.hpp, with twice the digits. What light bodies leave of a row that heavy ones resist is then far above
// rounding, in every attitude.
//
// T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", Numer. Math. 18 (1971).
#pragma once

#include <cmath>
#include <cstddef>

#include "algebra/semidefinite_rows.hpp"

namespace MBT_NS {

// high + low, of which low is below the last digit of high.
struct TwoDoubles {
  double high, low;

  TwoDoubles() = default;  // not initialized
  MBT_INLINE TwoDoubles(double a) : high(a), low(0.0) {}
  MBT_INLINE TwoDoubles(double a, double b) : high(a + b), low(b - (high - a)) {}  // |a| >= |b|
};

static inline TwoDoubles operator-(const TwoDoubles& a) {
  TwoDoubles c;
  c.high = -a.high;
  c.low = -a.low;
  return c;
}
static inline TwoDoubles operator+(const TwoDoubles& a, const TwoDoubles& b) {
  const double s = a.high + b.high, t = s - a.high;
  return TwoDoubles(s, (a.high - (s - t)) + (b.high - t) + (a.low + b.low));
}
static inline TwoDoubles operator-(const TwoDoubles& a, const TwoDoubles& b) { return a + -b; }
static inline TwoDoubles operator*(const TwoDoubles& a, const TwoDoubles& b) {
  const double p = a.high * b.high;
  return TwoDoubles(p, std::fma(a.high, b.high, -p) + (a.high * b.low + a.low * b.high));
}
static inline TwoDoubles operator/(const TwoDoubles& a, const TwoDoubles& b) {
  const double c = a.high / b.high;
  const TwoDoubles rest = a - b * TwoDoubles(c);
  return TwoDoubles(c, rest.high / b.high);
}
static MBT_INLINE TwoDoubles select_lt(
    const TwoDoubles& a, const TwoDoubles& b, const TwoDoubles& x, const TwoDoubles& y) {
  return a.high < b.high ? x : y;
}
static MBT_INLINE bool is_zero(const TwoDoubles& a) { return a.high == 0.0; }

// Lanes of doubles one by one, and a double as its only lane.
static MBT_INLINE double lane(const double& a, int) { return a; }
static MBT_INLINE void set_lane(double& a, int, double value) { a = value; }

// What is left of a row, in parts of it, where so many of its digits are gone that those that remain are looked at.
static constexpr double kFewDigits = 1e-5;

// Whether any of m rows that are factored was judged by rounding alone, and by few digits. `least` is what a row had to
// leave to count, and D the inverse of what it left, or zero.
template <class T>
static MBT_INLINE bool is_graded(std::ptrdiff_t m, int l, double rounding, const T* least, const T* D) {
  for (std::ptrdiff_t e = 0; e < m; ++e)
    if (lane(least[e], l) <= rounding && (lane(D[e], l) == 0.0 || lane(D[e], l) * kFewDigits > 1.0)) return true;
  return false;
}

// A (m, m) += z z' / D, the lower triangle.
template <class T>
MBT_COLD static void add_graded(std::ptrdiff_t m, int l, const T* z, const T& D_inverse, TwoDoubles* A) {
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    if (lane(z[e], l) == 0.0) continue;
    const TwoDoubles s = TwoDoubles(lane(z[e], l)) * TwoDoubles(lane(D_inverse, l));
    for (std::ptrdiff_t f = 0; f <= e; ++f) A[m * e + f] = A[m * e + f] + s * TwoDoubles(lane(z[f], l));
  }
}

// L and D of A (m, m) in units of `scale`; A and the work t (m,) are destroyed.
template <class T>
MBT_COLD static void factor_graded(
    std::ptrdiff_t m, int l, double rounding, const T* scale, const T* least, TwoDoubles* A, TwoDoubles* t, T* L,
    T* D) {
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    for (std::ptrdiff_t f = 0; f <= e; ++f)
      A[m * e + f] = A[m * e + f] * (TwoDoubles(lane(scale[e], l)) * TwoDoubles(lane(scale[f], l)));
    // What counts by few digits does so still; rounding is that of Z, squared.
    t[e] = lane(least[e], l) <= rounding ? rounding * rounding : lane(least[e], l);
  }
  factor_semidefinite(m, A, t);
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    for (std::ptrdiff_t f = 0; f < m; ++f) set_lane(L[m * e + f], l, A[m * e + f].high);
    set_lane(D[e], l, t[e].high);
  }
}

}  // namespace MBT_NS
