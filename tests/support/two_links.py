"""A double pendulum with a spring and damping: small enough for expressions."""

from __future__ import annotations

from functools import cache

import mbt


@cache
def two_links() -> mbt.MultibodyTree:
    """Return the pendulum; at zero angles it can be computed in fractions."""
    tree = mbt.MultibodyTree()
    inboard = tree.world_body
    for i in (1, 2):
        inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.5, 0.25, 1.0).shift([0, 0.25, 0.5])
        link = tree.add_body(mbt.RigidBody(f"link{i}", inertia))
        X_PF = mbt.math.make_pose([0.25, 0, -1])
        joint = tree.add_joint(
            mbt.RevoluteJoint, f"pin{i}", inboard, X_PF, link, None, axis=[0, 1, 0], damping=0.5
        )
        inboard = link
    tree.add_force_element(mbt.RevoluteSpring(joint, 0.25, 4.0))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -9.75]))
    tree.finalize()
    return tree
