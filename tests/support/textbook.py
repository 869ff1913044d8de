"""The algorithms of the kernels as in textbooks: short, in NumPy, to read before the fast versions.

All spatial vectors are in World and about its origin O. Then the velocity of a body is a plain sum,
V = V_P + S v, and so is the force on all bodies that a joint carries: nothing moves from frame to frame. The
kernels do shift vectors between mobilizer frames or body origins, which keeps digits that are lost here far
from O; the algorithms are the same.

`support.mechanism.Mechanism` holds the joints and bodies of a tree and a Context, `InWorld` the same at its
pose and in motion. Bodies are numbered outwards and 0 is World: a forward loop goes from base to tip, a
backward loop from tip to base. P is the parent of body b, and d are the dofs of the joint between them: S[d]
has their motion axes as rows, and is S' in the formulas.

Sources:

[Whitney 1972] The Mathematics of Coordinated Control of Prosthetic Arms and Manipulators. J. Dyn. Sys.,
    Meas., Control 94.
[Luh, Walker & Paul 1980] On-Line Computational Scheme for Mechanical Manipulators. J. Dyn. Sys., Meas.,
    Control 102.
[Walker & Orin 1982] Efficient Dynamic Computer Simulation of Robotic Mechanisms. J. Dyn. Sys., Meas., Control
    104.
[Atkeson, An & Hollerbach 1986] Estimation of Inertial Parameters of Manipulator Loads and Links. Int. J.
    Robotics Res. 5.
[Featherstone 2008] Rigid Body Dynamics Algorithms. Springer.
[Munthe-Kaas 1999] High Order Runge-Kutta Methods on Manifolds. Applied Numerical Mathematics 29.
[Orin & Goswami 2008] Centroidal Momentum Matrix of a Humanoid Robot: Structure and Properties. IROS.
[Carpentier 2018] Analytical Inverse of the Joint Space Inertia Matrix. Technical report, LAAS-CNRS.
[Carpentier & Mansard 2018] Analytical Derivatives of Rigid Body Dynamics Algorithms. RSS.
[Echeandia & Wensing 2021] Numerical Methods to Compute the Coriolis Matrix and Christoffel Symbols for
    Rigid-Body Systems. J. Comput. Nonlinear Dynam. 16.
[Singh, Russell & Wensing 2022] Efficient Analytical Derivatives of Rigid-Body Dynamics Using Spatial Vector
    Algebra. IEEE RA-L 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from support.description import Array
from support.mechanism import Mechanism
from support.reference_kinematics import cross_matrix, inverse
from support.spatial_vectors import cross_force, cross_motion, inertia_in_world, rotation6, shift

# -- kinematics ----------------------------------------------------------------------------------------


def body_poses(x: Mechanism) -> Array:
    """X_WB = X_WP X_PF X_FM X_MB, (nb, 4, 4) [Featherstone 2008, section 4.2]."""
    X_WB = np.tile(np.eye(4), (len(x.parents), 1, 1))
    for b, P in enumerate(x.parents[1:], start=1):
        X_WB[b] = X_WB[P] @ x.X_PF[b] @ x.X_FM[b] @ inverse(x.X_BM[b])
    return X_WB


def motion_axes(x: Mechanism, X_WB: Array) -> Array:
    """S = [e; u + p_OMo × e] of the axes [e; u] = R_WF H_FM, (nv, 6)."""
    S = np.zeros_like(x.H_FM)
    for b, P in enumerate(x.parents[1:], start=1):
        p_OMo = (X_WB[b] @ x.X_BM[b])[:3, 3]
        S[x.dofs[b]] = x.H_FM[x.dofs[b]] @ (shift(-p_OMo) @ rotation6(X_WB[P] @ x.X_PF[b])).T
    return S


def velocities(x: Mechanism, S: Array) -> Array:
    """V = V_P + S v, (nb, 6) [Featherstone 2008, section 5.3]."""
    V = np.zeros((len(x.parents), 6))
    for b, P in enumerate(x.parents[1:], start=1):
        V[b] = V[P] + x.v[x.dofs[b]] @ S[x.dofs[b]]
    return V


def axis_rates(x: Mechanism, X_WB: Array, S: Array, V: Array) -> Array:
    """Sdot = V_P × S + the change in F, where [e; u] change by Hdot and Mo moves: (nv, 6).

    [Featherstone 2008, section 3.5]: Sdot = V_B × S + S° is the same with the change seen from B.
    """
    Sdot = np.zeros_like(S)
    for b, P in enumerate(x.parents[1:], start=1):
        d, p_OMo, R = x.dofs[b], (X_WB[b] @ x.X_BM[b])[:3, 3], rotation6(X_WB[P] @ x.X_PF[b])
        v_FMo = R[3:, 3:] @ (x.v[d] @ x.H_FM[d])[3:]
        Sdot[d] = S[d] @ cross_motion(V[P]).T + x.Hdot_FM[d] @ (shift(-p_OMo) @ R).T
        Sdot[d, 3:] += np.cross(v_FMo, S[d, :3])
    return Sdot


@dataclass(frozen=True, eq=False)
class InWorld:
    """A mechanism at its pose and in motion: bodies and axes in World, about O."""

    parents: tuple[int, ...]
    dofs: list[slice]
    v: Array  # (nv,)
    X_WB: Array  # (nb, 4, 4)
    S: Array  # (nv, 6)
    Sdot: Array  # (nv, 6)
    V: Array  # (nb, 6)
    M: Array  # (nb, 6, 6) spatial inertias
    rotors: Array  # (nv,)
    A_0: Array  # (6,) of World: with -g there, gravity is not a force [Featherstone 2008, section 5.3]

    @property
    def outward(self) -> list[tuple[int, int, slice]]:
        """All bodies but World, base to tip: the body, its parent, its dofs."""
        return [(b, self.parents[b], self.dofs[b]) for b in range(1, len(self.parents))]

    @property
    def inward(self) -> list[tuple[int, int, slice]]:
        return self.outward[::-1]


def move_to_world(x: Mechanism) -> InWorld:
    X_WB = body_poses(x)
    S = motion_axes(x, X_WB)
    V = velocities(x, S)
    M = np.array([inertia_in_world(X, M) for X, M in zip(X_WB, x.inertia, strict=True)])
    A_0 = np.array([0.0, 0.0, 0.0, *-x.gravity])
    return InWorld(x.parents, x.dofs, x.v, X_WB, S, axis_rates(x, X_WB, S, V), V, M, x.rotors, A_0)


def accelerations(x: InWorld, vdot: Array, A_0: Array) -> Array:
    """A = A_P + S vdot + Sdot v, (nb, 6) [Featherstone 2008, section 5.3]."""
    A = np.tile(A_0, (len(x.parents), 1))
    for b, P, d in x.outward:
        A[b] = A[P] + vdot[d] @ x.S[d] + x.v[d] @ x.Sdot[d]
    return A


def jacobian(x: InWorld, body: int, p_WP: Array) -> Array:
    """J with [w; v_P] = J v, (6, nv): the axes S of all joints inboard, others zero [Whitney 1972]."""
    J = np.zeros((6, len(x.S)))
    while body:
        J[:, x.dofs[body]] = shift(p_WP) @ x.S[x.dofs[body]].T
        body = x.parents[body]
    return J


def jacobian_rate(x: InWorld, body: int, p_WP: Array) -> Array:
    """d/dt (Phi S) = Phi Sdot + [0; e × v_P] for the point P of a body, (6, nv)."""
    v_P = (shift(p_WP) @ x.V[body])[3:]
    Jdot = np.zeros((6, len(x.S)))
    while body:
        d = x.dofs[body]
        Jdot[:, d] = shift(p_WP) @ x.Sdot[d].T
        Jdot[3:, d] += np.cross(x.S[d, :3], v_P).T
        body = x.parents[body]
    return Jdot


def center_of_mass(x: Mechanism) -> Array:
    """m_P += m and h_P += R_PB h + m p_PB from tip to base, h = m c in body frames; h / m of World, (3,)."""
    m, h = x.mass.copy(), x.mass[:, None] * x.com
    for b in range(len(m) - 1, 0, -1):
        P = x.parents[b]
        X_PB = x.X_PF[b] @ x.X_FM[b] @ inverse(x.X_BM[b])
        m[P] += m[b]
        h[P] += X_PB[:3, :3] @ h[b] + m[b] * X_PB[:3, 3]
    return np.asarray(h[0] / m[0])


# -- forces --------------------------------------------------------------------------------------------


def generalized_forces(x: InWorld, F: Array) -> Array:
    """tau = S' F, F_P += F: the sum of J_B' F_B for forces on bodies (nb, 6), in one loop.

    Second half of [Featherstone 2008, table 5.1].
    """
    F, tau = F.copy(), np.zeros(len(x.S))
    for b, P, d in x.inward:
        tau[d] = x.S[d] @ F[b]
        F[P] += F[b]
    return tau


def inertial_forces(x: InWorld, vdot: Array) -> Array:
    """F = M A + V ×* M V, the force that moves each body, (nb, 6) [Featherstone 2008, section 2.14]."""
    A = accelerations(x, vdot, x.A_0)
    return np.array([M @ a + cross_force(V) @ M @ V for M, V, a in zip(x.M, x.V, A, strict=True)])


def reaction_forces(x: InWorld, vdot: Array, applied: Array) -> Array:
    """F = M A + V ×* M V - F_applied + sum of F of the children: through each inboard joint, (nb, 6).

    [Featherstone 2008, section 5.3]
    """
    F = inertial_forces(x, vdot) - applied
    for b, P, _ in x.inward:
        F[P] += F[b]
    return F


def inverse_dynamics(x: InWorld, vdot: Array, applied: Array) -> Array:
    """Recursive Newton-Euler, tau = M vdot + C v - tau_g - J' F_applied: V and A outwards, F inwards, S' F.

    [Featherstone 2008, table 5.1], [Luh, Walker & Paul 1980]
    """
    return generalized_forces(x, inertial_forces(x, vdot) - applied) + x.rotors * vdot


def gravity_forces(x: InWorld) -> Array:
    """tau_g = S' F, F_P += F, from the weights F = M g = [h × g; m g] with the mass moment h = m c."""
    return generalized_forces(x, x.M @ -x.A_0)


# -- mass matrix ---------------------------------------------------------------------------------------


def composites(x: InWorld, M: Array) -> Array:
    """Sums of matrices of bodies, (nb, 6, 6), over each body and all bodies outboard of it."""
    M = M.copy()
    for b, P, _ in x.inward:
        M[P] += M[b]
    return M


def mass_matrix(x: InWorld) -> Array:
    """Composite rigid bodies: M[k, l] = S_k' M_c S_l, with M_c of k, and l on the path from k to World.

    [Featherstone 2008, table 6.2], [Walker & Orin 1982]
    """
    M_c, M = composites(x, x.M), np.diag(x.rotors)
    for b, _, d in x.outward:
        F, j = M_c[b] @ x.S[d].T, b
        while j:
            e = x.dofs[j]
            entries = x.S[e] @ F
            M[e, d] += entries
            if j != b:
                M[d, e] += entries.T
            j = x.parents[j]
    return M


def momentum_matrix(x: InWorld, p_WP: Array) -> Array:
    """Momentum about P per unit of each velocity: columns M_c S, moved from O to P, (6, nv).

    [Orin & Goswami 2008]
    """
    M_c, L = composites(x, x.M), np.zeros((6, len(x.S)))
    for b, _, d in x.outward:
        L[:, d] = shift(-p_WP).T @ M_c[b] @ x.S[d].T
    return L


@dataclass(frozen=True, eq=False)
class Articulated:
    """A body and everything outboard of it, by its inertia at the inboard joint."""

    M: Array  # (6, 6) as felt through the free joint: M_A - U D^-1 U'
    U: Array  # (6, n) M_A S
    D_inverse: Array  # (n, n) of S' U, with rotors


def articulated_bodies(x: InWorld) -> dict[int, Articulated]:
    """M_A of P += M_A - U D^-1 U', with U = M_A S, D = S' U and rotors [Featherstone 2008, table 7.1]."""
    M_A, bodies = x.M.copy(), {}
    for b, P, d in x.inward:
        U = M_A[b] @ x.S[d].T
        D_inverse = np.linalg.inv(x.S[d] @ U + np.diag(x.rotors[d]))
        bodies[b] = Articulated(M_A[b] - U @ D_inverse @ U.T, U, D_inverse)
        M_A[P] += bodies[b].M
    return bodies


def forward_dynamics(x: InWorld, tau: Array, applied: Array) -> Array:
    """Articulated bodies: inwards u = tau - S' Z, outwards vdot = D^-1 (u - U' A) with A of vdot = 0.

    Z is the force that keeps a body from accelerating, V ×* M V - F_applied before outboard bodies are added:
    Z_P += Z + (M_A - U D^-1 U') Sdot v + U D^-1 u [Featherstone 2008, table 7.1].
    """
    bodies, u, vdot = articulated_bodies(x), np.zeros_like(tau), np.zeros_like(tau)
    Z = np.array([cross_force(V) @ M @ V for M, V in zip(x.M, x.V, strict=True)]) - applied
    for b, P, d in x.inward:
        a = bodies[b]
        u[d] = tau[d] - x.S[d] @ Z[b]
        Z[P] += Z[b] + a.M @ (x.v[d] @ x.Sdot[d]) + a.U @ a.D_inverse @ u[d]
    A = np.tile(x.A_0, (len(x.parents), 1))
    for b, P, d in x.outward:
        A[b] = A[P] + x.v[d] @ x.Sdot[d]
        vdot[d] = bodies[b].D_inverse @ (u[d] - bodies[b].U.T @ A[b])
        A[b] += vdot[d] @ x.S[d]
    return vdot


def mass_matrix_inverse(x: InWorld) -> Array:
    """Forward dynamics at rest, without gravity, of all unit forces at once: Z and A have nv columns.

    [Carpentier 2018]
    """
    nv, bodies = len(x.S), articulated_bodies(x)
    u, columns = np.eye(nv), np.zeros((nv, nv))
    Z, A = np.zeros((2, len(x.parents), 6, nv))
    for b, P, d in x.inward:
        u[d] -= x.S[d] @ Z[b]
        Z[P] += Z[b] + bodies[b].U @ bodies[b].D_inverse @ u[d]
    for b, P, d in x.outward:
        columns[d] = bodies[b].D_inverse @ (u[d] - bodies[b].U.T @ A[P])
        A[b] = A[P] + x.S[d].T @ columns[d]
    return columns


# -- derivatives ---------------------------------------------------------------------------------------


def body_coriolis_matrices(x: InWorld) -> Array:
    """B = (V ×* M - M V × + (M V) ×~) / 2, where F ×~ V = V ×* F: B V = V ×* M V and B + B' = Mdot.

    (nb, 6, 6) [Echeandia & Wensing 2021]
    """
    B = np.zeros_like(x.M)
    for b, (M, V) in enumerate(zip(x.M, x.V, strict=True)):
        MV_cross = np.column_stack([cross_force(unit) @ M @ V for unit in np.eye(6)])
        B[b] = (cross_force(V) @ M - M @ cross_motion(V) + MV_cross) / 2
    return B


def coriolis_matrix(x: InWorld) -> Array:
    """C[k, l] = S_k' (M_c Sdot_l + B_c S_l), with composites of all bodies outboard of both k and l.

    [Echeandia & Wensing 2021]
    """
    M_c, B_c = composites(x, x.M), composites(x, body_coriolis_matrices(x))
    C = np.zeros((len(x.S), len(x.S)))
    for b, _, d in x.outward:
        j = b
        while j:
            e = x.dofs[j]
            C[e, d] = x.S[e] @ (M_c[b] @ x.Sdot[d].T + B_c[b] @ x.S[d].T)
            C[d, e] = x.S[d] @ (M_c[b] @ x.Sdot[e].T + B_c[b] @ x.S[e].T)
            j = x.parents[j]
    return C


def inverse_dynamics_derivatives(x: InWorld, vdot: Array) -> tuple[Array, Array]:
    """dtau/dq and dtau/dv for joints of one dof, whose axis is fixed in F.

    Along q_j all bodies outboard turn with S_j. If that were all, F would turn by S_j ×* F; but A and V of
    the parent body do not turn. With P = V_P × S and Q = A_P × S + V_P × P of j, and with the composites
    M, B and F of k or of j, whichever is outboard,

        dtau_k/dq_j = S_k' (M Q + 2 B P), and S_k' (S_j ×* F) more where j is outboard
        dtau_k/dv_j = S_k' (2 M P + 2 B S)

    [Carpentier & Mansard 2018], in the form of [Singh, Russell & Wensing 2022]
    """
    M, B = composites(x, x.M), composites(x, body_coriolis_matrices(x))
    A, F = accelerations(x, vdot, x.A_0), reaction_forces(x, vdot, np.zeros_like(x.V))
    by_q, by_v = np.zeros((2, len(x.S), len(x.S)))
    S = {b: x.S[d][0] for b, _, d in x.outward if d.stop > d.start}
    P = {b: cross_motion(x.V[x.parents[b]]) @ S[b] for b in S}
    Q = {b: cross_motion(A[x.parents[b]]) @ S[b] + cross_motion(x.V[x.parents[b]]) @ P[b] for b in S}
    dof = {b: x.dofs[b].start for b in S}
    for b in S:
        i = b
        while i:
            if i in S:
                for k, j in ((b, i), (i, b)):
                    by_q[dof[k], dof[j]] = S[k] @ (M[b] @ Q[j] + 2 * B[b] @ P[j])
                    by_v[dof[k], dof[j]] = 2 * S[k] @ (M[b] @ P[j] + B[b] @ S[j])
                by_q[dof[i], dof[b]] += S[i] @ cross_force(S[b]) @ F[b]
            i = x.parents[i]
    return by_q, by_v


def forward_dynamics_derivatives(x: InWorld, vdot: Array) -> tuple[Array, Array]:
    """dvdot = -M^-1 dtau, with dtau of inverse dynamics at these vdot [Carpentier & Mansard 2018]."""
    by_q, by_v = inverse_dynamics_derivatives(x, vdot)
    M_inverse = mass_matrix_inverse(x)
    return -M_inverse @ by_q, -M_inverse @ by_v


def inverse_dynamics_regressor(x: InWorld, vdot: Array) -> Array:
    """Y with Y pi = inverse dynamics without rotors: S' F, with F = M A + V ×* M V for unit parameters.

    pi of each body but World is m, m c (3), Ixx Ixy Iyy Ixz Iyz Izz about Bo, in B; M is linear in it
    [Atkeson, An & Hollerbach 1986].
    """
    A, Y = accelerations(x, vdot, x.A_0), np.zeros((len(x.S), len(x.parents) - 1, 10))
    for b, _, _ in x.outward:
        units = [inertia_in_world(x.X_WB[b], M) for M in unit_inertias()]
        F = np.column_stack([M @ A[b] + cross_force(x.V[b]) @ M @ x.V[b] for M in units])
        j = b
        while j:
            Y[x.dofs[j], b - 1] = x.S[x.dofs[j]] @ F
            j = x.parents[j]
    return Y.reshape(len(x.S), 10 * (len(x.parents) - 1))


def unit_inertias() -> Array:
    """[I, [h]x; -[h]x, m] for one unit of each inertial parameter, (10, 6, 6)."""
    M = np.zeros((10, 6, 6))
    M[0, 3:, 3:] = np.eye(3)
    for i, h in enumerate(np.eye(3), start=1):
        M[i, :3, 3:], M[i, 3:, :3] = cross_matrix(h), -cross_matrix(h)
    for i, (r, c) in enumerate(zip(*np.tril_indices(3), strict=True), start=4):
        M[i, r, c] = M[i, c, r] = 1.0
    return M


# -- steps of time -------------------------------------------------------------------------------------


def step_of_runge_kutta(
    accelerate: Callable[[Array, Array], Array],
    move: Callable[[Array, Array], Array],
    turning: Sequence[slice],
    q0: Array,
    v0: Array,
    h: float,
) -> tuple[Array, Array]:
    """Order four in u, where q = exp(u) q0, and v [Munthe-Kaas 1999, algorithm of section 3].

    `move(q, u)` is exp(u) q, `accelerate(q, v)` gives vdot, `turning` lists the dofs of rotations. For these
    the rate of u at angular velocity w is the inverse derivative of exp, w - u × w / 2 + u × (u × w) / 12;
    the omitted term, u^4 / 720, is of the order of the errors. For other dofs it is v.
    """

    def rates(u: Array, v: Array) -> tuple[Array, Array]:
        du = v.copy()
        for d in turning:
            du[d] = v[d] - np.cross(u[d], v[d]) / 2 + np.cross(u[d], np.cross(u[d], v[d])) / 12
        return du, accelerate(move(q0, u), v)

    u1, a1 = rates(np.zeros_like(v0), v0)
    u2, a2 = rates(h / 2 * u1, v0 + h / 2 * a1)
    u3, a3 = rates(h / 2 * u2, v0 + h / 2 * a2)
    u4, a4 = rates(h * u3, v0 + h * a3)
    return move(q0, h / 6 * (u1 + 2 * u2 + 2 * u3 + u4)), v0 + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
