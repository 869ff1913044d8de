"""What a Context holds: time, state, inputs, switches and parameters of one tree."""

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.engines.caches cimport Memory
from mbt._core.model.structs cimport Switches


cdef class StateCore:
    cdef readonly object tree
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
    cdef public bint _is_frozen              # parameters and switches stay as they are
    cdef int check_user(self) except -1
    cdef _reset(self)
    cdef bint write_part(self, bint of_v, Py_ssize_t start, Py_ssize_t count, object values) except -1
    cdef int _store_q(self, const double* values) except -1
    cdef int _store_v(self, const double* values) except -1
    cdef _store_actuation(self, const double* values)
    cdef _take_switches(self, locked, weightless, disabled)
    cdef Derived derived(self)


cdef class Exclusive:
    """A context manager: one thread uses a Context."""
    cdef StateCore context
    cdef int num_forks


cdef CompiledModel compiled_of_tree(tree)
cdef check_positions(tree, CompiledModel compiled, const double* q)
