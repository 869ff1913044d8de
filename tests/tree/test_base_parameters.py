"""Base parameters: only those that motion can identify, and enough for all of dynamics."""

from __future__ import annotations

import copy
import pickle
from functools import cache

import numpy as np
import pytest

import mbt
from mbt.tree.base_parameters import BaseParameters
from support.case import FEW, MOVING, get_case
from support.description import Array


@cache
def base_of(model: str, seed: int = 0) -> BaseParameters:
    return get_case(model).tree.calc_base_parameters(seed=seed)


def stacked(tree: mbt.MultibodyTree, seed: int, count: int = 30) -> Array:
    """Stack regressors at other states than those of `calc_base_parameters`."""
    rng, context = np.random.default_rng([99, seed]), tree.create_default_context()
    rows = []
    for _ in range(count):
        context.q = tree.random_positions(rng)
        context.v = rng.uniform(-2.0, 2.0, tree.num_velocities)
        vdot = rng.uniform(-2.0, 2.0, tree.num_velocities)
        rows.append(tree.calc_inverse_dynamics_regressor(context, vdot))
    return np.concatenate(rows)


def equilibrated(Y: Array) -> Array:
    """Scale the columns of masses, moments and inertias by the largest of their kind."""
    result = Y.reshape(len(Y), -1, 10).copy()
    for kind in (slice(0, 1), slice(1, 4), slice(4, 10)):
        largest = np.linalg.norm(result[:, :, kind], axis=0).max()
        result[:, :, kind] /= largest or 1.0
    return result.reshape(Y.shape)


@pytest.mark.parametrize("model", MOVING)
def test_rank(model: str) -> None:
    """It equals the rank of a regressor over other states, by singular values."""
    tree = get_case(model).tree
    base = base_of(model)
    singular_values = np.linalg.svd(equilibrated(stacked(tree, 0, 20)), compute_uv=False)
    assert base.rank == np.count_nonzero(singular_values > 1e-9 * singular_values[0])
    # The rank is beyond doubt.
    assert base.smallest_pivot > 1e-5
    assert base.largest_remainder < 1e-11


@pytest.mark.parametrize("model", MOVING)
def test_dynamics(model: str) -> None:
    """At other states, for any parameters, base parameters determine the torques."""
    tree, base = get_case(model).tree, base_of(model)
    Y = stacked(tree, 1, 20)
    rng = np.random.default_rng(5)
    assert base.regrouping.shape == (base.rank, Y.shape[1])
    np.testing.assert_array_equal(base.regrouping[:, base.independent], np.eye(base.rank))
    size = np.abs(Y).max()
    np.testing.assert_allclose(Y[:, base.independent] @ base.regrouping, Y, rtol=0, atol=1e-10 * size)
    pi = tree.get_inertial_parameters() + 0.1 * rng.normal(size=Y.shape[1])
    tau = Y @ pi
    np.testing.assert_allclose(
        Y[:, base.independent] @ base.calc_values(pi), tau, rtol=0, atol=1e-9 * np.abs(tau).max()
    )
    # And tau determines them: they can be estimated from it.
    estimate = np.linalg.lstsq(Y[:, base.independent], tau, rcond=None)[0]
    np.testing.assert_allclose(estimate, base.calc_values(pi), rtol=0, atol=1e-7 * np.abs(estimate).max())
    assert not Y[:, base.unidentifiable].any() or np.abs(Y[:, base.unidentifiable]).max() < 1e-12 * size


@pytest.mark.parametrize("model", FEW)
def test_other_seeds(model: str) -> None:
    """The same seed gives the same numbers; another seed spans the same space."""
    tree = get_case(model).tree
    base, again, other = base_of(model), tree.calc_base_parameters(), tree.calc_base_parameters(seed=7)
    np.testing.assert_array_equal(base.independent, again.independent)
    np.testing.assert_array_equal(base.regrouping, again.regrouping)
    assert other.rank == base.rank
    # The combinations of one seed determine those of the other.
    K = other.regrouping[:, base.independent]
    scale = np.abs(other.regrouping).max()
    np.testing.assert_allclose(K @ base.regrouping, other.regrouping, rtol=0, atol=1e-7 * scale)


def planar_arm(gravity: bool = True) -> mbt.MultibodyTree:
    """Two links in the vertical x, z plane; the elbow is 0.5 along x of the upper one."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    upper, lower = (tree.add_body(mbt.RigidBody(name, inertia)) for name in ("upper", "lower"))
    y = [0, 1, 0]
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, axis=y)
    tree.add_joint(mbt.RevoluteJoint, "elbow", upper, mbt.math.make_pose([0.5, 0, 0]), lower, None, axis=y)
    if gravity:
        tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def test_planar_arm() -> None:
    """As in textbooks, the lower link's mass counts as a point mass at the elbow."""
    base = planar_arm().calc_base_parameters()
    assert base.descriptions == (
        "upper_mcx + 0.5 lower_m",
        "upper_mcz",
        "upper_Iyy + 0.25 lower_m",
        "lower_mcx",
        "lower_mcz",
        "lower_Iyy",
    )
    assert base.unidentifiable.size == 20 - 7
    text = str(base)
    assert text.startswith("6 base parameters of 20 inertial parameters, 13 of them without effect\n")
    assert "  upper_Iyy + 0.25 lower_m\n" in text
    assert repr(base) == "<BaseParameters: 6 of 20 inertial parameters>"


def test_without_gravity() -> None:
    """Only inertia counts, not the first link's mass centre; also if only the Context has no gravity."""
    without = planar_arm(gravity=False).calc_base_parameters()
    assert without.descriptions == ("upper_Iyy + 0.25 lower_m", "lower_mcx", "lower_mcz", "lower_Iyy")
    tree = planar_arm()
    context = tree.create_default_context()
    context.q, context.v = [0.1, 0.2], [0.3, 0.4]
    tree.force_elements[0].set_gravity_vector(context, [0, -9.81, 0])  # type: ignore[attr-defined]
    base = tree.calc_base_parameters(context)
    assert base.descriptions == without.descriptions
    assert tree.calc_base_parameters().rank == 6
    assert context.q.tolist() == [0.1, 0.2]
    assert context.v.tolist() == [0.3, 0.4]


def test_a_free_body_tells_everything() -> None:
    base = get_case("free_body").tree.calc_base_parameters()
    assert base.rank == 10
    np.testing.assert_array_equal(base.regrouping, np.eye(10))


@pytest.mark.parametrize("model", ["world_only", "all_weld"])
def test_trees_that_cannot_move(model: str) -> None:
    tree = get_case(model).tree
    base = tree.calc_base_parameters()
    count = 10 * (tree.num_bodies - 1)
    assert base.rank == 0
    assert base.regrouping.shape == (0, count)
    assert base.calc_values(tree.get_inertial_parameters()).shape == (0,)
    assert len(base.unidentifiable) == count
    assert "0 base parameters" in str(base)


def test_size_of_the_model_does_not_matter() -> None:
    """Metres or millimetres: the same rank, with the same certainty."""
    ranks = []
    for size in (1e-3, 1.0, 1e3):
        tree = mbt.MultibodyTree()
        inboard, rng = tree.world_body, np.random.default_rng(2)
        for k in range(5):
            body = tree.add_body(mbt.RigidBody(f"link{k}", mbt.SpatialInertia.zero()))
            X_PF = mbt.math.make_pose(size * rng.normal(size=3), rpy=rng.normal(size=3))
            tree.add_joint(mbt.RevoluteJoint, f"j{k}", inboard, X_PF, body, None, axis=[0, 0, 1])
            inboard = body
        tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -9.81 * size]))
        tree.finalize()
        base = tree.calc_base_parameters()
        assert base.smallest_pivot > 1e-3
        assert base.largest_remainder < 1e-12
        ranks.append(base.rank)
    assert ranks == [ranks[0]] * 3


def test_lengths_beyond_all_measure() -> None:
    tree = mbt.MultibodyTree()
    arm, slide = (tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.zero())) for name in ("arm", "slide"))
    tree.add_joint(mbt.RevoluteJoint, "turn", tree.world_body, None, arm, None, axis=[0, 0, 1])
    limits = {"pos_lower_limit": -1e200, "pos_upper_limit": 1e200}
    tree.add_joint(mbt.PrismaticJoint, "rail", arm, None, slide, None, axis=[1, 0, 0], **limits)
    tree.finalize()
    with pytest.raises(mbt.SingularityError, match="overflows"):
        tree.calc_base_parameters()


def test_values_of_several() -> None:
    base = planar_arm().calc_base_parameters()
    pi = np.arange(40.0).reshape(2, 20)
    values = base.calc_values(pi)
    assert values.shape == (2, 6)
    np.testing.assert_array_equal(values[1], base.calc_values(pi[1]))
    np.testing.assert_allclose(values, pi @ base.regrouping.T, rtol=1e-15)
    with pytest.raises(mbt.ShapeError, match=r"pi: expected shape \(\.\.\., 20\)"):
        base.calc_values(np.ones(10))


def test_copies() -> None:
    base = planar_arm().calc_base_parameters()
    for twin in (copy.deepcopy(base), pickle.loads(pickle.dumps(base))):
        assert isinstance(twin, BaseParameters)
        assert str(twin) == str(base)
        assert not twin.regrouping.flags.writeable
        assert not twin.independent.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        base.regrouping[0, 0] = 1.0


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"num_states": 0}, mbt.ArgumentValueError),
        ({"num_states": 10**30}, mbt.ArgumentValueError),
        ({"num_states": 2.5}, mbt.ArgumentTypeError),
        ({"num_states": True}, mbt.ArgumentTypeError),
        ({"seed": -1}, mbt.ArgumentValueError),
        ({"seed": None}, mbt.ArgumentTypeError),
        ({"tolerance": 0.0}, mbt.ArgumentValueError),
        ({"tolerance": 1.0}, mbt.ArgumentValueError),
        ({"tolerance": np.nan}, mbt.ArgumentValueError),
        ({"tolerance": "small"}, mbt.ArgumentTypeError),
    ],
)
def test_bad_input(keywords: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(keywords))):
        planar_arm().calc_base_parameters(**keywords)  # type: ignore[arg-type]
