// Poses as values, of any scalar. Those of records.hpp are rows of numbers under the same name: a file has one or the other.
#pragma once

#include "algebra/vectors.hpp"

namespace MBT_NS {

// X_AB: the point p_B is at R p_B + p in A.
template <class T>
struct Pose {
  Mat3<T> R;
  Vec3<T> p;
};

template <class T>
static MBT_INLINE Pose<T> inverse(const Pose<T>& X) {
  const Mat3<T> R = transpose(X.R);
  return {R, -(R * X.p)};
}

// A homogeneous matrix, (4, 4).
template <class T>
static MBT_INLINE Pose<T> pose_at(const T* X) {
  return {matrix_at(X, 4), {X[3], X[7], X[11]}};
}
template <class T>
static MBT_INLINE void put(const Pose<T>& X, T* to) {
  put(X.R, to, 4);
  to[3] = X.p.x;
  to[7] = X.p.y;
  to[11] = X.p.z;
  to[12] = to[13] = to[14] = T(0.0);
  to[15] = T(1.0);
}

}  // namespace MBT_NS
