// The shapes of a model and the pairs of them whose distances are asked for: the same for all instruction sets.
#pragma once

#include "scalars/config.hpp"

namespace MBT_NS {

struct SceneShape {
  int kind;              // see shapes.hpp
  int node;              // the body that it is fixed to
  int mobod;             // and that body's
  double size[3];
  double radius;         // of the sphere about its origin that holds it; infinite where none does
  double R[9], p[3];     // X_BG; of a core X_NG
  const double* vertices;
  int count;
};

struct ScenePair {
  int a, b;              // shapes, the lower kind first
  int swapped;           // 1: results have b first
  int place;             // in results
  int first, last;       // mobods that move one of them against the other
  double padding;        // [m]  of both together
};

struct SceneMove {
  int mobod;
  double sign;           // 1: moves the second one, -1: the first
};

struct SceneTables {
  int num_shapes, num_pairs, num_mobods;
  const SceneShape* shapes;
  const ScenePair* pairs;   // those of the same kinds and the same hulls in a row
  const SceneMove* moves;
  const int* mobods;        // (num_mobods,) that are computed, in order
};

}  // namespace MBT_NS
