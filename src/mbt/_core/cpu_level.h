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
