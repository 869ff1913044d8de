// The scalar `double`: one state. Only free functions; the arithmetic is built in.
#pragma once

#include <cmath>

#include "config.hpp"
#include "sincos.hpp"

namespace MBT_NS {

[[maybe_unused]] MBT_COLD static void sincos_far(double x, double* s, double* c) {
  *s = std::sin(x);
  *c = std::cos(x);
}

// *s = sin(x), *c = cos(x), within 2 ulp for every x; NaN for inf and NaN.
static MBT_INLINE void sincos_(double x, double* s, double* c) {
  if (MBT_UNLIKELY(!(std::fabs(x) <= SINCOS_NEAR))) {
    sincos_far(x, s, c);
    return;
  }
  sincos_near(x, s, c);
}

static MBT_INLINE double sqrt_(double a) { return std::sqrt(a); }

static MBT_INLINE double tanh_(double a) { return std::tanh(a); }
static MBT_INLINE double atan2_(double y, double x) { return std::atan2(y, x); }
static MBT_INLINE double floor_(double a) { return std::floor(a); }

// x where a < b, else y (also where a or b is NaN).
static MBT_INLINE double select_lt(double a, double b, double x, double y) { return a < b ? x : y; }

}  // namespace MBT_NS
