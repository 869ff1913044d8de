"""Whole ticks of controllers: compiled in one call, in NumPy with mbt, and in NumPy with Pinocchio.

    python benchmarks/ticks.py [--batch 4096] [--rounds 15]

An arm with seven hinges, whose controllers are computed torque, operational space, and a damped step of
inverse kinematics; and a humanoid on a floating base, for which a whole-body controller reads the mass
matrix, bias, gravity, and Jacobian, bias acceleration and pose of each hand and foot. For both, the backward
pass of iLQR and the predictions of two Kalman filters, also with MuJoCo (`prediction.py`). All contenders
take turns, round by round, in one process on one thread; a figure is the minimum of all rounds. The results
are asserted to agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt.math import exp_se3, inverse_pose, log_se3, log_so3
from models import humanoid, seven_joint_arm
from prediction import prediction_ticks

try:
    import pinocchio as pin
except ImportError:
    pin = None

F = functional
Contenders = dict[str, Callable[[], Any]]

#: Stiffness and damping for joints, and for the tool, rotation first.
K, D = 100.0, 20.0
KX, DX = np.array([50.0] * 3 + [400.0] * 3), np.array([10.0] * 3 + [40.0] * 3)
#: Keeps matrices of the tool regular.
REGULAR = 1e-6 * np.eye(6)


def arm_ticks(batch: int) -> dict[str, Contenders]:
    """Return the controllers of an arm, and two of them for a batch."""
    tree = mbt.load_model(seven_joint_arm().urdf)
    tool = tree.bodies[-1].body_frame
    rng = np.random.default_rng(0)
    q, v, q_wanted = rng.normal(size=(3, 7))
    goal = exp_se3(rng.normal(size=6))

    def computed_torque(q: Any, v: Any, q_wanted: Any) -> Any:
        return F.inverse_dynamics(tree, q, v, K * (q_wanted - q) - D * v)

    def inverse_kinematics(q: Any, goal: Any) -> Any:
        J = F.frame_jacobian(tree, q, tool, expressed_in=tool)
        e = log_se3(inverse_pose(F.frame_pose(tree, q, tool)) @ goal)
        JT = np.swapaxes(J, -1, -2)
        return q + (JT @ np.linalg.solve(J @ JT + REGULAR, e[..., None]))[..., 0]

    def operational_space(q: Any, v: Any, goal: Any) -> Any:
        X, J = F.frame_pose(tree, q, tool), F.frame_jacobian(tree, q, tool)
        Jdot_v = F.frame_jacobian_rate(tree, q, v, tool) @ v
        M, h, g = F.mass_matrix(tree, q), F.bias_term(tree, q, v), F.gravity_generalized_forces(tree, q)
        R = X[:3, :3]
        e = np.concatenate([R @ log_so3(R.T @ goal[:3, :3]), goal[:3, 3] - X[:3, 3]])
        M_inverse_JT = np.linalg.solve(M, J.T)
        inertia = np.linalg.inv(J @ M_inverse_JT + REGULAR)
        force = inertia @ (KX * e - DX * (J @ v) - Jdot_v)
        posture = K * (q_wanted - q) - D * v
        return J.T @ force + h - g + posture - J.T @ (inertia @ (M_inverse_JT.T @ posture))

    arguments: dict[str, Any] = {"q": 7, "v": 7, "q_wanted": 7, "goal": (4, 4)}

    def compiled(function: Callable[..., Any], *names: str) -> Any:
        return mbt.compile(tree, function, arguments={name: arguments[name] for name in names})

    torque = compiled(computed_torque, "q", "v", "q_wanted")
    step = compiled(inverse_kinematics, "q", "goal")
    space = compiled(operational_space, "q", "v", "goal")
    ticks: dict[str, Contenders] = {
        "computed torque": {
            "compiled": lambda: torque(q, v, q_wanted),
            "mbt": lambda: computed_torque(q, v, q_wanted),
        },
        "inverse kinematics": {"compiled": lambda: step(q, goal), "mbt": lambda: inverse_kinematics(q, goal)},
        "operational space": {
            "compiled": lambda: space(q, v, goal),
            "mbt": lambda: operational_space(q, v, goal),
        },
    }
    if pin is not None:
        add_pinocchio(ticks, q, v, q_wanted, goal)
    Q, V = rng.normal(size=(2, batch, 7))
    ticks[f"inverse kinematics, batch of {batch}"] = {
        "compiled": lambda: step(Q, goal),
        "mbt": lambda: inverse_kinematics(Q, goal),
    }
    ticks[f"operational space, batch of {batch}"] = {"compiled": lambda: space(Q, V, goal)}
    return ticks


def add_pinocchio(ticks: dict[str, Contenders], q: Any, v: Any, q_wanted: Any, goal: Any) -> None:
    """Add the controllers written with NumPy and Pinocchio."""
    model = pin.buildModelFromXML(seven_joint_arm().urdf)
    data, tool = model.createData(), model.njoints - 1
    X_WG, identity = pin.SE3(goal), np.eye(7)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    # Pinocchio's order has the translation first.
    stiffness, damping = np.roll(KX, 3), np.roll(DX, 3)

    def inverse_kinematics() -> Any:
        pin.computeJointJacobians(model, data, q)  # also computes poses, unlike computeJointJacobian
        J = pin.getJointJacobian(model, data, tool, pin.ReferenceFrame.LOCAL)
        e = pin.log6(data.oMi[tool].actInv(X_WG)).vector
        return q + J.T @ np.linalg.solve(J @ J.T + REGULAR, e)

    def operational_space() -> Any:
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        J = pin.getJointJacobian(model, data, tool, axes)
        Jdot = pin.getJointJacobianTimeVariation(model, data, tool, axes)
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        h = pin.nonLinearEffects(model, data, q, v)
        X = data.oMi[tool]
        e = np.concatenate([goal[:3, 3] - X.translation, X.rotation @ pin.log3(X.rotation.T @ goal[:3, :3])])
        M_inverse_JT = np.linalg.solve(M, J.T)
        inertia = np.linalg.inv(J @ M_inverse_JT + REGULAR)
        force = inertia @ (stiffness * e - damping * (J @ v) - Jdot @ v)
        posture = K * (q_wanted - q) - D * v
        return J.T @ force + h + (identity - J.T @ inertia @ M_inverse_JT.T) @ posture

    ticks["computed torque"]["pin"] = lambda: pin.rnea(model, data, q, v, K * (q_wanted - q) - D * v)
    ticks["inverse kinematics"]["pin"] = inverse_kinematics
    ticks["operational space"]["pin"] = operational_space


def humanoid_tick() -> dict[str, Contenders]:
    """Return the quantities that a whole-body controller reads."""
    tree = mbt.load_model(humanoid().urdf, base="floating")
    parents = {joint.parent_body for joint in tree.joints}
    ends = [body.body_frame for body in tree.bodies[1:] if body not in parents]
    rng = np.random.default_rng(0)
    q, v = tree.random_positions(rng), rng.normal(size=tree.num_velocities)

    def quantities(q: Any, v: Any) -> dict[str, Any]:
        found = {
            "M": F.mass_matrix(tree, q),
            "h": F.bias_term(tree, q, v),
            "g": F.gravity_generalized_forces(tree, q),
        }
        for i, end in enumerate(ends):
            found[f"J{i}"] = F.frame_jacobian(tree, q, end)
            found[f"a{i}"] = F.frame_bias_acceleration(tree, q, v, end)
            found[f"X{i}"] = F.frame_pose(tree, q, end)
        return found

    context, world, origin = tree.create_default_context(), tree.world_frame, np.zeros(3)

    def with_a_context() -> dict[str, Any]:
        context.q, context.v = q, v
        found = {
            "M": tree.calc_mass_matrix(context),
            "h": tree.calc_bias_term(context),
            "g": tree.calc_gravity_generalized_forces(context),
        }
        for i, end in enumerate(ends):
            point = context, "v", end, origin, world, world
            found[f"J{i}"] = tree.calc_jacobian_spatial_velocity(*point)
            found[f"a{i}"] = tree.calc_bias_spatial_acceleration(*point)
            found[f"X{i}"] = tree.calc_relative_transform(context, world, end)
        return found

    tick = mbt.compile(tree, quantities, arguments={"q": tree.num_positions, "v": tree.num_velocities})
    out = tick(q, v)
    return {
        "whole body": {
            "compiled": lambda: tick(q, v, out=out),
            "mbt": lambda: quantities(q, v),
            "mbt, a Context": with_a_context,
        }
    }


def check(calls: Contenders) -> None:
    """Assert that all contenders compute the same results."""
    results = [call() for call in calls.values()]
    for result in results[1:]:
        for name in results[0] if isinstance(results[0], dict) else [...]:
            a, b = results[0][name], result[name]
            # Some states of a batch are nearly singular, where rounding errors are amplified.
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-4 * np.abs(b).max())


def measure(calls: Contenders, rounds: int) -> dict[str, float]:
    """Return the minimum CPU time of each [s], which other programs disturb less than wall-clock time."""
    numbers = {}
    for name, call in calls.items():
        start = time.thread_time()
        call()
        numbers[name] = max(1, int(0.005 / (time.thread_time() - start)))
    least = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(numbers[name]):
                call()
            least[name] = min(least[name], (time.thread_time() - start) / numbers[name])
    return least


def main() -> None:
    """Print a line for each tick."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    ticks = arm_ticks(arguments.batch) | humanoid_tick()
    for model in (seven_joint_arm(), humanoid()):
        ticks |= prediction_ticks(model)
    print(f"{'us':38} {'first':>18}   others, and how many times as long they take")
    for tick, calls in ticks.items():
        check(calls)
        times = measure(calls, arguments.rounds)
        name = next(iter(times))
        first = times.pop(name)
        others = ", ".join(
            f"{other} {1e6 * seconds:.1f} ({seconds / first:.1f}x)" for other, seconds in times.items()
        )
        print(f"{tick:38} {name:>8} {1e6 * first:9.2f}   {others}", flush=True)


if __name__ == "__main__":
    main()
