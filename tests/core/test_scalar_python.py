"""PyScalar: Python objects as numbers, their references, their errors, and folding of 0 and 1."""

from __future__ import annotations

import math
import re
import sys
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

from mbt._core.scalars.probe import apply_python, apply_python_arrays, apply_real

MATH = (
    math.sin,
    math.cos,
    math.sqrt,
    lambda a, b, x, y: x if a < b else y,
    math.tanh,
    math.atan2,
    lambda a: float(math.floor(a)),
)


class PlannedError(Exception):
    """Raised by an operation on purpose."""


class Log:
    """Counts the operations on terms, and the terms alive; raises at one of the operations."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.calls = 0
        self.alive = 0
        self.fail_at = fail_at

    def call(self, *operands: Any) -> Term:
        self.calls += 1
        if self.calls == self.fail_at:
            raise PlannedError(f"operation {self.calls}")
        return Term(self)

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.call,) * 7


class Term:
    """An opaque number: an operation gives a new one. It has neither a truth value nor an order."""

    def __init__(self, log: Log) -> None:
        self.log = log
        log.alive += 1

    def __del__(self) -> None:
        self.log.alive -= 1

    def _operate(self, *operands: object) -> Term:
        return self.log.call()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operate
    __truediv__ = __rtruediv__ = __neg__ = _operate

    def _refuse(self, *operands: object) -> bool:
        raise AssertionError("a kernel asked for a truth value or a comparison")

    __bool__ = __eq__ = __lt__ = __gt__ = _refuse
    __hash__ = None  # type: ignore[assignment]


OPERATIONS: dict[str, int] = {
    **dict.fromkeys(["add", "subtract", "multiply", "divide"], 2),
    **dict.fromkeys([f"{name}_in_place" for name in ("add", "subtract", "multiply", "divide")], 2),
    **dict.fromkeys(["negate", "times_double", "double_times", "times_double_in_place"], 1),
    **dict.fromkeys(["sqrt", "sin", "cos", "tanh", "floor"], 1),
    "atan2": 2,
    "from_double": 0,
    "select_lt": 4,
    "expression": 3,
}


# --- Values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_python_floats_give_the_numbers_of_double(operation: str) -> None:
    x = [0.75, 1.25, -0.5, 3.0][: OPERATIONS[operation]]
    if operation == "sqrt":
        x = [0.75]
    expected = apply_real(operation, *x, factor=1.5)
    got = apply_python(operation, *x, factor=1.5, functions=MATH)
    assert isinstance(got, float)
    assert got == pytest.approx(expected, rel=1e-14)


def test_exact_rationals_stay_exact() -> None:
    third, seventh = Fraction(1, 3), Fraction(1, 7)
    assert apply_python("add", third, seventh) == Fraction(10, 21)
    assert apply_python("divide", third, seventh) == Fraction(7, 3)
    assert apply_python("negate", third) == Fraction(-1, 3)


def test_forty_digits() -> None:
    functions = (mpmath.sin, mpmath.cos, mpmath.sqrt, *MATH[3:])
    with mpmath.workdps(40):
        x = [mpmath.mpf(3) / 7, mpmath.mpf(8) / 7, mpmath.mpf(-2) / 7]
        got = apply_python("expression", *x, factor=0.7, functions=functions)
        y = sum((xi * mpmath.mpf(0.7) - mpmath.sin(xi)) * mpmath.cos(xi) for xi in x) / -x[0]
        z = mpmath.sqrt(y * y + mpmath.sin(x[2]) ** 2)
        assert abs(got - min(y, z)) < mpmath.mpf(10) ** -38


def test_operands_keep_their_order() -> None:
    log: list[str] = []

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

        def __sub__(self, other: Named) -> Named:
            log.append(f"{self.name} - {other.name}")
            return self

        def __truediv__(self, other: Named) -> Named:
            log.append(f"{self.name} / {other.name}")
            return self

        def __rmul__(self, other: float) -> Named:
            log.append(f"{other} * {self.name}")
            return self

        def __mul__(self, other: float) -> Named:
            log.append(f"{self.name} * {other}")
            return self

    a, b = Named("a"), Named("b")
    apply_python("subtract", a, b)
    apply_python("divide", a, b)
    apply_python("double_times", a, factor=2.5)
    apply_python("times_double", a, factor=2.5)
    assert log == ["a - b", "a / b", "2.5 * a", "a * 2.5"]


def test_arctangent_takes_y_first() -> None:
    functions = (*MATH[:5], lambda y, x: (y, x), MATH[6])
    assert apply_python("atan2", 2.0, 3.0, functions=functions) == (2.0, 3.0)


# --- Constants --------------------------------------------------------------------------------------------

FRACTIONS = (*[None] * 5, None, None, Fraction)


def test_constants_become_objects_of_the_scalar() -> None:
    third = Fraction(1, 3)
    for got, wanted in (
        (apply_python("times_double", third, factor=0.5, functions=FRACTIONS), Fraction(1, 6)),
        (apply_python("double_times", third, factor=-1.0, functions=FRACTIONS), Fraction(-1, 3)),
        (apply_python("add", 1.0, third, functions=FRACTIONS), Fraction(4, 3)),
        (apply_python("subtract", third, 2.0, functions=FRACTIONS), Fraction(-5, 3)),
        (apply_python("divide", 1.0, third, functions=FRACTIONS), Fraction(3)),
        # Also for two constants: a third is not a double.
        (apply_python("divide", 1.0, 3.0, functions=FRACTIONS), third),
    ):
        assert type(got) is Fraction
        assert got == wanted


def test_constants_among_themselves_are_doubles() -> None:
    for operation, wanted in (("add", 2.5), ("subtract", -1.5), ("multiply", 1.0)):
        got = apply_python(operation, 0.5, 2.0, functions=FRACTIONS)
        assert type(got) is float
        assert got == wanted
    assert apply_python("negate", 1.0, functions=FRACTIONS) == -1.0


def test_constants_among_themselves_do_not_round() -> None:
    for operation, combine in (
        ("add", Fraction.__add__), ("subtract", Fraction.__sub__), ("multiply", Fraction.__mul__)
    ):  # fmt: skip
        got = apply_python(operation, 0.1, 3.3, functions=FRACTIONS)
        assert type(got) is Fraction
        assert got == combine(Fraction(0.1), Fraction(3.3))
        # For the scalar float, they are doubles.
        assert type(apply_python(operation, 0.1, 3.3)) is float


def test_functions_get_objects_of_the_scalar() -> None:
    functions = (*[lambda *x: x] * 7, Fraction)
    assert apply_python("atan2", 1.0, 2.0, functions=functions) == (Fraction(1), Fraction(2))
    assert [type(x) for x in apply_python("select_lt", 1, 2, 0.5, 1.0, functions=functions)] == [
        int, int, Fraction, Fraction
    ]  # fmt: skip


def test_functions_whose_results_are_known_are_not_called() -> None:
    """A scalar without sines can be evaluated at rest."""
    for operation, x, wanted in (
        ("sin", 0.0, 0.0), ("cos", 0.0, 1.0), ("tanh", 0.0, 0.0), ("sqrt", 0.0, 0.0), ("sqrt", 1.0, 1.0),
        ("floor", 1.0, 1.0),
    ):  # fmt: skip
        assert apply_python(operation, x) == wanted
    assert apply_python("atan2", 0.0, 1.0) == 0.0
    assert apply_python("select_lt", 0.0, 1.0, "x", "y") == "x"


def test_an_error_of_from_float_surfaces() -> None:
    def refuse(x: float) -> None:
        raise OverflowError(x)

    with pytest.raises(OverflowError, match=r"^0\.5$"):
        apply_python("times_double", Fraction(1, 3), factor=0.5, functions=(*FRACTIONS[:7], refuse))


# --- Folding ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_float_zero_is_neutral_and_absorbing(zero: float) -> None:
    log = Log()
    x = Term(log)
    assert apply_python("add", x, zero) is x
    assert apply_python("add", zero, x) is x
    assert apply_python("subtract", x, zero) is x
    for product in (
        apply_python("multiply", x, zero),
        apply_python("multiply", zero, x),
        apply_python("times_double", x, factor=zero),
        apply_python("double_times", x, factor=zero),
    ):
        assert isinstance(product, float)
        assert product == 0.0
    assert log.calls == 0


def test_zero_minus_x_is_one_negation() -> None:
    log = Log()
    apply_python("subtract", 0.0, Term(log))
    assert log.calls == 1


def test_float_one_is_neutral() -> None:
    log = Log()
    x = Term(log)
    assert apply_python("multiply", x, 1.0) is x
    assert apply_python("multiply", 1.0, x) is x
    assert apply_python("divide", x, 1.0) is x
    assert apply_python("times_double", x, factor=1.0) is x
    assert apply_python("double_times", x, factor=1.0) is x
    assert log.calls == 0


@pytest.mark.parametrize("value", [math.inf, math.nan, Fraction(1, 3), "text"])
def test_zero_times_anything_is_zero(value: object) -> None:
    assert apply_python("multiply", 0.0, value) == 0.0
    assert apply_python("multiply", value, 0.0) == 0.0


@pytest.mark.parametrize(
    "number", [0, 1, False, True, np.float64(0), np.float64(1), Fraction(0), Fraction(1)]
)
def test_only_exact_python_floats_fold(number: Any) -> None:
    log = Log()
    apply_python("multiply", Term(log), number)
    apply_python("add", Term(log), number)
    assert log.calls == 2


def test_division_of_zero_is_left_to_python() -> None:
    with pytest.raises(ZeroDivisionError):
        apply_python("divide", 0.0, 0)


# --- References -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
def test_success_keeps_one_reference_to_the_result_alone(operation: str) -> None:
    log = Log()
    terms = [Term(log) for _ in range(OPERATIONS[operation])]
    before = [sys.getrefcount(x) for x in terms]
    result = apply_python(operation, *terms, factor=2.5, functions=log.functions)
    if isinstance(result, Term):
        fresh = Term(Log())
        assert sys.getrefcount(result) == sys.getrefcount(fresh)
        assert log.alive == len(terms) + 1
    del result
    assert log.alive == len(terms)
    assert [sys.getrefcount(x) for x in terms] == before


def test_folded_results_own_their_reference() -> None:
    zero, x = float("0"), Term(Log())
    counts = sys.getrefcount(zero), sys.getrefcount(x)
    results = [apply_python("multiply", zero, x) for _ in range(10)]
    results += [apply_python("add", x, zero) for _ in range(10)]
    assert (sys.getrefcount(zero), sys.getrefcount(x)) == (counts[0] + 10, counts[1] + 10)
    del results
    assert (sys.getrefcount(zero), sys.getrefcount(x)) == counts


def test_functions_get_their_references_back() -> None:
    def square_root(a: float) -> float:
        return math.sqrt(a)

    functions = (math.sin, math.cos, square_root, *MATH[3:])
    with pytest.raises(ValueError) as refusal:  # noqa: PT011  the test is about its text
        math.sqrt(-2.0)
    before = sys.getrefcount(square_root)
    for _ in range(5):
        apply_python("sqrt", 2.0, functions=functions)
        with pytest.raises(ValueError, match=re.escape(str(refusal.value))):
            apply_python("sqrt", -2.0, functions=functions)
    assert sys.getrefcount(square_root) == before


def test_object_arrays_are_storage() -> None:
    log = Log()
    operands = np.array([[Term(log), Term(log)] for _ in range(50)], dtype=object)
    marker = object()
    out = np.full(50, marker, dtype=object)
    before = sys.getrefcount(marker)
    apply_python_arrays("multiply", operands, out)
    assert sys.getrefcount(marker) == before - 50
    assert log.alive == 150
    assert all(isinstance(x, Term) for x in out)
    apply_python_arrays("add", operands, out)
    assert log.alive == 150
    del out, operands
    assert log.alive == 0


def test_an_operation_may_overwrite_its_own_operands() -> None:
    operands = np.empty((1, 2), dtype=object)

    class Vanishing:
        def __add__(self, other: object) -> object:
            operands[:] = None
            return NotImplemented

    class Right:
        def __radd__(self, left: object) -> str:
            return type(left).__name__

    operands[0] = Vanishing(), Right()
    out = np.empty(1, dtype=object)
    apply_python_arrays("add", operands, out)
    assert out[0] == "Vanishing"


# --- Errors -----------------------------------------------------------------------------------------------


def count_operations(operation: str) -> int:
    log = Log()
    terms = [Term(log) for _ in range(OPERATIONS[operation])]
    apply_python(operation, *terms, factor=2.5, functions=log.functions)
    return log.calls


FAILURES = [(name, k) for name in OPERATIONS for k in range(1, count_operations(name) + 1)]


@pytest.mark.parametrize(("operation", "k"), FAILURES)
def test_failure_of_operation_k_surfaces_and_ends_all_calls(operation: str, k: int) -> None:
    log = Log(fail_at=k)
    terms = [Term(log) for _ in range(OPERATIONS[operation])]
    before = [sys.getrefcount(x) for x in terms]
    with pytest.raises(PlannedError, match=f"^operation {k}$") as caught:
        apply_python(operation, *terms, factor=2.5, functions=log.functions)
    assert log.calls == k
    assert caught.value.__context__ is None
    del caught
    assert log.alive == len(terms)
    assert [sys.getrefcount(x) for x in terms] == before


@pytest.mark.parametrize("k", [1, 2, 37, 100, 800])
def test_independent_operations_stop_too(k: int) -> None:
    log = Log(fail_at=k)
    operands = np.array([[Term(log) for _ in range(3)] for _ in range(50)], dtype=object)
    out = np.empty(50, dtype=object)
    with pytest.raises(PlannedError) as caught:
        apply_python_arrays("expression", operands, out, factor=2.5, functions=log.functions)
    assert log.calls == k
    del caught
    rows_done = (k - 1) // count_operations("expression")
    assert log.alive == 150 + rows_done
    assert out[rows_done:].tolist() == [None] * (50 - rows_done)


def test_an_empty_slot_is_an_error_and_not_a_value() -> None:
    empty = np.empty(3, dtype=object)
    log = Log(fail_at=1)
    with pytest.raises(PlannedError):
        apply_python_arrays("negate", np.array([[Term(log)]] * 3, dtype=object), empty)
    out = np.empty(3, dtype=object)
    with pytest.raises(SystemError, match="unset Python scalar"):
        apply_python_arrays("negate", empty.reshape(3, 1), out)


def test_functions_must_be_installed() -> None:
    with pytest.raises(SystemError, match="no functions are installed"):
        apply_python("sqrt", 2.0)


def test_unsupported_operands_give_pythons_own_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        apply_python("add", 2.0, "text")


def test_functions_of_an_inner_call_do_not_reach_the_outer_one() -> None:
    def inner_sine(a: float) -> Any:
        other = (lambda a: 10.0, lambda a: 20.0, lambda a: 30.0, *MATH[3:])
        assert apply_python("cos", a, functions=other) == 20.0
        with pytest.raises(ZeroDivisionError):
            apply_python("sqrt", a, functions=(math.sin, math.cos, lambda a: 1 / 0, *MATH[3:]))
        return math.sin(a)

    outer = (inner_sine, *MATH[1:])
    got = apply_python("expression", 0.5, 0.75, 1.5, factor=0.7, functions=outer)
    assert got == apply_python("expression", 0.5, 0.75, 1.5, factor=0.7, functions=MATH)
    with pytest.raises(SystemError, match="no functions are installed"):
        apply_python("cos", 2.0)
