"""Conversion of positions, velocities and forces between MuJoCo and a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.interop.arrays import spread
from mbt.interop.joints import find_joint
from mbt.math.arrays import FloatArray, as_float_array
from mbt.parsing.mujoco_actuators import Servo, find_motors, find_servos
from mbt.parsing.mujoco_names import FREE, ModelNames, first_of_each_actuator
from mbt.parsing.pose_stacks import calc_rotations
from mbt.tree.actuator import JointActuator
from mbt.tree.multibody_tree import MultibodyTree

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

__all__ = ["MujocoCoordinates"]

_BALL = 1
_NO_CLAMP = 1 << 8
_TYPES = {FREE: "quaternion_floating", _BALL: "quaternion_ball", 2: "prismatic", 3: "revolute"}


class MujocoCoordinates:
    """Maps positions, velocities and forces of a model of MuJoCo to those of a tree, and back.

    Hinges and slides have the same position and velocity in both. A free joint has positions ``[x y z qw qx
    qy qz]`` in MuJoCo and ``[qw qx qy qz x y z]`` in the tree; its velocities are ``[v_W w_B]`` in MuJoCo,
    with w in the body frame, and ``[w_W v_W]`` in the tree. The velocity of a ball is ``w_B`` in MuJoCo; in
    the tree it is expressed in the frame on the parent. All methods take arrays with leading axes.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree that holds the model, of `from_mujoco` or `load_model`.
    model : mujoco.MjModel
        The model.
    model_instance : ModelInstanceIndex or str, optional
        The model instance of the model in the tree; needed if other models have joints of the same names.
    prefix : str, optional
        The prefix that `load_model` or `add_model` put in front of names.

    Raises
    ------
    ArgumentTypeError
        When an argument is of another type.
    UnknownNameError
        When the tree lacks a joint of the model.
    ArgumentValueError
        When a joint of the tree is of another type.

    Examples
    --------
    .. code-block:: python

        tree = mbt.interop.from_mujoco(model)
        coordinates = mbt.interop.MujocoCoordinates(tree, model)
        context.q = coordinates.q_from_mujoco(data.qpos)
        context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
    """

    def __init__(
        self,
        tree: MultibodyTree,
        model: mujoco.MjModel,
        model_instance: int | str | None = None,
        *,
        prefix: str = "",
    ) -> None:
        if not isinstance(tree, MultibodyTree):
            raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
        if type(model).__name__ != "MjModel":
            raise ArgumentTypeError(f"model: expected a mujoco.MjModel, got {type(model).__name__}")
        self._tree = tree
        self._nq, self._nv = model.nq, model.nv
        # Number of force outputs: an actuator may have several, just as it may have several controls.
        self._num_outputs = len(model.actuator_gear)
        self._q_index = np.zeros(model.nq, dtype=np.intp)
        self._v_index = np.zeros(model.nv, dtype=np.intp)
        # Indices of each angular velocity that turns: of the quaternion in qpos, and of the velocity in qvel.
        self._turning: list[tuple[int, int]] = []
        names = ModelNames(model)
        for name, kind, q, v in zip(
            names.joints,
            model.jnt_type.tolist(),
            model.jnt_qposadr.tolist(),
            model.jnt_dofadr.tolist(),
            strict=True,
        ):
            joint = find_joint(tree, prefix + name, model_instance)
            if joint.type_name != _TYPES[kind]:
                raise ArgumentValueError(
                    f"model: joint {quote(name)} is {_TYPES[kind]}, but in the tree {joint.type_name}"
                )
            q_tree, v_tree = joint.position_start, joint.velocity_start
            n, m = joint.num_positions, joint.num_velocities
            self._q_index[q : q + n] = np.arange(q_tree, q_tree + n)
            self._v_index[v : v + m] = np.arange(v_tree, v_tree + m)
            if kind == FREE:
                self._q_index[q : q + n] = np.roll(self._q_index[q : q + n], 3)
                self._v_index[v : v + m] = np.roll(self._v_index[v : v + m], 3)
                self._turning.append((q + 3, v + 3))
            elif kind == _BALL:
                self._turning.append((q, v))
        # For each motor of the tree: the index of its force in MuJoCo, its input, and its gear.
        self._motors: list[tuple[int, int, float]] = []
        # For each servo: the index and range of its control, its law, and the actuator.
        self._servos: list[tuple[int, tuple[float, float], Servo, JointActuator]] = []
        self._nu, self._na = model.nu, model.na
        laws, outputs = find_servos(model), first_of_each_actuator(model, "out")
        controls = first_of_each_actuator(model, "ctrl")
        is_clamped = not model.opt.disableflags & _NO_CLAMP
        for i in find_motors(model):
            joint = find_joint(tree, prefix + names.joints[model.actuator_trnid[i, 0]], model_instance)
            motor = tree.get_joint_actuator_by_name(prefix + names.actuators[i], joint.model_instance)
            output = int(outputs[i])
            self._motors.append((output, motor.input_start, float(model.actuator_gear[output, 0])))
            if i in laws:
                control = int(controls[i])
                is_limited = is_clamped and bool(model.actuator_ctrllimited[control])
                low, high = model.actuator_ctrlrange[control].tolist() if is_limited else (-np.inf, np.inf)
                self._servos.append((control, (low, high), laws[i], motor))

    def q_from_mujoco(self, qpos: npt.ArrayLike) -> FloatArray:
        """Return the positions of the tree, shape (..., num_positions), for `qpos` (..., nq).

        Joints of the tree that the model lacks get their default positions.
        """
        qpos = as_float_array(qpos, "qpos", (..., self._nq))
        q = np.empty((*qpos.shape[:-1], self._tree.num_positions))
        q[...] = self._tree.default_positions
        q[..., self._q_index] = qpos
        return q

    def q_to_mujoco(self, q: npt.ArrayLike) -> FloatArray:
        """Return ``qpos``, shape (..., nq), for the positions `q` of the tree (..., num_positions)."""
        return as_float_array(q, "q", (..., self._tree.num_positions))[..., self._q_index]

    def v_from_mujoco(self, qpos: npt.ArrayLike, qvel: npt.ArrayLike) -> FloatArray:
        """Return the velocities of the tree, shape (..., num_velocities), for `qvel` (..., nv) at `qpos`.

        Accelerations ``qacc`` and generalized forces such as ``qfrc_bias`` are mapped in the same way.
        Velocities that the model lacks are zero.
        """
        qpos, qvel = self._take(qpos, "qpos", self._nq, qvel, "qvel", self._nv)
        qvel = self._turn(qpos, qvel, "...ij,...j")
        v = np.zeros((*qvel.shape[:-1], self._tree.num_velocities))
        v[..., self._v_index] = qvel
        return v

    def v_to_mujoco(self, q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
        """Return ``qvel``, shape (..., nv), for the velocities `v` of the tree (..., num_velocities) at `q`.

        Accelerations and generalized forces are mapped in the same way.
        """
        tree = self._tree
        q, v = self._take(q, "q", tree.num_positions, v, "v", tree.num_velocities)
        return self._turn(q[..., self._q_index], v[..., self._v_index], "...ji,...j")

    def actuation_from_mujoco(self, actuator_force: npt.ArrayLike) -> FloatArray:
        """Return the value for ``context.actuation``, shape (..., num_actuated_dofs).

        Parameters
        ----------
        actuator_force : array_like, shape (..., nout)
            Forces of the actuators of MuJoCo, such as ``data.actuator_force``; the force of a motor is its
            control. The force on a joint is this times the gear. Forces of actuators that the tree lacks are
            ignored, and inputs that MuJoCo lacks are zero.
        """
        forces = as_float_array(actuator_force, "actuator_force", (..., self._num_outputs))
        actuation = np.zeros((*forces.shape[:-1], self._tree.num_actuated_dofs))
        for i, start, gear in self._motors:
            actuation[..., start] = gear * forces[..., i]
        return actuation

    def servo_targets_from_mujoco(
        self, ctrl: npt.ArrayLike, act: npt.ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return ``context.servo_positions`` and ``context.servo_velocities`` for controls.

        Parameters
        ----------
        ctrl : array_like, shape (..., nu)
            Controls of MuJoCo, such as ``data.ctrl``; they are clamped to their ranges as in MuJoCo.
        act : array_like, shape (..., na), optional
            Activations, such as ``data.act``; needed if a servo has one, as those of ``intvelocity`` do. It
            replaces the control.

        Returns
        -------
        positions, velocities : ndarray, shape (..., num_actuators)
            Targets, zero for plain motors.

        Raises
        ------
        ArgumentValueError
            When activations are missing.
        """
        ctrl = as_float_array(ctrl, "ctrl", (..., self._nu))
        if act is None:
            if any(law.activation >= 0 for _, _, law, _ in self._servos):
                raise ArgumentValueError(
                    f"act: expected the activations of MuJoCo, shape (..., {self._na}), as data.act: "
                    "servos of the model have activations; got None"
                )
            activations = np.zeros((*ctrl.shape[:-1], self._na))
        else:
            activations = as_float_array(act, "act", (..., self._na))
            if activations.shape[:-1] != ctrl.shape[:-1]:
                ctrl, activations = spread(ctrl=ctrl, act=activations)
        targets = np.zeros((2, *ctrl.shape[:-1], self._tree.num_actuators))
        for i, (low, high), law, servo in self._servos:
            a = law.activation
            u = activations[..., a] if a >= 0 else np.clip(ctrl[..., i], low, high)
            force = law.gain * u + law.bias
            if law.k > 0.0:
                targets[0, ..., servo.index] = force / (law.k * law.gear)
            else:
                targets[1, ..., servo.index] = force / (law.d * law.gear)
        return targets[0], targets[1]

    def _take(
        self, q: Any, q_name: str, nq: int, v: Any, v_name: str, nv: int
    ) -> tuple[FloatArray, FloatArray]:
        q, v = as_float_array(q, q_name, (..., nq)), as_float_array(v, v_name, (..., nv))
        if q.shape[:-1] != v.shape[:-1]:
            q, v = spread(**{q_name: q, v_name: v})
        return q, v

    def _turn(self, qpos: FloatArray, qvel: FloatArray, product: str) -> FloatArray:
        turned = qvel.copy()
        for q, v in self._turning:
            R = calc_rotations(qpos[..., q : q + 4])
            turned[..., v : v + 3] = np.einsum(product, R, qvel[..., v : v + 3])
        return turned
