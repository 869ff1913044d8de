// Distances of some pairs of a scene for one state, with which contact of shapes begins.
#pragma once

#include "geometry/distances.hpp"

namespace MBT_NS {

// For pairs given by increasing places in the table; without padding, the lower kind first. `placed` are
// PlacedShape<double>, `found` Witness<double>: modules for other instruction sets call this.
static inline void find_witnesses(
    const SceneTables* scene, const void* placed_shapes, const int* pairs, int count, void* witnesses) {
  const PlacedShape<double>* placed = static_cast<const PlacedShape<double>*>(placed_shapes);
  Witness<double>* found = static_cast<Witness<double>*>(witnesses);
  int together;
  for (int i = 0; i < count; i += together) {
    const ScenePair& pair = scene->pairs[pairs[i]];
    const SceneShape &a = scene->shapes[pair.a], &b = scene->shapes[pair.b];
    PlacedShape<Lanes> A = in_all_lanes(placed[pair.a]), B = in_all_lanes(placed[pair.b]);
    for (together = 1; together < MBT_W && i + together < count; ++together) {
      const ScenePair& next = scene->pairs[pairs[i + together]];
      if (!go_together(a, scene->shapes[next.a]) || !go_together(b, scene->shapes[next.b])) break;
      // size, R and p: fifteen contiguous scalars
      const double *from_a = placed[next.a].size, *from_b = placed[next.b].size;
      Lanes *to_a = A.size, *to_b = B.size;
      for (int k = 0; k < 15; ++k) {
        set_lane(to_a[k], together, from_a[k]);
        set_lane(to_b[k], together, from_b[k]);
      }
    }
    const Witness<Lanes> w = pair_functions<Lanes>(a.kind, b.kind).find(A, B);
    const Lanes* from = &w.distance;
    for (int l = 0; l < together; ++l) {
      double* to = &found[i + l].distance;
      for (int k = 0; k < 10; ++k) to[k] = lane(from[k], l);
    }
  }
}

}  // namespace MBT_NS
