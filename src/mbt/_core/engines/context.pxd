"""A Context, and what evaluates its quantities."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.engines.caches cimport Memory, PositionKinematicsCache, VelocityKinematicsCache
from mbt._core.model.structs cimport Model, Switches


cdef class Engine:
    """What evaluates quantities in numbers of one kind, for one Context: one state of doubles needs none."""
    cdef bint accepts(self, object value, Py_ssize_t n) except -1
    cdef int check_input(self, object x, Py_ssize_t n) except -1
    cdef object evaluate_quantity(
        self, ContextCore context, int quantity, const int* integers, object x, object out)


cdef class ContextCore:
    cdef readonly object tree
    # What evaluates quantities; None: kernels do, of one state of doubles.
    cdef public Engine _engine
    cdef CompiledModel compiled
    cdef Memory _q, _v, _actuation
    cdef double* q_data                      # what _q and _v hold
    cdef double* v_data
    cdef object _parameters                  # (layout.size,) read-only array, never written in place
    cdef double _time
    cdef object _applied_forces              # None until somebody asks for them
    cdef Derived _derived                    # of the parameters; None after one has changed
    cdef object _locked                      # (num_velocities,) array of int, never written in place; None: all move
    cdef object _weightless                  # (num_bodies,) array of int, never written in place; None: all weigh
    cdef object _disabled                    # (num_constraints,) array of int, never written in place; None: all are on
    cdef Switches switches                   # what these three hold
    # What changed: a number that grows with each write.
    cdef unsigned long long time_serial, q_serial, v_serial, parameter_serial, input_serial, switch_serial
    # The thread in a call that others may come between, and how many such calls of it are nested.
    cdef unsigned long user
    cdef long process                        # of that thread
    cdef int num_uses
    cdef int num_forks                       # that ended all uses
    cdef PositionKinematicsCache _pc
    cdef VelocityKinematicsCache _vc
    cdef object _frame_body_poses            # a FrameBodyPoseCache, or None
    cdef object _forward_accelerations       # a ForwardAccelerations, or None
    cdef public bint _is_frozen              # parameters and switches stay as they are
    cdef int check_user(self) except -1
    cdef object evaluate(self, int quantity, const int* integers, object x=*, object out=*)
    cdef object evaluate_state(self, int quantity, const int* integers, object x, object out)
    cdef object take(self, object value, str name, Py_ssize_t n)
    cdef object take_points(self, object value, str name, int* count)
    cdef object concatenate(self, tuple parts)
    cdef object zeros(self, Py_ssize_t n)
    cdef object numbers_of(self, object array)
    cdef _reset(self)
    cdef Derived derived(self)
    cdef PositionKinematicsCache poses(self)
    cdef PositionKinematicsCache position(self)
    cdef VelocityKinematicsCache velocity(self)
    cdef int _store_q(self, const double* values) except -1
    cdef int _store_v(self, const double* values) except -1
    cdef _store_actuation(self, const double* values)
    cdef _take_switches(self, locked, weightless, disabled)


cdef class Exclusive:
    """A context manager: one thread uses a Context."""
    cdef ContextCore context
    cdef int num_forks


cdef check_positions(tree, CompiledModel compiled, const double* q)
cdef check_maps(tree, CompiledModel compiled, const double* q, int node)
cdef check_elements_at(tree, const Model* m, const Parameters[double]* p, const double* X_WB, int element)
