"""One mobilizer of a tree in one Context: motion across it, and its maps between v and qdot.

`node` is the body that the mobilizer moves. Quantities across it are those of the outboard frame in the inboard one,
expressed in the inboard one, whichever of them the joint calls F.
"""

cimport numpy as cnp

from mbt._core.algebra.vectors cimport Pose, put
from mbt._core.door.exact_arrays cimport adopt, data, in1, new2
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.joints.mobilizers cimport calc_X_FM, num_positions_of
from mbt._core.quantities.table cimport (
    MOBILIZER_ACCELERATION, MOBILIZER_H, MOBILIZER_N, MOBILIZER_NDOT, MOBILIZER_NPLUS, MOBILIZER_NPLUSDOT,
    MOBILIZER_PROJECTION, MOBILIZER_QDDOT, MOBILIZER_QDOT, MOBILIZER_SPATIAL_ACCELERATION, MOBILIZER_SPATIAL_VELOCITY,
    MOBILIZER_TRANSFORM, MOBILIZER_VELOCITY, check_quantity, sizes_of,
)

import numpy as np

from mbt._core.model.element_types import MobilizerType as _MobilizerType
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


def declared_pose(int type, constants, q):
    """X_FM, (4, 4), of a mobilizer as declared, in the tree or not."""
    cdef Pose[double] X_FM
    c = np.array(constants, dtype=np.float64).ravel()
    if not _MobilizerType(type).takes_constants(c):
        from mbt.errors import ArgumentValueError
        raise ArgumentValueError(f"constants: wrong number for mobilizer type {type}, got {len(c)}")
    q = in1(q, "q", num_positions_of(type))
    X = new2(4, 4)
    calc_X_FM[double](type, data(c), data(q), &X_FM)
    put(X_FM, data(X))
    return X


def across_transform(ContextCore c not None, int node):
    """The pose of the outboard in the inboard frame, (4, 4)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_TRANSFORM, node, None, "", None)


def across_H(ContextCore c not None, int node):
    """H, (6, nv), with spatial velocity = H v."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_H, node, None, "", None)


def across_velocity(ContextCore c not None, int node, v):
    """H v, (6,)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_SPATIAL_VELOCITY, node, v, "v", None)


def across_acceleration(ContextCore c not None, int node, vdot):
    """H vdot + Hdot v, (6,), with the v of the Context."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_SPATIAL_ACCELERATION, node, vdot, "vdot", None)


def project_force(ContextCore c not None, int node, F, out):
    """H' F, (nv,)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_PROJECTION, node, F, "F_Mo_F", out)


def velocity_to_qdot(ContextCore c not None, int node, v, out):
    """N v, (nq,)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_QDOT, node, v, "v", out)


def qdot_to_velocity(ContextCore c not None, int node, qdot, out):
    """N+ qdot, (nv,)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_VELOCITY, node, qdot, "qdot", out)


def acceleration_to_qddot(ContextCore c not None, int node, vdot, out):
    """N vdot + Ndot v, (nq,)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_QDDOT, node, vdot, "vdot", out)


def qddot_to_acceleration(ContextCore c not None, int node, qddot, out):
    """N+ qddot + N+dot qdot, (nv,), with qdot = N v."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_ACCELERATION, node, qddot, "qddot", out)


def N_matrix(ContextCore c not None, int node):
    """N, (nq, nv)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_N, node, None, "", None)


def Nplus_matrix(ContextCore c not None, int node):
    """N+, (nv, nq)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_NPLUS, node, None, "", None)


def Ndot_matrix(ContextCore c not None, int node):
    """The rate of N, (nq, nv)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_NDOT, node, None, "", None)


def Nplusdot_matrix(ContextCore c not None, int node):
    """The rate of N+, (nv, nq)."""
    cdef Section alone
    alone.enter(c)
    return of_mobilizer(c, MOBILIZER_NPLUSDOT, node, None, "", None)


cdef object of_mobilizer(ContextCore c, int quantity, int node, x, str name, out):
    """A quantity of the mobilizer of a body, and of an argument of this name."""
    cdef int[5] integers = [node, 0, 0, 0, 0]
    check_quantity(quantity, integers, &c.compiled.model)
    if x is not None or name:
        x = c.take(x, name, sizes_of(quantity, integers, &c.compiled.model).input)
    return c.evaluate(quantity, integers, x, out)
