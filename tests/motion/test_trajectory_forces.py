"""Forces of constraints and contact over time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt

MASS, GRAVITY = 2.0, 9.81
G = np.array([0, 0, -GRAVITY])


def jumping_pendulum() -> mbt.MultibodyTree:
    """A ball on a rod suspended by a constraint, and a box that falls on its corners."""
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(MASS, 0.1).shift([0, 0, 0.5])
    rod = tree.add_body(mbt.RigidBody("rod", ball))
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(MASS, 0.4, 0.2, 0.2)))
    tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, rod))
    corners = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    tree.add_force_element(
        mbt.PointContact(box, corners, stiffness=2000.0, dissipation=0.3, static_friction=0.5)
    )
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -GRAVITY]))
    tree.finalize()
    return tree


def start(tree: mbt.MultibodyTree) -> Any:
    context = tree.create_default_context()
    context.q = [np.cos(0.25), 0, np.sin(0.25), 0, 0, 0, 0, 1, 0, 0, 0, 3.0, 0, 0.12]
    return context


@pytest.fixture(scope="module")
def trajectory() -> mbt.Trajectory:
    tree = jumping_pendulum()
    return mbt.simulate(tree, start(tree), 0.4, 1e-3, method="rk4")


def test_they_are_what_moves_the_bodies(trajectory: mbt.Trajectory) -> None:
    tree = trajectory.final_context.tree
    n = len(trajectory)
    assert trajectory.multipliers.shape == (n, 3)
    assert trajectory.contact_forces.shape == (n, 4, 3)
    # For the rod, the ball's acceleration from differences of positions.
    context = tree.create_default_context(n)
    context.q = trajectory.q
    X_WR = tree.calc_relative_transform(context, tree.world_frame, tree.get_body_by_name("rod"))
    place = X_WR[..., :3, 3] - 0.5 * X_WR[..., :3, 2]
    acceleration = (place[2:] - 2.0 * place[1:-1] + place[:-2]) / 1e-6
    wanted = MASS * (acceleration - G)
    np.testing.assert_allclose(trajectory.multipliers[1:-1], wanted, atol=2e-3)
    # For the box, the recorded acceleration, which belongs to the state.
    force = trajectory.contact_forces.sum(axis=-2)
    np.testing.assert_allclose(force, MASS * (trajectory.vdot[:, 9:] - G), atol=1e-9)
    assert force[0].tolist() == [0.0, 0.0, 0.0]
    assert force[:, 2].max() > 2.0 * MASS * GRAVITY


def test_they_go_where_all_else_goes(trajectory: mbt.Trajectory, tmp_path: Path) -> None:
    assert trajectory.equation_names == ("hook_x", "hook_y", "hook_z")
    assert trajectory.contact_names == tuple(f"box_contact_{i}" for i in range(4))
    trajectory.save(tmp_path / "a.npz")
    known = mbt.Trajectory.load(tmp_path / "a.npz")
    assert (known.equation_names, known.contact_names) == (
        trajectory.equation_names,
        trajectory.contact_names,
    )
    for name in ("multipliers", "contact_forces"):
        np.testing.assert_array_equal(getattr(known, name), getattr(trajectory, name))
        np.testing.assert_array_equal(
            getattr(trajectory[100:200:3], name), getattr(trajectory, name)[100:200:3]
        )
    trajectory.save(tmp_path / "a.csv")
    names = (tmp_path / "a.csv").read_text().partition("\n")[0].split(",")
    assert {"multipliers.hook_z", "contact_forces.box_contact_3_z"} <= set(names)


def test_files_with_forces_that_have_no_names_are_refused(trajectory: mbt.Trajectory, tmp_path: Path) -> None:
    trajectory.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = dict(file)
    for name in ("multipliers", "contact_forces", "constraint_errors"):
        np.savez(tmp_path / "b.npz", **arrays | {name: arrays[name][:, :-1]})
        with pytest.raises(mbt.ArgumentValueError, match=r"save\(\) did not write it"):
            mbt.Trajectory.load(tmp_path / "b.npz")


def test_tables(trajectory: mbt.Trajectory) -> None:
    pytest.importorskip("pandas", reason="needs the extra `tables`: pip install '.[tables]'")
    pytest.importorskip("xarray", reason="needs the extra `tables`: pip install '.[tables]'")
    table = trajectory.to_dataframe()
    np.testing.assert_array_equal(table["multipliers", "hook_y"], trajectory.multipliers[:, 1])
    np.testing.assert_array_equal(
        table["contact_forces", "box_contact_2_z"], trajectory.contact_forces[:, 2, 2]
    )
    data = trajectory.to_xarray()
    np.testing.assert_array_equal(data.multipliers.sel(equation="hook_y"), trajectory.multipliers[:, 1])
    point = data.contact_forces.sel(contact="box_contact_2", axis="z")
    np.testing.assert_array_equal(point, trajectory.contact_forces[:, 2, 2])


def test_drawing(trajectory: mbt.Trajectory) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `plot`: pip install '.[plot]'")
    from matplotlib.figure import Figure

    panels = {axes.get_ylabel(): axes for axes in trajectory.plot(Figure()).axes}
    drawn = panels["constraint forces [N, N m]"].lines
    assert [line.get_label() for line in drawn] == list(trajectory.equation_names)
    np.testing.assert_array_equal(drawn[2].get_ydata(), trajectory.multipliers[:, 2])
    drawn = panels["contact forces [N]"].lines
    np.testing.assert_allclose(drawn[3].get_ydata() ** 2, (trajectory.contact_forces[:, 3] ** 2).sum(-1))


def test_of_a_batch(trajectory: mbt.Trajectory) -> None:
    tree = jumping_pendulum()
    context = tree.create_default_context((2,))
    context.q = np.stack([start(tree).q, tree.default_positions])
    both = mbt.simulate(tree, context, 0.1, 1e-3, method="rk4")
    assert both.contact_forces.shape == (2, 101, 4, 3)
    for name in ("multipliers", "contact_forces"):
        alone = getattr(trajectory, name)[:101]
        np.testing.assert_allclose(getattr(both, name)[0], alone, atol=1e-9)
        np.testing.assert_array_equal(getattr(both.sample(0), name), getattr(both, name)[0])


def test_without_either() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.finalize()
    trajectory = mbt.simulate(tree, tree.create_default_context(), 0.1)
    assert trajectory.multipliers.shape == (len(trajectory), 0)
    assert trajectory.contact_forces.shape == (len(trajectory), 0, 3)
