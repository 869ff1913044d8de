"""Files that MJCF refers to, and text that is almost XML."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import mbt
from support.mjcf_texts import BODY, LUMP

mujoco = pytest.importorskip("mujoco", reason="needs the `oracle` extra")
from support.mujoco_peer import assert_same_dynamics, compile_text  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("folder")]

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


# Included files.


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
        with pytest.raises(mbt.ParseError, match="leads out of the allowed folders"):
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
    """MuJoCo gets files by the last part of their names, whatever the case."""
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
    "there is more after the root element: it is left out": "{}</mujoco>",
    "&nbsp; is an entity of HTML, not of XML": "{}<custom><text name='t' data='&nbsp;'/></custom>",
    "a byte is not UTF-8: such bytes are read as Latin-1": "{}<!-- \xe9 -->",
}


@pytest.mark.parametrize("words", ALMOST_XML)
def test_text_that_is_almost_xml(words: str, folder: Path) -> None:
    """MuJoCo reads this text too, except where names are at fault."""
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
    """MuJoCo gets the characters, not the bytes."""
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


GENERAL, ABOUT_Z = "0.8 0.4 -0.3 0.2", "0.9659 0 0 0.2588"
QUARTER, CYCLE = "0.7071 0 0 -0.7071", "0.5 0.5 0.5 0.5"  # these map axes to axes


@pytest.mark.parametrize("inertial", [LUMP, ""])
@pytest.mark.parametrize(
    ("scale", "turn"),
    [("2 2 2", GENERAL), ("1 2 3", QUARTER), ("1 -2 3", CYCLE), ("2 2 -3", ABOUT_Z), ("1 2 3", "1 0 0 0")],
)
def test_meshes_are_where_mujoco_has_them(scale: str, turn: str, inertial: str, folder: Path) -> None:
    """MuJoCo scales points after moving and rotating them, mbt before."""
    placed = f'scale="{scale}" refpos="0.3 -0.2 0.5" refquat="{turn}"'
    path = write_meshed(folder, meshed(inertial).replace('scale="2 2 2"', placed))
    (shape,) = mbt.load_model(path).get_body_by_name("a").visuals
    m = mujoco.MjModel.from_xml_path(str(path))
    X_BG = mbt.math.make_pose(m.geom_pos[1], quaternion=m.geom_quat[1])
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * shape.size
    found = points @ shape.X_BG[:3, :3].T + shape.X_BG[:3, 3]
    expected = m.mesh_vert @ X_BG[:3, :3].T + X_BG[:3, 3]
    np.testing.assert_allclose(found, expected, atol=1e-6)  # MuJoCo's points are float32


@pytest.mark.parametrize("inertial", [LUMP, ""])
@pytest.mark.parametrize("file", ["thing.obj", "nowhere.obj"])
def test_a_sheared_mesh_has_no_shape(file: str, inertial: str, folder: Path) -> None:
    text = meshed(inertial, file=file).replace('scale="2 2 2"', f'scale="1 2 3" refquat="{ABOUT_Z}"')
    path = write_meshed(folder, text)
    if file == "nowhere.obj" and not inertial:
        with pytest.raises(mbt.ParseError, match=r"there is no file 'meshes/nowhere\.obj'"):
            mbt.load_model(path)
        return
    tree = mbt.load_model(path)
    assert tree.get_body_by_name("a").visuals == tree.get_body_by_name("a").collisions == ()
    assert tree.parse_reports[0].ignored["geom/mesh"] == 2
    if file == "thing.obj":
        assert_same_dynamics(tree, mujoco.MjModel.from_xml_path(str(path)))


@pytest.mark.parametrize("inertial", [LUMP, ""])
@pytest.mark.parametrize("place", ["meshes", "parts"])
def test_meshes_that_an_included_file_names(place: str, inertial: str, folder: Path) -> None:
    """They are found in the mesh folder, or beside the included file."""
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
    """Files are found in the attached models' own folders, even if files of the same names are elsewhere."""
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
    """MuJoCo compiles a substitute mesh: nothing the file says of the original may break that."""
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
    with pytest.raises(mbt.ParseError, match="leads out of the allowed folders"):
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
    """It is that of a box: the contents of its file do not matter, and the file may be missing."""
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
            is_missing = asset.startswith("file")
            assert tree.parse_reports[0].ignored.get("geom/hfield", 0) == is_missing
            kinds = [shape.kind for shape in tree.get_body_by_name("a").collisions]
            assert kinds == ["sphere"] if is_missing else ["height_field", "sphere"]


@pytest.mark.parametrize("inertial", [LUMP, ""])
def test_paths_that_are_stripped(inertial: str, folder: Path) -> None:
    """Only the last part of a path counts, and is looked up in the mesh folder."""
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
    # Text in other attributes does not matter.
    path = write_meshed(folder, FLEX.format(compiler, file).replace("cloth", "a > b"))
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
    """Two files of the same name, one of them named by an included file."""
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
