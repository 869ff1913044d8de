"""Identification of an arm with six joints: the time of each part, beside Clarabel, figaroh, `mujoco.sysid`.

    python benchmarks/identification.py [FILE.urdf] [--samples 20000] [--rounds 3] [--sysid-samples 300]

The masses, damping and rotors of the real arm differ from its description. Clarabel solves the same
physically constrained fit as a semidefinite program. With a FILE, `figaroh` fits the same log without
physical constraints. `mujoco.sysid` minimizes the error of a simulated motion (positions and velocities, open
loop) by finite differences of rollouts; mbt fits the forces of the same motion. Both start from the
description and fit ten inertial parameters of each moving body, damping and rotors, to a motion without
noise. The error is that of forces at other states, in units of their standard deviation. CPU time: the
minimum of the rounds, but one round for `mujoco.sysid`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import numpy as np

import mbt
from mbt import identification
from mbt.identification import accumulator

DT = 2e-3
FITTED: dict[str, Any] = {"friction": "viscous", "rotors": True}


def real_of(tree: Any, seed: int = 0) -> Any:
    """Return a tree that differs from its description."""
    rng = np.random.default_rng(seed)
    real = tree.edit()
    for body in real.bodies[1:]:
        M = body.default_spatial_inertia
        if M.mass > 0.0:
            body.set_default_spatial_inertia(
                mbt.SpatialInertia(rng.uniform(0.8, 1.3) * M.mass, M.com, M.unit_inertia)
            )
    for joint in real.joints:
        if joint.num_velocities == 1:
            joint.set_default_damping(rng.uniform(0.5, 2.0))
    for actuator in real.joint_actuators:
        actuator.set_default_rotor_inertia(rng.uniform(0.7, 1.3) * actuator.default_rotor_inertia)
    real.finalize()
    return real


def forces(tree: Any, q: Any, v: Any, vdot: Any) -> Any:
    """Return the forces of a motion."""
    context = tree.create_default_context(batch_shape=len(q))
    context.q, context.v = q, v
    return tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)


def least(call: Callable[[], Any], rounds: int) -> float:
    """Return the minimum CPU time of repeated calls [s]."""
    times = []
    for _ in range(rounds):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def ours(tree: Any, log: Any, rounds: int) -> None:
    """Print the cost of each part of a fit, and the optimum of Clarabel."""
    sums = identification.Accumulator(tree, friction="viscous+coulomb", rotors=True)
    sums.add(*log)
    everything = {"friction": "viscous+coulomb", "rotors": True}
    calls: dict[str, Callable[[], Any]] = {
        "columns and base parameters": lambda: identification.Accumulator(tree, **everything),
        "normal equations": lambda: identification.Accumulator(tree, **everything).add(*log),
        "solution without limits": lambda: sums.solve(physical=False),
        "physical solution": lambda: sums.solve(),
        "identify, without limits": lambda: identification.identify(tree, *log, **everything, physical=False),
        "identify, physical": lambda: identification.identify(tree, *log, **everything),
        "identify, physical, robust": lambda: identification.identify(tree, *log, **everything, robust=True),
    }
    for name, call in calls.items():
        print(f"{name:40} {least(call, rounds):8.3f} s")
    problems: list[Any] = []
    solvers = dict(accumulator._SOLVERS)
    accumulator._SOLVERS["barrier"] = lambda problem: problems.append(problem) or problem.start
    sums.solve()
    accumulator._SOLVERS.update(solvers)
    cost = problems[0].calc_cost
    best = cost(solvers["barrier"](problems[0]))
    for name, fit in solvers.items():
        try:
            more = cost(fit(problems[0])) - best
        except mbt.MissingPackageError as error:
            print(error)
            continue
        seconds = least(partial(fit, problems[0]), rounds)
        print(f"{f'  the physical fit alone, {name}':40} {seconds:8.3f} s; costs {more:.2g} more")


def beside_figaroh(path: str, tree: Any, log: Any, rounds: int) -> None:
    """Fit the same log without physical constraints, from figaroh's regressor and base parameters."""
    try:
        import pinocchio as pin
        from figaroh.tools.qrdecomposition import QRDecomposer
        from figaroh.tools.regressor import RegressorBuilder, RegressorConfig
    except ImportError as error:
        print(f"figaroh: not measured ({error})")
        return
    q, v, vdot, tau = log
    robot = SimpleNamespace(model=pin.buildModelFromUrdf(path))
    robot.data = robot.model.createData()
    terms = {"has_friction": True, "has_actuator_inertia": True, "is_joint_torques": True}
    builder = RegressorBuilder(robot, RegressorConfig(**terms, additional_columns=3))

    def fit() -> Any:
        W = builder.build_basic_regressor(q, v, vdot, terms | {"act_idxv": list(range(tau.shape[1]))})
        W = W[:, (W**2).sum(axis=0) > 1e-6]
        places = [str(k) for k in range(W.shape[1])]
        kept, _ = QRDecomposer(tolerance=1e-6)._identify_base_parameters(W, places)
        B = W[:, list(kept)]
        return B, B @ np.linalg.lstsq(B, tau.T.ravel(), rcond=None)[0]

    # The same weights, and Coulomb friction that jumps at zero velocity, as in figaroh.
    same: dict[str, Any] = {"friction": "viscous+coulomb", "rotors": True, "physical": False}
    same |= {"noise": np.ones(tau.shape[1]), "prior": 0.0, "transition_velocity": 1e-9}
    found, (B, predicted) = identification.identify(tree, *log, **same), fit()
    difference = np.abs(predicted.reshape(tau.T.shape).T - (tau - found.residuals)).max()
    print(
        f"figaroh: {least(fit, rounds):.3f} s, mbt "
        f"{least(lambda: identification.identify(tree, *log, **same), rounds):.3f} s; base parameters "
        f"{B.shape[1]}, {found.rank}; predictions differ by at most {difference:.2g} N m"
    )


def beside_sysid(tree: Any, real: Any, samples: int) -> None:
    """Fit the same motion with `mujoco.sysid`, and compare the forces that both predict."""
    import mujoco
    import mujoco.rollout
    from mujoco import sysid

    if not hasattr(sysid, "ParameterDict"):
        print("mujoco.sysid: not installed: pip install 'mujoco[sysid]'")
        return
    specs = [spec_of(model) for model in (tree, real)]
    compiled = specs[1].compile()
    data = mujoco.MjData(compiled)
    design = identification.design_excitation(tree, period=samples * DT, starts=1, steps=5, rng=0)
    time = DT * np.arange(samples)
    tau = forces(real, *design.evaluate(time))
    data.qpos[:], data.qvel[:] = design.q[0], design.v[0]
    initial = sysid.create_initial_state(compiled, data.qpos, data.qvel, data.act)
    state, sensor = mujoco.rollout.rollout(compiled, data, initial, tau[:-1])
    q, v = state[0, :, 1:7], state[0, :, 7:13]
    parameters = sysid.ParameterDict()
    described = specs[0].compile()
    for i in range(1, described.nbody):
        name = described.body(i).name
        parameters.add(
            sysid.body_inertia_param(
                specs[0], described, name, inertia_type=sysid.InertiaType.Pseudo, modifier=set_inertia(name)
            )
        )
    for joint in tree.joints:
        if joint.num_velocities:
            for what, most in (("damping", 5.0), ("armature", 5.0)):
                value = float(np.ravel(getattr(specs[0].joint(joint.name), what))[0])

                def modify(spec: Any, p: Any, name: str = joint.name, what: str = what) -> None:
                    joint = spec.joint(name)
                    setattr(joint, what, np.full((3, 1), p.value[0]) if what == "damping" else p.value[0])

                parameters.add(sysid.Parameter(f"{joint.name}_{what}", value, 1e-4, most, modifier=modify))
    sequences = sysid.ModelSequences(
        "arm", specs[0], "motion", initial, sysid.TimeSeries(time, tau),
        sysid.TimeSeries.from_names(state[0, :, 0], sensor[0], compiled),
    )  # fmt: skip
    residual = sysid.build_residual_fn(models_sequences=[sequences])
    start = process_time()
    found, _ = sysid.optimize(
        initial_params=parameters, residual_fn=residual, optimizer="mujoco", verbose=False
    )
    theirs = process_time() - start
    for parameter in found.parameters.values():
        parameter.modifier(specs[0], parameter)
    fitted = specs[0].compile()

    # The states follow the semi-implicit step: each v results from the acceleration of the previous state.
    start = process_time()
    vdot = np.diff(v, axis=0) / DT
    ours = identification.identify(tree, q[:-1], v[:-1], vdot, tau[1:-1], **FITTED)
    mine = process_time() - start
    rng = np.random.default_rng(9)
    test = rng.uniform(-1.0, 1.0, (3, 200, 6)) * [[[1.0]], [[2.0]], [[5.0]]]
    exact = forces(real, *test)

    def predicted_by_mujoco(model: Any) -> Any:
        d, rows = mujoco.MjData(model), []
        for d.qpos[:], d.qvel[:], d.qacc[:] in zip(*test, strict=True):
            mujoco.mj_inverse(model, d)
            rows.append(d.qfrc_inverse.copy())
        return np.array(rows)

    def error(tau: Any) -> float:
        return float(np.sqrt((((tau - exact) / exact.std(axis=0)) ** 2).mean()))

    print(f"\na motion of {samples} steps, {parameters.size} numbers")
    print(f"{'':20} {'CPU':>10} {'error of forces':>16}")
    print(f"{'description':20} {'':10} {error(predicted_by_mujoco(described)):16.2g}")
    print(f"{'mujoco.sysid':20} {theirs:8.2f} s {error(predicted_by_mujoco(fitted)):16.2g}")
    print(f"{'mbt':20} {mine:8.3f} s {error(forces(ours.tree, *test)):16.2g}")


def set_inertia(name: str) -> Callable[[Any, Any], None]:
    """Return a modifier that sets the inertia of a body by its principal axes.

    With the modifier of `mujoco.sysid` itself, this model fails to compile after the first body.
    """
    from mujoco.sysid import model_modifier

    def modify(spec: Any, parameter: Any) -> None:
        pi = model_modifier.pi_from_theta(parameter.value)
        body, com = spec.body(name), pi[1:4] / pi[0]
        central = pi[4:].reshape(3, 3) - pi[0] * (com @ com * np.eye(3) - np.outer(com, com))
        moments, axes = np.linalg.eigh(central)
        axes[:, 2] *= np.linalg.det(axes)
        body.mass, body.ipos, body.inertia = pi[0], com, moments
        body.iquat = mbt.math.matrix_to_quaternion(axes)

    return modify


def spec_of(tree: Any) -> Any:
    """Return a tree as a MuJoCo specification, with motors and sensors, without contacts and limits."""
    import warnings

    import mujoco

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mbt.ModelWarning)
        spec = mujoco.MjSpec.from_string(mbt.save_model(tree, format="urdf"))
    spec.compile()
    # Fused fixed links, each with an inertia of its own.
    spec = mujoco.MjSpec.from_string(spec.to_xml())
    for actuator in tree.joint_actuators:
        spec.joint(actuator.joint.name).armature = actuator.default_reflected_inertia
    for actuator in list(spec.actuators):
        spec.delete(actuator)
    kinds = mujoco.mjtSensor
    for joint in tree.joints:
        if joint.num_velocities:
            motor = spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_motor()
    for kind, suffix in ((kinds.mjSENS_JOINTPOS, "q"), (kinds.mjSENS_JOINTVEL, "v")):
        for joint in tree.joints:
            if joint.num_velocities:
                spec.add_sensor(
                    name=f"{joint.name}_{suffix}",
                    type=kind,
                    objtype=mujoco.mjtObj.mjOBJ_JOINT,
                    objname=joint.name,
                )  # fmt: skip
    spec.option.timestep = DT
    spec.option.gravity = (0.0, 0.0, -9.81)
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER
    disabled = mujoco.mjtDisableBit
    spec.option.disableflags |= disabled.mjDSBL_LIMIT | disabled.mjDSBL_CONTACT | disabled.mjDSBL_EULERDAMP
    return spec


def main() -> None:
    """Print the measurements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("robot", nargs="?", help="FILE.urdf")
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sysid-samples", type=int, default=300)
    arguments = parser.parse_args()
    mbt.set_num_threads(1)
    tree = mbt.load_model(Path(arguments.robot) if arguments.robot else mbt.models.model_path("mbt_arm"))
    real = real_of(tree)
    rng = np.random.default_rng(1)
    q, v, vdot = rng.normal(size=(3, arguments.samples, tree.num_velocities))
    tau = forces(real, q, v, vdot)
    print(
        f"{arguments.samples} samples, {tree.num_velocities} joints, {tree.num_bodies - 1} bodies; CPU time"
    )
    ours(tree, (q, v, vdot, tau + 0.1 * rng.normal(size=tau.shape)), arguments.rounds)
    if arguments.robot:
        log = q, v, vdot, tau + 0.1 * rng.normal(size=tau.shape)
        beside_figaroh(arguments.robot, tree, log, arguments.rounds)
    else:
        beside_sysid(tree, real, arguments.sysid_samples)


if __name__ == "__main__":
    main()
