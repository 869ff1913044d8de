"""All computations of a tree in values with derivatives.

An engine holds the parameters, q and v of one Context in the form that kernels read.
"""

cimport numpy as cnp
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Parameters
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.door.exact_arrays cimport adopt, count_columns, data, is_array1, new1, new2
from mbt._core.engines.context cimport ContextCore, Engine, check_maps
from mbt._core.engines.dual_partials cimport calc_by_partials, count_memory_of_partials
from mbt._core.engines.section cimport Section, publish
from mbt._core.engines.state cimport check_positions
from mbt._core.model.structs cimport Model
from mbt._core.quantities cimport kernels
from mbt._core.quantities.call cimport Call, Functions, find_pivot_of_zero
from mbt._core.quantities.dispatch cimport calc_quantity, count_work_of
from mbt._core.quantities.dynamics cimport register_mass_matrix
from mbt._core.quantities.every cimport register_quantities
from mbt._core.quantities.table cimport (
    DIVIDES, IMPULSE_DYNAMICS, MAX_INTEGERS, MOBILIZER, NO_QUANTITY, Description, Sizes, describe, element_of,
    integer_of, needs_element_forces, needs_maps, shape_tuple, sizes_of, take_integers,
)
from mbt._core.scalars cimport MBT_W, Dual, load_duals, store_duals

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "quantities/arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)


cdef Functions[Dual] of_duals
register_quantities[Dual](&of_duals)
register_mass_matrix[Dual](&of_duals)

# Imported at the first use, because importing `mbt.autodiff` takes time.
cdef object autodiff_array = None
cdef object new_array = None


cdef object get_autodiff_array():
    global autodiff_array, new_array
    if autodiff_array is None:
        cls = above.AutoDiffArray
        new_array = cls.__new__
        publish()
        autodiff_array = cls  # last, because other threads test it
    return autodiff_array


cdef object new_autodiff(values, derivatives):
    cls = get_autodiff_array()
    array = new_array(cls)
    array._value = values
    array._derivatives = derivatives
    return array


cdef int check_numbers(Py_ssize_t n, x, dx) except -1:
    """Check an input of n entries and its derivatives, None for constants."""
    if n and (x is None or not is_array1(x, n)):
        raise ValueError(f"x: expected a float64 array of {n} entries")
    if n and dx is not None and count_columns(dx, n) < 0:
        raise ValueError(f"dx: expected a float64 array of shape ({n}, directions)")
    return 0


cdef class DualArray:
    """Values with derivatives, as given and in blocks of MBT_W directions; a constant has one block for all of them."""
    cdef Py_ssize_t length, directions, num_blocks
    cdef Py_ssize_t room             # capacity of `values`, in doubles
    cdef double* values              # (length,), followed by the derivatives (length, directions)
    cdef Py_ssize_t room_of_blocks   # Duals
    cdef Dual* blocks
    cdef bint in_blocks              # whether `blocks` is up to date

    def __dealloc__(self):
        free_aligned(self.values)
        free_aligned(self.blocks)

    cdef int load(self, Py_ssize_t size, value, derivatives) except -1:
        """`value` (size,), `derivatives` (size, directions) or None, both float64 and C-contiguous."""
        cdef Py_ssize_t directions = 0 if derivatives is None else count_columns(derivatives, size)
        if directions < 0 or not is_array1(value, size):
            raise ValueError(f"expected C-contiguous float64 arrays of shapes ({size},) and ({size}, directions)")
        return self.copy(size, directions, value, derivatives)

    cdef int copy(self, Py_ssize_t size, Py_ssize_t directions, value, derivatives) except -1:
        """The same for checked arrays."""
        cdef Py_ssize_t count = size*(1 + directions)
        cdef double* values
        if count > self.room or self.values == NULL:
            values = <double*>allocate_aligned((count + 1)*sizeof(double))
            if values == NULL:
                raise MemoryError
            free_aligned(self.values)
            self.values, self.room = values, count
        self.length, self.directions = size, directions
        self.num_blocks = max(1, (directions + MBT_W - 1)//MBT_W)
        self.in_blocks = False
        memcpy(self.values, data(value), size*sizeof(double))
        if directions:
            memcpy(self.values + size, data(derivatives), size*directions*sizeof(double))
        return 0

    cdef int make_blocks(self) except -1:
        """Prepare the blocks that kernels read."""
        cdef Py_ssize_t i, count = self.length*self.num_blocks
        cdef Dual* blocks
        if self.in_blocks:
            return 0
        if count > self.room_of_blocks or self.blocks == NULL:
            blocks = <Dual*>allocate_aligned((count + 1)*sizeof(Dual))
            if blocks == NULL:
                raise MemoryError
            free_aligned(self.blocks)
            self.blocks, self.room_of_blocks = blocks, count
        for i in range(self.num_blocks):
            load_duals(
                self.values, self.derivatives(), self.directions, MBT_W*i, self.length, self.blocks + self.length*i
            )
        self.in_blocks = True
        return 0

    cdef const double* derivatives(self) noexcept:
        """(length, directions), NULL for constants."""
        return self.values + self.length if self.directions else NULL

    cdef const Dual* block(self, Py_ssize_t i) noexcept:
        return self.blocks + self.length*i if self.directions else self.blocks

    cdef object as_autodiff(self):
        values = new1(self.length)
        derivatives = new2(self.length, self.directions)
        memcpy(data(values), self.values, self.length*sizeof(double))
        if self.directions:
            memcpy(data(derivatives), self.derivatives(), self.length*self.directions*sizeof(double))
        return new_autodiff(values, derivatives)


cdef class DualEngine(Engine):
    """Evaluates values and derivatives. Arrays in arguments are float64 and C-contiguous."""
    cdef CompiledModel compiled
    cdef object numbers                  # how results are written: mbt.scalars.ScalarArrays
    cdef DualArray parameters, q, v
    # The data that kernels read, derived from the parameters when first needed: in doubles, and for each block.
    cdef Derived of_values
    cdef Dual* derived
    cdef Parameters[Dual]* of_block
    cdef Py_ssize_t num_derived          # blocks

    def __cinit__(self, CompiledModel compiled not None, numbers=None):
        self.compiled = compiled
        self.numbers = numbers
        self.parameters, self.q, self.v = DualArray(), DualArray(), DualArray()

    def __dealloc__(self):
        free_aligned(self.derived)
        free_aligned(self.of_block)

    def set_q(self, value, derivatives):
        """Set positions, (nq,) and (nq, directions)."""
        cdef Section alone
        alone.enter(self)
        self.q.load(self.compiled.model.num_positions, value, derivatives)

    def set_v(self, value, derivatives):
        """Set velocities, (nv,) and (nv, directions)."""
        cdef Section alone
        alone.enter(self)
        self.v.load(self.compiled.model.num_velocities, value, derivatives)

    def set_parameters(self, value, derivatives):
        """Set parameters, (size,) and (size, directions)."""
        cdef Section alone
        alone.enter(self)
        self.parameters.load(self.compiled.layout.size, value, derivatives)
        self.of_values = None
        self.num_derived = 0

    cdef int derive_blocks(self) except -1:
        """Derive the data of all blocks from the parameters."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t size = count_derived(m)
        cdef Py_ssize_t i, num_blocks = self.parameters.num_blocks
        if self.num_derived:
            return 0
        self.parameters.make_blocks()
        free_aligned(self.derived)
        free_aligned(self.of_block)
        self.derived = <Dual*>allocate_aligned((size*num_blocks + 1)*sizeof(Dual))
        self.of_block = <Parameters[Dual]*>allocate_aligned(num_blocks*sizeof(Parameters[Dual]))
        if self.derived == NULL or self.of_block == NULL:
            raise MemoryError
        for i in range(num_blocks):
            derive_parameters[Dual](
                m, &self.compiled.layout, EVERYTHING, self.parameters.block(i), self.derived + size*i, &self.of_block[i]
            )
        self.num_derived = num_blocks
        return 0

    cdef const Parameters[double]* derive_values(self) except NULL:
        """The data that kernels read, derived from the values of the parameters."""
        if self.of_values is None:
            values = new1(self.parameters.length)
            memcpy(data(values), self.parameters.values, self.parameters.length*sizeof(double))
            self.of_values = Derived(self.compiled, values)
        return &self.of_values.parameters

    cdef bint accepts(self, value, Py_ssize_t n) except -1:
        if type(value) is get_autodiff_array():
            return is_array1(value._value, n) and count_columns(value._derivatives, n) >= 0
        return is_array1(value, n)

    cdef int check_input(self, x, Py_ssize_t n) except -1:
        if isinstance(x, get_autodiff_array()):
            return check_numbers(n, np.ascontiguousarray(x._value), np.ascontiguousarray(x._derivatives))
        return check_numbers(n, x, None)

    cdef object evaluate_quantity(self, ContextCore context, int quantity, const int* integers, x, out):
        """The input is an AutoDiffArray or an array of constants; the result an AutoDiffArray."""
        cdef Section alone
        alone.enter(self)
        cdef Sizes sizes = sizes_of(quantity, integers, &self.compiled.model)
        cdef Py_ssize_t directions, of_x = 0
        dx = None
        if isinstance(x, get_autodiff_array()):
            x, dx = x._value, x._derivatives
            of_x = count_columns(dx, sizes.input)
            if of_x < 0 or not is_array1(x, sizes.input):
                x, dx = np.ascontiguousarray(x), np.ascontiguousarray(dx)
                of_x = dx.shape[1]
        directions = self.count_directions(of_x)
        values = new1(sizes.result)
        derivatives = new2(sizes.result, directions)
        self.compute(
            context, quantity, integers, &sizes, data(x) if sizes.input else NULL, data(dx) if of_x else NULL,
            directions, data(values), data(derivatives)
        )
        if sizes.num_axes != 1:
            shape = shape_tuple(&sizes)
            values = values.reshape(shape)
            derivatives = derivatives.reshape((*shape, directions))
        result = new_autodiff(values, derivatives)
        return result if out is None else self.numbers.write(out, result, "out")

    def evaluate_parts(
        self, ContextCore context not None, int quantity, tuple integers not None, x, tuple outs not None
    ):
        """Return the parts of a `Quantity` along its first axis, written into those of `outs` that are not None."""
        whole = self.evaluate(context, quantity, integers, x)
        return self.numbers.write_all(*[(out, whole[i], f"out[{i}]") for i, out in enumerate(outs)])

    def evaluate_numbers(self, ContextCore context not None, int quantity, tuple integers not None, x, dx):
        """Return values, (n,), and derivatives, (n, directions), of a `Quantity`.

        `x` and `dx` are the input and its derivatives, None for no input and for a constant.
        """
        cdef Section alone
        alone.enter(self)
        cdef int[<int>MAX_INTEGERS] numbers
        take_integers(quantity, integers, &self.compiled.model, numbers)
        cdef Sizes sizes = sizes_of(quantity, numbers, &self.compiled.model)
        check_numbers(sizes.input, x, dx)
        cdef Py_ssize_t of_x = 0 if dx is None else dx.shape[1]
        cdef Py_ssize_t directions = self.count_directions(of_x)
        values = new1(sizes.result)
        derivatives = new2(sizes.result, directions)
        self.compute(
            context, quantity, numbers, &sizes, data(x) if sizes.input else NULL, data(dx) if of_x else NULL,
            directions, data(values), data(derivatives)
        )
        return values, derivatives

    def take_q(self, ContextCore context not None, value):
        """Set the positions of a Context from an AutoDiffArray or ndarray; return whether no conversion was needed."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t nq = self.compiled.model.num_positions
        cdef Py_ssize_t directions = 0
        x, dx = value, None
        if type(value) is get_autodiff_array():
            x, dx = value._value, value._derivatives
            directions = count_columns(dx, nq)
            if directions < 0:
                return False
        if not is_array1(x, nq):
            return False
        context.check_user()
        check_positions(context.tree, self.compiled, data(x))
        self.q.copy(nq, directions, x, dx)
        context._store_q(data(x))
        return True

    def take_v(self, ContextCore context not None, value):
        """Set the velocities of a Context from an AutoDiffArray or ndarray; return whether no conversion was needed."""
        cdef Section alone
        alone.enter(self)
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        if context._locked is not None:
            return False
        cdef Py_ssize_t directions = 0
        x, dx = value, None
        if type(value) is get_autodiff_array():
            x, dx = value._value, value._derivatives
            directions = count_columns(dx, nv)
            if directions < 0:
                return False
        if not is_array1(x, nv):
            return False
        context.check_user()
        self.v.copy(nv, directions, x, dx)
        context._store_v(data(x))
        return True

    def get_q(self):
        """Return the positions, an AutoDiffArray."""
        cdef Section alone
        alone.enter(self)
        return self.q.as_autodiff()

    def get_v(self):
        """Return the velocities, an AutoDiffArray."""
        cdef Section alone
        alone.enter(self)
        return self.v.as_autodiff()

    cdef Py_ssize_t count_directions(self, Py_ssize_t of_x) except -1:
        """Number of directions, which every operand has, unless it has none."""
        cdef Py_ssize_t directions = of_x
        cdef Py_ssize_t own
        if self.parameters.values == NULL or self.q.values == NULL or self.v.values == NULL:
            raise ValueError("parameters, q and v must be set first")
        cdef Py_ssize_t[3] of_state = [self.parameters.directions, self.q.directions, self.v.directions]
        for own in of_state:
            if own and directions and own != directions:
                from mbt.errors import ShapeError
                counts = zip(("the argument", "parameters", "q", "v"), (of_x, of_state[0], of_state[1], of_state[2]))
                raise ShapeError(
                    "operands with different numbers of derivatives, "
                    f"{', '.join([f'{count} in {name}' for name, count in counts if count])}: make them in one call "
                    "of mbt.autodiff.initialize"
                )
            directions = max(directions, own)
        return directions

    cdef int compute(
        self,
        # Topology:
        ContextCore context,
        int quantity,
        const int* integers,  # (num_integers,)             indices of frames, bodies or a force element
        const Sizes* sizes,
        # In:
        const double* x,      # (sizes.input,)              [SI]
        const double* dx,     # (sizes.input, directions)   [SI]
        Py_ssize_t directions,
        # Out:
        double* values,       # (sizes.result,)             [SI]
        double* derivatives,  # (sizes.result, directions)  [SI]
    ) except -1:
        cdef int singular
        cdef const Description* row = describe(quantity)
        self.check(context, quantity, integers)
        # For dynamics there are partial derivatives along all dofs at once. Including the products, they take as long
        # as 1.4 blocks of forward dynamics, or 2 to 2.4 blocks of inverse dynamics (6 to 30 dofs). For quantities that
        # divide, they do not cover constraints.
        if (
            row.derivatives != NO_QUANTITY and not (row.flags & DIVIDES and self.compiled.model.num_constraints)
            and not integers[0] and directions > MBT_W and not self.parameters.directions
        ):
            singular = self.compute_by_partials(
                context, quantity, row.derivatives, integers, x, dx, directions, values, derivatives
            )
        else:
            singular = self.compute_in_blocks(
                context, quantity, integers, sizes, x, dx, directions, values, derivatives
            )
        if singular >= 0:
            above.raise_singular_pivot(
                context.tree, singular, "impulse dynamics" if quantity == IMPULSE_DYNAMICS else "forward dynamics"
            )
        if (
            row.flags & DIVIDES and self.compiled.model.num_constraints
            and kernels.any_is_nan(values, sizes.result, 1)
        ):
            above.check_constraints_at(context)
        return 0

    cdef int compute_in_blocks(
        self,
        # Topology:
        ContextCore context,
        int quantity,
        const int* integers,  # (num_integers,)             indices of frames, bodies or a force element
        const Sizes* sizes,
        # In:
        const double* x,      # (sizes.input,)              [SI]
        const double* dx,     # (sizes.input, directions)   [SI]
        Py_ssize_t directions,
        # Out:
        double* values,       # (sizes.result,)             [SI]
        double* derivatives,  # (sizes.result, directions)  [SI]
    ) except -2:
        """Compute with MBT_W derivatives at a time in kernels. Returns -1, or the first massless dof."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_x = sizes.input
        cdef Py_ssize_t num_out = sizes.result
        cdef Py_ssize_t num_work = count_work_of[Dual](&of_duals, quantity, integers, m)
        cdef Py_ssize_t base_size = (m.num_bodies*sizeof(int))//sizeof(double) + 1
        cdef Py_ssize_t i, first, per_dual = sizeof(Dual)//sizeof(double)
        cdef int singular = -1
        cdef Call[Dual] c
        self.derive_blocks()
        self.q.make_blocks()
        self.v.make_blocks()
        cdef double* arena = arena_doubles((num_x + num_work + num_out)*per_dual + base_size + 8)
        if arena == NULL:
            raise MemoryError
        cdef int* base = <int*>arena
        # The next multiple of 64 bytes.
        cdef Dual* dual_x = <Dual*>((<size_t>(arena + base_size) + 63) & ~<size_t>63)
        cdef Dual* out = dual_x + num_x
        c.integers, c.model, c.switches, c.x, c.base, c.out = integers, m, &context.switches, dual_x, base, out
        c.memory = out + num_out
        for i in range(max(1, (directions + MBT_W - 1)//MBT_W)):
            first = MBT_W*i
            load_duals(x, dx, directions, first, num_x, dual_x)
            c.p = &self.of_block[i if self.num_derived > 1 else 0]
            c.q, c.v = self.q.block(i), self.v.block(i)
            calc_quantity[Dual](&of_duals, quantity, &c)
            if i == 0 and c.pivots.D != NULL:
                singular = find_pivot_of_zero[Dual](m, &c.pivots)
            store_duals(out, directions, first, num_out, values, derivatives)
        return singular

    cdef int compute_by_partials(
        self,
        # Topology:
        ContextCore context,
        int quantity,
        int partials,         # the quantity of its partial derivatives
        const int* integers,  # (num_integers,)   indices of the quantity
        # In:
        const double* x,      # (nv,)             [SI]
        const double* dx,     # (nv, directions)  [SI]
        Py_ssize_t directions,
        # Out:
        double* values,       # (nv,)             [SI]
        double* derivatives,  # (nv, directions)  [SI]
    ) except -2:
        """The same from partial derivatives along each dof: see `calc_by_partials`."""
        cdef const Model* m = &self.compiled.model
        cdef Call[double] c
        c.functions, c.integers, c.model, c.switches = &kernels.of_doubles, integers, m, &context.switches
        c.p, c.q, c.v = self.derive_values(), self.q.values, self.v.values
        c.x, c.out = <double*>x, values
        c.gravity = NULL
        c.memory = arena_doubles(count_memory_of_partials(&c, quantity, partials, directions))
        if c.memory == NULL:
            raise MemoryError
        return calc_by_partials(
            &c, quantity, partials, self.q.derivatives() if self.q.directions else NULL,
            self.v.derivatives() if self.v.directions else NULL, dx, directions, derivatives
        )

    cdef int check(self, ContextCore context, int quantity, const int* integers) except -1:
        """Refuse values at which the result is undefined, like trees of doubles."""
        cdef const Model* m = &self.compiled.model
        cdef int singular
        if context.compiled is not self.compiled:
            raise ValueError("context: expected a Context of this engine's tree")
        if m.num_elements_between and needs_element_forces(quantity, integers):
            singular = kernels.find_singular_element_at(
                m, &context.derived().parameters, context.q_data,
                kernels.get_work(m, 16*m.num_bodies), element_of(quantity, integers)
            )
            if singular >= 0:
                above.raise_singular_element(context.tree, singular)
        if m.num_map_checked and needs_maps(quantity, integers):
            check_maps(context.tree, self.compiled, context.q_data, integer_of(quantity, integers, MOBILIZER))
        return 0
