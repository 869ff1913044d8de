"""The functions of `mbt.functional` for tensors of PyTorch on the CPU.

Differentiable in both directions, and twice where there are second derivatives; `torch.vmap` makes one call
for a batch; `torch.compile` does not trace into them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, MissingPackageError, shape_error
from mbt.interop.host_calls import FUNCTIONS, check_shapes, find_call, get_call, make_functions
from mbt.interop.inverse_calls import find_inverse_call, find_problem, take_operands

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.torch needs PyTorch 2.4 or newer, which is not installed: "
        "pip install 'multibodytree[torch]'"
    ) from error

__all__ = [*FUNCTIONS, "inverse_kinematics", "rollout", "solve"]


@torch.library.custom_op("mbt::call", mutates_args=())  # type: ignore[untyped-decorator]
def _run(operands: list[Tensor], number: int) -> list[Tensor]:
    """Compute a call for operands with common leading axes."""
    arrays = [x.numpy().astype(np.float64, copy=False) for x in operands]
    results = get_call(number).evaluate(*arrays)
    return [torch.from_numpy(np.array(x)).to(operands[0].dtype) for x in results]


@_run.register_fake  # type: ignore[untyped-decorator]
def _make_empty(operands: list[Tensor], number: int) -> list[Tensor]:
    shapes, result_shapes = _shapes_of(number)
    batch = _leading_axes(operands[0], shapes[0])
    return [operands[0].new_empty((*batch, *shape)) for shape in result_shapes]


@_run.register_vmap  # type: ignore[untyped-decorator]
def _run_mapped(
    info: Any, in_dims: Any, operands: list[Tensor], number: int
) -> tuple[list[Tensor], list[int]]:
    """Add one more leading axis."""
    in_front = [
        x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
        for x, axis in zip(operands, in_dims[0], strict=True)
    ]
    results = _run(in_front, number)
    return results, [0] * len(results)


class _CompiledFunction(torch.autograd.Function):  # type: ignore[misc]
    """A call with reverse-mode derivatives, which `torch.compile` accepts."""

    generate_vmap_rule = True

    @staticmethod
    def forward(number: int, *operands: Tensor) -> Any:
        return tuple(_run(list(operands), number))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.number, operands = inputs[0], inputs[1:]
        ctx.save_for_backward(*operands)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """Multiply Jacobians by gradients of the results, from the left."""
        shapes, result_shapes = _shapes_of(ctx.number)
        of_results = list(
            zip(_jacobians(ctx.number, ctx.saved_tensors), gradients, result_shapes, strict=True)
        )
        return (
            None,
            *(
                sum(_pull_back(row[k], gradient, result, shape) for row, gradient, result in of_results)
                for k, shape in enumerate(shapes)
            ),
        )


class _Function(_CompiledFunction):
    """A call with forward-mode derivatives as well."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.number, operands = inputs[0], inputs[1:]
        ctx.save_for_backward(*operands)
        ctx.save_for_forward(*operands)

    @staticmethod
    def jvp(ctx: Any, number: None, *changes: Any) -> Any:
        """Multiply Jacobians by changes of the operands, from the right."""
        shapes, result_shapes = _shapes_of(ctx.number)
        return tuple(
            sum(
                _push_forward(jacobian, change, result, shape)
                for jacobian, change, shape in zip(row, changes, shapes, strict=True)
                if change is not None
            )
            for row, result in zip(_jacobians(ctx.number, ctx.saved_tensors), result_shapes, strict=True)
        )


def _jacobians(number: int, operands: Sequence[Tensor]) -> list[Sequence[Tensor]]:
    """Return the Jacobians of each result, by operand, as tensors that have derivatives themselves."""
    # The compiler does not support functions inside the derivative of another: no second derivatives there.
    linearization = _linearize(number)
    compiling = torch.compiler.is_compiling()
    results = _run(list(operands), linearization) if compiling else _apply(linearization, operands)
    parts = results[len(_shapes_of(number)[1]) :]
    n = len(operands)
    return [parts[i : i + n] for i in range(0, len(parts), n)]


def _apply(number: int, operands: Sequence[Tensor]) -> Any:
    function = _CompiledFunction if torch.compiler.is_compiling() else _Function
    return function.apply(number, *operands)


def _leading_axes(x: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(x.shape[: x.ndim - len(shape)])


def _pull_back(jacobian: Tensor, gradient: Tensor, result: Sequence[int], shape: Sequence[int]) -> Tensor:
    batch = _leading_axes(gradient, result)
    size = math.prod(result)
    row = gradient.reshape((*batch, 1, size)) @ jacobian.reshape((*batch, size, math.prod(shape)))
    return row.reshape((*batch, *shape))


def _push_forward(jacobian: Tensor, change: Tensor, result: Sequence[int], shape: Sequence[int]) -> Tensor:
    batch = _leading_axes(change, shape)
    rows = jacobian.reshape((*batch, math.prod(result), math.prod(shape)))
    return (rows @ change.reshape((*batch, math.prod(shape), 1))).reshape((*batch, *result))


# Functions that the compiler need not trace into.


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _shapes_of(number: int) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
    call = get_call(number)
    return tuple(call.operand_shapes), tuple(call.result_shapes)


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _linearize(number: int) -> int:
    return get_call(number).linearize().number


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _find_number(tree: Any, name: str, keys: tuple[str, ...], *objects: Any) -> int:
    options, owners = objects[: len(keys)], objects[len(keys) :]
    return find_call(tree, name, dict(zip(keys, options, strict=True)), owners).number


def _as_tensor(name: str, value: Any) -> Tensor:
    tensor = torch.as_tensor(value)
    if tensor.device.type != "cpu":
        raise ArgumentTypeError(
            f"{name}: expected a tensor on the CPU, where mbt computes, got one on {tensor.device}: x.cpu()"
        )
    return tensor


def _compute(
    tree: Any, name: str, operands: dict[str, Any], options: dict[str, Any], parameters: dict[Any, Any]
) -> Any:
    number = _find_number(tree, name, tuple(options), *options.values(), *parameters)
    shapes, _ = _shapes_of(number)
    operands = {key: _as_tensor(key, x) for key, x in operands.items()}
    parameters = {key: _as_tensor("parameters", x) for key, x in parameters.items()}
    batch = check_shapes(shapes, operands, parameters)
    tensors = [*operands.values(), *parameters.values()]
    dtype = torch.float64 if any(x.dtype == torch.float64 for x in tensors) else torch.float32
    results = _apply(
        number,
        [x.to(dtype).broadcast_to((*batch, *shape)) for x, shape in zip(tensors, shapes, strict=True)],
    )
    return results[0] if len(results) == 1 else results


globals().update(make_functions("torch", _compute))

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Any]: ...


def rollout(
    tree: Any, q0: Any, v0: Any, tau: Any, dt: float, *, method: str = "semi_implicit_euler"
) -> tuple[Tensor, Tensor]:
    """Take steps with forces (..., num_steps, num_velocities); see `mbt.functional.rollout`.

    Returns
    -------
    q, v : Tensor, shapes (..., num_steps + 1, num_positions) and (..., num_steps + 1, num_velocities)
        The state at the beginning, then the states at the end of each step.
    """
    forces = _as_tensor("tau", tau)
    q, v = _as_tensor("q0", q0), _as_tensor("v0", v0)
    if forces.ndim < 2:
        raise shape_error("tau", (..., "num_steps", tree.num_velocities), tuple(forces.shape))
    batch = torch.broadcast_shapes(q.shape[:-1], v.shape[:-1], forces.shape[:-2])
    states = [(q.broadcast_to((*batch, q.shape[-1])), v.broadcast_to((*batch, v.shape[-1])))]
    step = globals()["step"]
    for i in range(forces.shape[-2]):
        states.append(step(tree, *states[-1], forces[..., i, :], dt, method=method))
    qs, vs = zip(*states, strict=True)
    return torch.stack(qs, dim=-2), torch.stack(vs, dim=-2)


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
) -> tuple[Tensor, Tensor]:
    """Find positions at which the tasks of an `mbt.InverseKinematics` meet goals; see its `solve`.

    Derivatives by goals and `parameters`, a dictionary of tensors by their owners, are those of
    `InverseKinematics.solution_derivatives`; by `start` they are zero.

    Returns
    -------
    q, success : Tensor, shapes (..., num_positions) and (...,)
    """
    owners = parameters or {}
    call = find_inverse_call(ik, list(owners), seeds, rng, tolerance, max_steps)
    # A copy: PyTorch does not accept read-only arrays.
    start = np.array(ik.tree.default_positions) if start is None else start
    tensors = [_as_tensor(f"goals[{i}]", x) for i, x in enumerate(goals)]
    values = {key: _as_tensor("parameters", x) for key, x in owners.items()}
    operands, batch = take_operands(call, ik, tensors, _as_tensor("start", start), values)
    dtype = torch.float64 if any(x.dtype == torch.float64 for x in operands) else torch.float32
    q, success = _apply(
        call.number,
        [
            x.to(dtype).broadcast_to((*batch, *shape))
            for x, shape in zip(operands, call.operand_shapes, strict=True)
        ],
    )
    return q, success > 0.5


def inverse_kinematics(
    tree: Any, frame: Any, X_WG: Any, start: Any = None, **options: Any
) -> tuple[Tensor, Tensor]:
    """Find positions at which a frame has a pose: `solve` with one task, and its options.

    Returns
    -------
    q, success : Tensor, shapes (..., num_positions) and (...,)
    """
    return solve(find_problem(tree, frame), [X_WG], start, **options)
