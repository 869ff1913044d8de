"""What may be passed as an array, and the errors that everything else raises."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.build import build_tree
from support.calls import CALLS, FUNCTIONS, METHODS, SCALARS, WITH_ARGUMENTS, Call
from support.case import get_case

MODEL = "mixed8"


class _HasArray:
    """An object of another library that can be converted to an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.array, dtype)


class _Subclass(np.ndarray):
    pass


def _strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((*x.shape[:-1], 2 * x.shape[-1]), np.nan)
    wide[..., ::2] = x
    return wide[..., ::2]


def _misaligned(x: np.ndarray) -> np.ndarray:
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(np.float64).reshape(x.shape)
    raw[...] = x
    assert not raw.flags.aligned
    return raw


GOOD: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "longdouble": lambda x: x.astype(np.longdouble),
    "foreign byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "strided": _strided,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "Fortran order": lambda x: np.asfortranarray(x),
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "misaligned": _misaligned,
    "object with __array__": _HasArray,
    "subclass": lambda x: x.view(_Subclass),
}

BAD: dict[str, Callable[[np.ndarray], Any]] = {
    "complex": lambda x: x.astype(complex),
    "complex list": lambda x: [1j] * len(x),
    "strings": lambda x: x.astype(str),
    "bytes": lambda x: x.astype("S8"),
    "one string": lambda x: "0.5",
    "objects": lambda x: x.astype(object),
    "None": lambda x: None,
    "list with None": lambda x: [None] * len(x),
    "dates": lambda x: x.astype(np.int64).astype("datetime64[s]"),
    "masked": lambda x: np.ma.masked_array(x, mask=np.zeros(x.shape, bool)),
    "ragged": lambda x: [[1.0], [1.0, 2.0]],
    "dictionary": lambda x: dict(enumerate(x.tolist())),
    "too short": lambda x: x[..., :-1] if x.ndim == 1 else x[:-1],
    "too long": lambda x: np.concatenate([x, x]),
    "empty": lambda x: np.zeros(0),
    "number": lambda x: 1.0,
}


def _context(model: str = MODEL) -> mbt.Context:
    return get_case(model).context(get_case(model).state())


def _results(call: Call, context: mbt.Context, values: list[Any]) -> Any:
    result = call.run(get_case(MODEL).tree, context, *values)
    return np.concatenate([context.q, context.v]) if result is None else result


@pytest.mark.parametrize("what", GOOD)
@pytest.mark.parametrize(("name", "argument"), WITH_ARGUMENTS)
def test_same_answer(name: str, argument: str, what: str) -> None:
    call = CALLS[name]
    values: list[Any] = list(call.values(get_case(MODEL).tree))
    desired = _results(call, _context(), values)
    i = list(call.arguments).index(argument)
    values[i] = GOOD[what](values[i])
    np.testing.assert_array_equal(_results(call, _context(), values), desired)


@pytest.mark.parametrize(("name", "argument"), WITH_ARGUMENTS)
def test_integers(name: str, argument: str) -> None:
    call = CALLS[name]
    values: list[Any] = [np.ceil(value) for value in call.values(get_case(MODEL).tree)]
    desired = _results(call, _context(), values)
    i = list(call.arguments).index(argument)
    for dtype in (np.int64, np.uint8, np.int16):
        values[i] = values[i].astype(dtype)
        np.testing.assert_array_equal(_results(call, _context(), values), desired)


# tau_applied is optional.
ALLOWED = {
    ("calc_forward_dynamics", "tau_applied", "None"),
    ("calc_forward_dynamics_derivatives", "tau_applied", "None"),
    # The length of tau sets the number of steps.
    *((name, "tau", what) for name in ("rollout", "tree.rollout") for what in ("too short", "too long")),
}
# Stateless functions accept any number of leading axes, so an extra axis makes a batch.


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize(("name", "argument"), WITH_ARGUMENTS)
def test_refused_by_name(name: str, argument: str, what: str) -> None:
    """The error is one of the library and of the built-in kind, and names the argument; the Context is
    unchanged.
    """
    if (name, argument, what) in ALLOWED:
        return
    call, context = CALLS[name], _context()
    values: list[Any] = list(call.values(get_case(MODEL).tree))
    i = list(call.arguments).index(argument)
    values[i] = BAD[what](values[i])
    q, v = context.q.copy(), context.v.copy()
    with pytest.raises(mbt.MbtError, match=rf"\b{argument}\b") as caught:
        call.run(get_case(MODEL).tree, context, *values)
    assert isinstance(caught.value, (TypeError, ValueError))
    np.testing.assert_array_equal(context.q, q)
    np.testing.assert_array_equal(context.v, v)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (name, x)
        for name, x in WITH_ARGUMENTS
        if name not in FUNCTIONS and (name, x, "too long") not in ALLOWED
    ],
)
def test_shape_in_message(name: str, argument: str) -> None:
    """A wrong shape raises a ShapeError with the expected and the received shape."""
    tree, call = get_case(MODEL).tree, CALLS[name]
    values = call.values(tree)
    i = list(call.arguments).index(argument)
    shape = call.shapes(tree)[argument]
    values[i] = np.zeros((shape[0] + 1, *shape[1:]))
    with pytest.raises(mbt.ShapeError) as caught:
        call.run(tree, _context(), *values)
    message = str(caught.value)
    assert argument in message
    assert str(shape[0]) in message
    assert str(shape[0] + 1) in message


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("name", METHODS | SCALARS)
def test_extreme_states_do_not_raise(name: str, value: float) -> None:
    """One bad sensor must not stop a control loop: NaN and inf pass through, without a warning."""
    tree, call = get_case(MODEL).tree, CALLS[name]
    state = get_case(MODEL).state()
    for which in ("q", "v"):
        context = get_case(MODEL).context(state)
        x = getattr(context, which).copy()
        x[-1] = value
        setattr(context, which, x)
        call.run(tree, context, *call.values(tree))


@pytest.mark.parametrize(
    ("name", "argument"), [("calc_inverse_dynamics", "known_vdot"), ("calc_forward_dynamics", "tau_applied")]
)
def test_nan_arrives(name: str, argument: str) -> None:
    tree, call = get_case("arm7").tree, CALLS[name]
    (value,) = call.values(tree)
    value[0] = np.nan
    assert np.isnan(call.run(tree, _context("arm7"), value)).any()


def test_nan_quaternion_is_nan_not_an_error() -> None:
    case = get_case("one_floating")
    context = case.context(case.state())
    q = context.q.copy()
    q[:4] = np.nan
    context.q = q
    assert np.isnan(case.tree.eval_position_kinematics(context).X_WB[1]).any()


def test_zero_quaternion() -> None:
    """A zero quaternion: an error of a single state, which names the joint and changes nothing."""
    case = get_case("free_body")
    state = case.state()
    context = case.context(state)
    zero = np.zeros(7)
    with pytest.raises(mbt.SingularityError, match=r"quaternion of .*body0"):
        context.q = zero
    np.testing.assert_array_equal(context.q, state.q)
    with pytest.raises(mbt.SingularityError, match=r"quaternion of .*body0"):
        functional.inverse_dynamics(case.tree, zero, state.v, state.vdot)


def test_zero_quaternion_in_a_batch() -> None:
    """NaN in its own sample."""
    case = get_case("free_body")
    q = np.array([case.state(k).q for k in range(5)])
    q[2, :4] = 0.0
    X_WB = functional.body_poses(case.tree, q)
    assert np.isnan(X_WB[2, 1]).any()
    assert np.isfinite(np.delete(X_WB, 2, axis=0)).all()


@pytest.mark.parametrize("name", METHODS | SCALARS)
def test_context_of_another_tree(name: str) -> None:
    """Even if the tree is built in the same way."""
    case, call = get_case(MODEL), CALLS[name]
    twin = build_tree(case.model)
    for tree in (twin, get_case("arm7").tree):
        with pytest.raises(mbt.ContextMismatchError):
            call.run(case.tree, tree.create_default_context(), *call.values(case.tree))


@pytest.mark.parametrize("name", METHODS | SCALARS)
@pytest.mark.parametrize("thing", [None, "context", 3, np.zeros(3)])
def test_no_context(name: str, thing: Any) -> None:
    case, call = get_case(MODEL), CALLS[name]
    with pytest.raises(TypeError, match="context"):
        call.run(case.tree, thing, *call.values(case.tree))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("thing", [None, "tree", 3])
def test_no_tree(name: str, thing: Any) -> None:
    case, call = get_case(MODEL), CALLS[name]
    _, *operands = call.positional(case.tree, _context(), *call.values(case.tree))
    with pytest.raises(mbt.MbtError, match="tree"):
        call.function(case.tree)(thing, *operands)


@pytest.mark.parametrize("name", METHODS | SCALARS)
def test_not_finalized(name: str) -> None:
    case, call = get_case(MODEL), CALLS[name]
    tree = build_tree(case.model, finalize=False)
    with pytest.raises(mbt.NotFinalizedError):
        call.run(tree, _context(), *call.values(case.tree))


def test_frames_of_another_tree() -> None:
    case = get_case(MODEL)
    twin, tree, context = build_tree(case.model), case.tree, _context()
    own, foreign, p = tree.world_frame, twin.world_frame, np.zeros(3)
    with pytest.raises(mbt.ForeignElementError):
        tree.calc_relative_transform(context, own, foreign)
    with pytest.raises(mbt.ForeignElementError):
        tree.calc_relative_transform(context, foreign, own)
    with pytest.raises(mbt.ForeignElementError):
        tree.calc_points_positions(context, foreign, p, own)
    with pytest.raises(mbt.ForeignElementError):
        tree.calc_points_positions(context, own, p, foreign)
    for k in range(3):
        frames = [own, own, own]
        frames[k] = foreign
        with pytest.raises(mbt.ForeignElementError):
            tree.calc_jacobian_spatial_velocity(context, "v", frames[0], p, frames[1], frames[2])
    with pytest.raises(mbt.ForeignElementError):
        functional.frame_jacobian(tree, context.q, foreign)
    with pytest.raises(mbt.ForeignElementError):
        functional.frame_jacobian(tree, context.q, own, expressed_in=foreign)
    with pytest.raises(mbt.ForeignElementError):
        functional.frame_pose(tree, context.q, foreign)


@pytest.mark.parametrize("thing", [None, 0, b"world"])
def test_no_frame(thing: Any) -> None:
    tree, context = get_case(MODEL).tree, _context()
    with pytest.raises(TypeError):
        tree.calc_relative_transform(context, tree.world_frame, thing)
    with pytest.raises(TypeError):
        tree.calc_jacobian_spatial_velocity(
            context, "v", thing, np.zeros(3), tree.world_frame, tree.world_frame
        )


@pytest.mark.parametrize("thing", ["V", "q", "", None, 1, np.zeros(3)])
def test_unknown_variable_of_a_jacobian(thing: Any) -> None:
    tree, context = get_case(MODEL).tree, _context()
    W = tree.world_frame
    with pytest.raises(mbt.MbtError, match="with_respect_to"):
        tree.calc_jacobian_spatial_velocity(context, thing, W, np.zeros(3), W, W)


def test_forces_of_another_tree() -> None:
    case = get_case(MODEL)
    forces = mbt.MultibodyForces(get_case("arm7").tree)
    vdot = np.zeros(case.tree.num_velocities)
    with pytest.raises(mbt.MbtError, match="external_forces"):
        case.tree.calc_inverse_dynamics(_context(), vdot, forces)
    with pytest.raises(mbt.MbtError, match="external_forces"):
        case.tree.calc_forward_dynamics(_context(), vdot, forces)
    with pytest.raises(mbt.MbtError):
        case.tree.calc_force_elements_contribution(_context(), forces)
    array: Any = np.zeros((case.tree.num_bodies, 6))
    with pytest.raises(mbt.MbtError, match="external_forces"):
        case.tree.calc_inverse_dynamics(_context(), vdot, array)


def test_one_point_is_one_dimensional() -> None:
    tree, context = get_case(MODEL).tree, _context()
    tip, W = tree.bodies[-1].body_frame, tree.world_frame
    p = np.array([0.1, 0.2, 0.3])
    one = tree.calc_points_positions(context, tip, p, W)
    column = tree.calc_points_positions(context, tip, p[:, None], W)
    assert one.shape == (3,)
    np.testing.assert_array_equal(one, column[:, 0])
    assert tree.calc_points_positions(context, tip, np.zeros((3, 0)), W).shape == (3, 0)


@pytest.mark.parametrize("shapes", [((3, 5), (2, 5)), ((2, 3), (3, 2))])
def test_batches_that_do_not_match(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    tree = get_case("arm7").tree
    q, v = np.zeros((*shapes[0], tree.num_positions)), np.zeros((*shapes[1], tree.num_velocities))
    with pytest.raises(mbt.ShapeError):
        functional.bias_term(tree, q, v)
