"""Response of a frame to forces: the inverse inertia of operational space, on the path of the frame alone.

    J M^-1 J' = Y' D^-1 Y

A row of Y holds the forces of unit forces at the frame that remain at a dof after those outboard have given way: one
sweep to World on the articulated bodies that forward dynamics leaves in memory, O(depth).

K. Kreutz-Delgado, A. Jain, G. Rodriguez, "Recursive Formulation of Operational Space Control", IJRR 11 (1992).
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Pose, carry_columns
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Mat3, matrix_at, pose_at, put, skew
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
    """Accelerations of frame F from rest by unit moments and forces at its origin, all along the axes of E."""
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
                # U of the first dof is in the parent's frame, see forward_dynamics_in_parents.
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
    cdef Pose[T] X_NF = X_NB[0]*pose_at(X_BF)
    cdef Mat3[T] R_NE = X_NF.R*matrix_at(R_FE)
    put(R_NE, F, STRIDE)
    put(R_NE, F + 3*STRIDE + 3, STRIDE)
    put(skew(X_NF.p)*R_NE, F + 3, STRIDE)
