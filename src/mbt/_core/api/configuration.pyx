"""Steps between configurations, over leading axes. One state in exact arrays goes straight into the kernel."""

cimport numpy as cnp
from libc.math cimport isfinite

from mbt._core.api.stateless cimport compiled_of
from mbt._core.api.tree_energy cimport TreeCore
from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_array1, out1
from mbt._core.engines.leading_axes cimport Batch, Operand, is_alone, is_singular
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.passes cimport configuration
from mbt._core.quantities.table cimport INTEGRATED_POSITIONS, POSITION_DIFFERENCE

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef inline const double* sample(const Operand* operand, Py_ssize_t i) noexcept nogil:
    return operand.data + operand.stride*i


cdef inline const double* sample_q(const Model* m, const Operand* q, Py_ssize_t i, const double* no_q) noexcept nogil:
    """Positions of a sample; `no_q` where a mobilizer has no pose."""
    return no_q if is_singular(m, sample(q, i)) else sample(q, i)


def integrate_positions(tree, q, v, dt, *, out=None):
    """Return the positions reached from `q` within `dt` at the constant velocities `v`.

    Rotations follow ``R1 = exp([w_FM_F dt]x) R0``. A quaternion keeps its length; roll, pitch and yaw are those nearest
    to the old ones. All other positions are ``q + v dt``. A rotation by more than 1e154 radians, whose square
    is not a double, gives NaN.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like, shape (..., num_positions)
        Generalized positions.
    v : array_like, shape (..., num_velocities)
        Generalized velocities. Leading axes broadcast.
    dt : array_like, shape (...)
        Time [s], of either sign, finite.
    out : ndarray, shape (..., num_positions), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_positions)
        Generalized positions.

    Raises
    ------
    ArgumentValueError
        When `dt` is NaN or infinite.
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> mbt.functional.integrate_positions(tree, [1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 0, 0], 0.5).round(3)
    array([0.969, 0.   , 0.   , 0.247, 1.   , 0.   , 0.   ])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.steps_of_each_state(tree, INTEGRATED_POSITIONS, {"q": q, "v": v, "dt": dt}, out)
    cdef const Model* m = &compiled.model
    if not (
        isinstance(dt, float) and isfinite(<double>dt) and is_array1(q, m.num_positions)
        and is_array1(v, m.num_velocities)
    ):
        return integrate_batch(tree, compiled, q, v, dt, out)
    if m.num_checked:
        check_positions(tree, compiled, data(q))
    out = out1(out, "out", m.num_positions)
    q = apart(q, out)
    v = apart(v, out)
    configuration.integrate_positions[double](m, data(q), data(v), <double>dt, data(out))
    return out


cdef object integrate_batch(tree, CompiledModel compiled, q, v, dt, out):
    from mbt.math.arrays import as_finite_array
    cdef const Model* m = &compiled.model
    cdef Batch batch = Batch(
        ["q", "v", "dt"], [q, v, as_finite_array(dt, "dt", (...,))], [(m.num_positions,), (m.num_velocities,), ()]
    )
    batch.check_single(tree, compiled)
    result = batch.output(out, (m.num_positions,))
    cdef double* q1 = data(result)
    cdef Py_ssize_t i
    nans = np.full(m.num_positions, np.nan)
    cdef const double* no_q = data(nans)
    held = None if is_alone() else batch.hold((result,))
    with nogil:
        for i in range(batch.count):
            configuration.integrate_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), sample(&batch.operands[1], i),
                sample(&batch.operands[2], i)[0], q1 + m.num_positions*i
            )
    del held
    return result


def difference_positions(tree, q0, q1, *, out=None):
    """Return the velocities that lead from `q0` to `q1` within one second.

    It inverts `integrate_positions`: ``integrate_positions(tree, q0, difference_positions(tree, q0, q1), 1)`` is the
    configuration `q1`. Rotations take the shortest way, pi at most.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q0, q1 : array_like, shape (..., num_positions)
        Generalized positions. Leading axes broadcast.
    out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
        Written in place and returned. Left untouched when an argument is rejected.

    Returns
    -------
    ndarray, shape (..., num_velocities)
        The step ``v dt`` with dt = 1 s [rad, m].

    Raises
    ------
    ShapeError, ArgumentTypeError
        When an array is not of the right shape or type.
    SingularityError
        When a single state has a zero quaternion; in a batch that sample is NaN.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    >>> tree.finalize()
    >>> step = mbt.functional.difference_positions(tree, [1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0, 0])
    >>> step.round(3)
    array([0.   , 0.   , 3.142, 1.   , 0.   , 0.   ])
    """
    cdef CompiledModel compiled = compiled_of(tree)
    if compiled is None:
        return above.steps_of_each_state(tree, POSITION_DIFFERENCE, {"q0": q0, "q1": q1}, out)
    cdef const Model* m = &compiled.model
    if not (is_array1(q0, m.num_positions) and is_array1(q1, m.num_positions)):
        return difference_batch(tree, compiled, q0, q1, out)
    if m.num_checked:
        check_positions(tree, compiled, data(q0))
        check_positions(tree, compiled, data(q1))
    out = out1(out, "out", m.num_velocities)
    q0 = apart(q0, out)
    q1 = apart(q1, out)
    configuration.difference_positions[double](m, data(q0), data(q1), data(out))
    return out


cdef object difference_batch(tree, CompiledModel compiled, q0, q1, out):
    cdef const Model* m = &compiled.model
    cdef Batch batch = Batch(["q0", "q1"], [q0, q1], [(m.num_positions,), (m.num_positions,)])
    batch.check_single(tree, compiled)
    if not batch.shape:
        check_positions(tree, compiled, batch.operands[1].data)
    result = batch.output(out, (m.num_velocities,))
    cdef double* v = data(result)
    cdef Py_ssize_t i
    nans = np.full(m.num_positions, np.nan)
    cdef const double* no_q = data(nans)
    held = None if is_alone() else batch.hold((result,))
    with nogil:
        for i in range(batch.count):
            configuration.difference_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), sample_q(m, &batch.operands[1], i, no_q),
                v + m.num_velocities*i
            )
    del held
    return result


def normalize_positions(TreeCore tree not None, q, out):
    """Positions with quaternions of unit length, (..., nq)."""
    cdef CompiledModel compiled = tree.ready()
    cdef const Model* m = &compiled.model
    cdef Batch batch = Batch(["q"], [q], [(m.num_positions,)])
    batch.check_single(tree, compiled)
    result = batch.output(out, (m.num_positions,))
    cdef double* y = data(result)
    cdef Py_ssize_t i
    nans = np.full(m.num_positions, np.nan)
    cdef const double* no_q = data(nans)
    held = None if is_alone() else batch.hold((result,))
    with nogil:
        for i in range(batch.count):
            configuration.normalize_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), y + m.num_positions*i
            )
    del held
    return result
