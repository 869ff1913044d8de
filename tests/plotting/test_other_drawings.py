"""Topology, mass matrix and trajectories as drawings, and the lines that all of them use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations, pairwise

import numpy as np
import pytest

import mbt
from mbt.models import model_path
from support.urdf_texts import TWO_LINKS, chain, joint, link, robot

pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")

import matplotlib as mpl
from matplotlib import colors, pyplot

from mbt.plotting import plot_mass_matrix, plot_topology
from mbt.plotting.matplotlib_parts import line_style
from mbt.tree.pictures.colours import CYCLE


@pytest.fixture(autouse=True)
def _without_windows() -> Iterator[None]:
    with mpl.rc_context({"backend": "Agg"}):
        yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def branched() -> mbt.MultibodyTree:
    """A free trunk with two legs of two links, and a plate welded on."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.make_from_central_inertia(1.0, [0.1, 0.05, -0.2], np.diag([0.1, 0.2, 0.25]))
    trunk, plate = tree.add_body(mbt.RigidBody("trunk", M)), tree.add_body(mbt.RigidBody("plate", M))
    tree.add_joint(mbt.WeldJoint, "glue", trunk, None, plate, None)
    for side in ("left", "right"):
        parent = trunk
        for part in ("thigh", "shin"):
            body = tree.add_body(mbt.RigidBody(f"{side}_{part}", M))
            X_PF = mbt.math.make_pose([0.1, 0.2 if side == "left" else -0.2, -0.3])
            tree.add_joint(mbt.RevoluteJoint, f"{side}_{part}_joint", parent, X_PF, body, None, [0, 1, 0])
            parent = body
    tree.finalize()
    return tree


# Topology.


def test_the_topology_has_a_box_for_each_body_and_a_line_for_each_joint(branched):
    ax = plot_topology(branched)
    boxes = {text.get_text(): text.get_position() for text in ax.texts if text.get_gid() == "body"}
    assert set(boxes) == {body.name for body in branched.bodies}
    joints = {text.get_text() for text in ax.texts if text.get_gid() == "joint"}
    assert joints == {f"({j.name})" if j.is_ephemeral else j.name for j in branched.joints}
    # Each branch begins at the inboard body, and its line ends at the outboard one.
    branches = [line for line in ax.lines if line.get_gid() == "branch"]
    lines = [line for line in ax.lines if line.get_gid() == "joint"]
    assert len(lines) == branched.num_joints
    found = set()
    of_place = {position: name for name, position in boxes.items()}
    for branch, line in zip(branches, lines, strict=True):
        start, end = branch.get_xydata()[0], line.get_xydata()[-1]
        found.add((of_place[tuple(start)], of_place[tuple(end)]))
    assert found == {
        (m.inboard_body.name, m.outboard_body.name) for m in branched.mobilizers
    }  # fmt: skip
    welded = [line.is_dashed() for line in lines]
    assert welded.count(True) == 1


def test_texts_of_the_topology_do_not_overlap(branched):
    for tree in (branched, mbt.load_model(model_path("mbt_arm")), mbt.load_model(chain(12))):
        ax = plot_topology(tree)
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts]
        for a, b in combinations(boxes, 2):
            assert not a.overlaps(b)
        for box in boxes:
            assert ax.figure.bbox.x0 <= box.x0
            assert box.x1 <= ax.figure.bbox.x1
            assert ax.figure.bbox.y0 <= box.y0
            assert box.y1 <= ax.figure.bbox.y1


def test_the_topology_fits_into_axes_that_are_there(branched):
    figure = pyplot.figure(figsize=(4, 3))
    left, _ = figure.subplots(1, 2)
    assert plot_topology(branched, left) is left
    figure.canvas.draw()
    for text in left.texts:
        box = text.get_window_extent()
        assert left.bbox.x0 - 5 <= box.x0 < box.x1 <= left.bbox.x1 + 5


def test_too_many_bodies(tmp_path):
    with pytest.raises(mbt.ArgumentValueError, match=r"at most 400 bodies, got 402: tree\.get_topology"):
        plot_topology(mbt.load_model(chain(400)))


# Mass matrix.


def test_the_mass_matrix_is_white_where_it_is_always_zero(branched):
    q = branched.random_positions(rng=1)
    ax = plot_mass_matrix(branched, q)
    (image,) = ax.images
    shown = image.get_array()
    context = branched.create_default_context()
    context.q = q
    M = branched.calc_mass_matrix(context)
    # Entries that would couple the legs. Others may come out as zero.
    left, right = (
        [branched.get_joint_by_name(f"{side}_{part}_joint").velocity_start for part in ("thigh", "shin")]
        for side in ("left", "right")
    )
    is_zero = np.zeros(M.shape, dtype=bool)
    is_zero[np.ix_(left, right)] = is_zero[np.ix_(right, left)] = True
    np.testing.assert_array_equal(shown.mask, is_zero)
    assert not M[is_zero].any()
    scale = np.sqrt(np.outer(np.diag(M), np.diag(M)))
    np.testing.assert_allclose(shown.filled(0.0), np.abs(M) / scale, atol=1e-12)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(branched.velocity_names)
    assert ax.get_title() == "mass matrix: 92 of 100 entries (92%) can be nonzero"


def test_mass_matrix_arguments(branched):
    with pytest.raises(mbt.ArgumentValueError, match="q: expected one configuration, got 2"):
        plot_mass_matrix(branched, branched.random_positions(rng=1, shape=2))
    still = mbt.MultibodyTree()
    still.finalize()
    with pytest.raises(mbt.ArgumentValueError, match="a tree with velocities"):
        plot_mass_matrix(still)
    for draw in (plot_mass_matrix, plot_topology):
        with pytest.raises(mbt.ArgumentTypeError, match="ax: expected axes of matplotlib, got int"):
            draw(branched, ax=3)
        with pytest.raises(mbt.ArgumentTypeError, match=r"tree: expected an mbt\.MultibodyTree, got str"):
            draw("robot.urdf")
        with pytest.raises(mbt.NotFinalizedError):
            draw(mbt.MultibodyTree())


# Trajectories.


@pytest.fixture(scope="module")
def driven() -> mbt.Trajectory:
    tree = mbt.load_model(model_path("mbt_arm"))
    context = tree.create_default_context()
    context.q = [0.5, 0.7, 0.9, 0.3, -0.6, 0.2]
    return mbt.simulate(tree, context, 0.2, 1e-3, method="rk4", control=[0.0, 30.0, 5.0, 0.0, 0.0, 0.0])


def panel_of(figure, label):
    (axes,) = [axes for axes in figure.axes if axes.get_ylabel() == label]
    return {line.get_label(): line for line in axes.lines}, axes


def test_energies_add_up(driven):
    lines, _ = panel_of(driven.plot(), "energy [J]")
    values = {name: line.get_ydata() for name, line in lines.items()}
    assert list(values) == ["kinetic", "potential", "total", "work", "total - work"]
    np.testing.assert_allclose(values["kinetic"] + values["potential"], values["total"])
    np.testing.assert_allclose(values["total - work"], values["total"][0], atol=1e-5)
    # If no force does work, there is nothing to subtract.
    tree = mbt.load_model(robot(*TWO_LINKS))
    lines, _ = panel_of(mbt.simulate(tree, tree.create_default_context(), 0.1).plot(), "energy [J]")
    assert list(lines) == ["kinetic", "potential", "total"]


def test_limits_that_are_near_are_drawn(driven):
    figure = driven.plot()
    tree = driven.final_context.tree
    lines, axes = panel_of(figure, "angle [rad]")
    drawn = {float(line.get_ydata()[0]) for line in axes.lines if line.get_gid() == "limit"}
    low, high = driven.q.min(), driven.q.max()
    reach = 1.5 * (high - low)
    limits = {*tree.position_lower_limits.tolist(), *tree.position_upper_limits.tolist()}
    near = {limit for limit in limits if low - reach <= limit <= high + reach}
    assert drawn == near
    assert near
    assert "limits" in lines
    # A limit that all lines share is grey; that of one line has its colour.
    lines, axes = panel_of(figure, "torque [N m]")
    assert set(lines) == {"shoulder_w", "elbow_w"}
    np.testing.assert_array_equal(lines["shoulder_w"].get_ydata(), 30.0)
    (motor,) = [motor for motor in tree.joint_actuators if motor.joint.name == "elbow"]
    assert motor.effort_limit > 1.5 * 30.0 + 25.0  # Far off: not drawn.
    assert not [line for line in axes.lines if line.get_gid() == "limit"]


def test_a_trajectory_of_a_file_has_no_limits(driven, tmp_path):
    driven.save(tmp_path / "a.npz")
    figure = mbt.Trajectory.load(tmp_path / "a.npz").plot()
    assert not [line for axes in figure.axes for line in axes.lines if line.get_gid() == "limit"]


def test_rounding_is_not_magnified():
    slider = robot(
        link("base"),
        link("cart"),
        joint("rail", "base", "cart", "prismatic", '<limit lower="-1" upper="1"/>'),
    )
    tree = mbt.load_model(slider)
    context = tree.create_default_context()
    context.v = [1e-16]
    lines, axes = panel_of(mbt.simulate(tree, context, 0.1).plot(), "position [m]")
    assert np.ptp(lines["rail_x"].get_ydata()) > 0.0
    assert axes.get_ylim() == pytest.approx((-1.0, 1.0))
    context.v = [1e-6]
    _, axes = panel_of(mbt.simulate(tree, context, 0.1).plot(), "position [m]")
    assert np.ptp(axes.get_ylim()) < 2e-7


# Lines.


def test_no_two_of_thirty_lines_are_alike_and_neighbours_differ_twice():
    styles = [line_style(i) for i in range(31)]
    keys = [(style["color"], str(style["linestyle"])) for style in styles]
    assert len(set(keys[:30])) == 30
    for (color, dashes), (next_color, next_dashes) in pairwise(keys):
        assert color != next_color
        assert dashes != next_dashes


# What dichromats see of linear RGB: Machado, Oliveira & Fernandes 2009, table for severity 1.
DICHROMATS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


@pytest.mark.parametrize("eyes", DICHROMATS)
def test_colour_blind_people_tell_the_colours_apart(eyes):
    rgb = np.array([colors.to_rgb(color) for color in CYCLE])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.array(DICHROMATS[eyes]).T, 0.0, 1.0)
    # CIE L*a*b*, D65.
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = seen @ np.array(to_xyz).T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    lab = np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=-1)
    distances = [np.linalg.norm(a - b) for a, b in combinations(lab, 2)]
    assert min(distances) > 10.0


def test_importing_mbt_does_not_import_what_draws():
    import subprocess

    code = "import sys, mbt; mbt.plot; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
