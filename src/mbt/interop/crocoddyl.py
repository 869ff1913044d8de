"""Trees in optimal control with Crocoddyl: states, dynamics, and residuals of frames for its costs.

States are ``x = [q; v]``, and their changes tangents ``[dq; dv]``. Kernels of mbt compute dynamics and
their analytic derivatives; problems and solvers are Crocoddyl's. The models run in Python, on one thread.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from mbt import functional
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingPackageError,
    SingularityError,
    quote,
)
from mbt.math import (
    exp_so3,
    inverse_pose,
    left_jacobian_inverse_so3,
    left_jacobian_so3,
    log_se3,
    right_jacobian_inverse_se3,
)
from mbt.math.arrays import FloatArray, as_finite_array, as_float_array
from mbt.math.poses import as_pose
from mbt.motion.operands import check_method
from mbt.motion.stages import find_turning_dofs
from mbt.tree import Frame, MultibodyTree, RigidBody
from mbt.tree.frame import as_frame

try:
    import crocoddyl
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.crocoddyl needs crocoddyl 3.2 or newer, which is not installed: "
        "pip install 'multibodytree[crocoddyl]'"
    ) from error

__all__ = [
    "ActionModelTree",
    "DifferentialActionModelTree",
    "ResidualModelFramePose",
    "ResidualModelFrameTranslation",
    "ResidualModelTreeState",
    "make_state",
]

# Works whether or not Crocoddyl comes with types.
_State: Any = crocoddyl.StateAbstract
_Model: Any = crocoddyl.DifferentialActionModelAbstract
_Data: Any = crocoddyl.DifferentialActionDataAbstract
_Action: Any = crocoddyl.ActionModelAbstract
_ActionData: Any = crocoddyl.ActionDataAbstract
_Residual: Any = crocoddyl.ResidualModelAbstract
_BOTH = crocoddyl.Jcomponent.both


def _fill(results: Sequence[Any], compute: Callable[[], Iterable[Any]]) -> None:
    """Compute into arrays; NaN if there is no result, which solvers treat as a step that was too long.

    An exception would end the process: Crocoddyl's parallel loops over nodes do not propagate exceptions.
    """
    values: Iterable[Any] = [np.nan] * len(results)
    try:
        values = compute()
    except (SingularityError, ArgumentValueError):
        pass
    except Exception:
        traceback.print_exc()
    for result, value in zip(results, values, strict=True):
        # In `result`, matrices of one column are vectors.
        result[...] = np.reshape(value, result.shape) if np.ndim(value) else value


def make_state(tree: MultibodyTree) -> Any:
    """Return the state of a tree, with its limits on positions and velocities.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.

    Returns
    -------
    crocoddyl.StateVector or StateTree
        Crocoddyl's own where ``qdot = v``; otherwise a `StateTree`.

    Raises
    ------
    ArgumentTypeError
        When `tree` is not such a tree.

    Examples
    --------
    >>> import mbt.interop.crocoddyl
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"), base="floating")
    >>> state = mbt.interop.crocoddyl.make_state(tree)
    >>> state.nx, state.ndx
    (25, 24)
    """
    _check_tree(tree)
    if not tree.is_velocity_equal_to_qdot:
        return StateTree(tree)
    state = crocoddyl.StateVector(2 * tree.num_positions)
    state._tree = tree  # In it residuals find frames by name; StateTree has it too.
    _set_limits(state, tree)
    return state


def _check_tree(tree: Any) -> None:
    if not isinstance(tree, MultibodyTree) or tree.scalar_type.name != "double":
        raise ArgumentTypeError(f"tree: expected a MultibodyTree of doubles, got {quote(tree)}")


def _set_limits(state: Any, tree: MultibodyTree) -> None:
    state.lb = np.concatenate([tree.position_lower_limits, tree.velocity_lower_limits])
    state.ub = np.concatenate([tree.position_upper_limits, tree.velocity_upper_limits])


class StateTree(_State):  # type: ignore[misc]
    """The state of any tree; uses `mbt.functional.integrate_positions` for rotations."""

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree, self._nq, self._nv = tree, tree.num_positions, tree.num_velocities
        self._turning = [slice(k, k + 3) for k in find_turning_dofs(tree)]
        super().__init__(self._nq + self._nv, 2 * self._nv)
        _set_limits(self, tree)

    def zero(self) -> FloatArray:
        """Return the default positions, at rest."""
        return np.concatenate([self._tree.default_positions, np.zeros(self._nv)])

    def rand(self) -> FloatArray:
        """Return a state within limits."""
        rng = np.random.default_rng()
        return np.concatenate([self._tree.random_positions(rng), rng.uniform(-1.0, 1.0, self._nv)])

    def diff(self, x0: FloatArray, x1: FloatArray) -> FloatArray:
        """Return dx that `integrate` takes from x0 to x1."""
        nq, nv, dx = self._nq, self._nv, np.empty(2 * self._nv)
        dx[nv:] = x1[nq:] - x0[nq:]
        _fill([dx[:nv]], lambda: [functional.difference_positions(self._tree, x0[:nq], x1[:nq])])
        return dx

    def integrate(self, x: FloatArray, dx: FloatArray) -> FloatArray:
        """Return the state reached along dx."""
        nq, nv = self._nq, self._nv
        x1 = np.concatenate([x[:nq], x[nq:] + dx[nv:]])
        _fill([x1[:nq]], lambda: [functional.integrate_positions(self._tree, x[:nq], dx[:nv], 1.0)])
        return x1

    def Jdiff(self, x0: FloatArray, x1: FloatArray, which: Any = _BOTH) -> Any:
        """Return the derivatives of `diff` with respect to x0 and x1, or one of them."""
        dq = self.diff(x0, x1)
        # log(R1 R0') changes with R0 as log(exp(dq) exp(-e)) does, and with R1 as log(exp(e) exp(dq)).
        return self._choose(
            which,
            lambda part: -left_jacobian_inverse_so3(-dq[part]),
            lambda part: left_jacobian_inverse_so3(dq[part]),
            -1.0,
        )

    def Jintegrate(self, x: FloatArray, dx: FloatArray, which: Any = _BOTH) -> Any:
        """Return the derivatives of `integrate` with respect to x and dx, or one of them."""
        return self._choose(which, lambda part: exp_so3(dx[part]), lambda part: left_jacobian_so3(dx[part]))

    def JintegrateTransport(self, x: FloatArray, dx: FloatArray, Jin: FloatArray, which: Any) -> FloatArray:
        """Multiply a matrix by the derivative of `integrate` with respect to x or dx, in place."""
        make = exp_so3 if which == crocoddyl.Jcomponent.first else left_jacobian_so3
        rows = [Jin[part] for part in self._turning]
        _fill(rows, lambda: [make(dx[part]) @ Jin[part] for part in self._turning])
        return Jin

    def _choose(self, which: Any, by_first: Any, by_second: Any, sign: float = 1.0) -> Any:
        """Return both Jacobians, or one: plus or minus the identity, except for blocks of rotations."""
        matrices = []
        for component, make, scale in (("first", by_first, sign), ("second", by_second, 1.0)):
            if which in (_BOTH, getattr(crocoddyl.Jcomponent, component)):
                J = scale * np.eye(2 * self._nv)
                blocks = [J[part, part] for part in self._turning]
                _fill(blocks, lambda make=make: [make(part) for part in self._turning])  # type: ignore[misc]
                matrices.append(J)
        return matrices if which == _BOTH else matrices[0]


class _Dynamics:
    """A tree driven by inputs, ``tau = B u``."""

    def __init__(self, tree: Any, costs: Any, actuation: Any) -> None:
        _check_tree(tree)
        self.tree, self.costs, self.nq, self.nv = tree, costs, tree.num_positions, tree.num_velocities
        self.B = None if actuation is None else as_finite_array(actuation, "actuation", (self.nv, None))
        self.nu = self.nv if self.B is None else self.B.shape[1]
        if not isinstance(costs, crocoddyl.CostModelSum):
            raise ArgumentTypeError(f"costs: expected a crocoddyl.CostModelSum, got {type(costs).__name__}")
        for name, wanted, got in (
            ("nx of its state", self.nq + self.nv, costs.state.nx),
            ("ndx of its state", 2 * self.nv, costs.state.ndx),
            ("nu", self.nu, costs.nu),
        ):
            if wanted != got:
                raise ArgumentValueError(f"costs: expected {name} to be {wanted}, got {got}")

    def take(self, x: Any, u: Any) -> tuple[FloatArray, ...]:
        """Return q, v and generalized forces."""
        x = as_float_array(x, "x", (self.nq + self.nv,))
        u = as_float_array(u, "u", (self.nu,))
        return x[: self.nq], x[self.nq :], u if self.B is None else self.B @ u

    def set_limits(self, model: Any) -> None:
        """Bound inputs by effort limits, if each is the force along one velocity."""
        if self.B is None:
            model.u_lb, model.u_ub = self.tree.effort_lower_limits, self.tree.effort_upper_limits
        elif np.array_equal(self.B, self.tree.actuation_matrix):
            places = np.argmax(self.B, axis=0)
            model.u_lb = self.tree.effort_lower_limits[places]
            model.u_ub = self.tree.effort_upper_limits[places]


class DifferentialActionModelTree(_Model):  # type: ignore[misc]
    """Forward dynamics of a tree, with costs: for the integrators of Crocoddyl.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    costs : crocoddyl.CostModelSum
        The costs, made for ``make_state(tree)``.
    actuation : array_like, shape (num_velocities, nu), optional
        The matrix B of generalized forces ``tau = B u``; by default the identity, often
        ``tree.actuation_matrix``.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument has the wrong type, or does not fit the tree.

    Notes
    -----
    If inputs are forces of joints, `u_lb` and `u_ub` are their effort limits. Accelerations that do not
    exist are NaN: Crocoddyl's solvers then try a shorter step.

    Examples
    --------
    >>> import crocoddyl, mbt.interop.crocoddyl
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> state = mbt.interop.crocoddyl.make_state(tree)
    >>> model = mbt.interop.crocoddyl.DifferentialActionModelTree(tree, crocoddyl.CostModelSum(state))
    >>> data = model.createData()
    >>> model.calc(data, state.zero(), state.zero()[:6])
    >>> data.xout.shape
    (6,)
    """

    def __init__(self, tree: MultibodyTree, costs: Any, *, actuation: Any = None) -> None:
        self._dynamics = _Dynamics(tree, costs, actuation)
        super().__init__(costs.state, self._dynamics.nu, costs.nr)
        self._dynamics.set_limits(self)

    def createData(self) -> Any:
        """Return the data that `calc` and `calcDiff` write into."""
        return _TreeData(self, self._dynamics)

    def calc(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute accelerations and the cost."""
        d = self._dynamics
        if u is None:
            d.costs.calc(data.costs, x)
        else:
            state = d.take(x, u)
            _fill([data.of_vdot], lambda: [functional.forward_dynamics(d.tree, *state, out=data.vdot)])
            d.costs.calc(data.costs, x, u)
        data.cost = data.costs.cost

    def calcDiff(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute their derivatives."""
        d = self._dynamics
        if u is None:
            d.costs.calcDiff(data.costs, x)
            return
        state, out = d.take(x, u), data.derivatives

        def differentiate() -> tuple[FloatArray, ...]:
            functional.forward_dynamics_derivatives(d.tree, *state, out=out)
            return out[0], out[1], out[2] if d.B is None else out[2] @ d.B

        _fill(data.of_state, differentiate)
        d.costs.calcDiff(data.costs, x, u)


class _TreeData(_Data):  # type: ignore[misc]
    def __init__(self, model: Any, dynamics: _Dynamics) -> None:
        super().__init__(model)
        nv = dynamics.nv
        # Costs write into this object.
        self.collector = crocoddyl.DataCollectorAbstract()
        self.costs = dynamics.costs.createData(self.collector)
        self.costs.shareMemory(self)
        self.vdot, self.derivatives = np.empty(nv), tuple(np.empty((3, nv, nv)))
        # Arrays on the memory of this object: requesting one takes longer than filling it.
        Fx = np.atleast_2d(self.Fx)  # a vector, of one row
        self.of_vdot, self.of_state = self.xout, [Fx[:, :nv], Fx[:, nv:], self.Fu]


class ActionModelTree(_Action):  # type: ignore[misc]
    """Steps of time of a tree, with costs: a node that needs no integrator of Crocoddyl.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles.
    costs : crocoddyl.CostModelSum
        The costs, made for ``make_state(tree)``; a step adds `dt` times their value.
    dt : float
        Length of the step [s], greater than zero.
    actuation : array_like, shape (num_velocities, nu), optional
        The matrix B of generalized forces ``tau = B u``; by default the identity, often
        ``tree.actuation_matrix``.
    method : {"implicit", "semi_implicit_euler", "rk4"}, optional
        How the step is made, see `mbt.functional.rollout`.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument has the wrong type, or does not fit the tree.

    Notes
    -----
    In implicit steps servos drive to their default targets, limits and dry friction act, and points can
    stick. At the end of a problem, and where there is no input, only the costs count.

    Examples
    --------
    >>> import crocoddyl, mbt.interop.crocoddyl
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> state = mbt.interop.crocoddyl.make_state(tree)
    >>> model = mbt.interop.crocoddyl.ActionModelTree(tree, crocoddyl.CostModelSum(state), 0.01)
    >>> data = model.createData()
    >>> model.calc(data, state.zero(), state.zero()[:6])
    >>> data.xnext.shape
    (12,)
    """

    def __init__(
        self, tree: MultibodyTree, costs: Any, dt: float, *, actuation: Any = None, method: str = "implicit"
    ) -> None:
        self._dynamics = _Dynamics(tree, costs, actuation)
        self._dt = float(as_finite_array(dt, "dt", ()))
        if not self._dt > 0.0:
            raise ArgumentValueError(f"dt: expected a number > 0, got {dt}")
        check_method(method)
        self._method = method
        super().__init__(costs.state, self._dynamics.nu, costs.nr)
        self._dynamics.set_limits(self)

    def createData(self) -> Any:
        """Return the data that `calc` and `calcDiff` write into."""
        return _StepData(self, self._dynamics)

    def calc(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute the next state and the cost."""
        d = self._dynamics
        if u is None:
            d.costs.calc(data.costs, x)
            data.xnext[:] = x
            data.cost = data.costs.cost
            return
        q, v, tau = d.take(x, u)
        _fill(data.parts, lambda: functional.step(d.tree, q, v, tau, self._dt, method=self._method))
        d.costs.calc(data.costs, x, u)
        data.cost = self._dt * data.costs.cost

    def calcDiff(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute their derivatives."""
        d, costs = self._dynamics, data.costs
        if u is None:
            d.costs.calcDiff(costs, x)
            data.Fx[:] = np.eye(2 * d.nv)
            data.Lx[...], data.Lxx[...] = costs.Lx, costs.Lxx
            return
        q, v, tau = d.take(x, u)

        def differentiate() -> tuple[FloatArray, FloatArray]:
            A, B = functional.step_derivatives(d.tree, q, v, tau, self._dt, method=self._method)
            return A, B if d.B is None else B @ d.B

        _fill([data.Fx, data.Fu], differentiate)
        d.costs.calcDiff(costs, x, u)
        for name in ("Lx", "Lu", "Lxx", "Lxu", "Luu"):
            getattr(data, name)[...] = self._dt * getattr(costs, name)


class _StepData(_ActionData):  # type: ignore[misc]
    def __init__(self, model: Any, dynamics: _Dynamics) -> None:
        super().__init__(model)
        # Costs write into this object.
        self.collector = crocoddyl.DataCollectorAbstract()
        self.costs = dynamics.costs.createData(self.collector)
        self.parts = [self.xnext[: dynamics.nq], self.xnext[dynamics.nq :]]


class ResidualModelTreeState(_Residual):  # type: ignore[misc]
    """The difference between two states, ``state.diff(x_ref, x)``.

    Like Crocoddyl's `ResidualModelState`, whose derivatives treat any other state as a vector.

    Parameters
    ----------
    state : crocoddyl.StateAbstract
        The result of `make_state`.
    x_ref : array_like, shape (nx,), optional
        The reference state; by default ``state.zero()``.
    nu : int, optional
        The number of inputs of the costs; by default num_velocities.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When `x_ref` is not such a state.
    """

    def __init__(self, state: Any, x_ref: Any = None, *, nu: int | None = None) -> None:
        self._x_ref = as_finite_array(state.zero() if x_ref is None else x_ref, "x_ref", (state.nx,))
        super().__init__(state, state.ndx, state.nv if nu is None else nu, True, True, False)

    def calc(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute the residual."""
        data.r = self.state.diff(self._x_ref, as_float_array(x, "x", (self.state.nx,)))

    def calcDiff(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute its derivative."""
        x = as_float_array(x, "x", (self.state.nx,))
        data.Rx = self.state.Jdiff(self._x_ref, x, crocoddyl.Jcomponent.second)


def _find_frame(state: Any, frame: Frame | RigidBody | str) -> Frame:
    """Return a frame of the tree that a state was made for; it may be given by name."""
    if not isinstance(frame, str):
        return as_frame(frame, "frame")
    tree = getattr(state, "_tree", None)
    if tree is None:
        raise ArgumentTypeError(
            f"frame: expected a Frame or a RigidBody, got the name {quote(frame)}, but the state has "
            "no tree. Pass the state that make_state(tree) returned, or tree.get_frame_by_name(...)."
        )
    return tree._elements.frame_named(frame, "frame")  # type: ignore[no-any-return]


class _FrameResidual(_Residual):  # type: ignore[misc]
    """The distance of a frame from a goal."""

    def __init__(self, state: Any, frame: Frame | RigidBody | str, size: int, nu: int | None) -> None:
        self._frame = _find_frame(state, frame)
        self._tree = self._frame.parent_tree
        self._nq, self._nv = self._tree.num_positions, self._tree.num_velocities
        if (state.nx, state.ndx) != (self._nq + self._nv, 2 * self._nv):
            raise ArgumentValueError(
                f"state: expected one for the tree of the frame, nx = {self._nq + self._nv} and "
                f"ndx = {2 * self._nv}, got {state.nx} and {state.ndx}"
            )
        super().__init__(state, size, self._nv if nu is None else nu, True, False, False)

    def _take(self, x: Any) -> FloatArray:
        return as_float_array(x, "x", (self._nq + self._nv,))[: self._nq]


class ResidualModelFrameTranslation(_FrameResidual):
    """The position of a frame's origin relative to its goal: ``p_WF - p_WR``, in World.

    Parameters
    ----------
    state : crocoddyl.StateAbstract
        The result of `make_state`.
    frame : Frame, RigidBody or str
        F, a body (its frame), or a name in the tree of the state.
    p_WR : array_like, shape (3,)
        The goal [m].
    nu : int, optional
        The number of inputs of the costs; by default num_velocities.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument has the wrong type.
    """

    def __init__(
        self, state: Any, frame: Frame | RigidBody | str, p_WR: Any, *, nu: int | None = None
    ) -> None:
        super().__init__(state, frame, 3, nu)
        self._p_WR = as_finite_array(p_WR, "p_WR", (3,))

    def calc(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute the residual."""
        q, r = self._take(x), np.empty(3)
        _fill([r], lambda: [functional.frame_pose(self._tree, q, self._frame)[:3, 3] - self._p_WR])
        data.r = r

    def calcDiff(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute its derivative."""
        q = self._take(x)
        of_q = data.Rx[:, : self._nv]
        _fill([of_q], lambda: [functional.frame_jacobian(self._tree, q, self._frame)[3:]])


class ResidualModelFramePose(_FrameResidual):
    """The twist from a pose to that of a frame, ``log(X_RW X_WF)``, rotation first.

    Parameters
    ----------
    state : crocoddyl.StateAbstract
        The result of `make_state`.
    frame : Frame, RigidBody or str
        F, a body (its frame), or a name in the tree of the state.
    X_WR : array_like, shape (4, 4)
        The goal.
    nu : int, optional
        The number of inputs of the costs; by default num_velocities.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument has the wrong type.
    """

    def __init__(
        self, state: Any, frame: Frame | RigidBody | str, X_WR: Any, *, nu: int | None = None
    ) -> None:
        super().__init__(state, frame, 6, nu)
        self._X_RW = inverse_pose(as_pose(X_WR, "X_WR"))

    def calc(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute the residual."""
        q, r = self._take(x), np.empty(6)
        _fill([r], lambda: [self._twist(q)])
        data.r = r

    def calcDiff(self, data: Any, x: FloatArray, u: FloatArray | None = None) -> None:
        """Compute its derivative."""
        q = self._take(x)

        def differentiate() -> list[FloatArray]:
            J = functional.frame_jacobian(self._tree, q, self._frame, expressed_in=self._frame)
            return [right_jacobian_inverse_se3(self._twist(q)) @ J]

        _fill([data.Rx[:, : self._nv]], differentiate)

    def _twist(self, q: FloatArray) -> FloatArray:
        X_WF = functional.frame_pose(self._tree, q, self._frame)
        return log_se3(self._X_RW @ X_WF)
