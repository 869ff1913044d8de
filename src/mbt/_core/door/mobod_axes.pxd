"""The rotations between mobilizer frames and mobods, in which the axis of one dof is z."""

from libc.math cimport fabs, sqrt

from mbt._core.algebra.spatial cimport dot3


cdef inline void set_identity3(double* R) noexcept nogil:
    cdef int i
    for i in range(9):
        R[i] = 1.0 if i % 4 == 0 else 0.0


cdef inline void set_rotation_of_z_to(const double* axis, double* R) noexcept nogil:
    """A rotation whose third column is the unit vector `axis`, exact and sparse for coordinate axes."""
    cdef double[3] x
    cdef double size
    cdef int i, largest = 0
    for i in range(1, 3):
        if fabs(axis[i]) > fabs(axis[largest]):
            largest = i
    # The coordinate axes in cyclic order keep a permutation matrix for +x, +y, +z.
    cdef int first = (largest + 1) % 3
    for i in range(3):
        x[i] = (1.0 if i == first else 0.0) - axis[i]*axis[first]
    size = sqrt(dot3[double](x, x))
    for i in range(3):
        x[i] /= size
    for i in range(3):
        R[3*i] = x[i]
        R[3*i + 1] = axis[(i + 1) % 3]*x[(i + 2) % 3] - axis[(i + 2) % 3]*x[(i + 1) % 3]
        R[3*i + 2] = axis[i]
    R[3*first + 1] = 0.0  # orthogonal to that coordinate axis; this removes rounding errors


cdef inline int axis_shift(const double* R_MN) noexcept nogil:
    """k where axis i of M is axis i + k (mod 3) of N, or -1."""
    cdef int i, j, k
    for k in range(3):
        for i in range(3):
            for j in range(3):
                if R_MN[3*i + j] != (1.0 if j == (i + k) % 3 else 0.0):
                    break
            else:
                continue
            break
        else:
            return k
    return -1
