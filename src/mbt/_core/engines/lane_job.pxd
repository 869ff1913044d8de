"""One computation of all samples of a batch: what blocks of them are given."""

from mbt._core.algebra.records cimport Parameters
from mbt._core.engines.leading_axes cimport Operand
from mbt._core.model.structs cimport Model, ParameterLayout, Switches
from mbt._core.quantities.call cimport Functions
from mbt._core.quantities.table cimport MAX_INTEGERS, Description
from mbt._core.scalars cimport Lanes


# Where a rollout takes its inputs from, and leaves the states that it keeps: as they lie in the arrays of users, a step
# at a time, so that a block needs memory for one state whatever the number of steps.
cdef struct Path:
    const double* tau
    Py_ssize_t tau_of_sample, tau_of_step        # strides; zero where one input is for all
    double* q
    double* v
    Py_ssize_t q_of_sample, v_of_sample
    double* q_end                # and all states behind the last step, which are those of the beginning before; or NULL
    double* v_end


# One computation of all samples.
cdef struct Job:
    const Functions[Lanes]* functions
    const Description* row
    bint reads_kinematics
    int quantity
    int[<int>MAX_INTEGERS] integers
    const Model* model
    const ParameterLayout* layout
    const Switches* switches
    const Parameters[Lanes]* parameters          # the same for all samples, unless there are columns
    const double* common         # parameters, of which samples have their own in some columns
    Operand parameter_rows       # these
    const Py_ssize_t* columns
    Py_ssize_t num_columns
    int changed                  # by them, see derive_parameters
    bint moves_elements          # whether they do
    bint is_checked              # samples where a mobilizer has no pose are NaN
    bint has_rates               # and where qdot = N(q) v is undefined, of one mobilizer or of any
    const Parameters[double]* checked_parameters  # and where an element of these has no force; NULL: none
    const Operand* operands      # q, v, and the parts of the third input
    int num_operands
    bint spoils_input            # operands are loaded for each block
    double* outputs[3]
    int num_outputs
    Py_ssize_t output_size       # numbers a sample, of each output
    bint in_rows                 # the kernel writes rows of doubles
    bint sparse                  # the kernel leaves out what topology knows: see `set_places`
    bint streamed
    const Path* path             # of a rollout from arrays to arrays, else NULL
    Py_ssize_t count             # samples
    Py_ssize_t first_run         # of them before the first look at signals
    # Of the parts for threads:
    Py_ssize_t shared_from       # samples before are done
    Py_ssize_t shared_to         # and from here on come later
    int num_parts
