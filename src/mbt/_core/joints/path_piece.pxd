"""Cython view of path_piece.hpp, which documents the fields."""

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
