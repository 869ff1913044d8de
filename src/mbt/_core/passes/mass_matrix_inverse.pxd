"""Inverse of the mass matrix: articulated bodies in mobod frames, all columns at once, O(n depth).

J. Carpentier, "Analytical Inverse of the Joint Space Inertia Matrix", technical report, LAAS-CNRS 2018.
In NumPy: tests/support/textbook.py, mass_matrix_inverse.
"""

from mbt._core.algebra.records cimport (
    Articulated, ArticulatedDof, add_to_columns, carry_columns, carry_motion_columns, project_columns,
)
from mbt._core.algebra.spatial cimport add_to, set_zero
from mbt._core.algebra.vectors cimport numbers
from mbt._core.joints.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T


cdef inline void calc_mass_matrix_inverse(
    # Topology:
    const Model* model,
    # In, as forward dynamics of doubles leaves them:
    const Articulated[T]* work,    # (num_mobods,)
    const T* H_N,                  # (nv, 6)   [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Work:
    T* F,                          # (6, nv)
    T* A,                          # (num_mobods, 6, nv)
    T* row,                        # (nv,)
    # Out:
    T* M_inverse,                  # (nv, nv)  [1/(kg m^2), 1/(kg m), 1/kg]
) noexcept nogil:
    """Column k is vdot for a unit force on dof k, at rest and without gravity; its rows up to k are computed."""
    cdef int i, k, l, n
    cdef Py_ssize_t nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef T* y
    cdef T* A_N
    cdef const T* A_P

    set_zero(M_inverse, nv*nv)
    set_zero(F, 6*nv)

    # Tip to base: u / D of each dof, and the forces left over, for unit forces on the dofs outboard. F of a mobod is
    # in its frame, and siblings have columns of their own.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        n = joint.v_end - joint.v_start
        for l in range(joint.v_start + joint.nv - 1, joint.v_start - 1, -1):
            y = M_inverse + nv*l + joint.v_start
            project_motion(joint, l, H_N, n, nv, F + joint.v_start, row)
            for k in range(n):
                y[k] = -(row[k]*dofs[l].D_inverse)
            y[l - joint.v_start] = y[l - joint.v_start] + dofs[l].D_inverse
            if l > joint.v_start:
                add_to_columns(numbers(dofs[l].U), n, nv, y, F + joint.v_start)
        if joint.parent != 0:
            carry_columns(&work[i].X_PN, n, nv, F + joint.v_start)
            k = joint.v_start
            add_to_columns(numbers(dofs[k].U), n, nv, M_inverse + nv*k + k, F + k)

    # Base to tip: accelerations, for unit forces on the dofs from this mobod's first on.
    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        n = model.num_velocities - joint.v_start
        A_N = A + 6*nv*i + joint.v_start
        if joint.parent == 0:
            for k in range(6):
                set_zero(A_N + nv*k, n)
        else:
            A_P = A + 6*nv*joint.parent + joint.v_start
            subtract_reaction(&dofs[joint.v_start], n, nv, A_P, row, M_inverse + nv*joint.v_start + joint.v_start)
            carry_motion_columns(&work[i].X_PN, n, nv, A_P, A_N)
        add_motion(joint, joint.v_start, H_N, n, nv, M_inverse + nv*joint.v_start + joint.v_start, A_N)
        for l in range(joint.v_start + 1, joint.v_start + joint.nv):
            subtract_reaction(&dofs[l], n, nv, A_N, row, M_inverse + nv*l + joint.v_start)
            add_motion(joint, l, H_N, n, nv, M_inverse + nv*l + joint.v_start, A_N)

    for l in range(nv):
        for k in range(l):
            M_inverse[nv*l + k] = M_inverse[nv*k + l]


cdef inline void project_motion(
    const MobodJoint* joint, int l, const T* H_N, int n, Py_ssize_t nv, const T* F, T* y
) noexcept nogil:
    """y = H_l' F."""
    cdef int k
    cdef const T* component
    if joint.kind == GENERAL:
        project_columns(H_N + 6*l, n, nv, F, y)
    else:
        component = F + (2 if joint.kind == REVOLUTE_Z else 5)*nv
        for k in range(n):
            y[k] = component[k]


cdef inline void subtract_reaction(
    const ArticulatedDof[T]* dof, int n, Py_ssize_t nv, const T* A, T* row, T* y
) noexcept nogil:
    """y -= U' A / D."""
    cdef int k
    project_columns(numbers(dof.U), n, nv, A, row)
    for k in range(n):
        y[k] = y[k] - row[k]*dof.D_inverse


cdef inline void add_motion(
    const MobodJoint* joint, int l, const T* H_N, int n, Py_ssize_t nv, const T* y, T* A
) noexcept nogil:
    """A += H_l y."""
    cdef T* component
    if joint.kind == GENERAL:
        add_to_columns(H_N + 6*l, n, nv, y, A)
    else:
        component = A + (2 if joint.kind == REVOLUTE_Z else 5)*nv
        add_to(y, n, component)
