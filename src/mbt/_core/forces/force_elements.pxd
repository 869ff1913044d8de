"""The force elements of the compiled core; nowhere else depends on their types.

A type consists of its row in `model/element_types.py` and, here, its force, its potential energy, and the part of its
power that changes that energy. Functions return NaN for types that they do not handle.

`c` are the parameters of one element in a Context, listed in its row.
"""

from libc.math cimport NAN

from enum_force_element_type cimport *

from mbt._core.algebra.records cimport Contact, Coordinates, Ends
from mbt._core.algebra.spatial cimport set_nan
from mbt._core.algebra.vectors cimport Force, Motion, numbers
from mbt._core.forces.bushing cimport (
    calc_bushing_coordinates, calc_bushing_energy, calc_bushing_force_change, calc_bushing_forces, calc_bushing_power,
    calc_bushing_singularity,
)
from mbt._core.forces.linear_spring_damper cimport (
    calc_spring_coordinates, calc_spring_energy, calc_spring_force_change, calc_spring_forces, calc_spring_power,
    calc_spring_singularity,
)
from mbt._core.forces.numbers cimport BushingNumbers, ContactNumbers, SpringNumbers
from mbt._core.forces.point_contact cimport calc_contact, calc_contact_force_change, calc_contact_forces_on_ends
from mbt._core.model.structs cimport ForceElement
from mbt._core.scalars cimport T


cdef inline int acts_on_joint(int type) noexcept nogil:
    """1 for an element on one dof, see `elements_on_dof.pxd`; 0 for one between two frames."""
    return FORCE_ELEMENT_TYPES[type].acts_on_dof


cdef inline int num_points_of(int type, int count) noexcept nogil:
    """Number of contact points of an element with `count` parameters."""
    cdef const ForceElementTypeRow* row = &FORCE_ELEMENT_TYPES[type]
    return (count - row.num_parameters)//row.num_parameters_of_point if row.num_parameters_of_point else 0


cdef inline int num_coordinates_of(int type) noexcept nogil:
    """Number of coordinates between its frames, along each of which it exerts -k s - d sdot."""
    return FORCE_ELEMENT_TYPES[type].num_coordinates


# Between two frames ---------------------------------------------------------------------------------------------

cdef inline void calc_forces_on_ends(const ForceElement* e, const T* c, Ends[T]* x) noexcept nogil:
    """F_A, F_C from the poses and velocities of both frames."""
    if e.type == LINEAR_SPRING_DAMPER:
        calc_spring_forces(<const SpringNumbers[T]*>c, x)
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing_forces(<const BushingNumbers[T]*>c, x)
    elif e.type == POINT_CONTACT:
        calc_contact_forces_on_ends(<const ContactNumbers[T]*>c, e.num_points, x)
    else:
        set_nan(numbers(x.F_A), 6)
        set_nan(numbers(x.F_C), 6)


cdef inline T calc_potential_energy_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    cdef Contact[T] contact
    if e.type == LINEAR_SPRING_DAMPER:
        return calc_spring_energy(<const SpringNumbers[T]*>c, x)
    if e.type == LINEAR_BUSHING_RPY:
        return calc_bushing_energy(<const BushingNumbers[T]*>c, x)
    if e.type == POINT_CONTACT:
        calc_contact(<const ContactNumbers[T]*>c, e.num_points, x, &contact, <T*>NULL)
        return contact.energy
    return <T>NAN


cdef inline T calc_power_between(
    const ForceElement* e, const T* c, const Ends[T]* x, bint is_conservative
) noexcept nogil:
    """Minus the rate of the potential energy; or the rest of the power of the force."""
    cdef Contact[T] contact
    if e.type == LINEAR_SPRING_DAMPER:
        return calc_spring_power(<const SpringNumbers[T]*>c, x, is_conservative)
    if e.type == LINEAR_BUSHING_RPY:
        return calc_bushing_power(<const BushingNumbers[T]*>c, x, is_conservative)
    if e.type == POINT_CONTACT:
        calc_contact(<const ContactNumbers[T]*>c, e.num_points, x, &contact, <T*>NULL)
        return contact.conservative_power if is_conservative else contact.other_power
    return <T>NAN


cdef inline void calc_coordinates(int type, const T* c, const Ends[T]* x, Coordinates[T]* y) noexcept nogil:
    """The coordinates along which an element exerts -k s - d sdot."""
    if type == LINEAR_SPRING_DAMPER:
        calc_spring_coordinates(<const SpringNumbers[T]*>c, x, y)
    elif type == LINEAR_BUSHING_RPY:
        calc_bushing_coordinates(<const BushingNumbers[T]*>c, x, y)
    else:
        set_nan(<T*>y, 24)


cdef inline T calc_singularity_between(const ForceElement* e, const T* c, const Ends[T]* x) noexcept nogil:
    """Zero or negative where the force is undefined."""
    if e.type == LINEAR_SPRING_DAMPER:
        return calc_spring_singularity(<const SpringNumbers[T]*>c, x)
    if e.type == LINEAR_BUSHING_RPY:
        return calc_bushing_singularity(x)
    return <T>1.0


cdef inline void calc_force_change(
    # Topology:
    const ForceElement* e,
    # Parameters:
    const T* c,             # (num_parameters_of,)  [SI]  of the element
    # In:
    const Ends[T]* x,
    const Motion[T]* V,     # [rad/s, m/s]
    const Motion[T]* turn,  # [rad, m]
    const Motion[T]* rate,  # [rad/s, m/s]
    # Out:
    Force[T]* F,            # [N m, N]
    Force[T]* dF,           # [N m, N]
) noexcept nogil:
    """Change of the force F on C with the motion of C while A rests: see `bushing.pxd`."""
    if e.type == LINEAR_SPRING_DAMPER:
        calc_spring_force_change(<const SpringNumbers[T]*>c, x, V, turn, rate, F, dF)
    elif e.type == LINEAR_BUSHING_RPY:
        calc_bushing_force_change(<const BushingNumbers[T]*>c, x, turn, rate, F, dF)
    elif e.type == POINT_CONTACT:
        calc_contact_force_change(<const ContactNumbers[T]*>c, e.num_points, x, V, turn, rate, F, dF)
    else:
        set_nan(numbers(F[0]), 6)
        set_nan(numbers(dF[0]), 6)
