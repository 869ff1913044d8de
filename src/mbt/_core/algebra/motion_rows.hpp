// Motions and forces of one state, each vector of three in a vector register, for inverse dynamics: what is computed of
// x, y and z alike is one instruction. A mobod takes over what the one before has computed where that is its parent, or
// its child: it waits for no memory.
#pragma once

#include "records.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

// As MotionForce. Rows of four, the fourth number is nobody's.
template <class T>
struct MotionForceRows {
  T R[12];  // R_PN, column by column
  T p[4];   // p_PN
  T w[4];
  T alpha[4];
  T a[4];
  T B[12];  // column by column
  T t[4];
  T f[4];
};

struct MotionRows {
  Row a;
  Rows w, alpha;  // x, y and z, each in all four places
  Rows B;         // column by column
};

struct ForceRows {
  Row t, f;
};

static MBT_INLINE Row load_three(const Vec3<double>& a) { return make_row(a.x, a.y, a.z, a.z); }
static MBT_INLINE Row next_axes(const Row& x) { return pick<1, 2, 0, 3>(x, x); }

static MBT_INLINE Rows spread(const Row& x) {
  return {pick<0, 0, 0, 0>(x, x), pick<1, 1, 1, 1>(x, x), pick<2, 2, 2, 2>(x, x)};
}
static MBT_INLINE Rows load_spread(const Vec3<double>& a) {
  return {make_row(a.x, a.x, a.x, a.x), make_row(a.y, a.y, a.y, a.y), make_row(a.z, a.z, a.z, a.z)};
}

// m x, with m column by column and x spread
static MBT_INLINE Row product(const Rows& m, const Rows& x) { return m.r0 * x.r0 + m.r1 * x.r1 + m.r2 * x.r2; }

// (x × y)[2], (x × y)[0], (x × y)[1]
static MBT_INLINE Row cross_shifted(const Row& x, const Row& y) { return x * next_axes(y) - next_axes(x) * y; }

// R_PN = R_PF turned about z.
static MBT_INLINE Rows load_turned_rotation(const Pose<double>* X_PF, double s, double c) {
  const Row along = c * make_row(1.0, 1.0, 0.0, 0.0) + make_row(0.0, 0.0, 1.0, 1.0);
  const Row across = s * make_row(1.0, -1.0, 0.0, 0.0);
  const Row r0 = load_row(&X_PF->R.x.x), r1 = load_row(&X_PF->R.y.x), r2 = load_row(&X_PF->R.z.x);
  return {r0 * along + pick<1, 0, 3, 2>(r0, r0) * across, r1 * along + pick<1, 0, 3, 2>(r1, r1) * across,
          r2 * along + pick<1, 0, 3, 2>(r2, r2) * across};
}

static MBT_INLINE void load_motion(const MotionForceRows<double>* x, MotionRows* y) {
  y->w = load_spread(vector_at(x->w));
  y->alpha = load_spread(vector_at(x->alpha));
  y->a = load_row(x->a);
  y->B = load_rows_of_four(x->B);
}

static MBT_INLINE void set_pose(const Rows& R_PN, const Row& p_PN, MotionForceRows<double>* x) {
  store_rows_of_four(x->R, transpose(R_PN));
  store_row(x->p, p_PN);
}

// [alpha]x - square 1, column by column
static MBT_INLINE Rows cross_less_square(const Row& alpha, const Row& square) {
  return {pick<0, 2, 1, 3>(alpha, alpha) * make_row(0.0, 1.0, -1.0, 0.0) - square * make_row(1.0, 0.0, 0.0, 0.0),
          pick<2, 1, 0, 3>(alpha, alpha) * make_row(-1.0, 0.0, 1.0, 0.0) - square * make_row(0.0, 1.0, 0.0, 0.0),
          pick<1, 0, 2, 3>(alpha, alpha) * make_row(1.0, -1.0, 0.0, 0.0) - square * make_row(0.0, 0.0, 1.0, 0.0)};
}

// B = [alpha]x + [w]x [w]x = [alpha]x - w² 1 + w w'; f = m a + B h; t = I alpha + w × (I w) + h × a.
static MBT_INLINE void set_motion_and_force(
    const Mobod<double>* mobod, const Row& w, const Row& alpha, const Row& a, MotionForceRows<double>* x,
    MotionRows* y) {
  y->w = spread(w);
  y->alpha = spread(alpha);
  y->a = a;
  const Rows D = cross_less_square(alpha, product(y->w, y->w));
  y->B = {y->w.r0 * w + D.r0, y->w.r1 * w + D.r1, y->w.r2 * w + D.r2};
  store_row(x->w, w);
  store_row(x->alpha, alpha);
  store_row(x->a, a);
  store_rows_of_four(x->B, y->B);
  store_row(x->f, mobod->I.mass * a + product(y->B, load_spread(mobod->I.h)));

  const Row first = load_row(&mobod->I.J.xx), second = load_row(&mobod->I.J.xz);
  const Rows I = {first, pick<1, 5, 6, 7>(first, second), pick<0, 2, 3, 3>(second, second)};
  const Row turning = cross_shifted(w, product(I, y->w)) + cross_shifted(load_row(&mobod->I.h.x), a);
  store_row(x->t, product(I, y->alpha) + next_axes(turning));
}

// Through a joint about z; `y` comes as the parent's.
static MBT_INLINE void carry_motion_through_revolute(
    const Mobod<double>* mobod, double s, double c, const double* v, const double* vdot, MotionForceRows<double>* x,
    MotionRows* y) {
  const Pose<double>* X_PF = &mobod->X_PF;
  const Rows R = load_turned_rotation(X_PF, s, c);
  set_pose(R, load_row(&X_PF->p.x), x);
  const Row Z = make_row(0.0, 0.0, 1.0, 0.0);
  const Row w_P = product(R, y->w);
  const Row bias = *v * (pick<1, 0, 3, 2>(w_P, w_P) * make_row(1.0, -1.0, 0.0, 0.0)) + *vdot * Z;
  const Row a_P = y->a + product(y->B, load_spread(X_PF->p));
  set_motion_and_force(mobod, w_P + *v * Z, product(R, y->alpha) + bias, product(R, spread(a_P)), x, y);
}

// The same in memory, for what a joint in general adds.
static MBT_INLINE void carry_motion_to_memory(
    const Pose<double>* X_PN, MotionForceRows<double>* x, const MotionRows& y) {
  const Rows R = {load_three(X_PN->R.x), load_three(X_PN->R.y), load_three(X_PN->R.z)};
  set_pose(R, load_three(X_PN->p), x);
  store_row(x->w, product(R, y.w));
  store_row(x->alpha, product(R, y.alpha));
  store_row(x->a, product(R, spread(y.a + product(y.B, load_spread(X_PN->p)))));
}

static MBT_INLINE void set_motion_and_force_from_memory(
    const Mobod<double>* mobod, MotionForceRows<double>* x, MotionRows* y) {
  set_motion_and_force(
      mobod, load_three(vector_at(x->w)), load_three(vector_at(x->alpha)), load_three(vector_at(x->a)), x, y);
}

static MBT_INLINE void load_force(const MotionForceRows<double>* x, ForceRows* y) {
  y->t = load_row(x->t);
  y->f = load_row(x->f);
}

// f_P += R f, t_P += R t + p × R f; `y` comes as that of x.
static MBT_INLINE void add_force_rows_to_parent(
    const MotionForceRows<double>* x, MotionForceRows<double>* parent, ForceRows* y) {
  const Rows columns = load_rows_of_four(x->R);
  const Row f = product(columns, spread(y->f));
  const Row t = load_row(parent->t) + next_axes(cross_shifted(load_row(x->p), f));
  const Rows t_N = spread(y->t);
  y->t = t + columns.r0 * t_N.r0 + columns.r1 * t_N.r1 + columns.r2 * t_N.r2;
  y->f = load_row(parent->f) + f;
  store_row(parent->t, y->t);
  store_row(parent->f, y->f);
}

}  // namespace MBT_NS
