"""Motion along a planar path of pieces of constant curvature, described by the constants `c`: a Path, then its pieces.

A is the path frame: the initial tangent, the direction to its left, and the normal of the plane. s is the arc length;
in M, x is the tangent and z the normal.
"""

from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport (
    Motion, Pose, numbers, scaled, set_constant, turn_about_z, x_axis, y_axis, z_axis,
)
from mbt._core.joints.path_piece cimport Path, PathPiece, later_piece, set_piece
from mbt._core.scalars cimport T, floor_, sincos_


cdef inline PathPiece[T] find_piece(const Path* path, T s) noexcept nogil:
    """The piece that contains s. The end pieces extend beyond the path."""
    cdef const PathPiece[double]* pieces = <const PathPiece[double]*>(path + 1)
    cdef PathPiece[T] piece
    cdef int k
    set_piece(pieces[0], &piece)
    for k in range(1, <int>path.num_pieces):
        piece = later_piece(s, piece, pieces[k])
    return piece


cdef inline void calc_path_pose(const double* c, T s, T* curvature, Pose[T]* X) noexcept nogil:
    """Pose at s: along an arc of angle a, p moves by radius (sin a, 1 - cos a); along a straight line by s."""
    cdef const Path* path = <const Path*>c
    cdef PathPiece[T] piece
    cdef T half_sin, half_cos, sin_a, versine, along, across, x, y
    if path.is_periodic != 0.0:
        s = s - floor_(s*(1.0/path.length))*path.length
    piece = find_piece(path, s)
    s = s - piece.s
    curvature[0] = piece.curvature
    sincos_(s*piece.curvature*0.5, &half_sin, &half_cos)
    sin_a = half_sin*half_cos*2.0
    versine = half_sin*half_sin*2.0
    along = piece.is_straight*s + piece.radius*sin_a
    across = piece.radius*versine
    x = piece.x + piece.cos*along - piece.sin*across
    y = piece.y + piece.sin*along + piece.cos*across
    turn_about_z(
        path.X_FA.R, piece.sin - (piece.sin*versine - piece.cos*sin_a),
        piece.cos - (piece.cos*versine + piece.sin*sin_a), &X.R
    )
    set_constant(path.X_FA.p, &X.p)
    X.p = X.p + scaled(x_axis(path.X_FA.R), x) + scaled(y_axis(path.X_FA.R), y)


cdef inline void calc_path_H(const double* c, T s, Motion[T]* H) noexcept nogil:
    """H = [curvature z; x], axes of M in F."""
    cdef Pose[T] X
    cdef T curvature
    calc_path_pose(c, s, &curvature, &X)
    H.w = z_axis(X.R)*curvature
    H.v = x_axis(X.R)


cdef inline void calc_path_Hdot(const double* c, T s, T v, Motion[T]* Hdot) noexcept nogil:
    """Hdot = [0; curvature v y]: the curvature is constant within a piece."""
    cdef Pose[T] X
    cdef T curvature
    calc_path_pose(c, s, &curvature, &X)
    set_zero(numbers(Hdot.w), 3)
    Hdot.v = y_axis(X.R)*(curvature*v)
