"""What notebooks show: pictures that agree with kinematics, tables of numbers; safe and bounded."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import mbt
from mbt.models import model_path
from mbt.tree.pictures.labels import place_labels
from mbt.tree.pictures.svg import draw_lines_over_time, draw_stick_figure, draw_topology
from support.urdf_texts import chain

SVG = "{http://www.w3.org/2000/svg}"
NASTY = '<script>alert("1")</script>&amp;'


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


def nasty_tree() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    instance = tree.add_model_instance(NASTY)
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    body = tree.add_body(mbt.RigidBody(NASTY, M, instance))
    pose = mbt.math.make_pose([0, 0, 1.0])
    joint = tree.add_joint(mbt.RevoluteJoint, NASTY, tree.world_body, pose, body, None, [0, 1, 0])
    tree.add_joint_actuator(NASTY, joint)
    tree.add_frame(mbt.FixedOffsetFrame(NASTY + "2", body, pose))
    tree.finalize()
    return tree


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def as_xml(text: str) -> ElementTree.Element:
    """Well-formed HTML is XML, except for attributes without a value."""
    return ElementTree.fromstring(text.replace("<details open>", "<details>"))


def test_the_stick_figure_has_the_shape_of_the_robot():
    # Three links at right angles, along z, x and y of World.
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.01)
    parent, ends = tree.world_body, np.array([[0, 0, 1.0], [2.0, 0, 0], [0, 3.0, 0]])
    for i, p in enumerate(ends):
        body = tree.add_body(mbt.RigidBody(f"b{i}", M))
        tree.add_joint(mbt.RevoluteJoint, f"j{i}", parent, mbt.math.make_pose(p), body, None, [0, 0, 1])
        parent = body
    tree.finalize()
    root = parsed(draw_stick_figure(tree))
    dots = np.array([[float(c.get("cx")), float(c.get("cy"))] for c in root.iter(f"{SVG}circle")])
    assert len(dots) == 3
    # Relative to World's origin, where the first line begins.
    path = next(root.iter(f"{SVG}path")).get("d")
    numbers = np.array(re.findall(r"-?[0-9.]+", path), dtype=float).reshape(-1, 2, 2)
    origin = numbers[0, 0]
    np.testing.assert_allclose(numbers[0, 1], dots[0], atol=0.11)
    z, x, y = np.diff([origin, *dots], axis=0) / [[1.0], [2.0], [3.0]]
    unit = -z[1] / np.cos(np.radians(22.0))
    a, e = np.radians([-60.0, 22.0])
    np.testing.assert_allclose(z[0], 0.0, atol=0.2)
    np.testing.assert_allclose(x / unit, [-np.sin(a), np.cos(a) * np.sin(e)], atol=0.01)
    np.testing.assert_allclose(y / unit, [np.cos(a), np.sin(a) * np.sin(e)], atol=0.01)


def test_names_stand_beside_their_joints_and_inside_the_picture(arm):
    root = parsed(draw_stick_figure(arm))
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert sorted(names) == sorted(joint.name for joint in arm.joints if joint.num_velocities)
    width = float(root.get("width"))
    for text in root.iter(f"{SVG}text"):
        assert 0 <= float(text.get("x")) <= width - 5.0 * len(text.text)


def test_places_of_labels():
    rng = np.random.default_rng(0)
    points, sizes = rng.uniform(0, 300, (30, 2)), np.tile([[40.0, 10.0]], (30, 1))
    lines = rng.uniform(0, 300, (5, 2, 2))
    places = place_labels(points, sizes, lines, (0.0, 0.0, 300.0, 300.0))
    boxes = [np.concatenate([place, np.add(place, [40.0, 10.0])]) for place in places if place is not None]
    assert len(boxes) > 20
    for i, a in enumerate(boxes):
        assert (a >= 0).all()
        assert (a <= 300).all()
        for b in boxes[:i]:
            assert (a[:2] >= b[2:]).any() or (a[2:] <= b[:2]).any()
        assert not ((points > a[:2]) & (points < a[2:])).all(axis=1).any()
    # No room at all.
    assert place_labels(points[:1], np.array([[400.0, 10.0]]), lines, (0, 0, 300, 300)) == [None]
    assert place_labels(np.empty((0, 2)), np.empty((0, 2)), lines, (0, 0, 1, 1)) == []


def test_the_topology_names_bodies_and_joints(arm):
    texts = {text.text for text in parsed(draw_topology(arm)).iter(f"{SVG}text")}
    assert {body.name for body in arm.bodies} <= texts
    assert {joint.name for joint in arm.joints} <= texts


def test_lines_over_time():
    time = np.linspace(0.0, 2.0, 5001)
    values = np.stack([np.sin(time), np.full_like(time, 0.25)], axis=-1)
    values[2500, 1] = np.nan
    root = parsed(draw_lines_over_time(time, values, ["wave", "level"], "[m]"))
    wave, level = (
        np.array([pair.split(",") for pair in line.get("points").split()], dtype=float)
        for line in root.iter(f"{SVG}polyline")
    )
    assert len(wave) == 240
    # Affine in both directions, upside down.
    t = 2.0 * (wave[:, 0] - wave[0, 0]) / np.ptp(wave[:, 0])
    height = (wave[:, 1].max() - wave[:, 1]) / np.ptp(wave[:, 1])
    np.testing.assert_allclose(height, np.sin(t), atol=0.01)
    np.testing.assert_allclose(np.ptp(level[:, 1]), 0.0)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts == ["[m]", "1", "0", "0", "2 s", "wave", "level"]
    assert draw_lines_over_time(time[:1], values[:1], ["a", "b"], "") == ""
    assert draw_lines_over_time(time, np.full_like(values, np.nan), ["a", "b"], "") == ""


def elements_of(tree: mbt.MultibodyTree) -> list[mbt.MultibodyElement]:
    return [
        *tree.bodies, *tree.joints, *tree.frames, *tree.joint_actuators, *tree.force_elements,
        *tree.mobilizers, *tree.constraints,
    ]  # fmt: skip


def test_a_body_shows_its_mass_properties(arm):
    body = arm.get_body_by_name("upper_arm")
    text = body._repr_html_()
    for word in (
        "mass [kg]",
        ">5.2<",
        "0, 0.045, 0.18",
        "shoulder (revolute)",
        "shoulder, elbow",
        "cylinder",
    ):
        assert word in text
    bad = mbt.SpatialInertia(1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]), skip_validity_check=True)
    assert "No physical body has this inertia" in mbt.RigidBody("plate", bad)._repr_html_()


def test_a_joint_shows_axis_frames_and_limits(arm):
    joint = arm.get_joint_by_name("elbow")
    text = joint._repr_html_()
    for word in ("revolute", "upper_arm → forearm", "axis in F", "0, 1, 0", "elbow_motor", "-2.6", "2.6"):
        assert word in text


def test_a_frame_shows_its_pose():
    tree = mbt.MultibodyTree()
    X_PF = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    frame = mbt.FixedOffsetFrame("tool", tree.world_body, X_PF)
    assert "FixedOffsetFrame" in frame._repr_html_()
    tree.add_frame(frame)
    text = frame._repr_html_()
    assert "1, 2, 3" in text
    assert "0.1, 0.2, 0.3" in text


def test_elements_of_any_tree_show_themselves(arm):
    for tree in (arm, nasty_tree(), arm.to_symbolic(), arm.to_autodiff()):
        for element in elements_of(tree):
            as_xml(element._repr_html_())
        assert "<b>" in tree._repr_html_()
        assert "<b>" in tree.finalize_report._repr_html_()


def test_names_are_escaped_in_pictures_and_tables():
    tree = nasty_tree()
    context = tree.create_default_context()
    trajectory = mbt.simulate(tree, context, 0.1)
    for thing in (
        tree,
        tree.finalize_report,
        trajectory,
        tree.calc_energy_report(context),
        *elements_of(tree),
    ):
        text = thing._repr_html_()
        assert "<script" not in text
        as_xml(text)
    assert "&lt;script&gt;" in draw_stick_figure(tree)
    assert "&lt;script&gt;" in draw_topology(tree)


def test_large_trees_and_reports_are_bounded():
    def sizes_of(count: int) -> list[int]:
        tree = mbt.load_model(chain(count))
        report = tree.calc_energy_report(tree.create_default_context())
        shown = (tree, tree.finalize_report, report, tree.joints[5], tree.bodies[5])
        texts = [thing._repr_html_() for thing in shown]
        assert not any("<svg" in text for text in texts)
        # All of it is in the text.
        assert str(report).count("\n") > count
        return [len(text) for text in texts]

    for small, large in zip(sizes_of(500), sizes_of(1000), strict=True):
        assert large < 400_000
        assert large < 1.01 * small + 20


def test_a_trajectory_shows_lines_and_numbers(arm):
    context = arm.create_default_context()
    context.q = [0.5, 0.7, 0.9, 0.3, -0.6, 0.2]
    trajectory = mbt.simulate(arm, context, 0.2)
    text = trajectory._repr_html_()
    root = as_xml(text)
    titles = [summary.text for summary in root.iter("summary")]
    assert titles == [
        "Positions",
        "Velocities",
        "Energy",
        "Positions in numbers",
        "It ran to its end: the duration is over",
    ]
    # Six positions, six velocities, three energies.
    assert len(list(root.iter(f"{SVG}polyline"))) == 15
    assert f"{trajectory.q[-1, 1]:.4g}" in text


def test_trajectories_of_batches_and_of_nothing_show_themselves(arm):
    batch = arm.create_default_context(batch_shape=(2,))
    trajectory = mbt.simulate(arm, batch, 0.01)
    for shown in (trajectory, trajectory.sample(0)[:0], trajectory.sample(1)[:1]):
        assert "<svg" not in shown._repr_html_()


def test_a_frame_of_a_user_that_refuses_costs_the_picture_alone():
    class Fickle(mbt.Frame):
        calls = 0

        def do_calc_pose_in_body_frame(self, parameters):
            Fickle.calls += 1
            if Fickle.calls > 3:
                raise RuntimeError("not now")
            return np.eye(4)

    tree = nasty_tree().edit()
    tree.add_frame(Fickle("fickle", tree.bodies[1]))
    tree.finalize()
    Fickle.calls = 10
    assert "<table" in tree._repr_html_()
