"""Computations from the state and parameters of one Context, and the contents of its copies."""

cimport numpy as cnp
from cpython.ref cimport PyObject
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Kinematics, Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport (
    adopt, apart, data, in1, is_array1, is_points, of_numbers, new1, out1, out2, out3, size as size_of,
)
from mbt._core.engines cimport double_engine
from mbt._core.engines.caches cimport PositionKinematicsCache, VelocityKinematicsCache, vector
from mbt._core.engines.context cimport ContextCore
from mbt._core.engines.section cimport Section
from mbt._core.engines.state cimport StateCore, compiled_of_tree
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

cdef extern from "engines/serial.hpp" namespace "MBT_NS" nogil:
    unsigned long long next_serial()


# Imported at the first use and kept, because looking it up takes longer than reading an angle.
cdef object doubles = None

cdef class Engine:

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        """Whether this is an input, (n,), that needs no conversion."""
        raise TypeError(f"{type(self).__name__} is not an engine")

    cdef int check_input(self, x, Py_ssize_t n) except -1:
        """Refuse anything but an input of n entries."""
        return 0

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        """Return a `Quantity` of a Context, written into `out` if given. Integers and input are already checked."""
        raise TypeError(f"{type(self).__name__} is not an engine")

    def evaluate(self, ContextCore context not None, int quantity, tuple integers not None, x=None, out=None):
        """Return a `Quantity` in its shape, from the values given to this engine, written into `out` if given.

        `context` provides the values for checks, the locked dofs, and the bodies without gravity.
        """
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &context.compiled.model, numbers)
        self.check_input(x, sizes_of(quantity, numbers, &context.compiled.model).input)
        return self.evaluate_quantity(context, quantity, numbers, x, out)


cdef class ContextCore(StateCore):
    """Computations from time, positions, velocities, inputs and parameters of one tree."""

    cdef object evaluate(self, int quantity, const int* integers, object x=None, object out=None):
        """Return a `Quantity` at the current values, written into `out` if given.

        `x` is the input in the scalar of this Context; its last axis is that of the quantity. The caller has checked
        the integers.
        """
        if self._engine is None:
            return self.evaluate_state(quantity, integers, x, out)
        if self._stale:
            self._push()
        return self._engine.evaluate_quantity(self, quantity, integers, x, out)

    def _evaluate(self, int quantity, tuple integers=(), x=None, out=None):
        """Return a `Quantity` at the current values; see `mbt._core.quantities.table`."""
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
        """Evaluate one state of doubles, from the caches."""
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
        """An argument, (n,) for each state, as an array of this Context's scalar."""
        if self._engine is None:
            return in1(value, name, n)
        if self._engine.accepts(value, n):
            return value
        return self._numbers.as_float_array(value, name, (n,))

    cdef object take_points(self, object value, str name, int* count):
        """Points as columns, (3, n), or one point, (3,), flattened to one axis; `count` is n, or -1."""
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
                # Doubles are read in place.
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
        """An array of doubles converted to the scalar of this Context."""
        return array if self._engine is None or self._takes_doubles else self._numbers.take_numbers(array)

    cdef object concatenate(self, tuple parts):
        """Concatenate arrays of this Context's scalar along their last axis."""
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

    def _write_part(self, bint of_v, Py_ssize_t start, Py_ssize_t count, values):
        """Write some positions or velocities, a float or a vector; False if more is to be done.

        More is needed for scalars other than doubles, for many states, and for anything but a vector of this length.
        """
        return self._engine is None and self.write_part(of_v, start, count, values)

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

    @property
    def _numbers(self):
        """The checks and conversions of values that elements write into this Context; see `mbt.math.numbers`."""
        global doubles
        if doubles is None:
            from mbt.math.numbers import DOUBLES
            doubles = DOUBLES
        return doubles

    # Contents of a copy: anything added to a Context must be added to `_get_state` and `_set_state`.

    def _get_state(self):
        """The contents of a copy of this Context, by name."""
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
        cdef Section of_other
        alone.enter(self)
        of_other.enter(other)
        other.check_user()
        self._store_q(other.q_data)
        self._store_v(other.v_data)
        self._store_actuation(other._actuation.data)
        self._time = other._time
        self._applied_forces = None if other._applied_forces is None else other._applied_forces.clone()
        # Arrays of flags are never written in place.
        self._locked, self._weightless, self._disabled = other._locked, other._weightless, other._disabled
        self.switches = other.switches
        self.switch_serial = next_serial()
        # The values are the same, so the derived data are too.
        self._parameters = other._parameters
        self._derived = other._derived
        self.q_serial = other.q_serial
        self.v_serial = other.v_serial
        self.parameter_serial = other.parameter_serial
        self.time_serial = other.time_serial

    def _move_to(self, tree):
        """Attach this Context to a copy of its tree."""
        cdef Section alone
        alone.enter(self)
        state = self._get_state()
        self.compiled = compiled_of_tree(tree)
        self.tree = tree
        self._pc = None
        self._vc = None
        self._set_state(state)
    # Kinematics -----------------------------------------------------------------------------------------------------

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


def _frozen_copy(array):
    copy = np.array(array)
    copy.flags.writeable = False
    return copy


def _frozen_flags(flags, name, size):
    if flags is None:
        return None
    from mbt.math.arrays import as_float_array
    return _frozen_copy((as_float_array(flags, name, (size,)) != 0.0).astype(np.intc))


cdef check_maps(tree, CompiledModel compiled, const double* q, int node):
    """Refuse positions in which qdot = N(q) v is undefined: gimbal lock of mobilizer `node`, or of any if -1."""
    cdef const Model* m = &compiled.model
    cdef int i, b
    for i in range(m.num_map_checked):
        b = m.map_checked[i]
        if (node < 0 or b == node) and map_is_singular(m.type[b], q + m.q_start[b]):
            above.raise_singular_map(tree, b)


cdef check_elements_at(tree, const Model* m, const Parameters[double]* p, const double* X_WB, int element):
    """Refuse poses in which the force of an element is undefined: of the given one, or of any if -1."""
    cdef int singular = kernels.find_singular_element(m, p, X_WB, element) if m.num_elements_between else -1
    if singular >= 0:
        above.raise_singular_element(tree, singular)


cdef object flat(ContextCore c, F_Bo_W):
    """Forces on bodies, (num_bodies, 6), flattened to one axis; doubles of one state are read in place."""
    if c._engine is None:
        return F_Bo_W
    cdef tuple shape = F_Bo_W.shape
    cdef Py_ssize_t lead = len(shape) - 2
    return F_Bo_W.reshape(shape[:lead] + (6*shape[lead],))


cdef object of_bodies(F):
    """The inverse of `flat`."""
    cdef tuple shape = F.shape
    cdef Py_ssize_t lead = len(shape) - 1
    return F.reshape(shape[:lead] + (shape[lead]//6, 6))


cdef tuple sum_of(list pairs):
    """The sum of forces, (None, None) if there are none."""
    if pairs is None or not pairs:
        return None, None
    F_Bo_W, tau = pairs[0]
    for more_F, more_tau in pairs[1:]:
        F_Bo_W, tau = F_Bo_W + more_F, tau + more_tau
    return F_Bo_W, tau
