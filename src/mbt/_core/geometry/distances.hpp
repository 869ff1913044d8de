// Distances of all pairs of a scene: for several states, one per lane, or for one state, one pair per lane.
//
// Both call the same functions, so that a state has the same distances alone and in a batch, to the last bit.
#pragma once

#include "geometry/bounds.hpp"
#include "geometry/pair_distance.hpp"
#include "geometry/scene.hpp"

namespace MBT_NS {

// X_NG of a core, from X_BG and the poses of bodies on their mobods.
static inline void put_on_mobod(const double* R_NB, const double* p_NB, SceneShape* shape) {
  const Mat3<double> R = matrix_at(R_NB), S = transpose(matrix_at(shape->R));
  const Vec3<double> p = R * vector_at(shape->p) + vector_at(p_NB);
  put(transpose(Mat3<double>{R * S.x, R * S.y, R * S.z}), shape->R);
  put(p, shape->p);
}

template <class T>
static MBT_INLINE Vec3<T> broadcast3(const double* a) {
  return {T(a[0]), T(a[1]), T(a[2])};
}

static MBT_INLINE Vec3<Lanes> broadcast3(const Lanes& x) { return {x, x, x}; }

static inline int has_pair_function(int a, int b) { return pair_functions<Lanes>(a, b).find != nullptr; }

// Number of Lanes of working memory for a scene, in addition to the poses of mobods.
static inline std::ptrdiff_t count_placed_shapes(const SceneTables* scene) {
  return (static_cast<std::ptrdiff_t>(scene->num_shapes) * sizeof(PlacedShape<Lanes>) + sizeof(Lanes) - 1) / sizeof(Lanes);
}

// The position of a shape is NaN where squares of lengths overflow.
static MBT_INLINE Vec3<Lanes> hide_far(const Vec3<Lanes>& p) {
  return p + broadcast3(dot(p, p) * Lanes(16.0) * Lanes(0.0));
}

// Place the shapes that never move and set all sizes, once before the first block.
static inline void start_shapes(const SceneTables* scene, const SceneShape* shapes, Lanes* memory) {
  PlacedShape<Lanes>* placed = reinterpret_cast<PlacedShape<Lanes>*>(memory);
  for (int i = 0; i < scene->num_shapes; ++i) {
    const SceneShape& shape = shapes[i];
    for (int k = 0; k < 3; ++k) placed[i].size[k] = Lanes(shape.size[k]);
    placed[i].R = {broadcast3<Lanes>(shape.R), broadcast3<Lanes>(shape.R + 3), broadcast3<Lanes>(shape.R + 6)};
    placed[i].p = hide_far(broadcast3<Lanes>(shape.p));
    placed[i].vertices = shape.vertices;
    placed[i].count = shape.count;
  }
}

// X_WG = X_WN X_NG
static inline void place_shapes(const SceneTables* scene, const SceneShape* shapes, const Lanes* X_WN, Lanes* memory) {
  PlacedShape<Lanes>* placed = reinterpret_cast<PlacedShape<Lanes>*>(memory);
  for (int i = 0; i < scene->num_shapes; ++i) {
    const SceneShape& shape = shapes[i];
    if (shape.mobod == 0) continue;
    const Lanes* X = X_WN + 16 * shape.mobod;
    const Mat3<Lanes> R_WN = matrix_at(X, 4);
    const double* R = shape.R;
    const Vec3<Lanes> x = R_WN * Vec3<Lanes>{R[0], R[3], R[6]}, y = R_WN * Vec3<Lanes>{R[1], R[4], R[7]};
    const Vec3<Lanes> z = R_WN * Vec3<Lanes>{R[2], R[5], R[8]};
    placed[i].R = {{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}};
    placed[i].p = hide_far(R_WN * broadcast3<Lanes>(shape.p) + Vec3<Lanes>{X[3], X[7], X[11]});
  }
}

// By place in results; without witnesses p_A is null.
struct SceneResults {
  Lanes* distance;
  Lanes* p_A;
  Lanes* p_B;
  Lanes* n;
};

// Padding belongs to both: witness points are on the shapes themselves. If the distance is NaN, everything is.
static MBT_INLINE void put_witness(const ScenePair& pair, const Witness<Lanes>& found, const SceneResults* results) {
  const Witness<Lanes> w = pair.swapped ? swapped(found) : found;
  const Vec3<Lanes> nothing = broadcast3(w.distance * Lanes(0.0));
  results->distance[pair.place] = w.distance - Lanes(pair.padding);
  put(w.p_A + nothing, results->p_A + 3 * pair.place);
  put(w.p_B + nothing, results->p_B + 3 * pair.place);
  put(w.n + nothing, results->n + 3 * pair.place);
}

// One state per lane.
static inline void find_distances(const SceneTables* scene, const Lanes* memory, const SceneResults* results) {
  const PlacedShape<Lanes>* placed = reinterpret_cast<const PlacedShape<Lanes>*>(memory);
  PairFunctions<Lanes> functions = {nullptr, nullptr};
  int last = -1;
  for (int i = 0; i < scene->num_pairs; ++i) {
    const ScenePair& pair = scene->pairs[i];
    const PlacedShape<Lanes>&A = placed[pair.a], &B = placed[pair.b];
    const int kinds = scene->shapes[pair.a].kind * NUM_KINDS + scene->shapes[pair.b].kind;
    if (kinds != last) functions = pair_functions<Lanes>(kinds / NUM_KINDS, kinds % NUM_KINDS);
    last = kinds;
    if (results->p_A != nullptr) put_witness(pair, functions.find(A, B), results);
    else results->distance[pair.place] = functions.measure(A, B) - Lanes(pair.padding);
  }
}

// One lane of a shape.
static inline void copy_lane(const PlacedShape<Lanes>& from, int l, PlacedShape<Lanes>* to) {
  const Lanes* x = from.size;
  Lanes* y = to->size;
  // size, R and p: fifteen contiguous scalars
  for (int k = 0; k < 15; ++k) set_lane(y[k], l, lane(x[k], 0));
}

static MBT_INLINE bool go_together(const SceneShape& a, const SceneShape& b) {
  return a.kind == b.kind && a.vertices == b.vertices;
}

// One pair per lane; all lanes of placed shapes are the same state, and so are those of results.
static inline void find_distances_of_one(const SceneTables* scene, const Lanes* memory, const SceneResults* results) {
  const PlacedShape<Lanes>* placed = reinterpret_cast<const PlacedShape<Lanes>*>(memory);
  int count;
  for (int i = 0; i < scene->num_pairs; i += count) {
    const ScenePair* pair = scene->pairs + i;
    const SceneShape &a = scene->shapes[pair->a], &b = scene->shapes[pair->b];
    for (count = 1; count < MBT_W && i + count < scene->num_pairs; ++count)
      if (!go_together(a, scene->shapes[pair[count].a]) || !go_together(b, scene->shapes[pair[count].b])) break;
    // Lanes without a pair compute the first one again.
    PlacedShape<Lanes> A = placed[pair->a], B = placed[pair->b];
    for (int l = 1; l < count; ++l) {
      copy_lane(placed[pair[l].a], l, &A);
      copy_lane(placed[pair[l].b], l, &B);
    }
    const PairFunctions<Lanes> functions = pair_functions<Lanes>(a.kind, b.kind);
    if (results->p_A == nullptr) {
      const Lanes d = functions.measure(A, B);
      for (int l = 0; l < count; ++l) results->distance[pair[l].place] = Lanes(lane(d, l)) - Lanes(pair[l].padding);
      continue;
    }
    const Witness<Lanes> found = functions.find(A, B);
    for (int l = 0; l < count; ++l) {
      const Lanes* x = &found.distance;
      Lanes numbers[10];
      for (int k = 0; k < 10; ++k) numbers[k] = Lanes(lane(x[k], l));
      const Witness<Lanes> w = {numbers[0], vector_at(numbers + 1), vector_at(numbers + 4), vector_at(numbers + 7)};
      put_witness(pair[l], w, results);
    }
  }
}

// 1 in each lane where two shapes are closer than `margin`, else 0; NaN where a pose is. Bounding spheres rule out most
// pairs.
static inline Lanes find_near(const SceneTables* scene, const Lanes* memory, double margin) {
  const PlacedShape<Lanes>* placed = reinterpret_cast<const PlacedShape<Lanes>*>(memory);
  const Lanes zero(0.0), one(1.0);
  Lanes near(0.0);
  for (int i = 0; i < scene->num_shapes; ++i) {
    const Mat3<Lanes>& R = placed[i].R;
    near += (R.x.x + R.y.y + R.z.z + placed[i].p.x + placed[i].p.y + placed[i].p.z) * 0.0;
  }
  for (int i = 0; i < scene->num_pairs; ++i) {
    const ScenePair& pair = scene->pairs[i];
    const SceneShape &a = scene->shapes[pair.a], &b = scene->shapes[pair.b];
    const PlacedShape<Lanes>&A = placed[pair.a], &B = placed[pair.b];
    const double limit = margin + pair.padding;
    // A state that already touches is finished. Bounds and distances are rounded differently: 1e-9 m allows for that.
    const Lanes closeness = select_lt(near, Lanes(0.5), bound_closeness(a, b, A, B, limit + 1e-9), zero);
    if (!any_less(zero, closeness)) continue;
    near = select_lt(pair_functions<Lanes>(a.kind, b.kind).measure(A, B), Lanes(limit), one, near);
    if (!any_less(near, Lanes(0.5))) break;
  }
  return near;
}

}  // namespace MBT_NS
