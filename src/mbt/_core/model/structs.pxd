"""The data of a tree that kernels read: integers and constants."""


cdef struct MobodJoint:
    # The inboard joint of one mobilized body. That of mobod 0, World, has no dofs.
    int node        # BodyNodeIndex whose inboard mobilizer this is
    int parent      # mobod that carries the inboard frame
    int kind        # its kind for the hot kernels: see mobilizers.pxd
    int type        # MobilizerType
    int reversed    # 1: q and v describe the inboard frame in the outboard frame
    int q_start     # first position
    int v_start     # first velocity
    int nv
    int v_end       # one past the last outboard velocity: mobods are in depth-first order
    int run         # first mobod of a chain up to this one whose dofs are contiguous
    int ending      # first mobod of a chain up to this one in which each is the last child of the previous one
    int angle       # for kind REVOLUTE_Z: index of its angle
    int driven      # 1: an actuator acts on a dof, and may add reflected inertia to it


cdef struct ForceElement:
    # One force element of the compiled core, see force_elements.pxd.
    int type        # ForceElementType
    int a           # on one dof: its position; between two frames: frame A
    int b           # on one dof: its velocity; between two frames: frame C
    int start       # first of its parameters among those of all elements
    int size        # number of its parameters
    int num_points  # contact points


cdef struct Constraint:
    # One constraint, see constraints.pxd.
    int type        # ConstraintType
    int a           # frame A; for a coupler a position
    int b           # frame B; for a coupler a position
    int dof_a       # for a coupler the velocities of these positions; else -1
    int dof_b
    int mobod_a     # the mobods on which it acts
    int mobod_b
    int row         # of its first equation
    int start       # first of its parameters among those of all constraints


# Constraints that overlap: their paths from end to end share a dof, and all dofs are outboard of one mobod. Rows are
# ordered by group.
cdef struct ConstraintGroups:
    int num_groups
    # By group, the most outboard root first: (num_groups,) or, with the end of the last one, (num_groups + 1,)
    const int* root              # mobod that it is attached to
    const int* row_start
    const int* constraint_start
    const int* mobod_start
    const Py_ssize_t* L_start
    const int* constraints       # (num_constraints,)
    const int* mobods            # between the root and the ends of the constraints
    # By constraint, (num_constraints,)
    const int* place             # where its first row is
    # By mobod: the constraints whose paths to the root contain it, from through_start[i] to through_start[i + 1]
    const int* through_start     # (num_mobods + 1,)
    const int* through
    const Py_ssize_t* Z_start    # (num_mobods,)
    Py_ssize_t Z_size
    Py_ssize_t L_size


# What a Context enables and disables. Kernels may branch on these, but not on parameters.
cdef struct Switches "MbtSwitches":
    const int* locked            # (num_velocities,) 1 where a dof is locked; NULL if none is
    const int* weightless        # (num_bodies,) 1 where a body has no gravity; NULL if all have gravity
    const int* disabled          # (num_constraints,) 1 where a constraint is disabled; NULL if none is
    int stabilized               # 1 if constraint errors decay, -1 if they decay as time runs backwards
    int for_derivatives          # 1 if constraints are treated as in derivatives


cdef struct Model "MbtModel":
    int num_bodies
    int num_frames
    int num_positions
    int num_velocities
    int num_actuators
    int num_mobods
    # By BodyNodeIndex, (num_bodies,)
    const int* parent
    const int* type
    const int* reversed
    const int* q_start           # (num_bodies + 1,)
    const int* v_start           # (num_bodies + 1,)
    const int* inboard_frame
    const int* outboard_frame
    const int* mobod             # mobod to which a body belongs
    # k if axis i of a body is axis i + k (mod 3) of its mobod frame for all parameters; else -1
    const int* axis_shift
    const double* const* constants  # (num_bodies,) of the mobilizer; the count depends on its type
    # By FrameIndex, (num_frames,)
    const int* frame_parent
    const int* frame_node
    # By actuator, (num_actuators,)
    const int* actuator_dof
    # By joint, (num_joints,)
    int num_joints
    const int* joint_frame       # on its child
    const int* joint_node        # body that its mobilizer moves
    # By force element, (num_force_elements,)
    int num_force_elements
    int num_elements_between     # those between two frames
    const ForceElement* force_elements
    # By constraint, (num_constraints,)
    int num_constraints
    int num_equations            # of all constraints
    Py_ssize_t constraint_work   # scalars of working memory for their forces
    const Constraint* constraints
    const ConstraintGroups* groups
    const ConstraintGroups* one_group  # all of them, at World
    const ConstraintGroups* derivative_groups  # one of these two
    # For massless dofs in constraints, see run_constrained_dynamics; zero for others. NULL if there are none
    const double* fictive_inertia  # (num_velocities,) [kg m^2, kg]
    # Pivots below this, in units of the tolerance, are rounding errors of axes in series; NULL if there are none
    const double* least_scale    # (num_velocities,) [kg m^2, kg]
    Switches switches            # the defaults
    # Nodes whose mobilizer has singular positions, (num_checked,)
    int num_checked
    const int* checked
    # Nodes whose mobilizer has positions where N is undefined, (num_map_checked,)
    int num_map_checked
    const int* map_checked
    # By mobod, (num_mobods,)
    const MobodJoint* joints
    bint has_long_branches
    # By velocity, (num_velocities,): its mobod. Padded with the last one to a multiple of every MBT_W
    const int* dof_mobod
    # Positions of the joints of kind REVOLUTE_Z, (num_angles,); padded to angle_stride, a multiple of every MBT_W
    int num_angles
    int angle_stride
    const int* angles
    const double* R_MN           # (num_mobods, 9), rotates the axis of a one-dof mobilizer into z


# Where each parameter starts in the flat parameter vector of a Context.
cdef struct ParameterLayout:
    Py_ssize_t gravity           # (3,)
    Py_ssize_t mass              # (num_bodies,)
    Py_ssize_t com               # (num_bodies, 3) p_BoBcm_B
    Py_ssize_t unit_inertia      # (num_bodies, 6) G_BBo_B: xx yy zz xy xz yz
    Py_ssize_t massless_inertia  # (num_bodies, 6) J_BBo_B: rotational inertia in excess of m G_BBo_B
    Py_ssize_t frame_pose        # (num_frames, 4, 4) in the parent frame
    Py_ssize_t damping           # (num_velocities,)
    Py_ssize_t rotor_inertia     # (num_actuators,)
    Py_ssize_t gear_ratio        # (num_actuators,)
    Py_ssize_t force_element     # (the parameters of one force element after the other)
    Py_ssize_t constraint        # (the parameters of one constraint after the other)
    Py_ssize_t size


cdef inline int common_ancestor(const Model* model, int a, int b) noexcept nogil:
    """Return the outermost body inboard of both, or one of them; also of all bodies from a to b (depth-first order)."""
    while a != b:
        if a > b:
            a = model.parent[a]
        else:
            b = model.parent[b]
    return a
