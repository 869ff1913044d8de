// Contact points of two shapes: up to four per pair, from its distance and its normal.
//
// Each shape has an outline across the normal: a face, a segment, or only the nearest point. One outline is clipped by
// the other; the gap at each remaining corner is that of the surfaces there, along the normal. Against formulas in
// NumPy: tests/geometry/test_contact_points.py.
#pragma once

#include "geometry/field_spots.hpp"
#include "geometry/outlines.hpp"
#include "geometry/scene.hpp"

namespace MBT_NS {

// I. Sutherland, G. Hodgman, "Reentrant Polygon Clipping", Comm. ACM 17 (1974): the part of an outline that is over
// another one.
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

// Points of almost parallel segments, where the ends of one are beside the other. Surfaces are round; `radii` is the
// sum of both radii.
static int pair_segments(const Outline& a, const Outline& b, double radii, const Vec3<double>& n, Spot* out) {
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
    out[count++] = {0.5 * (p.x + x), 0.5 * (p.y + y), 0.5 * (p.z + z), gap, n};
  }
  return count;
}

// The points of a pair with a gap below `limit`, up to kMostSpots; the lower kind comes first.
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
  if (kind_B == HEIGHT_FIELD) {
    count = find_field_spots(kind_A, A, a, plane_a, B, *frame, limit, size, found);
  } else if (plane.cosine > 0.0) {
    const Outline rest = clip_outline(on_a ? b : a, on_a ? a : b, slack);
    for (int i = 0; i < rest.count; ++i) {
      const Corner& p = rest.at[i];
      const double z = plane.height + plane.x * p.x + plane.y * p.y;
      found[count++] = {p.x, p.y, 0.5 * (p.z + z), on_a ? p.z - z : z - p.z, w.n};
    }
  } else if (a.count == 2 && b.count == 2) {
    count = pair_segments(a, b, A.size[0] + B.size[0], w.n, found);
  }
  // No point is nearer than the nearest points.
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
    found[kept++] = {0.0, 0.0, 0.5 * w.distance, w.distance, w.n};
  return choose_spots(kept, found, size, kind_B == HEIGHT_FIELD ? kSharpness / larger(size, 1e-300) : 0.0, out);
}

}  // namespace MBT_NS
