"""Trees in Crocoddyl: its values for the same robots, derivatives against differences, solvers that end."""

from __future__ import annotations

import gc
import resource
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path
from support.build import build_tree
from support.constraints import tree_with_loops
from support.description import Array
from support.random_trees import CATALOGUE, every_kind

pytestmark = pytest.mark.crocoddyl
crocoddyl: Any = pytest.importorskip("crocoddyl", reason="needs the extra `crocoddyl`, without `oracle`")
pinocchio: Any = pytest.importorskip("pinocchio")
mcrocoddyl: Any = pytest.importorskip("mbt.interop.crocoddyl")

SHARE = Path(pinocchio.__file__).parents[4] / "share/example-robot-data/robots"
# Robots with limited revolute joints only: Pinocchio has other coordinates for unlimited ones.
ROBOTS = [
    str(SHARE / path) for path in ("panda_description/urdf/panda.urdf", "ur_description/urdf/ur5_robot.urdf")
]
TREES = {
    "floating arm": lambda: mbt.load_model(model_path("mbt_arm"), base="floating"),
    "every kind": lambda: build_tree(every_kind(23)),
    "reversed": lambda: build_tree(CATALOGUE["one_floating_reversed"]()),
}


def make_costs(state: Any, nu: int, *residuals: Any) -> Any:
    """Return costs of states, of inputs, and of more; each coordinate has its own weight."""
    costs = crocoddyl.CostModelSum(state, nu)
    own = isinstance(state, mcrocoddyl.StateTree)
    for i, residual in enumerate(
        (
            mcrocoddyl.ResidualModelTreeState(state, nu=nu)
            if own
            else crocoddyl.ResidualModelState(state, state.zero(), nu),
            crocoddyl.ResidualModelControl(state, nu),
            *residuals,
        )
    ):
        weights = crocoddyl.ActivationModelWeightedQuad(np.linspace(0.5, 1.0, residual.nr))
        costs.addCost(f"{i}", crocoddyl.CostModelResidual(state, weights, residual), 10.0**-i)
    return costs


def tree_of(model: Any) -> mbt.MultibodyTree:
    """Return the tree of a Pinocchio model without damping, which Crocoddyl ignores."""
    model.damping[:] = 0.0
    tree = mbt.interop.from_pinocchio(model)
    return tree[0] if isinstance(tree, tuple) else tree


def random_point(tree: mbt.MultibodyTree, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    q = functional.integrate_positions(
        tree, tree.default_positions, rng.normal(scale=0.5, size=tree.num_velocities), 1.0
    )
    v, u = rng.normal(size=(2, tree.num_velocities))
    return np.concatenate([q, v]), u


def assert_close(got: Any, wanted: Any, tolerance: float = 1e-9) -> None:
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=tolerance * np.abs(wanted).max(initial=1.0))


def run(model: Any, x: Array, u: Array | None) -> Any:
    data = model.createData()
    arguments = (data, x) if u is None else (data, x, u)
    model.calc(*arguments)
    model.calcDiff(*arguments)
    return data


# Crocoddyl's own models -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ROBOTS)
def test_models_agree_with_those_of_crocoddyl(path: str) -> None:
    model = pinocchio.buildModelFromUrdf(path)
    tree = tree_of(model)
    state, own = crocoddyl.StateMultibody(model), mcrocoddyl.make_state(tree)
    frame = model.getFrameId(model.frames[model.nframes - 1].name)
    goal = mbt.math.make_pose([0.3, 0.2, 0.4], rpy=[0.3, -0.4, 0.5])
    fixed = tree.get_frame_by_name(model.frames[frame].name)
    nv = model.nv
    theirs = crocoddyl.DifferentialActionModelFreeFwdDynamics(
        state,
        crocoddyl.ActuationModelFull(state),
        make_costs(state, nv, crocoddyl.ResidualModelFrameTranslation(state, frame, goal[:3, 3], nv)),
    )
    ours = mcrocoddyl.DifferentialActionModelTree(
        tree, make_costs(own, nv, mcrocoddyl.ResidualModelFrameTranslation(own, fixed, goal[:3, 3]))
    )
    for seed in range(3):
        x, u = random_point(tree, seed)
        for node in (lambda m: m, lambda m: crocoddyl.IntegratedActionModelEuler(m, 0.01)):
            for inputs in (u, None):
                a, b = run(node(theirs), x, inputs), run(node(ours), x, inputs)
                names = ["cost", "Lx", "Lxx"]
                if inputs is not None:
                    names += ["Lu", "Lxu", "Luu", "Fx", "Fu", "xout" if hasattr(a, "xout") else "xnext"]
                for name in names:
                    assert_close(getattr(b, name), getattr(a, name))

    pose = crocoddyl.ResidualModelFramePlacement(state, frame, pinocchio.SE3(goal), nv)
    mine = mcrocoddyl.ResidualModelFramePose(own, fixed, goal)
    # Pinocchio's twists have the linear part first.
    turned = np.roll(np.arange(6), 3)
    collector = crocoddyl.DataCollectorMultibody(model.createData())
    data, mine_data = pose.createData(collector), mine.createData(crocoddyl.DataCollectorAbstract())
    pinocchio.computeJointJacobians(model, collector.pinocchio, x[:nv])
    pinocchio.updateFramePlacements(model, collector.pinocchio)
    for residual, of in ((pose, data), (mine, mine_data)):
        residual.calc(of, x, u)
        residual.calcDiff(of, x, u)
    assert_close(mine_data.r, data.r[turned])
    assert_close(mine_data.Rx, data.Rx[turned])


@pytest.mark.parametrize("solver", ["SolverDDP", "SolverFDDP"])
def test_an_arm_reaches_by_the_same_inputs(solver: str) -> None:
    model = pinocchio.buildModelFromUrdf(ROBOTS[0])
    tree = tree_of(model)
    p_WR = np.array([0.3, 0.3, 0.4])
    name = model.frames[model.nframes - 1].name
    inputs = []
    for ours in (False, True):
        state = mcrocoddyl.make_state(tree) if ours else crocoddyl.StateMultibody(model)
        tip = (
            mcrocoddyl.ResidualModelFrameTranslation(state, tree.get_frame_by_name(name), p_WR)
            if ours
            else crocoddyl.ResidualModelFrameTranslation(state, model.getFrameId(name), p_WR, model.nv)
        )
        costs = crocoddyl.CostModelSum(state)
        costs.addCost("tip", crocoddyl.CostModelResidual(state, tip), 100.0)
        costs.addCost("x", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state)), 1e-2)
        costs.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state)), 1e-4)
        dynamics = (
            mcrocoddyl.DifferentialActionModelTree(tree, costs)
            if ours
            else crocoddyl.DifferentialActionModelFreeFwdDynamics(
                state, crocoddyl.ActuationModelFull(state), costs
            )
        )
        node = crocoddyl.IntegratedActionModelEuler(dynamics, 0.02)
        end = crocoddyl.IntegratedActionModelEuler(dynamics, 0.0)
        problem = crocoddyl.ShootingProblem(np.zeros(2 * model.nv), [node] * 40, end)
        found = getattr(crocoddyl, solver)(problem)
        xs = [np.zeros(2 * model.nv)] * 41
        assert found.solve(xs, problem.quasiStatic(xs[:-1]), 100)
        inputs.append(np.array(found.us))
        q = np.array(found.xs[-1])[: model.nv]
        reached = functional.frame_pose(tree, q, tree.get_frame_by_name(name))[:3, 3]
        assert np.linalg.norm(reached - p_WR) < 0.02
    assert_close(inputs[1], inputs[0], 1e-6)


# Time steps -----------------------------------------------------------------------------------------------


def test_one_input_may_drive_several_velocities() -> None:
    tree = mbt.load_model(model_path("mbt_arm"))
    state, B = mcrocoddyl.make_state(tree), np.arange(1.0, 7.0)[:, np.newaxis]
    (x, _), u = random_point(tree, 6), np.array([0.3])
    data = run(mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 1), actuation=B), x, u)
    M = functional.mass_matrix(tree, x[:6])
    assert_close(np.ravel(data.Fu), np.linalg.solve(M, B[:, 0]))


def make_hinge() -> mbt.MultibodyTree:
    """Return an arm with limits, a servo, and damping too strong for explicit steps."""
    tree = mbt.MultibodyTree()
    arm = tree.add_body(mbt.RigidBody("arm", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.1, 0.4)))
    joint = tree.add_joint(
        mbt.RevoluteJoint, "hinge", tree.world_body, None, arm, mbt.math.make_pose([0, 0, 0.2]),
        axis=[0, 1, 0], damping=5.0, pos_lower_limit=-0.5, pos_upper_limit=0.5,
    )  # fmt: skip
    tree.add_joint_actuator("servo", joint, effort_limit=100.0, stiffness=20.0, damping=1.0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@pytest.mark.parametrize("name", [*TREES, "hinge"])
@pytest.mark.parametrize("method", ["implicit", "semi_implicit_euler"])
def test_steps_of_time_are_those_of_the_tree(name: str, method: str) -> None:
    tree = make_hinge() if name == "hinge" else TREES[name]()
    state, dt = mcrocoddyl.make_state(tree), 0.01
    model = mcrocoddyl.ActionModelTree(tree, make_costs(state, tree.num_velocities), dt, method=method)
    x, u = random_point(tree, 5)
    data = run(model, x, u)
    q, v = x[: tree.num_positions], x[tree.num_positions :]
    assert_close(data.xnext, np.concatenate(functional.step(tree, q, v, u, dt, method=method)))
    A, B = functional.step_derivatives(tree, q, v, u, dt, method=method)
    assert_close(data.Fx, A)
    assert_close(np.reshape(data.Fu, B.shape), B)
    reference = run(
        crocoddyl.IntegratedActionModelEuler(
            mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, tree.num_velocities)), dt
        ),
        x,
        u,
    )
    for part in ("cost", "Lx", "Lu", "Lxx", "Lxu", "Luu"):
        assert_close(getattr(data, part), getattr(reference, part))
    if method == "semi_implicit_euler" and name == "floating arm":
        assert_close(data.xnext, reference.xnext, 1e-8)
    end = run(model, x, None)
    assert_close(end.xnext, x)
    assert_close(end.Fx, np.eye(state.ndx))


def test_a_stiff_arm_on_a_servo_reaches_through_implicit_steps() -> None:
    tree = make_hinge()
    state = mcrocoddyl.make_state(tree)
    costs = crocoddyl.CostModelSum(state, 1)
    goal = crocoddyl.ResidualModelState(state, np.array([0.3, 0.0]), 1)
    angle = crocoddyl.ActivationModelWeightedQuad(np.array([1.0, 1e-4]))
    costs.addCost("x", crocoddyl.CostModelResidual(state, angle, goal), 1000.0)
    costs.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, 1)), 1e-4)
    node = mcrocoddyl.ActionModelTree(tree, costs, 0.02)
    solver = crocoddyl.SolverFDDP(crocoddyl.ShootingProblem(np.zeros(2), [node] * 10, node))
    assert solver.solve([], [], 30)
    q, v = np.zeros(1), np.zeros(1)
    for u in solver.us:
        q, v = functional.step(tree, q, v, u, 0.02, method="implicit")
    assert_close(np.concatenate([q, v]), solver.xs[-1], 1e-6)
    assert abs(q[0] - 0.3) < 0.01


def test_steps_of_time_refuse_what_makes_no_step() -> None:
    tree = make_hinge()
    costs = make_costs(mcrocoddyl.make_state(tree), 1)
    with pytest.raises(mbt.ArgumentValueError, match="dt: expected a number > 0, got 0"):
        mcrocoddyl.ActionModelTree(tree, costs, 0)
    with pytest.raises(mbt.ArgumentValueError, match="method"):
        mcrocoddyl.ActionModelTree(tree, costs, 0.1, method="explicit")


# Derivatives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TREES)
def test_states(name: str) -> None:
    tree = TREES[name]()
    state = mcrocoddyl.make_state(tree)
    (x0, _), (x1, _) = random_point(tree, 1), random_point(tree, 2)
    dx = state.diff(x0, x1)
    back = state.integrate(x0, dx)
    assert_close(state.diff(back, x1), 0.0 * dx)
    first, second = state.Jintegrate(x0, dx, crocoddyl.Jcomponent.both)
    of_x0, of_x1 = state.Jdiff(x0, x1, crocoddyl.Jcomponent.both)
    h = 1e-6
    for k, e in enumerate(h * np.eye(state.ndx)):
        for J, change in (
            (first, lambda e: state.diff(x1, state.integrate(state.integrate(x0, e), dx))),
            (second, lambda e: state.diff(x1, state.integrate(x0, dx + e))),
            (of_x0, lambda e: state.diff(state.integrate(x0, e), x1)),
            (of_x1, lambda e: state.diff(x0, state.integrate(x1, e))),
        ):
            assert_close(J[:, k], (change(e) - change(-e)) / (2 * h), 1e-7)
    Jin = np.asfortranarray(np.random.default_rng(4).normal(size=(state.ndx, 3)))
    for J, which in ((first, crocoddyl.Jcomponent.first), (second, crocoddyl.Jcomponent.second)):
        assert_close(state.JintegrateTransport(x0, dx, Jin.copy(order="F"), which), J @ Jin)
        assert_close(state.Jintegrate(x0, dx, which), J)
    for J, which in ((of_x0, crocoddyl.Jcomponent.first), (of_x1, crocoddyl.Jcomponent.second)):
        assert_close(state.Jdiff(x0, x1, which), J)
    assert state.rand().shape == state.zero().shape == (state.nx,)
    context = tree.create_default_context()
    context.q = state.zero()[: tree.num_positions]


@pytest.mark.parametrize("name", TREES)
def test_steps_are_those_of_mbt(name: str) -> None:
    """Crocoddyl's integrator on a tree's state matches `step` and `step_derivatives`."""
    tree = TREES[name]()
    nq = tree.num_positions
    state = mcrocoddyl.make_state(tree)
    model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, tree.num_velocities))
    node = crocoddyl.IntegratedActionModelEuler(model, 0.01)
    x, u = random_point(tree)
    data = run(node, x, u)
    assert_close(data.xnext, np.concatenate(functional.step(tree, x[:nq], x[nq:], u, 0.01)), 1e-13)
    A, B = functional.step_derivatives(tree, x[:nq], x[nq:], u, 0.01)
    assert_close(data.Fx, A, 1e-12)
    assert_close(data.Fu, B, 1e-12)


@pytest.mark.parametrize("name", [*TREES, "loops"])
def test_derivatives_against_differences(name: str) -> None:
    tree = tree_with_loops(5, num_bodies=6, num_constraints=2) if name == "loops" else TREES[name]()
    state, nv = mcrocoddyl.make_state(tree), tree.num_velocities
    frame = tree.bodies[-1].body_frame
    B = np.random.default_rng(7).normal(size=(nv, 3))
    goal = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.3, 0.2, 0.1])
    costs = make_costs(
        state,
        3,
        mcrocoddyl.ResidualModelFramePose(state, frame, goal, nu=3),
        mcrocoddyl.ResidualModelFrameTranslation(state, frame, goal[:3, 3], nu=3),
    )
    model = mcrocoddyl.DifferentialActionModelTree(tree, costs, actuation=B)
    assert model.nu == 3
    x, u = random_point(tree)
    data, h = run(model, x, u[:3]), 1e-6

    def at(x: Array, u: Array) -> tuple[Array, float]:
        found = model.createData()
        model.calc(found, x, u)
        return np.array(found.xout), found.cost

    for k, e in enumerate(h * np.eye(state.ndx)):
        ends = [at(state.integrate(x, s * e), u[:3]) for s in (1, -1)]
        assert_close(data.Fx[:, k], (ends[0][0] - ends[1][0]) / (2 * h), 1e-5)
        assert_close(data.Lx[k], (ends[0][1] - ends[1][1]) / (2 * h), 1e-6)
    for k, e in enumerate(h * np.eye(3)):
        ends = [at(x, u[:3] + s * e) for s in (1, -1)]
        assert_close(data.Fu[:, k], (ends[0][0] - ends[1][0]) / (2 * h), 1e-6)
        assert_close(data.Lu[k], (ends[0][1] - ends[1][1]) / (2 * h), 1e-6)


# Limits, inputs, errors -----------------------------------------------------------------------------------


def test_limits() -> None:
    tree = mbt.load_model(model_path("mbt_arm"), actuators="all")
    state = mcrocoddyl.make_state(tree)
    np.testing.assert_array_equal(state.ub[:6], tree.position_upper_limits)
    np.testing.assert_array_equal(state.lb[6:], tree.velocity_lower_limits)
    for actuation in (None, tree.actuation_matrix):
        model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 6), actuation=actuation)
        np.testing.assert_array_equal(model.u_ub, tree.effort_upper_limits)
        np.testing.assert_array_equal(model.u_lb, tree.effort_lower_limits)
    floating = mbt.load_model(model_path("mbt_arm"), base="floating", actuators="all")
    state = mcrocoddyl.make_state(floating)
    model = mcrocoddyl.DifferentialActionModelTree(
        floating, make_costs(state, 6), actuation=floating.actuation_matrix
    )
    np.testing.assert_array_equal(model.u_ub, floating.effort_upper_limits[6:])
    x, u = random_point(floating)
    data = run(model, x, u[:6])
    tau = floating.actuation_matrix @ u[:6]
    np.testing.assert_array_equal(data.xout, functional.forward_dynamics(floating, x[:13], x[13:], tau))


def test_what_has_no_result_is_nan_and_solvers_end(capfd: pytest.CaptureFixture[str]) -> None:
    """An exception inside Crocoddyl's loops would end the process."""
    tree = TREES["floating arm"]()
    state = mcrocoddyl.make_state(tree)
    frame = tree.bodies[-1].body_frame
    residuals = [
        mcrocoddyl.ResidualModelFramePose(state, frame, np.eye(4)),
        mcrocoddyl.ResidualModelFrameTranslation(state, frame, np.zeros(3)),
    ]
    model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 12, *residuals))
    node = crocoddyl.IntegratedActionModelEuler(model, 0.01)
    for bad in (0.0, np.nan):
        x, u = random_point(tree)
        x[:4] = bad
        problem = crocoddyl.ShootingProblem(x, [node] * 3, node)
        problem.calc([x] * 4, [u] * 3)
        problem.calcDiff([x] * 4, [u] * 3)
        assert np.isnan(problem.runningDatas[0].xnext).any()
        assert np.isnan(problem.runningDatas[0].Fx).any()
        assert not crocoddyl.SolverFDDP(problem).solve()
        assert np.isnan(state.diff(x, x)).any()
        assert all(np.isnan(J).any() for J in state.Jdiff(x, x, crocoddyl.Jcomponent.both))
    assert "Traceback" not in capfd.readouterr().err


class Faulty(mbt.ForceElement):
    """A user's force element with a bug."""

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        raise KeyError("a mistake")


def test_mistakes_in_elements_of_users_are_told(capfd: pytest.CaptureFixture[str]) -> None:
    tree = mbt.load_model(model_path("mbt_arm")).edit()
    tree.add_force_element(Faulty())
    tree.finalize()
    state = mcrocoddyl.make_state(tree)
    model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 6))
    node = crocoddyl.IntegratedActionModelEuler(model, 0.01)
    problem = crocoddyl.ShootingProblem(np.zeros(12), [node] * 3, node)
    assert not crocoddyl.SolverDDP(problem).solve()
    assert "a mistake" in capfd.readouterr().err


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_residuals_take_a_frame_its_body_or_its_name(base: str) -> None:
    tree = mbt.load_model(model_path("mbt_arm"), base=base)
    state = mcrocoddyl.make_state(tree)
    body = tree.bodies[-1]
    x = np.concatenate([tree.random_positions(np.random.default_rng(7)), np.zeros(tree.num_velocities)])
    X_WF = mbt.functional.frame_pose(tree, x[: tree.num_positions], body.body_frame)
    for place in (body.body_frame, body, body.name):
        residual = mcrocoddyl.ResidualModelFrameTranslation(state, place, np.ones(3))
        data = residual.createData(crocoddyl.DataCollectorAbstract())
        residual.calc(data, x)
        np.testing.assert_array_equal(data.r, X_WF[:3, 3] - 1.0)
        residual = mcrocoddyl.ResidualModelFramePose(state, place, X_WF)
        data = residual.createData(crocoddyl.DataCollectorAbstract())
        residual.calc(data, x)
        np.testing.assert_allclose(data.r, np.zeros(6), atol=1e-12)


def test_errors_name_the_argument() -> None:
    tree = mbt.load_model(model_path("mbt_arm"))
    state = mcrocoddyl.make_state(tree)
    make = mcrocoddyl.DifferentialActionModelTree
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree of doubles, got 'arm'"):
        mcrocoddyl.make_state("arm")
    with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree of doubles"):
        make(tree.to_autodiff(), make_costs(state, 6))
    with pytest.raises(mbt.ArgumentTypeError, match=r"costs: expected a crocoddyl.CostModelSum, got list"):
        make(tree, [])
    with pytest.raises(mbt.ArgumentValueError, match="costs: expected nu to be 6, got 5"):
        make(tree, make_costs(state, 5))
    with pytest.raises(mbt.ArgumentValueError, match="costs: expected nx of its state to be 12, got 6"):
        make(tree, make_costs(crocoddyl.StateVector(6), 6))
    with pytest.raises(mbt.ShapeError, match="actuation"):
        make(tree, make_costs(state, 6), actuation=np.eye(5))
    with pytest.raises(mbt.ArgumentTypeError, match="frame: expected a Frame"):
        mcrocoddyl.ResidualModelFramePose(state, tree.joints[0], np.eye(4))
    with pytest.raises(mbt.MbtError, match=r"frame: .*'nowhere'"):
        mcrocoddyl.ResidualModelFramePose(state, "nowhere", np.eye(4))
    with pytest.raises(mbt.ArgumentTypeError, match=r"frame: .* Pass the state that make_state\(tree\)"):
        mcrocoddyl.ResidualModelFramePose(crocoddyl.StateVector(12), tree.frames[1].name, np.eye(4))
    with pytest.raises(mbt.ArgumentValueError, match="state: expected one for the tree of the frame"):
        mcrocoddyl.ResidualModelFramePose(crocoddyl.StateVector(6), tree.frames[1], np.eye(4))
    with pytest.raises(mbt.ArgumentValueError, match="X_WR"):
        mcrocoddyl.ResidualModelFramePose(state, tree.frames[1], np.ones((4, 4)))
    with pytest.raises(mbt.ShapeError, match="p_WR"):
        mcrocoddyl.ResidualModelFrameTranslation(state, tree.frames[1], np.ones(4))
    model = make(tree, make_costs(state, 6))
    data = model.createData()
    for x, u, error, message in (
        (np.zeros(5), np.zeros(6), mbt.ShapeError, "x: "),
        (np.zeros(12), np.zeros(5), mbt.ShapeError, "u: "),
        ("fast", np.zeros(6), mbt.ArgumentTypeError, "x: "),
    ):
        with pytest.raises(error, match=message):
            model.calc(data, x, u)
        with pytest.raises(error, match=message):
            model.calcDiff(data, x, u)


def test_lives() -> None:
    """Models, problems and solvers keep the tree alive, and release it."""
    tree = TREES["floating arm"]()
    state = mcrocoddyl.make_state(tree)
    model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 12))
    node = crocoddyl.IntegratedActionModelEuler(model, 0.01)
    problem = crocoddyl.ShootingProblem(state.zero(), [node] * 3, node)
    alive = weakref.ref(tree)
    del tree, state, model, node
    gc.collect()
    assert alive() is not None
    assert np.isfinite(problem.calc([problem.x0] * 4, [np.zeros(12)] * 3))
    del problem
    gc.collect()
    assert alive() is None


@pytest.mark.exhaustive
def test_memory_stays_over_many_calls() -> None:
    tree = TREES["floating arm"]()
    state = mcrocoddyl.make_state(tree)
    residual = mcrocoddyl.ResidualModelFramePose(state, tree.bodies[-1].body_frame, np.eye(4))
    model = mcrocoddyl.DifferentialActionModelTree(tree, make_costs(state, 12, residual))
    node = crocoddyl.IntegratedActionModelEuler(model, 0.01)
    problem = crocoddyl.ShootingProblem(state.zero(), [node] * 100, node)
    x, u = random_point(tree)
    used = []
    for _ in range(2):
        for _ in range(500):
            problem.calc([x] * 101, [u] * 100)
            problem.calcDiff([x] * 101, [u] * 100)
        used.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert used[1] - used[0] < 1024  # KiB
