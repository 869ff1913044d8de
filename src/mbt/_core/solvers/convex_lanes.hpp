// The convex problem of convex_problem.hpp for MBT_W states at once, of trees whose contacts couple no branches.
//
// Then M, its factors and all second derivatives have entries only between a dof and those on its path to World. Such a
// matrix is packed: the diagonal entry of dof k is followed by those with the dofs inboard of it, the outermost first.
// The path of a dof on the path of k is the end of that of k: all loops run over contiguous numbers.
//
// Lanes whose problem is solved no longer move, so that none depends on its neighbours.
#pragma once

#include <cmath>

#include "scalars/lanes.hpp"

namespace MBT_NS {

// As in convex_step.hpp.
constexpr double kStepTolerance = 1e-13, kStepRounding = 1e-10, kStepPoorRounding = 1e-7, kStepSlope = 1e-3;
constexpr int kStepRises = 3, kStepIterations = 40, kStepTrials = 40;

struct Branches {
  int n;              // dofs
  const int* row;     // (n,) where the row of a dof begins in the packed matrix
  const int* length;  // (n,) its number of entries
  const int* dofs;    // packed: the other dof of each entry
};

// Every number of `Problem` in convex_problem.hpp, which explains the members, has one value per lane here.
struct LaneProblem {
  Branches tree;
  int num_servos, num_points;
  double h;
  Lanes *M, *p, *linear, *lower, *upper, *limit_slope, *back, *pull_slope, *least_pull, *most_pull;
  Lanes *friction, *friction_slope, *given;
  const Lanes *effort_lower, *effort_upper;
  const int* servo_dofs;
  Lanes *effort, *effort_slope;
  const Lanes* effort_limit;
  const int* point_dofs;  // the last dof on the path to each point, or -1
  Lanes* points;          // (num_points, 3, n) along its path
  const Lanes *stiffness, *dissipation;
  Lanes *depth, *point_friction, *point_slope;
  // Working memory.
  Lanes *H, *diagonal, *scale, *v, *Mv, *gradient, *size, *direction, *Md, *trial, *Mtrial, *total;
  Lanes *u, *du, *utrial, *curvature;
};

static MBT_INLINE bool is_anywhere(const Lanes& x) { return any_nonzero(x.r); }
static MBT_INLINE Lanes clip_lanes(const Lanes& x, const Lanes& lower, const Lanes& upper) {
  return select_lt(x, lower, lower, select_lt(upper, x, upper, x));
}
static MBT_INLINE Lanes positive_lanes(const Lanes& x) { return select_lt(Lanes(0.0), x, x, Lanes(0.0)); }
static MBT_INLINE Lanes larger_lanes(const Lanes& a, const Lanes& b) { return select_lt(a, b, b, a); }

// Replaces the packed matrix A = L' L by L, with the inverses of its diagonal. Lanes with a pivot not greater than a
// share of its diagonal become zero in `good`; their numbers are meaningless.
static inline void factorize_lanes(const Branches& t, Lanes* A, Lanes* diagonal, Lanes* good) {
  for (int k = 0; k < t.n; ++k) diagonal[k] = 1e-14*A[t.row[k]];
  for (int k = t.n - 1; k >= 0; --k) {
    Lanes* row = A + t.row[k];
    const int* dofs = t.dofs + t.row[k];
    const int length = t.length[k];
    *good = select_lt(diagonal[k], row[0], *good, Lanes(0.0));
    const Lanes inverse = Lanes(1.0)/sqrt_(select_lt(diagonal[k], row[0], row[0], Lanes(1.0)));
    row[0] = inverse;
    for (int i = 1; i < length; ++i) row[i] *= inverse;
    for (int i = 1; i < length; ++i) {
      Lanes* other = A + t.row[dofs[i]];
      const Lanes factor = row[i];
      for (int j = i; j < length; ++j) other[j - i] -= factor*row[j];
    }
  }
}

// x = L'^-1 x
static inline void solve_outer_lanes(const Branches& t, const Lanes* L, Lanes* x) {
  for (int k = t.n - 1; k >= 0; --k) {
    const Lanes* row = L + t.row[k];
    const int* dofs = t.dofs + t.row[k];
    const Lanes value = x[k] = x[k]*row[0];
    for (int i = 1; i < t.length[k]; ++i) x[dofs[i]] -= value*row[i];
  }
}

// x = L^-1 x
static inline void solve_inner_lanes(const Branches& t, const Lanes* L, Lanes* x) {
  for (int k = 0; k < t.n; ++k) {
    const Lanes* row = L + t.row[k];
    const int* dofs = t.dofs + t.row[k];
    Lanes sum = x[k];
    for (int i = 1; i < t.length[k]; ++i) sum -= row[i]*x[dofs[i]];
    x[k] = sum*row[0];
  }
}

// x' A^-1 x + y' A^-1 y for rows along the path of a dof, which are overwritten.
static inline Lanes measure_rows(const Branches& t, const Lanes* L, int dof, Lanes* x, Lanes* y) {
  const int* dofs = t.dofs + t.row[dof];
  const int length = t.length[dof];
  Lanes sum = 0.0;
  for (int k = 0; k < length; ++k) {
    const Lanes* row = L + t.row[dofs[k]];
    const Lanes a = x[k]*row[0], b = y[k]*row[0];
    sum += a*a + b*b;
    for (int i = 1; i < length - k; ++i) {
      x[k + i] -= a*row[i];
      y[k + i] -= b*row[i];
    }
  }
  return sum;
}

static inline void multiply_lanes(const Branches& t, const Lanes* M, const Lanes* x, Lanes* y) {
  for (int k = 0; k < t.n; ++k) {
    const Lanes* row = M + t.row[k];
    const int* dofs = t.dofs + t.row[k];
    const Lanes value = x[k];
    Lanes sum = row[0]*value;
    for (int i = 1; i < t.length[k]; ++i) {
      sum += row[i]*x[dofs[i]];
      y[dofs[i]] += row[i]*value;
    }
    y[k] = sum;
  }
}

class LaneSolver {
 public:
  explicit LaneSolver(const LaneProblem& problem) : x(problem) {}

  // The Lanes of working memory.
  static std::ptrdiff_t count_memory(int n, int packed, int num_points) {
    return packed + 11*std::ptrdiff_t(n) + 13*std::ptrdiff_t(num_points);
  }

  static void set_memory(LaneProblem& y, int packed, Lanes* memory) {
    y.H = memory;
    Lanes** const of_dofs[] = {
      &y.diagonal, &y.scale, &y.Mv, &y.gradient, &y.size, &y.direction, &y.Md, &y.trial, &y.Mtrial, &y.total, &y.v};
    memory += packed;
    for (Lanes** array : of_dofs) {
      *array = memory;
      memory += y.tree.n;
    }
    y.u = memory;
    y.du = y.u + 3*y.num_points;
    y.utrial = y.du + 3*y.num_points;
    y.curvature = y.utrial + 3*y.num_points;
  }

  // Moves x.v to the minimum in lanes that are `good`, starting there or at `other`, whichever has the smaller
  // gradient; lanes that do not converge cease to be good.
  void minimize(const Lanes* other, Lanes& good) {
    const Branches& t = x.tree;
    const int n = t.n;
    const Lanes zero = 0.0, one = 1.0, infinity = INFINITY;
    for (int i = 0; i < n; ++i) {
      const Lanes inertia = x.M[t.row[i]];
      const Lanes other = select_lt(zero, x.linear[i], x.linear[i], one);
      x.scale[i] = one/select_lt(zero, inertia, inertia, other);
    }
    Lanes residual = begin_at(x.v);
    if (is_anywhere(select_lt(kStepTolerance, residual, good, zero))) {
      const Lanes there = begin_at(other);
      const Lanes is_better = select_lt(there, residual, select_lt(kStepTolerance, residual, one, zero), zero);
      for (int i = 0; i < n; ++i) x.v[i] = select_lt(zero, is_better, other[i], x.v[i]);
      residual = select_lt(zero, is_better, there, residual);
      if (is_anywhere(one - is_better)) residual = begin_at(x.v);
    }
    Lanes active = select_lt(kStepTolerance, residual, good, zero), rises = zero;
    for (int iteration = 0; iteration < kStepIterations && is_anywhere(active); ++iteration) {
      calc_hessian();
      factorize_lanes(t, x.H, x.trial, &active);
      for (int i = 0; i < n; ++i) x.direction[i] = -x.gradient[i];
      solve_outer_lanes(t, x.H, x.direction);
      solve_inner_lanes(t, x.H, x.direction);
      Lanes first = zero;
      for (int i = 0; i < n; ++i) {
        x.direction[i] = select_lt(zero, active, x.direction[i], zero);
        first += x.direction[i]*x.gradient[i];
      }
      multiply_lanes(t, x.M, x.direction, x.Md);
      calc_rates(x.direction, x.du);
      // As in convex_step.hpp.
      const Lanes flat = kStepSlope*abs_(first);
      Lanes length = one, low = zero, high = infinity, slope_low = first, slope_high = infinity, next;
      Lanes searching = select_lt(first, zero, active, zero);
      for (int trial = 0; ; ++trial) {
        next = try_length(length);
        if (trial == kStepTrials || !is_anywhere(searching)) break;
        Lanes slope = zero;
        for (int i = 0; i < n; ++i) slope += x.direction[i]*x.gradient[i];
        searching = select_lt(flat, abs_(slope), searching, zero);
        // Accept the step: the function still falls at the end of Newton's step.
        searching = select_lt(slope, zero, select_lt(length, one, searching, zero), searching);
        if (!is_anywhere(searching)) break;
        const Lanes width = high - low, is_high = select_lt(zero, slope, one, zero);
        const Lanes behind = (length*slope_high - high*slope)/(slope_high - slope);
        high = select_lt(zero, is_high, length, high);
        slope_high = select_lt(zero, is_high, slope, slope_high);
        low = select_lt(zero, is_high, low, length);
        slope_low = select_lt(zero, is_high, slope_low, slope);
        const Lanes middle = 0.5*(low + high), between = (low*slope_high - high*slope_low)/(slope_high - slope_low);
        Lanes other = select_lt(low, between, select_lt(between, high, between, middle), middle);
        other = select_lt(zero, is_high, select_lt(low, behind, select_lt(behind, high, behind, other), other), other);
        if (trial > 1) other = select_lt(0.5*width, high - low, middle, other);
        searching = select_lt(low, other, select_lt(other, high, searching, zero), zero);
        length = select_lt(zero, searching, other, length);
        if (!is_anywhere(searching)) break;
      }
      // The last digits may not improve.
      rises += select_lt(residual, kStepPoorRounding, select_lt(next, residual, zero, active), zero);
      const Lanes least = select_lt(rises, Lanes(kStepRises), Lanes(kStepRounding), Lanes(kStepPoorRounding));
      Lanes ends = select_lt(residual, least, select_lt(residual, 2.0*next, active, zero), zero), moved = zero;
      const Lanes worse = select_lt(next, residual, zero, ends);
      for (int i = 0; i < n; ++i) {
        moved += abs_(x.trial[i] - x.v[i]);
        x.v[i] = select_lt(zero, worse, x.v[i], x.trial[i]);
        x.Mv[i] = x.Mtrial[i];
      }
      for (int i = 0; i < 3*x.num_points; ++i) x.u[i] = x.utrial[i];
      residual = next;
      ends = select_lt(zero, moved, ends, active);
      active = select_lt(kStepTolerance, residual, active - ends, zero);
    }
    good = select_lt(zero, active, zero, select_lt(kStepPoorRounding, residual, zero, good));
  }

 private:
  const LaneProblem& x;

  Lanes begin_at(const Lanes* v) {
    multiply_lanes(x.tree, x.M, v, x.Mv);
    calc_rates(v, x.u);
    return calc_gradient(v, x.Mv, x.u);
  }

  // The velocities of the points, (num_points, 3).
  void calc_rates(const Lanes* v, Lanes* u) const {
    const Branches& t = x.tree;
    for (int k = 0; k < x.num_points; ++k, u += 3) {
      Lanes u0 = 0.0, u1 = 0.0, u2 = 0.0;
      const int dof = x.point_dofs[k];
      const int length = dof < 0 ? 0 : t.length[dof];
      const int* dofs = dof < 0 ? t.dofs : t.dofs + t.row[dof];
      const Lanes* rows = x.points + 3*std::ptrdiff_t(t.n)*k;
      for (int i = 0; i < length; ++i) {
        u0 += rows[i]*v[dofs[i]];
        u1 += rows[t.n + i]*v[dofs[i]];
        u2 += rows[2*t.n + i]*v[dofs[i]];
      }
      u[0] = u0;
      u[1] = u1;
      u[2] = u2;
    }
  }

  Lanes try_length(const Lanes& length) {
    for (int i = 0; i < x.tree.n; ++i) {
      x.trial[i] = x.v[i] + length*x.direction[i];
      x.Mtrial[i] = x.Mv[i] + length*x.Md[i];
    }
    for (int i = 0; i < 3*x.num_points; ++i) x.utrial[i] = x.u[i] + length*x.du[i];
    return calc_gradient(x.trial, x.Mtrial, x.utrial);
  }

  // The gradient at v, and second derivatives of all but M. Returns the size of the gradient relative to its terms.
  Lanes calc_gradient(const Lanes* v, const Lanes* Mv, const Lanes* u) {
    const int n = x.tree.n;
    const Lanes zero = 0.0;
    Lanes* slopes = x.diagonal;
    for (int i = 0; i < n; ++i) {
      x.total[i] = x.given[i];
      slopes[i] = zero;
    }
    for (int i = 0; i < x.num_servos; ++i) {
      const int k = x.servo_dofs[i];
      const Lanes wanted = x.effort[i] - x.effort_slope[i]*v[k];
      x.total[k] += clip_lanes(wanted, -x.effort_limit[i], x.effort_limit[i]);
      slopes[k] += select_lt(abs_(wanted), x.effort_limit[i], x.h*x.effort_slope[i], zero);
    }
    for (int i = 0; i < n; ++i) {
      const Lanes total = x.total[i], beyond = positive_lanes(v[i] - x.upper[i]) - positive_lanes(x.lower[i] - v[i]);
      const Lanes pull = x.pull_slope[i]*(v[i] - x.back[i]), stick = x.friction_slope[i]*v[i];
      const Lanes limit = x.limit_slope[i]*beyond + clip_lanes(pull, x.least_pull[i], x.most_pull[i]);
      const Lanes friction = clip_lanes(stick, -x.friction[i], x.friction[i]);
      const Lanes drive = x.h*clip_lanes(total, x.effort_lower[i], x.effort_upper[i]), linear = x.linear[i]*v[i];
      x.gradient[i] = Mv[i] - x.p[i] + linear + limit + friction - drive;
      x.size[i] = abs_(Mv[i]) + abs_(x.p[i]) + abs_(linear) + abs_(limit) + abs_(friction) + abs_(drive);
      slopes[i] = select_lt(
        x.effort_lower[i], total, select_lt(total, x.effort_upper[i], slopes[i], zero), zero);
      // Also exactly on a limit: a line search may end there.
      const Lanes is_free = select_lt(x.lower[i], v[i], select_lt(v[i], x.upper[i], Lanes(1.0), zero), zero);
      slopes[i] += x.linear[i] + select_lt(zero, is_free, zero, x.limit_slope[i]);
      slopes[i] += select_lt(x.least_pull[i], pull, select_lt(pull, x.most_pull[i], x.pull_slope[i], zero), zero);
      slopes[i] += select_lt(abs_(stick), x.friction[i], x.friction_slope[i], zero);
    }
    for (int k = 0; k < x.num_points; ++k) touch(k, u + 3*k);
    Lanes error = zero, size = zero;
    for (int i = 0; i < n; ++i) {
      error += x.gradient[i]*x.gradient[i]*x.scale[i];
      size += x.size[i]*x.size[i]*x.scale[i];
    }
    return sqrt_(error)/larger_lanes(sqrt_(size), 1e-300);
  }

  // Adds the impulses of a point with velocity u, (3,), to the gradient, and its second derivatives.
  void touch(int k, const Lanes* u) {
    const Branches& t = x.tree;
    const Lanes zero = 0.0, one = 1.0;
    const Lanes elastic = x.h*x.stiffness[k]*positive_lanes(x.depth[k] - x.h*u[2]);
    const Lanes damped = positive_lanes(one - x.dissipation[k]*u[2]);
    const Lanes speed = sqrt_(u[0]*u[0] + u[1]*u[1]), slip = x.point_slope[k]*speed;
    const Lanes inverse = one/select_lt(zero, speed, speed, one);
    const Lanes across = select_lt(slip, x.point_friction[k], x.point_slope[k], x.point_friction[k]*inverse);
    const Lanes change = select_lt(slip, x.point_friction[k], zero, -across*inverse*inverse);
    Lanes* to = x.curvature + 4*k;
    to[0] = across + change*u[0]*u[0];
    to[1] = change*u[0]*u[1];
    to[2] = across + change*u[1]*u[1];
    to[3] = select_lt(zero, elastic, x.h*x.h*x.stiffness[k]*damped, zero)
      + select_lt(zero, damped, elastic*x.dissipation[k], zero);
    const Lanes f0 = -across*u[0], f1 = -across*u[1], f2 = elastic*damped;
    if (x.point_dofs[k] < 0 || !is_anywhere(across + f2)) return;
    const int* dofs = t.dofs + t.row[x.point_dofs[k]];
    const Lanes* rows = x.points + 3*std::ptrdiff_t(t.n)*k;
    for (int i = 0; i < t.length[x.point_dofs[k]]; ++i) {
      const Lanes a = rows[i]*f0, b = rows[t.n + i]*f1, c = rows[2*t.n + i]*f2;
      x.gradient[dofs[i]] -= a + b + c;
      x.size[dofs[i]] += abs_(a) + abs_(b) + abs_(c);
    }
  }

  // The trial point at which the last gradient was computed.
  void calc_hessian() {
    const Branches& t = x.tree;
    for (int k = 0; k < t.n; ++k) {
      const int row = t.row[k];
      x.H[row] = x.M[row] + x.diagonal[k];
      for (int i = 1; i < t.length[k]; ++i) x.H[row + i] = x.M[row + i];
    }
    for (int k = 0; k < x.num_points; ++k) {
      const Lanes* G = x.curvature + 4*k;
      if (x.point_dofs[k] < 0 || !is_anywhere(abs_(G[0]) + abs_(G[2]) + abs_(G[3]))) continue;
      const int* dofs = t.dofs + t.row[x.point_dofs[k]];
      const int length = t.length[x.point_dofs[k]];
      const Lanes *J0 = x.points + 3*std::ptrdiff_t(t.n)*k, *J1 = J0 + t.n, *J2 = J1 + t.n;
      const Lanes g0 = G[0], g1 = G[1], g2 = G[2], g3 = G[3];
      for (int i = 0; i < length; ++i) {
        const Lanes a = g0*J0[i] + g1*J1[i], b = g1*J0[i] + g2*J1[i], c = g3*J2[i];
        Lanes* row = x.H + t.row[dofs[i]];
        for (int j = i; j < length; ++j) row[j - i] += a*J0[j] + b*J1[j] + c*J2[j];
      }
    }
  }
};

static inline void minimize_lanes(const LaneProblem& problem, const Lanes* other, Lanes& good) {
  LaneSolver(problem).minimize(other, good);
}

}  // namespace MBT_NS
