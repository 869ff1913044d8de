"""Results: complete, independent of everything else, and written where the caller asks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.calls import CALLS, METHODS, ROLLOUTS, SCALARS, WITH_ARGUMENTS, WITH_OUT
from support.case import get_case

MODELS = ("mixed8", "mixed8_reversed", "humanoid", "all_weld")


def _context(model: str) -> mbt.Context:
    return get_case(model).context(get_case(model).state())


@pytest.mark.parametrize("name", WITH_OUT)
@pytest.mark.parametrize("model", MODELS)
def test_out(model: str, name: str) -> None:
    """Every entry of a poisoned `out` is overwritten with the result of the call without it; `out` is
    returned.
    """
    tree, call = get_case(model).tree, CALLS[name]
    context, values = _context(model), call.values(tree)
    desired = call.run(tree, context, *values)
    out = np.full(desired.shape, np.nan)
    assert call.run(tree, context, *values, out=out) is out
    np.testing.assert_array_equal(out, desired)


@pytest.mark.parametrize("name", WITH_OUT)
def test_fresh_results(name: str) -> None:
    """Without `out`: a new, plain, writeable array that shares memory with nothing."""
    tree, call = get_case("mixed8").tree, CALLS[name]
    context, values = _context("mixed8"), call.values(tree)
    first = call.run(tree, context, *values)
    assert type(first) is np.ndarray
    assert first.dtype == np.float64
    assert first.flags.c_contiguous
    assert first.flags.writeable
    second = call.run(tree, context, *values)
    others = [second, context.q, context.v, *values, tree.eval_position_kinematics(context).X_WB]
    assert not any(np.shares_memory(first, other) for other in others)
    # Overwriting a result changes nothing else.
    kept = second.copy()
    first[...] = np.nan
    np.testing.assert_array_equal(call.run(tree, context, *values), kept)
    np.testing.assert_array_equal(second, kept)


@pytest.mark.parametrize("name", SCALARS)
def test_scalars_are_floats(name: str) -> None:
    tree = get_case("mixed8").tree
    assert type(CALLS[name].run(tree, _context("mixed8"))) is float


@pytest.mark.parametrize("name", CALLS)
def test_inputs_are_left_alone(name: str) -> None:
    """Arguments, q, v and inputs of the Context are unchanged; arguments may be read-only."""
    tree, call = get_case("mixed8").tree, CALLS[name]
    context, values = _context("mixed8"), call.values(tree)
    context.actuation = np.arange(tree.num_actuators, dtype=float)
    before = [value.copy() for value in values], context.actuation.copy(), context.time
    q, v = context.q.copy(), context.v.copy()
    for value in values:
        value.flags.writeable = False
    call.run(tree, context, *values)
    for value, kept in zip(values, before[0], strict=True):
        np.testing.assert_array_equal(value, kept)
    if name in METHODS:
        np.testing.assert_array_equal(context.q, q)
        np.testing.assert_array_equal(context.v, v)
    np.testing.assert_array_equal(context.actuation, before[1])
    assert context.time == before[2]


@pytest.mark.parametrize(("name", "argument"), [pair for pair in WITH_ARGUMENTS if pair[0] in WITH_OUT])
def test_out_is_untouched_after_a_rejected_argument(name: str, argument: str) -> None:
    tree, call = get_case("mixed8").tree, CALLS[name]
    context, values = _context("mixed8"), call.values(tree)
    out = np.full_like(call.run(tree, context, *values), 7.0)
    i = list(call.arguments).index(argument)
    values[i] = np.full((3, 3, 3), "x")
    with pytest.raises(mbt.MbtError):
        call.run(tree, context, *values, out=out)
    assert (out == 7.0).all()


def _bad_outs(shape: tuple[int, ...]) -> dict[str, Any]:
    read_only = np.zeros(shape)
    read_only.flags.writeable = False

    class Subclass(np.ndarray):
        pass

    return {
        "list": [0.0] * 3,
        "string": "out",
        "float32": np.zeros(shape, np.float32),
        "integers": np.zeros(shape, np.int64),
        "complex": np.zeros(shape, complex),
        "foreign byte order": np.zeros(shape, ">f8" if np.little_endian else "<f8"),
        "too long": np.zeros((*shape[:-1], shape[-1] + 1)),
        "too many axes": np.zeros((1, *shape)),
        "too few axes": np.zeros(shape[1:]),
        "strided": np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2],
        "backwards": np.zeros(shape)[::-1],
        "read-only": read_only,
        "subclass": np.zeros(shape).view(Subclass),
    }


@pytest.mark.parametrize("name", WITH_OUT)
@pytest.mark.parametrize("what", _bad_outs((1, 1)))
def test_bad_out(name: str, what: str) -> None:
    """An `out` into which results cannot be written directly is refused, by name."""
    tree, call = get_case("mixed8").tree, CALLS[name]
    context, values = _context("mixed8"), call.values(tree)
    out = _bad_outs(call.run(tree, context, *values).shape)[what]
    with pytest.raises(mbt.MbtError, match="out") as caught:
        call.run(tree, context, *values, out=out)
    assert isinstance(caught.value, (TypeError, ValueError))


@pytest.mark.parametrize("name", ROLLOUTS)
@pytest.mark.parametrize("what", _bad_outs((1, 1)))
def test_bad_part_of_out(name: str, what: str) -> None:
    """The error names the part, and the other one is left alone."""
    tree, call = get_case("mixed8").tree, ROLLOUTS[name]
    context, values = _context("mixed8"), call.values(tree)
    parts = call.run(tree, context, *values)
    for i in range(2):
        out = [np.full(part.shape, 7.0) for part in parts]
        out[i] = _bad_outs(parts[i].shape)[what]
        with pytest.raises(mbt.MbtError, match=rf"^out\[{i}\]: ") as caught:
            call.run(tree, context, *values, out=tuple(out))
        assert isinstance(caught.value, (TypeError, ValueError))
        assert (out[1 - i] == 7.0).all()


@pytest.mark.parametrize(
    ("name", "argument"), [(name, x) for name in ROLLOUTS for x in ROLLOUTS[name].arguments]
)
def test_parts_of_out_are_untouched_after_a_rejected_argument(name: str, argument: str) -> None:
    tree, call = get_case("mixed8").tree, ROLLOUTS[name]
    context, values = _context("mixed8"), call.values(tree)
    out = tuple(np.full(part.shape, 7.0) for part in call.run(tree, context, *values))
    values[list(call.arguments).index(argument)] = np.full((3, 3, 3), "x")
    with pytest.raises(mbt.MbtError, match=rf"\b{argument}\b"):
        call.run(tree, context, *values, out=out)
    for options in ({"method": "euler"}, {"every": 0}):
        with pytest.raises(mbt.MbtError, match=next(iter(options))):
            call.run(tree, context, *call.values(tree), **options, out=out)
    assert all((part == 7.0).all() for part in out)


def test_several_outputs() -> None:
    """The optional outputs of inverse dynamics are written, or refused before anything is written."""
    case = get_case("mixed8")
    tree, context = case.tree, _context("mixed8")
    vdot = np.ones(tree.num_velocities)
    tau = np.full(tree.num_velocities, 7.0)
    A_WB, short = np.full((tree.num_bodies, 6), np.nan), np.zeros((tree.num_bodies - 1, 6))
    with pytest.raises(mbt.ShapeError, match="F_BMo_W_array"):
        tree.calc_inverse_dynamics(context, vdot, A_WB_array=A_WB, F_BMo_W_array=short, out=tau)
    assert np.isnan(A_WB).all()
    assert (tau == 7.0).all()
    with pytest.raises(mbt.ShapeError, match="A_WB_array"):
        tree.calc_inverse_dynamics(context, vdot, A_WB_array=short, out=tau)
    assert (tau == 7.0).all()


@pytest.mark.parametrize("name", ["inverse_dynamics", "mass_matrix"])
def test_out_may_share_memory_with_an_input(name: str) -> None:
    """The result is right all the same."""
    tree, call = get_case("arm7").tree, CALLS[name]
    context, values = _context("arm7"), call.values(tree)
    desired = call.run(tree, context, *values)
    if name == "mass_matrix":
        out = np.zeros(desired.shape)
        out[0] = values[0]
        values[0] = out[0]
    else:
        out = values[-1]
    assert call.run(tree, context, *values, out=out) is out
    np.testing.assert_array_equal(out, desired)
