"""The data that kernels read, derived from the parameter vector of a Context."""

from libc.string cimport memcmp

from mbt._core.algebra.records cimport Mobod, Parameters, Pose
from mbt._core.model.structs cimport Model, ParameterLayout
from mbt._core.passes.mobod_parameters cimport (
    calc_mobod_frames, calc_mobod_inertias, calc_reflected_inertia, calc_rotational_inertias, calc_X_BF,
)
from mbt._core.scalars cimport T


# Flags of the data that have changed since the last derivation.
cdef enum:
    FRAMES = 1
    INERTIAS = 2
    ROTORS = 4
    EVERYTHING = 7


cdef inline int section_of(const ParameterLayout* layout, Py_ssize_t i) noexcept nogil:
    """Flag of the data that change with parameter `i`; 0 if kernels read the vector itself."""
    if layout.frame_pose <= i < layout.damping:
        return FRAMES
    if layout.mass <= i < layout.frame_pose:
        return INERTIAS
    if layout.rotor_inertia <= i < layout.force_element:
        return ROTORS
    return 0


cdef inline Py_ssize_t count_derived(const Model* model) noexcept nogil:
    """Number of scalars that `derive_parameters` computes."""
    return (
        22*<Py_ssize_t>model.num_mobods + 18*<Py_ssize_t>model.num_bodies + 16*<Py_ssize_t>model.num_frames
        + model.num_velocities
    )


cdef inline void derive_parameters(
    # Topology:
    const Model* model,
    const ParameterLayout* layout,
    int changed,           # what is computed; the rest stays as it was
    # In:
    const T* parameters,   # (layout.size,)    [SI]
    # Out:
    T* derived,            # (count_derived,)  [SI]
    Parameters[T]* p,
) noexcept nogil:
    """Both arrays must live as long as `p`."""
    cdef Mobod[T]* mobods = <Mobod[T]*>derived
    cdef Pose[T]* X_NB = <Pose[T]*>(mobods + model.num_mobods)
    cdef T* X_BF = <T*>(X_NB + model.num_bodies)
    cdef T* I_BBo_B = X_BF + 16*model.num_frames
    cdef T* reflected_inertia = I_BBo_B + 6*model.num_bodies
    p.mobods = mobods
    p.X_NB = X_NB
    p.X_BF = X_BF
    p.reflected_inertia = reflected_inertia
    p.mass = parameters + layout.mass
    p.p_BoBcm_B = parameters + layout.com
    p.I_BBo_B = I_BBo_B
    p.gravity = parameters + layout.gravity
    p.damping = parameters + layout.damping
    p.force_elements = parameters + layout.force_element
    p.constraints = parameters + layout.constraint
    if changed & FRAMES:
        calc_X_BF(model, parameters + layout.frame_pose, X_BF)
        calc_mobod_frames(model, X_BF, mobods, X_NB)
    if changed & INERTIAS:
        calc_rotational_inertias(
            model, p.mass, parameters + layout.unit_inertia, parameters + layout.massless_inertia, I_BBo_B
        )
    if changed & (FRAMES | INERTIAS):
        calc_mobod_inertias(model, p.mass, p.p_BoBcm_B, I_BBo_B, X_NB, mobods)
    if changed & ROTORS:
        calc_reflected_inertia(
            model, parameters + layout.rotor_inertia, parameters + layout.gear_ratio, reflected_inertia
        )


cdef inline bint has_same_inertia(const Parameters[double]* x, const Parameters[double]* y, int body) noexcept nogil:
    return (
        x.mass[body] == y.mass[body]
        and memcmp(x.p_BoBcm_B + 3*body, y.p_BoBcm_B + 3*body, 3*sizeof(double)) == 0
        and memcmp(x.I_BBo_B + 6*body, y.I_BBo_B + 6*body, 6*sizeof(double)) == 0
    )
