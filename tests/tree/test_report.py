"""The report of finalize(), drawings, and what notebooks show."""

from __future__ import annotations

import copy
import html.parser
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import mbt
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    MultibodyTree,
    PrismaticJoint,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    WeldJoint,
)
from support.build import build_tree
from support.random_trees import ALL_KINDS, random_model

M_BBo_B = SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)
ZERO = SpatialInertia.zero()
Z = [0.0, 0.0, 1.0]
X = make_pose([1, 0, 0])


@pytest.fixture
def tree() -> MultibodyTree:
    """
    world -shoulder> upper <elbow- mid -fix> tool      motor on the shoulder
          -> ball
          -> wheel (a bare mobilizer)
    """
    tree = MultibodyTree()
    arm = tree.add_model_instance("arm")
    upper, mid, tool = (tree.add_body(RigidBody(name, M_BBo_B, arm)) for name in ("upper", "mid", "tool"))
    tree.add_body(RigidBody("ball", M_BBo_B))
    wheel = tree.add_body(RigidBody("wheel", M_BBo_B))
    shoulder = tree.add_joint(RevoluteJoint, "shoulder", tree.world_body, None, upper, X, Z, -1, 2)
    tree.add_joint(PrismaticJoint, "elbow", mid, None, upper, X, Z)
    tree.add_joint(WeldJoint, "fix", mid, X, tool, None)
    tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, wheel.body_frame, Z))
    tree.add_joint_actuator("motor", shoulder)
    shoulder.set_default_angle(0.5)
    tree.finalize()
    return tree


class TestContents:
    def test_needs_finalize(self) -> None:
        for what in ("finalize_report", "topology"):
            with pytest.raises(mbt.NotFinalizedError, match=rf"{what}: call tree\.finalize\(\) first"):
                getattr(MultibodyTree(), what)
        with pytest.raises(mbt.NotFinalizedError):
            MultibodyTree().get_topology_graphviz_string()

    def test_world_alone(self) -> None:
        tree = MultibodyTree()
        tree.finalize()
        report = tree.finalize_report
        assert report.positions == report.massless_branches == report.welded_bodies == ()
        assert "Positions: 0" in str(report)
        assert report.draw().splitlines()[1].split() == ["0", "world"]

    def test_what_it_tells(self, tree: MultibodyTree) -> None:
        report = tree.finalize_report
        assert report.tree is tree
        assert report.forest is tree.topology
        assert [body.name for body in report.node_order] == ["world", "upper", "mid", "tool", "wheel", "ball"]
        assert [body.node_index for body in report.node_order] == list(range(6))
        assert [c.name for c in report.positions[:4]] == ["shoulder_q", "elbow_x", "wheel_q", "ball_qw"]
        assert [c.index for c in report.positions] == list(range(tree.num_positions))
        assert [c.name for c in report.velocities] == list(tree.velocity_names)
        assert report.positions[1].joint is tree.get_joint_by_name("elbow")
        assert report.positions[2].joint is None
        ball = tree.get_body_by_name("ball").inboard_joint
        assert report.ephemeral_joints == (ball,)
        assert set(report.ephemeral_elements) == {ball, *(joint.mobilizer for joint in tree.joints)}
        assert report.reversed_joints == (tree.get_joint_by_name("elbow"),)
        assert [[body.name for body in group] for group in report.welded_bodies] == [["mid", "tool"]]
        assert [c.index for c in report.unactuated_velocities] == [1, 2, *range(3, 9)]
        assert report.massless_branches == ()

    def test_welded_to_world(self) -> None:
        tree = MultibodyTree()
        a, b, c = (tree.add_body(RigidBody(name, M_BBo_B)) for name in "abc")
        tree.add_joint(WeldJoint, "ab", a, None, b, None)
        tree.add_joint(WeldJoint, "floor", tree.world_body, None, a, None)
        tree.add_joint(RevoluteJoint, "bc", b, None, c, None, Z)
        tree.finalize()
        assert [[x.name for x in group] for group in tree.finalize_report.welded_bodies] == [
            ["world", "a", "b"]
        ]


class TestText:
    def test_drawing(self, tree: MultibodyTree) -> None:
        assert tree.finalize_report.draw().splitlines() == [
            "node  body           joint     type                 q    v",
            "   0  world",
            "   1  ├─ upper       shoulder  revolute             0    0",
            "   2  │  └─ mid      elbow     prismatic, reversed  1    1",
            "   3  │     └─ tool  fix       weld",
            "   4  ├─ wheel                 RevoluteMobilizer    2    2",
            "   5  └─ ball        (ball)    quaternion floating  3-9  3-8",
        ]

    def test_all_of_it(self, tree: MultibodyTree) -> None:
        text = str(tree.finalize_report)
        assert text == tree.finalize_report.to_text()
        for words in (
            "<MultibodyTree: 6 bodies, 4 joints, 10 positions, 9 velocities, no gravity>",
            "Forest: 3 trees, height 4",
            "'ball' has no path to World: finalize() gave it the quaternion floating joint 'ball'.",
            "'elbow': its child 'upper' is nearer World than its parent 'mid'.",
            "'mid', 'tool'",
            "Velocities without an actuator: 8 of 9",
            "Joints without inertia: 0",
        ):
            assert words in re.sub(r"\s+", " ", text)
        rows = [line.split() for line in text.splitlines()]
        assert ["0", "shoulder_q", "shoulder", "-1", "2", "0.5"] in rows
        assert ["0", "shoulder_w", "shoulder", "-", "-", "motor"] in rows

    def test_long_reports_are_cut(self) -> None:
        tree = build_tree(random_model(0, 30, kinds=("revolute",)))
        report = tree.finalize_report
        assert len(report.draw(max_rows=5).splitlines()) == 7
        assert report.draw(max_rows=5).endswith("… 26 more")
        assert len(report.draw(max_rows=None).splitlines()) == 32
        assert "… 25 more" in report.to_text(max_rows=5)

    def test_deep_chains_stay_narrow(self) -> None:
        tree = build_tree(random_model(0, 300, kinds=("weld",), pick_parent=lambda _, i: i - 1))
        lines = tree.finalize_report.draw(None).splitlines()
        assert len(lines) == 302
        assert max(map(len, lines)) < 220
        assert "level 300: " in lines[-1]

    def test_names_cannot_break_lines(self) -> None:
        tree = MultibodyTree()
        tree.add_body(RigidBody("a\nb\x1b[31m", M_BBo_B))
        tree.finalize()
        assert len(tree.finalize_report.draw().splitlines()) == 3
        assert "\x1b" not in str(tree.finalize_report)


class TestGraphviz:
    def test_all_nodes_and_edges(self, tree: MultibodyTree) -> None:
        text = tree.get_topology_graphviz_string()
        assert text == tree.finalize_report.to_graphviz()
        assert len(re.findall(r"^\s+node\d+ \[label=", text, re.M)) == tree.num_bodies
        edges = {tuple(map(int, edge)) for edge in re.findall(r"node(\d+) -> node(\d+)", text)}
        assert edges == {(b, tree.topology.parent[b]) for b in range(1, tree.num_bodies)}
        assert r'label="elbow\nprismatic, reversed\nq 1\nv 1"' in text
        assert text.count("style=dashed") == 1
        assert text.count("subgraph") == 2
        assert text.count("{") == text.count("}")

    def test_of_the_forest_alone(self, tree: MultibodyTree) -> None:
        text = tree.topology.to_graphviz()
        assert r'node2 [label="arm::mid\nnode 2"];' in text
        assert "node2 -> node1 [arrowhead=none, label=\"joint 'arm::elbow', reversed\"];" in text

    def test_names_are_quoted(self) -> None:
        tree = MultibodyTree()
        tree.add_body(RigidBody('say "no" \\N\n]', M_BBo_B, tree.add_model_instance('q"')))
        tree.finalize()
        text = tree.get_topology_graphviz_string()
        assert r'[label="say \"no\" \\N\n]\nnode 1"];' in text
        assert r'label="q\""' in text
        # Outside of quoted text there is not a single quotation mark.
        assert '"' not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


class TestMassless:
    @pytest.mark.parametrize("seed", range(40))
    def test_as_many_as_the_mass_matrix_lacks_rank(self, seed: int) -> None:
        """Without the dofs that the report names, the mass matrix is regular; none is named needlessly."""
        rng = np.random.default_rng(seed)
        model = random_model(seed, 8, kinds=ALL_KINDS, actuated=0.2)
        bodies = [
            replace(body, mass=0.0, com=np.zeros(3), I_BBcm_B=np.zeros((3, 3)))
            if rng.random() < 0.5
            else body
            for body in model.bodies
        ]
        tree = build_tree(replace(model, bodies=tuple(bodies)))
        named = [k for branch in tree.finalize_report.massless_branches for k in branch.velocities]
        assert len(set(named)) == len(named)
        M = tree.calc_mass_matrix(tree.create_default_context())
        # Unit diagonal: a metre and a radian count alike.
        scale = np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
        M = M / np.outer(scale, scale)
        assert np.linalg.matrix_rank(M, tol=1e-10) == tree.num_velocities - len(named)
        rest = np.setdiff1d(np.arange(tree.num_velocities), named)
        if len(rest):
            assert np.linalg.eigvalsh(M[np.ix_(rest, rest)]).min() > 1e-10

    @pytest.mark.parametrize("seed", range(10))
    def test_the_one_that_forward_dynamics_names_is_there(self, seed: int) -> None:
        model = random_model(seed, 6, kinds=ALL_KINDS, actuated=0.0)
        tip = replace(model.bodies[-1], mass=0.0, com=np.zeros(3), I_BBcm_B=np.zeros((3, 3)))
        tree = build_tree(replace(model, bodies=(*model.bodies[:-1], tip)))
        context = tree.create_default_context()
        branches = tree.finalize_report.massless_branches
        if not branches:
            assert np.isfinite(tree.calc_forward_dynamics(context)).all()
            return
        with pytest.raises(mbt.SingularityError, match="massless_branches") as raised:
            tree.calc_forward_dynamics(context)
        dof = int(re.findall(r"velocity (\d+)", str(raised.value))[0])
        assert dof in [k for branch in branches for k in branch.velocities]

    def test_no_mass(self) -> None:
        tree = MultibodyTree()
        link, tip, ghost = (tree.add_body(RigidBody(name, ZERO)) for name in ("link", "tip", "ghost"))
        hinge = tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, link, None, Z)
        tree.add_joint(WeldJoint, "fix", link, X, tip, None)
        tree.finalize()
        first, second = tree.finalize_report.massless_branches
        assert first.mobilizer is hinge.mobilizer
        assert (first.velocities, first.bodies) == ((0,), (link, tip))
        assert first.reason == "body 'link' and body 'tip' have no mass"
        assert first.cure == (
            "Give body 'link' mass and inertia, weld the joint or give the joint an actuator with a rotor "
            "inertia."
        )
        assert first.is_everywhere
        assert second.velocities == tuple(range(1, 7))
        assert second.bodies == (ghost,)
        assert second.cure == "Give body 'ghost' mass and inertia or weld it to another body."
        assert str(first) in re.sub(r"\s+", " ", str(tree.finalize_report))

    def test_a_point_mass_on_the_axis(self) -> None:
        tree = MultibodyTree()
        bead = tree.add_body(RigidBody("bead", SpatialInertia.point_mass(1.0, [0, 0, 0.7])))
        tree.add_joint(RevoluteJoint, "spin", tree.world_body, X, bead, None, Z)
        tree.finalize()
        (branch,) = tree.finalize_report.massless_branches
        assert branch.reason == "body 'bead', with all that moves along, has no inertia about its axis"
        assert branch.cure.startswith("Give body 'bead' an inertia about its centre of mass, weld the joint")

    def test_two_joints_about_one_axis(self) -> None:
        """No diagonal entry of the mass matrix is zero, but opposite turns of both joints move no mass."""
        tree = MultibodyTree()
        upper, between, lower = (
            tree.add_body(RigidBody(name, inertia))
            for name, inertia in (("upper", M_BBo_B), ("between", ZERO), ("lower", M_BBo_B))
        )
        tree.add_joint(RevoluteJoint, "tilt", tree.world_body, None, upper, X, [1, 0, 0])
        inner = tree.add_joint(RevoluteJoint, "inner", upper, None, between, None, Z)
        tree.add_joint(RevoluteJoint, "outer", between, None, lower, X, Z)
        tree.finalize()
        M = tree.calc_mass_matrix(tree.create_default_context())
        assert (np.diag(M) > 0.01).all()
        (branch,) = tree.finalize_report.massless_branches
        assert branch.mobilizer is inner.mobilizer
        assert branch.bodies == (between,)
        assert branch.reason == (
            "it can move while joint 'outer' moves the other way, and no mass moves: body 'between', "
            "between them, has no mass"
        )
        assert branch.is_everywhere

    def test_only_in_some_configurations(self) -> None:
        """A gimbal whose two axes align at zero angles only: elsewhere it moves its mass."""
        tree = MultibodyTree()
        ring, bar, rotor = (
            tree.add_body(RigidBody(name, inertia))
            for name, inertia in (("ring", ZERO), ("bar", ZERO), ("rotor", M_BBo_B))
        )
        tree.add_joint(RevoluteJoint, "z", tree.world_body, None, ring, None, Z)
        tree.add_joint(RevoluteJoint, "x", ring, None, bar, None, [1, 0, 0])
        tree.add_joint(RevoluteJoint, "z2", bar, None, rotor, None, Z)
        tree.finalize()
        (branch,) = tree.finalize_report.massless_branches
        assert not branch.is_everywhere
        assert "(at the default positions, not everywhere)" in str(branch)
        context = tree.create_default_context()
        context.q = [0.1, 0.7, -0.3]
        assert np.isfinite(tree.calc_forward_dynamics(context)).all()

    def test_what_is_carried_but_not_moved_does_not_count(self) -> None:
        """A wheel that carries a distant moon, which moves freely: the wheel's inertia resists its axle."""
        tree = MultibodyTree()
        wheel, moon = (tree.add_body(RigidBody(name, M_BBo_B)) for name in ("wheel", "moon"))
        tree.add_joint(RevoluteJoint, "axle", tree.world_body, None, wheel, None, Z)
        far = make_pose([2e5, 0, 0])
        tree.add_joint(mbt.QuaternionFloatingJoint, "orbit", wheel, far, moon, None)
        tree.finalize()
        assert tree.finalize_report.massless_branches == ()
        assert np.isfinite(tree.calc_forward_dynamics(tree.create_default_context())).all()

    def test_a_rotor_cures(self) -> None:
        tree = MultibodyTree()
        link = tree.add_body(RigidBody("link", ZERO))
        hinge = tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, link, None, Z)
        tree.add_joint_actuator("motor", hinge, rotor_inertia=1e-6)
        tree.finalize()
        assert tree.finalize_report.massless_branches == ()


def test_a_report_of_a_copy() -> None:
    """A copy compiles when the report asks for a mass; a report is pickled with its tree."""
    tree = MultibodyTree()
    tree.add_body(RigidBody("ghost", ZERO))
    tree.finalize()
    for report in (
        pickle.loads(pickle.dumps(tree)).finalize_report,
        pickle.loads(pickle.dumps(tree.finalize_report)),
        copy.deepcopy(tree.finalize_report),
    ):
        assert report.tree is not tree
        assert report.to_text() == tree.finalize_report.to_text()
        assert len(report.massless_branches) == 1


class Checker(html.parser.HTMLParser):
    """Check that tags are closed in order, and collect the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# Attributes of SVG that draw or style; none that links or runs.
SVG_ATTRIBUTES = {
    *("aria-label", "cx", "cy", "d", "fill", "font-family", "font-size", "height", "opacity", "points", "r"),
    *("role", "rx", "stroke", "stroke-dasharray", "stroke-linecap", "stroke-width", "text-anchor", "viewbox"),
    *("width", "x", "xmlns", "y"),
}


def check_html(text: str) -> str:
    """Return the text of well-formed HTML that loads and runs nothing."""
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert not checker.open
    html = {"div", "b", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"}
    assert checker.tags - html <= {"svg", "path", "rect", "circle", "polyline", "text"}
    assert checker.attributes - {"style", "open"} <= SVG_ATTRIBUTES
    assert "url(" not in text
    return "\n".join(checker.words)


class TestHtml:
    NASTY = '<script>alert("1")</script>&amp;'

    def test_tree_and_report(self, tree: MultibodyTree) -> None:
        assert "│  └─ mid" in check_html(tree._repr_html_())
        text = check_html(tree.finalize_report._repr_html_())
        assert "Forest: 3 trees, height 4" in text
        assert "shoulder_q" in text

    def test_before_finalize(self) -> None:
        tree = MultibodyTree()
        body = tree.add_body(RigidBody("link", M_BBo_B))
        tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, body, None, Z)
        text = check_html(tree._repr_html_())
        assert "not finalized" in text
        assert "hinge (revolute)" in text

    def test_context(self, tree: MultibodyTree) -> None:
        context = tree.create_default_context()
        context.q = [-1.25, 2, 3, 1, 0, 0, 0, 4, 5, 6]
        context.v = np.arange(9.0) / 8
        context.actuation = [2.5]
        context.applied_forces.body_forces[2, 5] = 7.5
        context.applied_forces.generalized_forces[1] = -3.5
        words = check_html(context._repr_html_()).split("\n")
        for word in ("shoulder", "-1.25", "beyond its limits [-1, 2]", "ball", "qw", "0.125", "2.5"):
            assert word in words
        text = " ".join(words)
        assert "on body 'arm::mid' in World: torque [0, 0, 0] N m, force [0, 0, 7.5] N" in text
        assert "along velocity 'elbow_v': -3.5" in text

    def test_names_that_several_have_are_scoped(self) -> None:
        tree = MultibodyTree()
        for side in ("left", "right"):
            mbt.parsing.add_model(tree, mbt.models.model_path("mbt_arm"), model_name=side)
        tree.finalize()
        text = str(tree.finalize_report)
        assert "└─ left::turret" in text
        assert "└─ right::turret" in text
        words = check_html(tree.create_default_context()._repr_html_()).split("\n")
        assert "right::elbow" in words

    def test_reports_of_files(self) -> None:
        text = """<robot name="r"><link name="a"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <link name="b"/><joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>
            </robot>"""
        with pytest.warns(mbt.ModelWarning):
            [report] = mbt.load_model(text).parse_reports
        shown = check_html(report._repr_html_())
        assert "2 links, 1 joint" in shown
        assert "no physical body has this inertia" in shown
        shown = check_html(mbt.check_model(text)._repr_html_())
        assert "error: 1" in shown
        assert "link 'a': no physical body has this inertia" in shown
        assert "nothing found" in check_html(mbt.check_model(mbt.models.model_path("mbt_arm"))._repr_html_())

    def test_context_without_anything(self) -> None:
        tree = MultibodyTree()
        tree.finalize()
        assert "State: 0 positions, 0 velocities" in check_html(tree.create_default_context()._repr_html_())

    def test_names_are_escaped(self) -> None:
        tree = MultibodyTree()
        instance = tree.add_model_instance(self.NASTY)
        body = tree.add_body(RigidBody(self.NASTY, ZERO, instance))
        joint = tree.add_joint(RevoluteJoint, self.NASTY, tree.world_body, None, body, None, Z)
        tree.add_joint_actuator(self.NASTY, joint)
        before = tree._repr_html_()
        tree.finalize()
        context = tree.create_default_context()
        context.applied_forces.body_forces[1] = 1.0
        context.applied_forces.generalized_forces[0] = 1.0
        for text in (
            before,
            tree._repr_html_(),
            tree.finalize_report._repr_html_(),
            context._repr_html_(),
        ):
            assert self.NASTY in check_html(text)
            assert "<script" not in text

    def test_large_trees_are_cut(self) -> None:
        tree = build_tree(random_model(0, 400, kinds=("revolute",)))
        for text in (tree._repr_html_(), tree.create_default_context()._repr_html_()):
            assert " more" in check_html(text)
            assert text.count("<tr>") < 130
