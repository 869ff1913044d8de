"""Operands with leading axes, converted and broadcast."""

cimport numpy as cnp
from cpython.weakref cimport PyWeakref_NewRef

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, apart, data, is_writeable, one_row, overlap
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


cdef bint has_core(object value, tuple core):
    """Whether an array is (..., *core)."""
    cdef int i, n = len(core), lead = cnp.PyArray_NDIM(value) - n
    if lead < 0:
        return False
    for i in range(n):
        if cnp.PyArray_DIM(value, lead + i) != <cnp.npy_intp>core[i]:
            return False
    return True


cdef bint is_ready(object value, tuple core):
    """Whether this is an array (..., *core) that needs no conversion."""
    return (
        cnp.PyArray_CheckExact(value) and cnp.PyArray_TYPE(value) == cnp.NPY_DOUBLE
        and cnp.PyArray_ISCARRAY_RO(value) and has_core(value, core)
    )


cdef object in_order(object value, tuple core):
    """Floats (..., *core) of any memory layout, as kernels read them; None for anything else."""
    if not cnp.PyArray_CheckExact(value):
        return one_row(value, core[0]) if len(core) == 1 else None
    if cnp.PyArray_TYPE(value) != cnp.NPY_DOUBLE and cnp.PyArray_TYPE(value) != cnp.NPY_FLOAT:
        return None
    return cnp.PyArray_ContiguousFromAny(value, cnp.NPY_DOUBLE, 0, 0) if has_core(value, core) else None


cdef bint are_outputs(object out, tuple shapes):
    """Whether these are arrays that can be written into and do not share memory."""
    cdef Py_ssize_t i, k
    if type(out) is not tuple or len(<tuple>out) != len(shapes):
        return False
    for i in range(len(shapes)):
        array, shape = (<tuple>out)[i], <tuple>shapes[i]
        if not (is_ready(array, shape) and cnp.PyArray_NDIM(array) == len(shape) and is_writeable(array)):
            return False
        for k in range(i):
            if overlap(array, (<tuple>out)[k]):
                return False
    return True


cdef bint same_leading_axes(object a, object b, int n):
    cdef int i
    for i in range(n):
        if cnp.PyArray_DIM(a, i) != cnp.PyArray_DIM(b, i):
            return False
    return True


cdef int hold(list held, object array) except -1:
    """Append an object that keeps the memory of an array from being freed while the GIL is released.

    `ndarray.resize(refcheck=False)` frees memory even if it is in use, but not that of an array with a weak reference.
    Making one takes longer than finding out whether another thread could call it (benchmarks/instruction_counts.py, 64
    states).
    """
    while array is not None and cnp.PyArray_Check(array):
        if cnp.PyArray_CHKFLAGS(array, cnp.NPY_ARRAY_OWNDATA):
            held.append(PyWeakref_NewRef(array, None))
        array = array.base
    return 0


cdef list all_in_order(list values, list cores):
    """Operands, with floats converted to exact arrays."""
    cdef list arrays = list(values)
    cdef int i
    for i in range(len(values)):
        array = in_order(values[i], <tuple>cores[i])
        if array is not None:
            arrays[i] = array
    return arrays


cdef class Batch:
    """Operands of a function, converted and broadcast over their leading axes."""

    def __init__(self, list names, list values, list cores):
        """`cores` are the shapes after the leading axes; the first operand is q."""
        if not 0 < len(values) <= 5 or not len(names) == len(values) == len(cores):
            raise ValueError(f"values: expected 1 to 5, with the same number of names and cores, got {len(values)}")
        if not self.take(values, cores):
            values = all_in_order(values, cores)
            if not self.take(values, cores):
                self.convert(names, values, cores)
        if len(self.shape) > 16:
            from mbt.math.arrays import check_leading_axes
            check_leading_axes(self.shape, ", ".join(names))

    cdef bint take(self, list values, list cores):
        """Take arrays that need neither conversion nor broadcasting: with the same leading axes, or none."""
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
        cdef list held = []
        self.arrays = []
        for name, value, core in zip(names, values, cores):
            # Converting one may run code of its class, which must not free the earlier ones.
            array = value if is_ready(value, core) else as_float_array(value, name, (..., *core))
            hold(held, array)
            self.arrays.append(array)
        leads = [array.shape[:array.ndim - len(core)] for array, core in zip(self.arrays, cores)]
        for name, lead in zip(names, leads):
            check_leading_axes(lead, name)
        self.shape = leads[0]
        if leads.count(self.shape) != len(leads):
            # Mostly one batch, and operands shared by all its samples, for which NumPy's broadcasting would take 3 us
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

    cdef tuple outputs(self, object out, tuple cores):
        """Arrays with the leading axes of the operands, which share no memory with them."""
        cdef tuple shapes = tuple([self.shape + <tuple>core for core in cores])
        if out is None:
            return tuple([np.empty(shape) for shape in shapes])
        if not are_outputs(out, shapes):
            out = above.check_outputs(out, shapes)
        for array in out:
            self.keep_apart_from(array)
        return out

    cdef list hold(self, tuple results):
        """Keep the memory of operands and results in place while the returned list exists."""
        cdef list held = []
        for array in self.arrays:
            hold(held, array)
        for array in results:
            hold(held, array)
        return held

    cdef check_single(self, object tree, CompiledModel compiled):
        """Raise an error for one state without leading axes, where a batch gets NaN."""
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
