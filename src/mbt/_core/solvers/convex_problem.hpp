// The convex problem of an implicit step: 1/2 v' M v - p' v + sum of l(J v), see docs/implicit_steps.md.
//
// In NumPy: tests/support/convex_steps.py. All matrices are stored row by row.
#pragma once

#include <cmath>
#include <cstddef>

#include "algebra/little_directions.hpp"
#include "solvers/symmetric_factors.hpp"

namespace mbt_convex {

using MBT_NS::find_little;
using MBT_NS::kNothing;
using MBT_NS::project;

// Compliance of rigid limits and constraints relative to the inertia that they move; and of friction that sticks.
constexpr double kRigid = 1e-6, kStiction = 1e-5;
// Time in which an open constraint closes, and in which a joint beyond its limit returns [s]. Joints start beyond
// limits where a file has no pose of its own, and must not snap back. A damped spring pulls them, of period 2 pi kPull:
// against a loop that holds them, an unbounded force would feed energy into the loop.
constexpr double kClosing = 0.02, kReturn = 0.2, kPull = 2e-3;

// What takes the place of M, J and H where they are not stored: sweeps through the tree, each O(n), over `self`.
struct Sweeps {
  void* self;
  void (*calc_momenta_and_rates)(void* self, const double* v, double* Mv, double* u);
  // gradient -= J' impulses, with the sizes of the terms.
  void (*add_impulses)(void* self, const double* impulses, double* gradient, double* size);
  // x = (M + J' slopes J)^-1 x, with the slopes of calc_slopes, or those of the last call if null; false if the matrix
  // is singular.
  int (*solve)(void* self, const double* slopes, double* x);
};

struct Problem {
  int n;             // velocities
  int num_servos;
  int num_rows;      // equations of constraints; springs and bushings between bodies; limits of angles
  int num_sided;     // the last rows, which act only where the velocity is too small
  int num_points;    // in contact
  double h;
  const Sweeps* sweeps;     // in place of matrices; then M, J, points, H and columns are not used
  double* M;         // (n, n)
  double* inertia;   // (n,) the diagonal of M
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
  double* impulses;  // (num_rows + 3 num_points,) along rows; of sweeps only
  double* slopes;    // (n + num_rows + 4 num_points,) see calc_slopes
  double* factored;  // those in the factors of H
  bool has_factors;
  int* columns;      // (n, n) of factors; in the memory of the impulses
};

// Takes directions with small eigenvalues out of J (count, n) and of its target velocities. `columns` is Y = L'^-1 J'
// of M = L' L, S = Y'Y (3, 3); both are overwritten. Directions below kNothing are harmless and stay, as they may turn
// where J changes.
inline void take_out_little(
    int count, int n, double most, double* columns, double* S, double* J, double* target) {
  double P[9], rest[3], squares = 0.0;
  if (!find_little(count, most, S, P)) return;
  for (int k = 0; k < n; ++k) {
    project(count, P, n, columns + k, rest);
    squares += dot(count, rest, rest);
  }
  if (squares <= kNothing*most) return;
  project(count, P, 1, target, rest);
  for (int k = 0; k < n; ++k) project(count, P, n, J + k, rest);
}

// Doubles of working memory, from H on.
inline std::ptrdiff_t count_memory(bool has_sweeps, int n, int num_rows, int num_points) {
  const std::ptrdiff_t num_rates = num_rows + 3*std::ptrdiff_t(num_points);
  return (has_sweeps ? num_rates : 2*std::ptrdiff_t(n)*n) + 11*std::ptrdiff_t(n) + 4*num_rates + 2*num_points;
}

inline void set_memory(Problem& x, double* memory) {
  const std::ptrdiff_t n = x.n;
  const std::ptrdiff_t num_rates = x.num_rows + 3*x.num_points;
  x.H = memory;
  x.scale = x.H + (x.sweeps ? 0 : n*n);
  x.gradient = x.scale + n;
  x.size = x.gradient + n;
  x.direction = x.size + n;
  x.trial = x.direction + n;
  x.Mv = x.trial + n;
  x.Md = x.Mv + n;
  x.total = x.Md + n;
  x.u = x.total + n;
  x.du = x.u + num_rates;
  x.slopes = x.du + num_rates;
  x.factored = x.slopes + n + num_rates + x.num_points;
  x.impulses = x.factored + n + num_rates + x.num_points;
  x.columns = reinterpret_cast<int*>(x.impulses);
  x.has_factors = false;
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

// M v, and the velocities J v along the rows of constraints and points: (num_rows + 3 num_points,)
inline void calc_momenta_and_rates(const Problem& x, const double* v, double* Mv, double* u) {
  if (x.sweeps) return x.sweeps->calc_momenta_and_rates(x.sweeps->self, v, Mv, u);
  multiply(x.n, x.n, x.M, v, Mv);
  multiply(x.num_rows, x.n, x.J, v, u);
  multiply(3*x.num_points, x.n, x.points, v, u + x.num_rows);
}

// Second derivatives at v of what acts on single dofs; `steepness` is working memory, (n,).
inline void calc_diagonal(Problem& x, const double* v, double* steepness, double* diagonal) {
  const int n = x.n;
  for (int i = 0; i < n; ++i) steepness[i] = 0.0;
  add_drives(x, v, x.total, steepness);
  for (int i = 0; i < n; ++i) {
    double sum = x.linear[i];
    // Also exactly on a limit: a line search may end there.
    if (v[i] <= x.lower[i] || v[i] >= x.upper[i]) sum += x.limit_slope[i];
    if (is_pulled(x, i, v[i])) sum += pull_slope(x, i);
    if (std::fabs(x.friction_slope[i]*v[i]) < x.friction[i]) sum += x.friction_slope[i];
    if (x.total[i] > x.effort_lower[i] && x.total[i] < x.effort_upper[i]) sum += steepness[i];
    diagonal[i] = sum;
  }
}

// Second derivative along row k, at its velocity u.
inline double slope_of_row(const Problem& x, int k) {
  return k < x.num_rows - x.num_sided || x.target[k] > x.u[k] ? x.row_slope[k] : 0.0;
}

// Second derivatives along the axes of a point: [G0 G1 0; G1 G2 0; 0 0 G3].
inline void calc_slopes_of_point(const Problem& x, int k, double* G) {
  const double* u = x.u + x.num_rows + 3*k;
  const Touch t = touch(x, k, u);
  // Along the slip, and across it.
  const double inverse = t.speed > 0.0 ? 1.0/t.speed : 0.0, change = t.along - t.across;
  const double s0 = u[0]*inverse, s1 = u[1]*inverse;
  G[0] = t.across + change*s0*s0;
  G[1] = change*s0*s1;
  G[2] = t.across + change*s1*s1;
  G[3] = t.slope;
}

// All of them at v: of dofs, of rows, and four of each point.
inline void calc_slopes(Problem& x, const double* v, double* slopes) {
  calc_diagonal(x, v, x.direction, slopes);
  slopes += x.n;
  for (int k = 0; k < x.num_rows; ++k) slopes[k] = slope_of_row(x, k);
  slopes += x.num_rows;
  for (int k = 0; k < x.num_points; ++k) calc_slopes_of_point(x, k, slopes + 4*k);
}

}  // namespace mbt_convex
