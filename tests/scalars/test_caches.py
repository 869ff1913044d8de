"""A Context of any scalar recomputes a cached value when something that it depends on changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from scalars.scalar_trees import SCALAR_NAMES


class Clock(mbt.ForceElement):
    """One cache entry for each possible prerequisite."""

    SOURCES = ("time", "q", "v", "parameters", "inputs", "discrete_state")

    def do_declare_parameters(self) -> None:
        self.parameter = self.declare_numeric_parameter(1.0)

    def do_declare_discrete_state(self) -> None:
        self.state = self.declare_discrete_state(1.0)

    def do_declare_cache_entries(self) -> None:
        self.counts = dict.fromkeys(self.SOURCES, 0)
        self.entries = {
            source: self.declare_cache_entry(source, lambda context, s=source: self.count(s), [source])
            for source in self.SOURCES
        }

    def count(self, source: str) -> int:
        self.counts[source] += 1
        return self.counts[source]

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


def make_slider() -> tuple[mbt.MultibodyTree, Clock]:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, ball, None, axis=[0, 0, 1])
    tree.add_joint_actuator("motor", rail)
    clock = tree.add_force_element(Clock())
    tree.finalize()
    return tree, clock


@pytest.mark.parametrize("scalar", ["double", *SCALAR_NAMES])
def test_each_source_by_itself(scalar: str) -> None:
    tree, clock = make_slider()
    tree = tree.clone_to_scalar(scalar)
    clock = tree.get_variant(clock)
    context = tree.create_default_context()

    def values() -> list[int]:
        return [context.eval_cache_entry(clock.entries[source]) for source in clock.SOURCES]

    def write(source: str) -> None:
        if source == "parameters":
            context.set_numeric_parameter(clock.parameter, [2.0])
        elif source == "discrete_state":
            context.set_discrete_state(clock.state, [2.0])
        else:
            setattr(context, {"inputs": "actuation"}.get(source, source), 2.0 if source == "time" else [2.0])

    assert values() == values() == [1] * 6
    for source in clock.SOURCES:
        before = values()
        write(source)
        after = dict(zip(clock.SOURCES, np.subtract(values(), before), strict=True))
        assert after.pop(source) == 1
        assert sum(after.values()) == 0
        assert values() == values()


def number(x: Any) -> float:
    return float(mbt.autodiff.value(x) if isinstance(x, mbt.autodiff.AutoDiffArray) else x)


@pytest.mark.parametrize("scalar", ["double", *SCALAR_NAMES])
def test_kinematics_follow_the_state(scalar: str) -> None:
    tree = make_slider()[0].clone_to_scalar(scalar)
    context = tree.create_default_context()
    for x in (1.0, 2.0, 2.0, 3.0):
        context.q, context.v = [x], [10 * x]
        assert number(tree.eval_position_kinematics(context).X_WB[1, 2, 3]) == x
        assert number(tree.eval_velocity_kinematics(context).V_WB[1, 5]) == 10 * x
        assert number(tree.eval_acceleration_kinematics(context).A_WB[1, 5]) == 0.0
