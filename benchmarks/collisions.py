"""Distances of pairs of shapes in batches, beside Pinocchio with Coal, and MuJoCo.

    python benchmarks/collisions.py [--batch 4096] [--rounds 9]

An arm of seven joints with two fingers, in the proportions of a Panda, with a capsule on each body: 28 pairs.
One thread. Contenders take turns in one process; a time is the minimum CPU time of the rounds, so that other
programs do not disturb it. Pinocchio and MuJoCo have no batches: their times include Python loops over
configurations.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable

import numpy as np

import mbt
from models import Array

RADIUS, LENGTH = 0.06, 0.2
# Origin and rotation about x of each joint of the arm, from a Panda.
JOINTS = [
    ((0, 0, 0.333), 0.0), ((0, 0, 0), -0.5), ((0, -0.316, 0), 0.5), ((0.0825, 0, 0), 0.5),
    ((-0.0825, 0.384, 0), -0.5), ((0, 0, 0), 0.5), ((0.088, 0, 0), 0.5),
]  # fmt: skip


def arm_with_fingers() -> str:
    """Return the arm as URDF text, with a capsule on each moving body."""
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    mass = f'<inertial><mass value="1"/>{inertia}</inertial>'
    parts = ['<robot name="arm"><link name="base"/>']

    def add(
        name: str, kind: str, parent: str, p: tuple[float, ...], turn: float, axis: str, low: float
    ) -> None:
        parts.append(
            f'<link name="{name}">{mass}<collision><geometry><capsule radius="{RADIUS}" length="{LENGTH}"/>'
            f'</geometry></collision></link><joint name="j_{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{name}"/><origin xyz="{p[0]} {p[1]} {p[2]}" rpy="{turn * np.pi} 0 0"/>'
            f'<axis xyz="{axis}"/>'
            f'<limit lower="{low}" upper="{-low or 0.04}" effort="100" velocity="2"/></joint>'
        )

    for i, (p, turn) in enumerate(JOINTS):
        add(f"link{i + 1}", "revolute", f"link{i}" if i else "base", p, turn, "0 0 1", -2.8)
    add("finger1", "prismatic", "link7", (0, 0, 0.165), 0.0, "0 1 0", 0.0)
    add("finger2", "prismatic", "link7", (0, 0, 0.165), 0.0, "0 -1 0", 0.0)
    return "".join([*parts, "</robot>"])


def contenders_of_mbt(scene: mbt.CollisionModel, q: Array) -> dict[str, Callable[[], object]]:
    """Return calls for the whole batch."""
    half = float(np.median(scene.nearest(q)[1]))
    memory = scene.distances(q, witness=True, jacobian=True)
    return {
        "mbt, poses of bodies alone": lambda: mbt.functional.body_poses(scene.tree, q),
        "mbt, distances": lambda: scene.distances(q),
        "mbt, distances with witness points": lambda: scene.distances(q, witness=True),
        "mbt, these and the Jacobian": lambda: scene.distances(q, witness=True, jacobian=True, out=memory),
        "mbt, the same in new memory": lambda: scene.distances(q, witness=True, jacobian=True),
        "mbt, is_free": lambda: scene.is_free(q),
        "mbt, is_free where half of them are": lambda: scene.is_free(q, margin=half),
    }


def contenders_of_pinocchio(scene: mbt.CollisionModel, q: Array) -> dict[str, Callable[[], object]]:
    """Return loops over configurations, and print how far distances are from those of mbt."""
    import coal
    import pinocchio as pin

    model = pin.buildModelFromXML(re.sub("<collision>.*?</collision>", "", arm_with_fingers()))
    data, shapes = model.createData(), pin.GeometryModel()
    index = {
        name: shapes.addGeometryObject(
            pin.GeometryObject(
                name, model.getJointId(f"j_{name}"), pin.SE3.Identity(), coal.Capsule(RADIUS, LENGTH)
            )
        )
        for name in sorted({name for pair in scene.pairs for name in pair})
    }
    for a, b in scene.pairs:
        shapes.addCollisionPair(pin.CollisionPair(index[a], index[b]))
    found = shapes.createData()
    names = [name[2:].rpartition("_")[0] for name in scene.tree.position_names]
    rows = np.empty_like(q)
    for i, name in enumerate(names):
        rows[:, model.joints[model.getJointId(f"j_{name}")].idx_q] = q[:, i]

    def each(call: Callable[[Array], object]) -> Callable[[], object]:
        return lambda: [call(x) for x in rows]

    def place(x: Array) -> None:
        pin.forwardKinematics(model, data, x)
        pin.updateGeometryPlacements(model, data, shapes, found)

    worst = 0.0
    for x, d in zip(rows[:200], scene.distances(q[:200]), strict=True):
        pin.computeDistances(model, data, shapes, found, x)
        theirs = np.array([r.min_distance for r in found.distanceResults])
        worst = max(worst, float(np.abs(theirs - d)[d > 0].max(initial=0.0)))
    print(f"  Pinocchio's distances of separated shapes differ by at most {worst:.1e} m")
    return {
        "pin, placements alone": each(place),
        "pin, computeDistances": each(lambda x: pin.computeDistances(model, data, shapes, found, x)),
        "pin, computeCollisions": each(lambda x: pin.computeCollisions(model, data, shapes, found, x, False)),
    }


def contenders_of_mujoco(scene: mbt.CollisionModel, q: Array) -> dict[str, Callable[[], object]]:
    """Return loops over configurations and pairs."""
    import mujoco

    text = arm_with_fingers().replace(
        '<robot name="arm">',
        '<robot name="arm"><mujoco><compiler fusestatic="false" discardvisual="false"/></mujoco>',
    )
    model = mujoco.MjModel.from_xml_string(text)
    data, ends = mujoco.MjData(model), np.zeros(6)
    geom = {model.body(model.geom_bodyid[i]).name: i for i in range(model.ngeom)}
    pairs = [(geom[a], geom[b]) for a, b in scene.pairs]

    def kinematics() -> None:
        for x in q:
            data.qpos[:] = x
            mujoco.mj_kinematics(model, data)

    def distances() -> None:
        for x in q:
            data.qpos[:] = x
            mujoco.mj_kinematics(model, data)
            for a, b in pairs:
                mujoco.mj_geomDistance(model, data, a, b, 10.0, ends)

    return {"mujoco, mj_kinematics alone": kinematics, "mujoco, mj_geomDistance": distances}


def main() -> None:
    """Measure and print microseconds per configuration."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    tree = mbt.load_model(arm_with_fingers())
    scene = mbt.CollisionModel(tree)
    rng = np.random.default_rng(0)
    q = rng.uniform(
        tree.position_lower_limits, tree.position_upper_limits, (arguments.batch, tree.num_positions)
    )
    print(f"{scene}, batches of {len(q)}, {100 * scene.is_free(q).mean():.0f} % free")
    few = q[:256]
    calls = {name: (call, len(q)) for name, call in contenders_of_mbt(scene, q).items()}
    for make in (contenders_of_pinocchio, contenders_of_mujoco):
        try:
            calls |= {name: (call, len(few)) for name, call in make(scene, few).items()}
        except ImportError as error:
            print(f"  not measured: {error}")
    best = dict.fromkeys(calls, np.inf)
    for _ in range(arguments.rounds):
        for name, (call, count) in calls.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], (time.process_time() - start) / count)
    for name, seconds in best.items():
        print(f"  {name:36} {1e6 * seconds:8.3f} us per configuration")


if __name__ == "__main__":
    main()
