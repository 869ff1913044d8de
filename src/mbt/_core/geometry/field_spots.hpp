// Where a shape touches a height field: corners of its outline over triangles, crossing edges of both, and corners of
// the field under its face. Each has its own normal, so that a foot can stand on several slopes at once. Against
// formulas in NumPy: tests/geometry/test_contact_points.py.
#pragma once

#include "geometry/height_grid.hpp"
#include "geometry/outlines.hpp"

namespace MBT_NS {

static constexpr double kSharpness = 1e4;  // per size of a shape: a point nearer by the inverse counts twice
static constexpr double kTilted = 0.2;  // the largest sine of the slope down which an edge may go from where it touches

struct FieldSpots {
  const FieldGrid grid;
  const PlacedShape<double>& field;
  const NormalFrame& frame;
  const double limit, size, slack;
  int count;
  Spot found[2 * kMostCorners + 1];

  FieldSpots(const PlacedShape<double>& field, const NormalFrame& frame, double limit, double size)
      : grid(field), field(field), frame(frame), limit(limit), size(size), slack(1e-9 * size), count(0) {}

  Vec3<double> in_field(const Corner& c) const {
    return rotate_back(field.R, frame.origin + frame.s * c.x + frame.t * c.y + frame.n * c.z - field.p);
  }

  bool is_over(double x, double y) const { return magnitude(x) <= grid.x.half && magnitude(y) <= grid.y.half; }

  // A point of the shape, in the frame of the field; the field is `gap` below it along `up`.
  void add(const Vec3<double>& p, const Vec3<double>& up, double gap) {
    if (!(gap < limit)) return;
    if (count == 2 * kMostCorners) {
      Spot chosen[kMostSpots];
      const int kept = choose_spots(count, found, size, kSharpness / size, chosen);
      for (count = 0; count < kept; ++count) found[count] = chosen[count];
    }
    const Vec3<double> r = field.p + field.R * (p - up * (0.5 * gap)) - frame.origin;
    found[count++] = {dot(r, frame.s), dot(r, frame.t), dot(r, frame.n), gap, -(field.R * up)};
  }

  FieldTriangle triangle_under(double x, double y) const {
    const int row = grid.y.cell(y), column = grid.x.cell(x);
    const double u = (x - grid.x.at(column)) / grid.x.step, v = (y - grid.y.at(row)) / grid.y.step;
    return triangle_of(grid, row, column, v > u);
  }

  Vec3<double> normal_of(const FieldTriangle& t) const {
    const Vec3<double> n = cross(t.along, t.beside);
    return n * ((n.z < 0.0 ? -1.0 : 1.0) / std::sqrt(dot(n, n)));
  }

  static bool goes_down(const Vec3<double>& a, const Vec3<double>& up) {
    const double rise = dot(a, up);
    return rise < 0.0 && rise * rise > kTilted * kTilted * dot(a, a);
  }

  // Add a corner from which no edge goes far down.
  void add_corner_of_shape(const Vec3<double>& p, const Vec3<double>& before, const Vec3<double>& behind) {
    if (!is_over(p.x, p.y)) return;
    const FieldTriangle t = triangle_under(p.x, p.y);
    const Vec3<double> up = normal_of(t);
    if (goes_down(before - p, up) || goes_down(behind - p, up)) return;
    add(p, up, dot(p - t.corner, up));
  }

  // A ball touches all triangles that its centre is above.
  void add_ball(const Vec3<double>& c, double radius) {
    const double reach = radius + limit;
    for (int i = grid.y.cell(c.y - reach); i <= grid.y.cell(c.y + reach); ++i)
      for (int j = grid.x.cell(c.x - reach); j <= grid.x.cell(c.x + reach); ++j) {
        if (grid.cell_top(i, j) < c.z - reach) continue;
        for (int half = 0; half < 2; ++half) {
          const FieldTriangle t = triangle_of(grid, i, j, half);
          const Vec3<double> up = normal_of(t), r = c - t.corner;
          const double height = dot(r, up), tolerance = slack * size;
          // Distance of the foot point from each edge to the inside, times the edge's length.
          const Vec3<double> n = cross(t.along, t.beside), third = t.beside - t.along;
          const double side = n.z < 0.0 ? -1.0 : 1.0;
          if (side * dot(cross(t.along, r), up) < -tolerance || side * dot(cross(r, t.beside), up) < -tolerance ||
              side * dot(cross(third, r - t.along), up) < -tolerance)
            continue;
          add(c - up * radius, up, height - radius);
        }
      }
  }

  // Where the edge from p to q crosses over a ridge of the field from a to b, which descends to c and d on its sides; a
  // face of the shape ends at the edge, and the next continues to `beyond`.
  void cross_edges(
      const Vec3<double>& p, const Vec3<double>& q, const Vec3<double>& beyond, const Vec3<double>& a, const Vec3<double>& b,
      const Vec3<double>& c, const Vec3<double>& d) {
    const Vec3<double> e = q - p, f = b - a, r = a - p;
    const double turn = e.x * f.y - e.y * f.x;
    const double length_e = std::sqrt(e.x * e.x + e.y * e.y), length_f = std::sqrt(f.x * f.x + f.y * f.y);
    if (!(magnitude(turn) > 1e-9 * length_e * length_f)) return;
    const double share = (r.x * f.y - r.y * f.x) / turn, of_field = (r.x * e.y - r.y * e.x) / turn;
    if (!(share > 0.0 && share < 1.0 && of_field >= 0.0 && of_field <= 1.0)) return;
    Vec3<double> up = cross(e, f);
    up = up * ((up.z < 0.0 ? -1.0 : 1.0) / std::sqrt(dot(up, up)));
    if (goes_down(a - c, up) || goes_down(a - d, up) || goes_down(beyond - p, up)) return;
    const Vec3<double> at = p + e * share;
    add(at, up, (at.z - (a.z + of_field * f.z)) * up.z);
  }

  void add_edge_of_shape(const Vec3<double>& p, const Vec3<double>& q, const Vec3<double>& beyond) {
    const int rows[2] = {grid.y.cell(smaller(p.y, q.y)), grid.y.cell(larger(p.y, q.y))};
    const int columns[2] = {grid.x.cell(smaller(p.x, q.x)), grid.x.cell(larger(p.x, q.x))};
    const double least = smaller(p.z, q.z) - limit;
    for (int i = rows[0]; i <= rows[1]; ++i)
      for (int j = columns[0]; j <= columns[1]; ++j) {
        if (grid.cell_top(i, j) < least) continue;
        const Vec3<double> a = grid.corner(i, j), b = grid.corner(i, j + 1), c = grid.corner(i + 1, j);
        const Vec3<double> d = grid.corner(i + 1, j + 1);
        cross_edges(p, q, beyond, a, b, d, i > 0 ? grid.corner(i - 1, j) : a);
        cross_edges(p, q, beyond, a, c, d, j > 0 ? grid.corner(i, j - 1) : a);
        cross_edges(p, q, beyond, a, d, b, c);
      }
  }

  // Corners of the field under a face, the outline with the plane `slope`.
  void add_corners_of_field(const Outline& face, const Slope& slope, const Vec3<double>* corners) {
    double low[2] = {HUGE_VAL, HUGE_VAL}, high[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int i = 0; i < face.count; ++i) {
      low[0] = smaller(low[0], corners[i].x), high[0] = larger(high[0], corners[i].x);
      low[1] = smaller(low[1], corners[i].y), high[1] = larger(high[1], corners[i].y);
    }
    const Vec3<double> n = (frame.n - frame.s * slope.x - frame.t * slope.y) * slope.cosine;
    const Vec3<double> up = -rotate_back(field.R, n);
    for (int i = grid.y.cell(low[1]); i <= grid.y.cell(high[1]) + 1; ++i)
      for (int j = grid.x.cell(low[0]); j <= grid.x.cell(high[0]) + 1; ++j) {
        const Vec3<double> p = grid.corner(i, j), r = field.p + field.R * p - frame.origin;
        const double x = dot(r, frame.s), y = dot(r, frame.t);
        if (!is_inside(face, x, y)) continue;
        const double gap = (dot(r, frame.n) - slope.height - slope.x * x - slope.y * y) * slope.cosine;
        add(p + up * gap, up, gap);
      }
  }
};

// For a shape and its outline, which is counterclockwise if it is a face, with the plane `slope`.
static int find_field_spots(
    int kind, const PlacedShape<double>& shape, const Outline& a, const Slope& slope, const PlacedShape<double>& field,
    const NormalFrame& frame, double limit, double size, Spot* out) {
  FieldSpots spots(field, frame, limit, size);
  if (kind == SPHERE || kind == CAPSULE)
    for (int side = kind == SPHERE ? 1 : -1; side <= 1; side += 2) {
      const Vec3<double> r = kind == SPHERE ? shape.p : shape.p + axis_z(shape.R) * (side * shape.size[1]);
      spots.add_ball(rotate_back(field.R, r - field.p), shape.size[0]);
    }
  Vec3<double> corners[2 * kMostCorners];
  for (int i = 0; i < a.count; ++i) corners[i] = spots.in_field(a.at[i]);
  for (int i = 0; i < a.count; ++i) {
    const Vec3<double>&next = corners[(i + 1) % a.count], &before = corners[(i + a.count - 1) % a.count];
    if (kind != CAPSULE) spots.add_corner_of_shape(corners[i], before, next);
    if (a.count > 2 || i == 0) spots.add_edge_of_shape(corners[i], next, before);
  }
  if (slope.cosine > 0.0) spots.add_corners_of_field(a, slope, corners);
  for (int i = 0; i < spots.count; ++i) out[i] = spots.found[i];
  return spots.count;
}

}  // namespace MBT_NS
