// Vectors, matrices and quaternions as values, for any scalar, so that equations read as in a textbook.
//
// A scalar T supports the operations that scalars/__init__.pxd lists. A factor may be a double even where T is not.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "scalars/config.hpp"

// Operations on values are always inlined. For scalars larger than registers, that would make code larger and nothing
// faster, so the compiler decides.
#ifdef MBT_LARGE_SCALARS
#define MBT_VALUE inline
#define MBT_AT_ONCE false
#else
#define MBT_VALUE MBT_INLINE
#define MBT_AT_ONCE std::is_trivially_destructible<T>::value
#endif

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
static MBT_VALUE Vec3<T> operator+(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
static MBT_VALUE Vec3<T> operator-(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
static MBT_VALUE Vec3<T> operator-(const Vec3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
static MBT_VALUE Vec3<T> operator*(const Vec3<T>& a, Factor<T> s) {
  return {a.x * s, a.y * s, a.z * s};
}
template <class T>
static MBT_VALUE Vec3<T> operator/(const Vec3<T>& a, Factor<T> s) {
  return {a.x / s, a.y / s, a.z / s};
}
template <class T>
static MBT_VALUE Vec3<T> vector(Factor<T> x, Factor<T> y, Factor<T> z) {
  return {x, y, z};
}
template <class T>
static MBT_VALUE Vec3<T> half(const Vec3<T>& a) {
  return {a.x * 0.5, a.y * 0.5, a.z * 0.5};
}
template <class T>
static MBT_VALUE Vec3<T> twice(const Vec3<T>& a) {
  return {a.x * 2.0, a.y * 2.0, a.z * 2.0};
}
// a s, for a constant a.
template <class T>
static MBT_VALUE Vec3<T> scaled(const Vec3<double>& a, const T& s) {
  return {s * a.x, s * a.y, s * a.z};
}
// diag(a) b
template <class T>
static MBT_VALUE Vec3<T> entrywise(const Vec3<T>& a, const typename Plain<Vec3<T>>::type& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
template <class T>
static MBT_VALUE T dot(const Vec3<T>& a, const Vec3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
static MBT_VALUE Vec3<T> times(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
// A product that keeps references to its factors, so that u + A b and u + a × b become fused multiply-adds: faster for
// scalars in registers, and Python objects compute u - x instead of u + (0 - x). For large scalars the product is
// computed only when used; for others at once, which costs nothing if it is not used.
template <class T, class A, bool = MBT_AT_ONCE>
struct Made : Vec3<T> {
  const A& a;
  const Vec3<T>& b;
  MBT_INLINE Made(const A& left, const Vec3<T>& right) : Vec3<T>(times(left, right)), a(left), b(right) {}
};
template <class T, class A>
struct Made<T, A, false> {
  const A& a;
  const Vec3<T>& b;
  MBT_INLINE Made(const A& left, const Vec3<T>& right) : a(left), b(right) {}
  MBT_INLINE operator Vec3<T>() const { return times(a, b); }
};

template <class T>
static MBT_VALUE Made<T, Vec3<T>> cross(const Vec3<T>& a, const Vec3<T>& b) {
  return {a, b};
}
template <class T, bool at_once>
static MBT_VALUE Vec3<T> operator+(const Vec3<T>& u, const Made<T, Vec3<T>, at_once>& m) {
  const Vec3<T>&a = m.a, &b = m.b;
  return {u.x + a.y * b.z - a.z * b.y, u.y + a.z * b.x - a.x * b.z, u.z + a.x * b.y - a.y * b.x};
}
// Matrices, by their rows -----------------------------------------------------------------------------------------

template <class T>
struct Mat3 {
  Vec3<T> x, y, z;
};

template <class T>
static MBT_VALUE Mat3<T> operator+(const Mat3<T>& A, const Mat3<T>& B) {
  return {A.x + B.x, A.y + B.y, A.z + B.z};
}
template <class T>
static MBT_VALUE Mat3<T> operator-(const Mat3<T>& A, const Mat3<T>& B) {
  return {A.x - B.x, A.y - B.y, A.z - B.z};
}
template <class T>
static MBT_VALUE Mat3<T> operator*(const Mat3<T>& A, Factor<T> s) {
  return {A.x * s, A.y * s, A.z * s};
}
template <class T>
static MBT_VALUE Vec3<T> times(const Mat3<T>& A, const Vec3<T>& b) {
  return {dot(A.x, b), dot(A.y, b), dot(A.z, b)};
}
template <class T>
static MBT_VALUE Made<T, Mat3<T>> operator*(const Mat3<T>& A, const Vec3<T>& b) {
  return {A, b};
}
template <class T>
static MBT_VALUE T sum(const T& u, const Vec3<T>& a, const Vec3<T>& b) {
  return u + a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T, bool at_once>
static MBT_VALUE Vec3<T> operator+(const Vec3<T>& u, const Made<T, Mat3<T>, at_once>& m) {
  return {sum(u.x, m.a.x, m.b), sum(u.y, m.a.y, m.b), sum(u.z, m.a.z, m.b)};
}
// Other vector operations, for products that are not computed yet.
template <class T, class A, class B>
static MBT_VALUE Vec3<T> operator+(const Made<T, A, false>& a, const Made<T, B, false>& b) {
  return Vec3<T>(a) + b;
}
template <class T, class A>
static MBT_VALUE Vec3<T> operator+(const Made<T, A, false>& a, const Vec3<T>& b) {
  return Vec3<T>(a) + b;
}
template <class T, class A>
static MBT_VALUE Vec3<T> operator-(const Made<T, A, false>& a) {
  return -Vec3<T>(a);
}
template <class T, class A>
static MBT_VALUE Vec3<T> operator-(const Made<T, A, false>& a, const Vec3<T>& b) {
  return Vec3<T>(a) - b;
}
template <class T, class A>
static MBT_VALUE Vec3<T> operator-(const Vec3<T>& a, const Made<T, A, false>& b) {
  return a - Vec3<T>(b);
}
template <class T, class A>
static MBT_VALUE Vec3<T> half(const Made<T, A, false>& a) {
  return half(Vec3<T>(a));
}
template <class T, class A>
static MBT_VALUE Vec3<T> operator*(const Mat3<T>& A_, const Made<T, A, false>& b) {
  return times(A_, Vec3<T>(b));
}
template <class T, class A>
static MBT_VALUE T dot(const Vec3<T>& a, const Made<T, A, false>& b) {
  return dot(a, Vec3<T>(b));
}
template <class T>
static MBT_VALUE Mat3<T> transpose(const Mat3<T>& A) {
  return {{A.x.x, A.y.x, A.z.x}, {A.x.y, A.y.y, A.z.y}, {A.x.z, A.y.z, A.z.z}};
}
// A' b and u + A' b, without a copy of nine entries.
template <class T>
static MBT_VALUE Vec3<T> times_transposed(const Mat3<T>& A, const Vec3<T>& b) {
  return {A.x.x * b.x + A.y.x * b.y + A.z.x * b.z, A.x.y * b.x + A.y.y * b.y + A.z.y * b.z,
          A.x.z * b.x + A.y.z * b.y + A.z.z * b.z};
}
template <class T>
static MBT_VALUE Vec3<T> sum_transposed(const Vec3<T>& u, const Mat3<T>& A, const Vec3<T>& b) {
  return {u.x + A.x.x * b.x + A.y.x * b.y + A.z.x * b.z, u.y + A.x.y * b.x + A.y.y * b.y + A.z.y * b.z,
          u.z + A.x.z * b.x + A.y.z * b.y + A.z.z * b.z};
}
template <class T>
static MBT_VALUE T determinant(const Mat3<T>& A) {
  return dot(A.x, cross(A.y, A.z));
}
// A + s 1
template <class T>
static MBT_VALUE Mat3<T> plus_identity(const Mat3<T>& A, Factor<T> s) {
  return {{A.x.x + s, A.x.y, A.x.z}, {A.y.x, A.y.y + s, A.y.z}, {A.z.x, A.z.y, A.z.z + s}};
}

template <class T>
static MBT_VALUE Mat3<T> operator*(const Mat3<T>& A, const Mat3<T>& B) {
  return {times_transposed(B, A.x), times_transposed(B, A.y), times_transposed(B, A.z)};
}
// R A R'
template <class T>
static MBT_VALUE Mat3<T> rotated(const Mat3<T>& R, const Mat3<T>& A) {
  const Mat3<T> B = R * A;
  return {R * B.x, R * B.y, R * B.z};
}
template <class T>
static MBT_VALUE Mat3<T> half(const Mat3<T>& A) {
  return {half(A.x), half(A.y), half(A.z)};
}
// a s + b t
template <class T>
static MBT_VALUE Vec3<T> combined(const Vec3<T>& a, const T& s, const Vec3<T>& b, const T& t) {
  return {a.x * s + b.x * t, a.y * s + b.y * t, a.z * s + b.z * t};
}
// u - a s, and A - a b'
template <class T>
static MBT_VALUE Vec3<T> less(const Vec3<T>& u, const Vec3<T>& a, const T& s) {
  return {u.x - a.x * s, u.y - a.y * s, u.z - a.z * s};
}
template <class T>
static MBT_VALUE Mat3<T> less(const Mat3<T>& A, const Vec3<T>& a, const Vec3<T>& b) {
  return {less(A.x, b, a.x), less(A.y, b, a.y), less(A.z, b, a.z)};
}
template <class T>
static MBT_VALUE Vec3<T> x_axis(const Mat3<T>& R) {
  return {R.x.x, R.y.x, R.z.x};
}
template <class T>
static MBT_VALUE Vec3<T> y_axis(const Mat3<T>& R) {
  return {R.x.y, R.y.y, R.z.y};
}
template <class T>
static MBT_VALUE Vec3<T> z_axis(const Mat3<T>& R) {
  return {R.x.z, R.y.z, R.z.z};
}
// R rotated about its z axis by the angle with sine s and cosine c. Entry by entry, because nine at once are too many
// for registers. R may be constant.
template <class A, class T>
static MBT_VALUE void turn_about_z(const Mat3<A>& R, const T& s, const T& c, Mat3<T>* turned) {
  const T sine = s, cosine = c;  // copies, in case `turned` overwrites s or c
  for (int i = 0; i < 3; ++i) {
    const Vec3<A> r = (&R.x)[i];
    (&turned->x)[i] = {cosine * r.x + sine * r.y, cosine * r.y - sine * r.x, T(r.z)};
  }
}

// A symmetric matrix.
template <class T>
struct Sym3 {
  T xx, xy, xz, yy, yz, zz;
};

template <class T>
static MBT_VALUE Sym3<T> operator+(const Sym3<T>& A, const Sym3<T>& B) {
  return {A.xx + B.xx, A.xy + B.xy, A.xz + B.xz, A.yy + B.yy, A.yz + B.yz, A.zz + B.zz};
}
template <class T>
static MBT_VALUE Vec3<T> operator*(const Sym3<T>& A, const Vec3<T>& b) {
  return {A.xx * b.x + A.xy * b.y + A.xz * b.z, A.xy * b.x + A.yy * b.y + A.yz * b.z,
          A.xz * b.x + A.yz * b.y + A.zz * b.z};
}
template <class T>
static MBT_VALUE Mat3<T> full(const Sym3<T>& A) {
  return {{A.xx, A.xy, A.xz}, {A.xy, A.yy, A.yz}, {A.xz, A.yz, A.zz}};
}
template <class T>
static MBT_VALUE T trace(const Sym3<T>& A) {
  return A.xx + A.yy + A.zz;
}
// u + A b
template <class T>
static MBT_VALUE Vec3<T> sum(const Vec3<T>& u, const Sym3<T>& A, const Vec3<T>& b) {
  return {u.x + A.xx * b.x + A.xy * b.y + A.xz * b.z, u.y + A.xy * b.x + A.yy * b.y + A.yz * b.z,
          u.z + A.xz * b.x + A.yz * b.y + A.zz * b.z};
}
// A - a b', where a b' is symmetric: only the upper triangle is computed.
template <class T>
static MBT_VALUE Sym3<T> less(const Sym3<T>& A, const Vec3<T>& a, const Vec3<T>& b) {
  return {A.xx - a.x * b.x, A.xy - a.x * b.y, A.xz - a.x * b.z, A.yy - a.y * b.y, A.yz - a.y * b.z, A.zz - a.z * b.z};
}
// R A R'
template <class T>
static MBT_VALUE Sym3<T> rotated(const Mat3<T>& R, const Sym3<T>& A) {
  const Vec3<T> x = A * R.x, y = A * R.y, z = A * R.z;
  return {dot(x, R.x), dot(x, R.y), dot(x, R.z), dot(y, R.y), dot(y, R.z), dot(z, R.z)};
}

// [a]x, with [a]x b = a x b: a matrix with zero diagonal.
template <class T>
struct Skew {
  Vec3<T> a;
};

template <class T>
static MBT_VALUE Skew<T> skew(const Vec3<T>& a) {
  return {a};
}
template <class T>
static MBT_VALUE Mat3<T> operator+(const Skew<T>& S, const Mat3<T>& A) {
  const Vec3<T>& a = S.a;
  return {{A.x.x, A.x.y - a.z, A.x.z + a.y}, {A.y.x + a.z, A.y.y, A.y.z - a.x}, {A.z.x - a.y, A.z.y + a.x, A.z.z}};
}
template <class T>
static MBT_VALUE Mat3<T> operator*(const Skew<T>& S, const Mat3<T>& A) {
  const Vec3<T>& a = S.a;
  return {A.z * a.y - A.y * a.z, A.x * a.z - A.z * a.x, A.y * a.x - A.x * a.y};
}
template <class T>
static MBT_VALUE Mat3<T> full(const Skew<T>& S) {
  const T zero(0.0);
  const Vec3<T>& a = S.a;
  return {{zero, -a.z, a.y}, {a.z, zero, -a.x}, {-a.y, a.x, zero}};
}
// [a]x [b]x + [b]x [a]x = a b' + b a' - 2 (a . b) 1
template <class T>
static MBT_VALUE Mat3<T> anticommutator(const Skew<T>& A, const Skew<T>& B) {
  const Vec3<T>&a = A.a, &b = B.a;
  const T xx = a.x * b.x, yy = a.y * b.y, zz = a.z * b.z;
  const T xy = a.x * b.y + a.y * b.x, yz = a.y * b.z + a.z * b.y, zx = a.z * b.x + a.x * b.z;
  return {{(yy + zz) * -2.0, xy, zx}, {xy, (zz + xx) * -2.0, yz}, {zx, yz, (xx + yy) * -2.0}};
}
// [a]x [a]x = a a' - (a . a) 1
template <class T>
static MBT_VALUE Mat3<T> square(const Skew<T>& A) {
  const Vec3<T>& a = A.a;
  const T xx = a.x * a.x, yy = a.y * a.y, zz = a.z * a.z;
  const T xy = a.x * a.y, yz = a.y * a.z, zx = a.z * a.x;
  return {{-(yy + zz), xy, zx}, {xy, -(zz + xx), yz}, {zx, yz, -(xx + yy)}};
}
// 1 + a [phi]x + b [phi]x [phi]x
template <class T>
static MBT_VALUE Mat3<T> polynomial(const Vec3<T>& phi, Factor<T> a, Factor<T> b) {
  return plus_identity(skew(phi * a) + square(skew(phi)) * b, 1.0);
}

// B = [alpha]x + [w]x [w]x, entry by entry as above: B p is the acceleration of a point at p.
template <class T>
static MBT_VALUE void set_acceleration_of_points(const Vec3<T>& alpha, const Vec3<T>& w, Mat3<T>* B) {
  const T xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z;
  const T xy = w.x * w.y, xz = w.x * w.z, yz = w.y * w.z;
  B->x.x = -(yy + zz);
  B->x.y = xy - alpha.z;
  B->x.z = xz + alpha.y;
  B->y.x = xy + alpha.z;
  B->y.y = -(xx + zz);
  B->y.z = yz - alpha.x;
  B->z.x = xz - alpha.y;
  B->z.y = yz + alpha.x;
  B->z.z = -(xx + yy);
}

// Quaternions and poses -------------------------------------------------------------------------------------------

// w + (x, y, z) = w + v; a rotation if it has unit length.
template <class T>
struct Quaternion {
  T w;
  Vec3<T> v;
};

// X_AB: the point p_B is at R p_B + p in A.
template <class T>
struct Pose {
  Mat3<T> R;
  Vec3<T> p;
};

// X_AC = X_AB X_BC
template <class T>
static MBT_VALUE Pose<T> operator*(const Pose<T>& X_AB, const Pose<T>& X_BC) {
  return {X_AB.R * X_BC.R, X_AB.p + X_AB.R * X_BC.p};
}
template <class T>
static MBT_VALUE Pose<T> inverse(const Pose<T>& X) {
  const Mat3<T> R = transpose(X.R);
  return {R, -(R * X.p)};
}

// Constants, as values of another scalar.
template <class T>
static MBT_VALUE void set_constant(const Vec3<double>& a, Vec3<T>* to) {
  *to = {T(a.x), T(a.y), T(a.z)};
}
template <class T>
static MBT_VALUE void set_constant(const Mat3<double>& A, Mat3<T>* to) {
  set_constant(A.x, &to->x);
  set_constant(A.y, &to->y);
  set_constant(A.z, &to->z);
}
template <class T>
static MBT_VALUE void set_constant(const Pose<double>& X, Pose<T>* to) {
  set_constant(X.R, &to->R);
  set_constant(X.p, &to->p);
}

// In memory -------------------------------------------------------------------------------------------------------

template <class T>
static MBT_VALUE Vec3<T> vector_at(const T* a) {
  return {a[0], a[1], a[2]};
}
// The entries of a vector or a matrix, row by row.
template <class T>
static MBT_VALUE T* numbers(Vec3<T>& a) {
  return &a.x;
}
template <class T>
static MBT_VALUE const T* numbers(const Vec3<T>& a) {
  return &a.x;
}
template <class T>
static MBT_VALUE T* numbers(Mat3<T>& A) {
  return &A.x.x;
}
template <class T>
static MBT_VALUE const T* numbers(const Mat3<T>& A) {
  return &A.x.x;
}
template <class T>
static MBT_VALUE T* numbers(Sym3<T>& A) {
  return &A.xx;
}
template <class T>
static MBT_VALUE const T* numbers(const Sym3<T>& A) {
  return &A.xx;
}
// A matrix, or a block of a matrix with longer rows.
template <class T>
static MBT_VALUE Mat3<T> matrix_at(const T* a, int row = 3) {
  return {vector_at(a), vector_at(a + row), vector_at(a + 2 * row)};
}
// A homogeneous matrix, (4, 4), and its position.
template <class T>
static MBT_VALUE Vec3<T> position_at(const T* X) {
  return {X[3], X[7], X[11]};
}
template <class T>
static MBT_VALUE Pose<T> pose_at(const T* X) {
  return {matrix_at(X, 4), position_at(X)};
}

template <class T>
static MBT_VALUE void put(const Vec3<T>& a, T* to) {
  to[0] = a.x;
  to[1] = a.y;
  to[2] = a.z;
}
// A column of a matrix with rows of `row`: write it, or add a multiple.
template <class T>
static MBT_VALUE void put_column(const Vec3<T>& a, T* to, std::ptrdiff_t row) {
  to[0] = a.x;
  to[row] = a.y;
  to[2 * row] = a.z;
}
template <class T>
static MBT_VALUE void add_column(const Vec3<T>& a, double s, T* to, std::ptrdiff_t row) {
  to[0] = to[0] + a.x * s;
  to[row] = to[row] + a.y * s;
  to[2 * row] = to[2 * row] + a.z * s;
}
template <class T>
static MBT_VALUE Vec3<T> column_of(const T* a, std::ptrdiff_t row) {
  return {a[0], a[row], a[2 * row]};
}
template <class T>
static MBT_VALUE void put(const Mat3<T>& A, T* to, int row = 3) {
  put(A.x, to);
  put(A.y, to + row);
  put(A.z, to + 2 * row);
}
template <class T>
static MBT_VALUE void put(const Pose<T>& X, T* to) {
  put(X.R, to, 4);
  to[3] = X.p.x;
  to[7] = X.p.y;
  to[11] = X.p.z;
  to[12] = to[13] = to[14] = T(0.0);
  to[15] = T(1.0);
}

}  // namespace MBT_NS
