// Motions and forces of one state, with each 3-vector in a SIMD register, for inverse dynamics: one instruction
// computes x, y and z. MotionRows and ForceRows pass from mobod to mobod in registers.
#pragma once

#include "records.hpp"
#include "scalars/rows.hpp"

namespace MBT_NS {

// Like MotionForce, with rows of four whose fourth entry is unused.
template <class T>
struct MotionForceRows {
  T R[12];  // R_PN, column by column
  T p[4];   // p_PN
  T w[4];
  T alpha[4];
  T a[4];
  T t[4];  // first the sum over children, then the total
  T f[4];
};

static_assert(sizeof(MotionForce<double>) <= sizeof(MotionForceRows<double>), "one memory is for either");

struct MotionRows {
  Row w, alpha, a;
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

// m x and u + m x, with m column by column and x spread. The first entry of x is available before the others, and GCC
// turns the first of two products into the fused multiply-add.
static MBT_INLINE Row product(const Rows& m, const Rows& x) { return m.r1 * x.r1 + m.r0 * x.r0 + m.r2 * x.r2; }
static MBT_INLINE Row sum(const Row& u, const Rows& m, const Rows& x) {
  return u + m.r0 * x.r0 + m.r1 * x.r1 + m.r2 * x.r2;
}

// (x × y)[2], (x × y)[0], (x × y)[1]
static MBT_INLINE Row cross_shifted(const Row& x, const Row& y) { return x * next_axes(y) - next_axes(x) * y; }

// alpha × r + w × (w × r)
static MBT_INLINE Row acceleration_at(const Row& r, const Row& w, const Row& alpha) {
  return next_axes(cross_shifted(alpha, r) + cross_shifted(w, next_axes(cross_shifted(w, r))));
}

// R_PN = R_PF rotated about z.
static MBT_INLINE Rows load_turned_rotation(const Pose<double>* X_PF, double s, double c) {
  const Row along = c * make_row(1.0, 1.0, 0.0, 0.0) + make_row(0.0, 0.0, 1.0, 1.0);
  const Row across = s * make_row(1.0, -1.0, 0.0, 0.0);
  const Row r0 = load_row(&X_PF->R.x.x), r1 = load_row(&X_PF->R.y.x), r2 = load_row(&X_PF->R.z.x);
  return {r0 * along + pick<1, 0, 3, 2>(r0, r0) * across, r1 * along + pick<1, 0, 3, 2>(r1, r1) * across,
          r2 * along + pick<1, 0, 3, 2>(r2, r2) * across};
}

static MBT_INLINE void load_motion(const MotionForceRows<double>* x, MotionRows* y) {
  y->w = load_row(x->w);
  y->alpha = load_row(x->alpha);
  y->a = load_row(x->a);
}

// No force yet: children add theirs.
static MBT_INLINE void set_motion(const MotionRows& y, MotionForceRows<double>* x) {
  store_row(x->w, y.w);
  store_row(x->alpha, y.alpha);
  store_row(x->a, y.a);
  const Row zero = make_row(0.0, 0.0, 0.0, 0.0);
  store_row(x->t, zero);
  store_row(x->f, zero);
}

static MBT_INLINE void set_pose(const Rows& R_PN, const Row& p_PN, MotionForceRows<double>* x) {
  store_rows_of_four(x->R, transpose(R_PN));
  store_row(x->p, p_PN);
}

// Across a joint about z. On entry, y is the motion of the parent; on return, that of the mobod.
static MBT_INLINE void carry_motion_through_revolute(
    const Mobod<double>* mobod, double s, double c, const double* v, const double* vdot, MotionForceRows<double>* x,
    MotionRows* y) {
  const Pose<double>* X_PF = &mobod->X_PF;
  const Rows R = load_turned_rotation(X_PF, s, c);
  const Row p = load_row(&X_PF->p.x);
  set_pose(R, p, x);
  const Row Z = make_row(0.0, 0.0, 1.0, 0.0);
  y->a = product(R, spread(y->a + acceleration_at(p, y->w, y->alpha)));
  y->w = sum(*v * Z, R, spread(y->w));
  const Row bias = *v * (pick<1, 0, 3, 2>(y->w, y->w) * make_row(1.0, -1.0, 0.0, 0.0)) + *vdot * Z;
  y->alpha = sum(bias, R, spread(y->alpha));
  set_motion(*y, x);
}

// Across a ball or free joint: v is the velocity of M in F, angular and, with six dofs, linear.
static MBT_INLINE void carry_motion_freely(
    const Pose<double>* X_PN, const double* R_FM, int nv, const double* v, const double* vdot,
    MotionForceRows<double>* x, MotionRows* y) {
  const Rows R = {load_three(X_PN->R.x), load_three(X_PN->R.y), load_three(X_PN->R.z)};
  const Rows to_N = {load_three(vector_at(R_FM)), load_three(vector_at(R_FM + 3)), load_three(vector_at(R_FM + 6))};
  const Row p = load_three(X_PN->p);
  set_pose(R, p, x);
  y->a = product(R, spread(y->a + acceleration_at(p, y->w, y->alpha)));
  y->w = product(R, spread(y->w));
  y->alpha = sum(product(to_N, load_spread(vector_at(vdot))), R, spread(y->alpha));
  const Row w_PN = product(to_N, load_spread(vector_at(v)));
  y->alpha = y->alpha + next_axes(cross_shifted(y->w, w_PN));
  if (nv == 6) {
    const Row v_PN = product(to_N, load_spread(vector_at(v + 3)));
    y->a = y->a + product(to_N, load_spread(vector_at(vdot + 3))) + 2.0 * next_axes(cross_shifted(y->w, v_PN));
  }
  y->w = y->w + w_PN;
  set_motion(*y, x);
}

// Store the motion of the parent, at No in N, to memory, where a general joint adds its own.
static MBT_INLINE void carry_motion_to_memory(
    const Pose<double>* X_PN, MotionForceRows<double>* x, const MotionRows& y) {
  const Rows R = {load_three(X_PN->R.x), load_three(X_PN->R.y), load_three(X_PN->R.z)};
  const Row p = load_three(X_PN->p);
  set_pose(R, p, x);
  store_row(x->w, product(R, spread(y.w)));
  store_row(x->alpha, product(R, spread(y.alpha)));
  store_row(x->a, product(R, spread(y.a + acceleration_at(p, y.w, y.alpha))));
}

static MBT_INLINE void set_motion_from_memory(MotionForceRows<double>* x, MotionRows* y) {
  *y = {load_three(vector_at(x->w)), load_three(vector_at(x->alpha)), load_three(vector_at(x->a))};
  set_motion(*y, x);
}

static MBT_INLINE void set_no_force(ForceRows* y) { y->t = y->f = make_row(0.0, 0.0, 0.0, 0.0); }

// f += m a + alpha × h + w × (w × h), t += I alpha + w × (I w) + h × a, plus the forces of the children.
static MBT_INLINE void add_body_force(const Mobod<double>* mobod, MotionForceRows<double>* x, ForceRows* y) {
  const Row w = load_row(x->w), alpha = load_row(x->alpha), a = load_row(x->a), h = load_row(&mobod->I.h.x);
  y->f = y->f + (load_row(x->f) + mobod->I.mass * a + acceleration_at(h, w, alpha));
  const Row first = load_row(&mobod->I.J.xx), second = load_row(&mobod->I.J.xz);
  const Rows I = {first, pick<1, 5, 6, 7>(first, second), pick<0, 2, 3, 3>(second, second)};
  const Row turning = cross_shifted(w, product(I, load_spread(vector_at(x->w)))) + cross_shifted(h, a);
  y->t = y->t + (sum(load_row(x->t), I, load_spread(vector_at(x->alpha))) + next_axes(turning));
  store_row(x->f, y->f);
  store_row(x->t, y->t);
}

// Shift to Po in P: R f and R t + p × R f.
static MBT_INLINE void carry_force_rows(const MotionForceRows<double>* x, ForceRows* y) {
  const Rows R = load_rows_of_four(x->R);
  y->f = product(R, spread(y->f));
  y->t = sum(next_axes(cross_shifted(load_row(x->p), y->f)), R, spread(y->t));
}

static MBT_INLINE void leave_force(const ForceRows& y, MotionForceRows<double>* x) {
  store_row(x->t, load_row(x->t) + y.t);
  store_row(x->f, load_row(x->f) + y.f);
}

}  // namespace MBT_NS
