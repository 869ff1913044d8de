// Shapes in World as values of any scalar, and the witness of a pair.
//
// A scalar T is `double` or `Lanes`: several states, or several pairs of the same kinds. There are no branches on a T.
#pragma once

#include "algebra/vectors.hpp"
#include "scalars/config.hpp"
#include "scalars/lanes.hpp"

namespace MBT_NS {

// The order matters: in a pair (A, B), A has the lower kind. The same values are in geometry/scene.pyx.
enum Kind {
  SPHERE = 0,        // size: radius
  CAPSULE = 1,       // radius, half length of the segment on z
  HALF_SPACE = 2,    // below z = 0
  BOX = 3,           // half lengths
  CYLINDER = 4,      // radius, half length on z
  ELLIPSOID = 5,     // semi-axes
  HULL = 6,          // convex hull of vertices
  HEIGHT_FIELD = 7,  // everything below a surface over the x-y plane: half lengths, number of rows
  NUM_KINDS = 8
};

template <class T>
struct PlacedShape {
  T size[3];
  Mat3<T> R;  // R_WG
  Vec3<T> p;  // p_WG
  // For a hull: (count, 3) vertices in G, the same for all lanes, and lists of them (see supports.hpp). For a height
  // field: heights, in rows of `count`.
  const double* vertices;
  int count;
};

template <class T>
struct Witness {
  T distance;       // [m], negative where they overlap
  Vec3<T> p_A, p_B;  // points on both surfaces, in World: p_B - p_A = distance n
  Vec3<T> n;        // unit normal from A to B, in World
};

// Columns of a rotation.
template <class T>
static MBT_INLINE Vec3<T> axis_x(const Mat3<T>& R) {
  return {R.x.x, R.y.x, R.z.x};
}
template <class T>
static MBT_INLINE Vec3<T> axis_y(const Mat3<T>& R) {
  return {R.x.y, R.y.y, R.z.y};
}
template <class T>
static MBT_INLINE Vec3<T> axis_z(const Mat3<T>& R) {
  return {R.x.z, R.y.z, R.z.z};
}
// R' a
template <class T>
static MBT_INLINE Vec3<T> rotate_back(const Mat3<T>& R, const Vec3<T>& a) {
  return {dot(axis_x(R), a), dot(axis_y(R), a), dot(axis_z(R), a)};
}

template <class T>
static MBT_INLINE T larger(const T& a, const T& b) {
  return select_lt(a, b, b, a);
}
template <class T>
static MBT_INLINE T smaller(const T& a, const T& b) {
  return select_lt(a, b, a, b);
}
// One instruction each, with the same results, also for NaN, for which the processor returns the second operand.
#if defined(__AVX__) && MBT_W == 4 && !defined(MBT_PORTABLE)
static MBT_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return Lanes((Register)_mm256_max_pd((__m256d)b.r, (__m256d)a.r));
}
static MBT_INLINE Lanes smaller(const Lanes& a, const Lanes& b) {
  return Lanes((Register)_mm256_min_pd((__m256d)a.r, (__m256d)b.r));
}
#elif defined(__AVX512F__) && MBT_W == 8 && !defined(MBT_PORTABLE)
static MBT_INLINE Lanes larger(const Lanes& a, const Lanes& b) {
  return Lanes((Register)_mm512_maskz_max_pd((__mmask8)0xff, (__m512d)b.r, (__m512d)a.r));
}
static MBT_INLINE Lanes smaller(const Lanes& a, const Lanes& b) {
  return Lanes((Register)_mm512_maskz_min_pd((__mmask8)0xff, (__m512d)a.r, (__m512d)b.r));
}
#endif
template <class T>
static MBT_INLINE T magnitude(const T& a) {
  return abs_(a);
}
// -1 or 1
template <class T>
static MBT_INLINE T sign_of(const T& a) {
  return select_lt(a, T(0.0), T(-1.0), T(1.0));
}
// a within [-h, h]
template <class T>
static MBT_INLINE T clamp(const T& a, const T& h) {
  return smaller(larger(a, -h), h);
}
template <class T>
static MBT_INLINE Vec3<T> select_lt(const T& a, const T& b, const Vec3<T>& x, const Vec3<T>& y) {
  return {select_lt(a, b, x.x, y.x), select_lt(a, b, x.y, y.y), select_lt(a, b, x.z, y.z)};
}
template <class T>
static MBT_INLINE Witness<T> select_lt(const T& a, const T& b, const Witness<T>& x, const Witness<T>& y) {
  return {select_lt(a, b, x.distance, y.distance), select_lt(a, b, x.p_A, y.p_A), select_lt(a, b, x.p_B, y.p_B),
          select_lt(a, b, x.n, y.n)};
}

// The same pair in the other order.
template <class T>
static MBT_INLINE Witness<T> swapped(const Witness<T>& w) {
  return {w.distance, w.p_B, w.p_A, -w.n};
}

// A unit vector perpendicular to a unit vector u: T. Duff et al., "Building an Orthonormal Basis, Revisited", JCGT 6
// (2017).
template <class T>
static MBT_INLINE Vec3<T> across(const Vec3<T>& u) {
  const T s = sign_of(u.z), a = T(-1.0) / (s + u.z);
  return {T(1.0) + s * u.x * u.x * a, s * u.x * u.y * a, -(s * u.x)};
}

// a / |a|; `instead` if |a| is at most `least`.
template <class T>
static MBT_INLINE Vec3<T> unit_or(const Vec3<T>& a, const T& length, const T& least, const Vec3<T>& instead) {
  return select_lt(least, length, a * (T(1.0) / larger(length, T(1e-300))), instead);
}

}  // namespace MBT_NS
