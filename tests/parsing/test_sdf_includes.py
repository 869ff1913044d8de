"""Files included by SDF are found in allowed folders only."""

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from support import urdf_texts as urdf
from support.sdf_texts import joint, link, model, pose, robot, sdf, world

HAND = model("hand", pose("0 0 1 0 0 0"), link("palm"), link("finger", pose("1 0 0 0 0 0")),
             joint("grip", "palm", "finger"))  # fmt: skip


def include(address, inside="", attributes=""):
    return f"<include {attributes}><uri>{address}</uri>{inside}</include>"


@pytest.fixture
def folder(tmp_path):
    """A folder of packages, with one package in it."""
    package = tmp_path / "packages" / "hand"
    package.mkdir(parents=True)
    (package / "old.sdf").write_text(sdf(model("old", link("palm")), version="1.4"))
    (package / "new.sdf").write_text(sdf(HAND))
    (package / "model.config").write_text(
        '<model><name>hand</name><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf></model>'
    )
    return tmp_path / "packages"


def load(text, *folders):
    return mbt.load_model(text, package_paths=folders)


@pytest.mark.parametrize(
    "address", ["model://hand", "package://hand", "model://hand/new.sdf", "hand", "hand/new.sdf"]
)
def test_addresses(folder, address):
    tree = load(robot(link("arm"), include(address), joint("j", "arm", "hand::palm")), folder)
    assert tree.get_body_by_name("finger").scoped_name == "bot::hand::finger"
    context = tree.create_default_context()
    X_WB = tree.get_body_by_name("finger").eval_pose_in_world(context)
    np.testing.assert_array_equal(X_WB[:3, 3], [1, 0, 1])


def test_what_an_include_says(folder):
    """Its name, pose and placement frame override those of the model."""
    said = "<name>left</name>" + pose("0 5 0 0 0 0") + "<placement_frame>finger</placement_frame>"
    tree = load(robot(link("arm"), include("model://hand", said), joint("j", "arm", "left::palm")), folder)
    X_WB = tree.get_body_by_name("finger").eval_pose_in_world(tree.create_default_context())
    np.testing.assert_array_equal(X_WB[:3, 3], [0, 5, 0])
    assert tree.has_model_instance_named("bot::left")


def test_static(folder):
    tree = load(world(model("m", link("a")), include("model://hand", "<static>true</static>")), folder)
    assert tree.num_velocities == 6


def test_merge(folder):
    """The links become the outer model's, at the same places."""
    merged = include("model://hand", pose("0 2 0 0 0 0"), 'merge="true"')
    text = robot(link("arm"), merged, joint("j", "arm", "palm"), '<frame name="f" attached_to="finger"/>')
    tree = load(text, folder)
    assert tree.get_body_by_name("finger").scoped_name == "bot::finger"
    X_WB = tree.get_body_by_name("finger").eval_pose_in_world(tree.create_default_context())
    np.testing.assert_array_equal(X_WB[:3, 3], [1, 2, 0])


def test_only_an_include(folder):
    """A world with one included model loads as that model."""
    tree = load(world(include("model://hand")), folder)
    assert tree.get_body_by_name("palm").scoped_name == "hand::palm"


def test_the_folder_of_the_file(folder, tmp_path):
    (tmp_path / "hand.sdf").write_text(sdf(HAND))
    path = tmp_path / "robot.sdf"
    path.write_text(robot(link("arm"), include("hand.sdf"), joint("j", "arm", "hand::palm")))
    assert mbt.load_model(path).num_bodies == 4
    with pytest.raises(ParseError, match=r"was not found \(searched: no folder"):
        mbt.load_model(path.read_text())


def test_messages_tell_the_included_file(folder):
    (folder / "hand" / "new.sdf").write_text(
        sdf(model("hand", '<link name="a"><inertial><mass>x</mass></inertial></link>'))
    )
    with pytest.raises(ParseError, match=r"new.sdf:3: <mass>: 'x': expected a number"):
        load(robot(link("arm"), include("model://hand")), folder)
    (folder / "hand" / "new.sdf").write_text(sdf(model("hand", link("a"), "<static>x</static>")))
    with pytest.warns(mbt.ModelWarning, match=r"line 2: .*new.sdf: <model name=.hand.>"):
        load(robot(link("arm"), include("model://hand")), folder)


def test_nothing_outside_is_read(folder, tmp_path):
    secret = tmp_path / "secret.sdf"
    secret.write_text(sdf(HAND))
    (folder / "hand" / "link.sdf").symlink_to(secret)
    (folder / "hand" / "away").symlink_to(tmp_path)
    path = folder / "robot.sdf"
    for address in (
        "../secret.sdf",
        "hand/link.sdf",
        "hand/away/secret.sdf",
        "model://hand/link.sdf",
        "model://hand/../../secret.sdf",
    ):
        path.write_text(robot(link("arm"), include(address)))
        with pytest.raises(ParseError, match=r"robot.sdf:4: <include>: .* leads out of"):
            load(path, folder)
    # A folder that is itself a symbolic link.
    (folder / "away").symlink_to(tmp_path)
    for address in ("away/secret.sdf", "model://away/secret.sdf", "package://away/secret.sdf"):
        path.write_text(robot(link("arm"), include(address)))
        with pytest.raises(ParseError, match=r"robot.sdf:4: <include>: .* leads out of"):
            load(path, folder)
        with pytest.raises(ParseError, match=r"robot.sdf:4: <include>: .* leads out of"):
            mbt.load_model(path)
    (folder / "hand" / "model.config").write_text('<model><sdf version="1.9">../../secret.sdf</sdf></model>')
    with pytest.raises(ParseError, match="leads out of"):
        load(robot(link("arm"), include("model://hand")), folder)
    for address, match in (
        (str(secret), "is an absolute path"),
        (f"file://{secret}", "file addresses are not supported"),
        ("https://example.org/hand", "https addresses are not supported"),
        ("model://..", "expected package://name/path"),
    ):
        with pytest.raises(ParseError, match=match):
            load(robot(link("arm"), include(address)), folder)


def test_files_that_include_themselves(tmp_path):
    path = tmp_path / "a.sdf"
    path.write_text(robot(link("arm"), include("b.sdf")))
    (tmp_path / "b.sdf").write_text(sdf(model("b", link("b"), include("a.sdf"))))
    with pytest.raises(ParseError, match=r"b\.sdf:4: <include>: .*a\.sdf' includes itself"):
        mbt.load_model(path)


def test_many_files(tmp_path):
    """Ten levels of files, each including the next ten times, would be ten billion models."""
    for i in range(10):
        parts = [include(f"m{i + 1}.sdf", f"<name>n{k}</name>") for k in range(10)]
        (tmp_path / f"m{i}.sdf").write_text(sdf(model("m", link("a"), *parts)))
    (tmp_path / "m10.sdf").write_text(sdf(model("m", link("a"))))
    with pytest.raises(ParseError, match="more than 500 files are included"):
        mbt.load_model(tmp_path / "m0.sdf")


def test_other_documents(folder):
    (folder / "hand" / "new.sdf").write_text("<mujoco><worldbody/></mujoco>")
    with pytest.raises(ParseError, match="'model://hand' is <mujoco>: expected <sdf> or <robot>"):
        load(robot(link("arm"), include("model://hand")), folder)
    (folder / "hand" / "new.sdf").write_text(sdf('<light name="sun" type="point"/>'))
    tree = load(world(model("m", link("a")), include("model://hand")), folder)
    assert tree.num_bodies == 2


class TestRobots:
    """Included URDF."""

    LIMB = urdf.robot(
        urdf.link("base"),
        urdf.link("arm", 2.0, origin='<origin xyz="0.1 0.2 0.3"/>'),
        urdf.joint(
            "hinge", "base", "arm", inside='<origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/>'
        ),
        urdf.transmission("hinge"),
        '<frame name="tool" link="arm" xyz="0.5 0 0" rpy="0 0.4 0"/>',
        "<drake:linear_bushing_rpy>"
        '<drake:bushing_frameA name="base"/><drake:bushing_frameC name="tool"/>'
        '<drake:bushing_torque_stiffness value="1 2 3"/><drake:bushing_torque_damping value="0 0 0"/>'
        '<drake:bushing_force_stiffness value="4 5 6"/><drake:bushing_force_damping value="0 0 0"/>'
        "</drake:linear_bushing_rpy>",
        name="limb",
    )
    FIX = joint("f", "world", "limb::base", "fixed", "")
    PLACE = pose("1 2 3 0.1 0.2 0.3")

    @pytest.fixture
    def limb(self, folder):
        (folder / "limb.urdf").write_text(self.LIMB)
        return folder

    def test_it_is_a_model_inside(self, limb):
        """The same as mounting it there."""
        tree = load(robot(include("limb.urdf", self.PLACE), self.FIX), limb)
        assert [body.scoped_name for body in tree.bodies[1:]] == ["bot::limb::base", "bot::limb::arm"]
        assert tree.joint_actuators[0].scoped_name == "bot::limb::hinge_motor"
        X_WM = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
        same = mbt.load_model(self.LIMB, base_pose=X_WM)
        for each in (tree, same):
            assert each.num_velocities == 1
        state = [0.3], [0.2], [0.1]
        vdot = mbt.functional.forward_dynamics(same, *state)
        assert abs(vdot) > 0.1
        np.testing.assert_allclose(mbt.functional.forward_dynamics(tree, *state), vdot, rtol=1e-12)

    def test_joints_and_frames_name_what_is_in_it(self, limb):
        parts = include("limb.urdf", "<name>left</name>"), include("limb.urdf", "<name>right</name>")
        ends = (
            joint("a", "world", "left::base", "fixed", ""),
            joint("b", "left::tool", "right::base", "revolute", "<axis><xyz>0 0 1</xyz></axis>"),
            '<frame name="eye" attached_to="right::hinge"/>',
        )
        tree = load(robot(*parts, *ends), limb)
        assert tree.num_velocities == 3
        assert tree.get_frame_by_name("eye").body.scoped_name == "bot::right::arm"
        assert len(tree.force_elements) == 3
        context = tree.create_default_context()
        X = [
            tree.get_frame_by_name(name).calc_pose_in_world(context)
            for name in ("bot::left::tool", "bot::right::base")
        ]
        context.q = [0.0, 0.5, 0.0]
        moved = [
            tree.get_frame_by_name(name).calc_pose_in_world(context)
            for name in ("bot::left::tool", "bot::right::base")
        ]
        assert not np.allclose(X[1], moved[1])
        np.testing.assert_array_equal(X[0], moved[0])

    def test_placed_by_a_frame(self, limb):
        place = self.PLACE + "<placement_frame>tool</placement_frame>"
        tree = load(robot(include("limb.urdf", place), self.FIX), limb)
        X_WT = tree.get_frame_by_name("tool").calc_pose_in_world(tree.create_default_context())
        np.testing.assert_allclose(X_WT, mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3]), atol=1e-15)

    def test_alone_and_static(self, limb):
        tree = load(world(include("limb.urdf")), limb)
        assert tree.get_body_by_name("arm").scoped_name == "limb::arm"
        assert tree.num_velocities == 7
        tree = load(robot(link("torso"), include("limb.urdf", "<static>true</static>")), limb)
        assert (tree.num_velocities, len(tree.joint_actuators), len(tree.force_elements)) == (6, 0, 1)

    def test_loops_with_it(self, limb):
        """Its joints count in the search for loops."""
        close = joint("l", "world", "limb::arm", "ball", "")
        tree = load(robot(include("limb.urdf"), self.FIX, close), limb)
        assert [each.scoped_name for each in tree.constraints] == ["bot::limb::l"]

    def test_warnings_tell_its_file(self, limb):
        mimic = urdf.joint("k", "arm", "tip", inside='<mimic joint="hinge"/>')
        (limb / "limb.urdf").write_text(self.LIMB.replace("</robot>", urdf.link("tip") + mimic + "</robot>"))
        with pytest.warns(mbt.ModelWarning, match=r"limb.urdf: joint 'k' mimics 'hinge'"):
            tree = load(robot(include("limb.urdf")), limb)
        assert tree.get_constraint_by_name("k").joint1 is tree.get_joint_by_name("hinge")
        (limb / "limb.urdf").write_text(self.LIMB.replace('mass value="2.0"', 'mass value="x"'))
        with pytest.raises(ParseError, match=r"limb.urdf:3: <mass>: value='x'"):
            load(robot(include("limb.urdf")), limb)

    def test_the_report_is_that_of_the_robot(self, limb):
        """Its inactive parts and remarks are reported as for the robot alone."""
        inside = '<dynamics friction="0.1"/><mimic joint="hinge"/>'
        tip = urdf.link("tip") + urdf.joint("k", "arm", "tip", inside=inside)
        (limb / "limb.urdf").write_text(self.LIMB.replace("</robot>", tip + "</robot>"))
        with pytest.warns(mbt.ModelWarning):
            alone = mbt.load_model(limb / "limb.urdf").parse_reports[0]
        with pytest.warns(mbt.ModelWarning):
            included = load(robot(include("limb.urdf")), limb).parse_reports[0]
        assert alone.inactive
        assert included.inactive == alone.inactive
        assert "mimic" in {remark.about for remark in alone.warnings}
        assert [x.about for x in included.warnings] == [x.about for x in alone.warnings]

    def test_it_is_not_merged(self, limb):
        with pytest.raises(ParseError, match="3: <include>: URDF cannot be merged into a model"):
            load(robot(include("limb.urdf", "", 'merge="true"')), limb)
