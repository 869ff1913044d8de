"""The shapes of a model and the pairs of them whose distances are computed: tables for kernels."""

cimport numpy as cnp
from libc.limits cimport INT_MAX

from mbt._core.door.compiled_model cimport CompiledModel
from mbt._core.door.exact_arrays cimport adopt, data, in1
from mbt._core.model.structs cimport Model

import numpy as np

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)


def find_groups(CompiledModel compiled not None):
    """Return the rigid group of each body, and the group that carries it.

    The first integer is the same for bodies that are welded together, other than through World; zero is World alone.
    The second is the first integer of the body inboard of their joint, or -1 without a joint. The third is zero for
    bodies that never move.

    Returns
    -------
    list of tuple of three int
    """
    cdef const Model* m = &compiled.model
    cdef int b
    cdef list groups = [0]
    for b in range(1, m.num_bodies):
        if m.mobod[b] > 0:
            groups.append(m.mobod[b])
        else:
            groups.append(-b if m.parent[b] == 0 else groups[m.parent[b]])
    return [
        (groups[b], groups[m.parent[m.joints[m.mobod[b]].node]] if m.mobod[b] > 0 else -1, m.mobod[b])
        for b in range(m.num_bodies)
    ]


def find_tops(heights):
    """Return the largest entries of each block of rows; those on the border of two blocks belong to both."""
    cdef int size = 8  # see height_field.hpp
    return np.array([heights[i:i + size + 1].max(axis=0) for i in range(0, len(heights) - 1, size)])


cdef class Scene:
    """Shapes on the model of a tree, and pairs of them.

    Parameters
    ----------
    compiled : CompiledModel
    shapes : list of tuple
        (kind, node, three lengths, radius of the sphere about its origin, pose (4, 4), vertices (n, 3) or None, table
        (m,) of a hull or None). A table begins with the vertices, see supports.hpp. A height field has two half
        lengths, its top as the radius, and heights (rows, columns) as vertices.
    pairs : list of tuple
        (shape, shape, padding), in the order of results.
    """

    def __cinit__(self, CompiledModel compiled not None, list shapes not None, list pairs not None):
        self.compiled = compiled
        self.held = []
        self.set_shapes(shapes)
        self.set_pairs(pairs)

    cdef void* allocate(self, Py_ssize_t size) except NULL:
        memory = np.zeros(size//8 + 1)
        self.held.append(memory)
        return cnp.PyArray_DATA(memory)

    cdef set_shapes(self, list shapes):
        cdef const Model* m = &self.compiled.model
        cdef SceneShape* shape = <SceneShape*>self.allocate(len(shapes)*sizeof(SceneShape))
        cdef int i, j
        self.tables.shapes, self.tables.num_shapes = shape, len(shapes)
        for kind, node, size, radius, pose, vertices, table in shapes:
            # Checked because these may also come from pickles.
            if not (
                0 <= kind < NUM_KINDS and 0 <= node < m.num_bodies
                and (vertices is not None) == (kind >= HULL) and (table is not None) == (kind == HULL)
            ):
                raise ValueError("shapes: a shape has an unknown kind or body")
            shape.kind, shape.node, shape.mobod, shape.radius = kind, node, m.mobod[node], radius
            for i in range(3):
                shape.size[i] = size[i]
                shape.p[i] = pose[i, 3]
                for j in range(3):
                    shape.R[3*i + j] = pose[i, j]
            if kind == HEIGHT_FIELD:
                if vertices.ndim != 2 or min(vertices.shape) < 2:
                    raise ValueError("shapes: a height field needs two rows and two columns")
                shape.size[2], shape.count = vertices.shape
                numbers = np.concatenate([np.ravel(vertices), np.ravel(find_tops(find_tops(vertices).T).T)])
                self.held.append(numbers)
                shape.vertices = data(in1(numbers, "vertices", len(numbers)))
            elif kind == HULL:
                shape.count = len(vertices)
                table = in1(table, "table", max(3*shape.count, 1, len(table)))
                self.held.append(table)
                shape.vertices = data(table)
            shape += 1

    cdef Py_ssize_t climb(self, int first, int second, SceneMove* move) noexcept:
        """Number of mobods that move one relative to the other; they are written to `move` unless NULL."""
        cdef const Model* m = &self.compiled.model
        cdef Py_ssize_t count = 0
        # The outboard mobod has the larger index.
        while first != second:
            if move != NULL:
                move[count].mobod, move[count].sign = max(first, second), 1.0 if second > first else -1.0
            count += 1
            if second > first:
                second = m.joints[second].parent
            else:
                first = m.joints[first].parent
        return count

    cdef set_pairs(self, list pairs):
        cdef ScenePair* pair = <ScenePair*>self.allocate(len(pairs)*sizeof(ScenePair))
        cdef SceneMove* moves
        cdef Py_ssize_t num_moves = 0, first
        cdef SceneShape* s = <SceneShape*>self.tables.shapes
        cdef int* mobods
        cdef int i, a, b, place
        cdef list rows = []
        cdef set needed = set(), used = set()
        self.tables.pairs, self.tables.num_pairs = pair, len(pairs)
        for place, (a, b, padding) in enumerate(pairs):
            if not (0 <= a < self.tables.num_shapes and 0 <= b < self.tables.num_shapes):
                raise ValueError("pairs: a pair has an unknown shape")
            first = num_moves
            num_moves += self.climb(s[a].mobod, s[b].mobod, NULL)
            if num_moves > INT_MAX:
                raise MemoryError("pairs: too many pairs with too many joints between their bodies")
            used.update((a, b))
            swapped = s[a].kind > s[b].kind
            if swapped:
                a, b = b, a
            alike = s[a].kind, s[b].kind, <size_t>s[a].vertices, <size_t>s[b].vertices
            rows.append((alike, place, a, b, swapped, first, num_moves, padding))
        for i in range(self.tables.num_shapes):
            if i not in used:
                s[i].mobod = 0  # It need not be placed.
            b = s[i].mobod
            while b > 0 and b not in needed:
                needed.add(b)
                b = self.compiled.model.joints[b].parent
        self.tables.moves = moves = <SceneMove*>self.allocate(num_moves*sizeof(SceneMove))
        for _, place, a, b, swapped, first, last, padding in sorted(rows):
            pair.a, pair.b, pair.swapped, pair.place, pair.padding = a, b, swapped, place, padding
            pair.first, pair.last = first, last
            self.climb(s[b if swapped else a].mobod, s[a if swapped else b].mobod, moves + first)
            pair += 1
        self.tables.mobods = mobods = <int*>self.allocate(len(needed)*sizeof(int))
        self.tables.num_mobods = len(needed)
        for place, i in enumerate(sorted(needed)):
            mobods[place] = i
