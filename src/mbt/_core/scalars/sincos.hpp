// Sine and cosine of one angle, or of one angle per lane: a single source for double and Lanes.
//
// Near zero (|x| <= SINCOS_NEAR): |x| = k pi/2 + y, |y| <= pi/4, pi/2 in parts of 31, 16, 33 and 53 bits.
// The products of k < 2^20 with the first three parts and the first two differences are exact, with and
// without contraction to fused multiply-adds; so y is off by little more than one rounding.
// Beyond, and for infinity and NaN: the C library, lane by lane, in a function that is never inlined.
//
// A type V used here has + - *, construction from double and the functions that follow for
// double; its type for bit patterns has << ^ & and, with an integer on the left, -.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "config.hpp"

namespace MBT_NS {

static MBT_INLINE std::uint64_t bits_of(double a) {
  std::uint64_t b;
  std::memcpy(&b, &a, sizeof b);
  return b;
}

static MBT_INLINE double from_bits_as(double, std::uint64_t b) {
  double a;
  std::memcpy(&a, &b, sizeof a);
  return a;
}

static MBT_INLINE double abs_(double a) { return std::fabs(a); }

// Up to here the near formula is within 1.5 ulp, even near multiples of pi/2.
static constexpr double SINCOS_NEAR = 1e6;

// sin and cos of |x| <= SINCOS_NEAR; results for other x are meaningless.
template <class V>
static MBT_INLINE void sincos_near(const V& x, V* s, V* c) {
  constexpr double TWO_OVER_PI = 0x1.45f306dc9c883p-1;
  constexpr double PIO2_1 = 0x1.921fb544p+0;
  constexpr double PIO2_2 = 0x1.0b46p-34;
  constexpr double PIO2_3 = 0x1.1a626331p-54;
  constexpr double PIO2_4 = 0x1.1701b839a252p-88;
  const V to_integer(0x1.8p+52);  // added, it leaves an integer in the low bits of the sum

  // y = |x| - k pi/2
  const V a = abs_(x);
  const V shifted = a * TWO_OVER_PI + to_integer;
  const V k = shifted - to_integer;
  const V y = a - k * PIO2_1 - k * PIO2_2 - k * PIO2_3 - k * PIO2_4;

  // sin y = y + y z P(z), cos y = 1 - z (1/2 - z Q(z)), z = y^2: minimax on |y| <= pi/4, relative
  // errors 2^-57 and 2^-63 with these (rounded) coefficients.
  const V z = y * y;
  const V p = V(-0x1.5555555555548p-3) +
         z * (V(0x1.111111110f730p-7) +
         z * (V(-0x1.a01a019be921cp-13) +
         z * (V(0x1.71de35552bdcep-19) +
         z * (V(-0x1.ae5e4b8480342p-26) +
         z * 0x1.5d8b55cdbd343p-33))));
  const V q = V(0x1.555555555554bp-5) +
         z * (V(-0x1.6c16c16c15011p-10) +
         z * (V(0x1.a01a019c8e7bap-16) +
         z * (V(-0x1.27e4f7f0f0d2ep-22) +
         z * (V(0x1.1ee9db4d62799p-29) +
         z * -0x1.8fa6389b82d68p-37))));
  const auto sin_y = bits_of(y + y * z * p);
  const auto cos_y = bits_of(V(1.0) - z * (V(0.5) - z * q));

  // An odd k exchanges sine and cosine. Signs: those of the quadrant k mod 4; and sin(-x) = -sin(x).
  constexpr std::uint64_t ZERO = 0, ONE = 1, SIGN = ONE << 63;
  const auto quadrant = bits_of(shifted);
  const auto exchange = (sin_y ^ cos_y) & (ZERO - (quadrant & ONE));
  const auto sin_sign = (quadrant << 62) ^ bits_of(x);
  const auto cos_sign = (quadrant << 62) ^ (quadrant << 63);
  *s = from_bits_as(x, sin_y ^ exchange ^ (sin_sign & SIGN));
  *c = from_bits_as(x, cos_y ^ exchange ^ (cos_sign & SIGN));
}

}  // namespace MBT_NS
