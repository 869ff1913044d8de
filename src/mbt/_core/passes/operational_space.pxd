"""How a frame gives way to forces: the inverse inertia of operational space, on the path of the frame alone.

    J M^-1 J' = Y' D^-1 Y

A row of Y is what unit forces at the frame leave at a dof after those outboard have given way: one sweep to World on
the articulated bodies that forward dynamics leaves in memory, O(depth).

K. Kreutz-Delgado, A. Jain, G. Rodriguez, "Recursive Formulation of Operational Space Control", IJRR 11 (1992).
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Pose, carry_columns
from mbt._core.algebra.spatial cimport add_rotated4, add_to, get_position4, rotate, set_zero
from mbt._core.algebra.vectors cimport numbers
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.constraint_rows cimport give_way
from mbt._core.passes.mass_matrix_inverse cimport project_motion
from mbt._core.scalars cimport T


cdef enum:
    STRIDE = 8    # of columns, as in constrained_dynamics


cdef inline void calc_inverse_inertia_of_frame(
    # Topology:
    const Model* model,
    int frame,
    # Parameters:
    const Pose[T]* X_NB,           # (num_bodies,)
    const T* X_BF,                 # (num_frames, 4, 4)  [1, m]
    # In:
    const T* R_FE,                 # (3, 3)              [1]  columns are the axes of E
    const Articulated[T]* work,    # (num_mobods,)
    const T* H_N,                  # (nv, 6)             [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* A,                          # (6, 6)              [1/(kg m^2), 1/(kg m), 1/kg]
) noexcept nogil:
    """Accelerations of frame F to unit moments and forces at its origin, all along the axes of E, from rest."""
    cdef T[6*STRIDE] F
    cdef T[STRIDE] y
    cdef const MobodJoint* joint
    cdef int node = model.frame_node[frame]
    cdef int i = model.mobod[node]
    cdef int l, j, k
    set_zero(A, 36)
    set_zero(F, 6*STRIDE)
    set_unit_forces(X_NB + node, X_BF + 16*frame, R_FE, F)
    while i > 0:
        joint = &model.joints[i]
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            project_motion(joint, l, H_N, STRIDE, STRIDE, F, y)
            for j in range(6):
                for k in range(j + 1):
                    A[6*j + k] = A[6*j + k] + y[j]*y[k]*dofs[l].D_inverse
            if T is double:
                # U of the first dof is that of the parent, see forward_dynamics_in_parents.
                if l > joint.v_start:
                    give_way(&dofs[l], STRIDE, y, F)
            else:
                give_way(&dofs[l], STRIDE, y, F)
        if joint.parent != 0:
            carry_columns(&work[i].X_PN, STRIDE, STRIDE, F)
            if T is double:
                give_way(&dofs[joint.v_start], STRIDE, y, F)
        i = joint.parent
    for j in range(6):
        for k in range(j):
            A[6*k + j] = A[6*j + k]


cdef inline void set_unit_forces(const Pose[T]* X_NB, const T* X_BF, const T* R_FE, T* F) noexcept nogil:
    """Moments, then forces at Fo, as columns of (moment about No; force) in N."""
    cdef T[3] axis_F, axis_B, axis, p_BoFo_B, p
    cdef int j, k
    get_position4(X_BF, p_BoFo_B)
    rotate(numbers(X_NB.R), p_BoFo_B, p)
    add_to(numbers(X_NB.p), 3, p)
    for j in range(3):
        for k in range(3):
            axis_F[k] = R_FE[3*k + j]
            axis_B[k] = <T>0.0
        add_rotated4(X_BF, axis_F, axis_B)
        rotate(numbers(X_NB.R), axis_B, axis)
        for k in range(3):
            F[STRIDE*k + j] = axis[k]
            F[STRIDE*(3 + k) + 3 + j] = axis[k]
        F[3 + j] = p[1]*axis[2] - p[2]*axis[1]
        F[STRIDE + 3 + j] = p[2]*axis[0] - p[0]*axis[2]
        F[2*STRIDE + 3 + j] = p[0]*axis[1] - p[1]*axis[0]
