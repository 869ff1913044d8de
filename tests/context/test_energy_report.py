"""The energy report: its sums are those of the tree, energy balances, and errors show up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mbt


class Wind(mbt.ForceElement):
    """A constant force on a body, which has the potential -f x."""

    def __init__(self, body: mbt.RigidBody, force: float, claimed: float) -> None:
        super().__init__()
        self.body, self.force, self.claimed = body, force, claimed

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.body_forces[..., self.body.node_index, 3] += self.force

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        return -self.claimed * pc.X_WB[..., self.body.node_index, 0, 3]

    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return self.claimed * vc.V_WB[..., self.body.node_index, 3]

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return 0.0


def make_tree(claimed: float = 1.5) -> tuple[mbt.MultibodyTree, mbt.Context]:
    """A tree of everything that has energy."""
    tree = mbt.MultibodyTree()
    box = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.2, 0.5)
    link, hand, ball = (tree.add_body(mbt.RigidBody(name, box)) for name in ("link", "hand", "ball"))
    arm = tree.add_frame(mbt.FixedOffsetFrame("arm", link, mbt.math.make_pose([0.4, 0, 0.1])))
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 2], damping=0.4
    )
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", hand, None, link, None, axis=[1, 1, 0])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.add_force_element(mbt.RevoluteSpring(hinge, 0.3, 4.0))
    tree.add_force_element(mbt.PrismaticSpring(slide, 0.1, 9.0))
    tree.add_force_element(mbt.LinearSpringDamper(hand, [0, 0.1, 0], ball, [0.1, 0, 0], 0.2, 30.0, 2.0))
    tree.add_force_element(mbt.DoorHinge(hinge, mbt.DoorHingeConfig()))
    tree.add_force_element(mbt.JointFriction(slide, 0.7))
    tree.add_force_element(
        mbt.LinearBushingRollPitchYaw(
            arm, ball.body_frame, [1, 2, 3], [0.1, 0.2, 0.3], [4, 5, 6], [0.4, 0.5, 0.6]
        )
    )
    tree.add_force_element(Wind(ball, 1.5, claimed))
    tree.add_joint_actuator("motor", hinge, rotor_inertia=0.01, gear_ratio=7.0)
    tree.finalize()
    context = tree.create_default_context()
    q = context.q.copy()
    q[: tree.num_positions] += 0.3 * np.cos(np.arange(tree.num_positions))
    context.q = q
    context.v = 0.8 * np.sin(1.0 + np.arange(tree.num_velocities))
    context.actuation = [1.3]
    context.applied_forces.body_forces[ball.node_index] = [0.1, -0.2, 0.3, 1, 2, 3]
    context.applied_forces.generalized_forces[:] = 0.5
    return tree, context


def test_sums_are_those_of_the_tree() -> None:
    tree, context = make_tree()
    report = tree.calc_energy_report(context)
    inputs = report["joint actuator 'motor'"].non_conservative_power
    inputs += report["applied forces"].non_conservative_power
    assert report.kinetic_energy == pytest.approx(tree.calc_kinetic_energy(context), rel=1e-13)
    assert report.potential_energy == pytest.approx(tree.calc_potential_energy(context), rel=1e-13)
    assert report.conservative_power == pytest.approx(tree.calc_conservative_power(context), rel=1e-12)
    assert report.non_conservative_power - inputs == pytest.approx(
        tree.calc_non_conservative_power(context), rel=1e-12
    )
    assert report["rotor of joint actuator 'motor'"].kinetic_energy > 0.0
    assert report["damping of joint 'hinge'"].non_conservative_power < 0.0


def test_it_balances() -> None:
    tree, context = make_tree()
    report = tree.calc_energy_report(context)
    scale = sum(abs(e.conservative_power) + abs(e.non_conservative_power) for e in report.entries)
    assert abs(report.balance) < 1e-12 * scale


def test_a_locked_joint_does_no_work() -> None:
    tree, context = make_tree()
    tree.get_joint_by_name("hinge").lock(context)
    report = tree.calc_energy_report(context)
    assert report["damping of joint 'hinge'"].non_conservative_power == 0.0
    assert abs(report.balance) < 1e-10


def test_an_element_that_reports_a_wrong_power_is_out_of_balance() -> None:
    tree, context = make_tree(claimed=1.0)
    report = tree.calc_energy_report(context)
    ball = tree.get_body_by_name("ball")
    missing = 0.5 * ball.eval_spatial_velocity_in_world(context)[3]
    assert report.balance == pytest.approx(missing, abs=1e-10)


def test_a_massless_joint_leaves_no_rate() -> None:
    tree = mbt.MultibodyTree()
    leaf = tree.add_body(mbt.RigidBody("leaf", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.RevoluteJoint, "j", tree.world_body, None, leaf, None, axis=[0, 0, 1])
    tree.finalize()
    report = tree.calc_energy_report(tree.create_default_context())
    assert math.isnan(report.kinetic_energy_rate)
    assert report.kinetic_energy == 0.0


def test_text() -> None:
    tree, context = make_tree()
    report = tree.calc_energy_report(context)
    text = str(report)
    for name in ("body 'hand'", "applied forces", "all", "d(KE)/dt"):
        assert name in text
    assert "<table" in report._repr_html_()
    assert repr(report).startswith("<EnergyReport: ")
    with pytest.raises(mbt.UnknownNameError, match="body 'ball'"):
        report["body 'bal'"]
