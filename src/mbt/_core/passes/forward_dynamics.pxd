"""Forward dynamics: articulated bodies in mobod frames, O(n), straight from q, v, tau to vdot.

Each dof is eliminated in the frame of its mobod. This form has the fewest operations, for scalars with costly ones.

R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008, table 7.1.
In NumPy: tests/support/textbook.py, forward_dynamics.
"""

from mbt._core.algebra.records cimport Articulated, ArticulatedDof, Mobod
from mbt._core.algebra.vectors cimport HingedInertia, add_in_parent, add_to_parent, dot, hinged, sum
from mbt._core.joints.mobod_joints cimport add_dof_acceleration, leaves_nothing_about_axis
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.articulated_bodies cimport (
    add_further_accelerations, calc_first_dof, calc_motions_and_articulations, carry_acceleration, eliminate_dof,
    eliminate_further_dofs,
)
from mbt._core.scalars cimport T


cdef inline void calc_forward_dynamics(
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
    ArticulatedDof[T]* dofs,       # (nv,)            pivots D: zero where no mass resists a dof
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
) noexcept nogil:
    """vdot = M^-1 (tau + tau_g - C v), and zero where a dof is locked: the constraint forces do not appear."""
    calc_motions_and_articulations(model, mobods, gravity, q, v, sin_q, cos_q, work, H_N)
    take_out_joints(model, model.num_mobods - 1, 0, reflected_inertia, locked, H_N, tau, work, dofs)
    calc_accelerations(model, 1, model.num_mobods, H_N, dofs, work, vdot)


cdef inline void take_out_joints(
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
    """Tip to base: eliminate the dofs of each joint, and add the rest to the parent."""
    cdef int i
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    for i in range(first, end, -1):
        joint = &model.joints[i]
        x = &work[i]
        eliminate_further_dofs(joint, reflected_inertia, locked, H_N, tau, x, dofs)
        calc_first_dof(joint, reflected_inertia, locked, H_N, tau, x, dofs)
        if joint.parent == 0:
            continue
        if leaves_nothing_about_axis(joint, locked):
            add_rest_of_hinge_to_parent(x, &dofs[joint.v_start], &work[joint.parent])
        else:
            eliminate_dof(&dofs[joint.v_start], x)
            add_articulation_to_parent(x, &work[joint.parent])


cdef inline void calc_accelerations(
    const Model* model, int first, int end, const T* H_N, const ArticulatedDof[T]* dofs, Articulated[T]* work, T* vdot
) noexcept nogil:
    """Base to tip, for the mobods from `first` up to but not including `end`."""
    cdef int i, k
    cdef const MobodJoint* joint
    cdef Articulated[T]* x
    for i in range(first, end):
        joint = &model.joints[i]
        x = &work[i]
        k = joint.v_start
        carry_acceleration(&work[joint.parent], x)
        vdot[k] = (dofs[k].u - dot(dofs[k].U, x.acc))*dofs[k].D_inverse
        add_dof_acceleration(joint, k, H_N, vdot[k], &x.acc)
        add_further_accelerations(joint, H_N, dofs, &x.acc, vdot)


cdef inline void add_articulation_to_parent(const Articulated[T]* x, Articulated[T]* parent) noexcept nogil:
    add_to_parent(x.I, x.X_PN, &parent.I)
    add_in_parent(x.X_PN, sum(x.Z, x.I, x.bias), &parent.Z)


cdef inline void add_rest_of_hinge_to_parent(
    const Articulated[T]* x, const ArticulatedDof[T]* dof, Articulated[T]* parent
) noexcept nogil:
    """The same with the dof of a hinge eliminated."""
    cdef HingedInertia[T] rest = hinged(x.I, dof.U, dof.D_inverse)
    add_to_parent(rest, x.X_PN, &parent.I)
    add_in_parent(x.X_PN, sum(sum(x.Z, rest, x.bias), dof.U, dof.u*dof.D_inverse), &parent.Z)
