"""``mbt demo``: what one can ask a tree, shown with the arm that comes with mbt."""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from mbt import functional
from mbt.cli.info import describe_bodies
from mbt.cli.terminal import fixed, make_bar, make_table, number
from mbt.models import model_path
from mbt.parsing import load_model
from mbt.tree.joint import Joint

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_demo"]

_POSE = (0.5, 0.7, 0.9, 0.3, -0.6, 0.2)


def run_demo() -> str:
    """Return the whole demonstration as a text for a terminal."""
    tree = load_model(model_path("mbt_arm"))
    q = np.array(_POSE)
    sections = (
        ("The arm that comes with mbt: six axes, 18 kg, one metre of reach", describe_bodies(tree)),
        ("Where the links are, at q = [" + ", ".join(map(str, _POSE)) + "] rad", _show_poses(tree, q)),
        ("Mass matrix [kg m²], with the rotors behind their gears", _show_mass_matrix(tree, q)),
        ("Torques that hold the arm there", _show_holding_torques(tree, q)),
        ("Motors off: the first second of the fall (Runge-Kutta 4, steps of 1 ms)", _show_fall(tree, q)),
        ("Time of one call, the best of many", _show_times(tree, q)),
    )
    text = "\n\n".join("\n".join([title, *lines]) for title, lines in sections)
    return f"{text}\n\nThe same with a robot of yours: tree = mbt.load_model('robot.urdf')\n"


def _show_poses(tree: MultibodyTree, q: FloatArray) -> list[str]:
    X_WB = functional.body_poses(tree, q)
    rows = []
    for body in tree.bodies[1:]:
        X = X_WB[body.node_index]
        tilt = math.degrees(math.acos(min(1.0, max(-1.0, X[2, 2]))))
        rows.append((body.name, *(fixed(x, 3) for x in X[:3, 3]), f"{tilt:.1f}"))
    return make_table(("link", "x [m]", "y [m]", "z [m]", "tilt [deg]"), rows, left=(0,))


def _show_mass_matrix(tree: MultibodyTree, q: FloatArray) -> list[str]:
    M = functional.mass_matrix(tree, q)
    names = _moving_joints(tree)
    rows = [(joint.name, *(fixed(entry, 4) for entry in M[k])) for k, joint in enumerate(names)]
    return make_table(("", *(joint.name for joint in names)), rows, left=(0,))


def _show_holding_torques(tree: MultibodyTree, q: FloatArray) -> list[str]:
    at_rest = np.zeros(tree.num_velocities)
    tau = functional.inverse_dynamics(tree, q, at_rest, at_rest)
    rows = []
    for motor in tree.joint_actuators:
        torque = float(tau[motor.joint.velocity_start])
        share = abs(torque) / motor.effort_limit
        rows.append(
            (
                motor.joint.name,
                fixed(torque, 2),
                number(motor.effort_limit),
                f"{make_bar(share)} {share:.0%}",
            )
        )
    return make_table(("joint", "torque [N m]", "limit", "used"), rows, left=(0, 3))


def _show_fall(tree: MultibodyTree, q: FloatArray) -> list[str]:
    rows = []
    start = moved = total = 0.0
    for time, kinetic, potential, lost in simulate_fall(tree, q, duration=1.0, step=1e-3, num_samples=5):
        total = kinetic + potential + lost
        start = total if time == 0.0 else start
        moved = max(moved, kinetic + lost)
        rows.append((f"{time:.2f}", *(fixed(energy, 4) for energy in (kinetic, potential, lost, total))))
    headers = ("t [s]", "kinetic [J]", "potential [J]", "lost to damping [J]", "sum [J]")
    drift = abs(total - start)
    return [
        *make_table(headers, rows),
        f"  The sum has drifted by {drift:.1e} J: {drift / moved:.0e} of the energy that changed its form.",
    ]


def simulate_fall(
    tree: MultibodyTree, q: FloatArray, *, duration: float, step: float, num_samples: int
) -> Iterator[tuple[float, float, float, float]]:
    """Let a tree of joints with one degree of freedom fall from rest.

    Yields
    ------
    time, kinetic, potential, lost : float
        Time [s], the two energies, and the work that damping has taken away so far [J].
    """
    damping = np.concatenate([joint.default_damping_vector for joint in _moving_joints(tree)])
    context = tree.create_default_context()
    n = tree.num_velocities

    def rates(y: FloatArray) -> FloatArray:
        # y = [q, v, work of damping]; such joints have qdot = v.
        v = y[n : 2 * n]
        context.q, context.v = y[:n], v
        return np.concatenate([v, tree.calc_forward_dynamics(context), [v @ (damping * v)]])

    y = np.concatenate([q, np.zeros(n + 1)])
    num_steps = round(duration / step)
    for i in range(num_steps + 1):
        if i * (num_samples - 1) % num_steps == 0:
            context.q, context.v = y[:n], y[n : 2 * n]
            yield i * step, tree.calc_kinetic_energy(context), tree.calc_potential_energy(context), y[2 * n]
        k1 = rates(y)
        k2 = rates(y + 0.5 * step * k1)
        k3 = rates(y + 0.5 * step * k2)
        k4 = rates(y + step * k3)
        y = y + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def _show_times(tree: MultibodyTree, q: FloatArray) -> list[str]:
    v, vdot, tau = np.full((3, tree.num_velocities), 0.1)
    nv = tree.num_velocities
    M, poses, forces, rates = (
        np.empty((nv, nv)),
        np.empty((tree.num_bodies, 4, 4)),
        np.empty(nv),
        np.empty(nv),
    )
    calls: tuple[tuple[str, Callable[[], object]], ...] = (
        ("all body poses", lambda: functional.body_poses(tree, q, out=poses)),
        ("inverse dynamics", lambda: functional.inverse_dynamics(tree, q, v, vdot, out=forces)),
        ("mass matrix", lambda: functional.mass_matrix(tree, q, out=M)),
        ("forward dynamics", lambda: functional.forward_dynamics(tree, q, v, tau, out=rates)),
    )
    rows = []
    for name, call in calls:
        seconds = _time(call)
        rows.append((name, f"{seconds * 1e9:.0f} ns", f"{1e-6 / seconds:.2f} million a second"))
    return make_table(("", "", ""), rows, left=(0,))[1:]


def _time(call: Callable[[], object]) -> float:
    """Return the shortest time of one call [s]: what disturbs a measurement only ever adds to it."""
    timer = timeit.Timer(call)
    number_of_calls = 200
    repeats = timer.repeat(repeat=40, number=number_of_calls)
    return min(repeats) / number_of_calls


def _moving_joints(tree: MultibodyTree) -> list[Joint]:
    """Return the joints that have velocities, in the order of these."""
    moving = [joint for joint in tree.joints if joint.num_velocities]
    return sorted(moving, key=lambda joint: joint.velocity_start)
