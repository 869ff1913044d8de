"""Jacobians, bias accelerations, momentum, composite inertia and reactions against Drake, on random URDF."""

# mypy: disable-error-code="arg-type"
# (the stubs of pydrake use an array type that no NumPy array has)

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np
import pytest

import mbt
from support.build import layout_of
from support.quantities import QUANTITIES, State, assert_close, random_state
from support.reference import Reference
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

ARM = ("revolute", "revolute", "prismatic", "weld")
POINTS = np.array([[0.1, -0.3], [-0.2, 0.5], [0.3, 0.2]])
BASES: tuple[Literal["fixed", "floating"], ...] = ("fixed", "floating")


class Pair:
    """A tree and a plant of the same model, in the same state."""

    def __init__(self, seed: int, base: Literal["fixed", "floating"]) -> None:
        pytest.importorskip("pydrake", reason="needs the `oracle` extra")
        from support.drake_peer import DrakePeer

        model = urdf_model(seed, 12, ARM, base=base, actuated=0.5)
        urdf = to_urdf(model)
        self.tree = mbt.load_model(urdf, base=base)
        layout = layout_of(self.tree)
        self.reference = Reference(model, layout)
        self.peer = DrakePeer(urdf, model, layout)
        self.plant: Any = self.peer.plant
        self.state: State = random_state(self.reference, np.random.default_rng(seed))
        self.c = self.tree.create_default_context()
        self.c.q, self.c.v = self.state.q, self.state.v
        self.theirs: Any = self.peer._at(self.state.q, self.state.v)

    def frames(self) -> list[tuple[tuple[mbt.Frame, ...], tuple[Any, ...]]]:
        names = [body.name for body in self.reference.model.bodies]
        picks = [
            (names[-1], names[0], names[3]),
            (names[2], names[-1], names[-1]),
            (names[5], "world", "world"),
        ]
        return [
            (
                tuple(self.tree.get_body_by_name(n).body_frame for n in pick),
                tuple(self.plant.GetBodyByName(n).body_frame() for n in pick),
            )
            for pick in picks
        ]

    def columns(self, J: np.ndarray, variable: str) -> np.ndarray:
        ours = np.empty_like(J)
        ours[:, self.peer.v_order if variable == "v" else self.peer.q_order] = J
        return ours


@cache
def pair_of(seed: int, base: Literal["fixed", "floating"]) -> Pair:
    return Pair(seed, base)


@pytest.fixture(params=[(seed, base) for seed in (1, 2) for base in BASES], ids=str)
def pair(request: pytest.FixtureRequest) -> Pair:
    return pair_of(*request.param)


@pytest.mark.parametrize("variable", ["v", "qdot"])
def test_jacobians(pair: Pair, variable: Literal["v", "qdot"]) -> None:
    from pydrake.multibody.tree import JacobianWrtVariable

    wrt = JacobianWrtVariable.kV if variable == "v" else JacobianWrtVariable.kQDot
    tree, c, plant, d = pair.tree, pair.c, pair.plant, pair.theirs
    scale = 8 * QUANTITIES["jacobians"].scale(pair.reference, pair.state)
    for (B, A, E), (B_, A_, E_) in pair.frames():
        for ours, theirs in (
            (
                tree.calc_jacobian_spatial_velocity(c, variable, B, POINTS[:, 0], A, E),
                plant.CalcJacobianSpatialVelocity(d, wrt, B_, POINTS[:, 0], A_, E_),
            ),
            (
                tree.calc_jacobian_angular_velocity(c, variable, B, A, E),
                plant.CalcJacobianAngularVelocity(d, wrt, B_, A_, E_),
            ),
            (
                tree.calc_jacobian_translational_velocity(c, variable, B, POINTS, A, E),
                plant.CalcJacobianTranslationalVelocity(d, wrt, B_, POINTS, A_, E_),
            ),
            (
                tree.calc_jacobian_center_of_mass_translational_velocity(c, variable, A, E),
                plant.CalcJacobianCenterOfMassTranslationalVelocity(d, wrt, A_, E_),
            ),
        ):
            assert_close(ours, pair.columns(theirs, variable), scale)
        ours = tree.calc_jacobian_position_vector(c, B, POINTS, A, E)
        theirs = plant.CalcJacobianPositionVector(d, B_, POINTS, A_, E_)
        assert_close(ours, pair.columns(theirs, "qdot"), scale)


def test_bias_accelerations(pair: Pair) -> None:
    from pydrake.multibody.tree import JacobianWrtVariable

    wrt = JacobianWrtVariable.kV
    tree, c, plant, d = pair.tree, pair.c, pair.plant, pair.theirs
    scale = 8 * QUANTITIES["accelerations"].scale(pair.reference, pair.state)
    for (B, A, E), (B_, A_, E_) in pair.frames():
        ours = tree.calc_bias_spatial_acceleration(c, "v", B, POINTS[:, 0], A, E)
        theirs = plant.CalcBiasSpatialAcceleration(d, wrt, B_, POINTS[:, 0], A_, E_).get_coeffs()
        assert_close(ours, theirs, scale)
        ours = tree.calc_bias_translational_acceleration(c, "v", B, POINTS, A, E)
        theirs = plant.CalcBiasTranslationalAcceleration(d, wrt, B_, POINTS, A_, E_)
        assert_close(ours, theirs, scale)
    W, W_ = tree.world_frame, plant.world_frame()
    ours = tree.calc_bias_center_of_mass_translational_acceleration(c, "v", W, W)
    theirs = plant.CalcBiasCenterOfMassTranslationalAcceleration(d, wrt, W_, W_)
    assert_close(ours, theirs, scale)


def test_mass_and_momentum(pair: Pair) -> None:
    tree, c, plant, d = pair.tree, pair.c, pair.plant, pair.theirs
    point = np.array([0.3, -0.5, 0.2])
    mass = QUANTITIES["mass_matrix"].scale(pair.reference, pair.state)
    speed = float(np.abs(pair.state.v).sum())
    ours = tree.calc_spatial_momentum_in_world_about_point(c, point)
    theirs = plant.CalcSpatialMomentumInWorldAboutPoint(d, point).get_coeffs()
    assert_close(ours, theirs, 8 * mass * speed)
    names = [body.name for body in pair.reference.model.bodies][::2]
    for (B, _, _), (B_, _, _) in pair.frames():
        M = tree.calc_spatial_inertia(c, B, [tree.get_body_by_name(n) for n in names])
        M_ = plant.CalcSpatialInertia(d, B_, [plant.GetBodyByName(n).index() for n in names])
        assert_close(M.as_matrix6(), M_.CopyToFullMatrix6(), 8 * (1 + mass))


def test_accelerations_and_reactions(pair: Pair) -> None:
    """Forward dynamics with gravity, damping and applied forces; frames measured in moving frames too."""
    tree, c, plant, d = pair.tree, pair.c.clone(), pair.plant, pair.theirs
    state = pair.state
    c.applied_forces.generalized_forces[:] = state.tau
    plant.get_applied_generalized_force_input_port().FixValue(d, state.tau[pair.peer.v_order])
    vdot = tree.calc_forward_dynamics(c)
    scale = 64 * QUANTITIES["forward_dynamics"].scale(pair.reference, state)
    scale *= pair.reference.length_scale(state.q)
    for (F, M, E), (F_, M_, E_) in pair.frames():
        theirs = F_.CalcSpatialAcceleration(d, M_, E_).get_coeffs()
        assert_close(F.calc_spatial_acceleration(c, M, E), theirs, scale)
        theirs = F_.CalcRelativeSpatialAcceleration(d, M_, E_, E_).get_coeffs()
        assert_close(F.calc_relative_spatial_acceleration(c, M, E, E), theirs, scale)
    a_com = plant.CalcCenterOfMassTranslationalAccelerationInWorld(d)
    assert_close(tree.calc_center_of_mass_translational_acceleration_in_world(c), a_com, scale)
    reactions = tree.calc_reaction_forces(c)
    forces = plant.get_reaction_forces_output_port().Eval(d)
    force_scale = 64 * pair.reference.force_scale(state.q, state.v, vdot)
    compared = 0
    for joint in tree.joints:
        if plant.HasJointNamed(joint.name):
            theirs = forces[int(plant.GetJointByName(joint.name).index())]
            F_Jc = np.concatenate([theirs.rotational(), theirs.translational()])
            assert_close(reactions[joint.index], F_Jc, force_scale + scale)
            compared += 1
    assert compared >= 11
