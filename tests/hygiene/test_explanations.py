"""`Context.explain` names what made a cache stale; `Context.freeze` refuses writes of parameters, by name."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.force_element_types import make_everything
from support.linkages import four_bar


def _arm() -> tuple[mbt.MultibodyTree, mbt.Context]:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    return tree, tree.create_default_context()


def _whats(context: mbt.Context, cache: object) -> list[str]:
    explanation = context.explain(cache)
    assert explanation.is_stale == bool(explanation.writes)
    return [write.what for write in explanation.writes]


def test_each_write_is_named_in_order() -> None:
    tree, context = _arm()
    position, velocity = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    assert _whats(context, position) == _whats(context, velocity) == []
    context.time = 1.0
    assert _whats(context, position) == _whats(context, velocity) == []
    context.v = np.ones(6)
    assert (_whats(context, position), _whats(context, velocity)) == ([], ["v"])
    tree.bodies[2].set_mass(context, 4.0)
    context.q = [0, 0.5, 0, 0, 0, 0]
    assert _whats(context, position) == ["parameters", "q"]
    assert _whats(context, velocity) == ["v", "parameters", "q"]
    mass, q = context.explain(position).writes
    assert mass.detail == "mass of body 'turret'"
    assert q.detail == "shoulder_q 0 -> 0.5"
    assert mass.serial < q.serial
    assert _whats(context, tree.eval_velocity_kinematics(context)) == []


def test_same_values_are_told() -> None:
    """The most frequent cause of needless recomputation."""
    tree, context = _arm()
    cache = tree.eval_position_kinematics(context)
    context.q = context.q
    (write,) = context.explain(cache).writes
    assert write.detail == "the same values were written again"


def test_explanation_and_refusal_agree() -> None:
    tree, context = _arm()
    cache = tree.eval_position_kinematics(context)
    context.q = context.q + 0.1
    with pytest.raises(mbt.StaleCacheError, match=r"context\.explain\(pc\)"):
        tree.calc_inverse_dynamics(context, context.v, pc=cache)
    fresh = tree.calc_position_kinematics_cache(context)
    assert not context.explain(fresh).is_stale
    tree.calc_inverse_dynamics(context, context.v, pc=fresh)


def test_caches_of_other_contexts_and_none() -> None:
    tree, context = _arm()
    later = context.clone()
    later.q = later.q + 1
    explanation = context.explain(tree.eval_position_kinematics(later))
    assert explanation.is_stale
    assert "another Context" in str(explanation)
    with pytest.raises(mbt.ArgumentTypeError, match="cache: expected a PositionKinematicsCache"):
        context.explain("q")  # type: ignore[arg-type]
    empty = mbt.PositionKinematicsCache(tree._compiled)
    assert "never computed" in str(context.explain(empty))


def test_batches_and_scalars() -> None:
    tree, _ = _arm()
    for other, context in (
        (tree, tree.create_default_context(3)),
        (symbolic := tree.to_autodiff(), symbolic.create_default_context()),
    ):
        cache = other.eval_velocity_kinematics(context)
        assert _whats(context, cache) == []
        context.v = context.v
        context.q = context.q
        assert _whats(context, cache) == ["v", "q"]


class Counter(mbt.ForceElement):
    """An element with a cache entry that depends on the discrete state and the velocities."""

    def do_declare_parameters(self) -> None:
        self.gain = self.declare_numeric_parameter([1.0])

    def do_declare_discrete_state(self) -> None:
        self.memory = self.declare_discrete_state([0.0])

    def do_declare_cache_entries(self) -> None:
        self.entry = self.declare_cache_entry(
            "speed",
            lambda context: float(context.v.sum()),
            prerequisites=("v", "discrete_state", "parameters"),
        )

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass

    def calc_potential_energy(self, context: Any) -> float:
        return 0.0


def _counting() -> tuple[mbt.MultibodyTree, Counter, mbt.Context]:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    element = tree.add_force_element(Counter())
    tree.finalize()
    return tree, element, tree.create_default_context()


def test_cache_entries_of_users() -> None:
    _, element, context = _counting()
    assert "never computed" in str(context.explain(element.entry))
    context.eval_cache_entry(element.entry)
    assert _whats(context, element.entry) == []
    context.q = context.q
    assert _whats(context, element.entry) == []
    context.set_discrete_state(element.memory, [2.0])
    context.v = context.v
    assert set(_whats(context, element.entry)) == {"discrete_state", "v"}
    context.set_numeric_parameter(element.gain, [3.0])
    assert "parameters" in _whats(context, element.entry)
    with pytest.raises(mbt.ForeignElementError):
        context.explain(_counting()[1].entry)


def test_explanations_show_themselves() -> None:
    tree, context = _arm()
    cache = tree.eval_position_kinematics(context)
    tree.bodies[1].set_mass(context, 2.0)
    explanation = context.explain(cache)
    assert "mass of body" in str(explanation)
    assert "<table" in explanation._repr_html_()
    assert str(pickle.loads(pickle.dumps(explanation))) == str(explanation)


# Writes that a frozen Context refuses, with a word that the message must contain.
WRITES: dict[str, tuple[Callable[[mbt.MultibodyTree, mbt.Context], object], str]] = {
    "mass": (lambda tree, c: tree.bodies[2].set_mass(c, 2.0), "mass of body 'turret'"),
    "frame": (
        lambda tree, c: tree.joints[2].frame_on_parent.set_pose_in_parent_frame(c, np.eye(4)),
        "pose of frame",
    ),
    "gravity": (lambda tree, c: tree.gravity_field.set_gravity_vector(c, [0, 0, -1.0]), "gravity"),
    "weightless": (
        lambda tree, c: tree.gravity_field.set_enabled_in(c, 1, False),
        "which bodies are exempt from gravity",
    ),
    "damping": (lambda tree, c: tree.joints[1].set_damping(c, 2.0), "damping of joint 'waist'"),
    "lock": (lambda tree, c: tree.joints[2].lock(c), "lock of joint"),
    "gear": (lambda tree, c: tree.joint_actuators[0].set_gear_ratio(c, 2.0), "gear ratio of"),
    "pi": (lambda tree, c: tree.set_inertial_parameters(c, tree.get_inertial_parameters(c)), "of body"),
    "reset": (lambda tree, c: tree.set_default_context(c), "everything"),
}


@pytest.mark.parametrize("batch", [(), (3,)], ids=["one state", "batch"])
@pytest.mark.parametrize("name", WRITES)
def test_frozen_parameters(name: str, batch: tuple[int, ...]) -> None:
    """Each write is refused by name, and changes nothing: time, velocities and computed results stay."""
    tree, _ = _arm()
    context = tree.create_default_context(batch)
    context.v = np.ones(tree.num_velocities)
    write, named = WRITES[name]
    before, v = (
        tree.calc_inverse_dynamics(context, np.ones((*batch, 6)), include_force_elements=True),
        context.v,
    )
    serials = context._serials
    with context.freeze() as same:
        assert same is context
        assert context.is_frozen
        with pytest.raises(mbt.FrozenContextError, match=named):
            write(tree, context)
        assert context._serials == serials
        np.testing.assert_array_equal(context.v, v)
        again = tree.calc_inverse_dynamics(context, np.ones((*batch, 6)), include_force_elements=True)
        np.testing.assert_array_equal(again, before)
    assert not context.is_frozen
    write(tree, context)
    assert context._serials != serials


def test_frozen_elements_and_constraints() -> None:
    tree = make_everything(user_written=False)
    context = tree.create_default_context()
    context.freeze()
    spring = next(e for e in tree.force_elements if isinstance(e, mbt.RevoluteSpring))
    with pytest.raises(mbt.FrozenContextError, match="parameters of force element"):
        spring.set_stiffness(context, 3.0)
    context.thaw()
    spring.set_stiffness(context, 3.0)
    tree = four_bar()
    context = tree.create_default_context()
    context.freeze()
    with pytest.raises(mbt.FrozenContextError, match="parameters of constraint"):
        tree.constraints[0].set_stabilization(context, [1.0, 1.0])
    with pytest.raises(mbt.FrozenContextError, match="the switch of constraint"):
        tree.constraints[0].set_enabled_in(context, False)


def test_frozen_declared_parameters() -> None:
    _, element, context = _counting()
    with context.freeze():
        with pytest.raises(mbt.FrozenContextError, match="that an element declared"):
            context.set_numeric_parameter(element.gain, [3.0])
        assert context.get_numeric_parameter(element.gain) == [1.0]
        context.set_discrete_state(element.memory, [3.0])


def test_state_and_inputs_are_free() -> None:
    tree, context = _arm()
    frozen = context.freeze()
    context.time, context.q, context.v = 1.0, np.ones(6), np.ones(6)
    context.actuation = np.ones(tree.num_actuators)
    context.applied_forces.generalized_forces[:] = 1.0
    # When an inner freeze ends, the outer one still holds.
    with context.freeze():
        pass
    assert context.is_frozen
    with frozen:
        pass
    assert not context.is_frozen
    context.freeze()
    assert not context.clone().is_frozen
    assert not pickle.loads(pickle.dumps(context)).is_frozen
    context.thaw()
    assert not context.is_frozen


def test_freezings_hold_however_often_they_are_used() -> None:
    _, context = _arm()
    freezing = context.freeze()
    for _ in range(2):
        with freezing, freezing:
            assert context.is_frozen
            with freezing:
                pass
            assert context.is_frozen
        assert not context.is_frozen
    # Thawed before the block begins.
    freezing = context.freeze()
    context.thaw()
    with freezing:
        assert context.is_frozen
    assert not context.is_frozen
    # A freeze of a Context that was frozen already.
    context.freeze()
    freezing = context.freeze()
    with freezing:
        pass
    assert context.is_frozen


@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
@pytest.mark.parametrize("other", ["twin", "linkage"])
def test_caches_of_other_trees(kind: str, other: str) -> None:
    """A cache of another tree is refused, even if its arrays have the right sizes."""

    def make(tree: mbt.MultibodyTree) -> Any:
        tree = tree.to_autodiff() if kind == "autodiff" else tree
        return tree.create_default_context((2,) if kind == "batch" else ())

    context = make(_arm()[0])
    foreign = make(_arm()[0] if other == "twin" else four_bar())
    for cache in (
        foreign.tree.eval_position_kinematics(foreign),
        foreign.tree.eval_velocity_kinematics(foreign),
    ):
        with pytest.raises(mbt.ContextMismatchError, match="got one of another tree"):
            context.explain(cache)


def test_symbols() -> None:
    """A parameter without a value is refused by name, too."""
    tree = _arm()[0].to_autodiff()
    context = tree.create_default_context()
    with context.freeze(), pytest.raises(mbt.FrozenContextError, match="mass of body 'turret'"):
        tree.bodies[2].set_mass(context, 2.0)
