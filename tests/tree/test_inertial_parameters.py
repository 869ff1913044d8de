"""Inertial parameters of a tree as one vector: order, names, what may be set."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.case import get_case
from support.random_trees import CATALOGUE


def two_links() -> tuple[mbt.MultibodyTree, mbt.Context]:
    tree = mbt.MultibodyTree()
    # The node order is that of the tree, not that of addition.
    lower = tree.add_body(mbt.RigidBody("lower", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    upper = tree.add_body(mbt.RigidBody("upper", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    z = [0, 0, 1]
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, axis=z)
    tree.add_joint(mbt.RevoluteJoint, "elbow", upper, mbt.math.make_pose([1, 0, 0]), lower, None, axis=z)
    tree.finalize()
    return tree, tree.create_default_context()


@pytest.mark.parametrize("model", CATALOGUE)
def test_of_the_model_and_of_a_context(model: str) -> None:
    tree = get_case(model).tree
    context = tree.create_default_context()
    pi = tree.get_inertial_parameters()
    np.testing.assert_array_equal(tree.get_inertial_parameters(context), pi)
    for body in tree.bodies[1:]:
        x = pi[10 * body.node_index - 10 : 10 * body.node_index]
        M = body.default_spatial_inertia
        np.testing.assert_array_equal(x, mbt.math.calc_inertial_parameters(M))
    # Another inertia in one Context only.
    tree.set_inertial_parameters(context, 2.0 * pi)
    np.testing.assert_allclose(tree.get_inertial_parameters(context), 2.0 * pi, rtol=1e-15)
    np.testing.assert_array_equal(tree.get_inertial_parameters(), pi)
    for body in tree.bodies[1:]:
        assert body.get_mass(context) == 2.0 * body.default_mass
        np.testing.assert_allclose(
            body.calc_spatial_inertia_in_body_frame(context).as_matrix6(),
            2.0 * body.default_spatial_inertia.as_matrix6(),
            rtol=1e-13,
            atol=1e-15,
        )


def test_what_was_computed_is_computed_anew() -> None:
    tree, context = two_links()
    M = tree.calc_mass_matrix(context)
    com_W = tree.eval_position_kinematics(context).com_W
    assert not com_W.any()
    pi = tree.get_inertial_parameters()
    pi[11] = 0.5
    tree.set_inertial_parameters(context, pi, skip_validity_check=True)
    assert tree.eval_position_kinematics(context).com_W[2, 0] == 0.5
    assert (tree.calc_mass_matrix(context) != M).any()
    np.testing.assert_array_equal(com_W, np.zeros((3, 3)))


def test_names() -> None:
    tree, _ = two_links()
    suffixes = ["m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"]
    assert tree.inertial_parameter_names == tuple(f"{b}_{s}" for b in ("upper", "lower") for s in suffixes)
    twins = mbt.MultibodyTree()
    for name in ("left", "right"):
        twins.add_body(
            mbt.RigidBody("link", mbt.SpatialInertia.zero(), twins.add_model_instance(name)),
        )
    with pytest.raises(mbt.NotFinalizedError, match="inertial_parameter_names"):
        _ = twins.inertial_parameter_names
    twins.finalize()
    assert twins.inertial_parameter_names[:1] == ("left::link_m",)
    assert len(set(twins.inertial_parameter_names)) == 20


def test_massless_bodies() -> None:
    tree, context = two_links()
    tree.set_inertial_parameters(context, np.zeros(20))
    np.testing.assert_array_equal(tree.get_inertial_parameters(context), np.zeros(20))
    assert tree.bodies[1].get_mass(context) == 0.0


def changed(**entries: float) -> np.ndarray:
    tree, _ = two_links()
    pi = tree.get_inertial_parameters()
    for name, value in entries.items():
        pi[tree.inertial_parameter_names.index(name)] = value
    return pi


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("pi", "error", "message"),
    [
        (changed(lower_m=-1.0), mbt.InvalidInertiaError, "body 'lower'.*mass"),
        (changed(lower_m=0.0, lower_mcx=1.0), mbt.InvalidInertiaError, "body 'lower'.*without mass"),
        (changed(upper_Ixy=np.nan), mbt.ArgumentValueError, "pi: expected finite numbers"),
        (changed(upper_m=np.inf), mbt.ArgumentValueError, "pi: expected finite numbers"),
        (np.ones(10), mbt.ShapeError, r"pi: expected shape \(20,\), got \(10,\)"),
        (np.ones((2, 10)), mbt.ShapeError, "pi: expected shape"),
        ("inertia", mbt.ArgumentTypeError, "pi: expected real numbers"),
        (None, mbt.ArgumentTypeError, "pi: expected real numbers"),
    ],
)
def test_bad_parameters(pi: object, error: type[Exception], message: str, skip: bool) -> None:
    """Refused by name, even if the validity check is skipped; nothing is set."""
    tree, context = two_links()
    serials = context._serials
    with pytest.raises(error, match=message):
        tree.set_inertial_parameters(context, pi, skip_validity_check=skip)
    assert context._serials == serials
    np.testing.assert_array_equal(tree.get_inertial_parameters(context), tree.get_inertial_parameters())


def test_impossible_bodies() -> None:
    tree, context = two_links()
    pi = changed(lower_Izz=1.0)
    with pytest.raises(mbt.InvalidInertiaError, match=r"body 'lower'.*triangle"):
        tree.set_inertial_parameters(context, pi)
    np.testing.assert_array_equal(tree.get_inertial_parameters(context), tree.get_inertial_parameters())
    tree.set_inertial_parameters(context, pi, skip_validity_check=True)
    np.testing.assert_allclose(tree.get_inertial_parameters(context), pi, rtol=1e-15)


def test_foreign_contexts() -> None:
    (tree, _), (_, foreign) = two_links(), two_links()
    pi = tree.get_inertial_parameters()
    for call in (
        lambda: tree.get_inertial_parameters(foreign),
        lambda: tree.set_inertial_parameters(foreign, pi),
        lambda: tree.calc_inverse_dynamics_regressor(foreign, [0, 0]),
        lambda: tree.calc_kinetic_energy_regressor(foreign),
        lambda: tree.calc_potential_energy_regressor(foreign),
        lambda: tree.calc_base_parameters(foreign),
    ):
        with pytest.raises(mbt.ContextMismatchError, match="context"):
            call()
    for call in (
        lambda: tree.set_inertial_parameters(None, pi),  # type: ignore[arg-type]
        lambda: tree.calc_base_parameters("context"),  # type: ignore[arg-type]
    ):
        with pytest.raises(mbt.ArgumentTypeError, match="context"):
            call()


def test_before_finalize() -> None:
    tree = mbt.MultibodyTree()
    for call in (tree.get_inertial_parameters, tree.calc_base_parameters):
        with pytest.raises(mbt.NotFinalizedError):
            call()
