"""Mass matrix: composite rigid bodies in mobod frames, O(n depth).

M. W. Walker, D. E. Orin, "Efficient Dynamic Computer Simulation of Robotic Mechanisms", J. Dyn. Sys., Meas., Control
104 (1982).
R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 6.2.
In NumPy: tests/support/textbook.py, mass_matrix.
"""

from mbt._core.algebra.records cimport Composite, Mobod, carry_columns, project_columns
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.algebra.vectors cimport Force, add_shifted, put_column, rotated
from mbt._core.joints.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.joints.mobod_joints cimport calc_rigid_momentum, calc_X_PN
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.scalars cimport T, sincos_of_angles


cdef inline void calc_mass_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    # In:
    const T* q,                    # (nq,)            [rad, m]
    # Work:
    Composite[T]* work,            # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    T* momenta,                    # (6, nv)          [kg m^2, kg m, kg]
    T* row,                        # (nv,)            [kg m^2, kg m, kg]
    # Out:
    T* M,                          # (nv, nv)         [kg m^2, kg m, kg]
) noexcept nogil:
    """M[k, l] = H_k' M_c H_l, with M_c the composite inertia outboard of both."""
    cdef int i, k, n
    cdef Py_ssize_t nv = model.num_velocities
    cdef const MobodJoint* joint
    cdef T* F
    cdef Force[T] momentum

    set_zero(M, nv*nv)

    sincos_of_angles(q, model.angles, model.num_angles, sin_q, cos_q)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(
            joint, model.constants[joint.node], &mobods[i].X_PF, q, sin_q, cos_q, &work[i].X_PN, H_N
        )
        # Field by field: copied as a whole, the mass matrix of a humanoid takes 2 % longer.
        work[i].I.mass = mobods[i].I.mass
        work[i].I.h = mobods[i].I.h
        work[i].I.J = mobods[i].I.J

    # Tip to base: a composite is complete when its own turn comes.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        if joint.parent != 0:
            add_composite_to_parent(&work[i], &work[joint.parent])

        # Momenta about No in N, of the dofs of this mobod and of all outboard of it, from the last dof on: blocks of
        # columns that were written as vectors are read as the same vectors, as the list grows at its end.
        n = joint.v_end - joint.v_start
        F = momenta + nv - joint.v_end
        for k in range(joint.nv):
            calc_rigid_momentum(joint, joint.v_start + k, H_N, &work[i].I, &momentum)
            put_column(momentum.t, F + n - 1 - k, nv)
            put_column(momentum.f, F + 3*nv + n - 1 - k, nv)
        if joint.kind == GENERAL:
            project_on_general_joint(joint, H_N, nv, F, row, M)
        else:
            set_row_and_column(joint, joint.v_start, F + (2 if joint.kind == REVOLUTE_Z else 5)*nv, nv, M)
        if joint.parent != 0:
            carry_columns(&work[i].X_PN, n, nv, F)

    for k in range(nv):
        M[nv*k + k] = M[nv*k + k] + reflected_inertia[k]


cdef inline void add_composite_to_parent(const Composite[T]* x, Composite[T]* parent) noexcept nogil:
    add_shifted(rotated(x.X_PN.R, x.I), x.X_PN.p, &parent.I)


cdef inline void project_on_general_joint(
    # Topology:
    const MobodJoint* joint,
    # In:
    const T* H_N,          # (nv, 6)   [1, m]
    Py_ssize_t nv,
    const T* F,            # (6, nv)   [kg m^2, kg m, kg]  a column for each dof outboard, from the last on
    # Work:
    T* row,                # (nv,)     [kg m^2, kg m, kg]
    # Out:
    T* M,                  # (nv, nv)  [kg m^2, kg m, kg]
) noexcept nogil:
    """M[l, k] = M[k, l] = H_l' F_k, for dofs l of the joint and every k outboard."""
    cdef int l
    for l in range(joint.v_start, joint.v_start + joint.nv):
        project_columns(H_N + 6*l, joint.v_end - joint.v_start, nv, F, row)
        set_row_and_column(joint, l, row, nv, M)


cdef inline void set_row_and_column(const MobodJoint* joint, int l, const T* row, Py_ssize_t nv, T* M) noexcept nogil:
    """M[l, k] = M[k, l] = the entry of k in the row, which begins with the last dof outboard."""
    cdef int s, k
    for s in range(joint.v_end - joint.v_start):
        k = joint.v_end - 1 - s
        M[nv*l + k] = row[s]
        M[nv*k + l] = row[s]
