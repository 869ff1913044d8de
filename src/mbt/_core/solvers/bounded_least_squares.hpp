// Least squares in a box, with equations: a dense problem of tens of unknowns.
//
//   minimise |A x - b|^2 + damping |x - center|^2  where  E x = E x_0  and  lower <= x <= upper
//
// Only the first `num_damped` of x are damped: the others may be what inequalities C x >= c have as unknowns s of their
// own, C x - s = 0 with s >= c.
//
// x_0, within the box, is where it begins: there always is a solution. A primal active-set method: J. Nocedal,
// S. J. Wright, "Numerical Optimization", Springer 2006, algorithm 16.3, each step in the null space of E (section 16.2),
// which a QR decomposition with pivoting finds. Without E, exchanges of all wrong bounds at once come first, as long as
// they get fewer: L. F. Portugal, J. J. Judice, L. N. Vicente, Math. Comp. 63 (1994). Where A has too few rows, steps are
// damped and repeated: what they converge to is not.
#pragma once

#include <cmath>
#include <cstddef>

#include "scalars/config.hpp"

namespace MBT_NS {

struct BoundedProblem {
  int n, num_rows, num_equations;
  const double* A;       // (num_rows, n)
  const double* b;       // (num_rows,)
  double damping;        // not negative
  int num_damped;
  const double* center;  // (n,); null: zero
  const double* E;       // (num_equations, n)
  const double* lower;   // (n,), not above `upper`; either may be infinite
  const double* upper;   // (n,)
};

class BoundedSolver {
 public:
  // Doubles that it works with.
  static std::ptrdiff_t count_memory(std::ptrdiff_t n, std::ptrdiff_t num_equations) {
    return 3 * n * n + num_equations * (n + 3) + 8 * n + 1;
  }

  BoundedSolver(const BoundedProblem& problem, double* memory) : x_(problem) {
    const std::ptrdiff_t n = x_.n, m = x_.num_equations;
    H = memory;
    K = H + n * n;
    Z = K + n * n;
    Q = Z + n * n;
    diagonal = Q + m * n;
    factor_of = diagonal + m;
    order = reinterpret_cast<int*>(factor_of + m);
    target = factor_of + 2 * m;
    gradient = target + n;
    step = gradient + n;
    c = step + n;
    y = c + n;
    w = y + n;
    index = reinterpret_cast<int*>(w + n);
    side = reinterpret_cast<int*>(w + 2 * n);
  }

  // x_0 becomes the solution. Returns the number of steps, or -1 when it was cut short: x is then the best so far.
  int solve(double* x) {
    const int n = x_.n;
    prepare(x);
    if (n == 0 || size == 0.0) return 0;
    int steps = 0;
    if (x_.num_equations == 0) {
      steps = exchange_bounds(x);
    } else if (!take_bounds(x)) {
      return 0;
    }
    const int limit = 60 + 20 * n;
    int still = 0, full = 0;
    double before = 0.0;
    for (;; ++steps) {
      if (steps >= limit) return -1;
      set_gradient(x);
      if (!is_factored) factor();
      const double g = reduce_gradient();
      // Numbers that are not finite end here.
      if (!(g > 1e-13 * size) || (full > 2 && g > 0.7 * before)) {
        const int k = find_wrong_bound(still > n);
        if (k < 0) return steps;
        side[k] = kFree;
        is_factored = false;
        full = 0;
        continue;
      }
      before = g;
      set_step();
      const double share = move(x);
      full = share == 1.0 ? full + 1 : 0;
      still = share == 0.0 ? still + 1 : 0;
    }
  }

 private:
  enum { kLower = -1, kFree = 0, kUpper = 1, kFixed = 2 };
  static constexpr double kLeastDamping = 1e-13;  // of the largest diagonal entry of H
  static constexpr double kDependent = 1e-8;      // rows of E, against the largest

  static double sum(int n, const double* a, const double* b) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    int k = 0;
    for (; k + 4 <= n; k += 4) {
      s0 += a[k] * b[k];
      s1 += a[k + 1] * b[k + 1];
      s2 += a[k + 2] * b[k + 2];
      s3 += a[k + 3] * b[k + 3];
    }
    for (; k < n; ++k) s0 += a[k] * b[k];
    return (s0 + s1) + (s2 + s3);
  }

  static void add(int n, double s, const double* a, double* to) {
    for (int k = 0; k < n; ++k) to[k] += s * a[k];
  }

  // H = A'A + damping, its lower triangle, and target = A'b + damping center.
  void prepare(double* x) {
    const int n = x_.n;
    for (int k = 0; k < n * n; ++k) H[k] = 0.0;
    for (int k = 0; k < n; ++k) target[k] = 0.0;
    for (int i = 0; i < x_.num_rows; ++i) {
      const double* a = x_.A + static_cast<std::ptrdiff_t>(n) * i;
      for (int k = 0; k < n; ++k)
        if (a[k] != 0.0) add(k + 1, a[k], a, H + static_cast<std::ptrdiff_t>(n) * k);
      add(n, x_.b[i], a, target);
    }
    double largest = 0.0, reach = 0.0;
    size = 0.0;
    for (int k = 0; k < n; ++k) {
      if (k < x_.num_damped) H[k * n + k] += x_.damping;
      if (x_.center != nullptr && k < x_.num_damped) target[k] += x_.damping * x_.center[k];
      if (H[k * n + k] > largest) largest = H[k * n + k];
      side[k] = x_.lower[k] < x_.upper[k] ? kFree : kFixed;
      x[k] = x[k] < x_.lower[k] ? x_.lower[k] : x[k] > x_.upper[k] ? x_.upper[k] : x[k];
      if (std::fabs(target[k]) > size) size = std::fabs(target[k]);
      if (std::fabs(x[k]) > reach) reach = std::fabs(x[k]);
    }
    size += largest * reach;
    ridge = x_.damping >= kLeastDamping * largest ? 0.0 : kLeastDamping * largest - x_.damping;
    is_factored = false;
  }

  // Half the gradient at x.
  void set_gradient(const double* x) {
    const int n = x_.n;
    for (int k = 0; k < n; ++k)
      gradient[k] = k < x_.num_damped ? x_.damping * (x_.center == nullptr ? x[k] : x[k] - x_.center[k]) : 0.0;
    for (int i = 0; i < x_.num_rows; ++i) {
      const double* a = x_.A + static_cast<std::ptrdiff_t>(n) * i;
      add(n, sum(n, a, x) - x_.b[i], a, gradient);
    }
  }

  void list_free() {
    num_free = 0;
    for (int k = 0; k < x_.n; ++k)
      if (side[k] == kFree) index[num_free++] = k;
  }

  // Decompositions for the unknowns that are free: of E, and of H in its null space.
  void factor() {
    list_free();
    rank = 0;
    if (x_.num_equations != 0) {
      triangularize();
      set_null_space();
    } else {
      for (int i = 0; i < num_free; ++i)
        for (int j = 0; j <= i; ++j) K[i * x_.n + j] = H[index[i] * x_.n + index[j]];
    }
    decompose(num_free - rank);
    is_factored = true;
  }

  // E' = Q R P' by reflections, those of each column in its place, until columns depend on others.
  void triangularize() {
    const int n = x_.n, m = x_.num_equations, f = num_free;
    for (int j = 0; j < m; ++j) {
      order[j] = j;
      for (int i = 0; i < f; ++i) Q[j * n + i] = x_.E[static_cast<std::ptrdiff_t>(n) * j + index[i]];
    }
    double first = 0.0;
    for (int s = 0; s < m && s < f; ++s) {
      int pivot = s;
      double largest = 0.0;
      for (int j = s; j < m; ++j) {
        const double* a = Q + order[j] * n;
        const double squared = sum(f - s, a + s, a + s);
        if (squared > largest) {
          largest = squared;
          pivot = j;
        }
      }
      if (s == 0) first = largest;
      if (!(largest > kDependent * kDependent * first)) return;
      const int column = order[pivot];
      order[pivot] = order[s];
      order[s] = column;
      double* a = Q + column * n;
      const double length = std::sqrt(largest);
      diagonal[s] = a[s] > 0.0 ? -length : length;
      factor_of[s] = 1.0 / (largest + length * std::fabs(a[s]));
      a[s] -= diagonal[s];
      ++rank;
      for (int j = s + 1; j < m; ++j) reflect(s, Q + order[j] * n);
    }
  }

  // u -= v (v'u) 2 / (v'v), v being the reflection number s.
  void reflect(int s, double* u) const {
    const double* v = Q + order[s] * x_.n;
    add(num_free - s, -factor_of[s] * sum(num_free - s, v + s, u + s), v + s, u + s);
  }

  // Z, its columns as rows of memory, and K = Z'HZ.
  void set_null_space() {
    const int n = x_.n, f = num_free;
    for (int i = rank; i < f; ++i) {
      double* z = Z + (i - rank) * n;
      for (int k = 0; k < f; ++k) z[k] = 0.0;
      z[i] = 1.0;
      for (int s = rank - 1; s >= 0; --s) reflect(s, z);
    }
    for (int i = 0; i < f - rank; ++i) {
      const double* z = Z + i * n;
      for (int k = 0; k < f; ++k) {
        double total = 0.0;
        for (int l = 0; l < f; ++l) {
          const int high = index[k > l ? k : l], low = index[k > l ? l : k];
          total += H[high * n + low] * z[l];
        }
        w[k] = total;
      }
      for (int j = 0; j <= i; ++j) K[i * n + j] = sum(f, Z + j * n, w);
    }
  }

  // K + ridge = L D L': L below the diagonal, on it 1 / D.
  void decompose(int count) {
    const int n = x_.n;
    // In the null space of E, directions of what is not damped have less of it.
    const double smallest = x_.num_damped == n ? 0.1 : 1e-4;
    for (int i = 0; i < count; ++i) {
      double* a = K + i * n;
      double pivot = a[i] + ridge;
      for (int j = 0; j < i; ++j) a[j] -= sum(j, a, K + j * n);
      for (int j = 0; j < i; ++j) {
        const double scaled = a[j] * K[j * n + j];
        pivot -= scaled * a[j];
        a[j] = scaled;
      }
      const double least = ridge + x_.damping;
      a[i] = 1.0 / (pivot > smallest * least ? pivot : least);
    }
  }

  void substitute(int count, double* u) const {
    const int n = x_.n;
    for (int i = 0; i < count; ++i) u[i] -= sum(i, K + i * n, u);
    for (int i = 0; i < count; ++i) u[i] *= K[i * n + i];
    for (int i = count - 1; i >= 0; --i) add(i, -u[i], K + i * n, u);
  }

  // c = Q'g of the free unknowns; returns the largest part that E leaves free.
  double reduce_gradient() {
    for (int i = 0; i < num_free; ++i) c[i] = gradient[index[i]];
    for (int s = 0; s < rank; ++s) reflect(s, c);
    double largest = 0.0;
    for (int i = rank; i < num_free; ++i) largest = std::fabs(c[i]) <= largest ? largest : std::fabs(c[i]);
    return largest;
  }

  // The way to the minimum over the free unknowns.
  void set_step() {
    const int count = num_free - rank;
    for (int i = 0; i < count; ++i) w[i] = -c[rank + i];
    substitute(count, w);
    if (x_.num_equations == 0) {
      for (int i = 0; i < count; ++i) step[i] = w[i];
      return;
    }
    for (int k = 0; k < num_free; ++k) step[k] = 0.0;
    for (int i = 0; i < count; ++i) add(num_free, w[i], Z + i * x_.n, step);
  }

  // Go as far as the box allows: the share of the step. What stopped it is no longer free.
  double move(double* x) {
    double share = 1.0;
    int stop = -1;
    for (int i = 0; i < num_free; ++i) {
      const int k = index[i];
      const double room = step[i] > 0.0 ? x_.upper[k] - x[k] : x_.lower[k] - x[k];
      if (std::fabs(step[i]) * share > std::fabs(room)) {
        share = room / step[i];
        stop = i;
      }
    }
    for (int i = 0; i < num_free; ++i) {
      const int k = index[i];
      const double there = x[k] + share * step[i];
      x[k] = there < x_.lower[k] ? x_.lower[k] : there > x_.upper[k] ? x_.upper[k] : there;
    }
    if (stop >= 0) {
      const int k = index[stop];
      side[k] = step[stop] > 0.0 ? kUpper : kLower;
      x[k] = step[stop] > 0.0 ? x_.upper[k] : x_.lower[k];
      is_factored = false;
    }
    return share;
  }

  // The bound that holds back most, or the first one; -1: none does. With y of E_F'y = -g, what remains of a fixed
  // unknown is g + E'y.
  int find_wrong_bound(bool first) {
    const int n = x_.n;
    for (int s = rank - 1; s >= 0; --s) {
      double total = -c[s];
      for (int t = s + 1; t < rank; ++t) total -= Q[order[t] * n + s] * y_of(t);
      y_of(s) = total / diagonal[s];
    }
    int found = -1;
    double worst = 1e-12 * size;
    for (int k = 0; k < n; ++k) {
      if (side[k] != kLower && side[k] != kUpper) continue;
      double g = gradient[k];
      for (int s = 0; s < rank; ++s) g += x_.E[static_cast<std::ptrdiff_t>(n) * order[s] + k] * y_of(s);
      const double wrong = side[k] == kUpper ? g : -g;
      if (wrong > worst) {
        found = k;
        if (first) return k;
        worst = wrong;
      }
    }
    return found;
  }

  double& y_of(int s) { return y[s]; }

  // With equations: bounds where x is, and the gradient keeps it, as long as E does not lose a row by them. False where
  // E leaves nothing open.
  bool take_bounds(const double* x) {
    const int n = x_.n;
    factor();
    const int full_rank = rank;
    if (rank == num_free) return false;
    bool any = false;
    set_gradient(x);
    for (int k = 0; k < n; ++k) {
      if (side[k] != kFree) continue;
      if (x[k] == x_.lower[k] && gradient[k] > 0.0) side[k] = kLower;
      if (x[k] == x_.upper[k] && gradient[k] < 0.0) side[k] = kUpper;
      any = any || side[k] != kFree;
    }
    if (!any) return true;
    factor();
    if (rank == full_rank) return true;
    for (int k = 0; k < n; ++k)
      if (side[k] != kFixed) side[k] = kFree;
    is_factored = false;
    return true;
  }

  // Without equations: the solution for some unknowns at their bounds, and then all that this shows to be wrong
  // changed at once. Ends in the box.
  int exchange_bounds(double* x) {
    const int n = x_.n;
    int least = n + 1, patience = 3, rounds = 0;
    for (;;) {
      ++rounds;
      factor();
      for (int i = 0; i < num_free; ++i) {
        const int k = index[i];
        double total = target[k] + ridge * x[k];
        for (int l = 0; l < n; ++l)
          if (side[l] != kFree) total -= H[k > l ? k * n + l : l * n + k] * x[l];
        w[i] = total;
      }
      substitute(num_free, w);
      for (int i = 0; i < num_free; ++i) x[index[i]] = w[i];
      int wrong = 0;
      for (int k = 0; k < n; ++k) {
        side_after(k) = side[k];
        if (side[k] == kFree) {
          if (x[k] < x_.lower[k] || x[k] > x_.upper[k]) {
            side_after(k) = x[k] < x_.lower[k] ? kLower : kUpper;
            ++wrong;
          }
        } else if (side[k] != kFixed) {
          double g = -target[k];
          for (int l = 0; l < n; ++l) g += H[k > l ? k * n + l : l * n + k] * x[l];
          if ((side[k] == kUpper ? g : -g) > 1e-12 * size) {
            side_after(k) = kFree;
            ++wrong;
          }
        }
      }
      if (wrong == 0) return rounds;
      if (wrong < least) {
        least = wrong;
        patience = 3;
      } else {
        --patience;
      }
      for (int k = 0; k < n; ++k) {
        side[k] = side_after(k);
        if (side[k] == kLower) x[k] = x_.lower[k];
        if (side[k] == kUpper) x[k] = x_.upper[k];
      }
      is_factored = false;
      if (patience == 0) return rounds;
    }
  }

  int& side_after(int k) { return (side + x_.n)[k]; }

  const BoundedProblem& x_;
  double *H, *K, *Z, *Q, *diagonal, *factor_of, *target, *gradient, *step, *c, *y, *w;
  int *order, *index, *side;
  int num_free = 0, rank = 0;
  double ridge = 0.0, size = 0.0;
  bool is_factored = false;
};

static inline int solve_bounded(const BoundedProblem& problem, double* memory, double* x) {
  return BoundedSolver(problem, memory).solve(x);
}

}  // namespace MBT_NS
