"""Cython view of pivots.hpp."""


cdef extern from "algebra/pivots.hpp" namespace "MBT_NS" nogil:
    # Where several axes cross, a pivot may be rounding of shares that outboard dofs took of the composite: of so much.
    const double SEVERAL_SHARES "MBT_NS::kSeveralShares"
    bint has_small_pivots[S](Py_ssize_t nv, const S* D, Py_ssize_t stride)
