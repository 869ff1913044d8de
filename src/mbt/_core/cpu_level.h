// The highest x86-64 instruction set level that this processor runs, for the compiled module and for the build.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

// What __builtin_cpu_supports does not know in every compiler, and a hypervisor may mask: movbe, f16c and lzcnt.
static int has_rest_of_v3(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_MOVBE) || !(c & bit_F16C)) return 0;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & bit_LZCNT);
}

#if defined(_WIN32) || defined(MBT_CPUID)
// What __builtin_cpu_supports reads is in a library that clang-cl does not link. Bits as in Intel's manual, volume 2A.
static int has(unsigned value, unsigned bits) { return (value & bits) == bits; }

static int cpu_level(void) {
  unsigned a, b, c1, c, d, b7, xcr0 = 0;
  if (!__get_cpuid(1, &a, &b, &c1, &d)) return 1;
  // sse3, ssse3, sse4.1, sse4.2, popcnt
  int v2 = has(c1, 1u | 1u << 9 | 1u << 19 | 1u << 20 | 1u << 23);
  // Which registers the system saves, once osxsave tells that it says so.
  if (has(c1, 1u << 27)) __asm__ volatile("xgetbv" : "=a"(xcr0), "=d"(d) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b7, &c, &d)) b7 = 0;
  // fma, avx; bmi, avx2, bmi2; xmm and ymm
  int v3 = v2 && has(c1, 1u << 12 | 1u << 28) && has(b7, 1u << 3 | 1u << 5 | 1u << 8) && has(xcr0, 0x6) && has_rest_of_v3();
  // avx512f, dq, cd, bw, vl; zmm and masks
  int v4 = v3 && has(b7, 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) && has(xcr0, 0xe6);
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
}
#else
// 4, 3 or 2; 1 for older ones.
static int cpu_level(void) {
  __builtin_cpu_init();
  // Feature by feature: compilers differ in whether they know the names of the levels.
  int v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("ssse3") &&
           __builtin_cpu_supports("sse3");
  int v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && has_rest_of_v3();
  int v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
}
#endif
#endif
