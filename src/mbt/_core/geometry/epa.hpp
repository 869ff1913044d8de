// Penetration depth of convex shapes that overlap: the face of B - A that is nearest to the origin.
//
// G. van den Bergen, "Proximity queries and penetration depth computation on 3D game objects", GDC 2001. A polytope
// within B - A is expanded at its nearest face, which gives a lower bound of the depth; the supporting plane with the
// same normal gives an upper one. It starts as the tetrahedron in which GJK found the origin.
#pragma once

#include <cmath>

#include "geometry/gjk.hpp"

namespace MBT_NS {

struct PolytopeSide {
  short corner[3];      // counterclockwise seen from outside
  short beside[3];      // across the edge to the next corner: 4 times the side there, plus the index of its edge
  bool is_seen;         // from the newest corner
  Vec3<double> normal;  // outward
  double offset;        // of its plane along the normal
};

static constexpr int kFewCorners = 32, kMostCorners = 256;  // few are enough for most pairs

template <int num_corners>
struct PolytopeRoom {
  static constexpr int kNumCorners = num_corners;
  Difference<double> corners[num_corners];
  PolytopeSide sides[2 * num_corners];
};

class Polytope {
 public:
  CoreWitness<double> best;  // the supporting planes with this normal from A to B overlap least
  bool is_exact;             // the last side was broad enough for all digits of its normal, and a point of A
  bool is_full;              // the storage for corners is used up

  // Whether there is something to expand.
  bool begin(const ConvexPair<double>& pair, const Nearest<double>& at, double tolerance, PolytopeRoom<kFewCorners>* room) {
    pair_ = &pair;
    scale_ = at.scale;
    tolerance_ = tolerance;
    best.distance = -1e300;
    best.n = {0.0, 0.0, 1.0};
    is_exact = is_full = false;
    use(room);
    return start_from(at) || start(&best.n);
  }
  void move_to(PolytopeRoom<kMostCorners>* room) {
    for (int i = 0; i < count_; ++i) room->corners[i] = corners_[i];
    for (int s = 0; s < num_sides_; ++s) room->sides[s] = sides_[s];
    is_full = false;
    use(room);
  }

  // The three parts of a step; false if nothing more is to be done.
  bool choose_side() {
    nearest_ = nearest_side();
    return nearest_ >= 0;
  }
  void find_corner() { newest_ = farthest_difference(*pair_, -sides_[nearest_].normal); }
  bool add_corner() {
    const PolytopeSide& side = sides_[nearest_];
    const double reach = dot(newest_.w, side.normal);
    const bool is_best = -reach > best.distance;
    if (is_best) {
      best.distance = -reach;
      best.n = -side.normal;
    }
    if (reach - side.offset <= tolerance_ * scale_) {
      is_exact = is_best && find_point(side, &best.a);
      return false;
    }
    is_full = count_ == most_corners_;
    if (is_full) return false;
    corners_[count_++] = newest_;
    return grow(count_ - 1, nearest_);
  }

 private:
  static constexpr int kMostSides = 2 * kMostCorners;

  template <class Room>
  void use(Room* room) {
    corners_ = room->corners;
    sides_ = room->sides;
    most_corners_ = Room::kNumCorners;
  }

  // Set a side with these corners; a and b are the edges from the last one to the others, aa and bb their squares.
  MBT_INLINE void put_side(int s, const int (&corner)[3], const Vec3<double>& a, double aa, const Vec3<double>& b, double bb) {
    const Vec3<double> n = cross(a, b);
    const double nn = dot(n, n);
    PolytopeSide& side = sides_[s];
    for (int e = 0; e < 3; ++e) side.corner[e] = corner[e];
    side.is_seen = false;
    side.offset = 1e300;
    if (nn > 1e-26 * aa * bb) {
      side.normal = n * (1.0 / std::sqrt(nn));
      side.offset = dot(side.normal, a + b) * (1.0 / 3.0) + dot(side.normal, corners_[corner[2]].w);
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

  // The point of a side nearest to the origin, from the areas of the three triangles that it forms with the edges.
  // Returns whether the side is broad and the point is on it.
  bool find_point(const PolytopeSide& side, Vec3<double>* a) const {
    const Difference<double>&i = corners_[side.corner[0]], &j = corners_[side.corner[1]], &k = corners_[side.corner[2]];
    const Vec3<double> u = j.w - i.w, v = k.w - i.w, n = cross(u, v), p = side.normal * side.offset - i.w;
    const double nn = dot(n, n), s = dot(cross(p, v), n) / nn, t = dot(cross(u, p), n) / nn, r = 1.0 - s - t;
    const double longest = larger(larger(dot(u, u), dot(v, v)), dot(v - u, v - u));
    *a = i.a * r + j.a * s + k.a * t;
    return smaller(smaller(r, s), t) > -1e-13 && nn > 1e-4 * scale_ * scale_ * longest;
  }

  // Start from the corners of GJK and its next one.
  MBT_NOINLINE bool start_from(const Nearest<double>& at) {
    for (int i = 0; i < 3; ++i) corners_[i] = at.corner[i];
    corners_[3] = farthest_difference(*pair_, at.v);
    close();
    for (int s = 0; s < 4; ++s)
      if (!(sides_[s].offset >= 0.0 && sides_[s].offset < 1e299)) return false;
    return true;
  }
  // Set the sides of the first four corners.
  MBT_NOINLINE void close() {
    static const int kBeside[4][3] = {{10, 14, 4}, {2, 13, 8}, {6, 12, 0}, {9, 5, 1}};
    const Vec3<double> n = cross(corners_[1].w - corners_[0].w, corners_[2].w - corners_[0].w);
    const bool turned = dot(corners_[3].w - corners_[0].w, n) > 0.0;
    const int j = turned ? 2 : 1, k = turned ? 1 : 2;
    count_ = num_sides_ = 4;
    const int corners[4][3] = {{0, j, k}, {0, k, 3}, {0, 3, j}, {j, 3, k}};
    for (int s = 0; s < 4; ++s) {
      const int(&c)[3] = corners[s];
      const Vec3<double>& w = corners_[c[2]].w, a = corners_[c[0]].w - w, b = corners_[c[1]].w - w;
      put_side(s, c, a, dot(a, a), b, dot(b, b));
      for (int e = 0; e < 3; ++e) sides_[s].beside[e] = kBeside[s][e];
    }
  }
  // Find a tetrahedron with nonzero volume. If B - A is flat there is none, and *across_all is its normal.
  bool start(Vec3<double>* across_all) {
    const Vec3<double> directions[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    double widest = 0.0;
    for (const Vec3<double>& d : directions) {
      const Difference<double> x = farthest_difference(*pair_, d), y = farthest_difference(*pair_, -d);
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
  // Of the support points along d and -d, take the one farther from corner 0.
  bool extend(const Vec3<double>& d, int corner) {
    const Difference<double> x = farthest_difference(*pair_, d), y = farthest_difference(*pair_, -d);
    const double below = -dot(x.w - corners_[0].w, d), above = dot(y.w - corners_[0].w, d);
    corners_[corner] = below > above ? x : y;
    return larger(below, above) > 1e-12 * scale_;
  }

  static int next_edge(int e) { return e == 2 ? 0 : e + 1; }

  // Replace the sides visible from the corner, the one at `nearest` and those connected to it, by sides between the
  // corner and their rim. Other sides whose plane contains the corner stay.
  MBT_NOINLINE bool grow(int corner, int nearest) {
    const Vec3<double>& w = corners_[corner].w;
    int ahead[kMostSides + 3], rim[kMostSides], seen[kMostSides], num_ahead = 3, num_edges = 0, num_seen = 1;
    seen[0] = nearest;
    sides_[nearest].is_seen = true;
    // Go around the visible sides counterclockwise, so that the rim is in order.
    for (int e = 0; e < 3; ++e) ahead[e] = sides_[nearest].beside[2 - e];
    while (num_ahead > 0) {
      const int edge = ahead[--num_ahead], e = next_edge(edge & 3);
      PolytopeSide& side = sides_[edge >> 2];
      if (side.is_seen) continue;
      if (side.offset > 1e299 || dot(side.normal, w) - side.offset > -1e-15 * scale_) {
        side.is_seen = true;
        seen[num_seen++] = edge >> 2;
        ahead[num_ahead++] = side.beside[next_edge(e)];
        ahead[num_ahead++] = side.beside[e];
      } else {
        if (num_edges == kMostSides) return false;
        rim[num_edges++] = edge;
      }
    }
    // New sides reuse the slots of removed ones.
    for (int e = num_edges; e < num_seen; ++e) sides_[seen[e]].offset = 1e300;
    while (num_seen < num_edges) {
      if (num_sides_ == 2 * most_corners_) return false;
      seen[num_seen++] = num_sides_++;
    }
    if (num_edges < 3) return false;
    int before = num_edges - 1, from = sides_[rim[before] >> 2].corner[rim[before] & 3];
    Vec3<double> a = corners_[from].w - w;
    double aa = dot(a, a);
    for (int e = 0; e < num_edges; ++e) {
      const int s = seen[e], edge = rim[e] & 3, after = seen[e + 1 == num_edges ? 0 : e + 1];
      PolytopeSide& stays = sides_[rim[e] >> 2];
      if (stays.corner[next_edge(edge)] != from) return false;
      const int to = stays.corner[edge];
      const Vec3<double> b = corners_[to].w - w;
      const double bb = dot(b, b);
      put_side(s, {from, to, corner}, a, aa, b, bb);
      sides_[s].beside[0] = rim[e];
      sides_[s].beside[1] = 4 * after + 2;
      sides_[s].beside[2] = 4 * seen[before] + 1;
      stays.beside[edge] = 4 * s;
      before = e;
      from = to;
      a = b;
      aa = bb;
    }
    return true;
  }

  const ConvexPair<double>* pair_;
  double scale_, tolerance_;
  int most_corners_, count_, num_sides_, nearest_;
  Difference<double> newest_, *corners_;
  PolytopeSide* sides_;
};

// In turns, so that the processor works on one while it waits for another: this saves a tenth of the time.
static MBT_NOINLINE void expand(Polytope** growing, int count) {
  while (count > 0) {
    int left = 0;
    for (int i = 0; i < count; ++i)
      if (growing[i]->choose_side()) growing[left++] = growing[i];
    for (int i = 0; i < left; ++i) growing[i]->find_corner();
    count = 0;
    for (int i = 0; i < left; ++i)
      if (growing[i]->add_corner()) growing[count++] = growing[i];
  }
}

static MBT_NOINLINE void expand_far(Polytope* polytope) {
  PolytopeRoom<kMostCorners> room;
  polytope->move_to(&room);
  expand(&polytope, 1);
}

// For those of at most MBT_W pairs that overlap.
[[maybe_unused]] static MBT_NOINLINE void find_deepest(
    int count, const ConvexPair<double>* pairs, const Nearest<double>* at, double tolerance, Polytope* deepest) {
  PolytopeRoom<kFewCorners> rooms[MBT_W];
  Polytope* growing[MBT_W];
  int num_growing = 0;
  for (int i = 0; i < count; ++i)
    if (at[i].overlap != 0.0 && deepest[i].begin(pairs[i], at[i], tolerance, rooms + i)) growing[num_growing++] = deepest + i;
  expand(growing, num_growing);
  for (int i = 0; i < count; ++i)
    if (at[i].overlap != 0.0 && deepest[i].is_full) expand_far(deepest + i);
}

}  // namespace MBT_NS
