"""Applied forces remain the arrays that were handed out: writing into them acts, whatever happened before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.kinds import KINDS, make_context, values_of


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    tree.finalize()
    return tree


def assign(tree: Any, context: Any, held: Any) -> None:
    forces = mbt.MultibodyForces(tree, context.batch_shape)
    forces.generalized_forces[..., 0] = 3.0
    context.applied_forces = forces


def halve(tree: Any, context: Any, held: Any) -> None:
    held *= 0.5


def divide(tree: Any, context: Any, held: Any) -> None:
    held /= 2.0


def assign_arrays(tree: Any, context: Any, held: Any) -> None:
    held.generalized_forces = values_of(held.generalized_forces) + 1.0
    held.body_forces = values_of(held.body_forces) + 1.0


def add(tree: Any, context: Any, held: Any) -> None:
    held.add_in_forces(held.clone())


def give_derivatives(tree: Any, context: Any, held: Any) -> None:
    if tree.scalar_type.name == "autodiff":
        context.q = mbt.autodiff.initialize([0.1])
    tree.calc_forward_dynamics(context)


EVENTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "nothing": lambda tree, context, held: None,
    "reset": lambda tree, context, held: tree.set_default_context(context),
    "assignment": assign,
    "assignment of itself": lambda tree, context, held: setattr(context, "applied_forces", held),
    "arrays are assigned": assign_arrays,
    "set_zero": lambda tree, context, held: held.set_zero(),
    "addition": add,
    "product": halve,
    "quotient": divide,
    "q with derivatives": give_derivatives,
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_held_acts(tree: mbt.MultibodyTree, kind: str, event: str) -> None:
    """The object, and the arrays that it returned before."""
    context = make_context(tree, kind)
    held = context.applied_forces
    F, tau = held.body_forces, held.generalized_forces
    EVENTS[event](context.tree, context, held)
    assert context.applied_forces is held
    ones = np.ones(values_of(context.q).shape)
    held.body_forces[...] = 0.0
    held.generalized_forces[..., 0] = 5.0
    np.testing.assert_array_equal(values_of(context.tree.calc_forward_dynamics(context)), 2.5 * ones)
    tau[..., 0] = 6.0
    F[..., 1, 3] = 2.0
    np.testing.assert_array_equal(values_of(context.tree.calc_forward_dynamics(context)), 4.0 * ones)


@pytest.mark.parametrize("kind", KINDS)
def test_a_reset_and_an_assignment_set_the_values(tree: mbt.MultibodyTree, kind: str) -> None:
    context = make_context(tree, kind)
    assign(context.tree, context, None)
    assert (values_of(context.applied_forces.generalized_forces) == 3.0).all()
    context.tree.set_default_context(context)
    assert not values_of(context.applied_forces.generalized_forces).any()
    assert not values_of(context.tree.calc_forward_dynamics(context)).any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_clone_has_its_own(tree: mbt.MultibodyTree, kind: str) -> None:
    context = make_context(tree, kind)
    assign(context.tree, context, None)
    twin = context.clone()
    twin.applied_forces.generalized_forces[..., 0] = 8.0
    assert (values_of(context.applied_forces.generalized_forces) == 3.0).all()
    assert (values_of(twin.applied_forces.generalized_forces) == 8.0).all()
