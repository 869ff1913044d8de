"""Extensions of URDF and SDF by Drake and Gazebo: read, or named in a warning."""

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from support import sdf_texts as sdf
from support import urdf_texts as urdf

A, B = (sdf.link(name, sdf.pose(pose)) for name, pose in (("a", "0 0 0 0.1 0 0"), ("b", "1 2 3 0 0.3 0")))


def load(text, message=None, **options):
    """Load; if a message is given, expect that warning, and a refusal when strict."""
    if message is None:
        return mbt.load_model(text, **options)
    with pytest.warns(mbt.ModelWarning, match=message):
        tree = mbt.load_model(text, **options)
    with pytest.raises(ParseError, match="strict=False goes on with a warning"):
        mbt.load_model(text, strict=True, **options)
    return tree


# Curvilinear joints.

SEGMENT = "<drake:line_segment><drake:length>{}</drake:length></drake:line_segment>"
ARC = "<drake:circular_arc><drake:radius>{}</drake:radius><drake:angle>{}</drake:angle></drake:circular_arc>"
PLANE = (
    "<drake:initial_tangent><xyz>0 2 0</xyz></drake:initial_tangent>"
    "<drake:plane_normal><xyz>3 0 0</xyz></drake:plane_normal>"
)
PERIODIC = "<drake:is_periodic>true</drake:is_periodic>"
BEND = SEGMENT.format(1) + ARC.format(0.5, -1.2)
STADIUM = (SEGMENT.format(2) + ARC.format(0.5, np.pi)) * 2


def rail(curves, more=""):
    return sdf.robot(
        A,
        B,
        '<drake:joint name="rail" type="curvilinear"><drake:parent>a</drake:parent>'
        f"<drake:child>b</drake:child>{more}<drake:curves>{curves}</drake:curves></drake:joint>",
    )


def test_a_curvilinear_joint():
    """One metre along y, then a right turn about x."""
    tree = load(rail(BEND, PLANE + "<drake:damping>3</drake:damping>"))
    joint = tree.get_joint_by_name("rail")
    assert type(joint) is mbt.CurvilinearJoint
    assert (joint.default_damping_vector.tolist(), tree.joint_actuators) == ([3.0], ())
    assert (joint.position_lower_limits[0], joint.position_upper_limits[0]) == (0.0, 1.6)
    context = tree.create_default_context()
    a, b = tree.get_body_by_name("a").body_frame, tree.get_body_by_name("b").body_frame
    for s, y, z, angle in ((0.25, 0.25, 0.0, 0.0), (1.5, 1 + 0.5 * np.sin(1), 0.5 * (np.cos(1) - 1), -1.0)):
        joint.set_positions(context, [s])
        expected = np.eye(4)
        expected[:3, 0] = 0, np.cos(angle), np.sin(angle)
        expected[:3, 1] = 0, -np.sin(angle), np.cos(angle)
        expected[:3, 2] = 1, 0, 0
        expected[:3, 3] = 0, y, z
        np.testing.assert_allclose(b.calc_pose(context, a), expected, rtol=0, atol=1e-15)


def test_a_path_that_closes_goes_round():
    joint = load(rail(STADIUM, PERIODIC)).get_joint_by_name("rail")
    assert joint.curvilinear_path.is_periodic
    assert joint.position_upper_limits[0] == np.inf


def test_a_periodic_path_that_does_not_close_is_an_open_one():
    message = r"<drake:curves>: the path is periodic, but ends 1.5 m and 68.8 degrees from where it begins"
    joint = load(rail(BEND, PERIODIC), message).get_joint_by_name("rail")
    assert not joint.curvilinear_path.is_periodic
    assert joint.position_upper_limits[0] == 1.6
    text = urdf.robot(
        urdf.link("a"),
        urdf.link("b"),
        '<drake:joint name="rail" type="curvilinear"><parent link="a"/><child link="b"/>'
        '<drake:is_periodic value="true"/><drake:curves><drake:line_segment length="1"/>'
        '<drake:circular_arc radius="0.5" angle="-1.2"/></drake:curves></drake:joint>',
    )
    assert load(text, message).get_joint_by_name("rail").curvilinear_path == joint.curvilinear_path


@pytest.mark.parametrize(
    ("curves", "more", "message"),
    [
        ("", "", "the path has no pieces"),
        (SEGMENT.format(0), "", "length = 0: expected a number > 0"),
        (ARC.format(-1, 1), "", "radius = -1: expected a number > 0"),
        ("<drake:line_segment/>", "", "the element <drake:length> is missing"),
        ('<drake:line_segment length="1"/>', "", "the element <drake:length> is missing"),
        ("<drake:spiral/>", "", "expected <drake:line_segment> or <drake:circular_arc>"),
        (BEND, "<drake:plane_normal><xyz>1 0 0</xyz></drake:plane_normal>", "curves do not make a path"),
        (BEND, "<drake:damping>-1</drake:damping>", "drake:damping = -1: expected a number >= 0"),
    ],
)
def test_paths_that_are_refused(curves, more, message):
    with pytest.raises(ParseError, match=message):
        mbt.load_model(rail(curves, more))


@pytest.mark.oracle
@pytest.mark.parametrize(("curves", "more"), [(BEND, ""), (BEND, PLANE), (STADIUM, PERIODIC)])
def test_paths_are_those_of_drake(curves, more):
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    text = rail(curves, more + "<drake:damping>0.5</drake:damping>")
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    plant.Finalize()
    theirs, tree = plant.CreateDefaultContext(), mbt.load_model(text)
    joint, context = plant.GetJointByName("rail"), tree.create_default_context()
    ours = tree.get_joint_by_name("rail")
    np.testing.assert_array_equal(joint.default_damping_vector(), ours.default_damping_vector)
    np.testing.assert_allclose(joint.position_upper_limits(), ours.position_upper_limits, rtol=1e-15)
    ends = [plant.GetFrameByName(name) for name in "ab"]
    for s in (0.3, 1.2, 1.5, 7.0):
        if s > joint.position_upper_limits()[0]:
            continue
        q = plant.GetPositions(theirs)
        q[joint.position_start()] = s
        plant.SetPositions(theirs, q)
        ours.set_positions(context, [s])
        found = tree.get_frame_by_name("b").calc_pose(context, tree.get_frame_by_name("a"))
        expected = plant.CalcRelativeTransform(theirs, *ends).GetAsMatrix4()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


# Distance constraints.

PARTS = {"body_A": "a", "body_B": "b", "p_AP": "0.1 0.2 0.3", "p_BQ": "0.5 0.4 -0.3", "distance": "2"}
TAG = "drake:distance_constraint"


def rod(form, **changes):
    parts = {name: value for name, value in (PARTS | changes).items() if value is not None}
    if form == "sdf":
        inside = "".join(f"<{TAG}_{name}>{value}</{TAG}_{name}>" for name, value in parts.items())
        return sdf.robot(A, B, f"<{TAG}>{inside}</{TAG}>")
    inside = "".join(
        f'<{TAG}_{name} {"name" if name.startswith("body") else "value"}="{value}"/>'
        for name, value in parts.items()
    )
    links = urdf.link("world", None), urdf.link("a"), urdf.link("b")
    free = (urdf.joint(f"to_{name}", "world", name, "floating", "") for name in "ab")
    return urdf.robot(*links, *free, f"<{TAG}>{inside}</{TAG}>")


@pytest.mark.parametrize("form", ["sdf", "urdf"])
@pytest.mark.parametrize("stiffness", [None, "inf", "+Infinity"])
def test_a_distance_constraint(form, stiffness):
    tree = load(rod(form, stiffness=stiffness, damping="3"))
    (constraint,) = tree.constraints
    assert type(constraint) is mbt.DistanceConstraint
    assert (constraint.name, constraint.default_distance) == ("distance_constraint", 2.0)
    assert (constraint.frame_A.name, constraint.frame_B.name) == ("a", "b")
    assert constraint.default_p_AP.tolist() == [0.1, 0.2, 0.3]
    assert constraint.default_p_BQ.tolist() == [0.5, 0.4, -0.3]
    assert tree.parse_reports[0].ignored == {}


@pytest.mark.parametrize("form", ["sdf", "urdf"])
def test_a_distance_constraint_that_is_not_rigid_is_a_spring_and_damper(form):
    """The force that Drake documents: -stiffness (d - distance) - damping d_dot, along the line."""
    tree = load(rod(form, stiffness="50", damping="3"), gravity=None)
    (spring,) = tree.force_elements
    assert (type(spring), tree.num_constraint_equations) == (mbt.LinearSpringDamper, 0)
    context = tree.create_default_context()
    rng = np.random.default_rng(4)
    context.v = rng.normal(size=tree.num_velocities)
    forces = mbt.MultibodyForces(tree)
    tree.calc_force_elements_contribution(context, forces)
    a, b = tree.get_body_by_name("a"), tree.get_body_by_name("b")
    X_WA, X_WB = a.eval_pose_in_world(context), b.eval_pose_in_world(context)
    arms = [X[:3, :3] @ p for X, p in ((X_WA, spring.p_AP), (X_WB, spring.p_BQ))]
    V = [body.eval_spatial_velocity_in_world(context) for body in (a, b)]
    v_P, v_Q = (v[3:] + np.cross(v[:3], arm) for v, arm in zip(V, arms, strict=True))
    line = X_WB[:3, 3] + arms[1] - X_WA[:3, 3] - arms[0]
    d = np.linalg.norm(line)
    f_Q = -(50 * (d - 2) + 3 * (line / d) @ (v_Q - v_P)) * line / d
    np.testing.assert_allclose(forces.body_forces[b.node_index][3:], f_Q, rtol=1e-12)
    np.testing.assert_allclose(forces.body_forces[a.node_index][3:], -f_Q, rtol=1e-12)


@pytest.mark.parametrize("form", ["sdf", "urdf"])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"distance": "0"}, "distance = 0: expected a number > 0"),
        ({"distance": None}, "<drake:distance_constraint_distance> is missing"),
        ({"stiffness": "-1"}, "stiffness = -1: expected a number >= 0"),
        ({"body_B": "a"}, "expected two links"),
        ({"stiffness": "5", "damping": "inf"}, "damping = inf: expected a finite number"),
    ],
)
def test_distance_constraints_that_are_refused(form, changes, message):
    with pytest.raises(ParseError, match=message):
        mbt.load_model(rod(form, **changes))


def test_a_distance_from_world_is_mounted_with_it():
    text = sdf.robot(
        sdf.link("b", sdf.pose("0 0 1 0 0 0")),
        "".join(
            [
                f"<{TAG}><{TAG}_body_A>world</{TAG}_body_A><{TAG}_body_B>b</{TAG}_body_B>",
                f"<{TAG}_p_AP>1 0 0</{TAG}_p_AP><{TAG}_p_BQ>0 0 0</{TAG}_p_BQ>",
                f"<{TAG}_distance>1.4142135623730951</{TAG}_distance></{TAG}>",
            ]
        ),
    )
    pose = mbt.math.make_pose([0.2, 0.3, 0.4], rpy=[0.5, 0.6, 0.7])
    for tree in (mbt.load_model(text), mbt.load_model(text, base_pose=pose)):
        error = tree.calc_constraint_errors(tree.create_default_context())
        np.testing.assert_allclose(error, [0.0], rtol=0, atol=1e-15)


# Ignored, although it would change the motion.

GAINS = '<drake:controller_gains p="1" d="2"/>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            sdf.robot(sdf.link("a", "<drake:deformable_properties/>")),
            "deformable in Drake: it is a rigid body",
        ),
        (
            sdf.robot(A, B, "<drake:tendon_constraint/>"),
            "<drake:tendon_constraint>: mbt does not support this child of model: ignored",
        ),
        (
            sdf.robot(A, B, "<drake:novelty/>", "<drake:novelty/>"),
            r"mbt does not support this child of model \(2 of them",
        ),
        (rail(BEND, "<pose>1 0 0 0 0 0</pose>"), "a <drake:joint> has no <pose>"),
        (rail(BEND, "<axis><xyz>0 0 1</xyz></axis>"), "a <drake:joint> has no <axis>"),
        (
            urdf.robot(
                *urdf.TWO_LINKS[:2],
                urdf.joint("j", "base", "arm", inside="<dynamics><damping>100</damping></dynamics>"),
            ),
            "<damping>: mbt does not support this child of joint/dynamics",
        ),
        (
            urdf.robot(
                *urdf.TWO_LINKS, '<gazebo reference="arm"><turnGravityOff>true</turnGravityOff></gazebo>'
            ),
            "Gazebo is told that gravity does not act on arm: ignored",
        ),
        (
            urdf.robot(*urdf.TWO_LINKS, '<gazebo reference="arm"><gravity>false</gravity></gazebo>'),
            "Gazebo is told that gravity does not act on arm",
        ),
        (
            urdf.robot(
                *urdf.TWO_LINKS, '<gazebo reference="hinge"><springStiffness>5</springStiffness></gazebo>'
            ),
            "Gazebo is given a spring on hinge",
        ),
        (
            urdf.robot(*urdf.TWO_LINKS, '<gazebo><joint name="loop" type="revolute"/></gazebo>'),
            "Gazebo is given joints or links beside the robot",
        ),
        (
            urdf.robot(*urdf.TWO_LINKS, '<gazebo><plugin filename="libgazebo_mimic_joint.so"/></gazebo>'),
            "a plugin that couples joints of the robot",
        ),
    ],
)
def test_what_would_change_the_motion_is_told(text, message):
    load(text, message)


@pytest.mark.parametrize(
    "text",
    [
        sdf.robot(A, B, "<plugin/>"),
        sdf.robot(
            A, B, sdf.joint("j", "a", "b", "fixed", "<axis><dynamics><damping>1</damping></dynamics></axis>")
        ),
        urdf.robot(
            *urdf.TWO_LINKS,
            '<gazebo reference="arm"><turnGravityOff>false</turnGravityOff><gravity>1</gravity><mu1>0.2</mu1>'
            "<kinematic>0</kinematic><material>Gazebo/Grey</material><selfCollide>true</selfCollide></gazebo>",
            '<gazebo><plugin name="control" filename="control.so"><joint name="x"/></plugin></gazebo>',
        ),
        sdf.robot(
            A,
            B,
            sdf.joint(
                "j",
                "a",
                "b",
                inside="<axis><limit><effort>0</effort></limit></axis>"
                "<drake:rotor_inertia>1</drake:rotor_inertia>",
            ),
        ),
    ],
)
def test_what_would_not_is_counted(text):
    assert mbt.load_model(text, strict=True).parse_reports[0].ignored


def test_controllers_are_told():
    """Gains act only once a controller gets targets, so the file is not at fault."""
    text = urdf.robot(*urdf.TWO_LINKS, urdf.transmission("hinge", GAINS))
    with pytest.warns(mbt.ModelWarning, match="actuator/drake:controller_gains: no controller acts: apply"):
        mbt.load_model(text, strict=True)


# Groups of links whose shapes do not collide.

BALL = '<collision><geometry><sphere radius="0.3"/></geometry></collision>'
SDF_BALL = '<collision name="ball"><geometry><sphere><radius>0.3</radius></sphere></geometry></collision>'
GROUP_PARTS = {  # The member, the group inside, and the ignored group.
    "urdf": (
        '<drake:member link="{}"/>',
        '<drake:member_group name="{}"/>',
        '<drake:ignored_collision_filter_group name="{}"/>',
    ),
    "sdf": (
        "<drake:member>{}</drake:member>",
        "<drake:member_group>{}</drake:member_group>",
        "<drake:ignored_collision_filter_group>{}</drake:ignored_collision_filter_group>",
    ),
}


def group(kind, name, members, inside="", ignored="", attributes=""):
    parts = zip(GROUP_PARTS[kind], (members, inside, ignored), strict=True)
    texts = (part.format(word) for part, words in parts for word in words.split())
    tag = "drake:collision_filter_group"
    return f'<{tag} name="{name}"{attributes}>{"".join(texts)}</{tag}>'


def balls(kind, *groups):
    """Five balls on a stem, no two of them connected by a joint."""
    if kind == "sdf":
        links = [sdf.link(name, SDF_BALL) for name in "abcde"]
        joints = [sdf.joint(f"to_{name}", "stem", name) for name in "abcde"]
        return sdf.robot(sdf.link("stem"), *links, *joints, *groups)
    links = [urdf.link(name).replace("</link>", f"{BALL}</link>") for name in "abcde"]
    joints = [urdf.joint(f"to_{name}", "stem", name) for name in "abcde"]
    return urdf.robot(urdf.link("stem"), *links, *joints, *groups)


def groups_of(kind):
    """Groups that ignore themselves, each other, or a later one that contains a group; and a disabled one."""
    return (
        group(kind, "self", "a b", ignored="self outer"),
        group(kind, "outer", "c", inside="inner"),
        group(kind, "inner", "d"),
        group(kind, "off", "c d e", ignored="off", attributes=' ignore="true"'),
    )


@pytest.mark.parametrize("kind", ["urdf", "sdf"])
def test_links_of_groups_that_are_ignored_do_not_touch(kind):
    tree = load(balls(kind, *groups_of(kind)))
    pairs = {first.name + second.name for first, second in tree.collision_exclusions}
    assert pairs == {"ab", "ac", "ad", "bc", "bd"}
    assert mbt.CollisionModel(tree).num_pairs == 5
    assert not tree.parse_reports[0].ignored
    for text, message in (
        (group(kind, "g", "a nobody"), "'nobody' does not exist.*: left out of the group"),
        (group(kind, "g", "a", ignored="h"), "it ignores the group 'h', which does not exist"),
    ):
        assert load(balls(kind, text), message).collision_exclusions == ()


def test_groups_of_an_included_robot_are_its_own(tmp_path):
    (tmp_path / "bot.urdf").write_text(balls("urdf", group("urdf", "g", "a b", ignored="g")))
    path = tmp_path / "two.sdf"
    path.write_text(
        sdf.world(*(f"<include><uri>bot.urdf</uri><name>{name}</name></include>" for name in ("l", "r")))
    )
    tree = load(path)
    names = [(pair[0].scoped_name, pair[1].scoped_name) for pair in tree.collision_exclusions]
    assert names == [("hall::l::a", "hall::l::b"), ("hall::r::a", "hall::r::b")]


def test_groups_of_very_many_links_take_no_memory(monkeypatch):
    monkeypatch.setattr("mbt.parsing.drake_elements._MOST_PAIRS", 30)
    groups = (("f", "a b e"), ("g", "a b c d"), ("h", "c d"))
    text = balls("urdf", *(group("urdf", name, members, ignored=name) for name, members in groups))
    tree = load(text, "groups have more than 30 pairs of links: left out")
    assert len(tree.collision_exclusions) == 3


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["urdf", "sdf"])
def test_groups_are_those_of_drake(kind):
    pytest.importorskip("pydrake", reason="needs the `oracle` extra")
    from pydrake.geometry import SceneGraph
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    text = balls(kind, *groups_of(kind))
    plant, graph = MultibodyPlant(0.0), SceneGraph()
    plant.RegisterAsSourceForSceneGraph(graph)
    Parser(plant).AddModelsFromString(text, kind)
    plant.Finalize()
    inspector = graph.model_inspector()
    shapes = {name: plant.GetCollisionGeometriesForBody(plant.GetBodyByName(name))[0] for name in "abcde"}
    pairs = {a + b for a in shapes for b in shapes if a < b}
    filtered = {pair for pair in pairs if inspector.CollisionFiltered(shapes[pair[0]], shapes[pair[1]])}
    tree = load(text)
    assert {a.name + b.name for a, b in tree.collision_exclusions} == filtered
