"""PE + KE - integral of the non-conservative power is constant along a motion.

Positions, velocities and the integral are integrated together by the classical Runge-Kutta method. Its error
is of the fourth order: half the step makes it 16 times smaller. A force without a matching energy
leaves an error that does not shrink.
"""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from support.force_element_types import ELEMENTS, make_everything
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state

STEP = 0.04
NUM_STEPS = 8


def energy_error(tree: mbt.MultibodyTree, start: mbt.Context, step: float, num_steps: int) -> float:
    """Return the largest |PE + KE - W - (PE + KE)(0)| at the steps."""
    context = start.clone()
    nq, nv = tree.num_positions, tree.num_velocities

    def rates(x: np.ndarray) -> np.ndarray:
        context.q, context.v = x[:nq], x[nq : nq + nv]
        qdot = tree.map_velocity_to_qdot(context, context.v)
        power = tree.calc_non_conservative_power(context)
        return np.concatenate([qdot, tree.calc_forward_dynamics(context), [power]])

    def balance(x: np.ndarray) -> float:
        context.q, context.v = x[:nq], x[nq : nq + nv]
        return float(tree.calc_potential_energy(context) + tree.calc_kinetic_energy(context) - x[-1])

    x = np.concatenate([start.q, start.v, [0.0]])
    initial, worst = balance(x), 0.0
    for _ in range(num_steps):
        k1 = rates(x)
        k2 = rates(x + step / 2 * k1)
        k3 = rates(x + step / 2 * k2)
        k4 = rates(x + step * k3)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        worst = max(worst, abs(balance(x) - initial))
    return worst


def assert_conserved(tree: mbt.MultibodyTree, start: mbt.Context, step: float = STEP) -> None:
    errors = [energy_error(tree, start, step / 2**k, NUM_STEPS * 2**k) for k in range(3)]
    energy = abs(tree.calc_potential_energy(start)) + tree.calc_kinetic_energy(start)
    rounding = 1e-13 * (1.0 + energy)
    # 16, less what the next order takes away; the error of the coarse steps may pass through zero.
    assert errors[1] <= max(errors[0] / 10, rounding), errors
    assert errors[2] <= max(errors[1] / 12, rounding), errors
    assert errors[2] <= 1e-4 * (1.0 + energy), errors


def _chain(
    kind: str, rng: np.random.Generator, *, is_reversed: bool = False, is_damped: bool = False
) -> tuple[mbt.MultibodyTree, list[mbt.RigidBody], list[mbt.Joint]]:
    """World, a hinge, a body, the joint of the type, a body, a slider, a body in an instance of its own."""
    tree = mbt.MultibodyTree()
    instances = [mbt.default_model_instance(), mbt.default_model_instance(), tree.add_model_instance("tip")]
    bodies = [tree.world_body]
    bodies += [add_random_body(tree, rng, f"body{i}", instance) for i, instance in enumerate(instances)]
    joints = [
        add_joint_of_type(tree, "revolute", "hinge", bodies[0], bodies[1], rng),
        add_joint_of_type(
            tree, kind, "joint", bodies[1], bodies[2], rng, is_reversed=is_reversed, is_damped=is_damped
        ),
        add_joint_of_type(tree, "prismatic", "slider", bodies[2], bodies[3], rng, is_reversed=True),
    ]
    return tree, bodies, joints


@pytest.mark.parametrize("is_damped", [False, True], ids=["free", "damped"])
@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_joint(kind: str, is_reversed: bool, is_damped: bool) -> None:
    rng = np.random.default_rng(1)
    tree, _, _ = _chain(kind, rng, is_reversed=is_reversed, is_damped=is_damped)
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, -2.0, -3.0]))
    tree.finalize()
    start = random_state(tree, rng)
    assert (tree.calc_non_conservative_power(start) < 0.0) == is_damped
    assert_conserved(tree, start)


def _with_elements(*names: str) -> tuple[mbt.MultibodyTree, mbt.Context]:
    rng = np.random.default_rng(2)
    tree, bodies, joints = _chain("ball_rpy", rng)
    for name in names:
        tree.add_force_element(ELEMENTS[name][0](tree, bodies, joints))
    tree.finalize()
    return tree, random_state(tree, rng)


@pytest.mark.parametrize("name", ELEMENTS)
def test_force_element(name: str) -> None:
    tree, start = _with_elements(name)
    if ELEMENTS[name][1]:
        assert tree.calc_non_conservative_power(start) < 0.0
    assert_conserved(tree, start)


@pytest.mark.parametrize("name", ELEMENTS)
def test_force_element_power_is_that_of_its_forces(name: str) -> None:
    """Pc + Pnc = F . V + tau . v, and Pc = -dPE/dt."""
    tree, start = _with_elements(name)
    forces = mbt.MultibodyForces(tree)
    tree.calc_force_elements_contribution(start, forces)
    V_WB = tree.eval_velocity_kinematics(start).V_WB
    power = np.sum(forces.body_forces * V_WB) + forces.generalized_forces @ start.v
    Pc, Pnc = tree.calc_conservative_power(start), tree.calc_non_conservative_power(start)
    assert Pc + Pnc == pytest.approx(power, rel=1e-12, abs=1e-12)
    qdot = tree.map_velocity_to_qdot(start, start.v)

    def energy(t: float) -> float:
        moved = start.clone()
        moved.q = start.q + t * qdot
        return tree.calc_potential_energy(moved)

    h = 1e-4
    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert Pc == pytest.approx(-rate, rel=1e-8, abs=1e-8)


def test_all_together() -> None:
    """Every joint type in both directions, damped, and every force element, in one tree."""
    tree = make_everything()
    assert_conserved(tree, random_state(tree, np.random.default_rng(3)), STEP / 4)


@pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
def test_locked_joint(kind: str) -> None:
    """The force that holds a locked joint does no work."""
    rng = np.random.default_rng(1)
    tree, _, joints = _chain(kind, rng, is_damped=True)
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, -2.0, -3.0]))
    tree.finalize()
    start = random_state(tree, rng)
    joints[1].lock(start)
    assert tree.calc_non_conservative_power(start) == 0.0
    assert_conserved(tree, start)
