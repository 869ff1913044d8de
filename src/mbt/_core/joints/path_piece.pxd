"""Cython view of path_piece.hpp, which documents the fields."""

from mbt._core.algebra.vectors cimport Pose

cdef extern from "joints/path_piece.hpp" namespace "MBT_NS" nogil:
    cdef cppclass PathPiece[S]:
        S s
        S curvature
        S radius
        S is_straight
        S cos
        S sin
        S x
        S y

    cdef cppclass Path:
        double num_pieces
        double is_periodic
        double length
        Pose[double] X_FA

    # `piece`, or `next` where s has reached it
    PathPiece[S] later_piece[S](const S& s, const PathPiece[S]& piece, const PathPiece[double]& next)
    void set_piece[S](const PathPiece[double]&, PathPiece[S]* to)
