"""Poses and rotations, for other modules."""

# Whether so many matrices (4, 4), one behind the other, are poses, as `as_pose` checks it.
cdef bint are_poses(const double* X, Py_ssize_t count) noexcept nogil
# X_WF of a frame on a body of a mobod: see pose_error.hpp.
cdef void pose_on_mobod(const double* X_WN, const double* X_NB, const double* X_BF, double* X_WF) noexcept nogil
# Of so many samples: X_WF (4, 4), X_WG with this stride, e (6,); J (6, nv) is that of velocities in World before, NULL
# where it is not wanted.
cdef void pose_errors(
    Py_ssize_t count, const double* X_WF, const double* X_WG, Py_ssize_t stride, double* e, Py_ssize_t nv, double* J
) noexcept nogil
