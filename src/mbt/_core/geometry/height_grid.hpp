// The grid of a height field and its triangles.
//
// A field is everything below its triangles. Its placed shape has half lengths along x and y, the number of rows in
// `size`, the number of columns in `count`; `vertices` are heights, row after row along y, then the highest of each
// block.
#pragma once

#include <cmath>
#include <cstddef>

#include "geometry/shapes.hpp"

namespace MBT_NS {

static constexpr int kBlock = 8;  // cells; same value in geometry/scene.pyx

// Along one axis of the grid.
struct FieldAxis {
  double half, step;
  int cells;

  double at(int i) const { return -half + i * step; }
  // The cell that holds x, or the last one before it.
  int cell(double x) const {
    const double i = (x + half) / step;
    return i > 0.0 ? (i < cells - 1 ? static_cast<int>(i) : cells - 1) : 0;
  }
};

struct FieldGrid {
  FieldAxis x, y;
  const double *heights, *tops;

  explicit FieldGrid(const PlacedShape<double>& field)
      : x{field.size[0], 2.0 * field.size[0] / (field.count - 1), field.count - 1},
        y{field.size[1], 2.0 * field.size[1] / (field.size[2] - 1.0), static_cast<int>(field.size[2]) - 1},
        heights(field.vertices), tops(field.vertices + static_cast<std::ptrdiff_t>(field.size[2]) * field.count) {}
  double height(int row, int column) const { return heights[static_cast<std::ptrdiff_t>(row) * (x.cells + 1) + column]; }
  Vec3<double> corner(int row, int column) const { return {x.at(column), y.at(row), height(row, column)}; }
  double block_top(int row, int column) const { return tops[row * ((x.cells + kBlock - 1) / kBlock) + column]; }
  double cell_top(int row, int column) const {
    const double *a = heights + static_cast<std::ptrdiff_t>(row) * (x.cells + 1) + column, *b = a + x.cells + 1;
    return larger(larger(a[0], a[1]), larger(b[0], b[1]));
  }
  // The highest point of the cells below a box.
  double top_under(const double* low, const double* high) const {
    double top = -HUGE_VAL;
    for (int i = y.cell(low[1]); i <= y.cell(high[1]); ++i)
      for (int j = x.cell(low[0]); j <= x.cell(high[0]); ++j) top = larger(top, cell_top(i, j));
    return top;
  }
};

struct FieldTriangle {
  Vec3<double> corner, along, beside;
};

static inline FieldTriangle triangle_of(const FieldGrid& grid, int row, int column, int half) {
  const Vec3<double> a = grid.corner(row, column), c = grid.corner(row + 1, column + 1);
  const Vec3<double> b = half ? grid.corner(row + 1, column) : grid.corner(row, column + 1);
  return half ? FieldTriangle{a, c - a, b - a} : FieldTriangle{a, b - a, c - a};
}

}  // namespace MBT_NS
