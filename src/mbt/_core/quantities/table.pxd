"""Everything that a tree computes, by number: what it is, what it reads, and the shape of the result.

A quantity is one entry of `Quantity` in `names.py`, one row of `describe_quantities`, and one function over the fused
scalar in `quantities/`, with the line that registers it there. All else - checks, conversion of arguments, batches,
derivatives, objects - follows from these.
"""

from mbt._core.model.structs cimport Model
from mbt._core.quantities.names cimport *


cdef extern from "quantities/sizes.hpp" namespace "mbt" nogil:
    enum:
        kOne, kBodies, kMovingBodies, kFrames, kJoints, kPositions, kVelocities, kEquations
        kMobilizerPositions, kMobilizerVelocities, kPoints, kRates, kGivenBodies, kGivenVelocities, kKeptSteps
        kStepInputs, kContactPoints
    struct Term:
        short factor, dimension
    cdef cppclass Size:
        int num_terms
        Term* terms
        Size operator+(Size)
        bint counts_points()
    Size operator*(int, Size)
    Size size_of(int dimension)


# What an integer of a quantity is.
cdef enum Kind:
    NO_INTEGER
    FRAME
    BODY           # BodyNodeIndex
    MOBILIZER      # BodyNodeIndex of what it moves
    ELEMENT
    BY_QDOT        # 1 where a Jacobian or a bias is one with respect to qdot, not v
    POINTS         # how many points the input has as columns; -1: one, in an array without that axis
    WITH_ELEMENTS  # 1 where gravity and the force elements act
    STABILIZED     # 1 where errors of constraints die away, -1 where they do as time goes back
    GIVEN          # 1 where the part of the input is there that may be left out
    METHOD         # of steps: a `Method`
    STEPS          # how many
    EVERY          # of so many steps the last is kept
    HELD           # 1 where one input holds for all steps


cdef enum Method:
    SEMI_IMPLICIT_EULER = 0
    RUNGE_KUTTA_4 = 1
    BACKWARDS = 2    # with one of them: dt is negative


# What a quantity is computed from besides parameters and the input; each includes those before.
cdef enum Reads:
    NOTHING
    FROM_Q             # in its own way, straight from q
    FROM_Q_AND_V
    POSES              # X_WB
    POSITIONS          # and the motion axes
    VELOCITIES


# Where a quantity is undefined, and how its function works: bits.
cdef enum Flag:
    AT_ELEMENTS = 1        # undefined where the force of an element between two frames is, of one or of any
    AT_MAPS = 2            # undefined where qdot = N(q) v is, at gimbal lock, of one mobilizer or of any
    AT_MAPS_BY_QDOT = 4    # there too, but only with respect to qdot
    DIVIDES = 8            # by pivots: there is no result where one is zero
    OVERWRITES_INPUT = 16
    IN_FULL = 32           # it reads all that caches hold of kinematics
    IN_ROWS = 64           # in lanes it writes rows of doubles
    SPARSE = 128           # in lanes it leaves out what topology knows
    SPARSE_IN_BRANCHES = 256    # there too, but only where no force element couples branches


cdef enum:
    NO_QUANTITY = -1
    MAX_INTEGERS = 5


cdef struct Description:
    int num_integers
    int[5] kinds
    int num_axes
    Size[3] axes
    Size input
    int reads
    int flags
    int derivatives    # the quantity that is these with respect to q, along each dof, to v, and to the input; or none


# How many numbers a quantity of one state reads and makes.
cdef struct Sizes:
    Py_ssize_t input
    Py_ssize_t result
    int num_axes
    Py_ssize_t[3] shape


# Of a quantity that has none, or whose flags are all 0.
cdef const int* no_integers

cdef const Description* describe(int quantity) noexcept nogil
cdef int check_quantity(int quantity, const int* integers, const Model* model) except -1
cdef int take_integers(int quantity, object values, const Model* model, int* integers) except -1
cdef Sizes sizes_of(int quantity, const int* integers, const Model* model) noexcept nogil
cdef tuple shape_tuple(const Sizes* sizes)
cdef int integer_of(int quantity, const int* integers, int kind) noexcept nogil


cdef inline int element_of(int quantity, const int* integers) noexcept nogil:
    """The force element that a quantity is of, or -1: none, or all."""
    return integer_of(quantity, integers, ELEMENT)


cdef inline bint needs_element_forces(int quantity, const int* integers) noexcept nogil:
    return describe(quantity).flags & AT_ELEMENTS and integer_of(quantity, integers, WITH_ELEMENTS) != 0


cdef inline bint needs_maps(int quantity, const int* integers) noexcept nogil:
    cdef int flags = describe(quantity).flags
    if flags & AT_MAPS:
        return True
    return flags & AT_MAPS_BY_QDOT and integer_of(quantity, integers, BY_QDOT) == 1


cdef inline bint needs_velocities(int quantity) noexcept nogil:
    """Whether a quantity depends on v."""
    cdef int reads = describe(quantity).reads
    return reads == FROM_Q_AND_V or reads == VELOCITIES
