"""Sequences of edits: the tree is consistent after each one, and a refused edit changes nothing."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest

import mbt
from support.force_element_types import make_everything

STEPS = 16


def _kinds(tree: mbt.MultibodyTree) -> tuple[tuple[Any, ...], ...]:
    return (
        tree.bodies,
        tree.frames,
        tree.joints,
        tree.mobilizers,
        tree.force_elements,
        tree.joint_actuators,
        tree.constraints,
        tree.model_instances,
    )


def _snapshot(tree: mbt.MultibodyTree) -> list[Any]:
    graph = tree._elements.graph
    elements = [[(e, e.name, e.ordinal, e.model_instance) for e in kind] for kind in _kinds(tree)]
    return [elements, list(graph.body_names), list(graph.edges), list(tree._elements.connections)]


def _check(tree: mbt.MultibodyTree) -> None:
    """Indices, names and references are right, and the tree computes if it has no loops."""
    for kind in _kinds(tree):
        for i, element in enumerate(kind):
            assert element.ordinal == i
            assert element.parent_tree is tree
            assert all(needed.parent_tree is tree for needed, _ in element._needs())
    for get, elements in (
        (tree.get_body_by_name, tree.bodies),
        (tree.get_frame_by_name, tree.frames),
        (tree.get_joint_by_name, tree.joints),
    ):
        assert all(get(element.name, element.model_instance) is element for element in elements)
    # Unpickling checks everything again.
    twin = pickle.loads(pickle.dumps(tree))
    try:
        twin.finalize()
    except mbt.TopologyError:
        # Joints added at random may close loops.
        return
    context = twin.create_default_context()
    context.v = np.ones(twin.num_velocities)
    assert np.isfinite(twin.calc_bias_term(context)).all()


class _Editor:
    """Edits a tree at random."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.tree = make_everything(user_written=False).edit()
        self.removed: list[Any] = []

    def any_element(self) -> Any:
        return self.rng.choice([element for kind in _kinds(self.tree) for element in kind])

    def remove(self) -> None:
        self.removed.append(self.tree.remove(self.any_element()))

    def remove_subtree(self) -> None:
        self.removed += self.tree.remove_subtree(self.rng.choice(self.tree.bodies))

    def rename(self) -> None:
        self.tree.rename(self.any_element(), self.rng.choice(["new", "a::b", self.any_element().name]))

    def add_joint(self) -> None:
        F, M = self.rng.choice(self.tree.frames), self.rng.choice(self.tree.frames)
        X_PF = self.rng.choice([None, np.eye(4)])
        self.tree.add_joint(mbt.RevoluteJoint, f"joint {self.rng.random()}", F, X_PF, M, None, [0, 0, 1])

    def add_again(self) -> None:
        if self.removed:
            element = self.rng.choice(self.removed)
            getattr(self.tree, element._adder)(element)
            self.removed = [other for other in self.removed if not other.has_parent_tree]

    def add_model_instance(self) -> None:
        self.tree.add_model_instance(f"instance {self.rng.random()}")

    def edit(self) -> None:
        self.tree = self.tree.edit()


CALLS = (
    _Editor.remove,
    _Editor.remove,
    _Editor.remove_subtree,
    _Editor.rename,
    _Editor.add_joint,
    _Editor.add_again,
    _Editor.add_again,
    _Editor.add_model_instance,
    _Editor.edit,
)


def _run(seed: int) -> None:
    editor = _Editor(seed)
    for _ in range(STEPS):
        before, tree = _snapshot(editor.tree), editor.tree
        try:
            editor.rng.choice(CALLS)(editor)
        except mbt.MbtError:
            assert editor.tree is tree
            assert _snapshot(tree) == before
        _check(editor.tree)


@pytest.mark.parametrize("seed", range(6))
def test_a_few(seed: int) -> None:
    _run(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(6, 150))
def test_many(seed: int) -> None:
    _run(seed)
