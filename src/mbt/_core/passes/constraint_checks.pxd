"""Whether constrained dynamics got what constraints ask for. Where it did not, results are NaN.

What remains of J vdot + Jdot v, in units of `scale`, has two parts. What is in the range of the factor of Lambda is
rounding, once it was solved for again and again. The other part, y, is of rows that are left out as redundant. It is
more than rounding in two cases that are no failure:

- Equations contradict each other. Then y is what least squares leave: at right angles to all columns of J.
- Equations are left out that differ from others by angles with five digits. Then y' Lambda y is as little as that.
"""

from libc.math cimport NAN

from mbt._core.algebra.derivative_columns cimport SQUARED_REMAINDER
from mbt._core.algebra.records cimport UNSOLVED, Articulated, ArticulatedDof, FrameMotion, Parameters, Placed
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.forces.constraints cimport num_equations_of
from mbt._core.model.structs cimport Constraint, Model, Switches
from mbt._core.passes.constraint_rows cimport SQUARED_LEVER, sweep_from_ends
from mbt._core.scalars cimport PyScalar, T, select_lt


cdef extern from *:
    """
    // Of least squares, rounding of the cosine of a right angle: rows are left out at 1e-13, so it has a few digits.
    static constexpr double kSquaredCosine = 1e-6;
    // Of several rows that angles with five digits leave.
    static constexpr double kSeveralRows = 10.0;
    """
    const double SQUARED_COSINE "kSquaredCosine"
    const double SEVERAL_ROWS "kSeveralRows"


cdef inline void spoil_unsolved(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const Articulated[T]* work,    # (num_mobods,)    with the accelerations
    const Placed[T]* placed,       # (num_mobods,)
    const FrameMotion[T]* ends,    # (num_constraints, 2)
    const T* scale,                # (num_equations,) [1]
    const T* angle,                # (num_equations,) [1]  what angles with five digits leave of a row, in `scale`
    const T* size,                 # (num_equations,) [1]  what the rows are a difference of, squared, in `scale`
    const T* rest,                 # (num_equations,) [1]  what remains in the range of Lambda, in units of `scale`
    # In, destroyed:
    T* y,                          # (num_equations,) [1]  all that remains
    T* Z,                          # (nv, num_equations) [N m, N]
    # Out:
    ArticulatedDof[T]* dofs,       # (nv,)            D, the first of which is UNSOLVED; D_inverse is destroyed
    T* D,                          # (num_equations,) [1]
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    cdef T bad
    cdef T stuck = <T>0.0
    cdef Py_ssize_t k
    if T is not PyScalar:  # objects have no order
        for k in range(model.num_equations):
            stuck = select_lt(size[k]*SQUARED_REMAINDER, rest[k]*rest[k], <T>1.0, stuck)
            y[k] = y[k] - rest[k]
        bad = differs_by_more_than_angles(model, dofs, Z, scale, angle, D, y)
        for k in range(model.num_velocities):
            dofs[k].D_inverse = <T>0.0
        calc_rows_of_J(model, switches, p, H_N, work, placed, ends, dofs, Z)
        bad = stuck + bad*could_be_less(model, switches, scale, size, y, Z)
        dofs.D = select_lt(<T>0.0, bad, <T>UNSOLVED, dofs.D)
        bad = select_lt(<T>0.0, bad, <T>NAN, <T>0.0)
        for k in range(model.num_velocities):
            vdot[k] = vdot[k] + bad
        for k in range(model.num_equations):
            multipliers[k] = multipliers[k] + bad
            D[k] = D[k] + bad


cdef inline T differs_by_more_than_angles(
    # Topology:
    const Model* model,
    # In:
    const ArticulatedDof[T]* dofs,  # (nv,)
    const T* Z,                    # (nv, num_equations) [N m, N]
    const T* scale,                # (num_equations,) [1]
    const T* angle,                # (num_equations,) [1]
    const T* D,                    # (num_equations,) [1]  zero of rows that are left out
    const T* y,                    # (num_equations,) [1]
) noexcept nogil:
    """Is y' Lambda y more than of a row that is left out for such an angle? One or zero."""
    cdef Py_ssize_t m = model.num_equations
    cdef T energy = <T>0.0
    cdef T explained = <T>0.0
    cdef T s
    cdef Py_ssize_t k, e
    for k in range(model.num_velocities):
        s = <T>0.0
        for e in range(m):
            s = s + Z[m*k + e]*(scale[e]*y[e])
        energy = energy + s*s*dofs[k].D_inverse
    for e in range(m):
        explained = explained + select_lt(<T>0.0, D[e], <T>0.0, angle[e]*(y[e]*y[e])*SEVERAL_ROWS)
    return select_lt(explained, energy, <T>1.0, <T>0.0)


cdef inline void calc_rows_of_J(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const FrameMotion[T]* ends,    # (num_constraints, 2)
    const ArticulatedDof[T]* dofs,  # (nv,)           1 / D is zero: none gives way
    # Out:
    T* J,                          # (nv, num_equations) [1, m]  transposed
) noexcept nogil:
    cdef const Constraint* x
    cdef T size[2]
    cdef T between[3]
    cdef int i
    set_zero(size, 2)
    set_zero(between, 3)
    set_zero(J, <Py_ssize_t>model.num_equations*model.num_velocities)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        if switches.disabled == NULL or not switches.disabled[i]:
            sweep_from_ends(
                model, x, p.constraints + x.start, ends + 2*i, work, placed, H_N, dofs, size, between, J + x.row
            )


cdef inline T could_be_less(
    # Topology:
    const Model* model,
    const Switches* switches,
    # In:
    const T* scale,                # (num_equations,) [1]
    const T* size,                 # (num_equations,) [1]
    const T* y,                    # (num_equations,) [1]
    const T* J,                    # (nv, num_equations) [1, m]
) noexcept nogil:
    """Is y of rows that are violated not at right angles to the column of a dof? Positive or zero."""
    cdef Py_ssize_t m = model.num_equations
    cdef const Constraint* x
    cdef int i, k, a, e
    cdef T along, column, remainder, s, violated
    cdef T found = <T>0.0
    for i in range(1, model.num_mobods):
        for k in range(model.joints[i].v_start, model.joints[i].v_start + model.joints[i].nv):
            if switches.locked != NULL and switches.locked[k]:
                continue
            along = <T>0.0
            column = <T>0.0
            remainder = <T>0.0
            for a in range(model.through_start[i], model.through_start[i + 1]):
                x = &model.constraints[model.through[a]]
                for e in range(x.row, x.row + num_equations_of(x.type)):
                    s = J[m*k + e]*scale[e]
                    along = along + s*y[e]
                    violated = select_lt(size[e]*SQUARED_REMAINDER, y[e]*y[e], <T>1.0, <T>0.0)
                    column = column + violated*(s*s + scale[e]*scale[e]*SQUARED_LEVER)
                    remainder = remainder + violated*(y[e]*y[e])
            found = found + select_lt(column*(remainder*SQUARED_COSINE), along*along, <T>1.0, <T>0.0)
    return found
