"""Parameters that kernels read, from those of a Context: frame poses, and mobod frames with their inertia."""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport copy, multiply_poses4, set_zero
from mbt._core.algebra.vectors cimport (
    Mat3, add_shifted, inertia_of_body, inverse, numbers, pose_at, rotated, set_constant, times_transposed,
    transpose,
)
from mbt._core.joints.mobilizers cimport WELD, calc_X_FM
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_X_BF(
    # Topology:
    const Model* model,
    # Parameters:
    const T* frame_X_PF,   # (num_frames, 4, 4)  [1, m]  in the parent frame
    # Out:
    T* X_BF,               # (num_frames, 4, 4)  [1, m]  in the body frame
) noexcept nogil:
    """X_BF = X_BP X_PF, a parent frame before its children."""
    cdef int i
    for i in range(model.num_frames):
        if model.frame_parent[i] < 0:
            copy(frame_X_PF + 16*i, 16, X_BF + 16*i)
        else:
            multiply_poses4(X_BF + 16*model.frame_parent[i], frame_X_PF + 16*i, X_BF + 16*i)


cdef inline void calc_reflected_inertia(
    const Model* model,
    const T* rotor_inertia,      # (num_actuators,)  [kg m^2, kg]
    const T* gear_ratio,         # (num_actuators,)  [1]
    T* reflected_inertia,        # (nv,)             [kg m^2, kg]
) noexcept nogil:
    """Sum of gear_ratio^2 rotor_inertia over the actuators of a dof."""
    cdef int i, k
    set_zero(reflected_inertia, model.num_velocities)
    for i in range(model.num_actuators):
        k = model.actuator_dof[i]
        reflected_inertia[k] = reflected_inertia[k] + gear_ratio[i]*gear_ratio[i]*rotor_inertia[i]


cdef inline void calc_mobod_frames(
    # Topology:
    const Model* model,
    # Parameters:
    const T* X_BF,           # (num_frames, 4, 4)  [1, m]
    # Out:
    Mobod[T]* mobods,        # (num_mobods,)       their X_PF
    Pose[T]* X_NB,           # (num_bodies,)
) noexcept nogil:
    """Fix welded bodies to their mobod, and turn every one-dof axis into z."""
    cdef int b, j
    cdef Pose[T] X_MB, X_NF, X_FM
    cdef Mat3[T] R_MN
    cdef const Mat3[double]* constants = <const Mat3[double]*>model.R_MN

    set_identity_pose(&mobods.X_PF)
    set_identity_pose(X_NB)

    for b in range(1, model.num_bodies):
        X_MB = inverse(pose_at(X_BF + 16*model.outboard_frame[b]))

        # X_NF = X_NP X_PF: the inboard frame, in the mobod frame of the mobod that carries it.
        X_NF = X_NB[model.parent[b]]*pose_at(X_BF + 16*model.inboard_frame[b])

        if model.type[b] == WELD:
            calc_X_FM(WELD, model.constants[b], X_BF, &X_FM)
            X_NB[b] = X_NF*X_FM*X_MB
        else:
            j = model.mobod[b]
            set_constant(constants[j], &R_MN)
            mobods[j].X_PF.R = X_NF.R*R_MN
            mobods[j].X_PF.p = X_NF.p
            X_NB[b].R = transpose(R_MN)*X_MB.R
            X_NB[b].p = times_transposed(R_MN, X_MB.p)


cdef inline void calc_rotational_inertias(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,           # (num_bodies,)    [kg]
    const T* G_BBo_B,        # (num_bodies, 6)  [m^2]  xx yy zz xy xz yz
    const T* J_BBo_B,        # (num_bodies, 6)  [kg m^2]  inertia without mass
    # Out:
    T* I_BBo_B,              # (num_bodies, 6)  [kg m^2]
) noexcept nogil:
    """I = m G + J."""
    cdef int b, i
    for b in range(model.num_bodies):
        for i in range(6):
            I_BBo_B[6*b + i] = mass[b]*G_BBo_B[6*b + i] + J_BBo_B[6*b + i]


cdef inline void calc_mobod_inertias(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,           # (num_bodies,)    [kg]
    const T* p_BoBcm_B,      # (num_bodies, 3)  [m]
    const T* I_BBo_B,        # (num_bodies, 6)  [kg m^2]  xx yy zz xy xz yz
    const Pose[T]* X_NB,     # (num_bodies,)
    # Out:
    Mobod[T]* mobods,        # (num_mobods,)    mass, h and inertia
) noexcept nogil:
    """Add the inertia of welded bodies to that of their mobod."""
    cdef int b, j
    for j in range(model.num_mobods):
        set_zero(numbers(mobods[j].I), 10)
    for b in range(1, model.num_bodies):
        add_shifted(
            rotated(X_NB[b].R, inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b)), X_NB[b].p,
            &mobods[model.mobod[b]].I
        )


cdef inline void set_identity_pose(Pose[T]* X) noexcept nogil:
    set_identity(numbers(X.R))
    set_zero(numbers(X.p), 3)
