// Many spatial vectors at once, [rotational; translational]: vector k is F[k], F[stride + k], .. F[5 stride + k].
// The iterations are independent, so that a compiler can vectorize them.
#pragma once

#include <cstddef>

#include "algebra/records.hpp"
#include "scalars/config.hpp"

// Clang detects this by itself; its pragma would cause warnings wherever T is not double.
#if defined(__GNUC__) && !defined(__clang__)
#define MBT_INDEPENDENT _Pragma("GCC ivdep")
#else
#define MBT_INDEPENDENT
#endif

namespace MBT_NS {

// [t; f] about No in N becomes [R t + p x R f; R f] about Po in P, in place.
template <class T>
static inline void carry_columns(const Pose<T>* X_PN, int n, std::ptrdiff_t stride, T* F) {
  const T* R = numbers(X_PN->R);
  const T* p = numbers(X_PN->p);
  const T R0 = R[0], R1 = R[1], R2 = R[2], R3 = R[3], R4 = R[4], R5 = R[5], R6 = R[6], R7 = R[7], R8 = R[8];
  const T p0 = p[0], p1 = p[1], p2 = p[2];
  MBT_INDEPENDENT
  for (int k = 0; k < n; ++k) {
    T* x = F + k;
    const T t0 = x[0], t1 = x[stride], t2 = x[2 * stride];
    const T f0 = x[3 * stride], f1 = x[4 * stride], f2 = x[5 * stride];
    const T g0 = R0 * f0 + R1 * f1 + R2 * f2;
    const T g1 = R3 * f0 + R4 * f1 + R5 * f2;
    const T g2 = R6 * f0 + R7 * f1 + R8 * f2;
    x[0] = R0 * t0 + R1 * t1 + R2 * t2 + p1 * g2 - p2 * g1;
    x[stride] = R3 * t0 + R4 * t1 + R5 * t2 + p2 * g0 - p0 * g2;
    x[2 * stride] = R6 * t0 + R7 * t1 + R8 * t2 + p0 * g1 - p1 * g0;
    x[3 * stride] = g0;
    x[4 * stride] = g1;
    x[5 * stride] = g2;
  }
}

// [alpha; a] at Po in P becomes [R' alpha; R' (a + alpha x p)] at No in N.
template <class T>
static inline void carry_motion_columns(const Pose<T>* X_PN, int n, std::ptrdiff_t stride, const T* A_P, T* A_N) {
  const T* R = numbers(X_PN->R);
  const T* p = numbers(X_PN->p);
  const T R0 = R[0], R1 = R[1], R2 = R[2], R3 = R[3], R4 = R[4], R5 = R[5], R6 = R[6], R7 = R[7], R8 = R[8];
  const T p0 = p[0], p1 = p[1], p2 = p[2];
  MBT_INDEPENDENT
  for (int k = 0; k < n; ++k) {
    const T* x = A_P + k;
    T* y = A_N + k;
    const T w0 = x[0], w1 = x[stride], w2 = x[2 * stride];
    const T a0 = x[3 * stride] + w1 * p2 - w2 * p1;
    const T a1 = x[4 * stride] + w2 * p0 - w0 * p2;
    const T a2 = x[5 * stride] + w0 * p1 - w1 * p0;
    y[0] = R0 * w0 + R3 * w1 + R6 * w2;
    y[stride] = R1 * w0 + R4 * w1 + R7 * w2;
    y[2 * stride] = R2 * w0 + R5 * w1 + R8 * w2;
    y[3 * stride] = R0 * a0 + R3 * a1 + R6 * a2;
    y[4 * stride] = R1 * a0 + R4 * a1 + R7 * a2;
    y[5 * stride] = R2 * a0 + R5 * a1 + R8 * a2;
  }
}

// F[:, k] += h y[k].
template <class T>
static inline void add_to_columns(const T* h, int n, std::ptrdiff_t stride, const T* y, T* F) {
  const T h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4], h5 = h[5];
  MBT_INDEPENDENT
  for (int k = 0; k < n; ++k) {
    const T s = y[k];
    T* x = F + k;
    x[0] = x[0] + h0 * s;
    x[stride] = x[stride] + h1 * s;
    x[2 * stride] = x[2 * stride] + h2 * s;
    x[3 * stride] = x[3 * stride] + h3 * s;
    x[4 * stride] = x[4 * stride] + h4 * s;
    x[5 * stride] = x[5 * stride] + h5 * s;
  }
}

// y[k] = h' F[:, k]. Not inlined: in a larger function GCC 12 makes the scalar code around it slower.
template <class T>
static MBT_NOINLINE void project_columns(const T* h, int n, std::ptrdiff_t stride, const T* F, T* y) {
  const T h0 = h[0], h1 = h[1], h2 = h[2], h3 = h[3], h4 = h[4], h5 = h[5];
  MBT_INDEPENDENT
  for (int k = 0; k < n; ++k) {
    y[k] = h0 * F[k] + h1 * F[stride + k] + h2 * F[2 * stride + k] + h3 * F[3 * stride + k] +
           h4 * F[4 * stride + k] + h5 * F[5 * stride + k];
  }
}

}  // namespace MBT_NS
