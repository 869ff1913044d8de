"""``mbt.plot``: everything is drawn where kinematics places it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.models import model_path
from support.urdf_texts import robot

pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")

import matplotlib as mpl
from matplotlib import pyplot

from mbt.plotting.names import NamesInView


@pytest.fixture(autouse=True)
def _without_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"))


@pytest.fixture(scope="module")
def cart() -> mbt.MultibodyTree:
    """A cart with a pole, and beside it a ball that is free."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.05)
    cart, ball = tree.add_body(mbt.RigidBody("cart", M)), tree.add_body(mbt.RigidBody("ball", M))
    pole = tree.add_body(mbt.RigidBody("pole", mbt.SpatialInertia.point_mass(1.0, [0.0, 0.0, 0.7])))
    sensor = tree.add_body(mbt.RigidBody("sensor", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, [1, 0, 0])
    tree.add_joint(mbt.RevoluteJoint, "pin", cart, mbt.math.make_pose([0, 0, 0.2]), pole, None, [0, 1, 0])
    tree.add_joint(mbt.WeldJoint, "mount", cart, mbt.math.make_pose([0.1, 0.5, 0]), sensor, None)
    tree.add_force_element(mbt.UniformGravityFieldElement([0.0, -9.81, 0.0]))
    tree.finalize()
    assert ball.inboard_joint.is_ephemeral
    return tree


def lines_of(ax: Any, gid: str) -> list[np.ndarray]:
    """The lines with this gid, (n, 2, 3), one array for each configuration."""
    drawn = [np.array(line.get_data_3d()).T for line in ax.lines if line.get_gid() == gid]
    return [data.reshape(-1, 3, 3)[:, :2] for data in drawn]


def dots_of(ax: Any, gid: str) -> list[np.ndarray]:
    return [np.array(line.get_data_3d()).T for line in ax.lines if line.get_gid() == gid]


def names_of(ax: Any) -> NamesInView:
    (names,) = [artist for artist in ax.artists if isinstance(artist, NamesInView)]
    return names


def test_bones_of_a_chain_run_from_joint_to_joint(arm):
    q = arm.random_positions(rng=3)
    context = arm.create_default_context()
    context.q = q
    ax = mbt.plot(arm, q)
    (bones,) = lines_of(ax, "bones")
    origins = [joint.frame_on_child.calc_pose_in_world(context)[:3, 3] for joint in arm.joints]
    # The flange has a frame welded on, without mass: its bone runs to its mass centre.
    assert arm.bodies[-1].default_mass == 0.0
    assert arm.joints[-1].num_velocities == 0
    tip = arm.bodies[-2]
    p_WTcm = (tip.eval_pose_in_world(context) @ [*tip.default_com, 1.0])[:3]
    path = [np.zeros(3), *origins[:-1], p_WTcm]
    # Coinciding joints have no bone between them.
    steps = [(a, b) for a, b in pairwise(path) if np.linalg.norm(b - a) > 1e-3]
    np.testing.assert_allclose(bones[np.lexsort(bones[:, 1].T)], sorted_lines(steps), atol=1e-12)
    (dots,) = dots_of(ax, "joints")
    moving = [p for joint, p in zip(arm.joints, origins, strict=True) if joint.num_velocities]
    np.testing.assert_allclose(dots, moving, atol=1e-12)


def sorted_lines(lines: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    array = np.array(lines)
    return array[np.lexsort(array[:, 1].T)]


def test_axes_are_those_of_the_joints_in_world(arm):
    q = arm.random_positions(rng=4)
    context = arm.create_default_context()
    context.q = q
    (spans,) = lines_of(mbt.plot(arm, q), "axes")
    hinges = [joint for joint in arm.joints if joint.num_velocities]
    for (a, b), joint in zip(spans, hinges, strict=True):
        X_WM = joint.frame_on_child.calc_pose_in_world(context)
        np.testing.assert_allclose((a + b) / 2, X_WM[:3, 3], atol=1e-12)
        axis = (b - a) / np.linalg.norm(b - a)
        np.testing.assert_allclose(axis, X_WM[:3, :3] @ joint.revolute_axis, atol=1e-12)


def test_kinds_of_joints(cart):
    q = cart.default_positions.copy()
    q[cart.get_joint_by_name("rail").position_start] = 0.6
    ax = mbt.plot(cart, q)
    (squares,), (dots,), (slides,) = (
        dots_of(ax, "prismatic joints"), dots_of(ax, "joints"), lines_of(ax, "slides")
    )  # fmt: skip
    np.testing.assert_allclose(squares, [[0.6, 0, 0]])
    # Pin and ball; the travel of a joint is dashed.
    np.testing.assert_allclose(sorted(dots.tolist()), [[0, 0, 0], [0.6, 0, 0.2]], atol=1e-12)
    np.testing.assert_allclose(slides, [[[0, 0, 0], [0.6, 0, 0]]])
    # The sensor has neither mass nor a joint, the ball is free: no lines to them.
    (bones,) = lines_of(ax, "bones")
    np.testing.assert_allclose(
        bones[np.lexsort(bones[:, 1].T)], [[[0.6, 0, 0], [0.6, 0, 0.2]], [[0.6, 0, 0.2], [0.6, 0, 0.9]]]
    )


def test_mass_centre(arm):
    q = arm.random_positions(rng=5)
    context = arm.create_default_context()
    context.q = q
    (centre,) = dots_of(mbt.plot(arm, q), "mass centre")
    np.testing.assert_allclose(centre[0], arm.calc_center_of_mass_position_in_world(context))


def test_several_configurations_are_shadows_of_the_last(arm):
    q = arm.random_positions(rng=6, shape=4)
    ax = mbt.plot(arm, q.reshape(2, 2, -1))
    drawn = [line for line in ax.lines if line.get_gid() == "bones"]
    darkness = [line.get_alpha() for line in drawn]
    assert darkness[-1] == 1.0
    assert (np.diff(darkness) > 0.0).all()
    for bones, row in zip(lines_of(ax, "bones"), q, strict=True):
        np.testing.assert_allclose(bones, lines_of(mbt.plot(arm, row), "bones")[0])


def test_a_metre_is_as_long_along_each_axis_and_nothing_is_cut_off(arm, cart):
    for tree in (arm, cart):
        ax = mbt.plot(tree, tree.random_positions(rng=7, shape=3))
        limits = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
        scale = ax.get_box_aspect() / np.ptp(limits, axis=1)
        np.testing.assert_allclose(scale, scale[0])
        for line in ax.lines:
            data = np.array(line.get_data_3d())
            assert (np.nanmin(data, axis=1, initial=0) >= limits[:, 0]).all()
            assert (np.nanmax(data, axis=1, initial=0) <= limits[:, 1]).all()


def test_what_was_drawn_before_stays_in_view(arm):
    ax = mbt.plot(arm)
    before = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    assert mbt.plot(arm, arm.random_positions(rng=8), ax, ground=False) is ax
    after = np.array([ax.get_xlim(), ax.get_ylim(), ax.get_zlim()])
    assert (after[:, 0] <= before[:, 0]).all()
    assert (after[:, 1] >= before[:, 1]).all()


def test_the_ground_is_normal_to_gravity(arm, cart):
    for tree, axis in ((arm, 2), (cart, 1)):
        (grid,) = lines_of(mbt.plot(tree), "ground")
        np.testing.assert_allclose(grid[..., axis], 0.0, atol=1e-12)
        # A grid of squares below all of it.
        assert np.ptp(grid.reshape(-1, 3), axis=0)[[i for i in range(3) if i != axis]].all()
    weightless = mbt.load_model(model_path("mbt_arm"), gravity=None)
    assert lines_of(mbt.plot(weightless), "ground") == []
    assert lines_of(mbt.plot(arm, ground=False), "ground") == []


def test_frames_are_triads_of_the_bodies(arm):
    q = arm.random_positions(rng=9)
    context = arm.create_default_context()
    context.q = q
    X_WB = arm.eval_position_kinematics(context).X_WB
    ax = mbt.plot(arm, q, frames=True)
    for i, letter in enumerate("xyz"):
        (lines,) = lines_of(ax, f"frames {letter}")
        np.testing.assert_allclose(lines[:, 0], X_WB[:, :3, 3])
        directions = lines[:, 1] - lines[:, 0]
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        np.testing.assert_allclose(directions, X_WB[:, :3, i], atol=1e-12)


@pytest.mark.parametrize("view", [(30, -60), (10, 20), (80, 100)])
def test_names_hide_neither_each_other_nor_bones(arm, view):
    ax = mbt.plot(arm, arm.random_positions(rng=10))
    ax.view_init(*view)
    ax.figure.canvas.draw()
    names = names_of(ax)
    moving = [joint for joint in arm.joints if joint.num_velocities]
    assert set(names.placed) == {j.name for j in moving} | {j.child_body.name for j in moving}
    for a, b in combinations(names.placed.values(), 2):
        assert not a.overlaps(b)
    for box in names.placed.values():
        assert ax.figure.bbox.x0 <= box.x0 < box.x1 <= ax.figure.bbox.x1
        assert ax.figure.bbox.y0 <= box.y0 < box.y1 <= ax.figure.bbox.y1
    bones = names._project(lines_of(ax, "bones")[0].reshape(-1, 3)).reshape(-1, 2, 2)
    for a, b in bones:
        for point in np.linspace(a, b, 20):
            assert not any(box.contains(*point) for box in names.placed.values())


def test_which_names(arm):
    joints = {joint.name for joint in arm.joints if joint.num_velocities}
    bodies = {body.name for body in arm.bodies[1:]}
    for names, wanted in (("joints", joints), ("bodies", bodies), ("none", set())):
        assert {name.text for name in names_of(mbt.plot(arm, names=names)).names} == wanted


def test_any_name_can_be_drawn():
    links = "".join(f'<link name="{name}"/>' for name in ("a$b", "_c", "d^{", "e" * 90))
    joints = "".join(
        f'<joint name="j{i}$" type="continuous"><parent link="a$b"/><child link="{child}"/>'
        f'<origin xyz="{i} 0 1"/></joint>'
        for i, child in enumerate(("_c", "d^{", "e" * 90))
    )
    with pytest.warns(mbt.ModelWarning):
        tree = mbt.load_model(robot(links, joints))
    ax = mbt.plot(tree)
    ax.figure.canvas.draw()
    assert len(names_of(ax).placed) == 6


def test_odd_trees_are_drawn():
    empty = mbt.MultibodyTree()
    empty.finalize()
    point = mbt.MultibodyTree()
    point.add_body(mbt.RigidBody("dust", mbt.SpatialInertia.zero()))
    point.finalize()
    for tree in (empty, point):
        mbt.plot(tree).figure.canvas.draw()


def test_arguments(arm):
    with pytest.raises(mbt.ShapeError, match="q: expected shape"):
        mbt.plot(arm, np.zeros(5))
    with pytest.raises(mbt.ArgumentValueError, match="q: expected finite numbers"):
        mbt.plot(arm, np.full(6, np.nan))
    with pytest.raises(mbt.ArgumentValueError, match="q: expected at least one configuration"):
        mbt.plot(arm, np.empty((0, 6)))
    with pytest.raises(mbt.ArgumentTypeError, match=r"tree: expected an mbt\.MultibodyTree, got int"):
        mbt.plot(3)
    with pytest.raises(mbt.ArgumentValueError, match="names: expected one of all, joints, bodies, none"):
        mbt.plot(arm, names="some")
    for name in ("frames", "ground"):
        with pytest.raises(mbt.ArgumentTypeError, match=f"{name}: expected True or False, got 'no'"):
            mbt.plot(arm, **{name: "no"})
    with pytest.raises(mbt.ArgumentTypeError, match="ax: expected axes of three dimensions, got Axes"):
        mbt.plot(arm, ax=pyplot.figure().add_subplot())
    with pytest.raises(mbt.NotFinalizedError):
        mbt.plot(mbt.MultibodyTree())
    with pytest.raises(mbt.ArgumentTypeError, match="use the tree it was cloned from"):
        mbt.plot(arm.to_autodiff())


def test_without_matplotlib(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for use in (mbt.plot, mbt.plotting.plot_topology, mbt.plotting.plot_mass_matrix):
        with pytest.raises(
            mbt.MissingPackageError, match=r"needs matplotlib: pip install 'multibodytree\[plot\]'"
        ):
            use(arm)
