"""The shapes of a model and the pairs of them whose distances are computed."""

from mbt._core.door.compiled_model cimport CompiledModel


cdef extern from "geometry/scene.hpp" namespace "MBT_NS" nogil:
    cdef cppclass SceneShape:
        int kind
        int node
        int mobod
        double size[3]
        double radius
        double R[9]
        double p[3]
        const double* vertices
        int count

    cdef cppclass ScenePair:
        int a, b, swapped, place, first, last
        double padding

    cdef cppclass SceneMove:
        int mobod
        double sign

    cdef cppclass SceneTables:
        int num_shapes, num_pairs, num_mobods
        const SceneShape* shapes
        const ScenePair* pairs
        const SceneMove* moves
        const int* mobods


cdef enum:
    HULL = 6         # see shapes.hpp
    HEIGHT_FIELD = 7
    NUM_KINDS = 8


cdef class Scene:
    cdef CompiledModel compiled
    cdef SceneTables tables
    cdef list held         # keeps the arrays behind `tables` alive
    cdef void* allocate(self, Py_ssize_t size) except NULL
    cdef set_shapes(self, list shapes)
    cdef Py_ssize_t climb(self, int first, int second, SceneMove* move) noexcept
    cdef set_pairs(self, list pairs)
