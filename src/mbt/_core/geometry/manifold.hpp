// Where two shapes touch: up to four points of a pair, from its distance and its normal.
//
// Each shape shows the other an outline across the normal: a face, a segment, or nothing but the nearest point. One outline is
// clipped at the other; at each corner that is left, the surfaces are as far apart, along the normal, as they are there.
// Against formulas in NumPy: tests/geometry/test_contact_points.py.
#pragma once

#include <cmath>

#include "scalars/real.hpp"

#include "geometry/scene.hpp"
#include "geometry/shapes.hpp"

namespace MBT_NS {

static constexpr int kMostSpots = 4;     // of a pair
static constexpr int kMostCorners = 16;  // of an outline; clipping adds as many
static constexpr double kFlat = 0.7;     // the least cosine between a face and the normal
static constexpr double kParallel = 0.1; // the largest sine between segments that touch in more than a point
static constexpr double kNoLength = 1e-5;  // beside the size of the outlines

// x and y across the normal, z along it, from the nearest point of A on.
struct Corner {
  double x, y, z;
};

struct Outline {
  int count;  // of corners: counterclockwise, the ends of a segment, or none
  Corner at[2 * kMostCorners];
};

// A point of a pair: where it is, and how far the surfaces are apart there.
struct Spot {
  double x, y, z, gap;
};

struct NormalFrame {
  Vec3<double> origin, s, t, n;
};

static inline void add_corner(const NormalFrame& f, const Vec3<double>& p_W, Outline* to) {
  const Vec3<double> r = p_W - f.origin;
  to->at[to->count++] = {dot(r, f.s), dot(r, f.t), dot(r, f.n)};
}

// What a shape shows in the direction d, in World; of a hull the corners that are less than `depth` below its top.
static Outline outline_of(
    int kind, const PlacedShape<double>& shape, const Vec3<double>& d_W, const NormalFrame& f, double depth) {
  Outline out;
  out.count = 0;
  const Vec3<double> d = rotate_back(shape.R, d_W);
  const double* size = shape.size;
  const double across = std::sqrt(d.x * d.x + d.y * d.y);
  switch (kind) {
    case CAPSULE:
      for (int side = -1; side <= 1; side += 2)
        add_corner(f, shape.p + axis_z(shape.R) * (side * size[1]) + d_W * size[0], &out);
      break;
    case BOX: {
      const double length[3] = {std::fabs(d.x), std::fabs(d.y), std::fabs(d.z)}, along[3] = {d.x, d.y, d.z};
      const int k = length[0] > length[1] ? (length[0] > length[2] ? 0 : 2) : length[1] > length[2] ? 1 : 2;
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      const double signs[4][2] = {{1.0, 1.0}, {-1.0, 1.0}, {-1.0, -1.0}, {1.0, -1.0}};
      for (int corner = 0; corner < 4; ++corner) {
        double p[3];
        p[k] = sign_of(along[k]) * size[k];
        p[i] = signs[corner][0] * size[i];
        p[j] = signs[corner][1] * size[j];
        add_corner(f, shape.p + shape.R * vector_at(p), &out);
      }
      break;
    }
    case CYLINDER: {
      const double x = across > 1e-12 ? d.x / across : 1.0, y = across > 1e-12 ? d.y / across : 0.0, r = size[0];
      if (std::fabs(d.z) < kFlat) {
        for (int side = -1; side <= 1; side += 2)
          add_corner(f, shape.p + shape.R * Vec3<double>{r * x, r * y, side * size[1]}, &out);
        break;
      }
      // Eight points of a rim, of which the first one reaches farthest.
      const double c = 0.70710678118654752;
      const double turns[8][2] = {{1, 0}, {c, c}, {0, 1}, {-c, c}, {-1, 0}, {-c, -c}, {0, -1}, {c, -c}};
      for (int i = 0; i < 8; ++i) {
        const double* u = turns[i];
        const Vec3<double> rim = {r * (u[0] * x - u[1] * y), r * (u[0] * y + u[1] * x), sign_of(d.z) * size[1]};
        add_corner(f, shape.p + shape.R * rim, &out);
      }
      break;
    }
    case HULL: {
      double top = -INFINITY;
      for (int i = 0; i < shape.count; ++i) top = larger(top, dot(vector_at(shape.vertices + 3 * i), d));
      const Vec3<double> s = rotate_back(shape.R, f.s), t = rotate_back(shape.R, f.t);
      int last = -1, first = -1;
      for (int k = 0; k < kMostCorners; ++k) {
        const double angle = 2.0 * 3.14159265358979323846 / kMostCorners * (k + 0.25);
        const Vec3<double> u = s * std::cos(angle) + t * std::sin(angle);
        double best = -INFINITY;
        int found = -1;
        for (int i = 0; i < shape.count; ++i) {
          const Vec3<double> p = vector_at(shape.vertices + 3 * i);
          if (dot(p, d) < top - depth) continue;
          const double value = dot(p, u);
          if (value <= best) continue;
          best = value;
          found = i;
        }
        if (found < 0 || found == last || found == first) continue;
        if (first < 0) first = found;
        last = found;
        add_corner(f, shape.p + shape.R * vector_at(shape.vertices + 3 * found), &out);
      }
      break;
    }
    default:
      break;
  }
  return out;
}

// A plane over the outline: its height at x = y = 0, and its slopes.
struct Slope {
  double height, x, y;
  double cosine;  // between its normal and the normal of the pair; 0 where it is no face
};

// By Newell's method. Turns corners that are clockwise.
static Slope fit_plane(Outline* a) {
  if (a->count < 3) return {0.0, 0.0, 0.0, 0.0};
  Vec3<double> n = {0.0, 0.0, 0.0}, c = n;
  for (int i = 0; i < a->count; ++i) {
    const Corner &p = a->at[i], &q = a->at[(i + 1) % a->count];
    n.x += (p.y - q.y) * (p.z + q.z);
    n.y += (p.z - q.z) * (p.x + q.x);
    n.z += (p.x - q.x) * (p.y + q.y);
    c = c + Vec3<double>{p.x, p.y, p.z};
  }
  c = c / double(a->count);
  if (n.z < 0.0) {
    n = -n;
    for (int i = 0, j = a->count - 1; i < j; ++i, --j) {
      const Corner swap = a->at[i];
      a->at[i] = a->at[j];
      a->at[j] = swap;
    }
  }
  const double length = std::sqrt(dot(n, n));
  if (!(n.z > kFlat * length)) return {0.0, 0.0, 0.0, 0.0};
  const double x = -n.x / n.z, y = -n.y / n.z;
  return {c.z - x * c.x - y * c.y, x, y, n.z / length};
}

static double extent_of(const Outline& a) {
  double extent = 0.0;
  for (int i = 0; i < a.count; ++i)
    extent = larger(extent, larger(std::fabs(a.at[i].x), std::fabs(a.at[i].y)));
  return extent;
}

// I. Sutherland, G. Hodgman, "Reentrant Polygon Clipping", Comm. ACM 17 (1974): what of an outline is over another one.
static Outline clip_outline(const Outline& a, const Outline& at, double slack) {
  Outline now = a;
  for (int i = 0; i < at.count && now.count; ++i) {
    const Corner &p = at.at[i], &q = at.at[(i + 1) % at.count];
    const double ex = q.x - p.x, ey = q.y - p.y, length = std::sqrt(ex * ex + ey * ey);
    if (!(length > 0.0)) continue;
    const Outline before = now;
    now.count = 0;
    for (int k = 0; k < before.count; ++k) {
      const Corner &b = before.at[k], &c = before.at[(k + 1) % before.count];
      const double inside_b = (ex * (b.y - p.y) - ey * (b.x - p.x)) / length;
      const double inside_c = (ex * (c.y - p.y) - ey * (c.x - p.x)) / length;
      if (inside_b >= -slack) now.at[now.count++] = b;
      if ((inside_b >= -slack) != (inside_c >= -slack) && now.count < 2 * kMostCorners) {
        const double share = smaller(larger(inside_b / (inside_b - inside_c), 0.0), 1.0);
        now.at[now.count++] = {b.x + share * (c.x - b.x), b.y + share * (c.y - b.y), b.z + share * (c.z - b.z)};
      }
      if (now.count == 2 * kMostCorners) break;
    }
  }
  return now;
}

// Segments that are almost parallel: where the ends of one are beside the other. Surfaces are round, of two radii together.
static int pair_segments(const Outline& a, const Outline& b, double radii, Spot* out) {
  int count = 0;
  const double ux = a.at[1].x - a.at[0].x, uy = a.at[1].y - a.at[0].y, uu = ux * ux + uy * uy;
  const double vx = b.at[1].x - b.at[0].x, vy = b.at[1].y - b.at[0].y, vv = vx * vx + vy * vy;
  const double sine = ux * vy - uy * vx;
  if (!(sine * sine < kParallel * kParallel * uu * vv)) return 0;
  for (int end = 0; end < 4; ++end) {
    const Corner &p = end < 2 ? a.at[end] : b.at[end - 2], &q = (end < 2 ? b : a).at[0];
    const double dx = end < 2 ? vx : ux, dy = end < 2 ? vy : uy, dd = end < 2 ? vv : uu;
    const double dz = end < 2 ? b.at[1].z - b.at[0].z : a.at[1].z - a.at[0].z;
    const double share = ((p.x - q.x) * dx + (p.y - q.y) * dy) / dd;
    if (!(share >= -kNoLength && share <= 1.0 + kNoLength)) continue;
    const double x = q.x + share * dx, y = q.y + share * dy, z = q.z + share * dz;
    const double aside = (p.x - x) * (p.x - x) + (p.y - y) * (p.y - y);
    const double gap = (end < 2 ? z - p.z : p.z - z) + aside / (2.0 * radii);
    out[count++] = {0.5 * (p.x + x), 0.5 * (p.y + y), 0.5 * (p.z + z), gap};
  }
  return count;
}

static double area_between(const Spot& a, const Spot& b, const Spot& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The four that span most: the deepest, the one farthest from it, and on both sides of these.
static int choose_spots(int count, const Spot* from, double size, Spot* to) {
  const double least = kNoLength * size, more = 1.0 + 1e-9;
  int first = 0, second = -1, sides[2] = {-1, -1};
  for (int i = 1; i < count; ++i)
    if (from[i].gap < from[first].gap - 1e-9 * size) first = i;
  double farthest = least * least, widest[2] = {least * size, least * size};
  for (int i = 0; i < count; ++i) {
    const double x = from[i].x - from[first].x, y = from[i].y - from[first].y, square = x * x + y * y;
    if (square > farthest * more) {
      farthest = square;
      second = i;
    }
  }
  to[0] = from[first];
  if (second < 0) return 1;
  to[1] = from[second];
  for (int i = 0; i < count; ++i) {
    const double area = area_between(from[first], from[second], from[i]);
    const int side = area < 0.0;
    if (std::fabs(area) > widest[side] * more) {
      widest[side] = std::fabs(area);
      sides[side] = i;
    }
  }
  int chosen = 2;
  for (int side = 0; side < 2; ++side)
    if (sides[side] >= 0) to[chosen++] = from[sides[side]];
  return chosen;
}

// The points of a pair that are less than `limit` apart, up to kMostSpots; the lower kind first.
static int find_spots(
    int kind_A, const PlacedShape<double>& A, int kind_B, const PlacedShape<double>& B, const Witness<double>& w,
    double limit, NormalFrame* frame, Spot* out) {
  const Vec3<double> s = across(w.n);
  *frame = {w.p_A, s, cross(w.n, s), w.n};
  Spot found[2 * kMostCorners + 1];
  int count = 0;
  const double depth = larger(limit - w.distance, 0.0);
  Outline a = outline_of(kind_A, A, w.n, *frame, depth), b = outline_of(kind_B, B, -w.n, *frame, depth);
  const double size = larger(extent_of(a), extent_of(b)), slack = kNoLength * size;
  Slope plane_a = fit_plane(&a), plane_b = fit_plane(&b);
  if (kind_A == HALF_SPACE) plane_a = {0.0, 0.0, 0.0, 2.0};
  if (kind_B == HALF_SPACE) plane_b = {w.distance, 0.0, 0.0, 2.0};
  const bool on_a = plane_a.cosine >= plane_b.cosine;
  const Slope& plane = on_a ? plane_a : plane_b;
  if (plane.cosine > 0.0) {
    const Outline rest = clip_outline(on_a ? b : a, on_a ? a : b, slack);
    for (int i = 0; i < rest.count; ++i) {
      const Corner& p = rest.at[i];
      const double z = plane.height + plane.x * p.x + plane.y * p.y;
      found[count++] = {p.x, p.y, 0.5 * (p.z + z), on_a ? p.z - z : z - p.z};
    }
  } else if (a.count == 2 && b.count == 2) {
    count = pair_segments(a, b, A.size[0] + B.size[0], found);
  }
  // Nothing is nearer than the nearest points.
  int kept = 0;
  double nearest = INFINITY;
  for (int i = 0; i < count; ++i) {
    Spot spot = found[i];
    spot.gap = larger(spot.gap, w.distance);
    if (!(spot.gap < limit)) continue;
    nearest = smaller(nearest, spot.gap);
    found[kept++] = spot;
  }
  if (kept == 0 || nearest > w.distance + 1e-3 * depth + 1e-9 * size)
    found[kept++] = {0.0, 0.0, 0.5 * w.distance, w.distance};
  return choose_spots(kept, found, size, out);
}

}  // namespace MBT_NS
