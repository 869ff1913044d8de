"""Implicit steps beside those of MuJoCo: an arm on servos, and robots that stand on servos.

    python benchmarks/steps.py [--dt 0.002] [--rounds 30] [--h1 FILE.xml]

All have joint damping, position limits, and servos with effort limits; MuJoCo uses `implicitfast` and
Newton's method. Feet are spheres on a plane in MuJoCo and points on a half-space in mbt: four for the
quadruped, eight for the H1, a humanoid with 25 degrees of freedom from its MJCF file. The libraries take
turns. Wall-clock time per step, the minimum of the rounds: of a call of one step from Python, of a rollout of
one state, and of a batch of rollouts on one thread, beside `mujoco.rollout` and `mujoco.batch`. Last, the
derivatives of one step, beside MuJoCo's finite differences.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import mujoco
import mujoco.batch
import mujoco.rollout
import numpy as np

import mbt

# Stiffness, damping and effort limit of servos, and stiffness of feet: for small robots; for the H1, which
# falls with softer ones.
SMALL, LARGE = (100.0, 2.0, 40.0, 2e4), (5000.0, 50.0, 300.0, 1e5)
H1_HEIGHT = 1.044  # with straight legs
CALLS, STEPS = 200, 500
BATCH, STEPS_OF_BATCH = 64, 10
LINK = '<geom type="box" size=".04 .04 {half}" pos="0 0 {middle}" mass="{mass}" contype="0" conaffinity="0"/>'


def hinge(name: str, axis: str) -> str:
    """Return a joint with limits, in radians."""
    return f'<joint name="{name}" axis="{axis}" damping="0.5" range="-2.5 2.5"/>'


def arm() -> str:
    """Return seven links with alternating axes."""
    axes = ("0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1")
    text = ""
    for k in reversed(range(7)):
        link = LINK.format(half=0.1, middle=0.1, mass=2.0 - 0.2 * k)
        text = f'<body pos="0 0 {0.2 if k else 0.0}">{hinge(f"a{k}", axes[k])}{link}{text}</body>'
    return text


def quadruped() -> str:
    """Return a trunk on four legs of three joints, with its feet on the ground."""
    legs = ""
    for name, x, y in (("lf", 0.2, 0.1), ("rf", 0.2, -0.1), ("lh", -0.2, 0.1), ("rh", -0.2, -0.1)):
        thigh, shank = (LINK.format(half=0.1, middle=-0.1, mass=mass) for mass in (1.0, 0.3))
        hip = LINK.format(half=0.03, middle=0.0, mass=0.6)
        foot = f'<geom name="{name}" type="sphere" size=".01" pos="0 0 -.2" mass="0.05"/>'
        knee = f'<body name="{name}" pos="0 0 -.2">{hinge(name + "k", "0 1 0")}{shank}{foot}</body>'
        legs += (
            f'<body pos="{x} {y} 0">{hinge(name + "x", "1 0 0")}{hip}'
            f"<body>{hinge(name + 'y', '0 1 0')}{thigh}{knee}</body></body>"
        )
    trunk = '<geom type="box" size=".2 .1 .05" mass="6" contype="0" conaffinity="0"/>'
    return f'<body pos="0 0 .41"><freejoint name="base"/>{trunk}{legs}</body>'


def spec_of(source: str, dt: float) -> Any:
    """Return a MuJoCo specification: of the bodies of a text, or of the H1 from a file."""
    options = f'<option timestep="{dt}" integrator="implicitfast" solver="Newton"/>'
    if source.startswith("<"):
        return mujoco.MjSpec.from_string(f"""<mujoco><compiler angle="radian"/>{options}
          <worldbody><geom type="plane" size="5 5 .1"/>{source}</worldbody></mujoco>""")
    spec = mujoco.MjSpec.from_file(source)
    spec.option.timestep, spec.option.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.solver = mujoco.mjtSolver.mjSOL_NEWTON
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    for side in ("left", "right"):
        for x, y in ((-0.08, -0.03), (-0.08, 0.03), (0.15, -0.03), (0.15, 0.03)):
            spec.body(f"{side}_ankle_link").add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.01, 0, 0], pos=[x, y, -0.06], mass=0.0
            )
    spec.body("pelvis").pos = [0.0, 0.0, H1_HEIGHT]
    return spec


def size_of(source: str) -> tuple[float, float, float, float]:
    """Return stiffness, damping and effort limit of servos, and stiffness of feet."""
    return SMALL if source.startswith("<") else LARGE


def model(source: str, dt: float, *, with_servos: bool) -> Any:
    """Return the model for MuJoCo."""
    spec = spec_of(source, dt)
    stiffness, damping, limit, _ = size_of(source)
    for joint in spec.joints if with_servos else ():
        if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
            actuator = spec.add_actuator(
                name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT
            )
            actuator.set_to_position(kp=stiffness, kv=damping)
            actuator.forcelimited, actuator.forcerange = True, [-limit, limit]
    return spec.compile()


def tree_of(source: str, dt: float) -> Any:
    """Return the same model in mbt."""
    compiled = model(source, dt, with_servos=False)
    tree = mbt.interop.from_mujoco(compiled).edit()
    stiffness, damping, limit, of_feet = size_of(source)
    for joint in list(tree.joints):
        if joint.num_velocities == 1:
            tree.add_joint_actuator(
                f"{joint.name}_servo", joint, effort_limit=limit, stiffness=stiffness, damping=damping
            )
    is_sphere = compiled.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE
    spheres = np.flatnonzero(is_sphere & (compiled.geom_contype > 0))
    for body in np.unique(compiled.geom_bodyid[spheres]):
        lowest = compiled.geom_pos[spheres[compiled.geom_bodyid[spheres] == body]] - [0.0, 0.0, 0.01]
        foot = tree.get_body_by_name(compiled.body(body).name)
        tree.add_force_element(
            mbt.PointContact(foot, lowest, stiffness=of_feet, dissipation=1.0, static_friction=1.0)
        )
    tree.finalize()
    return tree


def contenders(source: str, dt: float) -> dict[str, dict[str, tuple[Callable[[], Any], int]]]:
    """Return, by title, the call of each library and the number of steps that it takes."""
    compiled, tree = model(source, dt, with_servos=True), tree_of(source, dt)
    data, again = mujoco.MjData(compiled), mujoco.MjData(compiled)
    for _ in range(CALLS):
        mujoco.mj_step(compiled, data)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.empty(mujoco.mj_stateSize(compiled, kind))
    mujoco.mj_getState(compiled, data, state, kind)
    control = np.zeros((1, STEPS, compiled.nu))
    tau = np.zeros(tree.num_velocities)
    q, v = mbt.functional.rollout(
        tree, tree.default_positions, tau, np.zeros((CALLS, len(tau))), dt, method="implicit", every=CALLS
    )
    q, v = q[-1].copy(), v[-1].copy()
    forces = np.zeros((STEPS, len(tau)))
    of_batch = np.zeros((STEPS_OF_BATCH, len(tau)))
    qs, vs, states = (np.tile(x, (BATCH, 1)) for x in (q, v, state))
    controls = np.zeros((BATCH, STEPS_OF_BATCH, compiled.nu))
    step, roll_out = mbt.functional.step, mbt.functional.rollout

    def make_steps() -> None:
        for _ in range(CALLS):
            step(tree, q, v, tau, dt, method="implicit")

    def make_steps_with_mujoco() -> None:
        for _ in range(CALLS):
            mujoco.mj_step(compiled, data)

    size = 2 * len(tau)
    A, B = np.empty((size, size)), np.empty((size, compiled.nu))

    def differentiate() -> None:
        for _ in range(CALLS // 10):
            mbt.functional.step_derivatives(tree, q, v, tau, dt, method="implicit")

    def differentiate_with_mujoco() -> None:
        for _ in range(CALLS // 10):
            mujoco.mjd_transitionFD(compiled, again, 1e-6, False, A, B, None, None)

    mujoco.mj_setState(compiled, again, state, kind)
    many = mujoco.batch.Batch(compiled, BATCH, nthread=1)
    many.bind("qpos")[:], many.bind("qvel")[:] = data.qpos, data.qvel
    our_batch = (
        lambda: roll_out(tree, qs, vs, of_batch, dt, method="implicit", every=STEPS_OF_BATCH),
        BATCH * STEPS_OF_BATCH,
    )
    return {
        "derivatives": {
            "mbt": (differentiate, CALLS // 10),
            "mujoco": (differentiate_with_mujoco, CALLS // 10),
        },
        "one call": {"mbt": (make_steps, CALLS), "mujoco": (make_steps_with_mujoco, CALLS)},
        "rollout": {
            "mbt": (lambda: roll_out(tree, q, v, forces, dt, method="implicit", every=STEPS), STEPS),
            "mujoco": (lambda: mujoco.rollout.rollout(compiled, again, state[np.newaxis], control), STEPS),
        },
        "batch": {
            "mbt": our_batch,
            "mujoco": (
                lambda: mujoco.rollout.rollout(compiled, again, states, controls),
                BATCH * STEPS_OF_BATCH,
            ),
        },
        "mujoco.batch": {
            "mbt": our_batch,
            "mujoco": (lambda: many.step(nstep=STEPS_OF_BATCH), BATCH * STEPS_OF_BATCH),
        },
    }


def main() -> None:
    """Print a line for each model and kind of call."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dt", type=float, default=2e-3)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--h1", metavar="FILE", default="")
    arguments = parser.parse_args()
    sources = {"arm, 7 dofs": arm(), "quadruped, 18 dofs": quadruped()}
    if arguments.h1:
        sources["H1, 25 dofs"] = arguments.h1
    mbt.set_num_threads(1)
    print(f"{'us per step':24} {'mbt':>7} {'mujoco':>7} {'ratio':>6}")
    for name, source in sources.items():
        for what, calls in contenders(source, arguments.dt).items():
            least = dict.fromkeys(calls, np.inf)
            for _ in range(arguments.rounds):
                for library, (call, steps) in calls.items():
                    start = perf_counter()
                    call()
                    least[library] = min(least[library], (perf_counter() - start) / steps)
            ours, theirs = 1e6 * least["mbt"], 1e6 * least["mujoco"]
            print(f"{name + ', ' + what:32} {ours:7.2f} {theirs:7.2f} {theirs / ours:6.2f}")


if __name__ == "__main__":
    main()
