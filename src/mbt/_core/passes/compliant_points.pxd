"""Points in contact with planes that are fixed in World, in the linear system of an implicit step.

The notation is that of `compliant_dynamics.pxd`. What acts on a point acts on its body alone: the slopes of its
impulses are part of the articulated inertia.
"""

from enum_numbers_of_parts cimport NUM_CONTACT_CONSTANTS
from libc.math cimport sqrt

from mbt._core.algebra.records cimport CompliantWork, Parameters, PointOnMobod
from mbt._core.algebra.rotations cimport set_identity
from mbt._core.algebra.spatial cimport copy, dot3, dot6, set_zero
from mbt._core.algebra.vectors cimport (
    ArticulatedInertia, Force, Mat3, Pose, Vec3, add_in_parent, cross, dot, eliminate, inverse, numbers, sum,
    transpose, vector_at, x_axis, y_axis, z_axis,
)
from mbt._core.joints.mobilizers cimport GENERAL, REVOLUTE_Z
from mbt._core.model.structs cimport ForceElement, MobodJoint, Model, Switches
from mbt._core.passes.constraint_frames cimport pose_in_mobod
from mbt._core.passes.mass_matrix_inverse cimport project_motion


cdef inline Py_ssize_t count_points(const Model* model) noexcept nogil:
    cdef Py_ssize_t count = 0
    cdef int i
    for i in range(model.num_force_elements):
        count += model.force_elements[i].num_points
    return count


cdef inline void place_points(
    # Topology:
    const Model* model,
    # Parameters:
    const Parameters[double]* p,
    # Out:
    CompliantWork[double]* x,      # points
) noexcept nogil:
    """Points of bodies in contact with planes that are fixed in World."""
    cdef const ForceElement* e
    cdef const double* p_CP
    cdef PointOnMobod[double]* point = x.points
    cdef Pose[double] X_NC, X_WA, X_AN
    cdef Mat3[double] R_NA
    cdef int i, j, k
    set_identity[double](numbers(x.X_WN[0].R))
    set_zero[double](numbers(x.X_WN[0].p), 3)
    for i in range(1, model.num_mobods):
        x.X_WN[i] = x.X_WN[model.joints[i].parent]*x.mobods[i].X_PN
    for i in range(model.num_force_elements):
        e = &model.force_elements[i]
        if e.num_points == 0:
            continue
        X_NC = pose_in_mobod[double](model, e.b, p)
        X_WA = pose_in_mobod[double](model, e.a, p)
        j = model.mobod[model.frame_node[e.b]]
        X_AN = inverse(X_WA)*x.X_WN[j]
        R_NA = transpose(X_AN.R)
        p_CP = p.force_elements + e.start + NUM_CONTACT_CONSTANTS
        for k in range(e.num_points):
            point.mobod = j
            point.p = X_NC.p + X_NC.R*vector_at(p_CP + 3*k)
            point.depth = -(X_AN.p + X_AN.R*point.p).z
            set_axis(x_axis(R_NA), point.p, &point.axes[0])
            set_axis(y_axis(R_NA), point.p, &point.axes[1])
            set_axis(z_axis(R_NA), point.p, &point.axes[2])
            point += 1


cdef inline void set_axis(const Vec3[double]& f, const Vec3[double]& p, Force[double]* axis) noexcept nogil:
    """A force at the point p, about the origin."""
    axis.t = cross(p, f)
    axis.f = f


cdef inline void add_slopes_of_points(const double* slopes, CompliantWork[double]* x) noexcept nogil:
    """I_A += F' G F, with F the axes of a point, and [G0 G1 0; G1 G2 0; 0 0 G3] its four slopes."""
    cdef const PointOnMobod[double]* point
    cdef ArticulatedInertia[double]* I
    cdef const double* G
    cdef double s
    cdef int k, first
    for k in range(x.num_points):
        point, G = &x.points[k], slopes + 4*k
        if point.mobod == 0:
            continue
        I = &x.mobods[point.mobod].I
        # [G0 G1; G1 G2] = L D L', from the larger pivot on.
        first = 0 if G[0] > G[2] else 1
        if G[2*first] > 0.0:
            s = G[1]/G[2*first]
            eliminate(sum(point.axes[first], point.axes[1 - first], s), -G[2*first], I)
            eliminate(point.axes[1 - first], s*G[1] - G[2 - 2*first], I)
        if G[3] != 0.0:
            eliminate(point.axes[2], -G[3], I)


cdef inline void add_impulses_of_points(
    # Topology:
    const Model* model,
    const Switches* switches,
    # In:
    const double* impulses,        # (num_points, 3)  [N s]  along the axes of the planes
    # Work:
    CompliantWork[double]* x,      # F, sizes
    # Out:
    double* gradient,              # (nv,)            [N m s, N s]  less J' impulses
    double* size,                  # (nv,)            [N m s, N s]  with bounds of the sizes of these terms
) noexcept nogil:
    """Sizes come from the norms of impulses and of arms, which no direction cancels."""
    cdef const MobodJoint* joint
    cdef const PointOnMobod[double]* point
    cdef const double* axis
    cdef double* sizes
    cdef double y
    cdef int i, j, k
    set_zero[double](numbers(x.F[0]), 6*<Py_ssize_t>model.num_mobods)
    set_zero[double](x.sizes, 2*<Py_ssize_t>model.num_mobods)
    for k in range(x.num_points):
        point = &x.points[k]
        for i in range(3):
            x.F[point.mobod] = sum(x.F[point.mobod], point.axes[i], impulses[3*k + i])
        y = sqrt(dot3[double](impulses + 3*k, impulses + 3*k))
        x.sizes[2*point.mobod] += sqrt(dot(point.p, point.p))*y
        x.sizes[2*point.mobod + 1] += y
    for i in range(model.num_mobods - 1, 0, -1):
        if not x.carries[i]:
            continue
        joint = &model.joints[i]
        sizes = x.sizes + 2*i
        for k in range(joint.v_start, joint.v_start + joint.nv):
            if switches.locked != NULL and switches.locked[k]:
                continue
            project_motion[double](joint, k, x.H_N, 1, 1, numbers(x.F[i]), &y)
            gradient[k] -= y
            if joint.kind == GENERAL:
                axis = x.H_N + 6*k
                size[k] += sqrt(dot3[double](axis, axis))*sizes[0] + sqrt(dot3[double](axis + 3, axis + 3))*sizes[1]
            else:
                size[k] += sizes[0 if joint.kind == REVOLUTE_Z else 1]
        if joint.parent != 0:
            add_in_parent(x.mobods[i].X_PN, x.F[i], &x.F[joint.parent])
            j = 2*joint.parent
            x.sizes[j] += sizes[0] + sqrt(dot(x.mobods[i].X_PN.p, x.mobods[i].X_PN.p))*sizes[1]
            x.sizes[j + 1] += sizes[1]


cdef inline void calc_shares(const CompliantWork[double]* x, double* shares) noexcept nogil:
    """J M^-1 J' = F' Omega F, summed along the two axes of each plane."""
    cdef double[6] F
    cdef int i, j, k
    for k in range(x.num_points):
        shares[k] = 0.0
        for i in range(2):
            copy[double](numbers(x.points[k].axes[i]), 6, F)
            for j in range(6):
                shares[k] += F[j]*dot6[double](x.responses + 36*x.points[k].mobod + 6*j, F)
