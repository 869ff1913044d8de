// Register: MBT_W doubles in one vector register, by the vector extensions of GCC and Clang.
//
// The compiler supplies + - * / and unary - on Register, and << ^ & on RegisterBits.
#pragma once

#include <cstdint>

#include "config.hpp"

#if defined(__x86_64__) && MBT_W == 2
#include <emmintrin.h>  // <immintrin.h> would take half the compile time of a module
#elif defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#else
#include <cmath>
#endif

namespace MBT_NS {

typedef double Register __attribute__((vector_size(8 * MBT_W)));
typedef double UnalignedRegister __attribute__((vector_size(8 * MBT_W), aligned(8), may_alias));
typedef std::uint64_t RegisterBits __attribute__((vector_size(8 * MBT_W)));

static MBT_INLINE Register broadcast(double a) {
  const Register zero = {};
  return a - zero;
}

static MBT_INLINE double get(const Register& r, int i) { return r[i]; }
static MBT_INLINE void set(Register& r, int i, double a) { r[i] = a; }

// Not memcpy: GCC 12 then goes through the stack, 16 bytes at a time (transposes take twice as long: benchmarks/compare.py, batches).
static MBT_INLINE Register load(const double* p) { return *reinterpret_cast<const UnalignedRegister*>(p); }
static MBT_INLINE void store(double* p, const Register& r) { *reinterpret_cast<UnalignedRegister*>(p) = r; }

// The bit pattern of every lane.
static MBT_INLINE RegisterBits bits_of(const Register& r) { return (RegisterBits)r; }
static MBT_INLINE Register from_bits(const RegisterBits& b) { return (Register)b; }

// x where a < b, else y (also where a or b is NaN).
static MBT_INLINE Register select_less(
    const Register& a, const Register& b, const Register& x, const Register& y) {
  return a < b ? x : y;
}

// x where a == b, else y (also where a or b is NaN).
static MBT_INLINE Register select_equal(
    const Register& a, const Register& b, const Register& x, const Register& y) {
  return a == b ? x : y;
}

// The lanes in which a < b, as bits.
static MBT_INLINE unsigned less_bits(const Register& a, const Register& b) {
#if defined(__AVX512F__) && MBT_W == 8
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ);
#elif defined(__AVX__) && MBT_W == 4
  return static_cast<unsigned>(_mm256_movemask_pd((__m256d)(a < b)));
#elif defined(__SSE2__) && MBT_W == 2
  return static_cast<unsigned>(_mm_movemask_pd((__m128d)(a < b)));
#else
  unsigned bits = 0;
  for (int i = 0; i < MBT_W; ++i) bits |= static_cast<unsigned>(a[i] < b[i]) << i;
  return bits;
#endif
}

// x in lanes whose bit is set, else zero.
static MBT_INLINE Register keep_lanes(unsigned bits, double x) {
  RegisterBits own;
  for (int i = 0; i < MBT_W; ++i) own[i] = std::uint64_t(1) << i;
  const RegisterBits all = RegisterBits{} + std::uint64_t(bits);
  return from_bits((RegisterBits)((all & own) == own) & bits_of(broadcast(x)));
}

// Whether a <= limit is false (larger, or NaN) in any lane.
static MBT_INLINE bool any_not_within(const Register& a, double limit) {
  const auto outside = ~(a <= broadcast(limit));
#if defined(__AVX512F__) && MBT_W == 8
  return _mm512_test_epi64_mask((__m512i)outside, (__m512i)outside) != 0;
#elif defined(__AVX__) && MBT_W == 4
  return _mm256_movemask_pd((__m256d)outside) != 0;
#elif defined(__SSE2__) && MBT_W == 2
  return _mm_movemask_pd((__m128d)outside) != 0;
#else
  bool any = false;
  for (int i = 0; i < MBT_W; ++i) any |= outside[i] != 0;
  return any;
#endif
}

// Whether a != 0, or NaN, in any lane.
static MBT_INLINE bool any_nonzero(const Register& a) {
  return any_not_within(from_bits(bits_of(a) & ~bits_of(broadcast(-0.0))), 0.0);
}

static MBT_INLINE Register square_root(const Register& a) {
#if defined(__AVX512F__) && MBT_W == 8
  return (Register)_mm512_maskz_sqrt_pd((__mmask8)0xff, (__m512d)a);  // plain _mm512_sqrt_pd warns in GCC 12
#elif defined(__AVX__) && MBT_W == 4
  return (Register)_mm256_sqrt_pd((__m256d)a);
#elif defined(__SSE2__) && MBT_W == 2
  return (Register)_mm_sqrt_pd((__m128d)a);
#elif defined(__aarch64__) && MBT_W == 2
  return (Register)vsqrtq_f64((float64x2_t)a);
#else
  Register r;
  for (int i = 0; i < MBT_W; ++i) r[i] = std::sqrt(a[i]);
  return r;
#endif
}

// b in the first lane in which a is largest; no lane of a is NaN.
static MBT_INLINE double get_at_largest(const Register& a, const Register& b) {
#if defined(__AVX512F__) && MBT_W == 8
  const __mmask8 all = 0xff;  // as above
  __m512d x = _mm512_maskz_max_pd(all, (__m512d)a, _mm512_maskz_shuffle_f64x2(all, (__m512d)a, (__m512d)a, 0x4e));
  x = _mm512_maskz_max_pd(all, x, _mm512_maskz_shuffle_f64x2(all, x, x, 0xb1));
  x = _mm512_maskz_max_pd(all, x, _mm512_maskz_permute_pd(all, x, 0x55));
  return _mm512_cvtsd_f64(_mm512_maskz_compress_pd(_mm512_cmp_pd_mask((__m512d)a, x, _CMP_EQ_OQ), (__m512d)b));
#elif defined(__AVX__) && MBT_W == 4
  __m256d x = _mm256_max_pd((__m256d)a, _mm256_permute2f128_pd((__m256d)a, (__m256d)a, 1));
  x = _mm256_max_pd(x, _mm256_permute_pd(x, 5));
  return b[__builtin_ctz(_mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, x, _CMP_EQ_OQ)))];
#else
  Register most = broadcast(a[0]), found = broadcast(b[0]);
  for (int i = 1; i < MBT_W; ++i) {
    const Register next = broadcast(a[i]);
    found = select_less(most, next, broadcast(b[i]), found);
    most = select_less(most, next, next, most);
  }
  return found[0];
#endif
}

// Lane i is selected when i < n.
#if defined(__AVX512F__) && MBT_W == 8
static MBT_INLINE __mmask8 first_lanes(int n) { return static_cast<__mmask8>((1u << n) - 1u); }
#elif defined(__AVX2__) && MBT_W == 4
static MBT_INLINE __m256i first_lanes(int n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_set_epi64x(3, 2, 1, 0));
}
#endif

// The first n < MBT_W numbers at p; other lanes are zero. Memory behind them is not read.
static MBT_INLINE Register load_first(const double* p, int n) {
#if defined(__AVX512F__) && MBT_W == 8
  return (Register)_mm512_maskz_loadu_pd(first_lanes(n), p);
#elif defined(__AVX2__) && MBT_W == 4
  return (Register)_mm256_maskload_pd(p, first_lanes(n));
#else
  Register r = {};
  for (int i = 0; i < MBT_W - 1; ++i)
    if (i < n) r[i] = p[i];
  return r;
#endif
}

// Store the first n < MBT_W lanes at p. Memory behind them is not written.
static MBT_INLINE void store_first(double* p, int n, const Register& r) {
#if defined(__AVX512F__) && MBT_W == 8
  _mm512_mask_storeu_pd(p, first_lanes(n), (__m512d)r);
#elif defined(__AVX2__) && MBT_W == 4
  _mm256_maskstore_pd(p, first_lanes(n), (__m256d)r);
#else
  for (int i = 0; i < MBT_W - 1; ++i)
    if (i < n) p[i] = r[i];
#endif
}

}  // namespace MBT_NS
