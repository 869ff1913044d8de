"""Nothing on a Context of other numbers than one state of doubles may silently compute with doubles."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

import mbt
from mbt._core import tree_mobilizers
from mbt._core.engine import TreeCore
from mbt.scalars import ScalarTree, mobilizers
from mbt.scalars.methods import ScalarMethods
from mbt.tree import configuration

COMPILED = [cls for cls in TreeCore.__mro__ if cls.__module__.startswith("mbt._core")]
# These tell about the tree, not about numbers.
EXEMPT = {
    "clone_to_scalar",
    "to_autodiff",
    "to_symbolic",
    "is_velocity_equal_to_qdot",
    "scalar_type",
    "create_default_context",
}
# These reset or ask the Context itself.
OF_CONTEXTS = {"set_default_context", "calc_energy_report"}
# Doors that Python code of elements calls.
PRIVATE = ("_calc_", "_add_", "_position_of", "_velocity_of")


def doors(cls: type) -> list[str]:
    public = [name for name in vars(cls) if not name.startswith("_")]
    private = [name for name in vars(cls) if name.startswith(PRIVATE)]
    return [name for name in public + private if name not in EXEMPT]


DOORS = [(cls, name) for cls in COMPILED for name in doors(cls)]


class Recorder:
    """Methods that tell how they were called."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> object:
            bound = inspect.signature(getattr(ScalarMethods, name)).bind(None, *args, **kwargs)
            self.calls.append((name, dict(bound.arguments)))
            return self

        return call


class Argument:
    """Some argument, recognized by its identity."""


def make_arguments(method: Any) -> dict[str, Any]:
    """An argument for each parameter but the Context; those that compiled code types are of that type."""
    typed: dict[str, Any] = {"index": 3, "what": "what", "name_M": "M", "name_E": "E"}
    names = list(inspect.signature(method).parameters)[2:]
    arguments: dict[str, Any] = {name: typed.get(name, Argument()) for name in names}
    if "include_force_elements" in arguments:
        arguments["include_force_elements"] = False
    return arguments


@pytest.mark.parametrize(
    ("cls", "name"),
    [door for door in DOORS if door[1] not in OF_CONTEXTS],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_every_compiled_method_hands_over(cls: type, name: str) -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    context: Any = tree.create_default_context()
    recorder = context._methods = Recorder()
    arguments = make_arguments(getattr(cls, name))
    assert getattr(tree, name)(context, **arguments) is recorder
    ((called, received),) = recorder.calls
    assert called == name
    del received["self"]
    assert received.pop("c") is context
    assert received == arguments


def test_every_method_is_seen() -> None:
    assert len(DOORS) > 60


def test_signatures_are_those_of_doubles() -> None:
    """A call that works on one tree works on the other."""
    for cls, name in DOORS:
        if name in OF_CONTEXTS:
            continue
        own = list(inspect.signature(getattr(ScalarMethods, name)).parameters.values())
        original = list(inspect.signature(getattr(cls, name)).parameters.values())
        assert ["context" if p.name == "c" else p.name for p in own] == [p.name for p in original], name
        for parameter, other in zip(own, original, strict=True):
            # A Context that may be left out is that of the tree, which knows which one.
            if parameter.name != "c":
                assert (parameter.kind, parameter.default) == (other.kind, other.default), (name, parameter)


def test_what_needs_no_context_is_overridden() -> None:
    names = [name for name in vars(configuration.ConfigurationSpace) if not name.startswith("_")]
    assert len(names) > 2
    for name in names:
        own, original = (inspect.signature(getattr(cls, name)) for cls in (ScalarTree, mbt.MultibodyTree))
        assert list(own.parameters) == list(original.parameters)
        assert name in vars(ScalarTree), name


def test_every_function_of_mobilizers_hands_over() -> None:
    names = {name for name in vars(tree_mobilizers) if callable(getattr(tree_mobilizers, name))}
    names = {name for name in names if not name.startswith("_")} - {"ReadOnlyArray", "declared_pose"}
    assert len(names) > 10
    tree = mbt.MultibodyTree()
    tree.finalize()
    context: Any = tree.create_default_context()
    for name in names:
        assert callable(getattr(mobilizers, name)), name
        calls: list[Any] = []

        functions = SimpleNamespace(**{name: lambda *args, calls=calls: calls.append(args)})
        context._methods = SimpleNamespace(mobilizers=functions)
        arguments = [
            Argument() for _ in list(inspect.signature(getattr(tree_mobilizers, name)).parameters)[2:]
        ]
        getattr(tree_mobilizers, name)(context, 2, *arguments)
        assert calls == [(context, 2, *arguments)], name
