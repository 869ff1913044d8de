"""Mass matrix: composite rigid bodies in node frames, O(n depth)."""

from mbt._core.node_joints cimport calc_rigid_momentum, calc_X_PN, project_force
from mbt._core.model cimport Joint, Model
from mbt._core.records cimport Composite, Mobod
from mbt._core.scalars cimport T
from mbt._core.spatial cimport add_cross, add_shifted_inertia, rotate, rotate_symmetric, set_zero


cdef inline void calc_mass_matrix(
    # Topology:
    const Model* model,
    # Parameters:
    const Mobod[T]* mobods,        # (num_mobods,)
    const T* reflected_inertia,    # (nv,)
    # In:
    const T* q,                    # (nq,)
    # Work:
    Composite[T]* work,            # (num_mobods,)
    T* H_N,                        # (nv, 6)
    T* column,                     # (nv,)
    # Out:
    T* M,                          # (nv, nv)
) noexcept nogil:
    """M[k, l] = H_k' M_c H_l, with M_c the composite inertia outboard of both."""
    cdef int i, j, k, l
    cdef Py_ssize_t nv = model.num_velocities
    cdef const Joint* joint
    cdef const Joint* ancestor
    cdef T t[3]
    cdef T f[3]

    set_zero(M, nv*nv)

    for i in range(1, model.num_mobods):
        joint = &model.joints[i]
        calc_X_PN(joint, model.constants + 16*joint.node, &mobods[i].X_PF, q, &work[i].X_PN, H_N)
        work[i].mass = mobods[i].mass
        for k in range(3):
            work[i].h[k] = mobods[i].h[k]
        for k in range(6):
            work[i].inertia[k] = mobods[i].inertia[k]

    # Tip to base: a composite is complete when its own turn comes.
    for i in range(model.num_mobods - 1, 0, -1):
        joint = &model.joints[i]
        if joint.parent != 0:
            add_composite_to_parent(&work[i], &work[joint.parent])

        for k in range(joint.v, joint.v + joint.nv):
            calc_rigid_momentum(joint, k, H_N, work[i].mass, work[i].h, work[i].inertia, t, f)

            # Carry the momentum of dof k inboard, and project it on every joint on the way.
            j = i
            while True:
                ancestor = &model.joints[j]
                project_force(ancestor, H_N, t, f, column)
                for l in range(ancestor.v, ancestor.v + ancestor.nv):
                    M[nv*k + l] = column[l]
                    M[nv*l + k] = column[l]
                if ancestor.parent == 0:
                    break
                carry_to_parent(&work[j], t, f)
                j = ancestor.parent

    for k in range(nv):
        M[nv*k + k] = M[nv*k + k] + reflected_inertia[k]


cdef inline void add_composite_to_parent(const Composite[T]* x, Composite[T]* parent) noexcept nogil:
    cdef T h[3]
    cdef T inertia[6]
    rotate(x.X_PN.R, x.h, h)
    rotate_symmetric(x.X_PN.R, x.inertia, inertia)
    add_shifted_inertia(x.mass, h, inertia, x.X_PN.p, &parent.mass, parent.h, parent.inertia)


cdef inline void carry_to_parent(const Composite[T]* x, T* t, T* f) noexcept nogil:
    """[t; f] about No in N becomes [R t + p × R f; R f] about Po in P, in place."""
    cdef T t_P[3]
    cdef T f_P[3]
    cdef int i
    rotate(x.X_PN.R, t, t_P)
    rotate(x.X_PN.R, f, f_P)
    add_cross(x.X_PN.p, f_P, t_P)
    for i in range(3):
        t[i] = t_P[i]
        f[i] = f_P[i]
