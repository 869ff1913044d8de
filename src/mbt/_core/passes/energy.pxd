"""Kinetic energy."""

from mbt._core.algebra.vectors cimport Motion, dot, inertia_of_body, motion_at, pose_at, times_transposed
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
    """Sum over bodies of V·M V / 2, plus the rotors' half of reflected inertia times v^2."""
    cdef int b, k
    cdef T total = <T>0.0
    cdef Motion[T] V_B
    for b in range(1, model.num_bodies):
        V_B = times_transposed(pose_at(X_WB + 16*b).R, motion_at(V_WB + 6*b))
        total = total + dot(inertia_of_body(mass[b], p_BoBcm_B + 3*b, I_BBo_B + 6*b)*V_B, V_B)
    for k in range(model.num_velocities):
        total = total + reflected_inertia[k]*v[k]*v[k]
    energy[0] = total*0.5
