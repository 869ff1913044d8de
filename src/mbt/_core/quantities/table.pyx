"""The rows of the table of quantities."""

from mbt._core.algebra.records cimport PIVOT_TOLERANCE as tolerance_of_pivots
from mbt._core.door.compiled_model cimport CompiledModel, check_index
from mbt._core.model.structs cimport Model

#: What rounding leaves of a pivot that should be zero, relative to its terms: below it forward dynamics is singular.
PIVOT_TOLERANCE = tolerance_of_pivots

cdef Size ONE = size_of(kOne)
cdef Size NB = size_of(kBodies)
cdef Size NM = size_of(kMovingBodies)
cdef Size NF = size_of(kFrames)
cdef Size NJ = size_of(kJoints)
cdef Size NQ = size_of(kPositions)
cdef Size NV = size_of(kVelocities)
cdef Size NE = size_of(kEquations)
cdef Size MQ = size_of(kMobilizerPositions)
cdef Size MV = size_of(kMobilizerVelocities)
cdef Size POINT = size_of(kPoints)
cdef Size RATES = size_of(kRates)
cdef Size GIVEN_B = size_of(kGivenBodies)
cdef Size GIVEN_V = size_of(kGivenVelocities)
cdef Size KEPT = size_of(kKeptSteps)
cdef Size INPUTS = size_of(kStepInputs)
cdef Size CONTACTS = size_of(kContactPoints)
cdef Size NONE
cdef Size THREE = 3*ONE
cdef Size FOUR = 4*ONE
cdef Size SIX = 6*ONE

cdef Description[<int>NUM_QUANTITIES] descriptions
cdef int[<int>MAX_INTEGERS] zeros = [0, 0, 0, 0, 0]
no_integers = zeros


cdef Description* row(int quantity, Size input, int reads, int flags=0) noexcept:
    """Begin the row of a quantity that is a scalar."""
    cdef Description* x = &descriptions[quantity]
    x.input = input
    x.reads = reads
    x.flags = flags
    x.derivatives = NO_QUANTITY
    return x


cdef void of(Description* x, int a, int b=NO_INTEGER, int c=NO_INTEGER, int d=NO_INTEGER, int e=NO_INTEGER) noexcept:
    """Set the kinds of a quantity's integers."""
    cdef int kind
    for kind in (a, b, c, d, e):
        if kind != NO_INTEGER:
            x.kinds[x.num_integers] = kind
            x.num_integers += 1


cdef Description* vector(Description* x, Size n) noexcept:
    """Set the shape of its result to (n,)."""
    x.num_axes = 1
    x.axes[0] = n
    return x


cdef Description* matrix(Description* x, Size m, Size n) noexcept:
    x.num_axes = 2
    x.axes[0] = m
    x.axes[1] = n
    return x


cdef Description* block(Description* x, Size k, Size m, Size n) noexcept:
    x.num_axes = 3
    x.axes[0] = k
    x.axes[1] = m
    x.axes[2] = n
    return x


cdef void describe_quantities() noexcept:
    """Write one row per quantity: its input, what it reads, flags; its result; its integers."""
    # vdot, F_Bo_W, tau -> M vdot + C v minus these forces.
    of(vector(row(MOTION_FORCES, NV + GIVEN_V + 6*GIVEN_B, FROM_Q_AND_V), NV), GIVEN)
    # The same, also minus gravity, damping and force elements.
    of(vector(row(INVERSE_DYNAMICS, NV + GIVEN_V + 6*GIVEN_B, FROM_Q_AND_V, AT_ELEMENTS), NV), GIVEN)
    # tau, F_Bo_W, more tau -> vdot, with gravity, damping and force elements.
    of(
        vector(
            row(
                FORWARD_DYNAMICS, NV + GIVEN_V + 6*GIVEN_B, FROM_Q_AND_V, AT_ELEMENTS | DIVIDES | OVERWRITES_INPUT
            ),
            NV
        ),
        GIVEN
    )
    matrix(row(MASS_MATRIX, NONE, FROM_Q, SPARSE), NV, NV)
    matrix(row(MASS_MATRIX_INVERSE, NONE, FROM_Q, DIVIDES), NV, NV)
    matrix(row(MASS_MATRIX_BY_INVERSE_DYNAMICS, NONE, FROM_Q), NV, NV)
    vector(row(GRAVITY_GENERALIZED_FORCES, NONE, FROM_Q), NV)
    # X_WB.
    block(row(BODY_POSES, NONE, FROM_Q, IN_ROWS), NB, FOUR, FOUR)
    # X_WF.
    of(matrix(row(FRAME_POSE_IN_WORLD, NONE, FROM_Q), FOUR, FOUR), FRAME)
    # For frame F in frame E, or one point of it, p_FoP_F.
    of(matrix(row(FRAME_JACOBIAN, 3*POINT, FROM_Q), SIX, RATES), FRAME, FRAME, BY_QDOT, POINTS)
    # p_WCcm.
    vector(row(CENTER_OF_MASS, NONE, FROM_Q), THREE)

    # For frame F, in frame E: J M^-1 J', and its inverse.
    of(matrix(row(OPERATIONAL_SPACE_INVERSE_INERTIA, NONE, FROM_Q, DIVIDES), SIX, SIX), FRAME, FRAME)
    of(matrix(row(OPERATIONAL_SPACE_INERTIA, NONE, FROM_Q, DIVIDES), SIX, SIX), FRAME, FRAME)

    # vdot, body forces; tau, body forces.
    of(block(row(MOTION_FORCES_DERIVATIVES, NV + 6*GIVEN_B, FROM_Q_AND_V, SPARSE_IN_BRANCHES), THREE, NV, NV), GIVEN)
    of(
        block(
            row(INVERSE_DYNAMICS_DERIVATIVES, NV + 6*GIVEN_B, FROM_Q_AND_V, AT_ELEMENTS | SPARSE_IN_BRANCHES),
            THREE, NV, NV
        ),
        GIVEN
    )
    of(
        block(row(FORWARD_DYNAMICS_DERIVATIVES, NV + 6*GIVEN_B, FROM_Q_AND_V, AT_ELEMENTS | DIVIDES), THREE, NV, NV),
        GIVEN
    )
    descriptions[<int>MOTION_FORCES].derivatives = MOTION_FORCES_DERIVATIVES
    descriptions[<int>INVERSE_DYNAMICS].derivatives = INVERSE_DYNAMICS_DERIVATIVES
    descriptions[<int>FORWARD_DYNAMICS].derivatives = FORWARD_DYNAMICS_DERIVATIVES

    # tau, F_Bo_W, more tau -> vdot, multipliers.
    of(
        vector(
            row(
                CONSTRAINED_FORWARD_DYNAMICS, NV + GIVEN_V + 6*GIVEN_B, FROM_Q_AND_V,
                AT_ELEMENTS | DIVIDES | OVERWRITES_INPUT
            ),
            NV + NE
        ),
        GIVEN, STABILIZED
    )
    # restitution -> v1, impulses.
    vector(row(IMPULSE_DYNAMICS, ONE, FROM_Q_AND_V, AT_ELEMENTS | DIVIDES), NV + NE)

    of(
        block(
            row(
                CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, NV + GIVEN_V + 6*GIVEN_B, FROM_Q_AND_V,
                AT_ELEMENTS | DIVIDES | OVERWRITES_INPUT
            ),
            THREE, NV + NE, NV
        ),
        GIVEN, STABILIZED
    )

    # v -> N v.
    vector(row(QDOT, NV, FROM_Q, AT_MAPS), NQ)
    # qdot -> N+ qdot.
    vector(row(VELOCITY, NQ, FROM_Q), NV)
    # vdot -> N vdot + Ndot v.
    vector(row(QDDOT, NV, FROM_Q_AND_V, AT_MAPS), NQ)
    # qddot -> N+ qddot + N+dot qdot.
    vector(row(ACCELERATION, NQ, FROM_Q_AND_V, AT_MAPS), NV)
    matrix(row(N_MATRIX, NONE, FROM_Q, AT_MAPS), NQ, NV)
    matrix(row(NPLUS_MATRIX, NONE, FROM_Q), NV, NQ)
    # v, dt.
    vector(row(INTEGRATED_POSITIONS, NV + ONE, FROM_Q), NQ)
    # q1.
    vector(row(POSITION_DIFFERENCE, NQ, FROM_Q), NV)
    vector(row(NORMALIZED_POSITIONS, NONE, FROM_Q), NQ)

    of(matrix(row(MOBILIZER_TRANSFORM, NONE, FROM_Q), FOUR, FOUR), MOBILIZER)
    of(matrix(row(MOBILIZER_H, NONE, FROM_Q), SIX, MV), MOBILIZER)
    # v -> H v.
    of(vector(row(MOBILIZER_SPATIAL_VELOCITY, MV, FROM_Q), SIX), MOBILIZER)
    # vdot -> H vdot + Hdot v.
    of(vector(row(MOBILIZER_SPATIAL_ACCELERATION, MV, FROM_Q_AND_V), SIX), MOBILIZER)
    # F -> H' F.
    of(vector(row(MOBILIZER_PROJECTION, SIX, FROM_Q), MV), MOBILIZER)
    of(vector(row(MOBILIZER_QDOT, MV, FROM_Q, AT_MAPS), MQ), MOBILIZER)
    of(vector(row(MOBILIZER_VELOCITY, MQ, FROM_Q), MV), MOBILIZER)
    of(vector(row(MOBILIZER_QDDOT, MV, FROM_Q_AND_V, AT_MAPS), MQ), MOBILIZER)
    of(vector(row(MOBILIZER_ACCELERATION, MQ, FROM_Q_AND_V, AT_MAPS), MV), MOBILIZER)
    of(matrix(row(MOBILIZER_N, NONE, FROM_Q, AT_MAPS), MQ, MV), MOBILIZER)
    of(matrix(row(MOBILIZER_NPLUS, NONE, FROM_Q), MV, MQ), MOBILIZER)
    of(matrix(row(MOBILIZER_NDOT, NONE, FROM_Q_AND_V, AT_MAPS), MQ, MV), MOBILIZER)
    of(matrix(row(MOBILIZER_NPLUSDOT, NONE, FROM_Q_AND_V, AT_MAPS), MV, MQ), MOBILIZER)

    # X_BF.
    block(row(FRAME_POSES, NONE, NOTHING), NF, FOUR, FOUR)
    # X_FM, X_PB, X_WB, H_FM, H_PB_W.
    vector(row(POSITION_KINEMATICS, NONE, POSITIONS, IN_FULL), 48*NB + 12*NV)
    # com_W, M_Bo_W.
    vector(row(SPATIAL_INERTIAS, NONE, POSES), 39*NB)
    # V_PB_W, V_PB, V_WB.
    block(row(VELOCITY_KINEMATICS, NONE, VELOCITIES, IN_FULL), THREE, NB, SIX)
    # vdot -> A_WB.
    matrix(row(ACCELERATION_KINEMATICS, NV, VELOCITIES), NB, SIX)
    # X_AB, R_AB.
    of(matrix(row(RELATIVE_TRANSFORM, NONE, POSES), FOUR, FOUR), FRAME, FRAME)
    of(matrix(row(RELATIVE_ROTATION, NONE, POSES), THREE, THREE), FRAME, FRAME)
    # Frames B and A: p_BQi -> p_AQi.
    of(matrix(row(POINT_POSITIONS, 3*POINT, POSES), THREE, POINT), FRAME, FRAME, POINTS)
    # Frames F, M, E: V_MF_E, and A_WB -> A_MF_E.
    of(vector(row(FRAME_VELOCITY, NONE, VELOCITIES), SIX), FRAME, FRAME, FRAME)
    of(vector(row(FRAME_ACCELERATION, 6*NB, VELOCITIES), SIX), FRAME, FRAME, FRAME)

    # Frames B, A, E: points of B, in A, expressed in E.
    of(matrix(row(SPATIAL_JACOBIAN, THREE, POSITIONS), SIX, RATES), FRAME, FRAME, FRAME, BY_QDOT)
    of(matrix(row(ANGULAR_JACOBIAN, NONE, POSITIONS), THREE, RATES), FRAME, FRAME, FRAME, BY_QDOT)
    of(matrix(row(TRANSLATIONAL_JACOBIAN, 3*POINT, POSITIONS), 3*POINT, RATES), FRAME, FRAME, FRAME, BY_QDOT, POINTS)
    of(matrix(row(SPATIAL_JACOBIAN_RATE, THREE, VELOCITIES), SIX, NV), FRAME, FRAME, FRAME)
    of(vector(row(SPATIAL_BIAS, THREE, VELOCITIES, AT_MAPS_BY_QDOT), SIX), FRAME, FRAME, FRAME, BY_QDOT)
    of(vector(row(ANGULAR_BIAS, NONE, VELOCITIES, AT_MAPS_BY_QDOT), THREE), FRAME, FRAME, FRAME, BY_QDOT)
    of(
        matrix(row(TRANSLATIONAL_BIAS, 3*POINT, VELOCITIES, AT_MAPS_BY_QDOT), THREE, POINT),
        FRAME, FRAME, FRAME, BY_QDOT, POINTS
    )

    # F_Bo_W -> sum of J' F.
    vector(row(GENERALIZED_FORCES, 6*NB, POSITIONS), NV)
    # vdot, F_Bo_W -> F_BMo_W; and F_CJc_Jc, with the forces of elements.
    of(matrix(row(REACTION_FORCES, NV + 6*GIVEN_B, VELOCITIES, AT_ELEMENTS), NB, SIX), WITH_ELEMENTS, GIVEN)
    of(matrix(row(JOINT_REACTIONS, NV + 6*GIVEN_B, VELOCITIES, AT_ELEMENTS), NJ, SIX), GIVEN)
    matrix(row(CORIOLIS_MATRIX, NONE, VELOCITIES), NV, NV)
    # Gravity, damping, all elements: F_Bo_W, tau.
    vector(row(ELEMENT_FORCES, NONE, VELOCITIES, AT_ELEMENTS), 6*NB + NV)
    matrix(row(GRAVITY_FORCES, NONE, POSES), NB, SIX)
    of(vector(row(ELEMENT_FORCE, NONE, VELOCITIES, AT_ELEMENTS), 6*NB + NV), ELEMENT)
    # f_W, depth.
    of(matrix(row(CONTACT_FORCES, NONE, VELOCITIES), CONTACTS, FOUR), ELEMENT)

    vector(row(CONSTRAINT_ERRORS, NONE, POSES), NE)
    matrix(row(CONSTRAINT_JACOBIAN, NONE, POSITIONS), NE, NV)
    # Jdot v.
    vector(row(CONSTRAINT_BIAS, NONE, VELOCITIES), NE)
    # lambda -> F_Bo_W, tau.
    vector(row(CONSTRAINT_FORCES, NE, POSES), 6*NB + NV)

    row(KINETIC_ENERGY, NONE, VELOCITIES)
    row(POTENTIAL_ENERGY, NONE, POSES, AT_ELEMENTS)
    row(CONSERVATIVE_POWER, NONE, VELOCITIES, AT_ELEMENTS)
    row(NON_CONSERVATIVE_POWER, NONE, VELOCITIES, AT_ELEMENTS)
    row(GRAVITY_POTENTIAL_ENERGY, NONE, POSES)
    row(GRAVITY_POWER, NONE, VELOCITIES)
    of(row(ELEMENT_POTENTIAL_ENERGY, NONE, POSES, AT_ELEMENTS), ELEMENT)
    of(row(ELEMENT_CONSERVATIVE_POWER, NONE, VELOCITIES, AT_ELEMENTS), ELEMENT)
    of(row(ELEMENT_NON_CONSERVATIVE_POWER, NONE, VELOCITIES, AT_ELEMENTS), ELEMENT)

    # The masks of bodies are optional: without them, all bodies except World are included.
    of(row(TOTAL_MASS, GIVEN_B, NOTHING), GIVEN)
    of(vector(row(CENTER_OF_MASS_POSITION, GIVEN_B, POSES), THREE), GIVEN)
    of(vector(row(CENTER_OF_MASS_VELOCITY, GIVEN_B, VELOCITIES), THREE), GIVEN)
    # A_WB.
    of(vector(row(CENTER_OF_MASS_ACCELERATION, 6*NB + GIVEN_B, VELOCITIES), THREE), GIVEN)
    # Frames A and E.
    of(matrix(row(CENTER_OF_MASS_JACOBIAN, GIVEN_B, POSITIONS), THREE, RATES), FRAME, FRAME, BY_QDOT, GIVEN)
    # Also a body that carries A and all bodies included.
    of(
        vector(row(CENTER_OF_MASS_BIAS, GIVEN_B, VELOCITIES, AT_MAPS_BY_QDOT), THREE),
        FRAME, FRAME, BODY, BY_QDOT, GIVEN
    )
    # p_WP.
    of(vector(row(MOMENTUM, THREE + GIVEN_B, VELOCITIES), SIX), GIVEN)
    matrix(row(CENTROIDAL_MOMENTUM_MATRIX, NONE, POSITIONS), SIX, NV)
    # Frame F: mass, moment, and inertia about Fo in F, xx xy xz yy yz zz.
    of(vector(row(COMPOSITE_INERTIA, GIVEN_B, POSES), 10*ONE), FRAME, GIVEN)

    vector(row(INERTIAL_PARAMETERS, NONE, NOTHING), 10*NM)
    # vdot.
    matrix(row(INVERSE_DYNAMICS_REGRESSOR, NV, VELOCITIES, SPARSE), NV, 10*NM)
    vector(row(KINETIC_ENERGY_REGRESSOR, NONE, VELOCITIES), 10*NM)
    vector(row(POTENTIAL_ENERGY_REGRESSOR, NONE, POSES), 10*NM)
    # p_WP.
    matrix(row(MOMENTUM_REGRESSOR, THREE, VELOCITIES, IN_ROWS), SIX, 10*NM)

    # dt, F_Bo_W, tau for each step, or one for all -> q, v after each step that is kept.
    of(
        matrix(row(ROLLOUT, ONE + 6*GIVEN_B + INPUTS, FROM_Q_AND_V, AT_ELEMENTS), KEPT, NQ + NV),
        METHOD, STEPS, EVERY, HELD, GIVEN
    )


describe_quantities()


cdef const Description* describe(int quantity) noexcept nogil:
    return &descriptions[quantity]


cdef int integer_of(int quantity, const int* integers, int kind) noexcept nogil:
    """The integer of a kind, or -1 if a quantity has none."""
    cdef const Description* x = &descriptions[quantity]
    cdef int i
    for i in range(x.num_integers):
        if x.kinds[i] == kind:
            return integers[i]
    return -1


cdef int take_integers(int quantity, object values, const Model* model, int* integers) except -1:
    """Check the number of a quantity and its integers, a sequence."""
    cdef int i
    if not 0 <= quantity < NUM_QUANTITIES:
        raise ValueError(f"quantity: expected 0 to {<int>NUM_QUANTITIES - 1}, got {quantity}")
    if len(values) != descriptions[quantity].num_integers:
        raise ValueError(f"integers: expected {descriptions[quantity].num_integers}, got {len(values)}")
    for i in range(MAX_INTEGERS):
        integers[i] = values[i] if i < descriptions[quantity].num_integers else 0
    return check_quantity(quantity, integers, model)


cdef int check_quantity(int quantity, const int* integers, const Model* model) except -1:
    """Refuse integers out of range."""
    cdef const Description* x = &descriptions[quantity]
    cdef int i
    for i in range(x.num_integers):
        if x.kinds[i] == FRAME:
            check_index(integers[i], model.num_frames, "frame")
        elif x.kinds[i] == BODY or x.kinds[i] == MOBILIZER:
            check_index(integers[i], model.num_bodies, "body")
        elif x.kinds[i] == ELEMENT:
            check_index(integers[i], model.num_force_elements, "force element")
        elif x.kinds[i] == POINTS:
            if integers[i] < -1:
                raise ValueError(f"points: expected 0 or more, or -1, got {integers[i]}")
        elif x.kinds[i] == STEPS or x.kinds[i] == EVERY:
            if integers[i] < 1:
                raise ValueError(f"steps: expected 1 or more, got {integers[i]}")
        elif x.kinds[i] == METHOD:
            if not 0 <= integers[i] <= 3:
                raise ValueError(f"method: expected 0 to 3, got {integers[i]}")
        elif not (-1 if x.kinds[i] == STABILIZED else 0) <= integers[i] <= 1:
            raise ValueError(f"flag: expected 0 or 1, got {integers[i]}")
    return 0


cdef Py_ssize_t count(const Size* size, int quantity, const int* integers, const Model* model) noexcept nogil:
    """Return the value of a size."""
    cdef Py_ssize_t total = 0
    cdef int i
    for i in range(size.num_terms):
        total += size.terms[i].factor*extent_of(size.terms[i].dimension, quantity, integers, model)
    return total


cdef Py_ssize_t extent_of(int dimension, int quantity, const int* integers, const Model* model) noexcept nogil:
    """Return the value of one of the dimensions that sizes add up."""
    cdef int i
    if dimension == kOne:
        return 1
    elif dimension == kVelocities:
        return model.num_velocities
    elif dimension == kPositions:
        return model.num_positions
    elif dimension == kEquations:
        return model.num_equations
    elif dimension == kBodies:
        return model.num_bodies
    elif dimension == kMovingBodies:
        return model.num_bodies - 1
    elif dimension == kFrames:
        return model.num_frames
    elif dimension == kJoints:
        return model.num_joints
    elif dimension == kRates:
        return model.num_positions if integer_of(quantity, integers, BY_QDOT) == 1 else model.num_velocities
    elif dimension == kGivenBodies:
        return model.num_bodies if integer_of(quantity, integers, GIVEN) == 1 else 0
    elif dimension == kGivenVelocities:
        return model.num_velocities if integer_of(quantity, integers, GIVEN) == 1 else 0
    elif dimension == kPoints:
        i = integer_of(quantity, integers, POINTS)
        return 1 if i < 0 else i
    elif dimension == kKeptSteps:
        return integer_of(quantity, integers, STEPS)//integer_of(quantity, integers, EVERY)
    elif dimension == kStepInputs:
        i = 1 if integer_of(quantity, integers, HELD) else integer_of(quantity, integers, STEPS)
        return <Py_ssize_t>model.num_velocities*i
    elif dimension == kContactPoints:
        return model.force_elements[element_of(quantity, integers)].num_points
    i = integer_of(quantity, integers, MOBILIZER)
    if dimension == kMobilizerPositions:
        return model.q_start[i + 1] - model.q_start[i]
    return model.v_start[i + 1] - model.v_start[i]


cdef Sizes sizes_of(int quantity, const int* integers, const Model* model) noexcept nogil:
    cdef const Description* x = &descriptions[quantity]
    cdef Sizes sizes
    cdef int i
    sizes.input = count(&x.input, quantity, integers, model)
    sizes.num_axes = x.num_axes
    sizes.result = 1
    for i in range(x.num_axes):
        sizes.shape[i] = count(&x.axes[i], quantity, integers, model)
        sizes.result *= sizes.shape[i]
    # The result has a column per point: a single point may have no such axis.
    if x.num_axes == 2 and x.axes[1].counts_points() and integer_of(quantity, integers, POINTS) < 0:
        sizes.num_axes = 1
    return sizes


cdef tuple shape_tuple(const Sizes* sizes):
    """The shape of the result."""
    if sizes.num_axes == 1:
        return (sizes.shape[0],)
    if sizes.num_axes == 2:
        return (sizes.shape[0], sizes.shape[1])
    return (sizes.shape[0], sizes.shape[1], sizes.shape[2]) if sizes.num_axes else ()


def shape_of(CompiledModel compiled not None, int quantity, tuple integers not None):
    """Return the shape of a `Quantity` of one state."""
    cdef int[<int>MAX_INTEGERS] numbers
    take_integers(quantity, integers, &compiled.model, numbers)
    cdef Sizes sizes = sizes_of(quantity, numbers, &compiled.model)
    return shape_tuple(&sizes)
