"""JAX and PyTorch programs that call mbt repeatedly do not leak memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path
from support.live_memory import COUNTS, bytes_a_call

pytestmark = [
    pytest.mark.engine,
    pytest.mark.exhaustive,
    pytest.mark.skipif(not COUNTS, reason="needs glibc, which reports allocated memory"),
    # PyTorch warns about parts of itself.
    pytest.mark.filterwarnings("ignore::DeprecationWarning:torch"),
]

ARM = mbt.load_model(model_path("mbt_arm"))
NV = ARM.num_velocities
CALLS = 3000


def call_jax() -> Callable[[], Any]:
    jax: Any = pytest.importorskip("jax", reason="needs the extra `jax`")
    mjax: Any = pytest.importorskip("mbt.interop.jax")

    def cost(q: Any, v: Any, tau: Any) -> Any:
        return (mjax.forward_dynamics(ARM, q, v, tau) ** 2).sum()

    gradient = jax.jit(jax.grad(cost, argnums=(0, 1, 2)))
    state = [jax.numpy.ones(NV)] * 3
    return lambda: jax.block_until_ready(gradient(*state))


def call_torch() -> Callable[[], Any]:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
    mtorch: Any = pytest.importorskip("mbt.interop.torch")
    state = [torch.ones(NV, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    return lambda: torch.autograd.grad(mtorch.forward_dynamics(ARM, *state).sum(), state)


def call_with_arrays_of_others() -> Callable[[], Any]:
    torch: Any = pytest.importorskip("torch", reason="needs the extra `torch`")
    jax: Any = pytest.importorskip("jax", reason="needs the extra `jax`")
    q, v = torch.ones(NV, dtype=torch.float64), jax.numpy.ones(NV)
    wanted = torch.ones(NV, requires_grad=True)
    context = ARM.create_default_context()

    def call() -> None:
        context.q, context.v = q, v
        functional.forward_dynamics(ARM, q, v, np.ones(NV))
        with pytest.raises(mbt.ArgumentTypeError):
            functional.mass_matrix(ARM, wanted)

    return call


def test_what_is_kept_is_counted() -> None:
    kept: list[object] = []
    assert bytes_a_call(lambda: kept.append(object()), CALLS) > 12
    assert bytes_a_call(lambda: object(), CALLS) < 12


@pytest.mark.parametrize("make", [call_jax, call_torch, call_with_arrays_of_others])
def test_memory_stays_over_many_calls(make: Callable[[], Callable[[], Any]]) -> None:
    # The smallest block of the C library has 32 bytes, and a Python object counts as 16.
    assert bytes_a_call(make(), CALLS) < 12
