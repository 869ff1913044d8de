"""Every computation of a tree in values with derivatives.

An engine holds the parameters, q and v of one Context in the form that kernels read.
"""

cimport numpy as cnp

from mbt._core cimport kernels
from mbt._core.context cimport ContextCore, check_maps, check_positions
from mbt._core.door cimport adopt, data, is_array1, is_array2, new1, new2, new3
from mbt._core.mobilizers cimport map_is_singular
from mbt._core.model cimport CompiledModel, Model
from mbt._core.records cimport Parameters, Pivots
from mbt._core.scalars cimport MBT_W, Dual, load_duals, store_duals
from mbt._core.variants cimport (
    ACCELERATION, ELEMENT_FORCES, ELEMENT_NON_CONSERVATIVE_POWER, FORWARD_DYNAMICS, INVERSE_DYNAMICS,
    INVERSE_DYNAMICS_DERIVATIVES, N_MATRIX, NDOT_MATRIX, NON_CONSERVATIVE_POWER, NPLUSDOT_MATRIX, POTENTIAL_ENERGY,
    QDDOT, QDOT, calc_quantity, count_derived, count_input, count_result, count_work_of, derive_parameters,
)

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)

cdef extern from "arena.hpp" namespace "MBT_NS" nogil:
    double* arena_doubles(Py_ssize_t count)


# Imported at the first use: `mbt.autodiff` costs time.
cdef object autodiff_array = None


cdef object get_autodiff_array():
    global autodiff_array
    if autodiff_array is None:
        from mbt.autodiff.array import AutoDiffArray
        autodiff_array = AutoDiffArray
    return autodiff_array


cdef object new_autodiff(values, derivatives):
    cls = get_autodiff_array()
    array = cls.__new__(cls)
    array._value = values
    array._derivatives = derivatives
    return array


cdef Py_ssize_t count_columns(array, Py_ssize_t rows) noexcept:
    """Columns of a float64, C-contiguous matrix of so many rows; -1 for anything else."""
    if not cnp.PyArray_CheckExact(array) or cnp.PyArray_NDIM(array) != 2:
        return -1
    cdef Py_ssize_t columns = cnp.PyArray_DIM(array, 1)
    return columns if is_array2(array, rows, columns) else -1


cdef class DualArray:
    """Numbers with derivatives, in blocks of MBT_W directions; constants are one block that goes with any."""
    cdef Py_ssize_t length, directions, num_blocks
    cdef Dual* memory

    def __dealloc__(self):
        free_aligned(self.memory)

    cdef int load(self, Py_ssize_t size, value, derivatives) except -1:
        """`value` (size,), `derivatives` (size, directions) or None, both float64 and C-contiguous."""
        cdef Py_ssize_t directions = 0 if derivatives is None else count_columns(derivatives, size)
        if directions < 0 or not is_array1(value, size):
            raise ValueError(f"expected C-contiguous float64 arrays of shapes ({size},) and ({size}, directions)")
        cdef Py_ssize_t num_blocks = max(1, (directions + MBT_W - 1)//MBT_W)
        cdef Py_ssize_t i
        cdef Dual* memory
        if size*num_blocks != self.length*self.num_blocks or self.memory == NULL:
            memory = <Dual*>allocate_aligned((size*num_blocks + 1)*sizeof(Dual))
            if memory == NULL:
                raise MemoryError
            free_aligned(self.memory)
            self.memory = memory
        self.length = size
        self.directions = directions
        self.num_blocks = num_blocks
        for i in range(num_blocks):
            load_duals(
                data(value), data(derivatives) if directions else NULL, directions, MBT_W*i, size,
                self.memory + size*i
            )
        return 0

    cdef object as_autodiff(self):
        cdef Py_ssize_t i
        values = new1(self.length)
        derivatives = new2(self.length, self.directions)
        for i in range(self.num_blocks):
            store_duals(
                self.block(i), self.directions, MBT_W*i, self.length, data(values), data(derivatives)
            )
        return new_autodiff(values, derivatives)

    cdef const Dual* block(self, Py_ssize_t i) noexcept:
        return self.memory + self.length*i if self.directions else self.memory


cdef class DualEngine:
    """Values and derivatives. Of arguments, the arrays are float64 and C-contiguous."""
    cdef CompiledModel compiled
    cdef DualArray parameters, q, v
    cdef Dual* derived
    cdef Parameters[Dual]* of_block
    cdef Py_ssize_t num_derived          # blocks

    def __cinit__(self, CompiledModel compiled not None):
        self.compiled = compiled
        self.parameters, self.q, self.v = DualArray(), DualArray(), DualArray()

    def __dealloc__(self):
        free_aligned(self.derived)
        free_aligned(self.of_block)

    def set_q(self, value, derivatives):
        """Take positions, (nq,) and (nq, directions)."""
        self.q.load(self.compiled.model.num_positions, value, derivatives)

    def set_v(self, value, derivatives):
        """Take velocities, (nv,) and (nv, directions)."""
        self.v.load(self.compiled.model.num_velocities, value, derivatives)

    def set_parameters(self, value, derivatives):
        """Take parameters, (size,) and (size, directions), and derive from them what kernels read."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t size = count_derived(m)
        cdef Py_ssize_t i
        self.num_derived = 0
        self.parameters.load(self.compiled.layout.size, value, derivatives)
        cdef Py_ssize_t num_blocks = self.parameters.num_blocks
        free_aligned(self.derived)
        free_aligned(self.of_block)
        self.derived = <Dual*>allocate_aligned((size*num_blocks + 1)*sizeof(Dual))
        self.of_block = <Parameters[Dual]*>allocate_aligned(num_blocks*sizeof(Parameters[Dual]))
        if self.derived == NULL or self.of_block == NULL:
            raise MemoryError
        for i in range(num_blocks):
            derive_parameters[Dual](
                m, &self.compiled.layout, self.parameters.block(i), self.derived + size*i, &self.of_block[i]
            )
        self.num_derived = num_blocks

    def evaluate(self, ContextCore context not None, int quantity, int index, x, dx):
        """Evaluate a `Quantity`, the parameters, q and v being set.

        The values of `context` serve the checks. `x` and `dx` are the third input and its derivatives; None stands
        for no such input, and for a constant. Returns values, (n,), and derivatives, (n, directions).
        """
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_x = count_input(quantity, index, m)
        cdef Py_ssize_t num_out = count_result(quantity, m)
        cdef Py_ssize_t of_x = 0 if dx is None else dx.shape[1]
        if num_x and (x is None or not is_array1(x, num_x)):
            raise ValueError(f"x: expected a float64 array of {num_x} entries")
        if of_x and not is_array2(dx, num_x, of_x):
            raise ValueError(f"dx: expected a float64 array of shape ({num_x}, {of_x})")
        cdef Py_ssize_t directions = self.count_directions(of_x)
        values = new1(num_out)
        derivatives = new2(num_out, directions)
        self.compute(
            context, quantity, index, data(x) if num_x else NULL, data(dx) if num_x and of_x else NULL, directions,
            data(values), data(derivatives)
        )
        return values, derivatives

    def run(self, ContextCore context not None, int quantity, x, Py_ssize_t rows, Py_ssize_t columns):
        """Evaluate a `Quantity` straight from an argument to an AutoDiffArray, as fast as that goes.

        `x` is an AutoDiffArray or an ndarray, or None for no input. The result has the shape (rows, columns), or one
        axis where `columns` is 0. Returns None for an argument that must be converted first.
        """
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_x = count_input(quantity, -1, m)
        cdef Py_ssize_t of_x = 0, directions
        cdef const double* x_data = NULL
        cdef const double* dx_data = NULL
        dx = None
        if num_x:
            if type(x) is get_autodiff_array():
                dx = x._derivatives
                x = x._value
                of_x = count_columns(dx, num_x)
                if of_x < 0:
                    return None
            if not is_array1(x, num_x):
                return None
            x_data = data(x)
            if of_x:
                dx_data = data(dx)
        directions = self.count_directions(of_x)
        if columns:
            values = new2(rows, columns)
            derivatives = new3(rows, columns, directions)
        else:
            values = new1(rows)
            derivatives = new2(rows, directions)
        if rows*max(1, columns) != count_result(quantity, m):
            raise ValueError(f"rows, columns: expected {count_result(quantity, m)} entries")
        self.compute(context, quantity, -1, x_data, dx_data, directions, data(values), data(derivatives))
        return new_autodiff(values, derivatives)

    def take_q(self, ContextCore context not None, value):
        """Take an AutoDiffArray or ndarray as positions of a Context; return whether that needed no conversion."""
        cdef Py_ssize_t nq = self.compiled.model.num_positions
        x, dx = value, None
        if type(value) is get_autodiff_array():
            x, dx = value._value, value._derivatives
            if count_columns(dx, nq) < 0:
                return False
        if not is_array1(x, nq):
            return False
        check_positions(context.tree, self.compiled, data(x))
        self.q.load(nq, x, dx)
        context._store_q(data(x))
        return True

    def take_v(self, ContextCore context not None, value):
        """Take an AutoDiffArray or ndarray as velocities of a Context; return whether that needed no conversion."""
        cdef Py_ssize_t nv = self.compiled.model.num_velocities
        if context._locked is not None:
            return False
        x, dx = value, None
        if type(value) is get_autodiff_array():
            x, dx = value._value, value._derivatives
            if count_columns(dx, nv) < 0:
                return False
        if not is_array1(x, nv):
            return False
        self.v.load(nv, x, dx)
        context._store_v(data(x))
        return True

    def get_q(self):
        """Return the positions, an AutoDiffArray."""
        return self.q.as_autodiff()

    def get_v(self):
        """Return the velocities, an AutoDiffArray."""
        return self.v.as_autodiff()

    cdef Py_ssize_t count_directions(self, Py_ssize_t of_x) except -1:
        """How many directions there are. Operands have as many, or none."""
        cdef Py_ssize_t directions = of_x
        cdef Py_ssize_t own
        if self.num_derived == 0:
            raise ValueError("parameters must be set first")
        for own in (self.parameters.directions, self.q.directions, self.v.directions):
            if own and directions and own != directions:
                from mbt.errors import ShapeError
                raise ShapeError(
                    f"operands with different numbers of derivatives, {directions} and {own}: make them in one call "
                    "of mbt.autodiff.initialize"
                )
            directions = max(directions, own)
        return directions

    cdef int compute(
        self, ContextCore context, int quantity, int index, const double* x, const double* dx, Py_ssize_t directions,
        double* values, double* derivatives
    ) except -1:
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t num_x = count_input(quantity, index, m)
        cdef Py_ssize_t num_out = count_result(quantity, m)
        cdef Py_ssize_t num_work = count_work_of(quantity, m)
        cdef Py_ssize_t base_size = (m.num_bodies*sizeof(int))//sizeof(double) + 1
        cdef Py_ssize_t i, first, per_dual = sizeof(Dual)//sizeof(double)
        cdef int singular = -1
        cdef Pivots[Dual] pivots
        self.check(context, quantity, index)
        cdef double* arena = arena_doubles((num_x + num_work + num_out)*per_dual + base_size + 8)
        if arena == NULL:
            raise MemoryError
        cdef int* base = <int*>arena
        # The next multiple of 64 bytes.
        cdef Dual* dual_x = <Dual*>((<size_t>(arena + base_size) + 63) & ~<size_t>63)
        cdef Dual* out = dual_x + num_x
        cdef Dual* work = out + num_out
        for i in range(max(1, (directions + MBT_W - 1)//MBT_W)):
            first = MBT_W*i
            load_duals(x, dx, directions, first, num_x, dual_x)
            pivots = calc_quantity[Dual](
                quantity, index, m, &context.switches, &self.of_block[i if self.num_derived > 1 else 0],
                self.q.block(i), self.v.block(i), dual_x, work, base, out
            )
            if i == 0 and pivots.D != NULL:
                singular = find_massless_dof(m, &pivots)
            store_duals(out, directions, first, num_out, values, derivatives)
        if singular >= 0:
            from mbt.context.checks import raise_massless_dof
            raise_massless_dof(context.tree, singular)
        return 0

    cdef int check(self, ContextCore context, int quantity, int index) except -1:
        """Refuse values at which the result is undefined, as trees of doubles do."""
        cdef const Model* m = &self.compiled.model
        cdef int singular
        if context.compiled is not self.compiled:
            raise ValueError("context: expected one of the tree of this engine")
        if m.num_elements_between and (
            quantity == INVERSE_DYNAMICS or quantity == FORWARD_DYNAMICS or quantity >= INVERSE_DYNAMICS_DERIVATIVES
            or POTENTIAL_ENERGY <= quantity <= NON_CONSERVATIVE_POWER or quantity == ELEMENT_FORCES
            or ELEMENT_FORCES < quantity <= ELEMENT_NON_CONSERVATIVE_POWER and index >= 0
        ):
            singular = kernels.find_singular_element_at(
                m, &context.derived().parameters, context.q_data,
                kernels.get_work(m, 16*m.num_bodies)
            )
            if singular >= 0:
                from mbt.context.checks import raise_singular_element
                raise_singular_element(context.tree, singular)
        if m.num_map_checked and (
            quantity == QDOT or quantity == QDDOT or ACCELERATION <= quantity <= N_MATRIX
            or quantity == NDOT_MATRIX or quantity == NPLUSDOT_MATRIX
        ):
            if index < 0:
                check_maps(context.tree, self.compiled, context.q_data)
            elif map_is_singular(m.type[index], context.q_data + m.q_start[index]):
                from mbt.context.checks import raise_singular_map
                raise_singular_map(context.tree, index)
        return 0


cdef int find_massless_dof(const Model* m, const Pivots[Dual]* p) noexcept nogil:
    """As `kernels.find_massless_dof`, by the values."""
    cdef int k
    for k in range(m.num_velocities):
        if p.D[p.stride*k].x <= 1.4e-14*p.scale[p.stride*k].x and not (p.locked != NULL and p.locked[k]):
            return k
    return -1
