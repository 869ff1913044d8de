"""The rate of a Jacobian against the bias acceleration, differences, and Pinocchio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.case import FEW, MOVING, Case, get_case
from support.description import Array
from support.differences import derivative_tolerance, time_derivative

P = np.array([0.1, -0.2, 0.3])


def frames_of(case: Case) -> list[tuple[mbt.Frame, mbt.Frame, mbt.Frame]]:
    """Frames B, A and E: A is World, a body on the way to B, one on another branch, or B itself."""
    tree = case.tree
    world, tip, other = tree.world_frame, tree.bodies[-1].body_frame, tree.bodies[1].body_frame
    middle = tree.bodies[tree.num_bodies // 2].body_frame
    return [(tip, world, world), (tip, middle, world), (other, tip, middle), (tip, tip, other)]


@pytest.mark.parametrize("model", MOVING)
def test_times_velocity_is_the_bias(model: str) -> None:
    """Jdot v = A - J vdot: computed by another algorithm, without columns."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    scale = 1.0 + case.reference.length_scale(state.q) * float(np.abs(state.v).sum()) ** 2
    for B, A, E in frames_of(case):
        Jdot = tree.calc_jacobian_spatial_velocity_rate(context, B, P, A, E)
        assert Jdot.shape == (6, tree.num_velocities)
        bias = tree.calc_bias_spatial_acceleration(context, "v", B, P, A, E)
        np.testing.assert_allclose(Jdot @ state.v, bias, rtol=0.0, atol=1e-12 * scale)


@pytest.mark.parametrize("model", MOVING)
def test_columns_vs_differences(model: str) -> None:
    """d/dt J along the motion, entry by entry, where neither A nor E turns."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    world, tip = tree.world_frame, tree.bodies[-1].body_frame
    qdot = tree.map_velocity_to_qdot(context, state.v)
    rate = float(np.abs(state.v).sum())
    moved = context.clone()

    def jacobian(t: float) -> Array:
        moved.q = state.q + t * qdot
        return tree.calc_jacobian_spatial_velocity(moved, "v", tip, P, world, world)

    Jdot = tree.calc_jacobian_spatial_velocity_rate(context, tip, P, world, world)
    tolerance = derivative_tolerance(case.reference.length_scale(state.q), rate)
    assert np.max(np.abs(time_derivative(jacobian, rate) - Jdot), initial=0.0) <= tolerance


@pytest.mark.parametrize("model", FEW)
def test_function(model: str) -> None:
    """The function is for the frame's origin in World, expressed in any frame, with leading axes."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    world, tip, E = tree.world_frame, tree.bodies[-1].body_frame, tree.bodies[1].body_frame
    desired = tree.calc_jacobian_spatial_velocity_rate(context, tip, np.zeros(3), world, E)
    Jdot = functional.frame_jacobian_rate(tree, state.q, state.v, tip, expressed_in=E)
    np.testing.assert_allclose(Jdot, desired, rtol=1e-13, atol=1e-13)
    Jdot = functional.frame_jacobian_rate(tree, np.stack([state.q] * 3), state.v, tip, expressed_in=E)
    np.testing.assert_allclose(Jdot, np.stack([desired] * 3), rtol=1e-12, atol=1e-12)


@pytest.mark.oracle
def test_pinocchio() -> None:
    pin: Any = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    tree = mbt.load_model(ARM)
    model = pin.buildModelFromXML(ARM)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v = rng.uniform(-1.0, 1.0, (2, 3))
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    pin.updateFramePlacements(model, data)
    for name in ("one", "two", "three"):
        frame = model.getFrameId(name)
        theirs = pin.getFrameJacobianTimeVariation(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        ours = functional.frame_jacobian_rate(tree, q, v, tree.get_body_by_name(name))
        np.testing.assert_allclose(ours, np.vstack([theirs[3:], theirs[:3]]), rtol=0.0, atol=1e-13)


def _link(name: str) -> str:
    inertia = '<inertia ixx="0.1" iyy="0.2" izz="0.15" ixy="0" ixz="0" iyz="0"/>'
    return f'<link name="{name}"><inertial><mass value="1"/>{inertia}</inertial></link>'


def _joint(kind: str, parent: str, child: str, axis: str) -> str:
    limits = '<limit effort="1" velocity="1" lower="-9" upper="9"/>'
    return (
        f'<joint name="{child}_joint" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="0.1 0.2 0.3" rpy="0.3 0.2 0.1"/><axis xyz="{axis}"/>{limits}</joint>'
    )


ARM = (
    '<robot name="arm"><link name="base"/>'
    + "".join(map(_link, ("one", "two", "three")))
    + _joint("revolute", "base", "one", "0 0 1")
    + _joint("prismatic", "one", "two", "0 0.6 0.8")
    + _joint("revolute", "two", "three", "1 0 0")
    + "</robot>"
)
