"""Constraint forces, on the articulated bodies that forward dynamics leaves in memory: O(n m + m^2 n) for m equations.

    Lambda = J M^-1 J' = Z D^-1 Z',   Lambda lambda = -(J vdot + Jdot v),   M vdot = tau + J' lambda - C v

A column of Z is what a unit multiplier leaves at each dof after those outboard have given way: one sweep to World
from either frame. Rows are in units in which the sweeps from both frames alone give entries of size one. Constraints
that are redundant, or always satisfied, leave lambda open but not vdot; lambda is the least one, see
semidefinite_rows.hpp. A row follows from those before it when what is left of it

- is rounding, or
- is less than the heaviest of what constraints hold together would leave, were it turned by an angle of a decimal
  number with five digits.

Light bodies between heavy ones leave little of rows, too: so what comes out is put in, and the equations are solved
once more for what remains of J vdot + Jdot v, and again while that is more than rounding and becomes less. What
remains then is judged in constraint_checks.

J. Carpentier, R. Budhiraja, N. Mansard, "Proximal and Sparse Resolution of Constrained Dynamic Equations", RSS 2021,
has the sweeps. In NumPy: tests/support/constraints.py.
"""

from mbt._core.algebra.derivative_columns cimport (
    factor_semidefinite, improves, keep_independent, remains, solve_semidefinite,
)
from mbt._core.algebra.records cimport Articulated, ArticulatedDof, FrameMotion, Parameters, Placed
from mbt._core.algebra.spatial cimport copy, dot3, set_zero
from mbt._core.forces.constraints cimport (
    calc_constraint_accelerations, calc_constraint_errors, calc_constraint_rates, num_equations_of,
)
from mbt._core.forces.force_elements cimport COUPLER, WELD
from mbt._core.joints.mobod_joints cimport add_dof_acceleration
from mbt._core.model.structs cimport Constraint, MobodJoint, Model, Switches
from mbt._core.passes.constraint_checks cimport spoil_unsolved
from mbt._core.passes.constraint_frames cimport (
    calc_frame_accelerations, calc_frame_motion, place_mobods, set_rates,
)
from mbt._core.passes.constraint_rows cimport (
    MAX_EQUATIONS, SQUARED_LEVER, add_constraint_forces, calc_Lambda, common_mobod, sweep_from_ends,
)
from mbt._core.passes.forward_dynamics cimport calc_accelerations
from mbt._core.passes.forward_dynamics_in_parents cimport calc_accelerations_in_parents
from mbt._core.scalars cimport T, select_lt, sqrt_


cdef extern from *:
    """
    // What is left of a row that follows from others: of one by rounding, of 500 roundings and their sums; of one by
    // angles with five digits, of the square of 3.2e-5, a few of them.
    static constexpr double kRoundingOfRow = 1e-13;
    static constexpr double kSquaredAngle = 1e-9;
    // What rows are a difference of is at least 1e-4 of all of these; and of what the tree without constraints leaves,
    // as much as rounding leaves of rounding.
    static constexpr double kSquaredShare = 1e-8;
    static constexpr double kSquaredStart = 1e-20;
    // More than all that rows leave.
    static constexpr double kMuch = 1e300;
    """
    const double ROUNDING_OF_ROW "kRoundingOfRow"
    const double SQUARED_ANGLE "kSquaredAngle"
    const double SQUARED_SHARE "kSquaredShare"
    const double SQUARED_START "kSquaredStart"
    const double MUCH "kMuch"


cdef enum:
    MAX_TIMES = 6    # that what remains is solved for
    # Rows of one unit.
    OF_DOFS = 0
    OF_ROTATION = 1
    OF_TRANSLATION = 2


cdef inline void calc_constrained_accelerations(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* jump,                 # (nv,)            [rad/s, m/s]  NULL, or velocities at an impact: then v is zero
    const T* H_N,                  # (nv, 6)          [1, m]
    # In, destroyed:
    Articulated[T]* work,          # (num_mobods,)    with the accelerations
    ArticulatedDof[T]* dofs,       # (nv,)            u with the constraint forces
    # Work:
    T* memory,                     # (model.constraint_work - num_equations,)
    # Out:
    T* vdot,                       # (nv,)            [rad/s^2, m/s^2]  in: without constraint forces
    T* multipliers,                # (num_equations,) [N m, N]
) noexcept nogil:
    """What is left to do behind forward dynamics. Of a jump: the change of v that makes J v zero, and impulses."""
    cdef Py_ssize_t m = model.num_equations
    cdef Placed[T]* placed = <Placed[T]*>memory
    cdef T* Z = <T*>(placed + model.num_mobods)
    cdef T* Lambda = factor_in(model, memory)
    cdef T* scale = Lambda + m*m
    cdef T* right = scale + m
    cdef T* D = right + m
    cdef T* wanted = D + m
    cdef T* step = wanted + m
    cdef T* rest = step + m
    cdef T* size = rest + m
    cdef T* angle = size + m
    cdef FrameMotion[T]* ends = <FrameMotion[T]*>(angle + m)
    cdef T first = <T>0.0
    cdef T left = <T>MUCH
    cdef int times
    cdef Py_ssize_t e
    cdef const T* moving = vdot
    place_mobods(model, v, work, H_N, placed)
    if jump != NULL:
        set_rates(model, jump, H_N, work)
        moving = jump
    start_constraints(
        model, switches, p, q, v, moving, work, placed, H_N, dofs, Z, scale, right, wanted, D, angle, ends
    )
    calc_Lambda(model, dofs, Z, scale, Lambda)
    factor_semidefinite(m, Lambda, D)
    set_zero(multipliers, m)
    if jump != NULL:
        copy(right, m, wanted)
    for e in range(m):
        right[e] = right[e]*scale[e]
        first = first + right[e]*right[e]
    for times in range(MAX_TIMES):
        solve_semidefinite(m, Lambda, D, right, step)
        for e in range(m):
            step[e] = step[e]*scale[e]
            multipliers[e] = multipliers[e] + step[e]
        add_constraint_forces(model, Z, step, dofs)
        if T is double:
            calc_accelerations_in_parents(model, H_N, dofs, work, vdot)
        else:
            calc_accelerations(model, H_N, dofs, work, vdot)
        calc_remainders(model, switches, p, vdot, work, placed, wanted, ends, right)
        for e in range(m):
            right[e] = right[e]*scale[e]
            rest[e] = right[e]
        keep_independent(m, Lambda, rest, step)
        if times > 0:
            calc_sizes(model, switches, p, vdot, H_N, work, dofs, ends, scale, first, size)
        if times + 1 == MAX_TIMES or not improves(m, size, rest, times, right, &left):
            break
    if remains(m, size, rest, right):
        spoil_unsolved(
            model, switches, p, H_N, work, placed, ends, scale, angle, size, rest, right, Z, dofs, D, vdot,
            multipliers
        )


cdef inline void start_constraints(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)            [rad, m]
    const T* v,                    # (nv,)            [rad/s, m/s]
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)          [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* Z,                          # (nv, num_equations) [N m, N]
    T* scale,                      # (num_equations,) [1]  1 / (size of the diagonal of Lambda)^(1/2)
    T* right,                      # (num_equations,) [rad/s^2, m/s^2]  what is missing of `wanted`
    T* wanted,                     # (num_equations,) [rad/s^2, m/s^2]  of J vdot + Jdot v
    T* least,                      # (num_equations,) [1]  what is left of a row, in units of `scale`, that counts
    T* angle,                      # (num_equations,) [1]  what angles with five digits leave
    FrameMotion[T]* ends,          # (num_constraints, 2)
) noexcept nogil:
    """Every constraint alone."""
    cdef const Constraint* x
    cdef T heaviest[3]             # [1/(kg m^2), 1/kg]  least compliance
    cdef T compliance[2]
    cdef int i, e, n
    for i in range(3):
        heaviest[i] = <T>MUCH
    set_zero(Z, <Py_ssize_t>model.num_equations*model.num_velocities)
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        n = num_equations_of(x.type)
        if switches.disabled != NULL and switches.disabled[i]:
            set_zero(scale + x.row, n)
            set_zero(right + x.row, n)
            set_zero(wanted + x.row, n)
        else:
            start_constraint(
                model, x, switches.stabilized, p, q, v, vdot, work, placed, H_N, dofs, Z + x.row, scale + x.row,
                right + x.row, wanted + x.row, compliance, ends + 2*i
            )
            for e in range(1 + n//6):
                heaviest[unit_of(x, 3*e)] = select_lt(
                    compliance[e], heaviest[unit_of(x, 3*e)], compliance[e], heaviest[unit_of(x, 3*e)]
                )
    for i in range(3):
        # Where no lever is long enough to tell.
        heaviest[i] = select_lt(heaviest[i], <T>(0.5*MUCH), heaviest[i], <T>0.0)*SQUARED_ANGLE
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        for e in range(num_equations_of(x.type)):
            angle[x.row + e] = heaviest[unit_of(x, e)]*(scale[x.row + e]*scale[x.row + e])
            least[x.row + e] = select_lt(<T>ROUNDING_OF_ROW, angle[x.row + e], angle[x.row + e], <T>ROUNDING_OF_ROW)


cdef inline void start_constraint(
    # Topology:
    const Model* model,
    const Constraint* x,
    int stabilized,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* q,                    # (nq,)          [rad, m]
    const T* v,                    # (nv,)          [rad/s, m/s]
    const T* vdot,                 # (nv,)          [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* H_N,                  # (nv, 6)        [1, m]
    const ArticulatedDof[T]* dofs,  # (nv,)
    # Out:
    T* Z,                          # (nv, num_equations) [N m, N]  from the column of the first equation on
    T* scale,                      # (n,)           [1]  1 / (size of the diagonal of Lambda)^(1/2)
    T* right,                      # (n,)           [rad/s^2, m/s^2]  wanted - (J vdot + Jdot v)
    T* wanted,                     # (n,)           [rad/s^2, m/s^2]
    T* compliance,                 # (2,)           [1/(kg m^2), 1/kg]  of all dofs between the ends as one
    FrameMotion[T]* ends,          # (2,)
) noexcept nogil:
    """What the equations of one constraint need of vdot, and their columns of Z."""
    cdef const T* c = p.constraints + x.start
    cdef int n = num_equations_of(x.type)
    cdef FrameMotion[T]* A = &ends[0]
    cdef FrameMotion[T]* B = &ends[1]
    cdef T y[MAX_EQUATIONS]
    cdef T size[2]
    cdef T between[3]
    cdef int e
    if x.type != COUPLER:
        calc_frame_motion(model, x.a, p, work, placed, A)
        calc_frame_motion(model, x.b, p, work, placed, B)
        calc_frame_accelerations(model, x, work, placed, ends)
    set_zero(wanted, n)
    if stabilized:
        calc_constraint_rates(x, c, v, A, B, y)
        for e in range(n):
            wanted[e] = -(c[1]*c[0]*(2.0*stabilized)*y[e])
        calc_constraint_errors(x, c, q, A, B, y)
        for e in range(n):
            wanted[e] = wanted[e] - c[0]*c[0]*y[e]
    calc_constraint_accelerations(x, c, vdot, A, B, y)
    for e in range(n):
        right[e] = wanted[e] - y[e]
    set_zero(size, 2)
    set_zero(between, 3)
    sweep_from_ends(model, x, c, ends, work, placed, H_N, dofs, size, between, Z)
    for e in range(2):
        # Zero where all dofs are locked.
        size[e] = <T>1.0/sqrt_(select_lt(<T>0.0, size[e], size[e], <T>1.0))
    for e in range(n):
        scale[e] = size[e//3]
    for e in range(2):
        compliance[e] = select_lt(
            <T>SQUARED_LEVER, between[e],
            between[e]/select_lt(<T>SQUARED_LEVER, between[e], between[2], <T>1.0), <T>MUCH
        )


cdef inline int unit_of(const Constraint* x, int e) noexcept nogil:
    """What an equation is between."""
    if x.type == COUPLER:
        return OF_DOFS
    return OF_ROTATION if x.type == WELD and e < 3 else OF_TRANSLATION


cdef inline void calc_remainders(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const Articulated[T]* work,    # (num_mobods,)
    const Placed[T]* placed,       # (num_mobods,)
    const T* wanted,               # (num_equations,) [rad/s^2, m/s^2]
    # Out:
    FrameMotion[T]* ends,          # (num_constraints, 2)  accelerations; in: poses and velocities
    T* right,                      # (num_equations,) [rad/s^2, m/s^2]  wanted - (J vdot + Jdot v)
) noexcept nogil:
    cdef const Constraint* x
    cdef T y[MAX_EQUATIONS]
    cdef int i, e, n
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        n = num_equations_of(x.type)
        if switches.disabled != NULL and switches.disabled[i]:
            set_zero(right + x.row, n)
            continue
        calc_frame_accelerations(model, x, work, placed, ends + 2*i)
        calc_constraint_accelerations(x, p.constraints + x.start, vdot, &ends[2*i], &ends[2*i + 1], y)
        for e in range(n):
            right[x.row + e] = wanted[x.row + e] - y[e]


cdef inline void calc_sizes(
    # Topology:
    const Model* model,
    const Switches* switches,
    # Parameters:
    const Parameters[T]* p,
    # In:
    const T* vdot,                 # (nv,)            [rad/s^2, m/s^2]
    const T* H_N,                  # (nv, 6)          [1, m]
    const Articulated[T]* work,    # (num_mobods,)
    const ArticulatedDof[T]* dofs,  # (nv,)
    const FrameMotion[T]* ends,    # (num_constraints, 2)
    const T* scale,                # (num_equations,) [1]
    T first,                       # [1]              what the tree without constraints leaves, squared, in `scale`
    # Out:
    T* size,                       # (num_equations,) [1]  squared, in units of `scale`
) noexcept nogil:
    """The accelerations that rows are a difference of."""
    cdef const Constraint* x
    cdef T squares[2]
    cdef T ratio
    cdef T total = first*SQUARED_START
    cdef int i, e
    for i in range(model.num_constraints):
        x = &model.constraints[i]
        if x.type == COUPLER:
            ratio = p.constraints[x.start + 2]*vdot[x.dof_b]
            squares[1] = vdot[x.dof_a]*vdot[x.dof_a] + ratio*ratio
        elif switches.disabled != NULL and switches.disabled[i]:
            set_zero(squares, 2)
        else:
            sum_accelerations(model, x, H_N, work, dofs, ends + 2*i, squares)
        for e in range(x.row, x.row + num_equations_of(x.type)):
            size[e] = squares[0 if x.type == WELD and e < x.row + 3 else 1]*(scale[e]*scale[e])
            total = total + size[e]
    for e in range(model.num_equations):
        size[e] = size[e] + total*SQUARED_SHARE


cdef inline void sum_accelerations(
    # Topology:
    const Model* model,
    const Constraint* x,
    # In:
    const T* H_N,                  # (nv, 6)          [1, m]
    const Articulated[T]* work,    # (num_mobods,)
    const ArticulatedDof[T]* dofs,  # (nv,)
    const FrameMotion[T]* ends,    # (2,)
    # Out:
    T* squares,                    # (2,)             [rad^2/s^4, m^2/s^4]
) noexcept nogil:
    """Of the frames of a constraint, of mobods from one to the other, and of their dofs if nothing inboard moves."""
    cdef int i, k
    cdef int a = x.mobod_a
    cdef int b = x.mobod_b
    cdef int meet = common_mobod(model, a, b)
    cdef const MobodJoint* joint
    cdef T acc[6]
    cdef T vdot
    set_zero(squares, 2)
    for i in range(2):
        squares[0] = squares[0] + dot3(ends[i].alpha, ends[i].alpha)
        squares[1] = squares[1] + dot3(ends[i].a, ends[i].a)
    while a != meet or b != meet:
        if a != meet:
            i = a
            a = model.joints[i].parent
        else:
            i = b
            b = model.joints[i].parent
        joint = &model.joints[i]
        squares[0] = squares[0] + dot3(work[i].acc, work[i].acc)
        squares[1] = squares[1] + dot3(work[i].acc + 3, work[i].acc + 3)
        for k in range(joint.v_start, joint.v_start + joint.nv):
            vdot = dofs[k].u
            if T is double:
                if k > joint.v_start:
                    vdot = vdot*dofs[k].D_inverse
            else:
                vdot = vdot*dofs[k].D_inverse
            set_zero(acc, 6)
            add_dof_acceleration(joint, k, H_N, vdot, acc)
            squares[0] = squares[0] + dot3(acc, acc)
            squares[1] = squares[1] + dot3(acc + 3, acc + 3)


cdef inline T* factor_in(const Model* model, T* memory) noexcept nogil:
    """Where `calc_constrained_accelerations` leaves L, behind it the scale, what is missing and 1 / D."""
    cdef T* Z = <T*>(<Placed[T]*>memory + model.num_mobods)
    return Z + <Py_ssize_t>model.num_equations*model.num_velocities
