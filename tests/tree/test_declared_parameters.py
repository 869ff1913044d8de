"""Parameters, discrete state and cache entries that elements declare."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.declaring_elements import Spring, Telescope

M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)


class Model:
    def __init__(self) -> None:
        tree = self.tree = mbt.MultibodyTree()
        link = tree.add_body(mbt.RigidBody("link", M_BBo_B))
        self.slide = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, link, None, [1, 0, 0])
        self.motor = tree.add_joint_actuator("motor", self.slide)
        self.spring = tree.add_force_element(Spring(self.slide))
        tree.finalize()
        self.context = tree.create_default_context()

    def acceleration(self, context: mbt.Context | None = None) -> float:
        return float(self.tree.calc_forward_dynamics(context or self.context)[0])


@pytest.fixture
def model() -> Model:
    return Model()


def test_defaults(model: Model) -> None:
    spring, context = model.spring, model.context
    assert context.get_numeric_parameter(spring.stiffness).tolist() == [3.0, 0.5]
    assert context.get_abstract_parameter(spring.table) == {"gain": 1.0}
    assert context.get_discrete_state(spring.setpoint).tolist() == [0.25]
    assert context.parameters.num_numeric_parameters == context.parameters.num_abstract_parameters == 1
    assert model.acceleration() == pytest.approx(3.0 * 0.75 / 2.0)


def test_each_context_has_its_own(model: Model) -> None:
    spring, context = model.spring, model.context
    context.set_numeric_parameter(spring.stiffness, [8, 0.5])
    context.set_discrete_state(spring.setpoint, 0.5)
    assert model.acceleration() == pytest.approx(4.0)
    # Cached accelerations are recomputed.
    frame = model.slide.child_body.body_frame
    assert frame.calc_spatial_acceleration_in_world(context)[3] == pytest.approx(4.0)
    context.set_discrete_state(spring.setpoint, 0.75)
    assert frame.calc_spatial_acceleration_in_world(context)[3] == pytest.approx(5.0)
    context.set_numeric_parameter(spring.stiffness, [4, 0.5])
    assert frame.calc_spatial_acceleration_in_world(context)[3] == pytest.approx(2.5)
    context.set_numeric_parameter(spring.stiffness, [8, 0.5])
    context.set_discrete_state(spring.setpoint, 0.5)
    clone = context.clone()
    assert model.acceleration(clone) == pytest.approx(4.0)
    context.set_abstract_parameter(spring.table, {"gain": 2.0})
    assert model.acceleration() == pytest.approx(8.0)
    assert model.acceleration(clone) == pytest.approx(4.0)
    clone.set_discrete_state(spring.setpoint, [-0.5])
    assert model.acceleration(clone) == 0.0
    assert model.acceleration() == pytest.approx(8.0)
    assert model.acceleration(model.tree.create_default_context()) == pytest.approx(1.125)
    # A clone has its own objects.
    clone.get_abstract_parameter(spring.table)["gain"] = 77.0
    assert context.get_abstract_parameter(spring.table) == {"gain": 2.0}
    assert model.tree.create_default_context().get_abstract_parameter(spring.table) == {"gain": 1.0}
    model.tree.set_default_context(context)
    assert model.acceleration() == pytest.approx(1.125)
    assert context.get_discrete_state(spring.setpoint).tolist() == [0.25]


def test_defaults_of_a_hook_are_taken_anew(model: Model) -> None:
    model.spring.default_stiffness = 30.0
    assert model.acceleration() == pytest.approx(1.125)
    assert model.acceleration(model.tree.create_default_context()) == pytest.approx(11.25)
    model.tree.set_default_context(model.context)
    assert model.acceleration() == pytest.approx(11.25)


def test_arrays_are_read_only_and_never_change(model: Model) -> None:
    spring, context = model.spring, model.context
    stiffness, setpoint = context.get_numeric_parameter(spring.stiffness), context.get_discrete_state(0)
    force = context.eval_cache_entry(spring.force)
    for array in (stiffness, setpoint, force):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    values = np.array([5.0, 6.0])
    context.set_numeric_parameter(spring.stiffness, values)
    values[:] = 0.0
    assert context.get_numeric_parameter(spring.stiffness).tolist() == [5.0, 6.0]
    assert (stiffness.tolist(), setpoint.tolist()) == ([3.0, 0.5], [0.25])
    with pytest.raises(mbt.ArgumentValueError, match=r"write with context.set_numeric_parameter\(\)"):
        context.parameters.set_numeric_parameter(spring.stiffness, [1, 2])
    with pytest.raises(mbt.ArgumentValueError, match=r"write with context.set_abstract_parameter\(\)"):
        context.parameters.set_abstract_parameter(spring.table, 1)
    assert context.parameters.get_numeric_parameter(spring.stiffness).tolist() == [5.0, 6.0]


CHANGES: dict[str, Callable[[Model], None]] = {
    "q": lambda m: setattr(m.context, "q", [0.3]),
    "v": lambda m: setattr(m.context, "v", [0.3]),
    "time": lambda m: setattr(m.context, "time", 0.3),
    "inputs": lambda m: setattr(m.context, "actuation", [0.3]),
    "parameters": lambda m: m.context.set_numeric_parameter(m.spring.stiffness, [4, 5]),
    "discrete_state": lambda m: m.context.set_discrete_state(m.spring.setpoint, [4]),
}


@pytest.mark.parametrize("source", CHANGES)
def test_a_cache_entry_is_computed_when_what_it_needs_has_changed(source: str) -> None:
    model = Model()
    counts: dict[str, int] = {}

    class Probe(mbt.ForceElement):
        def do_declare_cache_entries(self) -> None:
            self.entries = {
                s: self.declare_cache_entry(s, lambda c, s=s: counts.update({s: counts.get(s, 0) + 1}), [s])
                for s in CHANGES
            }
            self.chain = self.declare_cache_entry(
                "chain", lambda c: counts.update(chain=counts.get("chain", 0) + 1), [self.entries[source]]
            )
            self.all = self.declare_cache_entry("all", lambda c: counts.update(all=counts.get("all", 0) + 1))

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            pass

    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", M_BBo_B))
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, link, None, [1, 0, 0])
    tree.add_joint_actuator("motor", slide)
    model.tree, model.spring = tree, tree.add_force_element(Spring(slide))
    probe = tree.add_force_element(Probe())
    tree.finalize()
    model.context = tree.create_default_context()

    def evaluate() -> None:
        for entry in (*probe.entries.values(), probe.chain, probe.all):
            model.context.eval_cache_entry(entry)

    evaluate()
    evaluate()
    assert set(counts.values()) == {1}
    CHANGES[source](model)
    evaluate()
    evaluate()
    changed = {name for name, count in counts.items() if count == 2}
    assert {source, "chain", "all"} <= changed
    # A change of the discrete state may change forces, so it also counts as a change of the inputs.
    assert changed - {source, "chain", "all"} <= ({"inputs"} if source == "discrete_state" else set())
    assert max(counts.values()) == 2


def test_entries_of_entries(model: Model) -> None:
    context, spring = model.context, model.spring
    assert spring.doubled.sources == ("time", "q", "parameters", "discrete_state")
    assert context.eval_cache_entry(spring.doubled).tolist() == [4.5]
    context.v = [3.0]
    assert context.eval_cache_entry(spring.doubled).tolist() == [4.5]
    assert spring.num_calls == 1
    context.q = [0.75]
    assert context.eval_cache_entry(spring.doubled).tolist() == [0.0]
    assert "force of the spring" in repr(spring.force)


def test_applied_forces_can_change_unseen() -> None:
    tree = mbt.MultibodyTree()

    class Probe(mbt.ForceElement):
        def do_declare_cache_entries(self) -> None:
            self.load = self.declare_cache_entry(
                "load", lambda c: float(c.applied_forces.body_forces.sum()), ["inputs"]
            )

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            pass

    probe = tree.add_force_element(Probe())
    tree.finalize()
    context = tree.create_default_context()
    assert context.eval_cache_entry(probe.load) == 0.0
    context.applied_forces.body_forces[0, 3] = 2.0
    assert context.eval_cache_entry(probe.load) == 2.0


def test_an_error_in_a_cache_entry_passes(model: Model) -> None:
    model.context.set_abstract_parameter(model.spring.table, {})
    with pytest.raises(KeyError, match="gain"):
        model.acceleration()
    model.context.set_abstract_parameter(model.spring.table, {"gain": 1.0})
    assert model.acceleration() == pytest.approx(1.125)


def test_an_entry_that_needs_itself() -> None:
    class Snake(mbt.ForceElement):
        def do_declare_cache_entries(self) -> None:
            self.tail = self.declare_cache_entry("tail", lambda c: c.eval_cache_entry(self.tail), ["q"])

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            pass

    tree = mbt.MultibodyTree()
    snake = tree.add_force_element(Snake())
    tree.finalize()
    for _ in range(2):
        with pytest.raises(mbt.ArgumentValueError, match="its computation needs its own value"):
            tree.create_default_context().eval_cache_entry(snake.tail)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda m: m.context.get_numeric_parameter(1), mbt.ElementIndexError, "numeric parameter"),
        (lambda m: m.context.get_numeric_parameter(-1), mbt.ElementIndexError, "numeric parameter"),
        (lambda m: m.context.get_numeric_parameter(0.0), mbt.ArgumentTypeError, "numeric parameter"),
        (lambda m: m.context.set_numeric_parameter(1, [1, 2]), mbt.ElementIndexError, "numeric parameter"),
        (lambda m: m.context.set_numeric_parameter(0, [1]), mbt.ShapeError, r"0 of force element .* \(2,\)"),
        (lambda m: m.context.set_numeric_parameter(0, 1), mbt.ShapeError, r"expected shape \(2,\), got \(\)"),
        (lambda m: m.context.set_numeric_parameter(0, [1, np.nan]), mbt.ArgumentValueError, "finite numbers"),
        (lambda m: m.context.set_numeric_parameter(0, "ab"), mbt.ArgumentTypeError, "real numbers"),
        (lambda m: m.context.get_abstract_parameter(1), mbt.ElementIndexError, "abstract parameter"),
        (lambda m: m.context.set_abstract_parameter(1, 0), mbt.ElementIndexError, "abstract parameter"),
        (lambda m: m.context.get_discrete_state(1), mbt.ElementIndexError, "discrete state"),
        (
            lambda m: m.context.set_discrete_state(0, [1, 2]),
            mbt.ShapeError,
            "discrete state 0 of force element",
        ),
        (lambda m: m.context.eval_cache_entry("force"), mbt.ArgumentTypeError, "expected a CacheEntry"),
        (lambda m: m.context.eval_cache_entry(Model().spring.force), mbt.ForeignElementError, "another tree"),
    ],
)
def test_bad_arguments(model: Model, call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call(model)
    assert model.acceleration() == pytest.approx(1.125)


def test_declarations_belong_into_hooks(model: Model) -> None:
    free = Spring(model.slide)
    for element, error in ((free, mbt.NotFinalizedError), (model.spring, mbt.AlreadyFinalizedError)):
        for call in (
            lambda e=element: e.declare_numeric_parameter([1]),
            lambda e=element: e.declare_abstract_parameter(1),
            lambda e=element: e.declare_discrete_state([1]),
            lambda e=element: e.declare_cache_entry("x", float, ["q"]),
            element.declare_parameters,
            element.declare_discrete_states,
            element.declare_cache_entries,
        ):
            with pytest.raises(error, match=r"do_declare_parameters\(\)"):
                call()
    with pytest.raises(mbt.ArgumentTypeError, match="expected Parameters, got dict"):
        model.spring.set_default_parameters({})  # type: ignore[arg-type]
    assert model.acceleration() == pytest.approx(1.125)


@pytest.mark.parametrize(
    ("declare", "error", "match"),
    [
        (lambda e: e.declare_numeric_parameter([[1]]), mbt.ShapeError, "model_vector"),
        (lambda e: e.declare_numeric_parameter([np.inf]), mbt.ArgumentValueError, "model_vector"),
        (lambda e: e.declare_numeric_parameter(None), mbt.ArgumentTypeError, "model_vector"),
        (lambda e: e.declare_cache_entry("", float, ["q"]), mbt.ArgumentTypeError, "description"),
        (lambda e: e.declare_cache_entry("x", 1, ["q"]), mbt.ArgumentTypeError, "calc"),
        (lambda e: e.declare_cache_entry("x", float, "q"), mbt.ArgumentTypeError, "prerequisites"),
        (
            lambda e: e.declare_cache_entry("x", float, ["p"]),
            mbt.ArgumentValueError,
            "time, q, v, parameters",
        ),
        (lambda e: e.declare_cache_entry("x", float, []), mbt.ArgumentValueError, "at least one"),
        (
            lambda e: e.declare_cache_entry("x", float, [Model().spring.force]),
            mbt.ArgumentValueError,
            "cache entries of this tree",
        ),
        (
            lambda e: e.parent_tree.add_body(mbt.RigidBody, M_BBo_B),
            mbt.AlreadyFinalizedError,
            "being finalized",
        ),
        (lambda e: e.parent_tree.finalize(), mbt.AlreadyFinalizedError, "being finalized"),
        (lambda e: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_a_hook_that_fails_leaves_the_tree_as_it_was(
    declare: Any, error: type[Exception], match: str
) -> None:
    class Body(mbt.RigidBody):
        fail = True

        def do_declare_parameters(self) -> None:
            self.colour = self.declare_numeric_parameter([1, 2, 3])
            if self.fail:
                declare(self)

    tree = mbt.MultibodyTree()
    body = tree.add_body(Body("body", M_BBo_B))
    with pytest.raises(error, match=match):
        tree.finalize()
    assert not tree.is_finalized
    assert (tree.num_bodies, tree.num_joints) == (2, 0)
    body.fail = False
    tree.finalize()
    context = tree.create_default_context()
    assert context.get_numeric_parameter(body.colour).tolist() == [1, 2, 3]
    assert context.parameters.num_numeric_parameters == 1


def test_every_kind_of_element_can_declare() -> None:
    class Declares:
        def do_declare_parameters(self) -> None:
            self.mark = self.declare_numeric_parameter([self.index])  # type: ignore[attr-defined]

    class Body(Declares, mbt.RigidBody): ...

    class Joint(Declares, mbt.RevoluteJoint): ...

    class Frame(Declares, mbt.FixedOffsetFrame): ...

    class Actuator(Declares, mbt.JointActuator): ...

    class Gravity(Declares, mbt.UniformGravityFieldElement): ...

    tree = mbt.MultibodyTree()
    body = tree.add_body(Body("body", M_BBo_B))
    frame = tree.add_frame(Frame("frame", body))
    joint = tree.add_joint(Joint, "joint", tree.world_body, None, body, None, [0, 0, 1])
    actuator = tree.add_joint_actuator(Actuator("actuator", joint))
    gravity = tree.add_force_element(Gravity())
    tree.finalize()
    context = tree.create_default_context()
    for element in (body, frame, joint, actuator, gravity):
        assert context.get_numeric_parameter(element.mark).tolist() == [element.index]
    assert context.parameters.num_numeric_parameters == 5


def test_validate_tells_of_discrete_state(model: Model) -> None:
    model.context.validate()
    model.context.set_discrete_state(model.spring.setpoint, np.nan)
    with pytest.raises(mbt.ArgumentValueError, match="discrete state 0 of force element"):
        model.context.validate()


def test_ownership() -> None:
    tree = mbt.MultibodyTree()
    body = mbt.RigidBody("body", M_BBo_B)
    for call in (lambda: body.parent_tree, lambda: body.ordinal, lambda: body.index):
        with pytest.raises(mbt.ForeignElementError, match=r"add it with tree.add_body\(\)"):
            call()
    assert not body.has_parent_tree
    tree.add_body(body)
    assert (body.ordinal, body.index, body.parent_tree, body.has_parent_tree) == (1, 1, tree, True)
    tree.finalize()
    assert not body.is_ephemeral
    assert tree.joints[0].is_ephemeral


# Copies.


def test_copies_declare_anew(model: Model) -> None:
    """Clones and pickles of a tree ask their own elements, which have their own indices and cache entries."""
    for twin in (
        model.tree.clone(),
        pickle.loads(pickle.dumps(model.tree)),
        pickle.loads(pickle.dumps(model.tree.clone())),
    ):
        (spring,) = twin.force_elements
        assert isinstance(spring, Spring)
        context = twin.create_default_context()
        context.set_numeric_parameter(spring.stiffness, [8.0, 0.5])
        assert context.eval_cache_entry(spring.doubled).tolist() == [12.0]
        assert spring.doubled is not model.spring.doubled
        assert twin.calc_forward_dynamics(context) == pytest.approx(3.0)
        with pytest.raises(mbt.ForeignElementError):
            context.eval_cache_entry(model.spring.force)
    assert model.spring.num_calls == 0
    assert model.acceleration() == pytest.approx(1.125)


def test_copies_of_a_context(model: Model) -> None:
    spring, context = model.spring, model.context
    context.q = [0.1]
    context.set_numeric_parameter(spring.stiffness, [8.0, 0.6])
    context.set_abstract_parameter(spring.table, {"gain": 2.0, "of": model.slide})
    context.set_discrete_state(spring.setpoint, 0.3)
    expected = model.acceleration()
    assert expected == pytest.approx(2.0 * 8.0 * 0.8 / 2.0)

    for twin in (context.clone(), copy.copy(context), copy.deepcopy(context)):
        assert twin.tree is model.tree
        assert model.acceleration(twin) == expected
        assert twin.get_abstract_parameter(spring.table) == {"gain": 2.0, "of": model.slide}
        assert twin.get_abstract_parameter(spring.table) is not context.get_abstract_parameter(spring.table)
        twin.set_discrete_state(spring.setpoint, 0.0)
    for tree, twin in (
        copy.deepcopy((model.tree, context)),
        reversed(copy.deepcopy((context, model.tree))),
        pickle.loads(pickle.dumps((model.tree, context))),
    ):
        assert isinstance(twin, mbt.Context)
        assert isinstance(tree, mbt.MultibodyTree)
        assert twin.tree is tree
        assert tree is not model.tree
        assert float(tree.calc_forward_dynamics(twin)[0]) == expected
        table = twin.get_abstract_parameter(tree.force_elements[0].table)  # type: ignore[attr-defined]
        assert table == {"gain": 2.0, "of": tree.joints[0]}
    assert model.acceleration() == expected


def test_copies_with_frames_in_python() -> None:
    tree = mbt.MultibodyTree()
    frame = tree.add_frame(Telescope("telescope", tree.world_body))
    tree.finalize()
    context = tree.create_default_context()
    context.set_numeric_parameter(frame.place, [2.0, 0.5])
    expected = frame.calc_pose_in_world(context)
    clone = tree.clone()
    (_, twin_frame) = clone.frames
    np.testing.assert_array_equal(
        twin_frame.get_fixed_pose_in_body_frame(), frame.get_fixed_pose_in_body_frame()
    )
    twin_tree, twin = pickle.loads(pickle.dumps((tree, context)))
    np.testing.assert_array_equal(twin_tree.frames[1].calc_pose_in_world(twin), expected)
    twin.set_numeric_parameter(0, [1.0, 0.0])
    assert twin_tree.frames[1].calc_pose_in_world(twin)[0, 3] == 1.0
    np.testing.assert_array_equal(frame.calc_pose_in_world(context.clone()), expected)


def test_a_context_of_other_declarations_is_refused(model: Model) -> None:
    state = model.context._get_state()
    for wrong in ({**state["declared"], "numeric": []}, {**state["declared"], "abstract": [1, 2]}):
        with pytest.raises(mbt.ArgumentValueError, match="their classes have changed"):
            model.context._set_state({**state, "declared": wrong})
    assert model.acceleration() == pytest.approx(1.125)
