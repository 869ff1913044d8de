"""What can be wrong with elements written in Python, and how errors show where."""

from __future__ import annotations

import dataclasses
import traceback
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.tree.hooks import _chain_note
from support.kinds import KINDS, make_context

M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)


def make_hinge() -> tuple[mbt.MultibodyTree, mbt.Joint]:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", M_BBo_B))
    return tree, tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])


class Silent(mbt.ForceElement):
    """Does nothing, and keeps what it is given."""

    def __init__(self, kept: Any = None) -> None:
        super().__init__()
        self.kept = kept

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


# Methods that would never be called.

METHODS = (
    "do_calc_and_add_force_contribution",
    "do_calc_potential_energy",
    "do_calc_conservative_power",
    "do_calc_non_conservative_power",
)


@pytest.mark.parametrize("place", ["class", "base", "object"])
@pytest.mark.parametrize("method", METHODS)
def test_methods_of_a_compiled_element_are_refused(method: str, place: str) -> None:
    def compute(self: Any, *args: Any) -> float:
        raise AssertionError

    own = {method: compute}
    bases: tuple[type, ...] = (mbt.RevoluteSpring,)
    if place == "base":
        bases = (type("Mixin", (), own), mbt.RevoluteSpring)
    kind: Any = type("Stiff", bases, own if place == "class" else {})
    tree, joint = make_hinge()
    spring = kind(joint, 0.0, 1.0)
    if place == "object":
        setattr(spring, method, lambda *args: 0.0)
    with pytest.raises(
        mbt.ArgumentTypeError, match=rf"Stiff has a method {method}\(\), which is never called"
    ):
        tree.add_force_element(spring)
    assert tree.force_elements == ()
    # It may have other methods.
    tree.add_force_element(type("Named", (mbt.RevoluteSpring,), {"describe": compute}), joint, 0.0, 1.0)


@pytest.mark.parametrize(
    "method",
    [
        "do_calc_pose_in_body_frame",
        "do_calc_rotation_matrix_in_body_frame",
        "do_calc_offset_pose_in_body",
        "do_calc_offset_rotation_matrix_in_body",
        "do_get_fixed_pose_in_body_frame",
    ],
)
def test_methods_of_a_fixed_frame_are_refused(method: str) -> None:
    kind: Any = type("Turned", (mbt.FixedOffsetFrame,), {method: lambda self, *args: np.eye(4)})
    tree, _ = make_hinge()
    with pytest.raises(
        mbt.ArgumentTypeError, match=rf"Turned has a method {method}\(\), which is never called"
    ):
        tree.add_frame(kind("turned", tree.world_body))
    assert tree.num_frames == 2


def test_a_method_of_an_object_counts() -> None:
    tree, _ = make_hinge()
    element = tree.add_force_element(Silent())
    element.do_calc_potential_energy = lambda context, pc: 3.0 * context.q[..., 0]
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.5], [2.0]
    assert tree.calc_potential_energy(context) == 1.5
    np.testing.assert_allclose(tree.calc_conservative_power(context), -6.0, rtol=1e-8)


# Elements of other trees, wherever they are.


@dataclasses.dataclass
class Data:
    part: Any


@dataclasses.dataclass(slots=True)
class Slots:
    part: Any


class Box:
    def __init__(self, part: Any) -> None:
        self.part = part


def in_an_array(element: Any) -> Any:
    array = np.empty(1, dtype=object)
    array[0] = element
    return array


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda e: e,
    "list": lambda e: [1.0, e],
    "tuple": lambda e: (e,),
    "set": lambda e: {e},
    "frozenset": lambda e: frozenset([e]),
    "deque": lambda e: deque([e]),
    "value": lambda e: {"joint": e},
    "key": lambda e: {e: 1.0},
    "data class": Data,
    "data class with slots": Slots,
    "namespace": lambda e: SimpleNamespace(joint=e),
    "array": in_an_array,
    "deep": lambda e: [{"a": (Data([e]),)}],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_foreign_elements_are_found_in_containers(container: str) -> None:
    _, foreign = make_hinge()
    tree, own = make_hinge()
    make = CONTAINERS[container]
    with pytest.raises(
        mbt.ForeignElementError, match=r"^Silent: kept: joint 'hinge' belongs to another tree"
    ):
        tree.add_force_element(Silent(make(foreign)))
    loose = mbt.RigidBody("loose", M_BBo_B)
    with pytest.raises(mbt.ForeignElementError, match=r"^Silent: kept: body 'loose' belongs to no tree yet"):
        tree.add_force_element(Silent(make(loose)))
    assert tree.force_elements == ()
    # An element that was valid when it was added may have changed since.
    element = tree.add_force_element(Silent(make(own)))
    element.kept = make(foreign)
    with pytest.raises(mbt.ForeignElementError, match="another tree"):
        tree.finalize()
    assert not tree.is_finalized
    element.kept = make(own)
    tree.finalize()


def test_foreign_elements_of_a_frame() -> None:
    class Boom(mbt.Frame):
        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            return np.eye(4)

    _, foreign = make_hinge()
    tree, _ = make_hinge()
    boom = Boom("boom", tree.bodies[1])
    boom.joints = [foreign]  # type: ignore[attr-defined]
    with pytest.raises(
        mbt.ForeignElementError, match=r"^Boom: joints: joint 'hinge' belongs to another tree"
    ):
        tree.add_frame(boom)


def test_containers_that_contain_themselves() -> None:
    tree, joint = make_hinge()
    deep: Any = joint
    for _ in range(100_000):
        deep = [deep]
    round_trip: list[Any] = []
    round_trip.append({"again": round_trip})
    element = Silent([deep, round_trip])
    element.kept.append(element)
    tree.add_force_element(element)
    tree.finalize()
    # Too deep for Python to deallocate by recursion.
    while isinstance(deep, list):
        deep = deep.pop()


def test_objects_of_other_classes_are_their_own_affair() -> None:
    """A controller may compute with another model."""
    _, foreign = make_hinge()
    tree, _ = make_hinge()
    tree.add_force_element(Silent(Box(foreign)))
    tree.finalize()


# Elements that ask for their own results.


class Greedy(mbt.ForceElement):
    """Asks, in one of its methods, for a quantity that it contributes to."""

    def __init__(self, ask: Callable[[Any], Any], *, is_on: bool = True) -> None:
        super().__init__()
        self.ask = ask
        self.is_on = is_on

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        if self.is_on:
            self.ask(context)


def clone_of(context: Any) -> Any:
    return context.clone()


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "accelerations": lambda c: c.tree.eval_acceleration_kinematics(c),
    "of a body": lambda c: c.tree.bodies[1].eval_spatial_acceleration_in_world(c),
    "reactions": lambda c: c.tree.calc_reaction_forces(c),
    "forward dynamics": lambda c: c.tree.calc_forward_dynamics(c),
    "of a clone": lambda c: c.tree.calc_forward_dynamics(c.clone()),
    "all forces": lambda c: c.tree.calc_force_elements_contribution(c, c._new_forces()),
    "its power": lambda c: c.tree.calc_non_conservative_power(c),
    "energies": lambda c: c.tree.calc_energy_report(c),
    "derivatives": lambda c: c.tree.calc_forward_dynamics_derivatives(c),
    "derivatives of inverse dynamics": lambda c: c.tree.calc_inverse_dynamics_derivatives(
        c, c.v, include_force_elements=True
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_an_element_that_asks_for_itself(kind: str, question: str) -> None:
    tree, _ = make_hinge()
    tree.add_force_element(Greedy(QUESTIONS[question]))
    tree.finalize()
    context = make_context(tree, kind)
    # Twice: the first error leaves nothing behind.
    for _ in range(2):
        with pytest.raises(
            mbt.ArgumentValueError,
            match=r"^force element 'Greedy_0': .* asks for a quantity that includes its own result",
        ):
            context.tree.calc_forward_dynamics(context)


def test_two_elements_that_ask_for_each_other() -> None:
    tree, _ = make_hinge()
    for i in (1, 0):
        tree.add_force_element(
            Greedy(
                lambda c, i=i: c.tree.force_elements[i].calc_and_add_force_contribution(
                    c, None, None, c._new_forces()
                )
            )
        )
    tree.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="asks for a quantity that includes its own result"):
        tree.calc_forward_dynamics(tree.create_default_context())


def test_an_energy_that_asks_for_itself() -> None:
    class Vain(Silent):
        def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
            return context.tree.calc_potential_energy(context)

    tree, _ = make_hinge()
    tree.add_force_element(Vain())
    tree.finalize()
    for call in (tree.calc_potential_energy, tree.calc_conservative_power, tree.calc_energy_report):
        with pytest.raises(mbt.ArgumentValueError, match=r"Vain.do_calc_potential_energy asks for"):
            call(tree.create_default_context())


def test_an_element_may_compute_with_the_tree_while_it_is_off() -> None:
    """A controller that predicts: while it is switched off, forward dynamics does not call it."""
    seen = []

    def predict(context: Any) -> None:
        element = context.tree.force_elements[0]
        element.is_on = False
        try:
            seen.append(context.tree.calc_forward_dynamics(context))
        finally:
            element.is_on = True

    tree, _ = make_hinge()
    tree.add_force_element(Greedy(predict))
    tree.finalize()
    context = tree.create_default_context()
    context.applied_forces.generalized_forces[0] = 0.2
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context), seen[0])


# Errors inside an element name it.


def notes_of(error: BaseException) -> str:
    return "\n".join(getattr(error, "__notes__", ()))


class Broken(mbt.ForceElement):
    """Fails in one of its methods."""

    method = ""

    def _fail(self, method: str) -> None:
        if self.method == method:
            raise KeyError("torque")

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        self._fail("do_calc_and_add_force_contribution")
        context.eval_cache_entry(self.entry)

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        self._fail("do_calc_potential_energy")
        return 0.0 * context.q[..., 0]

    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        self._fail("do_calc_conservative_power")
        return 0.0 * context.q[..., 0]

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        self._fail("do_calc_non_conservative_power")
        return 0.0 * context.q[..., 0]

    def do_clone_to_scalar(self, tree_clone: mbt.MultibodyTree) -> Broken:
        self._fail("do_clone_to_scalar")
        clone = type(self)()
        clone.method = self.method
        return clone

    def do_declare_parameters(self) -> None:
        self._fail("do_declare_parameters")
        self.parameter = self.declare_numeric_parameter(1.0)

    def do_declare_discrete_state(self) -> None:
        self._fail("do_declare_discrete_state")

    def do_declare_cache_entries(self) -> None:
        self._fail("do_declare_cache_entries")
        self.entry = self.declare_cache_entry("an entry", lambda context: self._fail("entry"))

    def do_set_default_parameters(self, parameters: mbt.Parameters) -> None:
        self._fail("do_set_default_parameters")


CALLS: dict[str, Callable[[mbt.MultibodyTree], Any]] = {
    "do_calc_and_add_force_contribution": lambda t: t.calc_forward_dynamics(t.create_default_context()),
    "do_calc_potential_energy": lambda t: t.calc_potential_energy(t.create_default_context()),
    "do_calc_conservative_power": lambda t: t.calc_conservative_power(t.create_default_context()),
    "do_calc_non_conservative_power": lambda t: t.calc_non_conservative_power(t.create_default_context()),
    "do_set_default_parameters": lambda t: t.create_default_context(),
    "do_clone_to_scalar": lambda t: t.clone(),
}


@pytest.mark.parametrize("method", [*CALLS, "do_declare_parameters", "do_declare_discrete_state"])
def test_an_error_inside_is_annotated(method: str) -> None:
    tree, _ = make_hinge()
    element = tree.add_force_element(Broken())
    if method in CALLS:
        tree.finalize()
    element.method = method
    with pytest.raises(KeyError) as caught:
        CALLS.get(method, mbt.MultibodyTree.finalize)(tree)
    assert type(caught.value) is KeyError
    assert caught.value.args == ("torque",)
    note = f"in force element 'Broken_0': Broken.{method}()"
    assert notes_of(caught.value) == note
    assert note in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("kind", ["double", "batch", "autodiff"])
def test_an_error_in_a_cache_entry_is_annotated(kind: str) -> None:
    tree, _ = make_hinge()
    element = tree.add_force_element(Broken())
    element.method = "entry"
    tree.finalize()
    context = make_context(tree, kind)
    with pytest.raises(KeyError) as caught:
        context.tree.calc_forward_dynamics(context)
    notes = notes_of(caught.value).split("\n")
    assert notes[0].startswith("in <CacheEntry 'an entry' of force element 'Broken_0'")
    assert notes[1] == "in force element 'Broken_0': Broken.do_calc_and_add_force_contribution()"


def test_an_error_in_a_frame_is_annotated() -> None:
    class Boom(mbt.Frame):
        def do_declare_parameters(self) -> None:
            self.length = self.declare_numeric_parameter(1.0)

        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            (length,) = parameters.get_numeric_parameter(self.length)
            return mbt.math.make_pose([{1.0: 1.0}[length], 0, 0])

    tree, _ = make_hinge()
    boom = tree.add_frame(Boom("boom", tree.bodies[1]))
    tree.finalize()
    context = tree.create_default_context()
    with pytest.raises(KeyError) as caught:
        context.set_numeric_parameter(boom.length, 2.0)
    assert notes_of(caught.value) == "in frame 'boom': Boom.do_calc_pose_in_body_frame()"


def test_notes_where_python_has_none() -> None:
    def fail() -> None:
        try:
            {}["first"]
        except KeyError as error:
            raise ValueError("second") from error

    with pytest.raises(ValueError, match="second") as caught:
        fail()
    error = caught.value
    _chain_note(error, "in force element 'motor'")
    shown = "".join(traceback.format_exception(error))
    assert "in force element 'motor'" in shown
    assert shown.index("motor") < shown.index("KeyError") < shown.index("ValueError: second")


# Arrays of a Context of any kind are read-only.


def write_an_entry(q: Any) -> None:
    q[..., 0] = 1.0


def add_in_place(q: Any) -> None:
    q += 1.0


@pytest.mark.parametrize("write", [write_an_entry, add_in_place])
@pytest.mark.parametrize("name", ["q", "v", "actuation"])
@pytest.mark.parametrize("kind", [*KINDS, "mpmath", "fraction"])
def test_writing_into_a_context_tells_how_to(kind: str, name: str, write: Callable[[Any], None]) -> None:
    tree, joint = make_hinge()
    tree.add_joint_actuator("motor", joint)
    tree.finalize()
    context = make_context(tree, kind)
    before = context.q.copy()
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = \.\.\."):
        write(getattr(context, name))
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = \.\.\."):
        write(context.tree.eval_position_kinematics(context).X_WB)
    assert (context.q == before).all()


def sort(q: Any) -> None:
    q.sort()


def fill(q: Any) -> None:
    q.fill(0)


def multiply(q: Any) -> None:
    q *= 2


def raise_to_a_power(q: Any) -> None:
    q **= 2


def put(q: Any) -> None:
    q.put([0], [1])


@pytest.mark.parametrize("write", [sort, fill, multiply, raise_to_a_power, put])
@pytest.mark.parametrize("kind", ["double", "batch", "sympy"])
def test_other_ways_of_writing(kind: str, write: Callable[[Any], None]) -> None:
    tree, _ = make_hinge()
    tree.finalize()
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = \.\.\."):
        write(make_context(tree, kind).q)


# Constructors that forget to call the one of mbt.


class BlankFrame(mbt.FixedOffsetFrame):
    def __init__(self) -> None:
        pass


class BlankTree(mbt.MultibodyTree):
    def __init__(self) -> None:
        pass


class BlankForces(mbt.MultibodyForces):
    def __init__(self) -> None:
        pass


class BlankHinge(mbt.RevoluteJoint):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "use"),
    [
        ("BlankFrame", lambda tree, q: mbt.functional.frame_pose(tree, q, BlankFrame())),
        ("BlankFrame", lambda tree, q: mbt.FixedOffsetFrame("f", BlankFrame())),
        ("BlankFrame", lambda tree, q: mbt.RevoluteJoint("j", BlankFrame(), tree.world_frame, [0, 0, 1])),
        ("BlankFrame", lambda tree, q: BlankFrame().parent_tree),
        ("BlankFrame", lambda tree, q: BlankFrame().index),
        ("BlankHinge", lambda tree, q: mbt.RevoluteSpring(BlankHinge(), 0.0, 1.0)),
        ("BlankHinge", lambda tree, q: mbt.JointActuator("motor", BlankHinge())),
        ("BlankTree", lambda tree, q: mbt.functional.mass_matrix(BlankTree(), q)),
        ("BlankTree", lambda tree, q: BlankTree().finalize()),
        ("BlankTree", lambda tree, q: BlankTree().add_body(mbt.RigidBody("a", M_BBo_B))),
        ("BlankTree", lambda tree, q: BlankTree().num_positions),
        (
            "BlankForces",
            lambda tree, q: mbt.functional.inverse_dynamics(tree, q, q, q, external_forces=BlankForces()),
        ),
    ],
)
def test_a_constructor_that_forgets_the_one_of_its_base(
    name: str, use: Callable[[mbt.MultibodyTree, Any], Any]
) -> None:
    tree, _ = make_hinge()
    tree.finalize()
    with pytest.raises(mbt.ArgumentTypeError, match=rf"{name}.__init__ must call super\(\).__init__\(\)$"):
        use(tree, np.zeros(1))


def test_elements_that_were_not_constructed_have_a_representation() -> None:
    assert repr(BlankFrame()) == "<BlankFrame without a name>"
