"""One mobilizer of a tree in one Context: motion across it, and its maps between v and qdot.

`node` is the body that the mobilizer moves. Quantities across it are those of the outboard frame in the inboard one,
expressed in the inboard one, whichever of them the joint calls F.
"""

cimport numpy as cnp

from mbt._core.context cimport ContextCore
from mbt._core.door cimport adopt, apart, data, in1, new1, new2, out1
from mbt._core.mobilizers cimport (
    apply_Ndot, apply_Nplusdot, calc_across_H, calc_across_Hdot, calc_across_pose, calc_qdot, calc_v, calc_X_FM,
    map_is_singular, num_positions_of,
)
from mbt._core.model cimport Model, check_index
from mbt._core.spatial cimport dot6, set_pose4, set_zero

import numpy as np

from mbt._core.mobilizers import takes_constants as _takes_constants
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef struct Here:
    # One mobilizer and its state.
    int type
    int reversed
    int nq
    int nv
    const double* constants
    const double* q          # (nq,)
    const double* v          # (nv,)


cdef Here here(ContextCore c, int b) except *:
    cdef const Model* m = &c.compiled.model
    cdef Here x
    check_index(b, m.num_bodies, "body")
    x.type = m.type[b]
    x.reversed = m.reversed[b]
    x.nq = m.q_start[b + 1] - m.q_start[b]
    x.nv = m.v_start[b + 1] - m.v_start[b]
    x.constants = m.constants[b]
    x.q = c.q_data + m.q_start[b]
    x.v = c.v_data + m.v_start[b]
    return x


cdef int need_map(ContextCore c, int b) except -1:
    """Refuse gimbal lock."""
    if map_is_singular(c.compiled.model.type[b], c.q_data + c.compiled.model.q_start[b]):
        from mbt.context.checks import raise_singular_map
        raise_singular_map(c.tree, b)
    return 0


def declared_pose(int type, constants, q):
    """X_FM, (4, 4), of a mobilizer as declared, in the tree or not."""
    cdef double[9] R
    cdef double[3] p
    c = np.array(constants, dtype=np.float64).ravel()
    if not _takes_constants(type, c):
        from mbt.errors import ArgumentValueError
        raise ArgumentValueError(f"constants: expected as many as the type {type} has, got {len(c)}")
    q = in1(q, "q", num_positions_of(type))
    X = new2(4, 4)
    calc_X_FM[double](type, data(c), data(q), R, p)
    set_pose4[double](R, p, data(X))
    return X


def across_transform(ContextCore c not None, int node):
    """The pose of the outboard in the inboard frame, (4, 4)."""
    if c._methods is not None:
        return c._methods.mobilizers.across_transform(c, node)
    cdef Here x = here(c, node)
    cdef double[9] R
    cdef double[3] p
    X = new2(4, 4)
    calc_across_pose[double](x.type, x.reversed, x.constants, x.q, R, p)
    set_pose4[double](R, p, data(X))
    return X


def across_H(ContextCore c not None, int node):
    """H, (6, nv), with spatial velocity = H v."""
    if c._methods is not None:
        return c._methods.mobilizers.across_H(c, node)
    cdef Here x = here(c, node)
    cdef double[36] rows
    cdef int i, k
    H = new2(6, x.nv)
    calc_rows(&x, rows)
    for k in range(x.nv):
        for i in range(6):
            data(H)[x.nv*i + k] = rows[6*k + i]
    return H


def across_velocity(ContextCore c not None, int node, v):
    """H v, (6,)."""
    if c._methods is not None:
        return c._methods.mobilizers.across_velocity(c, node, v)
    cdef Here x = here(c, node)
    cdef double[36] rows
    v = in1(v, "v", x.nv)
    V = new1(6)
    calc_rows(&x, rows)
    multiply(rows, data(v), x.nv, data(V))
    return V


def across_acceleration(ContextCore c not None, int node, vdot):
    """H vdot + Hdot v, (6,), with the v of the Context."""
    if c._methods is not None:
        return c._methods.mobilizers.across_acceleration(c, node, vdot)
    cdef Here x = here(c, node)
    cdef double[36] rows
    cdef double[6] bias
    cdef int i
    vdot = in1(vdot, "vdot", x.nv)
    A = new1(6)
    calc_rows(&x, rows)
    multiply(rows, data(vdot), x.nv, data(A))
    calc_across_Hdot[double](x.type, x.reversed, x.constants, x.q, x.v, rows)
    multiply(rows, x.v, x.nv, bias)
    for i in range(6):
        data(A)[i] += bias[i]
    return A


cdef void calc_rows(const Here* x, double* rows) noexcept:
    """H as rows, (6, 6); zero behind the last dof."""
    set_zero[double](rows, 36)
    calc_across_H[double](x.type, x.reversed, x.constants, x.q, rows)


cdef void multiply(const double* rows, const double* v, int nv, double* V) noexcept:
    """V = H v, the columns of H being the rows."""
    cdef int i, k
    for i in range(6):
        V[i] = 0.0
        for k in range(nv):
            V[i] += rows[6*k + i]*v[k]


def project_force(ContextCore c not None, int node, F, out):
    """H' F, (nv,)."""
    if c._methods is not None:
        return c._methods.mobilizers.project_force(c, node, F, out)
    cdef Here x = here(c, node)
    cdef double[36] rows
    cdef int k
    F = in1(F, "F_Mo_F", 6)
    tau = out1(out, "out", x.nv)
    F = apart(F, tau)
    calc_rows(&x, rows)
    for k in range(x.nv):
        data(tau)[k] = dot6[double](rows + 6*k, data(F))
    return tau


def velocity_to_qdot(ContextCore c not None, int node, v, out):
    """N v, (nq,)."""
    if c._methods is not None:
        return c._methods.mobilizers.velocity_to_qdot(c, node, v, out)
    cdef Here x = here(c, node)
    v = in1(v, "v", x.nv)
    qdot = out1(out, "out", x.nq)
    need_map(c, node)
    v = apart(v, qdot)
    calc_qdot[double](x.type, x.constants, x.q, data(v), data(qdot))
    return qdot


def qdot_to_velocity(ContextCore c not None, int node, qdot, out):
    """N+ qdot, (nv,)."""
    if c._methods is not None:
        return c._methods.mobilizers.qdot_to_velocity(c, node, qdot, out)
    cdef Here x = here(c, node)
    qdot = in1(qdot, "qdot", x.nq)
    v = out1(out, "out", x.nv)
    qdot = apart(qdot, v)
    calc_v[double](x.type, x.constants, x.q, data(qdot), data(v))
    return v


def acceleration_to_qddot(ContextCore c not None, int node, vdot, out):
    """N vdot + Ndot v, (nq,)."""
    if c._methods is not None:
        return c._methods.mobilizers.acceleration_to_qddot(c, node, vdot, out)
    cdef Here x = here(c, node)
    cdef double[7] bias
    cdef int i
    vdot = in1(vdot, "vdot", x.nv)
    qddot = out1(out, "out", x.nq)
    need_map(c, node)
    vdot = apart(vdot, qddot)
    calc_qdot[double](x.type, x.constants, x.q, data(vdot), data(qddot))
    apply_Ndot[double](x.type, x.constants, x.q, x.v, x.v, bias)
    for i in range(x.nq):
        data(qddot)[i] += bias[i]
    return qddot


def qddot_to_acceleration(ContextCore c not None, int node, qddot, out):
    """N+ qddot + N+dot qdot, (nv,), with qdot = N v."""
    if c._methods is not None:
        return c._methods.mobilizers.qddot_to_acceleration(c, node, qddot, out)
    cdef Here x = here(c, node)
    cdef double[7] qdot
    cdef double[6] bias
    cdef int k
    qddot = in1(qddot, "qddot", x.nq)
    vdot = out1(out, "out", x.nv)
    need_map(c, node)
    qddot = apart(qddot, vdot)
    calc_v[double](x.type, x.constants, x.q, data(qddot), data(vdot))
    calc_qdot[double](x.type, x.constants, x.q, x.v, qdot)
    apply_Nplusdot[double](x.type, x.constants, x.q, x.v, qdot, bias)
    for k in range(x.nv):
        data(vdot)[k] += bias[k]
    return vdot


def N_matrix(ContextCore c not None, int node):
    """N, (nq, nv)."""
    if c._methods is not None:
        return c._methods.mobilizers.N_matrix(c, node)
    cdef Here x = here(c, node)
    need_map(c, node)
    return matrix(&x, 0, x.nq, x.nv)


def Nplus_matrix(ContextCore c not None, int node):
    """N+, (nv, nq)."""
    if c._methods is not None:
        return c._methods.mobilizers.Nplus_matrix(c, node)
    cdef Here x = here(c, node)
    return matrix(&x, 1, x.nv, x.nq)


def Ndot_matrix(ContextCore c not None, int node):
    """The rate of N, (nq, nv)."""
    if c._methods is not None:
        return c._methods.mobilizers.Ndot_matrix(c, node)
    cdef Here x = here(c, node)
    need_map(c, node)
    return matrix(&x, 2, x.nq, x.nv)


def Nplusdot_matrix(ContextCore c not None, int node):
    """The rate of N+, (nv, nq)."""
    if c._methods is not None:
        return c._methods.mobilizers.Nplusdot_matrix(c, node)
    cdef Here x = here(c, node)
    need_map(c, node)
    return matrix(&x, 3, x.nv, x.nq)


cdef object matrix(const Here* x, int which, int rows, int columns):
    """The matrix of a map, column by column."""
    cdef double[7] unit
    cdef double[7] column
    cdef int i, k
    result = new2(rows, columns)
    for k in range(columns):
        for i in range(7):
            unit[i] = 1.0 if i == k else 0.0
        if which == 0:
            calc_qdot[double](x.type, x.constants, x.q, unit, column)
        elif which == 1:
            calc_v[double](x.type, x.constants, x.q, unit, column)
        elif which == 2:
            apply_Ndot[double](x.type, x.constants, x.q, x.v, unit, column)
        else:
            apply_Nplusdot[double](x.type, x.constants, x.q, x.v, unit, column)
        for i in range(rows):
            data(result)[columns*i + k] = column[i]
    return result
