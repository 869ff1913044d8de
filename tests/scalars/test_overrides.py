"""Nothing of a tree of another scalar may silently compute with doubles."""

from __future__ import annotations

import inspect

import pytest

import mbt
from mbt._core import tree_mobilizers
from mbt._core.engine import TreeCore
from mbt.scalars import ScalarTree, mobilizers
from mbt.tree import configuration

COMPILED = [cls for cls in TreeCore.__mro__ if cls.__module__.startswith("mbt._core")]
# These tell about the tree, not about numbers.
EXEMPT = {"clone_to_scalar", "to_autodiff", "to_symbolic", "is_velocity_equal_to_qdot", "scalar_type"}
PREFIXES = (
    "calc_",
    "eval_",
    "map_",
    "make_",
    "create_",
    "set_",
    "get_",
    "integrate_",
    "difference_",
    "normalize_",
)


def public_names(cls: type) -> set[str]:
    return {name for name in vars(cls) if not name.startswith("_")}


@pytest.mark.parametrize("cls", [*COMPILED, configuration.ConfigurationSpace], ids=lambda cls: cls.__name__)
def test_every_compiled_method_is_overridden(cls: type) -> None:
    for name in public_names(cls) - EXEMPT:
        owner = next(c for c in ScalarTree.__mro__ if name in vars(c))
        is_python = owner.__module__.startswith("mbt.scalars") or owner is mbt.MultibodyTree
        assert is_python, f"{name} of a tree of another scalar is that of {owner.__name__}"


@pytest.mark.parametrize("cls", COMPILED, ids=lambda cls: cls.__name__)
def test_every_private_door_is_overridden(cls: type) -> None:
    """Those that Python code of elements calls."""
    for name in vars(cls):
        if name.startswith("_calc_") or name.startswith("_add_") or name in ("_position_of", "_velocity_of"):
            owner = next(c for c in ScalarTree.__mro__ if name in vars(c))
            assert owner.__module__.startswith("mbt.scalars"), name


def test_every_method_is_seen() -> None:
    names = set().union(*(public_names(cls) for cls in COMPILED))
    assert len([name for name in names if name.startswith(PREFIXES)]) > 45


def test_signatures_are_those_of_doubles() -> None:
    """A call that works on one tree works on the other."""
    for cls in COMPILED:
        for name in public_names(cls) - EXEMPT:
            own = inspect.signature(getattr(ScalarTree, name))
            original = inspect.signature(getattr(cls, name))
            assert list(own.parameters) == list(original.parameters), name
            for parameter in own.parameters.values():
                other = original.parameters[parameter.name]
                assert (parameter.kind, parameter.default) == (other.kind, other.default), (name, parameter)


def test_every_function_of_mobilizers_has_a_counterpart() -> None:
    names = {name for name in vars(tree_mobilizers) if callable(getattr(tree_mobilizers, name))}
    names = {name for name in names if not name.startswith("_")} - {"ReadOnlyArray", "declared_pose"}
    assert len(names) > 10
    for name in names:
        assert callable(getattr(mobilizers, name)), name
