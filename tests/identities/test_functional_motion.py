"""Velocities, bias accelerations and momentum in `mbt.functional` agree with Jacobians and the Context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.case import MOVING, get_case

F = mbt.functional
every_model = pytest.mark.parametrize("model", MOVING)


def assert_close(actual: np.ndarray, desired: np.ndarray) -> None:
    np.testing.assert_allclose(
        actual, desired, rtol=0, atol=1e-12 * max(1.0, np.abs(desired).max(initial=0.0))
    )


@every_model
def test_motion_of_a_frame(model: str) -> None:
    case = get_case(model)
    tree, state = case.tree, case.state()
    context, zero = case.context(state), np.zeros(3)
    frame, M, E = tree.frames[-1], tree.frames[1], tree.frames[-2]
    J = F.frame_jacobian(tree, state.q, frame)
    assert_close(F.frame_velocity(tree, state.q, state.v, frame), J @ state.v)
    rate = F.frame_jacobian_rate(tree, state.q, state.v, frame)
    assert_close(F.frame_bias_acceleration(tree, state.q, state.v, frame), rate @ state.v)
    seen = {"relative_to": M, "expressed_in": E}
    J_M = tree.calc_jacobian_spatial_velocity(context, "v", frame, zero, M, E)
    assert_close(F.frame_velocity(tree, state.q, state.v, frame, **seen), J_M @ state.v)
    bias = tree.calc_bias_spatial_acceleration(context, "v", frame, zero, M, E)
    assert_close(F.frame_bias_acceleration(tree, state.q, state.v, frame, **seen), bias)


@every_model
def test_centre_of_mass_and_momentum(model: str) -> None:
    case = get_case(model)
    tree, state, h = case.tree, case.state(), 1e-6
    v_WCcm = F.center_of_mass_velocity(tree, state.q, state.v)
    assert_close(F.center_of_mass_jacobian(tree, state.q) @ state.v, v_WCcm)
    ahead, behind = (
        F.center_of_mass(tree, F.integrate_positions(tree, state.q, state.v, step)) for step in (h, -h)
    )
    np.testing.assert_allclose(v_WCcm, (ahead - behind) / (2 * h), rtol=0, atol=1e-8)
    momentum = F.spatial_momentum(tree, state.q, state.v)
    assert_close(F.centroidal_momentum_matrix(tree, state.q) @ state.v, momentum)
    assert_close(momentum[3:], tree.calc_total_mass(case.context(state)) * v_WCcm)


@every_model
def test_bias_of_momentum(model: str) -> None:
    """The rate of momentum at constant velocities, and the total external force."""
    case = get_case(model)
    tree, state, h = case.tree, case.state(), 1e-5
    bias = F.centroidal_momentum_bias(tree, state.q, state.v)
    ahead, behind = (
        F.spatial_momentum(tree, F.integrate_positions(tree, state.q, state.v, step), state.v)
        for step in (h, -h)
    )
    scale = 1.0 + np.abs(ahead).max() * (1.0 + np.abs(state.v).max())
    np.testing.assert_allclose(bias, (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * scale)
    context = case.context(state)
    a = tree.calc_bias_center_of_mass_translational_acceleration(
        context, "v", tree.world_frame, tree.world_frame
    )
    assert_close(bias[3:], tree.calc_total_mass(context) * a)


def velocity_in(tree: mbt.MultibodyTree, q: Any, v: Any, **options: Any) -> Any:
    seen = {"relative_to": tree.frames[1].name, "expressed_in": tree.frames[-2].name}
    return F.frame_velocity(tree, q, v, tree.frames[-1].name, **seen, **options)


def bias_in(tree: mbt.MultibodyTree, q: Any, v: Any, **options: Any) -> Any:
    seen = {"relative_to": tree.frames[1].name, "expressed_in": tree.frames[-2].name}
    return F.frame_bias_acceleration(tree, q, v, tree.frames[-1].name, **seen, **options)


OF_Q = [F.center_of_mass_jacobian, F.centroidal_momentum_matrix]
OF_Q_AND_V = [
    F.center_of_mass_velocity, F.spatial_momentum, F.centroidal_momentum_bias, velocity_in, bias_in
]  # fmt: skip
every_function = pytest.mark.parametrize(
    ("function", "count"), [*((f, 1) for f in OF_Q), *((f, 2) for f in OF_Q_AND_V)]
)


@every_function
def test_leading_axes_and_out(function: Any, count: int) -> None:
    """Leading axes in either argument; and outputs, which may also be input arrays."""
    tree = get_case("mixed8").tree
    states = [get_case("mixed8").state(k) for k in range(3)]
    several = [np.stack([getattr(state, name) for state in states]) for name in ("q", "v")][:count]
    found = function(tree, *several)
    singles = [[x[k] for x in several] for k in range(3)]
    for k, single in enumerate(singles):
        assert_close(found[k], function(tree, *single))
        out = np.empty_like(found[k])
        assert function(tree, *single, out=out) is out
        assert_close(out, found[k])
        assert_close(function(tree, *[x.tolist() for x in single]), found[k])
    out = np.empty_like(found)
    assert function(tree, *several, out=out) is out
    np.testing.assert_array_equal(out, found)
    assert function(tree, *[x[:0] for x in several]).shape == (0, *found.shape[1:])
    if count == 2:
        assert_close(function(tree, several[0][0], several[1])[0], found[0])
        assert_close(function(tree, several[0][:, None], several[1][None])[1, 1], found[1])
    with pytest.raises(mbt.ShapeError, match=r"^out: "):
        function(tree, *singles[0], out=np.empty(99))
    with pytest.raises(mbt.ShapeError, match=r"^q: "):
        function(tree, np.zeros(99), *singles[0][1:])


def test_out_over_velocities() -> None:
    """A result of six numbers may overwrite six velocities."""
    case = get_case("free_body")
    tree, state = case.tree, case.state()
    for function in (F.spatial_momentum, F.centroidal_momentum_bias):
        wanted = function(tree, state.q, state.v)
        v = state.v.copy()
        function(tree, state.q, v, out=v)
        np.testing.assert_array_equal(v, wanted)


@every_function
def test_numbers_with_derivatives(function: Any, count: int) -> None:
    """Along a motion, compared with differences; also for several states."""
    case, h = get_case("mixed8"), 1e-6
    tree, state = case.tree, case.state()
    dual = tree.to_autodiff()
    operands = [state.q, state.v][:count]
    rates = [tree.map_velocity_to_qdot(case.context(state), state.v), state.tau][:count]
    moving = [mbt.autodiff.AutoDiffArray(x, rate[:, None]) for x, rate in zip(operands, rates, strict=True)]
    found = function(dual, *moving)
    ahead, behind = (
        function(tree, *[x + step * rate for x, rate in zip(operands, rates, strict=True)])
        for step in (h, -h)
    )
    assert_close(found.value, function(tree, *operands))
    scale = 1.0 + np.abs(found.value).max() + np.abs(found.derivatives).max()
    np.testing.assert_allclose(
        found.derivatives[..., 0], (ahead - behind) / (2 * h), rtol=0, atol=1e-7 * scale
    )
    both = function(dual, np.stack([moving[0], moving[0]]), *moving[1:])
    assert_close(both.derivatives[1], found.derivatives)


@every_function
def test_expressions(function: Any, count: int) -> None:
    """A tree of SymPy gives the same at numeric positions."""
    pytest.importorskip("sympy")
    case = get_case("arm7")
    tree, state = case.tree, case.state()
    operands = [state.q, state.v][:count]
    found = function(tree.to_symbolic(), *operands)
    assert_close(found.astype(float), function(tree, *operands))


@pytest.mark.parametrize("function", ["center_of_mass_jacobian", "centroidal_momentum_matrix"])
def test_no_mass(function: str) -> None:
    """A single state raises an error; samples of a batch are NaN. Also for other scalars."""
    tree = mbt.MultibodyTree()
    ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia(0.0, [0, 0, 0], np.zeros((3, 3)))))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, ghost, None, axis=[1, 0, 0])
    tree.finalize()
    for given in (tree, tree.to_autodiff()):
        with pytest.raises(mbt.SingularityError, match="mass"):
            getattr(F, function)(given, [0.0])
    assert np.isnan(getattr(F, function)(tree, np.zeros((2, 1)))).any()
    for moving in (F.center_of_mass_velocity, F.spatial_momentum, F.centroidal_momentum_bias):
        for given in (tree, tree.to_autodiff()):
            with pytest.raises(mbt.SingularityError, match="mass"):
                moving(given, [0.0], [1.0])
        assert np.isnan(moving(tree, np.zeros((2, 1)), [1.0])).any()
        assert np.isnan(moving(tree, [0.0], np.ones((2, 1)))).any()


def test_another_frame_is_called_world() -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -0.5])))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.add_frame(mbt.FixedOffsetFrame("world", rod, mbt.math.make_pose(rpy=[1.0, 0.0, 0.0])))
    tree.finalize()
    for given in (tree, tree.to_autodiff()):
        J = F.center_of_mass_jacobian(given, [0.3])
        wanted = np.array([[-0.5 * np.cos(0.3)], [0.0], [0.5 * np.sin(0.3)]])
        assert_close(getattr(J, "value", J), wanted)
