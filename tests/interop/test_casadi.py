"""Functions of CasADi that call mbt: same values, derivatives, use in solvers, clear errors."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path
from support.description import Array
from support.host_cases import (
    CASES,
    as_tuple,
    by_position,
    get_tree,
    is_defined,
    jacobians,
    make_arguments,
)

pytestmark = pytest.mark.oracle
casadi: Any = pytest.importorskip("casadi", reason="needs the extra `casadi`: pip install '.[casadi]'")
mcasadi: Any = pytest.importorskip("mbt.interop.casadi")
acados: Any = pytest.importorskip("mbt.interop.acados")

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def as_columns(array: Array) -> Array:
    """Return samples (n, ...) in CasADi's layout: columns, or matrices side by side."""
    if array.ndim <= 2:
        return array.T
    return np.hstack([sample.reshape(-1, sample.shape[-1]) for sample in array])


def as_casadi(array: Array) -> Array:
    """Return one sample as a matrix."""
    return as_columns(array[np.newaxis])


def full(matrix: Any) -> Array:
    return np.asarray(casadi.DM(matrix).full())


def random_state(tree: mbt.MultibodyTree, seed: int = 1) -> list[Array]:
    return list(np.random.default_rng(seed).normal(size=(3, tree.num_velocities)))


def flat_jacobian(J: Array, rank: int) -> Array:
    """Return the derivative (*result, m) of a result in CasADi's layout: rows in column-major order."""
    result = as_casadi(np.arange(float(np.prod(J.shape[:rank]))).reshape(J.shape[:rank]))
    order = result.ravel(order="F").astype(int)
    return J.reshape(order.size, J.shape[-1])[order]


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_values_are_those_of_the_function_to_the_last_bit(tree_name: str, name: str) -> None:
    tree = get_tree(tree_name)
    function = by_position(functional, name)
    if is_defined(tree, name):
        operands, options = make_arguments(tree, name)
        callback = mcasadi.make_callback(tree, name, **options)
        got = as_tuple(callback(*operands))
        for a, b in zip(got, as_tuple(function(tree, *operands, **options)), strict=True):
            np.testing.assert_array_equal(full(a), as_casadi(b))
        for a, b in zip(as_tuple(by_position(mcasadi, name)(tree, *operands, **options)), got, strict=True):
            np.testing.assert_array_equal(full(a), full(b))
    operands, options = make_arguments(tree, name, (3,))
    callback = mcasadi.make_callback(tree, name, num_samples=3, **options)
    columns = [as_columns(x) for x in operands]
    symbols = [casadi.MX.sym(f"x{i}", *x.shape) for i, x in enumerate(columns)]
    program = casadi.Function("f", symbols, as_tuple(by_position(mcasadi, name)(tree, *symbols, **options)))
    expected = as_tuple(function(tree, *operands, **options))
    for got in (as_tuple(callback(*columns)), as_tuple(program(*columns))):
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_array_equal(full(a), as_columns(b))


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_jacobians(tree_name: str, name: str) -> None:
    """Compare with an autodiff clone of the tree; a batch must match its samples one by one."""
    tree = get_tree(tree_name)
    if not is_defined(tree, name):
        return
    operands, options = make_arguments(tree, name)
    callback = mcasadi.make_callback(tree, name, **options)
    n = len(operands)
    placeholders = [casadi.DM(*callback.size_out(i)) for i in range(callback.n_out())]
    blocks = as_tuple(callback.jacobian()(*operands, *placeholders))
    of_clone = jacobians(tree, name, operands, options)
    results = as_tuple(by_position(functional, name)(tree, *operands, **options))
    # CasADi stacks the columns of a matrix.
    ends = np.cumsum([x.size for x in operands])
    order = np.concatenate(
        [
            end - x.size + np.arange(x.size).reshape(x.shape).ravel(order="F")
            for x, end in zip(operands, ends, strict=True)
        ]
    )
    for i, (J, result) in enumerate(zip(of_clone, results, strict=True)):
        got = np.hstack([full(block) for block in blocks[i * n : (i + 1) * n]])
        np.testing.assert_allclose(got, flat_jacobian(J, result.ndim)[:, order], rtol=1e-9, atol=1e-9)

    both = [casadi.repmat(casadi.DM(x), 1, 2) for x in operands]
    pair = mcasadi.make_callback(tree, name, num_samples=2, **options)
    symbols = [casadi.MX.sym(f"x{i}", *x.shape) for i, x in enumerate(both)]
    derivatives = [
        casadi.jacobian(result, casadi.vec(x)) for result in as_tuple(pair(*symbols)) for x in symbols
    ]
    for got, block in zip(as_tuple(casadi.Function("J", symbols, derivatives)(*both)), blocks, strict=True):
        once = full(block)
        assert got.nnz() == 2 * once.size
        np.testing.assert_allclose(
            full(got), np.kron(np.eye(2), once), rtol=1e-9, atol=1e-9 * np.abs(once).max(initial=1.0)
        )


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_jacobians_against_differences(tree_name: str, name: str) -> None:
    tree = get_tree(tree_name)
    if not is_defined(tree, name):
        return
    operands, options = make_arguments(tree, name)
    callback = mcasadi.make_callback(tree, name, **options)
    # A pose plus a small step is not a pose.
    goals = [x for x in operands if x.ndim > 1]
    operands = [x for x in operands if x.ndim == 1]
    symbols = [casadi.MX.sym(f"x{i}", x.size) for i, x in enumerate(operands)]
    results = casadi.veccat(*as_tuple(callback(*symbols, *goals)))
    program = casadi.Function("f", symbols, [results, casadi.jacobian(results, casadi.veccat(*symbols))])
    x, ends, h = np.concatenate(operands), np.cumsum([x.size for x in operands])[:-1], 1e-6
    J = full(program(*operands)[1])
    for k, e in enumerate(h * np.eye(x.size)):
        after, before = (full(program(*np.split(y, ends))[0]).ravel() for y in (x + e, x - e))
        np.testing.assert_allclose(
            J[:, k], (after - before) / (2 * h), rtol=0, atol=1e-6 * np.abs(J).max(initial=1.0)
        )


@pytest.mark.parametrize("tree_name", ["arm7", "every_kind"])
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("num_samples", [1, 2])
def test_hessians_against_differences(tree_name: str, name: str, num_samples: int) -> None:
    tree = get_tree(tree_name)
    operands, _ = make_arguments(tree, name, (num_samples,))
    columns = [as_columns(x) for x in operands]
    symbols = [casadi.MX.sym(f"x{i}", *x.shape) for i, x in enumerate(columns)]
    cost = casadi.sumsqr(casadi.sin(getattr(mcasadi, name)(tree, *symbols)))
    variables = casadi.veccat(*symbols)
    H, g = casadi.hessian(cost, variables)
    hessian, gradient = (casadi.Function("f", symbols, [expression]) for expression in (H, g))
    x = np.concatenate([column.ravel(order="F") for column in columns])

    def slope(x: Array) -> Array:
        ends = np.cumsum([column.size for column in columns])[:-1]
        parts = [
            part.reshape(column.shape, order="F")
            for part, column in zip(np.split(x, ends), columns, strict=True)
        ]
        return full(gradient(*parts)).ravel()

    step = 1e-5
    rows = [(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(x.size)]
    got = full(hessian(*columns))
    np.testing.assert_allclose(got, np.array(rows), atol=1e-6 * np.abs(got).max())


def test_maps_and_programs_on_threads(arm: mbt.MultibodyTree) -> None:
    callback = mcasadi.make_callback(arm, "forward_dynamics")
    columns = np.random.default_rng(3).normal(size=(3, 6, 8))
    expected = np.stack(
        [functional.forward_dynamics(arm, *sample) for sample in columns.transpose(2, 0, 1)], axis=1
    )
    np.testing.assert_array_equal(full(callback.map(8)(*columns)), expected)
    np.testing.assert_array_equal(full(callback.map(8, "thread", 2)(*columns)), expected)


def test_one_operand_may_be_common_to_all_samples(arm: mbt.MultibodyTree) -> None:
    q, v = np.random.default_rng(3).normal(size=(2, 6, 4))
    tau = np.arange(6.0)
    got = full(mcasadi.forward_dynamics(arm, q, v, tau))
    np.testing.assert_array_equal(got.T, functional.forward_dynamics(arm, q.T.copy(), v.T.copy(), tau))


def test_implicit_steps_have_derivatives(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    joint = arm.joints[2]
    symbols = [casadi.MX.sym(name, 6) for name in ("q", "v", "tau")]
    damping = casadi.MX.sym("d", 1)
    _, v1 = mcasadi.step(arm, *symbols, 5e-3, method="implicit")
    by_state = casadi.Function("by_state", symbols, [v1, *(casadi.jacobian(v1, x) for x in symbols)])
    A, B = functional.step_derivatives(arm, q, v, tau, 5e-3, method="implicit")
    end, *rates = (full(x) for x in by_state(q, v, tau))
    expected = functional.step(arm, q, v, tau, 5e-3, method="implicit")[1]
    np.testing.assert_array_equal(end.ravel(), expected)
    np.testing.assert_allclose(np.hstack(rates), np.hstack([A[6:], B[6:]]), rtol=0, atol=1e-12)
    _, v1 = mcasadi.step(arm, q, v, tau, 5e-3, method="implicit", parameters={joint: damping})
    by_damping = casadi.Function("by_damping", [damping], [v1, casadi.jacobian(v1, damping)])
    ends = [full(by_damping(0.4 + s)[0]) for s in (1e-4, -1e-4)]
    np.testing.assert_allclose(full(by_damping(0.4)[1]), (ends[0] - ends[1]) / 2e-4, rtol=1e-6, atol=1e-7)


def test_parameters_are_operands(arm: mbt.MultibodyTree) -> None:
    """Of every shape (a number, a vector, a pose), with derivatives."""
    q, v, tau = random_state(arm)
    context = arm.create_default_context()
    body, gravity = arm.bodies[3], arm.force_elements[0]
    frame = next(f for f in arm.frames if isinstance(f, mbt.FixedOffsetFrame))
    values: dict[Any, Any] = {
        body: 1.7,
        gravity: np.array([0.3, -0.2, -9.0]),
        frame: mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.3, 0.2, 0.1]),
    }
    body.set_mass(context, 1.7)
    gravity.set_gravity_vector(context, values[gravity])
    frame.set_pose_in_parent_frame(context, values[frame])
    context.q, context.v = q, v
    wanted = arm.calc_forward_dynamics(context, tau)
    got = full(mcasadi.forward_dynamics(arm, q, v, tau, parameters=values)).ravel()
    np.testing.assert_array_equal(got, wanted)

    callback = mcasadi.make_callback(arm, "forward_dynamics", parameters=[body, gravity])
    blocks = callback.jacobian()(q, v, tau, 1.7, values[gravity], casadi.DM(6, 1))
    h = 1e-5
    ends = [full(callback(q, v, tau, 1.7 + change, values[gravity])) for change in (h, -h)]
    slope = (ends[0] - ends[1]) / (2 * h)
    np.testing.assert_allclose(full(blocks[3]), slope, rtol=1e-6, atol=1e-8)
    many = mcasadi.forward_dynamics(arm, np.tile(q[:, None], 3), v, tau, parameters={body: [[1.0, 1.7, 2.0]]})
    one = mcasadi.forward_dynamics(arm, q, v, tau, parameters={body: 1.7})
    np.testing.assert_allclose(full(many)[:, 1], full(one).ravel(), rtol=1e-12)


# Solvers --------------------------------------------------------------------------------------------------


def swing(tree: mbt.MultibodyTree, dynamics: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """Move an arm from rest to rest with little force; one call computes all steps."""
    steps, h, n = 12, 0.05, tree.num_velocities
    problem = casadi.Opti()
    q, v = problem.variable(n, steps + 1), problem.variable(n, steps + 1)
    tau = problem.variable(n, steps)
    vdot = dynamics(q[:, :-1], v[:, :-1], tau)
    problem.subject_to(casadi.vec(v[:, 1:] - v[:, :-1] - h * vdot) == 0)
    problem.subject_to(casadi.vec(q[:, 1:] - q[:, :-1] - h * v[:, 1:]) == 0)
    problem.subject_to(q[:, 0] == 0)
    problem.subject_to(v[:, 0] == 0)
    problem.subject_to(q[:, -1] == 0.3)
    problem.subject_to(v[:, -1] == 0)
    problem.minimize(casadi.sumsqr(tau) + 0.1 * casadi.sumsqr(v))
    problem.solver("ipopt", {"print_time": False, **options}, {"print_level": 0, "sb": "yes", "tol": 1e-9})
    solution = problem.solve()
    return solution.value(tau), solution.stats()


def test_a_solver_of_nonlinear_programs_finds_what_it_finds_with_expressions(arm: mbt.MultibodyTree) -> None:
    inputs = mbt.symbolic.make_expressions(arm, "forward_dynamics", "casadi")
    expressions = mbt.symbolic.make_casadi_function("f", *inputs).map(12)
    wanted, stats = swing(arm, expressions, {})
    exact, exact_stats = swing(arm, lambda *x: mcasadi.forward_dynamics(arm, *x), {})
    np.testing.assert_allclose(exact, wanted, atol=1e-5 * np.abs(wanted).max())
    assert exact_stats["iter_count"] == stats["iter_count"]
    mapped = mcasadi.make_callback(arm, "forward_dynamics").map(12)
    limited, _ = swing(arm, mapped, {"ipopt.hessian_approximation": "limited-memory"})
    np.testing.assert_allclose(limited, wanted, atol=1e-3 * np.abs(wanted).max())


def test_an_integrator_with_sensitivities(arm: mbt.MultibodyTree) -> None:
    tau = functional.gravity_generalized_forces(arm, np.zeros(6)) * -1.0 + 0.3
    x, u = casadi.MX.sym("x", 12), casadi.MX.sym("u", 6)
    ode = casadi.vertcat(x[6:], mcasadi.forward_dynamics(arm, x[:6], x[6:], u))
    flow = casadi.integrator(
        "flow", "cvodes", {"x": x, "p": u, "ode": ode}, 0.0, 0.1, {"abstol": 1e-10, "reltol": 1e-10}
    )
    end = full(flow(x0=np.zeros(12), p=tau)["xf"]).ravel()
    q, v = functional.rollout(arm, np.zeros(6), np.zeros(6), np.tile(tau, (200, 1)), 5e-4, method="rk4")
    np.testing.assert_allclose(end, np.concatenate([q[-1], v[-1]]), atol=1e-7)
    slopes = casadi.Function("S", [u], [casadi.jacobian(flow(x0=np.zeros(12), p=u)["xf"], u)])
    h = 1e-3
    ends = [full(flow(x0=np.zeros(12), p=tau + s * h * np.eye(6)[1])["xf"]) for s in (1, -1)]
    np.testing.assert_allclose(full(slopes(tau))[:, 1], (ends[0] - ends[1]).ravel() / (2 * h), atol=1e-5)


# Errors ---------------------------------------------------------------------------------------------------


def test_errors_name_the_argument(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    with pytest.raises(mbt.ShapeError, match=r"q: expected shape \(6, n\) for n samples, got \(5, 1\)"):
        mcasadi.forward_dynamics(arm, casadi.MX.sym("q", 5), v, tau)
    with pytest.raises(mbt.ShapeError, match="number of samples of each operand, or one, got 2 of q, 3 of v"):
        mcasadi.forward_dynamics(arm, np.zeros((6, 2)), np.zeros((6, 3)), tau)
    with pytest.raises(mbt.ShapeError, match="q: expected a column for each sample"):
        mcasadi.mass_matrix(arm, np.zeros((2, 6, 1)))
    with pytest.raises(mbt.ArgumentTypeError, match="v: "):
        mcasadi.forward_dynamics(arm, q, "fast", tau)
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got str"):
        mcasadi.mass_matrix("arm", q)
    with pytest.raises(mbt.ArgumentTypeError, match="parameters: expected bodies"):
        mcasadi.make_callback(arm, "forward_dynamics", parameters=[arm.mobilizers[0]])
    with pytest.raises(mbt.UnknownNameError, match="forward_dynamics"):
        mcasadi.make_callback(arm, "forwards_dynamics")
    with pytest.raises(mbt.ArgumentTypeError, match="function: expected a name, got function"):
        mcasadi.make_callback(arm, swing)
    with pytest.raises(mbt.ArgumentValueError, match="options of frame_pose: expected frame, missing: frame"):
        mcasadi.make_callback(arm, "frame_pose")
    with pytest.raises(mbt.ArgumentValueError, match="options of mass_matrix: expected none, got frame"):
        mcasadi.make_callback(arm, "mass_matrix", frame=arm.world_frame)
    assert mcasadi.make_callback(arm, "mass_matrix", num_samples=np.int64(2)).size_in(0) == (6, 2)
    with pytest.raises(mbt.ArgumentTypeError, match="casadi_options: expected a dict, got list"):
        mcasadi.make_callback(arm, "mass_matrix", casadi_options=[])
    for wrong in (0, 1.5, "3", True):
        with pytest.raises(mbt.ArgumentValueError, match="num_samples: expected a positive integer"):
            mcasadi.make_callback(arm, "mass_matrix", num_samples=wrong)


def test_errors_inside_of_solvers_have_our_words(arm: mbt.MultibodyTree) -> None:
    tree = get_tree("one_floating_reversed")
    callback = mcasadi.make_callback(tree, "mass_matrix")
    x = casadi.MX.sym("x", tree.num_positions)
    program = casadi.Function("f", [x], [callback(x)])
    for function in (callback, program):
        with pytest.raises(RuntimeError, match="quaternion"):
            function(np.zeros(tree.num_positions))
    # In a batch, the other samples still have results.
    q = np.stack([tree.default_positions, np.zeros(tree.num_positions)], axis=1)
    both = full(mcasadi.mass_matrix(tree, q))
    assert np.isfinite(both[:, :6]).all()
    assert np.isnan(both[:, 6:]).any()
    with pytest.raises(RuntimeError, match=r"no higher ones.*limited-memory"):
        casadi.hessian(casadi.sumsqr(callback(x)), x)


def test_higher_derivatives_by_differences(arm: mbt.MultibodyTree) -> None:
    q = random_state(arm)[0]
    x = casadi.MX.sym("x", 6)
    callback = mcasadi.make_callback(arm, "mass_matrix", casadi_options={"enable_fd": True})
    by_expressions = mbt.symbolic.make_casadi_function(
        "M", *mbt.symbolic.make_expressions(arm, "mass_matrix", "casadi")
    )
    got, wanted = (
        full(casadi.Function("H", [x], [casadi.hessian(casadi.sumsqr(f(x)), x)[0]])(q))
        for f in (callback, by_expressions)
    )
    np.testing.assert_allclose(got, wanted, atol=1e-5 * np.abs(wanted).max())


def test_lives() -> None:
    """A callback keeps its tree alive; a CasADi function keeps neither, and raises instead of crashing."""
    tree = mbt.load_model(model_path("mbt_arm"))
    callback = mcasadi.make_callback(tree, "gravity_generalized_forces")
    wanted = functional.gravity_generalized_forces(tree, np.ones(6))
    x = casadi.MX.sym("x", 6)
    program = casadi.Function("f", [x], [callback(x), casadi.jacobian(callback(x), x)])
    del tree
    gc.collect()
    np.testing.assert_array_equal(full(program(np.ones(6))[0]).ravel(), wanted)
    assert copy.copy(callback) is callback
    assert copy.deepcopy(callback) is callback
    del callback
    gc.collect()
    with pytest.raises(RuntimeError, match="deleted"):
        program(np.ones(6))


def test_pickles(arm: mbt.MultibodyTree) -> None:
    q = random_state(arm)[0]
    frame = arm.frames[-1]
    callback = mcasadi.make_callback(arm, "frame_pose", frame=frame, num_samples=2, parameters=[frame])
    columns = (np.stack([q, -q], axis=1), np.tile(mbt.math.make_pose([0.1, 0.2, 0.3]), 2))
    again = pickle.loads(pickle.dumps(callback))
    np.testing.assert_array_equal(full(again(*columns)), full(callback(*columns)))
    tree = pickle.loads(pickle.dumps(arm))  # callbacks are not pickled with the tree
    assert mcasadi.mass_matrix(tree, q).shape == (6, 6)


def test_expressions_belong_to_their_tree(arm: mbt.MultibodyTree) -> None:
    """Functions to which nobody holds a reference live as long as the tree."""
    assert mcasadi.make_callback(arm, "mass_matrix") is mcasadi.make_callback(arm, "mass_matrix")
    x = casadi.MX.sym("x", 6)
    program = casadi.Function("f", [x], [casadi.jacobian(mcasadi.center_of_mass(arm, x), x)])
    gc.collect()
    J = arm.create_default_context()
    J.q = np.ones(6)
    wanted = arm.calc_jacobian_center_of_mass_translational_velocity(J, "v", arm.world_frame, arm.world_frame)
    np.testing.assert_allclose(full(program(np.ones(6))), wanted, atol=1e-12)


@pytest.mark.exhaustive
def test_memory_stays_over_many_calls(arm: mbt.MultibodyTree) -> None:
    x = casadi.MX.sym("x", 6)
    y = mcasadi.forward_dynamics(arm, x, x, x)
    program = casadi.Function("f", [x], [y, casadi.jacobian(y, x)])
    state = casadi.DM.ones(6)
    used = []
    for _ in range(2):
        for _ in range(50_000):
            program(state)
        used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert used[1] - used[0] < 1024  # KiB


# acados ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_models_of_acados(base: str) -> None:
    tree = mbt.load_model(model_path("mbt_arm"), base=base, actuators="all")
    body, gravity = tree.bodies[3], tree.force_elements[0]
    frame = next(f for f in tree.frames if isinstance(f, mbt.FixedOffsetFrame))
    model, values = acados.make_model(
        tree, "arm", actuation=tree.actuation_matrix, parameters=[body, frame, gravity]
    )
    assert model["name"] == "arm"
    assert len(model["x_labels"]) == model["x"].numel() == tree.num_positions + tree.num_velocities
    assert len(model["u_labels"]) == model["u"].numel() == tree.num_actuators
    assert model["p"].numel() == values.size == 1 + 16 + 3
    symbols = [model[key] for key in ("x", "u", "p")]
    explicit = casadi.Function("f", symbols, [model["f_expl_expr"]])
    implicit = casadi.Function("g", [model["xdot"], *symbols], [model["f_impl_expr"]])
    rng = np.random.default_rng(4)
    q = functional.integrate_positions(tree, tree.default_positions, rng.normal(size=tree.num_velocities), 1)
    v, u = rng.normal(size=tree.num_velocities), rng.normal(size=tree.num_actuators)
    x = np.concatenate([q, v])
    context = tree.create_default_context()
    for changed in (values, values + np.eye(20)[0] + np.eye(20)[18]):
        body.set_mass(context, changed[0])
        frame.set_pose_in_parent_frame(context, changed[1:17].reshape(4, 4))
        gravity.set_gravity_vector(context, changed[17:])
        context.q, context.v = q, v
        vdot = tree.calc_forward_dynamics(context, tree.actuation_matrix @ u)
        xdot = explicit(x, u, changed)
        wanted = np.concatenate([tree.map_velocity_to_qdot(context, v), vdot])
        np.testing.assert_allclose(full(xdot).ravel(), wanted, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(full(implicit(xdot, x, u, changed)), 0.0, atol=1e-10)
    # By default, every velocity has a generalized force as input.
    model, values = acados.make_model(tree, "arm")
    assert (model["u"].numel(), model["p"].numel(), values.size) == (tree.num_velocities, 0, 0)


def test_models_of_trees_with_constraints() -> None:
    tree = get_tree("loops")
    model, _ = acados.make_model(tree, "loops")
    (q, v, tau), _ = make_arguments(tree, "forward_dynamics")
    f = casadi.Function("f", [model["x"], model["u"]], [model["f_expl_expr"]])
    g = casadi.Function("g", [model["xdot"], model["x"], model["u"]], [model["f_impl_expr"]])
    x = np.concatenate([q, v])
    xdot = f(x, tau)
    wanted = functional.forward_dynamics(tree, q, v, tau)
    np.testing.assert_allclose(full(xdot).ravel()[-v.size :], wanted, rtol=1e-8, atol=1e-8)
    assert np.abs(full(g(xdot, x, tau))).max() == 0.0


def test_generated_code_of_a_model_compiles_and_agrees(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    """As in acados: C code from CasADi, with the Jacobians that its integrators ask for."""
    if COMPILER is None:
        pytest.fail("needs a C compiler")
    model, _ = acados.make_model(arm, "arm")
    x, u, f = model["x"], model["u"], model["f_expl_expr"]
    function = casadi.Function("ode", [x, u], [f, casadi.jacobian(f, casadi.vertcat(x, u))])
    generator = casadi.CodeGenerator("ode.c", {"casadi_int": "int", "casadi_real": "double"})
    generator.add(function)
    generator.generate(f"{tmp_path}/")
    library = tmp_path / "ode.so"
    subprocess.run(
        [COMPILER, "-O0", "-shared", "-fPIC", str(tmp_path / "ode.c"), "-o", str(library), "-lm"], check=True
    )
    compiled = ctypes.CDLL(str(library)).ode
    q, v, tau = random_state(arm)
    state, slopes = np.concatenate([q, v]), np.full(function.nnz_out(1), np.nan)
    xdot = np.full(12, np.nan)
    inputs = (ctypes.c_void_p * 2)(state.ctypes.data, tau.ctypes.data)
    outputs = (ctypes.c_void_p * 2)(xdot.ctypes.data, slopes.ctypes.data)
    work = [np.zeros(max(1, n)) for n in (function.sz_iw(), function.sz_w())]
    work[0] = work[0].astype(np.int32)
    assert compiled(inputs, outputs, *(ctypes.c_void_p(w.ctypes.data) for w in work), 0) == 0
    np.testing.assert_allclose(xdot[6:], functional.forward_dynamics(arm, q, v, tau), rtol=1e-11)
    of_q, of_v, of_tau = functional.forward_dynamics_derivatives(arm, q, v, tau)
    J = full(casadi.DM(function.sparsity_out(1), slopes))
    np.testing.assert_allclose(J[6:], np.hstack([of_q, of_v, of_tau]), rtol=1e-9, atol=1e-9)


def test_what_acados_cannot_have(arm: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree of doubles"):
        acados.make_model(arm.to_autodiff(), "arm")
    with pytest.raises(mbt.ArgumentTypeError, match="name: expected text, got int"):
        acados.make_model(arm, 5)
    with pytest.raises(mbt.NotFinalizedError):
        acados.make_model(mbt.MultibodyTree(), "arm")
    with pytest.raises(mbt.ShapeError, match="actuation"):
        acados.make_model(arm, "arm", actuation=np.eye(5))
    with pytest.raises(mbt.ArgumentTypeError, match="parameters: expected bodies"):
        acados.make_model(arm, "arm", parameters=[arm.mobilizers[0]])
