"""Points where shapes touch, for implicit steps."""

cimport numpy as cnp
from libc.string cimport memcpy

from mbt._core.door.exact_arrays cimport adopt, data, in1
from mbt._core.geometry.scene cimport Scene, SceneShape, SceneTables

import numpy as np

from mbt._core.geometry.distances import address_of_witnesses
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "geometry/contacts.hpp" namespace "MBT_NS" nogil:
    Py_ssize_t count_contact_memory(const SceneTables* scene)
    int find_contacts(
        const ContactTables* tables, const double* X_WB, const double* V_WB, double h, double margin, double* memory,
        TouchPoint* out)


cdef Py_ssize_t count_memory_of_contacts(const ContactTables* x) noexcept nogil:
    return count_contact_memory(x.scene)


cdef int find_contacts_of(
    const ContactTables* x, const double* X_WB, const double* V_WB, double h, double margin, double* memory,
    TouchPoint* out
) noexcept nogil:
    return find_contacts(x, X_WB, V_WB, h, margin, memory, out)


cdef class ContactCore:
    """Contact parameters of the shapes of a scene.

    Parameters
    ----------
    scene : Scene
    stiffness, dissipation, friction : ndarray, shape (num_pairs,)
        Per pair [N/m], [s/m], [1].
    """

    def __cinit__(self, Scene scene not None, stiffness, dissipation, friction):
        cdef const SceneTables* t = &scene.tables
        cdef Py_ssize_t count = t.num_pairs
        cdef int* order
        cdef int i
        self.scene = scene
        stiffness, dissipation = in1(stiffness, "stiffness", count), in1(dissipation, "dissipation", count)
        friction = in1(friction, "friction", count)
        places = np.zeros(count + 1, dtype=np.intc)
        order = <int*>cnp.PyArray_DATA(places)
        shapes = np.empty(t.num_shapes*sizeof(SceneShape)//8 + 1)
        self.held = [stiffness, dissipation, friction, places, shapes]
        self.tables.scene = t
        self.tables.shapes = <const SceneShape*>cnp.PyArray_DATA(shapes)
        memcpy(<void*>self.tables.shapes, t.shapes, t.num_shapes*sizeof(SceneShape))
        for i in range(count):
            order[t.pairs[i].place] = i
        self.tables.order = order
        self.tables.finder = <WitnessFinder><size_t>address_of_witnesses()
        self.tables.stiffness, self.tables.dissipation = data(stiffness), data(dissipation)
        self.tables.friction = data(friction)

    def find(self, X_WB, double margin):
        """Return the contact points of pairs less than `margin` apart: pairs, points, normals, gaps.

        Parameters
        ----------
        X_WB : ndarray, shape (num_bodies, 4, 4)
            Poses of the bodies.
        margin : float
            [m].
        """
        cdef Py_ssize_t most = MOST_SPOTS*self.tables.scene.num_pairs
        cdef TouchPoint* c
        X_WB = np.ascontiguousarray(X_WB)
        memory = np.empty(count_contact_memory(self.tables.scene))
        contacts = np.empty(most*sizeof(TouchPoint)//8 + 1)
        c = <TouchPoint*>cnp.PyArray_DATA(contacts)
        cdef int count = find_contacts(
            &self.tables, <const double*>cnp.PyArray_DATA(X_WB), NULL, 0.0, margin,
            <double*>cnp.PyArray_DATA(memory), c
        )
        pairs, points, normals = np.empty(count, dtype=np.intp), np.empty((count, 3)), np.empty((count, 3))
        gaps = np.empty(count)
        cdef int i, k
        for i in range(count):
            pairs[i], gaps[i] = c[i].pair, c[i].gap
            for k in range(3):
                points[i, k], normals[i, k] = c[i].p[k], c[i].n[k]
        return pairs, points, normals, gaps
