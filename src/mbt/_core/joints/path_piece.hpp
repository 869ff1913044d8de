// A piece of the path of a curvilinear joint, as joints/curvilinear.pxd orders its numbers.
#pragma once

#include "scalars/config.hpp"

namespace MBT_NS {

template <class T>
struct PathPiece {
  T s;            // [m]    at its start
  T curvature;    // [1/m]
  T radius;       // [m]    0 where it is straight
  T is_straight;  // [1]    then 1, else 0
  T cos, sin;     // [1]    of the heading at its start
  T x, y;         // [m]    of its start
};

}  // namespace MBT_NS
