"""The linter's findings about shapes that overlap in the default position."""

from __future__ import annotations

import re

import pytest

import mbt
from mbt.checking import overlaps

BALL = '<collision>{name}<origin xyz="{at}"/><geometry><sphere radius="{radius}"/></geometry></collision>'
INERTIAL = """<inertial><mass value="1"/>
  <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>"""


def chain(*shapes: str, spacing: float = 0.3) -> str:
    """Links in a row along x, `spacing` apart, each with its shapes."""
    lines = ['<robot name="chain">', '<link name="base"/>']
    for i, shape in enumerate(shapes):
        parent, at = (f"link{i - 1}", spacing) if i else ("base", 0.0)
        lines += [
            f'<link name="link{i}">{INERTIAL}{shape}</link>',
            f'<joint name="joint{i}" type="revolute"><parent link="{parent}"/><child link="link{i}"/>'
            f'<origin xyz="{at} 0 0"/><axis xyz="0 0 1"/>'
            '<limit lower="-1" upper="1" effort="9" velocity="9"/>'
            "</joint>",
        ]
    return "\n".join([*lines, "</robot>"])


def ball(radius: float, at: str = "0 0 0") -> str:
    return BALL.format(name="", at=at, radius=radius)


def test_a_pair_that_overlaps_is_named_with_its_depth_and_line():
    text = chain(ball(0.2), ball(0.01), ball(0.42))
    (finding,) = mbt.check_model(text).of_rule("overlap")
    assert (finding.severity, finding.element) == ("note", "")
    # Two balls with centers 0.6 m apart.
    assert "'link0' and 'link2' by 20 mm" in finding.message
    assert "'link1'" not in finding.message
    assert text.splitlines()[finding.line - 1].startswith('<link name="link2">')
    assert "exclude=" in finding.cure
    assert "disable_collisions" in finding.cure


def test_the_cure_cures():
    tree = mbt.load_model(chain(ball(0.2), ball(0.01), ball(0.42)))
    assert not mbt.CollisionModel(tree).is_free(tree.default_positions)
    srdf = '<robot name="chain"><disable_collisions link1="link0" link2="link2"/></robot>'
    for more in ({"exclude": [("link0", "link2")]}, {"rules": srdf}):
        assert mbt.CollisionModel(tree, **more).is_free(tree.default_positions)


@pytest.mark.parametrize(
    "shapes",
    [
        (ball(0.2), ball(0.2)),  # a joint connects them
        (ball(0.3), ball(0.01), ball(0.3)),  # they touch
        (ball(0.3), ball(0.01), ball(0.30005)),  # 0.05 mm deep
        (ball(0.2), "", ""),
        ("", "", ""),
    ],
)
def test_shapes_that_are_apart_or_adjacent_are_no_finding(shapes):
    assert mbt.check_model(chain(*shapes)).of_rule("overlap") == ()


@pytest.mark.parametrize("base", ["", ball(0.2)])
def test_a_base_that_is_welded_to_world_is_adjacent_to_its_first_link(base):
    # The first link may overlap the base, but the second may not.
    text = chain(ball(0.05), ball(0.2), spacing=0.1).replace(
        '<link name="base"/>',
        f"""<link name="floor">{base}</link><link name="base">{ball(0.2)}</link>
        <joint name="weld" type="fixed"><parent link="floor"/><child link="base"/></joint>""",
    )
    (finding,) = mbt.check_model(text).of_rule("overlap")
    assert "'base' and 'link1' by 300 mm" in finding.message
    assert "'link0'" not in finding.message
    assert ("'floor' and 'link1' by 300 mm" in finding.message) == bool(base)


def test_meshes_are_passed_over():
    mesh = '<collision><geometry><mesh filename="none.stl"/></geometry></collision>'
    report = mbt.check_model(chain(ball(0.2) + mesh, mesh, ball(0.42)))
    (finding,) = report.of_rule("overlap")
    # The name that CollisionModel gives to one of several shapes.
    assert "'link0[0]' and 'link2' by 20 mm" in finding.message
    assert mbt.check_model(chain(mesh, mesh, mesh)).of_rule("overlap") == ()
    assert report.of_rule("extreme-numbers") == ()


def test_many_pairs_are_counted_the_deepest_first():
    (finding,) = mbt.check_model(chain(*[ball(0.4)] * 7, spacing=0.1)).of_rule("overlap")
    depths = [float(x) for x in re.findall(r"by ([\d.]+) mm", finding.message)]
    assert depths == sorted(depths, reverse=True)
    assert depths[0] == 600.0  # 0.2 m apart
    # Of 21 pairs 6 are adjacent.
    assert finding.message.endswith(", and 9 more")


def test_positions_are_the_default_ones(tmp_path):
    # The third ball coincides with the first unless its joint is turned.
    tree = mbt.load_model(chain(ball(0.1), ball(0.1), ball(0.1, "-0.5 0 0"))).edit()
    for turn, count in ((0.0, 1), (1.0, 0)):
        tree.get_joint_by_name("joint2").set_default_positions([turn])
        tree.finalize()
        mbt.save_model(tree, tmp_path / "chain.json")
        assert len(mbt.check_model(tmp_path / "chain.json").of_rule("overlap")) == count
        tree = tree.edit()


def test_what_an_mjcf_excludes_may_overlap():
    pytest.importorskip("mujoco", reason="MJCF is read with mujoco")
    text = """<mujoco><worldbody><body name="a"><joint type="hinge"/><geom type="sphere" size="0.2"/>
      <body name="b" pos="0.1 0 0"><joint type="hinge"/><geom type="sphere" size="0.2"/>
      <body name="c" pos="0.1 0 0"><joint type="hinge"/><geom type="sphere" size="0.2"/></body></body></body>
    </worldbody>{}</mujoco>"""
    (finding,) = mbt.check_model(text.format("")).of_rule("overlap")
    assert "'a' and 'c' by 200 mm" in finding.message
    excluded = text.format('<contact><exclude body1="c" body2="a"/></contact>')
    assert mbt.check_model(excluded).of_rule("overlap") == ()
    disabled = text.format('<option><flag contact="disable"/></option>')
    assert mbt.check_model(disabled).of_rule("overlap") == ()


def test_models_of_very_many_shapes_are_not_searched(monkeypatch):
    monkeypatch.setattr(overlaps, "_MOST_SHAPES", 2)
    assert mbt.check_model(chain(ball(0.2), ball(0.01), ball(0.42))).of_rule("overlap") == ()
