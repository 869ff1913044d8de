"""Tables of tasks, limits and moving dofs that the solver of inverse kinematics reads, for all instruction sets."""

from mbt._core.door.compiled_model cimport CompiledModel


cdef enum TaskKind:
    POSE = 0           # goal: X_AG (4, 4), A World or a frame
    POSITION = 1       # goal: p_WP (3,)
    DIRECTION = 2      # goal: a unit vector (3,)
    CENTER = 3         # goal: one coordinate per axis


cdef struct Task:
    int kind
    int goal             # where it begins in the row of goals
    int rotation_row     # -1: none
    int distance_row
    int num_rows
    int frame            # F
    int base             # A, 0: World
    int rotation_second  # 1: never costs success
    int distance_second
    int path             # its range in `path_mobod`
    int path_end
    double rotation_weight
    double distance_weight
    double[3] point      # p_FP, or an axis in F
    int[3] axes


cdef struct Tables:
    int num_tasks
    const Task* tasks
    int num_rows, num_goal, num_errors
    int constraint_row     # -1: none
    bint needs_masses
    bint is_secondary      # some rows never cost success
    int num_mobods         # whose poses are computed, in order
    const int* mobods
    const int* path_mobod
    const double* path_sign
    # By column, (num_columns,): see `InverseProblem`.
    int num_columns
    const int* position
    const double* low
    const double* high
    const double* center
    const double* spread
    const double* turn
    const int* column      # (nv,) of a dof, -1: it does not move
    int num_blocks
    const int* blocks      # nodes whose orientations move
    int num_clamped
    const int* clamped     # their coordinates with limits
    const double* clamps   # (num_clamped, 2)
    const double* lower    # (nq,), -inf where locked
    const double* upper
    double posture_weight
    const double* posture  # (nq,)
    int num_posture_nodes
    const int* posture_nodes


cdef class InverseLayout:
    cdef CompiledModel compiled
    cdef Tables tables
    cdef list held         # keeps the arrays behind `tables` alive
    cdef int* keep_ints(self, numbers) except NULL
    cdef double* keep_doubles(self, numbers) except NULL
    cdef list way(self, int frame)
    cdef set_up(self, list tasks, lower, upper, set locked, posture)
    cdef set_columns(self, list moving, lower, upper, set locked)
