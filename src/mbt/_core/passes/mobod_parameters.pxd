"""Parameters that kernels read, from those of a Context: frame poses, and mobod frames with their inertia."""

from mbt._core.algebra.records cimport Mobod, Pose
from mbt._core.algebra.spatial cimport (
    add_shifted_inertia, copy, get_pose4, invert_pose4, multiply_poses4, multiply_rotations, rotate, rotate_symmetric,
    set_pose4, set_zero,
)
from mbt._core.algebra.vectors cimport numbers
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
    cdef int b, i, j
    cdef T[16] X_MB, X_NP, X_NF, X_FM, X_NM, X
    cdef T[9] R
    cdef T[3] p
    cdef const double* C

    set_identity_pose(&mobods[0].X_PF)
    set_identity_pose(&X_NB[0])

    for b in range(1, model.num_bodies):
        j = model.mobod[b]
        invert_pose4(X_BF + 16*model.outboard_frame[b], X_MB)

        # X_NF = X_NP X_PF: the inboard frame, in the mobod frame of the mobod that carries it.
        set_pose4(numbers(X_NB[model.parent[b]].R), numbers(X_NB[model.parent[b]].p), X_NP)
        multiply_poses4(X_NP, X_BF + 16*model.inboard_frame[b], X_NF)

        if model.type[b] == WELD:
            calc_X_FM(WELD, model.constants[b], X_BF, R, p)
            set_pose4(R, p, X_FM)
            multiply_poses4(X_NF, X_FM, X_NM)
            multiply_poses4(X_NM, X_MB, X)
            get_pose4(X, numbers(X_NB[b].R), numbers(X_NB[b].p))
        else:
            C = model.R_MN + 9*j
            get_pose4(X_NF, R, numbers(mobods[j].X_PF.p))
            for i in range(9):
                X[i] = <T>C[i]
            multiply_rotations(R, X, numbers(mobods[j].X_PF.R))
            # X_NB = (R_MN)^-1 X_MB
            for i in range(3):
                numbers(X_NB[b].p)[i] = X_MB[3]*C[i] + X_MB[7]*C[3 + i] + X_MB[11]*C[6 + i]
                numbers(X_NB[b].R)[3*i] = X_MB[0]*C[i] + X_MB[4]*C[3 + i] + X_MB[8]*C[6 + i]
                numbers(X_NB[b].R)[3*i + 1] = X_MB[1]*C[i] + X_MB[5]*C[3 + i] + X_MB[9]*C[6 + i]
                numbers(X_NB[b].R)[3*i + 2] = X_MB[2]*C[i] + X_MB[6]*C[3 + i] + X_MB[10]*C[6 + i]


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
        mobods[j].I.mass = <T>0.0
        set_zero(numbers(mobods[j].I.h), 3)
        set_zero(numbers(mobods[j].I.J), 6)
    for b in range(1, model.num_bodies):
        add_body_inertia(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b, &X_NB[b], &mobods[model.mobod[b]])


cdef inline void set_identity_pose(Pose[T]* X) noexcept nogil:
    set_zero(numbers(X.R), 9)
    set_zero(numbers(X.p), 3)
    X.R.x.x = <T>1.0
    X.R.y.y = <T>1.0
    X.R.z.z = <T>1.0


cdef inline void add_body_inertia(
    T mass, const T* p_BoBcm_B, const T* I_BBo_B, const Pose[T]* X_NB, Mobod[T]* mobod
) noexcept nogil:
    cdef T[3] h_B, h
    cdef T[6] I_B, inertia
    cdef int i
    for i in range(3):
        h_B[i] = mass*p_BoBcm_B[i]
    I_B[0] = I_BBo_B[0]
    I_B[1] = I_BBo_B[3]
    I_B[2] = I_BBo_B[4]
    I_B[3] = I_BBo_B[1]
    I_B[4] = I_BBo_B[5]
    I_B[5] = I_BBo_B[2]
    rotate(numbers(X_NB.R), h_B, h)
    rotate_symmetric(numbers(X_NB.R), I_B, inertia)
    add_shifted_inertia(
        mass, h, inertia, numbers(X_NB.p), &mobod.I.mass, numbers(mobod.I.h), numbers(mobod.I.J)
    )
