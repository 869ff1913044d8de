"""Trees with every element, their clones in other scalars, and directions that change all inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import mbt
from mbt.autodiff import AutoDiffArray
from support.calls import METHODS, SCALARS, Call
from support.description import Array
from support.joint_types import random_state

CALLS: dict[str, Call] = {**METHODS, **SCALARS}
SCALAR_NAMES = ("autodiff", "sympy", "mpmath")
SECTIONS = (
    "gravity",
    "mass",
    "com",
    "unit_inertia",
    "massless_inertia",
    "frame_pose",
    "damping",
    "rotor_inertia",
    "gear_ratio",
    "force_element",
)


def count(tree: mbt.MultibodyTree, section: str) -> int:
    """Return how many elements have a part of a section of the parameters."""
    if section == "gravity":
        return 1
    if section in ("mass", "com", "unit_inertia", "massless_inertia"):
        return tree.num_bodies
    if section == "frame_pose":
        return tree.num_frames
    if section == "damping":
        return tree.num_velocities
    if section == "force_element":
        return sum(element._core_index >= 0 for element in tree.force_elements)
    return len(tree.joint_actuators)


@dataclass
class Point:
    """A state with all parameters, and directions in which everything changes, along the last axis."""

    q: Array
    v: Array
    x: Array
    parameters: dict[tuple[str, int], Array]
    q_dot: Array
    v_dot: Array
    x_dot: Array
    parameter_dots: dict[tuple[str, int], Array]
    time: float = 0.0


def _pose_rate(rng: np.random.Generator, X: Array) -> Array:
    w, p = rng.normal(size=3), rng.normal(size=3)
    return X.reshape(4, 4) @ np.array(
        [[0, -w[2], w[1], p[0]], [w[2], 0, -w[0], p[1]], [-w[1], w[0], 0, p[2]], [0, 0, 0, 0]]
    )


def random_point(tree: mbt.MultibodyTree, x: Array, directions: int, seed: int = 0) -> Point:
    """Return a random state and random directions."""
    rng = np.random.default_rng(seed)
    context = tree.create_default_context()
    state = random_state(tree, rng)
    q, v = state.q.copy(), state.v.copy()
    parameters, dots = {}, {}
    for section in SECTIONS:
        for i in range(count(tree, section)):
            value = context._get_parameter(section, i)
            parameters[section, i] = value
            if section == "frame_pose" and tree.frames[i].is_body_frame:
                dots[section, i] = np.zeros((16, directions))
            elif section == "frame_pose":
                rates = [_pose_rate(rng, value).ravel() for _ in range(directions)]
                dots[section, i] = np.stack(rates, -1)
            else:
                dots[section, i] = rng.normal(size=(value.size, directions)) * np.abs(value)[:, None]
    return Point(
        q, v, x, parameters,
        rng.normal(size=(q.size, directions)), rng.normal(size=(v.size, directions)),
        rng.normal(size=(*x.shape, directions)), dots,
    )  # fmt: skip


def set_context(context: Any, point: Point, step: float | None, direction: int = 0) -> None:
    """Write a point into a Context: with its derivatives, or moved by a step along one direction."""
    for (section, i), value in point.parameters.items():
        dot = point.parameter_dots[section, i]
        context._set_parameter(
            section, i, _moved(value, dot, step, direction, is_pose=section == "frame_pose")
        )
    context.q = _moved(point.q, point.q_dot, step, direction)
    context.v = _moved(point.v, point.v_dot, step, direction)


def evaluate(name: str, tree: mbt.MultibodyTree, context: Any, x: Any) -> Any:
    """Call a method by name, with the third input if it takes one; several results are stacked."""
    call = CALLS[name]
    result = call.run(tree, context, *([x] if call.arguments else []))
    return np.stack(result) if isinstance(result, tuple) else result


def third(point: Point, step: float | None, direction: int = 0) -> Any:
    return _moved(point.x, point.x_dot, step, direction)


def _moved(value: Array, dot: Array, step: float | None, direction: int, *, is_pose: bool = False) -> Any:
    if step is None:
        return AutoDiffArray(value, dot)
    rate = dot[..., direction]
    if not is_pose:
        return value + step * rate
    # A pose must remain one: exp of the rate, to third order.
    X = value.reshape(4, 4)
    A = step * np.linalg.solve(X, rate.reshape(4, 4))
    return (X @ (np.eye(4) + A + A @ A / 2 + A @ A @ A / 6 + A @ A @ A @ A / 24)).ravel()


def richardson(f: Any, step: float = 2e-3) -> Array:
    """Return the derivative at zero from central differences of sixth order."""
    d = [(np.asarray(f(k * step)) - np.asarray(f(-k * step))) for k in (1, 2, 3)]
    return (45 * d[0] - 9 * d[1] + d[2]) / (60 * step)
