"""PyScalar on symbols: kernels derive textbook formulas, and these evaluate to the right numbers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from core.kernel_calls import (
    FUNCTIONS,
    SMALL_TREES,
    W,
    assert_same_to_rounding,
    assert_within,
    call_double,
    call_python,
    call_with_bounds,
    default_parameters,
    get_tree,
    parameter_slices,
    random_inputs,
)
from core.kernel_scalars import Log, Term
from mbt._core.quantities.names import Quantity
from support.build import build_tree
from support.description import WORLD, Body, Joint, Model
from support.engines import evaluate_dual
from support.random_trees import random_model

F = Quantity
every_function = pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)

# --- SymPy ------------------------------------------------------------------------------------------------

SYMPY = (
    sp.sin,
    sp.cos,
    sp.sqrt,
    lambda a, b, x, y: sp.Piecewise((x, a < b), (y, True)),
    sp.tanh,
    sp.atan2,
    sp.floor,
)


class DoublePendulum:
    """Two links in the x, y plane, hanging along x at rest from z axes; gravity g points down, along x.

    Lengths l to the next joint and c to the mass centre, masses m, central moments of inertia I, damping d.
    """

    def __init__(self) -> None:
        z = np.array([0.0, 0.0, 1.0])
        joints = (
            Joint("shoulder", "revolute", WORLD, "upper", axis=z),
            Joint("elbow", "revolute", "upper", "lower", X_PF=np.eye(4), axis=z),
        )
        bodies = tuple(Body(name, 1.0, np.zeros(3), np.eye(3)) for name in ("upper", "lower"))
        self.tree = build_tree(Model("pendulum", bodies, joints))
        self.m1, self.m2, self.l1, self.c1, self.c2, self.I1, self.I2, self.g = sp.symbols(
            "m1 m2 l1 c1 c2 I1 I2 g", positive=True
        )
        self.d = sp.symbols("d1:3")
        self.q, self.v, self.vdot = sp.symbols("q1:3"), sp.symbols("v1:3"), sp.symbols("a1:3")
        self.parameters: list[Any] = default_parameters(self.tree).tolist()
        self._set("gravity", 0, [self.g, 0.0, 0.0])
        links = ((self.m1, self.c1, self.I1), (self.m2, self.c2, self.I2))
        for b, (m, c, central) in enumerate(links, start=1):
            self._set("mass", b, [m])
            self._set("com", b, [c, 0.0, 0.0])
            self._set("unit_inertia", b, [0.0, c**2, c**2 + central / m, 0.0, 0.0, 0.0])
            self._set("damping", b - 1, [self.d[b - 1]])
        (elbow,) = (frame for frame in self.tree.frames if isinstance(frame, mbt.FixedOffsetFrame))
        pose = np.eye(4).tolist()
        pose[0][3] = self.l1
        self._set("frame_pose", elbow.index, [a for row in pose for a in row])

    def _set(self, section: str, index: int, values: list[Any]) -> None:
        start = parameter_slices(self.tree)[section].start + index * len(values)
        self.parameters[start : start + len(values)] = values

    def __call__(self, function: Quantity) -> list[Any]:
        return call_python(self.tree, function, (self.parameters, self.q, self.v, self.vdot), SYMPY)

    # The textbook.

    @property
    def M(self) -> Any:
        coupling = self.m2 * self.l1 * self.c2 * sp.cos(self.q[1])
        M22 = self.I2 + self.m2 * self.c2**2
        M11 = self.I1 + self.m1 * self.c1**2 + self.m2 * self.l1**2 + M22 + 2 * coupling
        return sp.Matrix([[M11, M22 + coupling], [M22 + coupling, M22]])

    @property
    def bias(self) -> Any:
        """Coriolis and centrifugal terms."""
        h = self.m2 * self.l1 * self.c2 * sp.sin(self.q[1])
        v1, v2 = self.v
        return sp.Matrix([-h * (2 * v1 * v2 + v2**2), h * v1**2])

    @property
    def potential_energy(self) -> Any:
        q1, q2 = self.q
        x1 = self.c1 * sp.cos(q1)
        x2 = self.l1 * sp.cos(q1) + self.c2 * sp.cos(q1 + q2)
        return -self.g * (self.m1 * x1 + self.m2 * x2)


@cache
def pendulum() -> DoublePendulum:
    return DoublePendulum()


def is_zero(expression: Any) -> bool:
    """Trigonometry expanded; rational numbers for the kernels' floats."""
    return bool(sp.simplify(sp.expand_trig(sp.nsimplify(expression))) == 0)


def test_mass_matrix_of_the_double_pendulum() -> None:
    p = pendulum()
    M = sp.Matrix(2, 2, p(F.MASS_MATRIX))
    assert not M.atoms(sp.Float), "zeros and ones of the model are not left in the formula"
    assert sp.simplify(M - p.M) == sp.zeros(2, 2)


def test_equations_of_motion_of_the_double_pendulum() -> None:
    p = pendulum()
    gravity = sp.Matrix([sp.diff(p.potential_energy, angle) for angle in p.q])
    damping = sp.Matrix([d * rate for d, rate in zip(p.d, p.v, strict=True)])
    tau = p.M * sp.Matrix(p.vdot) + p.bias + gravity + damping
    for got, wanted in zip(p(F.INVERSE_DYNAMICS), tau, strict=True):
        assert is_zero(got - wanted)
    for function in (F.GRAVITY_GENERALIZED_FORCES, F.GENERALIZED_FORCES):
        for got, wanted in zip(p(function), -gravity, strict=True):
            assert is_zero(got - wanted)


def test_energies_of_the_double_pendulum() -> None:
    p = pendulum()
    v = sp.Matrix(p.v)
    (kinetic,), (potential,) = p(F.KINETIC_ENERGY), p(F.POTENTIAL_ENERGY)
    assert is_zero(kinetic - (v.T * p.M * v)[0] / 2)
    assert is_zero(potential - p.potential_energy)


def test_coriolis_matrix_of_the_double_pendulum() -> None:
    """C v is the bias term, and Mdot - 2 C is skew-symmetric."""
    p = pendulum()
    C = sp.Matrix(2, 2, p(F.CORIOLIS_MATRIX))
    for got, wanted in zip(C * sp.Matrix(p.v), p.bias, strict=True):
        assert is_zero(got - wanted)
    Mdot = sum((sp.diff(p.M, angle) * rate for angle, rate in zip(p.q, p.v, strict=True)), sp.zeros(2, 2))
    S = Mdot - 2 * C
    assert all(is_zero(entry) for entry in S + S.T)


def slide_and_hinge() -> mbt.MultibodyTree:
    """A weld, a slide and a hinge in general position: small enough for formulas that are not simplified."""
    return build_tree(random_model(201, 3, kinds=("revolute", "prismatic", "weld"), actuated=1.0))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        *(("slide", f) for f in FUNCTIONS),
        *(("pendulum", f) for f in FUNCTIONS if f != F.FORWARD_DYNAMICS_DERIVATIVES),
        # SymPy takes a minute.
        pytest.param("pendulum", F.FORWARD_DYNAMICS_DERIVATIVES, marks=pytest.mark.exhaustive),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_sympy_expressions_evaluate_to_the_numbers(name: str, function: Quantity) -> None:
    tree = slide_and_hinge() if name == "slide" else pendulum().tree
    state = random_inputs(tree, 1, seed=1).state(0)
    parameters, *numbers = state.arguments(function)
    symbols = [sp.symbols(f"{name}:{array.size}") for name, array in zip("qvx", numbers, strict=True)]
    expressions = call_python(tree, function, (parameters, *symbols), SYMPY)
    f = sp.lambdify(symbols, expressions, modules="math", cse=True)
    got = np.array(f(*(array.tolist() for array in numbers)), dtype=float)
    desired = call_double(tree, function, state)
    # Printed with 15 digits, the constants in the expressions have relative errors of 5e-16 each.
    assert_within(got, desired, 1e-12 * np.max(np.abs(desired), initial=1.0))


# --- CasADi -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def casadi() -> Any:
    """CasADi is optional, unlike the others: it is large."""
    return pytest.importorskip("casadi")


def casadi_function(casadi: Any, tree: mbt.MultibodyTree, function: Quantity, parameters: Any) -> Any:
    """A function of q, v, x, and of the parameters first if `parameters` are symbols."""
    n = len(random_inputs(tree, 1).arguments(function)[3][0])
    q, v, x = (
        casadi.SX.sym(name, size)
        for name, size in (("q", tree.num_positions), ("v", tree.num_velocities), ("x", n))
    )
    is_symbolic = isinstance(parameters, casadi.SX)
    numbers = casadi.vertsplit(parameters) if is_symbolic else parameters
    arguments = (numbers, *(casadi.vertsplit(s) if s.numel() else [] for s in (q, v, x)))
    functions = (
        casadi.sin,
        casadi.cos,
        casadi.sqrt,
        lambda a, b, x, y: casadi.if_else(a < b, x, y),
        casadi.tanh,
        casadi.atan2,
        casadi.floor,
    )
    out = call_python(tree, function, arguments, functions)
    return casadi.Function("f", [parameters, q, v, x] if is_symbolic else [q, v, x], [casadi.vertcat(*out)])


@pytest.mark.oracle
@every_function
@pytest.mark.parametrize("name", [*SMALL_TREES, "arm7", "free_forest"])
def test_casadi_functions_evaluate_to_the_numbers(casadi: Any, name: str, function: Quantity) -> None:
    tree = get_tree(name)
    inputs = random_inputs(tree, 2, seed=2)
    # The parameters are those of the first state.
    inputs = inputs.changed(parameters=inputs.parameters[[0, 0]])
    f = casadi_function(casadi, tree, function, inputs.parameters[0])
    for i in range(2):
        state = inputs.state(i)
        arguments = state.arguments(function)
        got = np.asarray(f(*arguments[1:])).ravel()
        _, bounds = call_with_bounds(tree, function, arguments)
        assert_same_to_rounding(got, call_double(tree, function, state), bounds)


@pytest.mark.oracle
@every_function
def test_casadi_derivatives_vs_dual(casadi: Any, function: Quantity) -> None:
    """With respect to every input, the parameters too; a third, independent computation."""
    tree = get_tree("mixed4")
    state = random_inputs(tree, 1, seed=3).state(0)
    arguments = state.arguments(function)
    f = casadi_function(casadi, tree, function, casadi.SX.sym("parameters", arguments[0].size))
    rng = np.random.default_rng(0)
    seeds = rng.normal(size=(sum(array.size for array in arguments), W))
    values, derivatives = evaluate_dual(tree, function, *arguments, seeds)
    np.testing.assert_allclose(np.asarray(f(*arguments)).ravel(), values, rtol=1e-11, atol=1e-11)
    blocks = np.split(seeds, np.cumsum([array.size for array in arguments])[:-1])
    forward = f.forward(W)(*arguments, values, *blocks)
    # Rounding, amplified by the inverse of a mass matrix in forward dynamics.
    assert_within(np.asarray(forward), derivatives, 1e-9 * np.max(np.abs(derivatives)))


def industrial_arm() -> mbt.MultibodyTree:
    """Seven hinges about z, turned against each other by right angles; full inertia tensors; no motors."""
    bodies, joints = [], []
    for i in range(7):
        X = np.eye(4)
        if i:
            s = 1.0 if i % 2 else -1.0
            X[:3, :3] = [[1.0, 0.0, 0.0], [0.0, 0.0, -s], [0.0, s, 0.0]]
        X[:3, 3] = (0.0, 0.0, 0.2) if i % 2 or i == 0 else (0.0, -0.2, 0.0)
        inertia = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.025]])
        bodies.append(Body(f"link{i}", 3.0 - 0.2 * i, np.array([0.01, 0.03, 0.1]), inertia))
        parent = f"link{i - 1}" if i else WORLD
        axis = np.array([0.0, 0.0, 1.0])
        joints.append(Joint(f"joint{i}", "revolute", parent, f"link{i}", X_PF=X, axis=axis, damping=(0.5,)))
    return build_tree(Model("industrial_arm", tuple(bodies), tuple(joints)))


@pytest.mark.parametrize(
    ("function", "common", "general"),
    [(F.INVERSE_DYNAMICS, 940, 1480), (F.FORWARD_DYNAMICS, 2520, 4510), (F.MASS_MATRIX, 730, 1790)],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_kernels_ask_for_few_operations(function: Quantity, common: int, general: int) -> None:
    """Objects for q, v, x and floats for parameters. Limits are three percent above the original counts.

    The zeros of a common arm fold away; in an arm in general position there are none. A kernel that loses a
    folding, or does work twice, exceeds the bound.
    """
    for tree, at_most in ((industrial_arm(), common), (get_tree("arm7"), general)):
        log = Log()
        objects = [[Term(log) for _ in range(tree.num_velocities)] for _ in range(3)]
        call_python(tree, function, (default_parameters(tree), *objects), log.functions)
        assert at_most / 2 < log.calls <= at_most


@pytest.mark.oracle
def test_casadi_inverse_dynamics_is_a_short_program(casadi: Any) -> None:
    """Instructions of the function of q, v and vdot, 28 of them for what goes in and out."""
    for tree, at_most in ((industrial_arm(), 900), (get_tree("arm7"), 1580)):
        f = casadi_function(casadi, tree, F.INVERSE_DYNAMICS, default_parameters(tree).tolist())
        assert at_most / 2 < f.n_instructions() <= at_most
