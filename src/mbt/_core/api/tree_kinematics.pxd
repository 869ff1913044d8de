"""Kinematics of the bodies and frames of a tree."""

from mbt._core.api.tree_caches cimport TreeCaches
from mbt._core.door.compiled_model cimport CompiledModel, Derived


cdef class FrameBodyPoseCache:
    cdef CompiledModel compiled
    cdef Derived derived                  # whose poses these are
    cdef readonly object X_BF             # (num_frames, 4, 4)
    cdef object _X_FB, _is_identity       # made at first use


cdef class TreeKinematics(TreeCaches):
    pass
