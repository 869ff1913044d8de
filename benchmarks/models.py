"""Models for the benchmarks, as URDF text: made here, or read from a file and lumped.

A lumped text has no fixed joints, no shapes and no damping, so that every library sees the same mechanism.
"""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROOT = "base"


@dataclass(frozen=True)
class BenchmarkModel:
    """URDF text and whether its root is free."""

    name: str
    urdf: str
    floating: bool = False

    @property
    def root(self) -> str:
        """Name of the link at the root."""
        return ET.fromstring(self.urdf).findall("link")[0].attrib["name"]


@dataclass
class Inertia:
    """Mass, first moment and rotational inertia about the link origin, in link axes."""

    mass: float = 0.0
    moment: Array = field(default_factory=lambda: np.zeros(3))
    rotational: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def add(self, other: Inertia, R: Array, p: Array) -> None:
        """Add an inertia given in a frame with pose (R, p) in this link."""
        moment = R @ other.moment
        cross = np.outer(moment, p) + np.outer(p, moment) + other.mass * np.outer(p, p)
        self.rotational = self.rotational + R @ other.rotational @ R.T + np.trace(cross) * np.eye(3) - cross
        self.moment = self.moment + moment + other.mass * p
        self.mass += other.mass


@dataclass
class Joint:
    """A joint and the pose of its child link in its parent link."""

    name: str
    kind: str
    parent: str
    child: str
    R: Array
    p: Array
    axis: str


# Made here ----------------------------------------------------------------------------------------------


def make_model(name: str) -> BenchmarkModel:
    """Return a model made here: ``arm7``, ``humanoid``, ``hexapod``, ``binary``, ``chain30``, ``arms16``.

    ``chain`` is followed by its number of joints, ``arms`` by the number of arms on one base.
    """
    made = {"arm7": seven_joint_arm, "humanoid": humanoid, "hexapod": hexapod, "binary": binary_tree}
    if name in made:
        return made[name]()
    if name.startswith("arms"):
        return equal_arms(int(name.removeprefix("arms")))
    return chain(int(name.removeprefix("chain")))


def cylinder(mass: float, radius: float, length: float) -> Inertia:
    """Return the inertia of a solid cylinder whose base is at the origin, along z."""
    across = mass * (3 * radius**2 + length**2) / 12
    result = Inertia()
    central = Inertia(mass, np.zeros(3), np.diag([across, across, mass * radius**2 / 2]))
    result.add(central, np.eye(3), np.array([0.0, 0.0, length / 2]))
    return result


def chain(num_joints: int) -> BenchmarkModel:
    """Return a serial chain of revolute joints whose axes alternate."""
    links = {ROOT: cylinder(5.0, 0.1, 0.1)}
    joints = []
    parent = ROOT
    for i in range(num_joints):
        child = f"link_{i}"
        links[child] = cylinder(1.0, 0.05, 0.2)
        axis = ("0 0 1", "0 1 0", "1 0 0")[i % 3]
        joints.append(_joint(f"joint_{i}", "revolute", parent, child, (0.02, 0, 0.2), axis))
        parent = child
    return BenchmarkModel(f"chain{num_joints}", write_urdf(links, joints))


def seven_joint_arm() -> BenchmarkModel:
    """Return an arm of cylinders with seven joints about z, every second one rotated by a right angle."""
    links = {ROOT: cylinder(5.0, 0.1, 0.15)}
    joints = []
    for i, mass in enumerate((6.0, 5.5, 4.0, 3.5, 2.5, 2.0, 0.6)):
        links[f"link_{i}"] = cylinder(mass, 0.06, 0.2)
        joint = _joint(f"joint_{i}", "revolute", list(links)[i], f"link_{i}", (0, 0.01, 0.18), "0 0 1")
        joint.R = rotation_of_rpy((np.pi / 2 * (-1) ** i, 0, 0)) if i else np.eye(3)
        joints.append(joint)
    return BenchmarkModel("arm7", write_urdf(links, joints))


def equal_arms(count: int) -> BenchmarkModel:
    """Return `count` copies of the arm of `seven_joint_arm`, all on one base."""
    links = {ROOT: cylinder(5.0, 0.1, 0.15)}
    joints = []
    for k in range(count):
        turn = 2 * np.pi * k / count
        parent, place = ROOT, (float(np.cos(turn)), float(np.sin(turn)), 0.1)
        for i, mass in enumerate((6.0, 5.5, 4.0, 3.5, 2.5, 2.0, 0.6)):
            child = f"link_{k}_{i}"
            links[child] = cylinder(mass, 0.06, 0.2)
            joint = _joint(f"joint_{k}_{i}", "revolute", parent, child, place, "0 0 1")
            joint.R = rotation_of_rpy((np.pi / 2 * (-1) ** i, 0, 0) if i else (0, 0, turn))
            joints.append(joint)
            parent, place = child, (0, 0.01, 0.18)
    return BenchmarkModel(f"arms{count}", write_urdf(links, joints))


def hexapod() -> BenchmarkModel:
    """Return six legs of three joints on a floating base."""
    links = {ROOT: cylinder(5.0, 0.2, 0.1)}
    joints = []
    for k in range(6):
        turn = np.pi * k / 3
        parent, place = ROOT, (0.2 * float(np.cos(turn)), 0.2 * float(np.sin(turn)), 0.0)
        for i, (axis, mass) in enumerate((("0 0 1", 0.3), ("0 1 0", 0.5), ("0 1 0", 0.2))):
            child = f"leg_{k}_{i}"
            links[child] = cylinder(mass, 0.03, 0.2)
            joint = _joint(f"joint_{k}_{i}", "revolute", parent, child, place, axis)
            joint.R = rotation_of_rpy((0, 0, 0 if i else turn))
            joints.append(joint)
            parent, place = child, (0.05, 0, 0.2 * i)
    return BenchmarkModel("hexapod", write_urdf(links, joints), floating=True)


def binary_tree(levels: int = 5) -> BenchmarkModel:
    """Return a tree of hinges that branches in two at every link."""
    links = {ROOT: cylinder(5.0, 0.1, 0.1)}
    joints = []
    ends = [ROOT]
    for level in range(levels):
        parents, ends = ends, []
        for parent, side in itertools.product(parents, (-1, 1)):
            child = f"{parent}_{'left' if side < 0 else 'right'}"
            links[child] = cylinder(1.0, 0.05, 0.2)
            axis = ("0 0 1", "0 1 0", "1 0 0")[level % 3]
            joints.append(_joint(f"{child}_joint", "revolute", parent, child, (0.1 * side, 0.02, 0.2), axis))
            ends.append(child)
    return BenchmarkModel("binary", write_urdf(links, joints))


def humanoid() -> BenchmarkModel:
    """Return a tree of 27 joints on a floating base: two legs of six, a waist of one, two arms of seven."""
    links = {ROOT: cylinder(9.0, 0.12, 0.15)}
    joints: list[Joint] = []

    def add_limb(name: str, parent: str, place: tuple[float, float, float], axes: str, masses: str) -> None:
        for i, (axis, mass) in enumerate(zip(axes, masses.split(), strict=True)):
            child = f"{name}_{i}"
            links[child] = cylinder(float(mass), 0.04, 0.15)
            direction = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[axis]
            joints.append(_joint(f"{child}_joint", "revolute", parent, child, place, direction))
            parent, place = child, (0.01, 0.005, 0.15)

    for side, y in (("left", 0.1), ("right", -0.1)):
        add_limb(f"{side}_leg", ROOT, (0, y, -0.05), "zxyyyx", "2 1.5 4.5 3 1 0.8")
    add_limb("torso", ROOT, (0, 0, 0.15), "z", "14")
    for side, y in (("left", 0.2), ("right", -0.2)):
        add_limb(f"{side}_arm", "torso_0", (0, y, 0.3), "yxzyxyz", "1.5 1.2 1 0.9 0.5 0.4 0.3")
    return BenchmarkModel("humanoid", write_urdf(links, joints), floating=True)


def _joint(
    name: str, kind: str, parent: str, child: str, place: tuple[float, float, float], axis: str
) -> Joint:
    return Joint(name, kind, parent, child, np.eye(3), np.array(place, dtype=float), axis)


# Read from a file ---------------------------------------------------------------------------------------


def read_lumped(path: Path, floating: bool = False) -> BenchmarkModel:
    """Return the mechanism of a URDF file: fixed joints merged, continuous joints as revolute ones."""
    robot = ET.fromstring(path.read_text())
    links = {element.attrib["name"]: _read_inertia(element) for element in robot.findall("link")}
    joints = [_read_joint(element) for element in robot.findall("joint")]
    while fixed := next((joint for joint in joints if joint.kind == "fixed"), None):
        links[fixed.parent].add(links.pop(fixed.child), fixed.R, fixed.p)
        joints.remove(fixed)
        for joint in joints:
            if joint.parent == fixed.child:
                joint.parent = fixed.parent
                joint.R, joint.p = fixed.R @ joint.R, fixed.p + fixed.R @ joint.p
    return BenchmarkModel(path.stem, write_urdf(links, joints), floating)


def _read_inertia(link: ET.Element) -> Inertia:
    element = link.find("inertial")
    result = Inertia()
    if element is not None:
        R, p = _read_origin(element)
        xx, xy, xz, yy, yz, zz = (
            float(_child(element, "inertia")[key]) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        mass = float(_child(element, "mass")["value"])
        central = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        result.add(Inertia(mass, np.zeros(3), central), R, p)
    return result


def _read_joint(element: ET.Element) -> Joint:
    R, p = _read_origin(element)
    kind = element.attrib["type"].replace("continuous", "revolute")
    parent, child = _child(element, "parent")["link"], _child(element, "child")["link"]
    return Joint(
        element.attrib["name"], kind, parent, child, R, p, _child(element, "axis").get("xyz", "1 0 0")
    )


def _child(element: ET.Element, tag: str) -> dict[str, str]:
    found = element.find(tag)
    return {} if found is None else found.attrib


def _read_origin(element: ET.Element) -> tuple[Array, Array]:
    origin = _child(element, "origin")
    p = np.array([float(x) for x in origin.get("xyz", "0 0 0").split()])
    return rotation_of_rpy([float(x) for x in origin.get("rpy", "0 0 0").split()]), p


# Text ---------------------------------------------------------------------------------------------------


def write_urdf(links: dict[str, Inertia], joints: list[Joint], name: str = "robot") -> str:
    """Return URDF text, parents before children."""
    children = {joint.child for joint in joints}
    root = next(link for link in links if link not in children)
    order = list(_depth_first(root, joints))
    parts = [_link_text(root, links[root] if root != "world" else Inertia())]
    for joint in order:
        parts += [_link_text(joint.child, links[joint.child]), _joint_text(joint)]
    return "\n".join([f'<robot name="{name}">', *parts, "</robot>\n"])


def with_free_root(model: BenchmarkModel) -> str:
    """Return the text with its root attached to a link named world by a floating joint."""
    free = (
        '<link name="world"/><joint name="free_root" type="floating"><parent link="world"/>'
        f'<child link="{model.root}"/></joint>'
    )
    head, tail = model.urdf.split(">", 1)
    return f"{head}>{free}{tail}"


def _depth_first(root: str, joints: list[Joint]) -> Iterator[Joint]:
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    pending = children.get(root, [])[::-1]
    while pending:
        joint = pending.pop()
        yield joint
        pending += children.get(joint.child, [])[::-1]


def _link_text(name: str, inertia: Inertia) -> str:
    if inertia.mass == 0.0:
        return f'<link name="{name}"/>'
    com = inertia.moment / inertia.mass
    J = inertia.rotational - inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
    entries = " ".join(
        f'i{"xyz"[i]}{"xyz"[j]}="{J[i, j]}"' for i, j in itertools.combinations_with_replacement(range(3), 2)
    )
    return (
        f'<link name="{name}"><inertial><origin xyz="{_text(com)}"/><mass value="{inertia.mass}"/>'
        f"<inertia {entries}/></inertial></link>"
    )


def _joint_text(joint: Joint) -> str:
    return (
        f'<joint name="{joint.name}" type="{joint.kind}">'
        f'<parent link="{joint.parent}"/><child link="{joint.child}"/>'
        f'<origin xyz="{_text(joint.p)}" rpy="{_text(rpy_of_rotation(joint.R))}"/><axis xyz="{joint.axis}"/>'
        '<limit lower="-10" upper="10" effort="1000" velocity="100"/></joint>'
    )


def _text(values: Any) -> str:
    return " ".join(str(float(value)) for value in values)


def rotation_of_rpy(rpy: Any) -> Array:
    """Return R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (sr, sp, sy), (cr, cp, cy) = np.sin(rpy), np.cos(rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_of_rotation(R: Array) -> Array:
    """Return roll, pitch and yaw of a rotation."""
    if abs(R[2, 0]) > 1 - 1e-12:
        # Gimbal lock: yaw alone rotates about the vertical.
        return np.array([0.0, -np.arcsin(np.clip(R[2, 0], -1, 1)), np.arctan2(-R[0, 1], R[1, 1])])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), -np.arcsin(R[2, 0]), np.arctan2(R[1, 0], R[0, 0])])
