"""Distances of pairs of shapes and their Jacobians with respect to velocities, for one state or many."""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.string cimport memcpy

from mbt._core.algebra.records cimport Mobod
from mbt._core.algebra.spatial cimport set_zero
from mbt._core.door.compiled_model cimport CompiledModel, Derived
from mbt._core.door.exact_arrays cimport adopt, data, in1, size
from mbt._core.engines.pool cimport Pool, get_pool, next_run, seconds
from mbt._core.geometry.scene cimport Scene, SceneMove, ScenePair, SceneShape, SceneTables
from mbt._core.model.structs cimport MobodJoint, Model
from mbt._core.passes.body_poses cimport calc_node_pose
from mbt._core.passes.jacobian cimport set_columns
from mbt._core.passes.paths cimport calc_sines_on_path
from mbt._core.scalars cimport MBT_W, Lanes, lane, load_rows_partial, store_rows_partial

from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "engines/aligned.hpp" namespace "MBT_NS" nogil:
    void* allocate_aligned(size_t size)
    void free_aligned(void* memory)


cdef extern from "geometry/distances.hpp" namespace "MBT_NS" nogil:
    cdef cppclass SceneResults:
        Lanes* distance
        Lanes* p_A
        Lanes* p_B
        Lanes* n
    bint has_pair_function(int a, int b)
    void put_on_mobod(const double* R_NB, const double* p_NB, SceneShape* shape)
    Py_ssize_t count_placed_shapes(const SceneTables* scene)
    void start_shapes(const SceneTables* scene, const SceneShape* shapes, Lanes* memory)
    void place_shapes(const SceneTables* scene, const SceneShape* shapes, const Lanes* X_WN, Lanes* memory)
    void find_distances(const SceneTables* scene, const Lanes* memory, const SceneResults* results)
    void find_distances_of_one(const SceneTables* scene, const Lanes* memory, const SceneResults* results)
    Lanes find_near(const SceneTables* scene, const Lanes* memory, double margin)

cdef extern from "geometry/witnesses.hpp" namespace "MBT_NS" nogil:
    void find_witnesses(const SceneTables* scene, const void* placed, const int* pairs, int count, void* witnesses)

cdef extern from "scalars/stream.hpp" namespace "MBT_NS" nogil:
    double* aligned_like(const double* to, double* memory)
    void stream_doubles(const double* source, double* to, Py_ssize_t n)
    void finish_streaming()

cdef enum:
    STREAMED_BYTES = 4 << 20  # larger results bypass the CPU caches
    PAIRS_PER_PART = 20000    # about 0.1 ms
    FIRST_PARTS = 4           # before the first check for signals


cdef struct Job:
    const Model* model
    const SceneTables* scene
    const SceneShape* shapes   # on their mobods
    const Mobod[Lanes]* mobods
    const double* q
    Py_ssize_t begin
    Py_ssize_t end
    int num_parts
    # Requested results; NULL if not requested.
    double* distance
    double* p_A
    double* p_B
    double* n
    double* J
    unsigned char* is_free
    double margin
    bint streamed


cdef inline Py_ssize_t count_lanes(const Job* job) noexcept nogil:
    cdef const Model* m = job.model
    return (
        count_placed_shapes(job.scene) + m.num_positions + 16*m.num_mobods + 2*m.angle_stride
        + 10*job.scene.num_pairs + 7*m.num_velocities + max_row(job) + 8
    )


cdef inline Py_ssize_t max_row(const Job* job) noexcept nogil:
    """Entries of the largest result of a sample; a block of them is assembled before it is streamed."""
    return job.scene.num_pairs*max(3, job.model.num_velocities) if job.streamed else 0


cdef int run_part(const void* shared, int part) noexcept nogil:
    """Compute an equal share of the samples, in whole blocks."""
    cdef const Job* job = <const Job*>shared
    cdef const Model* m = job.model
    cdef const SceneTables* scene = job.scene
    cdef Py_ssize_t blocks = (job.end - job.begin + MBT_W - 1)//MBT_W
    cdef Py_ssize_t at = job.begin + MBT_W*(blocks*part//job.num_parts)
    cdef Py_ssize_t end = min(job.end, job.begin + MBT_W*(blocks*(part + 1)//job.num_parts))
    cdef Lanes* memory = <Lanes*>allocate_aligned(count_lanes(job)*sizeof(Lanes))
    if memory == NULL:
        return 1
    cdef Lanes* q = memory + count_placed_shapes(scene)
    cdef Lanes* X_WN = q + m.num_positions
    cdef Lanes* sines = X_WN + 16*m.num_mobods
    cdef Lanes* cosines = sines + m.angle_stride
    cdef Lanes* J = cosines + m.angle_stride
    cdef SceneResults found
    cdef double* rows
    cdef int i, count
    found.distance = J + 7*m.num_velocities
    found.n = found.distance + scene.num_pairs
    found.p_A = found.p_B = NULL
    if job.p_A != NULL or job.J != NULL:
        found.p_A = found.n + 3*scene.num_pairs
        found.p_B = found.p_A + 3*scene.num_pairs
    rows = <double*>(found.distance + 10*scene.num_pairs)
    start_shapes(scene, job.shapes, memory)
    while at < end:
        count = <int>min(<Py_ssize_t>MBT_W, end - at)
        load_rows_partial(job.q + at*m.num_positions, m.num_positions, m.num_positions, count, q)
        calc_sines_on_path(m, scene.mobods, scene.num_mobods, q, sines, cosines)
        for i in range(scene.num_mobods):
            calc_node_pose(m, scene.mobods[i], job.mobods, q, sines, cosines, X_WN)
        place_shapes(scene, job.shapes, X_WN, memory)
        if job.is_free != NULL:
            set_free(job, q, find_near(scene, memory, job.margin), at, count)
        else:
            if count == 1:
                find_distances_of_one(scene, memory, &found)
            else:
                find_distances(scene, memory, &found)
            store(job, found.distance, scene.num_pairs, job.distance, at, count, rows)
            store(job, found.p_A, 3*scene.num_pairs, job.p_A, at, count, rows)
            store(job, found.p_B, 3*scene.num_pairs, job.p_B, at, count, rows)
            store(job, found.n, 3*scene.num_pairs, job.n, at, count, rows)
            if job.J != NULL:
                store_jacobian(job, at, count, q, X_WN, &found, J, rows)
        at += count
    if job.streamed:
        finish_streaming()
    free_aligned(memory)
    return 0


cdef inline void set_free(const Job* job, const Lanes* q, Lanes near, Py_ssize_t at, int count) noexcept nogil:
    """A sample is free if nothing is near and no position is NaN."""
    cdef int i
    for i in range(job.model.num_positions):
        near = near + q[i]*0.0
    for i in range(count):
        job.is_free[at + i] = lane(near, i) == 0.0


cdef inline void store(
    const Job* job, const Lanes* lanes, Py_ssize_t n, double* out, Py_ssize_t at, int count, double* rows
) noexcept nogil:
    """Write the n entries of each sample of a block to the rows of a result; NULL if not requested."""
    cdef double* to = out + n*at
    cdef double* here
    if out == NULL or n == 0:
        return
    here = aligned_like(to, rows) if job.streamed and count == MBT_W else to
    store_rows_partial(lanes, here, n, <int>n, count)
    if here != to:
        stream_doubles(here, to, n*count)


cdef inline void store_jacobian(
    # Topology:
    const Job* job,
    Py_ssize_t at,
    int count,
    # In:
    const Lanes* q,     # (nq,)                [rad, m]
    const Lanes* X_WN,  # (num_mobods, 4, 4)   [1, m]
    const SceneResults* found,
    # Work:
    Lanes* J,           # (7, nv)
    double* rows,       # (MBT_W, num_pairs, nv)
) noexcept nogil:
    """n . (v_B - v_A), without the dofs that move both shapes: their witness points are on a line along n.

    Columns belong to a point Q that all pairs share: n . (v + w x p_QA) = n . v + (p_QA x n) . w
    """
    cdef const Model* m = job.model
    cdef const SceneTables* scene = job.scene
    cdef const ScenePair* pair
    cdef const SceneMove* move
    cdef const MobodJoint* joint
    cdef const Lanes* n
    cdef const Lanes* p
    cdef const Lanes* column
    cdef Py_ssize_t nv = m.num_velocities, n_J = scene.num_pairs*nv
    cdef Lanes* row = J + 6*nv
    cdef double* to = job.J + n_J*at
    cdef double* here = aligned_like(to, rows) if job.streamed and count == MBT_W else to
    cdef Lanes[3] p_WQ
    cdef Lanes x, y, z, a, b, c
    cdef int i, k, l
    if n_J == 0:
        return
    for i in range(3):
        p_WQ[i] = X_WN[16*scene.mobods[0] + 4*i + 3]
    for i in range(scene.num_mobods):
        set_columns(m, scene.mobods[i], job.mobods, q, X_WN, p_WQ, J)
    for i in range(scene.num_pairs):
        pair = &scene.pairs[i]
        n = found.n + 3*pair.place
        p = found.p_A + 3*pair.place
        x, y, z = p[0] - p_WQ[0], p[1] - p_WQ[1], p[2] - p_WQ[2]
        a, b, c = y*n[2] - z*n[1], z*n[0] - x*n[2], x*n[1] - y*n[0]
        set_zero(row, <int>nv)
        for k in range(pair.first, pair.last):
            move = &scene.moves[k]
            joint = &m.joints[move.mobod]
            for l in range(joint.v_start, joint.v_start + joint.nv):
                column = J + l
                row[l] = (
                    a*column[0] + b*column[nv] + c*column[2*nv]
                    + n[0]*column[3*nv] + n[1]*column[4*nv] + n[2]*column[5*nv]
                )*move.sign
        store_rows_partial(row, here + pair.place*nv, n_J, <int>nv, count)
    if here != to:
        stream_doubles(here, to, n_J*count)


def is_known(int a, int b):
    """Return whether the distance of two kinds of shapes can be computed."""
    return has_pair_function(min(a, b), max(a, b))


def address_of_witnesses():
    """Return the address of the function with which contact of shapes begins, see witnesses.hpp."""
    return <size_t>&find_witnesses


cdef class DistanceCore:
    """A scene with one set of parameters.

    Parameters
    ----------
    scene : Scene
    vector : ndarray
        Parameters.
    """
    cdef readonly Scene scene
    cdef Derived derived
    cdef object vector
    cdef Lanes* mobods
    cdef SceneShape* shapes

    def __cinit__(self, Scene scene not None, vector):
        cdef CompiledModel compiled = scene.compiled
        cdef const Model* m = &compiled.model
        cdef const SceneTables* t = &scene.tables
        cdef const double* X_NB
        cdef const double* numbers
        cdef Py_ssize_t i, n = m.num_mobods*(sizeof(Mobod[double])//sizeof(double))
        self.scene = scene
        self.vector = vector = in1(vector, "vector", compiled.layout.size)
        self.derived = compiled.defaults if vector is compiled.default_parameters else Derived(compiled, vector)
        self.mobods = <Lanes*>allocate_aligned(n*sizeof(Lanes) + t.num_shapes*sizeof(SceneShape) + 1)
        if self.mobods == NULL:
            raise MemoryError
        # A record of scalars is contiguous; so is a pose.
        numbers = <const double*>self.derived.parameters.mobods
        for i in range(n):
            self.mobods[i] = Lanes(numbers[i])
        self.shapes = <SceneShape*>(self.mobods + n)
        memcpy(self.shapes, t.shapes, t.num_shapes*sizeof(SceneShape))
        for i in range(t.num_shapes):
            X_NB = <const double*>&self.derived.parameters.X_NB[self.shapes[i].node]
            put_on_mobod(X_NB, X_NB + 9, &self.shapes[i])

    def __dealloc__(self):
        free_aligned(self.mobods)

    def run(self, q, int num_threads, distance, p_A, p_B, n, J, is_free, double margin):
        """Fill the results that are not None, for all samples.

        Parameters
        ----------
        q : ndarray, shape (count, nq)
        num_threads : int
        distance : ndarray, shape (count, num_pairs), or None
        p_A, p_B, n : ndarray, shape (count, num_pairs, 3), or None
            All or none of them.
        J : ndarray, shape (count, num_pairs, nv), or None
        is_free : ndarray of bool, shape (count,), or None
            If given, all other results must be None.
        margin : float
        """
        cdef Job job
        cdef Py_ssize_t count = q.shape[0], samples, run
        cdef Pool* pool
        cdef double start
        cdef int error, parts
        job.model, job.scene, job.shapes = &self.scene.compiled.model, &self.scene.tables, self.shapes
        job.mobods, job.q, job.margin = <const Mobod[Lanes]*>self.mobods, data(q), margin
        job.distance, job.J = pointer(distance), pointer(J)
        job.p_A, job.p_B, job.n = pointer(p_A), pointer(p_B), pointer(n)
        job.is_free = <unsigned char*>NULL if is_free is None else <unsigned char*>cnp.PyArray_DATA(is_free)
        job.streamed = count_numbers((distance, p_A, p_B, n, J))*sizeof(double) > STREAMED_BYTES
        samples = max(<Py_ssize_t>64, <Py_ssize_t>PAIRS_PER_PART//(job.scene.num_pairs + 1))
        run = samples*FIRST_PARTS
        job.begin = 0
        while job.begin < count:
            job.end = min(count, job.begin + run)
            parts = <int>min(<Py_ssize_t>num_threads, (job.end - job.begin)//samples)
            pool = get_pool() if parts > 1 else NULL
            job.num_parts = parts if pool != NULL else 1
            with nogil:
                start = seconds()
                error = run_part(&job, 0) if pool == NULL else pool.run(run_part, &job, parts)
                run = next_run(job.end - job.begin, seconds() - start, MBT_W)
            if error:
                raise MemoryError
            job.begin = job.end
            if job.begin < count:
                PyErr_CheckSignals()


cdef Py_ssize_t count_numbers(tuple results):
    return sum([0 if array is None else size(array) for array in results])


cdef double* pointer(array) except? NULL:
    return <double*>NULL if array is None else data(array)
