"""Cached accelerations follow everything that they depend on, without notifications by the user."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from support.force_element_types import make_everything
from support.joint_types import random_state


@cache
def _tree() -> mbt.MultibodyTree:
    return make_everything()


def _element(kind: type) -> Any:
    return next(element for element in _tree().force_elements if isinstance(element, kind))


def _write(array: np.ndarray) -> None:
    array[3] = 100.0


DEFAULT = mbt.default_model_instance()
CHANGES: dict[str, Callable[[mbt.MultibodyTree, mbt.Context], Any]] = {
    "q": lambda tree, c: setattr(c, "q", 1.01 * c.q),
    "v": lambda tree, c: setattr(c, "v", 1.01 * c.v),
    "actuation": lambda tree, c: setattr(c, "actuation", [3.0, 4.0]),
    "body forces in place": lambda tree, c: _write(c.applied_forces.body_forces),
    "generalized forces in place": lambda tree, c: _write(c.applied_forces.generalized_forces),
    "mass": lambda tree, c: tree.bodies[3].set_mass(c, 9.0),
    "damping": lambda tree, c: tree.joints[0].set_damping_vector(c, [5.0]),
    "rotor inertia": lambda tree, c: tree.joint_actuators[0].set_rotor_inertia(c, 0.5),
    "lock": lambda tree, c: tree.joints[0].lock(c),
    "gravity": lambda tree, c: _element(mbt.UniformGravityFieldElement).set_gravity_vector(c, [0, 0, -20]),
    "no gravity": lambda tree, c: _element(mbt.UniformGravityFieldElement).set_enabled_in(c, DEFAULT, False),
    "spring": lambda tree, c: _element(mbt.RevoluteSpring).set_stiffness(c, 50.0),
    "free length": lambda tree, c: _element(mbt.LinearSpringDamper).set_free_length(c, 1.0),
    "bushing": lambda tree, c: _element(mbt.LinearBushingRollPitchYaw).set_force_stiffness_constants(
        c, [50.0, 60.0, 70.0]
    ),
    "frame of a bushing": lambda tree, c: tree.get_frame_by_name("bush_C").set_pose_in_parent_frame(
        c, mbt.math.make_pose([0.1, 0.1, 0.1])
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_follow(what: str) -> None:
    tree = _tree()
    context = random_state(tree, np.random.default_rng(0))
    before = tree.eval_acceleration_kinematics(context).A_WB
    kept = before.copy()
    CHANGES[what](tree, context)
    after = tree.eval_acceleration_kinematics(context).A_WB
    vdot = tree.calc_forward_dynamics(context)
    fresh = tree.calc_spatial_accelerations_from_vdot(context, vdot)
    np.testing.assert_allclose(after, fresh, rtol=1e-9, atol=1e-12 * np.abs(fresh).max())
    assert np.abs(after - kept).max() > 1e-6
    # Arrays that were handed out stay as they were.
    np.testing.assert_array_equal(before, kept)
