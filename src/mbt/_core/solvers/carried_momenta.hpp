// Momenta that free bodies carry from one pose to the next, each by itself; see docs/implicit_steps.md.
#pragma once

#include <cmath>

namespace mbt_convex {

template <class S>
struct Vector {
  S x, y, z;
};

template <class S>
inline Vector<S> read_vector(const S* a) { return {a[0], a[1], a[2]}; }
template <class S>
inline Vector<S> operator+(const Vector<S>& a, const Vector<S>& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class S>
inline Vector<S> operator*(const Vector<S>& a, const S& s) { return {a.x*s, a.y*s, a.z*s}; }
template <class S>
inline S dot(const Vector<S>& a, const Vector<S>& b) { return a.x*b.x + a.y*b.y + a.z*b.z; }
template <class S>
inline Vector<S> cross(const Vector<S>& a, const Vector<S>& b) {
  return {a.y*b.z - a.z*b.y, a.z*b.x - a.x*b.z, a.x*b.y - a.y*b.x};
}
// R a, and R' a, with the rows of R `row` numbers apart.
template <class S>
inline Vector<S> turn(const S* R, int row, const Vector<S>& a) {
  return {dot(read_vector(R), a), dot(read_vector(R + row), a), dot(read_vector(R + 2*row), a)};
}
template <class S>
inline Vector<S> turn_back(const S* R, int row, const Vector<S>& a) {
  return read_vector(R)*a.x + read_vector(R + row)*a.y + read_vector(R + 2*row)*a.z;
}

// The principal axes (rows) of a body about its centre of mass, of moments of inertia I1 <= I2 <= I3.
template <class S>
struct PrincipalOf {
  S mass;
  S com[3];
  S axes[9];
  S roots[3];  // of the moments
  S turns[3];  // (Ii - I2)/sqrt(Ij Ik)
};
typedef PrincipalOf<double> Principal;

// By rotations about one axis at a time (Jacobi), until the matrix is diagonal.
inline void find_axes(double A[3][3], double Q[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) Q[i][j] = i == j;
  for (int sweep = 0; sweep < 30; ++sweep) {
    const int i = sweep % 3 == 2 ? 1 : 0, j = sweep % 3 == 0 ? 1 : 2;
    if (std::fabs(A[i][j]) <= 1e-18*(std::fabs(A[i][i]) + std::fabs(A[j][j]))) continue;
    const double half = (A[j][j] - A[i][i])/(2.0*A[i][j]);
    const double t = (half < 0.0 ? -1.0 : 1.0)/(std::fabs(half) + std::sqrt(1.0 + half*half));
    const double c = 1.0/std::sqrt(1.0 + t*t), s = t*c;
    for (int k = 0; k < 3; ++k) {
      const double a = A[k][i], b = A[k][j];
      A[k][i] = c*a - s*b;
      A[k][j] = s*a + c*b;
    }
    for (int k = 0; k < 3; ++k) {
      const double a = A[i][k], b = A[j][k];
      A[i][k] = c*a - s*b;
      A[j][k] = s*a + c*b;
      const double p = Q[i][k], q = Q[j][k];
      Q[i][k] = c*p - s*q;
      Q[j][k] = s*p + c*q;
    }
  }
}

// I of the body about its origin: xx yy zz xy xz yz.
inline Principal find_principal(double mass, const double* com, const double* I) {
  Principal x;
  const double *c = com, square = dot(read_vector(c), read_vector(c));
  double A[3][3] = {{I[0], I[3], I[4]}, {I[3], I[1], I[5]}, {I[4], I[5], I[2]}}, Q[3][3];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) A[i][j] -= mass*((i == j ? square : 0.0) - c[i]*c[j]);
  find_axes(A, Q);
  int order[3] = {0, 1, 2};
  for (int pass = 0; pass < 3; ++pass) {
    const int i = pass % 2;
    if (A[order[i]][order[i]] > A[order[i + 1]][order[i + 1]]) {
      const int first = order[i];
      order[i] = order[i + 1];
      order[i + 1] = first;
    }
  }
  double moments[3];
  const double least = 1e-12*A[order[2]][order[2]];
  for (int i = 0; i < 3; ++i) {
    moments[i] = A[order[i]][order[i]] > least ? A[order[i]][order[i]] : 0.0;
    x.roots[i] = std::sqrt(moments[i]);
    x.com[i] = c[i];
    for (int k = 0; k < 3; ++k) x.axes[3*i + k] = Q[order[i]][k];
  }
  // Right-handed.
  const Vector<double> third = cross(read_vector(x.axes), read_vector(x.axes + 3));
  x.axes[6] = third.x;
  x.axes[7] = third.y;
  x.axes[8] = third.z;
  x.mass = mass;
  x.turns[1] = 0.0;
  for (int i = 0; i < 3; i += 2) {
    const double others = x.roots[1]*x.roots[2 - i];
    x.turns[i] = others > 0.0 ? (moments[i] - moments[1])/others : 0.0;
  }
  return x;
}

// The carried angular momentum of a body about its principal axes, from the angular velocity one step back.
template <class S>
inline Vector<S> carry_angular(const PrincipalOf<S>& x, const Vector<S>& w, double h) {
  const Vector<S> y{x.roots[0]*w.x, x.roots[1]*w.y, x.roots[2]*w.z};
  const Vector<S> s{0.5*h*x.turns[0]*w.x, S(0.0), 0.5*h*x.turns[2]*w.z};
  const Vector<S> sy = cross(s, y), turned = y + (sy + cross(s, sy))*(S(2.0)/(S(1.0) + dot(s, s)));
  return {x.roots[0]*turned.x, x.roots[1]*turned.y, x.roots[2]*turned.z};
}

// Its change with w.
inline Vector<double> change_angular(
  const Principal& x, const Vector<double>& w, const Vector<double>& dw, double h) {
  const Vector<double> y{x.roots[0]*w.x, x.roots[1]*w.y, x.roots[2]*w.z};
  const Vector<double> dy{x.roots[0]*dw.x, x.roots[1]*dw.y, x.roots[2]*dw.z};
  const Vector<double> s{0.5*h*x.turns[0]*w.x, 0.0, 0.5*h*x.turns[2]*w.z};
  const Vector<double> ds{0.5*h*x.turns[0]*dw.x, 0.0, 0.5*h*x.turns[2]*dw.z};
  const Vector<double> sy = cross(s, y), dsy = cross(ds, y) + cross(s, dy);
  const double a = 2.0/(1.0 + dot(s, s)), da = -a*a*dot(s, ds);
  const Vector<double> turned = dy + (dsy + cross(ds, sy) + cross(s, dsy))*a + (sy + cross(s, sy))*da;
  return {x.roots[0]*turned.x, x.roots[1]*turned.y, x.roots[2]*turned.z};
}

// F (num_bodies, 6), about the origins of the bodies: F = h F + the momenta + h mass gravity.
template <class S>
inline void add_momenta(
  int num_bodies, const PrincipalOf<S>* bodies, const S* gravity, const S* X_WB, const S* X0_WB, const S* V0_WB,
  double h, S* F) {
  for (int b = 1; b < num_bodies; ++b) {
    const PrincipalOf<S>& x = bodies[b];
    const S *R = X_WB + 16*b, *R0 = X0_WB + 16*b;
    const Vector<S> c = read_vector(x.com), w0 = read_vector(V0_WB + 6*b), u0 = read_vector(V0_WB + 6*b + 3);
    const Vector<S> w = turn(x.axes, 3, turn_back(R0, 4, w0));
    const Vector<S> L = turn(R, 4, turn_back(x.axes, 3, carry_angular(x, w, h)));
    Vector<S> p = (u0 + cross(w0, turn(R0, 4, c)))*x.mass;
    if (gravity) p = p + read_vector(gravity)*(h*x.mass);
    const Vector<S> torque = L + cross(turn(R, 4, c), p);
    S* f = F + 6*b;
    f[0] = h*f[0] + torque.x;
    f[1] = h*f[1] + torque.y;
    f[2] = h*f[2] + torque.z;
    f[3] = h*f[3] + p.x;
    f[4] = h*f[4] + p.y;
    f[5] = h*f[5] + p.z;
  }
}

}  // namespace mbt_convex
