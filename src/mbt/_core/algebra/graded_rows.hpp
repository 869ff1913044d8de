// Z D^-1 Z' of constraint rows Z, computed and factored (semidefinite_rows.hpp) with twice the digits. Where pivots D
// differ by many decades, a row that moves only heavy bodies keeps few digits once the rows before it, which light
// bodies yield to far more easily, are eliminated. With twice the digits it stays far above rounding error in every
// attitude.
//
// T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision", Numer. Math. 18 (1971).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "algebra/semidefinite_rows.hpp"

namespace MBT_NS {

// The sum high + low, where low is smaller than the last digit of high.
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

// Access to single lanes; a double, or the value of a Dual, is its own only lane.
static MBT_INLINE double lane(const double& a, int) { return a; }
static MBT_INLINE double lane(const Dual& a, int) { return a.x; }
static MBT_INLINE void set_lane(double& a, int, double value) { a = value; }
static MBT_INLINE void set_lane(Dual& a, int, double value) { a = Dual(value, Lanes(value)); }

// A row whose pivot is less than this fraction of its size has lost too many digits.
static constexpr double kFewDigits = 1e-5;

// Whether any of m factored rows has lost too many digits, or was dropped as rounding error. `least` has the pivots
// that rows had to exceed: larger than `rounding` where the few digits of model files are the limit. D has the inverse
// pivots, or zero.
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

// Squared rounding error of lever arms, relative to the lengths that they are differences of.
static constexpr double kSquaredRoundingOfLever = 1e-28;

// L and D of A (m, m) in units of `scale`. A and t (m,) are working memory. Z itself has rounding errors, which enter a
// pivot squared; where lever arms cancel, they exceed those expected from the row's size. `moved` is the sum of
// (length)^2 / D over all dofs, the pivot of levers that do not cancel.
template <class T>
MBT_COLD static void factor_graded(
    std::ptrdiff_t m, int l, double rounding, const T* scale, const T* least, const T& moved, TwoDoubles* A,
    TwoDoubles* t, T* L, T* D) {
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    const double s = lane(scale[e], l);
    for (std::ptrdiff_t f = 0; f <= e; ++f) A[m * e + f] = A[m * e + f] * (TwoDoubles(s) * TwoDoubles(lane(scale[f], l)));
    t[e] = lane(least[e], l) > rounding
        ? lane(least[e], l)
        : std::fmax(rounding * rounding, kSquaredRoundingOfLever * s * s * lane(moved, l));
  }
  factor_semidefinite(m, A, t);
  for (std::ptrdiff_t e = 0; e < m; ++e) {
    for (std::ptrdiff_t f = 0; f < m; ++f) set_lane(L[m * e + f], l, A[m * e + f].high);
    set_lane(D[e], l, t[e].high);
  }
}

// Whether one of m factored rows has lost its digits: its pivot is below 1 / `most`, or it was dropped while dofs
// differ by more than any row can resolve. `least` is 1 / D of the heaviest dof, `moved` that of all dofs together.
template <class T>
MBT_COLD static bool has_lost(
    std::ptrdiff_t m, int l, double most, const T& least, const T& moved, const T* D) {
  const bool are_far_apart = lane(moved, l) > most * lane(least, l);
  for (std::ptrdiff_t e = 0; e < m; ++e)
    if (lane(D[e], l) > most || (are_far_apart && lane(D[e], l) == 0.0)) return true;
  return false;
}

// Makes all results that depend on these rows NaN.
template <class T>
MBT_COLD static void refuse(std::ptrdiff_t m, int l, T* D) {
  for (std::ptrdiff_t e = 0; e < m; ++e) set_lane(D[e], l, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace MBT_NS
