"""Functions of mbt on PyTorch tensors: same values, derivatives that its own checks accept."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path
from support.host_cases import (
    CASES,
    as_tuple,
    by_position,
    get_tree,
    is_defined,
    jacobians,
    make_arguments,
    side_by_side,
)

pytestmark = [
    pytest.mark.engine,
    # PyTorch warns about parts of itself.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]
torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`: pip install '.[torch]'")
mtorch: Any = pytest.importorskip("mbt.interop.torch")


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def random_state(tree: mbt.MultibodyTree, *batch: int, **options: Any) -> list[Any]:
    numbers = np.random.default_rng(1).normal(size=(3, *batch, tree.num_velocities))
    return [torch.tensor(x, **options) for x in numbers]


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_values_are_those_of_the_function_to_the_last_bit(tree_name: str, name: str) -> None:
    tree = get_tree(tree_name)
    for batch in [(), (2, 2)] if is_defined(tree, name) else [(2, 2)]:
        operands, options = make_arguments(tree, name, batch)
        expected = as_tuple(by_position(functional, name)(tree, *operands, **options))
        program = partial(by_position(mtorch, name), tree, **options)
        tensors = [torch.tensor(x) for x in operands]
        for got in (program(*tensors), torch.vmap(program)(*tensors) if batch else program(*tensors)):
            for a, b in zip(as_tuple(got), expected, strict=True):
                np.testing.assert_array_equal(a.numpy(), b)


@pytest.mark.parametrize(("tree_name", "name"), CASES)
def test_derivatives_forward_and_in_reverse(tree_name: str, name: str) -> None:
    """Compare derivatives along coordinates with an autodiff clone of the tree."""
    tree = get_tree(tree_name)
    if not is_defined(tree, name):
        return
    operands, options = make_arguments(tree, name)
    rng = np.random.default_rng(2)
    changes = [rng.normal(size=x.shape) for x in operands]
    expected = jacobians(tree, name, operands, options)

    def program(*operands: Any) -> Any:
        return as_tuple(by_position(mtorch, name)(tree, *operands, **options))

    tensors = tuple(torch.tensor(x) for x in operands)
    _, rates = torch.func.jvp(program, tensors, tuple(map(torch.tensor, changes)))
    for rate, J in zip(rates, expected, strict=True):
        np.testing.assert_allclose(rate.numpy(), J @ side_by_side(changes), rtol=1e-9, atol=1e-9)
    results, pull = torch.func.vjp(program, *tensors)
    weights = tuple(torch.tensor(rng.normal(size=x.shape)) for x in results)
    total = sum(np.tensordot(w.numpy(), J, J.ndim - 1) for w, J in zip(weights, expected, strict=True))
    gradient = side_by_side([x.numpy() for x in pull(weights)])
    np.testing.assert_allclose(gradient, total, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_first_and_second_derivatives_pass_the_checks_of_torch(arm: mbt.MultibodyTree, name: str) -> None:
    operands = random_state(arm, requires_grad=True)
    program = partial(getattr(mtorch, name), arm)
    assert torch.autograd.gradcheck(program, operands)
    assert torch.autograd.gradgradcheck(program, operands)
    batch = random_state(arm, 2, requires_grad=True)
    assert torch.autograd.gradcheck(program, batch)


def test_maps_of_derivatives(arm: mbt.MultibodyTree) -> None:
    q, v, vdot = random_state(arm, 3)
    got = torch.vmap(torch.func.jacrev(partial(mtorch.inverse_dynamics, arm), argnums=(0, 1, 2)))(q, v, vdot)
    wanted = functional.inverse_dynamics_derivatives(arm, q.numpy(), v.numpy(), vdot.numpy())
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-12)


def test_a_compiled_program_is_one_graph_with_derivatives(arm: mbt.MultibodyTree) -> None:
    frame = arm.bodies[-1].body_frame

    def cost(q: Any, v: Any, tau: Any) -> Any:
        pose = mtorch.frame_pose(arm, q, frame)
        return mtorch.forward_dynamics(arm, q * 2.0, v, tau=tau).square().sum() + pose[:3, 3].sum()

    compiled = torch.compile(cost, fullgraph=True, backend="aot_eager")
    gradients = []
    for f in (cost, compiled):
        operands = random_state(arm, requires_grad=True)
        f(*operands).backward()
        gradients.append([x.grad.numpy() for x in operands])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_parameters_are_operands(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    body = next(b for b in arm.bodies[1:] if b.get_mass(arm.create_default_context()) > 0.0)
    mass = torch.tensor(body.get_mass(arm.create_default_context()), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda m: mtorch.forward_dynamics(arm, q, v, tau, parameters={body: m}), (mass,)
    )


@pytest.mark.parametrize("tree_name", ["arm7", "every_kind"])
def test_rollouts(tree_name: str) -> None:
    tree = get_tree(tree_name)
    (q, v, _), _ = make_arguments(tree, "step")
    tau = np.random.default_rng(3).normal(size=(3, tree.num_velocities))
    got = mtorch.rollout(tree, q, v, tau, 0.01)
    for a, b in zip(got, functional.rollout(tree, q, v, tau, 0.01), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)
    forces = torch.tensor(tau, requires_grad=True)
    assert torch.autograd.gradcheck(lambda tau: mtorch.rollout(tree, q, v, tau, 0.01), (forces,))


def test_implicit_steps_have_derivatives(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    step = partial(mtorch.step, arm, dt=5e-3, method="implicit")
    rates = torch.autograd.functional.jacobian(step, (q, v, tau))
    A, B = functional.step_derivatives(arm, q, v, tau, 5e-3, method="implicit")
    for got, expected in zip(rates, (np.hstack([A, B])[:6], np.hstack([A, B])[6:]), strict=True):
        np.testing.assert_allclose(np.hstack(got), expected, rtol=0, atol=1e-12)
    taus = torch.stack([tau, 0.5 * tau, -tau]).requires_grad_()
    program = partial(mtorch.rollout, arm, q, v, dt=5e-3, method="implicit")
    assert torch.autograd.gradcheck(program, (taus,))


def test_tensors_of_one_type_give_that_type(arm: mbt.MultibodyTree) -> None:
    operands = [x.float() for x in random_state(arm)]
    assert mtorch.forward_dynamics(arm, *operands).dtype == torch.float32
    assert mtorch.forward_dynamics(arm, operands[0], *random_state(arm)[1:]).dtype == torch.float64


def test_errors_name_the_argument(arm: mbt.MultibodyTree) -> None:
    q, v, tau = random_state(arm)
    with pytest.raises(mbt.ShapeError, match=r"q: expected shape \(\.\.\., 6\), got \(5,\)"):
        mtorch.forward_dynamics(arm, q[:5], v, tau)
    with pytest.raises(
        mbt.ArgumentTypeError, match=r"v: expected a tensor on the CPU.*got one on meta: x.cpu\(\)"
    ):
        mtorch.forward_dynamics(arm, q, v.to("meta"), tau)
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got str"):
        mtorch.forward_dynamics("arm", q, v, tau)
    with pytest.raises(mbt.MbtError, match="no higher ones"):
        torch.func.hessian(lambda q: mtorch.mass_matrix(arm, q).sum())(q)


ELSEWHERE = """
import sys, torch, mbt, mbt.interop.torch as mtorch
from mbt.models import model_path

def run():
    try:
        return torch.export.load(sys.argv[1]).module()(q).tolist()
    except mbt.ContextMismatchError as error:
        return str(error)

q = torch.full((6,), 0.3, dtype=torch.float64)
moon = mbt.load_model(model_path("mbt_arm"), gravity=[0, 0, -1.62])
mtorch.gravity_generalized_forces(moon, q)
results = [run()]
tree = mbt.load_model(model_path("mbt_arm"))
mtorch.gravity_generalized_forces(tree, q)
results.append(run())
sys.stdout.write(repr(results))
"""


def test_a_program_in_another_process_computes_with_an_equal_tree_or_not_at_all(tmp_path: Path) -> None:
    tree = mbt.load_model(model_path("mbt_arm"))

    class Program(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, q: Any) -> Any:
            return mtorch.gravity_generalized_forces(tree, q)

    q = torch.full((6,), 0.3, dtype=torch.float64)
    path = str(tmp_path / "program.pt2")
    torch.export.save(torch.export.export(Program(), (q,)), path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ELSEWHERE, path], capture_output=True, text=True, check=True
    )
    with_another, with_an_equal = ast.literal_eval(done.stdout)
    assert "the tree of this function is gone, or was never here" in with_another
    assert with_an_equal == functional.gravity_generalized_forces(tree, q.numpy()).tolist()
