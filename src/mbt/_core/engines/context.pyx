"""State and parameters of one Context, and what is computed from them."""

cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport (
    adopt, apart, data, in1, is_array1, is_points, of_numbers, new1, out1, out2, out3, size as size_of,
)
from mbt._core.engines cimport double_engine
from mbt._core.engines.caches cimport Memory, PositionKinematicsCache, VelocityKinematicsCache, vector
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.joints.mobilizers cimport map_is_singular, position_is_singular
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.table cimport (
    IMPULSE_DYNAMICS, MAX_INTEGERS, MOBILIZER, POSES, POSITIONS, VELOCITIES, Description, Sizes, describe, element_of,
    integer_of, needs_element_forces, needs_maps, sizes_of, take_integers,
)

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


# Imported at the first use, and kept: looking it up takes longer than reading an angle.
cdef object doubles = None


cdef class Exclusive:

    def __cinit__(self, ContextCore context not None):
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
            # It began before a fork that has ended all uses.
            return
        self.context.num_uses -= 1
        if self.context.num_uses == 0:
            self.context.user = 0


cdef refuse_deletion(str name):
    # For a deleter of each. One __delattr__ for all makes every assignment slower: 3 % of a small gradient
    # (benchmarks/instruction_counts.py).
    raise AttributeError(f"{name} of a Context cannot be deleted")


cdef class Engine:

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        """Whether this is an input, (n,), as it is."""
        raise TypeError(f"{type(self).__name__} is not an engine")

    cdef int check_input(self, x, Py_ssize_t n) except -1:
        """Refuse what is not an input of n numbers."""
        return 0

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        """Return a `Quantity` of a Context, written into `out` if there is one. Integers and input are checked."""
        raise TypeError(f"{type(self).__name__} is not an engine")

    def evaluate(self, ContextCore context not None, int quantity, tuple integers not None, x=None, out=None):
        """Return a `Quantity` in its shape, of what this engine was given, written into `out` if there is one.

        The values of `context` serve the checks, and tell what is locked, and what gravity spares.
        """
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &context.compiled.model, numbers)
        self.check_input(x, sizes_of(quantity, numbers, &context.compiled.model).input)
        return self.evaluate_quantity(context, quantity, numbers, x, out)


cdef class ContextCore:
    """Time, positions, velocities, inputs and parameters of one tree, and what was computed from them."""

    def __cinit__(self, tree):
        # Not in __init__: an object that exists must have its arrays.
        self.compiled = _compiled_of(tree)
        self.tree = tree
        self._reset()

    def _exclusive(self):
        """A context manager: within it, another thread that uses this Context gets a ConcurrentUseError.

        A call that holds the GIL throughout has no need of it. Those that release it do, and those that run Python
        code, as elements that users write.
        """
        return Exclusive(self)

    cdef int check_user(self) except -1:
        if self.user == 0 or self.user == PyThread_get_thread_ident():
            return 0
        if self.process != process_id():
            # A child after `fork`: the thread is not here.
            self.user = self.num_uses = 0
            self.num_forks += 1
        else:
            above.raise_concurrent_use()
        return 0

    # What is computed ---------------------------------------------------------------------------------------------

    cdef object evaluate(self, int quantity, const int* integers, object x=None, object out=None):
        """Return a `Quantity` at the present values, written into `out` if there is one.

        `x` is the input in numbers of this Context, its last axis being that of the quantity. The caller has checked
        the integers.
        """
        if self._engine is None:
            return self.evaluate_state(quantity, integers, x, out)
        if self._stale:
            self._push()
        return self._engine.evaluate_quantity(self, quantity, integers, x, out)

    def _evaluate(self, int quantity, tuple integers=(), x=None, out=None):
        """Return a `Quantity` at the present values; see `mbt._core.quantities.table`."""
        cdef Section alone
        alone.enter(self)
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &self.compiled.model, numbers)
        cdef Py_ssize_t n = sizes_of(quantity, numbers, &self.compiled.model).input
        if self._engine is not None:
            self._engine.check_input(x, n)
        elif n:
            x = in1(x, "x", n)
        return self.evaluate(quantity, numbers, x, out)

    cdef object evaluate_state(self, int quantity, const int* integers, object x, object out):
        """Of one state of doubles, from the caches."""
        cdef const Model* m = &self.compiled.model
        cdef const Description* description = describe(quantity)
        cdef PositionKinematicsCache pc = None
        cdef VelocityKinematicsCache vc
        cdef Derived derived
        cdef Kinematics[double] k
        cdef Sizes sizes = sizes_of(quantity, integers, m)
        cdef double number = 0.0
        cdef double* target = &number
        if sizes.num_axes == 1:
            out = out1(out, "out", sizes.shape[0])
        elif sizes.num_axes == 2:
            out = out2(out, "out", sizes.shape[0], sizes.shape[1])
        elif sizes.num_axes == 3:
            out = out3(out, "out", sizes.shape[0], sizes.shape[1], sizes.shape[2])
        if sizes.num_axes:
            target = data(out)
            if x is not None:
                x = apart(x, out)
        derived = self.derived()
        if m.num_map_checked and needs_maps(quantity, integers):
            check_maps(self.tree, self.compiled, self.q_data, integer_of(quantity, integers, MOBILIZER))
        if description.reads >= POSES or m.num_elements_between and needs_element_forces(quantity, integers):
            pc = self.poses()
            if m.num_elements_between and needs_element_forces(quantity, integers):
                check_elements_at(
                    self.tree, m, &derived.parameters, pc.X_WB_data, element_of(quantity, integers)
                )
            if description.reads >= POSITIONS:
                pc = self.position()
            if description.reads == VELOCITIES:
                vc = self.velocity()
                k.V_PB_W, k.V_PB, k.V_WB = vc.V_PB_W_data, vc.V_PB_data, vc.V_WB_data
            k.X_FM, k.X_PB, k.X_WB = pc.X_FM_data, pc.X_PB_data, pc.X_WB_data
            k.H_FM, k.H_PB_W = pc.H_FM_data, pc.H_PB_W_data
        cdef int singular = double_engine.evaluate(
            quantity, integers, m, &self.switches, &derived.parameters, self.q_data, self.v_data,
            <const double*>NULL if x is None else <const double*>data(x), &k, target
        )
        if singular >= 0:
            above.raise_singular_pivot(
                self.tree, singular, "impulse dynamics" if quantity == IMPULSE_DYNAMICS else "forward dynamics"
            )
        return out if sizes.num_axes else number

    cdef object take(self, object value, str name, Py_ssize_t n):
        """An argument, (n,) of each state, as an array of the numbers of this Context."""
        if self._engine is None:
            return in1(value, name, n)
        if self._engine.accepts(value, n):
            return value
        return self._numbers.as_float_array(value, name, (n,))

    cdef object take_points(self, object value, str name, int* count):
        """Points as columns, (3, n), or one point, (3,), as numbers in one axis; `count` is n, or -1."""
        count[0] = -1
        if is_array1(value, 3) and (self._engine is None or self._engine.accepts(value, 3)):
            return value
        if self._engine is None:
            points = of_numbers(value, 3)
            if points is not None:
                return points
        cdef tuple shape
        cdef bint is_exact = is_points(value)
        if self._engine is None:
            points = value if is_exact else above.as_points(value, name)
            if points.ndim > 1:
                # Doubles are read as they lie in memory.
                count[0] = points.shape[1]
            return points
        if is_exact:
            count[0] = value.shape[1]
            points = value.reshape(3*count[0])
            if self._engine.accepts(points, 3*count[0]):
                return points
            count[0] = -1
        points = above.as_points(value, name, self._numbers, self.batch_shape)
        shape = points.shape
        if len(shape) > 1:
            count[0] = shape[len(shape) - 1]
            points = points.reshape(shape[:len(shape) - 2] + (3*count[0],))
        return points

    cdef object zeros(self, Py_ssize_t n):
        """Zeros, (n,), as an input."""
        return np.zeros(n) if self._engine is None or self._takes_doubles else self._numbers.zeros((n,))

    cdef object numbers_of(self, object array):
        """An array of doubles in the numbers of this Context."""
        return array if self._engine is None or self._takes_doubles else self._numbers.take_numbers(array)

    cdef object concatenate(self, tuple parts):
        """Arrays of the numbers of this Context, one behind the other along their last axis."""
        cdef Py_ssize_t total = 0
        cdef double* target
        if self._engine is not None:
            return self._numbers.concatenate(parts)
        for part in parts:
            total += size_of(part)
        joined = new1(total)
        target = data(joined)
        for part in parts:
            memcpy(target, data(part), size_of(part)*sizeof(double))
            target += size_of(part)
        return joined

    cdef _reset(self):
        """Everything to its default."""
        cdef const Model* m = &self.compiled.model
        # Fresh memory is zero, and leaves what was handed out to its holders.
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
        """Whether anybody has asked for the applied forces. Until then they are zero, and cost nothing."""
        return self._applied_forces is not None

    def _write_part(self, bint of_v, Py_ssize_t start, Py_ssize_t count, values):
        """Write some positions or velocities, one float or a vector; False, if there is more to do than that.

        More is to be done of other numbers than doubles, of many states, and of what is not a vector of this length.
        """
        cdef Memory memory
        if self._engine is not None:
            return False
        memory = self._v if of_v else self._q
        if start < 0 or start + count > memory.size:
            return False
        changed = new1(memory.size)
        memcpy(data(changed), memory.data, memory.size*sizeof(double))
        if count == 1 and type(values) is float:
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

    # Locks, bodies that gravity spares, constraints that are off ------------------------------------------------

    def _set_locked(self, int start, int count, bint locked):
        """Lock or unlock dofs; a locked dof is at rest."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("lock", start)
        cdef int i, nv = self.compiled.model.num_velocities
        cdef int* of_dof
        cdef bint any_locked = False
        flags = np.zeros(nv, dtype=np.intc) if self._locked is None else self._locked.copy()
        of_dof = <int*>cnp.PyArray_DATA(flags)
        for i in range(max(0, start), min(start + count, nv)):
            of_dof[i] = locked
        for i in range(nv):
            any_locked = any_locked or of_dof[i] != 0
        if locked and count:
            v = new1(nv)
            memcpy(data(v), self.v_data, nv*sizeof(double))
            for i in range(max(0, start), min(start + count, nv)):
                data(v)[i] = 0.0
            self._store_v(data(v))
        self._take_switches(flags if any_locked else None, self._weightless, self._disabled)

    def _is_locked(self, int start, int count):
        """Whether there are dofs, and all of them are locked."""
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

    def _find_singular_joints(self):
        """BodyNodeIndex of each mobilizer without a pose, a zero quaternion, and of each at gimbal lock."""
        cdef Section alone
        alone.enter(self)
        cdef const Model* m = &self.compiled.model
        cdef int i
        positions = [
            m.checked[i] for i in range(m.num_checked)
            if position_is_singular(m.type[m.checked[i]], self.q_data + m.q_start[m.checked[i]])
        ]
        maps = [
            m.map_checked[i] for i in range(m.num_map_checked)
            if map_is_singular(m.type[m.map_checked[i]], self.q_data + m.q_start[m.map_checked[i]])
        ]
        return positions, maps

    def _set_weightless(self, nodes, bint weightless):
        """Let gravity spare bodies, or not, given by BodyNodeIndex."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("weightless", 0)
        flags = self._weightless_flags()
        flags[nodes] = weightless
        self._take_switches(self._locked, flags, self._disabled)

    def _is_weightless(self, int node):
        return bool(self._weightless_flags()[node])

    def _weightless_flags(self):
        """A copy of the flags, by BodyNodeIndex."""
        cdef Section alone
        alone.enter(self)
        cdef int b
        if self._weightless is not None:
            return self._weightless.copy()
        flags = np.zeros(self.compiled.model.num_bodies, dtype=np.intc)
        if self.compiled.model.switches.weightless != NULL:
            for b in range(self.compiled.model.num_bodies):
                flags[b] = self.compiled.model.switches.weightless[b]
        return flags

    def _set_disabled(self, int index, bint disabled):
        """Let what is computed obey a constraint, or not."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("disabled", index)
        if self._disabled is None:
            flags = np.zeros(self.compiled.model.num_constraints, dtype=np.intc)
        else:
            flags = self._disabled.copy()
        flags[index] = disabled
        self._take_switches(self._locked, self._weightless, flags if flags.any() else None)

    def _is_disabled(self, int index):
        cdef Section alone
        alone.enter(self)
        return self._disabled is not None and bool(self._disabled[index])

    cdef _take_switches(self, locked, weightless, disabled):
        """Take arrays of flags that nobody writes any more; None stands for the default."""
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

    @property
    def _numbers(self):
        """What checks and converts the numbers that elements write into this Context, see `mbt.math.numbers`."""
        global doubles
        if doubles is None:
            from mbt.math.numbers import DOUBLES
            doubles = DOUBLES
        return doubles

    # Parameters -------------------------------------------------------------------------------------------------

    @property
    def _serials(self):
        """What changed: (time, q, v, parameters, inputs, switches); a number grows with each write."""
        return (
            self.time_serial, self.q_serial, self.v_serial, self.parameter_serial, self.input_serial,
            self.switch_serial,
        )

    def _check_thawed(self, str what, int index):
        """Refuse to write what a frozen Context keeps: a section of the parameters, or a switch, of an element."""
        if self._is_frozen:
            above.raise_frozen(self, what, index)

    @property
    def _parameter_vector(self):
        """The parameters, read-only, never written in place. Other numbers than doubles have their own."""
        cdef Section alone
        alone.enter(self)
        return self._parameters

    def _note_change(self, str what):
        """Make stale what depends on the "parameters", or on the "inputs"."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        if what == "parameters":
            self._check_thawed(what, 0)
            self.parameter_serial = next_serial()
        else:
            self.input_serial = next_serial()

    def _get_parameter(self, str section, int index):
        """Copy of the numbers that one element has in a section of the parameters."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t start, width
        width = self.compiled.find_parameters(section, index, &start)
        part = new1(width)
        memcpy(data(part), data(self._parameters) + start, width*sizeof(double))
        return part

    def _get_number(self, str section, int index, int entry=0):
        """One of the numbers that one element has in a section of the parameters."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t start
        if self.compiled.find_parameters(section, index, &start) <= entry:
            raise IndexError(f"{section} {index} has no number {entry}")
        return data(self._parameters)[start + entry]

    def _set_parameter(self, str section, int index, values):
        """Write the numbers of one element; the caller has checked them."""
        self._set_parameters(index, {section: values})

    def _set_number(self, str section, int index, int entry, value):
        """Write one of the numbers that one element has in a section; the caller has checked it."""
        write_parameters(self, index, {section: value}, entry)

    def _set_entries(self, str section, int index, int first, values):
        """Write some of the numbers that one element has in a section; the caller has checked them."""
        write_parameters(self, index, {section: values}, first)

    def _set_parameters(self, int index, dict sections):
        """Write the numbers of elements from `index` on, section by section; the caller has checked them."""
        write_parameters(self, index, sections, 0)

    # What a copy has: `_get_state` and `_set_state` are the places for whatever else a Context may come to hold.

    def _get_state(self):
        """All that a copy of this Context has, by name."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        forces = self._applied_forces
        is_default = self._parameters is self.compiled.default_parameters
        return {
            "time": self._time,
            "q": vector(self._q),
            "v": vector(self._v),
            "actuation": vector(self._actuation),
            "parameters": None if is_default else self._parameters,
            "locked": self._locked,
            "weightless": self._weightless,
            "disabled": self._disabled,
            "applied_forces": None if forces is None else (forces.body_forces, forces.generalized_forces),
        }

    def _set_state(self, state):
        """Take over what `_get_state` of a Context of this tree, or of a copy of it, returned."""
        cdef Section alone
        alone.enter(self)
        self.check_user()
        self._check_thawed("everything", 0)
        cdef const Model* m = &self.compiled.model
        q = in1(state["q"], "q", m.num_positions)
        v = in1(state["v"], "v", m.num_velocities)
        actuation = in1(state["actuation"], "actuation", m.num_actuators)
        parameters = state["parameters"]
        if parameters is not None:
            parameters = _frozen_copy(in1(parameters, "parameters", self.compiled.layout.size))
        locked = _frozen_flags(state["locked"], "locked", m.num_velocities)
        weightless = _frozen_flags(state["weightless"], "weightless", m.num_bodies)
        disabled = _frozen_flags(state["disabled"], "disabled", m.num_constraints)
        forces = None
        if state["applied_forces"] is not None:
            forces = above.MultibodyForces(self.tree)
            forces.body_forces, forces.generalized_forces = state["applied_forces"]
        self.time = state["time"]
        self._store_q(data(q))
        self._store_v(data(v))
        self._store_actuation(data(actuation))
        if parameters is None:
            self._parameters, self._derived = self.compiled.default_parameters, self.compiled.defaults
            self.parameter_serial = 0
        else:
            self._parameters, self._derived = parameters, None
            self.parameter_serial = next_serial()
        self._applied_forces = forces
        self._take_switches(locked, weightless, disabled)

    def _copy_from(self, ContextCore other not None):
        """Take over state, inputs and parameters of another Context of this tree."""
        cdef Section alone
        alone.enter(self)
        self._set_state(other._get_state())
        # The values are the same, so what was computed from them is.
        self._parameters = other._parameters
        self._derived = other._derived
        self.q_serial = other.q_serial
        self.v_serial = other.v_serial
        self.parameter_serial = other.parameter_serial
        self.time_serial = other.time_serial

    def _move_to(self, tree):
        """Become a Context of a copy of its tree."""
        cdef Section alone
        alone.enter(self)
        state = self._get_state()
        self.compiled = _compiled_of(tree)
        self.tree = tree
        self._pc = None
        self._vc = None
        self._set_state(state)

    cdef Derived derived(self):
        if self._derived is None:
            self._derived = Derived(self.compiled, self._parameters)
        return self._derived

    cdef PositionKinematicsCache poses(self):
        """Position kinematics of which only X_WB is known to be computed; computed if stale."""
        cdef PositionKinematicsCache pc
        if (
            self._pc is not None and self._pc.q_serial == self.q_serial
            and self._pc.parameter_serial == self.parameter_serial
        ):
            return self._pc
        if self._pc is None or Py_REFCNT(<PyObject*>self._pc) > 1:
            self._pc = PositionKinematicsCache(self.compiled)
        pc = self._pc
        pc.compute(self.derived(), self.q_data, self.q_serial, self.parameter_serial)
        return pc

    cdef PositionKinematicsCache position(self):
        """Position kinematics, computed if stale."""
        cdef PositionKinematicsCache pc = self.poses()
        if not pc.is_complete:
            pc.complete()
        return pc

    cdef VelocityKinematicsCache velocity(self):
        """Velocity kinematics, computed if stale."""
        cdef VelocityKinematicsCache vc
        if (
            self._vc is not None and self._vc.q_serial == self.q_serial and self._vc.v_serial == self.v_serial
            and self._vc.parameter_serial == self.parameter_serial
        ):
            return self._vc
        if self._vc is None or Py_REFCNT(<PyObject*>self._vc) > 1:
            self._vc = VelocityKinematicsCache(self.compiled)
        vc = self._vc
        vc.compute(self.position(), self.v_data, self.v_serial)
        return vc


cdef const int* flags_of(array):
    """Memory of an array of flags; NULL where none is set."""
    if array is None or not array.any():
        return NULL
    return <const int*>cnp.PyArray_DATA(array)


cdef CompiledModel _compiled_of(tree):
    """The compiled model of a finalized tree."""
    compiled = getattr(tree, "_compiled", None)
    if compiled is None:
        above.compile_copy(tree)
        compiled = tree._compiled
    return compiled


def _frozen_copy(array):
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _frozen_flags(flags, name, size):
    if flags is None:
        return None
    from mbt.math.arrays import as_float_array
    return _frozen_copy((as_float_array(flags, name, (size,)) != 0.0).astype(np.intc))


cdef write_parameters(ContextCore self, int index, dict sections, int first):
    """Write numbers, section by section, from entry `first` of the element `index` on."""
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
        if type(values) is float and start < total:
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


cdef check_maps(tree, CompiledModel compiled, const double* q, int node):
    """Refuse positions in which qdot = N(q) v is undefined: gimbal lock of one mobilizer, or of any: -1."""
    cdef const Model* m = &compiled.model
    cdef int i, b
    for i in range(m.num_map_checked):
        b = m.map_checked[i]
        if (node < 0 or b == node) and map_is_singular(m.type[b], q + m.q_start[b]):
            above.raise_singular_map(tree, b)


cdef check_elements_at(tree, const Model* m, const Parameters[double]* p, const double* X_WB, int element):
    """Refuse poses in which the force of an element is undefined: of one, or of any: -1."""
    cdef int singular = kernels.find_singular_element(m, p, X_WB, element)
    if singular >= 0:
        above.raise_singular_element(tree, singular)
