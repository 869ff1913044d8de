"""No call on a Context other than one state of doubles may silently compute with doubles."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mbt
from mbt._core.api import tree_mobilizers
from mbt._core.api.tree_energy import TreeCore
from mbt._core.engines.context import Engine
from mbt.autodiff import AutoDiffArray
from mbt.scalars import ScalarTree
from mbt.tree import configuration
from support.calls import CONSTRAINT_METHODS, METHODS, SCALARS, Call
from support.constraints import tree_with_every_constraint
from support.force_element_types import make_everything
from support.taking_long import taking_long

CALLS = METHODS | SCALARS
COMPILED = [cls for cls in TreeCore.__mro__ if cls.__module__.startswith("mbt._core")]
# These describe the tree and return no numbers.
EXEMPT = {
    "is_velocity_equal_to_qdot",
    "set_default_context",
}
# These return caches, energies by element, or mass properties, which have their own tests.
OTHERS = {
    "calc_acceleration_kinematics_cache",
    "calc_energy_report",
    "calc_force_elements_contribution",
    "calc_operational_space_inertia",
    "calc_position_kinematics_cache",
    "calc_spatial_inertia",
    "calc_velocity_kinematics_cache",
    "eval_acceleration_kinematics",
    "eval_body_pose_in_world",
    "eval_body_spatial_acceleration_in_world",
    "eval_body_spatial_velocity_in_world",
    "eval_frame_body_poses",
    "eval_position_kinematics",
    "eval_velocity_kinematics",
    "get_inertial_parameters",
}


def leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays and numbers in a result."""
    if isinstance(result, tuple):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def _moving(tree: Any) -> Any:
    """Return the tree and a Context with derivatives along all positions and velocities."""
    tree = tree.to_autodiff()
    context: Any = tree.create_default_context()
    rng = np.random.default_rng(3)
    q = tree.normalize_positions(rng.uniform(0.2, 0.9, tree.num_positions)).value
    seeds = mbt.autodiff.initialize(q, rng.uniform(0.2, 0.9, tree.num_velocities))
    context.q, context.v = seeds
    return tree, context


@pytest.fixture(scope="module")
def moving() -> Any:
    return _moving(make_everything())


def test_every_method_is_seen() -> None:
    public = {name for cls in COMPILED for name in vars(cls) if not name.startswith("_")}
    assert public - EXEMPT - OTHERS <= CALLS.keys() | CONSTRAINT_METHODS.keys()
    assert len(public) > 50


OF_TREES = [name for name in CALLS if hasattr(TreeCore, name)]


@pytest.mark.parametrize("name", taking_long(OF_TREES, "calc_forward_dynamics_derivatives"))
def test_every_method_returns_numbers_of_its_context(moving: Any, name: str) -> None:
    _check_numbers(*moving, CALLS[name])


@pytest.mark.parametrize("name", CONSTRAINT_METHODS)
def test_so_does_every_method_of_constraints(name: str) -> None:
    _check_numbers(*_moving(tree_with_every_constraint()), CONSTRAINT_METHODS[name])


def _check_numbers(tree: Any, context: Any, call: Call) -> None:
    for result in leaves(call.run(tree, context, *call.values(tree))):
        assert isinstance(result, AutoDiffArray)
        assert result.num_derivatives == tree.num_positions + tree.num_velocities


@pytest.mark.parametrize("name", [name for name in vars(tree_mobilizers) if name.endswith(("_matrix", "_H"))])
def test_every_matrix_of_a_mobilizer_is_of_its_context(moving: Any, name: str) -> None:
    tree, context = moving
    for node in range(1, tree.num_bodies):
        assert isinstance(getattr(tree_mobilizers, name)(context, node), AutoDiffArray)


def test_only_one_state_of_doubles_needs_no_engine() -> None:
    tree = make_everything(user_written=False)
    assert tree.create_default_context()._engine is None
    others = [tree.create_default_context(3)]
    others += [tree.clone_to_scalar(name).create_default_context() for name in ("autodiff", "fraction")]
    for context in others:
        assert isinstance(context._engine, Engine)
    assert len({type(context._engine) for context in others}) == 3


def test_what_needs_no_context_is_overridden() -> None:
    names = [name for name in vars(configuration.ConfigurationSpace) if not name.startswith("_")]
    assert len(names) > 2
    for name in names:
        own, original = (inspect.signature(getattr(cls, name)) for cls in (ScalarTree, mbt.MultibodyTree))
        assert list(own.parameters) == list(original.parameters)
        assert name in vars(ScalarTree), name
