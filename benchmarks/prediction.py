"""Ticks of planners and filters that predict steps: iLQR, extended and unscented Kalman filters.

Each is written once, with NumPy, and uses semi-implicit Euler steps and their derivatives from mbt, Pinocchio
or MuJoCo. Motors drive all hinges; cost and covariance involve only the hinges, so that results do not depend
on the coordinates of a floating base, which differ between the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from mbt import functional
from models import BenchmarkModel, with_free_root

try:
    import pinocchio as pin
except ImportError:
    pin = None
try:
    import mujoco
except ImportError:
    mujoco = None

F = functional
DT = 1e-3
#: Steps in the horizon of an iLQR pass.
HORIZON = 100


class MbtSteps:
    """Steps by `mbt.functional`, for many states in one call."""

    def __init__(self, model: BenchmarkModel) -> None:
        self.tree = mbt.load_model(model.urdf, base="floating" if model.floating else None)
        self.joints = [joint for joint in self.tree.joints if joint.num_velocities == 1]
        self.hinges = np.array([joint.velocity_start for joint in self.joints])
        self.nv = self.tree.num_velocities

    def take(self, q: Any, v: Any) -> tuple[Any, Any]:
        """Return states of mbt in the coordinates of this library."""
        return q, v

    def force(self, u: Any) -> Any:
        """Return the generalized forces of the motors."""
        tau = np.zeros((*u.shape[:-1], self.nv))
        tau[..., self.hinges] = u
        return tau

    def linearize(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the derivatives of steps with respect to the states and the motors."""
        A, B = F.step_derivatives(self.tree, q, v, self.force(u), DT)
        return A, B[..., self.hinges]

    def step(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the state one step later."""
        return F.step(self.tree, q, v, self.force(u), DT)

    def spread(self, q: Any, v: Any, changes: Any, u: Any) -> Any:
        """Return differences of the next states from the first, for states that differ by `changes`."""
        tree, n = self.tree, self.nv
        q1, v1 = F.step(
            tree, F.integrate_positions(tree, q, changes[:, :n], 1.0), v + changes[:, n:], self.force(u), DT
        )
        return np.concatenate([F.difference_positions(tree, q1[0], q1), v1 - v1[0]], axis=1)


class PinSteps:
    """Steps by Pinocchio, one state after the other."""

    def __init__(self, model: BenchmarkModel, mine: MbtSteps) -> None:
        roots = [joint.name for joint in mine.tree.joints if joint.num_velocities == 6]
        base = (pin.JointModelFreeFlyer(), *roots) if roots else ()
        self.model = pin.buildModelFromXML(model.urdf, *base)
        self.data = self.model.createData()
        self.coordinates = mbt.interop.PinocchioCoordinates(mine.tree, self.model)
        joints = [self.model.joints[self.model.getJointId(joint.name)] for joint in mine.joints]
        self.hinges = np.array([joint.idx_v for joint in joints])
        self.nv = self.model.nv
        self.identity = np.eye(self.nv)

    def take(self, q: Any, v: Any) -> tuple[Any, Any]:
        """Return states of mbt in the coordinates of this library."""
        return self.coordinates.q_to_pinocchio(q), self.coordinates.v_to_pinocchio(q, v)

    force = MbtSteps.force

    def linearize(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the derivatives of steps with respect to the states and the motors."""
        n, tau = self.nv, self.force(u)
        if q.ndim == 1:
            A, B = self.linearize_one(q, v, tau)
            return A, B[:, self.hinges]
        A, B = np.empty((len(q), 2 * n, 2 * n)), np.empty((len(q), 2 * n, n))
        for i in range(len(q)):
            A[i], B[i] = self.linearize_one(q[i], v[i], tau[i])
        return A, B[..., self.hinges]

    def linearize_one(self, q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
        """Return the derivatives with respect to the state and the generalized forces."""
        n = self.nv
        by_q, by_v, by_tau = pin.computeABADerivatives(self.model, self.data, q, v, tau)
        J_q, J_v = pin.dIntegrate(self.model, q, DT * (v + DT * self.data.ddq))
        A, B = np.empty((2 * n, 2 * n)), np.empty((2 * n, n))
        A[n:, :n], A[n:, n:], B[n:] = DT * by_q, self.identity + DT * by_v, DT * by_tau
        J_v = DT * J_v
        A[:n], B[:n] = J_v @ A[n:], J_v @ B[n:]
        A[:n, :n] += J_q
        return A, B

    def step(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the state one step later."""
        v1 = v + DT * pin.aba(self.model, self.data, q, v, self.force(u))
        return pin.integrate(self.model, q, DT * v1), v1

    def spread(self, q: Any, v: Any, changes: Any, u: Any) -> Any:
        """Return differences of the next states from the first, for states that differ by `changes`."""
        n = self.nv
        ends = [self.step(pin.integrate(self.model, q, x[:n]), v + x[n:], u) for x in changes]
        q1, v1 = ends[0]
        return np.array([np.concatenate([pin.difference(self.model, q1, a), b - v1]) for a, b in ends])


class MujocoSteps:
    """Steps by MuJoCo, which differentiates by finite differences, one state after the other."""

    def __init__(self, model: BenchmarkModel, mine: MbtSteps) -> None:
        text = with_free_root(model) if model.floating else model.urdf
        # Give the joint of the base the name that it has in mbt.
        spec = mujoco.MjSpec.from_string(text.replace("free_root", mine.tree.joints[-1].name))
        coordinates = mbt.interop.MujocoCoordinates(mine.tree, spec.compile())
        self.q_of, self.v_of = coordinates.q_to_mujoco, coordinates.v_to_mujoco
        for joint in mine.joints:
            spec.add_actuator(name=joint.name, target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        self.model = spec.compile()
        self.model.opt.timestep = DT
        self.model.opt.gravity = (0.0, 0.0, -9.81)
        disabled = mujoco.mjtDisableBit
        self.model.opt.disableflags |= disabled.mjDSBL_LIMIT | disabled.mjDSBL_EULERDAMP
        self.model.opt.disableflags |= disabled.mjDSBL_CONTACT
        self.data = mujoco.MjData(self.model)
        self.hinges = np.array([self.model.joint(joint.name).dofadr[0] for joint in mine.joints])
        self.nv = self.model.nv

    def take(self, q: Any, v: Any) -> tuple[Any, Any]:
        """Return states of mbt in the coordinates of this library."""
        return self.q_of(q), self.v_of(q, v)

    def place(self, q: Any, v: Any, u: Any) -> Any:
        """Write a state into the data."""
        data = self.data
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, u
        return data

    def linearize(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the derivatives of steps with respect to the states and the motors."""
        states = q.reshape(-1, self.model.nq), v.reshape(-1, self.nv), u.reshape(-1, len(self.hinges))
        count = len(states[0])
        A, B = np.empty((count, 2 * self.nv, 2 * self.nv)), np.empty((count, 2 * self.nv, len(self.hinges)))
        for i, state in enumerate(zip(*states, strict=True)):
            mujoco.mjd_transitionFD(self.model, self.place(*state), 1e-6, False, A[i], B[i], None, None)
        return A.reshape(*q.shape[:-1], *A.shape[1:]), B.reshape(*q.shape[:-1], *B.shape[1:])

    def step(self, q: Any, v: Any, u: Any) -> tuple[Any, Any]:
        """Return the state one step later."""
        data = self.place(q, v, u)
        mujoco.mj_step(self.model, data)
        return data.qpos.copy(), data.qvel.copy()

    def spread(self, q: Any, v: Any, changes: Any, u: Any) -> Any:
        """Return differences of the next states from the first, for states that differ by `changes`."""
        n, ends = self.nv, []
        for x in changes:
            there = q.copy()
            mujoco.mj_integratePos(self.model, there, x[:n], 1.0)
            ends.append(self.step(there, v + x[n:], u))
        differences = np.empty((len(ends), 2 * n))
        for difference, (q1, v1) in zip(differences, ends, strict=True):
            mujoco.mj_differentiatePos(self.model, difference[:n], 1.0, ends[0][0], q1)
            difference[n:] = v1 - ends[0][1]
        return differences


def linearize_all(steps: Any, q: Any, v: Any, u: Any) -> dict[str, Any]:
    """Return the derivatives of the hinges' velocities after a step with respect to the motors."""
    _, B = steps.linearize(q, v, u)
    return {"B": B[:, steps.nv + steps.hinges]}


def plan(steps: Any, q: Any, v: Any, u: Any, gradient: Any) -> dict[str, Any]:
    """Run a backward pass of iLQR over the states, (HORIZON, ...), for a cost with this gradient."""
    A, B = steps.linearize(q, v, u)
    n, m = steps.nv, len(steps.hinges)
    places = np.concatenate([steps.hinges, n + steps.hinges])
    hessian = np.zeros(2 * n)
    hessian[places] = 1.0
    W, R = np.diag(hessian), 1e-3 * np.eye(m)
    gradients = np.zeros((len(gradient), 2 * n))
    gradients[:, places] = gradient
    V, g = 100.0 * W, 100.0 * gradients[-1]
    decrease = 0.0
    for i in range(len(A) - 1, -1, -1):
        VA, VB = V @ A[i], V @ B[i]
        force, coupling = B[i].T @ g + 1e-3 * u[i], B[i].T @ VA
        k = np.linalg.solve(R + B[i].T @ VB, np.column_stack([force, coupling]))
        decrease += 0.5 * force @ k[:, 0]
        g = gradients[i] + A[i].T @ g - coupling.T @ k[:, 0]
        V = W + A[i].T @ VA - coupling.T @ k[:, 1:]
        V = 0.5 * (V + V.T)
    return {"decrease": np.array(decrease), "forward": k[:, 0]}


def predict(steps: Any, q: Any, v: Any, u: Any, P: Any) -> dict[str, Any]:
    """Run the prediction of an extended Kalman filter: the next state and its covariance."""
    A, _ = steps.linearize(q, v, u)
    _, v1 = steps.step(q, v, u)
    return {"v": v1, "P": A @ P @ A.T + 1e-6 * np.eye(len(P))}


def predict_unscented(steps: Any, q: Any, v: Any, u: Any, P: Any) -> dict[str, Any]:
    """Run the prediction of an unscented Kalman filter, with two states per direction and one more."""
    L = np.linalg.cholesky(P).T
    d = steps.spread(q, v, np.concatenate([np.zeros((1, len(P))), L, -L]), u)
    d = d - d.mean(0)
    return {"P": d.T @ d / 2.0}


def prediction_ticks(model: BenchmarkModel) -> dict[str, dict[str, Callable[[], Any]]]:
    """Return the ticks of a model, each by the names of the libraries that compute it."""
    mine = MbtSteps(model)
    contenders: dict[str, Any] = {"mbt": mine}
    if pin is not None:
        contenders["pin"] = PinSteps(model, mine)
    if mujoco is not None:
        contenders["mujoco"] = MujocoSteps(model, mine)
    rng = np.random.default_rng(0)
    m = len(mine.hinges)
    u = rng.normal(size=(HORIZON, m))
    # States along a path, so that the tangent space at the end of a step is that of the next state.
    start = mine.tree.random_positions(rng), rng.normal(size=mine.nv)
    q, v = (x[:-1] for x in F.rollout(mine.tree, *start, mine.force(u), DT))
    gradient = rng.normal(size=(HORIZON, 2 * m))
    ticks: dict[str, dict[str, Callable[[], Any]]] = {"derivatives": {}, "iLQR": {}, "EKF": {}, "UKF": {}}
    for name, steps in contenders.items():
        states = steps.take(q, v)
        state = states[0][0], states[1][0], u[0]
        # A variance for the hinges; almost none for other coordinates, which differ between libraries.
        P = 1e-12 * np.eye(2 * steps.nv)
        places = np.concatenate([steps.hinges, steps.nv + steps.hinges])
        P[places, places] = 1e-6

        block = np.ix_(places, places)

        def of_hinges(result: Any, steps: Any = steps, block: Any = block) -> Any:
            result["P"] = result["P"][block]
            if "v" in result:
                result["v"] = result["v"][steps.hinges]
            return result

        ticks["derivatives"][name] = lambda s=steps, x=states: linearize_all(s, *x, u)
        ticks["iLQR"][name] = lambda s=steps, x=states: plan(s, *x, u, gradient)
        ticks["EKF"][name] = lambda s=steps, x=state, P=P, f=of_hinges: f(predict(s, *x, P))
        ticks["UKF"][name] = lambda s=steps, x=state, P=P, f=of_hinges: f(predict_unscented(s, *x, P))
    return {f"{model.name}: {tick}": calls for tick, calls in ticks.items()}
