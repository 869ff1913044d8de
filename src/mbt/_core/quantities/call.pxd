"""Cython view of call.hpp, which documents the fields."""

from mbt._core.algebra.records cimport PIVOT_TOLERANCE, ArticulatedDof, Kinematics, Parameters, Pivots
from mbt._core.model.structs cimport Model, Switches
from mbt._core.scalars cimport Dual, T


cdef extern from "quantities/call.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Call[S]:
        const Functions[S]* functions
        const int* integers
        const Model* model
        const Switches* switches
        const Parameters[S]* p
        const S* gravity
        const S* q
        const S* v
        S* x
        Kinematics[S] k
        S* memory
        int* base
        S* out
        Pivots[S] pivots

    cdef cppclass Functions[S]:
        void set(
            int quantity, void (*function)(Call[S]*) noexcept nogil,
            Py_ssize_t (*count_memory)(const int*, const Model*) noexcept nogil)
        void call(int quantity, Call[S]* c)
        Py_ssize_t count_memory(int quantity, const int* integers, const Model* model)


# The integers of quantities, in the order of the rows of quantities/table.pyx.

cdef struct Flags:
    bint given       # whether the input has further forces, or is a mask of bodies
    int stabilized


cdef struct Frames:
    int B            # frame B, or points fixed to it,
    int A            # in frame A,
    int E            # expressed in frame E
    bint by_qdot
    int points       # -1 for a single point without an axis


cdef struct FrameInWorld:
    int F            # frame F, or a point fixed to it,
    int E            # expressed in frame E
    bint by_qdot
    int points       # 0 for its origin


cdef inline int body_of(const Call[T]* c) noexcept nogil:
    """For a quantity of one mobilizer, the body outboard of it."""
    return c.integers[0]


cdef inline int element_of(const Call[T]* c) noexcept nogil:
    return c.integers[0]


cdef inline const Flags* flags_of(const Call[T]* c) noexcept nogil:
    return <const Flags*>c.integers


cdef inline const Frames* frames_of(const Call[T]* c) noexcept nogil:
    return <const Frames*>c.integers


cdef inline const FrameInWorld* frame_of(const Call[T]* c) noexcept nogil:
    return <const FrameInWorld*>c.integers


cdef inline void set_pivots(Call[T]* c, const ArticulatedDof[T]* dofs, const int* locked) noexcept nogil:
    """Set the pivots to those of articulated bodies."""
    c.pivots.D = &dofs.D
    c.pivots.scale = &dofs.scale
    c.pivots.stride = sizeof(ArticulatedDof[T])//sizeof(T)
    c.pivots.locked = locked
    c.pivots.further = 0


cdef inline void set_pivots_in_row(
    Call[T]* c, const T* D, const T* scale, const int* locked, Py_ssize_t further
) noexcept nogil:
    """Set contiguous pivots, with `further` ones after those of the dofs."""
    c.pivots.D = D
    c.pivots.scale = scale
    c.pivots.stride = 1
    c.pivots.locked = locked
    c.pivots.further = further


cdef inline int find_pivot_of_zero(const Model* model, const Pivots[T]* p) noexcept nogil:
    """Return -1, the last massless dof, or nv plus the index of the first further pivot that is zero."""
    cdef int k, nv = model.num_velocities
    # From the most outboard dof on: pivots inboard of a zero pivot are meaningless.
    for k in range(nv - 1, -1, -1):
        if is_zero(p, k) and not (p.locked != NULL and p.locked[k]):
            return k
    for k in range(nv, nv + <int>p.further):
        if is_zero(p, k):
            return k
    return -1


cdef inline bint is_zero(const Pivots[T]* p, Py_ssize_t k) noexcept nogil:
    """For one state. NaN is not zero: it propagates."""
    if T is double:
        return p.D[p.stride*k] <= PIVOT_TOLERANCE*p.scale[p.stride*k]
    elif T is Dual:
        return p.D[p.stride*k].x <= PIVOT_TOLERANCE*p.scale[p.stride*k].x
    else:
        return False
