"""MJCF, read through MuJoCo."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import mbt
from support.mjcf_texts import BODY, LUMP, MODELS

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import assert_same_dynamics, compile_text  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("folder")]


@pytest.mark.parametrize("encoding", ["utf-8", "ISO-8859-1", "iso-8859-1"])
def test_the_encoding_that_a_text_declares(encoding: str) -> None:
    body = BODY.replace('"a"', '"Körper"')
    text = f'<?xml version="1.0" encoding="{encoding}"?><mujoco><worldbody>{body}</worldbody></mujoco>'
    assert mbt.load_model(text.encode(encoding)).bodies[1].name == "Körper"


@pytest.mark.parametrize("name", sorted(MODELS))
def test_same_dynamics(name: str, folder: Path) -> None:
    path = folder / "robot.xml"
    path.write_text(MODELS[name])
    tree = mbt.load_model(path)
    assert_same_dynamics(tree, compile_text(MODELS[name]), num_states=1)
    assert tree.model_instances[2].name == "robot"
    assert tree.parse_reports[0].file == str(path)


@pytest.mark.parametrize(("name", "numbers"), [("moon", (0.1, 0, -1.62)), ("no_gravity", (0, 0, 0))])
def test_gravity_of_the_file(name: str, numbers: tuple[float, ...]) -> None:
    """The file's gravity counts unless the caller gives one, and never in a tree of several models."""
    (element,) = mbt.load_model(MODELS[name]).force_elements
    assert tuple(element.gravity_vector) == numbers
    (element,) = mbt.load_model(MODELS[name], gravity=[0, 0, -9.81]).force_elements
    assert tuple(element.gravity_vector) == (0, 0, -9.81)
    without = mbt.load_model(MODELS[name], gravity=None)
    assert not [element for element in without.force_elements if hasattr(element, "gravity_vector")]
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, MODELS[name])
    assert tree.gravity_field is None
    for report in (without.parse_reports[0], tree.parse_reports[0]):
        assert report.ignored["option@gravity"] == 1
        assert report.gravity == numbers


def test_names_of_models(folder: Path) -> None:
    path = folder / "arm.xml"
    path.write_text(f"<mujoco><worldbody>{BODY}</worldbody></mujoco>")
    for arguments, name in (({}, "arm"), ({"model_name": "mine"}, "mine")):
        assert mbt.load_model(path, **arguments).model_instances[2].name == name


# Inactive parts.

BALL_ON_A_PLANE = """<mujoco>{}<worldbody><geom name="ground" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def test_a_floor_is_named() -> None:
    """The ball falls in mbt, while MuJoCo holds it."""
    with pytest.warns(mbt.ModelWarning, match=r"contacts of 2 shapes \(the floor 'ground' among them\)"):
        tree = mbt.load_model(BALL_ON_A_PLANE.format(""))
    report = tree.parse_reports[0]
    assert (report.inactive, report.floors) == ({"contacts": 2}, ["ground"])
    assert "Nothing was ignored" not in str(report)
    assert str(report).count("Read but not applied") == 1
    context = tree.create_default_context()
    assert mbt.simulate(tree, context, 1.0).q[-1, 6] < -3.0


def test_a_floor_of_listed_pairs() -> None:
    """Listed pairs touch, whatever their geometries' contype and conaffinity."""
    text = BALL_ON_A_PLANE.format("").replace(" size", ' contype="0" conaffinity="0" size')
    text = text.replace("<geom contype", '<geom name="skin" contype')
    text = text.replace("</worldbody>", '</worldbody><contact><pair geom1="skin" geom2="ground"/></contact>')
    with pytest.warns(mbt.ModelWarning, match="the floor 'ground' among them"):
        report = mbt.load_model(text).parse_reports[0]
    assert report.inactive == {"contacts": 2}


def test_check_notes_what_does_not_act() -> None:
    """A note only: nothing is wrong with the file."""
    findings = mbt.check_model(BALL_ON_A_PLANE.format("").replace("<freejoint/>", "<joint/>")).findings
    assert [(found.rule, found.severity) for found in findings if found.rule == "inactive"] == [
        ("inactive", "note")
    ]
    assert not [found for found in findings if found.rule == "repaired"]


@pytest.mark.parametrize(
    "change",
    [
        ("<geom size", '<geom contype="0" conaffinity="0" size'),
        ("<geom size", '<geom contype="2" conaffinity="4" size'),
        ("<freejoint/>", ""),
        ("<worldbody>", '<option><flag contact="disable"/></option><worldbody>'),
        ("<worldbody>", '<option><flag constraint="disable"/></option><worldbody>'),
    ],
)
def test_a_floor_that_touches_nothing_in_mujoco_either(change: tuple[str, str]) -> None:
    text = BALL_ON_A_PLANE.format("").replace(*change)
    report = mbt.load_model(text).parse_reports[0]
    assert (report.inactive, report.floors) == ({}, [])
    model = compile_text(text)
    data = mujoco.MjData(model)
    if model.nq:
        data.qpos[2] = 0.05
    mujoco.mj_forward(model, data)
    assert data.ncon == 0 or not data.nefc


ACTING = f"""<mujoco><worldbody><body name="a"><joint name="j" range="-10 10" frictionloss="1"/>
<joint name="k" axis="1 0 0"/>{LUMP}<body><joint name="l" type="ball" range="0 20"/>{LUMP}</body></body>
</worldbody>
<tendon><fixed name="t"><joint joint="j" coef="2"/></fixed></tendon>
<equality><tendon tendon1="t"/><joint joint1="j" polycoef="0.5 0 0 0 0"/></equality>
<actuator><damper joint="j" kv="1" ctrlrange="0 1"/><general joint="k" biastype="affine" biasprm="0 4 0"/>
<position joint="j"/><motor joint="k"/><motor tendon="t"/></actuator></mujoco>"""


def test_what_does_not_act_is_the_first_warning() -> None:
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.load_model(ACTING)
    expected = {"servos": 2, "actuators": 1, "tendons": 1, "equalities": 2, "limits": 2, "frictions": 1}
    report = tree.parse_reports[0]
    assert report.inactive == expected
    line = (
        "Read but not applied: 2 servos (plain motors here), 1 actuator on no hinge or slide, 1 tendon, "
        "2 equalities, limits of 2 joints (only implicit steps enforce them), "
        "friction of 1 joint (only implicit steps apply it)"
    )
    assert str(caught[0].message).splitlines()[1] == f"  {line}"
    assert (report.warnings[0].text, report.warnings[0].about) == (line, "inactive")
    assert report.summarize_inactive() == line


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ('limit="disable"', {"frictions": 1}),
        ('frictionloss="disable"', {"limits": 1}),
        ('constraint="disable"', {}),
    ],
)
def test_what_is_disabled_does_not_act_in_mujoco_either(flags: str, expected: dict[str, int]) -> None:
    text = f"""<mujoco><option><flag actuation="disable" {flags}/></option><worldbody><body name="a">
    <joint name="j" range="-10 10" frictionloss="1"/>{LUMP}</body></worldbody>
    <actuator><position joint="j"/></actuator></mujoco>"""
    assert mbt.load_model(text).parse_reports[0].inactive == expected


@pytest.mark.parametrize(
    ("flag", "limit", "num_constraints", "friction"),
    [
        ('limit="disable"', np.inf, 1, 1),
        ('equality="disable"', 0.1, 0, 1),
        ('frictionloss="disable"', 0.1, 1, 0),
        ('constraint="disable"', np.inf, 0, 0),
    ],
)
def test_flags_of_constraints(flag: str, limit: float, num_constraints: int, friction: int) -> None:
    joint = '<body name="{0}"><joint name="{0}" range="-0.1 0.1" frictionloss="1"/>' + LUMP + "</body>"
    text = f"""<mujoco><compiler angle="radian"/><option><flag {flag}/></option><worldbody>{joint.format("a")}
    {joint.format("b")}</worldbody><equality><joint joint1="a" joint2="b"/></equality></mujoco>"""
    tree = mbt.load_model(text)
    assert tree.position_upper_limits.tolist() == [limit] * 2
    assert len(tree.constraints) == num_constraints
    assert sum(isinstance(x, mbt.JointFriction) for x in tree.force_elements) == 2 * friction


def test_limits_and_friction_alone_are_no_warning() -> None:
    text = MODELS["radians"].replace('name="j"', 'name="j" frictionloss="2"')
    report = mbt.load_model(text).parse_reports[0]
    joints = (
        "limits of 1 joint (only implicit steps enforce them), "
        "friction of 1 joint (only implicit steps apply it)"
    )
    assert report.summarize_inactive() == f"Read but not applied: {joints}"
    assert not report.warnings


# Messages of MuJoCo.


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '<mujoco>\n\n<worldbody><body><joint foo="1"/></body></worldbody></mujoco>',
            "<text>:3: joint: MuJoCo refuses it: .*'foo'",
        ),
        (f'<mujoco>\n<worldbody>{BODY}<body name="a"/></worldbody></mujoco>', "repeated name 'a'"),
        ("<mujoco><worldbody><body name='b'><joint/></body></worldbody></mujoco>", "mass and inertia"),
        ("<mujoco><size memory='1X'/></mujoco>", "MuJoCo refuses it"),
        (MODELS["springs"].replace('"30"', '"inf"'), "model: joint 's': stiffness is not finite"),
        (MODELS["springs"].replace('"30"', '"-3"'), "model: joint 's': stiffness is negative"),
        (MODELS["hinge"].replace('axis="1 2 3"', 'axis="1e308 0 0"'), "model: joint 'j': axis is zero"),
        (
            MODELS["rotors"].replace('"7"', '"1e200"'),
            "'actuator_0': gear is not finite, or beyond",
        ),
        ("<mujocoinclude/>", "this is a part of MJCF"),
        ("<!DOCTYPE mujoco [<!ENTITY a 'b'>]><mujoco/>", "document type"),
        ("<mujoco><worldbody></mujoco>", "MuJoCo does not read it|mismatched"),
    ],
)
def test_what_is_refused(text: str, words: str) -> None:
    with pytest.raises(mbt.ParseError, match=words):
        mbt.load_model(text)
    assert not list(Path.cwd().iterdir())


def test_what_mujoco_warns_of_is_in_the_report() -> None:
    told: list[str] = []
    mujoco.set_mju_user_warning(told.append)
    try:
        text = MODELS["hinge"].replace("<worldbody>", '<compiler settotalmass="3"/><worldbody>')
        for broken, words in ((text, "settotalmass"), (_singular(), "singular")):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                tree = mbt.load_model(broken)
            assert [warning.category for warning in caught] == [mbt.ModelWarning]
            assert words in tree.parse_reports[0].warnings[0].text
        assert not told
        assert mujoco.get_mju_user_warning() is not None
    finally:
        mujoco.set_mju_user_warning(None)
    assert not list(Path.cwd().iterdir())


def _singular() -> str:
    return MODELS["hinge"].replace("<joint", '<joint axis="1 2 3"/><joint', 1)


# Where the model stands.


def test_free_bodies_are_free_or_welded() -> None:
    assert mbt.load_model(MODELS["free"]).joints[0].name == "root"
    welded = mbt.load_model(MODELS["free"], base="fixed")
    assert welded.joints[0].type_name == "weld"
    pose = welded.get_body_by_name("a").eval_pose_in_world(welded.create_default_context())
    np.testing.assert_allclose(pose[:3, 3], [0, 0, 1])


def test_a_model_on_another_one() -> None:
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, mbt.models.model_path("mbt_arm"))
    instance = mbt.parsing.add_model(
        tree, MODELS["gravcomp"], parent=tree.bodies[-1], X_PF=mbt.math.make_pose([0, 0, 0.1])
    )
    names = tree.parse_reports[-1].weightless_instances
    assert names == ["robot::weightless"]
    tree.add_force_element(
        mbt.UniformGravityFieldElement(
            disabled_model_instances=[tree.get_model_instance_by_name(name) for name in names]
        )
    )
    tree.finalize()
    assert tree.get_joint_by_name("j").model_instance == instance
    model = compile_text(MODELS["gravcomp"])
    with pytest.raises(mbt.UnknownNameError, match="'loose'"):
        # Here the model is welded to the arm.
        mbt.interop.MujocoCoordinates(tree, model, instance)


def test_a_prefix() -> None:
    tree = mbt.load_model(MODELS["rotors"], prefix="left_")
    coordinates = mbt.interop.MujocoCoordinates(tree, compile_text(MODELS["rotors"]), prefix="left_")
    np.testing.assert_array_equal(coordinates.q_from_mujoco([0.1, 0.2]), [0.1, 0.2])
    np.testing.assert_array_equal(coordinates.actuation_from_mujoco([1.0, 2.0]), [7.0, 6.0])


def test_random_texts_are_refused_or_read() -> None:
    """Whatever the text, the result is a tree or a ParseError."""
    rng = np.random.default_rng(3)
    texts = [MODELS[name] for name in ("several_joints", "geoms", "gravcomp", "rotors", "ref", "defaults")]
    outcomes = set()
    for _ in range(150):
        text = bytearray(texts[rng.integers(len(texts))].encode())
        for _ in range(rng.integers(1, 4)):
            at = rng.integers(len(text))
            text[at : at + rng.integers(0, 3)] = rng.choice(
                list(b'0129.-"<>/ ae'), size=rng.integers(0, 3)
            ).tobytes()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mbt.ModelWarning)
            try:
                mbt.load_model(bytes(text))
                outcomes.add("tree")
            except mbt.ParseError:
                outcomes.add("error")
    assert outcomes == {"tree", "error"}
