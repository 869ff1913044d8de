"""One computation for all samples of a batch: the data that its blocks share."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.engines.leading_axes cimport Operand
from mbt._core.model.structs cimport Model, ParameterLayout, Switches
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.table cimport MAX_INTEGERS, Description
from mbt._core.scalars cimport Lanes


# Where a rollout reads its inputs and writes the states that it keeps: directly in the users' arrays, one step at a
# time, so that a block needs memory for only one state, regardless of the number of steps.
cdef struct Path:
    const double* tau
    Py_ssize_t tau_of_sample, tau_of_step        # strides; zero where all share one input
    double* q
    double* v
    Py_ssize_t q_of_sample, v_of_sample
    double* q_end                # all states: on entry the initial ones, on return those after the last step; or NULL
    double* v_end


# One computation for all samples.
cdef struct Job:
    const Functions[Lanes]* functions
    const Description* row
    bint reads_kinematics
    int quantity
    int[<int>MAX_INTEGERS] integers
    const Model* model
    const ParameterLayout* layout
    const Switches* switches
    const Parameters[Lanes]* parameters          # shared by all samples, unless there are columns
    const double* common         # parameters; samples differ in some columns
    Operand parameter_rows       # the parameters that differ
    const Py_ssize_t* columns
    Py_ssize_t num_columns
    int changed                  # flags of differing data, see derive_parameters
    bint moves_elements          # whether force elements differ
    bint is_checked              # samples where a mobilizer has no pose are NaN
    bint has_rates               # also where qdot = N(q) v is undefined, for one mobilizer or any
    const Parameters[double]* checked_parameters  # also where an element with these parameters has no force, or NULL
    const Operand* operands      # q, v and the parts of the third input
    int num_operands
    bint spoils_input            # operands are loaded for each block
    double* outputs[3]
    int num_outputs
    Py_ssize_t output_size       # entries per sample, for each output
    bint in_rows                 # the kernel writes rows of doubles
    bint sparse                  # the kernel skips entries known from topology: see `set_places`
    bint streamed
    const Path* path             # of a rollout from arrays to arrays, else NULL
    Py_ssize_t count             # samples
    Py_ssize_t first_run         # samples before the first check for signals
    # For the parts given to threads:
    Py_ssize_t shared_from       # samples before this are done
    Py_ssize_t shared_to         # samples from here on come later
    int num_parts
