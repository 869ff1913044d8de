"""Dynamics in `mbt.functional`: from arrays to arrays, without a Context, over any leading axes.

One state in exact arrays goes straight into the kernel. Anything else is converted and broadcast; batches run in lanes.
"""

cimport numpy as cnp
from libc.string cimport memcpy, memset

from mbt._core.algebra.records cimport Parameters
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport (
    adopt, apart, data, is_array1, out1, out2, out3, overlap,
)
from mbt._core.engines.lane_engine cimport run_batch
from mbt._core.engines.leading_axes cimport Batch, add_forces_operands, check_elements
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    CONSTRAINT_FORCES, FORWARD_DYNAMICS, GRAVITY_GENERALIZED_FORCES, INVERSE_DYNAMICS, MASS_MATRIX, MAX_INTEGERS,
    MOTION_FORCES, Quantity, no_integers,
)

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


# The type of trees of doubles, which compute as they are. None until the first use, because `mbt.tree` imports modules
# like this one, and while another tree may stand in for one of doubles: then most calls need one comparison only.
cdef object plain_tree = None

# How many threads compute with stand-ins, see mbt.scalars.stand_ins.
cdef int num_standing_in = 0


def count_standing_in(int change):
    """Count a thread that begins (1) or ceases (-1) to compute in another scalar in place of doubles."""
    global num_standing_in, plain_tree
    num_standing_in += change
    plain_tree = None


cdef CompiledModel compiled_of(object tree):
    """The model of a tree of doubles; None for a tree of another scalar, or one that another stands in for."""
    if type(tree) is plain_tree and (<TreeCore>tree)._compiled is not None:
        return (<TreeCore>tree)._compiled
    return compiled_of_any(tree)


cdef CompiledModel compiled_of_any(object tree):
    global plain_tree
    if num_standing_in == 0:
        plain_tree = above.MultibodyTree
    if type(tree) is not above.MultibodyTree and isinstance(tree, TreeCore) and "_scalar_type" in tree.__dict__:
        return None
    if not (isinstance(tree, TreeCore) and (<TreeCore>tree)._compiled is not None):
        above.compile_copy(tree)
    if num_standing_in and above.stands_in(tree):
        return None
    return (<TreeCore>tree)._compiled


cdef bint became_single(tree, const Model* m, Batch batch):
    return len(batch.arrays) == 3 and is_single(tree, m, batch.arrays[0], batch.arrays[1], batch.arrays[2], None)


# Inverse dynamics -----------------------------------------------------------------------------------------------

def inverse_dynamics(tree, q, v, vdot, *, external_forces=None, multipliers=None, out=None):
    """Return the generalized forces that give the accelerations `vdot`: ``tau = M vdot + C v - tau_forces``.

    Gravity, the other force elements and joint damping act; actuation does not.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v, vdot : array_like, shape (..., num_velocities)
        Generalized velocities and accelerations. Leading axes broadcast.
    external_forces : MultibodyForces, optional
        Further forces, on bodies at Bo in World and generalized. Its batch shape broadcasts too.
    multipliers : array_like, shape (..., num_constraint_equations), optional
        Forces of the constraints, ``tau -= J' multipliers``: see `constrained_forward_dynamics`.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia(2.0, [0, 0, -0.5], np.diag([0.3, 0.3, 0.05]))))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> tree.finalize()
    >>> mbt.functional.inverse_dynamics(tree, [[0.0], [1.0]], [0.0], [1.0])
    array([[0.6],
           [0.6]])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if multipliers is not None:
        return _inverse_dynamics_with(tree, compiled, q, v, vdot, external_forces, multipliers, out)
    if compiled is None:
        return above.of_each_state(
            tree, INVERSE_DYNAMICS, {"q": q, "v": v, "vdot": vdot}, out, "calc_inverse_dynamics",
            integers=(0,), external_forces=external_forces, include_force_elements=True
        )
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef double* memory
    if not is_single(tree, m, q, v, vdot, external_forces):
        return inverse_dynamics_batch(tree, compiled, q, v, vdot, external_forces, out)
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    if m.num_elements_between:
        check_elements(tree, compiled, data(q))
    tau = out1(out, "out", m.num_velocities)
    if out is not None and (overlap(q, tau) or overlap(v, tau) or overlap(vdot, tau)):
        tau[...] = inverse_dynamics(tree, q, v, vdot)
        return tau
    memory = kernels.get_work(m, m.num_velocities)
    kernels.inverse_dynamics_with_elements(
        m, p, m.switches.weightless, data(q), data(v), data(vdot), memory, data(tau)
    )
    return tau


def _inverse_dynamics_with(tree, CompiledModel compiled, q, v, vdot, external_forces, multipliers, out):
    """Inverse dynamics with the forces of constraints among the external ones."""
    if compiled is None:
        return above.of_each_state(
            tree, INVERSE_DYNAMICS, {"q": q, "v": v, "vdot": vdot, "multipliers": multipliers}, out,
            "_calc_inverse_dynamics_with", integers=(0,), external_forces=external_forces
        )
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t num_on_bodies = 6*m.num_bodies
    cdef Batch batch = Batch(
        ["q", "v", "multipliers"], [q, np.zeros(m.num_velocities), multipliers],
        [(m.num_positions,), (m.num_velocities,), (m.num_equations,)]
    )
    batch.check_single(tree, compiled)
    forces = np.empty(batch.shape + (num_on_bodies + m.num_velocities,))
    run_batch(batch, compiled, CONSTRAINT_FORCES, no_integers, (forces,))
    return inverse_dynamics_batch(
        tree, compiled, q, v, vdot,
        above.sum_of_forces(tree, forces[..., :num_on_bodies], forces[..., num_on_bodies:], external_forces), out
    )


cdef inverse_dynamics_batch(tree, CompiledModel compiled, q, v, vdot, external_forces, out):
    cdef Batch batch = batch_with_forces(tree, compiled, q, v, "vdot", vdot, external_forces)
    if became_single(tree, &compiled.model, batch):
        return inverse_dynamics(tree, *batch.arrays, out=out)
    if not batch.shape:
        return calc_single(tree, "calc_inverse_dynamics", batch, out, include_force_elements=True)
    out = batch.output(out, (compiled.model.num_velocities,))
    cdef int[<int>MAX_INTEGERS] with_forces = [len(batch.arrays) == 5, 0, 0, 0, 0]
    run_batch(batch, compiled, INVERSE_DYNAMICS, with_forces, (out,))
    return out


cdef Batch batch_with_forces(tree, CompiledModel compiled, q, v, str name, x, external_forces):
    """q, v, another array (..., nv), and forces if any act; those of user-written elements in batches only."""
    cdef const Model* m = &compiled.model
    names, values, cores = ["q", "v", name], [q, v, x], [(m.num_positions,), (m.num_velocities,), (m.num_velocities,)]
    add_forces_operands(tree, external_forces, names, values, cores, m)
    cdef Batch batch = Batch(names, values, cores)
    if batch.shape and (<TreeCore>tree)._user_force_elements is not None:
        names, values, cores = names[:3], values[:3], cores[:3]
        add_forces_operands(tree, above.add_user_forces(tree, q, v, external_forces), names, values, cores, m)
        batch = Batch(names, values, cores)
    return batch


# Forward dynamics -----------------------------------------------------------------------------------------------

def forward_dynamics(tree, q, v, tau, *, external_forces=None, out=None):
    """Return the generalized accelerations that `tau` gives: the exact inverse of `inverse_dynamics`.

    Gravity, the other force elements and joint damping act; actuation does not. The accelerations satisfy the
    constraints, with the forces of `constrained_forward_dynamics`.

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
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized accelerations [rad/s^2, m/s^2].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a degree of freedom of a single state has no inertia; in a batch that sample is NaN.
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(
            tree, FORWARD_DYNAMICS, {"q": q, "v": v, "tau": tau}, out, "calc_forward_dynamics",
            integers=(0,), external_forces=external_forces
        )
    cdef const Model* m = &compiled.model
    cdef const Parameters[double]* p = &compiled.defaults.parameters
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* memory
    cdef double* result
    cdef int singular
    if not is_single(tree, m, q, v, tau, external_forces):
        return forward_dynamics_batch(tree, compiled, q, v, tau, external_forces, out)
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    if m.num_elements_between:
        check_elements(tree, compiled, data(q))
    vdot = out1(out, "out", nv)
    memory = kernels.get_work(m, 3*nv)
    result = memory + kernels.work_size(m) + 2*nv
    singular = kernels.forward_dynamics_with_elements(
        m, p, &compiled.model.switches, data(q), data(v), data(tau), memory, result
    )
    if singular >= 0:
        above.raise_massless_dof(tree, singular)
    if m.num_constraints:
        check_multipliers(tree, compiled, kernels.multipliers_in(m, memory), q)
    memcpy(data(vdot), result, nv*sizeof(double))
    return vdot


cdef int check_multipliers(tree, CompiledModel compiled, const double* multipliers, q) except -1:
    """Raise if constraint forces are undefined."""
    if kernels.any_is_nan(multipliers, compiled.model.num_equations, 1):
        context = above.Context(tree)
        context.q = q
        above.check_constraints_at(context)
    return 0


cdef forward_dynamics_batch(tree, CompiledModel compiled, q, v, tau, external_forces, out):
    cdef Batch batch = batch_with_forces(tree, compiled, q, v, "tau", tau, external_forces)
    if became_single(tree, &compiled.model, batch):
        return forward_dynamics(tree, *batch.arrays, out=out)
    if not batch.shape:
        return calc_single(tree, "calc_forward_dynamics", batch, out)
    out = batch.output(out, (compiled.model.num_velocities,))
    cdef int[<int>MAX_INTEGERS] with_forces = [len(batch.arrays) == 5, 0, 0, 0, 0]
    run_batch(batch, compiled, FORWARD_DYNAMICS, with_forces, (out,))
    return out


cdef object calc_single(tree, str method, Batch batch, out, include_force_elements=None):
    """Compute one state with forces."""
    keywords = {} if include_force_elements is None else {"include_force_elements": include_force_elements}
    return above.calc_single(tree, method, batch.arrays, out=out, **keywords)


# Functions of q, and of q and v ---------------------------------------------------------------------------------

cdef object of_q(
    tree, CompiledModel compiled, KernelOfQ kernel, Quantity quantity, q, out,
    int ndim, cnp.npy_intp n0, cnp.npy_intp n1, cnp.npy_intp n2
):
    """Run a kernel of q; its result has `ndim` axes of n0, n1, n2."""
    cdef const Model* m = &compiled.model
    cdef double* memory
    cdef Batch batch
    if not is_array1(q, m.num_positions):
        batch = Batch(["q"], [q], [(m.num_positions,)])
        if batch.shape:
            out = batch.output(out, (n0, n1, n2)[:ndim])
            run_batch(batch, compiled, quantity, no_integers, (out,))
            return out
        q = batch.arrays[0]
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    if ndim == 1:
        out = out1(out, "out", n0)
    elif ndim == 2:
        out = out2(out, "out", n0, n1)
    else:
        out = out3(out, "out", n0, n1, n2)
    q = apart(q, out)
    memory = kernels.get_work(m, m.num_velocities)
    kernel(m, &compiled.defaults.parameters, data(q), memory, data(out))
    return out


def mass_matrix(tree, q, *, out=None):
    """Return the mass matrix M(q), symmetric, reflected inertia of the rotors included.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_velocities, num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities, num_velocities)
        Mass matrix [kg m^2, kg m, kg].
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(tree, MASS_MATRIX, {"q": q}, out)
    cdef const Model* m = &compiled.model
    return of_q(tree, compiled, kernels.mass_matrix, MASS_MATRIX, q, out, 2, m.num_velocities, m.num_velocities, 0)


cdef double[3] NO_GRAVITY
NO_GRAVITY[:] = [0.0, 0.0, 0.0]


def bias_term(tree, q, v, *, out=None):
    """Return the bias term ``C(q, v) v``, without gravity or any other force.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(tree, MOTION_FORCES, {"q": q, "v": v}, out, "calc_bias_term", (0,))
    cdef const Model* m = &compiled.model
    cdef Py_ssize_t nv = m.num_velocities
    cdef double* memory
    cdef double* zeros
    cdef Batch batch
    if not (is_array1(q, m.num_positions) and is_array1(v, nv)):
        batch = Batch(["q", "v", "vdot"], [q, v, np.zeros(nv)], [(m.num_positions,), (nv,), (nv,)])
        if batch.shape:
            out = batch.output(out, (nv,))
            run_batch(batch, compiled, MOTION_FORCES, no_integers, (out,))
            return out
        q, v, _ = batch.arrays
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    out = out1(out, "out", nv)
    q = apart(q, out)
    v = apart(v, out)
    memory = kernels.get_work(m, nv)
    zeros = memory + kernels.work_size(m)
    memset(zeros, 0, nv*sizeof(double))
    kernels.inverse_dynamics(
        m, &compiled.defaults.parameters, NO_GRAVITY, data(q), data(v), zeros, memory, data(out)
    )
    return out


cdef void gravity_of_defaults(
    const Model* model, const Parameters[double]* p, const double* q, double* memory, double* tau
) noexcept nogil:
    kernels.gravity_generalized_forces(model, p, model.switches.weightless, q, memory, tau)


def gravity_generalized_forces(tree, q, *, out=None):
    """Return the generalized forces of gravity, on the right-hand side: ``tau_g = -dPE/dq`` along v.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        Generalized forces [N m or N].
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.of_each_state(tree, GRAVITY_GENERALIZED_FORCES, {"q": q}, out)
    cdef const Model* m = &compiled.model
    return of_q(
        tree, compiled, gravity_of_defaults, GRAVITY_GENERALIZED_FORCES, q, out, 1, m.num_velocities, 0, 0
    )
