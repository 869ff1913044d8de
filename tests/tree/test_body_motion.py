"""Motion of single bodies, and of their mass centres."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.force_element_types import make_everything
from support.joint_types import random_state


@pytest.fixture(scope="module")
def model() -> tuple[mbt.MultibodyTree, mbt.Context]:
    tree = make_everything()
    return tree, random_state(tree, np.random.default_rng(3))


def test_parts_of_spatial_vectors(model: tuple[mbt.MultibodyTree, mbt.Context]) -> None:
    tree, context = model
    for body in tree.bodies:
        V_WB = body.eval_spatial_velocity_in_world(context)
        A_WB = body.eval_spatial_acceleration_in_world(context)
        parts = (
            (body.get_angular_velocity_in_world(context), V_WB[:3]),
            (body.get_origin_velocity_in_world(context), V_WB[3:]),
            (body.get_angular_acceleration_in_world(context), A_WB[:3]),
            (body.get_origin_acceleration_in_world(context), A_WB[3:]),
        )
        for got, expected in parts:
            np.testing.assert_array_equal(got, expected)
            assert not got.flags.writeable


def test_mass_centres_of_bodies_and_of_the_tree(model: tuple[mbt.MultibodyTree, mbt.Context]) -> None:
    tree, context = model
    mass = np.array([body.get_mass(context) for body in tree.bodies[1:]])
    v = [body.calc_center_of_mass_translational_velocity_in_world(context) for body in tree.bodies[1:]]
    a = [body.calc_center_of_mass_translational_acceleration_in_world(context) for body in tree.bodies[1:]]
    np.testing.assert_allclose(
        mass @ np.array(v) / mass.sum(),
        tree.calc_center_of_mass_translational_velocity_in_world(context),
        rtol=1e-12,
        atol=1e-12,
    )
    a_WScm = tree.calc_center_of_mass_translational_acceleration_in_world(context)
    np.testing.assert_allclose(mass @ np.array(a) / mass.sum(), a_WScm, rtol=1e-11, atol=1e-11)
    for method in (
        tree.world_body.calc_center_of_mass_translational_velocity_in_world,
        tree.world_body.calc_center_of_mass_translational_acceleration_in_world,
    ):
        np.testing.assert_array_equal(method(context), np.zeros(3))


def test_the_mass_centre_that_the_context_has() -> None:
    """A pendulum of length 1 that becomes one of length 3."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(1.0, [1, 0, 0])))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 0, 1])
    tree.finalize()
    context = tree.create_default_context()
    context.v = [2.0]
    rod.set_spatial_inertia_in_body_frame(context, mbt.SpatialInertia.point_mass(1.0, [3, 0, 0]))
    v_WBcm = rod.calc_center_of_mass_translational_velocity_in_world(context)
    a_WBcm = rod.calc_center_of_mass_translational_acceleration_in_world(context)
    np.testing.assert_allclose(v_WBcm, [0, 6, 0])
    np.testing.assert_allclose(a_WBcm, [-12, 0, 0])
    with pytest.raises(mbt.ContextMismatchError):
        rod.calc_center_of_mass_translational_velocity_in_world(tree.clone().create_default_context())
