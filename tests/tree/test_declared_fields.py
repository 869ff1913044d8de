"""Elements that declare their numbers: what follows from the declarations."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mbt
from mbt._core.model.element_types import ForceElementType
from mbt.saving.json_elements import _declared_kind, kind_of
from mbt.tree import constraints, fields, force_elements, joints
from mbt.tree.compiled_numbers import CompiledNumbers
from mbt.tree.force_elements.on_joint import JointForceElement
from mbt.tree.pickle_checks import attributes_of

RECORDED = (Path(__file__).parents[1] / "data" / "every_element.json").read_text()
ROOT = Path(__file__).parents[2]


def declared() -> Iterator[type[CompiledNumbers]]:
    for room in (force_elements, constraints):
        for name in room.__all__:
            kind = getattr(room, name)
            if issubclass(kind, CompiledNumbers) and kind._fields and hasattr(kind, "_type"):
                yield kind


KINDS = {kind.__name__: kind for kind in declared()}


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    """A tree with an element of each kind."""
    return mbt.load_model(RECORDED)


def element_of(tree: mbt.MultibodyTree, name: str) -> Any:
    return next(x for x in (*tree.force_elements, *tree.constraints) if type(x).__name__ == name)


@pytest.mark.parametrize("name", KINDS)
def test_fields_are_all_numbers_of_the_core(name: str) -> None:
    kind = KINDS[name]
    starts = [field.first for field in kind._fields]
    sizes = [field.size for field in kind._fields]
    assert starts == np.cumsum([0, *sizes])[:-1].tolist()
    if issubclass(kind, mbt.Constraint):
        assert sum(sizes) == kind._type.row.num_parameters
    else:
        points = 3 if kind is mbt.PointContact else 0
        assert kind._type.takes_parameters(sum(sizes) + points)


@pytest.mark.parametrize("name", KINDS)
def test_accessors_write_and_read_their_own_numbers(tree: mbt.MultibodyTree, name: str) -> None:
    """Each setter changes the numbers of its field in one Context, and no other numbers."""
    element, context = element_of(tree, name), tree.create_default_context()
    for field in element._fields:
        setter = getattr(type(element), f"set_{field.name}", None)
        if setter is None:
            continue  # Set together with another one.
        before = element._get_numbers(context)
        value = np.arange(1.0, field.size + 1.0) / 8 if isinstance(field, fields.Vector) else 0.375
        assert setter(element, context, **{field.name: value}) is element
        np.testing.assert_array_equal(getattr(element, f"get_{field.name}")(context), value)
        changed = element._get_numbers(context)
        before[field.part] = value
        np.testing.assert_array_equal(changed, before)
        np.testing.assert_array_equal(field.fget(element), element._defaults[field.part].squeeze())


@pytest.mark.parametrize("name", KINDS)
def test_accessors_look_like_methods(name: str) -> None:
    for field in KINDS[name]._fields:
        for prefix, arguments in (
            ("set_default_", ["self", field.name]),
            ("get_", ["self", "context"]),
            ("set_", ["self", "context", field.name]),
        ):
            method = getattr(KINDS[name], prefix + field.name, None)
            if method is not None and prefix + field.name in vars(KINDS[name]):
                assert list(inspect.signature(method).parameters) == arguments
                assert method.__qualname__ == f"{name}.{prefix}{field.name}"
                assert str(method.__doc__).endswith(".")


def test_properties_are_read_only(tree: mbt.MultibodyTree) -> None:
    spring = element_of(tree, "RevoluteSpring")
    for name in ("stiffness", "default_stiffness", "joint"):
        with pytest.raises(AttributeError):
            setattr(spring, name, 1.0)
    assert spring.default_stiffness == spring.stiffness == 2.7
    assert mbt.RevoluteSpring.stiffness.__doc__ == "Default stiffness [N m/rad]."
    assert mbt.RevoluteSpring.joint.__doc__ == "The joint."


def test_wrong_values_name_the_element_and_the_argument(tree: mbt.MultibodyTree) -> None:
    damper, context = element_of(tree, "LinearSpringDamper"), tree.create_default_context()
    before = damper._get_numbers(context)
    for call, error, words in (
        (lambda: damper.set_stiffness(context, -1.0), mbt.ArgumentValueError, "stiffness: .*>= 0, got -1"),
        (lambda: damper.set_free_length(context, 0), mbt.ArgumentValueError, "free_length: .*> 0, got 0"),
        (lambda: damper.set_damping(context, "1"), mbt.ArgumentTypeError, "damping: "),
        (lambda: damper.set_p_AP(context, [1.0, 2.0]), mbt.ShapeError, "p_AP: "),
    ):
        with pytest.raises(error, match=f"^force element 'LinearSpringDamper_.': {words}") as caught:
            call()
        assert caught.value.__context__ is None
    with pytest.raises(TypeError, match=r"LinearSpringDamper.set_stiffness\(\) .*'stiffness'"):
        damper.set_stiffness(context)
    np.testing.assert_array_equal(damper._get_numbers(context), before)


def test_labels_are_made_for_errors_only(tree: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(element: Any) -> str:
        raise AssertionError("a label takes longer than the call")

    for kind in (mbt.MultibodyElement, mbt.BodyFrame):
        monkeypatch.setattr(kind, "_label", property(refuse))
    context, forces = tree.create_default_context(), mbt.MultibodyForces(tree)
    damper, body = element_of(tree, "LinearSpringDamper"), tree.bodies[-1]
    damper.set_stiffness(context, 3)
    damper.set_p_AP(context, [1, 2, 3])
    element_of(tree, "DoorHinge").set_config(context, mbt.DoorHingeConfig())
    element_of(tree, "JointFriction").set_friction(context, 1, 2)
    body.set_mass(context, 2)
    body.add_in_force(context, [1, 2, 3], np.ones(6), body.body_frame, forces)
    tree.get_joint_by_name("j_RevoluteJoint").set_damping_vector(context, [2])


class Pull(JointForceElement):
    """A new type for an element that the core has: all that a new type must declare."""

    _type: ClassVar[ForceElementType] = ForceElementType.JOINT_SPRING

    joint = fields.Reference(mbt.PrismaticJoint, "The joint.")
    rest = fields.Number("translation at rest", "m")
    strength = fields.Number("strength", "N/m", fields.NONNEGATIVE)
    set_default_strength, get_strength, set_strength = strength.accessors()

    def __init__(self, joint: mbt.PrismaticJoint, rest: float, strength: float) -> None:
        super().__init__(joint, rest=rest, strength=strength)


def test_a_type_needs_its_declarations_alone() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    rail = tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, body, None, [1, 0, 0])
    pull = tree.add_force_element(Pull(rail, 0.5, 8.0))
    tree.finalize()
    context = tree.create_default_context()
    assert tree.calc_forward_dynamics(context).tolist() == [2.0]  # 8 * 0.5 / 2
    assert pull.set_strength(context, 4).get_strength(context) == 4.0
    assert tree.calc_forward_dynamics(context).tolist() == [1.0]
    twin: Any = pickle.loads(pickle.dumps(tree)).force_elements[0]
    assert (twin.rest, twin.strength, twin.joint.name) == (0.5, 8.0, "rail")
    assert "_joint" in attributes_of(Pull)
    assert [field.key for field in _declared_kind(Pull).arguments] == ["joint", "rest", "strength"]
    with pytest.raises(mbt.ArgumentTypeError, match="Pull: joint: expected a PrismaticJoint"):
        Pull(body, 0.5, 8.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", KINDS)
def test_files_hold_what_constructors_take(name: str) -> None:
    kind = KINDS[name]
    section = "constraints" if issubclass(kind, mbt.Constraint) else "force_elements"
    found = kind_of(kind, section)
    assert found is not None
    assert found.element_type is kind
    assert [field.key for field in found.arguments] == list(inspect.signature(kind).parameters)


def test_no_list_but_that_of_its_room_names_a_type() -> None:
    """A new type touches the core, its own file and the list of its package."""
    names = [*KINDS, *joints.__all__]
    for path in ("__init__.py", "tree/__init__.py", "saving/json_elements.py", "tree/element_tables.py"):
        text = (ROOT / "src/mbt" / path).read_text()
        assert [name for name in names if name in text] == [], path


@pytest.mark.parametrize(("what", "most"), [("joint type", 5), ("force element", 4), ("file format", 2)])
def test_contributing_traces_a_type_to_the_last_file(what: str, most: int) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    (paragraph,) = [p for p in text.split("\n\n") if p.startswith(f"**A {what}.**")]
    paths = {word for word in paragraph.split("`") if word.startswith("src/")} - {"src/mbt/tree/fields.py"}
    assert all((ROOT / path).exists() for path in paths)
    assert 0 < len(paths) <= most
