"""Functions of `mbt.functional` composed of others, for trees of scalar types other than double.

See the functions of the same names for what they compute and how they treat errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt._core.api.poses import inverse_pose, left_jacobian_inverse_se3, log_se3, of_good_states
from mbt._core.api.stateless import inverse_dynamics
from mbt._core.api.stateless_constraints import constraint_bias, constraint_jacobian
from mbt._core.api.stateless_kinematics import center_of_mass, frame_jacobian, frame_pose
from mbt._core.quantities.names import Quantity
from mbt.autodiff.array import AutoDiffArray
from mbt.context.checks import check_tuple
from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote
from mbt.math.foreign import numbers_for
from mbt.math.leading_axes import join, rotate
from mbt.math.poses import check_pose, matrix_of
from mbt.scalars.functional import of_each_state
from mbt.scalars.stand_ins import standing_in

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray

__all__ = [
    "centroidal_momentum_bias_of_others",
    "check_goal",
    "constrained_inverse_dynamics_of_others",
    "find_motors",
    "pose_error_of_others",
    "raise_not_driven",
    "raise_violated",
]

# For constraints, by their unit rows, for motors, and for motions: see orthogonal.hpp.
_DEPENDENT_CONSTRAINTS, _DEPENDENT_MOTORS, _ALLOWED_ERROR = 3e-5, 1e-9, 1e-6


# Errors of poses --------------------------------------------------------------------------------------------


def check_goal(X_WG: object) -> Any:
    """Return a pose, or poses with leading axes, of any scalar type."""
    X_WG = matrix_of(X_WG, 4)
    numbers = numbers_for((X_WG, 2))
    return (
        check_pose(X_WG, "X_WG") if numbers is None else numbers.as_matrices(X_WG, "X_WG", (4, 4), check_pose)
    )


def pose_error_of_others(tree: Any, q: Any, frame: Any, goal: Any, with_jacobian: bool, out: Any) -> Any:
    """Return errors of poses relative to a checked goal; the tree may be of doubles if the goal is not."""
    outs = check_tuple(out, 2) if with_jacobian else (out,)
    X_FW = _apply("inverse_pose", inverse_pose, frame_pose(tree, q, frame))
    if type(goal) is np.ndarray:
        goal = _exact(tree, X_FW, goal)
    try:
        X_FG = X_FW @ goal
    except ValueError:
        raise ShapeError(
            f"leading axes do not broadcast: q {X_FW.shape[:-2]}, X_WG {goal.shape[:-2]}"
        ) from None
    e: Any = _apply("log_se3", log_se3, X_FG)
    numbers = standing_in(tree)._numbers if type(goal) is np.ndarray else numbers_for((e, 1))
    if not with_jacobian:
        return e if out is None else numbers.write(out, e, "out")
    # The rate of X_FG is -[V]x X_FG, where V is the velocity of F in its own axes.
    J_F = frame_jacobian(tree, q, frame, expressed_in=frame)
    J = -_apply("left_jacobian_inverse_se3", left_jacobian_inverse_se3, e) @ J_F
    return (e, J) if out is None else numbers.write_all((outs[0], e, "out[0]"), (outs[1], J, "out[1]"))


def _exact(tree: Any, results: Any, doubles: Any) -> Any:
    """Convert doubles to the objects of `results`: Python turns doubles times exact numbers into doubles."""
    if results.dtype != object or doubles.dtype != np.float64:
        return doubles
    return standing_in(tree)._numbers.as_float_array(doubles, "doubles", (..., *doubles.shape[-2:]))


def _apply(name: str, function: Any, value: Any) -> Any:
    """Apply a function of poses. Doubles need no checks: an invalid sample has no result."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return of_good_states(name, value)
    return function(value)


# Momentum ---------------------------------------------------------------------------------------------------


def centroidal_momentum_bias_of_others(tree: Any, q: Any, v: Any, out: Any) -> Any:
    """Return the sum of the inertial forces at vdot = 0, about the centre of mass."""
    p_WCcm = center_of_mass(tree, q)
    vdot = np.zeros(tree.num_velocities)
    operands = {"q": q, "v": v, "vdot": vdot}
    forces = of_each_state(tree, Quantity.REACTION_FORCES, operands, None, integers=(0, 0))[..., 0, :]
    numbers = standing_in(tree)._numbers
    t, f = forces[..., :3], forces[..., 3:]
    return numbers.write(out, join([t - rotate(numbers.skew(p_WCcm), f), f]), "out")


# Mechanisms with loops --------------------------------------------------------------------------------------


def find_motors(tree: Any, actuated: object) -> Any:
    """Return the indices of the velocities with motors, each once."""
    if actuated is None:
        return tree._fact("motors", lambda: _motors_of_actuators(tree))
    nv = tree.num_velocities
    try:
        given = np.asarray(actuated)
    except ValueError:
        given = np.empty((), object)
    if given.dtype.kind == "b":
        if given.shape != (nv,):
            raise ShapeError(f"actuated: expected shape ({nv},) of True and False, got {given.shape}")
        return np.flatnonzero(given)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise ArgumentTypeError(
            f"actuated: expected True or False for each velocity, or indices, got {quote(actuated)}"
        )
    places = given.tolist()
    once = sorted(set(places))
    if once and not 0 <= once[0] <= once[-1] < nv:
        raise ArgumentValueError(f"actuated: expected indices from 0 to {nv - 1}, got {places}")
    is_ready = once == places and given.dtype == np.intp and given.flags.c_contiguous
    return given if is_ready else np.array(once, np.intp)


def _motors_of_actuators(tree: Any) -> Any:
    driven = {actuator.velocity_start for actuator in tree.joint_actuators}
    return np.array(sorted(driven) or range(tree.num_velocities), np.intp)


def raise_violated(tree: Any, equation: int, error: float) -> NoReturn:
    """Raise for accelerations that constraints do not allow."""
    first = 0
    for constraint in tree.constraints:
        if equation < first + constraint.num_equations:
            raise ArgumentValueError(
                "vdot: expected accelerations that the constraints allow, J vdot + Jdot v = 0, but in "
                f"equation {equation - first} of constraint {quote(constraint.name)} it is {error:.3g}"
            )
        first += constraint.num_equations
    raise AssertionError(equation)


def raise_not_driven(tree: Any, missing: float) -> NoReturn:
    """Raise for motions that need forces where there is no motor."""
    raise ArgumentValueError(
        f"actuated: these motors cannot give the accelerations: along a motion that the constraints allow a "
        f"generalized force of {missing:.3g} is missing"
    )


def constrained_inverse_dynamics_of_others(
    tree: Any, q: Any, v: Any, vdot: Any, motors: Any, external_forces: Any, out: Any
) -> Any:
    """Return forces of motors and constraints, one state after the other."""
    outs = check_tuple(out, 2)
    wanted = inverse_dynamics(tree, q, v, vdot, external_forces=external_forces)
    J, bias = constraint_jacobian(tree, q), constraint_bias(tree, q, v)
    nv, ne, lead = wanted.shape[-1], J.shape[-2], wanted.shape[:-1]
    numbers = standing_in(tree)._numbers
    v, vdot = (numbers.as_float_array(x, name) for x, name in ((v, "v"), (vdot, "vdot")))
    arrays = [wanted, J, bias, v, vdot]
    cores = [(nv,), (ne, nv), (ne,), (nv,), (nv,)]
    if _values_of(wanted) is not None:
        at_rest = inverse_dynamics(tree, q, v, np.zeros(nv), external_forces=external_forces)
        arrays, cores = [*arrays, at_rest], [*cores, (nv,)]
    arrays = [np.broadcast_to(x, (*lead, *core)) for x, core in zip(arrays, cores, strict=True)]
    parts = []
    for i in np.ndindex(lead):
        try:
            parts.append(_share_forces(tree, motors, *(x[i] for x in arrays)))
        except ArgumentValueError:
            if not lead:
                raise
            parts.append(tuple(numbers.scale(numbers.zeros((n,), wanted), np.nan) for n in (nv, ne)))
    if lead:
        results = [
            np.stack([part[k] for part in parts]).reshape(*lead, n) if parts else numbers.zeros((*lead, n))
            for k, n in enumerate((nv, ne))
        ]
    else:
        results = list(parts[0])
    return numbers.write_all((outs[0], results[0], "out[0]"), (outs[1], results[1], "out[1]"))


def _share_forces(
    tree: Any, motors: Any, wanted: Any, J: Any, bias: Any, v: Any, vdot: Any, at_rest: Any = None
) -> tuple[Any, Any]:
    """Return the least tau of the motors, then the least multipliers, with tau + J' multipliers = `wanted`.

    With independent rows J_r of J, minimal ``|tau|^2 / 2`` gives, with multipliers mu of this problem::

        [1  0    S'] [tau   ]   [0     ]
        [0  0   J_r] [lambda] = [0     ]
        [S  J_r'  0] [mu    ]   [wanted]

    Dependent rows of the last part are left out. Independence is determined from values; symbols have none,
    so all of their rows count as independent.
    """
    nv, ne, na = len(wanted), len(bias), len(motors)
    S = np.eye(nv)[:, motors]
    rows, kept = np.arange(ne), np.arange(nv)
    if at_rest is not None:
        values = _values_of(J)
        _check_allowed(tree, values, *(_values_of(x) for x in (bias, v, vdot)))
        rows = _find_independent(values.T, _DEPENDENT_CONSTRAINTS)
        kept = _find_independent(np.hstack([S, values[rows].T]).T, _DEPENDENT_MOTORS)
    J_r = J[rows]
    r, m = len(rows), len(kept)
    numbers = standing_in(tree)._numbers
    K, b = (numbers.zeros(shape, wanted, J) for shape in ((na + r + m,) * 2, (na + r + m,)))
    S = _exact(tree, wanted, S)
    K[:na, :na] = _exact(tree, wanted, np.eye(na))
    K[:na, na + r :] = S[kept].T
    K[na + r :, :na] = S[kept]
    K[na : na + r, na + r :] = J_r[:, kept]
    K[na + r :, na : na + r] = J_r[:, kept].T
    b[na + r :] = wanted[kept]
    x = _solve(K, b)
    tau, multipliers = S @ x[:na], x[na : na + r]
    if at_rest is not None:
        missing = np.abs(_values_of(tau + multipliers @ J_r - wanted)).max(initial=0.0)
        if missing > _ALLOWED_ERROR * sum(np.abs(_values_of(x)).sum() for x in (wanted, at_rest)):
            raise_not_driven(tree, float(missing))
    if r < ne:
        # J = C J_r; the least multipliers with the same effect are C (C' C)^-1 multipliers.
        C = _solve(J_r @ J_r.T, J_r @ J.T).T
        multipliers = C @ _solve(C.T @ C, multipliers)
    return tau, multipliers


def _values_of(array: Any) -> Any:
    """Return values as doubles; None if there are none."""
    if isinstance(array, AutoDiffArray):
        return array.value
    if type(array) is not np.ndarray:
        return None  # traced
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return None


def _check_allowed(tree: Any, J: FloatArray, bias: FloatArray, v: FloatArray, vdot: FloatArray) -> None:
    """Raise for accelerations that are wrong by more than rounding."""
    if not len(bias):
        return
    speed = np.abs(v).max(initial=0.0)
    error = J @ vdot + bias
    size = np.abs(J) @ (np.abs(vdot) + speed**2) + np.abs(bias)
    worst = int(np.argmax(np.abs(error)))
    if np.abs(error[worst]) > _ALLOWED_ERROR * size.max():
        raise_violated(tree, worst, float(error[worst]))


def _find_independent(A: FloatArray, tolerance: float) -> Any:
    """Return the indices of independent columns that span all columns."""
    A, chosen, largest = A.copy(), [], 0.0
    for _ in range(min(A.shape)):
        lengths = np.linalg.norm(A, axis=0)
        k = int(np.argmax(lengths))
        largest = largest or lengths[k]
        if not lengths[k] > tolerance * largest:
            break
        chosen.append(k)
        u = A[:, k] / lengths[k]
        A -= np.outer(u, u @ A)
    return np.sort(np.array(chosen, dtype=np.intp))


def _solve(A: Any, b: Any) -> Any:
    """Solve A x = b for one or more right-hand sides; objects by elimination with nonzero pivots."""
    if type(A) is not np.ndarray or A.dtype != object:
        return np.linalg.solve(A, b)
    A, b = A.copy(), b.copy()
    for k in range(len(A)):
        sizes = [_size_of(entry) for entry in A[k:, k]]
        best = k + int(np.argmax(sizes))
        A[[k, best]], b[[k, best]] = A[[best, k]], b[[best, k]]
        for i in range(k + 1, len(A)):
            factor = A[i, k] / A[k, k]
            A[i, k + 1 :] = A[i, k + 1 :] - factor * A[k, k + 1 :]
            b[i] = b[i] - factor * b[k]
    for k in reversed(range(len(A))):
        b[k] = (b[k] - A[k, k + 1 :] @ b[k + 1 :]) / A[k, k]
    return b


def _size_of(entry: Any) -> float:
    """Return the magnitude of a number; for a symbol something small, unless it is zero."""
    try:
        return abs(float(entry))
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        return 1e-300
