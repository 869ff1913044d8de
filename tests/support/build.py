"""Turns a plain description into an `mbt` tree through the public API."""

from __future__ import annotations

import mbt
from support.description import WORLD, Joint, Model
from support.reference import Layout, Reference


def build_tree(model: Model, *, finalize: bool = True) -> mbt.MultibodyTree:
    """The tree of a model; elements are added in the order of the description."""
    tree = mbt.MultibodyTree()
    bodies = {WORLD: tree.world_body}
    for body in model.bodies:
        inertia = mbt.SpatialInertia.make_from_central_inertia(body.mass, body.com, body.I_BBcm_B)
        bodies[body.name] = tree.add_body(mbt.RigidBody(body.name, inertia))
    for joint in model.joints:
        add_joint(tree, joint, bodies[joint.parent], bodies[joint.child])
    frames: dict[str, mbt.Frame] = {name: body.body_frame for name, body in bodies.items()}
    for frame in model.frames:
        offset = mbt.FixedOffsetFrame(frame.name, frames[frame.parent], frame.X_PF)
        frames[frame.name] = tree.add_frame(offset)
    if model.gravity is not None:
        tree.add_force_element(mbt.UniformGravityFieldElement(model.gravity))
    for actuator in model.actuators:
        tree.add_joint_actuator(
            actuator.name,
            tree.get_joint_by_name(actuator.joint),
            rotor_inertia=actuator.rotor_inertia,
            gear_ratio=actuator.gear_ratio,
        )
    if finalize:
        tree.finalize()
    return tree


def add_joint(
    tree: mbt.MultibodyTree, joint: Joint, parent: mbt.RigidBody, child: mbt.RigidBody
) -> mbt.Joint:
    ends = (joint.name, parent, joint.X_PF, child, joint.X_BM)
    if joint.kind == "weld":
        return tree.add_joint(mbt.WeldJoint, *ends, X_FM=joint.X_FM)
    damping = joint.damping or (0.0,) * joint.num_velocities
    if joint.kind == "floating":
        return tree.add_joint(
            mbt.QuaternionFloatingJoint, *ends, angular_damping=damping[0], translational_damping=damping[3]
        )
    if joint.kind == "rpy_floating":
        return tree.add_joint(
            mbt.RpyFloatingJoint, *ends, angular_damping=damping[0], translational_damping=damping[3]
        )
    if joint.kind == "screw":
        return tree.add_joint(
            mbt.ScrewJoint, *ends, axis=joint.axis, screw_pitch=joint.screw_pitch, damping=damping[0]
        )
    if joint.kind == "cylindrical":
        return tree.add_joint(mbt.CylindricalJoint, *ends, axis=joint.axis, damping=damping)
    if joint.kind == "planar":
        return tree.add_joint(mbt.PlanarJoint, *ends, damping=damping)
    if joint.kind == "curvilinear":
        return tree.add_joint(mbt.CurvilinearJoint, *ends, make_path(joint), damping=damping[0])
    if joint.kind in ("revolute", "prismatic"):
        one_axis = {"revolute": mbt.RevoluteJoint, "prismatic": mbt.PrismaticJoint}[joint.kind]
        return tree.add_joint(one_axis, *ends, axis=joint.axis, damping=damping[0])
    rotating = {
        "universal": mbt.UniversalJoint,
        "ball_rpy": mbt.BallRpyJoint,
        "quaternion_ball": mbt.QuaternionBallJoint,
    }[joint.kind]
    assert len(set(damping)) == 1
    added: mbt.Joint = tree.add_joint(rotating, *ends, damping=damping[0])
    return added


def make_path(joint: Joint) -> mbt.PiecewiseConstantCurvatureTrajectory:
    path = joint.path
    assert path is not None
    return mbt.PiecewiseConstantCurvatureTrajectory(
        path.breaks, path.turning_rates, path.tangent, path.normal, path.position, path.is_periodic
    )


def layout_of(tree: mbt.MultibodyTree) -> Layout:
    """Where the tree stores its bodies and coordinates."""
    return Layout(
        {body.name: body.node_index for body in tree.bodies},
        {joint.name: joint.position_start for joint in tree.joints},
        {joint.name: joint.velocity_start for joint in tree.joints},
    )


def tree_and_reference(model: Model) -> tuple[mbt.MultibodyTree, Reference]:
    """A tree, and the reference that computes the same quantities in the same order."""
    tree = build_tree(model)
    return tree, Reference(model, layout_of(tree))
