"""`context.validate()` reports all problems in one error."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.kinds import KINDS, make_context

UNIT = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)


class Drag(mbt.ForceElement):
    """An element that divides by a speed."""

    def do_declare_discrete_state(self) -> None:
        self.state = self.declare_discrete_state([0.0, 0.0])

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., 0] += 1.0 / (1.0 - context.v[..., 0])


def make_tree() -> mbt.MultibodyTree:
    """A slider with a spring to World, a ball, and an arm of two links."""
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", UNIT))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    ball = tree.add_body(mbt.RigidBody("ball", UNIT))
    tree.add_joint(mbt.BallRpyJoint, "socket", tree.world_body, None, ball, None)
    parent = tree.world_body
    for name in ("upper", "lower"):
        link = tree.add_body(mbt.RigidBody(name, UNIT))
        tree.add_joint(mbt.RevoluteJoint, f"{name} hinge", parent, None, link, None, axis=[0, 1, 0])
        parent = link
    spring = mbt.LinearSpringDamper(tree.world_body, [0, 0, 0], cart, [0, 0, 0], 0.5, 10.0, 0.0)
    tree.add_force_element(spring)
    tree.add_joint_actuator("motor", rail)
    tree.finalize()
    return tree


def set_entries(name: str, **entries: float) -> Callable[[Any], None]:
    """Return a function that writes some entries of an array of a Context."""

    def write(context: Any) -> None:
        array = np.array(_doubles(getattr(context, name)))
        for index, value in entries.items():
            array[..., int(index[1:])] = value
        setattr(context, name, array)

    return write


def _doubles(array: Any) -> Any:
    return np.asarray(getattr(array, "value", array)).astype(float)


def apart(context: Any) -> None:
    """A state without problems: the ends of the spring are apart."""
    set_entries("q", _0=1.0)(context)


def no_mass(*names: str) -> Callable[[Any], None]:
    def write(context: Any) -> None:
        for name in names:
            context.tree.get_body_by_name(name).set_mass(context, 0.0)

    return write


def bad_forces(context: Any) -> None:
    context.applied_forces.body_forces[..., 1, 5] = np.inf
    context.applied_forces.generalized_forces[..., 2] = np.nan


GIMBAL = r"q: joint 'socket' is at gimbal lock, its pitch q\[2\]"
ENDS = r"force element 'LinearSpringDamper_0': .*coincide"
UPPER, LOWER = (
    f"forward dynamics: velocity {k}, of joint '{name} hinge', has no inertia"
    for k, name in ((4, "upper"), (5, "lower"))
)
NUMBERS = "expected finite numbers, got "
#: What is written, and what the error says: one pattern for each problem.
CASES: dict[str, tuple[Callable[[Any], None], list[str]]] = {
    "gimbal lock": (set_entries("q", _2=np.pi / 2), [GIMBAL]),
    "coincident ends": (set_entries("q", _0=0.0), [ENDS]),
    "massless tip": (no_mass("lower"), [LOWER]),
    "massless branch": (no_mass("upper", "lower"), [UPPER, LOWER]),
    "v": (set_entries("v", _0=np.nan, _3=-np.inf), [rf"{NUMBERS}v\[.*0\] = nan, .*v\[.*3\] = -inf"]),
    "actuation": (set_entries("actuation", _0=np.nan), [rf"{NUMBERS}actuation\[.*0\] = nan"]),
    "applied forces": (
        bad_forces,
        [rf"{NUMBERS}applied_forces.body_forces\[.*1, 5\] = inf, .*generalized_forces\[.*2\] = nan"],
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
def test_it_says_what_is_wrong(kind: str, case: str) -> None:
    context = make_context(make_tree(), kind)
    apart(context)
    context.validate()
    write, patterns = CASES[case]
    write(context)
    with pytest.raises(mbt.ArgumentValueError) as caught:
        context.validate()
    problems = str(caught.value).split("\n- ")
    if len(problems) == 1:
        problems = ["context: 1 problems", problems[0].removeprefix("context: ")]
    assert problems[0].startswith(f"context: {len(patterns)} problems")
    for pattern, problem in zip(patterns, problems[1:], strict=True):
        where = "" if NUMBERS in pattern or kind != "batch" else r"samples \[0\], \[1\], \[2\]: "
        assert re.match(where + pattern, problem), problem


@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
def test_it_says_everything_at_once(kind: str) -> None:
    context = make_context(make_tree(), kind)
    for write, _ in CASES.values():
        write(context)
    with pytest.raises(
        mbt.ArgumentValueError, match=r"^context: 5 problems:\n- expected finite numbers"
    ) as caught:
        context.validate()
    message = str(caught.value)
    for name in ("v[", "actuation[", "applied_forces.body_forces[", "'socket'", "'LinearSpringDamper_0'"):
        assert name in message
    assert "velocity 4" in message
    assert "velocity 5" in message


def test_it_names_the_samples() -> None:
    tree = make_tree()
    context = tree.create_default_context((2, 3))
    q = np.array(context.q)
    q[..., 0] = 1.0
    q[0, 1, 2] = q[1, 2, 2] = np.pi / 2
    q[1, 0, 0] = 0.0
    context.q = q
    tree.get_body_by_name("lower").set_mass(context, [[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    v = np.array(context.v)
    v[1, 1, 5] = np.nan
    context.v = v
    with pytest.raises(mbt.ArgumentValueError) as caught:
        context.validate()
    message = str(caught.value)
    assert "got v[1, 1, 5] = nan" in message
    assert "\n- samples [0, 1], [1, 2]: q: joint 'socket'" in message
    assert "\n- sample [1, 0]: force element 'LinearSpringDamper_0'" in message
    assert "\n- sample [0, 2]: forward dynamics: velocity 5, of" in message


def test_many_samples_are_counted() -> None:
    tree = make_tree()
    context = tree.create_default_context(1000)
    with pytest.raises(
        mbt.ArgumentValueError, match=r"samples \[0\], \[1\], \[2\] and 61 more: .*coincide"
    ) as caught:
        context.validate()
    assert "936 more samples have no result" in str(caught.value)
    context.q = np.full((1000, tree.num_positions), 0.5)
    context.v = np.full((1000, tree.num_velocities), np.nan)
    with pytest.raises(mbt.ArgumentValueError, match=r"v\[0, 2\] = nan, 5997 more of v$"):
        context.validate()


def test_a_zero_quaternion_of_a_batch() -> None:
    tree = mbt.MultibodyTree()
    for name in ("a", "b"):
        tree.add_body(mbt.RigidBody(name, UNIT))
    tree.finalize()
    context = tree.create_default_context(2)
    q = np.array(context.q)
    q[1] = 0.0
    context.q = q
    with pytest.raises(mbt.ArgumentValueError, match="2 problems") as caught:
        context.validate()
    for name, start in (("a", 0), ("b", 7)):
        assert f"sample [1]: q: the quaternion of joint '{name}', q[{start}:{start + 4}]" in str(caught.value)


@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
def test_what_is_locked_needs_no_mass(kind: str) -> None:
    context = make_context(make_tree(), kind)
    apart(context)
    no_mass("upper", "lower")(context)
    for name in ("upper hinge", "lower hinge"):
        context.tree.get_joint_by_name(name).lock(context)
    context.validate()


@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
def test_elements_written_in_python(kind: str) -> None:
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", UNIT))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    drag = tree.add_force_element(Drag())
    tree.finalize()
    context = make_context(tree, kind)
    context.validate()
    set_entries("v", _0=1.0)(context)
    samples = r"samples \[0\], \[1\], \[2\]: " if kind == "batch" else ""
    with pytest.raises(
        mbt.ArgumentValueError, match=rf"^context: {samples}force element 'Drag_0': its forces are"
    ):
        context.validate()
    set_entries("v", _0=0.0)(context)
    context.set_discrete_state(drag.state, [0.0, np.nan])
    with pytest.raises(
        mbt.ArgumentValueError, match=r"discrete state 0 of force element 'Drag_0'\[.*1\] = nan"
    ):
        context.validate()


def test_a_singularity_that_an_element_tells() -> None:
    class Picky(mbt.ForceElement):
        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            raise mbt.SingularityError("there is no force here")

    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", UNIT))
    tree.add_force_element(Picky())
    tree.finalize()
    with pytest.raises(
        mbt.ArgumentValueError, match=r"^context: force element 'Picky_0': there is no force here$"
    ):
        tree.create_default_context().validate()


def test_numbers_of_many_digits_and_symbols() -> None:
    import mpmath
    import sympy

    tree = make_tree()
    many, symbols = (tree.clone_to_scalar(name).create_default_context() for name in ("mpmath", "sympy"))
    many.validate()
    many.v = [0.0] * 5 + [mpmath.nan]
    with pytest.raises(mbt.ArgumentValueError, match=r"v\[5\] = nan"):
        many.validate()
    symbols.q = sympy.symbols("q:6")
    symbols.validate()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("time", [np.nan, np.inf])
def test_time_is_finite(kind: str, time: float) -> None:
    context = make_context(make_tree(), kind)
    context.time = 2.0
    with pytest.raises(mbt.ArgumentValueError, match=r"^time: expected .*finite number"):
        context.time = time
    np.testing.assert_array_equal(_doubles(context.time), 2.0)


def test_the_times_of_a_batch_are_finite() -> None:
    context = make_tree().create_default_context(2)
    with pytest.raises(mbt.ArgumentValueError, match=r"^time: expected finite numbers, got .*nan"):
        context.time = [1.0, np.nan]
    assert context.time.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("kind", ["one state", "batch"])
def test_points_of_a_distance_that_coincide(kind: str) -> None:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    string = tree.add_constraint(
        mbt.DistanceConstraint("string", tree.world_frame, [0, 0, 0], ball.body_frame, [0, 0, 0], 1.0)
    )
    tree.finalize()
    context = tree.create_default_context((3,) if kind == "batch" else ())
    q = context.q.copy()
    q[..., 4] = 1.0
    context.q = q
    context.validate()
    q[(1, 4) if kind == "batch" else 4] = 0.0
    context.q = q
    where = r"sample \[1\]: " if kind == "batch" else ""
    with pytest.raises(
        mbt.ArgumentValueError, match=rf"^context: {where}constraint 'string': its points.*coincide"
    ):
        context.validate()
    string.set_enabled_in(context, False)
    context.validate()


def test_masses_that_overflow_are_not_called_massless() -> None:
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(3):
        body = tree.add_body(mbt.RigidBody(f"b{i}", mbt.SpatialInertia.point_mass(1e308, [0, 0, 0])))
        tree.add_joint(mbt.PrismaticJoint, f"j{i}", parent, None, body, None, axis=[1, 0, 0])
        parent = body
    tree.finalize()
    context = tree.create_default_context()
    with pytest.raises(mbt.SingularityError, match="add up to more than a float can hold"):
        tree.calc_forward_dynamics(context)
    with pytest.raises(mbt.ArgumentValueError, match="add up to more than a float can hold"):
        context.validate()
