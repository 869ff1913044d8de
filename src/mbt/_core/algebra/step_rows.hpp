// Derivatives of a step of time, of one state: with respect to q, v and tau, in rows of doubles.
//
// Changes are matrices (n, 3n), [by q, by v, by tau], of n velocities; those of accelerations come in three, (n, n).
// Positions q = exp(u) q0 change by du + dq0, but of rotations by J(u) du + exp([u]x) dq0. In NumPy:
// mbt.motion.step_derivatives.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

namespace MBT_NS {

typedef std::ptrdiff_t Index;

// Dofs that turn, three in a row: the first of each.
struct Turning {
  const int* starts;
  int count;
};

// Accelerations of a state, and their changes with q, v and tau.
struct Rates {
  const double* vdot;
  const double* by[3];
};

// exp([u]x) - 1, and the left Jacobian, (3, 3).
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

// Three rows of n numbers, multiplied by a matrix (3, 3) from the left.
inline void multiply_three(const double* J, double* rows, Index stride, Index n) {
  for (Index j = 0; j < n; ++j) {
    const double x = rows[j], y = rows[stride + j], z = rows[2*stride + j];
    for (int i = 0; i < 3; ++i) rows[stride*i + j] = J[3*i]*x + J[3*i + 1]*y + J[3*i + 2]*z;
  }
}

// Rows += M times further rows.
inline void add_three(const double* M, const double* from, double* rows, Index n) {
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      for (Index j = 0; j < n; ++j) rows[n*i + j] += M[3*i + k]*from[n*k + j];
}

// A (2n, 2n) and B (2n, n) of a semi-implicit Euler step: dv1 = dv + dt dvdot, dq1 of u = dt v1.
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

// Out (m, p) += M (m, n) times X (n, p): two rows by four of X at a time, along whole rows, which compilers turn into
// vectors.
inline void add_product(
    Index m, Index n, Index p, const double* __restrict M, const double* __restrict X, double* __restrict out) {
  for (Index i = 0; i + 1 < m; i += 2) {
    const double* a = M + n*i;
    const double* b = a + n;
    double* __restrict y = out + p*i;
    double* __restrict z = y + p;
    Index k = 0;
    for (; k + 4 <= n; k += 4) {
      const double a0 = a[k], a1 = a[k + 1], a2 = a[k + 2], a3 = a[k + 3];
      const double b0 = b[k], b1 = b[k + 1], b2 = b[k + 2], b3 = b[k + 3];
      const double* x = X + p*k;
      for (Index j = 0; j < p; ++j) {
        const double x0 = x[j], x1 = x[p + j], x2 = x[2*p + j], x3 = x[3*p + j];
        y[j] += a0*x0 + a1*x1 + a2*x2 + a3*x3;
        z[j] += b0*x0 + b1*x1 + b2*x2 + b3*x3;
      }
    }
    for (; k < n; ++k)
      for (Index j = 0; j < p; ++j) {
        y[j] += a[k]*X[p*k + j];
        z[j] += b[k]*X[p*k + j];
      }
  }
  if (m % 2)
    for (Index k = 0; k < n; ++k)
      for (Index j = 0; j < p; ++j) out[p*(m - 1) + j] += M[n*(m - 1) + k]*X[p*k + j];
}

// One state on its way through the stages of Runge-Kutta, in a row of doubles.
struct Stages {
  double *u, *v, *rates, *du, *dv, *drates, *dvdots;

  static Index count(Index n) { return 3*n + 12*n*n; }
  // dq, dvdot, and the changes of rates.
  static Index count_work(Index n) { return n + 9*n*n; }

  Stages(Index n, double* memory)
      : u(memory), v(u + n), rates(v + n), du(rates + n), dv(du + 3*n*n), drates(dv + 3*n*n),
        dvdots(drates + 3*n*n) {}

  void begin(Index n, const double* v0) {
    std::memset(u, 0, sizeof(double)*count(n));
    std::memcpy(v, v0, sizeof(double)*n);
    for (Index i = 0; i < n; ++i) dv[3*n*i + n + i] = 1;
  }
};

// dq of u and du.
inline void move_changes(
    Index n, const Turning& turning, const double* u, const double* du, double* dq) {
  std::memcpy(dq, du, sizeof(double)*3*n*n);
  for (int t = 0; t < turning.count; ++t) {
    const Index k = turning.starts[t];
    double E[9], J[9];
    rotate_by(u + k, E, J);
    multiply_three(J, dq + 3*n*k, 3*n, 3*n);
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) dq[3*n*(k + i) + k + j] += E[3*i + j];
  }
  for (Index i = 0; i < n; ++i) dq[3*n*i + i] += 1;
}

inline void skew(const double* w, double* W) {
  const double entries[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  std::memcpy(W, entries, sizeof entries);
}

inline void cross(const double* a, const double* b, double* out) {
  out[0] = a[1]*b[2] - a[2]*b[1];
  out[1] = a[2]*b[0] - a[0]*b[2];
  out[2] = a[0]*b[1] - a[1]*b[0];
}

// The rate of u, w - u x w/2 + u x (u x w)/12 of rotations, and its changes.
inline void differentiate_rates(
    Index n, const Turning& turning, const Stages& s, double* rate, double* drate) {
  std::memcpy(rate, s.v, sizeof(double)*n);
  std::memcpy(drate, s.dv, sizeof(double)*3*n*n);
  for (int t = 0; t < turning.count; ++t) {
    const Index k = turning.starts[t];
    double U[9], W[9], V[9], uw[3], uuw[3], by_v[9], by_u[9];
    cross(s.u + k, s.v + k, uw);
    cross(s.u + k, uw, uuw);
    skew(s.u + k, U);
    skew(s.v + k, W);
    skew(uw, V);
    for (int i = 0; i < 3; ++i) {
      rate[k + i] += uuw[i]/12 - uw[i]/2;
      for (int j = 0; j < 3; ++j) {
        double UU = 0, UW = 0;
        for (int l = 0; l < 3; ++l) {
          UU += U[3*i + l]*U[3*l + j];
          UW += U[3*i + l]*W[3*l + j];
        }
        by_v[3*i + j] = UU/12 - U[3*i + j]/2;
        by_u[3*i + j] = W[3*i + j]/2 - (V[3*i + j] + UW)/12;
      }
    }
    add_three(by_v, s.dv + 3*n*k, drate + 3*n*k, 3*n);
    add_three(by_u, s.du + 3*n*k, drate + 3*n*k, 3*n);
  }
}

// One stage, with the accelerations there: u and v of the next one, `h` after the beginning, where that is not zero.
// At the first one nothing has changed yet but q, v and tau themselves.
inline void take_stage(
    Index n, bool is_first, const Turning& turning, double weight, double h, const double* v0, const Rates& r,
    double* work, double* memory) {
  Stages s(n, memory);
  const Index size = 3*n*n;
  double* dq = work;
  double* dvdot = dq + size;
  double* drate = dvdot + size;
  double* rate = drate + size;
  for (Index i = 0; i < n; ++i)
    for (int k = 0; k < 3; ++k) {
      double* to = dvdot + 3*n*i + n*k;
      if (is_first || k == 2) std::memcpy(to, r.by[k] + n*i, sizeof(double)*n);
      else std::memset(to, 0, sizeof(double)*n);
    }
  if (!is_first) {
    move_changes(n, turning, s.u, s.du, dq);
    add_product(n, n, 3*n, r.by[0], dq, dvdot);
    add_product(n, n, 3*n, r.by[1], s.dv, dvdot);
  }
  differentiate_rates(n, turning, s, rate, drate);
  for (Index i = 0; i < n; ++i) s.rates[i] += weight*rate[i];
  for (Index i = 0; i < size; ++i) {
    s.drates[i] += weight*drate[i];
    s.dvdots[i] += weight*dvdot[i];
    s.du[i] = h*drate[i];
    s.dv[i] = h*dvdot[i];
  }
  for (Index i = 0; i < n; ++i) {
    s.u[i] = h*rate[i];
    s.v[i] = v0[i] + h*r.vdot[i];
    s.dv[3*n*i + n + i] += 1;
  }
}

// A and B after the last stage.
inline void end_stages(
    Index n, const Turning& turning, double dt, double* work, double* memory, double* A, double* B) {
  Stages s(n, memory);
  for (Index i = 0; i < n; ++i) s.u[i] = dt*s.rates[i];
  for (Index i = 0; i < 3*n*n; ++i) {
    s.du[i] = dt*s.drates[i];
    s.dv[i] = dt*s.dvdots[i];
  }
  for (Index i = 0; i < n; ++i) s.dv[3*n*i + n + i] += 1;
  move_changes(n, turning, s.u, s.du, work);
  for (Index i = 0; i < n; ++i) {
    std::memcpy(A + 2*n*i, work + 3*n*i, sizeof(double)*2*n);
    std::memcpy(B + n*i, work + 3*n*i + 2*n, sizeof(double)*n);
    std::memcpy(A + 2*n*(n + i), s.dv + 3*n*i, sizeof(double)*2*n);
    std::memcpy(B + n*(n + i), s.dv + 3*n*i + 2*n, sizeof(double)*n);
  }
}

}  // namespace MBT_NS
