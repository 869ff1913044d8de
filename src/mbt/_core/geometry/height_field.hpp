// Distances of convex shapes from height fields: a grid of heights over the x-y plane, two triangles per cell.
#pragma once

#include <cmath>
#include <limits>

#include "geometry/convex.hpp"
#include "geometry/height_grid.hpp"

namespace MBT_NS {

// Finds the triangle nearest to a shape without its skin or, if `falls`, the one that the shape, lifted above its
// place, meets first on the way down. Triangles are tested in lanes, and bounding boxes of cells and blocks rule out
// most of them.
struct FieldSearch {
  const FieldGrid& grid;
  int kind;
  const PlacedShape<Lanes>& shape;  // in the frame of the field, the same in all lanes
  double low[3], high[3];           // its bounding box
  double lift;
  double slack;                     // how far outside the box a triangle may be, because of rounding
  bool falls;

  double best;         // distance, or way down
  bool touches;
  FieldTriangle found;
  FieldTriangle waiting[MBT_W];
  double least[MBT_W];  // ways down of boxes
  int count;

  // Lower bound of the distance of a box around part of the field.
  double bound(double x0, double x1, double y0, double y1, double top) const {
    const double dx = larger(larger(x0 - high[0], low[0] - x1), 0.0), dy = larger(larger(y0 - high[1], low[1] - y1), 0.0);
    const double dz = low[2] + lift - top;
    if (falls) return dx + dy > slack ? HUGE_VAL : dz;
    return sqrt_(dx * dx + dy * dy + (dz > 0.0 ? dz * dz : 0.0));
  }

  void look() {
    if (count == 0) return;
    static const double kUnit[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const Lanes zero(0.0);
    Vec3<Lanes> corner, along, beside;
    for (int l = 0; l < MBT_W; ++l) {
      const FieldTriangle& t = waiting[l < count ? l : 0];
      const double from[9] = {t.corner.x, t.corner.y, t.corner.z, t.along.x, t.along.y, t.along.z,
                              t.beside.x, t.beside.y, t.beside.z};
      Lanes* to[9] = {&corner.x, &corner.y, &corner.z, &along.x, &along.y, &along.z, &beside.x, &beside.y, &beside.z};
      for (int k = 0; k < 9; ++k) set_lane(*to[k], l, from[k]);
    }
    PlacedShape<Lanes> unit = {};
    unit.vertices = kUnit;
    unit.count = 3;
    // A triangle is this one under a linear map, which takes the place of a rotation.
    const Vec3<Lanes> u = rotate_back(shape.R, along), w = rotate_back(shape.R, beside);
    Vec3<Lanes> p = corner - shape.p;
    p.z -= Lanes(lift);
    const ConvexPair<Lanes> pair = {
        kind, HULL, &shape, &unit, {{u.x, w.x, zero}, {u.y, w.y, zero}, {u.z, w.z, zero}}, rotate_back(shape.R, p)};
    const Nearest<Lanes> at = nearest_difference(pair, kExact);
    const Lanes up = -(shape.R * at.v).z;
    for (int l = 0; l < count; ++l) {
      const bool overlaps = lane(at.overlap, l) != 0.0;
      double distance = overlaps ? 0.0 : lane(at.distance, l);
      if (falls) distance = larger(least[l], distance * distance / larger(lane(up, l), 1e-9 * distance + 1e-300));
      else touches = touches || overlaps;
      if (!(distance < best)) continue;
      best = distance;
      found = waiting[l];
    }
    count = 0;
  }

  void look_at_cell(int row, int column) {
    const double away = bound(grid.x.at(column), grid.x.at(column + 1), grid.y.at(row), grid.y.at(row + 1),
                              grid.cell_top(row, column));
    if (!(away < best)) return;
    for (int half = 0; half < 2; ++half) {
      waiting[count] = triangle_of(grid, row, column, half);
      least[count] = away;
      if (++count == MBT_W) look();
    }
  }

  void look_at_block(int block_row, int block_column) {
    const int row = block_row * kBlock, column = block_column * kBlock;
    const int rows = row + kBlock < grid.y.cells ? row + kBlock : grid.y.cells;
    const int columns = column + kBlock < grid.x.cells ? column + kBlock : grid.x.cells;
    if (!(bound(grid.x.at(column), grid.x.at(columns), grid.y.at(row), grid.y.at(rows),
                grid.block_top(block_row, block_column)) < best))
      return;
    for (int i = row; i < rows && !touches; ++i)
      for (int j = column; j < columns && !touches; ++j) look_at_cell(i, j);
  }

  void run() {
    best = HUGE_VAL;
    touches = false;
    count = 0;
    // The cell below its centre limits how far to search.
    look_at_cell(grid.y.cell(0.5 * (low[1] + high[1])), grid.x.cell(0.5 * (low[0] + high[0])));
    look();
    const double reach = falls ? slack : best;
    const int first = grid.y.cell(low[1] - reach) / kBlock, last = grid.y.cell(high[1] + reach) / kBlock;
    const int from = grid.x.cell(low[0] - reach) / kBlock, to = grid.x.cell(high[0] + reach) / kBlock;
    for (int i = first; i <= last && !touches; ++i)
      for (int j = from; j <= to && !touches; ++j) look_at_block(i, j);
    look();
  }

  // The whole shape and the triangle that was found, in the frame of the field.
  Witness<double> witness() const {
    const Vec3<double>&a = found.along, &b = found.beside;
    const double vertices[9] = {0, 0, 0, a.x, a.y, a.z, b.x, b.y, b.z};
    PlacedShape<double> triangle = {{0.0, 0.0, 0.0}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, found.corner, vertices, 3};
    triangle.p.z -= lift;
    const Witness<Lanes> w = convex_distance(kind, shape, HULL, in_all_lanes(triangle));
    Witness<double> result;
    const Lanes* from = &w.distance;
    double* to = &result.distance;
    for (int k = 0; k < 10; ++k) to[k] = lane(from[k], 0);
    return result;
  }
};

// Outside, the distance to the nearest triangle. The same for a ball whose centre is below them, with the opposite
// direction: the nearest triangle is its way out. Any other shape that penetrates triangles, or is below them, is
// lifted until it only touches: its depth is that lift, along the normal of the nearest triangle there.
static MBT_NOINLINE Witness<double> field_distance(int kind, const PlacedShape<double>& A, const PlacedShape<double>& field) {
  const FieldGrid grid(field);
  PlacedShape<double> local = A;
  local.R = transpose(Mat3<double>{rotate_back(field.R, axis_x(A.R)), rotate_back(field.R, axis_y(A.R)),
                                   rotate_back(field.R, axis_z(A.R))});
  local.p = rotate_back(field.R, A.p - field.p);
  const PlacedShape<Lanes> shape = in_all_lanes(local);
  FieldSearch search = {grid, kind, shape, {}, {}, 0.0, 0.0, false, 0.0, false, {}, {}, {}, 0};
  double scale = 0.0;
  bool is_finite = true;
  const double p[3] = {local.p.x, local.p.y, local.p.z};
  for (int k = 0; k < 3; ++k) {
    const Vec3<double> row = k == 0 ? local.R.x : k == 1 ? local.R.y : local.R.z;
    search.high[k] = p[k] + dot(row, call_core_support(kind, local, row));
    search.low[k] = p[k] + dot(row, call_core_support(kind, local, -row));
    is_finite = is_finite && search.high[k] - search.low[k] < HUGE_VAL && p[k] - p[k] == 0.0;
    scale += search.high[k] - search.low[k];
  }
  const double bad = std::numeric_limits<double>::quiet_NaN();
  Witness<double> w = {bad, {bad, bad, bad}, {bad, bad, bad}, {bad, bad, bad}};
  if (is_finite) {
    search.run();
    const bool cut = search.touches;
    if (!cut) w = search.witness();
    if (cut || (w.n.z > 0.0 && magnitude(w.p_A.x) < grid.x.half && magnitude(w.p_A.y) < grid.y.half)) {
      const double tolerance = 1e-6 * (scale + grid.x.step + grid.y.step);
      search.falls = true;
      search.slack = 1e-3 * tolerance;
      const double away = w.distance + local.size[0];
      if (kind == SPHERE && away > search.slack) {
        const Witness<double> out = {-away - local.size[0], local.p - w.n * local.size[0], w.p_B, -w.n};
        return to_world(field, out);
      }
      search.lift = larger(grid.top_under(search.low, search.high) - search.low[2], 0.0) + 0.1 * scale + tolerance;
      for (int step = 0; step < kMostSteps; ++step) {
        search.run();
        if (search.best < tolerance) break;
        search.lift -= search.best - 0.5 * tolerance;
      }
      if (cut || search.lift > 0.0) {
        // Of triangles that meet below it, the nearest gives the normal; the others give only a point on their edge.
        const FieldTriangle below = search.found;
        search.falls = false;
        search.run();
        if (search.touches) search.found = below;
        w = search.witness();
        w.distance += search.lift * w.n.z;
        w.p_B = w.p_A + w.n * w.distance;
      }
    }
  }
  return to_world(field, w);
}

// One lane after the other; lanes equal to the previous one reuse its result.
[[maybe_unused]] static MBT_NOINLINE Witness<Lanes> field_distances(
    int kind, const PlacedShape<Lanes>& A, const PlacedShape<Lanes>& B) {
  Witness<Lanes> result;
  PlacedShape<double> a, b;
  Witness<double> w;
  for (int l = 0; l < MBT_W; ++l) {
    const PlacedShape<double> next_a = lane_of(A, l), next_b = lane_of(B, l);
    // size, R and p: fifteen contiguous scalars
    const double *new_a = next_a.size, *new_b = next_b.size, *old_a = a.size, *old_b = b.size;
    bool repeats = l > 0;
    for (int k = 0; repeats && k < 15; ++k) repeats = new_a[k] == old_a[k] && new_b[k] == old_b[k];
    a = next_a;
    b = next_b;
    if (!repeats) w = field_distance(kind, a, b);
    const double* from = &w.distance;
    Lanes* to = &result.distance;
    for (int k = 0; k < 10; ++k) set_lane(to[k], l, from[k]);
  }
  return result;
}

}  // namespace MBT_NS
