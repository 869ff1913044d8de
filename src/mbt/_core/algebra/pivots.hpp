// Pivots of forward dynamics that may be rounding.
#pragma once

#include <cstddef>

#include "scalars/dual.hpp"
#include "scalars/lanes.hpp"
#include "scalars/real.hpp"

namespace MBT_NS {

// Whether a number is zero, in all lanes.
static MBT_INLINE bool is_zero(double a) { return a == 0.0; }
static MBT_INLINE bool is_zero(const Lanes& a) { return !any_not_within(abs_(a).r, 0.0); }
static MBT_INLINE bool is_zero(const Dual& a) { return a.x == 0.0; }
template <class T>
static MBT_INLINE bool is_zero(const T&) {  // who knows
  return false;
}

// Whether a number is positive, or not a number, in any lane.
static MBT_INLINE bool is_positive(double a) { return !(a <= 0.0); }
static MBT_INLINE bool is_positive(const Lanes& a) { return any_not_within(a.r, 0.0); }
static MBT_INLINE bool is_positive(const Dual& a) { return !(a.x <= 0.0); }
template <class T>
static MBT_INLINE bool is_positive(const T&) {  // who knows
  return false;
}

// Pivots this small beside the largest are compared with composites.
constexpr double kSmallPivot = 1e-8;

// Of composites: rounding is more where pivots outboard are small, too, in most attitudes by less than this.
constexpr double kSeveralShares = 1e3;

// Whether there are such pivots, in any lane; D of dof k is `stride * k` numbers further.
template <class T>
static MBT_INLINE bool has_small_pivots(std::ptrdiff_t nv, const T* D, std::ptrdiff_t stride) {
  if (nv == 0) return false;
  T largest = D[0], least = D[0];
  const auto look_at = [&](std::ptrdiff_t k) {
    largest = select_lt(largest, D[stride * k], D[stride * k], largest);
    least = select_lt(D[stride * k], least, D[stride * k], least);
  };
  std::ptrdiff_t k = 1;
  for (; k + 4 <= nv; k += 4) {
    look_at(k);
    look_at(k + 1);
    look_at(k + 2);
    look_at(k + 3);
  }
  for (; k < nv; ++k) look_at(k);
  return is_positive(largest * kSmallPivot - least);
}

}  // namespace MBT_NS
