"""What moves the bodies of a tree."""

from mbt._core.tree_kinematics cimport TreeKinematics


cdef class TreeDynamics(TreeKinematics):
    pass
