// Rows of the tasks of differential kinematics in one state: weighted errors and their Jacobians.
#pragma once

#include "solvers/pose_errors.hpp"

namespace MBT_NS {

// A dof that moves the frame of a task, or with sign -1 its base.
struct VelocityColumn {
  int column, dof, node;
  double sign;
};

struct VelocityTask {
  int kind, frame, base, goal;     // goal: where it begins in the row of goals
  int rotation_row, distance_row;  // -1: none
  double rotation_weight, distance_weight;
  double point[3];                 // or an axis
  int axes[3], num_axes;
  int first_column, end_column;
};

static inline void turn(const double* X, int stride, const double* a, double* y) {
  for (int i = 0; i < 3; ++i) y[i] = X[stride * i] * a[0] + X[stride * i + 1] * a[1] + X[stride * i + 2] * a[2];
}
static inline void turn_back(const double* X, int stride, const double* a, double* y) {
  for (int i = 0; i < 3; ++i) y[i] = X[i] * a[0] + X[stride + i] * a[1] + X[2 * stride + i] * a[2];
}
static inline void add_cross_product(const double* a, const double* b, double* y) {
  y[0] += a[1] * b[2] - a[2] * b[1];
  y[1] += a[2] * b[0] - a[0] * b[2];
  y[2] += a[0] * b[1] - a[1] * b[0];
}

// Angular and linear velocity of a point at p in World, per rate of a dof.
static inline void set_dof_motion(
    const VelocityColumn& c, const double* X_WB, const double* H_PB_W, const double* p, double* w, double* v) {
  const double* X = X_WB + 16 * c.node;
  const double r[3] = {p[0] - X[3], p[1] - X[7], p[2] - X[11]};
  for (int i = 0; i < 3; ++i) {
    w[i] = c.sign * H_PB_W[6 * c.dof + i];
    v[i] = c.sign * H_PB_W[6 * c.dof + 3 + i];
  }
  add_cross_product(w, r, v);
}

static inline void set_column(const double* a, double weight, double* J, int n) {
  for (int i = 0; i < 3; ++i) J[n * i] = weight * a[i];
}

// The logarithm of X_FG, where G is at X_AG in the frame A.
static inline void set_pose_rows(
    const VelocityTask* task, const VelocityColumn* columns, const double* X_WF, const double* X_WA, const double* X_AG,
    const double* X_WB, const double* H_PB_W, int n, double* e, double* J) {
  double R[9], p[3], error[6], A[9], B[9], angle, w_W[3], v_W[3], w[3], v[3], y[3], y2[3];
  for (int j = 0; j < 3; ++j) {
    const double g[3] = {X_AG[j], X_AG[4 + j], X_AG[8 + j]};
    turn(X_WA, 4, g, w);
    turn_back(X_WF, 4, w, v);
    for (int i = 0; i < 3; ++i) R[3 * i + j] = v[i];
  }
  const double p_AG[3] = {X_AG[3], X_AG[7], X_AG[11]}, p_WF[3] = {X_WF[3], X_WF[7], X_WF[11]};
  turn(X_WA, 4, p_AG, w);
  for (int i = 0; i < 3; ++i) w[i] += X_WA[4 * i + 3] - p_WF[i];
  turn_back(X_WF, 4, w, p);
  pose_error<double>(R, p, error, A, B, &angle);
  const int a = task->rotation_row, b = task->distance_row;
  for (int i = 0; i < 3; ++i) {
    if (a >= 0) e[a + i] = task->rotation_weight * error[i];
    if (b >= 0) e[b + i] = task->distance_weight * error[3 + i];
  }
  for (int k = task->first_column; k < task->end_column; ++k) {
    set_dof_motion(columns[k], X_WB, H_PB_W, p_WF, w_W, v_W);
    turn_back(X_WF, 4, w_W, w);
    turn(A, 3, w, y);
    if (a >= 0) set_column(y, task->rotation_weight, J + n * a + columns[k].column, n);
    if (b < 0) continue;
    turn_back(X_WF, 4, v_W, v);
    turn(B, 3, w, y);
    turn(A, 3, v, y2);
    for (int i = 0; i < 3; ++i) y[i] += y2[i];
    set_column(y, task->distance_weight, J + n * b + columns[k].column, n);
  }
}

// A point of a frame; or, unless `is_point`, a direction, whose error is the chord between two unit vectors.
static inline void set_vector_rows(
    const VelocityTask* task, const VelocityColumn* columns, bool is_point, const double* X_WF, const double* goal,
    const double* X_WB, const double* H_PB_W, int n, double* e, double* J) {
  const int row = is_point ? task->distance_row : task->rotation_row;
  const double weight = is_point ? task->distance_weight : task->rotation_weight;
  double r[3], w[3], v[3];
  turn(X_WF, 4, task->point, r);
  for (int i = 0; i < 3; ++i) {
    if (is_point) r[i] += X_WF[4 * i + 3];
    e[row + i] = weight * (goal[i] - r[i]);
  }
  for (int k = task->first_column; k < task->end_column; ++k) {
    set_dof_motion(columns[k], X_WB, H_PB_W, r, w, v);
    if (!is_point) {
      v[0] = v[1] = v[2] = 0.0;
      add_cross_product(w, r, v);
    }
    set_column(v, weight, J + n * row + columns[k].column, n);
  }
}

// Some coordinates of the center of mass. `masses` (num_bodies, 4): mass and first moment of a body and all outboard of it.
static inline void set_center_rows(
    const VelocityTask* task, const VelocityColumn* columns, const double* masses, const double* goal,
    const double* X_WB, const double* H_PB_W, int n, double* e, double* J) {
  double center[3], w[3], v[3];
  for (int i = 0; i < task->num_axes; ++i)
    e[task->distance_row + i] = task->distance_weight * (goal[i] - masses[1 + task->axes[i]] / masses[0]);
  for (int k = task->first_column; k < task->end_column; ++k) {
    const double* outboard = masses + 4 * columns[k].node;
    if (outboard[0] == 0.0) continue;  // the dof moves no mass
    for (int i = 0; i < 3; ++i) center[i] = outboard[1 + i] / outboard[0];
    set_dof_motion(columns[k], X_WB, H_PB_W, center, w, v);
    const double share = task->distance_weight * outboard[0] / masses[0];
    for (int i = 0; i < task->num_axes; ++i)
      J[n * (task->distance_row + i) + columns[k].column] = share * v[task->axes[i]];
  }
}

}  // namespace MBT_NS
