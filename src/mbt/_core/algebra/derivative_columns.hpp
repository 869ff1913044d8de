// Derivatives of the dynamics: every degree of freedom is a column, and MBT_W columns of doubles are computed at once,
// one per lane of a register. Other scalars are computed one column at a time.
//
// All spatial vectors are in World about one point O. With S the motion axis of a dof, V and A velocity and (less
// gravity) acceleration of its mobod, I, B and F the sums over the mobod and everything outboard of it:
//
//     P   change of V along the dof, less S x V           W   P + dS/dt
//     Q   change of A along the dof, less S x A and P x V
//     I   spatial inertia, B x = I (x x V) + x x* (I V) + V x* (I x) for a motion x, F the force
//     I_S = I S    U = B S + I W    Z = B P + I Q + S x* F    B_S = B' S, whose lower half is zero
//     G   of external forces, which stay constant while dofs rotate: see `add_external_force`
//
// Whole registers are computed, so every lane is initialized first: the lanes of a mobod's further dofs with the motion
// of the mobod, the lanes after the last dof with the motion of the last mobod and a zero axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algebra/records.hpp"
#include "scalars/config.hpp"
#include "scalars/lanes.hpp"
#include "scalars/transpose.hpp"

namespace MBT_NS {

// One column.
template <class T>
struct One {
  typedef T type;
  static const int width = 1;
  static MBT_INLINE type spread(const T& a) { return a; }
  static MBT_INLINE type take(const T* p) { return *p; }
  static MBT_INLINE void put(T* p, const type& a) { *p = a; }
  static MBT_INLINE T sum(const type& a) { return a; }
};

// A register of columns, of any scalar.
template <class T>
struct Wide : One<T> {};
template <>
struct Wide<double> {
  typedef Register type;
  static const int width = MBT_W;
  static MBT_INLINE type spread(double a) { return broadcast(a); }
  static MBT_INLINE type take(const double* p) { return load(p); }
  static MBT_INLINE void put(double* p, const type& a) { store(p, a); }
  static MBT_INLINE double sum(const type& a) {
    double total = get(a, 0);
    for (int i = 1; i < MBT_W; ++i) total += get(a, i);
    return total;
  }
};

// Lanes first to end - 1 of a, the others of b.
static MBT_INLINE Register select_lanes(const Register& a, const Register& b, int first, int end) {
  static const double indices[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Register i = load(indices);
  return select_less(i, broadcast(first), b, select_less(i, broadcast(end), a, b));
}

// Columns that share a register.
template <class T>
struct DerivativeColumns {
  typedef typename Wide<T>::type X;
  // Per mobod, in the column of its first dof.
  X motion[12];   // V, A
  // Composites: in the column of the first dof, then copied to all dofs of the mobod.
  X I[10];        // mass, h, inertia xx xy xz yy yz zz
  X B[12];        // B x = [C e - n x e; -2 l x e] for x = [e; u]: symmetric C (6), n (3), l (3)
  X F[6];
  X G[12];        // [G e; e x f] is the change of the force along a dof: G (9) by rows, f (3)
  // Per dof.
  X S[6];
  X P[6];
  X W[6];
  X Q[6];
  X I_S[6];
  X U[6];
  X Z[6];
  X B_S[3];
  X G_S[3];       // G' S
};

// Number of components of the composites, which are contiguous.
enum { COMPOSITE = 28, COMPOSITE_WITH_EXTERNAL = 40 };
static_assert(COMPOSITE % 4 == 0 && COMPOSITE_WITH_EXTERNAL % 4 == 0, "add_column");

template <class T>
static MBT_INLINE int width_of(const DerivativeColumns<T>*) {
  return Wide<T>::width;
}

// The memory after nv columns.
template <class T>
static MBT_INLINE T* behind_columns(DerivativeColumns<T>* columns, int nv) {
  return reinterpret_cast<T*>(columns + (nv + Wide<T>::width - 1) / Wide<T>::width);
}

// Memory for columns begins on a cache line, if T is double.
template <class T>
static MBT_INLINE T* aligned(T* p) {
  return Wide<T>::width == 1 ? p : reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(p) + 63) & ~std::uintptr_t{63});
}

// First component of a field of column k; successive ones are `width_of` apart.
#define MBT_FIELD(field)                                                             \
  template <class T>                                                                 \
  static MBT_INLINE T* field##_of(DerivativeColumns<T>* columns, int k) {            \
    const int width = Wide<T>::width;                                                \
    return reinterpret_cast<T*>(columns[k / width].field) + k % width;               \
  }
MBT_FIELD(motion)
MBT_FIELD(I)
MBT_FIELD(F)
MBT_FIELD(G)
MBT_FIELD(S)
MBT_FIELD(P)
MBT_FIELD(W)
MBT_FIELD(Q)
MBT_FIELD(I_S)
#undef MBT_FIELD

// field[:n] of a column = x, and the reverse.
template <class T>
static MBT_INLINE void put_column(const T* x, int n, T* field) {
  for (int i = 0; i < n; ++i) field[Wide<T>::width * i] = x[i];
}
template <class T>
static MBT_INLINE void get_column(const T* field, int n, T* x) {
  for (int i = 0; i < n; ++i) x[i] = field[Wide<T>::width * i];
}
template <class T>
static MBT_INLINE Motion<T> column_at(const T* field) {
  Motion<T> x;
  get_column(field, 6, numbers(x));
  return x;
}
// n is a multiple of 4. Unrolled by four: otherwise the loop costs as much as the additions.
template <class T>
static MBT_INLINE void add_column(const T* x, int n, T* y) {
  const int width = Wide<T>::width;
  for (int i = 0; i < n; i += 4) {
    for (int k = width * i; k < width * (i + 4); k += width) y[k] = y[k] + x[k];
  }
}
template <class T>
static MBT_INLINE void copy_column(const T* x, int n, T* y) {
  const int width = Wide<T>::width;
  for (int i = 0; i < n; ++i) y[width * i] = x[width * i];
}

// z = x x y, z += x x y, y = S x and y += S x with S = [xx xy xz yy yz zz].
template <class X>
static MBT_INLINE void cross3(const X* x, const X* y, X* z) {
  z[0] = x[1] * y[2] - x[2] * y[1];
  z[1] = x[2] * y[0] - x[0] * y[2];
  z[2] = x[0] * y[1] - x[1] * y[0];
}
template <class X>
static MBT_INLINE void add_cross3(const X* x, const X* y, X* z) {
  z[0] = z[0] + x[1] * y[2] - x[2] * y[1];
  z[1] = z[1] + x[2] * y[0] - x[0] * y[2];
  z[2] = z[2] + x[0] * y[1] - x[1] * y[0];
}
template <class X>
static MBT_INLINE void multiply_symmetric3(const X* S, const X* x, X* y) {
  y[0] = S[0] * x[0] + S[1] * x[1] + S[2] * x[2];
  y[1] = S[1] * x[0] + S[3] * x[1] + S[4] * x[2];
  y[2] = S[2] * x[0] + S[4] * x[1] + S[5] * x[2];
}
template <class X>
static MBT_INLINE void add_symmetric3(const X* S, const X* x, X* y) {
  y[0] = y[0] + S[0] * x[0] + S[1] * x[1] + S[2] * x[2];
  y[1] = y[1] + S[1] * x[0] + S[3] * x[1] + S[4] * x[2];
  y[2] = y[2] + S[2] * x[0] + S[4] * x[1] + S[5] * x[2];
}

// y += I x, I = [mass, h (3), J (6)]: [J e + h x u; mass u - h x e].
template <class X>
static MBT_INLINE void add_inertia_times(const X* I, const X* x, X* y) {
  add_symmetric3(I + 4, x, y);
  add_cross3(I + 1, x + 3, y);
  for (int i = 0; i < 3; ++i) y[3 + i] = y[3 + i] + I[0] * x[3 + i];
  add_cross3(x, I + 1, y + 3);
}

// y += B x = [C e - n x e; -2 l x e].
template <class X>
static MBT_INLINE void add_B_times(const X* B, const X* x, X* y) {
  X e2[3];
  add_symmetric3(B, x, y);
  add_cross3(x, B + 6, y);
  for (int i = 0; i < 3; ++i) e2[i] = x[i] + x[i];
  add_cross3(e2, B + 9, y + 3);
}

// The first n entries of each of `records`, one record per lane.
template <class T>
static MBT_INLINE void gather(const T* const* records, int n, T* out) {
  for (int i = 0; i < n; ++i) out[i] = records[0][i];
}
static MBT_INLINE void gather(const double* const* records, int n, Register* out) {
  Lanes rows[MBT_W], columns[MBT_W];
  for (int k = 0; k < n; k += MBT_W) {
    const int first = k + MBT_W <= n ? k : n - MBT_W;  // the last block overlaps the one before it
    for (int l = 0; l < MBT_W; ++l) rows[l].r = load(records[l] + first);
    transpose(rows, columns);
    for (int i = 0; i < MBT_W; ++i) out[first + i] = columns[i].r;
  }
}

// V, A, and the inertias of the mobods alone; `mobod` has the mobod of each column.
template <class T>
static MBT_INLINE void calc_body_columns(
    const int* mobod, const Mobod<T>* mobods, const Moving<T>* moving, DerivativeColumns<T>* c) {
  typedef typename Wide<T>::type X;
  const T *poses[Wide<T>::width], *bodies[Wide<T>::width], *motions[Wide<T>::width];
  for (int l = 0; l < Wide<T>::width; ++l) {
    poses[l] = numbers(moving[mobod[l]].R);
    bodies[l] = &mobods[mobod[l]].I.mass;
    motions[l] = numbers(moving[mobod[l]].V);
  }
  X pose[12], body[10];  // [R_WN, p_ON]; mass, h, inertia in N
  gather(poses, 12, pose);
  gather(bodies, 10, body);
  gather(motions, 12, c->motion);
  const X* R = pose;
  const X* p = pose + 9;
  const X* w = c->motion;
  const X* v = c->motion + 3;
  const X mass = body[0];
  X h[3], g[3], J[6], t[9], n[3], l[3], d[3], wJ[9], F[6], two_hv;
  // h and J about No in World: R h, R J R'.
  {
    const X* k = body + 1;
    const X* K = body + 4;
    for (int i = 0; i < 3; ++i) {
      h[i] = R[3 * i] * k[0] + R[3 * i + 1] * k[1] + R[3 * i + 2] * k[2];
      t[3 * i] = R[3 * i] * K[0] + R[3 * i + 1] * K[1] + R[3 * i + 2] * K[2];
      t[3 * i + 1] = R[3 * i] * K[1] + R[3 * i + 1] * K[3] + R[3 * i + 2] * K[4];
      t[3 * i + 2] = R[3 * i] * K[2] + R[3 * i + 1] * K[4] + R[3 * i + 2] * K[5];
    }
    J[0] = t[0] * R[0] + t[1] * R[1] + t[2] * R[2];
    J[1] = t[0] * R[3] + t[1] * R[4] + t[2] * R[5];
    J[2] = t[0] * R[6] + t[1] * R[7] + t[2] * R[8];
    J[3] = t[3] * R[3] + t[4] * R[4] + t[5] * R[5];
    J[4] = t[3] * R[6] + t[4] * R[7] + t[5] * R[8];
    J[5] = t[6] * R[6] + t[7] * R[7] + t[8] * R[8];
  }
  // About O: J += (2 h.p + m p.p) 1 - (h p' + p h' + m p p'), h += m p.
  for (int i = 0; i < 3; ++i) {
    g[i] = h[i] + mass * p[i];
    d[i] = (g[i] + h[i]) * p[i];
  }
  J[0] = J[0] + d[1] + d[2];
  J[1] = J[1] - (h[0] * p[1] + g[1] * p[0]);
  J[2] = J[2] - (h[0] * p[2] + g[2] * p[0]);
  J[3] = J[3] + d[0] + d[2];
  J[4] = J[4] - (h[1] * p[2] + g[2] * p[1]);
  J[5] = J[5] + d[0] + d[1];
  c->I[0] = mass;
  for (int i = 0; i < 3; ++i) c->I[1 + i] = g[i];
  for (int i = 0; i < 6; ++i) c->I[4 + i] = J[i];
  // Momentum [n; l] = [J w + h x v; m v + w x h].
  multiply_symmetric3(J, w, n);
  add_cross3(g, v, n);
  for (int i = 0; i < 3; ++i) l[i] = mass * v[i];
  add_cross3(w, g, l);
  // C = w x J + (w x J)' - (v h' + h v') + 2 h.v
  for (int j = 0; j < 3; ++j) {
    const X& J0 = J[j];
    const X& J1 = j == 0 ? J[1] : J[2 + j];
    const X& J2 = j == 0 ? J[2] : J[3 + j];
    wJ[j] = w[1] * J2 - w[2] * J1;
    wJ[3 + j] = w[2] * J0 - w[0] * J2;
    wJ[6 + j] = w[0] * J1 - w[1] * J0;
  }
  two_hv = g[0] * v[0] + g[1] * v[1] + g[2] * v[2];
  two_hv = two_hv + two_hv;
  for (int i = 0; i < 3; ++i) d[i] = wJ[4 * i] - g[i] * v[i];
  c->B[0] = two_hv + d[0] + d[0];
  c->B[1] = wJ[1] + wJ[3] - (v[0] * g[1] + g[0] * v[1]);
  c->B[2] = wJ[2] + wJ[6] - (v[0] * g[2] + g[0] * v[2]);
  c->B[3] = two_hv + d[1] + d[1];
  c->B[4] = wJ[5] + wJ[7] - (v[1] * g[2] + g[1] * v[2]);
  c->B[5] = two_hv + d[2] + d[2];
  for (int i = 0; i < 3; ++i) {
    c->B[6 + i] = n[i];
    c->B[9 + i] = l[i];
  }
  // F = I A + V x* [n; l] = I A + [w x n + v x l; w x l]
  cross3(w, n, F);
  add_cross3(v, l, F);
  cross3(w, l, F + 3);
  add_inertia_times(c->I, c->motion + 6, F);
  for (int i = 0; i < 6; ++i) c->F[i] = F[i];
}

// Zero axes until those of the dofs are set.
template <class T>
static MBT_INLINE void clear_axes(DerivativeColumns<T>* c) {
  const typename Wide<T>::type zero = Wide<T>::spread(T(0.0));
  for (int i = 0; i < 6; ++i) c->S[i] = c->P[i] = zero;
}

// No external forces.
template <class T>
static MBT_INLINE void clear_external_forces(DerivativeColumns<T>* c) {
  const typename Wide<T>::type zero = Wide<T>::spread(T(0.0));
  for (int i = 0; i < 12; ++i) c->G[i] = zero;
}

// Forward dynamics, once vdot is known: A becomes that of the mobods, F += I dA_P + dF.
template <class T>
static MBT_INLINE void add_changes(const int* mobod, const Moving<T>* moving, DerivativeColumns<T>* c) {
  typename Wide<T>::type x[18];  // A, dA_P, dF
  const T* changes[Wide<T>::width];
  for (int l = 0; l < Wide<T>::width; ++l) changes[l] = numbers(moving[mobod[l]].A);
  gather(changes, 18, x);
  for (int i = 0; i < 6; ++i) {
    c->motion[6 + i] = x[i];
    c->F[i] = c->F[i] + x[12 + i];
  }
  add_inertia_times(c->I, x + 6, c->F);
}

// W and Q of mobods with one dof.
template <class T>
static MBT_INLINE void calc_dof_rates(DerivativeColumns<T>* c) {
  typedef typename Wide<T>::type X;
  X Q[6];
  const X* V = c->motion;
  const X* A = c->motion + 6;
  for (int i = 0; i < 6; ++i) c->W[i] = c->P[i] + c->P[i];
  // Q = A x S + V x P
  cross3(A, c->S, Q);
  add_cross3(V, c->P, Q);
  cross3(A, c->S + 3, Q + 3);
  add_cross3(A + 3, c->S, Q + 3);
  add_cross3(V, c->P + 3, Q + 3);
  add_cross3(V + 3, c->P, Q + 3);
  for (int i = 0; i < 6; ++i) c->Q[i] = Q[i];
}

// I_S = I S.
template <class T>
static MBT_INLINE void calc_axis_momenta(DerivativeColumns<T>* c) {
  typedef typename Wide<T>::type X;
  X y[6];
  multiply_symmetric3(c->I + 4, c->S, y);
  add_cross3(c->I + 1, c->S + 3, y);
  for (int i = 0; i < 3; ++i) y[3 + i] = c->I[0] * c->S[3 + i];
  add_cross3(c->S, c->I + 1, y + 3);
  for (int i = 0; i < 6; ++i) c->I_S[i] = y[i];
}

// U, Z, B_S and, where external forces act, G_S.
template <bool with_external, class T>
static MBT_INLINE void calc_force_rates(DerivativeColumns<T>* c) {
  typedef typename Wide<T>::type X;
  X U[6], Z[6], y[3], l2[3];
  // U = B S + I W; B_S = C e + n x e + 2 l x u
  multiply_symmetric3(c->B, c->S, y);
  cross3(c->B + 6, c->S, Z);
  for (int i = 0; i < 3; ++i) {
    l2[i] = c->B[9 + i] + c->B[9 + i];
    U[i] = y[i] - Z[i];
    y[i] = y[i] + Z[i];
  }
  add_cross3(l2, c->S + 3, y);
  for (int i = 0; i < 3; ++i) c->B_S[i] = y[i];
  cross3(c->S, l2, U + 3);
  add_inertia_times(c->I, c->W, U);
  for (int i = 0; i < 6; ++i) c->U[i] = U[i];
  // Z = B P + I Q + [e x t + u x f; e x f]
  cross3(c->S, c->F, Z);
  add_cross3(c->S + 3, c->F + 3, Z);
  cross3(c->S, c->F + 3, Z + 3);
  add_inertia_times(c->I, c->Q, Z);
  add_B_times(c->B, c->P, Z);
  if (with_external) {
    const X* G = c->G;
    const X* f = c->G + 9;
    for (int i = 0; i < 3; ++i) {
      Z[i] = Z[i] + G[3 * i] * c->S[0] + G[3 * i + 1] * c->S[1] + G[3 * i + 2] * c->S[2];
      y[i] = G[i] * c->S[0] + G[3 + i] * c->S[1] + G[6 + i] * c->S[2];
    }
    add_cross3(c->S, f, Z + 3);
    // G_S = G' e + f x u
    add_cross3(f, c->S + 3, y);
    for (int i = 0; i < 3; ++i) c->G_S[i] = y[i];
  }
  for (int i = 0; i < 6; ++i) c->Z[i] = Z[i];
}

template <class T>
static MBT_INLINE void calc_force_rates_of(DerivativeColumns<T>* c, bool with_external) {
  if (with_external) {
    calc_force_rates<true>(c);
  } else {
    calc_force_rates<false>(c);
  }
}

// Rows of matrices ----------------------------------------------------------------------------------------------

template <class X, class T>
static MBT_INLINE void spread_all(const T* field, int n, X* x) {
  for (int i = 0; i < n; ++i) x[i] = Wide<T>::spread(field[Wide<T>::width * i]);
}
template <class X>
static MBT_INLINE X dot3w(const X* x, const X* y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }
template <class X>
static MBT_INLINE X dot6w(const X* x, const X* y) {
  return x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3] + x[4] * y[4] + x[5] * y[5];
}

[[maybe_unused]] static MBT_NOINLINE void put_last_lanes(double* row, Register a, int first, int end) {
  for (int i = first; i < end && i < MBT_W; ++i) row[i] = get(a, i);
}

// row[first:end] = the same lanes of a, lane 0 belonging to row[0]. `last` is the last address at which a whole
// register is inside the matrix. Other entries are left unchanged.
template <class T>
static MBT_INLINE void put_lanes(T* row, const T& a, int, int, const T*) {
  *row = a;
}
static MBT_INLINE void put_lanes(double* row, const Register& a, int first, int end, const double* last) {
  if (first <= 0 && end >= MBT_W) {
    store(row, a);
  } else if (row <= last) {
    store(row, select_lanes(a, load(row), first, end));
  } else {
    put_last_lanes(row, a, first < 0 ? 0 : first, end);
  }
}

// Entries [begin, end) of the row of dof k, whose dofs are on the same mobod or outboard of it:
// M = S_k' I_S, dtau_dv = S_k' U, dtau_dq = S_k' Z. A whole register is inside the matrices up to `room` past the start
// of a row.
template <class T>
static MBT_INLINE void calc_outboard_entries(
    const DerivativeColumns<T>* columns, bool with_M, int k, int begin, int end, T* M, T* dq, T* dv, std::ptrdiff_t room) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X S[6];
  spread_all(S_of(const_cast<DerivativeColumns<T>*>(columns), k), 6, S);
  for (int b = begin / width; b * width < end; ++b) {
    const DerivativeColumns<T>* c = columns + b;
    const int l = b * width;
    const X y_dq = dot6w(S, c->Z);
    const X y_dv = dot6w(S, c->U);
    put_lanes(dq + l, y_dq, begin - l, end - l, dq + room);
    put_lanes(dv + l, y_dv, begin - l, end - l, dv + room);
    if (with_M) put_lanes(M + l, dot6w(S, c->I_S), begin - l, end - l, M + room);
  }
}

// Entries [begin, end) of the row of dof k, whose dofs are inboard of it:
// M = I_S_k' S, dtau_dv = I_S_k' W + B_S_k' e, dtau_dq = I_S_k' Q + B_S_k' P + G_S_k' e.
template <class T>
static MBT_INLINE void calc_inboard_entries(
    const DerivativeColumns<T>* columns, bool with_M, bool with_external, int k, int begin, int end, T* M, T* dq,
    T* dv, std::ptrdiff_t room) {
  typedef typename Wide<T>::type X;
  const int width = Wide<T>::width;
  X I_S[6], B_S[3], G_S[3];
  const DerivativeColumns<T>* own = columns + k / width;
  const T* lane = reinterpret_cast<const T*>(own) + k % width;
  const T* first = reinterpret_cast<const T*>(own);
  spread_all(lane + (reinterpret_cast<const T*>(own->I_S) - first), 6, I_S);
  spread_all(lane + (reinterpret_cast<const T*>(own->B_S) - first), 3, B_S);
  if (with_external) spread_all(lane + (reinterpret_cast<const T*>(own->G_S) - first), 3, G_S);
  for (int b = begin / width; b * width < end; ++b) {
    const DerivativeColumns<T>* c = columns + b;
    const int l = b * width;
    X y_dq = dot6w(I_S, c->Q) + dot3w(B_S, c->P);
    const X y_dv = dot6w(I_S, c->W) + dot3w(B_S, c->S);
    if (with_external) y_dq = y_dq + dot3w(G_S, c->S);
    put_lanes(dq + l, y_dq, begin - l, end - l, dq + room);
    put_lanes(dv + l, y_dv, begin - l, end - l, dv + room);
    if (with_M) put_lanes(M + l, dot6w(I_S, c->S), begin - l, end - l, M + room);
  }
}

}  // namespace MBT_NS
