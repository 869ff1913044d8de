// Register: MBT_W doubles in a plain array, for compilers without vector extensions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "config.hpp"

namespace MBT_NS {

struct Register {
  double lane[MBT_W];
};

struct RegisterBits {
  std::uint64_t lane[MBT_W];
};

// Return a Type with the expression in every lane i.
#define MBT_EACH_LANE(Type, expression)                   \
  Type r;                                                 \
  for (int i = 0; i < MBT_W; ++i) r.lane[i] = expression; \
  return r

#define MBT_BINARY(Type, op)                                               \
  static MBT_INLINE Type operator op(const Type& a, const Type& b) {       \
    MBT_EACH_LANE(Type, a.lane[i] op b.lane[i]);                           \
  }

MBT_BINARY(Register, +)
MBT_BINARY(Register, -)
MBT_BINARY(Register, *)
MBT_BINARY(Register, /)
MBT_BINARY(RegisterBits, ^)
MBT_BINARY(RegisterBits, &)

static MBT_INLINE Register operator-(const Register& a) { MBT_EACH_LANE(Register, -a.lane[i]); }

static MBT_INLINE RegisterBits operator&(const RegisterBits& a, std::uint64_t b) {
  MBT_EACH_LANE(RegisterBits, a.lane[i] & b);
}

static MBT_INLINE RegisterBits operator-(std::uint64_t a, const RegisterBits& b) {
  MBT_EACH_LANE(RegisterBits, a - b.lane[i]);
}

static MBT_INLINE RegisterBits operator<<(const RegisterBits& a, int n) {
  MBT_EACH_LANE(RegisterBits, a.lane[i] << n);
}

static MBT_INLINE Register broadcast(double a) { MBT_EACH_LANE(Register, a); }

static MBT_INLINE double get(const Register& r, int i) { return r.lane[i]; }
static MBT_INLINE void set(Register& r, int i, double a) { r.lane[i] = a; }

static MBT_INLINE Register load(const double* p) { MBT_EACH_LANE(Register, p[i]); }

static MBT_INLINE void store(double* p, const Register& r) {
  for (int i = 0; i < MBT_W; ++i) p[i] = r.lane[i];
}

// The bit pattern of every lane.
static MBT_INLINE RegisterBits bits_of(const Register& r) {
  RegisterBits b;
  std::memcpy(&b, &r, sizeof b);
  return b;
}

static MBT_INLINE Register from_bits(const RegisterBits& b) {
  Register r;
  std::memcpy(&r, &b, sizeof r);
  return r;
}

// x where a < b, else y (also where a or b is NaN).
static MBT_INLINE Register select_less(
    const Register& a, const Register& b, const Register& x, const Register& y) {
  MBT_EACH_LANE(Register, a.lane[i] < b.lane[i] ? x.lane[i] : y.lane[i]);
}

// x where a == b, else y (also where a or b is NaN).
static MBT_INLINE Register select_equal(
    const Register& a, const Register& b, const Register& x, const Register& y) {
  MBT_EACH_LANE(Register, a.lane[i] == b.lane[i] ? x.lane[i] : y.lane[i]);
}

// The lanes in which a < b, as bits.
static MBT_INLINE unsigned less_bits(const Register& a, const Register& b) {
  unsigned bits = 0;
  for (int i = 0; i < MBT_W; ++i) bits |= static_cast<unsigned>(a.lane[i] < b.lane[i]) << i;
  return bits;
}

// x in lanes whose bit is set, else zero.
static MBT_INLINE Register keep_lanes(unsigned bits, double x) {
  MBT_EACH_LANE(Register, bits >> i & 1u ? x : 0.0);
}

// Whether a <= limit is false (larger, or NaN) in any lane.
static MBT_INLINE bool any_not_within(const Register& a, double limit) {
  bool any = false;
  for (int i = 0; i < MBT_W; ++i) any |= !(a.lane[i] <= limit);
  return any;
}

static MBT_INLINE Register square_root(const Register& a) {
  MBT_EACH_LANE(Register, std::sqrt(a.lane[i]));
}

// b in the first lane in which a is largest; no lane of a is NaN.
static MBT_INLINE double get_at_largest(const Register& a, const Register& b) {
  int place = 0;
  for (int i = 1; i < MBT_W; ++i) place = a.lane[i] > a.lane[place] ? i : place;
  return b.lane[place];
}

// The first n < MBT_W numbers at p; other lanes are zero. Memory behind them is not read.
static MBT_INLINE Register load_first(const double* p, int n) {
  MBT_EACH_LANE(Register, i < n ? p[i] : 0.0);
}

// Store the first n < MBT_W lanes at p. Memory behind them is not written.
static MBT_INLINE void store_first(double* p, int n, const Register& r) {
  for (int i = 0; i < n; ++i) p[i] = r.lane[i];
}

#undef MBT_BINARY
#undef MBT_EACH_LANE

}  // namespace MBT_NS
