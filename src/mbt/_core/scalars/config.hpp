// Build-time choices shared by the scalar headers: namespace, lane count, vector extensions, attributes.
//
//   MBT_NS        namespace of everything here; one per instruction set, so that code built for
//                 different sets can never be merged by the linker
//   MBT_W         number of doubles in one vector register (lanes of Lanes, partials of Dual)
//   MBT_PORTABLE  define it to do without compiler vector extensions (always defined with MSVC, but not with clang-cl)
#pragma once

#ifndef MBT_NS
#define MBT_NS mbt_native
#endif

#ifndef MBT_W
#if defined(__AVX512F__)
#define MBT_W 8
#elif defined(__AVX__)
#define MBT_W 4
#else
#define MBT_W 2
#endif
#endif

#if !defined(__GNUC__) && !defined(__clang__) && !defined(MBT_PORTABLE)
#define MBT_PORTABLE
#endif

#if defined(__GNUC__) || defined(__clang__)
#define MBT_INLINE inline __attribute__((always_inline))
#define MBT_NOINLINE __attribute__((noinline))
#define MBT_COLD __attribute__((noinline, cold))
#define MBT_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
// For conditions so rare that their branch is placed apart and not inlined.
#define MBT_SELDOM(condition) __builtin_expect_with_probability(!!(condition), 0, 0.9999)
#else
#define MBT_INLINE __forceinline
#define MBT_NOINLINE __declspec(noinline)
#define MBT_COLD __declspec(noinline)
#define MBT_UNLIKELY(condition) (condition)
#define MBT_SELDOM(condition) (condition)
#endif

namespace MBT_NS {

// Makes the compiler keep the calling function, and functions that only it calls, small. Has an effect only where
// scalars are larger than registers: vectors of them are much code.
#if defined(MBT_LARGE_SCALARS) && (defined(__GNUC__) || defined(__clang__))
[[maybe_unused]] MBT_COLD static void make_small() { __asm__ volatile(""); }
#else
static MBT_INLINE void make_small() {}
#endif

}  // namespace MBT_NS
