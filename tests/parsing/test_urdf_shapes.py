"""Shapes in URDF: visuals and collisions of links."""

import re
import warnings

import numpy as np
import pytest

import mbt
from mbt.errors import ModelWarning, ParseError
from mbt.math import make_pose
from support.urdf_texts import TWO_LINKS, joint, link, robot


def shaped_link(*shapes: str, name: str = "base") -> str:
    return f'<link name="{name}">{"".join(shapes)}</link>'


def visual(geometry: str, inside: str = "", attributes: str = "") -> str:
    return f"<visual{attributes}>{inside}<geometry>{geometry}</geometry></visual>"


def collision(geometry: str, inside: str = "") -> str:
    return visual(geometry, inside).replace("visual", "collision")


def load(*parts: str, **options: object) -> mbt.MultibodyTree:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return mbt.load_model(robot(*parts), **options)


GEOMETRIES = {
    '<box size="1 2.5 3"/>': ("box", (1.0, 2.5, 3.0)),
    '<cylinder radius="0.1" length="2"/>': ("cylinder", (0.1, 2.0)),
    '<sphere radius="0"/>': ("sphere", (0.0,)),
    '<capsule radius="0.1" length="2"/>': ("capsule", (0.1, 2.0)),
    '<drake:capsule radius="0.1" length="2"/>': ("capsule", (0.1, 2.0)),
    '<drake:ellipsoid a="1" b="2" c="3"/>': ("ellipsoid", (1.0, 2.0, 3.0)),
    '<mesh filename="a.stl"/>': ("mesh", (1.0, 1.0, 1.0)),
    '<mesh filename="a.stl" scale="1 -2 3"/>': ("mesh", (1.0, -2.0, 3.0)),
    '<mesh filename="a.stl" scale=".001"/>': ("mesh", (0.001, 0.001, 0.001)),
}


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_each_kind(geometry):
    kind, size = GEOMETRIES[geometry]
    tree = load(shaped_link(visual(geometry), collision(geometry)), strict=True)
    (seen,), (touched,) = tree.bodies[1].visuals, tree.bodies[1].collisions
    expected = mbt.Shape(kind, size, mesh="a.stl" if kind == "mesh" else None)
    assert seen == touched == expected
    assert tree.parse_reports[0].ignored == {}
    assert not seen.X_BG.flags.writeable


def test_names_and_poses():
    at = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>'
    tree = load(
        shaped_link(visual('<sphere radius="1"/>', at, ' name="eye"'), collision('<sphere radius="2"/>', at)),
        strict=True,
    )
    (eye,), (hull,) = tree.bodies[1].visuals, tree.bodies[1].collisions
    assert (eye.name, hull.name) == ("eye", "")
    for shape in (eye, hull):
        np.testing.assert_array_equal(shape.X_BG, make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3]))


def test_order_and_links():
    tree = load(
        shaped_link(
            *(visual(f'<sphere radius="{i}"/>') for i in range(3)), collision('<sphere radius="9"/>')
        ),
        shaped_link(collision('<sphere radius="4"/>'), collision('<sphere radius="5"/>'), name="arm"),
        joint("hinge", "base", "arm", "fixed"),
    )
    radii = [
        [[shape.size[0] for shape in shapes] for shapes in (b.visuals, b.collisions)] for b in tree.bodies
    ]
    assert radii == [[[], []], [[0, 1, 2], [9]], [[], [4, 5]]]


def test_meshes_know_the_folder_of_their_file(tmp_path, monkeypatch):
    (tmp_path / "arm.stl").write_text("")
    (tmp_path / "bot.urdf").write_text(robot(shaped_link(visual('<mesh filename=" arm.stl "/>'))))
    monkeypatch.chdir(tmp_path)
    (shape,) = mbt.load_model("bot.urdf").bodies[1].visuals
    assert (shape.mesh, shape.folder) == ("arm.stl", str(tmp_path))
    monkeypatch.chdir("/")
    assert mbt.parsing.resolve_mesh(shape) == tmp_path / "arm.stl"
    text = (tmp_path / "bot.urdf").read_text()
    assert mbt.load_model(text).bodies[1].visuals[0].folder is None


def test_meshes_are_not_opened(tmp_path):
    (tmp_path / "pipe").mkdir()
    text = robot(
        shaped_link(visual(f'<mesh filename="{tmp_path}/pipe"/>'), collision('<mesh filename="no"/>'))
    )
    (shape,) = mbt.load_model(text, strict=True).bodies[1].visuals
    assert shape.mesh == f"{tmp_path}/pipe"


def test_colors():
    def ball(material: str) -> str:
        return visual('<sphere radius="1"/>', material)

    tree = load(
        shaped_link(
            ball('<material name="red"/>'),
            ball('<material name="own"><color rgba="0 1 0 0.5"/></material>'),
            ball('<material name="own"/>'),
            ball('<material><color rgba="0 0 1 1"/></material>'),
            ball('<material name="red"><color rgba="0.5 0 0 1"/></material>'),
            ball('<material name="red"/>'),
            ball('<material name="nobody"/>'),
            ball('<material name="picture"><texture filename="a.png"/></material>'),
            ball(""),
            collision('<sphere radius="1"/>'),
        ),
        '<material name="red"><color rgba="1 0 0 1"/></material>',
        strict=True,
    )
    colors = [shape.color for shape in tree.bodies[1].visuals]
    red, green, blue = (1, 0, 0, 1), (0, 1, 0, 0.5), (0, 0, 1, 1)
    assert colors == [red, green, green, blue, (0.5, 0, 0, 1), red, None, None, None]
    assert tree.bodies[1].collisions[0].color is None
    assert tree.parse_reports[0].ignored == {"link/visual/material/texture": 1}


BAD_GEOMETRIES = {
    '<box size="1 2"/>': "expected 3 numbers",
    '<box size="1 2 nan"/>': "expected 3 numbers",
    "<box/>": "the attribute 'size' is missing",
    '<box size="1 2 -3"/>': "-3: expected a length >= 0",
    '<cylinder radius="1"/>': "the attribute 'length' is missing",
    '<cylinder radius="1cm" length="1"/>': "expected a number",
    '<sphere radius="-1"/>': "-1: expected a length >= 0",
    '<drake:ellipsoid a="1" b="2"/>': "the attribute 'c' is missing",
    "<mesh/>": "the attribute 'filename' is missing",
    '<mesh filename=" "/>': "filename is empty",
    '<mesh filename="a" scale="1 1"/>': "expected 3 numbers",
    '<mesh filename="a" scale="1 0 1"/>': "its scale is zero",
    '<mesh filename="a" scale="0"/>': "its scale is zero",
    '<sphere radius="1"/></geometry><origin xyz="1 2"/><geometry>': "expected 3 numbers",
}


@pytest.mark.parametrize("tag", ["visual", "collision"])
@pytest.mark.parametrize("geometry", BAD_GEOMETRIES)
def test_a_shape_that_cannot_be_read_is_left_out(geometry, tag):
    bad = visual(geometry) if tag == "visual" else collision(geometry)
    if "</geometry>" in geometry:
        bad = bad.replace("<geometry></geometry>", "")
    good = visual('<sphere radius="1"/>') + collision('<sphere radius="2"/>')
    text = robot(link("arm"), shaped_link(good, "\n", bad, good), joint("j", "arm", "base", "fixed", ""))
    with pytest.warns(ModelWarning) as caught:
        tree = mbt.load_model(text)
    assert len(caught) == 1
    body = tree.get_body_by_name("base")
    assert [len(body.visuals), len(body.collisions)] == [2, 2]
    (warning,) = tree.parse_reports[0].warnings
    assert warning.line == 4
    assert warning.text.startswith('<link name="base">: <')
    assert BAD_GEOMETRIES[geometry] in warning.text
    assert warning.text.endswith(f"the {tag} is left out")
    assert tree.parse_reports[0].ignored == {}
    with pytest.raises(ParseError, match=re.escape(BAD_GEOMETRIES[geometry])) as refused:
        mbt.load_model(text, strict=True)
    assert refused.value.line == 4


@pytest.mark.parametrize("rgba", ["1 0 0", "1 0 0 2", "-0.1 0 0 1", "red", "", "nan 0 0 1"])
def test_a_color_that_is_none_is_left_out(rgba):
    material = f'<material name="m"><color rgba="{rgba}"/></material>'
    for parts in (
        [shaped_link(visual('<sphere radius="1"/>', material))],
        [material, shaped_link(visual('<sphere radius="1"/>', '<material name="m"/>'))],
    ):
        with pytest.warns(ModelWarning, match="expected 4 numbers from 0 to 1: it has no colour"):
            tree = mbt.load_model(robot(*parts))
        assert [shape.color for shape in tree.bodies[1].visuals] == [None]
        with pytest.raises(ParseError, match="expected 4 numbers from 0 to 1"):
            mbt.load_model(robot(*parts), strict=True)


def test_what_shapes_do_not_hold_is_reported():
    tree = load(
        shaped_link(
            "<visual/>",
            "<collision><geometry/></collision>",
            visual("<torus/>"),
            collision(
                '<mesh filename="a"><drake:declare_convex/></mesh>',
                "<drake:proximity_properties><drake:rigid_hydroelastic/></drake:proximity_properties>",
            ),
        ),
        strict=True,
    )
    assert tree.parse_reports[0].ignored == {
        "link/visual without geometry": 1,
        "link/collision without geometry": 1,
        "link/visual/geometry/torus": 1,
        "link/collision/geometry/mesh/drake:declare_convex": 1,
        "link/collision/drake:proximity_properties/drake:rigid_hydroelastic": 1,
    }
    assert len(tree.bodies[1].collisions) == 1


def test_shapes_of_the_link_world_stand_where_the_model_stands():
    text = robot(
        shaped_link(
            visual(
                '<sphere radius="1"/>', '<origin xyz="0 0 1"/><material><color rgba="1 0 0 1"/></material>'
            ),
            collision('<mesh filename="floor"/>'),
            name="world",
        ),
        link("base"),
        joint("j", "world", "base", "fixed"),
    )
    tree = mbt.load_model(text)
    assert [shape.X_BG[2, 3] for shape in tree.world_body.visuals] == [1.0]
    pose = make_pose([1, 2, 3], rpy=[0, 0, np.pi / 2])
    tree = mbt.load_model(text, base_pose=pose)
    (ball,), (floor,) = tree.world_body.visuals, tree.world_body.collisions
    np.testing.assert_array_equal(ball.X_BG, pose @ make_pose([0, 0, 1]))
    assert ball == mbt.Shape("sphere", [1], ball.X_BG, color=[1, 0, 0, 1])
    assert floor == mbt.Shape("mesh", X_BG=pose, mesh="floor")

    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, robot(*TWO_LINKS, name="first"))
    arm = tree.get_body_by_name("arm")
    flange = tree.add_frame(mbt.FixedOffsetFrame("flange", arm, pose))
    mbt.parsing.add_model(tree, text, parent=flange, X_PF=pose)
    assert tree.world_body.visuals == ()
    np.testing.assert_allclose(arm.visuals[0].X_BG, pose @ pose @ make_pose([0, 0, 1]), atol=1e-15)
    np.testing.assert_allclose(arm.collisions[0].X_BG, pose @ pose, atol=1e-15)


def test_links_without_shapes_hold_nothing():
    tree = load(*TWO_LINKS)
    for body in tree.bodies:
        assert (body.visuals, body.collisions) == ((), ())
        assert not {"_visuals", "_collisions"} & set(vars(body))
