"""Members that Frame and ForceElement inherit from MultibodyElement: each is called, its meaning checked."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import mbt

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


class Counter(mbt.ForceElement):
    """An element without forces that makes a declaration of every kind."""

    def __init__(self, model_instance: int | None = None) -> None:
        super().__init__(model_instance)
        self.num_computed = 0

    def do_declare_parameters(self) -> None:
        self.gain = self.declare_numeric_parameter([1.0, 2.0])
        self.label = self.declare_abstract_parameter({"unit": "V"})

    def do_set_default_parameters(self, parameters: mbt.Parameters) -> None:
        parameters.set_numeric_parameter(self.gain, [3.0, 4.0])

    def do_declare_discrete_state(self) -> None:
        self.count = self.declare_discrete_state([0.0])

    def do_declare_cache_entries(self) -> None:
        self.scaled = self.declare_cache_entry("gain times q", self.calc_scaled, ["q", "parameters"])
        self.twice = self.declare_cache_entry("twice that", self.calc_twice, [self.scaled])

    def calc_scaled(self, context: mbt.Context) -> np.ndarray:
        self.num_computed += 1
        return context.get_numeric_parameter(self.gain)[0] * context.q

    def calc_twice(self, context: mbt.Context) -> np.ndarray:
        return 2.0 * context.eval_cache_entry(self.scaled)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


def make_tree() -> tuple[mbt.MultibodyTree, Counter]:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", BALL))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])
    counter = tree.add_force_element(Counter())
    tree.finalize()
    return tree, counter


def test_constructors() -> None:
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    for element, instance in ((Counter(), 1), (Counter(arm), arm)):
        assert element.model_instance == instance
        assert element.name
        tree.add_force_element(element)
    assert len({element.name for element in tree.force_elements}) == 2


def test_parent_tree() -> None:
    tree, counter = make_tree()
    loose = Counter()
    assert counter.has_parent_tree
    assert counter.parent_tree is tree
    assert not loose.has_parent_tree
    with pytest.raises(mbt.ForeignElementError, match="no tree yet"):
        _ = loose.parent_tree


def test_index_and_ordinal() -> None:
    tree, counter = make_tree()
    link = tree.bodies[1]
    assert (link.index, link.ordinal) == (1, 1)
    assert (counter.index, counter.ordinal) == (0, 0)
    with pytest.raises(mbt.ForeignElementError):
        _ = Counter().ordinal


def test_ephemeral_elements() -> None:
    tree = mbt.MultibodyTree()
    free = tree.add_body(mbt.RigidBody("free", BALL))
    tree.finalize()
    assert free.inboard_joint.is_ephemeral
    assert free.inboard_mobilizer.is_ephemeral
    assert not free.is_ephemeral


def test_declarations() -> None:
    tree, counter = make_tree()
    context = tree.create_default_context()
    assert context.get_numeric_parameter(counter.gain).shape == (2,)
    assert context.get_abstract_parameter(counter.label) == {"unit": "V"}
    context.set_numeric_parameter(counter.gain, [5.0, 6.0])
    other = tree.create_default_context()
    np.testing.assert_array_equal(context.get_numeric_parameter(counter.gain), [5.0, 6.0])
    np.testing.assert_array_equal(other.get_numeric_parameter(counter.gain), [3.0, 4.0])
    # One object for each Context.
    context.set_abstract_parameter(counter.label, {"unit": "A"})
    assert other.get_abstract_parameter(counter.label) == {"unit": "V"}
    with pytest.raises(mbt.AlreadyFinalizedError):
        counter.declare_numeric_parameter([1.0])
    with pytest.raises(mbt.AlreadyFinalizedError):
        counter.declare_parameters()


def test_default_parameters() -> None:
    tree, counter = make_tree()
    context = tree.create_default_context()
    # Written by the hook, not as declared.
    np.testing.assert_array_equal(context.parameters.get_numeric_parameter(counter.gain), [3.0, 4.0])
    context.set_numeric_parameter(counter.gain, [7.0, 7.0])
    tree.set_default_context(context)
    np.testing.assert_array_equal(context.get_numeric_parameter(counter.gain), [3.0, 4.0])
    parameters = mbt.Parameters([np.zeros(2)], [None])
    counter.set_default_parameters(parameters)
    np.testing.assert_array_equal(parameters.get_numeric_parameter(counter.gain), [3.0, 4.0])
    assert parameters.get_abstract_parameter(counter.label) == {"unit": "V"}


class Plain(mbt.ForceElement):
    """An element that declares parameters, without a hook for other defaults."""

    def do_declare_parameters(self) -> None:
        self.gain = self.declare_numeric_parameter([1.0, 2.0])
        self.label = self.declare_abstract_parameter(["V"])

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


def test_default_parameters_without_a_hook() -> None:
    """The declared values are written, for this element and no other."""
    tree = mbt.MultibodyTree()
    first, second = (tree.add_force_element(Plain()) for _ in range(2))
    with pytest.raises(mbt.NotFinalizedError, match="finalize"):
        first.set_default_parameters(mbt.Parameters([], []))
    tree.finalize()
    parameters = mbt.Parameters([np.full(2, 9.0), np.full(2, 9.0)], [None, None])
    second.set_default_parameters(parameters)
    np.testing.assert_array_equal(parameters.get_numeric_parameter(second.gain), [1.0, 2.0])
    assert parameters.get_abstract_parameter(second.label) == ["V"]
    np.testing.assert_array_equal(parameters.get_numeric_parameter(first.gain), [9.0, 9.0])
    assert parameters.get_abstract_parameter(first.label) is None
    # A new copy each time.
    parameters.get_abstract_parameter(second.label).append("A")
    second.set_default_parameters(parameters)
    assert parameters.get_abstract_parameter(second.label) == ["V"]
    # Built-in elements have none.
    tree.world_frame.set_default_parameters(parameters)
    with pytest.raises(mbt.ArgumentValueError, match="of another tree"):
        first.set_default_parameters(mbt.Parameters([np.zeros(2)], [None]))
    with pytest.raises(mbt.ForeignElementError, match="no tree yet"):
        Plain().set_default_parameters(parameters)
    with pytest.raises(mbt.ArgumentValueError, match="read-only"):
        first.set_default_parameters(tree.create_default_context().parameters)


def test_discrete_state() -> None:
    tree, counter = make_tree()
    context = tree.create_default_context()
    np.testing.assert_array_equal(context.get_discrete_state(counter.count), [0.0])
    context.set_discrete_state(counter.count, [3.0])
    np.testing.assert_array_equal(context.get_discrete_state(counter.count), [3.0])
    np.testing.assert_array_equal(context.clone().get_discrete_state(counter.count), [3.0])
    np.testing.assert_array_equal(tree.create_default_context().get_discrete_state(counter.count), [0.0])
    with pytest.raises(mbt.ShapeError):
        context.set_discrete_state(counter.count, [3.0, 4.0])


def test_cache_entries() -> None:
    tree, counter = make_tree()
    context = tree.create_default_context()
    context.q = [2.0]
    np.testing.assert_array_equal(context.eval_cache_entry(counter.twice), [12.0])
    np.testing.assert_array_equal(context.eval_cache_entry(counter.scaled), [6.0])
    assert counter.num_computed == 1
    # No prerequisite has changed.
    context.v, context.time = [1.0], 1.0
    np.testing.assert_array_equal(context.eval_cache_entry(counter.twice), [12.0])
    assert counter.num_computed == 1
    context.q = [3.0]
    np.testing.assert_array_equal(context.eval_cache_entry(counter.twice), [18.0])
    context.set_numeric_parameter(counter.gain, [1.0, 0.0])
    np.testing.assert_array_equal(context.eval_cache_entry(counter.twice), [6.0])
    assert counter.num_computed == 3


def test_copies() -> None:
    _, counter = make_tree()
    with pytest.raises(mbt.ForeignElementError):
        copy.copy(counter)
    loose = Counter(1)
    twin = copy.copy(loose)
    twin.num_computed = 7
    assert loose.num_computed == 0
    assert not twin.has_parent_tree


class Watcher(mbt.ForceElement):
    """Two cache entries, one that depends on everything and one on inputs alone, and discrete state."""

    def do_declare_discrete_state(self) -> None:
        self.state = self.declare_discrete_state([0.0])

    def do_declare_cache_entries(self) -> None:
        self.num_computed = {"all": 0, "inputs": 0}
        self.all = self.declare_cache_entry("of everything", lambda context: self.count("all", context))
        self.inputs = self.declare_cache_entry(
            "of inputs", lambda context: self.count("inputs", context), ["inputs"]
        )

    def count(self, name: str, context: Any) -> Any:
        self.num_computed[name] += 1
        return float(context.applied_forces.generalized_forces.sum())

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


@pytest.mark.parametrize("batch_shape", [(), (2,)])
def test_cache_entries_and_applied_forces(batch_shape: tuple[int, ...]) -> None:
    """An entry is kept until something is written, in place or not, even if forces have been read."""
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", BALL))
    watcher = tree.add_force_element(Watcher())
    tree.finalize()
    context = tree.create_default_context(batch_shape=batch_shape)
    forces = context.applied_forces
    for _ in range(3):
        assert context.eval_cache_entry(watcher.all) == context.eval_cache_entry(watcher.inputs) == 0.0
    assert watcher.num_computed == {"all": 1, "inputs": 1}
    forces.generalized_forces[..., 2] = 1.5
    size = max(1, *batch_shape) if batch_shape else 1
    for _ in range(2):
        assert context.eval_cache_entry(watcher.inputs) == 1.5 * size
    assert watcher.num_computed == {"all": 1, "inputs": 2}
    assert [write.detail for write in context.explain(watcher.all).writes] == ["applied forces"]
    forces.generalized_forces[..., 2] = np.nan
    for _ in range(2):
        assert np.isnan(context.eval_cache_entry(watcher.inputs))
    assert watcher.num_computed == {"all": 1, "inputs": 3}
    forces.set_zero()
    assert context.eval_cache_entry(watcher.inputs) == 0.0
    # Discrete state is not an input, even after several writes; entries that depend on it are stale.
    context.eval_cache_entry(watcher.all)
    before = dict(watcher.num_computed)
    for value in (1.0, 2.0):
        context.set_discrete_state(watcher.state, value)
        context.eval_cache_entry(watcher.inputs)
        assert [write.what for write in context.explain(watcher.all).writes] == ["discrete_state"]
    assert watcher.num_computed == before
    context.eval_cache_entry(watcher.all)
    assert watcher.num_computed["all"] == before["all"] + 1
    context.applied_forces = forces
    context.eval_cache_entry(watcher.inputs)
    assert watcher.num_computed["inputs"] == before["inputs"] + 1
