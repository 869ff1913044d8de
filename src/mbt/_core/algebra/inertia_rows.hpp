// Composite inertias of one state, for mass matrices: each vector of three in one vector register. A composite stays in
// registers from one mobod to its parent.
#pragma once

#include "algebra/motion_rows.hpp"
#include "algebra/records.hpp"

namespace MBT_NS {

// A rigid inertia. The fourth column of J and h is unused.
struct InertiaRows {
  Rows J;
  Row h;
  Row mass;  // in every column
};

static MBT_INLINE Row all_four(double a) { return make_row(a, a, a, a); }

// R[0] x + R[1] y + R[2] z
static MBT_INLINE Row combine(const double* R, const Rows& x) { return R[0] * x.r0 + R[1] * x.r1 + R[2] * x.r2; }

// x (5, 4)
static MBT_INLINE InertiaRows load_inertia(const double* x) {
  return {load_rows_of_four(x), load_row(x + 12), load_row(x + 16)};
}

static MBT_INLINE void store_inertia(const InertiaRows& x, double* y) {
  store_rows_of_four(y, x.J);
  store_row(y + 12, x.h);
  store_row(y + 16, x.mass);
}

static MBT_INLINE InertiaRows load_body_inertia(const RigidInertia<double>& I) {
  const Row a = load_row(&I.J.xx), b = load_row(&I.J.xz);
  return {{a, pick<1, 5, 6, 7>(a, b), pick<0, 2, 3, 3>(b, b)}, load_row(&I.h.x), all_four(I.mass)};
}

static MBT_INLINE RigidInertia<double> rigid_inertia(const InertiaRows& x) {
  RigidInertia<double> I;
  I.J = {number<0>(x.J.r0), number<1>(x.J.r0), number<2>(x.J.r0), number<1>(x.J.r1), number<2>(x.J.r1),
         number<2>(x.J.r2)};
  I.h = {number<0>(x.h), number<1>(x.h), number<2>(x.h)};
  I.mass = number<0>(x.mass);
  return I;
}

// R J R', with R (3, 3)
static MBT_INLINE Rows rotated(const double* R, const Rows& J) { return rotate(R, transpose(rotate(R, J))); }

// R h, with each component in all columns of its own row; `as_row` makes one row of it.
static MBT_INLINE Rows rotated_and_spread(const double* R, const Row& h) {
  const Rows x = spread(h);
  return {combine(R, x), combine(R + 3, x), combine(R + 6, x)};
}
static MBT_INLINE Row as_row(const Rows& h) { return pick<0, 1, 6, 7>(pick<0, 5, 2, 3>(h.r0, h.r1), h.r2); }

// The difference between an inertia about P and the same about Q, with h about Q, p = p_PQ and g = h + m p:
//   (h'p + g'p) 1 - (h p' + p g')
// Terms of the diagonal that would cancel are left out: an offset along z must not round the moment about z.
// h is spread; p is in memory, too.
static MBT_INLINE Rows shift_of_inertia(const Rows& h, const Row& h_row, const Row& g, const double* p, const Row& p_row) {
  const Row products = (h_row + g) * p_row;
  const Row diagonal = next_axes(products + next_axes(products));
  const Row zero = all_four(0.0);
  return {pick<4, 1, 2, 3>(zero - h.r0 * p_row - p[0] * g, diagonal),
          pick<0, 5, 2, 3>(zero - h.r1 * p_row - p[1] * g, diagonal),
          pick<0, 1, 6, 3>(zero - h.r2 * p_row - p[2] * g, diagonal)};
}

// y + x, with x carried from No in N to Po in P. X (4, 4): rows of R_PN, then p_PN. The terms that do not depend on J are
// summed first, because J takes longest.
static MBT_INLINE InertiaRows sum_carried(const InertiaRows& y, const double* X, const InertiaRows& x) {
  const double R[9] = {X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]};
  const Row p = load_row(X + 12), mp = x.mass * p;
  const Rows h = rotated_and_spread(R, x.h);
  const Row h_row = as_row(h);
  const Rows shift = shift_of_inertia(h, h_row, h_row + mp, X + 12, p);
  return {rotated(R, x.J) + (shift + y.J), h_row + (y.h + mp), x.mass + y.mass};
}

// y + x, with x shifted from Q to P; both have the axes of World. X_OP, X_OQ (4, 4).
static MBT_INLINE InertiaRows sum_shifted(
    const InertiaRows& y, const double* X_OP, const double* X_OQ, const InertiaRows& x) {
  const double p[3] = {X_OQ[3] - X_OP[3], X_OQ[7] - X_OP[7], X_OQ[11] - X_OP[11]};
  const Row p_row = make_row(p[0], p[1], p[2], p[2]), g = x.h + x.mass * p_row;
  return {x.J + (shift_of_inertia(spread(x.h), x.h, g, p, p_row) + y.J), g + y.h, x.mass + y.mass};
}

// In the axes of World, with X (4, 4) the pose of the mobod.
static MBT_INLINE InertiaRows inertia_in_world(const double* X, const RigidInertia<double>& I) {
  const double R[9] = {X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]};
  const InertiaRows x = load_body_inertia(I);
  return {rotated(R, x.J), as_row(rotated_and_spread(R, x.h)), x.mass};
}

// y = J w. Four doubles are written, the last one unused.
static MBT_INLINE void multiply_inertia(const InertiaRows& x, const double* w, double* y) {
  store_row(y, combine(w, x.J));
}

// Four doubles, as above.
static MBT_INLINE void get_h(const InertiaRows& x, double* h) { store_row(h, x.h); }
static MBT_INLINE double get_mass(const InertiaRows& x) { return number<0>(x.mass); }

}  // namespace MBT_NS
