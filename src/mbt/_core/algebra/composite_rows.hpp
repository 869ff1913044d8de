// Composite inertias of one state, expressed in World with their rows in vector registers, for the mass matrix. A mobod
// adds its composite to its parent's; where the parent is the preceding mobod, the composite stays in registers.
#pragma once

#include "scalars/rows.hpp"

namespace MBT_NS {

// Composite about the origin of the mobod; the inertia is (3, 4).
struct CompositeInWorld {
  double inertia[12];  // [kg m^2]
  double h[3];         // [kg m]
  double mass;         // [kg]
};

struct CompositeRows {
  Rows inertia;  // the fourth column is unused
  double h[3];
  double mass;
};

// A = R S R', rows of four, with R the rotation of the pose X (4, 4) and S = xx xy xz yy yz zz.
static MBT_INLINE void rotate_inertia_rows(const double* X, const double* S, double* A) {
  const double R[9] = {X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]};
  const Row a = load_row(S), b = load_row(S + 2);
  const Rows m = {a, pick<1, 5, 6, 7>(a, b), pick<0, 2, 3, 3>(b, b)};
  store_rows_of_four(A, rotate(R, transpose(rotate(R, m))));
}

static MBT_INLINE void load_composite(const CompositeInWorld* x, CompositeRows* y) {
  y->inertia = load_rows_of_four(x->inertia);
  for (int i = 0; i < 3; ++i) y->h[i] = x->h[i];
  y->mass = x->mass;
}

// y += x
static MBT_INLINE void add_composite(const CompositeInWorld* x, CompositeRows* y) {
  y->inertia = y->inertia + load_rows_of_four(x->inertia);
  for (int i = 0; i < 3; ++i) y->h[i] += x->h[i];
  y->mass += x->mass;
}

// y += x
static MBT_INLINE void add_to_composite(const CompositeRows* x, CompositeInWorld* y) {
  store_rows_of_four(y->inertia, load_rows_of_four(y->inertia) + x->inertia);
  for (int i = 0; i < 3; ++i) y->h[i] += x->h[i];
  y->mass += x->mass;
}

// Shift from Q to O, with p = p_OQ: I_O = I_Q + (h'p + g'p) 1 - (h p' + p g'), g = h + m p.
static MBT_INLINE void shift_composite(const double* p, CompositeRows* x) {
  const double g[3] = {x->h[0] + x->mass * p[0], x->h[1] + x->mass * p[1], x->h[2] + x->mass * p[2]};
  const double d = (g[0] + x->h[0]) * p[0] + ((g[1] + x->h[1]) * p[1] + (g[2] + x->h[2]) * p[2]);
  const Row p_row = make_row(p[0], p[1], p[2], p[2]), g_row = make_row(g[0], g[1], g[2], g[2]);
  const Row zero = make_row(0.0, 0.0, 0.0, 0.0), all = make_row(d, d, d, d);
  Rows& I = x->inertia;
  I.r0 = (I.r0 - x->h[0] * p_row) + (pick<4, 1, 2, 3>(zero, all) - p[0] * g_row);
  I.r1 = (I.r1 - x->h[1] * p_row) + (pick<0, 5, 2, 3>(zero, all) - p[1] * g_row);
  I.r2 = (I.r2 - x->h[2] * p_row) + (pick<0, 1, 6, 3>(zero, all) - p[2] * g_row);
  for (int i = 0; i < 3; ++i) x->h[i] = g[i];
}

// y = I w; four entries are written, of which the fourth is meaningless.
static MBT_INLINE void multiply_inertia(const CompositeRows* x, const double* w, double* y) {
  store_row(y, w[0] * x->inertia.r0 + w[1] * x->inertia.r1 + w[2] * x->inertia.r2);
}

}  // namespace MBT_NS
