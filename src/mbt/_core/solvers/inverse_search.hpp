// Levenberg-Marquardt steps to positions that meet goals, one attempt in each lane.
//
// Damping in proportion to the error: T. Sugihara, "Solvability-Unconcerned Inverse Kinematics by the Levenberg-Marquardt
// Method", IEEE T-RO 27 (2011). A dof at a limit that its gradient points beyond leaves the step: D. P. Bertsekas,
// "Projected Newton Methods", SIAM J. Control Optim. 20 (1982). An attempt that no longer improves makes room for the
// next one. No lane reads another: the result of an attempt does not depend on what runs beside it.
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
  int num_blocks;                 // orientations, which do not move as q + v
  const int* position;            // (num_columns,) of the coordinate, -1 where its rate is not v
  const double* lower;            // (num_columns,)
  const double* upper;
  const double* center;           // (num_columns,) of seeds, NaN: that of the start
  const double* spread;           // (num_columns,) half the width of the interval of seeds
  const double* turn;             // (num_columns,) 2 pi where positions repeat, else 0
  const double* lowest;           // (nq,) -inf where locked
  const double* highest;
  int num_errors;                 // rows of tasks; the others belong to constraints
  double rotation_tolerance, distance_tolerance, constraint_tolerance;
  double posture_weight;
  bool is_secondary;              // some rows never cost success
  int max_steps;
  std::ptrdiff_t num_work;        // Lanes, for `evaluate`
  // Computes weighted errors e (rows) and their derivatives J (columns, rows) with respect to -v; and, unless null, the
  // way `z` (columns) to the posture. If J is null, errors have no weights. Returns the square of the largest error
  // that counts, in units of its tolerance. Entries of J and e that are always zero are not written.
  Lanes (*evaluate)(
      const InverseProblem* x, const Lanes* q, const Lanes* goal, const Lanes* secondary, Lanes* work, Lanes* e, Lanes* J,
      Lanes* z);
  // Moves q along d (columns), within limits, and writes y.
  void (*move)(const InverseProblem* x, const Lanes* q, const Lanes* d, Lanes* y);
  // The squared distance from a to b.
  double (*distance)(const InverseProblem* x, const double* a, const double* b);
};

struct Attempt {
  double cost;  // sum of squared weighted errors before the last step
  int steps;
  bool met;
};

// The attempts in the lanes of a thread.
class Flight {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

 public:
  static std::ptrdiff_t count_memory(const InverseProblem* x) {
    const std::ptrdiff_t n = x->num_columns, r = x->num_rows;
    return 3 * static_cast<std::ptrdiff_t>(x->nq) + x->num_goal + 3 * n + r * n + r + r * r + r + x->num_work + 6;
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
    cost = secondary + 1;
    steps = cost + 1;
    last_step = steps + 1;
    since = last_step + 1;
    window = since + 1;
    work = window + 1;
    for (std::ptrdiff_t k = 0; k < count_memory(x); ++k) memory[k] = Lanes(0.0);
    *secondary = Lanes(1.0);
  }

  bool is_idle() const { return running == 0; }
  bool runs(int l) const { return running >> l & 1u; }
  void stop() { running = 0; }

  // Begins attempt `which` in a lane. `patient`: it goes on where others count as stalled, and for more steps.
  void begin(int l, std::ptrdiff_t which, const double* from, const double* to, bool patient) {
    for (int k = 0; k < x->nq; ++k) set_lane(q[k], l, from[k]);
    for (int k = 0; k < x->num_goal; ++k) set_lane(goal[k], l, to[k]);
    set_lane(*secondary, l, 1.0);
    set_lane(*cost, l, kInfinity);
    set_lane(*steps, l, 0.0);
    set_lane(*last_step, l, static_cast<double>(x->max_steps) * (patient ? kPatience : 1));
    set_lane(*since, l, 0.0);
    set_lane(*window, l, patient ? kPatientWindow : kWindow);
    item[l] = which;
    running |= 1u << l;
    is_patient[l] = patient;
    checkpoint[l] = kInfinity;
  }

  // Fills the whole register with the state of the only running lane, so that no lane holds NaN.
  void fill(int l) {
    for (int k = 0; k < x->nq; ++k) q[k] = Lanes(lane(q[k], l));
    for (int k = 0; k < x->num_goal; ++k) goal[k] = Lanes(lane(goal[k], l));
  }

  // Takes one step in all lanes. Returns which of them are done, as bits; their positions are in `q`.
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
    // In most lanes the attempt goes on, from its new positions or from the previous ones.
    const Lanes before = *cost;
    *steps += Lanes(1.0);
    *since += Lanes(1.0);
    *cost = select_lt(before, now, before, now);
    const unsigned goes_on = less_bits(now.r, Lanes(kInfinity).r) & less_bits(steps->r, last_step->r) &
                             less_bits(since->r, window->r) & ~less_bits(error.r, Lanes(kMet).r);
    unsigned done = 0, met = 0, back = running & goes_on & less_bits(before.r, now.r);
    for (unsigned l = 0, others = running & ~goes_on; others != 0; ++l, others >>= 1) {
      if (!(others & 1u)) continue;
      const unsigned bit = 1u << l;
      const double c = lane(now, l);
      const bool is_met = lane(error, l) < kMet;
      const bool settled = lane(before, l) - c <= 1e-4 * c || c < 1e-20;
      const bool is_last = !(lane(*steps, l) < lane(*last_step, l));
      if (is_met && (!x->is_secondary || settled || is_last)) {
        set_lane(*cost, l, c);
        done |= bit;
        met |= bit;
        continue;
      }
      const bool worse = !(c <= lane(before, l)) && lane(*steps, l) > 1.0;
      if (worse) back |= bit;
      set_lane(*cost, l, worse ? lane(before, l) : c);
      if (!(c < kInfinity) || is_last) {
        done |= bit;  // without a step
        continue;
      }
      if (lane(*since, l) < lane(*window, l)) continue;
      const double least = lane(*cost, l), ratio = is_patient[l] ? kPatientRatio : kRatio;
      const double expected = least - kOutlook * (checkpoint[l] - least);
      if (!(least < ratio * checkpoint[l]) || expected > lowest) {
        const double s = lane(*secondary, l);
        if (!x->is_secondary || s <= 1e-6 || is_met) {
          done |= bit;
          continue;
        }
        set_lane(*secondary, l, 0.1 * s);
        set_lane(*cost, l, kInfinity);
      }
      checkpoint[l] = lane(*cost, l);
      set_lane(*since, l, 0.0);
    }
    met_ = met;
    if (done == running && (!polish || met == 0)) {
      restore(back);
      return done;
    }

    // Dofs at a limit that the gradient points beyond.
    for (int k = 0; k < n; ++k) {
      const int i = x->position[k];
      if (i < 0) continue;
      const Lanes below = q[i] - Lanes(x->lower[k]), above = Lanes(x->upper[k]) - q[i];
      const Lanes inside = select_lt(below, above, below, above);
      if ((running & ~less_bits(Lanes(0.0).r, inside.r)) == 0) continue;
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
    // A step that increased the cost is repeated, shorter, from where it began. The last step of an attempt that has
    // met its goal, if it is short, reduces its error further.
    const unsigned polished = polish ? met & ~back : 0;
    const Lanes again(keep_lanes(back, 1.0)), returns(keep_lanes(back & done, 1.0));
    const Lanes moves = select_lt(
        largest, Lanes(kShortStep), Lanes(keep_lanes(~done | polished, 1.0)), Lanes(keep_lanes(~done, 1.0)));
    const Lanes half(0.5);
    for (int k = 0; k < n; ++k) d[k] = select_lt(half, again, d[k] * kShorter, new_d[k] * scale);
    for (int k = 0; k < x->nq; ++k) base[k] = select_lt(half, again, base[k], q[k]);
    x->move(x, base, d, moved);
    for (int k = 0; k < x->nq; ++k)
      q[k] = select_lt(half, returns, base[k], select_lt(half, moves, moved[k], q[k]));
    return done;
  }

  Attempt end(int l) {
    const Attempt result = {lane(*cost, l), static_cast<int>(lane(*steps, l)), (met_ >> l & 1u) != 0};
    running &= ~(1u << l);
    return result;
  }

  void get(int l, double* to) const {
    for (int k = 0; k < x->nq; ++k) to[k] = lane(q[k], l);
  }

  std::ptrdiff_t item[MBT_W];  // what runs in each lane
  double lowest = kInfinity;   // cost that others have reached: attempts that will not reach it are stalled

 private:
  static constexpr double kLeastDamping = 1e-12;
  static constexpr double kMet = 0.9;  // of the squared error that a goal allows
  static constexpr double kLargestStep = 0.5;
  static constexpr double kShortStep = 0.02;
  static constexpr double kShorter = 0.3;
  static constexpr int kWindow = 5, kPatientWindow = 12, kPatience = 4;
  static constexpr double kRatio = 0.7, kPatientRatio = 1.0 - 1e-9;
  static constexpr double kOutlook = 4.0;  // windows, each assumed to reduce the cost by as much as the last one

  void restore(unsigned back) {
    for (int l = 0; l < MBT_W; ++l)
      if (back >> l & 1u)
        for (int k = 0; k < x->nq; ++k) set_lane(q[k], l, lane(base[k], l));
  }

  const InverseProblem* x;
  Lanes *q, *base, *moved, *goal, *d, *new_d, *z, *J, *e, *K, *y, *secondary, *work;
  Lanes *cost, *steps, *last_step, *since, *window;  // of attempts; numbers of steps, the latter two since `checkpoint`
  double checkpoint[MBT_W];                          // cost at that time
  bool is_patient[MBT_W];
  unsigned running = 0, met_ = 0;  // lanes, as bits
};

}  // namespace MBT_NS
