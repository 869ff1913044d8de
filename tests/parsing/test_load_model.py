"""Descriptions become trees: elements, names, bases; some trees must stay unchanged."""

import pickle
import warnings

import numpy as np
import pytest

import mbt
from mbt.models import model_path
from support.urdf_texts import TWO_LINKS, chain, joint, link, robot, transmission

LIMITED = '<axis xyz="0 0 2"/><limit lower="-1" upper="2" velocity="3" effort="4" drake:acceleration="5"/>'
LIMITED += '<dynamics damping="6"/>'


def snapshot(tree):
    return tuple(
        map(list, (tree.bodies, tree.frames, tree.joints, tree.joint_actuators, tree.parse_reports))
    ), (
        tree.num_model_instances,
        tree.is_finalized,
    )


def test_elements_of_a_robot():
    text = robot(
        link("base"),
        link("arm", 2.0, origin='<origin xyz="0 0 0.5"/>'),
        link("slider"),
        joint("hinge", "base", "arm", "revolute", '<origin xyz="1 2 3" rpy="0 0 1"/>' + LIMITED),
        joint("rail", "arm", "slider", "prismatic", LIMITED),
        transmission("hinge", '<drake:rotor_inertia value="2"/><drake:gear_ratio value="3"/>'),
        '<frame name="tcp" link="arm" xyz="0 0 1"/>',
    )
    tree = mbt.load_model(text)
    assert tree.is_finalized
    arm, hinge = tree.get_body_by_name("arm"), tree.get_joint_by_name("hinge")
    assert (arm.default_mass, arm.default_com.tolist()) == (2.0, [0, 0, 0.5])
    assert (type(hinge), hinge.parent_body.name, hinge.child_body) == (mbt.RevoluteJoint, "base", arm)
    np.testing.assert_array_equal(
        hinge.frame_on_parent.get_fixed_pose_in_body_frame(), mbt.math.make_pose([1, 2, 3], rpy=[0, 0, 1])
    )
    assert hinge.frame_on_child is arm.body_frame
    rail = tree.get_joint_by_name("rail")
    np.testing.assert_array_equal(hinge.revolute_axis, [0, 0, 1])
    np.testing.assert_array_equal(rail.translation_axis, [0, 0, 1])
    for moving in (hinge, rail):
        assert (moving.position_lower_limits, moving.position_upper_limits) == ([-1], [2])
        assert (moving.velocity_lower_limits, moving.velocity_upper_limits) == ([-3], [3])
        assert (moving.acceleration_lower_limits, moving.acceleration_upper_limits) == ([-5], [5])
        assert moving.default_damping_vector == [6]
    (motor,) = tree.joint_actuators
    assert (motor.name, motor.joint, motor.effort_limit) == ("hinge_motor", hinge, 4)
    assert (motor.default_rotor_inertia, motor.default_gear_ratio) == (2, 3)
    tcp = tree.get_frame_by_name("tcp")
    assert (tcp.body, tcp.get_fixed_pose_in_body_frame()[2, 3]) == (arm, 1)
    instance = tree.get_model_instance_by_name("bot")
    elements = (*tree.bodies[1:], *tree.frames[1:], *tree.joints, *tree.joint_actuators)
    assert {element.model_instance for element in elements} == {instance}


def test_planar_joints_move_in_the_plane_of_their_axis():
    origin = '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="1 2 -2"/>'
    tree = mbt.load_model(robot(link("base"), link("puck"), joint("table", "base", "puck", "planar", origin)))
    table, puck = tree.get_joint_by_name("table"), tree.get_body_by_name("puck")
    assert type(table) is mbt.PlanarJoint
    assert {frame.model_instance for frame in (table.frame_on_parent, table.frame_on_child)} == {2}
    context = tree.create_default_context()
    X_WJ = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(puck.eval_pose_in_world(context), X_WJ, atol=1e-15)
    normal = X_WJ[:3, :3] @ np.array([1, 2, -2]) / 3
    context.q = [0.3, -0.4, 0.7]
    X_WB = puck.eval_pose_in_world(context)
    moved = X_WB[:3, 3] - X_WJ[:3, 3]
    np.testing.assert_allclose([moved @ normal, np.linalg.norm(moved)], [0, 0.5], atol=1e-15)
    np.testing.assert_allclose(X_WB[:3, :3] @ X_WJ[:3, :3].T @ normal, normal, atol=1e-15)
    np.testing.assert_allclose(np.trace(X_WB[:3, :3] @ X_WJ[:3, :3].T), 1 + 2 * np.cos(0.7), rtol=1e-14)


def test_joints_of_drake():
    """Ball, universal and screw joints, each with its parameters."""
    parts = [link(name) for name in "abcde"]
    inside = {
        "ball": "",
        "universal": "",
        "planar": "",
        "screw": '<axis xyz="0 2 0"/><drake:screw_thread_pitch value="0.5"/><limit lower="-1" upper="2"/>',
    }
    for (kind, extra), parent, child in zip(inside.items(), "abcd", "bcde", strict=True):
        text = joint(kind, parent, child, kind, '<dynamics damping="0.25"/>' + extra)
        parts.append(text.replace("joint name", "drake:joint name").replace("</joint>", "</drake:joint>"))
    tree = mbt.load_model(robot(*parts, transmission("screw")))
    assert [type(joint) for joint in tree.joints[1:]] == [
        mbt.BallRpyJoint,
        mbt.UniversalJoint,
        mbt.PlanarJoint,
        mbt.ScrewJoint,
    ]
    for moving in tree.joints[1:]:
        assert moving.default_damping_vector.tolist() == [0.25] * moving.num_velocities
    screw = tree.get_joint_by_name("screw")
    assert (screw.screw_pitch, screw.screw_axis.tolist()) == (0.5, [0, 1, 0])
    assert (screw.position_lower_limit, screw.position_upper_limit) == (-1, 2)
    assert tree.joint_actuators[0].joint is screw


class TestFriction:
    PARTS = (
        link("a"),
        link("b"),
        link("c"),
        joint("ab", "a", "b", inside='<dynamics damping="2" friction="0.5"/>'),
        joint("bc", "b", "c", inside='<dynamics friction="0"/>'),
    )

    def test_it_acts_in_implicit_steps_only(self):
        """Joints stick in implicit steps; everything else behaves as without friction."""
        tree = mbt.load_model(robot(*self.PARTS), gravity=None)
        (friction,) = tree.force_elements
        assert (friction.coulomb_friction, friction.transition_velocity) == (0.5, np.inf)
        assert tree.parse_reports[0].inactive == {"frictions": 1}
        parts = [part.replace('friction="0.5"', "") for part in self.PARTS]
        free = mbt.load_model(robot(*parts), gravity=None)
        q, v, tau = np.array([[0.2, -0.1], [0.3, 0.7], [0.4, 0.0]])
        for function in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives", "step"):
            more = (1e-3,) if function == "step" else ()
            found, expected = (getattr(mbt.functional, function)(x, q, v, tau, *more) for x in (tree, free))
            np.testing.assert_array_equal(
                np.concatenate(found, axis=None), np.concatenate(expected, axis=None)
            )
        moved = mbt.functional.step(tree, q, 0 * v, np.array([0.49, 0.0]), 5e-3, method="implicit")[1]
        assert abs(moved[0]) < 1e-4
        moved = mbt.functional.step(free, q, 0 * v, np.array([0.49, 0.0]), 5e-3, method="implicit")[1]
        assert abs(moved[0]) > 1e-4
        # Editing, pickles and files keep it.
        with_gravity = mbt.load_model(robot(*self.PARTS))
        copies = [
            tree.edit(),
            pickle.loads(pickle.dumps(tree)),
            mbt.load_model(mbt.save_model(tree, format="json")),
            mbt.load_model(mbt.save_model(with_gravity, format="urdf")),
        ]
        for copy in copies:
            assert copy.force_elements[0].transition_velocity == np.inf
        assert copies[2].parse_reports[0].inactive == copies[3].parse_reports[0].inactive == {"frictions": 1}
        assert mbt.simulate(tree, tree.create_default_context(), 0.01).method == "implicit"

    def test_on_request(self):
        tree = mbt.load_model(robot(*self.PARTS), joint_friction=True, gravity=None)
        (friction,) = tree.force_elements
        assert type(friction) is mbt.JointFriction
        assert (friction.joint.name, friction.model_instance) == ("ab", 2)
        assert tree.parse_reports[0].ignored == {}
        context = tree.create_default_context()
        context.v = [1.0, 1.0]
        forces = mbt.MultibodyForces(tree)
        tree.calc_force_elements_contribution(context, forces)
        # Damping plus, well beyond the transition, the full friction.
        np.testing.assert_allclose(forces.generalized_forces, [-2.5, 0.0], rtol=1e-12)

    def test_in_a_tree_of_several(self):
        tree = mbt.MultibodyTree()
        mbt.parsing.add_model(tree, robot(*self.PARTS), joint_friction=True)
        mbt.parsing.add_model(tree, robot(*self.PARTS), model_name="other")
        found = [(element.model_instance, element.transition_velocity) for element in tree.force_elements]
        assert found == [(2, 0.01), (3, np.inf)]

    def test_negative(self):
        text = robot(link("a"), link("b"), joint("ab", "a", "b", inside='<dynamics friction="-1"/>'))
        assert mbt.load_model(text).num_joints == 2
        with pytest.raises(mbt.ParseError, match="friction = -1: expected a number >= 0"):
            mbt.load_model(text, joint_friction=True)


def test_gravity():
    assert tree_gravity(mbt.load_model(robot(*TWO_LINKS))) == [[0, 0, -9.81]]
    assert tree_gravity(mbt.load_model(robot(*TWO_LINKS), gravity="file")) == [[0, 0, -9.81]]
    assert tree_gravity(mbt.load_model(robot(*TWO_LINKS), gravity=[1, 2, 3])) == [[1, 2, 3]]
    assert tree_gravity(mbt.load_model(robot(*TWO_LINKS), gravity=None)) == []


def test_a_tree_tells_that_it_has_no_gravity():
    """add_model adds no gravity: the tree and its report say so."""
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, robot(*TWO_LINKS))
    assert repr(tree) == "<MultibodyTree: 3 bodies, 2 joints, no gravity, not finalized>"
    tree.finalize()
    assert str(tree.finalize_report).startswith(
        "<MultibodyTree: 3 bodies, 2 joints, 1 position, 1 velocity, no gravity>"
    )
    assert repr(mbt.load_model(robot(*TWO_LINKS), gravity=None)) == repr(tree)
    assert "gravity" not in repr(mbt.load_model(robot(*TWO_LINKS)))


def tree_gravity(tree):
    return [element.gravity_vector.tolist() for element in tree.force_elements]


@pytest.mark.parametrize("gravity", [[0, 0], "down", [0, 0, np.nan], 9.81])
def test_bad_gravity(gravity):
    with pytest.raises(mbt.MbtError, match="gravity: expected"):
        mbt.load_model(robot(*TWO_LINKS), gravity=gravity)


def test_names_of_joint_frames_and_welds_give_way():
    text = robot(
        link("base"),
        link("j_parent"),
        joint("j", "base", "j_parent"),
        link("end"),
        joint("base_to_world", "j_parent", "end", "fixed"),
        '<frame name="base_to_world_parent" link="end"/>',
    )
    tree = mbt.load_model(text)
    assert tree.get_joint_by_name("j").frame_on_parent.name == "j_parent_"
    assert tree.get_joint_by_name("base_to_world").frame_on_parent.name == "base_to_world_parent_"
    assert tree.get_joint_by_name("base_to_world_").child_body.name == "base"


def test_world_as_the_child_of_a_joint():
    text = robot(link("arm"), joint("j", "arm", "world", inside='<origin xyz="0 0 1"/>'))
    tree = mbt.MultibodyTree()
    instances = [mbt.parsing.add_model(tree, text, model_name=name) for name in ("one", "two")]
    tree.finalize()
    assert tree.num_velocities == 2
    for instance in instances:
        j = tree.get_joint_by_name("j", instance)
        assert (j.parent_body.name, j.child_body) == ("arm", tree.world_body)


def test_several_models_in_one_tree():
    tree = mbt.MultibodyTree()
    left = mbt.parsing.add_model(tree, robot(*TWO_LINKS), model_name="left")
    right = mbt.parsing.add_model(tree, robot(*TWO_LINKS), model_name="right", base="floating")
    assert not tree.is_finalized
    assert tree.num_force_elements == 0
    assert [report.model_name for report in tree.parse_reports] == ["left", "right"]
    tree.finalize()
    assert (tree.get_num_velocities(left), tree.get_num_velocities(right)) == (1, 7)
    assert tree.get_body_by_name("arm", left) is not tree.get_body_by_name("arm", right)


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        ("<robot/>", {}, mbt.ParseError),
        ("nowhere.urdf", {}, mbt.ParseError),
        (robot(link("a"), link("a")), {}, mbt.ParseError),
        (robot(link("a"), link("b"), joint("j", "a", "c")), {}, mbt.ParseError),
        (robot(*TWO_LINKS), {"model_name": "first"}, mbt.ArgumentValueError),
        (robot(*TWO_LINKS), {"model_name": ""}, mbt.ArgumentValueError),
        (robot(*TWO_LINKS), {"model_name": 3}, mbt.ArgumentTypeError),
        (robot(*TWO_LINKS), {"base": "loose"}, mbt.ArgumentValueError),
        (robot(*TWO_LINKS), {"base": 3}, mbt.ArgumentTypeError),
        (robot(*TWO_LINKS), {"package_paths": "folder"}, mbt.ArgumentTypeError),
        (3, {}, mbt.ArgumentTypeError),
        (
            robot(link("a", 1, '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>')),
            {"strict": True},
            mbt.ParseError,
        ),
    ],
)
def test_what_fails_leaves_the_tree_as_it_was(source, options, error):
    tree = mbt.MultibodyTree()
    mbt.parsing.add_model(tree, robot(*TWO_LINKS), model_name="first")
    before = snapshot(tree)
    with pytest.raises(error):
        mbt.parsing.add_model(tree, source, **options)
    assert snapshot(tree) == before
    tree.finalize()
    assert tree.num_velocities == 1


def test_finalized_trees_take_no_models():
    tree = mbt.load_model(robot(*TWO_LINKS))
    before = snapshot(tree)
    with pytest.raises(mbt.AlreadyFinalizedError, match="add_model: the tree is finalized"):
        mbt.parsing.add_model(tree, robot(*TWO_LINKS), model_name="other")
    assert snapshot(tree) == before


def test_add_model_needs_a_tree():
    with pytest.raises(mbt.ArgumentTypeError, match=r"tree: expected an mbt.MultibodyTree, got str"):
        mbt.parsing.add_model("tree", robot(*TWO_LINKS))


def test_one_warning_for_all_and_it_points_here():
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>'
    text = robot(*(link(f"l{i}", 1, inertia) for i in range(15)), '<link name="tip"/>')
    with pytest.warns(mbt.ModelWarning, match="15 links have inertias that no physical body has") as caught:
        tree = mbt.load_model(text)
    (warning,) = caught
    assert warning.filename == __file__
    assert "and 7 more: see tree.parse_reports" in str(warning.message)
    assert len(tree.parse_reports[0].warnings) == 17
    with pytest.warns(mbt.ModelWarning) as caught:
        mbt.parsing.add_model(mbt.MultibodyTree(), text)
    assert caught[0].filename == __file__


def test_a_warning_that_is_an_error_leaves_the_tree_as_it_was():
    tree = mbt.MultibodyTree()
    before = snapshot(tree)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(mbt.ModelWarning):
            mbt.parsing.add_model(tree, robot(link("a"), link("b")))
    assert snapshot(tree) == before


def test_no_warning_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mbt.load_model(model_path("mbt_arm"))


def test_impossible_inertias_are_computed_with_as_written():
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>'
    with pytest.warns(mbt.ModelWarning):
        tree = mbt.load_model(robot(link("base"), link("wheel", 2, inertia), joint("j", "base", "wheel")))
    context = tree.create_default_context()
    np.testing.assert_allclose(tree.calc_mass_matrix(context), [[5.0]], rtol=1e-15)


def test_files_texts_and_bytes_are_the_same_robot(tmp_path):
    text = model_path("mbt_arm").read_text()
    q = np.linspace(-1, 1, 6)
    matrices = []
    for source in (model_path("mbt_arm"), str(model_path("mbt_arm")), text, text.encode()):
        tree = mbt.load_model(source)
        matrices.append(mbt.functional.mass_matrix(tree, q))
    for matrix in matrices[1:]:
        np.testing.assert_array_equal(matrix, matrices[0])


def test_a_chain_of_ten_thousand_links():
    tree = mbt.load_model(chain(10_000))
    assert (tree.num_bodies, tree.num_velocities) == (10_002, 10_000)
    assert tree.tree_height == 10_002


# Options.


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"strict": "no"}, mbt.ArgumentTypeError, "strict: expected True or False, got 'no'"),
        ({"strict": 1}, mbt.ArgumentTypeError, "strict: expected True or False, got 1"),
        ({"joint_friction": None}, mbt.ArgumentTypeError, "joint_friction: expected True or False, got None"),
        (
            {"base": "loose"},
            mbt.ArgumentValueError,
            "base: expected 'fixed' or 'floating' or None, got 'loose'",
        ),
        ({"base": True}, mbt.ArgumentTypeError, "base: expected 'fixed' or 'floating' or None, got bool"),
        (
            {"actuators": "some"},
            mbt.ArgumentValueError,
            "actuators: expected 'declared' or 'all', got 'some'",
        ),
        ({"actuators": None}, mbt.ArgumentTypeError, "actuators: expected 'declared' or 'all', got NoneType"),
        ({"model_name": ""}, mbt.ArgumentValueError, "model_name"),
        ({"package_paths": [3]}, mbt.ArgumentTypeError, "package_paths: expected folders"),
    ],
)
def test_options_have_their_values(options, error, message):
    tree = mbt.MultibodyTree()
    with pytest.raises(error, match=message):
        mbt.load_model(robot(*TWO_LINKS), **options)
    with pytest.raises(error, match=message):
        mbt.parsing.add_model(tree, robot(*TWO_LINKS), **options)
    assert tree.num_bodies == 1


def test_a_bool_of_numpy_is_one():
    assert mbt.load_model(robot(*TWO_LINKS), strict=np.True_).num_bodies == 3


# Actuators.

DRIVEN = (
    link("a"),
    link("b"),
    link("c"),
    link("d"),
    link("e"),
    joint("lift", "a", "b", "prismatic", '<limit lower="0" upper="1" effort="7" velocity="1"/>'),
    joint("turn", "b", "c", "revolute", '<limit lower="0" upper="1" effort="8" velocity="1"/>'),
    joint("fix", "c", "d", "fixed"),
    joint("puck", "d", "e", "planar"),
    transmission("turn", '<drake:gear_ratio value="3"/>'),
)


def test_declared_actuators():
    tree = mbt.load_model(robot(*DRIVEN))
    assert [(a.name, a.effort_limit) for a in tree.joint_actuators] == [("turn_motor", 8)]
    assert [tree.get_joint_by_name(name).effort_limit for name in ("lift", "turn", "puck")] == [7, 8, np.inf]
    assert "effort" not in str(tree.parse_reports[0])


def test_all_actuators():
    tree = mbt.load_model(robot(*DRIVEN), actuators="all")
    assert [(a.name, a.joint.name, a.effort_limit, a.default_gear_ratio) for a in tree.joint_actuators] == [
        ("lift", "lift", 7, 1),
        ("turn_motor", "turn", 8, 3),
    ]
    assert tree.parse_reports[0].num_actuators == 2
    assert "effort" not in str(tree.parse_reports[0])


def test_all_actuators_give_way_to_names_that_are_taken():
    text = robot(
        *TWO_LINKS,
        link("tip"),
        joint("tip", "arm", "tip"),
        transmission("hinge").replace("hinge_motor", "tip"),
    )
    tree = mbt.load_model(text, actuators="all")
    assert [(a.name, a.joint.name) for a in tree.joint_actuators] == [("tip", "hinge"), ("tip_2", "tip")]


def test_effort_limits_of_zero():
    text = robot(link("a"), link("b"), joint("j", "a", "b", inside='<limit effort="0"/>'))
    assert mbt.load_model(text).get_joint_by_name("j").effort_limit == 0
    assert mbt.load_model(text, actuators="all").num_actuators == 0
    driven = text.replace("</robot>", transmission("j") + "</robot>")
    with pytest.warns(mbt.ModelWarning, match="joint 'j' has an effort limit of zero: left out"):
        assert mbt.load_model(driven, actuators="all").num_actuators == 0
