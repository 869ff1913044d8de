// The last digits of a normal between shapes at least one of which is curved.
//
// Of all unit normals n, the correct one maximizes the gap s(n) between the planes normal to n that touch A and B;
// where they overlap, s is negative and -s is the depth. Newton's method on the sphere converges to it from close by.
// Where a shape touches its plane along a segment or a face, s has a kink, and n stays perpendicular to it.
#pragma once

#include <cmath>

#include "geometry/supports.hpp"

namespace MBT_NS {

// The feature of a shape that is farthest in the direction d, in its frame.
struct Feature {
  int rank;          // 0 a point, 1 a segment, 2 a face
  Vec3<double> c;    // the point, the middle of the segment, a point of the face
  Vec3<double> u;    // along the segment; outward normal of the face
  double half;       // length of the segment
  Mat3<double> H;    // derivative of the point by d
};

static Mat3<double> outer(const Vec3<double>& a, double s) {
  return {a * (a.x * s), a * (a.y * s), a * (a.z * s)};
}

// Segments and faces that are perpendicular to d within `slack`.
static Feature feature_of(int kind, const PlacedShape<double>& shape, const Vec3<double>& d, double slack) {
  const double* size = shape.size;
  const Vec3<double> zero = {0.0, 0.0, 0.0}, ez = {0.0, 0.0, 1.0};
  Feature f = {0, call_core_support(kind, shape, d), zero, 0.0, {zero, zero, zero}};
  switch (kind) {
    case CYLINDER: {
      const double across = std::sqrt(d.x * d.x + d.y * d.y);
      if (across < slack) return {2, {0.0, 0.0, f.c.z}, {0.0, 0.0, sign_of(d.z)}, 0.0, f.H};
      f.H = outer({-d.y / across, d.x / across, 0.0}, size[0] / across);
    }  // and its generators
    // fall through
    case CAPSULE:
      if (std::fabs(d.z) < slack) {
        f.rank = 1;
        f.c.z = 0.0;
        f.u = ez;
        f.half = size[1];
      }
      return f;
    case ELLIPSOID: {
      const double h = dot(f.c, d);
      f.H = outer(f.c, -1.0 / h);
      f.H.x.x += size[0] * size[0] / h;
      f.H.y.y += size[1] * size[1] / h;
      f.H.z.z += size[2] * size[2] / h;
      return f;
    }
    case BOX: {
      const bool x = std::fabs(d.x) < slack, y = std::fabs(d.y) < slack, z = std::fabs(d.z) < slack;
      f.rank = x + y + z;
      if (f.rank == 2) {
        f.u = {x ? 0.0 : sign_of(d.x), y ? 0.0 : sign_of(d.y), z ? 0.0 : sign_of(d.z)};
      } else if (f.rank == 1) {
        f.u = {double(x), double(y), double(z)};
        f.half = x ? size[0] : y ? size[1] : size[2];
        f.c = f.c - f.u * dot(f.c, f.u);
      }
      return f;
    }
    case HULL: {
      // The longest edge from the farthest vertex perpendicular to d, and the one that spans the largest face with it.
      const Vec3<double> corner = f.c;
      Vec3<double> edge = zero;
      double longest = 0.0, widest = 0.0;
      for (int pass = 0; pass < 2; ++pass)
        for (int i = 0; i < shape.count; ++i) {
          const Vec3<double> e = vector_at(shape.vertices + 3 * i) - corner;
          const double ee = dot(e, e);
          if (-dot(e, d) > slack * std::sqrt(ee)) continue;
          if (pass == 0) {
            if (ee > longest) {
              longest = ee;
              edge = e;
            }
          } else {
            const Vec3<double> n = cross(edge, e);
            const double nn = dot(n, n);
            if (nn > 1e-12 * longest * ee && nn > widest) {
              widest = nn;
              f.rank = 2;
              f.u = n * (dot(n, d) < 0.0 ? -1.0 : 1.0);
            }
          }
        }
      if (f.rank == 2) {
        f.u = f.u / std::sqrt(widest);
      } else if (longest > 0.0) {
        f.rank = 1;
        f.c = corner + edge * 0.5;
        f.half = 0.5 * std::sqrt(longest);
        f.u = edge / (2.0 * f.half);
      }
      return f;
    }
    default:
      return f;
  }
}

static Feature in_frame(const ConvexPair<double>& pair, const Feature& f) {
  const Mat3<double>& R = pair.R;
  const Mat3<double> HR = {R * f.H.x, R * f.H.y, R * f.H.z}, back = transpose(HR);  // H R', for symmetric H
  return {f.rank, R * f.c + pair.p, R * f.u, f.half, {R * back.x, R * back.y, R * back.z}};
}

static Vec3<double> unit(const Vec3<double>& a) { return a / std::sqrt(dot(a, a)); }

// The point of a feature that is closest to x.
static Vec3<double> project(const Feature& f, const Vec3<double>& x) {
  if (f.rank == 0) return f.c;
  if (f.rank == 1) return f.c + f.u * clamp(dot(x - f.c, f.u), f.half);
  return x - f.u * dot(x - f.c, f.u);
}

struct Polished {
  Vec3<double> n, a;  // from A to B; a point of A
  double residual;    // for points: how far b - a is from s(n) n
  bool many;          // other points may be as close: one shape has a face there, or both have parallel segments
};

// n and a are an approximate normal and its point of A.
static Polished polish(const ConvexPair<double>& pair, Vec3<double> n, Vec3<double> a, double slack) {
  Feature A, B;
  Vec3<double> w = {0.0, 0.0, 0.0}, u = w;
  double gap = 0.0;
  bool fixed = false, turns = false;  // n is known; n rotates about u only
  for (int step = 0; step < 12; ++step) {
    const double least = step == 0 ? slack : 1e-9;
    A = feature_of(pair.kind_A, *pair.A, n, least);
    B = in_frame(pair, feature_of(pair.kind_B, *pair.B, -rotate_back(pair.R, n), least));
    if (step == 0) {
      const Vec3<double> c = cross(A.u, B.u);
      const double cc = dot(c, c);
      fixed = A.rank == 2 || B.rank == 2 || (A.rank == 1 && B.rank == 1 && cc > 1e-14);
      turns = !fixed && (A.rank == 1 || B.rank == 1);
      u = A.rank == 1 ? A.u : B.u;
      if (A.rank == 2) n = A.u;
      else if (B.rank == 2) n = -B.u;
      else if (fixed) n = c * ((dot(c, n) < 0.0 ? -1.0 : 1.0) / std::sqrt(cc));
      else if (turns) n = unit(n - u * dot(n, u));
      if (fixed || turns) continue;  // features of the correct n
    }
    w = B.c - A.c;
    gap = dot(w, n);
    if (fixed) break;
    const Mat3<double> H = A.H + B.H;
    const Vec3<double> s = turns ? cross(n, u) : across(n), t = turns ? u : cross(n, s);
    const Vec3<double> Hs = H * s;
    const double ss = dot(s, Hs) + gap, ws = dot(w, s);
    Vec3<double> turn;
    if (turns) {
      if (!(ss > 0.0)) break;
      turn = s * (ws / ss);
    } else {
      const double st = dot(t, Hs), tt = dot(t, H * t) + gap, wt = dot(w, t), determinant = ss * tt - st * st;
      if (!(ss > 0.0 && determinant > 0.0)) break;
      turn = s * ((ws * tt - wt * st) / determinant) + t * ((wt * ss - ws * st) / determinant);
    }
    const double angle = dot(turn, turn);
    if (!(angle < 0.01) || angle < 1e-31) break;
    n = unit(n + turn);
  }
  const Vec3<double> jump = n * gap;
  bool many = A.rank == 2 || B.rank == 2;
  if (A.rank == 0) {
    a = A.c;
  } else if (B.rank == 0) {
    a = project(A, B.c - jump);
  } else if (A.rank == 1 && B.rank == 1 && fixed) {
    const Vec3<double> c = cross(A.u, B.u);
    a = A.c + A.u * clamp(dot(cross(B.c - A.c, B.u), c) / dot(c, c), A.half);
  } else {
    a = project(A, project(B, project(A, a) + jump) - jump);
    many = true;
  }
  const Vec3<double> b = project(B, a + jump);
  const Vec3<double> rest = b - a - jump;
  return {n, a + rest * 0.5, std::sqrt(dot(rest, rest)), many};
}

}  // namespace MBT_NS
