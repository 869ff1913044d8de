// A piece of the path of a curvilinear joint, in the order of joints/curvilinear.pxd.
#pragma once

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

}  // namespace MBT_NS
