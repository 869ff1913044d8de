// The highest x86-64 instruction set level that this processor runs, for the compiled module and for the build.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

static int has(unsigned value, unsigned bits) { return (value & bits) == bits; }

// 4, 3 or 2; 1 for older ones. Read from the processor itself: __builtin_cpu_supports needs the compiler's runtime
// library, which clang-cl does not link, and which others do not initialize. Bits as in Intel's manual, volume 2A.
static int cpu_level(void) {
  unsigned a, b, c1, c, d, b7, extended, xcr0 = 0;
  if (!__get_cpuid(1, &a, &b, &c1, &d)) return 1;
  // sse3, ssse3, sse4.1, sse4.2, popcnt
  int v2 = has(c1, 1u | 1u << 9 | 1u << 19 | 1u << 20 | 1u << 23);
  // The registers that the system saves, if osxsave says that it reports them.
  if (has(c1, 1u << 27)) __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(d) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b7, &c, &d)) b7 = 0;
  if (!__get_cpuid(0x80000001, &a, &b, &extended, &d)) extended = 0;
  // fma, movbe, avx, f16c; bmi, avx2, bmi2; lzcnt; xmm and ymm
  int v3 = v2 && has(c1, 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29) && has(b7, 1u << 3 | 1u << 5 | 1u << 8) &&
           has(extended, 1u << 5) && has(xcr0, 0x6);
  // avx512f, dq, cd, bw, vl; zmm and masks
  int v4 = v3 && has(b7, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && has(xcr0, 0xe6);
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
}
#endif
