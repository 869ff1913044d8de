// Outlines of shapes across the normal of their distance (a face, a segment or a point), and the choice of four contact
// points that represent all.
#pragma once

#include <cmath>

#include "scalars/real.hpp"

#include "geometry/scene.hpp"
#include "geometry/shapes.hpp"

namespace MBT_NS {

static constexpr int kMostSpots = 4;     // per pair
static constexpr int kMostCorners = 16;  // of an outline; clipping may double it
static constexpr double kFlat = 0.7;     // smallest cosine between a face normal and the normal
static constexpr double kParallel = 0.1; // largest sine between segments that touch at more than a point
static constexpr double kNoLength = 1e-5;  // relative to the size of the outlines

// x and y across the normal, z along it, relative to the nearest point of A.
struct Corner {
  double x, y, z;
};

struct Outline {
  int count;  // of corners: counterclockwise corners, the ends of a segment, or none
  Corner at[2 * kMostCorners];
};

// A contact point of a pair: its position, and the gap between the surfaces there.
struct Spot {
  double x, y, z, gap;
  Vec3<double> n;  // unit normal there, from A to B, in World
};

struct NormalFrame {
  Vec3<double> origin, s, t, n;
};

static inline void add_corner(const NormalFrame& f, const Vec3<double>& p_W, Outline* to) {
  const Vec3<double> r = p_W - f.origin;
  to->at[to->count++] = {dot(r, f.s), dot(r, f.t), dot(r, f.n)};
}

// The outline of a shape in the direction d, in World; for a hull, the corners less than `depth` below its top.
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
      // Eight points of a rim, the first of which reaches farthest.
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
  double cosine;  // between its normal and the normal of the pair; 0 if not a face
};

// By Newell's method. Reverses clockwise corners.
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

// Whether a point is over a counterclockwise outline.
static bool is_inside(const Outline& a, double x, double y) {
  for (int i = 0; i < a.count; ++i) {
    const Corner &p = a.at[i], &q = a.at[(i + 1) % a.count];
    if ((q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x) < 0.0) return false;
  }
  return true;
}

static double area_between(const Spot& a, const Spot& b, const Spot& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// The four that span most: the deepest, the one farthest from it, and one on each side of these. If `sharpness` is
// nonzero, shallower points count less.
static int choose_spots(int count, const Spot* from, double size, double sharpness, Spot* to) {
  const double least = kNoLength * size, more = 1.0 + 1e-9;
  int first = 0, second = -1, sides[2] = {-1, -1};
  for (int i = 1; i < count; ++i)
    if (from[i].gap < from[first].gap - 1e-9 * size) first = i;
  double farthest = least * least, widest[2] = {least * size, least * size};
  for (int i = 0; i < count; ++i) {
    const double x = from[i].x - from[first].x, y = from[i].y - from[first].y, square = x * x + y * y;
    const double weight = 1.0 / (1.0 + sharpness * (from[i].gap - from[first].gap));
    if (square * weight * weight > farthest * more) {
      farthest = square * weight * weight;
      second = i;
    }
  }
  to[0] = from[first];
  if (second < 0) return 1;
  to[1] = from[second];
  for (int i = 0; i < count; ++i) {
    const double weight = 1.0 / (1.0 + sharpness * (from[i].gap - from[first].gap));
    const double area = weight * area_between(from[first], from[second], from[i]);
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

}  // namespace MBT_NS
