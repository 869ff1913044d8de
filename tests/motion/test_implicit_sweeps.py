"""Implicit steps that sweep through the tree equal those with matrices, and need no more than the tree."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt._core.solvers.implicit_steps import ImplicitCore
from mbt.motion import implicit
from mbt.motion.implicit import ImplicitSteps, make_core
from support.case import FEW, get_case
from support.convex_steps import ConvexSteps
from support.linkages import MECHANISMS, assembled

DT = 2e-3


def chain(count, *, joint=mbt.RevoluteJoint, contact=False, floating=False, damping=0.01):
    """Links of 0.1 m with damped joints, hanging from World or lying on the ground."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    parent, X_PF = tree.world_body, None
    link = mbt.SpatialInertia.solid_box_with_mass(0.1, 0.1, 0.02, 0.03).shift([-0.05, 0.0, 0.0])
    axes = np.eye(3)
    for i in range(count):
        body = tree.add_body(mbt.RigidBody(f"link{i}", link))
        if i or not floating:
            keywords = {"axis": axes[i % 3]} if joint is mbt.RevoluteJoint else {}
            tree.add_joint(joint, f"joint{i}", parent, X_PF, body, None, damping=damping, **keywords)
        if contact:
            ends = [[0.0, 0.0, -0.015], [0.1, 0.01, -0.015]]
            tree.add_force_element(
                mbt.PointContact(body, ends, stiffness=1e4, dissipation=1.0, static_friction=0.6)
            )
        parent, X_PF = body, mbt.math.make_pose([0.1, 0.0, 0.0])
    tree.finalize()
    return tree


def ladder(count, *, rpy=(0.0, 0.0, 0.0), tilt=0.0, in_series=True):
    """Four-bar linkages, each on the coupler of the previous one or on World; axes are tilted a little."""
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    X_WB = mbt.math.make_pose(rpy=rpy)
    base, angles = tree.world_body, {}
    for i in range(count):
        ends = []
        angle = -1.0 if i % 2 == 0 else -1.3
        for name, length, inboard, start, at in (
            ("crank", 0.3, base, 0.0, angle),
            ("coupler", 0.5, None, 0.3, -angle),
            ("rocker", 0.3, base, 0.5, angle),
        ):
            inertia = mbt.SpatialInertia.solid_box_with_mass(length, length, 0.02, 0.03)
            body = tree.add_body(mbt.RigidBody(f"{name}{i}", inertia.shift([-0.5 * length, -0.01, -0.02])))
            inboard = ends[0] if inboard is None else inboard
            X_PF = mbt.math.make_pose([start, 0.0, 0.0])
            X_PF = X_WB @ X_PF if inboard is tree.world_body else X_PF
            axis = [0.0, 1.0, tilt * (i % 3)]
            tree.add_joint(mbt.RevoluteJoint, f"{name}{i}", inboard, X_PF, body, None, axis, damping=0.01)
            ends.append(body)
            angles[f"{name}{i}"] = at
        frames = [
            tree.add_frame(mbt.FixedOffsetFrame(f"{name}{i}", body, mbt.math.make_pose([length, 0, 0])))
            for name, body, length in (("end_of_coupler", ends[1], 0.5), ("end_of_rocker", ends[2], 0.3))
        ]
        tree.add_constraint(mbt.BallConstraint(f"pin{i}", *frames))
        base = ends[1] if in_series else tree.world_body
    tree.finalize()
    q = tree.default_positions.copy()
    for name, angle in angles.items():
        q[tree.get_joint_by_name(name).position_start] = angle
    return tree, q


def core_of(tree):
    return make_core(tree.create_default_context())


def states(tree, count, size=0.3, seed=0):
    """Positions near the default ones, and velocities and forces."""
    rng = np.random.default_rng(seed)
    shape = count, tree.num_velocities
    q = functional.integrate_positions(
        tree, np.tile(tree.default_positions, (count, 1)), size * rng.normal(size=shape), 1.0
    )
    return q, 10.0 ** rng.uniform(-2, 1, size=(count, 1)) * rng.normal(size=shape), rng.normal(size=shape)


def take_both(context, q, v, tau, dt, monkeypatch):
    """Return steps with matrices, and in sweeps."""
    taken = []
    for sweeps in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(implicit, "ImplicitCore", partial(ImplicitCore, sweeps=sweeps))
            steps = ImplicitSteps(context)
            assert make_core(context).has_sweeps == sweeps
        taken.append(steps.take(q, v, tau, dt))
    return taken


def assert_same(context, q, v, tau, monkeypatch, dt=DT, rtol=1e-9):
    with_matrices, swept = take_both(context, q, v, tau[None], dt, monkeypatch)
    for name in ("q", "v", "drive"):
        a, b = getattr(with_matrices, name), getattr(swept, name)
        np.testing.assert_allclose(
            b, a, rtol=0, atol=rtol * max(1.0, np.abs(a).max(initial=0.0)), err_msg=name
        )
    assert swept.solver.residual.max() < 1e-9
    return swept


TREES = {
    "chain": lambda: chain(60),
    "rope": lambda: chain(25, joint=mbt.BallRpyJoint),
    "snake on the ground": lambda: chain(12, joint=mbt.BallRpyJoint, contact=True, floating=True),
}


@pytest.mark.parametrize("name", TREES)
def test_long_trees_equal_those_in_numpy(name):
    """By default, without asking for sweeps."""
    tree = TREES[name]()
    context = tree.create_default_context()
    assert core_of(tree).has_sweeps
    found, expected = ImplicitSteps(context), ConvexSteps(context)
    for q, v, tau in zip(*states(tree, 4, 0.02), strict=True):
        if "ground" in name:
            q[6] = 0.014
        taken = found.take(q, v, tau[None], DT)
        q1, v1 = expected.step(q, v, tau, DT)
        scale = max(1.0, np.abs(v).max(), np.abs(v1).max())
        np.testing.assert_allclose(taken.v[0], v1, rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(taken.q[0], q1, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.4, -0.7, 1.1)])
@pytest.mark.parametrize("tilt", [0.0, 1e-6, 1e-2])
def test_long_ladders_equal_those_in_numpy(rpy, tilt):
    """The third equation of each ball is redundant, or nearly so and left out, or counts."""
    tree, q = ladder(14, rpy=rpy, tilt=tilt)
    assert core_of(tree).has_sweeps
    context = tree.create_default_context()
    rng = np.random.default_rng(3)
    v, tau = rng.normal(size=(2, tree.num_velocities))
    taken = ImplicitSteps(context).take(q, v, tau[None], DT)
    _, v1 = ConvexSteps(context).step(q, v, tau, DT)
    np.testing.assert_allclose(taken.v[0], v1, rtol=0, atol=1e-8 * np.abs(v1).max())


@pytest.mark.parametrize("name", FEW)
def test_every_joint_type(name, monkeypatch):
    case = get_case(name)
    state = case.state()
    v, tau = np.random.default_rng(5).normal(size=(2, case.tree.num_velocities))
    assert_same(case.context(state), state.q, v, tau, monkeypatch)


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism(name, monkeypatch):
    """Loops that overlap are one group."""
    rng = np.random.default_rng(6)
    context = assembled(MECHANISMS[name][0](), rng)
    assert_same(context, context.q, context.v, rng.normal(size=len(context.v)), monkeypatch)


def all_constraints():
    """A constraint of each kind, one of them on the body that carries two others."""
    tree = chain(14, joint=mbt.BallRpyJoint, contact=True, floating=True).edit()
    links = [tree.get_body_by_name(f"link{i}") for i in range(14)]
    hinge = mbt.math.make_pose([0.0, 0.02, 0.0], rpy=[0.3, -0.2, 0.1])
    flap = tree.add_body(mbt.RigidBody("flap", mbt.SpatialInertia.solid_sphere_with_mass(0.2, 0.05)))
    wheel = tree.add_body(mbt.RigidBody("wheel", mbt.SpatialInertia.solid_sphere_with_mass(0.3, 0.05)))
    joints = [
        tree.add_joint(mbt.RevoluteJoint, f"{body.name} hinge", links[3], hinge, body, hinge, [0, 0, 1])
        for body in (flap, wheel)
    ]
    tree.add_constraint(mbt.CouplerConstraint("gear", *joints, gear_ratio=-2.0, offset=0.1))
    tree.add_constraint(mbt.DistanceConstraint("rod", links[4], [0, 0, 0.01], links[7], [0.05, 0, 0], 0.3))
    tree.add_constraint(mbt.BallConstraint("ball", links[8], links[10]))
    tree.add_constraint(mbt.WeldConstraint("weld", links[11], links[13]))
    tree.add_constraint(mbt.DistanceConstraint("rope", links[2], [0, 0, 0], links[9], [0, 0, 0], 0.6))
    tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, links[0]))
    tree.finalize()
    return tree


def test_constraints_of_each_kind(monkeypatch):
    tree = all_constraints()
    context = tree.create_default_context()
    for q, v, tau in zip(*states(tree, 3, 0.05), strict=True):
        taken = assert_same(context, q, v, tau, monkeypatch, rtol=1e-8)
        assert taken.solver.iterations > 0
    tree.get_constraint_by_name("ball").set_enabled_in(context, False)
    tree.get_constraint_by_name("weld").set_enabled_in(context, False)
    for name in ("joint2", "wheel hinge"):
        tree.get_joint_by_name(name).lock(context)
    for body in tree.bodies[1::3]:
        body.set_mass(context, 0.7)
    free = ~context._locked_dofs()
    for q, v, tau in zip(*states(tree, 3, 0.05), strict=True):
        assert_same(context, q, v * free, tau, monkeypatch, rtol=1e-8)


def gripper(kind):
    """Two skew fingers on the last link of a rope, whose tips are joined; `kind` is their joints."""
    tree = chain(12, joint=mbt.BallRpyJoint, floating=True).edit()
    palm = tree.bodies[-1]
    tips = []
    for side, rpy in enumerate(([0.3, 0.5, -0.7], [-0.2, 0.9, 0.4])):
        finger = tree.add_body(
            mbt.RigidBody(f"finger{side}", mbt.SpatialInertia.solid_sphere_with_mass(0.2, 0.05))
        )
        X_PF = mbt.math.make_pose([0.02 * side, 0.03, 0.01], rpy=rpy)
        tree.add_joint(kind, f"knuckle{side}", palm, X_PF, finger, None, [0, 0, 1])
        X_BF = mbt.math.make_pose([0.01, 0.02, 0.05 + 0.01 * side], rpy=[0.1, side, 0.2])
        tips.append(tree.add_frame(mbt.FixedOffsetFrame(f"tip{side}", finger, X_BF)))
    return tree, palm, tips


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("case", ["sliders", "locked", "welded", "on the axis"])
def test_equations_that_move_nothing_exert_nothing(case):
    """Turning what only slides, moving what is locked or welded, holding a point on the axis of its hinge."""
    tree, palm, tips = gripper(mbt.PrismaticJoint if case == "sliders" else mbt.RevoluteJoint)
    ends: list[object] = tips
    if case == "welded":
        plate = tree.add_body(mbt.RigidBody("plate", mbt.SpatialInertia.solid_sphere_with_mass(0.1, 0.05)))
        tree.add_joint(mbt.WeldJoint, "rivets", palm, mbt.math.make_pose([0.1, 0.2, 0.3]), plate, None)
        ends = [palm, plate]
    if case == "on the axis":
        knuckle = tree.get_joint_by_name("knuckle0")
        tree.add_constraint(
            mbt.DistanceConstraint("idle", palm, [0, 0, 0], knuckle.frame_on_child, [0, 0, 0.1], 0.1)
        )
    else:
        tree.add_constraint(mbt.WeldConstraint("idle", *ends))
    if case == "sliders":
        tree.add_constraint(mbt.BallConstraint("pin", *tips))
    tree.finalize()
    context, without = tree.create_default_context(), tree.create_default_context()
    tree.get_constraint_by_name("idle").set_enabled_in(without, False)
    if case == "sliders":
        tree.get_constraint_by_name("pin").set_enabled_in(context, False)
    rng = np.random.default_rng(8)
    q, v = tree.default_positions, rng.normal(size=tree.num_velocities)
    for knuckle in ("knuckle0", "knuckle1") if case == "locked" else ():
        for each in (context, without):
            tree.get_joint_by_name(knuckle).lock(each)
        v[tree.get_joint_by_name(knuckle).velocity_start] = 0.0
    tau = rng.normal(size=(1, tree.num_velocities))
    taken, wanted = (ImplicitSteps(each).take(q, v, tau, DT) for each in (context, without))
    np.testing.assert_allclose(taken.v, wanted.v, rtol=0, atol=1e-7 * np.abs(wanted.v).max())
    assert taken.solver.residual < 1e-9


def test_stiff_contact_is_no_lack_of_mass():
    """Slopes of contact are 1e14 times as large as the inertia of a link, next to which it is not zero."""
    tree = chain(12, joint=mbt.BallRpyJoint, contact=True, floating=True)
    context = tree.create_default_context()
    for element in tree.force_elements:
        if isinstance(element, mbt.PointContact):
            element.set_stiffness(context, 1e8).set_dissipation(context, 1000.0)
    assert make_core(context).has_sweeps
    q, v, tau = states(tree, 1, 0.02)
    q[0, 6] = 0.012
    taken = ImplicitSteps(context).take(q[0], 0.1 * v[0], np.repeat(tau, 100, 0), DT)
    assert taken.solver.residual.max() < 1e-6


def test_what_a_trajectory_tells_is_the_same(monkeypatch):
    """Multipliers and contact forces, too."""
    tree = all_constraints()
    told = []
    for sweeps in (False, True):
        with monkeypatch.context() as patch:
            patch.setattr(implicit, "ImplicitCore", partial(ImplicitCore, sweeps=sweeps))
            told.append(mbt.simulate(tree, tree.create_default_context(), 0.02, DT, method="implicit"))
    for name in ("q", "v", "vdot", "multipliers", "contact_forces", "tau"):
        a, b = (np.asarray(getattr(motion, name)) for motion in told)
        np.testing.assert_allclose(
            b, a, rtol=0, atol=1e-6 * max(1.0, np.abs(a).max(initial=0.0)), err_msg=name
        )
    assert np.abs(told[0].multipliers).max() > 0.1


def test_dampers_and_springs_hold_what_has_no_mass(monkeypatch):
    tree = chain(3).edit()
    for name in ("link1", "link2"):
        tree.get_body_by_name(name).set_default_spatial_inertia(mbt.SpatialInertia.zero())
    tree.finalize()
    context = tree.create_default_context()
    taken = assert_same(context, np.array([0.3, 0.2, 0.1]), np.ones(3), np.ones(3), monkeypatch)
    assert np.isfinite(taken.v).all()


def test_nothing_holds_what_has_no_mass_and_no_damping():
    tree = chain(70).edit()
    tree.get_body_by_name("link69").set_default_spatial_inertia(mbt.SpatialInertia.zero())
    tree.get_joint_by_name("joint69").set_default_damping(0.0)
    tree.finalize()
    assert core_of(tree).has_sweeps
    zero = np.zeros(70)
    with pytest.raises(mbt.SingularityError, match="joint69"):
        functional.step(tree, zero, zero, zero, DT, method="implicit")


def test_a_state_that_is_not_finite_has_no_next_one():
    tree = chain(70)
    zero = np.zeros(70)
    for place in range(3):
        arrays = [zero.copy() for _ in range(3)]
        arrays[place][40] = np.nan
        q, v = functional.step(tree, *arrays, DT, method="implicit")
        assert np.isnan(q).all()
        assert np.isnan(v).all()


@pytest.mark.parametrize("count", [20, 120])
def test_batches_equal_each_state_alone(count):
    """Lanes of registers up to a length, beyond it one state after the other."""
    tree = chain(count)
    q, v, tau = states(tree, 9, 0.05)
    q1, v1 = functional.rollout(tree, q, v, np.repeat(tau[:, None], 3, 1), DT, method="implicit")
    for i in range(9):
        alone = functional.rollout(tree, q[i], v[i], np.repeat(tau[i : i + 1], 3, 0), DT, method="implicit")
        for many, one in zip((q1[i], v1[i]), alone, strict=True):
            np.testing.assert_allclose(many, one, rtol=0, atol=1e-8 * max(1.0, np.abs(one).max()))


@pytest.mark.parametrize(("count", "is_swept"), [(70, False), (71, True)])
def test_the_page_says_when_batches_are_swept(count, is_swept):
    """One state after the other, and so to the last bit as each alone."""
    tree = chain(count)
    q, v, tau = states(tree, 9, 0.05)
    _, many = functional.step(tree, q, v, tau, DT, method="implicit")
    alone = [functional.step(tree, *state, DT, method="implicit")[1] for state in zip(q, v, tau, strict=True)]
    assert np.array_equal(many, alone) == is_swept


def test_derivatives_are_those_of_the_steps():
    tree, q = ladder(14)
    assert core_of(tree).has_sweeps
    v, tau = np.random.default_rng(1).normal(size=(2, tree.num_velocities))
    A, B = functional.step_derivatives(tree, q, v, tau, DT, method="implicit")
    n = tree.num_velocities
    for k in range(0, n, 7):
        step = np.eye(n)[k] * 1e-6

        def end(dq, dv, dtau):
            return np.concatenate(functional.step(tree, q + dq, v + dv, tau + dtau, DT, method="implicit"))

        for column, change in (
            (A[:, k], (step, 0 * step, 0 * step)),
            (A[:, n + k], (0 * step, step, 0 * step)),
            (B[:, k], (0 * step, 0 * step, 1e3 * step)),
        ):
            slope = (end(*change) - end(*(-x for x in change))) / (2 * max(np.abs(x).max() for x in change))
            np.testing.assert_allclose(column, slope, rtol=0, atol=2e-4 * max(1.0, np.abs(slope).max()))


@pytest.mark.parametrize(
    ("make", "first"),
    [
        (chain, 28),
        (partial(chain, joint=mbt.BallRpyJoint), 9),
        (partial(chain, joint=mbt.BallRpyJoint, contact=True, floating=True), 4),
        (lambda count: ladder(count)[0], 11),
        (lambda count: ladder(count, in_series=False)[0], 15),
    ],
    ids=["chain", "rope", "snake", "in series", "side by side"],
)
def test_the_page_says_which_way_is_chosen(make, first):
    assert [core_of(make(count)).has_sweeps for count in (first - 1, first)] == [False, True]


def test_springs_between_bodies_and_planes_that_move_need_matrices():
    for add in (
        lambda tree, tip: mbt.LinearSpringDamper(
            tree.world_body, [0, 0, 0.3], tip, [0, 0, 0], 0.1, 10.0, 0.1
        ),
        lambda tree, tip: mbt.PointContact(
            tip, [0, 0, 0], tree.bodies[1], stiffness=1e3, dissipation=0.0, static_friction=0.5
        ),
    ):
        tree = chain(60).edit()
        tree.add_force_element(add(tree, tree.bodies[-1]))
        tree.finalize()
        assert not core_of(tree).has_sweeps
    assert core_of(chain(60)).has_sweeps


def test_a_rope_comes_to_rest_as_a_catenary():
    """Between links hung up 3.2 m apart, the horizontal force is the same everywhere."""
    count, span, length = 40, 3.2, 0.1
    tree = chain(count, joint=mbt.BallRpyJoint, damping=0.1).edit()
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", tree.bodies[-1], mbt.math.make_pose([length, 0, 0])))
    hook = tree.add_frame(mbt.FixedOffsetFrame("hook", tree.world_body, mbt.math.make_pose([span, 0, 0])))
    tree.add_constraint(mbt.BallConstraint("knot", hook, tip))
    tree.finalize()
    assert core_of(tree).has_sweeps
    context = tree.create_default_context()
    rpy = np.zeros((count, 3))
    rpy[0, 1] = np.arccos(span / (count * length))
    rpy[count // 2, 1] = -2.0 * rpy[0, 1]
    context.q = rpy.ravel()
    context.q = mbt.simulate(tree, context, 20.0, 5e-3, method="implicit").q[-1]
    heights = [body.body_frame.calc_pose_in_world(context)[2, 3] for body in tree.bodies[1:]]

    # The tangent of each link is the weight between its middle and the lowest point, over that force.
    weights = np.arange(count) + 0.5 - count / 2
    low, high = 1e-3, 1e3
    for _ in range(100):
        force = np.sqrt(low * high)
        width = length * np.cos(np.arctan(weights / force)).sum()
        low, high = (force, high) if width < span else (low, force)
    sag = length * np.cumsum(np.sin(np.arctan(weights / force)))
    np.testing.assert_allclose(heights[1:], sag[:-1], rtol=0, atol=1e-3)


def test_memory_grows_with_the_tree():
    """Three matrices of this tree would take 60 GB."""
    tree = chain(50_000)
    zero = np.zeros(50_000)
    q, v = functional.step(tree, zero, zero, zero, DT, method="implicit")
    assert np.isfinite(q).all()
    assert np.abs(v).max() > 0
