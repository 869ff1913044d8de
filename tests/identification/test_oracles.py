"""Fits for descriptions of real robots, and the optimum of an independent solver."""

from __future__ import annotations

import numpy as np
import pytest

import mbt
from mbt.identification import Accumulator, accumulator, identify
from mbt.identification.physical import fit_physical
from support.public_robots import FOLDER, load_robot

pytestmark = pytest.mark.oracle

ROBOTS = {
    "ur10": FOLDER / "ur_description/urdf/ur10_robot.urdf",
    "panda": FOLDER / "panda_description/urdf/panda.urdf",
    "go1": FOLDER / "go1_description/urdf/go1.urdf",
}


def experiment(name, count, seed=0, noise=0.1):
    """Return a description, a real robot with other masses and friction, and a log of it."""
    # The base of the legged robot moves freely; its contacts, and some of the forces, are known.
    tree = load_robot(ROBOTS[name], **({"base": "floating"} if name == "go1" else {}))
    rng = np.random.default_rng(seed)
    real = tree.edit()
    for body in real.bodies[1:]:
        if body.default_mass > 1e-3:
            M = body.default_spatial_inertia
            body.set_default_spatial_inertia(
                mbt.SpatialInertia(rng.uniform(0.8, 1.3) * M.mass, M.com, M.unit_inertia)
            )
    for joint in real.joints:
        if joint.num_velocities == 1:
            joint.set_default_damping(rng.uniform(0.1, 2.0))
            real.add_force_element(mbt.JointFriction(joint, rng.uniform(0.2, 2.0)))
    real.finalize()
    q = np.array([real.random_positions(rng) for _ in range(count)])
    v, vdot = rng.normal(size=(2, count, tree.num_velocities))
    fingers = [(x.joint0, x.joint1) for x in tree.constraints]  # of the panda: one finger mimics the other
    for follower, leader in fingers:
        q[:, follower.position_start] = q[:, leader.position_start]
        for rate in (v, vdot):
            rate[:, follower.velocity_start] = rate[:, leader.velocity_start]
    context = real.create_default_context(batch_shape=count)
    context.q, context.v = q, v
    tau = real.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    tau += noise * rng.normal(size=tau.shape)
    for follower, leader in fingers:  # driven by the leader's motor
        own = tau[:, follower.velocity_start]
        tau[:, leader.velocity_start] += own
        own[:] = 0.0
    return tree, real, (q, v, vdot, tau)


def truth_of(found, real):
    """Return the base parameters of the real robot."""
    damping, dry = np.zeros((2, real.num_velocities))
    for joint in real.joints:
        if joint.num_velocities == 1:
            damping[joint.velocity_start] = joint.default_damping
    for element in real.force_elements:
        if isinstance(element, mbt.JointFriction):
            dry[element.joint.velocity_start] = element.coulomb_friction
    places = found._columns.velocities
    return found.base.calc_values(
        np.concatenate([real.get_inertial_parameters(), damping[places["viscous"]], dry[places["coulomb"]]])
    )


@pytest.mark.parametrize("name", ROBOTS)
def test_truth_of_real_robots_lies_within_the_standard_errors(name):
    tree, real, log = experiment(name, 1500)
    found = identify(tree, *log, friction="viscous+coulomb")
    assert mbt.math.is_physically_consistent(found.parameters).all()
    noise = np.full(tree.num_velocities, 0.1)
    for constraint in tree.constraints:  # the leader's force has the noise of both
        noise[constraint.joint0.velocity_start] = np.inf
        noise[constraint.joint1.velocity_start] *= np.sqrt(2.0)
    np.testing.assert_allclose(found.noise, noise, rtol=0.1)
    off = np.abs(found.base_values - truth_of(found, real)) / found.base_standard_errors
    assert (off < 3.0).mean() > 0.97
    assert off.max() < 5.0


@pytest.mark.parametrize("name", ["ur10", "panda"])
def test_logs_without_noise_are_fitted(name):
    """Within physical limits, with the default prior: data weigh 1e14 times as much as the prior."""
    tree, real, log = experiment(name, 500, noise=0.0)
    found = identify(tree, *log, friction="viscous+coulomb")
    assert mbt.math.is_physically_consistent(found.parameters).all()
    np.testing.assert_allclose(found.base_values, truth_of(found, real), atol=1e-5)


FEW_SAMPLES = [("arm", 20), ("arm", 200), ("ur10", 60), ("panda", 60), ("panda", 1500)]


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *FEW_SAMPLES,
        *(pytest.param(*case, marks=pytest.mark.exhaustive) for case in (("go1", 60), ("go1", 1500))),
    ],
)
def test_the_physical_fit_is_the_optimum_of_clarabel(robot, rng, monkeypatch, name, count):
    """A semidefinite program: pseudo-inertias in the cone of positive semidefinite matrices."""
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    seen = []

    def remember(problem):
        seen.append((problem, fit_physical(problem)))
        return seen[-1][1]

    monkeypatch.setitem(accumulator._SOLVERS, "barrier", remember)
    if name == "arm":
        tree, log = robot.tree, robot.log(count, rng, noise=10.0)
    else:
        tree, _, log = experiment(name, count)
    sums = Accumulator(tree, friction="viscous+coulomb", rotors=name == "arm")
    sums.add(*log)
    sums.solve(prior=1e-2)
    ((problem, x),) = seen
    R, r, weight, described, start, num_bodies, positive = problem

    # svec of the pseudo-inertia is linear in the ten numbers: entry by entry, from the definition.
    m, mc, xx, xy, yy, xz, yz, zz = 0, 1, 4, 5, 6, 7, 8, 9
    S = np.zeros((10, 10))  # upper triangle by columns, off-diagonal entries times sqrt(2)
    half, root = 0.5, np.sqrt(2.0)
    for row, entries in enumerate(
        [
            {yy: half, zz: half, xx: -half},
            {xy: -root},
            {xx: half, zz: half, yy: -half},
            {xz: -root},
            {yz: -root},
            {xx: half, yy: half, zz: -half},
            {mc: root},
            {mc + 1: root},
            {mc + 2: root},
            {m: 1.0},
        ]
    ):
        for column, value in entries.items():
            S[row, column] = value
    # Minimize |y|^2 / 2 of all residuals y = [R, sqrt(weight)] (x - described) - r, with the prior's.
    n, places = len(x), np.flatnonzero(positive)
    rows = np.concatenate([R, np.sqrt(weight) * np.eye(n)])
    right = np.concatenate([r, np.zeros(n)]) + rows @ described
    A = np.zeros((10 * num_bodies + len(places), n))
    A[: 10 * num_bodies, : 10 * num_bodies] = -np.kron(np.eye(num_bodies), S)
    A[10 * num_bodies + np.arange(len(places)), places] = -1.0
    cones = [clarabel.ZeroConeT(len(rows))]
    cones += [clarabel.PSDTriangleConeT(4) for _ in range(num_bodies)]
    cones.append(clarabel.NonnegativeConeT(len(places)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(np.repeat([0.0, 1.0], [n, len(rows)]))),
        np.zeros(n + len(rows)),
        sparse.csc_matrix(np.block([[rows, -np.eye(len(rows))], [A, np.zeros((len(A), len(rows)))]])),
        np.concatenate([right, np.zeros(len(A))]),
        cones,
        settings,
    )
    solution = solver.solve()

    def cost(x):
        return 0.5 * float(np.sum((rows @ x - right) ** 2))

    assert "Solved" in str(solution.status)
    best = cost(np.array(solution.x)[:n])
    assert cost(start) > best + 1.0
    assert abs(cost(x) - best) < 1e-6
    # The limits matter: without them the cost would be lower still.
    assert cost(np.linalg.lstsq(rows, right, rcond=None)[0]) < best - 1e-3
