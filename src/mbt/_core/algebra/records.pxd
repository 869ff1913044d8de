"""Cython view of records.hpp, which documents the fields."""

from mbt._core.algebra.vectors cimport ArticulatedInertia, Force, Mat3, Motion, Pose, RigidInertia, Sym3, Vec3

cdef extern from "algebra/records.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Mobod[S]:
        Pose[S] X_PF
        RigidInertia[S] I

    cdef cppclass Parameters[S]:
        const Mobod[S]* mobods
        const Pose[S]* X_NB
        const S* X_BF
        const S* mass
        const S* p_BoBcm_B
        const S* I_BBo_B
        const S* gravity
        const S* damping
        const S* reflected_inertia
        const S* force_elements
        const S* constraints

    cdef cppclass MotionForce[S]:
        Pose[S] X_PN
        Vec3[S] w
        Vec3[S] alpha
        Vec3[S] a
        Mat3[S] B
        Vec3[S] t
        Vec3[S] f

    cdef cppclass Composite[S]:
        Pose[S] X_PN
        RigidInertia[S] I

    cdef cppclass Weight[S]:
        Pose[S] X_PN
        S mass
        Vec3[S] h
        Vec3[S] g

    cdef cppclass Articulated[S]:
        Pose[S] X_PN
        Vec3[S] w
        Motion[S] bias
        ArticulatedInertia[S] I
        Force[S] Z
        Motion[S] acc
        S size[2]

    cdef cppclass ArticulatedDof[S]:
        Force[S] U
        S D
        S D_inverse
        S scale
        S u

    cdef cppclass FrameMotion[S]:
        Mat3[S] R
        Vec3[S] p
        Vec3[S] w
        Vec3[S] v
        Vec3[S] alpha
        Vec3[S] a

    cdef cppclass Placed[S]:
        Pose[S] X_WN
        Vec3[S] v

    cdef cppclass ConstraintWork[S]:
        Placed[S]* placed
        S* Z
        S* L
        S* scale
        S* right
        S* D
        S* wanted
        S* step
        S* rest
        S* size
        FrameMotion[S]* ends
        S* K
        S* Y
        S* W
        S* A
        S* du
        S* graded

    cdef cppclass PointOnMobod[S]:
        Force[S]* axes  # (3,)
        Vec3[S] p
        S depth
        int mobod

    cdef cppclass CompliantWork[S]:
        Articulated[S]* mobods
        ArticulatedDof[S]* dofs
        RigidInertia[S]* composites
        S* H_N
        S* responses
        S* still
        S* resistance
        S* sin_q
        S* cos_q
        S* P
        S* u
        S* J
        PointOnMobod[S]* points
        Pose[S]* X_WN
        Motion[S]* V
        Force[S]* F
        S* sizes
        int num_points
        ConstraintWork[S] w
        int* carries
        int with_rows
        int has_projections

    cdef cppclass RelativeMotion[S]:
        Mat3[S] R_WA
        Vec3[S] p_WC
        Vec3[S] u
        S length
        Vec3[S] error
        Force[S] F
        Motion[S] V_A
        Motion[S] V_B
        Motion[S] A_B
        Motion[S] V
        Vec3[S] alpha
        Vec3[S] a

    cdef cppclass ConstraintRates[S]:
        S* dtau
        S* M_inverse
        S* J
        S* J_inverse_M
        S* by
        S* work

    cdef cppclass ConstraintColumns[R]:
        const R* S
        const R* U
        R* K
        R* W
        R* A
        R* y
        R* l
        R* right

    cdef cppclass Pivots[S]:
        const S* D
        const S* scale
        Py_ssize_t stride
        const int* locked
        Py_ssize_t further

    const double PIVOT_TOLERANCE "MBT_NS::kPivotTolerance"

    cdef cppclass Moving[S]:
        Mat3[S] R
        Vec3[S] p
        Vec3[S] p_WO
        Motion[S] V
        Motion[S] A
        Motion[S] dA
        Force[S] dF

    cdef cppclass CoriolisComposite[S]:
        RigidInertia[S] I
        Mat3[S] B
        Vec3[S] l

    cdef cppclass UnitForces[S]:
        Mat3[S] W
        Vec3[S] xx
        Vec3[S] xy
        Vec3[S] yy
        Vec3[S] xz
        Vec3[S] yz
        Vec3[S] zz

    cdef cppclass Kinematics[S]:
        S* X_FM
        S* X_PB
        S* X_WB
        S* H_FM
        S* H_PB_W
        S* V_PB_W
        S* V_PB
        S* V_WB
        S* F_Bo_W
        S* rest

    cdef cppclass Ends[S]:
        Pose[S] X_WA
        Motion[S] V_WA
        Pose[S] X_WC
        Motion[S] V_WC
        Force[S] F_A
        Force[S] F_C

    cdef cppclass Stretch[S]:
        Vec3[S] p_AoP
        Vec3[S] p_CoQ
        Vec3[S] p_PQ
        S length
        S rate

    cdef cppclass Bushing[S]:
        Vec3[S] p
        Vec3[S] w
        Vec3[S] v
        Vec3[S] rpy
        Vec3[S] rpydot
        Mat3[S] N
        S cos_pitch
        Mat3[S] R_AB
        Vec3[S] tan
        Vec3[S] r
        Vec3[S] rdot
        Vec3[S] drift

    cdef cppclass Coordinates[S]:
        S s[6]
        S sdot[6]
        S k[6]
        S d[6]

    cdef cppclass Touch[S]:
        S rate
        Vec3[S] slip
        S elastic
        S excess
        S drag
        S drag_by_square

    cdef cppclass Contact[S]:
        Vec3[S] normal
        Vec3[S] p_AoCo
        Motion[S] V
        Force[S] F_Co
        S energy
        S conservative_power
        S other_power


cdef extern from "algebra/inertia_rows.hpp" namespace "MBT_NS" nogil:
    cdef cppclass InertiaRows:
        InertiaRows()
    InertiaRows load_inertia(const double* x)  # (5, 4)
    InertiaRows load_body_inertia(const RigidInertia[double]& I)
    InertiaRows inertia_in_world(const double* X, const RigidInertia[double]& I)
    void store_inertia(const InertiaRows& x, double* y)
    RigidInertia[double] rigid_inertia(const InertiaRows& x)
    InertiaRows sum_carried(const InertiaRows& y, const double* X_PN, const InertiaRows& x)
    InertiaRows sum_shifted(const InertiaRows& y, const double* X_OP, const double* X_OQ, const InertiaRows& x)
    void multiply_inertia(const InertiaRows& x, const double* w, double* y)  # (4,)
    void get_h(const InertiaRows& x, double* h)  # (4,)
    double get_mass(const InertiaRows& x)


cdef extern from "algebra/momentum_rows.hpp" namespace "MBT_NS" nogil:
    void set_turned_pose(const Pose[double]& X_PF, double s, double c, double* X_PN)  # rows of R, and p, (4, 4)
    void set_pose(const Pose[double]& X, double* X_PN)
    # F, x, y (blocks, 6, 4)
    void carry_through_revolute(
        const InertiaRows& I, bint is_base, const double* X_PN, int start, int end, bint is_new, double* F, int nv,
        double* M
    )
    void put_momentum(const Force[double]& x, int k, double* F)
    void project_three(
        const double* h, bint forces, int i, int start, int end, const double* F, int nv, double* M
    )
    void project_six(const double* H, int i, int start, int end, const double* F, int nv, double* M)
    void carry_momenta(const double* X_PN, int start, int end, double* F)
    void set_no_momenta(int start, int end, double* F)
    void append_momenta(int start, int end, const double* x, double* y)
    void copy_momenta(int start, int end, const double* x, double* y)


cdef extern from "algebra/motion_rows.hpp" namespace "MBT_NS" nogil:
    cdef cppclass MotionForceRows[S]:
        S R[12]
        S p[4]
        S w[4]
        S alpha[4]
        S a[4]
        S t[4]
        S f[4]
    cdef cppclass MotionRows:
        MotionRows()
    cdef cppclass ForceRows:
        ForceRows()
    void load_motion(const MotionForceRows[double]* x, MotionRows* y)
    void carry_motion_through_revolute(
        const Mobod[double]* mobod, double s, double c, const double* v, const double* vdot, MotionForceRows[double]* x,
        MotionRows* y
    )
    void carry_motion_freely(
        const Pose[double]* X_PN, const double* R_FM, int nv, const double* v, const double* vdot,
        MotionForceRows[double]* x, MotionRows* y
    )
    void carry_motion_to_memory(const Pose[double]* X_PN, MotionForceRows[double]* x, const MotionRows& y)
    void set_motion_from_memory(MotionForceRows[double]* x, MotionRows* y)
    void set_no_force(ForceRows* y)
    void add_body_force(const Mobod[double]* mobod, MotionForceRows[double]* x, ForceRows* y)
    void carry_force_rows(const MotionForceRows[double]* x, ForceRows* y)
    void leave_force(const ForceRows& y, MotionForceRows[double]* x)


cdef extern from "algebra/articulated_rows.hpp" namespace "MBT_NS" nogil:
    void take_dof_to_parent(
        const Articulated[double]* x, ArticulatedDof[double]* dof, Articulated[double]* parent
    )
    double acceleration(const ArticulatedDof[double]& dof, const Motion[double]& a)


cdef extern from "algebra/columns.hpp" namespace "MBT_NS" nogil:
    void add_to_columns[S](const S* h, int n, Py_ssize_t stride, const S* y, S* F)
    void carry_motion_columns[S](const Pose[S]* X_PN, int n, Py_ssize_t stride, const S* A_P, S* A_N)
    void carry_columns[S](const Pose[S]* X_PN, int n, Py_ssize_t stride, S* F)
    void project_columns[S](const S* h, int n, Py_ssize_t stride, const S* F, S* y)
