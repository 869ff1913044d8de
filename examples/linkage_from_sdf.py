"""A four-bar linkage, read from SDF, whose last joint closes the loop: a motor turns the crank.

    python examples/linkage_from_sdf.py [--seconds 2]

In the file the crank is upright. The program assembles the linkage with the crank hanging, lets the motor
turn it, and prints how far the rocker swings, how well the loop stays closed, and the force on its pin.
"""

from __future__ import annotations

import argparse
from math import atan2, hypot

import numpy as np

import mbt

# The pins at the ends of crank, coupler and rocker [m].
A, B, C, D = (0.0, 0.0), (0.0, 0.3), (1.0, 0.7), (1.0, 0.0)
TORQUE, DRAG = 6.0, 0.5  # of the motor [N m], and of its load [N m s/rad]


def bar(name: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a link of 1 kg/m from one pin to another."""
    x, y = end[0] - start[0], end[1] - start[1]
    length = hypot(x, y)
    return f"""<link name="{name}"><pose>{start[0]} {start[1]} 0 0 0 {atan2(y, x)}</pose>
      <inertial><pose>{length / 2} 0 0 0 0 0</pose><mass>{length}</mass><inertia>
      <ixx>1e-4</ixx><iyy>{length**3 / 12}</iyy><izz>{length**3 / 12}</izz></inertia></inertial></link>"""


def pin(name: str, parent: str, child: str, at: float = 0.0, damping: float = 0.0) -> str:
    """Return a joint on the child, at a distance [m] from its start."""
    return f"""<joint name="{name}" type="revolute"><pose>{at} 0 0 0 0 0</pose>
      <parent>{parent}</parent><child>{child}</child><axis><xyz>0 0 1</xyz>
      <dynamics><damping>{damping}</damping></dynamics></axis></joint>"""


LINKAGE = f"""<sdf version="1.9"><model name="four_bar">
    {bar("crank", A, B)} {bar("coupler", B, C)} {bar("rocker", D, C)}
    {pin("drive", "world", "crank", damping=DRAG)} {pin("knee", "crank", "coupler")}
    {pin("swing", "world", "rocker")} {pin("closure", "coupler", "rocker", at=C[1] - D[1])}
  </model></sdf>"""


def main() -> None:
    """Simulate, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()

    tree = mbt.load_model(LINKAGE, gravity=(0.0, -9.81, 0.0))
    context = tree.create_default_context()
    tree.get_joint_by_name("drive").set_angle(context, -np.pi / 2.0)
    tree.assemble(context, fixed=["drive"])
    print(tree.calc_constraint_report(context))

    context.actuation = [TORQUE, 0.0, 0.0]
    trajectory = mbt.simulate(tree, context, options.seconds, method="rk4")
    drive, swing = (tree.get_joint_by_name(name).position_start for name in ("drive", "swing"))
    turns = (trajectory.q[-1, drive] - trajectory.q[0, drive]) / (2.0 * np.pi)
    print(f"\nthe crank makes {turns:.2f} turns, the rocker swings {np.ptp(trajectory.q[:, swing]):.2f} rad")
    errors = mbt.functional.constraint_errors(tree, trajectory.q)
    print(f"the loop stays closed to {np.abs(errors).max():.0e} m")

    states = tree.create_default_context(batch_shape=trajectory.time.shape)
    states.q, states.v, states.actuation = trajectory.q, trajectory.v, context.actuation
    _, multipliers = tree.calc_constrained_forward_dynamics(states)
    force = np.linalg.norm(multipliers[:, :3], axis=-1)
    print(f"its pin bears up to {force.max():.0f} N")


if __name__ == "__main__":
    main()
