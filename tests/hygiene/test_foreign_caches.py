"""A cache of another tree is refused, even if the trees are alike: in every kind of Context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.two_links import two_links

KINDS = ("double", "batch", "autodiff", "sympy")


def twin_of(kind: str) -> tuple[mbt.MultibodyTree, Any]:
    tree = two_links().clone()
    if kind not in ("double", "batch"):
        tree = tree.clone_to_scalar(kind)
    return tree, tree.create_default_context((2,) if kind == "batch" else ())


def calls(tree: Any, context: Any, pc: Any, vc: Any, ac: Any) -> dict[str, Callable[[], object]]:
    forces = mbt.MultibodyForces(tree, context.batch_shape)
    element, vdot = tree.force_elements[0], [0.0, 0.0]
    return {
        "pc into": lambda: tree.calc_position_kinematics_cache(context, pc),
        "vc into": lambda: tree.calc_velocity_kinematics_cache(context, None, vc),
        "ac into": lambda: tree.calc_acceleration_kinematics_cache(context, vdot, ac=ac),
        "velocities, pc": lambda: tree.calc_velocity_kinematics_cache(context, pc),
        "accelerations, pc": lambda: tree.calc_spatial_accelerations_from_vdot(context, vdot, pc=pc),
        "accelerations, vc": lambda: tree.calc_spatial_accelerations_from_vdot(context, vdot, vc=vc),
        "dynamics, pc": lambda: tree.calc_inverse_dynamics(context, vdot, pc=pc),
        "dynamics, vc": lambda: tree.calc_inverse_dynamics(context, vdot, vc=vc),
        "elements, pc": lambda: tree.calc_force_elements_contribution(context, forces, pc=pc),
        "elements, vc": lambda: tree.calc_force_elements_contribution(context, forces, vc=vc),
        "element, pc": lambda: element.calc_and_add_force_contribution(context, pc=pc, forces=forces),
        "element, vc": lambda: element.calc_and_add_force_contribution(context, vc=vc, forces=forces),
        "energy, pc": lambda: element.calc_potential_energy(context, pc),
        "power, pc": lambda: element.calc_conservative_power(context, pc),
        "power, vc": lambda: element.calc_non_conservative_power(context, None, vc),
    }


def caches(tree: Any, context: Any) -> tuple[Any, Any, Any]:
    return (
        tree.calc_position_kinematics_cache(context),
        tree.calc_velocity_kinematics_cache(context),
        tree.calc_acceleration_kinematics_cache(context, [0.0, 0.0]),
    )


NAMES = tuple(calls(two_links(), two_links().create_default_context(), None, None, None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_caches_of_an_equal_tree(name: str, kind: str) -> None:
    tree, context = twin_of(kind)
    calls(tree, context, *caches(tree, context))[name]()
    with pytest.raises(mbt.ContextMismatchError, match="of this tree"):
        calls(tree, context, *caches(*twin_of(kind)))[name]()


def test_accelerations_of_a_clone_in_another_scalar() -> None:
    """It shares the compiled model."""
    tree = two_links()
    context, other = tree.create_default_context(), tree.to_autodiff()
    ac = other.calc_acceleration_kinematics_cache(other.create_default_context(), [0.0, 0.0])
    before = ac.A_WB.value.copy()
    with pytest.raises(mbt.ContextMismatchError, match="ac"):
        tree.calc_acceleration_kinematics_cache(context, [1.0, 2.0], ac=ac)
    np.testing.assert_array_equal(ac.A_WB.value, before)


@pytest.mark.parametrize("kind", KINDS)
def test_force_contributions_default_to_the_caches_of_the_context(kind: str) -> None:
    tree, context = twin_of(kind)
    pc, vc, _ = caches(tree, context)
    for element in tree.force_elements:
        wanted, forces = (mbt.MultibodyForces(tree, context.batch_shape) for _ in range(2))
        element.calc_and_add_force_contribution(context, pc, vc, wanted)
        element.calc_and_add_force_contribution(context, forces=forces)
        assert forces == wanted
        assert np.any(np.asarray(getattr(forces.body_forces, "value", forces.body_forces) != 0)) or np.any(
            np.asarray(getattr(forces.generalized_forces, "value", forces.generalized_forces) != 0)
        )
        with pytest.raises(mbt.ArgumentTypeError, match="forces: expected a MultibodyForces, got NoneType"):
            element.calc_and_add_force_contribution(context)
