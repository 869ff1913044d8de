// Vectors, matrices and quaternions as values, of any scalar, so that equations read as in a textbook.
//
// A scalar T has what scalars/__init__.pxd lists. A factor may be a double where T is something else.
#pragma once

#include "scalars/config.hpp"

namespace MBT_NS {

// Keeps an argument out of the deduction of T.
template <class T>
struct Plain {
  typedef T type;
};
template <class T>
using Factor = const typename Plain<T>::type&;

// Vectors ---------------------------------------------------------------------------------------------------------

template <class T>
struct Vec3 {
  T x, y, z;
};

template <class T>
static MBT_INLINE Vec3<T> operator+(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
static MBT_INLINE Vec3<T> operator-(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
static MBT_INLINE Vec3<T> operator-(const Vec3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
static MBT_INLINE Vec3<T> operator*(const Vec3<T>& a, Factor<T> s) {
  return {a.x * s, a.y * s, a.z * s};
}
template <class T>
static MBT_INLINE Vec3<T> operator/(const Vec3<T>& a, Factor<T> s) {
  return {a.x / s, a.y / s, a.z / s};
}
template <class T>
static MBT_INLINE T dot(const Vec3<T>& a, const Vec3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
static MBT_INLINE Vec3<T> cross(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Matrices, by their rows -----------------------------------------------------------------------------------------

template <class T>
struct Mat3 {
  Vec3<T> x, y, z;
};

template <class T>
static MBT_INLINE Mat3<T> operator+(const Mat3<T>& A, const Mat3<T>& B) {
  return {A.x + B.x, A.y + B.y, A.z + B.z};
}
template <class T>
static MBT_INLINE Mat3<T> operator*(const Mat3<T>& A, Factor<T> s) {
  return {A.x * s, A.y * s, A.z * s};
}
template <class T>
static MBT_INLINE Vec3<T> operator*(const Mat3<T>& A, const Vec3<T>& b) {
  return {dot(A.x, b), dot(A.y, b), dot(A.z, b)};
}
template <class T>
static MBT_INLINE Mat3<T> transpose(const Mat3<T>& A) {
  return {{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}
template <class T>
static MBT_INLINE T determinant(const Mat3<T>& A) {
  return dot(A.x, cross(A.y, A.z));
}
// A + s 1
template <class T>
static MBT_INLINE Mat3<T> plus_identity(const Mat3<T>& A, Factor<T> s) {
  return {{A.x.x + s, A.x.y, A.x.z}, {A.y.x, A.y.y + s, A.y.z}, {A.z.x, A.z.y, A.z.z + s}};
}

// [a]x, with [a]x b = a x b: a matrix without diagonal.
template <class T>
struct Skew {
  Vec3<T> a;
};

template <class T>
static MBT_INLINE Skew<T> skew(const Vec3<T>& a) {
  return {a};
}
template <class T>
static MBT_INLINE Mat3<T> operator+(const Skew<T>& S, const Mat3<T>& A) {
  const Vec3<T>& a = S.a;
  return {{A.x.x, A.x.y - a.z, A.x.z + a.y}, {A.y.x + a.z, A.y.y, A.y.z - a.x}, {A.z.x - a.y, A.z.y + a.x, A.z.z}};
}
// [a]x [b]x + [b]x [a]x = a b' + b a' - 2 (a . b) 1
template <class T>
static MBT_INLINE Mat3<T> anticommutator(const Skew<T>& A, const Skew<T>& B) {
  const Vec3<T>&a = A.a, &b = B.a;
  const T xx = a.x * b.x, yy = a.y * b.y, zz = a.z * b.z;
  const T xy = a.x * b.y + a.y * b.x, yz = a.y * b.z + a.z * b.y, zx = a.z * b.x + a.x * b.z;
  return {{(yy + zz) * -2.0, xy, zx}, {xy, (zz + xx) * -2.0, yz}, {zx, yz, (xx + yy) * -2.0}};
}
// [a]x [a]x = a a' - (a . a) 1
template <class T>
static MBT_INLINE Mat3<T> square(const Skew<T>& A) {
  const Vec3<T>& a = A.a;
  const T xx = a.x * a.x, yy = a.y * a.y, zz = a.z * a.z;
  const T xy = a.x * a.y, yz = a.y * a.z, zx = a.z * a.x;
  return {{-(yy + zz), xy, zx}, {xy, -(zz + xx), yz}, {zx, yz, -(xx + yy)}};
}

// Quaternions --------------------------------------------------------------------------------------------------------

// w + (x, y, z) = w + v; a rotation where it has unit length.
template <class T>
struct Quaternion {
  T w;
  Vec3<T> v;
};

// In memory -------------------------------------------------------------------------------------------------------

template <class T>
static MBT_INLINE Vec3<T> vector_at(const T* a) {
  return {a[0], a[1], a[2]};
}
// A matrix, or a block of one whose rows are longer.
template <class T>
static MBT_INLINE Mat3<T> matrix_at(const T* a, int row = 3) {
  return {vector_at(a), vector_at(a + row), vector_at(a + 2 * row)};
}

template <class T>
static MBT_INLINE void put(const Vec3<T>& a, T* to) {
  to[0] = a.x;
  to[1] = a.y;
  to[2] = a.z;
}
template <class T>
static MBT_INLINE void put(const Mat3<T>& A, T* to, int row = 3) {
  put(A.x, to);
  put(A.y, to + row);
  put(A.z, to + 2 * row);
}

}  // namespace MBT_NS
