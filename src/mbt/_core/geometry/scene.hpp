// The shapes of a model and the pairs of them whose distances are computed: the same for all instruction sets.
#pragma once

#include "scalars/config.hpp"

namespace MBT_NS {

struct SceneShape {
  int kind;              // see shapes.hpp
  int node;              // the body that it is fixed to
  int mobod;             // the mobod of that body
  double size[3];
  double radius;         // of the bounding sphere about its origin; infinite if unbounded; of a height field, the top
  double R[9], p[3];     // X_BG; for a core X_NG
  const double* vertices;
  int count;
};

struct ScenePair {
  int a, b;              // shapes, the lower kind first
  int swapped;           // 1: results have b first
  int place;             // in results
  int first, last;       // mobods that move one relative to the other
  double padding;        // [m]  of both together
};

struct SceneMove {
  int mobod;
  double sign;           // 1: moves the second one, -1: the first
};

struct SceneTables {
  int num_shapes, num_pairs, num_mobods;
  const SceneShape* shapes;
  const ScenePair* pairs;   // pairs of the same kinds and hulls are contiguous
  const SceneMove* moves;
  const int* mobods;        // (num_mobods,) those computed, in order
};

}  // namespace MBT_NS
