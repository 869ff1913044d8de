"""The reader's repairs: each row of the table in docs/reading.md, and its refusal when strict."""

import re
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from support import sdf_texts as sdf
from support.urdf_texts import BOX, TWO_LINKS, describe, joint, link, robot, transmission

BASE, ARM = link("base"), link("arm")
PAGE = Path(__file__).parents[2] / "docs" / "reading.md"
FLAT = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>'
ZERO = '<inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/>'


def on_arm(inside, kind="continuous"):
    """A joint on line 4."""
    return robot(BASE, ARM, joint("j", "base", "arm", kind, inside))


# Row of the table, text, line of the fault, beginning of the warning.
CASES = [
    (
        "gravity, springs, joints, or plugins",
        robot(*TWO_LINKS, '<gazebo reference="arm"><turnGravityOff>1</turnGravityOff></gazebo>'),
        5,
        "<turnGravityOff>: Gazebo is told that gravity does not act on arm",
    ),
    (
        "a periodic path of a curvilinear joint",
        robot(
            BASE,
            ARM,
            '<drake:joint name="j" type="curvilinear"><parent link="base"/><child link="arm"/>',
            '<drake:is_periodic value="true"/><drake:curves><drake:line_segment length="1"/></drake:curves>',
            "</drake:joint>",
        ),
        5,
        "<drake:curves>: the path is periodic, but ends 1 m and 0 degrees",
    ),
    (
        "a negative limit of velocity, effort or acceleration",
        on_arm('<limit velocity="-1"/>'),
        4,
        '<joint name="j">: velocity = -1: a limit of velocity cannot be negative',
    ),
    (
        "a negative limit of velocity, effort or acceleration",
        on_arm('<limit effort="-20"/>'),
        4,
        '<joint name="j">: effort = -20',
    ),
    (
        "a negative limit of velocity, effort or acceleration",
        on_arm('<limit drake:acceleration="-3"/>'),
        4,
        '<joint name="j">: drake:acceleration = -3',
    ),
    (
        "stray quotes, commas or semicolons",
        on_arm("<limit velocity='2.3\"'/>"),
        4,
        """<limit>: velocity='2.3"' has stray characters""",
    ),
    (
        "stray quotes, commas or semicolons",
        on_arm('<axis xyz="0, 0, 1;"/>'),
        4,
        "<axis>: xyz='0, 0, 1;' has stray characters",
    ),
    ("a transmission without a joint", robot(*TWO_LINKS, transmission("k")), 5, "joint 'k' does not exist"),
    (
        "a transmission without a joint",
        robot(*TWO_LINKS, '<transmission type="SimpleTransmission"/>'),
        5,
        "it has no <joint>",
    ),
    (
        "a transmission without a type",
        robot(*TWO_LINKS, transmission("hinge", "", "")),
        5,
        "it has no <type>",
    ),
    (
        "a transmission for a joint that does not have exactly one",
        robot(BASE, ARM, joint("j", "base", "arm", "fixed"), transmission("j")),
        5,
        "does not have exactly one degree of freedom",
    ),
    (
        "two actuators with the same name",
        robot(*TWO_LINKS, transmission("hinge"), transmission("hinge")),
        6,
        '<actuator name="hinge_motor">: there is an actuator of this name already',
    ),
    (
        "a shape with an invalid number",
        robot(BASE, '<link name="arm"><visual><geometry><sphere radius="x"/></geometry></visual></link>'),
        3,
        "<sphere>: radius='x': expected a number",
    ),
    (
        "a colour that is not four numbers",
        robot('<material name="red"><color rgba="1 0 0"/></material>', BASE),
        2,
        "<color>: rgba='1 0 0': expected 4 numbers from 0 to 1",
    ),
    ("a mimic that follows a missing joint", on_arm('<mimic joint="k"/>'), 4, "'k', which does not exist"),
    ("a mimic that follows a missing joint", on_arm('<mimic joint="j"/>'), 4, "it mimics itself"),
    (
        "a mimic that follows a missing joint",
        robot(
            BASE,
            ARM,
            link("tip"),
            joint("j", "base", "arm", inside='\n<mimic joint="k"/>'),
            joint("k", "arm", "tip", inside='\n<mimic joint="j"/>'),
        ),
        8,
        "<joint name=\"k\">: it mimics 'j', which mimics it in turn",
    ),
    (
        "a mimic in which either joint does not have exactly one",
        robot(*TWO_LINKS, link("tip"), joint("k", "arm", "tip", "fixed", '<mimic joint="hinge"/>')),
        6,
        "one of them does not have exactly one coordinate",
    ),
    (
        "reversed limits: lower > upper",
        on_arm('<limit lower="1" upper="-1"/>', "revolute"),
        4,
        "its limits are reversed, 1 > -1",
    ),
    (
        "a revolute or prismatic joint without limits",
        on_arm("", "revolute"),
        4,
        "is revolute without <limit>",
    ),
    (
        "a limit without `lower`",
        on_arm('<limit effort="3" upper="2"/>', "prismatic"),
        4,
        "its <limit> has no lower",
    ),
    ("mass without `<inertia>`", robot(link("base", 2, "")), 2, '<link name="base">: it has a mass without'),
    (
        "`<inertial>` without `<mass>`",
        robot(f'<link name="base"><inertial>{ZERO}</inertial></link>'),
        2,
        "its <inertial> has no <mass>, and all moments are zero",
    ),
    (
        "`<inertia>` without a product",
        robot(link("base", 2, '<inertia ixx="1" iyy="1" izz="1" ixz="0"/>')),
        2,
        "has no ixy, iyz",
    ),
    ("an inertia that no physical body has", robot(link("base", 2, FLAT)), 2, "no physical body has"),
    ("a second `<axis>`", on_arm('<axis xyz="0 1 0"/><axis xyz="0 0 1"/>'), 4, "has a second <axis>"),
    ("a second `<axis>`", robot(link("base", 1, BOX + FLAT)), 2, "has a second <inertia>"),
    ("a second `<axis>`", on_arm('\n<parent link="arm"/>'), 5, "has a second <parent>"),
    ("several links without a parent", robot(BASE, ARM), 1, "no joint connects 2 parts"),
    (
        "elements of xacro",
        robot(BASE, "<xacro:arm/>", "<xacro:arm/>"),
        3,
        "<xacro:arm>: it is a macro of xacro, as are 1 more",
    ),
    ("elements of xacro", robot(link("base").replace("<inertial", "\n<xacro:box/><inertial")), 3, "xacro"),
    ("elements of xacro", robot(link("${side}_base")), 2, "a macro that xacro would expand"),
    (
        "force elements and constraints",
        robot(BASE, "<force_element/>"),
        3,
        "<force_element>: mbt does not support it",
    ),
    (
        "blanks before `<?xml`",
        b'\n\n<?xml version="1.0"?>\n' + robot(BASE).encode(),
        3,
        r"blanks before <\?xml",
    ),
    (
        "an XML declaration that is malformed",
        f'<?xml verzion="7"?>{robot(BASE)}'.encode(),
        1,
        "the XML declaration is malformed",
    ),
    ("`--` in a comment", robot(BASE, "<!-- a -- b\n --- -->"), 3, "'--' stands in a comment"),
    (
        "`&nbsp;` and other HTML entities",
        robot(BASE, "<a>&nbsp;</a>", "<b>&nbsp;</b>"),
        3,
        r"&nbsp; is an entity of HTML.*\(2 t",
    ),
    ("an `&` that stands alone", robot(BASE, "<a>R & D</a>"), 3, "'&' stands alone"),
    ("bytes that are not UTF-8", robot(BASE, "<a>é</a>").encode("latin-1"), 3, "a byte is not UTF-8"),
    (
        "an unknown encoding",
        ('<?xml version="1.0" encoding="klingon"?>' + robot(BASE)).encode(),
        1,
        "encoding 'klingon' is not known",
    ),
    (
        "an unknown encoding",
        ('<?xml version="1.0" encoding="utf-16"?>' + robot(BASE)).encode(),
        1,
        "encoding 'utf-16' is not that of this text",
    ),
    (
        "elements, or end tags, after the root",
        robot(BASE) + "\n</robot>",
        4,
        "there is more after the root element",
    ),
]


def rows_of_page():
    table = PAGE.read_text(encoding="utf-8").split("| what is wrong | what is done |")[1].split("\n\n")[0]
    return re.findall(r"^\| (.*?) \| .* \|$", table, re.MULTILINE)


@pytest.mark.parametrize(("row", "text", "line", "message"), CASES)
def test_a_repair(row, text, line, message):
    """The text is read with one warning that has the line; when strict, it is refused at that line."""
    model = describe(text)
    found = [warning for warning in model.report.warnings if re.search(message, warning.text)]
    assert line in [warning.line for warning in found]
    with pytest.raises(ParseError, match=f"(?i){message}") as caught:
        describe(text, strict=True)
    assert caught.value.line == line
    assert "strict=False" in caught.value.hint
    # Only the fault itself, named once.
    told = next(warning.text for warning in found if warning.line == line)
    assert told.startswith(str(caught.value).partition(": ")[2].partition("\n")[0]) or "inertia" in row
    assert caught.value.element is None or caught.value.element not in caught.value.message
    with pytest.warns(mbt.ModelWarning, match=message):
        tree = mbt.load_model(text)
    assert tree.is_finalized
    assert tree.parse_reports[0].warnings == model.report.warnings


def test_the_page_lists_what_is_tested():
    rows = rows_of_page()
    assert len(rows) == 31
    for row in rows:
        assert any(row.startswith(case[0]) for case in CASES), row
    for case in CASES:
        assert any(row.startswith(case[0]) for row in rows), case[0]


# The models that result from repairs.


def test_numbers_among_stray_characters():
    (j,) = describe(on_arm("<axis xyz=\"0, '3' ;4\"/><dynamics damping='0.5\"'/>")).joints
    assert (j.axis, j.damping) == ([0, 3, 4], (0.5,))
    text = sdf.joint(
        "j", "a", "b", inside='<axis><xyz>0, 0, 2"</xyz><limit><velocity>2.356"</velocity></limit></axis>'
    )
    with pytest.warns(mbt.ModelWarning, match="'2.356\"' has stray characters: read as '2.356'"):
        tree = mbt.load_model(sdf.robot(sdf.link("a"), sdf.link("b"), text))
    joint_of_sdf = tree.get_joint_by_name("j")
    assert joint_of_sdf.velocity_upper_limits.tolist() == [2.356]
    assert joint_of_sdf.revolute_axis.tolist() == [0, 0, 1]


@pytest.mark.parametrize("text", ["1,5", "1.5kg", "1;2", '"', ",", "0,0,1"])
def test_what_may_mean_several_things_is_refused(text):
    with pytest.raises(ParseError, match="expected a number"):
        describe(on_arm(f"<limit velocity='{text}'/>"))


def test_negative_limits_are_none():
    limit = '<limit lower="-1" upper="1" effort="-3" velocity="-2" drake:acceleration="-1"/>'
    model = describe(on_arm(limit, "revolute"))
    assert tuple(model.joints[0].limits) == (-1, 1, np.inf, np.inf, np.inf)
    assert len(model.report.warnings) == 3


def test_limits_that_are_none():
    (j,) = describe(on_arm('<limit lower="1" upper="-1" effort="3" velocity="2"/>', "revolute")).joints
    assert tuple(j.limits) == (-np.inf, np.inf, 2, np.inf, 3)
    (j,) = describe(on_arm('<limit upper="2"/>', "revolute")).joints
    assert tuple(j.limits)[:2] == (-np.inf, 2)


def test_a_point_mass():
    (base,) = describe(robot(link("base", 2, "", '<origin xyz="0 0 0.5"/>'))).links
    np.testing.assert_allclose(base.M_BBo_B.calc_rotational_inertia(), np.diag([0.5, 0.5, 0]), atol=1e-16)
    assert not base.M_BBo_B.calc_central_inertia().any()


def test_no_mass():
    text = robot(f'<link name="base"><inertial>{ZERO}</inertial></link>')
    (base,) = describe(text).links
    assert base.mass == 0.0
    assert not base.M_BBo_B.calc_rotational_inertia().any()
    with pytest.raises(ParseError, match="the element <mass> is missing"):
        describe(text.replace('iyy="0"', 'iyy="1"'))


def test_the_first_of_two_elements_counts():
    (j,) = describe(on_arm('<axis xyz="0 1 0"/><axis xyz="0 0 1"/><axis xyz="0 0 0"/>')).joints
    assert j.axis == [0, 1, 0]
    second = link("base", 1).replace("</link>", '<inertial><mass value="7"/></inertial></link>')
    (base,) = describe(robot(second)).links
    assert base.mass == 1
    (j,) = describe(on_arm('<parent link="nowhere"/>')).joints
    assert j.parent == "base"


def test_transmissions_that_are_left_out_leave_the_others():
    text = robot(
        *TWO_LINKS, transmission("k"), transmission("hinge"), transmission("hinge"), transmission("hinge")
    )
    model = describe(text)
    assert [actuator.name for actuator in model.actuators] == [
        "hinge_motor",
        "hinge_motor_2",
        "hinge_motor_3",
    ]
    assert not [path for path in model.report.ignored if "transmission" in path]


def test_a_mimic_without_master_leaves_the_others():
    text = robot(
        *TWO_LINKS,
        link("tip"),
        joint("k", "arm", "tip", inside='<mimic joint="hinge"/>'),
        link("end"),
        joint("l", "tip", "end", inside='<mimic joint="nobody"/>'),
    )
    assert [mimic.joint for mimic in describe(text).report.mimic_joints] == ["k"]


@pytest.mark.parametrize(
    "text",
    [
        robot("<xacro:arm/>"),
        robot(BASE, "<xacro:arm/>", joint("j", "base", "arm")),
        robot(BASE, joint("j", "base", "${arm}")),
        robot(link("base", "${mass}")),
        robot(link("base", 1, origin='<origin xyz="0 0 $(arg height)"/>')),
        on_arm("", "${type}"),
    ],
)
def test_xacro_is_named_where_it_breaks_a_model(text):
    with pytest.raises(ParseError, match="expand it with xacro first"):
        describe(text)


def test_several_repairs_are_one_warning():
    text = "<!-- a -- b -->\n" + on_arm('<axis xyz="0 0 1"/><axis xyz="0 0 1"/>', "revolute")
    with pytest.warns(mbt.ModelWarning) as caught:
        tree = mbt.load_model(text)
    assert len(caught) == 1
    assert [warning.line for warning in tree.parse_reports[0].warnings] == [1, 5, 5]


def test_a_name_of_any_length_makes_a_short_message():
    name = "n" * 3000
    for parts in (
        [link(name), link(name)],
        [link(name), joint(name, name, "m" * 3000)],
        [link(name), link("b"), joint(name, name, "b", "x" * 3000)],
        [link(name, -1)],
    ):
        with pytest.raises(ParseError) as caught:
            describe(robot(*parts))
        assert len(str(caught.value)) < 600
    model = describe(robot(link(name, 1, FLAT), link("b"), transmission(name)))
    assert max(len(str(warning)) for warning in model.report.warnings) < 600


# Which part moves.


def test_what_moves_without_mass_is_on_the_far_side_of_world():
    """A joint that points towards World moves its parent."""
    parts = [
        link("toe", None),
        link("foot"),
        joint("ankle", "toe", "foot"),
        joint("ground", "foot", "world", "fixed"),
    ]
    assert "joint 'ankle' moves links without mass" in str(describe(robot(*parts)).report)
    parts = [
        link("toe"),
        link("foot", None),
        joint("ankle", "toe", "foot"),
        joint("ground", "foot", "world", "fixed"),
    ]
    assert describe(robot(*parts)).report.warnings == []


# Magnitudes.


def test_masses_that_overflow_are_refused():
    text = robot(link("a", 1e308), link("b", 1e308), joint("j", "a", "b", "fixed"))
    with pytest.raises(ParseError, match="masses of its links add up to more than a float can hold"):
        describe(text)


@pytest.mark.parametrize(
    "text",
    [
        robot(
            BASE,
            link("arm", 1e300),
            joint("j", "base", "arm"),
            link("tip"),
            joint("k", "arm", "tip", inside='<origin xyz="1e10 0 0"/>'),
        ),
        on_arm('<origin xyz="1e200 0 0"/>'),
    ],
)
def test_a_mass_matrix_that_overflows_is_worth_a_warning(text):
    assert "the mass matrix is not finite" in str(describe(text).report)


def test_large_but_finite_is_no_reason_to_warn():
    text = robot(BASE, link("arm", 1e100), joint("j", "base", "arm", inside='<origin xyz="1e50 0 0"/>'))
    assert describe(text).report.warnings == []
    assert np.isfinite(mbt.functional.mass_matrix(mbt.load_model(text), np.zeros(1))).all()


@pytest.mark.oracle
@pytest.mark.parametrize(
    "text",
    [
        robot(*TWO_LINKS, transmission("k"), transmission("hinge"), transmission("hinge")),
        on_arm('<mimic joint="k"/><axis xyz="0 1 0"/><axis xyz="0 0 1"/>'),
        on_arm('<parent link="nowhere"/><axis xyz="1 2 3"/>'),
        robot(*TWO_LINKS, "<!-- a -- b -->", "<a>R & D &nbsp;</a>", "<xacro:arm/>"),
        "\n" + '<?xml version="1.0"?>' + robot(BASE, link("arm", 2, BOX + FLAT), joint("j", "base", "arm")),
    ],
)
def test_what_pinocchio_makes_of_it(text):
    """Pinocchio, for which most of these files were written, computes the same mass matrix."""
    pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    model = pin.buildModelFromXML(text)
    q = pin.integrate(model, pin.neutral(model), np.array([0.3]))
    with pytest.warns(mbt.ModelWarning):
        tree = mbt.load_model(text)
    M = mbt.functional.mass_matrix(tree, np.array([0.3]))
    np.testing.assert_allclose(M, pin.crba(model, model.createData(), q), rtol=1e-14)
