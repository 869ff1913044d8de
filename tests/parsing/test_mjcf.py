"""MJCF, read through MuJoCo."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import mbt
from support.mjcf_texts import LUMP, MODELS

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import assert_same_dynamics, compile_text  # noqa: E402

pytestmark = pytest.mark.oracle

BODY = f'<body name="a"><joint name="j"/>{LUMP}</body>'
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, far from the models: MuJoCo writes what it has to say into a file there."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    models = tmp_path / "models"
    models.mkdir()
    return models


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
    """It counts unless the caller gives one, and in a tree of several models never."""
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


# What does not act.

BALL_ON_A_PLANE = """<mujoco>{}<worldbody><geom name="ground" type="plane" size="1 1 1"/>
<body name="ball" pos="0 0 0.5"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""


def test_a_floor_is_named() -> None:
    """The ball falls, where MuJoCo holds it."""
    with pytest.warns(mbt.ModelWarning, match=r"contacts of 2 shapes \(the floor 'ground' among them\)"):
        tree = mbt.load_model(BALL_ON_A_PLANE.format(""))
    report = tree.parse_reports[0]
    assert (report.inactive, report.floors) == ({"contacts": 2}, ["ground"])
    assert "Nothing was ignored" not in str(report)
    assert str(report).count("Does not act") == 1
    context = tree.create_default_context()
    assert mbt.simulate(tree, context, 1.0).q[-1, 6] < -3.0


def test_a_floor_of_listed_pairs() -> None:
    """They touch, whatever bits of contact their geometries have."""
    text = BALL_ON_A_PLANE.format("").replace(" size", ' contype="0" conaffinity="0" size')
    text = text.replace("<geom contype", '<geom name="skin" contype')
    text = text.replace("</worldbody>", '</worldbody><contact><pair geom1="skin" geom2="ground"/></contact>')
    with pytest.warns(mbt.ModelWarning, match="the floor 'ground' among them"):
        report = mbt.load_model(text).parse_reports[0]
    assert report.inactive == {"contacts": 2}


def test_check_notes_what_does_not_act() -> None:
    """Nothing is wrong with the file."""
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
<actuator><position joint="j"/><velocity joint="k"/><motor joint="k"/><motor tendon="t"/></actuator>
</mujoco>"""


def test_what_does_not_act_is_the_first_warning() -> None:
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.load_model(ACTING)
    expected = {"servos": 2, "actuators": 1, "tendons": 1, "equalities": 2, "limits": 2, "frictions": 1}
    report = tree.parse_reports[0]
    assert report.inactive == expected
    line = (
        "Does not act: 2 servos (plain motors here), 1 actuator on no hinge or slide, 1 tendon, "
        "2 equalities, limits of 2 joints, friction of 1 joint"
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


def test_limits_and_friction_alone_are_no_warning() -> None:
    text = MODELS["radians"].replace('name="j"', 'name="j" frictionloss="2"')
    report = mbt.load_model(text).parse_reports[0]
    assert report.summarize_inactive() == "Does not act: limits of 1 joint, friction of 1 joint"
    assert not report.warnings


# Files that a model includes.


def write_including(folder: Path, file: str) -> Path:
    path = folder / "main.xml"
    path.write_text(f'<mujoco><include file="{file}"/><worldbody/></mujoco>')
    return path


def write_included(path: Path, more: str = "", body: str = BODY) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"<mujocoinclude>{more}<worldbody>{body}</worldbody></mujocoinclude>")


@pytest.mark.parametrize("file", ["arm.xml", "./arm.xml", "parts/arm.xml", "parts/../parts/arm.xml"])
def test_includes(file: str, folder: Path) -> None:
    main = write_including(folder, file)
    (folder / "parts").mkdir()
    other = BODY.replace('"a"', '"b"').replace('"j"', '"k"')
    write_included(folder / file, '<include file="hand.xml"/>')
    write_included((folder / file).parent / "hand.xml", body=other)
    assert {joint.name for joint in mbt.load_model(main).joints} == {"j", "k"}


def test_includes_in_named_folders(folder: Path) -> None:
    main = write_including(folder, "common/arm.xml")
    write_included(folder.parent / "library" / "common" / "arm.xml")
    with pytest.raises(mbt.ParseError, match=r"main\.xml:1: <include>: there is no file 'common/arm\.xml'"):
        mbt.load_model(main)
    assert mbt.load_model(main, package_paths=[folder.parent / "library"]).num_positions == 1
    text = main.read_text()
    with pytest.raises(mbt.ParseError, match="there is no file"):
        mbt.load_model(text)
    assert mbt.load_model(text, package_paths=[folder.parent / "library"]).num_positions == 1


@pytest.mark.parametrize(
    ("file", "helpful"),
    [
        ("../common/arm.xml", "family"),
        ("../../library/arm.xml", "."),
        ("{root}/library/arm.xml", "."),
        ("link.xml", "family"),
        ("/arm.xml", "/"),
    ],
)
def test_the_hint_names_the_folder_that_allows_it(file: str, helpful: str, folder: Path) -> None:
    robot = folder / "family" / "robot"
    robot.mkdir(parents=True)
    for place in ("library", "family/common"):
        write_included(folder / place / "arm.xml")
    (robot / "link.xml").symlink_to(folder / "family" / "common" / "arm.xml")
    main = write_including(robot, file.format(root=folder))
    with pytest.raises(mbt.ParseError) as caught:
        mbt.load_model(main)
    allowed = str((folder / helpful).resolve())
    assert caught.value.hint == f"package_paths=[{allowed!r}] allows it"
    if helpful != "/":
        assert mbt.load_model(main, package_paths=[allowed]).num_positions == 1


@pytest.mark.parametrize("by", ["dots", "absolute", "link"])
def test_nothing_outside_of_the_folder_is_included(by: str, folder: Path) -> None:
    outside = folder.parent / "secret.xml"
    write_included(outside)
    (folder / "link.xml").symlink_to(outside)
    file = {"dots": "../secret.xml", "absolute": str(outside), "link": "link.xml"}[by]
    for text in (
        f'<mujoco><include file="{file}"/></mujoco>',
        f'<mujoco><asset><model name="m" file="{file}"/></asset></mujoco>',
        f'<mujoco><worldbody><body><flexcomp type="mesh" file="{file}"/></body></worldbody></mujoco>',
    ):
        (folder / "main.xml").write_text(text)
        with pytest.raises(mbt.ParseError, match="leads out of the folders that are allowed"):
            mbt.load_model(folder / "main.xml")
    main = write_including(folder, file)
    assert mbt.load_model(main, package_paths=[folder.parent]).num_positions == 1


def test_attached_models(folder: Path) -> None:
    (folder / "hand.xml").write_text(f'<mujoco model="h"><worldbody>{BODY}</worldbody></mujoco>')
    (folder / "main.xml").write_text(
        '<mujoco><asset><model name="h" file="hand.xml"/></asset><worldbody>'
        f'<body name="arm"><joint name="j"/>{LUMP}<attach model="h" body="a" prefix="left_"/></body>'
        "</worldbody></mujoco>"
    )
    tree = mbt.load_model(folder / "main.xml")
    assert [joint.name for joint in tree.joints] == ["j", "left_j"]


def test_a_circle_of_includes(folder: Path) -> None:
    main = write_including(folder, "arm.xml")
    write_included(folder / "arm.xml", '<include file="arm.xml"/>')
    with pytest.raises(mbt.ParseError, match="is included twice"):
        mbt.load_model(main)


def renamed(name: str) -> str:
    return BODY.replace('"a"', f'"{name}"').replace('"j"', f'"{name}"')


def test_included_files_of_one_name(folder: Path) -> None:
    """MuJoCo is handed files by the last part of their names, in any case."""
    (folder / "main.xml").write_text(
        '<mujoco><asset><model name="h" file="hand/Part.xml"/></asset><include file="arm/part.xml"/>'
        '<include file="leg/part.xml"/><include file="part_2.xml"/><worldbody>'
        '<frame><attach model="h" body="h" prefix="x_"/></frame></worldbody></mujoco>'
    )
    for name in ("arm", "leg"):
        write_included(folder / name / "part.xml", '<include file="foot&amp;s.xml"/>', renamed(name))
        write_included(folder / name / "foot&s.xml", body=renamed(f"{name} foot"))
    write_included(folder / "part_2.xml", body=renamed("third"))
    (folder / "hand").mkdir()
    (folder / "hand" / "Part.xml").write_text(f"<mujoco><worldbody>{renamed('h')}</worldbody></mujoco>")
    tree = mbt.load_model(folder / "main.xml")
    assert {joint.name for joint in tree.joints} == {"arm", "arm foot", "leg", "leg foot", "third", "x_h"}


def test_paths_of_windows(folder: Path) -> None:
    main = write_including(folder, "parts\\arm.xml")
    write_included(folder / "parts" / "arm.xml")
    assert mbt.load_model(main).num_positions == 1
    path = write_meshed(folder, meshed(file="..\\meshes\\thing.obj"))
    tree = mbt.load_model(path)
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(path)))
    (shape,) = tree.get_body_by_name("a").visuals
    assert mbt.parsing.resolve_mesh(shape).resolve() == folder / "meshes" / "thing.obj"


# Text that is almost XML.

ALMOST_XML = {
    "'--' stands in a comment: read as one": "{}<!-- a -- b -->",
    "'&' stands alone: it is read as &amp;": "{}<custom><text name='t' data='a & b'/></custom>",
    "there is more behind the root element: it is left out": "{}</mujoco>",
    "&nbsp; is of HTML, not of XML": "{}<custom><text name='t' data='&nbsp;'/></custom>",
    "a byte is not UTF-8: such bytes are read as Latin-1": "{}<!-- \xe9 -->",
}


@pytest.mark.parametrize("words", ALMOST_XML)
def test_text_that_is_almost_xml(words: str, folder: Path) -> None:
    """MuJoCo reads it, but where it is about names."""
    text = f"<mujoco><worldbody>\n{BODY}</worldbody>{ALMOST_XML[words].format('')}</mujoco>"
    data = text.encode("latin-1")
    with pytest.warns(mbt.ModelWarning, match=re.escape(words)):
        tree = mbt.load_model(data)
    (folder / "main.xml").write_bytes(data)
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(folder / "main.xml")), num_states=1)
    with pytest.raises(mbt.ParseError, match=re.escape(words.partition(":")[0])):
        mbt.load_model(data, strict=True)


def test_included_text_that_is_almost_xml(folder: Path) -> None:
    main = write_including(folder, "a & b.xml")
    write_included(folder / "a & b.xml", "<!-- a -- b --><include file='c & d.xml'/>", "")
    write_included(folder / "c & d.xml", "", BODY)
    with pytest.warns(mbt.ModelWarning) as caught:
        assert mbt.load_model(main).num_positions == 1
    text = str(caught[0].message)
    assert f"{folder / 'a & b.xml'}: '--' stands in a comment" in text
    assert "line 1: '&' stands alone" in text
    with pytest.raises(mbt.ParseError, match="'&' stands alone"):
        mbt.load_model(main, strict=True)


def test_an_encoding_that_expat_does_not_know() -> None:
    """MuJoCo is handed the characters, not the bytes."""
    body = BODY.replace('"a"', '"Körper"')
    text = f'<?xml version="1.0" encoding="windows-1252"?><mujoco><worldbody>{body}</worldbody></mujoco>'
    assert mbt.load_model(text.encode("windows-1252")).bodies[1].name == "Körper"


# Meshes and textures.


def meshed(inertial: str = "", geom: str = "", file: str = "thing.obj") -> str:
    return (
        f'<mujoco><compiler meshdir="meshes"/><asset><mesh name="thing" file="{file}" scale="2 2 2"/></asset>'
        f'<worldbody><geom type="mesh" mesh="thing"/><body name="a"><joint name="j"/>{inertial}'
        f'<geom type="mesh" mesh="thing" pos="1 2 3" euler="10 20 30" {geom}/></body></worldbody></mujoco>'
    )


def write_meshed(folder: Path, text: str) -> Path:
    (folder / "meshes").mkdir()
    (folder / "meshes" / "thing.obj").write_text(TETRAHEDRON)
    (folder / "main.xml").write_text(text)
    return folder / "main.xml"


@pytest.mark.parametrize("inertial", [LUMP, ""])
def test_meshes_are_references(inertial: str, folder: Path) -> None:
    path = write_meshed(folder, meshed(inertial))
    tree = mbt.load_model(path)
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(path)))
    (shape,) = tree.get_body_by_name("a").visuals
    assert (shape.kind, shape.mesh, shape.size, shape.folder) == (
        "mesh",
        "meshes/thing.obj",
        (2.0, 2.0, 2.0),
        str(folder),
    )
    assert mbt.parsing.resolve_mesh(shape) == folder / "meshes" / "thing.obj"
    expected = mbt.math.make_pose(
        [1, 2, 3],
        quaternion=compile_text(
            '<mujoco><worldbody><geom type="box" size="1 1 1" euler="10 20 30"/></worldbody></mujoco>'
        ).geom_quat[0],
    )
    np.testing.assert_allclose(shape.X_BG, expected, atol=1e-12)


@pytest.mark.parametrize("inertial", [LUMP, ""])
@pytest.mark.parametrize("place", ["meshes", "parts"])
def test_meshes_that_an_included_file_names(place: str, inertial: str, folder: Path) -> None:
    """They are in the folder of meshes, or beside that file."""
    (folder / "main.xml").write_text(
        '<mujoco><compiler meshdir="meshes"/><include file="parts/assets.xml"/><worldbody><body name="a">'
        f'<joint name="j"/>{inertial}<geom type="mesh" mesh="thing"/></body></worldbody></mujoco>'
    )
    for name in ("meshes", "parts"):
        (folder / name / "more").mkdir(parents=True)
    write_included(folder / "parts" / "assets.xml", '<asset><mesh file="more/thing.obj"/></asset>', "")
    (folder / place / "more" / "thing.obj").write_text(TETRAHEDRON)
    tree = mbt.load_model(folder / "main.xml")
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(folder / "main.xml")))
    (shape,) = tree.get_body_by_name("a").visuals
    assert mbt.parsing.resolve_mesh(shape) == folder / place / "more" / "thing.obj"


@pytest.mark.parametrize("where", ["meshes", "parts"])
def test_what_attached_models_name(where: str, folder: Path) -> None:
    """It is where their own folders have it, though files of the same names are elsewhere."""
    attached = "".join(f'<model name="{name}" file="{name}/robot.xml"/>' for name in ("arm", "hand"))
    bodies = "".join(f'<attach model="{name}" body="a" prefix="{name}_"/>' for name in ("arm", "hand"))
    (folder / "robot.xml").write_text(
        f'<mujoco><asset>{attached}</asset><worldbody><body name="b"><joint name="b"/>{LUMP}{bodies}</body>'
        "</worldbody></mujoco>"
    )
    for name, length in (("", "7"), ("arm", "2"), ("hand", "3")):
        write_included(folder / name / "parts" / "assets.xml", '<asset><mesh file="thing.obj"/></asset>', "")
        (folder / name / where).mkdir(exist_ok=True)
        (folder / name / where / "thing.obj").write_text(TETRAHEDRON.replace("v 1", f"v {length}"))
        if name:
            (folder / name / "robot.xml").write_text(
                '<mujoco><compiler meshdir="meshes"/><include file="parts/assets.xml"/><worldbody>'
                '<body name="a"><joint name="j"/><geom type="mesh" mesh="thing"/></body></worldbody></mujoco>'
            )
    tree = mbt.load_model(folder / "robot.xml")
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(folder / "robot.xml")))
    for name in ("arm", "hand"):
        (shape,) = tree.get_body_by_name(f"{name}_a").visuals
        assert mbt.parsing.resolve_mesh(shape) == folder / name / where / "thing.obj"


def test_a_missing_mesh_that_no_inertia_needs() -> None:
    tree = mbt.load_model(meshed(LUMP, file="nowhere.stl"))
    assert [shape.mesh for shape in tree.get_body_by_name("a").collisions] == ["meshes/nowhere.stl"]
    massless = meshed(geom='mass="0"/><geom type="sphere" size="0.2"', file="nowhere.stl")
    assert mbt.load_model(massless).get_body_by_name("a").default_mass > 1.0


@pytest.mark.parametrize(
    "written",
    [
        'scale="-1 2 0.5" refpos="1 2 3" refquat="0 1 0 0"',
        'texcoord="0 0 1 0 1 1 0 1 0 0"',
        'normal="0 0 1 0 0 1"',
        'inertia="shell" smoothnormal="true" maxhullvert="8"',
        'inertia="exact" scale="1e-9 1 1"',
    ],
)
def test_what_a_missing_mesh_may_have(written: str) -> None:
    """MuJoCo compiles another one in its place: of what the file says of it nothing may be in the way."""
    text = meshed(LUMP, file="nowhere.obj").replace('scale="2 2 2"', written)
    shape = mbt.load_model(text).get_body_by_name("a").collisions[0]
    assert shape.mesh == "meshes/nowhere.obj"
    scale = re.search(r'scale="(.*?)"', written)
    assert shape.size == tuple(map(float, scale[1].split()) if scale else (1.0, 1.0, 1.0))


def test_a_missing_mesh_that_gives_the_inertia(folder: Path) -> None:
    with pytest.raises(mbt.ParseError, match=r"there is no file 'meshes/nowhere\.stl'"):
        mbt.load_model(write_meshed(folder, meshed(file="nowhere.stl")))
    with pytest.raises(mbt.ParseError, match="there is no file"):
        mbt.load_model(meshed(file="thing.obj"))
    assert mbt.load_model(meshed(file="thing.obj"), package_paths=[folder]).num_positions == 1


def test_no_mesh_outside_of_the_folder_is_opened(folder: Path) -> None:
    path = write_meshed(folder, meshed(file="../../thing.obj"))
    (folder.parent / "thing.obj").write_text(TETRAHEDRON)
    with pytest.raises(mbt.ParseError, match="leads out of the folders"):
        mbt.load_model(path)
    assert mbt.load_model(path, package_paths=[folder.parent]).num_positions == 1


ASSETS = f"""<mujoco><asset><texture name="t" type="2d" file="a.png"/><texture type="cube" fileright="b.png"/>
<material name="painted" texture="t" rgba="1 0 0 1"/><hfield name="hills" file="c.png" size="1 1 1 1"/>
<skin name="skin" file="d.skn"/></asset><worldbody><geom type="hfield" hfield="hills"/>
<body name="a"><joint/>{LUMP}<geom size="1" material="painted"/></body></worldbody></mujoco>"""


def test_textures_height_fields_and_skins_are_not_looked_for() -> None:
    with pytest.warns(mbt.ModelWarning, match=r"contacts of 2 shapes \(the floor among them\)"):
        tree = mbt.load_model(ASSETS)
    assert not tree.world_body.visuals
    (shape,) = tree.get_body_by_name("a").visuals
    assert shape.color == (1, 0, 0, 1)


def test_the_mass_of_a_height_field(folder: Path) -> None:
    """It is that of a box: what its file holds does not matter, and the file is not looked for."""
    geom = '<geom type="hfield" hfield="hills" pos="0.1 0.2 0.3" euler="10 20 30" density="{}"/>'
    body = f'<body name="a"><joint name="j" axis="1 2 3"/>{geom}<geom size="0.1" pos="1 0 0"/></body>'
    for asset in ('file="c.png"', 'nrow="2" ncol="3"', 'nrow="2" ncol="3" elevation="1 5 2 6 3 7"'):
        for density in (0, 20):
            asset_and_body = f'<asset><hfield name="hills" size="1 2 3 4" {asset}/></asset><worldbody>{body}'
            text = f"<mujoco>{asset_and_body.format(density)}</worldbody></mujoco>"
            tree = mbt.load_model(text)
            model = compile_text(text.replace('file="c.png"', 'nrow="7" ncol="9"'))
            assert_same_dynamics(tree, model, num_states=1)
            assert tree.get_body_by_name("a").default_mass > (100 if density else 1)
            assert tree.parse_reports[0].ignored["geom/hfield"] == 1


@pytest.mark.parametrize("inertial", [LUMP, ""])
def test_paths_that_are_stripped(inertial: str, folder: Path) -> None:
    """Of a file the last part counts, in the folder of meshes."""
    text = meshed(inertial, file="far/away\\thing.obj").replace("<compiler", '<compiler strippath="true"')
    path = write_meshed(folder, text)
    tree = mbt.load_model(path)
    assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(path)))
    (shape,) = tree.get_body_by_name("a").visuals
    assert mbt.parsing.resolve_mesh(shape) == folder / "meshes" / "thing.obj"


FLEX = (
    '<mujoco><compiler {}/><worldbody><body name="a">'
    '<flexcomp name="cloth" type="mesh" file="{}" mass="3" radius="0.01"/></body></worldbody></mujoco>'
)


@pytest.mark.parametrize(
    ("compiler", "file"),
    [
        ('meshdir="meshes"', "thing.obj"),
        ('assetdir="meshes"', "thing.obj"),
        ("", "meshes/thing.obj"),
        ('meshdir="meshes"', "../meshes/thing.obj"),
        ('meshdir="meshes" strippath="true"', "far/away/thing.obj"),
    ],
)
def test_the_mesh_of_a_flexible_body(compiler: str, file: str, folder: Path) -> None:
    path = write_meshed(folder, FLEX.format(compiler, file))
    with pytest.warns(mbt.ModelWarning, match=r"flexible bodies \(1\) have no counterpart"):
        tree = mbt.load_model(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = mujoco.MjSpec.from_file(str(path)).compile()
    assert tree.num_velocities == model.nv
    context, data = tree.create_default_context(), mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    M = np.empty((model.nv, model.nv))
    for i, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[i], unit)
    np.testing.assert_allclose(tree.calc_mass_matrix(context), M, rtol=1e-12, atol=1e-12)


def test_meshes_of_flexible_bodies_have_their_own_folders(folder: Path) -> None:
    """Two files of one name, of which one is that of an included file."""
    write_meshed(folder, "")
    (folder / "parts" / "cloth").mkdir(parents=True)
    (folder / "parts" / "cloth" / "thing.obj").write_text(TETRAHEDRON + "v 2 2 2\nf 2 3 5\n")
    first, second = (
        f'<body name="{name}"><flexcomp name="{name}" type="mesh" file="{file}" mass="3"/></body>'
        for name, file in (("one", "meshes/thing.obj"), ("two", "cloth/thing.obj"))
    )
    write_included(folder / "parts" / "cloth.xml", body=second)
    (folder / "main.xml").write_text(
        f'<mujoco><include file="parts/cloth.xml"/><worldbody>{first}</worldbody></mujoco>'
    )
    with pytest.warns(mbt.ModelWarning):
        tree = mbt.load_model(folder / "main.xml")
    assert tree.num_velocities == 3 * (4 + 5)


@pytest.mark.parametrize(
    "mesh",
    [
        'file="nowhere.stl"',
        'vertex="0 0 0 1 0 0 0 1 0 0 0 1"',
        'vertex="0 0 0 1 0 0 0 1 0 0 0 1" texcoord="0 0 1 0 1 1 0 1"',
    ],
)
def test_a_tactile_sensor_that_names_a_mesh(mesh: str) -> None:
    body = BODY.replace("</body>", '<geom name="g" size="0.1" mass="0"/></body>')
    tree = mbt.load_model(
        f'<mujoco><asset><mesh name="pad" {mesh}/></asset><worldbody>{body}</worldbody>'
        '<sensor><clock/><tactile name="skin" geom="g" mesh="pad"/></sensor></mujoco>'
    )
    assert tree.num_velocities == 1
    assert tree.parse_reports[0].ignored["sensor"] == 2


# What MuJoCo says.


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


# Where it stands.


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
        # It is welded to the arm.
        mbt.interop.MujocoCoordinates(tree, model, instance)


def test_a_prefix() -> None:
    tree = mbt.load_model(MODELS["rotors"], prefix="left_")
    coordinates = mbt.interop.MujocoCoordinates(tree, compile_text(MODELS["rotors"]), prefix="left_")
    np.testing.assert_array_equal(coordinates.q_from_mujoco([0.1, 0.2]), [0.1, 0.2])
    np.testing.assert_array_equal(coordinates.actuation_from_mujoco([1.0, 2.0]), [7.0, 6.0])


def test_random_texts_are_refused_or_read() -> None:
    """Whatever comes, the answer is a tree or a ParseError."""
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
