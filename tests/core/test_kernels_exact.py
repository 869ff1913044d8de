"""PyScalar on rational numbers: without rounding, equal quantities are exactly equal.

A quaternion makes a rational rotation without a square root. So does an angle given by
t = tan(angle / 2): the sine is 2t / (1 + t^2), the cosine (1 - t^2) / (1 + t^2). Joint axes are coordinate
axes, so that the constants of the tree are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import mbt
from core.kernel_calls import FUNCTIONS, call_python, default_parameters, parameter_slices
from core.kernel_scalars import REFUSED, Rational, refuse
from mbt._core.quantities.names import Quantity
from support.build import build_tree
from support.description import WORLD, Actuator, Body, Joint, Model, OffsetFrame
from support.engines import body_in_the_middle

F = Quantity
Objects = NDArray[np.object_]

X_OF_WELD = np.array([[0, -1, 0, 0.25], [1, 0, 0, -0.5], [0, 0, 1, 0.125], [0, 0, 0, 1.0]])
AXES = {
    "+x": np.array([1.0, 0.0, 0.0]),
    "-x": np.array([-1.0, 0.0, 0.0]),
    "+y": np.array([0.0, 1.0, 0.0]),
    "-y": np.array([0.0, -1.0, 0.0]),
    "+z": np.array([0.0, 0.0, 1.0]),
}


def joint(name: str, kind: str, parent: str, child: str, axis: str | None = None) -> Joint:
    """A joint with its own frames on both bodies, whose poses are parameters."""
    return Joint(
        name,
        kind,
        parent,
        child,
        X_PF=np.eye(4),
        X_BM=np.eye(4),
        axis=None if axis is None else AXES[axis],
        X_FM=X_OF_WELD if kind == "weld" else None,
        damping={"weld": (), "floating": (1.0,) * 6}.get(kind, (1.0,)),
    )


def model(joints: Sequence[Joint]) -> Model:
    names = sorted({name for j in joints for name in (j.parent, j.child)} - {WORLD})
    actuators = tuple(Actuator(f"{j.name}_motor", j.name, 1.0, 1.0) for j in joints if j.num_velocities == 1)
    return Model(
        "exact",
        tuple(Body(name, 1.0, np.zeros(3), np.eye(3)) for name in names),
        tuple(joints),
        actuators[1:],
        (OffsetFrame("tool", names[-1], np.eye(4)),),
    )


# A parent named after a child makes a reversed joint.
MODELS = {
    "prismatic": [
        joint("j0", "prismatic", WORLD, "b0", "+x"),
        joint("j1", "prismatic", "b1", "b0", "-y"),
        joint("j2", "weld", "b1", "b2"),
        joint("j3", "prismatic", "b2", "b3", "+z"),
        joint("j4", "prismatic", "b0", "b4", "-x"),
    ],
    "weld": [
        joint("j0", "weld", WORLD, "b0"),
        joint("j1", "weld", "b1", "b0"),
        joint("j2", "weld", "b0", "b2"),
    ],
    "revolute": [
        joint("j0", "revolute", WORLD, "b0", "+z"),
        joint("j1", "revolute", "b0", "b1", "-y"),
        joint("j2", "revolute", "b2", "b1", "+x"),
    ],
    "floating": [joint("j0", "floating", WORLD, "b0"), joint("j1", "weld", "b0", "b1")],
    "floating_reversed": [joint("j0", "floating", "b0", WORLD)],
    "all_kinds": [
        joint("j0", "weld", WORLD, "b0"),
        joint("j1", "revolute", "b1", "b0", "-y"),
        joint("j2", "floating", "b2", "b1"),
        joint("j3", "prismatic", "b1", "b3", "-x"),
        joint("j4", "weld", "b4", "b3"),
        joint("j5", "revolute", "b4", "b5", "+x"),
    ],
}
every_model = pytest.mark.parametrize("name", MODELS)


def rational(rng: np.random.Generator, low: int = -9, high: int = 9) -> Fraction:
    return Fraction(int(rng.integers(low, high + 1)), int(rng.integers(2, 8)))


def rational_pose(rng: np.random.Generator) -> list[Fraction]:
    """Row-major 4x4, with the rotation of an integer quaternion."""
    w, x, y, z = (int(a) for a in rng.choice([-3, -2, -1, 1, 2, 3], 4))
    n = w * w + x * x + y * y + z * z
    R = (
        (n - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), n - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), n - 2 * (x * x + y * y)),
    )
    rows = [[*(Fraction(a, n) for a in row), rational(rng)] for row in R]
    return [a for row in rows for a in row] + [Fraction(a) for a in (0, 0, 0, 1)]


class Exact:
    """A tree with rational parameters and state, and its functions as arrays of fractions."""

    def __init__(self, tree: mbt.MultibodyTree, seed: int = 0) -> None:
        self.tree = tree
        rng = np.random.default_rng([seed, tree.num_bodies, tree.num_positions])
        self.slices = parameter_slices(tree)
        self.parameters = [Fraction(a) for a in default_parameters(tree).tolist()]
        for b in range(1, tree.num_bodies):
            self._set("mass", b, [rational(rng, 2)])
            self._set("com", b, [rational(rng) for _ in range(3)])
            moments, products = [rational(rng, 40, 60) for _ in range(3)], [rational(rng) for _ in range(3)]
            self._set("unit_inertia", b, moments + products)
            self._set("massless_inertia", b, [rational(rng, 0) for _ in range(6)])
        for i, frame in enumerate(tree.frames):
            if isinstance(frame, mbt.FixedOffsetFrame):
                self._set("frame_pose", i, rational_pose(rng))
        for section in ("gravity", "damping", "rotor_inertia", "gear_ratio"):
            where = self.slices[section]
            self.parameters[where] = [rational(rng, 1) for _ in range(where.stop - where.start)]
        nq, nv = tree.num_positions, tree.num_velocities
        self.q, self.v, self.x = ([rational(rng, 1) for _ in range(n)] for n in (nq, nv, nv))

    def _set(self, section: str, index: int, values: list[Fraction]) -> None:
        start = self.slices[section].start + index * len(values)
        self.parameters[start : start + len(values)] = values

    def get(self, section: str) -> Objects:
        return np.array(self.parameters[self.slices[section]], dtype=object)

    def arguments(self, function: Quantity, x: Any = None) -> list[list[Fraction]]:
        third = self.x if x is None else list(x)
        if x is None and function == F.VELOCITY:
            third = self.q
        return [self.parameters, self.q, self.v, third]

    def __call__(self, function: Quantity, x: Any = None) -> Objects:
        objects = [[Rational(a) for a in row] for row in self.arguments(function, x)]
        out = call_python(self.tree, function, objects, HALF_ANGLE)
        return np.array([Rational(a).value for a in out], dtype=object)

    @property
    def reflected_inertia(self) -> Objects:
        result = np.array([Fraction(0)] * self.tree.num_velocities, dtype=object)
        rows = zip(self.tree.joint_actuators, self.get("rotor_inertia"), self.get("gear_ratio"), strict=True)
        for actuator, rotor, gear in rows:
            result[actuator.joint.velocity_start] += rotor * gear * gear
        return result


def half_angle_sine(t: Rational) -> Rational:
    return 2 * t / (1 + t * t)


def half_angle_cosine(t: Rational) -> Rational:
    return (1 - t * t) / (1 + t * t)


HALF_ANGLE = (half_angle_sine, half_angle_cosine, *REFUSED)


@cache
def get_exact(name: str) -> Exact:
    return Exact(build_tree(model(MODELS[name])))


def assert_equal(actual: Objects, desired: Objects) -> None:
    assert actual.tolist() == desired.tolist()


# --- Identities -------------------------------------------------------------------------------------------


@every_model
def test_inverse_dynamics_vs_its_terms(name: str) -> None:
    """tau = M vdot + C v - tau_g + damping v: five kernels."""
    e = get_exact(name)
    nv = e.tree.num_velocities
    v, vdot = np.array(e.v, dtype=object), np.array(e.x, dtype=object)
    M, C = (e(function).reshape(nv, nv) for function in (F.MASS_MATRIX, F.CORIOLIS_MATRIX))
    tau = M @ vdot + C @ v - e(F.GRAVITY_GENERALIZED_FORCES) + e.get("damping") * v
    assert_equal(e(F.INVERSE_DYNAMICS), tau)
    assert_equal(M, M.T)


@every_model
def test_forward_vs_inverse_dynamics(name: str) -> None:
    e = get_exact(name)
    vdot = e(F.FORWARD_DYNAMICS)
    assert e(F.INVERSE_DYNAMICS, x=vdot).tolist() == e.x


@every_model
def test_kinetic_energy_vs_mass_matrix(name: str) -> None:
    e = get_exact(name)
    nv = e.tree.num_velocities
    v = np.array(e.v, dtype=object)
    twice = v @ e(F.MASS_MATRIX).reshape(nv, nv) @ v if nv else Fraction(0)
    assert e(F.KINETIC_ENERGY).tolist() == [twice / 2]


@every_model
def test_regressors_vs_dynamics_and_energies(name: str) -> None:
    """Linear in mass, mass moment and inertia about Bo of every body; rotors and damping are separate."""
    e = get_exact(name)
    nb, nv = e.tree.num_bodies, e.tree.num_velocities
    pi = []
    for b in range(1, nb):
        m, G, J = e.get("mass")[b], e.get("unit_inertia")[6 * b :], e.get("massless_inertia")[6 * b :]
        # Components are xx yy zz xy xz yz.
        pi += [m, *(m * e.get("com")[3 * b : 3 * b + 3]), *(m * G[i] + J[i] for i in (0, 3, 1, 4, 5, 2))]
    x = np.array(pi, dtype=object)
    if nv:
        tau = e(F.INVERSE_DYNAMICS) - e.get("damping") * e.v - e.reflected_inertia * e.x
        assert_equal(e(F.INVERSE_DYNAMICS_REGRESSOR).reshape(nv, -1) @ x, tau)
    if nb > 1:
        rotors = sum(e.reflected_inertia * np.array(e.v, dtype=object) ** 2) / 2
        assert e(F.KINETIC_ENERGY_REGRESSOR) @ x == e(F.KINETIC_ENERGY)[0] - rotors
        assert e(F.POTENTIAL_ENERGY_REGRESSOR) @ x == e(F.POTENTIAL_ENERGY)[0]


@every_model
def test_gravity_by_two_ways(name: str) -> None:
    e = get_exact(name)
    assert_equal(e(F.GENERALIZED_FORCES), e(F.GRAVITY_GENERALIZED_FORCES))
    mass, *moment = e(F.COMPOSITE_INERTIA)[:4]
    assert mass == sum(e.get("mass"))
    assert e(F.POTENTIAL_ENERGY).tolist() == [-(e.get("gravity") @ np.array(moment, dtype=object))]


@every_model
def test_poses_by_two_ways(name: str) -> None:
    e = get_exact(name)
    nb = e.tree.num_bodies
    X_FM, X_PB, X_WB = e(F.POSITION_KINEMATICS)[: 48 * nb].reshape(3, nb, 4, 4)
    assert_equal(e(F.BODY_POSES).reshape(nb, 4, 4), X_WB)
    identity = np.array([[Fraction(i == j) for j in range(3)] for i in range(3)], dtype=object)
    for X in (*X_FM, *X_PB, *X_WB):
        assert_equal(X[:3, :3].T @ X[:3, :3], identity)


@every_model
def test_velocity_vs_qdot(name: str) -> None:
    e = get_exact(name)
    assert e(F.VELOCITY, x=e(F.QDOT)).tolist() == e.v


@every_model
def test_jacobian_vs_velocity(name: str) -> None:
    e = get_exact(name)
    nb, nv = e.tree.num_bodies, e.tree.num_velocities
    J = np.concatenate([e(F.ANGULAR_JACOBIAN), e(F.TRANSLATIONAL_JACOBIAN)]).reshape(6, nv)
    b = body_in_the_middle(e.tree).node_index
    V_WB = e(F.VELOCITY_KINEMATICS).reshape(3, nb, 6)[2, b]
    assert_equal(J @ np.array(e.v, dtype=object) if nv else 0 * V_WB, V_WB)


@every_model
def test_momentum_vs_spatial_inertias(name: str) -> None:
    e = get_exact(name)
    nb = e.tree.num_bodies
    M = e(F.SPATIAL_INERTIAS)[3 * nb :].reshape(nb, 6, 6)
    V_WB = e(F.VELOCITY_KINEMATICS).reshape(3, nb, 6)[2]
    p_WB = e(F.POSITION_KINEMATICS)[32 * nb : 48 * nb].reshape(nb, 4, 4)[:, :3, 3]
    total = np.array([Fraction(0)] * 6, dtype=object)
    for b in range(1, nb):
        L = M[b] @ V_WB[b]
        total += np.concatenate([L[:3] + np.cross(p_WB[b], L[3:]), L[3:]])
    assert_equal(e(F.MOMENTUM), total)


@every_model
def test_reactions_vs_generalized_forces(name: str) -> None:
    """The force across a mobilizer, projected on its motion axes, is the generalized force of its dofs."""
    e = get_exact(name)
    nb, nv = e.tree.num_bodies, e.tree.num_velocities
    F_BMo_W = e(F.REACTION_FORCES).reshape(nb, 6)
    position = e(F.POSITION_KINEMATICS)
    X_WB = position[32 * nb : 48 * nb].reshape(nb, 4, 4)
    H_PB_W = position[48 * nb + 6 * nv :].reshape(nv, 6)
    tau = e(F.INVERSE_DYNAMICS) - e.get("damping") * e.v - e.reflected_inertia * e.x
    for joint in e.tree.joints:
        outboard_frame = joint.mobilizer.outboard_frame
        b = outboard_frame.body.node_index
        p_BoMo_B = e.get("frame_pose").reshape(-1, 4, 4)[outboard_frame.index, :3, 3]
        t, f = F_BMo_W[b, :3], F_BMo_W[b, 3:]
        at_Bo = np.concatenate([t + np.cross(X_WB[b, :3, :3] @ p_BoMo_B, f), f])
        for k in range(joint.velocity_start, joint.velocity_start + joint.num_velocities):
            assert H_PB_W[k] @ at_Bo == tau[k]


@every_model
def test_accelerations_vs_momentum_balance(name: str) -> None:
    """Newton's law for the whole: the force that holds World is the sum of m (a - g) over the bodies."""
    e = get_exact(name)
    nb = e.tree.num_bodies
    A_WB = e(F.ACCELERATION_KINEMATICS).reshape(nb, 6)
    V_WB = e(F.VELOCITY_KINEMATICS).reshape(3, nb, 6)[2]
    com_W = e(F.SPATIAL_INERTIAS)[: 3 * nb].reshape(nb, 3)
    force = np.array([Fraction(0)] * 3, dtype=object)
    for b in range(1, nb):
        w, alpha, c = V_WB[b, :3], A_WB[b, :3], com_W[b]
        a_cm = A_WB[b, 3:] + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
        force += e.get("mass")[b] * (a_cm - e.get("gravity"))
    assert_equal(e(F.REACTION_FORCES).reshape(nb, 6)[0, 3:], force)


# --- Closed forms -----------------------------------------------------------------------------------------


def test_sliding_bodies_vs_closed_form() -> None:
    """Slides only translate: M[k, l] = e_k . e_l times the mass both carry, plus rotors on the diagonal."""
    e = get_exact("prismatic")
    nb, nv = e.tree.num_bodies, e.tree.num_velocities
    position = e(F.POSITION_KINEMATICS)
    axes = position[48 * nb + 6 * nv :].reshape(nv, 6)[:, 3:]
    # Axes are unit vectors, and turn with the poses of the frames.
    assert [axis @ axis for axis in axes] == [1] * nv
    mass = e.get("mass")
    carried = [outboard(e.tree, joint) for joint in joints_by_velocity(e.tree)]
    M = np.array([[sum(mass[list(k & j)], Fraction(0)) for k in carried] for j in carried], dtype=object)
    M *= axes @ axes.T
    M += np.diag(e.reflected_inertia)
    assert_equal(e(F.MASS_MATRIX).reshape(nv, nv), M)
    weight = [axes[k] @ e.get("gravity") * sum(mass[b] for b in carried[k]) for k in range(nv)]
    assert e(F.GRAVITY_GENERALIZED_FORCES).tolist() == weight
    assert not e(F.CORIOLIS_MATRIX).any()


def joints_by_velocity(tree: mbt.MultibodyTree) -> list[mbt.Joint]:
    return sorted((j for j in tree.joints if j.num_velocities), key=lambda j: j.velocity_start)


def outboard(tree: mbt.MultibodyTree, joint: mbt.Joint) -> set[int]:
    """Nodes that a joint carries; nodes are numbered outwards."""
    pairs = [sorted((j.parent_body.node_index, j.child_body.node_index)) for j in tree.joints]
    carried: set[int] = {max(joint.parent_body.node_index, joint.child_body.node_index)}
    for inner, outer in sorted(pairs):
        if inner in carried:
            carried.add(outer)
    return carried


def test_welded_bodies_vs_products_of_poses() -> None:
    e = get_exact("weld")
    X_PF = e.get("frame_pose").reshape(-1, 4, 4)
    X_WB: dict[str, Objects] = {WORLD: X_PF[0]}
    for j in e.tree.joints:
        X_FM = np.array([[Fraction(a) for a in row] for row in X_OF_WELD], dtype=object)
        X_PC = X_PF[j.frame_on_parent.index] @ X_FM @ inverse(X_PF[j.frame_on_child.index])
        if j.parent_body.name in X_WB:
            X_WB[j.child_body.name] = X_WB[j.parent_body.name] @ X_PC
        else:
            X_WB[j.parent_body.name] = X_WB[j.child_body.name] @ inverse(X_PC)
    got = e(F.BODY_POSES).reshape(-1, 4, 4)
    for body in e.tree.bodies:
        assert_equal(got[body.node_index], X_WB[body.name])


def inverse(X: Objects) -> Objects:
    result = X.copy()
    result[:3, :3] = X[:3, :3].T
    result[:3, 3] = -(X[:3, :3].T @ X[:3, 3])
    return result


# --- Fractions as they are --------------------------------------------------------------------------------

# These kernels multiply by 2.0, 0.5 or -1.0: a fraction times a float is a float.
ROUNDED = {
    F.FORWARD_DYNAMICS,
    F.FORWARD_DYNAMICS_DERIVATIVES,
    F.MASS_MATRIX_INVERSE,
    F.KINETIC_ENERGY,
    F.KINETIC_ENERGY_REGRESSOR,
}


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in ROUNDED], ids=lambda f: f.name)
def test_fractions_stay_fractions_on_slides_along_positive_axes(function: Quantity) -> None:
    """The constants of this tree are 0.0 and 1.0, which leave the other operand unchanged."""
    tree = build_tree(
        model(
            [
                joint("j0", "prismatic", WORLD, "b0", "+x"),
                joint("j1", "prismatic", "b0", "b1", "+z"),
                joint("j2", "prismatic", "b0", "b2", "+y"),
            ]
        )
    )
    e = Exact(tree)
    out = call_python(tree, function, e.arguments(function), (refuse, refuse, *REFUSED))
    assert {type(a) for a in out} <= {Fraction, float}
    assert all(a in (0.0, 1.0) for a in out if type(a) is float)
    assert_equal(np.array([Fraction(a) for a in out], dtype=object), e(function))
