"""PyScalar: every kernel on floats and on fifty digits, and its handling of objects and their errors."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt
from core.kernel_calls import (
    FUNCTIONS,
    LONG,
    MATH,
    TREES,
    Arguments,
    Inputs,
    assert_same_to_rounding,
    assert_within,
    call_double,
    call_python,
    call_with_bounds,
    get_tree,
    random_inputs,
)
from core.kernel_scalars import REFUSED, Log, PlannedError, Term, select
from mbt._core.quantities.names import Quantity
from support.description import Array
from support.engines import evaluate_lanes, evaluate_python
from support.taking_long import taking_long

F = Quantity
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
RICH = "mixed4"


def one_state(name: str, seed: int = 0) -> tuple[mbt.MultibodyTree, Inputs]:
    tree = get_tree(name)
    return tree, random_inputs(tree, 1, seed).state(0)


# --- Floats -----------------------------------------------------------------------------------------------


@every_function
@pytest.mark.parametrize("name", taking_long(TREES, *LONG))
def test_floats_vs_double(name: str, function: Quantity) -> None:
    tree, state = one_state(name)
    arguments = state.arguments(function)
    got = call_python(tree, function, arguments)
    assert all(type(a) is float for a in got)
    values, bounds = call_with_bounds(tree, function, arguments)
    np.testing.assert_array_equal(got, values)
    assert_same_to_rounding(np.array(got), call_double(tree, function, state), bounds)


# --- Fifty digits -----------------------------------------------------------------------------------------

DIGITS = 50
MPMATH = (mpmath.sin, mpmath.cos, mpmath.sqrt, select, mpmath.tanh, mpmath.atan2, mpmath.floor)


@contextmanager
def fifty_digits() -> Iterator[None]:
    with mpmath.workdps(DIGITS):
        yield


def to_mpmath(array: Array) -> list[Any]:
    return [mpmath.mpf(a) for a in array.tolist()]


def call_mpmath(tree: mbt.MultibodyTree, function: Quantity, arguments: Any) -> list[Any]:
    return [mpmath.mpf(a) for a in call_python(tree, function, arguments, MPMATH)]


@every_function
@pytest.mark.parametrize("name", ["one_floating_reversed", "arm7", "mixed4", "free_forest"])
def test_fifty_digits_bound_the_error_of_double(name: str, function: Quantity) -> None:
    """Compared with the truth, floats and lanes keep within their running error bound."""
    tree, state = one_state(name, seed=1)
    arguments = state.arguments(function)
    with fifty_digits():
        truth = call_mpmath(tree, function, [to_mpmath(array) for array in arguments])
        (lanes,) = evaluate_lanes(tree, function, *(array[None] for array in arguments))
        values, bounds = call_with_bounds(tree, function, arguments)
        for computed in (values, lanes):
            error = [float(abs(a - b)) for a, b in zip(to_mpmath(computed), truth, strict=True)]
            assert_within(np.array(error), np.zeros(len(error)), bounds)
        # The public method takes another path, with a bound of its own, of the same size.
        double = to_mpmath(call_double(tree, function, state))
        error = [float(abs(a - b)) for a, b in zip(double, truth, strict=True)]
        assert_within(np.array(error), np.zeros(len(error)), 3 * bounds)


@pytest.mark.parametrize("name", ["one_floating_reversed", "arm7", "mixed4"])
def test_forward_dynamics_inverts_inverse_dynamics_to_all_digits(name: str) -> None:
    """A double anywhere in the computation would leave an error of 1e-16."""
    tree, state = one_state(name, seed=2)
    with fifty_digits():
        parameters, q, v, tau = (to_mpmath(a) for a in state.arguments(F.FORWARD_DYNAMICS))
        vdot = call_mpmath(tree, F.FORWARD_DYNAMICS, [parameters, q, v, tau])
        back = call_mpmath(tree, F.INVERSE_DYNAMICS, [parameters, q, v, vdot])
        # The mass matrix and the sums cost a few digits.
        assert all(abs(a - b) < mpmath.mpf(10) ** (8 - DIGITS) for a, b in zip(back, tau, strict=True))


# --- Objects ----------------------------------------------------------------------------------------------


def terms(log: Log, arguments: Arguments) -> list[list[Term]]:
    return [[Term(log) for _ in range(array.size)] for array in arguments]


def refcounts(objects: list[list[Term]]) -> list[int]:
    return [sys.getrefcount(x) for row in objects for x in row]


@every_function
@pytest.mark.parametrize("name", ["world_only", "one_floating_reversed", "mixed4", "free_forest"])
def test_kernels_read_and_leave_only_what_was_written(name: str, function: Quantity) -> None:
    """Working memory and outputs start as int 0: a term that meets one raises, and no output may be one.

    Terms raise on comparisons and truth values too: the flow of a kernel does not depend on its numbers.
    """
    tree, state = one_state(name)
    log = Log()
    out = call_python(tree, function, terms(log, state.arguments(function)), log.functions)
    assert all(type(a) in (Term, float) for a in out)


@every_function
def test_references_all_come_back(function: Quantity) -> None:
    tree, state = one_state(RICH)
    log = Log()
    functions = log.functions
    objects = terms(log, state.arguments(function))
    before = refcounts(objects), sys.getrefcount(functions[0])
    out = call_python(tree, function, objects, functions)
    del out
    assert log.alive == sum(len(row) for row in objects)
    assert (refcounts(objects), sys.getrefcount(functions[0])) == before
    del objects
    assert log.alive == 0


def count_operations(tree: mbt.MultibodyTree, function: Quantity, arguments: Arguments) -> int:
    log = Log()
    call_python(tree, function, terms(log, arguments), log.functions)
    return log.calls


@every_function
def test_an_error_of_operation_k_surfaces_unchanged(function: Quantity) -> None:
    """No call follows the error, no reference remains, and the process can go on computing."""
    tree, state = one_state(RICH)
    arguments = state.arguments(function)
    floats = call_python(tree, function, arguments)
    total = count_operations(tree, function, arguments)
    for k in failures(total):
        error = PlannedError(f"operation {k} of {total}")
        log = Log(fail_at=k, error=error)
        objects = terms(log, arguments)
        before = refcounts(objects)
        with pytest.raises(PlannedError) as caught:
            call_python(tree, function, objects, log.functions)
        assert caught.value is error
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert log.calls == k
        # The traceback of an error holds the operands with which it was raised.
        error.__traceback__ = None
        del caught
        assert log.alive == sum(len(row) for row in objects)
        assert refcounts(objects) == before
        del objects
        assert log.alive == 0
    assert call_python(tree, function, arguments) == floats


def failures(total: int) -> list[int]:
    """The first and the last operations, and some between."""
    if total < 40:
        return list(range(1, total + 1))
    return sorted({1, 2, 3, total - 1, total, *np.linspace(4, total - 2, 20).astype(int).tolist()})


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), MemoryError(), StopIteration()])
def test_any_kind_of_error_surfaces(error: BaseException) -> None:
    tree, state = one_state(RICH)
    log = Log(fail_at=500, error=error)
    with pytest.raises(type(error)) as caught:
        call_python(tree, F.FORWARD_DYNAMICS, terms(log, state.arguments(F.FORWARD_DYNAMICS)), log.functions)
    assert caught.value is error


@pytest.mark.parametrize("function", [F.INVERSE_DYNAMICS, F.POSITION_KINEMATICS])
def test_errors_of_sine_and_cosine_surface(function: Quantity) -> None:
    tree, state = one_state("arm7")

    def give_up(angle: float) -> float:
        raise PlannedError(f"at {angle}")

    for functions in ((give_up, math.cos, *REFUSED), (math.sin, give_up, *REFUSED)):
        with pytest.raises(PlannedError, match=f"^at {state.q[0]}$"):
            call_python(tree, function, state.arguments(function), functions)


def test_objects_without_arithmetic_give_pythons_own_error() -> None:
    tree, state = one_state(RICH)
    parameters, q, v, x = (array.tolist() for array in state.arguments(F.INVERSE_DYNAMICS))
    with pytest.raises(TypeError, match="unsupported operand"):
        evaluate_python(tree, F.INVERSE_DYNAMICS, parameters, q, [None] * len(v), x, MATH)


def test_an_operation_may_run_kernels_itself() -> None:
    """The functions of an inner call are restored when it returns."""
    tree, state = one_state(RICH)
    inner_tree, inner_state = one_state("arm7")
    arguments, inner_arguments = (s.arguments(F.INVERSE_DYNAMICS) for s in (state, inner_state))
    expected = call_python(tree, F.INVERSE_DYNAMICS, arguments)
    inner_expected = call_python(inner_tree, F.INVERSE_DYNAMICS, inner_arguments)
    calls = 0

    def nested_sine(angle: float) -> float:
        nonlocal calls
        calls += 1
        assert call_python(inner_tree, F.INVERSE_DYNAMICS, inner_arguments) == inner_expected
        log = Log(fail_at=100)
        with pytest.raises(PlannedError):
            call_python(inner_tree, F.MASS_MATRIX, terms(log, inner_arguments), log.functions)
        return math.sin(angle)

    functions = (nested_sine, *MATH[1:])
    assert call_python(tree, F.INVERSE_DYNAMICS, arguments, functions) == expected
    assert calls > 0


def test_threads_have_functions_of_their_own() -> None:
    tree, state = one_state("arm7")
    arguments = state.arguments(F.INVERSE_DYNAMICS)
    results: dict[float, list[list[float]]] = {}

    def run(factor: float) -> None:
        def sine(angle: float) -> float:
            time.sleep(0)  # lets another thread run here
            return math.sin(factor * angle)

        functions = (sine, lambda a: math.cos(factor * a), *REFUSED)
        results[factor] = [call_python(tree, F.INVERSE_DYNAMICS, arguments, functions) for _ in range(20)]

    threads = [threading.Thread(target=run, args=(factor,)) for factor in (1.0, 2.0, 3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for factor, runs in results.items():
        functions = (lambda a, k=factor: math.sin(k * a), lambda a, k=factor: math.cos(k * a), *REFUSED)
        assert runs == 20 * [call_python(tree, F.INVERSE_DYNAMICS, arguments, functions)]
    assert len(results) == 3


def test_arrays_are_numbers_too() -> None:
    """Several states at once, as objects."""
    tree = get_tree(RICH)
    inputs = random_inputs(tree, 3)
    for function in FUNCTIONS:
        columns = [list(array.T) for array in inputs.arguments(function)]
        out = call_python(tree, function, columns, (np.sin, np.cos, *REFUSED))
        for i in range(3):
            state = inputs.state(i)
            _, bounds = call_with_bounds(tree, function, state.arguments(function))
            got = np.array([np.broadcast_to(a, 3)[i] for a in out])
            assert_same_to_rounding(got, call_double(tree, function, state), bounds)


# --- The door ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("longer", "shorter"), [(0, 1), (1, 2), (2, 3), (3, 0)])
def test_every_length_is_checked(longer: int, shorter: int) -> None:
    tree, state = one_state(RICH)
    arguments = [array.tolist() for array in state.arguments(F.INVERSE_DYNAMICS)]
    arguments[longer].append(arguments[shorter].pop())
    with pytest.raises(ValueError, match=r"(parameters|q|v|x): expected"):
        call_python(tree, F.INVERSE_DYNAMICS, arguments)


def test_a_single_number_is_not_enough() -> None:
    tree = get_tree(RICH)
    with pytest.raises(ValueError, match="expected"):
        evaluate_python(tree, F.INVERSE_DYNAMICS, [], [], [], [1.0], MATH)


@pytest.mark.parametrize("i", range(4))
def test_lengths_are_checked(i: int) -> None:
    tree, state = one_state(RICH)
    arguments = [array.tolist() for array in state.arguments(F.INVERSE_DYNAMICS)]
    arguments[i].pop()
    with pytest.raises(ValueError, match=f"^{('parameters', 'q', 'v', 'x')[i]}: expected"):
        call_python(tree, F.INVERSE_DYNAMICS, arguments)
