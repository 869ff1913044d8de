// Parameters of one force element or constraint, by name, in the order of model/element_types.py.
#pragma once

#include "algebra/vectors.hpp"

namespace MBT_NS {

template <class T>
struct JointSpringNumbers {
  T nominal;    // [rad, m]
  T stiffness;  // [N m/rad, N/m]
};

template <class T>
struct DoorHingeNumbers {
  T spring_zero;       // [rad]
  T spring_constant;   // [N m/rad]
  T dynamic_friction;  // [N m]
  T static_friction;   // [N m]
  T viscous_friction;  // [N m s/rad]
  T catch_width;       // [rad]
  T catch_torque;      // [N m]
  T motion_threshold;  // [rad/s]
};

template <class T>
struct JointFrictionNumbers {
  T coulomb;           // [N m, N]
  T breakaway;         // [N m, N]
  T stribeck_speed;    // [rad/s, m/s]
  T transition_speed;  // [rad/s, m/s]
};

template <class T>
struct SpringNumbers {
  T free_length;  // [m]
  T stiffness;    // [N/m]
  T damping;      // [N s/m]
  Vec3<T> p_AP;   // [m]
  Vec3<T> p_CQ;   // [m]
};

template <class T>
struct BushingNumbers {
  Vec3<T> torque_stiffness;  // [N m/rad]
  Vec3<T> torque_damping;    // [N m s/rad]
  Vec3<T> force_stiffness;   // [N/m]
  Vec3<T> force_damping;     // [N s/m]
};

// The parameters before p_CP of each point.
template <class T>
struct ContactNumbers {
  T stiffness;         // [N/m]
  T dissipation;       // [s/m]
  T static_friction;   // [1]
  T dynamic_friction;  // [1]
  T stiction_speed;    // [m/s]
};

// The first parameters of all constraints.
template <class T>
struct ConstraintNumbers {
  T frequency;      // [rad/s]  of stabilization
  T damping_ratio;  // [1]
};

template <class T>
struct CouplerNumbers {
  T frequency, damping_ratio;
  T gear_ratio;
  T offset;  // [rad, m]
};

template <class T>
struct DistanceNumbers {
  T frequency, damping_ratio;
  T distance;    // [m]
  Vec3<T> p_AP;  // [m]
  Vec3<T> p_BQ;  // [m]
};

}  // namespace MBT_NS
