"""Pinocchio's derivatives of inverse and forward dynamics, on URDF made from random models."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.build import layout_of
from support.derivatives import largest_errors
from support.quantities import EPS, random_state
from support.reference import Reference
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

ARM = ("revolute", "revolute", "prismatic", "weld")


@pytest.mark.parametrize(("seed", "num_bodies"), [(1, 1), (2, 5), (3, 12), (4, 30)])
def test_same(seed: int, num_bodies: int) -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    from support.pinocchio_peer import PinocchioPeer

    model = urdf_model(seed, num_bodies, ARM, base="fixed", actuated=0.0)
    urdf = to_urdf(model, frozenset())
    tree = mbt.load_model(urdf, base="fixed")
    layout = layout_of(tree)
    peer, reference = PinocchioPeer(urdf, model, layout), Reference(model, layout)
    for k in range(2):
        state = random_state(reference, np.random.default_rng(k))
        # Only the order of coordinates differs.
        q, T = peer.q(state.q), peer.T(state.q)
        # Pinocchio's dynamics has no joint damping.
        damping = -np.diag(reference.damping_forces(np.ones(tree.num_velocities)))

        by_q, by_v, M = pin.computeRNEADerivatives(peer.model, peer.data, q, T @ state.v, T @ state.vdot)
        M = np.triu(M) + np.triu(M, 1).T
        desired = (T.T @ by_q @ T, T.T @ by_v @ T + damping, T.T @ M @ T)
        actual = mbt.functional.inverse_dynamics_derivatives(tree, state.q, state.v, state.vdot)
        assert max(largest_errors(actual, desired)) < 512 * EPS

        tau = T @ (state.tau - damping @ state.v)
        by_q, by_v, M_inverse = pin.computeABADerivatives(peer.model, peer.data, q, T @ state.v, tau)
        M_inverse = np.triu(M_inverse) + np.triu(M_inverse, 1).T
        M_inverse = T.T @ M_inverse @ T
        desired = (T.T @ by_q @ T, T.T @ by_v @ T - M_inverse @ damping, M_inverse)
        actual = mbt.functional.forward_dynamics_derivatives(tree, state.q, state.v, state.tau)
        cond = np.linalg.cond(M) if M.size else 1.0
        assert max(largest_errors(actual, desired)) < 256 * EPS * cond
