// Sines and cosines of the angles among the positions, all at once: their latencies overlap, and one state of
// doubles computes MBT_W at a time. (One after the other they are 40 % of inverse dynamics.)
//
// The angles are q[index[0 .. n - 1]]. `index`, `s` and `c` are padded to a multiple of MBT_W.
#pragma once

#include "config.hpp"
#include "lanes.hpp"
#include "real.hpp"

namespace MBT_NS {

template <class T>
static inline void sincos_of_angles(const T* q, const int* index, int n, T* s, T* c) {
  for (int k = 0; k < n; ++k) sincos_(q[index[k]], s + k, c + k);
}

static inline void sincos_of_angles(const double* q, const int* index, int n, double* s, double* c) {
  for (int k = 0; k < n; k += MBT_W) {
    Lanes x(0.0), sin_x, cos_x;
    for (int i = 0; i < MBT_W; ++i) set_lane(x, i, q[index[k + i]]);
    sincos_(x, &sin_x, &cos_x);
    store(s + k, sin_x.r);
    store(c + k, cos_x.r);
  }
}

}  // namespace MBT_NS
