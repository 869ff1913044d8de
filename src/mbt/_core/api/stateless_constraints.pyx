"""Constraints in `mbt.functional`: from arrays to arrays, without a Context, over any leading axes."""

cimport numpy as cnp
from libc.math cimport NAN, fabs, isnan
from libc.string cimport memcpy, memset

from mbt._core.api.stateless cimport batch_with_forces, check_multipliers, compiled_of
from mbt._core.api.stateless_kinematics cimport of_state
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, data, direction, in1, is_array1, new1, option, two_outputs
from mbt._core.engines cimport double_engine
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch, check_elements
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model, Switches
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    CONSTRAINED_FORWARD_DYNAMICS, CONSTRAINT_BIAS, CONSTRAINT_ERRORS, CONSTRAINT_JACOBIAN, IMPULSE_DYNAMICS,
    MAX_INTEGERS, no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt._core.api.stateless import inverse_dynamics
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


def constraint_errors(tree, q, *, out=None):
    """Return the errors of the constraints, which are zero where the positions satisfy them.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_constraint_equations), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations)
        See each type of constraint [rad, m].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
    return of_state(tree, compiled_of(tree), CONSTRAINT_ERRORS, no_integers, q, None, None, out)


def constraint_jacobian(tree, q, *, out=None):
    """Return J(q), with ``J v`` the rates of the constraint errors.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_constraint_equations, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations, num_velocities)
        See each type of constraint.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
    return of_state(tree, compiled_of(tree), CONSTRAINT_JACOBIAN, no_integers, q, None, None, out)


def constraint_bias(tree, q, v, *, out=None):
    """Return ``Jdot v``: the rates of ``J v`` at vdot = 0.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., num_constraint_equations), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_constraint_equations)
        [rad/s^2, m/s^2].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.
    """
    return of_state(tree, compiled_of(tree), CONSTRAINT_BIAS, no_integers, q, v, None, out)


def constrained_forward_dynamics(tree, q, v, tau, *, external_forces=None, stabilize=False, out=None):
    """Return the generalized accelerations that `tau` gives, and the multipliers of the constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    stabilize : bool or -1, optional
        Let the errors of each constraint decay, with its own frequency and damping ratio; -1 for integration
        backwards in time.
    out : tuple of two (ndarray or None), optional
        Arrays of shapes (..., num_velocities) and (..., num_constraint_equations), float64, C-contiguous, written in
        place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    vdot : ndarray, shape (..., num_velocities)
        Generalized accelerations, those of `forward_dynamics` [rad/s^2, m/s^2].
    multipliers : ndarray, shape (..., num_constraint_equations)
        Forces and torques of the constraints: see `MultibodyTree.calc_constrained_forward_dynamics`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int stabilized = direction(stabilize)
    cdef const Model* m
    cdef Py_ssize_t nv
    cdef Switches switches
    cdef const double* found
    cdef double* memory
    cdef double* result
    cdef int singular
    if compiled is None:
        into_vdot, into_multipliers = above.check_tuple(out, 2)
        nv = tree.num_velocities
        both = above.of_each_state(
            tree, CONSTRAINED_FORWARD_DYNAMICS, {"q": q, "v": v, "tau": tau}, None, "_calc_constrained_dynamics",
            integers=(0, stabilized), external_forces=external_forces, stabilize=option(stabilized)
        )
        return tree._numbers.write_all(
            (into_vdot, both[..., :nv], "out[0]"), (into_multipliers, both[..., nv:], "out[1]")
        )
    m = &compiled.model
    nv = m.num_velocities
    if not (
        external_forces is None and is_array1(q, m.num_positions) and is_array1(v, nv) and is_array1(tau, nv)
        and (<TreeCore>tree)._user_force_elements is None
    ):
        return constrained_forward_dynamics_batch(tree, compiled, q, v, tau, external_forces, stabilized, out)
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    if m.num_elements_between:
        check_elements(tree, compiled, data(q))
    vdot, multipliers = two_outputs(out, nv, m.num_equations)
    memory = kernels.get_work(m, 3*nv)
    result = memory + kernels.work_size(m) + 2*nv
    switches = m.switches
    switches.stabilized = stabilized
    singular = kernels.forward_dynamics_with_elements(
        m, &compiled.defaults.parameters, &switches, data(q), data(v), data(tau), memory, result
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    if m.num_constraints:
        found = kernels.multipliers_in(m, memory)
        check_multipliers(tree, compiled, found, q)
        memcpy(data(multipliers), found, m.num_equations*sizeof(double))
    memcpy(data(vdot), result, nv*sizeof(double))
    return vdot, multipliers


cdef tuple constrained_forward_dynamics_batch(
    tree, CompiledModel compiled, q, v, tau, external_forces, int stabilized, out
):
    cdef Py_ssize_t nv = compiled.model.num_velocities
    cdef Batch batch = batch_with_forces(tree, compiled, q, v, "tau", tau, external_forces)
    if not batch.shape:
        return above.calc_single(
            tree, "calc_constrained_forward_dynamics", batch.arrays, stabilize=option(stabilized), out=out
        )
    if out is not None:
        out = above.check_outputs(out, (batch.shape + (nv,), batch.shape + (compiled.model.num_equations,)))
    cdef int[<int>MAX_INTEGERS] integers = [len(batch.arrays) == 5, stabilized, 0, 0, 0]
    both = batch.output(None, (nv + compiled.model.num_equations,))
    run_batch(batch, compiled, CONSTRAINED_FORWARD_DYNAMICS, integers, (both,))
    if out is None:
        return both[..., :nv], both[..., nv:]
    out[0][...], out[1][...] = both[..., :nv], both[..., nv:]
    return out


def impulse_dynamics(tree, q, v, restitution=0.0, *, out=None):
    """Return the velocities after an impact, and the impulses of the constraints.

    Solves ``M (v1 - v) = J' impulses`` and ``J v1 = -restitution J v``; kinetic energy never grows.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities before the impact. Leading axes broadcast.
    restitution : array_like, shape (...), optional
        Coefficient of restitution, 0 to 1 [1]. Its axes broadcast too.
    out : tuple of two (ndarray or None), optional
        Arrays of shapes (..., num_velocities) and (..., num_constraint_equations), float64, C-contiguous, written in
        place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    v1 : ndarray, shape (..., num_velocities)
        Generalized velocities after the impact [rad/s, m/s].
    impulses : ndarray, shape (..., num_constraint_equations)
        Impulses of the constraints [N s, N m s]: see `MultibodyTree.calc_impulse_dynamics`.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    ArgumentValueError
        When `restitution` is not from 0 to 1.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef const Model* m
    cdef Py_ssize_t nv
    cdef int singular
    cdef Batch batch
    share = shares_of(restitution)
    if compiled is None:
        nv = tree.num_velocities
        into_v1, into_impulses = above.check_tuple(out, 2)
        both = above.of_each_state(tree, IMPULSE_DYNAMICS, {"q": q, "v": v, "restitution": share}, None)
        return tree._numbers.write_all(
            (into_v1, both[..., :nv], "out[0]"), (into_impulses, both[..., nv:], "out[1]")
        )
    m = &compiled.model
    nv = m.num_velocities
    batch = Batch(["q", "v", "restitution"], [q, v, share], [(m.num_positions,), (nv,), (1,)])
    if not batch.shape:
        q, v, share = batch.arrays
        if m.num_checked:
            check_positions(tree, compiled, data(q))
        into_v1, into_impulses = two_outputs(out, nv, m.num_equations)
        if m.num_elements_between:
            check_elements(tree, compiled, data(q))
        both = new1(nv + m.num_equations)
        singular = double_engine.evaluate_state(
            IMPULSE_DYNAMICS, no_integers, m, &m.switches, &compiled.defaults.parameters, data(q), data(v), data(share),
            data(both)
        )
        if singular >= 0:
            above.raise_singular_pivot(tree, singular, "impulse dynamics")
        memcpy(data(into_v1), data(both), nv*sizeof(double))
        memcpy(data(into_impulses), data(both) + nv, m.num_equations*sizeof(double))
        return into_v1, into_impulses
    if out is not None:
        out = above.check_outputs(out, (batch.shape + (nv,), batch.shape + (m.num_equations,)))
    both = batch.output(None, (nv + m.num_equations,))
    run_batch(batch, compiled, IMPULSE_DYNAMICS, no_integers, (both,))
    if out is None:
        return both[..., :nv], both[..., nv:]
    out[0][...], out[1][...] = both[..., :nv], both[..., nv:]
    return out


cdef object shares_of(restitution):
    """Coefficients of restitution, with a last axis of length 1."""
    if type(restitution) is float and 0.0 <= restitution <= 1.0:
        share = new1(1)
        data(share)[0] = restitution
        return share
    from mbt.math.arrays import as_share_array
    return as_share_array(restitution, "restitution")[..., None]


cdef double sum_of(Py_ssize_t n, const double* forces) noexcept nogil:
    """The sum of the absolute values of forces."""
    cdef double total = 0.0
    cdef Py_ssize_t k
    for k in range(n):
        total += fabs(forces[k])
    return total


cdef object forces_at_rest(tree, q, v, Py_ssize_t nv, external_forces, tuple shape):
    """Inverse dynamics at vdot = 0, broadcast to these leading axes."""
    no_vdot = new1(nv)
    memset(data(no_vdot), 0, nv*sizeof(double))
    tau = inverse_dynamics(tree, q, v, no_vdot, external_forces=external_forces)
    return np.ascontiguousarray(np.broadcast_to(tau, shape + (nv,)))


def constrained_inverse_dynamics(tree, q, v, vdot, actuated=None, *, external_forces=None, out=None):
    """Return the forces of motors and constraints that give a mechanism with loops the accelerations `vdot`.

    ``tau + J' multipliers`` is `inverse_dynamics`, where J is `constraint_jacobian`. Of all motor forces that achieve
    this, `tau` has the least sum of squares; if constraints are redundant, so have the multipliers for this `tau`.
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
        the tree act on; all, if it has none.
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
        digits, or the motors cannot give it; in a batch that sample is NaN. Also when `actuated` names no velocity.
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
    J, bias = constraint_jacobian(tree, q), constraint_bias(tree, q, v)
    shape = wanted.shape[:wanted.ndim - 1]
    if shape:
        arrays = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(x, np.float64), shape + core))
            for x, core in ((J, (ne, nv)), (bias, (ne,)), (v, (nv,)), (vdot, (nv,)))
        ]
        J, bias, v, vdot = arrays
        tau, multipliers = np.empty(shape + (nv,)), np.empty(shape + (ne,))
    else:
        v, vdot = in1(v, "v", nv), in1(vdot, "vdot", nv)
        tau, multipliers = new1(nv), new1(ne)
    for extent in shape:
        count *= extent
    into = (tau, multipliers) if out is None else above.check_outputs(out, (tau.shape, multipliers.shape))
    memory = new1(count_shares(nv, na, ne))
    cdef double* work = data(memory)
    cdef double* to_tau = data(tau)
    cdef double* to_multipliers = data(multipliers)
    cdef const double* forces = data(wanted)
    cdef const double* others = NULL
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
        size = sum_of(nv, forces + nv*i)
        if not missing <= ALLOWED_ERROR*size:
            # It may still be small beside forces that cancel those of the accelerations.
            if others == NULL:
                at_rest = forces_at_rest(tree, q, v, nv, external_forces, shape)
                others = data(at_rest)
            size += sum_of(nv, others + nv*i)
        if missing > ALLOWED_ERROR*size and single:
            above.raise_not_driven(tree, missing)
        # `not <=` is true for NaN too.
        if violated >= 0 or not missing <= ALLOWED_ERROR*size:
            for k in range(nv):
                to_tau[nv*i + k] = NAN
            for k in range(ne):
                to_multipliers[ne*i + k] = NAN
    if out is None:
        return tau, multipliers
    into[0][...], into[1][...] = tau, multipliers
    return into
