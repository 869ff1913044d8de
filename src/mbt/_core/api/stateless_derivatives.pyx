"""The derivatives of `mbt.functional`: from arrays to arrays, without a Context, over any leading axes."""

cimport numpy as cnp
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport became_single, compiled_of, is_single
from mbt._core.api.tree_derivatives cimport copies_of, outputs_of, six_of
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, direction, new3, option
from mbt._core.engines cimport double_engine
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch, add_forces_operands, check_elements
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.table cimport (
    CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, FORWARD_DYNAMICS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES, MAX_INTEGERS,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


def inverse_dynamics_derivatives(tree, q, v, vdot, *, external_forces=None, out=None):
    """Return the derivatives of `inverse_dynamics`, analytically, in O(n depth).

    Gravity, the other force elements and joint damping vary with q and v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, vdot : array_like, shape (..., num_velocities)
        Generalized velocities and accelerations. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    out : tuple of three (ndarray or None), optional
        Arrays of shape (..., num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
        Left untouched when an argument is rejected.

    Returns
    -------
    dtau_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of tau along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of v
        and vdot held fixed.
    dtau_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    M : ndarray, shape (..., num_velocities, num_velocities)
        Mass matrix: the partial derivatives with respect to vdot.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion, or the force of an element is undefined; in a batch that sample is
        NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(
            tree, INVERSE_DYNAMICS_DERIVATIVES, {"q": q, "v": v, "vdot": vdot}, out,
            "calc_inverse_dynamics_derivatives", integers=(0,), external_forces=external_forces,
            include_force_elements=True
        )
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* memory
    if not is_single(tree, m, q, v, vdot, external_forces):
        return derivatives_batch(tree, compiled, q, v, "vdot", vdot, external_forces, False, out)
    check_single(tree, compiled, q)
    dtau_dq, dtau_dv, M = outputs_of(out, nv)
    if out is not None:
        q, v = apart_from(q, dtau_dq, dtau_dv, M), apart_from(v, dtau_dq, dtau_dv, M)
    memory = kernels.get_work(m, derivatives.inverse_work_size(m))
    derivatives.inverse_dynamics_derivatives(
        m, p, m.switches.weightless, True, data(q), data(v), data(vdot), NULL, memory, data(dtau_dq), data(dtau_dv),
        data(M)
    )
    return dtau_dq, dtau_dv, M


def forward_dynamics_derivatives(tree, q, v, tau, *, external_forces=None, out=None):
    """Return the derivatives of `forward_dynamics`, analytically.

    Gravity, the other force elements and joint damping vary with q and v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    out : tuple of three (ndarray or None), optional
        Arrays of shape (..., num_velocities, num_velocities), float64, C-contiguous, written in place and returned.
        Left untouched when an argument is rejected.

    Returns
    -------
    dvdot_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of
        v and tau held fixed.
    dvdot_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    M_inverse : ndarray, shape (..., num_velocities, num_velocities)
        Inverse of the mass matrix: the partial derivatives with respect to tau.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, the state has a zero quaternion, or the force of an
        element is undefined; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(
            tree, FORWARD_DYNAMICS_DERIVATIVES, {"q": q, "v": v, "tau": tau}, out,
            "calc_forward_dynamics_derivatives", integers=(0,), external_forces=external_forces
        )
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* matrices
    cdef int singular
    if not is_single(tree, m, q, v, tau, external_forces):
        return derivatives_batch(tree, compiled, q, v, "tau", tau, external_forces, True, out)
    dvdot_dq, dvdot_dv, M_inverse = outputs_of(out, nv)
    if m.num_constraints:
        dq, dv, dtau, *_ = copies_of(
            constrained_derivatives_of_state(tree, compiled, q, v, tau, False), nv, m.num_equations
        )
        memcpy(data(dvdot_dq), data(dq), nv*nv*sizeof(double))
        memcpy(data(dvdot_dv), data(dv), nv*nv*sizeof(double))
        memcpy(data(M_inverse), data(dtau), nv*nv*sizeof(double))
        return dvdot_dq, dvdot_dv, M_inverse
    check_single(tree, compiled, q)
    singular = derivatives.forward_dynamics_rates(
        m, p, &compiled.model.switches, data(q), data(v), data(tau), NULL,
        kernels.get_work(m, derivatives.forward_work_size(m)), &matrices
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    derivatives.forward_dynamics_derivatives(m, False, matrices, data(dvdot_dq), data(dvdot_dv), data(M_inverse))
    return dvdot_dq, dvdot_dv, M_inverse


def constrained_forward_dynamics_derivatives(tree, q, v, tau, *, external_forces=None, stabilize=False):
    """Return the derivatives of the accelerations and multipliers of `constrained_forward_dynamics`, analytically.

    See `MultibodyTree.calc_constrained_forward_dynamics_derivatives`, also for redundant constraints.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, tau : array_like, shape (..., num_velocities)
        Generalized velocities and forces. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World, where they are constant, and generalized. Its batch shape broadcasts
        too.
    stabilize : bool or -1, optional
        Whether the accelerations let the errors of each constraint decay; -1 for integration backwards in time.

    Returns
    -------
    dvdot_dq : ndarray, shape (..., num_velocities, num_velocities)
        Column j is the rate of vdot along ``qdot = N(q) e_j``, e_j the unit velocity of dof j, with the components of
        v and tau held fixed.
    dvdot_dv : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to v.
    dvdot_dtau : ndarray, shape (..., num_velocities, num_velocities)
        Partial derivatives with respect to tau, symmetric.
    dmultipliers_dq, dmultipliers_dv, dmultipliers_dtau : ndarray, shape (..., num_constraint_equations, num_velocities)
        The same for the multipliers.

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia, the state has a zero quaternion, or the force of
        an element or a constraint is undefined; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    cdef int stabilized = direction(stabilize)
    cdef Batch batch
    if compiled is None:
        matrices = above.of_each_state(
            tree, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, {"q": q, "v": v, "tau": tau}, None,
            "_calc_constrained_dynamics_rates", integers=(0, stabilized), external_forces=external_forces,
            stabilize=option(stabilized)
        )
        return six_of(tuple([matrices[..., i, :, :] for i in range(3)]), tree.num_velocities)
    if is_single(tree, &compiled.model, q, v, tau, external_forces):
        return copies_of(
            constrained_derivatives_of_state(tree, compiled, q, v, tau, stabilized), compiled.model.num_velocities,
            compiled.model.num_equations
        )
    batch = operands_of(tree, compiled, q, v, "tau", tau, external_forces)
    return six_of(
        constrained_derivatives_batch(tree, compiled, batch, stabilized), compiled.model.num_velocities
    )


# One state in exact arrays ----------------------------------------------------------------------------------------

cdef int check_single(tree, CompiledModel compiled, q) except -1:
    if compiled.model.num_checked:
        check_positions(tree, compiled, data(q))
    if compiled.model.num_elements_between:
        check_elements(tree, compiled, data(q))
    return 0


cdef object apart_from(x, a, b, c):
    return apart(apart(apart(x, a), b), c)


cdef object constrained_derivatives_of_state(tree, CompiledModel compiled, q, v, tau, int stabilized):
    """Derivatives of accelerations, and below them of multipliers, by q, v and tau, in one array."""
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef int[<int>MAX_INTEGERS] integers = [0, stabilized, 0, 0, 0]
    cdef int singular
    check_single(tree, compiled, q)
    parts = new3(3, nv + m.num_equations, nv)
    singular = double_engine.evaluate_state(
        CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, integers, m, &m.switches, &compiled.defaults.parameters, data(q),
        data(v), data(tau), data(parts)
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    if nv and kernels.any_is_nan(data(parts) + nv*nv, m.num_equations, nv):
        context = above.Context(tree)
        context.q = q
        above.check_constraints_at(context)
    return parts


# Anything else ----------------------------------------------------------------------------------------------------

cdef Batch operands_of(tree, CompiledModel compiled, q, v, str name, x, external_forces):
    cdef const Model* m = &compiled.model
    names, values, cores = ["q", "v", name], [q, v, x], [(m.num_positions,), (m.num_velocities,), (m.num_velocities,)]
    add_forces_operands(tree, external_forces, names, values, cores, m)
    return Batch(names, values, cores)


cdef tuple constrained_derivatives_batch(tree, CompiledModel compiled, Batch batch, int stabilized):
    """Derivatives at states with leading axes, or not in exact arrays."""
    cdef Py_ssize_t nv = compiled.model.num_velocities
    cdef int[<int>MAX_INTEGERS] integers = [len(batch.arrays) == 5, stabilized, 0, 0, 0]
    shape = batch.shape + (nv + compiled.model.num_equations, nv)
    parts = np.empty(shape), np.empty(shape), np.empty(shape)
    if not batch.shape or (<TreeCore>tree)._user_force_elements is not None:
        # State by state on a Context: user-written force elements run in Python.
        return above.differentiate_each(
            tree, "_calc_constrained_dynamics_rates", batch.arrays, batch.shape, parts, stabilize=option(stabilized)
        )
    run_batch(batch, compiled, CONSTRAINED_FORWARD_DYNAMICS_DERIVATIVES, integers, parts)
    return parts


cdef derivatives_batch(
    tree, CompiledModel compiled, q, v, str name, x, external_forces, bint is_forward, out
):
    cdef Py_ssize_t nv = compiled.model.num_velocities
    cdef Batch batch = operands_of(tree, compiled, q, v, name, x, external_forces)
    if became_single(tree, &compiled.model, batch):
        function = forward_dynamics_derivatives if is_forward else inverse_dynamics_derivatives
        return function(tree, *batch.arrays, out=out)
    arrays = batch.outputs(out, ((nv, nv),)*3)
    if is_forward and compiled.model.num_constraints:
        for array, part in zip(arrays, constrained_derivatives_batch(tree, compiled, batch, False)):
            array[...] = part[..., :nv, :]
        return arrays
    if not batch.shape or (<TreeCore>tree)._user_force_elements is not None:
        # State by state on a Context: user-written force elements run in Python.
        if is_forward:
            return above.differentiate_each(
                tree, "calc_forward_dynamics_derivatives", batch.arrays, batch.shape, arrays
            )
        return above.differentiate_each(
            tree, "calc_inverse_dynamics_derivatives", batch.arrays, batch.shape, arrays, include_force_elements=True
        )
    cdef int[<int>MAX_INTEGERS] with_forces = [len(batch.arrays) == 5, 0, 0, 0, 0]
    if with_forces[0]:
        # Generalized forces are constant: they add to tau.
        operands = batch.arrays[:4]
        if is_forward:
            operands[2] = operands[2] + batch.arrays[4]
        batch = Batch(
            ["q", "v", name, "external_forces.body_forces"], operands,
            [(compiled.model.num_positions,), (nv,), (nv,), (compiled.model.num_bodies, 6)]
        )
    run_batch(
        batch, compiled, FORWARD_DYNAMICS_DERIVATIVES if is_forward else INVERSE_DYNAMICS_DERIVATIVES, with_forces,
        arrays
    )
    return arrays
