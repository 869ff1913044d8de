"""States and models without a solution: an error for one state that names the joint, NaN in a batch."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from support.build import build_tree
from support.description import WORLD, Actuator, Body, Joint, Model

Z_AXIS = np.array([0.0, 0.0, 1.0])
SKEW_AXIS = np.array([0.3, -0.4, 1.0])
NO_INERTIA, ORIGIN = np.zeros((3, 3)), np.zeros(3)


def _one(body: Body, kind: str = "revolute", axis: np.ndarray = Z_AXIS) -> Model:
    joint = Joint("hinge", kind, WORLD, body.name, axis=None if kind == "floating" else axis)
    return Model("one", (body,), (joint,))


def _two(axis: np.ndarray) -> Model:
    """Two hinges about the same axis: only their sum moves any mass."""
    bodies = (Body("ring", 0.0, ORIGIN, NO_INERTIA), Body("disc", 1.0, ORIGIN, np.eye(3)))
    joints = (
        Joint("outer", "revolute", WORLD, "ring", axis=axis),
        Joint("inner", "revolute", "ring", "disc", axis=axis),
    )
    return Model("two", bodies, joints)


MODELS = {
    "massless leaf": _one(Body("leaf", 0.0, ORIGIN, NO_INERTIA)),
    "massless slider": _one(Body("leaf", 0.0, ORIGIN, NO_INERTIA), "prismatic"),
    "massless free body": _one(Body("ghost", 0.0, ORIGIN, NO_INERTIA), "floating"),
    "free point mass": _one(Body("point", 1.0, ORIGIN, NO_INERTIA), "floating"),
    "point mass on the axis": _one(Body("point", 1.0, 0.5 * Z_AXIS, NO_INERTIA)),
    "coaxial hinges": _two(Z_AXIS),
    # The same, with rounding that leaves a moment of inertia of 1e-17 instead of zero.
    "point mass on a skew axis": _one(Body("point", 1.0, 0.7 * SKEW_AXIS, NO_INERTIA), axis=SKEW_AXIS),
    "coaxial skew hinges": _two(SKEW_AXIS),
}


def _state(tree: mbt.MultibodyTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q = tree.create_default_context().q.copy()
    return q, np.full(tree.num_velocities, 0.5), np.ones(tree.num_velocities)


@pytest.mark.parametrize("name", MODELS)
def test_no_mass_to_move(name: str) -> None:
    tree = build_tree(MODELS[name])
    q, v, tau = _state(tree)
    context = tree.create_default_context()
    context.q, context.v = q, v
    out = np.full_like(tau, 7.0)
    joints = "|".join(joint.name for joint in tree.joints)
    with pytest.raises(mbt.SingularityError, match=joints):
        tree.calc_forward_dynamics(context, tau, out=out)
    with pytest.raises(mbt.SingularityError, match=joints):
        functional.forward_dynamics(tree, q, v, tau, out=out)
    assert (out == 7.0).all()
    batch = functional.forward_dynamics(tree, np.tile(q, (3, 1)), v, tau)
    assert batch.shape == (3, tree.num_velocities)
    assert np.isnan(batch).any(axis=-1).all()


def _free(masses: list[tuple[float, np.ndarray]]) -> Model:
    """Return a model of one free body that consists of point masses."""
    mass = sum(m for m, _ in masses)
    com = sum(m * p for m, p in masses) / mass
    arms = [(m, p - com) for m, p in masses]
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in arms)
    return _one(Body("ghost", mass, com, inertia), "floating")


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("count", [1, 2])
def test_points_have_no_inertia_about_themselves(count: int, seed: int) -> None:
    """A dumbbell has none about its line either; away from the origin, rounding hides the zero."""
    rng = np.random.default_rng(seed)
    tree = build_tree(_free([(rng.uniform(0.1, 3.0), rng.normal(size=3)) for _ in range(count)]))
    q = np.concatenate([rng.normal(size=4), rng.normal(size=3)])
    with pytest.raises(mbt.SingularityError, match="hinge"):
        functional.forward_dynamics(tree, q, np.full(6, 0.5), np.ones(6))


@pytest.mark.parametrize("name", MODELS)
def test_inverse_dynamics_does_not_mind(name: str) -> None:
    tree = build_tree(MODELS[name])
    q, v, vdot = _state(tree)
    assert np.isfinite(functional.inverse_dynamics(tree, q, v, vdot)).all()
    M = functional.mass_matrix(tree, q)
    assert np.linalg.eigvalsh(M)[0] == pytest.approx(0.0, abs=1e-12)


def test_rotor_moves_a_massless_link() -> None:
    leaf = _one(Body("leaf", 0.0, ORIGIN, NO_INERTIA))
    tree = build_tree(Model("driven", leaf.bodies, leaf.joints, (Actuator("motor", "hinge", 0.1, 2.0),)))
    vdot = functional.forward_dynamics(tree, np.zeros(1), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(vdot, [1.0 / 0.4], rtol=1e-15)


def test_massless_links_inside_a_chain() -> None:
    """A massless link is allowed where a body farther out that its dof moves has mass."""
    model = _two(Z_AXIS)
    joints = (model.joints[0], Joint("inner", "revolute", "ring", "disc", axis=np.array([1.0, 0.0, 0.0])))
    tree = build_tree(Model("gimbal", model.bodies, joints))
    q = np.array([0.2, 0.3])
    tau = np.array([1.0, 2.0])
    vdot = functional.forward_dynamics(tree, q, np.zeros(2), tau)
    # The disc has the same moment of inertia about every axis, and the axes are perpendicular.
    np.testing.assert_allclose(vdot, tau, rtol=1e-14)


def test_small_but_honest() -> None:
    """A gram at the end of a ton is not a singularity."""
    bodies = (
        Body("press", 1000.0, ORIGIN, 500.0 * np.eye(3)),
        Body("needle", 1e-3, ORIGIN, 1e-9 * np.eye(3)),
    )
    joints = (
        Joint("big", "revolute", WORLD, "press", axis=SKEW_AXIS),
        Joint("small", "revolute", "press", "needle", axis=np.array([1.0, 0.0, 0.0])),
    )
    tree = build_tree(Model("scales", bodies, joints, gravity=None))
    M = functional.mass_matrix(tree, np.zeros(2))
    vdot = functional.forward_dynamics(tree, np.zeros(2), np.zeros(2), np.array([1.0, 1e-9]))
    np.testing.assert_allclose(M @ vdot, [1.0, 1e-9], rtol=1e-12)


@pytest.mark.parametrize("kind", [mbt.QuaternionBallJoint, mbt.BallRpyJoint])
def test_a_point_mass_on_a_ball_joint_is_singular_in_all_attitudes(kind: type[mbt.Joint]) -> None:
    # Nearly along an axis, the remaining inertia about the others is rounding divided by almost nothing.
    rng = np.random.default_rng(0)
    for i in range(60):
        p = rng.normal(size=3) * [1.0, 10.0 ** -(i % 7), 10.0 ** -(i % 5)]
        tree = mbt.MultibodyTree()
        bob = tree.add_body(mbt.RigidBody("bob", mbt.SpatialInertia.point_mass(1.0, np.roll(p, i % 3))))
        tree.add_joint(kind, "pivot", tree.world_body, None, bob, mbt.math.make_pose([0, 0, 0], rpy=p))
        tree.finalize()
        context = tree.create_default_context()
        with pytest.raises(mbt.SingularityError, match="pivot"):
            tree.calc_forward_dynamics(context)
        batch = tree.calc_forward_dynamics(tree.create_default_context(9))
        assert np.isnan(batch).any(axis=-1).all()
