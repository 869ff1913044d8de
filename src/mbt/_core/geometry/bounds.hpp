// Bounds on the distance of two shapes, from spheres around them.
#pragma once

#include "scalars/real.hpp"

#include "geometry/scene.hpp"
#include "geometry/shapes.hpp"

namespace MBT_NS {

// Positive (in lengths or squared lengths) if the bounding spheres of two shapes are closer than `limit`, else 0 or
// less. For a half-space or a height field, of it and the other's sphere.
template <class T>
static MBT_INLINE T bound_closeness(
    const SceneShape& a, const SceneShape& b, const PlacedShape<T>& A, const PlacedShape<T>& B, double limit) {
  const Vec3<T> c = B.p - A.p;
  if (a.kind == HALF_SPACE) return T(limit + b.radius) - dot(c, axis_z(A.R));
  if (b.kind == HALF_SPACE) return T(limit + a.radius) + dot(c, axis_z(B.R));
  if (b.kind == HEIGHT_FIELD) {
    // Its radius is the largest height.
    const Vec3<T> x = -rotate_back(B.R, c);
    const T beside = larger(magnitude(x.x) - B.size[0], magnitude(x.y) - B.size[1]);
    return T(limit + a.radius) - larger(beside, x.z - T(b.radius));
  }
  const double reach = larger(limit + a.radius + b.radius, 0.0);
  return T(reach * reach) - dot(c, c);
}

}  // namespace MBT_NS
