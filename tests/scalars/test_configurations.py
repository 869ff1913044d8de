"""Steps between configurations in numbers with derivatives, also where the step or the time is zero."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import sympy  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import richardson
from support.build import build_tree
from support.description import Array
from support.joint_types import random_state
from support.random_trees import ALL_KINDS, one_joint
from support.scalar_names import require, scalar_names
from support.two_links import two_links

STEPS = {
    "generic": (1.0, 0.37),
    "tiny": (1e-9, 0.37),
    "none": (0.0, 0.37),
    "no time": (1.0, 0.0),
    "far": (6.0, 1.0),
}


def compare(got: AutoDiffArray, f: Callable[[Array], Array], x: Array, digits: float) -> None:
    """Compare values, and the derivatives along each entry of x."""
    wanted = f(x)
    scale = 1.0 + np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(got.value, wanted, rtol=0, atol=1e-13 * scale)
    for i, row in enumerate(np.eye(x.size)):
        slope = richardson(lambda t, row=row: f(x + t * row), 1e-3)  # type: ignore[misc]
        scale = 1.0 + np.max(np.abs(slope), initial=0.0)
        np.testing.assert_allclose(got.derivatives[..., i], slope, rtol=0, atol=digits * scale)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_reversed", [False, True], ids=["forward", "reversed"])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_derivatives(kind: str, is_reversed: bool, step: str) -> None:
    tree = build_tree(one_joint(kind, is_reversed=is_reversed))
    ad = tree.to_autodiff()
    nq, nv = tree.num_positions, tree.num_velocities
    q = random_state(tree, np.random.default_rng(2)).q
    size, dt = STEPS[step]
    v = size * np.random.default_rng(1).normal(size=nv)

    got = ad.integrate_positions(*initialize(q, v, dt))
    compare(
        got,
        lambda x: tree.integrate_positions(x[:nq], x[nq:-1], x[-1]),
        np.concatenate([q, v, [dt]]),
        1e-8,
    )

    # Less than half a turn.
    q1 = tree.integrate_positions(q, v * min(1.0, 2.5 / max(1.0, float(np.linalg.norm(v)))), dt)
    got = ad.difference_positions(*initialize(q, q1))
    compare(got, lambda x: tree.difference_positions(x[:nq], x[nq:]), np.concatenate([q, q1]), 1e-7)

    longer = 1.7 * q
    compare(ad.normalize_positions(initialize(longer)), tree.normalize_positions, longer, 1e-9)


def test_nothing_to_step() -> None:
    tree = mbt.MultibodyTree()
    tree.finalize()
    ad = tree.to_autodiff()
    assert ad.integrate_positions([], [], 1.0).shape == (0,)
    assert ad.difference_positions([], []).shape == (0,)
    assert ad.normalize_positions([]).shape == (0,)


@pytest.mark.parametrize("scalar", scalar_names("autodiff", "sympy", "casadi", "mpmath", "fraction", "jax"))
def test_positions_by_name(scalar: str) -> None:
    """Positions split by name reassemble: in the tree's own numbers, and with constants among them."""
    require(scalar)
    tree = two_links().clone_to_scalar(scalar)
    x = {
        "autodiff": lambda: mbt.autodiff.initialize(0.5),
        "sympy": lambda: sympy.Symbol("x"),
        "casadi": lambda: pytest.importorskip("casadi").SX.sym("x"),
    }.get(scalar, lambda: 0.5)()
    for assemble, take_apart in (
        (tree.q_from_dict, tree.dict_from_q),
        (tree.v_from_dict, tree.dict_from_v),
    ):
        array = assemble({"pin2": x})
        parts = take_apart(array)
        again = assemble(parts)
        assert str(again) == str(array)
        assert str(parts["pin2"]) == str(tree._numbers.as_float_array(x, "x")[()])
        assert float(getattr(parts["pin1"], "value", parts["pin1"])) == 0.0
        with pytest.raises(mbt.ShapeError, match="pin1"):
            assemble({"pin1": [x, x]})
