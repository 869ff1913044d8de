"""The order in which elements are added, and their names, do not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import pytest

from support.build import build_tree, layout_of
from support.case import get_case
from support.description import WORLD, Model, with_free_joints
from support.quantities import QUANTITIES, State, assert_close
from support.random_trees import CATALOGUE
from support.reference import Layout, Reference
from support.subject import Subject

T = TypeVar("T")


def _permuted(model: Model, rng: np.random.Generator) -> Model:
    """Bodies, joints, frames (parents first) and actuators in random order, with free joints made
    explicit.
    """
    model = with_free_joints(model)

    def shuffle(items: Sequence[T]) -> tuple[T, ...]:
        return tuple(items[i] for i in rng.permutation(len(items)))

    return replace(
        model, bodies=shuffle(model.bodies), joints=shuffle(model.joints), actuators=shuffle(model.actuators)
    )


def _renamed(model: Model) -> Model:
    """The same order, with names that sort in reverse."""

    names = [*(b.name for b in model.bodies), *(j.name for j in model.joints)]
    names += [*(a.name for a in model.actuators), *(f.name for f in model.frames)]
    rank = {name: i for i, name in enumerate(dict.fromkeys(names))}

    def new(name: str) -> str:
        return name if name == WORLD else f"z{1000 - rank[name]}"

    return replace(
        model,
        bodies=tuple(replace(b, name=new(b.name)) for b in model.bodies),
        joints=tuple(
            replace(j, name=new(j.name), parent=new(j.parent), child=new(j.child)) for j in model.joints
        ),
        actuators=tuple(replace(a, name=new(a.name), joint=new(a.joint)) for a in model.actuators),
        frames=tuple(replace(f, name=new(f.name), parent=new(f.parent)) for f in model.frames),
    )


def _order(model: Model, mine: Layout, theirs: Layout) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index arrays with theirs = mine[order], for q, v and bodies."""
    reference = Reference(model)
    q, v = np.zeros(reference.nq, int), np.zeros(reference.nv, int)
    for joint in reference.model.joints:
        for order, size, to, source in (
            (q, joint.num_positions, theirs.position_start, mine.position_start),
            (v, joint.num_velocities, theirs.velocity_start, mine.velocity_start),
        ):
            order[to[joint.name] : to[joint.name] + size] = source[joint.name] + np.arange(size)
    bodies = np.zeros(reference.nb, int)
    for name, row in theirs.body_row.items():
        bodies[row] = mine.body_row[name]
    return q, v, bodies


@pytest.mark.parametrize("model", CATALOGUE)
def test_order_of_addition(model: str) -> None:
    case, state = get_case(model), get_case(model).state()
    permuted = _permuted(case.model, np.random.default_rng(6))
    tree = build_tree(permuted)
    subject, original = Subject(tree), case.subject()
    q, v, b = _order(permuted, layout_of(case.tree), layout_of(tree))
    s = State(state.q[q], state.v[v], state.vdot[v], state.tau[v], state.body_forces[b])

    def scale(name: str) -> float:
        return QUANTITIES[name].scale(case.reference, state)

    poses = original.poses(state.q)[b]
    assert_close(subject.poses(s.q), poses, scale("poses"), "poses")
    M = original.mass_matrix(state.q)[np.ix_(v, v)]
    assert_close(subject.mass_matrix(s.q), M, scale("mass_matrix"), "M")
    tau = original.inverse_dynamics(state.q, state.v, state.vdot, state.body_forces)[v]
    assert_close(
        subject.inverse_dynamics(s.q, s.v, s.vdot, s.body_forces),
        tau,
        scale("inverse_dynamics_with_forces"),
        "tau",
    )
    vdot = original.forward_dynamics(state.q, state.v, state.tau, state.body_forces)[v]
    assert_close(
        subject.forward_dynamics(s.q, s.v, s.tau, s.body_forces), vdot, scale("forward_dynamics"), "vdot"
    )


@pytest.mark.parametrize("model", CATALOGUE)
def test_names(model: str) -> None:
    """Other names, same numbers, bit for bit. (A free body's joint is named after it; its place is not.)"""
    case, state = get_case(model), get_case(model).state()
    subject, original = Subject(build_tree(_renamed(case.model))), case.subject()
    for name in ("inverse_dynamics_with_forces", "forward_dynamics", "poses"):
        compute = QUANTITIES[name].compute
        np.testing.assert_array_equal(compute(subject, state), compute(original, state), name)
