"""Standing robots: a quadruped with twelve joints, a biped with four-point feet and five joints a leg."""

from __future__ import annotations

import numpy as np

import mbt
from mbt.math import make_pose


def _rod(mass, length):
    return mbt.SpatialInertia.thin_rod_with_mass(mass, length, [0, 0, 1]).shift([0, 0, 0.5 * length])


def _chain(tree, name, parent, p_PJ, links):
    """Add joints (axis, length, effort limit), each below the previous one."""
    X_PJ = make_pose(p=p_PJ)
    for k, (axis, length, limit) in enumerate(links):
        body = tree.add_body(mbt.RigidBody(f"{name}{k}", _rod(0.5, max(length, 0.05))))
        joint = tree.add_joint(mbt.RevoluteJoint, f"{name}{k}", parent, X_PJ, body, None, axis=axis)
        joint.set_position_limits([-2.7], [2.7])
        joint.set_velocity_limits([-20.0], [20.0])
        tree.add_joint_actuator(f"{name}{k}", joint, limit)
        parent, X_PJ = body, make_pose(p=[0, 0, -length])
    return parent


def _trunk(tree, mass, size):
    inertia = mbt.SpatialInertia.solid_box_with_mass(mass, *size)
    trunk = tree.add_body(mbt.RigidBody("trunk", inertia))
    tree.add_joint(mbt.QuaternionFloatingJoint, "base", tree.world_body, None, trunk, None)
    return trunk


def make_quadruped(*, effort_limit=40.0, friction=0.7):
    """Return a tree, contacts, and positions in which it stands with its trunk at 0.46 m."""
    tree = mbt.MultibodyTree()
    trunk = _trunk(tree, 8.0, [0.4, 0.2, 0.1])
    contacts = []
    places = (("fl", 0.2, 0.1), ("fr", 0.2, -0.1), ("hl", -0.2, 0.1), ("hr", -0.2, -0.1))
    for name, x, y in places:
        links = [
            ([1, 0, 0], 0.0, effort_limit),
            ([0, 1, 0], 0.3, effort_limit),
            ([0, 1, 0], 0.3, effort_limit),
        ]
        calf = _chain(tree, name, trunk, [x, y, 0], links)
        contacts.append(mbt.ContactPoints(calf.name, [0, 0, -0.3], friction=friction, name=name))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    q = tree.default_positions.copy()
    bend = np.arccos(0.46 / 0.6)
    q[7:] = np.tile([0.0, bend, -2.0 * bend], 4)
    q[6] = 0.46
    return tree, contacts, q


def make_biped():
    """Return a tree, contacts, and positions with parallel feet, so that contact rows are dependent."""
    tree = mbt.MultibodyTree()
    trunk = _trunk(tree, 20.0, [0.2, 0.3, 0.5])
    contacts = []
    for name, y in (("l", 0.1), ("r", -0.1)):
        axes = [([0, 0, 1], 0.0), ([1, 0, 0], 0.0), ([0, 1, 0], 0.4), ([0, 1, 0], 0.4), ([0, 1, 0], 0.05)]
        foot = _chain(tree, name, trunk, [0, y, -0.25], [(axis, length, 300.0) for axis, length in axes])
        sole = [[dx, dy, -0.05] for dx in (-0.08, 0.15) for dy in (-0.04, 0.04)]
        contacts.append(mbt.ContactPoints(foot.name, sole, friction=0.8, name=name))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    q = tree.default_positions.copy()
    q[7:] = np.tile([0.0, 0.0, -0.4, 0.8, -0.4], 2)
    q[6] = 0.25 + 0.8 * np.cos(0.4) + 0.05
    return tree, contacts, q


def make_hopper():
    """Return a trunk on rails on a leg of two joints, its contact, and positions in which it stands."""
    tree = mbt.MultibodyTree()
    rail = tree.add_body(mbt.RigidBody("rail", mbt.SpatialInertia.solid_sphere_with_mass(0.1, 0.05)))
    trunk = tree.add_body(mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(4.0, 0.2, 0.2, 0.1)))
    tree.add_joint(mbt.PrismaticJoint, "x", tree.world_body, None, rail, None, axis=[1, 0, 0])
    tree.add_joint(mbt.PrismaticJoint, "z", rail, None, trunk, None, axis=[0, 0, 1])
    shank = _chain(tree, "leg", trunk, [0, 0, 0], [([0, 1, 0], 0.3, 60.0), ([0, 1, 0], 0.3, 60.0)])
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    contact = mbt.ContactPoints(shank.name, [0, 0, -0.3], friction=0.7)
    return tree, [contact], np.array([0.0, 0.6 * np.cos(0.7), 0.7, -1.4])


def make_hands():
    """Return a tree of a free box between two hands on arms of six joints, and contacts on its sides."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_cube_with_mass(2.0, 0.2)))
    tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, box, None)
    contacts = []
    for name, side in (("left", -1.0), ("right", 1.0)):
        parent, X_PJ = tree.world_body, make_pose(p=[side * 0.1, 0.0, 0.0])
        for k in range(6):
            kind, axis = (mbt.PrismaticJoint if k < 3 else mbt.RevoluteJoint), np.eye(3)[k % 3]
            inertia = mbt.SpatialInertia.solid_sphere_with_mass(0.5, 0.05)
            body = tree.add_body(mbt.RigidBody(f"{name}{k}", inertia))
            joint = tree.add_joint(kind, f"{name}{k}", parent, X_PJ, body, None, axis=axis)
            tree.add_joint_actuator(f"{name}{k}", joint)
            parent, X_PJ = body, None
        points = [[0.0, dy, dz] for dy, dz in ((-0.05, -0.05), (0.05, -0.05), (0.0, 0.06))]
        normal = [side, 0.0, 0.0]  # the box pushes the hand away
        contacts.append(
            mbt.ContactPoints(parent.name, points, friction=0.8, normal=normal, surface="box", name=name)
        )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree, contacts


def check_batch_of_contexts(tree, controller, q, v, goals):
    """Check that a batch with a mass per sample gives the results of single Contexts; return them."""
    batch = tree.create_default_context(batch_shape=(2, 2))
    masses = np.array([[0.5, 1.0], [2.0, 3.0]])
    body = tree.bodies[-1]
    body.set_mass(batch, masses)
    qs = q + 0.02 * np.arange(2)[:, None]
    found = controller.solve(qs, v, goals, context=batch)
    assert found.tau.shape == (2, 2, tree.num_velocities)
    assert np.ptp(found.tau[:, 0], axis=0).max() > 0.1
    alone = tree.create_default_context()
    for i, j in np.ndindex(2, 2):
        body.set_mass(alone, masses[i, j])
        one = controller.solve(qs[j], v, goals, context=alone)
        np.testing.assert_allclose(found.tau[i, j], one.tau, atol=1e-6)
        np.testing.assert_allclose(found.contact_forces[i, j], one.contact_forces, atol=1e-6)
    of_all = controller.solve(qs, v, goals, context=alone)
    np.testing.assert_allclose(of_all.tau[1], found.tau[1, 1], atol=1e-6)
    return found
