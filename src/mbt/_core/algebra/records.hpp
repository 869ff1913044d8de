// Records of the dynamics kernels, one per mobilized body. Templates on the scalar, so that one kernel source serves all.
//
// Frames of a mobilized body ("mobod"):
//   P  mobod frame of the parent mobod
//   F  inboard frame of the mobilizer, rotated so that the axis of one dof is its z axis
//   N  mobod frame: outboard frame of the mobilizer, rotated the same way; F and N coincide at q = 0
//   B  frame of a body that rides on the mobod; bodies welded to it share its mobod frame
//
// SI units and radians. The rotational part of a spatial vector comes first: velocities [rad/s, m/s], accelerations
// [rad/s^2, m/s^2], forces [N m, N], motion axes [1, m]. X, R: poses and rotations [1, m].
#pragma once
#include <cstddef>

#include "algebra/articulated.hpp"
#include "algebra/vectors.hpp"
#include "scalars/config.hpp"

namespace MBT_NS {

// The parameters of a Context, combined for one mobod.
template <class T>
struct Mobod {
  Pose<T> X_PF;
  RigidInertia<T> I;  // about No in N, of all bodies on the mobod; ten contiguous scalars
};

// Everything physical that kernels read: one set per Context, shared while the values are the defaults.
template <class T>
struct Parameters {
  const Mobod<T>* mobods;       // (num_mobods,)
  const Pose<T>* X_NB;          // (num_bodies,)
  const T* X_BF;                // (num_frames, 4, 4)  [1, m]
  const T* mass;                // (num_bodies,)       [kg]
  const T* p_BoBcm_B;           // (num_bodies, 3)     [m]
  const T* I_BBo_B;             // (num_bodies, 6)     [kg m^2]  rotational inertia: xx yy zz xy xz yz
  const T* gravity;             // (3,)                [m/s^2]
  const T* damping;             // (nv,)               [N m s/rad, N s/m]
  const T* reflected_inertia;   // (nv,)               [kg m^2, kg]
  const T* force_elements;      // the parameters of one element after the other
  const T* constraints;         // the parameters of one constraint after the other
};

// Inverse dynamics: motion and force at No, in N.
template <class T>
struct MotionForce {
  Pose<T> X_PN;
  Vec3<T> w;      // [rad/s]    angular velocity
  Vec3<T> alpha;  // [rad/s^2]  angular acceleration
  Vec3<T> a;      // [m/s^2]    acceleration of No, less gravity
  Mat3<T> B;      // [1/s^2]    [alpha]x + [w]x [w]x
  Vec3<T> t;      // [N m]      torque, and
  Vec3<T> f;      // [N]        force through the mobilizer
};

// Mass matrix: composite inertia of a mobod and everything outboard of it, about No in N.
template <class T>
struct Composite {
  Pose<T> X_PN;
  RigidInertia<T> I;
};

// Gravity: mass of a mobod and everything outboard of it, about No in N.
template <class T>
struct Weight {
  Pose<T> X_PN;
  T mass;     // [kg]
  Vec3<T> h;  // [kg m]
  Vec3<T> g;  // [m/s^2]  gravity
};

// Forward dynamics: articulated-body inertia and force at No, in N.
template <class T>
struct Articulated {
  Pose<T> X_PN;
  Vec3<T> w;                // [rad/s]  angular velocity
  Motion<T> bias;           // [rad/s^2, m/s^2]  acceleration of N in World when vdot and the acceleration of P are zero
  ArticulatedInertia<T> I;  // [kg m^2, kg m, kg]
  Force<T> Z;               // [N m, N]
  Motion<T> acc;            // [rad/s^2, m/s^2]  less gravity
  T size[2];                // [kg m^2, kg]  traces of A and C before any dof is eliminated; general joints only
};

// A frame in World and its motion.
template <class T>
struct FrameMotion {
  Mat3<T> R;
  Vec3<T> p;
  Vec3<T> w;      // [rad/s]
  Vec3<T> v;      // [m/s]
  Vec3<T> alpha;  // [rad/s^2]
  Vec3<T> a;      // [m/s^2]  of its origin
};

// Constraints: a mobod in World, and the velocity of its origin in N.
template <class T>
struct Placed {
  Pose<T> X_WN;
  Vec3<T> v;  // [m/s]
};

// Constraints: the working memory of forward dynamics. Rows are ordered by group.
template <class T>
struct ConstraintWork {
  Placed<T>* placed;     // (num_mobods,)
  T* Z;                  // (dofs, rows) [N m, N]  for each group
  T* L;                  // (rows, rows) [1]  Lambda factored, in units of `scale`: see semidefinite_rows.hpp
  T* scale;              // (m,)      [1]  1 / (size of the diagonal of Lambda)^(1/2)
  T* right;              // (m,)      [1]  residual of `wanted`, in units of `scale`
  T* D;                  // (m,)      [1]  1 / D
  T* wanted;             // (m,)      [rad/s^2, m/s^2]  of J vdot + Jdot v
  T* step;               // (m,)      [N m, N]
  T* rest;               // (m,)      [1]
  T* size;               // (m,)      [rad^2/s^4, m^2/s^4]
  FrameMotion<T>* ends;  // (num_constraints, 2)
  T* K;                  // (m, 8)    [N m, N]  on the root, due to unit multipliers
  T* Y;                  // (m, 8)    L^-1 K in units of `scale`
  T* W;                  // (m, 8)    Lambda^-1 K
  T* A;                  // (num_mobods, 6)  changes of forces, then of accelerations
  T* du;                 // (nv,)     [rad/s^2, m/s^2]  change of u / D
  T* graded;             // (2, m + 1, m)  for graded_rows.hpp
};

// Constraints: motion of frame B in A at the point C of B where the constraint force acts, in World.
template <class T>
struct RelativeMotion {
  Mat3<T> R_WA;
  Vec3<T> p_WC;   // [m]
  Vec3<T> u;      // [1]           of a distance: unit vector towards C from the other end
  T length;       // [m]           between the ends
  Vec3<T> error;  // [rad]         of a weld: the rotation vector from A to B, in A
  Force<T> F;     // [N m, N]      on B at C
  Motion<T> V_A;  // [rad/s, m/s]
  Motion<T> V_B;
  Motion<T> A_B;  // [rad/s^2, m/s^2]
  Motion<T> V;    // [rad/s, m/s]  of B in A
  Vec3<T> alpha;  // [rad/s^2]
  Vec3<T> a;      // [m/s^2]
};

// Derivatives of constrained dynamics with M^-1, in working memory: rows of `stride`.
template <class T>
struct ConstraintRates {
  T* dtau;         // (2, nv, stride)  [N m, N] per [rad, m] and [rad/s, m/s]
  T* M_inverse;    // (nv, stride)     [1/(kg m^2), 1/(kg m), 1/kg]
  T* J;            // (m, stride)      [1, m]
  T* J_inverse_M;  // (m, stride)      [1/(kg m), 1/kg]  J M^-1
  T* by;           // (3, m, stride)   derivatives of multipliers by q, v and tau; before that, those of their right sides by q and v
  T* work;         // (m, stride)
};

// The same by groups: one register of columns of forces, of right sides, and of the solution.
template <class T>
struct ConstraintColumns {
  const T* S;  // (nv, 6)          [1, m]              axes for articulated bodies, in World about O
  const T* U;  // (nv, 8)          [kg m^2, kg m, kg]
  T* K;        // (m, 6)           [N m, N]            on the root, due to unit multipliers
  T* W;        // (m, 6)                               Lambda^-1 K
  // Rows of registers:
  T* A;        // (num_mobods, 6)  forces, then accelerations
  T* y;        // (nv,)            forces on dofs, then accelerations
  T* l;        // (m,)             multipliers
  T* right;    // (m,)             right sides of the equations
};

// Derivatives: motion of a mobod about O, a point fixed in World at the node origin of its base mobod, expressed in
// World.
template <class T>
struct Moving {
  Mat3<T> R;     // R_WN, followed directly by
  Vec3<T> p;     // [m]  p_ON
  Vec3<T> p_WO;  // [m]
  Motion<T> V;   // [rad/s, m/s]  velocity, followed directly by
  Motion<T> A;   // [rad/s^2, m/s^2]  its derivative, less gravity
  Motion<T> dA;  // [rad/s^2, m/s^2]  forward dynamics: contribution of vdot to A,
  Force<T> dF;   // [N m, N]  and to the force of everything outboard, beyond that of a rigid body
};

// One degree of freedom in forward dynamics.
template <class T>
struct ArticulatedDof {
  Force<T> U;  // [kg m^2, kg m, kg]  articulated inertia times the motion axis; for a joint's first dof at Po in P
  T D;         // [kg m^2, kg]  pivot: H' U + reflected inertia
  T D_inverse;
  T scale;     // [kg m^2, kg]  size of the inertia that D is a part of: D / scale is zero, to rounding, where no mass
               // resists
  T u;         // [N m, N]  tau - H' Z
};

// A point on a mobod in contact with a plane that does not move.
template <class T>
struct PointOnMobod {
  Force<T> axes[3];  // [m, 1]  unit forces at the point along the axes of the plane, about No in N
  Vec3<T> p;         // [m]     p_NP
  T depth;           // [m]
  int mobod;
};

// Implicit steps in sweeps: the tree at the beginning of a step. Rows of J are ordered by group, as those of Z.
template <class T>
struct CompliantWork {
  Articulated<T>* mobods;       // (num_mobods,)
  ArticulatedDof<T>* dofs;      // (nv,)
  RigidInertia<T>* composites;  // (num_mobods,)
  T* H_N;                // (nv, 6)          [1, m]
  T* responses;          // (num_mobods, 6, 6)  [1/(kg m^2), 1/(kg m), 1/kg]  of mobods to forces on them
  T* still;              // (nv,)            [rad/s, m/s]  zeros
  T* resistance;         // (nv,)            [kg m^2, kg]  of dofs by themselves
  T* sin_q;              // (angle_stride,)
  T* cos_q;
  T* P;                  // (m, 3)           [1]  projections of three rows each, see little_directions.hpp
  T* u;                  // (m,)             [rad/s, m/s]
  T* J;                  // (dofs, rows)     [1, m]  for each group
  PointOnMobod<T>* points;  // (num_points,)
  Pose<T>* X_WN;         // (num_mobods,)    where there are points
  Motion<T>* V;          // (num_mobods,)    [rad/s, m/s]
  Force<T>* F;           // (num_mobods,)    [N m s, N s]
  T* sizes;              // (num_mobods, 2)  [N m s, N s]  sums of norms of the terms of F; where there are points
  int num_points;
  ConstraintWork<T> w;
  int* carries;          // (num_mobods,)    whether a point or a root of a group is on a mobod or outboard of it
  int with_rows;         // whether the factors are those of rows and points, too
  int has_projections;   // whether any of P is not the identity
};

// The divisors of forward dynamics: those of dof k are at offset `stride * k`. D is null if no divisors are needed.
template <class T>
struct Pivots {
  const T* D;
  const T* scale;
  std::ptrdiff_t stride;
  const int* locked;  // (nv,) or null: dofs whose pivot is not used
  std::ptrdiff_t further;  // pivots after those of the dofs
};

// A pivot smaller than this part of its size is zero to rounding: 64 roundings.
constexpr double kPivotTolerance = 1.4e-14;

// Coriolis matrix: for a body, then summed over everything outboard of it, about a common point, in World. M = I, and a
// motion [e; u] gives the force B [e; u] = [B e; e × l].
template <class T>
struct CoriolisComposite {
  RigidInertia<T> I;
  Mat3<T> B;  // [kg m^2/s]
  Vec3<T> l;  // [kg m/s]  linear momentum
};

// Regressors, in B: the force of a unit moment, and the torques of unit inertias.
template <class T>
struct UnitForces {
  Mat3<T> W;                       // [1/s^2]
  Vec3<T> xx, xy, yy, xz, yz, zz;  // [1/s^2]
};

// World kinematics in working memory: the contents of a Context's caches, for algorithms that start from q and v.
template <class T>
struct Kinematics {
  T* X_FM;     // (num_bodies, 4, 4)
  T* X_PB;
  T* X_WB;
  T* H_FM;     // (nv, 6)
  T* H_PB_W;
  T* V_PB_W;   // (num_bodies, 6)
  T* V_PB;
  T* V_WB;
  T* F_Bo_W;   // (num_bodies, 6), space for forces on the bodies
  T* rest;     // the memory after these arrays
};

// The two frames that a force element acts between, in World, and the forces on them.
template <class T>
struct Ends {
  Pose<T> X_WA;
  Motion<T> V_WA;  // [rad/s, m/s]
  Pose<T> X_WC;
  Motion<T> V_WC;
  Force<T> F_A;  // [N m, N]  at Ao
  Force<T> F_C;  // [N m, N]  at Co
};

// A spring from P, fixed to frame A, to Q, fixed to frame C. In World.
template <class T>
struct Stretch {
  Vec3<T> p_AoP;  // [m]
  Vec3<T> p_CoQ;  // [m]
  Vec3<T> p_PQ;   // [m]
  T length;       // [m]
  T rate;         // [m/s]  of the length
};

// A bushing between frames A and C: roll, pitch, yaw of R_AC, and the position of Co in the frame B rotated by half
// that angle. Unless a comment says so, expressed in A.
template <class T>
struct Bushing {
  Vec3<T> p;       // [m]  p_AoCo
  Vec3<T> w;       // [rad/s]  velocity of C in A
  Vec3<T> v;       // [m/s]
  Vec3<T> rpy;     // [rad]
  Vec3<T> rpydot;  // [rad/s]
  Mat3<T> N;       // rpydot = N w
  T cos_pitch;
  Mat3<T> R_AB;
  Vec3<T> tan;    // [1]  along the axis of R_AC, tan of a quarter of its angle
  Vec3<T> r;      // [m]  p_AoCo in B
  Vec3<T> rdot;   // [m/s]  its derivative in B
  Vec3<T> drift;  // [m/s]  the rate used for damping (with w_AC / 2 in place of w_AB), less rdot
};

// Coordinates s between two frames, along each of which an element exerts -k s - d sdot.
template <class T>
struct Coordinates {
  T s[6];     // [rad, m]
  T sdot[6];  // [rad/s, m/s]
  T k[6];     // [N m/rad, N/m]
  T d[6];     // [N m s/rad, N s/m]
};

// Contact between one point of a frame and a half-space.
template <class T>
struct Touch {
  T rate;            // [m/s]  of the penetration depth
  Vec3<T> slip;      // [m/s]  velocity along the plane
  T elastic;         // [N]    normal force at rest, zero without contact
  T excess;          // [1]    relative increase by dissipation
  T drag;            // [s/m]  friction per normal force and slip
  T drag_by_square;  // [s^3/m^3]  its derivative with respect to the square of the slip
};

// Contact between the points of one frame C and a half-space: sums over the points, and the field of their velocity in
// the half-space.
template <class T>
struct Contact {
  Vec3<T> normal;        // [1]    of the plane, in World
  Vec3<T> p_AoCo;        // [m]    in World
  Motion<T> V;           // [rad/s, m/s]  at Co, of C in A, in World
  Force<T> F_Co;         // [N m, N]  on C at Co, in World
  T energy;              // [J]
  T conservative_power;  // [W]
  T other_power;         // [W]
};

}  // namespace MBT_NS
