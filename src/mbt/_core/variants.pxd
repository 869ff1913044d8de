"""Numbers of everything that a tree computes: how trees of other scalars than double, and batches, ask for it.

One entry for all, so that each computation is written once for all scalars: `calc_quantity` of
`variant_algorithms.pxd`. `mbt.scalars` puts the other computations together from these.
"""

from mbt._core.model cimport Model, check_index


# With the third input, where there is one, and the result.
cpdef enum Quantity:
    # In node frames, straight from q.
    MOTION_FORCES                      # vdot -> M vdot + C v (nv,)
    INVERSE_DYNAMICS                   # vdot -> the same less gravity, damping and force elements (nv,)
    FORWARD_DYNAMICS                   # tau -> vdot, with gravity, damping and force elements (nv,)
    MASS_MATRIX                        # (nv, nv)
    MASS_MATRIX_INVERSE                # (nv, nv)
    GRAVITY_GENERALIZED_FORCES         # (nv,)
    BODY_POSES                         # X_WB (nb, 4, 4)
    FRAME_POSE_IN_WORLD                # X_WF of the frame `index` (4, 4)
    FRAME_JACOBIAN                     # with respect to v, of the frame F in frame E: index = F + num_frames E (6, nv)
    CENTER_OF_MASS                     # p_WCcm (3,)
    # Maps between v and qdot, and steps between positions.
    QDOT                               # v -> N v (nq,)
    VELOCITY                           # qdot (nq,) -> N+ qdot (nv,)
    QDDOT                              # vdot -> N vdot + Ndot v (nq,)
    ACCELERATION                       # qddot (nq,) -> N+ qddot + N+dot qdot (nv,)
    STEADY_ACCELERATION                # N+dot qdot (nv,)
    N_MATRIX                           # (nq, nv)
    NPLUS_MATRIX                       # (nv, nq)
    NDOT_MATRIX                        # (nq, nv)
    NPLUSDOT_MATRIX                    # (nv, nq)
    HINGE_BIAS                         # Hdot_FM v of each mobilizer (nb, 6)
    INTEGRATED_POSITIONS               # v, dt (nv + 1,) -> (nq,)
    POSITION_DIFFERENCE                # q1 (nq,) -> (nv,)
    NORMALIZED_POSITIONS               # (nq,)
    FRAME_POSES                        # X_BF (nf, 4, 4)
    # In World, from the kinematics of q and v.
    POSITION_KINEMATICS                # X_FM, X_PB, X_WB, H_FM, H_PB_W (48 nb + 12 nv,)
    SPATIAL_INERTIAS                   # com_W, M_Bo_W (39 nb,)
    VELOCITY_KINEMATICS                # V_PB_W, V_PB, V_WB (18 nb,)
    ACCELERATION_KINEMATICS            # vdot -> A_WB (nb, 6)
    GENERALIZED_FORCES                 # F_Bo_W (nb, 6) -> sum of J' F (nv,)
    REACTION_FORCES                    # vdot, F_Bo_W (nv + 6 nb,) -> F_BMo_W (nb, 6)
    CORIOLIS_MATRIX                    # (nv, nv)
    KINETIC_ENERGY
    POTENTIAL_ENERGY
    CONSERVATIVE_POWER
    NON_CONSERVATIVE_POWER
    ELEMENT_FORCES                     # gravity, damping, all elements: F_Bo_W, tau (6 nb + nv,)
    GRAVITY_FORCES                     # F_Bo_W (6 nb,)
    GRAVITY_POTENTIAL_ENERGY
    GRAVITY_POWER
    # Of the force element `index`.
    ELEMENT_FORCE                      # F_Bo_W, tau (6 nb + nv,)
    ELEMENT_POTENTIAL_ENERGY
    ELEMENT_CONSERVATIVE_POWER
    ELEMENT_NON_CONSERVATIVE_POWER
    # Of the body `index`, with respect to v.
    ANGULAR_JACOBIAN                   # (3, nv)
    TRANSLATIONAL_JACOBIAN             # p_WoBp_W (3,) -> (3, nv)
    # Of bodies with the masses (nb,) that the third input begins with.
    MASS_MOMENT                        # -> mass, sum of m p_WBcm (4,)
    MOMENTUM                           # I_BBo_B (nb, 6) -> about Wo (6,)
    LINEAR_MOMENTUM_MATRIX             # -> (3, nv)
    MASS_ACCELERATION                  # A_WB (nb, 6) -> sum of m a_WBcm (3,)
    COMPOSITE_INERTIA                  # I_BBo_B (nb, 6), X_FW (4, 4) -> mass, moment, inertia about Fo in F (10,)
    MOMENTUM_MATRIX                    # of all bodies: p_WP (3,) -> (6, nv)
    # What is linear in the inertial parameters of all bodies, ten each.
    INVERSE_DYNAMICS_REGRESSOR         # vdot -> (nv, 10 (nb - 1))
    KINETIC_ENERGY_REGRESSOR           # (10 (nb - 1),)
    POTENTIAL_ENERGY_REGRESSOR         # (10 (nb - 1),)
    # Along each dof, with respect to v, and to the third input: (3, nv, nv). `index` is 1 where forces act on bodies.
    MOTION_FORCES_DERIVATIVES          # vdot, F_Bo_W (nv + 6 nb,); without forces vdot alone
    INVERSE_DYNAMICS_DERIVATIVES       # the same, with gravity, damping and force elements
    FORWARD_DYNAMICS_DERIVATIVES       # tau, F_Bo_W


cdef inline Py_ssize_t count_input(int quantity, int index, const Model* model) noexcept nogil:
    """Scalars of the third input."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    if quantity <= FORWARD_DYNAMICS or quantity == QDOT or quantity == QDDOT or quantity == ACCELERATION_KINEMATICS:
        return nv
    if quantity == VELOCITY or quantity == ACCELERATION or quantity == POSITION_DIFFERENCE:
        return model.num_positions
    if quantity == INTEGRATED_POSITIONS:
        return nv + 1
    if quantity >= MOTION_FORCES_DERIVATIVES:
        return nv + 6*nb if index == 1 else nv
    if quantity == GENERALIZED_FORCES:
        return 6*nb
    if quantity == REACTION_FORCES:
        return nv + 6*nb
    if quantity == TRANSLATIONAL_JACOBIAN:
        return 3
    if quantity == MASS_ACCELERATION:
        return 7*nb
    if quantity == MOMENTUM:
        return 7*nb
    if quantity == COMPOSITE_INERTIA:
        return 7*nb + 16
    if quantity == MOMENTUM_MATRIX:
        return 3
    if quantity == INVERSE_DYNAMICS_REGRESSOR:
        return nv
    if quantity == MASS_MOMENT or quantity == LINEAR_MOMENTUM_MATRIX:
        return nb
    return 0


cdef inline Py_ssize_t count_result(int quantity, const Model* model) noexcept nogil:
    """Scalars of the result."""
    cdef Py_ssize_t nb = model.num_bodies
    cdef Py_ssize_t nv = model.num_velocities
    cdef Py_ssize_t nq = model.num_positions
    if quantity == MASS_MATRIX or quantity == MASS_MATRIX_INVERSE or quantity == CORIOLIS_MATRIX:
        return nv*nv
    if quantity >= MOTION_FORCES_DERIVATIVES:
        return 3*nv*nv
    if N_MATRIX <= quantity <= NPLUSDOT_MATRIX:
        return nq*nv
    if quantity == QDOT or quantity == QDDOT or quantity == INTEGRATED_POSITIONS or quantity == NORMALIZED_POSITIONS:
        return nq
    if quantity == BODY_POSES:
        return 16*nb
    if quantity == FRAME_POSE_IN_WORLD:
        return 16
    if quantity == CENTER_OF_MASS:
        return 3
    if quantity == FRAME_JACOBIAN or quantity == MOMENTUM_MATRIX:
        return 6*nv
    if quantity == FRAME_POSES:
        return 16*model.num_frames
    if quantity == POSITION_KINEMATICS:
        return 48*nb + 12*nv
    if quantity == SPATIAL_INERTIAS:
        return 39*nb
    if quantity == VELOCITY_KINEMATICS:
        return 18*nb
    if (
        quantity == HINGE_BIAS or quantity == ACCELERATION_KINEMATICS or quantity == REACTION_FORCES
        or quantity == GRAVITY_FORCES
    ):
        return 6*nb
    if quantity == ELEMENT_FORCES or quantity == ELEMENT_FORCE:
        return 6*nb + nv
    if (
        KINETIC_ENERGY <= quantity <= NON_CONSERVATIVE_POWER
        or GRAVITY_POTENTIAL_ENERGY <= quantity <= GRAVITY_POWER
        or ELEMENT_POTENTIAL_ENERGY <= quantity <= ELEMENT_NON_CONSERVATIVE_POWER
    ):
        return 1
    if quantity == ANGULAR_JACOBIAN or quantity == TRANSLATIONAL_JACOBIAN or quantity == LINEAR_MOMENTUM_MATRIX:
        return 3*nv
    if quantity == MASS_MOMENT:
        return 4
    if quantity == MOMENTUM:
        return 6
    if quantity == MASS_ACCELERATION:
        return 3
    if quantity == COMPOSITE_INERTIA:
        return 10
    if quantity == INVERSE_DYNAMICS_REGRESSOR:
        return 10*nv*(nb - 1)
    if quantity == KINETIC_ENERGY_REGRESSOR or quantity == POTENTIAL_ENERGY_REGRESSOR:
        return 10*(nb - 1)
    return nv


cdef inline int check_quantity(int quantity, int index, const Model* model) except -1:
    """Refuse what is no `Quantity`, and an `index` of nothing."""
    if not 0 <= quantity <= FORWARD_DYNAMICS_DERIVATIVES:
        raise ValueError(f"quantity: expected 0 to {<int>FORWARD_DYNAMICS_DERIVATIVES}, got {quantity}")
    if quantity == FRAME_JACOBIAN:
        check_index(index, model.num_frames, "frame")
    elif ELEMENT_FORCE <= quantity <= ELEMENT_NON_CONSERVATIVE_POWER:
        check_index(index, model.num_force_elements, "force element")
    elif quantity == ANGULAR_JACOBIAN or quantity == TRANSLATIONAL_JACOBIAN or needs_rates(quantity) and index >= 0:
        check_index(index, model.num_bodies, "body")
    return 0


cdef inline int element_of(int quantity, int index) noexcept nogil:
    """The force element that a quantity is of, or -1: none, or all."""
    return index if ELEMENT_FORCE <= quantity <= ELEMENT_NON_CONSERVATIVE_POWER else -1


cdef inline bint needs_element_forces(int quantity, int index) noexcept nogil:
    """Whether a quantity is undefined where the force of an element between two bodies is."""
    return (
        quantity == INVERSE_DYNAMICS or quantity == FORWARD_DYNAMICS or quantity >= INVERSE_DYNAMICS_DERIVATIVES
        or POTENTIAL_ENERGY <= quantity <= NON_CONSERVATIVE_POWER or quantity == ELEMENT_FORCES
        or element_of(quantity, index) >= 0
    )


cdef inline bint needs_rates(int quantity) noexcept nogil:
    """Whether a quantity is undefined where qdot = N(q) v is: at gimbal lock."""
    return (
        quantity == QDOT or quantity == QDDOT or ACCELERATION <= quantity <= N_MATRIX or quantity == NDOT_MATRIX
        or quantity == NPLUSDOT_MATRIX
    )


cdef inline bint needs_velocities(int quantity) noexcept nogil:
    """Whether a quantity depends on v."""
    return not (
        MASS_MATRIX <= quantity <= VELOCITY or quantity == N_MATRIX or quantity == NPLUS_MATRIX
        or INTEGRATED_POSITIONS <= quantity <= SPATIAL_INERTIAS or quantity == POTENTIAL_ENERGY
        or quantity == ANGULAR_JACOBIAN or quantity == TRANSLATIONAL_JACOBIAN or quantity == MASS_MOMENT
    )
