"""Inverse kinematics in JAX and PyTorch: same positions, and derivatives that differences confirm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path

pytestmark = pytest.mark.engine

Q = np.array([0.2, -0.6, 1.0, 0.1, 0.5, 0.3])
EXACT = (1e-10, 1e-10)


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    tree.add_frame(mbt.FixedOffsetFrame("mount", tree.get_body_by_name("flange"), np.eye(4)))
    tree.finalize()
    return tree


def problem(tree: mbt.MultibodyTree) -> mbt.InverseKinematics:
    ik = mbt.InverseKinematics(tree)
    ik.add_position("tool")
    ik.add_orientation("tool")
    return ik


def solve(arm: mbt.MultibodyTree, goal: np.ndarray, X: np.ndarray | None = None) -> np.ndarray:
    """Return the solution near Q; X is the pose of the mount, the frame that is to reach the goal."""
    ik = mbt.InverseKinematics(arm)
    ik.add_pose("tool" if X is None else "mount")
    context = arm.create_default_context()
    if X is not None:
        arm.get_frame_by_name("mount").set_pose_in_parent_frame(context, X)
    return ik.solve([goal], Q, tolerance=EXACT, context=context).q


def differences(function: Any, value: np.ndarray) -> np.ndarray:
    columns = []
    for i in range(3):
        ends = []
        for h in (1e-5, -1e-5):
            moved = value.copy()
            moved[i, 3] += h
            ends.append(function(moved))
        columns.append((ends[0] - ends[1]) / 2e-5)
    return np.stack(columns, -1)


def test_jax(arm: mbt.MultibodyTree) -> None:
    jax = pytest.importorskip("jax")
    jnp: Any = pytest.importorskip("jax.numpy")
    jax.config.update("jax_enable_x64", True)
    mjax: Any = pytest.importorskip("mbt.interop.jax")
    goal = functional.frame_pose(arm, Q, "tool")

    def find(X: Any) -> Any:
        return mjax.inverse_kinematics(arm, "tool", X, Q, tolerance=EXACT)

    q, success = jax.jit(find)(goal)
    np.testing.assert_allclose(q, solve(arm, goal), atol=1e-14)
    assert bool(success)
    # By a translation, and by a rotation about World's z axis, as programs compute them.
    rates = jax.jit(jax.jacobian(lambda x: find(_moved(jnp, x, goal))[0]))(jnp.zeros(4))
    for rate, d in zip(rates.T, 1e-5 * np.eye(4), strict=True):
        ends = [solve(arm, np.array(_moved(np, x, goal))) for x in (d, -d)]
        np.testing.assert_allclose(rate, (ends[0] - ends[1]) / 2e-5, rtol=1e-5, atol=1e-5)
    # A batch for a problem with several tasks, where one goal is out of reach.
    goals = np.stack([goal, goal])
    goals[1, :3, 3] = 9.0
    ik = problem(arm)
    some = jax.jit(jax.vmap(lambda p: mjax.solve(ik, [p, goal[:3, :3]], Q, tolerance=EXACT)[1]))
    found = some(goals[:, :3, 3])
    assert found.tolist() == [True, False]
    # The pose of a frame as a parameter.
    X = np.eye(4)
    X[2, 3] = 0.05
    goal = functional.frame_pose(arm, Q, "flange") @ X
    options = {"start": Q, "tolerance": EXACT}
    by_frame = jax.jit(
        jax.jacobian(
            lambda X: mjax.inverse_kinematics(arm, "mount", goal, parameters={"mount": X}, **options)[0]
        )
    )(X)
    np.testing.assert_allclose(
        by_frame[:, :3, 3], differences(lambda X: solve(arm, goal, X), X), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(mbt.ShapeError, match=r"goals\[0\]"):
        mjax.solve(ik, [goal, goal[:3, :3]])
    with pytest.raises(mbt.ShapeError, match=r"goals: expected 2"):
        mjax.solve(ik, [goal[:3, 3]])
    with pytest.raises(mbt.ArgumentTypeError, match=r"rng: expected an int"):
        mjax.inverse_kinematics(arm, "tool", goal, rng=np.random.default_rng(0))
    with pytest.raises(mbt.ArgumentTypeError, match=r"ik: expected"):
        mjax.solve(arm, [goal])
    from mbt.interop.inverse_calls import find_inverse_call

    with pytest.raises(mbt.MbtError, match=r"first derivatives"):
        find_inverse_call(ik, [], 64, 0, EXACT, 100).linearize().linearize()


def _moved(numbers: Any, x: Any, X: np.ndarray) -> Any:
    c, s, zero, one = numbers.cos(x[3]), numbers.sin(x[3]), 0.0 * x[3], 0.0 * x[3] + 1.0
    R = numbers.stack([c, -s, zero, s, c, zero, zero, zero, one]).reshape(3, 3)
    top = numbers.concatenate([R @ X[:3, :3], X[:3, 3:] + x[:3, None]], 1)
    return numbers.concatenate([top, X[3:]])


def test_quaternions_have_derivatives_as_coordinates() -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    mjax: Any = pytest.importorskip("mbt.interop.jax")
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.finalize()
    q = functional.integrate_positions(tree, tree.default_positions, np.arange(6) / 10, 1.0)
    goal = functional.frame_pose(tree, q, body)

    def back(X: Any) -> Any:
        q, _ = mjax.inverse_kinematics(tree, "body", X, q0, tolerance=EXACT)
        return mjax.frame_pose(tree, q, "body")[:3]

    q0 = q
    J = jax.jit(jax.jacobian(back))(goal)
    # Solve, then map back: the identity on translations, and on rotations too.
    np.testing.assert_allclose(J[:, 3, :3, 3], np.eye(3), atol=1e-9)
    K = np.array([[0, -0.3, 0.2], [0.3, 0, -0.1], [-0.2, 0.1, 0]])
    change = np.zeros((4, 4))
    change[:3, :3] = K @ goal[:3, :3]
    np.testing.assert_allclose(np.einsum("ijkl,kl->ij", J, change), change[:3], atol=1e-9)


def test_torch(arm: mbt.MultibodyTree) -> None:
    torch: Any = pytest.importorskip("torch")
    mtorch: Any = pytest.importorskip("mbt.interop.torch")
    goal = functional.frame_pose(arm, Q, "tool")
    X = torch.tensor(goal, requires_grad=True)
    q, success = mtorch.inverse_kinematics(arm, "tool", X, Q, tolerance=EXACT)
    assert bool(success)
    np.testing.assert_allclose(q.detach().numpy(), solve(arm, goal), atol=1e-14)
    q.sum().backward()
    np.testing.assert_allclose(
        X.grad[:3, 3], differences(lambda X: solve(arm, X), goal).sum(0), rtol=1e-6, atol=1e-6
    )
    places = torch.tensor(np.stack([goal[:3, 3], goal[:3, 3] + 0.01]))
    ik = problem(arm)
    J = torch.func.vmap(
        torch.func.jacrev(lambda p: mtorch.solve(ik, [p, goal[:3, :3]], Q, tolerance=EXACT)[0])
    )(places)
    assert J.shape == (2, 6, 3)
    np.testing.assert_allclose(J[0], differences(lambda X: solve(arm, X), goal), rtol=1e-6, atol=1e-6)
    with pytest.raises(mbt.ShapeError, match=r"goals\[0\]"):
        mtorch.solve(ik, [X, X[:3, :3]])


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_equal_problems_share_no_call(arm: mbt.MultibodyTree, library: str) -> None:
    """Each of two equal problems keeps its own call, and a deleted one leaves nothing behind."""
    pytest.importorskip(library)
    from mbt.interop.inverse_calls import find_inverse_call

    one, other = problem(arm), problem(arm)
    calls = [find_inverse_call(ik, [], 64, 0, EXACT, 100) for ik in (one, one, other)]
    assert calls[0] is calls[1]
    assert calls[0].number != calls[2].number
