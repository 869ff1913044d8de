"""Which constraints are solved together: those whose dofs overlap, or all of them."""

cimport numpy as cnp
from libc.limits cimport INT_MAX

from mbt._core.model.structs cimport Constraint, ConstraintGroups, Model


cdef inline int root_of(const Model* m, const Constraint* x) noexcept nogil:
    """The mobod inboard of all dofs between its ends; the ends of a coupler are the mobods of its joints."""
    cdef int a = x.mobod_a, b = x.mobod_b
    if x.dof_a >= 0:
        a, b = m.joints[a].parent, m.joints[b].parent
    while a != b:
        if a > b:
            a = m.joints[a].parent
        else:
            b = m.joints[b].parent
    return a


cdef inline int leader_of(int* leader, int i) noexcept nogil:
    while leader[i] != i:
        leader[i] = leader[leader[i]]
        i = leader[i]
    return i


cdef inline void join_overlapping(const Model* m, int* owner, int* leader, int* root) noexcept nogil:
    """leader (num_constraints,): first constraint of each group, where `root` is that of the group.

    Work: owner (num_mobods,), all -1. In: the root of each constraint.
    """
    cdef int i, j, end, a, b
    for i in range(m.num_constraints):
        leader[i] = i
    for i in range(m.num_constraints):
        for end in range(2):
            j = m.constraints[i].mobod_b if end else m.constraints[i].mobod_a
            while j > root[i]:
                if owner[j] < 0:
                    owner[j] = i
                a, b = leader_of(leader, owner[j]), leader_of(leader, i)
                leader[max(a, b)] = min(a, b)
                j = m.joints[j].parent
    for i in range(m.num_constraints):
        leader[i] = leader_of(leader, i)
        # Of two mobods on one path to World, the inboard one has the smaller index.
        root[leader[i]] = min(root[leader[i]], root[i])


cdef inline void visit_paths(
    const Model* m, const int* root, int* last, Py_ssize_t* places, int* through
) noexcept nogil:
    """Count each constraint once at each mobod between its ends and its root; also write it there unless NULL.

    Work: last (num_mobods,), all -1. In and out: places (num_mobods,), incremented by one for each constraint.
    """
    cdef int i, j, end
    for i in range(m.num_constraints):
        for end in range(2):
            j = m.constraints[i].mobod_b if end else m.constraints[i].mobod_a
            while j > root[i] and last[j] != i:
                last[j] = i
                if through != NULL:
                    through[places[j]] = i
                places[j] += 1
                j = m.joints[j].parent


cdef inline const ConstraintGroups* make_groups(Model* m, bint as_one, dict arrays) except NULL:
    """Group constraints that overlap, or all if `as_one`. `arrays` keeps the arrays of the groups alive."""
    import numpy as np
    cdef Py_ssize_t count = m.num_constraints, total
    cdef int i
    name = f"groups {as_one}"
    record = np.zeros(sizeof(ConstraintGroups), dtype=np.uint8)
    arrays[name] = [record]
    cdef ConstraintGroups* groups = <ConstraintGroups*>cnp.PyArray_DATA(record)
    root = np.zeros(count, dtype=np.intc)
    leader = np.zeros(count, dtype=np.intc)
    last = np.full(m.num_mobods, -1, dtype=np.intc)
    cdef int* root_in = <int*>cnp.PyArray_DATA(root)
    cdef int* last_in = <int*>cnp.PyArray_DATA(last)
    if not as_one:
        for i in range(count):
            root_in[i] = root_of(m, &m.constraints[i])
        join_overlapping(m, last_in, <int*>cnp.PyArray_DATA(leader), root_in)
    root = root[leader]
    # Sorted by group, the most outboard root first.
    order = np.lexsort((np.arange(count), leader, -root)).astype(np.intc)
    firsts = np.flatnonzero(np.diff(leader[order], prepend=-1))
    num_rows = np.array([m.constraints[i + 1].row for i in range(count - 1)] + [m.num_equations]) - np.array(
        [m.constraints[i].row for i in range(count)]
    )
    rows = np.concatenate(([0], np.cumsum(num_rows[order])))
    row_start = rows[np.append(firsts, count)]
    place = np.empty(count, dtype=np.intc)
    place[order] = rows[:count]
    group_of = np.empty(count, dtype=np.intc)
    group_of[order] = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, count)))

    # The constraints that pass through each mobod.
    places = np.zeros(m.num_mobods, dtype=np.intp)
    last.fill(-1)
    root_in = <int*>cnp.PyArray_DATA(root)
    visit_paths(m, root_in, last_in, <Py_ssize_t*>cnp.PyArray_DATA(places), NULL)
    ends = places.cumsum()
    total = ends[m.num_mobods - 1]
    if total > INT_MAX:
        raise MemoryError(f"{count} constraints with {total} bodies inboard of them in total: too many")
    through_start = np.append(0, ends).astype(np.intc)
    through = np.zeros(total, dtype=np.intc)
    places[:] = through_start[:m.num_mobods]
    last.fill(-1)
    visit_paths(
        m, root_in, last_in, <Py_ssize_t*>cnp.PyArray_DATA(places), <int*>cnp.PyArray_DATA(through)
    )
    on_path = np.flatnonzero(np.diff(through_start))
    group_of_mobod = group_of[through[through_start[on_path]]]
    mobods = on_path[np.argsort(group_of_mobod, kind="stable")]
    mobod_start = np.searchsorted(np.sort(group_of_mobod), np.arange(len(firsts) + 1))
    sizes = np.diff(row_start)
    num_dofs = np.array([m.joints[i].nv for i in range(m.num_mobods)])
    lengths = num_dofs[mobods]*np.repeat(sizes, np.diff(mobod_start))
    Z_start = np.zeros(m.num_mobods, dtype=np.intp)
    Z_start[mobods] = np.cumsum(lengths) - lengths
    L_start = np.append(0, np.cumsum(sizes*sizes)).astype(np.intp)

    groups.num_groups = len(firsts)
    groups.root = keep(arrays, name, root[order][firsts])
    groups.row_start = keep(arrays, name, row_start)
    groups.constraint_start = keep(arrays, name, np.append(firsts, count))
    groups.mobod_start = keep(arrays, name, mobod_start)
    groups.constraints = keep(arrays, name, order)
    groups.mobods = keep(arrays, name, mobods)
    groups.place = keep(arrays, name, place)
    groups.through_start = keep(arrays, name, through_start)
    groups.through = keep(arrays, name, through)
    arrays[name + " of rows"] = Z_start, L_start
    groups.Z_start = <Py_ssize_t*>cnp.PyArray_DATA(Z_start)
    groups.L_start = <Py_ssize_t*>cnp.PyArray_DATA(L_start)
    groups.Z_size = lengths.sum()
    groups.L_size = L_start[len(firsts)]
    return groups


cdef inline bint is_one_group_quicker(const Model* m) noexcept nogil:
    """Compare multiplications for one column of each of the three derivatives of constrained dynamics.

    With all constraints as one group: two products with M^-1, at an eighth of the cost of others, five with the rows of
    all constraints, and three solutions. By groups: three passes over all dofs, each of which costs 40 including
    stalls, and over all groups. (benchmarks/ladder.py, benchmarks/constraints.py)
    """
    cdef double n = m.num_velocities, rows = m.num_equations
    return (0.25*n + 5*rows)*n + 3*rows*rows <= 3*(40*n + 12*rows + 2*m.groups.Z_size + m.groups.L_size)


cdef inline const int* keep(dict arrays, str name, array) except? NULL:
    import numpy as np
    array = np.ascontiguousarray(array, dtype=np.intc)
    arrays[name].append(array)
    return <const int*>cnp.PyArray_DATA(array)
