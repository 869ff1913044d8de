"""Builds the models of tests/data/elements through the public API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mbt

Description = dict[str, Any]


def _axis(joint: Description) -> Description:
    return {"axis": joint["axis"], "damping": joint["damping"][0]}


def _damping(joint: Description) -> Description:
    return {"damping": joint["damping"][0]}


def _floating(joint: Description) -> Description:
    angular, translational = joint["damping"]
    return {"angular_damping": angular, "translational_damping": translational}


# Type -> class, and its arguments beyond name, frames and bodies.
JOINTS: dict[str, tuple[str, Callable[[Description], Description]]] = {
    "weld": ("WeldJoint", lambda joint: {"X_FM": joint["X_FM"]}),
    "revolute": ("RevoluteJoint", _axis),
    "prismatic": ("PrismaticJoint", _axis),
    "screw": ("ScrewJoint", lambda joint: _axis(joint) | {"screw_pitch": joint["screw_pitch"]}),
    "universal": ("UniversalJoint", _damping),
    "ball_rpy": ("BallRpyJoint", _damping),
    "planar": ("PlanarJoint", lambda joint: {"damping": joint["damping"]}),
    "rpy_floating": ("RpyFloatingJoint", _floating),
    "quaternion_floating": ("QuaternionFloatingJoint", _floating),
}


def build_element_tree(description: Description) -> mbt.MultibodyTree:
    """Return the finalized tree of a description."""
    tree = mbt.MultibodyTree()
    instances = {
        instance["name"]: tree.add_model_instance(instance["name"])
        for instance in description["model_instances"]
    }
    bodies = {"world": tree.world_body}
    for body in description["bodies"]:
        inertia = mbt.SpatialInertia(body["mass"], body["com_B"], body["unit_inertia_Bo_B"])
        instance = instances[body["model_instance"]]
        bodies[body["name"]] = tree.add_body(mbt.RigidBody(body["name"], inertia, instance))
    for joint in description["joints"]:
        class_name, arguments = JOINTS[joint["type"]]
        tree.add_joint(
            getattr(mbt, class_name),
            joint["name"],
            bodies[joint["parent"]],
            joint["X_PF"],
            bodies[joint["child"]],
            joint["X_BM"],
            **arguments(joint),
        )
    disabled = [instances[i["name"]] for i in description["model_instances"] if not i["gravity_enabled"]]
    off = {"disabled_model_instances": disabled} if disabled else {}
    tree.add_force_element(mbt.UniformGravityFieldElement, description["gravity"], **off)
    for element in description["force_elements"]:
        FORCE_ELEMENTS[element["type"]](tree, bodies, element)
    for actuator in description["actuators"]:
        joint = tree.get_joint_by_name(actuator["joint"])
        tree.add_joint_actuator(
            actuator["name"],
            joint,
            rotor_inertia=actuator["rotor_inertia"],
            gear_ratio=actuator["gear_ratio"],
        )
    tree.finalize()
    return tree


Bodies = dict[str, mbt.RigidBody]


def _add_revolute_spring(tree: mbt.MultibodyTree, bodies: Bodies, element: Description) -> None:
    joint = tree.get_joint_by_name(element["joint"])
    tree.add_force_element(mbt.RevoluteSpring, joint, element["nominal_angle"], element["stiffness"])


def _add_prismatic_spring(tree: mbt.MultibodyTree, bodies: Bodies, element: Description) -> None:
    joint = tree.get_joint_by_name(element["joint"])
    tree.add_force_element(mbt.PrismaticSpring, joint, element["nominal_position"], element["stiffness"])


def _add_door_hinge(tree: mbt.MultibodyTree, bodies: Bodies, element: Description) -> None:
    joint = tree.get_joint_by_name(element["joint"])
    constants = {name: value for name, value in element.items() if name not in ("type", "joint")}
    tree.add_force_element(mbt.DoorHinge, joint, mbt.DoorHingeConfig(**constants))


def _add_spring_damper(tree: mbt.MultibodyTree, bodies: Bodies, element: Description) -> None:
    tree.add_force_element(
        mbt.LinearSpringDamper,
        bodies[element["bodyA"]],
        element["p_AP"],
        bodies[element["bodyB"]],
        element["p_BQ"],
        element["free_length"],
        element["stiffness"],
        element["damping"],
    )


def _add_bushing(tree: mbt.MultibodyTree, bodies: Bodies, element: Description) -> None:
    name = f"bushing{len(tree.force_elements)}"
    frames = [
        tree.add_frame(mbt.FixedOffsetFrame(f"{name}_{end}", bodies[element[f"body{end}"]], X))
        for end, X in (("A", element["X_body_A"]), ("C", element["X_body_C"]))
    ]
    tree.add_force_element(
        mbt.LinearBushingRollPitchYaw,
        *frames,
        element["torque_stiffness"],
        element["torque_damping"],
        element["force_stiffness"],
        element["force_damping"],
    )


FORCE_ELEMENTS: dict[str, Callable[[mbt.MultibodyTree, Bodies, Description], None]] = {
    "revolute_spring": _add_revolute_spring,
    "prismatic_spring": _add_prismatic_spring,
    "door_hinge": _add_door_hinge,
    "linear_spring_damper": _add_spring_damper,
    "linear_bushing_rpy": _add_bushing,
}
