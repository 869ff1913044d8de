"""Faulty JSON texts: each raises a ParseError that names the file, the place and the reason."""

from __future__ import annotations

import copy
import json
import random
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.force_element_types import make_everything
from support.model_state import model_state
from support.random_trees import CATALOGUE

TEXT = mbt.save_model(build_tree(CATALOGUE["arm7"]()), format="json")


def changed(change: Callable[[Any], object]) -> str:
    model = json.loads(TEXT)
    change(model)
    return json.dumps(model)


def put(*path: Any) -> str:
    """Return the text with the entry at a path set to the last argument; `...` removes it."""

    def change(model: Any) -> None:
        *way, last, value = path
        for key in way:
            model = model[key]
        if value is ...:
            del model[last]
        else:
            model[last] = value

    return changed(change)


def inertia(key: str, value: object) -> str:
    return put("bodies", 1, "M_BBo_B", key, value)


BAD_TEXTS = {
    "no JSON": ("{]", ":1: not well-formed JSON"),
    "cut short": (TEXT[: len(TEXT) // 2], "not well-formed JSON"),
    "something behind": (TEXT + "{}", f":{TEXT.count(chr(10)) + 1}: not well-formed JSON"),
    "another object": ("{}", "format: this is not a model of mbt"),
    "another format": ('{"format": "glTF"}', "format: expected \"mbt\", got 'glTF'"),
    "no version": ('{"format": "mbt"}', "the key 'version' is missing"),
    "a later version": (put("version", 2), "version: this is version 2, but only 1 is read"),
    "no number of a version": (put("version", True), "version: this is version True"),
    "a key twice": ('{"format": "mbt", "version": 1, "version": 1}', "the key 'version' twice"),
    "NaN": (inertia("mass", float("nan")), "NaN is not JSON"),
    "infinity": (inertia("mass", float("-inf")), "-Infinity is not JSON"),
    "many digits": (inertia("mass", 1).replace('"mass": 1,', f'"mass": {"9" * 5000},'), "5000 digits"),
    "a large integer": (inertia("mass", 10**380), "bodies[1].M_BBo_B.mass: expected a number"),
    "an overflow": (
        inertia("mass", 1).replace('"mass": 1,', '"mass": 1e999,'),
        "M_BBo_B.mass: expected a number",
    ),
    "nested": ('{"format": ' + "[" * 100_000, "nested too deep"),
    "no list": (put("bodies", {}), "bodies: expected a list, got {}"),
    "no object": (put("bodies", 0, 3), "bodies[0]: expected an object, got 3"),
    "no type": (put("joints", 2, "type", ...), "joints[2]: the key 'type' is missing"),
    "a type of elsewhere": (
        put("joints", 2, "type", "RigidBody"),
        "joints[2].type: unknown type 'RigidBody'",
    ),
    "no text": (put("joints", 2, "name", 3), "joints[2].name: expected text, got 3"),
    "an empty name": (put("bodies", 2, "name", ""), "bodies[2]: RigidBody: name: expected a name"),
    "a name twice": (put("bodies", 2, "name", "body0"), "bodies[2].name: there is a body 'body0' already"),
    "no axis": (put("joints", 3, "axis", ...), "joints[3]: the key 'axis' is missing"),
    "a short axis": (put("joints", 3, "axis", [1, 0]), "joints[3]: "),
    "a zero axis": (
        put("joints", 3, "axis", [0, 0, 0]),
        "joints[3]: joint 'joint3': axis: expected a nonzero",
    ),
    "words": (put("joints", 3, "axis", ["x", 0, 0]), "joints[3].axis: expected numbers, got ['x', 0, 0]"),
    "truth": (put("joints", 3, "axis", [True, 0, 0]), "joints[3].axis: expected numbers"),
    "an unknown frame": (put("joints", 3, "frame_on_child", "bodyO"), "no 'bodyO' among the frames above"),
    "no reference": (put("joints", 3, "frame_on_child", [1]), "expected the name of one of the frames"),
    "an unknown instance": (put("bodies", 0, "model_instance", "leg"), "there is no model instance 'leg'"),
    "instances alike": (put("model_instances", ["a", "a"]), "model_instances: expected a unique name"),
    "no name of an instance": (put("model_instances", [["a"]]), "model_instances: expected a unique name"),
    "negative mass": (inertia("mass", -1), "bodies[1].M_BBo_B.mass: a mass cannot be negative"),
    "infinite mass": (inertia("mass", "inf"), "bodies[1].M_BBo_B.mass: expected finite numbers"),
    "five moments": (inertia("unit_inertia", [1] * 5), "bodies[1].M_BBo_B.unit_inertia: expected 6 numbers"),
    "damping": (put("joints", 3, "damping", [-1]), "joints[3]: joint 'joint3': damping"),
    "limits": (put("joints", 3, "position_limits", [[1], [0]]), "expected lower <= upper"),
    "one limit": (
        put("joints", 3, "position_limits", [[1]]),
        "joints[3].position_limits: expected lower and",
    ),
    "no limits": (put("joints", 3, "position_limits", [["nan"], [0]]), "expected lower <= upper"),
    "effort": (put("joints", 3, "effort_limit", "-inf"), "joints[3]: joint 'joint3': effort_limit"),
    "no pose": (put("joints", 0, "X_FM", {"translation": [1, 2]}), "X_FM.translation: expected 3 numbers"),
    "no rotation": (
        put("joints", 0, "X_FM", {"translation": [1, 2, 3], "rotation": [[1, 0, 0]] * 3}),
        "is not orthonormal|orthonormal",
    ),
    "three rows": (put("joints", 0, "X_FM", [[1, 0, 0, 0]] * 3), "expected a pose"),
    "a second joint": (
        changed(lambda m: m["joints"].append({**m["joints"][3], "name": "again"})),
        "which joint 'joint3' connects already",
    ),
    "a loop": (
        changed(
            lambda m: m["joints"].append({**m["joints"][6], "name": "again", "frame_on_parent": "body1"})
        ),
        "loop",
    ),
    "a strange type": (put("joints", 3, "type", "os.path"), "unknown type 'os.path'"),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_texts(name: str, tmp_path: Path) -> None:
    text, message = BAD_TEXTS[name]
    if name in ("no pose", "no rotation", "three rows"):
        model = json.loads(text)
        model["joints"][0]["type"] = "WeldJoint"
        model["joints"][0].pop("axis", None)
        text = json.dumps(model)
    pattern = message if "|" in message else re.escape(message)
    with pytest.raises(mbt.ParseError, match=pattern) as caught:
        mbt.load_model(text)
    assert caught.value.file == "<text>"
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("mine", mbt.SpatialInertia.zero()))
    before = model_state(tree)
    with pytest.raises(mbt.ParseError, match=pattern):
        mbt.parsing.add_model(tree, text)
    assert model_state(tree) == before
    path = tmp_path / "bot.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(mbt.ParseError, match=pattern) as caught:
        mbt.load_model(path)
    assert caught.value.file == str(path)


def test_unknown_keys() -> None:
    text = put("bodies", 1, "colour", "red")
    tree = mbt.load_model(text)
    assert tree.parse_reports[0].ignored == {"bodies/colour": 1}
    with pytest.raises(mbt.ParseError, match=r"bodies\[1\]: the key 'colour' is not known"):
        mbt.load_model(text, strict=True)
    with pytest.raises(mbt.ParseError, match="the key 'tyres' is not known"):
        mbt.load_model(put("tyres", 4), strict=True)


def test_an_inertia_that_no_body_has() -> None:
    text = inertia("unit_inertia", [1.0, 0.1, 0.1, 0.0, 0.0, 0.0])
    with pytest.warns(mbt.ModelWarning, match=r"bodies\[1\]\.M_BBo_B: no physical body has this inertia"):
        tree = mbt.load_model(text)
    assert tree.bodies[2].default_unit_inertia.components[0] == 1.0
    with pytest.raises(mbt.ParseError, match=r"bodies\[1\]\.M_BBo_B: No physical body"):
        mbt.load_model(text, strict=True)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_mass_matrix_that_is_not_finite(encoding: str) -> None:
    """Loading warns, alone or beside another model, and computing the report raises no warning of NumPy."""
    chain = json.loads(TEXT)
    # Each inertia is finite by itself; squaring the distance overflows.
    parent = next(frame for frame in chain["bodies"] if frame["name"] == "joint6_parent")
    parent["X_PF"]["translation"] = [1e160, 0.0, 0.0]
    data = json.dumps(chain).encode(encoding)
    with pytest.warns(mbt.ModelWarning, match="so large that the mass matrix is not finite"):
        tree = mbt.load_model(data)
    with np.errstate(all="ignore"):
        assert not np.isfinite(tree.calc_mass_matrix(tree.create_default_context())).all()
    assert tree.finalize_report.massless_branches == ()
    other = mbt.MultibodyTree()
    with pytest.warns(mbt.ModelWarning, match="not finite"):
        mbt.parsing.add_model(other, data, parent=other.world_frame)
    # Large, yet finite: no warning.
    mbt.load_model(data.replace("1e+160".encode(encoding), "1e+60".encode(encoding)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_encodings(encoding: str) -> None:
    tree = mbt.load_model(TEXT.replace("body0", "Körper").encode(encoding))
    assert tree.bodies[1].name == "Körper"


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(mbt.ParseError, match=r"<bytes>:3: the text is not Unicode"):
        mbt.load_model(b'{\n\n"format": "\xff"}')


# Any fault raises a ParseError.

VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "inf",
    "nan",
    "world",
    [],
    {},
    [[]],
    [1, 2, 3],
    10**30,
    "a:b",
]


def mutate(model: Any, rng: random.Random) -> None:
    """Change one entry anywhere: remove it, duplicate it, or replace it."""
    place = model
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(place[key], (dict, list)) and rng.random() < 0.8:
            place = place[key]
            continue
        break
    what = rng.randrange(4)
    if what == 0:
        del place[key]
    elif what == 1 and isinstance(place, list):
        place.insert(key, copy.deepcopy(place[rng.choice(keys)]))
    elif what == 2:
        place[key] = copy.deepcopy(place[rng.choice(keys)])
    else:
        place[key] = copy.deepcopy(rng.choice(VALUES))


def fuzz(seed: int, models: list[Any]) -> None:
    rng = random.Random(seed)
    model = copy.deepcopy(rng.choice(models))
    for _ in range(rng.randrange(1, 4)):
        mutate(model, rng)
    text = json.dumps(model)
    if rng.random() < 0.2:
        cut = rng.randrange(len(text))
        text = "{" + text[1:cut] + rng.choice('{}[]",:0e-\\\x00é') + text[cut + rng.randrange(3) :]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mbt.ModelWarning)
            tree = mbt.load_model(text)
    except mbt.ParseError:
        return
    # The loaded model works like any other.
    assert mbt.save_model(mbt.load_model(text), format="json") == mbt.save_model(tree, format="json")


def fuzzed_models() -> list[Any]:
    trees = [build_tree(CATALOGUE[name]()) for name in ("mixed3", "every_joint")]
    trees.append(make_everything(user_written=False))
    return [json.loads(mbt.save_model(tree, format="json")) for tree in trees]


@pytest.mark.filterwarnings("ignore::mbt.ModelWarning")
def test_damaged_models() -> None:
    models = fuzzed_models()
    for seed in range(100):
        fuzz(seed, models)
