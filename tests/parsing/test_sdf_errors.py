"""SDF that is refused or repaired."""

import pytest

import mbt
from mbt.errors import ParseError
from support.sdf_texts import joint, link, model, pose, robot, sdf, world

A, B = link("a"), link("b")
NUMBER = "<inertial><mass>{}</mass></inertial>"
AXIS = "<axis>{}</axis>"


def spring(first, second, free_length="1", stiffness="1"):
    parts = {
        "body_A": first,
        "body_B": second,
        "p_AP": "0 0 0",
        "p_BQ": "1 0 0",
        "free_length": free_length,
        "stiffness": stiffness,
        "damping": "0",
    }
    tag = "drake:linear_spring_damper"
    inside = "".join(f"<{tag}_{part}>{text}</{tag}_{part}>" for part, text in parts.items())
    return f"<{tag}>{inside}</{tag}>"


REFUSED = {
    "no links": (robot(), "1: <sdf>: there is no model with a <link>"),
    "an old version": (robot(A, version="1.3"), "1: <sdf>: its version is 1.3.*convert it first"),
    "names of links": (robot(A, B, A), '5: <link name="a">: there is a link of this name already, in line 3'),
    "names of models": (robot(model("m", A), model("m", A)), "there is a model of this name already"),
    "a reserved name": (robot(A, model("world", B)), '4: <model name="world">: this name is reserved'),
    "another reserved name": (robot(link("__model__")), "this name is reserved"),
    "a base": (
        robot(link("a", pose("", relative_to="c"))),
        "3: <link name=\"a\">: its frame 'c' does not exist",
    ),
    "a parent": (
        robot(link("arm"), B, joint("j", "arn", "b")),
        "5: .*: its parent 'arn' does not exist here.*mean 'arm'",
    ),
    "a child": (robot(A, joint("j", "a", "c")), "4: .*: its child 'c' does not exist"),
    "a child inside": (robot(A, model("m", B), joint("j", "a", "m::c")), "'m::c' does not exist"),
    "expressed_in": (
        robot(A, B, joint("j", "a", "b", inside=AXIS.format('<xyz expressed_in="c">1 0 0</xyz>'))),
        "'c' does not exist",
    ),
    "ends": (robot(A, "<joint name='j' type='fixed'><parent>a</parent></joint>"), "4: .*<child> is missing"),
    "one end": (robot(A, joint("j", "a", "a")), "4: .*: it connects 'a' to itself"),
    "a type": (robot(A, B, joint("j", "a", "b", "hinge")), "5: .*: unknown type 'hinge'.*revolute, "),
    "a screw that does not turn": (
        robot(A, B, joint("j", "a", "b", "screw", "<axis/><thread_pitch>0</thread_pitch>")),
        '5: <joint name="j">: thread_pitch = 0: a turn would move it infinitely far',
    ),
    "a screw that hardly turns": (
        robot(A, B, joint("j", "a", "b", "screw", "<axis/><thread_pitch>1e-320</thread_pitch>")),
        "thread_pitch = .*e-3..: a turn would move it infinitely far",
    ),
    "no type": (robot(A, B, joint("j", "a", "b").replace(' type="revolute"', "")), "'type' is missing"),
    "poses round a loop": (
        robot(link("a", pose("", relative_to="b")), link("b", pose("", relative_to="a"))),
        "its pose is relative to itself: 'a' -> 'b' -> 'a'",
    ),
    "frames round a loop": (
        robot(A, '<frame name="f" attached_to="g"/>', '<frame name="g" attached_to="f"/>'),
        "it is attached to itself: 'f' -> 'g' -> 'f'",
    ),
    "a frame on itself": (
        robot(A, '<frame name="f" attached_to="f">' + pose("", relative_to="a") + "</frame>"),
        "it is attached to itself: 'f' -> 'f'",
    ),
    "a spring without a body": (robot(A, "<drake:linear_spring_damper/>"), "4: .*_body_A> is missing"),
    "a spring on a frame": (
        robot(A, '<frame name="f" attached_to="a"/>', spring("f", "world")),
        "5: <drake:linear_spring_damper>: 'f' is a frame: expected a link",
    ),
    "a spring on one link": (robot(A, spring("a", "a")), "both of its ends are on 'a'"),
    "a spring on nothing": (robot(A, spring("", "a")), "4: .*_body_A>: it is empty: expected a name"),
    "a spring without a length": (
        robot(A, spring("a", "world", "0")),
        "free_length = 0: expected a number > 0",
    ),
    "a negative stiffness": (
        robot(A, spring("a", "world", "1", "-2")),
        "stiffness = -2: expected a number >= 0",
    ),
    "a placement frame": (robot(A, attributes='placement_frame="b"'), "placement frame 'b' does not exist"),
    "an axis": (
        robot(A, B, joint("j", "a", "b", inside=AXIS.format("<xyz>0 0 0</xyz>"))),
        "its axis is zero",
    ),
    "a mass": (
        robot('<link name="a">' + NUMBER.format("2kg") + "</link>"),
        "3: <mass>: '2kg': expected a number",
    ),
    "a negative mass": (
        robot('<link name="a">' + NUMBER.format("-2") + "</link>"),
        "a mass cannot be negative",
    ),
    "numbers of a pose": (robot(link("a", pose("1 2 3"))), "3: <pose>: '1 2 3': expected 6 numbers"),
    "numbers of a quaternion": (
        robot(link("a", pose("1 2 3 0 0 0 0", rotation_format="quat_xyzw"))),
        "the quaternion is zero",
    ),
    "a format of rotations": (
        robot(link("a", pose("1 2 3 0 0 0", rotation_format="axis"))),
        "unknown rotation_format 'axis'.*euler_rpy",
    ),
    "degrees": (robot(link("a", pose("1 2 3 0 0 0", degrees="some"))), "degrees='some'"),
    "a distance": (robot(link("a", pose("1 1e200 3 0 0 0"))), "further away than"),
    "damping": (
        robot(A, B, joint("j", "a", "b", inside=AXIS.format("<dynamics><damping>-1</damping></dynamics>"))),
        "5: .*damping = -1: expected a number >= 0",
    ),
    "a density": (
        robot('<link name="a"><inertial auto="true"/></link>'),
        "inertia is that of its collision shapes, and they have no mass",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    text, match = REFUSED[case]
    with pytest.raises(ParseError, match=f"(?s){match}"):  # the hint has a line of its own
        mbt.load_model(text)


def with_axis(inside, version="1.11", kind="revolute"):
    return robot(A, B, joint("j", "a", "b", kind, AXIS.format(inside)), version=version)


REPAIRED = {
    "no version": (robot(A).replace('version="1.11"', ""), "has no version"),
    "an unknown version": (robot(A, version="1.99"), "its version 1.99 is not known"),
    "a link called world": (
        robot(link("world"), A, joint("j", "world", "a")),
        'line 3: <link name="world">: a link of this name is World',
    ),
    "reversed limits": (with_axis("<limit><lower>2</lower><upper>1</upper></limit>"), "limits are reversed"),
    "no axis": (robot(A, B, joint("j", "a", "b", inside="")), "it has no <axis>"),
    "a spring on a screw": (
        with_axis("<dynamics><spring_stiffness>1</spring_stiffness></dynamics>", kind="screw"),
        "a screw with a spring",
    ),
    "names of kinds": (
        robot(A, B, joint("a", "a", "b"), version="1.4"),
        'joint name="a">: there is a link of this name already, in line 3: in poses the name refers to',
    ),
    "a flag": (robot("<static>some</static>", A), "neither true nor false"),
    "velocity decay": (
        robot(link("a", "<velocity_decay><linear>1</linear></velocity_decay>")),
        "cannot be modelled",
    ),
    "a colour": (
        robot(
            link(
                "a",
                '<visual name="v"><geometry><sphere/></geometry>'
                "<material><diffuse>2 0 0 1</diffuse></material></visual>",
            )
        ),
        "expected numbers from 0 to 1",
    ),
    "a leader": (
        robot(
            A,
            B,
            link("c"),
            joint("j", "a", "b", "fixed"),
            joint("k", "b", "c", inside=AXIS.format('<mimic joint="j"/>')),
        ),
        "exactly one coordinate|does not exist",
    ),
    "an include of a world": (
        world(model("m", A), "<include><uri>model://sun</uri></include>"),
        "'model://sun' was not found .*: left out; add the folder that contains it to package_paths",
    ),
    "models beside a world": (
        sdf('<world name="w">', model("m", A), "</world>", model("n", A)),
        "outside of the first world",
    ),
}


@pytest.mark.parametrize("case", REPAIRED)
def test_repaired(case):
    text, match = REPAIRED[case]
    with pytest.warns(mbt.ModelWarning, match=match):
        mbt.load_model(text)
    with pytest.raises(ParseError, match="strict=False goes on with a warning"):
        mbt.load_model(text, strict=True)


def test_nesting_is_bounded(tmp_path):
    """Nested elements in one document, and files that include one another."""
    text = link("a")
    for depth in range(70):
        text = f'<model name="m{depth}">{text}</model>'
    with pytest.raises(ParseError, match="nested deeper than 64 levels"):
        mbt.load_model(sdf(text))
    for i in range(20):
        inner = model("m", link("a"), f"<include><uri>{i + 1}.sdf</uri></include>")
        (tmp_path / f"{i}.sdf").write_text(sdf(inner))
    with pytest.raises(ParseError, match="included deeper than 16 levels"):
        mbt.load_model(tmp_path / "0.sdf")


def test_a_long_chain_of_frames():
    """In linear time, without recursion."""
    count = 3000
    frames = ['<frame name="f0" attached_to="a"/>']
    frames += [
        f'<frame name="f{i}" attached_to="f{i - 1}">{pose("0 0 1 0 0 0")}</frame>' for i in range(1, count)
    ]
    tree = mbt.load_model(robot(A, *reversed(frames)))
    X_AF = tree.get_frame_by_name(f"f{count - 1}").get_fixed_pose_in_body_frame()
    assert X_AF[2, 3] == count - 1


def test_elements_that_are_missed():
    with pytest.warns(
        mbt.ModelWarning, match="<drake:tendon_constraint>: mbt does not support this child of"
    ):
        mbt.load_model(robot(A, "<drake:tendon_constraint/>"))


def test_a_link_with_the_name_of_another_one_inside():
    with pytest.raises(ParseError, match="'m::a' is a link of another model too, in line 3"):
        mbt.load_model(robot(link("m::a"), model("m", A)))
