"""Derivatives of inverse and forward dynamics against dual numbers, and against each other."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.quantities.names import Quantity
from support.case import get_case
from support.derivatives import derivatives_by_dual, largest_errors
from support.description import Array
from support.force_element_types import ELEMENTS, USER_WRITTEN, make_everything
from support.joint_types import JOINT_TYPES, add_joint_of_type, add_random_body
from support.quantities import EPS, QUANTITIES, assert_close
from support.random_trees import CATALOGUE

COMPILED_ELEMENTS = [name for name in ELEMENTS if name not in USER_WRITTEN]


def tolerance_of_forward_dynamics(M: Array) -> float:
    """Both algorithms invert M along the tree."""
    return 256 * EPS * float(np.linalg.cond(M)) if M.size else 0.0


@pytest.mark.parametrize("model", CATALOGUE)
def test_inverse_dynamics(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    actual = case.tree.calc_inverse_dynamics_derivatives(
        case.context(state), state.vdot, include_force_elements=True
    )
    desired = derivatives_by_dual(case.tree, Quantity.INVERSE_DYNAMICS, state.q, state.v, state.vdot)
    assert max(largest_errors(actual, desired)) < 256 * EPS


@pytest.mark.parametrize("model", CATALOGUE)
def test_forward_dynamics(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    actual = case.tree.calc_forward_dynamics_derivatives(context, state.tau)
    desired = derivatives_by_dual(case.tree, Quantity.FORWARD_DYNAMICS, state.q, state.v, state.tau)
    error = max(largest_errors(actual, desired))
    assert error <= tolerance_of_forward_dynamics(case.tree.calc_mass_matrix(context))


def test_trees_on_world_do_not_meet() -> None:
    """Blocks, of sizes that do not fill registers, equal those of each tree alone; all else is zero."""
    tree, alone = mbt.MultibodyTree(), []
    for size in (5, 1, 7, 2):
        alone.append(mbt.MultibodyTree())
        for owner in (tree, alone[-1]):
            parent, rng = owner.world_body, np.random.default_rng(size)
            for k in range(size):
                inertia = mbt.SpatialInertia.solid_box_with_mass(*rng.uniform(0.5, 1.0, 4))
                link = owner.add_body(mbt.RigidBody(f"{size}_{k}", inertia))
                X, axis = mbt.math.make_pose(rng.uniform(-1, 1, 3)), np.eye(3)[k % 3]
                owner.add_joint(mbt.RevoluteJoint, link.name, parent, X, link, None, axis=axis)
                parent = link
    for each in (tree, *alone):
        each.add_force_element(mbt.UniformGravityFieldElement())
        each.finalize()
    nv = tree.num_velocities
    q, v, tau = np.random.default_rng(1).uniform(-1, 1, (3, 6, nv))
    for rows in (0, slice(None)):
        shape = np.shape(q[rows])[:-1]
        found = [np.full((*shape, nv, nv), 7.0) for _ in range(3)]
        functional.forward_dynamics_derivatives(tree, q[rows], v[rows], tau[rows], out=tuple(found))
        start = 0
        for one in alone:
            own = slice(start, start + one.num_velocities)
            desired = functional.forward_dynamics_derivatives(
                one, q[rows][..., own], v[rows][..., own], tau[rows][..., own]
            )
            for all_blocks, block in zip(found, desired, strict=True):
                atol = 1e-12 * np.abs(block).max()
                np.testing.assert_allclose(all_blocks[..., own, own], block, rtol=0, atol=atol)
                all_blocks[..., own, own] = 0.0
            start = own.stop
        assert not np.any(found)


@pytest.mark.parametrize("model", CATALOGUE)
def test_inverse_vs_forward(model: str) -> None:
    """``dvdot = -M^-1 dtau`` where vdot results from tau."""
    case, state = get_case(model), get_case(model).state()
    context, tree = case.context(state), case.tree
    by_q, by_v, M_inverse = tree.calc_forward_dynamics_derivatives(context, state.tau)
    vdot = tree.calc_forward_dynamics(context, state.tau)
    dtau_dq, dtau_dv, M = tree.calc_inverse_dynamics_derivatives(context, vdot, include_force_elements=True)
    np.testing.assert_allclose(M_inverse, M_inverse.T, rtol=0, atol=64 * EPS * np.max(M_inverse, initial=0.0))
    if not M.size:
        return
    near = 256 * EPS * float(np.linalg.cond(M))
    assert np.linalg.norm(M @ M_inverse - np.eye(len(M)), 2) <= near
    for x, y in ((by_q, dtau_dq), (by_v, dtau_dv)):
        assert np.linalg.norm(M @ x + y, 2) <= near * (np.linalg.norm(y, 2) + np.linalg.norm(M, 2))


@pytest.mark.parametrize("model", CATALOGUE)
def test_third_matrix_is_mass_matrix(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    _, _, M = case.tree.calc_inverse_dynamics_derivatives(context, state.vdot, include_force_elements=True)
    desired = case.tree.calc_mass_matrix(context)
    assert np.max(np.abs(M - desired), initial=0.0) <= 64 * EPS * np.max(desired, initial=0.0)
    assert np.max(np.abs(M - M.T), initial=0.0) <= 64 * EPS * np.max(desired, initial=0.0)


@pytest.mark.parametrize("model", CATALOGUE)
def test_velocities_vs_bias_term(model: str) -> None:
    """Without forces tau is quadratic in v: ``dtau_dv v = 2 C v``."""
    case, state = get_case(model), get_case(model).state()
    context = case.context(state)
    still = np.zeros(case.tree.num_velocities)
    _, by_v, _ = case.tree.calc_inverse_dynamics_derivatives(context, still, include_force_elements=False)
    bias = case.tree.calc_bias_term(context)
    assert_close(by_v @ state.v, 2 * bias, 2 * QUANTITIES["bias_term"].scale(case.reference, state))


@pytest.mark.parametrize(
    "model", [name for name in CATALOGUE if get_case(name).tree.is_velocity_equal_to_qdot]
)
def test_gravity_at_rest_is_symmetric(model: str) -> None:
    """Where qdot = v, gravity has a potential, and its second derivatives are symmetric."""
    case, state = get_case(model), get_case(model).state()
    tree, context = case.tree, case.context(state)
    context.v = still = np.zeros(tree.num_velocities)
    by_q, _, _ = tree.calc_inverse_dynamics_derivatives(context, still, include_force_elements=True)
    assert np.max(np.abs(by_q - by_q.T), initial=0.0) <= 256 * EPS * np.max(np.abs(by_q), initial=0.0)


def make_tree(kind: str, element: str, is_reversed: bool) -> mbt.MultibodyTree:
    """Return a chain of a hinge, any joint and a slider, with one force element."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    bodies, joints = [tree.world_body], []
    for i, one in enumerate(("revolute", kind, "prismatic")):
        bodies.append(add_random_body(tree, rng, f"body{i}"))
        joints.append(
            add_joint_of_type(
                tree, one, f"joint{i}", bodies[i], bodies[-1], rng, is_reversed=is_reversed, is_damped=True
            )
        )
    tree.add_force_element(ELEMENTS[element][0](tree, bodies, joints))
    tree.finalize()
    return tree


def random_inputs(tree: mbt.MultibodyTree) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(1)
    q = tree.create_default_context().q + rng.uniform(-0.3, 0.3, tree.num_positions)
    v, x = rng.uniform(-1.0, 1.0, (2, tree.num_velocities))
    return q, v, x


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("element", COMPILED_ELEMENTS)
@pytest.mark.parametrize("kind", JOINT_TYPES)
def test_force_element(kind: str, element: str, is_reversed: bool) -> None:
    tree = make_tree(kind, element, is_reversed)
    assert_both(tree, *random_inputs(tree))


def test_all_force_elements() -> None:
    tree = make_everything(user_written=False)
    assert_both(tree, *random_inputs(tree))


def assert_both(tree: mbt.MultibodyTree, q: Array, v: Array, x: Array) -> None:
    actual = functional.inverse_dynamics_derivatives(tree, q, v, x)
    desired = derivatives_by_dual(tree, Quantity.INVERSE_DYNAMICS, q, v, x)
    assert max(largest_errors(actual, desired)) < 512 * EPS
    near = tolerance_of_forward_dynamics(actual[2])
    actual = functional.forward_dynamics_derivatives(tree, q, v, x)
    desired = derivatives_by_dual(tree, Quantity.FORWARD_DYNAMICS, q, v, x)
    assert max(largest_errors(actual, desired)) <= near


def test_far_from_world_origin() -> None:
    """Sums are taken about a point of each tree: a robot a thousand kilometres away loses no digits."""
    case, state = get_case("one_floating"), get_case("one_floating").state()
    context = case.context(state)
    near = case.tree.calc_inverse_dynamics_derivatives(context, state.vdot, include_force_elements=True)
    q = state.q.copy()
    q[4:] += 1e6
    context.q = q
    far = case.tree.calc_inverse_dynamics_derivatives(context, state.vdot, include_force_elements=True)
    # 1e6 + x keeps x to 1e-10.
    assert max(largest_errors(far, near)) < 1e-7
