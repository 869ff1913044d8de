"""Small dense algebra on `T*`: 3-vectors, row-major 3x3 rotations, spatial vectors [rotational; translational].

Results never alias arguments unless a function says so.
"""

from libc.math cimport NAN

from mbt._core.scalars cimport (
    T, compose_pose_rows, compose_turned_rows, multiply_pose_rows, set_pose_rows, shift_axes_rows,
)


cdef inline void set_zero(T* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = <T>0.0


cdef inline void set_nan(T* y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = <T>NAN


cdef inline void copy(const T* x, Py_ssize_t n, T* y) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        y[i] = x[i]


cdef inline void add_to(const T* x, int n, T* y) noexcept nogil:
    """y += x."""
    cdef int i
    for i in range(n):
        y[i] = y[i] + x[i]


cdef inline void subtract_from(const T* x, int n, T* y) noexcept nogil:
    """y -= x."""
    cdef int i
    for i in range(n):
        y[i] = y[i] - x[i]


cdef inline void subtract(const T* a, const T* b, int n, T* y) noexcept nogil:
    """y = a - b."""
    cdef int i
    for i in range(n):
        y[i] = a[i] - b[i]


cdef inline void add_scaled(const T* x, T s, int n, T* y) noexcept nogil:
    """y += s x."""
    cdef int i
    for i in range(n):
        y[i] = y[i] + x[i]*s


cdef inline T dot3(const T* x, const T* y) noexcept nogil:
    return x[0]*y[0] + x[1]*y[1] + x[2]*y[2]


cdef inline T dot6(const T* x, const T* y) noexcept nogil:
    return x[0]*y[0] + x[1]*y[1] + x[2]*y[2] + x[3]*y[3] + x[4]*y[4] + x[5]*y[5]


cdef inline void cross(const T* x, const T* y, T* z) noexcept nogil:
    """z = x × y."""
    z[0] = x[1]*y[2] - x[2]*y[1]
    z[1] = x[2]*y[0] - x[0]*y[2]
    z[2] = x[0]*y[1] - x[1]*y[0]


cdef inline void add_cross(const T* x, const T* y, T* z) noexcept nogil:
    """z += x × y."""
    z[0] = z[0] + x[1]*y[2] - x[2]*y[1]
    z[1] = z[1] + x[2]*y[0] - x[0]*y[2]
    z[2] = z[2] + x[0]*y[1] - x[1]*y[0]


cdef inline void rotate(const T* R, const T* x, T* y) noexcept nogil:
    """y = R x."""
    y[0] = R[0]*x[0] + R[1]*x[1] + R[2]*x[2]
    y[1] = R[3]*x[0] + R[4]*x[1] + R[5]*x[2]
    y[2] = R[6]*x[0] + R[7]*x[1] + R[8]*x[2]


cdef inline void multiply_rotations(const T* R_AB, const T* R_BC, T* R_AC) noexcept nogil:
    """R_AC = R_AB R_BC."""
    cdef int i, j
    for i in range(3):
        for j in range(3):
            R_AC[3*i + j] = R_AB[3*i]*R_BC[j] + R_AB[3*i + 1]*R_BC[3 + j] + R_AB[3*i + 2]*R_BC[6 + j]


# Poses as row-major 4x4 matrices, which users see and the World passes work on.

cdef inline void set_pose4(const T* R, const T* p, T* X) noexcept nogil:
    cdef int i, j
    if T is double:
        set_pose_rows(R, p, X)
    else:
        for i in range(3):
            for j in range(3):
                X[4*i + j] = R[3*i + j]
            X[4*i + 3] = p[i]
        for j in range(3):
            X[12 + j] = <T>0.0
        X[15] = <T>1.0


cdef inline void set_identity4(T* X) noexcept nogil:
    cdef int i
    set_zero(X, 16)
    for i in range(4):
        X[5*i] = <T>1.0


cdef inline void multiply_poses4(const T* X_AB, const T* X_BC, T* X_AC) noexcept nogil:
    """X_AC = X_AB X_BC."""
    cdef int i, j
    if T is double:
        multiply_pose_rows(X_AB, X_BC, X_AC)
    else:
        for i in range(3):
            for j in range(3):
                X_AC[4*i + j] = X_AB[4*i]*X_BC[j] + X_AB[4*i + 1]*X_BC[4 + j] + X_AB[4*i + 2]*X_BC[8 + j]
            X_AC[4*i + 3] = (
                X_AB[4*i + 3] + X_AB[4*i]*X_BC[3] + X_AB[4*i + 1]*X_BC[7] + X_AB[4*i + 2]*X_BC[11]
            )
            X_AC[12 + i] = <T>0.0
        X_AC[15] = <T>1.0


cdef inline void compose_pose4(const T* X_AB, const T* R_BC, const T* p_BC, T* X_AC) noexcept nogil:
    """X_AC = X_AB X_BC."""
    cdef int i, j
    if T is double:
        compose_pose_rows(X_AB, R_BC, p_BC, X_AC)
    else:
        for i in range(3):
            for j in range(3):
                X_AC[4*i + j] = X_AB[4*i]*R_BC[j] + X_AB[4*i + 1]*R_BC[3 + j] + X_AB[4*i + 2]*R_BC[6 + j]
            X_AC[4*i + 3] = X_AB[4*i + 3] + X_AB[4*i]*p_BC[0] + X_AB[4*i + 1]*p_BC[1] + X_AB[4*i + 2]*p_BC[2]
            X_AC[12 + i] = <T>0.0
        X_AC[15] = <T>1.0


cdef inline void compose_turned_pose4(const T* X_AB, const T* R_BC, const T* p_BC, T s, T c, T* X_AC) noexcept nogil:
    """X_AC = X_AB X_BC, rotated about the z axis of C by the angle with sine s and cosine c."""
    cdef int i
    cdef T[16] X
    if T is double:
        compose_turned_rows(X_AB, R_BC, p_BC, s, c, X_AC)
    else:
        compose_pose4(X_AB, R_BC, p_BC, X)
        for i in range(3):
            X_AC[4*i] = c*X[4*i] + s*X[4*i + 1]
            X_AC[4*i + 1] = c*X[4*i + 1] - s*X[4*i]
            X_AC[4*i + 2] = X[4*i + 2]
            X_AC[4*i + 3] = X[4*i + 3]
        for i in range(12, 16):
            X_AC[i] = X[i]


cdef inline void shift_axes4(const T* X, int shift, T* Y) noexcept nogil:
    """Y has axis i + shift (mod 3) of X as its axis i, and the same origin."""
    cdef int i, j
    if T is double:
        shift_axes_rows(X, shift, Y)
    else:
        copy(X, 16, Y)
        for j in range(3):
            for i in range(3):
                Y[4*i + j] = X[4*i + (j + shift) % 3]


cdef inline void invert_pose4(const T* X_AB, T* X_BA) noexcept nogil:
    """X_BA = X_AB^-1."""
    cdef int i, j
    for i in range(3):
        for j in range(3):
            X_BA[4*i + j] = X_AB[4*j + i]
        X_BA[4*i + 3] = -(X_AB[i]*X_AB[3] + X_AB[4 + i]*X_AB[7] + X_AB[8 + i]*X_AB[11])
        X_BA[12 + i] = <T>0.0
    X_BA[15] = <T>1.0


cdef inline void rotate4(const T* X, const T* x, T* y) noexcept nogil:
    """y = R x, with R the rotation of the pose X."""
    y[0] = X[0]*x[0] + X[1]*x[1] + X[2]*x[2]
    y[1] = X[4]*x[0] + X[5]*x[1] + X[6]*x[2]
    y[2] = X[8]*x[0] + X[9]*x[1] + X[10]*x[2]


cdef inline void rotate_inverse4(const T* X, const T* x, T* y) noexcept nogil:
    """y = R' x, with R the rotation of the pose X."""
    y[0] = X[0]*x[0] + X[4]*x[1] + X[8]*x[2]
    y[1] = X[1]*x[0] + X[5]*x[1] + X[9]*x[2]
    y[2] = X[2]*x[0] + X[6]*x[1] + X[10]*x[2]


cdef inline void get_position4(const T* X, T* p) noexcept nogil:
    cdef int i
    for i in range(3):
        p[i] = X[4*i + 3]


cdef inline void position_between4(const T* X_WA, const T* X_WB, T* p_AoBo_W) noexcept nogil:
    cdef int i
    for i in range(3):
        p_AoBo_W[i] = X_WB[4*i + 3] - X_WA[4*i + 3]


# Spatial vectors; p = p_AoBo points from A's origin to B's.

cdef inline void shift_velocity(const T* V_A, const T* p, T* V_B) noexcept nogil:
    """V_B = [w; v + w × p]."""
    cdef int i
    for i in range(6):
        V_B[i] = V_A[i]
    add_cross(V_A, p, V_B + 3)


cdef inline void add_shifted_force(const T* F_B, const T* p, T* F_A) noexcept nogil:
    """F_A += [t + p × f; f]: a force at B's origin, shifted to A's."""
    cdef int i
    for i in range(6):
        F_A[i] = F_A[i] + F_B[i]
    add_cross(p, F_B + 3, F_A)


# Symmetric matrices.

cdef inline void invert_symmetric6(T* A, T* D, T* scale) noexcept nogil:
    """Invert A in place, by A = L D L'. Returns the pivots D (6,), and the diagonal of A, (6,)."""
    cdef T[36] L, X
    cdef T total
    cdef int i, j, k
    for i in range(6):
        scale[i] = A[7*i]
        for j in range(i):
            total = A[6*i + j]
            for k in range(j):
                total = total - L[6*i + k]*L[6*j + k]*D[k]
            L[6*i + j] = total/D[j]
        total = A[7*i]
        for k in range(i):
            total = total - L[6*i + k]*L[6*i + k]*D[k]
        D[i] = total
    # X = L^-1, lower; A^-1 = X' D^-1 X.
    for i in range(6):
        X[7*i] = <T>1.0
        for j in range(i):
            total = L[6*i + j]
            for k in range(j + 1, i):
                total = total + L[6*i + k]*X[6*k + j]
            X[6*i + j] = -total
    for i in range(6):
        for j in range(i + 1):
            total = <T>0.0
            for k in range(i, 6):
                total = total + X[6*k + i]*X[6*k + j]/D[k]
            A[6*i + j] = total
            A[6*j + i] = total
