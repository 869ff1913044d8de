"""Writes a plain model description as URDF text.

URDF puts the child link's frame at the joint and has neither reversed joints nor a separate frame M, so only
models made by `urdf_model` (or with the same restrictions) can be written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from support.description import WORLD, Array, Body, Joint, Model
from support.random_trees import USUAL_KINDS, random_model


def urdf_model(
    seed: int,
    num_bodies: int,
    kinds: Sequence[str] = USUAL_KINDS,
    base: str = "fixed",
    actuated: float = 0.0,
) -> Model:
    """A random model that URDF can express: one root link "body0", no reversed joints, M at the child's
    frame.

    `base` "fixed" welds the root to World by a joint that is not in the URDF; "floating" leaves it
    free.
    """
    model = random_model(
        seed,
        num_bodies,
        kinds=kinds,
        pick_parent=lambda rng, i: int(rng.integers(-1, i)) if i == 0 else int(rng.integers(0, i)),
        may_reverse=False,
        actuated=actuated,
    )
    joints = [
        replace(
            joint,
            X_PF=_or_identity(joint.X_PF) if joint.X_FM is None else _or_identity(joint.X_PF) @ joint.X_FM,
            X_BM=None,
            X_FM=None,
            # URDF's floating joint has no damping; a one-dof joint has one number.
            damping=(0.0,) * 6 if joint.kind == "floating" else joint.damping,
        )
        for joint in model.joints
        if joint.parent != WORLD
    ]
    if base == "fixed":
        joints.insert(0, Joint("body0", "weld", WORLD, "body0"))
    names = {joint.name for joint in joints}
    actuators = tuple(actuator for actuator in model.actuators if actuator.joint in names)
    return replace(
        model, joints=tuple(joints), actuators=actuators, frames=(), gravity=np.array([0.0, 0.0, -9.81])
    )


def to_urdf(model: Model, continuous: frozenset[str] = frozenset()) -> str:
    """Return the URDF text, with the joints in `continuous` written with that type instead of "revolute".

    Joints on World are omitted: the parser's choice of base replaces them.
    """
    lines = [f'<robot name="{model.name}">']
    lines += [line for body in model.bodies for line in _link(body)]
    for joint in model.joints:
        if joint.parent != WORLD:
            lines += _joint(joint, "continuous" if joint.name in continuous else joint.kind)
    for actuator in model.actuators:
        lines += [
            f'  <transmission name="{actuator.name}_transmission">',
            "    <type>transmission_interface/SimpleTransmission</type>",
            f'    <joint name="{actuator.joint}"/>',
            f'    <actuator name="{actuator.name}">',
            f'      <drake:rotor_inertia value="{actuator.rotor_inertia!r}"/>',
            f'      <drake:gear_ratio value="{actuator.gear_ratio!r}"/>',
            "    </actuator>",
            "  </transmission>",
        ]
    lines.append("</robot>")
    if model.actuators:
        lines[0] = lines[0][:-1] + ' xmlns:drake="https://drake.mit.edu">'
    return "\n".join(lines) + "\n"


def _link(body: Body) -> list[str]:
    inertia = body.I_BBcm_B
    entries = {
        "ixx": inertia[0, 0],
        "iyy": inertia[1, 1],
        "izz": inertia[2, 2],
        "ixy": inertia[0, 1],
        "ixz": inertia[0, 2],
        "iyz": inertia[1, 2],
    }
    attributes = " ".join(f'{name}="{float(value)!r}"' for name, value in entries.items())
    return [
        f'  <link name="{body.name}">',
        "    <inertial>",
        f'      <origin xyz="{_numbers(body.com)}"/>',
        f'      <mass value="{body.mass!r}"/>',
        f"      <inertia {attributes}/>",
        "    </inertial>",
        "  </link>",
    ]


def _joint(joint: Joint, kind: str) -> list[str]:
    kind = {"weld": "fixed"}.get(kind, kind)
    X_PC = _or_identity(joint.X_PF)
    lines = [
        f'  <joint name="{joint.name}" type="{kind}">',
        f'    <parent link="{joint.parent}"/>',
        f'    <child link="{joint.child}"/>',
        f'    <origin xyz="{_numbers(X_PC[:3, 3])}" rpy="{_numbers(roll_pitch_yaw(X_PC[:3, :3]))}"/>',
    ]
    if joint.axis is not None:
        lines.append(f'    <axis xyz="{_numbers(joint.axis)}"/>')
    if kind in ("revolute", "prismatic"):
        lines.append('    <limit lower="-10" upper="10" effort="100" velocity="100"/>')
    if joint.axis is not None and any(joint.damping):
        lines.append(f'    <dynamics damping="{float(joint.damping[0])!r}"/>')
    return [*lines, "  </joint>"]


def roll_pitch_yaw(R: Array) -> Array:
    """The angles of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _numbers(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def _or_identity(X: Array | None) -> Array:
    return np.eye(4) if X is None else X
