// How far convex shapes that overlap must be moved until they only touch: the face of B - A that is nearest to the origin.
//
// G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", GDC 2001. A polytope within
// B - A grows where a face of it is nearest: that gives a lower bound of the depth, and a plane across its normal an upper one.
// It begins as the tetrahedron in which GJK found the origin.
#pragma once

#include <cmath>

#include "geometry/gjk.hpp"

namespace MBT_NS {

class Polytope {
 public:
  Polytope(const ConvexPair<double>& pair, double scale, double tolerance)
      : pair_(pair), scale_(scale), tolerance_(tolerance) {}

  // Find the normal from A to B across which planes touch that are least deep in one another, and how deep. True: the last
  // side was broad enough to tell the last digits of it, and a point of A.
  bool expand(const Nearest<double>& at, CoreWitness<double>* best) {
    best->distance = -1e300;
    best->n = {0.0, 0.0, 1.0};
    if (!start_from(at) && !start(&best->n)) return false;
    while (true) {
      const int nearest = nearest_side();
      if (nearest < 0) return false;
      const Side& side = sides_[nearest];
      const Difference<double> newest = farthest_difference(pair_, -side.normal);
      const double reach = dot(newest.w, side.normal);
      const bool is_best = -reach > best->distance;
      if (is_best) {
        best->distance = -reach;
        best->n = -side.normal;
      }
      if (reach - side.offset <= tolerance_ * scale_) return is_best && find_point(side, &best->a);
      if (count_ == kMostCorners) return false;
      corners_[count_++] = newest;
      if (!grow(count_ - 1, nearest)) return false;
    }
  }

 private:
  static constexpr int kMostCorners = 256;
  static constexpr int kMostSides = 2 * kMostCorners;
  struct Side {
    int corner[3];        // counterclockwise seen from outside
    int beside[3];        // sides beyond the edges from each corner to the next
    bool is_seen;         // from the newest corner
    Vec3<double> normal;  // outward
    double offset;        // of the plane along it
  };
  struct Edge {
    int from, to, side;   // the side that stays
  };

  MBT_NOINLINE void put_side(int s, int i, int j, int k) {
    const Vec3<double>&a = corners_[i].w, &b = corners_[j].w, &c = corners_[k].w;
    const Vec3<double> u = b - a, v = c - a, n = cross(u, v);
    const double nn = dot(n, n);
    Side& side = sides_[s];
    side.corner[0] = i;
    side.corner[1] = j;
    side.corner[2] = k;
    side.is_seen = false;
    side.offset = 1e300;
    if (nn > 1e-26 * dot(u, u) * dot(v, v)) {
      side.normal = n * (1.0 / std::sqrt(nn));
      side.offset = dot(side.normal, a + b + c) * (1.0 / 3.0);
    }
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

  // Where a side is nearest to the origin, by the areas of the three triangles that this point makes with its edges; is it
  // broad, and the point on it?
  bool find_point(const Side& side, Vec3<double>* a) const {
    const Difference<double>&i = corners_[side.corner[0]], &j = corners_[side.corner[1]], &k = corners_[side.corner[2]];
    const Vec3<double> u = j.w - i.w, v = k.w - i.w, n = cross(u, v), p = side.normal * side.offset - i.w;
    const double nn = dot(n, n), s = dot(cross(p, v), n) / nn, t = dot(cross(u, p), n) / nn, r = 1.0 - s - t;
    const double longest = larger(larger(dot(u, u), dot(v, v)), dot(v - u, v - u));
    *a = i.a * r + j.a * s + k.a * t;
    return smaller(smaller(r, s), t) > -1e-13 && nn > 1e-4 * scale_ * scale_ * longest;
  }

  // The corners that GJK had, with its next one.
  MBT_NOINLINE bool start_from(const Nearest<double>& at) {
    for (int i = 0; i < 3; ++i) corners_[i] = at.corner[i];
    corners_[3] = farthest_difference(pair_, at.v);
    close();
    for (int s = 0; s < 4; ++s)
      if (!(sides_[s].offset >= 0.0 && sides_[s].offset < 1e299)) return false;
    return true;
  }
  // The sides of the first four corners.
  MBT_NOINLINE void close() {
    static const int kBeside[4][3] = {{2, 3, 1}, {0, 3, 2}, {1, 3, 0}, {2, 1, 0}};
    const Vec3<double> n = cross(corners_[1].w - corners_[0].w, corners_[2].w - corners_[0].w);
    const bool turned = dot(corners_[3].w - corners_[0].w, n) > 0.0;
    const int j = turned ? 2 : 1, k = turned ? 1 : 2;
    count_ = num_sides_ = 4;
    put_side(0, 0, j, k);
    put_side(1, 0, k, 3);
    put_side(2, 0, 3, j);
    put_side(3, j, 3, k);
    for (int s = 0; s < 4; ++s)
      for (int e = 0; e < 3; ++e) sides_[s].beside[e] = kBeside[s][e];
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
    if (!extend(*across_all, 3)) return false;
    close();
    return true;
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
  MBT_NOINLINE bool grow(int corner, int nearest) {
    const Vec3<double>& w = corners_[corner].w;
    Edge rim[kMostSides];
    int seen[kMostSides], num_seen = 1, num_edges = 0, first[kMostCorners];
    seen[0] = nearest;
    sides_[nearest].is_seen = true;
    for (int s = 0; s < num_seen; ++s)
      for (int e = 0; e < 3; ++e) {
        const Side& side = sides_[seen[s]];
        const int other = side.beside[e];
        Side& next = sides_[other];
        if (next.is_seen) continue;
        if (next.offset > 1e299 || dot(next.normal, w) - next.offset > -1e-15 * scale_) {
          next.is_seen = true;
          seen[num_seen++] = other;
        } else {
          if (num_edges == kMostSides) return false;
          rim[num_edges++] = {side.corner[e], side.corner[e == 2 ? 0 : e + 1], other};
        }
      }
    // New sides take the places of those that go.
    for (int e = 0; e < num_edges; ++e) first[rim[e].from] = first[rim[e].to] = -1;
    for (int e = 0; e < num_edges; ++e) {
      if (e == num_seen) {
        if (num_sides_ == kMostSides) return false;
        seen[num_seen++] = num_sides_++;
      }
      if (first[rim[e].from] >= 0) return false;
      first[rim[e].from] = seen[e];
      put_side(seen[e], rim[e].from, rim[e].to, corner);
    }
    for (int e = num_edges; e < num_seen; ++e) sides_[seen[e]].offset = 1e300;
    for (int e = 0; e < num_edges; ++e) {
      const Edge& edge = rim[e];
      const int after = first[edge.to];
      if (after < 0) return false;
      sides_[seen[e]].beside[0] = edge.side;
      sides_[seen[e]].beside[1] = after;
      sides_[after].beside[2] = seen[e];
      Side& stays = sides_[edge.side];
      stays.beside[stays.corner[0] == edge.to ? 0 : stays.corner[1] == edge.to ? 1 : 2] = seen[e];
    }
    return num_edges > 2;
  }

  const ConvexPair<double>& pair_;
  double scale_, tolerance_;
  int count_ = 0, num_sides_ = 0;
  Difference<double> corners_[kMostCorners];
  Side sides_[kMostSides];
};

[[maybe_unused]] static MBT_NOINLINE bool find_deepest(
    const ConvexPair<double>& pair, const Nearest<double>& at, double tolerance, CoreWitness<double>* best) {
  Polytope polytope(pair, at.scale, tolerance);
  return polytope.expand(at, best);
}

}  // namespace MBT_NS
