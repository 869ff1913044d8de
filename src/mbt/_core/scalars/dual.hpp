// The scalar `Dual`: a value and its partial derivatives in MBT_W directions.
#pragma once

#include <cmath>

#include "config.hpp"
#include "lanes.hpp"
#include "real.hpp"

namespace MBT_NS {

struct Dual {
  double x;  // value
  Lanes d;   // partial derivatives, one direction per lane

  Dual() = default;  // not initialized
  MBT_INLINE Dual(double a) : x(a), d(0.0) {}
  MBT_INLINE Dual(double a, const Lanes& partials) : x(a), d(partials) {}

  // Member by member: a block copy would read x and its padding as one vector, and wait for the
  // store of x to reach the cache.
  MBT_INLINE Dual(const Dual& other) : x(other.x), d(other.d) {}
  MBT_INLINE Dual& operator=(const Dual& other) {
    x = other.x;
    d = other.d;
    return *this;
  }
};

static MBT_INLINE Dual operator+(const Dual& a, const Dual& b) { return Dual(a.x + b.x, a.d + b.d); }
static MBT_INLINE Dual operator-(const Dual& a, const Dual& b) { return Dual(a.x - b.x, a.d - b.d); }
static MBT_INLINE Dual operator*(const Dual& a, const Dual& b) {
  return Dual(a.x * b.x, a.d * b.x + b.d * a.x);
}
static MBT_INLINE Dual operator*(const Dual& a, double b) { return Dual(a.x * b, a.d * b); }
static MBT_INLINE Dual operator*(double a, const Dual& b) { return Dual(a * b.x, b.d * a); }
static MBT_INLINE Dual operator-(const Dual& a) { return Dual(-a.x, -a.d); }

// (a / b)' = (a' - (a / b) b') / b
static MBT_INLINE Dual operator/(const Dual& a, const Dual& b) {
  const double quotient = a.x / b.x;
  return Dual(quotient, (a.d - b.d * quotient) * (1.0 / b.x));
}

static MBT_INLINE Dual& operator+=(Dual& a, const Dual& b) { return a = a + b; }
static MBT_INLINE Dual& operator-=(Dual& a, const Dual& b) { return a = a - b; }
static MBT_INLINE Dual& operator*=(Dual& a, const Dual& b) { return a = a * b; }
static MBT_INLINE Dual& operator*=(Dual& a, double b) { return a = a * b; }
static MBT_INLINE Dual& operator/=(Dual& a, const Dual& b) { return a = a / b; }

static MBT_INLINE double dual_partial(const Dual& a, int i) { return lane(a.d, i); }
static MBT_INLINE void set_dual_partial(Dual& a, int i, double partial) { set_lane(a.d, i, partial); }

// (sin a)' = cos(a) a', (cos a)' = -sin(a) a'
static MBT_INLINE void sincos_(const Dual& a, Dual* s, Dual* c) {
  const Lanes partials = a.d;
  double sin_x, cos_x;
  sincos_(a.x, &sin_x, &cos_x);
  *s = Dual(sin_x, partials * cos_x);
  *c = Dual(cos_x, partials * -sin_x);
}

// sqrt(a)' = a' / (2 sqrt a). At a = 0 the slope is infinite: directions in which a does not
// change keep a zero partial (not 0 * inf = NaN), the others get infinity with the sign of a'.
static MBT_INLINE Dual sqrt_(const Dual& a) {
  const double root = sqrt_(a.x);
  const Lanes partials = a.d * (0.5 / root);
  return Dual(root, Lanes(select_equal(a.d.r, broadcast(0.0), a.d.r, partials.r)));
}

// (tanh a)' = (1 - tanh^2 a) a'
static MBT_INLINE Dual tanh_(const Dual& a) {
  const double t = tanh_(a.x);
  return Dual(t, a.d * ((1.0 - t) * (1.0 + t)));
}

// atan2(y, x)' = (x y' - y x') / (x^2 + y^2)
static MBT_INLINE Dual atan2_(const Dual& y, const Dual& x) {
  const double r = std::hypot(x.x, y.x);
  return Dual(atan2_(y.x, x.x), (y.d * (x.x / r) - x.d * (y.x / r)) * (1.0 / r));
}

// Constant between integers; at integers the derivative from above, which is zero too.
static MBT_INLINE Dual floor_(const Dual& a) { return Dual(floor_(a.x)); }

// The value decides; the partials are those of the chosen branch.
static MBT_INLINE Dual select_lt(const Dual& a, const Dual& b, const Dual& x, const Dual& y) {
  return a.x < b.x ? x : y;
}

}  // namespace MBT_NS
