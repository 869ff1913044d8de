// Signed distances of two shapes in closed form, without branches on values.
//
// A sphere is a point with a skin, a capsule a segment with a skin. A distance is that of the cores under the skins,
// less the skins; if the cores overlap too, it is minus the shortest translation after which they only touch.
#pragma once

#include "geometry/shapes.hpp"

namespace MBT_NS {

// A vector shorter than this, times the lengths involved, has no direction: it is rounding error.
static constexpr double kNoDirection = 4e-15;

// Add skins to a witness of two cores.
template <class T>
static MBT_INLINE Witness<T> with_skins(const Witness<T>& w, const T& r_A, const T& r_B) {
  return {w.distance - r_A - r_B, w.p_A + w.n * r_A, w.p_B - w.n * r_B, w.n};
}

// Whether any lane has a < b. Code skipped where none has is needed by no lane: results do not depend on it.
static MBT_INLINE bool any_less(double a, double b) { return a < b; }
static MBT_INLINE bool any_less(const Lanes& a, const Lanes& b) {
  return any_not_within(select_lt(a, b, Lanes(1.0), Lanes(0.0)).r, 0.5);
}

// Witness of two points; the normal is `instead()` if they are closer than `least`, which is rare.
template <class T, class Instead>
static MBT_INLINE Witness<T> between(const Vec3<T>& a, const Vec3<T>& b, const T& least, const Instead& instead) {
  const Vec3<T> c = b - a;
  const T length = sqrt_(dot(c, c));
  Witness<T> w = {length, a, b, c * (T(1.0) / larger(length, T(1e-300)))};
  const T touches = select_lt(least, length, T(0.0), T(1.0));
  if (MBT_UNLIKELY(any_less(T(0.5), touches))) w.n = select_lt(T(0.5), touches, instead(), w.n);
  return w;
}

template <class T>
static MBT_INLINE T sum_of_magnitudes(const Vec3<T>& a) {
  return magnitude(a.x) + magnitude(a.y) + magnitude(a.z);
}

// Segments ---------------------------------------------------------------------------------------------------------

template <class T>
struct Parameters2 {
  T s, t;
};

// Where the segments c_A + s u, |s| <= h_A, and c_B + t v, |t| <= h_B, are closest, with r = c_B - c_A:
// C. Ericson, "Real-Time Collision Detection", Morgan Kaufmann 2005, section 5.1.9; the points on the infinite lines
// are computed by cross products, which lose no digits if these are almost parallel.
template <class T>
static MBT_INLINE Parameters2<T> closest_on_segments(
    const Vec3<T>& r, const Vec3<T>& u, const T& h_A, const Vec3<T>& v, const T& h_B) {
  const Vec3<T> c = cross(u, v);
  const T uv = dot(u, v), ur = dot(u, r), vr = dot(v, r);
  const T s0 = clamp(dot(cross(r, v), c) / larger(dot(c, c), T(1e-300)), h_A);
  const T t = clamp(uv * s0 - vr, h_B);
  return {clamp(uv * t + ur, h_A), t};
}

template <class T>
static MBT_INLINE Witness<T> sphere_sphere(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const auto up = [] { return Vec3<T>{T(0.0), T(0.0), T(1.0)}; };
  return with_skins(between(A.p, B.p, T(1e-150), up), A.size[0], B.size[0]);
}

template <class T>
static MBT_INLINE Witness<T> sphere_capsule(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> u = axis_z(B.R), r = A.p - B.p;
  const Vec3<T> b = B.p + u * clamp(dot(r, u), B.size[1]);
  const T least = (sum_of_magnitudes(r) + B.size[1]) * kNoDirection;
  return with_skins(between(A.p, b, least, [&] { return across(u); }), A.size[0], B.size[0]);
}

template <class T>
static MBT_INLINE Witness<T> capsule_capsule(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> u = axis_z(A.R), v = axis_z(B.R), r = B.p - A.p;
  const Parameters2<T> at = closest_on_segments(r, u, A.size[1], v, B.size[1]);
  // Crossing segments are separated perpendicular to both; those on one line, perpendicular to the line.
  const auto instead = [&] {
    const Vec3<T> c = cross(u, v);
    return unit_or(c, T(sqrt_(dot(c, c))), T(1e-8), across(u));
  };
  const T least = (sum_of_magnitudes(r) + A.size[1] + B.size[1]) * kNoDirection;
  return with_skins(between(A.p + u * at.s, B.p + v * at.t, least, instead), A.size[0], B.size[0]);
}

// Half-spaces --------------------------------------------------------------------------------------------------------

// b is the lowest point of B over a half-space A.
template <class T>
static MBT_INLINE Witness<T> from_half_space(const PlacedShape<T>& A, const Vec3<T>& b) {
  const Vec3<T> n = axis_z(A.R);
  const T d = dot(b - A.p, n);
  return {d, b - n * d, b, n};
}

template <class T>
static MBT_INLINE Witness<T> sphere_half_space(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  return with_skins(swapped(from_half_space(B, A.p)), A.size[0], T(0.0));
}

template <class T>
static MBT_INLINE Witness<T> capsule_half_space(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> u = axis_z(A.R);
  const Vec3<T> end = A.p - u * (sign_of(dot(u, axis_z(B.R))) * A.size[1]);
  return with_skins(swapped(from_half_space(B, end)), A.size[0], T(0.0));
}

template <class T>
static MBT_INLINE Witness<T> half_space_box(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> m = rotate_back(B.R, axis_z(A.R));
  const Vec3<T> corner = {sign_of(m.x) * B.size[0], sign_of(m.y) * B.size[1], sign_of(m.z) * B.size[2]};
  return from_half_space(A, B.p - B.R * corner);
}

template <class T>
static MBT_INLINE Witness<T> half_space_cylinder(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> m = rotate_back(B.R, axis_z(A.R));
  const T share = B.size[0] / larger(sqrt_(m.x * m.x + m.y * m.y), T(1e-150));
  return from_half_space(A, B.p - B.R * Vec3<T>{m.x * share, m.y * share, sign_of(m.z) * B.size[1]});
}

template <class T>
static MBT_INLINE Witness<T> half_space_ellipsoid(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> m = rotate_back(B.R, axis_z(A.R));
  const Vec3<T> a = {m.x * B.size[0], m.y * B.size[1], m.z * B.size[2]};
  const T share = T(1.0) / larger(sqrt_(dot(a, a)), T(1e-150));
  const Vec3<T> top = {a.x * B.size[0] * share, a.y * B.size[1] * share, a.z * B.size[2] * share};
  return from_half_space(A, B.p - B.R * top);
}

template <class T>
static MBT_INLINE Witness<T> half_space_hull(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> m = rotate_back(B.R, axis_z(A.R));
  Vec3<T> lowest = {T(B.vertices[0]), T(B.vertices[1]), T(B.vertices[2])};
  T height = dot(m, lowest);
  for (int i = 1; i < B.count; ++i) {
    const double* x = B.vertices + 3 * i;
    const Vec3<T> v = {T(x[0]), T(x[1]), T(x[2])};
    const T h = dot(m, v);
    lowest = select_lt(h, height, v, lowest);
    height = smaller(h, height);
  }
  return from_half_space(A, B.p + B.R * lowest);
}

// Boxes and cylinders --------------------------------------------------------------------------------------------------

template <class T>
static MBT_INLINE Vec3<T> clamp(const Vec3<T>& a, const Vec3<T>& h) {
  return {clamp(a.x, h.x), clamp(a.y, h.y), clamp(a.z, h.z)};
}
template <class T>
static MBT_INLINE Vec3<T> signs_of(const Vec3<T>& a) {
  return {sign_of(a.x), sign_of(a.y), sign_of(a.z)};
}
template <class T>
static MBT_INLINE Vec3<T> products(const Vec3<T>& a, const Vec3<T>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
template <class T>
static MBT_INLINE Vec3<T> half_lengths(const PlacedShape<T>& A) {
  return {A.size[0], A.size[1], A.size[2]};
}
template <class T>
static MBT_INLINE Witness<T> to_world(const PlacedShape<T>& B, const Witness<T>& w) {
  return {w.distance, B.p + B.R * w.p_A, B.p + B.R * w.p_B, B.R * w.n};
}

// The way out of a box through its nearest face, at a distance of `depth`.
template <class T>
struct WayOut {
  T depth;
  Vec3<T> outward;
};
template <class T>
static MBT_INLINE void offer(WayOut<T>* way, const T& depth, const Vec3<T>& outward) {
  way->outward = select_lt(depth, way->depth, outward, way->outward);
  way->depth = smaller(depth, way->depth);
}
template <class T>
static MBT_INLINE WayOut<T> through_faces(const Vec3<T>& room, const Vec3<T>& side) {
  WayOut<T> way = {room.x, {side.x, T(0.0), T(0.0)}};
  offer(&way, room.y, Vec3<T>{T(0.0), side.y, T(0.0)});
  offer(&way, room.z, Vec3<T>{T(0.0), T(0.0), side.z});
  return way;
}

template <class T>
static MBT_INLINE Witness<T> sphere_box(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> h = half_lengths(B), x = rotate_back(B.R, A.p - B.p), side = signs_of(x);
  const Vec3<T> b = clamp(x, h), c = b - x;
  const T length = sqrt_(dot(c, c));
  const WayOut<T> way = through_faces(h - products(x, side), side);
  const Witness<T> outside = {length, x, b, c / larger(length, T(1e-300))};
  const Witness<T> inside = {-way.depth, x, x + way.outward * way.depth, -way.outward};
  return with_skins(to_world(B, select_lt(T(1e-150), length, outside, inside)), A.size[0], T(0.0));
}

template <class T>
static MBT_INLINE Witness<T> sphere_cylinder(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> x = rotate_back(B.R, A.p - B.p);
  const T radius = B.size[0], h = B.size[1], rho = sqrt_(x.x * x.x + x.y * x.y);
  const T share = T(1.0) / larger(rho, T(1e-150));
  const Vec3<T> e = select_lt(T(1e-150), rho, Vec3<T>{x.x * share, x.y * share, T(0.0)}, Vec3<T>{T(1.0), T(0.0), T(0.0)});
  const T near = smaller(rho, radius);
  const Vec3<T> b = {near * e.x, near * e.y, clamp(x.z, h)}, c = b - x;
  const T length = sqrt_(dot(c, c)), side = sign_of(x.z);
  WayOut<T> way = {radius - rho, e};
  offer(&way, h - x.z * side, Vec3<T>{T(0.0), T(0.0), side});
  const T least = (rho + radius) * kNoDirection;  // `b` has rounding errors even if x is inside
  const Witness<T> outside = {length, x, b, c / larger(length, T(1e-300))};
  const Witness<T> inside = {-way.depth, x, x + way.outward * way.depth, -way.outward};
  return with_skins(to_world(B, select_lt(least, length, outside, inside)), A.size[0], T(0.0));
}

// The derivative of half the squared distance of p + t u from the box by t: nondecreasing, and linear between the
// planes of the faces.
template <class T>
static MBT_INLINE T rate_along(const Vec3<T>& p, const Vec3<T>& u, const Vec3<T>& h, const T& t) {
  const Vec3<T> x = p + u * t;
  return dot(u, x - clamp(x, h));
}

// Where on |t| <= length p + t u is closest to the box: where that derivative changes sign; in the middle of the range
// where it is zero.
template <class T>
static MBT_INLINE T closest_to_box(const Vec3<T>& p, const Vec3<T>& u, const Vec3<T>& h, const T& length) {
  T low = -length, high = length, low_rate = rate_along(p, u, h, low), high_rate = rate_along(p, u, h, high);
  const T position[3] = {p.x, p.y, p.z}, direction[3] = {u.x, u.y, u.z}, half[3] = {h.x, h.y, h.z};
  for (int i = 0; i < 3; ++i) {
    const T inverse = sign_of(direction[i]) / larger(magnitude(direction[i]), T(1e-150));
    for (int side = 0; side < 2; ++side) {
      const T t = clamp((side ? half[i] - position[i] : -half[i] - position[i]) * inverse, length);
      const T rate = rate_along(p, u, h, t);
      // rate <= 0: new lower end; rate >= 0: new upper end.
      const T from = select_lt(T(0.0), rate, low, t), to = select_lt(rate, T(0.0), high, t);
      low_rate = select_lt(low, from, rate, low_rate);
      low = larger(from, low);
      high_rate = select_lt(to, high, rate, high_rate);
      high = smaller(to, high);
    }
  }
  const T slope = high_rate - low_rate;
  const T share = select_lt(T(0.0), slope, -low_rate / larger(slope, T(1e-300)), T(0.5));
  return low + (high - low) * smaller(larger(share, T(0.0)), T(1.0));
}

// The shortest way out of a box for a segment that cuts through it: perpendicular to a face, or to the segment and an
// edge. These are the faces of the Minkowski sum: S. Gottschalk et al., "OBBTree", SIGGRAPH 1996. In the frame of the
// box, from the segment to the box.
template <class T>
static MBT_INLINE Witness<T> segment_through_box(
    const Vec3<T>& p, const Vec3<T>& u, const Vec3<T>& h, const T& length, const T& middle) {
  const T zero(0.0), one(1.0);
  const Vec3<T> reach = {length * magnitude(u.x), length * magnitude(u.y), length * magnitude(u.z)};
  const Vec3<T> side = signs_of(p);
  WayOut<T> way = through_faces(h + reach - products(p, side), side);
  // For a face: the deepest end, or the middle of the part inside if the segment is parallel to the face.
  const T along = dot(way.outward, u);
  const T t = select_lt(T(1e-9), magnitude(along), -(sign_of(along) * length), middle);
  const Vec3<T> a = p + u * t;
  Witness<T> w = {-way.depth, a, a + way.outward * way.depth, -way.outward};
  for (int i = 0; i < 3; ++i) {
    const Vec3<T> e = {i == 0 ? one : zero, i == 1 ? one : zero, i == 2 ? one : zero};
    const Vec3<T> c = cross(e, u);
    const T size = sqrt_(dot(c, c));
    Vec3<T> n = c / larger(size, T(1e-150));
    n = n * sign_of(dot(n, p));  // outward: from the box to the segment
    const T depth = dot(h, Vec3<T>{magnitude(n.x), magnitude(n.y), magnitude(n.z)}) + length * magnitude(dot(n, u)) - dot(n, p);
    // The edge, and the closest points of both.
    const Vec3<T> center = products(signs_of(n), h) - e * dot(e, products(signs_of(n), h));
    const Parameters2<T> at = closest_on_segments(center - p, u, length, e, T(dot(e, h)));
    const Vec3<T> q = p + u * at.s;
    const Witness<T> edge = {-depth, q, q + n * depth, -n};
    // Faces are preferred where only rounding makes a difference.
    const T less = select_lt(T(1e-14), size, depth * (1.0 + 1e-12), T(1e300));
    w = select_lt(less, -w.distance, edge, w);
  }
  return w;
}

template <class T>
static MBT_INLINE Witness<T> capsule_box(const PlacedShape<T>& A, const PlacedShape<T>& B) {
  const Vec3<T> h = half_lengths(B), p = rotate_back(B.R, A.p - B.p), u = rotate_back(B.R, axis_z(A.R));
  const T t = closest_to_box(p, u, h, A.size[1]);
  const Vec3<T> a = p + u * t, b = clamp(a, h), c = b - a;
  const T length = sqrt_(dot(c, c));
  const T least = (sum_of_magnitudes(p) + A.size[1]) * kNoDirection;
  Witness<T> w = {length, a, b, c / larger(length, T(1e-300))};
  const T touches = select_lt(least, length, T(0.0), T(1.0));
  if (MBT_UNLIKELY(any_less(T(0.5), touches))) w = select_lt(T(0.5), touches, segment_through_box(p, u, h, A.size[1], t), w);
  return with_skins(to_world(B, w), A.size[0], T(0.0));
}

}  // namespace MBT_NS
