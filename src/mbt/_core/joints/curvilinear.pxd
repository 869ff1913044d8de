"""Motion along a planar path of pieces of constant curvature, described by the constants `c`.

c = [pieces, 1 if periodic, length, R_FA (9), p_FAo (3), then for each piece s, curvature, radius (0: straight), 1 if
straight, cos and sin of the heading, x, y at its start]. A is the path frame: the initial tangent, the direction to its
left, and the normal of the plane. s is the arc length; in M, x is the tangent and z the normal.
"""

from enum_numbers_of_parts cimport PIECE, PIECES

from mbt._core.joints.path_piece cimport PathPiece
from mbt._core.scalars cimport T, floor_, select_lt, sincos_


cdef inline void select_piece(const double* c, T* s, T* piece) noexcept nogil:
    """Find the piece that contains s, and make s relative to its start. The end pieces extend beyond the path."""
    cdef int i, j
    cdef const double* next_piece
    if c[1] != 0.0:
        s[0] = s[0] - floor_(s[0]*(1.0/c[2]))*c[2]
    for j in range(PIECE):
        piece[j] = <T>c[PIECES + j]
    for i in range(1, <int>c[0]):
        next_piece = c + PIECES + PIECE*i
        for j in range(PIECE):
            piece[j] = select_lt(s[0], <T>next_piece[0], piece[j], <T>next_piece[j])
    s[0] = s[0] - piece[0]


cdef inline void calc_path_rotation(const double* c, T cos_heading, T sin_heading, T* R) noexcept nogil:
    """R = R_FA Rz(heading)."""
    cdef int i
    for i in range(3):
        R[3*i] = cos_heading*c[3 + 3*i] + sin_heading*c[4 + 3*i]
        R[3*i + 1] = cos_heading*c[4 + 3*i] - sin_heading*c[3 + 3*i]
        R[3*i + 2] = <T>c[5 + 3*i]


cdef inline void calc_path_pose(const double* c, T s, T* curvature, T* R, T* p) noexcept nogil:
    """Pose at s: along an arc of angle a, p moves by radius (sin a, 1 - cos a); along a straight line by s."""
    cdef PathPiece[T] piece
    cdef T half_sin, half_cos, sin_a, versine, along, across, x, y
    cdef int i
    select_piece(c, &s, <T*>&piece)
    curvature[0] = piece.curvature
    sincos_(s*piece.curvature*0.5, &half_sin, &half_cos)
    sin_a = half_sin*half_cos*2.0
    versine = half_sin*half_sin*2.0
    along = piece.is_straight*s + piece.radius*sin_a
    across = piece.radius*versine
    x = piece.x + piece.cos*along - piece.sin*across
    y = piece.y + piece.sin*along + piece.cos*across
    calc_path_rotation(
        c, piece.cos - (piece.cos*versine + piece.sin*sin_a), piece.sin - (piece.sin*versine - piece.cos*sin_a), R
    )
    for i in range(3):
        p[i] = <T>c[12 + i] + x*c[3 + 3*i] + y*c[4 + 3*i]


cdef inline void calc_path_H(const double* c, T s, T* H) noexcept nogil:
    """H = [curvature z; x], axes of M in F."""
    cdef T[9] R
    cdef T[3] p
    cdef T curvature
    cdef int i
    calc_path_pose(c, s, &curvature, R, p)
    for i in range(3):
        H[i] = curvature*R[3*i + 2]
        H[3 + i] = R[3*i]


cdef inline void calc_path_Hdot(const double* c, T s, T v, T* Hdot) noexcept nogil:
    """Hdot = [0; curvature v y]: the curvature is constant within a piece."""
    cdef T[9] R
    cdef T[3] p
    cdef T curvature
    cdef int i
    calc_path_pose(c, s, &curvature, R, p)
    for i in range(3):
        Hdot[i] = <T>0.0
        Hdot[3 + i] = curvature*v*R[3*i + 1]
