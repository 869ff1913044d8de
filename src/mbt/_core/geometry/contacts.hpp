// The points where the shapes of a scene touch, or may touch within a step, for one state.
#pragma once

#include <cstddef>

#include "geometry/bounds.hpp"
#include "geometry/manifold.hpp"

namespace MBT_NS {

// Largest change of velocities within a step for which points are found in time: an acceleration [m/s^2] and a
// factor.
static constexpr double kUnforeseen = 100.0, kGrowth = 1.5;
// The size assumed for a half-space where it rotates [m].
static constexpr double kFar = 10.0;

// From a module for another instruction set, see witnesses.hpp.
typedef void (*WitnessFinder)(const SceneTables*, const void* placed, const int* pairs, int count, void* witnesses);

struct TouchPoint {
  int pair;           // its place in results
  int a, b;           // bodies: the first and the second of the pair
  double p[3];        // in World, midway between both surfaces
  double s[3], t[3];  // unit tangent vectors
  double n[3];        // unit normal from the first to the second
  double gap;         // between the surfaces, negative where they overlap
};

struct ContactTables {
  const SceneTables* scene;
  const SceneShape* shapes;  // on their bodies
  const int* order;          // (num_pairs,) places in the table, by place in results
  WitnessFinder finder;
  // By place in results
  const double* stiffness;
  const double* dissipation;
  const double* friction;
};

// Doubles of working memory.
static inline std::ptrdiff_t count_contact_memory(const SceneTables* scene) {
  const std::ptrdiff_t bytes = scene->num_shapes * (sizeof(PlacedShape<double>) + 10 * sizeof(double))
    + scene->num_pairs * (sizeof(Witness<double>) + 2 * sizeof(double) + 2 * sizeof(int));
  return bytes / sizeof(double) + 2;
}

// Radius of the sphere that bounds a shape. For unbounded shapes, the table may hold another value, see bounds.hpp.
static inline double radius_of(const SceneShape& s) {
  return s.kind == HALF_SPACE || s.kind == HEIGHT_FIELD ? INFINITY : s.radius;
}

// Half lengths of the box along its axes that bounds a shape; infinite for a hull and for unbounded shapes.
static inline Vec3<double> half_lengths_of(const SceneShape& s) {
  const double r = s.size[0], z = s.size[1];
  if (s.kind == SPHERE) return {r, r, r};
  if (s.kind == CAPSULE) return {r, r, z + r};
  if (s.kind == CYLINDER) return {r, r, z};
  if (s.kind == BOX || s.kind == ELLIPSOID) return vector_at(s.size);
  return {INFINITY, INFINITY, INFINITY};
}

// Whether a point is farther than `reach` from the box that bounds a shape.
static inline bool is_beyond(const SceneShape& s, const PlacedShape<double>& S, const Vec3<double>& p, double reach) {
  const Vec3<double> x = rotate_back(S.R, p - S.p), half = half_lengths_of(s);
  const Vec3<double> out = {
    larger(magnitude(x.x) - half.x, 0.0), larger(magnitude(x.y) - half.y, 0.0), larger(magnitude(x.z) - half.z, 0.0)};
  return reach > 0.0 && dot(out, out) > reach * reach;
}

static inline double speed_of(const double* v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// Contacts of pairs that are less than `margin` apart, or come that near within h; up to kMostSpots for each pair, in
// the order of results. Without velocities, h is ignored.
static inline int find_contacts(
    const ContactTables* tables, const double* X_WB, const double* V_WB, double h, double margin, double* memory,
    TouchPoint* out) {
  const SceneTables* scene = tables->scene;
  PlacedShape<double>* placed = reinterpret_cast<PlacedShape<double>*>(memory);
  Witness<double>* witnesses = reinterpret_cast<Witness<double>*>(placed + scene->num_shapes);
  double* velocities = reinterpret_cast<double*>(witnesses + scene->num_pairs);
  double* balls = velocities + 6 * scene->num_shapes;
  double* limits = balls + 4 * scene->num_shapes;
  int* near = reinterpret_cast<int*>(limits + scene->num_pairs);
  int* where = near + scene->num_pairs;
  for (int i = 0; i < scene->num_shapes; ++i) {
    const SceneShape& shape = tables->shapes[i];
    const double* X = X_WB + 16 * shape.node;
    const Mat3<double> R_WB = matrix_at(X, 4), S = transpose(matrix_at(shape.R));
    PlacedShape<double>& at = placed[i];
    for (int k = 0; k < 3; ++k) at.size[k] = shape.size[k];
    at.R = transpose(Mat3<double>{R_WB * S.x, R_WB * S.y, R_WB * S.z});
    const Vec3<double> r = R_WB * vector_at(shape.p);
    at.p = r + Vec3<double>{X[3], X[7], X[11]};
    at.vertices = shape.vertices;
    at.count = shape.count;
    // A sphere that bounds it at all poses that it can reach within h.
    double* ball = balls + 4 * i;
    put(at.p, ball);
    ball[3] = radius_of(shape);
    if (!V_WB) continue;
    const double* V = V_WB + 6 * shape.node;
    const Vec3<double> w = vector_at(V);
    put(w, velocities + 6 * i);
    put(vector_at(V + 3) + cross(w, r), velocities + 6 * i + 3);
    ball[3] += kGrowth * h * (speed_of(velocities + 6 * i + 3) + speed_of(V) * smaller(shape.radius, kFar));
  }
  int count = 0;
  for (int i = 0; i < scene->num_pairs; ++i) {
    const ScenePair& pair = scene->pairs[i];
    where[i] = -1;
    // Most pairs are far apart, which can be detected without a square root.
    const double *p = balls + 4 * pair.a, *u = balls + 4 * pair.b;
    const double x = u[0] - p[0], y = u[1] - p[1], z = u[2] - p[2], reach = p[3] + u[3] + margin + pair.padding;
    if (!(reach > 0.0) || x * x + y * y + z * z > reach * reach) continue;
    const SceneShape &a = scene->shapes[pair.a], &b = scene->shapes[pair.b];
    const PlacedShape<double>&A = placed[pair.a], &B = placed[pair.b];
    double limit = margin;
    if (V_WB) {
      const double *V = velocities + 6 * pair.a, *U = velocities + 6 * pair.b;
      const double relative[3] = {U[3] - V[3], U[4] - V[4], U[5] - V[5]};
      limit += kGrowth * h * (speed_of(relative) + speed_of(V) * smaller(a.radius, kFar) + speed_of(U) * smaller(b.radius, kFar));
    }
    limits[i] = limit + pair.padding;
    if (!(bound_closeness(a, b, A, B, limits[i]) > 0.0)) continue;
    if (is_beyond(a, A, B.p, radius_of(b) + limits[i]) || is_beyond(b, B, A.p, radius_of(a) + limits[i])) continue;
    where[i] = count;
    near[count++] = i;
  }
  tables->finder(scene, placed, near, count, witnesses);
  int found = 0;
  for (int place = 0; place < scene->num_pairs; ++place) {
    const int i = tables->order[place];
    if (where[i] < 0) continue;
    const Witness<double>& w = witnesses[where[i]];
    if (!(w.distance < limits[i])) continue;
    const ScenePair& pair = scene->pairs[i];
    NormalFrame f;
    Spot spots[kMostSpots];
    const int num_spots = find_spots(
      scene->shapes[pair.a].kind, placed[pair.a], scene->shapes[pair.b].kind, placed[pair.b], w, limits[i], &f, spots);
    for (int k = 0; k < num_spots; ++k) {
      TouchPoint& x = out[found++];
      x.pair = place;
      x.a = tables->shapes[pair.swapped ? pair.b : pair.a].node;
      x.b = tables->shapes[pair.swapped ? pair.a : pair.b].node;
      x.gap = spots[k].gap - pair.padding;
      const Vec3<double> n = spots[k].n, s = across(n), t = cross(n, s);
      put(f.origin + f.s * spots[k].x + f.t * spots[k].y + f.n * spots[k].z, x.p);
      put(s, x.s);
      put(pair.swapped ? -t : t, x.t);
      put(pair.swapped ? -n : n, x.n);
    }
  }
  return found;
}

}  // namespace MBT_NS
