// Derivatives of a time step of one state with respect to q, v and tau, in rows of doubles.
//
// Changes are matrices (n, 3n), [by q, by v, by tau], for n velocities; those of accelerations are three matrices (n,
// n). Positions q = exp(u) q0 change by du + dq0, but rotations by J(u) du + exp([u]x) dq0. In NumPy:
// mbt.motion.step_derivatives.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include "scalars/register_vector.hpp"

namespace MBT_NS {

typedef std::ptrdiff_t Index;

// Rotational dofs in groups of three: the first dof of each group.
struct Turning {
  const int* starts;
  int count;
};

// Accelerations of a state, and their derivatives by q, v and tau.
struct Rates {
  const double* vdot;
  const double* by[3];
};

// exp([u]x) - 1 and the left Jacobian, (3, 3).
inline void rotate_by(const double* u, double* E, double* J) {
  const double t2 = u[0]*u[0] + u[1]*u[1] + u[2]*u[2], t = std::sqrt(t2);
  double a = 1 - t2/6 + t2*t2/120, b = 0.5 - t2/24 + t2*t2/720, c = 1.0/6 - t2/120 + t2*t2/5040;
  if (t > 1e-2) {
    const double half = std::sin(0.5*t)/t;
    a = std::sin(t)/t;
    b = 2*half*half;
    c = (1 - a)/t2;
  }
  const double W[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const double one = i == j, uu = u[i]*u[j] - one*t2;
      E[3*i + j] = a*W[3*i + j] + b*uu;
      J[3*i + j] = one + b*W[3*i + j] + c*uu;
    }
}

// Three rows of n entries, multiplied from the left by a matrix (3, 3).
inline void multiply_three(const double* J, double* rows, Index stride, Index n) {
  for (Index j = 0; j < n; ++j) {
    const double x = rows[j], y = rows[stride + j], z = rows[2*stride + j];
    for (int i = 0; i < 3; ++i) rows[stride*i + j] = J[3*i]*x + J[3*i + 1]*y + J[3*i + 2]*z;
  }
}

// A (2n, 2n) and B (2n, n) of a semi-implicit Euler step: dv1 = dv + dt dvdot, and dq1 follows from u = dt v1.
inline void differentiate_euler(
    Index n, const Turning& turning, double dt, const double* v, const Rates& r, double* A, double* B) {
  for (Index i = 0; i < n; ++i) {
    double* dq1 = A + 2*n*i;
    double* dv1 = A + 2*n*(n + i);
    double* Bq = B + n*i;
    double* Bv = B + n*(n + i);
    for (int k = 0; k < 2; ++k)
      for (Index j = 0; j < n; ++j) {
        const double x = dt*r.by[k][n*i + j];
        dv1[n*k + j] = x;
        dq1[n*k + j] = dt*x;
      }
    for (Index j = 0; j < n; ++j) {
      const double x = dt*r.by[2][n*i + j];
      Bv[j] = x;
      Bq[j] = dt*x;
    }
    dv1[n + i] += 1;
    dq1[n + i] = dt*dv1[n + i];
  }
  for (int t = 0; t < turning.count; ++t) {
    const Index k = turning.starts[t];
    double u[3], E[9], J[9];
    for (int i = 0; i < 3; ++i) u[i] = dt*(v[k + i] + dt*r.vdot[k + i]);
    rotate_by(u, E, J);
    multiply_three(J, A + 2*n*k, 2*n, 2*n);
    multiply_three(J, B + n*k, n, n);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) A[2*n*(k + i) + k + j] += E[3*i + j];
  }
  for (Index i = 0; i < n; ++i) A[2*n*i + i] += 1;
}

// Reverse-mode derivatives of Runge-Kutta: the derivatives of the end of the step by u and vdot of a stage give those
// by u and vdot of the stage before. Rows are inputs; two blocks of n columns are outputs, u and v at the end. So each
// product has n rows of 2n entries, and terms between branches of a tree that do not meet are skipped.

// Derivatives of a stage's accelerations: M^-1 times (-by_q, -by_v, 1), or, where M_inverse is NULL, (by_q, by_v,
// by_tau) themselves. Rows begin `stride` apart.
struct StageRates {
  const double* M_inverse;
  const double* by_q;
  const double* by_v;
  const double* by_tau;
  Index stride;
};

// The entries [l][k] that may be nonzero: l <= k < ends[l], or k <= l < ends[k]; all if `ends` is NULL.
struct Sparsity {
  const int* ends;
};

static MBT_INLINE Index round_up(Index n) { return (n + MBT_W - 1)/MBT_W*MBT_W; }

// Four rows k of out += sign M' X, or out = sign M' X, in `width` registers of columns.
template <bool adds, int width>
static MBT_INLINE void add_tile(
    double sign, const double* M, Index stride, const int* terms, Index num_terms, const Index* k, const double* X,
    double* out, Index columns) {
  Register sums[4][width];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < width; ++c) sums[r][c] = broadcast(0.0);
  for (Index t = 0; t < num_terms; ++t) {
    const double* m = M + stride*terms[t];
    const double* row = X + columns*terms[t];
    Register x[width];
    for (int c = 0; c < width; ++c) x[c] = load(row + MBT_W*c);
    for (int r = 0; r < 4; ++r) {
      const Register y = broadcast(m[k[r]]);
      for (int c = 0; c < width; ++c) sums[r][c] = sums[r][c] + y*x[c];
    }
  }
  const Register s = broadcast(sign);
  Register results[4][width];
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < width; ++c) {
      results[r][c] = s*sums[r][c];
      if (adds) results[r][c] = results[r][c] + load(out + columns*k[r] + MBT_W*c);
    }
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < width; ++c) store(out + columns*k[r] + MBT_W*c, results[r][c]);
}

// Out (n, columns) += sign M' X, or = sign M' X, from column `first` on, both multiples of MBT_W. Work: terms (n,).
template <bool adds>
static void take_transposed_product(
    Index n, double sign, const double* M, Index stride, const Sparsity& sparsity, const double* X, Index first,
    Index columns, int* terms, double* out) {
  for (Index k0 = 0; k0 < n; k0 += 4) {
    // A shorter last group repeats the last row, which gets the same value each time.
    Index k[4], end = n, num_terms = 0;
    for (int r = 0; r < 4; ++r) k[r] = k0 + r < n ? k0 + r : n - 1;
    if (sparsity.ends) {
      end = 0;
      for (int r = 0; r < 4; ++r) end = sparsity.ends[k[r]] > end ? sparsity.ends[k[r]] : end;
      end = end > k[3] + 1 ? end : k[3] + 1;
    }
    for (Index l = 0; l < end; ++l)
      if (!sparsity.ends || l >= k0 || sparsity.ends[l] > k0) terms[num_terms++] = static_cast<int>(l);
    Index j = first;
    for (; j + 3*MBT_W <= columns; j += 3*MBT_W)
      add_tile<adds, 3>(sign, M, stride, terms, num_terms, k, X + j, out + j, columns);
    if (j + 2*MBT_W <= columns) {
      add_tile<adds, 2>(sign, M, stride, terms, num_terms, k, X + j, out + j, columns);
    } else if (j < columns) {
      add_tile<adds, 1>(sign, M, stride, terms, num_terms, k, X + j, out + j, columns);
    }
  }
}

static MBT_INLINE void skew(const double* w, double* W) {
  const double entries[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  std::memcpy(W, entries, sizeof entries);
}

static MBT_INLINE void cross(const double* a, const double* b, double* out) {
  out[0] = a[1]*b[2] - a[2]*b[1];
  out[1] = a[2]*b[0] - a[0]*b[2];
  out[2] = a[0]*b[1] - a[1]*b[0];
}

// The rate of u; for rotations w - u x w/2 + u x (u x w)/12.
static void calc_step_rate(Index n, const Turning& turning, const double* u, const double* v, double* rate) {
  std::memcpy(rate, v, sizeof(double)*n);
  for (int t = 0; t < turning.count; ++t) {
    const Index k = turning.starts[t];
    double uw[3], uuw[3];
    cross(u + k, v + k, uw);
    cross(u + k, uw, uuw);
    for (int i = 0; i < 3; ++i) rate[k + i] += uuw[i]/12 - uw[i]/2;
  }
}

// Derivatives of the rate of one rotation by u, and by w less the identity: (3, 3) each.
static void differentiate_rate(const double* u, const double* w, double* by_u, double* by_w) {
  double U[9], W[9], V[9], uw[3];
  cross(u, w, uw);
  skew(u, U);
  skew(w, W);
  skew(uw, V);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      double UU = 0, UW = 0;
      for (int l = 0; l < 3; ++l) {
        UU += U[3*i + l]*U[3*l + j];
        UW += U[3*i + l]*W[3*l + j];
      }
      by_w[3*i + j] = UU/12 - U[3*i + j]/2;
      by_u[3*i + j] = W[3*i + j]/2 - (V[3*i + j] + UW)/12;
    }
}

// Three rows += M' times three further ones.
static MBT_INLINE void add_transposed_three(const double* M, const double* from, double* rows, Index columns) {
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      for (Index j = 0; j < columns; ++j) rows[columns*i + j] += M[3*k + i]*from[columns*k + j];
}

// Derivatives of the end of a Runge-Kutta step, in rows of `columns` entries, of which 2n are used.
struct Changes {
  Index n, columns;
  double *by_q0, *by_v0, *by_tau;            // by the beginning of the step
  double *by_u, *by_v;                       // by a stage
  double *by_q, *by_vdot, *by_force, *turn;  // work

  static Index count(Index n) { return 9*n*round_up(2*n) + n; }

  Changes(Index n_, double* memory) : n(n_), columns(round_up(2*n_)) {
    double** const all[9] = {&by_q0, &by_v0, &by_tau, &by_u, &by_v, &by_q, &by_vdot, &by_force, &turn};
    for (int i = 0; i < 9; ++i) *all[i] = memory + n*columns*i;
    std::memset(memory, 0, sizeof(double)*6*n*columns);
  }

  int* terms() const { return reinterpret_cast<int*>(turn + n*columns); }

  // Add the contribution of stage `number`, 0 to 3, with its `weight` in the step and the time `h` to the next stage.
  // The vdot of the last stage affects only v at the end. The vdot of the stage before affects u at the end only at the
  // same dof, or the same rotation.
  void take_stage(
      int number, const Turning& turning, double weight, double h, const double* u, const double* v,
      const StageRates& rates, const Sparsity& sparsity) {
    const Index size = n*columns, first = number == 3 ? n/MBT_W*MBT_W : 0;
    for (Index i = 0; i < size; ++i) {
      by_vdot[i] = h*by_v[i];
      by_v[i] = h*by_u[i];  // First by the rate of u.
    }
    for (Index k = 0; k < n; ++k) {
      by_vdot[columns*k + n + k] += weight;
      by_v[columns*k + k] += weight;
    }
    for (int t = 0; t < turning.count; ++t) {
      const Index k = turning.starts[t];
      double of_u[9], of_w[9];
      differentiate_rate(u + k, v + k, of_u, of_w);
      for (int i = 0; i < 3; ++i) of_w[4*i] += 1;
      std::memset(turn + 3*columns*t, 0, sizeof(double)*3*columns);
      add_transposed_three(of_u, by_v + columns*k, turn + 3*columns*t, columns);
      multiply_three_transposed(of_w, by_v + columns*k);
    }
    if (rates.M_inverse) {
      calc_force(number, weight, turning, rates);
      for (Index i = 0; i < size; ++i) by_tau[i] += by_force[i];
      take_transposed_product<false>(
          n, -1, rates.by_q, rates.stride, sparsity, by_force, first, columns, terms(), by_q);
      take_transposed_product<true>(
          n, -1, rates.by_v, rates.stride, sparsity, by_force, first, columns, terms(), by_v);
    } else {
      take_transposed_product<true>(
          n, 1, rates.by_tau, rates.stride, sparsity, by_vdot, first, columns, terms(), by_tau);
      take_transposed_product<false>(
          n, 1, rates.by_q, rates.stride, sparsity, by_vdot, first, columns, terms(), by_q);
      take_transposed_product<true>(
          n, 1, rates.by_v, rates.stride, sparsity, by_vdot, first, columns, terms(), by_v);
    }
    for (Index i = 0; i < size; ++i) {
      by_q0[i] += by_q[i];
      by_v0[i] += by_v[i];
    }
    for (int t = 0; t < turning.count; ++t) {
      // q changes by J du + (1 + E) dq0.
      const Index k = turning.starts[t];
      double E[9], J[9];
      rotate_by(u + k, E, J);
      add_transposed_three(E, by_q + columns*k, by_q0 + columns*k, columns);
      add_transposed_three(J, by_q + columns*k, turn + 3*columns*t, columns);
      std::memcpy(by_q + columns*k, turn + 3*columns*t, sizeof(double)*3*columns);
    }
    double* const now = by_q;
    by_q = by_u;  // Work for the next stage; the columns that the last stage does not write are zero.
    by_u = now;
  }

  // by_force = M^-1 by_vdot.
  void calc_force(int number, double weight, const Turning& turning, const StageRates& rates) {
    const double* M_inverse = rates.M_inverse;
    const Index stride = rates.stride, size = sizeof(double)*columns;
    if (number == 3) {
      for (Index k = 0; k < n; ++k) {
        std::memset(by_force + columns*k, 0, size);
        for (Index j = 0; j < n; ++j) by_force[columns*k + n + j] = weight*M_inverse[stride*k + j];
      }
      return;
    }
    const Sparsity all = {nullptr};
    const Index first = number == 2 ? n/MBT_W*MBT_W : 0;
    take_transposed_product<false>(n, 1, M_inverse, stride, all, by_vdot, first, columns, terms(), by_force);
    if (number < 2) return;
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < first; ++j) by_force[columns*k + j] = M_inverse[stride*k + j]*by_vdot[columns*j + j];
    for (int t = 0; t < turning.count; ++t)
      for (Index j = turning.starts[t]; j < turning.starts[t] + 3 && j < first; ++j)
        for (Index k = 0; k < n; ++k) {
          double sum = 0;
          for (Index l = turning.starts[t]; l < turning.starts[t] + 3; ++l)
            sum += M_inverse[stride*k + l]*by_vdot[columns*l + j];
          by_force[columns*k + j] = sum;
        }
  }

  void multiply_three_transposed(const double* M, double* rows) const {
    const double transposed[9] = {M[0], M[3], M[6], M[1], M[4], M[7], M[2], M[5], M[8]};
    multiply_three(transposed, rows, columns, columns);
  }
};

// A and B of a Runge-Kutta step with weights and reaches (4,) that ends at u, dt times the mean of the rates; u and v
// of the stages are (4, n).
static void differentiate_runge_kutta(
    Index n, const Turning& turning, const double* weights, const double* reaches, double dt, const double* u,
    const double* v, const double* u_end, const StageRates* rates, const Sparsity& sparsity, double* memory,
    double* A, double* B) {
  Changes x(n, memory);
  for (int i = 3; i >= 0; --i)
    x.take_stage(i, turning, weights[i]*dt, reaches[i]*dt, u + n*i, v + n*i, rates[i], sparsity);
  // One cache line of each row at a time.
  for (Index first = 0; first < 2*n; first += 8)
    for (Index k = 0; k < n; ++k)
      for (Index i = first; i < first + 8 && i < 2*n; ++i) {
        A[2*n*i + k] = x.by_q0[x.columns*k + i];
        A[2*n*i + n + k] = x.by_v0[x.columns*k + i];
        B[n*i + k] = x.by_tau[x.columns*k + i];
      }
  for (int t = 0; t < turning.count; ++t) {
    const Index k = turning.starts[t];
    double E[9], J[9];
    rotate_by(u_end + k, E, J);
    multiply_three(J, A + 2*n*k, 2*n, 2*n);
    multiply_three(J, B + n*k, n, n);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) A[2*n*(k + i) + k + j] += E[3*i + j];
  }
  for (Index i = 0; i < 2*n; ++i) A[2*n*i + i] += 1;
}

}  // namespace MBT_NS
