"""``mbt demo``: common computations, shown with the arm that comes with mbt."""

from __future__ import annotations

import json
import math
import sys
import timeit
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from mbt import functional
from mbt.cli.braille import draw_lines
from mbt.cli.info import describe_bodies
from mbt.cli.terminal import can_write, fixed, make_bar, make_table, number, paint
from mbt.errors import SimulationWarning
from mbt.models import model_path
from mbt.motion.simulation import simulate
from mbt.parsing import load_model
from mbt.tree.joint import Joint
from mbt.tree.pictures.stick_figure import calc_stick_figure

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["run_demo", "run_demo_as_json"]

# Characters of a picture, to test whether the terminal can show them.
_DOTS = "⣿⠁"
_CLOSING = """To see it move in the browser: pip install 'multibodytree[viz]' and

  python -m mbt view "$(python -c "import mbt; print(mbt.models.model_path('mbt_arm'))")"

The same with your own robot: tree = mbt.load_model('robot.urdf'), and on the command line
python -m mbt check robot.urdf, python -m mbt view robot.urdf, python -m mbt bench robot.urdf
"""
_POSE = (0.5, 0.7, 0.9, 0.3, -0.6, 0.2)


def run_demo() -> str:
    """Return the whole demonstration as a text for a terminal."""
    tree = load_model(model_path("mbt_arm"))
    q = np.array(_POSE)
    sections = [
        ("The arm that comes with mbt: six axes, 18 kg, one metre of reach", describe_bodies(tree)),
        ("Where the links are, at q = [" + ", ".join(map(str, _POSE)) + "] rad", _show_poses(tree, q)),
        ("Mass matrix [kg m²], with the rotors behind their gears", _show_mass_matrix(tree, q)),
        ("Torques that hold the arm there", _show_holding_torques(tree, q)),
        ("Motors off: the first second of the fall (Runge-Kutta 4, steps of 1 ms)", _show_fall(tree, q)),
        ("Time of one call, the best of many", _show_times(tree, q)),
    ]
    if can_write(_DOTS, sys.stdout):
        sections.append(("The arm there, after a quarter and after half of a second", _draw_fall(tree, q)))
    text = "\n\n".join("\n".join([paint(title, "bold", sys.stdout), *lines]) for title, lines in sections)
    return f"{text}\n\n{_CLOSING}"


def run_demo_as_json() -> str:
    """Return the figures of the demonstration for programs. The keys are in ``docs/command_line.md``."""
    tree = load_model(model_path("mbt_arm"))
    q = np.array(_POSE)
    at_rest = np.zeros(tree.num_velocities)
    fall = _simulate_fall(tree, q)
    value = {
        "model": "mbt_arm",
        "q": q.tolist(),
        "mass_matrix": functional.mass_matrix(tree, q).tolist(),
        "holding_torques": functional.inverse_dynamics(tree, q, at_rest, at_rest).tolist(),
        "fall": {
            "q": fall.q[-1].tolist(),
            "kinetic_energy": float(fall.energy.kinetic[-1]),
            "potential_energy": float(fall.energy.potential[-1]),
            "energy_drift": float(abs(fall.energy_drift).max()),
        },
        "seconds_per_call": {name.replace(" ", "_"): seconds for name, seconds in _measure(tree, q)},
    }
    return json.dumps(value, indent=2, allow_nan=False) + "\n"


def _draw_fall(tree: MultibodyTree, q: FloatArray) -> list[str]:
    """Draw the falling arm side by side, viewed perpendicular to the plane in which it moves."""
    fall = _simulate_fall(tree, q)
    yaw = float(q[0])
    across = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    pictures = []
    for k, i in enumerate((0, 250, 500)):
        bones = calc_stick_figure(tree, fall.q[i]).bones
        pictures.append(np.stack([bones @ across + 1.3 * k, bones[..., 2]], axis=-1))
    # The floor, a line below all arms.
    ground = np.array([[[-0.5, 0.0], [1.3 * len(pictures) - 0.5, 0.0]]])
    return ["  " + line for line in draw_lines(np.concatenate([*pictures, ground]), 76, 16)]


def _simulate_fall(tree: MultibodyTree, q: FloatArray) -> Trajectory:
    context = tree.create_default_context()
    context.q = q
    with warnings.catch_warnings():
        # The fall is about energy: no warning that the shoulder passes its limit after the last picture.
        warnings.simplefilter("ignore", SimulationWarning)
        return simulate(tree, context, 1.0, 1e-3, method="rk4")


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
    fall = _simulate_fall(tree, q)
    energy, lost = fall.energy, -fall.work
    rows = []
    for i in range(0, len(fall), 250):
        columns = (energy.kinetic, energy.potential, lost, energy.total + lost)
        rows.append((f"{fall.time[i]:.2f}", *(fixed(column[i], 4) for column in columns)))
    headers = ("t [s]", "kinetic [J]", "potential [J]", "lost to damping [J]", "sum [J]")
    drift, moved = abs(fall.energy_drift).max(), (energy.kinetic + lost).max()
    return [
        *make_table(headers, rows),
        f"  The sum has drifted by {drift:.1e} J: {drift / moved:.0e} of the energy that changed its form.",
    ]


def _show_times(tree: MultibodyTree, q: FloatArray) -> list[str]:
    rows = [
        (name, f"{seconds * 1e9:.0f} ns", f"{1e-6 / seconds:.2f} million a second")
        for name, seconds in _measure(tree, q)
    ]
    return make_table(("", "", ""), rows, left=(0,))[1:]


def _measure(tree: MultibodyTree, q: FloatArray) -> list[tuple[str, float]]:
    """Return the shortest time of some calls [s]."""
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
    return [(name, _time(call)) for name, call in calls]


def _time(call: Callable[[], object]) -> float:
    """Return the shortest time of one call [s]: disturbances only ever lengthen a measurement."""
    timer = timeit.Timer(call)
    number_of_calls = 200
    repeats = timer.repeat(repeat=40, number=number_of_calls)
    return min(repeats) / number_of_calls


def _moving_joints(tree: MultibodyTree) -> list[Joint]:
    """Return the joints that have velocities, in the order of the velocities."""
    moving = [joint for joint in tree.joints if joint.num_velocities]
    return sorted(moving, key=lambda joint: joint.velocity_start)
