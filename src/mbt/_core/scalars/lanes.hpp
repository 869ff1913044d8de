// The scalar `Lanes`: MBT_W independent doubles, one state each, computed at once.
#pragma once

#include <cmath>
#include <cstdint>

#include "config.hpp"
#include "sincos.hpp"

#if defined(MBT_PORTABLE)
#include "register_array.hpp"
#else
#include "register_vector.hpp"
#endif

namespace MBT_NS {

struct Lanes {
  Register r;

  Lanes() = default;  // not initialized
  MBT_INLINE Lanes(double a) : r(broadcast(a)) {}
  explicit MBT_INLINE Lanes(const Register& a) : r(a) {}

  // Spelled out, so that compilers copy a register and not a block of bytes.
  MBT_INLINE Lanes(const Lanes& other) : r(other.r) {}
  MBT_INLINE Lanes& operator=(const Lanes& other) {
    r = other.r;
    return *this;
  }
};

static MBT_INLINE Lanes operator+(const Lanes& a, const Lanes& b) { return Lanes(a.r + b.r); }
static MBT_INLINE Lanes operator-(const Lanes& a, const Lanes& b) { return Lanes(a.r - b.r); }
static MBT_INLINE Lanes operator*(const Lanes& a, const Lanes& b) { return Lanes(a.r * b.r); }
static MBT_INLINE Lanes operator/(const Lanes& a, const Lanes& b) { return Lanes(a.r / b.r); }
static MBT_INLINE Lanes operator-(const Lanes& a) { return Lanes(-a.r); }

static MBT_INLINE Lanes& operator+=(Lanes& a, const Lanes& b) { return a = a + b; }
static MBT_INLINE Lanes& operator-=(Lanes& a, const Lanes& b) { return a = a - b; }
static MBT_INLINE Lanes& operator*=(Lanes& a, const Lanes& b) { return a = a * b; }
static MBT_INLINE Lanes& operator/=(Lanes& a, const Lanes& b) { return a = a / b; }

static MBT_INLINE double lane(const Lanes& a, int i) { return get(a.r, i); }
static MBT_INLINE void set_lane(Lanes& a, int i, double value) { set(a.r, i, value); }

// The functions that sincos.hpp needs for a type.
static MBT_INLINE RegisterBits bits_of(const Lanes& a) { return bits_of(a.r); }
static MBT_INLINE Lanes from_bits_as(const Lanes&, const RegisterBits& b) { return Lanes(from_bits(b)); }
static MBT_INLINE Lanes abs_(const Lanes& a) {
  return Lanes(from_bits(bits_of(a.r) & (~std::uint64_t(0) >> 1)));
}

// Replaces the lanes outside the range of the near formula; the others keep their values.
[[maybe_unused]] MBT_COLD static void sincos_far(const Lanes* x, Lanes* s, Lanes* c) {
  for (int i = 0; i < MBT_W; ++i) {
    const double xi = get(x->r, i);
    if (std::fabs(xi) <= SINCOS_NEAR) continue;
    set(s->r, i, std::sin(xi));
    set(c->r, i, std::cos(xi));
  }
}

// *s = sin(x), *c = cos(x), within 2 ulp for every x; NaN for inf and NaN.
static MBT_INLINE void sincos_(const Lanes& x, Lanes* s, Lanes* c) {
  Lanes near_s, near_c;
  sincos_near(x, &near_s, &near_c);
  if (MBT_UNLIKELY(any_not_within(abs_(x).r, SINCOS_NEAR))) {
    Lanes copy = x, far_s = near_s, far_c = near_c;
    sincos_far(&copy, &far_s, &far_c);
    near_s = far_s;
    near_c = far_c;
  }
  *s = near_s;
  *c = near_c;
}

static MBT_INLINE Lanes sqrt_(const Lanes& a) { return Lanes(square_root(a.r)); }

// By the C library, lane by lane: not used on hot paths.
[[maybe_unused]] MBT_NOINLINE static Lanes tanh_(const Lanes& a) {
  Lanes result;
  for (int i = 0; i < MBT_W; ++i) set_lane(result, i, std::tanh(lane(a, i)));
  return result;
}

[[maybe_unused]] MBT_NOINLINE static Lanes atan2_(const Lanes& y, const Lanes& x) {
  Lanes result;
  for (int i = 0; i < MBT_W; ++i) set_lane(result, i, std::atan2(lane(y, i), lane(x, i)));
  return result;
}

[[maybe_unused]] MBT_NOINLINE static Lanes floor_(const Lanes& a) {
  Lanes result;
  for (int i = 0; i < MBT_W; ++i) set_lane(result, i, std::floor(lane(a, i)));
  return result;
}

// x where a < b, else y (also where a or b is NaN).
static MBT_INLINE Lanes select_lt(const Lanes& a, const Lanes& b, const Lanes& x, const Lanes& y) {
  return Lanes(select_less(a.r, b.r, x.r, y.r));
}

}  // namespace MBT_NS
