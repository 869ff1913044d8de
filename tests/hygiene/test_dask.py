"""Batches on dask: in blocks, on threads and in worker processes, results equal those of one call."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.math.arrays import _shared_array
from support.build import build_tree
from support.case import FEW, get_case
from support.random_trees import CATALOGUE
from support.user_elements import NamedGravity

pytestmark = pytest.mark.engine
REASON = "needs the extra `engines`: pip install '.[engines]'"
dask = pytest.importorskip("dask", reason=REASON)
da = pytest.importorskip("dask.array", reason=REASON)
distributed = pytest.importorskip("distributed", reason=REASON)

SIGNATURES = {
    "inverse_dynamics": "(q),(v),(v)->(v)",
    "forward_dynamics": "(q),(v),(v)->(v)",
    "bias_term": "(q),(v)->(v)",
    "gravity_generalized_forces": "(q)->(v)",
    "mass_matrix": "(q)->(v,w)",
    "body_poses": "(q)->(b,i,j)",
    "inverse_dynamics_derivatives": "(q),(v),(v)->(v,w),(v,w),(v,w)",
    "forward_dynamics_derivatives": "(q),(v),(v)->(v,w),(v,w),(v,w)",
}
every_function = pytest.mark.parametrize("function", SIGNATURES)
COUNT = 1000
CHUNKS = 130  # not a multiple of a block of lanes, and with a remainder


def operands_of(model: str, function: str) -> list[np.ndarray]:
    case = get_case(model)
    state, count = case.state(), SIGNATURES[function].split("->")[0].count("(")
    factors = np.linspace(0.5, 1.5, COUNT)[:, None]
    return [factors * x for x in (state.q, state.v, state.vdot)[:count]]


def in_blocks(
    tree: mbt.MultibodyTree,
    function: str,
    call: Callable[..., Any],
    operands: list[np.ndarray],
    **keywords: Any,
) -> Any:
    """All results of a function, not yet computed."""
    nv, results = tree.num_velocities, SIGNATURES[function].split("->")[1].count("(")
    return da.apply_gufunc(
        call,
        SIGNATURES[function],
        *(da.from_array(x, chunks=(CHUNKS, -1)) for x in operands),
        output_sizes={"v": nv, "w": nv, "b": tree.num_bodies, "i": 4, "j": 4},
        output_dtypes=(float,) * results if results > 1 else float,
        **keywords,
    )


def assert_same(actual: Any, desired: Any) -> None:
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (actual, desired)), strict=True):
        np.testing.assert_array_equal(a, b)


@every_function
@pytest.mark.parametrize("model", FEW)
def test_on_threads(model: str, function: str) -> None:
    """Several threads of dask call at once, and share the threads of mbt."""
    tree, operands = get_case(model).tree, operands_of(model, function)
    call = partial(getattr(functional, function), tree)
    before = mbt.get_num_threads()
    mbt.set_num_threads(3)
    try:
        (actual,) = dask.compute(
            in_blocks(tree, function, call, operands), scheduler="threads", num_workers=4
        )
    finally:
        mbt.set_num_threads(before)
    assert_same(actual, call(*operands))


# Worker processes -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two processes with two threads each."""
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        yield client


@every_function
def test_on_workers(client: Any, function: str) -> None:
    """The tree as a task of its own, which each worker receives once."""
    tree, operands = get_case("humanoid").tree, operands_of("humanoid", function)
    compute = getattr(functional, function)

    def call(*arrays: np.ndarray, model: mbt.MultibodyTree) -> Any:
        return compute(model, *arrays)

    blocks = in_blocks(tree, function, call, operands, model=dask.delayed(tree))
    (actual,) = dask.compute(blocks)
    assert_same(actual, compute(tree, *operands))


def test_both_workers_compute_with_a_tree_of_their_own(client: Any) -> None:
    """All blocks of a worker share one tree; mbt uses one thread for each of dask's, as configured."""
    tree, operands = get_case("humanoid").tree, operands_of("humanoid", "bias_term")

    def call(q: np.ndarray, v: np.ndarray, tree: mbt.MultibodyTree) -> np.ndarray:
        time.sleep(0.05)  # so that no worker does all the work
        functional.bias_term(tree, q, v)
        numbers = [os.getpid(), id(tree), mbt.get_num_threads()]
        return np.tile(np.array(numbers, dtype=float), (len(q), 1))

    blocks = da.apply_gufunc(
        call,
        "(q),(v)->(n)",
        *(da.from_array(x, chunks=(CHUNKS, -1)) for x in operands),
        tree=dask.delayed(tree),
        output_sizes={"n": 3},
        output_dtypes=float,
    )
    process, tree_of, threads = np.unique(blocks.compute(), axis=0).T
    assert len(set(process)) == 2
    assert os.getpid() not in process
    assert len(tree_of) == 2
    assert set(threads) == {1.0}


# Rollouts ---------------------------------------------------------------------------------------------------

STEPS, EVERY, DT = 40, 8, 2e-3
ROWS = STEPS // EVERY + 1


def roll_out(q: Any, v: Any, tau: Any, tree: mbt.MultibodyTree, method: str = "rk4") -> Any:
    return functional.rollout(tree, q, v, tau, DT, every=EVERY, method=method)


def roll_out_with_masses(q: Any, v: Any, mass: Any, tree: mbt.MultibodyTree) -> Any:
    """Each sample with its own parameter value."""
    context = tree.create_default_context(q.shape[:-1])
    context.q, context.v = q, v
    tree.bodies[-1].set_mass(context, mass)
    return tree.rollout(context, np.zeros((STEPS, tree.num_velocities)), DT, every=EVERY)


def rollouts_in_blocks(call: Callable[..., Any], third: str, *arrays: np.ndarray, tree: Any) -> Any:
    return da.apply_gufunc(
        call,
        f"(q),(v),{third}->(s,q),(s,v)",
        *(da.from_array(x, chunks=(CHUNKS, *x.shape[1:])) for x in arrays),
        tree=tree,
        output_sizes={"s": ROWS},
        output_dtypes=(float, float),
    )


@pytest.mark.parametrize("model", FEW)
def test_rollouts_on_threads(model: str) -> None:
    tree, (q, v, tau) = get_case(model).tree, operands_of(model, "forward_dynamics")
    taus = tau[:, None] * np.linspace(0.0, 0.1, STEPS)[:, None]
    blocks = rollouts_in_blocks(roll_out, "(t,v)", q, v, taus, tree=dask.delayed(tree))
    actual = dask.compute(*blocks, scheduler="threads", num_workers=2)
    assert_same(actual, roll_out(q, v, taus, tree))


def test_rollouts_on_workers(client: Any) -> None:
    """Of a tree, and of Contexts with parameters for each sample."""
    tree, (q, v, tau) = get_case("humanoid").tree, operands_of("humanoid", "forward_dynamics")
    mass = np.linspace(0.5, 3.0, COUNT)
    model = dask.delayed(tree)

    def roll_out_held(q: Any, v: Any, tau: Any, tree: mbt.MultibodyTree) -> Any:
        held = np.broadcast_to(tau[..., None, :], (*tau.shape[:-1], STEPS, tau.shape[-1]))
        return functional.rollout(tree, q, v, held, DT, every=EVERY)

    blocks = rollouts_in_blocks(roll_out_held, "(v)", q, v, 0.1 * tau, tree=model)
    assert_same(dask.compute(*blocks), roll_out_held(q, v, 0.1 * tau, tree))
    blocks = rollouts_in_blocks(roll_out_with_masses, "()", q, v, mass, tree=model)
    assert_same(dask.compute(*blocks), roll_out_with_masses(q, v, mass, tree))


# Tokens, by which dask identifies a tree, so that equal computations run once -------------------------------


def token(thing: Any) -> str:
    name: str = dask.base.tokenize(thing, ensure_deterministic=True)
    return name


@pytest.mark.parametrize("model", CATALOGUE)
def test_trees_that_are_built_alike_have_one_token(model: str) -> None:
    tree, twin = (build_tree(CATALOGUE[model]()) for _ in range(2))
    desired = token(tree)
    copies = [twin, tree.clone(), pickle.loads(pickle.dumps(tree)), pickle.loads(pickle.dumps(tree.clone()))]
    assert {token(copy) for copy in copies} == {desired}
    assert {token(copy.frames[-1]) for copy in copies} == {token(tree.frames[-1])}


def test_a_token_outlives_use() -> None:
    """Tokens do not depend on anything that a tree caches."""
    tree = build_tree(CATALOGUE["mixed8"]())
    desired = token(tree)
    context = tree.create_default_context()
    tree.calc_forward_dynamics(context)
    tree.calc_forward_dynamics_derivatives(context)
    functional.mass_matrix(tree, context.q[None])
    tree.to_autodiff().create_default_context()
    str(tree.finalize_report)
    assert token(tree) == desired


def test_all_models_and_elements_differ() -> None:
    trees = [build_tree(make()) for make in CATALOGUE.values()]
    tokens = [token(tree) for tree in trees] + [token(trees[-1].to_autodiff())]
    tokens += [token(element) for element in (*trees[-1].bodies, *trees[-1].frames, *trees[-1].joints)]
    assert len(set(tokens)) == len(tokens)


@pytest.mark.parametrize(
    "change", ["mass", "damping", "limit", "stiffness", "attribute", "gear ratio", "radius", "colour"]
)
def test_every_number_counts(change: str) -> None:
    def build(changed: str) -> mbt.MultibodyTree:
        def number(name: str) -> float:
            return 2.0 if name == changed else 1.0

        tree = mbt.MultibodyTree()
        inertia = mbt.SpatialInertia(number("mass"), np.zeros(3), np.eye(3))
        body = tree.add_body(mbt.RigidBody("body", inertia))
        limits = {"pos_upper_limit": number("limit"), "damping": number("damping")}
        tree.add_joint(
            mbt.RevoluteJoint, "hinge", tree.world_body, None, body, None, axis=[0, 0, 1], **limits
        )
        tree.add_force_element(mbt.RevoluteSpring(tree.joints[0], 0.0, number("stiffness")))
        tree.add_force_element(NamedGravity("Mars", list(tree.joints), {"note": number("attribute")}))
        wheel = tree.add_body(mbt.RigidBody("wheel", inertia))
        axle = tree.add_joint(mbt.RevoluteJoint, "axle", body, None, wheel, None, axis=[0, 0, 1])
        tree.add_constraint(mbt.CouplerConstraint("gear", axle, tree.joints[0], number("gear ratio")))
        color = [number("colour") / 2.0, 0.0, 0.0, 1.0]
        for radius in (number("radius"), 1.0):
            wheel.add_visual(mbt.Shape("sphere", [radius], color=color))
        tree.finalize()
        return tree

    assert token(build("")) == token(build("")) == token(pickle.loads(pickle.dumps(build(""))))
    assert token(build(change)) != token(build(""))


CHILD = """
import dask, mbt
from support.build import build_tree
from support.random_trees import CATALOGUE
print(dask.base.tokenize(build_tree(CATALOGUE["every_joint"]())))
"""


def test_another_process_has_the_same_token() -> None:
    run = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert run.stdout.split() == [token(build_tree(CATALOGUE["every_joint"]()))]


def test_arrays_that_trees_no_longer_share_have_the_same_token() -> None:
    before = token(build_tree(CATALOGUE["every_joint"]()))
    _shared_array.cache_clear()
    assert token(build_tree(CATALOGUE["every_joint"]())) == before


def test_an_attribute_that_cannot_be_pickled() -> None:
    """Such a tree works on threads; its tokens never match."""
    tree = build_tree(CATALOGUE["arm7"](), finalize=False)
    tree.bodies[-1].lock = threading.Lock()  # type: ignore[attr-defined]
    tree.finalize()
    assert dask.base.tokenize(tree) != dask.base.tokenize(tree)
    q = da.zeros((10, tree.num_positions), chunks=(3, -1))
    blocks = in_blocks(tree, "mass_matrix", partial(functional.mass_matrix, tree), [np.asarray(q)])
    assert_same(blocks.compute(scheduler="threads"), functional.mass_matrix(tree, np.asarray(q)))
