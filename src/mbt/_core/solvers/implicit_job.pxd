"""Implicit steps of many samples: the data that threads share."""

cimport numpy as cnp

from mbt._core.solvers.implicit_rows cimport StepInput, Terms


# How a step ends.
cdef enum StepState:
    DONE
    NOT_FINITE
    SINGULAR

# Takes one step of one sample, see `take_step`.
ctypedef int (*SingleStep)(
    const Terms* terms, const StepInput* at, double* work, double* q1, double* v1) noexcept nogil

cdef struct Field:
    # A pointer in `Terms` to an array with a row for each sample.
    Py_ssize_t offset         # in bytes, from their beginning
    Py_ssize_t stride         # from row to row

cdef struct Job:
    const Terms** terms       # of each sample
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts
    double h
    double* q0                # states at which the steps begin; a rollout advances them
    double* v0
    const double* tau
    Py_ssize_t sample_stride  # of tau; 0 where all samples have the same
    Py_ssize_t step_stride    # 0 where all steps have the same
    Py_ssize_t first          # steps
    Py_ssize_t last
    Py_ssize_t every
    Py_ssize_t num_rows       # of each sample in q, v and what follows
    double* q
    double* v
    int* states               # StepState of each sample
    char* singular            # 1 where the first step has no solution
    Py_ssize_t num_doubles    # of working memory that one sample needs
    SingleStep take_one
    # Used by `take` only.
    const double* bias
    cnp.npy_intp* iterations
    double* residual
    char* at_limit
    char* saturated
    char* clipped
    double* drive
    double* told
