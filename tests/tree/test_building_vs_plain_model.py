"""Trees that are built and edited in any order, against lists of names in plain Python.

The lists predict what must be refused and what `finalize()` does: how many coordinates there are, and that
a loop is an error. After each step the tree holds what they hold, in the same order.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import integers, sampled_from

import mbt

#: Joint types, and how many positions and velocities they have.
JOINTS: dict[str, tuple[Any, int, int]] = {
    "weld": (mbt.WeldJoint, 0, 0),
    "revolute": (mbt.RevoluteJoint, 1, 1),
    "prismatic": (mbt.PrismaticJoint, 1, 1),
    "ball": (mbt.BallRpyJoint, 3, 3),
    "floating": (mbt.QuaternionFloatingJoint, 7, 6),
}
FEW = integers(0, 4)


@dataclass
class Plain:
    """What the tree must contain."""

    bodies: list[str] = field(default_factory=lambda: ["world"])
    masses: dict[str, float] = field(default_factory=lambda: {"world": 0.0})
    frames: dict[str, str] = field(default_factory=dict)  # body of each
    joints: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # kind, bodies
    motors: dict[str, str] = field(default_factory=dict)  # joint of each

    def connects(self, body: str, other: str) -> bool:
        return any({body, other} == {a, b} for _, a, b in self.joints.values())

    def is_needed(self, body: str) -> bool:
        return body in self.frames.values() or any(body in (a, b) for _, a, b in self.joints.values())

    def components(self) -> list[set[str]]:
        """Return the sets of bodies that joints connect."""
        found = [{body} for body in self.bodies]
        for _, a, b in self.joints.values():
            joined = [part for part in found if a in part or b in part]
            found = [part for part in found if part not in joined] + [set().union(*joined)]
        return found

    def has_loop(self) -> bool:
        return len(self.joints) > len(self.bodies) - len(self.components())

    def sizes(self) -> tuple[int, int]:
        free = len(self.components()) - 1
        kinds = [JOINTS[kind] for kind, _, _ in self.joints.values()]
        return sum(nq for _, nq, _ in kinds) + 7 * free, sum(nv for *_, nv in kinds) + 6 * free


class Machine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.tree = mbt.MultibodyTree()
        self.plain = Plain()

    def attempt(self, is_refused: bool, call: Any) -> bool:
        """Call, and return whether that worked. The invariant checks that a refused call changes nothing."""
        if is_refused:
            with pytest.raises(mbt.MbtError):
                call()
            return False
        call()
        return True

    @rule(i=FEW, mass=integers(1, 5))
    def add_body(self, i: int, mass: int) -> None:
        name = f"body{i}"
        inertia = mbt.SpatialInertia.solid_sphere_with_mass(float(mass), 0.1)
        if self.attempt(name in self.plain.bodies, lambda: self.tree.add_body(mbt.RigidBody(name, inertia))):
            self.plain.bodies.append(name)
            self.plain.masses[name] = float(mass)

    @rule(i=FEW, k=FEW)
    def add_frame(self, i: int, k: int) -> None:
        body = self.plain.bodies[k % len(self.plain.bodies)]
        # World has a model instance of its own, whose names may repeat those of another one.
        name = f"frame{i}" if body != "world" else f"mount{i}"
        frame = mbt.FixedOffsetFrame(name, self.tree.get_body_by_name(body).body_frame, np.eye(4))
        if self.attempt(name in self.plain.frames, lambda: self.tree.add_frame(frame)):
            self.plain.frames[name] = body

    @rule(i=FEW, kind=sampled_from(sorted(JOINTS)), a=FEW, b=FEW)
    def add_joint(self, i: int, kind: str, a: int, b: int) -> None:
        names = self.plain.bodies
        name, parent, child = f"joint{i}", names[a % len(names)], names[b % len(names)]
        if child == "world":
            parent, child = child, parent
        P, B = map(self.tree.get_body_by_name, (parent, child))
        axis = {"axis": [0, 0, 1]} if kind in ("revolute", "prismatic") else {}
        is_refused = name in self.plain.joints or parent == child or self.plain.connects(parent, child)
        if self.attempt(
            is_refused, lambda: self.tree.add_joint(JOINTS[kind][0], name, P, None, B, None, **axis)
        ):
            self.plain.joints[name] = (kind, parent, child)

    @precondition(lambda self: self.plain.joints)
    @rule(i=FEW, k=FEW)
    def add_motor(self, i: int, k: int) -> None:
        name, joint = f"motor{i}", list(self.plain.joints)[k % len(self.plain.joints)]
        is_refused = name in self.plain.motors or JOINTS[self.plain.joints[joint][0]][2] != 1
        if self.attempt(
            is_refused, lambda: self.tree.add_joint_actuator(name, self.tree.get_joint_by_name(joint))
        ):
            self.plain.motors[name] = joint

    @rule(k=FEW)
    def remove_body(self, k: int) -> None:
        name = self.plain.bodies[k % len(self.plain.bodies)]
        body = self.tree.get_body_by_name(name)
        is_refused = name == "world" or self.plain.is_needed(name)
        if self.attempt(is_refused, lambda: self.tree.remove(body)):
            self.plain.bodies.remove(name)

    @precondition(lambda self: self.plain.frames)
    @rule(k=FEW)
    def remove_frame(self, k: int) -> None:
        name = list(self.plain.frames)[k % len(self.plain.frames)]
        self.tree.remove(self.tree.get_frame_by_name(name))
        del self.plain.frames[name]

    @precondition(lambda self: self.plain.joints)
    @rule(k=FEW)
    def remove_joint(self, k: int) -> None:
        name = list(self.plain.joints)[k % len(self.plain.joints)]
        joint = self.tree.get_joint_by_name(name)
        if self.attempt(name in self.plain.motors.values(), lambda: self.tree.remove(joint)):
            del self.plain.joints[name]

    @rule(k=FEW, i=FEW)
    def rename_body(self, k: int, i: int) -> None:
        old, new = self.plain.bodies[k % len(self.plain.bodies)], f"body{i}"
        body = self.tree.get_body_by_name(old)
        is_refused = old == "world" or (new != old and new in self.plain.bodies)
        if self.attempt(is_refused, lambda: self.tree.rename(body, new)):
            rename = {old: new}
            self.plain.bodies = [rename.get(name, name) for name in self.plain.bodies]
            self.plain.masses[new] = self.plain.masses[old]
            self.plain.frames = {name: rename.get(of, of) for name, of in self.plain.frames.items()}
            self.plain.joints = {
                name: (kind, rename.get(a, a), rename.get(b, b))
                for name, (kind, a, b) in self.plain.joints.items()
            }

    @rule(how=sampled_from([copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))]))
    def copy(self, how: Any) -> None:
        self.tree = how(self.tree)

    @rule()
    def finalize_and_edit(self) -> None:
        if self.attempt(self.plain.has_loop(), self.tree.finalize):
            assert (self.tree.num_positions, self.tree.num_velocities) == self.plain.sizes()
            assert self.tree.num_actuators == len(self.plain.motors)
            context = self.tree.create_default_context()
            mass = sum(self.plain.masses[name] for name in self.plain.bodies)
            assert self.tree.calc_total_mass(context) == pytest.approx(mass, rel=1e-14)
            M = self.tree.calc_mass_matrix(context)
            assert np.linalg.eigvalsh(M).min(initial=1.0) > 0.0
            with pytest.raises(mbt.AlreadyFinalizedError):
                self.tree.add_body(mbt.RigidBody("late", mbt.SpatialInertia.zero()))
            self.tree = self.tree.edit()

    @invariant()
    def has_what_the_lists_have(self) -> None:
        tree, plain = self.tree, self.plain
        assert [body.name for body in tree.bodies] == plain.bodies
        offsets = [frame for frame in tree.frames if isinstance(frame, mbt.FixedOffsetFrame)]
        assert {frame.name: frame.body.name for frame in offsets} == plain.frames
        assert [joint.name for joint in tree.joints] == list(plain.joints)
        for joint in tree.joints:
            kind, parent, child = plain.joints[joint.name]
            assert type(joint) is JOINTS[kind][0]
            assert (joint.parent_body.name, joint.child_body.name) == (parent, child)
        assert {motor.name: motor.joint.name for motor in tree.joint_actuators} == plain.motors
        for kinds in (tree.bodies, tree.joints, tree.joint_actuators):
            assert [element.ordinal for element in kinds] == list(range(len(kinds)))

    @precondition(lambda self: self.plain.motors)
    @rule(k=FEW)
    def remove_motor(self, k: int) -> None:
        name = list(self.plain.motors)[k % len(self.plain.motors)]
        self.tree.remove(self.tree.get_joint_actuator_by_name(name))
        del self.plain.motors[name]


def _settings(examples: int, steps: int) -> Any:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


class TestBuilding(Machine.TestCase):  # type: ignore[misc]
    settings = _settings(40, 25)


@pytest.mark.exhaustive
class TestBuildingForLong(Machine.TestCase):  # type: ignore[misc]
    settings = _settings(200, 40)
