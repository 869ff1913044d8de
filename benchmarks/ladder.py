"""Forward dynamics of stacked four-bar linkages, each on the coupler of the last, beside Pinocchio's `lcaba`.

    python benchmarks/ladder.py [--counts 1 2 4 8 32 128] [--rounds 40]

Printed, from interleaved rounds: the minimum time of a call per linkage, the ratio, the residual of the
constraint equations, the difference of the accelerations, and the time of mbt's derivatives. `lcaba`
eliminates constraints where their loops close, after `computeJointMinimalOrdering`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pinocchio as pin

import mbt
from constraints import Call, measure
from mbt import functional
from models import Array

CRANK, COUPLER = 0.3, 0.5


def link(name: str, length: float) -> str:
    """Return a rod with a mass of 1 kg per metre."""
    moment = length**3 / 12 + 1e-3
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0.01 0.02"/><mass value="{length}"/>'
        f'<inertia ixx="1e-3" iyy="{moment}" izz="{moment}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def hinge(name: str, parent: str, child: str, start: float) -> str:
    """Return a hinge about y."""
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{start} 0 0"/><axis xyz="0 1 0"/>'
        '<limit lower="-9" upper="9" effort="9" velocity="9"/></joint>'
    )


def prepare(count: int) -> tuple[mbt.MultibodyTree, Array, tuple[Call, Call], Array]:
    """Return a ladder, its positions, the calls of both, and the index in Pinocchio of each velocity."""
    text, base = '<robot name="ladder"><link name="base"/>', "base"
    for i in range(count):
        text += link(f"a{i}", CRANK) + hinge(f"crank{i}", base, f"a{i}", 0.0)
        text += link(f"b{i}", COUPLER) + hinge(f"knee{i}", f"a{i}", f"b{i}", CRANK)
        text += link(f"c{i}", CRANK) + hinge(f"rocker{i}", base, f"c{i}", COUPLER)
        base = f"b{i}"
    text += "</robot>"
    tree = mbt.load_model(text).edit()
    model = pin.buildModelFromXML(text)
    model.gravity.linear = np.array([0, 0, -9.81])
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for i in range(count):
        ends = []
        for name, length in ((f"b{i}", COUPLER), (f"c{i}", CRANK)):
            X_BF = mbt.math.make_pose([length, 0, 0])
            ends.append(
                tree.add_frame(mbt.FixedOffsetFrame(f"end of {name}", tree.get_body_by_name(name), X_BF))
            )
        tree.add_constraint(mbt.BallConstraint(f"ball{i}", *ends))
        placements = [
            (model.getJointId(f"{name}{i}"), pin.SE3(np.eye(3), np.array([length, 0, 0])))
            for name, length in (("knee", COUPLER), ("rocker", CRANK))
        ]
        constraints.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, *placements[0], *placements[1], pin.ReferenceFrame.LOCAL
            )
        )
        datas.append(constraints[-1].createData())
    tree.finalize()
    hinges = [joint for joint in tree.joints if joint.num_velocities]
    order = np.array([model.joints[model.getJointId(joint.name)].idx_v for joint in hinges])
    q, peer_q = np.zeros(tree.num_positions), np.zeros(model.nq)
    for joint in hinges:
        name, i = joint.name.rstrip("0123456789"), int(joint.name.lstrip("abcdefghijklmnopqrstuvwxyz"))
        angle = -1.0 if i % 2 == 0 else -1.3
        q[joint.position_start] = -angle if name == "knee" else angle
    peer_q[order] = q
    v = tau = np.zeros(tree.num_velocities)
    data = model.createData()
    pin.computeJointMinimalOrdering(model, data, constraints)
    settings: Any = pin.ProximalSettings(1e-9, 1e-6, 20)
    calls = (
        lambda: functional.forward_dynamics(tree, q, v, tau),
        lambda: pin.lcaba(model, data, peer_q, v, tau, constraints, datas, settings),
    )
    return tree, q, calls, order


def derivatives_of(tree: mbt.MultibodyTree, q: Array) -> Call:
    """Return the call that computes the derivatives, at rest."""
    v = np.zeros(tree.num_velocities)
    return lambda: functional.forward_dynamics_derivatives(tree, q, v, v)


def main() -> None:
    """Print a line for each count."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2, 4, 8, 32, 128])
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    for count in arguments.counts:
        tree, q, calls, order = prepare(count)
        own, peer = calls[0](), calls[1]()[order]
        v = np.zeros(tree.num_velocities)
        left = functional.constraint_jacobian(tree, q) @ own + functional.constraint_bias(tree, q, v)
        (mine, _), (theirs, _) = measure(list(calls), arguments.rounds)
        ((derivatives, _),) = measure([derivatives_of(tree, q)], arguments.rounds)
        print(
            f"{count}: mbt {mine / count:.2f} us for each, lcaba {theirs / count:.2f}, "
            f"{mine / theirs:.2f} of it; left {abs(left).max():.1e}, "
            f"difference {abs(own - peer).max() / abs(own).max():.1e}; "
            f"derivatives {derivatives / count:.2f} us"
        )


if __name__ == "__main__":
    main()
