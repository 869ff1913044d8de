"""Steps between configurations, over leading axes."""

cimport numpy as cnp

from mbt._core.batch cimport Batch, Operand, is_singular
from mbt._core.context cimport check_positions
from mbt._core.door cimport adopt, data
from mbt._core.engine cimport TreeCore
from mbt._core.model cimport CompiledModel, Model
from mbt._core.passes cimport configuration

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef inline const double* sample(const Operand* operand, Py_ssize_t i) noexcept nogil:
    return operand.data + operand.stride*i


cdef inline const double* sample_q(const Model* m, const Operand* q, Py_ssize_t i, const double* no_q) noexcept nogil:
    """Positions of a sample; `no_q` where a mobilizer has no pose."""
    return no_q if is_singular(m, sample(q, i)) else sample(q, i)


def integrate_positions(TreeCore tree not None, q, v, dt, out):
    """Where motion from q at the constant v leads within dt, (..., nq)."""
    cdef CompiledModel compiled = tree.ready()
    cdef const Model* m = &compiled.model
    cdef Batch batch = Batch(["q", "v", "dt"], [q, v, dt], [(m.num_positions,), (m.num_velocities,), ()])
    batch.check_single(tree, compiled)
    result = batch.output(out, (m.num_positions,))
    cdef double* q1 = data(result)
    cdef Py_ssize_t i
    nans = np.full(m.num_positions, np.nan)
    cdef const double* no_q = data(nans)
    with nogil:
        for i in range(batch.count):
            configuration.integrate_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), sample(&batch.operands[1], i),
                sample(&batch.operands[2], i)[0], q1 + m.num_positions*i
            )
    return result


def difference_positions(TreeCore tree not None, q0, q1, out):
    """The v that leads from q0 to q1 within one second, (..., nv)."""
    cdef CompiledModel compiled = tree.ready()
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
    with nogil:
        for i in range(batch.count):
            configuration.difference_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), sample_q(m, &batch.operands[1], i, no_q),
                v + m.num_velocities*i
            )
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
    with nogil:
        for i in range(batch.count):
            configuration.normalize_positions[double](
                m, sample_q(m, &batch.operands[0], i, no_q), y + m.num_positions*i
            )
    return result
