// The convex problem of an implicit step, and Newton's method with an exact line search that solves it.
//
// 1/2 v' M v - p' v + sum of l(J v), see docs/implicit_steps.md. In NumPy: tests/support/convex_steps.py.
// All matrices are stored row by row.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include "solvers/symmetric_factors.hpp"

namespace mbt_convex {

// Compliance of rigid limits and constraints relative to the inertia that they move; and of friction that sticks.
constexpr double kRigid = 1e-6, kStiction = 1e-5;
// Eigenvalues of J M^-1 J' for equations along three axes, relative to the largest: below kLittle they come from angles
// given with five digits, (3.2e-5)^2, as in forward dynamics; below kNothing from rounding.
constexpr double kLittle = 1e-9, kNothing = 1e-24;
// Time in which an open constraint closes, and in which a joint beyond its limit returns [s]. Joints start beyond
// limits where a file has no pose of its own, and must not snap back. A damped spring pulls them, of period 2 pi kPull:
// against a loop that holds them, an unbounded force would feed energy into the loop.
constexpr double kClosing = 0.02, kReturn = 0.2, kPull = 2e-3;

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

struct Problem {
  int n;             // velocities
  int num_servos;
  int num_rows;      // equations of constraints; springs and bushings between bodies; limits of angles
  int num_sided;     // the last rows, which act only where the velocity is too small
  int num_points;    // in contact
  double h;
  double* M;         // (n, n)
  double* p;         // (n,) momentum, and the impulses that do not depend on v
  double* linear;    // (n,) impulse against v, per velocity
  double* lower;     // (n,) velocities that limits allow
  double* upper;
  double* limit_slope;      // (n,) impulse per velocity beyond them
  double* back;      // (n,) velocities at which joints beyond their limits return
  double* pull;      // (n,) impulse that brings them back from rest; less while they move, zero within limits
  double* friction;         // (n,) largest impulse of dry friction
  double* friction_slope;   // (n,) impulse per velocity at rest
  double* given;            // (n,) forces of inputs
  double* carried;          // (n,) the velocity without forces, on request
  const double* effort_lower;  // (n,) limits of inputs and servos together
  const double* effort_upper;
  const int* dofs;          // (num_servos,)
  double* effort;           // (num_servos,) of servos at v = 0
  double* effort_slope;     // (num_servos,) its decrease per velocity
  const double* effort_limit;  // (num_servos,)
  double* J;                // (num_rows, n)
  double* target;           // (num_rows,) desired velocities
  double* row_slope;        // (num_rows,) impulse per missing velocity
  double* points;           // (num_points, 3, n) Jacobians: along the plane, and away from it
  double* stiffness;        // (num_points,)
  double* dissipation;
  double* depth;
  double* point_friction;   // largest impulse
  double* point_slope;      // impulse of friction per speed while a point sticks
  // Working memory.
  double* H;         // (n, n)
  double* scale;     // (n,) one over the root of the diagonal of M
  double* gradient;  // (n,)
  double* size;      // (n,) size of its terms
  double* direction;
  double* trial;
  double* Mv;        // (n,) M v
  double* Md;        // (n,) M direction
  double* total;     // (n,) inputs and servos before their common limits
  double* u;         // (num_rows + 3 num_points,) J v
  double* du;        // (num_rows + 3 num_points,) J direction
  int* columns;      // (n, n) of factors
};

// Takes directions with small eigenvalues out of J (count, n), the rows of up to three equations along axes, and out of
// their target velocities. `columns` is Y = L'^-1 J' of M = L' L, S = Y'Y (3, 3), `most` the largest on its diagonal.
// Directions below kNothing are harmless and stay, as they may turn where J changes. S is overwritten.
inline void take_out_little(
    int count, int n, double most, const double* columns, double* S, double* J, double* target) {
  double range[9];  // orthonormal directions with large eigenvalues
  int rank = 0;
  if (!std::isfinite(most)) return;
  // By far the most frequent case: no eigenvalue is less than the determinant over the square of the trace.
  if (count == 3 && S[0]*(S[4]*S[8] - S[5]*S[5]) - S[1]*(S[1]*S[8] - S[5]*S[2]) + S[2]*(S[1]*S[5] - S[4]*S[2]) >
      27.0*kLittle*most*most*most)
    return;
  for (; rank < count; ++rank) {
    int p = 0;
    for (int i = 1; i < count; ++i)
      if (S[4*i] > S[4*p]) p = i;
    const double pivot = S[4*p];
    if (!(pivot > kLittle*most)) break;
    double* q = range + 3*rank;
    double column[3] = {0.0, 0.0, 0.0};
    for (int i = 0; i < count; ++i) column[i] = q[i] = S[3*i + p];
    for (int i = 0; i < count; ++i)
      for (int j = 0; j < count; ++j) S[3*i + j] -= column[i]*column[j]/pivot;
    for (int times = 0; times < 2; ++times)
      for (int r = 0; r < rank; ++r) subtract(count, dot(count, range + 3*r, q), range + 3*r, q);
    const double length = std::sqrt(dot(count, q, q));
    for (int i = 0; i < count; ++i) q[i] /= length;
  }
  if (rank == count) return;
  double P[9] = {0.0}, said = 0.0;
  for (int r = 0; r < rank; ++r)
    for (int i = 0; i < count; ++i) subtract(count, -range[3*r + i], range + 3*r, P + 3*i);
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < count; ++i) {
      double rest = columns[std::ptrdiff_t(n)*i + k];
      for (int j = 0; j < count; ++j) rest -= P[3*i + j]*columns[std::ptrdiff_t(n)*j + k];
      said += rest*rest;
    }
  if (said <= kNothing*most) return;
  for (int k = -1; k < n; ++k) {
    double* x = k < 0 ? target : J + k;
    const int stride = k < 0 ? 1 : n;
    double old[3];
    for (int i = 0; i < count; ++i) old[i] = x[stride*i];
    for (int i = 0; i < count; ++i) x[stride*i] = dot(count, P + 3*i, old);
  }
}

// Doubles of working memory, from H on.
inline std::ptrdiff_t count_memory(int n, int num_rows, int num_points) {
  return 2*std::ptrdiff_t(n)*n + 9*std::ptrdiff_t(n) + 2*(num_rows + 3*std::ptrdiff_t(num_points));
}

inline void set_memory(Problem& x, double* memory) {
  const std::ptrdiff_t n = x.n;
  x.H = memory;
  x.scale = x.H + n*n;
  x.gradient = x.scale + n;
  x.size = x.gradient + n;
  x.direction = x.size + n;
  x.trial = x.direction + n;
  x.Mv = x.trial + n;
  x.Md = x.Mv + n;
  x.total = x.Md + n;
  x.u = x.total + n;
  x.du = x.u + x.num_rows + 3*x.num_points;
  x.columns = reinterpret_cast<int*>(x.du + x.num_rows + 3*x.num_points);
}

inline double clip(double x, double lower, double upper) { return x < lower ? lower : x > upper ? upper : x; }
inline double positive(double x) { return x > 0.0 ? x : 0.0; }

// The efforts of servos and inputs at v before their common limits; and, unless null, the `steepness` of each dof.
inline void add_drives(const Problem& x, const double* v, double* total, double* steepness) {
  for (int i = 0; i < x.n; ++i) total[i] = x.given[i];
  for (int i = 0; i < x.num_servos; ++i) {
    const int k = x.dofs[i];
    const double wanted = x.effort[i] - x.effort_slope[i]*v[k];
    total[k] += clip(wanted, -x.effort_limit[i], x.effort_limit[i]);
    if (steepness && std::fabs(wanted) < x.effort_limit[i]) steepness[k] += x.h*x.effort_slope[i];
  }
}

// Impulses against v along dof i, without those of drives.
inline double pull_slope(const Problem& x, int i) { return x.back[i] != 0.0 ? x.pull[i]/std::fabs(x.back[i]) : 0.0; }

inline double pull_impulse(const Problem& x, int i, double v) {
  const double wanted = pull_slope(x, i)*(v - x.back[i]);
  return x.back[i] > 0.0 ? clip(wanted, -x.pull[i], 0.0) : clip(wanted, 0.0, x.pull[i]);
}

inline double limit_impulse(const Problem& x, int i, double v) {
  return x.limit_slope[i]*(positive(v - x.upper[i]) - positive(x.lower[i] - v)) + pull_impulse(x, i, v);
}

inline bool is_pulled(const Problem& x, int i, double v) {
  const double impulse = pull_impulse(x, i, v);
  return impulse != 0.0 && std::fabs(impulse) < x.pull[i];
}

inline double friction_impulse(const Problem& x, int i, double v) {
  return clip(x.friction_slope[i]*v, -x.friction[i], x.friction[i]);
}

// Impulse along a row with velocity u.
inline double row_impulse(const Problem& x, int k, double u) {
  const double missing = x.target[k] - u;
  return k < x.num_rows - x.num_sided || missing > 0.0 ? x.row_slope[k]*missing : 0.0;
}

// Impulses at a point with velocity u, (3,), and their slopes.
struct Touch {
  double normal, slope;  // impulse away from the plane, and how it falls with u[2]
  double across, along;  // slopes of friction across and along the slip; the impulse is -across times the slip
  double speed;
};

inline Touch touch(const Problem& x, int i, const double* u) {
  Touch y;
  const double elastic = x.h*x.stiffness[i]*positive(x.depth[i] - x.h*u[2]);
  const double damped = positive(1.0 - x.dissipation[i]*u[2]);
  y.normal = elastic*damped;
  y.slope = elastic > 0.0 ? x.h*x.stiffness[i]*x.h*damped : 0.0;
  if (damped > 0.0) y.slope += elastic*x.dissipation[i];
  y.speed = std::sqrt(u[0]*u[0] + u[1]*u[1]);
  const bool sticks = x.point_slope[i]*y.speed < x.point_friction[i];
  y.across = sticks ? x.point_slope[i] : x.point_friction[i]/(y.speed > 0.0 ? y.speed : 1.0);
  y.along = sticks ? x.point_slope[i] : 0.0;
  return y;
}

// Impulse on the body: along the plane, and away from it.
inline void calc_touch(const Problem& x, int i, const double* u, double* impulse) {
  const Touch t = touch(x, i, u);
  impulse[0] = -t.across*u[0];
  impulse[1] = -t.across*u[1];
  impulse[2] = t.normal;
}

// The velocities J v along the rows of constraints and points: (num_rows + 3 num_points,)
inline void calc_rates(const Problem& x, const double* v, double* u) {
  multiply(x.num_rows, x.n, x.J, v, u);
  multiply(3*x.num_points, x.n, x.points, v, u + x.num_rows);
}

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
  for (int k = 0; k < m; ++k)
    add_impulse(x, x.J + std::ptrdiff_t(n)*k, row_impulse(x, k, x.u[k]));
  for (int k = 0; k < x.num_points; ++k) {
    double impulse[3];
    calc_touch(x, k, x.u + m + 3*k, impulse);
    if (impulse[0] != 0.0 || impulse[1] != 0.0 || impulse[2] != 0.0)
      add_point_impulse(x, x.points + 3*std::ptrdiff_t(n)*k, impulse);
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

// Second derivatives at v into the lower triangle of x.H.
inline void calc_hessian(Problem& x, const double* v) {
  const int n = x.n;
  double* steepness = x.direction;
  for (int i = 0; i < n; ++i) steepness[i] = 0.0;
  add_drives(x, v, x.total, steepness);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) x.H[std::ptrdiff_t(n)*i + j] = x.M[std::ptrdiff_t(n)*i + j];
    double diagonal = x.linear[i];
    // Also exactly on a limit: a line search may end there.
    if (v[i] <= x.lower[i] || v[i] >= x.upper[i]) diagonal += x.limit_slope[i];
    if (is_pulled(x, i, v[i])) diagonal += pull_slope(x, i);
    if (std::fabs(x.friction_slope[i]*v[i]) < x.friction[i]) diagonal += x.friction_slope[i];
    if (x.total[i] > x.effort_lower[i] && x.total[i] < x.effort_upper[i]) diagonal += steepness[i];
    x.H[std::ptrdiff_t(n)*i + i] += diagonal;
  }
  for (int k = 0; k < x.num_rows; ++k) {
    const double* row = x.J + std::ptrdiff_t(n)*k;
    if (k >= x.num_rows - x.num_sided && !(x.target[k] > x.u[k])) continue;
    add_outer(n, x.row_slope[k], row, row, x.H);
  }
  for (int k = 0; k < x.num_points; ++k) {
    const double* rows = x.points + 3*std::ptrdiff_t(n)*k;
    const double* u = x.u + x.num_rows + 3*k;
    const Touch t = touch(x, k, u);
    // Along the slip, and across it.
    const double inverse = t.speed > 0.0 ? 1.0/t.speed : 0.0, change = t.along - t.across;
    const double s0 = u[0]*inverse, s1 = u[1]*inverse;
    const double G[4] = {t.across + change*s0*s0, change*s0*s1, t.across + change*s1*s1, t.slope};
    if (t.across != 0.0 || t.slope != 0.0) add_point(n, G, rows, x.H);
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
  multiply(n, n, x.M, x.direction, x.Md);
  calc_rates(x, x.direction, x.du);
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
  multiply(x.n, x.n, x.M, v, x.Mv);
  calc_rates(x, v, x.u);
  return calc_gradient(x, v);
}

// Newton's method: moves v, where the gradient is known, to the minimum. Returns the number of iterations.
inline int descend(Problem& x, double* v, double* residual) {
  const int n = x.n;
  int iterations = 0, rises = 0;
  while (iterations < kMostIterations && *residual > kTolerance) {
    calc_hessian(x, v);
    for (int i = 0; i < n; ++i) x.direction[i] = -x.gradient[i];
    if (!factorize(n, x.H, x.columns)) break;
    solve_outer(n, x.H, x.columns, x.direction);
    solve_inner(n, x.H, x.columns, x.direction);
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
    const double inertia = x.M[std::ptrdiff_t(n)*i + i];
    x.scale[i] = 1.0/std::sqrt(inertia > 0.0 ? inertia : x.linear[i] > 0.0 ? x.linear[i] : 1.0);
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
    calc_hessian(x, v);
    if (!factorize(x.n, x.H, x.columns)) return false;
  }
  return true;
}

}  // namespace mbt_convex
