"""Pinocchio's motion of the centre of mass and of frames, and momentum, on URDF made from random models."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.build import layout_of
from support.quantities import EPS, random_state
from support.reference import Reference
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

F = mbt.functional
ARM = ("revolute", "revolute", "prismatic", "weld")


@pytest.mark.parametrize(("seed", "num_bodies"), [(2, 5), (3, 12), (4, 30)])
def test_same(seed: int, num_bodies: int) -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    from support.pinocchio_peer import PinocchioPeer

    model = urdf_model(seed, num_bodies, ARM, base="fixed", actuated=0.0)
    urdf = to_urdf(model, frozenset())
    tree = mbt.load_model(urdf, base="fixed")
    layout = layout_of(tree)
    peer, reference = PinocchioPeer(urdf, model, layout), Reference(model, layout)
    # Pinocchio has the linear part of forces and motions first.
    swapped = np.r_[3:6, 0:3]
    link = tree.bodies[-1]
    for k in range(2):
        state = random_state(reference, np.random.default_rng(k))
        # Only the order of coordinates differs.
        q, T = peer.q(state.q), peer.T(state.q)
        v = T @ state.v
        at = (peer.model, peer.data, q)

        # Pinocchio omits the mass of bodies welded to World, so its centre of mass differs.
        moving = sum(inertia.mass for inertia in peer.model.inertias.tolist()[1:])
        share = moving / tree.calc_total_mass(tree.create_default_context())
        between = mbt.math.skew(pin.centerOfMass(*at) - F.center_of_mass(tree, state.q))
        shift = np.block([[np.eye(3), between], [np.zeros((3, 3)), np.eye(3)]])

        A = shift @ pin.computeCentroidalMap(*at)[swapped] @ T
        assert_same(F.centroidal_momentum_matrix(tree, state.q), A)
        assert_same(F.spatial_momentum(tree, state.q, state.v), A @ state.v)
        pin.dccrba(*at, v)
        bias = shift @ (peer.data.dAg @ v)[swapped]
        assert_same(F.centroidal_momentum_bias(tree, state.q, state.v), bias)

        J = pin.jacobianCenterOfMass(*at) @ T
        assert_same(F.center_of_mass_jacobian(tree, state.q), share * J)
        pin.centerOfMass(*at, v)
        assert_same(F.center_of_mass_velocity(tree, state.q, state.v), share * peer.data.vcom[0])

        pin.forwardKinematics(*at, v, np.zeros_like(v))
        pin.updateFramePlacements(peer.model, peer.data)
        frame = peer.model.getFrameId(link.name)
        of_frame = (peer.model, peer.data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        velocity = pin.getFrameVelocity(*of_frame).vector[swapped]
        assert_same(F.frame_velocity(tree, state.q, state.v, link), velocity)
        bias = pin.getFrameClassicalAcceleration(*of_frame).vector[swapped]
        assert_same(F.frame_bias_acceleration(tree, state.q, state.v, link), bias)

        goal = mbt.math.exp_se3(np.random.default_rng(k).uniform(-1.5, 1.5, 6))
        X_FG = peer.data.oMf[frame].actInv(pin.SE3(goal))
        e, J = F.pose_error(tree, state.q, link, goal, jacobian=True)
        assert_same(e, pin.log6(X_FG).vector[swapped])
        of_frame = pin.computeFrameJacobian(*at, frame, pin.ReferenceFrame.LOCAL)
        wanted = -(pin.Jlog6(X_FG.inverse()) @ of_frame)[swapped] @ T
        assert_same(J, wanted)


def assert_same(actual: np.ndarray, desired: np.ndarray) -> None:
    scale = max(1.0, np.abs(desired).max(initial=0.0))
    np.testing.assert_allclose(actual, desired, rtol=0, atol=1024 * EPS * scale)
