"""Models for pictures, whose parts have different colours."""

from __future__ import annotations

import numpy as np

import mbt

RED, GREEN = (0.85, 0.05, 0.05, 1.0), (0.05, 0.75, 0.10, 1.0)
#: Centre of each coloured shape in its link.
P_RED, P_GREEN = (0.0, 0.0, -0.25), (0.0, 0.0, -0.5)
LIMIT = 0.7


def pendulum() -> mbt.MultibodyTree:
    """A red rod with a green ball at its end, which swings about x from 1 m above the ground."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.08, 0.08, 0.5).shift([0.0, 0.0, 0.25])
    rod = tree.add_body(mbt.RigidBody("rod", inertia))
    rod.add_visual(mbt.Shape("box", [0.08, 0.08, 0.5], mbt.math.make_pose(P_RED), color=RED))
    rod.add_visual(mbt.Shape("sphere", [0.1], mbt.math.make_pose(P_GREEN), color=GREEN))
    tree.add_joint(
        mbt.RevoluteJoint,
        "swing",
        tree.world_body,
        mbt.math.make_pose([0.0, 0.0, 1.0]),
        rod,
        None,
        axis=[1, 0, 0],
        pos_lower_limit=-LIMIT,
        pos_upper_limit=LIMIT,
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def box_on_the_ground() -> mbt.MultibodyTree:
    """A free box without shapes that touches the ground with four corners."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    corners = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    tree.add_force_element(
        mbt.PointContact(box, corners, stiffness=500.0, dissipation=1.0, static_friction=0.8)
    )
    tree.finalize()
    return tree


def where(tree: mbt.MultibodyTree, q: float, p_LP: tuple[float, float, float]) -> np.ndarray:
    """Return the position in World of a point of the only link."""
    X_WL = mbt.functional.frame_pose(tree, [q], tree.get_body_by_name("rod"))
    position: np.ndarray = X_WL[:3, :3] @ p_LP + X_WL[:3, 3]
    return position
