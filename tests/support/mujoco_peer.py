"""MuJoCo compared with a tree of the same model."""

from __future__ import annotations

import mujoco
import numpy as np

import mbt
from mbt.math.arrays import FloatArray
from mbt.parsing.mujoco_names import ModelNames

__all__ = ["assert_same_dynamics", "compile_text", "random_state"]

TOLERANCE = 1e-10


def compile_text(text: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(text)


def random_state(model: mujoco.MjModel, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return qpos, with quaternions of unit length, and qvel."""
    qpos = model.qpos0 + rng.normal(size=model.nq)
    mujoco.mj_normalizeQuat(model, qpos)
    return qpos, rng.normal(size=model.nv)


def mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> FloatArray:
    columns = []
    for unit in np.eye(model.nv):
        column = np.empty(model.nv)
        mujoco.mj_mulM(model, data, column, unit)
        columns.append(column)
    return np.array(columns)


def assert_close(mine: FloatArray, wanted: FloatArray) -> None:
    assert mine.shape == wanted.shape
    if wanted.size:
        assert np.abs(mine - wanted).max() <= TOLERANCE * (1.0 + np.abs(wanted).max())


def assert_same_dynamics(tree: mbt.MultibodyTree, model: mujoco.MjModel, *, num_states: int = 2) -> None:
    """Compare mass matrix, bias with and without gravity, passive forces and poses in random states."""
    rng, data = np.random.default_rng(5), mujoco.MjData(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    for _ in range(num_states):
        qpos, qvel = random_state(model, rng)
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        context = tree.create_default_context()
        context.q, context.v = coordinates.q_from_mujoco(qpos), coordinates.v_from_mujoco(qpos, qvel)
        units = np.eye(model.nv)
        T = coordinates.v_from_mujoco(np.tile(qpos, (model.nv, 1)), units).T
        assert_close(T.T @ tree.calc_mass_matrix(context) @ T, mass_matrix(model, data))
        rest = np.zeros(tree.num_velocities)
        bias = tree.calc_inverse_dynamics(context, rest)
        with_forces = tree.calc_inverse_dynamics(context, rest, include_force_elements=True)
        gravity = tree.calc_gravity_generalized_forces(context)
        compensation = data.qfrc_gravcomp if model.ngravcomp else 0.0
        assert_close(coordinates.v_to_mujoco(context.q, bias - gravity), data.qfrc_bias - compensation)
        assert_close(coordinates.v_to_mujoco(context.q, with_forces), data.qfrc_bias - data.qfrc_passive)
        names = ModelNames(model).bodies
        for name, position, rotation in zip(names[1:], data.xpos[1:], data.xmat[1:], strict=True):
            X_WB = tree.get_body_by_name(name).eval_pose_in_world(context)
            assert_close(X_WB[:3, 3], position)
            assert_close(X_WB[:3, :3].ravel(), rotation)
        # Without gravity and passive forces, only the effects of velocities remain.
        data.qvel[:] = 0.0
        mujoco.mj_forward(model, data)
        at_rest = data.qfrc_bias - compensation
        assert_close(coordinates.v_to_mujoco(context.q, -gravity), at_rest)
