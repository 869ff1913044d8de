// Strictly convex quadratic programs whose active bounds are nearly known: those of the tick before.
//
//   minimise x'H x/2 + g'x  where  lower <= (x, A x) <= upper
//
// With H = L'L, rows Y = A_W L^-1 of the bounds W that are active, and c = L'^-1 g, the point that has them as
// equations is x = L^-1 y with
//
//   y = -c - Y'lambda,  Y Y' lambda = -(b + Y c)
//
// (J. Nocedal, S. J. Wright, "Numerical Optimization", Springer 2006, section 16.2, range-space method). Bounds whose
// multipliers have the wrong sign leave W. Then the bound that is violated most joins it, and those leave whose multipliers
// get to zero on the way (D. Goldfarb, A. Idnani, Math. Programming 27 (1983), dual method), until none is violated. Where
// rounding or bounds that depend on each other get in the way, nothing is returned: then another solver must do it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>

#include "scalars/config.hpp"
#include "solvers/symmetric_factors.hpp"

namespace mbt_convex {

struct QuadraticProgram {
  int n, num_rows;
  const double* H;      // (n, n)
  const double* g;      // (n,)
  const double* A;      // (num_rows, n)
  const double* lower;  // (n + num_rows,)
  const double* upper;  // (n + num_rows,)
};

// One copy of each loop in place of one at each call, which would be half of the code.
static MBT_NOINLINE double product(int n, const double* a, const double* b) { return dot(n, a, b); }

static MBT_NOINLINE void subtract_row(int n, double factor, const double* x, double* y) { subtract(n, factor, x, y); }

static MBT_NOINLINE bool decompose(int n, double* A, int* columns) { return factorize(n, A, columns); }

static MBT_NOINLINE void apply_outer(int n, const double* L, const int* columns, double* x) {
  solve_outer(n, L, columns, x);
}

static MBT_NOINLINE void apply_inner(int n, const double* L, const int* columns, double* x) {
  solve_inner(n, L, columns, x);
}

class ActiveSet {
 public:
  // Doubles that it works with.
  static std::ptrdiff_t count_memory(std::ptrdiff_t n) { return 5 * n * n + 7 * n + 1; }

  ActiveSet(const QuadraticProgram& program, double* memory) : z(program) {
    const std::ptrdiff_t n = z.n;
    L = memory;
    Y = L + n * n;
    S = Y + n * n;
    F = S + n * n;
    columns = reinterpret_cast<int*>(F + n * n);
    columns_of_F = columns + n * n;
    c = F + 2 * n * n;
    y = c + n;
    lambda = y + n;
    change = lambda + n;
    next = change + n;
    way = next + n;
    rows = reinterpret_cast<int*>(way + n);
  }

  // `side` (n + num_rows,) is -1 and 1 where a bound was active; it becomes what is. Returns the number of rounds, with
  // x (n,) and multipliers (n + num_rows,), those of lower bounds negative; or -1 and neither.
  int solve(int* side, double* x, double* multipliers) {
    const int n = z.n, m = n + z.num_rows;
    std::memcpy(L, z.H, sizeof(double) * n * n);
    if (!decompose(n, L, columns)) return -1;
    std::memcpy(c, z.g, sizeof(double) * n);
    apply_outer(n, L, columns, c);
    for (int i = 0; i < m; ++i) {
      if (std::fabs(bound(i, side)) >= kFree) side[i] = 0;
      if (is_equation(i)) side[i] = 1;
      if (side[i] != 0) {
        set_row(i);
        if (!add(i)) return -1;
      }
    }
    if (!factor() || !optimize(side, x)) return -1;
    bool is_exact = true;
    for (int round = 1; round <= kRounds;) {
      const bool any_left = is_exact && drop_wrong(side);
      const int violated = any_left ? -1 : find_violated(side, x);
      if (violated >= 0) {
        if (!take(violated, side, x)) return -1;
        set_x(x);
        is_exact = false;
        ++round;
      } else if (any_left || !is_exact) {
        if (!factor() || !optimize(side, x)) return -1;
        is_exact = true;
        round += any_left;
      } else {
        std::memset(multipliers, 0, sizeof(double) * m);
        for (int k = 0; k < count; ++k) multipliers[rows[k]] = lambda[k];
        return round;
      }
    }
    return -1;
  }

 private:
  enum { kRounds = 100 };
  static constexpr double kFree = 1e20;         // bounds that bound nothing
  static constexpr double kEqual = 1e-11;       // distance of the bounds of equations
  static constexpr double kViolation = 1e-9;    // of bounds
  static constexpr double kMultiplier = 1e-12;  // of rows of unit length
  static constexpr double kDependent = 1e-12;   // square of what a row of unit length has beside others

  bool is_equation(int i) const { return z.upper[i] - z.lower[i] <= kEqual; }

  const double* row(int i) const { return z.A + std::ptrdiff_t(z.n) * (i - z.n); }

  double* row_of_Y(int k) const { return Y + std::ptrdiff_t(z.n) * k; }

  double value(int i, const double* x) const { return i < z.n ? x[i] : product(z.n, row(i), x); }

  double bound(int i, const int* side) const { return side[i] > 0 ? z.upper[i] : z.lower[i]; }

  // next = L'^-1 of the row of a bound
  MBT_NOINLINE void set_row(int i) {
    const int n = z.n;
    if (i < n) {
      std::memset(next, 0, sizeof(double) * n);
      next[i] = 1.0;
    } else {
      std::memcpy(next, row(i), sizeof(double) * n);
    }
    apply_outer(n, L, columns, next);
  }

  // The bound of `next` joins W.
  MBT_NOINLINE bool add(int i) {
    const int n = z.n;
    if (count == n) return false;
    std::memcpy(row_of_Y(count), next, sizeof(double) * n);
    for (int k = 0; k <= count; ++k) S[n * count + k] = S[n * k + count] = product(n, row_of_Y(k), next);
    rows[count++] = i;
    return true;
  }

  // The last one takes its place.
  MBT_NOINLINE void drop(int k, int* side) {
    const int n = z.n, last = --count;
    side[rows[k]] = 0;
    rows[k] = rows[last];
    lambda[k] = lambda[last];
    if (k == last) return;
    std::memcpy(row_of_Y(k), row_of_Y(last), sizeof(double) * n);
    for (int j = 0; j < count; ++j) S[n * k + j] = S[n * last + j];
    S[n * k + k] = S[n * last + last];
    for (int j = 0; j < count; ++j) S[n * j + k] = S[n * k + j];
  }

  MBT_NOINLINE bool factor() {
    for (int k = 0; k < count; ++k) std::memcpy(F + count * k, S + z.n * k, sizeof(double) * (k + 1));
    return decompose(count, F, columns_of_F);
  }

  void solve_factored(double* u) const {
    apply_outer(count, F, columns_of_F, u);
    apply_inner(count, F, columns_of_F, u);
  }

  void set_x(double* x) const {
    std::memcpy(x, y, sizeof(double) * z.n);
    apply_inner(z.n, L, columns, x);
  }

  // x, y and lambda for the bounds in W. False where rounding does not let these hold.
  MBT_NOINLINE bool optimize(const int* side, double* x) {
    const int n = z.n;
    for (int k = 0; k < n; ++k) y[k] = -c[k];
    for (int k = 0; k < count; ++k) {
      lambda[k] = 0.0;
      change[k] = product(n, row_of_Y(k), y) - bound(rows[k], side);
    }
    // Once more with what rounding left.
    for (int time = 0; time < 2; ++time) {
      solve_factored(change);
      for (int k = 0; k < count; ++k) {
        lambda[k] += change[k];
        subtract_row(n, change[k], row_of_Y(k), y);
      }
      set_x(x);
      for (int k = 0; k < count; ++k) change[k] = value(rows[k], x) - bound(rows[k], side);
    }
    for (int k = 0; k < count; ++k)
      if (!(std::fabs(change[k]) <= kViolation)) return false;
    return true;
  }

  // Bounds that pull leave W.
  bool drop_wrong(int* side) {
    const int before = count;
    for (int k = count - 1; k >= 0; --k) {
      const double pull = -side[rows[k]] * lambda[k];
      if (!is_equation(rows[k]) && pull > 0.0 && pull * pull * S[z.n * k + k] > kMultiplier * kMultiplier) drop(k, side);
    }
    return count < before;
  }

  // The bound that is violated most; -1: none is.
  int find_violated(const int* side, const double* x) const {
    const int m = z.n + z.num_rows;
    int found = -1;
    double worst = kViolation;
    for (int i = 0; i < m; ++i) {
      if (side[i] != 0) continue;
      const double now = value(i, x);
      const double excess = now > z.upper[i] ? now - z.upper[i] : z.lower[i] - now;
      if (excess > worst) {
        worst = excess;
        found = i;
      }
    }
    return found;
  }

  // A bound that is violated joins W. False where nothing satisfies it and W, or W has no place for it.
  bool take(int i, int* side, const double* x) {
    const int n = z.n;
    side[i] = value(i, x) > z.upper[i] ? 1 : -1;
    const double sign = side[i];
    double own = 0.0;
    set_row(i);
    for (;;) {
      // With t more in the multiplier of `next`: lambda - t sign change, y - t sign way.
      std::memcpy(way, next, sizeof(double) * n);
      for (int k = 0; k < count; ++k) change[k] = product(n, row_of_Y(k), next);
      solve_factored(change);
      for (int k = 0; k < count; ++k) subtract_row(n, change[k], row_of_Y(k), way);
      const double open = product(n, way, way), all = product(n, next, next);
      int stop = -1;
      double step = INFINITY;
      if (open > kDependent * all) step = sign * (product(n, next, y) - bound(i, side)) / open;
      for (int k = 0; k < count; ++k) {
        const double rate = side[rows[k]] * sign * change[k];
        if (is_equation(rows[k]) || !(rate > 0.0) || !(side[rows[k]] * lambda[k] < step * rate)) continue;
        step = side[rows[k]] * lambda[k] / rate;
        stop = k;
      }
      if (!(step < INFINITY)) return false;
      for (int k = 0; k < count; ++k) lambda[k] -= step * sign * change[k];
      subtract_row(n, step * sign, way, y);
      own += step * sign;
      if (stop < 0) {
        if (!add(i)) return false;
        lambda[count - 1] = own;
        return factor();
      }
      drop(stop, side);
      if (!factor()) return false;
    }
  }

  const QuadraticProgram& z;
  double *L, *Y, *S, *F, *c, *y, *lambda, *change, *next, *way;
  int *columns, *columns_of_F, *rows;
  int count = 0;
};

}  // namespace mbt_convex
