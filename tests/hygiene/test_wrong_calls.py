"""Errors of wrong calls of compiled functions name the argument that is missing, or that was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mbt
from mbt._core.wrong_calls import explain

COMPILED = type(mbt.functional.inverse_dynamics)
Function = Callable[..., Any]


def _compiled_callables() -> Iterator[tuple[str, Function, bool]]:
    """Every public callable: its name, itself, and whether it is a method."""
    for name in mbt.functional.__all__:
        function = getattr(mbt.functional, name)
        if isinstance(function, COMPILED):
            yield name, function, False
    for class_name in mbt.__all__:
        kind = getattr(mbt, class_name)
        for name in dir(kind) if isinstance(kind, type) else ():
            function = inspect.getattr_static(kind, name)
            if isinstance(function, COMPILED) and not name.startswith("_"):
                yield f"{class_name}.{name}", function, True


CALLABLES = list(_compiled_callables())


def _parameters(function: Function, is_method: bool) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())[is_method:]


def _error(function: Function, owner: tuple[Any, ...], *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(TypeError) as caught:
        function(*owner, *arguments, **keywords)
    return str(caught.value)


def _owner(name: str, is_method: bool) -> tuple[Any, ...]:
    """The object on which the method is called: an instance of its class whose constructor never ran."""
    kind = getattr(mbt, name.split(".")[0]) if is_method else None
    return (_objects[kind],) if kind in _objects else (kind.__new__(kind),) if kind else ()


_tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
_objects: dict[Any, Any] = {mbt.MultibodyTree: _tree, mbt.Context: _tree.create_default_context()}


def test_there_are_many() -> None:
    names = {name for name, _, _ in CALLABLES}
    assert len(names) > 80
    assert {"forward_dynamics", "MultibodyTree.calc_forward_dynamics"} <= names


@pytest.mark.parametrize("callable_", CALLABLES, ids=[name for name, _, _ in CALLABLES])
def test_names_what_is_missing_or_was_meant(callable_: tuple[str, Function, bool]) -> None:
    name, function, is_method = callable_
    parameters = _parameters(function, is_method)
    own = name.split(".")[-1]
    owner = _owner(name, is_method)
    required = [
        p.name for p in parameters if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    by_keyword = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for last, missing in enumerate(required):
        before = [p for p in parameters if p.name in required[:last]]
        positional = [None for p in before if p.kind is not p.KEYWORD_ONLY]
        keywords = {p.name: None for p in before if p.kind is p.KEYWORD_ONLY}
        text = _error(function, owner, *positional, **keywords)
        wanted = [repr(p) for p in required[last:]]
        assert text.startswith(f"{own}() missing required argument{'s' if wanted[1:] else ''}: '{missing}'")
        assert all(word in text for word in wanted)
        # By keyword as well.
        others = {p: None for p in required if p != missing}
        if not any(p.kind is p.POSITIONAL_ONLY for p in parameters):
            assert _error(function, owner, **others) == f"{own}() missing required argument: '{missing}'"
    for meant in by_keyword:
        text = _error(function, owner, **{meant + "_": None})
        assert text == f"{own}() got an unexpected keyword argument '{meant}_'; did you mean '{meant}'?"


def test_words_of_one_function() -> None:
    q = v = tau = np.zeros(6)
    call = mbt.functional.forward_dynamics
    assert _error(call, (), _tree, q, v) == "forward_dynamics() missing required argument: 'tau'"
    assert _error(call, (), _tree) == "forward_dynamics() missing required arguments: 'q', 'v' and 'tau'"
    start = "forward_dynamics() got an unexpected keyword argument "
    assert _error(call, (), _tree, q, v, torque=tau) == start + "'torque'; did you mean 'tau'?"
    assert _error(call, (), _tree, q, qd=v, tau=tau) == start + "'qd'; did you mean 'v'?"
    assert _error(call, (), _tree, q, v, tau, wholly=1) == (
        start + "'wholly'; keywords are 'tree', 'q', 'v', 'tau', 'external_forces', 'out'"
    )


def test_other_errors_stay() -> None:
    q = v = tau = np.zeros(6)
    call = mbt.functional.forward_dynamics
    assert "(5 given)" in _error(call, (), _tree, q, v, tau, tau)
    assert "multiple values for keyword argument 'q'" in _error(call, (), _tree, q, v, tau, q=q)
    with pytest.raises(mbt.ArgumentTypeError, match="tau"):
        call(_tree, q, v, None)


def test_bound_functions_of_native_code() -> None:
    from mbt._core.door.native_calls import NativeFunction

    call = NativeFunction(None, 1, 1, (1, 1, 1), ((1,),), None, False).of_forces
    assert "'torque'; did you mean 'tau'?" in _error(call, (), [0.0], [0.0], torque=[0.0])


@pytest.mark.parametrize(
    ("parameters", "positional", "keywords", "wanted"),
    [
        ("q v", 2, None, None),
        ("q v", 3, None, None),
        ("q v", 2, ("q",), None),
        ("q / v", 0, ("q", "v"), "f() got an unexpected keyword argument 'q'; keywords are 'v'"),
        ("q / v= * frame", 1, ("v",), "f() missing required argument: 'frame'"),
        ("q *more frame", 5, None, "f() missing required argument: 'frame'"),
        ("q **others", 0, ("x",), "f() missing required argument: 'q'"),
        ("q", 1, {"x" * 1000: 0}, f"f() got an unexpected keyword argument '{'x' * 1000}'; keywords are 'q'"),
    ],
)
def test_words(parameters: str, positional: int, keywords: Any, wanted: str | None) -> None:
    assert explain("f", parameters, positional, keywords) == wanted
