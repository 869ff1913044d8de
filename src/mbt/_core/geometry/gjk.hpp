// The point of B - A that is nearest to the origin, for convex A and B that do not overlap.
//
// E. G. Gilbert, D. W. Johnson, S. S. Keerthi, IEEE Journal of Robotics and Automation 4 (1988) 193-203. The corners of
// a simplex in B - A are exchanged until no point lies deeper along its nearest point v. There are no branches on
// values: of all faces at the newest corner, the nearest is selected; unused corners are copies of the newest.
#pragma once

#include "geometry/supports.hpp"

namespace MBT_NS {

template <class T>
struct Nearest {
  Difference<T> corner[3];
  T share[3];   // weights of the corners in v
  Vec3<T> v;
  T distance;   // |v|: upper bound of the distance
  T lower;      // lower bound: the gap between planes normal to v
  T scale;      // the lengths involved, to which rounding is relative
  T overlap;    // 1 where A and B overlap or touch, else 0
};

// Witness of cores, in the frame of A.
template <class T>
struct CoreWitness {
  T distance;
  Vec3<T> n, a;
};

static constexpr int kMostSteps = 64;

static MBT_INLINE bool any_set(const Lanes& a) {
  double sum = 0.0;
  for (int i = 0; i < MBT_W; ++i) sum += lane(a, i);
  return sum != 0.0;
}

template <class T>
static MBT_INLINE Difference<T> select_lt(const T& a, const T& b, const Difference<T>& x, const Difference<T>& y) {
  return {select_lt(a, b, x.w, y.w), select_lt(a, b, x.a, y.a)};
}

// A candidate: the point of a face of the simplex that is nearest to the origin.
template <class T>
struct Face {
  T square;       // |v|^2
  Vec3<T> v;
  T share[2];     // weights of two old corners; the newest has the rest
  T index[2];     // indices of these; -1 is the newest
};

template <class T>
static MBT_INLINE Face<T> nearer(const Face<T>& x, const Face<T>& y) {
  const T &a = x.square, &b = y.square;
  return {select_lt(a, b, a, b), select_lt(a, b, x.v, y.v),
          {select_lt(a, b, x.share[0], y.share[0]), select_lt(a, b, x.share[1], y.share[1])},
          {select_lt(a, b, x.index[0], y.index[0]), select_lt(a, b, x.index[1], y.index[1])}};
}

template <class T>
static MBT_INLINE Difference<T> corner_at(const T& index, const Nearest<T>& at, const Difference<T>& newest) {
  const Difference<T> later = select_lt(index, T(1.5), at.corner[1], at.corner[2]);
  return select_lt(index, T(-0.5), newest, select_lt(index, T(0.5), at.corner[0], later));
}

// a / b clamped to [0, 1]; 0 if b is 0.
template <class T>
static MBT_INLINE T clamp_share(const T& a, const T& b) {
  return smaller(larger(a / larger(b, T(1e-300)), T(0.0)), T(1.0));
}

template <class T>
static MBT_NOINLINE Nearest<T> nearest_difference(const ConvexPair<T>& pair, double tolerance) {
  const T zero(0.0), one(1.0), huge(1e300);
  const T size = sum_of_magnitudes(pair.p);
  Nearest<T> at;
  const Difference<T> first =
      farthest_difference(pair, select_lt(zero, size, pair.p, Vec3<T>{one, zero, zero}));
  at.corner[0] = at.corner[1] = at.corner[2] = first;
  at.share[0] = one;
  at.share[1] = at.share[2] = zero;
  at.v = first.w;
  at.scale = larger(size, T(1e-280));  // a point on a corner of the other shape overlaps, too
  at.lower = T(-1e300);
  at.overlap = zero;
  T square = dot(at.v, at.v), open = one;
  for (int step = 0; step < kMostSteps; ++step) {
    const Difference<T> newest = farthest_difference(pair, at.v);
    const Vec3<T>& N = newest.w;
    const T length = sqrt_(square);
    at.scale = larger(at.scale, sum_of_magnitudes(newest.a) + sum_of_magnitudes(N));
    // Lower bound: a plane normal to v separates A and B.
    at.lower = dot(at.v, N) / larger(length, T(1e-300));
    open = select_lt(length - at.lower, length * tolerance + at.scale * 1e-15, zero, open);
    at.overlap = select_lt(length, at.scale * 1e-14, one, at.overlap);

    Face<T> best = {dot(N, N), N, {zero, zero}, {T(-1.0), T(-1.0)}};
    Vec3<T> e[3];
    T ee[3];
    for (int i = 0; i < 3; ++i) {
      e[i] = at.corner[i].w - N;
      ee[i] = dot(e[i], e[i]);
      const T s = clamp_share(-dot(N, e[i]), ee[i]);
      const Vec3<T> v = N + e[i] * s;
      best = nearer(Face<T>{dot(v, v), v, {s, zero}, {T(double(i)), T(-1.0)}}, best);
    }
    T inside = one;
    for (int k = 0; k < 3; ++k) {
      const int i = k == 0 ? 1 : 0, j = k == 2 ? 1 : 2;  // the face without corner k
      const Vec3<T> n = cross(e[i], e[j]);
      const T nn = dot(n, n), height = dot(N, n);
      const T flat = ee[i] * ee[j] * 1e-26;
      const T inverse = one / select_lt(flat, nn, nn, one);
      const T s = -dot(cross(N, e[j]), n) * inverse, t = -dot(cross(e[i], N), n) * inverse;
      T within = select_lt(flat, nn, smaller(smaller(s, t), one - s - t), T(-1.0));
      const Vec3<T> v = n * (height * inverse);
      const T vv = select_lt(zero, within, height * height * inverse, huge);
      best = nearer(Face<T>{vv, v, {s, t}, {T(double(i)), T(double(j))}}, best);
      inside = select_lt(flat, nn, select_lt(height * dot(e[k], n), zero, inside, zero), zero);
    }
    at.overlap = select_lt(zero, open * inside, one, at.overlap);
    open = select_lt(zero, at.overlap, zero, open);
    // Only a nearer point is accepted, so rounding ends the search.
    open = select_lt(best.square, square, open, zero);
    const Difference<T> second = corner_at(best.index[0], at, newest), third = corner_at(best.index[1], at, newest);
    at.corner[0] = select_lt(zero, open, newest, at.corner[0]);
    at.corner[1] = select_lt(zero, open, second, at.corner[1]);
    at.corner[2] = select_lt(zero, open, third, at.corner[2]);
    at.share[0] = select_lt(zero, open, one - best.share[0] - best.share[1], at.share[0]);
    at.share[1] = select_lt(zero, open, best.share[0], at.share[1]);
    at.share[2] = select_lt(zero, open, best.share[1], at.share[2]);
    at.v = select_lt(zero, open, best.v, at.v);
    square = select_lt(zero, open, best.square, square);
    if (!any_set(open)) break;
  }
  at.distance = sqrt_(square);
  return at;
}

}  // namespace MBT_NS
