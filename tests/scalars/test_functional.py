"""The functions of `mbt.functional` on trees of other scalars."""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray
from support.build import build_tree
from support.calls import FUNCTIONS
from support.description import Array
from support.force_element_types import Drag, make_everything
from support.random_trees import random_model
from support.taking_long import taking_long

THREE = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


@cache
def tree_of(name: str) -> mbt.MultibodyTree:
    if name == "everything":
        return make_everything()
    if name == "drag":
        tree = mbt.MultibodyTree()
        body = tree.add_body(
            mbt.RigidBody("body", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.4, 0.5))
        )
        tree.add_joint(mbt.PlanarJoint, "plane", tree.world_body, None, body, None, damping=[0.1, 0.2, 0.3])
        tree.add_force_element(Drag(body, 0.5))
        tree.finalize()
        return tree
    return build_tree(random_model(201, 3, kinds=("revolute", "prismatic", "weld"), actuated=1.0))


def operands(tree: mbt.MultibodyTree, function: str, *lead: tuple[int, ...]) -> list[Array]:
    """Return random arguments with these leading axes; the last axes are reused for further arguments."""
    rng = np.random.default_rng(3)
    shapes = FUNCTIONS[function].shapes(tree).values()
    leads = [lead[min(i, len(lead) - 1)] for i in range(len(shapes))] if lead else [()] * len(shapes)
    values = [rng.normal(size=(*axes, *shape)) for axes, shape in zip(leads, shapes, strict=True)]
    values[0] = tree.normalize_positions(values[0])
    return values


def run(function: str, tree: mbt.MultibodyTree, *values: Any, **keywords: Any) -> Any:
    result = FUNCTIONS[function].run(tree, None, *values, **keywords)  # type: ignore[arg-type]
    return np.stack(result, axis=-3) if isinstance(result, tuple) else result


@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_those_of_doubles(function: str) -> None:
    check_values(tree_of("drag"), function)


@pytest.mark.parametrize("function", taking_long(FUNCTIONS, *THREE))
def test_values_of_elements_are_those_of_doubles(function: str) -> None:
    check_values(tree_of("everything"), function)


def check_values(tree: mbt.MultibodyTree, function: str) -> None:
    values = operands(tree, function, (2, 1), (3,))
    wanted = run(function, tree, *values)
    got = run(function, tree.to_autodiff(), *values)
    assert isinstance(got, AutoDiffArray)
    scale = max(1.0, float(np.max(np.abs(wanted))))
    np.testing.assert_allclose(got.value, wanted, rtol=0, atol=1e-10 * scale)
    first = [value.reshape(-1, value.shape[-1])[0] for value in values]
    np.testing.assert_array_equal(run(function, tree.to_autodiff(), *first).value, got.value[0, 0])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_derivatives_are_those_of_differences(function: str) -> None:
    tree = tree_of("drag")
    values = operands(tree, function, (2,))
    rates = [np.random.default_rng(4).normal(size=value.shape) for value in values]
    seeded = [AutoDiffArray(x, dx[..., None]) for x, dx in zip(values, rates, strict=True)]
    got = run(function, tree.to_autodiff(), *seeded)
    h = 1e-6
    plus, minus = (
        run(function, tree, *(x + s * dx for x, dx in zip(values, rates, strict=True))) for s in (h, -h)
    )
    wanted = (plus - minus) / (2 * h)
    scale = max(1.0, float(np.max(np.abs(wanted))))
    np.testing.assert_allclose(got.derivatives[..., 0], wanted, rtol=0, atol=1e-8 * scale)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_many_digits(function: str) -> None:
    tree = tree_of("small")
    values = operands(tree, function, (2,))
    wanted = run(function, tree, *values)
    with mpmath.workdps(40):
        digits = [np.vectorize(mpmath.mpf, otypes=[object])(value) for value in values]
        got = run(function, tree.clone_to_scalar("mpmath"), *digits)
    assert got.dtype == object
    assert all(isinstance(entry, mpmath.mpf) for entry in got.ravel())
    np.testing.assert_allclose(got.astype(float), wanted, rtol=0, atol=1e-10 * max(1.0, np.abs(wanted).max()))


def test_symbols() -> None:
    tree = tree_of("small")
    q = sp.symbols(f"q:{tree.num_positions}")
    M = mbt.functional.mass_matrix(tree.to_symbolic(), [q, q])
    assert M.shape == (2, tree.num_velocities, tree.num_velocities)
    numbers = np.linspace(0.1, 0.9, len(q))
    got = np.array(sp.Matrix(M[1]).subs(dict(zip(q, numbers, strict=True))), dtype=float)
    np.testing.assert_allclose(got, mbt.functional.mass_matrix(tree, numbers), atol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_out(function: str) -> None:
    tree = tree_of("drag").to_autodiff()
    values = operands(tree_of("drag"), function, (2,))
    wanted = run(function, tree, *values)
    if function in THREE:
        out: Any = tuple(mbt.autodiff.constant(np.ones((2, 3, 3)), 0) for _ in range(2))
        got = FUNCTIONS[function].run(tree, None, *values, out=(out[0], None, out[1]))  # type: ignore[arg-type]
        assert got[0] is out[0]
        assert got[2] is out[1]
        np.testing.assert_array_equal(np.stack(got, axis=-3).value, wanted.value)
    else:
        out = mbt.autodiff.constant(np.ones(wanted.shape), 0)
        assert FUNCTIONS[function].run(tree, None, *values, out=out) is out  # type: ignore[arg-type]
        np.testing.assert_array_equal(out.value, wanted.value)
    with pytest.raises((mbt.ArgumentTypeError, mbt.ShapeError)):
        FUNCTIONS[function].run(tree, None, *values, out=np.ones(wanted.shape))  # type: ignore[arg-type]


def test_external_forces() -> None:
    tree = tree_of("everything")
    ad = tree.to_autodiff()
    q, v, x = operands(tree, "inverse_dynamics")
    forces, seeded = mbt.MultibodyForces(tree), mbt.MultibodyForces(ad)
    rng = np.random.default_rng(0)
    forces.body_forces, forces.generalized_forces = (
        rng.normal(size=(tree.num_bodies, 6)),
        rng.normal(size=v.size),
    )
    seeded.body_forces = AutoDiffArray(forces.body_forces, rng.normal(size=(tree.num_bodies, 6, 2)))
    seeded.generalized_forces = forces.generalized_forces
    for name in ("inverse_dynamics", "forward_dynamics"):
        f = getattr(mbt.functional, name)
        wanted, got = f(tree, q, v, x, external_forces=forces), f(ad, q, v, x, external_forces=seeded)
        np.testing.assert_allclose(got.value, wanted, atol=1e-9 * np.abs(wanted).max())
        assert got.derivatives.any()
        with pytest.raises(mbt.MbtError):
            f(ad, q, v, x, external_forces=forces)
    for name in THREE:
        f = getattr(mbt.functional, name)
        wanted, got = f(tree, q, v, x, external_forces=forces), f(ad, q, v, x, external_forces=seeded)
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a.value, b, atol=1e-9 * np.abs(b).max())


def test_singular_states_of_a_batch() -> None:
    tree = tree_of("everything")
    ad = tree.to_autodiff()
    q, v, x = operands(tree, "inverse_dynamics")
    joint = next(joint for joint in tree.joints if isinstance(joint, mbt.QuaternionFloatingJoint))
    bad = q.copy()
    bad[joint.position_start : joint.position_start + 4] = 0.0
    with pytest.raises(mbt.SingularityError):
        mbt.functional.inverse_dynamics(ad, bad, v, x)
    seeded = AutoDiffArray(np.stack([q, bad]), np.ones((2, q.size, 1)))
    tau = mbt.functional.inverse_dynamics(ad, seeded, v, x)
    assert np.isfinite(tau.value[0]).all()
    assert np.isfinite(tau.derivatives[0]).all()
    assert np.isnan(tau.value[1]).all()
    assert np.isnan(tau.derivatives[1]).all()


def test_empty_batches_and_wrong_shapes() -> None:
    tree = tree_of("drag").to_autodiff()
    empty = mbt.functional.inverse_dynamics_derivatives(tree, np.zeros((0, 3)), np.zeros(3), np.zeros(3))
    assert [matrix.shape for matrix in empty] == [(0, 3, 3)] * 3
    assert mbt.functional.body_poses(tree, np.zeros((0, 3))).shape == (0, 2, 4, 4)
    with pytest.raises(mbt.ShapeError, match="q"):
        mbt.functional.mass_matrix(tree, np.zeros(2))
    with pytest.raises(mbt.ShapeError, match=r"leading axes do not broadcast: q \(2,\), v \(3,\)"):
        mbt.functional.bias_term(tree, np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(mbt.ForeignElementError):
        mbt.functional.frame_jacobian(tree, np.zeros(3), tree_of("drag").world_frame)


def test_a_subclass_of_tree_is_one_of_doubles() -> None:
    class Robot(mbt.MultibodyTree):
        pass

    robot = Robot()
    robot.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    robot.finalize()
    assert isinstance(mbt.functional.mass_matrix(robot, [1.0, 0, 0, 0, 0, 0, 0]), np.ndarray)
