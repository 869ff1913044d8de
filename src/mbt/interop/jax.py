"""The functions of `mbt.functional` for arrays of JAX: under jit, vmap, and every kind of derivative.

Compiled programs call them through XLA's foreign function interface, in doubles on the CPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.door import xla_calls
from mbt.errors import MissingPackageError, shape_error
from mbt.interop.host_calls import FUNCTIONS, HostCall, check_shapes, find_call, make_functions, run_call
from mbt.interop.inverse_calls import InverseCall, find_inverse_call, find_problem, take_operands

try:
    import jax
    import jax.numpy as jnp
    from jax.ffi import ffi_call, register_ffi_target
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.jax needs jax 0.5 or newer, which is not installed: pip install 'multibodytree[jax]'"
    ) from error

__all__ = [*FUNCTIONS, "inverse_kinematics", "rollout", "solve"]

_TARGET = "mbt_call"

xla_calls.set_function(run_call)
register_ffi_target(_TARGET, xla_calls.get_handler(), platform="cpu")


def _make(call: HostCall | InverseCall) -> Any:
    """Return a function of JAX, from operands with common leading axes to a list of results."""
    shapes = call.operand_shapes

    @jax.custom_jvp  # type: ignore[untyped-decorator]
    def run(*operands: Any) -> Any:
        batch = operands[0].shape[: operands[0].ndim - len(shapes[0])]
        types = [jax.ShapeDtypeStruct((*batch, *shape), operands[0].dtype) for shape in call.result_shapes]
        return ffi_call(_TARGET, types, vmap_method="broadcast_all")(*operands, number=np.int64(call.number))

    @run.defjvp  # type: ignore[untyped-decorator]
    def linearize(operands: Any, changes: Any) -> Any:
        num_results, num_operands = len(call.result_shapes), len(operands)
        results = _of(call.linearize())(*operands)
        values, jacobians = results[:num_results], results[num_results:]
        rates = [
            sum(map(_contract, jacobians[i * num_operands : (i + 1) * num_operands], changes, shapes))
            for i in range(num_results)
        ]
        return values, rates

    return run


def _contract(jacobian: Any, change: Any, shape: tuple[int, ...]) -> Any:
    """Multiply a Jacobian by the change of an operand, over the axes of the operand."""
    batch = change.shape[: change.ndim - len(shape)]
    size = math.prod(shape)
    rows = jacobian.reshape(*batch, -1, size) @ change.reshape(*batch, size, 1)
    return rows.reshape(jacobian.shape[: jacobian.ndim - len(shape)])


def _of(call: HostCall | InverseCall) -> Any:
    if "jax" not in call.made:
        call.made["jax"] = _make(call)
    return call.made["jax"]


def _compute(
    tree: Any, name: str, operands: dict[str, Any], options: dict[str, Any], parameters: dict[Any, Any]
) -> Any:
    call = find_call(tree, name, options, parameters)
    operands = {key: jnp.asarray(x) for key, x in operands.items()}
    parameters = {key: jnp.asarray(x) for key, x in parameters.items()}
    batch = check_shapes(call.operand_shapes, operands, parameters)
    arrays = [*operands.values(), *parameters.values()]
    dtype = jnp.result_type(float, *arrays)
    results = _of(call)(
        *(
            jnp.broadcast_to(array.astype(dtype), (*batch, *shape))
            for array, shape in zip(arrays, call.operand_shapes, strict=True)
        )
    )
    return results[0] if len(results) == 1 else tuple(results)


globals().update(make_functions("jax", _compute))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


def rollout(
    tree: Any, q0: Any, v0: Any, tau: Any, dt: float, *, method: str = "semi_implicit_euler"
) -> tuple[Any, Any]:
    """Take steps with forces (..., num_steps, num_velocities); see `mbt.functional.rollout`.

    Returns
    -------
    q, v : jax.Array, shapes (..., num_steps + 1, num_positions) and (..., num_steps + 1, num_velocities)
        The initial state, then the state at the end of each step.
    """
    q, v, forces = (jnp.asarray(x) for x in (q0, v0, tau))
    if forces.ndim < 2:
        raise shape_error("tau", (..., "num_steps", tree.num_velocities), forces.shape)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], forces.shape[:-2])
    dtype = jnp.result_type(float, q, v, forces)
    start = tuple(jnp.broadcast_to(x, (*batch, x.shape[-1])).astype(dtype) for x in (q, v))
    step = globals()["step"]

    def take(state: Any, force: Any) -> tuple[Any, Any]:
        state = step(tree, *state, force, dt, method=method)
        return state, state

    _, later = jax.lax.scan(take, start, jnp.moveaxis(forces.astype(dtype), -2, 0))
    q, v = (
        jnp.concatenate([first[..., None, :], jnp.moveaxis(rest, 0, -2)], axis=-2)
        for first, rest in zip(start, later, strict=True)
    )
    return q, v


def solve(
    ik: Any,
    goals: Any,
    start: Any = None,
    *,
    seeds: int = 64,
    rng: int = 0,
    tolerance: tuple[float, float] = (1e-3, 1e-4),
    max_steps: int = 100,
    parameters: Any = None,
) -> tuple[Any, Any]:
    """Find positions at which the tasks of an `mbt.InverseKinematics` meet goals; see its `solve`.

    Derivatives by goals and `parameters`, a dictionary of arrays by their owners, are those of
    `InverseKinematics.solution_derivatives`; by `start` they are zero.

    Returns
    -------
    q, success : jax.Array, shapes (..., num_positions) and (...,)
    """
    owners = parameters or {}
    call = find_inverse_call(ik, list(owners), seeds, rng, tolerance, max_steps)
    start = ik.tree.default_positions if start is None else start
    values = {key: jnp.asarray(x) for key, x in owners.items()}
    operands, batch = take_operands(call, ik, [jnp.asarray(x) for x in goals], jnp.asarray(start), values)
    dtype = jnp.result_type(float, *operands)
    q, success = _of(call)(
        *(
            jnp.broadcast_to(array.astype(dtype), (*batch, *shape))
            for array, shape in zip(operands, call.operand_shapes, strict=True)
        )
    )
    return q, success > 0.5


def inverse_kinematics(
    tree: Any, frame: Any, X_WG: Any, start: Any = None, **options: Any
) -> tuple[Any, Any]:
    """Find positions at which a frame has a pose: `solve` with one task, and its options.

    Returns
    -------
    q, success : jax.Array, shapes (..., num_positions) and (...,)
    """
    return solve(find_problem(tree, frame), [X_WG], start, **options)
