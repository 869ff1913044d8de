"""SDF: which elements a document becomes."""

import math

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from support.sdf_texts import joint, link, model, pose, robot, sdf, world

A, B, C = link("a"), link("b"), link("c")
AXIS = "<axis><xyz>{}</xyz>{}</axis>"
TWO_AXES = "<axis><xyz>{}</xyz>{}</axis><axis2><xyz>{}</xyz>{}</axis2>"
MIMIC = '<mimic joint="{}"><multiplier>3</multiplier><offset>0.5</offset><reference>0.1</reference></mimic>'


def load(text, **options):
    """Load without a warning: under pytest, warnings are errors."""
    return mbt.load_model(text, **options)


def load_with_warning(text, match, **options):
    with pytest.warns(mbt.ModelWarning, match=match):
        return mbt.load_model(text, **options)


class TestTrees:
    def test_links_that_nothing_fixes_are_free(self):
        tree = load(robot(link("a", pose("1 2 3 0 0 0")), B, joint("j", "a", "b")))
        assert tree.num_velocities == 7
        np.testing.assert_array_equal(
            tree.get_body_by_name("a").eval_pose_in_world(tree.create_default_context())[:3, 3], [1, 2, 3]
        )

    def test_base_fixed_welds_them_where_they_are(self):
        tree = load(robot(link("a", pose("1 2 3 0 0 0")), B, joint("j", "a", "b")), base="fixed")
        assert tree.num_velocities == 1
        np.testing.assert_array_equal(
            tree.get_body_by_name("a").eval_pose_in_world(tree.create_default_context())[:3, 3], [1, 2, 3]
        )

    def test_base_floating_frees_what_is_fixed(self):
        text = robot(link("a", pose("1 0 0 0 0 0")), joint("f", "world", "a", "fixed", pose("0 0 2 1 0 0")))
        tree = load_with_warning(text, "leaves it out", base="floating")
        assert tree.num_velocities == 6
        X_WB = tree.get_body_by_name("a").eval_pose_in_world(tree.create_default_context())
        np.testing.assert_allclose(X_WB, mbt.math.make_pose([1, 0, 0]), atol=1e-15)

    def test_static(self):
        text = robot("<static>1</static>", link("a", pose("1 0 0 0 0 0")), B, joint("j", "a", "b"))
        tree = load(text)
        assert tree.num_velocities == 0
        assert tree.parse_reports[0].ignored == {"joint of a static model": 1}
        freed = load_with_warning(text, "is static", base="floating")
        assert freed.num_velocities == 7

    def test_static_holds_the_models_inside(self):
        tree = load(robot("<static>true</static>", A, model("inner", B, C, joint("j", "b", "c"))))
        assert tree.num_velocities == 0

    def test_joint_between_children_in_either_direction(self):
        tree = load(robot(A, B, C, joint("j", "a", "c"), joint("k", "b", "c"), joint("l", "world", "b")))
        assert tree.num_velocities == 3
        assert [body.name for body in tree.bodies] == ["world", "b", "c", "a"]

    def test_order_is_depth_first(self):
        text = robot(C, B, A, joint("k", "a", "c"), joint("j", "a", "b"), joint("f", "world", "a", "fixed"))
        tree = load(text)
        assert [body.name for body in tree.bodies] == ["world", "a", "c", "b"]

    def test_frames(self):
        tree = load(
            robot(
                link("a", pose("1 0 0 0 0 1")),
                '<frame name="f" attached_to="a">' + pose("0 0 2 0 0 0") + "</frame>",
                '<frame name="g" attached_to="f">'
                + pose("0 1 0 0 0 0", relative_to="__model__")
                + "</frame>",
                '<frame name="h">' + pose("0 0 0 0 0 1") + "</frame>",
            )
        )
        X_AF = tree.get_frame_by_name("f").get_fixed_pose_in_body_frame()
        np.testing.assert_array_equal(X_AF, mbt.math.make_pose([0, 0, 2]))
        context = tree.create_default_context()
        g, h = tree.get_frame_by_name("g"), tree.get_frame_by_name("h")
        assert g.body.name == h.body.name == "a"
        np.testing.assert_allclose(g.calc_pose_in_world(context)[:3, 3], [0, 1, 0], atol=1e-15)
        np.testing.assert_allclose(h.calc_pose_in_world(context)[:3, 3], [0, 0, 0], atol=1e-15)


class TestJoints:
    def test_two_axes_at_a_right_angle_are_a_universal_joint(self):
        limit = "<limit><lower>-1</lower><upper>2</upper><velocity>3</velocity></limit>"
        tree = load(
            robot(A, B, joint("j", "a", "b", "revolute2", TWO_AXES.format("0 0 1", limit, "1 0 0", "")))
        )
        made = tree.get_joint_by_name("j")
        assert isinstance(made, mbt.UniversalJoint)
        np.testing.assert_array_equal(made.position_lower_limits, [-1, -math.inf])
        np.testing.assert_array_equal(made.velocity_upper_limits, [3, math.inf])

    @pytest.mark.parametrize(
        ("axes", "damping"),
        [
            (("1 0 0", "", "1 1 0", ""), (0, 0)),
            (("1 0 0", "<dynamics><damping>2</damping></dynamics>", "0 1 0", ""), (2, 0)),
        ],
    )
    def test_two_axes_otherwise_are_two_joints(self, axes, damping):
        """The result equals a tree with a massless link between two revolute joints."""
        text = robot(A, B, joint("j", "a", "b", "universal", pose("1 0 0 0 0 0") + TWO_AXES.format(*axes)))
        tree = load(text, base="fixed")
        assert [each.name for each in tree.joints if each.num_velocities] == ["j", "j_axis2"]
        expected = mbt.MultibodyTree()
        a = expected.add_body(mbt.RigidBody, "a", tree.get_body_by_name("a").default_spatial_inertia)
        b = expected.add_body(mbt.RigidBody, "b", tree.get_body_by_name("b").default_spatial_inertia)
        cross = expected.add_body(mbt.RigidBody, "cross", mbt.SpatialInertia.zero())
        expected.add_joint(mbt.WeldJoint, "w", expected.world_body, None, a, None)
        X = mbt.math.make_pose([1, 0, 0])
        for ends, axis, d in (
            (("a", a, X, cross, None), axes[0], damping[0]),
            (("b", cross, None, b, X), axes[2], damping[1]),
        ):
            expected.add_joint(mbt.RevoluteJoint, *ends, axis=[float(x) for x in axis.split()], damping=d)
        expected.add_force_element(mbt.UniformGravityFieldElement())
        expected.finalize()
        contexts = tree.create_default_context(), expected.create_default_context()
        for context in contexts:
            context.q, context.v = [0.3, -0.8], [1.0, 2.0]
        vdot, vdot_expected = (
            tree.calc_forward_dynamics(contexts[0]),
            expected.calc_forward_dynamics(contexts[1]),
        )
        np.testing.assert_allclose(vdot, vdot_expected, rtol=1e-12)

    def test_parallel_axes_are_refused(self):
        text = robot(A, B, joint("j", "a", "b", "universal", TWO_AXES.format("0 0 1", "", "0 0 -3", "")))
        with pytest.raises(ParseError, match="its two axes are parallel"):
            load(text)

    def test_motors_and_springs_of_two_axes(self):
        limit = "<limit><effort>4</effort></limit>"
        spring = "<dynamics><spring_stiffness>5</spring_stiffness></dynamics>"
        text = robot(
            A, B, joint("j", "a", "b", "universal", TWO_AXES.format("0 0 1", limit, "1 0 0", spring))
        )
        tree = load(text)
        assert [(motor.name, motor.effort_limit) for motor in tree.joint_actuators] == [("j", 4)]
        springs = [element for element in tree.force_elements if isinstance(element, mbt.RevoluteSpring)]
        assert [(spring.joint.name, spring.stiffness) for spring in springs] == [("j_axis2", 5)]

    def test_motors(self):
        """Every axis has a motor unless its effort limit is zero: SDF has no other way to describe motors."""
        effort = "<limit><effort>{}</effort></limit>"
        text = robot(
            A,
            B,
            C,
            link("d"),
            joint("j", "a", "b"),
            joint("k", "a", "c", inside=AXIS.format("0 0 1", effort.format(0))),
            joint("l", "a", "d", inside=AXIS.format("0 0 1", effort.format(3))),
        )
        tree = load(text)
        assert {motor.name: motor.effort_limit for motor in tree.joint_actuators} == {"j": math.inf, "l": 3}

    def test_a_ball_joint_has_a_damping_and_nothing_else(self):
        spring = "<dynamics><damping>2</damping><spring_stiffness>5</spring_stiffness></dynamics>"
        text = robot(A, B, joint("j", "a", "b", "ball", f"<axis>{spring}</axis>"))
        tree = load_with_warning(
            text, "<spring_stiffness>: mbt does not support this child of model/joint/axis/dynamics"
        )
        np.testing.assert_array_equal(tree.get_joint_by_name("j").default_damping_vector, [2, 2, 2])
        assert tree.parse_reports[0].ignored == {"model/joint/axis/dynamics/spring_stiffness": 1}

    def test_friction(self):
        friction = "<dynamics><friction>2</friction></dynamics>"
        text = robot(A, B, joint("j", "a", "b", inside=AXIS.format("0 0 1", friction)))
        for option, velocity in ((False, np.inf), (True, 0.01)):
            tree = load(text, joint_friction=option)
            (friction,) = (x for x in tree.force_elements if isinstance(x, mbt.JointFriction))
            assert (friction.coulomb_friction, friction.transition_velocity) == (2.0, velocity)
            assert tree.parse_reports[0].inactive == {} if option else {"frictions": 1}


class TestCouplings:
    def test_mimic(self):
        """The follower's q = multiplier (q_leader - reference) + offset."""
        mimic = AXIS.format("0 0 1", MIMIC.format("j"))
        text = robot(A, B, C, joint("j", "a", "b"), joint("k", "b", "c", inside=mimic))
        tree = load_with_warning(text, "keeps its own coordinate")
        (coupler,) = tree.constraints
        assert (coupler.joint0.name, coupler.joint1.name) == ("k", "j")
        assert (coupler.default_gear_ratio, coupler.default_offset) == (3, pytest.approx(0.2))

    def test_mimic_of_drake_and_of_another_model(self):
        mimic = AXIS.format("0 0 1", "") + '<drake:mimic joint="inner::j" multiplier="2" offset="1"/>'
        inner = model("inner", B, C, joint("j", "b", "c"))
        text = robot(A, inner, joint("k", "a", "inner::b", inside=mimic))
        tree = load_with_warning(text, "keeps its own coordinate")
        (coupler,) = tree.constraints
        assert (coupler.joint1.name, coupler.default_gear_ratio, coupler.default_offset) == ("j", 2, 1)

    @pytest.mark.parametrize(("reverse", "sign"), [(False, -1), (True, 1)])
    def test_gearbox(self, reverse, sign):
        """theta_2 = -ratio theta_1, both measured from the reference body."""
        ratio = "<gearbox_ratio>4</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
        gears = joint("g", "b", "c", "gearbox", TWO_AXES.format("0 0 1", "", "0 0 1", "") + ratio)
        second = joint("k", "c", "a") if reverse else joint("k", "a", "c")
        tree = load_with_warning(
            robot(A, B, C, joint("j", "a", "b"), second, gears), "keeps its own coordinate"
        )
        (coupler,) = tree.constraints
        assert (coupler.joint0.name, coupler.joint1.name, coupler.default_gear_ratio) == ("k", "j", 4 * sign)

    def test_leaders_that_are_not_there(self):
        """A name in another model does not count as the leader's."""
        mimic = AXIS.format("0 0 1", MIMIC.format("j"))
        inner = model("inner", A, B, C, joint("j", "a", "b", "ball"), joint("k", "b", "c", inside=mimic))
        text = robot(link("d"), link("e"), joint("j", "d", "e"), inner)
        tree = load_with_warning(text, "'inner::j', and one of them does not have exactly one coordinate")
        assert tree.constraints == ()
        inner = model("inner", B, C, joint("k", "b", "c", inside=mimic))
        text = robot(link("d"), link("e"), joint("j", "d", "e"), inner)
        tree = load_with_warning(text, "'inner::j', which does not exist")
        assert tree.constraints == ()

    def test_gearbox_without_joints(self):
        ratio = "<gearbox_ratio>4</gearbox_ratio><gearbox_reference_body>a</gearbox_reference_body>"
        gears = joint("g", "b", "c", "gearbox", AXIS.format("0 0 1", "") + ratio)
        tree = load_with_warning(robot(A, B, C, joint("j", "a", "b"), gears), "the gearbox is left out")
        assert tree.constraints == ()


class TestModels:
    def test_models_inside_are_model_instances(self):
        inner = model("inner", B, model("tip", C), joint("k", "b", "tip::c"))
        tree = load(robot(A, inner, joint("j", "a", "inner::b")), model_name="arm")
        assert tree.has_model_instance_named("arm::inner::tip")
        assert tree.get_body_by_name("c").scoped_name == "arm::inner::tip::c"
        assert tree.get_joint_by_name("k").scoped_name == "arm::inner::k"

    def test_a_world_of_several_models(self):
        text = world(model("m", A), model("n", A, B, joint("j", "a", "b")))
        tree = load(text)
        assert tree.parse_reports[0].model_name == "hall"
        assert [body.scoped_name for body in tree.bodies[1:]] == ["hall::m::a", "hall::n::a", "hall::n::b"]
        other = mbt.MultibodyTree()
        instance = mbt.parsing.add_model(other, text, model_name="here")
        assert other.get_model_instance_name(instance) == "here"
        assert other.has_model_instance_named("here::n")

    def test_a_world_of_one_model_is_that_model(self):
        tree = load(world(model("m", A)))
        assert tree.bodies[1].scoped_name == "m::a"
        assert load(world(model("m", A)), model_name="x").bodies[1].scoped_name == "x::a"

    def test_other_worlds_are_left_out(self):
        text = sdf(
            '<world name="v">', model("m", A), "</world>", '<world name="w">', model("n", B), "</world>"
        )
        assert load_with_warning(text, "left out").num_bodies == 2

    def test_mounted(self):
        tree = mbt.MultibodyTree()
        base = tree.add_body(mbt.RigidBody, "base", mbt.SpatialInertia.zero())
        text = robot(link("a", pose("0 0 1 0 0 0")))
        X_PF = mbt.math.make_pose([1, 0, 0])
        mbt.parsing.add_model(tree, text, parent=base, X_PF=X_PF, child_frame="__model__")
        tree.finalize()
        a = tree.get_body_by_name("a")
        assert a.inboard_joint.parent_body is base
        X_WB = a.eval_pose_in_world(tree.create_default_context())
        np.testing.assert_array_equal(X_WB[:3, 3], [1, 0, 1])


class TestGravity:
    def test_of_a_world(self):
        """The file's gravity counts unless the caller gives one."""
        text = world("<gravity>0.1 0 -1.62</gravity>", model("m", A))
        tree = load(text)
        assert tree.gravity_field.gravity_vector.tolist() == [0.1, 0, -1.62]
        assert "world/gravity" not in tree.parse_reports[0].ignored
        tree = load(text, gravity=[0, 0, -9.81])
        assert tree.gravity_field.gravity_vector.tolist() == [0, 0, -9.81]
        assert tree.parse_reports[0].ignored["world/gravity"] == 1
        assert load(text, gravity=None).gravity_field is None
        tree = mbt.MultibodyTree()
        mbt.parsing.add_model(tree, text)
        assert tree.gravity_field is None
        assert tree.parse_reports[0].gravity == (0.1, 0, -1.62)

    def test_of_a_world_that_says_none(self):
        assert load(world(model("m", A))).gravity_field.gravity_vector.tolist() == [0, 0, -9.81]

    def test_models_that_weigh_nothing(self):
        floats = link("b", "<gravity>false</gravity>")
        tree = load(sdf(model("m", A, model("balloon", floats))))
        element = tree.gravity_field
        assert element.is_enabled(tree.get_body_by_name("a").model_instance)
        assert not element.is_enabled(tree.get_body_by_name("b").model_instance)

    def test_links_that_weigh_nothing_among_others(self):
        load_with_warning(robot(A, link("b", "<gravity>0</gravity>")), "it acts on all of them")


GEOMETRIES = {
    "<box><size>1 2 3</size></box>": ("box", (1, 2, 3)),
    "<sphere><radius>2</radius></sphere>": ("sphere", (2,)),
    "<cylinder><radius>2</radius><length>3</length></cylinder>": ("cylinder", (2, 3)),
    "<capsule><radius>2</radius><length>3</length></capsule>": ("capsule", (2, 3)),
    "<drake:capsule><radius>2</radius><length>3</length></drake:capsule>": ("capsule", (2, 3)),
    "<ellipsoid><radii>1 2 3</radii></ellipsoid>": ("ellipsoid", (1, 2, 3)),
    "<drake:ellipsoid><a>1</a><b>2</b><c>3</c></drake:ellipsoid>": ("ellipsoid", (1, 2, 3)),
    "<plane/>": ("plane", ()),
    "<mesh><uri>model://m/x.dae</uri><scale>1 1 2</scale></mesh>": ("mesh", (1, 1, 2)),
}


class TestShapes:
    @pytest.mark.parametrize("geometry", GEOMETRIES)
    def test_kinds(self, geometry):
        shape = f'<visual name="v">{pose("0 0 1 0 0 0")}<geometry>{geometry}</geometry></visual>'
        (read,) = load(robot(link("a", shape))).get_body_by_name("a").visuals
        assert (read.kind, read.size) == GEOMETRIES[geometry]
        assert read.name == "v"
        np.testing.assert_array_equal(read.X_BG, mbt.math.make_pose([0, 0, 1]))

    def test_colour_and_pose_in_another_frame(self):
        material = "<material><diffuse>1 0.5 0</diffuse></material>"
        ball = "<geometry><sphere/></geometry>"
        shape = f'<collision name="v">{pose("0 0 1 0 0 0", relative_to="f")}{ball}{material}</collision>'
        frame = '<frame name="f">' + pose("3 0 0 0 0 0") + "</frame>"
        (read,) = load(robot(link("a", shape + pose("1 0 0 0 0 0")), frame)).get_body_by_name("a").collisions
        assert read.color == (1, 0.5, 0, 1)
        np.testing.assert_array_equal(read.X_BG[:3, 3], [2, 0, 1])

    def test_normal_of_a_plane(self):
        shape = '<collision name="v"><geometry><plane><normal>0 1 0</normal></plane></geometry></collision>'
        (read,) = load(robot(link("a", shape))).get_body_by_name("a").collisions
        np.testing.assert_allclose(read.X_BG[:3, 2], [0, 1, 0], atol=1e-15)

    def test_kinds_without_a_shape_are_ignored(self):
        shape = '<visual name="v"><geometry><heightmap><uri>x</uri></heightmap></geometry></visual>'
        tree = load(robot(link("a", shape)))
        assert tree.parse_reports[0].ignored == {"link/visual of heightmap": 1}

    def test_what_is_wrong_with_a_shape_does_not_stop_the_robot(self):
        shape = '<visual name="v"><geometry><sphere><radius>-1</radius></sphere></geometry></visual>'
        tree = load_with_warning(robot(link("a", shape)), "it is not a valid shape")
        assert tree.get_body_by_name("a").visuals == ()
