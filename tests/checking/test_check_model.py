"""The linter: each rule finds its fault, reports line, element and cure, and leaves sound models alone."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import mbt
from mbt.checking import CheckReport, Finding, repair_urdf
from mbt.checking.mass_properties import nearest_possible_moments
from mbt.models import model_names, model_path

INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'


def robot(
    *, link: str = "", joint: str = "", mass: float = 1.0, inertia: str = INERTIA, more: str = ""
) -> str:
    """A hinge with a link, whose parts are in lines 4, 5, 7, 8 and 9."""
    return f"""<robot name="bot">
<link name="base"/>
<link name="arm">
  <inertial><mass value="{mass}"/>
    {inertia}</inertial>
  {link}</link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
  {joint or '<limit lower="-1" upper="1" effort="5" velocity="2"/>'}
</joint>
{more}</robot>"""


def the_finding(text: str, rule: str) -> Finding:
    report = mbt.check_model(text)
    (finding,) = report.of_rule(rule)
    assert report.findings == (finding,), report
    assert finding.file == "<text>"
    return finding


def test_a_sound_model_has_no_findings():
    report = mbt.check_model(robot())
    assert report == CheckReport("<text>", "bot", (), is_readable=True)
    assert report.worst is None
    assert str(report) == "<text>: nothing found"


@pytest.mark.parametrize("name", model_names())
def test_models_that_come_with_mbt_have_no_findings(name):
    assert mbt.check_model(model_path(name)).findings == ()


# Mass properties.


def test_an_impossible_inertia_and_the_nearest_possible_one():
    bad = '<inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/>'
    finding = the_finding(robot(inertia=bad), "impossible-inertia")
    assert (finding.severity, finding.line, finding.element) == ("error", 3, "link 'arm'")
    numbers = dict(re.findall(r"(i\w\w)=(\S+)", finding.cure))
    I = np.diag([float(numbers[f"i{x}{x}"]) for x in "xyz"])  # noqa: E741 - the field's symbol
    assert mbt.SpatialInertia.make_from_central_inertia(1.0, [0, 0, 0], I).is_physically_valid()
    # The nearest of all valid inertias with this mass and mass centre, in the norm of second moments.
    np.testing.assert_allclose(np.diag(I), [1.5, 1.5, 3.0], rtol=2e-4)


def test_the_nearest_inertia_is_the_nearest():
    rng = np.random.default_rng(3)
    for _ in range(20):
        A = rng.standard_normal((3, 3))
        bad = A @ np.diag([1.0, 1.2, 4.0]) @ np.linalg.inv(A)
        bad = (bad + bad.T) / 2
        nearest = nearest_possible_moments(bad)

        def second(I):  # noqa: E741
            return np.trace(I) / 2 * np.eye(3) - I

        values = np.linalg.eigvalsh(second(nearest))
        assert values[0] > 0.0
        distance = np.linalg.norm(second(nearest) - second(bad))
        for _ in range(50):
            B = rng.standard_normal((3, 3)) * 0.2
            step = second(nearest) + B + B.T
            if np.linalg.eigvalsh(step)[0] >= values[0]:
                assert np.linalg.norm(step - second(bad)) >= distance - 1e-12


def test_what_rounding_does_is_a_note():
    rod = '<inertia ixx="0.333" iyy="0.3333" izz="0.0" ixy="0" ixz="0" iyz="0"/>'
    assert the_finding(robot(inertia=rod), "impossible-inertia").severity == "note"


def test_a_negative_moment():
    bad = '<inertia ixx="-1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    report = mbt.check_model(robot(inertia=bad))
    (finding,) = report.of_rule("impossible-inertia")
    assert "a principal moment is negative" in finding.message


@pytest.mark.parametrize(
    ("mass", "shape", "rule", "what"),
    [
        (5.0, "<sphere radius='0.01'/>", "density", "denser than any metal"),
        (1.0, "<box size='2 2 2'/>", "density", "lighter than air"),
    ],
)
def test_mass_against_size(mass, shape, rule, what):
    scale = mass * (4e-5 if "sphere" in shape else 0.6)
    inertia = f'<inertia ixx="{scale}" iyy="{scale}" izz="{scale}" ixy="0" ixz="0" iyz="0"/>'
    mass = 0.9 if "box" in shape else mass
    text = robot(mass=mass, inertia=inertia, link=f"<collision><geometry>{shape}</geometry></collision>")
    if "box" in shape:
        text = text.replace("2 2 2", "3 3 3")
    finding = the_finding(text, rule)
    assert what in finding.message
    assert finding.severity == "warning"


def test_inertia_against_size():
    # In kg mm^2.
    inertia = INERTIA.replace("0.01", "10")
    text = robot(inertia=inertia, link="<collision><geometry><sphere radius='0.1'/></geometry></collision>")
    finding = the_finding(text, "inertia-and-size")
    assert "a body of about 6.32 m, but its shapes reach 0.1 m" in finding.message
    huge = INERTIA.replace("0.01", "10000")
    assert "kg mm^2" in the_finding(robot(inertia=huge), "inertia-unit").message


def test_a_mesh_says_nothing_of_the_size():
    shapes = "".join(
        f"<collision><geometry>{shape}</geometry></collision>"
        for shape in ("<sphere radius='0.001'/>", "<mesh filename='none.stl'/>")
    )
    finding = the_finding(robot(link=shapes), "missing-mesh")
    assert finding.severity == "note"
    assert "the mesh 'none.stl' is not found" in finding.message
    assert finding.line == 3


def test_mass_centres_far_outside_of_the_shapes():
    shape = "<collision><geometry><sphere radius='0.1'/></geometry></collision>"
    text = robot(link=shape).replace("<mass", '<origin xyz="0 0 2"/><mass')
    finding = the_finding(text, "mass-centre")
    assert finding.message == "its mass centre (0, 0, 2) is 1.9 m outside of its shapes"


@pytest.mark.parametrize(("mass", "severity"), [(2e5, "warning"), (1e-9, "note")])
def test_masses_in_other_units(mass, severity):
    inertia = INERTIA.replace("0.01", f"{0.01 * mass:g}")
    assert the_finding(robot(mass=mass, inertia=inertia), "mass-unit").severity == severity


# Joints and lengths.


def test_angles_in_degrees():
    finding = the_finding(
        robot(joint='<limit lower="-90" upper="180" effort="1" velocity="1"/>'), "angle-unit"
    )
    assert (finding.severity, finding.element, finding.line) == ("warning", "joint 'hinge'", 7)
    assert finding.cure == "if so, write -1.57079633 and 3.14159265"
    joint = '<origin rpy="0 90 0"/><limit lower="-1" upper="1" effort="5" velocity="2"/>'
    finding = the_finding(robot(joint=joint), "angle-unit")
    assert finding.line == 8
    assert 'rpy="0 1.57079633 0"' in finding.cure


@pytest.mark.parametrize("limit", [3.1416, 6.2832, 10.0, 12.566, 25.0])
def test_angles_in_radians_are_not_taken_for_degrees(limit):
    bounds = f'lower="-{limit}" upper="{limit}"'
    joint = f'<origin rpy="0 {min(limit, 6.2832)} 0"/><limit {bounds} effort="1" velocity="9"/>'
    assert mbt.check_model(robot(joint=joint)).findings == ()


@pytest.mark.parametrize(
    ("limit", "rule", "severity", "what"),
    [
        ('lower="0" upper="0" effort="1" velocity="1"', "limits", "warning", "it cannot move"),
        ('lower="-1e6" upper="1e6" effort="1" velocity="1"', "limits", "note", "do not limit it"),
        (
            'lower="0.5" upper="1" effort="1" velocity="1"',
            "default-position",
            "note",
            "outside of its limits",
        ),
        ('lower="-1" upper="1" effort="0" velocity="1"', "limits", "note", "nothing drives it"),
        ('lower="-1" upper="1" effort="1" velocity="0"', "limits", "note", "velocity limit is zero"),
    ],
)
def test_limits(limit, rule, severity, what):
    finding = the_finding(robot(joint=f"<limit {limit}/>"), rule)
    assert finding.severity == severity
    assert what in finding.message


def test_lengths_in_millimetres():
    second = """<link name="hand"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link><joint name="wrist" type="continuous"><parent link="arm"/><child link="hand"/>
    <origin xyz="0 0 300"/></joint>"""
    assert "300 m from the origin" in the_finding(robot(more=second), "length-unit").message
    text = robot().replace("<mass", '<origin xyz="0 0 120"/><mass')
    assert "mass centre is 120 m" in the_finding(text, "length-unit").message
    shape = "<visual><geometry><box size='0.001 40 30'/></geometry></visual>"
    assert "a length of 40 m" in mbt.check_model(robot(link=shape)).of_rule("length-unit")[0].message


def test_axes():
    joint = '<axis xyz="0 3 4"/><limit lower="-1" upper="1" effort="5" velocity="2"/>'
    finding = the_finding(robot(joint=joint), "axis-length")
    assert finding.cure == 'write xyz="0 0.6 0.8"'


# Names and connections.


def test_names_that_occur_twice_and_links_that_are_not_there():
    joint = '<joint name="hinge" type="fixed"><parent link="armm"/><child link="base"/></joint>'
    text = robot(more=f'<link name="arm"/>\n{joint}')
    report = mbt.check_model(text)
    assert not report.is_readable
    assert [(f.rule, f.line, f.element) for f in report.findings] == [
        ("duplicate-name", 10, "link 'arm'"),
        ("duplicate-name", 11, "joint 'hinge'"),
        ("unknown-link", 11, "joint 'hinge'"),
    ]
    assert report.findings[2].cure == "did you mean 'arm'?"


def test_two_parents():
    more = '<joint name="other" type="fixed"><parent link="base"/><child link="arm"/></joint>'
    report = mbt.check_model(robot(more=more))
    assert [f.rule for f in report.findings] == ["two-parents"]
    assert "by joint 'hinge' in line 7" in report.findings[0].message


def test_links_that_nothing_connects():
    finding = the_finding(robot(more='<link name="lost"/>'), "repaired")
    assert "no joint connects 2 parts of the model, with the roots 'base', 'lost'" in finding.message


def test_mimics_are_as_their_author_wants_them():
    more = """<link name="end"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"
ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="follower" type="continuous"><parent link="arm"/><child link="end"/><mimic joint="hinge"/></joint>
"""
    finding = the_finding(robot(more=more), "mimic")
    assert finding.severity == "note"
    assert "'follower' mimics 'hinge' (q = 1 q_hinge)" in finding.message


def test_names_that_differ_in_case_only():
    joint = '<joint name="w" type="fixed"><parent link="arm"/><child link="Arm"/></joint>'
    finding = the_finding(robot(more=f'<link name="Arm"/>{joint}'), "similar-name")
    assert finding.severity == "note"


def test_what_cannot_be_read():
    for text, line in (("<robot", 1), (robot(mass="1kg"), 4), ("<html/>", 1)):
        report = mbt.check_model(text)
        assert not report.is_readable
        assert [(f.severity, f.rule, f.line) for f in report.findings] == [("error", "unreadable", line)]
    with pytest.raises(mbt.ParseError, match="there is no such file"):
        mbt.check_model("none.urdf")


# Dynamics.


def test_joints_that_no_mass_resists():
    joint = '<joint name="wrist" type="continuous"><parent link="arm"/><child link="tip"/></joint>'
    finding = the_finding(robot(more=f'<link name="tip"/>{joint}'), "massless")
    assert (finding.severity, finding.line, finding.element) == ("error", 10, "joint 'wrist'")
    assert "body 'tip' has no mass: forward dynamics has no solution" in finding.message
    assert finding.cure.startswith("Give body 'tip' mass and inertia")


def test_a_mass_matrix_that_is_nearly_singular():
    tiny = INERTIA.replace("0.01", "1e-9")
    more = f"""<link name="tip"><inertial><mass value="1e-6"/>{tiny}</inertial></link>
    <joint name="wrist" type="continuous"><parent link="arm"/><child link="tip"/></joint>
    <link name="load"><inertial><mass value="100"/>{INERTIA.replace("0.01", "10")}</inertial></link>
    <joint name="last" type="continuous"><parent link="tip"/><child link="load"/></joint>"""
    (finding,) = mbt.check_model(robot(more=more)).of_rule("mass-matrix")
    assert finding.severity == "warning"
    assert "wrist_w" in finding.message
    assert "last_w" in finding.message


def test_a_mass_matrix_that_is_not_finite():
    more = f"""<link name="far"><inertial><mass value="1e300"/>{INERTIA}</inertial></link>
    <joint name="j" type="fixed"><parent link="arm"/><child link="far"/><origin xyz="0 1e10 0"/></joint>"""
    report = mbt.check_model(robot(more=more))
    assert [f.rule for f in report.findings if f.severity == "error"] == ["mass-matrix"]


# Other formats, and the report.


def test_sdf_has_lines_too():
    text = """<sdf version="1.9"><model name="bot">
<link name="plate">
  <inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>3</izz></inertia></inertial>
</link>
</model></sdf>"""
    finding = the_finding(text, "impossible-inertia")
    assert finding.line == 2


def test_json_has_no_lines(tmp_path):
    tree = mbt.load_model(robot())
    mbt.save_model(tree, tmp_path / "bot.json")
    assert mbt.check_model(tmp_path / "bot.json").findings == ()


def test_the_report():
    text = robot(
        joint='<axis xyz="0 0 2"/><limit lower="-90" upper="90" effort="1" velocity="1"/>',
        inertia='<inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/>',
    )
    report = mbt.check_model(text)
    assert [f.severity for f in report.findings] == ["error", "warning", "note"]
    assert report.worst == "error"
    assert report.counts == {"error": 1, "warning": 1, "note": 1}
    assert report.summarize() == "1 error, 1 warning, 1 note"
    assert [len(report.at_least(s)) for s in ("error", "warning", "note")] == [1, 2, 3]
    assert json.loads(json.dumps(report.as_dict()))["findings"][0]["rule"] == "impossible-inertia"
    lines = str(report).splitlines()
    assert lines[0].startswith("<text>:3: error: link 'arm': no physical body has this inertia")
    assert lines[0].endswith("[impossible-inertia]")
    assert lines[-1] == "<text>: 1 error, 1 warning, 1 note"


# Repairs.


def test_repairs_change_what_has_one_cure_and_nothing_else():
    text = f"""<?xml version="1.0"?>
<!-- > a comment with ä -->
<robot name="bot">
  <link name="base"/>
  <link name="a&gt;b">
    <inertial><origin xyz="0.1 0 0" rpy="0.3 0.2 0.1"/><mass value='2'/>
      <inertia  ixx="1"  iyy="1"
                izz='3'  ixy="0.1" ixz="0" /></inertial>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a&gt;b"/>
    <axis xyz="0 0 -2"/><limit upper="-1" lower="1" effort="3" velocity="1"/></joint>
  <gazebo><plugin attr="a > b">{INERTIA}</plugin></gazebo>
</robot>
"""
    repaired, changes = repair_urdf(text)
    assert changes == (
        "line 7: link 'a>b': inertia replaced by the nearest possible one",
        "line 11: joint 'j': axis of length 1",
        "line 11: joint 'j': lower and upper limits swapped",
    )
    assert '<axis xyz="0 0 -1"/><limit upper="1" lower="-1" effort="3" velocity="1"/>' in repaired
    report = mbt.check_model(repaired)
    assert report.of_rule("impossible-inertia") == ()
    # The text is the same but for the attributes of three tags.
    strip = re.compile(r"""(ixx|iyy|izz|ixy|ixz|iyz|upper|lower|xyz)\s*=\s*(".*?"|'.*?')\s*""")
    assert strip.sub("", repaired).replace(" />", "/>") == strip.sub("", text).replace(" />", "/>")
    tree = mbt.load_model(repaired)
    (link,) = tree.bodies[2:]
    assert link.default_mass == 2.0
    assert repair_urdf(repaired) == (repaired, ())


def test_missing_products_of_inertia_become_zero():
    text, changes = repair_urdf(robot(inertia='<inertia ixx="1" iyy="1" izz="1"/>'))
    assert '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>' in text
    assert changes == ("line 5: link 'arm': zero for ixy, ixz, iyz",)


def test_only_urdf_is_repaired():
    for text in ("<sdf version='1.9'/>", "<robot"):
        with pytest.raises(mbt.ParseError):
            repair_urdf(text)
    with pytest.raises(mbt.ParseError, match="UTF-8"):
        repair_urdf('<?xml version="1.0" encoding="iso-8859-1"?><robot name="ä"/>'.encode("iso-8859-1"))


# Problems in simulation.


def damped(damping: float, inertia: float = 0.01) -> str:
    moments = " ".join(f'{name}="{inertia}"' for name in ("ixx", "iyy", "izz"))
    text = robot(inertia=f'<inertia {moments} ixy="0" ixz="0" iyz="0"/>', mass=1e-3)
    return text.replace("</joint>", f'<dynamics damping="{damping}"/></joint>')


def test_damping_too_stiff_for_the_default_step():
    """The rate d / I = 2500 1/s exceeds 2 / dt; 1900 does not."""
    finding = the_finding(damped(25.0), "stiff-damping")
    assert finding.element == "joint 'hinge'"
    assert "a rate of 2.5e+03 1/s: explicit steps are unstable beyond 0.0008 s" in finding.message
    assert mbt.check_model(damped(19.0)).findings == ()


def test_stiff_damping_is_that_of_the_whole():
    """Two hinges on one axis, neither of which is too stiff while the other one is free."""
    inertial = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
    text = '<robot name="r"><link name="base"/>'
    for parent, child in (("base", "a"), ("a", "b")):
        text += f'<link name="{child}">{inertial}</link><joint name="to_{child}" type="continuous">'
        text += f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/>'
        text += '<dynamics damping="8.5"/></joint>'
    tree = mbt.load_model(text + "</robot>")
    M = mbt.functional.mass_matrix(tree, np.zeros(2))
    rates = np.linalg.eigvals(np.linalg.solve(M, 8.5 * np.eye(2)))
    assert 8.5 * np.linalg.inv(M).max() < 2000.0 < rates.max()
    (finding,) = mbt.check_model(text + "</robot>").of_rule("stiff-damping")
    assert f"a rate of {rates.max():.3g} 1/s" in finding.message


MJCF = """<mujoco>{}<worldbody><body name="a"><joint name="j" range="-1.5 2.4" {}/><geom size="0.1"/>
<body name="b"><joint name="k" axis="0 1 0" range="0 {}"/><geom size="0.1"/></body></body></worldbody>
{}</mujoco>"""


def test_ranges_in_radians_that_are_read_as_degrees():
    pytest.importorskip("mujoco", reason="MJCF is read with mujoco")
    finding = the_finding(MJCF.format("", "", "1.57", ""), "degrees-for-radians")
    assert "no hinge has a range beyond 2.4 degrees" in finding.message
    assert finding.cure == 'if so, write <compiler angle="radian"/>'
    for compiler, last in (
        ('<compiler angle="radian"/>', "1.57"),
        ("", "90"),
        ('<compiler angle="degree"/>', "1"),
    ):
        assert not mbt.check_model(MJCF.format(compiler, "", last, "")).of_rule("degrees-for-radians")


def test_keyframes_outside_of_limits():
    pytest.importorskip("mujoco", reason="MJCF is read with mujoco")
    keys = '<keyframe><key name="home" qpos="1 0.5"/><key name="up" qpos="3 0.5"/></keyframe>'
    finding = the_finding(
        MJCF.format('<compiler angle="radian"/>', "", "1.57", keys), "keyframe-outside-limits"
    )
    assert finding.element == "joint 'j'"
    assert finding.message == "keyframe 'up' has it at 3, outside of -1.5 to 2.4"


def test_what_concerns_the_motion_comes_first():
    """Warnings of equal severity are ordered motion, mass, looks, whatever their lines."""
    visual = '<visual><geometry><sphere radius="x"/></geometry></visual>'
    text = robot(link=visual, mass=1e7, more="<force_element/>")
    report = mbt.check_model(text)
    effects = [finding.effect for finding in report.findings if finding.severity == "warning"]
    assert effects == sorted(effects, key=["motion", "mass", "looks"].index)
    assert set(effects) == {"motion", "mass", "looks"}
    with pytest.warns(mbt.ModelWarning) as caught:
        parsed = mbt.load_model(text).parse_reports[0]
    # The report keeps the order of the file; printed warnings begin with those about the motion.
    assert [remark.about for remark in parsed.warnings] == ["looks", ""]
    for shown in (str(caught[0].message), str(parsed)):
        assert shown.index("force_element") < shown.index("<sphere>")


# Extreme numbers.


@pytest.mark.filterwarnings("ignore::mbt.ModelWarning")
@pytest.mark.parametrize(
    "text",
    [
        robot(mass=1e308),
        robot(mass=5e-324),
        robot(inertia=INERTIA.replace("0.01", "1e308")),
        robot(inertia=INERTIA.replace("0.01", "0")),
        robot(link='<visual><geometry><box size="1e300 1 1"/></geometry></visual>'),
        robot(link='<collision><geometry><cylinder radius="1e200" length="1e200"/></geometry></collision>'),
        robot(link='<visual><origin xyz="1e300 1e300 0"/><geometry><sphere radius="1"/></geometry></visual>'),
        robot(joint='<origin xyz="1e300 1e300 1e300"/><limit lower="-1" upper="1"/>'),
        robot(joint='<origin xyz="1e160 0 0"/><limit lower="-1e308" upper="1e308" effort="1" velocity="1"/>'),
        damped(1e308),
        damped(1e-320, 1e-320),
    ],
)
def test_extreme_numbers_are_found_and_raise_nothing(text):
    assert mbt.check_model(text).findings


def test_an_element_whose_check_overflows_hides_no_other():
    bad = robot(link='<collision><geometry><cylinder radius="1e200" length="1e200"/></geometry></collision>')
    (finding,) = mbt.check_model(bad).of_rule("extreme-numbers")
    assert (finding.severity, finding.element, finding.line) == ("warning", "link 'arm'", 3)
    assert mbt.check_model(bad).of_rule("length-unit")
