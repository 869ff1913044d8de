"""Other libraries, where they are installed, with the same model and the same four computations."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = ["FUNCTIONS", "Peer", "load_peers"]

#: The functions that are measured, in this order.
FUNCTIONS = ("body poses", "inverse dynamics", "mass matrix", "forward dynamics")
Calls = dict[str, Callable[[], object]]


class Peer(NamedTuple):
    """A library with the model, or the reason why it could not load it.

    `calls` are the functions without arguments; `trace` is the trace of the mass matrix at the zero
    configuration, which shows whether the model is the same.
    """

    name: str
    version: str = ""
    calls: Calls | None = None
    num_velocities: int = 0
    trace: float = 0.0
    reason: str = ""


def load_peers(urdf: str, *, floating: bool) -> list[Peer]:
    """Return the libraries with the model of a URDF, whose root is free if `floating`."""
    return [
        _load(name, module, load, urdf, floating=floating)
        for name, module, load in (
            ("pin", "pinocchio", _load_pinocchio),
            ("mujoco", "mujoco", _load_mujoco),
            ("drake", "pydrake.all", _load_drake),
        )
    ]


def _load(
    name: str, module: str, load: Callable[..., tuple[Calls, int, Any]], urdf: str, *, floating: bool
) -> Peer:
    try:
        library = importlib.import_module(module)
    except ImportError:
        return Peer(name, reason="not installed")
    try:
        calls, num_velocities, M = load(library, urdf, floating)
        for call in calls.values():
            call()
    except Exception as error:  # A library that fails must not stop the others.
        return Peer(name, reason=f"refuses the model: {' '.join(str(error).split())[:160]}")
    version = getattr(library, "__version__", "") or _version_of(name)
    return Peer(name, version, calls, num_velocities, float(np.trace(M)))


def _version_of(name: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _load_pinocchio(pin: Any, urdf: str, floating: bool) -> tuple[Calls, int, Any]:
    model = pin.buildModelFromXML(urdf)  # The text has a joint for a free root.
    data, q = model.createData(), pin.neutral(model)
    v, x = np.full((2, model.nv), 0.1)
    calls: Calls = {
        "body poses": lambda: pin.forwardKinematics(model, data, q),
        "inverse dynamics": lambda: pin.rnea(model, data, q, v, x),
        "mass matrix": lambda: pin.crba(model, data, q),
        "forward dynamics": lambda: pin.aba(model, data, q, v, x),
    }
    return calls, model.nv, np.array(pin.crba(model, data, q))


def _load_mujoco(mujoco: Any, urdf: str, floating: bool) -> tuple[Calls, int, Any]:
    spec = mujoco.MjSpec.from_string(urdf)
    spec.compiler.fusestatic = True
    model = spec.compile()
    # Dynamics without contacts and limits, as in the other libraries.
    bits = mujoco.mjtDisableBit
    model.opt.disableflags = bits.mjDSBL_CONSTRAINT | bits.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    data.qvel[:] = data.qacc[:] = data.qfrc_applied[:] = 0.1
    M, tau = np.zeros((model.nv, model.nv)), np.zeros(model.nv)

    def kinematics() -> None:
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)

    def inverse_dynamics() -> None:
        kinematics()
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 1, tau)

    def mass_matrix() -> None:
        kinematics()
        mujoco.mj_makeM(model, data)
        mujoco.mj_fullM(model, data, M)

    mass_matrix()
    calls: Calls = {
        "body poses": lambda: mujoco.mj_kinematics(model, data),
        "inverse dynamics": inverse_dynamics,
        "mass matrix": mass_matrix,
        "forward dynamics": lambda: mujoco.mj_forward(model, data),
    }
    return calls, model.nv, M


def _load_drake(drake: Any, urdf: str, floating: bool) -> tuple[Calls, int, Any]:
    plant = drake.MultibodyPlant(0.0)
    (instance,) = drake.Parser(plant).AddModelsFromString(urdf, "urdf")
    root = plant.get_body(plant.GetBodyIndices(instance)[0])
    # Drake leaves roots free unless they are welded.
    if not floating and '<link name="world"' not in urdf:
        plant.WeldFrames(plant.world_frame(), root.body_frame())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    q = plant.GetPositions(context)
    v, x = np.full((2, plant.num_velocities()), 0.1)
    plant.get_applied_generalized_force_input_port().FixValue(context, x)
    if plant.num_actuators():
        plant.get_actuation_input_port().FixValue(context, np.zeros(plant.num_actuated_dofs()))
    forces = drake.MultibodyForces(plant)
    poses = plant.get_body_poses_output_port()

    def set_positions() -> None:
        plant.SetPositions(context, q)

    def inverse_dynamics() -> None:
        set_positions()
        plant.SetVelocities(context, v)
        plant.CalcForceElementsContribution(context, forces)
        plant.CalcInverseDynamics(context, x, forces)

    def mass_matrix() -> Any:
        set_positions()
        return plant.CalcMassMatrix(context)

    def forward_dynamics() -> None:
        set_positions()
        plant.SetVelocities(context, v)
        plant.get_generalized_acceleration_output_port().Eval(context)

    def body_poses() -> None:
        set_positions()
        poses.Eval(context)

    calls: Calls = {
        "body poses": body_poses,
        "inverse dynamics": inverse_dynamics,
        "mass matrix": mass_matrix,
        "forward dynamics": forward_dynamics,
    }
    return calls, plant.num_velocities(), mass_matrix()
