"""Forward dynamics of doubles: the first dof of each joint is eliminated in the frame P of the parent.

Its 1 / D is needed only there, so moving the articulated inertia to P, in rows of four, does not wait for it: this
shortens the chain of operations from tip to base, for which a processor waits with one state. From base to tip, the
acceleration of the previous mobod stays in registers. (benchmarks/compare.py, forward dynamics.)

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 7.1.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod, acceleration, take_dof_to_parent
from mbt._core.algebra.vectors cimport Motion, in_child
from mbt._core.joints.mobod_joints cimport add_dof_acceleration
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.articulated_bodies cimport (
    add_further_accelerations, calc_first_dof, calc_motions_and_articulations, carry_dof_to_parent,
    eliminate_further_dofs,
)
from mbt._core.scalars cimport T


cdef inline void calc_forward_dynamics_in_parents(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const T* gravity,              # (3,)             [m/s^2]  in World
    const int* locked,             # (nv,)            1 where a dof cannot move; NULL where all can
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* tau,                  # (nv,)            [N m, N]
    # Work:
    Articulated[T]* work,          # (num_mobods,)
    T* H_N,                        # (nv, 6)          [1, m]
    T* sin_q,                      # (angle_stride,)  [1]
    T* cos_q,                      # (angle_stride,)  [1]
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)            pivots D: zero where no mass resists a dof; first ones in P
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = M^-1 (tau + tau_g - C v), and zero where a dof is locked: the constraint forces do not appear."""
    calc_motions_and_articulations(model, mobods, gravity, q, v, sin_q, cos_q, work, H_N)
    take_out_joints_in_parents(model, model.num_mobods - 1, 0, reflected_inertia, locked, H_N, tau, work, dofs)
    calc_accelerations_in_parents(model, 1, model.num_mobods, H_N, dofs, work, vdot)


cdef inline void take_out_joints_in_parents(
    # Topology:
    const Model* model,
    int first,                     # the outermost mobod
    int end,                       # the one inboard of the last
    # Parameters:
    const T* reflected_inertia,    # (nv,)            [kg m^2, kg]
    const int* locked,             # (nv,)            1 where a dof cannot move; NULL where all can
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const T* tau,                  # (nv,)            [N m, N]
    # In, destroyed:
    Articulated[T]* work,          # (num_mobods,)
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)
) noexcept nogil:
    """Tip to base: eliminate the dofs of each joint, the first one on the way to the parent."""
    cdef int i
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    for i in range(first, end, -1):
        joint = &model.joints[i]
        x = &work[i]
        eliminate_further_dofs(joint, reflected_inertia, locked, H_N, tau, x, dofs)
        calc_first_dof(joint, reflected_inertia, locked, H_N, tau, x, dofs)
        if joint.parent == 0:
            carry_dof_to_parent(x, &dofs[joint.v_start])
        elif T is double:  # the only type here: rows hold doubles
            take_dof_to_parent(x, &dofs[joint.v_start], &work[joint.parent])


cdef inline void calc_accelerations_in_parents(
    const Model* model, int first, int end, const T* H_N, const ArticulatedDof[T]* dofs, Articulated[T]* work, T* vdot
) noexcept nogil:
    """Base to tip, for the mobods from `first` up to but not including `end`."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    cdef Motion[T] acc  # of the previous mobod
    for i in range(first, end):
        joint = &model.joints[i]
        x = &work[i]
        k = joint.v_start
        if i == first or joint.parent != i - 1:
            acc = work[joint.parent].acc
        if T is double:
            vdot[k] = acceleration(dofs[k], acc)
        acc = in_child(x.X_PN, acc) + x.bias
        add_dof_acceleration(joint, k, H_N, vdot[k], &acc)
        add_further_accelerations(joint, H_N, dofs, &acc, vdot)
        x.acc = acc


cdef inline void carry_first_dofs_to_parents(
    const Model* model, const Articulated[T]* work, ArticulatedDof[T]* dofs
) noexcept nogil:
    """Move the first dof of each joint to Po in P, after the other form has left it in N."""
    cdef int i
    for i in range(1, model.num_mobods):
        carry_dof_to_parent(&work[i], &dofs[model.joints[i].v_start])
