// Motions, forces and the articulated-body inertias that relate them, at one point and in one frame.
//
// R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, chapter 7. X is the pose X_PN of a frame N in P.
#pragma once

#include "algebra/vectors.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

template <class T>
struct Motion {
  Vec3<T> w, v;  // angular and linear: of a velocity, of an acceleration, of an axis
};
template <class T>
struct Force {
  Vec3<T> t, f;  // torque and force
};
// Motion axes of a joint or their rates.
template <class T>
struct JointAxes {
  Motion<T> dof[6];
};

template <class T>
static MBT_VALUE Motion<T> motion_at(const T* a) {
  return {vector_at(a), vector_at(a + 3)};
}
template <class T>
static MBT_VALUE Force<T> force_at(const T* a) {
  return {vector_at(a), vector_at(a + 3)};
}
template <class T>
static MBT_VALUE T* numbers(Motion<T>& a) {
  return &a.w.x;
}
template <class T>
static MBT_VALUE const T* numbers(const Motion<T>& a) {
  return &a.w.x;
}
template <class T>
static MBT_VALUE T* numbers(Force<T>& a) {
  return &a.t.x;
}
template <class T>
static MBT_VALUE const T* numbers(const Force<T>& a) {
  return &a.t.x;
}

template <class T>
static MBT_VALUE Motion<T> operator+(const Motion<T>& a, const Motion<T>& b) {
  return {a.w + b.w, a.v + b.v};
}
template <class T>
static MBT_VALUE Motion<T> operator*(const Motion<T>& a, Factor<T> s) {
  return {a.w * s, a.v * s};
}
template <class T>
static MBT_VALUE void put(const Motion<T>& a, T* to) {
  put(a.w, to);
  put(a.v, to + 3);
}
template <class T>
static MBT_VALUE void put(const Force<T>& F, T* to) {
  put(F.t, to);
  put(F.f, to + 3);
}
// A column of a matrix with rows of `row`: write it, or add a multiple.
template <class T>
static MBT_VALUE void put_column(const Motion<T>& a, T* to, std::ptrdiff_t row) {
  put_column(a.w, to, row);
  put_column(a.v, to + 3 * row, row);
}
template <class T>
static MBT_VALUE void add_column(const Motion<T>& a, double s, T* to, std::ptrdiff_t row) {
  add_column(a.w, s, to, row);
  add_column(a.v, s, to + 3 * row, row);
}
template <class T>
static MBT_VALUE Motion<T> operator-(const Motion<T>& a, const Motion<T>& b) {
  return {a.w - b.w, a.v - b.v};
}
template <class T>
static MBT_VALUE Force<T> operator+(const Force<T>& a, const Force<T>& b) {
  return {a.t + b.t, a.f + b.f};
}
template <class T>
static MBT_VALUE Force<T> operator-(const Force<T>& a, const Force<T>& b) {
  return {a.t - b.t, a.f - b.f};
}
template <class T>
static MBT_VALUE Force<T> operator-(const Force<T>& a) {
  return {-a.t, -a.f};
}
template <class T>
static MBT_VALUE Force<T> operator*(const Force<T>& a, Factor<T> s) {
  return {a.t * s, a.f * s};
}
// F + a s
template <class T>
static MBT_VALUE Force<T> sum(const Force<T>& F, const Force<T>& a, const T& s) {
  return {{F.t.x + a.t.x * s, F.t.y + a.t.y * s, F.t.z + a.t.z * s},
          {F.f.x + a.f.x * s, F.f.y + a.f.y * s, F.f.z + a.f.z * s}};
}
template <class T>
static MBT_VALUE T dot(const Force<T>& a, const Motion<T>& b) {
  return a.t.x * b.w.x + a.t.y * b.w.y + a.t.z * b.w.z + a.f.x * b.v.x + a.f.y * b.v.y + a.f.z * b.v.z;
}

// Rotated by R.
template <class T>
static MBT_VALUE Motion<T> operator*(const Mat3<T>& R, const Motion<T>& a) {
  return {R * a.w, R * a.v};
}
template <class T>
static MBT_VALUE Force<T> operator*(const Mat3<T>& R, const Force<T>& F) {
  return {R * F.t, R * F.f};
}
template <class T>
static MBT_VALUE Motion<T> times_transposed(const Mat3<T>& R, const Motion<T>& a) {
  return {times_transposed(R, a.w), times_transposed(R, a.v)};
}
// Rates of a motion and of a force fixed in a frame that moves at V.
template <class T>
static MBT_VALUE Motion<T> cross(const Motion<T>& V, const Motion<T>& a) {
  return {cross(V.w, a.w), cross(V.w, a.v) + cross(V.v, a.w)};
}
template <class T>
static MBT_VALUE Force<T> cross(const Motion<T>& V, const Force<T>& F) {
  return {cross(V.w, F.t) + cross(V.v, F.f), cross(V.w, F.f)};
}
// Shift a motion from the origin to the point p, in the same axes.
template <class T>
static MBT_VALUE Motion<T> shifted(const Motion<T>& a, const Vec3<T>& p) {
  return {a.w, a.v + cross(a.w, p)};
}
// Transform a motion at Po in P to No in N.
template <class T>
static MBT_VALUE Motion<T> in_child(const Pose<T>& X, const Motion<T>& a) {
  return {times_transposed(X.R, a.w), times_transposed(X.R, a.v + cross(a.w, X.p))};
}
// Transform a force at No in N to Po in P.
template <class T>
static MBT_VALUE Force<T> in_parent(const Pose<T>& X, const Force<T>& a) {
  const Vec3<T> f = X.R * a.f;
  return {X.R * a.t + cross(X.p, f), f};
}
// F_P += in_parent(X, a).
template <class T>
static MBT_VALUE void add_in_parent(const Pose<T>& X, const Force<T>& a, Force<T>* F_P) {
  const Vec3<T> f = X.R * a.f;
  F_P->t = F_P->t + X.R * a.t + cross(X.p, f);
  F_P->f = F_P->f + f;
}

// Rigid-body inertias: they map a motion to a force, all about one point.
template <class T>
struct RigidInertia {
  T mass;     // [kg]
  Vec3<T> h;  // [kg m]
  Sym3<T> J;  // [kg m^2]
};
template <class T>
static MBT_VALUE T* numbers(RigidInertia<T>& I) {
  return &I.mass;
}
template <class T>
static MBT_VALUE Force<T> operator*(const RigidInertia<T>& I, const Motion<T>& a) {
  return {I.J * a.w + cross(I.h, a.v), a.v * I.mass + cross(a.w, I.h)};
}
template <class T>
static MBT_VALUE RigidInertia<T> operator+(const RigidInertia<T>& A, const RigidInertia<T>& B) {
  return {A.mass + B.mass, A.h + B.h, A.J + B.J};
}

template <class T>
static MBT_VALUE RigidInertia<T> rotated(const Mat3<T>& R, const RigidInertia<T>& I) {
  const Sym3<T> J = rotated(R, I.J);
  return {I.mass, R * I.h, J};
}
// Inertia of a body about Bo, in B; I: xx yy zz xy xz yz.
template <class T>
static MBT_VALUE RigidInertia<T> inertia_of_body(Factor<T> mass, const T* p_BoBcm_B, const T* I) {
  return {mass, vector_at(p_BoBcm_B) * mass, {I[0], I[3], I[4], I[1], I[5], I[2]}};
}
// Add an inertia about Q to one about O, with p = p_OQ: I_O = I_Q + (2 h.p + m p.p) 1 - (h p' + p h' + m p p').
template <class T>
static MBT_VALUE void add_shifted(const RigidInertia<T>& I, const Vec3<T>& p, RigidInertia<T>* sum) {
  const Vec3<T>&h = I.h, g = h + p * I.mass, d = entrywise(g + h, p);
  Sym3<T>& J = sum->J;
  J.xx = J.xx + I.J.xx + d.y + d.z;
  J.xy = J.xy + I.J.xy - (h.x * p.y + g.y * p.x);
  J.xz = J.xz + I.J.xz - (h.x * p.z + g.z * p.x);
  J.yy = J.yy + I.J.yy + d.x + d.z;
  J.yz = J.yz + I.J.yz - (h.y * p.z + g.z * p.y);
  J.zz = J.zz + I.J.zz + d.x + d.y;
  sum->h = sum->h + g;
  sum->mass = sum->mass + I.mass;
}

// Articulated inertias --------------------------------------------------------------------------------------------

// I = [A, B; B', C] maps a motion to a force.
template <class T>
struct ArticulatedInertia {
  Sym3<T> A;  // [kg m^2]
  Mat3<T> B;  // [kg m]
  Sym3<T> C;  // [kg]
};

// For a single state, the rows of all three are padded to four, so that each row fills one SIMD vector. The fourth
// column is unused.
template <>
struct ArticulatedInertia<double> {
  double A[12], B[12], C[12];
};

template <class T>
static MBT_VALUE const Sym3<T>& symmetric(const Sym3<T>& A) {
  return A;
}
static MBT_VALUE Sym3<double> symmetric(const double* A) { return {A[0], A[1], A[2], A[5], A[6], A[10]}; }
template <class T>
static MBT_VALUE const Mat3<T>& matrix(const Mat3<T>& B) {
  return B;
}
static MBT_VALUE Mat3<double> matrix(const double* B) { return matrix_at(B, 4); }

template <class T>
static MBT_VALUE void set_inertia(
    const Sym3<T>& A, const Mat3<T>& B, const Sym3<T>& C, ArticulatedInertia<T>* I) {
  I->A = A;
  I->B = B;
  I->C = C;
}
static MBT_VALUE void set_inertia(
    const Sym3<double>& A, const Mat3<double>& B, const Sym3<double>& C, ArticulatedInertia<double>* I) {
  put(full(A), I->A, 4);
  put(B, I->B, 4);
  put(full(C), I->C, 4);
}

// Inertia of a rigid body: A = J, B = [h]x, C = mass 1.
template <class T>
static MBT_VALUE void set_rigid_inertia(
    const T& mass, const Vec3<T>& h, const Sym3<T>& J, ArticulatedInertia<T>* I) {
  const T zero(0.0);
  I->A = J;
  I->B = {{zero, -h.z, h.y}, {h.z, zero, -h.x}, {-h.y, h.x, zero}};
  I->C = {mass, zero, zero, mass, zero, mass};
}
template <>
MBT_VALUE void set_rigid_inertia(
    const double& mass, const Vec3<double>& h, const Sym3<double>& J, ArticulatedInertia<double>* I) {
  const Row second = load_row(&J.xy), third = load_row(&J.xz);
  store_rows_of_four(I->A, {load_row(&J.xx), pick<0, 2, 3, 3>(second, second), pick<0, 2, 3, 3>(third, third)});
  store_rows_of_four(
      I->B, {make_row(0.0, -h.z, h.y, 0.0), make_row(h.z, 0.0, -h.x, 0.0), make_row(-h.y, h.x, 0.0, 0.0)});
  store_rows_of_four(
      I->C, {make_row(mass, 0.0, 0.0, 0.0), make_row(0.0, mass, 0.0, 0.0), make_row(0.0, 0.0, mass, 0.0)});
}

template <class T>
static MBT_VALUE Force<T> operator*(const ArticulatedInertia<T>& I, const Motion<T>& a) {
  const Mat3<T>& B = matrix(I.B);
  return {symmetric(I.A) * a.w + B * a.v, sum(times_transposed(B, a.w), symmetric(I.C), a.v)};
}
// F + I a
template <class T>
static MBT_VALUE Force<T> sum(const Force<T>& F, const ArticulatedInertia<T>& I, const Motion<T>& a) {
  const Mat3<T>& B = matrix(I.B);
  return {sum(F.t, symmetric(I.A), a.w) + B * a.v, sum(sum_transposed(F.f, B, a.w), symmetric(I.C), a.v)};
}
template <class T>
static MBT_VALUE T trace_of_A(const ArticulatedInertia<T>& I) {
  return trace(symmetric(I.A));
}
template <class T>
static MBT_VALUE T trace_of_C(const ArticulatedInertia<T>& I) {
  return trace(symmetric(I.C));
}
// I times a rotation about z, and I times a translation along z.
template <class T>
static MBT_VALUE Force<T> times_turn_about_z(const ArticulatedInertia<T>& I) {
  const Sym3<T>& A = symmetric(I.A);
  return {{A.xz, A.yz, A.zz}, matrix(I.B).z};
}
template <class T>
static MBT_VALUE Force<T> times_shift_along_z(const ArticulatedInertia<T>& I) {
  const Sym3<T>& C = symmetric(I.C);
  return {z_axis(matrix(I.B)), {C.xz, C.yz, C.zz}};
}

// I -= U U' / D, which frees one dof.
template <class T>
static MBT_VALUE void eliminate(const Force<T>& U, Factor<T> D_inverse, ArticulatedInertia<T>* I) {
  const Force<T> e = U * D_inverse;
  set_inertia(
      less(symmetric(I->A), e.t, U.t), less(matrix(I->B), e.t, U.f), less(symmetric(I->C), e.f, U.f), I);
}

// I_P += [A, B; B', C] shifted by p: C; D = B + [p]x C; A - B [p]x + [p]x D' (upper triangle only).
template <class T>
static MBT_VALUE void add_shifted(
    const Sym3<T>& A, const Mat3<T>& B, const Sym3<T>& C, const Vec3<T>& p, ArticulatedInertia<T>* I_P) {
  const Mat3<T> D = {
      {B.x.x + p.y * C.xz - p.z * C.xy, B.x.y + p.y * C.yz - p.z * C.yy, B.x.z + p.y * C.zz - p.z * C.yz},
      {B.y.x + p.z * C.xx - p.x * C.xz, B.y.y + p.z * C.xy - p.x * C.yz, B.y.z + p.z * C.xz - p.x * C.zz},
      {B.z.x + p.x * C.xy - p.y * C.xx, B.z.y + p.x * C.yy - p.y * C.xy, B.z.z + p.x * C.yz - p.y * C.xz}};
  const Sym3<T>& A_P = symmetric(I_P->A);
  set_inertia(
      {A_P.xx + A.xx + p.y * (B.x.z + D.x.z) - p.z * (B.x.y + D.x.y),
       A_P.xy + A.xy + p.z * (B.x.x - D.y.y) - p.x * B.x.z + p.y * D.y.z,
       A_P.xz + A.xz + p.y * (D.z.z - B.x.x) + p.x * B.x.y - p.z * D.z.y,
       A_P.yy + A.yy + p.z * (B.y.x + D.y.x) - p.x * (B.y.z + D.y.z),
       A_P.yz + A.yz + p.x * (B.y.y - D.z.z) - p.y * B.y.x + p.z * D.z.x,
       A_P.zz + A.zz + p.x * (B.z.y + D.z.y) - p.y * (B.z.x + D.z.x)},
      matrix(I_P->B) + D, symmetric(I_P->C) + C, I_P);
}

// I_P += I in P.
template <class T>
static MBT_VALUE void add_to_parent(const ArticulatedInertia<T>& I, const Pose<T>& X, ArticulatedInertia<T>* I_P) {
  const Sym3<T> C = rotated(X.R, symmetric(I.C));
  const Mat3<T> B = rotated(X.R, matrix(I.B));
  add_shifted(rotated(X.R, symmetric(I.A)), B, C, X.p, I_P);
}

// The articulated inertia that remains when a hinge about z is free: its rows of A and B about z are zero.
template <class T>
struct HingedInertia {
  T xx, xy, yy;  // of A
  Vec3<T> x, y;  // rows of B
  Sym3<T> C;
};

template <class T>
static MBT_VALUE HingedInertia<T> hinged(const ArticulatedInertia<T>& I, const Force<T>& U, Factor<T> D_inverse) {
  const Force<T> e = U * D_inverse;
  const Sym3<T>& A = symmetric(I.A);
  const Mat3<T>& B = matrix(I.B);
  return {A.xx - e.t.x * U.t.x, A.xy - e.t.x * U.t.y, A.yy - e.t.y * U.t.y,
          less(B.x, U.f, e.t.x), less(B.y, U.f, e.t.y), less(symmetric(I.C), e.f, U.f)};
}
template <class T>
static MBT_VALUE Force<T> sum(const Force<T>& F, const HingedInertia<T>& I, const Motion<T>& a) {
  const Vec3<T> f = {
      F.f.x + I.x.x * a.w.x + I.y.x * a.w.y, F.f.y + I.x.y * a.w.x + I.y.y * a.w.y,
      F.f.z + I.x.z * a.w.x + I.y.z * a.w.y};
  return {
      {sum(F.t.x + I.xx * a.w.x + I.xy * a.w.y, I.x, a.v), sum(F.t.y + I.xy * a.w.x + I.yy * a.w.y, I.y, a.v), F.t.z},
      sum(f, I.C, a.v)};
}
template <class T>
static MBT_VALUE void add_to_parent(const HingedInertia<T>& I, const Pose<T>& X, ArticulatedInertia<T>* I_P) {
  const Mat3<T>& R = X.R;
  const Vec3<T> x = R * I.x, y = R * I.y;  // rows of B R'
  // The nonzero columns of R A.
  const T ax = R.x.x * I.xx + R.x.y * I.xy, ay = R.y.x * I.xx + R.y.y * I.xy, az = R.z.x * I.xx + R.z.y * I.xy;
  const T bx = R.x.x * I.xy + R.x.y * I.yy, by = R.y.x * I.xy + R.y.y * I.yy, bz = R.z.x * I.xy + R.z.y * I.yy;
  add_shifted(
      {ax * R.x.x + bx * R.x.y, ax * R.y.x + bx * R.y.y, ax * R.z.x + bx * R.z.y, ay * R.y.x + by * R.y.y,
       ay * R.z.x + by * R.z.y, az * R.z.x + bz * R.z.y},
      {combined(x, R.x.x, y, R.x.y), combined(x, R.y.x, y, R.y.y), combined(x, R.z.x, y, R.z.y)}, rotated(R, I.C), X.p,
      I_P);
}

}  // namespace MBT_NS
