// Rotations SO(3) and poses SE(3): conversions, exponentials, logarithms and their Jacobians, for any scalar.
//
// Sola, Deray, Atchuthan: A micro Lie theory for state estimation in robotics (2018), with the rotation first:
// xi = [phi; rho]. K is [phi]x, r the angle |phi|, s its square. Functions of s are smooth at zero, near which they are
// computed as series, and elsewhere in closed form: whichever does not suffer from cancellation.
#pragma once

#include "scalars/arctangent.hpp"
#include "vectors.hpp"

namespace MBT_NS {

// Functions of the square of an angle -----------------------------------------------------------------------------

// Squares of angles below it count as near zero. At this limit, closed forms are accurate to a few units of rounding.
static constexpr double NEAR = 2.0;
// The same limit for squared sines: their series converges slowly, but is needed only where the root is not smooth.
static constexpr double NEAR_SINE = 1e-8;

// near(s, others...) or far(s, others...). Scalars without comparisons compute both, each with an argument in its own
// range, so that the discarded one does not spoil derivatives.
template <class T>
struct Choice {
  template <class F, class... Others>
  static MBT_INLINE F of(
      const T& s, double bound, F (*near)(const T&, const Others&...), F (*far)(const T&, const Others&...),
      const Others&... others) {
    const T limit(bound);
    return select_lt(
        s, limit, near(select_lt(s, limit, s, T(0.0)), others...), far(select_lt(s, limit, T(1.0), s), others...));
  }
};
template <>
struct Choice<double> {
  template <class F, class... Others>
  static MBT_INLINE F of(
      double s, double bound, F (*near)(const double&, const Others&...), F (*far)(const double&, const Others&...),
      const Others&... others) {
    return s < bound ? near(s, others...) : far(s, others...);
  }
};

// The Stumpff functions c_k = 1/k! - s/(k + 2)! + s^2/(k + 4)! - ...: c_1 = sin(r)/r, c_2 = (1 - cos(r))/r^2,
// c_3 = (r - sin(r))/r^3; their rates are 2 dc_k/ds = k c_(k+2) - c_(k+1).
template <class T>
struct Stumpff {
  T c1, c2, c3, c4, c5;
};

static constexpr double inverse_factorial(int n) {
  double factorial = 1.0;
  for (int k = 2; k <= n; ++k) factorial *= k;
  return 1.0 / factorial;
}

// c_K near zero: the next term is 2e-18 of it.
template <int K, int J = 0, int TERMS = 10>
struct StumpffSeries {
  template <class T>
  static MBT_INLINE T sum(const T& s) {
    constexpr double a = inverse_factorial(K + 2 * J);
    return T(a) - s * StumpffSeries<K, J + 1, TERMS>::sum(s);
  }
};
template <int K, int TERMS>
struct StumpffSeries<K, TERMS, TERMS> {
  template <class T>
  static MBT_INLINE T sum(const T&) {
    return T(0.0);
  }
};

template <class T>
static MBT_INLINE Stumpff<T> sum_stumpff(const T& s) {
  Stumpff<T> c;
  c.c5 = StumpffSeries<5>::sum(s);
  c.c4 = StumpffSeries<4>::sum(s);
  c.c3 = T(1.0 / 6.0) - s * c.c5;
  c.c2 = T(0.5) - s * c.c4;
  c.c1 = T(1.0) - s * c.c3;
  return c;
}

// c_(k+2) = (1/k! - c_k) / s
template <class T>
static MBT_INLINE Stumpff<T> calc_distant_stumpff(const T& s) {
  const T r = sqrt_(s);
  T sine, cosine;
  sincos_(r * 0.5, &sine, &cosine);
  const T x = sine / r;
  Stumpff<T> c;
  c.c1 = x * cosine * 2.0;
  c.c2 = x * x * 2.0;
  c.c3 = (T(1.0) - c.c1) / s;
  c.c4 = (T(0.5) - c.c2) / s;
  c.c5 = (T(1.0 / 6.0) - c.c3) / s;
  return c;
}

template <class T>
static MBT_INLINE Stumpff<T> select_lt(const T& a, const T& b, const Stumpff<T>& x, const Stumpff<T>& y) {
  return {select_lt(a, b, x.c1, y.c1), select_lt(a, b, x.c2, y.c2), select_lt(a, b, x.c3, y.c3),
          select_lt(a, b, x.c4, y.c4), select_lt(a, b, x.c5, y.c5)};
}

template <class T>
static MBT_INLINE Stumpff<T> calc_stumpff(const T& s) {
  return Choice<T>::of(s, NEAR, sum_stumpff<T>, calc_distant_stumpff<T>);
}

// g = (1 - r/2 cot(r/2)) / r^2, and its rate 2 dg/ds.
template <class T>
struct InverseCoefficients {
  T g, rate;
};

// g = sum |B_2n| s^(n-1) / (2n)!, with Bernoulli numbers B_2n.
static constexpr double BERNOULLI[] = {
    1.0 / 12, 1.0 / 720, 1.0 / 30240, 1.0 / 1209600, 2.08767569878681e-08, 5.284190138687493e-10,
    1.3382536530684679e-11, 3.3896802963225827e-13, 8.586062056277845e-15, 2.174868698558062e-16,
    5.5090028283602295e-18, 1.3954464685812522e-19, 3.534707039629467e-21, 8.953517427037546e-23,
    2.267952452337683e-24};

template <class T>
static MBT_INLINE InverseCoefficients<T> sum_inverse_coefficients(const T& s) {
  constexpr int n = sizeof BERNOULLI / sizeof *BERNOULLI;
  T g(BERNOULLI[n - 1]), rate(2 * (n - 1) * BERNOULLI[n - 1]);
  for (int k = n - 2; k >= 1; --k) {
    g = T(BERNOULLI[k]) + s * g;
    rate = T(2 * k * BERNOULLI[k]) + s * rate;
  }
  return {T(BERNOULLI[0]) + s * g, rate};
}

template <class T>
static MBT_INLINE InverseCoefficients<T> calc_distant_inverse_coefficients(const T& s) {
  const T half = sqrt_(s) * 0.5;
  T sine, cosine;
  sincos_(half, &sine, &cosine);
  const T g = (T(1.0) - half * cosine / sine) / s;
  return {g, (T(0.25) - g * 3.0 + s * g * g) / s};
}

template <class T>
static MBT_INLINE InverseCoefficients<T> select_lt(
    const T& a, const T& b, const InverseCoefficients<T>& x, const InverseCoefficients<T>& y) {
  return {select_lt(a, b, x.g, y.g), select_lt(a, b, x.rate, y.rate)};
}

template <class T>
static MBT_INLINE InverseCoefficients<T> calc_inverse_coefficients(const T& s) {
  return Choice<T>::of(s, NEAR, sum_inverse_coefficients<T>, calc_distant_inverse_coefficients<T>);
}

// Rotations -------------------------------------------------------------------------------------------------------

// For a quaternion of any nonzero length.
template <class T>
static MBT_INLINE Mat3<T> rotation_of(const Quaternion<T>& q) {
  const T f = T(2.0) / (q.w * q.w + dot(q.v, q.v));
  return plus_identity(skew(q.v * (q.w * f)) + square(skew(q.v)) * f, 1.0);
}

// Keep the row with the larger diagonal entry; on a tie, the current one.
template <class T>
static MBT_INLINE void take_larger(const T& entry, const Quaternion<T>& row, T& largest, Quaternion<T>& q) {
  q = {select_lt(largest, entry, row.w, q.w),
       {select_lt(largest, entry, row.v.x, q.v.x), select_lt(largest, entry, row.v.y, q.v.y),
        select_lt(largest, entry, row.v.z, q.v.z)}};
  largest = select_lt(largest, entry, entry, largest);
}

// 4 q_i q for the largest entry q_i of the unit quaternion q of R (the first on a tie), with w >= 0.
template <class T>
static MBT_INLINE Quaternion<T> multiple_of_quaternion(const Mat3<T>& R) {
  const T one(1.0);
  const T wx = R.z.y - R.y.z, wy = R.x.z - R.z.x, wz = R.y.x - R.x.y;
  const T xy = R.x.y + R.y.x, yz = R.y.z + R.z.y, zx = R.z.x + R.x.z;
  const T xx = one + R.x.x - R.y.y - R.z.z, yy = one + R.y.y - R.x.x - R.z.z, zz = one + R.z.z - R.x.x - R.y.y;
  T largest = one + R.x.x + R.y.y + R.z.z;
  Quaternion<T> q = {largest, {wx, wy, wz}};
  take_larger(xx, {wx, {xx, xy, zx}}, largest, q);
  take_larger(yy, {wy, {xy, yy, yz}}, largest, q);
  take_larger(zz, {wz, {zx, yz, zz}}, largest, q);
  const T sign = select_lt(q.w, T(0.0), -one, one);
  return {q.w * sign, q.v * sign};
}

// The unit quaternion of a rotation, with w >= 0.
template <class T>
static MBT_INLINE Quaternion<T> quaternion_of(const Mat3<T>& R) {
  const Quaternion<T> q = multiple_of_quaternion(R);
  const T length = sqrt_(q.w * q.w + dot(q.v, q.v));
  return {q.w / length, q.v / length};
}

// Rz(yaw) Ry(pitch) Rx(roll) of (roll, pitch, yaw).
template <class T>
static MBT_INLINE Mat3<T> rotation_of_rpy(const Vec3<T>& rpy) {
  T sr, cr, sp, cp, sy, cy;
  sincos_(rpy.x, &sr, &cr);
  sincos_(rpy.y, &sp, &cp);
  sincos_(rpy.z, &sy, &cy);
  return {{cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr},
          {sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr},
          {-sp, cp * sr, cp * cr}};
}

// Roll, pitch and yaw; at gimbal lock, cos(pitch) = 0, yaw is zero.
template <class T>
static MBT_INLINE Vec3<T> rpy_of(const Mat3<T>& R) {
  const T square = R.x.x * R.x.x + R.y.x * R.y.x, limit(1e-24);
  // Sine and cosine of yaw, times any positive number.
  const T s = select_lt(limit, square, R.y.x, T(0.0)), c = select_lt(limit, square, R.x.x, T(1.0));
  // Rz(-yaw) R = Ry(pitch) Rx(roll)
  return {angle_of(s * R.x.z - c * R.y.z, c * R.y.y - s * R.x.y), angle_of(-R.z.x, sqrt_(square)), angle_of(s, c)};
}

// The rotation by an angle about a unit vector: cos 1 + sin [n]x + (1 - cos) n n'.
template <class T>
static MBT_INLINE Mat3<T> rotation_about(const Vec3<T>& n, const T& angle) {
  T s, c;
  sincos_(angle, &s, &c);
  const Vec3<T> m = n * (T(1.0) - c);
  return plus_identity(skew(n * s) + Mat3<T>{n * m.x, n * m.y, n * m.z}, c);
}

// Exponentials, logarithms and Jacobians --------------------------------------------------------------------------

// The rate of a K + b K^2 along rho, where da and db are the rates of a and b by s/2.
//
// It is the off-diagonal block of the same polynomial of SE(3), because the algebra of SE(3) is that of SO(3) over the
// dual numbers, phi + e rho with e^2 = 0.
template <class T>
static MBT_INLINE Mat3<T> rate_of_polynomial(
    const Vec3<T>& phi, const Vec3<T>& rho, const T& a, const T& b, const T& da, const T& db) {
  const T d = dot(phi, rho);
  return skew(rho * a + phi * (d * da)) +
         (anticommutator(skew(phi), skew(rho)) * b + square(skew(phi)) * (d * db));
}

// R = 1 + c_1 K + c_2 K^2
template <class T>
static MBT_INLINE Mat3<T> exp_so3(const Vec3<T>& phi) {
  const Stumpff<T> c = calc_stumpff(dot(phi, phi));
  return polynomial(phi, c.c1, c.c2);
}

// J = 1 + c_2 K + c_3 K^2
template <class T>
static MBT_INLINE Mat3<T> left_jacobian_so3(const Vec3<T>& phi) {
  const Stumpff<T> c = calc_stumpff(dot(phi, phi));
  return polynomial(phi, c.c2, c.c3);
}

// 1/J = 1 - K/2 + g K^2
template <class T>
static MBT_INLINE Mat3<T> left_jacobian_inverse_so3(const Vec3<T>& phi) {
  return polynomial(phi, T(-0.5), calc_inverse_coefficients(dot(phi, phi)).g);
}

// [R, J rho; 0, 1]
template <class T>
static MBT_INLINE Pose<T> exp_se3(const Vec3<T>& phi, const Vec3<T>& rho) {
  const Stumpff<T> c = calc_stumpff(dot(phi, phi));
  return {polynomial(phi, c.c1, c.c2), polynomial(phi, c.c2, c.c3) * rho};
}

// 2 atan2(r, w) / r as a function of u = r^2: by asin(x)/x = 1 + x^2/6 + 3/40 x^4 + ..., with the sine x of half the
// angle.
template <class T>
static MBT_INLINE T sum_log_factor(const T& u, const T& w) {
  const T norm = u + w * w, x = u / norm;
  return T(2.0) / sqrt_(norm) * (T(1.0) + x * (T(1.0 / 6.0) + x * (3.0 / 40.0)));
}
template <class T>
static MBT_INLINE T calc_distant_log_factor(const T& u, const T& w) {
  const T r = sqrt_(u);
  return angle_of(r, w) * 2.0 / r;
}

// 2 atan2(|v|, w) / |v| for a quaternion of any length.
template <class T>
static MBT_INLINE T log_factor(const Quaternion<T>& q) {
  return Choice<T>::of(dot(q.v, q.v), NEAR_SINE, sum_log_factor<T>, calc_distant_log_factor<T>, q.w);
}

// The rotation vector, whose angle is at most pi.
template <class T>
static MBT_INLINE Vec3<T> log_so3(const Mat3<T>& R) {
  const Quaternion<T> q = multiple_of_quaternion(R);
  return q.v * log_factor(q);
}

// g for the rotation vector f v of a quaternion w + v.
template <class T>
static MBT_INLINE T log_coefficient(const Quaternion<T>& q, const T& f) {
  return calc_inverse_coefficients(dot(q.v, q.v) * f * f).g;
}
// r/2 cot(r/2) is f w / 2. The cancellation error near zero is as small as the rounding error of p, but that of the
// derivatives is not.
static MBT_INLINE double log_coefficient(const Quaternion<double>& q, double f) {
  const double u = dot(q.v, q.v);
  return u < NEAR_SINE ? 1.0 / 12.0 : (1.0 - f * q.w * 0.5) / (u * f * f);
}

// [phi; rho], rho = 1/J p
template <class T>
struct Twist {
  Vec3<T> phi, rho;
};

template <class T>
static MBT_INLINE Twist<T> log_se3(const Pose<T>& X) {
  const Quaternion<T> q = multiple_of_quaternion(X.R);
  const T f = log_factor(q);
  const Vec3<T> phi = q.v * f;
  return {phi, polynomial(phi, T(-0.5), log_coefficient(q, f)) * X.p};
}

// [J, 0; Q, J]
template <class T>
struct Jacobian {
  Mat3<T> J, Q;
};

template <class T>
static MBT_INLINE Jacobian<T> left_jacobian_se3(const Vec3<T>& phi, const Vec3<T>& rho) {
  const Stumpff<T> c = calc_stumpff(dot(phi, phi));
  return {polynomial(phi, c.c2, c.c3),
          rate_of_polynomial(phi, rho, c.c2, c.c3, c.c4 * 2.0 - c.c3, c.c5 * 3.0 - c.c4)};
}

template <class T>
static MBT_INLINE Jacobian<T> left_jacobian_inverse_se3(const Vec3<T>& phi, const Vec3<T>& rho) {
  const InverseCoefficients<T> c = calc_inverse_coefficients(dot(phi, phi));
  return {polynomial(phi, T(-0.5), c.g), rate_of_polynomial(phi, rho, T(-0.5), c.g, T(0.0), c.rate)};
}

}  // namespace MBT_NS
