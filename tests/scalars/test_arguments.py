"""What trees with derivatives accept as arguments and what they refuse; neither has side effects."""

from __future__ import annotations

import gc
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import CALLS
from support.build import build_tree
from support.calls import HELPERS, Call
from support.description import Array
from support.random_trees import every_kind

ALL: dict[str, Call] = {**CALLS, **HELPERS}
WITH_ARGUMENTS = [name for name, call in ALL.items() if call.arguments]


@cache
def trees() -> tuple[mbt.MultibodyTree, mbt.MultibodyTree]:
    tree = build_tree(every_kind(3))
    return tree, tree.to_autodiff()


def make_context(count: int = 3) -> Any:
    tree, ad = trees()
    context: Any = ad.create_default_context()
    q = tree.random_positions(np.random.default_rng(0))
    context.q = AutoDiffArray(q, np.random.default_rng(1).normal(size=(q.size, count)))
    context.v = np.linspace(-1.0, 1.0, tree.num_velocities)
    return context


def flat(result: Any) -> Array:
    """Return values and derivatives of one result, or of several."""
    parts = result if isinstance(result, tuple) else (result,)
    return np.concatenate([x for part in parts for x in (part.value.ravel(), part.derivatives.ravel())])


def unusual(x: Array, dx: Array) -> dict[str, Any]:
    """Return arrays of the same numbers in other forms."""
    read_only = AutoDiffArray(x, dx)
    read_only.value.flags.writeable = read_only.derivatives.flags.writeable = False
    wide = AutoDiffArray(np.repeat(x, 2, -1), np.repeat(dx, 2, -2))
    mirrored = AutoDiffArray(x[..., ::-1].copy(), dx[..., ::-1, :].copy())
    return {
        "strided": wide[..., ::2],
        "mirrored": mirrored[..., ::-1],
        "columns first": AutoDiffArray(np.asfortranarray(x), np.asfortranarray(dx)),
        "read-only": read_only,
        "float32": AutoDiffArray(x.astype(np.float32), dx.astype(np.float32)),
        "big-endian": AutoDiffArray(x.astype(">f8"), dx.astype(">f8")),
        "list": list(AutoDiffArray(x, dx)),
    }


@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_unusual_arrays(name: str) -> None:
    tree, ad = trees()
    call, context = ALL[name], make_context()
    values = call.values(tree)
    rng = np.random.default_rng(2)
    rates = [rng.integers(-8, 8, (*value.shape, 3)) / 8.0 for value in values]
    plain = [AutoDiffArray(x, dx) for x, dx in zip(values, rates, strict=True)]
    wanted = flat(call.run(ad, context, *plain))
    for i, (x, dx) in enumerate(zip(values, rates, strict=True)):
        for what, argument in unusual(x, dx).items():
            got = call.run(ad, context, *plain[:i], argument, *plain[i + 1 :])
            np.testing.assert_array_equal(flat(got), wanted, err_msg=what)


BAD: dict[str, Any] = {
    "longer": lambda n: initialize(np.ones(n + 1)),
    "a column": lambda n: initialize(np.ones((n, 1))),
    "a row": lambda n: initialize(np.ones((1, n))),
    "a number": lambda n: initialize(1.0),
    "none": lambda n: None,
    "text": lambda n: "abc",
    "complex": lambda n: np.ones(n, dtype=complex),
    "other directions": lambda n: AutoDiffArray(np.ones(n), np.ones((n, 4))),
    "ragged": lambda n: [initialize(1.0), [1.0, 2.0]],
}
VECTORS = [
    name for name in WITH_ARGUMENTS if not any(shape == (3, 5) for shape in ALL[name].arguments.values())
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("name", VECTORS)
def test_bad_arrays(name: str, bad: str) -> None:
    """Errors name the argument; the Context is unchanged, and still computes."""
    tree, ad = trees()
    call, context = ALL[name], make_context()
    if (bad == "none" and "tau_applied" in call.arguments) or (
        bad == "other directions" and (name in HELPERS or name == "tree.rollout")
    ):
        return
    before = context._serials, flat(context.q), flat(context.v)
    good = call.values(tree)
    for i, (argument, shape) in enumerate(call.shapes(tree).items()):
        values = [*good[:i], BAD[bad](shape[0]), *good[i + 1 :]]
        expected = "derivatives" if bad == "other directions" else argument
        with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError), match=expected):
            call.run(ad, context, *values)
    assert context._serials == before[0]
    np.testing.assert_array_equal(flat(context.q), before[1])
    np.testing.assert_array_equal(flat(context.v), before[2])
    call.run(ad, context, *good)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_undefined_numbers_propagate(number: float) -> None:
    """In values and derivatives, as in doubles: nothing is refused, and other entries are unharmed."""
    tree, ad = trees()
    context = make_context()
    v = context.v.value.copy()
    v[0] = number
    double = tree.create_default_context()
    double.q, double.v = context.q.value, v
    wanted = tree.calc_bias_term(double)
    context.v = v
    got = ad.calc_bias_term(context)
    np.testing.assert_array_equal(np.isfinite(got.value), np.isfinite(wanted))
    rates = np.zeros((v.size, 3))
    rates[:, 1] = number
    context.v = AutoDiffArray(np.ones(v.size), rates)
    got = ad.calc_bias_term(context)
    assert np.isfinite(got.value).all()
    assert np.isfinite(got.derivatives[:, [0, 2]]).all()
    assert not np.isfinite(got.derivatives[:, 1]).all()


@pytest.mark.exhaustive
def test_nothing_leaks() -> None:
    """Neither calls nor errors leak memory."""
    tree, ad = trees()
    context = make_context()
    nv = tree.num_velocities
    x = np.ones(nv)
    wrong = AutoDiffArray(x, np.ones((nv, 7)))

    def run() -> None:
        for count in (0, 1, 5, 9):
            ad.set_default_context(context)
            context.v = AutoDiffArray(x, np.ones((nv, count)))
            ad.bodies[1].set_mass(context, AutoDiffArray(2.0, np.ones(count)))
            ad.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True)
            ad.calc_forward_dynamics(context)
            ad.eval_velocity_kinematics(context)
            ad.calc_reaction_forces(context)
            context.clone()
            if count:
                for call in (ad.calc_inverse_dynamics, ad.map_velocity_to_qdot, ad.calc_forward_dynamics):
                    with pytest.raises(mbt.ShapeError):
                        call(context, wrong)
                with pytest.raises(mbt.ShapeError):
                    context.q = wrong[:1]

    def growth() -> int:
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(20):
            run()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        # Free lists and other caches grow for a while; a leak grows each time.
        assert min(growth() for _ in range(6)) < 6_000
    finally:
        tracemalloc.stop()
