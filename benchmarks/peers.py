"""Other libraries as contenders."""

# Methods without a docstring do what the base class says.
# ruff: noqa: D102

from __future__ import annotations

import copy
import importlib
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import mbt
from contenders import (
    BIAS_TERM,
    BODY_POSES,
    FORWARD_DYNAMICS,
    FORWARD_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS_GRADIENT,
    FRAME_JACOBIAN,
    GRADIENTS,
    GRAVITY,
    GRAVITY_FORCES,
    INVERSE_DYNAMICS,
    INVERSE_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS_GRADIENT,
    MASS_MATRIX,
    BatchContender,
    Call,
    Contender,
    State,
    homogeneous,
    rotation_of_quaternion,
)
from models import Array, with_free_root


class Pinocchio(Contender):
    """Pinocchio. A free root has q = [position, x y z w] and v in the root's axes, translational first."""

    name = "pin"
    module = "pinocchio"
    gravity_sign = -1.0
    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("tau = rnea(model, data, q, v, x)", "tau"),),
        MASS_MATRIX: (
            Call("M = crba(model, data, q, LOCAL)", "M"),
            Call("M = crba(model, data, q, WORLD)", "M"),
        ),
        FORWARD_DYNAMICS: (
            Call("vdot = aba(model, data, q, v, x, LOCAL)", "vdot"),
            Call("vdot = aba(model, data, q, v, x, WORLD)", "vdot"),
        ),
        BIAS_TERM: (Call("Cv = bias_term(weightless, data, q, v)", "Cv"),),
        GRAVITY_FORCES: (Call("g = generalized_gravity(model, data, q)", "g"),),
        FRAME_JACOBIAN: (Call("J = frame_jacobian(model, data, q, frame, ALIGNED)", "J"),),
        BODY_POSES: (
            Call("forward_kinematics(model, data, q); X = array([X.homogeneous for X in poses()])", "X"),
            Call("forward_kinematics(model, data, q); stack(rotations, out=R); stack(places, out=p)", "R, p"),
        ),
        INVERSE_DYNAMICS_DERIVATIVES: (
            Call("rnea_derivatives(model, data, q, v, x)", "data.dtau_dq, data.dtau_dv, data.M"),
        ),
        FORWARD_DYNAMICS_DERIVATIVES: (
            Call("aba_derivatives(model, data, q, v, x)", "data.ddq_dq, data.ddq_dv, data.Minv"),
        ),
    }

    def load(self) -> None:
        pin = self.import_module()
        root = [pin.JointModelFreeFlyer()] if self.floating else []
        self.pin_model = model = pin.buildModelFromXML(self.model.urdf, *root)
        model.gravity.linear = np.array([0, 0, -GRAVITY])
        weightless, data = model.copy(), model.createData()
        weightless.gravity.linear = np.zeros(3)
        self.namespace = {
            "rnea": pin.rnea,
            "crba": pin.crba,
            "bias_term": pin.nonLinearEffects,
            "weightless": weightless,
            "aba": pin.aba,
            "generalized_gravity": pin.computeGeneralizedGravity,
            "frame_jacobian": pin.computeFrameJacobian,
            "frame": model.getFrameId(self.links[-1]),
            "ALIGNED": pin.LOCAL_WORLD_ALIGNED,
            "rnea_derivatives": pin.computeRNEADerivatives,
            "aba_derivatives": pin.computeABADerivatives,
            "forward_kinematics": pin.forwardKinematics,
            "LOCAL": pin.Convention.LOCAL,
            "WORLD": pin.Convention.WORLD,
            "model": model,
            "data": data,
            "poses": data.oMi.tolist,
            "array": np.array,
            "stack": np.stack,
            "rotations": [X.rotation for X in data.oMi],
            "places": [X.translation for X in data.oMi],
            "R": np.empty((model.njoints, 3, 3)),
            "p": np.empty((model.njoints, 3)),
        }

    def _joint_ids(self) -> list[int]:
        return [self.pin_model.getJointId(joint.name) for joint in self.joints]

    def velocity_columns(self) -> Array:
        return np.array([self.pin_model.idx_vs[i] for i in self._joint_ids()])

    def root_positions(self, q: Array) -> Array:
        return np.concatenate([q[4:], q[1:4], q[:1]])

    def root_T(self, R: Array) -> Array:
        zero = np.zeros((3, 3))
        return np.block([[zero, R.T], [R.T, zero]])

    def root_Tdot_v(self, R: Array, v: Array) -> Array:
        return np.concatenate([-R.T @ np.cross(v[:3], v[3:]), np.zeros(3)])

    def derivatives(self, function: str, state: State, by_q: Array, by_v: Array, by_x: Array) -> list[Array]:
        # Only the upper triangle of a symmetric matrix is filled.
        by_x = np.triu(by_x) + np.triu(by_x, 1).T
        T, n = self.T(state.q), self.nv
        if not self.floating:
            into = T.T if function == INVERSE_DYNAMICS_DERIVATIVES else np.linalg.inv(T)
            return [into @ by_q @ T, into @ by_v @ T, into @ by_x @ into.T]
        # T and Tdot v = y vary with the rotation R of the root: dR = [e]x R.
        R, w, u = rotation_of_quaternion(state.q[:4]), state.v[:3], state.v[3:6]
        dT, dy, y_v = np.zeros((n, n, n)), np.zeros((n, n)), np.zeros((n, n))
        for j, e in enumerate(np.eye(3)):
            dR = np.cross(e, R, axisb=0, axisc=0)
            dT[j, :6, :6] = self.root_T(dR)
            dy[:6, j] = self.root_Tdot_v(dR, state.v[:6])
            y_v[:6, j] = self.root_Tdot_v(R, np.concatenate([e, u]))
            y_v[:6, 3 + j] = self.root_Tdot_v(R, np.concatenate([w, e]))
        y = self.Tdot_v(state)

        def columns(x: Array) -> Array:
            return np.array([dT[j] @ x for j in range(self.nv)]).T

        if function == INVERSE_DYNAMICS_DERIVATIVES:
            # tau = T' tau_own(q, T v, T vdot + y)
            own = np.array(self.namespace["rnea"](*self._own(state, T @ state.x + y)))
            turned = np.array([dT[j].T @ own for j in range(self.nv)]).T
            moved = by_q @ T + by_v @ columns(state.v) + by_x @ (columns(state.x) + dy)
            return [turned + T.T @ moved, T.T @ (by_v @ T + by_x @ y_v), T.T @ by_x @ T]
        # vdot = T^-1 (vdot_own(q, T v, T^-T tau) - y)
        inverse = np.linalg.inv(T)
        own = np.array(self.namespace["aba"](*self._own(state, inverse.T @ state.x)))
        turned = -columns(inverse @ (own - y))
        forces = -inverse.T @ np.array([dT[j].T @ (inverse.T @ state.x) for j in range(self.nv)]).T
        moved = by_q @ T + by_v @ columns(state.v) + by_x @ forces - dy
        return [inverse @ (turned + moved), inverse @ (by_v @ T - y_v), inverse @ by_x @ inverse.T]

    def _own(self, state: State, x: Array) -> tuple[Any, ...]:
        return self.namespace["model"], self.namespace["data"], self.q(state.q), self.T(state.q) @ state.v, x

    def poses(self, result: Any) -> Array:
        R, p = result if isinstance(result, tuple) else (result[:, :3, :3], result[:, :3, 3])
        frames = [self.pin_model.frames[self.pin_model.getFrameId(name)] for name in self.links]
        return homogeneous([(R[frame.parentJoint], p[frame.parentJoint]) for frame in frames])

    def jacobian(self, result: Any) -> Array:
        return np.concatenate([result[3:], result[:3]])


class PinocchioInBatches(BatchContender, Pinocchio):
    """The functions of Pinocchio on batches of states, which are columns of matrices."""

    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("rnea_in_parallel(threads, pool, q, v, x, tau)", "tau.T"),),
        FORWARD_DYNAMICS: (Call("aba_in_parallel(threads, pool, q, v, x, vdot)", "vdot.T"),),
    }

    def load(self) -> None:
        super().load()
        pin, threads = self.import_module(), mbt.get_num_threads()
        self.namespace |= {
            "rnea_in_parallel": pin.rneaInParallel,
            "aba_in_parallel": pin.abaInParallel,
            "threads": threads,
            "pool": pin.ModelPool(self.pin_model, threads),
            "tau": np.empty((self.nv, self.size), order="F"),
            "vdot": np.empty((self.nv, self.size), order="F"),
        }

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        rows = self.rows(super().arguments, function, state)
        return tuple(np.asfortranarray(np.transpose(values)) for values in zip(*rows, strict=True))


Pinocchio.batched = PinocchioInBatches


class Dynibo(Contender):
    """dynibo. Matrices are flat, in column-major order.

    The state of a free root is an object, made before the clock starts.
    """

    name = "dynibo"
    module = "dynibo"
    gravity_sign = -1.0
    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("inverse_dynamics(q, v, x, out=tau)", "tau"),),
        MASS_MATRIX: (Call("mass_matrix(q, out=M)", "M"),),
        FORWARD_DYNAMICS: (Call("forward_dynamics(q, v, x, out=vdot)", "vdot"),),
        BIAS_TERM: (Call("velocity_product_forces(q, v, out=tau)", "tau"),),
        GRAVITY_FORCES: (Call("gravity(q, out=tau)", "tau"),),
        BODY_POSES: (Call("forward_kinematics_all(q, out=X)", "X"),),
        FRAME_JACOBIAN: (Call("jacobian(q, link, out=J)", "J"),),
    }

    def load(self) -> None:
        self.dynibo = self.import_module()
        reader = self.dynibo.FloatingRobot if self.floating else self.dynibo.Robot
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            path.write_text(self.model.urdf)
            self.robot = robot = reader.from_urdf(str(path))
        statements = " ".join(call.statement for calls in self.calls.values() for call in calls)
        self.namespace = {name: getattr(robot, name) for name in re.findall(r"\w+(?=\()", statements)} | {
            "tau": np.empty(self.nv),
            "vdot": np.empty(self.nv),
            "M": np.empty(self.nv**2),
            "X": np.empty(7 * robot.link_count),
            "J": np.empty(6 * self.nv),
            "link": robot.link_id(self.links[-1]),
        }
        self.columns = self._find_columns()
        if self.floating:
            self.variables = "base, q, v, x"

    def statement(self, call: Call) -> str:
        return call.statement.replace("(q", "(base, q") if self.floating else call.statement

    def _find_columns(self) -> Array:
        """Return each joint's index: the first coordinate that moves its link but not the link's parent."""
        count = self.robot.joint_count
        root = [self.dynibo.BaseState()] if self.floating else []

        def link_poses(q: Array) -> Array:
            return self.robot.forward_kinematics_all(*root, q).reshape(-1, 7)

        rest = link_poses(np.zeros(count))
        moved = np.array([np.abs(link_poses(row) - rest).max(axis=1) > 0.0 for row in 0.1 * np.eye(count)])

        def movers(link: str) -> set[int]:
            return set(np.flatnonzero(moved[:, self.robot.link_id(link)])) if link != "world" else set()

        return np.array(
            [(movers(joint.child_body.name) - movers(joint.parent_body.name)).pop() for joint in self.joints]
        )

    def velocity_columns(self) -> Array:
        return self.columns + (6 if self.floating else 0)

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        q, v, x = super().arguments(function, state)
        if not self.floating:
            return q, v, x
        base = self.dynibo.BaseState(
            frame=self.dynibo.Pose(q[4:7], q[[1, 2, 3, 0]]),
            velocity=self.dynibo.Twist(v[:3], v[3:6]),
            acceleration=self.dynibo.Twist(x[:3], x[3:6]),
        )
        # Forces have entries for all degrees of freedom, accelerations only for the joints.
        return base, q[7:], v[6:], x if function == FORWARD_DYNAMICS else x[6:]

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        if function == MASS_MATRIX:
            result = result.reshape(self.nv, self.nv)
        return super().in_terms_of_mbt(function, state, result)

    def poses(self, result: Any) -> Array:
        rows = result.reshape(-1, 7)[[self.robot.link_id(name) for name in self.links]]
        return homogeneous([(rotation_of_quaternion(row[[6, 3, 4, 5]]), row[:3]) for row in rows])

    def jacobian(self, result: Any) -> Array:
        return np.array(result.reshape(self.nv, 6).T)


class MuJoCo(Contender):
    """MuJoCo without constraints.

    A free root has q = [position, w x y z] and v = [v in World; w in the root's axes].
    """

    name = "mujoco"
    module = "mujoco"
    gravity_sign = -1.0
    calls: ClassVar = {
        INVERSE_DYNAMICS: (
            Call("qpos[:] = q; qvel[:] = v; qacc[:] = x; mj_inverse(model, data)", "qfrc_inverse"),
            Call(
                "qpos[:] = q; qvel[:] = v; qacc[:] = x; mj_kinematics(model, data); "
                "mj_comPos(model, data); mj_comVel(model, data); mj_rne(model, data, 1, tau)",
                "tau",
            ),
        ),
        MASS_MATRIX: (
            Call(
                "qpos[:] = q; mj_kinematics(model, data); mj_comPos(model, data); "
                "mj_makeM(model, data); mj_fullM(model, data, M)",
                "M",
            ),
        ),
        FORWARD_DYNAMICS: (
            Call("qpos[:] = q; qvel[:] = v; qfrc_applied[:] = x; mj_forward(model, data)", "qacc"),
        ),
        BIAS_TERM: (
            Call(
                "qpos[:] = q; qvel[:] = v; mj_kinematics(weightless, data); mj_comPos(weightless, data); "
                "mj_comVel(weightless, data); mj_rne(weightless, data, 0, tau)",
                "tau",
            ),
        ),
        GRAVITY_FORCES: (
            Call(
                "qpos[:] = q; qvel[:] = 0; mj_kinematics(model, data); mj_comPos(model, data); "
                "mj_comVel(model, data); mj_rne(model, data, 0, tau)",
                "tau",
            ),
        ),
        BODY_POSES: (Call("qpos[:] = q; mj_kinematics(model, data)", "xmat, xpos"),),
        FRAME_JACOBIAN: (
            Call(
                "qpos[:] = q; mj_kinematics(model, data); mj_comPos(model, data); "
                "mj_jacBody(model, data, translational, rotational, body)",
                "J",
            ),
        ),
    }

    def load(self) -> None:
        mujoco = self.import_module()
        text = with_free_root(self.model) if self.floating else self.model.urdf
        self.mj_model = model = mujoco.MjModel.from_xml_string(text)
        model.opt.gravity[:] = 0, 0, -GRAVITY
        disable = mujoco.mjtDisableBit
        model.opt.disableflags = disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT | disable.mjDSBL_ACTUATION
        data = mujoco.MjData(model)
        fields = ("qpos", "qvel", "qacc", "qfrc_inverse", "qfrc_applied", "xmat", "xpos")
        statements = " ".join(call.statement for calls in self.calls.values() for call in calls)
        self.namespace = {name: getattr(data, name) for name in fields}
        self.namespace |= {name: getattr(mujoco, name) for name in re.findall(r"\bmj_\w+", statements)}
        weightless = copy.copy(model)
        weightless.opt.gravity[:] = 0
        J = np.empty((6, self.nv))
        self.namespace |= {
            "model": model,
            "weightless": weightless,
            "data": data,
            "body": model.body(self.links[-1]).id,
            "J": J,
            "rotational": J[:3],
            "translational": J[3:],
            "tau": np.empty(self.nv),
            "M": np.empty((self.nv, self.nv)),
        }

    def velocity_columns(self) -> Array:
        return np.array([self.mj_model.joint(joint.name).dofadr[0] for joint in self.joints])

    def root_positions(self, q: Array) -> Array:
        return np.concatenate([q[4:], q[:4]])

    def root_T(self, R: Array) -> Array:
        zero = np.zeros((3, 3))
        return np.block([[zero, np.eye(3)], [R.T, zero]])

    def poses(self, result: Any) -> Array:
        R, p = result
        bodies = [self.mj_model.body(i).name for i in range(self.mj_model.nbody)]
        # The root of a fixed model is part of the world body.
        ids = [bodies.index(name) if name in bodies else 0 for name in self.links]
        return homogeneous([(R[i].reshape(3, 3), p[i]) for i in ids])


class MuJoCoInBatches(BatchContender, MuJoCo):
    """Forward dynamics of many states as steps of one second each: velocities change by the accelerations."""

    variables = "initial, x"
    calls: ClassVar = {
        FORWARD_DYNAMICS: (
            Call(
                "rollout(model, data, initial, x, control_spec=APPLIED, nstep=1, state=states, "
                "sensordata=nothing, skip_checks=True)",
                "(states[:, 0] - initial)[:, velocities]",
            ),
        ),
    }

    def load(self) -> None:
        super().load()
        mujoco, rollout = self.import_module(), importlib.import_module("mujoco.rollout")
        model, threads = self.mj_model, mbt.get_num_threads()
        model.opt.timestep = 1.0
        #: Number of entries before the positions: the time.
        self.head = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_TIME)
        self.num_numbers = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
        start = self.head + model.nq
        # Without a pool, rollouts run on the calling thread.
        self.namespace |= {
            "model": [model] * self.size,
            "data": [mujoco.MjData(model) for _ in range(threads)],
            "rollout": rollout.Rollout(nthread=threads if threads > 1 else 0).rollout,
            "APPLIED": int(mujoco.mjtState.mjSTATE_QFRC_APPLIED),
            "states": np.empty((self.size, 1, self.num_numbers)),
            "nothing": None,
            "velocities": slice(start, start + self.nv),
        }

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        rows = self.rows(super().arguments, function, state)
        q, v, x = map(np.array, zip(*rows, strict=True))
        initial = np.zeros((self.size, self.num_numbers))
        initial[:, self.head : self.head + q.shape[1]] = q
        initial[:, self.namespace["velocities"]] = v
        return initial, x[:, None]


MuJoCo.batched = MuJoCoInBatches


class Drake(Contender):
    """Drake, on a plant without a time step; gradients by its scalar type AutoDiffXd."""

    name = "drake"
    module = "pydrake.multibody.plant"
    variables = "q, v, x, state"
    calls: ClassVar = {
        INVERSE_DYNAMICS: (
            Call(
                "set_state(context, state); force_elements(context, forces); "
                "tau = inverse_dynamics(context, x, forces)",
                "tau",
            ),
        ),
        MASS_MATRIX: (
            Call("set_positions(context, q); M = mass_matrix(context)", "M"),
            Call("set_positions(context, q); M = mass_matrix_via_inverse_dynamics(context)", "M"),
        ),
        FORWARD_DYNAMICS: (
            Call(
                "set_state(context, state); applied.GetMutableData().get_mutable_value().SetFromVector(x); "
                "vdot = accelerations(context)",
                "vdot",
            ),
        ),
        BIAS_TERM: (Call("set_state(context, state); Cv = bias_term(context)", "Cv"),),
        GRAVITY_FORCES: (Call("set_positions(context, q); g = gravity_forces(context)", "g"),),
        FRAME_JACOBIAN: (
            Call(
                "set_positions(context, q); J = frame_jacobian(context, V, frame, origin, world, world)", "J"
            ),
        ),
        BODY_POSES: (
            Call(
                "set_positions(context, q); "
                "X = array([pose(context, body).GetAsMatrix4() for body in bodies])",
                "X",
            ),
            Call("set_positions(context, q); X = array([X.GetAsMatrix4() for X in poses(context)])", "X"),
        ),
        INVERSE_DYNAMICS_GRADIENT: (
            Call(
                "ad_set_state(ad_context, state); ad_force_elements(ad_context, ad_forces); "
                "tau = ad_inverse_dynamics(ad_context, x, ad_forces)",
                "gradient(tau)",
            ),
        ),
        FORWARD_DYNAMICS_GRADIENT: (
            Call(
                "ad_set_state(ad_context, state); "
                "ad_applied.GetMutableData().get_mutable_value().SetFromVector(x); "
                "vdot = ad_accelerations(ad_context)",
                "gradient(vdot)",
            ),
        ),
    }

    def load(self) -> None:
        drake = self.import_module()
        parser = importlib.import_module("pydrake.multibody.parsing").Parser
        self.plant = plant = drake.MultibodyPlant(0.0)
        parser(plant).AddModelsFromString(self.model.urdf, "urdf")
        if not self.floating and self.model.root != "world":
            plant.WeldFrames(plant.world_frame(), plant.GetBodyByName(self.model.root).body_frame())
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        plant.Finalize()
        context, force_port = plant.CreateDefaultContext(), plant.get_applied_generalized_force_input_port()
        tree_module = importlib.import_module("pydrake.multibody.tree")
        self.bodies = [plant.GetBodyByName(name) for name in self.links]
        self.namespace = {
            "context": context,
            "forces": tree_module.MultibodyForces(plant),
            "set_state": plant.SetPositionsAndVelocities,
            "set_positions": plant.SetPositions,
            "array": np.array,
            "force_elements": plant.CalcForceElementsContribution,
            "inverse_dynamics": plant.CalcInverseDynamics,
            "mass_matrix": plant.CalcMassMatrix,
            "mass_matrix_via_inverse_dynamics": plant.CalcMassMatrixViaInverseDynamics,
            "bias_term": plant.CalcBiasTerm,
            "gravity_forces": plant.CalcGravityGeneralizedForces,
            "frame_jacobian": plant.CalcJacobianSpatialVelocity,
            "V": tree_module.JacobianWrtVariable.kV,
            "frame": self.bodies[-1].body_frame(),
            "origin": np.zeros(3),
            "world": plant.world_frame(),
            "applied": force_port.FixValue(context, np.zeros(self.nv)),
            "accelerations": plant.get_generalized_acceleration_output_port().Eval,
            "pose": plant.EvalBodyPoseInWorld,
            "poses": plant.get_body_poses_output_port().Eval,
            "bodies": self.bodies,
        }
        self._load_autodiff(tree_module)

    def _load_autodiff(self, tree_module: Any) -> None:
        self.autodiff = importlib.import_module("pydrake.autodiffutils")
        plant = self.plant.ToAutoDiffXd()
        context, force_port = plant.CreateDefaultContext(), plant.get_applied_generalized_force_input_port()
        self.namespace |= {
            "ad_context": context,
            "ad_forces": tree_module.MultibodyForces_[self.autodiff.AutoDiffXd](plant),
            "ad_set_state": plant.SetPositionsAndVelocities,
            "ad_force_elements": plant.CalcForceElementsContribution,
            "ad_inverse_dynamics": plant.CalcInverseDynamics,
            "ad_applied": force_port.FixValue(context, self.autodiff.InitializeAutoDiff(np.zeros(self.nv))),
            "ad_accelerations": plant.get_generalized_acceleration_output_port().Eval,
            "gradient": self.autodiff.ExtractGradient,
            # The plant must outlive the objects that refer to it.
            "ad_plant": plant,
        }

    def velocity_columns(self) -> Array:
        return np.array([self.plant.GetJointByName(joint.name).velocity_start() for joint in self.joints])

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        q, v, x = super().arguments(function, state)
        if function in GRADIENTS:
            q, v, x = (column[:, 0] for column in self.autodiff.InitializeAutoDiffTuple(q, v, x))
        return q, v, x, np.concatenate([q, v])

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        if function not in GRADIENTS:
            return super().in_terms_of_mbt(function, state, result)
        # Reorder rows and directions.
        nq, nv = self.tree.num_positions, self.nv
        q = self.q(np.arange(nq)).argsort()
        v = (self.T(state.q) @ np.arange(nv)).argsort()
        columns = np.concatenate([q, nq + v, nq + nv + v])
        return np.asarray(result)[np.ix_(v, columns)]

    def poses(self, result: Any) -> Array:
        if len(result) > len(self.bodies):
            result = result[[int(body.index()) for body in self.bodies]]
        return np.asarray(result)
