"""The compiled model: flat arrays that `MultibodyTree.finalize` builds from the elements."""

cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy

from mbt._core.algebra.records cimport PIVOT_TOLERANCE
from mbt._core.door.constraint_groups cimport is_one_group_quicker, make_groups
from mbt._core.door.derived_parameters cimport EVERYTHING, count_derived, derive_parameters
from mbt._core.door.exact_arrays cimport adopt, data, in1, new1
from mbt._core.door.mobod_axes cimport axis_shift, set_identity3, set_rotation_of_z_to
from mbt._core.door.usual_arrays cimport fits, holds_numbers, is_usual
from mbt._core.forces.constraints cimport (
    COUPLER, count_constraint_work, num_constraint_parameters_of, num_equations_of,
)
from mbt._core.forces.force_elements cimport acts_on_joint, num_points_of
from mbt._core.joints.mobilizers cimport (
    GENERAL, PRISMATIC_Z, REVOLUTE_Z, WELD, has_singular_map, has_singular_positions, kind_of, needs_reversal,
    set_effective_constants,
)
from mbt._core.model.structs cimport Constraint, ConstraintGroups, ForceElement, MobodJoint, Model, ParameterLayout

import numpy as np

from mbt._core.above import above
from mbt.math.read_only import ReadOnlyArray

cnp.import_array()
adopt(ReadOnlyArray)

cdef extern from "door/exact_arrays.hpp":
    bint is_plain "mbt_is_plain"(object o)


PARAMETER_SECTIONS = (
    "gravity", "mass", "com", "unit_inertia", "massless_inertia", "frame_pose", "damping", "rotor_inertia",
    "gear_ratio", "force_element", "constraint",
)


# Branches are long if a mobod has this many dofs outboard of it, on average: then `mass_matrix_of_chains` is faster
# than `mass_matrix_in_rows` (benchmarks/compare.py, mass matrix).
cdef int LONG_BRANCH = 20

# Relative to the inertia of a body farther inboard in the same loop: the limit below which a body counts as massless,
# and the inertia that it gets instead. The inertia that constraints give a dof is mostly much larger.
cdef double LIGHT = 1e-11
cdef double FICTIVE = 1e-6

# Rounding error that axes in series leave, relative to the inertia that they carry.
cdef double ROUNDING_IN_SERIES = 1e-9


# Groups of a model without constraints.
cdef ConstraintGroups NO_GROUPS


cdef class CompiledModel:
    """Topology and default parameters, immutable.

    Arrays are in BodyNodeIndex order; a parent has a smaller index than its child.
    """

    def __cinit__(self, **arrays):
        # Not in __init__: kernels must be able to read every existing model, and it never changes.
        cdef Model* m = &self.model
        cdef dict a = arrays
        self._arrays = {}
        cdef bint is_checked = is_usual(a)
        if is_checked:
            self.take_integers(a)
            is_checked = fits(m) and holds_numbers(m, a)
        if not is_checked:
            # Raises for invalid arrays, converts the others.
            a = above.check_model_arrays(arrays)
            self.take_integers(a)
        self.set_constants(a["mobilizer_constants"])
        self.set_mobods()
        self.set_force_elements(a["force_type"], a["force_places"], a["force_parameters"])
        self.set_constraints(a["constraint_type"], a["constraint_places"])
        m.switches.locked = NULL
        m.switches.weightless = NULL
        m.switches.disabled = NULL
        m.switches.stabilized = 0
        if 1 in a["weightless"]:
            m.switches.weightless = _keep_ints(self._arrays, "weightless", a["weightless"])
        self.set_parameters((
            a["gravity"], a["mass"], a["p_BoBcm_B"], a["G_BBo_B"], a["J_BBo_B"], a["frame_X_PF"], a["damping"],
            a["rotor_inertia"], a["gear_ratio"], join_numbers(a["force_parameters"]),
            join_numbers(a["constraint_parameters"])
        ))
        self.default_q = _frozen(join_numbers([a["default_q"]]))
        self.defaults = Derived(self, self.default_parameters)
        self.set_fictive_inertia()

    cdef take_integers(self, dict a):
        cdef Model* m = &self.model
        m.num_bodies = len(a["parent_node"])
        m.num_frames = len(a["frame_parent"])
        m.num_joints = len(a["joint_frame"])
        m.num_actuators = len(a["actuator_dof"])
        m.parent = _keep_ints(self._arrays, "parent", a["parent_node"])
        m.type = _keep_ints(self._arrays, "type", a["mobilizer_type"])
        m.reversed = _keep_ints(self._arrays, "reversed", a["mobilizer_reversed"])
        m.q_start = _keep_ints(self._arrays, "q_start", a["q_start"])
        m.v_start = _keep_ints(self._arrays, "v_start", a["v_start"])
        m.inboard_frame = _keep_ints(self._arrays, "inboard_frame", a["inboard_frame"])
        m.outboard_frame = _keep_ints(self._arrays, "outboard_frame", a["outboard_frame"])
        m.frame_parent = _keep_ints(self._arrays, "frame_parent", a["frame_parent"])
        m.frame_node = _keep_ints(self._arrays, "frame_node", a["frame_node"])
        m.joint_frame = _keep_ints(self._arrays, "joint_frame", a["joint_frame"])
        m.joint_node = _keep_ints(self._arrays, "joint_node", a["joint_node"])
        m.actuator_dof = _keep_ints(self._arrays, "actuator_dof", a["actuator_dof"])
        m.num_positions, m.num_velocities = m.q_start[m.num_bodies], m.v_start[m.num_bodies]

    cdef set_constants(self, declared):
        cdef Model* m = &self.model
        effective = np.empty(sum([values.size for values in declared]))
        pointers = np.empty(m.num_bodies, dtype=np.uintp)
        cdef double* target = <double*>cnp.PyArray_DATA(effective)
        cdef const double** constants = <const double**>cnp.PyArray_DATA(pointers)
        cdef int b
        cdef Py_ssize_t count
        for b, values in enumerate(declared):
            count = values.size
            set_effective_constants(
                m.type[b], m.reversed[b], count, <const double*>cnp.PyArray_DATA(values), target
            )
            constants[b] = target
            target += count
        self._arrays["constants"] = (effective, pointers)
        m.constants = constants
        m.reversed = _keep_ints(
            self._arrays, "reversed", [needs_reversal(m.type[b], m.reversed[b]) for b in range(m.num_bodies)]
        )
        checked = [b for b in range(m.num_bodies) if has_singular_positions(m.type[b])]
        m.num_checked = len(checked)
        m.checked = _keep_ints(self._arrays, "checked", checked)
        map_checked = [b for b in range(m.num_bodies) if has_singular_map(m.type[b])]
        m.num_map_checked = len(map_checked)
        m.map_checked = _keep_ints(self._arrays, "map_checked", map_checked)

    cdef set_mobods(self):
        """Make one mobod per mobilizer with dofs, and one for World; welded bodies are fixed to their parent's."""
        cdef Model* m = &self.model
        cdef int b, j, k
        cdef list nodes = [0]
        cdef list mobod = [0]*m.num_bodies
        for b in range(1, m.num_bodies):
            if m.type[b] == WELD:
                mobod[b] = mobod[m.parent[b]]
            else:
                mobod[b] = len(nodes)
                nodes.append(b)
        m.mobod = _keep_ints(self._arrays, "mobod", mobod)
        m.num_mobods = len(nodes)
        cdef list angles = []
        R_MN = np.zeros((m.num_mobods, 3, 3))
        cdef double* R = <double*>cnp.PyArray_DATA(R_MN)
        joints = np.zeros(m.num_mobods*sizeof(MobodJoint), dtype=np.uint8)
        self._arrays["joints"] = joints
        cdef MobodJoint* joint = <MobodJoint*>cnp.PyArray_DATA(joints)
        for j, b in enumerate(nodes):
            joint[j].node = b
            joint[j].parent = mobod[m.parent[b]] if b else 0
            joint[j].kind = GENERAL if b == 0 else kind_of(m.type[b])
            joint[j].type = m.type[b]
            joint[j].reversed = m.reversed[b]
            joint[j].q_start = m.q_start[b]
            joint[j].v_start = m.v_start[b]
            joint[j].nv = m.v_start[b + 1] - m.v_start[b]
            joint[j].angle = len(angles)
            if joint[j].kind == REVOLUTE_Z:
                angles.append(joint[j].q_start)
            if joint[j].kind == GENERAL:
                set_identity3(R + 9*j)
            else:
                set_rotation_of_z_to(m.constants[b], R + 9*j)
        cdef list mobod_of_dof = [j for j in range(m.num_mobods) for _ in range(joint[j].nv)]
        for k in range(m.num_actuators):
            joint[mobod_of_dof[m.actuator_dof[k]]].driven = 1
        for j in range(m.num_mobods):
            joint[j].v_end = joint[j].v_start + joint[j].nv
            b = joint[j].parent
            joint[j].run = joint[b].run if b and joint[b].v_start + joint[b].nv == joint[j].v_start else j
        for j in range(m.num_mobods - 1, 0, -1):
            joint[joint[j].parent].v_end = max(joint[joint[j].parent].v_end, joint[j].v_end)
        for j in range(m.num_mobods):
            b = joint[j].parent
            joint[j].ending = joint[b].ending if b and joint[b].v_end == joint[j].v_end else j
        outboard = sum([joint[j].v_end - joint[j].v_start for j in range(1, m.num_mobods) if joint[j].parent])
        m.has_long_branches = outboard >= LONG_BRANCH*m.num_mobods
        m.joints = joint
        dof_mobod = [j for j in range(m.num_mobods) for _ in range(joint[j].nv)]
        padding = (m.num_velocities + 7)//8*8 - m.num_velocities
        m.dof_mobod = _keep_ints(self._arrays, "dof_mobod", dof_mobod + [m.num_mobods - 1]*padding)
        m.num_angles = len(angles)
        m.angle_stride = (m.num_angles + 7)//8*8
        m.angles = _keep_ints(self._arrays, "angles", angles + angles[:1]*(m.angle_stride - m.num_angles))
        m.R_MN = _keep_doubles(self._arrays, "R_MN", R_MN)
        m.axis_shift = _keep_ints(self._arrays, "axis_shift", [
            axis_shift(R + 9*<int>mobod[b]) if m.type[b] != WELD and m.frame_parent[m.outboard_frame[b]] < 0 else -1
            for b in range(m.num_bodies)
        ])

    cdef set_force_elements(self, force_type, force_places, force_parameters):
        cdef Model* m = &self.model
        cdef int i, start = 0
        elements = np.zeros(len(force_type)*sizeof(ForceElement), dtype=np.uint8)
        self._arrays["force_elements"] = elements
        cdef ForceElement* element = <ForceElement*>cnp.PyArray_DATA(elements)
        m.num_force_elements = len(force_type)
        m.num_elements_between = 0
        for i in range(m.num_force_elements):
            element[i].type = force_type[i]
            element[i].a, element[i].b = force_places[i]
            element[i].start = start
            element[i].size = len(force_parameters[i])
            element[i].num_points = num_points_of(element[i].type, element[i].size)
            start += element[i].size
            m.num_elements_between += not acts_on_joint(element[i].type)
        m.force_elements = element

    cdef set_constraints(self, constraint_type, constraint_places):
        """Set each constraint, the frames or dofs that it acts on, and the mobods inboard of these."""
        cdef Model* m = &self.model
        cdef int i, start = 0
        constraints = np.zeros(len(constraint_type)*sizeof(Constraint), dtype=np.uint8)
        self._arrays["constraints"] = constraints
        cdef Constraint* x = <Constraint*>cnp.PyArray_DATA(constraints)
        m.num_constraints = len(constraint_type)
        m.num_equations = 0
        for i in range(m.num_constraints):
            x[i].type = constraint_type[i]
            x[i].a, x[i].b, x[i].dof_a, x[i].dof_b = constraint_places[i]
            if x[i].type == COUPLER:
                x[i].mobod_a, x[i].mobod_b = m.dof_mobod[x[i].dof_a], m.dof_mobod[x[i].dof_b]
            else:
                x[i].mobod_a = m.mobod[m.frame_node[x[i].a]]
                x[i].mobod_b = m.mobod[m.frame_node[x[i].b]]
            x[i].row = m.num_equations
            x[i].start = start
            m.num_equations += num_equations_of(x[i].type)
            start += num_constraint_parameters_of(x[i].type)
        m.constraint_work = count_constraint_work(m.num_equations, m.num_mobods, m.num_velocities)
        m.constraints = x
        self.group_constraints()

    cdef group_constraints(self):
        cdef Model* m = &self.model
        m.groups = m.one_group = m.derivative_groups = &NO_GROUPS
        if m.num_constraints:
            m.groups = make_groups(m, False, self._arrays)
            m.one_group = make_groups(m, True, self._arrays)
            m.derivative_groups = m.one_group if is_one_group_quicker(m) else m.groups

    cdef set_parameters(self, sections):
        cdef Py_ssize_t[11] starts
        cdef Py_ssize_t size = 0
        for i, section in enumerate(sections):
            starts[i] = size
            size += section.size
        self.layout = ParameterLayout(
            starts[0], starts[1], starts[2], starts[3], starts[4], starts[5], starts[6], starts[7], starts[8],
            starts[9], starts[10], size
        )
        self.default_parameters = _frozen(join_numbers(list(sections)))

    cdef set_fictive_inertia(self):
        """Give massless dofs in constraints a millionth of the inertia of the next inboard body with mass."""
        cdef Model* m = &self.model
        cdef const Parameters[double]* p = &self.defaults.parameters
        cdef MobodJoint* joint = <MobodJoint*>m.joints
        cdef int i, j, k
        cdef list own = [0.0]*m.num_mobods, carried = [0.0]*m.num_mobods, turning = [0.0]*m.num_mobods
        for i in range(m.num_mobods - 1, 0, -1):
            own[i] = p.mobods[i].I.mass
            turning[i] = fabs(p.mobods[i].I.J.xx) + fabs(p.mobods[i].I.J.yy) + fabs(p.mobods[i].I.J.zz)
            carried[i] += own[i] + turning[i]
            carried[joint[i].parent] += carried[i]
            self.has_massless_inboard |= joint[i].nv > 0 and own[i] + turning[i] == 0.0 < carried[i]
        if m.num_constraints == 0:
            return
        fictive = np.zeros(m.num_velocities)
        for i in range(1, m.num_mobods):
            j = joint[i].parent
            while j > 0 and not carried[i] < LIGHT*min(own[j], turning[j]) < INFINITY:
                j = joint[j].parent
            if j > 0 and m.one_group.through_start[i] < m.one_group.through_start[i + 1]:
                for k in range(joint[i].v_start, joint[i].v_start + joint[i].nv):
                    if p.reflected_inertia[k] == 0.0:
                        fictive[k] = FICTIVE*(
                            turning[j] if joint[i].kind == REVOLUTE_Z else
                            own[j] if joint[i].kind == PRISMATIC_Z else min(own[j], turning[j])
                        )
                        joint[i].driven = 1  # as by a rotor
        if fictive.any():
            self._arrays["fictive_inertia"] = fictive
            m.fictive_inertia = <double*>cnp.PyArray_DATA(fictive)
            m.constraint_work += 3*m.num_velocities

    def mark_massless(self, inertias):
        """Treat dofs as massless in every attitude, even if rounding makes their pivots nonzero.

        Parameters
        ----------
        inertias : ndarray, shape (num_velocities,)
            Inertia that each of them carries, as one rigid body [kg m^2, kg]; zero for all other dofs.
        """
        scales = np.array(inertias)*(ROUNDING_IN_SERIES/PIVOT_TOLERANCE)
        self._arrays["least_scale"] = scales
        self.model.least_scale = <double*>cnp.PyArray_DATA(scales)

    @property
    def has_long_branches(self):
        """Whether the mass matrix of one state of doubles is computed by `passes/mass_matrix_of_chains.pxd`."""
        return bool(self.model.has_long_branches)

    @property
    def has_dense_derivatives(self):
        """Whether derivatives of constrained dynamics treat all constraints as one group."""
        return self.model.derivative_groups == self.model.one_group

    def parameter_slice(self, str section, int index):
        """Slice of a parameter vector that holds one element of a section; empty for the index after the last."""
        cdef Py_ssize_t start, width
        width = self.find_parameters(section, index, &start)
        return slice(start, start + width)

    cdef Py_ssize_t find_parameters(self, str section, int index, Py_ssize_t* first) except -1:
        """Number of entries of one element of a section in a parameter vector; `first` is where they begin."""
        cdef const Model* m = &self.model
        cdef ParameterLayout* layout = &self.layout
        cdef Py_ssize_t start, width, count
        if section == "force_element":
            check_index(index, m.num_force_elements, "force element")
            first[0] = layout.force_element + m.force_elements[index].start
            return m.force_elements[index].size
        if section == "constraint":
            check_index(index, m.num_constraints, "constraint")
            first[0] = layout.constraint + m.constraints[index].start
            return num_constraint_parameters_of(m.constraints[index].type)
        if section == "gravity":
            start, width, count = layout.gravity, 3, 1
        elif section == "mass":
            start, width, count = layout.mass, 1, m.num_bodies
        elif section == "com":
            start, width, count = layout.com, 3, m.num_bodies
        elif section == "unit_inertia":
            start, width, count = layout.unit_inertia, 6, m.num_bodies
        elif section == "massless_inertia":
            start, width, count = layout.massless_inertia, 6, m.num_bodies
        elif section == "frame_pose":
            start, width, count = layout.frame_pose, 16, m.num_frames
        elif section == "damping":
            start, width, count = layout.damping, 1, m.num_velocities
        elif section == "rotor_inertia":
            start, width, count = layout.rotor_inertia, 1, m.num_actuators
        elif section == "gear_ratio":
            start, width, count = layout.gear_ratio, 1, m.num_actuators
        else:
            raise KeyError(f"section: expected one of {PARAMETER_SECTIONS}, got {section!r}")
        check_index(index, count + 1, section)
        first[0] = start + width*index
        return width


cdef void derive_numbers(
    const Model* model, const ParameterLayout* layout, const double* parameters, double* derived,
    Parameters[double]* p
) noexcept nogil:
    derive_parameters[double](model, layout, EVERYTHING, parameters, derived, p)


cdef int check_index(Py_ssize_t index, Py_ssize_t count, str kind) except -1:
    """Refuse an index outside an array; no element of this tree has one."""
    if not 0 <= index < count:
        from mbt.math.arrays import as_index
        as_index(index, "index", count, kind)
    return 0


cdef class Derived:
    """Mobod frames, inertias in them, and the other arrays that kernels read."""

    def __cinit__(self, CompiledModel compiled not None, parameters not None):
        cdef const Model* m = &compiled.model
        self._source = in1(parameters, "parameters", compiled.layout.size)
        self.num_frames = m.num_frames
        cdef const double* x = data(self._source)
        self._memory = PyMem_Malloc(count_derived(m)*sizeof(double))
        if self._memory == NULL:
            raise MemoryError
        derive_numbers(m, &compiled.layout, x, <double*>self._memory, &self.parameters)

    def __dealloc__(self):
        PyMem_Free(self._memory)


def join_numbers(list arrays not None):
    """Return the entries of arrays, one array after the other, shape (n,); five times as fast as NumPy."""
    cdef cnp.npy_intp count = 0, n
    cdef double* target
    for array in arrays:
        if not is_plain(array) or cnp.PyArray_TYPE(array) != cnp.NPY_DOUBLE or not cnp.PyArray_ISCARRAY_RO(array):
            return np.concatenate([np.ravel(array) for array in arrays]).astype(np.float64)
        count += cnp.PyArray_SIZE(array)
    joined = new1(count)
    target = data(joined)
    for array in arrays:
        n = cnp.PyArray_SIZE(array)
        memcpy(target, cnp.PyArray_DATA(array), n*sizeof(double))
        target += n
    return joined


cdef const int* _keep_ints(dict arrays, str name, list values) except? NULL:
    cdef cnp.npy_intp i, count = len(values)
    array = cnp.PyArray_EMPTY(1, &count, cnp.NPY_INT, 0)
    cdef int* integers = <int*>cnp.PyArray_DATA(array)
    for i in range(count):
        integers[i] = values[i]
    arrays[name] = array
    return integers


cdef const double* _keep_doubles(dict arrays, str name, values) except? NULL:
    array = np.array(values, dtype=np.float64)
    arrays[name] = array
    return <const double*>cnp.PyArray_DATA(array)


def _frozen(array):
    array.flags.writeable = False
    return array
