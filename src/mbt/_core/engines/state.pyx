"""Time, state, inputs, switches and parameters of one Context."""

cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.string cimport memcpy

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, is_array1, new1, of_numbers, size as size_of
from mbt._core.engines.caches cimport Memory, vector
from mbt._core.engines.section cimport Section
from mbt._core.engines.state cimport StateCore
from mbt._core.joints.mobilizers cimport position_is_singular
from mbt._core.model.structs cimport Model

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o) nogil

cdef extern from "engines/process.hpp" namespace "MBT_NS" nogil:
    long process_id()

cdef extern from "pythread.h":
    unsigned long PyThread_get_thread_ident() nogil

cdef extern from "engines/serial.hpp" namespace "MBT_NS" nogil:
    unsigned long long next_serial()


cdef class Exclusive:

    def __cinit__(self, StateCore context not None):
        self.context = context

    def __enter__(self):
        cdef Section alone
        alone.enter(self.context)
        self.context.check_user()
        self.context.user = PyThread_get_thread_ident()
        self.context.process = process_id()
        self.context.num_uses += 1
        self.num_forks = self.context.num_forks

    def __exit__(self, *error):
        cdef Section alone
        alone.enter(self.context)
        if self.num_forks != self.context.num_forks:
            # This use began before a fork, which ended all uses.
            return
        self.context.num_uses -= 1
        if self.context.num_uses == 0:
            self.context.user = 0


cdef refuse_deletion(str name):
    # Called by the deleter of each property. A single __delattr__ would make every assignment slower: 3 % of a small
    # gradient (benchmarks/instruction_counts.py).
    raise AttributeError(f"{name} of a Context cannot be deleted")


cdef class StateCore:
    """Time, positions, velocities, inputs, switches and parameters of one tree."""

    def __cinit__(self, tree):
        # Not in __init__: every existing object must have its arrays.
        self.compiled = compiled_of_tree(tree)
        self.tree = tree
        self._reset()

    def _exclusive(self):
        """A context manager: within it, another thread that uses this Context gets a ConcurrentUseError.

        Only calls that release the GIL or run Python code, such as elements written by users, need it.
        """
        return Exclusive(self)

    cdef int check_user(self) except -1:
        if self.user == 0 or self.user == PyThread_get_thread_ident():
            return 0
        if self.process != process_id():
            # In a child after `fork`, the thread does not exist.
            self.user = self.num_uses = 0
            self.num_forks += 1
        else:
            above.raise_concurrent_use()
        return 0

    cdef _reset(self):
        """Reset everything to its default."""
        cdef const Model* m = &self.compiled.model
        # New memory is zero, and leaves arrays returned before unchanged.
        self._q = Memory(m.num_positions)
        self._v = Memory(m.num_velocities)
        self._actuation = Memory(m.num_actuators)
        self.v_data = self._v.data
        self.v_serial = next_serial()
        self._store_q(data(self.compiled.default_q))
        self._time = 0.0
        self.time_serial = self.input_serial = self.switch_serial = next_serial()
        self._locked = self._weightless = self._disabled = None
        self.switches = self.compiled.model.switches
        self._parameters = self.compiled.default_parameters
        self._derived = self.compiled.defaults
        self.parameter_serial = 0
        if self._applied_forces is not None:
            self._applied_forces.set_zero()

    @property
    def q(self):
        """Generalized positions, (num_positions,); read-only, write with ``context.q = ...``."""
        cdef Section alone
        alone.enter(self)
        return vector(self._q)

    @q.setter
    def q(self, value):
        cdef Section alone
        alone.enter(self)
        if self.user:
            self.check_user()
        if not is_array1(value, self.compiled.model.num_positions):
            value = in1(value, "q", self.compiled.model.num_positions)
        if self.compiled.model.num_checked:
            check_positions(self.tree, self.compiled, data(value))
        self._store_q(data(value))

    @q.deleter
    def q(self):
        refuse_deletion("q")

    @property
    def v(self):
        """Generalized velocities, (num_velocities,); read-only, write with ``context.v = ...``."""
        cdef Section alone
        alone.enter(self)
        return vector(self._v)

    @v.setter
    def v(self, value):
        cdef Section alone
        alone.enter(self)
        if self.user:
            self.check_user()
        if not is_array1(value, self.compiled.model.num_velocities):
            value = in1(value, "v", self.compiled.model.num_velocities)
        if self._locked is not None and (value[self._locked != 0] != 0.0).any():
            above.raise_locked(self, value)
        self._store_v(data(value))

    @v.deleter
    def v(self):
        refuse_deletion("v")

    @property
    def time(self):
        """Time [s], a finite number."""
        cdef Section alone
        alone.enter(self)
        return self._time

    @time.setter
    def time(self, value):
        cdef Section alone
        alone.enter(self)
        self.check_user()
        from mbt.math.arrays import as_finite
        self._time = as_finite(value, "time")
        self.time_serial = next_serial()

    @time.deleter
    def time(self):
        refuse_deletion("time")

    @property
    def actuation(self):
        """Force or torque of each actuator, (num_actuators,); read-only, write with ``context.actuation = ...``."""
        cdef Section alone
        alone.enter(self)
        return vector(self._actuation)

    @actuation.setter
    def actuation(self, value):
        cdef Section alone
        alone.enter(self)
        self.check_user()
        value = in1(value, "actuation", self.compiled.model.num_actuators)
        self._store_actuation(data(value))

    @actuation.deleter
    def actuation(self):
        refuse_deletion("actuation")

    @property
    def applied_forces(self):
        """Forces on bodies and joints that forward dynamics includes; write into its arrays."""
        cdef Section alone
        alone.enter(self)
        if self._applied_forces is None:
            self.check_user()
            self._applied_forces = above.MultibodyForces(self.tree)
        return self._applied_forces

    @applied_forces.setter
    def applied_forces(self, value):
        cdef Section alone
        alone.enter(self)
        self.check_user()
        above.forces_of(self.tree, value, "applied_forces")
        if value is not self._applied_forces:
            self.applied_forces.set_zero().add_in_forces(value)
        self.input_serial = next_serial()

    @applied_forces.deleter
    def applied_forces(self):
        refuse_deletion("applied_forces")

    @property
    def _has_applied_forces(self):
        """Whether the applied forces have been requested. Until then they are zero, and take no time."""
        return self._applied_forces is not None

    cdef bint write_part(self, bint of_v, Py_ssize_t start, Py_ssize_t count, values) except -1:
        """Write some positions or velocities, a float or a vector; False if it is not a vector of this length."""
        cdef Memory memory = self._v if of_v else self._q
        if start < 0 or start + count > memory.size:
            return False
        changed = new1(memory.size)
        memcpy(data(changed), memory.data, memory.size*sizeof(double))
        if count == 1 and isinstance(values, float):
            data(changed)[start] = values
        else:
            if not is_array1(values, count):
                values = of_numbers(values, count)
                if values is None:
                    return False
            memcpy(data(changed) + start, data(values), count*sizeof(double))
        if of_v:
            self.v = changed
        else:
            self.q = changed
        return True

    cdef int _store_q(self, const double* values) except -1:
        if Py_REFCNT(<PyObject*>self._q) > 1:
            self._q = Memory(self._q.size)
        self.q_data = self._q.data
        memcpy(self.q_data, values, self._q.size*sizeof(double))
        self.q_serial = next_serial()
        return 0

    cdef int _store_v(self, const double* values) except -1:
        if Py_REFCNT(<PyObject*>self._v) > 1:
            self._v = Memory(self._v.size)
        self.v_data = self._v.data
        memcpy(self.v_data, values, self._v.size*sizeof(double))
        self.v_serial = next_serial()
        return 0

    cdef _store_actuation(self, const double* values):
        if Py_REFCNT(<PyObject*>self._actuation) > 1:
            self._actuation = Memory(self._actuation.size)
        memcpy(self._actuation.data, values, self._actuation.size*sizeof(double))
        self.input_serial = next_serial()

    # Locked dofs, bodies without gravity, disabled constraints --------------------------------------------------

    def _set_locked(self, int start, int count, bint locked):
        """Lock or unlock dofs; a locked dof is at rest."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("lock", start)
        cdef int i, nv = self.compiled.model.num_velocities
        cdef int* of_dof
        flags = copy_of_flags(self.switches.locked, nv)
        of_dof = <int*>cnp.PyArray_DATA(flags)
        for i in range(max(0, start), min(start + count, nv)):
            of_dof[i] = locked
        if locked and count:
            v = new1(nv)
            memcpy(data(v), self.v_data, nv*sizeof(double))
            for i in range(max(0, start), min(start + count, nv)):
                data(v)[i] = 0.0
            self._store_v(data(v))
        self._take_switches(flags if flags_of(flags) != NULL else None, self._weightless, self._disabled)

    def _is_locked(self, int start, int count):
        """Whether there are dofs in this range, all of them locked."""
        cdef Section alone
        alone.enter(self)
        return count > 0 and self._locked is not None and bool(self._locked[start:start + count].all())

    def _locked_dofs(self):
        """Which dofs are locked, (num_velocities,) of bool."""
        cdef Section alone
        alone.enter(self)
        if self._locked is None:
            return np.zeros(self.compiled.model.num_velocities, dtype=bool)
        return self._locked != 0

    def _set_weightless(self, nodes, bint weightless):
        """Disable or enable gravity for bodies, given by BodyNodeIndex."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("weightless", 0)
        cdef int node
        cdef int* of_node
        flags = self._weightless_flags()
        of_node = <int*>cnp.PyArray_DATA(flags)
        for node in nodes:
            if 0 <= node < self.compiled.model.num_bodies:
                of_node[node] = weightless
        self._take_switches(self._locked, flags, self._disabled)

    def _is_weightless(self, int node):
        return bool(self._weightless_flags()[node])

    def _weightless_flags(self):
        """A copy of the flags, by BodyNodeIndex."""
        cdef Section alone
        alone.enter(self)
        return copy_of_flags(self.switches.weightless, self.compiled.model.num_bodies)

    def _set_disabled(self, int index, bint disabled):
        """Disable or enable a constraint."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("disabled", index)
        flags = copy_of_flags(self.switches.disabled, self.compiled.model.num_constraints)
        flags[index] = disabled
        self._take_switches(self._locked, self._weightless, flags if flags_of(flags) != NULL else None)

    def _is_disabled(self, int index):
        cdef Section alone
        alone.enter(self)
        return self._disabled is not None and bool(self._disabled[index])

    cdef _take_switches(self, locked, weightless, disabled):
        """Set arrays of flags that are no longer written; None stands for the default."""
        self._locked = locked
        self._weightless = weightless
        self._disabled = disabled
        self.switches.locked = flags_of(locked)
        self.switches.disabled = flags_of(disabled)
        if weightless is None:
            self.switches.weightless = self.compiled.model.switches.weightless
        else:
            self.switches.weightless = flags_of(weightless)
        self.switch_serial = next_serial()

    # Parameters -------------------------------------------------------------------------------------------------

    @property
    def _serials(self):
        """Serial numbers of (time, q, v, parameters, inputs, switches), which grow with each write."""
        return (
            self.time_serial, self.q_serial, self.v_serial, self.parameter_serial, self.input_serial,
            self.switch_serial,
        )

    def _check_thawed(self, str what, int index):
        """Refuse to write to a frozen Context: a section of the parameters, or a switch, of an element."""
        if self._is_frozen:
            above.raise_frozen(self, what, index)

    @property
    def _parameter_vector(self):
        """The parameters, read-only, never written in place. Other scalars keep their own."""
        cdef Section alone
        alone.enter(self)
        return self._parameters

    def _note_change(self, str what):
        """Invalidate everything that depends on the "parameters", or on the "inputs"."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        if what == "parameters":
            self._check_thawed(what, 0)
            self.parameter_serial = next_serial()
        else:
            self.input_serial = next_serial()

    def _get_parameter(self, str section, int index):
        """A copy of the entries of one element in a section of the parameters."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t start, width
        width = self.compiled.find_parameters(section, index, &start)
        part = new1(width)
        memcpy(data(part), data(self._parameters) + start, width*sizeof(double))
        return part

    def _get_number(self, str section, int index, int entry=0):
        """One of the entries of one element in a section of the parameters."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t start
        if self.compiled.find_parameters(section, index, &start) <= entry:
            raise IndexError(f"{section} {index} has no entry {entry}")
        return data(self._parameters)[start + entry]

    def _set_parameter(self, str section, int index, values):
        """Write the entries of one element; the caller has checked them."""
        write_parameters(self, index, {section: values}, 0)

    def _set_number(self, str section, int index, int entry, value):
        """Write one of the entries of one element in a section; the caller has checked it."""
        write_parameters(self, index, {section: value}, entry)

    def _set_entries(self, str section, int index, int first, values):
        """Write some of the entries of one element in a section; the caller has checked them."""
        write_parameters(self, index, {section: values}, first)

    def _set_parameters(self, int index, dict sections):
        """Write the entries of elements from `index` on, section by section; the caller has checked them."""
        write_parameters(self, index, sections, 0)

    cdef Derived derived(self):
        if self._derived is None:
            self._derived = Derived(self.compiled, self._parameters)
        return self._derived


cdef const int* flags_of(array):
    """Memory of an array of flags; NULL if none is set."""
    cdef Py_ssize_t i
    cdef const int* flags
    if array is not None:
        flags = <const int*>cnp.PyArray_DATA(array)
        for i in range(size_of(array)):
            if flags[i]:
                return flags
    return NULL


cdef object copy_of_flags(const int* flags, cnp.npy_intp n):
    """An array of n flags copied from memory; all unset for NULL."""
    array = cnp.PyArray_ZEROS(1, &n, cnp.NPY_INT, 0)
    if flags != NULL:
        memcpy(cnp.PyArray_DATA(array), flags, n*sizeof(int))
    return array


cdef CompiledModel compiled_of_tree(tree):
    """The compiled model of a finalized tree."""
    compiled = getattr(tree, "_compiled", None)
    if compiled is None:
        above.compile_copy(tree)
        compiled = tree._compiled
    return compiled


cdef write_parameters(StateCore self, int index, dict sections, int first):
    """Write entries, section by section, from entry `first` of the element `index` on."""
    cdef Section alone
    alone.enter(self)
    cdef Py_ssize_t start, total = self.compiled.layout.size
    self.check_user()
    if self._is_frozen:
        for section in sections:
            self._check_thawed(section, index)
    parameters = new1(total)
    memcpy(data(parameters), data(self._parameters), total*sizeof(double))
    for section, values in sections.items():
        self.compiled.find_parameters(section, index, &start)
        start += first
        if isinstance(values, float) and start < total:
            data(parameters)[start] = values
        elif (
            cnp.PyArray_CheckExact(values) and cnp.PyArray_TYPE(values) == cnp.NPY_DOUBLE
            and cnp.PyArray_ISCARRAY_RO(values) and start + size_of(values) <= total
        ):
            memcpy(data(parameters) + start, data(values), size_of(values)*sizeof(double))
        else:
            parameters[start:start + np.size(values)] = np.ravel(values)
    cnp.PyArray_CLEARFLAGS(parameters, cnp.NPY_ARRAY_WRITEABLE)
    self._parameters = parameters
    self._derived = None
    self.parameter_serial = next_serial()


cdef check_positions(tree, CompiledModel compiled, const double* q):
    """Refuse positions in which a mobilizer has no pose: a zero quaternion."""
    cdef const Model* m = &compiled.model
    cdef int i, b
    for i in range(m.num_checked):
        b = m.checked[i]
        if position_is_singular(m.type[b], q + m.q_start[b]):
            above.raise_singular_position(tree, b)
