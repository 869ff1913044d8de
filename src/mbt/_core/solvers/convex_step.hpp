// Newton's method with an exact line search for the problem of an implicit step.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>

#include "solvers/convex_problem.hpp"

namespace mbt_convex {

// The residual of the gradient relative to its terms at which the iteration ends.
constexpr double kTolerance = 1e-13;
// Below this the residual may be rounding alone; in an ill-conditioned problem rounding is larger, which shows when the
// residual rises repeatedly.
constexpr double kRounding = 1e-10, kPoorRounding = 1e-7;
constexpr int kMostRises = 3;
constexpr int kMostIterations = 40;
// A line search ends where the slope is this fraction of the first one.
constexpr double kSlope = 1e-3;
constexpr int kMostTrials = 40;
// Factors serve again while no second derivative changes by more than this fraction.
constexpr double kClose = 1e-4;

inline void add_impulse(Problem& x, const double* row, double impulse) {
  if (impulse == 0.0) return;
  for (int i = 0; i < x.n; ++i) {
    x.gradient[i] -= row[i]*impulse;
    x.size[i] += std::fabs(row[i]*impulse);
  }
}

// The same for the three rows of a point.
inline void add_point_impulse(Problem& x, const double* J, const double* impulse) {
  const double *a = J, *b = J + x.n, *c = b + x.n;
  for (int i = 0; i < x.n; ++i) {
    const double across = a[i]*impulse[0], along = b[i]*impulse[1], away = c[i]*impulse[2];
    x.gradient[i] -= (across + along) + away;
    x.size[i] += (std::fabs(across) + std::fabs(along)) + std::fabs(away);
  }
}

// Computes x.gradient at v from x.Mv and x.u; returns its size relative to its terms.
inline double calc_gradient(Problem& x, const double* v) {
  const int n = x.n, m = x.num_rows;
  add_drives(x, v, x.total, nullptr);
  for (int i = 0; i < n; ++i) {
    const double limit = limit_impulse(x, i, v[i]), friction = friction_impulse(x, i, v[i]);
    const double drive = x.h*clip(x.total[i], x.effort_lower[i], x.effort_upper[i]), linear = x.linear[i]*v[i];
    x.gradient[i] = x.Mv[i] - x.p[i] + linear + limit + friction - drive;
    x.size[i] = std::fabs(x.Mv[i]) + std::fabs(x.p[i]) + std::fabs(linear) + std::fabs(limit) + std::fabs(friction)
      + std::fabs(drive);
  }
  if (x.sweeps) {
    for (int k = 0; k < m; ++k) x.impulses[k] = row_impulse(x, k, x.u[k]);
    for (int k = 0; k < x.num_points; ++k) calc_touch(x, k, x.u + m + 3*k, x.impulses + m + 3*k);
    x.sweeps->add_impulses(x.sweeps->self, x.impulses, x.gradient, x.size);
  } else {
    for (int k = 0; k < m; ++k) add_impulse(x, x.J + std::ptrdiff_t(n)*k, row_impulse(x, k, x.u[k]));
    for (int k = 0; k < x.num_points; ++k) {
      double impulse[3];
      calc_touch(x, k, x.u + m + 3*k, impulse);
      if (impulse[0] != 0.0 || impulse[1] != 0.0 || impulse[2] != 0.0)
        add_point_impulse(x, x.points + 3*std::ptrdiff_t(n)*k, impulse);
    }
  }
  double error = 0.0, size = 0.0;
  for (int i = 0; i < n; ++i) {
    error += x.gradient[i]*x.gradient[i]*x.scale[i]*x.scale[i];
    size += x.size[i]*x.size[i]*x.scale[i]*x.scale[i];
  }
  size = std::sqrt(size);
  return std::sqrt(error)/(size > 1e-300 ? size : 1e-300);
}

// The lower triangle of H += J' G J, J (3, n), G = [G0 G1 0; G1 G2 0; 0 0 G3].
inline void add_point(int n, const double* G, const double* J, double* H) {
  const double *a = J, *b = J + n, *c = b + n;
  for (int i = 0; i < n; ++i) {
    const double u = G[0]*a[i] + G[1]*b[i], v = G[1]*a[i] + G[2]*b[i], w = G[3]*c[i];
    if (u == 0.0 && v == 0.0 && w == 0.0) continue;
    double* row = H + std::ptrdiff_t(n)*i;
    for (int j = 0; j <= i; ++j) row[j] += (u*a[j] + v*b[j]) + w*c[j];
  }
}

// Whether slopes are so close to the others that these may stand for them in Newton's method.
inline bool are_close(const Problem& x, const double* slopes, const double* others) {
  const int first = x.n + x.num_rows;
  for (int i = 0; i < first; ++i)
    if (!(std::fabs(slopes[i] - others[i]) <= kClose*others[i])) return false;
  for (int i = first; i < first + 4*x.num_points; i += 4) {
    const double most = kClose*(others[i] + others[i + 2]);
    for (int j = 0; j < 3; ++j)
      if (!(std::fabs(slopes[i + j] - others[i + j]) <= most)) return false;
    if (!(std::fabs(slopes[i + 3] - others[i + 3]) <= kClose*others[i + 3])) return false;
  }
  return true;
}

// The matrix of second derivatives with x.factored into the lower triangle of x.H.
inline void set_hessian(Problem& x) {
  const int n = x.n;
  const double *of_rows = x.factored + n, *of_points = of_rows + x.num_rows;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) x.H[std::ptrdiff_t(n)*i + j] = x.M[std::ptrdiff_t(n)*i + j];
    x.H[std::ptrdiff_t(n)*i + i] += x.factored[i];
  }
  for (int k = 0; k < x.num_rows; ++k) {
    const double* row = x.J + std::ptrdiff_t(n)*k;
    add_outer(n, of_rows[k], row, row, x.H);
  }
  for (int k = 0; k < x.num_points; ++k) {
    const double* G = of_points + 4*k;
    if (G[0] != 0.0 || G[2] != 0.0 || G[3] != 0.0) add_point(n, G, x.points + 3*std::ptrdiff_t(n)*k, x.H);
  }
}

// Slope of the function along the direction, at v + length direction, from x.Mv, x.Md, x.u, x.du.
inline double calc_slope(Problem& x, const double* v, double length) {
  const int n = x.n, m = x.num_rows;
  double slope = 0.0;
  for (int i = 0; i < n; ++i) x.trial[i] = v[i] + length*x.direction[i];
  add_drives(x, x.trial, x.total, nullptr);
  for (int i = 0; i < n; ++i)
    slope += x.direction[i]*(
      x.Mv[i] + length*x.Md[i] - x.p[i] + x.linear[i]*x.trial[i] + limit_impulse(x, i, x.trial[i])
      + friction_impulse(x, i, x.trial[i]) - x.h*clip(x.total[i], x.effort_lower[i], x.effort_upper[i]));
  for (int k = 0; k < m; ++k) slope -= x.du[k]*row_impulse(x, k, x.u[k] + length*x.du[k]);
  for (int k = 0; k < x.num_points; ++k) {
    const double *u0 = x.u + m + 3*k, *du = x.du + m + 3*k;
    const double u[3] = {u0[0] + length*du[0], u0[1] + length*du[1], u0[2] + length*du[2]};
    const Touch t = touch(x, k, u);
    slope += t.across*(u[0]*du[0] + u[1]*du[1]) - t.normal*du[2];
  }
  return slope;
}

// The length to the minimum along the direction: the root of a slope that only grows.
inline double find_length(Problem& x, const double* v) {
  const int n = x.n;
  const double first = dot(n, x.direction, x.gradient);
  double length = 1.0, low = 0.0, high = INFINITY, slope_low = first, slope_high = INFINITY;
  calc_momenta_and_rates(x, x.direction, x.Md, x.du);
  for (int trial = 0; trial < kMostTrials; ++trial) {
    const double slope = calc_slope(x, v, length), width = high - low;
    if (!(std::fabs(slope) > kSlope*std::fabs(first)) || !(first < 0.0) || (slope < 0.0 && length >= 1.0)) break;
    double next = NAN;
    if (slope > 0.0) {
      // The line through the last two lengths that were too large, which is the slope behind the last kink. A limit may
      // be 1e16 times steeper than the fall in front of it.
      next = (length*slope_high - high*slope)/(slope_high - slope);
      high = length;
      slope_high = slope;
    } else {
      low = length;
      slope_low = slope;
    }
    if (!(next > low && next < high)) next = (low*slope_high - high*slope_low)/(slope_high - slope_low);
    if (!(next > low && next < high) || (trial > 1 && high - low > 0.5*width)) next = 0.5*(low + high);
    if (next == low || next == high) break;
    length = next;
  }
  return length;
}

// Moves v by length times direction, with M v and the rates. False if v stays the same to rounding.
inline bool move_along(Problem& x, double length, double* v) {
  bool is_moved = false;
  for (int i = 0; i < x.n; ++i) {
    const double before = v[i];
    v[i] += length*x.direction[i];
    is_moved |= v[i] != before;
    x.Mv[i] += length*x.Md[i];
  }
  for (int k = 0; k < x.num_rows + 3*x.num_points; ++k) x.u[k] += length*x.du[k];
  return is_moved;
}

// Computes M v, the rates and the gradient at v; returns the gradient's size relative to its terms.
inline double begin_at(Problem& x, const double* v) {
  calc_momenta_and_rates(x, v, x.Mv, x.u);
  return calc_gradient(x, v);
}

// Computes x.direction, towards the minimum of the second-order function at v; false if that fails.
inline bool find_direction(Problem& x, const double* v) {
  const int n = x.n;
  calc_slopes(x, v, x.slopes);
  const bool is_new = !x.has_factors || !are_close(x, x.slopes, x.factored);
  if (is_new) std::swap(x.slopes, x.factored);
  for (int i = 0; i < n; ++i) x.direction[i] = -x.gradient[i];
  if (x.sweeps) {
    x.has_factors = x.sweeps->solve(x.sweeps->self, is_new ? x.factored : nullptr, x.direction);
    return x.has_factors;
  }
  if (is_new) {
    set_hessian(x);
    x.has_factors = factorize(n, x.H, x.columns);
    if (!x.has_factors) return false;
  }
  solve_outer(n, x.H, x.columns, x.direction);
  solve_inner(n, x.H, x.columns, x.direction);
  return true;
}

// Newton's method: moves v, where the gradient is known, to the minimum. Returns the number of iterations.
inline int descend(Problem& x, double* v, double* residual) {
  int iterations = 0, rises = 0;
  while (iterations < kMostIterations && *residual > kTolerance) {
    if (!find_direction(x, v)) break;
    const double length = find_length(x, v);
    ++iterations;
    if (!move_along(x, length, v)) break;
    const double next = calc_gradient(x, v);
    // The last digits may not improve.
    rises += next >= *residual && *residual < kPoorRounding;
    if (2.0*next > *residual && *residual < (rises < kMostRises ? kRounding : kPoorRounding)) {
      if (next >= *residual) move_along(x, -length, v);
      else *residual = next;
      break;
    }
    *residual = next;
  }
  return iterations;
}

inline void scale_slopes(Problem& x, double factor) {
  for (int i = 0; i < x.n; ++i) {
    x.limit_slope[i] *= factor;
    x.friction_slope[i] *= factor;
  }
  for (int k = x.num_rows - x.num_sided; k < x.num_rows; ++k) x.row_slope[k] *= factor;
  for (int k = 0; k < x.num_points; ++k) x.point_slope[k] *= factor;
}

// Moves v to the minimum, starting there or, unless null, at `other`, whichever has the smaller gradient. Returns the
// number of iterations.
inline int minimize(Problem& x, double* v, const double* other, double* residual) {
  const int n = x.n;
  for (int i = 0; i < n; ++i) {
    x.scale[i] = 1.0/std::sqrt(x.inertia[i] > 0.0 ? x.inertia[i] : x.linear[i] > 0.0 ? x.linear[i] : 1.0);
  }
  *residual = begin_at(x, v);
  if (other && *residual > kTolerance) {
    const double there = begin_at(x, other);
    if (there < *residual) {
      *residual = there;
      std::memcpy(v, other, sizeof(double)*n);
    } else {
      begin_at(x, v);
    }
  }
  int iterations = descend(x, v, residual);
  if (iterations == kMostIterations || *residual > kPoorRounding) {
    // Between two steep kinks it may oscillate in short steps. With less steep kinks first it gets to the right side of
    // both.
    double steepness = 1.0;
    for (double next : {0x1p-14, 0x1p-7, 1.0}) {
      scale_slopes(x, next/steepness);
      steepness = next;
      *residual = begin_at(x, v);
      iterations += descend(x, v, residual);
    }
  }
  return iterations;
}

// Factorizes the second derivatives at the minimum near v, to which v moves; false if that fails.
inline bool linearize(Problem& x, double* v) {
  for (int pass = 0; pass < 2; ++pass) {
    if (pass) {
      for (int i = 0; i < x.n; ++i) x.direction[i] = -x.gradient[i];
      solve_outer(x.n, x.H, x.columns, x.direction);
      solve_inner(x.n, x.H, x.columns, x.direction);
      for (int i = 0; i < x.n; ++i) v[i] += x.direction[i];
    }
    begin_at(x, v);
    calc_slopes(x, v, x.factored);
    set_hessian(x);
    if (!factorize(x.n, x.H, x.columns)) return false;
  }
  return true;
}

}  // namespace mbt_convex
