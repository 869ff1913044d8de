"""What kernels read of a tree: integers and constants."""


cdef struct MobodJoint:
    # The inboard joint of one mobilized body. That of mobod 0, World, has no dofs.
    int node        # BodyNodeIndex whose inboard mobilizer this is
    int parent      # mobod that carries the inboard frame
    int kind        # how the hot kernels treat it: see mobilizers.pxd
    int type        # MobilizerType
    int reversed    # 1: q and v describe the inboard frame in the outboard one
    int q_start     # first position
    int v_start     # first velocity
    int nv
    int v_end       # behind the last velocity outboard: mobods are in depth-first order
    int run         # first mobod of those, up to this one, that follow each other outwards with their dofs in a row
    int ending      # first mobod of those, up to this one, of which each is the last child of the one before
    int angle       # of kind REVOLUTE_Z: which of the angles
    int driven      # 1: an actuator acts on a dof, and may add reflected inertia to it


cdef struct ForceElement:
    # One force element of the compiled core, see force_elements.pxd.
    int type        # ForceElementType
    int a           # on one dof: its position; between two frames: frame A
    int b           # on one dof: its velocity; between two frames: frame C
    int start       # first of its numbers among those of all elements
    int size        # how many they are
    int num_points  # in contact


cdef struct Constraint:
    # One constraint, see constraints.pxd.
    int type        # ConstraintType
    int a           # frame A; of a coupler a position
    int b           # frame B; of a coupler a position
    int dof_a       # of a coupler the velocities of these positions; else -1
    int dof_b
    int mobod_a     # what it acts on
    int mobod_b
    int row         # of its first equation
    int start       # first of its numbers among those of all constraints


# Constraints that overlap: their ways from end to end share a dof, all of which are outboard of one mobod. Rows are
# those of one group after the other.
cdef struct ConstraintGroups:
    int num_groups
    # By group, the farthest root first: (num_groups,) or, with where the last one ends, (num_groups + 1,)
    const int* root              # mobod that it hangs on
    const int* row_start
    const int* constraint_start
    const int* mobod_start
    const Py_ssize_t* L_start
    const int* constraints       # (num_constraints,)
    const int* mobods            # outboard of the root up to the ends of the constraints
    # By constraint, (num_constraints,)
    const int* place             # of its first row
    # By mobod: what passes through it on the way to the root, from through_start[i] to through_start[i + 1]
    const int* through_start     # (num_mobods + 1,)
    const int* through
    const Py_ssize_t* Z_start    # (num_mobods,)
    Py_ssize_t Z_size
    Py_ssize_t L_size


# What a Context turns on and off. Kernels may branch on it, unlike on parameters.
cdef struct Switches "MbtSwitches":
    const int* locked            # (num_velocities,) 1 where a dof cannot move; NULL where all can
    const int* weightless        # (num_bodies,) 1 where gravity spares a body; NULL where it spares none
    const int* disabled          # (num_constraints,) 1 where a constraint is off; NULL where all are on
    int stabilized               # 1 where errors of constraints die away, -1 where they do as time goes back
    int for_derivatives          # 1 where constraints are to be taken as derivatives take them


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
    const int* mobod             # mobod a body rides on
    # k where axis i of a body is axis i + k (mod 3) of its mobod frame, whatever the parameters; -1 elsewhere
    const int* axis_shift
    const double* const* constants  # (num_bodies,) of the mobilizer, as many as its type has
    # By FrameIndex, (num_frames,)
    const int* frame_parent
    const int* frame_node
    # By actuator, (num_actuators,)
    const int* actuator_dof
    # By joint, (num_joints,)
    int num_joints
    const int* joint_frame       # on its child
    const int* joint_node        # what its mobilizer moves
    # By force element, (num_force_elements,)
    int num_force_elements
    int num_elements_between     # of them, those between two frames
    const ForceElement* force_elements
    # By constraint, (num_constraints,)
    int num_constraints
    int num_equations            # of all of them
    Py_ssize_t constraint_work   # scalars of working memory that their forces need
    const Constraint* constraints
    const ConstraintGroups* groups
    const ConstraintGroups* one_group  # all of them, at World
    const ConstraintGroups* derivative_groups  # one of both
    # Of dofs that carry no mass but a constraint, see run_constrained_dynamics; zero of others. NULL without any
    const double* fictive_inertia  # (num_velocities,) [kg m^2, kg]
    # Below so much a pivot is rounding, in units of its tolerance, where axes in series leave none: NULL without any
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
    # By velocity, (num_velocities,): its mobod. Padded to a multiple of every MBT_W, with the last one
    const int* dof_mobod
    # Positions of the joints of kind REVOLUTE_Z, (num_angles,); padded to angle_stride, a multiple of every MBT_W
    int num_angles
    int angle_stride
    const int* angles
    const double* R_MN           # (num_mobods, 9), turns the axis of a one-dof mobilizer into z


# Where each parameter starts in the flat parameter vector of a Context.
cdef struct ParameterLayout:
    Py_ssize_t gravity           # (3,)
    Py_ssize_t mass              # (num_bodies,)
    Py_ssize_t com               # (num_bodies, 3) p_BoBcm_B
    Py_ssize_t unit_inertia      # (num_bodies, 6) G_BBo_B: xx yy zz xy xz yz
    Py_ssize_t massless_inertia  # (num_bodies, 6) J_BBo_B: what the rotational inertia has beyond m G_BBo_B
    Py_ssize_t frame_pose        # (num_frames, 4, 4) in the parent frame
    Py_ssize_t damping           # (num_velocities,)
    Py_ssize_t rotor_inertia     # (num_actuators,)
    Py_ssize_t gear_ratio        # (num_actuators,)
    Py_ssize_t force_element     # (the numbers of one force element after the other)
    Py_ssize_t constraint        # (the numbers of one constraint after the other)
    Py_ssize_t size


cdef inline int common_ancestor(const Model* model, int a, int b) noexcept nogil:
    """The outermost body that is inboard of both, or one of them. Of all from a to b, since nodes are depth first."""
    while a != b:
        if a > b:
            a = model.parent[a]
        else:
            b = model.parent[b]
    return a
