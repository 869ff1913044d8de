// Support points: the points of a convex shape that are farthest in a direction.
//
// A sphere is a point with a skin, a capsule a segment with a skin: the `core` is the shape under the skin.
#pragma once

#include <cmath>
#include <cstddef>

#include "scalars/lanes.hpp"
#include "scalars/real.hpp"

#include "geometry/closed_forms.hpp"

namespace MBT_NS {

static MBT_INLINE Vec3<double> vertex_at(const double* vertices, double index) {
  return vector_at(vertices + 3 * static_cast<std::ptrdiff_t>(index));
}
static MBT_INLINE Vec3<Lanes> vertex_at(const double* vertices, const Lanes& index) {
  Vec3<Lanes> a;
  for (int i = 0; i < MBT_W; ++i) {
    const double* at = vertices + 3 * static_cast<std::ptrdiff_t>(lane(index, i));
    set_lane(a.x, i, at[0]);
    set_lane(a.y, i, at[1]);
    set_lane(a.z, i, at[2]);
  }
  return a;
}

template <class T>
static MBT_INLINE Vec3<T> farthest_vertex(const double* vertices, int count, const Vec3<T>& d) {
  // Two independent chains, so that neither waits for the other.
  T best[2] = {T(-1e300), T(-1e300)}, index[2] = {T(0.0), T(0.0)};
  for (int i = 0; i < count; ++i) {
    const double* a = vertices + 3 * i;
    const T value = d.x * a[0] + d.y * a[1] + d.z * a[2];
    index[0] = select_lt(best[0], value, T(double(i)), index[0]);
    best[0] = larger(best[0], value);
    if (++i == count) break;
    const T next = d.x * a[3] + d.y * a[4] + d.z * a[5];
    index[1] = select_lt(best[1], next, T(double(i)), index[1]);
    best[1] = larger(best[1], next);
  }
  return vertex_at(vertices, select_lt(best[0], best[1], index[1], index[0]));
}

// The vertices of a hull with at least kListed of them are followed by lists of those that can be farthest, for each of
// 24 sectors of directions: the total length of the lists before each one, and of all; then, for each list, all x, all
// y and all z. geometry/meshes.py creates them, with lengths that are multiples of 8.
static constexpr int kListed = 16, kListedInLanes = 64;  // with fewer (in lanes), testing all is faster

static constexpr double kPlaces[8] = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};

// Without branches on values, which would often be mispredicted.
static MBT_NOINLINE Vec3<double> farthest_listed(const double* lists, const Vec3<double>& d) {
  const double x = std::fabs(d.x), y = std::fabs(d.y), z = std::fabs(d.z);
  const int third = z > larger(x, y), second = y > x;
  const int part = 16 * third + 8 * (second & ~third) + (d.x < 0.0) + 2 * (d.y < 0.0) + 4 * (d.z < 0.0);
  const int begin = static_cast<int>(lists[part]), count = static_cast<int>(lists[part + 1]) - begin;
  const double *px = lists + 25 + 3 * begin, *py = px + count, *pz = py + count;
  const Lanes dx(d.x), dy(d.y), dz(d.z);
  Lanes best(-1e300), index(0.0), here(load(kPlaces));
  for (int i = 0; i < count; i += MBT_W) {
    const Lanes value = dx * Lanes(load(px + i)) + dy * Lanes(load(py + i)) + dz * Lanes(load(pz + i));
    index = select_lt(best, value, here, index);
    best = larger(best, value);
    here += Lanes(double(MBT_W));
  }
  const int i = static_cast<int>(get_at_largest(best.r, index.r));
  return {px[i], py[i], pz[i]};
}

static MBT_INLINE Vec3<double> farthest_of_hull(const double* vertices, int count, const Vec3<double>& d) {
  return count < kListed ? farthest_vertex(vertices, count, d) : farthest_listed(vertices + 3 * count, d);
}
static MBT_INLINE Vec3<Lanes> farthest_of_hull(const double* vertices, int count, const Vec3<Lanes>& d) {
  if (count < kListedInLanes) return farthest_vertex(vertices, count, d);
  Vec3<Lanes> found;
  for (int l = 0; l < MBT_W; ++l) {
    const Vec3<double> a = farthest_listed(vertices + 3 * count, {lane(d.x, l), lane(d.y, l), lane(d.z, l)});
    set_lane(found.x, l, a.x);
    set_lane(found.y, l, a.y);
    set_lane(found.z, l, a.z);
  }
  return found;
}

static MBT_INLINE bool has_skin(int kind) { return kind == SPHERE || kind == CAPSULE; }

// The point of the core that is farthest along d, both in the frame of the shape.
template <class T>
static MBT_INLINE Vec3<T> core_support(int kind, const PlacedShape<T>& shape, const Vec3<T>& d) {
  const T zero(0.0);
  const T* size = shape.size;
  switch (kind) {
    case CAPSULE:
      return {zero, zero, sign_of(d.z) * size[1]};
    case BOX:
      return {sign_of(d.x) * size[0], sign_of(d.y) * size[1], sign_of(d.z) * size[2]};
    case CYLINDER: {
      const T across = sqrt_(d.x * d.x + d.y * d.y);
      const T factor = select_lt(T(1e-300), across, size[0] / larger(across, T(1e-300)), zero);
      return {d.x * factor, d.y * factor, sign_of(d.z) * size[1]};
    }
    case ELLIPSOID: {
      const Vec3<T> scaled = {d.x * size[0], d.y * size[1], d.z * size[2]};
      const T factor = T(1.0) / larger(T(sqrt_(dot(scaled, scaled))), T(1e-300));
      return {scaled.x * size[0] * factor, scaled.y * size[1] * factor, scaled.z * size[2] * factor};
    }
    case HULL:
      return farthest_of_hull(shape.vertices, shape.count, d);
    default:
      return {zero, zero, zero};
  }
}

// The same, not inlined because it is long.
[[maybe_unused]] static MBT_NOINLINE Vec3<double> call_core_support(
    int kind, const PlacedShape<double>& shape, const Vec3<double>& d) {
  return core_support(kind, shape, d);
}
static MBT_INLINE Vec3<Lanes> call_core_support(int kind, const PlacedShape<Lanes>& shape, const Vec3<Lanes>& d) {
  return core_support(kind, shape, d);
}

// Two shapes in the frame of A, where positions are small.
template <class T>
struct ConvexPair {
  int kind_A, kind_B;
  const PlacedShape<T>* A;
  const PlacedShape<T>* B;
  Mat3<T> R;  // R_AB
  Vec3<T> p;  // p_AB
};

template <class T>
static MBT_INLINE ConvexPair<T> convex_pair(int kind_A, const PlacedShape<T>& A, int kind_B, const PlacedShape<T>& B) {
  const Mat3<T> R = {rotate_back(B.R, axis_x(A.R)), rotate_back(B.R, axis_y(A.R)), rotate_back(B.R, axis_z(A.R))};
  return {kind_A, kind_B, &A, &B, R, rotate_back(A.R, B.p - A.p)};
}

// The point of B - A that is farthest along -n, and its point of A.
template <class T>
struct Difference {
  Vec3<T> w, a;
};

template <class T>
static MBT_NOINLINE Difference<T> farthest_difference(const ConvexPair<T>& pair, const Vec3<T>& n) {
  const Vec3<T> a = call_core_support(pair.kind_A, *pair.A, n);
  const Vec3<T> b = pair.R * call_core_support(pair.kind_B, *pair.B, -rotate_back(pair.R, n)) + pair.p;
  return {b - a, a};
}

}  // namespace MBT_NS
