"""Twice as many bodies take twice the work, counted in calls, which other load does not change."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

import mbt
from mbt.tree.collection import ElementCollection

Work = Callable[[], object]

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
X_PF = mbt.math.make_pose([0.3, 0, 0])


def count_calls(work: Work) -> int:
    """Calls of Python and of C functions."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def build(num_bodies: int, massless: bool = False) -> mbt.MultibodyTree:
    """A chain of driven hinges; optionally all bodies but the last are massless."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(num_bodies):
        inertia = mbt.SpatialInertia.zero() if massless and i < num_bodies - 1 else BALL
        body = tree.add_body(mbt.RigidBody(f"body{i}", inertia))
        hinge = tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", parent, X_PF, body, None, [0, 1, 0])
        if not massless:
            tree.add_joint_actuator(f"motor{i}", hinge)
        parent = body
    return tree


def finalized(num_bodies: int, massless: bool = False) -> mbt.MultibodyTree:
    tree = build(num_bodies, massless)
    tree.finalize()
    return tree


def urdf(num_bodies: int) -> str:
    links = "".join(
        f'<link name="l{i}"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for i in range(num_bodies)
    )
    joints = "".join(
        f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>'
        '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/></joint>'
        for i in range(1, num_bodies)
    )
    return f'<robot name="chain">{links}{joints}</robot>'


def look_at_bodies(tree: mbt.MultibodyTree) -> None:
    for i in range(tree.num_bodies):
        _ = tree.bodies[i]
        tree.get_body_by_name(tree.bodies[i].name)


def work_of_report(n: int, massless: bool) -> Work:
    tree = finalized(n, massless)
    return lambda: str(tree.finalize_report)


def work_of_text(n: int) -> Work:
    text = urdf(n)
    return lambda: mbt.load_model(text)


WORKS: dict[str, Callable[[int], Work]] = {
    "building": lambda n: lambda: build(n),
    "finalizing": lambda n: build(n).finalize,
    "loading": work_of_text,
    "report": lambda n: work_of_report(n, massless=False),
    "report of massless branches": lambda n: work_of_report(n, massless=True),
    "pickling": lambda n: (lambda tree: lambda: pickle.loads(pickle.dumps(tree)))(finalized(n)),
    "cloning": lambda n: finalized(n).clone,
    "look-ups": lambda n: (lambda tree: lambda: look_at_bodies(tree))(finalized(n)),
    "names": lambda n: (lambda tree: lambda: (tree.position_names, repr(tree)))(finalized(n)),
    "a Context": lambda n: finalized(n).create_default_context,
}


@pytest.mark.parametrize("what", WORKS)
def test_calls(what: str) -> None:
    n = 60
    WORKS[what](4)()  # Work of the first time only.
    few, many = (count_calls(WORKS[what](k)) for k in (n, 2 * n))
    assert many <= 2.2 * few + 100


def test_copies_of_all_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call may copy all elements, but one copy after each addition makes the work quadratic."""
    copied: list[str] = []
    as_tuple = ElementCollection.as_tuple

    def noted(self: ElementCollection[Any]) -> tuple[Any, ...]:
        if self._tuple is None:
            copied.append(self._kind)
        return as_tuple(self)

    monkeypatch.setattr(ElementCollection, "as_tuple", noted)
    mbt.load_model(urdf(60))
    tree = mbt.MultibodyTree()
    for i in range(60):
        body = tree.add_body(mbt.RigidBody(f"body{i}", BALL))
        tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", tree.world_body, X_PF, body, None, [0, 1, 0])
        tree.add_frame(mbt.FixedOffsetFrame(f"place{i}", tree.world_frame, X_PF))
    assert len(copied) < 20, copied
