"""Operands with leading axes: converted, and broadcast."""

cimport numpy as cnp
from cpython.weakref cimport PyWeakref_NewRef

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_writeable, one_row
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef bint is_ready(object value, tuple core):
    """Whether this is an array (..., *core) that needs no conversion."""
    cdef int i, n = len(core), lead
    if not (
        cnp.PyArray_CheckExact(value) and cnp.PyArray_TYPE(value) == cnp.NPY_DOUBLE and cnp.PyArray_ISCARRAY_RO(value)
    ):
        return False
    lead = cnp.PyArray_NDIM(value) - n
    if lead < 0:
        return False
    for i in range(n):
        if cnp.PyArray_DIM(value, lead + i) != <cnp.npy_intp>core[i]:
            return False
    return True


cdef bint same_leading_axes(object a, object b, int n):
    cdef int i
    for i in range(n):
        if cnp.PyArray_DIM(a, i) != cnp.PyArray_DIM(b, i):
            return False
    return True


cdef int hold(list held, object array) except -1:
    """Append what keeps the memory of an array where it is while the GIL is released.

    `ndarray.resize(refcheck=False)` frees memory whoever else uses it, but not of an array with a weak reference. That
    takes longer than to find out whether anybody could do so (benchmarks/instruction_counts.py, 64 states).
    """
    while array is not None and cnp.PyArray_Check(array):
        if cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA):
            held.append(PyWeakref_NewRef(array, None))
        array = array.base
    return 0


cdef list rows_of(list values, list cores):
    """Operands, those of one state in exact arrays, however they lie."""
    cdef list rows = list(values)
    cdef int i
    for i in range(len(values)):
        if len(<tuple>cores[i]) == 1:
            row = one_row(values[i], (<tuple>cores[i])[0])
            if row is not None:
                rows[i] = row
    return rows


cdef class Batch:
    """Operands of a function, converted and broadcast over their leading axes."""

    def __init__(self, list names, list values, list cores):
        """`cores` are the shapes behind the leading axes; the first operand is q."""
        if not 0 < len(values) <= 5 or not len(names) == len(values) == len(cores):
            raise ValueError(f"values: expected 1 to 5, with as many names and cores, got {len(values)}")
        if not self.take(values, cores) and not self.take(rows_of(values, cores), cores):
            self.convert(names, values, cores)
        if len(self.shape) > 16:
            from mbt.math.arrays import check_leading_axes
            check_leading_axes(self.shape, ", ".join(names))

    cdef bint take(self, list values, list cores):
        """Arrays that are ready, with the same leading axes or none, need neither conversion nor broadcasting."""
        cdef int i, k, lead, num_axes = 0
        cdef object value, longest = None
        for i in range(len(values)):
            value = values[i]
            if not is_ready(value, <tuple>cores[i]):
                return False
            lead = cnp.PyArray_NDIM(value) - <int>len(<tuple>cores[i])
            if lead and not num_axes:
                longest, num_axes = value, lead
            elif lead and not (lead == num_axes and same_leading_axes(value, longest, lead)):
                return False
        self.arrays = list(values)
        self.shape = tuple([cnp.PyArray_DIM(longest, k) for k in range(num_axes)])
        self.count = 1
        for k in range(num_axes):
            self.count *= cnp.PyArray_DIM(longest, k)
        for i in range(len(values)):
            value = values[i]
            self.operands[i].data = data(value)
            self.operands[i].size = 1
            lead = cnp.PyArray_NDIM(value) - <int>len(<tuple>cores[i])
            for k in range(lead, cnp.PyArray_NDIM(value)):
                self.operands[i].size *= cnp.PyArray_DIM(value, k)
            self.operands[i].stride = self.operands[i].size if lead else 0
        return True

    cdef convert(self, list names, list values, list cores):
        from mbt.math.arrays import as_float_array, check_leading_axes
        from mbt.errors import ShapeError
        self.arrays = [
            value if is_ready(value, core) else as_float_array(value, name, (..., *core))
            for name, value, core in zip(names, values, cores)
        ]
        leads = [array.shape[:array.ndim - len(core)] for array, core in zip(self.arrays, cores)]
        for name, lead in zip(names, leads):
            check_leading_axes(lead, name)
        self.shape = leads[0]
        if leads.count(self.shape) != len(leads):
            # Most often one for all and a batch: NumPy takes 3 us to find out what becomes of these
            # (benchmarks/compare.py, bias term of four states).
            shapes = {lead for lead in leads if lead}
            try:
                self.shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*leads)
            except ValueError:
                described = ", ".join(f"{name} {lead}" for name, lead in zip(names, leads))
                raise ShapeError(f"leading axes do not broadcast: {described}") from None
        self.count = 1
        for extent in self.shape:
            self.count *= extent
        cdef int i
        for i, (lead, core) in enumerate(zip(leads, cores)):
            if lead != self.shape and any(extent != 1 for extent in lead):
                self.arrays[i] = np.ascontiguousarray(np.broadcast_to(self.arrays[i], self.shape + tuple(core)))
                lead = self.shape
            self.operands[i].data = data(self.arrays[i])
            self.operands[i].size = 1
            for extent in core:
                self.operands[i].size *= extent
            self.operands[i].stride = self.operands[i].size if lead == self.shape and self.shape else 0

    cdef keep_apart_from(self, object out):
        """Copy operands whose memory `out` would overwrite."""
        cdef int i
        for i in range(len(self.arrays)):
            self.arrays[i] = apart(self.arrays[i], out)
            self.operands[i].data = data(self.arrays[i])

    cdef object output(self, object out, tuple core):
        cdef tuple shape = self.shape + core
        if out is None:
            return np.empty(shape)
        if not (is_ready(out, shape) and cnp.PyArray_NDIM(out) == len(shape) and is_writeable(out)):
            from mbt.math.arrays import check_out
            check_out(out, "out", shape)
        self.keep_apart_from(out)
        return out

    cdef tuple outputs(self, object out, tuple core):
        """Three arrays with the leading axes of the operands, none of which they share memory with."""
        arrays = above.check_outputs((None,)*3 if out is None else out, (self.shape + core,)*3)
        for array in arrays:
            self.keep_apart_from(array)
        return arrays

    cdef list hold(self, tuple results):
        """Keep the memory of operands and results where it is, as long as what is returned lives."""
        cdef list held = []
        for array in self.arrays:
            hold(held, array)
        for array in results:
            hold(held, array)
        return held

    cdef check_single(self, object tree, CompiledModel compiled):
        """One state without leading axes gets an error where a batch gets NaN."""
        if not self.shape:
            check_positions(tree, compiled, self.operands[0].data)


cdef check_elements(tree, CompiledModel compiled, const double* q):
    """Refuse positions in which the force of an element is undefined."""
    cdef int singular
    if compiled.model.num_elements_between:
        singular = kernels.find_singular_element_at(
            &compiled.model, &compiled.defaults.parameters, q, kernels.get_work(&compiled.model, 0), -1
        )
        if singular >= 0:
            above.raise_singular_element(tree, singular)


cdef add_forces_operands(tree, external_forces, list names, list values, list cores, const Model* m):
    """Append body and generalized forces to the operands."""
    if external_forces is not None:
        body_forces, generalized_forces = above.forces_of(tree, external_forces, "external_forces", single=False)
        names += ["external_forces.body_forces", "external_forces.generalized_forces"]
        values += [body_forces, generalized_forces]
        cores += [(m.num_bodies, 6), (m.num_velocities,)]
