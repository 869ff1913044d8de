// How far convex shapes that overlap must be moved until they only touch: the face of B - A that is nearest to the origin.
//
// G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", GDC 2001. A polytope within
// B - A grows where a face of it is nearest: that gives a lower bound of the depth, and a plane across its normal an upper one.
// It begins as the tetrahedron in which GJK found the origin.
#pragma once

#include <cmath>
#include <utility>

#include "geometry/gjk.hpp"

namespace MBT_NS {

struct Deepest {
  Vec3<double> n;  // from A to B, across which planes touch that are least deep in one another
  Vec3<double> a;  // a point of A on its plane, if
  bool is_sure;    // the last side is broad enough to tell it, and n to the last digits
};

class Polytope {
 public:
  Polytope(const ConvexPair<double>& pair, double scale, double tolerance)
      : pair_(pair), scale_(scale), tolerance_(tolerance) {}

  Deepest expand(const Nearest<double>& at) {
    double depth = 1e300;
    Deepest best = {{0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}, false};
    if (!start_from(at) && !start(&best.n)) return best;
    while (true) {
      const int nearest = nearest_side();
      if (nearest < 0) return best;
      const Side& side = sides_[nearest];
      const Difference<double> newest = farthest_difference(pair_, -side.normal);
      const double reach = dot(newest.w, side.normal);
      const bool is_best = reach < depth, is_last = reach - side.offset <= tolerance_ * scale_;
      if (is_best) {
        depth = reach;
        best.n = -side.normal;
      }
      if (is_last && is_best) put_point(side, &best);
      if (is_last || count_ == kMostCorners) return best;
      corners_[count_++] = newest;
      if (!grow(count_ - 1, nearest)) return best;
    }
  }

 private:
  static constexpr int kMostCorners = 128;
  static constexpr int kMostSides = 2 * kMostCorners;
  static constexpr int kMostEdges = 3 * kMostCorners;
  struct Side {
    int i, j, k;          // corners, counterclockwise seen from outside
    Vec3<double> normal;  // outward
    double offset;        // of the plane along it
  };
  struct Edge {
    int i, j;
  };

  bool add(int i, int j, int k) {
    if (num_sides_ == kMostSides) return false;
    const Vec3<double>&a = corners_[i].w, &b = corners_[j].w, &c = corners_[k].w;
    const Vec3<double> u = b - a, v = c - a, n = cross(u, v);
    const double nn = dot(n, n);
    Side side = {i, j, k, {0.0, 0.0, 0.0}, 1e300};
    if (nn > 1e-26 * dot(u, u) * dot(v, v)) {
      side.normal = n * (1.0 / std::sqrt(nn));
      side.offset = dot(side.normal, a + b + c) * (1.0 / 3.0);
    }
    sides_[num_sides_++] = side;
    return true;
  }

  int nearest_side() const {
    int nearest = -1;
    double least = 1e299;
    for (int s = 0; s < num_sides_; ++s)
      if (sides_[s].offset < least) {
        least = sides_[s].offset;
        nearest = s;
      }
    return nearest;
  }

  // Where the origin is nearest to a side, by the areas of the three triangles that it makes there.
  void put_point(const Side& side, Deepest* best) const {
    const Difference<double>&i = corners_[side.i], &j = corners_[side.j], &k = corners_[side.k];
    const Vec3<double> u = j.w - i.w, v = k.w - i.w, n = cross(u, v), p = side.normal * side.offset - i.w;
    const double nn = dot(n, n), s = dot(cross(p, v), n) / nn, t = dot(cross(u, p), n) / nn, r = 1.0 - s - t;
    const double longest = larger(larger(dot(u, u), dot(v, v)), dot(v - u, v - u));
    best->a = i.a * r + j.a * s + k.a * t;
    best->is_sure = smaller(smaller(r, s), t) > -1e-13 && nn > 1e-4 * scale_ * scale_ * longest;
  }

  // The corners that GJK had, with its next one.
  bool start_from(const Nearest<double>& at) {
    for (int i = 0; i < 3; ++i) corners_[i] = at.corner[i];
    corners_[3] = farthest_difference(pair_, at.v);
    if (!close()) return false;
    for (int s = 0; s < 4; ++s)
      if (!(sides_[s].offset >= 0.0 && sides_[s].offset < 1e299)) return false;
    return true;
  }
  // The sides of the first four corners.
  bool close() {
    const Vec3<double> n = cross(corners_[1].w - corners_[0].w, corners_[2].w - corners_[0].w);
    const bool turned = dot(corners_[3].w - corners_[0].w, n) > 0.0;
    const int j = turned ? 2 : 1, k = turned ? 1 : 2;
    count_ = 4;
    num_sides_ = 0;
    return add(0, j, k) && add(0, k, 3) && add(0, 3, j) && add(j, 3, k);
  }
  // A tetrahedron that has a volume. Where B - A is flat there is none, and *across_all is across it.
  bool start(Vec3<double>* across_all) {
    const Vec3<double> directions[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    double widest = 0.0;
    for (const Vec3<double>& d : directions) {
      const Difference<double> x = farthest_difference(pair_, d), y = farthest_difference(pair_, -d);
      const Vec3<double> e = y.w - x.w;
      if (dot(e, e) > widest) {
        widest = dot(e, e);
        corners_[0] = x;
        corners_[1] = y;
      }
    }
    if (!(widest > 0.0)) return false;
    const Vec3<double> u = (corners_[1].w - corners_[0].w) / std::sqrt(widest);
    *across_all = across(u);
    if (!extend(*across_all, 2) && !extend(cross(u, *across_all), 2)) return false;
    const Vec3<double> n = cross(u, corners_[2].w - corners_[0].w);
    *across_all = n / std::sqrt(dot(n, n));
    return extend(*across_all, 3) && close();
  }
  // The corner that is farther from corner 0 of the two along d and against it.
  bool extend(const Vec3<double>& d, int corner) {
    const Difference<double> x = farthest_difference(pair_, d), y = farthest_difference(pair_, -d);
    const double below = -dot(x.w - corners_[0].w, d), above = dot(y.w - corners_[0].w, d);
    corners_[corner] = below > above ? x : y;
    return larger(below, above) > 1e-12 * scale_;
  }

  // Replace the sides that the corner sees by those between it and their rim: that at `nearest`, and those that hang
  // together with it. Others that are on the plane of the corner stay.
  bool grow(int corner, int nearest) {
    const Vec3<double>& w = corners_[corner].w;
    int seen[kMostSides], num_seen = 1, together = 1, num_edges = 0;
    seen[0] = nearest;
    for (int s = 0; s < num_sides_; ++s) {
      const Side& side = sides_[s];
      const double height = side.offset < 1e299 ? dot(side.normal, w) - side.offset : 1.0;
      if (s != nearest && height > -1e-15 * scale_) seen[num_seen++] = s;
    }
    for (int s = 0; s < together; ++s)
      for (int t = together; t < num_seen; ++t)
        if (have_an_edge(sides_[seen[s]], sides_[seen[t]])) std::swap(seen[t], seen[together++]);
    for (int s = 0; s < together; ++s) {
      Side& side = sides_[seen[s]];
      num_edges = toggle(num_edges, side.i, side.j);
      num_edges = toggle(num_edges, side.j, side.k);
      num_edges = toggle(num_edges, side.k, side.i);
      if (num_edges < 0) return false;
      side.i = -1;
    }
    int kept = 0;
    for (int s = 0; s < num_sides_; ++s)
      if (sides_[s].i >= 0) sides_[kept++] = sides_[s];
    num_sides_ = kept;
    for (int e = 0; e < num_edges; ++e)
      if (!add(edges_[e].i, edges_[e].j, corner)) return false;
    return num_edges > 2;
  }
  static bool have_an_edge(const Side& a, const Side& b) {
    return has_edge(b, a.j, a.i) || has_edge(b, a.k, a.j) || has_edge(b, a.i, a.k);
  }
  static bool has_edge(const Side& a, int i, int j) {
    return (a.i == i && a.j == j) || (a.j == i && a.k == j) || (a.k == i && a.i == j);
  }
  // An edge that both its sides lose is not on the rim.
  int toggle(int num_edges, int i, int j) {
    if (num_edges < 0) return num_edges;
    for (int e = 0; e < num_edges; ++e)
      if (edges_[e].i == j && edges_[e].j == i) {
        edges_[e] = edges_[num_edges - 1];
        return num_edges - 1;
      }
    if (num_edges == kMostEdges) return -1;
    edges_[num_edges] = {i, j};
    return num_edges + 1;
  }

  const ConvexPair<double>& pair_;
  double scale_, tolerance_;
  int count_ = 0, num_sides_ = 0;
  Difference<double> corners_[kMostCorners];
  Side sides_[kMostSides];
  Edge edges_[kMostEdges];
};

[[maybe_unused]] static MBT_NOINLINE Deepest find_deepest(
    const ConvexPair<double>& pair, const Nearest<double>& at, double tolerance) {
  Polytope polytope(pair, at.scale, tolerance);
  return polytope.expand(at);
}

}  // namespace MBT_NS
