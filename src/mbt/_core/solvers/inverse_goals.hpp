// The attempts made for a goal, and the choice of the answer among their results.
#pragma once

#include <algorithm>

#include "solvers/inverse_search.hpp"

namespace MBT_NS {

static const double kNearReach = 0.3;
static const int kMostCandidates = 32;  // results of attempts that are improved where none meets the goal

// The start of attempt `which`: number 0 is `start` itself.
static inline void set_seed(
    const InverseProblem* x, const double* start, std::uint64_t key, std::ptrdiff_t which, Lanes* memory, double* seed) {
  for (int i = 0; i < x->nq; ++i) seed[i] = start[i];
  if (which == 0) return;
  const std::uint64_t stream = static_cast<std::uint64_t>(which);
  const double reach = which % 4 == 0 ? kNearReach : 1.0;
  for (int k = 0; k < x->num_columns; ++k) {
    const double u = 2.0 * random_number(key, stream, k) - 1.0;
    const int i = x->position[k];
    if (i < 0) {
      memory[k] = Lanes(reach * x->spread[k] * u);
      continue;
    }
    memory[k] = Lanes(0.0);
    const double center = std::isnan(x->center[k]) ? start[i] : x->center[k];
    const double there = start[i] + reach * (center + x->spread[k] * u - start[i]);
    seed[i] = there < x->lower[k] ? x->lower[k] : there > x->upper[k] ? x->upper[k] : there;
  }
  if (x->num_blocks == 0) return;
  Lanes* from = memory + x->num_columns;
  for (int i = 0; i < x->nq; ++i) from[i] = Lanes(seed[i]);
  x->move(x, from, memory, from + x->nq);
  for (int i = 0; i < x->nq; ++i) seed[i] = lane(from[x->nq + i], 0);
}

// Moves positions by whole turns, as near to the start as limits allow.
static inline void unwind(const InverseProblem* x, const double* start, double* q) {
  for (int k = 0; k < x->num_columns; ++k) {
    if (x->turn[k] == 0.0) continue;
    const int i = x->position[k];
    double turns = std::nearbyint((start[i] - q[i]) / x->turn[k]);
    for (; turns != 0.0; turns += turns > 0.0 ? -1.0 : 1.0) {
      const double there = q[i] + turns * x->turn[k];
      if (there >= x->lower[k] && there <= x->upper[k]) {
        q[i] = there;
        break;
      }
    }
  }
}

// The solver of one thread, with its memory.
class InverseSolver {
 public:
  static std::ptrdiff_t count_memory(const InverseProblem* x) {
    return Flight::count_memory(x) + 4 * static_cast<std::ptrdiff_t>(x->nq) + x->num_columns + x->num_goal + x->num_rows +
           x->num_work + kMostCandidates / MBT_W * static_cast<std::ptrdiff_t>(x->nq);
  }

  InverseSolver(const InverseProblem* problem, Lanes* memory) : x(problem), flight(problem, memory) {
    lanes = memory + Flight::count_memory(x);
    places = lanes + x->num_columns + 2 * x->nq;
    goals_of_places = places + x->nq;
    errors_of_places = goals_of_places + x->num_goal;
    work = errors_of_places + x->num_rows;
    candidates = reinterpret_cast<double*>(work + x->num_work);
    seed = candidates + kMostCandidates * x->nq;
  }

  // Makes one attempt per goal from its start, many at once. Goals that are not met are left to `search`.
  void try_starts(
      std::ptrdiff_t begin, std::ptrdiff_t end, const double* goals, std::ptrdiff_t goal_stride, const double* starts,
      std::ptrdiff_t start_stride, double* q, unsigned char* met, int* steps, double* errors) {
    std::ptrdiff_t next = begin;
    for (;;) {
      for (int l = 0; l < MBT_W; ++l) {
        if (flight.runs(l) || next == end) continue;
        flight.begin(l, next, starts + start_stride * next, goals + goal_stride * next, false);
        ++next;
      }
      if (flight.is_idle()) break;
      unsigned done = flight.step(true);
      for (int l = 0; done != 0; ++l, done >>= 1) {
        if (!(done & 1u)) continue;
        const std::ptrdiff_t i = flight.item[l];
        double* to = q + x->nq * i;
        flight.get(l, to);
        const Attempt attempt = flight.end(l);
        met[i] = attempt.met;
        steps[i] = attempt.steps;
        unwind(x, starts + start_stride * i, to);
      }
    }
    verify_all(begin, end, goals, goal_stride, q, met, errors);
  }

  // Clears `met` where positions do not meet their goals within all limits; computes all errors.
  void verify_all(
      std::ptrdiff_t begin, std::ptrdiff_t end, const double* goals, std::ptrdiff_t goal_stride, const double* q,
      unsigned char* met, double* errors) {
    for (std::ptrdiff_t i = begin; i < end; i += MBT_W) {
      const int count = end - i < MBT_W ? static_cast<int>(end - i) : MBT_W;
      const unsigned good = verify(count, q + x->nq * i, goals + goal_stride * i, goal_stride, errors + x->num_errors * i);
      for (int l = 0; l < count; ++l) met[i + l] = met[i + l] && (good >> l & 1u);
    }
  }

  // Makes attempts for one goal until some meet it: the nearest of these to the start wins, else the best, improved.
  bool search(
      const double* goal, const double* start, std::ptrdiff_t seeds, std::uint64_t key, double* q, int* steps,
      double* errors) {
    begin_search(start, q, steps);
    while (!search_on(goal, start, seeds, key, std::numeric_limits<int>::max(), q, steps)) {
    }
    return end_search(goal, start, q, steps, errors);
  }

  // The same in three parts; the second is repeated until it returns true.
  void begin_search(const double* start, double* q, int* steps) {
    next_seed = rounds = 0;
    last_round = std::numeric_limits<std::ptrdiff_t>::max();
    nearest = std::numeric_limits<double>::infinity();
    found = false;
    first_runs = true;
    num_candidates = 0;
    for (int i = 0; i < x->nq; ++i) q[i] = start[i];
    *steps = 0;
  }

  bool search_on(
      const double* goal, const double* start, std::ptrdiff_t seeds, std::uint64_t key, int most, double* q, int* steps) {
    for (; most > 0; --most) {
      for (int l = 0; l < MBT_W; ++l)
        if (!flight.runs(l) && next_seed < seeds && !found) {
          set_seed(x, start, key, next_seed, lanes, seed);
          flight.begin(l, next_seed++, seed, goal, false);
        }
      if (flight.is_idle() || (rounds >= last_round && !first_runs)) return true;
      unsigned done = flight.step(true);
      ++rounds;
      for (int l = 0; done != 0; ++l, done >>= 1) {
        if (!(done & 1u)) continue;
        const bool is_first = flight.item[l] == 0;
        if (is_first) first_runs = false;
        flight.get(l, seed);
        const Attempt attempt = flight.end(l);
        if (!(attempt.met && accept(seed, start, goal, nullptr))) {
          if (!found) add_candidate(attempt);
          continue;
        }
        // A solution from the start itself always wins.
        const double far = is_first ? -1.0 : x->distance(x, seed, start);
        if (!(far < nearest)) continue;
        nearest = far;
        if (!found) last_round = rounds + rounds / 2 + 2;
        found = true;
        if (is_first) last_round = rounds;
        *steps = attempt.steps;
        for (int i = 0; i < x->nq; ++i) q[i] = seed[i];
      }
    }
    return false;
  }

  bool end_search(const double* goal, const double* start, double* q, int* steps, double* errors) {
    flight.stop();
    if (!found) return improve(goal, start, q, steps, errors);
    return verify(1, q, goal, 0, errors) != 0;
  }

  // Makes attempts from seeds `begin` to `end`, each to its end.
  void try_all(
      const double* goal, const double* start, std::ptrdiff_t begin, std::ptrdiff_t end, std::uint64_t key, double* q,
      unsigned char* met) {
    std::ptrdiff_t next = begin;
    for (;;) {
      for (int l = 0; l < MBT_W; ++l)
        if (!flight.runs(l) && next < end) {
          set_seed(x, start, key, next, lanes, seed);
          flight.begin(l, next++, seed, goal, false);
        }
      if (flight.is_idle()) return;
      unsigned done = flight.step(true);
      for (int l = 0; done != 0; ++l, done >>= 1) {
        if (!(done & 1u)) continue;
        const std::ptrdiff_t i = flight.item[l];
        flight.get(l, q + x->nq * i);
        met[i] = flight.end(l).met && accept(q + x->nq * i, start, goal, nullptr);
      }
    }
  }

 private:
  // Keeps `seed`, where an attempt ended, if it is one of the best.
  void add_candidate(const Attempt& attempt) {
    if (!(attempt.cost < std::numeric_limits<double>::infinity())) return;
    int k = num_candidates;
    if (k < kMostCandidates) {
      ++num_candidates;
    } else {
      k = static_cast<int>(std::max_element(costs, costs + k) - costs);
      if (!(attempt.cost < costs[k])) return;
    }
    costs[k] = attempt.cost;
    steps_made[k] = attempt.steps;
    for (int i = 0; i < x->nq; ++i) candidates[x->nq * k + i] = seed[i];
  }

  // Goes on from the best results of attempts as long as they improve: which is best overall shows late.
  bool improve(const double* goal, const double* start, double* q, int* steps, double* errors) {
    double best = std::numeric_limits<double>::infinity();
    bool met = false;
    for (int left = num_candidates;;) {
      for (int l = 0; l < MBT_W; ++l) {
        if (flight.runs(l) || left == 0) continue;
        const bool was_idle = flight.is_idle();
        const int k = static_cast<int>(std::min_element(costs, costs + num_candidates) - costs);
        costs[k] = std::numeric_limits<double>::infinity();
        --left;
        flight.begin(l, k, candidates + x->nq * k, goal, true);
        if (was_idle) flight.fill(l);
      }
      if (flight.is_idle()) break;
      unsigned done = flight.step(true);
      for (int l = 0; done != 0; ++l, done >>= 1) {
        if (!(done & 1u)) continue;
        const std::ptrdiff_t k = flight.item[l];
        flight.get(l, seed);
        const Attempt attempt = flight.end(l);
        met = attempt.met && accept(seed, start, goal, nullptr);
        if (!met && !(attempt.cost < best)) continue;
        flight.lowest = best = attempt.cost;
        *steps = attempt.steps + steps_made[k];
        for (int i = 0; i < x->nq; ++i) q[i] = seed[i];
        if (met) break;
      }
      if (met) break;
    }
    flight.stop();
    flight.lowest = std::numeric_limits<double>::infinity();
    return accept(q, start, goal, errors) && met;
  }

  bool accept(double* q, const double* start, const double* goal, double* errors) {
    unwind(x, start, q);
    return verify(1, q, goal, 0, errors) != 0;
  }

  // Finds which of up to MBT_W positions meet their goals within all limits, as bits; and their errors.
  unsigned verify(int count, const double* q, const double* goals, std::ptrdiff_t goal_stride, double* errors) {
    unsigned good = 0;
    for (int l = 0; l < MBT_W; ++l) {
      const int from = l < count ? l : 0;
      for (int k = 0; k < x->nq; ++k) set_lane(places[k], l, q[x->nq * from + k]);
      for (int k = 0; k < x->num_goal; ++k) set_lane(goals_of_places[k], l, goals[goal_stride * from + k]);
    }
    const Lanes one(1.0);
    const Lanes worst = x->evaluate(x, places, goals_of_places, &one, work, errors_of_places, nullptr, nullptr);
    for (int l = 0; l < count; ++l) {
      bool is_good = lane(worst, l) <= 1.0;
      for (int k = 0; k < x->nq; ++k)
        is_good = is_good && x->lowest[k] <= q[x->nq * l + k] && q[x->nq * l + k] <= x->highest[k];
      if (is_good) good |= 1u << l;
      if (errors == nullptr) continue;
      for (int k = 0; k < x->num_errors; ++k) errors[x->num_errors * l + k] = lane(errors_of_places[k], l);
    }
    return good;
  }

  const InverseProblem* x;
  Flight flight;
  Lanes *lanes, *places, *goals_of_places, *errors_of_places, *work;
  double *candidates, *seed;
  double costs[kMostCandidates];
  int steps_made[kMostCandidates], num_candidates = 0;
  // The state of a search.
  std::ptrdiff_t next_seed = 0, rounds = 0, last_round = 0;
  double nearest = 0.0;
  bool found = false, first_runs = false;
};

}  // namespace MBT_NS
