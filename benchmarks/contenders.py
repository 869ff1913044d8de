"""The libraries under comparison: for each function the Python statements that call it, and its result in mbt's terms.

Every contender gets its arguments in its own convention, prepared before the clock starts. Where a library offers
several ways to the same result, all are listed; the comparison keeps the fastest.
"""

from __future__ import annotations

import importlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from models import ROOT, Array, BenchmarkModel, with_free_root

import mbt

GRAVITY = 9.80665  # one of the contenders has it built in

INVERSE_DYNAMICS = "inverse dynamics"
MASS_MATRIX = "mass matrix"
FORWARD_DYNAMICS = "forward dynamics"
BODY_POSES = "body poses"
FUNCTIONS = (INVERSE_DYNAMICS, MASS_MATRIX, FORWARD_DYNAMICS, BODY_POSES)


@dataclass(frozen=True)
class State:
    """Positions, velocities and an input (accelerations or forces), in mbt's order and conventions."""

    q: Array
    v: Array
    x: Array


@dataclass(frozen=True)
class Call:
    """A statement on q, v and x, and the expression of its result."""

    statement: str
    result: str


class Contender:
    """One library on one model.

    Velocities are related to mbt's by ``v_own = T v``, accelerations by ``vdot_own = T vdot + Tdot v``.
    """

    name = ""
    module = ""
    calls: ClassVar[dict[str, tuple[Call, ...]]] = {}

    def __init__(self, model: BenchmarkModel, tree: Any) -> None:
        self.model, self.tree = model, tree
        self.floating = model.floating
        self.nv = tree.num_velocities
        #: Moving links, in mbt's order, and the joints inboard of them.
        self.links = [body.name for body in tree.bodies if body.name != "world"]
        self.joints = [joint for joint in tree.joints if joint.num_velocities == 1]
        self.namespace: dict[str, Any] = {}
        self.load()

    def load(self) -> None:
        """Read the model and fill the namespace of the statements."""
        raise NotImplementedError

    # Conventions ------------------------------------------------------------------------------------------------

    def velocity_columns(self) -> Array:
        """Return the own velocity index of each of mbt's one-dof joints."""
        raise NotImplementedError

    def position_columns(self) -> Array:
        """Return the own position index of each of mbt's one-dof joints."""
        return self.velocity_columns() + (1 if self.floating else 0)

    def root_positions(self, q: Array) -> Array:
        """Return the positions of a free root, from [w x y z] and place."""
        return q

    def root_T(self, R: Array) -> Array:
        """Return T of a free root with rotation R, for v = [w; v], both in World."""
        return np.eye(6)

    def root_Tdot_v(self, R: Array, v: Array) -> Array:
        """Return Tdot v of a free root."""
        return np.zeros(6)

    def q(self, q: Array) -> Array:
        """Return mbt's positions in the contender's order."""
        result = np.zeros(len(q))
        if self.floating:
            result[:7] = self.root_positions(q[:7])
        result[self.position_columns()] = q[[joint.position_start for joint in self.joints]]
        return result

    def T(self, q: Array) -> Array:
        """Return T, (nv, nv)."""
        result = np.zeros((self.nv, self.nv))
        if self.floating:
            result[:6, :6] = self.root_T(rotation_of_quaternion(q[:4]))
        result[self.velocity_columns(), [joint.velocity_start for joint in self.joints]] = 1.0
        return result

    def Tdot_v(self, state: State) -> Array:
        """Return Tdot v, (nv,)."""
        result = np.zeros(self.nv)
        if self.floating:
            result[:6] = self.root_Tdot_v(rotation_of_quaternion(state.q[:4]), state.v[:6])
        return result

    def arguments(self, function: str, state: State) -> tuple[Any, ...]:
        """Return q, v and x of the statements."""
        T = self.T(state.q)
        x = T @ state.x + self.Tdot_v(state)
        if function == FORWARD_DYNAMICS:
            x = np.linalg.solve(T.T, state.x)
        return self.q(state.q), T @ state.v, x

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        """Return a result of the contender as mbt would give it."""
        T = self.T(state.q)
        if function == INVERSE_DYNAMICS:
            return T.T @ result
        if function == MASS_MATRIX:
            return T.T @ result @ T
        if function == FORWARD_DYNAMICS:
            return np.linalg.solve(T, result - self.Tdot_v(state))
        return self.poses(result)

    def poses(self, result: Any) -> Array:
        """Return the poses of the moving links, (num_links, 4, 4)."""
        raise NotImplementedError

    def import_module(self) -> Any:
        """Return the library."""
        return importlib.import_module(self.module)


def rotation_of_quaternion(q: Array) -> Array:
    """Return the rotation of a unit quaternion w, x, y, z."""
    w, x, y, z = q
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


class Functional(Contender):
    """The functions of `mbt.functional`, which take arrays."""

    name = "mbt"
    module = "mbt"
    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("inverse_dynamics(tree, q, v, x, out=tau)", "tau"),),
        MASS_MATRIX: (Call("mass_matrix(tree, q, out=M)", "M"),),
        FORWARD_DYNAMICS: (Call("forward_dynamics(tree, q, v, x, out=vdot)", "vdot"),),
        BODY_POSES: (Call("body_poses(tree, q, out=X_WB)", "X_WB"),),
    }

    def load(self) -> None:
        nv, nb = self.nv, self.tree.num_bodies
        functions = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "body_poses")
        self.namespace = {name: getattr(mbt.functional, name) for name in functions} | {
            "tree": self.tree,
            "tau": np.empty(nv),
            "vdot": np.empty(nv),
            "M": np.empty((nv, nv)),
            "X_WB": np.empty((nb, 4, 4)),
        }

    def velocity_columns(self) -> Array:
        return np.array([joint.velocity_start for joint in self.joints])

    def poses(self, result: Any) -> Array:
        return np.array([result[self.tree.get_body_by_name(name).node_index] for name in self.links])


class WithContext(Functional):
    """The methods of a tree, which take a Context."""

    name = "mbt Context"
    calls: ClassVar = {
        INVERSE_DYNAMICS: (
            Call(
                "context.q = q; context.v = v; "
                "inverse_dynamics(context, x, include_force_elements=True, out=tau)",
                "tau",
            ),
        ),
        MASS_MATRIX: (Call("context.q = q; mass_matrix(context, out=M)", "M"),),
        FORWARD_DYNAMICS: (
            Call("context.q = q; context.v = v; forward_dynamics(context, x, out=vdot)", "vdot"),
        ),
        BODY_POSES: (
            Call("context.q = q; X_WB = eval_position_kinematics(context).X_WB", "X_WB"),
            Call("body_poses(tree, q, out=X_WB)", "X_WB"),
        )[:1],
    }

    def load(self) -> None:
        super().load()
        self.namespace |= {
            "context": self.tree.create_default_context(),
            "inverse_dynamics": self.tree.calc_inverse_dynamics,
            "mass_matrix": self.tree.calc_mass_matrix,
            "forward_dynamics": self.tree.calc_forward_dynamics,
            "eval_position_kinematics": self.tree.eval_position_kinematics,
        }


class Pinocchio(Contender):
    """Pinocchio. A free root has q = [place, x y z w] and v in the root's axes, translational first."""

    name = "pin"
    module = "pinocchio"
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
        BODY_POSES: (
            Call("forward_kinematics(model, data, q); X = array([X.homogeneous for X in poses()])", "X"),
            Call("forward_kinematics(model, data, q); stack(rotations, out=R); stack(places, out=p)", "R, p"),
        ),
    }

    def load(self) -> None:
        pin = self.import_module()
        root = [pin.JointModelFreeFlyer()] if self.floating else []
        self.pin_model = model = pin.buildModelFromXML(self.model.urdf, *root)
        model.gravity.linear = np.array([0, 0, -GRAVITY])
        data = model.createData()
        self.namespace = {
            "rnea": pin.rnea,
            "crba": pin.crba,
            "aba": pin.aba,
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

    def poses(self, result: Any) -> Array:
        R, p = result if isinstance(result, tuple) else (result[:, :3, :3], result[:, :3, 3])
        frames = [self.pin_model.frames[self.pin_model.getFrameId(name)] for name in self.links]
        return homogeneous([(R[frame.parentJoint], p[frame.parentJoint]) for frame in frames])


class Dynibo(Contender):
    """dynibo. The state of a free root is an object, made before the clock starts; matrices are columns in a row."""

    name = "dynibo"
    module = "dynibo"
    calls: ClassVar = {
        INVERSE_DYNAMICS: (Call("inverse_dynamics(*q, v, x, out=tau)", "tau"),),
        MASS_MATRIX: (Call("mass_matrix(*q, out=M)", "M"),),
        FORWARD_DYNAMICS: (Call("forward_dynamics(*q, v, x, out=vdot)", "vdot"),),
        BODY_POSES: (Call("forward_kinematics_all(*q, out=X)", "X"),),
    }

    def load(self) -> None:
        self.dynibo = self.import_module()
        reader = self.dynibo.FloatingRobot if self.floating else self.dynibo.Robot
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "robot.urdf")
            path.write_text(self.model.urdf)
            self.robot = robot = reader.from_urdf(str(path))
        functions = ("inverse_dynamics", "mass_matrix", "forward_dynamics", "forward_kinematics_all")
        self.namespace = {name: getattr(robot, name) for name in functions} | {
            "tau": np.empty(self.nv),
            "vdot": np.empty(self.nv),
            "M": np.empty(self.nv**2),
            "X": np.empty(7 * robot.link_count),
        }
        self.columns = self._find_columns()

    def _find_columns(self) -> Array:
        """Return where each joint is: the first coordinate that moves its link but not the link's parent."""
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
            return (q,), v, x
        base = self.dynibo.BaseState(
            frame=self.dynibo.Pose(q[4:7], q[[1, 2, 3, 0]]),
            velocity=self.dynibo.Twist(v[:3], v[3:6]),
            acceleration=self.dynibo.Twist(x[:3], x[3:6]),
        )
        # Forces are those of all degrees of freedom, accelerations those of the joints.
        return (base, q[7:]), v[6:], x if function == FORWARD_DYNAMICS else x[6:]

    def in_terms_of_mbt(self, function: str, state: State, result: Any) -> Array:
        if function == MASS_MATRIX:
            result = result.reshape(self.nv, self.nv)
        return super().in_terms_of_mbt(function, state, result)

    def poses(self, result: Any) -> Array:
        rows = result.reshape(-1, 7)[[self.robot.link_id(name) for name in self.links]]
        return homogeneous([(rotation_of_quaternion(row[[6, 3, 4, 5]]), row[:3]) for row in rows])


class MuJoCo(Contender):
    """MuJoCo without constraints. A free root has q = [place, w x y z] and v = [v in World; w in the root's axes]."""

    name = "mujoco"
    module = "mujoco"
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
        BODY_POSES: (Call("qpos[:] = q; mj_kinematics(model, data)", "xmat, xpos"),),
    }

    def load(self) -> None:
        mujoco = self.import_module()
        text = with_free_root(self.model.urdf) if self.floating else self.model.urdf
        self.mj_model = model = mujoco.MjModel.from_xml_string(text)
        model.opt.gravity[:] = 0, 0, -GRAVITY
        disable = mujoco.mjtDisableBit
        model.opt.disableflags = disable.mjDSBL_CONSTRAINT | disable.mjDSBL_CONTACT | disable.mjDSBL_ACTUATION
        data = mujoco.MjData(model)
        fields = ("qpos", "qvel", "qacc", "qfrc_inverse", "qfrc_applied", "xmat", "xpos")
        functions = [word for calls in self.calls.values() for call in calls for word in _words(call.statement)]
        self.namespace = {name: getattr(data, name) for name in fields}
        self.namespace |= {name: getattr(mujoco, name) for name in functions if name.startswith("mj_")}
        self.namespace |= {
            "model": model,
            "data": data,
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
        # The root of a fixed model is part of the world body.
        ids = [0 if name == ROOT or not self._has(name) else self.mj_model.body(name).id for name in self.links]
        if self.floating:
            ids = [self.mj_model.body(name).id for name in self.links]
        return homogeneous([(R[i].reshape(3, 3), p[i]) for i in ids])

    def _has(self, name: str) -> bool:
        return name in [self.mj_model.body(i).name for i in range(self.mj_model.nbody)]


class Drake(Contender):
    """Drake, on a plant without a time step."""

    name = "drake"
    module = "pydrake.multibody.plant"
    calls: ClassVar = {
        INVERSE_DYNAMICS: (
            Call(
                "set_state(context, q_and_v(q, v)); force_elements(context, forces); "
                "tau = inverse_dynamics(context, x, forces)",
                "tau",
            ),
        ),
        MASS_MATRIX: (
            Call("set_positions(context, q); M = mass_matrix(context)", "M"),
            Call("set_positions(context, q); M = mass_matrix_via_inverse_dynamics(context)", "M"),
        ),
        FORWARD_DYNAMICS: (
            Call("set_state(context, q_and_v(q, v)); fix(context, x); vdot = accelerations(context)", "vdot"),
        ),
        BODY_POSES: (
            Call(
                "set_positions(context, q); "
                "X = array([pose(context, body).GetAsMatrix4() for body in bodies])",
                "X",
            ),
            Call("set_positions(context, q); X = array([X.GetAsMatrix4() for X in poses(context)])", "X"),
        ),
    }

    def load(self) -> None:
        drake = self.import_module()
        parser = importlib.import_module("pydrake.multibody.parsing").Parser
        self.plant = plant = drake.MultibodyPlant(0.0)
        parser(plant).AddModelsFromString(self.model.urdf, "urdf")
        root = plant.GetBodyByName(self.tree.bodies[1].name)
        if not self.floating:
            plant.WeldFrames(plant.world_frame(), root.body_frame())
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -GRAVITY])
        plant.Finalize()
        tree_module = importlib.import_module("pydrake.multibody.tree")
        self.bodies = [plant.GetBodyByName(name) for name in self.links]
        self.namespace = {
            "context": plant.CreateDefaultContext(),
            "forces": tree_module.MultibodyForces(plant),
            "set_state": plant.SetPositionsAndVelocities,
            "set_positions": plant.SetPositions,
            "q_and_v": lambda q, v: np.concatenate((q, v)),
            "array": np.array,
            "force_elements": plant.CalcForceElementsContribution,
            "inverse_dynamics": plant.CalcInverseDynamics,
            "mass_matrix": plant.CalcMassMatrix,
            "mass_matrix_via_inverse_dynamics": plant.CalcMassMatrixViaInverseDynamics,
            "fix": plant.get_applied_generalized_force_input_port().FixValue,
            "accelerations": plant.get_generalized_acceleration_output_port().Eval,
            "pose": plant.EvalBodyPoseInWorld,
            "poses": plant.get_body_poses_output_port().Eval,
            "bodies": self.bodies,
        }

    def velocity_columns(self) -> Array:
        return np.array([self.plant.GetJointByName(joint.name).velocity_start() for joint in self.joints])

    def poses(self, result: Any) -> Array:
        if len(result) > len(self.bodies):
            result = result[[int(body.index()) for body in self.bodies]]
        return np.asarray(result)


def homogeneous(poses: list[tuple[Array, Array]]) -> Array:
    """Return 4 x 4 matrices of rotations and places."""
    result = np.tile(np.eye(4), (len(poses), 1, 1))
    for X, (R, p) in zip(result, poses, strict=True):
        X[:3, :3], X[:3, 3] = R, p
    return result


def _words(statement: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in statement).split()


CONTENDERS: tuple[type[Contender], ...] = (Functional, WithContext, Pinocchio, Dynibo, MuJoCo, Drake)
