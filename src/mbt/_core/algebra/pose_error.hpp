// Pose error of a frame F with respect to a goal G, e = log(X_WF^-1 X_WG) in F, and its Jacobian with respect to
// velocities.
#pragma once

#include "lie_groups.hpp"

namespace MBT_NS {

template <class T>
static MBT_INLINE Pose<T> product(const Pose<T>& X, const Pose<T>& Y) {
  return {X.R * Y.R, X.p + X.R * Y.p};
}

// X_WF = X_WN X_NB X_BF, with N the mobod of body B, X_NB its rotation followed by its position. If X_WN is null, N is
// World.
static inline void calc_pose_on_mobod(const double* X_WN, const double* X_NB, const double* X_BF, double* X_WF) {
  const Pose<double> X_NF = product(Pose<double>{matrix_at(X_NB), vector_at(X_NB + 9)}, pose_at(X_BF));
  put(X_WN ? product(pose_at(X_WN), X_NF) : X_NF, X_WF);
}

// e (6,)
static inline void calc_pose_error(const double* X_WF, const double* X_WG, double* e) {
  const Pose<double> F = pose_at(X_WF), G = pose_at(X_WG);
  const Mat3<double> R_FW = transpose(F.R);
  const Twist<double> xi = log_se3(Pose<double>{R_FW * G.R, R_FW * (G.p - F.p)});
  put(xi.phi, e);
  put(xi.rho, e + 3);
}

// J (6, nv), the Jacobian of the spatial velocity of F in World, becomes de/dv: the rate of X_FG is -[V]x X_FG, where V
// is the velocity of F in its own axes.
static inline void calc_pose_error_jacobian(const double* X_WF, const double* e, int nv, double* J) {
  const Mat3<double> R_FW = transpose(matrix_at(X_WF, 4));
  const Jacobian<double> inverse = left_jacobian_inverse_se3(vector_at(e), vector_at(e + 3));
  const Mat3<double> A = inverse.J * R_FW * -1.0, B = inverse.Q * R_FW * -1.0;
  double *x = J, *y = x + nv, *z = y + nv, *a = z + nv, *b = a + nv, *c = b + nv;
  for (int k = 0; k < nv; ++k) {
    const Vec3<double> w = {x[k], y[k], z[k]}, v = {a[k], b[k], c[k]};
    const Vec3<double> phi = A * w, rho = B * w + A * v;
    x[k] = phi.x, y[k] = phi.y, z[k] = phi.z;
    a[k] = rho.x, b[k] = rho.y, c[k] = rho.z;
  }
}

}  // namespace MBT_NS
