// Least squares in a box, with equations: a dense problem of tens of unknowns.
//
//   minimise |A x - b|^2 + damping |x - center|^2  where  E x = E x_0  and  lower <= x <= upper
//
// Only the first `num_damped` of x are damped: the others may be the slack variables s of inequalities C x >= c,
// C x - s = 0 with s >= c.
//
// The solver starts at x_0, within the box: a solution always exists. A primal active-set method: J. Nocedal,
// S. J. Wright, "Numerical Optimization", Springer 2006, algorithm 16.3, each step in the null space of E (section 16.2),
// which a QR decomposition with pivoting finds. Without E, it first exchanges all wrong bounds at once, as long as they
// get fewer: L. F. Portugal, J. J. Judice, L. N. Vicente, Math. Comp. 63 (1994). Where A has too few rows, steps are
// damped and repeated; the solution to which they converge is not damped.
#pragma once

#include <cmath>
#include <cstddef>

#include "scalars/config.hpp"
#include "scalars/rows.hpp"

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
  // Doubles of working memory.
  static std::ptrdiff_t count_memory(std::ptrdiff_t n, std::ptrdiff_t num_equations) {
    return n * (2 * n + padded(n) + padded(num_equations)) + padded(n + num_equations) + 3 * num_equations + 8 * n + 1;
  }

  BoundedSolver(const BoundedProblem& problem, double* memory) : x_(problem) {
    const std::ptrdiff_t n = x_.n, m = x_.num_equations;
    H = V = memory;
    K = H + n * n;
    Z = K + n * n;
    R = Z + n * padded(n);
    squares = R + n * padded(m);
    diagonal = squares + padded(n + m);
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

  // Replaces x_0 by the solution. Returns the number of steps, or -1 after too many: x is then the best so far.
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
      // Stops here if numbers are not finite.
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

  // The padded length of a row whose entries are processed eight at a time.
  static std::ptrdiff_t padded(std::ptrdiff_t n) { return (n + 7) / 8 * 8; }

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

  static void add(int n, double s, const double* __restrict a, double* __restrict to) {
    for (int k = 0; k < n; ++k) to[k] += s * a[k];
  }

  static void add_squares(int n, const double* __restrict a, double* __restrict to) {
    for (int k = 0; k < n; ++k) to[k] += a[k] * a[k];
  }

  static void clear(int n, double* to) {
    for (int k = 0; k < n; ++k) to[k] = 0.0;
  }

  // target = A'b + damping center; and, without equations, the lower triangle of H = A'A + damping.
  void prepare(double* x) {
    const int n = x_.n;
    const bool has_H = x_.num_equations == 0;
    if (has_H) clear(n * n, H);
    clear(n, target);
    clear(n, w);
    for (int i = 0; i < x_.num_rows; ++i) {
      const double* a = x_.A + static_cast<std::ptrdiff_t>(n) * i;
      for (int k = 0; has_H && k < n; ++k)
        if (a[k] != 0.0) add(k + 1, a[k], a, H + static_cast<std::ptrdiff_t>(n) * k);
      add(n, x_.b[i], a, target);
      add_squares(n, a, w);
    }
    double largest = 0.0, reach = 0.0;
    size = 0.0;
    for (int k = 0; k < n; ++k) {
      if (k < x_.num_damped) w[k] += x_.damping;
      if (has_H) H[k * n + k] = w[k];
      if (x_.center != nullptr && k < x_.num_damped) target[k] += x_.damping * x_.center[k];
      if (w[k] > largest) largest = w[k];
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

  // Decompositions for the free unknowns: of E, and of H in the null space of E.
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

  // E' = Q R P' by reflections V, until columns depend on others.
  void triangularize() {
    const int n = x_.n, m = x_.num_equations, f = num_free;
    const std::ptrdiff_t width = padded(m);
    for (int i = 0; i < f; ++i) clear(static_cast<int>(width), R + width * i);
    for (int j = 0; j < m; ++j) {
      order[j] = j;
      squares[j] = 0.0;
      for (int i = 0; i < f; ++i) {
        const double x = x_.E[static_cast<std::ptrdiff_t>(n) * j + index[i]];
        R[width * i + j] = x;
        squares[j] += x * x;
      }
    }
    double first = 0.0;
    for (int s = 0; s < m && s < f; ++s) {
      int pivot = s;
      for (int j = s + 1; j < m; ++j)
        if (squares[j] > squares[pivot]) pivot = j;
      const double largest = squares[pivot];
      if (s == 0) first = largest;
      if (!(largest > kDependent * kDependent * first)) return;
      double* v = V + s * n;
      for (int i = 0; i < f; ++i) {
        double* row = R + width * i;
        v[i] = row[pivot];
        row[pivot] = row[s];
        row[s] = v[i];
      }
      const int column = order[pivot];
      order[pivot] = order[s];
      order[s] = column;
      const double length = std::sqrt(largest);
      diagonal[s] = v[s] > 0.0 ? -length : length;
      factor_of[s] = 1.0 / (largest + length * std::fabs(v[s]));
      v[s] -= diagonal[s];
      ++rank;
      reflect_columns(s, s + 1, m, width, R);
    }
  }

  // u -= v (v'u) 2 / (v'v), v being the reflection number s.
  void reflect(int s, double* u) const {
    const double* v = V + s * x_.n;
    add(num_free - s, -factor_of[s] * sum(num_free - s, v + s, u + s), v + s, u + s);
  }

  // The same for columns `first` to `end` of u, and those that pad them, eight at a time; and the sum of squares of
  // each below row s.
  void reflect_columns(int s, int first, int end, std::ptrdiff_t width, double* u) {
    const double* v = V + s * x_.n;
    const Row zero = make_row(0.0, 0.0, 0.0, 0.0);
    for (int j = first / 8 * 8; j < end; j += 8) {
      Row a = zero, b = zero, c = zero, d = zero;
      for (int i = s; i < num_free; ++i) {
        a = a + v[i] * load_row(u + width * i + j);
        b = b + v[i] * load_row(u + width * i + j + 4);
      }
      a = -factor_of[s] * a;
      b = -factor_of[s] * b;
      for (int i = s; i < num_free; ++i) {
        double* to = u + width * i + j;
        const Row x = load_row(to) + v[i] * a, y = load_row(to + 4) + v[i] * b;
        store_row(to, x);
        store_row(to + 4, y);
        if (i == s) continue;
        c = c + x * x;
        d = d + y * y;
      }
      store_row(squares + j, c);
      store_row(squares + j + 4, d);
    }
  }

  // Z, with a row for each free unknown, and K = Z'(A'A + damping) Z.
  void set_null_space() {
    const int n = x_.n, f = num_free, count = f - rank;
    if (count == 0) return;
    const std::ptrdiff_t width = padded(n);
    for (int k = 0; k < f; ++k) {
      clear(static_cast<int>(width), Z + width * k);
      if (k >= rank) Z[width * k + k - rank] = 1.0;
    }
    for (int s = rank - 1; s >= 0; --s) reflect_columns(s, 0, count, width, Z);
    for (int i = 0; i < count; ++i) clear(i + 1, K + i * n);
    for (int r = 0; r < x_.num_rows; ++r) {
      const double* a = x_.A + static_cast<std::ptrdiff_t>(n) * r;
      clear(count, w);
      for (int k = 0; k < f; ++k) add(count, a[index[k]], Z + width * k, w);
      for (int i = 0; i < count; ++i) add(i + 1, w[i], w, K + i * n);
    }
    if (x_.num_damped == n) {  // Z'Z = 1
      for (int i = 0; i < count; ++i) K[i * n + i] += x_.damping;
      return;
    }
    for (int k = 0; k < f && index[k] < x_.num_damped; ++k)
      for (int i = 0; i < count; ++i) add(i + 1, x_.damping * Z[width * k + i], Z + width * k, K + i * n);
  }

  // K + ridge = L D L': L below the diagonal, 1 / D on it. Column by column, so that sums do not wait for each other.
  void decompose(int count) {
    const int n = x_.n;
    // In the null space of E, directions with undamped unknowns are damped less.
    const double least = ridge + x_.damping, smallest = (x_.num_damped == n ? 0.1 : 1e-4) * least;
    for (int j = 0; j < count; ++j) {
      double* a = K + j * n;
      double pivot = a[j] + ridge;
      for (int k = 0; k < j; ++k) {
        const double scaled = a[k] * K[k * n + k];
        pivot -= scaled * a[k];
        a[k] = scaled;
      }
      a[j] = 1.0 / (pivot > smallest ? pivot : least);
      for (int i = j + 1; i < count; ++i) K[i * n + j] -= sum(j, K + i * n, a);
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

  // The step to the minimum over the free unknowns.
  void set_step() {
    const int count = num_free - rank;
    for (int i = 0; i < count; ++i) w[i] = -c[rank + i];
    substitute(count, w);
    if (x_.num_equations == 0) {
      for (int i = 0; i < count; ++i) step[i] = w[i];
      return;
    }
    for (int k = 0; k < num_free; ++k) step[k] = sum(count, Z + padded(x_.n) * k, w);
  }

  // Goes as far as the box allows; returns the share of the step. The unknown that stopped it is no longer free.
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

  // The bound that holds x back most, or the first that does; -1: none. With y from E_F'y = -g, the gradient that
  // remains at an unknown is g + E'y.
  int find_wrong_bound(bool first) {
    const int n = x_.n;
    for (int s = rank - 1; s >= 0; --s) {
      double total = -c[s];
      for (int t = s + 1; t < rank; ++t) total -= R[padded(x_.num_equations) * s + t] * y_of(t);
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

  // With equations: fixes unknowns at bounds where the gradient keeps them, unless this lowers the rank of E. Returns
  // false where E leaves no freedom.
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

  // Without equations: solves with some unknowns at their bounds, then changes all that turn out wrong at once, and
  // repeats. Ends in the box.
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
  double *H, *V, *K, *Z, *R, *diagonal, *factor_of, *squares, *target, *gradient, *step, *c, *y, *w;
  int *order, *index, *side;
  int num_free = 0, rank = 0;
  double ridge = 0.0, size = 0.0;
  bool is_factored = false;
};

static inline int solve_bounded(const BoundedProblem& problem, double* memory, double* x) {
  return BoundedSolver(problem, memory).solve(x);
}

}  // namespace MBT_NS
