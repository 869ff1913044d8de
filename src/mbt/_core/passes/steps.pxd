"""Steps of motion between states on the group of configurations, from accelerations to positions.

H. Munthe-Kaas, "High order Runge-Kutta methods on manifolds", Applied Numerical Mathematics 29 (1999).
In NumPy: tests/support/textbook.py, step_of_runge_kutta.
"""

from mbt._core.algebra.spatial cimport copy
from mbt._core.algebra.vectors cimport Vec3, cross, half, put, vector_at
from mbt._core.joints.mobilizers cimport PLAIN, orientation_of
from mbt._core.model.structs cimport Model
from mbt._core.scalars cimport T


cdef inline void calc_step_rate(
    # Topology:
    const Model* model,
    # In:
    const T* step,     # (nv,)  [rad, m]      the step since q0: q = exp(step) q0
    const T* v,        # (nv,)  [rad/s, m/s]  there
    # Out:
    T* rate,           # (nv,)  [rad/s, m/s]  of the step
) noexcept nogil:
    """Velocities; for rotations w - u x w / 2 + u x (u x w) / 12, the inverse of dexp up to order two."""
    cdef int b, k
    cdef Vec3[T] u, w, uw, uuw
    copy(v, model.num_velocities, rate)
    for b in range(1, model.num_bodies):
        if orientation_of(model.type[b]) != PLAIN:
            k = model.v_start[b]
            u = vector_at(step + k)
            w = vector_at(v + k)
            uw = cross(u, w)
            uuw = cross(u, uw)
            put(w - half(uw) + uuw*<T>(1.0/12.0), rate + k)


cdef inline void add_multiple(
    # In:
    Py_ssize_t n,
    const T* y0,       # (n,)  [SI]
    const T* rate,     # (n,)  [SI]
    T dt,
    # Out:
    T* y1,             # (n,)  [SI]
) noexcept nogil:
    """y1 = y0 + rate dt."""
    cdef Py_ssize_t i
    for i in range(n):
        y1[i] = y0[i] + rate[i]*dt
