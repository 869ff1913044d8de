"""Forward dynamics of one state with constraints, and its derivatives, beside Pinocchio's.

    python benchmarks/constraints.py [--urdf FILE] [--held LINK ...] [--rounds 200]

The models are a four-bar linkage, closed by a ball, and a free humanoid (the one of the benchmarks, or one
from a file) held by its first two links, its feet, with 12 equations, and by all its links, hands included,
with 24. Printed, from interleaved rounds: the minimum and median time of a call, their ratios, the difference
of the accelerations, and how much forces change them. Of Pinocchio's two algorithms for accelerations,
`lcaba` is the second, after `computeJointMinimalOrdering`. Derivatives are those of accelerations and
multipliers with respect to q, v and tau; those of Pinocchio need a call of forward dynamics first, which both
times include.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

import mbt
from mbt import functional
from models import Array, BenchmarkModel, make_model, read_lumped, with_free_root

BARS = (0.3, 0.8, 0.5)
POST = 0.7
CALLS = 100

Call = Callable[[], Any]


class Calls(NamedTuple):
    """The calls to compare, and the index in Pinocchio of each velocity of the tree."""

    forward: tuple[Call, Call, Call]
    derivatives: tuple[Call, Call]
    order: Array


def four_bar_urdf() -> str:
    """Return three bars in a row, which rotate about y."""
    text = '<robot name="four_bar"><link name="base"/>'
    for i, length in enumerate(BARS):
        parent, start = (f"bar{i - 1}", BARS[i - 1]) if i else ("base", 0.0)
        moment = length**2 / 12
        text += (
            f'<link name="bar{i}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="1"/>'
            f'<inertia ixx="1e-3" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="pin{i}" type="revolute"><parent link="{parent}"/><child link="bar{i}"/>'
            f'<origin xyz="{start} 0 0"/><axis xyz="0 1 0"/>'
            '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
        )
    return text + "</robot>"


def prepare_four_bar() -> Calls:
    """Return the calls of both."""
    text = four_bar_urdf()
    tree = mbt.load_model(text)
    work = tree.edit()
    tip = work.add_frame(
        mbt.FixedOffsetFrame("tip", work.get_body_by_name("bar2"), mbt.math.make_pose([BARS[2], 0, 0]))
    )
    post = work.add_frame(
        mbt.FixedOffsetFrame("post", work.get_body_by_name("base"), mbt.math.make_pose([POST, 0, 0]))
    )
    work.add_constraint(mbt.BallConstraint("closure", post, tip))
    work.finalize()
    model = pin.buildModelFromXML(text)
    closure = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D,
        model,
        3,
        pin.SE3(np.eye(3), np.array([BARS[2], 0, 0])),
        0,
        pin.SE3(np.eye(3), np.array([POST, 0, 0])),
        pin.ReferenceFrame.LOCAL,
    )
    q, v = np.array([-0.9, 0.7, 1.1]), np.zeros(3)
    return prepare(work, model, [closure], (q, v), (q, v), np.arange(3))


def prepare_humanoid(source: BenchmarkModel, links: list[str]) -> Calls:
    """Return the same for a free robot whose given links are held."""
    tree = mbt.load_model(with_free_root(source))
    work = tree.edit()
    world = work.world_body
    held = []
    context = tree.create_default_context()
    for name in links:
        body = work.get_body_by_name(name)
        X_WF = tree.calc_relative_transform(context, tree.world_frame, tree.get_body_by_name(name))
        ground = work.add_frame(mbt.FixedOffsetFrame(f"ground of {name}", world, X_WF))
        work.add_constraint(mbt.WeldConstraint(f"{name} held", ground, body))
        held.append((name, X_WF))
    work.finalize()
    model = pin.buildModelFromXML(source.urdf, pin.JointModelFreeFlyer())
    models = []
    for name, X_WF in held:
        frame = model.frames[model.getFrameId(name)]
        models.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_6D,
                model,
                frame.parentJoint,
                frame.placement,
                0,
                pin.SE3(X_WF[:3, :3], X_WF[:3, 3]),
                pin.ReferenceFrame.LOCAL,
            )
        )
    nv = work.num_velocities
    q, v = context.q.copy(), np.zeros(nv)
    order = [
        model.joints[model.getJointId(joint.name)].idx_v for joint in work.joints if joint.num_velocities == 1
    ]
    places = np.array([3, 4, 5, 0, 1, 2, *order])
    return prepare(work, model, models, (q, v), (pin.neutral(model), np.zeros(nv)), places)


def prepare(
    tree: mbt.MultibodyTree, model: Any, models: list[Any], own: Any, peer: Any, order: Array
) -> Calls:
    """Return the calls, with everything prepared that can be prepared in advance."""
    model.gravity.linear = np.array([0, 0, -9.81])
    data = model.createData()
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for constraint in models:
        constraints.append(constraint)
        datas.append(constraint.createData())
    settings = pin.ProximalSettings(1e-12, 1e-9, 10)
    twin = model.copy()
    ordered = twin.createData()
    ends = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        ends.append(constraint.createData())
    pin.computeJointMinimalOrdering(twin, ordered, constraints)
    # With a mu of less than 1e-6 its accelerations are wrong in the third digit.
    softer = pin.ProximalSettings(1e-9, 1e-6, 20)
    pin.initConstraintDynamics(model, data, constraints, datas)
    tau = np.zeros(model.nv)

    def forward() -> Array:
        return pin.constraintDynamics(model, data, *peer, tau, constraints, datas, settings)

    def sweep() -> Array:
        return pin.lcaba(twin, ordered, *peer, tau, constraints, ends, softer)

    def differentiate() -> Any:
        forward()
        return pin.computeConstraintDynamicsDerivatives(model, data, constraints, datas, settings)

    calc = functional.constrained_forward_dynamics_derivatives
    return Calls(
        (lambda: functional.forward_dynamics(tree, *own, tau), forward, sweep),
        (lambda: calc(tree, *own, tau)[2], lambda: differentiate()[2]),
        order,
    )


def measure(calls: list[Call], rounds: int) -> list[tuple[float, float]]:
    """Return the minimum and median time of each call [us], from rounds that take turns."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            own.append((time.perf_counter() - start) / CALLS * 1e6)
    return [(min(own), statistics.median(own)) for own in times]


def main() -> None:
    """Print a line for each mechanism."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--urdf", type=Path, help="a humanoid; the default is that of the benchmarks")
    parser.add_argument(
        "--held",
        nargs="+",
        default=("left_leg_5", "right_leg_5", "left_arm_6", "right_arm_6"),
        metavar="LINK",
    )
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    robot = make_model("humanoid") if arguments.urdf is None else read_lumped(arguments.urdf, floating=True)
    mechanisms = {"four-bar": prepare_four_bar()}
    for count in sorted({2, len(arguments.held)}):
        held = list(arguments.held)[:count]
        mechanisms[f"{robot.name}, held by {len(held)} links"] = prepare_humanoid(robot, held)
    for name, calls in mechanisms.items():
        own, peer, ordered = (call().copy() for call in calls.forward)
        derivatives, theirs = (call() for call in calls.derivatives)
        times = measure([*calls.forward, *calls.derivatives], arguments.rounds)
        print_line(name, "constraintDynamics", times[:2], own, peer[calls.order])
        print_line(name, "lcaba", [times[0], times[2]], own, ordered[calls.order])
        of_peer = theirs[np.ix_(calls.order, calls.order)]
        print_line(f"{name}, derivatives", "pin", times[3:], derivatives, of_peer)


def print_line(name: str, library: str, times: list[tuple[float, float]], own: Array, peer: Array) -> None:
    """Print how long both took, and how far apart their results are."""
    (mine, my_median), (theirs, their_median) = times
    difference = abs(own - peer).max() / max(1.0, abs(own).max())
    print(
        f"{name}: mbt {mine:.2f} us (median {my_median:.2f}), {library} {theirs:.2f} us (median "
        f"{their_median:.2f}), ratio {theirs / mine:.2f} (median {their_median / my_median:.2f}), "
        f"difference {difference:.1e}"
    )


if __name__ == "__main__":
    main()
