// Changes of the gradient of an implicit step's convex function with the state before it, while the velocity v1 after
// the step stays: momenta that bodies carry, and points in contact.
//
// Along dof j, with S_j and P_j as in passes/constraint_variations.pxd and V = J v, all that is outboard turns:
//
//   a point C moves by s_j, its velocity v_C changes by w_j × v_C + p_j,    [w_j; s_j] = S_j, [.; p_j] = P_j about C.
//
// Row j of a matrix (n, n) belongs to the coordinate that changes. With dual numbers: mbt.motion.implicit_terms.
#pragma once

#include <cstddef>

#include "solvers/carried_momenta.hpp"
#include "solvers/convex_step.hpp"

namespace mbt_convex {

typedef Vector<double> Vec;

inline Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec position_of(const double* X) { return {X[3], X[7], X[11]}; }

// S and P of each dof, V of each mobod, about the point O of each.
struct Motion {
  double* S;     // (nv, 6)
  double* P;     // (nv, 6)
  double* V;     // (num_mobods, 6)
  double* p_WO;  // (num_mobods, 3)
};

inline Vec linear_at(const double* V, const Vec& p) { return read_vector(V + 3) + cross(read_vector(V), p); }

// Dofs that move a mobod.
struct Path {
  const int* dofs;
  int count;
};

// row -= S' [t; f], about O.
inline void take_force(const Path& path, const double* S, const Vec& t, const Vec& f, double* row) {
  for (int i = 0; i < path.count; ++i) {
    const double* s = S + 6*path.dofs[i];
    row[path.dofs[i]] -= dot(read_vector(s), t) + dot(read_vector(s + 3), f);
  }
}

struct Changes {
  std::ptrdiff_t n;
  double* by_q;
  double* by_before;  // with the positions one step back
  double* by_v;
};

// Adds the changes of one body's momentum and impulse of gravity; the body is on a mobod. X and X0 (4, 4) are its poses
// now and one step back, V0 (6,) its velocity then.
inline void differentiate_momentum(
  const Principal& x, const double* gravity, const double* X, const double* X0, const double* V0, double h, int mobod,
  const Path& path, const Motion& here, const Motion& before, Changes& y) {
  const Vec c = turn(X, 4, read_vector(x.com)), c0 = turn(X0, 4, read_vector(x.com));
  const Vec w0 = read_vector(V0), v0 = read_vector(V0 + 3) + cross(w0, c0);
  const Vec w = turn(x.axes, 3, turn_back(X0, 4, w0));
  const Vec L = turn(X, 4, turn_back(x.axes, 3, carry_angular(x, w, h)));
  const Vec p = v0*x.mass + read_vector(gravity)*(h*x.mass);
  const Vec r = position_of(X) - read_vector(here.p_WO + 3*mobod) + c;
  const Vec r0 = position_of(X0) - read_vector(before.p_WO + 3*mobod) + c0;
  const Vec none{0.0, 0.0, 0.0};
  const auto carry_change = [&](const Vec& dw0, const Vec& dv0, double* row) {
    const Vec dw = turn(x.axes, 3, turn_back(X0, 4, dw0));
    const Vec dL = turn(X, 4, turn_back(x.axes, 3, change_angular(x, w, dw, h)));
    const Vec dp = dv0*x.mass;
    take_force(path, here.S, dL + cross(r, dp), dp, row);
  };
  for (int i = 0; i < path.count; ++i) {
    const int j = path.dofs[i];
    const double *S0 = before.S + 6*j, *P0 = before.P + 6*j;
    const Vec turned = read_vector(here.S + 6*j);
    take_force(path, here.S, cross(turned, L) + cross(cross(turned, c), p), none, y.by_q + y.n*j);
    carry_change(read_vector(P0), cross(read_vector(S0), v0) + linear_at(P0, r0), y.by_before + y.n*j);
    carry_change(read_vector(S0), linear_at(S0, r0), y.by_v + y.n*j);
  }
}

// A point of a body in contact with a plane of World.
struct Place {
  int mobod;
  const double* R_WA;  // (3, 3)
  Vec p_OC;
  Vec p_BoC;
};

// Friction at a point: the coefficient falls from `still` to `moving` between `slow` and 3 `slow` [m/s].
struct Rubbing {
  double still, moving, slow;
};

inline double change_friction_coefficient(const Rubbing& x, double speed) {
  const double r = clip(0.5*(speed/x.slow - 1.0), 0.0, 1.0);
  return (x.moving - x.still)*30.0*r*r*(1.0 - r)*(1.0 - r)*0.5/x.slow;
}

// Adds the changes of the impulse at point k. `v0` and `v1` are the motions with the velocities before and after the
// step.
inline void differentiate_touch(
  const Problem& x, int k, const Place& at, const Rubbing& rubbing, const Path& path, const Motion& v0,
  const Motion& v1, Changes& y) {
  const std::ptrdiff_t n = x.n;
  const double* rows = x.points + 3*n*k;
  const double* u = x.u + x.num_rows + 3*k;
  const Touch t = touch(x, k, u);
  const Vec vC0 = linear_at(v0.V + 6*at.mobod, at.p_OC), vC1 = linear_at(v1.V + 6*at.mobod, at.p_OC);
  const Vec u0 = turn_back(at.R_WA, 3, vC0);
  double impulse[3];
  calc_touch(x, k, u, impulse);
  const Vec f = turn(at.R_WA, 3, read_vector(impulse)), none{0.0, 0.0, 0.0};
  const bool slides = t.across > 0.0 && t.along == 0.0;
  const double speed0 = std::sqrt(u0.x*u0.x + u0.y*u0.y);
  const double load = x.stiffness[k]*positive(x.depth[k]), give = positive(1.0 - x.dissipation[k]*u0.z);
  // The ratio of friction to the normal force at the beginning.
  const double share = load*give > 0.0 ? x.point_friction[k]/(load*give) : 0.0;
  const double by_speed = x.h*load*give*change_friction_coefficient(rubbing, speed0);
  const double by_depth = t.normal > 0.0 ? x.h*x.stiffness[k]*(1.0 - x.dissipation[k]*u[2]) : 0.0;
  const double change = t.speed > 0.0 ? (t.along - t.across)/(t.speed*t.speed) : 0.0;
  const auto add = [&](const Vec& du0, const Vec& du1, double ddepth, double* row) {
    const double along = change*(u[0]*du1.x + u[1]*du1.y);
    Vec df{-t.across*du1.x - along*u[0], -t.across*du1.y - along*u[1], by_depth*ddepth - t.slope*du1.z};
    if (slides) {
      const double dspeed = speed0 > 0.0 ? (u0.x*du0.x + u0.y*du0.y)/speed0 : 0.0;
      double dload = load > 0.0 ? x.stiffness[k]*ddepth*give : 0.0;
      if (give > 0.0) dload -= load*x.dissipation[k]*du0.z;
      const double friction = by_speed*dspeed + share*dload;
      df.x -= friction*u[0]/t.speed;
      df.y -= friction*u[1]/t.speed;
    }
    df = turn(at.R_WA, 3, df);
    take_force(path, v1.S, cross(at.p_OC, df), df, row);
  };
  for (int i = 0; i < path.count; ++i) {
    const int j = path.dofs[i];
    const Vec turned = read_vector(v1.S + 6*j);
    const Vec du0 = turn_back(at.R_WA, 3, cross(turned, vC0) + linear_at(v0.P + 6*j, at.p_OC));
    const Vec du1 = turn_back(at.R_WA, 3, cross(turned, vC1) + linear_at(v1.P + 6*j, at.p_OC));
    add(du0, du1, -rows[2*n + j], y.by_q + n*j);
    // The force is fixed in World, but its arm turns.
    take_force(path, v1.S, cross(cross(turned, at.p_BoC), f), none, y.by_q + n*j);
    add({rows[j], rows[n + j], rows[2*n + j]}, none, 0.0, y.by_v + n*j);
  }
}

// Adds the changes, along each dof, of a point's row along axis i of its plane, times the velocities of `motion`.
inline void add_row_changes(
  const Place& at, int i, const Path& path, const Motion& motion, double factor, double* change) {
  const Vec axis{at.R_WA[i], at.R_WA[3 + i], at.R_WA[6 + i]};
  const Vec vC = linear_at(motion.V + 6*at.mobod, at.p_OC);
  for (int k = 0; k < path.count; ++k) {
    const int j = path.dofs[k];
    change[j] += factor*dot(axis, cross(read_vector(motion.S + 6*j), vC) + linear_at(motion.P + 6*j, at.p_OC));
  }
}

}  // namespace mbt_convex
