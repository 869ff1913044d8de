"""Functions composed of others stay exact, even if mixed with doubles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import mbt
from mbt import functional
from mbt.symbolic import ScalarType


def sliders() -> mbt.MultibodyTree:
    """Two carts on one rail, coupled, with a motor on the first."""
    tree = mbt.MultibodyTree()
    joints = []
    for name, mass in (("left", 2.0), ("right", 3.0)):
        cart = tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.point_mass(mass, [0, 0, 0])))
        joints.append(tree.add_joint(mbt.PrismaticJoint, name, tree.world_body, None, cart, None, [1, 0, 0]))
    tree.add_constraint(mbt.CouplerConstraint("belt", *joints, gear_ratio=0.5))
    tree.add_joint_actuator("motor", joints[0])
    tree.finalize()
    return tree


def test_fractions_stay_fractions() -> None:
    scalar = ScalarType(Fraction(0), Fraction(1), from_float=Fraction, name="fraction")
    tree = sliders().clone_to_scalar(scalar)
    q, vdot = (np.array([Fraction(*x), 2 * Fraction(*x)], object) for x in ((1, 3), (2, 7)))
    goal = mbt.math.make_pose([1.0, 0.0, 0.0])
    e, J = functional.pose_error(tree, q, "left", goal, jacobian=True)
    tau, multipliers = functional.constrained_inverse_dynamics(tree, q, 0 * q, vdot)
    for array in (e, J, tau, multipliers):
        assert all(isinstance(x, Fraction) for x in array.flat)
    assert e.tolist() == [0, 0, 0, Fraction(2, 3), 0, 0]
    assert J[3].tolist() == [-1, 0]
    # q_left = q_right / 2: the motor moves 2 kg, and 3 kg via the gear; the belt carries that part.
    assert tau.tolist() == [2 * Fraction(2, 7) + 2 * 3 * Fraction(4, 7), 0]
    assert abs(multipliers[0]) == 2 * 3 * Fraction(4, 7)
