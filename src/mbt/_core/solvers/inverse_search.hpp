// Levenberg-Marquardt steps to positions that meet goals, one attempt in each lane.
//
// Damping in proportion to the error: T. Sugihara, "Solvability-Unconcerned Inverse Kinematics by the Levenberg-Marquardt
// Method", IEEE T-RO 27 (2011). A dof at a limit that its gradient points beyond leaves the step: D. P. Bertsekas,
// "Projected Newton Methods", SIAM J. Control Optim. 20 (1982). An attempt that no longer gets better makes room for the
// next one. No lane reads another: an attempt ends the same whatever runs beside it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

#include "solvers/damped_steps.hpp"

namespace MBT_NS {

struct InverseProblem {
  const void* owner;              // for the functions below
  int nq, num_columns, num_rows;  // rows in multiples of three
  int num_goal;                   // numbers of a goal
  int num_blocks;                 // orientations: not q + v
  const int* position;            // (num_columns,) of the coordinate, -1 where its rate is not v
  const double* lower;            // (num_columns,)
  const double* upper;
  const double* center;           // (num_columns,) of seeds, NaN: that of the start
  const double* spread;           // (num_columns,) half the width of the interval of seeds
  const double* turn;             // (num_columns,) 2 pi where positions repeat, else 0
  const double* lowest;           // (nq,) -inf of what is locked
  const double* highest;
  int num_errors;                 // rows of tasks; others are those of constraints
  double rotation_tolerance, distance_tolerance, constraint_tolerance;
  double posture_weight;
  bool is_secondary;              // some rows never cost success
  int max_steps;
  std::ptrdiff_t num_work;        // Lanes, for `evaluate`
  // Weighted errors e (rows) and their derivatives J (columns, rows) with respect to -v; `z` (columns), the way to the
  // posture, or null. Without J errors have no weights. Returns the largest error that counts, squared, its tolerance
  // being 1. What is always zero of J and e is not written.
  Lanes (*evaluate)(
      const InverseProblem* x, const Lanes* q, const Lanes* goal, const Lanes* secondary, Lanes* work, Lanes* e, Lanes* J,
      Lanes* z);
  // q moved along d (columns) into y, within limits.
  void (*move)(const InverseProblem* x, const Lanes* q, const Lanes* d, Lanes* y);
  // How far a is from b, squared.
  double (*distance)(const InverseProblem* x, const double* a, const double* b);
};

struct Attempt {
  double cost;  // sum of squares of weighted errors, before the last step
  int steps;
  bool met;
};

// What the lanes of a thread hold between steps.
class Flight {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

 public:
  static std::ptrdiff_t count_memory(const InverseProblem* x) {
    const std::ptrdiff_t n = x->num_columns, r = x->num_rows;
    return 3 * static_cast<std::ptrdiff_t>(x->nq) + x->num_goal + 3 * n + r * n + r + r * r + r + x->num_work + 2;
  }

  Flight(const InverseProblem* problem, Lanes* memory) : x(problem) {
    const int n = x->num_columns, r = x->num_rows;
    q = memory;
    base = q + x->nq;
    moved = base + x->nq;
    goal = moved + x->nq;
    d = goal + x->num_goal;
    new_d = d + n;
    z = new_d + n;
    J = z + n;
    e = J + r * n;
    K = e + r;
    y = K + r * r;
    secondary = y + r;
    work = secondary + 1;
    for (int l = 0; l < MBT_W; ++l) item[l] = -1;
    for (std::ptrdiff_t k = 0; k < count_memory(x); ++k) memory[k] = Lanes(0.0);
    *secondary = Lanes(1.0);
  }

  bool is_idle() const {
    for (int l = 0; l < MBT_W; ++l)
      if (item[l] >= 0) return false;
    return true;
  }

  // Begin attempt `which` in a lane. `patient`: it goes on where others would count as stalled, and longer.
  void begin(int l, std::ptrdiff_t which, const double* from, const double* to, bool patient) {
    for (int k = 0; k < x->nq; ++k) set_lane(q[k], l, from[k]);
    for (int k = 0; k < x->num_goal; ++k) set_lane(goal[k], l, to[k]);
    set_lane(*secondary, l, 1.0);
    item[l] = which;
    steps[l] = 0;
    since[l] = 0;
    is_patient[l] = patient;
    cost[l] = checkpoint[l] = std::numeric_limits<double>::infinity();
  }

  // Fill the whole register with the state of a lane, where nothing else runs: numbers that are no NaN.
  void fill(int l) {
    for (int k = 0; k < x->nq; ++k) q[k] = Lanes(lane(q[k], l));
    for (int k = 0; k < x->num_goal; ++k) goal[k] = Lanes(lane(goal[k], l));
  }

  // One step of all lanes. Which of them are done, as bits; their positions are in `q`.
  unsigned step(bool polish) {
    const int n = x->num_columns, r = x->num_rows;
    Lanes* posture = x->posture_weight != 0.0 ? z : nullptr;
    const Lanes error = x->evaluate(x, q, goal, secondary, work, e, J, posture);
    Lanes now(0.0);
    for (int i = 0; i < r; ++i) now += e[i] * e[i];
    Lanes damping = now * 1e-2 + Lanes(kLeastDamping);
    if (posture != nullptr) {
      const Lanes w = *secondary * *secondary * (x->posture_weight * x->posture_weight);
      Lanes squared(0.0);
      for (int k = 0; k < n; ++k) squared += z[k] * z[k];
      now += w * squared;
      const Lanes share = w / (damping + w);
      for (int k = 0; k < n; ++k) z[k] = z[k] * share;
      damping += w;
    }
    unsigned done = 0, met = 0, back = 0;
    for (int l = 0; l < MBT_W; ++l) {
      if (item[l] < 0) continue;
      const double c = lane(now, l), before = cost[l];
      const bool is_met = lane(error, l) < 0.9;
      const bool settled = before - c <= 1e-4 * c || c < 1e-20;
      const bool is_last = ++steps[l] >= static_cast<std::ptrdiff_t>(x->max_steps) * (is_patient[l] ? kPatience : 1);
      if (is_met && (!x->is_secondary || settled || is_last)) {
        cost[l] = c;
        done |= 1u << l;
        met |= 1u << l;
        continue;
      }
      const bool worse = !(c <= before) && steps[l] > 1;
      if (!worse) cost[l] = c;
      if (!(c < std::numeric_limits<double>::infinity()) || is_last) {
        done |= 1u << l;
        if (worse) back |= 1u << l;  // and no step
        continue;
      }
      if (worse) back |= 1u << l;
      const int window = is_patient[l] ? kPatientWindow : kWindow;
      if (++since[l] >= window) {
        const double ratio = is_patient[l] ? kPatientRatio : kRatio;
        const double expected = cost[l] - kOutlook * (checkpoint[l] - cost[l]);
        if (!(cost[l] < ratio * checkpoint[l]) || expected > lowest) {
          const double s = lane(*secondary, l);
          if (x->is_secondary && s > 1e-6 && !is_met) {
            set_lane(*secondary, l, 0.1 * s);
            cost[l] = checkpoint[l] = std::numeric_limits<double>::infinity();
          } else {
            done |= 1u << l;
            continue;
          }
        }
        checkpoint[l] = cost[l];
        since[l] = 0;
      }
    }
    met_ = met;
    if (done == running() && (!polish || met == 0)) {
      restore(back);
      return done;
    }

    // Dofs at a limit that the gradient points beyond.
    for (int k = 0; k < n; ++k) {
      const int i = x->position[k];
      if (i < 0 || !(x->lower[k] > -kInfinity || x->upper[k] < kInfinity)) continue;
      const Lanes below = q[i] - Lanes(x->lower[k]), above = Lanes(x->upper[k]) - q[i];
      const Lanes inside = select_lt(below, above, below, above);
      if (!any_not_within(select_lt(Lanes(0.0), inside, Lanes(0.0), Lanes(1.0)).r, 0.0)) continue;
      Lanes g = posture != nullptr ? z[k] * damping : Lanes(0.0);
      for (int j = 0; j < r; ++j) g += J[r * k + j] * e[j];
      const Lanes room = select_lt(g, Lanes(0.0), below, above);
      const Lanes keep = select_lt(Lanes(0.0), room, Lanes(1.0), Lanes(0.0));
      for (int j = 0; j < r; ++j) J[r * k + j] = J[r * k + j] * keep;
      if (posture != nullptr) z[k] = z[k] * keep;
    }
    solve_damped(r, n, J, e, damping, posture, K, y, new_d);
    Lanes largest(1e-300);
    for (int k = 0; k < n; ++k) {
      const Lanes size = abs_(new_d[k]);
      largest = select_lt(largest, size, size, largest);
    }
    const Lanes scale = select_lt(Lanes(kLargestStep), largest, Lanes(kLargestStep) / largest, Lanes(1.0));
    // A step that made matters worse is taken again, shorter, from where it began. The last step of an attempt that has met
    // its goal, if it is short, makes its error smaller still.
    double numbers[2 * MBT_W];
    for (int l = 0; l < MBT_W; ++l) {
      const bool is_done = done >> l & 1u, is_back = back >> l & 1u;
      numbers[l] = is_back;
      numbers[MBT_W + l] = 1.0;
      if (is_done) numbers[MBT_W + l] = is_back ? 2.0 : met >> l & 1u && polish && lane(largest, l) < kShortStep ? 1.0 : 0.0;
    }
    const Lanes again(load(numbers)), source(load(numbers + MBT_W));
    const Lanes half(0.5);
    for (int k = 0; k < n; ++k) d[k] = select_lt(half, again, d[k] * kShorter, new_d[k] * scale);
    for (int k = 0; k < x->nq; ++k) base[k] = select_lt(half, again, base[k], q[k]);
    x->move(x, base, d, moved);
    for (int k = 0; k < x->nq; ++k)
      q[k] = select_lt(half, source, select_lt(source, Lanes(1.5), moved[k], base[k]), q[k]);
    return done;
  }

  Attempt end(int l) {
    const Attempt result = {cost[l], steps[l], (met_ >> l & 1u) != 0};
    item[l] = -1;
    return result;
  }

  void get(int l, double* to) const {
    for (int k = 0; k < x->nq; ++k) to[k] = lane(q[k], l);
  }

  std::ptrdiff_t item[MBT_W];  // what runs in each lane; -1: nothing
  double lowest = kInfinity;   // cost that others have reached: attempts that will not get there are stalled

 private:
  static constexpr double kLeastDamping = 1e-12;
  static constexpr double kLargestStep = 0.5;
  static constexpr double kShortStep = 0.02;
  static constexpr double kShorter = 0.3;
  static constexpr int kWindow = 5, kPatientWindow = 12, kPatience = 4;
  static constexpr double kRatio = 0.7, kPatientRatio = 1.0 - 1e-9;
  static constexpr double kOutlook = 4.0;  // windows, each of which lessens the cost by as much as the last one

  unsigned running() const {
    unsigned bits = 0;
    for (int l = 0; l < MBT_W; ++l)
      if (item[l] >= 0) bits |= 1u << l;
    return bits;
  }

  void restore(unsigned back) {
    for (int l = 0; l < MBT_W; ++l)
      if (back >> l & 1u)
        for (int k = 0; k < x->nq; ++k) set_lane(q[k], l, lane(base[k], l));
  }

  const InverseProblem* x;
  Lanes *q, *base, *moved, *goal, *d, *new_d, *z, *J, *e, *K, *y, *secondary, *work;
  double cost[MBT_W], checkpoint[MBT_W];
  int steps[MBT_W], since[MBT_W];
  bool is_patient[MBT_W];
  unsigned met_ = 0;
};

}  // namespace MBT_NS
