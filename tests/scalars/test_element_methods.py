"""Every public method of every element, on trees of every scalar: the values are those of doubles."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import SCALAR_NAMES, richardson
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

KINDS = ("bodies", "frames", "joints", "mobilizers", "force_elements", "joint_actuators")
# They write, or take arrays to write into; or tell of a tree that is being built.
LEFT_OUT = ("set_", "add_in_", "lock", "unlock", "get_mutable_", "declare_", "do_")
# Holds doubles alone: `get_constants` has the numbers of any scalar.
OF_DOUBLES = ("get_config",)

TREE = make_everything(user_written=False)
STATE = random_state(TREE, np.random.default_rng(1))


@cache
def variant(scalar: str) -> tuple[mbt.MultibodyTree, Any]:
    tree = TREE.clone_to_scalar(scalar)
    context: Any = tree.create_default_context()
    if scalar == "autodiff":
        context.q, context.v = initialize(STATE.q, STATE.v)
    elif scalar == "mpmath":
        context.q, context.v = [mpmath.mpf(x) for x in STATE.q], [mpmath.mpf(x) for x in STATE.v]
    else:
        context.q, context.v = STATE.q, STATE.v
    return tree, context


def argument(name: str, element: Any, tree: mbt.MultibodyTree, context: Any) -> Any:
    """What a method takes by this name."""
    if name == "context":
        return context
    if name == "frame_body_poses":
        return tree.eval_frame_body_poses(context)
    if name.startswith(("frame_", "other_frame", "expressed_in", "measured_in")):
        return tree.frames[3]
    X = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, 0.2, 0.3])
    values = {
        "X_FQ": X, "R_FQ": X[:3, :3], "body": tree.bodies[2],
        "angle": 0.3, "angular_rate": 0.2, "velocity": 0.2, "u": np.ones(tree.num_actuators),
        "A_WB_array": np.ones((tree.num_bodies, 6)), "F_Mo_F": np.ones(6),
        "forces": mbt.MultibodyForces(tree), "model_instance": mbt.default_model_instance(),
        "pc": tree.eval_position_kinematics(context), "vc": tree.eval_velocity_kinematics(context),
        "q_array": np.full(tree.num_positions, 0.3),
        **{f"{x}_array": np.ones(tree.num_velocities) for x in ("v", "vdot", "tau")},
        **{x: np.ones(getattr(element, "num_positions", 0)) for x in ("q", "qdot", "qddot")},
        **{x: np.ones(getattr(element, "num_velocities", 0)) for x in ("v", "vdot")},
    }  # fmt: skip
    return values[name]


def methods() -> list[tuple[str, int, str]]:
    """One element of each type: kind, index, and method."""
    found, types = [], set()
    for kind in KINDS:
        for element in getattr(TREE, kind):
            if type(element) in types:
                continue
            types.add(type(element))
            for name in dir(type(element)):
                if name.startswith(("_", *LEFT_OUT)) or name in OF_DOUBLES:
                    continue
                if inspect.isfunction(getattr(type(element), name)):
                    found.append((kind, element.index, name))
    return found


def call(element: Any, method: str, tree: mbt.MultibodyTree, context: Any) -> Any:
    parameters = inspect.signature(getattr(element, method)).parameters.values()
    wanted = [p.name for p in parameters if p.default is p.empty or p.name == "context"]
    return getattr(element, method)(**{name: argument(name, element, tree, context) for name in wanted})


def as_doubles(result: Any) -> Array:
    if isinstance(result, AutoDiffArray):
        return result.value
    return np.asarray(result, dtype=float)


@pytest.mark.parametrize("scalar", SCALAR_NAMES)
@pytest.mark.parametrize(("kind", "index", "method"), methods())
def test_methods(kind: str, index: int, method: str, scalar: str) -> None:
    tree, context = variant(scalar)
    own, other = getattr(TREE, kind)[index], getattr(tree, kind)[index]
    try:
        wanted = call(own, method, TREE, STATE)
    except mbt.MbtError as error:
        with pytest.raises(type(error)):
            call(other, method, tree, context)
        return
    got = call(other, method, tree, context)
    if isinstance(wanted, (float, np.ndarray)):
        scale = 1.0 + np.max(np.abs(wanted), initial=0.0)
        np.testing.assert_allclose(as_doubles(got), wanted, rtol=0, atol=1e-11 * scale)
    elif isinstance(wanted, dict):
        assert {name: float(as_doubles(x)) for name, x in got.items()} == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("kind", "index", "method"), [case for case in methods() if case[2].startswith(("calc_", "eval_"))]
)
def test_derivatives(kind: str, index: int, method: str) -> None:
    """Along a direction in which positions and velocities change."""
    tree, context = variant("autodiff")
    own = getattr(TREE, kind)[index]
    if "context" not in inspect.signature(getattr(own, method)).parameters:
        return
    rng = np.random.default_rng(2)
    q_dot, v_dot = rng.normal(size=STATE.q.size), rng.normal(size=STATE.v.size)
    moved = TREE.create_default_context()

    def along(step: float) -> Array:
        moved.q, moved.v = STATE.q + step * q_dot, STATE.v + step * v_dot
        return np.asarray(call(own, method, TREE, moved))

    try:
        if not np.issubdtype(along(0.0).dtype, np.floating):
            return
    except mbt.MbtError:
        return
    got = call(getattr(tree, kind)[index], method, tree, context)
    wanted = richardson(along)
    derivatives = 0.0 * wanted
    if isinstance(got, AutoDiffArray) and got.num_derivatives > 0:
        derivatives = got.derivatives @ np.concatenate([q_dot, v_dot])
    scale = 1.0 + np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(derivatives, wanted, rtol=0, atol=1e-8 * scale)


def test_there_are_methods() -> None:
    assert len(methods()) > 400
