// Conversion between arrays of values (n,) and derivatives (n, directions), and blocks of Dual.
#pragma once

#include <cstddef>

#include "config.hpp"
#include "dual.hpp"

namespace MBT_NS {

// Loads the block of MBT_W directions that begins at `first`; without `derivatives`, constants.
static inline void load_duals(
    const double* values, const double* derivatives, std::ptrdiff_t directions, std::ptrdiff_t first,
    std::ptrdiff_t n, Dual* out) {
  const std::ptrdiff_t count = derivatives ? directions - first : 0;
  if (count >= MBT_W) {
    for (std::ptrdiff_t k = 0; k < n; ++k)
      out[k] = Dual(values[k], Lanes(load(derivatives + directions * k + first)));
    return;
  }
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    Lanes partials(0.0);
    for (std::ptrdiff_t i = 0; i < count; ++i) set_lane(partials, i, derivatives[directions * k + first + i]);
    out[k] = Dual(values[k], partials);
  }
}

static inline void store_duals(
    const Dual* duals, std::ptrdiff_t directions, std::ptrdiff_t first, std::ptrdiff_t n, double* values,
    double* derivatives) {
  const std::ptrdiff_t count = directions - first;
  for (std::ptrdiff_t k = 0; k < n; ++k) {
    values[k] = duals[k].x;
    if (count >= MBT_W) {
      store(derivatives + directions * k + first, duals[k].d.r);
    } else {
      for (std::ptrdiff_t i = 0; i < count; ++i) derivatives[directions * k + first + i] = lane(duals[k].d, i);
    }
  }
}

}  // namespace MBT_NS
