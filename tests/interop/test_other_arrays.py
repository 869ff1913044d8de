"""Arrays of other libraries as arguments: read in place, or refused with advice."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math.arrays import as_float_array
from mbt.models import model_path

ARM = mbt.load_model(model_path("mbt_arm"), actuators="all")
NV = ARM.num_velocities
RNG = np.random.default_rng(0)


class OfDLPack:
    """An array that supports DLPack but not NumPy."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)


class OnGpu(OfDLPack):
    """A GPU array, whose conversion would fail or hide a copy."""

    def __init__(self, array: Any) -> None:
        super().__init__(array, device=2)

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("cannot export a GPU array")

    def __array__(self, *arguments: Any, **keywords: Any) -> Any:
        raise AssertionError("copied from the GPU")

    def __mul__(self, other: Any) -> Any:
        return self

    __rsub__ = __truediv__ = __mul__


class OfCuda:
    """An array of Numba, or of an old CuPy."""

    def __init__(self, array: Any) -> None:
        self.__dict__["shape"] = array.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (NV,), "typestr": "<f8", "data": (0, False), "version": 3}


def torch_tensor(array: Any) -> Any:
    return pytest.importorskip("torch").tensor(array)


def jax_array(array: Any) -> Any:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        return jax.numpy.asarray(array)


ENGINE = pytest.mark.engine
MAKERS = [OfDLPack, pytest.param(torch_tensor, marks=ENGINE), pytest.param(jax_array, marks=ENGINE)]
every_library = pytest.mark.parametrize("make", MAKERS)


@every_library
def test_memory_is_shared(make: Callable[[Any], Any]) -> None:
    numbers = RNG.normal(size=(100, NV))
    array = make(numbers)
    taken = as_float_array(array, "q", (100, NV))
    np.testing.assert_array_equal(taken, numbers)
    original = array.array if make is OfDLPack else np.asarray(array)
    assert np.shares_memory(taken, original)


@every_library
@pytest.mark.parametrize("batch", [(), (5,), (2, 3)], ids=str)
def test_functions_give_what_they_give_for_numpy(make: Callable[[Any], Any], batch: tuple[int, ...]) -> None:
    q, v, vdot = RNG.normal(size=(3, *batch, NV))
    tau = RNG.normal(size=(*batch, 4, NV))
    q_, v_, vdot_, tau_ = map(make, (q, v, vdot, tau))
    for got, wanted in (
        (functional.inverse_dynamics(ARM, q_, v_, vdot_), functional.inverse_dynamics(ARM, q, v, vdot)),
        (functional.forward_dynamics(ARM, q_, v, vdot_), functional.forward_dynamics(ARM, q, v, vdot)),
        (functional.mass_matrix(ARM, q_), functional.mass_matrix(ARM, q)),
        (functional.body_poses(ARM, q_), functional.body_poses(ARM, q)),
        (functional.integrate_positions(ARM, q_, v_, 0.1), functional.integrate_positions(ARM, q, v, 0.1)),
        (functional.rollout(ARM, q_, v_, tau_, 0.01), functional.rollout(ARM, q, v, tau, 0.01)),
    ):
        pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
        for a, b in pairs:
            np.testing.assert_array_equal(a, b)


@every_library
@pytest.mark.parametrize("batch", [(), (5,)], ids=str)
def test_contexts_take_them(make: Callable[[Any], Any], batch: tuple[int, ...]) -> None:
    context, wanted = (ARM.create_default_context(batch) for _ in range(2))
    hand = ARM.bodies[-1]
    (gravity,) = (e for e in ARM.force_elements if isinstance(e, mbt.UniformGravityFieldElement))
    q, v, u = RNG.normal(size=(3, *batch, NV))
    mass, g = RNG.uniform(1.0, 2.0, batch), RNG.normal(size=(*batch, 3))
    for target, convert in ((context, make), (wanted, np.asarray)):
        target.q, target.v, target.actuation = convert(q), convert(v), convert(u)
        target.time = convert(np.asarray(0.5))
        hand.set_mass(target, convert(mass))
        gravity.set_gravity_vector(target, convert(g))
    np.testing.assert_array_equal(ARM.calc_forward_dynamics(context), ARM.calc_forward_dynamics(wanted))
    np.testing.assert_array_equal(
        ARM.calc_inverse_dynamics(context, make(u)), ARM.calc_inverse_dynamics(wanted, u)
    )


@every_library
def test_nothing_is_copied_on_the_way(make: Callable[[Any], Any]) -> None:
    count = 20_000
    q, out = make(RNG.normal(size=(count, NV))), np.empty((count, NV))
    functional.gravity_generalized_forces(ARM, q, out=out)
    tracemalloc.start()
    functional.gravity_generalized_forces(ARM, q, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < out.nbytes / 4


@every_library
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_other_real_numbers_are_converted(make: Callable[[Any], Any], dtype: Any) -> None:
    numbers = np.arange(NV).astype(dtype)
    taken = as_float_array(make(numbers), "q", (NV,))
    assert taken.dtype == np.float64
    np.testing.assert_array_equal(taken, numbers)


# What is refused ------------------------------------------------------------------------------------------

TAKERS: dict[str, Callable[[Any], Any]] = {
    "function": lambda x: functional.mass_matrix(ARM, x),
    "batch": lambda x: functional.inverse_dynamics(ARM, np.zeros((3, NV)), np.zeros(NV), x),
    "step": lambda x: functional.step(ARM, x, np.zeros(NV), np.zeros(NV), 0.1),
    "context": lambda x: setattr(ARM.create_default_context(), "q", x),
    "batch context": lambda x: setattr(ARM.create_default_context(3), "v", x),
    "method": lambda x: ARM.calc_inverse_dynamics(ARM.create_default_context(), x),
}
every_taker = pytest.mark.parametrize("taker", TAKERS)


@every_taker
@pytest.mark.parametrize("make", [OnGpu, OfCuda])
def test_arrays_on_a_gpu_are_refused_with_a_cure(taker: str, make: Callable[[Any], Any]) -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=r"device other than the CPU: .* with x\.cpu\(\), x\.get"):
        TAKERS[taker](make(np.zeros(NV)))


@pytest.mark.parametrize(
    ("library", "cure"),
    [("torch", "x.cpu()"), ("cupy", "x.get()"), ("jaxlib._jax", "jax.device_get(x)")],
)
def test_the_cure_is_that_of_the_library(library: str, cure: str) -> None:
    kind = type("Array", (OnGpu,), {"__module__": library})
    with pytest.raises(mbt.ArgumentTypeError) as caught:
        functional.mass_matrix(ARM, kind(np.zeros(NV)))
    assert str(caught.value).startswith("q: expected real numbers")
    assert str(caught.value).endswith(cure)


def test_an_array_that_cannot_be_exported() -> None:
    class Broken(OfDLPack):
        def __dlpack__(self, **keywords: Any) -> Any:
            raise BufferError("it is being written")

    with pytest.raises(mbt.ArgumentTypeError, match=r"q: .* got Broken, which cannot .*it is being written"):
        functional.mass_matrix(ARM, Broken(np.zeros(NV)))
    with pytest.raises(mbt.ShapeError, match="q"):
        functional.mass_matrix(ARM, OfDLPack(np.zeros(NV + 1)))


@pytest.mark.engine
@every_taker
def test_tensors_that_are_not_plain(taker: str) -> None:
    torch = pytest.importorskip("torch")
    gradient = torch.zeros(NV, dtype=torch.float64, requires_grad=True)
    for tensor, text in (
        (gradient, r"requires a gradient: .*mbt\.interop\.torch.*x\.detach\(\)"),
        (gradient.detach().to_sparse(), r"to_dense\(\)"),
        (torch.empty(NV, device="meta"), "meta"),
        (torch.zeros(NV, dtype=torch.bfloat16), "BFloat16"),
        (torch.zeros(NV, dtype=torch.complex128), "complex128"),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=text):
            TAKERS[taker](tensor)
    TAKERS[taker](gradient.detach())


@pytest.mark.engine
@every_taker
def test_arrays_in_a_program_of_jax(taker: str) -> None:
    jax = pytest.importorskip("jax")
    for call in (
        jax.jit(TAKERS[taker]),
        jax.vmap(TAKERS[taker]),
        lambda x: jax.linearize(TAKERS[taker], x),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=r"JAX traces: call .*mbt\.interop\.jax"):
            call(np.zeros((NV, NV)))
