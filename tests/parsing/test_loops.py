"""Joints of SDF and URDF that close loops become equivalent constraints."""

import re
import warnings

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from support import sdf_texts as sdf
from support import urdf_texts as urdf
from support.constraints import equations_of

A, B, C = (
    sdf.link(name, sdf.pose(pose))
    for name, pose in (("a", "0 0 0 0.1 0 0"), ("b", "1 0 0 0 0.3 0"), ("c", "1 1 0 0 0 0.4"))
)
J, K = sdf.joint("j", "a", "b"), sdf.joint("k", "b", "c", "ball", "")
PLACE = sdf.pose("0 0.3 0.1 1 2 3")
AXES = "<axis><xyz>{}</xyz></axis><axis2><xyz>{}</xyz></axis2>"
# For each type: the joint's content, and how many motions it resists. A hinge has one equation more.
KINDS = {
    "revolute": ("<axis><xyz>1 2 3</xyz></axis>", 5),
    "continuous": ("<axis><xyz>0 0 -1</xyz></axis>", 5),
    "universal": (AXES.format("1 0 0", "0 3 4"), 4),
    "ball": ("", 3),
    "fixed": ("", 6),
}


def with_free_links(tree):
    """The constraints of a tree, between bodies that nothing else holds."""
    free = mbt.MultibodyTree()
    bodies = {
        body.name: free.add_body(mbt.RigidBody(body.name, body.default_spatial_inertia))
        for body in tree.bodies[1:]
    }
    for constraint in tree.constraints:
        A, B = (
            free.add_frame(
                mbt.FixedOffsetFrame(bodies[frame.body.name], frame.get_fixed_pose_in_body_frame())
            )
            for frame in (constraint.frame_A, constraint.frame_B)
        )
        if isinstance(constraint, mbt.DistanceConstraint):
            ends = A, constraint.default_p_AP, B, constraint.default_p_BQ
            free.add_constraint(mbt.DistanceConstraint(constraint.name, *ends, constraint.default_distance))
        else:
            free.add_constraint(type(constraint)(constraint.name, A, B))
    free.finalize()
    return free


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_joint_allows_is_what_the_constraints_allow(kind):
    """In random positions of the joint the constraints hold, and resist all motions but the joint's own."""
    inside, num_resisted = KINDS[kind]
    last = sdf.joint("l", "c", "a", kind, PLACE + inside)
    closed = mbt.load_model(sdf.robot(A, B, C, J, K, last), gravity=None)
    assert [joint.name for joint in closed.joints] == ["a", "j", "k"]
    assert closed.constraints[0].name == "l"
    opened = mbt.load_model(sdf.robot(A, C, last), gravity=None)
    free = with_free_links(closed)
    context, other = free.create_default_context(), opened.create_default_context()
    rng = np.random.default_rng(4)
    for _ in range(3):
        other.q = opened.random_positions(rng)
        other.v = rng.normal(size=opened.num_velocities)
        v = np.zeros(free.num_velocities)
        for name in "ac":
            body, joint = opened.get_body_by_name(name), free.get_joint_by_name(name)
            joint.set_pose(context, body.eval_pose_in_world(other))
            v[joint.velocity_start : joint.velocity_start + 6] = body.eval_spatial_velocity_in_world(other)
        np.testing.assert_allclose(equations_of(free, context).errors, 0.0, atol=1e-14)
        rows = equations_of(free, context).J
        assert np.linalg.matrix_rank(rows) == num_resisted
        assert rows.shape[0] == num_resisted + (kind in ("revolute", "continuous"))
        np.testing.assert_allclose(rows @ v, 0.0, atol=1e-13)


def test_whichever_joint_closes_a_loop_it_moves_alike():
    joints = [
        sdf.joint("j", "world", "a", "revolute", "<axis><xyz>1 2 3</xyz></axis>"),
        sdf.joint("k", "a", "b", "ball", ""),
        sdf.joint("m", "b", "c", "universal", AXES.format("1 0 0", "0 3 4")),
        sdf.joint("n", "c", "world", "revolute", "<axis><xyz>0 1 -1</xyz></axis>"),
    ]
    check_cuts(joints)


def check_cuts(joints):
    """Cut at each of its joints in turn, the links of a loop have the same accelerations."""
    moved, entry = None, None
    for cut in range(4):
        tree = mbt.load_model(sdf.robot(A, B, C, *joints[:cut], *joints[cut + 1 :], joints[cut]))
        assert tree.constraints[0].name == "jkmn"[cut]
        context = tree.create_default_context()
        links = [tree.get_body_by_name(name) for name in "abc"]
        W = tree.world_frame
        motions = [
            tree.calc_jacobian_spatial_velocity(context, "v", link, np.zeros(3), W, W) for link in links
        ]
        # The loop has one degree of freedom.
        *_, V = np.linalg.svd(tree.calc_constraint_jacobian(context))
        motion = np.concatenate(motions) @ V[-1]
        entry = np.abs(motion).argmax() if entry is None else entry
        context.v = V[-1] / motion[entry]
        vdot = tree.calc_forward_dynamics(context)
        A_WB = tree.calc_spatial_accelerations_from_vdot(context, vdot)
        rows = [link.node_index for link in links]
        found = np.array([[J @ context.v for J in motions], A_WB[rows]])
        moved = found if moved is None else moved
        np.testing.assert_allclose(found, moved, rtol=1e-8, atol=1e-8)


def test_the_last_joint_of_the_file_closes_the_loop():
    text = sdf.robot(A, B, C, sdf.joint("l", "c", "a"), J, sdf.joint("k", "b", "c"))
    tree = mbt.load_model(text, strict=True)
    assert [joint.name for joint in tree.joints if joint.num_velocities == 1] == ["l", "j"]
    assert [constraint.name for constraint in tree.constraints] == ["k", "k_axis"]
    np.testing.assert_allclose(equations_of(tree, tree.create_default_context()).errors, 0.0, atol=1e-14)


# Joints that slide, or whose axes are not at right angles: a link is cut in two.
PLANAR = (
    '<frame name="f" attached_to="c"><pose relative_to="__model__"/></frame>'
    '<drake:joint name="n" type="planar">'
    "<drake:parent>f</drake:parent><drake:child>world</drake:child></drake:joint>"
)
SLIDING = {
    "prismatic": [
        sdf.joint("j", "world", "a", "revolute", "<axis><xyz>1 2 3</xyz></axis>"),
        sdf.joint("k", "a", "b", "ball", ""),
        sdf.joint("m", "b", "c", "universal", AXES.format("1 0 0", "0 3 4")),
        sdf.joint("n", "c", "world", "prismatic", "<axis><xyz>0 1 -1</xyz></axis>"),
    ],
    "screw": [
        sdf.joint("j", "world", "a", "prismatic", "<axis><xyz>1 2 3</xyz></axis>"),
        sdf.joint("k", "a", "b", "ball", ""),
        sdf.joint("m", "b", "c", "universal", AXES.format("1 0 0", "0 3 4")),
        sdf.joint(
            "n", "c", "world", "screw",
            "<screw_thread_pitch>0.3</screw_thread_pitch><axis><xyz>0 1 -1</xyz></axis>",
        ),
    ],
    "planar": [
        sdf.joint("j", "world", "a", "revolute", "<axis><xyz>1 2 3</xyz></axis>"),
        sdf.joint("k", "a", "b", "screw", "<axis><xyz>1 1 1</xyz></axis>"),
        sdf.joint("m", "b", "c", "universal", AXES.format("1 0 0", "1 1 0")),
        PLANAR,
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", SLIDING)
def test_whichever_sliding_joint_closes_a_loop_it_moves_alike(kind):
    check_cuts(SLIDING[kind])


def test_a_twin_has_half_of_a_link_and_the_joint_all_that_acts_in_it():
    inside = """<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>2</upper><effort>3</effort></limit>
<dynamics><damping>4</damping><spring_stiffness>5</spring_stiffness><friction>6</friction></dynamics></axis>"""
    text = sdf.robot(A, B, C, J, K, sdf.joint("l", "c", "a", "prismatic", inside))
    tree = mbt.load_model(text, strict=True, joint_friction=True)
    a, twin = tree.get_body_by_name("a"), tree.get_body_by_name("a_twin")
    assert a.default_mass == twin.default_mass == 1.0
    whole = mbt.load_model(sdf.robot(A)).get_body_by_name("a").default_spatial_inertia
    halves = a.default_spatial_inertia + twin.default_spatial_inertia
    np.testing.assert_allclose(halves.as_matrix6(), whole.as_matrix6(), atol=1e-15)
    (weld,) = tree.constraints
    assert (weld.name, type(weld)) == ("l", mbt.WeldConstraint)
    joint = tree.get_joint_by_name("l")
    assert type(joint) is mbt.PrismaticJoint
    assert (joint.parent_body.name, joint.child_body.name) == ("c", "a_twin")
    assert (joint.position_lower_limits, joint.position_upper_limits) == (-1.0, 2.0)
    assert joint.default_damping == 4.0
    assert tree.get_joint_actuator_by_name("l").effort_limit == 3.0
    kinds = {type(element).__name__ for element in tree.force_elements}
    assert {"PrismaticSpring", "JointFriction"} <= kinds
    np.testing.assert_allclose(equations_of(tree, tree.create_default_context()).errors, 0.0, atol=1e-14)
    # By default, friction is only counted in the report.
    tree = mbt.load_model(text)
    assert tree.parse_reports[0].inactive["frictions"] == 1


def test_a_twin_of_the_parent_where_the_child_has_no_mass():
    none = "<inertial><mass>0</mass><inertia><ixx>0</ixx><iyy>0</iyy><izz>0</izz></inertia></inertial></link>"
    light, other = f'<link name="a">{none}', f'<link name="c">{none}'
    slide = sdf.joint("l", "c", "a", "prismatic", "<axis><xyz>1 0 0</xyz></axis>")
    tree = mbt.load_model(sdf.robot(light, B, C, J, K, slide), base="fixed")
    assert tree.get_joint_by_name("l").parent_body.name == "c_twin"
    text = sdf.robot(light, B, other, J, K, slide)
    match = '(?s)8: <joint name="l">: it closes a loop of joints, no constraint'
    with pytest.warns(mbt.ModelWarning, match=match):
        tree = mbt.load_model(text, base="fixed")
    assert tree.constraints == ()
    with pytest.raises(ParseError, match=match):
        mbt.load_model(text, strict=True)


def test_forces_of_a_joint_that_closes_a_loop_are_lost():
    dynamics = "<axis><xyz>1 0 0</xyz><dynamics><damping>1</damping></dynamics></axis>"
    text = sdf.robot(A, B, C, J, K, sdf.joint("l", "c", "a", inside=dynamics))
    with pytest.warns(mbt.ModelWarning, match="it has neither spring, damping nor friction"):
        tree = mbt.load_model(text)
    assert len(tree.constraints) == 2
    limits = dynamics.replace("dynamics", "limit").replace("damping", "upper")
    tree = mbt.load_model(sdf.robot(A, B, C, J, K, sdf.joint("l", "c", "a", inside=limits)))
    assert tree.parse_reports[0].ignored == {"limit of a joint that closes a loop": 1}


def test_loops_between_models():
    """The constraint's name belongs to its model; where that name is taken, it gets a suffix."""
    hand = sdf.model("hand", A, B, C, J, K, sdf.joint("l", "c", "a", "ball", ""))
    text = sdf.robot(
        sdf.link("arm"), hand, sdf.joint("m", "arm", "hand::a"), sdf.joint("l", "arm", "hand::c", "fixed", "")
    )
    tree = mbt.load_model(text)
    assert [each.scoped_name for each in tree.constraints] == ["bot::hand::l", "bot::hand::l_"]
    assert [type(each) for each in tree.constraints] == [mbt.BallConstraint, mbt.WeldConstraint]


def test_loops_on_world():
    """The constraint belongs to the model even if World is the child in the file."""
    text = sdf.robot(A, B, sdf.joint("f", "world", "a"), J, sdf.joint("l", "b", "world", "ball", ""))
    tree = mbt.MultibodyTree()
    table = tree.add_body(mbt.RigidBody("table", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    for name in ("left", "right"):
        mbt.parsing.add_model(tree, text, parent=table, X_PF=mbt.math.make_pose([1, 2, 3]), model_name=name)
    tree.finalize()
    assert [each.scoped_name for each in tree.constraints] == ["left::l", "right::l"]
    assert {each.frame_A.body for each in tree.constraints} == {table}
    np.testing.assert_allclose(equations_of(tree, tree.create_default_context()).errors, 0.0, atol=1e-14)


# URDF.

LOOP = (
    '<loop_joint name="loop"{}><link1 link="tip" xyz="0 1 0" rpy="0 0 0.5"/>'
    '<link2 link="base" xyz="0 2 0" rpy="0 0 0.5"/><axis xyz="0 0 1"/></loop_joint>'
)
LIMB = (
    *urdf.TWO_LINKS,
    urdf.link("tip"),
    urdf.joint("k", "arm", "tip", inside='<origin xyz="0 1 0"/><axis xyz="0 0 1"/>'),
)


@pytest.mark.parametrize("type_", ["", ' type="continuous"', ' type="revolute"'])
def test_a_loop_joint_of_urdf_is_a_hinge(type_):
    tree = mbt.load_model(urdf.robot(*LIMB, LOOP.format(type_)), strict=True)
    assert [each.name for each in tree.constraints] == ["loop", "loop_axis"]
    context = tree.create_default_context()
    np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=1e-15)
    # All joint axes are parallel: only the equations in the plane remain.
    assert np.linalg.matrix_rank(equations_of(tree, context).J, tol=1e-12) == 1
    context.q = [0.3, -0.2]
    x, y, z = equations_of(tree, context).errors[:3]
    assert min(abs(x), abs(y)) > 1e-3
    assert abs(z) < 1e-15


@pytest.mark.parametrize(("type_", "kind"), [("ball", mbt.BallConstraint), ("fixed", mbt.WeldConstraint)])
def test_loop_joints_of_urdf_without_an_axis(type_, kind):
    loop = LOOP.replace('<axis xyz="0 0 1"/>', "").format(f' type="{type_}"')
    tree = mbt.load_model(urdf.robot(*LIMB, loop), strict=True)
    assert [(each.name, type(each)) for each in tree.constraints] == [("loop", kind)]
    context = tree.create_default_context()
    np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=1e-15)
    context.q = [0.3, -0.3]
    # The two points that the constraint keeps together, one on each link, and their distance now.
    X_WT = tree.calc_relative_transform(context, tree.world_frame, tree.get_body_by_name("tip").body_frame)
    p = X_WT[:3, :3] @ [0.0, 1.0, 0.0] + X_WT[:3, 3]
    assert np.linalg.norm(p - [0.0, 2.0, 0.0]) == pytest.approx(
        np.linalg.norm(equations_of(tree, context).errors[-3:]), abs=1e-14
    )


def test_loop_joints_of_other_types_are_left_out():
    with pytest.warns(mbt.ModelWarning, match="is not one of continuous, revolute, ball, fixed"):
        assert mbt.load_model(urdf.robot(*LIMB, LOOP.format(' type="prismatic"'))).constraints == ()


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (LOOP.replace('link="tip"', 'link="top"'), "7: .*loop.*the link 'top' does not exist"),
        (LOOP.replace('link="tip"', 'link="base"'), "7: .*loop.*it connects 'base' to itself"),
        (LOOP.replace("0 0 1", "0 0 0"), "7: .*loop.*its axis is zero"),
        (urdf.joint("l", "base", "tip"), "(?s)7: .*two parents.*close a loop by <loop_joint>"),
    ],
)
def test_loop_joints_that_are_refused(text, match):
    with pytest.raises(ParseError, match=match):
        mbt.load_model(urdf.robot(*LIMB, text.format("")))


BALL = (
    '<drake:ball_constraint><drake:ball_constraint_body_A name="tip"/>'
    '<drake:ball_constraint_p_AP value="0.1 1 0.2"/><drake:ball_constraint_body_B name="base"/>'
    '<drake:ball_constraint_p_BQ value="0 2 0.3"/></drake:ball_constraint>'
)


def test_ball_constraints_of_drake():
    # The points are at different heights, and the limb moves in a plane.
    with pytest.warns(
        mbt.ModelWarning, match=r"cannot close, by \[m, rad\]: 'bot::ball_constraint' \(0\.1\)"
    ):
        tree = mbt.load_model(urdf.robot(*LIMB, BALL, BALL), strict=True)
    assert [each.name for each in tree.constraints] == ["ball_constraint", "ball_constraint_"]
    ball = tree.constraints[0]
    assert (ball.frame_A.body.name, ball.frame_B.body.name) == ("tip", "base")
    np.testing.assert_array_equal(ball.frame_A.get_fixed_pose_in_body_frame()[:3, 3], [0.1, 1, 0.2])
    np.testing.assert_array_equal(ball.frame_B.get_fixed_pose_in_body_frame()[:3, 3], [0, 2, 0.3])


# Angles with few digits.


@pytest.mark.parametrize("closing", [urdf.PIN, urdf.HINGE], ids=["ball", "hinge"])
def test_a_loop_that_five_digits_keep_open_is_told_with_its_gap_and_a_cure(closing):
    with pytest.warns(
        mbt.ModelWarning, match=r"(?s)cannot close, by.*\(\de-0[67]\)|\(\d\.\de-0[67]\)"
    ) as found:
        tree = mbt.load_model(urdf.four_bar("1.5708", closing))
    text = str(found[0].message)
    assert "write" in text.lower()
    assert "two distance constraints" in text
    assert tree.parse_reports[0].warnings[-1].text in text
    # The gap really is that large: no crank angle closes it better.
    gap = max(float(number) for number in re.findall(r"\((\d\.?\d*e-0\d)\)", text))
    context = tree.create_default_context()
    tree.assemble(context, tolerance=3 * gap)
    errors = np.abs(equations_of(tree, context).errors).max()
    assert 1e-8 < errors < 10 * gap
    # With all digits there is no warning (a warning would be an error here).
    mbt.load_model(urdf.four_bar(closing=closing))


def test_a_hinge_in_a_plane_keeps_energy():
    """Off the constraint, as in the middle of a step, a hinge acts just as a ball does."""
    energies = []
    for closing in (urdf.PIN, urdf.HINGE):
        tree = mbt.load_model(urdf.four_bar(closing=closing))
        context = tree.create_default_context()
        context.q = [0.917, -0.678, -2.356]
        tree.assemble(context)
        trajectory = mbt.simulate(tree, context, 0.5, 2e-3, method="rk4")
        energies.append(np.abs(trajectory.energy_drift).max())
    np.testing.assert_allclose(energies[1], energies[0], rtol=0.1, atol=1e-8)
    assert energies[1] < 1e-4


@pytest.mark.parametrize("error", [mbt.SingularityError, np.linalg.LinAlgError])
def test_closures_without_numbers_do_not_break_a_load(monkeypatch, error):
    """The search for open loops after reading is only advice: its errors never reach the caller."""
    from mbt.tree.constraints import closing

    def fail(*args):
        raise error("no numbers")

    text = sdf.robot(A, B, C, J, K, sdf.joint("l", "c", "a", "ball", ""))
    for name in ("assemble", "calc_constraint_report"):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", mbt.ModelWarning)
            patch.setattr(closing, name, fail)
            assert mbt.load_model(text).num_constraints == 1
