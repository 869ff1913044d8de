// Signed distances of convex shapes without closed forms.
#pragma once

#include "geometry/epa.hpp"
#include "geometry/gjk.hpp"
#include "geometry/polish.hpp"

namespace MBT_NS {

static MBT_INLINE bool is_curved(int kind) { return kind == CYLINDER || kind == ELLIPSOID; }

template <class T>
static MBT_INLINE CoreWitness<T> separated(const Nearest<T>& at) {
  const T inverse = T(1.0) / larger(at.distance, T(1e-300));
  return {at.distance, at.v * inverse,
          at.corner[0].a * at.share[0] + at.corner[1].a * at.share[1] + at.corner[2].a * at.share[2]};
}

// How far a lower bound may be below a distance, relative to the lengths involved: for corners, and for depths of
// curved shapes; and, relative to the distance, for curved shapes before Newton's method takes over.
static constexpr double kExact = 0.0, kClose = 1e-7, kDepth = 1e-9, kVerified = 1e-13;
static constexpr int kMostTrials = 6;

static MBT_INLINE double square_of(const Vec3<double>& a) { return dot(a, a); }

// s(n): the gap between the planes normal to n that touch A and B.
static MBT_INLINE double gap_across(const ConvexPair<double>& pair, const Vec3<double>& n) {
  return dot(farthest_difference(pair, n).w, n);
}

static MBT_INLINE PlacedShape<Lanes> in_all_lanes(const PlacedShape<double>& A) {
  PlacedShape<Lanes> a;
  // size, R and p: fifteen contiguous scalars
  const double* from = A.size;
  Lanes* to = a.size;
  for (int k = 0; k < 15; ++k) to[k] = Lanes(from[k]);
  a.vertices = A.vertices;
  a.count = A.count;
  return a;
}

// The witness with B moved along a normal until its distance is half of the lengths involved. Lanes are faster even for
// one pair, because they have no branches that may be mispredicted.
static MBT_NOINLINE CoreWitness<double> from_afar(
    const ConvexPair<double>& pair, const CoreWitness<double>& w, double scale) {
  const PlacedShape<Lanes> A = in_all_lanes(*pair.A), B = in_all_lanes(*pair.B);
  ConvexPair<Lanes> apart = convex_pair(pair.kind_A, A, pair.kind_B, B);
  const Vec3<double> p = pair.p + w.n * (0.5 * scale - w.distance);
  apart.p = {Lanes(p.x), Lanes(p.y), Lanes(p.z)};
  const CoreWitness<Lanes> found = separated(nearest_difference(apart, kExact));
  const Vec3<Lanes>&n = found.n, &a = found.a;
  return {lane(found.distance, 0), {lane(n.x, 0), lane(n.y, 0), lane(n.z, 0)}, {lane(a.x, 0), lane(a.y, 0), lane(a.z, 0)}};
}

// Finish the pairs that lanes have not. For shapes that overlap or almost touch, a trial moves B away along the normal,
// where points and normals are well defined again, and the correct normal is the same.
[[maybe_unused]] static MBT_NOINLINE CoreWitness<double> finish(
    const ConvexPair<double>& pair, const Nearest<double>& at, const Polytope& deepest) {
  const bool curved = is_curved(pair.kind_A) || is_curved(pair.kind_B), overlap = at.overlap != 0.0;
  const double scale = at.scale, rounding = 1e-14 * scale;
  CoreWitness<double> best = overlap ? deepest.best : separated(at);
  if (overlap && deepest.is_exact && !curved) return best;
  best.distance = gap_across(pair, best.n);
  bool settled = !overlap && at.distance - best.distance <= kVerified * scale;
  for (int trial = overlap; trial < kMostTrials; ++trial) {
    if (trial > 0) {
      CoreWitness<double> now = from_afar(pair, best, scale);
      now.distance = gap_across(pair, now.n);
      settled = square_of(now.n - best.n) < 1e-28;
      if (now.distance >= best.distance - rounding) best = now;
      else best.a = now.a;
    }
    if (curved) {
      const CoreWitness<double> from = best;
      const double slacks[] = {1e-3, 1e-5, 1e-7, 0.0};
      for (double slack : slacks) {
        const Polished p = polish(pair, from.n, from.a, slack);
        const double gap = gap_across(pair, p.n);
        const bool fits = p.residual < 1e-12 * scale;
        if (!(gap >= best.distance + (fits ? -rounding : rounding))) continue;
        CoreWitness<double> now = {gap, p.n, fits ? p.a : from.a};
        if (fits && p.many) {
          // Corners determine the points on both faces. If they are beyond a rim, another normal has a larger gap.
          const CoreWitness<double> seen = from_afar(pair, now, scale);
          if (gap_across(pair, seen.n) > gap + rounding) continue;
          if (square_of(seen.n - p.n) < 1e-12) {
            // On a rim, corners are less accurate than the rim's point for n.
            const Polished again = polish(pair, p.n, seen.a, 1e-9);
            now.a = again.residual < 1e-12 * scale && square_of(again.n - p.n) < 1e-24 ? again.a : seen.a;
          }
        }
        best = now;
        if (!fits) continue;
        return best;
      }
    } else if (settled) {
      return best;
    }
  }
  return best;
}

static MBT_INLINE PlacedShape<double> lane_of(const PlacedShape<Lanes>& A, int l) {
  PlacedShape<double> a;
  // size, R and p: fifteen contiguous scalars
  const Lanes* from = A.size;
  double* to = a.size;
  for (int k = 0; k < 15; ++k) to[k] = lane(from[k], l);
  a.vertices = A.vertices;
  a.count = A.count;
  return a;
}

[[maybe_unused]] static MBT_NOINLINE void finish_lanes(
    const ConvexPair<Lanes>& pair, const Nearest<Lanes>& at, const Lanes& unfinished, CoreWitness<Lanes>* core) {
  PlacedShape<double> A[MBT_W], B[MBT_W];
  ConvexPair<double> pairs[MBT_W];
  Nearest<double> nearest[MBT_W];
  Polytope deepest[MBT_W];
  int lanes[MBT_W], count = 0;
  for (int l = 0; l < MBT_W; ++l) {
    if (lane(unfinished, l) == 0.0) continue;
    A[count] = lane_of(*pair.A, l);
    B[count] = lane_of(*pair.B, l);
    pairs[count] = convex_pair(pair.kind_A, A[count], pair.kind_B, B[count]);
    const Lanes* from = &at.corner[0].w.x;
    double* to = &nearest[count].corner[0].w.x;
    for (size_t k = 0; k < sizeof(Nearest<double>) / sizeof(double); ++k) to[k] = lane(from[k], l);
    lanes[count++] = l;
  }
  const bool curved = is_curved(pair.kind_A) || is_curved(pair.kind_B);
  find_deepest(count, pairs, nearest, curved ? kDepth : 1e-13, deepest);
  for (int i = 0; i < count; ++i) {
    const CoreWitness<double> found = finish(pairs[i], nearest[i], deepest[i]);
    const double* numbers = &found.distance;
    Lanes* result = &core->distance;
    for (int k = 0; k < 7; ++k) set_lane(result[k], lanes[i], numbers[k]);
  }
}

// The kind of A is not higher than that of B.
[[maybe_unused]] static MBT_NOINLINE Witness<Lanes> convex_distance(
    int kind_A, const PlacedShape<Lanes>& A, int kind_B, const PlacedShape<Lanes>& B) {
  const Lanes zero(0.0), one(1.0);
  const ConvexPair<Lanes> pair = convex_pair(kind_A, A, kind_B, B);
  const bool curved = is_curved(kind_A) || is_curved(kind_B);
  const Nearest<Lanes> at = nearest_difference(pair, curved ? kClose : kExact);
  CoreWitness<Lanes> core = separated(at);
  Lanes unfinished = select_lt(at.distance - at.lower, at.scale * kVerified, at.overlap, one);
  if (curved) unfinished = one;
  if (any_set(unfinished)) finish_lanes(pair, at, unfinished, &core);
  const Lanes r_A = has_skin(kind_A) ? A.size[0] : zero, r_B = has_skin(kind_B) ? B.size[0] : zero;
  const Vec3<Lanes> n = A.R * core.n, a = A.R * core.a + A.p;
  return with_skins(Witness<Lanes>{core.distance, a, a + n * core.distance, n}, r_A, r_B);
}

}  // namespace MBT_NS
