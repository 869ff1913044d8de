// The path of a curvilinear joint and its pieces, as its constants hold them.
#pragma once

#include "algebra/vectors.hpp"
#include "scalars/config.hpp"

namespace MBT_NS {

template <class T>
struct PathPiece {
  T s;            // [m]    at its start
  T curvature;    // [1/m]
  T radius;       // [m]    0 if straight
  T is_straight;  // [1]    1 if straight, else 0
  T cos, sin;     // [1]    of the heading at its start
  T x, y;         // [m]    of its start
};

// What precedes the pieces. A is the path frame: the initial tangent, the direction to its left, and the normal of the
// plane.
struct Path {
  double num_pieces;
  double is_periodic;  // 1 if periodic, else 0
  double length;       // [m]
  Pose<double> X_FA;
};

static_assert(sizeof(Path) == 15 * sizeof(double), "numbers without padding, as in NumbersOfParts.PIECES");

// `piece`, or `next` where s has reached it.
template <class T>
static MBT_INLINE PathPiece<T> later_piece(const T& s, const PathPiece<T>& piece, const PathPiece<double>& next) {
  const T start(next.s);
  return {select_lt(s, start, piece.s, start),
          select_lt(s, start, piece.curvature, T(next.curvature)),
          select_lt(s, start, piece.radius, T(next.radius)),
          select_lt(s, start, piece.is_straight, T(next.is_straight)),
          select_lt(s, start, piece.cos, T(next.cos)),
          select_lt(s, start, piece.sin, T(next.sin)),
          select_lt(s, start, piece.x, T(next.x)),
          select_lt(s, start, piece.y, T(next.y))};
}
template <class T>
static MBT_INLINE void set_piece(const PathPiece<double>& a, PathPiece<T>* to) {
  *to = {T(a.s), T(a.curvature), T(a.radius), T(a.is_straight), T(a.cos), T(a.sin), T(a.x), T(a.y)};
}

}  // namespace MBT_NS
