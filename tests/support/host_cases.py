"""Cases for other libraries that call functions of mbt: every function, on trees with every kind of joint."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.interop.host_calls import FUNCTIONS, operands_of
from support.build import build_tree
from support.constraints import tree_with_loops
from support.description import Array
from support.random_trees import CATALOGUE, every_kind

TREES = {
    "arm7": lambda: build_tree(CATALOGUE["arm7"]()),
    "every_kind": lambda: build_tree(every_kind(23)),
    "one_floating_reversed": lambda: build_tree(CATALOGUE["one_floating_reversed"]()),
    # With independent equations.
    "loops": lambda: tree_with_loops(5, num_bodies=6, num_constraints=2),
}
# Trees with every kind of joint, and loops.
FEW = ("every_kind", "loops")
# `distances` takes a collision model: see test_distances.py.
CASES = [
    pytest.param(tree, name, marks=() if tree in FEW else pytest.mark.exhaustive)
    for tree in TREES
    for name in sorted(FUNCTIONS)
    if name != "distances"
]


@cache
def get_tree(name: str) -> mbt.MultibodyTree:
    return TREES[name]()


def make_arguments(
    tree: mbt.MultibodyTree, name: str, batch: tuple[int, ...] = (), seed: int = 0
) -> tuple[list[Array], dict[str, Any]]:
    """Return operands, with quaternions not of unit length, and options."""
    rng = np.random.default_rng(seed)
    q, q1 = (
        functional.integrate_positions(
            tree,
            tree.create_default_context().q,
            rng.normal(scale=0.5, size=(*batch, tree.num_velocities)),
            1.0,
        )
        for _ in range(2)
    )
    v, x = rng.normal(size=(2, *batch, tree.num_velocities))
    values = {"q": 1.01 * q, "q0": q, "q1": q1, "v": v, "vdot": x, "tau": x}
    values["X_WG"] = mbt.math.exp_se3(rng.normal(size=(*batch, 6)))
    if name == "constrained_inverse_dynamics":
        values["vdot"] = _allowed(tree, values["q"], v, x)
    all_dofs = np.arange(tree.num_velocities)
    options = {"frame": tree.bodies[-1].body_frame, "dt": 0.125, "actuated": all_dofs}
    taken = FUNCTIONS[name]
    return [values[n] for n in operands_of(name)], {k: x for k, x in options.items() if k in taken}


def _allowed(tree: mbt.MultibodyTree, q: Array, v: Array, vdot: Array) -> Array:
    """Return the nearest accelerations that the constraints allow."""
    J, bias = functional.constraint_jacobian(tree, q), functional.constraint_bias(tree, q, v)
    error = (J @ vdot[..., None])[..., 0] + bias
    return vdot - (np.linalg.pinv(J) @ error[..., None])[..., 0]


def by_position(functions: Any, name: str) -> Any:
    """Return a function that takes a tree and operands by position, even if options come in between."""
    function, names = getattr(functions, name), operands_of(name)
    return lambda tree, *operands, **options: function(
        tree, **dict(zip(names, operands, strict=True)), **options
    )


def side_by_side(arrays: Any) -> Array:
    """Return the numbers of arrays in one row."""
    return np.concatenate([np.ravel(x) for x in arrays])


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def jacobians(
    tree: mbt.MultibodyTree, name: str, operands: list[Array], options: dict[str, Any]
) -> list[Array]:
    """Return the Jacobians of each result, by all operands side by side, from a clone of the tree."""
    twin = tree.to_autodiff()
    variables: Any = mbt.autodiff.initialize(*operands)
    if len(operands) == 1:
        variables = (variables,)
    same = {k: twin.get_variant(x) if isinstance(x, mbt.Frame) else x for k, x in options.items()}
    return [
        result.derivatives for result in as_tuple(by_position(functional, name)(twin, *variables, **same))
    ]


def is_defined(tree: mbt.MultibodyTree, name: str) -> bool:
    """Whether a single state has a result: the last frame may lack one of six independent velocities."""
    operands, options = make_arguments(tree, name)
    try:
        by_position(functional, name)(tree, *operands, **options)
    except mbt.SingularityError:
        return False
    return True
