// The error of a pose and its derivatives, for one state or one in each lane, without branches.
#pragma once

#include "scalars/lanes.hpp"
#include "scalars/real.hpp"

namespace MBT_NS {

// The angle of the point (c, s), both not negative: Cephes, atan.c, after S. L. Moshier.
template <class S>
static inline S angle_in_first_quadrant(const S& s, const S& c) {
  const S high = select_lt(s, c, c, s), low = select_lt(s, c, s, c);
  const S beyond = S(0.66) * high;
  const S x = select_lt(beyond, low, low - high, low) / select_lt(beyond, low, low + high, high);
  const S z = x * x, z2 = z * z;
  const S p = ((S(-8.750608600031904122785e-1) * z + S(-1.615753718733365076637e1)) * z2 +
               (S(-7.500855792314704667340e1) * z + S(-1.228866684490136173410e2))) * z + S(-6.485021904942025371773e1);
  const S d = ((z + S(2.485846490142306297962e1)) * z2 +
               (S(1.650270098316988542046e2) * z + S(4.328810604912902668951e2))) * z2 +
              (S(4.853903996359136964868e2) * z + S(1.945506571482613964425e2));
  const S a = x + x * z * (p / d) + select_lt(beyond, low, S(0.78539816339744830962), S(0.0));
  return select_lt(s, c, a, S(1.57079632679489661923) - a);
}

// w = log(R), the rotation vector of at most pi; its length a; and c = (1 - a/2 cot(a/2)) / a^2 and d = c'(a) / a.
template <class S>
static inline void rotation_logarithm(const S* R, S* w, S* angle, S* c, S* d) {
  // 4 q_i times the quaternion q = [w x y z], with the largest q_i. K. Shepperd, "Quaternion from rotation matrix", 1978.
  S q[4] = {S(1.0) + R[0] + R[4] + R[8], R[7] - R[5], R[2] - R[6], R[3] - R[1]};
  const S rows[3][4] = {{R[7] - R[5], S(1.0) + R[0] - R[4] - R[8], R[1] + R[3], R[2] + R[6]},
                        {R[2] - R[6], R[1] + R[3], S(1.0) - R[0] + R[4] - R[8], R[5] + R[7]},
                        {R[3] - R[1], R[2] + R[6], R[5] + R[7], S(1.0) - R[0] - R[4] + R[8]}};
  S largest = q[0];
  for (int i = 0; i < 3; ++i) {
    const S own = rows[i][i + 1];
    for (int j = 0; j < 4; ++j) q[j] = select_lt(largest, own, rows[i][j], q[j]);
    largest = select_lt(largest, own, own, largest);
  }
  // What follows does not depend on the length of q, so no division has to wait for it.
  const S sign = select_lt(q[0], S(0.0), S(-1.0), S(1.0));
  const S real = sign * q[0];
  const S squared = q[1] * q[1] + q[2] * q[2] + q[3] * q[3] + S(1e-200);
  const S length = sqrt_(squared);
  const S inverse_length = S(1.0) / length;
  *angle = S(2.0) * angle_in_first_quadrant<S>(length, real);
  const S share = sign * *angle * inverse_length;
  for (int i = 0; i < 3; ++i) w[i] = q[i + 1] * share;

  const S z = *angle * *angle;
  const S near_c = ((((S(691.0 / 1307674368000.0) * z + S(1.0 / 47900160.0)) * z + S(1.0 / 1209600.0)) * z +
                     S(1.0 / 30240.0)) * z + S(1.0 / 720.0)) * z + S(1.0 / 12.0);
  const S near_d = (((S(6910.0 / 1307674368000.0) * z + S(8.0 / 47900160.0)) * z + S(6.0 / 1209600.0)) * z +
                    S(4.0 / 30240.0)) * z + S(1.0 / 360.0);
  const S inverse = S(1.0) / z;
  const S cotangent = real * inverse_length;
  const S far_c = (S(1.0) - S(0.5) * *angle * cotangent) * inverse;
  const S far_d = (S(0.25) + S(0.25) * cotangent * cotangent - inverse - far_c) * inverse;
  *c = select_lt(z, S(0.25), near_c, far_c);
  *d = select_lt(z, S(0.25), near_d, far_d);
}

// A = 1 - [w]/2 + c [w]^2: the derivative of log(R) with respect to a rotation on the left of R.
template <class S>
static inline void set_rotation_rates(const S* w, const S& c, S* A) {
  const S x = c * w[0], y = c * w[1], z = c * w[2];
  A[0] = S(1.0) - y * w[1] - z * w[2];
  A[4] = S(1.0) - x * w[0] - z * w[2];
  A[8] = S(1.0) - x * w[0] - y * w[1];
  const S xy = x * w[1], xz = x * w[2], yz = y * w[2];
  A[1] = xy + S(0.5) * w[2];
  A[3] = xy - S(0.5) * w[2];
  A[2] = xz - S(0.5) * w[1];
  A[6] = xz + S(0.5) * w[1];
  A[5] = yz + S(0.5) * w[0];
  A[7] = yz - S(0.5) * w[0];
}

// The derivative of A along u.
template <class S>
static inline void set_rotation_rates_along(const S* w, const S* u, const S& c, const S& d, S* B) {
  const S along = w[0] * u[0] + w[1] * u[1] + w[2] * u[2];
  const S rate = d * along;
  const S square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) B[3 * i + j] = c * (w[i] * u[j] + u[i] * w[j]) + rate * w[i] * w[j];
    B[4 * i] = B[4 * i] - S(2.0) * c * along - rate * square;
  }
  B[1] = B[1] + S(0.5) * u[2];
  B[3] = B[3] - S(0.5) * u[2];
  B[2] = B[2] - S(0.5) * u[1];
  B[6] = B[6] + S(0.5) * u[1];
  B[5] = B[5] + S(0.5) * u[0];
  B[7] = B[7] - S(0.5) * u[0];
}

// e = log(X), rotation first, of X = X_FG. With the velocity [w; v] of F, expressed in it, -de/dt = [A w; B w + A v]. The
// same in other axes: with R_FG, p and [w; v] expressed in them.
template <class S>
static inline void pose_error(const S* R, const S* p, S* e, S* A, S* B, S* angle) {
  S c, d;
  rotation_logarithm<S>(R, e, angle, &c, &d);
  set_rotation_rates<S>(e, c, A);
  for (int i = 0; i < 3; ++i) e[3 + i] = A[3 * i] * p[0] + A[3 * i + 1] * p[1] + A[3 * i + 2] * p[2];
  set_rotation_rates_along<S>(e, e + 3, c, d, B);
}

// Sets the column of a dof in the Jacobian of a pose's error: with its motion [z; u], the rows A z of the rotation and
// B z + A u of the translation; a row of -1 is omitted.
template <class S>
static inline void set_pose_column(
    const S* z, const S* u, const S* A, const S* B, int rotation_row, int distance_row, S* J) {
  if (rotation_row >= 0)
    for (int i = 0; i < 3; ++i) J[rotation_row + i] = A[3 * i] * z[0] + A[3 * i + 1] * z[1] + A[3 * i + 2] * z[2];
  if (distance_row >= 0)
    for (int i = 0; i < 3; ++i)
      J[distance_row + i] = B[3 * i] * z[0] + B[3 * i + 1] * z[1] + B[3 * i + 2] * z[2] + A[3 * i] * u[0] +
                            A[3 * i + 1] * u[1] + A[3 * i + 2] * u[2];
}

}  // namespace MBT_NS
