// Orthogonal factors of small dense matrices, and the motor and constraint forces that produce given forces.
//
// G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th ed., 2013: 5.2 (Householder QR), 5.4 (column pivoting).
#pragma once

#include <cmath>
#include <cstddef>

#include "scalars/config.hpp"

namespace MBT_NS {

// A P = Q R of a matrix (rows, columns), stored column by column. Q is kept as Householder reflections, below R and in
// `scale`.
struct Orthogonal {
  std::ptrdiff_t rows, columns, rank;
  double* A;              // (columns, rows)
  double* scale;          // (min(rows, columns),)
  std::ptrdiff_t* order;  // (columns,)  column k was column order[k]

  double* column(std::ptrdiff_t k) const { return A + rows * k; }
};

// x -= (v' x) scale v, with v = [1; below], from row k on.
static inline void reflect(const Orthogonal& f, std::ptrdiff_t k, double* x) {
  const double* v = f.column(k);
  double s = x[k];
  for (std::ptrdiff_t i = k + 1; i < f.rows; ++i) s += v[i] * x[i];
  s *= f.scale[k];
  x[k] -= s;
  for (std::ptrdiff_t i = k + 1; i < f.rows; ++i) x[i] -= s * v[i];
}

static inline double norm_below(const Orthogonal& f, std::ptrdiff_t k, std::ptrdiff_t first) {
  double s = 0.0;
  for (std::ptrdiff_t i = first; i < f.rows; ++i) s += f.column(k)[i] * f.column(k)[i];
  return std::sqrt(s);
}

// Columns whose remainder is below `tolerance` times the largest column depend on those before them.
static inline void factor_orthogonal(Orthogonal& f, double tolerance) {
  for (std::ptrdiff_t k = 0; k < f.columns; ++k) f.order[k] = k;
  double largest = 0.0;
  f.rank = 0;
  for (std::ptrdiff_t k = 0; k < f.rows && k < f.columns; ++k) {
    std::ptrdiff_t best = k;
    double length = -1.0;
    for (std::ptrdiff_t j = k; j < f.columns; ++j) {
      const double s = norm_below(f, j, k);
      if (s > length) best = j, length = s;
    }
    if (k == 0) largest = length;
    if (!(length > tolerance * largest)) return;
    if (best != k) {
      for (std::ptrdiff_t i = 0; i < f.rows; ++i) {
        const double x = f.column(k)[i];
        f.column(k)[i] = f.column(best)[i];
        f.column(best)[i] = x;
      }
      const std::ptrdiff_t j = f.order[k];
      f.order[k] = f.order[best];
      f.order[best] = j;
    }
    double* x = f.column(k);
    const double r = x[k] > 0.0 ? -length : length, pivot = x[k] - r;
    for (std::ptrdiff_t i = k + 1; i < f.rows; ++i) x[i] /= pivot;
    f.scale[k] = -pivot / r;
    x[k] = r;
    for (std::ptrdiff_t j = k + 1; j < f.columns; ++j) reflect(f, k, f.column(j));
    f.rank = k + 1;
  }
}

// x = Q' x
static inline void turn_into(const Orthogonal& f, double* x) {
  for (std::ptrdiff_t k = 0; k < f.rank; ++k) reflect(f, k, x);
}

// x = Q x
static inline void turn_back(const Orthogonal& f, double* x) {
  for (std::ptrdiff_t k = f.rank; k-- > 0;) reflect(f, k, x);
}

// The minimum-norm x with A' x = y (columns,), which is overwritten. Returns the largest error of the dependent
// equations.
static inline double solve_transposed(const Orthogonal& f, const double* y, double* x) {
  for (std::ptrdiff_t i = 0; i < f.rows; ++i) x[i] = 0.0;
  double error = 0.0;
  for (std::ptrdiff_t k = 0; k < f.columns; ++k) {
    double s = y[f.order[k]];
    const std::ptrdiff_t n = k < f.rank ? k : f.rank;
    for (std::ptrdiff_t i = 0; i < n; ++i) s -= f.column(k)[i] * x[i];
    if (k < f.rank) {
      x[k] = s / f.column(k)[k];
    } else if (std::fabs(s) > error) {
      error = std::fabs(s);
    }
  }
  turn_back(f, x);
  return error;
}

static inline std::ptrdiff_t count_shares(std::ptrdiff_t nv, std::ptrdiff_t na, std::ptrdiff_t ne) {
  const std::ptrdiff_t longest = nv + na + ne;
  return ne * nv + na * nv + ne * nv + 5 * longest + 4 * longest;
}

// Rank tolerance for unit columns, as for constrained dynamics: the angle between them is below the resolution of
// decimals with five digits.
static constexpr double DEPENDENT_CONSTRAINTS = 3e-5;
static constexpr double DEPENDENT_MOTORS = 1e-9;
// For a motion from a file, in single precision.
static constexpr double ALLOWED_ERROR = 1e-6;

// The equation of J vdot + bias = 0 with the largest error, if that is more than rounding, or one that is NaN; else -1.
// J is (ne, nv).
static inline std::ptrdiff_t find_violated(
    std::ptrdiff_t nv, std::ptrdiff_t ne, const double* J, const double* bias, const double* v, const double* vdot,
    double* error) {
  double largest = 0.0, worst = 0.0, speed = 0.0;
  std::ptrdiff_t found = -1;
  for (std::ptrdiff_t k = 0; k < nv; ++k) speed = std::fmax(speed, std::fabs(v[k]));
  for (std::ptrdiff_t e = 0; e < ne; ++e) {
    double sum = bias[e], size = std::fabs(bias[e]);
    for (std::ptrdiff_t k = 0; k < nv; ++k) {
      const double j = J[nv * e + k];
      sum += j * vdot[k];
      size += std::fabs(j) * (std::fabs(vdot[k]) + speed * speed);
    }
    if (std::isnan(sum)) {
      *error = sum;
      return e;
    }
    largest = std::fmax(largest, size);
    if (std::fabs(sum) > std::fabs(worst)) worst = sum, found = e;
  }
  *error = worst;
  return std::fabs(worst) > ALLOWED_ERROR * largest ? found : -1;
}

// The minimum-norm tau (nv,), zero except at `motors` (na,), then the minimum-norm multipliers (ne,), with tau + J'
// multipliers = wanted (nv,). J is (ne, nv). Returns the largest residual.
static inline double share_forces(
    std::ptrdiff_t nv, std::ptrdiff_t na, const std::ptrdiff_t* motors, std::ptrdiff_t ne, const double* J,
    const double* wanted, double* work, double* tau, double* multipliers) {
  const std::ptrdiff_t longest = nv + na + ne;
  double* rest = work + 2 * ne * nv + na * nv;
  double* x = rest + longest;
  double* scale = x + longest;
  std::ptrdiff_t* order = (std::ptrdiff_t*)(scale + 3 * longest);
  // J' = Q [R; 0]: the columns of Q past the rank are the motions that constraints allow.
  Orthogonal f = {nv, ne, 0, work, scale, order};
  for (std::ptrdiff_t i = 0; i < ne * nv; ++i) f.A[i] = J[i];
  factor_orthogonal(f, DEPENDENT_CONSTRAINTS);
  const std::ptrdiff_t r = f.rank, m = nv - r;
  // Along these, only motors act: one column of Q' tau for each of the m directions.
  Orthogonal g = {na, m, 0, work + ne * nv, scale + longest, order + longest};
  for (std::ptrdiff_t a = 0; a < na; ++a) {
    for (std::ptrdiff_t i = 0; i < nv; ++i) x[i] = i == motors[a] ? 1.0 : 0.0;
    turn_into(f, x);
    for (std::ptrdiff_t i = 0; i < m; ++i) g.column(i)[a] = x[r + i];
  }
  for (std::ptrdiff_t i = 0; i < nv; ++i) rest[i] = wanted[i], tau[i] = 0.0;
  turn_into(f, rest);
  factor_orthogonal(g, DEPENDENT_MOTORS);
  const double missing = solve_transposed(g, rest + r, x);
  for (std::ptrdiff_t a = 0; a < na; ++a) tau[motors[a]] = x[a];
  for (std::ptrdiff_t i = 0; i < nv; ++i) rest[i] = wanted[i] - tau[i];
  turn_into(f, rest);
  // [R_1 R_2] P' multipliers = Q' rest, r equations.
  Orthogonal h = {ne, r, 0, work + ne * nv + na * nv, scale + 2 * longest, order + 2 * longest};
  for (std::ptrdiff_t i = 0; i < r; ++i)
    for (std::ptrdiff_t k = 0; k < ne; ++k) h.column(i)[k] = k < i ? 0.0 : f.column(k)[i];
  factor_orthogonal(h, 0.0);
  solve_transposed(h, rest, x);
  for (std::ptrdiff_t k = 0; k < ne; ++k) multipliers[f.order[k]] = x[k];
  return missing;
}

}  // namespace MBT_NS
