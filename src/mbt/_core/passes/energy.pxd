"""Kinetic energy."""

from mbt._core.algebra.spatial cimport dot3, rotate_inverse4
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_kinetic_energy(
    # Topology:
    const Model* model,
    # Parameters:
    const T* mass,               # (num_bodies,)       [kg]
    const T* p_BoBcm_B,          # (num_bodies, 3)     [m]
    const T* I_BBo_B,            # (num_bodies, 6)     [kg m^2]  xx yy zz xy xz yz
    const T* reflected_inertia,  # (nv,)               [kg m^2, kg]
    # In:
    const T* X_WB,               # (num_bodies, 4, 4)  [1, m]
    const T* V_WB,               # (num_bodies, 6)     [rad/s, m/s]
    const T* v,                  # (nv,)               [rad/s, m/s]
    # Out:
    T* energy,                   # (1,)                [J]
) noexcept nogil:
    """Sum over bodies of (m (v·v + 2 v·(w × c)) + w·I w)/2, plus the rotors' half of reflected inertia times v^2."""
    cdef int b, k
    cdef T total = <T>0.0
    cdef T[3] w, u
    cdef T c_w
    cdef const T* c
    cdef const T* J
    for b in range(1, model.num_bodies):
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b, w)
        rotate_inverse4(X_WB + 16*b, V_WB + 6*b + 3, u)
        c = p_BoBcm_B + 3*b
        J = I_BBo_B + 6*b
        c_w = (
            u[0]*(w[1]*c[2] - w[2]*c[1]) + u[1]*(w[2]*c[0] - w[0]*c[2]) + u[2]*(w[0]*c[1] - w[1]*c[0])
        )
        total = total + mass[b]*(dot3(u, u) + c_w*2.0)
        total = total + (
            J[0]*w[0]*w[0] + J[1]*w[1]*w[1] + J[2]*w[2]*w[2]
            + (J[3]*w[0]*w[1] + J[4]*w[0]*w[2] + J[5]*w[1]*w[2])*2.0
        )
    for k in range(model.num_velocities):
        total = total + reflected_inertia[k]*v[k]*v[k]
    energy[0] = total*0.5
