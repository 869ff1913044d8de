"""Errors and odd behaviour of foreign scalars: they surface as they are, leak nothing, and break nothing."""

from __future__ import annotations

import gc
import math
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.symbolic import ScalarType
from support.build import build_tree
from support.force_element_types import make_everything
from support.only_thread import only_thread
from support.random_trees import random_model


class BrokenError(Exception):
    """What an operation of a foreign scalar raises."""


def nothing() -> None:
    """Do nothing."""


class Number:
    """A double whose class counts its instances; each operation first runs a hook."""

    __slots__ = ("value",)
    alive = 0
    operations = 0
    hook: Callable[[], Any] = staticmethod(nothing)

    def __init__(self, value: float) -> None:
        self.value = value
        Number.alive += 1

    def __del__(self) -> None:
        # When the interpreter exits, the name of the class is gone.
        type(self).alive -= 1

    @staticmethod
    def run(function: Callable[..., float], *operands: Number) -> Any:
        Number.operations += 1
        Number.hook()
        return Number(function(*(operand.value for operand in operands)))

    def __add__(self, other: Number) -> Any:
        return Number.run(lambda a, b: a + b, self, other)

    def __sub__(self, other: Number) -> Any:
        return Number.run(lambda a, b: a - b, self, other)

    def __mul__(self, other: Number) -> Any:
        return Number.run(lambda a, b: a * b, self, other)

    def __truediv__(self, other: Number) -> Any:
        return Number.run(lambda a, b: a / b, self, other)

    def __neg__(self) -> Any:
        return Number.run(lambda a: -a, self)


def function_of(f: Callable[..., float]) -> Callable[..., Any]:
    return lambda *operands: Number.run(f, *operands)


@pytest.fixture
def scalar() -> Any:
    functions = [function_of(f) for f in (math.sin, math.cos, math.sqrt, math.tanh, math.atan2, math.floor)]
    select = function_of(lambda a, b, x, y: x if a < b else y)
    yield ScalarType(Number(0.0), Number(1.0), *functions, select, from_float=Number)
    Number.hook = staticmethod(nothing)


@cache
def tree_of(name: str) -> mbt.MultibodyTree:
    if name == "everything":
        return make_everything(user_written=False)
    if name == "arm":
        return build_tree(random_model(201, 3, kinds=("revolute",)))
    return build_tree(random_model(201, 3, kinds=("revolute", "prismatic", "quaternion_ball"), actuated=1.0))


METHODS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mass_matrix": lambda tree, context, x: tree.calc_mass_matrix(context),
    "inverse_dynamics": lambda tree, context, x: tree.calc_inverse_dynamics(
        context, x, include_force_elements=True
    ),
    "forward_dynamics": lambda tree, context, x: tree.calc_forward_dynamics(context, x),
    "derivatives": lambda tree, context, x: np.stack(tree.calc_forward_dynamics_derivatives(context, x)),
    "kinematics": lambda tree, context, x: tree.eval_velocity_kinematics(context).V_WB,
}


def state_of(tree: mbt.MultibodyTree) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(4)
    return tree.random_positions(rng), *rng.uniform(-1, 1, (2, tree.num_velocities))


def values(result: Any) -> list[float]:
    return [entry.value for entry in np.ravel(result)]


def set_state(context: Any, q: Any, v: Any) -> None:
    context.q, context.v = q, v


def raise_at(count: int) -> Callable[[], None]:
    start = Number.operations

    def hook() -> None:
        if Number.operations == start + count:
            raise BrokenError(count)

    return hook


@pytest.mark.parametrize(
    ("name", "method"),
    [*(("small", method) for method in METHODS), ("everything", "forward_dynamics")],
)
def test_an_error_of_any_operation_surfaces_and_leaks_nothing(name: str, method: str, scalar: Any) -> None:
    """The n-th operation raises, for each n of a small computation, and for some of a large one."""
    tree = tree_of(name)
    twin = tree.clone_to_scalar(scalar)
    q, v, x = state_of(tree)
    context = twin.create_default_context()
    set_state(context, q, v)
    arguments = [Number(a) for a in x]
    start = Number.operations
    wanted = values(METHODS[method](twin, context, arguments))
    num_operations = Number.operations - start
    assert num_operations > 50
    markers = [*scalar.functions[:-1], scalar.zero, scalar.one, *arguments]

    def fail_at(count: int) -> tuple[int, list[int]]:
        """Return how many objects are alive afterwards, and the reference counts of those that we know."""
        set_state(context, q, v)
        context._set_parameter("gravity", 0, context._get_parameter("gravity", 0))
        context._cached.clear()
        Number.hook = staticmethod(raise_at(count))
        with pytest.raises(BrokenError) as raised:
            METHODS[method](twin, context, arguments)
        Number.hook = staticmethod(nothing)
        assert raised.value.args == (count,)
        del raised
        return Number.alive, [sys.getrefcount(marker) for marker in markers]

    for count in range(1, num_operations + 1, 1 if num_operations < 1000 else num_operations // 7):
        assert fail_at(count) == fail_at(count)
        if count % 10 == 1:
            assert values(METHODS[method](twin, context, arguments)) == wanted
    assert values(METHODS[method](twin, context, arguments)) == wanted


if sys.version_info >= (3, 13):
    forget_names = sys._clear_internal_caches
else:
    forget_names = sys._clear_type_cache


def test_memory_of_failed_calls_is_given_back(scalar: Any) -> None:
    tree = tree_of("everything")
    twin = tree.clone_to_scalar(scalar)
    q, v, x = state_of(tree)
    context = twin.create_default_context()
    arguments = [Number(a) for a in x]

    def fail() -> None:
        set_state(context, q, v)
        Number.hook = staticmethod(raise_at(500))
        with pytest.raises(BrokenError):
            twin.calc_forward_dynamics(context, arguments)
        Number.hook = staticmethod(nothing)

    def measure() -> int:
        for _ in range(20):
            fail()
        gc.collect()
        # In Python 3.13 the cache of attributes keeps the names that NumPy makes anew for each look-up.
        forget_names()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        measure()
        with only_thread():
            assert abs(measure() - measure()) < 2000
    finally:
        tracemalloc.stop()


# --- What scalars lack, and what they should not do -------------------------------------------------------


class Bare:
    """Addition and multiplication, and nothing else."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __add__(self, other: Bare) -> Bare:
        return Bare(self.value + other.value)

    def __sub__(self, other: Bare) -> Bare:
        return Bare(self.value - other.value)

    def __mul__(self, other: Bare) -> Bare:
        return Bare(self.value * other.value)

    def __neg__(self) -> Bare:
        return Bare(-self.value)


class Refusing(Bare):
    """A scalar with a product that always returns NotImplemented."""

    def __mul__(self, other: Bare) -> Any:
        return NotImplemented

    __rmul__ = __mul__


class Nothing(Bare):
    def __mul__(self, other: Bare) -> Any:
        return None


class Text(Bare):
    def __mul__(self, other: Bare) -> Any:
        return "product"


@pytest.mark.parametrize(
    ("kind", "method", "message"),
    [
        (Bare, "forward_dynamics", "unsupported operand type.* for /: 'Bare' and 'Bare'"),
        (Refusing, "mass_matrix", "unsupported operand type.* for \\*: 'Refusing' and 'Refusing'"),
        (Nothing, "mass_matrix", "NoneType"),
        (Text, "mass_matrix", "str"),
    ],
)
def test_missing_operations_surface_as_python_says_them(kind: type[Bare], method: str, message: str) -> None:
    functions = [lambda *x, f=f: kind(f(*(a.value for a in x))) for f in (math.sin, math.cos, math.sqrt)]
    tree = tree_of("arm")
    scalar = ScalarType(kind(0.0), kind(1.0), *functions, from_float=kind)
    twin = tree.clone_to_scalar(scalar)
    context = twin.create_default_context()
    q, v, x = state_of(tree)
    for _ in range(3):
        set_state(context, q, v)
        with pytest.raises((TypeError, AttributeError), match=message):
            METHODS[method](twin, context, x)


def test_a_function_that_is_missing_is_named() -> None:
    scalar = ScalarType(
        Bare(0.0), Bare(1.0), sin=lambda x: x.sin(), cos=lambda x: x.cos(), from_float=Bare
    )  # fmt: skip
    twin = tree_of("arm").clone_to_scalar(scalar)
    context = twin.create_default_context()
    context.q = state_of(tree_of("arm"))[0]
    with pytest.raises(AttributeError, match=r"^'Bare' object has no attribute 'sin'$"):
        twin.calc_mass_matrix(context)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_what_is_no_ordinary_error_surfaces_too(error: type[BaseException], scalar: Any) -> None:
    def hook() -> None:
        raise error

    twin = tree_of("small").clone_to_scalar(scalar)
    context = twin.create_default_context()
    q, v, _ = state_of(tree_of("small"))
    set_state(context, q, v)
    Number.hook = staticmethod(hook)
    with pytest.raises(error):
        twin.calc_mass_matrix(context)
    Number.hook = staticmethod(nothing)
    assert len(values(twin.calc_mass_matrix(context))) == twin.num_velocities**2


@pytest.mark.oracle
def test_an_exception_of_casadi_surfaces() -> None:
    casadi = pytest.importorskip("casadi")
    tree = tree_of("arm")
    twin = tree.clone_to_scalar("casadi")
    context = twin.create_default_context()
    context.q = casadi.SX.sym("q", tree.num_positions)
    before = str(twin.calc_mass_matrix(context)[0, 0])
    for _ in range(3):
        with pytest.raises(TypeError, match="SX"):
            twin.calc_forward_dynamics(context, [object()] * tree.num_velocities)
    q = context.q
    context.q = [object()] * tree.num_positions
    with pytest.raises((NotImplementedError, AttributeError)):
        twin.calc_mass_matrix(context)
    context.q = q
    assert str(twin.calc_mass_matrix(context)[0, 0]) == before


# --- Operations that do more than compute -----------------------------------------------------------------


def test_an_operation_may_use_the_same_context(scalar: Any) -> None:
    """What it sets takes effect in the next computation."""
    tree = tree_of("everything")
    twin = tree.clone_to_scalar(scalar)
    q, v, x = state_of(tree)
    context = twin.create_default_context()
    set_state(context, q, v)
    arguments = [Number(a) for a in x]
    wanted = values(twin.calc_forward_dynamics(context, arguments))
    wanted_M = values(twin.calc_mass_matrix(context))
    other = tree.clone_to_scalar("mpmath")
    seen = []
    start = Number.operations

    def hook() -> None:
        if Number.operations - start in (1, 300, 900):
            Number.hook = staticmethod(nothing)
            seen.append(values(twin.calc_mass_matrix(context)) == wanted_M)
            seen.append(values(twin.calc_forward_dynamics(context, arguments)) == wanted)
            other.calc_mass_matrix(other.create_default_context())
            context._set_parameter("gravity", 0, [0.0, 0.0, 0.0])
            context.q, context.v = np.zeros_like(q), np.zeros_like(v)
            context.q, context.v = q, v
            context._set_parameter("gravity", 0, tree.create_default_context()._get_parameter("gravity", 0))

    Number.hook = staticmethod(hook)
    assert values(twin.calc_forward_dynamics(context, arguments)) == wanted
    Number.hook = staticmethod(nothing)
    assert seen == [True, True]
    assert values(twin.calc_forward_dynamics(context, arguments)) == wanted


def test_threads_with_different_scalars() -> None:
    """Python switches threads within a computation; each keeps its own functions."""
    tree = tree_of("small")
    q, v, x = state_of(tree)
    wanted = tree.create_default_context()
    wanted.q, wanted.v = q, v
    vdot = tree.calc_forward_dynamics(wanted, x)
    failures: list[str] = []

    def compute(scalar: str, number: Callable[[float], Any]) -> None:
        twin = tree.clone_to_scalar(scalar)
        context = twin.create_default_context()
        for _ in range(10):
            context.q, context.v = [number(a) for a in q], [number(a) for a in v]
            got = twin.calc_forward_dynamics(context, [number(a) for a in x])
            if {type(a) for a in got} != {type(number(1.0))}:
                failures.append(f"{scalar}: {got}")
            if not np.allclose([float(a) for a in got], vdot, rtol=1e-9):
                failures.append(f"{scalar}: {got}")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [
            threading.Thread(target=compute, args=("sympy", sp.Float)),
            threading.Thread(target=compute, args=("mpmath", mpmath.mpf)),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
