"""Sentences of docs/extending.md that no example shows and no other test proves."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest

import mbt

M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)


def make_slides(count: int = 2) -> tuple[mbt.MultibodyTree, list[mbt.Joint]]:
    tree = mbt.MultibodyTree()
    parent, joints = tree.world_body, []
    for i in range(count):
        link = tree.add_body(mbt.RigidBody(f"link{i}", M_BBo_B))
        axis = np.eye(3)[i % 3]
        joints.append(tree.add_joint(mbt.PrismaticJoint, f"slide{i}", parent, None, link, None, axis))
        parent = link
    return tree, joints


class Sine(mbt.ForceElement):
    """A force that takes floats only."""

    count = 0

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        type(self).count += 1
        q, v = context.q[self.joint.position_start], context.v[self.joint.velocity_start]
        forces.generalized_forces[..., self.joint.velocity_start] += math.sin(3.0 * q) - math.sin(v) * v


class Cloning(mbt.ForceElement):
    """Counts its clones."""

    clones = 0

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Cloning:
        type(self).clones += 1
        return Cloning()

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


def test_mobilizers_cannot_be_written_in_python() -> None:
    class Helix(mbt.Mobilizer):
        pass

    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", M_BBo_B))
    with pytest.raises(mbt.ArgumentTypeError, match="Helix: no compiled kernel has this type"):
        tree.add_mobilizer(Helix(tree.world_frame, body.body_frame))


def test_what_takes_floats_only_is_differentiated_in_4_nv_calls_to_nine_digits() -> None:
    tree, joints = make_slides()
    tree.add_force_element(Sine(joints[0]))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.3, 0.1], [0.7, -0.2]
    tree.calc_inverse_dynamics_derivatives(context, [0.0, 0.0], include_force_elements=True)
    Sine.count = 0
    by_q, by_v, _ = tree.calc_inverse_dynamics_derivatives(context, [0.0, 0.0], include_force_elements=True)
    # One more call, which fails, with numbers that carry derivatives.
    assert Sine.count == 4 * tree.num_velocities + 1
    np.testing.assert_allclose(by_q[0, 0], -3.0 * math.cos(0.9), rtol=1e-9)
    np.testing.assert_allclose(by_v[0, 0], math.cos(0.7) * 0.7 + math.sin(0.7), rtol=1e-9)
    # `to_autodiff()` shows that it takes floats only.
    ad = tree.to_autodiff()
    moving = ad.create_default_context()
    moving.q = mbt.autodiff.initialize([0.3, 0.1])
    with pytest.raises(TypeError):
        ad.calc_forward_dynamics(moving)


def test_copies_that_copy_attributes_do_not_ask_the_element() -> None:
    tree, _ = make_slides()
    tree.add_force_element(Cloning())
    Cloning.clones = 0
    copy.deepcopy(tree)
    tree.finalize()
    pickle.loads(pickle.dumps(tree))
    assert Cloning.clones == 0
    tree.clone()
    tree.to_autodiff()
    assert Cloning.clones == 2


def test_hooks_are_called_before_the_layout_is_known() -> None:
    calls = []

    class Curious(Cloning):
        def do_declare_parameters(self) -> None:
            calls.append("parameters")
            with pytest.raises(mbt.NotFinalizedError):
                _ = joints[0].position_start

        def do_declare_discrete_state(self) -> None:
            calls.append("discrete state")

        def do_declare_cache_entries(self) -> None:
            calls.append("cache entries")

    tree, joints = make_slides()
    tree.add_force_element(Curious())
    tree.finalize()
    assert calls == ["parameters", "discrete state", "cache entries"]


def test_a_prerequisite_that_is_forgotten_gives_old_values() -> None:
    class Forgetful(Cloning):
        def do_declare_cache_entries(self) -> None:
            self.entry = self.declare_cache_entry("speed", lambda context: float(context.v[0]), ["q"])

    tree, _ = make_slides()
    element = tree.add_force_element(Forgetful())
    tree.finalize()
    context = tree.create_default_context()
    assert context.eval_cache_entry(element.entry) == 0.0
    context.v = [1.0, 0.0]
    assert context.eval_cache_entry(element.entry) == 0.0
    context.q = [0.0, 0.0]
    assert context.eval_cache_entry(element.entry) == 1.0


def test_the_pose_of_a_frame_is_computed_when_a_parameter_changes() -> None:
    class Boom(mbt.Frame):
        count = 0

        def do_declare_parameters(self) -> None:
            self.length = self.declare_numeric_parameter(1.0)

        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            type(self).count += 1
            return mbt.math.make_pose([parameters.get_numeric_parameter(self.length)[..., 0], 0, 0])

    tree, _ = make_slides()
    boom = tree.add_frame(Boom("boom", tree.bodies[1]))
    # Other frames and joints may be attached to it.
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", boom, mbt.math.make_pose([0, 1, 0])))
    hand = tree.add_body(mbt.RigidBody("hand", M_BBo_B))
    tree.add_joint(mbt.RevoluteJoint("wrist", tip, hand.body_frame, axis=[0, 0, 1]))
    tree.finalize()
    context = tree.create_default_context()
    Boom.count = 0
    context.q = [0.5, 0.0, 0.3]
    np.testing.assert_allclose(hand.eval_pose_in_world(context)[:3, 3], [1.5, 1.0, 0.0])
    assert Boom.count == 0
    context.set_numeric_parameter(boom.length, 3.0)
    np.testing.assert_allclose(hand.eval_pose_in_world(context)[:3, 3], [3.5, 1.0, 0.0])
    np.testing.assert_allclose(tip.calc_pose_in_world(context)[:3, 3], [3.5, 1.0, 0.0])
    assert Boom.count == 1


@pytest.mark.oracle
def test_functions_of_math_take_symbols_of_casadi_for_nan() -> None:
    casadi = pytest.importorskip("casadi")
    assert math.isnan(math.sin(casadi.SX.sym("x")))
