"""Cython view of vectors.hpp: vectors, matrices and poses as values."""

cdef extern from "algebra/vectors.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Vec3[S]:
        S x
        S y
        S z
        Vec3[S] operator+(const Vec3[S]&)
        Vec3[S] operator-(const Vec3[S]&)
        Vec3[S] operator-()
        Vec3[S] operator*(const S&)
        Vec3[S] operator/(const S&)

    cdef cppclass Mat3[S]:  # by rows
        Vec3[S] x
        Vec3[S] y
        Vec3[S] z
        Mat3[S] operator+(const Mat3[S]&)
        Mat3[S] operator*(const S&)
        Vec3[S] operator*(const Vec3[S]&)
        Mat3[S] operator*(const Mat3[S]&)
        Motion[S] operator*(const Motion[S]&)
        Force[S] operator*(const Force[S]&)

    cdef cppclass Sym3[S]:
        S xx
        S xy
        S xz
        S yy
        S yz
        S zz
        Sym3[S] operator+(const Sym3[S]&)
        Vec3[S] operator*(const Vec3[S]&)

    cdef cppclass Skew[S]:
        Mat3[S] operator+(const Mat3[S]&)
        Mat3[S] operator*(const Mat3[S]&)

    cdef cppclass Pose[S]:
        Mat3[S] R
        Vec3[S] p
        Pose[S] operator*(const Pose[S]&)

    Vec3[S] vector[S](const S& x, const S& y, const S& z)
    Vec3[S] half[S](const Vec3[S]&)
    Mat3[S] half[S](const Mat3[S]&)
    Vec3[S] twice[S](const Vec3[S]&)
    Vec3[S] entrywise[S](const Vec3[S]&, const Vec3[S]&)
    S dot[S](const Vec3[S]&, const Vec3[S]&)
    Vec3[S] cross[S](const Vec3[S]&, const Vec3[S]&)
    Mat3[S] transpose[S](const Mat3[S]&)
    Vec3[S] times_transposed[S](const Mat3[S]&, const Vec3[S]&)
    Vec3[S] sum_transposed[S](const Vec3[S]& u, const Mat3[S]& A, const Vec3[S]& b)  # u + A' b
    Mat3[S] less[S](const Mat3[S]& A, const Vec3[S]& a, const Vec3[S]& b)  # A - a b'
    Mat3[S] plus_identity[S](const Mat3[S]& A, const S& s)  # A + s 1
    Skew[S] skew[S](const Vec3[S]&)
    Mat3[S] full[S](const Skew[S]&)
    Mat3[S] full[S](const Sym3[S]&)
    Vec3[S] x_axis[S](const Mat3[S]&)
    Vec3[S] y_axis[S](const Mat3[S]&)
    Vec3[S] z_axis[S](const Mat3[S]&)
    Mat3[S] polynomial[S](const Vec3[S]& phi, const S& a, const S& b)  # 1 + a [phi]x + b [phi]x [phi]x
    void set_acceleration_of_points[S](const Vec3[S]& alpha, const Vec3[S]& w, Mat3[S]* B)
    Pose[S] inverse[S](const Pose[S]&)
    # In memory
    Vec3[S] vector_at[S](const S*)
    Mat3[S] matrix_at[S](const S*)
    Mat3[S] matrix_at[S](const S*, int row)
    Pose[S] pose_at[S](const S*)  # (4, 4)
    Vec3[S] position_at[S](const S*)  # of (4, 4)
    S* numbers[S](Vec3[S]&)
    S* numbers[S](Mat3[S]&)
    S* numbers[S](Sym3[S]&)
    void put[S](const Vec3[S]&, S* to)
    void put[S](const Mat3[S]&, S* to, int row)
    void put[S](const Pose[S]&, S* to)  # (4, 4)
    void put_column[S](const Vec3[S]&, S* to, Py_ssize_t row)
    void add_column[S](const Vec3[S]&, double s, S* to, Py_ssize_t row)
    Vec3[S] column_of[S](const S*, Py_ssize_t row)


cdef extern from "algebra/articulated.hpp" namespace "MBT_NS" nogil:
    cdef cppclass Motion[S]:
        Vec3[S] w
        Vec3[S] v
        Motion[S] operator+(const Motion[S]&)
        Motion[S] operator-(const Motion[S]&)
        Motion[S] operator*(const S&)

    cdef cppclass Force[S]:
        Vec3[S] t
        Vec3[S] f
        Force[S] operator+(const Force[S]&)
        Force[S] operator-(const Force[S]&)
        Force[S] operator-()

    cdef cppclass JointAxes[S]:
        Motion[S]* dof  # (6,)

    cdef cppclass RigidInertia[S]:
        S mass
        Vec3[S] h
        Sym3[S] J
        Force[S] operator*(const Motion[S]&)
        RigidInertia[S] operator+(const RigidInertia[S]&)

    cdef cppclass ArticulatedInertia[S]:
        Force[S] operator*(const Motion[S]&)

    cdef cppclass HingedInertia[S]:
        pass

    Motion[S] motion_at[S](const S*)
    Force[S] force_at[S](const S*)
    Motion[S] shifted[S](const Motion[S]&, const Vec3[S]& p)
    S* numbers[S](Motion[S]&)
    S* numbers[S](Force[S]&)
    S* numbers[S](RigidInertia[S]&)
    void put[S](const Motion[S]&, S* to)
    void put[S](const Force[S]&, S* to)
    void put_column[S](const Motion[S]&, S* to, Py_ssize_t row)
    void add_column[S](const Motion[S]&, double s, S* to, Py_ssize_t row)
    Motion[S] times_transposed[S](const Mat3[S]&, const Motion[S]&)
    S dot[S](const Force[S]&, const Motion[S]&)
    Motion[S] cross[S](const Motion[S]& V, const Motion[S]&)
    Force[S] cross[S](const Motion[S]& V, const Force[S]&)
    Motion[S] in_child[S](const Pose[S]& X_PN, const Motion[S]&)
    Force[S] in_parent[S](const Pose[S]& X_PN, const Force[S]&)
    void add_in_parent[S](const Pose[S]& X_PN, const Force[S]&, Force[S]* F_P)  # F_P += in_parent(...)
    Force[S] sum[S](const Force[S]& F, const Force[S]& a, const S& s)  # F + a s
    Force[S] sum[S](const Force[S]& F, const ArticulatedInertia[S]& I, const Motion[S]& a)  # F + I a
    Force[S] sum[S](const Force[S]& F, const HingedInertia[S]& I, const Motion[S]& a)

    RigidInertia[S] rotated[S](const Mat3[S]& R, const RigidInertia[S]&)
    RigidInertia[S] inertia_of_body[S](const S& mass, const S* p_BoBcm_B, const S* I_BBo_B)
    void add_shifted[S](const RigidInertia[S]&, const Vec3[S]& p, RigidInertia[S]* sum)

    S trace_of_A[S](const ArticulatedInertia[S]&)
    S trace_of_C[S](const ArticulatedInertia[S]&)
    void set_rigid_inertia[S](const S& mass, const Vec3[S]& h, const Sym3[S]& J, ArticulatedInertia[S]* I)
    Force[S] times_turn_about_z[S](const ArticulatedInertia[S]& I)
    Force[S] times_shift_along_z[S](const ArticulatedInertia[S]& I)
    void eliminate[S](const Force[S]& U, const S& D_inverse, ArticulatedInertia[S]* I)  # I -= U U' / D
    HingedInertia[S] hinged[S](const ArticulatedInertia[S]& I, const Force[S]& U, const S& D_inverse)
    # I_P += I, less U U' / D where given, expressed in P
    void add_to_parent[S](const ArticulatedInertia[S]& I, const Pose[S]& X_PN, ArticulatedInertia[S]* I_P)
    void add_to_parent[S](const HingedInertia[S]& I, const Pose[S]& X_PN, ArticulatedInertia[S]* I_P)


# Functions of two scalars, constants of double among them; Cython needs all types before.
cdef extern from "algebra/vectors.hpp" namespace "MBT_NS" nogil:
    void set_constant[S](const Vec3[double]&, Vec3[S]* to)
    void set_constant[S](const Mat3[double]&, Mat3[S]* to)
    void set_constant[S](const Pose[double]&, Pose[S]* to)
    Vec3[S] scaled[S](const Vec3[double]& a, const S& s)  # a s
    void turn_about_z[A, S](const Mat3[A]& R, const S& s, const S& c, Mat3[S]* turned)
