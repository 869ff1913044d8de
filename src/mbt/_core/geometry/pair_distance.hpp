// Which function computes the distance of two kinds of shapes.
#pragma once

#include "geometry/closed_forms.hpp"
#include "geometry/convex.hpp"

namespace MBT_NS {

template <class T>
using PairFunction = Witness<T> (*)(const PlacedShape<T>&, const PlacedShape<T>&);

// One function in the machine for each pair of kinds, called once for all lanes.
#define MBT_PAIR(name)                                                                              \
  struct name##_pair {                                                                              \
    template <class T>                                                                              \
    MBT_NOINLINE static Witness<T> find(const PlacedShape<T>& A, const PlacedShape<T>& B) {         \
      return name(A, B);                                                                            \
    }                                                                                               \
  };
MBT_PAIR(sphere_sphere)
MBT_PAIR(sphere_capsule)
MBT_PAIR(sphere_half_space)
MBT_PAIR(sphere_box)
MBT_PAIR(sphere_cylinder)
MBT_PAIR(capsule_capsule)
MBT_PAIR(capsule_half_space)
MBT_PAIR(capsule_box)
MBT_PAIR(half_space_box)
MBT_PAIR(half_space_cylinder)
MBT_PAIR(half_space_ellipsoid)
MBT_PAIR(half_space_hull)
#undef MBT_PAIR

// Those that are searched for share the search.
template <int a, int b>
struct convex_pair_of {
  template <class T>
  static Witness<T> find(const PlacedShape<T>& A, const PlacedShape<T>& B) {
    return convex_distance(a, A, b, B);
  }
};

// Null where there is none; a <= b.
template <class T>
static inline PairFunction<T> pair_function(int a, int b) {
  switch (a * NUM_KINDS + b) {
    case SPHERE * NUM_KINDS + SPHERE: return sphere_sphere_pair::find<T>;
    case SPHERE * NUM_KINDS + CAPSULE: return sphere_capsule_pair::find<T>;
    case SPHERE * NUM_KINDS + HALF_SPACE: return sphere_half_space_pair::find<T>;
    case SPHERE * NUM_KINDS + BOX: return sphere_box_pair::find<T>;
    case SPHERE * NUM_KINDS + CYLINDER: return sphere_cylinder_pair::find<T>;
    case CAPSULE * NUM_KINDS + CAPSULE: return capsule_capsule_pair::find<T>;
    case CAPSULE * NUM_KINDS + HALF_SPACE: return capsule_half_space_pair::find<T>;
    case CAPSULE * NUM_KINDS + BOX: return capsule_box_pair::find<T>;
    case HALF_SPACE * NUM_KINDS + BOX: return half_space_box_pair::find<T>;
    case HALF_SPACE * NUM_KINDS + CYLINDER: return half_space_cylinder_pair::find<T>;
    case HALF_SPACE * NUM_KINDS + ELLIPSOID: return half_space_ellipsoid_pair::find<T>;
    case HALF_SPACE * NUM_KINDS + HULL: return half_space_hull_pair::find<T>;
    case SPHERE * NUM_KINDS + ELLIPSOID: return convex_pair_of<SPHERE, ELLIPSOID>::template find<T>;
    case SPHERE * NUM_KINDS + HULL: return convex_pair_of<SPHERE, HULL>::template find<T>;
    case CAPSULE * NUM_KINDS + CYLINDER: return convex_pair_of<CAPSULE, CYLINDER>::template find<T>;
    case CAPSULE * NUM_KINDS + ELLIPSOID: return convex_pair_of<CAPSULE, ELLIPSOID>::template find<T>;
    case CAPSULE * NUM_KINDS + HULL: return convex_pair_of<CAPSULE, HULL>::template find<T>;
    case BOX * NUM_KINDS + BOX: return convex_pair_of<BOX, BOX>::template find<T>;
    case BOX * NUM_KINDS + CYLINDER: return convex_pair_of<BOX, CYLINDER>::template find<T>;
    case BOX * NUM_KINDS + ELLIPSOID: return convex_pair_of<BOX, ELLIPSOID>::template find<T>;
    case BOX * NUM_KINDS + HULL: return convex_pair_of<BOX, HULL>::template find<T>;
    case CYLINDER * NUM_KINDS + CYLINDER: return convex_pair_of<CYLINDER, CYLINDER>::template find<T>;
    case CYLINDER * NUM_KINDS + ELLIPSOID: return convex_pair_of<CYLINDER, ELLIPSOID>::template find<T>;
    case CYLINDER * NUM_KINDS + HULL: return convex_pair_of<CYLINDER, HULL>::template find<T>;
    case ELLIPSOID * NUM_KINDS + ELLIPSOID: return convex_pair_of<ELLIPSOID, ELLIPSOID>::template find<T>;
    case ELLIPSOID * NUM_KINDS + HULL: return convex_pair_of<ELLIPSOID, HULL>::template find<T>;
    case HULL * NUM_KINDS + HULL: return convex_pair_of<HULL, HULL>::template find<T>;
  }
  return nullptr;
}

}  // namespace MBT_NS
