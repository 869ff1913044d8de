// The angle of a nonzero vector (x, y), from -pi to pi: `atan2_`; and for doubles a form without branches, in which
// several angles overlap and which takes half as long as the C library.
//
// The angle is k pi/4 +- a, where |tan(a)| <= tan(pi/8); the ratio of the entries must not overflow or underflow.
#pragma once

#include <cmath>

#include "real.hpp"

namespace MBT_NS {

template <class T>
static MBT_INLINE T angle_of(const T& y, const T& x) {
  return atan2_(y, x);
}

// Within 2.5 ulp.
static MBT_INLINE double angle_of(double y, double x) {
  const double ax = std::fabs(x), ay = std::fabs(y);
  const double least = ax < ay ? ax : ay, most = ax < ay ? ay : ax;
  const double is_steep = ax < ay ? 1.0 : 0.0, is_middle = least > most * 0.41421356237309503 ? 1.0 : 0.0;
  const double is_back = std::signbit(x) ? 1.0 : 0.0;

  const double z = (least - is_middle * most) / (most + is_middle * least);
  double k = is_middle, sign = 1.0;
  k += is_steep * (2.0 - 2.0 * k);
  sign -= 2.0 * is_steep * sign;
  k += is_back * (4.0 - 2.0 * k);
  sign -= 2.0 * is_back * sign;

  // atan(z) = z + z s P(s), s = z^2: minimax on |z| <= tan(pi/8), relative error 2^-57; even and odd powers apart.
  const double s = z * z, t = s * s;
  const double even =
      -0x1.5555555555555p-2 +
      t * (-0x1.24924924360cbp-3 +
      t * (-0x1.745d0b26b83e7p-4 +
      t * (-0x1.10fa75382537fp-4 +
      t * (-0x1.a098bb6ba4941p-5 +
      t * -0x1.3a2b7a07caea9p-6))));
  const double odd =
      0x1.999999999934ap-3 +
      t * (0x1.c71c7185314cbp-4 +
      t * (0x1.3b1262d95579ep-4 +
      t * (0x1.dfe61e80903d2p-5 +
      t * 0x1.41603647c7a7cp-5)));
  const double a = z + z * s * (even + s * odd);
  constexpr double QUARTER_PI = 0x1.921fb54442d18p-1, REST = 0x1.1a62633145c07p-55;
  return std::copysign(k * QUARTER_PI + (k * REST + sign * a), y);
}

}  // namespace MBT_NS
