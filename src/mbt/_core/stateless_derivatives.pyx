"""The derivatives of `mbt.functional`: from arrays to arrays, without a Context, over any leading axes."""

cimport numpy as cnp
from libc.math cimport NAN

from mbt._core cimport derivatives, kernels
from mbt._core.batch cimport (
    Batch, Operand, add_forces_operands, check_elements, sample, sample_q_with_forces,
)
from mbt._core.context cimport check_positions
from mbt._core.door cimport adopt, apart, data, is_array1
from mbt._core.engine cimport TreeCore
from mbt._core.model cimport CompiledModel, Model
from mbt._core.records cimport Parameters
from mbt._core.stateless cimport compiled_of
from mbt._core.tree_derivatives cimport outputs_of

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
        When a single state has a zero quaternion, or a force element without a force; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        from mbt.scalars import functional
        return functional.inverse_dynamics_derivatives(tree, q, v, vdot, external_forces=external_forces, out=out)
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* memory
    if not is_single(tree, m, q, v, vdot, external_forces):
        return inverse_dynamics_derivatives_batch(tree, compiled, q, v, vdot, external_forces, out)
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
        When no mass resists a degree of freedom of a single state, or it has a zero quaternion or a force element
        without a force; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        from mbt.scalars import functional
        return functional.forward_dynamics_derivatives(tree, q, v, tau, external_forces=external_forces, out=out)
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* matrices
    cdef int singular
    if not is_single(tree, m, q, v, tau, external_forces):
        return forward_dynamics_derivatives_batch(tree, compiled, q, v, tau, external_forces, out)
    check_single(tree, compiled, q)
    dvdot_dq, dvdot_dv, M_inverse = outputs_of(out, nv)
    singular = derivatives.forward_dynamics_rates(
        m, p, &compiled.model.switches, data(q), data(v), data(tau), NULL,
        kernels.get_work(m, derivatives.forward_work_size(m)), &matrices
    )
    if singular >= 0:
        from mbt.context.checks import raise_massless_dof
        raise_massless_dof(tree, singular)
    derivatives.forward_dynamics_derivatives(m, matrices, data(dvdot_dq), data(dvdot_dv), data(M_inverse))
    return dvdot_dq, dvdot_dv, M_inverse


# One state in exact arrays ----------------------------------------------------------------------------------------

cdef bint is_single(tree, const Model* m, q, v, x, external_forces):
    return (
        external_forces is None and is_array1(q, m.num_positions) and is_array1(v, m.num_velocities)
        and is_array1(x, m.num_velocities) and (<TreeCore>tree)._user_force_elements is None
    )


cdef int check_single(tree, CompiledModel compiled, q) except -1:
    if compiled.model.num_checked:
        check_positions(tree, compiled, data(q))
    if compiled.model.num_elements_between:
        check_elements(tree, compiled, data(q))
    return 0


cdef object apart_from(x, a, b, c):
    return apart(apart(apart(x, a), b), c)


# Anything else ----------------------------------------------------------------------------------------------------

cdef tuple batch_outputs(Batch batch, out, Py_ssize_t nv):
    """Three arrays with the leading axes of the operands, none of which they share memory with."""
    shape = batch.shape + (nv, nv)
    from mbt.context.checks import check_outputs
    arrays = check_outputs((None,)*3 if out is None else out, (shape,)*3)
    for array in arrays:
        batch.keep_apart_from(array)
    return arrays


cdef tuple derivatives_of_contexts(tree, Batch batch, bint is_forward, out):
    """State by state on a Context: user-written force elements run in Python."""
    from mbt.context.functional_derivatives import differentiate_each
    return differentiate_each(tree, batch.arrays, batch.shape, is_forward, out)


cdef inverse_dynamics_derivatives_batch(tree, CompiledModel compiled, q, v, vdot, external_forces, out):
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t i, nv = m.num_velocities
    names, values, cores = ["q", "v", "vdot"], [q, v, vdot], [(m.num_positions,), (nv,), (nv,)]
    add_forces_operands(tree, external_forces, names, values, cores, m)
    cdef bint with_forces = external_forces is not None
    cdef Batch batch = Batch(names, values, cores)
    batch.check_single_with_forces(tree, compiled)
    arrays = batch_outputs(batch, out, nv)
    if (<TreeCore>tree)._user_force_elements is not None:
        return derivatives_of_contexts(tree, batch, False, arrays)
    cdef double* dtau_dq = data(arrays[0])
    cdef double* dtau_dv = data(arrays[1])
    cdef double* M = data(arrays[2])
    cdef double* memory = kernels.get_work(m, derivatives.inverse_work_size(m))
    cdef const Operand* x = batch.operands
    cdef const double* q_i
    with nogil:
        for i in range(batch.count):
            q_i = sample_q_with_forces(m, p, &x[0], i, batch.no_q, memory)
            derivatives.inverse_dynamics_derivatives(
                m, p, m.switches.weightless, True, q_i, sample(&x[1], i), sample(&x[2], i),
                sample(&x[3], i) if with_forces else NULL, memory, dtau_dq + nv*nv*i, dtau_dv + nv*nv*i, M + nv*nv*i
            )
    return arrays


cdef forward_dynamics_derivatives_batch(tree, CompiledModel compiled, q, v, tau, external_forces, out):
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t i, k, nv = m.num_velocities
    cdef int singular = -1
    names, values, cores = ["q", "v", "tau"], [q, v, tau], [(m.num_positions,), (nv,), (nv,)]
    add_forces_operands(tree, external_forces, names, values, cores, m)
    cdef bint with_forces = external_forces is not None
    cdef Batch batch = Batch(names, values, cores)
    batch.check_single_with_forces(tree, compiled)
    arrays = batch_outputs(batch, out, nv)
    if (<TreeCore>tree)._user_force_elements is not None:
        return derivatives_of_contexts(tree, batch, True, arrays)
    cdef bint is_batch = bool(batch.shape)
    cdef double* dvdot_dq = data(arrays[0])
    cdef double* dvdot_dv = data(arrays[1])
    cdef double* M_inverse = data(arrays[2])
    cdef Py_ssize_t work_size = derivatives.forward_work_size(m)
    cdef double* memory = kernels.get_work(m, work_size + nv)
    cdef double* total = memory + work_size
    cdef double* matrices
    cdef const Operand* x = batch.operands
    cdef const double* q_i
    with nogil:
        for i in range(batch.count):
            q_i = sample_q_with_forces(m, p, &x[0], i, batch.no_q, memory)
            for k in range(nv):
                total[k] = sample(&x[2], i)[k] + (sample(&x[4], i)[k] if with_forces else 0.0)
            singular = derivatives.forward_dynamics_rates(
                m, p, &compiled.model.switches, q_i, sample(&x[1], i), total,
                sample(&x[3], i) if with_forces else NULL, memory, &matrices
            )
            if singular < 0:
                derivatives.forward_dynamics_derivatives(
                    m, matrices, dvdot_dq + nv*nv*i, dvdot_dv + nv*nv*i, M_inverse + nv*nv*i
                )
            elif is_batch:
                for k in range(nv*nv):
                    dvdot_dq[nv*nv*i + k] = NAN
                    dvdot_dv[nv*nv*i + k] = NAN
                    M_inverse[nv*nv*i + k] = NAN
    if singular >= 0 and not is_batch:
        from mbt.context.checks import raise_massless_dof
        raise_massless_dof(tree, singular)
    return arrays
