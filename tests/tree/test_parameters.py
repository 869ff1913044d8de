"""Parameters of bodies, actuators and gravity: each Context has its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    InvalidInertiaError,
    MbtError,
)
from mbt.math import SpatialInertia
from mbt.tree import MultibodyTree, PrismaticJoint, RigidBody, UniformGravityFieldElement

M_BBo_B = SpatialInertia(2.0, [0.1, 0.2, 0.3], np.diag([0.5, 0.6, 0.7]))


class Model:
    def __init__(self) -> None:
        tree = self.tree = MultibodyTree()
        self.other = tree.add_body(RigidBody("other", SpatialInertia.solid_sphere_with_mass(7.0, 0.1)))
        self.link = tree.add_body(RigidBody("link", M_BBo_B))
        slider = tree.add_joint(PrismaticJoint, "slider", tree.world_body, None, self.link, None, [0, 0, 1])
        self.motor = tree.add_joint_actuator("motor", slider, rotor_inertia=0.5, gear_ratio=-4)
        self.gravity = tree.add_force_element(UniformGravityFieldElement([1, 2, 3]))
        tree.finalize()
        self.context = tree.create_default_context()


@pytest.fixture
def model() -> Model:
    return Model()


def test_defaults(model: Model) -> None:
    c = model.context
    assert model.link.get_mass(c) == model.link.default_mass == 2.0
    assert model.link.calc_center_of_mass_in_body_frame(c).tolist() == [0.1, 0.2, 0.3]
    assert model.link.default_com.tolist() == [0.1, 0.2, 0.3]
    assert model.link.default_unit_inertia == M_BBo_B.unit_inertia
    assert model.link.calc_spatial_inertia_in_body_frame(c) == M_BBo_B
    assert (model.motor.rotor_inertia(c), model.motor.gear_ratio(c)) == (0.5, -4.0)
    assert model.motor.calc_reflected_inertia(c) == model.motor.default_reflected_inertia == 8.0
    assert model.gravity.get_gravity_vector(c).tolist() == model.gravity.gravity_vector.tolist() == [1, 2, 3]


def test_mass(model: Model) -> None:
    assert model.link.set_mass(model.context, 5) is model.link
    assert model.link.get_mass(model.context) == 5.0
    assert model.other.get_mass(model.context) == 7.0
    assert model.link.get_mass(model.tree.create_default_context()) == 2.0


def test_spatial_inertia(model: Model) -> None:
    M = SpatialInertia.solid_box_with_mass(3.0, 0.1, 0.2, 0.3).shift([1, 0, 0])
    model.link.set_spatial_inertia_in_body_frame(model.context, M)
    assert model.link.calc_spatial_inertia_in_body_frame(model.context) == M


def test_center_of_mass(model: Model) -> None:
    model.link.set_center_of_mass_in_body_frame(model.context, [0, 0, 0.25])
    assert model.link.calc_center_of_mass_in_body_frame(model.context).tolist() == [0, 0, 0.25]


def test_actuator(model: Model) -> None:
    model.motor.set_rotor_inertia(model.context, 0.25).set_gear_ratio(model.context, 3)
    assert model.motor.calc_reflected_inertia(model.context) == 2.25
    with pytest.raises(ArgumentValueError, match=r"joint actuator 'motor': .* overflows"):
        model.motor.set_gear_ratio(model.context, 1e200)
    assert model.motor.calc_reflected_inertia(model.context) == 2.25


def test_a_gear_that_overflows_is_refused() -> None:
    tree = MultibodyTree()
    link = tree.add_body(RigidBody("link", SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    hinge = tree.add_joint(PrismaticJoint, "hinge", tree.world_body, None, link, None, [0, 0, 1])
    with pytest.raises(ArgumentValueError, match=r"rotor_inertia 1.0 and gear_ratio 1e\+200"):
        tree.add_joint_actuator("motor", hinge, rotor_inertia=1.0, gear_ratio=1e200)
    assert tree.num_actuators == 0


def test_gravity(model: Model) -> None:
    model.gravity.set_gravity_vector(model.context, [0, 0, -1.6])
    assert model.gravity.get_gravity_vector(model.context).tolist() == [0, 0, -1.6]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda m, c: m.link.set_mass(c, -1),
            ArgumentValueError,
            "body 'link': mass: expected a finite number >= 0",
        ),
        (lambda m, c: m.link.set_mass(c, np.nan), ArgumentValueError, "body 'link': mass"),
        (lambda m, c: m.link.set_mass(c, "1"), ArgumentTypeError, "body 'link': mass"),
        (
            lambda m, c: m.link.set_center_of_mass_in_body_frame(c, [np.inf, 0, 0]),
            ArgumentValueError,
            "'link': com",
        ),
        (
            lambda m, c: m.link.set_center_of_mass_in_body_frame(c, [9, 0, 0]),
            InvalidInertiaError,
            "body 'link': No",
        ),
        (
            lambda m, c: m.link.set_spatial_inertia_in_body_frame(c, 3.0),
            ArgumentTypeError,
            "body 'link': M_BBo_B: expected an mbt.SpatialInertia, got float",
        ),
        (
            lambda m, c: m.link.set_spatial_inertia_in_body_frame(
                c, SpatialInertia(1.0, [0, 0, 0], np.diag([1, 1, 3]), skip_validity_check=True)
            ),
            InvalidInertiaError,
            "body 'link': No physical body has this inertia",
        ),
        (lambda m, c: m.tree.world_body.set_mass(c, 1), ArgumentValueError, "the world body does not move"),
        (
            lambda m, c: m.motor.set_rotor_inertia(c, -1),
            ArgumentValueError,
            "joint actuator 'motor': rotor_inertia",
        ),
        (
            lambda m, c: m.motor.set_gear_ratio(c, np.nan),
            ArgumentValueError,
            "joint actuator 'motor': gear_ratio",
        ),
        (
            lambda m, c: m.gravity.set_gravity_vector(c, [0, 0, np.nan]),
            ArgumentValueError,
            "g_W: expected finite",
        ),
        (lambda m, c: m.link.set_mass(Model().context, 1), ContextMismatchError, "the tree of body 'link'"),
        (lambda m, c: m.link.set_mass(None, 1), ArgumentTypeError, "context: expected a Context"),
        (lambda m, c: m.motor.set_gear_ratio(Model().context, 1), ContextMismatchError, "actuator 'motor'"),
        (lambda m, c: m.gravity.get_gravity_vector(Model().context), ContextMismatchError, "force element"),
    ],
)
def test_errors(model: Model, call: Any, error: type[MbtError], message: str) -> None:
    with pytest.raises(error) as raised:
        call(model, model.context)
    assert message in str(raised.value)
    test_defaults(model)


def test_row_of_a_body(model: Model) -> None:
    A_WB = np.arange(18.0).reshape(3, 6)
    assert (
        model.link.get_from_spatial_acceleration_array(A_WB).tolist() == A_WB[model.link.node_index].tolist()
    )
