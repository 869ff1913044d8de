"""All quantities that a tree computes, by number: descriptions, what each reads, and the shape of its result.

A quantity is one entry of `Quantity` in `names.py`, one row of `describe_quantities`, and one function over the fused
scalar in `quantities/`, with the line that registers it there. Everything else - checks, conversion of arguments,
batches, derivatives, objects - follows from these.
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


# Meanings of a quantity's integers.
cdef enum Kind:
    NO_INTEGER
    FRAME
    BODY           # BodyNodeIndex
    MOBILIZER      # BodyNodeIndex of the body that it moves
    ELEMENT
    BY_QDOT        # 1 for a Jacobian or a bias with respect to qdot, not v
    POINTS         # number of points (columns) in the input; -1: a single one, without that axis
    WITH_ELEMENTS  # 1 if gravity and the force elements act
    STABILIZED     # 1 if constraint errors decay, -1 if they decay as time runs backwards
    GIVEN          # 1 if the optional part of the input is given
    METHOD         # of integration: a `Method`
    STEPS          # number of steps
    EVERY          # every n-th state is kept
    HELD           # 1 if one input applies to all steps


cdef enum Method:
    SEMI_IMPLICIT_EULER = 0
    RUNGE_KUTTA_4 = 1
    BACKWARDS = 2    # combined with one of them: dt is negative


# What a quantity is computed from in addition to parameters and the input; each includes those before.
cdef enum Reads:
    NOTHING
    FROM_Q             # directly from q, without kinematics in World
    FROM_Q_AND_V
    POSES              # X_WB
    POSITIONS          # and the motion axes
    VELOCITIES


# Flags: where a quantity is undefined, and how its function works.
cdef enum Flag:
    AT_ELEMENTS = 1        # undefined where the force of its element, or of any, between two frames is undefined
    AT_MAPS = 2            # undefined where qdot = N(q) v of its mobilizer, or of any, is undefined: at gimbal lock
    AT_MAPS_BY_QDOT = 4    # undefined there too, but only with respect to qdot
    DIVIDES = 8            # by pivots: there is no result if one is zero
    OVERWRITES_INPUT = 16
    IN_FULL = 32           # it reads all cached kinematics
    IN_ROWS = 64           # in lanes it writes rows of doubles
    SPARSE = 128           # in lanes it skips entries known from topology
    SPARSE_IN_BRANCHES = 256    # like SPARSE, but only where no force element couples branches


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
    int derivatives    # the quantity with its derivatives along each dof, by v, and by the input; or none


# Number of entries that a quantity of one state reads and computes.
cdef struct Sizes:
    Py_ssize_t input
    Py_ssize_t result
    int num_axes
    Py_ssize_t[3] shape


# For a quantity without integers, or whose flags are all 0.
cdef const int* no_integers

cdef const Description* describe(int quantity) noexcept nogil
cdef int check_quantity(int quantity, const int* integers, const Model* model) except -1
cdef int take_integers(int quantity, object values, const Model* model, int* integers) except -1
cdef Sizes sizes_of(int quantity, const int* integers, const Model* model) noexcept nogil
cdef tuple shape_tuple(const Sizes* sizes)
cdef int integer_of(int quantity, const int* integers, int kind) noexcept nogil


cdef inline int element_of(int quantity, const int* integers) noexcept nogil:
    """The force element of a quantity, or -1 for none or all."""
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
