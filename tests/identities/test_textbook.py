"""The recursions as the textbooks write them, in NumPy (`support.textbook`), against the tree."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from support import textbook
from support.case import MOVING, get_case
from support.description import Array
from support.mechanism import read_mechanism
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE
from support.spatial_vectors import acceleration_of_point, shift

PASSES = Path(__file__).parents[2] / "src" / "mbt" / "_core" / "passes"
WITH_MASS = tuple(name for name in CATALOGUE if name != "world_only")
# Joints of one dof, in both directions, and welds.
ONE_DOF_JOINTS = (
    *("one_revolute", "one_revolute_reversed", "one_prismatic", "one_screw", "one_screw_reversed"),
    *("one_curvilinear", "one_curvilinear_reversed", "arm7", "mixed3", "deep_chain", "welded_chain"),
)


class Page:
    """A model of the catalogue in a state, read by the textbook."""

    def __init__(self, name: str) -> None:
        self.case = get_case(name)
        self.tree, self.state = self.case.tree, self.case.state()
        self.context = self.case.context(self.state)
        self.mechanism = read_mechanism(self.tree, self.context)
        self.x = textbook.move_to_world(self.mechanism)
        # Forces on bodies, shifted from their origins to that of World.
        self.applied = np.array(
            [shift(p).T @ F for p, F in zip(self.origins, self.state.body_forces, strict=True)]
        )
        self.forces = self.case.subject().forces(self.state.body_forces)
        self.damping = self.case.reference.damping

    @property
    def origins(self) -> Array:
        return self.x.X_WB[:, :3, 3]

    def scale(self, quantity: str) -> float:
        return QUANTITIES[quantity].scale(self.case.reference, self.state)

    def condition(self) -> float:
        """The factor by which inverting M may amplify rounding."""
        return float(np.linalg.cond(self.tree.calc_mass_matrix(self.context)))


@cache
def open_page(name: str) -> Page:
    """Tests share the page, and must not change its state."""
    return Page(name)


@pytest.mark.parametrize("model", CATALOGUE)
def test_kinematics(model: str) -> None:
    page = open_page(model)
    x, tree, context, vdot = page.x, page.tree, page.context, page.state.vdot
    pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    assert_close(x.X_WB, pc.X_WB, page.scale("poses"), "X_WB")
    V_WB = np.array([shift(p) @ V for p, V in zip(page.origins, x.V, strict=True)])
    assert_close(V_WB, vc.V_WB, page.scale("velocities"), "V_WB")
    A = textbook.accelerations(x, vdot, np.zeros(6))
    A_WB = np.array([acceleration_of_point(*row) for row in zip(x.V, A, page.origins, strict=True)])
    desired = tree.calc_spatial_accelerations_from_vdot(context, vdot)
    assert_close(A_WB, desired, page.scale("accelerations"), "A_WB")
    for b, p in enumerate(page.origins):
        d = page.mechanism.dofs[b]
        assert_close(x.S[d] @ shift(p).T, pc.H_PB_W[d], page.scale("poses"), "H_PB_W")


@pytest.mark.parametrize("model", CATALOGUE)
def test_jacobians(model: str) -> None:
    page = open_page(model)
    tree, W, p_BP = page.tree, page.tree.world_frame, np.array([0.3, -0.2, 0.5])
    for b in {0, tree.num_bodies // 2, tree.num_bodies - 1}:
        B, p_WP = tree.node_bodies[b].body_frame, (page.x.X_WB[b] @ [*p_BP, 1.0])[:3]
        J = tree.calc_jacobian_spatial_velocity(page.context, "v", B, p_BP, W, W)
        Jdot = tree.calc_jacobian_spatial_velocity_rate(page.context, B, p_BP, W, W)
        assert_close(textbook.jacobian(page.x, b, p_WP), J, page.scale("jacobians"), "J")
        assert_close(textbook.jacobian_rate(page.x, b, p_WP), Jdot, page.scale("velocities"), "Jdot")


@pytest.mark.parametrize("model", CATALOGUE)
def test_inverse_dynamics(model: str) -> None:
    page = open_page(model)
    x, vdot, scale = page.x, page.state.vdot, page.scale("inverse_dynamics_with_forces")
    F_BMo_W = np.full((page.tree.num_bodies, 6), np.nan)
    desired = page.tree.calc_inverse_dynamics(
        page.context, vdot, page.forces, include_force_elements=True, F_BMo_W_array=F_BMo_W
    )
    tau = textbook.inverse_dynamics(x, vdot, page.applied) + page.damping * page.state.v
    assert_close(tau, desired, scale, "tau")
    F = textbook.reaction_forces(x, vdot, page.applied)
    p_WMo = [(X_WB @ X_BM)[:3, 3] for X_WB, X_BM in zip(x.X_WB, page.mechanism.X_BM, strict=True)]
    F = np.array([shift(-p).T @ F_B for p, F_B in zip(p_WMo, F, strict=True)])
    assert_close(F, F_BMo_W, scale, "F_BMo_W")


@pytest.mark.parametrize("model", CATALOGUE)
def test_generalized_forces(model: str) -> None:
    """With forces on bodies alone, and with their weights."""
    page = open_page(model)
    tree, context, rest = page.tree, page.context, np.zeros(page.tree.num_velocities)
    bias = tree.calc_inverse_dynamics(context, rest)
    desired = bias - tree.calc_inverse_dynamics(context, rest, page.forces)
    scale = page.scale("inverse_dynamics_with_forces")
    assert_close(textbook.generalized_forces(page.x, page.applied), desired, scale, "J' F")
    tau_g = tree.calc_gravity_generalized_forces(context)
    assert_close(textbook.gravity_forces(page.x), tau_g, page.scale("gravity_forces"), "tau_g")


@pytest.mark.parametrize("model", CATALOGUE)
def test_mass_matrix(model: str) -> None:
    page = open_page(model)
    M = page.tree.calc_mass_matrix(page.context)
    assert_close(textbook.mass_matrix(page.x), M, page.scale("mass_matrix"))


@pytest.mark.parametrize("model", MOVING)
def test_mass_matrix_inverse(model: str) -> None:
    page = open_page(model)
    desired = page.tree.calc_mass_matrix_inverse(page.context)
    scale = page.condition() * float(np.linalg.norm(desired, 2))
    assert_close(textbook.mass_matrix_inverse(page.x), desired, scale)


@pytest.mark.parametrize("model", MOVING)
def test_forward_dynamics(model: str) -> None:
    page = open_page(model)
    desired = page.tree.calc_forward_dynamics(page.context, page.state.tau, page.forces)
    vdot = textbook.forward_dynamics(page.x, page.state.tau - page.damping * page.state.v, page.applied)
    # About O, the inertia of a joint is a difference of terms that grow with the square of the distance.
    assert_close(vdot, desired, page.scale("forward_dynamics") * page.scale("poses") ** 2)


@pytest.mark.parametrize("model", CATALOGUE)
def test_coriolis_matrix(model: str) -> None:
    page = open_page(model)
    scale = page.scale("mass_matrix") * float(np.abs(page.state.v).sum())
    assert_close(textbook.coriolis_matrix(page.x), page.tree.calc_coriolis_matrix(page.context), scale)


@pytest.mark.parametrize("model", WITH_MASS)
def test_momentum(model: str) -> None:
    page = open_page(model)
    p_WCcm = textbook.center_of_mass(page.mechanism)
    desired = page.tree.calc_center_of_mass_position_in_world(page.context)
    assert_close(p_WCcm, desired, page.scale("center_of_mass"), "p_WCcm")
    A_G = page.tree.calc_centroidal_momentum_matrix(page.context)
    assert_close(textbook.momentum_matrix(page.x, p_WCcm), A_G, page.scale("mass_matrix"), "A_G")


@pytest.mark.parametrize("model", CATALOGUE)
def test_regressor(model: str) -> None:
    page = open_page(model)
    Y = page.tree.calc_inverse_dynamics_regressor(page.context, page.state.vdot)
    # For unit masses: accelerations times levers.
    scale = page.scale("accelerations") * page.scale("jacobians")
    assert_close(textbook.inverse_dynamics_regressor(page.x, page.state.vdot), Y, scale)


@pytest.mark.parametrize("model", ONE_DOF_JOINTS)
def test_inverse_dynamics_derivatives(model: str) -> None:
    page = open_page(model)
    by_q, by_v, _ = page.tree.calc_inverse_dynamics_derivatives(
        page.context, page.state.vdot, include_force_elements=True
    )
    dtau_dq, dtau_dv = textbook.inverse_dynamics_derivatives(page.x, page.state.vdot)
    assert_close(dtau_dq, by_q, 1 + np.abs(by_q).max(), "by q")
    assert_close(dtau_dv + np.diag(page.damping), by_v, 1 + np.abs(by_v).max(), "by v")


@pytest.mark.parametrize("model", ONE_DOF_JOINTS)
def test_forward_dynamics_derivatives(model: str) -> None:
    page = open_page(model)
    by_q, by_v, M_inverse = page.tree.calc_forward_dynamics_derivatives(page.context, page.state.tau)
    vdot = page.tree.calc_forward_dynamics(page.context, page.state.tau)
    dvdot_dq, dvdot_dv = textbook.forward_dynamics_derivatives(page.x, vdot)
    assert_close(dvdot_dq, by_q, page.condition() * (1 + np.abs(by_q).max()), "by q")
    desired = by_v + M_inverse * page.damping
    assert_close(dvdot_dv, desired, page.condition() * (1 + np.abs(by_v).max()), "by v")


def test_passes_name_it() -> None:
    """The references in docstrings of the kernels exist: functions here, or a module of its own."""
    places = [
        re.search(r"In NumPy: tests/support/(?:textbook\.py, ([\w, ]+)|constraints\.py)", line)
        for path in PASSES.glob("*.pxd")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "In NumPy" in line
    ]
    named = [place[1] for place in places if place and place[1]]
    names = {name for text in named for name in text.split(", ") if " " not in name}
    assert len(places) > 15
    assert all(places)
    assert names <= set(vars(textbook))
