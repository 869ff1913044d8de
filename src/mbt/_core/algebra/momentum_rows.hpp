// Momenta of the dofs outboard of a mobod, of one state, for mass matrices: a vector register holds one component of four dofs.
#pragma once

#include <cstddef>

#include "algebra/inertia_rows.hpp"

namespace MBT_NS {

// X_PN (4, 4): the rows of R_PN, then p_PN. The fourth column is unused. First of a joint about z, then of any joint.
static MBT_INLINE void set_turned_pose(const Pose<double>& X_PF, double s, double c, double* X_PN) {
  store_rows_of_four(X_PN, load_turned_rotation(&X_PF, s, c));
  store_row(X_PN + 12, load_row(&X_PF.p.x));
}
static MBT_INLINE void set_pose(const Pose<double>& X, double* X_PN) {
  store_rows_of_four(X_PN, {load_three(X.R.x), load_three(X.R.y), load_three(X.R.z)});
  store_row(X_PN + 12, load_three(X.p));
}

// Momenta [t; f] of a block of four dofs: one column for each.
struct Momenta {
  Rows t, f;
};

static MBT_INLINE Momenta load_momenta(const double* F) {
  return {load_rows_of_four(F), load_rows_of_four(F + 12)};
}

static MBT_INLINE void store_momenta(const Momenta& x, double* F) {
  store_rows_of_four(F, x.t);
  store_rows_of_four(F + 12, x.f);
}

static MBT_INLINE Momenta no_momenta() {
  const Row zero = all_four(0.0);
  return {{zero, zero, zero}, {zero, zero, zero}};
}

// The columns of x for start <= i < end, of y for others.
static MBT_INLINE Rows select_columns(int start, int end, const Rows& x, const Rows& y) {
  return {select_between(start, end, x.r0, y.r0), select_between(start, end, x.r1, y.r1),
          select_between(start, end, x.r2, y.r2)};
}
static MBT_INLINE Momenta select_momenta(int start, int end, const Momenta& x, const Momenta& y) {
  return {select_columns(start, end, x.t, y.t), select_columns(start, end, x.f, y.f)};
}

// About No in N becomes about Po in P: R f, and R t + p x R f. X is X_PN as above.
static MBT_INLINE Momenta carried(const double* X, const Momenta& x) {
  const double R[9] = {X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]};
  const Rows f = rotate(R, x.f);
  return {rotate(R, x.t) + cross(X + 12, f), f};
}

// Row i of M, from its diagonal on. Whole registers may be stored beyond its end: there, the next row is still to the left of
// its own diagonal and not yet mirrored. This does not hold for the first three rows, nor for the end of M.
struct RowOfM {
  double* row;
  int nv;
  int exact;  // from this column on, only what belongs to the row is stored

  MBT_INLINE RowOfM(int i, int nv_, double* M)
      : row(M + static_cast<std::ptrdiff_t>(nv_) * i), nv(nv_), exact(i > 1 && i + 1 < nv_ ? nv_ : nv_ - 3) {}

  MBT_INLINE void set(int k, const Row& x) const {
    if (k < exact) {
      store_row(row + k, x);
    } else {
      store_row_first(row + k, nv - k, x);
    }
  }
  MBT_INLINE void end(int k) const {
    for (; k < nv; k += 4) set(k, all_four(0.0));
  }
};

// Through a joint about z. Its momentum becomes column `start` of F, which has those of the dofs outboard, up to `end`; the
// block of `start` is not read if it is new. Row `start` of M has their torques about z. Then all are carried to the parent,
// unless that is World.
static MBT_INLINE void carry_through_revolute(
    const InertiaRows& I, bool is_base, const double* __restrict X_PN, int start, int end, bool is_new, double* __restrict F,
    int nv, double* M) {
  const Row &t = I.J.r2, &h = I.h;
  int k = start & -4;
  F += 6 * k;
  Momenta x = select_momenta(
      start - k, start + 1 - k,
      {{all_four(number<0>(t)), all_four(number<1>(t)), all_four(number<2>(t))},
       {all_four(-number<1>(h)), all_four(number<0>(h)), all_four(0.0)}},
      is_new ? no_momenta() : load_momenta(F));
  const RowOfM row(start, nv, M);
  for (;;) {
    row.set(k, x.t.r2);
    if (!is_base) store_momenta(carried(X_PN, x), F);
    k += 4;
    if (k >= end) break;
    F += 24;
    x = load_momenta(F);
  }
  row.end(k);
}

// Column k of F, of any joint.
static MBT_INLINE void put_momentum(const Force<double>& x, int k, double* F) {
  F += 6 * (k & -4) + (k & 3);
  F[0] = x.t.x;
  F[4] = x.t.y;
  F[8] = x.t.z;
  F[12] = x.f.x;
  F[16] = x.f.y;
  F[20] = x.f.z;
}

// M[i, k] = h' F_k for start <= k < end, with the torques or the forces of F.
static MBT_INLINE void project_three(
    const double* h, bool forces, int i, int start, int end, const double* F, int nv, double* M) {
  const RowOfM row(i, nv, M);
  int k = start & -4;
  for (; k < end; k += 4) {
    const double* x = F + 6 * k + (forces ? 12 : 0);
    row.set(k, combine(h, load_rows_of_four(x)));
  }
  row.end(k);
}

// M[i, k] = H' F_k for start <= k < end.
static MBT_INLINE void project_six(
    const double* H, int i, int start, int end, const double* F, int nv, double* M) {
  const RowOfM row(i, nv, M);
  int k = start & -4;
  for (; k < end; k += 4) {
    const Momenta x = load_momenta(F + 6 * k);
    row.set(k, combine(H, x.t) + combine(H + 3, x.f));
  }
  row.end(k);
}

static MBT_INLINE void carry_momenta(const double* X_PN, int start, int end, double* F) {
  for (int k = start & -4; k < end; k += 4) store_momenta(carried(X_PN, load_momenta(F + 6 * k)), F + 6 * k);
}

static MBT_INLINE void set_no_momenta(int start, int end, double* F) {
  for (int k = start & -4; k < end; k += 4) store_momenta(no_momenta(), F + 6 * k);
}

// Append columns start <= k < end of x to y, which has none from `start` on.
static MBT_INLINE void append_momenta(int start, int end, const double* x, double* y) {
  for (int k = start & -4; k < end; k += 4) {
    const Momenta others = k < start ? load_momenta(y + 6 * k) : no_momenta();
    store_momenta(select_momenta(start - k, end - k, load_momenta(x + 6 * k), others), y + 6 * k);
  }
}

// Copy columns start <= k < end of x to y; other columns of y are kept.
static MBT_INLINE void copy_momenta(int start, int end, const double* x, double* y) {
  for (int k = start & -4; k < end; k += 4) {
    store_momenta(select_momenta(start - k, end - k, load_momenta(x + 6 * k), load_momenta(y + 6 * k)), y + 6 * k);
  }
}

}  // namespace MBT_NS
