"""URDF to a robot description: values, names, and every refusal with its line."""

import math

import numpy as np
import pytest

from mbt.errors import ParseError
from mbt.math import rpy_to_matrix
from mbt.parsing.description import JointLimits
from support.urdf_texts import TWO_LINKS, chain, describe, joint, link, robot, transmission

EPS = np.finfo(float).eps


def read(*parts, **options):
    return describe(robot(*parts), **options)


def warnings_of(model):
    return "\n".join(map(str, model.report.warnings))


# Reading.


def test_a_link_and_its_inertia_in_a_turned_frame():
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.5 1.1"/>'
    inertia = '<inertia ixx="0.02" ixy="0.001" ixz="-0.002" iyy="0.03" iyz="0.003" izz="0.04"/>'
    (base,) = read(link("base", 2.5, inertia, origin)).links
    M = base.M_BBo_B
    assert (base.name, base.line, M.mass) == ("base", 2, 2.5)
    np.testing.assert_array_equal(M.com, [0.1, 0.2, 0.3])
    R_BI = rpy_to_matrix([0.3, -0.5, 1.1])
    I_I = np.array([[0.02, 0.001, -0.002], [0.001, 0.03, 0.003], [-0.002, 0.003, 0.04]])
    np.testing.assert_allclose(M.calc_central_inertia(), R_BI @ I_I @ R_BI.T, atol=32 * EPS)


def test_a_link_without_inertial_is_massless():
    (base,) = read(link("base", None)).links
    assert not base.M_BBo_B.as_matrix6().any()


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("fixed", "weld"),
        ("floating", "floating"),
        ("planar", "planar"),
    ],
)
def test_joint_types(written, kind):
    model = read(
        link("base"), link("arm"), joint("j", "base", "arm", written, '<origin xyz="1 2 3" rpy="0 0 1"/>')
    )
    (j,) = model.joints
    assert (j.name, j.kind, j.parent, j.child, j.line) == ("j", kind, "base", "arm", 4)
    np.testing.assert_array_equal(j.X_PF[:3, 3], [1, 2, 3])
    if kind != "planar":
        np.testing.assert_array_equal(j.X_PF[:3, :3], rpy_to_matrix([0, 0, 1]))
        assert j.X_BM is None
    np.testing.assert_array_equal(j.axis, [1, 0, 0])


def test_joint_numbers():
    inside = (
        '<axis xyz="0 2 0"/><limit lower="-1" upper="2" velocity="3" effort="4" drake:acceleration="5"/>'
        '<dynamics damping="6"/>'
    )
    (j,) = read(link("base"), link("arm"), joint("j", "base", "arm", "revolute", inside)).joints
    np.testing.assert_array_equal(j.axis, [0, 2, 0])
    assert j.limits == JointLimits(-1, 2, velocity=3, effort=4, acceleration=5)
    assert j.damping == (6,)


@pytest.mark.parametrize(
    "axis", [[0, 0, 1], [1, 0, 0], [0, -2, 0], [0, 0, -3], [1, 2, -2], [1e-9, 0, -1], [1e-5, 2e-5, -1]]
)
def test_the_normal_of_a_plane_is_the_axis(axis):
    """z of F and M is along the axis, link and joint frames coincide, and x turns by the least angle."""
    n = np.array(axis) / np.linalg.norm(axis)
    inside = f'<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="{" ".join(map(str, axis))}"/>'
    (j,) = read(link("base"), link("arm"), joint("j", "base", "arm", "planar", inside)).joints
    R_PJ = rpy_to_matrix([0.1, 0.2, 0.3])
    R_JF = R_PJ.T @ j.X_PF[:3, :3]
    np.testing.assert_allclose(R_JF, j.X_BM[:3, :3], atol=4 * EPS)
    np.testing.assert_allclose(R_JF[:, 2], n, atol=8 * EPS)
    np.testing.assert_allclose(R_JF @ R_JF.T, np.eye(3), atol=8 * EPS)
    assert np.linalg.det(R_JF) > 0
    # The smallest turn from z to n: its angle is the one between them.
    np.testing.assert_allclose(np.trace(R_JF), 1 + 2 * n[2], atol=8 * EPS)
    np.testing.assert_array_equal(j.X_PF[:3, 3], [1, 2, 3])


def test_damping_of_a_plane():
    for written, damping in (("2", (2, 2, 2)), ("1 2 3", (1, 2, 3))):
        inside = f'<dynamics damping="{written}"/>'
        (j,) = read(link("base"), link("arm"), joint("j", "base", "arm", "planar", inside)).joints
        assert j.damping == damping


def drake_joint(kind, inside=""):
    return (
        joint("j", "base", "arm", kind, inside)
        .replace("joint name", "drake:joint name")
        .replace("</joint>", "</drake:joint>")
    )


def test_joints_of_drake():
    def read_one(kind, inside=""):
        model = read(link("base"), link("arm"), drake_joint(kind, inside))
        (j,) = model.joints
        assert model.report.ignored == {}
        return j

    dynamics = '<dynamics damping="0.5"/>'
    ball, universal = read_one("ball", dynamics), read_one("universal", dynamics)
    assert (ball.kind, ball.damping, universal.kind, universal.damping) == (
        "ball",
        (0.5,),
        "universal",
        (0.5,),
    )
    plane = read_one("planar", '<axis xyz="0 0 1"/><dynamics damping="1 2 3"/>')
    assert (plane.kind, plane.damping) == ("planar", (1, 2, 3))
    np.testing.assert_array_equal(plane.X_PF, np.eye(4))
    np.testing.assert_array_equal(plane.X_BM, np.eye(4))
    screw = read_one("screw", dynamics + '<axis xyz="0 0 1"/><drake:screw_thread_pitch value="0.02"/>')
    assert (screw.kind, screw.damping, screw.screw_pitch, screw.is_actuatable) == (
        "screw",
        (0.5,),
        0.02,
        True,
    )


def test_friction():
    parts = link("base"), link("arm"), joint("j", "base", "arm", inside='<dynamics friction="0.25"/>')
    for option in (False, True):
        model = read(*parts, joint_friction=option)
        assert (model.joints[0].friction, model.friction_is_force) == (0.25, option)
        assert model.report.ignored == {}


def test_what_is_not_limited():
    (j,) = read(*TWO_LINKS).joints
    assert j.limits == JointLimits(-math.inf, math.inf, velocity=math.inf, effort=math.inf)
    assert j.damping == (0,)
    limit = '<limit lower="1" upper="0" velocity="3" effort="4"/>'
    (j,) = read(link("base"), link("arm"), joint("j", "base", "arm", "continuous", limit)).joints
    assert j.limits == JointLimits(velocity=3, effort=4)


@pytest.mark.parametrize(
    "inside",
    [
        '<drake:rotor_inertia value="1e-4"/><drake:gear_ratio value="-50"/>',
        "",
    ],
)
def test_simple_transmissions_become_actuators(inside):
    model = read(
        link("base"),
        link("arm"),
        joint("j", "base", "arm", inside='<limit effort="7" velocity="1"/>'),
        transmission("j", inside),
    )
    (a,) = model.actuators
    assert (a.name, a.joint, a.effort_limit) == ("j_motor", "j", 7)
    assert (a.rotor_inertia, a.gear_ratio) == ((1e-4, -50) if inside else (0, 1))


def test_transmission_type_and_motor_constants_as_attributes():
    text = (
        '<transmission name="t" type="SimpleTransmission"><joint name="hinge"/>'
        '<actuator name="m" drake:rotor_inertia="2" drake:gear_ratio="3"/></transmission>'
    )
    (a,) = read(*TWO_LINKS, text).actuators
    assert (a.rotor_inertia, a.gear_ratio, a.effort_limit) == (2, 3, math.inf)


@pytest.mark.parametrize(
    ("kind", "limit", "transmission_kind", "reason"),
    [
        ("fixed", "", "SimpleTransmission", "not have exactly one degree"),
        ("floating", "", "SimpleTransmission", "not have exactly one degree"),
        ("revolute", '<limit effort="0" velocity="0"/>', "SimpleTransmission", "effort limit of zero"),
        ("revolute", "", "transmission_interface/DifferentialTransmission", "is not SimpleTransmission"),
        ("revolute", "", "", "it has no <type>"),
    ],
)
def test_transmissions_that_are_left_out_are_reported(kind, limit, transmission_kind, reason):
    model = read(
        link("base"),
        link("arm"),
        joint("j", "base", "arm", kind, limit),
        transmission("j", "", transmission_kind),
    )
    assert model.actuators == []
    assert reason in warnings_of(model)
    assert not [path for path in model.report.ignored if "transmission" in path]


def test_named_frames():
    model = read(*TWO_LINKS, '<frame name="tcp" link="arm" xyz="0 0 1" rpy="0 0 0"/>')
    (frame,) = model.frames
    assert (frame.name, frame.link) == ("tcp", "arm")
    np.testing.assert_array_equal(frame.X_BF[:3, 3], [0, 0, 1])


def test_the_link_world_is_world():
    model = read(link("world"), link("arm"), joint("j", "world", "arm"))
    assert [entry.name for entry in model.links] == ["arm"]
    assert model.roots == []
    assert "its inertia has no effect" in warnings_of(model)
    assert read(link("world", None), link("arm"), joint("j", "world", "arm")).report.warnings == []


def test_world_needs_no_link_of_its_own():
    assert read(link("arm"), joint("j", "world", "arm")).roots == []


def test_world_may_be_a_child():
    model = read(
        link("base"), link("arm"), link("world", None), joint("a", "base", "arm"), joint("b", "arm", "world")
    )
    assert model.roots == []


def test_several_roots():
    model = read(link("a"), link("b"), link("c"), joint("j", "b", "c"), link("d"), joint("k", "world", "d"))
    assert model.roots == ["a", "b"]


def test_order_of_the_document_does_not_matter():
    model = read(joint("j", "base", "arm"), link("arm"), link("base"))
    assert model.roots == ["base"]
    assert [entry.name for entry in model.links] == ["base", "arm"]


def test_model_name():
    assert read(link("a")).name == "bot"
    assert read(link("a"), model_name="mine").name == "mine"
    assert describe("<robot><link name='a'/></robot>").name == "model"
    assert describe("<robot name=' '><link name='a'/></robot>").name == "model"


def test_names_are_kept_as_they_are():
    model = read(link("left arm/µ-1"), link("Ω"), joint(" j ", "Ω", "left arm/µ-1"))
    assert [entry.name for entry in model.links] == ["Ω", "left arm/µ-1"]
    assert model.joints[0].name == " j "


def test_long_chains_are_read_without_recursion():
    model = describe(chain(10_000))
    assert (len(model.links), len(model.joints), model.roots) == (10_001, 10_000, ["link_0"])


# Reports.


def test_everything_without_effect_is_listed():
    model = read(
        "<gazebo/>",
        '<link name="base"><visual><geometry/></visual><visual/><collision/></link>',
        link("arm"),
        joint(
            "j",
            "base",
            "arm",
            inside='<safety_controller k_velocity="1"/><dynamics friction="0.1"/><axis xyz="0 0 1" rpy="1"/>',
        ),
        joint("k", "arm", "base2", "fixed", '<axis xyz="0 0 0"/>'),
        link("base2"),
        transmission("j", "<mechanicalReduction>3</mechanicalReduction>"),
        '<material name="blue"/>',
        '<link name="ghost" drake_ignore="true"><visual/></link>',
    )
    assert model.report.ignored == {
        "gazebo": 1,
        "link/visual without geometry": 2,
        "link/collision without geometry": 1,
        "joint/safety_controller": 1,
        "joint/axis@rpy": 1,
        "joint/axis": 1,
        "transmission/actuator/mechanicalReduction": 1,
        "link with drake_ignore": 1,
    }
    assert model.report.warnings == []
    text = str(model.report)
    assert "link/visual without geometry (2 x)" in text
    assert "3 links, 2 joints, 1 actuator" in text


def test_nothing_to_report():
    model = read(*TWO_LINKS)
    assert (
        str(model.report)
        == "'bot' from <text>: 2 links, 1 joint, 0 actuators\nNothing was ignored or changed."
    )


def test_zero_friction_is_nothing_to_report():
    model = read(link("base"), link("arm"), joint("j", "base", "arm", inside='<dynamics friction="0"/>'))
    assert model.report.ignored == {}


def test_mimic_joints_keep_their_coordinate_and_are_reported():
    model = read(
        *TWO_LINKS,
        link("tip"),
        joint("k", "arm", "tip", inside='<mimic joint="hinge" multiplier="-2" offset="0.5"/>'),
    )
    assert len(model.joints) == 2
    (mimic,) = model.report.mimic_joints
    assert (mimic.joint, mimic.master, mimic.multiplier, mimic.offset) == ("k", "hinge", -2, 0.5)
    assert "line 6: joint 'k' mimics 'hinge' (q = -2 q_hinge +0.5)" in warnings_of(model)


def test_a_mimic_joint_follows_one_to_one_unless_it_says_otherwise():
    model = read(*TWO_LINKS, link("tip"), joint("k", "arm", "tip", inside='<mimic joint="hinge"/>'))
    (mimic,) = model.report.mimic_joints
    assert (mimic.multiplier, mimic.offset) == (1, 0)


def test_mimic_of_a_fixed_joint_has_no_effect():
    model = read(*TWO_LINKS, link("tip"), joint("k", "arm", "tip", "fixed", '<mimic joint="hinge"/>'))
    assert model.report.mimic_joints == []
    assert "one of them does not have exactly one coordinate: the coupling is left out" in warnings_of(model)


TRIANGLE = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>'
NEGATIVE = '<inertia ixx="-1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'


def test_impossible_inertias_are_loaded_as_written_with_a_warning():
    model = read(link("a", 2, TRIANGLE), link("b", 1, NEGATIVE), link("c"))
    assert model.report.impossible_inertias == ["a", "b"]
    assert "2 links have inertias that no physical body has, loaded as written: 'a', 'b'" in warnings_of(
        model
    )
    assert 'line 2: <link name="a">: no physical body has this inertia' in warnings_of(model)
    np.testing.assert_array_equal(model.links[0].M_BBo_B.calc_rotational_inertia(), np.diag([1.0, 1.0, 5.0]))
    np.testing.assert_array_equal(model.links[1].M_BBo_B.calc_rotational_inertia(), np.diag([-1.0, 1.0, 1.0]))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (link("a", 2, TRIANGLE), "No physical body has this inertia"),
        (link("a", 1, '<inertia ixx="1" iyy="1" izz="1"/>'), "has no ixy, ixz, iyz"),
        ("<force_element/>", "<force_element>: mbt does not support it"),
        (joint("j", "world", "base", "fixed") + transmission("j"), "not have exactly one degree"),
        (transmission("j", "", ""), "it has no <type>"),
        (transmission("j", "", "Differential"), "its type 'Differential' is not SimpleTransmission"),
        (
            joint("j", "world", "base", inside='<limit effort="0"/>') + transmission("j"),
            "joint 'j' has an effort limit of zero",
        ),
    ],
)
def test_strict_refuses_what_is_loaded_with_a_warning(part, message):
    assert message.lower()[-20:] in warnings_of(read(link("base"), part)).lower()
    with pytest.raises(ParseError, match=message) as caught:
        read(link("base"), part, strict=True)
    assert caught.value.line == 3


@pytest.mark.parametrize("strict", [False, True])
def test_inertia_without_mass_is_kept(strict):
    """A rotor's, impossible for a body with mass; rotated with its frame, the same about every point."""
    rotor = (
        '<link name="rotor"><inertial><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="0"/>'
        '<inertia ixx="0" iyy="0.35" izz="0" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    model = read(rotor, strict=strict)
    M_BBo_B = model.links[0].M_BBo_B
    assert M_BBo_B.mass == 0.0
    np.testing.assert_allclose(M_BBo_B.as_matrix6(), np.diag([0.35, 0, 0, 0, 0, 0]), atol=1e-15)
    assert model.report.warnings == []


def test_massless_joints_are_reported():
    parts = [
        link("base"),
        link("hub", None),
        joint("j", "base", "hub"),
        link("tip", None),
        joint("k", "hub", "tip", "fixed"),
    ]
    assert "joint 'j' moves links without mass" in warnings_of(read(*parts))
    rotor = transmission("j", '<drake:rotor_inertia value="1"/>')
    assert read(*parts, rotor).report.warnings == []
    assert read(*parts, link("load"), joint("l", "tip", "load", "fixed")).report.warnings == []


# Refusals.

ARM = link("arm")
BASE = link("base")
J = joint("j", "base", "arm")


@pytest.mark.parametrize(
    ("parts", "line", "message"),
    [
        ([], 1, "the robot has no <link>"),
        ([BASE, ARM, "<joint/>"], 4, "the attribute 'name' is missing"),
        (["<link/>"], 2, "the attribute 'name' is missing"),
        ([link("")], 2, "the attribute 'name' is empty"),
        ([BASE, ARM, joint(" ", "base", "arm")], 4, "the attribute 'name' is empty"),
        ([BASE, ARM, BASE], 4, "a link of this name already, in line 2"),
        ([BASE + BASE], 2, "a link of this name already, in line 2"),
        ([BASE, ARM, J, link("tip"), joint("j", "arm", "tip")], 6, "a joint of this name already, in line 4"),
        (
            [BASE, ARM, '<joint name="j"><parent link="base"/><child link="arm"/></joint>'],
            4,
            "'type' is missing",
        ),
        ([BASE, ARM, joint("j", "base", "arm", "planar", '<axis xyz="0 0 0"/>')], 4, "its axis is zero"),
        (
            [BASE, ARM, joint("j", "base", "arm", "planar", '<dynamics damping="1 2"/>')],
            4,
            "expected a number",
        ),
        (
            [BASE, ARM, joint("j", "base", "arm", "planar", '<dynamics damping="1 2 -3"/>')],
            4,
            "damping = -3: expected a number >= 0",
        ),
        (
            [BASE, ARM, joint("j", "base", "arm", "ball")],
            4,
            "unknown type 'ball'(?s:.*)<drake:joint type=.ball.>",
        ),
        ([BASE, ARM, drake_joint("revolute")], 4, "are ball, curvilinear, planar, screw, universal"),
        ([BASE, ARM, drake_joint("revolute")], 4, "write <joint type=.revolute.>"),
        ([BASE, ARM, J, drake_joint("ball")], 5, "there is a joint of this name already, in line 4"),
        ([BASE, ARM, drake_joint("screw")], 4, "the element <drake:screw_thread_pitch> is missing"),
        (
            [
                BASE,
                ARM,
                drake_joint(
                    "curvilinear", '<drake:curves><drake:line_segment length="1e-320"/></drake:curves>'
                ),
            ],
            4,
            "length = 9.99989e-321 is too small",
        ),
        ([BASE, ARM, joint("j", "base", "arm", "hinge")], 4, "unknown type 'hinge'"),
        ([BASE, ARM, '<joint name="j" type="fixed"><child link="arm"/></joint>'], 4, "<parent> is missing"),
        ([BASE, ARM, '<joint name="j" type="fixed"><parent link="base"/></joint>'], 4, "<child> is missing"),
        ([BASE, ARM, joint("j", "base", "arm", inside="<axis/>")], 4, "'xyz' is missing"),
        ([BASE, ARM, joint("j", "base", "arm", inside='<axis xyz="0 0 0"/>')], 4, "axis is zero"),
        ([BASE, ARM, joint("j", "base", "arm", inside='<axis xyz="0 0"/>')], 4, "expected 3 numbers"),
        ([BASE, ARM, joint("j", "base", "arm", inside='<origin xyz="0 nan 0"/>')], 4, "expected 3 numbers"),
        ([BASE, ARM, joint("j", "base", "arm", inside='<dynamics damping="-1"/>')], 4, "damping = -1"),
        ([BASE, ARM, joint("j", "base", "arm", inside='<dynamics friction="x"/>')], 4, "expected a number"),
        ([BASE, ARM, joint("j", "base", "arm", inside="<mimic/>")], 4, "'joint' is missing"),
        ([BASE, ARM, joint("j", "bse", "arm")], 4, "parent link 'bse' does not exist"),
        ([BASE, ARM, joint("j", "base", "amr")], 4, "child link 'amr' does not exist"),
        ([BASE, ARM, joint("j", "arm", "arm")], 4, "connects link 'arm' to itself"),
        ([BASE, joint("j", "world", "world")], 3, "connects link 'world' to itself"),
        ([BASE, ARM, J, joint("k", "world", "arm")], 5, r"'arm' has two parents: joint 'j' \(line 4\)"),
        ([BASE, ARM, J, joint("k", "base", "arm")], 5, "'arm' has two parents"),
        ([BASE, ARM, J, joint("k", "arm", "base")], 5, "joints form a loop"),
        (
            [
                BASE,
                ARM,
                link("c"),
                link("d"),
                joint("a", "arm", "c"),
                joint("b", "c", "d"),
                joint("e", "d", "arm"),
            ],
            8,
            "joints form a loop: 'c' -> 'd' -> 'arm' -> 'c'|joints form a loop: 'arm' -> 'c' -> 'd' -> 'arm'",
        ),
        ([ARM, joint("a", "world", "arm"), joint("b", "arm", "world")], 4, "joints form a loop"),
        ([BASE, '<link name="b"><inertial/></link>'], 3, "<mass> is missing"),
        ([BASE, link("b", 1, "<inertia/>")], 3, "'ixx' is missing"),
        ([BASE, link("b", -1)], 3, '<link name="b">: mass = -1: a mass cannot be negative'),
        ([BASE, link("b", "1.5kg")], 3, "expected a number"),
        ([BASE, link("b", 1e308, origin='<origin xyz="1e10 0 0"/>')], 3, "overflow a float"),
        ([BASE, link("b", 5e-324)], 3, "overflow a float"),
        ([BASE, ARM, J, transmission("j", '<drake:rotor_inertia value="-1"/>')], 5, "rotor_inertia = -1"),
        ([BASE, ARM, J, transmission("j", "<drake:gear_ratio/>")], 5, "'value' is missing"),
        (
            [BASE, ARM, J, transmission("j", '<drake:gear_ratio value="1e200"/>')],
            5,
            "gear_ratio = 1e.200 goes beyond",
        ),
        (
            [
                BASE,
                ARM,
                J,
                transmission("j", '<drake:gear_ratio value="1e100"/><drake:rotor_inertia value="1e200"/>'),
            ],
            5,
            "rotor_inertia and gear_ratio go beyond",
        ),
        ([BASE, '<frame name="f" link="arm"/>'], 3, "its link 'arm' does not exist"),
        ([BASE, '<frame name="base" link="base"/>'], 3, "a frame of this name already"),
        (
            [BASE, '<frame name="f" link="base"/>', '<frame name="f" link="base"/>'],
            4,
            "a frame of this name already",
        ),
        ([BASE, ARM, '<drake:joint name="j" type="ball"/>'], 4, "<parent> is missing"),
    ],
)
def test_what_is_refused_with_its_line(parts, line, message):
    with pytest.raises(ParseError, match=message) as caught:
        read(*parts)
    assert caught.value.line == line
    assert caught.value.file == "<text>"
    assert caught.value.element


@pytest.mark.parametrize(
    ("tag", "what"),
    [("mujocoinclude", "this is a part of MJCF"), ("html", "not a robot")],
)
def test_other_formats(tag, what):
    with pytest.raises(ParseError, match=f"<{tag}>: .*{what}.*: expected <robot> .URDF., <sdf>"):
        describe(f"<{tag}/>")


def test_a_long_loop_is_shortened():
    count = 5000
    parts = [link(f"l{i}") for i in range(count)]
    parts += [joint(f"j{i}", f"l{i}", f"l{(i + 1) % count}") for i in range(count)]
    with pytest.raises(ParseError, match=r"\(5000 links\)") as caught:
        read(*parts)
    assert len(str(caught.value)) < 500
