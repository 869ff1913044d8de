"""Time of forward dynamics of one robot through every interface: functions, Contexts, other libraries.

    python benchmarks/ways.py [FILE.urdf] [--rounds 40] [--samples 4096]

Microseconds of wall-clock time per state, on one thread, with the interfaces taking turns: fastest and median
rounds. Interfaces whose package is not installed are left out; the load of the machine is printed with the
figures. Steps are semi-implicit.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import mbt
import mbt.autodiff
from mbt import functional
from mbt.models import model_path

# A call, and the number of states that it computes.
Way = tuple[Callable[[], Any], int]

LOOP = """
typedef int kernel(void *, const double *, const double *, const double *, double *);
void loop(kernel *call, void *handle, const double *q, const double *v, const double *x, double *out, int n) {
  for (int i = 0; i < n; ++i) call(handle, q, v, x, out);
}
"""


def states_of(tree: mbt.MultibodyTree, samples: int) -> Any:
    """Return positions, velocities and forces of `samples` states."""
    return 0.3 * np.random.default_rng(0).normal(size=(3, samples, tree.num_velocities))


def ways_of_numpy(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield interfaces that need only NumPy."""
    n, steps = tree.num_velocities, 100
    q, v, tau = states_of(tree, samples)
    out, one = np.empty((samples, n)), np.empty(n)
    context, batch = tree.create_default_context(), tree.create_default_context(samples)
    twin = tree.to_autodiff()
    dual = twin.create_default_context()
    forces = np.broadcast_to(tau[:, None], (samples, steps, n))
    path = np.empty((samples, 2, n)), np.empty((samples, 2, n))
    batch.q, batch.v = q, v
    tree.bodies[-1].set_mass(batch, np.linspace(0.5, 1.5, samples))

    def with_context() -> Any:
        context.q, context.v = q[0], v[0]
        return tree.calc_forward_dynamics(context, tau[0])

    def with_derivatives() -> Any:
        dual.q, dual.v = mbt.autodiff.initialize(q[0], v[0])
        return twin.calc_forward_dynamics(dual, tau[0])

    yield "F, one state", (lambda: functional.forward_dynamics(tree, q[0], v[0], tau[0]), 1)
    yield "F, one state, out=", (lambda: functional.forward_dynamics(tree, q[0], v[0], tau[0], out=one), 1)
    yield "Context, one state", (with_context, 1)
    yield (
        "F, analytic derivatives",
        (lambda: functional.forward_dynamics_derivatives(tree, q[0], v[0], tau[0]), 1),
    )
    yield "Context of numbers with derivatives", (with_derivatives, 1)
    yield "F, batch", (lambda: functional.forward_dynamics(tree, q, v, tau, out=out), samples)
    fast = mbt.compile(tree, "forward_dynamics").forward_dynamics
    yield "mbt.compile, one state", (lambda: fast(q[0], v[0], tau[0]), 1)
    yield "mbt.compile, batch", (lambda: fast(q, v, tau, out=out), samples)
    yield "native_kernel, in a loop in C", way_of_c(tree)
    yield (
        "Context of a batch, masses of each",
        (lambda: tree.calc_forward_dynamics(batch, tau, out=out), samples),
    )
    yield "step, one state", (lambda: functional.step(tree, q[0], v[0], tau[0], 1e-3), 1)
    yield (
        f"rollout of {steps} steps, a step",
        (lambda: functional.rollout(tree, q, v, forces, 1e-4, every=steps, out=path), samples * steps),
    )


def way_of_c(tree: mbt.MultibodyTree, calls: int = 1000) -> Way:
    """Return a loop in C around the kernel of one state."""
    native = mbt.compiling.native_kernel(tree, "forward_dynamics")
    q, v, tau, out = (np.array(x[0]) for x in (*states_of(tree, 1), np.zeros((1, tree.num_velocities))))
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "loop.c", Path(folder) / "loop.so"
        source.write_text(LOOP)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
        loop = ctypes.CDLL(str(library)).loop
    loop.argtypes = [ctypes.c_void_p] * 6 + [ctypes.c_int]
    places = [x.ctypes.data for x in (q, v, tau, out)]
    return (lambda: (loop(native.address, native.handle, *places, calls), q, v, tau, out)), calls


def ways_of_jax(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield JAX programs."""
    import jax

    import mbt.interop.jax as mjax

    jax.config.update("jax_enable_x64", True)
    many = [
        jax.numpy.asarray(0.3 * x)
        for x in np.random.default_rng(0).normal(size=(3, samples, tree.num_velocities))
    ]
    one = [x[0] for x in many]
    call = jax.jit(lambda *xs: mjax.forward_dynamics(tree, *xs))
    gradient = jax.jit(jax.grad(lambda *xs: (mjax.forward_dynamics(tree, *xs) ** 2).sum(), argnums=(0, 1, 2)))
    yield "JAX, jit", (lambda: jax.block_until_ready(call(*one)), 1)
    yield "JAX, jit, batch", (lambda: jax.block_until_ready(call(*many)), samples)
    yield "JAX, jit, gradient", (lambda: jax.block_until_ready(gradient(*one)), 1)


def ways_of_torch(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield calls with PyTorch tensors."""
    import torch

    import mbt.interop.torch as mtorch

    torch.set_num_threads(1)
    many = [
        torch.tensor(0.3 * x) for x in np.random.default_rng(0).normal(size=(3, samples, tree.num_velocities))
    ]
    one = [x[0].clone() for x in many]
    leaves = [x.clone().requires_grad_() for x in one]

    def gradient() -> Any:
        return torch.autograd.grad(mtorch.forward_dynamics(tree, *leaves).square().sum(), leaves)

    yield "F, tensors of PyTorch as arguments", (lambda: functional.forward_dynamics(tree, *one), 1)
    yield "PyTorch", (lambda: mtorch.forward_dynamics(tree, *one), 1)
    yield "PyTorch, batch", (lambda: mtorch.forward_dynamics(tree, *many), samples)
    yield "PyTorch, gradient", (gradient, 1)


def ways_of_casadi(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield CasADi functions."""
    import casadi

    import mbt.interop.casadi as mcasadi

    one = [casadi.DM(x[0]) for x in states_of(tree, 1)]
    callback = mcasadi.make_callback(tree, "forward_dynamics")
    expressions = mbt.symbolic.make_casadi_function(
        "f", *mbt.symbolic.make_expressions(tree, "forward_dynamics", "casadi")
    )
    yield "CasADi, callback", (lambda: callback(*one), 1)
    yield "CasADi, expressions in its machine", (lambda: expressions(*one), 1)


def ways_of_gymnasium(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield steps of environments."""
    from mbt.interop.gymnasium import Env, VectorEnv

    free = [joint.velocity_start for joint in tree.joints if joint.num_velocities == 1]
    assert len(free) == tree.num_velocities
    options: dict[str, Any] = {"reward": lambda context, actions: 0.0, "dt": 1e-4}
    envs = VectorEnv(tree.create_default_context(), samples, **options)
    env = Env(tree.create_default_context(), **options)
    envs.reset()
    env.reset()
    many, one = np.zeros(envs.action_space.shape), np.zeros(env.action_space.shape)
    yield "Gymnasium, Env, a step", (lambda: env.step(one), 1)
    yield "Gymnasium, VectorEnv, a step of each", (lambda: envs.step(many), samples)


def ways_of_dask(tree: mbt.MultibodyTree, samples: int) -> Iterator[tuple[str, Way]]:
    """Yield blocks on one thread."""
    import dask
    import dask.array as da

    count = 8 * samples
    blocks = da.apply_gufunc(
        lambda *xs, tree: functional.forward_dynamics(tree, *xs), "(q),(v),(v)->(v)",
        *(da.from_array(x, chunks=(samples, -1)) for x in states_of(tree, count)),
        tree=dask.delayed(tree), output_dtypes=float,
    )  # fmt: skip
    yield f"dask, {8} blocks on a thread", (lambda: blocks.compute(scheduler="sync"), count)


LIBRARIES = {
    "jax": ways_of_jax,
    "torch": ways_of_torch,
    "casadi": ways_of_casadi,
    "gymnasium": ways_of_gymnasium,
    "dask": ways_of_dask,
}


def measure(call: Callable[[], Any]) -> float:
    """Return the time of one call [s], averaged over calls for a millisecond."""
    start = perf_counter()
    call()
    count = max(1, int(1e-3 / (perf_counter() - start + 1e-9)))
    start = perf_counter()
    for _ in range(count):
        call()
    return (perf_counter() - start) / count


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=model_path("mbt_arm"))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--samples", type=int, default=4096)
    options = parser.parse_args()
    mbt.set_num_threads(1)
    tree = mbt.load_model(options.file, actuators="all")
    ways = dict(ways_of_numpy(tree, options.samples))
    for package, make in LIBRARIES.items():
        if find_spec(package):
            ways |= dict(make(tree, options.samples))
    times: dict[str, list[float]] = {name: [] for name in ways}
    for call, _ in ways.values():
        call()
    for _ in range(options.rounds):
        for name, (call, count) in ways.items():
            times[name].append(1e6 * measure(call) / count)
    print(
        f"{options.file.stem}, {tree.num_velocities} dofs, batches of {options.samples}; us a state;", end=" "
    )
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':44} {'fastest':>9} {'median':>9}")
    for name, values in times.items():
        print(f"{name:44} {min(values):9.3f} {statistics.median(values):9.3f}")


if __name__ == "__main__":
    main()
