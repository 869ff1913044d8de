"""The matrices of one implicit step as sweeps through the tree, see compliant_dynamics.pxd."""

from libc.string cimport memcpy

from mbt._core.forces.force_elements cimport POINT_CONTACT
from mbt._core.model.structs cimport ForceElement, Model
from mbt._core.quantities cimport kernels
from mbt._core.solvers.implicit_rows cimport Problem, StepInput, SweptTree, Terms, linear_slope


cdef inline bint can_sweep(const Terms* x) noexcept nogil:
    """Whether what acts are constraints, points in contact with planes that do not move, and terms of single dofs."""
    cdef const Model* m = x.model
    cdef int i
    for i in range(m.num_force_elements):
        if m.force_elements[i].type == POINT_CONTACT and m.mobod[m.frame_node[m.force_elements[i].a]] != 0:
            return False
    return x.shapes == NULL and x.num_rows == m.num_equations


# In products of a factorization, by benchmarks/long_trees.py.
cdef enum:
    SWEEPS = 455    # the cost of a dof with sweeps
    COLUMN = 7      # with matrices, that of each of its columns, beside its products
    LANES = 1700    # in a batch, matrices in lanes are quicker up to so many products a dof


cdef inline bint choose_form(Terms* x, int* depth) noexcept nogil:
    """Choose what is quicker for one state; return whether sweeps are quicker for a batch, too.

    The products of a dof grow with the square of its depth, the number of dofs from World to it; those of a point,
    which has three rows, with the square of that of its body. Work: depth (num_mobods,), zeros.
    """
    cdef const Model* m = x.model
    cdef const ForceElement* e
    cdef double n = m.num_velocities, products = 0.0, length
    cdef int i
    for i in range(1, m.num_mobods):
        depth[i] = depth[m.joints[i].parent] + m.joints[i].nv
        length = depth[i]
        products += m.joints[i].nv*length*length
    for i in range(m.num_force_elements):
        e = &m.force_elements[i]
        if e.num_points:
            length = depth[m.mobod[m.frame_node[e.b]]]
            products += 6*e.num_points*length*length
    x.has_sweeps = COLUMN*n*(n + 0.5*m.num_equations) + products > SWEEPS*n
    return products > LANES*n


cdef inline void calc_momenta_and_rates(void* self, const double* v, double* Mv, double* u) noexcept nogil:
    cdef SweptTree* tree = <SweptTree*>self
    cdef const Terms* x = tree.terms
    kernels.sweeps.calc_momenta_and_rates(x.model, &x.switches, x.own, v, &tree.w, Mv, u)


cdef inline void add_impulses(void* self, const double* impulses, double* gradient, double* size) noexcept nogil:
    cdef SweptTree* tree = <SweptTree*>self
    kernels.sweeps.add_impulses(tree.terms.model, &tree.terms.switches, impulses, &tree.w, gradient, size)


cdef inline bint solve(void* self, const double* slopes, double* x) noexcept nogil:
    cdef SweptTree* tree = <SweptTree*>self
    cdef const Terms* terms = tree.terms
    return kernels.sweeps.solve_with_compliance(terms.model, &terms.switches, terms.own, True, slopes, &tree.w, x) < 0


cdef inline double* place_sweeps(
    const Terms* x, const StepInput* at, double* memory, Problem* y
) noexcept nogil:
    """Set the tree, in `memory`, and the diagonal of the mass matrix; return the memory behind it."""
    cdef SweptTree* tree = <SweptTree*>memory
    memory += sizeof(SweptTree)//sizeof(double)
    tree.terms = x
    tree.sweeps.self = tree
    tree.sweeps.calc_momenta_and_rates = calc_momenta_and_rates
    tree.sweeps.add_impulses = add_impulses
    tree.sweeps.solve = solve
    kernels.sweeps.place_tree(x.model, &x.switches, x.own, at.q, memory, &tree.w, y.inertia)
    y.sweeps = &tree.sweeps
    return memory + kernels.sweeps.count_compliant_work(x.model)


cdef inline bint solve_tree(
    const Terms* x, double h, SweptTree* tree, double* work, double* v, double* carried
) noexcept nogil:
    """Replace momenta by the velocities that the tree has without constraints; `carried` may be NULL.

    Where no mass resists a motion, damping and springs do. False if they do not either. `work` is (2, num_velocities).
    """
    cdef int n = x.model.num_velocities
    cdef double* momenta = work + n
    cdef int i
    memcpy(momenta, v, n*sizeof(double))
    if not solve_without_rows(tree, tree.w.still, v):
        for i in range(n):
            work[i] = linear_slope(x, h, i)
        memcpy(v, momenta, n*sizeof(double))
        if not solve_without_rows(tree, work, v):
            return False
    return carried == NULL or solve_without_rows(tree, NULL, carried)


cdef inline bint solve_without_rows(SweptTree* tree, const double* slopes, double* x) noexcept nogil:
    cdef const Terms* terms = tree.terms
    return kernels.sweeps.solve_with_compliance(terms.model, &terms.switches, terms.own, False, slopes, &tree.w, x) < 0
