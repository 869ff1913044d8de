// How near two shapes can be, by spheres about them.
#pragma once

#include "scalars/real.hpp"

#include "geometry/scene.hpp"
#include "geometry/shapes.hpp"

namespace MBT_NS {

// How far at least the spheres about two shapes are apart; of a half-space or a height field, it and the sphere.
template <class T>
static MBT_INLINE T bound_distance(
    const SceneShape& a, const SceneShape& b, const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> c = B.p - A.p;
  if (a.kind == HALF_SPACE) return dot(c, axis_z(A.R)) - T(b.radius);
  if (b.kind == HALF_SPACE) return -dot(c, axis_z(B.R)) - T(a.radius);
  if (b.kind == HEIGHT_FIELD) {
    // Its radius is the largest height.
    const Vec3<T> x = -rotate_back(B.R, c);
    const T beside = larger(magnitude(x.x) - B.size[0], magnitude(x.y) - B.size[1]);
    return larger(beside, x.z - T(b.radius)) - T(a.radius);
  }
  return sqrt_(dot(c, c)) - T(a.radius + b.radius);
}

}  // namespace MBT_NS
