"""The derivatives of `mbt.functional`: from arrays to arrays, without a Context, over any leading axes."""

cimport numpy as cnp
from mbt._core.algebra.records cimport Parameters
from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.tree_derivatives cimport outputs_of
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_array1
from mbt._core.engines.context cimport check_positions
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch, add_forces_operands, check_elements
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport derivatives, kernels
from mbt._core.quantities.table cimport (
    FORWARD_DYNAMICS_DERIVATIVES, INVERSE_DYNAMICS_DERIVATIVES, MAX_INTEGERS,
)

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
        When a single state has a zero quaternion, or a force element without a force; in a batch that sample is NaN.
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
        When no mass resists a degree of freedom of a single state, or it has a zero quaternion or a force element
        without a force; in a batch that sample is NaN.
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
    if m.num_constraints or not is_single(tree, m, q, v, tau, external_forces):
        return derivatives_batch(tree, compiled, q, v, "tau", tau, external_forces, True, out)
    check_single(tree, compiled, q)
    dvdot_dq, dvdot_dv, M_inverse = outputs_of(out, nv)
    singular = derivatives.forward_dynamics_rates(
        m, p, &compiled.model.switches, data(q), data(v), data(tau), NULL,
        kernels.get_work(m, derivatives.forward_work_size(m)), &matrices
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
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

cdef derivatives_batch(
    tree, CompiledModel compiled, q, v, str name, x, external_forces, bint is_forward, out
):
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    names, values, cores = ["q", "v", name], [q, v, x], [(m.num_positions,), (nv,), (nv,)]
    add_forces_operands(tree, external_forces, names, values, cores, m)
    cdef Batch batch = Batch(names, values, cores)
    arrays = batch.outputs(out, (nv, nv))
    if not batch.shape or (<TreeCore>tree)._user_force_elements is not None or is_forward and m.num_constraints:
        # State by state on a Context: user-written force elements run in Python, constraints in dual numbers.
        return above.differentiate_each(tree, batch.arrays, batch.shape, is_forward, arrays)
    cdef int[<int>MAX_INTEGERS] with_forces = [len(names) == 5, 0, 0, 0, 0]
    if with_forces[0]:
        # Generalized forces are constant: they add to tau.
        operands = batch.arrays[:4]
        if is_forward:
            operands[2] = operands[2] + batch.arrays[4]
        batch = Batch(names[:4], operands, cores[:4])
    run_batch(
        batch, compiled, FORWARD_DYNAMICS_DERIVATIVES if is_forward else INVERSE_DYNAMICS_DERIVATIVES, with_forces,
        arrays
    )
    return arrays
