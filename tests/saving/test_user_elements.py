"""User-defined elements in JSON: written and read on request only."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from support.copies import some_state
from support.declaring_elements import Boom, Spring
from support.force_element_types import make_everything
from support.model_state import model_state
from support.user_elements import Flange, NamedGravity, Sensor

POINT = mbt.SpatialInertia.point_mass(1.0, [0.1, 0.0, 0.0])


class Holder(mbt.ForceElement):
    """Holds any value."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__()
        vars(self).update(attributes)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        """Does nothing."""


def as_json(tree: mbt.MultibodyTree) -> str:
    return mbt.save_model(tree, format="json", user_elements=True)


def pendulum() -> tuple[mbt.MultibodyTree, mbt.RevoluteJoint]:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", POINT))
    return tree, tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, [0, 1, 0])


def test_they_compute_the_same() -> None:
    tree = make_everything()
    twin = mbt.load_model(as_json(tree), user_elements=True)
    vdot = tree.calc_forward_dynamics(some_state(tree))
    assert np.array_equal(vdot, twin.calc_forward_dynamics(some_state(twin)))
    assert model_state(twin) == model_state(tree)


def test_what_they_declare() -> None:
    tree, joint = pendulum()
    spring = tree.add_force_element(Spring(joint))
    boom = tree.add_frame(Boom("boom", joint.child_body))
    tree.finalize()
    twin = mbt.load_model(as_json(tree), user_elements=[Spring, Boom])
    context, other = some_state(tree), some_state(twin)
    assert np.array_equal(tree.calc_forward_dynamics(context), twin.calc_forward_dynamics(other))
    copied = twin.get_frame_by_name("boom")
    assert np.array_equal(copied.calc_pose_in_world(other), boom.calc_pose_in_world(context))
    assert type(twin.force_elements[0]) is type(spring)


def test_attributes_of_all_sorts() -> None:
    tree, joint = pendulum()
    table = np.array([[1.0, -0.0], [math.inf, 2.0]], dtype=np.float32)
    table.flags.writeable = False
    held = {
        "nothing": None,
        "truth": True,
        "whole": 3,
        "number": 0.1,
        "less": -math.inf,
        "text": "é",
        "list": [1, [2.0, "x"]],
        "pair": (1, (joint, "y")),
        "ways": {("a", 1): joint, 2: {"b": 3}},
        "names": {"left", "right"},
        "fixed": frozenset([1, 2]),
        "table": table,
        "count": np.int64(4),
        "flags": np.array([True, False]),
        "inertia": POINT,
        "path": mbt.PiecewiseConstantCurvatureTrajectory([0, 1], [0.5], [1, 0, 0], [0, 0, 1]),
        "body": joint.child_body,
        "frame": tree.world_frame,
    }
    tree.add_force_element(Holder(**held))
    text = as_json(tree)
    json.loads(text, parse_constant=lambda word: pytest.fail(word))
    twin = mbt.load_model(text, user_elements=[Holder])
    tree.finalize()
    assert model_state(twin) == model_state(tree)
    assert as_json(twin) == text


def test_classes_with_slots_and_states() -> None:
    tree, joint = pendulum()
    tree.add_frame(Flange("flange", joint.child_body, 8))
    tree.add_frame(Sensor("sensor", joint.child_body))
    tree.add_force_element(NamedGravity("Mars", [joint], {"deep": [1, 2]}))
    with pytest.raises(mbt.ArgumentTypeError, match=r"frame 'flange': attribute 'scratch' is a object"):
        as_json(tree)
    flange = tree.get_frame_by_name("flange")
    del flange.scratch  # type: ignore[attr-defined]
    twin = mbt.load_model(as_json(tree), user_elements=[Flange, Sensor, NamedGravity])
    assert twin.get_frame_by_name("flange").bolts == 8  # type: ignore[attr-defined]
    assert list(twin.get_frame_by_name("sensor").handle) == [0, 1, 2]  # type: ignore[attr-defined]
    gravity = twin.gravity_field
    assert isinstance(gravity, NamedGravity)
    assert (gravity.planet, gravity.myself, gravity.notes) == ("Mars", gravity, {"deep": [1, 2]})
    assert gravity.by_joint == {twin.joints[0]: 0}
    assert gravity.gravity_vector[2] == -3.71


def test_they_are_written_on_request() -> None:
    tree, _ = pendulum()
    tree.add_force_element(Holder())
    with pytest.raises(mbt.ArgumentTypeError, match="user-written class Holder: pass user_elements=True"):
        mbt.save_model(tree, format="json")


def test_nothing_is_imported_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dangerous.py").write_text("raise SystemError('boom')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    tree, _ = pendulum()
    tree.add_force_element(Holder())
    text = as_json(tree).replace(f"{Holder.__module__}:Holder", "dangerous:Holder")
    with pytest.raises(mbt.ParseError, match=r"\[0\]\.type: 'dangerous:Holder' is a user-written class"):
        mbt.load_model(text)
    with pytest.raises(mbt.ParseError, match="is not among user_elements"):
        mbt.load_model(text, user_elements=[Holder])
    assert "dangerous" not in sys.modules
    with pytest.raises(mbt.ParseError, match="cannot be imported: SystemError: boom"):
        mbt.load_model(text, user_elements=True)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("os:system", "'os:system' is not a class"),
        ("os:nothing", "cannot be imported: AttributeError"),
        ("no_such_module:Holder", "cannot be imported: ModuleNotFoundError"),
        ("pathlib:Path", "is not a user-written class of elements of the section force_elements"),
        ("mbt:RevoluteSpring", "is not a user-written class"),
        ("mbt:RigidBody", "is not a user-written class"),
        ("os", "unknown type 'os'"),
    ],
)
def test_what_is_no_class_of_a_user(path: str, message: str) -> None:
    tree, _ = pendulum()
    tree.add_force_element(Holder())
    text = as_json(tree).replace(f"{Holder.__module__}:Holder", path)
    with pytest.raises(mbt.ParseError, match=message):
        mbt.load_model(text, user_elements=True)


@pytest.mark.parametrize("value", [object(), 1j, math, Holder, {"a": object()}, np.array([None]), lambda: 0])
def test_what_json_does_not_hold(value: Any) -> None:
    tree, _ = pendulum()
    tree.add_force_element(Holder(value=value))
    with pytest.raises(mbt.ArgumentTypeError, match=r"attribute 'value' is a .*, which cannot be written"):
        as_json(tree)


def test_what_is_not_in_the_file() -> None:
    tree, other = mbt.MultibodyTree(), mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("free", POINT))
    holder = tree.add_force_element(Holder())
    for thing in (other.world_body, [other.world_frame]):
        vars(holder)["thing"] = thing
        with pytest.raises(mbt.ArgumentTypeError, match="which is not in the file"):
            as_json(tree)
    itself: list[Any] = []
    itself.append(itself)
    vars(holder)["thing"] = itself
    with pytest.raises(mbt.ArgumentTypeError, match="nested too deeply, or contains itself"):
        as_json(tree)
    del vars(holder)["thing"]
    tree.finalize()
    vars(holder)["thing"] = tree.joints[0]
    with pytest.raises(mbt.ArgumentTypeError, match=r"finalize\(\) made it"):
        as_json(tree)


def test_a_class_inside_a_function() -> None:
    class Local(Holder):
        pass

    tree, _ = pendulum()
    tree.add_force_element(Local())
    with pytest.raises(mbt.ArgumentTypeError, match="cannot be imported by that path"):
        as_json(tree)


@pytest.mark.parametrize("option", [3, "all", [int], ["Holder"]])
def test_bad_permissions(option: Any) -> None:
    tree, _ = pendulum()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    for text in (as_json(tree), mbt.save_model(tree, format="urdf")):
        with pytest.raises(mbt.ArgumentTypeError, match="user_elements: expected True, False, or classes"):
            mbt.load_model(text, user_elements=option)


@pytest.mark.parametrize(
    "value",
    [
        {"tuple": 3},
        {"dict": [1]},
        {"set": [[1]]},
        {"array": [1]},
        {"array": ["<f8", [3], False, [1.0]]},
        {"array": ["O", None, False, [1.0]]},
        {"element": ["bodies"]},
        {"element": ["bodies", "nobody"]},
        {"element": [[], "nobody"]},
        {"float": "many"},
        {"object": 1},
        {"tuple": [], "list": []},
    ],
)
def test_damaged_attributes(value: Any) -> None:
    tree, _ = pendulum()
    tree.add_force_element(Holder(value=1))
    model = json.loads(as_json(tree))
    model["force_elements"][0]["attributes"]["value"] = value
    with pytest.raises(mbt.ParseError, match=r"force_elements\[0\]\.attributes"):
        mbt.load_model(json.dumps(model), user_elements=True)
