"""Simulations obey constraints: a free body held by a ball constraint is a pendulum."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest

import mbt
from identities.test_constraint_scales import ATTITUDES, slider_crank
from mbt.motion.symptoms import FEWEST_STEPS
from mbt.tree.constraints import closing, report
from mbt.tree.constraints.equations import Equations
from support import urdf_texts as urdf
from support.linkages import calc_four_bar_angles, four_bar

METHODS = [pytest.param("semi_implicit_euler", 0.02), pytest.param("rk4", 1e-7), pytest.param("DOP853", 1e-6)]


class Nothing(mbt.ForceElement):
    """A Python element that does nothing."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        pass


BOB = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1).shift([0, 0, 0.5])


def hung_body(*, user_written: bool = False, **keywords: Any) -> mbt.MultibodyTree:
    """A free body, held at its origin by a constraint."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", BOB))
    tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, rod, **keywords))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    if user_written:
        tree.add_force_element(Nothing())
    tree.finalize()
    return tree


def hinged_body() -> mbt.MultibodyTree:
    """The same body on a hinge."""
    peer = mbt.MultibodyTree()
    rod = peer.add_body(mbt.RigidBody("rod", BOB))
    peer.add_joint(mbt.RevoluteJoint, "hinge", peer.world_body, None, rod, None, axis=[0, 1, 0])
    peer.add_force_element(mbt.UniformGravityFieldElement())
    peer.finalize()
    return peer


def swinging(tree: mbt.MultibodyTree) -> mbt.Context:
    """Half a radian from hanging, at rest."""
    context = tree.create_default_context()
    context.q = [np.cos(0.25), 0, np.sin(0.25), 0, 0, 0, 0]
    return context


@pytest.mark.parametrize("user_written", [False, True], ids=["compiled", "in python"])
@pytest.mark.parametrize(("method", "atol"), METHODS)
def test_a_hung_body_is_a_pendulum(method: str, atol: float, user_written: bool) -> None:
    pytest.importorskip("scipy", reason="needs the extra `sim`: pip install '.[sim]'")
    tree = hung_body(user_written=user_written)
    trajectory = mbt.simulate(tree, swinging(tree), 1.0, 2e-3, method=method, rtol=1e-9, atol=1e-11)
    peer = hinged_body()
    context = peer.create_default_context()
    context.q = [0.5]
    hinged = mbt.simulate(peer, context, 1.0, 2e-3, method="rk4")
    angle = 2.0 * np.arctan2(trajectory.q[:, 2], trajectory.q[:, 0])
    np.testing.assert_allclose(angle, hinged.q[:, 0], atol=atol)
    np.testing.assert_allclose(trajectory.vdot[:, 1], hinged.vdot[:, 0], atol=100.0 * atol)
    assert trajectory.constraint_errors.shape == (501, 3)
    assert abs(trajectory.constraint_errors).max() < atol
    # Only the constraint acts, and does no work.
    assert abs(trajectory.energy_drift).max() < 10.0 * atol


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "RK45"])
def test_errors_die_away(method: str) -> None:
    """Like a damped oscillator, from an initial gap; in a batch, each sample as it would alone."""
    pytest.importorskip("scipy", reason="needs the extra `sim`: pip install '.[sim]'")
    tree = hung_body(stabilization=(30.0, 1.0))
    context = swinging(tree)
    context.q = [*context.q[:4], 0.0, 0.0, 0.01]
    trajectory = mbt.simulate(tree, context, 0.5, 1e-3, method=method)
    t = trajectory.time
    np.testing.assert_allclose(
        trajectory.constraint_errors[:, 2], 0.01 * (1.0 + 30.0 * t) * np.exp(-30.0 * t), atol=4e-4
    )
    assert abs(trajectory.constraint_errors[-1]).max() < 1e-5
    if method != "RK45":
        batch = tree.create_default_context(3)
        batch.q, batch.v = context.q, context.v
        together = mbt.simulate(tree, batch, 0.5, 1e-3, method=method)
        np.testing.assert_allclose(together.constraint_errors[1], trajectory.constraint_errors, atol=1e-9)


def test_constraints_that_are_off() -> None:
    tree = hung_body()
    context = swinging(tree)
    tree.constraints[0].set_enabled_in(context, False)
    trajectory = mbt.simulate(tree, context, 0.4, method="rk4")
    fallen = tree.calc_center_of_mass_position_in_world(trajectory.final_context)[2]
    before = tree.calc_center_of_mass_position_in_world(context)[2]
    assert fallen - before == pytest.approx(-0.5 * 9.81 * 0.16, abs=1e-9)


def test_a_mechanism_that_few_digits_lock_is_told() -> None:
    """With fewer closing equations, it moves as it should."""
    paths: list[Any] = []
    start = np.array([0.9, -0.7, -1.1])
    for half_pi in ("1.5707963267948966", "1.57"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mbt.ModelWarning)
            tree = mbt.load_model(urdf.four_bar(half_pi, urdf.HINGE))
        context = tree.create_default_context()
        context.q = start
        tree.assemble(context, tolerance=1e-2)
        if paths:
            with pytest.warns(mbt.SimulationWarning, match="stuck, .* leave 0 velocities in place of 1"):
                locked = mbt.simulate(tree, context, 0.5, 2e-3, method="rk4")
            assert np.ptp(locked.q[:, 0]) < 0.3 * np.ptp(paths[0][:, 0])
        tree = tree.edit()
        for constraint in tree.constraints:
            tree.remove(constraint)
        base, rocker = (tree.get_body_by_name(name) for name in ("base", "rocker"))
        for i, (x, z) in enumerate(((0.5, 0.0), (0.0, 0.5))):
            rod = mbt.DistanceConstraint(f"rod_{i}", base, [0.7 + x, 0, z], rocker, [0.5, 0, 0], 0.5)
            tree.add_constraint(rod)
        tree.finalize()
        free = tree.create_default_context()
        start = context.q if not paths else start
        free.q = start
        tree.assemble(free)
        paths.append(mbt.simulate(tree, free, 0.5, 2e-3, method="rk4").q)
    np.testing.assert_allclose(paths[1], paths[0], atol=1e-3)
    assert np.ptp(paths[0][:, 0]) > 0.5


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_a_mechanism_that_locks_on_its_way_is_told(method: str) -> None:
    """At the start, the weakest equation is too weak to be enforced; later in the motion it is enforced."""
    swings = []
    for tilt, is_told in ((3.1416 - np.pi, False), (3e-4, True)):
        tree = four_bar(tilt)
        context = tree.create_default_context()
        context.q = calc_four_bar_angles(2.0)
        assert not closing.describe_stuck(tree, context, context)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            trajectory = mbt.simulate(tree, context, 2.0, method=method)
        messages = [str(warning.message) for warning in found]
        assert bool(messages) == is_told
        assert all("stuck, in whole or in part: it has constraints that leave 0" in x for x in messages)
        swings.append(np.ptp(trajectory.q[:, 0]))
    assert swings[1] < 0.5 * swings[0]


def test_angles_with_five_digits_change_no_implicit_step() -> None:
    """Neither the motion nor the forces of a loop change if one equation is as weak as rounding."""
    runs = []
    for tilt in (0.0, 1.2e-16, 3.1416 - np.pi, 1e-5):
        tree = four_bar(tilt, [0.3, 0.4, 0.5])
        context = tree.create_default_context()
        context.q = calc_four_bar_angles(2.0)
        runs.append(mbt.simulate(tree, context, 1.0, 2e-3, method="implicit"))
    most = np.abs(runs[0].multipliers).max()
    assert most < 100.0
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-6)
        np.testing.assert_allclose(run.multipliers, runs[0].multipliers, atol=1e-3 * most)


def test_constraints_that_contradict_each_other_are_told() -> None:
    tree = mbt.MultibodyTree()
    for name in ("left", "right"):
        wheel = tree.add_body(mbt.RigidBody(name, BOB))
        tree.add_joint(mbt.RevoluteJoint, name, tree.world_body, None, wheel, None, [0, 0, 1])
    for name, offset in (("belt", 0.1), ("chain", -0.1)):
        tree.add_constraint(mbt.CouplerConstraint(name, *tree.joints, 1.0, offset))
    rod = mbt.DistanceConstraint("rod", tree.world_body, [0, 0, 5], tree.bodies[1], [0, 0, 0], 4.0)
    tree.add_constraint(rod)
    tree.finalize()
    with pytest.warns(mbt.SimulationWarning, match=r"stuck, .*contradict .*'rod' \(1\)") as found:
        mbt.simulate(tree, tree.create_default_context(), 0.1)
    assert len(found) == 1


def test_a_stretched_mechanism_is_not_stuck() -> None:
    """Its equations are weak where it is stretched, and stronger nearby."""
    tree = four_bar()
    context = tree.create_default_context()
    # Coupler and rocker nearly on a line.
    context.q = [np.pi, np.pi - 1e-6, 0.0]
    tree.assemble(context, tolerance=1e-4)
    mbt.simulate(tree, context, 0.05)


@pytest.fixture(scope="module")
def locked() -> mbt.MultibodyTree:
    """A four-bar that locks because one angle has three digits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.ModelWarning)
        return mbt.load_model(urdf.four_bar("1.57", urdf.HINGE))


def closed(tree: mbt.MultibodyTree) -> mbt.Context:
    context = tree.create_default_context()
    context.q = [0.9, -0.7, -1.1]
    tree.assemble(context, tolerance=1e-2)
    return context


def test_short_simulations_do_not_look_for_what_is_stuck(locked: mbt.MultibodyTree) -> None:
    """The check takes longer than so few steps."""
    assert FEWEST_STEPS == 100
    mbt.simulate(locked, closed(locked), 0.099, 1e-3)
    with pytest.warns(mbt.SimulationWarning, match="stuck"):
        mbt.simulate(locked, closed(locked), 0.1, 1e-3)


def test_connected_equations_beyond_a_bound_are_not_looked_at(
    locked: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, count = closed(locked), locked.num_constraint_equations
    for bound, is_told in ((count, True), (count - 1, False)):
        monkeypatch.setattr(closing, "_PROBED_DOFS", bound)
        assert bool(closing.describe_stuck(locked, context, context)) == is_told


def test_one_set_of_equations_serves_all_looks(
    locked: mbt.MultibodyTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tree.assemble`, which closes the model nearby, makes its own."""
    made: list[mbt.MultibodyTree] = []

    class Counted(Equations):
        def __init__(self, tree: mbt.MultibodyTree, *args: Any) -> None:
            made.append(tree)
            super().__init__(tree, *args)

    for module in (closing, report):
        monkeypatch.setattr(module, "Equations", Counted)
    context = closed(locked)
    assert closing.describe_stuck(locked, context, context)
    assert made == [locked]


@pytest.mark.parametrize(("mass", "is_told"), [(1e-9, True), (1e-4, False)])
def test_a_loop_that_opens_is_told(mass: float, is_told: bool) -> None:
    """With a nearly massless coupler, implicit steps let the loop open."""
    tree, context = slider_crank(mass, ATTITUDES[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = mbt.simulate(tree, context, 1.0, method="implicit")
    message = "it has constraints that were closed and are open now, by [m, rad]: 'pin' (1): take shorter"
    assert [str(x.message).startswith(f"simulate: {message}") for x in caught] == [True] * is_told
    assert (np.linalg.norm(motion.constraint_errors[-1]) > 0.1) == is_told
    assert abs(mbt.simulate(tree, context, 1.0, method="rk4").constraint_errors).max() < 1e-8


@pytest.mark.parametrize(("apart", "is_told"), [(0.9, False), (50.0, True)])
def test_a_loop_that_begins_open_and_does_not_close_is_told(apart: float, is_told: bool) -> None:
    """No warning if it closes, has no time to close, or is disabled."""
    tree = mbt.MultibodyTree()
    crank, coupler, rocker = (tree.add_body(mbt.RigidBody(x, BOB)) for x in ("crank", "coupler", "rocker"))
    world, make_pose = tree.world_body, mbt.math.make_pose
    for parent, p, body in (
        (world, [0, 0, 0], crank), (crank, [0, 0, 1], coupler), (world, [1, 0, 0], rocker)
    ):  # fmt: skip
        tree.add_joint(mbt.RevoluteJoint, body.name, parent, make_pose(p), body, None, [0, 1, 0])
    ends = [
        tree.add_frame(mbt.FixedOffsetFrame(f"end_{body.name}", body, make_pose(p)))
        for body, p in ((coupler, [1, 0, 0]), (rocker, [0, 0, 1 + apart]))
    ]
    pin = tree.add_constraint(mbt.BallConstraint("pin", *ends))
    tree.finalize()
    context = tree.create_default_context()

    def messages(duration: float, **options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mbt.simulate(tree, context, duration, 5e-3, **options)
        return [str(x.message) for x in caught]

    told = r"simulate: it has constraints that began open and do not close, by .*: 'pin' \(\d+\): start where"
    found = messages(1.0, method="implicit")
    assert [bool(re.match(told, x)) for x in found] == [True] * is_told
    assert not messages(0.3, method="implicit")
    pin.set_enabled_in(context, False)
    assert not messages(1.0, method="implicit")
