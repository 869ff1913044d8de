"""The contents of a Context: time, state, inputs, switches and parameters of one tree."""

from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.engines.caches cimport Memory
from mbt._core.model.structs cimport Switches


cdef class StateCore:
    cdef readonly object tree
    cdef CompiledModel compiled
    cdef Memory _q, _v, _actuation
    cdef double* q_data                      # data of _q and _v
    cdef double* v_data
    cdef object _parameters                  # (layout.size,) read-only array, never written in place
    cdef double _time
    cdef object _applied_forces              # None until requested
    cdef Derived _derived                    # derived from the parameters; None after a change
    cdef object _locked                      # (num_velocities,) array of int, never written in place; None: all free
    cdef object _weightless                  # (num_bodies,) array of int, never written in place; None: all fall
    cdef object _disabled                    # (num_constraints,) array of int, never written in place; None: all active
    cdef Switches switches                   # pointers into these three
    # Serial numbers, which grow with each write.
    cdef unsigned long long time_serial, q_serial, v_serial, parameter_serial, input_serial, switch_serial
    # The thread in a call that other threads may interrupt, and how many such calls are nested.
    cdef unsigned long user
    cdef long process                        # of that thread
    cdef int num_uses
    cdef int num_forks                       # number of forks that ended all uses
    cdef public bint _is_frozen              # parameters and switches cannot change
    cdef int check_user(self) except -1
    cdef _reset(self)
    cdef bint write_part(self, bint of_v, Py_ssize_t start, Py_ssize_t count, object values) except -1
    cdef int _store_q(self, const double* values) except -1
    cdef int _store_v(self, const double* values) except -1
    cdef _store_actuation(self, const double* values)
    cdef _take_switches(self, locked, weightless, disabled)
    cdef Derived derived(self)


cdef class Exclusive:
    """A context manager within which only one thread uses a Context."""
    cdef StateCore context
    cdef int num_forks


cdef CompiledModel compiled_of_tree(tree)
cdef check_positions(tree, CompiledModel compiled, const double* q)
