"""Points where shapes touch, for implicit steps."""

from mbt._core.geometry.scene cimport Scene, SceneShape, SceneTables


cdef extern from "geometry/contacts.hpp" namespace "MBT_NS" nogil:
    const int MOST_SPOTS "MBT_NS::kMostSpots"
    const double UNFORESEEN "MBT_NS::kUnforeseen"
    ctypedef void (*WitnessFinder)(const SceneTables*, const void*, const int*, int, void*)
    cdef cppclass TouchPoint:
        int pair, a, b
        double p[3]
        double s[3]
        double t[3]
        double n[3]
        double gap
    cdef cppclass ContactTables:
        const SceneTables* scene
        const SceneShape* shapes
        const int* order
        WitnessFinder finder
        const double* stiffness
        const double* dissipation
        const double* friction


# The doubles of working memory that a scene needs; and the contacts in a state, at most MOST_SPOTS per pair.
cdef Py_ssize_t count_memory_of_contacts(const ContactTables* x) noexcept nogil
cdef int find_contacts_of(
    const ContactTables* x, const double* X_WB, const double* V_WB, double h, double margin, double* memory,
    TouchPoint* out
) noexcept nogil


cdef class ContactCore:
    cdef readonly Scene scene
    cdef ContactTables tables
    cdef list held                           # keeps the arrays behind `tables` alive
