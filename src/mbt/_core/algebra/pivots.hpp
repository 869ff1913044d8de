// Pivots of forward dynamics that may be rounding.
#pragma once

#include <cstddef>

#include "algebra/records.hpp"
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

// Pivots this small beside the largest are looked at, see `compare_with_composites`.
constexpr double kSmallPivot = 1e-8;

// Whether there are such pivots, in any lane.
template <class T>
static MBT_INLINE bool has_small_pivots(std::ptrdiff_t nv, const ArticulatedDof<T>* dofs) {
  if (nv == 0) return false;
  T largest = dofs[0].D, least = dofs[0].D;
  for (std::ptrdiff_t k = 1; k < nv; ++k) {
    largest = select_lt(largest, dofs[k].D, dofs[k].D, largest);
    least = select_lt(dofs[k].D, least, dofs[k].D, least);
  }
  return !is_zero(select_lt(largest * kSmallPivot, least, T(0.0), T(1.0)));
}

}  // namespace MBT_NS
