"""Distances between shapes on arrays of JAX, PyTorch and CasADi: same values, and their derivatives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.interop.host_calls import find_call
from support.description import Array
from support.random_trees import random_pose
from support.shapes import BODY, random_shape


@pytest.fixture(scope="module")
def scene() -> mbt.CollisionModel:
    """A free box, a capsule on a ball joint, and a ball on a hinge, beside a floor."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    box, arm, ball = (tree.add_body(mbt.RigidBody(name, BODY)) for name in ("box", "arm", "ball"))
    for body, kind in zip((box, arm, ball), ("box", "capsule", "sphere"), strict=True):
        body.add_collision(random_shape(kind, rng, 0.5))
    tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, box, None)
    tree.add_joint(mbt.QuaternionBallJoint, "shoulder", box, None, arm, random_pose(rng))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, ball, random_pose(rng), axis=[0, 1, 0])
    tree.finalize()
    return mbt.CollisionModel(tree, "all", obstacles=[mbt.Shape("plane", [], random_pose(rng))])


@pytest.fixture(scope="module")
def q(scene: mbt.CollisionModel) -> Array:
    """Positions with quaternions of any norm: the distances are those of the normalized ones."""
    q = np.random.default_rng(6).normal(size=(4, scene.tree.num_positions))
    q[:, 4:7] += [2.0, 0.0, 0.0]
    return q


@pytest.fixture(scope="module")
def rates(scene: mbt.CollisionModel, q: Array) -> Array:
    """Difference quotients along each coordinate."""
    h = 1e-6
    steps = h * np.eye(q.shape[1])
    ahead, behind = scene.distances(q[:, None] + steps), scene.distances(q[:, None] - steps)
    return np.swapaxes((ahead - behind) / (2 * h), 1, 2)


@pytest.mark.engine
def test_of_jax(scene: mbt.CollisionModel, q: Array, rates: Array) -> None:
    jax: Any = pytest.importorskip("jax", reason="needs the extra `jax`")
    jax.config.update("jax_enable_x64", True)
    distances = pytest.importorskip("mbt.interop.jax").distances

    def program(q: Any) -> Any:
        return distances(scene, q)

    np.testing.assert_array_equal(jax.jit(jax.vmap(program))(q), scene.distances(q))
    np.testing.assert_allclose(jax.vmap(jax.jacfwd(program))(q), rates, atol=1e-7)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.jacrev(program)))(q), rates, atol=1e-7)
    with pytest.raises(mbt.MbtError, match="distances: it has first derivatives here, but no higher ones"):
        jax.hessian(lambda q: program(q).sum())(q[0])


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_of_torch(scene: mbt.CollisionModel, q: Array, rates: Array) -> None:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
    distances = pytest.importorskip("mbt.interop.torch").distances
    tensor = torch.tensor(q, requires_grad=True)
    d = distances(scene, tensor)
    np.testing.assert_array_equal(d.detach().numpy(), scene.distances(q))
    weights = np.random.default_rng(7).normal(size=d.shape)
    (d * torch.tensor(weights)).sum().backward()
    np.testing.assert_allclose(tensor.grad.numpy(), np.einsum("np,npq->nq", weights, rates), atol=1e-6)
    jacobians = torch.func.vmap(torch.func.jacfwd(lambda q: distances(scene, q)))(torch.tensor(q))
    np.testing.assert_allclose(jacobians.numpy(), rates, atol=1e-7)


@pytest.mark.oracle
def test_of_casadi(scene: mbt.CollisionModel, q: Array, rates: Array) -> None:
    casadi: Any = pytest.importorskip("casadi", reason="needs the extra `casadi`")
    mcasadi: Any = pytest.importorskip("mbt.interop.casadi")
    x = casadi.MX.sym("q", q.shape[1])
    d = mcasadi.distances(scene, x)
    program = casadi.Function("d", [x], [d, casadi.jacobian(d, x)])
    for one, rate in zip(q, rates, strict=True):
        values, jacobian = program(one)
        np.testing.assert_array_equal(np.ravel(values.full()), scene.distances(one))
        np.testing.assert_allclose(jacobian.full(), rate, atol=1e-7)
    many = mcasadi.make_callback(scene.tree, "distances", scene=scene, num_samples=len(q))
    np.testing.assert_array_equal(many(q.T).full(), scene.distances(q).T)
    assert pickle.loads(pickle.dumps(scene)).pairs == scene.pairs


def test_numbers_of_calls_tell_scenes_apart(scene: mbt.CollisionModel) -> None:
    def call(of: mbt.CollisionModel) -> Any:
        return find_call(of.tree, "distances", {"scene": of})

    def like(**options: Any) -> mbt.CollisionModel:
        return mbt.CollisionModel(
            scene.tree, "all", obstacles=[mbt.Shape("plane", [], scene._shapes[-1].pose)], **options
        )

    calls = [call(scene), call(like()), call(like(padding=0.1)), call(like(exclude=[("box", "arm")]))]
    assert call(scene) is calls[0]
    # The second model is equal to the first, and gets the next number.
    assert calls[1].number - calls[0].number == 1
    assert len({x.number >> 12 for x in calls}) == 3


def test_what_is_no_scene(scene: mbt.CollisionModel) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=r"scene: expected an mbt\.CollisionModel, got 3"):
        find_call(scene.tree, "distances", {"scene": 3})
    other = mbt.MultibodyTree()
    other.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="scene: expected one of this tree"):
        find_call(other, "distances", {"scene": scene})
