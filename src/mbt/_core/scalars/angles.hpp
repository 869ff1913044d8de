// Sines and cosines of the angles among the positions, all at once: their latencies overlap, and for one state of
// doubles up to four are computed at a time. (One after another they take 40 % of inverse dynamics.)
//
// The angles are q[index[0 .. n - 1]]. `index`, `s` and `c` are padded to a multiple of MBT_W.
#pragma once

#include "config.hpp"
#include "lanes.hpp"
#include "real.hpp"
#include "rows.hpp"

namespace MBT_NS {

template <class T>
static MBT_NOINLINE void sincos_of_angles(const T* q, const int* index, int n, T* s, T* c) {
  for (int k = 0; k < n; ++k) sincos_(q[index[k]], s + k, c + k);
}

#if MBT_W == 8 && !defined(MBT_PORTABLE)
// Four angles at a time: on an Intel processor a call of one state takes 40 ns more if it uses a register of 512 bits.
struct HalfLanes {
  typedef std::uint64_t Bits __attribute__((vector_size(32)));
  Row r;

  HalfLanes() = default;  // not initialized
  MBT_INLINE HalfLanes(double a) : r(make_row(a, a, a, a)) {}
  explicit MBT_INLINE HalfLanes(const Row& a) : r(a) {}
  // Spelled out, as in Lanes.
  MBT_INLINE HalfLanes(const HalfLanes& other) : r(other.r) {}
  MBT_INLINE HalfLanes& operator=(const HalfLanes& other) {
    r = other.r;
    return *this;
  }
};

static MBT_INLINE HalfLanes operator+(const HalfLanes& a, const HalfLanes& b) { return HalfLanes(a.r + b.r); }
static MBT_INLINE HalfLanes operator-(const HalfLanes& a, const HalfLanes& b) { return HalfLanes(a.r - b.r); }
static MBT_INLINE HalfLanes operator*(const HalfLanes& a, const HalfLanes& b) { return HalfLanes(a.r * b.r); }
static MBT_INLINE HalfLanes::Bits bits_of(const HalfLanes& a) { return (HalfLanes::Bits)a.r; }
static MBT_INLINE HalfLanes from_bits_as(const HalfLanes&, const HalfLanes::Bits& b) { return HalfLanes((Row)b); }
static MBT_INLINE HalfLanes abs_(const HalfLanes& a) { return from_bits_as(a, bits_of(a) & (~std::uint64_t(0) >> 1)); }

[[maybe_unused]] MBT_COLD static void sincos_one_by_one(const double* q, const int* index, double* s, double* c) {
  for (int i = 0; i < 4; ++i) sincos_(q[index[i]], s + i, c + i);
}

static inline void sincos_of_angles(const double* q, const int* index, int n, double* s, double* c) {
  for (int k = 0; k < n; k += 4) {
    const int* at = index + k;
    const HalfLanes x(make_row(q[at[0]], q[at[1]], q[at[2]], q[at[3]]));
    HalfLanes sin_x, cos_x;
    sincos_near(x, &sin_x, &cos_x);
    store_row(s + k, sin_x.r);
    store_row(c + k, cos_x.r);
    if (MBT_UNLIKELY(_mm256_movemask_pd((__m256d)~(abs_(x).r <= SINCOS_NEAR)) != 0)) {
      sincos_one_by_one(q, at, s + k, c + k);
    }
  }
}
#else
static inline void sincos_of_angles(const double* q, const int* index, int n, double* s, double* c) {
  for (int k = 0; k < n; k += MBT_W) {
    Lanes x(0.0), sin_x, cos_x;
    for (int i = 0; i < MBT_W; ++i) set_lane(x, i, q[index[k + i]]);
    sincos_(x, &sin_x, &cos_x);
    store(s + k, sin_x.r);
    store(c + k, cos_x.r);
  }
}

#endif

}  // namespace MBT_NS
