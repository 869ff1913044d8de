// The functions that compute the distance for each pair of kinds of shapes.
#pragma once

#include "geometry/closed_forms.hpp"
#include "geometry/convex.hpp"
#include "geometry/height_field.hpp"

namespace MBT_NS {

// `measure` is `find` without points and normals; it gives the same distances.
template <class T>
struct PairFunctions {
  Witness<T> (*find)(const PlacedShape<T>&, const PlacedShape<T>&);
  T (*measure)(const PlacedShape<T>&, const PlacedShape<T>&);
};

// Two compiled functions for each pair of kinds, each called once for all lanes.
#define MBT_PAIR(name)                                                                              \
  struct name##_pair {                                                                              \
    template <class T>                                                                              \
    MBT_NOINLINE static Witness<T> find(const PlacedShape<T>& A, const PlacedShape<T>& B) {         \
      return name(A, B);                                                                            \
    }                                                                                               \
    template <class T>                                                                              \
    MBT_NOINLINE static T measure(const PlacedShape<T>& A, const PlacedShape<T>& B) {               \
      return name(A, B).distance;                                                                   \
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

// Pairs without a closed form share the search.
template <int a, int b>
struct convex_pair_of {
  template <class T>
  static Witness<T> find(const PlacedShape<T>& A, const PlacedShape<T>& B) {
    return convex_distance(a, A, b, B);
  }
  template <class T>
  static T measure(const PlacedShape<T>& A, const PlacedShape<T>& B) {
    return convex_distance(a, A, b, B).distance;
  }
};

template <int a>
struct field_pair_of {
  template <class T>
  static Witness<T> find(const PlacedShape<T>& A, const PlacedShape<T>& B) {
    return field_distances(a, A, B);
  }
  template <class T>
  static T measure(const PlacedShape<T>& A, const PlacedShape<T>& B) {
    return field_distances(a, A, B).distance;
  }
};

template <class pair, class T>
static inline PairFunctions<T> functions_of() {
  return {pair::template find<T>, pair::template measure<T>};
}

// Null pointers if there are none; a <= b.
template <class T>
static inline PairFunctions<T> pair_functions(int a, int b) {
  switch (a * NUM_KINDS + b) {
    case SPHERE * NUM_KINDS + SPHERE: return functions_of<sphere_sphere_pair, T>();
    case SPHERE * NUM_KINDS + CAPSULE: return functions_of<sphere_capsule_pair, T>();
    case SPHERE * NUM_KINDS + HALF_SPACE: return functions_of<sphere_half_space_pair, T>();
    case SPHERE * NUM_KINDS + BOX: return functions_of<sphere_box_pair, T>();
    case SPHERE * NUM_KINDS + CYLINDER: return functions_of<sphere_cylinder_pair, T>();
    case CAPSULE * NUM_KINDS + CAPSULE: return functions_of<capsule_capsule_pair, T>();
    case CAPSULE * NUM_KINDS + HALF_SPACE: return functions_of<capsule_half_space_pair, T>();
    case CAPSULE * NUM_KINDS + BOX: return functions_of<capsule_box_pair, T>();
    case HALF_SPACE * NUM_KINDS + BOX: return functions_of<half_space_box_pair, T>();
    case HALF_SPACE * NUM_KINDS + CYLINDER: return functions_of<half_space_cylinder_pair, T>();
    case HALF_SPACE * NUM_KINDS + ELLIPSOID: return functions_of<half_space_ellipsoid_pair, T>();
    case HALF_SPACE * NUM_KINDS + HULL: return functions_of<half_space_hull_pair, T>();
    case SPHERE * NUM_KINDS + ELLIPSOID: return functions_of<convex_pair_of<SPHERE, ELLIPSOID>, T>();
    case SPHERE * NUM_KINDS + HULL: return functions_of<convex_pair_of<SPHERE, HULL>, T>();
    case CAPSULE * NUM_KINDS + CYLINDER: return functions_of<convex_pair_of<CAPSULE, CYLINDER>, T>();
    case CAPSULE * NUM_KINDS + ELLIPSOID: return functions_of<convex_pair_of<CAPSULE, ELLIPSOID>, T>();
    case CAPSULE * NUM_KINDS + HULL: return functions_of<convex_pair_of<CAPSULE, HULL>, T>();
    case BOX * NUM_KINDS + BOX: return functions_of<convex_pair_of<BOX, BOX>, T>();
    case BOX * NUM_KINDS + CYLINDER: return functions_of<convex_pair_of<BOX, CYLINDER>, T>();
    case BOX * NUM_KINDS + ELLIPSOID: return functions_of<convex_pair_of<BOX, ELLIPSOID>, T>();
    case BOX * NUM_KINDS + HULL: return functions_of<convex_pair_of<BOX, HULL>, T>();
    case CYLINDER * NUM_KINDS + CYLINDER: return functions_of<convex_pair_of<CYLINDER, CYLINDER>, T>();
    case CYLINDER * NUM_KINDS + ELLIPSOID: return functions_of<convex_pair_of<CYLINDER, ELLIPSOID>, T>();
    case CYLINDER * NUM_KINDS + HULL: return functions_of<convex_pair_of<CYLINDER, HULL>, T>();
    case ELLIPSOID * NUM_KINDS + ELLIPSOID: return functions_of<convex_pair_of<ELLIPSOID, ELLIPSOID>, T>();
    case ELLIPSOID * NUM_KINDS + HULL: return functions_of<convex_pair_of<ELLIPSOID, HULL>, T>();
    case HULL * NUM_KINDS + HULL: return functions_of<convex_pair_of<HULL, HULL>, T>();
    case SPHERE * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<SPHERE>, T>();
    case CAPSULE * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<CAPSULE>, T>();
    case BOX * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<BOX>, T>();
    case CYLINDER * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<CYLINDER>, T>();
    case ELLIPSOID * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<ELLIPSOID>, T>();
    case HULL * NUM_KINDS + HEIGHT_FIELD: return functions_of<field_pair_of<HULL>, T>();
  }
  return {nullptr, nullptr};
}

}  // namespace MBT_NS
