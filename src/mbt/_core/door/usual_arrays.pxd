"""Recognize the arrays that `finalize()` gives for most models, 30 times as fast as `check_model_arrays`.

If any of these functions returns false, that function converts the arrays or raises an error.
"""

from cpython.long cimport PyLong_AsLongAndOverflow

from mbt._core.door.exact_arrays cimport is_array1, is_array2, is_array3
from mbt._core.joints.mobilizers cimport (
    MOBILIZER_TYPES, NUM_MOBILIZER_TYPES, WELD, MobilizerTypeRow, num_positions_of, num_velocities_of,
)
from mbt._core.model.structs cimport Model


cdef inline bint is_integers(value, Py_ssize_t size) except -1:
    """Whether this is a list of `size` values of type `int` that fit into a C int."""
    cdef int overflow
    cdef long integer
    if type(value) is not list or len(<list>value) != size:
        return False
    for x in <list>value:
        if type(x) is not int:
            return False
        integer = PyLong_AsLongAndOverflow(x, &overflow)
        if overflow != 0 or <int>integer != integer:
            return False
    return True


cdef inline bint is_usual(dict a) except -1:
    """Whether all arrays exist, with matching sizes, and without elements and constraints, as in most models.

    The names are those of `mbt.context.model_checks`.
    """
    cdef Py_ssize_t num_bodies
    cdef tuple lists = (
        "parent_node", "mobilizer_type", "mobilizer_reversed", "inboard_frame", "outboard_frame", "weightless",
        "force_type", "force_parameters", "force_places", "constraint_type", "constraint_parameters",
        "constraint_places", "q_start", "v_start", "frame_parent", "frame_node", "joint_frame", "joint_node",
        "actuator_dof", "mobilizer_constants",
    )
    cdef tuple of_floats = (
        "gravity", "mass", "p_BoBcm_B", "G_BBo_B", "J_BBo_B", "frame_X_PF", "damping", "rotor_inertia", "gear_ratio",
        "default_q",
    )
    if len(a) != len(lists) + len(of_floats):
        return False
    for name in lists:
        if type(a.get(name)) is not list:
            return False
    for name in of_floats:
        if name not in a:
            return False
    num_bodies = len(<list>a["parent_node"])
    if num_bodies == 0:
        return False
    for name in lists[:6]:
        if not is_integers(a[name], num_bodies):
            return False
    for x in <list>a["weightless"]:
        if x != 0 and x != 1:
            return False
    for name in ("q_start", "v_start"):
        if not is_integers(a[name], num_bodies + 1):
            return False
    for name in ("frame_parent", "frame_node"):
        if not is_integers(a[name], len(<list>a["frame_parent"])):
            return False
    for name in ("joint_frame", "joint_node"):
        if not is_integers(a[name], len(<list>a["joint_frame"])):
            return False
    for name in lists[6:12]:
        if len(<list>a[name]) > 0:
            return False
    return is_integers(a["actuator_dof"], len(<list>a["actuator_dof"]))


cdef inline bint fits(const Model* m) noexcept nogil:
    """Whether `check_model_arrays` would accept the integers."""
    cdef int i, parent, node
    if m.parent[0] != -1 or m.type[0] != WELD or m.q_start[0] != 0 or m.v_start[0] != 0:
        return False
    for i in range(m.num_frames):
        parent, node = m.frame_parent[i], m.frame_node[i]
        if not (-1 <= parent < i and 0 <= node < m.num_bodies and (parent < 0 or m.frame_node[parent] == node)):
            return False
    for i in range(m.num_bodies):
        if not (0 <= m.type[i] < NUM_MOBILIZER_TYPES and 0 <= m.reversed[i] <= 1):
            return False
        if not (0 <= m.inboard_frame[i] < m.num_frames and 0 <= m.outboard_frame[i] < m.num_frames):
            return False
        if m.q_start[i + 1] != m.q_start[i] + num_positions_of(m.type[i]):
            return False
        if m.v_start[i + 1] != m.v_start[i] + num_velocities_of(m.type[i]):
            return False
        if i > 0 and not (
            0 <= m.parent[i] < i and m.frame_node[m.inboard_frame[i]] == m.parent[i]
            and m.frame_node[m.outboard_frame[i]] == i
        ):
            return False
    for i in range(m.num_joints):
        node = m.joint_node[i]
        if not (1 <= node < m.num_bodies and 0 <= m.joint_frame[i] < m.num_frames):
            return False
        if m.frame_node[m.joint_frame[i]] != node and m.frame_node[m.joint_frame[i]] != m.parent[node]:
            return False
    for i in range(m.num_actuators):
        if not 0 <= m.actuator_dof[i] < m.num_velocities:
            return False
    return True


cdef inline bint holds_numbers(const Model* m, dict a) except -1:
    """Whether the parameters are arrays that need no conversion, with sizes that match the integers."""
    cdef int b
    cdef const MobilizerTypeRow* row
    cdef list constants = a["mobilizer_constants"]
    if len(constants) != m.num_bodies:
        return False
    for b in range(m.num_bodies):
        row = &MOBILIZER_TYPES[m.type[b]]
        if row.num_constants_of_piece or not is_array1(constants[b], row.num_constants):
            return False
    return (
        is_array1(a["gravity"], 3) and is_array1(a["mass"], m.num_bodies) and is_array2(a["p_BoBcm_B"], m.num_bodies, 3)
        and is_array2(a["G_BBo_B"], m.num_bodies, 6) and is_array2(a["J_BBo_B"], m.num_bodies, 6)
        and is_array3(a["frame_X_PF"], m.num_frames, 4, 4) and is_array1(a["damping"], m.num_velocities)
        and is_array1(a["rotor_inertia"], m.num_actuators) and is_array1(a["gear_ratio"], m.num_actuators)
        and is_array1(a["default_q"], m.num_positions)
    )
