"""Poses and rotations, for other modules."""

# Whether `count` matrices (4, 4), one after the other, are poses by the check of `as_pose`.
cdef bint are_poses(const double* X, Py_ssize_t count) noexcept nogil
# X_WF of a frame on a body of a mobod: see pose_error.hpp.
cdef void pose_on_mobod(const double* X_WN, const double* X_NB, const double* X_BF, double* X_WF) noexcept nogil
# For `count` samples: X_WF (4, 4), X_WG with this stride, e (6,). J (6, nv) holds the Jacobian of the velocity in World
# on entry; NULL: not needed.
cdef void pose_errors(
    Py_ssize_t count, const double* X_WF, const double* X_WG, Py_ssize_t stride, double* e, Py_ssize_t nv, double* J
) noexcept nogil
