// Articulated inertias of one state in rows of four, so that one instruction computes all three columns. The fourth
// column, which costs nothing, holds the force due to the bias acceleration.
#pragma once

#include "records.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

// m with x as its fourth column; the fourth column alone; and its entries
static MBT_INLINE Row with_fourth(const Row& m, double x) { return pick<0, 1, 2, 7>(m, make_row(x, x, x, x)); }
static MBT_INLINE Rows with_fourth(const Rows& m, const Vec3<double>& x) {
  return {with_fourth(m.r0, x.x), with_fourth(m.r1, x.y), with_fourth(m.r2, x.z)};
}
static MBT_INLINE Rows fourth(const Vec3<double>& x) {
  const Row zero = make_row(0.0, 0.0, 0.0, 0.0);
  return with_fourth({zero, zero, zero}, x);
}
static MBT_INLINE Vec3<double> fourth(const Rows& m) { return {number<3>(m.r0), number<3>(m.r1), number<3>(m.r2)}; }

// S m and S' m, with S in rows of four
static MBT_INLINE Rows product(const double* S, const Rows& m) {
  return {S[0] * m.r0 + S[1] * m.r1 + S[2] * m.r2, S[4] * m.r0 + S[5] * m.r1 + S[6] * m.r2,
          S[8] * m.r0 + S[9] * m.r1 + S[10] * m.r2};
}
static MBT_INLINE Rows transposed_product(const double* S, const Rows& m) {
  return {S[0] * m.r0 + S[4] * m.r1 + S[8] * m.r2, S[1] * m.r0 + S[5] * m.r1 + S[9] * m.r2,
          S[2] * m.r0 + S[6] * m.r1 + S[10] * m.r2};
}

// p × m for 3-vectors
static MBT_INLINE Row cross(const Row& p, const Row& m) {
  return pick<1, 2, 0, 3>(p, p) * pick<2, 0, 1, 3>(m, m) - pick<2, 0, 1, 3>(p, p) * pick<1, 2, 0, 3>(m, m);
}

// u = (u - U' bias) / D, and U at Po in P; the reduced I_A and Z + I_A bias + U u are added to the parent's.
static MBT_INLINE void take_dof_to_parent(
    const Articulated<double>* x, ArticulatedDof<double>* dof, Articulated<double>* parent) {
  const double *R = &x->X_PN.R.x.x, *p = &x->X_PN.p.x, *U = &dof->U.t.x;
  const ArticulatedInertia<double>& I = x->I;
  const Row p_row = load_row(p);

  // [R', bias]: the fourth column of an inertia times this is the force due to the bias.
  const Rows columns = transpose({load_row(R), load_row(R + 3), load_row(R + 6)});
  const Rows turned = with_fourth(columns, x->bias.w), shifted = with_fourth(columns, x->bias.v);

  const Row f = U[3] * shifted.r0 + U[4] * shifted.r1 + U[5] * shifted.r2;
  const Row t_N = U[0] * turned.r0 + U[1] * turned.r1 + U[2] * turned.r2, t = t_N + cross(p_row, f);
  dof->u = (dof->u - number<3>(t_N + f)) * dof->D_inverse;
  dof->U = {{number<0>(t), number<1>(t), number<2>(t)}, {number<0>(f), number<1>(f), number<2>(f)}};
  const Row t_D = dof->D_inverse * t, f_D = dof->D_inverse * f;

  // R A R', R B' R', R C R'; fourth columns: R (Z + I_A bias), in parts
  const Rows A = rotate(R, product(I.A, turned) + fourth(x->Z.t + matrix(I.B) * x->bias.v));
  const Rows Bt = rotate(R, transposed_product(I.B, turned));
  const Rows C = rotate(R, product(I.C, shifted) + fourth(x->Z.f));

  // B_P = B + [p]x C, A_P = A + [p]x B' + B_P [p]x'
  const Rows pC = cross(p, C), B_P = transpose(Bt) + pC, ApBt = A + cross(p, Bt);
  const Rows B_Pp = {cross(p_row, B_P.r0), cross(p_row, B_P.r1), cross(p_row, B_P.r2)};
  ArticulatedInertia<double>& I_P = parent->I;
  store_rows_of_four(I_P.A, subtract_product((load_rows_of_four(I_P.A) + ApBt) + B_Pp, t, t_D));
  store_rows_of_four(I_P.B, subtract_product(load_rows_of_four(I_P.B) + B_P, t, f_D));
  store_rows_of_four(I_P.C, subtract_product(load_rows_of_four(I_P.C) + C, f, f_D));
  parent->Z.t = parent->Z.t + fourth(ApBt + pC) + dof->U.t * dof->u;
  parent->Z.f = parent->Z.f + fourth(Bt + C) + dof->U.f * dof->u;
}

// vdot = u - U' a / D. The acceleration of the preceding body about z is added last, because a joint about z has to
// wait for it.
static MBT_INLINE double acceleration(const ArticulatedDof<double>& dof, const Motion<double>& a) {
  const Force<double> e = dof.U * dof.D_inverse;
  return dof.u - dot(e.f, a.v) - (e.t.x * a.w.x + e.t.y * a.w.y) - e.t.z * a.w.z;
}

}  // namespace MBT_NS
