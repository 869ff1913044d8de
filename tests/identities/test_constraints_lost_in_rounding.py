"""Loops whose masses differ by more than doubles tell apart: an error or NaN, never wrong numbers."""

import numpy as np
import pytest

import mbt


def make_loop(masses: tuple[float, ...]) -> mbt.MultibodyTree:
    """Return a four-bar with these masses."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    inboard, X_PF = tree.world_body, np.eye(4)
    for i, (mass, length) in enumerate(zip(masses, (0.3, 0.8, 0.5), strict=True)):
        rod = mbt.SpatialInertia.solid_box_with_mass(mass, length, 0.02, 0.02).shift([-length / 2, 0, 0])
        body = tree.add_body(mbt.RigidBody(f"b{i}", rod))
        tree.add_joint(mbt.RevoluteJoint, f"j{i}", inboard, X_PF, body, None, [0, 1, 0])
        inboard, X_PF = body, mbt.math.make_pose([length, 0, 0])
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", inboard, X_PF))
    post = tree.add_frame(mbt.FixedOffsetFrame("post", tree.world_body, mbt.math.make_pose([0.7, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("closure", post, tip))
    tree.finalize()
    return tree


@pytest.mark.parametrize(
    "masses", [(1, 1, 1), (1, 1, 1e-9), (1, 2.9e3, 5e-13), (1e6, 1e7, 1e-12), (1, 1, 1e-14)]
)
def test_right_or_refused(masses: tuple[float, ...]) -> None:
    """One state and a batch."""
    tree = make_loop(masses)
    context = tree.create_default_context()
    context.q, context.v = [-0.9, 0.7, 1.1], [1.0, 2.0, 3.0]
    q, v = np.tile(context.q, (5, 1)), np.tile(context.v, (5, 1))
    batch = mbt.functional.forward_dynamics(tree, q, v, np.zeros((5, 3)))
    if min(masses) < 1e-11:
        with pytest.raises(mbt.SingularityError, match="constraints could not be solved"):
            tree.calc_forward_dynamics(context)
        assert np.isnan(batch).all()
    else:
        J, bias = tree.calc_constraint_jacobian(context), tree.calc_constraint_bias(context)
        assert abs(batch @ J.T + bias).max() < 1e-9 * abs(batch).max()
