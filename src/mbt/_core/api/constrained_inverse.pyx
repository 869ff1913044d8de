"""Inverse dynamics of mechanisms with loops, in `mbt.functional`: from arrays to arrays, over any leading axes."""

cimport numpy as cnp
from libc.math cimport NAN, fabs, isnan

from mbt._core.api.stateless cimport compiled_of
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, data, in1

import numpy as np

from mbt._core.above import above
from mbt._core.api.stateless import inverse_dynamics
from mbt._core.api.stateless_kinematics import constraint_bias, constraint_jacobian
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef extern from "algebra/orthogonal.hpp" namespace "MBT_NS" nogil:
    const double ALLOWED_ERROR
    Py_ssize_t count_shares(Py_ssize_t nv, Py_ssize_t na, Py_ssize_t ne)
    Py_ssize_t find_violated(
        Py_ssize_t nv, Py_ssize_t ne, const double* J, const double* bias, const double* v, const double* vdot,
        double* error)
    double share_forces(
        Py_ssize_t nv, Py_ssize_t na, const Py_ssize_t* motors, Py_ssize_t ne, const double* J, const double* wanted,
        double* work, double* tau, double* multipliers)


def constrained_inverse_dynamics(tree, q, v, vdot, actuated=None, *, external_forces=None, out=None):
    """Return the forces of motors and constraints that give a mechanism with loops the accelerations `vdot`.

    ``tau + J' multipliers`` is `inverse_dynamics`, where J is `constraint_jacobian`. Of all forces of the motors that
    do it these have the least sum of squares, and so have then the multipliers, where constraints repeat each other.
    `constrained_forward_dynamics` of `tau` gives `vdot` again.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, vdot : array_like, shape (..., num_velocities)
        Generalized velocities, and accelerations that the constraints allow. Leading axes broadcast.
    actuated : array_like, optional
        Which velocities have motors: True or False for each, or their indices. By default those that actuators of
        the tree act on; all, when it has none.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    out : tuple of two (ndarray or None), optional
        Arrays of shapes (..., num_velocities) and (..., num_constraint_equations), float64, C-contiguous, written in
        place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    tau : ndarray, shape (..., num_velocities)
        Generalized forces of the motors [N m or N]; zero where there is none.
    multipliers : ndarray, shape (..., num_constraint_equations)
        Forces and torques of the constraints: see `MultibodyTree.calc_constrained_forward_dynamics`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    ArgumentValueError
        When `vdot` of a single state violates the constraints, so that ``J vdot + Jdot v`` is not zero to six
        digits, or the motors cannot give it; in a batch that sample is NaN. And when `actuated` names no velocity.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    Two pendulums that turn alike, with a motor on the left one, which the constraint brakes:

    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> pins = []
    >>> for name in ("left", "right"):
    ...     rod = tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
    ...     pins += [tree.add_joint(mbt.RevoluteJoint, name, tree.world_body, None, rod, None, axis=[0, 1, 0])]
    >>> coupling = tree.add_constraint(mbt.CouplerConstraint("coupling", *pins))
    >>> tree.finalize()
    >>> mbt.functional.constrained_inverse_dynamics(tree, [0.0, 0.0], [0.0, 0.0], [3.0, 3.0], actuated=[0])
    (array([3., 0.]), array([-1.5]))
    """
    cdef CompiledModel compiled = compiled_of(tree)
    motors = above.find_motors(tree, actuated)
    if compiled is None:
        return above.constrained_inverse_dynamics_of_others(tree, q, v, vdot, motors, external_forces, out)
    cdef Py_ssize_t i, k, violated, count = 1
    cdef Py_ssize_t nv = compiled.model.num_velocities
    cdef Py_ssize_t ne = compiled.model.num_equations
    cdef Py_ssize_t na = len(motors)
    wanted = inverse_dynamics(tree, q, v, vdot, external_forces=external_forces)
    at_rest = inverse_dynamics(tree, q, v, np.zeros(nv), external_forces=external_forces)
    J, bias = constraint_jacobian(tree, q), constraint_bias(tree, q, v)
    shape = wanted.shape[:wanted.ndim - 1]
    if shape:
        arrays = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(x, np.float64), shape + core))
            for x, core in ((at_rest, (nv,)), (J, (ne, nv)), (bias, (ne,)), (v, (nv,)), (vdot, (nv,)))
        ]
        at_rest, J, bias, v, vdot = arrays
    else:
        v, vdot = in1(v, "v", nv), in1(vdot, "vdot", nv)
    for extent in shape:
        count *= extent
    tau, multipliers = np.empty(shape + (nv,)), np.empty(shape + (ne,))
    into = (tau, multipliers) if out is None else above.check_outputs(out, (tau.shape, multipliers.shape))
    memory = np.empty(count_shares(nv, na, ne))
    cdef double* work = data(memory)
    cdef double* to_tau = data(tau)
    cdef double* to_multipliers = data(multipliers)
    cdef const double* forces = data(wanted)
    cdef const double* others = data(at_rest)
    cdef const double* rows = data(J)
    cdef const double* rates = data(bias)
    cdef const double* velocities = data(v)
    cdef const double* accelerations = data(vdot)
    cdef const Py_ssize_t* places = <const Py_ssize_t*>cnp.PyArray_DATA(motors)
    cdef double error, missing, size
    cdef bint single = not shape
    for i in range(count):
        violated = find_violated(nv, ne, rows + ne*nv*i, rates + ne*i, velocities + nv*i, accelerations + nv*i, &error)
        if violated >= 0 and single and not isnan(error):
            above.raise_violated(tree, violated, error)
        missing = share_forces(
            nv, na, places, ne, rows + ne*nv*i, forces + nv*i, work, to_tau + nv*i, to_multipliers + ne*i
        )
        size = 0.0
        for k in range(nv):
            size += fabs(forces[nv*i + k]) + fabs(others[nv*i + k])
        if missing > ALLOWED_ERROR*size and single:
            above.raise_not_driven(tree, missing)
        # Also where they are NaN.
        if violated >= 0 or not missing <= ALLOWED_ERROR*size:
            for k in range(nv):
                to_tau[nv*i + k] = NAN
            for k in range(ne):
                to_multipliers[ne*i + k] = NAN
    if out is None:
        return tau, multipliers
    into[0][...], into[1][...] = tau, multipliers
    return into
