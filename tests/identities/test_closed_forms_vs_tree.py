"""Textbook systems whose equations fit on a line: the reference and the tree must both agree with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.build import build_tree, tree_and_reference
from support.description import WORLD, Actuator, Body, Joint, Model
from support.quantities import Source, assert_close
from support.subject import Subject

g = 9.81
X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


def _sources(model: Model) -> list[Source]:
    tree, reference = tree_and_reference(model)
    return [reference, Subject(tree)]


def _offset(x: float, y: float, z: float) -> Any:
    X = np.eye(4)
    X[:3, 3] = x, y, z
    return X


@pytest.mark.parametrize(("theta", "omega"), [(0.3, 1.1), (-2.0, 0.4), (3.1, -5.0)])
def test_pendulum(theta: float, omega: float) -> None:
    """(m l^2 + I + rotor) thetaddot + m g l sin theta + d omega = tau."""
    m, length, inertia, damping, rotor, gear = 1.3, 0.7, 0.05, 0.2, 0.002, 9.0
    model = Model(
        "pendulum",
        (Body("bob", m, np.array([0.0, 0.0, -length]), inertia * np.eye(3)),),
        # About -y, so that the bob swings towards +x.
        (Joint("hinge", "revolute", WORLD, "bob", axis=-Y_AXIS, damping=(damping,)),),
        (Actuator("motor", "hinge", rotor, gear),),
    )
    q, v, tau = np.array([theta]), np.array([omega]), np.array([2.0])
    M = m * length**2 + inertia + rotor * gear**2
    vdot = (2.0 - damping * omega - m * g * length * np.sin(theta)) / M
    for source in _sources(model):
        assert_close(source.mass_matrix(q), [[M]], M)
        assert_close(source.forward_dynamics(q, v, tau), [vdot], 100.0)
        assert_close(
            source.poses(q)[1, :3, :3] @ [0, 0, -length],
            [length * np.sin(theta), 0, -length * np.cos(theta)],
            1.0,
        )
        assert_close(source.potential_energy(q), -m * g * length * np.cos(theta), 10.0)
        assert_close(source.kinetic_energy(q, v), M * omega**2 / 2, M * omega**2)


@pytest.mark.parametrize(("theta", "omega"), [(0.3, 1.1), (-2.0, 0.4)])
def test_cart_pole(theta: float, omega: float) -> None:
    """M = [[M + m, m l cos], [m l cos, m l^2]], C v = [-m l sin omega^2, 0], gravity -m g l sin."""
    M, m, length, x, xdot = 2.0, 0.5, 0.8, 0.4, -0.7
    point = np.zeros((3, 3))
    model = Model(
        "cart_pole",
        (Body("cart", M, np.zeros(3), 0.1 * np.eye(3)), Body("pole", m, np.array([0, 0, -length]), point)),
        (
            Joint("slide", "prismatic", WORLD, "cart", axis=X_AXIS),
            Joint("hinge", "revolute", "cart", "pole", axis=-Y_AXIS),
        ),
    )
    q, v = np.array([x, theta]), np.array([xdot, omega])
    s, c = np.sin(theta), np.cos(theta)
    for source in _sources(model):
        mlc = m * length * c
        assert_close(source.mass_matrix(q), [[M + m, mlc], [mlc, m * length**2]], M + m)
        assert_close(source.bias_term(q, v), [-m * length * s * omega**2, 0.0], 1.0)
        assert_close(source.gravity_forces(q), [0.0, -m * g * length * s], 10.0)


def test_two_link_arm() -> None:
    """The planar two-link arm of every robotics course, its links straight rods of point masses at their
    ends.
    """
    m1, m2, l1, l2 = 1.0, 2.0, 0.6, 0.4
    point = np.zeros((3, 3))
    model = Model(
        "two_link",
        (Body("upper", m1, np.array([l1, 0, 0]), point), Body("lower", m2, np.array([l2, 0, 0]), point)),
        (
            Joint("shoulder", "revolute", WORLD, "upper", axis=Z_AXIS),
            Joint("elbow", "revolute", "upper", "lower", X_PF=_offset(l1, 0, 0), axis=Z_AXIS),
        ),
        gravity=np.array([0.0, -g, 0.0]),
    )
    q, v = np.array([0.4, -1.1]), np.array([1.5, -0.6])
    c2, s2 = np.cos(q[1]), np.sin(q[1])
    a = m2 * l1 * l2
    M = [
        [(m1 + m2) * l1**2 + m2 * l2**2 + 2 * a * c2, m2 * l2**2 + a * c2],
        [m2 * l2**2 + a * c2, m2 * l2**2],
    ]
    Cv = [-a * s2 * (2 * v[0] * v[1] + v[1] ** 2), a * s2 * v[0] ** 2]
    c1, c12 = np.cos(q[0]), np.cos(q.sum())
    tau_g = [-(m1 + m2) * g * l1 * c1 - m2 * g * l2 * c12, -m2 * g * l2 * c12]
    for source in _sources(model):
        assert_close(source.mass_matrix(q), M, 5.0)
        assert_close(source.bias_term(q, v), Cv, 5.0)
        assert_close(source.gravity_forces(q), tau_g, 50.0)


def test_free_body() -> None:
    """Newton and Euler: m a = f + m g at the mass centre, I alpha + w x I w = t."""
    m, inertia = 1.7, np.diag([0.1, 0.2, 0.25])
    model = Model("free", (Body("stone", m, np.zeros(3), inertia),))
    half = np.sqrt(0.5)
    # A quarter turn about z: body x is World y, body y is World -x.
    q = np.array([half, 0, 0, half, 1.0, 2.0, 3.0])
    R = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    v = np.array([0.3, -0.5, 0.7, 1.0, 0.0, -1.0])
    F = np.zeros((2, 6))
    F[1] = [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    I_W = R @ inertia @ R.T
    w = v[:3]
    alpha = np.linalg.solve(I_W, F[1, :3] - np.cross(w, I_W @ w))
    a = F[1, 3:] / m + [0, 0, -g]
    for source in _sources(model):
        assert_close(source.forward_dynamics(q, v, np.zeros(6), F), [*alpha, *a], 100.0)
        assert_close(source.poses(q)[1, :3, :3], R, 1.0)
        assert_close(source.velocities(q, v)[1], v, 1.0)
        KE = m * v[3:] @ v[3:] / 2 + w @ I_W @ w / 2
        assert_close(source.kinetic_energy(q, v), KE, 5.0)


def test_reversed_slider() -> None:
    """World is the joint's child: the body moves against the axis."""
    model = Model(
        "reversed",
        (Body("block", 2.0, np.zeros(3), np.eye(3)),),
        (Joint("slide", "prismatic", "block", WORLD, axis=X_AXIS),),
        gravity=np.array([3.0, 0.0, 0.0]),
    )
    q, v = np.array([0.7]), np.array([0.2])
    for source in _sources(model):
        assert_close(source.poses(q)[1, :3, 3], [-0.7, 0, 0], 1.0)
        assert_close(source.velocities(q, v)[1, 3:], [-0.2, 0, 0], 1.0)
        # Pulled along +x by gravity, the coordinate shrinks.
        assert_close(source.gravity_forces(q), [-6.0], 6.0)
        assert_close(source.forward_dynamics(q, v, np.zeros(1)), [-3.0], 6.0)


def test_long_cantilever() -> None:
    """A horizontal chain of 2000 links: the torques that hold it grow with the square of the overhang."""
    n, m, length = 2000, 0.1, 0.01
    bodies = tuple(Body(f"link{i}", m, np.array([length / 2, 0, 0]), 1e-6 * np.eye(3)) for i in range(n))
    joints = tuple(
        Joint(
            f"joint{i}",
            "revolute",
            f"link{i - 1}" if i else WORLD,
            f"link{i}",
            X_PF=_offset(length, 0, 0) if i else None,
            axis=-Y_AXIS,
        )
        for i in range(n)
    )
    tree = build_tree(Model("cantilever", bodies, joints))
    subject = Subject(tree)
    zero = np.zeros(n)
    outboard = np.arange(n, 0, -1)
    # The k-th joint carries n - k links, whose mass centre is half their length away.
    torque = m * g * length * outboard**2 / 2
    # Sums of 2000 terms: rounding grows with their number.
    assert_close(subject.gravity_forces(zero), -torque, n * torque[0])
    assert np.isfinite(subject.forward_dynamics(zero, zero, torque)).all()
    tip = subject.poses(zero)[tree.bodies[-1].node_index]
    assert_close(tip[:3, 3], [(n - 1) * length, 0, 0], n * n * length)
