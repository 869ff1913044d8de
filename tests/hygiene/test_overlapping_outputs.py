"""Two results that share memory are refused by name, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.autodiff import AutoDiffArray
from support.case import get_case
from support.two_links import two_links

SCALARS = ("double", "batch", "autodiff", "sympy")


class Subject:
    """A tree of one scalar type with a Context, and arrays of that scalar full of sevens."""

    def __init__(self, scalar: str) -> None:
        tree = two_links() if scalar == "sympy" else get_case("arm7").tree
        if scalar not in ("double", "batch"):
            tree = tree.clone_to_scalar(scalar)
        self.scalar, self.tree = scalar, tree
        self.lead = (5,) if scalar == "batch" else ()
        self.context = tree.create_default_context(self.lead)
        self.nv, self.nb = tree.num_velocities, tree.num_bodies

    def sevens(self, *shape: int) -> Any:
        if self.scalar == "autodiff":
            return AutoDiffArray(np.full(shape, 7.0), np.full((*shape, 2), 7.0))
        return np.full((*self.lead, *shape), 7.0, dtype=object if self.scalar == "sympy" else float)

    def start_of(self, array: Any, count: int) -> Any:
        """Memory of the first numbers of an array, as an array of `count` numbers for each sample."""
        flat = array.reshape(-1)[: count * int(np.prod(self.lead))]
        return flat.reshape(*self.lead, count)


def memories(arrays: list[Any]) -> list[Any]:
    return [part for a in arrays for part in ((a.value, a.derivatives) if hasattr(a, "value") else (a,))]


def refused(call: Callable[[], object], first: str, second: str, arrays: list[Any]) -> None:
    before = [memory.copy() for memory in memories(arrays)]
    with pytest.raises(mbt.ArgumentValueError) as caught:
        call()
    assert first in str(caught.value)
    assert second in str(caught.value)
    for memory, kept in zip(memories(arrays), before, strict=True):
        np.testing.assert_array_equal(memory, kept)


@pytest.mark.parametrize("scalar", SCALARS)
def test_outputs_of_inverse_dynamics(scalar: str) -> None:
    s = Subject(scalar)
    vdot = np.ones(s.nv)

    def calc(**outputs: Any) -> Callable[[], object]:
        return lambda: s.tree.calc_inverse_dynamics(s.context, vdot, **outputs)

    A, F_BMo_W = s.sevens(s.nb, 6), s.sevens(s.nb, 6)
    names = "A_WB_array", "F_BMo_W_array"
    refused(calc(A_WB_array=A, F_BMo_W_array=A), *names, [A])
    part = s.start_of(A, s.nv)
    refused(calc(A_WB_array=A, out=part), "A_WB_array", "out", [A])
    refused(calc(F_BMo_W_array=A, A_WB_array=F_BMo_W, out=part), "F_BMo_W_array", "out", [A, F_BMo_W])
    # Side by side in one memory, they do not overlap.
    both = s.sevens(2, s.nb, 6) if scalar != "batch" else np.full((2, 5, s.nb, 6), 7.0)
    calc(A_WB_array=both[0], F_BMo_W_array=both[1])()
    assert not (memories([both])[0] == 7.0).any()


@pytest.mark.parametrize("name", ["inverse", "forward"])
@pytest.mark.parametrize("scalar", SCALARS)
def test_derivatives(scalar: str, name: str) -> None:
    """Both of a Context and of the functions without one."""
    s = Subject(scalar)
    x = np.ones((*s.lead, s.nv))
    a, b = s.sevens(s.nv, s.nv), s.sevens(s.nv, s.nv)
    q = np.zeros((*s.lead, s.tree.num_positions))
    method = getattr(s.tree, f"calc_{name}_dynamics_derivatives")
    function = getattr(functional, f"{name}_dynamics_derivatives")
    for out, j in (((a, b, a), 2), ((a, a, None), 1)):
        refused(lambda out=out: method(s.context, x, out=out), "out[0]", f"out[{j}]", [a, b])
        refused(lambda out=out: function(s.tree, q, x, x, out=out), "out[0]", f"out[{j}]", [a, b])


@pytest.mark.parametrize("scalar", SCALARS)
def test_rollouts(scalar: str) -> None:
    s = Subject(scalar)
    q, v, tau = (np.zeros((*s.lead, *core)) for core in ((s.tree.num_positions,), (s.nv,), (1, s.nv)))
    path = s.sevens(2, s.nv)
    out = (path, path)
    refused(lambda: s.tree.rollout(s.context, tau, 0.1, out=out), "out[0]", "out[1]", [path])
    refused(lambda: functional.rollout(s.tree, q, v, tau, 0.1, out=out), "out[0]", "out[1]", [path])


@pytest.mark.parametrize("scalar", SCALARS)
def test_steps(scalar: str) -> None:
    s = Subject(scalar)
    q, v = (np.zeros((*s.lead, n)) for n in (s.tree.num_positions, s.nv))
    state = s.sevens(s.nv)
    refused(lambda: functional.step(s.tree, q, v, v, 0.1, out=(state, state)), "out[0]", "out[1]", [state])


def test_values_in_the_memory_of_derivatives() -> None:
    """An array with derivatives has two blocks of memory."""
    s = Subject("autodiff")
    numbers = np.full((s.nb, 6, 1), 7.0)
    A = AutoDiffArray(np.zeros((s.nb, 6)), numbers)
    F_BMo_W = AutoDiffArray(numbers[..., 0], np.zeros((s.nb, 6, 1)))

    def call() -> object:
        return s.tree.calc_inverse_dynamics(s.context, np.ones(s.nv), A_WB_array=A, F_BMo_W_array=F_BMo_W)

    refused(call, "A_WB_array", "F_BMo_W_array", [A, F_BMo_W])


def test_columns_of_one_array_are_apart() -> None:
    """Interleaved, but without a shared number."""
    s = Subject("sympy")
    whole = s.sevens(s.nv, s.nv, 3)
    out = tuple(whole[..., i] for i in range(3))
    s.tree.calc_inverse_dynamics_derivatives(s.context, np.zeros(s.nv), out=out)
    wanted = s.tree.calc_inverse_dynamics_derivatives(s.context, np.zeros(s.nv))
    for got, matrix in zip(out, wanted, strict=True):
        assert (got == matrix).all()
